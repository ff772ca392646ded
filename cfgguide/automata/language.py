"""Regular languages of texts as automata over code points, and what is computed with them.

In: words, or the step function of an automaton. Out: a :class:`Language`, which is the minimal
complete automaton, and unions, intersections and differences of several languages at once.

Automata read intervals of code points; `cuts` are the first code points of the intervals. Several
intervals may lead to the same states. Surrogates are not characters of a text and lead nowhere.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from cfgguide.automata import dfa
from cfgguide.automata.alphabet import Alphabet, Ranges, beside, letters_to
from cfgguide.automata.charset import MAX_CODE_POINT, SURROGATES
from cfgguide.automata.dfa import IS_DEAD, IS_END, N_LABELS, NOWHERE, OPEN
from cfgguide.automata.distances import CountedLengths, Distances
from cfgguide.automata.partition import Moves
from cfgguide.base.limits import check_step
from cfgguide.base.numbered import Numbered
from cfgguide.errors import SchemaError

DEAD = dfa.DEAD  # the state from which nothing is accepted; every automaton has it
MAX_STATES = 20_000
IN_UTF8, IN_JSON = range(2)  # spellings of which `fewest` counts the bytes
_N_KEPT = 256  # intersections

Row = tuple[int, ...]
Key = TypeVar("Key", bound=Hashable)

ANY_TEXT: Ranges = ((0, SURROGATES[0] - 1), (SURROGATES[1] + 1, MAX_CODE_POINT))


class Part(Protocol):
    """An automaton over code points that is read state by state; `DEAD` is refused.

    From every state that `row` names, an end can be reached, unless it says otherwise.
    """

    @property
    def alphabet(self) -> Alphabet:
        """What it reads: each row has a place for each letter."""

    @property
    def start(self) -> int:
        """The state before any character."""

    def row(self, state: int) -> Sequence[int]:
        """Return the next states of a state, by letters."""

    def is_end(self, state: int) -> bool:
        """Return whether a text may end in a state."""

    def shortest(self, state: int) -> float:
        """Return how many characters at least lead from a state to an end."""

    def longest(self, state: int) -> float:
        """Return how many characters at most lead from a state to an end; may be infinite."""

    def effort(self, state: int) -> float:
        """Return about how many characters lead to an end; a search goes where these are few."""


class Lengths(Protocol):
    """Knows with how many characters a text can end."""

    def may_end(self, state: int, n: int) -> bool:
        """Return whether a text can end within its bounds, after `n` characters, from a state."""


class TextAutomaton(Part, Protocol):
    """A language of texts, made at once (`Language`) or while texts are read."""

    @property
    def n_states(self) -> int:
        """About how many states there are."""

    @property
    def n_guessed(self) -> int:
        """At most how many states an automaton has that guesses the way to an end.

        So from each state an end is nearer than that; and of a longer way a loop can be left out
        that has no more characters.
        """

    @property
    def counts(self) -> bool:
        """Whether states may differ in counts only; see `near`."""

    def is_everything(self, state: int) -> bool:
        """Return whether any text leads from a state to an end, as far as that is clear at once."""

    @property
    def is_empty(self) -> bool:
        """Whether no text is in the language."""

    def fewest(self, state: int, spelling: int) -> float:
        """Return how many bytes at least lead from a state to an end: `IN_UTF8` or `IN_JSON`."""

    def known_end(
        self, state: int, spelling: int, written: Callable[[], Sequence[bytes] | None]
    ) -> tuple[bytes, int] | None:
        """Return a shortest text from a state to an end, if that is known without a search.

        With how many characters it has. `written` returns a shortest character of each letter,
        None if there are not enough bytes.
        """

    @property
    def language(self) -> Language:
        """The same language, made at once; raises SchemaError if it is too large."""

    def moves_of(self, state: int) -> dict[int, Ranges]:
        """Return the states after one more character, without the dead one, with the characters."""

    def after_text(self, state: int, text: str) -> int:
        """Return the state after more characters."""

    def near(self, state: int, n: int) -> int:
        """Return a state after which as many as `n` characters do what they do after another one.

        Counts that are farther from their bounds are not told apart.
        """

    def unbounded(self, state: int) -> tuple[int, tuple[int, int]] | None:
        """Return a state after which the same may come as after another one, but for its length.

        With the least and the most characters that may come after that. None if there is none, or
        if that is not known.
        """

    def within(self, least: int, most: int | None) -> Lengths:
        """Return what knows whether a text of so many characters can end."""


class Lettered:
    """An automaton that reads letters."""

    @property
    def counts(self) -> bool:
        """Whether states may differ in counts only: not unless it is said."""
        return False

    def is_everything(self: TextAutomaton, state: int) -> bool:
        """Return whether any text leads from a state to an end, as far as that is clear at once."""
        return self.is_end(state) and self.moves_of(state) == {state: ANY_TEXT}

    def unbounded(self, state: int) -> tuple[int, tuple[int, int]] | None:
        """Return None: only patterns have counts."""
        return None

    def after_text(self: Part, state: int, text: str) -> int:
        """Return the state after more characters."""
        for character in text:
            state = after(self, state, character)
            if state == DEAD:
                break
        return state

    def moves_of(self: Part, state: int) -> dict[int, Ranges]:
        """Return the states after one more character, without the dead one, with the characters."""
        ranges = self.alphabet.ranges
        return {target: ranges(each) for target, each in letters_to(self.row(state)).items()}


def words_of(automaton: TextAutomaton, most: int) -> list[str] | None:
    """Return the words of a finite language, sorted; None if it has more than `most`.

    Each state leads to an end, so each that is open stands for at least one word.
    """
    found: list[str] = []
    open_ends = [] if automaton.is_empty else [("", automaton.start)]
    seen = set()
    while open_ends:
        if len(open_ends) + len(found) > most + 1:
            return None
        word, state = open_ends.pop()
        seen.add(state)
        if automaton.is_end(state):
            found.append(word)
        if len(word) >= len(seen):
            return None  # there is a loop
        for target, ranges in automaton.moves_of(state).items():
            if sum(high - low + 1 for low, high in ranges) > most:
                return None
            for low, high in ranges:
                open_ends += [(word + chr(point), target) for point in range(low, high + 1)]
    return sorted(found) if len(found) <= most else None


def accepts(automaton: Part, text: str) -> bool:
    """Return whether an automaton accepts a text."""
    state = automaton.start
    for character in text:
        state = after(automaton, state, character)
        if state == DEAD:
            return False
    return automaton.is_end(state)


def after(automaton: Part, state: int, character: str) -> int:
    """Return the state of an automaton after one more character."""
    return automaton.row(state)[automaton.alphabet.letter(ord(character))]


@dataclass(frozen=True)
class Language(Lettered):
    """A set of texts, as a minimal deterministic automaton.

    Attributes
    ----------
    cuts : tuple of int
        The first code point of each interval, sorted; the first is 0.
    rows : tuple of tuple of int
        For each state the next state per interval. State 0 is dead.
    start : int
        The state before any character.
    accepting : frozenset of int
        The states in which a text may end.

    Examples
    --------
    >>> Language.of_words(["a", "ab"]).accepts("ab"), Language.of_words(["a"]).accepts("b")
    (True, False)
    """

    cuts: tuple[int, ...]
    rows: tuple[Row, ...]
    start: int
    accepting: frozenset[int]

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.cuts, self.rows, self.start, self.accepting))

    @classmethod
    def of_words(cls, words: Iterable[str]) -> Language:
        """Return the language of some words."""
        nodes, ends = trie_of(words)
        points = sorted({ord(character) for node in nodes for character in node})
        cuts = sorted({0, *points, *(point + 1 for point in points)})
        intervals = {point: place for place, point in enumerate(cuts)}
        rows = []
        for node in nodes:
            check_step()
            row = [DEAD] * len(cuts)
            for character, target in node.items():
                row[intervals[ord(character)]] = target
            rows.append(tuple(row))
        return smallest(Alphabet(cuts), rows, 1, ends)

    @classmethod
    def of_steps(
        cls,
        start: Key,
        step: Callable[[Key, str], Key | None],
        is_accepting: Callable[[Key], bool],
        characters: str,
        *,
        others: str = "",
        most: int = MAX_STATES,
    ) -> Language:
        """Return the language of an automaton over some characters; None is its dead state.

        `others` is a character that stands for all others, if there are any. It may have `most`
        states.

        Raises
        ------
        SchemaError
            If it has too many states.
        """
        points = set(map(ord, characters))
        between = (SURROGATES[0], SURROGATES[1] + 1) if others else ()
        cuts = sorted({0, *between, *points, *(point + 1 for point in points)})
        letters = [
            chr(cut) if cut in points else "" if cut == SURROGATES[0] else others for cut in cuts
        ]
        numbers = Numbered[Key | None](None, start)
        rows: list[Row] = [(DEAD,) * len(cuts)]
        for state in itertools.islice(numbers.order, 1, None):  # grows while it is walked
            _check_size(len(rows), most)
            assert state is not None, "the dead state comes first"
            rows.append(tuple([numbers[step(state, each)] if each else DEAD for each in letters]))
        ends = {at for key, at in numbers.items() if key is not None and is_accepting(key)}
        return smallest(Alphabet(cuts), rows, 1, ends)

    def accepts(self, text: str) -> bool:
        """Return whether a text is in the language."""
        state = self.start
        for character in text:
            state = self.after(state, character)
        return state in self.accepting

    def after(self, state: int, character: str) -> int:
        """Return the state after one more character."""
        return self.rows[state][bisect_right(self.cuts, ord(character)) - 1]

    @property
    def is_empty(self) -> bool:
        """Whether no text is in the language."""
        return not self.accepting

    @property
    def language(self) -> Language:
        """The same."""
        return self

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.rows)

    @property
    def n_guessed(self) -> int:
        """The same."""
        return len(self.rows)

    @cached_property
    def alphabet(self) -> Alphabet:
        """Intervals that all states read alike are one letter."""
        columns = zip(*self.rows, strict=True)
        letters = {(DEAD,) * len(self.rows): 0}
        return Alphabet(self.cuts, [letters.setdefault(each, len(letters)) for each in columns])

    @cached_property
    def _by_letter(self) -> tuple[Row, ...]:
        letters = self.alphabet.letters
        firsts = [letters.index(letter) for letter in range(1, self.alphabet.n_letters)]
        found = []
        for row in self.rows:
            check_step(0)
            found.append((DEAD, *map(row.__getitem__, firsts)))
        return tuple(found)

    def row(self, state: int) -> Row:
        """Return the next states of a state, by letters."""
        return self._by_letter[state]

    def is_end(self, state: int) -> bool:
        """Return whether a text may end in a state."""
        return state in self.accepting

    @cached_property
    def distances(self) -> Distances:
        """How far it is from each state to the ends."""
        targets = []
        for row in self.rows:
            check_step(0)
            targets.append([each for each in dict.fromkeys(row) if each != DEAD])
        return Distances(targets, self.accepting)

    def shortest(self, state: int) -> float:
        """Return how many characters at least lead from a state to an end."""
        return self.distances.shortest[state]

    def longest(self, state: int) -> float:
        """Return how many characters at most lead from a state to an end; may be infinite."""
        return self.distances.longest[state]

    def effort(self, state: int) -> float:
        """Return how many characters at least lead from a state to an end."""
        return self.distances.shortest[state]

    def fewest(self, state: int, spelling: int) -> float:
        """Return how many bytes at least lead from a state to an end."""
        return self.distances.shortest[state]

    def known_end(
        self, state: int, spelling: int, written: Callable[[], Sequence[bytes] | None]
    ) -> tuple[bytes, int] | None:
        """Return None: only states say how a text ends."""
        return None

    def near(self, state: int, n: int) -> int:
        """Return the same state: each of a minimal automaton does something else."""
        return state

    def within(self, least: int, most: int | None) -> Lengths:
        """Return what knows whether a text of so many characters can end."""
        return CountedLengths(self.distances, least, most)

    @cached_property
    def moves(self) -> tuple[dict[int, Ranges], ...]:
        """For each state its targets except the dead one, with inclusive ranges of code points."""
        return tuple(map(self.moves_of, range(len(self.rows))))

    def words(self, most: int) -> list[str] | None:
        """Return the words of a finite language, sorted; None if it has more than `most`."""
        return words_of(self, most)


NO_TEXTS = Language((0,), ((DEAD,),), DEAD, frozenset())


def grouped(
    languages: Sequence[Language], group: Callable[[tuple[bool, ...]], Key]
) -> dict[Key, Language]:
    """Return all texts, grouped by a function of the languages that they are in.

    Raises
    ------
    SchemaError
        If the product automaton has too many states.

    Examples
    --------
    >>> parts = grouped([Language.of_words(["a", "b"]), Language.of_words(["b", "c"])], sum)
    >>> parts[1].words(9), parts[2].words(9), parts[0].words(9)
    (['a', 'c'], ['b'], None)
    """
    product = _Product(languages)
    numbers = Numbered[tuple[int, ...]](product.start)
    states = numbers.order
    rows = [[DEAD] * product.alphabet.n_letters]
    for state in states:  # grows while it is walked
        _check_size(len(rows))
        rows.append([DEAD, *[numbers[target] + 1 for target in product.moves(state)]])
    ends: dict[Key, set[int]] = {}
    for number, state in enumerate(states, 1):
        ends.setdefault(group(product.memberships(state)), set()).add(number)
    table = np.array(rows, dtype=np.int32)
    return {key: smallest(product.alphabet, table, 1, found) for key, found in ends.items()}


class _Product:
    """The automaton of several languages: a state of it is one of each, without the dead ones.

    Of hundreds of listed numbers, few are left after the first digit.

    Attributes
    ----------
    alphabet : Alphabet
        That of all together.
    start : tuple of int
        The state before any character: a number for each language that has texts.
    """

    def __init__(self, languages: Sequence[Language]) -> None:
        self.alphabet, letters = beside(tuple([each.alphabet for each in languages]))
        self._languages = languages
        self._letters = list(zip(*letters[1:], strict=True))
        # The states of all languages are numbered one after the other; no dead one is above 0.
        self._firsts = list(itertools.accumulate((len(each.rows) for each in languages), initial=0))
        self._rows: dict[int, tuple[int, ...]] = {}
        self.start = tuple(
            first + each.start
            for first, each in zip(self._firsts, languages, strict=False)
            if each.start != DEAD
        )

    def moves(self, state: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Yield the next state of each letter but 0."""
        if not state:
            yield from [()] * (self.alphabet.n_letters - 1)
        for after in zip(*[self._rows.get(here) or self._row(here) for here in state], strict=True):
            yield after if DEAD not in after else tuple(filter(None, after))

    def _row(self, here: int) -> tuple[int, ...]:
        """Return the next states of one language, by letters."""
        number = bisect_right(self._firsts, here) - 1
        first = self._firsts[number]
        row = self._languages[number].row(here - first)
        targets = map(row.__getitem__, self._letters[number])
        found = self._rows[here] = tuple([each and first + each for each in targets])
        return found

    def memberships(self, state: tuple[int, ...]) -> tuple[bool, ...]:
        """Return in which of the languages a text is that ends in a state."""
        found = [False] * len(self._languages)
        for here in state:
            number = bisect_right(self._firsts, here) - 1
            found[number] = here - self._firsts[number] in self._languages[number].accepting
        return tuple(found)


def memberships(languages: Sequence[Language], most: int) -> Iterator[tuple[bool, ...] | None]:
    """Yield in which of some languages texts are, each combination once, short texts first.

    Nothing is made of the product automaton but its states, and those only as far as it is asked
    for. After `most` of them, the last is None: there may be more combinations.

    Examples
    --------
    >>> list(memberships([Language.of_words(["a"]), Language.of_words(["b"])], 100))
    [(False, False), (True, False), (False, True)]
    """
    product = _Product(languages)
    found = set()
    for number, state in enumerate(_reached(product), 1):
        if number > most:
            yield None
            return
        met = product.memberships(state)
        if met not in found:
            found.add(met)
            yield met


def _reached(product: _Product) -> Iterator[tuple[int, ...]]:
    """Yield the states of a product automaton, the nearest first."""
    states = {product.start: None}
    pending = deque(states)
    while pending:
        check_step()
        state = pending.popleft()
        yield state
        for target in dict.fromkeys(product.moves(state)):
            if target not in states:
                states[target] = None
                pending.append(target)


def is_small_together(languages: Sequence[Language], most: int, most_sorted: int) -> bool:
    """Return whether texts can soon be sorted by which of some languages they are in.

    That takes one automaton of all, and another one for each of the ways in which they meet.

    Parameters
    ----------
    languages : sequence of Language
        The languages.
    most : int
        States of the automaton of all.
    most_sorted : int
        States of the others.
    """
    product = _Product(languages)
    found = set()
    for number, state in enumerate(_reached(product), 1):
        found.add(product.memberships(state))
        if number > most or number * len(found) > most_sorted:
            return False
    return True


def intersection(languages: Sequence[Language]) -> Language:
    """Return the texts that are in all of some languages, at least one.

    Raises
    ------
    SchemaError
        If the product automaton has too many states.

    Examples
    --------
    >>> both = intersection([Language.of_words(["a", "b"]), Language.of_words(["b", "c"])])
    >>> both.words(9)
    ['b']
    """
    different = tuple(dict.fromkeys(languages))
    return different[0] if len(different) == 1 else _intersection(different)


@lru_cache(maxsize=_N_KEPT)
def _intersection(languages: tuple[Language, ...]) -> Language:
    return grouped(languages, all).get(True, NO_TEXTS)


@lru_cache(maxsize=_N_KEPT)
def difference(language: Language, other: Language) -> Language:
    """Return the texts of a language that are not in another one; raises as `intersection`."""
    if other.is_empty:
        return language
    return grouped([language, other], lambda met: met == (True, False)).get(True, NO_TEXTS)


def trie_of(words: Iterable[str]) -> tuple[list[dict[str, int]], set[int]]:
    """Return the nodes of some words, a dead one first and then the root; and where words end."""
    nodes: list[dict[str, int]] = [{}, {}]
    ends = set()
    for word in words:
        check_step()
        here = 1
        for character in word:
            if character not in nodes[here]:
                nodes.append({})
                nodes[here][character] = len(nodes) - 1
            here = nodes[here][character]
        ends.add(here)
    return nodes, ends


def _check_size(n_states: int, most: int = MAX_STATES) -> None:
    check_step()
    if n_states > most:
        raise SchemaError(
            f"these keywords need an automaton of more than {most} states; "
            "use smaller bounds or fewer patterns for one value"
        )


def smallest(alphabet: Alphabet, rows: npt.ArrayLike, start: int, ends: Iterable[int]) -> Language:
    """Return the minimal automaton of rows by letters, with as few intervals as possible."""
    check_step()
    table = np.array(rows, dtype=np.int32)
    table[table == DEAD] = NOWHERE
    moves = Moves(table)
    labels = np.full(moves.n_states, OPEN, dtype=np.int32)
    labels[list(ends)] = IS_END
    moves.leave_dead(labels)
    if labels[start] == IS_DEAD:
        return NO_TEXTS
    classes = moves.refined(labels, N_LABELS)
    # States are numbered breadth-first, so that equal languages are equal values.
    order, numbers = moves.numbered(classes, start)
    targets = moves.targets.reshape(-1, moves.n_states)[:, order]
    columns = np.where(targets == NOWHERE, DEAD, numbers[classes[targets]])[list(alphabet.letters)]
    # Neighbours whose columns are equal are one interval.
    is_new = np.ones(len(columns), dtype=np.bool_)
    is_new[1:] = (columns[1:] != columns[:-1]).any(axis=1)
    accepting = (np.flatnonzero(labels[order] == IS_END) + 1).tolist()
    kept = np.array(alphabet.cuts)[is_new].tolist()
    found = [(DEAD,) * len(kept), *map(tuple, columns[is_new].T.tolist())]
    return Language(tuple(kept), tuple(found), 1, frozenset(accepting))
