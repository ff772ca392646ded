"""Regular parts of a grammar, with and without the empty text.

In: the regular expressions of parts. Out: that of the whole, twice: with all its texts (`every`),
and with those that are not empty (`some`), since Lark's terminals are never empty::

    a? b?    every  a?b?    some  ab?|b
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cfgguide.grammar.notations.character_patterns import EMPTY, Pattern, either, in_row, times


@dataclass(frozen=True, eq=False)
class Regular:
    """A regular part.

    Attributes
    ----------
    every : Pattern
        All its texts.
    some : Pattern or None
        Those that are not empty; None if there are none.
    """

    every: Pattern
    some: Pattern | None

    @property
    def is_optional(self) -> bool:
        """Whether the empty text is one of them."""
        return self.every.is_optional

    @property
    def size(self) -> tuple[int, int, int]:
        """How long the pattern is, how many sets it has, and how deeply it nests."""
        some = self.some or EMPTY
        every = self.every
        return (
            max(every.n_characters, some.n_characters),
            max(every.n_positions, some.n_positions),
            max(every.depth, some.depth),
        )


#: Parts of a row that may all be left out: without the empty text, that is a pattern for each.
MAX_OPTIONAL = 60
NO_TEXT = Regular(EMPTY, None)


def regular(pattern: Pattern) -> Regular:
    """Return a part from a pattern that no empty text matches, or the empty text alone."""
    return Regular(pattern, pattern) if not pattern.is_optional else NO_TEXT


def optional(some: Pattern | None, *, is_optional: bool) -> Regular:
    """Return a part from its texts that are not empty, and whether it has the empty one."""
    if some is None:
        return NO_TEXT
    return Regular(times(some, 0, 1) if is_optional else some, some)


def regular_row(parts: Sequence[Regular]) -> Regular | None:
    """Return texts one after the other, or None if that is large for sure."""
    parts = [part for part in parts if part.some is not None]
    every = in_row([part.every for part in parts])
    if not every.is_optional:
        return Regular(every, every)
    if len(parts) > MAX_OPTIONAL:
        return None
    options = [
        in_row([part.some, *(after.every for after in parts[place + 1 :])])
        for place, part in enumerate(parts)
        if part.some is not None
    ]
    return Regular(every, either(options) if options else None)


def regular_choice(parts: Sequence[Regular]) -> Regular:
    """Return the texts of all parts."""
    options = [part.some for part in parts if part.some is not None]
    some = either(options) if options else None
    return optional(some, is_optional=any(part.is_optional for part in parts))


def regular_times(part: Regular, least: int, most: int | None) -> Regular:
    """Return the texts of a part several times."""
    if part.some is None or most == 0:
        return NO_TEXT
    least = 0 if part.is_optional else least
    return Regular(times(part.some, least, most), times(part.some, max(least, 1), most))
