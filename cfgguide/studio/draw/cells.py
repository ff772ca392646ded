"""Columns of cells: the first half of a layered layout.

In: a :class:`~cfgguide.studio.draw.graph.Graph`. Out: for each column its cells from top to bottom:
states, and what arrows take of the columns that they cross.

Everything is decided by numbers and never by hashes: the same graph gives the same columns.

Source: Sugiyama, Tagawa, Toda 1981, "Methods for visual understanding of hierarchical system
structures".
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise

from cfgguide.studio.draw.graph import Arrow, Graph, State

LOOP = 26.0  # height of a loop
_SWEEPS = 16


@dataclass(eq=False)
class Cell:
    """A state, or what an arrow takes of a column; `up` and `down` are its reach from `y`."""

    column: int
    width: float
    up: float
    down: float
    state: int | None = None
    is_label: bool = False
    y: float = 0.0
    place: int = 0  # in its column
    before: list[Cell] = field(default_factory=list)
    after: list[Cell] = field(default_factory=list)


# -- columns and cells ----------------------------------------------------------------------------


def numbered(graph: Graph) -> list[int]:
    """Return for each state its number, breadth-first from the start states."""
    following: list[list[int]] = [[] for _ in graph.states]
    for arrow in graph.arrows:
        following[arrow.source].append(arrow.target)
    starts = [number for number, state in enumerate(graph.states) if state.is_start]
    numbers = {start: number for number, start in enumerate(starts)}
    pending = deque(starts)
    for root in range(len(graph.states)):
        while pending:
            for target in following[pending.popleft()]:
                if target not in numbers:
                    numbers[target] = len(numbers)
                    pending.append(target)
        if root not in numbers:
            numbers[root] = len(numbers)
            pending.append(root)
    return [numbers[state] for state in range(len(graph.states))]


def _ranks(graph: Graph) -> list[int]:
    numbers = numbered(graph)
    right: list[list[int]] = [[] for _ in graph.states]
    for arrow in graph.arrows:
        low, high = sorted((arrow.source, arrow.target), key=numbers.__getitem__)
        if low != high:
            right[low].append(high)
    ranks = [0] * len(graph.states)
    for state in sorted(range(len(ranks)), key=numbers.__getitem__):
        for further in right[state]:
            ranks[further] = max(ranks[further], ranks[state] + 1)
    return ranks


def columns_of(graph: Graph) -> tuple[list[list[Cell]], list[Cell], list[list[Cell]]]:
    """Return the columns, the cell of each state, and the cells of each arrow, left to right."""
    ranks = _ranks(graph)
    step = 2 if any(arrow.lines for arrow in graph.arrows) else 1  # room for labels in between
    columns: list[list[Cell]] = [[] for _ in range(step * max(ranks, default=0) + 1)]
    loops = {arrow.source: arrow for arrow in graph.arrows if arrow.is_loop}
    cells = []
    for number, state in enumerate(graph.states):
        cells.append(_state_cell(number, state, loops.get(number), step * ranks[number]))
        columns[cells[-1].column].append(cells[-1])
    chains: list[list[Cell]] = []
    for arrow in graph.arrows:
        if arrow.is_loop:
            chains.append([])
            continue
        ends = sorted((cells[arrow.source], cells[arrow.target]), key=lambda cell: cell.column)
        chain = [ends[0]]
        for column in range(ends[0].column + 1, ends[1].column):
            cell = Cell(column, 1.0, 4.0, 4.0)
            chain.append(cell)
            columns[column].append(cell)
        chain.append(ends[1])
        if arrow.lines:
            label = chain[1] if ends[0].state == arrow.source else chain[-2]
            width, height = arrow.size
            label.width, label.up, label.is_label = width, height + 4.0, True
        for left, right in pairwise(chain):
            left.after.append(right)
            right.before.append(left)
        chains.append(chain)
    return columns, cells, chains


def _state_cell(number: int, state: State, loop: Arrow | None, column: int) -> Cell:
    width, height = state.size
    up = height / 2
    if loop is not None:
        width = max(width, loop.size[0])
        up += LOOP + loop.size[1]
    return Cell(column, width, up, height / 2, state=number)


# -- order ----------------------------------------------------------------------------------------


def sort_columns(columns: list[list[Cell]]) -> None:
    """Put the cells of each column into the order with the fewest crossings that is found."""
    for column in columns:
        _number(column)
    best = [list(column) for column in columns]
    fewest = _n_crossings(columns)
    for sweep in range(_SWEEPS):
        if fewest == 0:
            break
        is_forward = sweep % 2 == 0
        for column in columns[1:] if is_forward else columns[-2::-1]:
            middles = {
                cell: _middle(cell.before if is_forward else cell.after, cell.place)
                for cell in column
            }
            column.sort(key=lambda cell, middles=middles: (middles[cell], cell.place))  # type: ignore[misc]
            _number(column)
        n_crossings = _n_crossings(columns)
        if n_crossings < fewest:
            fewest, best = n_crossings, [list(column) for column in columns]
    for column, order in zip(columns, best, strict=True):
        column[:] = order
        _number(column)
    _swap(columns)


def _swap(columns: list[list[Cell]]) -> None:
    """Exchange neighbours as long as that makes crossings fewer."""
    for _ in range(_SWEEPS):
        is_better = False
        for column in columns:
            for place in range(len(column) - 1):
                upper, lower = column[place], column[place + 1]
                if _crossings_of(upper, lower) > _crossings_of(lower, upper):
                    column[place], column[place + 1] = lower, upper
                    _number(column)
                    is_better = True
        if not is_better:
            return


def _crossings_of(upper: Cell, lower: Cell) -> int:
    return sum(
        sum(high.place > low.place for high in highs for low in lows)
        for highs, lows in ((upper.before, lower.before), (upper.after, lower.after))
    )


def _number(column: list[Cell]) -> None:
    for place, cell in enumerate(column):
        cell.place = place


def _middle(neighbours: list[Cell], otherwise: int) -> float:
    if not neighbours:
        return float(otherwise)
    return sum(cell.place for cell in neighbours) / len(neighbours)


def _n_crossings(columns: list[list[Cell]]) -> int:
    n_crossings = 0
    for column in columns:
        seen: list[int] = []
        for cell in column:
            places = sorted(after.place for after in cell.after)
            n_crossings += sum(len(seen) - bisect_right(seen, place) for place in places)
            for place in places:
                insort(seen, place)
    return n_crossings
