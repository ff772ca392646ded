"""Methods whose answers are remembered by their objects.

In: a method that returns the same for the same arguments. Out: one that is run once for each. What
is asked for first makes the memory, so an object of which nothing is asked holds none. It is freed
with the object: nothing but the object refers to it. Where it may hold so many answers only, a full
one is emptied.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import inf
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


def remembered(method: Callable[P, R]) -> Callable[P, R]:
    """Return a method that remembers its answers; arguments are given by their places.

    Examples
    --------
    >>> class Squares:
    ...     @remembered
    ...     def of(self, number):
    ...         print("asked")
    ...         return number * number
    >>> squares = Squares()
    >>> squares.of(3), squares.of(3)
    asked
    (9, 9)
    """
    return _remembering(method, inf)


def remembered_up_to(most: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return what makes of a method one that remembers so many answers."""
    return lambda method: _remembering(method, most)


def _remembering(method: Callable[P, R], most: float) -> Callable[P, R]:
    find: Callable[..., Any] = method
    name = f"_answers_of {method.__qualname__}"  # a method that overrides it has its own

    @wraps(find)
    def answer(self: Any, first: Any, *more: Any) -> Any:
        asked = (first, *more) if more else first
        try:
            known: dict[Any, Any] = getattr(self, name)
        except AttributeError:
            known = {}
            setattr(self, name, known)
        found = known.get(asked, known)  # which is no answer
        if found is known:
            found = find(self, first, *more)
            if len(known) >= most:
                known.clear()
            known[asked] = found
        return found

    return cast(Callable[P, R], answer)
