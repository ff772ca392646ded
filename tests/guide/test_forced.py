"""Forced text: exactly what every sentence goes on with, and tokens that nothing can change.

The oracle of the bytes knows all sentences of a finite grammar.
"""

from __future__ import annotations

import functools
import random
import warnings

import pytest
from support.small_tokenizers import standard_library_tokenizer, standard_library_vocabulary
from support.tiny_models import small_tokenizer

import cfgguide
from cfgguide.base.limits import work_of_thread

#: A grammar, all its sentences, and tokens beside the single bytes.
FINITE = {
    "one name": (
        'start: "{" "name:" ("1" | "2") "}"',
        ["{name:1}", "{name:2}"],
        ["na", "me:", "{n"],
    ),
    "a shared beginning": (
        'start: "[" ("one" | "once" | "only") "]"',
        ["[one]", "[once]", "[only]"],
        ["[on", "ce]", "ly"],
    ),
    "it may end": ('start: "ab" ["cd"]', ["ab", "abcd"], ["abc", "bcd"]),
    "parts of characters": ('start: "é" | "è"', ["é", "è"], []),
}


@functools.cache
def index_of(name: str, *, with_bytes: bool = True) -> cfgguide.Index:
    grammar, _, pieces = FINITE[name]
    single = cfgguide.Vocabulary.of_bytes().tokens[:256] if with_bytes else []
    tokens = [*single, *(piece.encode() for piece in pieces), None]
    vocabulary = cfgguide.Vocabulary(tokens, eos_token_ids=len(tokens) - 1)
    with warnings.catch_warnings(action="ignore"):
        return cfgguide.compile(cfgguide.Grammar(grammar), vocabulary)


def shared_beginning(texts: list[bytes]) -> bytes:
    """The longest text that all of some begin with."""
    shortest = min(texts, key=len)
    lengths = range(len(shortest), -1, -1)
    return next(
        shortest[:length]
        for length in lengths
        if all(text.startswith(shortest[:length]) for text in texts)
    )


@pytest.mark.parametrize("name", FINITE)
def test_forced_bytes_are_what_all_sentences_go_on_with(name):
    index, rng = index_of(name), random.Random(0)
    sentences = [sentence.encode() for sentence in FINITE[name][1]]
    for _ in range(30):
        guide = cfgguide.Guide(index)
        while not guide.is_finished:
            rests = [s[len(guide.text) :] for s in sentences if s.startswith(guide.text)]
            assert guide.forced_bytes() == shared_beginning(rests)
            guide.advance(rng.choice(guide.allowed_token_ids().tolist()))
        assert guide.forced_bytes() == b""


def test_forced_bytes_where_tokens_do_not_end_at_every_byte():
    """Between `ab` and `abc` lies no choice, since no token ends there."""
    tokens = [b"x", b"abc", b"abd", b"ab", b"ce", None]
    vocabulary = cfgguide.Vocabulary(tokens, eos_token_ids=5)
    with warnings.catch_warnings(action="ignore"):
        index = cfgguide.compile(cfgguide.Grammar('start: "abc" | "abd" "x" | "abce"'), vocabulary)
        one = cfgguide.compile(cfgguide.Grammar('start: "abce"'), vocabulary)
    assert cfgguide.Guide(index).forced_bytes() == b"ab"
    assert cfgguide.Guide(one).forced_bytes() == b"abce"


@pytest.mark.slow
def test_text_without_end_is_not_looked_at_for_ever():
    grammar = cfgguide.Grammar('start: "a"~1100')
    index = cfgguide.compile(grammar, cfgguide.Vocabulary([b"a", b"aa", None], eos_token_ids=2))
    assert cfgguide.Guide(index).forced_bytes() == b"a" * 1000


@pytest.mark.slow
def test_text_with_many_readings_is_looked_at_as_long_as_others():
    grammar = cfgguide.Grammar.gbnf("""
    root ::= b? | "ab"
    a ::= [ab] | b+ [ -~]{0,40} .
    b ::= b{100} a a | "é"
    """)
    vocabulary = standard_library_vocabulary()
    guide = cfgguide.Guide(cfgguide.compile(grammar, vocabulary, use_cache=False))
    for byte in b"\xc3\xa9\xc3":
        guide.advance(vocabulary.tokens.index(bytes([byte])))
    before = work_of_thread()
    assert guide.forced_bytes().startswith(b"\xa9\xc3\xa9")
    assert work_of_thread() - before < 100_000


@pytest.mark.parametrize("tail", ["1", "x", "abc", " import", "\n", "()", "日"])
def test_forced_tokens_are_canonical_whatever_follows(tail):
    tokenizer, vocabulary = standard_library_tokenizer(), standard_library_vocabulary()
    text = "def my_function(self, arguments): return "
    index = cfgguide.compile(cfgguide.Grammar(f'start: "{text}" /[^?]+/'), vocabulary)
    guide = cfgguide.Guide(index)
    forced = guide.forced_token_ids(tokenizer)
    assert len(forced) > 5
    whole = tokenizer.encode(text + tail, add_special_tokens=False).ids
    assert tuple(whole[: len(forced)]) == forced
    for token_id in forced:
        guide.advance(token_id)
    assert text.encode().startswith(guide.text)


def test_forced_tokens_go_on_from_those_before():
    """Of `return` only `turn` is left: no token of it is the tokenizer's own."""
    index = cfgguide.compile(cfgguide.Grammar('start: "x = return(1)"'), small_tokenizer())
    guide = cfgguide.Guide(index)
    for token_id in small_tokenizer().encode("x = re"):
        guide.advance(token_id)
    assert guide.forced_bytes() == b"turn(1)"
    for token_id in guide.forced_token_ids(small_tokenizer()):
        guide.advance(token_id)
    assert b"x = return(1)".startswith(guide.text)
    assert len(guide.text) > len("x = re")


def test_both_kinds_of_tokenizers_force_the_same():
    index = cfgguide.compile(cfgguide.Grammar('start: "return (1, 2)" /x/*'), small_tokenizer())
    guide = cfgguide.Guide(index)
    backend = small_tokenizer().backend_tokenizer
    assert guide.forced_token_ids(small_tokenizer()) == guide.forced_token_ids(backend) != ()
