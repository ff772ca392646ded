"""How an array or object whose classes matter can go on to its end: by search.

In: what is known of the values (:class:`~cfgguide.value_classes.tracked.Tracked`), the state of an
array or object that has begun, and what values of a class cost. Out: the items or properties that
still come, each with its class: few, and cheap ones, but not always the cheapest. ::

    oneOf a: {kind: "x", size}, b: {kind: "y"}     after `{`     kind as in b

The cheapest ways are tried first; after `MAX_TRIED` of them, the first that leads to an end is
taken. As in :class:`~cfgguide.value_classes.tracked.Search`, listed names are decided one after
another.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from cfgguide.value_classes.machine import Symbol, ValueClass
from cfgguide.value_classes.tracked import Classes, Search, Tracked
from cfgguide.value_classes.values import Values

MAX_TRIED = 500
_SEPARATORS = 4  # quotes, colon and comma of a property

#: The length of a text of some classes of values, None for all that hold; None if none is known.
Cost = Callable[[Values, Classes | None], int | None]
Step = tuple[int, ValueClass]  # the tag of a property's name, and the class of its value
_Way = tuple[int, Any, Step | None]  # what it costs, where it leads, and what it adds
_Ways = Callable[[Any], Iterator[_Way]]
_Path = tuple["_Path", Step] | None  # the last step, and those before


class Paths:
    """Finds how arrays and objects go on.

    Parameters
    ----------
    tracked : Tracked
        The values.
    search : Search
        Knows their classes.
    wanted : frozenset of ValueClass
        Of which some is to come out.
    """

    def __init__(self, tracked: Tracked, search: Search, wanted: Classes) -> None:
        self._tracked = tracked
        self._search = search
        self._wanted = wanted

    def of_array(self, state: Any, cost: Cost) -> list[ValueClass] | None:
        """Return the classes of the items that still come; None if no way is known."""
        machine = self._tracked.arrays

        def ways(state: Any) -> Iterator[_Way]:
            (symbol,) = machine.symbols(state)
            for price, value_class in self._classes(symbol, cost):
                yield price + 1, machine.after(state, symbol, value_class), (0, value_class)

        def is_end(state: Any) -> bool:
            return self._tracked.value_class(machine.holding(state)[0]) in self._wanted

        path = self._found(state, ways, is_end, lambda state: state.failed)
        return None if path is None else [value_class for _, value_class in path]

    def of_object(self, state: Any, cost: Cost) -> list[Step] | None:
        """Return the names and classes of the properties that still come; None if unknown."""
        machine = self._tracked.in_order
        start = machine.ordered(state)._replace(last=state.last)
        numbers = range(state.last + 1, len(machine.names))
        left = [number for number in numbers if number not in state.seen]
        needed = [number for number in left if machine.names[number] in machine.needed]
        path = self._with_names(start, needed, cost)
        if path is None and len(needed) < len(left):
            path = self._with_names(start, left, cost)
        return path

    def _with_names(self, start: Any, numbers: list[int], cost: Cost) -> list[Step] | None:
        """Return how an object ends with some of the listed names, and with others."""
        machine = self._tracked.in_order
        others = machine.all_symbols[len(machine.names) :]

        def ways(at: Any) -> Iterator[_Way]:
            place, state = at
            if place == len(numbers):
                for symbol in others:
                    yield from self._properties(at, place, symbol, cost)
                return
            number = numbers[place]
            yield 0, (place + 1, machine.skipped(state, number)), None
            before = place, state._replace(last=number - 1)
            yield from self._properties(before, place + 1, machine.all_symbols[number], cost)

        def is_end(at: Any) -> bool:
            place, state = at
            if place < len(numbers):
                return False
            state = state._replace(last=len(machine.names) - 1)
            return self._tracked.value_class(machine.holding(state)[0]) in self._wanted

        return self._found((0, start), ways, is_end, lambda at: at[1].failed)

    def _properties(self, at: Any, place: int, symbol: Symbol, cost: Cost) -> Iterator[_Way]:
        machine = self._tracked.in_order
        number = symbol.name
        assert isinstance(number, int)
        n_bytes = _SEPARATORS
        if number < len(machine.names):
            n_bytes += len(machine.names[number])
        for price, value_class in self._classes(symbol, cost):
            after = machine.after(at[1], symbol, value_class)
            yield n_bytes + price, (place, after), (number, value_class)

    def _classes(self, symbol: Symbol, cost: Cost) -> Iterator[tuple[int, ValueClass]]:
        """Yield the classes that values of a symbol are known to have, with what they cost."""
        values = self._search.values.of(symbol.nodes)
        for value_class in self._search.symbol_classes(symbol):
            price = cost(values, frozenset([value_class]))
            if price is not None:
                yield price, value_class

    def _found(
        self,
        start: Any,
        ways: _Ways,
        is_end: Callable[[Any], bool],
        failed: Callable[[Any], Any],
    ) -> list[Step] | None:
        """Return a cheap path, or the first that is found if there are too many ways."""

        def is_possible(state: Any) -> bool:
            return self._tracked.may_be(failed(state), self._wanted)

        path, is_all = _cheapest(start, ways, is_end, is_possible)
        if path is None and not is_all:
            path = _first(start, ways, is_end, is_possible)
        return path


def _cheapest(
    start: Any, ways: _Ways, is_end: Callable[[Any], bool], is_possible: Callable[[Any], bool]
) -> tuple[list[Step] | None, bool]:
    """Return the cheapest path, and whether all were tried."""
    number = count()
    seen = set()
    pending: list[tuple[int, int, Any, _Path]] = [(0, next(number), start, None)]
    while pending:
        price, _, state, path = heapq.heappop(pending)
        if state in seen or not is_possible(state):
            continue
        seen.add(state)
        if is_end(state):
            return _steps(path), True
        if len(seen) > MAX_TRIED:
            return None, False
        for more, after, step in ways(state):
            if after not in seen:
                longer = path if step is None else (path, step)
                heapq.heappush(pending, (price + more, next(number), after, longer))
    return None, True


def _first(
    start: Any, ways: _Ways, is_end: Callable[[Any], bool], is_possible: Callable[[Any], bool]
) -> list[Step] | None:
    """Return the first path, of each state's ways the first that leads to an end."""
    seen = {start}
    pending: list[tuple[Any, _Path]] = [(start, None)]
    while pending:
        state, path = pending.pop()
        if not is_possible(state):
            continue
        if is_end(state):
            return _steps(path)
        for _, after, step in reversed([*ways(state)]):
            if after not in seen:
                seen.add(after)
                pending.append((after, path if step is None else (path, step)))
    return None


def _steps(path: _Path) -> list[Step]:
    found = []
    while path is not None:
        path, step = path
        found.append(step)
    return found[::-1]
