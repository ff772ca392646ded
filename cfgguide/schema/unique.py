"""Arrays whose items are to be different, where the items are scalars: how many are left.

In: :class:`~cfgguide.schema.solver.values.Values`, and what has come. Out: whether there surely are
more than any array has, and how a scalar may begin (:class:`DifferentScalars`). A string has been
read to its end when its quote comes; a number may go on, and has many spellings, but with a first
digit that is not zero most languages have endlessly many others for each beginning. ::

    ["blue", "bl        of blue, black and red: nothing may follow that is not a beginning of `ack`
    [0, 5, 0            of whole numbers: nothing is left that begins like this
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from math import inf
from typing import NamedTuple

from cfgguide.automata.ecma_patterns import pattern_language
from cfgguide.automata.language import DEAD, Language, intersection
from cfgguide.errors import SchemaError
from cfgguide.schema.equality import number_of
from cfgguide.schema.scalar_tokens import IS_SPELLED, beginnings_of, rests_of
from cfgguide.schema.solver.counts import canonical_numbers, words_from
from cfgguide.schema.solver.values import Scalars, Values

_MANY = 10_000  # values: no array has so many
_FEW = 64  # characters that have to come
_ZERO = number_of("0")
_LONG = 256  # characters that may come: of longer strings no automaton is made


@lru_cache(maxsize=256)
def _bounded(language: Language | None, least: int, most: int | None) -> Language:
    """Return the texts of so many characters."""
    bounds = pattern_language(f"^[^]{{{least},{'' if most is None else most}}}$")
    if language is None:
        return bounds
    return intersection([language, bounds]) if least or most is not None else language


def are_many(strings: Scalars) -> bool:
    """Return whether there surely are more of some strings than any array has items."""
    least, most = strings.bounds
    try:
        automaton = strings.automaton
    except SchemaError:  # it is too large
        return False
    if automaton is None:
        return most != 0  # a character is one of a million
    if not isinstance(automaton, Language):  # others know their longest text only roughly
        return False
    if strings.words is None and most is not None:
        return most <= _LONG and _bounded(automaton, least, most).words(_MANY) is None
    return automaton.words(_MANY) is None


def _endless(language: Language) -> set[int]:
    """Return the states after which any number of texts may come."""
    targets = [set(row) - {DEAD} for row in language.rows]
    endless = {state for state, after in enumerate(targets) if state in after}
    while more := {
        state
        for state, after in enumerate(targets)
        if state not in endless and not endless.isdisjoint(after)
    }:
        endless |= more
    return endless


@lru_cache(maxsize=256)
def _is_endless(language: Language) -> bool:
    """Return whether any number of texts begin like any beginning of one."""
    return len(_endless(language)) == len(language.rows) - 1


def n_free(strings: Scalars) -> float:
    """Return up to how many characters each beginning has others left, whatever has come."""
    if strings.words is not None:
        return -1
    language, (least, most) = strings.language, strings.bounds
    if language is None:
        return inf if most is None else most - 1  # the last character may be any of a million
    if most is not None or least > _FEW:
        return -1
    return inf if _is_endless(_bounded(language, least, most)) else -1


class _Beginnings(NamedTuple):
    """How the numbers of a language may begin.

    Attributes
    ----------
    are_free : bool
        Whether each beginning that is not zero surely has endlessly many values left.
    are_whole : bool
        Whether all are whole numbers.
    have_exponents : bool
        Whether they may be written with one.
    written : Language
        The numbers in the one way in which each can be written.
    """

    are_free: bool
    are_whole: bool
    have_exponents: bool
    written: Language


@lru_cache(maxsize=256)
def _beginnings(language: Language | None) -> _Beginnings:
    written = canonical_numbers(language)
    starts = (written.start, written.after(written.start, "-"))
    first = {written.after(start, digit) for start in starts for digit in "123456789"} - {DEAD}
    return _Beginnings(
        are_free=bool(first) and _reached(written, first) <= _endless(written),
        are_whole=not _has(written, "."),
        have_exponents=language is None or _has(language, "e"),
        written=written,
    )


def _reached(language: Language, states: set[int]) -> set[int]:
    found = list(states)
    for state in found:  # grows while it is walked
        found += {*language.rows[state]} - {DEAD, *found}
    return {*found}


def _has(language: Language, character: str) -> bool:
    return any(language.after(state, character) != DEAD for state in range(len(language.rows)))


class DifferentScalars(NamedTuple):
    """Scalars of an array of which none may come twice.

    Attributes
    ----------
    values : Values
        Of each item.
    used : frozenset
        The values that have come.
    begun : bytes
        What there is of one that is being read; nothing between two.
    """

    values: Values
    used: frozenset[Hashable]
    begun: bytes

    @property
    def is_known(self) -> bool:
        """Whether it is known how a scalar may begin and go on."""
        values, numbers = self.values, self._numbers
        if not values.is_scalar or b"\\" in self.begun:
            return False
        if self.is_spelled and IS_SPELLED.match(self.begun):
            return False
        strings = values.strings
        longest = max((len(each) for each in self.used if isinstance(each, str)), default=0)
        return (strings is None or strings.words is not None or longest <= n_free(strings)) and (
            numbers is None
            or numbers.are_free
            or (numbers.are_whole and not numbers.have_exponents)
        )

    @property
    def _numbers(self) -> _Beginnings | None:
        numbers = self.values.numbers
        return None if numbers is None else _beginnings(numbers.language)

    @property
    def is_spelled(self) -> bool:
        """Whether other spellings may be all that is left of zero, or of a whole number."""
        numbers = self._numbers
        return numbers is not None and (
            numbers.are_whole or not numbers.are_free or _ZERO in self.used
        )

    @property
    def are_listed(self) -> bool:
        """Whether all strings are listed."""
        return self.values.strings is not None and self.values.strings.words is not None

    @property
    def are_few(self) -> bool:
        """Whether there may be few values that begin alike."""
        strings, numbers = self.values.strings, self._numbers
        are_bounded = strings is not None and n_free(strings) < inf
        return are_bounded or (numbers is not None and not numbers.are_free)

    def exhausted(self) -> set[bytes]:
        """Return texts after which all that a scalar may become has come."""
        found = set[bytes]()
        strings, numbers = self.values.strings, self._numbers
        begun = self.begun or b'"'
        if strings is not None and self.are_listed and begun[:1] == b'"':
            first = b"" if self.begun else b'"'
            left = rests_of({*(strings.words or ())} - self.used, begun)
            found = beginnings_of(rests_of(self.used, begun)) - beginnings_of(left)
            found = {first + each for each in found}
        if numbers is not None and not numbers.are_free and self.begun[:1] != b'"':
            begun_like = beginnings_of(filter(None, map(_digits, self.used)))
            n = len(self.begun)
            for text in begun_like:
                if text.startswith(self.begun) and self._is_exhausted(numbers.written, text):
                    found.add(text[n:])
        return found - {b""}

    def _is_exhausted(self, written: Language, text: bytes) -> bool:
        """Return whether all numbers that begin with a text have come."""
        state = written.start
        for digit in text.decode():
            state = written.after(state, digit)
        return written.longest(state) != inf and all(
            number_of(text.decode() + rest) in self.used for rest in words_from(written, state)
        )


def _digits(value: Hashable) -> bytes:
    """Return a whole number as it is written without an exponent; nothing for what is none."""
    if isinstance(value, tuple) and value[0] == "#":
        _, digits, power = value
        if digits and isinstance(power, int):
            return digits.encode() + b"0" * power if 0 <= power <= _LONG else b""
        return b"" if digits else b"0"
    return b""
