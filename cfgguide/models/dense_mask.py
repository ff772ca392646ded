"""Packed masks as one value for each token, for losses and measures.

In: bitmasks of any shape, as numpy arrays or torch tensors. Out: the same with a last axis of one
column for each token: bool (allowed), or 0 and minus infinity, to be added to logits. That takes 8,
or 32 and more, times the memory; to mask logits during generation, see
:mod:`cfgguide.models.bitmask`.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

from cfgguide.errors import BitmaskError


def is_tensor(value: object) -> bool:
    """Return whether a value is a tensor of torch, without loading torch."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def check_is_array(name: str, value: object) -> None:
    """Raise a BitmaskError unless a value is a numpy array or a torch tensor."""
    if not (isinstance(value, np.ndarray) or is_tensor(value)):
        raise BitmaskError(
            f"the {name} must be a numpy array or a torch tensor, not {type(value).__name__}"
        )


@functools.cache
def bit_of_byte(device: Any) -> Any:
    """Return 1, 2, 4, ..., 128 as a tensor on a device; uint8, shape (8,)."""
    import torch

    return torch.tensor([1 << bit for bit in range(8)], dtype=torch.uint8, device=device)


def bool_mask(bitmask: Any, n_columns: int) -> Any:
    """Return which tokens a bitmask allows.

    Parameters
    ----------
    bitmask : int32, shape (..., n_words)
        Packed masks: a numpy array, or a torch tensor on any device.
    n_columns : int
        Columns of the logits. Those that the bitmask has no bit for are not allowed.

    Returns
    -------
    numpy.ndarray or torch.Tensor
        bool, shape (..., n_columns), on the same device.

    Raises
    ------
    BitmaskError
        If the bitmask is not such an array, or has more words than the columns need.

    Examples
    --------
    >>> import numpy as np
    >>> bool_mask(np.array([[0b101]], dtype=np.int32), 4).tolist()
    [[True, False, True, False]]
    """
    check_is_array("bitmask", bitmask)
    if str(bitmask.dtype).removeprefix("torch.") != "int32" or bitmask.ndim == 0:
        raise BitmaskError(
            f"the bitmask must be int32 with its words in the last axis, not {bitmask.dtype} of "
            f"shape {tuple(bitmask.shape)}"
        )
    n_words = -(-n_columns // 32)
    if bitmask.shape[-1] > n_words:
        raise BitmaskError(
            f"{n_columns} columns take a bitmask of up to {n_words} words, not {bitmask.shape[-1]}"
        )
    if isinstance(bitmask, np.ndarray):
        flags = np.ascontiguousarray(bitmask).view(np.uint8)
        bits: Any = np.unpackbits(flags, axis=-1, bitorder="little").view(np.bool_)
    else:
        import torch

        flags = bitmask.contiguous().view(torch.uint8)
        bits = ((flags[..., None] & bit_of_byte(bitmask.device)) != 0).flatten(-2)
    missing = n_columns - bits.shape[-1]
    if missing <= 0:
        return bits[..., :n_columns]
    if isinstance(bits, np.ndarray):
        return np.pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, missing)])
    return torch.nn.functional.pad(bits, (0, missing))


def additive_mask(bitmask: Any, n_columns: int, *, dtype: Any = None) -> Any:
    """Return what masks logits when it is added to them: 0, and minus infinity.

    Parameters
    ----------
    bitmask : int32, shape (..., n_words)
        As for :func:`bool_mask`.
    n_columns : int
        Columns of the logits.
    dtype : dtype of numpy or torch, optional
        By default float32.

    Returns
    -------
    numpy.ndarray or torch.Tensor
        Shape (..., n_columns), on the same device.

    Raises
    ------
    BitmaskError
        As :func:`bool_mask`.

    Examples
    --------
    >>> import numpy as np
    >>> additive_mask(np.array([0b101], dtype=np.int32), 3).tolist()
    [0.0, -inf, 0.0]
    """
    allowed = bool_mask(bitmask, n_columns)
    if isinstance(allowed, np.ndarray):
        return np.where(allowed, 0.0, -np.inf).astype(np.float32 if dtype is None else dtype)
    import torch

    zeros = torch.zeros(allowed.shape, dtype=dtype or torch.float32, device=allowed.device)
    return zeros.masked_fill_(~allowed, float("-inf"))
