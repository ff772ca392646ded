r"""Regular expressions taken apart and written anew, for the same texts.

In: a pattern of Python's ``re``. Out: patterns for which Lark's way to read a terminal, which is
the match that ``re`` prefers, comes to the texts that match *as a whole*:

* flags stand where they count, comments and names of groups are gone (:func:`rewritten`);
* quantifiers are greedy, and alternatives that take more come first (``a|ab`` is ``a(?:b|)``);
* the empty text, which no terminal of Lark's may match, is left out (:func:`not_empty`).

``re``'s own parser reads the pattern. Which texts match as a whole does not depend on what is tried
first, so all that but the first changes nothing in them; with look-around it might, and there only
the first is done.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from cfgguide.automata.nfa import UNSUPPORTED
from cfgguide.errors import LimitError, PatternError

_parser: Any = __import__("re._parser", fromlist=["parse"])

Item = tuple[Any, Any]  # an operator of `re`'s parser, and its argument

FLAGS = re.ASCII | re.IGNORECASE | re.MULTILINE | re.DOTALL | re.UNICODE | re.VERBOSE
_LETTERS = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s"}
_ANCHORS = {
    "AT_BEGINNING": "^",
    "AT_BEGINNING_STRING": r"\A",
    "AT_END": "$",
    "AT_END_STRING": r"\Z",
    "AT_BOUNDARY": r"\b",
    "AT_NON_BOUNDARY": r"\B",
}
_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}
_SPECIAL = re.compile(r"[][\\^$*+?{}()|./]")
_SPECIAL_IN_CLASS = re.compile(r"[][\\^\-&|~/]")
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT")
_LOOKS = ("AT", "ASSERT", "ASSERT_NOT")


def rewritten(pattern: str, flags: int = 0) -> tuple[str, bool]:
    r"""Return a pattern for the same texts, with all flags inside, and whether it looks around.

    Parameters
    ----------
    pattern : str
        A pattern of Python's ``re``.
    flags : int
        ``re`` flags in force from the start.

    Raises
    ------
    PatternError
        If ``re`` refuses the pattern, or it uses what no automaton can express.
    LimitError
        If it nests too deeply to be read.

    Examples
    --------
    >>> rewritten("(?x) ^ (?P<sign> [+-] )? a*? # comment")
    ('[+\\-]?a*', False)
    >>> rewritten("A|AB", re.IGNORECASE)
    ('(?i:A(?:B|))', False)
    >>> rewritten(r"(?=\w)\d*?")
    ('(?=\\w)\\d*?', True)
    """
    try:
        tree = _parser.parse(pattern, flags)
        items = _without_ends(list(tree))
        looks = _looks(items)
        if not looks:
            items = [_greedy(item, pattern) for item in items]
        written = _sequence(items, pattern)
    except (re.error, ValueError, OverflowError) as error:
        raise PatternError(f"/{_shown(pattern)}/ is no regular expression: {error}") from None
    except RecursionError:
        raise LimitError("the pattern nests groups too deeply; flatten it") from None
    letters = "".join(letter for flag, letter in _LETTERS.items() if tree.state.flags & flag)
    if tree.state.flags & re.ASCII:
        letters = f"a{letters}"
    return (f"(?{letters}:{written})" if letters else written), looks


def escaped(text: str) -> str:
    r"""Return the pattern of a text, with no more backslashes than it needs.

    >>> print(escaped("1 + 1"))
    1 \+ 1
    """
    return _SPECIAL.sub(r"\\\g<0>", text)


def not_empty(pattern: str) -> str | None:
    r"""Return a pattern for the same texts but the empty one, or None if there is no other.

    Parameters
    ----------
    pattern : str
        A pattern that does not look around.

    Examples
    --------
    >>> not_empty("([0-9]*)?[.]?[0-9]*")
    '[0-9]+\\.?[0-9]*|\\.[0-9]*|[0-9]+'
    >>> not_empty("") is None
    True
    """
    items = _not_empty(list(_parser.parse(pattern)))
    return None if items is None else _sequence(items, pattern)


def least_width(pattern: str) -> int:
    """Return how many characters a match has at least, as Lark counts them."""
    return int(_parser.parse(pattern).getwidth()[0])


# --- What a pattern is changed to ----------------------------------------------------------------


def _without_ends(items: list[Item]) -> list[Item]:
    """Drop anchors at the ends, which hold there if the pattern matches a whole text."""
    while items and _anchor(items[0]) in ("AT_BEGINNING", "AT_BEGINNING_STRING"):
        del items[0]
    while items and _anchor(items[-1]) in ("AT_END", "AT_END_STRING"):
        del items[-1]
    return items


def _anchor(item: Item) -> str:
    return str(item[1]) if str(item[0]) == "AT" else ""


def _parts(item: Item) -> list[list[Item]]:
    """Return the sequences inside an item."""
    kind, argument = str(item[0]), item[1]
    if kind == "BRANCH":
        return [list(part) for part in argument[1]]
    if kind == "SUBPATTERN":
        return [list(argument[3])]
    if kind in _REPEATS:
        return [list(argument[2])]
    return []


def _looks(items: Iterable[Item]) -> bool:
    return any(str(item[0]) in _LOOKS or any(map(_looks, _parts(item))) for item in items)


def _can_be_empty(items: Iterable[Item]) -> bool:
    return all(_is_optional(item) for item in items)


def _is_optional(item: Item) -> bool:
    parts = _parts(item)
    is_skipped = str(item[0]) in _REPEATS and item[1][0] == 0
    return is_skipped or any(map(_can_be_empty, parts))


def _greedy(item: Item, pattern: str) -> Item:
    """Return an item that prefers to take more."""
    kind, argument = str(item[0]), item[1]
    parts = [[_greedy(each, pattern) for each in part] for part in _parts(item)]
    if kind == "BRANCH":
        return (item[0], (None, sorted(parts, key=_most_width, reverse=True)))
    if kind == "SUBPATTERN":
        return (item[0], (*argument[:3], parts[0]))
    if kind in _REPEATS:
        return (_parser.MAX_REPEAT, (*argument[:2], parts[0]))
    return item


def _most_width(items: Iterable[Item]) -> int:
    total = 0
    for item in items:
        kind, argument = str(item[0]), item[1]
        inside = [_most_width(part) for part in _parts(item)] or [1]
        times = int(argument[1]) if kind in _REPEATS else 1
        total += max(inside) * times
    return total


def _not_empty(items: Sequence[Item]) -> list[Item] | None:
    if not _can_be_empty(items):
        return list(items)
    branches: list[list[Item]] = []
    for place, item in enumerate(items):  # the first that is not empty
        first = _item_not_empty(item)
        if first is not None:
            branches.append([first, *items[place + 1 :]])
    return _branches(branches)


def _item_not_empty(item: Item) -> Item | None:
    kind, argument = str(item[0]), item[1]
    if kind in _REPEATS:
        least, most, body = argument
        inner = _not_empty(list(body))
        if inner is None or most == 0:
            return None
        least = 1 if _can_be_empty(list(body)) else max(least, 1)
        if most == 1:
            return inner[0] if len(inner) == 1 else _group(inner)
        return (item[0], (least, most, inner))
    if kind == "SUBPATTERN":
        inner = _not_empty(list(argument[3]))
        return None if inner is None else (item[0], (*argument[:3], inner))
    if kind == "BRANCH":
        found = [_not_empty(part) for part in _parts(item)]
        joined = _branches([part for part in found if part is not None])
        return None if joined is None else _group(joined)
    return item  # a character


def _group(items: list[Item]) -> Item:
    return (_parser.SUBPATTERN, (None, 0, 0, items))


def _branches(branches: list[list[Item]]) -> list[Item] | None:
    if len(branches) > 1:
        return [(_parser.BRANCH, (None, branches))]
    return branches[0] if branches else None


# --- How it is written ---------------------------------------------------------------------------


def _sequence(items: Sequence[Item], pattern: str) -> str:
    while len(items) == 1 and _is_plain_group(items[0]):
        (items,) = _parts(items[0])
    if len(items) == 1 and str(items[0][0]) == "BRANCH":
        return "|".join(_sequence(part, pattern) for part in _parts(items[0]))
    return "".join(_item(item, pattern) for item in items)


def _item(item: Item, pattern: str) -> str:
    kind, argument = str(item[0]), item[1]
    if kind in _REPEATS:
        (body,) = _parts(item)
        while len(body) == 1 and _is_plain_group(body[0]):
            (body,) = _parts(body[0])
        written = _sequence(body, pattern)
        is_one = len(body) == 1 and str(body[0][0]) in ("LITERAL", "NOT_LITERAL", "ANY", "IN")
        lazy = "?" if kind == "MIN_REPEAT" else ""
        return (written if is_one else f"(?:{written})") + _times(*argument[:2]) + lazy
    if kind == "BRANCH":
        return f"(?:{_sequence([item], pattern)})"
    if _is_plain_group(item):
        (body,) = _parts(item)
        written = _sequence(body, pattern)
        return written if len(body) == 1 and str(body[0][0]) != "BRANCH" else f"(?:{written})"
    if kind == "SUBPATTERN":
        return f"({_group_flags(argument)}:{_sequence(_parts(item)[0], pattern)})"
    if kind in ("ASSERT", "ASSERT_NOT"):
        direction, body = argument
        sign = ("<" if direction < 0 else "") + ("=" if kind == "ASSERT" else "!")
        return f"(?{sign}{_sequence(list(body), pattern)})"
    if kind == "AT":
        return _ANCHORS[str(argument)]
    return _character(kind, argument, pattern)


def _is_plain_group(item: Item) -> bool:
    return str(item[0]) == "SUBPATTERN" and not any(item[1][1:3])


def _shown(pattern: str) -> str:
    return pattern if len(pattern) <= 200 else f"{pattern[:200]}..."


def _times(least: int, most: int) -> str:
    if most == _parser.MAXREPEAT:
        return {0: "*", 1: "+"}.get(least, f"{{{least},}}")
    if (least, most) == (0, 1):
        return "?"
    return f"{{{least}}}" if least == most else f"{{{least},{most}}}"


def _group_flags(argument: Any) -> str:
    _, added, removed, _ = argument
    added_letters = "".join(letter for flag, letter in _LETTERS.items() if added & flag)
    for flag, letter in ((re.ASCII, "a"), (re.UNICODE, "u")):
        if added & flag:
            added_letters = letter + added_letters
    removed_letters = "".join(letter for flag, letter in _LETTERS.items() if removed & flag)
    return f"?{added_letters}" + (f"-{removed_letters}" if removed_letters else "")


def _character(kind: str, argument: Any, pattern: str) -> str:
    if kind == "ANY":
        return "."
    if kind == "LITERAL":
        return escaped(chr(argument))
    if kind == "NOT_LITERAL":
        return f"[^{_member(argument)}]"
    if kind == "IN":
        members = "".join(_class_item(str(operator), inside) for operator, inside in argument)
        return members if members in _CATEGORIES.values() else f"[{members}]"
    if kind in UNSUPPORTED:
        what, way_out = UNSUPPORTED[kind]
        raise PatternError(
            f"the pattern uses {what}, which is not supported: /{_shown(pattern)}/; {way_out}"
        )
    raise PatternError(f"unknown element {kind} in the pattern /{_shown(pattern)}/")


def _class_item(operator: str, argument: Any) -> str:
    if operator == "NEGATE":
        return "^"
    if operator == "RANGE":
        return f"{_member(argument[0])}-{_member(argument[1])}"
    if operator == "CATEGORY":
        return _CATEGORIES[str(argument)]
    return _member(argument)


def _member(point: int) -> str:
    return _SPECIAL_IN_CLASS.sub(r"\\\g<0>", chr(point))
