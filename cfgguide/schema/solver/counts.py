"""How many different values there are, as far as somebody asks; how many bytes one has.

In: :class:`~cfgguide.schema.solver.values.Values`, and a number. Out: that many, if there are so
many; otherwise how many there are, or at least how many, and whether it is known.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from functools import lru_cache
from math import inf, prod
from typing import TYPE_CHECKING, NamedTuple

from cfgguide.automata.language import Language, TextAutomaton, intersection
from cfgguide.automata.numbers import canonical
from cfgguide.base.limits import check_step
from cfgguide.engine.byte_machine.scalars import Bounds, is_within
from cfgguide.schema.solver.values import CONSTANTS, Scalars, Values

if TYPE_CHECKING:
    from cfgguide.schema.solver.search import Search

_PER_CHARACTER = 12  # bytes at most: two escapes
#: Characters of a text whose automaton is made once it is read; at 10 the same work.
_MOST_LATER = 100


class Count(NamedTuple):
    """A number of values; `is_exact` if there are no more, or as many as were asked for."""

    n: int
    is_exact: bool


@lru_cache(maxsize=256)
def canonical_numbers(language: Language | None) -> Language:
    """Return the numbers of a language, all if it is None, that are written in the one way."""
    every = canonical()
    return every if language is None else intersection([every, language])


def words_from(language: Language, state: int) -> Iterator[str]:
    """Yield the texts that lead from a state to an end, the shortest first."""
    numbers = itertools.count()
    first = language.shortest(state)
    pending = [] if first == inf else [(first, 0, next(numbers), "", state)]
    while pending:
        price, _, _, text, state = heapq.heappop(pending)
        if price == len(text):
            yield text
        for target, ranges in language.moves_of(state).items():
            rest = language.shortest(target)
            for low, high in ranges:
                for point in range(low, high + 1):
                    check_step()
                    longer = text + chr(point)
                    entry = (len(longer) + rest, -len(longer), next(numbers), longer, target)
                    heapq.heappush(pending, entry)


def plain_array_bounds(values: Values, search: Search) -> tuple[int, int | None] | None:
    """Return the least and the most items of plain arrays; None if there are no arrays."""
    least, most = values.n_items
    prefix = values.n_prefix
    last = prefix if most is None else min(prefix, most - 1)
    for index in range(min(last + 1, least)):  # the items that have to come
        if not search.has_value(search.item_values(values, index)):
            return None
    if most is not None and most < least:
        return None
    return least, most


def has_enough_items(values: Values, search: Search) -> bool | None:
    """Return whether arrays have as many different items as they have to; None if unknown.

    Where each of the items that have to come has so many values, whatever comes leaves some over.
    """
    bounds = plain_array_bounds(values, search)
    if bounds is None:
        return False
    least = bounds[0]
    counter = _Counter(search, least)
    places = range(min(values.n_prefix + 1, least)) if least > 1 else ()
    counts = [counter.of(search.item_values(values, place)) for place in places]
    if all(count.n >= least for count in counts):
        return True
    (first, *others) = counts
    return None if others or not first.is_exact else False


def n_texts(automaton: TextAutomaton | None, bounds: Bounds, most: int) -> int:
    """Return how many texts within bounds on their length there are, at most `most`.

    Examples
    --------
    >>> n_texts(None, (0, 0), 9), n_texts(Language.of_words(["a", "b", "ab"]), (0, 1), 9)
    (1, 2)
    """
    if automaton is None:
        return min(most, 1) if bounds[1] == 0 else most
    lengths = automaton.within(*bounds)
    # States after beginnings of so many characters; each beginning stands for at least one text.
    pending, n, n_begun = [(automaton.start, 0, 1)], 0, 1
    if automaton.is_empty or not lengths.may_end(automaton.start, 0):
        return 0
    while pending and n + n_begun < most:
        check_step()
        state, length, times = pending.pop()
        n_begun -= times
        if automaton.is_end(state) and is_within(length, bounds):
            n += times
        for target, ranges in automaton.moves_of(state).items():
            if lengths.may_end(target, length + 1):
                wider = times * sum(high - low + 1 for low, high in ranges)
                pending.append((target, length + 1, wider))
                n_begun += wider
    return min(n + n_begun, most)


class Enough:
    """Counts how many bytes are enough for a value for which all nodes hold, if there is one.

    Infinitely many where counting does not tell. What is asked about the values is what the search
    for one has asked, so it is known.
    """

    def __init__(self, search: Search, comma: int, colon: int) -> None:
        self._search = search
        self._comma, self._colon = comma, colon  # bytes
        self._known: dict[Values, float] = {}

    def of(self, values: Values) -> float:
        """Return how many bytes are enough."""
        if values not in self._known:
            self._known[values] = inf  # if it contains itself
            self._known[values] = self._found(values)
        return self._known[values]

    def _found(self, values: Values) -> float:
        if any(map(values.is_constant, CONSTANTS)):
            return len("false")
        objects, arrays = self._object(values), self._array(values)
        if min(objects, arrays) < inf:
            return min(objects, arrays)
        strings = values.strings
        if strings is not None:
            return 2 + _PER_CHARACTER * _n_characters(strings)
        numbers = values.numbers
        if numbers is not None:
            return 1 if numbers.language is None else len(numbers.language.rows)
        return inf

    def _object(self, values: Values) -> float:
        search = self._search
        if not (values.has_plain_objects and search.has_plain_object(values)):
            return inf
        names = dict.fromkeys(name for node in values.object_nodes for name in node.required)
        return 2 + sum(
            2
            + _PER_CHARACTER * len(name)
            + self._colon
            + self.of(search.property_values(values, name))
            + self._comma
            for name in names
        )

    def _array(self, values: Values) -> float:
        if not (values.has_plain_arrays or values.has_different_items):
            return inf
        bounds = plain_array_bounds(values, self._search)
        if bounds is None or (bounds[0] > 1 and not values.has_plain_arrays):
            return inf
        least, n_prefix = bounds[0], values.n_prefix
        total = 2.0
        for place in range(min(least, n_prefix + 1)):
            n = 1 if place < n_prefix else least - n_prefix
            total += n * (self.of(self._search.item_values(values, place)) + self._comma)
        return total


def _n_characters(strings: Scalars) -> float:
    """Return how many characters are enough for a string, of those that there are."""
    if strings.words is not None:
        return min(map(len, strings.words))
    least, most = strings.bounds
    if callable(strings.made):
        return _MOST_LATER
    n = 0 if strings.made is None else strings.made.n_guessed
    return least + n if most is None else min(most, least + n)


def are_more(values: Values, n: int, search: Search) -> bool:
    """Return whether there surely are more than `n` values."""
    return _Counter(search, n + 1).of(values).n > n


class _Counter:
    def __init__(self, search: Search, most: int) -> None:
        self._search = search
        self._most = most
        self._open: set[Values] = set()

    def of(self, values: Values) -> Count:
        """Return how many values there are for which all nodes hold."""
        if not values.nodes:
            return Count(self._most if values.is_possible else 0, True)
        if values in self._open:  # it contains itself: at least one that does not
            return Count(int(self._search.has_value(values)), False)
        self._open.add(values)
        n, is_exact = self._total(values)
        self._open.discard(values)
        if n >= self._most:
            return Count(self._most, True)
        return Count(max(n, int(self._search.has_value(values))), is_exact)

    def _total(self, values: Values) -> Count:
        mixed = values.mixed
        n, is_exact = sum(map(values.is_constant, CONSTANTS)), not mixed
        if values.numbers is not None:
            n += n_texts(canonical_numbers(values.numbers.language), (0, None), self._most)
        if values.strings is not None and values.strings.words is not None:
            n += len(values.strings.words)
        elif values.strings is not None and n < self._most:
            n += n_texts(values.strings.automaton, values.strings.bounds, self._most)
        for kind, counted in (("array", self._arrays), ("object", self._objects)):
            if kind in values.kinds and kind not in mixed and n < self._most:
                more = counted(values)
                n += more.n
                is_exact = is_exact and more.is_exact
        return Count(n, is_exact)

    def _arrays(self, values: Values) -> Count:
        if not values.has_plain_arrays:
            return Count(0, False)
        bounds = plain_array_bounds(values, self._search)
        if bounds is None:
            return Count(0, True)
        least, most = bounds
        n, is_exact, product = 0, True, 1
        for length in range(self._most + values.n_prefix + least + 1):
            n += product if length >= least else 0
            if n >= self._most or (most is not None and length == most):
                break
            check_step()
            item = self._search.item_values(values, min(length, values.n_prefix))
            count = self.of(item)
            product = min(product * count.n, self._most)
            is_exact = is_exact and count.is_exact
            if not product:
                break
        return Count(n, is_exact)

    def _objects(self, values: Values) -> Count:
        if not values.has_plain_objects:
            return Count(0, False)
        if not self._search.has_plain_object(values):
            return Count(0, True)
        nodes = values.object_nodes
        if not any(node.patterns for node in nodes):
            others = self._search.values.of(
                [node.additional for node in nodes if node.additional is not None]
            )
            # There are endlessly many names that are not listed, so one value for them suffices.
            if self._search.has_value(others):
                return Count(self._most, True)
        required = {name for node in nodes for name in node.required}
        names = dict.fromkeys(n for node in nodes for n in (*node.properties, *node.required))
        counts = {name: self.of(self._search.property_values(values, name)) for name in names}
        n = prod(count.n + (name not in required) for name, count in counts.items())
        is_exact = all(count.is_exact for count in counts.values())
        # Names that match a pattern add objects that are not counted here.
        return Count(n, is_exact and not any(node.patterns for node in nodes))
