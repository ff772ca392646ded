"""Which states lead to which, by the moves of an automaton.

In: moves, arrays with a row of next states for each state. Out: the goals that each state can come
to, or the states that some states can come to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cfgguide.automata.dfa import DEAD
from cfgguide.automata.partition_kernels import pass_back
from cfgguide.base.limits import check_step

IntArray = npt.NDArray[np.integer[Any]]
BoolArray = npt.NDArray[np.bool_]


def reaching(
    moves: Sequence[IntArray], goals: BoolArray, *, within: BoolArray | None = None
) -> BoolArray:
    """Return which goals each state can come to, by any number of moves.

    Parameters
    ----------
    moves : sequence of int, shape (n_states, any)
        Next states; no goal is reached from `DEAD`.
    goals : bool, shape (n_states,) or (n_states, n_goals)
        Which goals each state is itself.
    within : bool, shape (n_states,), optional
        The states that the way may lead over, first and last included; by default all.

    Returns
    -------
    bool, shape of `goals`
    """
    is_inside = np.ones(len(goals), dtype=np.bool_) if within is None else within.copy()
    is_inside[DEAD] = False
    sources, targets = _edges(moves, is_inside)
    sets: npt.NDArray[np.uint8] = np.packbits(goals.reshape(len(goals), -1), axis=1)
    sets[~is_inside] = 0
    n_states, n_moves = len(goals), len(sources)
    first_before = np.empty(n_states + 1, dtype=np.int32)
    before, queue = np.empty(n_moves, dtype=np.int32), np.empty(n_states, dtype=np.int32)
    is_queued = np.empty(n_states, dtype=np.uint8)
    pass_back(sources, targets, n_states, sets, first_before, before, queue, is_queued)
    n_goals = goals.size // len(goals)
    return np.unpackbits(sets, axis=1, count=n_goals).astype(np.bool_).reshape(goals.shape)


def _edges(
    moves: Sequence[IntArray], is_inside: BoolArray
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return from where to where any move leads, inside."""
    rows = np.flatnonzero(is_inside)
    found = []
    for array in moves:
        inner = array[rows]
        is_new = inner != DEAD
        # Neighbouring bytes mostly lead to the same state.
        is_new[:, 1:] &= inner[:, 1:] != inner[:, :-1]
        places = np.nonzero(is_new)
        found.append((rows[places[0]], inner[places]))
    sources, targets = (np.concatenate(parts) for parts in zip(*found, strict=True))
    kept = is_inside[targets]
    return sources[kept].astype(np.int32), targets[kept].astype(np.int32)


def reachable(
    moves: Sequence[IntArray], sources: IntArray, *, within: BoolArray | None = None
) -> BoolArray:
    """Return which states some sources lead to by any number of moves, the sources included.

    Parameters
    ----------
    moves : sequence of int, shape (n_states, any)
        Next states.
    sources : int, shape (n_sources,)
        States.
    within : bool, shape (n_states,), optional
        The states that the way may lead over, the last one included; by default all.

    Returns
    -------
    bool, shape (n_states,)
    """
    n_states = len(moves[0])

    def step(states: IntArray) -> IntArray:
        is_target = np.zeros(n_states, dtype=np.bool_)
        for array in moves:
            is_target[array[states]] = True
        return np.flatnonzero(is_target if within is None else is_target & within)

    is_reached = np.zeros(n_states, dtype=np.bool_)
    for layer in layers(sources, step, n_codes=n_states):
        is_reached[layer] = True
    return is_reached


def layers(
    first: IntArray, step: Callable[[IntArray], IntArray], *, n_codes: int
) -> Iterator[IntArray]:
    """Yield what is reached after 0, 1, 2, ... steps and not before, until nothing is new.

    Parameters
    ----------
    first : int, shape (n,)
        Codes of what is there from the beginning.
    step : callable
        Returns the codes that one more step leads to, each once.
    n_codes : int
        All codes are below.
    """
    is_known = np.zeros(n_codes, dtype=np.bool_)
    fresh = first
    while len(fresh):
        check_step()
        is_known[fresh] = True
        yield fresh
        fresh = step(fresh)
        fresh = fresh[~is_known[fresh]]
