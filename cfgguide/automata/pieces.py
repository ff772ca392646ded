"""The pieces of a text, as an automaton that is made while pieces are read.

In: a text, and where pieces may begin and end. Out: a :class:`PieceAutomaton` of all texts that
stand in it from such a beginning to such an end. A state is the set of places at which what has
come ends: a state of the text's suffix automaton, which has at most two for each character. Only
those are made that a walk reaches, so that a long text costs nothing at first::

    "banana"   after "a": { ba|nana, bana|na, banana| }   after "an": { ban|ana, banan|a }

Source: Blumer et al., "The smallest automaton recognizing the subwords of a text" (1985).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from cfgguide.automata.alphabet import alphabet_of
from cfgguide.automata.charset import CharacterClass
from cfgguide.automata.language import DEAD, Lengths
from cfgguide.automata.pattern_automaton import GrownAutomaton

Int32Array = npt.NDArray[np.int32]
Unit = Literal["characters", "words", "sentences"]

UNITS = ("characters", "words", "sentences")
_WORD = re.compile(r"\w+(?:[-'.\u2019]\w+)*")
_STOP = re.compile(r"[.!?\u2026][\"')\]\u201d\u2019]{0,3}(?=\s)|\u3002|\n[^\S\n]*\n")


class Places(NamedTuple):
    """Where what has come ends, and how far each of these may go.

    Attributes
    ----------
    at, most : int32, shape (n_places,)
        Numbers of characters, sorted by the first.
    """

    at: Int32Array
    most: Int32Array


class PieceAutomaton(GrownAutomaton):
    """The pieces of a text.

    Parameters
    ----------
    text : str
        The text.
    unit : {"characters", "words", "sentences"}
        What no piece has a part of.
    max_length : int, optional
        Of units in a piece.
    missing : frozenset of int
        Bytes that no piece has.

    Examples
    --------
    >>> from cfgguide.automata.language import accepts
    >>> found = PieceAutomaton("to be or not", "words", 2)
    >>> [accepts(found, each) for each in ("be or", "or", "e or", "be or not", "to or")]
    [True, True, False, False, False]
    """

    def __init__(
        self,
        text: str,
        unit: Unit = "characters",
        max_length: int | None = None,
        missing: frozenset[int] = frozenset(),
    ) -> None:
        points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
        letter_of = np.zeros(int(points.max(initial=0)) + 1, np.int32)
        letter_of[points] = 1
        distinct = np.flatnonzero(letter_of).tolist()
        alphabet = alphabet_of([CharacterClass.of_characters([each]) for each in distinct])
        letter_of[distinct] = [alphabet.letter(each) for each in distinct]
        # Of 16 bits, letters are sorted without comparing them.
        self._letters = letter_of[points].astype(np.min_scalar_type(alphabet.n_letters))
        self._text = text
        #: How many bytes the text has before each place: in UTF-8, and in a string of JSON.
        self._sizes = tuple([_sums(distinct, points, each) for each in (_in_utf8, _in_json)])
        begins, ends = _bounds(text, unit)
        is_missing = np.zeros(len(letter_of), np.bool_)
        is_missing[distinct] = [bool(missing.intersection(chr(each).encode())) for each in distinct]
        self._next_end = _next(ends, len(text) + 2)
        most = self._limits(ends, begins, max_length, is_missing[points])
        is_live = most > begins
        self._begins = Places(begins[is_live], most[is_live])
        super().__init__(alphabet)

    def _limits(
        self, ends: Int32Array, begins: Int32Array, max_length: int | None, is_missing: Any
    ) -> Int32Array:
        """Return where each piece has to end at last, by where it begins."""
        last = np.searchsorted(ends, begins, side="right") + (max_length or len(ends)) - 1
        before_gap = _next(np.flatnonzero(is_missing), len(is_missing) + 1)[begins]
        allowed = np.searchsorted(ends, before_gap, side="right") - 1
        last = np.minimum(np.minimum(last, len(ends) - 1), allowed)
        return np.where(last < 0, -1, ends[np.maximum(last, 0)]).astype(np.int32)

    def _first(self) -> int:
        return self._numbered(*self._begins) if len(self._begins.at) else DEAD

    def _numbered(self, at: Int32Array, most: Int32Array) -> int:
        return self._number((at.tobytes(), most.tobytes()))

    def _places(self, state: int) -> Places:
        return _places(self._states[state])

    @property
    def n_states(self) -> int:
        """How many states a suffix automaton has at most."""
        return 2 * len(self._text)

    @property
    def n_guessed(self) -> int:
        """How many states an automaton has that guesses where the piece stands."""
        return len(self._text) + 1

    def after_text(self, state: int, text: str) -> int:
        """Return the state after more characters; those between are not made."""
        at, most = self._places(state)
        for character in text:
            is_next = at < most
            at, most = at[is_next], most[is_next]
            is_next = self._letters[at] == self.alphabet.letter(ord(character))
            at, most = at[is_next] + 1, most[is_next]
        with self._lock:
            return self._numbered(at, most) if len(at) else DEAD

    def _made(self, state: Any) -> tuple[int, ...]:
        at, most = _places(state)
        is_open = at < most
        at, most = at[is_open], most[is_open]
        letters = self._letters[at]
        order = np.argsort(letters, kind="stable")
        letters, at, most = letters[order], at[order] + 1, most[order]
        starts = np.flatnonzero(np.diff(letters, prepend=-1))
        row = [DEAD] * self.alphabet.n_letters
        for first, end in pairwise([*starts, len(at)]):
            row[letters[first]] = self._numbered(at[first:end], most[first:end])
        return tuple(row)

    def is_everything(self, _state: int) -> bool:
        """Return whether any text leads from a state to an end: not where it has to be a piece."""
        return False

    def _may_end(self, state: Any) -> bool:
        return self.shortest(self._numbers[state]) == 0

    def shortest(self, state: int) -> float:
        """Return how many characters at least lead from a state to an end."""
        if state == DEAD:
            return inf
        at = self._places(state).at
        return int((self._end_after(state, at) - at).min())

    def longest(self, state: int) -> float:
        """Return how many characters at most lead from a state to an end."""
        if state == DEAD:
            return -inf
        at, most = self._places(state)
        return int((most - at).max())

    @cached_property
    def data(self) -> npt.NDArray[np.uint8]:
        """The text in UTF-8."""
        return np.frombuffer(self._text.encode(), np.uint8)

    def bytes_of(self, state: int) -> Places:
        """Return the places of a state as numbers of bytes of `data`."""
        at, most = self._places(state)
        before = self._sizes[0]
        return Places(before[at], before[most])

    def fewest(self, state: int, spelling: int) -> float:
        """Return how many bytes at least lead from a state to an end."""
        return self._nearest(state, spelling)[1]

    def _nearest(self, state: int, spelling: int) -> tuple[int, float]:
        """Return the place from which the fewest bytes lead to an end, and how many."""
        if state == DEAD:
            return 0, inf
        at = self._places(state).at
        sizes = self._sizes[spelling]
        n_bytes = sizes[self._end_after(state, at)] - sizes[at]
        best = int(n_bytes.argmin())
        return int(at[best]), int(n_bytes[best])

    def _end_after(self, state: int, at: Int32Array) -> Int32Array:
        """Return the first end from each place on; a piece is not empty."""
        return self._next_end[at + (state == self.start)]

    def known_end(
        self, state: int, spelling: int, written: Callable[[], Sequence[bytes] | None]
    ) -> tuple[bytes, int] | None:
        """Return a shortest text from a state to an end, and how many characters it has."""
        letters = written()
        if letters is None or state == DEAD:
            return None
        place, _ = self._nearest(state, spelling)
        end = int(self._end_after(state, np.array([place]))[0])
        return b"".join([letters[each] for each in self._letters[place:end]]), end - place

    def within(self, least: int, most: int | None) -> Lengths:
        """Return what knows whether a piece of so many characters can end."""
        return _Within(self, least, most)

    def may_end(self, state: int, least: int, most: float) -> bool:
        """Return whether from `least` to `most` more characters lead to an end."""
        if state == DEAD or most < 0:
            return False
        at, limits = self._places(state)
        first = np.minimum(at + max(least, int(state == self.start)), len(self._text) + 1)
        last = np.minimum(limits, at + min(most, len(self._text)))
        return bool((self._next_end[first] <= last).any())


def _places(key: tuple[bytes, bytes]) -> Places:
    """Return the places of which a state is made."""
    return Places(*[np.frombuffer(each, np.int32) for each in key])


class _Within(NamedTuple):
    """Knows with how many characters a piece can end."""

    automaton: PieceAutomaton
    least: int
    most: int | None

    def may_end(self, state: int, n: int) -> bool:
        """Return whether a piece can end within the bounds, after `n` characters, from a state."""
        most = inf if self.most is None else self.most - n
        return self.automaton.may_end(state, self.least - n, most)


def _bounds(text: str, unit: Unit) -> tuple[Int32Array, Int32Array]:
    """Return where units begin, and where they end; sorted."""
    if unit == "characters":
        every = np.arange(len(text) + 1, dtype=np.int32)
        return every[:-1], every[1:]
    spans = [each.span() for each in _WORD.finditer(text)] if unit == "words" else _sentences(text)
    found = np.array(spans, np.int32).reshape(-1, 2)
    return found[:, 0].copy(), found[:, 1].copy()


def _sentences(text: str) -> list[tuple[int, int]]:
    """Return where sentences begin and end, without the white space around them."""
    ends = [each.end() for each in _STOP.finditer(text)]
    found = []
    for begin, end in pairwise([0, *ends, len(text)]):
        inside = text[begin:end]
        first, last = begin + len(inside) - len(inside.lstrip()), begin + len(inside.rstrip())
        if first < last:
            found.append((first, last))
    return found


def _in_utf8(character: str) -> int:
    return len(character.encode())


def _in_json(character: str) -> int:
    return len(json.dumps(character, ensure_ascii=False).encode()) - 2


def _sums(
    distinct: Sequence[int], points: npt.NDArray[np.uint32], n_bytes: Callable[[str], int]
) -> Int32Array:
    """Return how many bytes the characters before each place have."""
    of_point = np.zeros(max(distinct, default=0) + 1, np.int32)
    of_point[distinct] = [n_bytes(chr(each)) for each in distinct]
    return np.append(0, np.cumsum(of_point[points], dtype=np.int32)).astype(np.int32)


def _next(places: Any, length: int) -> Int32Array:
    """Return for each number below `length` the first of some sorted places from it on.

    Where there is none, it is `length`.
    """
    numbers = np.searchsorted(places, np.arange(length))
    return np.append(places, length)[numbers].astype(np.int32)
