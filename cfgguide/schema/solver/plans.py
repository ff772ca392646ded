"""How an object that has begun can go on so that some nodes hold for it and others fail.

In: an :class:`~cfgguide.schema.solver.objects.ObjectMachine`, a state of it, and a goal. Out: a
:class:`Plan`: listed names that come and listed names that do not, and values that have to fail a
node. Everything else may come or not.

What a node asks of the nodes beside it and of names is written as clauses; of each clause one
alternative has to be met. ::

    oneOf a: {required: [x]}, b: {...} holds     a holds and b fails, or b holds and a fails
    a fails                                      x does not come

A clause with one alternative left is met at once; else the shortest one is tried, one alternative
after the other. Values of different names don't depend on each other, so each is asked about by
itself, and of those that hold and those that fail only the ones that some alternative asked for.

Source: Davis, Logemann, Loveland, "A machine program for theorem-proving" (1962).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import chain, combinations
from operator import and_, or_
from typing import NamedTuple

from cfgguide.base.limits import check_step
from cfgguide.base.remembered import remembered
from cfgguide.base.sets import members
from cfgguide.schema.solver.nodes import Node
from cfgguide.schema.solver.objects import ObjectMachine, Properties
from cfgguide.schema.solver.truth import evaluators, may_evaluate

#: Whether some value meets all nodes of the first kind and none of the second.
Has = Callable[[Iterable[Node], Iterable[Node]], bool]
#: What a property of a class of names costs, whose value some nodes hold for and others not.
Price = Callable[[int, list[Node], list[Node]], float]


_OFTEN = 256  # alternatives, after which the limits are looked at
_ANY_NAME = -1  # a topic: whatever name comes, a node has something to say of its value
_MANY = 3  # open clauses: then it is tried to let no more names come, if that is what costs
_VERY_MANY = 12  # the same for any plan: of fewer, some choice is found sooner


class Holds(NamedTuple):
    """A node holds, or fails."""

    node: Node
    is_true: bool


class Comes(NamedTuple):
    """A listed name comes, or does not."""

    number: int
    is_true: bool


class Fails(NamedTuple):
    """A property of a class of names comes whose value a node does not hold for; None for any."""

    number: int
    node: Node | None


class Counts(NamedTuple):
    """There are so many properties."""

    least: int
    most: int | None


class Overlooked(NamedTuple):
    """No keyword that a node sees evaluates the properties of a class of names."""

    node: Node
    number: int


class Waits(NamedTuple):
    """A property of a class of names has come that a node has not evaluated by itself."""

    node: Node
    number: int


Literal = Holds | Comes | Fails | Counts | Overlooked | Waits
Alternative = tuple[Literal, ...]  # all of them
Topic = Node | int  # what a literal is about: a node, or a class of names


class Clause(NamedTuple):
    """Alternatives of which one has to be met; nothing changes where none of the topics does.

    Attributes
    ----------
    alternatives : sequence of Alternative
        Empty where `branches` are asked about.
    topics : frozenset of Topic
        What the literals are about.
    branches : tuple of (Holds, Holds)
        Nodes of which exactly one has to hold: that each holds, and that it fails.
    by_name : dict of int to list of Alternative, or None
        The alternatives that let a property come, where all let come only what they declare.
    """

    alternatives: Sequence[Alternative]
    topics: frozenset[Topic]
    branches: tuple[tuple[Holds, Holds], ...] = ()
    by_name: dict[int, list[Alternative]] | None = None

    @property
    def n_alternatives(self) -> int:
        """Number of alternatives."""
        return len(self.branches) or len(self.alternatives)


@dataclass
class Plan:
    """What is decided.

    Attributes
    ----------
    truth : dict of Node to bool
        Nodes that are to hold or to fail.
    held : dict of Node to None
        Those that are to hold.
    failed : set of Node
        Nodes that are known to fail, whatever else is decided.
    unsure : set of Node
        Nodes of which that is not known by now.
    names : int
        The classes of names that no node that is to hold refuses, as bits.
    coming, missing : set of int
        Listed names that come, of those that have not; and those that do not.
    failing : dict of int to dict of Node to None
        For classes of names the nodes that a value has to fail.
    least, most : int, int or None
        How many properties there are in all.
    overlooked : list of Overlooked
        What no keyword may evaluate.
    clauses : list of Clause
        What is still open.
    n_filled : dict of int to int
        How many properties come only for their number, by class of names.
    """

    truth: dict[Node, bool] = field(default_factory=dict)
    held: dict[Node, None] = field(default_factory=dict)
    failed: set[Node] = field(default_factory=set)
    unsure: set[Node] = field(default_factory=set)
    names: int = -1
    coming: set[int] = field(default_factory=set)
    missing: set[int] = field(default_factory=set)
    failing: dict[int, dict[Node, None]] = field(default_factory=dict)
    least: int = 0
    most: int | None = None
    overlooked: list[Overlooked] = field(default_factory=list)
    clauses: list[Clause] = field(default_factory=list)
    n_filled: dict[int, int] = field(default_factory=dict)

    def copy(self, clauses: list[Clause]) -> Plan:
        """Return a plan that may be changed, with other clauses."""
        return replace(
            self,
            truth=dict(self.truth),
            held=dict(self.held),
            failed=set(self.failed),
            unsure=set(),
            coming=set(self.coming),
            missing=set(self.missing),
            failing={number: dict(nodes) for number, nodes in self.failing.items()},
            overlooked=list(self.overlooked),
            clauses=list(clauses),
            n_filled=dict(self.n_filled),
        )


class Clauses:
    """What nodes ask of the nodes beside them and of names, made once for all states."""

    def __init__(self, machine: ObjectMachine) -> None:
        self._machine = machine
        self._topics: dict[Node, frozenset[Topic]] = {}
        self._all = (1 << len(machine.name_classes)) - 1

    @remembered
    def to_hold(self, node: Node) -> list[Clause]:
        """Return clauses that are all met where a node holds, if the values meet it too."""
        found = [*map(self._clause, self._holding(node))]
        if node.one_of is not None:
            branches = tuple((Holds(each, True), Holds(each, False)) for each in node.one_of)
            topics = frozenset[Topic]().union(*map(self.topics, node.one_of))
            found.append(Clause((), topics, branches))
        if node.any_of is not None:
            alternatives = [(Holds(each, True),) for each in node.any_of]
            by_name = self._by_name(alternatives)
            found.append(self._clause(alternatives)._replace(by_name=by_name))
        return found

    @remembered
    def to_fail(self, node: Node) -> Clause:
        """Return a clause that is met where a node fails."""
        alternatives = *self._missing(node), *self._failing(node), *self._beside(node)
        return self._clause(alternatives)

    def _clause(self, alternatives: Sequence[Alternative]) -> Clause:
        topics: set[Topic] = set()
        nodes: dict[Node, None] = {}
        check_step()
        for literal in chain.from_iterable(alternatives):
            if isinstance(literal, Comes | Fails):
                topics.add(literal.number)
            elif isinstance(literal, Holds):
                nodes[literal.node] = None
        for node in nodes:
            topics |= self.topics(node)
        return Clause(alternatives, frozenset(topics))

    def _by_name(self, alternatives: list[tuple[Holds]]) -> dict[int, list[Alternative]] | None:
        found: dict[int, list[Alternative]] = {}
        for each in alternatives:
            own = self.own(each[0].node.meant)
            if own == self._all:
                return None
            for number in members(own):
                found.setdefault(number, []).append(each)
        return found

    @remembered
    def required(self, node: Node) -> frozenset[int]:
        """Return the names that have to come where a node holds."""
        return frozenset(map(self._machine.number_of, node.required))

    @remembered
    def listed(self, node: Node) -> list[int]:
        """Return the names whose values a node itself lists, or lets have none."""
        return [
            self._machine.number_of(name)
            for name, child in node.properties.items()
            if child.meant.values or child.meant.is_false
        ]

    @remembered
    def own(self, node: Node) -> int:
        """Return the classes of names that a node itself lets come, as bits, and perhaps others."""
        is_closed = node.additional is not None and node.additional.meant.is_false
        if node.is_false or "object" not in node.kinds:  # its names are not even known
            return 0
        if node.patterns or not is_closed:
            return self._all
        return sum(1 << number for number in map(self._machine.number_of, node.properties))

    def names(self, nodes: Iterable[Node], failed: Collection[Node]) -> int:
        """Return the classes of names that may come where nodes hold, as bits, and perhaps others.

        Others have failed.
        """
        known: dict[Node, int] = dict.fromkeys(failed, 0)

        def of(node: Node) -> int:
            if node not in known:
                check_step()
                found = reduce(and_, map(of, node.all_of), self.own(node))
                for branches in (node.any_of, node.one_of):
                    if branches is not None:
                        found &= reduce(or_, map(of, branches))
                known[node] = found
            return known[node]

        return reduce(and_, map(of, nodes), self._all)

    def topics(self, node: Node, above: frozenset[Node] = frozenset()) -> frozenset[Topic]:
        """Return what tells whether a node may hold: others that see the same value, and names.

        Those `above` are being looked at, and refer to it.
        """
        known = self._topics.get(node)
        if known is None:
            check_step()
            if node in above:
                return frozenset([node])
            found: set[Topic] = {node}
            if not node.is_false and "object" in node.kinds:
                found.update(self.required(node), self.listed(node))
                if node.additional is not None or node.patterns:
                    found.add(_ANY_NAME)
            for other in (*node.all_of, *(node.any_of or ()), *(node.one_of or ())):
                found |= self.topics(other, above | {node})
            known = self._topics[node] = frozenset(found)
        return known

    def _holding(self, node: Node) -> Iterator[Sequence[Alternative]]:
        number_of = self._machine.number_of
        yield from ([(Comes(number_of(name), True),)] for name in node.required)
        yield from ([(Holds(other, True),)] for other in node.all_of)
        if node.negated is not None:
            yield [(Holds(node.negated, False),)]
        if node.n_properties != (0, None):
            yield [(Counts(*node.n_properties),)]
        if node.values is not None:
            yield [(Holds(other, True),) for other in node.values.nodes]
        if node.conditional is not None:
            condition, then, other = node.conditional
            # The shorter alternative comes first: it asks for less, and the first that works is
            # taken.
            yield sorted(
                [
                    (Holds(condition, False), *([Holds(other, True)] if other else [])),
                    (Holds(condition, True), *([Holds(then, True)] if then else [])),
                ],
                key=len,
            )
        for name, others in node.needs.items():
            missing = (Comes(number_of(name), False),)
            yield from ([missing, (Comes(number_of(each), True),)] for each in others)
        for name, dependent in node.dependent.items():
            number = number_of(name)
            yield [(Comes(number, False),), (Comes(number, True), Holds(dependent, True))]
        # Which properties are evaluated is known only once each of these nodes is decided.
        if node.unevaluated is not None:
            yield from self._deciding(node)

    def decided(self, node: Node) -> list[Clause]:
        """Return clauses after which it is known what the keywords that a node sees evaluate."""
        return [*map(self._clause, self._deciding(node))]

    def _deciding(self, node: Node) -> Iterator[Sequence[Alternative]]:
        for other in (node, *may_evaluate(node, "object")):
            yield [(Holds(other, True),), (Holds(other, False),)]
            for number in map(self._machine.number_of, other.dependent):
                check_step()
                yield [(Comes(number, False),), (Comes(number, True),)]

    def _missing(self, node: Node) -> Iterator[Alternative]:
        number_of = self._machine.number_of
        yield from ((Comes(number_of(name), False),) for name in node.required)
        least, most = node.n_properties
        if least > 0:
            yield (Counts(0, least - 1),)
        if most is not None:
            yield (Counts(most + 1, None),)
        for name, others in node.needs.items():
            for other in others:
                yield Comes(number_of(name), True), Comes(number_of(other), False)
        for name, dependent in node.dependent.items():
            yield Comes(number_of(name), True), Holds(dependent, False)

    def _failing(self, node: Node) -> Iterator[Alternative]:
        """Yield what lets a node fail by a property."""
        machine = self._machine
        for number, names in enumerate(machine.name_classes):
            if not number % _OFTEN:
                check_step(_OFTEN)
            children = machine.children(node, names)
            for child in children:
                yield (Fails(number, child),)
            if node.names is not None and node.names.meant not in names.accepted:
                yield (Fails(number, None),)
            if node.unevaluated is not None and not children:
                overlooked = Overlooked(node, number)
                yield Waits(node, number), overlooked
                yield Fails(number, node.unevaluated), overlooked

    def _beside(self, node: Node) -> Iterator[Alternative]:
        """Yield what lets a node fail by other nodes."""
        yield from ((Holds(other, False),) for other in node.all_of)
        if node.negated is not None:
            yield (Holds(node.negated, True),)
        if node.values is not None:
            yield tuple(Holds(other, False) for other in node.values.nodes)
        for branches in (node.any_of, node.one_of):
            if branches is not None:
                yield tuple(Holds(other, False) for other in branches)
        for one, other in combinations(node.one_of or (), 2):
            check_step()
            yield Holds(one, True), Holds(other, True)
        if node.conditional is not None:
            condition, then, otherwise = node.conditional
            if then is not None:
                yield Holds(condition, True), Holds(then, False)
            if otherwise is not None:
                yield Holds(condition, False), Holds(otherwise, False)


class Planner:
    """Finds plans for one state of an object.

    Parameters
    ----------
    machine : ObjectMachine
        The automaton of the objects.
    clauses : Clauses
        Of the same machine.
    state : Properties
        What has come.
    has : callable
        Whether some value meets all nodes of the first kind and none of the second.
    count : callable
        Called for each choice; it raises if there were too many.
    """

    def __init__(
        self,
        machine: ObjectMachine,
        clauses: Clauses,
        state: Properties,
        has: Has,
        count: Callable[[int], None],
    ) -> None:
        self._machine = machine
        self._clauses = clauses
        self._state = state
        self._has = has
        self._count = count
        self._missed = machine.missed(state)
        self._n_came = state.n_named + state.n_others
        self.n_names = len(machine.names)
        self._begun: dict[tuple[Literal, ...], Plan | None] = {}
        #: Plans that were found, by goal.
        self.known: dict[tuple[Literal, ...], Plan | None] = {}

    def plan(self, goal: tuple[Literal, ...], also: tuple[Literal, ...] = ()) -> Plan | None:
        """Return how all of some literals can come true, and others; None if they cannot."""
        return next(self.plans(goal, also), None)

    def plans(
        self,
        goal: tuple[Literal, ...],
        also: tuple[Literal, ...] = (),
        *,
        price: Price | None = None,
        is_worth: Callable[[Plan], bool] = lambda _: True,
    ) -> Iterator[Plan]:
        """Yield ways in which all of some literals come true, one for each choice.

        With a price, what comes only for its number is what costs least. A plan that is not worth
        it is not made complete.
        """
        if goal not in self._begun:
            plan = Plan()
            self._begun[goal] = plan if self._is_consistent(plan, list(goal)) else None
        begun = self._begun[goal]
        if begun is not None:
            yield from self._solved(begun.copy(begun.clauses), list(also), price, is_worth)

    def longer(self, plan: Plan, literal: Literal) -> Plan | None:
        """Return a plan in which one more literal comes true; None if that one has no such."""
        if plan.n_filled:  # perhaps with names that may not come then
            return None
        return next(self._solved(plan.copy([]), [literal], None, lambda _: True), None)

    def _solved(
        self,
        plan: Plan,
        pending: list[Literal],
        price: Price | None,
        is_worth: Callable[[Plan], bool],
    ) -> Iterator[Plan]:
        self._count(1)
        if not self._is_consistent(plan, pending) or self._overlooks(plan):
            return
        if not self._has_values(plan) or not is_worth(plan):
            return
        if not plan.clauses:
            if self._completes(plan, price):
                yield plan
            return
        # Where no more names come, nothing that is left to choose makes it cheaper.
        most = _VERY_MANY if price is None else _MANY
        if len(plan.clauses) >= most and (simple := self._without_more(plan, price)):
            yield simple
            return
        clause = min(plan.clauses, key=lambda each: each.n_alternatives)
        others = [each for each in plan.clauses if each is not clause]
        possible = self._open(plan, clause)
        for alternative in [()] if possible is None else possible:
            yield from self._solved(plan.copy(others), list(alternative), price, is_worth)

    def _without_more(self, plan: Plan, price: Price | None) -> Plan | None:
        """Return a plan in which no more names come, if then nothing is left to choose."""
        topics = frozenset[Topic]().union(*(clause.topics for clause in plan.clauses))
        numbers = [each for each in topics if isinstance(each, int) and 0 <= each < self.n_names]
        trial = plan.copy(plan.clauses)
        left = sorted(each for each in numbers if self._comes(plan, each) is None)
        if not self._is_consistent(trial, [Comes(each, False) for each in left]) or trial.clauses:
            return None
        return trial if self._has_values(trial) and self._completes(trial, price) else None

    # -- clauses ----------------------------------------------------------------------------

    def _is_consistent(self, plan: Plan, pending: list[Literal]) -> bool:
        """Meet all literals, and what follows from them; return whether that is possible."""
        while pending:
            n_known, changed = len(plan.clauses), set[Topic]()
            while pending:
                literal = pending.pop()
                if not self._assume(plan, literal):
                    return False
                changed.update(self._topics(literal))
            left = []
            for number, clause in enumerate(plan.clauses):
                if number < n_known and clause.topics.isdisjoint(changed):
                    left.append(clause)
                    continue
                alternatives = self._open(plan, clause, most=2)
                if alternatives is None:
                    continue
                if not alternatives:
                    return False
                if len(alternatives) == 1:
                    pending += alternatives[0]
                else:
                    left.append(clause)
            plan.clauses = left
        return True

    def _topics(self, literal: Literal) -> Iterable[Topic]:
        """Return what else may be known once a literal is met."""
        if isinstance(literal, Holds):
            listed = self._clauses.listed(literal.node) if literal.is_true else []
            return [literal.node, *listed, *([_ANY_NAME] if listed else [])]
        return [literal.number, _ANY_NAME] if isinstance(literal, Comes | Fails) else []

    def _open(
        self, plan: Plan, clause: Clause, most: int | None = None
    ) -> list[Alternative] | None:
        """Return the alternatives that are still possible; None if one of them is met.

        After `most` of them, the others are not looked at.
        """
        check_step()
        if clause.branches:
            return self._open_branches(plan, clause)
        left, failed = [], self._state.failed
        possible = clause.alternatives
        if clause.by_name is not None:
            named = [clause.by_name.get(number, []) for number in plan.coming]
            possible = min(named, key=len, default=possible)
        for number, alternative in enumerate(possible):
            if number % _OFTEN == 0:
                check_step()
            is_met = True
            for literal in alternative:
                # Of hundreds of listed objects, most have failed: that is seen at once.
                if isinstance(literal, Holds) and literal.is_true and literal.node in failed:
                    break
                known = self._known(plan, literal)
                if known is False:
                    break
                is_met = is_met and known is True
            else:
                if is_met:
                    return None
                left.append(alternative)
                if len(left) == most:
                    break
        return left

    def _open_branches(self, plan: Plan, clause: Clause) -> list[Alternative] | None:
        """Return which of the branches may be the only one that holds; None if one is."""
        holding: list[tuple[Holds, Holds]] = []
        unknown: list[tuple[Holds, Holds]] = []
        for each in clause.branches:
            check_step()
            known = self._known(plan, each[0])
            if known is not False:
                (holding if known else unknown).append(each)
        if len(holding) > 1:
            return []
        fails = [each[1] for each in unknown]
        if holding:
            return [tuple(fails)] if fails else None
        return [
            (each[0], *fails[:number], *fails[number + 1 :]) for number, each in enumerate(unknown)
        ]

    def _known(self, plan: Plan, literal: Literal) -> bool | None:
        """Return whether a literal is met, or cannot be; None if that is open."""
        if isinstance(literal, Holds):
            known = plan.truth.get(literal.node)
            if known is None and self._surely_fails(plan, literal.node):
                known = False
            return None if known is None else known is literal.is_true
        if isinstance(literal, Comes):
            known = self._comes(plan, literal.number)
            return None if known is None else known is literal.is_true
        if isinstance(literal, Fails):
            failing = plan.failing.get(literal.number)
            if failing is not None and (literal.node is None or literal.node in failing):
                return True
            if not plan.names >> literal.number & 1:
                return False
            # Of the names that are not listed another one may always come.
            if literal.number >= self.n_names:
                return None
            if not self._machine.may_come(self._state, literal.number):
                return False
            if literal.number in plan.missing:
                return False
            if literal.number not in plan.coming:
                return None
            if literal.node is None:
                return True
            # Its value has to meet a node that shares no value with this one, so this one fails.
            return self._is_excluded(plan, literal.number, literal.node.meant) or None
        if isinstance(literal, Waits):
            return (literal.node, literal.number) in self._state.pending
        # Counts are compared by `_assume`; what is overlooked is known once all nodes are decided.
        return None

    def _surely_fails(self, plan: Plan, node: Node) -> bool:
        """Return whether a node fails by what is decided of names, and of other nodes."""
        if node in plan.failed or not self._may_hold(node):
            return True
        if node in plan.unsure or plan.truth.get(node):
            return False
        check_step()
        required = self._clauses.required(node)
        fails = partial(self._surely_fails, plan)
        branches = (node.any_of, node.one_of)
        if (
            not required.isdisjoint(plan.missing)
            or not required.isdisjoint(self._missed)
            or any(self._refuses(plan, node, number) for number in plan.coming)
            or any(self._refuses(plan, node, number) for number in plan.failing)
            or any(map(fails, node.all_of))
            or any(found is not None and all(map(fails, found)) for found in branches)
        ):
            plan.failed.add(node)
            return True
        # Asked again and again: the answer stands until `_assume` decides something more.
        plan.unsure.add(node)
        return False

    def _refuses(self, plan: Plan, node: Node, number: int) -> bool:
        """Return whether a node fails if a property of a class of names comes."""
        children = self._machine.children(node, self._machine.name_classes[number])
        return any(
            child.meant.is_false
            or (child.meant.values is not None and self._is_excluded(plan, number, child.meant))
            for child in children
        )

    def _is_excluded(self, plan: Plan, number: int, node: Node) -> bool:
        """Return whether a node fails for a property's value since another one holds."""
        name = self._machine.name_classes[number].name
        return any(
            name in each.properties and each.properties[name].meant.excludes(node)
            for each in plan.held
        )

    def _may_hold(self, node: Node) -> bool:
        return not (node.is_false or "object" not in node.kinds or node in self._state.failed)

    def _comes(self, plan: Plan, number: int) -> bool | None:
        """Return whether a listed name has come or comes.

        Those that can come no more have come: else the nodes that need them have failed, and the
        machine keeps the other names that are asked for.
        """
        if self._machine.may_come(self._state, number):
            if number in plan.coming:
                return True
            return False if number in plan.missing or not plan.names >> number & 1 else None
        return self._machine.has_come(self._state, number)

    def _assume(self, plan: Plan, literal: Literal) -> bool:
        """Meet a literal; return whether that is possible."""
        check_step()
        # One more decision may let nodes fail that did not before; those that failed still do.
        plan.unsure.clear()
        known = self._known(plan, literal)
        if known is not None:
            return known
        if isinstance(literal, Holds):
            plan.truth[literal.node] = literal.is_true
            if literal.is_true:
                plan.held[literal.node] = None
                plan.names &= self._clauses.own(literal.node)
                plan.clauses += self._clauses.to_hold(literal.node)
            else:
                plan.clauses.append(self._clauses.to_fail(literal.node))
        elif isinstance(literal, Comes):
            (plan.coming if literal.is_true else plan.missing).add(literal.number)
        elif isinstance(literal, Fails):
            # A value that fails a node has to be there: its property comes.
            if literal.number < self.n_names:
                plan.coming.add(literal.number)
            failing = plan.failing.setdefault(literal.number, {})
            if literal.node is not None:
                failing[literal.node] = None
        elif isinstance(literal, Counts):
            plan.least = max(plan.least, literal.least)
            if literal.most is not None:
                plan.most = literal.most if plan.most is None else min(plan.most, literal.most)
            return plan.most is None or plan.least <= plan.most
        elif isinstance(literal, Overlooked):
            plan.overlooked.append(literal)
            # Which keywords evaluate the properties depends on which of these nodes hold.
            plan.clauses += self._clauses.decided(literal.node)
        return True

    # -- values -----------------------------------------------------------------------------

    def properties(self, plan: Plan) -> Iterator[tuple[int, list[Node], list[Node]]]:
        """Yield the properties that come: class of the name, nodes that hold, nodes that fail.

        The listed ones are first, in their order.
        """
        for number in sorted(plan.coming):
            yield number, self.holding(plan, number), list(plan.failing.get(number, ()))
        for number, nodes in plan.failing.items():
            if number >= self.n_names:
                holding = self.holding(plan, number)
                if len(nodes) < 2 or self._has(holding, nodes):  # one for all of them
                    yield number, holding, list(nodes)
                else:
                    yield from ((number, holding, [node]) for node in nodes)
        for number, n in plan.n_filled.items():
            if number >= self.n_names:
                yield from [(number, self.holding(plan, number), [])] * n

    def holding(self, plan: Plan, number: int) -> list[Node]:
        """Return the nodes that have to hold for a property's value."""
        machine, names = self._machine, self._machine.name_classes[number]
        found: list[Node] = []
        for node in plan.held:
            check_step()
            found += machine.children(node, names)
            if node.unevaluated is not None and self._is_overlooked(plan, node, number):
                found.append(node.unevaluated)
        return found

    def may_come(self, plan: Plan, number: int) -> bool:
        """Return whether a property of a class of names may come, too."""
        if not plan.names >> number & 1:
            return False
        if plan.most is not None and self._n_planned(plan) >= plan.most:
            return False
        if number < self.n_names and (
            number in plan.missing or not self._machine.may_come(self._state, number)
        ):
            return False
        return self._is_accepted(plan, number) and self._has(self.holding(plan, number), ())

    def _has_values(self, plan: Plan) -> bool:
        """Return whether there are values for all properties that come."""
        if plan.most is not None and self._n_planned(plan) > plan.most:
            return False
        return all(
            self._is_accepted(plan, number) and self._has(holding, failing)
            for number, holding, failing in self.properties(plan)
        )

    def _is_accepted(self, plan: Plan, number: int) -> bool:
        names = self._machine.name_classes[number]
        return all(
            node.names is None or node.names.meant.is_trivial or node.names.meant in names.accepted
            for node in plan.held
        )

    def _n_planned(self, plan: Plan) -> int:
        return self._n_came + sum(1 for _ in self.properties(plan))

    def _completes(self, plan: Plan, price: Price | None) -> bool:
        """Add what comes only for its number; return whether everything is as it is to be."""
        if any(not self._is_overlooked(plan, *each) for each in plan.overlooked):
            return False
        if self._overlooks(plan):
            return False
        n_missing = plan.least - self._n_planned(plan)
        numbers: Iterable[int] = range(len(self._machine.name_classes))
        if n_missing > 0 and price is not None:
            numbers = sorted(
                filter(partial(self.may_come, plan), numbers),
                key=lambda number: price(number, self.holding(plan, number), []),
            )
        for number in numbers:
            if n_missing <= 0:
                break
            if number in plan.coming or not self.may_come(plan, number):
                continue
            if number < self.n_names:
                plan.coming.add(number)
                plan.unsure.clear()
                n_missing -= 1
            else:
                plan.n_filled[number] = n_missing
                n_missing = 0
        return n_missing <= 0

    def _overlooks(self, plan: Plan) -> bool:
        """Return whether what has come is surely not evaluated, where a node asks for that."""
        return any(
            plan.truth.get(node) and self._is_overlooked(plan, node, number)
            for node, number in self._state.pending
        )

    def _is_overlooked(self, plan: Plan, node: Node, number: int) -> bool:
        """Return whether no keyword that a node sees evaluates the properties of a class.

        If it is not decided yet which of them apply, they may.
        """
        machine, names = self._machine, self._machine.name_classes[number]
        if machine.children(node, names):
            return False
        leading = machine.leading(node, names)

        def holds(other: Node) -> bool | None:
            if other not in leading:
                return False
            return plan.truth.get(other, False if self._surely_fails(plan, other) else None)

        seen = {
            name
            for other in (node, *leading)
            for name in other.dependent
            if self._may_be_there(plan, name)
        }
        return not leading or not any(
            machine.evaluates(other, names)
            for other in evaluators(node, holds, seen)
            if other is not node
        )

    def _may_be_there(self, plan: Plan, name: str) -> bool:
        return self._comes(plan, self._machine.number_of(name)) is not False
