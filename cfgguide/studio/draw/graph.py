"""What is drawn: states and arrows, without places.

In: what the other modules here read from automata, tables and tries. Out: a :class:`Graph`, whose
states are numbered in the order in which they are listed, and the same in Graphviz's language.

Sizes are those of a text in a font in which all characters are equally wide; a Chinese character
takes two. So a layout needs no font.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace

FONT, LINE = 13, 16  # pixels
CHARACTER = 7.9  # width of a character in pixels
RADIUS = 18
_PADDING, _CORNER = 7, 6
_INSIDE = 2 * RADIUS - 8  # pixels of text that fit into a circle
_DOUBLE = 4  # between the two lines of a final state


@dataclass(frozen=True)
class State:
    """A state, or a node of a trie.

    Attributes
    ----------
    lines : tuple of str
        What stands inside. One short line makes a circle, anything else a box.
    is_start, is_final : bool
        Whether it is marked by an arrow from nowhere, and by a double line.
    tone : str
        A class of the picture's style sheet.
    tip : str
        Shown when the pointer rests on it.
    """

    lines: tuple[str, ...]
    is_start: bool = False
    is_final: bool = False
    tone: str = ""
    tip: str = ""

    @property
    def is_circle(self) -> bool:
        """Whether it is drawn as a circle."""
        return len(self.lines) <= 1 and width_of(self.lines) <= _INSIDE

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in pixels."""
        double = 2 * _DOUBLE if self.is_final else 0
        if self.is_circle:
            return 2 * RADIUS + double, 2 * RADIUS + double
        return (
            width_of(self.lines) + 2 * _PADDING + double + _CORNER,
            LINE * len(self.lines) + 2 * _PADDING + double,
        )


@dataclass(frozen=True)
class Arrow:
    """An arrow between two states, by their numbers; all that leads from one to the other."""

    source: int
    target: int
    lines: tuple[str, ...] = ()
    tone: str = ""
    tip: str = ""

    @property
    def is_loop(self) -> bool:
        """Whether it leads back to where it came from."""
        return self.source == self.target

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the label in pixels."""
        return width_of(self.lines), LINE * len(self.lines)


@dataclass(frozen=True)
class Graph:
    """States and arrows, what they are called, and what to say below them."""

    title: str
    states: tuple[State, ...]
    arrows: tuple[Arrow, ...]
    notes: tuple[str, ...] = ()
    noun: str = "states"

    @property
    def dot(self) -> str:
        """The graph in Graphviz's language."""
        lines = [
            "digraph {",
            f"  graph [rankdir=LR, labelloc=t, label={quoted(self.title, *self.notes)}]",
            '  node [fontname="monospace", fontsize=13, shape=box, style=rounded]',
            '  edge [fontname="monospace", fontsize=13]',
        ]
        for number, state in enumerate(self.states):
            shape = ", shape=circle" if state.is_circle else ""
            final = ", peripheries=2" if state.is_final else ""
            lines.append(f"  n{number} [label={quoted(*state.lines)}{shape}{final}]")
            if state.is_start:
                lines.append(f'  s{number} [label="", shape=none, width=0, height=0]')
                lines.append(f"  s{number} -> n{number}")
        lines += [
            f"  n{arrow.source} -> n{arrow.target} [label={quoted(*arrow.lines)}]"
            for arrow in self.arrows
        ]
        return "\n".join([*lines, "}\n"])

    def part(self, n_states: int) -> Graph:
        """Return the first states and the arrows between them; the notes say that it is a part."""
        if n_states >= len(self.states):
            return self
        left_out: dict[int, set[int]] = {}
        for arrow in self.arrows:
            if arrow.source < n_states <= arrow.target:
                left_out.setdefault(arrow.source, set()).add(arrow.target)
        states = tuple(
            replace(state, lines=(*state.lines, f"… {len(left_out[number])} more"))
            if number in left_out
            else state
            for number, state in enumerate(self.states[:n_states])
        )
        arrows = tuple(each for each in self.arrows if max(each.source, each.target) < n_states)
        said = f"{n_states} of {len(self.states):,} {self.noun}; max_states=... draws more"
        return replace(self, states=states, arrows=arrows, notes=(*self.notes, said))


def quoted(*lines: str) -> str:
    r"""Return lines as one string of Graphviz's language, in which ``\n`` parts them.

    >>> print(quoted('a "b"', r"\d"))
    "a \"b\"\n\\d"
    """
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(escaped) + '"'


def width_of(lines: tuple[str, ...]) -> float:
    """Return the width of the widest line in pixels."""
    return max((_n_columns(line) * CHARACTER for line in lines), default=0.0)


def _n_columns(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in line)


def wrapped(text: str, *, columns: int = 20, max_lines: int = 3) -> tuple[str, ...]:
    """Return a label in lines; what does not fit ends in an ellipsis.

    >>> wrapped("[^a] lead of 2 lead of 3 lead of 4", columns=14)
    ('[^a] lead of 2', 'lead of 3 lead', 'of 4')
    """
    lines: list[str] = []
    for word in text.split(" "):
        if lines and _n_columns(lines[-1]) + 1 + _n_columns(word) <= columns:
            lines[-1] += f" {word}"
        else:
            while _n_columns(word) > columns:
                lines.append(word[:columns])
                word = word[columns:]
            lines.append(word)
    if len(lines) > max_lines:
        lines = [*lines[: max_lines - 1], lines[max_lines - 1][: columns - 1] + "…"]
    return tuple(lines)
