"""Ordered alternations in whole texts; `re` judges, of the same alternatives in one expression."""

from __future__ import annotations

import random
import re
from itertools import product

import pytest

from cfgguide.automata.alternation import Alternations, WholeText
from cfgguide.automata.determinize import fsm_of_pattern

TABLE = [
    ["a|ab", "ab+", "b"],
    ["ab+?", "[ab]+a", "."],
    ["a(?!b)", "ab(?=a)", "[ab]"],
    ["(?<=a)b+", "(?<!b)a+(?=b|$)", "."],
    [r"\ba+", r"b+\b", r"\Bab", "."],
    ["^a", "a$", "é+(?!a)", "[aé]", "b"],
    ["a(?!a(?=a*b)a)", "a+b", "a(?=(?!ab)a)", "."],
    ["(?:a|b)*?é", "(?:a|ab)(?:b|é)?", "b"],
]


def alternations_of(patterns: list[str]) -> tuple[Alternations, tuple[str, ...]]:
    fsms = {f"T{n}": fsm_of_pattern(each, name=f"T{n}") for n, each in enumerate(patterns)}
    return Alternations(fsms.__getitem__), tuple(fsms)


@pytest.mark.parametrize("patterns", TABLE, ids=" | ".join)
def test_the_first_alternative_that_matches_wins(patterns):
    alternations, names = alternations_of(patterns)
    joined = re.compile("|".join(f"(?P<T{n}>{each})" for n, each in enumerate(patterns)))
    rng = random.Random(0)
    texts = ["".join(each) for n in range(6) for each in product("abé", repeat=n)]
    texts += ["".join(rng.choices("aaaabé", k=100)) for _ in range(20)]
    for text in texts:
        whole = WholeText(text)
        for position in range(len(text)):
            match = joined.match(text, position)
            expected = match and (str(match.lastgroup), match.end())
            assert alternations.find(names, whole, position) == expected, (text, position)


def test_what_was_forgotten_is_made_again():
    """What the last letters were is the state: there are more of them than are kept."""
    pattern = "[ab]*a[ab]{13}c"
    alternations, names = alternations_of([pattern])
    text = "".join(random.Random(0).choices("ab", k=60_000))
    assert alternations.find(names, WholeText(text), 0) is None
    assert alternations.find(names, WholeText(f"{text}a{text[:13]}c{text}"), 0) == ("T0", 60_015)


def test_positions_are_those_of_characters():
    text = WholeText("aé日𝄞b")
    assert [text.offset(position) for position in range(6)] == [0, 1, 3, 6, 10, 11]
    assert [text.end_of(offset) for offset in (0, 1, 3, 6, 10, 11)] == [*range(6)]
