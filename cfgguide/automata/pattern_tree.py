"""Regular expressions as trees whose leaves are classes of characters.

In: what a reader of some notation found: Python's, ECMA-262's or Rust's. Out: nodes that say what
matches, whatever it was written in; a pattern is a tuple of nodes that match one after the other.
Flags, case and class escapes are worked into the classes, and which match is preferred is not kept:
these trees are about languages of whole texts. Nodes are frozen and compare by value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from cfgguide.automata.charset import CharacterClass, common_ranges
from cfgguide.automata.syntax import Anchor
from cfgguide.base.limits import check_step

_N_KEPT = 10_000  # classes of characters


class _Tree:
    """Remembers its hash, or a tree would be read anew for each level that is asked for one."""

    @cached_property
    def _hash(self) -> int:
        return hash((type(self), *self.__getstate__().values()))

    def __getstate__(self) -> dict[str, object]:
        """Return the fields: another process hashes texts otherwise."""
        return {name: value for name, value in vars(self).items() if name != "_hash"}

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True)
class Characters:
    """One character of a class."""

    characters: CharacterClass


@dataclass(frozen=True)
class Choice(_Tree):
    """One of some sequences."""

    branches: tuple[Nodes, ...]

    __hash__ = _Tree.__hash__


@dataclass(frozen=True)
class Repeat(_Tree):
    """A sequence so many times; `most` is None if there is no limit."""

    body: Nodes
    least: int
    most: int | None

    __hash__ = _Tree.__hash__


@dataclass(frozen=True)
class Look(_Tree):
    """A condition on what follows a position, or precedes it."""

    body: Nodes
    is_behind: bool = False
    is_negated: bool = False

    __hash__ = _Tree.__hash__


# LINE_START and LINE_END are the start and the end of the whole text.
Node = Characters | Choice | Repeat | Look | Anchor
Nodes = tuple[Node, ...]
START, END = Anchor.LINE_START, Anchor.LINE_END


@lru_cache(maxsize=_N_KEPT)
def one_of(characters: CharacterClass) -> Characters:
    """Return one object for all that are equal: patterns have the same characters everywhere."""
    return Characters(characters)


def boundary(word: CharacterClass, *, is_negated: bool = False) -> Node:
    """Return the condition that one of the characters around a position is of words, or the other.

    If it is negated, both or neither are; beyond the ends of the text there is no character.
    """
    inside = (Characters(word),)
    return Choice(
        tuple(
            (
                Look(inside, is_behind=True, is_negated=not is_word),
                Look(inside, is_negated=is_word != is_negated),
            )
            for is_word in (True, False)
        )
    )


def inside(node: Node) -> tuple[Nodes, ...]:
    """Return the sequences inside a node."""
    match node:
        case Choice():
            return node.branches
        case Repeat() | Look():
            return (node.body,)
    return ()


def within(nodes: Nodes, characters: CharacterClass) -> Nodes:
    """Return what matches in texts of certain characters alone."""

    def narrowed(node: Node) -> Node:
        match node:
            case Characters():
                ranges = common_ranges(node.characters.ranges, characters.ranges)
                return Characters(CharacterClass(ranges))
            case Choice():
                return Choice(tuple(within(branch, characters) for branch in node.branches))
            case Repeat() | Look():
                return replace(node, body=within(node.body, characters))
        return node

    return tuple(map(narrowed, nodes))


def walk(nodes: Nodes) -> Iterator[Node]:
    """Yield all nodes at any depth, those of looks too."""
    pending = [nodes]
    for sequence in pending:  # grows while it is walked
        for node in sequence:
            check_step()
            yield node
            pending += inside(node)
