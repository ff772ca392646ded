"""The entries of an index in a file, and how they are found there.

In: paths and subsets. Out: named arrays and a JSON value for :mod:`cfgguide.base.archive`; and
back: a :class:`Stored`, which reads from the mapped file only what is looked up, so that an index
of any size opens at once. ::

    paths           int32 (n,)            all paths, one after the other
    path_offsets    int64 (n_entries+1,)  where each starts in `paths`
    hashes          uint64 (n_entries,)   of each path, ascending: entries are found by bisection
    subset_of_entry int32 (n_entries,)
    rows            int32 (n_rows, n_words)       bitmasks that are stored whole
    base_of_subset  int32 (n_subsets,)    the row that a subset is like, -1 = the empty one
    change_offsets  int64 (n_subsets+1,)  where the changes of each start in the next two
    change_places   uint32                the indices of the words that differ from the base
    change_words    int32                 those words
    value           {"lexers": [[[[state, [obligation, ...]], ...], context], ...]}

A path is the scanner state and then parse states, the top first. If there is more than one
hypothesis, or an obligation, or a context, it is ``-1 - i`` for the lexer's part number ``i`` and
then, level by level, a parse state of each hypothesis, -1 for none.

A file is checked: every index lies in its array, and no bit stands for a token without text. Which
texts the masks allow is not checked.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, pairwise
from typing import Any, NoReturn
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from cfgguide.base.archive import Arrays
from cfgguide.engine.index.configuration_trie import Path
from cfgguide.engine.masks.subset import Subset, UnpackedMasks
from cfgguide.errors import IndexFormatError

_EMPTY = -1  # in `base_of_subset`
_NO_STATE = -1  # in `paths`
_PRIME, _SEED, _MASK = 0x100000001B3, 0xCBF29CE484222325, (1 << 64) - 1
_MAX_ALIKE = 8  # paths of one hash; no writer comes to two

_DTYPES = {
    "paths": np.int32,
    "path_offsets": np.int64,
    "hashes": np.uint64,
    "subset_of_entry": np.int32,
    "rows": np.int32,
    "base_of_subset": np.int32,
    "change_offsets": np.int64,
    "change_places": np.uint32,
    "change_words": np.int32,
}


def packed(entries: Iterable[tuple[Path, Subset]], n_words: int) -> tuple[Arrays, dict[str, Any]]:
    """Return entries with distinct paths as arrays and a JSON value."""
    entries = list(entries)
    # Sorted, so that the same entries in any order give the same bytes.
    lexers = sorted({path[0] for path, _ in entries if not isinstance(path[0], int)})  # type: ignore[type-var]
    number_of_lexer = {lexer: number for number, lexer in enumerate(lexers)}
    hashed_entries = []
    for path, subset in entries:
        numbers = _numbers(path, number_of_lexer)
        assert numbers is not None, "every lexer's part has a number"
        hashed_entries.append((_hash(numbers), numbers, subset))
    hashed_entries.sort(key=lambda entry: entry[:2])
    subsets = {
        subset.key: subset for _, _, subset in hashed_entries
    }  # equal ones may be two objects
    bases = [subset if subset.is_whole else subset.base for subset in subsets.values()]
    rows = {base.key: base for base in bases if base is not None}
    row_of = {key: row for row, key in enumerate(rows)}
    number_of = {key: number for number, key in enumerate(subsets)}
    kept = [subset for subset in subsets.values() if not subset.is_whole]
    arrays: Arrays = {
        "paths": _joined([numbers for _, numbers, _ in hashed_entries], np.int32),
        "path_offsets": _offsets(len(numbers) for _, numbers, _ in hashed_entries),
        "hashes": np.array([key for key, _, _ in hashed_entries], dtype=np.uint64),
        "subset_of_entry": np.array(
            [number_of[subset.key] for _, _, subset in hashed_entries], dtype=np.int32
        ),
        "rows": np.array([row.bitmask for row in rows.values()], dtype=np.int32).reshape(
            -1, n_words
        ),
        "base_of_subset": np.array(
            [_EMPTY if base is None else row_of[base.key] for base in bases], dtype=np.int32
        ),
        "change_offsets": _offsets(len(subset.places) for subset in subsets.values()),
        "change_places": _joined([subset.places for subset in kept], np.uint32),
        "change_words": _joined([subset.words for subset in kept], np.int32),
    }
    return arrays, {"lexers": [_parts(lexer) for lexer in lexers]}


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
        _check(arrays, value, possible)
        self._arrays = arrays
        self._unpacked = UnpackedMasks.of(len(possible))
        self._hashes = arrays["hashes"]
        self._lexers = [_lexer(parts) for parts in value["lexers"]]
        _check_widths(arrays, self._lexers)
        self._number_of_lexer = {lexer: number for number, lexer in enumerate(self._lexers)}
        self._lengths = frozenset(_lengths(arrays).tolist())
        # Weak, so that what an index drops is freed.
        self._subsets: WeakValueDictionary[int, Subset] = WeakValueDictionary()
        self._rows: WeakValueDictionary[int, Subset] = WeakValueDictionary()
        self.deepest = max(self._lengths, default=1)

    def __len__(self) -> int:
        return len(self._hashes)

    def find(self, path: Path) -> tuple[Path, Subset] | None:
        """Return the entry under the one prefix of a path that has one, and that prefix."""
        numbers = _numbers(path, self._number_of_lexer)
        if numbers is None:
            return None
        key = _SEED
        for length, number in enumerate(numbers, 1):
            key = _hashed(key, number)
            entry = self._entry(key, numbers[:length]) if length in self._lengths else None
            if entry is not None:
                width = 1 if numbers[0] >= 0 else len(self._lexers[-1 - numbers[0]][0])
                return path[: 1 + (length - 1) // width], self._subset_of(entry)
        return None

    def paths(self) -> Iterable[Path]:
        """Return the paths of all entries."""
        offsets = self._arrays["path_offsets"].tolist()
        for start, end in pairwise(offsets):
            yield self._path(self._arrays["paths"][start:end].tolist())

    def entries(self) -> Iterable[tuple[Path, Subset]]:
        """Return all entries."""
        for entry, path in enumerate(self.paths()):
            yield path, self._subset_of(entry)

    def _path(self, numbers: list[int]) -> Path:
        first, *states = numbers
        if first >= 0:
            return tuple(numbers)
        lexer = self._lexers[-1 - first]
        width = len(lexer[0])
        known = [None if state == _NO_STATE else state for state in states]
        return (lexer, *(tuple(known[at : at + width]) for at in range(0, len(known), width)))

    def _entry(self, key: int, numbers: list[int]) -> int | None:
        entry = int(np.searchsorted(self._hashes, np.uint64(key)))
        while entry < len(self._hashes) and self._hashes[entry] == key:
            start, end = self._arrays["path_offsets"][entry : entry + 2]
            if self._arrays["paths"][start:end].tolist() == numbers:
                return entry
            entry += 1
        return None

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


def _numbers(path: Path, number_of_lexer: dict[Any, int]) -> list[int] | None:
    """Return a path as numbers; None if its lexer's part has none."""
    first, *levels = path
    if isinstance(first, int):
        return list(path)  # type: ignore[arg-type]
    number = number_of_lexer.get(first)
    if number is None:
        return None
    states = [state for level in levels for state in level]  # type: ignore[attr-defined]
    return [-1 - number, *(_NO_STATE if state is None else state for state in states)]


def _parts(lexer: Any) -> list[Any]:
    hypotheses, context = lexer
    return [[[state, *map(list, rest)] for state, *rest in hypotheses], context]


def _lexer(parts: Any) -> tuple[tuple[Any, ...], int]:
    hypotheses, context = parts
    return tuple((state, *map(tuple, rest)) for state, *rest in hypotheses), context


def _hash(numbers: list[int]) -> int:
    """Return the FNV-1a hash of 64 bits over numbers in place of bytes."""
    key = _SEED
    for number in numbers:
        key = _hashed(key, number)
    return key


def _hashed(key: int, number: int) -> int:
    return ((key ^ (number & 0xFFFFFFFF)) * _PRIME) & _MASK


def _lengths(arrays: Arrays) -> npt.NDArray[np.int64]:
    return np.unique(np.diff(arrays["path_offsets"]))


def _offsets(lengths: Iterable[int]) -> npt.NDArray[np.int64]:
    return np.cumsum([0, *lengths], dtype=np.int64)


def _joined(parts: list[Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    nothing = np.empty(0, dtype=dtype)
    return np.concatenate([nothing, *(np.asarray(part, dtype=dtype) for part in parts)])


def _check(arrays: Arrays, value: Any, possible: npt.NDArray[np.int32]) -> None:
    """Refuse what could not have been written for a vocabulary with such tokens."""
    _check_shapes(arrays, len(possible))
    n_paths, n_changes = len(arrays["paths"]), len(arrays["change_places"])
    n_entries, n_subsets = len(arrays["hashes"]), len(arrays["base_of_subset"])
    _check_offsets(arrays["path_offsets"], n_entries, n_paths, least=1)
    _check_offsets(arrays["change_offsets"], n_subsets, n_changes, least=0)
    for name, n_all, least, n_asked in (
        ("subset_of_entry", n_entries, 0, n_subsets),
        ("base_of_subset", n_subsets, _EMPTY, len(arrays["rows"])),
        ("change_places", n_changes, 0, len(possible)),
    ):
        array = arrays[name]
        if len(array) != n_all:
            _refuse(f"{name!r} has {len(array)} numbers, not {n_all}")
        if n_all and not (least <= array.min() and array.max() < n_asked):
            _refuse(f"{name!r} points outside its array")
    if len(arrays["change_words"]) != n_changes:
        _refuse("its changes lack their words, or their places")
    _check_hashes(arrays["hashes"])
    _check_bits(arrays, possible)
    if not isinstance(value, dict) or not _are_lexers(value.get("lexers")):
        _refuse("the lexers' parts of its paths are not told")


def _check_shapes(arrays: Arrays, n_words: int) -> None:
    for name, dtype in _DTYPES.items():
        array = arrays.get(name)
        if array is None or array.dtype != dtype or array.ndim != (2 if name == "rows" else 1):
            _refuse(f"there is no array {name!r} as it should be")
    if arrays["rows"].shape[1] != n_words:
        _refuse("its masks are not as long as the vocabulary")


def _check_offsets(offsets: npt.NDArray[Any], n_parts: int, n_all: int, *, least: int) -> None:
    if len(offsets) != n_parts + 1 or offsets[0] != 0 or offsets[-1] != n_all:
        _refuse("its offsets do not fit")
    # Compared, not subtracted: differences of such numbers may overflow.
    before, after = offsets[:-1], offsets[1:]
    if (before > after).any() or (least and (before == after).any()):
        _refuse("its offsets do not fit")


def _check_hashes(hashes: npt.NDArray[Any]) -> None:
    if (hashes[:-1] > hashes[1:]).any():
        _refuse("the hashes are not sorted")
    if (hashes[:-_MAX_ALIKE] == hashes[_MAX_ALIKE:]).any():
        _refuse("too many of the hashes are alike")


def _check_bits(arrays: Arrays, possible: npt.NDArray[np.int32]) -> None:
    rows, changes = arrays["rows"], arrays["change_words"]
    if (
        any((row & ~possible).any() for row in rows)
        or (changes & ~possible[arrays["change_places"]]).any()
    ):
        _refuse("a mask allows tokens that have no text, or that there are not")


def _check_widths(arrays: Arrays, lexers: list[Any]) -> None:
    """Refuse paths that name no lexer's part, or are cut within a level."""
    starts = arrays["path_offsets"][:-1]
    firsts = arrays["paths"][starts]
    if (firsts < -len(lexers)).any():
        _refuse("a path names no lexer's part")
    widths = np.array([len(hypotheses) for hypotheses, _ in lexers], dtype=np.int64)
    is_long = firsts < 0
    lengths = np.diff(arrays["path_offsets"])[is_long] - 1
    if (lengths % widths[-1 - firsts[is_long]]).any():
        _refuse("a path ends within a level")


def _are_lexers(lexers: Any) -> bool:
    return isinstance(lexers, list) and all(
        isinstance(lexer, list)
        and len(lexer) == 2
        and isinstance(lexer[0], list)
        and lexer[0]
        and all(isinstance(part, list) and len(part) in (2, 3) for part in lexer[0])
        and all(isinstance(numbers, list) for _, *rest in lexer[0] for numbers in rest)
        and all(
            type(number) is int
            for state, *rest in lexer[0]
            for number in (state, *chain(*rest), lexer[1])
        )
        for lexer in lexers
    )


def _refuse(what: str) -> NoReturn:
    raise IndexFormatError(f"the index cannot be used: {what}; make it again")
