"""Buffers that callers give for masks: numpy arrays, and torch tensors on the CPU.

In: a buffer of a caller, and masks. Out: the buffer, filled. This is the one place that checks
buffers. A decode loop gives the same one at every step, and to check it takes as long as to copy a
mask, so the one given last is remembered. An array stays where it is; the words of a tensor may
move, so that is asked each time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.engine.masks.rows import copy_rows
from cfgguide.errors import BitmaskError, shown

#: In place of a mask: everything is allowed in its row.
EVERYTHING: Int32Array = np.empty(0, dtype=np.int32)


class Buffer:
    """A buffer that a caller gave.

    Attributes
    ----------
    words : int32, shape (n_words,) or (n_rows, n_words)
        Its memory as an array.
    rows : list of (int32, shape (n_words,)), or None
        The rows of that; None until one is written.
    """

    __slots__ = ("_address", "_given", "_size", "rows", "words")

    def __init__(self, given: Any, words: Int32Array) -> None:
        self.words = words
        self.rows: list[Int32Array] | None = None
        self._given = given
        self._address: int | None = None
        if hasattr(given, "data_ptr") and given.is_contiguous():
            self._address, self._size = given.data_ptr(), words.size
        elif not isinstance(given, np.ndarray):
            self._given = self  # not to be known again

    def is_still(self, given: Any) -> bool:
        """Return whether it is this buffer that was given, and its words are where they were."""
        return given is self._given and (
            self._address is None
            or (
                given.data_ptr() == self._address
                and given.numel() == self._size
                and given.is_contiguous()
            )
        )


_last = Buffer(EVERYTHING, EVERYTHING)


def buffer_of(given: Any, shape: tuple[int | None, ...]) -> Buffer:
    """Return a buffer that a caller gave.

    Parameters
    ----------
    given : int32 array, or tensor on the CPU
        What the caller gave.
    shape : tuple of int or None
        Of the words of one mask, or of rows of them, which may be wider or narrower. None for any
        number of rows.

    Raises
    ------
    BitmaskError
        If it has another dtype or shape, or cannot be written to.
    """
    global _last
    buffer = _last
    if not buffer.is_still(given):
        try:
            array = given if type(given) is np.ndarray else np.asarray(given)
        except (TypeError, ValueError, RuntimeError) as error:  # a tensor on a device, say
            raise BitmaskError(f"{shown(given)} cannot be read as an array: {error}") from None
        buffer = Buffer(given, array)
    words = buffer.words
    if (
        words.dtype != np.int32
        or words.ndim != len(shape)
        or shape[0] not in (None, len(words))
        or not words.flags.writeable
    ):
        expected = str(shape).replace("None", "n_rows")
        raise BitmaskError(
            f"the {'bitmask is a' if len(shape) == 1 else 'bitmasks are a'} writeable int32 array "
            f"of shape {expected}, not {words.dtype} of shape {words.shape}"
        )
    _last = buffer
    return buffer


def _too_narrow(row: int, mask: Int32Array, n_words: int) -> BitmaskError:
    return BitmaskError(
        f"row {row}: the guide's vocabulary needs {len(mask)} words, the bitmasks have {n_words}"
    )


def write_row(mask: Int32Array, bitmasks: Any, row: int) -> None:
    """Write a mask into a row as :func:`write_rows` does, with the same errors."""
    buffer = _last
    rows = buffer.rows
    if rows is None or not buffer.is_still(bitmasks):
        buffer = buffer_of(bitmasks, (None, len(mask)))
        rows = buffer.rows = list(buffer.words)
    try:
        words = rows[row]
    except (IndexError, TypeError):
        said = f"row {shown(row)} is not one of the bitmasks' {len(rows)}"
        raise BitmaskError(said) from None
    if len(words) != len(mask):
        if len(words) < len(mask):
            raise _too_narrow(row, mask, len(words))
        words[len(mask) :] = 0
        words = words[: len(mask)]
    words[:] = mask


def write_rows(masks: list[Int32Array], bitmasks: Any) -> None:
    """Write masks into rows, a row each, in one copy that lets other threads run.

    Parameters
    ----------
    masks : list of (int32, shape (n_words_of_mask,))
        `EVERYTHING` for a row where everything is allowed.
    bitmasks : int32 array, shape (n_masks, n_words)
        A numpy array, or a torch tensor on the CPU; words beyond a mask are set to 0.

    Raises
    ------
    BitmaskError
        If `bitmasks` has another dtype or shape, has too few words for a mask, or cannot be written
        to; nothing is written then.
    """
    lengths = set(map(len, masks))
    n_needed = max(lengths, default=0)
    out = buffer_of(bitmasks, (len(masks), n_needed)).words
    n_words = out.shape[1]
    if n_needed > n_words:
        raise next(
            _too_narrow(*each, n_words) for each in enumerate(masks) if len(each[1]) > n_words
        )
    if 0 in lengths:
        all_ones = np.full(n_words, -1, dtype=np.int32)
        masks = [all_ones if mask is EVERYTHING else mask for mask in masks]
    if out.size and out.strides[1] != out.itemsize:  # words that lie apart
        packed = np.empty(out.shape, dtype=np.int32)
        copy_rows(masks, packed)
        out[:] = packed
    else:
        copy_rows(masks, out)
