"""Stacks of general tables that stand for others: what is proven holds, and ambiguity collapses.

The judge is the table's own machine on whole stacks: every string of terminals, up to a length,
that the parser accepts after the one stack it accepts after the other.
"""

from __future__ import annotations

import itertools
from random import Random

import pytest

from cfgguide.base.limits import Budget
from cfgguide.compiler import compile_recognizer
from cfgguide.grammar.grammar import Grammar
from cfgguide.grammar.lr.general import general_table
from cfgguide.grammar.lr.inclusion import Inclusion
from cfgguide.grammar.lr.stack import Stack
from cfgguide.grammar.lr.table import END, ParseTable, Production

MAX_LENGTH = 5  # of the strings that follow
Stacks = tuple[Stack, ...]


def random_rules(rng: Random) -> list[Production]:
    """Productions over three nonterminals and two or three terminals, mostly ambiguous."""
    lefts, terminals = ["s", "t", "u"], ["A", "B", "C"][: rng.randint(1, 3)]
    symbols = [*lefts, *terminals, *terminals]
    return [
        (left, tuple(rng.choice(symbols) for _ in range(rng.randint(0, 3))))
        for left in lefts
        for _ in range(rng.randint(1, 3))
    ]


def shifted(table: ParseTable, stacks: Stacks, terminal: int) -> Stacks:
    return tuple(
        dict.fromkeys(after for stack in stacks for after in table.shifts(stack, terminal))
    )


def accepted(table: ParseTable, stacks: Stacks, n: int) -> set[tuple[int, ...]]:
    """The strings of `n` terminals at most after which the text may end."""
    found: set[tuple[int, ...]] = set()
    pending: list[tuple[Stacks, tuple[int, ...]]] = [(stacks, ())]
    while pending:
        here, string = pending.pop()
        if any(table.is_sentence(stack) for stack in here):
            found.add(string)
        if len(string) < n:
            for terminal in range(1, table.n_terminals):
                after = shifted(table, here, terminal)
                if after:
                    pending.append((after, (*string, terminal)))
    return found


def read_stacks(table: ParseTable, n: int) -> list[Stack]:
    """Stacks after all strings of some terminals."""
    found: dict[Stack, None] = {}
    for string in itertools.product(range(1, table.n_terminals), repeat=n):
        stacks: Stacks = (Stack(0),)
        for terminal in string:
            stacks = shifted(table, stacks, terminal)
        found |= dict.fromkeys(stacks)
    return list(found)


def parts_above_a_shared_state(first: Stack, second: Stack) -> tuple[tuple[int, ...], ...] | None:
    one, other = tuple(first)[::-1], tuple(second)[::-1]
    n = next(
        (n for n, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
        min(len(one), len(other)),
    )
    return one[n - 1 :], other[n - 1 :]


def with_a_twin(rules: list[Production]) -> list[Production]:
    """The same, and wherever an A may stand in a production, a D in its place."""
    twins = [(left, tuple("D" if s == "A" else s for s in right)) for left, right in rules]
    return [*rules, *twins]


@pytest.mark.parametrize("seed", range(80))
def test_what_is_proven_of_two_stacks_holds_for_all_that_follows(seed):
    rules = random_rules(Random(seed))
    table = general_table(rules if seed < 60 else with_a_twin(rules), "s", (), Budget())
    if table is None:
        return
    inclusion = Inclusion(table)
    stacks = [stack for n in range(1, 4) for stack in read_stacks(table, n)][:24]
    after = {stack: accepted(table, (stack,), MAX_LENGTH) for stack in stacks}
    for first, second in itertools.permutations(stacks, 2):
        parts = parts_above_a_shared_state(first, second)
        terminals = inclusion.offered(first.state) | inclusion.offered(second.state)
        if inclusion.covers(*parts, terminals):
            assert after[first] >= after[second], (table.productions, first, second)
        if inclusion.holds(*parts, terminals):
            assert after[first] == after[second], (table.productions, first, second)


def test_a_proof_for_some_terminals_says_nothing_of_others():
    # After `A` and after `B` only a `C` may come, and then the same; but only after `A` a `D`.
    rules = [("s", ("A", "x")), ("s", ("B", "y")), ("x", ("C",)), ("x", ("D",)), ("y", ("C",))]
    table = general_table(rules, "s", (), Budget())
    assert table is not None
    inclusion = Inclusion(table)
    stacks = [table.shift(Stack(0), table.terminals.index(name)) for name in "AB"]
    first, second = (tuple(stack)[::-1] for stack in stacks)
    only_c = 1 << table.terminals.index("C")
    assert inclusion.holds(first, second, only_c)
    assert not inclusion.holds(first, second, only_c | 1 << table.terminals.index("D"))
    assert inclusion.covers(first, second, only_c | 1 << END)


AMBIGUOUS = {
    "sums": ('start: e\ne: e "+" e | N\nN: /[0-9]+/', "1+", 10_000),
    "operators": (
        'start: e\ne: e OP e | "-" e | "(" e ")" | N\nOP: /[-+*]/\nN: /[0-9]/',
        "-1*",
        300,
    ),
    "the conditional operator": ('start: e\ne: e "?" e ":" e | "-" e | N\nN: /1/', "-1?1:", 300),
    "three words or two": ('start: s\ns: s s s | s s | "x"', "x", 100),
    "words in a row": ('start: s\ns: s s | "x" | "y"', "xy", 300),
    "a dangling else": (
        'start: s\ns: "i" e s | "i" e s "e" s | "x" ";"\ne: e "+" e | "n"',
        "in+nin+nx;e",
        100,
    ),
    "phrases": ('start: n "v" n\nn: "d" | n "p" n', "", 0),
    "white space everywhere": (
        'start: ws i (ws "," ws i)*\ni: ws /[a-z]+/ ws\nws: WS*\nWS: " "',
        "  ab  ,",
        100,
    ),
    "marks that begin a part or end it": (
        'start: p*\np: "**" p* "**" | "_" p* "_" | T\nT: /[^*_]+/',
        "a **b** _c_ **d _e_** _**f**_",
        20,
    ),
    "words that are two terminals": (
        'start: (A | B)+\nA: /[a-z]+/\nB: /[a-m]+/\n%ignore " "',
        "ab ",
        100,
    ),
}


@pytest.mark.parametrize("lexer", ["dynamic", "dynamic_complete"])
@pytest.mark.parametrize("name", AMBIGUOUS)
def test_readings_with_the_same_future_are_one(name, lexer):
    text, piece, n = AMBIGUOUS[name]
    recognizer = compile_recognizer(Grammar(text, parser="earley", lexer=lexer), use_cache=False)
    configuration = recognizer.initial
    for _ in range(n):
        configuration = recognizer.advance(configuration, piece.encode())
        assert configuration is not None
        # That four stand for one another may take a long proof, which is worth more than they cost.
        assert len(configuration.hypotheses) <= 4


def test_a_phrase_may_be_attached_anywhere():
    recognizer = compile_recognizer(
        Grammar(AMBIGUOUS["phrases"][0], parser="earley"), use_cache=False
    )
    configuration = recognizer.advance(recognizer.initial, b"d" + b"pd" * 100 + b"v")
    assert configuration is not None
    for _ in range(100):
        configuration = recognizer.advance(configuration, b"dp")
        assert configuration is not None
        assert len(configuration.hypotheses) == 1
    assert recognizer.is_sentence(recognizer.advance(configuration, b"d"))
