"""What the states and frames of a schema's automaton mean.

A place is a state's: where a value is wanted, a name has ended, and so on. A frame is pushed for a
name or a value, and says what it is a part of. `space` is how many characters of white space may
come at a place; None for any number.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from cfgguide.engine.byte_machine.byte_views import DEAD
from cfgguide.engine.byte_machine.scalars import ScalarAutomaton
from cfgguide.schema.members import Items, Members
from cfgguide.schema.solver.goals import Goal


class Lexer:
    """The states of one automaton of lexemes in a schema's automaton."""

    __slots__ = ("first", "lexemes", "spans", "tags")

    def __init__(self, lexemes: ScalarAutomaton, tags: Iterable[int]) -> None:
        self.lexemes = lexemes
        self.tags = tuple(tags)
        #: Of states that were made at once: the first, which is the start, and what they read.
        self.first = DEAD
        self.spans: Any = None


class InLexeme(NamedTuple):
    """Inside of a string, a name, a number or a constant."""

    lexer: Lexer
    key: Any


class End(NamedTuple):
    """The text has ended."""

    space: int | None


class Shut(NamedTuple):
    """Only white space may come before the bracket that ends something empty."""

    bracket: bytes
    tag: int
    space: int | None


class Mark(NamedTuple):
    """Inside of a punctuation mark of several bytes."""

    text: bytes
    place: int
    then: int


class Value(NamedTuple):
    """A value is wanted."""

    goal: Goal
    frame: int
    space: int | None


class Colon(Value):
    """A name has ended; after a colon, a value is wanted."""


class InObject(NamedTuple):
    """Between the parts of an object."""

    what: Members
    inside: Any
    space: int | None


class ObjectBegun(InObject):
    """An object has begun."""


class NameDue(InObject):
    """A name has to come."""


class PropertyEnded(InObject):
    """A property has ended."""


class InArray(NamedTuple):
    """Between the items of an array."""

    what: Items
    inside: Any
    space: int | None


class ArrayBegun(InArray):
    """An array has begun."""


class ItemEnded(InArray):
    """An item has ended."""


class Part(NamedTuple):
    """Of a message, outside of values."""

    number: int


Inside = InObject | InArray
Spaced = End | Shut | Value | Inside


class Root(NamedTuple):
    """The frame of the whole text."""


class NameOf(NamedTuple):
    """The frame of a name."""

    what: Members
    inside: Any


class PropertyOf(NamedTuple):
    """The frame of a property's value, by the tag of its name."""

    what: Members
    inside: Any
    tag: int


class ItemOf(NamedTuple):
    """The frame of an item."""

    what: Items
    inside: Any


class Hole(NamedTuple):
    """The frame of a value in a message, and the part that follows."""

    target: int


Pushed = Root | NameOf | PropertyOf | ItemOf | Hole
Place = InLexeme | Mark | Spaced | Part


def brackets_of(inside: Inside) -> bytes:
    """Return the brackets of an object or array."""
    return b"{}" if isinstance(inside, InObject) else b"[]"
