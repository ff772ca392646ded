"""The floor: a stored mask row copied with numpy, and no engine at all."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
from vocabularies import Tokenizer

from engines import Batch, Sequence, new_mask


class Copy:
    """Copies one row whatever the text; no engine that fills a mask can be much quicker."""

    mask: npt.NDArray[np.int32]
    refusals: tuple[type[Exception], ...] = ()

    def prepare(self, tokenizer: Tokenizer) -> None:
        """Allocate the row."""
        self.mask = new_mask(tokenizer)
        self._row = np.full_like(self.mask, -1)

    def compile(self, grammar: str) -> None:
        """Do nothing."""

    def start(self) -> Sequence:
        """Return the copying of the row, and for ``advance`` a call that does nothing."""
        return Sequence(partial(np.copyto, self.mask, self._row), id)

    def batch(self, n: int) -> Batch:
        """Return the copying of the row into many, one by one."""
        rows = np.zeros((n, len(self.mask)), dtype=np.int32)

        def fill(tokens: list[int] | None = None) -> None:
            for row in rows:
                row[:] = self._row

        return Batch(fill, fill)

    def sizes(self) -> dict[str, int]:
        """Return nothing."""
        return {}
