r"""Letters: characters that an automaton reads alike, so that a row has few targets.

In: character classes, or the alphabets of automata that read side by side. Out: an
:class:`Alphabet`, which divides the code points into intervals and gives each a letter. Sets of
letters are bits of a number; what is asked of the characters in a set is found out once::

    ^[a-z]+-[0-9]$    intervals    0..  -  ...  0-9  ...  a-z  {..  surrogates  U+E000..
                      letters      1    2  1    3    1    4    1    0           1

Surrogates are not characters of a text: they have letter 0, which leads nowhere. Equal alphabets of
all patterns of a process are one object.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache, reduce
from itertools import chain, pairwise
from math import inf

from cfgguide.automata.charset import MAX_CODE_POINT, SURROGATES, ByteTree, CharacterClass
from cfgguide.base.limits import check_step
from cfgguide.base.remembered import remembered_up_to
from cfgguide.base.sets import members

_N_KEPT = 256  # alphabets of classes, and of several automata
_N_SETS = 1_000  # of letters, of which an alphabet remembers the characters
_GAP = (0, SURROGATES[0], SURROGATES[1] + 1)

Ranges = tuple[tuple[int, int], ...]  # inclusive, of code points
Fewest = tuple[float, float]  # bytes of a character: in UTF-8, and in a string of JSON


class Alphabet:
    """A division of all code points.

    Attributes
    ----------
    cuts : tuple of int
        The first code point of each interval, sorted; the first is 0.
    letters : tuple of int
        Of each interval; by default each has one of its own.
    n_letters : int
        With 0.
    """

    def __init__(self, cuts: Sequence[int], letters: Sequence[int] | None = None) -> None:
        self.cuts = tuple(cuts)
        self.letters = tuple(range(len(cuts)) if letters is None else letters)
        self.n_letters = max(self.letters) + 1

    def letter(self, point: int) -> int:
        """Return the letter of a code point."""
        return self.letters[bisect_right(self.cuts, point) - 1]

    def intervals(self) -> Iterator[tuple[int, int, int]]:
        """Yield the first and the last code point of each interval, and its letter."""
        for (first, end), letter in zip(
            pairwise((*self.cuts, MAX_CODE_POINT + 1)), self.letters, strict=True
        ):
            yield first, end - 1, letter

    @remembered_up_to(_N_SETS)
    def bits(self, characters: CharacterClass) -> int:
        """Return the letters of a class that no letter divides, as bits."""
        found = 0
        for low, high in characters.ranges:
            first, end = bisect_right(self.cuts, low) - 1, bisect_right(self.cuts, high)
            for letter in self.letters[first:end]:
                found |= 1 << letter
        return found

    @remembered_up_to(_N_SETS)
    def ranges(self, letters: int) -> Ranges:
        """Return the characters of some letters, given as bits."""
        check_step(0)
        found: list[tuple[int, int]] = []
        for first, last in sorted(chain(*[self._intervals_of[each] for each in members(letters)])):
            if found and found[-1][1] == first - 1:
                found[-1] = (found[-1][0], last)
            else:
                found.append((first, last))
        return tuple(found)

    @cached_property
    def _intervals_of(self) -> list[list[tuple[int, int]]]:
        """The first and the last code points of the intervals of each letter."""
        found: list[list[tuple[int, int]]] = [[] for _ in range(self.n_letters)]
        for first, last, letter in self.intervals():
            check_step(0)
            found[letter].append((first, last))
        return found

    @remembered_up_to(_N_SETS)
    def spelled(self, spelling: Callable[[Ranges], ByteTree], letters: int) -> ByteTree:
        """Return how the characters of some letters are written."""
        return spelling(self.ranges(letters))

    @remembered_up_to(_N_SETS)
    def n_bytes(self, letters: int) -> Fewest:
        """Return how many bytes a character of some letters at least has."""
        return reduce(fewer, [bytes_of(*each) for each in self.ranges(letters)], (inf, inf))


def alphabet_of(classes: Iterable[CharacterClass]) -> Alphabet:
    """Return the alphabet of characters that no class tells apart.

    Examples
    --------
    >>> found = alphabet_of([CharacterClass.of([(97, 122)])])
    >>> [found.letter(ord(each)) for each in "az-"], found.letter(0xD800), found.n_letters
    ([2, 2, 1], 0, 3)
    """
    return _alphabet_of(tuple(sorted(set(classes), key=lambda each: each.ranges)))


@lru_cache(maxsize=_N_KEPT)
def _alphabet_of(classes: tuple[CharacterClass, ...]) -> Alphabet:
    cuts = _cuts(each for characters in classes for each in characters.ranges)
    member_of: list[tuple[int, ...]] = [()] * len(cuts)
    for number, characters in enumerate(classes):
        check_step()
        for low, high in characters.ranges:
            for place in range(bisect_right(cuts, low) - 1, bisect_right(cuts, high)):
                member_of[place] += (number,)
    return _lettered(cuts, member_of)[0]


def _cuts(ranges: Iterable[tuple[int, int]]) -> list[int]:
    """Return the first code points of intervals that no range divides, and no surrogates."""
    points = {*_GAP}
    for first, last in ranges:
        points |= {first, last + 1}
    return sorted(points - {MAX_CODE_POINT + 1})


@lru_cache(maxsize=_N_KEPT)
def beside(alphabets: tuple[Alphabet, ...]) -> tuple[Alphabet, tuple[tuple[int, ...], ...]]:
    """Return the alphabet of several automata together, and for each letter theirs.

    Examples
    --------
    >>> one, other = (alphabet_of([CharacterClass.of([each])]) for each in ((97, 99), (98, 122)))
    >>> found, letters = beside((one, other))
    >>> [letters[found.letter(ord(each))] for each in "abz-"]
    [(2, 1), (2, 2), (1, 2), (1, 1)]
    """
    cuts = sorted({*_GAP}.union(*(each.cuts for each in alphabets)))
    alphabet, read = _lettered(
        cuts, [tuple([each.letter(cut) for each in alphabets]) for cut in cuts]
    )
    return alphabet, ((0,) * len(alphabets), *read)


def _lettered(
    cuts: Sequence[int], read: Iterable[tuple[int, ...]]
) -> tuple[Alphabet, list[tuple[int, ...]]]:
    """Return an alphabet in which a letter is what is read alike, and how that is, from 1 on."""
    numbers: dict[tuple[int, ...], int] = {}
    letters = [
        0 if SURROGATES[0] <= cut <= SURROGATES[1] else 1 + numbers.setdefault(each, len(numbers))
        for cut, each in zip(cuts, read, strict=True)
    ]
    return Alphabet(cuts, letters), list(numbers)


def letters_to(row: Sequence[int]) -> dict[int, int]:
    """Return the targets in a row of an automaton but the dead one, each with its letters."""
    found: dict[int, int] = {}
    for letter, target in enumerate(row):
        if target:
            found[target] = found.get(target, 0) | 1 << letter
    return found


def fewer(some: Fewest, others: Fewest) -> Fewest:
    """Return the fewer bytes in each spelling."""
    return min(some[0], others[0]), min(some[1], others[1])


@lru_cache(maxsize=10_000)
def bytes_of(low: int, high: int) -> Fewest:
    r"""Return how many bytes a character of an interval at least has, plain and in JSON.

    Examples
    --------
    >>> bytes_of(0x61, 0x7A), bytes_of(0xE9, 0xE9), bytes_of(0x0A, 0x0A), bytes_of(0, 0)
    ((1, 1), (2, 2), (1, 2), (1, 6))
    """
    n_bytes = len(chr(low).encode())
    # Whatever JSON escapes comes before "a"; there is a character of one byte among these, too.
    points = map(chr, range(low, min(high, ord("a")) + 1))
    written = [len(json.dumps(point, ensure_ascii=False)) - 2 for point in points]
    return n_bytes, min(written, default=n_bytes)
