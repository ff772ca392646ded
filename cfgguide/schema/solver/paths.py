"""How an array or object whose classes matter can go on to its end.

In: what it is to be (:class:`~cfgguide.schema.solver.goals.Goal`), the state of one that has begun,
and what values cost. Out: the items or properties that still come, and what each is to be: few, and
cheap ones, but not always the cheapest. ::

    oneOf a: {kind: "x", size}, b: {kind: "y"}     after `{`     kind as in b

Of all plans, some are compared (:mod:`cfgguide.schema.solver.plans`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import inf
from typing import Any

from cfgguide.base.limits import LONGEST, check_step
from cfgguide.schema.solver.goals import Goal, case_of
from cfgguide.schema.solver.nodes import Node
from cfgguide.schema.solver.plans import Part, Plan
from cfgguide.schema.solver.search import Search

#: Choices, after the first plan; one of an array is dear: its items are arranged. A quarter takes
#: half the time where six pairs of alternatives are open, four times as many take twice; for 40
#: schemas of SchemaStore all take the same.
MAX_PLANS = {"object": 100, "array": 12}

#: The length of a text of a value; None if none is known.
Cost = Callable[[Goal], int | None]
#: The number of an item, or the tag of a name, and what the value is to be.
Property = tuple[int, Goal]


class Paths:
    """Finds how arrays or objects go on.

    Parameters
    ----------
    search : Search
        Knows which values there are.
    goal : Goal
        What is to come out.
    kind : str
        "array" or "object".
    """

    def __init__(self, search: Search, goal: Goal, kind: str) -> None:
        self._search = search
        self._goal = goal
        self._kind = kind
        self._tracked = search.tracked(goal.values)
        self._machine: Any = self._tracked.machine(kind)

    def of(self, state: Any, cost: Cost) -> list[Property] | None:
        """Return the parts that still come; None if no way is known.

        Whichever of such values they have, the array or object meets the goal.
        """
        if self._goal.is_met_by(self._tracked.ending(self._kind, state), self._kind):
            return []
        plan = self._cheapest_plan(state, cost)
        return None if plan is None else self.of_plan(state, plan)

    def of_plan(self, state: Any, plan: Plan, first: int | None = None) -> list[Property]:
        """Return the parts of a plan; with a name that comes first, if the plan has it not."""
        planner = self._search.planner(self._goal.values, self._kind, state)
        found: list[Part] = [*planner.properties(plan)]
        if first is not None:
            index = next((n for n, (number, *_) in enumerate(found) if number == first), None)
            its = (first, planner.holding(plan, first), []) if index is None else found.pop(index)
            found.insert(0, its)
        # Which nodes hold for the whole beside those that were asked for, its values tell.
        return [
            (number, self._part(holding, failing, self._seeing(state, number)))
            for number, holding, failing in found
        ]

    def _seeing(self, state: Any, number: int) -> Sequence[Node]:
        """Return the nodes that see the value of a part, if it matters which of them hold."""
        return () if self._goal.is_every else self._machine.symbol(state, number).nodes

    def _cheapest_plan(self, state: Any, cost: Cost) -> Plan | None:
        """Return the cheapest of some plans; None if there is none."""
        planner = self._search.planner(self._goal.values, self._kind, state)
        shortest = self._machine.shortest
        prices: dict[Hashable, float] = {}
        best, least, n_tried = None, inf, 0

        def price(number: int, holding: list[Node], failing: list[Node]) -> float:
            check_step(0)
            key = number, frozenset(holding), frozenset(failing)
            if key not in prices:
                known = cost(self._part(holding, failing))
                prices[key] = inf if known is None else known + shortest(number)
            return prices[key]

        def is_worth(plan: Plan) -> bool:
            nonlocal n_tried
            n_tried += best is not None
            names = sum(map(shortest, plan.coming))
            return best is None or (n_tried <= MAX_PLANS[self._kind] and names < least)

        for literals in self._search.literals(self._goal, self._kind, state):
            for plan in planner.plans(literals, price=price, is_worth=is_worth):
                if planner.n_parts(plan) > LONGEST:
                    continue
                total = sum(price(*each) for each in planner.properties(plan))
                if best is None or total < least:
                    best, least = plan, total
        return best

    def _part(self, holding: list[Node], failing: list[Node], others: Sequence[Node] = ()) -> Goal:
        """Return what the value of a part is to be; of other nodes it matters which hold."""
        case = case_of(holding, failing)
        nodes = [*holding, *(node for node in failing if node.meant in case.fails), *others]
        return self._search.goal(self._search.values.of(nodes), [case])
