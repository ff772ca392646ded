"""A picture: SVG, and Graphviz's language where a graph is drawn."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from cfgguide.base.replaced import replaced
from cfgguide.errors import DrawingError, shown
from cfgguide.studio.draw import graphviz
from cfgguide.studio.draw.graph import Graph
from cfgguide.studio.draw.layers import layered
from cfgguide.studio.draw.svg import svg_of

LAYOUTS = ("auto", "dot", "layers")
DEFAULT_MAX_STATES = 60


@dataclass(frozen=True)
class Picture:
    """A picture, which notebooks show by themselves.

    Attributes
    ----------
    svg : str
        The picture; a whole document.
    dot : str or None
        The graph that it shows, in Graphviz's language; None if it shows none.

    Examples
    --------
    >>> from cfgguide import draw
    >>> picture = draw.fsm("ab*")
    >>> picture.svg[:4], picture.dot[:9]
    ('<svg', 'digraph {')
    """

    svg: str = field(repr=False)
    dot: str | None = field(default=None, repr=False)

    def _repr_svg_(self) -> str:
        """For notebooks."""
        return self.svg

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file.

        Parameters
        ----------
        path : path
            A name that ends in ``.svg`` or ``.dot``; an existing file is replaced.

        Raises
        ------
        DrawingError
            If the name ends otherwise, or the picture shows no graph and ``.dot`` is asked for.
        OSError
            If the file cannot be written.
        """
        target = Path(path)
        ending = target.suffix.lower()
        if ending not in (".svg", ".dot"):
            raise DrawingError(
                f"a picture is saved as .svg or .dot, not as {shown(target.name)}; "
                "programs such as rsvg-convert make other formats of an .svg"
            )
        content = self.svg if ending == ".svg" else self.dot
        if content is None:
            raise DrawingError("this picture shows no graph, so there is no .dot; save it as .svg")
        with replaced(target, is_durable=False) as file:
            file.write(content.encode())


def picture_of(graph: Graph, *, layout: str, max_states: int) -> Picture:
    """Return the picture of a graph, or of its first states.

    Raises
    ------
    DrawingError
        If there is no such layout, `max_states` is no positive number, or ``dot`` fails.
    """
    check_options(layout, max_states)
    part = graph.part(max_states)
    by_dot = layout == "dot" or (layout == "auto" and graphviz.is_installed())
    return Picture(svg_of(part, graphviz.placed(part) if by_dot else layered(part)), part.dot)


def check_options(layout: object, max_states: object) -> None:
    """Refuse what is no layout, or no number of states; before anything costly is done.

    Raises
    ------
    DrawingError
        If it is not.
    """
    if layout not in LAYOUTS:
        raise DrawingError(f"no layout is called {shown(layout)}; there are {', '.join(LAYOUTS)}")
    if type(max_states) is not int or max_states < 1:
        raise DrawingError(f"max_states is a number from 1 on, not {shown(max_states)}")
