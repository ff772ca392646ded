"""Places: nothing overlaps, whatever the graph, and both layouts draw the same."""

from __future__ import annotations

import itertools
import re
import shutil
import xml.etree.ElementTree as ET

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, settings

from cfgguide.studio.draw.graph import Arrow, Graph, State
from cfgguide.studio.draw.layers import layered
from cfgguide.studio.draw.picture import picture_of
from cfgguide.studio.draw.svg import svg_of

lines = st.lists(st.text("ab[]-␣你", max_size=14), max_size=3).map(tuple)


@st.composite
def graphs(draw) -> Graph:
    states = draw(
        st.lists(st.builds(State, lines, st.booleans(), st.booleans()), min_size=1, max_size=9)
    )
    ends = st.integers(0, len(states) - 1)
    pairs = draw(st.lists(st.tuples(ends, ends), max_size=16, unique=True))
    arrows = [Arrow(source, target, draw(lines)) for source, target in pairs]
    return Graph("a graph", tuple(states), tuple(arrows))


def boxes(graph: Graph) -> tuple[list[tuple[float, ...]], list[tuple[float, ...]]]:
    """Left, top, right and bottom of the states and of the labels."""
    layout = layered(graph)
    found: tuple[list[tuple[float, ...]], list[tuple[float, ...]]] = ([], [])
    for kind, things, places in (
        (0, graph.states, layout.places),
        (1, graph.arrows, layout.labels),
    ):
        for thing, (x, y) in zip(things, places, strict=True):
            width, height = thing.size
            found[kind].append((x - width / 2, y - height / 2, x + width / 2, y + height / 2))
            if width and height:
                assert found[kind][-1][0] >= 0
                assert found[kind][-1][1] >= 0
                assert found[kind][-1][2] <= layout.width
                assert found[kind][-1][3] <= layout.height
    return found


def overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    slack = 0.1
    return (
        min(one[2], other[2]) - max(one[0], other[0]) > slack
        and min(one[3], other[3]) - max(one[1], other[1]) > slack
    )


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_states_and_labels_overlap_nothing(graph):
    states, labels = boxes(graph)
    for one, other in itertools.combinations([*states, *labels], 2):
        assert not overlap(one, other)


#: Two states in a column, one a little narrower.
NARROWER = Graph(
    "a graph", (State(()), State((), is_final=True), State(("", "[[["))), (Arrow(0, 1), Arrow(0, 2))
)


@settings(max_examples=60, deadline=None)
@example(NARROWER)
@given(graphs())
def test_arrows_begin_and_end_at_their_states_and_cross_no_other(graph):
    layout = layered(graph)
    for arrow, curve in zip(graph.arrows, layout.curves, strict=True):
        for end, state in ((curve[0], arrow.source), (curve[-1], arrow.target)):
            x, y = layout.places[state]
            width, height = graph.states[state].size
            assert abs(end[0] - x) <= width / 2 + 0.1
            assert abs(end[1] - y) <= height / 2 + 0.1
        for point in points_of(curve):
            for state, (x, y) in enumerate(layout.places):
                if state in (arrow.source, arrow.target):
                    continue
                width, height = graph.states[state].size
                is_inside = abs(point[0] - x) < width / 2 and abs(point[1] - y) < height / 2
                assert not is_inside


def points_of(curve: tuple[tuple[float, float], ...]) -> list[tuple[float, float]]:
    """Points of the Bézier curves, by their definition."""
    found = []
    for first in range(0, len(curve) - 1, 3):
        a, b, c, d = curve[first : first + 4]
        for step in range(11):
            t = step / 10
            u = 1 - t
            weights = u**3, 3 * u * u * t, 3 * u * t * t, t**3
            found.append(
                tuple(
                    sum(w * p[axis] for w, p in zip(weights, (a, b, c, d), strict=True))
                    for axis in (0, 1)
                )
            )
    return found


def drawn(svg: str) -> tuple[list[str], list[str]]:
    """The texts of the states and of the arrows, read as XML."""
    root = ET.fromstring(svg)
    name = "{http://www.w3.org/2000/svg}"
    return tuple(
        sorted(
            "|".join(text.text or "" for text in group.iter(f"{name}text"))
            for group in root.iter(f"{name}g")
            if group.get("class") == kind
        )
        for kind in ("state", "arrow")
    )


@given(graphs())
def test_a_picture_is_xml_and_has_all_states_and_arrows(graph):
    states, arrows = drawn(svg_of(graph, layered(graph)))
    assert states == sorted("|".join(line for line in each.lines if line) for each in graph.states)
    assert len(arrows) == len(graph.arrows)


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_and_our_own_layout_draw_the_same():
    graph = Graph(
        "four states",
        (
            State(("0",), is_start=True), State(("1",)), State(("two", "lines")),
            State(("3",), False, True),
        ),
        (
            Arrow(0, 1, ("a",)), Arrow(1, 0, ("b",)), Arrow(1, 1, ("c",)), Arrow(1, 2),
            Arrow(0, 3, ("x", "y")),
        ),
    )  # fmt: skip
    by_dot, by_layers = (
        picture_of(graph, layout=layout, max_states=9) for layout in ("dot", "layers")
    )
    assert drawn(by_dot.svg) == drawn(by_layers.svg)
    assert by_dot.svg != by_layers.svg
    assert by_dot.dot == by_layers.dot


def test_a_part_says_that_it_is_one():
    states = tuple(State((str(number),), is_start=number == 0) for number in range(50))
    chain = tuple(Arrow(number, number + 1, ("x",)) for number in range(49))
    svg = picture_of(Graph("chain", states, chain), layout="layers", max_states=10).svg
    assert "10 of 50 states" in svg
    assert len(drawn(svg)[0]) == 10
    assert len(drawn(svg)[1]) == 9
    assert re.search("… 1 more", svg)
