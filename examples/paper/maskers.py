"""Ways to find the mask of the pattern of figure 2, with one interface.

Each is a class with the pattern compiled in its constructor; `start` begins a text, `fill` writes
the mask of the next token into `mask`, and `advance` takes a token. A library that is not installed
raises ImportError in the constructor.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import regex

import cfgguide

PATTERN = r"[^\W\d]\w*"


class Masker(Protocol):
    """What figure 2 measures. `mask` is int32, shape (n_words,): bit i % 32 of word i // 32."""

    mask: npt.NDArray[np.int32]

    def start(self) -> None: ...  # noqa: D102
    def fill(self) -> None: ...  # noqa: D102
    def advance(self, token_id: int) -> None: ...  # noqa: D102


class PartialMatching:
    """Guidance's way of 2023, and ReLLM's: match each token anew, from the start of the text."""

    def __init__(self, tokenizer: Any, vocabulary: cfgguide.Vocabulary) -> None:
        self._pattern = regex.compile(PATTERN)
        self._texts = [tokenizer.decode([i]) for i in range(vocabulary.size)]
        self._bits = np.zeros(32 * vocabulary.n_words, dtype=np.bool_)
        self.mask = np.zeros(vocabulary.n_words, dtype=np.int32)
        self.n_matches = 0

    def start(self) -> None:
        """Begin a text."""
        self._text = ""

    def fill(self) -> None:
        """Match N texts."""
        match, text = self._pattern.fullmatch, self._text
        for i, token in enumerate(self._texts):
            self._bits[i] = match(text + token, partial=True) is not None
        self.n_matches += len(self._texts)
        self.mask[:] = np.packbits(self._bits, bitorder="little").view(np.int32)

    def advance(self, token_id: int) -> None:
        """Append the token's text."""
        self._text += self._texts[token_id]


class CfgGuide:
    """cfgguide."""

    def __init__(self, tokenizer: Any, vocabulary: cfgguide.Vocabulary) -> None:
        self.index = cfgguide.compile(cfgguide.regex(PATTERN), vocabulary)
        self.mask = np.zeros(vocabulary.n_words, dtype=np.int32)

    def start(self) -> None:
        """Begin a text."""
        guide = cfgguide.Guide(self.index)
        self.advance = guide.advance
        self._guide = guide

    def fill(self) -> None:
        """Find the mask of a configuration."""
        self._guide.fill_bitmask(self.mask)


class OutlinesCore:
    """outlines-core: the paper's own way, in Rust by now."""

    def __init__(self, tokenizer: Any, vocabulary: cfgguide.Vocabulary) -> None:
        import outlines_core

        ids: dict[bytes, list[int]] = {}
        for i, token in enumerate(vocabulary.tokens):
            if token:
                ids.setdefault(token, []).append(i)
        (eos,) = vocabulary.eos_token_ids
        self._guides = outlines_core.Guide
        self._index = outlines_core.Index(PATTERN, outlines_core.Vocabulary(eos, ids))
        self.mask = np.zeros(vocabulary.n_words, dtype=np.int32)

    def start(self) -> None:
        """Begin a text."""
        self._guide = self._guides(self._index)

    def fill(self) -> None:
        """Look the state up."""
        self._guide.write_mask_into(self.mask.ctypes.data, len(self.mask), 4)

    def advance(self, token_id: int) -> None:
        """Go to the next state."""
        self._guide.advance(token_id, False)


class XGrammar:
    """XGrammar, with its own reading of the pattern."""

    def __init__(self, tokenizer: Any, vocabulary: cfgguide.Vocabulary) -> None:
        import xgrammar

        tokens = xgrammar.TokenizerInfo.from_huggingface(
            tokenizer, vocab_size=vocabulary.size, stop_token_ids=list(vocabulary.eos_token_ids)
        )
        self._matchers = xgrammar.GrammarMatcher
        self._compiled = xgrammar.GrammarCompiler(tokens).compile_regex(PATTERN)
        self._rows = np.zeros((1, vocabulary.n_words), dtype=np.int32)
        self.mask = self._rows[0]

    def start(self) -> None:
        """Begin a text."""
        self._matcher = self._matchers(self._compiled)

    def fill(self) -> None:
        """Fill the only row."""
        self._matcher.fill_next_token_bitmask(self._rows, 0)

    def advance(self, token_id: int) -> None:
        """Accept the token."""
        self._matcher.accept_token(token_id)


class LLGuidance:
    """llguidance, which is inside of Guidance today."""

    def __init__(self, tokenizer: Any, vocabulary: cfgguide.Vocabulary) -> None:
        import llguidance
        import llguidance.hf
        import llguidance.numpy

        (eos,) = vocabulary.eos_token_ids
        tokens = llguidance.hf.from_tokenizer(tokenizer, n_vocab=vocabulary.size, eos_token=eos)
        grammar = llguidance.LLMatcher.grammar_from_regex(PATTERN)
        self._fresh = llguidance.LLMatcher(tokens, grammar, log_level=0)
        self._fill = llguidance.numpy.fill_next_token_bitmask
        self._rows = np.zeros((1, vocabulary.n_words), dtype=np.int32)
        self.mask = self._rows[0]

    def start(self) -> None:
        """Begin a text."""
        self._matcher = self._fresh.deep_copy()

    def fill(self) -> None:
        """Fill the only row."""
        self._fill(self._matcher, self._rows, 0)

    def advance(self, token_id: int) -> None:
        """Consume the token."""
        self._matcher.consume_token(token_id)


MASKERS: dict[str, type[Any]] = {
    "partial matching, 2023": PartialMatching,
    "outlines-core": OutlinesCore,
    "llguidance": LLGuidance,
    "xgrammar": XGrammar,
    "cfgguide": CfgGuide,
}
