"""The compiled loops over a vocabulary that know nothing of grammars."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cfgguide import jit
from cfgguide.jit import allocating_kernel, kernel
from cfgguide.kernel_types import LIVE, N_SEGMENTS, Int32Array, PackedTrie, Workspace


@allocating_kernel
def subtree_bytes(
    byte: npt.NDArray[np.uint8],
    depth: Int32Array,
    first_token: Int32Array,
    utf8_steps: npt.NDArray[np.uint8],
    max_depth: int,
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
    """Return what the tokens below each node are made of.

    Parameters
    ----------
    byte, depth, first_token
        The trie; see VocabularyTrie.
    utf8_steps : uint8, shape (n_utf8_states, 256)
        A machine that reads UTF-8: state 0 is between two characters, 255 is no UTF-8.
    max_depth : int
        The greatest depth.

    Returns
    -------
    sums : uint64, shape (n_nodes, 3)
        The ASCII bytes below each node, bit ``b`` of the first number for ``b < 64``, else bit
        ``b - 64`` of the second; and 1 if there are others.
    is_whole : bool, shape (n_nodes,)
        Whether all tokens below, read from the node on, are whole characters of UTF-8.
    """
    n_nodes, n_states = len(byte), len(utf8_steps)
    sums = np.zeros((n_nodes, 3), dtype=np.uint64)
    is_whole = np.zeros(n_nodes, dtype=np.bool_)
    # Of the children seen so far of the node of each depth; and the states from which all is well.
    below = np.zeros((max_depth + 2, 3), dtype=np.uint64)
    is_fine = np.ones((max_depth + 2, n_states), dtype=np.bool_)
    for node in range(n_nodes - 1, -1, -1):  # children before their parents
        level, value = depth[node], np.int64(byte[node])
        is_whole[node] = is_fine[level + 1, 0]
        for part in range(3):
            sums[node, part] = below[level + 1, part]
            below[level, part] |= below[level + 1, part]
            below[level + 1, part] = np.uint64(0)
        if value < 128:
            below[level, value >> 6] |= np.uint64(1) << np.uint64(value & 63)
        else:
            below[level, 2] = np.uint64(1)
        has_token = first_token[node] < first_token[node + 1]
        for state in range(n_states):
            after = utf8_steps[state, value]
            if after == 255 or (has_token and after != 0) or not is_fine[level + 1, after]:
                is_fine[level, state] = False
        is_fine[level + 1, :] = True
    return sums, is_whole


@kernel
def fill(trie: PackedTrie, work: Workspace, bitmask: Int32Array) -> None:
    """Make the mask of all tokens whose outcomes are `LIVE`."""
    bitmask[:] = 0
    token_ids = trie.token_ids
    for segment in range(work.counts[N_SEGMENTS]):
        if work.verdicts[work.segment_outcome[segment]] == LIVE:
            start, end = work.segment_start[segment], work.segment_end[segment]
            for place in range(start, end):
                token_id = token_ids[place]
                bitmask[token_id >> 5] |= np.int32(1) << np.int32(token_id & 31)


_numbers = np.zeros(1, dtype=np.int32)
jit.load(
    subtree_bytes,
    np.zeros(1, dtype=np.uint8),
    _numbers,
    _numbers,
    np.zeros((1, 1), dtype=np.uint8),
    1,
)
