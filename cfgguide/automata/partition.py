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
    rows = columns.tolist()
    before = predecessors(rows)
    numbers: dict[int, int] = {}
    block = [numbers.setdefault(label, len(numbers)) for label in labels.tolist()]
    sizes = Counter(block)
    affected = list(range(len(rows)))
    while affected:
        moved = _split(rows, block, sizes, affected)
        affected = sorted({state for target in moved for state in before[target]})
    return np.array(block, dtype=np.int64)


def _split(
    rows: list[list[int]], block: list[int], sizes: Counter[int], affected: list[int]
) -> list[int]:
    """Split classes by where the affected states lead now; return the states that moved.

    The other states of a class lead where they led before: they stay together and keep its number.
    """
    parts: dict[int, dict[tuple[int, ...], list[int]]] = {}
    for state in affected:
        signature = tuple([block[target] for target in rows[state]])
        parts.setdefault(block[state], {}).setdefault(signature, []).append(state)
    moved: list[int] = []
    for old, groups in parts.items():
        leaving = sorted(groups.values(), key=len)
        if sum(map(len, leaving)) == sizes[old]:
            leaving.pop()  # no other state stays: the largest part keeps the number
        for states in leaving:
            new = len(sizes)
            sizes[new] = len(states)
            sizes[old] -= len(states)
            for state in states:
                block[state] = new
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


def predecessors(rows: list[list[int]]) -> list[set[int]]:
    """Return, for each state, the states that have it in their row."""
    before: list[set[int]] = [set() for _ in rows]
    for state, row in enumerate(rows):
        for target in set(row):
            before[target].add(state)
    return before
