"""What stands in a grammar, whatever its notation: rules and their expressions.

Readers make this tree and printers write it. Every node knows its offset in the text (`at`), so
that errors can point to it; nodes are equal wherever they stand. A text in quotes is what it means,
without escapes; so are the members of a class.

GBNF, XGrammar's EBNF and W3C's have rules over characters: :class:`Characters`, :class:`Text`,
names, tokens, rows, choices, counts and :class:`Minus`. llguidance's dialect has terminals as well,
with :class:`Pattern`, :class:`Both` and :class:`Not`, and other grammars inside of rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from cfgguide.automata import pattern_tree

Ranges = tuple[tuple[int, int], ...]  # inclusive, of code points, sorted, without surrogates
Result = TypeVar("Result")


@dataclass(frozen=True)
class _Node:
    """What all nodes have: where they stand in the text."""

    at: int = field(compare=False)


@dataclass(frozen=True)
class Characters(_Node):
    """One character of some: ``[a-z]``, ``[^"]``, ``.``, ``#x41``, ``"a".."z"``."""

    ranges: Ranges


@dataclass(frozen=True)
class Text(_Node):
    """A text in quotes, which may be empty; ``"if"i`` is a text in any case."""

    text: str
    ignores_case: bool = False


@dataclass(frozen=True)
class Pattern(_Node):
    """A regular expression and its flags; in llguidance's dialect, as Rust reads it."""

    pattern: str
    flags: str = ""


@dataclass(frozen=True)
class Substring(_Node):
    """Some texts of a list in a row, perhaps none: ``%regex {"substring_words": ...}``."""

    chunks: tuple[str, ...]


@dataclass(frozen=True)
class Name(_Node):
    """The name of a rule or a terminal."""

    name: str


@dataclass(frozen=True)
class Special(_Node):
    """One token of some, by names or ids: ``<|end|>``, ``<[12]>``, ``Token(12, 13)``."""

    tokens: frozenset[str | int]


@dataclass(frozen=True)
class Reference(_Node):
    """Another grammar, by its name: ``@name``."""

    name: str


@dataclass(frozen=True)
class Schema(_Node):
    """A JSON Schema: ``%json {...}``."""

    schema: Any


@dataclass(frozen=True)
class Nested(_Node):
    """A grammar inside a grammar: ``%lark {...}``."""

    document: Document


@dataclass(frozen=True)
class Row(_Node):
    """Expressions one after the other; none at all are the empty text."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Choice(_Node):
    """One of some expressions."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Repeated(_Node):
    """An expression several times; `most` is None for any number of times."""

    part: Expression
    least: int
    most: int | None


@dataclass(frozen=True)
class Minus(_Node):
    """The texts of one expression that are not texts of another: ``A - B`` of W3C's notation."""

    part: Expression
    other: Expression


@dataclass(frozen=True)
class Both(_Node):
    """The texts that match several expressions: ``A & B``."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Not(_Node):
    """The texts that do not match: ``~A``."""

    part: Expression


Expression = (
    Characters
    | Text
    | Pattern
    | Substring
    | Name
    | Special
    | Reference
    | Schema
    | Nested
    | Row
    | Choice
    | Repeated
    | Minus
    | Both
    | Not
)


@dataclass(frozen=True)
class Attribute:
    """What stands in the brackets after a rule's name: ``lazy``, ``suffix="</call>"``."""

    at: int
    name: str
    value: Expression | str | None


@dataclass(frozen=True)
class Rule:
    """A rule or a terminal; `at` is where its name stands."""

    at: int
    name: str
    body: Expression
    attributes: tuple[Attribute, ...] = ()


@dataclass
class Document:
    """A whole grammar of llguidance's dialect.

    Attributes
    ----------
    rules, terminals : dict
        By their names.
    ignored : list
        What each ``%ignore`` says.
    options : dict of str to (int, value)
        Those of ``%llguidance``, with their places.
    """

    rules: dict[str, Rule] = field(default_factory=dict)
    terminals: dict[str, Rule] = field(default_factory=dict)
    ignored: list[Expression] = field(default_factory=list)
    options: dict[str, tuple[int, Any]] = field(default_factory=dict)


def expression_of(
    nodes: Iterable[pattern_tree.Node],
    at: int,
    refusal: Callable[[pattern_tree.Node], Exception],
    *,
    has_texts: bool = False,
) -> Expression:
    """Return a pattern as an expression; characters in a row are a text where `has_texts` says so.

    Of a condition, and of a class without characters, the refusal is raised.
    """
    below = partial(expression_of, at=at, refusal=refusal, has_texts=has_texts)
    parts: list[Expression] = []
    for node in nodes:
        match node:
            case pattern_tree.Characters() if node.characters.ranges:
                (first, last), *others = ranges = node.characters.ranges
                if not has_texts or first != last or others:
                    parts.append(Characters(at, ranges))
                    continue
                match parts[-1:]:
                    case [Text(text=begun)]:
                        parts[-1] = Text(at, begun + chr(first))
                    case _:
                        parts.append(Text(at, chr(first)))
            case pattern_tree.Choice():
                found = [below(branch) for branch in node.branches]
                parts.append(found[0] if len(found) == 1 else Choice(at, tuple(found)))
            case pattern_tree.Repeat():
                parts.append(Repeated(at, below(node.body), node.least, node.most))
            case _:
                raise refusal(node)
    return parts[0] if len(parts) == 1 else Row(at, tuple(parts))


def parts_of(expression: Expression) -> tuple[Expression, ...]:
    """Return the expressions that one is made of."""
    match expression:
        case Row() | Choice() | Both():
            return expression.parts
        case Repeated() | Not():
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
