r"""Rules that repeat something by calling themselves at one end.

In: a rule such as ``ws ::= ([ \t] ws)?``, as grammars without counts have it. Out: the same
language as a repetition, ``[ \t]*``, which can be a terminal::

    r = A r | B   ->   A* B          r = r A | B   ->   B A*

Source: Arden 1961, "Delayed-logic and finite-state machines". The smallest solution is this one
whether or not A may be empty.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cfgguide.grammar.rules.tree import (
    Choice,
    Expression,
    Name,
    Repeated,
    Row,
    Rule,
    Text,
    names_in,
)

_MAX_DEPTH = 50


@dataclass(frozen=True)
class _Split:
    """An expression as ``A r | B``: the alternatives of A, and those of B."""

    before_itself: tuple[Expression, ...]
    without: tuple[Expression, ...]


def without_itself(rule: Rule) -> Rule:
    """Return a rule that does not call itself, if it does so at one end only; or the same rule.

    Examples
    --------
    >>> at = 0
    >>> rule = Rule(at, "r", Choice(at, (Row(at, (Text(at, "a"), Name(at, "r"))), Text(at, "b"))))
    >>> names_in(without_itself(rule).body)
    []
    """
    if all(name.name != rule.name for name in names_in(rule.body)):
        return rule
    for is_last in (True, False):
        split = _split(rule.body, rule.name, is_last=is_last, depth=0)
        if split is None or not split.without:
            continue
        at = rule.body.at
        end = _one_of(at, split.without)
        again = Repeated(at, _one_of(at, split.before_itself), 0, None)
        parts = (again, end) if is_last else (end, again)
        return Rule(rule.at, rule.name, Row(at, parts))
    return rule


def _split(expression: Expression, name: str, *, is_last: bool, depth: int) -> _Split | None:
    """Return an expression as ``A r | B``, or ``r A | B``; None if it is neither."""
    if depth > _MAX_DEPTH:
        return None
    if all(each.name != name for each in names_in(expression)):
        return _Split((), (expression,))
    inner: Callable[[Expression], _Split | None] = lambda part: _split(  # noqa: E731
        part, name, is_last=is_last, depth=depth + 1
    )
    match expression:
        case Name():
            return _Split((Text(expression.at, ""),), ())
        case Choice():
            parts = [inner(part) for part in expression.parts]
            if None in parts:
                return None
            known = [part for part in parts if part is not None]
            return _Split(
                tuple(each for part in known for each in part.before_itself),
                tuple(each for part in known for each in part.without),
            )
        case Row():
            return _split_row(expression, name, is_last=is_last, inner=inner)
        case Repeated(least=0, most=1):
            found = inner(expression.part)
            empty = Text(expression.at, "")
            return found and _Split(found.before_itself, (*found.without, empty))
        case _:
            return None


def _split_row(
    row: Row, name: str, *, is_last: bool, inner: Callable[[Expression], _Split | None]
) -> _Split | None:
    end = row.parts[-1 if is_last else 0]
    rest = row.parts[:-1] if is_last else row.parts[1:]
    if any(each.name == name for part in rest for each in names_in(part)):
        return None
    found = inner(end)
    if found is None:
        return None

    def joined(part: Expression) -> Expression:
        return Row(row.at, (*rest, part) if is_last else (part, *rest))

    return _Split(
        tuple(joined(each) for each in found.before_itself),
        tuple(joined(each) for each in found.without),
    )


def _one_of(at: int, options: tuple[Expression, ...]) -> Expression:
    return options[0] if len(options) == 1 else Choice(at, options)
