"""Which rules may be empty, or anything else: one walk against rounds over all rules.

The rounds look at every rule again until nothing changes, as the definition says.
"""

from __future__ import annotations

from random import Random

import pytest
from support.spans import Recogniser

from cfgguide.grammar.notations.gbnf_reader import read_gbnf
from cfgguide.grammar.notations.w3c_reader import read_w3c
from cfgguide.grammar.rules.facts import Facts, facts_of
from cfgguide.grammar.rules.source import Source
from cfgguide.grammar.rules.tree import Choice, Name, Repeated, Row, Text

NAMES = ["root", "x", "y", "z"]


def expression(random: Random, depth: int) -> str:
    """Return a random expression in GBNF, with many names and few texts."""
    if depth == 0 or random.random() < 0.4:
        return random.choice([*NAMES, *NAMES, '""', '"a"'])
    one, other = (expression(random, depth - 1) for _ in range(2))
    return random.choice([f"{one} {other}", f"({one} | {other})", f"({one}){{0}}", f"({one})*"])


def rounds(rules):
    """Return the facts of rules, found in rounds."""
    found = dict.fromkeys(rules, (False, False))

    def of(node):
        match node:
            case Text():
                return node.text == "", node.text != ""
            case Name():
                return found[node.name]
            case Row():
                parts = list(map(of, node.parts))
                if (False, False) in parts:
                    return False, False
                return all(each[0] for each in parts), any(each[1] for each in parts)
            case Choice():
                parts = list(map(of, node.parts))
                return any(each[0] for each in parts), any(each[1] for each in parts)
            case Repeated():
                is_optional, is_something = of(node.part)
                is_optional |= 0 in (node.least, node.most)
                return is_optional, is_something and node.most != 0
        raise AssertionError(node)

    before = None
    while before != found:
        before = dict(found)
        found.update({name: of(rule.body) for name, rule in rules.items()})
    return {name: Facts(*facts) for name, facts in found.items()}


@pytest.mark.parametrize("seed", range(100))
def test_one_walk_finds_what_rounds_find(seed):
    random = Random(seed)
    text = "\n".join(f"{name} ::= {expression(random, 3)}" for name in NAMES)
    rules = read_gbnf(Source(text, "the grammar"))
    assert facts_of(rules) == rounds(rules), text


@pytest.mark.parametrize(
    "text",
    [
        "a ::= b - ''\nb ::= 'x'?",
        "a ::= ('x' | '') - (b - '')\nb ::= 'x'?",
        "a ::= c b\nb ::= 'x'? - c\nc ::= 'y'* - 'y'",
        "a ::= (b - 'x') - (b - ('x' | ''))\nb ::= 'x'* | 'yy'",
    ],
)
def test_a_difference_may_be_empty_if_the_empty_text_is_left(text):
    rules = read_w3c(Source(text, "the grammar"))
    for name, facts in facts_of(rules).items():
        assert facts.is_optional == Recogniser(rules, name).accepts(""), name
