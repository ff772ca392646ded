"""The names and limits that an indenter gives, as plain values.

In: what :mod:`cfgguide.grammar.indenters` reads from a postlex. Out: an :class:`IndentationNames`,
from which :mod:`cfgguide.grammar.lr.indentation` makes the rules for a parse table.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

# What is done with a lexeme: in `IndentationRules.roles`.
FED, NEWLINE, INLINE, JOIN, OPENS, CLOSES, COUNTED = 0, 1, 2, 3, 4, 5, 6
MAX_LEVELS = (1 << 11) - 1  # of brackets
MAX_INDENTS = 10_000
MAX_DIGITS = 1 << 20
CPYTHON_TAB = 0  # in `IndentationRules.tab`: to the next column that 8 divides


@dataclass(frozen=True)
class IndentationNames:
    """The names that an indenter gives, and its limits.

    Attributes
    ----------
    newline, indent, dedent : str
        Terminals.
    roles : tuple of (str, int)
        Other terminals that are not simply fed, and what is done with them.
    strings, string_ends, fields, specs : frozenset of str
        Terminals that open strings; that close them; that open brackets inside them which may hold
        line breaks; and that begin a part of such brackets which may not.
    always : tuple of str
        Terminals that the lexer tries in every state.
    tab : int
        How wide a tab is; `CPYTHON_TAB` for CPython's rules of columns.
    ends_last_line : bool
        Whether a line break is fed at the end of the text if there is none.
    max_brackets, max_indents : int
        How many may be open.
    max_digits : int
        How many digits a number may have whose digits are counted.
    """

    newline: str
    indent: str
    dedent: str
    roles: tuple[tuple[str, int], ...]
    strings: frozenset[str] = frozenset()
    string_ends: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    specs: frozenset[str] = frozenset()
    always: tuple[str, ...] = ()
    tab: int = 8
    ends_last_line: bool = False
    max_brackets: int = MAX_LEVELS
    max_indents: int = MAX_INDENTS
    max_digits: int = MAX_DIGITS

    def as_json(self) -> dict[str, Any]:
        """Return the same as a JSON value."""
        value = asdict(self)
        return {
            name: sorted(part) if isinstance(part, frozenset) else part
            for name, part in value.items()
        }

    @classmethod
    def from_json(cls, value: Any) -> IndentationNames | None:
        """Return the names that :meth:`as_json` made a value of, or None for any other value."""
        names = {field.name: field.type for field in fields(cls)}
        if not isinstance(value, dict) or value.keys() != names.keys():
            return None
        found: dict[str, Any] = {}
        for name, kind in names.items():
            part = value[name]
            if kind in ("str", "int", "bool"):
                is_right = type(part).__name__ == kind
            elif kind == "tuple[tuple[str, int], ...]":
                is_right = isinstance(part, list | tuple) and all(
                    isinstance(pair, list | tuple)
                    and len(pair) == 2
                    and isinstance(pair[0], str)
                    and type(pair[1]) is int
                    and FED <= pair[1] <= COUNTED
                    for pair in part
                )
                part = tuple(map(tuple, part)) if is_right else part
            else:
                is_right = isinstance(part, list | tuple) and all(
                    isinstance(each, str) for each in part
                )
                part = (frozenset if kind == "frozenset[str]" else tuple)(part) if is_right else ()
            if not is_right:
                return None
            found[name] = part
        is_in_bounds = min(found["max_brackets"], found["max_indents"]) > 0
        is_in_bounds &= 0 < found["max_digits"] <= MAX_DIGITS
        return cls(**found) if is_in_bounds and 0 <= found["tab"] <= 100 else None
