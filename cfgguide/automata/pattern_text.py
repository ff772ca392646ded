r"""Writes trees of regular expressions, and classes of characters, in Python's notation.

In: nodes of :mod:`cfgguide.automata.pattern_tree`. Out: a pattern of the same texts as a whole. A
class is written with each character that Python could read otherwise as an escape, unless another
way to spell it is given, as for strings in JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from cfgguide.automata.charset import ANY_CHARACTER, CharacterClass
from cfgguide.automata.pattern_tree import Characters, Choice, Nodes, Repeat
from cfgguide.automata.unicode_sets import digits, folded

Ranges = tuple[tuple[int, int], ...]


def text_of(nodes: Nodes, spell: Callable[[Ranges], str]) -> str | None:
    """Return nodes in Python's notation; None where they have conditions on places.

    Parameters
    ----------
    nodes : tuple of Node
        The nodes.
    spell : callable
        Returns the text of a class of characters, given its ranges, of which there is one or more.
    """
    written = []
    for node in nodes:
        if isinstance(node, Characters):
            ranges = node.characters.ranges
            written.append(spell(ranges) if ranges else r"[^\s\S]")
            continue
        if not isinstance(node, Choice | Repeat):
            return None
        branches = node.branches if isinstance(node, Choice) else (node.body,)
        texts = [text_of(branch, spell) for branch in branches]
        if None in texts:
            return None
        count = ""
        if isinstance(node, Repeat):
            count = f"{{{node.least},{'' if node.most is None else node.most}}}"
        written.append(f"(?:{'|'.join(map(str, texts))}){count}")
    return "".join(written)


def any_case(text: str) -> str:
    """Return a pattern of a text in any case.

    Examples
    --------
    >>> any_case("Hi!")
    '[Hh][Ii]!'
    """
    classes = (CharacterClass.of_characters([ord(each)]) for each in text)
    return "".join(spelled(folded(each).ranges) for each in classes)


def spelled(ranges: Ranges) -> str:
    """Return a class of characters in Python's notation.

    Examples
    --------
    >>> spelled(((48, 57), (97, 97))), spelled(ANY_CHARACTER.ranges)
    ('[0-9a]', '(?s:.)')
    """
    ranges = CharacterClass.of(ranges).ranges  # what automata have may hold surrogates
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return character(ranges[0][0])
    if ranges in _named():
        return _named()[ranges]
    others = CharacterClass(ranges).complement().ranges
    if 0 < len(others) < len(ranges):
        return f"[^{''.join(map(_range, others))}]"
    return f"[{''.join(map(_range, ranges))}]"


@cache
def _named() -> dict[Ranges, str]:
    """Return the classes that have a name in Python's notation."""
    return {ANY_CHARACTER.ranges: "(?s:.)", digits().ranges: r"\d"}


def _range(bounds: tuple[int, int]) -> str:
    low, high = (_in_set(point) for point in bounds)
    return low if low == high else low + high if bounds[1] == bounds[0] + 1 else f"{low}-{high}"


def _in_set(point: int) -> str:
    character = chr(point)
    if character.isascii() and (character.isalnum() or character in " _!\"#$%'()*+,./:;<=>?@`{}"):
        return character
    return _escaped(point)


def character(point: int) -> str:
    """Return one character in Python's notation."""
    character = chr(point)
    if character.isalnum() or character in " _!\"#%',/:;<=>@`":
        return character
    return f"\\{character}" if character in r"\.+*?()|[]{}^$&~-" else _escaped(point)


def _escaped(point: int) -> str:
    named = {9: r"\t", 10: r"\n", 12: r"\f", 13: r"\r"}
    if point in named:
        return named[point]
    if point < 0x80 and chr(point) in r"\]^-[&|~":
        return f"\\{chr(point)}"
    width = 2 if point < 0x100 else 4 if point < 0x10000 else 8
    return f"\\{'xuU'[(width // 4)]}{point:0{width}x}"
