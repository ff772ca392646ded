"""Equivalence classes of the states of an automaton, by partition refinement.

In: a transition table and a label per state. Out: the coarsest partition that keeps labels apart
and whose classes lead to the same classes on every byte class.

A class is split only where some of its states have a successor that has just moved to a new class.
The largest part keeps the old number, so a state moves at most a logarithmic number of times: a
chain of ten thousand states, such as ``x{9999}``, is fast.

Source: Hopcroft 1971, "An n log n algorithm for minimizing states in a finite automaton", of which
this is a simple form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeVar

import numpy as np
import numpy.ma  # np.unique would import it at its first call, for 15 ms at a bad moment
import numpy.typing as npt

Integer = TypeVar("Integer", np.int32, np.int64)
Number = TypeVar("Number", bound=np.generic)


def refined(columns: npt.NDArray[np.int32], labels: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the coarsest partition that refines `labels` and is stable under `columns`.

    Parameters
    ----------
    columns : int32, shape (n_states, n_byte_classes)
        Next state per byte class.
    labels : int64, shape (n_states,)
        States with different labels are kept apart.

    Returns
    -------
    int64, shape (n_states,)
        The equivalence class of each state, numbered from 0.
    """
    before = predecessors(edges(columns), len(columns))
    numbers: dict[int, int] = {}
    first = [numbers.setdefault(label, len(numbers)) for label in labels.tolist()]
    block = np.array(first, dtype=np.int32)
    sizes = Counter(first)
    affected = list(range(len(columns)))
    while affected:
        moved = _split(columns, block, sizes, affected)
        affected = sorted({state for target in moved for state in before[target]})
    return block.astype(np.int64)


def _split(
    columns: npt.NDArray[np.int32],
    block: npt.NDArray[np.int32],
    sizes: Counter[int],
    affected: list[int],
) -> list[int]:
    """Split classes by where the affected states lead now; return the states that moved.

    The other states of a class lead where they led before: they stay together and keep its number.
    """
    signatures = block[columns[affected]]
    size = signatures.shape[1] * signatures.itemsize
    keys: list[bytes] = signatures.view(f"V{size}").reshape(-1).tolist() if size else [b""]
    parts: dict[int, dict[bytes, list[int]]] = {}
    for state, own, key in zip(affected, block[affected].tolist(), keys, strict=True):
        parts.setdefault(own, {}).setdefault(key, []).append(state)
    moved: list[int] = []
    for old, groups in parts.items():
        leaving = sorted(groups.values(), key=len)
        if sum(map(len, leaving)) == sizes[old]:
            leaving.pop()  # no other state stays: the largest part keeps the number
        for states in leaving:
            new = len(sizes)
            sizes[new] = len(states)
            sizes[old] -= len(states)
            block[states] = new
            moved.extend(states)
    return moved


def distinct_columns(
    table: npt.NDArray[Integer],
) -> tuple[npt.NDArray[Integer], npt.NDArray[np.int32]]:
    """Return the distinct columns of a table, in order, and each column's index among them.

    >>> distinct_columns(np.array([[1, 2, 1], [3, 4, 3]], dtype=np.int32))[1].tolist()
    [0, 1, 0]
    """
    n_rows, n_columns = table.shape
    if n_rows == 0:
        return table[:, : min(n_columns, 1)], np.zeros(n_columns, dtype=np.int32)
    columns = np.ascontiguousarray(table.T)
    keys: list[bytes] = columns.view(f"V{n_rows * table.itemsize}").reshape(-1).tolist()
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    distinct = np.frombuffer(b"".join(numbers), dtype=table.dtype).reshape(-1, n_rows).T
    inverse = np.fromiter(map(numbers.__getitem__, keys), dtype=np.int32, count=n_columns)
    return np.ascontiguousarray(distinct), inverse


def distinct_rows(rows: npt.NDArray[Number]) -> tuple[npt.NDArray[Number], npt.NDArray[np.int64]]:
    """Return the distinct rows of a table, sorted by bytes, and each row's index among them.

    Much faster than ``np.unique(axis=0)``, which sorts by one column after the other.
    """
    rows = np.ascontiguousarray(rows)
    as_bytes = rows.view(np.dtype((np.void, rows.strides[0]))).reshape(-1)
    _, first, numbers = np.unique(as_bytes, return_index=True, return_inverse=True)
    return rows[first], numbers.reshape(-1)


def edges(columns: npt.NDArray[np.int32]) -> Iterator[tuple[int, int]]:
    """Return pairs of a state and one that it leads to; most of them once."""
    is_new = np.ones(columns.shape, dtype=np.bool_)
    is_new[:, 1:] = columns[:, 1:] != columns[:, :-1]  # neighbours mostly lead to the same state
    places = np.nonzero(is_new)
    return zip(places[0].tolist(), columns[places].tolist(), strict=True)


def predecessors(edges: Iterable[tuple[int, int]], n_states: int) -> list[set[int]]:
    """Return, for each state, the states that lead to it."""
    before: list[set[int]] = [set() for _ in range(n_states)]
    for state, target in edges:
        before[target].add(state)
    return before
