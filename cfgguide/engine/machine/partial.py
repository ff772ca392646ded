"""What the beginning of a text means: the value so far.

In: a text, piece by piece, that a machine reads too. Out: a :class:`Partial`. A :class:`Reading`
never guesses: it is shown only what a grammar allows, so each byte has one meaning, and what is not
certain yet is not in the value. It goes over each piece once, however often it is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from cfgguide.engine.machine.protocol import AnyMachine

T = TypeVar("T", covariant=True)

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Partial(Generic[T]):
    """The value of a text that is being written.

    What is in it stays in it: a string may get longer at its end, lists and objects may get more,
    and all else is as it will be. It belongs to the caller; later ones are other objects.

    Attributes
    ----------
    value : object
        The value so far; None if nothing is certain yet. Of a model, fields that have not come are
        None.
    growing : tuple of (str or int), or None
        The names and numbers, as they stand in the text, that lead to what is being written; all
        that is not on this way is complete. None if all is.
    read : object
        What has come, as it stands in the text, if `value` is something else.
    thinking : str
        The thinking so far, of :func:`cfgguide.thinking`.

    Examples
    --------
    >>> partial = Partial({"name": "Ada", "tags": ["fi"]}, ("tags", 0))
    >>> partial.is_complete("name"), partial.is_complete("tags"), partial.is_complete("age")
    (True, False, False)
    """

    value: T | None
    growing: Path | None = ()
    read: Any = field(default=None, repr=False, compare=False)
    thinking: str = ""

    def is_complete(self, *path: str | int) -> bool:
        """Return whether a part of the value has come and is whole; without a path, all of it."""
        if self.growing is None or path == self.growing[: len(path)]:
            return self.growing is None
        part: Any = self.value if self.read is None else self.read
        for step in path:
            if isinstance(part, Mapping):
                is_there = step in part
            else:
                is_list = isinstance(part, Sequence) and not isinstance(part, str)
                is_there = is_list and isinstance(step, int) and 0 <= step < len(part)
            if not is_there:
                return False
            part = part[step]
        return True


class Reading(Protocol):
    """Reads a text as it is written."""

    def feed(self, piece: str) -> None:
        """Read a piece, which goes on where the last one ended."""

    def partial(self, machine: AnyMachine, configuration: Any) -> Partial[Any]:
        """Return the value so far, given what the machine has come to."""


class WholeReading:
    """Reads a text whose value is known when it is whole: a tree."""

    def feed(self, piece: str) -> None:
        """Read a piece."""

    def partial(self, machine: AnyMachine, configuration: Any) -> Partial[Any]:
        """Return that nothing is certain."""
        return Partial(None)


class TextReading:
    """Reads a text whose value is the text."""

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def feed(self, piece: str) -> None:
        """Read a piece."""
        self._pieces.append(piece)

    def partial(self, machine: AnyMachine, configuration: Any) -> Partial[str]:
        """Return the text so far."""
        return Partial("".join(self._pieces))


def until(text: str, mark: str) -> tuple[str, str, bool]:
    """Return what surely comes before a mark, what is left after that, and whether the mark came.

    Examples
    --------
    >>> until("a</b>c", "</b>"), until("a</", "</b>")
    (('a', 'c', True), ('a', '</', False))
    """
    before, found, rest = text.partition(mark)
    if found:
        return before, rest, True
    n_sure = len(text) - n_kept(text, (mark,))
    return text[:n_sure], text[n_sure:], False


def n_kept(text: str, marks: Sequence[str], longest: int = 0) -> int:
    """Return how many characters at the end of a text may begin one of some marks.

    A mark that is there counts with what follows it, up to a length.

    Examples
    --------
    >>> n_kept("a <tool", ("<tool_call>",)), n_kept("a < b", ("<tool_call>",))
    (5, 0)
    """
    n_most = max(longest, *map(len, marks))
    for begin in range(max(0, len(text) - n_most), len(text)):
        rest = text[begin:]
        if any(mark.startswith(rest) or rest.startswith(mark) for mark in marks):
            return len(rest)
    return 0
