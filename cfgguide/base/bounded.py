"""Mappings that forget: what was found out, up to a number of answers.

In: keys and values. Out: the values again, of the keys that came last.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class BoundedDict(OrderedDict[Key, Value]):
    """A mapping of bounded size; where it is full, the key that came first goes.

    Looking a key up changes nothing, so threads may read while another one adds.

    Parameters
    ----------
    max_items : int
        Most keys.

    Examples
    --------
    >>> known = BoundedDict(2)
    >>> for key in "abc":
    ...     known[key] = key.upper()
    >>> list(known)
    ['b', 'c']
    """

    def __init__(self, max_items: int) -> None:
        super().__init__()
        self._max_items = max_items

    def __setitem__(self, key: Key, value: Value) -> None:
        """Set a value; forget the first key if there are too many."""
        super().__setitem__(key, value)
        if len(self) > self._max_items:
            self.popitem(last=False)
