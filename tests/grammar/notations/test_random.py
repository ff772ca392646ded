"""Random grammars: Lark with what is written, against the recogniser of support/spans.py.

The recogniser looks at the rules as they are read, so what is judged is the conversion. Half of the
texts are words over the letters of the grammars, and half are made from its texts by small changes.
"""

from __future__ import annotations

import re
from itertools import product
from random import Random

import lark
import pytest
from support.judges import is_parsed
from support.spans import Recogniser, lark_parser

import cfgguide
from cfgguide import Grammar, notations
from cfgguide.errors import GrammarError
from cfgguide.grammar.notations.gbnf_reader import read_gbnf
from cfgguide.grammar.notations.w3c_reader import read_w3c
from cfgguide.grammar.rules.source import Source

ATOMS = ['"a"', '"b"', '"ab"', '"ba"', '"aab"', "[ab]", "[^a]", "[bc]", '""', "."]
COUNTS = ["*", "+", "?", "{2}", "{1,2}", "{0,3}", "{2,}", "{4,7}"]


def expression(random: Random, depth: int, names: list[str]) -> str:
    """Return a random expression in GBNF."""
    kind = random.random()
    if depth == 0 or kind < 0.35:
        return random.choice(ATOMS + 2 * names)
    parts = [expression(random, depth - 1, names) for _ in range(random.randint(2, 3))]
    if kind < 0.6:
        return " ".join(parts)
    return f"({' | '.join(parts)})" if kind < 0.8 else f"({parts[0]}){random.choice(COUNTS)}"


def grammar_of(random: Random) -> str:
    """Return a random grammar of one to four rules in GBNF."""
    names = ["root", "x", "y-1", "Z"][: random.randint(1, 4)]
    return "\n".join(
        f"{name} ::= "
        + " | ".join(
            expression(random, random.randint(1, 3), names) for _ in range(random.randint(1, 3))
        )
        for name in names
    )


def texts_of(random: Random, recogniser: Recogniser, n: int) -> list[str]:
    """Return texts, among them sentences and their neighbours."""
    texts = ["", *("".join(random.choices("abc", k=random.randint(1, 6))) for _ in range(n))]
    members = [text for text in texts if recogniser.accepts(text)]
    for text in random.sample(members, min(len(members), n // 2)):
        at = random.randint(0, len(text))
        texts.append(text[:at] + random.choice("abc") + text[at + random.randint(0, 1) :])
        texts.append(text + random.choice(members))
    return texts


def differences(parser: lark.Lark, recogniser: Recogniser, texts: list[str]) -> list[str]:
    """Return the texts that the two judge differently."""
    return [text for text in texts if is_parsed(parser, text) != recogniser.accepts(text)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(120))
def test_random_grammars_keep_their_texts(seed):
    random = Random(seed)
    grammar = grammar_of(random)
    try:
        found = notations.gbnf(grammar)
    except GrammarError as error:
        assert "no text matches" in str(error)  # noqa: PT017  (it may, or may not, be raised)
        return
    recogniser = Recogniser(read_gbnf(Source(grammar, "the grammar")), "root")
    texts = texts_of(random, recogniser, 24)
    assert differences(lark_parser(found), recogniser, texts) == [], grammar


@pytest.mark.few(10)
@pytest.mark.parametrize("seed", range(40))
def test_random_differences_keep_their_texts(seed):
    """In W3C's notation, with ``A - B`` inside of rules that call themselves."""
    random = Random(seed)
    atoms = ["'a'", "'b'", "'ab'", "[ab]", "[^a]", "'aab'?", "[abc]*", "('ab' | 'b')+", "''"]
    one, other, third = ("(" + " ".join(random.choices(atoms, k=2)) + ")" for _ in range(3))
    grammar = f"root ::= x | 'c' root x? | {third}\nx ::= {one} - {other} - ('a' - 'b')"
    try:
        found = notations.w3c(grammar)
    except GrammarError as error:
        assert "no text is left" in str(error)  # noqa: PT017
        return
    recogniser = Recogniser(read_w3c(Source(grammar, "the grammar")), "root")
    texts = texts_of(random, recogniser, 24)
    assert differences(lark_parser(found), recogniser, texts) == [], grammar


def rule_with_itself_at_its_ends(random: Random) -> str:
    """Return a random rule that calls itself only where its alternatives begin and end."""
    ends = ["root", "root?", "(root | [ab])", '"a"', "[bc]"]
    rows = [
        [
            random.choice([*ends, '("c" | root "a")', '(root ("b" | "a")?)?']),
            *random.choices(['"b"', "[ab]?", '"c"*', '""'], k=random.randint(0, 2)),
            random.choice([*ends, '("a" root | "b")', '("a" ("b" | root))?']),
        ]
        for _ in range(random.randint(1, 3))
    ]
    return " | ".join(['root ::= "ab"', *(" ".join(row) for row in rows), 'root "b" root'])


@pytest.mark.few(10)
@pytest.mark.parametrize("seed", range(60))
def test_rules_that_call_themselves_at_both_ends_are_regular_and_keep_their_texts(seed):
    random = Random(seed)
    grammar = rule_with_itself_at_its_ends(random)
    recogniser = Recogniser(read_gbnf(Source(grammar, "the grammar")), "root")
    pattern = notations.gbnf(grammar).pattern
    machine = cfgguide.index.compile_recognizer(Grammar.gbnf(grammar))
    texts = ["".join(word) for n in range(5) for word in product("abc", repeat=n)]
    for text in texts + texts_of(random, recogniser, 24):
        is_right = recogniser.accepts(text)
        assert is_right == (re.fullmatch(pattern, text) is not None), (grammar, text)
        after = machine.advance(machine.initial, text.encode())
        assert is_right == (after is not None and machine.is_sentence(after)), (grammar, text)
