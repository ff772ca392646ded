"""What the tokens lead to in a pushdown automaton, and which of them to allow.

In: a walk that has visited all tokens. Out: :class:`Outcomes`, the different configurations that
tokens lead to, as :class:`cfgguide.mask.walk.Walk` has them. All are live until they are resolved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cfgguide.lexer.lookahead import NO_OBLIGATIONS
from cfgguide.mask.arrays import DEAD_END, LIVE
from cfgguide.parser.stack import Stack
from cfgguide.pushdown.views import N_SEGMENTS, Work
from cfgguide.recognizer.recognizer import Configuration, Hypothesis
from cfgguide.vocabulary.trie import PackedTrie

Int32Array = npt.NDArray[np.int32]
_FIRST, _END, _STATE, _CELL = range(4)  # columns of `Work.segments`


class Outcome(NamedTuple):
    """A configuration that some tokens lead to."""

    configuration: Configuration


class Outcomes:
    """What tokens lead to; it holds until the next walk of the same walker.

    Parameters
    ----------
    trie : PackedTrie
        What was walked over.
    work : Work
        The memory of the walk.
    stack : Stack
        On which it began.

    Attributes
    ----------
    n_outcomes : int
        Number of distinct configurations that tokens lead to.
    """

    def __init__(self, trie: PackedTrie, work: Work, stack: Stack) -> None:
        self.trie = trie
        self._work = work
        self._segments = work.segments[: work.counts[N_SEGMENTS]].copy()
        states, state = _numbered(self._segments[:, _STATE])
        cells, cell = _numbered(self._segments[:, _CELL])
        pairs, self._outcome = _numbered(state * np.int64(len(cells)) + cell)
        self._states = states[pairs // max(len(cells), 1)]
        self._cells = cells[pairs % max(len(cells), 1)]
        self.n_outcomes = len(pairs)
        self._is_live = np.ones(self.n_outcomes, dtype=np.bool_)
        self._stacks: dict[int, Stack] = {}
        below: Stack | None = stack
        for number in range(stack.height):
            assert below is not None, "the whole stack was given"
            self._stacks[number] = below
            below = below.below

    def outcome(self, outcome: int) -> Outcome:
        """Return an outcome by its index."""
        stack = self._stack(int(self._cells[outcome]))
        hypothesis = Hypothesis(int(self._states[outcome]), NO_OBLIGATIONS, stack)
        return Outcome(Configuration((hypothesis,)))

    def _stack(self, cell: int) -> Stack:
        pushed = []
        while cell not in self._stacks:
            pushed.append(cell)
            cell = int(self._work.cell_parent[cell])
        stack = self._stacks[cell]
        for cell in reversed(pushed):
            stack = self._stacks[cell] = stack.push(int(self._work.cell_frame[cell]))
        return stack

    def outcome_of_tokens(self) -> dict[int, int]:
        """Return the outcome of each token that may come."""
        return {
            token_id: outcome
            for (first, end), outcome in zip(
                self._segments[:, : _END + 1].tolist(), self._outcome.tolist(), strict=True
            )
            for token_id in self.trie.token_ids[first:end].tolist()
        }

    def places_of_tokens(self) -> dict[int, int]:
        """Return the outcome of each token that may come, by where the token is in the trie."""
        return {
            place: outcome
            for (first, end), outcome in zip(
                self._segments[:, : _END + 1].tolist(), self._outcome.tolist(), strict=True
            )
            for place in range(first, end)
        }

    def first_tokens(self) -> list[int]:
        """Return for each outcome one of the tokens that lead to it."""
        first = np.empty(self.n_outcomes, dtype=np.int64)
        starts = self._segments[::-1, _FIRST]  # later ones count, so these are the first
        first[self._outcome[::-1]] = self.trie.token_ids[starts]
        return first.tolist()

    def resolve(self, outcome: int, *, is_live: bool) -> None:
        """Set whether an outcome is allowed."""
        self._is_live[outcome] = is_live

    def verdict(self, outcome: int) -> int:
        """Return whether an outcome is allowed: `LIVE` or `DEAD_END`."""
        return LIVE if self._is_live[outcome] else DEAD_END

    def live_segments(self) -> Int32Array:
        """Return the ranges of tokens that are allowed, as a walk has them."""
        return self._segments[self._is_live[self._outcome]]


class SplitOutcomes:
    """Outcomes of which some are split into one for each token, with what its text remembers.

    Parameters
    ----------
    outcomes : Outcomes
        What a walk found, which knows nothing of that.
    whole : dict of int to Configuration
        The outcomes that are not split, and what they lead to.
    split : dict of int to Configuration
        Tokens of the others that may come, by where they are in the trie, and what they lead to.
    """

    def __init__(
        self,
        outcomes: Outcomes,
        whole: dict[int, Configuration],
        split: dict[int, Configuration],
    ) -> None:
        self.trie = outcomes.trie
        self._outcomes = outcomes
        self._whole, self._split = list(whole), list(split)
        self._configurations = [*whole.values(), *split.values()]
        self.n_outcomes = len(self._configurations)
        self._is_live = np.ones(self.n_outcomes, dtype=np.bool_)

    def outcome(self, outcome: int) -> Outcome:
        """Return an outcome by its index."""
        return Outcome(self._configurations[outcome])

    def resolve(self, outcome: int, *, is_live: bool) -> None:
        """Set whether an outcome is allowed."""
        self._is_live[outcome] = is_live

    def verdict(self, outcome: int) -> int:
        """Return whether an outcome is allowed: `LIVE` or `DEAD_END`."""
        return LIVE if self._is_live[outcome] else DEAD_END

    def first_tokens(self) -> list[int]:
        """Return for each outcome one of the tokens that lead to it."""
        tokens = self._outcomes.first_tokens()
        return [
            *(tokens[number] for number in self._whole),
            *(int(self.trie.token_ids[place]) for place in self._split),
        ]

    def live_segments(self) -> Int32Array:
        """Return the ranges of tokens that are allowed, as a walk has them."""
        for number in range(self._outcomes.n_outcomes):
            self._outcomes.resolve(number, is_live=False)
        for number, is_live in zip(self._whole, self._is_live, strict=False):
            self._outcomes.resolve(number, is_live=bool(is_live))
        live = self._is_live[len(self._whole) :]
        places = [place for place, is_live in zip(self._split, live, strict=True) if is_live]
        rows = [(place, place + 1, 0, 0) for place in places]
        split = np.array(rows, dtype=np.int32).reshape(-1, 4)
        return np.concatenate([self._outcomes.live_segments(), split])


def _numbered(values: npt.NDArray[np.integer]) -> tuple[Int32Array, npt.NDArray[np.int64]]:
    """Return the different values, ascending, and the index of each: numpy's `unique` sorts."""
    is_there = np.zeros(int(values.max(initial=-1)) + 1, dtype=np.bool_)
    is_there[values] = True
    numbers = np.cumsum(is_there) - 1
    return np.flatnonzero(is_there).astype(np.int32), numbers[values]
