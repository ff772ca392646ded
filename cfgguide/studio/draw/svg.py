"""A graph and its layout as SVG.

All text comes from users and is escaped. The style sheet is inside, has colours for light and dark
pages, and touches nothing but pictures of the class ``cfgguide``; no ids are used, so a page may
hold many pictures.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from html import escape

from cfgguide.studio.draw.graph import FONT, LINE, RADIUS, Graph, State, width_of
from cfgguide.studio.draw.layers import MARGIN, START, TIP, Layout, Point

_DOUBLE = 4.0
_TITLE_SPACE, _NOTE_SPACE = 26.0, 18.0
FAMILY = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"

#: Class, light declarations, dark declarations.
_RULES = (
    (".paper", "fill:#ffffff", "fill:#16181d"),
    ("text", "fill:#202124", "fill:#e8eaed"),
    (".title", "fill:#202124;font-weight:600", "fill:#e8eaed"),
    (".note", "fill:#5f6368", "fill:#a2a9b1"),
    (".label", "fill:#3c4043", "fill:#cdd1d6"),
    (".shape", "fill:#f6f8fc;stroke:#3c4043;stroke-width:1.3", "fill:#23272f;stroke:#c3c8ce"),
    (".final", "fill:#e6f4ea;stroke:#1e7b45", "fill:#163524;stroke:#6fcf97"),
    (".live", "fill:#e6f4ea;stroke:#1e7b45", "fill:#163524;stroke:#6fcf97"),
    (".faint", "fill:none;stroke:#9aa0a6;stroke-dasharray:4 3", "stroke:#7b828a"),
    (".ignored", "fill:#f1f1f1;stroke:#80868b", "fill:#2a2d33;stroke:#9aa0a6"),
    (".question", "fill:#fff4e0;stroke:#b26a00", "fill:#3a2c12;stroke:#f0b65a"),
    (".line", "fill:none;stroke:#5f6368;stroke-width:1.2", "stroke:#a2a9b1"),
    (".tip", "fill:#5f6368;stroke:none", "fill:#a2a9b1"),
    (".goto", "fill:none;stroke:#8a5fbf;stroke-dasharray:5 3", "stroke:#bb9ae6"),
    (".tip.goto", "fill:#8a5fbf;stroke:none", "fill:#bb9ae6"),
    (".label.goto", "fill:#6b3fa0;stroke:none", "fill:#cdb2f0"),
)


def svg_of(graph: Graph, layout: Layout) -> str:
    """Return the picture of a graph."""
    body = [
        *(_arrow(graph, layout, place) for place in range(len(graph.arrows))),
        *(_state(state, place) for state, place in zip(graph.states, layout.places, strict=True)),
    ]
    return framed(graph.title, body, width=layout.width, height=layout.height, notes=graph.notes)


def framed(
    title: str,
    body: Iterable[str],
    *,
    width: float,
    height: float,
    notes: Iterable[str] = (),
    rules: Iterable[tuple[str, str, str]] = (),
) -> str:
    """Return a whole picture: what is drawn, with its title above and notes below.

    Parameters
    ----------
    title : str
        What is drawn.
    body : iterable of str
        Elements of SVG.
    width, height : float
        Of what is drawn, in pixels.
    notes : iterable of str
        Lines to be said below it.
    rules : iterable of (str, str, str)
        More rules of the style sheet: a selector, and declarations on light and on dark pages.
    """
    below = list(notes)
    shown = title if len(title) <= 100 else f"{title[:99]}…"
    width = max(width, *(width_of((line,)) + 2 * MARGIN for line in [shown, *below]))
    tall = height + _TITLE_SPACE + _NOTE_SPACE * len(below) + (6 if below else 0)
    lines = [
        f'<text class="note" x="{MARGIN:g}" '
        f'y="{number(height + _TITLE_SPACE + _NOTE_SPACE * row + 10)}">{escaped(line)}</text>'
        for row, line in enumerate(below)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="cfgguide" role="img" '
            f'viewBox="0 0 {number(width)} {number(tall)}" width="{number(width)}" '
            f'height="{number(tall)}" font-family="{FAMILY}" font-size="{FONT}">',
            f"<title>{escaped(title)}</title>",
            f"<style>{_style([*_RULES, *rules])}</style>",
            '<rect class="paper" width="100%" height="100%" rx="6"/>',
            f'<text class="title" x="{MARGIN:g}" y="22">{escaped(shown)}</text>',
            f'<g transform="translate(0 {_TITLE_SPACE:g})" text-anchor="middle">',
            *body,
            "</g>",
            *lines,
            "</svg>\n",
        ]
    )


def _style(rules: Iterable[tuple[str, str, str]]) -> str:
    listed = list(rules)
    light = "".join(f"svg.cfgguide {where}{{{what}}}" for where, what, _ in listed)
    dark = "".join(f"svg.cfgguide {where}{{{what}}}" for where, _, what in listed)
    size = "svg.cfgguide{max-width:100%;height:auto}"
    return f"{size}{light}@media (prefers-color-scheme:dark){{{dark}}}"


def _state(state: State, place: Point) -> str:
    x, y = place
    width, _ = state.size
    tone = f" {state.tone}" if state.tone else ""
    classes = f'class="shape{" final" if state.is_final else ""}{tone}"'
    parts = list(_outlines(state, place, classes))
    first = y - LINE * (len(state.lines) - 1) / 2 + FONT * 0.35
    parts += [
        f'<text x="{number(x)}" y="{number(first + LINE * row)}">{escaped(line)}</text>'
        for row, line in enumerate(state.lines)
        if line
    ]
    if state.is_start:
        left = x - width / 2
        parts.append(_line([(left - START + 4, y), (left - 12, y), (left - 10, y), (left, y)], ""))
    tip = f"<title>{escaped(state.tip)}</title>" if state.tip else ""
    return f'<g class="state">{tip}{"".join(parts)}</g>'


def _outlines(state: State, place: Point, classes: str) -> Iterator[str]:
    x, y = place
    width, height = state.size
    for inset in (0.0, _DOUBLE)[: 1 + state.is_final]:
        if state.is_circle:
            radius = width / 2 - inset
            yield f'<circle {classes} cx="{number(x)}" cy="{number(y)}" r="{radius:g}"/>'
        else:
            yield (
                f'<rect {classes} x="{number(x - width / 2 + inset)}" '
                f'y="{number(y - height / 2 + inset)}" width="{number(width - 2 * inset)}" '
                f'height="{number(height - 2 * inset)}" rx="{min(RADIUS, height / 2) - inset:g}"/>'
            )


def _arrow(graph: Graph, layout: Layout, place: int) -> str:
    arrow, (x, y) = graph.arrows[place], layout.labels[place]
    first = y - LINE * (len(arrow.lines) - 1) / 2 + FONT * 0.35
    tone = f" {arrow.tone}" if arrow.tone else ""
    lines = "".join(
        f'<text class="label{tone}" x="{number(x)}" y="{number(first + LINE * row)}">'
        f"{escaped(line)}</text>"
        for row, line in enumerate(arrow.lines)
    )
    tip = f"<title>{escaped(arrow.tip)}</title>" if arrow.tip else ""
    return f'<g class="arrow">{tip}{_line(list(layout.curves[place]), tone)}{lines}</g>'


def _line(curve: list[Point], tone: str) -> str:
    """Return a curve with its tip, which ends where the curve ends."""
    (x, y), before = curve[-1], curve[-2]
    length = math.hypot(x - before[0], y - before[1]) or 1.0
    along = (x - before[0]) / length, (y - before[1]) / length
    base = x - TIP * along[0], y - TIP * along[1]
    across = -along[1] * TIP * 0.42, along[0] * TIP * 0.42
    tip = [(x, y), (base[0] + across[0], base[1] + across[1]),
           (base[0] - across[0], base[1] - across[1])]  # fmt: skip
    shortened = [*curve[:-1], (x - 0.7 * TIP * along[0], y - 0.7 * TIP * along[1])]
    path = f"M{_pair(shortened[0])} C" + " ".join(_pair(point) for point in shortened[1:])
    corners = " L".join(_pair(point) for point in tip)
    return f'<path class="line{tone}" d="{path}"/><path class="tip{tone}" d="M{corners} z"/>'


def _pair(point: Point) -> str:
    return f"{number(point[0])},{number(point[1])}"


def number(value: float) -> str:
    """Return a number of pixels with one digit after the point, as SVG has it."""
    return f"{round(value, 1) + 0.0:g}" if abs(value) < 100_000 else f"{value:.0f}"


def escaped(text: str) -> str:
    """Return a text escaped; characters that cannot be seen are written as Python writes them."""
    return escape("".join(each if each.isprintable() else repr(each)[1:-1] for each in text))
