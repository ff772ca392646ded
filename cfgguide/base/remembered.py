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
    find: Any = method
    name = f"_answers_of {method.__qualname__}"  # a method that overrides it has its own

    def added(self: Any, key: Any, *asked: Any) -> Any:
        found = find(self, *asked)
        known = self.__dict__.setdefault(name, {})
        if len(known) >= most:
            known.clear()
        known[key] = found
        return found

    # Most are asked again and again: so what is known takes as few steps as it can.
    if find.__code__.co_argcount == 2:

        @wraps(find)
        def answer(self: Any, asked: Any) -> Any:
            try:
                return self.__dict__[name][asked]
            except KeyError:
                pass  # so that an error of the method has no other one before it
            return added(self, asked, asked)

        return cast(Callable[P, R], answer)

    @wraps(find)
    def answers(self: Any, *asked: Any) -> Any:
        try:
            return self.__dict__[name][asked]
        except KeyError:
            pass
        return added(self, asked, *asked)

    return cast(Callable[P, R], answers)
