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
from cfgguide.engine.masks.views import view
from cfgguide.engine.vocabulary.trie import PackedTrie
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import LimitError

Int32Array = npt.NDArray[np.int32]

ROOT = -1  # a node: above all others
_MAX_SIZE = 1 << 26


_NOT_KNOWN = np.empty(0, dtype=np.uint64)


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

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> Trie:
        """Return that of a vocabulary."""
        trie = vocabulary.trie
        return cls(trie.packed, trie.max_depth, vocabulary.trie_kinds)


class ByteWalk:
    """What a walk over a trie found; it holds until the next walk in the same memory."""

    def __init__(self, work: views.Work, view_of_work: Any, n_base: int) -> None:
        self._work, self._view = work, view_of_work
        self._n_base = n_base
        counts = work.counts.tolist()
        self.n_segments: int = counts[views.N_SEGMENTS]
        self.inspected: int = counts[views.INSPECTED]
        self.jumps: list[list[int]] = work.jumps[: counts[views.N_JUMPS]].tolist()

    def ranges(self) -> Int32Array:
        """Return the ranges of tokens, joined where they touch; int32, shape (n_ranges, 2)."""
        found = np.empty((self.n_segments, 2), dtype=np.int32)
        return found[: kernels.ranges(self._view, found)]

    def exceptions(self) -> Int32Array:
        """Return the ranges of tokens that end a listed name; int32, shape (n_ranges, 2)."""
        return self._work.exceptions[: self._work.counts[views.N_EXCEPTIONS]].copy()

    def frames(self, cell: int) -> list[int]:
        """Return the frames of a stack of which a cell is the top, as far as they are known."""
        found = []
        while cell >= 0:
            found.append(int(self._work.cell_frame[cell]))
            cell = int(self._work.cell_parent[cell])
        return found

    def base_of(self, cell: int, n: int) -> int:
        """Return how many frames of the base are among the topmost `n` of a stack."""
        deepest = 0
        while cell >= 0 and n > 0:
            if cell < self._n_base:
                deepest = cell + 1
            cell = int(self._work.cell_parent[cell])
            n -= 1
        return deepest


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
        self._sizes = {"cells": 256, "segments": 2048, "jumps": 256}
        self._depth = 0
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
        node: int = ROOT,
        is_known: bool = False,
    ) -> ByteWalk | None:
        """Walk from a state on a stack, the top first; None if the stack is too shallow.

        With `is_known`, only tokens that end a listed name are visited.
        """
        self._make_room(trie)
        while True:
            result = self._walked(trie, state, frames, mode, node, is_known)
            if result == views.DONE:
                return ByteWalk(self.work, self._view, len(frames))
            if result == views.TOO_SHALLOW:
                return None
            self._enlarge()

    def _walked(
        self,
        trie: Trie,
        state: int,
        frames: list[int],
        mode: int,
        node: int,
        is_known: bool,
    ) -> int:
        view_of_work, counts = self._new(len(frames))
        kernels.begin(trie.view, view_of_work, frames, state, node, is_known)
        pushdown, is_begun = self._pushdown, False
        while True:
            arrays = pushdown.view
            result = kernels.run(
                arrays, trie.view, trie.kinds, view_of_work, len(frames), mode, is_begun
            )
            is_begun = True
            if result == views.NEED_ROW:
                pushdown.need_row(counts[views.NEEDED])
            elif result == views.NEED_FOLLOW:
                pushdown.follow(counts[views.NEEDED], counts[views.NEEDED_TAG])
            else:
                return int(result)

    def _make_room(self, trie: Trie) -> None:
        if trie.max_depth + 2 > self._depth:
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
                and len(work.jumps) >= sizes["jumps"]
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
