"""Patterns: which are deterministic, and that ``re`` prefers the longest match of those made anew.

That is what Lark's dynamic lexer asks for: all of each text of the pattern, as `re.match` reads it.
"""

from __future__ import annotations

import itertools
import re
from random import Random

import pytest

from cfgguide.grammar.notations.character_patterns import (
    Pattern,
    either,
    in_row,
    of_text,
    one_of_characters,
    times,
)
from cfgguide.grammar.notations.longest import automaton_of, from_automaton, longest_first

WORDS = ["".join(word) for n in range(7) for word in itertools.product("ab", repeat=n)]

DETERMINISTIC = [
    ("a", True), ("ab|b", True), ("a|ab", False), ("a?b", True), ("a?ab", False),
    ("(?:ab)*c", True), ("(?:ab)*a", False), ("(?:a*b)+", True), ("(?:a+)+", False),
    ("(?:ab?)+", True), ("(?:ab?)+b", False), ("a{2,4}b", True), ("a{2,4}a", False),
    ("a{3}a", True), ("(?:a?b){2,3}", True),
]  # fmt: skip


def pattern_of(written: str) -> Pattern:
    """Return the pattern that Python reads in the same way; it has letters, groups and counts."""
    options = []
    for option in divided(written):
        parts, at = list[Pattern](), 0
        while at < len(option):
            if option.startswith("(?:", at):
                end = closing(option, at)
                part, at = pattern_of(option[at + 3 : end]), end + 1
            else:
                part, at = of_text(option[at]), at + 1
            count = re.compile(r"[*+?]|\{(\d+)(,?)(\d*)\}").match(option, at)
            if count:
                at = count.end()
                least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(
                    count[0], (int(count[1] or 0), int(count[3] or count[1] or 0))
                )
                part = times(part, least, most)
            parts.append(part)
        options.append(in_row(parts))
    return either(options) if len(options) > 1 else options[0]


def divided(written: str) -> list[str]:
    depth, found = 0, [""]
    for each in written:
        depth += (each == "(") - (each == ")")
        if each == "|" and not depth:
            found.append("")
        else:
            found[-1] += each
    return found


def closing(written: str, at: int) -> int:
    depth = 0
    for place in range(at, len(written)):
        depth += (written[place] == "(") - (written[place] == ")")
        if not depth:
            return place
    raise ValueError(written)


@pytest.mark.parametrize(("written", "is_deterministic"), DETERMINISTIC)
def test_a_pattern_is_deterministic_if_the_next_character_says_how_to_go_on(
    written, is_deterministic
):
    pattern = pattern_of(written)
    assert pattern.written == written
    assert pattern.is_deterministic == is_deterministic


def random_pattern(random: Random, depth: int) -> Pattern:
    if depth == 0:
        return one_of_characters(random.choice([((97, 97),), ((98, 98),), ((97, 98),)]))
    kind = random.random()
    parts = [random_pattern(random, depth - 1) for _ in range(2)]
    if kind < 0.4:
        optional = [times(parts[0], 0, random.choice([1, 2, None])), parts[1]]
        return in_row(random.choice([parts, optional, optional[::-1]]))
    if kind < 0.7:
        return either(parts)
    return times(parts[0], random.randint(1, 2), random.choice([2, 3, None]))


@pytest.mark.parametrize("seed", range(150))
def test_patterns_made_anew_match_the_same_texts_and_the_longest_first(seed):
    pattern = random_pattern(Random(seed), 3)
    expected = {word for word in WORDS if re.fullmatch(pattern.written, word)}
    automaton = automaton_of(pattern)
    assert automaton is not None
    for found in (longest_first(pattern), from_automaton(automaton)):
        if found is None:  # too large
            continue
        compiled = re.compile(found.written)
        for word in WORDS:
            ends = [n for n in range(1, len(word) + 1) if word[:n] in expected]
            match = compiled.match(word)
            assert (match and match.end()) == (max(ends) if ends else None)


def test_nearly_all_small_patterns_can_be_made_anew():
    patterns = [random_pattern(Random(seed), 3) for seed in range(150)]
    assert sum(longest_first(pattern) is None for pattern in patterns) < 5
