"""Patterns as automata over characters.

In: a pattern. Out: its minimal automaton (:func:`automaton_of`), or None if that is large.
"""

from __future__ import annotations

from cfgguide.automata.language import DEAD, NO_TEXTS, Language, Row, smallest
from cfgguide.grammar.notations.character_patterns import Pattern
from cfgguide.grammar.rules.tree import Ranges

#: States, sets of a pattern once counts are written out, and intervals of characters.
MAX_STATES = 600
MAX_POSITIONS = 2_000
MAX_CUTS = 4_000


class _Nfa:
    """States with empty moves and moves over sets of characters (Thompson 1968)."""

    def __init__(self) -> None:
        self.empty: list[list[int]] = []
        self.moves: list[list[tuple[Ranges, int]]] = []

    def state(self) -> int:
        """Return a new state."""
        self.empty.append([])
        self.moves.append([])
        return len(self.empty) - 1

    def add(self, pattern: Pattern, begin: int) -> int:
        """Add a pattern that begins in a state, and return the state after it."""
        match pattern.kind:
            case "set":
                end = self.state()
                self.moves[begin].append((pattern.ranges, end))
            case "row":
                end = begin
                for part in pattern.parts:
                    end = self.add(part, end)
            case "choice":
                end = self.state()
                for part in pattern.parts:
                    self.empty[self.add(part, begin)].append(end)
            case _:
                end = self._repeated(pattern, begin)
        return end

    def _repeated(self, pattern: Pattern, begin: int) -> int:
        (part,) = pattern.parts
        here = begin
        for _ in range(pattern.least):
            here = self._apart(part, here)
        end = self.state()
        self.empty[here].append(end)
        if pattern.most is None:
            loop = self.state()
            self.empty[here].append(loop)
            after = self.add(part, loop)
            self.empty[after] += [loop, end]
            return end
        for _ in range(pattern.most - pattern.least):
            here = self._apart(part, here)
            self.empty[here].append(end)
        return end

    def _apart(self, part: Pattern, begin: int) -> int:
        """Add a part that begins in a state of its own, into which no other loop goes back."""
        fresh = self.state()
        self.empty[begin].append(fresh)
        return self.add(part, fresh)

    def closed(self, states: frozenset[int] | set[int]) -> frozenset[int]:
        """Return some states and those that empty moves lead to."""
        found, pending = set(states), list(states)
        while pending:
            for after in self.empty[pending.pop()]:
                if after not in found:
                    found.add(after)
                    pending.append(after)
        return frozenset(found)


def automaton_of(pattern: Pattern) -> Language | None:
    """Return the minimal automaton of a pattern, or None if it would be large.

    Examples
    --------
    >>> from cfgguide.grammar.notations.character_patterns import either, of_text
    >>> automaton = automaton_of(either([of_text("a"), of_text("ab")]))
    >>> automaton.words(9)
    ['a', 'ab']
    """
    if pattern.n_positions > MAX_POSITIONS:
        return None
    nfa = _Nfa()
    start = nfa.state()
    end = nfa.add(pattern, start)
    bounds = {
        bound
        for moves in nfa.moves
        for ranges, _ in moves
        for first, last in ranges
        for bound in (first, last + 1)
    }
    cuts = sorted({0, *bounds} - {0x110000})
    if len(cuts) > MAX_CUTS:
        return None
    places = {cut: place for place, cut in enumerate(cuts)}
    first = nfa.closed({start})
    numbers = {first: 1}
    states = [first]
    rows: list[Row] = [(DEAD,) * len(cuts)]
    for state in states:
        targets: list[set[int]] = [set() for _ in cuts]
        for ranges, target in (move for each in sorted(state) for move in nfa.moves[each]):
            for low, high in ranges:
                for place in range(places[low], places.get(high + 1, len(cuts))):
                    targets[place].add(target)
        row = [DEAD] * len(cuts)
        for place, found in enumerate(targets):
            if not found:
                continue
            closed = nfa.closed(found)
            if closed not in numbers:
                states.append(closed)
                numbers[closed] = len(states)
            row[place] = numbers[closed]
        rows.append(tuple(row))
        if len(states) > MAX_STATES:
            return None
    ends = [numbers[state] for state in states if end in state]
    return smallest(cuts, rows, 1, ends) if ends else NO_TEXTS
