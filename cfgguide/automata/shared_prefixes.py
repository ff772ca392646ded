r"""Patterns of many texts, which share what they can.

In: texts. Out: a regular expression in Lark's notation, without slashes around it. ``re`` would try
an alternation of all texts one by one. So they are sorted and share their prefixes, as in a trie,
and letters with the same continuations share a class::

    ["id", "ids", "t1", "t2"]  ->  id(?:s)?|t[12]
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# The deepest nesting of groups: less than limits.Limits.max_nesting.
_MAX_NESTED = 40
_ODD = re.compile(r"[^\w'`\x80-\U0010ffff]", re.ASCII)


def one_of(names: Sequence[str]) -> str:
    r"""Return a pattern for sorted, distinct texts, which share what they can.

    >>> one_of(["id", "t1", "t2", "tag.a"])
    'id|t(?:[12]|ag\\.a)'
    """
    return "|".join(_branches(names, 0))


def _branches(names: Sequence[str], depth: int) -> list[str]:
    if depth == _MAX_NESTED:
        return [escaped_text(name) for name in reversed(names)]  # longer ones first
    rests: dict[str, list[str]] = {}  # what may follow: the letters that it may follow
    start = 0
    while start < len(names):
        end = start + 1
        while end < len(names) and names[end][0] == names[start][0]:
            end += 1
        rests.setdefault(_rest(names[start:end], depth), []).append(names[start][0])
        start = end
    return [_letters(letters) + rest for rest, letters in rests.items()]


def _rest(names: Sequence[str], depth: int) -> str:
    """Return a pattern for what follows the first letter, which is the same in all names."""
    shared = n_shared_letters(names[0], names[-1])
    rests = [name[shared:] for name in names]
    is_optional = not rests[0]
    branches = _branches(rests[is_optional:], depth + 1)
    group = f"(?:{'|'.join(branches)})" + "?" * is_optional if branches else ""
    return escaped_text(names[0][1:shared]) + group


def n_shared_letters(one: Sequence[object], other: Sequence[object]) -> int:
    """Return the length of the longest common prefix of two texts, or of two rows of tokens."""
    if other[: len(one)] == one:
        return len(one)
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (mine, its) in pairs if mine != its), min(len(one), len(other)))


def _letters(letters: Sequence[str]) -> str:
    escaped = "".join(map(escaped_text, letters))
    return escaped if len(letters) == 1 else f"[{escaped}]"


def escaped_text(text: str) -> str:
    r"""Return a text as a pattern.

    Lark allows no line break in a pattern, and drops a backslash before a double quote, even if the
    backslash itself is escaped.

    >>> print(escaped_text("a-b\n/é"))
    a\-b\x0a\/é
    """
    return _ODD.sub(lambda found: _odd(found[0]), text)


def _odd(character: str) -> str:
    is_shown = " " <= character <= "~" and character != '"'
    return f"\\{character}" if is_shown else f"\\x{ord(character):02x}"
