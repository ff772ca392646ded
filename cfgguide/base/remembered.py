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

    def memory(self: Any) -> dict[Any, Any]:
        try:
            known: dict[Any, Any] = getattr(self, name)
        except AttributeError:
            known = {}
            setattr(self, name, known)
        return known

    def note(known: dict[Any, Any], key: Any, answer: Any) -> Any:
        if len(known) >= most:
            known.clear()
        known[key] = answer
        return answer

    @wraps(find)
    def of_one(self: Any, argument: Any) -> Any:
        known = memory(self)
        answer = known.get(argument, known)  # which is no answer
        return note(known, argument, find(self, argument)) if answer is known else answer

    @wraps(find)
    def of_several(self: Any, *arguments: Any) -> Any:
        known = memory(self)
        answer = known.get(arguments, known)
        return note(known, arguments, find(self, *arguments)) if answer is known else answer

    return cast(Callable[P, R], of_one if find.__code__.co_argcount == 2 else of_several)
