"""Patterns of ECMA-262 against `re.search`, where both notations mean the same."""

from __future__ import annotations

import itertools
import random
import re

import pytest

from cfgguide.automata.ecma_patterns import pattern_language
from cfgguide.automata.string_formats import format_language
from cfgguide.errors import SchemaError

_ALPHABET = "ab1- "


def _random_pattern(rng: random.Random, depth: int) -> str:
    if depth == 0:
        return rng.choice(["a", "b", "1", "-", ".", "[ab]", "[^a]", r"\w", r"\d", r"\W", "ab", ""])
    kind = rng.randrange(11)
    inner = _random_pattern(rng, depth - 1)
    if kind < 3:
        return inner + _random_pattern(rng, depth - 1)
    if kind == 3:
        return f"(?:{inner}|{_random_pattern(rng, depth - 1)})"
    if kind == 4:
        return f"(?:{inner}){rng.choice(['*', '+', '?', '{1,2}'])}"
    if kind == 5:
        return f"(?{rng.choice('=!')}{inner})"
    if kind == 6:
        fixed = rng.choice(["a", "ab", r"\w", "[^a]1", r"\ba", "^", "^a"])
        return f"(?<{rng.choice('=!')}{fixed})"
    if kind == 7:
        return rng.choice([r"\b", r"\B"]) + inner
    if kind == 8:
        return inner + rng.choice([r"\b", "$", r"\B"])
    return rng.choice(["^", ""]) + inner


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_random_patterns_with_looks(seed: int) -> None:
    rng = random.Random(seed)
    texts = ["".join(each) for n in range(5) for each in itertools.product(_ALPHABET, repeat=n)]
    n_read = 0
    for _ in range(60):
        pattern = _random_pattern(rng, 3)
        try:
            language = pattern_language(pattern)
        except SchemaError:
            continue  # mostly a quantifier after nothing
        n_read += 1
        find = re.compile(pattern, re.ASCII).search
        for text in rng.sample(texts, 120):
            if not text and r"\B" in pattern:
                continue  # Python before 3.14 has its own idea of that
            assert language.accepts(text) == bool(find(text)), (pattern, text)
    assert n_read > 40


@pytest.mark.parametrize(
    ("pattern", "accepted", "refused"),
    [
        (r"^(?!.*foo)[a-z]+$", ["bar"], ["afoo", "foo"]),
        (r"^(?=.*[A-Z])(?=.*\d).{4,}$", ["aB1x", "1Aaaa"], ["abcd", "A1"]),
        (r"^(?!(?:con|prn)\b)\w[\w.]*$", ["cone", "a.con"], ["con", "prn.txt"]),
        (r"\bfoo\b", ["a foo b", "foo"], ["afoo", "foob"]),
        (r"(?<!-)end$", ["the end"], ["the-end"]),
        (r"^\w+(?<!_)$", ["a_b"], ["a_"]),
        (r"^[\w-\.]+@[a-\d]$", ["a-b.c@a", "x@-", "x@1"], ["@a", "x@b"]),
        (r"^[a&&b~~c||d]$", ["&", "~", "|", "a", "d"], ["e"]),
        (r"(?i)^abc$", ["aBc", "ABC"], ["abd"]),
        (r"^a(?i:b)c$", ["abc", "aBc"], ["Abc"]),
        (r"(?s)^a.b$", ["a\nb"], ["ab"]),
        (r"(?m)^b$", ["b", "a\nb\nc"], ["ab"]),
        (r"^(?![^a]*$)", ["bab"], ["bb", ""]),
        (r"(?=a)(?=.b)", ["xabx"], ["xaax"]),
        (r"^(?:(?!--).)*$", ["a-b-c"], ["a--b"]),
    ],
)
def test_texts_of_a_pattern(pattern: str, accepted: list[str], refused: list[str]) -> None:
    language = pattern_language(pattern)
    assert all(language.accepts(text) for text in accepted)
    assert not any(language.accepts(text) for text in refused)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"(a)\1", "backreference"),
        (r"(?x)a b", "flag x"),
        (r"^(?x: a)$", "flag x"),
        (r"(?<=a(?=b))c", "inside a look-behind"),
        (r"(?<=\bfoo)bar", "inside a look-behind"),
        (r"a\Z", "ECMA-262 does not know"),
        ("(a", "cannot be read"),
        ("(?u)a", "cannot be read"),
    ],
)
def test_what_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        pattern_language(pattern)


def test_the_format_regex_has_only_what_python_reads() -> None:
    language = format_language("regex")
    rng = random.Random(0)
    for _ in range(300):
        state, written = language.start, ""
        while state not in language.accepting or rng.random() < 0.9:
            target = rng.choice([each for each in language.moves[state] if each])
            low, high = rng.choice(language.moves[state][target])
            written, state = written + chr(rng.randint(low, min(high, low + 60))), target
            if len(written) > 40:
                break
        if state in language.accepting:
            re.compile(written)


@pytest.mark.parametrize(
    ("text", "is_known"),
    [
        (r"^[a-z0-9-_]+(?:\.[\w-]{2,10})*?$", True),
        (r"^(?!(?:con|prn)$)\S+", True),
        ("(((a)))", True),
        ("((((a))))", False),  # nested too deeply
        ("a{3,2}", False),
        ("[z-a]", False),
        ("a**", False),
        ("(", False),
        (r"\Z", False),
        (r"(a)\1", False),
    ],
)
def test_texts_of_the_format_regex(text: str, is_known: bool) -> None:
    assert format_language("regex").accepts(text) == is_known
