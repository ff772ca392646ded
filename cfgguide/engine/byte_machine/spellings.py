r"""How characters are spelled in strings of JSON, as trees of bytes.

In: ranges of characters. Out: a :class:`Tree` of all their spellings: plain ones, like those of
``json.dumps``, or all that JSON has. Equal trees are one object.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import ClassVar

from cfgguide.automata.charset import (
    MAX_CODE_POINT,
    CharacterClass,
    Utf8Node,
    common_ranges,
    utf8_tree,
)
from cfgguide.automata.language import ANY_TEXT, Ranges

_BACKSLASH, _U = 0x5C, 0x75
_SHORT = {8: "b", 9: "t", 10: "n", 12: "f", 13: "r", 0x22: '"', 0x5C: "\\"}
_RAW: Ranges = ((0x20, 0x21), (0x23, 0x5B), (0x5D, MAX_CODE_POINT))
_ESCAPED: Ranges = ((0, 0x1F), (0x7F, MAX_CODE_POINT))


class Tree:
    """A tree of bytes: ranges, each with what follows. Equal trees are one object; `END` is empty.

    Attributes
    ----------
    branches : tuple of (int, int, Tree)
        First and last byte, sorted.
    """

    __slots__ = ("branches",)
    _known: ClassVar[dict[tuple[tuple[int, int, int], ...], Tree]] = {}

    def __init__(self, branches: tuple[tuple[int, int, Tree], ...]) -> None:
        self.branches = branches

    @classmethod
    def of(cls, branches: Iterable[tuple[int, int, Tree]]) -> Tree:
        """Return the tree of some branches; neighbours that lead on alike are joined."""
        joined: list[tuple[int, int, Tree]] = []
        for low, high, rest in sorted(branches, key=lambda branch: branch[0]):
            if joined and joined[-1][1] == low - 1 and joined[-1][2] is rest:
                joined[-1] = (joined[-1][0], high, rest)
            else:
                joined.append((low, high, rest))
        key = tuple((low, high, id(rest)) for low, high, rest in joined)
        return cls._known.setdefault(key, cls(tuple(joined)))


END = Tree.of(())


@lru_cache(maxsize=4096)
def shortest_in(tree: Tree, used: frozenset[int]) -> bytes | None:
    r"""Return the least of the shortest texts in a tree, of some bytes; None if there is none.

    Examples
    --------
    >>> tree = plain_spelling(((0xE9, 0xE9),))
    >>> shortest_in(tree, frozenset(range(256))), shortest_in(tree, frozenset(range(128)))
    (b'\xc3\xa9', b'\\u00E9')
    """
    if tree is END:
        return b""
    found = []
    for low, high, rest in tree.branches:
        byte = next((byte for byte in range(low, high + 1) if byte in used), None)
        after = None if byte is None else shortest_in(rest, used)
        if byte is not None and after is not None:
            found.append(bytes((byte,)) + after)
    return min(found, key=lambda text: (len(text), text), default=None)


@lru_cache(maxsize=4096)
def n_bytes_of(tree: Tree) -> int:
    """Return how many bytes the shortest text in a tree has."""
    return min((1 + n_bytes_of(rest) for _, _, rest in tree.branches), default=0)


@cache
def _tree_of(node: Utf8Node) -> Tree:
    return Tree.of((low, high, _tree_of(rest)) for low, high, rest in node) if node else END


@cache
def any_spelling(ranges: Ranges) -> Tree:
    """Return all spellings of a character in a string without conditions."""
    assert ranges == ANY_TEXT, "all characters have the same spellings there"
    letters = ((ord(letter), ord(letter), END) for letter in '"\\/bfnrt')
    escapes = Tree.of([*letters, (_U, _U, _escapes(ANY_TEXT))])
    raw = _tree_of(utf8_tree(CharacterClass(common_ranges(ANY_TEXT, _RAW))))
    return Tree.of([*raw.branches, (_BACKSLASH, _BACKSLASH, escapes)])


@lru_cache(maxsize=4096)
def plain_spelling(ranges: Ranges) -> Tree:
    """Return the plain spellings of the characters in some ranges.

    Examples
    --------
    >>> [branch[:2] for branch in plain_spelling(((10, 10), (97, 99))).branches]
    [(92, 92), (97, 99)]
    """
    raw = _tree_of(utf8_tree(CharacterClass.of(common_ranges(ranges, _RAW))))
    escapes = [
        (ord(letter), ord(letter), END)
        for point, letter in _SHORT.items()
        if any(low <= point <= high for low, high in ranges)
    ]
    escaped = common_ranges(common_ranges(ranges, ANY_TEXT), _ESCAPED)
    if escaped:
        escapes.append((_U, _U, _escapes(escaped)))
    if not escapes:
        return raw
    return Tree.of([*raw.branches, (_BACKSLASH, _BACKSLASH, Tree.of(escapes))])


def _escapes(ranges: Ranges) -> Tree:
    r"""Return the digits after ``\u``; above the first plane another ``\u`` follows."""
    parts: list[tuple[tuple[int, int], Tree]] = [
        (each, END) for each in common_ranges(ranges, ((0, 0xD7FF), (0xE000, 0xFFFF)))
    ]
    for low, high in common_ranges(ranges, ((0x10000, MAX_CODE_POINT),)):
        parts += _pairs(low - 0x10000, high - 0x10000)
    return _hex_tree(_merged(sorted(parts, key=lambda part: part[0])), 4)


def _pairs(low: int, high: int) -> Iterable[tuple[tuple[int, int], Tree]]:
    """Yield the first halves of surrogate pairs of a range, and what follows them."""
    while low <= high:
        first, offset = divmod(low, 0x400)
        if offset == 0 and high - low >= 0x3FF:
            n_firsts = (high - low + 1) // 0x400
            yield (0xD800 + first, 0xD800 + first + n_firsts - 1), _second((0xDC00, 0xDFFF))
            low += n_firsts * 0x400
        else:
            end = min(high, low - offset + 0x3FF)
            seconds = (0xDC00 + offset, 0xDC00 + offset + end - low)
            yield (0xD800 + first, 0xD800 + first), _second(seconds)
            low = end + 1


def _second(seconds: tuple[int, int]) -> Tree:
    digits = _hex_tree(((seconds, END),), 4)
    return Tree.of([(_BACKSLASH, _BACKSLASH, Tree.of([(_U, _U, digits)]))])


def _merged(
    parts: Sequence[tuple[tuple[int, int], Tree]],
) -> tuple[tuple[tuple[int, int], Tree], ...]:
    """Return parts with those of one range joined: each range may be there several times."""
    found: dict[tuple[int, int], list[Tree]] = {}
    for each, rest in parts:
        found.setdefault(each, []).append(rest)
    return tuple((each, _united(rests)) for each, rests in found.items())


def _united(trees: Sequence[Tree]) -> Tree:
    """Return a tree with what several trees have, all of the same depth."""
    if len(trees) == 1:
        return trees[0]
    by_byte: dict[int, dict[Tree, None]] = {}
    for tree in trees:
        for low, high, rest in tree.branches:
            for byte in range(low, high + 1):
                by_byte.setdefault(byte, {})[rest] = None
    return Tree.of((byte, byte, _united(list(rests))) for byte, rests in by_byte.items())


@lru_cache(maxsize=4096)
def _hex_tree(parts: tuple[tuple[tuple[int, int], Tree], ...], n_digits: int) -> Tree:
    """Return hexadecimal numbers of `n_digits` digits in some ranges, each with what follows."""
    if n_digits == 0:
        return parts[0][1]
    size = 16 ** (n_digits - 1)
    branches: list[tuple[int, int, Tree]] = []
    for digit in range(16):
        inside = tuple(
            ((max(low - digit * size, 0), min(high - digit * size, size - 1)), rest)
            for (low, high), rest in parts
            if low < (digit + 1) * size and high >= digit * size
        )
        if inside:
            below = _hex_tree(inside, n_digits - 1)
            letters = f"{digit:x}" if digit < 10 else f"{digit:x}{digit:X}"
            branches += [(ord(letter), ord(letter), below) for letter in letters]
    return Tree.of(branches)
