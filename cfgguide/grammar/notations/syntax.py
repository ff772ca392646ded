"""What stands in a grammar of characters: rules and their expressions, whatever the notation.

Every node knows its offset in the text (`at`), so that errors can point to it. A text in quotes is
what it means, without escapes; so are the members of a class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

Ranges = tuple[tuple[int, int], ...]  # inclusive, of code points, sorted, without surrogates
Result = TypeVar("Result")


@dataclass(frozen=True)
class Characters:
    """One character of some: ``[a-z]``, ``[^"]``, ``.``, ``#x41``."""

    at: int
    ranges: Ranges


@dataclass(frozen=True)
class Text:
    """A text in quotes; it may be empty."""

    at: int
    text: str


@dataclass(frozen=True)
class Name:
    """The name of a rule."""

    at: int
    name: str


@dataclass(frozen=True)
class Special:
    """One token of some, by names or ids: ``<|end|>``, ``<[12]>``, ``Token(12, 13)``."""

    at: int
    tokens: frozenset[str | int]


@dataclass(frozen=True)
class Row:
    """Expressions one after the other; none at all are the empty text."""

    at: int
    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Choice:
    """One of some expressions."""

    at: int
    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Repeated:
    """An expression several times; `most` is None for any number of times."""

    at: int
    part: Expression
    least: int
    most: int | None


@dataclass(frozen=True)
class Minus:
    """The texts of one expression that are not texts of another: ``A - B`` of W3C's notation."""

    at: int
    part: Expression
    other: Expression


Expression = Characters | Text | Name | Special | Row | Choice | Repeated | Minus


@dataclass(frozen=True)
class Rule:
    """A rule; `at` is where its name stands."""

    at: int
    name: str
    body: Expression


def parts_of(expression: Expression) -> tuple[Expression, ...]:
    """Return the expressions that one is made of."""
    match expression:
        case Row() | Choice():
            return expression.parts
        case Repeated():
            return (expression.part,)
        case Minus():
            return (expression.part, expression.other)
        case _:
            return ()


def nodes_of(expression: Expression) -> list[Expression]:
    """Return all nodes of an expression, each before its parts."""
    found, pending = list[Expression](), [expression]
    while pending:
        here = pending.pop()
        found.append(here)
        pending.extend(reversed(parts_of(here)))
    return found


def folded(
    expression: Expression, result_of: Callable[[Expression, list[Result]], Result]
) -> Result:
    """Return what is found for an expression, given what is found for its parts.

    Without recursion: groups may nest more deeply than Python's stack.

    Examples
    --------
    >>> folded(Row(0, (Text(0, "a"), Text(3, "bc"))), lambda node, of_parts: 1 + sum(of_parts))
    3
    """
    order, pending = list[Expression](), [expression]
    while pending:
        order.append(pending.pop())
        pending.extend(parts_of(order[-1]))
    results: list[Result] = []
    for node in reversed(order):  # from left to right, each after its parts
        first = len(results) - len(parts_of(node))
        of_parts = results[first:]
        del results[first:]
        results.append(result_of(node, of_parts))
    return results[0]


def names_in(expression: Expression) -> list[Name]:
    """Return the names in an expression, from left to right."""
    return [node for node in nodes_of(expression) if isinstance(node, Name)]
