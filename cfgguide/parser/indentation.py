r"""Lines, blocks and brackets: what a postlex such as Lark's ``Indenter`` makes of lexemes.

In: the names of terminals that an indenter has, and the parse table. Out:
:class:`IndentationRules`: what is to be done with each lexeme, and a :class:`Indentation`, which is
what is remembered of the text for it: the columns of the open blocks, the number of open brackets,
and the column of the line that a lexeme has just begun. ::

    if x:\n    y         columns 0 4    the line break feeds INDENT, since 4 > 0
    f(\n  y)             level 1        the line break is dropped

Whoever follows the two grammatically, a parser, must not be surprised by a DEDENT where no block is
open. So the rules of a grammar have to be balanced: what one of them opens it closes. Then the
stack alone tells which blocks and brackets are open, a block may be closed wherever the parser
takes a DEDENT, and a line break is fed wherever the parser takes one.

Source: Lark's ``lark.indenter``; for CPython's columns :mod:`cfgguide.grammar.indenters`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cfgguide.errors import GrammarError
from cfgguide.parser.indentation_names import (
    CLOSES,
    CPYTHON_TAB,
    FED,
    MAX_INDENTS,
    MAX_LEVELS,
    NEWLINE,
    OPENS,
    IndentationNames,
)
from cfgguide.parser.items import Transitions, state_after
from cfgguide.parser.table import START_STATE, ParseTable

# Where a parse state stands that a shift led to: in `IndentationRules.places`.
IN_LINE, AT_LINE_START, IN_STRING = 0, 1, 2
# What the bytes of a line break do to the column.
OTHER, BREAK, SPACE, TAB, FORM_FEED, DIGIT = 0, 1, 2, 3, 4, 5

BLOCKS, BRACKETS = 1, 2  # of which no more can be opened, as bits

# A column is a number and how it would be if tabs were one space wide, packed; 0 stands for none.
COLUMN_SHIFT = 16
NARROW_BITS = (1 << COLUMN_SHIFT) - 1
ONE_SPACE = (1 << COLUMN_SHIFT) + 1
NO_COLUMN, COLUMN_0 = 0, 1
MAX_COLUMNS = (1 << 15) - 1  # of a line's white space


class Indentation(NamedTuple):
    """What of the text so far decides about line breaks to come.

    Attributes
    ----------
    columns : tuple of int
        The packed columns of the open blocks, that of the file first.
    level : int
        Number of open brackets.
    column : int
        The packed column to which white space has led in the lexeme that the scanner is in, if
        that has a line break before it; of a number that is counted, how many digits it has; 0
        otherwise.
    """

    columns: tuple[int, ...]
    level: int
    column: int


FLAT = Indentation((COLUMN_0,), 0, NO_COLUMN)


@dataclass(frozen=True)
class IndentationRules:
    """What is done with lexemes, by their labels and by where the parser is.

    Attributes
    ----------
    roles : int8, shape (n_terminals + 2,)
        What is done with a lexeme of each label.
    places : int8, shape (n_states,)
        Where each parse state stands that a shift led to.
    newline, indent, dedent : int
        Terminals.
    tab : int
        How wide a tab is; `CPYTHON_TAB` for CPython's rules of columns.
    ends_last_line : bool
        Whether a line break is fed at the end of the text if there is none.
    max_brackets, max_indents : int
        How many may be open.
    max_digits : int
        How many digits numbers may have that are counted.
    names : LineNames
        What all this was made from.
    """

    roles: npt.NDArray[np.int8]
    places: npt.NDArray[np.int8]
    newline: int
    indent: int
    dedent: int
    tab: int
    ends_last_line: bool
    max_brackets: int
    max_indents: int
    max_digits: int
    names: IndentationNames

    @property
    def is_cpython(self) -> bool:
        """Whether columns are those of CPython's tokenizer."""
        return self.tab == CPYTHON_TAB

    def byte_kinds(self) -> npt.NDArray[np.int8]:
        """Return what each byte of a line break does to the column; shape (256,)."""
        kinds = np.zeros(256, dtype=np.int8)
        kinds[ord("\n")], kinds[ord(" ")], kinds[ord("\t")] = BREAK, SPACE, TAB
        if self.is_cpython:
            kinds[ord("\r")], kinds[ord("\f")] = BREAK, FORM_FEED
            kinds[ord("0") : ord("9") + 1] = DIGIT
        return kinds

    def column_after(self, column: int, kind: int) -> int | None:
        """Return a packed column after one more byte of the lexeme, None where it is too wide."""
        if kind == BREAK:
            return COLUMN_0
        if column == NO_COLUMN:
            return NO_COLUMN
        if kind in (OTHER, DIGIT):
            return NO_COLUMN if self.is_cpython else column
        if kind == FORM_FEED:
            return COLUMN_0
        width = 1
        if kind == TAB and self.is_cpython:
            wide, narrow = unpacked(column)
            return packed((wide // 8 + 1) * 8, narrow + 1)
        if kind == TAB:
            width = self.tab
        wide, narrow = unpacked(column)
        return packed(wide + width, narrow + width)

    @classmethod
    def of(cls, names: IndentationNames, table: ParseTable) -> IndentationRules:
        """Return the rules in the numbers of a parse table.

        Raises
        ------
        GrammarError
            If a rule opens what it does not close, or the like.
        """
        number = {name: index for index, name in enumerate(table.terminals)}
        roles = np.full(table.n_terminals + 2, FED, dtype=np.int8)
        for name, role in names.roles:
            if name in number:
                roles[number[name]] = role
        for name, use in (
            (names.newline, "newline"),
            (names.indent, "indent"),
            (names.dedent, "dedent"),
        ):
            if name not in number:
                raise GrammarError(
                    f"the indenter's terminal {name} ({use}) is in no rule; name the terminal that "
                    "the grammar uses, or leave the postlex out"
                )
        roles[number[names.newline]] = NEWLINE
        _Balance(names, table, roles).check()
        return cls(
            roles=roles,
            places=_places(names, table, roles),
            newline=number[names.newline],
            indent=number[names.indent],
            dedent=number[names.dedent],
            tab=names.tab,
            ends_last_line=names.ends_last_line,
            max_brackets=min(names.max_brackets, MAX_LEVELS),
            max_indents=min(names.max_indents, MAX_INDENTS),
            max_digits=names.max_digits,
            names=names,
        )


def packed(wide: int, narrow: int) -> int | None:
    """Return two columns as one number; None if they are too large."""
    return (wide << COLUMN_SHIFT) + narrow + 1 if wide <= MAX_COLUMNS else None


def unpacked(column: int) -> tuple[int, int]:
    """Return the two columns that are packed in one number."""
    return divmod(column - 1, 1 << COLUMN_SHIFT)


class _Balance:
    """Checks that rules close what they open, in blocks, brackets and strings."""

    def __init__(
        self, names: IndentationNames, table: ParseTable, roles: npt.NDArray[np.int8]
    ) -> None:
        self._names = names
        self._table = table
        terminals = table.terminals
        opening = {name for name, role in zip(terminals, roles, strict=False) if role == OPENS}
        closing = {name for name, role in zip(terminals, roles, strict=False) if role == CLOSES}
        self._kinds: tuple[tuple[str, Iterable[str], Iterable[str]], ...] = (
            ("blocks", {names.indent}, {names.dedent}),
            ("brackets", opening, closing),
            ("strings", names.strings, names.string_ends),
        )

    def check(self) -> None:
        for what, opening, closing in self._kinds:
            steps = dict.fromkeys(opening, 1) | dict.fromkeys(closing, -1)
            for left, right in self._table.productions:
                depth = 0
                for symbol in right:
                    depth += steps.get(symbol, 0)
                    if depth < 0:
                        break
                if depth:
                    raise GrammarError(
                        f"the rule {left!r} does not close the {what} that it opens, or closes "
                        f"others: {' '.join(right)}. Open and close them in the same rule, so that "
                        "it is always known how many are open"
                    )
        _, opening, closing = self._kinds[1]
        self._check_newlines(dict.fromkeys(opening, 1) | dict.fromkeys(closing, -1))

    def _check_newlines(self, steps: Mapping[str, int]) -> None:
        """Refuse rules with a line break between brackets: it is never fed there."""
        with_newline = {self._names.newline}
        size = 0
        while size != len(with_newline):
            size = len(with_newline)
            with_newline |= {
                left for left, right in self._table.productions if with_newline & set(right)
            }
        for left, right in self._table.productions:
            depth = 0
            for symbol in right:
                depth += steps.get(symbol, 0)
                if depth > 0 and symbol in with_newline:
                    raise GrammarError(
                        f"the rule {left!r} has {self._names.newline} between brackets, where the "
                        "indenter drops it: leave it out there"
                    )


def _places(
    names: IndentationNames, table: ParseTable, roles: npt.NDArray[np.int8]
) -> npt.NDArray[np.int8]:
    """Return where each parse state stands: `IndentationRules.places`."""
    transitions = table.transitions()
    openings = {name for name, role in zip(table.terminals, roles, strict=False) if role == OPENS}
    openings |= names.strings
    closings = {name for name, role in zip(table.terminals, roles, strict=False) if role == CLOSES}
    closings |= names.string_ends
    spans = _spans(table, openings, closings)
    specs = _spec_transitions(names, transitions, spans)
    is_quoted: dict[int, bool] = {START_STATE: False}
    pending = [START_STATE]

    def reach(state: int, quoted: bool) -> None:
        if state not in is_quoted:
            is_quoted[state] = quoted
            pending.append(state)
        elif is_quoted[state] != quoted:
            raise GrammarError(
                "a part of the grammar is used both inside strings that are made of several "
                "terminals and outside: give it rules of its own inside them"
            )

    while pending:
        state = pending.pop()
        quoted = is_quoted[state]
        for symbol, target in transitions[state].items():
            if symbol in closings:
                continue
            if symbol in openings:
                is_string = symbol in names.strings
                reach(target, is_string or (quoted and symbol not in names.fields))
                for span in spans[symbol]:
                    end = state_after(transitions, state, span)
                    if end is not None:
                        reach(end, quoted)
            else:
                reach(target, quoted or (state, symbol) in specs)
    places = np.full(table.n_states, IN_LINE, dtype=np.int8)
    places[[state for state, quoted in is_quoted.items() if quoted]] = IN_STRING
    places[START_STATE] = AT_LINE_START
    for name in (names.newline, names.indent, names.dedent):
        column = table.action[:, table.terminals.index(name)]
        places[np.unique(column[column > 0] - 1)] = AT_LINE_START
    return places


def _spec_transitions(
    names: IndentationNames, transitions: Transitions, spans: Mapping[str, set[tuple[str, ...]]]
) -> set[tuple[int, str]]:
    """Return the states in fields, and the terminals there, with which a format spec begins."""
    found: set[tuple[int, str]] = set()
    for field in names.fields & spans.keys():
        for span in spans[field]:
            specs = [place for place, symbol in enumerate(span) if symbol in names.specs]
            for state in range(len(transitions)) if specs else ():
                before = state_after(transitions, state, span[: specs[0]])
                if before is not None:
                    found.add((before, span[specs[0]]))
    return found


def _spans(
    table: ParseTable, openings: Iterable[str], closings: Iterable[str]
) -> dict[str, set[tuple[str, ...]]]:
    """Return, by the terminal that opens, what rules have from there to what closes it."""
    spans: dict[str, set[tuple[str, ...]]] = {name: set() for name in openings}
    for _, right in table.productions:
        begun: list[int] = []
        for place, symbol in enumerate(right):
            if symbol in spans:
                begun.append(place)
            elif symbol in closings and begun:
                start = begun.pop()
                spans[right[start]].add(right[start : place + 1])
    return spans
