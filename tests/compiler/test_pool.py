"""A pool of indexes: one for each grammar, and no more of them than fit."""

from __future__ import annotations

import threading
import time
import weakref

import numpy as np
import pytest
from support.small_tokenizers import standard_library_vocabulary
from support.threads import in_threads
from support.whole_indexes import walked, whole_index

import cfgguide
from cfgguide import Grammar, Guide, IndexPool, Vocabulary
from cfgguide.base.footprint import footprint
from cfgguide.errors import CfgGuideError, GrammarError, LimitError

VOCABULARY = Vocabulary.of_bytes()
TOKENS = VOCABULARY.tokens[:256]


def grammar(number: int) -> Grammar:
    return Grammar(f'start: "[" "x{number}" ("," NAME)* "]"\nNAME: /[a-z]+/')


def test_a_pool_takes_what_is_written_in_any_form():
    pool = IndexPool(VOCABULARY)
    schema = {"type": "integer", "minimum": 5}
    assert pool.index(schema) is pool.index(dict(schema))
    assert not Guide(pool.index(schema)).accepts(TOKENS.index(b"a"))
    assert Guide(pool.index(["ab", "c"])).accepts(TOKENS.index(b"a"))
    assert len(pool) == 2


@pytest.mark.parametrize("max_bytes", [-1, "1", None, True])
def test_bytes_of_a_pool_are_a_number(max_bytes):
    with pytest.raises(LimitError, match=f"max_bytes is {max_bytes!r}; it is a number of bytes"):
        IndexPool(VOCABULARY, max_bytes=max_bytes)


# --- What is measured -----------------------------------------------------------------------------


class Holder:
    def __init__(self, *held: object) -> None:
        self.held = held


def test_a_footprint_counts_what_is_held_once_and_what_is_shared_not_at_all():
    mine, others = np.zeros(50_000), np.zeros(90_000)
    view = mine[10:]
    held = Holder(mine, view, {"mine": mine}, others)
    assert 400_000 < footprint(held, shared=[others]) < 402_000
    assert 1_120_000 < footprint(held) < 1_122_000
    assert footprint(Holder(Holder, np, footprint)) < 1_000


def test_an_index_knows_what_it_holds():
    index = whole_index('start: /[a-z]+/ ("," /[0-9]+/)*', TOKENS)
    fresh = index.footprint
    masks = walked(index, 1)
    used = index.footprint
    assert used > fresh + index.nbytes / 2
    assert index.footprint == used, "measuring adds nothing"
    index.release_workspace()
    workspace = used - index.footprint
    assert workspace > 100_000
    index.forget_steps()
    assert index.footprint <= used - workspace
    assert walked(index, 1) == masks
    assert walked(index, 2)
    text_bytes = sum(len(token) + 33 for token in TOKENS)
    assert footprint(VOCABULARY) > text_bytes
    large = Vocabulary.of_bytes(b"%d" % n for n in range(20_000))
    grown = cfgguide.compile(grammar(1), large).footprint
    assert grown < footprint(large), "the vocabulary is not the index's"


# --- The pool -------------------------------------------------------------------------------------


def test_equal_grammars_have_one_index():
    pool = IndexPool(VOCABULARY)
    first = pool.index(grammar(1))
    assert pool.index(grammar(1)) is first
    assert pool.index(grammar(2)) is not first
    assert len(pool) == 2
    assert pool.nbytes == pytest.approx(first.footprint + pool.index(grammar(2)).footprint, rel=0.1)


def test_a_pool_gives_the_index_that_compile_gives():
    pool = IndexPool(VOCABULARY)
    for number in range(3):
        alone = cfgguide.compile(grammar(number), VOCABULARY)
        assert walked(pool.index(grammar(number)), 7) == walked(alone, 7)


@pytest.mark.slow
def test_many_grammars_stay_within_the_bound():
    max_bytes = 3_000_000
    pool = IndexPool(VOCABULARY, max_bytes=max_bytes)
    alive: weakref.WeakSet[cfgguide.Index] = weakref.WeakSet()
    n_made = 0
    for number in range(60):
        index = pool.index(grammar(number))
        alive.add(index)
        walked(index, number)
        n_made += index.n_made
        del index
        assert pool.first_visits.n == n_made, "those of dropped indexes count as well"
        assert pool.nbytes <= max_bytes
        assert len(alive) == len(pool), "an index that is let go is gone at once"
    assert 2 <= len(pool) < 40
    held = sum(index.footprint for index in alive)
    assert held <= 1.5 * max_bytes


def test_the_grammar_asked_for_longest_ago_goes_first():
    pool = IndexPool(VOCABULARY, max_bytes=3_000_000)
    kept = pool.index(grammar(0))
    number = 1
    second = weakref.ref(pool.index(grammar(1)))
    while second() is not None:
        number += 1
        pool.index(grammar(number))
        assert pool.index(grammar(0)) is kept
        assert number < 100
    assert len(pool) > 2


def test_one_index_is_kept_however_large():
    pool = IndexPool(VOCABULARY, max_bytes=1)
    first = pool.index(grammar(1))
    assert pool.index(grammar(1)) is first
    pool.index(grammar(2))
    assert len(pool) == 1


def test_an_index_that_grows_in_use_is_measured_again(monkeypatch):
    monkeypatch.setattr("cfgguide.index_pool._PAUSE", 0)
    pool = IndexPool(VOCABULARY)
    index = pool.index(grammar(1))
    index.masks.token_classes.work()  # what the search holds is let go at its end

    def measured() -> int:
        for _ in range(100):
            pool.index(grammar(1))
        return pool.nbytes

    before = measured()
    for seed in range(20):
        walked(index, seed)
    assert measured() > before


def test_one_thread_at_a_time_measures_again(monkeypatch):
    monkeypatch.setattr("cfgguide.index_pool._PAUSE", 0)
    monkeypatch.setattr("cfgguide.index_pool._N_REQUESTS", 1)
    pool = IndexPool(VOCABULARY)
    for number in range(4):
        pool.index(grammar(number))
    measuring, at_once = threading.Lock(), []
    measure = cfgguide.Index.footprint.fget

    def slowly(index: cfgguide.Index) -> int:
        at_once.append(measuring.acquire(blocking=False))
        time.sleep(0.05)
        if at_once[-1]:
            measuring.release()
        return measure(index)

    monkeypatch.setattr(cfgguide.Index, "footprint", property(slowly))
    in_threads(lambda number: pool.index(grammar(number)), [*range(4)] * 4)
    assert at_once
    assert all(at_once)


def test_a_guide_goes_on_when_its_index_was_let_go():
    pool = IndexPool(VOCABULARY, max_bytes=1)
    guide = Guide(pool.index(grammar(1)))
    guide.advance(ord("["))
    pool.index(grammar(2))
    for byte in b"x1,ab]":
        guide.advance(byte)
    guide.rollback(2)
    guide.advance(ord("]"))
    assert guide.is_accepting


def test_what_cannot_be_compiled_is_told_every_time_and_not_kept():
    pool = IndexPool(VOCABULARY)
    for _ in range(2):
        with pytest.raises(GrammarError):
            pool.index(Grammar("start: nothing"))
    assert len(pool) == 0


def test_limits_reach_the_compiler():
    pool = IndexPool(VOCABULARY, limits=cfgguide.Limits(max_fsm_states=2))
    with pytest.raises(CfgGuideError, match="max_fsm_states"):
        pool.index(grammar(1))


def test_threads_that_ask_for_one_grammar_get_one_index():
    pool = IndexPool(VOCABULARY)
    barrier = threading.Barrier(8)

    def work(_: int) -> list[cfgguide.Index]:
        barrier.wait()
        return [pool.index(grammar(number % 3)) for number in range(9)]

    found = [index for each in in_threads(work, range(8)) for index in each]
    assert len(found) == 72
    assert len({id(index) for index in found}) == 3


SLOW = cfgguide.Grammar("start: /(a|b)*a(a|b){12}c/ | /(a|b)*b(a|b){12}d/")  # seconds


def test_a_grammar_is_compiled_until_all_who_wait_have_left():
    pool = IndexPool(VOCABULARY)
    has_left, errors = threading.Event(), []

    def ask() -> None:
        try:
            pool.index(SLOW, cancelled=has_left.is_set)
        except CfgGuideError as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    has_left.set()
    for thread in threads:
        thread.join()
    assert len(errors) == 3
    assert all("cancelled" in str(error) for error in errors)
    assert len(pool) == 0


@pytest.mark.slow
def test_who_stays_gets_the_index_though_another_one_has_left():
    pool = IndexPool(VOCABULARY)
    has_left, errors = threading.Event(), []

    def leave() -> None:
        try:
            pool.index(SLOW, cancelled=has_left.is_set)
        except CfgGuideError as error:
            errors.append(error)

    thread = threading.Thread(target=leave)
    thread.start()
    time.sleep(0.3)
    threading.Timer(0.2, has_left.set).start()  # while the other one waits too
    index = pool.index(SLOW, cancelled=lambda: False)
    thread.join()
    assert errors == []
    assert pool.index(SLOW) is index


@pytest.mark.slow
def test_who_asks_after_all_have_left_gets_the_index():
    pool = IndexPool(VOCABULARY)
    with pytest.raises(CfgGuideError, match="cancelled"):
        pool.index(SLOW, cancelled=lambda: True)
    assert cfgguide.Guide(pool.index(SLOW)).allowed_token_ids().tolist() == [*b"ab"]


@pytest.mark.slow
def test_threads_share_a_pool_that_is_too_small():
    """Indexes come and go while others use them; their masks are those of one thread."""
    pool = IndexPool(VOCABULARY, max_bytes=1_500_000)
    alone = {n: walked(cfgguide.compile(grammar(n), VOCABULARY), n, 8) for n in range(12)}
    barrier, wrong = threading.Barrier(6), []

    def work(first: int) -> None:
        barrier.wait()
        for step in range(24):
            number = (first * 5 + step) % 12
            if walked(pool.index(grammar(number)), number, 8) != alone[number]:
                wrong.append(number)

    in_threads(work, range(6))
    assert wrong == []
    assert len(pool) < 12


@pytest.mark.parametrize("asked", [grammar(0), cfgguide.json_schema({})])
def test_the_first_mask_is_given_up_like_compiling(monkeypatch, asked):
    began = threading.Event()

    def never_ends(index: cfgguide.Index, node: object) -> None:
        began.set()
        end = time.monotonic() + 30
        while time.monotonic() < end:
            pass

    monkeypatch.setattr(cfgguide.Index, "allowed", never_ends)
    pool = IndexPool(VOCABULARY, use_cache=False)
    with pytest.raises(LimitError, match="cancelled, at the first mask"):
        pool.index(asked, cancelled=began.is_set)
    assert len(pool) == 0


@pytest.mark.parametrize(
    "made", [cfgguide.regex, lambda text: cfgguide.json_schema({"pattern": f"^{text}$"})]
)
def test_the_first_mask_of_any_machine_is_held_to_the_limits_of_the_pool(made):
    """It would take a minute: each boundary of the pattern may be any of its rounds."""
    pool = IndexPool(standard_library_vocabulary(), limits=cfgguide.Limits(max_seconds=0.5))
    with pytest.raises(LimitError, match="max_seconds"):
        pool.index(made(r"(?:.|\b|.){4000}"))
