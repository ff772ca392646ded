"""The formats of strings that JSON Schema names, as patterns.

In: the name of a format. Out: the language of the strings that have it, by the grammar of the
standard that JSON Schema 2020-12 (section 7.3) cites for it. Where that language is not regular, a
regular subset is taken, so that every text has the format: host names have no labels in Punycode,
and the offset of a leap second is a whole number of quarters of an hour; of regular expressions,
:mod:`cfgguide.automata.regex_format` tells.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from cfgguide.automata.ecma_patterns import pattern_language
from cfgguide.automata.language import Language
from cfgguide.automata.regex_format import regex_pattern
from cfgguide.errors import SchemaError, shown

# Two digits, not both 0, of a number that 4 divides.
_DIVISIBLE = "0[48]|[2468][048]|[13579][26]"


def _dates() -> str:
    """Return the pattern of the days of the Gregorian calendar, as ISO 8601 writes them.

    RFC 3339 has a year 0000; Python's dates do not, so neither do these.
    """
    year = "(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
    leap_year = f"(?:[0-9]{{2}}(?:{_DIVISIBLE})|(?:{_DIVISIBLE})00)"
    return (
        f"(?:{year}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
        "|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
        f"|{leap_year}-02-29)"
    )


def _leap_seconds() -> str:
    """Return times of day at which it is 23:59:60 in UTC."""
    found = ["23:59:60(?:\\.[0-9]+)?[zZ]"]
    for minutes in range(0, 24 * 60, 15):
        for sign, shift in (("+", minutes), ("-", -minutes)):
            hour, minute = divmod((23 * 60 + 59 + shift) % (24 * 60), 60)
            offset = f"{sign}{minutes // 60:02d}:{minutes % 60:02d}"
            found.append(f"{hour:02d}:{minute:02d}:60(?:\\.[0-9]+)?\\{offset}")
    return "|".join(found)


HOUR_MINUTE = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_TIME = f"(?:{HOUR_MINUTE}:[0-5][0-9](?:\\.[0-9]+)?(?:[zZ]|[-+]{HOUR_MINUTE})|{_leap_seconds()})"
# RFC 3339, appendix A: larger units come first, and weeks alone.
_SECONDS = "[0-9]+S"
_MINUTES = f"[0-9]+M(?:{_SECONDS})?"
_TIME_PART = f"T(?:[0-9]+H(?:{_MINUTES})?|{_MINUTES}|{_SECONDS})"
_DAYS = "[0-9]+D"
_MONTHS = f"[0-9]+M(?:{_DAYS})?"
_DATE_PART = f"(?:{_DAYS}|[0-9]+Y(?:{_MONTHS})?|{_MONTHS})"
DATE = _dates()
_DURATION = f"P(?:{_DATE_PART}(?:{_TIME_PART})?|{_TIME_PART}|[0-9]+W)"

_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
IPV4 = f"(?:{_BYTE}\\.){{3}}{_BYTE}"
_GROUP = "[0-9A-Fa-f]{1,4}"
_LAST = f"(?:{_GROUP}:{_GROUP}|{IPV4})"
IPV6 = "|".join(
    [
        f"(?:{_GROUP}:){{6}}{_LAST}",
        f"::(?:{_GROUP}:){{5}}{_LAST}",
        *(
            f"(?:(?:{_GROUP}:){{0,{n}}}{_GROUP})?::"
            + (f"(?:{_GROUP}:){{{4 - n}}}{_LAST}" if n < 5 else [_GROUP, ""][n - 5])
            for n in range(7)
        ),
    ]
)

# A label of a host name: no "--" as third and fourth characters, for those are encoded ones. How
# long the whole name may be is counted beside the pattern (`LONGEST`).
_ALNUM = "[A-Za-z0-9]"
_ANY = "[-A-Za-z0-9]"


_REST = f"{_ANY}(?:{_ALNUM}{_ANY}|-{_ALNUM}){_ANY}{{0,58}}{_ALNUM}"
_LABEL = f"{_ALNUM}(?:{_ANY}{{0,2}}{_ALNUM}|{_REST})?"  # of 63 characters at most
_HOSTNAME = f"{_LABEL}(?:\\.{_LABEL})*"

_ATOM = "[-A-Za-z0-9!#$%&'*+\\/=?^_`{|}~]+"
_QUOTED = '"(?:[ !#-\\[\\]-~]|\\\\[ -~])*"'
_EMAIL = f"(?:{_ATOM}(?:\\.{_ATOM})*|{_QUOTED})@(?:{_HOSTNAME}|\\[(?:{IPV4}|IPv6:(?:{IPV6}))\\])"


def _uri(unreserved: str, private: str) -> dict[str, str]:
    """Return the rules of RFC 3986, appendix A, or of RFC 3987 with more characters."""
    encoded = "%[0-9A-Fa-f]{2}"
    delimiters = "!$&'()*+,;="
    char = f"(?:[{unreserved}{delimiters}:@]|{encoded})"
    colonless = f"(?:[{unreserved}{delimiters}@]|{encoded})"
    registered = f"(?:[{unreserved}{delimiters}]|{encoded})*"
    user = f"(?:[{unreserved}{delimiters}:]|{encoded})*"
    future = f"[vV][0-9A-Fa-f]+\\.[-A-Za-z0-9._~{delimiters}:]+"
    host = f"(?:\\[(?:{IPV6}|{future})\\]|{registered})"
    authority = f"(?:{user}@)?{host}(?::[0-9]*)?"
    path = f"(?:\\/{char}*)*"
    absolute = f"\\/(?:{char}+{path})?"
    query = f"(?:\\?(?:{char}|[\\/?{private}])*)?(?:#(?:{char}|[\\/?])*)?"
    scheme = "[A-Za-z][-A-Za-z0-9+.]*"
    full = f"{scheme}:(?:\\/\\/{authority}{path}|{absolute}|{char}+{path}|){query}"
    relative = f"(?:\\/\\/{authority}{path}|{absolute}|{colonless}+{path}|){query}"
    return {"full": full, "reference": f"(?:{full}|{relative})"}


_ASCII = "-A-Za-z0-9._~"
_BEYOND = (
    "\\u00a0-\\ud7ff\\uf900-\\ufdcf\\ufdf0-\\uffef"
    + "".join(f"\\u{{{plane:x}0000}}-\\u{{{plane:x}fffd}}" for plane in range(1, 14))
    + "\\u{e1000}-\\u{efffd}"
)
_URI = _uri(_ASCII, "")
_IRI = _uri(_ASCII + _BEYOND, "\\ue000-\\uf8ff\\u{f0000}-\\u{ffffd}\\u{100000}-\\u{10fffd}")
_POINTER = "(?:\\/(?:[^~\\/]|~[01])*)*"

_LITERAL = f"(?:[!#$&-;=?-\\[\\]_a-z~{_BEYOND}\\ue000-\\uf8ff]|%[0-9A-Fa-f]{{2}})"
_VARIABLE = "(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:\\.?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*"
_SPEC = f"{_VARIABLE}(?::[1-9][0-9]{{0,3}}|\\*)?"
_TEMPLATE = f"(?:{_LITERAL}|\\{{[+#.\\/;?&=,!@|]?{_SPEC}(?:,{_SPEC})*\\}})*"

_PATTERNS = {
    "date": DATE,
    "date-time": f"{DATE}[tT]{_TIME}",
    "duration": _DURATION,
    "email": _EMAIL,
    "hostname": _HOSTNAME,
    "ipv4": IPV4,
    "ipv6": IPV6,
    "iri": _IRI["full"],
    "iri-reference": _IRI["reference"],
    "json-pointer": _POINTER,
    "relative-json-pointer": f"(?:0|[1-9][0-9]*)(?:#|{_POINTER})",
    "time": _TIME,
    "uri": _URI["full"],
    "uri-reference": _URI["reference"],
    "uri-template": _TEMPLATE,
    "uuid": "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
}

#: The formats that can be guaranteed.
FORMATS = frozenset([*_PATTERNS, "regex"])
#: Formats of JSON Schema whose strings are not regular, each with one that is a part of it.
PARTS = {"idn-email": "email", "idn-hostname": "hostname"}
#: Characters of a format at most: RFC 1123, section 2.1; RFC 5321, section 4.5.3.1.3.
LONGEST = {"hostname": 253, "email": 254}


@cache
def format_language(name: str) -> Language:
    """Return the language of the strings of a format.

    Raises
    ------
    SchemaError
        If the format is not one of `FORMATS`.

    Examples
    --------
    >>> [format_language("date").accepts(date) for date in ("2024-02-29", "2023-02-29")]
    [True, False]
    """
    if name not in FORMATS:
        raise SchemaError(
            f"the format {shown(name)} cannot be guaranteed; known are {sorted(FORMATS)}"
        )
    return pattern_language(format_pattern(name))


@cache
def later_format(name: str) -> Callable[[], Language]:
    """Return what returns the language of one of `FORMATS` when it is needed."""
    return partial(format_language, name)


def format_pattern(name: str) -> str:
    """Return the pattern of a format that is one of `FORMATS`."""
    return f"^(?:{regex_pattern() if name == 'regex' else _PATTERNS[name]})$"
