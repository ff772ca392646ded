"""Sets: of small numbers as the bits of one, and of all that can be reached from some values."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from cfgguide.base.limits import check_step

Value = TypeVar("Value", bound=Hashable)


def members(bits: int) -> list[int]:
    """Return the members of a set of numbers, ascending.

    >>> members(0b1101)
    [0, 2, 3]
    """
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found


def reached_from(
    values: Iterable[Value], following: Callable[[Value], Iterable[Value]]
) -> dict[Value, None]:
    """Return some values, and all that can be reached from them, breadth-first.

    >>> list(reached_from([1], lambda number: [number * 2 % 7]))
    [1, 2, 4]
    """
    found = dict.fromkeys(values)
    for here in (pending := list(found)):  # grows while it is walked
        check_step()
        for each in following(here):
            if each not in found:
                found[each] = None
                pending.append(each)
    return found
