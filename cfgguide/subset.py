"""Subsets of the vocabulary: the values of the index."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Subset:
    """A subset of the vocabulary.

    Attributes
    ----------
    bitmask : int32, shape (ceil(vocabulary size / 32),), read-only
        Bit ``i % 32`` of word ``i // 32`` is set if token ``i`` is in the subset.
    n_tokens : int
        How many tokens are in it.
    """

    bitmask: npt.NDArray[np.int32]
    n_tokens: int

    def __contains__(self, token_id: int) -> bool:
        if not 0 <= token_id < 32 * len(self.bitmask):
            return False
        return bool(self.bitmask[token_id >> 5] >> (token_id & 31) & 1)

    def token_ids(self) -> npt.NDArray[np.int64]:
        """Return the ids in the subset, ascending; int64, shape (n_tokens,)."""
        return np.flatnonzero(np.unpackbits(self.bitmask.view(np.uint8), bitorder="little"))
