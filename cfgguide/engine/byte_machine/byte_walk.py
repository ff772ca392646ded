"""Walks over tries of tokens: the kernel's memory, and what a walk found.

In: a :class:`~cfgguide.engine.byte_machine.automaton.Pushdown`, a trie, a state and a stack. Out: a
:class:`ByteWalk`. Where the kernel needs a row that is not made yet, it stops, and goes on when the
automaton has made it; where its memory is too small, it starts again with more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cfgguide.engine.byte_machine import byte_kernels as kernels
from cfgguide.engine.byte_machine import byte_views as views
from cfgguide.engine.byte_machine.automaton import Pushdown
from cfgguide.engine.masks.subset import bitmask_of
from cfgguide.engine.masks.views import view
from cfgguide.engine.vocabulary.trie import END_TOKEN, FIRST_TOKEN, PackedTrie
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import LimitError

Int32Array = npt.NDArray[np.int32]
UInt32Array = npt.NDArray[np.uint32]

_MAX_SIZE = 1 << 26
_NOT_KNOWN = np.empty(0, dtype=np.uint64)
_NO_STATES = np.empty(0, dtype=np.int32)
_NO_RANGES = np.empty((0, 2), dtype=np.int32)


class Trie:
    """A trie to walk over, as the kernels read it, and how deep it is.

    With `kinds`, what comes below each node, a mask is made without visiting all of it.
    """

    def __init__(
        self, packed: PackedTrie, max_depth: int, kinds: npt.NDArray[np.uint64] = _NOT_KNOWN
    ) -> None:
        self.packed = packed
        self.view: Any = view(packed)
        self.max_depth = max_depth
        self.kinds = kinds
        self._every: UInt32Array | None = None  # of its tokens, as bits

    def bitmask(self, ranges: Int32Array, n_words: int) -> UInt32Array:
        """Return the tokens in some ranges, which are in order, as bits that are the caller's own.

        Of few or many tokens: those are written that are fewer, they or all others.
        """
        n_tokens = len(self.packed.token_ids)
        if 2 * int(ranges[:, 1].sum() - ranges[:, 0].sum()) <= n_tokens:
            found = np.zeros(n_words, dtype=np.uint32)
            kernels.fill(self.view, ranges, found, True)
            return found
        if self._every is None:
            self._every = bitmask_of(self.packed.token_ids, n_words).view(np.uint32)
        found, ends = self._every.copy(), np.append(ranges, n_tokens)
        others = np.concatenate([[0], ends], dtype=np.int32).reshape(-1, 2)
        kernels.fill(self.view, others, found, False)
        return found

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> Trie:
        """Return that of a vocabulary."""
        trie = vocabulary.trie
        return cls(trie.packed, trie.max_depth, vocabulary.trie_kinds)


class ByteWalk:
    """What a walk over a trie found; it holds until the next walk in the same memory."""

    def __init__(self, trie: Trie, work: views.Work, view_of_work: Any) -> None:
        self._trie, self._work, self._view = trie, work, view_of_work
        counts = work.counts.tolist()
        self.n_segments: int = counts[views.N_SEGMENTS]
        self.n_visited: int = counts[views.N_VISITED]
        self.inspected: int = counts[views.INSPECTED]
        self._n_ends: int = counts[views.N_ENDS]

    @property
    def ends(self) -> Int32Array:
        """Nodes where something has ended that is looked up, and their depth."""
        return self._work.ends[: self._n_ends]

    def ranges(self) -> Int32Array:
        """Return the ranges of tokens, joined where they touch; int32, shape (n_ranges, 2)."""
        found = np.empty((self.n_segments, 2), dtype=np.int32)
        return found[: kernels.ranges(self._view, found)]

    def ended(self) -> Int32Array:
        """Return the tokens at each of `ends` and below it; int32, shape (n_ends, 2)."""
        if not self._n_ends:
            return _NO_RANGES
        nodes = self._trie.packed.nodes
        return np.ascontiguousarray(nodes[self.ends[:, 0]][:, [FIRST_TOKEN, END_TOKEN]])


class _Room(NamedTuple):
    """Memory for one walk at a time, and the same as the kernels read it."""

    work: views.Work
    view: Any
    counts: memoryview[int]


#: Memory that walks have left, for the next ones: few threads walk at a time.
_left: list[_Room] = []
_MOST_LEFT = 4


class WalkMemory:
    """Memory for walks over one kind of trie, and the walks themselves."""

    def __init__(self, pushdown: Pushdown) -> None:
        self._pushdown = pushdown
        self._sizes = {"cells": 256, "segments": 2048, "ends": 256}
        self._depth = 0
        self._near = _NO_STATES
        self._made: _Room | None = None

    def leave(self) -> None:
        """Leave the memory to others: what the last walk has found is not needed any more."""
        made, self._made = self._made, None
        if made is not None and len(_left) < _MOST_LEFT:
            _left.append(made)

    def walk(
        self,
        trie: Trie,
        state: int,
        frames: list[int],
        mode: int,
        *,
        is_known: bool = False,
    ) -> ByteWalk | None:
        """Walk from a state on a stack, the top first; None if the stack is too shallow.

        With `is_known`, only tokens that end a listed name are visited.
        """
        self._make_room(trie)
        while True:
            result = self._walked(trie, state, frames, mode, is_known)
            if result == views.DONE:
                return ByteWalk(trie, self.work, self._view)
            if result == views.TOO_SHALLOW:
                return None
            self._enlarge()

    def _walked(self, trie: Trie, state: int, frames: list[int], mode: int, is_known: bool) -> int:
        view_of_work, counts = self._new(len(frames))
        kernels.begin(trie.view, view_of_work, frames, state, is_known)
        pushdown, is_begun = self._pushdown, False
        while True:
            arrays = pushdown.view
            near = _NO_STATES if mode == views.VISIT else self._near
            result = kernels.run(
                arrays, trie.view, trie.kinds, near, view_of_work, len(frames), mode, is_begun
            )
            is_begun = True
            if result == views.NEED_ROW:
                self._need_row(counts[views.NEEDED], mode)
            elif result == views.NEED_FOLLOW:
                pushdown.follow(counts[views.NEEDED], counts[views.NEEDED_TAG])
            else:
                return int(result)

    def _need_row(self, state: int, mode: int) -> None:
        """Make a row; for a mask, that of a state which counts only as far as tokens see.

        So tokens of many characters need one row, and not one for each count.
        """
        near = state if mode == views.VISIT else self._pushdown.near(state, self._depth)
        self._pushdown.need_row(near)
        if near != state:
            if state >= len(self._near):
                self._near = np.pad(self._near, (0, 2 * state - len(self._near)))
            self._near[state] = near

    def _make_room(self, trie: Trie) -> None:
        if trie.max_depth + 2 > self._depth:
            self._near = _NO_STATES
            self._made = None
            self._depth = trie.max_depth + 2

    def _new(self, n: int) -> tuple[Any, memoryview[int]]:
        """Return memory for a walk on so many frames as the kernels read it, and its counts."""
        while self._sizes["cells"] < n + 8:
            self._made = None  # first: the sizes are never less than those of what is there
            self._sizes["cells"] *= 4
        if self._made is None:
            self._made = self._room()
        return self._made.view, self._made.counts

    def _room(self) -> _Room:
        try:
            found = _left.pop()
        except IndexError:
            pass
        else:
            work, sizes = found.work, self._sizes
            if (
                len(work.next_node) >= self._depth
                and len(work.cell_frame) >= sizes["cells"]
                and len(work.segments) >= sizes["segments"]
                and len(work.ends) >= sizes["ends"]
            ):
                return found
        made = views.new_work(depth=self._depth, **self._sizes)
        return _Room(made, views.view_of_work(made), memoryview(made.counts))

    @property
    def work(self) -> views.Work:
        """What the last walk has written."""
        assert self._made is not None, "there was a walk"
        return self._made.work

    @property
    def _view(self) -> Any:
        assert self._made is not None, "there was a walk"
        return self._made.view

    def _enlarge(self) -> None:
        self._made = None
        self._sizes = {name: 4 * size for name, size in self._sizes.items()}
        if max(self._sizes.values()) > _MAX_SIZE:
            raise LimitError("a mask needs too much memory: simplify the schema")
