"""Reads indentation as an indenter would: what lexemes do to blocks and brackets.

In: the rules of :mod:`cfgguide.grammar.lr.indentation` and the tables. Out: a
:class:`IndentationReader`, which follows a :class:`~cfgguide.grammar.lr.indentation.Indentation`
byte by byte and lexeme by lexeme. A line break that the parser takes is fed, and then INDENT or as
many DEDENTs as the column needs; one that it does not take is dropped if a bracket is open. (Since
rules are balanced, the parser takes none inside brackets.)
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from cfgguide.automata.dfa import IF_FAILS
from cfgguide.base.bounded import BoundedDict
from cfgguide.engine.lexer.reachability import reachable, reaching
from cfgguide.engine.lexer.scanner import Scanner
from cfgguide.errors import GrammarError
from cfgguide.grammar.lr.indentation import (
    AT_LINE_START,
    BLOCKS,
    BRACKETS,
    BREAK,
    DIGIT,
    IN_STRING,
    NO_COLUMN,
    SPACE,
    Indentation,
    IndentationRules,
    unpacked,
)
from cfgguide.grammar.lr.indentation_names import CLOSES, COUNTED, INLINE, JOIN, NEWLINE, OPENS
from cfgguide.grammar.lr.stack import Stack
from cfgguide.grammar.lr.table import ParseTable

_MAX_CLOSED = 10_000  # stacks of which it is known what closing their blocks leaves


class IndentationReader:
    """Follows the indentation of a text.

    Attributes
    ----------
    indentation_rules : IndentationRules
        The rules.
    kinds : int8, shape (n_byte_classes,)
        What the bytes of each class do to the column of a line break.
    is_newline : bool, shape (n_scanner_states,)
        Whether the lexeme may still become a line break.
    is_free : bool, shape (n_scanner_states,)
        Whether it may hold one more break, and so come to any column.
    is_last_free : bool, shape (n_scanner_states,)
        Whether the column does not matter if the text ends: by CPython's rules white space after
        the last line break is no line. But where some line breaks are refused and no other can
        come, as in tidy grammars, an empty line has no white space.
    can_widen : bool, shape (n_scanner_states,)
        Whether it may come to any greater column.
    opening_bytes : frozenset of int
        The first bytes of lexemes that open brackets.
    is_counted : bool, shape (n_scanner_states,)
        Whether the lexeme may become a number whose digits are counted.
    """

    def __init__(
        self, indentation_rules: IndentationRules, parse_table: ParseTable, scanner: Scanner
    ) -> None:
        self.indentation_rules = indentation_rules
        self._parse_table = parse_table
        self.kinds = _kinds_of_classes(indentation_rules, scanner)
        breaks = np.flatnonzero(self.kinds == BREAK)
        wanted = [
            scanner.match == indentation_rules.newline,
            np.isin(scanner.match, np.flatnonzero(indentation_rules.roles == COUNTED)),
            np.isin(scanner.match, np.flatnonzero(indentation_rules.roles == OPENS)),
        ]
        leads = reaching(scanner.moves, np.stack(wanted, axis=1))
        self.is_newline = leads[:, 0].copy()
        after_break = np.unique(scanner.transitions[:, breaks])
        after_break = after_break[self.is_newline[after_break]]
        _check_columns(indentation_rules, scanner, self.kinds, after_break)
        leads_to_break = np.array(self.is_newline[scanner.transitions[:, breaks]].any(axis=1))
        self.is_free = self.is_newline & reaching(
            scanner.moves, leads_to_break, within=self.is_newline
        )
        after = reachable(scanner.moves, np.flatnonzero(self.is_newline))
        is_restricted = bool((scanner.match[after] > scanner.ignored).any())
        self.is_last_free = np.full(scanner.n_states, indentation_rules.is_cpython)
        if is_restricted:
            self.is_last_free &= self.is_free
        space = int(np.flatnonzero(self.kinds == SPACE)[0])
        self.can_widen = scanner.match[scanner.transitions[:, space]] == indentation_rules.newline
        self.is_counted = leads[:, 1] & ~self.is_newline
        self.opening_bytes = _first_bytes(scanner, leads[:, 2])
        self._is_newline: list[bool] = self.is_newline.tolist()
        self._is_counted: list[bool] = self.is_counted.tolist()
        self._kinds: list[int] = self.kinds.tolist()
        self._kind_of_byte = indentation_rules.byte_kinds().tobytes()
        self._roles: list[int] = indentation_rules.roles.tolist()
        self._closed: BoundedDict[tuple[Stack, int], Stack | None] = BoundedDict(_MAX_CLOSED)
        self._places: list[int] = indentation_rules.places.tolist()

    def with_parse_table(self, parse_table: ParseTable) -> IndentationReader:
        """Return this reader with another form of its parse table."""
        changed = copy(self)
        changed._parse_table = parse_table
        return changed

    def moved(
        self, indentation: Indentation, scanner_state: int, byte_class: int, n: int = 1
    ) -> Indentation | None:
        """Return the indentation after `n` more bytes of one class in a lexeme.

        None if a line is too wide.
        """
        columns, level, before = indentation
        column = NO_COLUMN
        if self._is_newline[scanner_state]:
            after = self.indentation_rules.column_after(before, self._kinds[byte_class], n)
            if after is None:
                return None
            column = after
        elif self._is_counted[scanner_state]:
            n_digits = n if self._kinds[byte_class] == DIGIT else 0
            column = min(before + n_digits, self.indentation_rules.max_digits + 1)
        return indentation if column == before else Indentation(columns, level, column)

    def read(self, indentation: Indentation, lexeme: bytes, terminal_id: int) -> Indentation:
        """Return the indentation at the end of a lexeme, or its rest, before it is shifted."""
        column: int | None = NO_COLUMN
        if self._roles[terminal_id] == COUNTED:
            n_digits = int((self.indentation_rules.byte_kinds()[list(lexeme)] == DIGIT).sum())
            column = min(indentation.column + n_digits, self.indentation_rules.max_digits + 1)
        if terminal_id == self.indentation_rules.newline:
            column = indentation.column
            for kind, alike in groupby(lexeme.translate(self._kind_of_byte)):
                n_alike = len(list(alike))
                column = self.indentation_rules.column_after(column or NO_COLUMN, kind, n_alike)
        return indentation._replace(column=column or NO_COLUMN)

    def shift(
        self, stack: Stack, indentation: Indentation, terminal_id: int
    ) -> tuple[Stack, Indentation] | None:
        """Return stack and indentation after a lexeme, or None if it is refused."""
        role, (_, level, column) = self._roles[terminal_id], indentation
        plain = indentation._replace(column=NO_COLUMN) if column else indentation
        if role in (INLINE, JOIN):
            return (stack, plain) if self.takes(role, stack.state) else None
        if role == NEWLINE:
            return self._line(stack, plain, column)
        if role == COUNTED and column > self.indentation_rules.max_digits:
            return None
        if role in (OPENS, CLOSES):
            level += 1 if role == OPENS else -1
            if not 0 <= level <= self.indentation_rules.max_brackets:
                return None
            plain = plain._replace(level=level)
        after = self._parse_table.shift(stack, terminal_id)
        return None if after is None else (after, plain)

    def takes(self, role: int, state: int) -> bool:
        """Return whether a lexeme that is not fed, or a line break, may stand in a parse state."""
        place = self._places[state]
        if role in (INLINE, JOIN) and place == AT_LINE_START:
            return False
        return role == INLINE or place != IN_STRING

    def last(
        self, indentation: Indentation, terminal_id: int, scanner_state: int
    ) -> Indentation | None:
        """Return the indentation before the last lexeme, or None if it cannot be the last."""
        if self._roles[terminal_id] == NEWLINE and self.is_last_free[scanner_state]:
            return indentation._replace(column=NO_COLUMN)
        return None if self._roles[terminal_id] == JOIN else indentation

    def full(self, indentation: Indentation) -> int:
        """Return the sum of `BLOCKS` and `BRACKETS` of which no more can be opened."""
        rules = self.indentation_rules
        blocks = BLOCKS if len(indentation.columns) > rules.max_indents else 0
        return blocks | (BRACKETS if indentation.level >= rules.max_brackets else 0)

    def without_counted(self, ends: Iterable[Any]) -> tuple[Any, ...]:
        """Return the ends of a lexeme, terminal ids first, without those of counted numbers."""
        return tuple(end for end in ends if self._roles[end[0]] != COUNTED)

    def choice(self, scanner_state: int, indentation: Indentation) -> tuple[bool, bool, int, int]:
        """Return what a lexeme may still lead to if it becomes a line break.

        Returns
        -------
        tuple of (bool, bool, int, int)
            Whether it may end in the column of the innermost block; and in one further right; and
            how many blocks it may close at most, -1 for any number, and at least.
        """
        if self.is_free[scanner_state]:
            return True, True, -1, 1
        column = indentation.column
        if column == NO_COLUMN:
            return self.indentation_rules.is_cpython, False, 0, 1
        can_widen = bool(self.can_widen[scanner_state])
        outwards = indentation.columns[::-1]
        closed = [
            n_closed
            for n_closed, outer in enumerate(outwards)
            if outer == column or (can_widen and outer > column)
        ]
        may_indent = can_widen or column > outwards[0]
        if not closed:
            return False, may_indent, 0, 1
        return 0 in closed, may_indent, max(closed), max(min(closed), 1)

    def at_the_end(self, stack: Stack, indentation: Indentation) -> Stack | None:
        """Return the stack after all that the end of the text feeds, except ``$END``."""
        after: Stack | None = stack
        if self.indentation_rules.ends_last_line and self._places[stack.state] != AT_LINE_START:
            after = self._parse_table.shift(stack, self.indentation_rules.newline)
        return None if after is None else self._with_closed(after, len(indentation.columns) - 1)

    def _with_closed(self, stack: Stack, n: int) -> Stack | None:
        """Return the stack after blocks are closed; what is left of others on the way is known."""
        passed: list[tuple[Stack, int]] = []
        after: Stack | None = stack
        while after is not None and n > 0:
            known = self._closed.get((after, n), stack)
            if known is not stack:
                after = known
                break
            passed.append((after, n))
            after, n = self._parse_table.shift(after, self.indentation_rules.dedent), n - 1
        for place in passed:
            self._closed[place] = after
        return after

    def _line(
        self, stack: Stack, indentation: Indentation, column: int
    ) -> tuple[Stack, Indentation] | None:
        """Return stack and indentation after a line break whose last line begins in a column."""
        if self._places[stack.state] == IN_STRING:
            return None
        after = self._parse_table.shift(stack, self.indentation_rules.newline)
        if after is None:
            return (stack, indentation) if indentation.level else None
        if column == NO_COLUMN:
            return (after, indentation) if self.indentation_rules.is_cpython else None
        columns = indentation.columns
        (wide, narrow), (top, narrow_top) = unpacked(column), unpacked(columns[-1])
        if wide > top:
            if narrow <= narrow_top or len(columns) > self.indentation_rules.max_indents:
                return None
            after = self._parse_table.shift(after, self.indentation_rules.indent)
            columns = (*columns, column)
        while after is not None and wide < unpacked(columns[-1])[0]:
            after = self._parse_table.shift(after, self.indentation_rules.dedent)
            columns = columns[:-1]
        if after is None or column != columns[-1]:
            return None
        return after, indentation._replace(columns=columns)


def _kinds_of_classes(
    indentation_rules: IndentationRules, scanner: Scanner
) -> npt.NDArray[np.int8]:
    """Return what the bytes of each class do; the scanner keeps apart those that differ."""
    first = np.unique(scanner.byte_classes, return_index=True)[1]
    kinds = indentation_rules.byte_kinds()
    assert (kinds == kinds[first][scanner.byte_classes]).all(), "the scanner was built for lines"
    return kinds[first]


def _first_bytes(scanner: Scanner, leads_there: npt.NDArray[np.bool_]) -> frozenset[int]:
    """Return the bytes that lexemes may start with, if some states lead to their ends."""
    starts = np.flatnonzero(scanner.is_start & ~scanner.assertions.any(axis=1))
    is_first = np.array(leads_there[scanner.transitions[starts]].any(axis=0))[scanner.byte_classes]
    return frozenset(np.flatnonzero(is_first).tolist())


def _check_columns(
    indentation_rules: IndentationRules,
    scanner: Scanner,
    kinds: npt.NDArray[np.int8],
    after_break: npt.NDArray[np.int32],
) -> None:
    """Refuse newline terminals that cannot come to every column after a break."""
    space = int(np.flatnonzero(kinds == SPACE)[0])
    if len(after_break) == 0:
        raise GrammarError(
            "the indenter's newline terminal never holds a line break; write it as /\\n[ ]*/"
        )
    for state in after_break.tolist():
        seen, equivalence_class = {state}, scanner.equivalence_classes[state]
        while True:
            if scanner.assertions[state].any():
                state = int(scanner.assertions[state, IF_FAILS])
            is_match = scanner.match[state] == indentation_rules.newline
            if not is_match or scanner.equivalence_classes[state] != equivalence_class:
                raise GrammarError(
                    "the indenter's newline terminal must take any number of spaces after each "
                    "line break, or no block could begin or end there; write it as /(\\n[ ]*)+/"
                )
            state = int(scanner.transitions[state, space])
            if state in seen:
                break
            seen.add(state)
