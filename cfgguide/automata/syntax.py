r"""Regular expressions as trees, read by the parser of Python's ``re``.

In: a pattern of Python's ``re``. Out: its :class:`Syntax`, a tuple of nodes that match one after
the other. Nodes are frozen and compare by value. No other module knows ``re``'s own parser, which
is private::

    a(?i:b|cd)*?$   ->   Literal("a"), Repeat(Group(Alternation(...), added=re.I), 0, None), Anchor

Flags, classes and escapes mean what they mean in ``re``, but the nodes say only what was written:
which characters ``\w`` or a literal match under flags is for the readers of the tree to say.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any

from cfgguide.errors import LimitError, PatternError

_parser: Any = importlib.import_module("re._parser")


@dataclass(frozen=True)
class Literal:
    """One character, or any character except it."""

    code_point: int
    is_negated: bool = False


@dataclass(frozen=True)
class Dot:
    """Any character; without ``re.DOTALL``, any except a line feed."""


@dataclass(frozen=True)
class Category:
    r"""A class escape: the ``kind`` is ``d``, ``s`` or ``w``; ``\D`` is ``\d`` negated."""

    kind: str
    is_negated: bool = False


@dataclass(frozen=True)
class CharacterSet:
    """One of some characters, or any other one.

    Attributes
    ----------
    members : tuple of int, (int, int) or Category
        Code points, inclusive ranges of them, and class escapes, in the order of the pattern.
    is_negated : bool
    """

    members: tuple[int | tuple[int, int] | Category, ...]
    is_negated: bool = False


class Anchor(Enum):
    """A condition on a position; the value is its notation."""

    LINE_START = "^"
    TEXT_START = r"\A"
    LINE_END = "$"
    TEXT_END = r"\Z"
    BOUNDARY = r"\b"
    NOT_BOUNDARY = r"\B"


@dataclass(frozen=True)
class Look:
    """A look-ahead or look-behind."""

    body: Nodes
    is_behind: bool
    is_negated: bool


@dataclass(frozen=True)
class Group:
    """A capturing group, or one that adds and removes flags; what it captures is not kept."""

    body: Nodes
    added: int = 0
    removed: int = 0

    def flags_inside(self, flags: int) -> int:
        """Return the flags in force inside, given those around."""
        if self.added & _parser.TYPE_FLAGS:  # (?a:...) and (?u:...) replace each other
            flags &= ~_parser.TYPE_FLAGS
        return (flags | self.added) & ~self.removed


@dataclass(frozen=True)
class Repeat:
    """A quantifier; `max_count` is None if there is no limit."""

    body: Nodes
    min_count: int
    max_count: int | None
    is_greedy: bool


@dataclass(frozen=True)
class Alternation:
    """Alternatives, the preferred one first."""

    branches: tuple[Nodes, ...]


@dataclass(frozen=True)
class Unsupported:
    """What no automaton of this library can express, and what to write instead."""

    what: str
    way_out: str


Character = Literal | Dot | CharacterSet
Node = Character | Anchor | Look | Group | Repeat | Alternation | Unsupported
Nodes = tuple[Node, ...]

_CATEGORIES = {
    "CATEGORY_DIGIT": Category("d"),
    "CATEGORY_NOT_DIGIT": Category("d", is_negated=True),
    "CATEGORY_SPACE": Category("s"),
    "CATEGORY_NOT_SPACE": Category("s", is_negated=True),
    "CATEGORY_WORD": Category("w"),
    "CATEGORY_NOT_WORD": Category("w", is_negated=True),
}
_ANCHORS = {
    "AT_BEGINNING": Anchor.LINE_START,
    "AT_BEGINNING_STRING": Anchor.TEXT_START,
    "AT_END": Anchor.LINE_END,
    "AT_END_STRING": Anchor.TEXT_END,
    "AT_BOUNDARY": Anchor.BOUNDARY,
    "AT_NON_BOUNDARY": Anchor.NOT_BOUNDARY,
}
_BACKREFERENCE = Unsupported("a backreference", "write out the texts that the group can match")
_UNSUPPORTED = {
    "GROUPREF": _BACKREFERENCE,
    "GROUPREF_IGNORE": _BACKREFERENCE,
    "GROUPREF_EXISTS": Unsupported("a conditional group", "write the two cases as alternatives"),
    "ATOMIC_GROUP": Unsupported("an atomic group", "use a plain group, and look-ahead if need be"),
    "POSSESSIVE_REPEAT": Unsupported(
        "a possessive quantifier", "use a greedy one, and look-ahead if need be"
    ),
}
# Where these begin, as far as one can tell without `re`'s parser, whose tree has no places.
_PIECES = re.compile(
    r"\\.|\[\^?\]?(?:[^\]\\]|\\.?+)*+(?:\]|\Z)|\(\?(?:P=|.)?|[*+?}]\+|.", re.DOTALL
)
_NOTATION = {
    _BACKREFERENCE.what: r"\\[1-9]|\(\?P=",
    "a conditional group": r"\(\?\(",
    "an atomic group": r"\(\?>",
    "a possessive quantifier": r"[*+?}]\+",
}


@dataclass(frozen=True)
class Syntax:
    """A pattern as a tree.

    Attributes
    ----------
    nodes : tuple of Node
        What matches, one after the other.
    flags : int
        The ``re`` flags in force for the whole pattern.
    """

    nodes: Nodes
    flags: int


def parse(pattern: str, flags: int = 0) -> Syntax:
    r"""Return the tree of a pattern.

    Raises
    ------
    re.error, ValueError, OverflowError
        If ``re`` rejects the pattern.
    RecursionError
        If it nests too deeply.

    Examples
    --------
    >>> parse("a+?").nodes
    (Repeat(body=(Literal(code_point=97, ...),), min_count=1, max_count=None, is_greedy=False),)
    """
    tree = _parser.parse(pattern, flags)
    return Syntax(_nodes(tree), tree.state.flags)


@contextmanager
def errors_of(pattern: str) -> Iterator[None]:
    """Raise what ``re``'s parser says of a pattern as a PatternError or LimitError."""
    try:
        yield
    except (re.error, ValueError, OverflowError) as error:
        raise PatternError(f"/{_shown(pattern)}/ is not a regular expression: {error}") from None
    except RecursionError:
        raise LimitError("the pattern nests groups too deeply; flatten it") from None


def parse_supported(pattern: str, flags: int = 0) -> Syntax:
    r"""Return the tree of a pattern that ``re`` can compile and automata can express.

    Raises
    ------
    PatternError
        If ``re`` rejects the pattern, or no automaton can express it.
    LimitError
        If it nests groups too deeply.

    Examples
    --------
    >>> parse_supported(r"(a|b)\1")
    Traceback (most recent call last):
        ...
    cfgguide.errors.PatternError: [pattern] the pattern uses a backreference at position 5, ...
    """
    with errors_of(pattern):
        tree = _parser.parse(pattern, flags)
        if "(?<" in pattern:
            _check_widths(tree)
        found = Syntax(_nodes(tree), tree.state.flags)
        for node in walk(found.nodes):
            if isinstance(node, Unsupported):
                raise PatternError(
                    f"the pattern uses {node.what}{_place(node, pattern)}, which is not supported: "
                    f"/{_shown(pattern)}/; {node.way_out}"
                )
    return found


def _place(unsupported: Unsupported, pattern: str) -> str:
    """Return where a pattern has what is not supported, as ``re``'s errors do."""
    notation = _NOTATION.get(unsupported.what)
    for piece in _PIECES.finditer(pattern) if notation else ():
        if re.match(str(notation), piece[0]):
            return f" at position {piece.start()}"
    return ""


def _shown(pattern: str) -> str:
    return pattern if len(pattern) <= 200 else f"{pattern[:200]}..."


def names_of_groups(pattern: str, flags: int = 0) -> tuple[str, ...]:
    """Return the names of the groups of a pattern that ``re`` can compile.

    ``re.compile`` spends most of its time on sets of characters, and refuses nothing that its
    parser has read, except in a look-behind.

    Raises
    ------
    re.error, ValueError, OverflowError
        If ``re`` rejects the pattern.
    RecursionError
        If it nests too deeply.

    Examples
    --------
    >>> names_of_groups("(?P<sign>[+-])?(?P<digits>[0-9]+)")
    ('sign', 'digits')
    """
    tree = _parser.parse(pattern, flags)
    if "(?<" in pattern:
        _check_widths(tree)
    return tuple(tree.state.groupdict)


_LOOKS = (_parser.ASSERT, _parser.ASSERT_NOT)


def _check_widths(part: Any) -> None:
    """Raise an error for what ``re`` refuses last: a look-behind that matches several widths."""
    # Operators are compared by identity: they are numbers, as the counts of a repetition are.
    is_look = isinstance(part, tuple) and bool(part) and any(part[0] is each for each in _LOOKS)
    if is_look and part[1][0] < 0:
        least, most = part[1][1].getwidth()
        if least != most:
            raise re.error("look-behind requires fixed-width pattern")
    if isinstance(part, tuple | list | _parser.SubPattern):
        for inner in part:
            _check_widths(inner)


def _nodes(items: Iterable[tuple[Any, Any]]) -> Nodes:
    return tuple([_node(str(operator), argument) for operator, argument in items])


def _node(kind: str, argument: Any) -> Node:
    """Return the node of an operator of ``re``'s parser."""
    if kind in ("LITERAL", "NOT_LITERAL"):
        return Literal(argument, is_negated=kind == "NOT_LITERAL")
    if kind == "ANY":
        return Dot()
    if kind == "IN":
        return _character_set([(str(operator), value) for operator, value in argument])
    if kind == "BRANCH":
        return Alternation(tuple([_nodes(branch) for branch in argument[1]]))
    if kind == "SUBPATTERN":
        _, added, removed, body = argument
        return Group(_nodes(body), added, removed)
    if kind in ("MAX_REPEAT", "MIN_REPEAT"):
        least, most, body = argument
        max_count = None if most == _parser.MAXREPEAT else int(most)
        return Repeat(_nodes(body), int(least), max_count, is_greedy=kind == "MAX_REPEAT")
    if kind in ("ASSERT", "ASSERT_NOT"):
        direction, body = argument
        return Look(_nodes(body), is_behind=direction < 0, is_negated=kind == "ASSERT_NOT")
    if kind == "FAILURE":  # how later versions of Python read (?!)
        return Look((), is_behind=False, is_negated=True)
    if kind == "AT":
        return _ANCHORS[str(argument)]
    return _UNSUPPORTED.get(kind) or Unsupported(f"the element {kind}", "write it otherwise")


def _character_set(items: list[tuple[str, Any]]) -> CharacterSet:
    members = [
        _CATEGORIES[str(value)] if kind == "CATEGORY" else value
        for kind, value in items
        if kind != "NEGATE"
    ]
    return CharacterSet(tuple(members), is_negated=items[0][0] == "NEGATE")


def branches_of(node: Node) -> tuple[Nodes, ...]:
    """Return the sequences of nodes inside a node; none in a character or an anchor."""
    if isinstance(node, Alternation):
        return node.branches
    if isinstance(node, Group | Repeat | Look):
        return (node.body,)
    return ()


def walk(nodes: Nodes) -> Iterator[Node]:
    """Yield all nodes at any depth, from left to right, outer ones first."""
    for node in nodes:
        yield node
        for branch in branches_of(node):
            yield from walk(branch)
