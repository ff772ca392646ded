"""What a grammar that is made of parts is made of.

In: nothing. Out: plain values: texts that match a pattern, free text, a grammar, some of these one
after the other, and one repeated; and :class:`Composed`, a grammar that knows what it is made of,
so that it can become a part itself. They are written by :mod:`cfgguide.combinators.patterns` and
:mod:`cfgguide.combinators.sequence`.
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
        Any of these matches each text but the empty one. They do not match that, unless they look
        around.
    is_optional : bool
        Whether the empty text is one.
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
        """All patterns as one, for the empty text, too."""
        if not self.patterns:
            return ""
        joined = "|".join(self.patterns)
        return f"(?:{joined})?" if self.is_optional else joined


@dataclass(frozen=True)
class Free:
    """Any text up to and with the first of some stop strings; without any, to the end.

    Attributes
    ----------
    stops : tuple of str
        None of them is part of another one.
    """

    stops: tuple[str, ...]


@dataclass(frozen=True)
class Embedded:
    """Sentences of a grammar that was written by hand."""

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

    Its text is written when it is first asked for: some parts cannot stand alone.

    Parameters
    ----------
    part : Part
        What it is made of.
    write : callable
        Returns its text.
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
