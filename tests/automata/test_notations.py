"""Readers of regular expressions, each against the program whose notation it is."""

from __future__ import annotations

import itertools
import random
import re

import pytest
from support.pattern_trees import matches_whole

from cfgguide.automata.python_notation import read
from cfgguide.errors import LimitError, PatternError

_FLAGS = (0, 0, re.ASCII, re.IGNORECASE, re.MULTILINE, re.DOTALL, re.IGNORECASE | re.ASCII)
KELVIN, LONG_S = "\N{KELVIN SIGN}", "\N{LATIN SMALL LETTER LONG S}"
_ATOMS = (
    *("a", "b", "K", "s", "é", ".", "_", "ab", "", r"\n", " ", KELVIN, LONG_S),
    *(r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", "[ab]", "[^ab]", r"[\W1]", r"[^\d\n]"),
    *("[a-k]", "[^K]"),
)
_FIXED = ("a", "ab", r"\w", "[^a]b", r"\ba", "^", "^a", "(?:a|b)", "$", r"(?=a)", "(?<!a)b", "a{2}")
_COUNTS = ("*", "+", "?", "{2}", "{1,2}", "{,2}", "{2,}", "*?", "+?", "??", "{0}")
_GROUPS = ("(", "(?:", "(?P<n%d>", "(?i:", "(?-i:", "(?s:", "(?m:", "(?a:", "(?s-i:")
_ANCHORS = ("^", "$", r"\A", r"\Z", r"\b", r"\B")
_CHARACTERS = f"ab1K_ \né{KELVIN}{LONG_S}\N{ARABIC-INDIC DIGIT SEVEN}"


class _Patterns:
    """Random patterns of Python."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self._n_groups = 0

    def pattern(self, depth: int) -> str:
        rng = self.rng
        if depth == 0:
            return rng.choice(_ATOMS)
        kind, inner = rng.randrange(12), self.pattern(depth - 1)
        if kind < 4:
            return inner + self.pattern(depth - 1)
        if kind < 6:
            return f"{self._group()}{inner}|{self.pattern(depth - 1)})"
        if kind < 8:
            return f"{self._group()}{inner}){rng.choice(_COUNTS)}"
        if kind == 8:
            return f"(?{rng.choice('=!')}{inner})"
        if kind == 9:
            return f"(?<{rng.choice('=!')}{rng.choice(_FIXED)})" + inner
        return rng.choice(_ANCHORS) + inner if kind == 10 else inner + rng.choice(_ANCHORS)

    def text(self) -> str:
        return "".join(self.rng.choices(_CHARACTERS, k=self.rng.randrange(6)))

    def _group(self) -> str:
        self._n_groups += 1
        group = self.rng.choice(_GROUPS)
        return group % self._n_groups if "%" in group else group


def _check_python(n_patterns: int, seed: int) -> None:
    patterns = _Patterns(seed)
    short = ["".join(each) for n in range(4) for each in itertools.product("aK\n ", repeat=n)]
    for _ in range(n_patterns):
        pattern, flags = patterns.pattern(3), patterns.rng.choice(_FLAGS)
        match = re.compile(pattern, flags).fullmatch
        nodes = read(pattern, flags)
        for text in [*patterns.rng.sample(short, 15), *(patterns.text() for _ in range(10))]:
            assert matches_whole(nodes, text) == bool(match(text)), (pattern, flags, text)


def test_patterns_of_python_match_what_re_matches():
    _check_python(500, seed=0)


@pytest.mark.slow
def test_twenty_thousand_patterns_of_python_match_what_re_matches():
    _check_python(20_000, seed=1)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"[\1](a)\1", "a backreference at position 7, which .* write out the texts"),
        ("(?P<x>a)(?P=x)", "a backreference at position 8,"),
        ("a(?>b)", "an atomic group at position 1,"),
        ("[*+]b{1,2}+", "a possessive quantifier at position 9,"),
        ("(a)?(?(1)b|c)", "a conditional group at position 4,"),
        ("a(", "unterminated subpattern at position 1"),
        ("(?<=a*)b", "look-behind requires fixed-width"),
    ],
)
def test_what_python_or_no_automaton_reads_is_refused(pattern, message):
    with pytest.raises(PatternError, match=message):
        read(pattern)


def test_groups_nested_too_deeply_are_refused():
    with pytest.raises(LimitError, match="nests groups too deeply"):
        read("(" * 5000 + ")" * 5000)
