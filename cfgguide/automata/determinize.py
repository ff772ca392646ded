r"""Leftmost-first determinisation: from an ordered NFA to a finite-state machine.

In: an ordered NFA over bytes. Out: an :class:`~cfgguide.automata.dfa.Fsm`, the smallest one with
the same match rule.

A set of NFA states would lose the order, so an FSM state is an ordered *list* of threads, cut
after the first that matches: threads after a match can never win. So ``a|ab`` is final after ``a``
and dead after ``ab``, as in Python's ``re``, and ``a.*?b`` dies after the first ``b``.

A look-behind is resolved when a thread passes it. So the state has what every look-behind has seen
of the text: the states of its own NFA, started at every position. A look-ahead cannot be resolved
there: the list of threads depends on the text to come, so the state is an assertion state.

Source: Russ Cox, "Regular Expression Matching in the Wild" (2010), leftmost-first matching.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from cfgguide.automata.dfa import DEAD, N_BYTES, Fsm
from cfgguide.automata.look_behind import Behind, LookBehind, moves, truths
from cfgguide.automata.minimize import minimised
from cfgguide.automata.nfa import MATCH, Closure, Nfa, closure, parse_pattern
from cfgguide.automata.partition import predecessors
from cfgguide.base.limits import Budget
from cfgguide.base.sets import reached_from

# What stands for itself, or as `re.escape` writes it; flags that change that.
_PLAIN = re.compile(r"(?:[a-zA-Z0-9_ !\"%&',/:;<=>@`~-]|\\[^a-zA-Z0-9\x80-\U0010ffff])+")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_CHANGING = re.IGNORECASE | re.VERBOSE


def fsm_of_pattern(pattern: str, *, name: str, flags: int = 0, budget: Budget | None = None) -> Fsm:
    """Return the machine of a pattern of Python's ``re``.

    Raises
    ------
    PatternError, LimitError
        As :func:`cfgguide.automata.nfa.parse_pattern`; `budget` bounds this machine too.
    """
    budget = budget or Budget()
    if _PLAIN.fullmatch(pattern) and not flags & _CHANGING:
        return fsm_of_bytes(_ESCAPE.sub(r"\1", pattern).encode(), name=name, budget=budget)
    nfa = parse_pattern(pattern, name=name, flags=flags, budget=budget)
    return minimised(_Determiniser(nfa, name=name, budget=budget).run())


def fsm_of_bytes(text: bytes, *, name: str, budget: Budget | None = None) -> Fsm:
    """Return the machine of one text: a state for each byte, numbered in their order.

    Raises
    ------
    LimitError
        If the text is too long.
    """
    budget = budget or Budget()
    n_states = len(text) + 2
    budget.check("max_fsm_states", n_states - 1, f"terminal {name}")
    transitions = np.full((n_states, N_BYTES), DEAD, dtype=np.int32)
    before = np.arange(1, n_states - 1)
    transitions[before, np.frombuffer(text, dtype=np.uint8)] = before + 1
    return Fsm(
        transitions,
        np.arange(n_states) == n_states - 1,
        np.zeros((n_states, 3), dtype=np.int32),
        np.array([1], dtype=np.int32),
        np.zeros((1, N_BYTES), dtype=np.int32),
    )


# Outcomes of look-aheads at this position, by the start states of their bodies.
Answers = frozenset[tuple[int, bool]]
# A state before it is numbered: the ordered threads and what the look-behinds have seen; or, for an
# assertion state, the targets whose threads are not known yet, the same, the outcomes so far, and
# the open look-ahead.
State = tuple[tuple[int, ...], Behind, Answers, int | None]
NO_ANSWERS: Answers = frozenset()


class _Determiniser:
    """Numbers the lists of threads reached from the start, and what the look-behinds have seen."""

    def __init__(self, nfa: Nfa, *, name: str, budget: Budget) -> None:
        self._nfa = nfa
        self._name = name
        self._budget = budget
        self._closures: dict[tuple[int, tuple[bool, ...], Answers], Closure] = {}
        self._looks_behind = _looking_behind(nfa)
        self._behind = LookBehind.of(nfa.behinds)
        self._numbers: dict[State, int] = {}
        self._states: list[State] = []
        self._assertions: list[list[int]] = []

    def run(self) -> Fsm:
        """Return the machine, before it is minimised."""
        self._new(((), (), NO_ANSWERS, None))  # DEAD
        found = self._behind.contexts(self._budget, f"terminal {self._name}")
        starts = [self._number((self._nfa.start,), context) for context in found]
        rows: list[npt.NDArray[np.int32]] = []
        while len(rows) < len(self._states):
            rows.append(self._row(self._states[len(rows)]))
        is_final = [question is None and MATCH in on for on, _, _, question in self._states]
        return Fsm(
            np.stack(rows),
            np.array(is_final, dtype=np.bool_),
            np.array(self._assertions, dtype=np.int32),
            np.array(starts, dtype=np.int32),
            np.array(list(found.values()), dtype=np.int32),
        )

    def _row(self, state: State) -> npt.NDArray[np.int32]:
        row = np.full(N_BYTES, DEAD, dtype=np.int32)
        threads, behind, answers, question = state
        if question is not None:
            self._budget.check("max_nesting", len(answers), f"terminal {self._name}")
            self._assertions[self._numbers[state]] = [
                self._number((question,), behind),
                self._number(threads, behind, answers | {(question, True)}),
                self._number(threads, behind, answers | {(question, False)}),
            ]
            return row
        edges = [edge for thread in threads for edge in self._nfa.edges[thread]]
        for low, high, targets in moves(edges, self._behind.edges(behind) if edges else []):
            if targets:
                row[low : high + 1] = self._number(targets, self._behind.later(behind, low))
        return row

    def _number(
        self, targets: tuple[int, ...], behind: Behind, answers: Answers = NO_ANSWERS
    ) -> int:
        """Return the state of the threads from `targets`, or an assertion state."""
        threads, question = self._threads(targets, truths(behind), answers)
        if question is not None:
            return self._new((targets, behind, answers, question))
        matters = not self._looks_behind.isdisjoint(threads)
        return self._new((threads, behind if matters else (), NO_ANSWERS, None))

    def _new(self, state: State) -> int:
        if state not in self._numbers:
            self._budget.check("max_fsm_states", len(self._states), f"terminal {self._name}")
            self._numbers[state] = len(self._states)
            self._states.append(state)
            self._assertions.append([0, 0, 0])
        return self._numbers[state]

    def _threads(
        self, targets: tuple[int, ...], seen: tuple[bool, ...], answers: Answers
    ) -> Closure:
        """Return the ordered threads from `targets`, cut after the first that matches.

        If they depend on a look-ahead without an answer, return that instead.
        """
        ordered: dict[int, None] = {}
        for target in targets:
            key = (target, seen, answers)
            if key not in self._closures:
                self._closures[key] = closure(self._nfa, target, seen, dict(answers))
            threads, question = self._closures[key]
            for thread in threads:
                ordered[thread] = None
                if thread == MATCH:
                    return tuple(ordered), None
            if question is not None:
                return (), question
        return tuple(ordered), None


def _looking_behind(nfa: Nfa) -> frozenset[int]:
    """Return the states that can reach a split with a look-behind."""
    rows = [
        [target for *_, target in edges] + splits
        for edges, splits in zip(nfa.edges, nfa.splits, strict=True)
    ]
    for state, (body, _) in nfa.assertions.items():
        rows[state].append(body)
    edges = ((state, target) for state, row in enumerate(rows) for target in row)
    before = predecessors(edges, len(rows))
    return frozenset(reached_from(nfa.guards, before.__getitem__))
