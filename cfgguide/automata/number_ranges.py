r"""Patterns of the numbers in a range, compared with the bounds digit by digit.

In: bounds. Out: a regular expression of the numbers between them. Whole numbers from 0 to 365 are::

    [12][0-9]{2} | 3[0-5][0-9] | 36[0-5] | [1-9][0-9] | [0-9]

No number has a plus sign, an exponent, or a zero in front of other digits.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from cfgguide.automata.rewrite import not_empty
from cfgguide.automata.shared_prefixes import n_shared_letters

_NATURAL = "0|[1-9][0-9]*"
_POSITIVE = "[1-9][0-9]*"
_ANY_FRACTION = r"(?:\.[0-9]+)?"


def whole_numbers(low: int | None, high: int | None) -> str:
    """Return a pattern of the whole numbers in a range; ``-0`` is none of them.

    >>> whole_numbers(-3, 12)
    '-(?:[1-3])|1[0-2]|[0-9]'
    """
    branches = []
    if low is None or low < 0:
        least = 1 if high is None or high >= 0 else -high
        branches.append(f"-(?:{_naturals(least, None if low is None else -low)})")
    if high is None or high >= 0:
        branches.append(_naturals(0 if low is None else max(low, 0), high))
    return "|".join(branches)


def decimal_numbers(
    low: Decimal | None, high: Decimal | None, *, has_negative_zero: bool = False
) -> str:
    r"""Return a pattern of the decimal numbers in a range.

    Parameters
    ----------
    low, high : Decimal or None
        The bounds, which are in the range; None for no bound.
    has_negative_zero : bool
        Whether zero may have a minus sign.

    Examples
    --------
    >>> print(decimal_numbers(Decimal(0), Decimal("1.5")))
    1(?:\.(?:[0-4][0-9]*|50*))?|(?:0)(?:\.[0-9]+)?
    """
    branches: list[str] = []
    zero = Decimal(0)
    if low is None or low < 0 or (has_negative_zero and low == 0):
        most = None if low is None else low.copy_abs()  # unary minus would round
        least = zero if high is None or high >= 0 else high.copy_abs()
        is_open = not (least or has_negative_zero)
        branches += [f"-(?:{each})" for each in _decimals(least, most, is_open=is_open)]
    if high is None or high >= 0:
        branches += _decimals(zero if low is None else max(low, zero), high, is_open=False)
    return "|".join(branches)


def fixed_digits(low: int, high: int, *, n_digits: int) -> str:
    """Return a pattern of the numbers in a range, all written with the same number of digits.

    >>> fixed_digits(1, 12, n_digits=2)
    '0[1-9]|1[0-2]'
    """
    return "|".join(_between(f"{low:0{n_digits}d}", f"{high:0{n_digits}d}"))


def _naturals(low: int, high: int | None) -> str:
    """Return a pattern of the whole numbers in a range; `low` is 0 or more."""
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
    """Yield patterns of the digits from `low` to `high`, which are of the same length."""
    if low == high:
        yield low
        return
    n_shared = n_shared_letters(low, high)
    shared, low, high = low[:n_shared], low[n_shared:], high[n_shared:]
    rest = len(low) - 1
    first, last = int(low[0]), int(high[0])
    if low[1:].strip("0"):
        yield from (f"{shared}{low[0]}{tail}" for tail in _between(low[1:], "9" * rest))
        first += 1
    if high[1:].strip("9"):
        last -= 1
    if first <= last:
        yield shared + _digit(first, last) + _any_digits(rest)
    if high[1:].strip("9"):
        yield from (f"{shared}{high[0]}{tail}" for tail in _between("0" * rest, high[1:]))


def _digit(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"[{first}{last}]" if last == first + 1 else f"[{first}-{last}]"


def _any_digits(count: int) -> str:
    return {0: "", 1: "[0-9]"}.get(count, f"[0-9]{{{count}}}")


def _decimals(low: Decimal, high: Decimal | None, *, is_open: bool) -> Iterable[str]:
    """Yield patterns of the decimal numbers in a range; `low` is 0 or more.

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
        yield f"(?:{_naturals(inner, None if last is None else last - 1)}){_ANY_FRACTION}"
    if inner > first:
        yield from _with_fraction(first, _fraction(low_digits, None, is_open=is_open))


def _split(bound: Decimal) -> tuple[int, str]:
    """Return the whole part of a bound, and its fraction without zeros at the end."""
    whole, _, digits = f"{bound:f}".partition(".")
    return int(whole), digits.rstrip("0")


def _with_fraction(whole: int, fraction: str | None) -> Iterable[str]:
    """Yield a pattern of a whole number and the fractions that may follow it."""
    if fraction is None:
        yield str(whole)
    elif fraction:
        yield f"{whole}{fraction}"


def _fraction(low: str, high: str | None, *, is_open: bool) -> str | None:
    """Return a pattern of the fractions that may follow a whole number.

    None stands for no fraction, "" for no number at all.

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

    `low` is None if the digits before are already above the least, `high` if they are already below
    the greatest.
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
        branches += _after(first, _digits(str(low)[1:], str(high)[1:], is_open=is_open))
    else:
        if low is not None:
            branches += _after(first, _digits(low[1:], None, is_open=is_open))
        if first + 1 < last:
            branches.append(f"{_digit(first + 1, last - 1)}[0-9]*")
        if high is not None:
            branches += _after(last, _digits(None, high[1:], is_open=is_open))
    joined = "|".join(branches)
    return f"(?:{joined})?" if low is None else joined or None


def _after(digit: int, digits: str | None) -> list[str]:
    return [] if digits is None else [f"{digit}(?:{digits})"]
