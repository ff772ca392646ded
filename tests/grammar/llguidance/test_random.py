"""Random grammars of the dialect without recursion, which a regular expression can say too.

The regular expression is written beside the grammar, so `re` knows the language as the dialect
defines it. What Lark accepts of the translation is a part of that: Lark's lexer takes one reading
only. In grammars whose texts all begin differently it is all of it.
"""

from __future__ import annotations

import itertools
import random
import re
import string
from collections.abc import Callable

import pytest
from support.judges import parses

import cfgguide
from cfgguide.errors import GrammarError

TEXTS = ["".join(letters) for n in range(7) for letters in itertools.product("ab", repeat=n)]
# Counts, and how often a sample has them.
COUNTS = [
    *(("?", (0, 1)), ("*", (0, 3)), ("+", (1, 3)), ("{2}", (2, 2))),
    *(("{1,2}", (1, 2)), ("{,2}", (0, 2)), ("{2,}", (2, 4))),
]
BOUNDED = ("?", "{2}", "{1,2}", "{,2}")


Sampler = Callable[[], str]


class Drawn:
    """A grammar, a regular expression for the same texts, and a source of such texts."""

    def __init__(self, seed: int, letters: str, *, are_different: bool = False) -> None:
        self.choose = random.Random(seed)
        self.are_different = are_different
        self.letters = list(letters)
        self.lines: list[str] = []
        grammar, self.pattern, self.sample = self.expression(3)
        self.text = "\n".join([f"start: {grammar}", *self.lines])

    def expression(self, depth: int) -> tuple[str, str, Sampler]:
        """Return an expression in the dialect, in Python's notation, and a source of texts."""
        kind = self.choose.choice(["leaf"] if depth == 0 else ["row", "choice", "count", "rule"])
        if kind == "leaf":
            return self.leaf()
        count = self.choose.choice([1, 2, 2, 3]) if kind in ("row", "choice") else 1
        grammars, patterns, samplers = zip(
            *(self.expression(depth - 1) for _ in range(count)), strict=True
        )
        if kind == "row":
            joined = " ".join(f"({each})" for each in grammars)
            return joined, "".join(patterns), lambda: "".join(sample() for sample in samplers)
        if kind == "choice":
            pattern = f"(?:{'|'.join(patterns)})"
            return f"({' | '.join(grammars)})", pattern, lambda: self.choose.choice(samplers)()
        if kind == "count":
            return self.counted(grammars[0], patterns[0], samplers[0])
        self.lines.append(f"rule{len(self.lines)}: {grammars[0]}")
        return f"rule{len(self.lines) - 1}", patterns[0], samplers[0]

    def leaf(self) -> tuple[str, str, Sampler]:
        letter = self.choose.choice(self.letters)
        if self.are_different:
            self.letters.remove(letter)
        if self.choose.random() < 0.5:
            return f'"{letter}"', letter, lambda: letter
        return f"/{letter}?/", f"{letter}?", lambda: self.choose.choice(["", letter])

    def counted(self, grammar: str, pattern: str, sample: Sampler) -> tuple[str, str, Sampler]:
        sign, (least, most) = self.choose.choice(COUNTS)
        written = f"(?:{pattern}){{{least},{most if sign in BOUNDED else ''}}}"
        rounds = self.choose.randrange
        return (
            f"({grammar}){sign}",
            written,
            lambda: "".join(sample() for _ in range(rounds(least, most + 1))),
        )


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 240, 40))
def test_what_lark_accepts_is_in_the_language_of_the_dialect(first):
    n_judged = n_right = n_all = 0
    for seed in range(first, first + 40):
        drawn = Drawn(seed, "ab")
        grammar = cfgguide.Grammar.llguidance(drawn.text)
        try:
            cfgguide.index.compile_recognizer(grammar, use_cache=False)
        except GrammarError:
            continue  # LALR(1) cannot decide
        judge = parses(grammar)
        n_judged += 1
        for text in TEXTS:
            is_right = re.fullmatch(drawn.pattern, text) is not None
            if judge(text):
                assert is_right, (drawn.text, text)
                n_right += 1
            n_all += is_right
    assert n_judged
    assert n_right > n_all / 2


@pytest.mark.slow
def test_where_all_texts_differ_lark_accepts_the_whole_language():
    n_judged = 0
    for seed in range(300):
        drawn = Drawn(seed, string.ascii_letters, are_different=True)
        grammar = cfgguide.Grammar.llguidance(drawn.text)
        try:
            cfgguide.index.compile_recognizer(grammar, use_cache=False)
        except GrammarError:
            continue  # LALR(1) cannot decide, say between a repetition and one inside of it
        judge = parses(grammar)
        n_judged += 1
        for _ in range(30):
            text = drawn.sample()
            assert re.fullmatch(drawn.pattern, text)
            assert judge(text), (drawn.text, text)
    assert n_judged > 200
