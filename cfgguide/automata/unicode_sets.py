r"""Sets of characters by name, and in any case, as Unicode defines them.

In: a name, such as ``Lu`` or ``Uppercase_Letter``. Out: a class of characters. The data is that of
Python's ``unicodedata``: general categories and what follows from them. ``\w`` is that of Unicode's
technical standard 18, annex C, as Rust has it; Python's own lacks marks and has more numbers.

Later versions of Unicode than Python's know more characters. What they are is not known here, so
:func:`known` has those of which that cannot be.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from itertools import groupby

from cfgguide.automata.charset import (
    ANY_CHARACTER,
    CharacterClass,
    common_ranges,
    ignoring_case,
)
from cfgguide.base.limits import check_step

_KEPT = 500  # classes of a process
_PLANE = 0x10000
#: White space, as Unicode and Rust have it.
SPACES = CharacterClass.of(
    [
        *((0x09, 0x0D), (0x20, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680)),
        *((0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F)),
        (0x3000, 0x3000),
    ]
)
#: Sets of ASCII by name: first and last characters of their ranges.
_ASCII = {
    "alnum": "09AZaz",
    "alpha": "AZaz",
    "ascii": "\x00\x7f",
    "blank": "\t\t  ",
    "cntrl": "\x00\x1f\x7f\x7f",
    "digit": "09",
    "graph": "!~",
    "lower": "az",
    "print": " ~",
    "punct": "!/:@[`{~",
    "space": "\t\r  ",
    "upper": "AZ",
    "word": "09AZaz__",
    "xdigit": "09AFaf",
}
ASCII = {
    name: CharacterClass.of(zip(map(ord, ends[::2]), map(ord, ends[1::2]), strict=True))
    for name, ends in _ASCII.items()
}
_CATEGORY_NAMES = """
L letter; Lu uppercaseletter; Ll lowercaseletter; Lt titlecaseletter; LC casedletter;
Lm modifierletter; Lo otherletter; M mark combiningmark; Mn nonspacingmark; Mc spacingmark;
Me enclosingmark; N number; Nd decimalnumber digit; Nl letternumber; No othernumber;
P punctuation punct; Pc connectorpunctuation; Pd dashpunctuation; Ps openpunctuation;
Pe closepunctuation; Pi initialpunctuation; Pf finalpunctuation; Po otherpunctuation;
S symbol; Sm mathsymbol; Sc currencysymbol; Sk modifiersymbol; So othersymbol; Z separator;
Zs spaceseparator; Zl lineseparator; Zp paragraphseparator; C other; Cc control cntrl;
Cf format; Co privateuse; Cn unassigned; Cs surrogate
"""
_CATEGORIES = {  # by the name in small letters, without underscores
    name: short for short, *names in map(str.split, _CATEGORY_NAMES.split(";")) for name in names
}
_SHORT = {short.lower(): short for short in [*_CATEGORIES.values()]}
# Symbols that Unicode counts as letters: circled, squared and negative ones.
_ALPHABETIC_SYMBOLS = [(0x24B6, 0x24E9)]
_ALPHABETIC_SYMBOLS += [(0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189)]
_JOIN_CONTROL = (0x200C, 0x200D)
_TURKISH = CharacterClass.of([(0x130, 0x131)])  # Python takes them for `i`, Unicode does not


@cache
def _ranges_by_category() -> dict[str, list[tuple[int, int]]]:
    """Return the ranges of code points of each general category.

    The planes from 4 on, except 14, have one category each, and two last ones that are no
    characters.
    """
    found: dict[str, list[tuple[int, int]]] = {}
    for plane in range(0, sys.maxunicode + 1, _PLANE):
        check_step(0)
        if plane < 4 * _PLANE or plane == 14 * _PLANE:
            first = plane
            for kind, run in groupby(
                map(unicodedata.category, map(chr, range(first, first + _PLANE)))
            ):
                end = first + len(list(run))
                found.setdefault(kind, []).append((first, end - 1))
                first = end
        else:
            kind = unicodedata.category(chr(plane))
            found.setdefault(kind, []).append((plane, plane + _PLANE - 3))
            found["Cn"].append((plane + _PLANE - 2, plane + _PLANE - 1))
    return found


def _of_categories(kinds: Iterable[str]) -> CharacterClass:
    """Return the characters of general categories, or of all that begin with a letter."""
    wanted = tuple(kinds)
    ranges = _ranges_by_category()
    check_step(0)
    return CharacterClass.of(
        bounds for kind in ranges if kind.startswith(wanted) for bounds in ranges[kind]
    )


@cache
def word() -> CharacterClass:
    r"""Return the characters of words, as Unicode and Rust have them."""
    categories = _of_categories(["L", "M", "Nd", "Nl", "Pc"])
    return CharacterClass.of([*categories.ranges, *_ALPHABETIC_SYMBOLS, _JOIN_CONTROL])


@cache
def digits() -> CharacterClass:
    """Return the decimal digits of all scripts."""
    return _of_categories(["Nd"])


@cache
def known() -> CharacterClass:
    """Return the characters of which no later version of Unicode says what they are."""
    planes = range(0, sys.maxunicode + 1, _PLANE)
    never = [(0xFDD0, 0xFDEF), *((plane + 0xFFFE, plane + 0xFFFF) for plane in planes)]
    return CharacterClass.of([*_of_categories(["Cn"]).complement().ranges, *never])


@lru_cache(maxsize=_KEPT)
def named(name: str, *, is_loose: bool = False) -> CharacterClass | None:
    """Return a general category, ``Any``, ``ASCII``, ``Assigned`` or ``White_Space``.

    Parameters
    ----------
    name : str
        The name, short or long; ``gc=`` may stand before it.
    is_loose : bool
        Whether case, spaces, hyphens, underscores and a first ``is`` do not matter.

    Returns
    -------
    CharacterClass or None
        None if Python's data have no such name.

    Examples
    --------
    >>> named("Lu") == named("Uppercase_Letter"), named("isLU", is_loose=True) == named("Lu")
    (True, True)
    >>> named("Greek") is None
    True
    """
    check_step(0)
    bare = re.sub(r"^(gc|general_category)[=:]", "", name, flags=re.IGNORECASE)
    plain = re.sub(r"[\s_-]", "", bare).lower()
    if is_loose:
        plain = plain.removeprefix("is") or plain
        bare = _SHORT.get(plain, bare)
    if plain in _OTHERS and (is_loose or "_" in bare or bare[0].isupper()):
        return _OTHERS[plain]()
    short = _CATEGORIES.get(plain, bare)
    if short == "LC":
        return _of_categories(["Lu", "Ll", "Lt"])
    return _of_categories([short]) if short in _SHORT.values() else None


@lru_cache(maxsize=_KEPT)
def others(found: CharacterClass) -> CharacterClass:
    """Return what is not in a class."""
    return found.complement()


@lru_cache(maxsize=_KEPT)
def sure(found: CharacterClass) -> CharacterClass:
    """Return those characters of a class of which no later version of Unicode says more."""
    return both(found, known())


def both(left: CharacterClass, right: CharacterClass) -> CharacterClass:
    """Return what two classes have in common."""
    return CharacterClass.of(common_ranges(left.ranges, right.ranges))


def without(left: CharacterClass, right: CharacterClass) -> CharacterClass:
    """Return what is in one class and not in another."""
    return both(left, right.complement())


def either(*classes: CharacterClass) -> CharacterClass:
    """Return what is in one of some classes."""
    if len(classes) == 1:
        return classes[0]
    return CharacterClass.of(bounds for each in dict.fromkeys(classes) for bounds in each.ranges)


@lru_cache(maxsize=_KEPT)
def folded(characters: CharacterClass) -> CharacterClass:
    """Return characters in any case, by Unicode's simple case folding."""
    found = ignoring_case(without(characters, _TURKISH), ascii_only=False)
    return either(without(found, _TURKISH), both(characters, _TURKISH))


_OTHERS: dict[str, Callable[[], CharacterClass]] = {
    "any": lambda: ANY_CHARACTER,
    "ascii": lambda: ASCII["ascii"],
    "assigned": lambda: _of_categories(["Cn"]).complement(),
    **dict.fromkeys(("whitespace", "wspace", "space"), lambda: SPACES),
}
