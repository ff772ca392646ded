"""Which classes values have, and how an array or object that has begun can be finished.

In: :class:`~cfgguide.schema.solver.values.Values`. Out: whether some value has one of the wanted
classes, the classes that values have, and whether what has begun can become one of them. A class
is the set of nodes that hold (:mod:`cfgguide.schema.solver.classes`).

Only nodes that make a difference are told apart: those that surely have to hold are required of all
values, and those that have failed are no longer asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from functools import partial, reduce
from math import inf
from operator import or_
from typing import Any

from cfgguide.base.limits import check_step
from cfgguide.base.remembered import remembered
from cfgguide.base.sets import members
from cfgguide.errors import SchemaError
from cfgguide.schema.solver.counts import has_enough_items, plain_array_bounds
from cfgguide.schema.solver.member_automata import MemberSymbol, ValueClass
from cfgguide.schema.solver.mutual_answers import Settled, Verdicts
from cfgguide.schema.solver.nodes import KINDS, UNBOUNDED, Node
from cfgguide.schema.solver.plans import Clauses, Comes, Fails, Holds, Literal, Plan, Planner
from cfgguide.schema.solver.tracked_values import Classes, Tracked
from cfgguide.schema.solver.truth import surely_hold
from cfgguide.schema.solver.values import CONSTANTS, AllValues, Values, may_hold

MAX_SEARCHED = 300_000  # choices, in the searches for one state of a text


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
        self._planner: tuple[tuple[Tracked, Any], Planner] | None = None  # the last one
        #: Whether there are as many different items as there have to be, where counting them does
        #: not tell.
        self.writes_enough_items: Callable[[Values], bool] = lambda _: True
        self.begin()

    def begin(self, most: int = MAX_SEARCHED) -> None:
        """Begin the searches for another state of a text: what is bounded are those for one.

        What nodes ask of objects is forgotten: kept for all states, it would be hundreds of objects
        for Python's collector to look at, and it is quickly made again.
        """
        self._clauses: dict[Tracked, Clauses] = {}
        self._ends: dict[tuple[Tracked, Classes], dict[Hashable, bool]] = {}  # of arrays
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
        # What excludes a node that has to hold fails by itself; to ask for it would split classes.
        fails = [
            node
            for node in fails
            if node.is_false or not any(other.excludes(node) for other in meant)
        ]
        if any(node.is_false for node in meant) or any(node.is_trivial for node in fails):
            return False, True
        if not meant.keys().isdisjoint(fails):
            return False, True
        values = self.values.of([*meant, *(node for node in fails if not node.is_false)])
        # Nothing is left that has to fail: the quick question, without classes, is enough.
        is_quick = len(values.nodes) == len(meant) - sum(node.is_trivial for node in meant)
        wanted = None if is_quick else (values.every.intersection(meant),)
        found = self.has_value(values, wanted)
        return found, found or self._settled.is_settled(_question("has", values, wanted))

    def has_value(self, values: Values, wanted: Classes | None = None) -> bool:
        """Return whether some value is of a wanted class; by default, one for which all hold."""
        if not values.nodes:
            return values.is_possible
        if values.listed is not None:
            if wanted is None:
                return values.is_possible and values.every in values.listed
            return any(each in values.listed for each in wanted)
        if wanted is None:
            decide = partial(self._has_all, values)
        else:
            decide = partial(self._has_tracked, values, wanted)
        return bool(self._settled.answer(_question("has", values, wanted), decide, False))

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
        return bool(kinds) and self._has_tracked(values, (values.every,), kinds)

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

    def _has_tracked(
        self, values: Values, wanted: Classes, kinds: frozenset[str] = frozenset(KINDS)
    ) -> bool:
        """Return whether some value is of a wanted class, and of one of some kinds."""
        tracked = self.tracked(values)
        if any(each in wanted for kind, each in tracked.constants().items() if kind in kinds):
            return True
        found = {kind: values.constants_among(kind, wanted) for kind in UNBOUNDED if kind in kinds}
        if any(found.values()):
            return True
        kinds = frozenset(kind for kind, listed in found.items() if listed is None)
        arrays, objects = tracked.arrays, tracked.objects
        if "array" in kinds and tracked.ending(arrays, arrays.start) in wanted:
            return True
        if "object" in kinds and tracked.ending(objects, objects.start) in wanted:
            return True
        if any(tracked.scalars(kind).has(wanted) for kind in ("string", "number") if kind in kinds):
            return True
        if "array" in kinds and self.array_ends(tracked, arrays.start, wanted):
            return True
        return "object" in kinds and self.object_ends(tracked, objects.start, wanted)

    # -- classes ----------------------------------------------------------------------------

    def classes(self, values: Values, holding: frozenset[Node] = frozenset()) -> Classes:
        """Return the classes that values have for which some nodes hold, those of most nodes first.

        Parameters
        ----------
        values : Values
            The values.
        holding : frozenset of Node
            The nodes, as they are meant; others are no nodes of these values.
        """
        if not values.is_possible or not values.nodes:
            return (values.every,)
        holding &= values.every
        decide = partial(self._found_classes, values, holding)
        question = _question("classes", values, (holding,))
        found: Classes = self._settled.answer(question, decide, ())
        return found

    def _found_classes(self, values: Values, holding: frozenset[Node]) -> Classes:
        asked = [node for node in values.nodes if node not in holding]
        if len(values.nodes) == 1:
            possible = [values.every] if self.has_value(values) else []
            if asked and (self.has((), asked) or self._may_repeat(values)):
                possible.append(frozenset())
            return tuple(possible)
        if values.listed is not None:
            return self._sorted(values, (each for each in values.listed if each >= holding))
        tracked = self.tracked(values)
        found = dict.fromkeys(tracked.constants().values())
        for kind in UNBOUNDED:
            if values.are_listed(kind, holding):
                found |= dict.fromkeys(each for _, each in values.constants(kind))
            elif kind == "array":
                found |= dict.fromkeys(self._array_classes(tracked, holding))
            elif kind == "object":
                found |= dict.fromkeys(self._object_classes(tracked, holding, frozenset(), asked))
            else:
                found |= dict.fromkeys(tracked.scalars(kind))
        return self._sorted(values, (each for each in found if each >= holding))

    def _may_repeat(self, values: Values) -> bool:
        """Return whether a node fails for some array only since an item comes twice.

        No array is written to fail for that, but one that need not hold may.
        """
        if not any(node.is_unique for node in values.below):
            return False
        return frozenset() in self._array_classes(self.tracked(values), frozenset())

    def _sorted(self, values: Values, found: Iterable[ValueClass]) -> Classes:
        order = {node: number for number, node in enumerate(values.nodes)}
        return tuple(
            sorted(found, key=lambda each: (-len(each), sorted(order[node] for node in each)))
        )

    def _object_classes(
        self,
        tracked: Tracked,
        holding: frozenset[Node],
        failing: frozenset[Node],
        asked: list[Node],
        known: Plan | None = None,
    ) -> Iterator[ValueClass]:
        """Yield the classes of objects that meet some nodes and don't meet some others."""
        start = tracked.objects.start
        plan = known or self._plan(tracked, start, _goal(holding, failing))
        if plan is None:
            return
        if not asked:
            yield holding
            return
        node, *rest = asked
        for is_true in (True, False):
            more = frozenset([node])
            goal = (holding | more, failing) if is_true else (holding, failing | more)
            longer = self.planner(tracked, start).longer(plan, Holds(node, is_true))
            yield from self._object_classes(tracked, *goal, rest, longer)

    def _array_classes(self, tracked: Tracked, holding: frozenset[Node]) -> Iterator[ValueClass]:
        """Yield the classes of arrays that meet some nodes."""
        machine = tracked.arrays
        seen: dict[Any, None] = {machine.start: None}
        pending = [machine.start]
        for state in pending:  # grows while it is walked
            if not holding.isdisjoint(state.failed):
                continue
            found = tracked.ending(machine, state)
            if found >= holding and self._may_be_array(tracked, found):
                yield found
            symbol = machine.symbol(state)
            for value_class in self.item_choices(tracked, state, (holding,)):
                following = [machine.after(state, symbol, value_class)]
                if state.n_items and machine.must_differ(state):
                    following.append(machine.after(state, symbol, value_class, is_repeated=True))
                for after in following:
                    shape = self.shape(tracked, after)
                    if shape not in seen:
                        seen[shape] = None
                        pending.append(after)
            self._count(1)

    # -- arrays -----------------------------------------------------------------------------

    def item_classes(self, tracked: Tracked, state: Any, wanted: Iterable[ValueClass]) -> Classes:
        """Return the classes that the next item of an array may have, whatever follows."""
        machine = tracked.arrays
        children = [
            child
            for node in _sure(tracked, "array", wanted, state.failed)
            if "array" in node.kinds and not node.is_false
            for child in machine.children(node, machine.index(state))
        ]
        return self._classes_with(machine.symbol(state), children)

    def _classes_with(self, symbol: MemberSymbol, children: list[Node]) -> Classes:
        """Return the classes of a symbol's values for which some nodes hold."""
        if any(child.meant.is_false for child in children):
            return ()
        values = self.values.of(symbol.nodes)
        return self.classes(values, frozenset(child.meant for child in children))

    def item_groups(
        self, tracked: Tracked, state: Any, wanted: Iterable[ValueClass]
    ) -> list[list[ValueClass]]:
        """Return the classes that the next item may have, those that are alike together.

        Of values that are told apart only since none may come twice, one is as good as another one.
        """
        found = self.item_classes(tracked, state, wanted)
        values = tracked.arrays.values
        if not values:
            return [[each] for each in found]
        alike = self._alike(tracked)
        groups: dict[Hashable, list[ValueClass]] = {}
        for each in found:
            told = frozenset((alike[value], value in state.used) for value in each & values)
            groups.setdefault((each - values, told), []).append(each)
        return list(groups.values())

    def item_choices(
        self, tracked: Tracked, state: Any, wanted: Iterable[ValueClass]
    ) -> list[ValueClass]:
        """Return the classes that the next item may have, one of those that are alike."""
        return [alike[0] for alike in self.item_groups(tracked, state, wanted)]

    def shape(self, tracked: Tracked, state: Any) -> Hashable:
        """Return what is equal for states of an array that can be finished alike.

        Of values that are alike, it matters how many have come.
        """
        alike = self._alike(tracked) if state.used else {}
        return (*state._replace(used=frozenset()), *sorted(alike[each] for each in state.used))

    @remembered
    def _alike(self, tracked: Tracked) -> dict[Node, int]:
        """Return a number for each value that is told apart, equal for those that are alike."""
        machine = tracked.arrays
        found: dict[Node, list[Hashable]] = {value: [] for value in machine.values}
        for place in machine.places():
            values = self.values.of(machine.symbol(place).nodes)
            for each in dict.fromkeys(self.tracked(values).scalar_classes()):
                for value in each & machine.values:
                    found[value].append((place.n_items, each - machine.values))
        numbers: dict[Hashable, int] = {}
        return {
            value: numbers.setdefault(frozenset(traits), len(numbers))
            for value, traits in found.items()
        }

    def _may_be_array(self, tracked: Tracked, value_class: ValueClass) -> bool:
        """Return whether nodes may hold for an array, by their kinds and the items they need.

        The automaton of the arrays doesn't know how many different items there are.
        """
        if not _may_all_hold(value_class, "array"):
            return False
        if not tracked.arrays.must_differ(tracked.arrays.start):
            return True
        alone = {node: self.values.of([node]) for node in tracked.values.nodes}
        # Those of which it is known how many items they need.
        values = self.values.of(
            node
            for node, its in alone.items()
            if node in value_class and (its.has_plain_arrays or its.has_different_items)
        )
        decide = partial(self.has_different_items, values)
        return not values.has_different_items or bool(
            self._settled.answer(_question("different", values, ()), decide, False)
        )

    def array_ends(self, tracked: Tracked, state: Any, wanted: Classes) -> bool:
        """Return whether an array can be finished as one of the wanted classes."""
        machine = tracked.arrays
        wanted = tuple(each for each in wanted if self._may_be_array(tracked, each))
        # What is known of other states, unless it may still change.
        known = self._ends.setdefault((tracked, wanted), {}) if self._settled.is_idle else {}
        before: dict[Hashable, Hashable] = {self.shape(tracked, state): None}
        pending: list[Any] = [state] if wanted else []
        while pending:  # the last that was found goes first: straight to the end
            state = pending.pop()
            shape = self.shape(tracked, state)
            if known.get(shape) is False or not tracked.may_be(state.failed, wanted):
                continue
            if known.get(shape) or tracked.ending(machine, state) in wanted:
                while shape is not None:
                    known[shape] = True
                    shape = before[shape]
                return True
            symbol = machine.symbol(state)
            for value_class in reversed(self.item_choices(tracked, state, wanted)):
                after = machine.after(state, symbol, value_class)
                following = self.shape(tracked, after)
                if following not in before:
                    before[following] = shape
                    pending.append(after)
            self._count(1)
        known |= dict.fromkeys(before, False)
        return False

    # -- objects ----------------------------------------------------------------------------

    def object_ends(self, tracked: Tracked, state: Any, wanted: Classes) -> bool:
        """Return whether an object can be finished as one of the wanted classes."""
        return self.object_plan(tracked, state, wanted) is not None

    def object_plan(
        self, tracked: Tracked, state: Any, wanted: Classes, also: tuple[Literal, ...] = ()
    ) -> Plan | None:
        """Return how an object can be finished as one of the wanted classes, and more comes true.

        None if it cannot.
        """
        plans = (self._plan(tracked, state, goal, also) for goal in goals(tracked, state, wanted))
        return next((plan for plan in plans if plan is not None), None)

    def _plan(
        self,
        tracked: Tracked,
        state: Any,
        goal: tuple[Literal, ...],
        also: tuple[Literal, ...] = (),
    ) -> Plan | None:
        planner = self.planner(tracked, state)
        # What a question asks below others may rest on answers that still grow.
        known = planner.known if self._settled.is_idle and not also else {}
        if goal not in known:
            known[goal] = planner.plan(goal, also)
        return known[goal]

    def planner(self, tracked: Tracked, state: Any) -> Planner:
        """Return what makes plans for a state of an object."""
        key = (tracked, state)
        if self._planner is None or self._planner[0] != key:
            made = Planner(tracked.objects, self._clauses_of(tracked), state, self.has, self._count)
            self._planner = key, made
        return self._planner[1]

    def _clauses_of(self, tracked: Tracked) -> Clauses:
        if tracked not in self._clauses:
            self._clauses[tracked] = Clauses(tracked.objects)
        return self._clauses[tracked]

    def names(
        self, tracked: Tracked, state: Any, wanted: Classes, within: int = -1
    ) -> Iterator[tuple[int, Plan]]:
        """Yield the classes of names of which a property may come next, of some, as bits.

        Each with a plan that has the names, or leaves them open.
        """
        plan = self.object_plan(tracked, state, wanted)
        if plan is None:
            return
        planner, clauses = self.planner(tracked, state), self._clauses_of(tracked)
        n_names = planner.n_names
        within &= reduce(or_, (clauses.names(each, state.failed) for each in wanted))
        found = self._open_names(planner, plan, within, state.last)
        yield found, plan
        for number in members(within & ~found):
            check_step(0)
            if found >> number & 1:
                continue
            # Names are in order: with this one, those between can come no more.
            is_passing = self.is_ordered and number < n_names
            passed = range(state.last + 1, number) if is_passing else range(0)
            missing = [Comes(each, False) for each in passed]
            plan = self.object_plan(tracked, state, wanted, (Fails(number, None), *missing))
            if plan is not None:
                more = 1 << number
                # A plan that has other names, or leaves them open, needs no search for these.
                if not self.is_ordered:
                    more |= self._open_names(planner, plan, within & ~found, state.last)
                yield more, plan
                found |= more

    def _open_names(self, planner: Planner, plan: Plan, within: int, last: int) -> int:
        """Return the classes of names that a plan has, or that may come in it, both of some."""
        planned = {*plan.coming, *plan.failing, *plan.n_filled}
        first = min((each for each in planned if each > last), default=inf)
        found = 0
        for number in members(within & plan.names):
            check_step(0)
            # Names are in order: one that comes before the first one that is planned is no harm.
            is_late = self.is_ordered and first < number < planner.n_names
            if not is_late and (number in planned or planner.may_come(plan, number)):
                found |= 1 << number
        return found

    def ends_from(self, tracked: Tracked, state: Any, wanted: Classes, first: int) -> bool:
        """Return whether an object can be finished by listed names from one on, and others."""
        if self.is_ordered:
            return True  # what may come next follows from the order
        machine = tracked.objects
        before = range(min(first, len(machine.names)))
        also = tuple(Comes(n, False) for n in before if machine.may_come(state, n))
        return self.object_plan(tracked, state, wanted, also) is not None

    def property_classes(
        self, tracked: Tracked, state: Any, number: int, wanted: Classes
    ) -> Classes:
        """Return the classes that a property may have so that the object can be finished."""
        machine = tracked.objects
        symbol, names = machine.symbol(state, number), machine.name_classes[number]
        children = [
            child
            for node in _sure(tracked, "object", wanted, state.failed)
            for child in machine.children(node, names)
        ]
        return tuple(
            each
            for each in self._classes_with(symbol, children)
            if self.object_ends(tracked, machine.after(state, symbol, each), wanted)
        )

    def _count(self, n: int) -> None:
        self._n_searched += n
        if self._n_searched > self._most_searched:
            raise SchemaError(
                "it takes too long to find out which values the schema allows; use fewer "
                "schemas for one value, or simpler ones"
            )
        check_step()


def _question(kind: str, values: Values, classes: Classes | None) -> Hashable:
    """Return what is equal for equal questions: numbers, which cost Python's collector nothing.

    The values live as long as the search, so no others ever have their id.
    """
    return kind, id(values), None if classes is None else tuple(map(values.bits, classes))


def _may_all_hold(value_class: ValueClass, kind: str) -> bool:
    """Return whether no node of a class refuses all values of a kind."""
    return all(may_hold(node, kind) for node in value_class)


def goals(tracked: Tracked, state: Any, wanted: Classes) -> Iterator[tuple[Literal, ...]]:
    """Yield what has to come true for an object to be of each of the wanted classes."""
    for each in wanted:
        if each.isdisjoint(state.failed) and _may_all_hold(each, "object"):
            yield _goal(each, tracked.values.every - each)


def _goal(holding: Iterable[Node], failing: Iterable[Node]) -> tuple[Literal, ...]:
    return (
        *(Holds(node, True) for node in holding),
        *(Holds(node, False) for node in failing),
    )


def _sure(
    tracked: Tracked, kind: str, wanted: Iterable[ValueClass], failed: Collection[Node]
) -> list[Node]:
    """Return nodes that hold for all values of a kind that are of a wanted class."""
    possible = [each for each in wanted if each.isdisjoint(failed)]
    if not possible:
        return []
    common = frozenset.intersection(*possible)
    return surely_hold((n for n in tracked.values.nodes if n in common), kind, failed)
