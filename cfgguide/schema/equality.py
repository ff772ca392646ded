r"""Values of JSON as values that can be compared: which texts mean the same.

In: texts. Out: values with a hash that are equal if JSON Schema says so: ``1`` and ``1.0``, the
same members in another order, and ``"\u0061"`` and ``"a"`` are equal; 1 and true are not.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Hashable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

_MAX_DIGITS = 1_000  # of an exponent; numbers with more are told apart by what is written
_N_VALUES = 16  # of texts that were read last: many tokens end the same part
_SHORT = 20  # characters of a scalar that may come often
DEEP = "deep"  # what a value with a digest begins with
_MAX_LEVELS = 50  # of a value that is kept as it is; of deeper ones a digest is kept
_LEVELS = re.compile(rb'"(?:[^"\\]|\\.)*"?|[][{}]')  # brackets, and strings, which may hold some
_PARTS = re.compile(r'"(?:[^"\\]|\\.)*"?|[][{}]|[^]["{},: \t\n\r]+')


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
        return DEEP, _digest_of_deep(text)
    return hashable(loaded(text))


def loaded(text: bytes | str) -> Any:
    """Return a value of JSON whose numbers can be compared."""
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
    return _digest(json.dumps(hashable(loaded(text))).encode())


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
