"""Nondeterministic automata of ECMA-262's patterns, and the languages that they decide.

In: the tree of a pattern (:mod:`cfgguide.automata.ecma_notation`). Out: the
:class:`~cfgguide.automata.language.Language` of the texts in which it is found.

A look-behind is a condition on the text so far: the automaton of what it may end in reads along,
from the start of the text. A look-ahead is an *obligation*: the automaton of what has to follow
reads the rest, and a way to match that owes something counts only if that is met at the end. The
subset construction is over ways, which are states with what they owe.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from cfgguide.automata.charset import ANY_CHARACTER, MAX_CODE_POINT, SURROGATES, CharacterClass
from cfgguide.automata.language import DEAD, MAX_STATES, NO_TEXTS, Language, grouped, smallest
from cfgguide.automata.pattern_tree import END, START, Characters, Choice, Look, Node, Nodes, Repeat
from cfgguide.base.limits import check_step
from cfgguide.errors import SchemaError

_MAX_REPEATS = 5000

Behind = tuple[int, ...]  # the states of the automata of all look-behinds
Subset = tuple[frozenset[int], Behind]
Condition = Node | None  # START, END, a look, or nothing


class Position(NamedTuple):
    """What the conditions at a place in a text depend on."""

    is_start: bool
    is_end: bool
    behind: Behind


def found_anywhere(nodes: Nodes) -> Language:
    """Return the language of the texts in which a pattern is found.

    Raises
    ------
    SchemaError
        If the automaton would be too large, or one look stands inside another as is not supported.
    """
    builder = Builder()
    first, last = builder.new(), builder.new()
    builder.free |= {first, last}
    builder.empties[builder.add(nodes, first)].append((None, last))
    behinds = _Behinds(builder)
    return _Determinizer(builder, last, behinds).language(first, behinds.start)


def size_of(nodes: Nodes) -> int:
    """Return the number of states of a pattern and its looks; raises if they are too many."""
    builder = Builder()
    builder.add(nodes, builder.new())
    return builder.n_states + builder.n_looked_at


def _ending_in(nodes: Nodes) -> Language:
    """Return the language of the texts that end in what a look-behind matches."""
    builder = Builder()
    first = builder.new()
    builder.free.add(first)
    last = builder.add(nodes, first)
    if builder.has_ends or not all(look.is_behind for look in builder.looks):
        raise SchemaError("look-ahead, \\b or $ inside a look-behind is not supported")
    behinds = _Behinds(builder)
    return _Determinizer(builder, last, behinds).language(first, behinds.start)


def _beginning_with(look: Look, behinds: _Behinds, here: Position) -> Language:
    """Return the language of what may follow a look-ahead at some place."""
    builder = Builder()
    first, last = builder.new(), builder.new()
    builder.free.add(last)
    builder.empties[builder.add(look.body, first)].append((None, last))
    found = _Determinizer(builder, last, behinds).language(
        first, here.behind, is_start=here.is_start
    )
    return grouped([found], lambda met: met[0] != look.is_negated).get(True, NO_TEXTS)


class Copies(NamedTuple):
    """Copies of one part, each after the other, that may be left out.

    Attributes
    ----------
    begins : list of int
        The states before the first, between them, and after the last.
    states : range
        The states of all copies, the same number for each.
    """

    begins: list[int]
    states: range


class Builder:
    """A nondeterministic automaton; empty moves may have conditions."""

    def __init__(self) -> None:
        self.moves: list[list[tuple[CharacterClass, int]]] = []
        self.empties: list[list[tuple[Condition, int]]] = []
        self.free: set[int] = set()  # states with a loop on every character
        self.has_ends = False  # whether there is a $
        #: The different looks, and those inside look-aheads.
        self.looks: dict[Look, None] = {}
        #: All classes of characters, those inside looks too.
        self.classes: set[CharacterClass] = set()
        self.n_looked_at = 0  # states inside looks
        #: Of each part that may come several times, the copies that may be left out.
        self.copies: list[Copies] = []

    @property
    def n_states(self) -> int:
        """Number of states so far."""
        return len(self.moves)

    def new(self) -> int:
        """Add a state; raises if there are too many."""
        _check_size(len(self.moves) + 1)
        self.moves.append([])
        self.empties.append([])
        return len(self.moves) - 1

    def add(self, nodes: Nodes, state: int) -> int:
        """Add what some nodes match after a state; return where it ends."""
        for node in nodes:
            after = self.new()
            self._add(node, state, after)
            state = after
        return state

    def _add(self, node: Node, state: int, after: int) -> None:
        match node:
            case Characters():
                self.classes.add(node.characters)
                self.moves[state].append((node.characters, after))
            case Choice():
                for branch in node.branches:
                    first = self.new()
                    self.empties[state].append((None, first))
                    self.empties[self.add(branch, first)].append((None, after))
            case Repeat():
                self._repeat(node, state, after)
            case Look():
                self._note(node)
                self.empties[state].append((node, after))
            case _:
                self.has_ends |= node is END
                self.empties[state].append((node, after))

    def _note(self, look: Look) -> None:
        if look in self.looks:
            return
        inside = Builder()
        inside.add(look.body, inside.new())
        self.n_looked_at += inside.n_states + inside.n_looked_at
        self.looks[look] = None
        self.classes |= inside.classes
        if not look.is_behind:
            self.looks |= inside.looks

    def _repeat(self, node: Repeat, state: int, after: int) -> None:
        if max(node.least, node.most or 0) > _MAX_REPEATS:
            raise SchemaError(f"it repeats more than {_MAX_REPEATS} times")
        for _ in range(node.least):
            state = self.add(node.body, state)
        if node.most is None:
            loop = self.new()
            self.empties[state].append((None, loop))
            self.empties[self.add(node.body, loop)].append((None, loop))
            self.empties[loop].append((None, after))
            return
        begins, first = [state], self.n_states
        for _ in range(node.most - node.least):
            self.empties[state].append((None, after))
            state = self.add(node.body, state)
            begins.append(state)
        if len(begins) > 2 and self.n_states > first:
            self.copies.append(Copies(begins, range(first, self.n_states)))
        self.empties[state].append((None, after))


class _Behinds:
    """The automata of all look-behinds, which read a text from its start."""

    def __init__(self, builder: Builder) -> None:
        bodies = dict.fromkeys(look.body for look in builder.looks if look.is_behind)
        self._numbers = {body: number for number, body in enumerate(bodies)}
        self._languages = [_ending_in(body) for body in bodies]

    @property
    def start(self) -> Behind:
        """The states before any character."""
        return tuple(language.start for language in self._languages)

    def after(self, behind: Behind, point: int) -> Behind:
        """Return the states after a character."""
        if not behind:
            return behind
        return tuple(
            language.rows[state][bisect_right(language.cuts, point) - 1]
            for language, state in zip(self._languages, behind, strict=True)
        )

    def holds(self, look: Look, behind: Behind) -> bool:
        """Return whether a condition on the text so far is met."""
        number = self._numbers[look.body]
        return (behind[number] in self._languages[number].accepting) != look.is_negated


class _Obligations:
    """Sets of what the rest of a text has to be, by numbers; 0 is the empty one."""

    def __init__(self) -> None:
        self._languages: dict[Language, int] = {}
        self._everything: list[int | None] = []  # the state of each from which all is accepted
        self._owed: list[frozenset[tuple[Language, int]]] = [frozenset()]
        self._numbers = {self._owed[0]: 0}
        self._after: dict[tuple[int, int], int | None] = {}

    def owed(self, number: int) -> frozenset[tuple[Language, int]]:
        """Return the languages and the states in which they are."""
        return self._owed[number]

    def with_language(self, number: int, language: Language) -> int | None:
        """Return the obligations with one more; None if it can't be met."""
        return self._number([*self._owed[number], (language, language.start)])

    def after(self, number: int, point: int) -> int | None:
        """Return what is owed after a character; None if that can't be met."""
        key = (number, point)
        if key not in self._after:
            self._after[key] = self._number(
                (language, language.rows[state][bisect_right(language.cuts, point) - 1])
                for language, state in self._owed[number]
            )
        return self._after[key]

    def are_met(self, number: int) -> bool:
        """Return whether the text may end."""
        return all(state in language.accepting for language, state in self._owed[number])

    def _number(self, owed: Iterable[tuple[Language, int]]) -> int | None:
        found = {(language, state) for language, state in owed if not _is_met(language, state)}
        if any(state == DEAD for _, state in found):
            return None
        key = frozenset(found)
        if key not in self._numbers:
            self._numbers[key] = len(self._owed)
            self._owed.append(key)
        return self._numbers[key]


@lru_cache(maxsize=10_000)
def _is_met(language: Language, state: int) -> bool:
    """Return whether all texts are accepted from a state: in a minimal automaton, it stays."""
    gap = bisect_right(language.cuts, SURROGATES[0]) - 1
    return state in language.accepting and all(
        target == state for place, target in enumerate(language.rows[state]) if place != gap
    )


class _Determinizer:
    """The subset construction.

    A way is ``owed * n + state``: the number of its obligations, and one of the `n` states.
    """

    def __init__(self, builder: Builder, last: int, behinds: _Behinds) -> None:
        self._builder = builder
        self._last = last
        self._n = builder.n_states
        self._behinds = behinds
        self._obligations = _Obligations()
        self._followers: dict[tuple[Look, Position], Language] = {}
        self._known_near: dict[int, frozenset[int]] = {}
        self._conditional: dict[int, list[tuple[Node, int]]] = {}
        for state, empties in enumerate(builder.empties):
            for condition, target in empties:
                if condition is not None:
                    self._conditional.setdefault(state, []).append((condition, target))
        self._acting = {last, *builder.free, *self._conditional}
        self._acting.update(state for state, moves in enumerate(builder.moves) if moves)
        self._cuts = cuts_of(builder.classes)
        self._places = {each: intervals(each, self._cuts) for each in builder.classes}
        self._everywhere = intervals(ANY_CHARACTER, self._cuts)

    def language(self, first: int, behind: Behind, *, is_start: bool = True) -> Language:
        """Return the language of the texts that lead from a state to the last one.

        Parameters
        ----------
        first : int
            The state before any character.
        behind : tuple of int
            The states of look-behinds there.
        is_start : bool
            Whether that is the start of the whole text.
        """
        begun = self._closure([first], Position(is_start, False, behind))
        subsets: list[Subset] = [(begun, behind)]
        numbers: dict[Subset | None, int] = {None: 1}  # no other state is the start
        rows = [(DEAD,) * len(self._cuts)]
        for subset in subsets:
            rows.append(self._row(subset, numbers, subsets))
        accepting = [
            number
            for number, subset in enumerate(subsets, 1)
            if self._is_end(subset, is_start=is_start and number == 1)
        ]
        return smallest(self._cuts, rows, 1, accepting)

    def _is_end(self, subset: Subset, *, is_start: bool) -> bool:
        ways, behind = subset
        if self._conditional:
            ways = self._closure(ways, Position(is_start, True, behind))
        return any(
            way % self._n == self._last and self._obligations.are_met(way // self._n)
            for way in ways
        )

    def _closure(self, ways: Iterable[int], here: Position) -> frozenset[int]:
        """Return where empty moves lead whose conditions are met, or are now owed."""
        n = self._n
        reached: set[int] = set()
        for way in ways:
            reached |= self._near(way) if way < n else self._far(way)
        if not (self._builder.looks or here.is_start or here.is_end):
            return frozenset(reached)
        queue = [way for way in reached if way % n in self._conditional]
        for way in queue:
            owed, state = divmod(way, n)
            for condition, target in self._conditional.get(state, ()):
                after = self._owed(owed, condition, here)
                if after is not None:
                    new = self._far(after * n + target) - reached
                    reached |= new
                    queue += [each for each in new if each % n in self._conditional]
        return self._least(reached) if max(reached, default=0) >= n else frozenset(reached)

    def _far(self, way: int) -> frozenset[int]:
        """Return where a way leads without conditions, with what it owes."""
        owed, state = divmod(way, self._n)
        near = self._near(state)
        return frozenset([owed * self._n + each for each in near]) if owed else near

    def _near(self, state: int) -> frozenset[int]:
        """Return where a state leads without conditions; only states that do something."""
        known = self._known_near.get(state)
        if known is None:
            empties = self._builder.empties
            reached = {state: None}
            for each in (queue := [state]):
                for condition, target in empties[each]:
                    if condition is None and target not in reached:
                        reached[target] = None
                        queue.append(target)
            known = self._known_near[state] = frozenset(
                [each for each in reached if each in self._acting]
            )
        return known

    def _owed(self, owed: int, condition: Node, here: Position) -> int | None:
        """Return the obligations where a condition has to be met; None if it is not."""
        if isinstance(condition, Look):
            if not condition.is_behind:
                return self._obligations.with_language(owed, self._follower(condition, here))
            is_met = self._behinds.holds(condition, here.behind)
        else:
            is_met = here.is_start if condition is START else here.is_end
        return owed if is_met else None

    def _follower(self, look: Look, here: Position) -> Language:
        key = (look, here._replace(is_end=False))
        if key not in self._followers:
            self._followers[key] = _beginning_with(look, self._behinds, here)
        return self._followers[key]

    def _least(self, ways: set[int]) -> frozenset[int]:
        """Return the ways without those that owe more than another one in the same state."""
        by_state: dict[int, list[int]] = {}
        for way in ways:
            by_state.setdefault(way % self._n, []).append(way // self._n)
        found = []
        for state, numbers in by_state.items():
            owed = {number: self._obligations.owed(number) for number in numbers}
            found += [
                number * self._n + state
                for number, mine in owed.items()
                if not any(other < mine for other in owed.values())
            ]
        return frozenset(found)

    def _row(
        self, subset: Subset, numbers: dict[Subset | None, int], subsets: list[Subset]
    ) -> tuple[int, ...]:
        """Return the next state for each interval; add the subsets that are new."""
        ways, behind = subset
        targets: list[set[int]] = [set() for _ in self._cuts]
        for way in ways:
            owed, state = divmod(way, self._n)
            reached = [(self._everywhere, state)] if state in self._builder.free else []
            reached += [(self._places[chars], to) for chars, to in self._builder.moves[state]]
            for places, target in reached:
                for place in places:
                    after = self._obligations.after(owed, self._cuts[place]) if owed else 0
                    if after is not None:
                        targets[place].add(after * self._n + target)
        known: dict[Subset, int] = {}
        row = []
        for cut, found in zip(self._cuts, map(frozenset, targets), strict=True):
            after_cut = self._behinds.after(behind, cut)
            if not found:
                row.append(DEAD)
                continue
            if (found, after_cut) not in known:
                closed = (self._closure(found, Position(False, False, after_cut)), after_cut)
                if closed not in numbers:
                    subsets.append(closed)
                    numbers[closed] = len(subsets)
                    _check_size(len(subsets))
                known[found, after_cut] = numbers[closed]
            row.append(known[found, after_cut])
        return tuple(row)


def cuts_of(classes: Iterable[CharacterClass]) -> list[int]:
    """Return the first code points of intervals that no character class divides."""
    low, high = SURROGATES
    points = {0, low, high + 1}
    for characters in classes:
        for first, last in characters.ranges:
            points |= {first, last + 1}
    return sorted(point for point in points if point <= MAX_CODE_POINT)


def _check_size(n_states: int) -> None:
    check_step()
    if n_states > MAX_STATES:
        raise SchemaError(f"it has more than {MAX_STATES} states; use smaller bounds")


def intervals(characters: CharacterClass, cuts: Sequence[int]) -> list[int]:
    """Return the indices of the intervals that make up a class."""
    return [
        index
        for low, high in characters.ranges
        for index in range(bisect_right(cuts, low) - 1, bisect_right(cuts, high))
    ]
