"""Places by Graphviz's program ``dot``, where it is installed.

Only the places are Graphviz's; the picture is drawn as with our own layout.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator

from cfgguide.errors import DrawingError
from cfgguide.studio.draw.graph import Graph
from cfgguide.studio.draw.layers import MARGIN, START, Layout, Point

_INCH = 72.0
_SECONDS = 60


def is_installed() -> bool:
    """Return whether ``dot`` is found on this machine."""
    return shutil.which("dot") is not None


def placed(graph: Graph) -> Layout:
    """Return the layout that ``dot`` makes of a graph.

    Raises
    ------
    DrawingError
        If it is not installed, fails, or takes more than a minute.
    """
    program = shutil.which("dot")
    if program is None:
        raise DrawingError("layout='dot' needs Graphviz, whose program `dot` is not found; install "
                           "Graphviz, or use layout='layers'")  # fmt: skip
    try:
        run = subprocess.run(
            [program, "-Tplain"], input=_source(graph), capture_output=True, text=True,
            timeout=_SECONDS, check=True, encoding="utf-8",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise DrawingError(
            f"`dot` took more than {_SECONDS} seconds; use layout='layers'"
        ) from None
    except (OSError, subprocess.CalledProcessError) as error:
        said = (getattr(error, "stderr", None) or str(error)).strip()
        raise DrawingError(f"`dot` failed: {said:.300}; use layout='layers'") from None
    return _read(graph, run.stdout)


def _source(graph: Graph) -> str:
    """Return the graph with sizes and numbers only; labels are spaces of the right size."""
    lines = ["digraph {", "graph [rankdir=LR, nodesep=0.3, ranksep=0.35]"]
    lines.append('node [fixedsize=true, label=""]')
    lines.append("edge [arrowhead=none]")
    for number, state in enumerate(graph.states):
        width, height = state.size
        shape = "circle" if state.is_circle else "box"
        lines.append(f"n{number} [shape={shape}, width={width / 72:.4f}, height={height / 72:.4f}]")
    for number, arrow in enumerate(graph.arrows):
        width, height = arrow.size
        table = (
            f'<table border="0" cellborder="0" cellspacing="0" fixedsize="true" '
            f'width="{width:.0f}" height="{height:.0f}"><tr><td></td></tr></table>'
        )
        label = f", label=<{table}>" if arrow.lines else ""
        lines.append(f"n{arrow.source} -> n{arrow.target} [id=a{number}{label}]")
    return "\n".join([*lines, "}"])


def _read(graph: Graph, plain: str) -> Layout:
    """Return the places in the answer of ``dot -Tplain``."""
    rows = [line.split(" ") for line in plain.splitlines()]
    _, _, width, height = rows[0][:4]
    tall = float(height) * _INCH
    left = MARGIN + START * any(state.is_start for state in graph.states)

    def point(x: str, y: str) -> Point:
        return float(x) * _INCH + left, tall - float(y) * _INCH + MARGIN

    places: dict[str, Point] = {}
    found: dict[tuple[str, str], tuple[tuple[Point, ...], Point]] = {}
    for row in rows:
        if row[0] == "node":
            places[row[1]] = point(row[2], row[3])
        elif row[0] == "edge":
            n = int(row[3])
            curve = tuple(_points(row[4 : 4 + 2 * n], point))
            rest = row[4 + 2 * n :]
            middle = curve[len(curve) // 2]
            # A label stands as its text and its place, before style and colour.
            has_label = len(rest) >= 5
            found[row[1], row[2]] = curve, point(rest[-4], rest[-3]) if has_label else middle
    arrows = [found[f"n{arrow.source}", f"n{arrow.target}"] for arrow in graph.arrows]
    return Layout(
        float(width) * _INCH + left + MARGIN,
        tall + 2 * MARGIN,
        tuple(places[f"n{number}"] for number in range(len(graph.states))),
        tuple(curve for curve, _ in arrows),
        tuple(label for _, label in arrows),
    )


def _points(numbers: list[str], point: Callable[[str, str], Point]) -> Iterator[Point]:
    for x, y in zip(numbers[::2], numbers[1::2], strict=True):
        yield point(x, y)
