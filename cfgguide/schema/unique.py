"""Arrays whose items are to be different, where the items are scalars.

In: :class:`~cfgguide.schema.solver.values.Values` with ``uniqueItems``. Out: :class:`UniqueItems`:
a state of such an array has the values that have come, and the next item is none of these. Numbers
are written there in one way only, without an exponent and without needless digits, and strings have
plain spellings: so values are told apart by what is written. Of strings with a pattern or bounds it
is the text that remembers which have come (:func:`are_remembered`).
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property, lru_cache
from math import inf

from cfgguide.automata.ecma_patterns import pattern_language
from cfgguide.automata.language import DEAD, Language, difference, intersection
from cfgguide.engine.byte_machine.property_names import PropertyNames, Words
from cfgguide.engine.byte_machine.scalars import (
    Bounded,
    Constants,
    ScalarAutomaton,
    Strings,
    numbers_in,
    plain_strings,
    strings_in,
)
from cfgguide.errors import SchemaError
from cfgguide.schema.members import DEAD_END
from cfgguide.schema.solver.counts import canonical_numbers, n_texts
from cfgguide.schema.solver.search import Search
from cfgguide.schema.solver.values import CONSTANTS, Scalars, Values

FRESH, REPEATED = 0, 1  # tags of an item
UNKNOWN = ""  # instead of a value
_MANY = 10_000  # values: no array has so many
_FEW = 64  # characters that have to come
_LONG = 256  # characters that may come: of longer strings no automaton is made


#: A state of an array: the values that have come, sorted; constants and numbers as they are
#: written, strings with a quote before them, and first `UNKNOWN` for each that is not known.
Used = tuple[str, ...]


def fresh_bits(tags: Sequence[int]) -> int:
    """Return the indices of the tags of what has not come before, as bits."""
    return sum(1 << index for index, tag in enumerate(tags) if tag != REPEATED)


def written_value(text: bytes, *, is_string: bool) -> str:
    """Return a value of a state, given what is written."""
    return '"' + str(json.loads(text)) if is_string else text.decode()


class UniqueItems:
    """Arrays of scalars that are all different."""

    def __init__(self, values: Values, search: Search) -> None:
        self._values = values
        self._search = search
        self._least, self._most = values.n_items
        self.start: Used = ()

    def item(self, state: Used) -> Values:
        """Return the values of the next item, used or not."""
        return self._search.item_values(self._values, min(len(state), self._values.n_prefix))

    def lexemes(self, state: Used) -> list[tuple[str, ScalarAutomaton, Sequence[int]]]:
        """Return what the next item may be: its kind, an automaton, and the tag of each tag."""
        if self._most is not None and len(state) >= self._most:
            return []
        values = self.item(state)
        if not values.is_scalar:
            return []
        found: list[tuple[str, ScalarAutomaton, Sequence[int]]] = []
        words = sorted(values.kinds.intersection(CONSTANTS).difference(state))
        if words:
            found.append(("constants", Constants(dict.fromkeys(words, 0)), (FRESH,)))
        if values.numbers is not None:
            # Strings begin with a quote and constants with a letter, so what is left are numbers.
            used = [each for each in state if each[:1] not in '"tfn']
            language = difference(
                canonical_numbers(values.numbers.language), Language.of_words(used)
            )
            if not language.is_empty:
                found.append(("numbers", numbers_in((language,)), (FRESH,)))
        strings = values.strings
        if strings is not None:
            used = [each[1:] for each in state if each[:1] == '"']
            lexemes = _unused_strings(strings, used)
            if lexemes is not None:
                tags: tuple[int, ...] = (FRESH,)
                if isinstance(lexemes, PropertyNames):
                    tags = (*(REPEATED,) * lexemes.n_names, FRESH)
                found.append(("strings", lexemes, tags))
        return found

    @cached_property
    def is_endless(self) -> bool:
        """Whether there are always more values than have come."""
        item = self.item(self.start)
        numbers = item.numbers
        return (item.strings is not None and are_many(item.strings)) or (
            numbers is not None
            and n_texts(canonical_numbers(numbers.language), (0, None), _MANY) == _MANY
        )

    @cached_property
    def n_free(self) -> float:
        """Up to how many characters each beginning of a string can be finished in more ways."""
        strings = self.item(self.start).strings
        return inf if strings is None else n_free(strings)

    def n_missing(self, state: Used) -> int:
        """Return how many items still have to come."""
        return max(0, self._least - len(state))

    def ending(self, state: Used) -> int:
        """Return the tag of the array if it ends now, or `DEAD_END`."""
        return 0 if len(state) >= self._least else DEAD_END

    def after(self, state: Used, value: str) -> Used | None:
        """Return the state after an item; None if it has come before."""
        place = bisect_left(state, value)
        if value in state[place : place + 1]:
            return None
        return (*state[:place], value, *state[place:])


@lru_cache(maxsize=256)
def _bounded(language: Language | None, least: int, most: int | None) -> Language:
    """Return the texts of so many characters."""
    bounds = pattern_language(f"^[^]{{{least},{'' if most is None else most}}}$")
    if language is None:
        return bounds
    return intersection([language, bounds]) if least or most is not None else language


def are_many(strings: Scalars) -> bool:
    """Return whether there surely are more of some strings than any array has items."""
    least, most = strings.bounds
    try:
        automaton = strings.automaton
    except SchemaError:  # it is too large
        return False
    if automaton is None:
        return most != 0  # a character is one of a million
    if not isinstance(automaton, Language):  # others know their longest text only roughly
        return False
    if strings.words is None and most is not None:
        return most <= _LONG and _bounded(automaton, least, most).words(_MANY) is None
    return automaton.words(_MANY) is None


@lru_cache(maxsize=256)
def _is_endless(language: Language) -> bool:
    """Return whether any number of texts begin like any beginning of one."""
    targets = [set(row) - {DEAD} for row in language.rows]
    endless = {state for state, after in enumerate(targets) if state in after}
    while more := {
        state
        for state, after in enumerate(targets)
        if state not in endless and not endless.isdisjoint(after)
    }:
        endless |= more
    return endless == set(range(len(targets))) - {DEAD}


def n_free(strings: Scalars) -> float:
    """Return up to how many characters each beginning has others left, whatever has come."""
    language, (least, most) = strings.language, strings.bounds
    if strings.words is not None:
        return -1
    if language is None:
        return inf if most is None else most - 1  # the last character may be any of a million
    if most is not None or least > _FEW:
        return -1
    return inf if _is_endless(_bounded(language, least, most)) else -1


def are_remembered(strings: Scalars | None) -> bool:
    """Return whether of strings that have come a text remembers more cheaply than a state.

    They have a pattern or bounds, so all states of them would be made again after each item; and
    each beginning has others left.
    """
    if strings is None or (strings.made is None and strings.bounds[1] is None):
        return False
    return n_free(strings) > 0


def _unused_strings(scalars: Scalars, used: list[str]) -> ScalarAutomaton | None:
    """Return strings that have not come; None if there is none."""
    if scalars.words is not None:
        words = sorted(set(scalars.words).difference(used))
        return Words(words) if words else None
    language, (least, most) = scalars.language, scalars.bounds
    # The values that have come are listed names, and all other strings remain: no automaton without
    # them is made, which would be another one after each item.
    if language is None and least <= 1 and most is None:
        return PropertyNames(sorted([*used, *[""] * least]), plain_strings())
    if language is not None and n_free(scalars) == inf:
        return PropertyNames(sorted(used), strings_in((_bounded(language, least, most),)))
    whole = pattern_language("^[^]*$") if language is None else language
    rest = difference(whole, Language.of_words(used))
    if rest.is_empty:
        return None
    if scalars.bounds == (0, None):
        return Strings([rest])
    strings = Bounded([(rest, scalars.bounds)])
    return None if strings.is_empty else strings
