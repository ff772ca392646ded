"""The compiled loop over the tokens of a mask."""

from __future__ import annotations

try:
    import cython
except ImportError:
    from cfgguide.mask import uncompiled as cython

import numpy as np
import numpy.typing as npt

from cfgguide.mask.arrays import LIVE, N_SEGMENTS, Workspace
from cfgguide.vocabulary.trie import PackedTrie


def fill(trie: PackedTrie, work: Workspace, bitmask: npt.NDArray[np.uint32]) -> None:
    """Make the mask of all tokens whose outcomes are `LIVE`."""
    with cython.nogil:
        for word in range(len(bitmask)):
            bitmask[word] = 0
        for segment in range(work.counts[N_SEGMENTS]):
            if work.verdicts[work.segment_outcome[segment]] == LIVE:
                index, end = work.segment_start[segment], work.segment_end[segment]
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
