"""Reads rules of the form ``name ::= ...``: alternatives, rows, groups and counts.

In: a text, and how a notation writes the rest (:class:`Notation`). Out: its rules by name, in which
nothing is looked up yet. Groups are kept on a list and not on Python's stack, so they may nest
deeply.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from cfgguide.errors import LimitError
from cfgguide.grammar.notations.character_cursor import Cursor
from cfgguide.grammar.rules.source import Source
from cfgguide.grammar.rules.tree import Choice, Expression, Minus, Repeated, Row, Rule

#: Groups inside each other; llama.cpp's grammars of JSON Schemas nest one for each character of a
#: property's name.
MAX_NESTING = 500
#: The largest number in braces; llama.cpp's is 2000.
MAX_COUNT = 10_000

_ODD = "!$%&',/:;<=>@`}"  # no notation has them here
_NUMBER = re.compile("[0-9]+")
_MARKS: dict[str, tuple[int, int | None]] = {"?": (0, 1), "*": (0, None), "+": (1, None)}


class Notation(ABC):
    """Reads the rules of one notation.

    Parameters
    ----------
    source : Source
        The text.

    Attributes
    ----------
    name : re.Pattern
        The name of a rule.
    has_empty_alternatives, has_several_counts, has_braces, has_minus : bool
        Whether an alternative may be empty, a part may have several counts, counts may stand in
        braces, and ``A - B`` is all of A but B.
    unlimited : tuple of str
        What may stand for the larger number in braces, if there is no limit.
    ends : tuple of str
        What begins with a bracket, and ends a rule.
    """

    name: ClassVar[re.Pattern[str]]
    has_empty_alternatives: ClassVar[bool] = False
    has_several_counts: ClassVar[bool] = False
    has_braces: ClassVar[bool] = True
    has_minus: ClassVar[bool] = False
    unlimited: ClassVar[tuple[str, ...]] = ()
    ends: ClassVar[tuple[str, ...]] = ()

    def __init__(self, source: Source) -> None:
        self._cursor = Cursor(source)
        self.rule = ""  # the one that is read
        self.more: dict[str, Rule] = {}  # what macros need: "name 1" belongs to the rule "name"

    def rules(self) -> dict[str, Rule]:
        """Return the rules.

        Raises
        ------
        GrammarError, LimitError
            If the text is not in the notation, or nests too deeply.
        """
        cursor, found = self._cursor, dict[str, Rule]()
        self.skip_blanks(is_nested=True)
        while cursor.here:
            self.before_name()
            at = cursor.at
            name = cursor.match(self.name)
            if name is None:
                cursor.fail(f"expected the name of a rule, not {cursor.shown}")
            if name[0] in found:
                cursor.fail(f"{name[0]} is defined twice", at)
            self.after_name(at)
            cursor.expect("::=", "after the name of a rule")
            self.rule = name[0]
            found[name[0]] = Rule(at, name[0], self.expression())
            self.after_rule()
            self.skip_blanks(is_nested=True)
        return found | self.more

    def expression(self) -> Expression:
        """Return the alternatives that come next; raises as :meth:`rules`."""
        return _Reader(self._cursor, self).choice()

    def before_name(self) -> None:
        """Go on to the name of a rule, which has to come now."""
        return

    def after_name(self, at: int) -> None:
        """Go on to ``::=`` after a name, which stands at a place."""
        self.skip_blanks(is_nested=True)

    def after_rule(self) -> None:
        """Check what follows a rule."""
        return

    @abstractmethod
    def skip_blanks(self, *, is_nested: bool) -> None:
        """Go on after blanks and comments, and over line ends if these mean nothing here."""

    @abstractmethod
    def atom(self) -> Expression | None:
        """Return the name, text, class or token that comes next, or None if there is none."""


@dataclass
class _Group:
    """A group that is still open."""

    at: int
    options: list[Expression] = field(default_factory=list)
    row: list[Expression] = field(default_factory=list)
    minus: list[int] = field(
        default_factory=list
    )  # for each part of the row: where - stands, or -1
    row_at: int = 0


class _Reader:
    def __init__(self, cursor: Cursor, notation: Notation) -> None:
        self._cursor = cursor
        self._notation = notation
        self._open = [_Group(cursor.at, row_at=cursor.at)]
        self._minus_at = -1
        self._is_counted = True  # what stands last in the row, or nothing does

    def choice(self) -> Expression:
        cursor, notation = self._cursor, self._notation
        notation.skip_blanks(is_nested=True)
        self._open[-1].row_at = cursor.at
        while True:
            at = cursor.at
            if cursor.is_at("*", "+", "?") or (notation.has_braces and cursor.is_at("{")):
                self._count(at)
            elif notation.has_minus and cursor.took("-"):
                self._subtract(at)
            elif not cursor.is_at(*notation.ends) and cursor.took("("):
                self._begin_group(at)
            elif len(self._open) > 1 and cursor.took(")"):
                self._end_group()
            elif cursor.took("|"):
                self._end_row(at)
                notation.skip_blanks(is_nested=True)
                self._open[-1].row_at = cursor.at
            elif (atom := notation.atom()) is not None:
                self._add(atom)
            else:
                break
            notation.skip_blanks(is_nested=len(self._open) > 1)
        if len(self._open) > 1:
            if cursor.here == "":
                cursor.fail("this bracket is never closed", self._open[-1].at)
            cursor.fail(f"expected ) or more of the group, not {cursor.shown}")
        is_odd = bool(cursor.here) and cursor.here in _ODD
        if is_odd and not self._open[-1].row and not notation.has_empty_alternatives:
            cursor.fail(f"expected a name, a text, a class or a group, not {cursor.shown}")
        self._end_row(cursor.at)
        return _one_of(self._open[0])

    def _add(self, expression: Expression) -> None:
        group = self._open[-1]
        group.row.append(expression)
        group.minus.append(self._minus_at)
        self._minus_at = -1
        self._is_counted = False

    def _begin_group(self, at: int) -> None:
        if len(self._open) > MAX_NESTING:
            said = f"more than {MAX_NESTING} groups inside each other; make rules of some"
            raise self._cursor.error(said, at, LimitError)
        group = self._open[-1]
        self._notation.skip_blanks(is_nested=True)
        self._open.append(_Group(at, row_at=self._cursor.at))
        group.minus.append(self._minus_at)  # as if the group stood there already
        self._minus_at = -1
        self._is_counted = True

    def _end_group(self) -> None:
        group = self._open[-1]
        is_empty = not group.row and not group.options  # ()
        self._end_row(self._cursor.at - 1, may_be_empty=is_empty)
        self._open.pop()
        self._open[-1].row.append(_one_of(group))
        self._is_counted = False

    def _end_row(self, at: int, *, may_be_empty: bool = False) -> None:
        group = self._open[-1]
        self._check_minus()
        if not group.row and not (may_be_empty or self._notation.has_empty_alternatives):
            self._cursor.fail('this alternative is empty; the empty text is written ""', at)
        parts: list[Expression] = []
        for part, minus_at in zip(group.row, group.minus, strict=True):
            if minus_at >= 0:
                part = Minus(minus_at, parts.pop(), part)
            parts.append(part)
        group.options.append(parts[0] if len(parts) == 1 else Row(group.row_at, tuple(parts)))
        group.row, group.minus = [], []
        self._is_counted = True

    def _subtract(self, at: int) -> None:
        self._check_minus()
        if not self._open[-1].row:
            self._cursor.fail("nothing stands before this - that could be made smaller", at)
        self._minus_at = at

    def _check_minus(self) -> None:
        if self._minus_at >= 0:
            self._cursor.fail("nothing follows this -", self._minus_at)

    def _count(self, at: int) -> None:
        self._check_minus()
        row = self._open[-1].row
        if not row:
            self._cursor.fail(f"nothing stands before {self._cursor.here} that could be repeated")
        if self._is_counted and not self._notation.has_several_counts:
            self._cursor.fail(
                "two counts for one part; put brackets around the part with the first"
            )
        mark = _MARKS.get(self._cursor.here)
        self._cursor.at += 1
        least, most = self._braces(at) if mark is None else mark
        row[-1] = Repeated(row[-1].at, row[-1], least, most)
        self._is_counted = True

    def _braces(self, at: int) -> tuple[int, int | None]:
        cursor = self._cursor
        least = self._number()
        most: int | None = least
        if cursor.took(","):
            self._notation.skip_blanks(is_nested=True)
            is_unlimited = cursor.is_at("}") or any(map(cursor.took, self._notation.unlimited))
            most = None if is_unlimited else self._number()
            self._notation.skip_blanks(is_nested=True)
        cursor.expect("}", "after a count")
        if most is not None and most < least:
            cursor.fail(f"the count {least} to {most} ends before it begins", at)
        return least, most

    def _number(self) -> int:
        cursor, notation = self._cursor, self._notation
        notation.skip_blanks(is_nested=True)
        at = cursor.at
        found = cursor.match(_NUMBER)
        if found is None:
            cursor.fail(f"expected a number, not {cursor.shown}")
        digits = found[0].lstrip("0") or "0"
        if len(digits) > 6 or int(digits) > MAX_COUNT:
            raise cursor.error(f"counts above {MAX_COUNT} are not supported", at, LimitError)
        notation.skip_blanks(is_nested=True)
        return int(digits)


def _one_of(group: _Group) -> Expression:
    options = group.options
    return options[0] if len(options) == 1 else Choice(group.at, tuple(options))
