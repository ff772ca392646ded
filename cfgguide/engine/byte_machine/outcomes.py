"""What the tokens lead to in a pushdown automaton, and which of them to allow.

In: a walk that has visited all tokens. Out: :class:`ByteOutcomes`, the different configurations
that tokens lead to, as :class:`cfgguide.engine.masks.walk.Walk` has them. All are live until they
are resolved.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cfgguide.engine.byte_machine.byte_views import N_SEGMENTS, Work
from cfgguide.engine.byte_machine.seen_parts import ByteConfiguration
from cfgguide.engine.masks.arrays import DEAD_END, LIVE, NONE
from cfgguide.engine.vocabulary.trie import PackedTrie
from cfgguide.grammar.lr.stack import Stack

Int32Array = npt.NDArray[np.int32]
_FIRST, _END, _STATE, _CELL = range(4)  # columns of `Work.segments`


class _Outcomes:
    """Outcomes that are live until they are resolved.

    Parameters
    ----------
    trie : PackedTrie
        What was walked over.
    token_ids : int array
        Tokens that may come.
    outcome : int array
        The outcome of each.
    n_outcomes : int
        Number of distinct configurations that tokens lead to.
    """

    def __init__(
        self,
        trie: PackedTrie,
        token_ids: npt.NDArray[np.integer],
        outcome: npt.NDArray[np.integer],
        n_outcomes: int,
    ) -> None:
        self.trie = trie
        self._token_ids = token_ids
        self._outcome = outcome
        self.n_outcomes = self.effort = n_outcomes
        self._is_live = np.ones(n_outcomes, dtype=np.bool_)

    def first_tokens(self) -> list[int]:
        """Return for each outcome one of the tokens that lead to it; `NONE` where there is none."""
        first = np.full(self.n_outcomes, NONE, dtype=np.int64)
        first[self._outcome[::-1]] = self._token_ids[::-1]  # later ones count: these are the first
        return first.tolist()

    def resolve(self, outcome: int, *, is_live: bool) -> None:
        """Set whether an outcome is allowed."""
        self._is_live[outcome] = is_live

    def verdict(self, outcome: int) -> int:
        """Return whether an outcome is allowed: `LIVE` or `DEAD_END`."""
        return LIVE if self._is_live[outcome] else DEAD_END


class ByteOutcomes(_Outcomes):
    """What tokens lead to; it holds until the next walk of the same walker.

    Parameters
    ----------
    trie : PackedTrie
        What was walked over.
    work : Work
        The memory of the walk.
    stack : Stack
        On which it began.
    """

    def __init__(self, trie: PackedTrie, work: Work, stack: Stack) -> None:
        self._work = work
        self._segments = work.segments[: work.counts[N_SEGMENTS]].copy()
        states, state = _numbered(self._segments[:, _STATE])
        cells, cell = _numbered(self._segments[:, _CELL])
        pairs, outcome = _numbered(state * np.int64(len(cells)) + cell)
        self._states = states[pairs // max(len(cells), 1)]
        self._cells = cells[pairs % max(len(cells), 1)]
        first_tokens = trie.token_ids[self._segments[:, _FIRST]]
        super().__init__(trie, first_tokens, outcome, len(pairs))
        self._stacks: dict[int, Stack] = {}
        below: Stack | None = stack
        for number in range(stack.height):
            assert below is not None, "the whole stack was given"
            self._stacks[number] = below
            below = below.below

    def configuration(self, outcome: int) -> ByteConfiguration:
        """Return what the tokens of an outcome lead to."""
        stack = self._stack(int(self._cells[outcome]))
        return ByteConfiguration(int(self._states[outcome]), stack)

    def _stack(self, cell: int) -> Stack:
        pushed = []
        while cell not in self._stacks:
            pushed.append(cell)
            cell = int(self._work.cell_parent[cell])
        stack = self._stacks[cell]
        for cell in reversed(pushed):
            stack = self._stacks[cell] = stack.push(int(self._work.cell_frame[cell]))
        return stack

    def places(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return where the tokens that may come are in the trie, and the outcome of each."""
        first, end = self._segments[:, _FIRST].astype(np.int64), self._segments[:, _END]
        lengths = end - first
        starts = np.repeat(first - (np.cumsum(lengths) - lengths), lengths)
        return starts + np.arange(lengths.sum()), np.repeat(self._outcome, lengths)

    def live_segments(self) -> Int32Array:
        """Return the ranges of tokens that are allowed, as a walk has them."""
        live: Int32Array = self._segments[self._is_live[self._outcome]]
        return live


class SplitOutcomes(_Outcomes):
    """ByteOutcomes with what texts remember; some are of one token each.

    Parameters
    ----------
    trie : PackedTrie
        What was walked over.
    places : int array
        Where the tokens that may come are in the trie.
    outcome : int array
        The outcome of each.
    configurations : list
        What each outcome leads to.
    """

    def __init__(
        self,
        trie: PackedTrie,
        places: npt.NDArray[np.integer],
        outcome: npt.NDArray[np.integer],
        configurations: list[Any],
    ) -> None:
        super().__init__(trie, trie.token_ids[places], outcome, len(configurations))
        self._configurations = configurations

    def configuration(self, outcome: int) -> Any:
        """Return what the tokens of an outcome lead to."""
        return self._configurations[outcome]

    def fill(self, bitmask: Int32Array) -> None:
        """Add the tokens of the outcomes that are allowed to a bitmask."""
        token_ids = self._token_ids[self._is_live[self._outcome]].astype(np.int64)
        bits = (np.int64(1) << (token_ids & 31)).astype(np.uint32)
        np.bitwise_or.at(bitmask.view(np.uint32), token_ids >> 5, bits)


def _numbered(values: npt.NDArray[np.integer]) -> tuple[Int32Array, npt.NDArray[np.int64]]:
    """Return the different values, ascending, and the index of each: numpy's `unique` sorts."""
    is_there = np.zeros(int(values.max(initial=-1)) + 1, dtype=np.bool_)
    is_there[values] = True
    numbers = np.cumsum(is_there) - 1
    return np.flatnonzero(is_there).astype(np.int32), numbers[values]
