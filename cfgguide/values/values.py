r"""Grammars of common values: numbers in a range, dates that exist, times, and the like.

In: bounds, if any. Out: a grammar of the texts that write such a value, and nothing else. All of
them are regular expressions. A bound is compared digit by digit; numbers from 0 to 365 are::

    [12][0-9]{2} | 3[0-5][0-9] | 36[0-5] | [1-9][0-9] | [0-9]

Formats are those of ISO 8601 that RFC 3339 keeps, and of JSON.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

from cfgguide.automata.rewrite import not_empty
from cfgguide.combinators.parts import Composed
from cfgguide.combinators.patterns import choice, grammar_of, regular
from cfgguide.combinators.words import n_shared_letters
from cfgguide.errors import GrammarError

Number = int | float | Decimal

_NATURAL = "0|[1-9][0-9]*"
_POSITIVE = "[1-9][0-9]*"
_ANY_FRACTION = r"(?:\.[0-9]+)?"
_MAX_DIGITS = 400  # of a bound; those of the largest float are 309

_YEAR = "(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
_LEAP_YEAR = (
    "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])"  # divisible by 4, but not by 100
    "|(?:0[48]|[2468][048]|[13579][26])00)"  # divisible by 400
)
_DATE = (
    f"(?:{_YEAR}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    "|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    f"|{_LEAP_YEAR}-02-29)"
)
_MINUTES = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_OFFSET = f"(?:Z|[+\\-]{_MINUTES})"
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"


def integer(minimum: int | None = None, maximum: int | None = None) -> Composed:
    """Return the grammar of whole numbers, such as ``0`` and ``-12``.

    There is no plus sign, no zero in front, and no ``-0``.

    Parameters
    ----------
    minimum, maximum : int, optional
        The least and the greatest number that may be written.

    Raises
    ------
    GrammarError
        If there is no number between the bounds.

    Examples
    --------
    >>> print(integer(0, 365).text)
    start: TEXT
    TEXT: /[12][0-9]{2}|3[0-5][0-9]|36[0-5]|[1-9][0-9]|[0-9]/
    """
    for name, bound in (("minimum", minimum), ("maximum", maximum)):
        if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int)):
            raise GrammarError(f"{name} is a whole number, not {bound!r}")
    low, high = _bounds(minimum, maximum)
    branches = []
    if low is None or low < 0:
        least = 1 if high is None or high >= 0 else -int(high)
        branches += [f"-(?:{_whole(least, None if low is None else -int(low))})"]
    if high is None or high >= 0:
        least = 0 if low is None else max(int(low), 0)
        branches.append(_whole(least, None if high is None else int(high)))
    return grammar_of(regular("|".join(branches)))


def number(minimum: Number | None = None, maximum: Number | None = None) -> Composed:
    r"""Return the grammar of decimal numbers, such as ``3``, ``-0.50`` and ``12.0``.

    There is no exponent, no plus sign, no zero in front of other digits, and no zero with a minus
    sign. A point has digits on both sides.

    Parameters
    ----------
    minimum, maximum : int, float or Decimal, optional
        The least and the greatest number that may be written, with as many digits as one likes. A
        float counts as the shortest decimal number that Python writes for it.

    Raises
    ------
    GrammarError
        If there is no number between the bounds, or one is infinite or no number.

    Examples
    --------
    >>> print(number(0, 1).text)
    start: TEXT
    TEXT: /1(?:\.0+)?|0(?:\.[0-9]+)?/
    """
    low, high = _bounds(minimum, maximum)
    zero = Decimal(0)
    branches = []
    if low is None or low < 0:
        most = None if low is None else -low
        least, is_open = (zero, True) if high is None or high >= 0 else (-high, False)
        branches += [f"-(?:{each})" for each in _decimals(least, most, is_open=is_open)]
    if high is None or high >= 0:
        branches += _decimals(zero if low is None else max(low, zero), high, is_open=False)
    return grammar_of(regular("|".join(branches)))


def boolean() -> Composed:
    """Return the grammar of ``true`` and ``false``.

    >>> print(boolean().text)
    start: TEXT
    TEXT: /false|true/
    """
    return choice(["true", "false"])


def date() -> Composed:
    """Return the grammar of dates as ISO 8601 writes them, from 0001-01-01 to 9999-12-31.

    Only days that there are, by the Gregorian calendar: 2024-02-29, but no 2023-02-29.
    """
    return grammar_of(regular(_DATE))


def time(*, digits: int = 0) -> Composed:
    """Return the grammar of times of a day as ISO 8601 writes them, from 00:00:00 to 23:59:59.

    Parameters
    ----------
    digits : int
        Most digits of a fraction of a second, as in ``12:30:05.25``.

    Raises
    ------
    GrammarError
        If `digits` is no number from 0 to 9.
    """
    return grammar_of(regular(_time(digits)))


def date_time(*, digits: int = 0, offset: bool = True) -> Composed:
    """Return the grammar of moments as RFC 3339 writes them, such as ``2024-02-29T12:30:05Z``.

    Parameters
    ----------
    digits : int
        Most digits of a fraction of a second.
    offset : bool
        Whether the offset from UTC follows, as it must in RFC 3339: ``Z``, or ``+05:30``; if not,
        it may not.

    Raises
    ------
    GrammarError
        If `digits` is no number from 0 to 9.
    """
    return grammar_of(regular(f"{_DATE}T{_time(digits)}{_OFFSET if offset else ''}"))


def uuid() -> Composed:
    """Return the grammar of UUIDs as RFC 9562 writes them, in lower case.

    >>> print(uuid().text)
    start: TEXT
    TEXT: /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/
    """
    return grammar_of(regular("[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"))


def ipv4() -> Composed:
    """Return the grammar of IPv4 addresses, such as ``192.168.0.1``, without zeros in front."""
    return grammar_of(regular(rf"(?:{_BYTE}\.){{3}}{_BYTE}"))


def _time(digits: int) -> str:
    if isinstance(digits, bool) or not isinstance(digits, int) or not 0 <= digits <= 9:
        raise GrammarError(f"digits is a number from 0 to 9, not {digits!r}")
    return f"{_MINUTES}:[0-5][0-9]" + (rf"(?:\.[0-9]{{1,{digits}}})?" if digits else "")


# --- Ranges --------------------------------------------------------------------------------------


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
        raise GrammarError(f"{name} is a number, not {bound!r}")
    try:
        found = Decimal(bound) if isinstance(bound, int) else Decimal(str(bound))
    except InvalidOperation:
        raise GrammarError(f"{name} is a number, not {bound!r}") from None
    if not found.is_finite():
        raise GrammarError(f"{name} is a finite number, not {bound!r}; leave it out for none")
    if abs(found.adjusted()) > _MAX_DIGITS or len(found.as_tuple().digits) > _MAX_DIGITS:
        raise GrammarError(f"{name} has more than {_MAX_DIGITS} digits")
    return found


def _whole(low: int, high: int | None) -> str:
    """Return a pattern of the whole numbers in a range, `low` not below 0."""
    if high is None:
        if low <= 1:
            return _POSITIVE if low else _NATURAL
        longer = f"[1-9][0-9]{{{len(str(low))},}}"
        return "|".join([longer, *_between(str(low), "9" * len(str(low)))])
    branches: list[str] = []
    for length in range(len(str(high)), len(str(low)) - 1, -1):  # longer ones first
        least = max(low, 10 ** (length - 1) if length > 1 else 0)
        branches += _between(str(least), str(min(high, 10**length - 1)))
    return "|".join(branches)


def _between(low: str, high: str) -> Iterable[str]:
    """Yield patterns of the digits from `low` to `high`, of the same length and in this order."""
    if low == high:
        yield low
        return
    n_shared = n_shared_letters(low, high)
    shared, low, high = low[:n_shared], low[n_shared:], high[n_shared:]
    rest = len(low) - 1
    first, last = int(low[0]), int(high[0])
    if low[1:].strip("0"):
        yield from (f"{shared}{low[0]}{each}" for each in _between(low[1:], "9" * rest))
        first += 1
    if high[1:].strip("9"):
        last -= 1
    if first <= last:
        yield shared + _digit(first, last) + _any_digits(rest)
    if high[1:].strip("9"):
        yield from (f"{shared}{high[0]}{each}" for each in _between("0" * rest, high[1:]))


def _digit(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"[{first}{last}]" if last == first + 1 else f"[{first}-{last}]"


def _any_digits(count: int) -> str:
    return {0: "", 1: "[0-9]"}.get(count, f"[0-9]{{{count}}}")


def _decimals(low: Decimal, high: Decimal | None, *, is_open: bool) -> Iterable[str]:
    """Yield patterns of the decimal numbers in a range, `low` not below 0.

    Parameters
    ----------
    low, high : Decimal
        The bounds; no `high` for none.
    is_open : bool
        Whether `low` itself is not in the range.
    """
    if high is not None and (low > high or (is_open and low == high)):
        return
    first, low_digits = _split(low)
    last, high_digits = (None, "") if high is None else _split(high)
    if first == last:
        yield from _with_fraction(first, _fraction(low_digits, high_digits, is_open=is_open))
        return
    if last is not None:  # which may be longer
        yield from _with_fraction(last, _fraction("", high_digits, is_open=False))
    inner = first + bool(low_digits or is_open)
    if last is None or inner < last:
        yield f"(?:{_whole(inner, None if last is None else last - 1)}){_ANY_FRACTION}"
    if inner > first:
        yield from _with_fraction(first, _fraction(low_digits, None, is_open=is_open))


def _split(bound: Decimal) -> tuple[int, str]:
    """Return the whole part of a bound, and the digits behind its point up to the last above 0."""
    whole, _, digits = f"{bound:f}".partition(".")
    return int(whole), digits.rstrip("0")


def _with_fraction(whole: int, fraction: str | None) -> Iterable[str]:
    """Yield one whole number with patterns of what may stand behind it."""
    if fraction is None:
        yield str(whole)
    elif fraction:
        yield f"{whole}{fraction}"


def _fraction(low: str, high: str | None, *, is_open: bool) -> str | None:
    """Return a pattern of what may follow a whole number; None for nothing, "" for no number.

    Parameters
    ----------
    low, high : str
        The digits of the least and the greatest fraction; no `high` for any.
    is_open : bool
        Whether the least is not in the range.
    """
    digits = _digits(low, high, is_open=is_open)
    some = None if digits is None else not_empty(digits)
    is_whole = not low and not is_open
    if some is None:
        return None if is_whole else ""
    return rf"(?:\.(?:{some}))" + "?" * is_whole


def _digits(low: str | None, high: str | None, *, is_open: bool) -> str | None:
    """Return a pattern of the digits of fractions in a range, or None if there are none.

    No `low` means that what came before is already more than the least; no `high`, that it is less
    than the greatest.
    """
    if low == "" and not is_open:
        low = None
    if high is None and not low:
        return "[0-9]*" if low is None else "0*[1-9][0-9]*"
    if high == "":
        return "0*" if low is None else None
    first = -1 if low is None else int(low[:1] or 0)
    last = 10 if high is None else int(high[0])
    branches = []
    if first == last:
        branches += _behind(first, _digits(str(low)[1:], str(high)[1:], is_open=is_open))
    else:
        if low is not None:
            branches += _behind(first, _digits(low[1:], None, is_open=is_open))
        if first + 1 < last:
            branches.append(f"{_digit(first + 1, last - 1)}[0-9]*")
        if high is not None:
            branches += _behind(last, _digits(None, high[1:], is_open=is_open))
    joined = "|".join(branches)
    return f"(?:{joined})?" if low is None else joined or None


def _behind(digit: int, digits: str | None) -> list[str]:
    return [] if digits is None else [f"{digit}(?:{digits})"]
