"""Tables in which one number often follows itself, as runs.

In: named arrays. Out: the same, the large ones with long runs as the numbers that are repeated, how
often each is, and the shape. A parse table is mostly empty, and neighbouring bytes mostly lead to
the same state of a scanner: such tables become a tenth as large, and are read as fast. ::

    [[0, 0, 0], [0, 7, 7]]      values [0, 7]   lengths [4, 2]   shape [2, 3]
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from cfgguide.base.archive import Arrays
from cfgguide.errors import IndexFormatError

MIN_ITEMS = 1 << 12  # smaller arrays stay as they are
MAX_ITEMS = 1 << 28  # of a table that is read: a small file could claim any size
_VALUES, _LENGTHS, _SHAPE = ":values", ":lengths", ":shape"


def shortened(arrays: Arrays) -> Arrays:
    """Return the arrays, those that become smaller by it as runs.

    >>> table = np.zeros((100, 50), dtype=np.int16)
    >>> {name: array.tolist() for name, array in shortened({"table": table}).items()}
    {'table:values': [0], 'table:lengths': [5000], 'table:shape': [100, 50]}
    """
    found: Arrays = {}
    for name, array in arrays.items():
        flat = array.reshape(-1)
        firsts = np.flatnonzero(flat[1:] != flat[:-1]) + 1 if array.size >= MIN_ITEMS else flat
        if array.size < MIN_ITEMS or len(firsts) * (array.itemsize + 4) > array.nbytes // 2:
            found[name] = array
            continue
        firsts = np.append(0, firsts)
        lengths = np.diff(firsts, append=array.size)
        found[name + _VALUES] = flat[firsts]
        found[name + _LENGTHS] = lengths.astype(np.uint16 if lengths.max() < 1 << 16 else np.uint32)
        found[name + _SHAPE] = np.array(array.shape, dtype=np.int64)
    return found


def restored(arrays: Arrays) -> Arrays:
    """Return the arrays that :func:`shortened` was given.

    Raises
    ------
    IndexFormatError
        If runs are missing or do not fill their table.
    """
    found: Arrays = {}
    for name, array in arrays.items():
        if name.endswith(_VALUES):
            table = name.removesuffix(_VALUES)
            found[table] = _table(
                table, array, arrays.get(table + _LENGTHS), arrays.get(table + _SHAPE)
            )
        elif not name.endswith((_LENGTHS, _SHAPE)):
            found[name] = array
    return found


def _table(
    name: str,
    values: npt.NDArray[Any],
    lengths: npt.NDArray[Any] | None,
    shape: npt.NDArray[Any] | None,
) -> npt.NDArray[Any]:
    is_right = (
        lengths is not None
        and shape is not None
        and lengths.dtype in (np.uint16, np.uint32)
        and shape.dtype == np.int64
        and values.ndim == lengths.ndim == shape.ndim == 1
        and len(values) == len(lengths)
        and 0 < len(shape) <= 8
        and bool((shape >= 0).all())
        and math.prod(shape.tolist()) == int(lengths.sum()) <= MAX_ITEMS
    )
    if not is_right or lengths is None or shape is None:
        raise IndexFormatError(f"the runs of the array {name!r} do not fill it")
    return np.repeat(values, lengths).reshape(shape)
