"""Automata that read the items of an array or the properties of an object.

In: the nodes that see an array or an object. Out: what :mod:`cfgguide.schema.solver.arrays` and
:mod:`cfgguide.schema.solver.objects` share. Their machines are automata of the tree automaton's
horizontal languages: each reads a symbol, an item or a property of a class of names, with the value
class of its value. The state after the last one says which of the outer nodes hold.

Items and properties are parts, and have numbers: of an item its place, the same for all that have
no schema of their own; of a property that of its class of names.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Any, ClassVar, NamedTuple

from cfgguide.base.limits import check_step
from cfgguide.engine.byte_machine.scalars import Bounds
from cfgguide.schema.solver.nodes import Condition, Node
from cfgguide.schema.solver.truth import (
    Failures,
    hold_with,
    is_listed,
    may_evaluate,
    others_evaluate,
    truths,
)

ValueClass = frozenset[Node]  # those nodes of a context that hold
_NOTHING: frozenset[Any] = frozenset()

Problem = tuple[str, str]  # a path, and what cannot be guaranteed there


class MemberSymbol(NamedTuple):
    """What may come next, and which nodes see its value.

    Attributes
    ----------
    name : hashable
        For a property, the index of its class of names; None for an item.
    nodes : tuple of Node
        The nodes that see the value.
    """

    name: Hashable
    nodes: tuple[Node, ...]


def seen_by(nodes: Iterable[Node], order: Callable[[Node], int]) -> tuple[Node, ...]:
    """Return the nodes that restrict a value, sorted, each once."""
    check_step()
    meant = dict.fromkeys(node.meant for node in nodes)  # no set: `order` may number new nodes
    return tuple(sorted((n for n in meant if not n.is_trivial and not n.is_false), key=order))


def holds_in(node: Node, value_class: ValueClass) -> bool:
    """Return whether a node holds for the values of a class."""
    meant = node.meant
    return meant.is_trivial or meant in value_class


def cap(bounds: Bounds) -> int:
    """Return the number from which counting makes no difference."""
    return max(bounds[0], 0 if bounds[1] is None else bounds[1] + 1)


def conditions(node: Node, kind: str) -> tuple[Condition, ...]:
    """Return a node's conditions on numbers or strings, as `kind` says, without `values`."""
    return node.numbers if kind == "number" else node.strings


def listed(node: Node, kind: str) -> Condition | None:
    """Return the numbers or strings that a node lists, if it lists values."""
    if node.values is None:
        return None
    return node.values.numbers if kind == "number" else node.values.strings


def asked_by(node: Node, kind: str) -> list[Condition]:
    """Return a node's conditions on numbers or strings, the list of them too."""
    values = listed(node, kind)
    return [*conditions(node, kind), *([] if values is None else [values])]


def scalar_holds(node: Node, kind: str, known: dict[int, bool]) -> bool:
    """Return whether a node's conditions on a scalar hold; `known` is keyed by conditions' ids."""
    has_values = node.values is None or listed(node, kind) is not None
    return has_values and all(known[id(each)] for each in asked_by(node, kind))


class MemberMachine:
    """An automaton of arrays or objects that some nodes see.

    Parameters
    ----------
    nodes : sequence of Node
        A closure.
    order : callable
        A number for each node, by which they are sorted.
    failures : Failures
        Of these nodes.
    """

    kind: ClassVar[str]

    def __init__(
        self, nodes: Sequence[Node], order: Callable[[Node], int], failures: Failures
    ) -> None:
        self._nodes = nodes
        self._failures = failures
        self._order = order
        # Of most nodes no array is asked for: then these are the one empty tuple.
        self._asking = tuple(n for n in nodes if self.kind in n.kinds and not n.is_false)
        bounds = [bound for node in self._asking for bound in node.bounds_of(self.kind) if bound]
        # One more than any bound: greater numbers of parts all mean the same.
        self._cap = max((bound + 1 for bound in bounds), default=1)

    @property
    @abstractmethod
    def n_numbers(self) -> int:
        """How many numbers parts have."""

    @property
    @abstractmethod
    def n_single(self) -> int:
        """How many of the first numbers are those of one part each."""

    @abstractmethod
    def symbol(self, state: Any, number: int) -> MemberSymbol:
        """Return a part with the nodes that make a difference still."""

    @abstractmethod
    def children(self, node: Node, number: int) -> Sequence[Node]:
        """Return the nodes that a node applies to a part."""

    @abstractmethod
    def evaluates(self, node: Node, number: int, *matched: Any) -> bool:
        """Return whether a node evaluates a part; of an item it matters who contains it."""

    def refuses(self, node: Node, number: int) -> bool:
        """Return whether a node lets no such part come, whatever its value."""
        return False

    def _add_rest(
        self,
        node: Node,
        part: tuple[Any, ...],
        value_class: ValueClass,
        failed: set[Node],
        pending: set[tuple[Any, ...]],
    ) -> None:
        """Add a node that has not evaluated a part: it has failed, or the part waits for others."""
        rest = node.rest_of(self.kind)
        if rest is None or holds_in(rest, value_class):
            return
        # What holds wherever the node does has surely evaluated it. Of other nodes it is known at
        # the end only whether they hold.
        if any(self.evaluates(other, *part) for other in hold_with(node)):
            return
        if any(self.evaluates(other, *part) for other in may_evaluate(node, self.kind)):
            pending.add((node, *part))
        else:
            failed.add(node)

    def _resolved(
        self, state: Any, failed: set[Node], pending: Iterable[tuple[Any, ...]]
    ) -> tuple[frozenset[Node], frozenset[tuple[Any, ...]]]:
        """Return all that has failed by now, and what still waits for other nodes."""
        resolved = state.failed
        if failed != resolved:
            resolved = self._failures.resolved(failed)
        left = [each for each in pending if each[0] not in resolved]
        return resolved, frozenset(left) if left else _NOTHING

    def _truths(
        self, state: Any, holds: Callable[[Node], bool], seen: Collection[str] = ()
    ) -> dict[Node, bool]:
        """Return which nodes hold, given whether what they ask of the whole does."""

        def all_holds(node: Node, found: Any) -> bool:
            if node in state.failed or not holds(node):
                return False
            is_evaluated = others_evaluate(node, found, state.pending, self.evaluates, seen)
            return is_evaluated and is_listed(node, found)

        return truths(self._nodes, self.kind, all_holds, seen)
