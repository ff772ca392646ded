r"""Patterns and texts as Lark reads them between slashes or quotes.

In: a regular expression, or a text. Out: the literal from which Lark makes just that. Lark
evaluates ``\n``, ``\x41`` and the like before ``re`` sees a pattern, so ``\x2a`` would become a
star that repeats; and it drops a backslash before a double quote. Where that would matter, the
character itself is written by its number::

    \x2a  ->  /\u005cx2a/        a/"b"  ->  /a\x2f\x22b\x22/
"""

from __future__ import annotations

import re

# A backslash with what it stands before; a character that Lark must not see as it is.
_ODD = re.compile(r'\\(.?)|["/\x00-\x1f\x7f\ud800-\udfff]', re.DOTALL)
_EVALUATED = "Uuxnftr"  # letters that make Lark evaluate what follows a backslash
_NAMED = {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\f": r"\f"}


def pattern_literal(pattern: str, flags: str = "") -> str:
    r"""Return a pattern as a grammar holds it.

    Parameters
    ----------
    pattern : str
        What ``re`` is to get; not empty.
    flags : str
        Letters of Lark's flags: some of ``imslux``.

    Examples
    --------
    >>> print(pattern_literal(r"\d+\n", "i"), pattern_literal("a/b"))
    /\d+\u005cn/i /a\x2fb/
    """
    return f"/{_ODD.sub(_in_pattern, pattern)}/{flags}"


def text_literal(text: str, flags: str = "") -> str:
    r"""Return a text as a grammar holds it.

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
    r"""Return a character, but no backslash, so that Lark evaluates it to just that."""
    if not _ODD.fullmatch(character):
        return character
    number = ord(character)
    return _NAMED.get(character, f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}")
