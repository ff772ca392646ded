"""Ways to apply packed masks to logits on a device, all with the same result.

In: a bitmask that lies on the device. Out: minus infinity in the logits wherever a bit is not set.
Each way has two parts: `take` needs only the bitmask and may run beside the forward pass, `apply`
comes after it.

======== ==========================================================================================
package  `cfgguide.apply_bitmask`: and, comparison, `masked_fill_`, over at most 2 ** 23 columns
table    a table has eight flags, as one int64, for each byte of the bitmask; one selection from it
         unpacks eight columns at once, and `where` is the one pass over the logits
triton   a fused kernel that writes only where a token is refused (:mod:`gpu_triton`)
======== ==========================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch

import cfgguide


class Masking(Protocol):
    """A way to apply bitmasks to logits of one shape."""

    def take(self, words: torch.Tensor) -> None:
        """Do what can be done before the logits are there."""

    def apply(self, logits: torch.Tensor) -> None:
        """Write minus infinity into the logits wherever a bit of those words is not set."""


class Package:
    """What `cfgguide.apply_bitmask` does on a device."""

    def __init__(self, logits: torch.Tensor) -> None:
        pass

    def take(self, words: torch.Tensor) -> None:
        """Keep the words."""
        self._words = words

    def apply(self, logits: torch.Tensor) -> None:
        """Unpack and fill."""
        cfgguide.apply_bitmask(logits, self._words)


class Table:
    """Flags of eight columns at once from a table."""

    def __init__(self, logits: torch.Tensor) -> None:
        n_rows, self._n_columns = logits.shape
        device = logits.device
        bits = torch.arange(256)[:, None] >> torch.arange(8)
        self._table = (bits & 1 == 0).view(torch.int64).view(-1).to(device)
        n_bytes = 4 * (-(-self._n_columns // 32))
        self._bytes = torch.empty((n_rows, n_bytes), dtype=torch.int32, device=device)
        self._flags = torch.empty((n_rows, n_bytes), dtype=torch.int64, device=device)
        self._refused = self._flags.view(torch.bool)[:, : self._n_columns]
        self._minus_infinity = torch.tensor(float("-inf"), dtype=logits.dtype, device=device)

    def take(self, words: torch.Tensor) -> None:
        """Unpack the words into one bool for each column."""
        self._bytes.copy_(words.view(torch.uint8))
        torch.index_select(self._table, 0, self._bytes.view(-1), out=self._flags.view(-1))

    def apply(self, logits: torch.Tensor) -> None:
        """Fill."""
        torch.where(self._refused, self._minus_infinity, logits, out=logits)


class Fused:
    """One kernel of Triton."""

    def __init__(self, logits: torch.Tensor) -> None:
        from gpu_triton import mask_rows

        if not logits.is_cuda:
            raise RuntimeError("Triton's kernel runs on CUDA only")
        self._mask_rows = mask_rows

    def take(self, words: torch.Tensor) -> None:
        """Keep the words."""
        self._words = words

    def apply(self, logits: torch.Tensor) -> None:
        """Write where a token is refused."""
        self._mask_rows(logits, self._words)


MASKINGS: dict[str, Callable[[torch.Tensor], Masking]] = {
    "package": Package,
    "table": Table,
    "triton": Fused,
}


def masking_named(name: str, logits: torch.Tensor) -> Masking:
    """Return a way for logits of this shape, once it was seen to do what the package does.

    Raises
    ------
    ImportError
        If what it needs is not installed.
    RuntimeError
        If it does not run on this device, or does something else.
    """
    masking = MASKINGS[name](logits)
    n_rows, n_columns = logits.shape
    size = (n_rows, -(-n_columns // 32))
    words = torch.randint(-(2**31), 2**31, size, dtype=torch.int32, device=logits.device)
    expected, found = torch.randn_like(logits), torch.empty_like(logits)
    found.copy_(expected)
    cfgguide.apply_bitmask(expected, words)
    masking.take(words)
    masking.apply(found)
    if not torch.equal(expected, found):
        raise RuntimeError(f"the masking {name!r} leaves other logits than the package's")
    return masking
