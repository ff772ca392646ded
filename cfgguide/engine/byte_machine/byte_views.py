"""The arrays of this folder, and views of them as the kernels read them.

Views are those of :mod:`cfgguide.engine.masks.views`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

try:
    import cython
except ImportError:
    from cfgguide.base import uncompiled as cython

import numpy as np
import numpy.typing as npt

Int32Array = npt.NDArray[np.int32]

DEAD = 0  # a state, and the operation of a byte that is refused
NOT_MADE = -1
NONE = -1
PUSH, POP, END = 1, 2, 3  # kinds of actions
# Columns of `Arrays.states`.
ROW, MAP, ENDING, IS_END, BELOW, N_BELOW, SHARED, SHARED_TAG, IS_NAMED, MOST, LEAST = range(11)
EDGES, N_EDGES, STAYS = 11, 12, 13
N_COLUMNS = 14
FOLLOWS, ALLOWED = 0, 1  # columns of `Arrays.frames`
BOTTOM = 0  # the frame below all others
QUOTE = 0x22
# Why a walk returns.
DONE, NEED_ROW, NEED_FOLLOW, TOO_SHALLOW, TOO_MANY = 0, 1, 2, 3, 4
# Indices into `counts`: what is there, what is needed, where the walk is, how much it has read.
N_CELLS, N_SEGMENTS, N_ENDS, NEEDED, NEEDED_TAG, DEPTH, INSPECTED, N_VISITED = range(8)
N_COUNTS = 8
# Whether a walk visits everything, and goes on where the bottom frame is popped.
VISIT, MASK, COLLECT = 0, 1, 2
ALL_BITS = 0xFFFFFFFF


class Arrays(NamedTuple):
    """What the kernels read; the arrays have room for more than is used.

    Attributes
    ----------
    states : int32, shape (n_states, N_COLUMNS)
        `ROW`: where its operations start in `operations`, or `NOT_MADE`; `MAP`: its row in `maps`;
        `ENDING`: the tag with which it ends if the text does, or `NONE`; `IS_END`: whether the
        text may end on the bottom frame; `BELOW` and `N_BELOW`: where the names that begin like
        this start in `tags`, and their number, or `NONE`; `SHARED`: which string of any characters
        this is in all automata (:mod:`cfgguide.engine.byte_machine.shared_masks`), or `NONE`;
        `SHARED_TAG`: the tag that POP has there; `IS_NAMED`: whether listed names are exceptions
        from that, and this tag may come, too; `MOST` and `LEAST`: how many characters may and must
        follow, or `NONE`; `EDGES` and `N_EDGES`: where its edges start in `edges`, and their
        number; `STAYS`: where in `words` it stands which kinds of characters may follow one
        another, and how many (:mod:`cfgguide.base.kinds`), and then which lead back to the state;
        or `NONE`.
    maps : uint8, shape (n_maps, 256)
        Which of a state's operations each byte has.
    operations : int32, shape (n_operations,)
        Above 0 the next state; below 0 an action, negated.
    actions : int32, shape (n_actions, 3)
        Kind; of PUSH the frame and the state, of the others the tag.
    frames : int32, shape (n_frames, 2)
        `FOLLOWS`: where its states start in `follows`; `ALLOWED`: where its set of tags starts in
        `words`, or `NONE`.
    follows : int32, shape (n_follows,)
        The state after each tag, or `NOT_MADE`.
    words : uint64, shape (n_words,)
        Sets of tags; kinds of characters.
    tags : int32, shape (n_tags,)
        Lists of tags.
    edges : int32, shape (n_edges, 2)
        Bytes, and their operations.
    """

    states: Int32Array
    maps: npt.NDArray[np.uint8]
    operations: Int32Array
    actions: Int32Array
    frames: Int32Array
    follows: Int32Array
    words: npt.NDArray[np.uint64]
    tags: Int32Array
    edges: Int32Array


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
    # Where a listed name, or what stands on the bottom frame, has ended: the node and its depth.
    ends: Int32Array
    counts: Any  # of int32, as the others


def new_work(*, depth: int, cells: int, segments: int, ends: int) -> Work:
    """Return memory for a walk."""

    def made(*shape: int) -> Int32Array:
        return np.zeros(shape, dtype=np.int32)

    arena = (made(cells) for _ in range(4))
    frames = (made(depth) for _ in range(5))
    return Work._make([*arena, *frames, made(segments, 4), made(ends, 2), made(N_COUNTS)])


class _View:
    """A record whose arrays are memoryviews; compiled, each makes its own of an array."""

    def __init__(self, record: Any) -> None:
        for name, value in zip(record._fields, record, strict=True):
            setattr(self, name, value if cython.compiled else memoryview(value))


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
