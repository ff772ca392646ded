"""Monitors: what they refuse never reaches a mask, and no text is left without a way on."""

from __future__ import annotations

import gc
import itertools
import json
import os
import pickle
import random
import subprocess
import sys
import threading
from dataclasses import dataclass, replace

import numpy as np
import pytest
from support.monitored import finish_at_random, read_tokens, uniform_walk

import cfgguide
from cfgguide.errors import GrammarError, MonitorError, VocabularyError
from cfgguide.monitors import NOTHING, AllBut, Monitor, OneOf
from cfgguide.testing import check_monitor

TAGS = cfgguide.Grammar(
    """
    start: "<" NAME ">" content "</" close ">"
    content: (start | TEXT)*
    close: NAME
    NAME: /[a-z]+/
    TEXT: /[A-Z ]+/
    """
)
OBJECTS = cfgguide.Grammar(
    r"""
    start: object
    object: "{" (pair ("," pair)*)? "}"
    pair: KEY ":" (object | NUMBER)
    KEY: /"[ab]"/
    NUMBER: /[0-9]/
    """
)


@dataclass(frozen=True)
class Tags(Monitor):
    """Each tag is closed by its own name."""

    terminals = frozenset({"NAME", "__ANON_0"})  # the latter is `</`
    open: tuple[str, ...] = ()
    is_closing: bool = False

    def texts(self, terminal):
        return OneOf(self.open[-1:]) if terminal == "NAME" and self.is_closing else None

    def shifted(self, terminal, text):
        if terminal != "NAME":
            return Tags(self.open, is_closing=True)
        return Tags(self.open[:-1] if self.is_closing else (*self.open, text))


@dataclass(frozen=True)
class UniqueKeys(Monitor):
    """No object has a key twice; it does not say that a comma after the last one leads nowhere."""

    terminals = frozenset({"KEY", "LBRACE", "RBRACE"})
    open: tuple[frozenset[str], ...] = ()

    def texts(self, terminal):
        return AllBut(self.open[-1]) if terminal == "KEY" else None

    def shifted(self, terminal, text):
        if terminal == "LBRACE":
            return replace(self, open=(*self.open, frozenset()))
        if terminal == "RBRACE":
            return replace(self, open=self.open[:-1])
        return replace(self, open=(*self.open[:-1], self.open[-1] | {text}))


VOCABULARY = cfgguide.Vocabulary.of_bytes(
    [
        *(b"ab", b"</", b'","', b'":', b"<a>", b"></", b'{"a":1', b"a>X</", b"<b></"),
        *(b"a></a>", b"a></b>", b"b><a", b"ab></a", b"a></a></b>", b"b></b></"),
    ]
)


@pytest.fixture(scope="module")
def tags():
    return cfgguide.compile(TAGS.watched_by(Tags()), VOCABULARY)


@pytest.fixture(scope="module")
def keys():
    return cfgguide.compile(OBJECTS.watched_by(UniqueKeys()), VOCABULARY)


def _after(index, text):
    guide = cfgguide.Guide(index)
    for byte in text:
        guide.advance(byte)
    return guide


def _allowed(guide):
    return {VOCABULARY.tokens[token_id] for token_id in guide.allowed_token_ids().tolist()}


def test_a_tag_is_closed_by_its_own_name(tags):
    assert _allowed(_after(tags, b"<ab>X</")) == {b"a", b"ab"}
    assert _allowed(_after(tags, b"<ab>X</a")) == {b"b"}
    assert _allowed(_after(tags, b"<ab>X</ab")) == {b">"}


def test_text_that_leads_nowhere_is_refused_before(keys):
    assert b"," in _allowed(_after(keys, b'{"a":1'))
    assert b"," not in _allowed(_after(keys, b'{"a":1,"b":2'))
    assert _allowed(_after(keys, b'{"a":1,"')) == {b"b"}
    assert b'","' not in _allowed(_after(keys, b'{"a":1,"b'))


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["tags", "keys"])
def test_masks_are_what_reading_says(name, request):
    index = request.getfixturevalue(name)
    rng = random.Random(1)
    for _ in range(30):
        guide = cfgguide.Guide(index)
        for allowed in uniform_walk(guide, rng, 25):
            assert allowed == read_tokens(guide), guide.text


def test_every_text_can_be_finished_and_is_right(keys):
    rng = random.Random(2)
    for _ in range(60):
        guide = cfgguide.Guide(keys)
        text = finish_at_random(guide, rng, rng.randrange(30))
        assert guide.is_finished
        json.loads(text, object_pairs_hook=_different)


def _different(pairs):
    names = [name for name, _ in pairs]
    assert len(set(names)) == len(names), names
    return dict(pairs)


def test_budgets_hold(keys):
    guide, left = cfgguide.Guide(keys), 24
    rng = random.Random(3)
    while not guide.is_finished:
        guide.advance(int(rng.choice(guide.allowed_within(left).tolist())))
        left -= 1
    assert left >= 0
    json.loads(guide.text, object_pairs_hook=_different)


def test_guides_copy_roll_back_and_are_pickled(tags):
    guide = _after(tags, b"<ab>X</a")
    copy = guide.copy()
    copy.rollback(1)
    assert _allowed(copy) == {b"a", b"ab"}
    assert _allowed(guide) == {b"b"}
    assert _allowed(pickle.loads(pickle.dumps(guide))) == {b"b"}


BUNDLED = """
import cfgguide
from cfgguide.sql import runs_on

GRAMMARS = [
    runs_on("CREATE TABLE users (id, name)"),
    cfgguide.monitors.python_names(),
]
"""


@pytest.mark.slow
def test_monitors_of_bundled_languages_are_the_same_in_another_process():
    script = (
        "import pickle, sys\n"
        "sys.stdout.buffer.write(pickle.dumps([grammar.monitor for grammar in GRAMMARS]))"
    )
    made = subprocess.run(
        [sys.executable, "-c", BUNDLED + script],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        stdout=subprocess.PIPE,
        check=True,
    )
    own: dict[str, list[cfgguide.monitors.MonitoredGrammar]] = {}
    exec(BUNDLED, own)
    monitors = [grammar.monitor for grammar in own["GRAMMARS"]]
    loaded = pickle.loads(made.stdout)
    assert loaded == monitors
    assert list(map(hash, loaded)) == list(map(hash, monitors))


@pytest.mark.slow
def test_guides_of_bundled_languages_are_pickled():
    grammar = cfgguide.monitors.python_names()
    guide = cfgguide.Guide(cfgguide.compile(grammar, cfgguide.Vocabulary.of_bytes()))
    for byte in b"y = 1; z = ":
        guide.advance(byte)
    loaded = pickle.loads(pickle.dumps(guide))
    assert list(loaded.allowed_token_ids()) == list(guide.allowed_token_ids())


def test_forced_text_and_expected_terminals_know_the_monitor(tags):
    guide = _after(tags, b"<ab>X</")
    assert guide.forced_bytes() == b"ab>"
    assert guide.expected() == ("NAME",)


def test_refusals_are_explained(tags):
    explanation = _after(tags, b"<ab>X</").explain(b"ac")
    assert (explanation.is_allowed, explanation.offset) == (False, 1)
    assert "the monitor allows no NAME 'ac' here" in explanation.reason
    assert _after(tags, b"<ab>X</").explain(b"ab").is_allowed


def test_a_pool_keeps_grammars_with_monitors_apart():
    pool = cfgguide.IndexPool(VOCABULARY)
    watched = pool.index(OBJECTS.watched_by(UniqueKeys()))
    assert pool.index(OBJECTS.watched_by(UniqueKeys())) is watched
    assert pool.index(OBJECTS) is not watched


def test_a_bitmask_fits_a_batch(tags):
    guides = [_after(tags, b"<ab>X</"), _after(tags, b"<")]
    rows = np.zeros((2, VOCABULARY.n_words), dtype=np.int32)
    cfgguide.fill_bitmasks(guides, rows)
    for guide, row in zip(guides, rows, strict=True):
        alone = np.zeros(VOCABULARY.n_words, dtype=np.int32)
        guide.fill_bitmask(alone)
        assert (row == alone).all()


class _Nothing(Monitor):
    terminals = frozenset({"LBRACE"})

    def texts(self, terminal):
        return NOTHING

    def shifted(self, terminal, text):
        return self


class _Raises(_Nothing):
    def texts(self, terminal):
        raise ValueError("the database is gone")


class _ReturnsText(_Nothing):
    def texts(self, terminal):
        return "{"


class _Unknown(_Nothing):
    terminals = frozenset({"BRACE"})


class _UnknownRule(_Nothing):
    rules = frozenset({"pairs"})


class _Liar(Monitor):
    """Says that a text can always be finished, and then allows no value."""

    terminals = frozenset({"NUMBER", "LBRACE"})

    def __init__(self, n: int = 0) -> None:
        self.n = n

    can_finish = True

    def texts(self, terminal):
        return NOTHING if self.n else None

    def shifted(self, terminal, text):
        return _Liar(self.n + 1)


@pytest.mark.parametrize(
    ("monitor", "error", "message"),
    [
        (_Nothing(), MonitorError, "allows no text at all"),
        (_Raises(), MonitorError, "ValueError: the database is gone"),
        (_ReturnsText(), MonitorError, "None or a Texts"),
        (_Unknown(), GrammarError, "'BRACE', which the grammar does not have"),
        (_UnknownRule(), GrammarError, "the rule 'pairs'"),
    ],
)
def test_bad_monitors_are_refused_when_the_index_is_made(monitor, error, message):
    with pytest.raises(error, match=message):
        cfgguide.compile(OBJECTS.watched_by(monitor), VOCABULARY)


def test_a_monitor_that_keeps_no_promise_is_an_error_at_the_step():
    guide = cfgguide.Guide(cfgguide.compile(OBJECTS.watched_by(_Liar()), VOCABULARY))
    for byte in b'{"a":':
        guide.advance(byte)
    with pytest.raises(MonitorError, match="leaves no way on"):
        guide.allowed_token_ids()


def test_what_is_no_monitor_is_refused():
    with pytest.raises(GrammarError, match="not by function"):
        OBJECTS.watched_by(lambda text: True)


def test_an_unhashable_monitor_is_refused():
    @dataclass
    class Listing(_Nothing):
        seen: list

    with pytest.raises(GrammarError, match="not hashable"):
        OBJECTS.watched_by(Listing([]))


def test_ambiguous_grammars_have_no_monitor():
    grammar = cfgguide.Grammar('start: start start | "a"', parser="earley")
    with pytest.raises(GrammarError, match="one parse"):
        cfgguide.compile(grammar.watched_by(_nothing_followed()), VOCABULARY)


def _nothing_followed():
    class Idle(Monitor):
        def texts(self, terminal):
            return None

        def shifted(self, terminal, text):
            return self

    return Idle()


def test_a_vocabulary_that_cannot_cut_texts_is_refused():
    vocabulary = cfgguide.Vocabulary([b"aa", b"a", b"ab", None], eos_token_ids=3)
    grammar = cfgguide.Grammar('start: "aab"')
    with pytest.raises(VocabularyError):
        cfgguide.compile(grammar.watched_by(_nothing_followed()), vocabulary)


def test_an_index_with_a_monitor_is_not_saved(tags, tmp_path):
    with pytest.raises(GrammarError, match="cannot be saved"):
        tags.save(tmp_path / "tags.index")


class _Forgetful(UniqueKeys):
    """Says that the keys so far are not relevant."""

    @property
    def relevant(self):
        return len(self.open)


def test_lies_about_relevance_are_found():
    texts = ['{"a":1,"b":2}', '{"b":1,"a":2}', '{"a":{"b":1}}']
    check_monitor(OBJECTS.watched_by(UniqueKeys()), texts)
    with pytest.raises(MonitorError, match="relevant"):
        check_monitor(OBJECTS.watched_by(_Forgetful()), texts)


def test_refused_sentences_are_found():
    with pytest.raises(MonitorError, match="is refused"):
        check_monitor(OBJECTS.watched_by(UniqueKeys()), ['{"a":1,"a":2}'])


def test_monitors_of_one_grammar_share_it_in_threads():
    indexes = [cfgguide.compile(OBJECTS.watched_by(UniqueKeys()), VOCABULARY) for _ in range(4)]
    assert len({id(index.machine.base) for index in indexes}) == 1
    found: list[list[tuple[bytes, frozenset[int]]]] = [[] for _ in indexes]

    def walk(number):
        rng = random.Random(7)
        for _ in range(20):
            guide = cfgguide.Guide(indexes[number])
            for _ in range(20):
                allowed = frozenset(guide.allowed_token_ids().tolist())
                found[number].append((guide.text, allowed))
                going_on = sorted(allowed.difference(VOCABULARY.eos_token_ids))
                if not going_on:
                    break
                guide.advance(rng.choice(going_on))

    threads = [threading.Thread(target=walk, args=(number,)) for number in range(len(indexes))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0]
    assert all(each == found[0] for each in found)


def test_texts_that_were_read_are_forgotten():
    index = cfgguide.compile(TAGS.watched_by(Tags()), VOCABULARY)
    letters = "abcdefghijklmnopqrstuvwxyz"
    for name in map("".join, itertools.islice(itertools.product(letters, repeat=3), 12_000)):
        assert index.machine.advance(index.machine.initial, f"<{name}>X".encode()) is not None
    gc.collect()
    n_kept = sum(isinstance(each, Tags) for each in gc.get_objects())
    assert n_kept < 2 * 3_000 + 100, "places, and places after lexemes"
