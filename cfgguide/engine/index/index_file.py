"""The entries of an index in a file, and how they are found there.

In: paths and subsets. Out: named arrays and a JSON value for :mod:`cfgguide.base.archive`; and
back: a :class:`Stored`. Paths are held as they are in memory; of the masks only those are read from
a mapped file that are looked up. ::

    paths           int32 (n,)            all paths, one after the other
    path_offsets    int32 (n_entries+1,)  where each starts in `paths`
    subset_of_entry int32 (n_entries,)
    rows            int32 (n_rows, n_words)       bitmasks that are stored whole
    base_of_subset  int32 (n_subsets,)    the row that a subset is like, -1 = the empty one
    change_offsets  int64 (n_subsets+1,)  where the changes of each start in the next two
    change_places   uint32                the indices of the words that differ from the base
    change_words    int32                 those words
    value           {"parts": [...]}      the parts of paths that are no int

A file is checked: every index lies in its array, and no bit stands for a token without text. Which
texts the masks allow is not checked.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from cfgguide.base.archive import Arrays
from cfgguide.base.checked import Checked
from cfgguide.engine.index.configuration_trie import Path
from cfgguide.engine.index.memo import Entries
from cfgguide.engine.masks.arrays import NONE
from cfgguide.engine.masks.subset import Subset, UnpackedMasks

_EMPTY = -1  # in `base_of_subset`
_DEEPEST = 8  # lists in lists of a part of a path


def packed(entries: Iterable[tuple[Path, Subset]], n_words: int) -> tuple[Arrays, dict[str, Any]]:
    """Return entries with distinct paths as arrays and a JSON value."""
    # Sorted, so that the same entries in any order give the same bytes.
    chosen = sorted(entries, key=lambda entry: repr(entry[0]))
    made = Entries()
    for path, subset in chosen:
        made.add(path, subset)
    # Equal ones may be two objects.
    subsets = {subset.key: subset for _, subset in chosen}
    bases = [subset if subset.is_whole else subset.base for subset in subsets.values()]
    rows = {base.key: base for base in bases if base is not None}
    row_of = {key: row for row, key in enumerate(rows)}
    number_of = {key: number for number, key in enumerate(subsets)}
    kept = [subset for subset in subsets.values() if not subset.is_whole]
    items, offsets, parts = made.items
    arrays: Arrays = {
        "paths": items,
        "path_offsets": offsets,
        "subset_of_entry": np.array(
            [number_of[subset.key] for _, subset in chosen], dtype=np.int32
        ),
        "rows": np.array([row.bitmask for row in rows.values()], dtype=np.int32).reshape(
            -1, n_words
        ),
        "base_of_subset": np.array(
            [_EMPTY if base is None else row_of[base.key] for base in bases], dtype=np.int32
        ),
        "change_offsets": np.cumsum(
            [0, *(len(subset.places) for subset in subsets.values())], dtype=np.int64
        ),
        "change_places": _joined([subset.places for subset in kept], np.uint32),
        "change_words": _joined([subset.words for subset in kept], np.int32),
    }
    return arrays, {"parts": parts}


class Stored:
    """Entries in arrays, usually those of a mapped file.

    Parameters
    ----------
    arrays : dict of str to array
        As :func:`packed` makes them.
    value : JSON value
        Likewise.
    possible : int32, shape (n_words,)
        The tokens that some mask may allow, as bits: those with text, and EOS.

    Raises
    ------
    IndexFormatError
        If the arrays could not have been written for such a vocabulary.
    """

    def __init__(
        self,
        arrays: Arrays,
        value: Any,
        *,
        possible: npt.NDArray[np.int32],
    ) -> None:
        checked = Checked(arrays, "the index cannot be used")
        _check(checked, possible)
        parts = value.get("parts") if isinstance(value, dict) else None
        if not isinstance(parts, list):
            checked.refuse("the parts of its paths are not told")
        try:
            paths, offsets = np.array(arrays["paths"]), np.array(arrays["path_offsets"])
            self._entries = Entries.of(paths, offsets, [_tuples(part, _DEEPEST) for part in parts])
        except ValueError as error:
            checked.refuse(str(error))
        _check_paths(checked, paths, offsets, self._entries.items[2])
        self._arrays = arrays
        self._unpacked = UnpackedMasks.of(len(possible))
        # Weak, so that what an index drops is freed.
        self._subsets: WeakValueDictionary[int, Subset] = WeakValueDictionary()
        self._rows: WeakValueDictionary[int, Subset] = WeakValueDictionary()
        self.deepest = int(np.diff(offsets).max(initial=1))

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, path: Path) -> tuple[Path, Subset] | None:
        """Return the entry under the one prefix of a path that has one, and that prefix."""
        entry = self._entries.find(path)
        return None if entry == NONE else (self._entries.path(entry), self._subset_of(entry))

    def paths(self) -> Iterable[Path]:
        """Return the paths of all entries."""
        return map(self._entries.path, range(len(self)))

    def entries(self) -> Iterable[tuple[Path, Subset]]:
        """Return all entries."""
        for entry in range(len(self)):
            yield self._entries.path(entry), self._subset_of(entry)

    def _subset_of(self, entry: int) -> Subset:
        number = int(self._arrays["subset_of_entry"][entry])
        known = self._subsets.get(number)
        if known is None:
            known = self._subsets[number] = self._subset(number)
        return known

    def _subset(self, number: int) -> Subset:
        row = int(self._arrays["base_of_subset"][number])
        start, end = self._arrays["change_offsets"][number : number + 2].tolist()
        base = None if row == _EMPTY else self._row(row)
        if base is not None and start == end:
            return base
        places = self._arrays["change_places"][start:end]
        return Subset(self._arrays["change_words"][start:end], places, base, self._unpacked)

    def _row(self, row: int) -> Subset:
        known = self._rows.get(row)
        if known is None:
            known = self._rows[row] = Subset(self._arrays["rows"][row])
        return known


def _tuples(part: Any, depth: int) -> Any:
    """Return a part of a path as it is in memory."""
    if isinstance(part, list | tuple) and depth:
        return tuple([_tuples(each, depth - 1) for each in part])
    if part is None or type(part) is int:
        return part
    raise ValueError("its paths have other parts than numbers")


def _check_paths(
    checked: Checked,
    paths: npt.NDArray[np.int32],
    offsets: npt.NDArray[np.int32],
    parts: list[Any],
) -> None:
    """Refuse paths whose first part is not the lexer's, or whose levels are of other widths."""
    n_hypotheses = np.array([*map(_n_hypotheses, parts), 0])
    widths = np.array([*map(_width, parts), 0])
    number = np.where(paths & 3, paths >> 2, len(parts))  # plain levels have no width
    is_first = np.zeros(len(paths), dtype=np.bool_)
    is_first[offsets[:-1]] = True
    first = n_hypotheses[number[is_first]]
    checked.check((first >= 0).all(), "a path begins with no part of a lexer")
    is_whole = widths[number] == np.repeat(first, np.diff(offsets))
    checked.check(is_whole[~is_first].all(), "a path ends within a level")


def _n_hypotheses(part: Any) -> int:
    """Return of how many hypotheses the part of a lexer is; -1 if it is none."""
    is_lexer = (
        isinstance(part, tuple)
        and len(part) == 2
        and isinstance(part[0], tuple)
        and type(part[1]) is int
        and all(
            isinstance(each, tuple)
            and len(each) in (2, 3)
            and type(each[0]) is int
            and all(isinstance(rest, tuple) and _width(rest) >= 0 for rest in each[1:])
            and None not in [number for rest in each[1:] for number in rest]
            for each in part[0]
        )
    )
    return (len(part[0]) or -1) if is_lexer else -1


def _width(part: Any) -> int:
    """Return how many parse states a level has; -1 if it is none."""
    is_level = isinstance(part, tuple) and all(each is None or type(each) is int for each in part)
    return len(part) if is_level else -1


def _joined(parts: list[Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    nothing = np.empty(0, dtype=dtype)
    return np.concatenate([nothing, *(np.asarray(part, dtype=dtype) for part in parts)])


def _check(checked: Checked, possible: npt.NDArray[np.int32]) -> None:
    """Refuse what could not have been written for a vocabulary with such tokens."""
    checked.numbers("paths", (None,))
    n_paths = len(checked.numbers("path_offsets", (None,))) - 1
    rows = checked.numbers("rows", (None, len(possible)))
    n_subsets = len(checked.numbers("base_of_subset", (None,), _EMPTY, len(rows) - 1))
    checked.numbers("subset_of_entry", (n_paths,), 0, n_subsets - 1)
    places = checked.numbers("change_places", (None,), 0, len(possible) - 1, dtypes=(np.uint32,))
    words = checked.numbers("change_words", places.shape)
    checked.offsets("change_offsets", n_subsets, len(places), dtype=np.int64)
    is_possible = not any((row & ~possible).any() for row in rows)
    is_possible &= not (words & ~possible[places]).any()
    checked.check(is_possible, "a mask allows tokens that have no text, or that there are not")
