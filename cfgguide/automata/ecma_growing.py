"""Large patterns, made deterministic while texts are read.

In: the tree of a pattern without looks, whose anchors stand only at its ends. Out: a
:class:`GrowingPattern`. Its states are sets of states of the nondeterministic automaton, made as
texts reach them: a text of twenty characters meets few of the sets that ``{1,2048}`` has.

States from which no end can be reached are left out of the sets, so no set is dead. A set with a
state from which everything matches is that state alone. How far it is to an end, and with which
lengths one can be reached, is computed of single states; a set can what one of its states can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from cfgguide.automata.charset import ANY_CHARACTER
from cfgguide.automata.distances import CountedLengths, Distances
from cfgguide.automata.ecma_automaton import Builder, cuts_of, intervals
from cfgguide.automata.language import DEAD, Language, Lengths, Ranges, moves_by_target
from cfgguide.automata.pattern_tree import END, START, Characters, Choice, Node, Nodes, Repeat
from cfgguide.base.locks import new_rlock

_MAX_FOLLOWERS = 500_000  # pairs of states of which one comes after the other

Subset = frozenset[int]


def growing(nodes: Nodes, make: Callable[[], Language]) -> GrowingPattern | None:
    """Return the automaton of a pattern, if it can be made while texts are read.

    Parameters
    ----------
    nodes : tuple of Node
        The pattern.
    make : callable
        Returns the whole automaton; it may be too large.

    Examples
    --------
    >>> from cfgguide.automata.language import accepts
    >>> from cfgguide.automata.ecma_notation import read
    >>> from cfgguide.automata.ecma_patterns import pattern_language
    >>> grown = growing(read("^a{2,9}$"), lambda: pattern_language("^a{2,9}$"))
    >>> [accepts(grown, text) for text in ("a", "aa", "aab")], grown.is_deterministic
    ([False, True, False], True)
    """
    whole = nodes[0] if len(nodes) == 1 else None
    branches = whole.branches if isinstance(whole, Choice) else (nodes,)
    parts = [_Branch(branch) for branch in branches]
    if not all(_is_plain(part.body) for part in parts):
        return None
    automaton = _Automaton(parts)
    if automaton.n_followers > _MAX_FOLLOWERS:
        return None
    return GrowingPattern(automaton, make)


class _Branch:
    """One of the alternatives that a pattern has at its top, and its anchors."""

    def __init__(self, nodes: Nodes) -> None:
        self.is_begun = nodes[:1] == (START,)
        rest = nodes[self.is_begun :]
        self.is_ended = rest[-1:] == (END,)
        self.body = rest[: len(rest) - self.is_ended]


def _is_plain(nodes: Nodes) -> bool:
    """Return whether nodes have neither looks nor anchors."""
    return all(map(_is_plain_node, nodes))


def _is_plain_node(node: Node) -> bool:
    match node:
        case Characters():
            return True
        case Choice():
            return all(map(_is_plain, node.branches))
        case Repeat():
            return _is_plain(node.body)
    return False


class _Automaton:
    """The nondeterministic automaton without empty moves.

    Attributes
    ----------
    start : frozenset of int
        The states before any character.
    moves : list of list of (int, frozenset of int)
        For each state the moves: letters as bits, and the states after them.
    ends : set of int
        The states in which a text may end.
    everything : int
        The state from which all texts match; it may be one that nothing leads to.
    n_followers : int
        How many pairs of states there are of which one comes after the other; where they are too
        many, nothing else is of use.
    """

    def __init__(self, branches: Sequence[_Branch]) -> None:
        builder = Builder()
        builder.classes.add(ANY_CHARACTER)
        self.everything = builder.new()
        builder.free.add(self.everything)
        self.ends = {self.everything}
        firsts = []
        for branch in branches:
            first = builder.new()
            firsts.append(first)
            if not branch.is_begun:
                builder.free.add(first)
            last = builder.add(branch.body, first)
            if branch.is_ended:
                self.ends.add(last)
            else:
                builder.empties[last].append((None, self.everything))
        self._set_letters(builder)
        moves = self._letter_moves(builder)
        live = _live(moves, builder, self.ends)
        acting = [
            each in live and (each in self.ends or bool(moves[each]))
            for each in range(builder.n_states)
        ]
        self.n_followers = 0
        known: dict[int, Subset] = {}
        self.moves: list[list[tuple[int, Subset]]] = []
        for each, mine in enumerate(moves):
            found = []
            for letters, target in mine if acting[each] else ():
                if target not in live:
                    continue
                if target not in known:
                    known[target] = self._near([target], builder, acting)
                self.n_followers += len(known[target])
                found.append((letters, known[target]))
            self.moves.append(found)
            if self.n_followers > _MAX_FOLLOWERS:
                return
        self._set_copies(builder)
        self.start = self._near(firsts, builder, acting)
        self._closures = [self.start, *known.values()]

    def _set_copies(self, builder: Builder) -> None:
        """Note for each state which copies of a part it is in: one place in all, and the copy.

        Whatever may follow a place in one copy may follow it in each copy before: there, only more
        of them may still come.
        """
        self._copies: dict[int, list[tuple[tuple[int, int], int]]] = {}
        for number, copies in enumerate(builder.copies):
            size = len(copies.states) // (len(copies.begins) - 1)
            for at, state in enumerate(copies.states):
                copy, place = divmod(at, size)
                self._copies.setdefault(state, []).append(((number, place), copy))
            before = copies.begins[0]  # a copy begins where the one before it ends
            end = copies.begins[1] - copies.states.start
            self._copies.setdefault(before, []).append(((number, end), -1))

    def needed(self, states: set[int]) -> Subset:
        """Return states without those whose texts all lead to an end from another one, too."""
        if self.everything in states:
            return frozenset([self.everything])
        firsts: dict[tuple[int, int], int] = {}
        for state in states:
            for place, copy in self._copies.get(state, ()):
                firsts[place] = min(copy, firsts.get(place, copy))
        return frozenset(
            state
            for state in states
            if all(firsts[place] == copy for place, copy in self._copies.get(state, ()))
        )

    def _set_letters(self, builder: Builder) -> None:
        """Sort the intervals of characters by the classes that they are in."""
        self.cuts = cuts_of(builder.classes)
        classes = sorted(builder.classes, key=lambda each: each.ranges)
        member_of: list[list[int]] = [[] for _ in self.cuts]
        for number, each in enumerate(classes):
            for place in intervals(each, self.cuts):
                member_of[place].append(number)
        places: dict[tuple[int, ...], int] = {}
        self.letters = [places.setdefault(tuple(each), len(places)) for each in member_of]
        self.n_letters = len(places)
        self._bits = dict.fromkeys(classes, 0)
        for key, letter in places.items():
            for number in key:
                self._bits[classes[number]] |= 1 << letter

    def _letter_moves(self, builder: Builder) -> list[list[tuple[int, int]]]:
        """Return the moves of each state: letters as bits, and a target."""
        everything = self._bits[ANY_CHARACTER]
        found = [
            [(self._bits[each], target) for each, target in moves if self._bits[each]]
            for moves in builder.moves
        ]
        for state in builder.free:
            found[state].append((everything, state))
        return found

    def _near(self, states: Iterable[int], builder: Builder, acting: Sequence[bool]) -> Subset:
        """Return where empty moves lead, as far as an end can be reached from there."""
        reached = dict.fromkeys(states)
        queue = list(reached)
        for each in queue:  # grows while it is walked
            for _, target in builder.empties[each]:
                if target not in reached:
                    reached[target] = None
                    queue.append(target)
        if self.everything in reached:
            return frozenset([self.everything])
        return frozenset([each for each in reached if acting[each]])

    @cached_property
    def is_deterministic(self) -> bool:
        """Whether each text leads to the states that come after one move."""
        for closure in set(self._closures):
            seen = 0
            for each in closure:
                for letters, _ in self.moves[each]:
                    if seen & letters:
                        return False
                    seen |= letters
        return True

    @cached_property
    def distances(self) -> Distances:
        """How far it is from each state to the ends."""
        following = [
            list(dict.fromkeys(after for _, near in moves for after in near))
            for moves in self.moves
        ]
        return Distances(following, self.ends)


def _live(
    moves: Sequence[Sequence[tuple[int, int]]], builder: Builder, ends: Iterable[int]
) -> dict[int, None]:
    """Return the states from which an end can be reached."""
    before: list[list[int]] = [[] for _ in moves]
    for state, mine in enumerate(moves):
        for _, target in mine:
            before[target].append(state)
        for _, target in builder.empties[state]:
            before[target].append(state)
    live = dict.fromkeys(ends)
    queue = list(live)
    for state in queue:  # grows while it is walked
        for each in before[state]:
            if each not in live:
                live[each] = None
                queue.append(each)
    return live


class GrowingPattern:
    """The texts in which a large pattern is found; see :func:`growing`."""

    def __init__(self, automaton: _Automaton, make: Callable[[], Language]) -> None:
        self._automaton = automaton
        self._make = make
        self._lock = new_rlock()  # patterns are shared by all schemas
        self._subsets: list[Subset] = [frozenset()]
        self._numbers: dict[Subset, int] = {frozenset(): DEAD}
        self._rows: dict[int, list[int]] = {DEAD: [DEAD] * automaton.n_letters}
        self._moves: dict[int, dict[int, Ranges]] = {}
        self._lengths: dict[int, tuple[float, float]] = {}
        self.cuts, self.letters = automaton.cuts, automaton.letters
        self.start = self._number(automaton.start)

    @property
    def n_states(self) -> int:
        """Number of states of the nondeterministic automaton."""
        return len(self._automaton.moves)

    @property
    def is_deterministic(self) -> bool:
        """Whether the whole automaton is surely no larger than the pattern."""
        return self._automaton.is_deterministic

    @property
    def is_empty(self) -> bool:
        """Whether the pattern is found in no text."""
        return self.start == DEAD

    @property
    def language(self) -> Language:
        """The same language, made at once; raises SchemaError if it is too large."""
        return self._make()

    def _number(self, subset: Subset) -> int:
        number = self._numbers.get(subset)
        if number is None:
            with self._lock:
                number = self._numbers.get(subset)
                if number is None:
                    number = len(self._subsets)
                    self._subsets.append(subset)
                    self._numbers[subset] = number
        return number

    def row(self, state: int) -> Sequence[int]:
        """Return the next states of a state, by letters."""
        row = self._rows.get(state)
        if row is None:
            row = self._rows[state] = self._made(self._subsets[state])
        return row

    def _made(self, subset: Subset) -> list[int]:
        after: list[Subset] = [frozenset()] * self._automaton.n_letters
        several: dict[int, set[int]] = {}
        for state in subset:
            for letters, near in self._automaton.moves[state]:
                while letters:
                    letter = (letters & -letters).bit_length() - 1
                    letters &= letters - 1
                    if not after[letter]:
                        after[letter] = near
                    else:
                        several.setdefault(letter, set(after[letter])).update(near)
        for letter, found in several.items():
            after[letter] = self._automaton.needed(found)
        return [self._number(each) for each in after]

    def is_end(self, state: int) -> bool:
        """Return whether a text may end in a state."""
        return not self._automaton.ends.isdisjoint(self._subsets[state])

    def moves_of(self, state: int) -> dict[int, Ranges]:
        """Return the states after one more character, without the dead one, with the characters."""
        moves = self._moves.get(state)
        if moves is None:
            moves = self._moves[state] = moves_by_target(self.cuts, self.letters, self.row(state))
        return moves

    def shortest(self, state: int) -> float:
        """Return how many characters at least lead from a state to an end."""
        return self._extremes(state)[0]

    def longest(self, state: int) -> float:
        """Return how many characters at most lead from a state to an end; may be infinite."""
        return self._extremes(state)[1]

    def _extremes(self, state: int) -> tuple[float, float]:
        found = self._lengths.get(state)
        if found is None:
            distances, subset = self._automaton.distances, self._subsets[state]
            shortest = min(distances.shortest[each] for each in subset)
            longest = max(distances.longest[each] for each in subset)
            found = self._lengths[state] = (shortest, longest)
        return found

    def within(self, least: int, most: int | None) -> Lengths:
        """Return what knows whether a text of so many characters can end."""
        return _SubsetLengths(self._subsets, self._automaton.distances, least, most)


class _SubsetLengths:
    def __init__(
        self, subsets: list[Subset], distances: Distances, least: int, most: int | None
    ) -> None:
        self._subsets = subsets
        self._counted = CountedLengths(distances, least, most)
        self._known: dict[tuple[int, int], bool] = {}

    def may_end(self, state: int, n: int) -> bool:
        """Return whether a text can end within its bounds, after `n` characters, from a state."""
        key = (state, n)
        if key not in self._known:
            self._known[key] = self._counted.any_may_end(self._subsets[state], n)
        return self._known[key]
