"""Kinds of characters: a fixed partition of all code points, for sets that are looked up in bits.

In: ranges of code points. Out: the kinds that lie in them, as bits. A vocabulary trie knows of each
subtree which kinds its tokens have, and an automaton of a state which kinds lead on whatever comes
(:mod:`cfgguide.automata.staying`). So a subtree is taken whole where the one includes the other.
Any partition is right; this one has the sets that patterns ask for: each mark of ASCII, the digits,
halves of the letters for hexadecimal numbers, letters of large scripts, blanks, ends of lines.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import lru_cache
from string import punctuation

import numpy as np
import numpy.typing as npt

Ranges = tuple[tuple[int, int], ...]  # inclusive, of code points, sorted

_SURROGATES = 0xD800, 0xDFFF

#: The bits of kinds; above them is a number of characters.
N_BITS = 58
KINDS = (1 << N_BITS) - 1
MOST = (1 << 64 - N_BITS) - 1  # characters
#: A kind of no characters: of bytes that are none, and of longer texts than are counted.
NO_TEXT = 1 << N_BITS - 1
#: Beside the kinds of all that it may become: a character of which a token has only the beginning.
BEGUN = 1 << N_BITS - 2

_SETS: tuple[Ranges, ...] = (
    *(((ord(mark), ord(mark)),) for mark in punctuation + " \t\n\r\x7f"),
    *(((ord(first), ord(last)),) for first, last in ("09", "af", "gz", "AF", "GZ")),
    ((0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0xFF)),
    ((0x100, 0x2C1), (0x1E00, 0x1F15)),  # Latin
    ((0x3A3, 0x3F5), (0x400, 0x481), (0x48A, 0x52F)),  # Greek, Cyrillic
    ((0x5D0, 0x5EA), (0x620, 0x64A), (0x904, 0x939), (0xE01, 0xE30), (0x10D0, 0x10FA)),
    ((0x3041, 0x3096), (0x30A1, 0x30FA)),  # Kana
    ((0x3400, 0x4DB5),),
    ((0x4E00, 0x9FA5),),  # Chinese
    ((0xAC00, 0xD7A3),),  # Hangul
    ((0x2028, 0x2029),),
    ((0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x202F, 0x202F),
     (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF)),
)  # fmt: skip
#: Whatever is in no set, up to each of these code points.
_RESTS = (0x1F, _SURROGATES[0] - 1, 0xFFFF, sys.maxunicode)


def _intervals() -> Iterator[tuple[int, int, int]]:
    """Yield all code points but surrogates as intervals, in order, each with its kind."""
    named = sorted((low, high, kind) for kind, each in enumerate(_SETS) for low, high in each)
    start = 0
    for low, high, kind in [*named, (sys.maxunicode + 1, 0, 0)]:
        for number, last in enumerate(_RESTS, len(_SETS)):
            if start == _SURROGATES[0]:
                start = _SURROGATES[1] + 1
            if start <= min(low - 1, last):
                yield start, min(low - 1, last), number
                start = min(low - 1, last) + 1
        if low <= high:
            yield low, high, kind
        start = high + 1


_LOWS, _HIGHS, _NUMBERS = map(list, zip(*_intervals(), strict=True))
EVERY = (1 << len(_SETS) + len(_RESTS)) - 1


def kinds_of(points: npt.NDArray[np.integer]) -> npt.NDArray[np.uint64]:
    """Return the kind of each of some code points, as a bit; of none, `NO_TEXT`."""
    place = np.searchsorted(_LOWS, points, side="right") - 1
    bits = np.uint64(1) << np.array(_NUMBERS, dtype=np.uint64)[place]
    is_text = (points >= 0) & (points <= np.array(_HIGHS)[place])
    return np.where(is_text, bits, np.uint64(NO_TEXT))


def kinds_in(ranges: Ranges) -> int:
    """Return the kinds that lie in some ranges, as bits.

    Examples
    --------
    >>> letters = kinds_in(((0x41, 0x5A), (0x61, 0x7A)))
    >>> letters.bit_count(), kinds_in(((0x41, 0x45),)), letters == kinds_meeting(((0x50, 0x62),))
    (4, 0, False)
    """
    outside = 0
    for low, high, number in zip(_LOWS, _HIGHS, _NUMBERS, strict=True):
        place = bisect_right(ranges, (low, sys.maxunicode + 1)) - 1
        if place < 0 or ranges[place][1] < high:
            outside |= 1 << number
    return EVERY & ~outside


@lru_cache(maxsize=10_000)
def kinds_meeting(ranges: Ranges) -> int:
    """Return the kinds that have characters in some ranges, as bits."""
    found = 0
    for low, high in ranges:
        for place in range(bisect_left(_HIGHS, low), bisect_right(_LOWS, high)):
            found |= 1 << _NUMBERS[place]
    return found
