"""llguidance, with a grammar in its own kind of Lark."""

from __future__ import annotations

from functools import partial
from typing import Any

import llguidance
import llguidance.hf
import llguidance.numpy
import numpy as np
import numpy.typing as npt
from vocabularies import Tokenizer

from engines import Batch, Sequence, grammar_text, new_mask


class LLGuidance:
    """llguidance with a grammar of `benchmarks/grammars`."""

    mask: npt.NDArray[np.int32]
    refusals: tuple[type[Exception], ...] = ()  # its matcher returns False and is then spent

    def prepare(self, tokenizer: Tokenizer) -> None:
        """Build its trie, and its default slices of the vocabulary."""
        self._tokenizer = llguidance.hf.from_tokenizer(
            tokenizer.fast, n_vocab=tokenizer.size, eos_token=tokenizer.eos_token_id
        )
        self.mask = new_mask(tokenizer)
        self._rows = self.mask.reshape(1, -1)

    def compile(self, grammar: str) -> None:
        """Make a matcher, which is where llguidance compiles a grammar.

        Raises
        ------
        ValueError
            If llguidance does not take the grammar.
        """
        self._match(llguidance.LLMatcher.grammar_from_lark(grammar_text(grammar, "llguidance")))

    def compile_schema(self, schema: Any) -> None:
        """Make a matcher of a schema, with llguidance's defaults.

        Raises
        ------
        ValueError
            If llguidance does not take the schema.
        """
        self._match(llguidance.LLMatcher.grammar_from_json_schema(schema))

    def _match(self, text: str) -> None:
        self._fresh = llguidance.LLMatcher(self._tokenizer, text, log_level=0)
        if self._fresh.is_error():
            raise ValueError(self._fresh.get_error())

    def start(self) -> Sequence:
        """Copy the matcher; copies share the lexer's automaton, which grows as it is used."""
        matcher = self._fresh.deep_copy()
        fill = partial(llguidance.numpy.fill_next_token_bitmask, matcher, self._rows, 0)
        return Sequence(fill, matcher.consume_token)

    def batch(self, n: int) -> Batch:
        """Copy the matcher so many times, for as many threads as it takes by default."""
        matchers = [self._fresh.deep_copy() for _ in range(n)]
        rows = np.zeros((n, len(self.mask)), dtype=np.int32)
        executor = llguidance.LLExecutor()
        numbered = [(matcher, row) for row, matcher in enumerate(matchers)]
        fill = partial(llguidance.numpy.fill_next_token_bitmask_par, executor, numbered, rows)

        def step(tokens: list[int]) -> None:
            pairs = list(zip(matchers, tokens, strict=True))
            llguidance.numpy.consume_token_par(executor, pairs)
            fill()

        return Batch(fill, step)

    def sizes(self) -> dict[str, int]:
        """Return nothing: llguidance tells no size."""
        return {}
