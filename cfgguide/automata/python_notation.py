r"""Regular expressions of Python's ``re`` as trees whose leaves are classes of characters.

In: a pattern and its flags. Out: a tuple of nodes that match one after the other, such that the
texts which they match as a whole are those of ``re.fullmatch``::

    (?i:k)$   ->   Choice(Characters(Kk and the sign of Kelvin)), then the end or \n and the end

Which match is preferred does not matter for whole texts, so lazy quantifiers are greedy ones.
"""

from __future__ import annotations

import re

from cfgguide.automata import syntax
from cfgguide.automata.charset import ANY_CHARACTER, NEWLINE, category, characters_of
from cfgguide.automata.pattern_tree import (
    END,
    START,
    Characters,
    Choice,
    Look,
    Node,
    Nodes,
    Repeat,
    boundary,
    one_of,
)
from cfgguide.automata.rewrite import common_spaces
from cfgguide.automata.syntax import Anchor, Category

_NOT_BOUNDARY_IN_NOTHING = re.fullmatch(r"\B", "") is not None  # depends on the version of Python


def read(pattern: str, flags: int = 0, *, tidy: bool = False) -> Nodes:
    r"""Return the tree of a pattern.

    Parameters
    ----------
    pattern : str
        A pattern of Python's ``re``.
    flags : int
        ``re`` flags in force from the start.
    tidy : bool
        Whether ``\s`` is a space, a tab or a line break, where that makes the texts no more.

    Raises
    ------
    PatternError
        If ``re`` rejects the pattern, or no automaton can express it.
    LimitError
        If it nests groups too deeply.

    Examples
    --------
    >>> read(r"\d{2,}?", re.ASCII)
    (Repeat(body=(Characters(characters=CharacterClass(ranges=((48, 57),))),), least=2, most=None),)
    """
    tree = syntax.parse_supported(pattern, flags)
    with syntax.errors_of(pattern):
        return nodes_of(common_spaces(tree.nodes) if tidy else tree.nodes, tree.flags)


def nodes_of(nodes: syntax.Nodes, flags: int) -> Nodes:
    """Return nodes of Python's notation, all of them supported, as nodes of any."""
    return tuple([_node(node, flags) for node in nodes])


def _node(node: syntax.Node, flags: int) -> Node:
    match node:
        case syntax.Group():
            return Choice((nodes_of(node.body, node.flags_inside(flags)),))
        case syntax.Alternation():
            return Choice(tuple([nodes_of(branch, flags) for branch in node.branches]))
        case syntax.Repeat():
            return Repeat(nodes_of(node.body, flags), node.min_count, node.max_count)
        case syntax.Look():
            return Look(nodes_of(node.body, flags), node.is_behind, node.is_negated)
        case Anchor():
            return _anchor(node, flags & (re.MULTILINE | re.ASCII))
        case syntax.Literal() | syntax.Dot() | syntax.CharacterSet():
            return one_of(characters_of(node, flags))
    raise AssertionError(node)  # parse_supported has refused it


def _anchor(anchor: Anchor, flags: int) -> Node:
    newline = Characters(NEWLINE)
    word = category(Category("w"), ascii_only=bool(flags & re.ASCII))
    match anchor:
        case Anchor.LINE_START if flags & re.MULTILINE:
            return Choice(((START,), (Look((newline,), is_behind=True),)))
        case Anchor.LINE_START | Anchor.TEXT_START:
            return START
        case Anchor.LINE_END:  # before a last line feed, too
            follows = (newline,) if flags & re.MULTILINE else (newline, END)
            return Choice(((END,), (Look(follows),)))
        case Anchor.TEXT_END:
            return END
        case Anchor.BOUNDARY:
            return boundary(word)
        case Anchor.NOT_BOUNDARY:
            inside = boundary(word, is_negated=True)
            if _NOT_BOUNDARY_IN_NOTHING:
                return inside
            anything = (Characters(ANY_CHARACTER),)
            beside = Choice(((Look(anything, is_behind=True),), (Look(anything),)))
            return Choice(((beside, inside),))
