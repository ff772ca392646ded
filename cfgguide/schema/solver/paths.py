"""How an array or object whose classes matter can go on to its end: by search.

In: what is known of the values (:class:`~cfgguide.schema.solver.tracked_values.Tracked`), the state
of an array or object that has begun, and what values of a class cost. Out: the items or properties
that still come, each with its class: few, and cheap ones, but not always the cheapest. ::

    oneOf a: {kind: "x", size}, b: {kind: "y"}     after `{`     kind as in b

The cheapest ways are tried first; after `MAX_TRIED` of them, the first that leads to an end is
taken. As in :class:`~cfgguide.schema.solver.search.Search`, listed names are decided one after
another.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterator
from functools import partial
from itertools import count
from math import inf
from typing import Any

from cfgguide.base.limits import check_step
from cfgguide.schema.solver.member_automata import ValueClass
from cfgguide.schema.solver.nodes import Node
from cfgguide.schema.solver.plans import Plan, Planner
from cfgguide.schema.solver.search import Search, goals
from cfgguide.schema.solver.tracked_values import Classes, Tracked
from cfgguide.schema.solver.values import Values

LONGEST = 100_000  # bytes: no model writes a longer value, so none is known; items may double
MAX_TRIED = 500
MAX_PLANS = 100  # choices, after the first plan of an object

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
            symbol = machine.symbol(state)
            for price, value_class in self._classes(state, cost):
                yield price + 1, machine.after(state, symbol, value_class), (0, value_class)

        def is_end(state: Any) -> bool:
            return self._tracked.value_class(machine.holding(state)[0]) in self._wanted

        path = self._found(state, ways, is_end)
        return None if path is None else [value_class for _, value_class in path]

    def of_object(self, state: Any, cost: Cost) -> list[tuple[int, Classes | None]] | None:
        """Return the properties that still come, with classes; None if no way is known.

        Whichever of its classes the value of a property has, the object is in the same state then.
        """
        tracked, search = self._tracked, self._search
        if tracked.ending(tracked.objects, state) in self._wanted:
            return []
        planner = search.planner(tracked, state)
        plan = self._cheapest_plan(planner, state, cost)
        if plan is None:
            return None
        found: list[tuple[int, Classes | None]] = []
        for number, holding, failing in planner.properties(plan):
            symbol = tracked.objects.symbol(state, number)
            values, classes = self._property(state, number, holding, failing)
            ways: dict[Any, list[ValueClass]] = {}
            for each in classes:
                ways.setdefault(tracked.objects.after(state, symbol, each), []).append(each)
            state = (
                min(ways, key=partial(_price, values, ways, cost))
                if len(ways) > 1
                else next(iter(ways))
            )
            found.append((number, tuple(ways[state])))
        return found

    def _cheapest_plan(self, planner: Planner, state: Any, cost: Cost) -> Plan | None:
        """Return the cheapest of some plans; None if there is none."""
        name_classes = self._tracked.objects.name_classes
        prices: dict[Hashable, float] = {}
        best, least, n_tried = None, inf, 0

        def price(number: int, holding: list[Node], failing: list[Node]) -> float:
            check_step(0)
            key = number, frozenset(holding), frozenset(failing)
            if key not in prices:
                if failing:
                    known = cost(*self._property(state, number, holding, failing))
                else:  # the same values, without all classes that others may have
                    known = cost(self._search.values.of(holding), None)
                prices[key] = inf if known is None else known + name_classes[number].shortest
            return prices[key]

        def is_worth(plan: Plan) -> bool:
            nonlocal n_tried
            n_tried += best is not None
            names = sum(name_classes[number].shortest for number in plan.coming)
            return best is None or (n_tried <= MAX_PLANS and names < least)

        for goal in goals(self._tracked, state, self._wanted):
            for plan in planner.plans(goal, price=price, is_worth=is_worth):
                if len(plan.coming) + sum(plan.n_filled.values()) > LONGEST:
                    continue
                total = sum(price(*each) for each in planner.properties(plan))
                if best is None or total < least:
                    best, least = plan, total
        return best

    def _property(
        self, state: Any, number: int, holding: list[Node], failing: list[Node]
    ) -> tuple[Values, Classes]:
        """Return the values of a property, and their classes for which some nodes hold or fail."""
        values = self._search.values.of(self._tracked.objects.symbol(state, number).nodes)
        holds = frozenset(node.meant for node in holding)
        fails = frozenset(node.meant for node in failing)
        classes = self._search.classes(values, holds)
        return values, tuple(each for each in classes if each.isdisjoint(fails))

    def _classes(self, state: Any, cost: Cost) -> Iterator[tuple[int, ValueClass]]:
        """Yield the classes that the next item is known to have, with what they cost."""
        values = self._search.values.of(self._tracked.arrays.symbol(state).nodes)
        for alike in self._search.item_groups(self._tracked, state, self._wanted):
            prices = [(cost(values, (each,)), each) for each in alike]
            known = [(price, each) for price, each in prices if price is not None]
            if known:
                yield min(known, key=lambda found: found[0])

    def _found(self, start: Any, ways: _Ways, is_end: Callable[[Any], bool]) -> list[Step] | None:
        """Return a cheap path, or the first that is found if there are too many ways."""

        def is_possible(state: Any) -> bool:
            return self._tracked.may_be(state.failed, self._wanted)

        def shape(state: Any) -> Hashable:
            return self._search.shape(self._tracked, state)

        path, is_all = _cheapest(start, ways, is_end, is_possible, shape)
        if path is None and not is_all:
            path = _first(start, ways, is_end, is_possible, shape)
        return path


def _price(values: Values, ways: dict[Any, list[ValueClass]], cost: Cost, state: Any) -> float:
    """Return what a value costs after which an object is in a state; 0 if there is one way only."""
    if len(ways) == 1:
        return 0
    price = cost(values, tuple(ways[state]))
    return inf if price is None else price


def _cheapest(
    start: Any,
    ways: _Ways,
    is_end: Callable[[Any], bool],
    is_possible: Callable[[Any], bool],
    shape: Callable[[Any], Hashable],
) -> tuple[list[Step] | None, bool]:
    """Return the cheapest path, and whether all were tried."""
    number = count()
    seen = set()
    pending: list[tuple[int, int, Any, _Path]] = [(0, next(number), start, None)]
    while pending:
        check_step()
        price, _, state, path = heapq.heappop(pending)
        if shape(state) in seen or not is_possible(state):
            continue
        seen.add(shape(state))
        if is_end(state):
            return _steps(path), True
        if len(seen) > MAX_TRIED:
            return None, False
        for more, after, step in ways(state):
            if shape(after) not in seen:
                longer = path if step is None else (path, step)
                heapq.heappush(pending, (price + more, next(number), after, longer))
    return None, True


def _first(
    start: Any,
    ways: _Ways,
    is_end: Callable[[Any], bool],
    is_possible: Callable[[Any], bool],
    shape: Callable[[Any], Hashable],
) -> list[Step] | None:
    """Return the first path, of each state's ways the first that leads to an end."""
    seen = {shape(start)}
    pending: list[tuple[Any, _Path]] = [(start, None)]
    while pending:
        check_step()
        state, path = pending.pop()
        if not is_possible(state):
            continue
        if is_end(state):
            return _steps(path)
        for _, after, step in reversed([*ways(state)]):
            if shape(after) not in seen:
                seen.add(shape(after))
                pending.append((after, path if step is None else (path, step)))
    return None


def _steps(path: _Path) -> list[Step]:
    found = []
    while path is not None:
        path, step = path
        found.append(step)
    return found[::-1]
