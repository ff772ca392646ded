"""The language of productions by its definition: the least sets of strings that solve them.

``languages(productions, longest)`` starts with empty sets and adds, until nothing is new, what the
right sides make of the sets so far. It knows nothing of parsers, and takes cycles and empty rules.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

from cfgguide.grammar.lr.table import Production

String = tuple[str, ...]  # of terminals
Languages = dict[str, frozenset[String]]

NAMES = ["s", "p", "q", "r", "t", "u"]
TERMINALS = ["X", "Y", "Z"]


def languages(productions: Iterable[Production], longest: int) -> Languages:
    """Return the strings of at most so many terminals that each left side derives."""
    productions = list(dict.fromkeys(productions))
    found: dict[str, set[String]] = {left: set() for left, _ in productions}
    size = -1
    while size != (size := sum(map(len, found.values()))):
        for left, right in productions:
            strings: set[String] = {()}
            for symbol in right:
                parts = found.get(symbol, {(symbol,)})
                strings = {
                    string + part
                    for string in strings
                    for part in parts
                    if len(string) + len(part) <= longest
                }
            found[left] |= strings
    return {left: frozenset(strings) for left, strings in found.items()}


def random_productions(seed: int) -> list[Production]:
    """Return rules over a few terminals: empty, cyclic, ambiguous and useless ones too."""
    choose = random.Random(seed)
    names = NAMES[: choose.randint(1, len(NAMES))]
    symbols = TERMINALS[: choose.randint(1, 3)] + names * choose.choice([1, 1, 2])
    lengths = choose.choice([[0, 1, 1, 2, 2, 3], [1, 2, 2, 3], [0, 0, 1, 4, 5], [1, 1, 1, 2]])
    return [
        (name, tuple(choose.choices(symbols, k=choose.choice(lengths))))
        for name in names
        for _ in range(choose.randint(1, 4))
    ]
