"""Proper grammars have the language of what they were made of, and none of what they must not have.

The language is that of `support.production_languages`: strings found from the definition.
"""

from __future__ import annotations

import pytest
from support.production_languages import Languages, languages, random_productions
from support.scripts import printed

from cfgguide.grammar.lr.proper import proper
from cfgguide.grammar.lr.table import Production

BLOCKS, PER_BLOCK = 8, 250
LONGEST = 4


def language_of(found: Languages, start: str) -> frozenset[tuple[str, ...]]:
    return found.get(start, frozenset())


def assert_proper(rules: list[Production], start: str) -> None:
    lefts = {left for left, _ in rules}
    assert rules == sorted(set(rules))
    empty = [left for left, right in rules if not right]
    assert empty in ([], [start])
    if empty:
        assert not any(start in right for _, right in rules)
    # Nonterminals that derive nonterminals alone: nothing is left once all ends are taken off.
    alone = {(left, right[0]) for left, right in rules if len(right) == 1 and right[0] in lefts}
    while ends := {edge for edge in alone if not any(edge[1] == left for left, _ in alone)}:
        alone -= ends
    assert not alone, "a cycle"
    derived: set[str] = set()
    while new := {
        left
        for left, right in rules
        if left not in derived and all(s in derived or s not in lefts for s in right)
    }:
        derived |= new
    assert derived == lefts, "a nonterminal without texts"
    reached = {start} & lefts
    while new := {
        s for left, right in rules if left in reached for s in right if s in lefts - reached
    }:
        reached |= new
    assert reached == lefts, "a nonterminal that no sentence has"


@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_grammars_keep_their_language_and_become_proper(block):
    n_infinite = 0
    for seed in range(block * PER_BLOCK, (block + 1) * PER_BLOCK):
        productions = random_productions(seed)
        expected = language_of(languages(productions, LONGEST), "s")
        rules = proper(productions, "s")
        assert language_of(languages(rules, LONGEST), "s") == expected, seed
        assert_proper(rules, "s")
        n_infinite += any(len(string) == LONGEST for string in expected)
    assert n_infinite > PER_BLOCK / 4


@pytest.mark.parametrize(
    ("productions", "expected"),
    [
        ([], []),
        ([("t", ("X",))], []),  # there is no start
        ([("s", ("s",))], []),
        ([("s", ("p", "X")), ("p", ("s",))], []),
        ([("s", ())], [("s", ())]),
        ([("s", ("p",)), ("p", ("q",)), ("q", ())], [("s", ())]),
        ([("s", ("s",)), ("s", ("X",))], [("s", ("X",))]),
        ([("s", ("p",)), ("p", ("s",)), ("p", ("X",))], [("s", ("X",))]),
        ([("s", ("p", "s")), ("s", ("X",)), ("p", ())], [("s", ("X",))]),
        (  # hidden left recursion
            [("s", ("p", "s", "X")), ("s", ("Y",)), ("p", ()), ("p", ("Z",))],
            [("p", ("Z",)), ("s", ("Y",)), ("s", ("p", "s", "X")), ("s", ("s", "X"))],
        ),
        (  # two names for one thing
            [("s", ("p", "q")), ("p", ("X",)), ("q", ("X",))],
            [("p", ("X",)), ("s", ("p", "p"))],
        ),
        (  # an empty start that is part of a rule
            [("s", ()), ("s", ("X", "s"))],
            [("s", ()), ("s", ("s'",)), ("s'", ("X",)), ("s'", ("X", "s'"))],
        ),
    ],
)
def test_proper_grammars_by_hand(productions, expected):
    assert proper(productions, "s") == expected


@pytest.mark.parametrize("n", [1, 4, 20])
def test_optionals_in_a_row_make_few_productions(n):
    """Two to the power of their number without the split."""
    optionals = [("p", ("X",)), ("p", ()), ("q", ("X", "X")), ("q", ())]
    productions = [*optionals, ("s", ("p",) * n), ("s", ("q",) * n)]
    rules = proper(productions, "s")
    assert len(rules) < 16 * n + 20
    assert_proper(rules, "s")
    most = min(2 * n, 12)
    expected = {("X",) * k for k in range(most + 1) if k <= n or k % 2 == 0}
    assert language_of(languages(rules, most), "s") == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "productions",
    [
        [("s", ("r0",)), *((f"r{i}", (f"r{i + 1}",)) for i in range(5000))],
        [("s", ("r0",)), *((f"r{i}", (f"r{i + 1}", "X")) for i in range(5000))],
        [("s", (f"r{i}",)) for i in range(10_000)] + [(f"r{i}", (f"X{i}",)) for i in range(10_000)],
        [("s", ("r0",)), ("r3000", ("X",))]
        + [(f"r{i}", (f"r{j}",)) for i in range(3001) for j in (i - 1, i + 1) if 0 <= j <= 3000],
        [("s", ("p",) * 3000), ("p", ("X",)), ("p", ())],
    ],
    ids=["a chain", "a chain with terminals", "alternatives", "one large cycle", "one long rule"],
)
def test_large_grammars_are_made_proper(productions):
    assert proper(productions, "s")


def test_the_result_is_the_same_under_any_hash_seed():
    program = (
        "from support.production_languages import random_productions\n"
        "from cfgguide.grammar.lr.proper import proper\n"
        "print([proper(random_productions(seed), 's') for seed in range(300)])\n"
        "split = [(left, right) for left in 'pq' for right in [(), ('Y',)]]\n"
        "split += [('s', (left,) * n + ('X',)) for left in 'pq' for n in (4, 5, 6)]\n"
        "print(proper(split, 's'))\n"
    )
    assert printed(program)
