"""Which values there are, and how an array or object that has begun can be finished.

In: a :class:`~cfgguide.schema.solver.goals.Goal`: cases, of which a value is to meet one. Out:
whether there is such a value, whether what has begun can become one, and what is then asked of its
next property or item. No classes are listed but those of scalars.

Only nodes that make a difference are told apart: those that surely have to hold are required of all
values, and those that have failed are no longer asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from functools import partial, reduce
from math import inf
from operator import or_
from typing import Any

from cfgguide.base.limits import check_step
from cfgguide.base.remembered import remembered
from cfgguide.base.sets import members
from cfgguide.errors import SchemaError
from cfgguide.schema.solver.array_plans import ArrayClauses, ArrayPlanner
from cfgguide.schema.solver.counts import has_enough_items, plain_array_bounds
from cfgguide.schema.solver.goals import Case, Goal, case_of
from cfgguide.schema.solver.member_automata import ValueClass
from cfgguide.schema.solver.mutual_answers import Settled, Verdicts
from cfgguide.schema.solver.nodes import KINDS, UNBOUNDED, Node, kinds_of
from cfgguide.schema.solver.object_plans import ObjectClauses, ObjectPlanner
from cfgguide.schema.solver.plans import Comes, Counts, Fails, Holds, Literal, Plan
from cfgguide.schema.solver.tracked_values import Tracked
from cfgguide.schema.solver.values import CONSTANTS, AllValues, Values, may_hold

_NESTED = kinds_of(frozenset(("array", "object")))
#: Choices, in the searches for one state of a text; of 60 schemas of SchemaStore the most is 495.
MAX_SEARCHED = 300_000


class Search:
    """Decides which classes values have.

    Parameters
    ----------
    values : AllValues
        The values of a schema.
    is_ordered : bool
        Whether properties come in the order in which they are declared.
    wanted_to_fail : collection of Node
        As :func:`cfgguide.schema.solver.nodes.wanted_to_fail` returns them.
    """

    def __init__(
        self, values: AllValues, *, is_ordered: bool, wanted_to_fail: Collection[Node]
    ) -> None:
        self.values = values
        self.wanted_to_fail = wanted_to_fail
        self.is_ordered = is_ordered
        self._settled = Settled()
        self._verdicts = Verdicts()
        self._planner: tuple[tuple[Tracked, str, Any], Any] | None = None  # the last one
        self._goals: dict[tuple[Values, frozenset[Case] | None], Goal] = {}
        #: Called before a class of a goal gets a number, with the goal and how many there are then.
        self.make_room: Callable[[Goal, int], None] = lambda _goal, _n: None
        #: Whether there are as many different items as there have to be, where counting them does
        #: not tell.
        self.writes_enough_items: Callable[[Values], bool] = lambda _: True
        self.begin()

    def begin(self, most: int = MAX_SEARCHED) -> None:
        """Begin the searches for another state of a text: what is bounded are those for one.

        What nodes ask of objects is forgotten: kept for all states, it would be hundreds of objects
        for Python's collector to look at, and it is quickly made again.
        """
        self._clauses: dict[tuple[Tracked, str], ArrayClauses | ObjectClauses] = {}
        self._n_searched = 0
        self._most_searched = most

    @remembered
    def tracked(self, values: Values) -> Tracked:
        """Return what is known of values whose classes matter."""
        return Tracked(
            values,
            self.values.order,
            self.wanted_to_fail,
            is_ordered=self.is_ordered,
        )

    def goal(self, values: Values, cases: Iterable[Case] | None = None) -> Goal:
        """Return what values are to be: they meet one of some cases; by default, all nodes hold."""
        cases = None if cases is None else tuple(cases)
        if cases and all(case.holds == values.every for case in cases):
            cases = None
        key = (values, None if cases is None else frozenset(cases))
        if key not in self._goals:
            self._goals[key] = Goal(values, cases, lambda goal, n: self.make_room(goal, n))
        return self._goals[key]

    # -- values -----------------------------------------------------------------------------

    def has(self, holding: Iterable[Node], failing: Iterable[Node]) -> bool:
        """Return whether some value meets all of some nodes and none of some others."""
        meant = dict.fromkeys(node.meant for node in holding)
        fails = dict.fromkeys(node.meant for node in failing)
        conditions = frozenset((*meant, *((node, False) for node in fails)))
        verdict = self._verdicts.of(conditions)
        if verdict is not None:
            return verdict
        verdict, is_settled = self._judged(meant, fails)
        if is_settled:
            self._verdicts.add(conditions, is_met=verdict)
        return verdict

    def _judged(self, meant: dict[Node, None], fails: Iterable[Node]) -> tuple[bool, bool]:
        """Return whether such a value exists, and whether that is settled."""
        if any(node.is_false for node in meant) or any(node.is_trivial for node in fails):
            return False, True
        case = case_of(meant, fails)
        if not case.holds.isdisjoint(case.fails):
            return False, True
        values = self.values.of([*meant, *(node for node in fails if node in case.fails)])
        if not case.fails:  # the quick question, without classes, is enough
            found = self.has_value(values)
            return found, found or self._settled.is_settled(_question(values, None))
        if values.listed is not None:
            return any(case.is_met_by(each, "null") for each in values.listed), True
        goal = Goal(values, (case,))
        question = _question(values, case)
        found = self._settled.answer(question, partial(self._has_tracked, goal))
        return found, found or self._settled.is_settled(question)

    def has_value(self, values: Values) -> bool:
        """Return whether some value meets all nodes."""
        if not values.nodes:
            return values.is_possible
        if values.listed is not None:
            return values.is_possible and values.every in values.listed
        question = _question(values, None)
        return self._settled.answer(question, partial(self._has_all, values))

    def _has_all(self, values: Values) -> bool:
        """Return whether all nodes hold for some value."""
        # One kind of value is enough, and for most nodes it is found without any classes.
        if any(map(values.is_constant, CONSTANTS)):
            return True
        if values.has_plain_objects and self.has_plain_object(values):
            return True
        if values.has_plain_arrays and plain_array_bounds(values, self) is not None:
            return True
        if values.strings is not None or values.numbers is not None:
            return True
        if values.has_different_items and self.has_different_items(values):
            return True
        # What could be asked about above is not asked about again: classes know less of it.
        kinds = values.classed
        every = Goal(values, (Case(values.every, kinds=kinds),))
        return bool(kinds) and self._has_tracked(every)

    def has_different_items(self, values: Values) -> bool:
        """Return whether there are as many different items as there have to be.

        Where it is not known, somebody who can write values finds out.
        """
        found = has_enough_items(values, self)
        return self.writes_enough_items(values) if found is None else found

    def has_plain_object(self, values: Values) -> bool:
        """Return whether all names that have to come have a value."""
        return all(
            self.has_value(self.property_values(values, name))
            for node in values.object_nodes
            for name in node.required
        )

    def property_values(self, values: Values, name: str) -> Values:
        """Return the values of a property, where all nodes are to hold."""
        return self.values.of(c for node in values.object_nodes for c in node.of_property(name))

    def item_values(self, values: Values, index: int) -> Values:
        """Return the values of an item, where all nodes are to hold."""
        return self.values.of(c for node in values.array_nodes for c in node.of_item(index))

    def _has_tracked(self, goal: Goal) -> bool:
        """Return whether some value meets a goal."""
        tracked = self.tracked(goal.values)
        if any(goal.is_met_by(each, kind) for kind, each in tracked.constants().items()):
            return True
        found = {kind: goal.constants(kind) for kind in UNBOUNDED}
        if any(found.values()):
            return True
        kinds = [kind for kind, listed in found.items() if listed is None]
        nested = [kind for kind in kinds if kind in ("array", "object")]
        for kind in nested:
            if goal.is_met_by(tracked.ending(kind, tracked.machine(kind).start), kind):
                return True
        if any(tracked.scalars(kind).has(goal) for kind in kinds if kind not in nested):
            return True
        return any(self.ends(goal, kind, tracked.machine(kind).start) for kind in nested)

    def classes(self, values: Values) -> Iterator[ValueClass]:
        """Yield the classes that values have: there may be very many."""
        pending: list[tuple[list[Node], list[Node]]] = [([], [])]
        while pending:
            holding, failing = pending.pop()
            self._count(1)
            if not self.has(holding, failing):
                continue
            place = len(holding) + len(failing)
            if place == len(values.nodes):
                yield frozenset(holding)
                continue
            node = values.nodes[place]
            pending += [(holding, [*failing, node]), ([*holding, node], failing)]

    # -- parts ------------------------------------------------------------------------------

    def ends(self, goal: Goal, kind: str, state: Any) -> bool:
        """Return whether an array or object can be finished so that it meets a goal."""
        return self.plan(goal, kind, state) is not None

    def plan(
        self, goal: Goal, kind: str, state: Any, also: tuple[Literal, ...] = ()
    ) -> Plan | None:
        """Return how an array or object can be finished so that more comes true; None if not."""
        planner = self.planner(goal.values, kind, state)
        # What a question asks below others may rest on answers that still grow.
        known = planner.known if self._settled.is_idle and not also else {}
        for literals in self.literals(goal, kind, state):
            if literals not in known:
                known[literals] = planner.plan(literals, also)
            found: Plan | None = known[literals]
            if found is not None:
                return found
        return None

    def literals(self, goal: Goal, kind: str, state: Any) -> Iterator[tuple[Literal, ...]]:
        """Yield what has to come true for an array or object to meet each case of a goal."""
        for case in goal.cases:
            if (
                kind in case.kinds
                and case.holds.isdisjoint(state.failed)
                and all(may_hold(node, kind) for node in case.holds)
                and (kind == "object" or self._may_be_array(goal.values, case.holds))
            ):
                yield (
                    *(Holds(node, True) for node in goal.values.nodes if node in case.holds),
                    *(Holds(node, False) for node in goal.failing(case)),
                )

    def planner(self, values: Values, kind: str, state: Any) -> Any:
        """Return what makes plans for a state of an array or object."""
        tracked = self.tracked(values)
        key = (tracked, kind, state)
        if self._planner is None or self._planner[0] != key:
            planner: Any = ArrayPlanner if kind == "array" else ObjectPlanner
            clauses, machine = self._clauses_of(tracked, kind), tracked.machine(kind)
            self._planner = key, planner(machine, clauses, state, self.has, self._count)
        return self._planner[1]

    def _clauses_of(self, tracked: Tracked, kind: str) -> Any:
        key = (tracked, kind)
        if key not in self._clauses:
            clauses: Any = ArrayClauses if kind == "array" else ObjectClauses
            self._clauses[key] = clauses(tracked.machine(kind))
        return self._clauses[key]

    def part(self, goal: Goal, kind: str, state: Any, number: int) -> Goal:
        """Return what the next item, or property of a class of names, may be to meet a goal."""
        tracked = self.tracked(goal.values)
        symbol = tracked.machine(kind).symbol(state, number)
        cases: list[Case] = []
        planner = self.planner(goal.values, kind, state)
        also = self._coming(tracked, kind, state, number)
        for each in planner.asked(self.literals(goal, kind, state), also, number, cases):
            check_step(0)
            if not (each.holds or each.fails):  # nothing is asked
                break
        values = self.values.of(symbol.nodes)
        # What has to follow may depend on the class of a value: those that are few are cases.
        possible: Mapping[ValueClass, Collection[str]] = dict.fromkeys(values.listed or (), KINDS)
        nested: list[Case] = []
        if values.listed is None and len(values.nodes) == 1:
            possible = dict.fromkeys((values.every, frozenset[Node]()), KINDS)
        elif values.listed is None:
            possible = self.tracked(values).scalar_classes()
            nested = [case._replace(kinds=_NESTED) for case in cases]
        whole = [
            Case(each, kinds=kinds_of(frozenset(kinds)), is_whole=True)
            for each, kinds in possible.items()
            if any(case.is_met_by(each, kind) for case in cases for kind in kinds)
        ]
        return self.goal(values, [*whole, *nested])

    def _may_be_array(self, values: Values, holding: frozenset[Node]) -> bool:
        """Return whether nodes may hold for an array, by the items they need.

        The automaton of the arrays doesn't know how many different items there are.
        """
        arrays = self.tracked(values).arrays
        if not arrays.must_differ(arrays.start):
            return True
        alone = {node: self.values.of([node]) for node in values.nodes}
        # Those of which it is known how many items they need.
        counted = self.values.of(
            node
            for node, its in alone.items()
            if node in holding and (its.has_plain_arrays or its.has_different_items)
        )
        decide = partial(self.has_different_items, counted)
        return not counted.has_different_items or self._settled.answer(
            ("different", id(counted)), decide
        )

    # -- objects ----------------------------------------------------------------------------

    def names(self, goal: Goal, state: Any, within: int = -1) -> Iterator[tuple[int, Plan]]:
        """Yield the classes of names of which a property may come next, of some, as bits.

        Each with a plan that has the names, or leaves them open.
        """
        plan = self.plan(goal, "object", state)
        if plan is None:
            return
        tracked = self.tracked(goal.values)
        planner = self.planner(goal.values, "object", state)
        clauses = self._clauses_of(tracked, "object")
        possible = [case.holds for case in goal.cases if "object" in case.kinds]
        within &= reduce(or_, (clauses.names(holds, state.failed) for holds in possible))
        found = self._open_names(planner, plan, within, state.last)
        yield found, plan
        for number in members(within & ~found):
            check_step(0)
            if found >> number & 1:
                continue
            plan = self.plan(goal, "object", state, self._coming(tracked, "object", state, number))
            if plan is not None:
                more = 1 << number
                # A plan that has other names, or leaves them open, needs no search for these.
                if not self.is_ordered:
                    more |= self._open_names(planner, plan, within & ~found, state.last)
                yield more, plan
                found |= more

    def _coming(self, tracked: Tracked, kind: str, state: Any, number: int) -> tuple[Literal, ...]:
        """Return what comes true if an item, or a property of a class of names, comes next."""
        if kind == "array":
            return (Counts(state.n_parts + 1, None),)
        # Names are in order: with this one, those between can come no more.
        is_passing = self.is_ordered and number < len(tracked.objects.names)
        passed = range(state.last + 1, number) if is_passing else range(0)
        return Fails(number, None), *(Comes(each, False) for each in passed)

    def _open_names(self, planner: ObjectPlanner, plan: Plan, within: int, last: int) -> int:
        """Return the classes of names that a plan has, or that may come in it, both of some."""
        planned = {*plan.coming, *plan.failing, *plan.n_filled}
        first = min((each for each in planned if each > last), default=inf)
        found = 0
        for number in members(within & plan.names):
            check_step(0)
            # Names are in order: one that comes before the first one that is planned is no harm.
            is_late = self.is_ordered and first < number < planner.machine.n_single
            if not is_late and (number in planned or planner.may_come(plan, number)):
                found |= 1 << number
        return found

    def ends_from(self, goal: Goal, state: Any, first: int) -> bool:
        """Return whether an object can be finished by listed names from one on, and others."""
        if self.is_ordered:
            return True  # what may come next follows from the order
        machine = self.tracked(goal.values).objects
        before = range(min(first, len(machine.names)))
        also = tuple(Comes(n, False) for n in before if machine.may_come(state, n))
        return self.plan(goal, "object", state, also) is not None

    def _count(self, n: int) -> None:
        self._n_searched += n
        if self._n_searched > self._most_searched:
            raise SchemaError(
                "it takes too long to find out which values the schema allows; use fewer "
                "schemas for one value, or simpler ones"
            )
        check_step()


def _question(values: Values, case: Case | None) -> Hashable:
    """Return what is equal for equal questions: numbers, which cost Python's collector nothing.

    The values live as long as the search, so no others ever have their id.
    """
    return id(values), *(map(values.bits, case[:2]) if case is not None else ())
