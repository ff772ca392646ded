"""Numbers in the order in which things first come.

In: whatever a dictionary finds. Out: its number, from 0. What has come is a list, too: it grows
while it is walked, as long as the walk asks for the numbers of what it had not seen.
"""

from __future__ import annotations

from typing import TypeVar

Key = TypeVar("Key")


class Numbered(dict[Key, int]):
    """The numbers of things; one that is asked for gets the next.

    Parameters
    ----------
    *first : hashable
        What comes first.

    Attributes
    ----------
    order : list
        The things in the order of their numbers.

    Examples
    --------
    >>> numbers = Numbered("b")
    >>> numbers["a"], numbers["b"], numbers.order
    (1, 0, ['b', 'a'])
    """

    def __init__(self, *first: Key) -> None:
        self.order: list[Key] = []
        for key in first:
            self[key]

    def __missing__(self, key: Key) -> int:
        number = self[key] = len(self.order)
        self.order.append(key)
        return number
