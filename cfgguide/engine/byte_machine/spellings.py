r"""How characters are spelled in strings of JSON, as trees of bytes.

In: ranges of characters. Out: a :data:`~cfgguide.automata.charset.ByteTree` of all their
spellings: plain ones, like those of ``json.dumps``, or all that JSON has.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache

from cfgguide.automata.alphabet import Ranges
from cfgguide.automata.charset import (
    END,
    ByteTree,
    CharacterClass,
    branches_of,
    byte_tree,
    common_ranges,
    surrogate_pairs,
    utf8_tree,
)
from cfgguide.automata.json_spelling import ESCAPED, RAW, is_in
from cfgguide.automata.language import ANY_TEXT
from cfgguide.base.limits import check_step

_BACKSLASH, _U = 0x5C, 0x75
_DIGITS = [{*b"%x%X" % (digit, digit)} for digit in range(16)]
_SHORT = {8: "b", 9: "t", 10: "n", 12: "f", 13: "r", 0x22: '"', 0x5C: "\\"}


@lru_cache(maxsize=4096)
def shortest_in(tree: ByteTree, used: frozenset[int]) -> bytes | None:
    r"""Return the least of the shortest texts in a tree, of some bytes; None if there is none.

    Examples
    --------
    >>> tree = plain_spelling(((0xE9, 0xE9),))
    >>> shortest_in(tree, frozenset(range(256))), shortest_in(tree, frozenset(range(128)))
    (b'\xc3\xa9', b'\\u00E9')
    """
    if tree == END:
        return b""
    found = []
    for low, high, rest in branches_of(tree):
        check_step(0)
        byte = next((byte for byte in range(low, high + 1) if byte in used), None)
        after = None if byte is None else shortest_in(rest, used)
        if byte is not None and after is not None:
            found.append(bytes((byte,)) + after)
    return min(found, key=lambda text: (len(text), text), default=None)


@lru_cache(maxsize=4096)
def n_bytes_of(tree: ByteTree) -> int:
    """Return how many bytes the shortest text in a tree has."""
    return min((1 + n_bytes_of(rest) for _, _, rest in branches_of(tree)), default=0)


@lru_cache(maxsize=4096)
def n_texts_of(tree: ByteTree) -> int:
    """Return how many texts a tree has."""
    return sum((high - low + 1) * n_texts_of(rest) for low, high, rest in branches_of(tree)) or 1


def is_written_in(tree: ByteTree, other: ByteTree) -> bool:
    """Return whether a text of a tree, the first, is in another one."""
    while tree != END and other != END:
        byte, _, tree = branches_of(tree)[0]
        found = [rest for low, high, rest in branches_of(other) if low <= byte <= high]
        if not found:
            return False
        (other,) = found
    return tree == other


@cache
def any_spelling(ranges: Ranges) -> ByteTree:
    """Return all spellings of a character in a string without conditions."""
    assert ranges == ANY_TEXT, "all characters have the same spellings there"
    letters = ((ord(letter), ord(letter), END) for letter in '"\\/bfnrt')
    escapes = byte_tree([*letters, (_U, _U, _escapes(ANY_TEXT))])
    raw = utf8_tree(CharacterClass(common_ranges(ANY_TEXT, RAW)))
    return byte_tree([*branches_of(raw), (_BACKSLASH, _BACKSLASH, escapes)])


@lru_cache(maxsize=4096)
def plain_spelling(ranges: Ranges) -> ByteTree:
    """Return the plain spellings of the characters in some ranges.

    Examples
    --------
    >>> [branch[:2] for branch in branches_of(plain_spelling(((10, 10), (97, 99))))]
    [(92, 92), (97, 99)]
    """
    check_step()
    raw = utf8_tree(CharacterClass(common_ranges(ranges, RAW)))
    escapes = [
        (ord(letter), ord(letter), END) for point, letter in _SHORT.items() if is_in(point, ranges)
    ]
    escaped = common_ranges(common_ranges(ranges, ANY_TEXT), ESCAPED)
    if escaped:
        escapes.append((_U, _U, _escapes(escaped)))
    if not escapes:
        return raw
    return byte_tree([*branches_of(raw), (_BACKSLASH, _BACKSLASH, byte_tree(escapes))])


@lru_cache(maxsize=4096)
def _escapes(ranges: Ranges) -> ByteTree:
    r"""Return the digits after ``\u``; above the first plane another ``\u`` follows."""
    parts: list[tuple[tuple[int, int], ByteTree]] = [
        (each, END) for each in common_ranges(ranges, ((0, 0xD7FF), (0xE000, 0xFFFF)))
    ]
    parts += [(firsts, _second(seconds)) for firsts, seconds in surrogate_pairs(ranges)]
    return _hex_tree(_merged(sorted(parts, key=lambda part: part[0])), 4)


def _second(seconds: tuple[int, int]) -> ByteTree:
    digits = _hex_tree(((seconds, END),), 4)
    return byte_tree([(_BACKSLASH, _BACKSLASH, byte_tree([(_U, _U, digits)]))])


def _merged(
    parts: Sequence[tuple[tuple[int, int], ByteTree]],
) -> tuple[tuple[tuple[int, int], ByteTree], ...]:
    """Return parts with those of one range joined: each range may be there several times."""
    found: dict[tuple[int, int], list[ByteTree]] = {}
    for each, rest in parts:
        found.setdefault(each, []).append(rest)
    return tuple((each, _united(rests)) for each, rests in found.items())


def _united(trees: Sequence[ByteTree]) -> ByteTree:
    """Return a tree with what several trees have, all of the same depth."""
    if len(trees) == 1:
        return trees[0]
    by_byte: dict[int, dict[ByteTree, None]] = {}
    for tree in trees:
        for low, high, rest in branches_of(tree):
            for byte in range(low, high + 1):
                by_byte.setdefault(byte, {})[rest] = None
    return byte_tree((byte, byte, _united(list(rests))) for byte, rests in by_byte.items())


@lru_cache(maxsize=4096)
def _hex_tree(parts: tuple[tuple[tuple[int, int], ByteTree], ...], n_digits: int) -> ByteTree:
    """Return hexadecimal numbers of `n_digits` digits in some ranges, each with what follows."""
    if n_digits == 0:
        return parts[0][1]
    check_step()
    size = 16 ** (n_digits - 1)
    by_digit: dict[int, list[tuple[tuple[int, int], ByteTree]]] = {}
    for (low, high), rest in parts:
        for digit in range(low // size, high // size + 1):
            inside = max(low - digit * size, 0), min(high - digit * size, size - 1)
            by_digit.setdefault(digit, []).append((inside, rest))
    branches: list[tuple[int, int, ByteTree]] = []
    for digit, within in by_digit.items():
        below = _hex_tree(tuple(within), n_digits - 1)
        branches += [(byte, byte, below) for byte in _DIGITS[digit]]
    return byte_tree(branches)
