"""Arrays and objects as automata over what stands in them.

In: the nodes that see an array or an object. Out: a :class:`Machine`: its letters are the things
that may come next (an item; a property of a class of names), each with the nodes that see it, and
which of these hold for it. After the last one, the state says which of the outer nodes hold.

Both read from left to right and remember what the keywords need: how many there are, which names
have been seen, which nodes have failed for good.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from cfgguide.languages import Language, grouped
from cfgguide.schema_nodes import Node
from cfgguide.schema_truth import closure, evaluators, may_evaluate, truths

Cell = frozenset[Node]  # of some nodes, those that hold
Problem = tuple[str, str]  # a path, and what cannot be guaranteed there

MOST_UNIQUE = 6  # values of items that are told apart
MOST_UNORDERED = 8  # properties that may come in any order
LONGEST = 2_000  # items that are counted


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

    start: Hashable

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


class _Items(NamedTuple):
    """A state: what is known of the items so far."""

    count: int
    failed: frozenset[Node]
    contained: tuple[int, ...]
    pending: frozenset[tuple[Node, int, frozenset[Node]]]  # not evaluated by the node itself
    used: frozenset[Node]  # values that are there
    n_others: int  # other values, up to 2


class ArrayMachine:
    """The automaton of arrays that some nodes see."""

    def __init__(self, nodes: Sequence[Node], order: Callable[[Node], int]) -> None:
        self._nodes = nodes  # a closure
        self._order = order
        self._asking = [node for node in nodes if "array" in node.kinds and not node.is_false]
        bounds = [bound for node in self._asking for bound in node.n_items if bound is not None]
        self._prefix = max((len(node.prefix) for node in self._asking), default=0)
        self._cap = max([self._prefix, *(bound + 1 for bound in bounds)])
        if self._cap > LONGEST:
            from cfgguide.errors import SchemaError

            raise SchemaError(
                f"at {nodes[-1].path or '/'}: arrays are counted up to {LONGEST} items only; use a "
                "smaller minItems or maxItems, or leave it out"
            )
        self._containing = [node for node in self._asking if node.contains is not None]
        self._unique = [node for node in self._asking if node.is_unique]
        self._values = _told_apart(self._unique)
        nothing: frozenset[Any] = frozenset()
        self.start = _Items(0, nothing, (0,) * len(self._containing), nothing, nothing, 0)

    def all_letters(self) -> list[Letter]:
        """Return what may come: an item at each place that is told apart."""
        return self._all_letters

    @cached_property
    def _all_letters(self) -> list[Letter]:
        found = []
        for place in range(self._prefix + 1):
            seen: list[Node] = list(self._values)
            for node in self._asking:
                seen += self._children(node, place)
                seen += [n for n in (node.contains, node.unevaluated_items) if n is not None]
            found.append(Letter(None, seen_by(seen, self._order)))
        return found

    def letters(self, state: _Items) -> Iterator[Letter]:
        """Yield what may come next: one item."""
        yield self._all_letters[min(state.count, self._prefix)]

    def _children(self, node: Node, place: int) -> list[Node]:
        if place < len(node.prefix):
            return [node.prefix[place]]
        return [] if node.items is None else [node.items]

    def after(self, state: _Items, letter: Letter, cell: Cell) -> _Items:
        """Return the state after an item."""
        place = min(state.count, self._prefix)
        failed = set(state.failed)
        pending = set(state.pending)
        matched = frozenset(
            node
            for node in self._containing
            if node.contains is not None and holds_in(node.contains, cell)
        )
        for node in self._asking:
            if not all(holds_in(child, cell) for child in self._children(node, place)):
                failed.add(node)
            rest = node.unevaluated_items
            if rest is None or holds_in(rest, cell) or self._covers(node, place, matched):
                continue
            if any(self._evaluates(n, place, matched) for n in may_evaluate(node)):
                pending.add((node, place, matched))
            else:
                failed.add(node)
        contained = tuple(
            min(n + (node in matched), _cap(node.n_contains))
            for n, node in zip(state.contained, self._containing, strict=True)
        )
        value = next((value for value in self._values if value in cell), None)
        used, n_others = state.used, state.n_others
        if self._unique:
            if value is None:
                n_others = min(n_others + 1, 2)
            elif value in used:
                failed.update(self._unique)
            else:
                used |= {value}
            if failed.issuperset(self._unique):
                used, n_others = frozenset(), 0
        return _Items(
            min(state.count + 1, self._cap),
            frozenset(failed),
            contained,
            frozenset(each for each in pending if each[0] not in failed),
            used,
            n_others,
        )

    def _covers(self, node: Node, place: int, matched: frozenset[Node]) -> bool:
        """Return whether a node's keywords but the last evaluate an item."""
        is_contained = node in matched and node.contains_evaluates
        return is_contained or place < len(node.prefix) or node.items is not None

    def _evaluates(self, node: Node, place: int, matched: frozenset[Node]) -> bool:
        return self._covers(node, place, matched) or node.unevaluated_items is not None

    def holding(self, state: _Items) -> tuple[dict[Node, bool], list[Problem]]:
        """Return which nodes hold for the array, and what is not sure about that."""
        counts = dict(zip(self._containing, state.contained, strict=True))

        def holds(node: Node, found: Any) -> bool:
            if node in state.failed or not _is_within(state.count, node.n_items):
                return False
            if node in counts and not _is_within(counts[node], node.n_contains):
                return False
            visible = list(evaluators(node, found)) if node.unevaluated_items is not None else []
            others = [other for other in visible if other is not node]
            return all(
                any(self._evaluates(other, place, matched) for other in others)
                for owner, place, matched in state.pending
                if owner is node
            ) and (node.values is None or any(found[other] for other in node.values.nodes))

        problems = [
            (f"{node.path}/uniqueItems", "only few values of an enumeration can be told apart")
            for node in self._unique
            if state.n_others > 1 and node not in state.failed
        ]
        return truths(self._nodes, "array", holds), problems


def _cap(bounds: tuple[int, int | None]) -> int:
    return max(bounds[0], 0 if bounds[1] is None else bounds[1] + 1)


def _is_within(count: int, bounds: tuple[int, int | None]) -> bool:
    return bounds[0] <= count and (bounds[1] is None or count <= bounds[1])


def _told_apart(unique: Iterable[Node]) -> list[Node]:
    """Return a node for each of the few values that items of unique arrays may have."""
    found: dict[str, Node] = {}
    for node in unique:
        inner = [*node.prefix, *([node.items] if node.items is not None else [])]
        for child in closure([each.meant for each in inner]):
            listed = list(child.values.scalars) if child.values is not None else []
            if child.kinds <= {"null", "true", "false"}:
                listed += [{"null": None, "true": True, "false": False}[k] for k in child.kinds]
            for value in listed:
                found.setdefault(repr(value), _constant(value))
    return list(found.values()) if len(found) <= MOST_UNIQUE else []


def _constant(value: Any) -> Node:
    from cfgguide.schema_nodes import scalar_values

    return Node("/enum", values=scalar_values([value]))


@dataclass(frozen=True)
class NameClass:
    """A class of property names.

    Attributes
    ----------
    name : str or None
        The name, if it is only one.
    language : Language or None
        The names; None for all.
    patterns : frozenset of int
        The numbers of the patterns that they match.
    accepted : frozenset of Node
        The nodes of ``propertyNames`` that hold for them.
    """

    name: str | None
    language: Language | None
    patterns: frozenset[int]
    accepted: frozenset[Node]


class _Properties(NamedTuple):
    """A state: what is known of the properties so far."""

    seen: frozenset[int]
    last: int  # the number of the last one, where they have an order
    n_named: int
    n_others: int
    failed: frozenset[Node]
    pending: frozenset[tuple[Node, int]]  # classes of names not evaluated by the node itself


class ObjectMachine:
    """The automaton of objects that some nodes see.

    Parameters
    ----------
    nodes : sequence of Node
        A closure.
    order : callable
        A number for each node, by which they are sorted.
    is_ordered : bool or None
        Whether properties come in the order in which they are declared; None: where there are more
        than `MOST_UNORDERED`.
    """

    def __init__(
        self, nodes: Sequence[Node], order: Callable[[Node], int], is_ordered: bool | None
    ) -> None:
        self._nodes = nodes
        self._order = order
        self._asking = [node for node in nodes if "object" in node.kinds and not node.is_false]
        asking = sorted(self._asking, key=order)
        self._names = list(dict.fromkeys(name for node in asking for name in _names_of(node)))
        self._is_ordered = len(self._names) > MOST_UNORDERED if is_ordered is None else is_ordered
        if not self._is_ordered and len(self._names) > MOST_UNORDERED:
            from cfgguide.errors import SchemaError

            raise SchemaError(
                f"at {nodes[-1].path or '/'}: {len(self._names)} properties in any order are too "
                f"many (above {MOST_UNORDERED}); order='declared' has no such limit"
            )
        self._numbers = {name: number for number, name in enumerate(self._names)}
        conditional = {
            name
            for node in asking
            for name in (
                *node.needs,
                *node.dependent,
                *(n for ns in node.needs.values() for n in ns),
            )
        }
        self._tracked = frozenset(self._numbers[name] for name in conditional)
        bounds = [bound for node in asking for bound in node.n_properties if bound]
        self._cap = max((bound + 1 for bound in bounds), default=1)
        self._patterns = list(
            {id(language): language for node in asking for language, _ in node.patterns}.values()
        )
        nothing: frozenset[Any] = frozenset()
        self.start = _Properties(nothing, -1, 0, 0, nothing, nothing)

    @cached_property
    def classes(self) -> list[NameClass]:
        """The classes of names, the single ones first."""
        naming = [node.names.meant for node in self._asking if node.names is not None]
        inner = closure(naming)
        conditions: list[Language] = []
        for node in inner:
            conditions += [condition.language for condition in node.strings]
            if node.values is not None and node.values.strings is not None:
                conditions.append(node.values.strings.language)

        def accepted(memberships: Sequence[bool]) -> frozenset[Node]:
            known = dict(zip(map(id, conditions), memberships, strict=True))
            found = truths(inner, "string", lambda node, _: string_holds(node, known))
            return frozenset(node for node in naming if found[node])

        found = []
        for name in self._names:
            matched = frozenset(
                number for number, each in enumerate(self._patterns) if each.accepts(name)
            )
            held = accepted([condition.accepts(name) for condition in conditions])
            found.append(NameClass(name, None, matched, held))
        if not self._names and not self._patterns and not conditions:
            return [NameClass(None, None, frozenset(), accepted([]))]
        n_patterns = len(self._patterns)

        def group(memberships: tuple[bool, ...]) -> tuple[frozenset[int], frozenset[Node]] | None:
            if memberships[0]:
                return None
            patterns = memberships[1 : 1 + n_patterns]
            matched = frozenset(number for number, is_in in enumerate(patterns) if is_in)
            return matched, accepted(memberships[1 + n_patterns :])

        named = Language.of_words(self._names)
        for key, language in grouped([named, *self._patterns, *conditions], group).items():
            if key is not None and not language.is_empty:
                found.append(NameClass(None, language, *key))
        return found

    def all_letters(self) -> list[Letter]:
        """Return what may come: a property of each class of names."""
        return self._all_letters

    @cached_property
    def _all_letters(self) -> list[Letter]:
        found = []
        for number, each in enumerate(self.classes):
            seen: list[Node] = []
            for node in self._asking:
                seen += self._children(node, each)
                if node.unevaluated is not None:
                    seen.append(node.unevaluated)
            found.append(Letter(number, seen_by(seen, self._order)))
        return found

    def _children(self, node: Node, names: NameClass) -> list[Node]:
        found = [node.properties[names.name]] if names.name in node.properties else []
        found += [
            child
            for language, child in node.patterns
            if next(n for n, each in enumerate(self._patterns) if each is language)
            in names.patterns
        ]
        if not found and node.additional is not None:
            found.append(node.additional)
        return found

    def _evaluates(self, node: Node, names: NameClass) -> bool:
        return bool(self._children(node, names)) or node.unevaluated is not None

    def letters(self, state: _Properties) -> Iterator[Letter]:
        """Yield what may come next: a property of a class."""
        for letter in self._all_letters:
            number = letter.name
            assert isinstance(number, int)
            if self.classes[number].name is not None and (
                number <= state.last if self._is_ordered else number in state.seen
            ):
                continue
            yield letter

    def after(self, state: _Properties, letter: Letter, cell: Cell) -> _Properties:
        """Return the state after a property."""
        assert isinstance(letter.name, int)
        number, names = letter.name, self.classes[letter.name]
        failed, pending = set(state.failed), set(state.pending)
        seen, last, n_named, n_others = state.seen, state.last, state.n_named, state.n_others
        if names.name is None:
            n_others = min(n_others + 1, self._cap)
        else:
            n_named = min(n_named + 1, self._cap)
            if self._is_ordered:
                passed = self._names[last + 1 : number]
                failed |= {n for n in self._asking if not set(passed).isdisjoint(n.required)}
                last = number
            if not self._is_ordered or number in self._tracked:
                seen |= {number}
        for node in self._asking:
            if not all(holds_in(child, cell) for child in self._children(node, names)):
                failed.add(node)
            if node.names is not None and not _is_accepted(node.names, names.accepted):
                failed.add(node)
            if node.unevaluated is None or holds_in(node.unevaluated, cell):
                continue
            if self._children(node, names):
                continue
            if any(self._evaluates(other, names) for other in may_evaluate(node)):
                pending.add((node, number))
            else:
                failed.add(node)
        return _Properties(
            seen,
            last,
            n_named,
            n_others,
            frozenset(failed),
            frozenset(each for each in pending if each[0] not in failed),
        )

    def holding(self, state: _Properties) -> tuple[dict[Node, bool], list[Problem]]:
        """Return which nodes hold for the object, and what is not sure about that."""
        seen = {self._names[number] for number in state.seen}
        if self._is_ordered:
            missing = set(self._names[state.last + 1 :])
        else:
            missing = set(self._names) - seen
        total = min(state.n_named + state.n_others, self._cap)
        distinct = min(state.n_named + min(state.n_others, 1), self._cap)

        def holds(node: Node, found: Any) -> bool:
            if node in state.failed or not missing.isdisjoint(node.required):
                return False
            if any(name in seen and not seen.issuperset(ns) for name, ns in node.needs.items()):
                return False
            if not _is_within(total, node.n_properties):
                return False
            visible = evaluators(node, found, seen) if node.unevaluated is not None else ()
            others = [other for other in visible if other is not node]
            return all(
                any(self._evaluates(other, self.classes[number]) for other in others)
                for owner, number in state.pending
                if owner is node
            ) and (node.values is None or any(found[other] for other in node.values.nodes))

        problems = [
            (
                f"{node.path}/{'minProperties' if total >= node.n_properties[0] > distinct else 'maxProperties'}",
                "names that are not listed may come twice, so they cannot be counted",
            )
            for node in self._asking
            if node not in state.failed
            and _is_within(total, node.n_properties) != _is_within(distinct, node.n_properties)
        ]
        return truths(self._nodes, "object", holds, seen), problems


def _names_of(node: Node) -> Iterator[str]:
    yield from node.properties
    yield from node.required
    for name, others in node.needs.items():
        yield name
        yield from others
    yield from node.dependent


def _is_accepted(node: Node, accepted: frozenset[Node]) -> bool:
    return node.meant in accepted


def string_holds(node: Node, known: dict[int, bool]) -> bool:
    """Return whether a node's conditions on strings hold; `known` has them by their language."""
    if not all(known[id(condition.language)] for condition in node.strings):
        return False
    if node.values is None:
        return True
    return node.values.strings is not None and known[id(node.values.strings.language)]


def number_holds(node: Node, known: dict[int, bool]) -> bool:
    """Return whether a node's conditions on numbers hold."""
    if not all(known[id(condition.language)] for condition in node.numbers):
        return False
    if node.values is None:
        return True
    return node.values.numbers is not None and known[id(node.values.numbers.language)]
