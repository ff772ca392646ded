"""Terminals that count far: as quick as others to compile, and exact at their bounds."""

from __future__ import annotations

import dataclasses
import functools

import lark
import numpy as np
import pytest

import cfgguide
from cfgguide.automata.dfa import DEAD
from cfgguide.base.limits import Limits
from cfgguide.engine.index.index import Index
from cfgguide.engine.lexer.reachability import reaching

#: The bytes that have no token in SmolLM2's vocabulary.
MISSING = {0x04, 0x06, 0x13, 0x14, 0x16, 0x1D, 0xC0, 0xC1, 0xF1, 0xF2, *range(0xF5, 0x100)}
TOKENS = [bytes([byte]) for byte in range(256) if byte not in MISSING]
VOCABULARY = cfgguide.Vocabulary(
    [*TOKENS, b"ab", b"the", "é,".encode(), b"</think>", None], eos_token_ids=len(TOKENS) + 4
)
JSON = 'json: "{" [STRING (":" STRING)*] "}"\nSTRING: /"[^"<>]*"/\n'

#: A grammar, and texts that are sentences or not: Lark says which.
CASES = {
    "words": (
        'start: W ("," W)*\nW: /\\w{1,100}/',
        ["x" * 100 + ",é", "é" * 100, "x" * 101, "é" * 101, "a," + "x" * 101],
    ),
    "any character": (
        'start: "a" TEXT\nTEXT: /.{1,2000}/',
        ["a" * 2001, "a" + "é" * 2000, "a" * 2002, "a" + "é" * 2001, "a" + "b" * 9 + "\n"],
    ),
    "thinking": (
        'start: "<think>" THINK "</think>" json\nTHINK: /[^<]{1,2000}/\n' + JSON,
        [f"<think>{'é' * n}</think>{{}}" for n in (1, 1999, 2000, 2001)],
    ),
    "thinking that ends itself": (
        "start: THINK json\nTHINK: /<think>[\\s\\S]{0,2000}?<\\/think>/\n" + JSON,
        [f"<think>{'</' * n}</think>{{}}" for n in (0, 1000, 1001)],
    ),
    "rounds": (
        'start: "(" W ")"\nW: /(\\w+[,;.]? ?){1,100}/',
        [f"({'word, ' * n})" for n in (1, 100)] + [f"({'x' * 150})", f"({',x'})"],
    ),
}


#: Those for strangers, but for the clock: one of the grammars takes 5 seconds.
LIMITS = dataclasses.replace(Limits.for_strangers(), max_seconds=120.0)


@functools.cache
def _index(text: str) -> Index:
    return cfgguide.compile(cfgguide.Grammar(text), VOCABULARY, limits=LIMITS, use_cache=False)


@pytest.mark.few(3)
@pytest.mark.parametrize(("text", "samples"), CASES.values(), ids=CASES)
def test_a_terminal_that_counts_reads_what_lark_reads(text, samples):
    judge, recognizer = lark.Lark(text, parser="lalr"), _index(text).machine.recognizer
    verdicts = []
    for sample in samples:
        try:
            judge.parse(sample)
            verdicts.append(True)
        except lark.UnexpectedInput:
            verdicts.append(False)
        after = recognizer.advance(recognizer.initial, sample.encode())
        assert (after is not None and recognizer.is_sentence(after)) == verdicts[-1], sample[:20]
    assert {*verdicts} == {True, False}


@pytest.mark.parametrize("n", [97, 98, 99, 100])
def test_a_mask_has_the_tokens_that_the_count_has_room_for(n):
    index = _index(CASES["words"][0])
    configuration = index.machine.read(index.machine.initial, ("é" * n).encode())
    allowed = {VOCABULARY.tokens[i] for i in index.subset(configuration).token_ids().tolist()}
    assert {b"a", b"ab", b"the"} & allowed == {b"a", b"ab", b"the"} - {
        each for each in (b"a", b"ab", b"the") if n + len(each) > 100
    }
    assert ("é,".encode() in allowed) == (n < 100)
    assert {b",", None} <= allowed


@pytest.mark.parametrize("seed", range(20))
def test_a_state_has_the_goals_of_all_states_that_it_leads_to(seed):
    rng = np.random.default_rng(seed)
    n_states, n_goals = int(rng.integers(2, 12)), int(rng.integers(1, 20))
    moves = rng.integers(0, n_states, (n_states, 2)) * (rng.random((n_states, 2)) < 0.6)
    moves[DEAD] = DEAD
    goals, within = rng.random((n_states, n_goals)) < 0.1, rng.random(n_states) < 0.8
    found = reaching([moves], goals, within=within)
    for state in range(n_states):
        seen = {state} if state != DEAD and within[state] else set()
        for here in (pending := list(seen)):  # grows while it is walked
            after = {each for each in moves[here].tolist() if each != DEAD and within[each]}
            pending += after - seen
            seen |= after
        assert found[state].tolist() == goals[sorted(seen)].any(axis=0).tolist()


@pytest.mark.slow
def test_a_counted_pattern_before_a_value_may_begin_like_the_value():
    """After the first `</think>`, `{` may be more of the text, or the value."""
    grammar = cfgguide.concat(
        cfgguide.regex(r"<think>[\s\S]{0,2000}</think>"),
        cfgguide.json_schema({"type": "object", "maxProperties": 0}),
    )
    index = cfgguide.compile(grammar, VOCABULARY, limits=LIMITS, use_cache=False)
    for text, is_sentence in [
        ("<think></think>{}", True),
        (f"<think>{'é' * 2000}</think>{{}}", True),
        (f"<think>{'é' * 2001}</think>{{}}", False),
        ("<think>{}</think></think> {}", True),
        ("<think></think>{}</think>", False),
    ]:
        after = index.machine.read(index.machine.initial, text.encode())
        assert (after is not None and index.machine.is_sentence(after)) == is_sentence, text[:30]
