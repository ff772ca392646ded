"""Sampling with any model: its law, its numbers, and what it asks of the model.

The laws are found by enumeration (`table_models`), not by the engine.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

import numpy as np
import pytest
from support.table_models import chi_squared, masked_law, model_law, next_law, table_model
from support.yes_no import EOS, INDEX, SPELLINGS, YES_NO, Batched, packed

import cfgguide
from cfgguide.errors import BudgetError, GenerationError, ModelError, TokenRejectedError


def flat(token_ids):
    return np.zeros(6)


# --- The law -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_masked_samples_follow_the_locally_renormalised_law(seed):
    """And not the model conditioned on writing a sentence, from which the test tells them."""
    model = table_model(6, seed)
    law = masked_law(model, SPELLINGS)
    conditioned = model_law(model, SPELLINGS)
    conditioned = {ids: each / sum(conditioned.values()) for ids, each in conditioned.items()}
    written = cfgguide.decoding.sample_many(
        model, [()] * 5000, index=INDEX, max_new_tokens=5, seed=seed
    )
    counts = Counter(each.token_ids for each in written)
    statistic, bound = chi_squared(counts, law)
    assert statistic < bound
    statistic, bound = chi_squared(counts, conditioned)
    assert statistic > 10 * bound


def test_a_prompt_changes_the_law_and_is_no_part_of_the_sample():
    model, prompt = table_model(6, 3), (4, 4, 1)
    law = masked_law(model, SPELLINGS, prompt)
    written = cfgguide.decoding.sample_many(
        model, [prompt] * 5000, index=INDEX, max_new_tokens=5, seed=0
    )
    counts = Counter(each.token_ids for each in written)
    statistic, bound = chi_squared(counts, law)
    assert statistic < bound
    statistic, bound = chi_squared(counts, masked_law(model, SPELLINGS))
    assert statistic > bound


def test_the_temperature_acts_on_the_masked_law():
    model = table_model(6, 4)
    tempered = masked_law(lambda token_ids: model(token_ids) / 0.5, SPELLINGS)
    written = cfgguide.decoding.sample_many(
        model, [()] * 5000, index=INDEX, max_new_tokens=5, temperature=0.5, seed=0
    )
    statistic, bound = chi_squared(Counter(each.token_ids for each in written), tempered)
    assert statistic < bound


# --- The numbers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_probabilities_are_the_models_and_those_of_the_masked_law(seed):
    model, prompt = table_model(6, seed), (2, 0)
    alone = model_law(model, SPELLINGS, prompt)
    masked = masked_law(model, SPELLINGS, prompt)
    for each in cfgguide.decoding.sample_many(
        model, [prompt] * 9, index=INDEX, max_new_tokens=5, seed=seed
    ):
        assert np.exp(each.log_prob) == pytest.approx(alone[each.token_ids])
        assert np.exp(sum(each.masked_log_probs)) == pytest.approx(masked[each.token_ids])
        assert each.log_mass == pytest.approx(each.log_prob - sum(each.masked_log_probs))
        assert len(each.log_probs) == len(each.log_masses) == len(each.token_ids)
        first = next_law(model, prompt)
        assert np.exp(each.log_masses[0]) == pytest.approx(first[[0, 1, 3, 4]].sum())  # not c, EOS
        assert np.exp(each.log_probs[0]) == pytest.approx(first[each.token_ids[0]])


def test_columns_behind_the_vocabulary_have_their_part_of_the_mass():
    """A model with four ids more than the tokenizer spends half of its mass on those."""
    written = cfgguide.sample(lambda _: np.zeros(12), index=INDEX, max_new_tokens=5, seed=0)
    assert np.exp(written.log_probs) == pytest.approx(1 / 12)
    assert np.exp(written.log_masses[0]) == pytest.approx(4 / 12)


def test_log_z_is_zero_where_the_mask_takes_nothing_away():
    every = cfgguide.compile(
        cfgguide.Grammar('start: ("a" | "b")*'),
        cfgguide.Vocabulary([b"a", b"b", None], eos_token_ids=2),
    )
    written = cfgguide.sample(table_model(3, 0), index=every, max_new_tokens=4, seed=0)
    assert written.log_masses == pytest.approx([0.0] * len(written.token_ids), abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_logits_may_be_of_any_width_and_size(dtype):
    """Large logits neither overflow nor lose what they differ in."""
    rows = np.array([30000, 30000, 0], dtype=dtype)
    written = cfgguide.sample(lambda _: rows, index=YES_NO, max_new_tokens=1, seed=0, finish=False)
    assert written.log_probs == pytest.approx([np.log(0.5)])
    assert written.log_masses == pytest.approx([0.0])


# --- The text ------------------------------------------------------------------------------------


def test_greedy_takes_the_most_probable_allowed_token():
    def model(token_ids):  # would write "b" for ever, and after it most of all "a"
        return np.array([1, 3, -1, 0, 0, 2.0])

    written = cfgguide.sample(model, index=INDEX, max_new_tokens=9, temperature=0)
    assert (written.text, written.token_ids, written.is_complete) == ("bbc", (1, 1, 2, EOS), True)


def test_a_sample_that_runs_out_of_tokens_is_not_complete():
    written = cfgguide.sample(flat, index=INDEX, max_new_tokens=2, temperature=0, finish=False)
    assert (written.text, written.token_ids, written.is_complete) == ("aa", (0, 0), False)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 9])
def test_a_sample_is_finished_within_its_tokens(n):
    """What can come first is what brute force finds, and so is its chance."""
    short = [ids for ids in SPELLINGS if len(ids) <= n]
    model = table_model(6, 0)
    written = cfgguide.decoding.sample_many(
        model, [()] * 300, index=INDEX, max_new_tokens=n, seed=0
    )
    assert {each.token_ids for each in written} <= set(short)
    assert {each.token_ids[0] for each in written} == {ids[0] for ids in short}
    assert all(each.is_complete for each in written)
    mass = sum(next_law(model, ())[token_id] for token_id in {ids[0] for ids in short})
    assert np.exp(written[0].log_masses[0]) == pytest.approx(mass)


def test_where_no_sentence_can_be_finished_in_time_it_is_said_before_the_model_is_asked():
    def model(token_ids):
        raise AssertionError("the model was asked")

    for write in (
        cfgguide.sample,
        partial(cfgguide.decoding.beam_search, n_beams=2),
        partial(cfgguide.decoding.steer, n_particles=2),
    ):
        with pytest.raises(BudgetError, match="no sentence can be finished within 1"):
            write(model, index=INDEX, max_new_tokens=1)


def test_a_text_that_is_cut_inside_a_character_ends_before_it():
    vocabulary = cfgguide.Vocabulary([b"\xc3", b"\xa9", None], eos_token_ids=2)
    index = cfgguide.compile(cfgguide.Grammar('start: "é"+'), vocabulary)
    written = cfgguide.sample(
        lambda _: np.zeros(3), index=index, max_new_tokens=3, temperature=0, finish=False
    )
    assert (written.token_ids, written.text) == ((0, 1, 0), "é")


def test_a_prefix_is_part_of_the_text_and_not_of_the_probabilities():
    model = table_model(6, 1)
    written = cfgguide.sample(
        model, (2, 2), index=INDEX, prefix_ids=(1, 0), max_new_tokens=5, temperature=0
    )
    assert (written.token_ids, written.text) == ((1, 0, 2, EOS), "bac")
    laws = [next_law(model, (2, 2, 1, 0)), next_law(model, (2, 2, 1, 0, 2))]
    assert np.exp(written.log_probs) == pytest.approx([laws[0][2], laws[1][EOS]])


def test_a_prefix_that_is_a_finished_sentence_is_left_as_it_is():
    written = cfgguide.sample(
        flat, index=YES_NO, prefix_ids=(1, 2), max_new_tokens=5, temperature=0
    )
    assert (written.text, written.is_complete, written.log_probs) == ("no", True, ())


def test_any_eos_ends_a_sample():
    vocabulary = cfgguide.Vocabulary([b"a", None, None], eos_token_ids=(1, 2))
    index = cfgguide.compile(cfgguide.Grammar('start: "a"'), vocabulary)
    model = table_model(3, 0)
    written = cfgguide.decoding.sample_many(model, [()] * 50, index=index, max_new_tokens=3, seed=0)
    assert {each.token_ids for each in written} == {(0, 1), (0, 2)}
    assert all(each.is_complete for each in written)


# --- Random numbers ------------------------------------------------------------------------------


def test_a_seed_makes_samples_reproducible():
    def texts(seed):
        model = table_model(6, 0)
        made = cfgguide.decoding.sample_many(
            model, [()] * 30, index=INDEX, max_new_tokens=5, seed=seed
        )
        return [each.token_ids for each in made]

    assert texts(1) == texts(1)
    assert texts(1) != texts(2)
    assert texts(np.random.default_rng(1)) == texts(1)


def test_a_sample_does_not_depend_on_those_beside_it():
    model = table_model(6, 0)
    prompts = [(0,), (1,), (0,), (2,)]
    four = cfgguide.decoding.sample_many(model, prompts, index=INDEX, max_new_tokens=5, seed=3)
    two = cfgguide.decoding.sample_many(model, [(0,), (5,)], index=INDEX, max_new_tokens=5, seed=3)
    assert four[0] == two[0]


# --- What is asked of the model ------------------------------------------------------------------


def test_a_model_is_asked_once_a_step_for_the_sequences_that_differ():
    batched = Batched(0)
    prompts = [(0, 1)] * 40 + [(2,)] * 40
    written = cfgguide.decoding.sample_many(batched, prompts, index=INDEX, max_new_tokens=5, seed=0)
    single = cfgguide.decoding.sample_many(
        table_model(6, 0), prompts, index=INDEX, max_new_tokens=5, seed=0
    )
    assert written == single
    assert batched.asked[0] == [(0, 1), (2,)]
    asked = [each for step in batched.asked for each in step]
    assert len(asked) == len(set(asked))
    assert len(batched.asked) == max(len(each.token_ids) for each in written)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda _: np.zeros(5), "the model's logits have 5 columns, the vocabulary 6 ids"),
        (lambda _: np.zeros((1, 6)), r"shape \(1, 6\) for a sequence"),
        (lambda _: [0, 0, 0, 0, 0, np.nan], "largest of the model's logits is nan"),
        (lambda _: [0, 0, 0, 0, 0, np.inf], "largest of the model's logits is inf"),
        (lambda _: [-np.inf] * 6, "largest of the model's logits is -inf"),
        ("gpt2", "a str is not a function from token ids to logits"),
    ],
)
def test_a_model_that_is_none_is_refused(model, message):
    with pytest.raises(ModelError, match=message):
        cfgguide.sample(model, index=INDEX, max_new_tokens=5)


def test_a_batch_of_another_shape_is_refused():
    class Short:
        def logits(self, sequences):
            return np.zeros((len(sequences) + 1, 6))

    with pytest.raises(ModelError, match=r"shape \(2, 6\) for 1 sequences: expected \(1, n_col"):
        cfgguide.sample(Short(), index=INDEX, max_new_tokens=5)


# --- What cannot be ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_new_tokens": 0}, "max_new_tokens is 0"),
        ({"temperature": -1}, "temperature is -1"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": "one"}, "seed is 'one'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(GenerationError, match=message):
        cfgguide.sample(flat, index=INDEX, **{"max_new_tokens": 5, **settings})


def test_a_model_that_excludes_all_that_is_allowed_is_an_error():
    def model(token_ids):
        return [-np.inf, -np.inf, 0.0]

    with pytest.raises(GenerationError, match="after b'' the model excludes all 2 allowed tokens"):
        cfgguide.sample(model, index=YES_NO, max_new_tokens=5)


def test_a_prefix_with_which_no_sentence_begins_is_refused():
    with pytest.raises(TokenRejectedError, match=r"token 2 \(b'c'\) may not follow b''"):
        cfgguide.sample(flat, index=INDEX, max_new_tokens=5, prefix_ids=(2,))


# --- Forced text ---------------------------------------------------------------------------------

LETTERS = [bytes([byte]) for byte in b"abcdef"]
FORCING = cfgguide.compile(
    cfgguide.Grammar('start: ("a" | "b") "cde" ("a" | "b" | "fff")'),
    cfgguide.Vocabulary([*LETTERS, b"cd", None], eos_token_ids=7),
)


def in_pairs(text):
    """Token ids as a tokenizer makes them that knows one pair."""
    return [LETTERS.index(piece) if len(piece) == 1 else 6 for piece in _pieces(text.encode())]


def _pieces(text):
    while text:
        length = 2 if text.startswith(b"cd") else 1
        yield text[:length]
        text = text[length:]


def test_forced_text_is_written_without_the_model_and_has_no_probability():
    asked = []

    def model(token_ids):
        asked.append(tuple(token_ids))
        return np.arange(8, dtype=float)

    written = cfgguide.sample(
        model, (3,), index=FORCING, max_new_tokens=8, temperature=0, force=in_pairs
    )
    assert (written.text, written.token_ids) == ("bcdefff", (1, 6, 4, 5, 5, 5, 7))
    assert asked == [(3,), (3, 1, 6, 4)]
    assert np.isnan(written.log_probs).tolist() == [False, True, True, False, True, True, True]
    assert np.isnan(written.log_masses).tolist() == np.isnan(written.log_probs).tolist()
    assert np.isnan([written.log_prob, written.log_mass]).all()


def test_forced_text_does_not_change_the_law_of_what_is_chosen():
    """A grammar in which what is forced has one spelling; the law is that without forcing."""
    model = table_model(8, 1)
    index = cfgguide.compile(
        cfgguide.Grammar('start: ("a" | "b") "e" ("a" | "b" | "fff")'),
        cfgguide.Vocabulary([*LETTERS, b"cd", None], eos_token_ids=7),
    )
    found = [(a, 4, *end, 7) for a in (0, 1) for end in ((0,), (1,), (5, 5, 5))]
    law = masked_law(model, found)
    written = cfgguide.decoding.sample_many(
        model, [()] * 5000, index=index, max_new_tokens=6, seed=0, force=in_pairs
    )
    statistic, bound = chi_squared(Counter(each.token_ids for each in written), law)
    assert statistic < bound


def test_forced_text_stays_within_the_budget_and_the_restriction():
    options = {"index": FORCING, "temperature": 0, "force": in_pairs}
    for n in range(5, 9):
        assert cfgguide.sample(lambda _: np.arange(8), max_new_tokens=n, **options).is_complete
    cut = cfgguide.sample(lambda _: np.arange(8), max_new_tokens=2, finish=False, **options)
    assert cut.token_ids == (1, 6)
    spelled = cfgguide.sample(
        lambda _: np.arange(8),
        max_new_tokens=9,
        restrict=lambda *_: packed(0, 1, 2, 3, 4, 5, 7),  # no "cd"
        **options,
    )
    assert spelled.token_ids == (1, 2, 3, 4, 5, 5, 5, 7)


# --- Restrictions --------------------------------------------------------------------------------


def test_a_restriction_narrows_the_mask_and_knows_what_is_left():
    seen = []

    def restrict(step, n_left):
        seen.append(n_left)
        return packed(0, 1, 2) if n_left == 5 else None

    written = cfgguide.decoding.sample_many(
        table_model(6, 0), [()] * 60, index=INDEX, max_new_tokens=5, seed=0, restrict=restrict
    )
    assert {each.token_ids[0] for each in written} == {0, 1}  # "c" is in one mask only
    assert {3, 4} & {token_id for each in written for token_id in each.token_ids[1:]}
    first = next_law(table_model(6, 0), ())
    assert np.exp(written[0].log_masses[0]) == pytest.approx(first[[0, 1]].sum())
    assert sorted(set(seen), reverse=True) == [5, 4, 3, 2][: len(set(seen))]


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (packed(2), "after b'' the restriction leaves none of the allowed tokens"),
        (np.zeros(2, dtype=np.int32), r"restriction gave int32 of shape \(2,\), expected"),
        (np.zeros(1, dtype=np.int64), r"restriction gave int64 of shape \(1,\), expected int32"),
    ],
)
def test_a_restriction_that_leaves_nothing_or_is_no_mask_is_an_error(mask, message):
    with pytest.raises(GenerationError, match=message):
        cfgguide.sample(flat, index=INDEX, max_new_tokens=5, restrict=lambda *_: mask)
