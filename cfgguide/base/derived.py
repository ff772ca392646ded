"""Values derived from one object: each is made once, and kept as long as the object.

A module above the object's own needs no global table of what it made for each: the object owns it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

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


if TYPE_CHECKING:
    derived = cached_property
else:

    class derived(cached_property):  # noqa: N801 - it decorates a method, as `property` does
        """A property that is made once, and kept as any other attribute is.

        `functools.cached_property` keeps it in `__dict__`: an object that most owners do without as
        long as nobody asks for it, and one more for each of them that Python's collector looks at.
        """

        def __get__(self, owner, _=None):
            if owner is None:
                return self
            value = self.func(owner)
            object.__setattr__(owner, self.attrname, value)  # also where the owner is frozen
            return value
