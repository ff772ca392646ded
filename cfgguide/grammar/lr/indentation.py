r"""Indentation: what a postlex such as Lark's ``Indenter`` does with line breaks and brackets.

In: the names that an indenter gives, and the parse table. Out: :class:`IndentationRules`, which say
what to do with each lexeme, and an :class:`Indentation`, which holds what that depends on: the
columns of the open blocks, the number of open brackets, and the column of the line that has just
begun. ::

    if x:\n    y         columns 0 4    the line break feeds INDENT, since 4 > 0
    f(\n  y)             level 1        the line break is dropped

The productions of a grammar must be balanced: each closes what it opens. Then the stack alone tells
which blocks and brackets are open, a block may be closed wherever the parser takes a DEDENT, and a
line break is fed wherever the parser takes one. The parser never gets a DEDENT where no block is
open.

Source: Lark's ``lark.indenter``; for CPython's columns :mod:`cfgguide.grammar.indenters`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cfgguide.errors import GrammarError
from cfgguide.grammar.lr.indentation_names import (
    CLOSES,
    CPYTHON_TAB,
    FED,
    MAX_INDENTS,
    MAX_LEVELS,
    NEWLINE,
    OPENS,
    IndentationNames,
)
from cfgguide.grammar.lr.items import state_after
from cfgguide.grammar.lr.table import START_STATE, ParseTable

# The place of a parse state that a shift leads to: in `IndentationRules.places`.
IN_LINE, AT_LINE_START, IN_STRING = 0, 1, 2
# What a byte of a line break does to the column.
OTHER, BREAK, SPACE, TAB, FORM_FEED, DIGIT = 0, 1, 2, 3, 4, 5

BLOCKS, BRACKETS = 1, 2  # bits: no more of these can be opened
DROPPED = 4  # a bit: a line break was dropped, so a bracket is open and will be closed

# A column packs two numbers: the column, and the column if tabs were one space wide. 0 is none.
COLUMN_SHIFT = 16
NARROW_BITS = (1 << COLUMN_SHIFT) - 1
ONE_SPACE = (1 << COLUMN_SHIFT) + 1
NO_COLUMN, COLUMN_0 = 0, 1
MAX_COLUMNS = (1 << 15) - 1  # of a line's white space


class Indentation(NamedTuple):
    """What the text so far says about the line breaks to come.

    Attributes
    ----------
    columns : tuple of int
        The packed columns of the open blocks, that of the file first.
    level : int
        Number of open brackets.
    column : int
        If the lexeme that the scanner is in has a line break, the packed column to which the white
        space after it leads; if the lexeme is a number whose digits are counted, how many it has;
        0 otherwise.
    """

    columns: tuple[int, ...]
    level: int
    column: int

    def lines_after(self, rest: bytes) -> Iterator[bytes]:
        """Yield what to add to a line break for it to come to each column that matters.

        Parameters
        ----------
        rest : bytes
            The shortest rest of the line break; empty if it may end here.
        """
        has_broken = b"\n" in rest
        n_spaces = 0 if has_broken or self.column == NO_COLUMN else unpacked(self.column)[0]
        widths = [unpacked(each)[0] for each in (*self.columns, self.columns[-1] + ONE_SPACE)]
        yield b""
        yield from (b" " * (width - n_spaces) for width in widths if width > n_spaces)
        if not has_broken:  # another line, which may be further left
            yield from (b"\n" + b" " * width for width in widths)


FLAT = Indentation((COLUMN_0,), 0, NO_COLUMN)


@dataclass(frozen=True)
class IndentationRules:
    """What is done with lexemes, by their terminal ids and by where the parser is.

    Attributes
    ----------
    roles : int8, shape (n_terminals + 2,)
        What is done with a lexeme of each terminal id.
    places : int8, shape (n_states,)
        The place of each parse state that a shift leads to.
    newline, indent, dedent : int
        Terminals.
    tab : int
        How wide a tab is; `CPYTHON_TAB` for CPython's rules of columns.
    ends_last_line : bool
        Whether a line break is fed at the end of the text if there is none.
    max_brackets, max_indents : int
        How many may be open.
    max_digits : int
        How many digits a number may have whose digits are counted.
    names : IndentationNames
        What the rules were made from.
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

    def column_after(self, column: int, kind: int, n: int = 1) -> int | None:
        """Return the packed column after `n` more bytes of a lexeme, or None if it is too wide."""
        if kind == BREAK:
            return COLUMN_0
        if column == NO_COLUMN:
            return NO_COLUMN
        if kind in (OTHER, DIGIT):
            return NO_COLUMN if self.is_cpython else column
        if kind == FORM_FEED:
            return COLUMN_0
        wide, narrow = unpacked(column)
        if kind == TAB and self.is_cpython:
            return packed((wide // 8 + n) * 8, narrow + n)
        width = n * self.tab if kind == TAB else n
        return packed(wide + width, narrow + width)

    @classmethod
    def of(cls, names: IndentationNames, table: ParseTable) -> IndentationRules:
        """Return the rules in the numbers of a parse table.

        Raises
        ------
        GrammarError
            If the grammar lacks a terminal of the indenter, or a rule does not close what it opens,
            has line breaks between brackets, or is used both inside and outside strings.
        """
        terminal_ids = {name: index for index, name in enumerate(table.terminals)}
        roles = np.full(table.n_terminals + 2, FED, dtype=np.int8)
        for name, role in names.roles:
            if name in terminal_ids:
                roles[terminal_ids[name]] = role
        for name, use in (
            (names.newline, "newline"),
            (names.indent, "indent"),
            (names.dedent, "dedent"),
        ):
            if name not in terminal_ids:
                raise GrammarError(
                    f"the grammar has no terminal {name} ({use} of the indenter); name the "
                    "terminal that it has, or leave the postlex out"
                )
        roles[terminal_ids[names.newline]] = NEWLINE
        _Balance(names, table, roles).check()
        return cls(
            roles=roles,
            places=_places(names, table, roles),
            newline=terminal_ids[names.newline],
            indent=terminal_ids[names.indent],
            dedent=terminal_ids[names.dedent],
            tab=names.tab,
            ends_last_line=names.ends_last_line,
            max_brackets=min(names.max_brackets, MAX_LEVELS),
            max_indents=min(names.max_indents, MAX_INDENTS),
            max_digits=names.max_digits,
            names=names,
        )


def packed(wide: int, narrow: int) -> int | None:
    """Return two columns as one number, or None if they are too large."""
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
                        f"{self._named(left)} does not close the {what} that it opens, or closes "
                        f"others: {' '.join(right)}. Open and close them in the same alternative "
                        "of a rule, so that it is always known how many are open"
                    )
        _, opening, closing = self._kinds[1]
        self._check_newlines(dict.fromkeys(opening, 1) | dict.fromkeys(closing, -1))

    def _named(self, left: str) -> str:
        """Return what a rule is called in a message: what Lark makes of a part has no name."""
        rule, seen = left, {left}
        while rule.startswith("__"):
            users = (each for each, right in self._table.productions if rule in right)
            rule = next((each for each in users if each not in seen), left)
            if rule == left:
                break
            seen.add(rule)
        return f"the rule {left!r}" if rule == left else f"a repeated part of the rule {rule!r}"

    def _check_newlines(self, steps: Mapping[str, int]) -> None:
        """Refuse rules with a line break between brackets, where none is fed."""
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
    """Return `IndentationRules.places`."""
    openings = {name for name, role in zip(table.terminals, roles, strict=False) if role == OPENS}
    openings |= names.strings
    closings = {name for name, role in zip(table.terminals, roles, strict=False) if role == CLOSES}
    closings |= names.string_ends
    spans = _spans(table, openings, closings)
    # A state inside strings is another one than outside, its number is greater by `n`.
    n, numbers = table.n_states, {name: number for number, name in enumerate(table.symbols)}
    sources, symbols, targets = table.edges
    into, out, is_closing = np.zeros((3, len(symbols)), dtype=np.bool_)
    for state, name in _spec_transitions(names, table, spans):
        into |= (sources == state) & (symbols == numbers[name])
    for name in (openings | closings) & numbers.keys():
        into[symbols == numbers[name]] = name in names.strings
        out[symbols == numbers[name]] = name in names.fields - names.strings
        is_closing |= (symbols == numbers[name]) & (name in closings)
    kept = np.flatnonzero(~is_closing)
    before = [sources[kept], n + sources[kept]]
    after = [(targets + n * into)[kept], (targets + n * ~out)[kept]]
    for name in openings & numbers.keys():
        of_name = kept[symbols[kept] == numbers[name]]
        for target in np.unique(targets[of_name]).tolist():
            opened = sources[of_name[targets[of_name] == target]]
            ends = (state_after(table.transitions, target, span[1:]) for span in spans[name])
            for end in {end for end in ends if end is not None}:
                before += [opened, n + opened]
                after += [np.full(len(opened), end), np.full(len(opened), n + end)]
    sources, targets = np.concatenate(before), np.concatenate(after)
    is_reached = np.zeros(2 * n, dtype=np.bool_)
    is_reached[START_STATE] = True
    while not is_reached[new := targets[is_reached[sources]]].all():
        is_reached[new] = True
    outside, quoted = is_reached.reshape(2, n)
    if (outside & quoted).any():
        raise GrammarError(
            "a part of the grammar is used both inside strings that are made of several "
            "terminals and outside: give it rules of its own inside them"
        )
    places = np.full(table.n_states, IN_LINE, dtype=np.int8)
    places[quoted] = IN_STRING
    places[START_STATE] = AT_LINE_START
    for name in (names.newline, names.indent, names.dedent):
        column = table.action[:, table.terminals.index(name)]
        places[np.unique(column[column > 0] - 1)] = AT_LINE_START
    return places


def _spec_transitions(
    names: IndentationNames, table: ParseTable, spans: Mapping[str, set[tuple[str, ...]]]
) -> set[tuple[int, str]]:
    """Return the states in fields, and the terminals there, with which a format spec begins."""
    found: set[tuple[int, str]] = set()
    for field in names.fields & spans.keys():
        states = np.flatnonzero(table.action[:, table.terminals.index(field)] > 0).tolist()
        for span in spans[field]:  # each begins with the field's bracket
            specs = [index for index, symbol in enumerate(span) if symbol in names.specs]
            for state in states if specs else ():
                before = state_after(table.transitions, state, span[: specs[0]])
                if before is not None:
                    found.add((before, span[specs[0]]))
    return found


def _spans(
    table: ParseTable, openings: Iterable[str], closings: Iterable[str]
) -> dict[str, set[tuple[str, ...]]]:
    """Return what productions hold from each opening terminal to the one that closes it."""
    spans: dict[str, set[tuple[str, ...]]] = {name: set() for name in openings}
    for _, right in table.productions:
        begun: list[int] = []
        for index, symbol in enumerate(right):
            if symbol in spans:
                begun.append(index)
            elif symbol in closings and begun:
                start = begun.pop()
                spans[right[start]].add(right[start : index + 1])
    return spans
