"""A text, token by token: what ``cfgguide trace``, pictures of texts and the playground show.

In: an index, and a text or token ids. Out: a :class:`Trace`. It ends with the first token that is
refused, if there is one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import Any

import numpy as np
import numpy.typing as npt

from cfgguide.compiler import compile_machine
from cfgguide.diagnostics.diagnosis import lexemes
from cfgguide.diagnostics.explainers import explainer_of
from cfgguide.diagnostics.explanation import Explanation, Lexeme
from cfgguide.engine.byte_machine.byte_machine import ByteMachine
from cfgguide.engine.index.index import Index
from cfgguide.engine.machine.lr_machine import LrMachine
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import TextError, shown
from cfgguide.grammar.grammar import Grammar
from cfgguide.grammar.lr.stack import Stack
from cfgguide.guide.forced import encoder_of
from cfgguide.guide.guide import Guide, as_token_id
from cfgguide.schema.messages.message_automaton import MessageAutomaton
from cfgguide.studio.draw.parsers import symbols_of_states

_MAX_STACKS = 4


@dataclass(frozen=True)
class Place:
    """A place in a text, before a token or at the end.

    Attributes
    ----------
    allowed : int64, shape (n,)
        The ids of the tokens that may come next, ascending; none after EOS.
    index : Index
        With what the text is read.
    configuration : configuration
        What the text has come to.
    is_finished : bool
        Whether EOS has ended it.
    symbols : dict of int to str
        The symbol with which each state of the parser is entered.
    """

    allowed: npt.NDArray[np.int64]
    index: Index
    configuration: Any
    is_finished: bool
    symbols: dict[int, str] = field(repr=False)

    @cached_property
    def expected(self) -> tuple[str, ...]:
        """The terminals that may come next; in a large grammar they may take seconds."""
        return () if self.is_finished else self.index.machine.expected(self.configuration)

    @property
    def stacks(self) -> tuple[str, ...]:
        """The parser's stacks from the bottom, as symbols; a few, or none without a table."""
        if not self.symbols:
            return ()
        found: dict[str, None] = {}
        for hypothesis in self.configuration.hypotheses:
            stack = getattr(hypothesis, "stack", None)
            if isinstance(stack, Stack):
                names = (self.symbols.get(state, "") for state in reversed([*stack]))
                found[" ".join(name for name in names if name) or "(empty)"] = None
        return tuple(found)[:_MAX_STACKS]

    @property
    def is_sentence(self) -> bool:
        """Whether the text may end here."""
        return self.index.machine.is_sentence(self.configuration)


@dataclass(frozen=True)
class Step:
    """A token of a text.

    Attributes
    ----------
    token_id : int
        The token.
    token : bytes
        Its bytes; none if it is EOS.
    terminals : tuple of str
        The terminals of the lexemes that it is a part of.
    is_allowed : bool
        Whether it may stand there.
    before : Place
        The place that it stands at.
    start : int
        The byte of the text at which it begins.
    explanation : Explanation or None
        Why it is allowed or refused; None if that was not asked for and it is allowed.
    """

    token_id: int
    token: bytes
    terminals: tuple[str, ...]
    is_allowed: bool
    before: Place
    start: int
    explanation: Explanation | None


@dataclass(frozen=True)
class Trace:
    """A text, token by token.

    Attributes
    ----------
    vocabulary : Vocabulary
        That of the tokens.
    steps : tuple of Step
        The tokens up to the first that is refused, which is the last here.
    end : Place or None
        The place after all tokens; None if one is refused.
    rest : bytes
        What follows a refused token.
    """

    vocabulary: Vocabulary
    steps: tuple[Step, ...]
    end: Place | None
    rest: bytes

    @property
    def is_sentence(self) -> bool:
        """Whether all of the text is allowed, and may end there."""
        return self.end is not None and self.end.is_sentence


def traced(
    index: Index,
    text_or_token_ids: str | bytes | Sequence[int],
    *,
    tokenizer: object = None,
    explains: bool = False,
    shows: Callable[[Step], object] = bool,
) -> Trace:
    """Return how an index reads a text, token by token.

    Parameters
    ----------
    index : Index
        Of a grammar and a vocabulary.
    text_or_token_ids : str, bytes, or sequence of int
        A text, or its tokens.
    tokenizer : tokenizer, optional
        Cuts a text into tokens. Without one, the longest token of the vocabulary comes at each
        place.
    explains : bool
        Whether allowed tokens are explained too.
    shows : callable, optional
        Takes each step once it is made: the masks of a long text take a while.

    Raises
    ------
    TextError
        If it is neither, or the tokens of the vocabulary cannot spell it.
    LimitError
        If it costs too much.
    """
    vocabulary = index.vocabulary
    token_ids = _token_ids(vocabulary, text_or_token_ids, tokenizer)
    tokens = [_spelled(vocabulary, each) for each in token_ids]
    whole = b"".join(tokens)
    found = _lexemes(index, whole)
    guide, explainer = Guide(index), explainer_of(index)
    machine = index.machine
    symbols: dict[int, str] = {}
    if isinstance(machine, LrMachine):
        symbols = symbols_of_states(machine.recognizer.parse_table)
    steps: list[Step] = []
    end = 0
    for token_id, token in zip(token_ids, tokens, strict=True):
        start, end = end, end + len(token)
        terminals = tuple(lexeme.terminal for lexeme in touching(found, start, end))
        explanation, is_allowed = None, guide.accepts(token_id)
        if explains or not is_allowed:
            explanation = explainer.explain_token(
                token_id, is_allowed=is_allowed, is_finished=guide.is_finished
            )
        before = _place(guide, symbols)
        steps.append(Step(token_id, token, terminals, is_allowed, before, start, explanation))
        shows(steps[-1])
        if not is_allowed:
            return Trace(vocabulary, tuple(steps), None, whole[end:])
        guide.advance(token_id)
        if token:
            explainer.advance(token)
    return Trace(vocabulary, tuple(steps), _place(guide, symbols), b"")


def _place(guide: Guide, symbols: dict[int, str]) -> Place:
    allowed = guide.allowed_token_ids()
    allowed.flags.writeable = False
    return Place(allowed, guide.index, guide.configuration, guide.is_finished, symbols)


def touching(lexemes: Sequence[Lexeme], start: int, end: int) -> Iterator[Lexeme]:
    """Return the lexemes, of those of a text in order, that have bytes from a start to an end."""
    first = bisect_right(lexemes, start, key=lambda lexeme: lexeme.end)
    return takewhile(lambda lexeme: lexeme.start < end, lexemes[first:])


def _token_ids(vocabulary: Vocabulary, given: object, tokenizer: object) -> list[int]:
    if isinstance(given, str) and tokenizer is not None:
        return [*encoder_of(tokenizer)(given)]
    if isinstance(given, str | bytes):
        text = given.encode() if isinstance(given, str) else given
        token_ids, n_spelled = vocabulary.lookup.cut(text)
        if n_spelled < len(text):
            rest = text[n_spelled : n_spelled + 8]
            raise TextError(f"no token of the vocabulary spells {rest!r} at byte {n_spelled}")
        return token_ids
    if not isinstance(given, Iterable):
        raise TextError(f"a text is a str, bytes or token ids, not {shown(given)}")
    return [as_token_id(each) for each in given]


def _spelled(vocabulary: Vocabulary, token_id: int) -> bytes:
    if not 0 <= token_id < vocabulary.size:
        raise TextError(f"token {token_id} is not in the vocabulary of {vocabulary.size} ids")
    return vocabulary.tokens[token_id] or b""


def _lexemes(index: Index, text: bytes) -> list[Lexeme]:
    """Return the lexemes of a text; none of messages, and of a value of JSON those of JSON."""
    machine = index.machine
    if isinstance(machine, ByteMachine) and isinstance(machine.pushdown, MessageAutomaton):
        return []
    if not isinstance(machine, LrMachine):
        machine = compile_machine(Grammar.bundled("json"))
    assert isinstance(machine, LrMachine), "a grammar in Lark's language"
    return lexemes(machine.plain.recognizer, text)


def tones(steps: Iterable[Step], n_tones: int) -> dict[str, int]:
    """Return the colour of each terminal: numbers in the order in which they come."""
    names = dict.fromkeys(step.terminals[-1] for step in steps if step.terminals)
    return {name: number % n_tones for number, name in enumerate(names)}
