"""What becomes of a lexeme when each of some tokens is read, and what of the tokens comes after it.

In: tokens, and where the lexer is. Out: a :class:`Rests`: which of the tokens stay in the lexeme,
which end it, and which lexemes they end; what is left of the latter is a :class:`Rests` again. So
tokens that begin alike are judged together. ::

    inside a name `us`      `er`                stays, in a name
                            `er,` and `er, `    end NAME `user`; left are `,` and `, `
                            `:`                 no lexer reads it

Where a monitor asks for the text of a lexeme, tokens with different texts stand apart.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import NamedTuple
from weakref import WeakValueDictionary

from cfgguide.base.remembered import remembered
from cfgguide.engine.machine.lexer_places import LEAVING, UNREAD, Lexer


class Stays:
    """Tokens that stay in a lexeme alike.

    Parameters
    ----------
    number : int
        Of the lexer's place after them.
    by_text : dict of (bytes, tuple of int)
        The tokens, by what they add to the lexeme; that is empty if no monitor asks.
    """

    def __init__(self, number: int, by_text: dict[bytes, tuple[int, ...]]) -> None:
        self.number = number
        self.by_text = by_text

    @cached_property
    def texts(self) -> list[bytes]:
        """What tokens add, sorted."""
        return sorted(self.by_text)


class RestEnds(NamedTuple):
    """Tokens that end a lexeme alike.

    Attributes
    ----------
    terminal_id : int
        What it has become.
    text : bytes
        What they add to its text; empty if no monitor asks.
    context : int
        Where the next lexeme begins.
    rests : Rests
        What comes after it.
    """

    terminal_id: int
    text: bytes
    context: int
    rests: Rests


class Readings(NamedTuple):
    """What some tokens do in one place of the lexer.

    Attributes
    ----------
    stays : tuple of Stays
        Those that stay in the lexeme.
    ends : tuple of RestEnds
        Those that end it.
    unclear : tuple of int
        Those where the text to come decides.
    """

    stays: tuple[Stays, ...]
    ends: tuple[RestEnds, ...]
    unclear: tuple[int, ...]


class Rests:
    """Tokens, each with what is left to read of it.

    Parameters
    ----------
    lexer : Lexer
        Reads them.
    followed : int
        The terminals whose texts a monitor asks for, as bits.
    token_ids : tuple of int
        The tokens.
    rests : tuple of bytes
        What is left of each.
    made : mapping
        Others of the same lexer and terminals: equal ones are the same object.
    """

    def __init__(
        self,
        lexer: Lexer,
        followed: int,
        token_ids: tuple[int, ...],
        rests: tuple[bytes, ...],
        made: WeakValueDictionary[Hashable, Rests],
    ) -> None:
        self._lexer = lexer
        self._followed = followed
        self.token_ids = token_ids
        self._rests = rests
        self._made = made

    @remembered
    def at(self, number: int) -> Readings:
        """Return what the tokens do at a place of the lexer, given by its number."""
        return self._read(number)

    def _read(self, number: int) -> Readings:
        lexer, followed = self._lexer, self._followed
        stays: dict[int, dict[bytes, list[int]]] = {}
        ends: dict[tuple[int, bytes, int], tuple[list[int], list[bytes]]] = {}
        unclear: list[int] = []
        rests = self._rests
        for token_id, data, reading in zip(
            self.token_ids, rests, lexer.readings(number, rests), strict=True
        ):
            after, begin, end, terminal_id, context = reading
            if after == UNREAD:
                continue
            if after != LEAVING:
                # Where no monitor asks for the text of a lexeme, tokens with any text are alike.
                text = data[begin:] if lexer.ahead(after) & followed else b""
                stays.setdefault(after, {}).setdefault(text, []).append(token_id)
            elif terminal_id < 0:
                unclear.append(token_id)
            else:
                text = data[begin:end] if followed >> terminal_id & 1 else b""
                ids, data_left = ends.setdefault((terminal_id, text, context), ([], []))
                ids.append(token_id)
                data_left.append(data[end:])
        return Readings(
            tuple(
                Stays(after, {text: tuple(ids) for text, ids in by_text.items()})
                for after, by_text in stays.items()
            ),
            tuple(RestEnds(*key, self._with(*left)) for key, left in ends.items()),
            tuple(unclear),
        )

    def _with(self, token_ids: Iterable[int], rests: Iterable[bytes]) -> Rests:
        key = tuple(token_ids), tuple(rests)
        known = self._made.get(key)
        if known is None:
            known = self._made[key] = Rests(self._lexer, self._followed, *key, self._made)
        return known
