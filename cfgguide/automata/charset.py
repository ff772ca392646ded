r"""Sets of characters, and the UTF-8 automata that recognise them.

In: a node of a pattern that matches one character. Out: the exact set of code points that Python's
``re`` matches there, and that set as a tree over UTF-8 bytes.

A :class:`CharacterClass` is a sorted tuple of inclusive ranges. Its UTF-8 tree is hash-consed:
equal suffixes are one tree, so ``\w`` (some 770 ranges) has about a hundred distinct nodes::

    [é-ë]   U+00E9..U+00EB   ->   C3 -> A9..AB -> end

Source: the lower-casing rules are those of CPython's ``re._compiler._optimize_charset``; the split
of ranges into byte sequences is that of Russ Cox, "Regular Expression Matching in the Wild" (2010).
"""

from __future__ import annotations

import _sre  # type: ignore[import-not-found]
import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import count
from operator import itemgetter
from typing import Any

import numpy as np

from cfgguide.automata.syntax import Category, Character, CharacterSet, Dot
from cfgguide.base.limits import check_step

MAX_CODE_POINT = 0x10FFFF
SURROGATES = (0xD800, 0xDFFF)  # not encodable in UTF-8, so no character of a text
#: Of U+10400, a capital, `re` itself is asked: Python 3.14 finds it in a class, older ones do not.
_LOSES_CAPITALS = re.match("(?i:[a\U00010400])", "\U00010400") is None


#: A tree of bytes: ranges, each with what follows. Equal trees are one number, so that keys with
#: trees in them are small, and nothing that Python's garbage collector looks through.
ByteTree = int
#: First and last byte, and what follows; sorted.
Branches = tuple[tuple[int, int, ByteTree], ...]

_TREES: dict[Branches, ByteTree] = {}
_BRANCHES: dict[ByteTree, Branches] = {}  # has each number before `_TREES` does
_NUMBERS = count()


def byte_tree(branches: Iterable[tuple[int, int, ByteTree]]) -> ByteTree:
    """Return the tree of some branches; neighbours that lead on alike are joined."""
    joined: list[tuple[int, int, ByteTree]] = []
    for low, high, rest in sorted(branches, key=itemgetter(0)):
        if joined and joined[-1][1] == low - 1 and joined[-1][2] == rest:
            joined[-1] = (joined[-1][0], high, rest)
        else:
            joined.append((low, high, rest))
    key = tuple(joined)
    if key not in _TREES:
        number = next(_NUMBERS)
        _BRANCHES[number] = key
        _TREES.setdefault(key, number)
    return _TREES[key]


#: Return the branches of a tree.
branches_of = _BRANCHES.__getitem__

END = byte_tree(())  # of a character: it has no branches


@dataclass(frozen=True)
class CharacterClass:
    """A set of code points.

    Attributes
    ----------
    ranges : tuple of (int, int)
        Inclusive, sorted, disjoint, not adjacent, without surrogates.

    Examples
    --------
    >>> CharacterClass.of([(97, 99), (98, 101), (102, 102)]).ranges
    ((97, 102),)
    >>> CharacterClass.of([(0, 65)]).complement().ranges[0]
    (66, 55295)
    """

    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, ranges: Iterable[tuple[int, int]]) -> CharacterClass:
        """Return the class of all code points in ``ranges``, which may overlap."""
        merged: list[list[int]] = []
        for low, high in sorted(ranges):
            if merged and low <= merged[-1][1] + 1:
                merged[-1][1] = max(merged[-1][1], high)
            else:
                merged.append([low, high])
        return cls(tuple(_without_surrogates(merged)))

    @classmethod
    def of_characters(cls, code_points: Iterable[int]) -> CharacterClass:
        """Return the class of single code points."""
        return cls.of((point, point) for point in code_points)

    def complement(self) -> CharacterClass:
        """Return every encodable code point that is not in this class."""
        gaps, start = [], 0
        for low, high in self.ranges:
            if start < low:
                gaps.append((start, low - 1))
            start = high + 1
        if start <= MAX_CODE_POINT:
            gaps.append((start, MAX_CODE_POINT))
        return CharacterClass.of(gaps)

    def __contains__(self, code_point: int) -> bool:
        place = bisect_right(self.ranges, (code_point, MAX_CODE_POINT)) - 1
        return place >= 0 and code_point <= self.ranges[place][1]


@lru_cache(maxsize=16)  # vocabularies
def without_bytes(missing: frozenset[int]) -> CharacterClass:
    r"""Return the characters that UTF-8 writes without certain bytes.

    >>> [chr(point) in "\x04aé\U00040000" for point in (0x04, 0xE9)]
    [True, True]
    >>> spelled = without_bytes(frozenset([0x04, 0xF1]))
    >>> [ord(character) in spelled for character in "\x04aé\U00040000\U00080000"]
    [False, True, True, False, True]
    """
    ranges = [(point, point) for point in range(0x80) if point not in missing]
    rest = [byte & 0x3F for byte in range(0x80, 0xC0) if byte not in missing]
    ends = CharacterClass.of_characters(rest).ranges  # of what the last byte adds
    for n, leads, first in ((1, range(0xC2, 0xE0), 0), (2, range(0xE0, 0xF0), 0x800),
                            (3, range(0xF0, 0xF5), 0x10000)):  # fmt: skip
        bases = [lead & (0x3F >> n) for lead in leads if lead not in missing]
        for _ in range(n - 1):
            bases = [base << 6 | each for base in bases for each in rest]
        for base in bases:
            for low, high in ends:
                point, last = max(base << 6 | low, first), min(base << 6 | high, MAX_CODE_POINT)
                if point <= last:
                    ranges.append((point, last))
    return CharacterClass.of(ranges)


def common_ranges(
    ranges: tuple[tuple[int, int], ...], others: tuple[tuple[int, int], ...]
) -> tuple[tuple[int, int], ...]:
    """Return what two sets of ranges have in common; the ranges of each are in order.

    >>> common_ranges(((0, 9),), ((2, 3), (8, 12)))
    ((2, 3), (8, 9))
    """
    found, place, other = [], 0, 0
    while place < len(ranges) and other < len(others):
        (low, high), (first, last) = ranges[place], others[other]
        if max(low, first) <= min(high, last):
            found.append((max(low, first), min(high, last)))
        if high < last:
            place += 1
        else:
            other += 1
    return tuple(found)


def _without_surrogates(ranges: Iterable[Iterable[int]]) -> Iterable[tuple[int, int]]:
    first, last = SURROGATES
    for low, high in ranges:
        if high < first or low > last:
            yield (low, high)
            continue
        if low < first:
            yield (low, first - 1)
        if high > last:
            yield (last + 1, high)


ANY_CHARACTER = CharacterClass.of([(0, MAX_CODE_POINT)])
NEWLINE = CharacterClass.of([(10, 10)])


def _all_characters() -> str:
    """Return the text of all code points in order, surrogates too."""
    points = np.arange(sys.maxunicode + 1, dtype="<u4")
    return points.tobytes().decode("utf-32-le", "surrogatepass")


@lru_cache(maxsize=10_000)
def characters_of(node: Character, flags: int) -> CharacterClass:
    r"""Return the code points that a node of a pattern matches under flags of ``re``.

    >>> from cfgguide.automata.syntax import Literal
    >>> characters_of(Literal(ord("a")), re.IGNORECASE).ranges
    ((65, 65), (97, 97))
    """
    if isinstance(node, Dot):
        return ANY_CHARACTER if flags & re.DOTALL else NEWLINE.complement()
    if isinstance(node, CharacterSet):
        members = _members(node, flags)
    else:
        members = _cased([(node.code_point, node.code_point)], flags)
    return members.complement() if node.is_negated else members


def _members(node: CharacterSet, flags: int) -> CharacterClass:
    literals: list[tuple[int, int]] = []
    categories: list[tuple[int, int]] = []
    is_ascii = bool(flags & re.ASCII)
    for member in node.members:
        if isinstance(member, Category):
            categories.extend(category(member, ascii_only=is_ascii).ranges)
        elif isinstance(member, tuple):
            literals.append(member)
        elif not (flags & re.IGNORECASE and is_never_found(member, is_ascii)):
            literals.append((member, member))
    return CharacterClass.of([*_cased(literals, flags).ranges, *categories])


def _cased(ranges: list[tuple[int, int]], flags: int) -> CharacterClass:
    characters = CharacterClass.of(ranges)
    if flags & re.IGNORECASE:
        return ignoring_case(characters, ascii_only=bool(flags & re.ASCII))
    return characters


@cache
def category(escape: Category, *, ascii_only: bool) -> CharacterClass:
    r"""Return the class of ``\d``, ``\s`` or ``\w``, as Python's own ``re`` has it.

    >>> category(Category("d"), ascii_only=True).ranges
    ((48, 57),)
    """
    if escape.is_negated:
        return category(Category(escape.kind), ascii_only=ascii_only).complement()
    text = _all_characters()[: 128 if ascii_only else None]
    flags = re.ASCII if ascii_only else re.UNICODE
    runs = re.compile(f"\\{escape.kind}+", flags).finditer(text)
    return CharacterClass.of((run.start(), run.end() - 1) for run in runs)


@cache
def _lower_cases() -> dict[int, int]:
    """Return code point -> its lower case as ``re`` sees it, wherever ``re`` sees a case.

    Text that is its own lower case and upper case has no such characters, so it is skipped.
    """
    lower: Any = _sre.unicode_tolower
    text = _all_characters()
    size = 256
    stretches = [text[start : start + size] for start in range(0, len(text), size)]
    cased = [some for some in stretches if not some == some.lower() == some.upper()]
    points = [point for some in cased for point in map(ord, some) if _sre.unicode_iscased(point)]
    return {point: lower(point) for point in points}


@cache
def _cased_characters() -> tuple[CharacterClass, dict[int, list[int]]]:
    """Return what ``re`` sees a case in, and lower case -> the code points that have it."""
    by_lower: dict[int, list[int]] = {}
    for point, lower in _lower_cases().items():
        by_lower.setdefault(lower, []).append(point)
    return CharacterClass.of_characters(_lower_cases()), by_lower


@cache
def _case_variants() -> dict[int, tuple[int, ...]]:
    """Return code point -> other lower-case code points that ``re.IGNORECASE`` equates with it."""
    casefix: Any = __import__("re._casefix", fromlist=["_EXTRA_CASES"])
    return dict(casefix._EXTRA_CASES)


@lru_cache(maxsize=10_000)
def ignoring_case(characters: CharacterClass, *, ascii_only: bool) -> CharacterClass:
    r"""Return what ``re.IGNORECASE`` makes of a class of literals and ranges.

    ``re`` lower-cases the class and the text: a character matches if its lower case, or a
    character with the same upper case as that, is in the lower-cased class.

    >>> letter_k = CharacterClass.of_characters([ord("k")])
    >>> [f"{low:04X}" for low, _ in ignoring_case(letter_k, ascii_only=False).ranges]
    ['004B', '006B', '212A']
    """
    if ascii_only:
        return _ignoring_ascii_case(characters)
    lower_of = _lower_cases()
    cased, points_by_lower = _cased_characters()
    members = (point for low, high in characters.ranges for point in range(low, high + 1))
    is_small = sum(high - low + 1 for low, high in characters.ranges) < len(lower_of)
    lowered: set[int] = set()
    for point in members if is_small else filter(characters.__contains__, lower_of):
        if point in lower_of:
            lowered.update((lower_of[point], *_case_variants().get(lower_of[point], ())))
    # A range of cased characters only is wholly decided by `matched`; of any other range the
    # cased part is in `matched` too, since its own lower case is in `lowered`.
    matched = [(point, point) for lower in lowered for point in points_by_lower.get(lower, ())]
    caseless = CharacterClass.of([*characters.complement().ranges, *cased.ranges]).complement()
    return CharacterClass.of([*caseless.ranges, *matched])


def is_never_found(point: int, ascii_only: bool) -> bool:
    """Return whether ``re.IGNORECASE`` never finds a character that a class lists by itself.

    Before Python 3.14, ``re`` lower-cases the text but, above U+FFFF, not such a member.
    """
    is_lost = _LOSES_CAPITALS and not ascii_only and point > 0xFFFF
    return is_lost and _sre.unicode_tolower(point) != point


def _ignoring_ascii_case(characters: CharacterClass) -> CharacterClass:
    letters = [point for point in range(128) if chr(point).isalpha() and point in characters]
    swapped = [(point ^ 32, point ^ 32) for point in letters]
    return CharacterClass.of([*characters.ranges, *swapped])


@cache
def utf8_tree(characters: CharacterClass) -> ByteTree:
    """Return the tree of the UTF-8 encodings of a class; equal subtrees are one.

    >>> _, (*first, rest) = branches_of(utf8_tree(CharacterClass.of_characters([0x41, 0xE9])))
    >>> first, [branch[:2] for branch in branches_of(rest)]
    ([195, 195], [(169, 169)])
    """
    below = common_ranges(characters.ranges, ((0, 0x7F),))
    if below:  # most classes differ there only
        beyond = common_ranges(characters.ranges, ((0x80, MAX_CODE_POINT),))
        more = branches_of(utf8_tree(CharacterClass(beyond)))
        return byte_tree([*((low, high, END) for low, high in below), *more])
    # (lowest, highest code point, first lead byte, number of continuation bytes)
    lengths = (
        (0x80, 0x7FF, 0xC0, 1),
        (0x800, 0xFFFF, 0xE0, 2),
        (0x10000, MAX_CODE_POINT, 0xF0, 3),
    )
    branches: list[tuple[int, int, ByteTree]] = []
    for lowest, highest, lead, n_continuation in lengths:
        part = common_ranges(characters.ranges, ((lowest, highest),))
        branches += branches_of(_tree(part, lead, n_continuation))
    return byte_tree(branches)


def _tree(ranges: Iterable[tuple[int, int]], base: int, n_continuation: int) -> ByteTree:
    """Return the tree that begins with ``base`` plus the bits above ``n_continuation`` bytes."""
    check_step(0)
    size = 64**n_continuation
    blocks: dict[int, list[tuple[int, int]]] = {}
    branches: list[tuple[int, int, ByteTree]] = []
    for low, high in ranges:
        first, last = -(-low // size), (high + 1) // size - 1  # blocks covered completely
        if first <= last:
            branches.append((base + first, base + last, _full(n_continuation)))
        for block in {low // size, high // size}:
            if not first <= block <= last:
                inside = (max(low - block * size, 0), min(high - block * size, size - 1))
                blocks.setdefault(block, []).append(inside)
    branches += [
        (base + block, base + block, _tree(inside, 0x80, n_continuation - 1))
        for block, inside in blocks.items()
    ]
    return byte_tree(branches)


@cache
def _full(n_continuation: int) -> ByteTree:
    return byte_tree([(0x80, 0xBF, _full(n_continuation - 1))]) if n_continuation else END


def surrogate_pairs(
    ranges: Iterable[tuple[int, int]],
) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield the first halves of the surrogate pairs of some characters, and the second ones.

    Characters of the first plane have none.

    >>> [[f"{low:x}-{high:x}" for low, high in pair] for pair in surrogate_pairs([(65, 0x10401)])]
    [['d800-d800', 'dc00-dfff'], ['d801-d801', 'dc00-dc01']]
    """
    for low, high in ranges:
        low = max(low, 0x10000)
        while low <= high:
            first, offset = divmod(low - 0x10000, 0x400)
            if offset == 0 and high - low >= 0x3FF:
                n_firsts = (high - low + 1) // 0x400
                yield (0xD800 + first, 0xD800 + first + n_firsts - 1), (0xDC00, 0xDFFF)
                low += n_firsts * 0x400
            else:
                end = min(high, low - offset + 0x3FF)
                yield (0xD800 + first,) * 2, (0xDC00 + offset, 0xDC00 + offset + end - low)
                low = end + 1
