"""Arrays as automata over their items.

In: the nodes that see an array. Out: its :class:`ArrayMachine`. It reads from left to right and
keeps what the keywords need: how many items there are, how many of them ``contains`` has found,
which nodes have failed for good, and which values occurred.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from cfgguide.base.limits import check_step
from cfgguide.base.remembered import remembered
from cfgguide.engine.byte_machine.scalars import is_within
from cfgguide.schema.solver.listed_values import Part, scalar_values
from cfgguide.schema.solver.member_automata import (
    MemberMachine,
    MemberSymbol,
    Problem,
    ValueClass,
    cap,
    holds_in,
    seen_by,
)
from cfgguide.schema.solver.nodes import UNBOUNDED, Node
from cfgguide.schema.solver.truth import Failures

_NOTHING: frozenset[Any] = frozenset()
#: Distinct values of items that are told apart; at 50 and 400 the same work for 60 of them.
MAX_UNIQUE = 200


class ItemsSeen(NamedTuple):
    """A state: what is known of the items so far."""

    n_parts: int
    failed: frozenset[Node]
    contained: tuple[int, ...]
    pending: frozenset[
        tuple[Any, ...]
    ]  # a node, an item that it has not evaluated, who contains it
    used: frozenset[Node]  # values that occurred
    n_others: int  # other values, up to 2


class ArrayMachine(MemberMachine):
    """The automaton of the arrays that some nodes see."""

    kind = "array"

    def __init__(
        self, nodes: Sequence[Node], order: Callable[[Node], int], failures: Failures
    ) -> None:
        super().__init__(nodes, order, failures)
        #: How many of the first items have schemas of their own.
        self.n_prefix = max((len(node.prefix) for node in self._asking), default=0)
        self._cap = max(self.n_prefix, self._cap)
        self._containing = tuple(n for n in self._asking if n.contains is not None)
        self._unique = tuple(node for node in self._asking if node.is_unique)
        told = told_apart(self._unique)
        #: Nodes of the values that are told apart, one for each.
        self.values = tuple(told or ())
        self._are_told_apart = told is not None
        counts = (0,) * len(self._containing)
        self.start = ItemsSeen(0, _NOTHING, counts, _NOTHING, _NOTHING, 0)

    @property
    def n_numbers(self) -> int:
        """How many numbers items have."""
        return self.n_prefix + 1

    @property
    def n_single(self) -> int:
        """How many of the first items have schemas of their own."""
        return self.n_prefix

    def symbols(self, state: ItemsSeen) -> Iterator[MemberSymbol]:
        """Yield what may come next: one item."""
        yield self.symbol(state)

    def symbol(self, state: ItemsSeen, number: int | None = None) -> MemberSymbol:
        """Return an item, by default the next one, with the nodes that make a difference still."""
        return self._symbol(self.index(state) if number is None else number, state.failed)

    @remembered
    def _symbol(self, index: int, failed: frozenset[Node]) -> MemberSymbol:
        check_step()
        owners = [node for node in self._asking if node not in failed]
        is_unique = any(node.is_unique for node in owners)
        seen: list[Node] = list(self.values) if is_unique else []
        for node in owners:
            seen += self.children(node, index)
            seen += [n for n in (node.contains, node.unevaluated_items) if n is not None]
        return MemberSymbol(None, seen_by(seen, self._order))

    def index(self, state: ItemsSeen) -> int:
        """Return the index of the next item; those after all prefixes have the same."""
        return min(state.n_parts, self.n_prefix)

    def shortest(self, _index: int) -> float:
        """Return how many bytes come with an item at least: its comma."""
        return 1

    def n_contained(self, state: ItemsSeen, node: Node) -> int:
        """Return how many items have met what a node contains."""
        return state.contained[self._containing.index(node)]

    def children(self, node: Node, number: int) -> Sequence[Node]:
        """Return the nodes that a node applies to an item."""
        return node.of_item(number)

    def must_differ(self, state: ItemsSeen) -> bool:
        """Return whether nodes fail if an item comes twice, where the state does not know them."""
        return not self._are_told_apart and not state.failed.issuperset(self._unique)

    def least(self, wanted_to_fail: Collection[Node]) -> int:
        """Return of how many items of one class something may depend."""
        found = [1, self.n_prefix]
        for node in self._asking:
            for least, most in (node.n_items, node.n_contains):
                found.append(least)
                if most is not None and node in wanted_to_fail:
                    found.append(most + 1)
        return max(found)

    def after(
        self,
        state: ItemsSeen,
        symbol: MemberSymbol,
        value_class: ValueClass,
        *,
        is_repeated: bool = False,
    ) -> ItemsSeen:
        """Return the state after an item; perhaps of one that has come before."""
        check_step()
        index = self.index(state)
        failed = set(state.failed).union(self._unique if is_repeated else ())
        pending: set[tuple[Any, ...]] = set(state.pending)
        matched = frozenset(
            node
            for node in self._containing
            if node.contains is not None
            and node not in state.failed
            and holds_in(node.contains, value_class)
        )
        for node in self._asking:
            if node in state.failed:
                continue
            if not all(holds_in(child, value_class) for child in self.children(node, index)):
                failed.add(node)
            if not self._covers(node, index, matched):
                self._add_rest(node, (index, matched), value_class, failed, pending)
        contained = tuple(
            min(n + (node in matched), cap(node.n_contains))
            for n, node in zip(state.contained, self._containing, strict=True)
        )
        value = next((value for value in self.values if value in value_class), None)
        used, n_others = state.used, state.n_others
        if self._unique:
            if value is None:
                # One value that is not told apart differs from all that are; two of them may be
                # equal.
                n_others = min(n_others + 1, 2)
            elif value in used:
                failed.update(self._unique)
            else:
                used |= {value}
        resolved, left = self._resolved(state, failed, pending)
        # Nothing asks for different items any more: states that differ in this alone become one.
        if resolved.issuperset(self._unique):
            used, n_others = _NOTHING, 0
        return ItemsSeen(
            min(state.n_parts + 1, self._cap),
            resolved,
            contained,
            left,
            used,
            n_others,
        )

    def _covers(self, node: Node, index: int, matched: frozenset[Node]) -> bool:
        """Return whether keywords of a node other than ``unevaluatedItems`` evaluate an item."""
        is_contained = node in matched and node.contains_evaluates
        return is_contained or index < len(node.prefix) or node.items is not None

    def evaluates(self, node: Node, number: int, *matched: frozenset[Node]) -> bool:
        """Return whether a node evaluates an item that some nodes contain."""
        return self._covers(node, number, *matched) or node.unevaluated_items is not None

    def holding(self, state: ItemsSeen) -> tuple[dict[Node, bool], list[Problem]]:
        """Return which nodes hold for the array, and what is uncertain about that."""
        counts = dict(zip(self._containing, state.contained, strict=True))

        def holds(node: Node) -> bool:
            if not is_within(state.n_parts, node.n_items):
                return False
            return node not in counts or is_within(counts[node], node.n_contains)

        problems = [
            (f"{node.path}/uniqueItems", "only few values of an enumeration can be told apart")
            for node in self._unique
            if state.n_others > 1 and node not in state.failed
        ]
        return self._truths(state, holds), problems


def told_apart(unique: Iterable[Node]) -> list[Node] | None:
    """Return a node for each of the values that items of unique arrays may have.

    None if they may have others, or too many.
    """
    found: dict[str, Node] = {}
    for node in unique:
        inner = [*node.prefix, *([node.items] if node.items is not None else [])]
        last = node.n_items[1]
        if node.items is None and (last is None or last > len(node.prefix)):
            return None
        for child in inner:
            check_step()
            listed = child.meant.constants
            if len(listed) < len(UNBOUNDED) or listed["array"] or listed["object"]:
                return None
            values = [value for kind in ("number", "string") for value, _ in listed[kind].values()]
            values += [value for value in (None, True, False) if Part(value).meets(child)]
            for value in values:
                found.setdefault(repr(value), Node("/enum", values=scalar_values([value])))
    short_first = [found[text] for text in sorted(found, key=len)]
    return short_first if len(found) <= MAX_UNIQUE else None
