"""The documents of the ambiguous grammars: Lark's two parsers take them, each its grammar."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from lark import Lark
from support.scripts import loaded

import cfgguide

_BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
_N_DOCUMENTS = 30


@pytest.fixture(scope="module")
def documents():
    return loaded(_BENCHMARKS / "documents_ambiguous.py")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("maker", "name", "parser", "lexer"),
    [
        pytest.param("formulas", "formulas", "earley", "dynamic", marks=pytest.mark.slow),
        ("formulas", "formulas_lalr", "lalr", "contextual"),
        pytest.param("statements", "statements", "earley", "dynamic", marks=pytest.mark.slow),
        ("statements", "statements_lalr", "lalr", "basic"),
        ("queries", "queries", "earley", "dynamic"),
        ("queries", "queries_lalr", "lalr", "contextual"),
    ],
)
def test_lark_takes_every_document(documents, maker, name, parser, lexer):
    text = (_BENCHMARKS / "grammars" / f"{name}.cfgguide.lark").read_text(encoding="utf-8")
    grammar = cfgguide.Grammar(text, parser=parser, lexer=lexer)
    # With Earley's parser, any reading will do.
    options = {"ambiguity": "forest"} if parser == "earley" else {}
    judge = Lark(grammar.text, **grammar.lark_options, **options)
    for seed in range(_N_DOCUMENTS):
        judge.parse(getattr(documents, maker)(Random(seed)))
