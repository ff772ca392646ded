"""The compiled loops that apply a bitmask to logits.

They see floats as whole numbers of the same width, so that one kernel serves every format, also
those that numpy does not have: a number is kept as it is, or replaced by the bits of minus
infinity.

A word is taken in one loop of 32 equal steps without a branch, which compiles to vector
instructions, also those that every processor has: they have no shift by different numbers, so the
32 bits stand in an array. Only words of 32 allowed tokens, which most words of a nearly full mask
are, are skipped. A branch for words without a token costs more than it saves.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from cfgguide.base import uncompiled as cython

from typing import Any

import numpy as np
import numpy.typing as npt

from cfgguide.engine.masks.arrays import Int32Array

ALL_ALLOWED = -1  # the word with all of its bits set
BITS = (1 << np.arange(32)).astype(np.int32).tolist()  # the words with one bit set

#: The bits of floats: int16, int32 or int64.
BitsArray = npt.NDArray[Any]


def mask_rows(logits: BitsArray, bitmask: Int32Array, minus_infinity: Any) -> None:
    """Write minus infinity where a bit is not set, and beyond the bitmask.

    Parameters
    ----------
    logits : int16, int32 or int64, shape (n_rows, n_columns)
        The bits of the logits.
    bitmask : int32, shape (n_rows, n_words) or (1, n_words)
        At most as many words as the columns need; a single row serves all rows.
    minus_infinity : scalar of the dtype of `logits`
        The bits of minus infinity.
    """
    bits, all_allowed = BITS, ALL_ALLOWED
    with cython.nogil:
        n_columns, n_words = logits.shape[1], bitmask.shape[1]
        n_whole = min(n_words, n_columns // 32)  # words with a column for each bit
        for row in range(logits.shape[0]):
            words = bitmask[row if len(bitmask) > 1 else 0]
            line = logits[row]
            for number in range(n_whole):
                word = words[number]
                if word == all_allowed:
                    continue
                first = 32 * number
                for bit in range(32):
                    kept = -1 if word & bits[bit] else 0
                    line[first + bit] = (line[first + bit] & kept) | (minus_infinity & ~kept)
            for column in range(32 * n_whole, n_columns):
                number = column >> 5
                if number >= n_words or not (words[number] >> (column & 31)) & 1:
                    line[column] = minus_infinity


def find_open_rows(
    logits: BitsArray, bitmask: Int32Array, minus_infinity: Any, is_open: npt.NDArray[np.bool_]
) -> None:
    """Note for each row whether a column that is allowed has more than minus infinity.

    It looks at no more than the first such column, which mostly stands in the first words.

    Parameters
    ----------
    logits, bitmask, minus_infinity
        As for `mask_rows`.
    is_open : bool, shape (n_rows,)
        Where the answers are written.
    """
    with cython.nogil:
        n_columns, n_words = logits.shape[1], bitmask.shape[1]
        for row in range(logits.shape[0]):
            words = bitmask[row if len(bitmask) > 1 else 0]
            is_open[row] = False
            for number in range(n_words):
                if words[number] == 0:
                    continue
                for column in range(32 * number, min(32 * number + 32, n_columns)):
                    is_allowed = (words[number] >> (column & 31)) & 1
                    if is_allowed and logits[row, column] != minus_infinity:
                        is_open[row] = True
                        break
                if is_open[row]:
                    break
