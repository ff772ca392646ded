"""The masks of a batch in one call: many guides, a row each.

In: guides, an array, and the tokens that they consume first. Out: the array, filled. A batch of a
service is mixed: some guides are where others were before, some on their first visit, some have
ended, and some rows have no grammar.

Known masks are collected first and copied at once, while other threads run; making a mask lets them
run as well. A batch succeeds or fails as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.engine.masks.rows import copy_rows
from cfgguide.errors import BitmaskError, CfgGuideError
from cfgguide.guide.guide import Guide, as_token_id

_NOTHING = np.empty(0, dtype=np.int32)  # the rest of a row is zeros
_EVERYTHING = -1  # a word with all of its bits set


def fill_bitmasks(guides: Sequence[Guide | None], out: Any, *, token_ids: Any = None) -> None:
    """Write the mask of each guide's next token into a row of `out`.

    The guides may read different indexes. Words beyond a guide's own vocabulary are zeroed, and so
    is the whole row of a guide that has consumed EOS.

    Parameters
    ----------
    guides : sequence of Guide or None
        One for each row; None for a row without a grammar, where everything is allowed.
    out : int32 array, shape (n_guides, n_words)
        A numpy array, or a torch tensor on the CPU, with as many words as the largest vocabulary
        needs or more. The layout is that of :meth:`Guide.fill_bitmask`.
    token_ids : sequence, numpy array or torch tensor of int, optional
        A token for each guide, which it consumes first; -1 for none.

    Raises
    ------
    BitmaskError
        If `out` has another dtype or shape, has too few words for a guide, or cannot be written
        to; or if there is not one token for each guide.
    TokenRejectedError
        If a token may not come next; a note names the row. Then, and after any other error,
        nothing is written and no guide has advanced.

    Examples
    --------
    >>> import cfgguide, numpy as np
    >>> vocabulary = cfgguide.Vocabulary([b"a", b"b", None], eos_token_ids=2)
    >>> index = cfgguide.compile(cfgguide.Grammar('start: "ab"'), vocabulary)
    >>> guides = [cfgguide.Guide(index), cfgguide.Guide(index), None]
    >>> out = np.empty((3, 1), dtype=np.int32)
    >>> fill_bitmasks(guides, out, token_ids=[-1, 0, -1])
    >>> out.tolist()
    [[1], [2], [-1]]
    """
    rows = _checked(out, guides)
    before: list[tuple[Guide, int]] = []  # guides that advance, and where they are
    try:
        if token_ids is not None:
            tokens = token_ids.tolist() if hasattr(token_ids, "tolist") else token_ids
            _advance(guides, tokens, before)
        masks = _masks(guides, rows.shape[1])
        if rows.size and rows.strides[1] != rows.itemsize:  # words that lie apart
            packed = np.empty(rows.shape, dtype=np.int32)
            copy_rows(masks, packed)
            rows[:] = packed
        else:
            copy_rows(masks, rows)
    except BaseException:
        for guide, n_steps in reversed(before):
            del guide._steps[n_steps:]
        raise


def _checked(out: Any, guides: Sequence[Guide | None]) -> Int32Array:
    """Return `out` as an array that has a row for each guide, each wide enough."""
    rows = out if type(out) is np.ndarray else np.asarray(out)
    indexes = {guide._index for guide in guides if guide is not None}
    n_words = max((index.vocabulary.n_words for index in indexes), default=0)
    if (
        rows.dtype != np.int32
        or rows.ndim != 2
        or len(rows) != len(guides)
        or not rows.flags.writeable
    ):
        raise BitmaskError(
            f"the bitmasks are a writeable int32 array of shape ({len(guides)}, {n_words}), "
            f"not {rows.dtype} of shape {rows.shape}"
        )
    if n_words > rows.shape[1]:
        for row, guide in enumerate(guides):
            needed = 0 if guide is None else guide.index.vocabulary.n_words
            if needed > rows.shape[1]:
                raise BitmaskError(
                    f"row {row}: the guide's vocabulary needs {needed} words, "
                    f"the bitmasks have {rows.shape[1]}"
                )
    return rows


def _advance(
    guides: Sequence[Guide | None], token_ids: Sequence[int], before: list[tuple[Guide, int]]
) -> None:
    """Have guides consume their tokens, and note where they were before."""
    if len(token_ids) != len(guides):
        raise BitmaskError(f"{len(guides)} guides take {len(guides)} tokens, not {len(token_ids)}")
    for row, (guide, token_id) in enumerate(zip(guides, token_ids, strict=True)):
        if guide is None:
            continue
        try:
            if (token_id if type(token_id) is int else as_token_id(token_id)) < 0:
                continue
            before.append((guide, len(guide._steps)))
            guide.advance(token_id)
        except CfgGuideError as error:
            error.add_note(f"in row {row} of the batch")
            raise


def _masks(guides: Sequence[Guide | None], n_words: int) -> list[Int32Array]:
    """Return the mask of each guide, made where it is not known; no longer than a row.

    A property of the guide would take as long here as all the rest.
    """
    masks = []
    for row, guide in enumerate(guides):
        if guide is None:
            masks.append(np.full(n_words, _EVERYTHING, dtype=np.int32))
            continue
        step_node, _, is_finished = guide._steps[-1]
        if is_finished:
            masks.append(_NOTHING)
            continue
        try:
            subset = step_node.subset or guide._index.allowed(step_node)
        except CfgGuideError as error:
            error.add_note(f"in row {row} of the batch")
            raise
        masks.append(subset.bitmask)
    return masks
