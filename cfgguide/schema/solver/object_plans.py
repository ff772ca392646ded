"""How an object that has begun can go on: plans of listed names, and of values.

In: an :class:`~cfgguide.schema.solver.objects.ObjectMachine` and a state of it. Out: plans
(:mod:`cfgguide.schema.solver.plans`): listed names that come and listed names that do not, and
values that have to fail a node.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial, reduce
from itertools import chain, combinations
from operator import and_, or_
from typing import Any

from cfgguide.base.limits import check_step
from cfgguide.base.remembered import remembered
from cfgguide.base.sets import members
from cfgguide.schema.solver.nodes import Node
from cfgguide.schema.solver.objects import ObjectMachine, Properties
from cfgguide.schema.solver.plans import (
    Alternative,
    Asked,
    Clause,
    Clauses,
    Comes,
    Fails,
    Holds,
    IsNew,
    Literal,
    Part,
    Plan,
    Planner,
    Price,
    Topic,
)
from cfgguide.schema.solver.truth import evaluators, may_evaluate

_ANY_NAME = -1  # a topic: whatever name comes, a node has something to say of its value


class ObjectClauses(Clauses[ObjectMachine]):
    """What nodes ask of objects."""

    @cached_property
    def _all(self) -> int:
        return (1 << self._machine.n_numbers) - 1

    def any_of(self, alternatives: list[tuple[Holds]]) -> Clause:
        """Return the clause that one of some nodes holds."""
        return self.clause(alternatives)._replace(by_name=self._by_name(alternatives))

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
    def is_steady(self, node: Node) -> bool:
        """Return whether an object that meets a node does so whatever properties are added."""
        return bool(node.required) and node.keywords().keys() <= {"kinds", "required"}

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

    def _topics_alone(self, node: Node) -> Iterable[Topic]:
        any_name = [_ANY_NAME] if node.additional is not None or node.patterns else []
        return [*self.required(node), *self.listed(node), *any_name]

    def _holding_by(self, node: Node) -> Iterator[Sequence[Alternative]]:
        number_of = self._machine.number_of
        yield from ([(Comes(number_of(name), True),)] for name in node.required)
        for name, others in node.needs.items():
            missing = (Comes(number_of(name), False),)
            yield from ([missing, (Comes(number_of(each), True),)] for each in others)
        for name, dependent in node.dependent.items():
            number = number_of(name)
            yield [(Comes(number, False),), (Comes(number, True), Holds(dependent, True))]

    def deciding(self, node: Node) -> Iterator[Sequence[Alternative]]:
        """Yield clauses after which it is known what the keywords that a node sees evaluate."""
        yield from super().deciding(node)
        for other in (node, *may_evaluate(node, "object")):
            for number in map(self._machine.number_of, other.dependent):
                check_step()
                yield [(Comes(number, False),), (Comes(number, True),)]


class ObjectPlanner(Planner[ObjectMachine, Properties]):
    """Finds plans for one state of an object."""

    @cached_property
    def _missed(self) -> frozenset[int]:
        return self.machine.missed(self.state)

    def _asked_of(self, plan: Plan, number: int, is_new: IsNew) -> Iterator[Asked]:
        holding, failing = self.holding(plan, number), plan.failing.get(number, {})
        if number < self.machine.n_single:
            yield holding, [*failing]
            return
        trial = replace(plan, failing=dict(plan.failing), n_filled={})
        for n in range(len(failing) + 1):
            for own in combinations(failing, n):
                check_step()
                others = dict.fromkeys(node for node in failing if node not in own)
                trial.failing[number] = others
                n_planned = self._n_planned(trial) + bool(others)
                if self.has(holding, own) and (plan.most is None or n_planned <= plan.most):
                    yield holding, own

    def n_parts(self, plan: Plan) -> int:
        """Return how many properties come, about."""
        return len(plan.coming) + sum(plan.n_filled.values())

    def _without_more(self, plan: Plan, price: Price | None) -> Plan | None:
        """Return a plan in which no more names come, if then nothing is left to choose."""
        topics = frozenset[Topic]().union(*(clause.topics for clause in plan.clauses))
        numbers = [
            each for each in topics if isinstance(each, int) and 0 <= each < self.machine.n_single
        ]
        trial = plan.copy(plan.clauses)
        left = sorted(each for each in numbers if self._comes(plan, each) is None)
        if not self._is_consistent(trial, [Comes(each, False) for each in left]) or trial.clauses:
            return None
        return trial if self._has_values(trial) and self._completes(trial, price) else None

    # -- clauses ----------------------------------------------------------------------------

    def _topics(self, literal: Literal) -> Iterable[Topic]:
        """Return what else may be known once a literal is met."""
        if isinstance(literal, Holds):
            listed = self._clauses.listed(literal.node) if literal.is_true else []
            return [literal.node, *listed, *([_ANY_NAME] if listed else [])]
        return [literal.number, _ANY_NAME] if isinstance(literal, Comes | Fails) else []

    def _known_of_parts(self, plan: Plan, literal: Literal) -> bool | None:
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
            if literal.number >= self.machine.n_single:
                return None
            is_left = self.machine.may_come(self.state, literal.number)
            comes = is_left and self._comes(plan, literal.number)
            if not comes or literal.node is None:
                return comes
            # Its value has to meet a node that shares no value with this one, so this one fails.
            return self._is_excluded(plan, literal.number, literal.node.meant) or None
        return None  # what is overlooked is known once all nodes are decided

    def _has_enough(self, plan: Plan, node: Node) -> bool:
        return all(self._comes(plan, number) for number in self._clauses.required(node))

    def _fails_by_parts(self, plan: Plan, node: Node) -> bool:
        required = self._clauses.required(node)
        return (
            not required.isdisjoint(plan.missing)
            or not required.isdisjoint(self._missed)
            or any(self._refuses(plan, node, number) for number in chain(plan.coming, plan.failing))
        )

    def _refuses(self, plan: Plan, node: Node, number: int) -> bool:
        """Return whether a node fails if a property of a class of names comes."""
        return any(
            child.meant.is_false
            or (child.meant.values is not None and self._is_excluded(plan, number, child.meant))
            for child in self.machine.children(node, number)
        )

    def _is_excluded(self, plan: Plan, number: int, node: Node) -> bool:
        """Return whether a node fails for a property's value since another one holds."""
        name = self.machine.name_classes[number].name
        return any(
            name in each.properties and each.properties[name].meant.excludes(node)
            for each in plan.held
        )

    def _comes(self, plan: Plan, number: int) -> bool | None:
        """Return whether a listed name has come or comes.

        Those that can come no more have come: else the nodes that need them have failed, and the
        machine keeps the other names that are asked for.
        """
        if self.machine.may_come(self.state, number):
            if number in plan.coming:
                return True
            return False if number in plan.missing or not plan.names >> number & 1 else None
        return self.machine.has_come(self.state, number)

    def _assume_of_parts(self, plan: Plan, literal: Literal) -> None:
        if isinstance(literal, Holds) and literal.is_true:
            plan.names &= self._clauses.own(literal.node)
        elif isinstance(literal, Comes):
            (plan.coming if literal.is_true else plan.missing).add(literal.number)
        elif isinstance(literal, Fails):
            # A value that fails a node has to be there: its property comes.
            if literal.number < self.machine.n_single:
                plan.coming.add(literal.number)
            failing = plan.failing.setdefault(literal.number, {})
            if literal.node is not None:
                failing[literal.node] = None

    # -- values -----------------------------------------------------------------------------

    def properties(self, plan: Plan) -> Iterator[Part]:
        """Yield the properties that come: class of the name, nodes that hold, nodes that fail.

        The listed ones are first, in their order.
        """
        for number in sorted(plan.coming):
            yield number, self.holding(plan, number), list(plan.failing.get(number, ()))
        for number, nodes in plan.failing.items():
            if number >= self.machine.n_single:
                holding = self.holding(plan, number)
                if len(nodes) < 2 or self.has(holding, nodes):  # one for all of them
                    yield number, holding, list(nodes)
                else:
                    yield from ((number, holding, [node]) for node in nodes)
        for number, n in plan.n_filled.items():
            if number >= self.machine.n_single:
                yield from [(number, self.holding(plan, number), [])] * n

    def holding(self, plan: Plan, number: int) -> list[Node]:
        """Return the nodes that have to hold for a property's value."""
        found: list[Node] = []
        check_step(len(plan.held))
        for node in plan.held:
            if node.properties or node.patterns or node.additional is not None:  # most have none
                found += self.machine.children(node, number)
            if node.unevaluated is not None and self._is_overlooked(plan, node, number):
                found.append(node.unevaluated)
        return found

    def may_come(self, plan: Plan, number: int) -> bool:
        """Return whether a property of a class of names may come, too."""
        if not plan.names >> number & 1:
            return False
        if plan.most is not None and self._n_planned(plan) >= plan.most:
            return False
        if number < self.machine.n_single and (
            number in plan.missing or not self.machine.may_come(self.state, number)
        ):
            return False
        return self._is_accepted(plan, number) and self.has(self.holding(plan, number), ())

    def _has_values(self, plan: Plan) -> bool:
        """Return whether there are values for all properties that come."""
        if plan.most is not None and self._n_planned(plan) > plan.most:
            return False
        return all(
            self._is_accepted(plan, number) and self.has(holding, failing)
            for number, holding, failing in self.properties(plan)
        )

    def _is_accepted(self, plan: Plan, number: int) -> bool:
        return not any(
            node.names is not None and self.machine.refuses(node, number) for node in plan.held
        )

    def _n_planned(self, plan: Plan) -> int:
        return self.state.n_parts + sum(1 for _ in self.properties(plan))

    def _is_filled(self, plan: Plan, price: Price | None, *, is_asked: bool) -> bool:
        n_missing = plan.least - self._n_planned(plan)
        numbers: Iterable[int] = range(len(self.machine.name_classes))
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
            if number < self.machine.n_single:
                plan.coming.add(number)
                plan.unsure.clear()
                n_missing -= 1
            else:
                plan.n_filled[number] = n_missing
                n_missing = 0
        return n_missing <= 0

    def _is_overlooked(self, plan: Plan, node: Node, number: int, *matched: Any) -> bool:
        machine = self.machine
        if machine.children(node, number):
            return False
        leading = machine.leading(node, number)

        def holds(other: Node) -> bool | None:
            return other in leading and self._truth(plan, other)

        seen = {
            name
            for other in (node, *leading)
            for name in other.dependent
            if self._comes(plan, machine.number_of(name)) is not False
        }
        return not leading or not any(
            machine.evaluates(other, number)
            for other in evaluators(node, holds, seen)
            if other is not node
        )
