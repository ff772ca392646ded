"""Stacks that are said to be equivalent take the same terminals, as the textbook's machine does."""

from __future__ import annotations

import itertools
import random

import pytest
from support.walked_grammars import GRAMMARS

from cfgguide.grammar import lark_frontend
from cfgguide.grammar.grammar import Grammar
from cfgguide.grammar.lr.equivalence import Equivalence
from cfgguide.grammar.lr.stack import Stack
from cfgguide.grammar.lr.table import END, ERROR, ParseTable

SUMS = """
start: sum
sum: product | sum "+" product
product: atom | product "*" atom
atom: NAME | "(" sum ")" | "-" atom
NAME: "a"
"""
LISTS = """
start: list
list: "[" [(item ",")* item] "]" | "{" pair ("," pair)* "}"
pair: NAME ":" item
item: NAME | list
NAME: "a"
"""
# After `x (a` the text can end only as it began: nothing may be dropped.
NESTED = """
start: "x" b "X" | "y" b "Y"
b: "(" b ")" | "a"
"""
# Lark shifts ELSE: only after `else` is it forgotten that a condition was inside another.
DANGLING = """
start: statement
statement: "if" "x" statement | "if" "x" statement "else" statement | "p"
"""


def stacks_of(table: ParseTable, rng: random.Random, n: int) -> list[Stack]:
    """Stacks after random terminals that the parser takes."""
    found = [Stack(0)]
    while len(found) < n:
        taken = [after for after in following(table, found[-1]).values() if after is not None]
        found.append(rng.choice(taken) if taken and rng.random() < 0.97 else Stack(0))
    return found


def following(table: ParseTable, stack: Stack) -> dict[int, Stack | None]:
    return {
        terminal: table.shift(stack, terminal)
        for terminal in range(END + 1, table.n_terminals)
        if table.action[stack.state, terminal] != ERROR
    }


def agree(
    table: ParseTable, one: Stack, other: Stack, terminals: list[int], rng: random.Random
) -> bool:
    """Return whether two stacks take the same, along some random texts."""
    for terminal in terminals:
        here, there = table.shift(one, terminal), table.shift(other, terminal)
        for _ in range(12):
            if (here is None) != (there is None):
                return False
            if here is None or there is None:
                break
            if table.set_of_state[here.state] != table.set_of_state[there.state]:
                return False
            if table.is_sentence(here) != table.is_sentence(there):
                return False
            mine, theirs = following(table, here), following(table, there)
            taken = {each for each, after in mine.items() if after is not None}
            if taken != {each for each, after in theirs.items() if after is not None}:
                return False
            if not taken:
                break
            chosen = rng.choice(sorted(taken))
            here, there = mine[chosen], theirs[chosen]
    return True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("grammar", "is_some_proven"),
    [(SUMS, True), (LISTS, True), (NESTED, False), (DANGLING, True)]
    + [(grammar, None) for grammar, _ in GRAMMARS.values()],
    ids=["sums", "lists", "nested", "dangling", *GRAMMARS],
)
def test_equivalent_stacks_take_the_same(grammar, is_some_proven):
    table = lark_frontend.load(Grammar(grammar)).parse_table
    equivalence, rng = Equivalence(table, table.set_of_state.tolist()), random.Random(5)
    n_proven = 0
    for stack in [] if table.may_repeat else stacks_of(table, rng, 200):
        states = tuple(itertools.islice(stack, 7))[::-1]
        for lowest, terminals in itertools.product(range(len(states) - 1), range(3)):
            below = stack.pop(len(states) - 1 - lowest)
            n_next = rng.choice([1, 1, 2, table.n_terminals - 1])
            chosen = rng.sample(range(1, table.n_terminals), min(n_next, table.n_terminals - 1))
            as_bits = sum(1 << terminal for terminal in chosen)
            if equivalence.holds(states[lowest:], states[lowest : lowest + 1], as_bits):
                n_proven += any(table.shift(stack, terminal) for terminal in chosen)
                assert agree(table, stack, below, chosen, rng), (stack, below, terminals)
    if is_some_proven is not None:
        assert (n_proven > 0) == is_some_proven
