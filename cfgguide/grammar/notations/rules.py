"""Rules of Lark's language that no empty text matches.

In: what the parts of a right-hand side have become. Out: what the whole becomes (:class:`Piece`),
with rules of its own where it needs them (:class:`Rules`).

What may be empty is so where it is used, ``a?``, and no rule is empty: an Earley parser then has no
cycles of empty rules to follow. Lark writes out alternatives inside of rows, each ``?`` twice; so a
row has few of them, and more are put into rules, as are groups and counts::

    a? b? c? d?   ->   r: r_2 r_3? | r_3     r_2: a b? | b     r_3: c d? | d
    a{3,5}        ->   r: r_2 a r_3?         r_2: a a          r_3: a | r_2
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cfgguide.grammar.rules.names import NameAllocator
from cfgguide.grammar.rules.nonempty import optional
from cfgguide.grammar.rules.tree import Expression, Name, Repeated

_MAX_OPTIONAL = 3  # in a row

Alternative = tuple[Expression, ...]  # names and texts, each perhaps with ? or * or +


@dataclass(frozen=True)
class Piece:
    """A part of a right-hand side.

    Attributes
    ----------
    alternatives : tuple of tuple of Expression
        Rows of symbols, none of them empty. Without any, no text belongs to it, or the empty one.
    is_optional : bool
        Whether the empty text belongs to it too.
    """

    alternatives: tuple[Alternative, ...]
    is_optional: bool


NOTHING = Piece((), is_optional=True)


def symbol(node: Expression, *, is_optional: bool = False) -> Piece:
    """Return what a rule, a terminal or a text is as a part."""
    return Piece(((node,),), is_optional)


def choice(pieces: Sequence[Piece]) -> Piece:
    """Return one of some parts."""
    alternatives = [each for piece in pieces for each in piece.alternatives]
    return Piece(tuple(dict.fromkeys(alternatives)), any(piece.is_optional for piece in pieces))


class Rules:
    """Rules as they are made.

    Parameters
    ----------
    names : NameAllocator
        The names that are taken.

    Attributes
    ----------
    owner : str
        The rule in which we are; rules that it needs are called after it.
    """

    def __init__(self, names: NameAllocator) -> None:
        self._names = names
        self.owner = "start"
        self.alternatives: dict[str, tuple[Alternative, ...]] = {}
        self.owners: dict[str, str] = {}
        self._known: dict[tuple[Alternative, ...], str] = {}

    def define(self, name: str, alternatives: tuple[Alternative, ...]) -> None:
        """Note what a rule is. An alternative that is the rule itself says nothing."""
        self.alternatives[name] = tuple(each for each in alternatives if each != (Name(0, name),))

    def name_of(self, alternatives: tuple[Alternative, ...]) -> Expression:
        """Return a symbol for alternatives: the one that they are, or a rule for them."""
        match alternatives:
            case ((only,),) if not isinstance(only, Repeated):
                return only
        if alternatives not in self._known:
            name = self._names.new(self.owner)
            self.owners[name] = self.owner
            self._known[alternatives] = name
            self.define(name, alternatives)
        return Name(0, self._known[alternatives])

    def row(self, pieces: Sequence[Piece]) -> Piece:
        """Return parts one after the other."""
        pieces = [piece for piece in pieces if piece.alternatives]
        if len(pieces) < 2:
            return pieces[0] if pieces else NOTHING
        optional = [piece for piece in pieces if piece.is_optional]
        if len(optional) > _MAX_OPTIONAL:
            half = len(pieces) // 2
            return self.row(
                [self._apart(self.row(pieces[:half])), self._apart(self.row(pieces[half:]))]
            )
        if len(optional) < len(pieces):
            return Piece((tuple(self._all(pieces)),), is_optional=False)
        rows = [
            (*self._spelled(piece), *self._all(pieces[place + 1 :]))
            for place, piece in enumerate(pieces)
        ]
        return Piece(tuple(rows), is_optional=True)

    def _apart(self, piece: Piece) -> Piece:
        """Return a part as one symbol."""
        if not piece.alternatives:
            return piece
        return symbol(self.name_of(piece.alternatives), is_optional=piece.is_optional)

    def _all(self, pieces: Sequence[Piece]) -> list[Expression]:
        return [
            each
            for piece in pieces
            for each in (
                [optional(self._spelled(piece)[0])] if piece.is_optional else self._spelled(piece)
            )
        ]

    def _spelled(self, piece: Piece) -> Alternative:
        """Return the symbols of a part that is not empty; one symbol if it may be."""
        if len(piece.alternatives) == 1 and not piece.is_optional:
            return piece.alternatives[0]
        if len(piece.alternatives) == 1 and len(piece.alternatives[0]) == 1:
            return piece.alternatives[0]
        return (self.name_of(piece.alternatives),)

    def times(self, piece: Piece, least: int, most: int | None) -> Piece:
        """Return a part several times."""
        if not piece.alternatives or most == 0:
            return NOTHING
        is_optional = piece.is_optional or least == 0
        if piece.is_optional:
            least = 1
        least = max(least, 1)
        if (least, most) == (1, 1):
            return Piece(piece.alternatives, is_optional)
        name = self.name_of(piece.alternatives)
        if most is None:
            row = (*self._exactly(name, least - 1), Repeated(0, name, 1, None))
            return Piece((row,), is_optional)
        if least == 1:
            return Piece(self._up_to(name, most), is_optional)
        row = self._exactly(name, least)
        if most > least:
            row = (*row, optional(self.name_of(self._up_to(name, most - least))))
        return Piece((row,), is_optional)

    def _exactly(self, name: Expression, n: int) -> Alternative:
        """Return symbols for a symbol n times: twice what it is half as often."""
        if n < 4:
            return (name,) * n
        half = self.name_of((self._exactly(name, n // 2),))
        return (half, half, *[name] * (n % 2))

    def _up_to(self, name: Expression, n: int) -> tuple[Alternative, ...]:
        """Return alternatives for a symbol one to n times, each number in one way."""
        if n == 1:
            return ((name,),)
        if n % 2:
            return ((name,), (name, self.name_of(self._up_to(name, n - 1))))
        half = self.name_of(self._up_to(name, n // 2))
        return ((half,), (*self._exactly(name, n // 2), half))
