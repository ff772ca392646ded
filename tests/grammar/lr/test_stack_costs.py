"""What a stack needs is the least sum of lengths after which the parser accepts the end.

The oracle is a search over the parse table itself, shortest first, which knows no items.
"""

from __future__ import annotations

import heapq
import random
import tracemalloc
from itertools import count

import pytest

from cfgguide.grammar import lark_frontend
from cfgguide.grammar.grammar import Grammar
from cfgguide.grammar.lr.stack import Stack
from cfgguide.grammar.lr.stack_costs import StackCosts
from cfgguide.grammar.lr.table import END, START_STATE, ParseTable

GRAMMARS = {
    "brackets": 'start: "(" start? ")" | "[" start ("," start)* "]"',
    "expressions": """
        start: sum
        sum: product | sum "+" product
        product: atom | product "*" atom | "-" product
        atom: "n" | "(" sum ")" | "f" "(" [sum ("," sum)*] ")"
        """,
    "statements": """
        start: statement+
        statement: "if" "n" block ["else" block] | "n" "=" "n" ";"
        block: "{" statement* "}"
        """,
    "empty rules": 'start: a b a\na: | "x"\nb: | "y" b "z"',
    "a long way and a short one": 'start: "a" | "a" "b"~9 | a "c" "d" "e"\na: "a" "a"',
    "the end alone": "start: ",
}


def least(table: ParseTable, lengths: list[int], stack: Stack) -> float:
    """The least sum of lengths of terminals after which the text may end: by trying them."""
    number, seen = count(), set()
    pending = [(0, next(number), stack)]
    while pending:
        length, _, here = heapq.heappop(pending)
        if table.is_sentence(here):
            return length
        if here in seen:
            continue
        seen.add(here)
        for terminal in range(table.n_terminals):
            after = table.shift(here, terminal) if terminal != END else None
            if after is not None:
                heapq.heappush(pending, (length + lengths[terminal], next(number), after))
    return float("inf")


def stacks_of(table: ParseTable, rng: random.Random, n_terminals: int) -> list[Stack]:
    """The stacks after each terminal of a text drawn at random."""
    stacks = [Stack(START_STATE)]
    for _ in range(n_terminals):
        following = [
            after
            for terminal in range(table.n_terminals)
            if terminal != END and (after := table.shift(stacks[-1], terminal)) is not None
        ]
        if not following:
            break
        stacks.append(rng.choice(following))
    return stacks


@pytest.mark.parametrize("name", GRAMMARS)
def test_a_stack_needs_what_a_search_over_the_table_finds(name):
    table = lark_frontend.load(Grammar(GRAMMARS[name])).parse_table
    rng = random.Random(0)
    for _ in range(5):
        lengths = [rng.choice([1, 1, 2, 3]) for _ in range(table.n_terminals)]
        costs = StackCosts(table, lengths)
        for stack in stacks_of(table, rng, 8):
            need = costs.need(stack)
            assert need.length == least(table, lengths, stack), (list(stack), lengths)
            if need.length:
                after = table.shift(stack, need.first)
                assert after is not None
                rest = costs.need(after).length
                assert rest == need.length - lengths[need.first]


def test_a_long_production_takes_memory_that_grows_with_its_length():
    table = lark_frontend.load(Grammar("start:" + ' "a"' * 4_000)).parse_table
    tracemalloc.start()
    costs = StackCosts(table, [1] * table.n_terminals)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert costs.need(Stack(START_STATE)).length == 4_000
    assert most < 10_000_000  # 4,000 beginnings would take 64 MB
