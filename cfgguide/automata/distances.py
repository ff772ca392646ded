"""How many characters lead from the states of an automaton to its ends.

In: the states that follow each state, and the ends. Out: the fewest and the most characters that
lead to an end, and whether a number between two bounds does.

With `n` characters read, a text may end if from here some path to an end has from ``least - n`` to
``most - n`` characters. Where the shortest has fewer and the longest has more, that is a question
for all paths: what can end with one character more to come depends on the states that follow, so it
is computed from the least length downwards, until it repeats itself.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import chain
from math import inf

import numpy as np

from cfgguide.base.limits import check_step
from cfgguide.errors import SchemaError

_MAX_BITS = 400_000_000  # of states by lengths


class Distances:
    """Shortest and longest ways to the ends.

    Parameters
    ----------
    following : sequence of collections of int
        For each state those that follow it.
    ends : collection of int
        The states in which a text may end.

    Attributes
    ----------
    shortest, longest : list of float
        The number of characters to an end, `inf` and `-inf` if none can be reached. The longest
        is `inf` if there is no bound.

    Examples
    --------
    >>> found = Distances([[1, 2], [2], []], [2])
    >>> found.shortest, found.longest
    ([1, 1, 0], [2, 1, 0])
    """

    def __init__(self, following: Sequence[Collection[int]], ends: Collection[int]) -> None:
        before: list[list[int]] = [[] for _ in following]
        for state, targets in enumerate(following):
            check_step(0)
            for target in targets:
                before[target].append(state)
        self._following = following
        self.shortest: list[float] = [inf] * len(following)
        queue = list(ends)
        for state in queue:
            self.shortest[state] = 0
        for state in queue:  # grows while it is walked
            check_step(0)
            for each in before[state]:
                if self.shortest[each] == inf:
                    self.shortest[each] = self.shortest[state] + 1
                    queue.append(each)
        self.longest: list[float] = [-inf] * len(following)
        self._set_longest(before, queue)

    def _set_longest(self, before: list[list[int]], live: list[int]) -> None:
        """Set the longest ways: those of states whose followers are all known, backwards."""
        n_open = {}
        for state in live:
            check_step(0)
            n_open[state] = sum(self.shortest[each] < inf for each in self._following[state])
        ready = [state for state in live if n_open[state] == 0]
        for state in ready:  # grows while it is walked
            check_step(0)
            for each in before[state]:
                n_open[each] -= 1
                if n_open[each] == 0:
                    ready.append(each)
        done = set(ready)
        for state in live:
            self.longest[state] = 0 if state in done else inf  # a loop is on the way
        for state in ready:
            check_step(0)
            ways = [self.longest[each] + 1 for each in self._following[state]]
            self.longest[state] = max(ways, default=0)

    @cached_property
    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """The first and the second states of all moves, int32."""
        n_moves = [len(each) for each in self._following]
        firsts = np.repeat(np.arange(len(n_moves), dtype=np.int32), n_moves)
        seconds = np.fromiter(chain.from_iterable(self._following), dtype=np.int32)
        return firsts, seconds


class CountedLengths:
    """Tells whether a text can end within bounds on its length.

    Examples
    --------
    >>> pairs = CountedLengths(Distances([[1], [0]], [0]), 3, 3)
    >>> [pairs.may_end(0, 0), pairs.may_end(0, 1), pairs.may_end(1, 0), pairs.may_end(1, 1)]
    [False, True, True, False]
    """

    def __init__(self, distances: Distances, least: int, most: int | None) -> None:
        self._distances = distances
        self._least, self._most = least, most
        self._levels: list[bytes] = []  # for each number of characters below the least, bits
        self._repeated: tuple[int, int] | None = None  # the first level that comes again; how soon
        self._level: np.ndarray

    def may_end(self, state: int, n: int) -> bool:
        """Return whether a text may end from a state with `n` characters read."""
        missing = max(0, self._least - n)
        shortest, longest = self._distances.shortest[state], self._distances.longest[state]
        if longest < missing or (self._most is not None and shortest > self._most - n):
            return False
        if self._most is None or shortest >= missing:
            return True
        return bool(self._bits(missing)[state >> 3] >> (~state & 7) & 1)

    def _bits(self, missing: int) -> bytes:
        """Return of which states a text may end when so many characters have to come."""
        known = self._levels
        while len(known) <= missing and self._repeated is None:
            self._add_level()
        if self._repeated is None or missing < len(known):
            return known[missing]
        first, period = self._repeated
        return known[first + (missing - first) % period]

    def _add_level(self) -> None:
        if not self._levels:
            assert self._most is not None, "else the longest way decides"
            shortest = np.array(self._distances.shortest)
            self._level = shortest <= self._most - self._least
            self._first_of: dict[bytes, int] = {}
        else:
            firsts, seconds = self._distances.edges
            level = np.zeros(len(self._level), dtype=np.bool_)
            level[firsts[self._level[seconds]]] = True
            self._level = level
        bits = np.packbits(self._level).tobytes()
        if bits in self._first_of:
            first = self._first_of[bits]
            self._repeated = (first, len(self._levels) - first)
            return
        if len(self._levels) * len(self._level) > _MAX_BITS:
            raise SchemaError("the least length of a text is too large; use smaller bounds")
        self._first_of[bits] = len(self._levels)
        self._levels.append(bits)
