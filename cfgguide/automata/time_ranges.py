r"""Patterns of dates, times and durations in a range, compared with the bounds part by part.

In: bounds. Out: a pattern of the texts between them, as ISO 8601 writes them. A range of dates is a
few *boxes*, each a range of years, one of months and one of days; so are those of times and of
durations. From 2020-03-05 on there are three::

    2020 03 05..31 | 2020 04..12 01..31 | 2021..9999 01..12 01..31

Offsets from UTC are no part of what is compared, but where a bound has one: then texts in UTC are
compared with it, and others only where they lie a day away from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta

from cfgguide.automata.number_ranges import fixed_digits, whole_numbers
from cfgguide.automata.string_formats import DATE, HOUR_MINUTE

Parts = tuple[int, ...]

_FRACTION = "(?:\\.[0-9]{1,6})"
_OFFSET = f"(?:[zZ]|[-+]{HOUR_MINUTE})"
_DAY = timedelta(days=1)
_SECOND = timedelta(seconds=1)
#: More is more than Python's `timedelta` holds, if every part is that large.
_MOST_DAYS = 99_999_999
_MOST_SECONDS = _MOST_DAYS * 86_400
_DURATION = (
    "(?:P[0-9]{1,7}W|P(?=[0-9T])(?:[0-9]{1,5}Y)?(?:[0-9]{1,6}M)?(?:[0-9]{1,8}D)?"
    "(?:T(?=[0-9])(?:[0-9]{1,6}H)?(?:[0-9]{1,8}M)?(?:[0-9]{1,9}(?:\\.[0-9]{1,6})?S)?)?)"
)


def dates(low: date | None, high: date | None) -> list[str]:
    """Return patterns that all dates in a range have, and no other text.

    >>> from cfgguide.automata.ecma_patterns import pattern_language
    >>> whole, part = map(pattern_language, dates(date(2020, 2, 28), date(2021, 3, 1)))
    >>> [whole.accepts(text) and part.accepts(text) for text in ("2020-02-29", "2021-02-29")]
    [True, False]
    """
    found = [f"^{DATE}$"]
    if low is not None or high is not None:
        found.append(f"^(?:{_dates_between(low or date.min, high or date.max)})$")
    return found


def _dates_between(low: date, high: date) -> str:
    return _written(
        boxes(_date_parts(low), _date_parts(high), (1, 1, 1), (9999, 12, 31)), (4, "-", 2, "-", 2)
    )


def times(low: time | None, high: time | None, *, zone: str = "any") -> list[str]:
    """Return patterns that all times of day in a range have; `zone` as for `datetimes`."""
    suffix = _zone(zone)
    found = [f"^{HOUR_MINUTE}:[0-5][0-9]{_FRACTION}?{suffix}$"]
    if low is None and high is None:
        return found
    if any(bound is not None and bound.tzinfo is not None for bound in (low, high)):
        suffix = "[zZ]"
    first = _seconds(low) + bool(low.microsecond) if low else 0
    last = _seconds(high) if high else 86_399
    is_open = high is None or bool(high.microsecond)
    form = (2, ":", 2, ":", 2)
    texts = []
    for least, most, end in ((first, last - (not is_open), f"{_FRACTION}?"), (last, last, "")):
        if least <= most and (end or not is_open) and first <= last:
            between = boxes(_clock(least), _clock(most), (0, 0, 0), (23, 59, 59))
            texts.append(f"(?:{_written(between, form)}){end}")
    return [*found, _any_of(texts, suffix)]


def datetimes(low: datetime | None, high: datetime | None, *, zone: str = "any") -> list[str]:
    """Return patterns that all dates with times in a range have, and no other text.

    Parameters
    ----------
    low, high : datetime or None
        The bounds, which are in the range; None for no bound.
    zone : {"any", "aware", "naive"}
        Whether an offset from UTC may, must or must not be there.

    Examples
    --------
    >>> from cfgguide.automata.ecma_patterns import pattern_language
    >>> found = [pattern_language(each) for each in datetimes(datetime(2020, 1, 1), None)]
    >>> texts = ("2020-01-01T00:00:00", "2020-01-01 00:00:00.5+01:00", "2019-12-31T23:59:59Z")
    >>> [all(each.accepts(text) for each in found) for text in texts]
    [True, True, False]
    """
    suffix = _zone(zone)
    found = [f"^{DATE}[Tt ]{HOUR_MINUTE}:[0-5][0-9]{_FRACTION}?{suffix}$"]
    if low is None and high is None:
        return found
    if not any(bound is not None and bound.tzinfo is not None for bound in (low, high)):
        return [*found, _any_of([_moments_between(low, high)], suffix)]
    low, high = (bound and _in_utc(bound) for bound in (low, high))
    near = _any_of([_moments_between(low, high)], "[zZ]") if zone != "naive" else ""
    far = _any_of([_moments_between(_moved(low, _DAY), _moved(high, -_DAY))], suffix)
    return [*found, "|".join(filter(None, (near, far)))]


def durations(low: timedelta | None, high: timedelta | None) -> list[str]:
    """Return patterns that all durations in a range have, negative ones with a sign before them.

    With bounds there are days, hours below 24, minutes and seconds below 60, and no fractions.

    >>> from cfgguide.automata.ecma_patterns import pattern_language
    >>> (found,) = map(pattern_language, durations(timedelta(hours=-1), timedelta(days=2)))
    >>> [found.accepts(text) for text in ("-PT1H", "P2D", "P1DT23H59M", "-PT1H1S", "P2DT1S", "P")]
    [True, True, True, False, False, False]
    """
    if low is None and high is None:
        return [f"^-?{_DURATION}$"]
    least = -_MOST_SECONDS if low is None else max(-(-low // _SECOND), -_MOST_SECONDS)
    most = _MOST_SECONDS if high is None else min(high // _SECOND, _MOST_SECONDS)
    texts = _durations_between(max(0, least), most)
    texts += [f"-{each}" for each in _durations_between(max(1, -most), -least)]
    return [_any_of(texts, "")]


def _durations_between(least: int, most: int) -> list[str]:
    """Return patterns of the durations from so many seconds to so many, from 0 up."""
    texts: list[str] = []
    if least > most:
        return texts
    lowest, highest = (0, 0, 0, 0), (_MOST_DAYS, 23, 59, 59)
    for box in boxes(_day_and_clock(least), _day_and_clock(most), lowest, highest):
        days, *clock = (
            f"(?:(?:{whole_numbers(first, last)}){unit})" + "?" * (first == 0)
            for (first, last), unit in zip(box, "DHMS", strict=True)
        )
        timed = f"(?:T(?=[0-9]){''.join(clock)})" + "?" * all(first == 0 for first, _ in box[1:])
        texts.append(f"P(?=[0-9T]){days}{timed}")
    return texts


def boxes(
    low: Parts, high: Parts, lowest: Parts, highest: Parts
) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield the boxes of a range: for each part the first and the last value.

    Parameters
    ----------
    low, high : tuple of int
        The bounds, of the same length; they are compared from the left.
    lowest, highest : tuple of int
        What each part may be.

    Examples
    --------
    >>> list(boxes((1, 5), (3, 2), (0, 0), (9, 9)))
    [((1, 1), (5, 9)), ((2, 2), (0, 9)), ((3, 3), (0, 2))]
    """
    if low > high:
        return
    if not low:
        yield ()
        return
    first, last = low[0], high[0]
    if first == last:
        for box in boxes(low[1:], high[1:], lowest[1:], highest[1:]):
            yield ((first, first), *box)
        return
    if low[1:] != lowest[1:]:
        for box in boxes(low[1:], highest[1:], lowest[1:], highest[1:]):
            yield ((first, first), *box)
        first += 1
    is_whole = high[1:] == highest[1:]
    if first <= last - (not is_whole):
        rest = zip(lowest[1:], highest[1:], strict=True)
        yield ((first, last - (not is_whole)), *rest)
    if not is_whole:
        for box in boxes(lowest[1:], high[1:], lowest[1:], highest[1:]):
            yield ((last, last), *box)


def _written(found: Iterator[tuple[tuple[int, int], ...]], form: tuple[int | str, ...]) -> str:
    """Return a pattern of boxes; `form` has the width of each part, and what stands between."""
    texts = []
    for box in found:
        ranges = iter(box)
        texts.append(
            "".join(
                each
                if isinstance(each, str)
                else f"(?:{fixed_digits(*next(ranges), n_digits=each)})"
                for each in form
            )
        )
    return "|".join(texts)


def _any_of(texts: list[str], suffix: str) -> str:
    found = "|".join(filter(None, texts))
    return f"^(?:{found}){suffix}$" if found else "^[]$"


def _moments_between(low: datetime | None, high: datetime | None) -> str:
    """Return a pattern of dates with times, without what follows."""
    first = (low or datetime.min).replace(tzinfo=None)
    if first.microsecond:
        first = (_moved(first, _SECOND) or datetime.max).replace(microsecond=0)
    last = (high or datetime.max).replace(tzinfo=None)
    is_open = high is None or bool(last.microsecond)
    last = last.replace(microsecond=0)
    form: tuple[int | str, ...] = (4, "-", 2, "-", 2, "[Tt ]", 2, ":", 2, ":", 2)
    lowest, highest = (1, 1, 1, 0, 0, 0), (9999, 12, 31, 23, 59, 59)
    before = last if is_open else _moved(last, -_SECOND)
    texts = []
    for least, most, end in ((first, before, f"{_FRACTION}?"), (last, last, "")):
        if most is not None and least <= most and (end or not is_open) and first <= last:
            found = boxes(_moment_parts(least), _moment_parts(most), lowest, highest)
            texts.append(f"(?:{_written(found, form)}){end}")
    return "|".join(texts)


def _zone(zone: str) -> str:
    return {"any": f"{_OFFSET}?", "aware": _OFFSET, "naive": ""}[zone]


def _in_utc(bound: datetime) -> datetime:
    if bound.tzinfo is None:
        return bound
    try:
        return bound.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        return bound.replace(tzinfo=None)


def _moved(bound: datetime | None, by: timedelta) -> datetime | None:
    if bound is None:
        return None
    try:
        return bound + by
    except OverflowError:
        return datetime.max if by > timedelta(0) else datetime.min


def _date_parts(day: date) -> Parts:
    return day.year, day.month, day.day


def _moment_parts(moment: datetime) -> Parts:
    return (*_date_parts(moment), moment.hour, moment.minute, moment.second)


def _seconds(bound: time) -> int:
    """Return the seconds since midnight, in UTC if the bound has an offset."""
    seconds = bound.hour * 3600 + bound.minute * 60 + bound.second
    offset = bound.utcoffset() or timedelta(0)
    return min(max(seconds - int(offset.total_seconds()), 0), 86_399)


def _clock(seconds: int) -> Parts:
    return seconds // 3600, seconds // 60 % 60, seconds % 60


def _day_and_clock(seconds: int) -> Parts:
    return (seconds // 86_400, *_clock(seconds % 86_400))
