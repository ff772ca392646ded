"""SGLang's interface for a backend and a request, over ours.

Imported by :mod:`cfgguide.models.serving.sglang` only, where SGLang is installed.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable
from functools import partialmethod
from typing import Any

import torch
from sglang.srt.constrained.base_grammar_backend import (
    BaseGrammarBackend,
    BaseGrammarObject,
    InvalidGrammarObject,
)
from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarObject
from sglang.srt.runtime_context import get_serving

from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import CfgGuideError
from cfgguide.models.bitmask import apply_bitmask
from cfgguide.models.serving.backend import Backend
from cfgguide.models.serving.client_errors import for_client
from cfgguide.models.serving.guarded import GuardedMatcher

_ANY = "$$ANY$$"  # what SGLang writes for any JSON value
_ANY_NUMBER = sys.maxsize  # of tokens: until a request is known, and what it may have
#: What SGLang calls the kinds of requests.
_KINDS = {each: each for each in ("json", "regex", "structural_tag")} | {"ebnf": "grammar"}


def backend_of(
    _server_args: Any, tokenizer: Any, vocab_size: int, eos_token_ids: Iterable[int] | None = None
) -> Any:
    """Return the backend of an engine, which waits for the end of thinking if there is a parser."""
    vocabulary = Vocabulary.from_tokenizer(
        tokenizer,
        eos_token_ids=sorted(eos_token_ids) if eos_token_ids else None,
        size=vocab_size,
    )
    backend = SglangBackend(Backend.from_environment(vocabulary, isolate=True))
    serving = get_serving()
    if not serving.reasoning_parser:
        return backend
    from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend
    from sglang.srt.parser.reasoning_parser import ReasoningParser

    parser = ReasoningParser(
        model_type=serving.reasoning_parser, stream_reasoning=False, tokenizer=tokenizer
    )
    return ReasonerGrammarBackend(
        backend, parser, tokenizer, enable_strict_thinking=serving.enable_strict_thinking
    )


def note_request(_result: Any, _manager: Any, request: Any) -> None:
    """Tell a request's grammar of it: SGLang's hook after `process_req_with_grammar`."""
    grammar = request.grammar
    if isinstance(grammar, ReasonerGrammarObject):
        grammar = grammar.grammar
    if isinstance(grammar, SglangGrammar):
        grammar.follow(request)


def note_requests(requests: list[Any], manager: Any) -> None:
    """Do so for those whose grammars are there now: after `get_ready_grammar_requests`."""
    for request in requests:
        note_request(None, manager, request)


def _asked(key_type: str, key_string: str) -> tuple[str, str]:
    is_any = key_type == "json" and key_string == _ANY
    return _KINDS[key_type], "true" if is_any else key_string


def _bitmasks(vocab_size: int, batch_size: int, device: Any) -> Any:
    return torch.full((batch_size, (vocab_size + 31) // 32), -1, dtype=torch.int32)


def _moved(vocab_mask: Any, device: Any) -> Any:
    return vocab_mask.to(device, non_blocking=True)


def _applied(logits: Any, vocab_mask: Any) -> None:
    apply_bitmask(logits, vocab_mask)


class SglangBackend(BaseGrammarBackend):  # type: ignore[misc]
    """Compiles what requests ask for."""

    def __init__(self, backend: Backend) -> None:
        super().__init__()
        self.backend = backend

    def get_cached_or_future_value(self, key: tuple[str, str], *options: Any) -> Any:
        """Return the grammar of a request, and that it is there; or a future of it.

        What SGLang has forgotten may still be here: it does not wait in SGLang's threads. What it
        has kept may be refused by now.
        """
        if key[0] in _KINDS:
            asked = _asked(*key)
            if self.backend.is_refused(*asked):
                self.cache.pop(key, None)
            elif key not in self.cache and (index := self.backend.ready(*asked)) is not None:
                matcher = self.backend.matcher_of(index, *asked, max_tokens=_ANY_NUMBER)
                self.set_cache(key, SglangGrammar(GuardedMatcher(matcher)))
        return super().get_cached_or_future_value(key, *options)

    def _grammar(self, key_type: str, key_string: str) -> Any:
        try:
            asked = _asked(key_type, key_string)
            matcher = self.backend.matcher(*asked, max_tokens=_ANY_NUMBER)
        except CfgGuideError as error:
            said = for_client(error, self.backend.folder)
            return InvalidGrammarObject(f"cfgguide: {said}")
        return SglangGrammar(GuardedMatcher(matcher))

    dispatch_json = partialmethod(_grammar, "json")
    dispatch_regex = partialmethod(_grammar, "regex")
    dispatch_ebnf = partialmethod(_grammar, "ebnf")  # in Lark's language, or one that has a name
    dispatch_structural_tag = partialmethod(_grammar, "structural_tag")

    # What thinking needs before there is a grammar.
    allocate_vocab_mask = staticmethod(_bitmasks)
    move_vocab_mask = staticmethod(_moved)
    apply_vocab_mask = staticmethod(_applied)


class SglangGrammar(BaseGrammarObject):  # type: ignore[misc]
    """A request as SGLang sees it."""

    def __init__(self, guarded: GuardedMatcher) -> None:
        super().__init__()
        self.guarded = guarded
        self._request: weakref.ref[Any] | None = None

    def follow(self, request: Any) -> None:
        """Have the text end within what a request of SGLang's may have."""
        self._request = weakref.ref(request)  # which has this grammar

    def accept_token(self, token: int) -> None:
        """Consume a token.

        Raises
        ------
        ValueError
            If it may not come: SGLang then ends the request.
        """
        if not self.guarded.accept([token]):
            raise ValueError(f"cfgguide: token {token} may not come: {self.guarded.error or ''}")

    def rollback(self, k: int) -> None:
        """Take tokens back."""
        self.guarded.rollback(k)

    def is_terminated(self) -> bool:
        """Return whether EOS came."""
        return self.guarded.is_terminated

    def fill_vocab_mask(self, vocab_mask: Any, idx: int) -> None:
        """Write the mask into a row."""
        request = None if self._request is None else self._request()
        if request is not None:
            most = request.sampling_params.max_new_tokens
            self.guarded.end_within(most, len(request.output_ids))
        self.guarded.fill_bitmask(vocab_mask, idx)

    @staticmethod
    def reset_vocab_mask(vocab_mask: Any) -> None:
        """Allow everything."""
        vocab_mask.fill_(-1)

    allocate_vocab_mask = staticmethod(_bitmasks)
    move_vocab_mask = staticmethod(_moved)
    apply_vocab_mask = staticmethod(_applied)

    def copy(self) -> SglangGrammar:
        """Return an independent request in the same state: SGLang keeps one for each text."""
        return SglangGrammar(self.guarded.copy())

    def try_jump_forward(self, tokenizer: Any) -> tuple[list[int], str] | None:
        """Return the tokens that have to come; None if there is a choice."""
        if self.guarded.error is not None:
            return None
        tokens = self.guarded.matcher.forced_token_ids(tokenizer)
        return (list(tokens), "") if tokens else None

    def jump_forward_str_state(self, helper: tuple[list[int], str]) -> tuple[str, int]:
        """Return no text: the jump is by tokens."""
        return "", -1

    def jump_and_retokenize(
        self, old_output_ids: list[int], new_output_ids: list[int], next_state: int
    ) -> None:
        """Do nothing: the tokens of a jump are those that the tokenizer makes."""
