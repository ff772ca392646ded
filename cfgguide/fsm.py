r"""Finite-state machines of single terminals: the leftmost-first determinisation of an NFA.

In: an ordered NFA over bytes. Out: an :class:`Fsm`, the smallest one with the same match rule.

A set of NFA states would lose the order, so an FSM state is an ordered *list* of threads, cut
after the first that matches: whatever stands behind a match can never win. So ``a|ab`` is final
after ``a`` and dead after ``ab``, as Python's ``re`` has it, and ``a.*?b`` dies after the first
``b``. Feeding bytes until the machine is dead, the *last* final state passed marks the match that
``re`` prefers.

A look-behind must be settled where a thread passes it. So what every look-behind has seen of the
text is part of the state: its own NFA, started at every position. A pattern whose look-behind can
see the text before the lexeme is refused; ``".*?(?<!\\)"`` cannot, because of its first quote.

Source: Russ Cox, "Regular Expression Matching in the Wild" (2010), leftmost-first matching.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from cfgguide.errors import LimitError, PatternError
from cfgguide.partition import predecessors, refined
from cfgguide.pattern import MATCH, Nfa, parse_pattern

DEAD = 0
START = 1
N_BYTES = 256
DEFAULT_MAX_FSM_STATES = 20_000


@dataclass(frozen=True)
class Fsm:
    """A deterministic machine over bytes, every state of which but `DEAD` can still match.

    Attributes
    ----------
    transitions : int32, shape (n_states, 256)
        Next state; 0 = dead. State 1 is the start.
    is_final : bool, shape (n_states,)
        Whether the bytes read so far are the match preferred so far.
    """

    transitions: npt.NDArray[np.int32]
    is_final: npt.NDArray[np.bool_]

    @property
    def n_states(self) -> int:
        """Number of states, the dead one included."""
        return len(self.is_final)

    def match(self, text: bytes) -> int | None:
        """Return the length of the preferred match at the start of `text`, or None.

        >>> Fsm.of_pattern("a|ab", name="A").match(b"abc")
        1
        """
        state, length = START, None
        for position, byte in enumerate(text):
            state = int(self.transitions[state, byte])
            if state == DEAD:
                break
            if self.is_final[state]:
                length = position + 1
        return length

    @classmethod
    def of_pattern(
        cls, pattern: str, *, name: str, flags: int = 0, max_states: int = DEFAULT_MAX_FSM_STATES
    ) -> Fsm:
        """Return the machine of a pattern of Python's ``re``.

        Raises
        ------
        PatternError, LimitError
            As :func:`cfgguide.pattern.parse_pattern`; `max_states` bounds this machine too.
        """
        nfa = parse_pattern(pattern, name=name, flags=flags)
        fsm, starts = _Determiniser(nfa, name=name, max_states=max_states).run()
        fsm = _trimmed(fsm)
        if len(set(_blocks(fsm)[starts].tolist())) > 1:
            raise PatternError(
                f"terminal {name} looks behind its own start, which is not supported, in "
                f"/{pattern}/; rewrite the terminal so that its look-behind stays inside"
            )
        return minimised(fsm, starts[0])


# Of the text just before: per look-behind, the states of its NFA, started at every position.
Behind = tuple[frozenset[int], ...]
# A state before it is numbered: ordered threads, and what the look-behinds have seen.
State = tuple[tuple[int, ...], Behind]


class _Determiniser:
    """Numbers the lists of threads reached from the start, and what the look-behinds have seen."""

    def __init__(self, nfa: Nfa, *, name: str, max_states: int) -> None:
        self._nfa = nfa
        self._name = name
        self._max_states = max_states
        self._closures: dict[tuple[int, Behind], tuple[int, ...]] = {}
        self._numbers: dict[State, int] = {}
        self._states: list[State] = []

    def run(self) -> tuple[Fsm, list[int]]:
        """Return the machine, and its start state after each text that look-behinds tell apart."""
        self._number((), self._before_any())  # DEAD
        contexts = self._contexts()
        starts = [self._number((self._nfa.start,), context) for context in contexts]
        rows: list[npt.NDArray[np.int32]] = []
        while len(rows) < len(self._states):
            rows.append(self._row(*self._states[len(rows)]))
        is_final = np.array([MATCH in threads for threads, _ in self._states], dtype=np.bool_)
        return Fsm(np.stack(rows), is_final), starts

    def _row(self, threads: tuple[int, ...], behind: Behind) -> npt.NDArray[np.int32]:
        row = np.full(N_BYTES, DEAD, dtype=np.int32)
        edges = [edge for thread in threads for edge in self._nfa.edges[thread]]
        for low, high, targets in _moves(edges, self._behind_edges(behind) if edges else []):
            if targets:
                row[low : high + 1] = self._number(targets, self._later(behind, low))
        return row

    def _number(self, targets: tuple[int, ...], behind: Behind) -> int:
        threads = self._threads(targets, behind)
        key = (threads, behind if any(thread != MATCH for thread in threads) else ())
        if key not in self._numbers:
            if len(self._states) >= self._max_states:
                raise LimitError(
                    f"terminal {self._name} needs more than {self._max_states} FSM states "
                    "(max_fsm_states); simplify its pattern, or raise the limit"
                )
            self._numbers[key] = len(self._states)
            self._states.append(key)
        return self._numbers[key]

    def _threads(self, targets: tuple[int, ...], behind: Behind) -> tuple[int, ...]:
        """Return the ordered threads behind `targets`, cut after the first that matches."""
        ordered: dict[int, None] = {}
        for target in targets:
            if (target, behind) not in self._closures:
                self._closures[target, behind] = _closure(self._nfa, target, behind)
            for thread in self._closures[target, behind]:
                ordered[thread] = None
                if thread == MATCH:
                    return tuple(ordered)
        return tuple(ordered)

    # -- look-behinds: each is matched at every position, as if after any text ----------------

    def _before_any(self) -> Behind:
        return tuple(frozenset(_closure(nfa, nfa.start, ())) for nfa in self._nfa.behinds)

    def _later(self, behind: Behind, byte: int) -> Behind:
        """Return what the look-behinds have seen after one more byte."""
        later = []
        for nfa, states, start in zip(self._nfa.behinds, behind, self._before_any(), strict=True):
            reached = {
                target
                for state in states
                for low, high, target in nfa.edges[state]
                if low <= byte <= high
            }
            later.append(start.union(*(_closure(nfa, target, ()) for target in reached)))
        return tuple(later)

    def _behind_edges(self, behind: Behind) -> list[tuple[int, int, int]]:
        return [
            edge
            for nfa, states in zip(self._nfa.behinds, behind, strict=True)
            for state in states
            for edge in nfa.edges[state]
        ]

    def _contexts(self) -> list[Behind]:
        """Return all that the look-behinds may have seen where a lexeme starts."""
        found = {self._before_any(): None}
        for behind in (pending := list(found)):  # grows while it is walked
            for low, _, _ in _moves([], [*self._behind_edges(behind), (0, N_BYTES - 1, 0)]):
                later = self._later(behind, low)
                if later not in found:
                    found[later] = None
                    pending.append(later)
        return pending


def _closure(nfa: Nfa, state: int, behind: Behind) -> tuple[int, ...]:
    """Return the byte states (and `MATCH`) reached by empty moves, most preferred first.

    `open_rounds` are the repetitions whose present round has matched nothing so far. At the end of
    such a round the walk must leave, so they are part of what counts as visited.
    """
    found: dict[int, None] = {}
    visited: set[tuple[int, frozenset[int]]] = set()
    pending = [(state, frozenset[int]())]
    while pending:
        current, open_rounds = pending.pop()
        if (current, open_rounds) in visited or not _is_open(nfa, current, behind):
            continue
        visited.add((current, open_rounds))
        if not nfa.splits[current]:
            found[current] = None
            continue
        targets = nfa.splits[current]
        if current in nfa.enters:
            open_rounds |= {nfa.enters[current]}
        elif current in nfa.leaves:
            open_rounds -= {nfa.leaves[current]}
        elif nfa.rounds.get(current) in open_rounds:
            targets = [target for target in targets if target in nfa.leaves]
        pending.extend((target, open_rounds) for target in reversed(targets))
    return tuple(found)


def _is_open(nfa: Nfa, state: int, behind: Behind) -> bool:
    """Return whether a state has no guard, or its look-behind holds."""
    if state not in nfa.guards:
        return True
    number, is_negated = nfa.guards[state]
    return (MATCH in behind[number]) != is_negated


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


def _trimmed(fsm: Fsm) -> Fsm:
    """Return the machine with all states that can no longer match merged into `DEAD`."""
    columns = np.unique(fsm.transitions, axis=1)  # one column per byte class
    before = predecessors(columns.tolist())
    is_live = fsm.is_final.copy()
    pending: list[int] = np.flatnonzero(is_live).tolist()
    for state in pending:  # grows while it is walked
        for earlier in before[state]:
            if not is_live[earlier]:
                is_live[earlier] = True
                pending.append(earlier)
    transitions = np.where(is_live[fsm.transitions], fsm.transitions, DEAD)
    transitions[~is_live] = DEAD
    return Fsm(transitions.astype(np.int32), fsm.is_final)


def _blocks(fsm: Fsm) -> npt.NDArray[np.int64]:
    """Return the block of each state: states of one block are final on the same continuations."""
    columns = np.unique(fsm.transitions, axis=1)  # one column per byte class
    labels = fsm.is_final.astype(np.int64)
    labels[DEAD] = -1  # apart, so that `DEAD` stays a state of its own
    return refined(columns, labels)


def minimised(fsm: Fsm, start: int) -> Fsm:
    """Return the smallest machine with the same final states on every text."""
    block = _blocks(fsm)
    order = _first_seen(block, fsm.transitions, start)
    renumber = np.zeros(int(block.max()) + 1, dtype=np.int32)
    representatives = np.zeros(len(order), dtype=np.int64)
    for new, state in enumerate(order):
        renumber[block[state]] = new
        representatives[new] = state
    transitions = renumber[block[fsm.transitions[representatives]]]
    return Fsm(transitions.astype(np.int32), fsm.is_final[representatives])


def _first_seen(
    block: npt.NDArray[np.int64], transitions: npt.NDArray[np.int32], start: int
) -> list[int]:
    """Return one state per reachable block, in breadth-first order, `DEAD` and the start first."""
    order = [DEAD, start]
    seen = {int(block[DEAD]), int(block[start])}
    for state in order:  # grows while it is walked
        for target in dict.fromkeys(transitions[state].tolist()):
            if int(block[target]) not in seen:
                seen.add(int(block[target]))
                order.append(target)
    return order
