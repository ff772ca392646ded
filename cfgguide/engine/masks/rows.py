"""Copies masks into the rows of one array, while other threads run.

In: the masks of a batch, as they are kept, in a list, and an array. Out: the array, filled. Copying
is most of what a batch of known masks costs. So the compiled form makes no object for a row.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from cfgguide.base import uncompiled as cython

from cfgguide.engine.masks.arrays import Int32Array


def copy_rows(rows: list[Int32Array], out: Int32Array) -> None:
    """Copy rows into an array, and fill what is left of each of its rows with zeros.

    Parameters
    ----------
    rows : list of (int32, shape (n_words_of_row,))
        Contiguous; nobody changes them meanwhile.
    out : int32, shape (n_rows, n_words)
        Writeable, and no narrower than a row; the words of a row lie side by side.
    """
    if cython.compiled:
        copy_compiled(rows, out)  # type: ignore[name-defined]  # noqa: F821
    else:
        for row, line in zip(rows, out, strict=True):
            line[: len(row)] = row
            line[len(row) :] = 0
