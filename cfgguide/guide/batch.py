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

from cfgguide.errors import BitmaskError, CfgGuideError
from cfgguide.guide.buffers import write_rows
from cfgguide.guide.guide import Guide, as_token_id, bitmasks_of, go_back, lengths_of


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
    before = [] if token_ids is None else lengths_of(guides)
    try:
        if token_ids is not None:
            _advance(guides, token_ids.tolist() if hasattr(token_ids, "tolist") else token_ids)
        write_rows(bitmasks_of(guides), out)
    except BaseException:
        go_back(before)
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
