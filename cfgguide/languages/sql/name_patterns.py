r"""Patterns of terminals that match one of many names, plain or in SQL's quotes.

In: names. Out: regular expressions in Lark's notation, without slashes around them. Each matches
some of the names, as a whole word or in one of three kinds of quotes. ASCII case is ignored.

Whether a word is a keyword depends on its position, so that is not decided here.

Many names make several patterns, so that none needs more states than one terminal may have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from cfgguide.automata.shared_prefixes import escaped_text, n_shared_letters, one_of

# Characters that continue a name of SQLite, and the quote: x'00' is not a name x and a string.
_NO_LETTER = r"(?!['$0-9A-Za-z_\x80-\U0010ffff])"
# Those that continue a name of PostgreSQL, and what makes some letters the beginning of another
# lexeme: b'01', e'\n', n'', x'ff', u&'', u&"".
_NO_LETTER_OF_POSTGRESQL = r"(?![$0-9A-Za-z_\x80-\U0010ffff])"
_PREFIXES = {
    **dict.fromkeys("benx", r"(?!['$0-9A-Za-z_\x80-\U0010ffff])"),
    "u": r"(?![$0-9A-Za-z_\x80-\U0010ffff]|&['\x22])",
}
# The most bytes in the trie of one pattern's names. Each name may be written in four ways, and an
# FSM has at most 20,000 states.
_MAX_BYTES = 3000
_WORD_OF_POSTGRESQL = re.compile(r"[_a-z\x80-\U0010ffff][$0-9_a-z\x80-\U0010ffff]*")
_WORD = re.compile(r"[A-Z_a-z\x80-\ufefe\uff00-\U0010ffff][$\w\x80-\U0010ffff]*", re.ASCII)


def name_patterns(plain: Iterable[str], quoted: Iterable[str]) -> list[str]:
    r"""Return patterns that match all `plain` names as words, and the `quoted` ones in quotes.

    >>> [pattern] = name_patterns(["id", "ids"], [])
    >>> print(pattern)
    (?ai:id(?:s)?)(?!['$0-9A-Za-z_\x80-\U0010ffff])
    >>> [pattern] = name_patterns([], ['a"/b'])
    >>> print(pattern)
    (?ai:\x22a\x22\x22\/b\x22)(?!\x22)|(?ai:`a\x22\/b`)(?!`)|(?ai:\[a\x22\/b\])
    """
    return _patterns(plain, quoted, _forms)


def folding_patterns(plain: Iterable[str], quoted: Iterable[str]) -> list[str]:
    r"""Return such patterns for PostgreSQL: quotes are double, and keep the case.

    >>> for pattern in folding_patterns(["b", "id"], ["Id"]):
    ...     print(pattern)
    (?ai:id)(?![$0-9A-Za-z_\x80-\U0010ffff])|(?ai:b)(?!['$0-9A-Za-z_\x80-\U0010ffff])|\x22Id\x22(?!\x22)
    """
    return _patterns(plain, quoted, _folding_forms)


def _patterns(
    plain: Iterable[str],
    quoted: Iterable[str],
    forms: Callable[[Sequence[str], Iterable[str]], Iterator[str]],
) -> list[str]:
    are_plain, are_quoted = set(plain), set(quoted)
    return [
        "|".join(forms([name for name in part if name in are_plain], are_quoted.intersection(part)))
        for part in _parts(sorted(are_plain | are_quoted))
    ]


def is_folded_word(name: str) -> bool:
    """Return whether PostgreSQL reads a name that is written without quotes as that name.

    >>> is_folded_word("größe"), is_folded_word("Id"), is_folded_word("2nd")
    (True, False, False)
    """
    return _WORD_OF_POSTGRESQL.fullmatch(name) is not None


def is_word(name: str) -> bool:
    """Return whether a name is one word of SQL without quotes.

    >>> is_word("größe"), is_word("e-mail"), is_word("2nd")
    (True, False, False)
    """
    return _WORD.fullmatch(name) is not None


def _forms(plain: Sequence[str], quoted: Iterable[str]) -> Iterator[str]:
    """Yield a pattern for each way to write the names."""
    if plain:
        yield f"(?ai:{one_of(plain)}){_NO_LETTER}"
    for quote in '"`':
        written = sorted(name.replace(quote, 2 * quote) for name in quoted)
        around = escaped_text(quote)
        if written:
            yield f"(?ai:{around}{_group(written)}{around})(?!{around})"
    bracketed = sorted(name for name in quoted if "]" not in name)
    if bracketed:
        yield rf"(?ai:\[{_group(bracketed)}\])"


def _folding_forms(plain: Sequence[str], quoted: Iterable[str]) -> Iterator[str]:
    usual = [name for name in plain if name not in _PREFIXES]
    if usual:
        yield f"(?ai:{one_of(usual)}){_NO_LETTER_OF_POSTGRESQL}"
    for name in plain:
        if name in _PREFIXES:
            yield f"(?ai:{name}){_PREFIXES[name]}"
    written = sorted(name.replace('"', '""') for name in quoted)
    if written:
        yield rf"\x22{_group(written)}\x22(?!\x22)"


def _group(names: Sequence[str]) -> str:
    return escaped_text(names[0]) if len(names) == 1 else f"(?:{one_of(names)})"


def _parts(names: Sequence[str]) -> Iterator[list[str]]:
    """Yield the names, sorted, in parts whose tries are small."""
    part: list[str] = []
    size, before = 0, ""
    for name in names:
        new = len(name[n_shared_letters(before, name) :].encode())
        if part and size + new > _MAX_BYTES:
            yield part
            part, size = [], 0
        part.append(name)
        size, before = size + new, name
    if part:
        yield part
