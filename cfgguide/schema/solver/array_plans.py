"""How an array that has begun can go on: plans of items.

In: an :class:`~cfgguide.schema.solver.arrays.ArrayMachine` and a state of it. Out: plans
(:mod:`cfgguide.schema.solver.plans`). Items are numbered: the first ones, which have schemas
of their own, and all that follow with one number.

What an array contains, and what has to fail, may be in any item. Once all clauses are met, each
need has items of its own where there is room, and else some that others have, too. ::

    contains a, contains b                 two items
    contains a, contains b, maxItems 1     one item that meets a and b
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, combinations
from typing import Any, NamedTuple

from cfgguide.base.limits import check_step
from cfgguide.base.remembered import remembered
from cfgguide.engine.byte_machine.scalars import Bounds
from cfgguide.schema.solver.arrays import ArrayMachine, ItemsSeen
from cfgguide.schema.solver.nodes import Node
from cfgguide.schema.solver.plans import (
    Alternative,
    Asked,
    Clauses,
    Contains,
    Counts,
    Fails,
    Holds,
    IsNew,
    Literal,
    Part,
    Plan,
    Planner,
    Price,
    Repeats,
    Slot,
    Topic,
    known_bounds,
    most_of,
)
from cfgguide.schema.solver.truth import evaluators

_NONE: frozenset[Node] = frozenset()
_Slots = tuple[Slot, ...]
_Way = tuple[Slot, Collection[Node]]  # items, and what is counted that they meet, or their value
_Counted = tuple[_Slots, Mapping[Node, int]]  # items, and how many more there may be of each


class _Need(NamedTuple):
    """What so many items have to meet; None for items of any number."""

    number: int | None
    holds: tuple[Node, ...]
    fails: tuple[Node, ...]
    n: int


class ArrayClauses(Clauses[ArrayMachine]):
    """What nodes ask of arrays."""

    def _holding_by(self, node: Node) -> Iterator[Sequence[Alternative]]:
        places = range(self._machine.n_prefix + 1)
        first = next((n for n in places if any(c.meant.is_false for c in node.of_item(n))), None)
        if first is not None:
            yield [(Counts(0, first),)]
        if node.contains is not None:
            yield [(Contains(node, *node.n_contains),)]

    def _failing_by(self, node: Node) -> Iterator[Alternative]:
        if node.contains is not None:
            least, most = node.n_contains
            if least > 0:
                yield (Contains(node, 0, least - 1),)
            if most is not None:
                yield (Contains(node, most + 1, None),)
        if node.is_unique and self._machine.values:
            yield (Repeats(),)

    @remembered
    def is_steady(self, node: Node) -> bool:
        """Return whether an array that meets a node does so whatever items are added."""
        is_endless = node.contains is not None and node.n_contains[1] is None
        return is_endless and node.keywords().keys() <= {"kinds", "contains", "n_contains"}


class ArrayPlanner(Planner[ArrayMachine, ItemsSeen]):
    """Finds plans for one state of an array."""

    # -- clauses ----------------------------------------------------------------------------

    def _topics(self, literal: Literal) -> Iterable[Topic]:
        return [literal.node] if isinstance(literal, Holds) else []

    def _known_of_parts(self, plan: Plan, literal: Literal) -> bool | None:
        if isinstance(literal, Fails):
            if literal.node in plan.failing.get(literal.number, ()):
                return True
            is_past = literal.number < self.machine.index(self.state)
            return False if is_past or literal.number >= most_of(plan.most) else None
        if isinstance(literal, Contains):
            return known_bounds(self._contained(plan, literal.node), literal)
        return plan.repeats or None if isinstance(literal, Repeats) else None

    def _contained(self, plan: Plan, node: Node) -> Bounds:
        """Return how many items of the whole array meet what a node contains."""
        return plan.contained.get(node) or (self.machine.n_contained(self.state, node), None)

    def _assume_of_parts(self, plan: Plan, literal: Literal) -> None:
        if isinstance(literal, Fails) and literal.node is not None:
            plan.failing.setdefault(literal.number, {})[literal.node] = None
            plan.least = max(plan.least, literal.number + 1)
        elif isinstance(literal, Contains):
            least, most = self._contained(plan, literal.node)
            bounds = [each for each in (most, literal.most) if each is not None]
            plan.contained[literal.node] = max(least, literal.least), min(bounds, default=None)
        elif isinstance(literal, Repeats):
            plan.repeats = True

    def _fails_by_parts(self, plan: Plan, node: Node) -> bool:
        return False

    def _has_enough(self, plan: Plan, node: Node) -> bool:
        return self._contained(plan, node)[0] >= node.n_contains[0]

    # -- items ------------------------------------------------------------------------------

    def holding(self, plan: Plan, number: int) -> list[Node]:
        """Return the nodes that have to hold for an item, as far as it is decided."""
        return [child for node in plan.held for child in node.of_item(number)]

    def properties(self, plan: Plan) -> Iterator[Part]:
        """Yield the items that come."""
        for slot in sorted(plan.slots or (), key=lambda each: each.number):
            for _ in range(slot.n):
                yield slot.number, [*slot.holds], [*slot.fails]

    def n_parts(self, plan: Plan) -> int:
        """Return how many items come."""
        return sum(slot.n for slot in plan.slots or ())

    def _has_values(self, plan: Plan) -> bool:
        """Return whether there is a value for each item that surely comes, alone."""
        first, rest = self.machine.index(self.state), self.machine.n_prefix
        if plan.least > most_of(plan.most):
            return False
        for number in range(first, min(plan.least, rest + 1)):
            failing = plan.failing.get(number, {})
            groups = [[each] for each in failing] if number == rest else [[*failing]]
            holding = self.holding(plan, number)
            if not all(self.has(holding, group) for group in groups or [[]]):
                return False
        return True

    def _is_filled(self, plan: Plan, price: Price | None, *, is_asked: bool) -> bool:
        if is_asked:
            return True
        plan.slots = next(_Arrangement(self, plan, price=price).all(), None)
        return plan.slots is not None

    def _asked_of(self, plan: Plan, number: int, is_new: IsNew) -> Iterator[Asked]:
        for first, *_ in _Arrangement(self, plan, is_new).all():
            yield first.holds, first.fails

    # -- evaluation -------------------------------------------------------------------------

    def _evaluators(self, plan: Plan, node: Node) -> Iterator[Node]:
        """Yield the nodes whose annotations a node sees; those that are not decided may count."""
        return evaluators(node, partial(self._truth, plan))

    def _is_overlooked(self, plan: Plan, node: Node, number: int, *matched: Any) -> bool:
        contained = matched or (_NONE,)
        others = (each for each in self._evaluators(plan, node) if each is not node)
        return not any(self.machine.evaluates(each, number, *contained) for each in others)

    def evaluating(self, plan: Plan, node: Node) -> list[Node]:
        """Return the nodes that evaluate the items that meet them, where a node sees that."""
        return [
            each.contains
            for each in self._evaluators(plan, node)
            if each.contains is not None and each.contains_evaluates
        ]

    def ways(self, plan: Plan, index: int) -> list[list[Node]]:
        """Return which nodes may hold for an item, in all ways, so that it is evaluated."""
        ways = [self.holding(plan, index)]
        for node in plan.held:
            rest = node.unevaluated_items
            if rest is None or node.of_item(index) or not self._is_overlooked(plan, node, index):
                continue
            options = [rest, *self.evaluating(plan, node)]
            ways = [[*way, option] for option in options for way in ways]
        return ways


class _Arrangement:
    """Gives what items have to meet to items, where a plan is complete but for them.

    Parameters
    ----------
    planner : ArrayPlanner
        Knows the array.
    plan : Plan
        Nothing is changed in it.
    is_new : callable, optional
        If given, the next item comes, and is the first one; what is asked of it has to be new.
    price : callable, optional
        What an item costs. If given, an item that others need is tried before one of its own, and
        each item is evaluated in the way that costs least.
    """

    def __init__(
        self,
        planner: ArrayPlanner,
        plan: Plan,
        is_new: IsNew | None = None,
        price: Price | None = None,
    ) -> None:
        self._planner = planner
        self._plan = plan
        self._is_new = is_new
        self._price = price
        self._machine, self._state = planner.machine, planner.state
        self._rest = self._machine.n_prefix
        self._ways: dict[int, list[list[Node]]] = {}
        #: Of what is contained, how many more items may meet it.
        self._left = {
            node: most - self._machine.n_contained(self._state, node)
            for node, (_, most) in plan.contained.items()
            if most is not None
        }
        self._never = _contained(node for node, n in self._left.items() if not n)
        self._needs = [*self._failing(), *self._contained()]

    def _failing(self) -> Iterator[_Need]:
        for index, nodes in self._plan.failing.items():
            alone = [self._failing_with(index, node) for node in nodes]
            if index < self._rest:  # there is only one such item
                alone = [tuple(chain(*alone))]
            yield from (_Need(index, (), each, 1) for each in alone)

    def _failing_with(self, index: int, node: Node) -> tuple[Node, ...]:
        """Return what fails where an item has to fail a node: also what would evaluate it."""
        found = [node]
        for owner, number, is_past in self._plan.overlooked:
            if owner.unevaluated_items is node and number == index and not is_past:
                found += self._planner.evaluating(self._plan, owner)
        return tuple(found)

    def _contained(self) -> Iterator[_Need]:
        for node, (least, _) in self._plan.contained.items():
            n = least - self._machine.n_contained(self._state, node)
            if n > 0 and node.contains is not None:
                yield _Need(None, (node.contains,), (), n)

    def all(self) -> Iterator[_Slots]:
        """Yield which items come, with all that holds and fails for each."""
        begun = () if self._is_new is None else (Slot(self._machine.index(self._state)),)
        if not self._plan.repeats:
            yield from self._placed(self._needs, begun)
            return
        for value in self._machine.values:
            twice = _Need(None, (value,), (), 1 if value in self._state.used else 2)
            yield from self._placed([*self._needs, twice], begun)

    # -- items ------------------------------------------------------------------------------

    def _placed(self, needs: Sequence[_Need], slots: _Slots) -> Iterator[_Slots]:
        """Yield the arrangements in which some items have more needs."""
        self._planner.count(1)
        if not self._may_be_first(slots):
            return
        if not needs:
            yield from self._completed(slots)
            return
        need, *others = needs
        ways = (self._alone(need, slots), self._together(need, slots))
        for after, changed in chain(*(reversed(ways) if self._price is not None else ways)):
            if self._n_items(after) > most_of(self._plan.most) or not self._may_be(changed):
                continue
            left = [need._replace(n=need.n - changed.n)] if changed.n < need.n else []
            yield from self._placed([*left, *others], after)

    def _alone(self, need: _Need, slots: _Slots) -> Iterator[tuple[_Slots, Slot]]:
        """Yield the ways in which new items meet a need, the nearest first."""
        taken = {slot.number for slot in slots}
        for index in range(self._machine.index(self._state), self._rest):
            if need.number in (None, index) and index not in taken:
                slot = Slot(index, need.holds, need.fails)
                yield (*slots, slot), slot
        if need.number in (None, self._rest):
            for n in dict.fromkeys((need.n, 1)):
                slot = Slot(self._rest, need.holds, need.fails, n)
                yield (*slots, slot), slot

    def _together(self, need: _Need, slots: _Slots) -> Iterator[tuple[_Slots, Slot]]:
        """Yield the ways in which items that others need meet a need, too."""
        for place, slot in enumerate(slots):
            is_met = bool(need.holds) and set(need.holds) <= {*slot.holds}
            if need.number in (None, slot.number) and not is_met:
                holds, fails = (*slot.holds, *need.holds), (*slot.fails, *need.fails)
                changed = Slot(slot.number, holds, fails)
                left = [slot._replace(n=slot.n - 1)] if slot.n > 1 else []
                yield (*slots[:place], changed, *left, *slots[place + 1 :]), changed

    def _n_items(self, slots: _Slots) -> int:
        """Return how many items there are in the end, if these come."""
        n_rest = sum(slot.n for slot in slots if slot.number == self._rest)
        if n_rest:
            return max(self._state.n_parts, self._rest) + n_rest
        return max([self._state.n_parts, *(slot.number + 1 for slot in slots)])

    def _of(self, index: int) -> list[list[Node]]:
        if index not in self._ways:
            self._ways[index] = self._planner.ways(self._plan, index)
        return self._ways[index]

    def _may_be(self, slot: Slot) -> bool:
        """Return whether there is such an item."""
        has, fails = self._planner.has, (*self._never, *slot.fails)
        # What has to hold comes again in other plans, with others that have to fail.
        ways = ([*way, *slot.holds] for way in self._of(slot.number))
        return any(has(holds, ()) and has(holds, fails) for holds in ways)

    def _may_be_first(self, slots: _Slots) -> bool:
        """Return whether something new is asked of the next item, if it is asked about."""
        if self._is_new is None:
            return True
        first = slots[0]
        fails = (*self._never, *first.fails)
        return any(self._is_new([*way, *first.holds], fails) for way in self._of(first.number))

    def _completed(self, slots: _Slots) -> Iterator[_Slots]:
        """Yield the arrangements with the items that come only for their number."""
        n_items = max(self._n_items(slots), self._plan.least)
        taken = {slot.number for slot in slots}
        indices = range(self._machine.index(self._state), min(self._rest, n_items))
        filled = [Slot(index) for index in indices if index not in taken]
        n_left = n_items - self._n_items((*slots, *filled))
        filled += [Slot(self._rest, n=n_left)] if n_left > 0 else []
        if all(map(self._may_be, filled)):
            yield from self._counted((*slots, *filled))

    def _counted(self, slots: _Slots) -> Iterator[_Slots]:
        """Yield the arrangements in which no more items meet what is contained than may.

        Items that have to differ, of values that are told apart, have one each, of which there is
        one. Where it is asked about the next item, each of the ways that it may be makes one.
        """
        left = dict(self._left)
        is_asked = any(node.is_unique for node in self._plan.held)
        if is_asked and not self._machine.must_differ(self._state):
            left |= dict.fromkeys([n for n in self._machine.values if n not in self._state.used], 1)
            if sum(slot.n for slot in slots) > len(left) - len(self._left):
                return
            slots = tuple(slot._replace(n=1) for slot in slots for _ in range(slot.n))
        stack: list[Iterator[_Counted]] = [iter([((), left)])]
        while stack:
            found = next(stack[-1], None)
            if found is None:
                stack.pop()
                self._planner.count(1)
            elif len(found[0]) < len(slots):
                stack.append(self._next(slots, *found))
            else:
                yield found[0]
                del stack[2:]

    def _next(self, slots: _Slots, done: _Slots, left: Mapping[Node, int]) -> Iterator[_Counted]:
        """Yield what the next of some items are, with those before, and how many more may be so."""
        rest, is_asked = slots[len(done) :], not done and self._is_new is not None
        values = [value for value in self._machine.values if left.get(value)]
        ways: Iterable[_Way]
        if not values:
            ways = self._ways_to_count(rest[0], left, are_all=is_asked or self._price is not None)
            if self._price is not None:
                ways = sorted(ways, key=self._cost)
        elif self._left or is_asked:
            ways = self._ways_of_values(rest, values, left)
        else:
            found = _matched([self._possible(slot, values) for slot in rest])
            if found is not None:
                yield (*done, *map(self._with, rest, found)), left
            return
        for slot, spent in ways:
            after = {node: n - slot.n * (node in spent) for node, n in left.items()}
            is_new = not is_asked or self._is_new is None or self._is_new(slot.holds, slot.fails)
            if is_new and min(after.values(), default=0) >= 0:
                yield (*done, slot), after

    def _ways_of_values(
        self, rest: _Slots, values: list[Node], left: Mapping[Node, int]
    ) -> Iterator[_Way]:
        """Yield the first of some items with each of its values: those that leave most open first.

        None if there are too few for it and for those like it.
        """
        met = {each: self._met(each) for each in self._possible(rest[0], values)}
        n_met = {node: sum(node in each for each in met.values()) for node in self._left}
        n_left = [min(left[node], n) for node, n in n_met.items()]
        if sum(not each for each in met.values()) + sum(n_left) >= rest.count(rest[0]):
            for value in sorted(met, key=lambda each: len(met[each])):
                yield self._with(rest[0], value), {value, *met[value]}

    @remembered
    def _met(self, value: Node) -> frozenset[Node]:
        """Return what is counted that a value meets."""
        contained = [(node, node.contains) for node in self._left if node.contains is not None]
        return frozenset([node for node, each in contained if self._planner.has([value, each], ())])

    def _possible(self, slot: Slot, values: list[Node]) -> list[Node]:
        """Return the values, of some, that an item may have."""
        return [value for value in values if self._holding(slot, value) is not None]

    def _with(self, slot: Slot, value: Node) -> Slot:
        """Return an item with a value that it may have."""
        return slot._replace(holds=self._holding(slot, value) or ())

    @remembered
    def _holding(self, slot: Slot, value: Node) -> tuple[Node, ...] | None:
        """Return what holds for an item of a value; None if it may not have it."""
        ways = [(*way, *slot.holds, value) for way in self._of(slot.number)]
        return next((way for way in ways if self._planner.has(way, slot.fails)), None)

    def _ways_to_count(
        self, slot: Slot, left: Mapping[Node, int], *, are_all: bool
    ) -> Iterator[_Way]:
        """Yield what some items are, and what is counted that they meet.

        No more than have to meet it, unless all ways are asked for; then those first that leave
        most open.
        """
        limited = [node for node in left if node.contains not in slot.holds]
        surely = left.keys() - limited
        free = [node for node in limited if left[node] >= slot.n]
        sizes = range(len(free), -1, -1) if are_all else range(len(free) + 1)
        for way in self._of(slot.number):
            met: list[frozenset[Node]] = []
            for counted in map(frozenset, chain(*(combinations(free, n) for n in sizes))):
                check_step()
                if not are_all and any(each <= counted for each in met):
                    continue
                none = _contained(node for node in limited if node not in counted)
                holds, fails = (*way, *slot.holds), (*slot.fails, *none)
                if self._planner.has(holds, fails):
                    met.append(counted)
                    yield Slot(slot.number, holds, fails, slot.n), counted | surely
                    if not counted and not are_all:  # nothing is better
                        return

    def _cost(self, way: _Way) -> float:
        number, holds, fails, _ = way[0]
        return 0 if self._price is None else self._price(number, [*holds], [*fails])


def _matched(options: list[list[Node]]) -> list[Node] | None:
    """Return a value for each item, of its options, all different; None if there are too few."""
    takers: dict[Node, int] = {}  # the item that a value is for

    def finds(item: int, tried: set[Node]) -> bool:
        check_step()
        value = next((each for each in options[item] if each not in takers), None)
        for other in options[item] if value is None else ():
            if other not in tried:
                tried.add(other)
                if finds(takers[other], tried):
                    value = other
                    break
        if value is not None:
            takers[value] = item
        return value is not None

    if not all(finds(item, set()) for item in range(len(options))):
        return None
    return sorted(takers, key=takers.__getitem__)


def _contained(nodes: Iterable[Node]) -> list[Node]:
    """Return what some nodes contain."""
    return [node.contains for node in nodes if node.contains is not None]
