r"""Strings that Pydantic's own types read, as patterns.

In: the name that Pydantic gives a format in a JSON Schema, or what its core schema says. Out: a
pattern, anchored at both ends, of texts that Pydantic accepts. Where what it accepts is not
regular, or is decided in another library, they are some of these: hosts and domains are ASCII
without Punycode, networks of IPv6 have a whole group before each ``::``, Base64 of a text is that
of ASCII.
"""

from __future__ import annotations

import json
import zoneinfo
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from math import ceil, floor
from typing import Any

from cfgguide.automata.number_ranges import decimal_numbers, whole_numbers
from cfgguide.automata.rewrite import escaped
from cfgguide.automata.string_formats import IPV4, IPV6
from cfgguide.schema.keywords import listed_in

Schema = Mapping[str, Any]

_HEX = "[0-9A-Fa-f]"
_LABEL = "[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*"
_LAST_LABEL = "[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*"  # a host that ends in a number is an address
_HOST = f"(?:(?:{_LABEL}\\.)*{_LAST_LABEL}|{IPV4}|\\[(?:{IPV6})\\])"
_PORT = (
    ":(?:0|[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
)
_ENCODED = f"%{_HEX}{{2}}"
_USER = f"(?:(?:[-A-Za-z0-9._~!$&'()*+;=:]|{_ENCODED})+@)"
_PATH_LETTER = f"(?:[-A-Za-z0-9._~!$&'()*+,;=:@]|{_ENCODED})"
_PATH = f"(?:\\/{_PATH_LETTER}*)*(?:\\?(?:{_PATH_LETTER}|[\\/?])*)?(?:#(?:{_PATH_LETTER}|[\\/?])*)?"
_ONE_HOST = f"{_USER}?{_HOST}(?:{_PORT})?"
_SPECIAL = ("http", "https", "ws", "wss", "ftp")  # to the WHATWG: they have a host
_FILE = f"file:\\/\\/{_HOST}?\\/{_PATH_LETTER}*{_PATH}"

_DOMAIN_LABEL = "[A-Za-z0-9]{1,17}(?:-[A-Za-z0-9]{1,17}){0,2}"  # 254 letters in all
_RESERVED = "arpa|invalid|local|localhost|onion|test"  # no mail goes there
_EMAIL = (
    "[-A-Za-z0-9!#$%&'*+\\/=?^_`{|}~]{1,31}(?:\\.[-A-Za-z0-9!#$%&'*+\\/=?^_`{|}~]{1,31})?"
    f"@(?:{_DOMAIN_LABEL}\\.){{1,3}}(?!(?:{_RESERVED}|{_RESERVED.upper()})(?![A-Za-z]))"
    "(?:[a-z]{2,20}|[A-Z]{2,20})"
)
_WORD = "[-A-Za-z0-9!#$%&'*+\\/=?^_`{|}~]+"

_IPV4_INTERFACE = f"{IPV4}(?:\\/(?:[0-9]|[12][0-9]|3[0-2]))?"
_IPV6_INTERFACE = f"(?:{IPV6})(?:\\/(?:[0-9]|[1-9][0-9]|1[01][0-9]|12[0-8]))?"


def _ipv4_networks() -> str:
    """Return the networks of IPv4: behind the prefix there are zeros."""
    byte = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
    found = [IPV4]
    for n_bits in range(33):
        whole, rest = divmod(n_bits, 8)
        parts = [byte] * whole
        if whole < 4:
            step = 2 ** (8 - rest)  # between bytes that end with zeros
            parts.append(f"(?:{'|'.join(map(str, range(256 - step, -1, -step)))})")
        parts += ["0"] * (4 - len(parts))
        address = "\\.".join(parts)
        found.append(f"{address}\\/{n_bits}")
    return "|".join(found)


def _ipv6_networks() -> str:
    """Return networks of IPv6: the groups of the prefix, and zeros."""
    found = [IPV6, f"(?:{IPV6})\\/128", "::\\/0"]
    digits = {0: "", 1: "[08]", 2: "[048Cc]", 3: "[02468ACEace]"}
    for n_bits in range(1, 113):
        whole, rest = divmod(n_bits, 16)
        n_digits, n_rest = divmod(rest, 4)
        last = f"{_HEX}{{{n_digits}}}{digits[n_rest]}{'0' * (4 - n_digits - bool(n_rest))}"
        groups = f"(?:{_HEX}{{1,4}}:){{{whole - (not rest)}}}"
        found.append(groups + (last if rest else f"{_HEX}{{1,4}}") + f"::\\/{n_bits}")
    return "|".join(found)


def _base64(letters: str, *, is_text: bool) -> str:
    """Return Base64 of any bytes, or of ASCII."""
    if not is_text:
        any_one, last_but_one = f"[A-Za-z0-9{letters}]", "[AEIMQUYcgkosw048]"
        return f"(?:{any_one}{{4}})*(?:{any_one}{{2}}{last_but_one}=|{any_one}[AQgw]==)?"
    # Each three bytes below 128 are four letters: 0aaaaaa a0bbbbb bb0ccc cccc.
    first, third, last = "[A-Za-f]", _with_bits("xxxx0x"), f"[A-Za-z0-9{letters}]"
    second = _with_bits("xx0xxx")
    return (
        f"(?:{first}{second}{third}{last})*"
        f"(?:{first}{second}{_with_bits('xxxx00')}=|{first}{_with_bits('xx0000')}==)?"
    )


def _with_bits(form: str) -> str:
    """Return a set of letters of Base64 whose bits are as in a form; none of it is the last two."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    zeros = [5 - place for place, bit in enumerate(form) if bit == "0"]
    return f"[{''.join(x for n, x in enumerate(letters) if not any(n >> z & 1 for z in zeros))}]"


_NUMBER = "(?:0|[1-9][0-9]{0,16})(?:\\.[0-9]{1,17})?"
_FLOAT = f"{_NUMBER}(?:[eE][-+]?[0-9]{{1,2}})?"
BYTE_SIZE = "^[0-9]{1,15}(?:\\.[0-9]{1,6})? ?(?:[kKmMgGtTpPeE]?[iI]?[bB])?$"
COMPLEX = f"^-?(?:{_FLOAT}(?:[-+]{_FLOAT}j)?|{_FLOAT}j)$"
#: Decimal numbers, as texts.
DECIMAL = f"^-?{_NUMBER}$"

_FORMATS: dict[str, Callable[[], str]] = {
    **{
        f"uuid{version}": (
            lambda version=version: (  # type: ignore[misc]
                f"{_HEX}{{8}}-{_HEX}{{4}}-{version}{_HEX}{{3}}-[89ABab]{_HEX}{{3}}-{_HEX}{{12}}"
            )
        )
        for version in range(1, 9)
    },
    "base64": lambda: _base64("+\\/", is_text=False),
    "base64url": lambda: _base64("_-", is_text=False),
    "base64-text": lambda: _base64("+\\/", is_text=True),
    "base64url-text": lambda: _base64("_-", is_text=True),
    "email": lambda: _EMAIL,
    "fraction": lambda: f"-?(?:[0-9]{{1,17}}\\/[1-9][0-9]{{0,16}}|{_NUMBER})",
    "ipv4interface": lambda: _IPV4_INTERFACE,
    "ipv4network": _ipv4_networks,
    "ipv6interface": lambda: _IPV6_INTERFACE,
    "ipv6network": _ipv6_networks,
    "ipvanyaddress": lambda: f"{IPV4}|{IPV6}",
    "ipvanyinterface": lambda: f"{_IPV4_INTERFACE}|{_IPV6_INTERFACE}",
    "ipvanynetwork": lambda: f"{_ipv4_networks()}|{_ipv6_networks()}",
    "name-email": lambda: f"(?:{_WORD}(?: {_WORD})* <{_EMAIL}>|{_EMAIL})",
    "zoneinfo": lambda: "|".join(map(escaped, sorted(zoneinfo.available_timezones()))),
}


def pattern_of_format(name: str) -> str | None:
    """Return the pattern of a format that Pydantic names, or None if it has none here.

    >>> from cfgguide.automata.ecma_patterns import pattern_language
    >>> found = pattern_language(pattern_of_format("ipv4network"))
    >>> [found.accepts(text) for text in ("10.1.0.0/16", "10.1.0.1/16", "10.1.0.1")]
    [True, False, True]
    """
    return f"^(?:{_FORMATS[name]()})$" if name in _FORMATS else None


def url_pattern(schemes: Sequence[str] | None, *, has_many_hosts: bool = False) -> str:
    """Return a pattern of URLs.

    Parameters
    ----------
    schemes : sequence of str or None
        What they may begin with; None for anything.
    has_many_hosts : bool
        Whether there may be several hosts, separated by commas.
    """
    hosts = _ONE_HOST
    if has_many_hosts:
        hosts += f"(?:,{_HOST}(?:{_PORT})?)*"
    if schemes is not None:
        found = [_FILE] if "file" in schemes else []
        others = "|".join(escaped(each) for each in schemes if each != "file")
        found += [f"(?:{others}):\\/\\/{hosts}{_PATH}"] if others else []
        return f"^(?:{'|'.join(found)})$"
    special = "|".join(_SPECIAL)
    other = f"(?!(?:{special}|file):)[a-z][-a-z0-9+.]*:"
    opaque = f"\\/?{_PATH_LETTER}+{_PATH}"
    return (
        f"^(?:(?:{special}):\\/\\/{hosts}{_PATH}|{_FILE}|{other}(?:\\/\\/{hosts}{_PATH}|{opaque}))$"
    )


def hex_pattern(least: int, most: int | None) -> str:
    """Return a pattern of bytes in hexadecimal digits."""
    return f"^(?:{_HEX}{{2}}){{{least},{'' if most is None else most}}}$"


def decimal_patterns(
    low: Decimal | None, high: Decimal | None, n_digits: int | None, n_places: int | None
) -> list[str]:
    """Return patterns that all decimal numbers in a range have, as texts.

    Parameters
    ----------
    low, high : Decimal or None
        The bounds, which are in the range.
    n_digits, n_places : int or None
        The most digits in all, and behind the point.
    """
    found = [DECIMAL]
    if low is not None or high is not None:
        found.append(f"^(?:{decimal_numbers(low, high, has_negative_zero=True)})$")
    if n_digits is not None:
        places = n_digits if n_places is None else min(n_places, n_digits)
        most = n_digits if n_places is None else max(0, n_digits - n_places)
        forms = [
            f"[1-9][0-9]{{{n - 1}}}{_fraction(min(places, n_digits - n))}"
            for n in range(1, most + 1)
        ]
        found.append(f"^-?(?:{'|'.join([*forms, f'0{_fraction(places)}'])})$")
    elif n_places is not None:
        found.append(f"^-?[0-9]+{_fraction(n_places)}$")
    return found


def _fraction(most: int) -> str:
    return f"(?:\\.[0-9]{{1,{most}}})?" if most > 0 else ""


#: Keywords that are followed, beside the type.
_KNOWN = {
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    "number": ("minimum", "maximum"),
    "string": ("minLength", "maxLength"),
    "array": ("items", "prefixItems", "minItems", "maxItems"),
    "object": ("properties", "required", "additionalProperties"),
}
_TEXT = '"(?:[^"\\\\\\x00-\\x1f]|\\\\["\\\\\\/bfnrt]){%s}"'
_MOST_LETTERS = 20_000  # of a pattern


class _NotRegularError(Exception):
    """The texts of a schema are no regular language, or not one that is known here."""


def json_pattern(schema: Schema, definitions: Mapping[str, Schema]) -> str | None:
    r"""Return a pattern of JSON in a string, or None if it is not known to be regular.

    It has the separators of ``json.dumps``, and members in the order in which they are declared.

    >>> print(json_pattern({"type": "array", "items": {"type": "boolean"}}, {}))
    ^(?:\[(?:(?:(?:true|false))(?:, (?:(?:true|false))){0,})?\])$
    """
    try:
        found = _json(schema, definitions, ())
    except _NotRegularError:
        return None
    return f"^(?:{found})$" if len(found) <= _MOST_LETTERS else None


def _json(schema: Any, definitions: Mapping[str, Schema], seen: tuple[str, ...]) -> str:
    if schema is True or not _asked(schema):
        scalar = f"true|false|null|{DECIMAL[1:-1]}|{_TEXT % '0,'}"
        member = f"{_TEXT % '0,'}: (?:{scalar})"
        return f"{scalar}|\\[{_many(scalar, 0, None)}\\]|\\{{{_many(member, 0, None)}\\}}"
    asked = _asked(schema)

    def below(part: Any) -> str:
        return f"(?:{_json(part, definitions, seen)})"

    def known(*keywords: str) -> None:
        if not asked <= {"type", *keywords}:
            raise _NotRegularError

    if "$ref" in schema:
        known("$ref")
        name = schema["$ref"].rpartition("/")[2]
        if name in seen or name not in definitions:
            raise _NotRegularError
        return _json(definitions[name], definitions, (*seen, name))
    listed = listed_in(schema)
    if listed is not None:
        known("enum", "const")
        return "|".join(escaped(json.dumps(each, ensure_ascii=False)) for each in listed)
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            known(keyword)
            return "|".join(below(each) for each in schema[keyword])
    kind = schema.get("type")
    known(*_KNOWN.get(str(kind), ()))
    if kind == "null":
        return "null"
    if kind == "boolean":
        return "true|false"
    if kind == "integer":
        low, high = whole_bounds(schema)
        return whole_numbers(low, high) if asked > {"type"} else "-?(?:0|[1-9][0-9]{0,18})"
    if kind == "number":
        bounds = [schema.get(keyword) for keyword in ("minimum", "maximum")]
        if bounds == [None, None]:
            return DECIMAL[1:-1]
        return decimal_numbers(*(None if each is None else Decimal(str(each)) for each in bounds))
    if kind == "string":
        return _TEXT % f"{schema.get('minLength', 0)},{schema.get('maxLength', '')}"
    if kind == "array":
        if "prefixItems" in schema:
            return "\\[" + ", ".join(below(each) for each in schema["prefixItems"]) + "\\]"
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        return f"\\[{_many(below(schema.get('items', True)), least, most)}\\]"
    if kind == "object":
        if "properties" not in schema:
            value = below(schema.get("additionalProperties", True))
            member = f"{_TEXT % '0,'}: {value}"
            return f"\\{{{_many(member, 0, None)}\\}}"
        required = schema.get("required", ())
        members = [
            (f"{escaped(json.dumps(name, ensure_ascii=False))}: {below(part)}", name in required)
            for name, part in schema["properties"].items()
        ]
        return f"\\{{{_members(members)}\\}}"
    raise _NotRegularError


_COMMENTS = frozenset(
    ["title", "description", "default", "examples", "discriminator", "deprecated"]
)


def _asked(schema: Schema) -> set[str]:
    return {keyword for keyword in schema if keyword not in _COMMENTS}


def _many(item: str, least: int, most: int | None) -> str:
    """Return a pattern of several items with commas between."""
    if most == 0:
        return ""
    more = f"{{{max(least - 1, 0)},{'' if most is None else most - 1}}}"
    found = f"(?:{item})(?:, (?:{item})){more}"
    return found if least else f"(?:{found})?"


def _members(members: Sequence[tuple[str, bool]]) -> str:
    """Return a pattern of members in their order, of which some may be missing."""
    found = []
    for place, (member, is_required) in enumerate(members):
        after = "".join(f"(?:, {each})" + "?" * (not must) for each, must in members[place + 1 :])
        found.append(f"(?:{member}){after}")  # the first one that is there
        if is_required:
            return "|".join(found)
    return "|".join([*found, ""])


def whole_bounds(schema: Schema) -> tuple[int | None, int | None]:
    """Return the bounds of the whole numbers of a schema, which are in their range."""

    def given(keyword: str) -> list[Any]:
        return [] if schema.get(keyword) is None else [schema[keyword]]

    lows = [*map(ceil, given("minimum")), *(floor(n) + 1 for n in given("exclusiveMinimum"))]
    highs = [*map(floor, given("maximum")), *(ceil(n) - 1 for n in given("exclusiveMaximum"))]
    return max(lows, default=None), min(highs, default=None)
