"""Tokens in grammars: ``<|call|>``, ``<[128010]>``, ``<[1-5,7]>``.

In: what stands between the angle brackets. Out: sets of tokens (:func:`tokens_of`), and the special
terminals that they need (:func:`terminals_of`). A token belongs to one special terminal only, so
sets that overlap are divided::

    <[1-3]> | <[3]>   ->   (TOKENS | TOKENS_2) | TOKENS_2     TOKENS: 1, 2    TOKENS_2: 3
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from cfgguide.grammar.rules.names import NameAllocator

Tokens = frozenset[str | int]

#: Ids in one pair of brackets.
MAX_TOKENS = 100_000
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
_WAY_OUT = "list the tokens, or write a terminal for text: /(?s:.)+/"


def tokens_of(written: str) -> Tokens:
    """Return the tokens that are meant, by name or by id.

    Raises
    ------
    ValueError
        If they cannot be listed.

    Examples
    --------
    >>> sorted(tokens_of("<[7,1-3]>")), sorted(tokens_of("<|call|>"))
    ([1, 2, 3, 7], ['<|call|>'])
    """
    if not (written.startswith("<[") and written.endswith("]>")):
        return frozenset([written])
    inside = written[2:-2]
    if "*" in inside or inside.startswith("^"):
        raise ValueError(
            f"{written} means all tokens of the model, or all but some, and a grammar knows no "
            f"model; {_WAY_OUT}"
        )
    found: set[int] = set()
    for part in filter(None, inside.split(",")):
        ends = _RANGE.fullmatch(part)
        first, last = (int(ends[1]), int(ends[2] or ends[1])) if ends else (0, -1)
        if first > last:
            raise ValueError(f"{part!r} is no range of token ids, such as 128000-128010")
        if len(found) + last - first >= MAX_TOKENS:
            raise ValueError(f"more than {MAX_TOKENS} tokens; {_WAY_OUT}")
        found |= {*range(first, last + 1)}
    if not found:
        raise ValueError(f"{written} holds no token")
    return frozenset(found)


def terminals_of(
    sets: Iterable[Tokens], names: NameAllocator
) -> tuple[dict[str, tuple[str | int, ...]], dict[Tokens, tuple[str, ...]]]:
    """Return special terminals with their tokens, and those that make up each set.

    Examples
    --------
    >>> terminals, parts = terminals_of([tokens_of("<[1-3]>"), tokens_of("<[3]>")], NameAllocator())
    >>> terminals
    {'TOKENS': (1, 2), 'TOKENS_2': (3,)}
    """
    every = list(dict.fromkeys(sets))
    terminals: dict[str, tuple[str | int, ...]] = {}
    parts: dict[Tokens, tuple[str, ...]] = dict.fromkeys(every, ())
    for numbers, tokens_in in told_apart(every).items():
        plain = word_of(tokens_in[0])
        name = names.new(plain if plain[:1].isalpha() and plain.isascii() else "TOKENS")
        terminals[name] = tuple(tokens_in)
        for number in numbers:
            parts[every[number]] += (name,)
    return terminals, parts


def told_apart(
    sets: Sequence[Collection[str | int]],
) -> dict[tuple[int, ...], list[str | int]]:
    """Return tokens by the sets that they are in, names before ids."""
    members: dict[str | int, list[int]] = {}
    for number, tokens in enumerate(sets):
        for token in dict.fromkeys(tokens):
            members.setdefault(token, []).append(number)
    groups: dict[tuple[int, ...], list[str | int]] = {}
    for token in sorted(members, key=lambda token: (isinstance(token, int), token)):
        groups.setdefault(tuple(members[token]), []).append(token)
    return groups


def word_of(token: str | int) -> str:
    """Return what the name of a terminal has of a token's name.

    >>> word_of("<|call|>"), word_of("<>")
    ('CALL', '')
    """
    return re.sub("[^A-Z0-9]+", "_", str(token).upper()).strip("_")
