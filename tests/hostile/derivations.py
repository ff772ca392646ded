"""Random texts of a table of templates, and the same texts changed a little.

In: a table, from the name of a symbol to what may stand for it. In a template, «name» stands for a
symbol; a template that is listed twice is drawn twice as often. Out: a :class:`Node`, the tree of a
text, so that a part can be replaced by another of its kind, and the result is mostly still a
pattern, a schema or a grammar::

    {"start": ["a«n»", "«start»«start»"], "n": ["", "{«count»}"], "count": ["2", "9"]}

What stands for a symbol whose name begins with ``json_`` is escaped as in a string of JSON. A
listed text has no tree: it is a leaf, whose numbers grow and whose pieces are doubled or left out.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

#: Characters of a text; what grows beyond is drawn anew.
MOST = 2000
DEPTH = 6  # of a drawn text: then the flattest templates are taken
_PART = 3  # depth of a part that replaces another one
_LARGEST = 10**7  # that a number grows to
_TRIES = 8
_SYMBOL = re.compile("«([a-z_]+)»")

Path = tuple[int, ...]


@dataclass(frozen=True)
class Node:
    """A text with its parts.

    Attributes
    ----------
    symbol : str
        What the text stands for.
    parts : tuple of str and Node
        In turn.
    """

    symbol: str
    parts: tuple[str | Node, ...]

    @cached_property
    def text(self) -> str:
        """The text."""
        text = "".join(part if isinstance(part, str) else part.text for part in self.parts)
        return json.dumps(text)[1:-1] if self.symbol.startswith("json_") else text

    def nodes(self, path: Path = ()) -> Iterator[tuple[Path, Node]]:
        """Yield this node and all below it, each with the way to it."""
        yield path, self
        for number, part in enumerate(self.parts):
            if isinstance(part, Node):
                yield from part.nodes((*path, number))

    def with_part(self, path: Path, part: Node) -> Node:
        """Return this tree with another part at a place."""
        if not path:
            return part
        child = self.parts[path[0]]
        assert isinstance(child, Node), "a way leads through nodes"
        parts = (
            *self.parts[: path[0]],
            child.with_part(path[1:], part),
            *self.parts[path[0] + 1 :],
        )
        return Node(self.symbol, parts)


def leaf(text: str) -> Node:
    """Return a text whose tree is not known."""
    return Node("start", (text,))


class Table:
    """What may stand for each symbol, and how texts are drawn and changed.

    Parameters
    ----------
    rules : mapping of str to sequences of str
        The templates of each symbol; texts are drawn from ``start``.
    """

    def __init__(self, rules: Mapping[str, Sequence[str]]) -> None:
        self._templates = {
            symbol: [tuple(_SYMBOL.split(each)) for each in templates]
            for symbol, templates in rules.items()
        }
        self._heights: dict[str, int] = {}
        while len(self._heights) < len(self._templates):
            fresh = {
                symbol: min(heights)
                for symbol, templates in self._templates.items()
                if symbol not in self._heights
                and (heights := [h for each in templates if (h := self._height(each)) is not None])
            }
            assert fresh, f"without an end: {self._templates.keys() - self._heights.keys()}"
            self._heights |= fresh
        self._by_height = {
            symbol: [(self._height(each) or 0, each) for each in templates]
            for symbol, templates in self._templates.items()
        }

    def _height(self, template: tuple[str, ...]) -> int | None:
        """Return how deep a template is at least; None if that is not known yet."""
        if any(symbol not in self._heights for symbol in template[1::2]):
            return None
        return 1 + max((self._heights[symbol] for symbol in template[1::2]), default=0)

    def draw(self, rng: random.Random, symbol: str = "start", depth: int = DEPTH) -> Node:
        """Return a random text of a symbol; few are longer than :data:`MOST`."""
        most = max(depth, self._heights[symbol])
        chosen = [each for height, each in self._by_height[symbol] if height <= most]
        return self._filled(rng, symbol, rng.choice(chosen), depth)

    def _filled(
        self, rng: random.Random, symbol: str, template: tuple[str, ...], depth: int
    ) -> Node:
        return Node(
            symbol,
            tuple(
                self.draw(rng, part, depth - 1) if number % 2 else part
                for number, part in enumerate(template)
            ),
        )

    def changed(self, rng: random.Random, node: Node, other: Node) -> Node:
        """Return a text near another one: different from it, and seldom too long.

        Parameters
        ----------
        rng : random.Random
            Chooses.
        node, other : Node
            What is changed, and what parts may be taken from.
        """
        for _ in range(_TRIES):
            how = rng.choice(
                (_redrawn, _redrawn, _paired, _paired, _wrapped, _lifted, _raised, _cut)
            )
            changed = how(self, rng, node, other)
            if changed.text != node.text and len(changed.text) <= MOST:
                return changed
        return self.draw(rng)

    def wrapping(self, rng: random.Random, node: Node) -> Node:
        """Return a node of the same symbol that has this one as a part, if there may be one."""
        around = [
            each for each in self._templates.get(node.symbol, ()) if node.symbol in each[1::2]
        ]
        if not around:
            return node
        template = rng.choice(around)
        drawn = self._filled(rng, node.symbol, template, 2)
        places = [n for n in range(1, len(template), 2) if template[n] == node.symbol]
        return drawn.with_part((rng.choice(places),), node)


# --- The ways to change a text -------------------------------------------------------------------


def _any(rng: random.Random, node: Node) -> tuple[Path, Node]:
    return rng.choice(list(node.nodes()))


def _redrawn(table: Table, rng: random.Random, node: Node, other: Node) -> Node:
    """Replace a part by a fresh one."""
    path, old = _any(rng, node)
    if not path and len(node.parts) == 1:  # nothing would be left; a listed text has no parts
        return _raised(table, rng, node, other)
    return node.with_part(path, table.draw(rng, old.symbol, _PART))


def _paired(table: Table, rng: random.Random, node: Node, other: Node) -> Node:
    """Replace a part by one of another text, or of this one: so parts are also repeated."""
    path, old = _any(rng, node)
    found = [
        each
        for tree in (node, other)
        for _, each in tree.nodes()
        if each.symbol == old.symbol and each.text != old.text
    ]
    return node.with_part(path, rng.choice(found)) if found and path else node


def _wrapped(table: Table, rng: random.Random, node: Node, other: Node) -> Node:
    """Put a part into a larger one of its kind."""
    path, old = _any(rng, node)
    return node.with_part(path, table.wrapping(rng, old))


def _lifted(table: Table, rng: random.Random, node: Node, other: Node) -> Node:
    """Replace a part by a smaller one inside of it."""
    path, old = _any(rng, node)
    inside = [each for way, each in old.nodes() if way and each.symbol == old.symbol]
    return node.with_part(path, rng.choice(inside)) if inside else node


def _raised(table: Table, rng: random.Random, node: Node, other: Node) -> Node:
    """Make a number larger."""
    found = [
        (path, each, match)
        for path, each in node.nodes()
        if all(isinstance(part, str) for part in each.parts)
        for match in re.finditer(r"\d+", _leaf_text(each))
    ]
    if not found:
        return node
    path, old, match = rng.choice(found)
    number = int(match[0])
    number = min(rng.choice((number + 1, 2 * number, 3 * number + 1, 10 * number)), _LARGEST)
    return _with_text(node, path, old, match.span(), str(number))


def _cut(table: Table, rng: random.Random, node: Node, other: Node) -> Node:
    """Double a piece of a listed text, or leave it out."""
    if len(node.parts) != 1 or not isinstance(node.parts[0], str) or not node.text:
        return node
    start = rng.randrange(len(node.text))
    end = min(len(node.text), start + rng.choice((1, 2, 5, 20, 80)))
    piece = node.text[start:end]
    return _with_text(node, (), node, (start, end), piece * rng.choice((0, 2, 2, 5)))


def _with_text(node: Node, path: Path, old: Node, span: tuple[int, int], new: str) -> Node:
    text = _leaf_text(old)
    return node.with_part(path, Node(old.symbol, (text[: span[0]] + new + text[span[1] :],)))


def _leaf_text(node: Node) -> str:
    """Return the text of a leaf, as its parts have it."""
    return "".join(map(str, node.parts))
