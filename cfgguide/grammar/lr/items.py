"""LR(0) items: productions that are partly read.

In: productions, and the transitions of an LR automaton by symbol name. Out: what follows the dot of
an item, and where a string of symbols leads. ::

    pair: STRING ":" value      Item(production, 1) is    pair -> STRING . ":" value

Source: Aho, Lam, Sethi, Ullman, "Compilers", section 4.6.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cfgguide.grammar.lr.table import Production

Transitions = Mapping[int, Mapping[str, int]]  # per state the state after each symbol


class Item(NamedTuple):
    """A production by its number, and how many of its symbols stand before the dot."""

    production: int
    dot: int


def next_symbol(productions: Sequence[Production], item: Item) -> str | None:
    """Return the symbol after the dot, or None at the end of the production."""
    _, right = productions[item.production]
    return right[item.dot] if item.dot < len(right) else None


def productions_of(productions: Sequence[Production]) -> dict[str, list[int]]:
    """Return the numbers of the productions of each nonterminal."""
    numbers: dict[str, list[int]] = {}
    for number, (left, _) in enumerate(productions):
        numbers.setdefault(left, []).append(number)
    return numbers


def state_after(transitions: Transitions, state: int, symbols: Iterable[str]) -> int | None:
    """Return the state to which a string of symbols leads, or None if it leads nowhere."""
    here: int | None = state
    for symbol in symbols:
        here = transitions[here].get(symbol) if here is not None else None
    return here
