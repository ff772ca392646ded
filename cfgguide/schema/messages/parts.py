"""What a message is made of.

In: a structural tag (:mod:`cfgguide.schema.messages.structural_tag`). Out: a tree of these parts,
for :mod:`cfgguide.schema.messages.structure`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cfgguide.errors import SchemaError
from cfgguide.grammar.grammar import Grammar


class UnsupportedTagError(SchemaError):
    """A structural tag asks for a format that others may know, and we do not."""


@dataclass(frozen=True)
class Exact:
    """A text, as a tokenizer reads it: the name of an added token in it is that token.

    Attributes
    ----------
    text : str
        The text.
    """

    text: str


@dataclass(frozen=True)
class Token:
    """A token that is no text.

    Attributes
    ----------
    token : str or int
        Its name or id.
    """

    token: str | int

    @property
    def name(self) -> str:
        """What its symbol is called."""
        return self.token if isinstance(self.token, str) else f"<[{self.token}]>"


@dataclass(frozen=True)
class AnyText:
    """Any text.

    Attributes
    ----------
    excludes : tuple of str
        What does not occur in it.
    max_tokens : int or None
        How many tokens it may have; then it is left on the shortest way to the end of the message.
    """

    excludes: tuple[str, ...] = ()
    max_tokens: int | None = None


@dataclass(frozen=True)
class Pattern:
    """A text that matches a pattern as a whole.

    Attributes
    ----------
    pattern : str
        As JSON Schema has them (ECMA-262).
    """

    pattern: str


@dataclass(frozen=True)
class PlainText:
    """A text that matches a pattern as a whole, and in which no token is meant by its name.

    Attributes
    ----------
    pattern : str
        As Python's ``re`` has them; it does not look around.
    """

    pattern: str


@dataclass(frozen=True)
class RawText:
    """A string of a schema as it is, without quotes and escapes.

    Attributes
    ----------
    schema : str
        Its schema, as JSON.
    excludes : str
        A pattern of the whole texts that are left out, as Python's ``re`` has them.
    has_common_spaces : bool
        Whether white space in patterns is that of JSON alone.
    formats : bool
        Whether ``format`` is a condition.
    """

    schema: str
    excludes: str
    has_common_spaces: bool = False
    formats: bool = True


@dataclass(frozen=True)
class Value:
    """A JSON value, without white space around it.

    Attributes
    ----------
    schema : str
        Its schema, as JSON.
    path : str
        Where in the structural tag that stands, for messages.
    excludes : str
        A pattern of what no string and no name in it has inside, as Python's ``re`` has them; empty
        if they may have anything.
    """

    schema: str
    path: str
    excludes: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What is equal for equal values, wherever they stand."""
        return self.schema, self.excludes


@dataclass(frozen=True)
class Sentence:
    """A sentence of a grammar (:mod:`cfgguide.schema.messages.grammar_tools`)."""

    grammar: Grammar


@dataclass(frozen=True)
class Sequence:
    """Parts that come one after the other."""

    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Choice:
    """Parts of which one comes."""

    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Repeat:
    """A part that comes again and again.

    Attributes
    ----------
    part : Part
        The part.
    least : int
        How often it comes at least.
    most : int or None
        How often at most; None for any number.
    """

    part: Part
    least: int = 0
    most: int | None = None


@dataclass(frozen=True)
class Joined:
    """Parts that come in their order, and a text between each two that come.

    Attributes
    ----------
    parts : tuple of (Part, bool)
        The parts, and whether each has to come.
    separator : str
        The text.
    """

    parts: tuple[tuple[Part, bool], ...]
    separator: str


Written = Exact | Token | AnyText | Pattern | PlainText | RawText | Value | Sentence
Part = Written | Sequence | Choice | Repeat | Joined

NOTHING = Sequence(())


def every(part: Part) -> Iterator[Part]:
    """Yield a part and all parts inside of it, in their order."""
    yield part
    if isinstance(part, Sequence | Choice):
        for each in part.parts:
            yield from every(each)
    elif isinstance(part, Repeat):
        yield from every(part.part)
    elif isinstance(part, Joined):
        yield Exact(part.separator)
        for each, _ in part.parts:
            yield from every(each)


def values_in(part: Part) -> tuple[Value, ...]:
    """Return the different values in a part, in their order."""
    found = (each for each in every(part) if isinstance(each, Value))
    return tuple({each.key: each for each in found}.values())
