r"""Values of JSON as values that can be compared: which texts mean the same.

In: texts. Out: values with a hash that are equal if JSON Schema says so: ``1`` and ``1.0``, the
same members in another order, and ``"\u0061"`` and ``"a"`` are equal; 1 and true are not. And
whether a text that has begun may become such a value.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Hashable, Iterable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

_MAX_DIGITS = 1_000  # of an exponent; numbers with more are told apart by what is written
_N_VALUES = 16  # of texts that were read last: many tokens end the same part
_SHORT = 20  # characters of a scalar that may come often
_DEEP = "deep"  # what a value with a digest begins with
_MISMATCH, _OPEN = -1, -2  # what `_read` returns for no place
_MAX_LEVELS = 50  # of a value that is kept as it is; of deeper ones a digest is kept
_LEVELS = re.compile(rb'"(?:[^"\\]|\\.)*"?|[][{}]')  # brackets, and strings, which may hold some
_PARTS = re.compile(r'"(?:[^"\\]|\\.)*"?|[][{}]|[^]["{},: \t\n\r]+')
_SPACES = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"[-+0-9.eE]*")
_BEGUN = re.compile(r'"(?:[^"\\]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*')  # whole characters
_SURROGATES = tuple(map(chr, range(0xD800, 0xDC00)))  # the other half may follow


def number_of(text: str) -> Hashable:
    """Return a number of JSON: its sign, digits, and exponent, as short as can be.

    Examples
    --------
    >>> number_of("1.50") == number_of("15e-1"), number_of("-0") == number_of("0.0e7")
    (True, True)
    """
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, fraction = mantissa.removeprefix("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return ("#", "", "0")
    short = digits.rstrip("0")
    if len(exponent) > _MAX_DIGITS:
        return ("#", text, "")
    power = int(exponent or "0") - len(fraction) + len(digits) - len(short)
    return ("#", "-" * text.startswith("-") + short, power)


@lru_cache(maxsize=_N_VALUES)
def value_of(text: bytes) -> Hashable:
    r"""Return the value of a text.

    Examples
    --------
    >>> value_of(b'{"a": 1, "b": []}') == value_of(b'{"b":[],"\\u0061":1.0}')
    True
    >>> value_of(b"true") == value_of(b"1")
    False
    """
    if _has_many_levels(text):
        return _DEEP, _digest_of_deep(text)
    return hashable(_loaded(text))


def _loaded(text: bytes | str) -> Any:
    return json.loads(text, parse_int=number_of, parse_float=number_of)


def _has_many_levels(text: bytes) -> bool:
    """Return whether a value has more levels than functions should call each other for."""
    if text.count(b"[") + text.count(b"{") <= _MAX_LEVELS:
        return False
    level = 0
    for found in _LEVELS.finditer(text):
        if found[0] in b"[{":
            level += 1
            if level > _MAX_LEVELS:
                return True
        elif found[0] in b"]}":
            level -= 1
    return False


def _digest_of_deep(text: bytes) -> bytes:
    """Return a digest of a value, equal for equal ones; no function calls itself for it."""
    open_parts: list[list[bytes]] = [[]]
    for part in _PARTS.findall(text.decode(errors="surrogatepass")):
        if part in "[{":
            open_parts.append([])
        elif part in "]}":
            values = open_parts.pop()
            if part == "}":  # of members with the same name the last one counts
                members = dict(zip(values[::2], values[1::2], strict=True))
                values = [each for member in sorted(members.items()) for each in member]
            open_parts[-1].append(_digest(part.encode() + b"".join(values)))
        else:
            of_scalar = _scalar_digest if len(part) < _SHORT else _scalar_digest.__wrapped__
            open_parts[-1].append(of_scalar(part))
    return open_parts[0][0]


@lru_cache(maxsize=1_000)
def _scalar_digest(text: str) -> bytes:
    return _digest(json.dumps(hashable(_loaded(text))).encode())


def _digest(contents: bytes) -> bytes:
    return hashlib.sha256(contents).digest()


def hashable(value: Any) -> Hashable:
    """Return what is equal for equal values of JSON.

    >>> hashable({"a": [1, None]}) == hashable({"a": [1.0, None]}), hashable(True) == hashable(1)
    (True, False)
    """
    if isinstance(value, list):
        return ("[", *map(hashable, value))
    if isinstance(value, Mapping):
        return ("{", frozenset((name, hashable(each)) for name, each in value.items()))
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return number_of(str(value))
    return ("null",) if value is None else value


def kind_of(value: Any) -> str:
    """Return the kind of a value, one of `KINDS`.

    >>> [kind_of(value) for value in (None, True, 1, "a", [], {})]
    ['null', 'true', 'number', 'string', 'array', 'object']
    """
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    for kind, types in (("string", str), ("array", list), ("object", Mapping)):
        if isinstance(value, types):
            return kind
    return "number"


def may_become(text: bytes, value: Hashable) -> bool:
    """Return whether a text of JSON that has begun may become a value; sometimes if it may not.

    Examples
    --------
    >>> value = value_of(b'{"a": [12, "x"]}')
    >>> [may_become(each, value) for each in (b"{", b'{"a":[1', b'{"a": [12, "x"', b'{"b')]
    [True, True, True, False]
    """
    return _read(text.decode(errors="ignore"), 0, value) != _MISMATCH


def still_possible(text: bytes, values: Iterable[Hashable]) -> Iterable[Hashable]:
    """Return those of some values that a text which has begun may become."""
    if text[:1] == b'"' and b"\\" not in text:
        begun = text[1:].decode(errors="ignore")
        return [each for each in values if isinstance(each, str) and each.startswith(begun)]
    return [each for each in values if may_become(text, each)]


def _read(text: str, place: int, value: Any) -> int:
    """Return where a value ends that begins at a place, `_OPEN`, or `_MISMATCH`."""
    place = _skipped(text, place)
    if place == len(text):
        return _OPEN
    if isinstance(value, str):
        return _read_string(text, place, {value: None})[0]
    if not isinstance(value, tuple):
        return _read_word(text, place, json.dumps(value))
    if value[0] == _DEEP:
        return _OPEN
    if value[0] == "null":
        return _read_word(text, place, "null")
    if value[0] == "#":
        end = _NUMBER.match(text, place).end()  # type: ignore[union-attr]
        if end == len(text):
            return _OPEN if text[place] in "-0123456789" else _MISMATCH
        is_same = end > place and number_of(text[place:end]) == value
        return end if is_same else _MISMATCH
    if text[place] != value[0]:
        return _MISMATCH
    return (_read_items if value[0] == "[" else _read_members)(text, place + 1, value)


def _skipped(text: str, place: int) -> int:
    return _SPACES.match(text, place).end()  # type: ignore[union-attr]


def _read_word(text: str, place: int, word: str) -> int:
    if text.startswith(word, place):
        return place + len(word)
    return _OPEN if word.startswith(text[place:]) else _MISMATCH


def _read_string(text: str, place: int, values: dict[str, Any]) -> tuple[int, str]:
    """Return where a string ends that is one of some values, and the string."""
    if text[place] != '"':
        return _MISMATCH, ""
    found = _BEGUN.match(text, place)
    assert found is not None, "it begins with a quote"
    string = found.group()[1:]
    if "\\" in string:
        string = str(json.loads(f'"{string}"', strict=False))
    end = found.end()
    if text.startswith('"', end):
        return (end + 1 if string in values else _MISMATCH), string
    if string.endswith(_SURROGATES):
        string = string[:-1]
    return (_OPEN if any(each.startswith(string) for each in values) else _MISMATCH), ""


def _read_items(text: str, place: int, value: tuple[Any, ...]) -> int:
    for number, item in enumerate(value[1:]):
        place = _skipped(text, place)
        if number and place < len(text):
            if text[place] != ",":
                return _MISMATCH
            place += 1
        place = _read(text, place, item)
        if place < 0:
            return place
    return _read_word(text, _skipped(text, place), "]")


def _read_members(text: str, place: int, value: tuple[Any, ...]) -> int:
    left = dict(value[1])
    is_first = True
    while True:
        place = _skipped(text, place)
        if place == len(text):
            return _OPEN
        if text[place] == "}":
            return _MISMATCH if left else place + 1
        if not is_first:
            if text[place] != ",":
                return _MISMATCH
            place = _skipped(text, place + 1)
        if place == len(text):
            return _OPEN if left else _MISMATCH
        place, name = _read_string(text, place, left)
        if place < 0:
            return place
        place = _skipped(text, place)
        if place < len(text):
            place += 1  # the colon
        place = _read(text, place, left.pop(name))
        if place < 0:
            return place
        is_first = False
