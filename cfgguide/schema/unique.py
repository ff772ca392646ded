"""Arrays whose items are to be different, where the items are scalars: how many are left.

In: :class:`~cfgguide.schema.solver.values.Values`, and what has come. Out: whether there surely are
more than any array has, and how a scalar may begin (:class:`DifferentScalars`). A string has been
read to its end when its quote comes; a number may go on, and has many spellings, but with a first
digit that is not zero most languages have endlessly many others for each beginning. ::

    ["blue", "bl        of blue, black and red: nothing may follow that is not a beginning of `ack`
    [0, 5, 0            of whole numbers: nothing is left that begins like this
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from functools import lru_cache
from math import inf
from typing import NamedTuple

from cfgguide.automata.ecma_patterns import pattern_language
from cfgguide.automata.language import DEAD, Language, intersection
from cfgguide.base.sets import reached_from
from cfgguide.errors import SchemaError
from cfgguide.schema.equality import number_of
from cfgguide.schema.scalar_tokens import IS_SPELLED, beginnings_of, is_cut, rests_of
from cfgguide.schema.solver.counts import canonical_numbers, n_texts, words_from
from cfgguide.schema.solver.values import Scalars, Values

_MANY = 10_000  # values: no array has so many
_SOME = 256  # values: as many are told apart from those that begin like one that has come
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
    if strings.words is not None:
        return len(strings.words) > _MANY
    try:
        automaton = strings.automaton
    except SchemaError:  # it is too large
        return False
    if automaton is not None and not isinstance(automaton, Language):
        if automaton.n_guessed > _LONG:
            return False
        automaton = automaton.language  # others know their longest text only roughly
    is_endless = automaton is not None and automaton.longest(automaton.start) == inf
    if is_endless and strings.bounds[1] is None:
        return True
    return n_texts(automaton, strings.bounds, _MANY + 1) > _MANY


def are_endless(numbers: Language | None, begun: str = "") -> bool:
    """Return whether a number that has begun surely has endlessly many values left."""
    written = canonical_numbers(numbers)
    state = written.start
    for character in begun:
        state = written.after(state, character)
    return written.longest(state) == inf


def _are_free(language: Language, states: Iterable[int]) -> bool:
    """Return whether endlessly many texts may come after each of some states."""
    return all(language.longest(state) == inf for state in states)


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
        are_free=bool(first) and _are_free(written, reached_from(first, written.moves_of)),
        are_whole=not _has(written, "."),
        have_exponents=language is None or _has(language, "e"),
        written=written,
    )


def _has(language: Language, character: str) -> bool:
    return any(language.after(state, character) != DEAD for state in range(len(language.rows)))


class DifferentScalars:
    """Scalars of arrays of which none may come twice.

    Parameters
    ----------
    values : Values
        Of each item.

    Attributes
    ----------
    are_few : bool
        Whether there may be few values that begin alike.
    are_listed : bool
        Whether all strings are listed.
    are_strings : bool
        Whether all are strings.
    """

    def __init__(self, values: Values) -> None:
        self.values = values
        numbers, strings = values.numbers, values.strings
        self._numbers = None if numbers is None else _beginnings(numbers.language)
        self._words = None if strings is None or strings.words is None else {*strings.words}
        self._language: Language | None = None  # of strings that may be few
        self._n_free = inf  # characters after which surely others are left, whatever has come
        if strings is not None and self._words is None:
            self._language, self._n_free = _counted(strings)
        numbers_are_free = self._numbers is None or self._numbers.are_free
        self.are_listed = self._words is not None
        self.are_few = self.are_listed or self._n_free < inf or not numbers_are_free
        self.are_strings = values.kinds == {"string"}

    def are_known(self, used: frozenset[Hashable], begun: bytes) -> bool:
        """Return whether it is known how a scalar may begin and go on.

        Parameters
        ----------
        used : frozenset
            The values that have come.
        begun : bytes
            What there is of one that is being read; nothing between two.
        """
        numbers = self._numbers
        if b"\\" in begun or (self.are_spelled(used) and IS_SPELLED.match(begun)):
            return False
        if numbers is not None and not (
            numbers.are_free or (numbers.are_whole and not numbers.have_exponents)
        ):
            return False
        is_counted = self._words is not None or (self._language is not None and len(used) < _SOME)
        return is_counted or self.has_free_strings(used)

    def are_spelled(self, used: frozenset[Hashable]) -> bool:
        """Return whether other spellings may be all that is left of zero, or of a whole number."""
        numbers = self._numbers
        return numbers is not None and (numbers.are_whole or not numbers.are_free or _ZERO in used)

    def has_free_strings(self, used: frozenset[Hashable]) -> bool:
        """Return whether after each beginning of a string surely others are left."""
        return self._words is None and _longest(used) <= self._n_free

    def begin_endlessly(self, begun: bytes) -> bool:
        """Return whether endlessly many strings are known to begin like one that has begun."""
        if self._language is None or begun[:1] != b'"' or b"\\" in begun:
            return False
        state = self._language.start
        for character in begun[1:].decode(errors="ignore"):
            state = self._language.after(state, character)
        return not is_cut(begun) and self._language.longest(state) == inf

    def exhausted(self, used: frozenset[Hashable], begun: bytes) -> set[bytes]:
        """Return texts after which all that a scalar may become has come."""
        found = set[bytes]()
        string = begun or b'"'
        if string[:1] == b'"':
            rests = [*rests_of(used, string)]
            if self._words is not None:
                found = beginnings_of(rests) - beginnings_of(rests_of(self._words - used, string))
            elif self._language is not None and not self.has_free_strings(used):
                found = {
                    text.encode(errors="surrogatepass")[len(string) - 1 :]
                    for word in used
                    if isinstance(word, str) and any(rests_of((word,), string))
                    for text, rests in _few_rests(self._language, word)
                    if text + rests[0] in used and all(text + rest in used for rest in rests)
                }
            found = {string[len(begun) :] + each for each in found}
        if self._numbers is not None and not self._numbers.are_free and begun[:1] != b'"':
            begun_like = beginnings_of(filter(None, map(_digits, used)))
            n = len(begun)
            for text in begun_like:
                if text.startswith(begun) and self._is_exhausted(used, text):
                    found.add(text[n:])
        return found - {b""}

    def _is_exhausted(self, used: frozenset[Hashable], text: bytes) -> bool:
        """Return whether all numbers that begin with a text have come."""
        assert self._numbers is not None, "there are numbers"
        written = self._numbers.written
        state = written.start
        for digit in text.decode():
            state = written.after(state, digit)
        return written.longest(state) != inf and all(
            number_of(text.decode() + rest) in used for rest in words_from(written, state)
        )


def _longest(used: frozenset[Hashable]) -> int:
    """Return how many characters the longest string has."""
    return max((len(each) for each in used if isinstance(each, str)), default=0)


def _counted(strings: Scalars) -> tuple[Language | None, float]:
    """Return the language of some strings, and how many characters leave others in any case.

    None where it would be too large, or is not needed; -1 where the first one may leave few.
    """
    least, most = strings.bounds
    n_free = -1.0
    if strings.made is None:
        n_free = inf if most is None else most - 1  # the last may be any of a million
    if n_free == inf or least > _FEW or (most is not None and most > _LONG):
        return None, n_free
    try:
        language = _bounded(strings.language, least, most)
    except SchemaError:  # it is too large
        return None, n_free
    # After each beginning of one, any number of texts may come.
    return language, inf if _are_free(language, range(1, len(language.rows))) else n_free


@lru_cache(maxsize=1_000)
def _few_rests(language: Language, word: str) -> list[tuple[str, list[str]]]:
    """Return the beginnings of a word after which few texts may come, each with all of these."""
    states, found = [language.start], []
    for character in word:
        states.append(language.after(states[-1], character))
    for n, state in reversed([*enumerate(states)]):
        rests = None if language.longest(state) == inf else _rests(language, state)
        if rests is None:  # after a shorter beginning even more may come
            break
        found.append((word[:n], rests))
    return found


@lru_cache(maxsize=1_000)
def _rests(language: Language, state: int) -> list[str] | None:
    """Return the texts that may follow a state of a language; None if there are many."""
    return replace(language, start=state).words(_SOME)


def _digits(value: Hashable) -> bytes:
    """Return a whole number as it is written without an exponent; nothing for what is none."""
    if isinstance(value, tuple) and value[0] == "#":
        _, digits, power = value
        if digits and isinstance(power, int):
            return digits.encode() + b"0" * power if 0 <= power <= _LONG else b""
        return b"" if digits else b"0"
    return b""
