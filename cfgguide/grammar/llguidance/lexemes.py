"""The terminals of the grammar that is written, each pattern once.

In: patterns and texts as rules use them. Out: leaves for rules, and at the end the terminals in
Lark's language. Texts in quotes stay what they are, since Lark prefers them to patterns. A lazy
terminal comes before others, and ends where its text first can.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cfgguide.automata.determinize import fsm_of_pattern
from cfgguide.automata.dfa import DEAD
from cfgguide.automata.nfa import parse_pattern
from cfgguide.automata.rewrite import can_be_empty, shortest_first
from cfgguide.base.limits import Budget
from cfgguide.errors import CfgGuideError, LimitError
from cfgguide.grammar.literals import pattern_literal, text_literal
from cfgguide.grammar.llguidance.terminals import NOTHING, Terminals
from cfgguide.grammar.rules.names import NameAllocator
from cfgguide.grammar.rules.source import Source
from cfgguide.grammar.rules.tree import Name


@dataclass
class _Lexeme:
    """A terminal: its pattern or its text, and where it was first seen."""

    pattern: str
    is_text: bool
    is_lazy: bool
    source: Source
    at: int
    terminals: Terminals


class WrittenTerminals:
    """All terminals of a grammar.

    Parameters
    ----------
    names : NameAllocator
        The names that are taken.
    budget : Budget
        What making automata may cost.
    """

    def __init__(self, names: NameAllocator, budget: Budget) -> None:
        self._names = names
        self._budget = budget
        self._known: dict[tuple[str, bool, bool], tuple[Name | None, bool]] = {}
        self._lexemes: dict[Name, _Lexeme] = {}

    @property
    def lazy(self) -> list[Name]:
        """The lazy ones."""
        return [leaf for leaf, lexeme in self._lexemes.items() if lexeme.is_lazy]

    def text(self, leaf: Name) -> str | None:
        """Return the text that a terminal is, or None if it is a pattern, or no terminal."""
        lexeme = self._lexemes.get(leaf)
        return lexeme.pattern if lexeme is not None and lexeme.is_text else None

    def named_text(
        self, terminals: Terminals, source: Source, at: int, text: str, name: str
    ) -> Name:
        """Return the leaf of a terminal that is one text, and has a name."""
        key = (text, True, False)
        if key not in self._known:
            leaf = Name(0, self._names.new(name))
            self._lexemes[leaf] = _Lexeme(text, True, False, source, at, terminals)
            self._known[key] = (leaf, False)
        found = self._known[key][0]
        assert found is not None
        return found

    def of_pattern(
        self, terminals: Terminals, source: Source, at: int, pattern: str, name: str
    ) -> tuple[Name | None, bool]:
        """Return the leaf for what a pattern matches but the empty text, and whether that is one.

        Raises
        ------
        GrammarError, LimitError
            If no text matches, or the pattern is too large.
        """
        pattern = terminals.checked(at, pattern)
        if pattern == NOTHING:
            return None, False
        key = (pattern, False, False)
        if key not in self._known:
            part = terminals.regular(at, pattern)
            self._check_size(source, at, part.patterns, name)
            leaf = None
            if part.patterns:
                leaf = Name(0, self._names.new(name))
                self._lexemes[leaf] = _Lexeme(part.patterns[0], False, False, source, at, terminals)
            self._known[key] = (leaf, part.is_optional)
        return self._known[key]

    def _check_size(self, source: Source, at: int, patterns: tuple[str, ...], name: str) -> None:
        """Raise an error that has a place; compiling would raise one without."""
        try:
            for pattern in patterns:
                parse_pattern(pattern, name=name, budget=self._budget)
        except CfgGuideError as error:
            raise source.error(at, str(error.args[0]), type(error)) from None

    def of_lazy(
        self, terminals: Terminals, source: Source, at: int, pattern: str, name: str
    ) -> tuple[Name | None, bool]:
        """Return the leaf for the shortest texts of a pattern, and whether that is the empty one.

        Raises
        ------
        GrammarError, LimitError
            As :meth:`of_pattern`.
        """
        pattern = terminals.checked(at, pattern)
        if pattern == NOTHING:
            return None, False
        key = (pattern, False, True)
        if key not in self._known:
            leaf = None
            if not can_be_empty(pattern):
                leaf = Name(0, self._names.new(name))
                self._lexemes[leaf] = _Lexeme(pattern, False, True, source, at, terminals)
            self._known[key] = (leaf, leaf is None)
        return self._known[key]

    def lines(self, together: Mapping[Name, frozenset[Name]]) -> list[str]:
        """Return the terminals in Lark's language.

        Parameters
        ----------
        together : mapping of Name to frozenset of Name
            Which lazy ones may stand in one place.

        Raises
        ------
        LimitError
            If one would be too large.
        """
        found = []
        for leaf, lexeme in self._lexemes.items():
            if lexeme.is_text:
                found.append(f"{leaf.name}: {text_literal(lexeme.pattern)}")
            elif lexeme.is_lazy:
                others = sorted(
                    self._lexemes[other].pattern
                    for other in together.get(leaf, ())
                    if other != leaf
                )
                found.append(
                    f"{leaf.name}.1: {pattern_literal(self._shortest(leaf.name, lexeme, others))}"
                )
            else:
                found.append(f"{leaf.name}: {pattern_literal(lexeme.pattern)}")
        return found

    def _shortest(self, name: str, lexeme: _Lexeme, others: list[str]) -> str:
        """Return a pattern that ends as soon as it can, and where none of the others has ended."""
        if not others:
            lazy = shortest_first(lexeme.pattern)
            if self._ends_at_once(name, lexeme, lazy):
                return lazy
        terminals = lexeme.terminals
        found = terminals.first_ends(lexeme.at, lexeme.pattern, others)
        return terminals.checked(lexeme.at, found)

    def _ends_at_once(self, name: str, lexeme: _Lexeme, pattern: str) -> bool:
        """Return whether the match that ``re`` prefers is always the shortest one."""
        try:
            fsm = fsm_of_pattern(pattern, name=name, budget=self._budget)
        except LimitError as error:
            raise lexeme.source.error(lexeme.at, str(error.args[0]), LimitError) from None
        return not (fsm.transitions[fsm.is_final] != DEAD).any()
