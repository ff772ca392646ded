"""A model of transformers as a function: the same logits as without a cache, from fewer tokens."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import torch
from support.tiny_models import fresh_random_model, random_model, untrained, vocabulary_of
from transformers import GPT2LMHeadModel, MambaConfig, MambaForCausalLM

import cfgguide
from cfgguide.errors import ModelError

N_COLUMNS = 300


@functools.cache
def model_with_learned_positions():
    return untrained(
        GPT2LMHeadModel, 0, vocab_size=N_COLUMNS, n_positions=64, n_embd=32, n_layer=2, n_head=2,
        initializer_range=0.4, bos_token_id=None,
    )  # fmt: skip


MODELS = {"rotary": lambda: random_model(N_COLUMNS), "learned": model_with_learned_positions}


def plain(model, token_ids):
    """The logits of the next token from the whole sequence, without a cache."""
    with torch.inference_mode():
        return model(torch.tensor([token_ids]), use_cache=False).logits[0, -1].numpy()


# name: (calls, tokens that they run together)
CALLS = {
    "a sequence grows by one token": ([[(5, 6, 7)], [(5, 6, 7, 8)], [(5, 6, 7, 8, 9)]], 5),
    "it grows by several": ([[(5, 6)], [(5, 6, 7, 8, 9, 10)], [(5, 6, 7, 8, 9, 10, 11)]], 7),
    "a prompt is shared": ([[(5, 6, 7)], [(5, 6, 7, 8), (5, 6, 7, 9), (5, 6, 7, 10)]], 6),
    "rows change places": (
        [[(5, 6), (5, 7), (5, 8)], [(5, 8, 1), (5, 6, 2)], [(5, 6, 2, 3), (5, 8, 1, 4)]],
        10,
    ),
    "rows grow by different numbers": (
        [
            [(5, 6, 7)],
            [(5, 6, 7, 8), (5, 6, 7, 9, 10, 11)],
            [(5, 6, 7, 8, 1, 2, 3), (5, 6, 7, 9, 10, 11, 12)],
            [(5, 6, 7, 8, 1, 2, 3, 4), (5, 6, 7, 8, 1, 9)],
        ],
        3 + 4 + 4 + 2,
    ),
    "tokens are taken back": ([[(5, 6, 7, 8, 9)], [(5, 6, 1)], [(5, 6, 1, 2), (5, 3)]], 8),
    "a sequence is asked again": ([[(5, 6, 7)], [(5, 6, 7)], [(5, 6)]], 5),
    "another sequence": ([[(5, 6, 7)], [(8, 9)]], 5),
    "prompts of different lengths": ([[(5,), (6, 7, 8, 9)], [(5, 1), (6, 7, 8, 9, 2)]], 7),
    "one sequence is new": ([[(5, 6, 7)], [(5, 6, 7, 8), (9, 8, 7, 6, 5)]], 9),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", MODELS)
def test_logits_are_those_of_the_whole_sequence_and_only_new_tokens_run(kind, name):
    model = MODELS[kind]()
    adapted = cfgguide.integrations.TransformersModel(model)
    calls, n_tokens = CALLS[name]
    for sequences in calls:
        found = adapted.logits(sequences)
        expected = np.array([plain(model, each) for each in sequences])
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, atol=2e-3, rtol=1e-4)
    assert adapted.n_tokens_run == n_tokens


@pytest.mark.parametrize("kind", MODELS)
def test_logits_stay_right_over_many_random_calls(kind):
    """Rows are copied, dropped, cut back and continued at random, as a search would."""
    model = MODELS[kind]()
    adapted = cfgguide.integrations.TransformersModel(model)
    random = np.random.default_rng(0)
    rows = [(5, 6, 7)]
    for _ in range(12):
        found = adapted.logits(rows)
        np.testing.assert_allclose(
            found, np.array([plain(model, each) for each in rows]), atol=2e-3, rtol=1e-4
        )
        grown = set()
        for _ in range(random.integers(1, 5)):
            row = rows[random.integers(len(rows))]
            row = row[: max(1, len(row) - int(random.integers(3)))]
            grown.add((*row, *random.integers(1, N_COLUMNS, size=random.integers(4)).tolist()))
        rows = sorted(grown)


def test_gaps_do_not_grow_without_bound():
    """One row writes ten tokens and takes them back, over and over, while the other goes on."""
    model = random_model(N_COLUMNS)
    adapted = cfgguide.integrations.TransformersModel(model)
    steady = (5, 6)
    for round_ in range(60):
        steady = (*steady, 7 + round_)
        adapted.logits([steady, (5, *range(10, 20), round_)])
        steady = (*steady, 3)
        found = adapted.logits([steady, (5,)])
    assert adapted._is_token.shape[1] < 550  # it would be over 700
    expected = np.array([plain(model, each) for each in (steady, (5,))])
    np.testing.assert_allclose(found, expected, atol=2e-3, rtol=1e-4)


def test_one_sequence_may_be_asked_as_of_any_model():
    model = random_model(N_COLUMNS)
    found = cfgguide.integrations.TransformersModel(model)((5, 6))
    np.testing.assert_allclose(found, plain(model, (5, 6)), atol=2e-3)


def test_a_forgotten_sequence_runs_again():
    adapted = cfgguide.integrations.TransformersModel(random_model(N_COLUMNS))
    adapted.logits([(5, 6, 7)])
    adapted.forget()
    adapted.logits([(5, 6, 7, 8)])
    assert adapted.n_tokens_run == 3 + 4


def test_a_call_that_failed_leaves_nothing_wrong_behind():
    model = model_with_learned_positions()
    adapted = cfgguide.integrations.TransformersModel(model)
    adapted.logits([(5, 6)])
    with pytest.raises(IndexError):  # the model has 300 ids
        adapted.logits([(5, 6, N_COLUMNS)])
    np.testing.assert_allclose(adapted((5, 6, 7)), plain(model, (5, 6, 7)), atol=2e-3)


def test_half_precision_gives_float32():
    model = random_model(N_COLUMNS, dtype=torch.bfloat16)
    assert cfgguide.integrations.TransformersModel(model)((5, 6)).dtype == np.float32


def test_what_is_no_such_model_is_refused():
    with pytest.raises(ModelError, match="expected a causal model of transformers, found a str"):
        cfgguide.integrations.TransformersModel("gpt2")
    config = MambaConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, state_size=4)
    with pytest.raises(ModelError, match="a MambaForCausalLM keeps no keys and values"):
        cfgguide.integrations.TransformersModel(MambaForCausalLM(config))
    with pytest.raises(ModelError, match="at least one token"):
        cfgguide.integrations.TransformersModel(random_model(N_COLUMNS))(())
    with pytest.raises(ModelError, match="at least one sequence"):
        cfgguide.integrations.TransformersModel(random_model(N_COLUMNS)).logits([])
    with pytest.raises(
        ModelError, match=r"wrap .* as cfgguide.integrations.TransformersModel\(model\)"
    ):
        cfgguide.sample(random_model(N_COLUMNS), (1,), index=small_index(), max_new_tokens=9)


# --- In the loops --------------------------------------------------------------------------------

PIECES = ["ab", "ba", "abab", "  "]


@functools.cache
def small_index():
    return cfgguide.compile(cfgguide.Grammar('start: ("a" | "b")~4..8 "c"'), vocabulary_of(PIECES))


@pytest.mark.parametrize("seed", range(3))
def test_greedy_decoding_is_that_of_transformers_own_loop(seed):
    model = fresh_random_model(N_COLUMNS, seed=seed)
    written = cfgguide.sample(
        cfgguide.integrations.TransformersModel(model),
        (65, 66),
        index=small_index(),
        max_new_tokens=12,
        temperature=0,
    )
    process = cfgguide.LogitsProcessor(small_index())
    expected = model.generate(
        torch.tensor([[65, 66]]), max_new_tokens=12, do_sample=False, logits_processor=[process]
    )
    assert [65, 66, *written.token_ids] == expected[0].tolist()
    assert written.is_complete


@pytest.mark.slow
@pytest.mark.parametrize("decode", ["sample", "beams", "steer"])
def test_each_loop_writes_the_same_with_and_without_a_cache(decode):
    model = random_model(N_COLUMNS)
    settings = {"index": small_index(), "max_new_tokens": 12}

    def texts(given):
        if decode == "sample":
            found = cfgguide.decoding.sample_many(
                given, [(65,)] * 6 + [(66, 67)] * 2, seed=1, **settings
            )
        elif decode == "beams":
            found = cfgguide.decoding.beam_search(given, (65,), n_beams=4, **settings)
        else:
            steered = cfgguide.decoding.steer(given, (65,), n_particles=8, seed=1, **settings)
            found = [each.sample for each in steered.particles]
        return [each.token_ids for each in found]

    adapted = cfgguide.integrations.TransformersModel(model)
    assert texts(adapted) == texts(lambda token_ids: plain(model, token_ids))
    assert adapted.n_tokens_run < 35  # 68 to 144 without a cache
