"""A layered layout: states in columns from left to right, arrows as smooth curves.

In: a :class:`~cfgguide.studio.draw.graph.Graph`. Out: a :class:`Layout`, places in pixels.

1. *Columns.* States are numbered breadth-first from the start states. Of two states that an arrow
   joins, the one with the higher number stands further to the right, by the longest such chain.
2. *Cells.* An arrow crosses the columns between its ends in cells of its own, the first of which
   holds its label. So labels and arrows have places as states have, and cover none.
3. *Order.* In each column, cells are sorted by the middle of their neighbours, back and forth; the
   order with the fewest crossings is kept.
4. *Heights.* Each cell wants to be as high as its neighbours; the nearest places that keep order
   and distances are found by pooling neighbours that would overlap.

The first three are in :mod:`cfgguide.studio.draw.cells`. The same graph gives the same picture.

Source: Sugiyama, Tagawa, Toda 1981, "Methods for visual understanding of hierarchical system
structures". Labels as cells are Graphviz's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from cfgguide.studio.draw.cells import LOOP, Cell, columns_of, sort_columns
from cfgguide.studio.draw.graph import LINE, Arrow, Graph, State

Point = tuple[float, float]

MARGIN = 14.0
START = 30.0  # pixels of the arrow that marks a start state
TIP = 8.0  # length of an arrow's tip
_GAP, _STATE_GAP = 9.0, 16.0  # between cells in a column
_COLUMN_GAP, _WIDEST_GAP = 22.0, 80.0
_SWEEPS = 24
_STRAIGHT = 6.0  # how much more a long arrow wants to be straight


@dataclass(frozen=True)
class Layout:
    """Places of states and arrows, in pixels from the upper left corner.

    Attributes
    ----------
    width, height : float
        Of all that is drawn.
    places : tuple of Point
        The centre of each state.
    curves : tuple of tuple of Point
        Each arrow as Bézier curves: a first point, then three points for each curve.
    labels : tuple of Point
        The centre of each arrow's label.
    """

    width: float
    height: float
    places: tuple[Point, ...]
    curves: tuple[tuple[Point, ...], ...]
    labels: tuple[Point, ...]


def layered(graph: Graph) -> Layout:
    """Return the layout of a graph."""
    columns, cells, chains = columns_of(graph)
    sort_columns(columns)
    _set_heights(columns)
    centres = _column_centres(columns, graph)
    return _layout(graph, columns, cells, chains, centres)


# -- heights --------------------------------------------------------------------------------------


def _set_heights(columns: list[list[Cell]]) -> None:
    for column in columns:
        y = 0.0
        for above, cell in zip([None, *column], column, strict=False):
            y += _distance(above, cell) if above is not None else 0.0
            cell.y = y
        for cell in column:
            cell.y -= y / 2
    for sweep in range(_SWEEPS):
        for column in columns if sweep % 2 == 0 else columns[::-1]:
            _settle(column)


def _distance(above: Cell, below: Cell) -> float:
    gap = _STATE_GAP if above.state is not None and below.state is not None else _GAP
    return above.down + below.up + gap


def _settle(column: list[Cell]) -> None:
    """Move each cell to the mean of its neighbours, or as near as order and distances allow.

    The least squares under ``y[i + 1] - y[i] >= distance`` are an isotonic regression of the wishes
    less the distances above; neighbours that would overlap are pooled (Kruskal's algorithm).
    """
    pools: list[tuple[float, float, int]] = []  # mean, weight, number of cells
    offset, offsets = 0.0, []
    for place, cell in enumerate(column):
        if place:
            offset += _distance(column[place - 1], cell)
        offsets.append(offset)
        wish, weight = _wish(cell)
        mean, n_cells = wish - offset, 1
        while pools and pools[-1][0] >= mean:
            other, other_weight, n_others = pools.pop()
            mean = (mean * weight + other * other_weight) / (weight + other_weight)
            weight += other_weight
            n_cells += n_others
        pools.append((mean, weight, n_cells))
    means = (mean for mean, _, n_cells in pools for _ in range(n_cells))
    for cell, mean, offset in zip(column, means, offsets, strict=True):
        cell.y = mean + offset


def _wish(cell: Cell) -> tuple[float, float]:
    neighbours = [*cell.before, *cell.after]
    if not neighbours:
        return cell.y, 1.0
    weights = [
        _STRAIGHT if cell.state is None and other.state is None else 1.0 for other in neighbours
    ]
    total = sum(weights)
    wish = sum(w * other.y for w, other in zip(weights, neighbours, strict=True)) / total
    return wish, total


# -- places ---------------------------------------------------------------------------------------


def _column_centres(columns: list[list[Cell]], graph: Graph) -> list[float]:
    is_marked = any(
        graph.states[cell.state].is_start for cell in columns[0] if cell.state is not None
    )
    x = MARGIN + (START if is_marked else 0.0)
    centres = []
    for column in columns:
        width = max(cell.width for cell in column)
        centres.append(x + width / 2)
        steepest = max((abs(a.y - c.y) for c in column for a in c.after), default=0.0)
        x += width + min(max(_COLUMN_GAP, steepest / 3), _WIDEST_GAP)
    return centres


def _layout(
    graph: Graph,
    columns: list[list[Cell]],
    cells: list[Cell],
    chains: list[list[Cell]],
    centres: list[float],
) -> Layout:
    top = min((cell.y - cell.up for cell in _all(columns)), default=0.0) - MARGIN
    widths = [max(cell.width for cell in column) for column in columns]
    for cell in _all(columns):
        cell.y -= top
    places = tuple((centres[cell.column], cell.y) for cell in cells)
    ports = _Ports(graph, cells, chains)
    curves, labels = [], []
    for number, (arrow, chain) in enumerate(zip(graph.arrows, chains, strict=True)):
        if arrow.is_loop:
            curve, label = _loop(places[arrow.source], graph.states[arrow.source], arrow)
        else:
            curve = _curve(number, chain, centres, widths, places, ports)
            if chain[0].state != arrow.source:
                curve = curve[::-1]
            held = next((cell for cell in chain if cell.is_label), chain[len(chain) // 2])
            label = centres[held.column], held.y - (held.up + 2.0) / 2
        curves.append(tuple(curve))
        labels.append(label)
    width = centres[-1] + widths[-1] / 2 + MARGIN if centres else 2 * MARGIN
    height = max((cell.y + cell.down for cell in _all(columns)), default=0.0) + MARGIN
    return Layout(width, height, places, tuple(curves), tuple(labels))


def _all(columns: list[list[Cell]]) -> list[Cell]:
    return [cell for column in columns for cell in column]


class _Ports:
    """Where arrows touch states: spread over the side, in the order of where they go to."""

    def __init__(self, graph: Graph, cells: list[Cell], chains: list[list[Cell]]) -> None:
        sides: dict[tuple[int, int], list[tuple[float, int]]] = {}
        for number, chain in enumerate(chains):
            if chain:
                for side, end, towards in ((1, chain[0], chain[1]), (-1, chain[-1], chain[-2])):
                    assert end.state is not None, "arrows end in states"
                    sides.setdefault((end.state, side), []).append((towards.y, number))
        self._states = graph.states
        self._turns: dict[tuple[int, int], float] = {}  # from -1, the upper end, to 1
        for (_, side), found in sorted(sides.items()):
            for place, (_, number) in enumerate(sorted(found)):
                reach = min(1.0, 0.35 * (len(found) - 1))
                middle = (len(found) - 1) / 2
                self._turns[number, side] = (place - middle) / middle * reach if middle else 0.0

    def of(self, arrow: int, side: int, state: int | None, places: tuple[Point, ...]) -> Point:
        """Return where an arrow touches a state."""
        assert state is not None, "arrows end in states"
        centre = places[state]
        turn = self._turns[arrow, side]
        width, height = self._states[state].size
        if self._states[state].is_circle:
            angle = turn * math.pi / 3
            return (
                centre[0] + side * math.cos(angle) * width / 2,
                centre[1] + math.sin(angle) * width / 2,
            )
        return centre[0] + side * width / 2, centre[1] + turn * (height / 2 - 6)


def _curve(
    number: int,
    chain: list[Cell],
    centres: list[float],
    widths: list[float],
    places: tuple[Point, ...],
    ports: _Ports,
) -> list[Point]:
    start = ports.of(number, 1, chain[0].state, places)
    end = ports.of(number, -1, chain[-1].state, places)
    # Inside a column arrows run level: whatever else stands there is above or below.
    points = [start]
    edges = centres[chain[0].column] + widths[chain[0].column] / 2
    points += _level(start, edges)
    for cell in chain[1:-1]:
        half = widths[cell.column] / 2
        points += _bend(points[-1], (centres[cell.column] - half, cell.y))
        points += _level(points[-1], centres[cell.column] + half)
    edge = centres[chain[-1].column] - widths[chain[-1].column] / 2
    level = _level((edge, end[1]), end[0])
    return points + _bend(points[-1], (edge if level else end[0], end[1])) + level


def _level(start: Point, x: float) -> list[Point]:
    """Return a level line as a curve; none if it would be short."""
    if x - start[0] < 1:
        return []
    third = (x - start[0]) / 3
    return [(start[0] + third, start[1]), (x - third, start[1]), (x, start[1])]


def _bend(start: Point, end: Point) -> list[Point]:
    reach = (end[0] - start[0]) / 2
    return [(start[0] + reach, start[1]), (end[0] - reach, end[1]), end]


def _loop(centre: Point, state: State, arrow: Arrow) -> tuple[list[Point], Point]:
    x, y = centre
    width, height = state.size
    if state.is_circle:
        half, top = width / 2 * math.sin(0.55), y - height / 2 * math.cos(0.55)
    else:
        half, top = min(12.0, width / 4), y - height / 2
    peak = y - height / 2 - (LOOP - 3) * 1.25
    curve = [(x - half, top), (x - half - 9, peak), (x + half + 9, peak), (x + half, top)]
    return curve, (x, y - height / 2 - LOOP - LINE * len(arrow.lines) / 2 + 2)
