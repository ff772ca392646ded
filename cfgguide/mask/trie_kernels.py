"""The compiled loops over a vocabulary that know nothing of grammars."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cfgguide.mask import jit
from cfgguide.mask.arrays import LIVE, N_SEGMENTS, Int32Array, Workspace
from cfgguide.mask.jit import allocating_kernel, kernel
from cfgguide.vocabulary.trie import BYTE, FIRST_CHILD, FIRST_TOKEN, PackedTrie


@allocating_kernel
def add_loop(nodes: Int32Array, steps: Int32Array, bit: int, takes: npt.NDArray[np.int64]) -> None:
    """Mark the nodes below which all tokens lead from a state of the scanner back to it.

    Parameters
    ----------
    nodes : int32, shape (n_nodes + 1, 4)
        The trie; see PackedTrie.
    steps : int32, shape (n_states, 256)
        How bytes lead from state 0 back to it, through states inside characters; -1 leads
        elsewhere.
    bit : int
        The mark.
    takes : int64, shape (n_nodes,)
        Where it goes.
    """
    n_levels = 64
    child = np.zeros(n_levels, dtype=np.int32)
    end = np.zeros(n_levels, dtype=np.int32)
    state = np.zeros(n_levels, dtype=np.int32)
    for node in range(len(takes) - 1, -1, -1):  # children before their parents
        is_fine, level = True, 0
        child[0], end[0], state[0] = nodes[node, FIRST_CHILD], nodes[node + 1, FIRST_CHILD], 0
        while level >= 0 and is_fine:
            if child[level] == end[level]:
                level -= 1
                continue
            here = child[level]
            child[level] += 1
            after = steps[state[level], nodes[here, BYTE]]
            first, last = nodes[here, FIRST_CHILD], nodes[here + 1, FIRST_CHILD]
            if after == 0:
                is_fine = first == last or takes[here] & bit != 0
            elif (
                after < 0
                or first == last
                or nodes[here, FIRST_TOKEN] < nodes[first, FIRST_TOKEN]
                or level + 1 == n_levels
            ):
                is_fine = False  # it leads elsewhere, or a token ends inside a character
            else:
                level += 1
                child[level], end[level], state[level] = first, last, after
        if is_fine:
            takes[node] |= bit


@kernel
def fill(trie: PackedTrie, work: Workspace, bitmask: Int32Array) -> None:
    """Make the mask of all tokens whose outcomes are `LIVE`."""
    bitmask[:] = 0
    token_ids = trie.token_ids
    for segment in range(work.counts[N_SEGMENTS]):
        if work.verdicts[work.segment_outcome[segment]] == LIVE:
            start, end = work.segment_start[segment], work.segment_end[segment]
            for index in range(start, end):
                token_id = token_ids[index]
                bitmask[token_id >> 5] |= np.int32(1) << np.int32(token_id & 31)


jit.load(
    add_loop,
    np.zeros((1, 4), dtype=np.int32),
    np.zeros((1, 256), dtype=np.int32),
    1,
    np.zeros(0, dtype=np.int64),
)
