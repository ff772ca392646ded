"""Loops take the subtrees below which every token goes on with the lexeme, as `re` has it."""

from __future__ import annotations

import functools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cfgguide
from cfgguide.mask.loops import NO_LOOP, Loops
from cfgguide.recognizer.recognizer import Recognizer

PIECES = st.sampled_from([*'abz0-"', "é", "ß", "€", "日", "𐐀", "\u0301"])
TEXTS = st.lists(PIECES, max_size=4).map("".join).map(str.encode)
CUT = st.tuples(TEXTS, st.integers(1, 3)).map(lambda pair: pair[0][: -pair[1]])
TOKENS = st.lists(TEXTS | CUT, max_size=30)

PATTERNS = [
    r"[a-z]+",
    r"\w+",
    r"[a-zé日]+",
    r"[^\"-]+",
    r"[a-z\u0301\U00010400]+",
    r"[^\x00-\x7f]*[a-z]+",
]


def goes_on(pattern: str, below: bytes) -> bool:
    """Return whether whole characters go on with a lexeme that has begun with "aa"."""
    try:
        text = below.decode()
    except UnicodeDecodeError:
        return False
    return re.fullmatch(pattern, "aa" + text) is not None


@pytest.mark.parametrize("pattern", PATTERNS)
@settings(deadline=None)
@given(tokens=TOKENS)
def test_a_loop_takes_what_goes_on_with_its_lexeme(pattern: str, tokens: list[bytes]) -> None:
    tokens = [b"a", *tokens]
    vocabulary = cfgguide.Vocabulary([*tokens, None], eos_token_ids=len(tokens))
    recognizer = recognizer_of(pattern)
    trie = vocabulary.trie
    loops = Loops.of(recognizer.scanner, trie.packed)
    after = recognizer.advance(recognizer.initial, b"aa")
    assert after is not None
    loop = loops.loop_of_state[after.hypotheses[0].scanner_state]
    assert loop != NO_LOOP
    prefixes = sorted({text[:end] for text in tokens for end in range(1, len(text) + 1)})
    prefixes.sort(key=len)  # level by level, as the nodes stand
    assert len(prefixes) == len(loops.takes)
    for prefix, takes in zip(prefixes, loops.takes.tolist(), strict=True):
        below = [text[len(prefix) :] for text in tokens if text.startswith(prefix)]
        assert bool(takes >> loop & 1) == all(goes_on(pattern, text) for text in below), prefix


@functools.cache
def recognizer_of(pattern: str) -> Recognizer:
    grammar = cfgguide.Grammar(f"start: A\nA: /{pattern}/")
    vocabulary = cfgguide.Vocabulary([b"a", None], eos_token_ids=1)
    return cfgguide.compile(grammar, vocabulary, use_cache=False).recognizer


def test_a_lexeme_that_cannot_go_round_has_no_loop() -> None:
    recognizer = recognizer_of("[a-z]{9}")
    trie = cfgguide.Vocabulary([b"a", b"ab", None], eos_token_ids=2).trie
    loops = Loops.of(recognizer.scanner, trie.packed)
    assert (loops.loop_of_state == NO_LOOP).all()
    assert not np.any(loops.takes)
