r"""The machine of one pattern: an automaton over characters that is made as texts are read.

In: a pattern in Python's notation. Out: the
:class:`~cfgguide.engine.byte_machine.byte_machine.ByteMachine` of the texts that it matches as a
whole. Its :class:`PatternPushdown` is the automaton of the strings of a schema, without quotes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, NoReturn

from cfgguide.automata.charset import CharacterClass, without_bytes
from cfgguide.automata.language import IN_UTF8, TextAutomaton
from cfgguide.automata.pattern_automaton import automaton_of
from cfgguide.automata.pattern_text import spelled
from cfgguide.automata.pattern_tree import Characters, Nodes, walk, within
from cfgguide.automata.python_notation import read as read_python
from cfgguide.base import archive
from cfgguide.base.limits import LONGEST, Limits, Steps
from cfgguide.engine.byte_machine.automaton import TextPushdown
from cfgguide.engine.byte_machine.byte_machine import ByteMachine
from cfgguide.engine.byte_machine.byte_views import BOTTOM
from cfgguide.engine.byte_machine.lone_pushdown import LonePushdown
from cfgguide.engine.byte_machine.scalars import Texts, in_utf8
from cfgguide.engine.byte_machine.seen_parts import ByteConfiguration
from cfgguide.engine.byte_machine.short_ends import ShortestLexemes
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import (
    GrammarError,
    LimitError,
    PatternError,
    SchemaError,
    VocabularyError,
    shown,
)

_BEYOND_ASCII = (*range(0x80, 0xC0), *range(0xC2, 0xF5))  # bytes of UTF-8

VERSION = 1  # of what the masks mean
_MAX_RANGES = 20  # of a class of characters that is named


class PatternSource(NamedTuple):
    """What the machine of a pattern is made from.

    Attributes
    ----------
    pattern : str
        In Python's notation.
    limits : Limits, optional
        What each step may cost; by default 5 seconds.
    missing : frozenset of int
        Bytes that no token has: no text has a character with one of them.
    """

    pattern: str
    limits: Limits | None = None
    missing: frozenset[int] = frozenset()

    @property
    def digest(self) -> str:
        """Of the pattern, and of what is missing."""
        missing = [sorted(self.missing)] if self.missing else []
        return archive.digest({}, [VERSION, "pattern", self.pattern, *missing])

    def packed(self) -> dict[str, object]:
        """Return the pattern."""
        return {"pattern": self.pattern}

    def machine(self, cancelled: Callable[[], bool] | None = None) -> ByteMachine:
        """Return a machine that nobody else has.

        Raises
        ------
        GrammarError
            If no text matches.
        VocabularyError
            If none does without the missing bytes.
        LimitError
            If it takes too long to find that out, or all texts are very long.
        """
        pattern, limits, missing = self
        nodes = read_python(pattern)
        with _steps(limits, cancelled).begun():
            automaton = automaton_of(within(nodes, without_bytes(missing)) if missing else nodes)
            if automaton.is_empty:
                _refuse(pattern, nodes, missing)
            if automaton.fewest(automaton.start, IN_UTF8) > LONGEST:
                raise LimitError(
                    f"each text that matches the pattern {shown(pattern)} has more than {LONGEST} "
                    "bytes, and no model writes so long a text; use smaller counts"
                )
        return ByteMachine(PatternPushdown(automaton, _steps(limits)), self)


class PatternPushdown(LonePushdown, TextPushdown):
    """Reads the texts that a pattern matches as a whole.

    Parameters
    ----------
    automaton : TextAutomaton
        Of the pattern.
    steps : Steps
        Bounds what each step may take.
    """

    def __init__(self, automaton: TextAutomaton, steps: Steps) -> None:
        self._automaton, self.steps = automaton, steps
        lexemes = Texts([automaton], in_utf8)
        super().__init__(lexemes, lexemes.start)

    def make_row(self, state: int) -> None:
        """Make the row of a state."""
        with self.steps.begun():
            super().make_row(state)

    def after_text(self, state: int, data: bytes, place: int) -> tuple[int, int]:
        """Return where a text goes on after characters that are read at once, and the state there.

        The state is `DEAD` if they are refused.
        """
        with self.steps.begun():
            return super().after_text(state, data, place)

    def expected(self, state: int, frame: int, may_begin: Callable[[int], bool]) -> list[str]:
        """Return the class of characters that may follow.

        A long class, and the rest of a character that has begun, is ``TEXT``.
        """
        kind, inside = self.meaning(state)
        if kind == "p":
            return ["TEXT"]
        moves = self._automaton.moves_of(inside[0]).values()
        ranges = CharacterClass.of(each for ranges in moves for each in ranges).ranges
        if not ranges:
            return []
        return ["TEXT" if len(ranges) > _MAX_RANGES else spelled(ranges)]

    def is_last(self, state: int) -> bool:
        """Return whether a text that may end has: nothing may follow."""
        return not self.expected(state, BOTTOM, bool)

    def ending(
        self, spelled: frozenset[int], n_tokens: Callable[[bytes], int | None]
    ) -> Callable[[ByteConfiguration], bytes | None]:
        """Return what finds short endings; every byte of the pattern is in tokens."""
        shortest = ShortestLexemes(frozenset(range(256)))

        def ending(configuration: ByteConfiguration) -> bytes | None:
            with self.steps.begun():
                found = shortest.end(self.lexemes, self.meaning(configuration.state))
            return None if found is None else found.text

        return ending


def _steps(limits: Limits | None, cancelled: Callable[[], bool] | None = None) -> Steps:
    way_out = "simplify the pattern"
    return Steps(limits, cancelled, error=LimitError, what="a step", way_out=way_out)


def pattern_machine(
    pattern: str,
    vocabulary: Vocabulary,
    limits: Limits | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> ByteMachine | None:
    """Return the machine of a pattern; None if it has to go through tables instead.

    That is so if the vocabulary spells some byte of the pattern only together with others: then
    what it cannot spell has to be found out first.

    Parameters
    ----------
    pattern : str
        In Python's notation.
    vocabulary : Vocabulary
        What texts are spelled with.
    limits : Limits, optional
        What each step may cost; by default 5 seconds.
    cancelled : callable, optional
        Asked often whether to give up.

    Raises
    ------
    LimitError, VocabularyError
        As :meth:`PatternSource.machine`.
    PatternError
        If it is no pattern, or no automaton can express it.
    """
    nodes = read_python(pattern)
    classes = {node.characters for node in walk(nodes) if isinstance(node, Characters)}
    spelling = vocabulary.spelling
    missing = frozenset().union(*map(_bytes_of, classes)) - spelling.reachable_bytes
    if len(spelling.steps) > 1:
        return None
    try:
        return PatternSource(pattern, limits, missing).machine(cancelled)
    except SchemaError as error:  # automata say so of the patterns of schemas, too
        raise PatternError(f"the pattern {shown(pattern)}: {error.args[0]}") from None


def _bytes_of(characters: CharacterClass) -> Iterator[int]:
    """Yield the bytes in which characters are written; beyond ASCII, more than that."""
    for low, high in characters.ranges:
        yield from range(low, min(high, 0x7F) + 1)
        if high > 0x7F:
            yield from _BEYOND_ASCII
            break


def _refuse(pattern: str, nodes: Nodes, missing: frozenset[int]) -> NoReturn:
    """Say why no text matches."""
    if missing and not automaton_of(nodes).is_empty:
        raise VocabularyError(
            "the vocabulary can spell no sentence of the grammar: it has no token with the bytes "
            f"{', '.join(map(hex, sorted(missing)))}; use a tokenizer with a token for every byte"
        )
    raise GrammarError(
        f"no text at all is a sentence: nothing matches the pattern {shown(pattern)}"
    )
