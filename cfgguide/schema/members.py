"""What may come inside an object, or an array, that has begun.

In: :class:`~cfgguide.schema.solver.values.Values`, or a :class:`~cfgguide.schema.solver.goals.Goal`
of them. Out: for each state of an object which names may come next, what their values are to be,
whether it may end, and the state after a property; likewise for arrays. No state is without an end:
what leads nowhere is not allowed in the first place.

Plain objects keep which of the listed names have been seen, as bits, and plain arrays how many
items. All others keep what :mod:`cfgguide.schema.solver.objects` and
:mod:`cfgguide.schema.solver.arrays` do.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from math import inf
from operator import or_
from typing import Any, Self

from cfgguide.automata.language import Language, grouped
from cfgguide.base.limits import check_step
from cfgguide.base.remembered import remembered
from cfgguide.engine.byte_machine.property_names import PropertyNames, has_other_text
from cfgguide.engine.byte_machine.scalars import (
    ScalarAutomaton,
    any_strings,
    plain_strings,
    strings_in,
)
from cfgguide.schema.equality import hashable
from cfgguide.schema.solver.counts import has_enough_items, plain_array_bounds
from cfgguide.schema.solver.goals import Case, Goal
from cfgguide.schema.solver.member_automata import ValueClass
from cfgguide.schema.solver.nodes import KINDS, Constant, Node
from cfgguide.schema.solver.objects import in_order
from cfgguide.schema.solver.paths import Cost, Paths, Property
from cfgguide.schema.solver.plans import Plan
from cfgguide.schema.solver.search import Search
from cfgguide.schema.solver.values import Values

DEAD_END = -1  # no tag: it may not end here
#: From then on any known way on from a name is taken, not the shortest. At 10, SchemaStore takes
#: 5 % less work, and endings are longer; without a bound it is as much work as with this one.
_MANY_NAMES = 100
_MOST_ITEMS = 500_000  # that come before an array can end: no model writes as many


Lexemes = tuple[ScalarAutomaton, Sequence[int]]  # names, and the tag of each of their tags


def _names_of(listed: Sequence[str], others: Sequence[Language | None]) -> Lexemes:
    """Return listed names, and others by the languages that they are in; None for all others."""
    tags = range(len(listed) + len(others))
    if None not in others:
        languages = [each for each in others if each is not None]
        return PropertyNames(listed, strings_in(tuple(languages)) if languages else None), tags
    return (PropertyNames(listed, plain_strings()) if listed else any_strings()), tags


class _Members:
    """Objects, some of whose names are listed."""

    _names: Sequence[str]

    @property
    @abstractmethod
    def lexemes(self) -> Lexemes:
        """The names, and the tag of each of their tags."""

    def lexemes_for(self, _allowed: int) -> Lexemes:
        """Return names of which some are allowed, and the tag of each of their tags."""
        return self.lexemes

    @property
    def n_listed(self) -> int:
        """Number of listed names."""
        return len(self._names)


class PlainMembers(_Members):
    """Objects for which all nodes are to hold, which ask for no more than names and values."""

    are_counted = False  # so a name may come twice
    is_every = True

    def __init__(self, values: Values, search: Search, *, is_ordered: bool) -> None:
        self._values = values
        self._search = search
        self._is_ordered = is_ordered
        nodes = self._nodes
        self._names = tuple(in_order(nodes))
        required = {name for node in nodes for name in node.required}
        self._required = sum(1 << tag for tag, name in enumerate(self._names) if name in required)
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
        return _names_of(self._names, [language for language, _ in self._groups])

    @property
    def n_tags(self) -> int:
        """Number of tags of names."""
        return len(self._names) + len(self._groups)

    def has_endless_names(self, tag: int) -> bool:
        """Return whether there are endlessly many of the names with a tag, which are not listed."""
        language, _ = self._groups[tag - len(self._names)]
        return language is None or language.longest(language.start) == inf

    @cached_property
    def _possible(self) -> int:
        """The tags of names that have a value at all, as bits."""
        found = 0
        for tag, name in enumerate(self._names):
            values = self._search.property_values(self._values, name)
            found |= self._search.has_value(values) << tag
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

    def goal(self, _state: int, tag: int) -> Goal:
        """Return what the value of a property is to be."""
        return self._goal(tag)

    @remembered
    def _goal(self, tag: int) -> Goal:
        n_names = len(self._names)
        if tag >= n_names:
            return self._search.goal(self._groups[tag - n_names][1])
        return self._search.goal(self._search.property_values(self._values, self._names[tag]))

    def after(self, state: int, tag: int, _goal: Goal, _class_tag: int) -> int:
        """Return the state after a property."""
        if tag >= len(self._names):
            return state
        return tag + 1 if self._is_ordered else state | 1 << tag

    def path(self, state: int, _cost: Cost) -> list[Property]:
        """Return the properties that still have to come."""
        check_step(0)
        tags = range(state if self._is_ordered else 0, len(self._names))
        missing = self._required if self._is_ordered else self._required & ~state
        needed = [tag for tag in tags if missing >> tag & 1]
        return [(tag, self.goal(state, tag)) for tag in needed]


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
        self.start = 0
        self._are_different = values.has_different_items

    @cached_property
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

    def after_repeated(self, _state: int, _goal: Goal, _class_tag: int) -> None:
        """Return the state after an item that has come before: there is none."""

    def few(self) -> Iterator[tuple[Goal, int]]:
        """Yield what items have to be if they are to be different, and how many of each.

        None if there are surely as many.
        """
        if self._are_different and has_enough_items(self._values, self._search) is None:
            for index in range(min(self._least, self._prefix + 1)):
                yield self._item(index), self._least

    def ending(self, state: int) -> int:
        """Return the tag of the array if it ends now, or `DEAD_END`."""
        return 0 if state >= self._least else DEAD_END

    @remembered
    def _item(self, index: int) -> Goal:
        return self._search.goal(self._search.item_values(self._values, index))

    def goal(self, state: int) -> Goal | None:
        """Return what the next item is to be; None if there may be none."""
        if self._most is not None and state >= self._most:
            return None
        goal = self._item(min(state, self._prefix))
        return goal if self._search.has_value(goal.values) else None

    def after(self, state: int, _goal: Goal, _class_tag: int) -> int:
        """Return the state after the item."""
        return min(state + 1, self._cap) if self._most is None else state + 1

    def path(self, state: int, _cost: Cost) -> list[Goal] | None:
        """Return what the items are that still have to come; None if those are too many."""
        if self._least - state > _MOST_ITEMS:
            return None
        first = [self._item(index) for index in range(state, min(self._prefix, self._least))]
        n_others = self._least - max(state, self._prefix)
        return first + max(n_others, 0) * [self._item(self._prefix)]


class _Tracked:
    """Objects or arrays whose classes matter.

    Attributes
    ----------
    whole : Goal
        What they are to be.
    """

    def __init__(self, search: Search, goal: Goal) -> None:
        self._search = search
        self.whole = goal

    @remembered
    def asked_for(self, goal: Goal) -> tuple[Self, Goal] | None:
        """Return the same as they are to be for another goal of these values, and that goal."""
        if goal.cases == self.whole.cases or goal.values != self.whole.values:
            return None
        return type(self)(self._search, goal), goal


class TrackedMembers(_Tracked, _Members):
    """Objects whose classes matter."""

    def __init__(self, search: Search, goal: Goal) -> None:
        super().__init__(search, goal)
        self._tracked = search.tracked(goal.values)
        self._machine = self._tracked.objects
        self._names = self._machine.names
        self.are_counted = self._machine.are_counted
        self.is_every = goal.is_every
        self._allowed: dict[Any, int] = {}
        self._plans: dict[Any, list[tuple[int, Plan]]] = {}  # of the names that are allowed
        self._within: dict[Any, int] = {}  # tags of which what is allowed in a state is a part
        self.start = self._machine.start

    @property
    def takes_more(self) -> bool:
        """Whether there are surely endlessly many names, and ways to finish each."""
        return "object" in self._tracked.values.takes_more

    @cached_property
    def lexemes(self) -> Lexemes:
        """The names, and the tag of each of their tags."""
        others = [each.names for each in self._machine.name_classes[self.n_listed :]]
        return _names_of(self._names, [o if isinstance(o, Language) else None for o in others])

    @cached_property
    def _listed(self) -> Lexemes:
        """The listed names only."""
        return _names_of(self._names, [])

    def lexemes_for(self, allowed: int) -> Lexemes:
        """Return names of which some are allowed, and the tag of each of their tags.

        If no other names are allowed, only the listed ones: states inside of others do not ask.
        """
        has_others = allowed >> self.n_listed
        is_plain = isinstance(self.lexemes[0], PropertyNames)
        return self._listed if is_plain and not has_others else self.lexemes

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
        plan = self._search.plan(self.whole, "object", self.start)
        return [] if plan is None else sorted(plan.coming)

    def _found_allowed(self, state: Any) -> int:
        within = self._within.get(state, -1)
        plans = [*self._search.names(self.whole, state, within)]
        if self.n_tags > _MANY_NAMES:
            self._plans[state] = plans
        return reduce(or_, (names for names, _ in plans), 0)

    @remembered
    def ending(self, state: Any) -> int:
        """Return the tag of the object if it ends now, or `DEAD_END`."""
        return _tag(self.whole, self._tracked.ending("object", state), "object")

    def may_skip(self, state: Any, first: int, tag: int) -> bool:
        """Return whether it can end without the listed names from `first` on, before a tag."""
        return self._search.ends_from(self.whole, state, tag)

    def values(self, state: Any, tag: int) -> Values:
        """Return what sees the value of a property."""
        return self._search.values.of(self._machine.symbol(state, tag).nodes)

    @remembered
    def goal(self, state: Any, tag: int) -> Goal:
        """Return what the value of a property is to be."""
        return self._search.part(self.whole, "object", state, tag)

    def after(self, state: Any, tag: int, goal: Goal, class_tag: int) -> Any:
        """Return the state after a property, whose value has met some goal."""
        symbol = self._machine.symbol(state, tag)
        after = self._machine.after(state, symbol, goal.classes[class_tag])
        if not self._search.is_ordered and state in self._allowed:
            # What may come after a property might have come before it.
            self._within.setdefault(after, self._allowed[state])
        return after

    def path(self, state: Any, cost: Cost) -> list[Property] | None:
        """Return the properties that still come; None if no way is known."""
        return Paths(self._search, self.whole, "object").of(state, cost)

    def path_from(self, state: Any, tag: int) -> list[Property] | None:
        """Return some way on that begins with an allowed name, where there are many names.

        It is the one by which the name was found to be allowed: none is looked for.
        """
        if self.are_counted or self.n_tags <= _MANY_NAMES or not self.allowed(state) >> tag & 1:
            return None
        plan = next(plan for names, plan in self._plans[state] if names >> tag & 1)
        return Paths(self._search, self.whole, "object").of_plan(state, plan, tag)


class TrackedItems(_Tracked):
    """Arrays whose classes matter."""

    def __init__(self, search: Search, goal: Goal) -> None:
        super().__init__(search, goal)
        self._tracked = search.tracked(goal.values)
        self._machine = self._tracked.arrays
        self.start = self._machine.start

    #: Not asked: what items may be depends on those before.
    takes_more = False
    each = None

    def are_different(self, state: Any) -> bool:
        """Return whether an item that comes twice matters."""
        return self._machine.must_differ(state)

    def after_repeated(self, state: Any, goal: Goal, class_tag: int) -> Any:
        """Return the state after an item that has come before; None if it may not."""
        symbol, value_class = self._machine.symbol(state), goal.classes[class_tag]
        after = self._machine.after(state, symbol, value_class, is_repeated=True)
        return after if self._search.ends(self.whole, "array", after) else None

    def few(self) -> Iterator[tuple[Goal, int]]:
        """Yield what items have to be if they are to be different, and how many of each."""
        if self._machine.must_differ(self.start):
            least = self._machine.least(self._search.wanted_to_fail)
            for index in range(self._machine.n_prefix + 1):
                state = self.start._replace(n_parts=index)
                asked = self._search.part(self.whole, "array", state, index)
                for each in self._search.classes(asked.values):
                    if any(asked.is_met_by(each, kind) for kind in KINDS):
                        yield self._search.goal(asked.values, [Case(each, is_whole=True)]), least

    def ending(self, state: Any) -> int:
        """Return the tag of the array if it ends now, or `DEAD_END`."""
        return _tag(self.whole, self._tracked.ending("array", state), "array")

    @remembered
    def goal(self, state: Any) -> Goal | None:
        """Return what the next item is to be; None if there may be none."""
        goal = self._search.part(self.whole, "array", state, self._machine.index(state))
        return goal if goal.cases else None

    def after(self, state: Any, goal: Goal, class_tag: int) -> Any:
        """Return the state after the item, which has met some goal."""
        return self._machine.after(state, self._machine.symbol(state), goal.classes[class_tag])

    def path(self, state: Any, cost: Cost) -> list[Goal] | None:
        """Return what the items are that still come; None if no way is known."""
        found = Paths(self._search, self.whole, "array").of(state, cost)
        return None if found is None else [goal for _, goal in found]


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

    def _goal(self, groups: Iterable[Node]) -> Goal:
        """Return that a value is one of those of some nodes."""
        cases = [Case(frozenset((node,)), is_whole=True) for node in groups]
        return self._search.goal(self._search.values.of(groups), cases)

    def _among(self, groups: _Groups, goal: Goal, class_tag: int) -> tuple[int, ...]:
        """Return the constants that are left once a value of some class has come."""
        (node,) = goal.classes[class_tag]
        return tuple(groups[node])


class ListedMembers(ListedParts, _Members):
    """Listed objects."""

    are_counted = False
    is_every = False

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
        self.n_tags = self.n_listed
        _ = self.lexemes  # made now, and not in the middle of a text

    @cached_property
    def lexemes(self) -> Lexemes:
        """The names, and the tag of each of their tags."""
        return _names_of(self._names, [])

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

    @remembered
    def _groups(self, state: Remaining, tag: int) -> _Groups:
        return self._grouped(
            (self._members[number][tag], number)
            for number in state.constants
            if self._next(state, number) >> tag & 1
        )

    @remembered
    def goal(self, state: Remaining, tag: int) -> Goal:
        """Return what the value of a property is to be."""
        return self._goal(self._groups(state, tag))

    def after(self, state: Remaining, tag: int, goal: Goal, class_tag: int) -> Remaining:
        """Return the state after a property, whose value has met some goal."""
        among = self._among(self._groups(state, tag), goal, class_tag)
        passed = tag + 1 if self._search.is_ordered else state.passed | 1 << tag
        return self._state(among, passed)

    def path(self, state: Remaining, _cost: Cost) -> list[Property]:
        """Return the properties that still come: of a constant with a short rest."""
        number = min(state.constants, key=partial(self._length_left, state))
        left = self._left(state, number)
        return [each for each in self._properties(number) if left >> each[0] & 1]

    @remembered
    def _properties(self, number: int) -> list[Property]:
        """Return the properties of a constant, in the order of their tags."""
        return [(tag, self._goal([node])) for tag, node in sorted(self._members[number].items())]

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

    def after_repeated(self, _state: Remaining, _goal: Goal, _class_tag: int) -> None:
        """Return the state after an item that has come before: there is none."""

    def few(self) -> Iterator[tuple[Goal, int]]:
        """Yield what items have to be if they are to be different: nothing."""
        return iter(())

    def ending(self, state: Remaining) -> int:
        """Return the tag of the array if it ends now, or `DEAD_END`."""
        whole = (n for n in state.constants if len(self._items[n]) == state.passed)
        number = next(whole, None)
        return DEAD_END if number is None else self._tags[number]

    @remembered
    def _groups(self, state: Remaining) -> _Groups:
        place = state.passed
        return self._grouped(
            (self._items[n][place], n) for n in state.constants if len(self._items[n]) > place
        )

    @remembered
    def goal(self, state: Remaining) -> Goal | None:
        """Return what the next item is to be; None if there may be none."""
        groups = self._groups(state)
        return self._goal(groups) if groups else None

    def after(self, state: Remaining, goal: Goal, class_tag: int) -> Remaining:
        """Return the state after the item, which has met some goal."""
        return self._state(self._among(self._groups(state), goal, class_tag), state.passed + 1)

    def path(self, state: Remaining, _cost: Cost) -> list[Goal]:
        """Return what the items are that still come: of a constant with a short rest."""
        place = state.passed
        number = min(state.constants, key=lambda number: sum(self._lengths[number][place:]))
        return [self._goal([node]) for node in self._items[number][place:]]


def _length(value: Any) -> int:
    return len(json.dumps(value, default=str))


#: The objects of some values; the tags of names are numbers, and those of values' classes.
Members = PlainMembers | TrackedMembers | ListedMembers
#: The arrays of some values.
Items = PlainItems | TrackedItems | ListedItems


def ending_after(members: Members, state: Any, path: list[Property], tags: list[int]) -> int:
    """Return the tag of an object after the properties of a path, whose values have some tags."""
    if members.is_every:  # it has only this one
        return 0
    for (tag, goal), class_tag in zip(path, tags, strict=True):
        state = members.after(state, tag, goal, class_tag)
    return members.ending(state)


def _tag(goal: Goal, value_class: ValueClass, kind: str) -> int:
    """Return the tag of a class, or `DEAD_END` if a value of this kind does not meet the goal."""
    tag = goal.tag(value_class, kind)
    return DEAD_END if tag is None else tag
