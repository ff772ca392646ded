"""LR(0) items: productions that are partly read.

In: productions, and the transitions of an LR automaton by symbol name. Out: what follows the dot of
an item, where a string of symbols leads, and the items of each state. ::

    pair: STRING ":" value      Item(production, 1) is    pair -> STRING . ":" value

Source: Aho, Lam, Sethi, Ullman, "Compilers", section 4.6.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cfgguide.parser.table import START_STATE, Production

Transitions = Sequence[Mapping[str, int]]  # per state the state after each symbol


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


def kernels(productions: Sequence[Production], transitions: Transitions) -> list[set[Item]]:
    """Return the kernel items of each state: those with the dot after some symbol.

    The start state has none, and neither has a state that no text reaches.
    """
    by_left = productions_of(productions)
    items: dict[int, set[Item]] = {START_STATE: set()}
    pending = [START_STATE]
    while pending:
        state = pending.pop()
        # A state goes on with a nonterminal just if it was closed over its productions.
        closure = [
            (production, 0)
            for left in transitions[state].keys() & by_left.keys()
            for production in by_left[left]
        ]
        reached: dict[int, set[Item]] = defaultdict(set)
        for production, dot in (*items[state], *closure):
            _, right = productions[production]
            if dot < len(right) and right[dot] in transitions[state]:
                reached[transitions[state][right[dot]]].add(Item(production, dot + 1))
        for target, kernel in reached.items():
            if target not in items:
                items[target] = kernel
                pending.append(target)
    return [items.get(state, set()) for state in range(len(transitions))]
