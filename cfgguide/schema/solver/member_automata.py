"""Automata that read the items of an array or the properties of an object.

In: the nodes that see an array or an object. Out: what :mod:`cfgguide.schema.solver.arrays` and
:mod:`cfgguide.schema.solver.objects` share. Their machines are automata of the tree automaton's
horizontal languages: each reads a symbol, an item or a property of a class of names, with the value
class of its value. The state after the last one says which of the outer nodes hold.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple

from cfgguide.base.limits import check_step
from cfgguide.engine.byte_machine.scalars import Bounds
from cfgguide.schema.solver.nodes import Condition, Node

ValueClass = frozenset[Node]  # those nodes of a context that hold
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


def scalar_holds(node: Node, kind: str, known: dict[int, bool]) -> bool:
    """Return whether a node's conditions on a scalar hold; `known` is keyed by conditions' ids."""
    if not all(known[id(condition)] for condition in conditions(node, kind)):
        return False
    values = listed(node, kind)
    return node.values is None or (values is not None and known[id(values)])
