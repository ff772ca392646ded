r"""Regular expressions rewritten, for the same texts.

In: a pattern of Python's ``re``. Lark reads a terminal as the match that ``re`` prefers. Out:
patterns for which these are the texts that match *as a whole*:

* all flags are inside; comments and names of groups are gone (:func:`rewritten`);
* quantifiers are greedy, and alternatives that take more come first (``a|ab`` is ``a(?:b|)``);
* the empty text, which no terminal of Lark's may match, is left out (:func:`not_empty`).

Which texts match as a whole does not depend on what ``re`` tries first, so the last two steps are
safe. With look-around they might not be, so there only the first is done.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

from cfgguide.automata import syntax
from cfgguide.automata.syntax import (
    Alternation,
    Anchor,
    Category,
    CharacterSet,
    Dot,
    Group,
    Literal,
    Look,
    Node,
    Nodes,
    Repeat,
    branches_of,
    walk,
)

FLAGS = re.ASCII | re.IGNORECASE | re.MULTILINE | re.DOTALL | re.UNICODE | re.VERBOSE
_LETTERS = {
    re.ASCII: "a",
    re.UNICODE: "u",
    re.IGNORECASE: "i",
    re.MULTILINE: "m",
    re.DOTALL: "s",
}
_SPECIAL = re.compile(r"[][\\^$*+?{}()|./]")
_SPECIAL_IN_CLASS = re.compile(r"[][\\^\-&|~/]")
_NOT_BOUNDARY_IN_NOTHING = re.fullmatch(r"\B", "") is not None  # depends on the version of Python
_SPACE, _NO_SPACE = Category("s"), Category("s", is_negated=True)
_COMMON = tuple(map(ord, " \t\n\r"))
_UNBOUNDED = 2**32 - 1  # how often a repetition without a limit counts, where widths are compared


def rewritten(pattern: str, flags: int = 0) -> tuple[str, bool]:
    r"""Return a pattern for the same texts, with all flags inside, and whether it looks around.

    Parameters
    ----------
    pattern : str
        A pattern of Python's ``re``.
    flags : int
        ``re`` flags in force from the start.

    Raises
    ------
    PatternError
        If ``re`` rejects the pattern, or no automaton can express it.
    LimitError
        If it nests groups too deeply.

    Examples
    --------
    >>> rewritten("(?x) ^ (?P<sign> [+-] )? a*? # comment")
    ('[+\\-]?a*', False)
    >>> rewritten("A|AB", re.IGNORECASE)
    ('(?i:A(?:B|))', False)
    >>> rewritten(r"(?=\w)\d*?")
    ('(?=\\w)\\d*?', True)
    """
    tree = syntax.parse_supported(pattern, flags)
    with syntax.errors_of(pattern):
        nodes = _without_ends(tree.nodes)
        looks = any(isinstance(node, Look | Anchor) for node in walk(nodes))
        written = _sequence(nodes if looks else _preferring(nodes, is_greedy=True))
    letters = _flag_letters(tree.flags & ~re.UNICODE)
    return (f"(?{letters}:{written})" if letters else written), looks


def escaped(text: str) -> str:
    r"""Return the pattern of a text, with as few backslashes as possible.

    >>> print(escaped("1 + 1"))
    1 \+ 1
    """
    return _SPECIAL.sub(r"\\\g<0>", text)


def quantifier(least: int, most: int | None) -> str:
    """Return what stands after a part of a pattern that comes so often.

    >>> quantifier(0, 1), quantifier(1, None), quantifier(2, None), quantifier(3, 3)
    ('?', '+', '{2,}', '{3}')
    """
    if most is None:
        return {0: "*", 1: "+"}.get(least, f"{{{least},}}")
    if (least, most) == (0, 1):
        return "?"
    return f"{{{least}}}" if least == most else f"{{{least},{most}}}"


def pattern_of(nodes: Nodes) -> str:
    r"""Return the pattern that reads as some nodes.

    >>> pattern_of(syntax.parse(r"(?:a)[b-c]*?|(?i:\d)").nodes)
    'a[b-c]*?|(?i:\\d)'
    """
    return _sequence(nodes)


def not_empty(pattern: str) -> str | None:
    r"""Return a pattern for the same texts except the empty one, or None if there are none.

    Parameters
    ----------
    pattern : str
        A pattern that does not look around.

    Examples
    --------
    >>> not_empty("([0-9]*)?[.]?[0-9]*")
    '[0-9]+\\.?[0-9]*|\\.[0-9]*|[0-9]+'
    >>> not_empty("") is None
    True
    """
    nodes = _not_empty(syntax.parse(pattern).nodes)
    return None if nodes is None else _sequence(nodes)


def can_be_empty(pattern: str) -> bool:
    """Return whether a match may have no characters, as far as Lark can tell.

    Like Lark's check of a terminal, this takes all look-around to hold.
    """
    return _can_be_empty(syntax.parse(pattern).nodes)


def matches_nothing(pattern: str) -> bool:
    r"""Return whether a pattern matches the empty text, with all look-around.

    Examples
    --------
    >>> matches_nothing(r"(?!zz)(?:a?|b?){40}(?=x)x*"), matches_nothing(r"(?!zz)^(?:a?|b?){40}\Z")
    (False, True)
    """
    return _holds_in_nothing(syntax.parse(pattern).nodes)


def shortest_first(pattern: str) -> str:
    """Return a pattern for the same texts that prefers to take less where it can choose.

    Parameters
    ----------
    pattern : str
        A pattern that does not look around.

    Examples
    --------
    >>> shortest_first("(?:abc|a)+b*"), shortest_first("[a-z]{2,}!")
    ('(?:a(?:|bc))+?b*?', '[a-z]{2,}?!')
    """
    return _sequence(_preferring(syntax.parse(pattern).nodes, is_greedy=False))


def with_common_spaces(pattern: str) -> str:
    r"""Return a pattern whose ``\s`` is a space, a tab or a line break, and nothing else.

    It matches no more texts. What looks around is left as it is, and so are classes of all other
    characters, and those that have ``\S`` too, which stand for any character.

    Examples
    --------
    >>> with_common_spaces(r"^\s[\s,][^\s]"), with_common_spaces(r"(?!\s)[\s\S]")
    ('^[ \t\n\r][ \t\n\r,][^\\s]', '(?!\\s)[\\s\\S]')
    """
    nodes = syntax.parse(pattern).nodes
    found = common_spaces(nodes)
    return pattern if found == nodes else _sequence(found)


def common_spaces(nodes: Nodes) -> Nodes:
    """Return nodes whose white space is common, as :func:`with_common_spaces` has it."""
    return tuple(map(_common_spaces, nodes))


# --- What a pattern is changed to ----------------------------------------------------------------


def _without_ends(nodes: Nodes) -> Nodes:
    """Drop anchors at the ends, which hold there if the pattern matches a whole text."""
    while nodes and nodes[0] in (Anchor.LINE_START, Anchor.TEXT_START):
        nodes = nodes[1:]
    while nodes and nodes[-1] in (Anchor.LINE_END, Anchor.TEXT_END):
        nodes = nodes[:-1]
    return nodes


def _common_spaces(node: Node) -> Node:
    match node:
        case CharacterSet() if _SPACE in node.members and not (
            node.is_negated or _NO_SPACE in node.members
        ):
            members = [_COMMON if member == _SPACE else (member,) for member in node.members]
            return CharacterSet(tuple(itertools.chain(*members)))
        case Alternation():
            return Alternation(tuple(map(common_spaces, node.branches)))
        case Group() | Repeat():
            return replace(node, body=common_spaces(node.body))
        case _:
            return node


def _can_be_empty(nodes: Nodes) -> bool:
    return all(_is_optional(node) for node in nodes)


def _is_optional(node: Node) -> bool:
    if isinstance(node, Anchor | Look) or (isinstance(node, Repeat) and node.min_count == 0):
        return True
    return any(map(_can_be_empty, branches_of(node)))


def _holds_in_nothing(nodes: Nodes) -> bool:
    """Return whether nodes match one after the other in the empty text."""
    return all(map(_node_holds_in_nothing, nodes))


def _node_holds_in_nothing(node: Node) -> bool:
    match node:
        case Anchor.BOUNDARY:
            return False
        case Anchor.NOT_BOUNDARY:
            return _NOT_BOUNDARY_IN_NOTHING
        case Anchor():
            return True
        case Look():
            return _holds_in_nothing(node.body) != node.is_negated
        case Repeat():
            return node.min_count == 0 or _holds_in_nothing(node.body)
        case _:
            return any(map(_holds_in_nothing, branches_of(node)))


def _preferring(nodes: Nodes, *, is_greedy: bool) -> Nodes:
    """Return nodes that prefer to take more, or less."""
    return tuple([_preferring_node(node, is_greedy=is_greedy) for node in nodes])


def _preferring_node(node: Node, *, is_greedy: bool) -> Node:
    match node:
        case Alternation():
            branches = [_preferring(branch, is_greedy=is_greedy) for branch in node.branches]
            return Alternation(tuple(sorted(branches, key=_max_width, reverse=is_greedy)))
        case Group():
            return replace(node, body=_preferring(node.body, is_greedy=is_greedy))
        case Repeat():
            body = _preferring(node.body, is_greedy=is_greedy)
            return replace(node, body=body, is_greedy=is_greedy)
        case _:
            return node


def _max_width(nodes: Nodes) -> int:
    total = 0
    for node in nodes:
        width = max(map(_max_width, branches_of(node)), default=1)
        if isinstance(node, Repeat):
            width *= _UNBOUNDED if node.max_count is None else node.max_count
        total += width
    return total


def _not_empty(nodes: Nodes) -> Nodes | None:
    if not _can_be_empty(nodes):
        return nodes
    branches = []
    for index, node in enumerate(nodes):  # the first node that is not empty
        first = _node_not_empty(node)
        if first is not None:
            branches.append((first, *nodes[index + 1 :]))
    return _alternatives(branches)


def _node_not_empty(node: Node) -> Node | None:
    match node:
        case Repeat():
            return _repeat_not_empty(node)
        case Group():
            body = _not_empty(node.body)
            return None if body is None else replace(node, body=body)
        case Alternation():
            branches = [_not_empty(branch) for branch in node.branches]
            joined = _alternatives([branch for branch in branches if branch is not None])
            return None if joined is None else Group(joined)
        case _:
            return node  # a character


def _repeat_not_empty(node: Repeat) -> Node | None:
    body = _not_empty(node.body)
    if body is None or node.max_count == 0:
        return None
    if node.max_count == 1:
        return body[0] if len(body) == 1 else Group(body)
    min_count = 1 if _can_be_empty(node.body) else max(node.min_count, 1)
    return replace(node, body=body, min_count=min_count)


def _alternatives(branches: list[Nodes]) -> Nodes | None:
    if len(branches) > 1:
        return (Alternation(tuple(branches)),)
    return branches[0] if branches else None


# --- How it is written ---------------------------------------------------------------------------


def _sequence(nodes: Nodes) -> str:
    nodes = _without_group(nodes)
    if len(nodes) == 1 and isinstance(nodes[0], Alternation):
        return "|".join(map(_sequence, nodes[0].branches))
    return "".join(map(_written, nodes))


def _without_group(nodes: Nodes) -> Nodes:
    """Return what is inside groups around all of the nodes."""
    while len(nodes) == 1 and _is_plain_group(nodes[0]):
        (nodes,) = branches_of(nodes[0])
    return nodes


def _is_plain_group(node: Node) -> bool:
    return isinstance(node, Group) and not (node.added or node.removed)


def _written(node: Node) -> str:
    match node:
        case Repeat():
            body = _without_group(node.body)
            is_one = len(body) == 1 and isinstance(body[0], Literal | Dot | CharacterSet)
            written = _sequence(body) if is_one else f"(?:{_sequence(body)})"
            times = quantifier(node.min_count, node.max_count)
            return written + times + ("" if node.is_greedy else "?")
        case Alternation():
            return f"(?:{_sequence((node,))})"
        case Group():
            written = _sequence(node.body)
            if not _is_plain_group(node):
                return f"(?{_group_flags(node)}:{written})"
            is_one = len(node.body) == 1 and not isinstance(node.body[0], Alternation)
            return written if is_one else f"(?:{written})"
        case Look():
            sign = ("<" if node.is_behind else "") + ("!" if node.is_negated else "=")
            return f"(?{sign}{_sequence(node.body)})"
        case Anchor():
            return str(node.value)
        case _:
            return _character(node)


def _group_flags(node: Group) -> str:
    removed = _flag_letters(node.removed)
    return _flag_letters(node.added) + (f"-{removed}" if removed else "")


def _flag_letters(flags: int) -> str:
    return "".join(letter for flag, letter in _LETTERS.items() if flags & flag)


def _character(node: Node) -> str:
    if isinstance(node, Dot):
        return "."
    if isinstance(node, Literal):
        shown = _member(node.code_point)
        return f"[^{shown}]" if node.is_negated else escaped(chr(node.code_point))
    assert isinstance(node, CharacterSet)
    if len(node.members) == 1 and isinstance(node.members[0], Category) and not node.is_negated:
        return _member(node.members[0])
    sign = "^" if node.is_negated else ""
    return f"[{sign}{''.join(map(_member, node.members))}]"


def _member(member: int | tuple[int, int] | Category) -> str:
    if isinstance(member, Category):
        return f"\\{member.kind.upper() if member.is_negated else member.kind}"
    if isinstance(member, tuple):
        return f"{_member(member[0])}-{_member(member[1])}"
    return _SPECIAL_IN_CLASS.sub(r"\\\g<0>", chr(member))
