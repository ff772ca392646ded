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
from array import array
from itertools import chain, count

import numpy as np

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
    return minimised(_determinised(pattern, name=name, flags=flags, budget=budget))


def _determinised(pattern: str, *, name: str, flags: int, budget: Budget) -> Fsm:
    """Return the machine before it is minimised; all that it was made from is let go."""
    nfa = parse_pattern(pattern, name=name, flags=flags, budget=budget)
    return _Determiniser(nfa, name=name, budget=budget).run()


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
    used, classes = np.unique(np.frombuffer(text, dtype=np.uint8), return_inverse=True)
    byte_classes = np.zeros(N_BYTES, dtype=np.int32)
    byte_classes[used] = np.arange(1, len(used) + 1)
    transitions = np.full((n_states, len(used) + 1), DEAD, dtype=np.int32)
    before = np.arange(1, n_states - 1)
    transitions[before, classes + 1] = before + 1
    return Fsm(
        transitions,
        byte_classes,
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
        self._after: dict[tuple[int, ...], int] = {}  # without look-behinds, by the targets
        edges = chain.from_iterable(chain(*(each.edges for each in (nfa, *nfa.behinds))))
        cuts = {cut for low, high, _ in edges for cut in (low, high + 1)}
        self._firsts = sorted({0, *cuts} - {N_BYTES})  # of each run of bytes that act alike
        # Where each run of classes that lead to one state begins in the table, and that state.
        self._runs, self._targets = array("q"), array("i")
        self._class_from = dict(zip([*self._firsts, N_BYTES], count(), strict=False))

    def run(self) -> Fsm:
        """Return the machine, before it is minimised."""
        self._new(((), (), NO_ANSWERS, None))  # DEAD
        found = self._behind.contexts(self._budget, f"terminal {self._name}")
        starts = [self._number((self._nfa.start,), context) for context in found]
        for state in self._states:  # grows while it is walked
            self._make_row(state)
        n_classes = len(self._firsts)
        lengths = np.diff(self._runs, append=n_classes * len(self._states))
        rows = np.repeat(np.array(self._targets, dtype=np.int32), lengths)
        byte_classes = np.repeat(np.arange(n_classes), np.diff([*self._firsts, N_BYTES]))
        is_final = [question is None and MATCH in on for on, _, _, question in self._states]
        return Fsm(
            rows.reshape(-1, n_classes),
            byte_classes.astype(np.int32),
            np.array(is_final, dtype=np.bool_),
            np.array(self._assertions, dtype=np.int32),
            np.array(starts, dtype=np.int32),
            np.array(list(found.values()), dtype=np.int32),
        )

    def _make_row(self, state: State) -> None:
        """Note the runs of byte classes that lead from a state to one and the same."""
        here = self._numbers[state] * len(self._firsts)
        end = 0  # of the last run
        threads, behind, answers, question = state
        if question is not None:
            self._budget.check("max_nesting", len(answers), f"terminal {self._name}")
            self._begin_run(here, DEAD)
            self._assertions[self._numbers[state]] = [
                self._number((question,), behind),
                self._number(threads, behind, answers | {(question, True)}),
                self._number(threads, behind, answers | {(question, False)}),
            ]
            return
        edges = [edge for thread in threads for edge in self._nfa.edges[thread]]
        others = self._behind.edges(behind) if edges else []
        runs: list[tuple[int, int, tuple[int, ...]]]
        if len(threads) == 1 and not others:
            runs = [(low, high, (target,)) for low, high, target in edges]
        else:
            runs = moves(edges, others)
        for low, high, targets in runs:
            if not targets:
                continue
            first = self._class_from[low]
            if first > end:
                self._begin_run(here + end, DEAD)
            number = None if behind else self._after.get(targets)
            if number is None:
                number = self._number(targets, self._behind.later(behind, low))
                if not behind:
                    self._after[targets] = number
            self._begin_run(here + first, number)
            end = self._class_from[high + 1]
        if end < len(self._firsts):
            self._begin_run(here + end, DEAD)

    def _begin_run(self, place: int, target: int) -> None:
        self._runs.append(place)
        self._targets.append(target)

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
    if not nfa.guards:
        return frozenset()
    rows = [
        [target for *_, target in edges] + splits
        for edges, splits in zip(nfa.edges, nfa.splits, strict=True)
    ]
    for state, (body, _) in nfa.assertions.items():
        rows[state].append(body)
    edges = ((state, target) for state, row in enumerate(rows) for target in row)
    before = predecessors(edges, len(rows))
    return frozenset(reached_from(nfa.guards, before.__getitem__))
