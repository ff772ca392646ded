"""The arrays of this folder as the kernels read them; see :mod:`cfgguide.engine.masks.views`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from cfgguide.engine.byte_machine.automaton import Arrays

Int32Array = npt.NDArray[np.int32]

# Why a walk returns.
DONE, NEED_ROW, NEED_FOLLOW, TOO_SHALLOW, TOO_MANY = 0, 1, 2, 3, 4
# Indices into `counts`: what is there, what is needed, where the walk is, how much it has read.
N_CELLS, N_SEGMENTS, N_JUMPS, N_EXCEPTIONS, NEEDED, NEEDED_TAG, DEPTH, INSPECTED = range(8)
N_COUNTS = 8
# What a walk does where a mask is shared, and where the bottom frame is popped.
VISIT, JUMP, COLLECT = 0, 1, 2
ALL_BITS = 0xFFFFFFFF
SMALL = 128  # tokens: smaller subtrees are visited


class Work(NamedTuple):
    """What a walk reads and writes besides the automaton and the trie.

    The stack is an arena of cells. Those of the configuration come first, the top at 0.
    """

    cell_frame: Int32Array
    cell_parent: Int32Array
    first_child: Any
    next_sibling: Any
    # For each byte of the path: the trie nodes still to be visited, the state and the cell, and
    # whether a shared mask has all tokens from there on but for those that end a listed name.
    next_node: Int32Array
    end_node: Int32Array
    at_state: Int32Array
    at_cell: Int32Array
    is_known: Int32Array
    # Tokens: ranges of indices into the trie's `token_ids`, with the state and the cell after them.
    segments: Int32Array
    # Subtrees whose mask is shared: the trie node or -1 for the root, state and cell. In a walk
    # that stops where the string ends instead: the node, the tag and the depth.
    jumps: Int32Array
    # Ranges of tokens that end a listed name.
    exceptions: Int32Array
    counts: Any  # of int32, as the others


def new_work(*, depth: int, cells: int, segments: int, jumps: int) -> Work:
    """Return memory for a walk."""

    def made(*shape: int) -> Int32Array:
        return np.zeros(shape, dtype=np.int32)

    arena = (made(cells) for _ in range(4))
    frames = (made(depth) for _ in range(5))
    ranges = (made(segments, 4), made(jumps, 3), made(segments, 2))
    return Work._make([*arena, *frames, *ranges, made(N_COUNTS)])


class _View:
    """A record whose arrays are memoryviews."""

    def __init__(self, record: Any) -> None:
        for name, value in zip(record._fields, record, strict=True):
            setattr(self, name, memoryview(value))


class ArraysView(_View):
    """A view of :class:`cfgguide.engine.byte_machine.automaton.Arrays`."""


class WorkView(_View):
    """A view of :class:`Work`."""


def view_of(arrays: Arrays) -> Any:
    """Return the automaton's arrays as the kernels read them; the memory is the same."""
    return ArraysView(arrays)


def view_of_work(work: Work) -> Any:
    """Return a walk's memory as the kernels read it; the memory is the same."""
    return WorkView(work)
