"""What is asked of a value: that some nodes hold and some fail, and the rest is free.

A value has one class, the set of those nodes that see it and hold. How many classes there are grows
exponentially with the nodes; what somebody asks for are few cases. Which class a value has is known
when it ends, and only then does a class get a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from cfgguide.schema.solver.member_automata import ValueClass
from cfgguide.schema.solver.nodes import KINDS, Constant, Node, kinds_of
from cfgguide.schema.solver.values import Values, may_hold

EVERY_KIND = kinds_of(frozenset(KINDS))


class Case(NamedTuple):
    """What a value may be.

    Attributes
    ----------
    holds : frozenset of Node
        Nodes that hold, as they are meant.
    fails : frozenset of Node
        Nodes that fail.
    kinds : frozenset of str
        Of which kinds it is.
    is_whole : bool
        Whether all other nodes that see the value fail.
    """

    holds: frozenset[Node]
    fails: frozenset[Node] = frozenset()
    kinds: frozenset[str] = EVERY_KIND
    is_whole: bool = False

    def is_met_by(self, value_class: ValueClass, kind: str) -> bool:
        """Return whether a value of a class and a kind is such a value; unless it is whole."""
        is_free = self.holds <= value_class and self.fails.isdisjoint(value_class)
        return is_free and kind in self.kinds

    def includes(self, other: Case) -> bool:
        """Return whether whatever meets another case, of as many kinds, meets this one."""
        return self.holds <= other.holds and self.fails <= other.fails


def case_of(holding: Iterable[Node], failing: Iterable[Node]) -> Case:
    """Return the case in which some nodes hold and others fail, where the rest is free.

    What holds for all values is left out, and what fails anyway.
    """
    holds = frozenset([node.meant for node in holding if not node.meant.is_trivial])
    fails = [
        node
        for node in {each.meant: None for each in failing}
        if not node.is_false and not any(each.excludes(node) for each in holds)
    ]
    possible = [node for node in fails if any(may_hold(node, kind) for kind in KINDS)]
    return Case(holds, frozenset(possible))


class Goal:
    """What a value is to be, and which classes such values turned out to have.

    Parameters
    ----------
    values : Values
        What sees the value.
    cases : tuple of Case, or None
        Of which it is to meet one; None if all nodes are to hold.
    make_room : callable, optional
        Called before a class gets a number, with the goal and how many there are then.
    """

    def __init__(
        self,
        values: Values,
        cases: tuple[Case, ...] | None,
        make_room: Callable[[Goal, int], None] = lambda _goal, _n: None,
    ) -> None:
        self.values = values
        self.is_every = cases is None
        self.cases = (Case(values.every),) if cases is None else cases
        #: By tag.
        self.classes: list[ValueClass] = [values.every] if cases is None else []
        self._tags: dict[ValueClass, int] = dict.fromkeys(self.classes, 0)
        self._whole = {case.holds: case for case in self.cases if case.is_whole}
        self._parts = [case for case in self.cases if not case.is_whole]
        self._make_room = make_room

    def is_met_by(self, value_class: ValueClass, kind: str) -> bool:
        """Return whether a value of a class and a kind meets the goal."""
        whole = self._whole.get(value_class)
        if whole is not None and kind in whole.kinds:
            return True
        return any(case.is_met_by(value_class, kind) for case in self._parts)

    def tag(self, value_class: ValueClass, kind: str) -> int | None:
        """Return the number of a class; None if a value of this kind does not meet the goal."""
        return self.tag_of(value_class) if self.is_met_by(value_class, kind) else None

    def tag_of(self, value_class: ValueClass) -> int:
        """Return the number of a class of which some value meets the goal."""
        if value_class not in self._tags:
            number = len(self.classes)
            self._make_room(self, number + 1)
            self.classes.append(value_class)
            self._tags[value_class] = number
        return self._tags[value_class]

    def constants(self, kind: str) -> list[tuple[Constant, ValueClass]] | None:
        """Return the values of a kind that meet the goal; None if they are not listed."""
        values = self.values
        if not all(
            values.are_listed(kind, case.holds) for case in self.cases if kind in case.kinds
        ):
            return None
        return [each for each in values.constants(kind) if self.is_met_by(each[1], kind)]

    def failing(self, case: Case) -> Iterable[Node]:
        """Return the nodes that are to fail in a case, in their order."""
        fails = self.values.every - case.holds if case.is_whole else case.fails
        return [node for node in self.values.nodes if node in fails]
