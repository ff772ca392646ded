"""Beam search finds the most probable sentences, by comparison with all of them."""

from __future__ import annotations

import numpy as np
import pytest
from support.table_models import model_law, table_model
from support.yes_no import EOS, INDEX, SPELLINGS, YES_NO, Batched, packed

import cfgguide
from cfgguide.errors import GenerationError


def best(model, n, prompt=()):
    law = model_law(model, SPELLINGS, prompt)
    return sorted(law, key=law.__getitem__, reverse=True)[:n]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n_beams", [1, 2, 3, 20])
def test_beams_hold_the_most_probable_sentences(seed, n_beams):
    """All of them, in order, where there are enough beams for every beginning."""
    model = table_model(6, seed)
    found = cfgguide.decoding.beam_search(
        model, (3,), index=INDEX, n_beams=n_beams, max_new_tokens=6
    )
    law = model_law(model, SPELLINGS, (3,))
    assert [np.exp(each.log_prob) for each in found] == pytest.approx(
        [law[each.token_ids] for each in found]
    )
    assert sorted(found, key=lambda each: -each.log_prob) == found
    assert all(each.is_complete for each in found)
    if n_beams == 20:
        assert [each.token_ids for each in found] == best(model, n_beams, (3,))


def test_more_beams_find_what_greedy_decoding_misses():
    """By brute force over models: greedy is often worse than three beams, and never better."""
    gains = []
    for seed in range(30):
        model = table_model(6, seed)
        greedy = cfgguide.sample(model, index=INDEX, max_new_tokens=6, temperature=0)
        three = cfgguide.decoding.beam_search(model, index=INDEX, n_beams=3, max_new_tokens=6)
        gains.append(three[0].log_prob - greedy.log_prob)
    assert min(gains) > -1e-9
    assert max(gains) > 0.5


def test_beams_are_ranked_by_the_model_and_not_by_the_mask():
    """ "yes" has most of the mass among the two; that "no" is likelier to end makes up for it."""

    def model(token_ids):
        rows = {(): [0.06, 0.04, 0.9], (0,): [0.5, 0.4, 0.1], (1,): [0.05, 0.05, 0.9]}
        return np.log(rows[tuple(token_ids)])

    found = cfgguide.decoding.beam_search(model, index=YES_NO, n_beams=2, max_new_tokens=2)
    assert [each.text for each in found] == ["no", "yes"]
    assert np.exp(found[0].log_prob) == pytest.approx(0.04 * 0.9)
    assert np.exp(sum(found[0].masked_log_probs)) == pytest.approx(0.4)


def test_unfinished_texts_come_last_and_only_if_the_tokens_ran_out():
    found = cfgguide.decoding.beam_search(
        table_model(6, 0), index=INDEX, n_beams=20, max_new_tokens=3, finish=False
    )
    kinds = [each.is_complete for each in found]
    assert kinds == sorted(kinds, reverse=True)
    assert set(kinds) == {True, False}
    short = [ids for ids in SPELLINGS if len(ids) <= 3]
    assert sorted(each.token_ids for each in found if each.is_complete) == sorted(short)


def test_all_texts_are_finished_where_they_are_to_be():
    found = cfgguide.decoding.beam_search(
        table_model(6, 0), index=INDEX, n_beams=20, max_new_tokens=3
    )
    short = [ids for ids in SPELLINGS if len(ids) <= 3]
    assert sorted(each.token_ids for each in found) == sorted(short)


def test_the_search_ends_when_nothing_can_become_better():
    """EOS is all but sure after the first text, so what the other beams come to is not asked."""
    every = cfgguide.compile(
        cfgguide.Grammar('start: "a"+'), cfgguide.Vocabulary([b"a", None], eos_token_ids=1)
    )
    calls = []

    def model(token_ids):
        calls.append(tuple(token_ids))
        return np.log([0.1, 0.9])

    (found,) = cfgguide.decoding.beam_search(model, index=every, n_beams=1, max_new_tokens=50)
    assert found.text == "a"
    assert calls == [(), (0,)]


LATE = cfgguide.compile(
    cfgguide.Grammar('start: "c" "a"? "b"?'),
    cfgguide.Vocabulary([b"a", b"b", b"c", None], eos_token_ids=3),
)


def late(token_ids):
    rows = {
        (): [0.03, 0.03, 0.9, 0.04],
        (2,): [0.3, 0.28, 0.02, 0.4],
        (2, 0): [0.6, 0.1, 0.2, 0.1],
        (2, 1): [0.03, 0.03, 0.04, 0.9],
    }
    return np.log(rows.get(tuple(token_ids), [0.25] * 4))


def test_an_eos_takes_no_beams_place():
    """Behind "c" EOS, "a" and "b" are tried, though there are two beams."""
    found = cfgguide.decoding.beam_search(late, index=LATE, n_beams=2, max_new_tokens=4)
    assert [each.text for each in found] == ["c", "cb"]


def test_a_finished_text_does_not_end_the_search_while_a_better_one_may_come():
    def model(token_ids):
        return np.log([0.9, 0.1] if len(token_ids) < 3 else [0.01, 0.99])

    every = cfgguide.compile(
        cfgguide.Grammar('start: "a"+'), cfgguide.Vocabulary([b"a", None], eos_token_ids=1)
    )
    (found,) = cfgguide.decoding.beam_search(model, index=every, n_beams=1, max_new_tokens=50)
    assert found.text == "aaa"


def test_beams_that_can_go_nowhere_are_dropped():
    def model(token_ids):  # after "a" the model excludes all that may follow
        return [-np.inf] * 5 + [0.0] if tuple(token_ids) == (0,) else np.array([9, 0, 0, 0, 0, 0])

    found = cfgguide.decoding.beam_search(model, index=INDEX, n_beams=2, max_new_tokens=6)
    assert found
    assert all(each.token_ids[0] != 0 for each in found)
    with pytest.raises(GenerationError, match="after b'' the restriction leaves none"):
        cfgguide.decoding.beam_search(
            model, index=INDEX, n_beams=2, max_new_tokens=6, restrict=lambda *_: packed(2)
        )


def test_a_model_is_asked_once_a_step():
    batched = Batched(1)
    found = cfgguide.decoding.beam_search(batched, (0,), index=INDEX, n_beams=20, max_new_tokens=6)
    assert len(batched.asked) == max(len(each.token_ids) for each in found)
    assert all(len(set(step)) == len(step) for step in batched.asked)


def test_a_prefix_is_kept():
    model = table_model(6, 1)
    found = cfgguide.decoding.beam_search(
        model, index=INDEX, n_beams=20, max_new_tokens=6, prefix_ids=(1, 0)
    )
    assert [each.token_ids for each in found] == [(1, 0, 2, EOS)]
    done = cfgguide.decoding.beam_search(
        model, index=YES_NO, n_beams=2, max_new_tokens=2, prefix_ids=(0, 2)
    )
    assert [each.text for each in done] == ["yes"]


def test_no_beams_are_refused():
    with pytest.raises(GenerationError, match="n_beams is 0"):
        cfgguide.decoding.beam_search(table_model(6, 0), index=INDEX, n_beams=0, max_new_tokens=6)
