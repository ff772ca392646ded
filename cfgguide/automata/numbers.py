"""Numbers of JSON under conditions, as languages of their spellings.

In: what JSON Schema asks of a number: to be whole, to lie in a range, to be a multiple. Out: the
:class:`~cfgguide.automata.language.Language` of the spellings without an exponent that meet it.
With an exponent, the conditions would not be regular; only of finite floats there is a part.

Automata read the digits from the left. For a range they keep how the number compares with the bound
so far, for a multiple of ``m`` the remainder.

*Tidy* spellings end: a small model likes to write ``3.000000`` without end. They are some of the
spellings of a language, at least one of each language that has any (:func:`tidy`)::

    3    -250             whole numbers have neither fraction nor exponent, and `WHOLE_DIGITS`
    2.5  1.50  6.02e+23   others have `DIGITS` from the first that is not 0, and are finite floats

Whatever ``json.dumps`` writes of a float, or of a whole number of 64 bits, is tidy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import cache, lru_cache, partial
from math import inf
from typing import NamedTuple

from cfgguide.automata.ecma_patterns import pattern_language
from cfgguide.automata.language import DEAD, Language, grouped, intersection
from cfgguide.base.limits import check_step
from cfgguide.errors import SchemaError

NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"  # any
NO_DIGIT = "(?![-+.0-9eE])"  # a number is not a part of a longer one
_MAX_REMAINDERS = 18_000  # with the digits that tell them apart: states
MAX_DIGITS = 400  # of a bound; those of the least float are 341
#: Digits of tidy numbers: those of whole numbers of 64 bits, and those that tell floats apart.
WHOLE_DIGITS, DIGITS = 19, 17
_ZEROS_BEHIND_POINT = 16  # before the first other digit
_FEW = 1_000  # numbers, each of which is written in one way only
_SMALL = 50  # states of a language whose pattern is short
_LARGEST_FLOAT = "7976931348623157"  # is 1.7976931348623157e308
_N_KEPT = 256  # languages
_MAX_BEGINNINGS = 1_000_000  # of listed numbers
_POINT, _ZEROS = "point", "zeros"  # what comes after a listed number

#: The state of `decimals`, the remainder of the digits, the zeros behind them that the divisor has
#: too, and the digits read after the point; -1 before it. Nothing is 0 with all those zeros.
_Remainder = tuple[int, int, int, int]
#: The state of `decimals`, the sign, how the digits compare with those of the bound, and how many
#: of these were read, with a point.
_Comparison = tuple[int, int, int, int]


def decimals() -> Language:
    """Return all numbers without an exponent."""
    return pattern_language(r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$")


def written_whole() -> Language:
    """Return the whole numbers that are written without a fraction, as draft 4 has integers."""
    return pattern_language("^-?(?:0|[1-9][0-9]*)$")


def any_of(found: Iterable[Decimal]) -> Language:
    """Return the numbers that are equal to one of several.

    Raises
    ------
    SchemaError
        If one has more than `MAX_DIGITS` digits.

    Examples
    --------
    >>> few = any_of([Decimal(0), Decimal("1.5")])
    >>> [few.accepts(text) for text in ("-0", "0.0", "1.500", "1", "1.")]
    [True, True, True, False, False]
    """
    shortest = {decimal_text(number) for number in found}
    shortest |= {"-0"} if "0" in shortest else set()
    begun = set[str]()
    for text in shortest:
        check_step(0)
        begun.update(text[:n] for n in range(len(text) + 1))

    def step(text: str, character: str) -> str | None:
        longer = text + character
        if longer in begun:
            return longer
        if character == "." and "." not in text and text in shortest:
            return _POINT
        has_ended = text in (_POINT, _ZEROS) or ("." in text and without_zeros(text) in shortest)
        return _ZEROS if character == "0" and has_ended else None

    def is_equal(text: str) -> bool:
        is_read = text == _ZEROS or not text.endswith((".", _POINT))
        return is_read and (text == _ZEROS or without_zeros(text) in shortest)

    return Language.of_steps("", step, is_equal, "-.0123456789", most=_MAX_BEGINNINGS)


def without_zeros(text: str) -> str:
    """Return a text of a number without zeros at the end of its fraction."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def decimal_text(number: Decimal) -> str:
    """Return the shortest spelling of a number without an exponent."""
    check_step(0)
    whole, fraction = _digits_of(number)
    sign = "-" if number < 0 else ""
    return f"{sign}{whole}.{fraction}" if fraction else sign + whole


def at_least(bound: Decimal, *, is_strict: bool) -> Language:
    """Return the numbers from a bound on, or above it.

    Raises
    ------
    SchemaError
        If the bound has more than `MAX_DIGITS` digits.
    """
    return _compared(bound, (1,) if is_strict else (0, 1))


def at_most(bound: Decimal, *, is_strict: bool) -> Language:
    """Return the numbers up to a bound, or below it.

    Raises
    ------
    SchemaError
        If the bound has more than `MAX_DIGITS` digits.
    """
    return _compared(bound, (-1,) if is_strict else (-1, 0))


@lru_cache(maxsize=_N_KEPT)
def _compared(bound: Decimal, signs: tuple[int, ...]) -> Language:
    """Return the numbers whose difference from a bound has one of some signs.

    An automaton reads the digits beside those of the bound. It has a few states for each, so bounds
    may be as long as the largest and the least float.
    """
    whole, fraction = _digits_of(bound)
    is_below_zero, syntax = bound < 0, decimals()

    def step(state: _Comparison, character: str) -> _Comparison | None:
        form, sign, order, place = state
        form = syntax.after(form, character)
        if form == DEAD:
            return None
        if character == "-":
            return form, -1, order, place
        if character == ".":
            return form, sign, _order_of_wholes(order, place, len(whole)), len(whole) + 1
        if place < len(whole):
            digit = whole[place]
        elif place == len(whole):  # a whole number with more digits
            return form, sign, 1, place
        else:
            digit = fraction[place - len(whole) - 1 :][:1] or "0"
        is_over = place > len(whole) and (order or place > len(whole) + len(fraction))
        return (
            form,
            sign,
            order or (character > digit) - (character < digit),
            place + (not is_over),
        )

    def is_right(state: _Comparison) -> bool:
        form, sign, order, place = state
        if form not in syntax.accepting:
            return False
        if bound and (sign < 0) != is_below_zero:
            return sign in signs
        if place <= len(whole):
            order = _order_of_wholes(order, place, len(whole))
            place = len(whole) + 1
        if not order and place <= len(whole) + len(fraction):
            order = -1  # the bound has more digits
        return sign * order in signs

    return Language.of_steps((syntax.start, 1, 0, 0), step, is_right, "-.0123456789")


def _order_of_wholes(order: int, place: int, n_digits: int) -> int:
    """Return how a whole number compares: the longer one is greater."""
    return order if place == n_digits else -1


def check_digits(number: Decimal) -> None:
    """Raise an error if a number has too many digits.

    Raises
    ------
    SchemaError
        If it has more than `MAX_DIGITS`.
    """
    _digits_of(number)


def _digits_of(number: Decimal) -> tuple[str, str]:
    """Return the digits of a number before and after its point."""
    whole, _, fraction = f"{number.copy_abs():f}".partition(".")
    fraction = fraction.rstrip("0")
    if len(whole) + len(fraction) + bool(fraction) > MAX_DIGITS:
        raise SchemaError(f"the number {number} has more than {MAX_DIGITS} digits")
    return whole, fraction


def later_multiples(divisor: Decimal) -> Callable[[], Language]:
    """Return what returns the multiples of a number; it is checked now.

    Raises
    ------
    SchemaError
        As :func:`multiples`.
    """
    _modulus(divisor)
    return partial(multiples, divisor)


def _modulus(divisor: Decimal) -> tuple[int, int, int]:
    """Return the digits of a number as one, the zeros behind them, and the digits after its point.

    >>> _modulus(Decimal(1200)), _modulus(Decimal("0.05"))
    ((12, 2, 0), (5, 0, 2))
    """
    if divisor <= 0:
        raise SchemaError(f"multipleOf is {divisor}; it is a number above 0")
    whole, fraction = _digits_of(divisor)
    digits = (whole + fraction).rstrip("0")
    modulus, n_zeros = int(digits), len(whole + fraction) - len(digits)
    if modulus * (n_zeros + len(fraction) + 2) > _MAX_REMAINDERS:
        raise SchemaError(
            f"multipleOf {divisor} cannot be guaranteed: an automaton tells all remainders apart, "
            f"and {modulus} are too many"
        )
    return modulus, n_zeros, len(fraction)


@lru_cache(maxsize=_N_KEPT)
def multiples(divisor: Decimal) -> Language:
    """Return the multiples of a number above 0, without an exponent.

    Raises
    ------
    SchemaError
        If it has too many remainders: the automaton would be too large.
    """
    modulus, n_zeros, n_places = _modulus(divisor)
    syntax = decimals()

    def step(state: _Remainder, character: str) -> _Remainder | None:
        form, remainder, zeros, place = state
        form = syntax.after(form, character)
        if form == DEAD:
            return None
        if character == "-":
            return form, remainder, zeros, place
        if character == ".":
            is_over = n_places == 0 and (remainder or zeros < n_zeros)
            return None if is_over else (form, remainder, zeros, 0)
        digit = int(character)
        if place == n_places:
            return None if digit else (form, remainder, zeros, place)
        place += place >= 0
        if not digit:
            if zeros < n_zeros:
                return form, remainder, zeros + 1, place
            return form, 10 * remainder % modulus, zeros, place
        return form, (10 ** (zeros + 1) * remainder + digit) % modulus, 0, place

    def is_multiple(state: _Remainder) -> bool:
        form, remainder, zeros, place = state
        scale = 10 ** (n_places - max(place, 0))
        return form in syntax.accepting and zeros == n_zeros and not remainder * scale % modulus

    return Language.of_steps((syntax.start, 0, n_zeros, -1), step, is_multiple, "-.0123456789")


# --- Tidy spellings ------------------------------------------------------------------------------


def canonical() -> Language:
    """Return all numbers, each written in the one way without needless digits or an exponent."""
    return pattern_language(r"^(?:0|-?[1-9][0-9]*|-?(?:0|[1-9][0-9]*)\.[0-9]*[1-9])$")


class Tidy(NamedTuple):
    """Tidy spellings of some numbers.

    Attributes
    ----------
    language : Language
        The spellings.
    pattern : str or None
        What tells the tidy spellings among all spellings of these numbers; None where `language` is
        small enough to be a pattern itself.
    is_exact : bool
        Whether the pattern matches nothing else.
    """

    language: Language
    pattern: str | None = None
    is_exact: bool = False


def tidy_number(*, is_typed: bool) -> str:
    """Return the pattern of the tidy spellings of all numbers."""
    most = DIGITS if is_typed else WHOLE_DIGITS
    return "|".join((_with_exponent(), _with_fraction(), _whole(most, most)))


@lru_cache(maxsize=_N_KEPT)
def tidy(language: Language | None, *, is_typed: bool = True) -> Tidy:
    """Return the tidy spellings of some numbers.

    There are some wherever there are numbers: where the tidy ones are not among them, because of
    bounds, they have as many digits as they need.

    Parameters
    ----------
    language : Language or None
        The spellings of the numbers, without exponents; None for all numbers.
    is_typed : bool
        Whether the numbers are known to be numbers, with `DIGITS`; where anything may come, a whole
        number may be one of 64 bits.

    Examples
    --------
    >>> texts = ("3", "3.0", "3.5", "35e-1", "-0", "0." + 17 * "1", "1." + 17 * "1", 19 * "9")
    >>> [text for text in texts if tidy(None, is_typed=False).language.accepts(text)][:4]
    ['3', '3.0', '3.5', '35e-1']
    >>> [text for text in texts if tidy(multiples(Decimal(1))).language.accepts(text)]
    ['3', '9999999999999999999']
    >>> few = any_of([Decimal(0), Decimal("1.5")])
    >>> tidy(few).language.words(9)
    ['0', '1.5']
    """
    if language is None:
        pattern = tidy_number(is_typed=is_typed)
        return Tidy(pattern_language(f"^(?:{pattern})$"), pattern, is_exact=True)
    if intersection([language, _not_whole()]).is_empty:
        whole = _whole(*_digits_of_whole(language, WHOLE_DIGITS))
        found = _matching(language, whole)
        is_exact = found == pattern_language(f"^(?:{whole})$")
        is_needed = is_exact or found.n_states > _SMALL
        return Tidy(found, whole if is_needed else None, is_exact=is_exact)
    words = intersection([canonical(), language]).words(_FEW)
    if words is not None:
        return Tidy(Language.of_words(words))
    most = DIGITS if is_typed else WHOLE_DIGITS
    pattern = f"{_with_fraction()}|{_whole(*_digits_of_whole(language, most))}"
    found = _matching(language, pattern)
    if intersection([canonical(), found]).words(_FEW) is None:
        return Tidy(found, pattern)
    # They lie so close together, or so far from 0, that it takes more digits to tell them apart.
    shortest = intersection([language, _not_whole()])
    longest = int(shortest.shortest(shortest.start)) + len(str(_FEW)) + 1
    return Tidy(_matching(language, f"[^]{{0,{longest}}}"))


def _matching(language: Language, pattern: str) -> Language:
    return intersection([language, pattern_language(f"^(?:{pattern})$")])


@cache
def _not_whole() -> Language:
    """Return the numbers with a fraction that is not 0."""
    return pattern_language(r"^-?[0-9]+\.[0-9]*[1-9][0-9]*$")


def _digits_of_whole(language: Language, most: int) -> tuple[int | None, int | None]:
    """Return how many digits positive and negative whole numbers of a language may have.

    None where bounds say it. Where the least is too long already, there may be one digit more.
    """
    found: list[int | None] = []
    for sign in ("", "-"):
        whole = intersection([language, pattern_language(f"^{sign}[0-9]+$")])
        least = 0 if whole.is_empty else int(whole.shortest(whole.start)) - len(sign)
        is_bounded = whole.is_empty or whole.longest(whole.start) < inf
        found.append(None if is_bounded else most if least < most else least + 1)
    return found[0], found[1]


def _whole(positive: int | None, negative: int | None) -> str:
    """Return a pattern of whole numbers with some digits at most."""
    more = ["*" if most is None else f"{{0,{most - 1}}}" for most in (positive, negative)]
    return f"0|[1-9][0-9]{more[0]}|-[1-9][0-9]{more[1]}"


@cache
def _with_fraction() -> str:
    """Return a pattern of numbers with a point and `DIGITS`, no look-ahead needed."""
    zeros = f"0{{0,{_ZEROS_BEHIND_POINT}}}"
    long = [rf"[1-9][0-9]{{{n - 1}}}\.[0-9]{{1,{DIGITS - n}}}" for n in range(1, DIGITS)]
    return f"-?(?:{'|'.join(long)}|0\\.{zeros}(?:[1-9][0-9]{{0,{DIGITS - 1}}}|0))"


@cache
def finite() -> Language:
    """Return the numbers that are finite floats.

    With an exponent, all of them would not be regular: of those with `DIGITS` before the point at
    most none is missing that has a positive exponent up to 291, or any negative one.

    Examples
    --------
    >>> texts = ("1e5", "-2.50E-400", "1.7976931348623157e308", "1.8e308", "1e309", "9" * 309)
    >>> [finite().accepts(text) for text in texts]
    [True, True, True, False, False, False]
    """
    largest = Decimal(repr(sys.float_info.max))
    bounds = at_least(-largest, is_strict=False), at_most(largest, is_strict=False)
    with_exponent = pattern_language(f"^(?:{_with_exponent(is_tidy=False)})$")
    return grouped([intersection(bounds), with_exponent], any)[True]


@cache
def _with_exponent(*, is_tidy: bool = True) -> str:
    """Return a pattern of numbers with `DIGITS` and an exponent, none above the largest float.

    Tidy ones have so many in all, others before the point. Longer exponents come first, so that a
    lexer which takes the first match takes all of one.
    """
    whole = f"(?:{_with_fraction()}|{_whole(DIGITS, DIGITS)})"
    any_digits = whole if is_tidy else rf"-?(?:0|[1-9][0-9]{{0,{DIGITS - 1}}})(?:\.[0-9]+)?"
    behind_point, zeros = (f"{{1,{DIGITS - 1}}}", "") if is_tidy else ("+", "0*")
    negative = "{1,3}" if is_tidy else "+"
    one_digit = rf"-?[1-9](?:\.[0-9]{behind_point})?"
    rest = ""  # of the digits of the largest float, or of less
    for number, digit in enumerate(reversed(_LARGEST_FLOAT)):
        more = f"{{0,{number}}}" if is_tidy else "*"
        less = f"[0-{int(digit) - 1}][0-9]{more}"
        rest = f"{less}|{digit}(?:{rest})?" if rest else f"{less}|{digit}"
    small = r"[01][0-9]{2}|2[0-8][0-9]|29[01]|[0-9]{1,2}"
    return "|".join(
        (
            rf"-?1(?:\.(?:{rest}))?[eE]\+?{zeros}308",
            rf"{one_digit}[eE]\+?{zeros}(?:29[2-9]|30[0-7])",
            rf"{any_digits}[eE](?:-[0-9]{negative}|\+?{zeros}(?:{small}))",
        )
    )
