"""Example texts of terminals, found in their FSMs.

In: the FSMs of one or two terminals. Out: a shortest text that they match, chosen so that people
can read it: of equally short ones, letters go before digits, those before signs. Every search is
bounded by a number of states, so that a message never waits for its example.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from cfgguide.fsm import DEAD, N_BYTES, START, Fsm

DEFAULT_MAX_PAIRS = 20_000  # of states, in the search for a text of two FSMs

_LETTERS = range(ord("a"), ord("z") + 1)
_CAPITALS = range(ord("A"), ord("Z") + 1)
_DIGITS = range(ord("0"), ord("9") + 1)
_SIGNS = [byte for byte in range(0x21, 0x7F) if not chr(byte).isalnum()]
_READABLE = [*_LETTERS, *_CAPITALS, *_DIGITS, *_SIGNS, ord(" "), ord("\n"), ord("\t")]
PREFERRED = [*_READABLE, *(byte for byte in range(N_BYTES) if byte not in _READABLE)]


def shortest_text(fsm: Fsm) -> str | None:
    """Return a shortest text of one or more characters that an FSM matches as a whole.

    >>> shortest_text(Fsm.of_pattern("[0-9a-f]{2}|x{3}", name="HEX"))
    'aa'
    """
    return shared_text(fsm, fsm)


def shared_text(first: Fsm, second: Fsm, *, max_pairs: int = DEFAULT_MAX_PAIRS) -> str | None:
    """Return a shortest text that both FSMs match as a whole, or None if none was found.

    >>> shared_text(Fsm.of_pattern("[a-z]+", name="A"), Fsm.of_pattern("..y", name="B"))
    'aay'
    """
    steps = _joint_steps(first, second)
    paths: dict[tuple[int, int], bytes] = {(START, START): b""}
    pending = deque(paths)
    while pending and len(paths) <= max_pairs:
        here = pending.popleft()
        for byte, moved in steps:
            following = int(moved[0][here[0]]), int(moved[1][here[1]])
            if DEAD in following or following in paths:
                continue
            paths[following] = paths[here] + bytes([byte])
            if first.is_final[following[0]] and second.is_final[following[1]]:
                return paths[following].decode("utf-8", errors="replace")
            pending.append(following)
    return None


def is_part_of(part: Fsm, whole: Fsm) -> bool:
    """Return whether every text that one FSM matches as a whole is matched so by the other.

    >>> is_part_of(Fsm.of_pattern("a+", name="A"), Fsm.of_pattern("[ab]+", name="B"))
    True
    """
    steps = _joint_steps(part, whole)
    seen = {(START, START)}
    pending = list(seen)
    while pending:
        here = pending.pop()
        for _, moved in steps:
            following = int(moved[0][here[0]]), int(moved[1][here[1]])
            if following[0] == DEAD or following in seen:
                continue
            if part.is_final[following[0]] and not whole.is_final[following[1]]:
                return False
            seen.add(following)
            pending.append(following)
    return True


def is_unbounded(fsm: Fsm) -> bool:
    """Return whether an FSM matches texts of any length.

    >>> is_unbounded(Fsm.of_pattern("a{3,9}", name="A"))
    False
    >>> is_unbounded(Fsm.of_pattern("a{3,}", name="A"))
    True
    """
    following = [set(row) - {DEAD} for row in fsm.transitions.tolist()]
    n_before = [0] * fsm.n_states
    for targets in following:
        for target in targets:
            n_before[target] += 1
    # Every state but the dead one can still match, so any loop can be written for ever. States
    # are taken away once all before them are; what cannot be taken away lies on a loop or after.
    free = [state for state, count in enumerate(n_before) if not count]
    n_taken = 0
    while free:
        n_taken += 1
        for target in following[free.pop()]:
            n_before[target] -= 1
            if not n_before[target]:
                free.append(target)
    return n_taken < fsm.n_states


def _joint_steps(first: Fsm, second: Fsm) -> list[tuple[int, tuple[list[int], list[int]]]]:
    """Return one byte of each joint byte class, most readable first, and where it leads."""
    both = np.concatenate([first.transitions, second.transitions])[:, PREFERRED]
    kept = np.sort(np.unique(both, axis=1, return_index=True)[1])
    n_first = first.n_states
    return [
        (PREFERRED[index], (both[:n_first, index].tolist(), both[n_first:, index].tolist()))
        for index in kept.tolist()
    ]
