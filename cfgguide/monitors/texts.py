"""Sets of texts that a monitor allows for a terminal.

In: texts. Out: :class:`Texts`, asked while a lexeme is being written: may it begin so, and may it be
this? All is in bytes, since tokens may cut characters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any


class Texts(ABC):
    """A set of texts; hashable, and equal only to sets of the same texts."""

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Whether there are none."""

    @abstractmethod
    def has(self, text: bytes) -> bool:
        """Return whether a text is one of these."""

    @abstractmethod
    def begins(self, text: bytes) -> bool | None:
        """Return whether one of these begins with a text.

        None if only a few texts in all are not among these; then the terminal's own lexemes decide.
        """

    def first(self) -> bytes | None:
        """Return one of the texts, if the set knows any."""
        return None


class OneOf(Texts):
    """A few texts.

    Examples
    --------
    >>> texts = OneOf(["id", "name"])
    >>> texts.has(b"id"), texts.begins(b"na"), texts.begins(b"x"), texts.is_empty
    (True, True, False, False)
    """

    __slots__ = ("_begins", "_hash", "texts")

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = frozenset(text.encode() for text in texts)
        self._begins: frozenset[bytes] | None = None
        self._hash = hash(self.texts)

    @property
    def is_empty(self) -> bool:
        """Whether there are none."""
        return not self.texts

    def has(self, text: bytes) -> bool:
        """Return whether a text is one of these."""
        return text in self.texts

    def begins(self, text: bytes) -> bool:
        """Return whether one of these begins with a text."""
        if self._begins is None:
            self._begins = frozenset(
                text[:length] for text in self.texts for length in range(len(text) + 1)
            )
        return text in self._begins

    def first(self) -> bytes | None:
        """Return one of the texts."""
        return min(self.texts, key=lambda text: (len(text), text), default=None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OneOf) and self.texts == other.texts

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        shown = ", ".join(repr(text.decode()) for text in sorted(self.texts)[:10])
        return f"OneOf([{shown}{', ...' if len(self.texts) > 10 else ''}])"


class AllBut(Texts):
    """All texts of a terminal but a few.

    Examples
    --------
    >>> texts = AllBut(["a"])
    >>> texts.has(b"a"), texts.has(b"ab"), texts.begins(b"a")
    (False, True, None)
    """

    __slots__ = ("texts",)

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = frozenset(text.encode() for text in texts)

    @property
    def is_empty(self) -> bool:
        """Whether there are none; the terminal's own lexemes decide, so it says no."""
        return False

    def has(self, text: bytes) -> bool:
        """Return whether a text is one of these."""
        return text not in self.texts

    def begins(self, text: bytes) -> None:
        """Return None: the terminal's own lexemes decide."""

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, AllBut) and self.texts == other.texts

    def __hash__(self) -> int:
        return hash((AllBut, self.texts))

    def __repr__(self) -> str:
        return f"AllBut({sorted(text.decode() for text in self.texts)!r})"


#: No text at all: what a monitor returns to refuse a terminal.
NOTHING = OneOf([])
