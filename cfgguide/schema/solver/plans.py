"""How an object or array that has begun can go on so that some nodes hold for it and others fail.

In: its automaton, a state of it, and a goal. Out: a :class:`Plan`: which nodes hold and which fail,
and which parts come: of objects listed names, and values that have to fail a node
(:mod:`cfgguide.schema.solver.object_plans`); of arrays items
(:mod:`cfgguide.schema.solver.array_plans`). Everything else may come or not.

What a node asks of the nodes beside it and of parts is written as clauses; of each clause one
alternative has to be met. ::

    oneOf a: {required: [x]}, b: {...} holds     a holds and b fails, or b holds and a fails
    a fails                                      x does not come

A clause with one alternative left is met at once; else the shortest one is tried, one alternative
after the other. Values of different parts don't depend on each other, so each is asked about by
itself, and of those that hold and those that fail only the ones that some alternative asked for.

What is asked of the next part is what all plans ask of it. A plan that asks for more than one
before it is given up as soon as it does.

Source: Davis, Logemann, Loveland, "A machine program for theorem-proving" (1962).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, combinations
from math import inf
from typing import Any, Generic, NamedTuple, TypeVar

from cfgguide.base.limits import check_step
from cfgguide.base.remembered import remembered
from cfgguide.engine.byte_machine.scalars import Bounds
from cfgguide.schema.solver.arrays import ArrayMachine, ItemsSeen
from cfgguide.schema.solver.goals import Case, case_of
from cfgguide.schema.solver.nodes import Node
from cfgguide.schema.solver.objects import ObjectMachine, Properties
from cfgguide.schema.solver.truth import may_evaluate

Machine = TypeVar("Machine", bound=ObjectMachine | ArrayMachine)
State = TypeVar("State", bound=Properties | ItemsSeen)

#: Whether some value meets all nodes of the first kind and none of the second.
Has = Callable[[Iterable[Node], Iterable[Node]], bool]
#: Whether it is new that some nodes are to hold for the next part, and others to fail.
IsNew = Callable[[Iterable[Node], Iterable[Node]], bool]
#: What a property of a class of names costs, whose value some nodes hold for and others not.
Price = Callable[[int, list[Node], list[Node]], float]


#: Alternatives, after which the limits are looked at; at each one: the same time within 5 %.
OFTEN = 256
#: Open clauses: then it is tried to let no more names come. At 6 and 24 the same work within 1 %.
_MANY = 12


class Holds(NamedTuple):
    """A node holds, or fails."""

    node: Node
    is_true: bool


class Comes(NamedTuple):
    """A listed name comes, or does not."""

    number: int
    is_true: bool


class Fails(NamedTuple):
    """A property of a class of names, or an item, comes that fails a node; None for any."""

    number: int
    node: Node | None


class Counts(NamedTuple):
    """There are so many properties or items."""

    least: int
    most: int | None


class Contains(NamedTuple):
    """So many items meet what a node contains."""

    node: Node
    least: int
    most: int | None


class Repeats(NamedTuple):
    """An item comes twice."""


class Overlooked(NamedTuple):
    """No keyword that a node sees evaluates the properties of a class of names, or an item."""

    node: Node
    number: int
    is_past: bool = False


class Waits(NamedTuple):
    """A property of a class of names, or an item, has come that a node itself has not evaluated."""

    node: Node
    number: int


Literal = Holds | Comes | Fails | Counts | Contains | Repeats | Overlooked | Waits
Alternative = tuple[Literal, ...]  # all of them
Part = tuple[int, list[Node], list[Node]]  # its number, the nodes that hold, those that fail
Asked = tuple[Sequence[Node], Sequence[Node]]  # the same of the next part
Topic = Node | int  # what a literal is about: a node, a class of names, or an item


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


class Slot(NamedTuple):
    """Items that come: their number, which nodes are to hold and to fail, and how many they are."""

    number: int
    holds: tuple[Node, ...] = ()
    fails: tuple[Node, ...] = ()
    n: int = 1


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
        For classes of names, or items, the nodes that a value has to fail.
    contained : dict of Node to (int, int or None)
        How many items are to meet what a node contains, in all.
    repeats : bool
        Whether an item comes twice.
    least, most : int, int or None
        How many properties or items there are in all.
    overlooked : list of Overlooked
        What no keyword may evaluate.
    clauses : list of Clause
        What is still open.
    n_filled : dict of int to int
        How many properties come only for their number, by class of names.
    slots : tuple of Slot or None
        The items that come, once they are arranged.
    """

    truth: dict[Node, bool] = field(default_factory=dict)
    held: dict[Node, None] = field(default_factory=dict)
    failed: set[Node] = field(default_factory=set)
    unsure: set[Node] = field(default_factory=set)
    names: int = -1
    coming: set[int] = field(default_factory=set)
    missing: set[int] = field(default_factory=set)
    failing: dict[int, dict[Node, None]] = field(default_factory=dict)
    contained: dict[Node, Bounds] = field(default_factory=dict)
    repeats: bool = False
    least: int = 0
    most: int | None = None
    overlooked: list[Overlooked] = field(default_factory=list)
    clauses: list[Clause] = field(default_factory=list)
    n_filled: dict[int, int] = field(default_factory=dict)
    slots: tuple[Slot, ...] | None = None

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
            contained=dict(self.contained),
            overlooked=list(self.overlooked),
            clauses=list(clauses),
            n_filled=dict(self.n_filled),
        )


class Clauses(Generic[Machine]):
    """What nodes ask of the nodes beside them and of parts, made once for all states."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.kind = machine.kind
        self._topics: dict[Node, frozenset[Topic]] = {}

    @remembered
    def to_hold(self, node: Node) -> list[Clause]:
        """Return clauses that are all met where a node holds, if the values meet it too."""
        found = [*map(self.clause, self._holding(node))]
        if node.one_of is not None:
            branches = tuple((Holds(each, True), Holds(each, False)) for each in node.one_of)
            topics = frozenset[Topic]().union(*map(self.topics, node.one_of))
            found.append(Clause((), topics, branches))
        if node.any_of is not None:
            found.append(self.any_of([(Holds(each, True),) for each in node.any_of]))
        return found

    @remembered
    def to_fail(self, node: Node) -> Clause:
        """Return a clause that is met where a node fails."""
        return self.clause([*self._failing_alone(node), *_failing_beside(node)])

    def clause(self, alternatives: Sequence[Alternative]) -> Clause:
        """Return a clause of some alternatives."""
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

    def any_of(self, alternatives: list[tuple[Holds]]) -> Clause:
        """Return the clause that one of some nodes holds."""
        return self.clause(alternatives)

    def topics(self, node: Node, above: frozenset[Node] = frozenset()) -> frozenset[Topic]:
        """Return what tells whether a node may hold: others that see the same value, and parts.

        Those `above` are being looked at, and refer to it.
        """
        known = self._topics.get(node)
        if known is None:
            check_step()
            if node in above:
                return frozenset([node])
            found: set[Topic] = {node}
            if not node.is_false and self.kind in node.kinds:
                found.update(self._topics_alone(node))
            for other in (*node.all_of, *(node.any_of or ()), *(node.one_of or ())):
                found |= self.topics(other, above | {node})
            known = self._topics[node] = frozenset(found)
        return known

    @remembered
    def tells(self, topics: frozenset[Topic], number: int) -> bool:
        """Return whether some topics have to do with a part."""
        nodes = [each for each in topics if isinstance(each, Node)]
        return number in topics or any(
            self._machine.children(node, number) or node.rest_of(self.kind) or node.contains
            for node in nodes
        )

    def _topics_alone(self, node: Node) -> Iterable[Topic]:
        return ()

    def _holding(self, node: Node) -> Iterator[Sequence[Alternative]]:
        yield from self._holding_alone(node)
        yield from _holding_beside(node)
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

    def _holding_alone(self, node: Node) -> Iterator[Sequence[Alternative]]:
        """Yield what a node itself asks for."""
        if node.bounds_of(self.kind) != (0, None):
            yield [(Counts(*node.bounds_of(self.kind)),)]
        yield from self._holding_by(node)
        # Which parts are evaluated is known only once each of these nodes is decided.
        if node.rest_of(self.kind) is not None:
            yield from self.deciding(node)

    def _failing_alone(self, node: Node) -> Iterator[Alternative]:
        """Yield what lets a node itself fail."""
        yield from self._failing_by(node)
        least, most = node.bounds_of(self.kind)
        if least > 0:
            yield (Counts(0, least - 1),)
        if most is not None:
            yield (Counts(most + 1, None),)
        rest = node.rest_of(self.kind)
        for number in range(self._machine.n_numbers):
            if not number % OFTEN:
                check_step(OFTEN)
            children = self._machine.children(node, number)
            for child in children:
                yield (Fails(number, child),)
            if self._machine.refuses(node, number):
                yield (Fails(number, None),)
            if rest is not None and not children:
                yield Waits(node, number), Overlooked(node, number, is_past=True)
                yield Fails(number, rest), Overlooked(node, number)

    @abstractmethod
    def _holding_by(self, node: Node) -> Iterator[Sequence[Alternative]]:
        """Yield what a node asks for by keywords of its kind of value only."""

    def _failing_by(self, node: Node) -> Iterator[Alternative]:
        """Yield what lets a node fail by such keywords."""
        return map(_refuted, self._holding_by(node))

    def deciding(self, node: Node) -> Iterator[Sequence[Alternative]]:
        """Yield what has to be decided to know what the keywords that a node sees evaluate."""
        for other in (node, *may_evaluate(node, self.kind)):
            yield [(Holds(other, True),), (Holds(other, False),)]


def _holding_beside(node: Node) -> Iterator[Sequence[Alternative]]:
    """Yield what a node asks of others that surely have to hold, or to fail, with it."""
    yield from ([(Holds(other, True),)] for other in node.all_of)
    if node.negated is not None:
        yield [(Holds(node.negated, False),)]
    if node.values is not None:
        yield [(Holds(other, True),) for other in node.values.nodes]


def _refuted(alternatives: Sequence[Alternative]) -> Alternative:
    """Return what lets all alternatives fail, in which all but the last literals tell them apart.

    >>> here, there = Comes(0, True), Comes(1, True)
    >>> _refuted([(Comes(0, False),), (here, there)])
    (Comes(number=0, is_true=True), Comes(number=1, is_true=False))
    """
    last: list[Any] = [alternative[-1] for alternative in alternatives]
    return tuple(literal._replace(is_true=not literal.is_true) for literal in last)


def _failing_beside(node: Node) -> Iterator[Alternative]:
    """Yield what lets a node fail by other nodes."""
    yield from map(_refuted, _holding_beside(node))
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


class Planner(Generic[Machine, State]):
    """Finds plans for one state of an object or array.

    Parameters
    ----------
    machine : ObjectMachine or ArrayMachine
        The automaton of the objects or arrays.
    clauses : Clauses
        Of the same machine.
    state : Properties or ItemsSeen
        What has come.
    has : callable
        Whether some value meets all nodes of the first kind and none of the second.
    count : callable
        Called for each choice; it raises if there were too many.
    """

    def __init__(
        self,
        machine: Machine,
        clauses: Any,
        state: State,
        has: Has,
        count: Callable[[int], None],
    ) -> None:
        self.machine = machine
        self._clauses = clauses
        self.state = state
        self.has = has
        self.count = count
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
        asked: int | None = None,
    ) -> Iterator[Plan]:
        """Yield ways in which all of some literals come true, one for each choice.

        With a price, what comes only for its number is what costs least. A plan that is not worth
        it is not made complete. If it is asked about the next part, of a class of names or an item,
        what asks something else is tried first, and all ways are.
        """
        if goal not in self._begun:
            plan = Plan()
            self._begun[goal] = plan if self._is_consistent(plan, list(goal)) else None
        begun = self._begun[goal]
        if begun is not None:
            begun = begun.copy(begun.clauses)
            yield from self._solved(begun, list(also), price, is_worth, asked)

    def _solved(
        self,
        plan: Plan,
        pending: list[Literal],
        price: Price | None,
        is_worth: Callable[[Plan], bool],
        asked: int | None,
    ) -> Iterator[Plan]:
        self.count(1)
        if not self._is_consistent(plan, pending) or self._overlooks(plan):
            return
        if not is_worth(plan) or not self._has_values(plan):
            return
        if not plan.clauses:
            if self._completes(plan, price, is_asked=asked is not None):
                yield plan
            return
        # Where no more names come, nothing that is left to choose makes it cheaper.
        n_open = sum(max(1, len(clause.branches)) for clause in plan.clauses)
        if n_open >= _MANY and (simple := self._without_more(plan, price)):
            yield simple
            if asked is None or not is_worth(plan):
                return
        clause = min(plan.clauses, key=partial(self._urgency, asked))
        others = [each for each in plan.clauses if each is not clause]
        possible = self._open(plan, clause)
        if possible is not None and asked is not None:
            possible.sort(key=lambda each: _asks(each, asked))
        for alternative in [()] if possible is None else possible:
            yield from self._solved(plan.copy(others), list(alternative), price, is_worth, asked)
            if asked is not None and not is_worth(plan):  # what it asks was found to be enough
                return

    def _urgency(self, asked: int | None, clause: Clause) -> tuple[bool, int]:
        """Return what is less for a clause to be tried first: what tells of a part asked about.

        Then what is asked of it is known soon, and of the other clauses any way is enough.
        """
        tells = asked is None or self._clauses.tells(clause.topics, asked)
        return not tells, clause.n_alternatives

    def _without_more(self, plan: Plan, price: Price | None) -> Plan | None:
        """Return a plan in which no more names come, if then nothing is left to choose."""
        return None

    def asked(
        self,
        goals: Iterable[tuple[Literal, ...]],
        also: tuple[Literal, ...],
        number: int,
        found: list[Case],
    ) -> Iterator[Case]:
        """Yield what is asked of the next part, so that a goal is met.

        Of all plans only those are made complete that ask for something else than what was found:
        as more is decided, more is asked.
        """

        def new(holding: Iterable[Node], failing: Iterable[Node]) -> Case | None:
            check_step(0)
            case = case_of(holding, failing)
            return None if any(each.includes(case) for each in found) else case

        def is_new(holding: Iterable[Node], failing: Iterable[Node]) -> bool:
            return new(holding, failing) is not None

        def is_worth(plan: Plan) -> bool:
            return is_new(self.holding(plan, number), self._failing(plan, number))

        for goal in goals:
            for plan in self.plans(goal, also, is_worth=is_worth, asked=number):
                for each in self._asked_of(plan, number, is_new):
                    case = new(*each)
                    if case is not None:
                        found[:] = [one for one in found if not case.includes(one)] + [case]
                        yield case

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

    def _open(
        self, plan: Plan, clause: Clause, most: int | None = None
    ) -> list[Alternative] | None:
        """Return the alternatives that are still possible; None if one of them is met.

        After `most` of them, the others are not looked at.
        """
        check_step()
        if clause.branches:
            return self._open_branches(plan, clause)
        left, failed = [], self.state.failed
        possible = clause.alternatives
        if clause.by_name is not None:
            named = [clause.by_name.get(number, []) for number in plan.coming]
            possible = min(named, key=len, default=possible)
        for number, alternative in enumerate(possible):
            if number % OFTEN == 0:
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
            known = self._truth(plan, literal.node)
            return None if known is None else known is literal.is_true
        if isinstance(literal, Counts):
            return known_bounds((max(plan.least, self.state.n_parts), plan.most), literal)
        if isinstance(literal, Waits):
            return literal in [each[:2] for each in self.state.pending]
        return self._known_of_parts(plan, literal)

    def _truth(self, plan: Plan, node: Node) -> bool | None:
        """Return whether a node holds or fails; None if that is open."""
        known = plan.truth.get(node)
        if known is None and self._surely_fails(plan, node):
            return False
        return True if known is None and self._surely_holds(plan, node) else known

    def _surely_holds(self, plan: Plan, node: Node) -> bool:
        """Return whether a node holds by what has come or is decided, whatever else comes."""
        is_steady = self._clauses.is_steady(node) and self._may_hold(node)
        return is_steady and self._has_enough(plan, node)

    @abstractmethod
    def _has_enough(self, plan: Plan, node: Node) -> bool:
        """Return whether that has come, or surely comes, without which a node would not hold."""

    def _surely_fails(self, plan: Plan, node: Node) -> bool:
        """Return whether a node fails by what is decided of parts, and of other nodes."""
        if node in plan.failed or not self._may_hold(node):
            return True
        if node in plan.unsure or plan.truth.get(node):
            return False
        check_step()
        fails = partial(self._surely_fails, plan)
        branches = (node.any_of, node.one_of)
        if (
            self._fails_by_parts(plan, node)
            or any(map(fails, node.all_of))
            or any(found is not None and all(map(fails, found)) for found in branches)
        ):
            plan.failed.add(node)
            return True
        # Asked again and again: the answer stands until `_assume` decides something more.
        plan.unsure.add(node)
        return False

    def _may_hold(self, node: Node) -> bool:
        kind = self._clauses.kind
        return not (node.is_false or kind not in node.kinds or node in self.state.failed)

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
                plan.clauses += self._clauses.to_hold(literal.node)
            else:
                plan.clauses.append(self._clauses.to_fail(literal.node))
        elif isinstance(literal, Counts):
            plan.least = max(plan.least, literal.least)
            if literal.most is not None:
                plan.most = literal.most if plan.most is None else min(plan.most, literal.most)
            return plan.most is None or plan.least <= plan.most
        elif isinstance(literal, Overlooked):
            plan.overlooked.append(literal)
            # Which keywords evaluate the parts depends on which of these nodes hold.
            plan.clauses += map(self._clauses.clause, self._clauses.deciding(literal.node))
        self._assume_of_parts(plan, literal)
        return True

    # -- parts ------------------------------------------------------------------------------

    @abstractmethod
    def _known_of_parts(self, plan: Plan, literal: Literal) -> bool | None:
        """Return whether a literal about parts is met, or cannot be; None if that is open."""

    @abstractmethod
    def _assume_of_parts(self, plan: Plan, literal: Literal) -> None:
        """Keep what a literal says of parts."""

    @abstractmethod
    def _fails_by_parts(self, plan: Plan, node: Node) -> bool:
        """Return whether a node fails by what is decided of parts."""

    @abstractmethod
    def _topics(self, literal: Literal) -> Iterable[Topic]:
        """Return what else may be known once a literal is met."""

    @abstractmethod
    def properties(self, plan: Plan) -> Iterator[Part]:
        """Yield the parts that come."""

    @abstractmethod
    def holding(self, plan: Plan, number: int) -> list[Node]:
        """Return the nodes that have to hold for a part."""

    def _failing(self, plan: Plan, number: int) -> Iterable[Node]:
        """Return the nodes that have to fail for the next part, as far as it is decided.

        Where there may be others of its number, one of these may come for what has to fail.
        """
        return plan.failing.get(number, ()) if number < self.machine.n_single else ()

    @abstractmethod
    def _asked_of(self, plan: Plan, number: int, is_new: IsNew) -> Iterator[Asked]:
        """Yield what a plan asks of the next part."""

    @abstractmethod
    def _has_values(self, plan: Plan) -> bool:
        """Return whether there are values for all parts that come."""

    def _completes(self, plan: Plan, price: Price | None, *, is_asked: bool = False) -> bool:
        """Add what else has to come; return whether everything is as it is to be.

        If it is asked about the next part, all ways to add it are looked for later.
        """
        for node, number, is_past in plan.overlooked:
            past = [each for each in self.state.pending if each[:2] == (node, number)]
            parts = past if is_past else [(node, number)]
            if not any(self._is_overlooked(plan, *part) for part in parts):
                return False
        return not self._overlooks(plan) and self._is_filled(plan, price, is_asked=is_asked)

    def _overlooks(self, plan: Plan) -> bool:
        """Return whether what has come is surely not evaluated, where a node asks for that."""
        return any(
            plan.truth.get(node) and self._is_overlooked(plan, node, *part)
            for node, *part in self.state.pending
        )

    @abstractmethod
    def _is_filled(self, plan: Plan, price: Price | None, *, is_asked: bool) -> bool:
        """Add what comes only for its number; return whether there is enough."""

    @abstractmethod
    def _is_overlooked(self, plan: Plan, node: Node, number: int, *matched: Any) -> bool:
        """Return whether no keyword that a node sees evaluates a part.

        If it is not decided yet which of them apply, they may.
        """


def most_of(most: int | None) -> float:
    """Return a bound as a number."""
    return inf if most is None else most


def known_bounds(known: Bounds, asked: Counts | Contains) -> bool | None:
    """Return whether a number that has some bounds has others; None if that is open."""
    if most_of(known[1]) < asked.least or most_of(asked.most) < known[0]:
        return False
    is_met = asked.least <= known[0] and most_of(known[1]) <= most_of(asked.most)
    return is_met or None


def _asks(alternative: Alternative, number: int) -> bool:
    """Return whether an alternative is that a part fails."""
    return any(isinstance(each, Fails) and each.number == number for each in alternative)
