"""The benchmark of hostile cases: what is translated for XGrammar, and the table."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostile.cases import Case
from hostile.run import REFUSED, TOO_SLOW, WORKS, Outcome
from support.scripts import loaded

_PATH = Path(__file__).parents[2] / "benchmarks" / "hostile.py"


@pytest.fixture(scope="module")
def benchmark():
    return loaded(_PATH)


@pytest.mark.parametrize(
    ("lark", "ebnf"),
    [
        ('start: "a" b?\nb: ("c" | "d")+', 'start ::= "a" b?\nb ::= ("c" | "d")+'),
        ('start: A\nA: "x\\n"\n', 'start ::= A\nA ::= "x\\n"'),
        ('start: "a"\n  | "b"', 'start ::= "a"\n  | "b"'),
        ("start: /a/", None),
        ('start: "a"i', None),
        ('start: "a"~3', None),
        ('start: ["a"]', None),
        ('start{x}: "a"', None),
        ('%import common.INT\nstart: "a"', None),
        ('start: "a" -> b', None),
        ("start:", None),
        ('start: "a', None),
    ],
)
def test_words_groups_and_choices_are_translated(benchmark, lark, ebnf):
    assert benchmark.ebnf(lark) == ebnf


def test_the_table_counts_what_became_of_the_cases(benchmark):
    cases = [Case("pattern", "family", str(number), 0, str) for number in range(4)]
    outcomes = [
        Outcome("", outcome, "", 0.0, 0.0, 0, standstill)
        for outcome, standstill in ((WORKS, 0.06), (WORKS, 0.01), (REFUSED, 0.2), (TOO_SLOW, 0.0))
    ]
    assert benchmark.rows("one", cases, outcomes) == (
        "| one | patterns | 4 | 2 | 1 | 1 | 0 | 0 | 0 | 0 | 200 ms | 2 |"
    )
    assert benchmark.header().splitlines()[0].count("|") == 13
