"""What may come inside an object, or an array, that has begun.

In: :class:`~cfgguide.schema.solver.values.Values`, and the classes that are wanted. Out: for each
state of an object which names may come next, whether it may end, and the state after a property;
likewise for arrays. No state is without an end: what leads nowhere is not allowed in the first
place.

Plain objects keep which of the listed names have been seen, as bits, and plain arrays how many
items. All others keep what :mod:`cfgguide.schema.solver.objects` and
:mod:`cfgguide.schema.solver.arrays` do.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from operator import or_
from typing import Any

from cfgguide.automata.language import Language, grouped
from cfgguide.base.limits import check_step
from cfgguide.engine.byte_machine.property_names import PatternNames, PropertyNames, has_other_text
from cfgguide.engine.byte_machine.scalars import ScalarAutomaton, any_strings, plain_strings
from cfgguide.schema.equality import hashable
from cfgguide.schema.solver.counts import has_enough_items, plain_array_bounds
from cfgguide.schema.solver.nodes import Constant, Node
from cfgguide.schema.solver.objects import in_order
from cfgguide.schema.solver.paths import Cost, Path, Paths, Property
from cfgguide.schema.solver.plans import Plan
from cfgguide.schema.solver.search import Search
from cfgguide.schema.solver.tracked_values import Classes, Tracked
from cfgguide.schema.solver.values import Values

DEAD_END = -1  # no tag: it may not end here
_MANY_NAMES = 100  # from then on any known way on from a name is taken, not the shortest
_MOST_ITEMS = 500_000  # that come before an array can end: no model writes as many


class PlainMembers:
    """Objects for which all nodes are to hold, which ask for no more than names and values."""

    are_counted = False  # so a name may come twice

    def __init__(self, values: Values, search: Search, *, is_ordered: bool) -> None:
        self._values = values
        self._search = search
        self._is_ordered = is_ordered
        nodes = self._nodes
        self._names = tuple(in_order(nodes))
        required = {name for node in nodes for name in node.required}
        self._required = sum(1 << tag for tag, name in enumerate(self._names) if name in required)
        self._known: dict[int, Values] = {}
        self.start: int = 0  # the names seen, as bits; or in order one more than the last

    @property
    def _nodes(self) -> list[Node]:
        return sorted(self._values.object_nodes, key=self._search.values.order)

    @property
    def takes_more(self) -> bool:
        """Whether there are surely endlessly many names, and ways to finish each."""
        return "object" in self._values.takes_more

    @cached_property
    def _groups(self) -> tuple[tuple[Language | None, Values], ...]:
        """Names by the patterns that they match, some not listed, and the values of those."""
        patterns = [(node, language) for node in self._nodes for language, _ in node.patterns]
        found: list[tuple[Language | None, Values]] = []
        if not patterns:
            found.append((None, self._values_of(frozenset())))
        else:
            languages = [language for _, language in patterns]
            for met, language in grouped(languages, lambda met: met).items():
                if has_other_text(language, self._names):
                    matched = frozenset(
                        id(each) for each, is_in in zip(languages, met, strict=True) if is_in
                    )
                    found.append((language, self._values_of(matched)))
        return tuple([each for each in found if self._search.has_value(each[1])])

    def _values_of(self, matched: frozenset[int]) -> Values:
        """Return the values of a name that is not listed."""
        found: list[Node] = []
        for node in self._nodes:
            own = [child for language, child in node.patterns if id(language) in matched]
            if not own and node.additional is not None:
                own.append(node.additional)
            found += own
        return self._search.values.of(found)

    @cached_property
    def lexemes(self) -> tuple[ScalarAutomaton, Sequence[int]]:
        """The names, and the tag of each of their tags."""
        groups = self._groups
        tags = range(self.n_tags)
        if any(language is not None for language, _ in groups):
            languages = [language for language, _ in groups if language is not None]
            return PatternNames(self._names, languages), tags
        if not self._names and groups:
            return any_strings(), tags
        return PropertyNames(self._names, plain_strings() if groups else None), tags

    def lexemes_for(self, _allowed: int) -> tuple[ScalarAutomaton, Sequence[int]]:
        """Return names of which some are allowed, and the tag of each of their tags."""
        return self.lexemes

    @property
    def n_listed(self) -> int:
        """Number of listed names."""
        return len(self._names)

    @property
    def n_tags(self) -> int:
        """Number of tags of names."""
        return len(self._names) + len(self._groups)

    @cached_property
    def _possible(self) -> int:
        """The tags of names that have a value at all, as bits."""
        found = 0
        for tag in range(len(self._names)):
            found |= self._search.has_value(self.values(0, tag)) << tag
        for group in range(len(self._groups)):
            found |= 1 << len(self._names) + group
        return found

    def allowed(self, state: int) -> int:
        """Return the tags of names that may come next, as bits."""
        if not self._is_ordered:
            return self._possible & ~state
        missing = self._required >> state << state
        if not missing:
            return self._possible >> state << state
        first = (missing & -missing).bit_length()  # the names up to the first that has to come
        others = self._possible >> len(self._names) << len(self._names)
        return (self._possible & (1 << first) - 1) >> state << state | others

    def ending(self, state: int) -> int:
        """Return the tag of the object if it ends now, or `DEAD_END`."""
        missing = self._required >> state if self._is_ordered else self._required & ~state
        return DEAD_END if missing else 0

    def may_skip(self, state: int, first: int, tag: int) -> bool:
        """Return whether it can end without the listed names from `first` on, before a tag."""
        if self._is_ordered:
            return True  # what is allowed follows from the order
        missing = self._required & ~state
        return not missing >> first & (1 << tag - first) - 1

    def values(self, _state: int, tag: int) -> Values:
        """Return the values of a property."""
        if tag not in self._known:
            n_names = len(self._names)
            self._known[tag] = (
                self._search.property_values(self._values, self._names[tag])
                if tag < n_names
                else self._groups[tag - n_names][1]
            )
        return self._known[tag]

    def wanted(self, _state: int, _tag: int) -> Classes | None:
        """Return the classes that its value may have; None: all nodes are to hold."""
        return None

    def after(self, state: int, tag: int, _wanted: Classes | None, _class_tag: int) -> int:
        """Return the state after a property."""
        if tag >= len(self._names):
            return state
        return tag + 1 if self._is_ordered else state | 1 << tag

    def path(self, state: int, _cost: Cost) -> Path:
        """Return the properties that still have to come."""
        tags = range(state if self._is_ordered else 0, len(self._names))
        missing = self._required if self._is_ordered else self._required & ~state
        needed = [tag for tag in tags if missing >> tag & 1]
        return Path([(tag, self.values(state, tag), None) for tag in needed], 0)


class PlainItems:
    """Arrays for which all nodes are to hold, which ask for no more than items and a length.

    The items may have to be different, too.
    """

    def __init__(self, values: Values, search: Search) -> None:
        self._values = values
        self._search = search
        bounds = plain_array_bounds(values, search)
        assert bounds is not None, "there are such arrays"
        self._least, self._most = bounds
        self._prefix = values.n_prefix
        self._cap = max(self._prefix, self._least)
        self._known: dict[int, Values] = {}
        self.start = 0
        self._are_different = values.has_different_items

    @property
    def each(self) -> Values | None:
        """The values of each item; None if they depend on those before it."""
        return None if self._prefix else self._search.item_values(self._values, 0)

    @cached_property
    def takes_more(self) -> bool:
        """Whether each item that has begun surely can be finished in endlessly many ways."""
        return self.each is not None and self.each.takes_more == self.each.kinds

    def are_different(self, _state: int) -> bool:
        """Return whether an item that comes twice matters."""
        return self._are_different

    def after_repeated(self, _state: int, _wanted: Classes | None, _class_tag: int) -> None:
        """Return the state after an item that has come before: there is none."""

    def few(self) -> Iterator[tuple[Values, Classes | None, int]]:
        """Yield what items have to be if they are to be different, and how many of each.

        None if there are surely as many.
        """
        if self._are_different and has_enough_items(self._values, self._search) is None:
            for index in range(min(self._least, self._prefix + 1)):
                yield self._search.item_values(self._values, index), None, self._least

    def ending(self, state: int) -> int:
        """Return the tag of the array if it ends now, or `DEAD_END`."""
        return 0 if state >= self._least else DEAD_END

    def values(self, state: int) -> Values | None:
        """Return the values of the next item; None if there may be none."""
        if self._most is not None and state >= self._most:
            return None
        index = min(state, self._prefix)
        if index not in self._known:
            self._known[index] = self._search.item_values(self._values, index)
        values = self._known[index]
        return values if self._search.has_value(values) else None

    def wanted(self, _state: int) -> Classes | None:
        """Return the classes that it may have; None: all nodes are to hold."""
        return None

    def after(self, state: int, _wanted: Classes | None, _class_tag: int) -> int:
        """Return the state after the item."""
        return min(state + 1, self._cap) if self._most is None else state + 1

    def path(self, state: int, _cost: Cost) -> list[Classes | None] | None:
        """Return the classes of the items that still have to come; None if those are too many."""
        n_missing = max(0, self._least - state)
        return [None] * n_missing if n_missing <= _MOST_ITEMS else None


class TrackedMembers:
    """Objects whose classes matter."""

    def __init__(self, tracked: Tracked, search: Search, wanted: Classes) -> None:
        self._tracked = tracked
        self._search = search
        self._wanted = wanted
        self._machine = tracked.objects
        self.are_counted = self._machine.are_counted
        self._allowed: dict[Any, int] = {}
        self._plans: dict[Any, list[tuple[int, Plan]]] = {}  # of the names that are allowed
        self._within: dict[Any, int] = {}  # tags of which what is allowed in a state is a part
        self._known: dict[tuple[Any, int], Classes | None] = {}
        self._endings: dict[Any, int] = {}
        self.start = self._machine.start

    @property
    def takes_more(self) -> bool:
        """Whether there are surely endlessly many names, and ways to finish each."""
        return "object" in self._tracked.values.takes_more

    @cached_property
    def lexemes(self) -> tuple[ScalarAutomaton, Sequence[int]]:
        """The names, and the tag of each of their tags."""
        names = self._machine.names
        tags = range(self.n_tags)
        others = self._machine.name_classes[len(names) :]
        if len(others) == 1 and not isinstance(others[0].names, Language):  # all others
            return (PropertyNames(names, plain_strings()) if names else any_strings()), tags
        languages = [each.names for each in others if isinstance(each.names, Language)]
        return PatternNames(names, languages), tags

    @cached_property
    def _listed(self) -> tuple[ScalarAutomaton, Sequence[int]]:
        """The listed names only."""
        return PropertyNames(self._machine.names, None), range(self.n_tags)

    def lexemes_for(self, allowed: int) -> tuple[ScalarAutomaton, Sequence[int]]:
        """Return names of which some are allowed, and the tag of each of their tags.

        If no other names are allowed, only the listed ones: states inside of others do not ask.
        """
        has_others = allowed >> len(self._machine.names)
        is_plain = isinstance(self.lexemes[0], PropertyNames)
        return self._listed if is_plain and not has_others else self.lexemes

    @property
    def n_listed(self) -> int:
        """Number of listed names."""
        return len(self._machine.names)

    @property
    def n_tags(self) -> int:
        """Number of tags of names."""
        return len(self._machine.name_classes)

    def allowed(self, state: Any) -> int:
        """Return the tags of names that may come next, as bits."""
        known = self._allowed.get(state)
        if known is None:
            known = self._allowed[state] = self._found_allowed(state)
        return known

    @property
    def first_planned(self) -> list[int]:
        """The tags of names that come in some way in which an object may begin."""
        plan = self._search.object_plan(self._tracked, self.start, self._wanted)
        return [] if plan is None else sorted(plan.coming)

    def _found_allowed(self, state: Any) -> int:
        within = self._within.get(state, -1)
        plans = [*self._search.names(self._tracked, state, self._wanted, within)]
        if self.n_tags > _MANY_NAMES:
            self._plans[state] = plans
        return reduce(or_, (names for names, _ in plans), 0)

    def ending(self, state: Any) -> int:
        """Return the tag of the object if it ends now, or `DEAD_END`."""
        known = self._endings.get(state)
        if known is None:
            known = _tag(self._wanted, self._tracked.ending(self._machine, state))
            self._endings[state] = known
        return known

    def may_skip(self, state: Any, first: int, tag: int) -> bool:
        """Return whether it can end without the listed names from `first` on, before a tag."""
        return self._search.ends_from(self._tracked, state, self._wanted, tag)

    def values(self, state: Any, tag: int) -> Values:
        """Return the values of a property."""
        return self._search.values.of(self._machine.symbol(state, tag).nodes)

    def wanted(self, state: Any, tag: int) -> Classes | None:
        """Return the classes that its value may have; None: all nodes are to hold."""
        if (state, tag) not in self._known:
            found = self._search.property_classes(self._tracked, state, tag, self._wanted)
            self._known[state, tag] = _unless_all(self.values(state, tag), found)
        return self._known[state, tag]

    def after(self, state: Any, tag: int, wanted: Classes | None, class_tag: int) -> Any:
        """Return the state after a property, of which classes were wanted."""
        symbol = self._machine.symbol(state, tag)
        value_class = self.values(state, tag).every if wanted is None else wanted[class_tag]
        after = self._machine.after(state, symbol, value_class)
        if not self._search.is_ordered and state in self._allowed:
            # What may come after a property might have come before it.
            self._within.setdefault(after, self._allowed[state])
        return after

    def path(self, state: Any, cost: Cost) -> Path | None:
        """Return the properties that still come; None if no way is known."""
        return Paths(self._tracked, self._search, self._wanted).of_object(state, cost)

    def path_from(self, state: Any, tag: int) -> Path | None:
        """Return some way on that begins with an allowed name, where there are many names.

        It is the one by which the name was found to be allowed: none is looked for.
        """
        if self.are_counted or self.n_tags <= _MANY_NAMES or not self.allowed(state) >> tag & 1:
            return None
        plan = next(plan for names, plan in self._plans[state] if names >> tag & 1)
        return Paths(self._tracked, self._search, self._wanted).of_plan(state, plan, tag)


class TrackedItems:
    """Arrays whose classes matter."""

    def __init__(self, tracked: Tracked, search: Search, wanted: Classes) -> None:
        self._tracked = tracked
        self._search = search
        self._wanted = wanted
        self._machine = tracked.arrays
        self._known: dict[Any, Classes] = {}
        self.start = self._machine.start

    #: Not asked: what items may be depends on those before.
    takes_more = False
    each = None

    def are_different(self, state: Any) -> bool:
        """Return whether an item that comes twice matters."""
        return self._machine.must_differ(state)

    def after_repeated(self, state: Any, wanted: Classes | None, class_tag: int) -> Any:
        """Return the state after an item that has come before; None if it may not."""
        symbol = self._machine.symbol(state)
        value_class = frozenset(symbol.nodes) if wanted is None else wanted[class_tag]
        after = self._machine.after(state, symbol, value_class, is_repeated=True)
        is_possible = self._search.array_ends(self._tracked, after, self._wanted)
        return after if is_possible else None

    def few(self) -> Iterator[tuple[Values, Classes | None, int]]:
        """Yield what items have to be if they are to be different, and how many of each."""
        if self._machine.must_differ(self.start):
            least = self._machine.least(self._search.wanted_to_fail)
            for state in self._machine.places():
                values = self._search.values.of(self._machine.symbol(state).nodes)
                for each in self._search.item_classes(self._tracked, state, self._wanted):
                    yield values, (each,), least

    def ending(self, state: Any) -> int:
        """Return the tag of the array if it ends now, or `DEAD_END`."""
        return _tag(self._wanted, self._tracked.ending(self._machine, state))

    def values(self, state: Any) -> Values | None:
        """Return the values of the next item; None if there may be none."""
        if not self._found(state):
            return None
        return self._search.values.of(self._machine.symbol(state).nodes)

    def _found(self, state: Any) -> Classes:
        if state not in self._known:
            ends = partial(self._search.array_ends, self._tracked, wanted=self._wanted)
            symbol = self._machine.symbol(state)
            self._known[state] = tuple(
                each
                for alike in self._search.item_groups(self._tracked, state, self._wanted)
                if ends(self._machine.after(state, symbol, alike[0]))
                for each in alike
            )
        return self._known[state]

    def wanted(self, state: Any) -> Classes | None:
        """Return the classes that it may have; None: all nodes are to hold."""
        values = self.values(state)
        assert values is not None, "there is an item"
        return _unless_all(values, self._found(state))

    def after(self, state: Any, wanted: Classes | None, class_tag: int) -> Any:
        """Return the state after the item, of which classes were wanted."""
        symbol = self._machine.symbol(state)
        value_class = frozenset(symbol.nodes) if wanted is None else wanted[class_tag]
        return self._machine.after(state, symbol, value_class)

    def path(self, state: Any, cost: Cost) -> list[Classes | None] | None:
        """Return the classes of the items that still come; None if no way is known."""
        found = Paths(self._tracked, self._search, self._wanted).of_array(state, cost)
        return None if found is None else [(value_class,) for value_class in found]


@dataclass(frozen=True, eq=False)
class Remaining:
    """A state of a listed array or object; there is one for each value.

    Attributes
    ----------
    constants : tuple of int
        Those that the value may still become.
    passed : int
        How many items have come; of an object the names that have, as bits, or in order one more
        than the last.
    """

    constants: tuple[int, ...]
    passed: int


#: Constants by the node of their next item or of a property.
_Groups = dict[Node, list[int]]


class ListedParts:
    """What listed arrays and objects have in common: which constants are left.

    Each item or property narrows them, so a text costs as much as the constants that are left.
    """

    takes_more = False

    def __init__(self, listed: Sequence[tuple[Constant, int]], search: Search) -> None:
        self._search = search
        self._tags = [tag for _, tag in listed]
        self._states: dict[tuple[tuple[int, ...], int], Remaining] = {}
        self._nodes: dict[Hashable, Node] = {}  # by value: of equal ones the first
        self._known: dict[tuple[Remaining, int], _Groups] = {}
        self.start = self._state(tuple(range(len(listed))), 0)

    def _state(self, constants: tuple[int, ...], passed: int) -> Remaining:
        key = (constants, passed)
        return self._states.setdefault(key, Remaining(constants, passed))

    def _node_of(self, value: Any, node: Node) -> Node:
        """Return the node that stands for a value."""
        return self._nodes.setdefault(hashable(value), node)

    def _grouped(self, found: Iterable[tuple[Node, int]]) -> _Groups:
        groups: _Groups = {}
        for node, number in found:
            groups.setdefault(node, []).append(number)
        return groups

    def _values(self, groups: _Groups) -> Values:
        return self._search.values.of(groups)

    def _wanted(self, groups: _Groups) -> Classes | None:
        """Return the classes of the next value; None if there is one."""
        return None if len(groups) == 1 else tuple(frozenset((node,)) for node in groups)

    def _among(self, groups: _Groups, wanted: Classes | None, class_tag: int) -> tuple[int, ...]:
        """Return the constants that are left once a value of some class has come."""
        (node,) = groups if wanted is None else wanted[class_tag]
        return tuple(groups[node])


class ListedMembers(ListedParts):
    """Listed objects."""

    are_counted = False

    def __init__(
        self, values: Values, listed: Sequence[tuple[Constant, int]], search: Search
    ) -> None:
        super().__init__(listed, search)
        order = search.values.order
        asking = [node for node in values.below if "object" in node.kinds and not node.is_false]
        used = {name for (value, _), _ in listed for name in value}
        self._names = [name for name in in_order(sorted(asking, key=order)) if name in used]
        tags = {name: tag for tag, name in enumerate(self._names)}
        self._members: list[dict[int, Node]] = []
        self._lengths: list[dict[int, int]] = []  # about, of each property as it is written
        for (listed_object, shape), _ in listed:
            check_step()
            assert shape is not None, "it is an object"
            nodes, members = shape.properties, listed_object.items()
            self._members.append(
                {tags[name]: self._node_of(value, nodes[name]) for name, value in members}
            )
            self._lengths.append(
                {tags[name]: _length(value) + len(name) for name, value in members}
            )
        self._bits = [sum(1 << tag for tag in members) for members in self._members]
        self._in_order: dict[int, list[Property]] = {}
        self.lexemes: tuple[ScalarAutomaton, Sequence[int]] = (
            PropertyNames(self._names, None),
            range(self.n_tags),
        )

    def lexemes_for(self, _allowed: int) -> tuple[ScalarAutomaton, Sequence[int]]:
        """Return names of which some are allowed, and the tag of each of their tags."""
        return self.lexemes

    @property
    def n_listed(self) -> int:
        """Number of listed names."""
        return len(self._names)

    @property
    def n_tags(self) -> int:
        """Number of tags of names."""
        return len(self._names)

    def _left(self, state: Remaining, number: int) -> int:
        """Return the names of a constant that still have to come, as bits."""
        if self._search.is_ordered:
            return self._bits[number] >> state.passed << state.passed
        return self._bits[number] & ~state.passed

    def _next(self, state: Remaining, number: int) -> int:
        """Return the names of a constant that may come next, as bits."""
        left = self._left(state, number)
        return left & -left if self._search.is_ordered else left

    def allowed(self, state: Remaining) -> int:
        """Return the tags of names that may come next, as bits."""
        found = 0
        for number in state.constants:
            found |= self._next(state, number)
        return found

    def ending(self, state: Remaining) -> int:
        """Return the tag of the object if it ends now, or `DEAD_END`."""
        whole = (number for number in state.constants if not self._left(state, number))
        number = next(whole, None)
        return DEAD_END if number is None else self._tags[number]

    def may_skip(self, state: Remaining, _first: int, tag: int) -> bool:
        """Return whether it can end without the listed names before a tag."""
        before = (1 << tag) - 1
        return self._search.is_ordered or any(
            not self._left(state, number) & before for number in state.constants
        )

    def _groups(self, state: Remaining, tag: int) -> _Groups:
        key = (state, tag)
        if key not in self._known:
            self._known[key] = self._grouped(
                (self._members[number][tag], number)
                for number in state.constants
                if self._next(state, number) >> tag & 1
            )
        return self._known[key]

    def values(self, state: Remaining, tag: int) -> Values:
        """Return the values of a property."""
        return self._values(self._groups(state, tag))

    def wanted(self, state: Remaining, tag: int) -> Classes | None:
        """Return the classes that its value may have; None if it has one value."""
        return self._wanted(self._groups(state, tag))

    def after(
        self, state: Remaining, tag: int, wanted: Classes | None, class_tag: int
    ) -> Remaining:
        """Return the state after a property, of which classes were wanted."""
        among = self._among(self._groups(state, tag), wanted, class_tag)
        passed = tag + 1 if self._search.is_ordered else state.passed | 1 << tag
        return self._state(among, passed)

    def path(self, state: Remaining, _cost: Cost) -> Path:
        """Return the properties that still come: of a constant with a short rest."""
        number = min(state.constants, key=partial(self._length_left, state))
        left = self._left(state, number)
        properties = self._properties(number)
        return Path([each for each in properties if left >> each[0] & 1], self._tags[number])

    def _properties(self, number: int) -> list[Property]:
        """Return the properties of a constant, in the order of their tags."""
        found = self._in_order.get(number)
        if found is None:
            of, nodes = self._search.values.of, sorted(self._members[number].items())
            found = self._in_order[number] = [(tag, of([node]), None) for tag, node in nodes]
        return found

    def _length_left(self, state: Remaining, number: int) -> int:
        left = self._left(state, number)
        return sum(n for tag, n in self._lengths[number].items() if left >> tag & 1)


class ListedItems(ListedParts):
    """Listed arrays."""

    #: Not asked: what items may be depends on those before.
    each = None

    def __init__(self, listed: Sequence[tuple[Constant, int]], search: Search) -> None:
        super().__init__(listed, search)
        self._items: list[list[Node]] = []
        self._lengths: list[list[int]] = []  # about, of each item as it is written
        for (array, shape), _ in listed:
            check_step()
            assert shape is not None, "it is an array"
            self._items.append(list(map(self._node_of, array, shape.prefix)))
            self._lengths.append(list(map(_length, array)))

    def are_different(self, _state: Remaining) -> bool:
        """Return whether an item that comes twice matters: it was listed so."""
        return False

    def after_repeated(self, _state: Remaining, _wanted: Classes | None, _class_tag: int) -> None:
        """Return the state after an item that has come before: there is none."""

    def few(self) -> Iterator[tuple[Values, Classes | None, int]]:
        """Yield what items have to be if they are to be different: nothing."""
        return iter(())

    def ending(self, state: Remaining) -> int:
        """Return the tag of the array if it ends now, or `DEAD_END`."""
        whole = (n for n in state.constants if len(self._items[n]) == state.passed)
        number = next(whole, None)
        return DEAD_END if number is None else self._tags[number]

    def _groups(self, state: Remaining) -> _Groups:
        key, place = (state, 0), state.passed
        if key not in self._known:
            self._known[key] = self._grouped(
                (self._items[n][place], n) for n in state.constants if len(self._items[n]) > place
            )
        return self._known[key]

    def values(self, state: Remaining) -> Values | None:
        """Return the values of the next item; None if there may be none."""
        groups = self._groups(state)
        return self._values(groups) if groups else None

    def wanted(self, state: Remaining) -> Classes | None:
        """Return the classes that it may have; None if it has one value."""
        return self._wanted(self._groups(state))

    def after(self, state: Remaining, wanted: Classes | None, class_tag: int) -> Remaining:
        """Return the state after the item, of which classes were wanted."""
        among = self._among(self._groups(state), wanted, class_tag)
        return self._state(among, state.passed + 1)

    def path(self, state: Remaining, _cost: Cost) -> list[Classes | None]:
        """Return the classes of the items that still come: of a constant with a short rest."""
        place = state.passed
        number = min(state.constants, key=lambda number: sum(self._lengths[number][place:]))
        return [(frozenset((node,)),) for node in self._items[number][place:]]


def _length(value: Any) -> int:
    return len(json.dumps(value, default=str))


#: The objects of some values; the tags of names are numbers, and those of values' classes.
Members = PlainMembers | TrackedMembers | ListedMembers
#: The arrays of some values.
Items = PlainItems | TrackedItems | ListedItems


def _tag(wanted: Classes, value_class: Any) -> int:
    """Return the tag of a class, or `DEAD_END` if it is not wanted."""
    return wanted.index(value_class) if value_class in wanted else DEAD_END


def _unless_all(values: Values, found: Classes) -> Classes | None:
    """Return the wanted classes; None if only values are wanted for which all nodes hold."""
    return None if found == (values.every,) else found
