r"""Finite-state machines of single terminals: the leftmost-first determinisation of an NFA.

In: an ordered NFA over bytes. Out: an :class:`Fsm`, the smallest one with the same match rule.

A set of NFA states would lose the order, so an FSM state is an ordered *list* of threads, cut
after the first that matches: whatever stands behind a match can never win. So ``a|ab`` is final
after ``a`` and dead after ``ab``, as Python's ``re`` has it, and ``a.*?b`` dies after the first
``b``. Feeding bytes until the machine is dead, the *last* final state passed marks the match that
``re`` prefers.

Source: Russ Cox, "Regular Expression Matching in the Wild" (2010), leftmost-first matching; Moore
1956 for the minimisation.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from cfgguide.errors import LimitError
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
        return minimised(_trimmed(_determinised(nfa, name=name, max_states=max_states)))


def _determinised(nfa: Nfa, *, name: str, max_states: int) -> Fsm:
    closures: dict[int, tuple[int, ...]] = {}
    numbers: dict[tuple[int, ...], int] = {(): DEAD}
    threads: list[tuple[int, ...]] = [()]

    def number(targets: tuple[int, ...]) -> int:
        key = _threads(nfa, targets, closures)
        if key not in numbers:
            if len(threads) >= max_states:
                raise LimitError(
                    f"terminal {name} needs more than {max_states} FSM states (max_fsm_states); "
                    "simplify its pattern, or raise the limit"
                )
            numbers[key] = len(threads)
            threads.append(key)
        return numbers[key]

    number((nfa.start,))
    rows = [np.zeros(N_BYTES, dtype=np.int32)]
    while len(rows) < len(threads):
        row = np.zeros(N_BYTES, dtype=np.int32)
        for low, high, targets in _moves(nfa, threads[len(rows)]):
            row[low : high + 1] = number(targets)
        rows.append(row)
    is_final = np.array([MATCH in states for states in threads], dtype=np.bool_)
    return Fsm(np.stack(rows), is_final)


def _threads(
    nfa: Nfa, targets: tuple[int, ...], closures: dict[int, tuple[int, ...]]
) -> tuple[int, ...]:
    """Return the ordered threads behind `targets`, cut after the first that matches."""
    ordered: dict[int, None] = {}
    for target in targets:
        if target not in closures:
            closures[target] = _closure(nfa, target)
        for thread in closures[target]:
            ordered[thread] = None
            if thread == MATCH:
                return tuple(ordered)
    return tuple(ordered)


def _closure(nfa: Nfa, state: int) -> tuple[int, ...]:
    """Return the byte states (and `MATCH`) reached by empty moves, most preferred first.

    A walk that comes back to a loop's split has made an empty round and must leave the loop. What
    a state leads to thus depends on the loops passed since the last byte: they are part of what
    counts as visited.
    """
    found: dict[int, None] = {}
    visited: set[tuple[int, frozenset[int]]] = set()
    pending = [(state, frozenset[int]())]
    while pending:
        current, loops = pending.pop()
        if current in loops:
            pending.append((nfa.exits[current], loops))
        elif (current, loops) not in visited:
            visited.add((current, loops))
            if current in nfa.exits:
                loops |= {current}
            if nfa.splits[current]:
                pending.extend((target, loops) for target in reversed(nfa.splits[current]))
            else:
                found[current] = None
    return tuple(found)


def _moves(nfa: Nfa, threads: tuple[int, ...]) -> list[tuple[int, int, tuple[int, ...]]]:
    """Return (first byte, last byte, ordered targets) for the bytes that keep a thread alive."""
    edges = [edge for thread in threads for edge in nfa.edges[thread]]
    cuts = sorted({low for low, _, _ in edges} | {high + 1 for _, high, _ in edges})
    moves = []
    for low, following in pairwise(cuts):
        targets = tuple(target for first, last, target in edges if first <= low <= last)
        if targets:
            moves.append((low, following - 1, targets))
    return moves


def _trimmed(fsm: Fsm) -> Fsm:
    """Return the machine with all states that can no longer match merged into `DEAD`."""
    is_live = fsm.is_final.copy()
    while True:
        grown = is_live | is_live[fsm.transitions].any(axis=1)
        if (grown == is_live).all():
            break
        is_live = grown
    transitions = np.where(is_live[fsm.transitions], fsm.transitions, DEAD)
    transitions[~is_live] = DEAD
    return Fsm(transitions.astype(np.int32), fsm.is_final)


def minimised(fsm: Fsm) -> Fsm:
    """Return the smallest machine with the same final states on every text."""
    columns = np.unique(fsm.transitions, axis=1)  # one column per byte class
    labels = fsm.is_final.astype(np.int64)
    labels[DEAD] = -1  # apart, so that `DEAD` stays a state of its own
    block = refined(columns, labels)
    order = _first_seen(block, fsm.transitions)
    renumber = np.zeros(int(block.max()) + 1, dtype=np.int32)
    representatives = np.zeros(len(order), dtype=np.int64)
    for new, state in enumerate(order):
        renumber[block[state]] = new
        representatives[new] = state
    transitions = renumber[block[fsm.transitions[representatives]]]
    return Fsm(transitions.astype(np.int32), fsm.is_final[representatives])


def refined(columns: npt.NDArray[np.int32], labels: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the coarsest partition that refines `labels` and is stable under `columns`.

    Parameters
    ----------
    columns : int32, shape (n_states, n_byte_classes)
        Next state per byte class.
    labels : int64, shape (n_states,)
        States with different labels are kept apart.

    Returns
    -------
    int64, shape (n_states,)
        The block of each state, numbered from 0.
    """
    block = np.unique(labels, return_inverse=True)[1].reshape(-1)
    n_blocks = int(block.max()) + 1
    while True:
        signature = np.concatenate([block[:, None], block[columns]], axis=1)
        block = np.unique(signature, axis=0, return_inverse=True)[1].reshape(-1)
        if int(block.max()) + 1 == n_blocks:
            return block
        n_blocks = int(block.max()) + 1


def _first_seen(block: npt.NDArray[np.int64], transitions: npt.NDArray[np.int32]) -> list[int]:
    """Return one state per reachable block, in breadth-first order, `DEAD` then `START` first."""
    order = [DEAD, START]
    seen = {int(block[DEAD]), int(block[START])}
    for state in order:  # grows while it is walked
        for target in dict.fromkeys(transitions[state].tolist()):
            if int(block[target]) not in seen:
                seen.add(int(block[target]))
                order.append(target)
    return order
