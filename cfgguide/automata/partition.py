"""Equivalence classes of the states of an automaton, by partition refinement.

In: a transition table and a label per state. Out: the coarsest partition that keeps labels apart
and whose classes lead to the same classes on every byte class.

The work is that of :mod:`cfgguide.automata.partition_kernels`: a chain of ten thousand states, such
as ``x{9999}``, is fast.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypeVar

import numpy as np
import numpy.ma  # np.unique would import it at its first call, for 15 ms at a bad moment
import numpy.typing as npt

from cfgguide.automata import partition_kernels as kernels
from cfgguide.automata.dfa import CLASS, DEAD, IS_DEAD, IS_END, N_ROWS, NOWHERE, OPEN
from cfgguide.base.numbered import Numbered

Integer = TypeVar("Integer", np.int32, np.int64)
Number = TypeVar("Number", bound=np.generic)
_IS_COMPILED = not kernels.__file__.endswith(".py")


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
    if not len(columns):
        return np.zeros(0, dtype=np.int64)
    # Many states that go the same ways, as of 2,000 words that may stand in one place, are joined
    # at once. Whether there are many is told by a number of each row: sorting rows takes longer.
    weights = np.cumprod(np.full(columns.shape[1], 1_000_003, dtype=np.int32), dtype=np.int32)
    if 2 * len(np.unique(columns @ weights)) < len(columns):
        labelled, joined = distinct_rows(np.hstack([labels[:, None].astype(np.int32), columns]))
        if 2 * len(labelled) < len(columns):
            columns = joined.astype(np.int32)[labelled[:, 1:]]
            return refined(columns, labelled[:, 0].astype(np.int64))[joined]
    moves = Moves(columns)
    if not columns[DEAD].any():  # what leads only to states like it is all one class
        ends = np.where(labels == labels[DEAD], OPEN, IS_END).astype(np.int32)
        moves.leave_dead(ends)
        labels = np.where(ends == IS_DEAD, labels.min() - 1, labels)
    numbers = Numbered[int]()
    classes = [numbers[label] for label in labels.tolist()]
    return moves.refined(np.array(classes, dtype=np.int32), len(numbers)).astype(np.int64)


class Moves:
    """The moves of an automaton as kernels read them, and their workspace.

    Parameters
    ----------
    table : int32, shape (n_states, n_columns)
        Next state per byte class, or `NOWHERE`.
    """

    def __init__(self, table: npt.NDArray[np.int32]) -> None:
        self.n_states = len(table)
        self.targets = np.array(table.T, order="C").reshape(-1)  # `leave_dead` changes it
        self._before = np.empty(len(self.targets), dtype=np.int32)
        self._first_before = np.empty(self.n_states + 1, dtype=np.int32)

    def leave_dead(self, labels: npt.NDArray[np.int32]) -> None:
        """Label the states that reach no end `IS_DEAD`; moves to them lead nowhere from now on."""
        if not _IS_COMPILED:
            self._leave_dead_by_layers(labels)
            return
        pending = np.empty(self.n_states, dtype=np.int32)
        kernels.leave_dead(
            self.targets, self.n_states, labels, self._first_before, self._before, pending
        )

    def refined(self, classes: npt.NDArray[np.int32], n_classes: int) -> npt.NDArray[np.int32]:
        """Return the coarsest refinement of some classes."""
        if not _IS_COMPILED:
            return self._refined_by_parts(classes)
        kept = np.flatnonzero(self.targets != NOWHERE).astype(np.int32)
        columns, sources = np.divmod(kept, np.int32(self.n_states))
        n_columns = len(self.targets) // self.n_states
        states = np.empty((N_ROWS, self.n_states + n_classes), dtype=np.int32)
        moves = np.empty((N_ROWS, len(kept) + n_columns + 1), dtype=np.int32)
        states[CLASS, : self.n_states] = classes
        kernels.refine(
            sources,
            columns,
            self.targets[kept],
            self.n_states,
            n_classes,
            n_columns,
            states,
            moves,
            self._first_before,
            self._before,
        )
        return states[CLASS, : self.n_states]

    def numbered(
        self, classes: npt.NDArray[np.int32], start: int
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return a state of each class that is reached, breadth-first, and the classes' numbers.

        These begin with 1 for that of `start`; the others have `DEAD`.
        """
        numbers = np.empty(int(classes.max()) + 1, dtype=np.int32)
        order = np.empty(len(numbers), dtype=np.int32)
        n_found = kernels.number_breadth_first(
            self.targets, self.n_states, start, classes, numbers, order
        )
        return order[:n_found], numbers

    # Without compiled kernels: numpy's loops over whole layers and parts are quicker than Python's.

    def _leave_dead_by_layers(self, labels: npt.NDArray[np.int32]) -> None:
        targets = self.targets.reshape(-1, self.n_states)
        is_live = np.append(labels == IS_END, False)  # that of `NOWHERE`, which is -1, is last
        while True:
            more = is_live.copy()
            more[:-1] |= is_live[targets].any(axis=0)
            if np.array_equal(more, is_live):
                break
            is_live = more
        labels[:] = np.where(labels == IS_END, IS_END, np.where(is_live[:-1], OPEN, IS_DEAD))
        self.targets[~is_live[self.targets]] = NOWHERE

    def _refined_by_parts(self, classes: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Split classes by where states lead, only those before a state that has just moved."""
        columns = np.ascontiguousarray(self.targets.reshape(-1, self.n_states).T)
        block = np.append(classes, -1).astype(np.int32)  # `NOWHERE` is in a class of its own
        sizes = Counter(classes.tolist())
        before: list[set[int]] = [set() for _ in range(self.n_states)]
        for state, targets in enumerate(columns.tolist()):
            for target in {*targets} - {NOWHERE}:
                before[target].add(state)
        affected = list(range(self.n_states))
        n_classes = int(classes.max(initial=0)) + 1
        while affected:
            signatures = block[columns[affected]]
            parts: dict[int, dict[bytes, list[int]]] = {}
            for state, own, row in zip(affected, block[affected].tolist(), signatures, strict=True):
                parts.setdefault(own, {}).setdefault(row.tobytes(), []).append(state)
            moved: list[int] = []
            for old, groups in parts.items():
                leaving = sorted(groups.values(), key=len)
                if sum(map(len, leaving)) == sizes[old]:
                    leaving.pop()  # no other state stays: the largest part keeps the number
                for states in leaving:
                    sizes[n_classes], sizes[old] = len(states), sizes[old] - len(states)
                    block[states] = n_classes
                    n_classes += 1
                    moved.extend(states)
            affected = sorted({state for target in moved for state in before[target]})
        return block[:-1]


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


def predecessors(edges: Iterable[tuple[int, int]], n_states: int) -> list[set[int]]:
    """Return, for each state, the states that lead to it."""
    before: list[set[int]] = [set() for _ in range(n_states)]
    for state, target in edges:
        before[target].add(state)
    return before
