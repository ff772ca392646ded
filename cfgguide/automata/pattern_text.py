r"""Writes trees of regular expressions, and classes of characters, in Python's notation.

In: nodes of :mod:`cfgguide.automata.pattern_tree`. Out: a pattern of the same texts as a whole. A
class is written with each character that Python could read otherwise as an escape, unless another
way to spell it is given, as for strings in JSON.
"""

from __future__ import annotations

from collections.abc import Callable

from cfgguide.automata.charset import ANY_CHARACTER, CharacterClass
from cfgguide.automata.pattern_tree import Characters, Choice, Nodes, Repeat
from cfgguide.automata.unicode_sets import digits, folded
from cfgguide.base.limits import check_step

Ranges = tuple[tuple[int, int], ...]
_FEW = 20  # ranges: those of all digits are more


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
        check_step(0)
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
    if ranges == ANY_CHARACTER.ranges:
        return "(?s:.)"
    if len(ranges) > _FEW and ranges == digits().ranges:  # to find all digits takes long, once
        return r"\d"
    others = CharacterClass(ranges).complement().ranges
    is_shorter = 0 < len(others) < len(ranges)
    return f"[^{_inside(others)}]" if is_shorter else in_brackets(ranges)


def in_brackets(ranges: Ranges) -> str:
    r"""Return a class of characters, without names or negation; one character has no brackets.

    Examples
    --------
    >>> in_brackets(((48, 57), (97, 97), (233, 233))), in_brackets(((45, 45),))
    ('[0-9a\\xe9]', '\\-')
    """
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _character(ranges[0][0])
    return f"[{_inside(ranges)}]"


def _inside(ranges: Ranges) -> str:
    return "".join(
        _character(low) if low == high else f"{_character(low)}-{_character(high)}"
        for low, high in ranges
    )


def _character(point: int) -> str:
    character = chr(point)
    if point < 0x7F and character.isalnum():
        return character
    if 0x20 <= point < 0x7F:
        return character if character in "\"<>,:;=_@!%&'`~ " else f"\\{character}"
    if point <= 0xFF:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"
