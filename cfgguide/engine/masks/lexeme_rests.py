"""What becomes of a lexeme when each of some tokens is read, and what of the tokens comes after it.

In: tokens, and where the lexer is. Out: a :class:`Rests`: which of the tokens stay in the lexeme,
which end it, and which lexemes they end; what is left of the latter is a :class:`Rests` again. So
tokens that begin alike are judged together. ::

    inside a name `us`      `er`                stays, in a name
                            `er,` and `er, `    end NAME `user`; left are `,` and `, `
                            `:`                 no lexer reads it

Where a monitor asks for the text of a lexeme, the tokens that end it stand by their texts, and all
together: most texts lead on alike.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import NamedTuple
from weakref import WeakValueDictionary

from cfgguide.base.remembered import remembered
from cfgguide.engine.machine.lexer_places import LEAVING, UNREAD, Lexer


class Stays(NamedTuple):
    """Tokens that stay in a lexeme alike.

    Attributes
    ----------
    number : int
        Of the lexer's place after them.
    by_text : dict of (bytes, list of int)
        The tokens, by what they add to the lexeme; that is empty if no monitor asks.
    """

    number: int
    by_text: dict[bytes, list[int]]


class RestEnds(NamedTuple):
    """Tokens that end a lexeme alike.

    Attributes
    ----------
    terminal_id : int
        What it has become.
    context : int
        Where the next lexeme begins.
    rests : Rests
        What comes after it.
    """

    terminal_id: int
    context: int
    rests: Rests


class NamedEnds:
    """Tokens that end a lexeme of which a monitor asks for the text.

    Parameters
    ----------
    terminal_id : int
        What it has become.
    context : int
        Where the next lexeme begins.
    by_text : dict of (bytes, Rests)
        What comes after it, by what they add to its text.
    together : Rests
        Of all of them.
    """

    def __init__(
        self, terminal_id: int, context: int, by_text: dict[bytes, Rests], together: Rests
    ) -> None:
        self.terminal_id = terminal_id
        self.context = context
        self.by_text = by_text
        self.together = together

    @cached_property
    def text_of(self) -> dict[int, bytes]:
        """What each of the tokens adds to the text of the lexeme."""
        by_text = self.by_text.items()
        return {token_id: text for text, rests in by_text for token_id in rests.token_ids}


class Readings(NamedTuple):
    """What some tokens do in one place of the lexer.

    Attributes
    ----------
    stays : tuple of Stays
        Those that stay in the lexeme.
    ends : tuple of RestEnds
        Those that end it.
    named : tuple of NamedEnds
        Those that end a lexeme whose text matters.
    unclear : list of int
        Those where the text to come decides.
    """

    stays: tuple[Stays, ...]
    ends: tuple[RestEnds, ...]
    named: tuple[NamedEnds, ...]
    unclear: list[int]


class Rests:
    """Tokens, each with what is left to read of it.

    Parameters
    ----------
    lexer : Lexer
        Reads them.
    named : int
        The terminals whose texts matter, as bits.
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
        named: int,
        token_ids: tuple[int, ...],
        rests: tuple[bytes, ...],
        made: WeakValueDictionary[Hashable, Rests],
    ) -> None:
        self._lexer = lexer
        self._named = named
        self.token_ids = token_ids
        self._rests = rests
        self._made = made

    @remembered
    def at(self, number: int) -> Readings:
        """Return what the tokens do at a place of the lexer, given by its number."""
        return self._read(number)

    def _read(self, number: int) -> Readings:
        lexer, named = self._lexer, self._named
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
                text = data[begin:] if lexer.ahead(after) & named else b""
                stays.setdefault(after, {}).setdefault(text, []).append(token_id)
            elif terminal_id < 0:
                unclear.append(token_id)
            else:
                text = data[begin:end] if named >> terminal_id & 1 else b""
                ids, data_left = ends.setdefault((terminal_id, text, context), ([], []))
                ids.append(token_id)
                data_left.append(data[end:])
        plain: list[RestEnds] = []
        by_text: dict[tuple[int, int], dict[bytes, Rests]] = {}
        for (terminal_id, text, context), (ids, data_left) in ends.items():
            below = self._with(ids, data_left)
            if named >> terminal_id & 1:
                by_text.setdefault((terminal_id, context), {})[text] = below
            else:
                plain.append(RestEnds(terminal_id, context, below))
        return Readings(
            tuple(Stays(*each) for each in stays.items()),
            tuple(plain),
            tuple(NamedEnds(*key, texts, self._joined(texts)) for key, texts in by_text.items()),
            unclear,
        )

    def _with(self, token_ids: Iterable[int], rests: Iterable[bytes]) -> Rests:
        key = tuple(token_ids), tuple(rests)
        known = self._made.get(key)
        if known is None:
            known = self._made[key] = Rests(self._lexer, self._named, *key, self._made)
        return known

    def _joined(self, by_text: dict[bytes, Rests]) -> Rests:
        parts = by_text.values()
        ids = (token_id for part in parts for token_id in part.token_ids)
        return self._with(ids, (rest for part in parts for rest in part._rests))
