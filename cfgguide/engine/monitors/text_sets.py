"""Sets of texts that a monitor allows for a terminal.

In: texts. Out: :class:`Texts`, asked while a lexeme is being written: may it begin so, and may it
be this? All is in bytes, since tokens may cut characters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from typing import Any, ClassVar

_FEW = 100  # texts that may be tried one by one


class Texts(ABC):
    """A set of texts; hashable, and equal only to sets of the same texts.

    Attributes
    ----------
    is_endless : bool
        Whether all texts but a few are among them. Then a lexeme that may go on for ever is one
        that may come, and `begins` is not asked.
    """

    is_endless: ClassVar[bool] = False

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Whether there are none."""

    @abstractmethod
    def has(self, text: bytes) -> bool:
        """Return whether a text is one of these."""

    @abstractmethod
    def begins(self, text: bytes) -> bool:
        """Return whether one of these begins with a text."""

    def next_bytes(self, text: bytes) -> Collection[int] | None:
        """Return bytes with which one of these may go on after a text; None for any.

        More may be among them: `begins` is asked of each.
        """
        return None

    def few(self) -> Iterable[bytes] | None:
        """Return all of the texts if they are a few, each of which may be tried; else None."""
        return None

    def parts(self) -> Iterable[Texts]:
        """Return sets that have these texts together; what is known of each is kept."""
        return (self,)

    def completed(self, begun: bytes) -> bytes | None:
        """Return a short text that begins with some bytes; None if none is known."""
        return None

    def read_as_such(self, is_lexeme: Callable[[bytes], bool]) -> Texts:
        """Return those of the texts that the lexer reads as the terminal, where they may stand.

        A set that asks for no more than `has` and `begins` of its terminal's own lexemes returns
        itself.

        Parameters
        ----------
        is_lexeme : callable
            Whether the lexer reads a text so: another terminal, such as a keyword, may come first;
            and whether it can be written at all, with the bytes that there are.
        """
        return self


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

    def few(self) -> Iterable[bytes] | None:
        """Return all of the texts, unless they are many."""
        return sorted(self.texts) if len(self.texts) <= _FEW else None

    def read_as_such(self, is_lexeme: Callable[[bytes], bool]) -> OneOf:
        """Return those of the texts that the lexer reads as the terminal."""
        kept = [text for text in self.texts if is_lexeme(text)]
        if len(kept) == len(self.texts):
            return self
        return OneOf(text.decode("utf-8", "surrogateescape") for text in kept)

    def completed(self, begun: bytes) -> bytes | None:
        """Return the shortest text that begins with some bytes; None if there is none."""
        fitting = (text for text in self.texts if text.startswith(begun))
        return min(fitting, key=lambda text: (len(text), text), default=None)

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
    >>> texts.has(b"a"), texts.has(b"ab")
    (False, True)
    """

    __slots__ = ("texts",)
    is_endless = True

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = frozenset(text.encode() for text in texts)

    @property
    def is_empty(self) -> bool:
        """Whether there are none; the terminal's own lexemes decide, so it says no."""
        return False

    def has(self, text: bytes) -> bool:
        """Return whether a text is one of these."""
        return text not in self.texts

    def begins(self, text: bytes) -> bool:
        """Return True: there is always a longer one."""
        return True

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, AllBut) and self.texts == other.texts

    def __hash__(self) -> int:
        return hash((AllBut, self.texts))

    def __repr__(self) -> str:
        return f"AllBut({sorted(text.decode() for text in self.texts)!r})"


#: No text at all: what a monitor returns to refuse a terminal.
NOTHING = OneOf([])
