"""The fewest tokens that spell a text are those of trying all ways to cut it."""

from __future__ import annotations

import functools
import random

from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.guide.fewest_tokens import BLOCK, FewestTokens

TOKENS = [b"a", b"ab", b"aba", b"bb", b"c", b"cab", b"bcab", None]


@functools.cache
def least(text: bytes) -> float:
    if not text:
        return 0
    cuts = [token for token in TOKENS if token and text.startswith(token)]
    return min((1 + least(text[len(token) :]) for token in cuts), default=float("inf"))


def test_no_spelling_is_shorter():
    vocabulary, rng = Vocabulary(TOKENS, eos_token_ids=7), random.Random(0)
    fewest = FewestTokens(vocabulary)
    for _ in range(300):
        text = bytes(rng.choices(b"abc", k=rng.randrange(12)))
        tokens = fewest.of(text)
        assert (float("inf") if tokens is None else len(tokens)) == least(text)
        if tokens is not None:
            assert vocabulary.spell(tokens) == text


def test_long_texts_are_spelled_too():
    fewest = FewestTokens(Vocabulary([b"x", b"xxx", None], eos_token_ids=2))
    assert fewest.of(b"x" * (3 * BLOCK)) is not None
    assert len(fewest.of(b"x" * (3 * BLOCK))) <= BLOCK + 2 * 3
    in_threes = FewestTokens(Vocabulary([b"xyz", None], eos_token_ids=1))
    assert in_threes.of(b"xyz" * BLOCK) == (0,) * BLOCK
    assert in_threes.of(b"xyz" * BLOCK + b"x") is None
