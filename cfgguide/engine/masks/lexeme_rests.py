"""What becomes of a lexeme when each of some tokens is read, and what of the tokens comes after it.

In: tokens, and where the lexer is. Out: a :class:`Rests`: which of the tokens stay in the lexeme,
which end it, and which lexemes they end; what is left of the latter is a :class:`Rests` again. So
tokens that begin alike are judged together. ::

    inside a name `us`      `er`                stays, in a name
                            `er,` and `er, `    end NAME `user`; left are `,` and `, `
                            `:`                 no lexer reads it
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cfgguide.engine.machine.lexer_places import LEAVING, UNREAD, Lexer
from cfgguide.engine.masks.arrays import Int32Array


class Stays(NamedTuple):
    """Tokens that stay in a lexeme alike.

    Attributes
    ----------
    number : int
        Of the lexer's place after them.
    text : bytes
        What they add to the lexeme; empty if no monitor asks.
    token_ids : int32, shape (n_tokens,)
        The tokens.
    """

    number: int
    text: bytes
    token_ids: Int32Array


class RestEnds(NamedTuple):
    """Tokens that end a lexeme alike.

    Attributes
    ----------
    terminal_id : int
        What it has become.
    text : bytes
        What they add to the lexeme; empty if no monitor asks.
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
    unclear : int32, shape (n_unclear,)
        Those where the text to come decides.
    """

    stays: tuple[Stays, ...]
    ends: tuple[RestEnds, ...]
    unclear: Int32Array


class Rests:
    """Tokens, each with what is left to read of it.

    Parameters
    ----------
    lexer : Lexer
        Reads them.
    followed : int
        The terminals whose texts matter, as bits.
    token_ids : tuple of int
        The tokens.
    rests : tuple of bytes
        What is left of each.
    """

    def __init__(
        self, lexer: Lexer, followed: int, token_ids: tuple[int, ...], rests: tuple[bytes, ...]
    ) -> None:
        self._lexer = lexer
        self._followed = followed
        self._token_ids = token_ids
        self._rests = rests
        self._known: dict[int, Readings] = {}

    def at(self, number: int) -> Readings:
        """Return what the tokens do at a place of the lexer, given by its number."""
        known = self._known.get(number)
        if known is None:
            known = self._known[number] = self._read(number)
        return known

    def _read(self, number: int) -> Readings:
        lexer, followed = self._lexer, self._followed
        stays: dict[tuple[int, bytes], list[int]] = {}
        ends: dict[tuple[int, bytes, int], tuple[list[int], list[bytes]]] = {}
        unclear: list[int] = []
        for token_id, data in zip(self._token_ids, self._rests, strict=True):
            after, begin, end, terminal_id, context = lexer.reading(number, data)
            if after == UNREAD:
                continue
            if after != LEAVING:
                # Where no monitor asks for the text of a lexeme, tokens with any text are alike.
                text = data[begin:] if lexer.ahead(after) & followed else b""
                stays.setdefault((after, text), []).append(token_id)
            elif terminal_id < 0:
                unclear.append(token_id)
            else:
                text = data[begin:end] if followed >> terminal_id & 1 else b""
                below = ends.setdefault((terminal_id, text, context), ([], []))
                below[0].append(token_id)
                below[1].append(data[end:])
        return Readings(
            tuple(Stays(*key, _array(token_ids)) for key, token_ids in stays.items()),
            tuple(
                RestEnds(*key, Rests(lexer, followed, tuple(ids), tuple(rests)))
                for key, (ids, rests) in ends.items()
            ),
            _array(unclear),
        )


def _array(token_ids: list[int]) -> Int32Array:
    return np.array(token_ids, dtype=np.int32)
