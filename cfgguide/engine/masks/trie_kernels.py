"""The compiled loops over the tokens of a mask."""

from __future__ import annotations

try:
    import cython
except ImportError:
    from cfgguide.base import uncompiled as cython

import numpy as np
import numpy.typing as npt

from cfgguide.engine.masks.arrays import LIVE, N_SEGMENTS, Workspace
from cfgguide.engine.vocabulary.trie import FIRST_CHILD, PackedTrie


def join_below(trie: PackedTrie, work: Workspace) -> None:
    """Add to the bits of each node in `below` those of all nodes below it."""
    with cython.nogil:
        for node in range(len(work.below) - 1, -1, -1):  # children come after their parents
            for child in range(trie.nodes[node, FIRST_CHILD], trie.nodes[node + 1, FIRST_CHILD]):
                work.below[node] |= work.below[child]


def join_live(work: Workspace) -> int:
    """Fill `live_ranges` with the tokens whose outcomes are `LIVE`; return how many there are."""
    with cython.nogil:
        n_ranges, end = 0, -1
        for segment in range(work.counts[N_SEGMENTS]):
            if work.verdicts[work.segment_outcome[segment]] != LIVE:
                continue
            if work.segment_start[segment] == end:
                n_ranges -= 1
            else:
                work.live_ranges[n_ranges, 0] = work.segment_start[segment]
            end = work.segment_end[segment]
            work.live_ranges[n_ranges, 1] = end
            n_ranges += 1
        return n_ranges


def fill(trie: PackedTrie, work: Workspace, n_ranges: int, bitmask: npt.NDArray[np.uint32]) -> None:
    """Make the mask of all tokens in the first `live_ranges`."""
    with cython.nogil:
        for word in range(len(bitmask)):
            bitmask[word] = 0
        for number in range(n_ranges):
            index, end = work.live_ranges[number, 0], work.live_ranges[number, 1]
            while index < end:
                row = trie.row_of_token[index]
                if row < 0:
                    token_id = trie.token_ids[index]
                    bitmask[token_id >> 5] |= 1 << (token_id & 31)
                    index += 1
                else:
                    for word in range(trie.rows.shape[1]):
                        bitmask[word] |= trie.rows[row, word]
                    index = trie.row_ends[row]
