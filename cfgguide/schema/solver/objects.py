"""Objects as automata over their properties.

In: the nodes that see an object. Out: its :class:`ObjectMachine`. Names are sorted into classes:
each listed name is a class of its own, the others are told apart by the patterns that they match.
The machine reads from left to right and keeps which of the listed names occurred, how many
properties there are, and which nodes have failed for good.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any, NamedTuple

from cfgguide.automata.language import Language, difference, grouped
from cfgguide.base.limits import check_step
from cfgguide.base.remembered import remembered
from cfgguide.base.sets import members
from cfgguide.engine.byte_machine.property_names import has_other_text
from cfgguide.engine.byte_machine.scalars import is_within
from cfgguide.schema.solver.arrays import ArrayMachine
from cfgguide.schema.solver.member_automata import (
    MemberMachine,
    MemberSymbol,
    Problem,
    ValueClass,
    asked_by,
    holds_in,
    scalar_holds,
    seen_by,
)
from cfgguide.schema.solver.nodes import Node
from cfgguide.schema.solver.truth import Failures, applied_in_place, closure, truths

_NOTHING: frozenset[Any] = frozenset()
#: Names of a pattern that are listed where properties are counted; 10 take the same work for 40
#: schemas of SchemaStore.
MAX_LISTED = 1_000
MAX_UNORDERED = 8  # properties that may come in any order in a grammar's text


@dataclass(frozen=True, eq=False)
class NameClass:
    """A class of property names.

    Attributes
    ----------
    name : str or None
        The name, if there is only one.
    names : Language, or tuple of str
        The names; or those that do not belong to it, of a class of all others.
    patterns : int
        The patterns that they match, as bits.
    accepted : frozenset of Node
        The nodes of ``propertyNames`` that hold for them.
    listed : tuple of str
        Names that are classes of their own, whether the language has them or not.
    """

    name: str | None
    names: Language | tuple[str, ...]
    patterns: int
    accepted: frozenset[Node]
    listed: tuple[str, ...] = ()

    @property
    def shortest(self) -> float:
        """How many bytes the shortest name has, in quotes, about."""
        if self.name is not None:
            return len(self.name.encode(errors="replace")) + 2
        language = self.language
        return 2 if language is None else language.shortest(language.start) + 2

    @cached_property
    def language(self) -> Language | None:
        """The names; None for all."""
        if isinstance(self.names, Language):
            return difference(self.names, Language.of_words(self.listed))
        if not self.names:
            return None
        return grouped([Language.of_words(self.names)], any)[False]


class Properties(NamedTuple):
    """A state: what is known of the properties so far."""

    seen: int  # listed names that have come, as bits
    last: int  # the index of the last listed name, where properties have an order
    n_named: int
    n_others: int
    failed: frozenset[Node]
    pending: frozenset[tuple[Any, ...]]  # classes of names not evaluated by the node itself

    @property
    def n_parts(self) -> int:
        """How many properties have come."""
        return self.n_named + self.n_others


_START = Properties(0, -1, 0, 0, _NOTHING, _NOTHING)


class _Property(NamedTuple):
    """What nodes that have not failed ask of the properties of a class of names.

    Attributes
    ----------
    nodes : tuple of Node
        Those that see the value.
    owners : tuple of Node
        Nodes that fail where the value does not meet a child.
    children : tuple of Node
        That child, for each of them.
    others : tuple of Node
        Nodes that ask for something else.
    """

    nodes: tuple[Node, ...]
    owners: tuple[Node, ...]
    children: tuple[Node, ...]
    others: tuple[Node, ...]


class ObjectMachine(MemberMachine):
    """The automaton of the objects that some nodes see.

    Parameters
    ----------
    nodes, order, failures
        As :class:`~cfgguide.schema.solver.member_automata.MemberMachine` has them.
    is_ordered : bool
        Whether properties come in the order in which they are declared.
    wanted_to_fail : collection of Node
        Those whose failure may let a value through. The others count as failed where it is
        uncertain whether there are too many properties, since an unlisted name may come twice.
    are_different : bool
        Whether somebody else sees to it that no name comes twice where properties are counted.
    """

    kind = "object"

    def __init__(
        self,
        nodes: Sequence[Node],
        order: Callable[[Node], int],
        is_ordered: bool,
        failures: Failures,
        wanted_to_fail: Collection[Node],
        *,
        are_different: bool = False,
    ) -> None:
        super().__init__(nodes, order, failures)
        self._are_different = are_different
        self._wanted_to_fail = wanted_to_fail
        asking = sorted(self._asking, key=order)
        #: The listed names, in their order; the first classes of names are theirs.
        self.names = tuple(in_order(asking))
        self._is_ordered = is_ordered
        self._numbers = {name: number for number, name in enumerate(self.names)}
        # Where names have an order, a required name needs no memory: who requires a name that is
        # passed fails at once. Whether one of these names came is asked later as well.
        conditional = {name for node in asking for name in _conditional_names(node)}
        self._tracked = sum(1 << self._numbers[name] for name in conditional)
        requiring: dict[str, list[Node]] = {name: [] for name in self.names}
        for node in asking:
            for name in node.required:
                requiring[name].append(node)
        alike: dict[tuple[Node, ...], tuple[Node, ...]] = {}
        self._requiring = tuple(
            [alike.setdefault(each, each) for each in map(tuple, requiring.values())]
        )
        by_id = {id(language): language for node in asking for language, _ in node.patterns}
        self._patterns = tuple(by_id.values())
        self._pattern_numbers = {key: number for number, key in enumerate(by_id)}
        self._states: dict[Properties, Properties] = {}  # equal ones are one object
        self.start = _START
        if self.are_counted:
            self._list_few()

    @cached_property
    def are_counted(self) -> bool:
        """Whether it matters that no name comes twice where properties are counted.

        It does not if there only must not be too many.
        """
        return self._are_different and any(
            node.n_properties[0] > 1
            or (node.n_properties[1] is not None and node in self._wanted_to_fail)
            for node in self._asking
        )

    def _list_few(self) -> None:
        """List the names of which there are few in a class: they may all have come."""
        languages = [each.names for each in self.name_classes if isinstance(each.names, Language)]
        found = [each.words(MAX_LISTED) or [] for each in languages]
        for name in sorted({name for names in found for name in names}.difference(self.names)):
            self._numbers[name] = len(self.names)
            self.names += (name,)
            self._requiring += ((),)
        self.__dict__.pop("name_classes")

    @cached_property
    def name_classes(self) -> list[NameClass]:
        """The classes of names, those of single names first."""
        naming = [node.names.meant for node in self._asking if node.names is not None]
        inner = closure(naming)
        asked = [condition for node in inner for condition in asked_by(node, "string")]
        alike = {_NOTHING: _NOTHING}

        def accepted(memberships: Sequence[bool]) -> frozenset[Node]:
            known = dict(zip(map(id, asked), memberships, strict=True))
            found = truths(inner, "string", lambda node, _: scalar_holds(node, "string", known))
            held = frozenset(node for node in naming if found[node])
            return alike.setdefault(held, held)

        found = []
        # Listed names come first: the number of a name is also that of its class.
        for name in self.names:
            check_step()
            matched = sum(1 << n for n, each in enumerate(self._patterns) if each.accepts(name))
            held = accepted([each.meets(name) for each in asked])
            found.append(NameClass(name, (), matched, held))
        # Nothing tells the other names apart, so no automaton has to be made of them.
        if not self._patterns and not asked:
            return [*found, NameClass(None, self.names, 0, accepted([]))]
        n_patterns = len(self._patterns)

        languages = [*self._patterns, *(each.language for each in asked)]
        for memberships, language in combinations(languages):
            # A class without a name of its own would promise properties that cannot be written.
            if has_other_text(language, self.names):
                are_in = memberships[:n_patterns]
                matched = sum(1 << number for number, is_in in enumerate(are_in) if is_in)
                held = accepted(memberships[n_patterns:])
                found.append(NameClass(None, language, matched, held, self.names))
        return found

    @property
    def n_numbers(self) -> int:
        """How many classes of names there are."""
        return len(self.name_classes)

    @property
    def n_single(self) -> int:
        """How many of them are listed names."""
        return len(self.names)

    def children(self, node: Node, number: int) -> tuple[Node, ...]:
        """Return the nodes that a node applies to the value of a property."""
        names = self.name_classes[number]
        found: tuple[Node, ...] = ()
        if names.name in node.properties:
            found = (node.properties[names.name],)
        if node.patterns and names.patterns:
            own = self._children_by_pattern(node)
            met = members(names.patterns)
            found += tuple([child for number in met for child in own.get(number, ())])
        if not found and node.additional is not None:
            return (node.additional,)
        return found

    @remembered
    def _children_by_pattern(self, node: Node) -> dict[int, list[Node]]:
        """Return what a node applies to names that match each pattern."""
        found: dict[int, list[Node]] = {}
        for language, child in node.patterns:
            number = self._pattern_numbers.get(id(language), -1)  # none if never asked
            found.setdefault(number, []).append(child)
        return found

    def shortest(self, number: int) -> float:
        """Return how many bytes the shortest name of a class has, in quotes, about."""
        return self.name_classes[number].shortest

    def number_of(self, name: str) -> int:
        """Return the number of a listed name."""
        return self._numbers[name]

    def may_come(self, state: Properties, number: int) -> bool:
        """Return whether a listed name may still come."""
        return number > state.last if self._is_ordered else not state.seen >> number & 1

    def has_come(self, state: Properties, number: int) -> bool:
        """Return whether a listed name that may come no more has come.

        If names are in order, only those are kept of which it matters; the others have come, or the
        nodes that need them have failed.
        """
        return bool((state.seen | ~self._tracked) >> number & 1)

    def missed(self, state: Properties) -> frozenset[int]:
        """Return listed names that may come no more and have not come, if that matters."""
        if not self._is_ordered:
            return _NOTHING
        passed = (1 << state.last + 1) - 1
        return frozenset(members(self._tracked & passed & ~state.seen))

    def symbol(self, state: Properties, number: int) -> MemberSymbol:
        """Return the symbol of a class of names with the nodes that make a difference still."""
        return MemberSymbol(number, self._property(number, state.failed).nodes)

    @remembered
    def _property(self, number: int, failed: frozenset[Node]) -> _Property:
        """Return what is asked of the properties of a class where some nodes have failed."""
        check_step()
        seen: list[Node] = []
        owners: list[Node] = []
        meant: list[Node] = []
        others = []
        for node in self._asking:
            if node in failed:
                continue
            children = self.children(node, number)
            seen += children
            if node.unevaluated is not None:
                seen.append(node.unevaluated)
            if node.names is not None or node.unevaluated is not None:
                others.append(node)
                continue
            deciding = [child.meant for child in children if not child.meant.is_trivial]
            owners += [node] * len(deciding)
            meant += deciding
        nodes = seen_by(seen, self._order)
        return _Property(nodes, tuple(owners), tuple(meant), tuple(others))

    def evaluates(self, node: Node, number: int, *_: Any) -> bool:
        """Return whether a node evaluates the properties of a class of names."""
        return bool(self.children(node, number)) or node.unevaluated is not None

    def refuses(self, node: Node, number: int) -> bool:
        """Return whether a node lets no name of a class come."""
        accepted = self.name_classes[number].accepted
        return node.names is not None and node.names.meant not in accepted

    @remembered
    def leading(self, node: Node, number: int) -> frozenset[Node]:
        """Return the nodes in the place of a node that evaluate the properties of a class.

        And those by which these are applied, with what tells whether they are.
        """
        check_step()
        found: set[Node] = set()
        for other in applied_in_place(node, "object"):
            further = self.leading(other, number)
            if further or self.evaluates(other, number):
                found |= {other, *further}
        if found and node.conditional is not None:
            found.add(node.conditional[0])
        return frozenset(found)

    def symbols(self, state: Properties) -> Iterator[MemberSymbol]:
        """Yield what may come next: a property of a class."""
        for number in range(len(self.name_classes)):
            if number >= len(self.names) or self.may_come(state, number):
                yield self.symbol(state, number)

    def after(self, state: Properties, symbol: MemberSymbol, value_class: ValueClass) -> Properties:
        """Return the state after a property."""
        check_step()
        assert isinstance(symbol.name, int)
        number, names = symbol.name, self.name_classes[symbol.name]
        failed = set(state.failed)
        pending: set[tuple[Any, ...]] = set(state.pending)
        seen, last, n_named, n_others = state.seen, state.last, state.n_named, state.n_others
        if names.name is None:
            n_others = min(n_others + 1, self._cap)
        else:
            n_named = min(n_named + 1, self._cap)
            if self._is_ordered:
                # The order lets a name that is passed come no more.
                failed.update(*self._requiring[last + 1 : number])
                last = number
            if not self._is_ordered or self._tracked >> number & 1:
                seen |= 1 << number
        self._add_effect(number, state.failed, value_class, failed, pending)
        resolved, left = self._resolved(state, failed, pending)
        after = Properties(seen, last, n_named, n_others, resolved, left)
        return self._states.setdefault(after, after)

    def _add_effect(
        self,
        number: int,
        failed_before: frozenset[Node],
        value_class: ValueClass,
        failed: set[Node],
        pending: set[tuple[Any, ...]],
    ) -> None:
        """Add the nodes that fail with a property, and those that have not evaluated it."""
        member = self._property(number, failed_before)
        pairs = zip(member.owners, member.children, strict=True)
        failed.update([node for node, child in pairs if child not in value_class])
        for node in member.others:
            children = self.children(node, number)
            are_met = all(holds_in(child, value_class) for child in children)
            if self.refuses(node, number) or not are_met:
                failed.add(node)
            if not children:
                self._add_rest(node, (number,), value_class, failed, pending)

    def holding(self, state: Properties) -> tuple[dict[Node, bool], list[Problem]]:
        """Return which nodes hold for the object, and what is uncertain about that."""
        seen = {self.names[number] for number in members(state.seen)}
        # Nodes that require a name which was passed have failed already.
        open_names = self.names[state.last + 1 :] if self._is_ordered else self.names
        missing = set(open_names) - seen
        total = min(state.n_parts, self._cap)
        # All unlisted names that came may be one and the same.
        distinct = min(state.n_named + min(state.n_others, 1), self._cap)
        if self.are_counted:
            distinct = total

        def holds(node: Node) -> bool:
            if not (missing.isdisjoint(node.required) and is_within(total, node.n_properties)):
                return False
            return all(seen.issuperset(ns) for name, ns in node.needs.items() if name in seen)

        problems = []
        for node in self._asking:
            possible = {is_within(n, node.n_properties) for n in range(distinct, total + 1)}
            if node in state.failed or len(possible) == 1:
                continue
            keyword = "minProperties" if distinct < node.n_properties[0] else "maxProperties"
            # Counted as failed, it loses no value: each can be written without a name that comes
            # twice.
            if keyword == "maxProperties" and node not in self._wanted_to_fail:
                continue
            problem = "names that are not listed may come twice, so they cannot be counted"
            problems.append((f"{node.path}/{keyword}", problem))
        return self._truths(state, holds, seen), problems


MemberAutomaton = ArrayMachine | ObjectMachine


def combinations(languages: Sequence[Language]) -> Iterator[tuple[tuple[bool, ...], Language]]:
    """Yield all texts, by which of some languages they are in."""
    different = sorted(set(languages), key=id)
    places = [different.index(each) for each in languages]
    for met, language in _combinations(tuple(different)).items():
        yield tuple(met[place] for place in places), language


@lru_cache(maxsize=256)  # 60 schemas of SchemaStore need 15, and ask for them 55 times
def _combinations(languages: tuple[Language, ...]) -> dict[tuple[bool, ...], Language]:
    found = grouped(languages, lambda memberships: memberships)
    return {met: language for met, language in found.items() if not language.is_empty}


def in_order(nodes: Sequence[Node]) -> list[str]:
    """Return the names that nodes list, so that each node's declarations keep their order.

    Where two nodes contradict each other, the first counts. Names that are not declared come last.

    Examples
    --------
    >>> one, other = Node("", properties={"b": Node("")}), Node("", required=["b", "c"])
    >>> in_order([other, one, Node("", properties={"a": Node(""), "b": Node("")})])
    ['a', 'b', 'c']
    """
    declared = dict.fromkeys(name for node in nodes for name in node.properties)
    before: dict[str, set[str]] = {name: set() for name in declared}
    after: dict[str, set[str]] = {name: set() for name in declared}
    for node in nodes:
        for name, following in pairwise(node.properties):
            before[following].add(name)
            after[name].add(following)
    numbers = {name: number for number, name in enumerate(declared)}
    # A heap of declaration numbers: of the names that may come next, the one declared first comes.
    ready = [numbers[name] for name in declared if not before[name]]
    heapify(ready)
    names, found = list(declared), dict[str, None]()
    left = iter(names)
    while len(found) < len(names):
        # If none is ready, nodes contradict each other: the first one that is left comes anyway.
        check_step()
        name = names[heappop(ready)] if ready else next(each for each in left if each not in found)
        # It came before it was ready, to resolve a contradiction.
        if name in found:
            continue
        found[name] = None
        for following in after[name]:
            before[following].discard(name)
            if not before[following]:
                heappush(ready, numbers[following])
    return list(dict.fromkeys([*found, *(name for node in nodes for name in _names_of(node))]))


def _names_of(node: Node) -> Iterator[str]:
    yield from node.properties
    yield from node.required
    yield from _conditional_names(node)


def _conditional_names(node: Node) -> Iterator[str]:
    """Yield the names of which it matters later whether they came."""
    for name, others in node.needs.items():
        yield name
        yield from others
    yield from node.dependent
