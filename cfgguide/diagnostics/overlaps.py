"""Terminals that match the same text in one terminal set, and which of them Lark reads.

In: the terminal sets and the scanner. Out: :class:`Overlap` values, each with an example. The
example comes from the product of the two FSMs. These know only the match that ``re`` prefers. Where
they share none, interegular compares the languages, as far as it can read the patterns, and ``re``
must agree. The scanner itself says which terminal wins.

A keyword that a name also matches is not a mistake: Lark retypes the name. Keywords are only
counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations

import interegular
import numpy as np
import numpy.typing as npt
from interegular.comparator import Comparator
from interegular.patterns import Pattern

from cfgguide.automata.determinize import fsm_of_pattern
from cfgguide.automata.dfa import DEAD, Fsm
from cfgguide.automata.syntax import CharacterSet, parse, walk
from cfgguide.automata.witness import shared_text, shortest_text
from cfgguide.base.remembered import remembered
from cfgguide.engine.lexer.scanner import DYNAMIC, NO_MATCH, Scanner
from cfgguide.errors import LimitError, PatternError
from cfgguide.grammar.lark_frontend import CompiledGrammar, TerminalSet

DEFAULT_MAX_OVERLAPS = 20
DEFAULT_MAX_COMPARED = 2_000  # pairs whose FSMs share a first byte
_LARGEST_FOR_LANGUAGES = 60  # states of an FSM; interegular's own work has no limit
_WIDEST_FOR_LANGUAGES = 10_000  # characters of a range
_SECONDS_FOR_EXAMPLE = 0.2

Pair = tuple[str, str]


@dataclass(frozen=True)
class Overlap:
    """Two terminals that match the same text.

    Attributes
    ----------
    terminals : tuple of (str, str)
        The two, in the order in which Lark tries them.
    example : str
        A text that both match as a whole.
    winner : str
        The terminal that Lark reads at its start.
    lexeme : str
        What the winner takes of the example.
    n_sets : int
        The number of terminal sets in which that happens.
    """

    terminals: Pair
    example: str
    winner: str
    lexeme: str
    n_sets: int


@dataclass(frozen=True)
class Overlaps:
    """All overlaps of a grammar.

    Attributes
    ----------
    shown : tuple of Overlap
        The first of them.
    n_more : int
        How many were found beyond those.
    is_complete : bool
        Whether all pairs were compared.
    keywords : tuple of (str, tuple of str)
        Terminals, and the string terminals that their lexemes become.
    """

    shown: tuple[Overlap, ...]
    n_more: int
    is_complete: bool
    keywords: tuple[tuple[str, tuple[str, ...]], ...]


class TerminalTexts:
    """What the terminals of a grammar match, and what Lark's lexer makes of it.

    Parameters
    ----------
    grammar : CompiledGrammar
        The grammar.
    scanner : Scanner
        Its scanner.
    """

    def __init__(self, grammar: CompiledGrammar, scanner: Scanner) -> None:
        self._grammar = grammar
        self._scanner = scanner
        self._terminals = {terminal.name: terminal for terminal in grammar.patterns}

    @remembered
    def fsm(self, name: str) -> Fsm | None:
        """Return the FSM of a terminal, or None if it has none of its own."""
        terminal = self._terminals[name]
        with suppress(PatternError, LimitError):  # the scanner may still allow it
            return fsm_of_pattern(terminal.pattern, name=name, flags=terminal.flags)
        return None

    def shortest(self, name: str) -> str | None:
        """Return a shortest text of a terminal."""
        fsm = self.fsm(name)
        return None if fsm is None else shortest_text(fsm)

    def shared(self, first: str, second: str) -> str | None:
        """Return a text that two terminals match as a whole."""
        one, other = self.fsm(first), self.fsm(second)
        text = None if one is None or other is None else shared_text(one, other)
        return text if text is not None else self._shared_by_languages(first, second)

    def may_start_alike(self, first: str, second: str) -> bool:
        """Return whether two terminals share a first byte."""
        one, other = self.fsm(first), self.fsm(second)
        if one is None or other is None:
            return True
        return bool(np.any(_first_bytes(one) & _first_bytes(other)))

    def lexed(self, set_number: int, text: str) -> tuple[str, str] | None:
        """Return the terminal that Lark reads at the start of a text, and its lexeme."""
        scanner, data = self._scanner, text.encode()
        terminal_id, end = scanner.longest(int(scanner.starts[set_number, 0]), data, 0)
        if terminal_id == NO_MATCH:
            return None
        lexeme = data[:end].decode("utf-8", errors="replace")
        if terminal_id < scanner.ignored:
            return self._grammar.parse_table.terminals[terminal_id], lexeme
        return self._outside_the_table(set_number, lexeme), lexeme

    def _outside_the_table(self, set_number: int, lexeme: str) -> str:
        """Return the first terminal of a set that fits a lexeme with no terminal of the table."""
        columns = self._grammar.parse_table.terminals
        for member in self._grammar.terminal_sets[set_number]:
            if (member.is_ignored or member.terminal not in columns) and self._is_match(
                member.terminal, lexeme
            ):
                return member.terminal
        return "ignored text"

    def _is_match(self, name: str, text: str) -> bool:
        """Return what ``re.fullmatch`` would, which may take any time."""
        fsm, data = self._whole(name), text.encode()
        return fsm is not None and fsm.match(data) == len(data)

    @remembered
    def _whole(self, name: str) -> Fsm | None:
        """Return the FSM of a terminal that matches whole texts, or None if there is none."""
        terminal = self._terminals[name]
        comment_end = "\n" if terminal.flags & re.VERBOSE else ""
        whole = rf"(?:{terminal.pattern}{comment_end})\Z"
        with suppress(PatternError, LimitError):
            return fsm_of_pattern(whole, name=name, flags=terminal.flags)
        return None

    def _shared_by_languages(self, first: str, second: str) -> str | None:
        patterns = {name: self._language(name) for name in (first, second)}
        known = {name: pattern for name, pattern in patterns.items() if pattern is not None}
        if len(known) < 2:
            return None
        try:
            comparator = Comparator(known)
            if comparator.isdisjoint(first, second):
                return None
            text = str(
                comparator.get_example_overlap(first, second, _SECONDS_FOR_EXAMPLE).main_text
            )
        except (interegular.Unsupported, ValueError):
            return None
        return text if all(self._is_match(name, text) for name in known) else None

    @remembered
    def _language(self, name: str) -> Pattern | None:
        """Return a terminal as interegular reads it, or None if it cannot or would take long."""
        terminal, fsm = self._terminals[name], self.fsm(name)
        is_large = fsm is not None and fsm.n_states > _LARGEST_FOR_LANGUAGES
        if not (terminal.flags or terminal.is_string or is_large or _is_wide(terminal.pattern)):
            with suppress(interegular.Unsupported, interegular.InvalidSyntax):
                return interegular.parse_pattern(terminal.pattern)
        return None


def _is_wide(pattern: str) -> bool:
    """Return whether a pattern has a range of many characters, of which interegular makes a set."""
    return any(
        isinstance(member, tuple) and member[1] - member[0] > _WIDEST_FOR_LANGUAGES
        for node in walk(parse(pattern).nodes)
        if isinstance(node, CharacterSet)
        for member in node.members
    )


def _first_bytes(fsm: Fsm) -> npt.NDArray[np.bool_]:
    """Return which bytes can begin a match, shape (256,)."""
    starts = [resolved for start in fsm.starts.tolist() for resolved in fsm.resolved(start)]
    is_first: npt.NDArray[np.bool_] = (fsm.after_bytes(starts) != DEAD).any(axis=0)
    return is_first


def find(
    grammar: CompiledGrammar,
    texts: TerminalTexts,
    *,
    max_overlaps: int = DEFAULT_MAX_OVERLAPS,
    max_compared: int = DEFAULT_MAX_COMPARED,
) -> Overlaps:
    """Return the overlaps of a grammar's terminals.

    Parameters
    ----------
    grammar : CompiledGrammar
        The grammar.
    texts : TerminalTexts
        What its terminals match.
    max_overlaps : int
        How many to show; the others are counted.
    max_compared : int
        How many pairs to compare.
    """
    if grammar.lexer in DYNAMIC:  # where none of them wins
        return Overlaps((), 0, True, ())
    found: list[Overlap] = []
    n_compared = 0
    sets_of_pair = _pairs(grammar.terminal_sets)
    for pair, sets in sets_of_pair.items():
        if not texts.may_start_alike(*pair):
            continue
        n_compared += 1
        if n_compared > max_compared:
            break
        found += _of_pair(pair, sets, texts)
    return Overlaps(
        shown=tuple(found[:max_overlaps]),
        n_more=len(found[max_overlaps:]),
        is_complete=n_compared <= max_compared,
        keywords=_keywords(grammar.terminal_sets),
    )


def _pairs(sets: tuple[TerminalSet, ...]) -> dict[Pair, list[int]]:
    """Return the pairs that share a set and should not overlap, with the numbers of their sets."""
    sets_of_pair: dict[Pair, list[int]] = {}
    for set_number, members in enumerate(sets):
        for first, second in combinations(members, 2):
            is_keyword = second.terminal in first.retyped or first.terminal in second.retyped
            if not is_keyword and not (first.is_ignored and second.is_ignored):
                sets_of_pair.setdefault((first.terminal, second.terminal), []).append(set_number)
    return sets_of_pair


def _of_pair(pair: Pair, sets: list[int], texts: TerminalTexts) -> Iterator[Overlap]:
    """Yield the overlap of two terminals, once for each terminal that wins in some set."""
    example = texts.shared(*pair)
    if example is None:
        return
    n_sets: dict[tuple[str, str], int] = {}
    for set_number in sets:
        read = texts.lexed(set_number, example)
        if read is not None:
            n_sets[read] = n_sets.get(read, 0) + 1
    for (winner, lexeme), count in n_sets.items():
        yield Overlap(pair, example, winner, lexeme, count)


def _keywords(sets: tuple[TerminalSet, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    words: dict[str, set[str]] = {}
    for member in (member for members in sets for member in members):
        words.setdefault(member.terminal, set()).update(member.retyped)
    return tuple((name, tuple(sorted(words[name]))) for name in sorted(words) if words[name])
