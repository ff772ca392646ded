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
from itertools import count
from math import inf
from typing import Any, NamedTuple

from cfgguide.base.limits import LONGEST, check_step
from cfgguide.schema.solver.member_automata import ValueClass
from cfgguide.schema.solver.nodes import Node
from cfgguide.schema.solver.plans import Plan, Planner
from cfgguide.schema.solver.search import Search, goals
from cfgguide.schema.solver.tracked_values import Classes, Tracked
from cfgguide.schema.solver.values import Values

MAX_TRIED = 1_000  # ways on
MAX_PLANS = 100  # choices, after the first plan of an object

#: The length of a text of some classes of values, None for all that hold; None if none is known.
Cost = Callable[[Values, Classes | None], int | None]
Step = tuple[int, ValueClass]  # the tag of a property's name, and the class of its value
_Way = tuple[int, Any, Step | None]  # what it costs, where it leads, and what it adds
_Ways = Callable[[Any], Iterator[_Way]]
_Path = tuple["_Path", Step] | None  # the last step, and those before


Property = tuple[int, Values, Classes | None]  # the tag of the name, and what the value is to be


class Path(NamedTuple):
    """How an object goes on to its end.

    Attributes
    ----------
    properties : list of Property
        The properties that still come. Whichever of such values they have, the object ends the
        same.
    ending : int
        The tag of the object then.
    """

    properties: list[Property]
    ending: int


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

    def of_object(self, state: Any, cost: Cost) -> Path | None:
        """Return the properties that still come; None if no way is known."""
        ending = self._tracked.ending(self._tracked.objects, state)
        if ending in self._wanted:
            return Path([], self._wanted.index(ending))
        plan = self._cheapest_plan(self._search.planner(self._tracked, state), state, cost)
        return None if plan is None else self.of_plan(state, plan)

    def of_plan(self, state: Any, plan: Plan, first: int | None = None) -> Path:
        """Return the properties of a plan; with a name that comes first, if the plan has it not."""
        planner = self._search.planner(self._tracked, state)
        found = [*planner.properties(plan)]
        if first is not None:
            index = next((n for n, (number, *_) in enumerate(found) if number == first), None)
            its = (first, planner.holding(plan, first), []) if index is None else found.pop(index)
            found.insert(0, its)
        ending = frozenset(node for node in self._tracked.values.nodes if plan.truth.get(node))
        properties = [(each[0], *self._property(state, *each)) for each in found]
        return Path(properties, self._wanted.index(ending))

    def _cheapest_plan(self, planner: Planner, state: Any, cost: Cost) -> Plan | None:
        """Return the cheapest of some plans; None if there is none."""
        name_classes = self._tracked.objects.name_classes
        prices: dict[Hashable, float] = {}
        best, least, n_tried = None, inf, 0

        def price(number: int, holding: list[Node], failing: list[Node]) -> float:
            check_step(0)
            key = number, frozenset(holding), frozenset(failing)
            if key not in prices:
                known = cost(*self._property(state, number, holding, failing))
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
    ) -> tuple[Values, Classes | None]:
        """Return the values of a property, and their classes for which some nodes hold or fail."""
        if not failing:  # the same values, without all classes that others may have
            return self._search.values.of(holding), None
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


def _cheapest(
    start: Any,
    ways: _Ways,
    is_end: Callable[[Any], bool],
    is_possible: Callable[[Any], bool],
    shape: Callable[[Any], Hashable],
) -> tuple[list[Step] | None, bool]:
    """Return the cheapest path, and whether all were tried."""
    number = count()
    seen, n_tried = set(), 0
    pending: list[tuple[int, int, Any, _Path]] = [(0, next(number), start, None)]
    while pending:
        check_step()
        price, _, state, path = heapq.heappop(pending)
        if shape(state) in seen or not is_possible(state):
            continue
        seen.add(shape(state))
        if is_end(state):
            return _steps(path), True
        if n_tried > MAX_TRIED:
            return None, False
        for more, after, step in ways(state):
            n_tried += 1
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
