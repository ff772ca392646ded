r"""The machine of one pattern: an automaton over characters that is made as texts are read.

In: the tree of a pattern (:mod:`cfgguide.automata.pattern_tree`). Out: a :class:`TextMachine`,
which reads UTF-8, and the :class:`TextMasks` of a vocabulary. It is the automaton of the strings of
a schema, without quotes. States that differ only in how far it is to the bounds of their counts
have one mask where no token gets there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from cfgguide.automata.charset import CharacterClass, without_bytes
from cfgguide.automata.language import IN_UTF8
from cfgguide.automata.pattern_automaton import automaton_of
from cfgguide.automata.pattern_text import spelled
from cfgguide.automata.pattern_tree import Characters, Nodes, walk, within
from cfgguide.automata.python_notation import read as read_python
from cfgguide.base import archive
from cfgguide.base.archive import Arrays
from cfgguide.base.limits import LONGEST, Limits, Steps
from cfgguide.engine.byte_machine.byte_machine import ByteMachine, ByteMasks
from cfgguide.engine.byte_machine.byte_views import BOTTOM
from cfgguide.engine.byte_machine.lone_pushdown import LonePushdown
from cfgguide.engine.byte_machine.scalars import Texts, in_utf8
from cfgguide.engine.byte_machine.seen_parts import ByteConfiguration
from cfgguide.engine.byte_machine.short_ends import ShortestLexemes
from cfgguide.engine.masks.subset import Subset
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import (
    GrammarError,
    LimitError,
    PatternError,
    SchemaError,
    VocabularyError,
    shown,
)
from cfgguide.grammar.lr.stack import Stack

_BEYOND_ASCII = (*range(0x80, 0xC0), *range(0xC2, 0xF5))  # bytes of UTF-8

VERSION = 1  # of what the masks mean
_BOTTOM = Stack(BOTTOM)
_MAX_RANGES = 20  # of a class of characters that is named


class TextMachine(ByteMachine):
    """Reads the texts that a pattern matches as a whole.

    Parameters
    ----------
    pattern : str
        In Python's notation.
    nodes : tuple of Node
        The same as a tree.
    limits : Limits, optional
        What each step may cost; by default 5 seconds.
    cancelled : callable, optional
        Asked often whether to give up making it.
    missing : frozenset of int
        Bytes that no token has: no text has a character with one of them.

    Raises
    ------
    GrammarError
        If no text matches.
    VocabularyError
        If none does without the missing bytes.
    LimitError
        If it takes too long to find that out, or all texts are very long.
    """

    pushdown: LonePushdown

    def __init__(
        self,
        pattern: str,
        nodes: Nodes,
        limits: Limits | None = None,
        cancelled: Callable[[], bool] | None = None,
        *,
        missing: frozenset[int] = frozenset(),
    ) -> None:
        self._pattern, self._limits, self._missing = pattern, limits, missing
        self.steps = _steps(limits)
        with _steps(limits, cancelled).begun():
            automaton = automaton_of(within(nodes, without_bytes(missing)) if missing else nodes)
            if automaton.is_empty:
                _refuse(pattern, nodes, missing)
            if automaton.fewest(automaton.start, IN_UTF8) > LONGEST:
                raise LimitError(
                    f"each text that matches the pattern {shown(pattern)} has more than {LONGEST} "
                    "bytes, and no model writes so long a text; use smaller counts"
                )
        self._automaton = automaton
        lexemes = Texts([automaton], in_utf8)
        pushdown = LonePushdown(lexemes, lexemes.start)
        told = [VERSION, "pattern", pattern, *([sorted(missing)] if missing else [])]
        super().__init__(pushdown, archive.digest({}, told))

    def __reduce__(self) -> tuple[Any, ...]:
        """For `pickle`: the pattern."""
        return _again, (self._pattern, self._limits, self._missing)

    def read(self, configuration: ByteConfiguration, data: bytes) -> ByteConfiguration | None:
        """Return the configuration after bytes that need not be a token, or None."""
        with self.steps.begun():
            return super().read(configuration, data)

    def expected(self, configuration: ByteConfiguration) -> tuple[str, ...]:
        """Return the class of characters that may follow, and ``$END`` where the text may end.

        A long class, and the rest of a character that has begun, is ``TEXT``.
        """
        kind, inside = self.pushdown.meaning(configuration.state)
        if kind == "p":
            return ("TEXT",)
        found = ["$END"] if self.is_sentence(configuration) else []
        moves = self._automaton.moves_of(inside[0]).values()
        ranges = CharacterClass.of(each for ranges in moves for each in ranges).ranges
        if ranges:
            found.append("TEXT" if len(ranges) > _MAX_RANGES else spelled(ranges))
        return tuple(found)

    def is_live(self, configuration: ByteConfiguration, *, quickly: bool = False) -> bool:
        """Return whether a sentence can follow: always."""
        return True

    def endings(
        self, vocabulary: Vocabulary, n_tokens: Callable[[bytes], int | None]
    ) -> list[Callable[[ByteConfiguration], bytes | None]]:
        """Return the way to find short endings; every byte of the pattern is in tokens."""
        lexemes, shortest = self.pushdown.lexemes, ShortestLexemes(frozenset(range(256)))

        def ending(configuration: ByteConfiguration) -> bytes | None:
            with self.steps.begun():
                found = shortest.end(lexemes, self.pushdown.meaning(configuration.state))
            return None if found is None else found.text

        return [ending]

    def masks(self, vocabulary: Vocabulary) -> TextMasks:
        """Return what makes masks."""
        return TextMasks(self, vocabulary)

    def packed(self) -> tuple[Arrays, dict[str, object]]:
        """Return the pattern."""
        return {}, {"pattern": self._pattern}


def _steps(limits: Limits | None, cancelled: Callable[[], bool] | None = None) -> Steps:
    way_out = "simplify the pattern"
    return Steps(limits, cancelled, error=LimitError, what="a step", way_out=way_out)


def text_machine(
    pattern: str,
    vocabulary: Vocabulary,
    limits: Limits | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> TextMachine | None:
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
        As :class:`TextMachine`.
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
        return TextMachine(pattern, nodes, limits, cancelled, missing=missing)
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


def _again(pattern: str, limits: Limits | None, missing: frozenset[int]) -> TextMachine:
    return TextMachine(pattern, read_python(pattern), limits, missing=missing)


class TextMasks(ByteMasks):
    """Makes the masks of one pattern for one vocabulary.

    Parameters
    ----------
    machine : TextMachine
        What reads.
    vocabulary : Vocabulary
        Whose tokens the masks are about.
    """

    _machine: TextMachine

    def is_at_end(self, configuration: ByteConfiguration, allowed: Callable[[], Subset]) -> bool:
        """Return whether the text is a sentence, and only EOS may follow."""
        return self._machine.expected(configuration) == ("$END",)
