"""The engine agrees with Lark about random grammars, vocabularies and texts.

`make fuzz SECONDS=1200` goes on for longer. What ever failed is a file of `crashes/` and stays a
test.
"""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from dataclasses import replace

import lark
import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from support.ci import or_in_ci

import cfgguide
import fuzz.lone_patterns as lone_patterns_module
from cfgguide.engine.machine.recognizer import Recognizer
from fuzz.case import CRASHES, Case, minimised, read, write
from fuzz.compare import (
    Completeness,
    DeadEnd,
    Diagnosis,
    Refusal,
    Soundness,
    TooSlow,
    at_most,
    compare,
)
from fuzz.explore import Report, case_of, explore
from fuzz.features import EARLEY_FEATURES, FEATURES, OF_EARLEY
from fuzz.grammars import earley_grammars
from fuzz.judge import Judge, LarkRefusal
from fuzz.lone_patterns import PATTERN_FEATURES, LonePattern, compare_with_re, lone_patterns
from fuzz.schemas import compare_with_jsonschema, explore_schemas, minimised_schema, replay

CRASH_FILES = [pytest.param(path, id=path.stem) for path in sorted(CRASHES.glob("*.txt"))]
N_GRAMMARS, N_EARLEY = or_in_ci(500, 250), or_in_ci(400, 80)
N_PATTERNS = or_in_ci(300, 150)


def assert_agrees(report: Report) -> None:
    failures = [path.read_text(encoding="utf-8") for path in report.files]
    assert not report.n_disagreements, "\n".join([*failures, *report.lines()])


@pytest.mark.parametrize("path", CRASH_FILES)
def test_what_once_failed_agrees_with_lark(path):
    compare(read(path), Counter())


def test_what_once_failed_agrees_with_jsonschema():
    for path in sorted(CRASHES.glob("*.json")):
        replay(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "options", "features"),
    [
        (N_GRAMMARS, {}, FEATURES),
        (N_EARLEY, {"parser": "earley", "features": EARLEY_FEATURES}, OF_EARLEY),
    ],
    ids=["lalr", "earley"],
)
def test_random_grammars_agree_with_lark(n, options, features):
    report = Report()
    explore(report, first_seed=1, examples=n, **options)
    assert_agrees(report)
    assert report.counts["compiled"] > n / 4, report.lines()
    assert report.counts["configurations"] > 5 * n, report.lines()
    unused = [name for name in features if not report.counts[f"feature: {name}"]]
    assert not unused, "no grammar with these features compiled"
    assert report.counts["unresolved"] < report.counts["tokens"] / 200, report.lines()
    assert report.counts["too many hypotheses"] < n / 5, report.lines()
    assert report.counts["too slow"] < n / 100, report.lines()
    assert report.counts["too slow for Lark"] < n / 20, report.lines()


@pytest.mark.slow
def test_random_patterns_agree_with_re():
    report = Report()
    explore(report, first_seed=1, examples=N_PATTERNS, of_patterns=True)
    assert_agrees(report)
    assert report.counts["texts of patterns"] > 400 * N_PATTERNS, report.lines()


# --- The fuzzer itself ----------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@seed(0)
@given(lone_patterns(FEATURES), st.lists(st.text("ab \n1éA", max_size=6), max_size=12))
def test_lark_says_of_a_lone_pattern_what_re_says(lone, texts):
    """The grammar around the pattern means what it should, engine or no engine."""
    try:
        judge = Judge(lone.grammar, "contextual", lone.case().tokens)
    except Exception:
        return  # Lark refuses the pattern, or re does
    if judge.lexing_error() is None:
        for text in texts:
            assert judge.is_sentence(text.encode()) == lone.is_sentence(text), text


@pytest.mark.slow
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@seed(0)
@given(earley_grammars(EARLEY_FEATURES), st.integers(0, 2**16))
def test_lark_finds_a_forest_where_it_finds_a_tree(drawn, number):
    """Which is what the judge counts on; some trees take any time."""
    case = case_of(drawn, random.Random(number))
    try:
        judge = Judge(case.grammar, case.lexer, case.tokens, case.parser)
    except LarkRefusal:
        return
    of_trees = Judge(case.grammar, case.lexer, case.tokens, case.parser)
    of_trees.parser = lark.Lark(case.grammar, **case.lark_options)
    for text in sorted({text[:4] for text in case.texts}):
        with contextlib.suppress(TooSlow), at_most(0.5):
            assert judge.is_sentence(text) == of_trees.is_sentence(text)


def test_what_lark_calls_a_bug_of_its_own_is_a_sentence():
    grammar = "start: A | B\nA: /ba/\nB: /b/\n%ignore /a/"
    with pytest.raises(RuntimeError, match="multiple start symbol items"):
        lark.Lark(grammar, parser="earley").parse("ba")
    judge = Judge(grammar, "dynamic", (), "earley")
    assert judge.is_sentence(b"ba")
    assert not judge.is_sentence(b"bb")


LETTERS = (b"a", b"b", b"ab")
PLANTED = {
    "too much may end": (Soundness, 'start: "a"', 'start: "a"+'),
    "a token is missing": (Completeness, 'start: "a" "b"?', 'start: "a"'),
    "an end is missing": (Completeness, 'start: "a" "b"?', 'start: "a" "b"'),
    "another terminal wins": (
        Completeness,
        'start: A "b" | B\nA: "a"\nB: /ab/',
        'start: A "b" | B "b"\nA: "a"\nB.1: /ab/',
    ),
    "what does not exist for Lark": (Refusal, "start: A", 'start: "a"'),
    "what does not exist for the engine": (Refusal, 'start: "a"', "start: A"),
    "what no text is a sentence of": (Completeness, 'start: "a"', 'start: "a" start'),
    "what the tokens do not spell": (Completeness, 'start: "a"', 'start: "c"'),
}


@pytest.mark.parametrize(("kind", "grammar", "other"), PLANTED.values(), ids=PLANTED.keys())
def test_an_engine_that_reads_another_grammar_is_found_out(kind, grammar, other):
    case = Case(grammar, "contextual", LETTERS, (b"a", b"ab"))
    compare(case, Counter())
    with pytest.raises(kind):
        compare(case, Counter(), written_by=other)


PLANTED_EARLEY = {
    "a reading is missing": (Completeness, 'start: start start | "a"', 'start: "a" | "a" "a"', ""),
    "too much may end": (
        Soundness,
        'start: "a" start "a" | "b"',
        'start: "a" start "a" | "a" | "b"',
        "",
    ),
    "shorter matches": (Soundness, "start: A B\nA: /a+/\nB: /ab?/ | /b/", None, "dynamic_complete"),
    "longer matches": (Completeness, "start: A+ B\nA: /ab?/\nB: /b/", None, "dynamic"),
}


@pytest.mark.parametrize(
    ("kind", "grammar", "other", "lexer"), PLANTED_EARLEY.values(), ids=PLANTED_EARLEY.keys()
)
def test_an_engine_that_reads_other_than_earley_is_found_out(
    kind, grammar, other, lexer, monkeypatch
):
    right = {"dynamic": "dynamic_complete"}.get(lexer, "dynamic")
    case = Case(grammar, right, LETTERS, (b"aab", b"aa"), "earley")
    compare(case, Counter())
    if lexer:
        honest = cfgguide.Grammar
        monkeypatch.setattr(
            cfgguide, "Grammar", lambda text, **_: honest(text, parser="earley", lexer=lexer)
        )
    with pytest.raises(kind):
        compare(case, Counter(), written_by=other)


def test_a_wrong_place_is_found_out(monkeypatch):
    case = Case('start: "a" "b"', "contextual", LETTERS, (b"aab",))
    compare(case, Counter())
    honest = __import__("fuzz.compare", fromlist=["diagnose"]).diagnose

    def one_too_far(machine, text):
        found = honest(machine, text)
        return type(found)(found.is_sentence, found.offset + 1, 1, 1, (), "")

    monkeypatch.setattr("fuzz.compare.diagnose", one_too_far)
    with pytest.raises(Diagnosis):
        compare(case, Counter())


def test_what_only_readings_allow_that_are_not_followed_is_no_fault(monkeypatch):
    case = Case('start: "a"+', "dynamic", (b"a",), (b"aa",), "earley")
    with pytest.raises(Completeness):
        compare(case, Counter(), written_by='start: "a"')
    monkeypatch.setattr(Recognizer, "n_followed", 0)  # fewer than each text has
    counts: Counter[str] = Counter()
    compare(case, counts, written_by='start: "a"')
    assert counts["more readings than are followed"]


def test_a_way_without_an_end_is_found_out(monkeypatch):
    """An engine that allows an opening bracket, and nothing after it."""

    def stuck(name, nothing):
        method = getattr(cfgguide.Guide, name)
        monkeypatch.setattr(
            cfgguide.Guide,
            name,
            lambda guide, *args: nothing(*args) if guide.text == b"(" else method(guide, *args),
        )

    case = Case('start: "a" | "(" start ")"', "contextual", (b"a", b"(", b")"), ())
    compare(case, Counter())
    stuck("accepts", lambda token_id: False)
    stuck("allowed_token_ids", lambda: np.empty(0, dtype=np.int64))
    stuck("fill_bitmask", lambda out: out.fill(0))
    with pytest.raises(DeadEnd):
        compare(case, Counter())


def test_a_pattern_that_is_read_otherwise_is_found_out(monkeypatch):
    counts: Counter[str] = Counter()
    compare_with_re(LonePattern("/a+?/", "ab", 1, 1), counts)
    assert counts["texts of patterns"] == 511  # all of at most 8 letters
    greedy = lone_patterns_module._guide(LonePattern("/a+/", "ab", 1, 1))
    monkeypatch.setattr(lone_patterns_module, "_guide", lambda lone: greedy)
    with pytest.raises(Completeness) as caught:
        compare_with_re(LonePattern("/a+?/", "ab", 1, 1), counts)
    assert caught.value.case.texts == (b"aaa",)


def test_an_automaton_that_reads_other_values_is_found_out(tmp_path, monkeypatch):
    schema = {"type": "object", "properties": {"a": {"type": "null", "maxLength": 2}}}
    compare_with_jsonschema(schema, 1, Counter())
    other = cfgguide.json_schema({**schema, "required": ["a"]})
    monkeypatch.setattr("fuzz.schemas.json_schema", lambda *_, **__: other)
    with pytest.raises(Completeness):
        compare_with_jsonschema(schema, 1, Counter())
    monkeypatch.setattr("fuzz.schemas.json_schema", lambda *_, **__: cfgguide.json_schema({}))
    with pytest.raises(Soundness):
        compare_with_jsonschema(schema, 1, Counter())
    monkeypatch.setattr("fuzz.schemas.draw", lambda _: schema)
    report = Report()
    explore_schemas(report, first_seed=1, examples=1, folder=tmp_path)
    (path,) = report.files
    with pytest.raises(Soundness):
        replay(path)
    monkeypatch.undo()
    replay(path)


def test_a_schema_is_made_small():
    schema = {"allOf": [{"type": "null"}, {"enum": [1, 2]}], "title": "x"}
    small = minimised_schema(schema, lambda each: "2" in str(each), seconds=10)
    assert small == {"allOf": [{"enum": [2]}]}


def test_a_failure_is_made_small_and_kept_in_a_readable_file(tmp_path):
    case = Case(
        'start: A B "c"?\nA: "a"\nB: "b" | "bb"\n%ignore " "',
        "contextual",
        (b"a", b"b", b"\xc3\xa9", b"bc"),
        (b"ab", b"a b", b"\xc3\xa9"),
    )

    def fails(smaller: Case) -> bool:
        try:
            lark.Lark(smaller.grammar, parser="lalr").parse("ab")
        except Exception:
            return False
        return b"ab" in smaller.texts

    small = minimised(case, fails, seconds=10)
    path = write(small, "soundness", "as it was found", tmp_path)
    assert path.read_text(encoding="utf-8") == (
        '=== soundness\nas it was found\n=== grammar, contextual\nstart: A B\nA: "a"\nB: "b"\n'
        "=== tokens\nb'c'\n=== texts\nb'ab'\n"
    )
    assert read(path) == small
    assert read(write(case, "liveness", "", tmp_path)) == case
    for_earley = replace(case, parser="earley", lexer="dynamic_complete")
    path = write(for_earley, "liveness", "", tmp_path)
    assert "=== grammar, earley, dynamic_complete\n" in path.read_text(encoding="utf-8")
    assert read(path) == for_earley


@pytest.mark.slow
def test_one_seed_draws_the_same_cases(tmp_path):
    counts = []
    for _ in range(2):
        report = Report()
        explore(report, first_seed=7, examples=12, folder=tmp_path)
        explore(report, first_seed=7, examples=6, parser="earley", folder=tmp_path)
        counts.append(report.counts)
    assert counts[0] == counts[1]


def test_every_feature_of_patterns_is_a_feature():
    assert set(FEATURES) >= PATTERN_FEATURES
