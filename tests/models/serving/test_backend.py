"""A backend compiles what requests ask for, and nothing else."""

from __future__ import annotations

import json
import logging
import threading
import time
from typing import Any, Literal

import numpy as np
import pydantic
import pytest
from support.threads import in_threads

import cfgguide
from cfgguide import index_pool as pool_module
from cfgguide.base.footprint import footprint
from cfgguide.base.limits import Limits
from cfgguide.errors import CfgGuideError, GrammarError, LimitError
from cfgguide.models.serving import lanes as lanes_module
from cfgguide.models.serving.backend import compact
from cfgguide.models.serving.lanes import BusyError
from cfgguide.serving import Backend

VOCABULARY = cfgguide.Vocabulary.of_bytes()
_PATIENCE = 120  # seconds after which a test fails instead of waiting for ever


@pytest.fixture(scope="module")
def backend() -> Backend:
    return Backend(VOCABULARY, use_cache=False)


def takes(backend: Backend, kind: str, text: str, written: str) -> bool:
    """Whether a text can be written to its end."""
    matcher = backend.matcher(kind, text)
    return matcher.accept([*written.encode(), VOCABULARY.eos_token_ids[0]])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "text", "right", "wrong"),
    [
        ("json", '{"type": "integer"}', "12", '"12"'),
        ("json_object", "", '{"a": 1}', "[1]"),
        ("regex", "[0-9]{2}", "12", "123"),
        ("choice", '["yes", "no"]', "no", "maybe"),
        ("grammar", 'start: "a"+', "aaa", "b"),
        ("grammar", 'cfgguide:\nstart: "a"+', "aaa", "b"),
        ("grammar", 'cfgguide:\r\nstart: "a"+', "aaa", "b"),
        ("grammar", "cfgguide:json", "[1]", "[1"),
        ("grammar", 'cfgguide:json {"max_ignored": 2}', "[  1]", "[   1]"),
        ("grammar", "cfgguide:sql_select", "SELECT 1;", "SELECT  1;"),
        ("grammar", "cfgguide:sql", "DELETE FROM a", "DELETE FROM a; D"),
        ("grammar", 'cfgguide:sql {"tidy": false}', "delete from a; DELETE FROM b", "de,"),
        ("grammar", 'cfgguide:sql_select {"tidy": false}', "select  1;", "selec"),
        ("grammar", "cfgguide:sql_select ", "SELECT x FROM y", "DROP TABLE y"),
        (
            "grammar",
            'cfgguide:sql_select {"tables": {"users": ["id", "name"]}}',
            "SELECT name FROM users",
            "SELECT age FROM users",
        ),
        ("grammar", 'cfgguide:\nstart: a b | b a\na: "x"\nb: "x"', "xx", "x"),
        ("grammar", 'cfgguide:\nroot ::= [0-9]+ ("+" root)?', "1+23", "1+"),
        ("grammar", 'cfgguide:llguidance\nstart: "a"{2} %json {"const": 1}', "aa1", "a1"),
        ("grammar", 'cfgguide:llguidance \r\nstart: "a"{2}', "aa", "a"),
        ("grammar", 'cfgguide:json_schema\n{"type": "integer"}', "12", '"12"'),
        ("grammar", "cfgguide:regex\n[0-9]{2}", "12", "123"),
        ("grammar", 'cfgguide:choice \r\n["yes", "no"]', "no", "maybe"),
        (
            "grammar",
            'cfgguide:structural_tag\n{"type": "structural_tag", "format": '
            '{"type": "const_string", "value": "a"}}',
            "a",
            "b",
        ),
        (
            "grammar",
            'cfgguide:json_schema\n{"properties": {"a": {"const": 1}, "b": {"const": 2}}, "type": '
            '"object", "required": ["b"], "x-cfgguide": {"closed": true, "order": "declared"}}',
            '{"a": 1, "b": 2}',
            '{"b": 2, "a": 1}',
        ),
        ("grammar", '%llguidance {}\nstart: "a"{2}', "aa", "a"),
        ("grammar", '\n  %llguidance {}\nstart: "a"{2}', "aa", "a"),
        pytest.param(
            *("grammar", 'cfgguide:lua {"start": "expression"}', "x + 1", "x = 1"),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_request_is_what_it_says(backend, kind, text, right, wrong):
    assert takes(backend, kind, text, right)
    assert not takes(backend, kind, text, wrong)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("json", "{", "not JSON"),
        ("json", '{"type": "nothing"}', "type"),
        ("regex", "(", "unterminated|missing|parenthesis"),
        ("choice", '"yes"', "JSON array"),
        ("choice", "[" * 100_000, "JSON array"),
        ("choice", "[]", "text"),
        ("grammar", "start: a", "Lark"),
        ("grammar", "", "start"),
        ("grammar", "cfgguide:", "start"),
        ("grammar", "cfgguide:cobol", r"'cobol'; there is c, go, java, javascript, json"),
        ("grammar", "cfgguide:../../etc/passwd", "name"),
        ("grammar", "cfgguide:sql [1]", "name"),
        ("grammar", "cfgguide:sql {1}", "JSON object"),
        ("grammar", 'cfgguide:sql {"path": "/etc"}', "'path'; there is start, max_ig"),
        ("grammar", 'cfgguide:sql {"tables": 1}', "schema"),
        ("grammar", 'cfgguide:json {"tables": {}}', "sql"),
        ("grammar", 'cfgguide:json {"start": 1}', "start"),
        ("grammar", 'cfgguide:json {"max_ignored": "x"}', "max_ignored is a whole number, not 'x'"),
        ("grammar", 'cfgguide:json {"max_ignored": -1}', "max_ignored"),
        ("grammar", "cfgguide:llguidance", "'llguidance'; there is c, go"),
        ("grammar", "cfgguide:llguidance\nstart: $", "the grammar, line 1, column 8"),
        ("grammar", "cfgguide:llguidance\nstart: @other", "there is none"),
        ("grammar", "cfgguide:llguidance\nstart: /a?{9999}{9999}/", "max_|parts|times"),
        ("structural_tag", "{}", "with a type"),
        ("structural_tag", "{", "not JSON"),
    ],
)
def test_a_wrong_request_is_an_error_that_says_what_to_do(backend, kind, text, message):
    with pytest.raises(CfgGuideError, match=message):
        backend.matcher(kind, text)


#: What a stranger may choose of a grammar that has a name.
OPTIONS = (
    '{"max_ignored": 0}',
    '{"max_ignored": 300}',
    '{"tidy": false}',
    '{"start": "expression"}',
)


@pytest.mark.parametrize("name", cfgguide.Grammar.bundled_names())
def test_only_a_name_without_options_is_trusted(name):
    backend = Backend(VOCABULARY, use_cache=False)
    assert backend._asked("grammar", f"cfgguide:{name}").is_trusted
    for options in (*OPTIONS[:3], '{"tables": {"t": ["x"]}}'):
        assert not backend._asked("grammar", f"cfgguide:{name} {options}").is_trusted


@pytest.mark.few(3)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", cfgguide.Grammar.bundled_names())
def test_options_of_a_name_are_held_to_the_limits_for_strangers(name, options):
    """Those of Java took 26 seconds, when they had a minute."""
    limits = cfgguide.Limits(max_seconds=0.002, max_memory=500_000_000)
    backend = Backend(VOCABULARY, limits=limits, use_cache=False)
    with pytest.raises((LimitError, GrammarError), match=r"max_seconds|has no rule 'expression'"):
        backend.index("grammar", f"cfgguide:{name} {options}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('cfgguide:java {"start": "compilation_uni"}', "start, .*did you mean compilation_unit"),
        ('cfgguide:sql_select {"start": "FORBIDDEN"}', "has no rule 'FORBIDDEN' to start from"),
        ('cfgguide:mine {"start": "other"}', "has no rule 'other' to start from, but start"),
        ("cfgguide:jav", "did you mean java"),
        ('cfgguide:java {"strat": "x"}', "did you mean start"),
    ],
)
def test_what_there_is_not_is_refused_before_anything_is_compiled(tmp_path, text, message):
    (tmp_path / "mine.lark").write_text('start: "a"\n', encoding="utf-8")
    limits = cfgguide.Limits(max_seconds=1e-9)  # for nothing
    backend = Backend(VOCABULARY, folder=tmp_path, limits=limits, use_cache=False)
    with pytest.raises(GrammarError, match=message) as told:
        backend.index("grammar", text)
    assert str(tmp_path) not in str(told.value)


def test_a_file_of_the_operator_imports_whatever_options_follow_its_name(tmp_path):
    (tmp_path / "mine.lark").write_text("%import .part.A\nstart: A A\n", encoding="utf-8")
    (tmp_path / "part.lark").write_text('A: "x"\n', encoding="utf-8")
    backend = Backend(VOCABULARY, folder=tmp_path, use_cache=False)
    for options in ("", ' {"max_ignored": 2}', ' {"start": "start"}'):
        assert takes(backend, "grammar", f"cfgguide:mine{options}", "xx")


def test_strangers_import_no_files(tmp_path):
    (tmp_path / "secret.lark").write_text('A: "x"\n', encoding="utf-8")
    backend = Backend(VOCABULARY, folder=tmp_path, use_cache=False)
    with pytest.raises(GrammarError):
        backend.matcher("grammar", "%import .secret.A\nstart: A")


def test_whether_a_file_s_index_is_there_is_told_by_reading_it_once(tmp_path, monkeypatch):
    (tmp_path / "own.lark").write_text('start: "a"')
    backend = Backend(VOCABULARY, folder=tmp_path, use_cache=False)
    index = backend.index("grammar", "cfgguide:own")
    opened, open_file = [], cfgguide.Grammar.open
    monkeypatch.setattr(
        cfgguide.Grammar, "open", lambda path, **_: opened.append(path) or open_file(path)
    )
    assert backend.requested("grammar", "cfgguide:own").result(_PATIENCE) is index
    assert opened == [tmp_path / "own.lark"]


def test_an_operators_grammar_has_a_name_and_may_import_its_neighbours(tmp_path):
    (tmp_path / "part.lark").write_text('A: "x"\n', encoding="utf-8")
    (tmp_path / "mine.lark").write_text("%import .part.A\nstart: A\n", encoding="utf-8")
    backend = Backend(VOCABULARY, folder=tmp_path, use_cache=False)
    assert takes(backend, "grammar", "cfgguide:mine", "x")
    with pytest.raises(GrammarError, match="mine, part"):
        backend.matcher("grammar", "cfgguide:other")


def test_an_operators_grammar_that_changes_is_read_again(tmp_path):
    path = tmp_path / "mine.lark"
    backend = Backend(VOCABULARY, folder=tmp_path, use_cache=False)
    path.write_text('start: "a"', encoding="utf-8")
    assert takes(backend, "grammar", "cfgguide:mine", "a")
    path.write_text('start: "b"', encoding="utf-8")
    assert takes(backend, "grammar", "cfgguide:mine", "b")


def test_what_would_take_minutes_is_refused():
    backend = Backend(VOCABULARY, limits=Limits(max_seconds=0.2), use_cache=False)
    with pytest.raises(LimitError):
        backend.matcher("grammar", "start: /(a|b)*a(a|b){16}/")


@pytest.mark.parametrize(
    "pattern",
    [
        r"x(?=(?:.{7})*a)(?=(?:.{11})*b)(?=(?:.{13})*c)(?=(?:.{17})*d)[e-z]*",
        "y|x(?=(?:.{7})*a)(?=(?:.{11})*b)(?=(?:.{13})*c)(?=(?:.{17})*d)[e-z]*",
    ],
)
def test_a_pattern_that_takes_too_long_fails_its_own_request(pattern):
    backend = Backend(VOCABULARY, limits=Limits(max_seconds=0.5), use_cache=False)
    with pytest.raises(LimitError, match="max_seconds"):
        backend.matcher("regex", pattern)
    assert backend.metrics.n_refused == 1


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("(?:a?){5000}b", b"aab"), ("(?:a{1,100}){1,100}", b"a"), (r"(?=.*a)(?=.*b).{1,9}", b"ab")],
)
def test_a_pattern_whose_counts_are_large_is_one_as_any_other(pattern, text):
    matcher = Backend(VOCABULARY, use_cache=False).matcher("regex", pattern)
    assert matcher.accept(list(text))
    matcher.rollback(len(text))
    assert not matcher.accept(list(b"\n"))


def test_what_was_asked_before_is_at_hand(caplog):
    caplog.set_level(logging.INFO, "cfgguide.serving")
    backend = Backend(VOCABULARY, use_cache=False)
    schema = json.dumps({"type": "array", "items": {"enum": ["x" * 200]}})
    first = backend.matcher("json", schema)
    assert backend.matcher("json", schema, stop_token_ids=[10]).index is first.index
    with pytest.raises(CfgGuideError):
        backend.matcher("json", "{")
    now = backend.metrics
    assert (now.n_compiled, now.n_hits, now.n_refused, now.n_indexes) == (1, 1, 1, 1)
    assert now.seconds > 0
    assert now.n_bytes > 0
    assert now.n_first_visits == 1  # of the first mask
    first.accept(list(b"["))
    first.fill_bitmask(np.zeros((1, VOCABULARY.n_words), np.int32), 0)
    assert backend.metrics.n_first_visits == 2
    assert backend.metrics.first_visit_seconds > now.first_visit_seconds > 0
    compiled, refused = caplog.messages
    assert compiled.startswith('compiled json \'{"type"')
    assert refused.startswith("refused json '{' after")
    assert all(len(message) < 300 and "\n" not in message for message in caplog.messages)


def test_what_indexes_share_is_counted_once():
    """Masks inside strings are the vocabulary's, and in no index's own memory."""
    backend = Backend(VOCABULARY, use_cache=False)
    vocabulary = backend.metrics.n_shared_bytes
    assert vocabulary >= sum(len(token or b"") for token in VOCABULARY.tokens)
    for n in (1, 2):
        schema = json.dumps({"type": "string", "description": str(n)})
        backend.matcher("json", schema)
    backend = Backend(VOCABULARY, use_cache=False)  # which has not measured before
    index = backend.matcher("json", schema).index
    shared = backend.metrics.n_shared_bytes - vocabulary
    assert abs(shared - footprint(index.shared, shared=VOCABULARY.parts)) < 200  # lists of them
    backend.matcher("json", json.dumps({"type": "string", "description": "3"}))
    assert backend.metrics.n_shared_bytes - vocabulary <= 1.5 * shared


def test_an_index_that_was_dropped_counts_as_compiled_again():
    backend = Backend(VOCABULARY, max_bytes=2, use_cache=False)
    for text in ('["a"]', '["b"]', '["a"]', '["a"]'):
        backend.matcher("choice", text)
    assert (backend.metrics.n_compiled, backend.metrics.n_hits) == (3, 1)


def test_the_operator_says_how_much_memory_there_is(monkeypatch, tmp_path):
    monkeypatch.setenv("CFGGUIDE_MEMORY", "0")
    monkeypatch.setenv("CFGGUIDE_GRAMMARS", str(tmp_path))
    (tmp_path / "mine.lark").write_text('start: "a"', encoding="utf-8")
    backend = Backend.from_environment(VOCABULARY)
    for text in ("cfgguide:mine", "cfgguide:json"):
        backend.matcher("grammar", text)
    assert backend.metrics.n_indexes == 1
    monkeypatch.setenv("CFGGUIDE_MEMORY", "plenty")
    with pytest.raises(ValueError, match="'plenty'; it is a number of megabytes"):
        Backend.from_environment(VOCABULARY)


def test_the_operator_says_how_long_others_wait_for_a_mask(monkeypatch):
    assert Backend.from_environment(VOCABULARY, isolate=False).max_mask_seconds == 0.3
    monkeypatch.setenv("CFGGUIDE_MASK_SECONDS", "1.5")
    assert Backend.from_environment(VOCABULARY, isolate=False).max_mask_seconds == 1.5
    for wrong in ("0", "0.0", "-1", "inf", "soon", ""):
        monkeypatch.setenv("CFGGUIDE_MASK_SECONDS", wrong)
        with pytest.raises(ValueError, match=f"is '{wrong}'; it is a number above 0"):
            Backend.from_environment(VOCABULARY, isolate=False)


@pytest.mark.parametrize(
    ("pattern", "written", "is_right"),
    [
        (r"\d\w", "1a", True),
        (r"\d", "\u0661", False),  # a digit of Arabic
        (r"\w", "\u00e9", False),
        (r"(?u)\d\w", "\u0661\u00e9", True),
        (r"(?iu)\u00e9", "\u00c9", True),
        (r"(?a)\d", "1", True),
        (r"[\u00e9]\w", "\u00e9a", True),
    ],
)
def test_patterns_of_requests_are_asciis_unless_they_say_otherwise(
    backend, pattern, written, is_right
):
    assert takes(backend, "regex", pattern, written) == is_right
    assert takes(backend, "grammar", f"cfgguide:regex\n{pattern}", written) == is_right


def test_a_keyword_that_is_misspelt_is_told_in_the_log(backend, caplog):
    backend.index("json", '{"type": "string", "maxlength": 3}')
    (said,) = (each for each in caplog.messages if "maxlength" in each and "of json" in each)
    assert "maxLength" in said


def test_the_operators_function_gives_names_to_anything(tmp_path, monkeypatch):
    (tmp_path / "of_the_operator.py").write_text(
        "import cfgguide, sqlite3, typing\n"
        "def all():\n"
        "    shop = sqlite3.connect(':memory:')\n"
        "    shop.execute('CREATE TABLE goods (price)')\n"
        "    return {'shop': cfgguide.sql.runs_on(shop), 'mood': typing.Literal['good', 'bad']}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("CFGGUIDE_GRAMMARS", "of_the_operator:all")
    backend = Backend.from_environment(VOCABULARY, isolate=False)
    assert takes(backend, "grammar", "cfgguide:mood", '"good"')
    by_schema = 'cfgguide:{"sql": "sqlite", "schema": "shop"}'
    for text in ("cfgguide:shop", by_schema):
        assert backend._asked("grammar", text).is_trusted
        assert takes(backend, "grammar", text, "SELECT price FROM goods")
        assert not takes(backend, "grammar", text, "SELECT prize FROM goods")
    with pytest.raises(GrammarError, match="did you mean shop"):
        backend.index("grammar", "cfgguide:shops")
    with pytest.raises(GrammarError, match="'shop' takes no options"):
        backend.index("grammar", 'cfgguide:shop {"tidy": false}')


def test_warm_grammars_are_compiled_before_anybody_asks(monkeypatch):
    monkeypatch.setenv("CFGGUIDE_WARM", "json, lua")
    backend = Backend.from_environment(VOCABULARY, isolate=False)
    end = time.monotonic() + _PATIENCE
    while backend.ready("grammar", "cfgguide:lua") is None:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_queue_that_is_full_says_no_and_hits_do_not_wait(monkeypatch):
    backend = Backend(VOCABULARY, use_cache=False, n_queued=2)
    backend.index(*of_word("known"))
    held = Held(monkeypatch, gives_up=True)
    begun = [backend.requested(*of_word(f"held{n}")) for n in range(2)]
    while len(held.begun) < 2:
        time.sleep(0.01)
    waiting = [backend.requested(*of_word(f"waits{n}")) for n in range(2)]
    while backend.metrics.n_waiting < 2:
        time.sleep(0.01)
    again = backend.requested(*of_word("waits0"))  # who asks for the same takes no other place
    with pytest.raises(BusyError, match=r"2 other requests wait.* again after 5 seconds") as told:
        backend.requested(*of_word("one more")).result(_PATIENCE)
    assert told.value.retry_after == 5
    assert backend.requested(*of_word("known")).done()
    held.is_free.set()
    assert [each.result(_PATIENCE) for each in (*begun, *waiting, again)]
    assert (backend.metrics.n_busy, backend.metrics.n_waiting) == (1, 0)


def test_nobody_waits_longer_than_the_operator_wants(monkeypatch):
    backend = Backend(VOCABULARY, use_cache=False, max_wait_seconds=0.5)
    held = Held(monkeypatch, gives_up=True)
    asked = [backend.requested(*of_word(f"held{n}")) for n in range(8)]
    started = time.monotonic()
    for each in asked:
        with pytest.raises(BusyError):
            each.result(_PATIENCE)
    assert time.monotonic() - started < 10
    held.is_free.set()
    assert backend.requested(*of_word("held0")).result(_PATIENCE)
    waits_for(lambda: backend.metrics.n_waiting + backend.metrics.n_compiling == 0)


def waits_for(claim) -> None:
    end = time.monotonic() + _PATIENCE
    while not claim():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_who_was_told_to_come_again_finds_what_was_compiled_meanwhile(monkeypatch):
    """A lone slow grammar on a busy server: compiled once, however often it is asked for."""
    backend = Backend(VOCABULARY, use_cache=False, max_wait_seconds=0.3)
    held = Held(monkeypatch, gives_up=True)
    for _ in range(3):
        with pytest.raises(BusyError):
            backend.requested(*of_word("held")).result(_PATIENCE)
    held.is_free.set()
    waits_for(lambda: backend.ready(*of_word("held")) is not None)
    assert held.begun == ['start: "held"']
    assert backend.requested(*of_word("held")).done()


def test_a_request_that_waits_keeps_its_place_for_who_was_told_to_come_again(monkeypatch):
    monkeypatch.setattr(lanes_module, "_N_THREADS", 1)
    backend = Backend(VOCABULARY, use_cache=False, max_wait_seconds=2.0)
    held = Held(monkeypatch, gives_up=False)
    asked = [backend.requested(*of_word("held"))]
    waits_for(lambda: held.begun)
    asked += [backend.requested(*of_word("waits"))]
    waits_for(lambda: backend.metrics.n_waiting == 1)
    time.sleep(2.1)
    # What is compiled asks nobody whether to go on, so another request has to come.
    later = backend.requested(*of_word("later"))
    for each in asked:
        with pytest.raises(BusyError):
            each.result(_PATIENCE)
    again = backend.requested(*of_word("waits"))
    held.is_free.set()
    assert [each.result(_PATIENCE) for each in (later, again)]
    order = [text for text in held.begun if "held" not in text]  # whose turn was over
    assert order == ['start: "waits"', 'start: "later"']


def test_a_job_that_nobody_asks_for_again_is_given_up(monkeypatch):
    monkeypatch.setattr(lanes_module, "_STAYS", 0.2)
    backend = Backend(VOCABULARY, use_cache=False, max_wait_seconds=0.2)
    held = Held(monkeypatch, gives_up=True)
    with pytest.raises(BusyError):
        backend.requested(*of_word("held")).result(_PATIENCE)
    waits_for(lambda: backend.metrics.n_compiling == 0)
    held.is_free.set()
    assert backend.ready(*of_word("held")) is None


def test_what_compiling_and_steps_take_is_told_with_a_digest_in_the_log(caplog):
    caplog.set_level(logging.INFO, "cfgguide.serving")
    told: list[tuple[str, float]] = []
    backend = Backend(VOCABULARY, use_cache=False, observe=lambda *each: told.append(each))
    asked = of_word("word" * 40)
    backend.index(*asked)
    backend.index(*asked)
    with pytest.raises(GrammarError):
        backend.index(*of_word('"'))
    assert [name for name, _ in told] == ["compile_seconds", "compile_seconds"]
    backend.ended(*asked, first_seconds=None, slowest_seconds=9.0)  # it was never asked for a mask
    backend.ended(*asked, first_seconds=0.01, slowest_seconds=0.02)
    backend.ended(*asked, first_seconds=0.01, slowest_seconds=0.3)
    assert told[2:] == [
        *(("first_mask_seconds", 0.01), ("slowest_step_seconds", 0.02)),
        *(("first_mask_seconds", 0.01), ("slowest_step_seconds", 0.3)),
    ]
    compiled, refused, slow = caplog.messages
    digest = compiled.rpartition("(")[2]
    assert slow.endswith(digest)
    assert "took 0.300 s" in slow
    assert not refused.endswith(digest)


def test_clients_are_served_in_turn(monkeypatch):
    monkeypatch.setattr(lanes_module, "_N_THREADS", 1)
    backend = Backend(VOCABULARY, use_cache=False)
    held = Held(monkeypatch, gives_up=False)
    asked = [backend.requested(*of_word("held"), client="many")]
    waits_for(lambda: held.begun)
    asked += [backend.requested(*of_word(f"word{n}"), client="many") for n in range(4)]
    asked += [backend.requested(*of_word(each), client=each) for each in ("one", "two")]
    waits_for(lambda: backend.metrics.n_waiting == 6)
    assert backend.metrics.n_waiting_clients == 3
    held.is_free.set()
    assert all(each.result(_PATIENCE) for each in asked)
    order = [text.split('"')[1] for text in held.begun[1:]]
    assert order == ["word0", "one", "two", "word1", "word2", "word3"]


def test_who_asks_for_most_makes_room_in_a_full_queue(monkeypatch):
    backend = Backend(VOCABULARY, use_cache=False, n_queued=4)
    held = Held(monkeypatch, gives_up=False)
    begun = [backend.requested(*of_word(f"held{n}"), client="many") for n in range(2)]
    waits_for(lambda: len(held.begun) == 2)
    many = [backend.requested(*of_word(f"word{n}"), client="many") for n in range(4)]
    waits_for(lambda: backend.metrics.n_waiting == 4)
    few = [backend.requested(*of_word(f"few{n}"), client="few") for n in range(2)]
    for each in many[2:]:  # the last ones
        with pytest.raises(BusyError):
            each.result(_PATIENCE)
    for client in ("few", "many"):  # both have two by now
        with pytest.raises(BusyError):
            backend.requested(*of_word(f"more of {client}"), client=client).result(_PATIENCE)
    held.is_free.set()
    assert all(each.result(_PATIENCE) for each in (*begun, *many[:2], *few))
    assert backend.metrics.n_busy == 4


def test_who_has_left_makes_room_in_a_full_queue(monkeypatch):
    backend = Backend(VOCABULARY, use_cache=False, n_queued=1)
    held = Held(monkeypatch, gives_up=False)
    begun = []
    for n in range(2):
        begun.append(backend.requested(*of_word(f"held{n}")))
        waits_for(lambda: len(held.begun) == len(begun))
    has_left = threading.Event()
    backend.requested(*of_word("left"), cancelled=has_left.is_set)
    waits_for(lambda: backend.metrics.n_waiting == 1)
    has_left.set()
    stays = backend.requested(*of_word("stays"))
    held.is_free.set()
    assert all(each.result(_PATIENCE) for each in (*begun, stays))
    assert 'start: "left"' not in held.begun


def test_threads_share_a_backend():
    backend = Backend(VOCABULARY, use_cache=False)
    texts = [f'start: "a{n % 5}"' for n in range(40)]
    found = in_threads(lambda text: backend.matcher("grammar", text).index, texts)
    assert len(found) == 40
    assert len(set(map(id, found))) == 5
    now = backend.metrics
    assert now.n_compiled + now.n_hits == 40


def test_many_requests_are_not_remembered_for_ever(monkeypatch):
    from cfgguide.models.serving import backend as module

    monkeypatch.setattr(module, "_MAX_KNOWN", 3)
    backend = Backend(VOCABULARY, use_cache=False)
    for n in range(8):
        backend.matcher("choice", json.dumps([f"{n}"]))
    assert len(backend._known) == 3


def test_long_requests_are_forgotten_before_short_ones_add_up():
    backend = Backend(VOCABULARY, use_cache=False, max_bytes=1_000_000)
    for n in range(20):
        backend.matcher("choice", json.dumps([f"{n}" * 300]))
        assert sum(n_bytes for _, n_bytes in backend._known.values()) <= 125_000
    assert 5 < len(backend._known) < 20
    backend.grammar("choice", json.dumps(["a" * 30_000]))
    assert len(backend._known) < 20  # longer than what there is for all


@pytest.mark.parametrize(("kind", "text"), [("json", None), ("grammar", 5), (None, "{}"), (5, 5)])
def test_a_request_is_texts(backend, kind, text):
    with pytest.raises(GrammarError, match="a request has a kind and a text, not"):
        backend.index(kind, text)
    with pytest.raises(GrammarError, match="a request has a kind and a text, not"):
        backend.requested(kind, text).result(_PATIENCE)
    assert backend.ready(kind, text) is None


@pytest.mark.parametrize(
    ("kind", "text"),
    [("choice", json.dumps(["a" * n for n in range(1, 3000)])), ("regex", "(?:a?){300}" * 200)],
)
def test_reading_a_request_is_cancelled_and_held_to_its_limits(kind, text, caplog):
    caplog.set_level(logging.INFO, "cfgguide.serving")
    few = Limits(max_seconds=0.2)
    backend = Backend(VOCABULARY, limits=few, use_cache=False)
    with pytest.raises(LimitError):
        backend.index(kind, text)
    with pytest.raises(LimitError, match="cancelled"):
        backend.index(kind, text, cancelled=lambda: True)
    refused, message = caplog.messages
    assert refused.startswith(f"refused {kind} ")
    assert message.startswith(f"stopped {kind} ")
    assert "cancelled" in message


# --- What is written by default ------------------------------------------------------------------

ITEM = '{"type": "object", "properties": {"n": {"type": "integer"}}}'
CONTENT = '{"type": "json_schema", "json_schema": ' + ITEM + "}"
CALL = '{"type": "tag", "begin": "<a>", "content": ' + CONTENT + ', "end": "</a>"}'


@pytest.mark.parametrize(
    ("kind", "text", "tidy", "others"),
    [
        ("json", ITEM, '{"n": 1}', ['{"n":1}', '{"n": 1.0}', '{"n": 1} ', ' {"n": 1}']),
        ("json_object", "", '{"a": [1, 2]}', ['{"a": [1,2]}', '{"a": [1, 2]}\n', '{"a" : 1}']),
        ("structural_tag", CALL, '<a>{"n": 1}</a>', ['<a>{"n":1}</a>', '<a>{"n": 1.0}</a>']),
        ("regex", r"\s1", " 1", ["\x0c1"]),
        ("grammar", "cfgguide:json", "[1, 2]", ["[1,2]", "[1 ]", "1", "[1" + 20 * "1" + "]"]),
        ("grammar", '%llguidance {}\nstart: "x" %json {"type": "integer"}', "x1", ["x1.0"]),
        ("grammar", 'start: "a"\n%ignore " "', "a", ["a "]),
    ],
)
def test_what_models_write_without_end_is_left_out_unless_the_operator_wants_it(
    backend, kind, text, tidy, others
):
    whole = Backend(VOCABULARY, use_cache=False, tidy=False)
    assert takes(backend, kind, text, tidy)
    assert takes(whole, kind, text, tidy)
    for other in others:
        assert not takes(backend, kind, text, other)
        assert takes(whole, kind, text, other), other


@pytest.mark.parametrize("is_tidy", [True, False])
def test_all_matchers_of_a_backend_end_texts_alike(is_tidy):
    """Engines take the index of a request first, and then a matcher of it."""
    backend = Backend(VOCABULARY, use_cache=False, tidy=is_tidy)
    text = 'start: "a"\n%ignore " "'
    for matcher in (
        backend.matcher("grammar", text),
        backend.matcher_of(backend.index("grammar", text), "grammar", text),
        backend.matcher_of(backend.requested("grammar", text).result(), "grammar", text),
    ):
        assert matcher.accept([ord("a")])
        assert matcher.accept([ord(" ")]) is not is_tidy


@pytest.mark.parametrize(
    ("chosen", "right", "wrong"),
    [
        ({"tidy": False}, '{"n":  1.0}', '{"n": true}'),
        ({"separators": [",", ":"]}, '{"n":1}', '{"n": 1}'),
        ({"max_whitespace": 1}, '{ "n" :1}', '{"n":  1}'),
        ({"closed": False}, '{"n": 1, "m": 2}', '{"n":1}'),
        ({}, '{"n": 1}', '{"n": 1, "m": 2}'),
    ],
)
def test_a_schema_may_say_how_its_values_are_written(backend, chosen, right, wrong):
    schema = json.dumps({**json.loads(ITEM), "x-cfgguide": chosen})
    assert takes(backend, "json", schema, right)
    assert not takes(backend, "json", schema, wrong)


@pytest.mark.parametrize("chosen", [1, {"tidy": 1}, {"tidyness": True}, {"separators": 1}])
def test_a_schema_that_says_it_wrongly_is_refused(backend, chosen):
    with pytest.raises(CfgGuideError, match=r"x-cfgguide|tidy|separators"):
        backend.matcher("json", json.dumps({"x-cfgguide": chosen}))


@pytest.mark.parametrize("kind", ["json", "json_object"])
def test_options_of_vllm_make_json_compact_and_objects_closed(backend, kind):
    asked = compact(kind, ITEM if kind == "json" else "", is_compact=True, is_closed=True)
    assert takes(backend, *asked, '{"n":1}')
    assert not takes(backend, *asked, '{"n": 1}')
    assert takes(backend, *asked, '{"n":1,"m":2}') == (kind == "json_object")
    assert compact(kind, ITEM, is_compact=False, is_closed=False) == (kind, ITEM)


class Place(pydantic.BaseModel):
    latitude: float = pydantic.Field(ge=-90, le=90)
    floor: int | None
    kind: Literal["home", "work"]


class Line(pydantic.BaseModel):
    amount: int
    price: float
    tags: list[Literal["new", "old"]] = pydantic.Field(max_length=2)


class Order(pydantic.BaseModel):
    number: int = pydantic.Field(ge=1)
    paid: bool
    total: float
    lines: list[Line] = pydantic.Field(min_length=1, max_length=2)
    places: dict[Literal["from", "to"], Place]
    before: Order | None


def strict(schema: Any) -> Any:
    """A schema as OpenAI's `parse` sends it: all properties are required, and no others allowed."""
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: strict(each) for name, each in schema.items() if name != "default"}
    if isinstance(made.get("properties"), dict):
        made |= {"required": list(made["properties"]), "additionalProperties": False}
    return made


#: What a small model likes to write for ever, the dearest first; EOS comes last.
LATE = {256, *b'",[{'}
FOREVER = [b" \n\t", b"0", b".", b"19876543e", b"+-"]


@pytest.mark.parametrize("model", [Place, Line, Order])
@pytest.mark.parametrize("kind", ["parse", "model"])
@pytest.mark.parametrize("first", range(len(FOREVER)))
def test_a_model_that_loves_what_never_ends_writes_complete_answers(backend, model, kind, first):
    schema = model.model_json_schema()
    schema = strict(schema) if kind == "parse" else schema
    matcher = backend.matcher("json", json.dumps(schema))
    order = b"".join(FOREVER[first:] + FOREVER[:first])
    rows, written = np.zeros((1, VOCABULARY.n_words), dtype=np.int32), b""
    while not matcher.is_terminated and len(written) < 600:
        matcher.fill_bitmask(rows, 0)
        bits = np.unpackbits(rows.view(np.uint8), bitorder="little")
        allowed = np.flatnonzero(bits).tolist()
        token = next((each for each in order if each in allowed), None)
        if token is None:
            token = min(allowed, key=lambda each: (each in LATE, -each))
        assert matcher.accept([token])
        written += bytes([token]) if token < 256 else b""
    assert matcher.is_terminated, written
    model.model_validate_json(written)


class Held:
    """Has grammars that mention `held` compiled no further, until it is told to let them go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, gives_up: bool) -> None:
        self.is_free = threading.Event()
        self.begun: list[str] = []  # the texts, as often as they are begun
        compile_now = pool_module.compile

        def compile_held(grammar, vocabulary, *, cancelled, **options):
            text = grammar.text
            self.begun.append(text)
            if "held" in text:
                # A test that fails lets them go, too: Python waits for their threads.
                while pool_module.compile is compile_held and not self.is_free.wait(0.01):
                    if gives_up and cancelled():
                        raise LimitError("cancelled")
            return compile_now(grammar, vocabulary, cancelled=cancelled, **options)

        monkeypatch.setattr(pool_module, "compile", compile_held)


def of_word(word: str) -> tuple[str, str]:
    return "grammar", f'start: "{word}"'


@pytest.mark.parametrize("gives_up", [True, False])
def test_what_is_there_is_answered_though_many_others_are_compiled(monkeypatch, gives_up):
    backend = Backend(VOCABULARY, use_cache=False)
    known = backend.index(*of_word("known"))
    held = Held(monkeypatch, gives_up=gives_up)
    waiting = [backend.requested(*of_word(f"held{n}")) for n in range(8)]
    now = backend.requested(*of_word("known"))
    assert now.done()
    assert now.result() is known
    assert not any(each.done() for each in waiting)
    held.is_free.set()
    assert len({each.result(_PATIENCE) for each in waiting}) == 8


def test_what_was_compiled_before_is_loaded_while_others_are_compiled(monkeypatch, tmp_path):
    monkeypatch.setenv("CFGGUIDE_CACHE", str(tmp_path))
    Backend(VOCABULARY).index(*of_word("cached"))  # another process, say
    backend = Backend(VOCABULARY)
    held = Held(monkeypatch, gives_up=False)
    waiting = [backend.requested(*of_word(f"held{n}")) for n in range(8)]
    assert backend.requested(*of_word("cached")).result(_PATIENCE).vocabulary is VOCABULARY
    assert not any(each.done() for each in waiting)
    held.is_free.set()
    assert all(each.result(_PATIENCE) for each in waiting)


def test_many_who_ask_for_the_same_leave_room_for_others(monkeypatch):
    backend = Backend(VOCABULARY, use_cache=False)
    held = Held(monkeypatch, gives_up=False)
    waiting = [backend.requested(*of_word("held")) for _ in range(20)]
    for word in ("one", "two", "three"):
        assert backend.requested(*of_word(word)).result(_PATIENCE)
    assert not any(each.done() for each in waiting)
    held.is_free.set()
    assert len({each.result(_PATIENCE) for each in waiting}) == 1
    assert held.begun.count('start: "held"') == 1
    assert (backend.metrics.n_compiled, backend.metrics.n_hits) == (4, 19)


def test_what_takes_long_gives_way_to_what_is_cheap(monkeypatch):
    backend = Backend(VOCABULARY, use_cache=False)
    held = Held(monkeypatch, gives_up=True)
    waiting = [backend.requested(*of_word(f"held{n}")) for n in range(6)]
    assert backend.requested(*of_word("cheap")).result(_PATIENCE)
    assert not any(each.done() for each in waiting)
    held.is_free.set()
    assert len({each.result(_PATIENCE) for each in waiting}) == 6
    assert backend.metrics.n_refused == 0


def test_a_request_is_compiled_until_all_who_ask_for_it_have_left(monkeypatch):
    backend = Backend(VOCABULARY, use_cache=False)
    held = Held(monkeypatch, gives_up=True)
    leaving = [threading.Event() for _ in range(2)]
    waiting = [backend.requested(*of_word("held"), cancelled=each.is_set) for each in leaving]
    leaving[0].set()
    assert backend.requested(*of_word("other")).result(_PATIENCE)
    assert not waiting[1].done()
    leaving[1].set()
    for each in waiting:
        with pytest.raises(LimitError):
            each.result(_PATIENCE)
    held.is_free.set()
    assert backend.requested(*of_word("held")).result(_PATIENCE)
    assert backend.metrics.n_refused == 0


def test_a_wrong_request_is_an_error_of_all_who_ask_for_it():
    backend = Backend(VOCABULARY, use_cache=False)
    for text in ("cfgguide:cobol", "start: a", "start: a"):
        with pytest.raises(GrammarError):
            backend.requested("grammar", text).result(_PATIENCE)


def test_an_operators_grammar_that_changes_is_no_longer_there(tmp_path):
    path = tmp_path / "mine.lark"
    backend = Backend(VOCABULARY, folder=tmp_path, use_cache=False)
    for word in ("a", "bb"):
        path.write_text(f'start: "{word}"', encoding="utf-8")
        assert backend.ready("grammar", "cfgguide:mine") is None
        index = backend.requested("grammar", "cfgguide:mine").result(_PATIENCE)
        assert backend.ready("grammar", "cfgguide:mine") is index
        assert cfgguide.Guide(index).allowed_token_ids().tolist() == [ord(word[0])]
