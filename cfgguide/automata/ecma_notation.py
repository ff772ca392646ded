r"""Reads regular expressions of ECMA-262 as trees whose leaves are classes of characters.

In: a pattern of JSON Schema. Out: a tuple of nodes that match one after the other. ``\d`` and
``\w`` are ASCII, ``\s`` is Unicode's white space, ``\p{...}`` a general category, ``$`` the very
end. The notation that Python lacks is translated first, then :mod:`cfgguide.automata.syntax` reads
the pattern; flags such as ``(?i:...)`` are worked into the classes, and ``\b`` is written as a
look-behind and a look-ahead.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import groupby

from cfgguide.automata import syntax
from cfgguide.automata.charset import ANY_CHARACTER, CharacterClass, ignoring_case
from cfgguide.automata.pattern_tree import START, Characters, Choice, Look, Node, Nodes, Repeat
from cfgguide.automata.syntax import Anchor, Category, CharacterSet, Dot, Literal, Unsupported
from cfgguide.errors import SchemaError, shown

_KEPT = 2000  # patterns of a process
_LINE_ENDS = CharacterClass.of_characters([0x0A, 0x0D, 0x2028, 0x2029])
_SPACES = CharacterClass.of(
    [
        *((0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A)),
        *((0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)),
        (0xFEFF, 0xFEFF),
    ]
)
_DIGITS = CharacterClass.of([(0x30, 0x39)])
_WORD = CharacterClass.of([(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)])
_CATEGORIES = {"d": _DIGITS, "s": _SPACES, "w": _WORD}
_LONG_NAMES = {
    "letter": "L",
    "uppercase_letter": "Lu",
    "lowercase_letter": "Ll",
    "titlecase_letter": "Lt",
    "cased_letter": "LC",
    "modifier_letter": "Lm",
    "other_letter": "Lo",
    "mark": "M",
    "number": "N",
    "decimal_number": "Nd",
    "digit": "Nd",
    "letter_number": "Nl",
    "other_number": "No",
    "punctuation": "P",
    "punct": "P",
    "symbol": "S",
    "separator": "Z",
    "space_separator": "Zs",
    "other": "C",
    "control": "Cc",
    "cntrl": "Cc",
    "format": "Cf",
}
_KNOWN_CATEGORIES = frozenset(unicodedata.category(chr(p)) for p in range(0x3000)) | {"Co", "Lo"}

# Notation of ECMA-262 that Python reads otherwise or not at all.
_COMMON_SPACES = " \t\n\r"
_SPACE_IN_CLASS = re.compile(r"(-)?\\s(-)?|\\.", re.DOTALL)  # a hyphen beside it is no range
_PIECES = re.compile(r"\[(?:[^\]\\]|\\.)*\]?|\(\?<?[=!]|\\.|.", re.DOTALL)
_KEPT_CLASS = re.compile(r"\A\[\^|\\S")
_ESCAPES = re.compile(
    r"\\(?P<property>[pP]\{[^}\\]*\})|\\c(?P<control>[A-Za-z])|\\u\{(?P<point>[0-9A-Fa-f]+)\}"
    r"|\\u[dD](?P<high>[89abAB][0-9A-Fa-f]{2})\\u[dD](?P<low>[c-fC-F][0-9A-Fa-f]{2})"
    r"|\\(?P<slash>/)|\\(?P<foreign>[aAZzGQE])|(?P<class>\\[dDsSwW]-?)|(?P<escape>\\.)"
    r"|(?P<name>\(\?<(?![=!]))|(?P<any>\[\^\])|(?P<none>\[\])|(?P<open>\[\^?)|(?P<close>\])"
    r"|(?P<before>-(?=\\[dDsSwW]))|(?P<doubled>[&~|])",
    re.DOTALL,
)


@lru_cache(maxsize=_KEPT)
def read(pattern: str) -> Nodes:
    """Return the tree of a pattern.

    Raises
    ------
    SchemaError
        If it is not a regular expression, or has what no automaton can express.
    """
    try:
        tree = syntax.parse(_as_python(pattern), re.ASCII)
        if tree.flags & re.VERBOSE:
            raise SchemaError("the flag x is not supported")
        return _resolved(tree.nodes, tree.flags)
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        raise SchemaError(f"the pattern {shown(pattern)} cannot be read: {error}") from None
    except SchemaError as error:
        raise SchemaError(f"the pattern {shown(pattern)}: {error.args[0]}") from None


def with_common_spaces(pattern: str) -> str:
    r"""Return a pattern whose ``\s`` is a space, a tab or a line break, and nothing else.

    It matches no more texts. What looks around is left as it is, and so are classes of all other
    characters, and those that have ``\S`` too, which stand for any character. Patterns of Python
    that :mod:`cfgguide.automata.rewrite` has written may be given as well.

    Examples
    --------
    >>> with_common_spaces(r"^\s[\s,][^\s]"), with_common_spaces(r"(?!\s)[\s\S]")
    ('^[ \t\n\r][ \t\n\r,][^\\s]', '(?!\\s)[\\s\\S]')
    """
    written, looks, n_looks = [], [], 0
    for match in _PIECES.finditer(pattern) if r"\s" in pattern else ():
        piece = match[0]
        if piece.startswith("("):
            looks.append(piece != "(")
            n_looks += looks[-1]
        elif piece == ")" and looks:
            n_looks -= looks.pop()
        elif piece == r"\s" and not n_looks:
            piece = f"[{_COMMON_SPACES}]"
        elif piece.startswith("[") and not n_looks and _KEPT_CLASS.search(piece) is None:
            piece = _SPACE_IN_CLASS.sub(_common_spaces, piece)
        written.append(piece)
    return "".join(written) or pattern


def _common_spaces(match: re.Match[str]) -> str:
    if r"\s" not in match[0]:
        return match[0]
    before, behind = (r"\-" if hyphen else "" for hyphen in match.groups())
    return f"{before}{_COMMON_SPACES}{behind}"


def _resolved(nodes: Iterable[syntax.Node], flags: int) -> Nodes:
    return tuple([_node(node, flags) for node in nodes])


def _node(node: syntax.Node, flags: int) -> Node:
    match node:
        case Literal() | Dot() | CharacterSet():
            return Characters(_class_of(node, flags))
        case Anchor():
            return _anchor(node, flags)
        case syntax.Group():
            if node.added & re.VERBOSE:
                raise SchemaError("the flag x is not supported")
            return Choice((_resolved(node.body, node.flags_inside(flags)),))
        case syntax.Alternation():
            return Choice(tuple([_resolved(branch, flags) for branch in node.branches]))
        case syntax.Repeat():
            return Repeat(_resolved(node.body, flags), node.min_count, node.max_count)
        case syntax.Look():
            return Look(_resolved(node.body, flags), node.is_behind, node.is_negated)
        case Unsupported():
            raise SchemaError(f"{node.what} is not supported")


def _anchor(anchor: Anchor, flags: int) -> Node:
    if anchor in (Anchor.BOUNDARY, Anchor.NOT_BOUNDARY):
        return _boundary(is_negated=anchor is Anchor.NOT_BOUNDARY)
    if flags & re.MULTILINE:
        line_end = Characters(_LINE_ENDS)
        return Choice(((anchor,), (Look((line_end,), is_behind=anchor is START),)))
    return anchor


@cache
def _boundary(*, is_negated: bool) -> Node:
    """Return a condition on which of the characters around a position are of words."""
    word = (Characters(_WORD),)
    return Choice(
        tuple(
            (
                Look(word, is_behind=True, is_negated=not is_word),
                Look(word, is_negated=is_word != is_negated),
            )
            for is_word in (True, False)
        )
    )


def _as_python(pattern: str) -> str:
    """Return a pattern of ECMA-262 in Python's notation."""
    is_in_class = False

    def written(match: re.Match[str]) -> str:
        nonlocal is_in_class
        kind, text = str(match.lastgroup), match[str(match.lastgroup)]
        if kind == "property":
            ranges = property_class(text[2:-1], is_negated=text[0] == "P").ranges
            inside = "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)
            return inside if is_in_class else f"[{inside}]"
        if kind == "control":
            return f"\\x{ord(text) % 32:02x}"
        if kind == "point":
            return f"\\U{int(text, 16):08x}"
        if kind == "high":
            point = 0x10000 + ((int(f"d{text}", 16) - 0xD800) << 10)
            return f"\\U{point + int('d' + match['low'], 16) - 0xDC00:08x}"
        if kind == "low":
            point = 0x10000 + ((int("d" + match["high"], 16) - 0xD800) << 10)
            return f"\\U{point + int('d' + text, 16) - 0xDC00:08x}"
        if kind == "foreign":
            raise SchemaError(f"it has \\{text}, which ECMA-262 does not know")
        if kind == "name":
            return "(?P<"
        if kind == "any" and not is_in_class:
            return r"[\s\S]"
        if kind == "none" and not is_in_class:
            return r"[^\s\S]"
        if kind == "open":
            was_in_class, is_in_class = is_in_class, True
            return "\\[" if was_in_class else match[0]
        if kind in ("class", "before", "doubled"):  # `re` would see a range, or a set operation
            return re.sub("[-&~|]", r"\\\g<0>", match[0]) if is_in_class else match[0]
        if kind == "close":
            is_in_class = False
        return match[0] if kind != "slash" else "/"

    return _ESCAPES.sub(written, pattern)


@cache
def _ranges_by_category() -> dict[str, list[tuple[int, int]]]:
    """Return the ranges of code points of each general category."""
    found: dict[str, list[tuple[int, int]]] = {}
    first = 0
    for kind, run in groupby(map(unicodedata.category, map(chr, range(sys.maxunicode + 1)))):
        end = first + sum(1 for _ in run)
        found.setdefault(kind, []).append((first, end - 1))
        first = end
    return found


@lru_cache(maxsize=_KEPT)
def property_class(name: str, *, is_negated: bool) -> CharacterClass:
    r"""Return the class of ``\p{name}``: a general category, by its short or long name."""
    bare = re.sub(r"^(gc|general_category)=", "", name, flags=re.IGNORECASE)
    short = _LONG_NAMES.get(bare.lower(), bare)
    if bare in ("Any", "ASCII"):
        found = ANY_CHARACTER if bare == "Any" else CharacterClass.of([(0, 127)])
        return found.complement() if is_negated else found
    members = {"Lu", "Ll", "Lt"} if short == "LC" else {short}
    kinds = {kind for kind in _KNOWN_CATEGORIES if kind in members or kind[0] in members}
    if not kinds:
        raise SchemaError(
            f"\\p{{{name}}} is not a general category of Unicode; only those are supported"
        )
    found = CharacterClass.of(each for kind in kinds for each in _ranges_by_category()[kind])
    return found.complement() if is_negated else found


def _class_of(node: syntax.Character, flags: int) -> CharacterClass:
    """Return the code points that a node matches in ECMA-262."""
    if isinstance(node, Dot):
        return ANY_CHARACTER if flags & re.DOTALL else _LINE_ENDS.complement()
    members = (node.code_point,) if isinstance(node, Literal) else node.members
    ranges: list[tuple[int, int]] = []
    for member in members:
        if isinstance(member, Category):
            escaped = _CATEGORIES[member.kind]
            ranges += (escaped.complement() if member.is_negated else escaped).ranges
        else:
            ranges.append(member if isinstance(member, tuple) else (member, member))
    found = CharacterClass.of(ranges)
    if flags & re.IGNORECASE:
        found = ignoring_case(found, ascii_only=False)
    return found.complement() if node.is_negated else found
