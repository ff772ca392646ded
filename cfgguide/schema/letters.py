"""What may come next in an array or an object, and who sees it: the letters of machines.

In: the nodes that see an array or an object. Out: what :mod:`cfgguide.schema.arrays` and
:mod:`cfgguide.schema.objects` have in common. A :class:`Machine` is an automaton: its letters are
an item, or a property of a class of names, each with the nodes that see it and which of these hold
for it. Behind the last one its state says which of the outer nodes hold.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple, Protocol

from cfgguide.schema.nodes import Bounds, Condition, Node

Cell = frozenset[Node]  # of some nodes, those that hold
Problem = tuple[str, str]  # a path, and what cannot be guaranteed there


class Letter(NamedTuple):
    """What may come next, and who sees it.

    Attributes
    ----------
    name : hashable
        Of a property: its number among the classes of names; of an item nothing.
    nodes : tuple of Node
        That see the value.
    """

    name: Hashable
    nodes: tuple[Node, ...]


class Machine(Protocol):
    """An automaton of what is in arrays or objects."""

    @property
    def start(self) -> Any:
        """The state before anything."""

    def letters(self, state: Any) -> Iterable[Letter]:
        """Yield what may come next."""

    def after(self, state: Any, letter: Letter, cell: Cell) -> Hashable:
        """Return the state after a value for which the nodes in a cell hold."""

    def holding(self, state: Any) -> tuple[dict[Node, bool], list[Problem]]:
        """Return which nodes hold if nothing more comes, and what is not sure about that."""


def seen_by(nodes: Iterable[Node], order: Callable[[Node], int]) -> tuple[Node, ...]:
    """Return the nodes that have something to ask, sorted, each once."""
    found = {node.meant for node in nodes}
    return tuple(sorted((n for n in found if not n.is_trivial and not n.is_false), key=order))


def holds_in(node: Node, cell: Cell) -> bool:
    """Return whether a node holds for a value for which just those in a cell do."""
    meant = node.meant
    return meant.is_trivial or meant in cell


def cap(bounds: Bounds) -> int:
    """Return how far has to be counted."""
    return max(bounds[0], 0 if bounds[1] is None else bounds[1] + 1)


def conditions(node: Node, kind: str) -> list[Condition]:
    """Return a node's conditions on numbers or strings, `kind` says which; not what it lists."""
    return node.numbers if kind == "number" else node.strings


def listed(node: Node, kind: str) -> Condition | None:
    """Return the numbers or strings that a node lists, if it lists values."""
    if node.values is None:
        return None
    return node.values.numbers if kind == "number" else node.values.strings


def scalar_holds(node: Node, kind: str, known: dict[int, bool]) -> bool:
    """Return whether a node's conditions on a scalar hold; `known` has them by their language."""
    if not all(known[id(condition.language)] for condition in conditions(node, kind)):
        return False
    values = listed(node, kind)
    return node.values is None or (values is not None and known[id(values.language)])
