"""Shortened stacks change nothing: the recogniser that leaves stacks as they are is the judge."""

from __future__ import annotations

import random
import warnings
from string import ascii_lowercase

import pytest
from support.small_tokenizers import standard_library_vocabulary
from support.walked_grammars import GRAMMARS, words

import cfgguide
from cfgguide import Grammar, Index, Vocabulary
from cfgguide.base.limits import work_of_thread
from cfgguide.engine.liveness.liveness import Liveness
from cfgguide.engine.machine.lr_machine import LrMachine
from cfgguide.engine.machine.recognizer import Recognizer

PYTHON = (
    b"def f(a, *b):\n  if a[1] < -b:\n    return {1: [x for x in b]}\n  else:\n    pass\nx = 1\n"
)
SQL = b"SELECT a, b + 1 AS c FROM (SELECT DISTINCT x FROM t) WHERE NOT a = 'x' AND b IN (1, 2)"
BUNDLED = {
    "bundled json": ("json", [b'[{"a": [1, ', b'"b"', *words('[]{}",:1 ', 3, 60)]),
    "bundled sql": ("sql", [*SQL.replace(b" ", b" |").split(b"|"), *words("(),'a1+ ", 2, 20)]),
    "bundled python": (
        "python",
        [*PYTHON.replace(b" ", b" |").split(b"|"), *words("()[]:a= \n", 2, 30)],
    ),
}
#: Where a reduction is not certain yet, and where what is below decides what it makes.
OWN = {
    "two reductions": (
        'start: a "=" "1" | b "==" "2"\na: NAME\nb: NAME\nNAME: /[ab]/',
        words("ab=12", 3, 40),
    ),
    "two nonterminals": (
        'start: p ";" "x" | q ";" "y"\np: "a" NUM\nq: "a" "b" NUM\nNUM: /1/',
        words("ab1;xy", 2, 40),
    ),
}
CASES = {
    **{name: (Grammar(text), tokens) for name, (text, tokens) in OWN.items()},
    **{name: (Grammar(text), tokens) for name, (text, tokens) in GRAMMARS.items()},
    **{name: (Grammar.bundled(each), tokens) for name, (each, tokens) in BUNDLED.items()},
}

cases = pytest.mark.parametrize(
    ("grammar", "tokens"),
    [
        pytest.param(*case, marks=[pytest.mark.slow] if name == "bundled python" else [], id=name)
        for name, case in CASES.items()
    ],
)


def compiled(grammar: Grammar, tokens: list[bytes]) -> tuple[Index, Index]:
    """Return an index, and one whose recogniser leaves stacks as they are."""
    vocabulary = Vocabulary([*tokens, None], eos_token_ids=len(tokens))
    with warnings.catch_warnings(action="ignore"):
        index = cfgguide.compile(grammar, vocabulary)
    made = index.machine.recognizer
    tables = made.parse_table, made.scanner, made.indentation_rules
    plain = Recognizer(*tables, shortens_stacks=False)
    return index, Index(LrMachine(plain, Liveness(plain, vocabulary.spelling)), vocabulary)


@pytest.mark.slow
@cases
def test_masks_on_shortened_stacks_are_those_on_whole_ones(grammar, tokens):
    index, plain = compiled(grammar, tokens)
    rng = random.Random(3)
    n_shorter = 0
    # The plain one decides by search alone.
    is_large = index.machine.recognizer.parse_table.n_states > 500
    for _ in range(8 if is_large else 30):
        here, there = index.machine.initial, plain.machine.initial
        for _ in range(40):
            mask = plain.subset(there)
            assert index.subset(here).token_ids().tolist() == mask.token_ids().tolist()
            chosen = [token for token in mask.token_ids().tolist() if token < len(tokens)]
            if not chosen:
                break
            token = tokens[rng.choice(chosen)]
            here, there = (
                index.machine.advance(here, token),
                plain.machine.advance(there, token),
            )
            assert here is not None
            assert there is not None
            heights = [max(each.stack.height for each in c.hypotheses) for c in (here, there)]
            n_shorter += heights[0] < heights[1]
    assert len(index._entries) <= len(plain._entries)
    assert n_shorter or "json" not in grammar.text


@pytest.mark.slow
@cases
def test_texts_are_read_as_far_and_end_as_well(grammar, tokens):
    index, plain = compiled(grammar, tokens)
    rng = random.Random(4)
    for _ in range(100):
        here, there = index.machine.initial, plain.machine.initial
        for byte in b"".join(rng.choices(tokens, k=12)):
            here = index.machine.advance(here, bytes([byte]))
            there = plain.machine.advance(there, bytes([byte]))
            assert (here is None) == (there is None)
            if here is None or there is None:
                break
            assert index.machine.is_sentence(here) == plain.machine.is_sentence(there)


def test_what_decides_nothing_is_gone():
    """In JSON only the open brackets decide, and what of an object comes next."""
    recognizer = cfgguide.compile(Grammar.bundled("json"), Vocabulary.of_bytes()).machine.recognizer

    def after(text: bytes) -> object:
        return recognizer.advance(recognizer.initial, text)

    assert after(b'[1, {"a": 2}, "b') == after(b'["b')
    assert after(b'{"a": [3], "b": "c') == after(b'{"b": "c')
    assert after(b'[["b') != after(b'["b')
    assert after(b'{"a": "b') != after(b'["b')


def test_readings_are_not_compared_for_long_where_none_stands_for_another():
    """Each pair of palindromes is read in many ways, and hardly any stack stands for another."""
    pairs = " | ".join(f'"{letter}" p "{letter}" | "{letter}"' for letter in ascii_lowercase)
    grammar = Grammar(f'start: p ("," p)*\np: p p | {pairs}', parser="earley")
    index = cfgguide.compile(grammar, standard_library_vocabulary(), use_cache=False)
    recognizer = index.machine.recognizer
    configuration = recognizer.advance(recognizer.initial, b"lysaz")
    before = work_of_thread()
    index.subset(configuration)
    assert work_of_thread() - before < 150_000
