"""Numbers of JSON under conditions, as languages of their spellings.

In: what JSON Schema asks of a number: to be whole, to lie in a range, to be a multiple. Out: the
:class:`~cfgguide.automata.language.Language` of the spellings without an exponent that do; with one
the conditions are not regular.

An automaton reads digits from the left, so it compares with a bound as one does by hand: how many
digits there are, then the first that differs. For a multiple of ``m`` it keeps what is left over.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from decimal import Decimal
from functools import cache
from typing import NamedTuple

from cfgguide.automata.language import Language
from cfgguide.errors import SchemaError

NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"  # any
LARGEST_DIVISOR = 1000
MAX_DIGITS = 60

_LETTERS = "-.0123456789"


class _Read(NamedTuple):
    """How far a number has been read.

    Attributes
    ----------
    part : str
        "start"; "sign"; "zero" behind a leading zero; "whole"; "point"; "fraction".
    is_negative : bool
    known : tuple of int
        What the condition keeps.
    """

    part: str
    is_negative: bool
    known: tuple[int, ...]


_START = _Read("start", False, ())
#: What is kept behind a digit, by the part that it is in and what was kept; None is no such number.
_Keep = Callable[[str, tuple[int, ...], int], tuple[int, ...] | None]
_ENDS = ("zero", "whole", "fraction")


def _part_after(part: str, letter: str) -> str | None:
    if letter == "-":
        return "sign" if part == "start" else None
    if letter == ".":
        return "point" if part in ("zero", "whole") else None
    if part in ("start", "sign"):
        return "zero" if letter == "0" else "whole"
    if part == "zero":
        return None
    return "whole" if part == "whole" else "fraction"


@cache
def decimals() -> Language:
    """Return all numbers without an exponent."""
    return _language(lambda part, known, digit: (), lambda read: True)


@cache
def equal_to(number: Decimal) -> Language:
    """Return the spellings of a number."""
    return _compared(number, frozenset([0]))


@cache
def at_least(bound: Decimal, *, is_strict: bool) -> Language:
    """Return the numbers from a bound on, or above it."""
    return _compared(bound, frozenset([1] if is_strict else [0, 1]))


@cache
def at_most(bound: Decimal, *, is_strict: bool) -> Language:
    """Return the numbers up to a bound, or below it."""
    return _compared(bound, frozenset([-1] if is_strict else [-1, 0]))


def _language(keep: _Keep, is_accepting: Callable[[_Read], bool]) -> Language:
    def step(read: Hashable, letter: str) -> Hashable | None:
        assert isinstance(read, _Read)
        part = _part_after(read.part, letter)
        if part is None:
            return None
        is_negative = read.is_negative or letter == "-"
        known = read.known if letter in "-." else keep(part, read.known, int(letter))
        return None if known is None else _Read(part, is_negative, known)

    def accepts(read: Hashable) -> bool:
        assert isinstance(read, _Read)
        return read.part in _ENDS and is_accepting(read)

    return Language.of_steps(_START, step, accepts, _LETTERS)


def _compared(bound: Decimal, wanted: frozenset[int]) -> Language:
    """Return the numbers whose comparison with a bound (-1, 0, 1) is wanted."""
    whole, fraction = _digits_of(abs(bound))

    def keep(part: str, known: tuple[int, ...], digit: int) -> tuple[int, ...]:
        # Known: 0 or 1, the place in that part; -1, 0, 1: the comparison so far.
        in_fraction, place, order = known or (0, 0, 0)
        if part == "fraction" and not in_fraction:
            order = -1 if place < len(whole) else 1 if place > len(whole) else order
            in_fraction, place = 1, 0
        digits = fraction if in_fraction else whole
        other = digits[place] if place < len(digits) else 0
        if not order and (place < len(digits) or in_fraction):
            order = (digit > other) - (digit < other)
        most = len(digits) + (0 if in_fraction else 1)
        return (in_fraction, min(place + 1, most), order)

    def is_accepting(read: _Read) -> bool:
        in_fraction, place, order = read.known
        if not in_fraction:
            order = -1 if place < len(whole) else 1 if place > len(whole) else order
            if not order and any(fraction):
                order = -1
        elif not order and any(fraction[place:]):
            order = -1
        return _signed(order, read.is_negative) in wanted

    def _signed(order: int, is_negative: bool) -> int:
        if bound == 0:
            return -order if is_negative else order
        if is_negative != (bound < 0):
            return -1 if is_negative else 1
        return -order if is_negative else order

    return _language(keep, is_accepting)


def _digits_of(number: Decimal) -> tuple[list[int], list[int]]:
    text = format(number.normalize(), "f")
    if len(text) > MAX_DIGITS:
        raise SchemaError(f"the number {number} has more than {MAX_DIGITS} digits")
    whole, _, fraction = text.partition(".")
    return [int(digit) for digit in whole], [int(digit) for digit in fraction]


@cache
def multiples(divisor: Decimal) -> Language:
    """Return the multiples of a number above 0.

    Raises
    ------
    SchemaError
        If its digits make a number above `LARGEST_DIVISOR`: the automaton would be too large.
    """
    whole, fraction = _digits_of(divisor)
    n_places = len(fraction)
    modulus = int("".join(map(str, [*whole, *fraction])))
    if modulus <= 0:
        raise SchemaError(f"multipleOf is {divisor}; it is a number above 0")
    if modulus > LARGEST_DIVISOR:
        raise SchemaError(
            f"multipleOf {divisor} cannot be guaranteed: its digits make {modulus}, and only up "
            f"to {LARGEST_DIVISOR} the automaton is small"
        )

    def keep(part: str, known: tuple[int, ...], digit: int) -> tuple[int, ...] | None:
        rest, place = known or (0, 0)
        if part == "fraction":
            if place == n_places:
                return None if digit else known or (0, 0)
            place += 1
        return ((10 * rest + digit) % modulus, place)

    def is_accepting(read: _Read) -> bool:
        rest, place = read.known
        return not rest * 10 ** (n_places - place) % modulus

    return _language(keep, is_accepting)
