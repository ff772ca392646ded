"""What a grammar may cost is an argument, and exceeding it is an error that names it."""

from __future__ import annotations

import time
from itertools import count

import pytest

import cfgguide
from cfgguide import Grammar, Limits
from cfgguide.base import limits
from cfgguide.base.collector import collector_off
from cfgguide.errors import LimitError, SchemaError
from cfgguide.index import compile_recognizer

WORDS = "start: (NAME | " + " | ".join(f'"word{i}"' for i in range(50)) + ")+\nNAME: /[a-z]+\\b/"
# What must match ahead is beyond what is known at once, and what is tried: 77 letters of rules.
AHEAD = """start: A x "b"
x: "a" | "a" x "c"
A: /a(?=(?:[ac]{7})+b)(?=(?:[ac]{11})+b)/"""

EXCEEDED = {
    "max_nesting": ("start: /" + "(" * 20 + "a" + ")" * 20 + "/", 10, "terminal __ANON_0"),
    "max_nfa_states": ("start: A\nA: /(a|b|ab)*c{1,50000}/", 1000, "terminal A"),
    "max_fsm_states": ("start: A\nA: /(a|b)*a(a|b){9}/", 100, "terminal A"),
    "max_scanner_states": (WORDS, 20, "the union of terminals"),
    "max_pairs": (AHEAD, 20, "deciding what can follow"),
    "max_seconds": (WORDS, 1e-9, "compiling"),
}


@pytest.mark.parametrize(("name", "case"), EXCEEDED.items(), ids=EXCEEDED.keys())
def test_a_limit_that_is_exceeded_is_named(name, case):
    grammar, limit, who = case
    with pytest.raises(LimitError) as caught:
        compile_recognizer(Grammar(grammar), limits=Limits(**{name: limit}))
    message = str(caught.value)
    assert message.startswith(f"[limit] {who} ")
    assert f"({name})" in message
    assert message.endswith("or raise the limit")


@pytest.mark.parametrize("name", ["max_scanner_states", "max_pairs", "max_seconds"])
def test_what_exceeds_a_limit_is_usable_without_it(name):
    assert compile_recognizer(Grammar(EXCEEDED[name][0])).scanner.n_states > 20


def test_the_limits_hold_with_a_vocabulary_too():
    vocabulary = cfgguide.Vocabulary([b"a", b"b", b"c", b"!", None], eos_token_ids=4)
    grammar = Grammar(AHEAD.replace('"b"', '"b" ("!" | "?")'))
    with pytest.raises(LimitError, match="max_pairs"):
        cfgguide.compile(grammar, vocabulary, limits=Limits(max_pairs=3))


def test_only_compiling_is_timed(monkeypatch):
    vocabulary = cfgguide.Vocabulary.of_bytes()
    grammar = Grammar('start: "a" start "b" | "(" start ")" | NAME\nNAME: /[c-z]+/')
    guide = cfgguide.Guide(cfgguide.compile(grammar, vocabulary, limits=Limits(max_seconds=60)))
    monkeypatch.setattr("cfgguide.base.limits.time.monotonic", lambda: 1e12)
    for byte in b"a(a(xyz)b)b":
        guide.advance(byte)  # asks what nobody has asked before
    assert guide.is_accepting


#: After an x, so many characters apart, letters have to come that cannot: no text comes to an end.
FAR_AHEAD = r"x(?=(?:.{5})*a)(?=(?:.{11})*b)(?=(?:.{13})*c)[e-z]*"


def test_a_mask_has_limits_of_its_own(monkeypatch):
    vocabulary = cfgguide.Vocabulary.of_bytes()
    index = cfgguide.compile(cfgguide.regex(f"y|{FAR_AHEAD}"), vocabulary, use_cache=False)
    other = cfgguide.compile(cfgguide.regex("yz|xa?"), vocabulary, use_cache=False)
    with monkeypatch.context() as patch:
        patch.setattr(
            "cfgguide.base.limits.time.thread_time", count().__next__
        )  # a second a question
        with pytest.raises(LimitError, match=r"a step takes more than 5 seconds \(max_seconds\)"):
            cfgguide.Guide(index).allowed_token_ids()
        assert list(cfgguide.Guide(other).allowed_token_ids()) == [ord("x"), ord("y")]
    guide = cfgguide.Guide(index)
    guide.advance(ord("y"))  # what does not ask goes on
    assert guide.is_accepting


@pytest.mark.parametrize("value", [0, -1, "many", None, True, float("nan")])
def test_a_limit_is_a_number_above_zero(value):
    with pytest.raises(LimitError, match="max_pairs must be a number above 0"):
        Limits(max_pairs=value)


def test_hundreds_of_keywords_beside_a_name_are_no_trouble():
    keywords = " | ".join(f'"k{i}ey"' for i in range(300))
    grammar = f'start: ({keywords} | /[a-z0-9]+/)+\n%ignore " "'
    assert compile_recognizer(Grammar(grammar)).parse_table.n_terminals > 300


def test_terminals_are_not_compared_in_time_without_bound():
    """Lark's own comparison would make automata of some 30,000 states here, in minutes."""
    grammar = "start: (A | B)+\nA: /(a|b)*a(a|b){14}/\nB: /[ab]+/"
    with pytest.raises(LimitError, match="max_fsm_states"):
        compile_recognizer(Grammar(grammar), limits=Limits(max_fsm_states=2000, max_seconds=60))


def test_too_many_ways_to_read_a_text_are_an_error_that_leaves_the_guide_as_it_was():
    """Each a of the text may or may not have a b behind it: nobody knows for five characters."""
    grammar = Grammar("start: A+\nA: /(?:a(?=.{5}b)c?|ad?)+/")
    vocabulary = cfgguide.Vocabulary([b"a", b"b", b"c", b"d", b"aa", None], eos_token_ids=5)
    guide = cfgguide.Guide(cfgguide.compile(grammar, vocabulary, limits=Limits(max_hypotheses=6)))
    with pytest.raises(LimitError, match="max_hypotheses"):  # noqa: PT012
        for _ in range(8):
            guide.advance(0)
    assert 1 < len(guide.token_ids) < 8
    guide.rollback(len(guide.token_ids))
    assert guide.accepts(0)


def test_what_is_looked_ahead_for_far_away_ends_in_bounded_time_and_memory():
    with pytest.raises(LimitError, match="max_pairs"):
        compile_recognizer(Grammar(f"start: /{FAR_AHEAD}/"), limits=Limits(max_pairs=500))


def test_what_the_collector_will_look_at_counts_as_time(monkeypatch):
    monkeypatch.setattr(limits, "_SECONDS_AN_OBJECT", 1.0)
    steps = limits.Steps(cfgguide.Limits(max_seconds=1000))
    with collector_off(), steps.begun():
        limits.check_step()
        made = [[n] for n in range(2000)]
        time.sleep(0.01)  # it is not asked more often
        with pytest.raises(SchemaError, match="max_seconds"):
            limits.check_step()
    assert len(made) == 2000


LONG = "x" * 4000


@pytest.mark.parametrize(
    "compile_text",
    [
        lambda: cfgguide.json_schema({"properties": {LONG: {"type": "strin"}}}),
        lambda: cfgguide.json_schema({"pattern": rf"\p{{{LONG}}}"}),
        lambda: cfgguide.json_schema({"minimum": 10**4000}),
        lambda: cfgguide.index.compile_recognizer(cfgguide.Grammar(f"start: {LONG}")),
        lambda: cfgguide.index.compile_recognizer(cfgguide.regex(f"(a)(?({LONG})b|c)")),
        lambda: cfgguide.Grammar.gbnf(f"root ::= {LONG}"),
    ],
)
def test_a_message_has_the_ends_of_a_long_name_only(compile_text):
    with pytest.raises(cfgguide.CfgGuideError) as error:
        compile_text()
    assert len(str(error.value)) < 1_000


def test_an_explanation_has_the_ends_of_a_long_name_only():
    name = LONG.upper()
    grammar = cfgguide.Grammar(f"start: {name}+\n{name}: /b+/")
    guide = cfgguide.Guide(cfgguide.compile(grammar, cfgguide.Vocabulary.of_bytes()))
    assert len(str(guide.explain(ord("a")))) < 1_000
    with pytest.raises(cfgguide.CfgGuideError) as error:
        guide.advance(ord("a"))
    assert len(str(error.value)) < 1_000
