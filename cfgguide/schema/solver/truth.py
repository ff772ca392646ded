"""Which nodes of a JSON Schema hold for a value, given the results of their own keywords.

In: nodes that see one value, and for each the result of its own conditions. Out: whether each node
holds, as ``allOf``, ``anyOf``, ``oneOf``, ``not``, ``if`` and the like combine the results; and
which nodes have evaluated a property or an item, which ``unevaluatedProperties`` needs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from cfgguide.base.limits import check_step
from cfgguide.schema.solver.nodes import Node

Truths = Mapping[Node, bool]
# The result of a node's own keywords, given the results of the nodes that it refers to.
Holds = Callable[[Node, Truths], bool]


def closure(nodes: Iterable[Node]) -> list[Node]:
    """Return all nodes that see the same value as these, each after those that it refers to."""
    found: dict[Node, None] = {}
    stack: list[tuple[Node, Iterator[Node]]] = []
    for first in nodes:
        if first not in found:
            stack.append((first, first.in_place))
        while stack:
            check_step()
            node, others = stack[-1]
            other = next((each for each in others if each not in found), None)
            if other is None:
                stack.pop()
                found[node] = None
            else:
                stack.append((other, other.in_place))
    return list(found)


def truths(
    nodes: Iterable[Node],
    kind: str,
    holds: Holds,
    seen: Collection[str] = (),
    known: Truths = MappingProxyType({}),
) -> dict[Node, bool]:
    """Return whether each node holds.

    Parameters
    ----------
    nodes : iterable of Node
        As :func:`closure` orders them.
    kind : str
        What the value is: one of `cfgguide.schema.solver.nodes.KINDS`.
    holds : callable
        Returns the result of a node's own conditions on such a value.
    seen : collection of str
        The properties that an object has.
    known : mapping of Node to bool
        Whether other nodes hold, to which these may refer.
    """
    found = dict(known)
    for node in nodes:
        check_step()
        found[node] = (
            not node.is_false
            and kind in node.kinds
            and (node.is_alone or _combines(node, found, seen))
            and holds(node, found)
        )
    return found


def _combines(node: Node, found: Truths, seen: Collection[str]) -> bool:
    if not all(found[other] for other in node.all_of):
        return False
    if node.any_of is not None and not any(found[other] for other in node.any_of):
        return False
    if node.one_of is not None and sum(found[other] for other in node.one_of) != 1:
        return False
    if node.negated is not None and found[node.negated]:
        return False
    if node.conditional is not None:
        condition, then, other = node.conditional
        applied = then if found[condition] else other
        if applied is not None and not found[applied]:
            return False
    return all(found[other] for name, other in node.dependent.items() if name in seen)


def evaluators(
    node: Node, holds: Callable[[Node], bool | None], seen: Collection[str] = ()
) -> Iterator[Node]:
    """Yield the nodes whose annotations a node sees: itself, and those applied that hold.

    Where it is open whether a node holds, None, whatever may be applied is yielded.
    """
    yield node
    applied = [*node.all_of, *(node.any_of or ()), *(node.one_of or ())]
    applied += [other for name, other in node.dependent.items() if name in seen]
    if node.conditional is not None:
        condition, then, other = node.conditional
        applied.append(condition)
        is_met = holds(condition)
        applied += [then] if then is not None and is_met is not False else []
        applied += [other] if other is not None and not is_met else []
    for each in applied:
        check_step()
        if holds(each) is not False:
            yield from evaluators(each, holds, seen)


def others_evaluate(
    node: Node,
    found: Truths,
    pending: Iterable[Sequence[Any]],
    evaluates: Callable[..., bool],
    seen: Collection[str] = (),
) -> bool:
    """Return whether other nodes have evaluated all that a node has not.

    Parameters
    ----------
    pending : iterable of sequence
        Each a node, then what it has not evaluated: the other arguments of `evaluates`.
    """
    left = [rest for owner, *rest in pending if owner is node]
    if not left:
        return True
    # Nodes that are not there fail.
    holding = evaluators(node, lambda other: found.get(other, False), seen)
    others = [other for other in holding if other is not node]
    return all(any(evaluates(other, *rest) for other in others) for rest in left)


def is_listed(node: Node, found: Truths) -> bool:
    """Return whether a node lists no values, or lists this array or object."""
    return node.values is None or any(found[other] for other in node.values.nodes)


class Failures:
    """What follows once some nodes have failed for good.

    Nodes that need them fail too. Nodes that are used only by failed ones make no difference any
    more, and count as failed. So machines have fewer states.

    Parameters
    ----------
    nodes : sequence of Node
        As :func:`closure` orders them.
    asked : iterable of Node
        Those of them whose own result is needed.
    """

    def __init__(self, nodes: Sequence[Node], asked: Iterable[Node]) -> None:
        self._nodes = nodes
        self._combining = tuple(node for node in nodes if not node.is_alone)
        self._asked = frozenset(asked)

    def resolved(self, failed: Collection[Node]) -> frozenset[Node]:
        """Return all nodes that have failed or make no difference.

        Examples
        --------
        >>> part, other = Node("/allOf/0"), Node("/not")
        >>> whole = Node("", all_of=[part], negated=other)
        >>> failures = Failures(closure([whole]), [whole])
        >>> sorted(node.path for node in failures.resolved({part}))
        ['', '/allOf/0', '/not']
        >>> failures.resolved({other}) == {other}
        True
        """
        found = set(failed)
        if not found:
            return frozenset()
        check_step()
        for node in self._combining:
            if node not in found and self._must_fail(node, found):
                found.add(node)
        needed = set(self._asked)
        for node in reversed(self._nodes):  # each before those that it refers to
            if node not in needed:
                found.add(node)
            elif node not in found:
                needed.update(node.in_place)
        return frozenset(found)

    @staticmethod
    def _must_fail(node: Node, failed: Collection[Node]) -> bool:
        if any(other in failed for other in node.all_of):
            return True
        if node.conditional is not None:
            condition, then, other = node.conditional
            is_without_then = condition in failed or (then is not None and then in failed)
            if is_without_then and other is not None and other in failed:
                return True
        return any(
            branches is not None and all(other in failed for other in branches)
            for branches in (node.any_of, node.one_of)
        )


def hold_with(node: Node) -> Iterator[Node]:
    """Yield the nodes that hold wherever a node does; it always sees their annotations."""
    for other in node.all_of:
        check_step()
        yield other
        yield from hold_with(other)


def applied_in_place(node: Node, kind: str) -> list[Node]:
    """Return the nodes that a node may apply to the value itself; for values of a kind."""
    others = [*node.all_of, *(node.any_of or ()), *(node.one_of or ()), *node.dependent.values()]
    others += [other for other in node.conditional or () if other is not None]
    return [other for other in others if kind in other.kinds and not other.is_false]


def may_evaluate(node: Node, kind: str) -> Iterator[Node]:
    """Yield the other nodes whose annotations a node may see; for values of a kind."""
    for other in applied_in_place(node, kind):
        check_step()
        yield other
        yield from may_evaluate(other, kind)


def surely_hold(nodes: Iterable[Node], kind: str) -> list[Node]:
    """Return the nodes that hold for a value of a kind where some nodes do.

    Parameters
    ----------
    nodes : iterable of Node
        Those that are to hold.
    kind : str
        What the value is.
    """
    found = dict.fromkeys(nodes)
    stack = list(found)

    def may_hold(node: Node) -> bool:
        return not node.is_false and kind in node.kinds

    while stack:
        check_step()
        node = stack.pop()
        more = list(node.all_of)
        for branches in (node.any_of, node.one_of):
            left = [other for other in branches or () if may_hold(other)]
            # Of several branches it is open which one holds.
            more += left if len(left) == 1 else []
        if node.conditional is not None:
            condition, then, other = node.conditional
            applied = None
            if not may_hold(condition):
                applied = other
            # A condition that is found only later is missed: then fewer nodes are sure, and none
            # wrongly.
            elif condition in found or condition.is_trivial:
                applied = then
            more += [applied] if applied is not None else []
        for each in more:
            if each not in found:
                found[each] = None
                stack.append(each)
    return list(found)
