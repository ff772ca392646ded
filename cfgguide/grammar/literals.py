r"""Literals of Lark's language for patterns and texts.

In: a regular expression, or a text. Out: the literal that Lark reads as exactly that. Lark
evaluates ``\n``, ``\x41`` and the like before ``re`` sees a pattern, so ``\x2a`` would become a
quantifier; and it drops a backslash before a double quote. Where that would matter, the character
is written as an escape with its code point::

    \x2a  ->  /\u005cx2a/        a/"b"  ->  /a\x2f\x22b\x22/
"""

from __future__ import annotations

import re

# A backslash with the character after it; a character that must be escaped for Lark.
_ODD = re.compile(r'\\(.?)|["/\x00-\x1f\x7f\ud800-\udfff]', re.DOTALL)
_EVALUATED = "Uuxnftr"  # letters that make Lark evaluate what follows a backslash
_NAMED = {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\f": r"\f"}


def pattern_literal(pattern: str, flags: str = "") -> str:
    r"""Return the literal of a pattern in a grammar.

    Parameters
    ----------
    pattern : str
        The pattern for ``re``; not empty.
    flags : str
        Letters of Lark's flags: some of ``imslux``.

    Examples
    --------
    >>> print(pattern_literal(r"\d+\n", "i"), pattern_literal("a/b"))
    /\d+\u005cn/i /a\x2fb/
    """
    return f"/{_ODD.sub(_in_pattern, pattern)}/{flags}"


def text_literal(text: str, flags: str = "") -> str:
    r"""Return the literal of a text in a grammar.

    >>> print(text_literal('a "b" \\ c'))
    "a \x22b\x22 \\ c"
    """
    written = (each if each == "/" else r"\\" if each == "\\" else _alone(each) for each in text)
    return f'"{"".join(written)}"{flags}'


def _in_pattern(found: re.Match[str]) -> str:
    if found[0][0] != "\\":
        return _alone(found[0])
    after = found[1]
    is_kept = after in ("/", "\\") or _alone(after) == after
    if after == "" or after in _EVALUATED or not is_kept:
        return r"\u005c" + _alone(after)
    return found[0]


def _alone(character: str) -> str:
    r"""Return a character, other than a backslash, so that Lark evaluates it to itself."""
    if not _ODD.fullmatch(character):
        return character
    number = ord(character)
    return _NAMED.get(character, f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}")
