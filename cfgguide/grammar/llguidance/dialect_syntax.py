"""What stands in a grammar of llguidance's dialect: rules, terminals, and their expressions.

Every node knows its offset in the text (`at`), so that errors can point to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Text:
    """A text in quotes: ``"if"``, or ``"if"i`` in any case."""

    at: int
    text: str
    ignores_case: bool


@dataclass(frozen=True)
class Range:
    """One character between two: ``"a".."z"``."""

    at: int
    first: str
    last: str


@dataclass(frozen=True)
class Pattern:
    """A regular expression between slashes, as Rust reads it, and its flags."""

    at: int
    pattern: str
    flags: str


@dataclass(frozen=True)
class Name:
    """The name of a rule or a terminal."""

    at: int
    name: str


@dataclass(frozen=True)
class Special:
    """A token: ``<|call|>``, ``<[128010]>``."""

    at: int
    written: str


@dataclass(frozen=True)
class Reference:
    """Another grammar, by its name: ``@name``."""

    at: int
    name: str


@dataclass(frozen=True)
class Schema:
    """A JSON Schema: ``%json {...}``."""

    at: int
    schema: Any


@dataclass(frozen=True)
class Substring:
    """Some of a list of texts in a row: ``%regex {"substring_words": ...}``."""

    at: int
    chunks: tuple[str, ...]


@dataclass(frozen=True)
class Nested:
    """A grammar inside a grammar: ``%lark {...}``."""

    at: int
    document: Document


@dataclass(frozen=True)
class Row:
    """Expressions one after the other."""

    at: int
    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Choice:
    """One of some expressions."""

    at: int
    options: tuple[Expression, ...]


@dataclass(frozen=True)
class Repeated:
    """An expression several times; `most` is None for any number of times."""

    at: int
    part: Expression
    least: int
    most: int | None


@dataclass(frozen=True)
class Both:
    """The texts that match several expressions: ``A & B``."""

    at: int
    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Not:
    """The texts that do not match: ``~A``."""

    at: int
    part: Expression


Expression = (
    Text
    | Range
    | Pattern
    | Name
    | Special
    | Reference
    | Schema
    | Substring
    | Nested
    | Row
    | Choice
    | Repeated
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
    """A rule, whose name is in lower case."""

    at: int
    name: str
    attributes: tuple[Attribute, ...]
    body: Expression


@dataclass
class Document:
    """A whole grammar.

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
