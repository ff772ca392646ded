r"""Leftmost-first determinisation: from an ordered NFA to a finite-state machine.

In: an ordered NFA over bytes. Out: an :class:`~cfgguide.fsm.Fsm`, the smallest one with the same
match rule.

A set of NFA states would lose the order, so an FSM state is an ordered *list* of threads, cut
after the first that matches: whatever stands behind a match can never win. So ``a|ab`` is final
after ``a`` and dead after ``ab``, as Python's ``re`` has it, and ``a.*?b`` dies after the first
``b``.

A look-behind is settled where a thread passes it. So what every look-behind has seen of the text
is part of the state: its own NFA, started at every position. A look-ahead cannot be settled there:
the list of threads depends on the answer to a question, and the state asks it.

Source: Russ Cox, "Regular Expression Matching in the Wild" (2010), leftmost-first matching.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from cfgguide.fsm import DEAD, N_BYTES, Fsm
from cfgguide.limits import Budget
from cfgguide.minimisation import minimised
from cfgguide.partition import predecessors
from cfgguide.pattern import MATCH, Nfa, parse_pattern


def fsm_of_pattern(pattern: str, *, name: str, flags: int = 0, budget: Budget | None = None) -> Fsm:
    """Return the machine of a pattern of Python's ``re``.

    Raises
    ------
    PatternError, LimitError
        As :func:`cfgguide.pattern.parse_pattern`; `budget` bounds this machine too.
    """
    budget = budget or Budget()
    nfa = parse_pattern(pattern, name=name, flags=flags, budget=budget)
    return minimised(_Determiniser(nfa, name=name, budget=budget).run())


# Of the text just before: per look-behind, the states of its NFA, started at every position.
Behind = tuple[frozenset[int], ...]
# Answers to questions of this position, each named by the state where what is looked for starts.
Answers = frozenset[tuple[int, bool]]
# A state before it is numbered: ordered threads and what the look-behinds have seen; or the
# targets whose threads are not known yet, the same, the answers so far, and the open question.
State = tuple[tuple[int, ...], Behind, Answers, int | None]
NO_ANSWERS: Answers = frozenset()


class _Determiniser:
    """Numbers the lists of threads reached from the start, and what the look-behinds have seen."""

    def __init__(self, nfa: Nfa, *, name: str, budget: Budget) -> None:
        self._nfa = nfa
        self._name = name
        self._budget = budget
        self._closures: dict[tuple[int, tuple[bool, ...], Answers], _Closure] = {}
        self._looks_behind = _looking_behind(nfa)
        self._seen_after: dict[tuple[frozenset[int], ...], Behind] = {}
        self._numbers: dict[State, int] = {}
        self._states: list[State] = []
        self._asks: list[list[int]] = []

    def run(self) -> Fsm:
        """Return the machine, untrimmed."""
        self._new(((), (), NO_ANSWERS, None))  # DEAD
        found = self._contexts()
        starts = [self._number((self._nfa.start,), context) for context in found]
        rows: list[npt.NDArray[np.int32]] = []
        while len(rows) < len(self._states):
            rows.append(self._row(self._states[len(rows)]))
        is_final = [question is None and MATCH in on for on, _, _, question in self._states]
        return Fsm(
            np.stack(rows),
            np.array(is_final, dtype=np.bool_),
            np.array(self._asks, dtype=np.int32),
            np.array(starts, dtype=np.int32),
            np.array(list(found.values()), dtype=np.int32),
        )

    def _row(self, state: State) -> npt.NDArray[np.int32]:
        row = np.full(N_BYTES, DEAD, dtype=np.int32)
        threads, behind, answers, question = state
        if question is not None:
            self._asks[self._numbers[state]] = [
                self._number((question,), behind),
                self._number(threads, behind, answers | {(question, True)}),
                self._number(threads, behind, answers | {(question, False)}),
            ]
            return row
        edges = [edge for thread in threads for edge in self._nfa.edges[thread]]
        for low, high, targets in _moves(edges, self._behind_edges(behind) if edges else []):
            if targets:
                row[low : high + 1] = self._number(targets, self._later(behind, low))
        return row

    def _number(
        self, targets: tuple[int, ...], behind: Behind, answers: Answers = NO_ANSWERS
    ) -> int:
        """Return the state in which the threads behind `targets` are alive, or that asks."""
        threads, question = self._threads(targets, self._truths(behind), answers)
        if question is not None:
            return self._new((targets, behind, answers, question))
        matters = not self._looks_behind.isdisjoint(threads)
        return self._new((threads, behind if matters else (), NO_ANSWERS, None))

    def _new(self, state: State) -> int:
        if state not in self._numbers:
            self._budget.check("max_fsm_states", len(self._states), f"terminal {self._name}")
            self._numbers[state] = len(self._states)
            self._states.append(state)
            self._asks.append([0, 0, 0])
        return self._numbers[state]

    def _threads(
        self, targets: tuple[int, ...], truths: tuple[bool, ...], answers: Answers
    ) -> _Closure:
        """Return the ordered threads behind `targets`, cut after the first that matches.

        If that depends on an answer which is not there, return the question instead.
        """
        ordered: dict[int, None] = {}
        for target in targets:
            key = (target, truths, answers)
            if key not in self._closures:
                self._closures[key] = _closure(self._nfa, target, truths, dict(answers))
            threads, question = self._closures[key]
            for thread in threads:
                ordered[thread] = None
                if thread == MATCH:
                    return tuple(ordered), None
            if question is not None:
                return (), question
        return tuple(ordered), None

    # -- look-behinds: each is matched at every position, as if after any text ----------------

    def _truths(self, behind: Behind) -> tuple[bool, ...]:
        return tuple(MATCH in states for states in behind)

    def _seen(self, reached: tuple[frozenset[int], ...]) -> Behind:
        """Return what the look-behinds have seen where their threads have reached these states."""
        if reached not in self._seen_after:
            seen: list[frozenset[int]] = []
            for nfa, targets in zip(self._nfa.behinds, reached, strict=True):
                truths = self._truths(tuple(seen))  # a look-behind asks only those before it
                closures = [_closure(nfa, state, truths, {})[0] for state in (nfa.start, *targets)]
                seen.append(frozenset().union(*closures))
            self._seen_after[reached] = tuple(seen)
        return self._seen_after[reached]

    def _before_any(self) -> Behind:
        return self._seen(tuple(frozenset[int]() for _ in self._nfa.behinds))

    def _later(self, behind: Behind, byte: int) -> Behind:
        """Return what the look-behinds have seen after one more byte."""
        if not behind:
            return behind
        return self._seen(
            tuple(
                frozenset(
                    target
                    for state in states
                    for low, high, target in nfa.edges[state]
                    if low <= byte <= high
                )
                for nfa, states in zip(self._nfa.behinds, behind, strict=True)
            )
        )

    def _behind_edges(self, behind: Behind) -> list[tuple[int, int, int]]:
        return [
            edge
            for nfa, states in zip(self._nfa.behinds, behind, strict=bool(behind))
            for state in states
            for edge in nfa.edges[state]
        ]

    def _contexts(self) -> dict[Behind, list[int]]:
        """Return all that look-behinds may have seen, and the number of the next by each byte."""
        numbers = {self._before_any(): 0}
        rows: dict[Behind, list[int]] = {}
        for behind in (pending := list(numbers)):  # grows while it is walked
            rows[behind] = [0] * N_BYTES
            for low, high, _ in _moves([], [*self._behind_edges(behind), (0, N_BYTES - 1, 0)]):
                later = self._later(behind, low)
                if later not in numbers:
                    self._budget.check("max_fsm_states", len(numbers), f"terminal {self._name}")
                    numbers[later] = len(numbers)
                    pending.append(later)
                rows[behind][low : high + 1] = [numbers[later]] * (high + 1 - low)
        return rows


def _looking_behind(nfa: Nfa) -> frozenset[int]:
    """Return the states from which some split with a look-behind can be reached."""
    rows = [
        [target for *_, target in edges] + splits
        for edges, splits in zip(nfa.edges, nfa.splits, strict=True)
    ]
    for ask, (looked_for, _) in nfa.asks.items():
        rows[ask].append(looked_for)
    before = predecessors(rows)
    found = set(nfa.guards)
    pending = list(found)
    for state in pending:  # grows while it is walked
        for earlier in before[state] - found:
            found.add(earlier)
            pending.append(earlier)
    return frozenset(found)


# The byte states (and `MATCH`) reached by empty moves, most preferred first; and the first
# question on the way that has no answer: what stands behind it is not there.
_Closure = tuple[tuple[int, ...], int | None]


def _closure(nfa: Nfa, state: int, truths: tuple[bool, ...], answers: dict[int, bool]) -> _Closure:
    """Return where empty moves lead from a state.

    `open_rounds` are the repetitions whose present round has matched nothing so far. At the end of
    such a round the walk must leave, so they are part of what counts as visited.
    """
    found: dict[int, None] = {}
    visited: set[tuple[int, frozenset[int]]] = set()
    pending = [(state, frozenset[int]())]
    while pending:
        current, open_rounds = pending.pop()
        if (current, open_rounds) in visited or not _is_open(nfa, current, truths):
            continue
        visited.add((current, open_rounds))
        if not nfa.splits[current]:
            found[current] = None
            continue
        if current in nfa.asks:
            question, is_negated = nfa.asks[current]
            if question not in answers:
                return tuple(found), question
            if answers[question] == is_negated:
                continue
        targets = nfa.splits[current]
        if current in nfa.enters:
            open_rounds |= {nfa.enters[current]}
        elif current in nfa.leaves:
            open_rounds -= {nfa.leaves[current]}
        elif nfa.rounds.get(current) in open_rounds:
            targets = [target for target in targets if target in nfa.leaves]
        pending.extend((target, open_rounds) for target in reversed(targets))
    return tuple(found), None


def _is_open(nfa: Nfa, state: int, truths: tuple[bool, ...]) -> bool:
    """Return whether a state has no guard, or its look-behind holds."""
    if state not in nfa.guards:
        return True
    number, is_negated = nfa.guards[state]
    return truths[number] != is_negated


def _moves(
    edges: list[tuple[int, int, int]], others: list[tuple[int, int, int]]
) -> list[tuple[int, int, tuple[int, ...]]]:
    """Return (first byte, last byte, ordered targets of `edges`) for all ranges that differ.

    All bytes of a range take the same of `edges` and of `others`.
    """
    both = [*edges, *others]
    cuts = sorted({low for low, _, _ in both} | {high + 1 for _, high, _ in both})
    moves = []
    for low, following in pairwise(cuts):
        targets = tuple(target for first, last, target in edges if first <= low <= last)
        moves.append((low, following - 1, targets))
    return moves
