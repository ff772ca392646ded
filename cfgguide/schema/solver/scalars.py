"""Numbers and strings of a JSON Schema, sorted by which conditions they meet.

In: conditions, and a function from the subset of conditions that a text meets to the text's class.
Out: for each class, disjoint conditions that describe its texts.

The product automaton of all conditions decides. A bound on the length multiplies its states. If
they would be too many, lengths are counted apart: the texts are first sorted by the other
conditions, and then the possible lengths of each group are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import compress
from math import prod
from typing import TypeVar

from cfgguide.automata.ecma_patterns import pattern_language
from cfgguide.automata.language import Language, grouped, memberships
from cfgguide.automata.numbers import decimals, tidy
from cfgguide.base.limits import check_step
from cfgguide.engine.byte_machine.scalars import is_within
from cfgguide.schema.solver.goals import Goal
from cfgguide.schema.solver.member_automata import ValueClass, asked_by, listed, scalar_holds
from cfgguide.schema.solver.nodes import Condition, Node, is_typed
from cfgguide.schema.solver.truth import truths

#: States of one automaton of all conditions; at 10 and a million the same work for 40 schemas of
#: SchemaStore.
MAX_TOGETHER = 2_000

Key = TypeVar("Key", bound=Hashable)
Memberships = tuple[bool, ...]


def of_lengths(least: int, most: int | None) -> Condition:
    """Return the condition that a text has from `least` to `most` characters."""
    if most is not None and most < least:
        return Condition(Language.of_words([]), bounds=(least, most))
    text = f"^[^]{{{least},{'' if most is None else most}}}$"  # made only if it is needed
    return Condition(partial(pattern_language, text), bounds=(least, most))


def tidy_numbers(condition: Condition | None, nodes: Sequence[Node]) -> Condition:
    """Return the tidy spellings of the numbers of a class, which some nodes see."""
    language = None if condition is None else condition.language
    found = tidy(language, is_typed=is_typed(nodes))
    if found.pattern is None or found.is_exact or condition is None:
        return Condition(found.language, found.pattern)
    return Condition(found.language, parts=(condition,), asserted=found.pattern)


def by_class(
    asked: Sequence[Condition], key_of: Callable[[Memberships], Key | None]
) -> dict[Key, list[Condition]]:
    """Return conditions for the texts of each class, except class None.

    Parameters
    ----------
    asked : sequence of Condition
        Conditions with different languages.
    key_of : callable
        Returns the class of the texts that meet given conditions, one bool for each.

    Raises
    ------
    SchemaError
        If the product automaton has too many states.

    Examples
    --------
    >>> word, short = Condition(pattern_language("^a*$")), of_lengths(0, 1)
    >>> found = by_class([word, short], lambda found: all(found) or None)
    >>> [each.language.words(9) for each in found[True]]
    [['', 'a']]
    """
    n_states = prod(each.n_states for each in asked)
    has_lengths = any(each.bounds is not None for each in asked)
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
    shorter = {each.language: each.text for each in asked if each.text is not None}
    languages = grouped([each.language for each in asked], group)
    sufficient = _sufficient(asked, memberships)
    for key, language in languages.items():
        if key is not None and not language.is_empty:
            parts, without = sufficient(key)
            found[key] = [Condition(language, shorter.get(language), parts, without)]
    return found


def _sufficient(
    asked: Sequence[Condition], memberships: Mapping[Key | None, set[Memberships]]
) -> Callable[[Key], tuple[tuple[Condition, ...], tuple[Condition, ...]]]:
    """Return what tells of a class conditions that all its texts meet, and that none of them does.

    Together they hold for no other text; if that is impossible, both are empty. `memberships` has,
    by class, all combinations of conditions that a text may meet.
    """
    every = [(key, found) for key, combinations in memberships.items() for found in combinations]
    meeting: list[list[tuple[Key | None, Memberships]]] = [[] for _ in asked]
    for each in every:
        check_step()
        for number in compress(range(len(asked)), each[1]):
            meeting[number].append(each)

    def of(key: Key) -> tuple[tuple[Condition, ...], tuple[Condition, ...]]:
        columns = list(zip(*memberships[key], strict=True))
        always = [number for number, column in enumerate(columns) if all(column)]
        never = [number for number, column in enumerate(columns) if not any(column)]
        without = []
        possible = min([every, *(meeting[number] for number in always)], key=len)
        others = [found for other, found in possible if other != key]
        others = [found for found in others if all(found[number] for number in always)]
        for number in never if others else ():
            # Only what rules out a text that nothing else rules out: each one costs a look-ahead.
            if any(found[number] for found in others):
                without.append(number)
                others = [found for found in others if not found[number]]
        if others:
            return (), ()
        return tuple(asked[number] for number in always), tuple(asked[number] for number in without)

    return of


def _apart(
    asked: Sequence[Condition], key_of: Callable[[Memberships], Key | None]
) -> dict[Key, list[Condition]]:
    bounds = [each.bounds for each in asked]
    others = [number for number, each in enumerate(bounds) if each is None]
    # Between two cuts no bound changes its answer: one length speaks for all up to the next cut.
    cuts = {0}
    for least, most in filter(None, bounds):
        cuts |= {least} if most is None else {least, most + 1}
    firsts = sorted(cuts)
    result: dict[Key, list[Condition]] = {}
    uncounted = [asked[number] for number in others]
    shorter = {each.language: each.text for each in uncounted if each.text is not None}
    groups = grouped([each.language for each in uncounted], lambda found: found)
    sufficient = _sufficient(uncounted, {met: {met} for met in groups})
    for met, language in groups.items():
        known = dict(zip(others, met, strict=True))
        keys: list[tuple[int, Key | None]] = []  # the class from each length on
        for first in _lengths_from(language, firsts):
            found = tuple(
                known[number] if each is None else is_within(first, each)
                for number, each in enumerate(bounds)
            )
            keys.append((first, key_of(found)))
        parts, without = sufficient(met)
        whole = Condition(language, shorter.get(language), parts, without)
        for key, least, most in _runs(keys):
            if key is None:
                continue
            scalar = whole
            if least > 0 or most is not None:
                # The product of both would be as large as what is avoided here; only the parts are
                # exact.
                together = (whole, of_lengths(least, most))
                scalar = Condition(language, parts=together, is_wider=True)
            result.setdefault(key, []).append(scalar)
    return result


def _runs(keys: Sequence[tuple[int, Key]]) -> Iterator[tuple[Key, int, int | None]]:
    """Yield key, least and most length of each run of equal keys."""
    starts = [at for at, (_, key) in enumerate(keys) if not at or key != keys[at - 1][1]]
    for at, next_start in zip(starts, [*starts[1:], None], strict=True):
        least = keys[at][0] if at else 0
        yield keys[at][1], least, None if next_start is None else keys[next_start][0] - 1


def _lengths_from(language: Language, firsts: Sequence[int]) -> Iterator[int]:
    """Yield the sorted numbers such that some text's length is from that number to the next one.

    The last number has no next one: the length of the text is at least that.
    """
    for first, end in zip(firsts, [*firsts[1:], None], strict=True):
        lengths = language.within(first, None if end is None else end - 1)
        if lengths.may_end(language.start, 0):
            yield first


Found = tuple[bool, ...]  # which conditions are met


class ScalarClasses:
    """Numbers or strings by class.

    Parameters
    ----------
    nodes : sequence of Node
        Those whose classes are asked for.
    below : sequence of Node
        Their closure.
    kind : str
        "number" or "string".
    is_tidy : bool
        Whether only tidy spellings of numbers may be written.
    """

    def __init__(
        self, nodes: Sequence[Node], below: Sequence[Node], kind: str, *, is_tidy: bool = False
    ) -> None:
        self._nodes = nodes
        self._below = below
        self._kind = kind
        self._is_tidy = is_tidy and kind == "number"
        asked = [each for node in below if kind in node.kinds for each in asked_by(node, kind)]
        self._asked = list({id(each): each for each in asked}.values())
        self._lists = [each for each in self._asked if each.words is not None]
        self._others = [each for each in self._asked if each.words is None]
        self._universe = [decimals()] if kind == "number" else []

    def has(self, goal: Goal) -> bool:
        """Return whether there are numbers or strings that meet a goal."""
        if any(goal.is_met_by(each, self._kind) for each in self._words):
            return True
        if self._kind == "string" and all(
            any(node.values is not None for node in case.holds) for case in goal.cases
        ):
            return False  # only listed ones could be
        return any(goal.is_met_by(each, self._kind) for each in self._unlisted())

    def __iter__(self) -> Iterator[ValueClass]:
        """Yield the classes, some of them more than once."""
        yield from self._words
        yield from self._unlisted()

    @cached_property
    def languages(self) -> dict[ValueClass, list[Condition | None]]:
        """The numbers or strings of each class; None for all of them."""
        found: Mapping[ValueClass, Sequence[Condition | None]]
        if not self._asked:
            found = {self._class_of(()): [None]}
        elif len(self._lists) > 1:
            return self._word_by_word()
        else:
            n = len(self._universe)
            found = by_class(
                [*map(Condition, self._universe), *self._asked],
                lambda found: self._class_of(found[n:]) if all(found[:n]) else None,
            )
        if not self._is_tidy:
            return {key: list(each) for key, each in found.items()}
        return {
            key: [tidy_numbers(each, self._below) for each in conditions]
            for key, conditions in found.items()
        }

    def _class_of(self, found: Found) -> ValueClass:
        check_step()
        decided, places, others = self._parted
        truth = dict(zip(decided, map(found.__getitem__, places), strict=True))
        if others:
            known = dict(zip(map(id, self._asked), found, strict=True))
            truth = truths(
                others,
                self._kind,
                lambda node, _: scalar_holds(node, self._kind, known),
                known=truth,
            )
        return frozenset([node for node in self._nodes if truth[node]])

    @cached_property
    def _parted(self) -> tuple[list[Node], list[int], list[Node]]:
        """Nodes that one condition decides, the place of each one's, and all others.

        An enumeration of objects has hundreds of the former.
        """
        place_of = {id(condition): place for place, condition in enumerate(self._asked)}
        decided, places, others = [], [], []
        for node in self._below:
            own = asked_by(node, self._kind)
            never = node.is_false or self._kind not in node.kinds
            is_listed = listed(node, self._kind) is not None
            is_one = len(own) == 1 and is_listed == (node.values is not None)
            if is_one and node.is_alone and not never:
                decided.append(node)
                places.append(place_of[id(own[0])])
            else:
                others.append(node)
        return decided, places, others

    @cached_property
    def _words(self) -> dict[ValueClass, list[str]]:
        """Listed strings by class."""
        found: dict[ValueClass, list[str]] = {}
        known: dict[Found, ValueClass] = {}
        for word in self._all_words:
            met = tuple(each.meets(word) for each in self._asked)
            if met not in known:
                known[met] = self._class_of(met)
            found.setdefault(known[met], []).append(word)
        return found

    @cached_property
    def _all_words(self) -> list[str]:
        return sorted({word for each in self._lists for word in each.words or ()})

    def _class_of_rest(self, found: Found) -> ValueClass:
        """Return the class of a string that is not listed."""
        rest = iter(found)
        return self._class_of(tuple(each.words is None and next(rest) for each in self._asked))

    def _unlisted(self) -> Iterator[ValueClass]:
        """Yield the classes of all that is not listed."""
        if not self._others and not self._universe:
            yield self._class_of_rest(())
            return
        if prod(max(2, each.n_states) for each in self._others) > MAX_TOGETHER:
            yield from self.languages
            return
        before = [*self._universe, *([Language.of_words(self._all_words)] if self._lists else [])]
        meant = (*(True for _ in self._universe), *(False for _ in self._lists[:1]))
        n = len(meant)
        languages = [*before, *(each.language for each in self._others)]
        for found in memberships(languages, MAX_TOGETHER):
            if found is None:  # it takes too long
                yield from self.languages
            elif found[:n] == meant:
                yield self._class_of_rest(found[n:])

    def _word_by_word(self) -> dict[ValueClass, list[Condition | None]]:
        """Return strings by class, the listed ones one by one: quicker than an automaton of all."""
        found: dict[ValueClass, list[Condition | None]] = {
            key: [Condition(partial(Language.of_words, words), words=frozenset(words))]
            for key, words in self._words.items()
        }
        words = Condition(partial(Language.of_words, self._all_words))
        rest = by_class(
            [words, *self._others], lambda met: None if met[0] else self._class_of_rest(met[1:])
        )
        for key, conditions_of_key in rest.items():
            found.setdefault(key, []).extend(conditions_of_key)
        return found
