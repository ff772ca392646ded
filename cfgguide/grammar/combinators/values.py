r"""Grammars of common values: numbers in a range, dates that exist, times, and the like.

In: bounds, if any. Out: a grammar of the texts that write such a value, and of no others. All of
them are regular expressions. Dates and times are written as in ISO 8601 and RFC 3339.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from cfgguide.automata.number_ranges import decimal_numbers, whole_numbers
from cfgguide.automata.string_formats import DATE, HOUR_MINUTE, IPV4
from cfgguide.errors import GrammarError, shown
from cfgguide.grammar.combinators.parts import Composed
from cfgguide.grammar.combinators.patterns import choice, grammar_of, regular

Number = int | float | Decimal

_MAX_DIGITS = 400  # of a bound; those of the largest float are 309
_OFFSET = f"(?:Z|[+\\-]{HOUR_MINUTE})"


def integer(minimum: int | None = None, maximum: int | None = None) -> Composed:
    """Return the grammar of whole numbers, such as ``0`` and ``-12``.

    There is no plus sign, no leading zero, and no ``-0``.

    Parameters
    ----------
    minimum, maximum : int, optional
        The least and the greatest number that may be written.

    Raises
    ------
    GrammarError
        If there is no number between the bounds, or a bound is too long or not a whole number.

    Examples
    --------
    >>> print(integer(0, 365).text)
    start: TEXT
    TEXT: /[12][0-9]{2}|3[0-5][0-9]|36[0-5]|[1-9][0-9]|[0-9]/
    """
    for name, bound in (("minimum", minimum), ("maximum", maximum)):
        if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int)):
            raise GrammarError(f"{name} is a whole number, not {shown(bound)}")
    _bounds(minimum, maximum)
    return grammar_of(regular(whole_numbers(minimum, maximum)))


def number(minimum: Number | None = None, maximum: Number | None = None) -> Composed:
    r"""Return the grammar of decimal numbers, such as ``3``, ``-0.50`` and ``12.0``.

    There is no exponent, no plus sign, no leading zero before other digits, and no zero with a
    minus sign. A point has digits on both sides.

    Parameters
    ----------
    minimum, maximum : int, float or Decimal, optional
        The least and the greatest number that may be written, with any number of digits. A float
        counts as the shortest decimal number that Python writes for it.

    Raises
    ------
    GrammarError
        If there is no number between the bounds, or a bound is infinite, too long or not a number.

    Examples
    --------
    >>> print(number(0, 1).text)
    start: TEXT
    TEXT: /1(?:\.0+)?|0(?:\.[0-9]+)?/
    """
    return grammar_of(regular(decimal_numbers(*_bounds(minimum, maximum))))


def boolean() -> Composed:
    """Return the grammar of ``true`` and ``false``.

    >>> print(boolean().text)
    start: TEXT
    TEXT: /false|true/
    """
    return choice(["true", "false"])


def date() -> Composed:
    """Return the grammar of dates as ISO 8601 writes them, from 0001-01-01 to 9999-12-31.

    Only days that exist in the Gregorian calendar: 2024-02-29, but not 2023-02-29.
    """
    return grammar_of(regular(DATE))


def time(*, digits: int = 0) -> Composed:
    """Return the grammar of times of a day as ISO 8601 writes them, from 00:00:00 to 23:59:59.

    Parameters
    ----------
    digits : int
        The most digits that a fraction of a second may have, as in ``12:30:05.25``.

    Raises
    ------
    GrammarError
        If `digits` is not a number from 0 to 9.
    """
    return grammar_of(regular(_time(digits)))


def date_time(*, digits: int = 0, offset: bool = True) -> Composed:
    """Return the grammar of moments as RFC 3339 writes them, such as ``2024-02-29T12:30:05Z``.

    Parameters
    ----------
    digits : int
        The most digits that a fraction of a second may have.
    offset : bool
        Whether an offset from UTC, ``Z`` or ``+05:30``, must follow, as in RFC 3339; if False, none
        may follow.

    Raises
    ------
    GrammarError
        If `digits` is not a number from 0 to 9.
    """
    return grammar_of(regular(f"{DATE}T{_time(digits)}{_OFFSET if offset else ''}"))


def uuid() -> Composed:
    """Return the grammar of UUIDs as RFC 9562 writes them, in lower case.

    >>> print(uuid().text)
    start: TEXT
    TEXT: /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/
    """
    return grammar_of(regular("[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"))


def ipv4() -> Composed:
    """Return the grammar of IPv4 addresses, such as ``192.168.0.1``, without leading zeros."""
    return grammar_of(regular(IPV4))


def _time(digits: int) -> str:
    if isinstance(digits, bool) or not isinstance(digits, int) or not 0 <= digits <= 9:
        raise GrammarError(f"digits is a number from 0 to 9, not {shown(digits)}")
    return f"{HOUR_MINUTE}:[0-5][0-9]" + (rf"(?:\.[0-9]{{1,{digits}}})?" if digits else "")


def _bounds(
    minimum: Number | None, maximum: Number | None
) -> tuple[Decimal | None, Decimal | None]:
    low, high = (
        _exact(name, bound) for name, bound in (("minimum", minimum), ("maximum", maximum))
    )
    if low is not None and high is not None and low > high:
        raise GrammarError(f"no number is at least {minimum} and at most {maximum}")
    return low, high


def _exact(name: str, bound: Number | None) -> Decimal | None:
    """Return a bound as the decimal number that Python writes."""
    if bound is None:
        return None
    if isinstance(bound, bool) or not isinstance(bound, int | float | Decimal):
        raise GrammarError(f"{name} is a number, not {shown(bound)}")
    try:
        found = Decimal(bound) if isinstance(bound, int) else Decimal(str(bound))
    except InvalidOperation:
        raise GrammarError(f"{name} is a number, not {shown(bound)}") from None
    if not found.is_finite():
        raise GrammarError(f"{name} is a finite number, not {shown(bound)}; leave it out for none")
    if abs(found.adjusted()) > _MAX_DIGITS or len(found.as_tuple().digits) > _MAX_DIGITS:
        raise GrammarError(f"{name} has more than {_MAX_DIGITS} digits")
    return found
