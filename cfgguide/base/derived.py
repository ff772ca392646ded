"""Values derived from one object: each is made once, and kept as long as the object.

A module above the object's own needs no global table of what it made for each: the object owns it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from cfgguide.base.locks import new_rlock

Owner = TypeVar("Owner")
Value = TypeVar("Value")


class Derived:
    """What functions made of an object, by function."""

    def __init__(self) -> None:
        self._values: dict[Callable[[Any], object], object] = {}
        self._lock = new_rlock()  # one value may be made of another

    def get(self, make: Callable[[Owner], Value], owner: Owner) -> Value:
        """Return what `make` makes of the owner; it is called once.

        The value should not hold its owner, which could then be freed only by a garbage collection.
        """
        with self._lock:
            if make not in self._values:
                self._values[make] = make(owner)
            return cast(Value, self._values[make])
