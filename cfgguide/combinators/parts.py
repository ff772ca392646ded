"""The parts of a composed grammar.

Parts are frozen values: texts that match a pattern, free text, a grammar, a sequence of parts, and
a repeated part. A :class:`Composed` grammar knows its part, so it can become a part itself.
:mod:`cfgguide.combinators.patterns` and :mod:`cfgguide.combinators.writer` write grammars of parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cfgguide.grammar.grammar import Grammar


@dataclass(frozen=True)
class Regular:
    """Texts that match a pattern as a whole.

    Attributes
    ----------
    patterns : tuple of str
        Each text other than the empty one matches one of these. They do not match the empty text,
        unless they look around.
    is_optional : bool
        Whether the empty text is one of the texts.
    looks : bool
        Whether the pattern looks around.
    text : str or None
        The text, if there is only one.
    is_longest_first : bool
        Whether the first of `patterns` that matches a text as a whole prefers all of it, and none
        before it matches its beginning.
    """

    patterns: tuple[str, ...]
    is_optional: bool = False
    looks: bool = False
    text: str | None = None
    is_longest_first: bool = False

    @property
    def pattern(self) -> str:
        """All patterns as one, which also matches the empty text if that is one."""
        if not self.patterns:
            return ""
        joined = "|".join(self.patterns)
        return f"(?:{joined})?" if self.is_optional else joined


@dataclass(frozen=True)
class Free:
    """Any text up to and including the first of some stop strings; without them, to the end.

    Attributes
    ----------
    stops : tuple of str
        None of them is part of another one.
    """

    stops: tuple[str, ...]


@dataclass(frozen=True)
class Embedded:
    """Sentences of a grammar that was not composed."""

    grammar: Grammar


@dataclass(frozen=True)
class Sequence:
    """Parts one after the other."""

    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Repeated:
    """A part several times; `most` is None for any number of times."""

    part: Part
    least: int
    most: int | None


Part = Regular | Free | Embedded | Sequence | Repeated


class Composed(Grammar):
    """A grammar that was made of parts, and can be a part.

    Its text is written at its first use, since some parts cannot stand alone.

    Parameters
    ----------
    part : Part
        The part that it is made of.
    write : callable
        Returns the grammar's text, given the part.
    """

    part: Part

    def __init__(self, part: Part, write: Callable[[Any], str]) -> None:
        object.__setattr__(self, "part", part)
        object.__setattr__(self, "_write", write)

    def __getattr__(self, name: str) -> Any:
        if name != "text":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        text = self._write(self.part)
        object.__setattr__(self, "text", text)
        return text
