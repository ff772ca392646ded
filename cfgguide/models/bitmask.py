"""Applies packed masks to logits, in place.

In: logits as a numpy array or a torch tensor, and bitmasks. Out: the same logits with minus
infinity wherever a token is not allowed. On the CPU one compiled loop goes over the words of the
bitmask (:mod:`cfgguide.models.bitmask_kernels`). On another device only the packed words are
sent there, and they are unpacked in steps of a bounded size.

No float is computed: adding a row of zeros and minus infinities would leave NaN as it is, and turn
plus infinity into NaN.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cfgguide.errors import BitmaskError, GenerationError, ModelError
from cfgguide.models.bitmask_kernels import find_open_rows, mask_rows
from cfgguide.models.dense_mask import bit_of_byte, check_is_array

if TYPE_CHECKING:
    import torch

# Columns unpacked at once on a device; each takes two bytes meanwhile.
_COLUMNS_AT_ONCE = 1 << 23

#: For each format: the integer dtype of its width, and minus infinity as such an integer.
_FORMATS: dict[str, tuple[str, Any]] = {
    "float16": ("int16", np.int16(-0x0400)),
    "bfloat16": ("int16", np.int16(-0x0080)),
    "float32": ("int32", np.int32(-0x0080_0000)),
    "float64": ("int64", np.int64(-0x0010_0000_0000_0000)),
}
_Words = npt.NDArray[np.int32]


def apply_bitmask(logits: Any, bitmask: Any, *, rows: Iterable[int] | None = None) -> None:
    """Write minus infinity into logits, in place, wherever a bitmask does not allow the token.

    Parameters
    ----------
    logits : floating, shape (n_columns,) or (n_rows, n_columns)
        A writeable numpy array, or a torch tensor on any device; float16, bfloat16, float32 or
        float64. Rows may lie apart in memory; the columns of a row lie side by side. Columns
        beyond the bitmask are not allowed.
    bitmask : int32, shape (n_words,) or (n_rows, n_words)
        What :meth:`Guide.fill_bitmask` or :func:`fill_bitmasks` writes: a numpy array, or a torch
        tensor on any device. One row alone serves all rows of the logits. There are at most
        ``ceil(n_columns / 32)`` words.
    rows : iterable of int, optional
        The rows of both to which the bitmask is applied; by default all.

    Raises
    ------
    BitmaskError
        If an argument has another type, dtype, shape or layout, or cannot be written to.

    Examples
    --------
    >>> import numpy as np
    >>> logits = np.array([[0.5, 1.5, 2.5], [3.5, 4.5, 5.5]], dtype=np.float32)
    >>> apply_bitmask(logits, np.array([[0b101], [0b010]], dtype=np.int32))
    >>> logits.tolist()
    [[0.5, -inf, 2.5], [-inf, 4.5, -inf]]
    """
    words = _checked_words(logits, bitmask)
    chosen = None if rows is None else _checked_rows(rows, logits.shape)
    if not (isinstance(logits, np.ndarray) or logits.is_cpu):
        mask_on_device(logits.detach(), _as_tensor(words), chosen)
        return
    bits, minus_infinity = _bits_of(logits)
    array = _as_array(words)
    for part in _parts(bits, chosen):
        mask_rows(bits[part], array[part] if len(array) > 1 else array, minus_infinity)


def open_rows(logits: Any, bitmask: Any) -> npt.NDArray[np.bool_]:
    """Return in which rows of masked logits an allowed token has more than minus infinity.

    Parameters
    ----------
    logits : floating, shape (n_rows, n_columns)
        As :func:`apply_bitmask` left them.
    bitmask : int32, shape (n_words,) or (n_rows, n_words)
        The one that was applied.

    Returns
    -------
    numpy.ndarray
        bool, shape (n_rows,).

    Raises
    ------
    BitmaskError
        As :func:`apply_bitmask`.
    """
    words = _checked_words(logits, bitmask)
    if not (isinstance(logits, np.ndarray) or logits.is_cpu):
        return open_rows_on_device(logits)
    bits, minus_infinity = _bits_of(logits)
    is_open = np.empty(len(bits), dtype=np.bool_)
    array = _as_array(words)
    for part in _parts(bits, None):
        of_part = array[part] if len(array) > 1 else array
        find_open_rows(bits[part], of_part, minus_infinity, is_open[part])
    return is_open


def check_columns(n_columns: int, n_ids: int) -> None:
    """Check that logits have a column for each id of a vocabulary.

    Raises
    ------
    ModelError
        If they have fewer.
    """
    if n_columns < n_ids:
        raise ModelError(
            f"the model's logits have {n_columns} columns, the vocabulary {n_ids} ids: the "
            "tokenizer is of another model"
        )


def apply_last(
    logits: Any, bitmask: Any, *, has_ended: npt.NDArray[np.bool_] | bool = False
) -> None:
    """Apply a bitmask after all else that changes logits: a token must be left in each row.

    Parameters
    ----------
    logits, bitmask
        As for :func:`apply_bitmask`.
    has_ended : bool, or bool array of shape (n_rows,)
        Where nothing has to be left.

    Raises
    ------
    GenerationError
        If something else has ruled out everything that the bitmask allows in a row.
    """
    apply_bitmask(logits, bitmask)
    is_ruled_out = ~(open_rows(logits, bitmask) | has_ended)
    if is_ruled_out.any():
        raise GenerationError(
            f"row {is_ruled_out.argmax()}: every token that the grammar allows was ruled out "
            "before, by another logits processor or setting (suppress_tokens, "
            "min_new_tokens, ...); leave that out"
        )


def mask_on_device(logits: torch.Tensor, words: torch.Tensor, rows: list[int] | None) -> None:
    """Do what :func:`apply_bitmask` does, with operations of torch that every device has.

    The packed words go to the device. There they are unpacked for a few rows at a time, with at
    most 2 ** 23 columns together: one byte for each column and one for the comparison.

    Parameters
    ----------
    logits : floating, shape (n_columns,) or (n_rows, n_columns)
        On any device.
    words : int32, shape (1, n_words) or (n_rows, n_words)
        On any device.
    rows : list of int, or None
        As for :func:`apply_bitmask`.
    """
    import torch

    logits = logits[None] if logits.dim() == 1 else logits
    n_rows, n_columns = logits.shape
    columns_covered = min(n_columns, 32 * words.shape[1])
    words = words.to(logits.device).expand(n_rows, -1)
    beyond = logits[:, columns_covered:]
    if rows is None:
        beyond.fill_(float("-inf"))
    else:
        index = torch.tensor(rows, dtype=torch.int64, device=logits.device)
        beyond.index_fill_(0, index, float("-inf"))
        # In the other rows everything is allowed.
        words = torch.full_like(words, -1).index_copy_(0, index, words.index_select(0, index))
    # As bytes: bit i % 8 of byte i // 8. A fresh copy has the usual strides.
    words = words.reshape(-1).clone(memory_format=torch.contiguous_format)
    flags = words.view(torch.uint8).view(n_rows, -1 if len(words) else 0)
    bit = bit_of_byte(logits.device)
    n_bytes, n_left = divmod(columns_covered, 8)
    at_once = max(1, _COLUMNS_AT_ONCE // max(1, n_columns))
    for first in range(0, n_rows, at_once):
        part, of_part = logits[first : first + at_once], flags[first : first + at_once]
        whole = part[:, : 8 * n_bytes].view(len(part), n_bytes, 8)
        whole.masked_fill_((of_part[:, :n_bytes, None] & bit) == 0, float("-inf"))
        if n_left:
            last = part[:, 8 * n_bytes : columns_covered]
            last.masked_fill_((of_part[:, n_bytes, None] & bit[:n_left]) == 0, float("-inf"))


def open_rows_on_device(logits: torch.Tensor) -> npt.NDArray[np.bool_]:
    """Do what :func:`open_rows` does, with operations of torch that every device has."""
    is_open: npt.NDArray[np.bool_] = (logits.detach().amax(dim=-1) != float("-inf")).cpu().numpy()
    return np.atleast_1d(is_open)


def _checked_words(logits: Any, bitmask: Any) -> Any:
    """Return the bitmask with two axes, after checking that it fits the logits."""
    is_array = isinstance(logits, np.ndarray)
    check_is_array("logits", logits)
    check_is_array("bitmask", bitmask)
    strides = logits.strides if is_array else logits.stride()
    _check_fit(logits.dtype, logits.shape, strides, bitmask.dtype, bitmask.shape)
    if is_array and not logits.flags.writeable:
        raise BitmaskError("the logits cannot be written to")
    return bitmask if bitmask.ndim == 2 else bitmask[None]


# A model's logits have the same layout at each step; checking it again took longer than masking.
@functools.lru_cache(maxsize=256)
def _check_fit(
    dtype: Any,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    words_dtype: Any,
    words_shape: tuple[int, ...],
) -> None:
    """Check dtypes, shapes and layout; strides are in bytes for numpy, in columns for torch."""
    for name, of_one in (("logits", shape), ("bitmask", words_shape)):
        if len(of_one) not in (1, 2):
            raise BitmaskError(f"the {name} must have one axis or two, not shape {tuple(of_one)}")
    if _format_named(words_dtype) != "int32":
        raise BitmaskError(f"the bitmask must be int32, not {_format_named(words_dtype)}")
    n_rows = shape[0] if len(shape) == 2 else 1
    n_words = -(-shape[-1] // 32)
    if (len(words_shape) == 2 and words_shape[0] != n_rows) or words_shape[-1] > n_words:
        raise BitmaskError(
            f"logits of shape {tuple(shape)} take a bitmask of shape ({n_rows}, n) or (n,) "
            f"with n up to {n_words}, not {tuple(words_shape)}"
        )
    if _format_named(dtype) not in _FORMATS:
        expected = ", ".join(_FORMATS)
        raise BitmaskError(f"the logits must be one of {expected}, not {_format_named(dtype)}")
    if 0 in shape:
        return  # then strides may be anything
    column = dtype.itemsize if isinstance(dtype, np.dtype) else 1
    if shape[-1] > 1 and strides[-1] != column:
        raise BitmaskError("the columns of the logits must lie side by side in memory")
    if n_rows > 1 and abs(strides[0]) < shape[1] * column:
        raise BitmaskError("the rows of the logits overlap in memory")


@functools.cache  # numpy takes long to name a dtype
def _format_named(dtype: Any) -> str:
    """Return the name of a dtype, the same for numpy and torch if bytes are in the usual order."""
    return str(dtype).removeprefix("torch.")


def _checked_rows(rows: Iterable[int], shape: tuple[int, ...]) -> list[int]:
    n_rows = shape[0] if len(shape) == 2 else 1
    chosen = [int(row) for row in rows]
    for row in chosen:
        if not 0 <= row < n_rows:
            raise BitmaskError(f"row {row} is not one of the logits' {n_rows}")
    return chosen


def _bits_of(logits: Any) -> tuple[npt.NDArray[Any], Any]:
    """Return logits on the CPU as integers in the same memory, and minus infinity as an integer."""
    same_width, minus_infinity = _FORMATS[_format_named(logits.dtype)]
    if isinstance(logits, np.ndarray):
        bits = logits.view(same_width)
    else:
        import torch

        plain = logits.detach() if logits.requires_grad else logits
        bits = plain.view(getattr(torch, same_width)).numpy()
    return (bits if bits.ndim == 2 else bits[None]), minus_infinity


def _parts(bits: npt.NDArray[Any], rows: list[int] | None) -> list[slice]:
    """Return the rows that a kernel takes at once: rows that follow each other without a gap."""
    if rows is None and bits.flags.c_contiguous:
        return [slice(0, len(bits))]
    return [slice(row, row + 1) for row in (range(len(bits)) if rows is None else rows)]


def _as_array(words: Any) -> _Words:
    """Return words in the layout that the kernels are compiled for: contiguous and writeable."""
    array: _Words = words if isinstance(words, np.ndarray) else words.cpu().numpy()
    return array if array.flags.carray else array.copy()


def _as_tensor(words: Any) -> torch.Tensor:
    import torch

    return torch.from_numpy(_as_array(words)) if isinstance(words, np.ndarray) else words
