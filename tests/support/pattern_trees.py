"""What a tree of a pattern matches, by trying all ways: slow, and plain to see."""

from __future__ import annotations

from cfgguide.automata.pattern_tree import END, START, Characters, Choice, Look, Node, Nodes, Repeat


def matches_whole(nodes: Nodes, text: str) -> bool:
    """Return whether nodes match all of a text."""
    return len(text) in _Text(text).ends(nodes, 0)


def is_found(nodes: Nodes, text: str) -> bool:
    """Return whether nodes match somewhere in a text."""
    inside = _Text(text)
    return any(inside.ends(nodes, start) for start in range(len(text) + 1))


class _Text:
    def __init__(self, text: str) -> None:
        self._text = text
        self._known: dict[tuple[int, int], set[int]] = {}  # by the nodes' identity: they are large

    def ends(self, nodes: Nodes, start: int) -> set[int]:
        """Return where matches end that begin at a place."""
        key = (id(nodes), start)
        if key not in self._known:
            places = {start}
            for node in nodes:
                places = {end for place in places for end in self._node(node, place)}
            self._known[key] = places
        return self._known[key]

    def _node(self, node: Node, start: int) -> set[int]:
        is_met: bool
        match node:
            case Characters(characters):
                is_met = start < len(self._text) and ord(self._text[start]) in characters
                return {start + 1} if is_met else set()
            case Choice(branches):
                return set().union(*(self.ends(branch, start) for branch in branches))
            case Repeat(body, least, most):
                return self._repeated(body, least, most, start)
            case Look(body, is_behind, is_negated):
                is_met = (
                    any(start in self.ends(body, begin) for begin in range(start + 1))
                    if is_behind
                    else bool(self.ends(body, start))
                )
                return {start} if is_met != is_negated else set()
        assert node in (START, END)
        is_met = start == (0 if node is START else len(self._text))
        return {start} if is_met else set()

    def _repeated(self, body: Nodes, least: int, most: int | None, start: int) -> set[int]:
        found, places, count = set[int](), {start}, 0
        while places and (most is None or count <= most):
            new = places - found if count > least else places
            if count >= least:
                found |= places
            if count > least and not new:
                break
            places = {end for place in places for end in self.ends(body, place)}
            count += 1
        return found
