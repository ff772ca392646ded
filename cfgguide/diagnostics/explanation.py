r"""Why a token may come next, or why not, as a value.

The :class:`Explanation` of an allowed token says which lexemes the token completes and which it
leaves open. That of a refused token says at which byte it is refused, why, and what was expected
there, with example texts. Its text is for people. :mod:`cfgguide.diagnostics.explain` makes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from cfgguide.base.symbols import SYMBOLS
from cfgguide.engine.vocabulary.notebook import BAD, GOOD, coloured, text_of
from cfgguide.errors import brief

_MAX_SHOWN = 12  # of expected terminals
_MAX_NAMES = 3  # of terminals that one lexeme may become
_MAX_INTERPRETATIONS = 2
_MAX_CHARACTERS = 40  # of a lexeme


class Expected(NamedTuple):
    """A terminal that could stand at a place.

    Attributes
    ----------
    terminal : str
        Its name; ``$END`` for the end of the text.
    example : bytes or None
        A short text that could stand there and ends with a lexeme of the terminal: a whole one, or
        the rest of one that was begun. None if none was found.
    """

    terminal: str
    example: bytes | None

    def __str__(self) -> str:
        if not self.example or is_symbol(self.example):
            return self.terminal
        return f"{self.terminal} {shown(self.example)}"


class Lexeme(NamedTuple):
    """A lexeme of a text.

    Attributes
    ----------
    terminal : str
        Its terminal; ``(ignored)`` where the lexer drops it.
    start : int
        Where it starts, in bytes.
    text : bytes
        Its bytes.
    """

    terminal: str
    start: int
    text: bytes

    @property
    def end(self) -> int:
        """Where it ends, in bytes."""
        return self.start + len(self.text)

    def __str__(self) -> str:
        return self.terminal if is_symbol(self.text) else f"{self.terminal} {shown(self.text)}"


class OpenLexeme(NamedTuple):
    """A lexeme that may go on.

    Attributes
    ----------
    text : bytes
        Its bytes so far.
    ending : str or None
        The terminal that it is if it ends here; None if it cannot end here.
    terminals : tuple of str
        The terminals that it can become, here or later, and that the parser takes.
    """

    text: bytes
    ending: str | None
    terminals: tuple[str, ...]

    def __str__(self) -> str:
        may_end = f", which may end as {self.ending}" if self.ending is not None else ""
        return f"{names(self.terminals)} {shown(self.text)}{may_end}"


class Interpretation(NamedTuple):
    """One way to read a token after the text so far.

    Attributes
    ----------
    lexemes : tuple of Lexeme
        The lexemes that the token completes, with those that were open and end because of it.
    open : OpenLexeme or None
        The lexeme that it leaves open.
    """

    lexemes: tuple[Lexeme, ...]
    open: OpenLexeme | None

    def __str__(self) -> str:
        parts = []
        if self.lexemes:
            parts.append(f"completes {', '.join(map(str, self.lexemes))}")
        if self.open is not None:
            parts.append(f"leaves open {self.open}")
        return " and ".join(parts) or "completes nothing"


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why a token may come next, or why not.

    Attributes
    ----------
    token_id : int or None
        The token; None if only bytes were asked about.
    token : bytes or None
        Its bytes; None if it spells no text.
    is_eos : bool
        Whether it is an EOS token.
    is_allowed : bool
        Whether it may come next.
    interpretations : tuple of Interpretation
        The ways to read the token, or its part before the refused byte, that the text to come may
        still prove right.
    offset : int or None
        The byte of the token at which it is refused, from 0; None if it is allowed, spells no
        text, or is refused only because the vocabulary cannot spell what must follow.
    reason : str
        Why it is refused; empty if it is not.
    expected : tuple of Expected
        What could stand in place of the refused byte, or follow an allowed token. It is what the
        grammar expects, as if every byte were a token.
    special : str or None
        The name of the token, if it is a special terminal and has one; its `token` is a symbol.
    """

    token_id: int | None
    token: bytes | None
    is_eos: bool
    is_allowed: bool
    interpretations: tuple[Interpretation, ...]
    offset: int | None
    reason: str
    expected: tuple[Expected, ...]
    special: str | None = None

    def __str__(self) -> str:
        details = self.details
        return brief(f"{self._verdict()}\n{details}" if details else self._verdict())

    def __repr__(self) -> str:
        asked = "" if self.token_id is None else f"token_id={self.token_id}, "
        refused = "" if self.is_allowed else f", offset={self.offset}, reason={self.reason!r}"
        return f"Explanation({asked}token={self.token!r}, is_allowed={self.is_allowed}{refused})"

    def _repr_html_(self) -> str:
        """For notebooks: the bytes that may come next in green, those refused in red."""
        token = self.token or b""
        end = len(token) if self.is_allowed else self.offset or 0
        bytes_shown = coloured([(text_of(token[:end]), GOOD), (text_of(token[end:]), BAD)])
        return f"<p>{bytes_shown}</p><pre>{escape(str(self))}</pre>"

    @property
    def details(self) -> str:
        """How the token is read and what is expected: the text without its first line."""
        return "\n".join(self._details())

    def _verdict(self) -> str:
        if self.is_allowed:
            return f"{self._name()} is allowed"
        if self.offset is None or self.token is None or self.special is not None:
            return f"{self._name()} is refused: {self.reason}"
        byte = self.token[self.offset : self.offset + 1]
        return f"{self._name()} is refused at byte {self.offset}, {shown(byte)}: {self.reason}"

    def _details(self) -> Iterator[str]:
        if self.is_allowed or self.offset:
            part = "it" if self.is_allowed else shown((self.token or b"")[: self.offset])
            for index, reading in enumerate(self.interpretations[:_MAX_INTERPRETATIONS]):
                yield f"  {'or ' * (index > 0)}{part} {reading}"
            if len(self.interpretations) > _MAX_INTERPRETATIONS:
                yield f"  or {len(self.interpretations) - _MAX_INTERPRETATIONS} more readings"
        if self.expected:
            place = "then may follow" if self.is_allowed else "expected there"
            terminals = ", ".join(map(str, self.expected[:_MAX_SHOWN]))
            more = len(self.expected) - _MAX_SHOWN
            yield f"  {place}: {terminals}{f' and {more} more' if more > 0 else ''}"

    def _name(self) -> str:
        if self.token_id is None:
            return shown(self.token or b"")
        if self.special is not None:
            return f"token {self.token_id} ({self.special})"
        spelled = "EOS" if self.is_eos else "no text" if self.token is None else shown(self.token)
        return f"token {self.token_id} ({spelled})"


def shown(data: bytes) -> str:
    r"""Return bytes as people read them, in quotes; of long ones the end.

    >>> print(shown("\né".encode()), shown(b"\xc3"))
    '\né' '\xc3'
    """
    try:
        text = repr(data.decode())
    except UnicodeDecodeError:
        text = repr(data)[1:]
    return text if len(text) <= _MAX_CHARACTERS else f"{text[0]}…{text[-_MAX_CHARACTERS:]}"


def is_symbol(data: bytes) -> bool:
    """Return whether bytes are the symbol of a special terminal (:mod:`cfgguide.base.symbols`)."""
    return len(data) == 1 and data in SYMBOLS


def shown_lexeme(data: bytes) -> str:
    """Return a lexeme as people read it; a symbol is a token."""
    return "it" if is_symbol(data) else shown(data)


def names(terminals: tuple[str, ...]) -> str:
    """Return the names of some terminals, joined by "or"."""
    more = len(terminals) - _MAX_NAMES
    return " or ".join(terminals[:_MAX_NAMES]) + (f" or {more} more" if more > 0 else "")
