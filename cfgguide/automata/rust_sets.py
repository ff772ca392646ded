r"""Sets of characters as Rust's regular expressions know them, in the notation of Python's ``re``.

In: sets of characters. Out: what Rust makes of them: other cases, operations on two sets, sets by
name; and their text in a pattern (:func:`spelled`), with each character that Python could read
otherwise as an escape.
"""

from __future__ import annotations

from cfgguide.automata.charset import CharacterClass, common_ranges, ignoring_case

#: White space, as Unicode and Rust have it.
SPACES = CharacterClass.of(
    [
        *((0x09, 0x0D), (0x20, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680)),
        *((0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F)),
        (0x3000, 0x3000),
    ]
)
#: Sets of ASCII by name: first and last characters of their ranges.
ASCII = {
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
_TURKISH = CharacterClass.of([(0x130, 0x131)])


def ascii_set(name: str) -> CharacterClass | None:
    """Return a set of ASCII by its name, such as ``alpha``; None if there is none."""
    if name not in ASCII:
        return None
    points = [ord(each) for each in ASCII[name]]
    return CharacterClass.of(list(zip(points[::2], points[1::2], strict=True)))


def combined(left: CharacterClass, operation: str, right: CharacterClass) -> CharacterClass:
    """Return what ``&&``, ``--`` or ``~~`` makes of two sets; without one of these the second."""
    if operation == "":
        return right
    if operation == "&&":
        return CharacterClass.of(_common(left, right))
    if operation == "--":
        return CharacterClass.of(_common(left, right.complement()))
    return CharacterClass.of(
        [*_common(left, right.complement()), *_common(right, left.complement())]
    )


def _common(one: CharacterClass, other: CharacterClass) -> list[tuple[int, int]]:
    return [*common_ranges(one.ranges, other.ranges)]


def any_case(text: str) -> str:
    """Return a pattern of a text in any case.

    Examples
    --------
    >>> any_case("Hi!")
    '[Hh][Ii]!'
    """
    classes = (CharacterClass.of_characters([ord(each)]) for each in text)
    return "".join(spelled(folded(each)) for each in classes)


def folded(characters: CharacterClass) -> CharacterClass:
    """Return characters in any case; Python takes two Turkish letters for ``i``, Rust does not."""
    turkish = CharacterClass.of(common_ranges(characters.ranges, _TURKISH.ranges))
    others = CharacterClass.of(common_ranges(characters.ranges, _TURKISH.complement().ranges))
    found = ignoring_case(others, ascii_only=False)
    kept = common_ranges(found.ranges, _TURKISH.complement().ranges)
    return CharacterClass.of([*kept, *turkish.ranges])


def spelled(characters: CharacterClass) -> str:
    """Return a set of characters in Python's notation.

    Examples
    --------
    >>> spelled(CharacterClass.of([(48, 57), (97, 97)]))
    '[0-9a]'
    """
    ranges = characters.ranges
    if not ranges:
        return r"[^\s\S]"
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return character(ranges[0][0])
    others = characters.complement().ranges
    if 0 < len(others) < len(ranges):
        return f"[^{''.join(map(_range, others))}]"
    return f"[{''.join(map(_range, ranges))}]"


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
