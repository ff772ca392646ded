"""The masks of a batch in one call: many guides, a row each.

In: guides, an array, and the tokens that they consume first. Out: the array, filled. A batch of a
service is mixed: some guides are where others were before, some on their first visit, some have
ended, and some rows have no grammar.

Known masks are collected first and copied at once, while other threads run; making a mask lets them
run as well. A batch succeeds or fails as a whole. A service that must not wait for masks bounds how
many a call makes, and goes on with the rows that are ready.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, overload

import numpy as np

from cfgguide.engine.index.index import Index
from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.errors import BitmaskError, CfgGuideError, shown
from cfgguide.guide.buffers import EVERYTHING, write_rows
from cfgguide.guide.guide import Guide, as_token_id, bitmasks_of, go_back, lengths_of


class _Row(Protocol):
    """A guide, or what follows one."""

    n_waits: int

    @property
    def index(self) -> Index:
        """What it reads."""

    @property
    def is_ready(self) -> bool:
        """Whether its mask need not be made."""

    def bitmask(self) -> Int32Array:
        """Return its mask."""


@overload
def fill_bitmasks(guides: Sequence[Guide | None], out: Any, *, token_ids: Any = None) -> None: ...


@overload
def fill_bitmasks(
    guides: Sequence[Guide | None], out: Any, *, token_ids: Any = None, max_new_masks: int
) -> list[int]: ...


def fill_bitmasks(
    guides: Sequence[Guide | None],
    out: Any,
    *,
    token_ids: Any = None,
    max_new_masks: int | None = None,
) -> list[int] | None:
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
    max_new_masks : int, optional
        Most masks to make in this call; by default all that are missing. Rows whose masks are known
        come first. Then masks are made, one after the other, each for all rows that want it: those
        first that the most calls in a row have left for later, then by row. So with 1 or more, each
        row is ready after as many calls as there are rows, if not before. A mask is made as a
        whole: with 1, a call takes as long as its slowest mask.

    Returns
    -------
    list of int, or None
        With `max_new_masks`, the rows that are not ready, ascending. They are zeroed, so that
        nothing can be taken from them; their guides have consumed their tokens. Ask again, with -1
        for their tokens.

    Raises
    ------
    BitmaskError
        If `out` has another dtype or shape, has too few words for a guide, or cannot be written
        to; if there is not one token for each guide; or if `max_new_masks` is no number from 0 on.
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
    before = [] if token_ids is None else lengths_of(guides)
    try:
        if token_ids is not None:
            _advance(guides, token_ids.tolist() if hasattr(token_ids, "tolist") else token_ids)
        if max_new_masks is not None:
            return write_ready_rows(guides, out, max_new_masks)
        write_rows(bitmasks_of(guides), out)
    except BaseException:
        go_back(before)
        raise
    return None


def write_ready_rows(rows: Sequence[_Row | None], out: Any, max_new_masks: int) -> list[int]:
    """Write the masks that are known or among the first that are missing; return the other rows.

    See :func:`fill_bitmasks`. A row that has waited is before all that begin to wait later, so that
    none waits for ever while others go on and miss again.
    """
    if type(max_new_masks) is not int or max_new_masks < 0:
        raise BitmaskError(f"max_new_masks is a number from 0 on, not {shown(max_new_masks)}")
    masks = [EVERYTHING] * len(rows)
    missing: list[tuple[int, _Row]] = []
    for number, row in enumerate(rows):
        if row is not None and row.is_ready:
            masks[number] = _mask_of(row, number)
        elif row is not None:
            missing.append((number, row))
    missing.sort(key=lambda each: -each[1].n_waits)
    waiting: set[int] = set()
    changed: set[Index] = set()  # where a mask was made, which may be that of other rows
    most_words = max((row.index.vocabulary.n_words for _, row in missing), default=0)
    nothing = np.zeros(most_words, dtype=np.int32)
    for number, row in missing:
        index = row.index
        n_made = index.n_made
        if max_new_masks > 0 or (index in changed and row.is_ready):
            masks[number] = _mask_of(row, number)
        else:
            masks[number] = nothing[: index.vocabulary.n_words]
            waiting.add(number)
        if index.n_made > n_made:
            max_new_masks -= index.n_made - n_made
            changed.add(index)
    write_rows(masks, out)
    for number, row in enumerate(rows):
        if row is not None:
            row.n_waits = row.n_waits + 1 if number in waiting else 0
    return sorted(waiting)


def _mask_of(row: _Row, number: int) -> Int32Array:
    try:
        return row.bitmask()
    except CfgGuideError as error:
        error.add_note(f"in row {number} of the batch")
        raise


def _advance(guides: Sequence[Guide | None], token_ids: Sequence[int]) -> None:
    if len(token_ids) != len(guides):
        raise BitmaskError(f"{len(guides)} guides take {len(guides)} tokens, not {len(token_ids)}")
    for row, (guide, token_id) in enumerate(zip(guides, token_ids, strict=True)):
        if guide is None:
            continue
        try:
            if (token_id if type(token_id) is int else as_token_id(token_id)) >= 0:
                guide.advance(token_id)
        except CfgGuideError as error:
            error.add_note(f"in row {row} of the batch")
            raise
