"""Values whose classes matter: their scalars by class, and the automata of arrays and objects.

In: :class:`~cfgguide.schema.solver.values.Values`. Out: :class:`Tracked`, which
:mod:`cfgguide.schema.solver.search` asks. A class is the set of nodes that hold
(:mod:`cfgguide.schema.solver.classes`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from cfgguide.base.derived import derived
from cfgguide.base.remembered import remembered
from cfgguide.schema.solver.arrays import ArrayMachine
from cfgguide.schema.solver.member_automata import ValueClass
from cfgguide.schema.solver.nodes import Node
from cfgguide.schema.solver.objects import MemberAutomaton, ObjectMachine
from cfgguide.schema.solver.scalars import ScalarClasses
from cfgguide.schema.solver.truth import Failures, truths
from cfgguide.schema.solver.values import Values


class Tracked:
    """What is known of values whose classes matter.

    Parameters
    ----------
    values : Values
        The values.
    order : callable
        A number for each node, by which they are sorted.
    wanted_to_fail : collection of Node
        As :func:`cfgguide.schema.solver.nodes.wanted_to_fail` returns them.
    is_ordered : bool
        Whether properties come in the order in which they are declared.
    are_different : bool
        As for :class:`~cfgguide.schema.solver.objects.ObjectMachine`.
    """

    def __init__(
        self,
        values: Values,
        order: Callable[[Node], int],
        wanted_to_fail: Collection[Node],
        *,
        is_ordered: bool,
        are_different: bool = True,
    ) -> None:
        self.values = values
        self._order = order
        self._wanted_to_fail = wanted_to_fail
        self._is_ordered = is_ordered
        self._are_different = are_different
        # What cannot be read is refused now; what is listed needs no automaton.
        if not all("array" in node.constants for node in values.nodes):
            _ = self.arrays
        if not all("object" in node.constants for node in values.nodes):
            _ = self.objects

    @derived
    def _failures(self) -> Failures:
        return Failures(self.values.below, self.values.every)

    @derived
    def arrays(self) -> ArrayMachine:
        """The automaton of the arrays."""
        return ArrayMachine(self.values.below, self._order, self._failures)

    @derived
    def objects(self) -> ObjectMachine:
        """The automaton of the objects."""
        return ObjectMachine(
            self.values.below,
            self._order,
            self._is_ordered,
            self._failures,
            self._wanted_to_fail,
            are_different=self._are_different,
        )

    def value_class(self, found: dict[Node, bool]) -> ValueClass:
        """Return the nodes of these values that hold."""
        return frozenset(node for node in self.values.nodes if found[node])

    def machine(self, kind: str) -> MemberAutomaton:
        """Return the automaton of the arrays or objects."""
        return self.arrays if kind == "array" else self.objects

    def ending(self, kind: str, state: Any) -> ValueClass:
        """Return the class of an array or object that ends in a state."""
        return self.value_class(self.machine(kind).holding(state)[0])

    def constants(self) -> dict[str, ValueClass]:
        """Return the classes of ``null``, ``true`` and ``false``."""

        def is_constant(kind: str, node: Node, _found: Any) -> bool:
            return node.values is None or kind in node.values.constants

        return {
            kind: self.value_class(truths(self.values.below, kind, partial(is_constant, kind)))
            for kind in ("null", "true", "false")
        }

    @remembered
    def scalars(self, kind: str) -> ScalarClasses:
        """Return numbers or strings by class."""
        values = self.values
        return ScalarClasses(values.nodes, values.below, kind, is_tidy=values.is_tidy)

    def scalar_classes(self) -> dict[ValueClass, set[str]]:
        """Return the classes of all scalars, with the kinds that these have."""
        found: dict[ValueClass, set[str]] = {}
        for kind, value_class in self.constants().items():
            found.setdefault(value_class, set()).add(kind)
        for kind in ("number", "string"):
            for value_class in self.scalars(kind):
                found.setdefault(value_class, set()).add(kind)
        return found
