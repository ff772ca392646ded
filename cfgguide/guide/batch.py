"""The masks of many guides, as the rows of one array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cfgguide.errors import BitmaskError
from cfgguide.guide.guide import Guide


def fill_bitmasks(guides: Sequence[Guide], out: Any) -> None:
    """Write the mask of each guide's next token into a row of `out`.

    The guides may read different indexes. Words behind those of a guide's own vocabulary are
    zeroed, so are all of a guide that has consumed EOS.

    Parameters
    ----------
    guides : sequence of Guide
        One for each row.
    out : int32 array, shape (n_guides, n_words)
        A numpy array, or a torch tensor on the CPU, with as many words as the largest vocabulary
        needs or more. The layout is that of :meth:`Guide.fill_bitmask`.

    Raises
    ------
    BitmaskError
        If `out` has another dtype or shape, has too few words for a guide, or cannot be written
        to. Nothing is written then.

    Examples
    --------
    >>> import cfgguide, numpy as np
    >>> vocabulary = cfgguide.Vocabulary([b"a", b"b", None], eos_token_ids=2)
    >>> index = cfgguide.compile(cfgguide.Grammar('start: "ab"'), vocabulary)
    >>> guides = [cfgguide.Guide(index), cfgguide.Guide(index)]
    >>> guides[1].advance(0)
    >>> out = np.empty((2, 1), dtype=np.int32)
    >>> fill_bitmasks(guides, out)
    >>> out.tolist()
    [[1], [2]]
    """
    rows = out if type(out) is np.ndarray else np.asarray(out)
    n_words = [guide.index.vocabulary.n_words for guide in guides]
    if (
        rows.dtype != np.int32
        or rows.ndim != 2
        or len(rows) != len(guides)
        or not rows.flags.writeable
    ):
        raise BitmaskError(
            f"the bitmasks are a writeable int32 array of shape ({len(guides)}, "
            f"{max(n_words, default=0)}), not {rows.dtype} of shape {rows.shape}"
        )
    for number, needed in enumerate(n_words):
        if needed > rows.shape[1]:
            raise BitmaskError(
                f"row {number}: the guide's vocabulary needs {needed} words, "
                f"the bitmasks have {rows.shape[1]}"
            )
    for row, guide, needed in zip(rows, guides, n_words, strict=True):
        if needed == len(row):
            guide.fill_bitmask(row)
        else:
            guide.fill_bitmask(row[:needed])
            row[needed:] = 0
