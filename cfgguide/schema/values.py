"""What may be written where a value is wanted: the nodes that see it, and what follows from them.

In: nodes of a schema. Out: :class:`Values`, one for each set of nodes that see a value together.
Mostly all of the nodes must hold, and nothing in them asks which of several schemas does: such
values are *plain*, and quickly read. For all others, values are told apart by which nodes hold for
them (:mod:`cfgguide.schema.classes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import NamedTuple

from cfgguide.automata.language import Language, grouped
from cfgguide.pushdown.lexemes import Bounded
from cfgguide.schema.machine import ValueClass, conditions, listed, seen_by
from cfgguide.schema.nodes import Bounds, Condition, Node
from cfgguide.schema.truth import closure
from cfgguide.values.numbers import decimals


class Scalars(NamedTuple):
    """Numbers or strings that may be written.

    Attributes
    ----------
    language : Language or None
        The spellings of the numbers, or the texts; None for all.
    bounds : (int, int or None)
        The least and the most characters of a string.
    """

    language: Language | None
    bounds: Bounds = (0, None)


class Values:
    """The values that some nodes see.

    Parameters
    ----------
    nodes : tuple of Node
        Resolved to what they mean; none of them is trivial.
    is_possible : bool
        Whether no node among those that see the value is false.
    """

    def __init__(self, nodes: tuple[Node, ...], *, is_possible: bool) -> None:
        self.nodes = nodes
        self.is_possible = is_possible
        self.every: ValueClass = frozenset(nodes)

    @cached_property
    def below(self) -> list[Node]:
        """All nodes that see the value, each after those that it refers to."""
        return closure(self.nodes)

    @cached_property
    def is_plain(self) -> bool:
        """Whether all nodes below must hold if these do."""
        return all(
            node.any_of is None
            and node.one_of is None
            and node.negated is None
            and node.conditional is None
            and not node.dependent
            and (node.values is None or not node.values.nodes)
            for node in self.below
        )

    @cached_property
    def kinds(self) -> frozenset[str]:
        """What the value may be, if all nodes hold."""
        found = frozenset(["null", "true", "false", "number", "string", "array", "object"])
        for node in self.below:
            found &= frozenset() if node.is_false else node.kinds
            if node.values is not None:
                possible = set(node.values.constants)
                possible |= {"number"} if node.values.numbers is not None else set()
                possible |= {"string"} if node.values.strings is not None else set()
                found &= possible
        return found if self.is_possible else frozenset()

    @cached_property
    def numbers(self) -> Scalars | None:
        """The numbers that may be written, if all nodes hold; None for no number."""
        if "number" not in self.kinds:
            return None
        asked = self._conditions("number")
        if not asked:
            return Scalars(None)
        language = _intersection([decimals(), *(each.language for each in asked)])
        return None if language.is_empty else Scalars(language)

    @cached_property
    def strings(self) -> Scalars | None:
        """The strings that may be written, if all nodes hold; None for no string."""
        if "string" not in self.kinds:
            return None
        least, most = 0, None
        languages = []
        for condition in self._conditions("string"):
            if condition.bounds is None:
                languages.append(condition.language)
                continue
            least = max(least, condition.bounds[0])
            if condition.bounds[1] is not None:
                most = condition.bounds[1] if most is None else min(most, condition.bounds[1])
        if most is not None and most < least:
            return None
        language = _intersection(languages) if languages else None
        if language is not None and language.is_empty:
            return None
        if language is not None and (least, most) != (0, None):
            if Bounded([language], least, most).is_empty:
                return None
        return Scalars(language, (least, most))

    def _conditions(self, kind: str) -> list[Condition]:
        found: dict[int, Condition] = {}
        for node in self.below:
            for condition in (*conditions(node, kind), listed(node, kind)):
                if condition is not None:
                    found[id(condition)] = condition
        return list(found.values())

    @cached_property
    def array_nodes(self) -> list[Node]:
        """The nodes that say something of arrays."""
        return [node for node in self.below if "array" in node.kinds]

    @cached_property
    def object_nodes(self) -> list[Node]:
        """The nodes that say something of objects."""
        return [node for node in self.below if "object" in node.kinds]

    @cached_property
    def has_plain_arrays(self) -> bool:
        """Whether an array needs only to be counted, if all nodes hold."""
        return self.is_plain and not any(
            node.contains is not None or node.is_unique or node.unevaluated_items is not None
            for node in self.array_nodes
        )

    @cached_property
    def has_plain_objects(self) -> bool:
        """Whether an object needs only the names that were seen, if all nodes hold."""
        return self.is_plain and not any(
            node.names is not None
            or node.needs
            or node.n_properties != (0, None)
            or node.unevaluated is not None
            for node in self.object_nodes
        )


def _intersection(languages: list[Language]) -> Language:
    different = list(dict.fromkeys(languages))
    if len(different) == 1:
        return different[0]
    found = grouped(different, all)
    return found.get(True, Language.of_words([]))


class AllValues:
    """The values of a schema, one object for each set of nodes."""

    def __init__(self) -> None:
        self._known: dict[tuple[tuple[Node, ...], bool], Values] = {}
        self._numbers: dict[Node, int] = {}

    def order(self, node: Node) -> int:
        """Return a number by which nodes are sorted."""
        return self._numbers.setdefault(node, len(self._numbers))

    def of(self, nodes: Iterable[Node]) -> Values:
        """Return the values that some nodes see."""
        nodes = list(nodes)
        is_possible = not any(node.meant.is_false for node in nodes)
        seen = seen_by(nodes, self.order)
        key = (seen, is_possible)
        if key not in self._known:
            self._known[key] = Values(seen, is_possible=is_possible)
        return self._known[key]


HasValue = Callable[[Values], bool]
