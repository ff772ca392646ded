"""Automata that several conditions make together, as far as texts need them.

In: automata over code points. Out: a :class:`SideBySide`, which reads all of them at once: the
product automaton, made state by state. A product may be too large to be made as a whole, but a text
meets few of its states.

A state of it is live if an end can be reached from it. A search finds out: depth first, along the
states that are nearest to the ends of all parts. What a search has seen is known from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from math import inf, prod

from cfgguide.automata.alphabet import alphabet_of, beside
from cfgguide.automata.charset import ANY_CHARACTER
from cfgguide.automata.language import (
    DEAD,
    Language,
    Lengths,
    Lettered,
    Part,
    TextAutomaton,
    intersection,
)
from cfgguide.base.limits import check_step
from cfgguide.base.locks import new_rlock
from cfgguide.base.remembered import remembered
from cfgguide.base.sets import reached_from
from cfgguide.errors import SchemaError

_MAX_TOGETHER = 2_000  # states of a product that is made at once
_MAX_SEARCHED = 200_000  # states of one search
_N_KEPT = 256  # products

State = tuple[int, ...]


def all_of(automata: Sequence[TextAutomaton]) -> TextAutomaton:
    """Return the texts that are in all of some languages, at least one.

    Examples
    --------
    >>> all_of([Language.of_words(["a", "b"]), Language.of_words(["b", "c"])]).language.words(9)
    ['b']
    """
    different = tuple(dict.fromkeys(automata))
    if len(different) == 1:
        return different[0]
    languages = [each for each in different if isinstance(each, Language)]
    n_states = prod(each.n_states for each in different)
    if len(languages) == len(different) and n_states <= _MAX_TOGETHER:
        return intersection(languages)
    return _together(different)


@lru_cache(maxsize=_N_KEPT)
def _together(automata: tuple[TextAutomaton, ...]) -> SideBySide:
    return SideBySide(automata)


class _Counter:
    """Texts of some lengths; a state is one more than the number of characters."""

    alphabet = alphabet_of([ANY_CHARACTER])
    start = 1

    def __init__(self, least: int, most: int | None) -> None:
        self._least, self._most = least, most

    def state(self, n: int) -> int:
        """Return the state after some characters."""
        if self._most is None:
            return min(n, self._least) + 1
        return n + 1 if n <= self._most else DEAD

    def row(self, state: int) -> State:
        """Return the next states of a state, by letters."""
        return (DEAD, self.state(state))

    def is_end(self, state: int) -> bool:
        """Return whether a text may end in a state."""
        return state > self._least

    def shortest(self, state: int) -> float:
        """Return how many characters at least have to come."""
        return max(0, self._least + 1 - state)

    def longest(self, state: int) -> float:
        """Return how many characters at most may come."""
        return inf if self._most is None else self._most + 1 - state

    def effort(self, state: int) -> float:
        """Return how many characters at least have to come."""
        return self.shortest(state)


class _Product:
    """The states of several automata together, by numbers; `DEAD` leads to no end."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self._lock = new_rlock()  # parts of a schema are shared by all that have the same ones
        self.alphabet, self._letters = beside(tuple([part.alphabet for part in parts]))
        self._numbers: dict[State, int] = {}
        self.states: list[State] = [()]
        self._is_live: dict[int, bool | None] = {DEAD: False}
        self._ways: dict[int, int] = {DEAD: 0}  # of live states, how far it is to some end

    def number(self, state: State) -> int:
        """Return the number of a state, `DEAD` only if it is surely dead."""
        number = self._numbers.get(state)
        if number is None:
            with self._lock:
                number = self._numbers.get(state)
                return self._new(state) if number is None else number
        return number

    def _new(self, state: State) -> int:
        check_step()
        pairs = list(zip(self._parts, state, strict=True))
        number = DEAD
        if DEAD not in state and self._nearest(state) <= min(p.longest(each) for p, each in pairs):
            number = len(self.states)
            self._is_live[number] = all(part.is_end(each) for part, each in pairs) or None
            self._ways[number] = 0
            self.states.append(state)  # last: an interruption leaves the number to another state
        self._numbers[state] = number
        return number

    def _nearest(self, state: State) -> float:
        """Return how many characters at least lead to an end."""
        return max(part.shortest(each) for part, each in zip(self._parts, state, strict=True))

    def effort(self, state: int) -> float:
        """Return about how many characters lead to an end: of all parts, one after the other."""
        pairs = zip(self._parts, self.states[state], strict=True)
        return sum(part.effort(each) for part, each in pairs)

    def is_end(self, state: int) -> bool:
        """Return whether a text may end in a state."""
        pairs = zip(self._parts, self.states[state], strict=True)
        return state != DEAD and all(part.is_end(each) for part, each in pairs)

    @remembered
    def row(self, state: int) -> tuple[int, ...]:
        """Return the live next states of a state, by letters."""
        targets = self.targets(state)
        live = {each: self.is_live(each) for each in dict.fromkeys(targets)}
        return tuple([each if live[each] else DEAD for each in targets])

    @remembered
    def targets(self, state: int) -> tuple[int, ...]:
        """Return the next states of a state, by letters, dead or not."""
        if state == DEAD:
            return (DEAD,) * len(self._letters)
        pairs = zip(self._parts, self.states[state], strict=True)
        rows = [part.row(each) for part, each in pairs]
        return tuple(
            self.number(tuple([row[each] for row, each in zip(rows, letters, strict=True)]))
            for letters in self._letters
        )

    def is_live(self, state: int) -> bool:
        """Return whether an end can be reached from a state.

        Raises
        ------
        SchemaError
            If too many states have to be searched.
        """
        known = self._is_live[state]
        if known is None:
            with self._lock:
                self._search(state)
            known = self._is_live[state]
        return bool(known)

    def way(self, state: int) -> int:
        """Return how many characters lead from a live state to some end, not always the nearest."""
        return self._ways[state] if self.is_live(state) else 0

    def _search(self, first: int) -> None:
        """Decide about a state, and about all that are seen.

        What has been left for good has only led to what has been left too, so without a live state
        among them they are dead. Only states on the way to the live one have others open.
        """
        before: dict[int, list[int]] = {}
        seen: set[int] = set()
        pending, live = [first], DEAD
        while pending and live == DEAD:
            state = pending.pop()
            if state in seen or self._is_live[state] is False:
                continue
            if self._is_live[state]:
                live = state
                break
            seen.add(state)
            check_step()
            if len(seen) > _MAX_SEARCHED:
                raise SchemaError(
                    "it takes too long to find out whether any text meets all conditions on a "
                    "string; use fewer patterns for one value, or smaller bounds"
                )
            targets = [each for each in dict.fromkeys(self.targets(state)) if each != DEAD]
            for each in targets:
                before.setdefault(each, []).append(state)
            # What needs the least is put last, and so taken first: most searches go straight to an
            # end.
            pending += sorted(targets, key=lambda each: (-self.effort(each), each))
        for state in (queue := [live] if live != DEAD else []):  # grows while it is walked
            for each in before.get(state, ()):
                if not self._is_live[each]:
                    self._ways[each] = self._ways[state] + 1
                    self._is_live[each] = True
                    queue.append(each)
        # What leads to a state that is still open may be live: nothing is decided of it.
        undecided = reached_from(pending, lambda each: before.get(each, ()))
        for state in seen.difference(undecided):
            if not self._is_live[state]:
                self._is_live[state] = False


class SideBySide(Lettered):
    """The texts that are in several languages, made while they are read.

    Examples
    --------
    >>> from cfgguide.automata.language import accepts
    >>> both = SideBySide([Language.of_words(["a", "b"]), Language.of_words(["b", "c"])])
    >>> [accepts(both, text) for text in "abc"], both.is_empty
    ([False, True, False], False)
    """

    def __init__(self, parts: Sequence[TextAutomaton]) -> None:
        self._parts = parts
        self._product = _Product(parts)
        self.alphabet = self._product.alphabet
        start = self._product.number(tuple(part.start for part in parts))
        self.start = start if self._product.is_live(start) else DEAD

    @property
    def n_states(self) -> int:
        """About how many states there are."""
        return prod(part.n_states for part in self._parts)

    @cached_property
    def n_guessed(self) -> int:
        """At most how many states an automaton has that guesses the way to an end."""
        return prod(part.n_guessed for part in self._parts)

    #: Whether the whole automaton is surely small.
    is_deterministic = False

    @property
    def is_empty(self) -> bool:
        """Whether no text is in all languages."""
        return self.start == DEAD

    @property
    def language(self) -> Language:
        """The same language, made at once; raises SchemaError if it is too large."""
        return intersection([part.language for part in self._parts])

    def state(self, states: State) -> int:
        """Return the state in which all parts are in given states."""
        return self._product.number(states)

    def row(self, state: int) -> Sequence[int]:
        """Return the next states of a state, by letters."""
        return self._product.row(state)

    def is_end(self, state: int) -> bool:
        """Return whether a text may end in a state."""
        return self._product.is_end(state)

    def near(self, state: int, n: int) -> int:
        """Return the same state: whether a text can end depends on all parts."""
        return state

    def shortest(self, state: int) -> float:
        """Return how many characters lead at least to an end; there may be none that near."""
        return max(p.shortest(each) for p, each in self._pairs(state))

    def longest(self, state: int) -> float:
        """Return how many characters lead at most to an end; there may be none that far."""
        return min(p.longest(each) for p, each in self._pairs(state))

    def fewest(self, state: int, spelling: int) -> float:
        """Return how many bytes at least lead from a state to an end."""
        return max(p.fewest(each, spelling) for p, each in self._pairs(state))

    def known_end(
        self, state: int, spelling: int, written: Callable[[], Sequence[bytes] | None]
    ) -> tuple[bytes, int] | None:
        """Return None: what ends one part may not end another one."""
        return None

    def effort(self, state: int) -> float:
        """Return about how many characters lead to an end."""
        return self._product.effort(state)

    def _pairs(self, state: int) -> Iterable[tuple[TextAutomaton, int]]:
        return zip(self._parts, self._product.states[state], strict=True)

    def within(self, least: int, most: int | None) -> Lengths:
        """Return what knows whether a text of so many characters can end."""
        return _Counted(self._product, self._parts, least, most)


class _Counted:
    """Tells whether a text can end within its bounds: the length is one more part."""

    def __init__(
        self, product: _Product, parts: Sequence[Part], least: int, most: int | None
    ) -> None:
        self._without = product
        self._least, self._most = least, most
        self._counter = _Counter(least, most)
        self._product = _Product([*parts, self._counter])

    def may_end(self, state: int, n: int) -> bool:
        """Return whether a text may end from a state with `n` characters read."""
        if not self._without.is_live(state):
            return False
        length = n + self._without.way(state)
        if self._least <= length and (self._most is None or length <= self._most):
            return True
        together = (*self._without.states[state], self._counter.state(n))
        return self._product.is_live(self._product.number(together))
