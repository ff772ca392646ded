"""Which classes of values there are, and from where one can be finished: by search, as asked.

In: :class:`~cfgguide.value_classes.values.Values`. Out: whether some value has one of the wanted
classes, all classes that values have, and whether an array or object that has begun can be finished
as one of them. A class is the set of nodes that hold (:mod:`cfgguide.value_classes.classes`).

What can become of an object does not depend on the order of its properties. So a search decides
about one listed name after another, whether it comes, and as what.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator
from functools import partial
from time import monotonic
from typing import Any

from cfgguide.automata.language import Language, grouped
from cfgguide.errors import SchemaError
from cfgguide.value_classes.arrays import ArrayMachine
from cfgguide.value_classes.counts import has_enough_items, plain_array_bounds
from cfgguide.value_classes.machine import (
    Symbol,
    ValueClass,
    conditions,
    listed,
    scalar_holds,
)
from cfgguide.value_classes.nodes import KINDS, Condition, Node
from cfgguide.value_classes.objects import ObjectMachine
from cfgguide.value_classes.scalars import by_class
from cfgguide.value_classes.truth import Failures, truths
from cfgguide.value_classes.values import CONSTANTS, AllValues, Values
from cfgguide.values.numbers import decimals

MAX_SEARCHED = 300_000  # states of arrays and objects, in all searches
MAX_SECONDS = 5.0  # of all searches
_OFTEN = 64  # states, after which the clock is looked at
_LONGEST = 0.5  # seconds that count of these: the rest was no search

Classes = frozenset[ValueClass]


class Tracked:
    """What is known of values whose classes matter.

    Parameters
    ----------
    values : Values
        The values.
    search : Search
        Knows the others.
    is_ordered : bool
        Whether properties come in the order in which they are declared.
    """

    def __init__(self, values: Values, search: Search, *, is_ordered: bool) -> None:
        self.values = values
        below, order = values.below, search.values.order
        failures = Failures(below, values.nodes)
        self.arrays = ArrayMachine(below, order, failures)
        made = partial(ObjectMachine, below, order, failures=failures, are_different=True)
        self.objects = made(is_ordered=is_ordered, wanted_to_fail=search.wanted_to_fail)
        #: The same, with listed names in order, for searches.
        self.in_order = made(is_ordered=True, wanted_to_fail=search.wanted_to_fail)
        self._scalars: dict[str, dict[ValueClass, list[Condition | None]]] = {}

    def value_class(self, found: dict[Node, bool]) -> ValueClass:
        """Return the nodes of these values that hold."""
        return frozenset(node for node in self.values.nodes if found[node])

    def may_be(self, failed: Collection[Node], wanted: Classes) -> bool:
        """Return whether a value may be of a wanted class, where some nodes have failed."""
        return any(each.isdisjoint(failed) for each in wanted)

    def constants(self) -> dict[str, ValueClass]:
        """Return the classes of ``null``, ``true`` and ``false``."""

        def is_constant(kind: str, node: Node, _found: Any) -> bool:
            return node.values is None or kind in node.values.constants

        return {
            kind: self.value_class(truths(self.values.below, kind, partial(is_constant, kind)))
            for kind in ("null", "true", "false")
        }

    def scalars(self, kind: str) -> dict[ValueClass, list[Condition | None]]:
        """Return numbers or strings by class; None for all of them."""
        if kind not in self._scalars:
            self._scalars[kind] = self._sorted(kind)
        return self._scalars[kind]

    def _sorted(self, kind: str) -> dict[ValueClass, list[Condition | None]]:
        below = self.values.below
        asked: dict[int, Condition] = {}
        for node in below:
            for condition in (*conditions(node, kind), listed(node, kind)):
                if condition is not None and kind in node.kinds:
                    asked[id(condition)] = condition

        def class_of(memberships: tuple[bool, ...]) -> ValueClass:
            known = dict(zip(asked, memberships, strict=True))
            by_language = {id(asked[key].language): is_in for key, is_in in known.items()}
            return self.value_class(
                truths(below, kind, lambda node, _: scalar_holds(node, kind, by_language))
            )

        if not asked:
            return {class_of(()): [None]}
        conditions_asked = list(asked.values())
        if sum(each.words is not None for each in conditions_asked) > 1:
            return _by_word(conditions_asked, class_of)
        universe = [Condition(decimals())] if kind == "number" else []
        n = len(universe)
        found = by_class(
            [*universe, *conditions_asked],
            lambda found: class_of(found[n:]) if all(found[:n]) else None,
        )
        return {key: list(each) for key, each in found.items()}

    def scalar_classes(self) -> Iterator[ValueClass]:
        """Yield the classes of all scalars."""
        yield from self.constants().values()
        for kind in ("number", "string"):
            yield from self.scalars(kind)


def _by_word(
    asked: list[Condition], class_of: Callable[[tuple[bool, ...]], ValueClass]
) -> dict[ValueClass, list[Condition | None]]:
    """Return strings by class, the listed ones one by one: quicker than an automaton of all."""
    words = sorted({word for each in asked for word in each.words or ()})
    by_class_of_word: dict[ValueClass, list[str]] = {}
    for word in words:
        met = tuple(
            each.language.accepts(word) if each.words is None else word in each.words
            for each in asked
        )
        by_class_of_word.setdefault(class_of(met), []).append(word)
    found: dict[ValueClass, list[Condition | None]] = {
        key: [Condition(partial(Language.of_words, listed), words=frozenset(listed))]
        for key, listed in by_class_of_word.items()
    }
    others = [each for each in asked if each.words is None]
    listed_language = Language.of_words(words)

    def class_of_rest(memberships: tuple[bool, ...]) -> ValueClass | None:
        if memberships[0]:
            return None
        rest = iter(memberships[1:])
        return class_of(tuple(each.words is None and next(rest) for each in asked))

    languages = [listed_language, *(each.language for each in others)]
    for key, language in grouped(languages, class_of_rest).items():
        if key is not None and not language.is_empty:
            found.setdefault(key, []).append(Condition(language))
    return found


class Search:
    """Decides which classes values have.

    Parameters
    ----------
    values : AllValues
        The values of a schema.
    is_ordered : bool
        Whether properties come in the order in which they are declared.
    wanted_to_fail : collection of Node
        As :func:`cfgguide.value_classes.nodes.wanted_to_fail` returns them.
    """

    def __init__(
        self, values: AllValues, *, is_ordered: bool, wanted_to_fail: Collection[Node]
    ) -> None:
        self.values = values
        self.wanted_to_fail = wanted_to_fail
        self._is_ordered = is_ordered
        self._tracked: dict[Values, Tracked] = {}
        self._has: dict[tuple[Values, Classes | None], bool] = {}
        self._classes: dict[Values, list[ValueClass]] = {}
        self._ends: dict[object, bool] = {}
        self._deciding: set[object] = set()
        self._is_cut = False  # whether a question was asked again while it was being decided
        self._n_searched = 0
        self._seconds = 0.0
        self._last = monotonic()
        self._values_of: dict[tuple[Node, ...], Values] = {}

    def tracked(self, values: Values) -> Tracked:
        """Return what is known of values whose classes matter."""
        if values not in self._tracked:
            self._tracked[values] = Tracked(values, self, is_ordered=self._is_ordered)
        return self._tracked[values]

    def _once(self, key: object, known: dict[Any, bool], decide: Any) -> bool:
        """Return an answer; one that rests on a question that is open is not remembered."""
        if key in known:
            return known[key]
        if key in self._deciding:
            self._is_cut = True
            return False
        outer, self._is_cut = self._is_cut, False
        self._deciding.add(key)
        try:
            answer = bool(decide())
        finally:
            self._deciding.discard(key)
        if answer or not self._is_cut or not self._deciding:
            known[key] = answer
        self._is_cut = outer or (self._is_cut and bool(self._deciding))
        return answer

    def has_value(self, values: Values, wanted: Classes | None = None) -> bool:
        """Return whether some value is of a wanted class; by default, one for which all hold."""
        if not values.nodes:
            return values.is_possible
        if wanted is None:
            return self._once((values, None), self._has, partial(self._has_all, values))
        return self._once((values, wanted), self._has, partial(self._has_tracked, values, wanted))

    def _has_all(self, values: Values) -> bool:
        """Return whether all nodes hold for some value."""
        if any(map(values.is_constant, CONSTANTS)):
            return True
        if values.strings is not None or values.numbers is not None:
            return True
        if values.has_plain_objects and self.has_plain_object(values):
            return True
        if values.has_different_items and self.has_different_items(values):
            return True
        if values.has_plain_arrays and plain_array_bounds(values, self) is not None:
            return True
        kinds = values.kinds
        is_plain = (
            not values.mixed
            and ("object" not in kinds or values.has_plain_objects)
            and ("array" not in kinds or values.has_plain_arrays or values.has_different_items)
        )
        return not is_plain and self._has_tracked(values, frozenset([values.every]))

    def has_different_items(self, values: Values) -> bool:
        """Return whether there are as many different items as there have to be.

        Where it is not known, somebody who can write values has to find out.
        """
        least, most = values.n_items
        if most is not None and most < least:
            return False
        item = self.item_values(values, 0)
        if values.n_prefix or not item.is_scalar:
            return has_enough_items(values, self) is not False
        count = sum(map(item.is_constant, CONSTANTS))
        for scalars in (item.numbers, item.strings):
            if scalars is not None and count < least:
                language = scalars.language
                words = None if language is None else language.words(least)
                count = least if words is None else count + len(words)
        return count >= least

    def has_plain_object(self, values: Values) -> bool:
        """Return whether all names that have to come have a value."""
        return all(
            self.has_value(self.property_values(values, name))
            for node in values.object_nodes
            for name in node.required
        )

    def property_values(self, values: Values, name: str) -> Values:
        """Return the values of a property, where all nodes are to hold."""
        found: list[Node] = []
        for node in values.object_nodes:
            own = [node.properties[name]] if name in node.properties else []
            own += [child for language, child in node.patterns if language.accepts(name)]
            if not own and node.additional is not None:
                own.append(node.additional)
            found += own
        return self.values.of(found)

    def item_values(self, values: Values, index: int) -> Values:
        """Return the values of an item, where all nodes are to hold."""
        found: list[Node] = []
        for node in values.array_nodes:
            if index < len(node.prefix):
                found.append(node.prefix[index])
            elif node.items is not None:
                found.append(node.items)
        return self.values.of(found)

    def _has_tracked(self, values: Values, wanted: Classes) -> bool:
        tracked = self.tracked(values)
        if any(each in wanted for each in tracked.scalar_classes()):
            return True
        return self.array_ends(tracked, tracked.arrays.start, wanted) or self.object_ends(
            tracked, tracked.objects.start, wanted
        )

    # -- classes ----------------------------------------------------------------------------

    def classes(self, values: Values) -> list[ValueClass]:
        """Return the classes that values have; that for which all nodes hold is the first."""
        if not values.is_possible or not values.nodes:
            return [values.every]
        known = self._classes.get(values)
        if known is not None:
            return known
        key = ("classes", values)
        if key in self._deciding:
            self._is_cut = True
            return list(dict.fromkeys(self.tracked(values).scalar_classes()))
        outer, self._is_cut = self._is_cut, False
        self._deciding.add(key)
        try:
            found = self._found_classes(values)
        finally:
            self._deciding.discard(key)
        if not self._is_cut or not self._deciding:
            self._classes[values] = found
        self._is_cut = outer or (self._is_cut and bool(self._deciding))
        return found

    def tags(self, values: Values, wanted: Classes) -> dict[ValueClass, int]:
        """Return the numbers of the classes of values, of which some are wanted."""
        if wanted == frozenset([values.every]):
            return {values.every: 0}
        return {each: tag for tag, each in enumerate(self.classes(values))}

    def _found_classes(self, values: Values) -> list[ValueClass]:
        nothing: ValueClass = frozenset()
        if len(values.nodes) == 1:
            possible = [values.every] if self.has_value(values) else []
            if len(values.kinds) < len(KINDS) or self.has_value(values, frozenset([nothing])):
                possible.append(nothing)
            return possible
        tracked = self.tracked(values)
        found = dict.fromkeys(tracked.scalar_classes())
        n_possible = 1 << len(values.nodes)
        for ends in (self._array_classes(tracked), self._object_classes(tracked)):
            for each in ends:
                found[each] = None
                if len(found) == n_possible:
                    break
        return sorted(found, key=lambda each: (each != values.every, -len(each)))

    def _object_classes(self, tracked: Tracked) -> Iterator[ValueClass]:
        machine = tracked.in_order
        layer: dict[Any, None] = {machine.start: None}
        for number in range(len(machine.names)):
            after = {machine.skipped(state, number): None for state in layer}
            symbol = machine.all_symbols[number]
            for state in layer:
                for value_class in self.symbol_classes(symbol):
                    after[machine.after(state, symbol, value_class)] = None
            self._count(len(after))
            layer = after
        yield from self._with_others(tracked, layer)

    def _with_others(self, tracked: Tracked, layer: dict[Any, None]) -> Iterator[ValueClass]:
        """Yield how objects end, once it is decided about all listed names."""
        machine = tracked.in_order
        others = machine.all_symbols[len(machine.names) :]
        pending = list(layer)
        for state in pending:  # grows while it is walked
            state = state._replace(last=len(machine.names) - 1)
            holding, _ = machine.holding(state)
            yield tracked.value_class(holding)
            for symbol in others:
                for value_class in self.symbol_classes(symbol):
                    after = machine.after(state, symbol, value_class)
                    if after not in layer:
                        layer[after] = None
                        pending.append(after)
            self._count(1)

    def _array_classes(self, tracked: Tracked) -> Iterator[ValueClass]:
        machine = tracked.arrays
        seen: dict[Any, None] = {machine.start: None}
        pending = [machine.start]
        for state in pending:  # grows while it is walked
            yield tracked.value_class(machine.holding(state)[0])
            for symbol in machine.symbols(state):
                for value_class in self.symbol_classes(symbol):
                    following = [machine.after(state, symbol, value_class)]
                    if state.n_items and machine.must_differ(state):
                        following.append(
                            machine.after(state, symbol, value_class, is_repeated=True)
                        )
                    for after in following:
                        if after not in seen:
                            seen[after] = None
                            pending.append(after)
            self._count(1)

    def symbol_classes(self, symbol: Symbol) -> list[ValueClass]:
        """Return the classes of the values of a symbol of an array or object.

        Its nodes leave out those that are false, which hold for no class.
        """
        values = self._values_of.get(symbol.nodes)
        if values is None:
            values = self._values_of[symbol.nodes] = self.values.of(symbol.nodes)
        return self.classes(values)

    # -- ends -------------------------------------------------------------------------------

    def array_ends(self, tracked: Tracked, state: Hashable, wanted: Classes) -> bool:
        """Return whether an array can be finished as one of the wanted classes."""
        key = ("array", tracked.values, state, wanted)
        return self._once(key, self._ends, partial(self._array_ends, tracked, state, wanted))

    def _array_ends(self, tracked: Tracked, first: Hashable, wanted: Classes) -> bool:
        machine = tracked.arrays
        seen = {first}
        pending: list[Any] = [first]
        while pending:  # the last that was found goes first: straight to the end
            state = pending.pop()
            if not tracked.may_be(state.failed, wanted):
                continue
            if tracked.value_class(machine.holding(state)[0]) in wanted:
                return True
            for symbol in machine.symbols(state):
                for value_class in reversed(self.symbol_classes(symbol)):
                    after = machine.after(state, symbol, value_class)
                    if after not in seen:
                        seen.add(after)
                        pending.append(after)
            self._count(1)
        return False

    def object_ends(self, tracked: Tracked, state: Any, wanted: Classes) -> bool:
        """Return whether an object can be finished as one of the wanted classes."""
        if self.ends_with_needed(tracked, state, wanted):
            return True
        if not tracked.may_be(state.failed, wanted):
            return False
        key = ("object", tracked.values, state, wanted)
        find = partial(self._ends_with, tracked, state, wanted, only_needed=False)
        return self._once(key, self._ends, find)

    def ends_with_needed(self, tracked: Tracked, state: Any, wanted: Classes) -> bool:
        """Return whether an object can be finished by names only that may have to come."""
        if not tracked.may_be(state.failed, wanted):
            return False
        state = tracked.objects.reduced(state)
        if tracked.value_class(tracked.objects.holding(state)[0]) in wanted:
            return True
        key = ("needed", tracked.values, state, wanted)
        find = partial(self._ends_with, tracked, state, wanted, only_needed=True)
        return self._once(key, self._ends, find)

    def ends_from(self, tracked: Tracked, state: Any, wanted: Classes, first: int) -> bool:
        """Return whether an object can be finished by listed names from one on, and others."""
        if self._is_ordered:
            return True  # what may come next follows from the order
        machine = tracked.in_order
        numbers = [n for n in range(first, len(machine.names)) if n not in state.seen]
        key = ("from", first, tracked.values, state, wanted)
        find = partial(self._finds, tracked, machine.ordered(state), wanted, numbers)
        return self._once(key, self._ends, find)

    def _ends_with(
        self, tracked: Tracked, first: Any, wanted: Classes, *, only_needed: bool
    ) -> bool:
        machine = tracked.in_order
        numbers = list(range(len(machine.names)))
        if self._is_ordered:
            start, numbers = first, numbers[first.last + 1 :]
        else:
            start = machine.ordered(first)
            numbers = [number for number in numbers if number not in first.seen]
        if only_needed:
            numbers = [number for number in numbers if machine.names[number] in machine.needed]
        else:
            numbers = [number for number in numbers if self._may_help(machine, number)]
        return self._finds(tracked, start, wanted, numbers)

    def _may_help(self, machine: ObjectMachine, number: int) -> bool:
        """Return whether an object may need a listed name to become what is wanted."""
        return machine.is_asked_for(number) or any(
            machine.makes_fail_what_may(number, each)
            for each in self.symbol_classes(machine.all_symbols[number])
        )

    def _finds(self, tracked: Tracked, start: Any, wanted: Classes, numbers: list[int]) -> bool:
        """Return whether an object can be finished with some of the listed names.

        Each is left out first: where it has to come, that leads nowhere, and soon.
        """
        machine = tracked.in_order
        seen = {(0, start)}
        pending: list[tuple[int, Any, bool]] = [(0, start, False)]
        while pending:
            place, state, is_left_out = pending.pop()
            if not is_left_out:
                self._count(1)
                if not tracked.may_be(state.failed, wanted):
                    continue
                if place == len(numbers):
                    if any(each in wanted for each in self._with_others(tracked, {state: None})):
                        return True
                    continue
                pending.append((place, state, True))
                following = [machine.skipped(state, numbers[place])]
            else:
                following = self._ways(machine, state, numbers[place])
            for after in following:
                if (place + 1, after) not in seen:
                    seen.add((place + 1, after))
                    pending.append((place + 1, after, False))
        return False

    def _ways(self, machine: ObjectMachine, state: Any, number: int) -> list[Any]:
        """Return what a state becomes with a listed name, the most promising last."""
        state = state._replace(last=number - 1)
        symbol = machine.all_symbols[number]
        return [
            machine.after(state, symbol, value_class)
            for value_class in reversed(self.symbol_classes(symbol))
        ]

    def _count(self, n: int) -> None:
        self._n_searched += n
        if self._n_searched % _OFTEN < n:
            now = monotonic()
            self._seconds += min(now - self._last, _LONGEST)
            self._last = now
        if self._n_searched > MAX_SEARCHED or self._seconds > MAX_SECONDS:
            raise SchemaError(
                "it takes too long to find out which values the schema allows; use fewer "
                "schemas for one value, or simpler ones"
            )
