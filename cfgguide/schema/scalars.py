"""Numbers and strings of a JSON Schema, sorted by which conditions they meet.

In: conditions, and a function that says what texts belong to that meet just some of them. Out: for
each such class conditions that describe its texts, no text by two of them.

The automaton of all conditions together tells. Bounds on the length multiply it by as many states
as they count, so where that would be too many, the lengths are counted apart: each class of texts
by the other conditions is asked which lengths it has.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from math import prod
from typing import TypeVar

import numpy as np

from cfgguide.automata.ecma import pattern_language
from cfgguide.automata.language import DEAD, Language, grouped
from cfgguide.schema.nodes import Condition, is_within

MAX_TOGETHER = 2_000  # states of one automaton of all conditions

Key = TypeVar("Key", bound=Hashable)
Memberships = tuple[bool, ...]


def of_lengths(least: int, most: int | None) -> Condition:
    """Return the condition that a text has so many characters."""
    if most is not None and most < least:
        return Condition(Language.of_words([]), bounds=(least, most))
    text = f"^[^]{{{least},{'' if most is None else most}}}$"
    return Condition(pattern_language(text), bounds=(least, most))


def by_class(
    asked: Sequence[Condition], key_of: Callable[[Memberships], Key | None]
) -> dict[Key, list[Condition]]:
    """Return conditions for the texts of each class; those that belong to None are left out.

    Parameters
    ----------
    asked : sequence of Condition
        With different languages.
    key_of : callable
        What texts belong to, by which of the conditions they meet.

    Raises
    ------
    SchemaError
        If the automata have too many states together.

    Examples
    --------
    >>> word, short = Condition(pattern_language("^a*$")), of_lengths(0, 1)
    >>> found = by_class([word, short], lambda found: all(found) or None)
    >>> [each.language.words(9) for each in found[True]]
    [['', 'a']]
    """
    n_states = prod(len(each.language.rows) for each in asked)
    has_lengths = len({each.bounds is None for each in asked}) == 2
    sort = _apart if n_states > MAX_TOGETHER and has_lengths else _together
    return sort(asked, key_of)


def _together(
    asked: Sequence[Condition], key_of: Callable[[Memberships], Key | None]
) -> dict[Key, list[Condition]]:
    memberships: dict[Key | None, set[Memberships]] = {}

    def group(found: Memberships) -> Key | None:
        key = key_of(found)
        memberships.setdefault(key, set()).add(found)
        return key

    found: dict[Key, list[Condition]] = {}
    shorter = {each.language: each.text for each in asked}
    for key, language in grouped([each.language for each in asked], group).items():
        if key is not None and not language.is_empty:
            parts, without = _sufficient(asked, memberships, key)
            found[key] = [Condition(language, shorter.get(language), parts, without)]
    return found


def _sufficient(
    asked: Sequence[Condition], memberships: Mapping[Key | None, set[Memberships]], key: Key
) -> tuple[tuple[Condition, ...], tuple[Condition, ...]]:
    """Return conditions that all texts of a class meet, and others that none meets.

    No other text does so; if the conditions do not say that, there are none. `memberships` has, by
    class, all combinations of conditions that a text may meet.
    """
    columns = list(zip(*memberships[key], strict=True))
    always = [number for number, column in enumerate(columns) if all(column)]
    never = [number for number, column in enumerate(columns) if not any(column)]
    without = []
    others = [found for other, each in memberships.items() if other != key for found in each]
    others = [found for found in others if all(found[number] for number in always)]
    for number in never:
        if any(found[number] for found in others):
            without.append(number)
            others = [found for found in others if not found[number]]
    if others:
        return (), ()
    return tuple(asked[number] for number in always), tuple(asked[number] for number in without)


def _apart(
    asked: Sequence[Condition], key_of: Callable[[Memberships], Key | None]
) -> dict[Key, list[Condition]]:
    bounds = [each.bounds for each in asked]
    others = [number for number, each in enumerate(bounds) if each is None]
    cuts = {0}
    for least, most in filter(None, bounds):
        cuts |= {least} if most is None else {least, most + 1}
    firsts = sorted(cuts)
    shorter = {each.language: each.text for each in asked}
    result: dict[Key, list[Condition]] = {}
    uncounted = [asked[number] for number in others]
    groups = grouped([each.language for each in uncounted], lambda found: found)
    memberships: dict[Memberships | None, set[Memberships]] = {met: {met} for met in groups}
    for met, language in groups.items():
        known = dict(zip(others, met, strict=True))
        keys: list[tuple[int, Key | None]] = []  # the class from each length on
        for first in _lengths_from(language, firsts):
            found = tuple(
                known[number] if each is None else is_within(first, each)
                for number, each in enumerate(bounds)
            )
            keys.append((first, key_of(found)))
        parts, without = _sufficient(uncounted, memberships, met)
        whole = Condition(language, shorter.get(language), parts, without)
        for key, least, most in _runs(keys):
            if key is None:
                continue
            scalar = whole
            if least > 0 or most is not None:
                together = (whole, of_lengths(least, most))
                scalar = Condition(language, parts=together, is_wider=True)
            result.setdefault(key, []).append(scalar)
    return result


def _runs(keys: Sequence[tuple[int, Key]]) -> Iterator[tuple[Key, int, int | None]]:
    """Yield which lengths, from one to another, have the same key, one behind the other."""
    starts = [at for at, (_, key) in enumerate(keys) if not at or key != keys[at - 1][1]]
    for at, next_start in zip(starts, [*starts[1:], None], strict=True):
        least = keys[at][0] if at else 0
        yield keys[at][1], least, None if next_start is None else keys[next_start][0] - 1


def _lengths_from(language: Language, firsts: Sequence[int]) -> list[int]:
    """Return those of some sorted numbers from which on, up to the next, there is a text so long.

    Behind the last there is no next.
    """
    if language.is_empty:
        return []
    rows = np.array(language.rows)
    is_end = np.zeros(len(rows), dtype=np.bool_)
    is_end[list(language.accepting)] = True
    here = np.zeros(len(rows), dtype=np.bool_)
    here[language.start] = True
    found: dict[int, None] = {}
    at = 0
    for length in range(firsts[-1]):
        at += at + 1 < len(firsts) and firsts[at + 1] == length
        if (here & is_end).any():
            found[firsts[at]] = None
        after = np.zeros(len(rows), dtype=np.bool_)
        after[rows[here].ravel()] = True
        after[DEAD] = False
        here = after
        if not here.any():
            return list(found)
    return [*found, firsts[-1]]  # every state that is left leads to an end
