r"""The format ``regex``: regular expressions that ECMA-262 and other notations all know.

In: nothing. Out: a pattern whose texts are regular expressions. They are not a regular language, so
groups nest `DEPTH` deep; and a text means the same with and without the flag ``u``, and to Python.
So there are no back references, names of groups, look-behinds or Unicode properties; ranges in
classes are those of letters, of digits and a few more; counts have up to three digits.
"""

from __future__ import annotations

import string

DEPTH = 3  # of nested groups

_ESCAPE = r"\\(?:[dDsSwWfnrtv!-\/:-@\[-`{-~]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})"


def _ranges() -> str:
    found = [" -~", "!-~", r"\\x00-\\x[0-9A-Fa-f]{2}", r"\\u0000-\\u[0-9A-Fa-f]{4}"]
    for letters in (string.digits, string.ascii_lowercase, string.ascii_uppercase):
        found += [f"{letter}-[{letter}-{letters[-1]}]" for letter in letters]
    return "|".join(found)


def _counts() -> str:
    """Return one count, or two, of which the second is not less."""
    found = [r"[0-9]{1,3},?", "[0-9],[1-9][0-9]{1,2}", "[1-9][0-9],[1-9][0-9]{2}"]
    found += [f"{n},[{n}-9]" for n in range(10)]
    found += [f"{n}[0-9],[{n + 1}-9][0-9]" for n in range(1, 9)]
    found += [f"{n // 10}{n % 10},{n // 10}[{n % 10}-9]" for n in range(10, 100)]
    return "|".join(found)


def regex_pattern() -> str:
    """Return the pattern of the format."""
    in_class = rf"(?:(?:{_ranges()})-?|{_ESCAPE}|[^\\\]^-])"
    character_class = rf"\[\^?(?:-{in_class}*-?|{in_class}+-?)\]"
    character = rf"{_ESCAPE}|{character_class}|[^\\\[\](){{}}*+?|^$]"
    quantifier = rf"(?:(?:[*+?]|\{{(?:{_counts()})\}})\??)?"
    position = r"[\^$|]|\\[bB]"
    found = rf"(?:{position}|(?:{character}){quantifier})*"
    for _ in range(DEPTH):
        look, found = found, rf"(?:{position}|(?:{character}|\((?:\?:)?{found}\)){quantifier})*"
    return rf"(?:\(\?[=!]{look}\)|{found[3:]}"
