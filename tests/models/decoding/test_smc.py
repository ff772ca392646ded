"""Steering: the law of the model conditioned on writing a sentence, and the evidence.

The laws are found by enumeration (`table_models`). What is unbiased is tested as such, with few
particles and many runs: the mean of an unbiased estimate over independent runs is off by its
standard error, which the runs tell. A single draw is biased by an order of 1 / n_particles, and its
law is tested with so many particles that this cannot be seen.
"""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import pytest
from support.steered_cases import CASES, OPEN_INDEX
from support.table_models import (
    chi_squared,
    chi_squared_bound,
    masked_law,
    model_law,
    normalised,
    table_model,
)
from support.yes_no import EOS, INDEX, SPELLINGS, YES_NO, Batched, packed

import cfgguide
from cfgguide.errors import GenerationError, ModelError, ParticleWarning, TokenRejectedError
from cfgguide.models.decoding.prefix_tree import PrefixNode
from cfgguide.models.decoding.smc import _Population


def runs(case, model, n_runs, **settings):
    index, _, most = CASES[case]
    return [
        cfgguide.decoding.steer(model, index=index, max_new_tokens=most, seed=seed, **settings)
        for seed in range(n_runs)
    ]


def n_ids_of(case):
    return CASES[case][0].vocabulary.size


# --- The law -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_draw_from_many_particles_follows_the_conditioned_model(case, seed):
    """With 200 particles; and it does not follow the law of masked sampling."""
    model = table_model(n_ids_of(case), seed)
    conditioned = normalised(model_law(model, CASES[case][1]))
    counts = Counter(
        found.draw(10_000 + number).token_ids
        for number, found in enumerate(runs(case, model, 800, n_particles=200))
    )
    statistic, bound = chi_squared(counts, conditioned)
    assert statistic < bound
    if case == "letters":
        statistic, bound = chi_squared(counts, masked_law(model, CASES[case][1]))
        assert statistic > 2 * bound


def hotelling(estimates, expected):
    """Hotelling's statistic of the mean of some vectors; chi-squared where they are many."""
    off = estimates.mean(axis=0) - expected
    covariance = np.cov(estimates, rowvar=False) / len(estimates)
    return float(off @ np.linalg.solve(covariance, off))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("resample_below", [0.0, 0.7, 1.0])
def test_weights_times_evidence_are_unbiased_with_few_particles(case, resample_below):
    """For each of the most probable sentences, together: their probability under the model."""
    model = table_model(n_ids_of(case), 5, spread=0.5)
    law = model_law(model, CASES[case][1])
    likely = sorted(law, key=law.__getitem__, reverse=True)[:4]
    found = runs(case, model, 1000, n_particles=3, resample_below=resample_below)
    estimates = np.array(
        [
            [
                np.exp(each.log_evidence)
                * sum(part.weight for part in each.particles if part.sample.token_ids == ids)
                for ids in likely
            ]
            for each in found
        ]
    )
    expected = np.array([law[ids] for ids in likely])
    assert hotelling(estimates, expected) < chi_squared_bound(4)
    assert hotelling(estimates, expected * [1.5, 1, 1, 1]) > chi_squared_bound(4)
    assert any(each.n_resampled for each in found) == (resample_below > 0)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_particles", "resample_below"), [(1, 0.5), (3, 0.0), (3, 1.0), (8, 0.5)]
)
def test_the_evidence_is_unbiased(case, n_particles, resample_below):
    model = table_model(n_ids_of(case), 6, spread=0.7)
    expected = sum(model_law(model, CASES[case][1]).values())
    found = runs(case, model, 500, n_particles=n_particles, resample_below=resample_below)
    estimates = np.exp([each.log_evidence for each in found])
    error = estimates.std() / len(estimates) ** 0.5
    assert abs(estimates.mean() - expected) < 3.5 * error
    assert error < 0.08 * expected  # so that 30 % off would be seen


def test_many_particles_come_near_to_the_exact_numbers():
    for case, (_, sequences, _) in CASES.items():
        model = table_model(n_ids_of(case), 7)
        law = model_law(model, sequences)
        (found,) = runs(case, model, 1, n_particles=100_000)
        assert np.exp(found.log_evidence) == pytest.approx(sum(law.values()), rel=0.02)
        assert found.mean(lambda each: len(each.text)) == pytest.approx(
            sum(
                probability * sum(len(CASES[case][0].vocabulary.tokens[i] or b"") for i in ids)
                for ids, probability in normalised(law).items()
            ),
            rel=0.02,
        )


def test_the_temperature_is_the_models_own():
    model = table_model(6, 8)
    law = model_law(model, SPELLINGS, temperature=0.5)
    (found,) = runs("letters", model, 1, n_particles=100_000, temperature=0.5)
    assert np.exp(found.log_evidence) == pytest.approx(sum(law.values()), rel=0.02)
    for particle in found.particles[:3]:
        expected = normalised(law)[particle.sample.token_ids]
        assert particle.weight == pytest.approx(expected, rel=0.05)


def test_that_all_particles_are_finished_in_time_changes_no_law():
    """They are, by masks within the budget, or by a restriction that tries everything."""
    index, sequences, _ = CASES["brackets"]
    model = table_model(4, 9)
    law = model_law(model, sequences)

    def is_possible(step, n_left):
        allowed = index.allowed(step).token_ids().tolist() if n_left else []
        return 3 in allowed or any(
            is_possible(index.advance(step, token_id), n_left - 1) for token_id in allowed
        )

    def restrict(step, n_left):
        allowed = index.allowed(step).token_ids().tolist()
        return packed(
            *(i for i in allowed if i == 3 or is_possible(index.advance(step, i), n_left - 1))
        )

    settings = [{"finish": False}, {"finish": False, "restrict": restrict}, {"finish": True}]
    free, bound, finished = (
        runs("brackets", model, 1, n_particles=50_000, **each)[0] for each in settings
    )
    for each in (free, bound, finished):
        assert np.exp(each.log_evidence) == pytest.approx(sum(law.values()), rel=0.02)
        for particle in each.particles[:3]:
            expected = normalised(law)[particle.sample.token_ids]
            assert particle.weight == pytest.approx(expected, rel=0.05)
    assert sum(each.n for each in bound.particles) == 50_000
    assert finished == bound
    assert sum(each.n for each in free.particles) < 50_000


# --- Particles -----------------------------------------------------------------------------------


def test_particles_are_finished_sentences_that_differ_the_heaviest_first():
    (found,) = runs("brackets", table_model(4, 0), 1, n_particles=300)
    ids = [each.sample.token_ids for each in found.particles]
    assert len(set(ids)) == len(ids)
    assert set(ids) <= set(CASES["brackets"][1])
    assert all(each.sample.is_complete for each in found.particles)
    weights = [each.weight for each in found.particles]
    assert sum(weights) == pytest.approx(1)
    assert weights == sorted(weights, reverse=True)
    assert 1 <= sum(each.n for each in found.particles) <= 300


def test_without_resampling_weights_are_the_masses_of_the_steps():
    (found,) = runs("letters", table_model(6, 0), 1, n_particles=500, resample_below=0)
    masses = np.array([each.n * np.exp(each.sample.log_mass) for each in found.particles])
    assert [each.weight for each in found.particles] == pytest.approx(masses / masses.sum())
    assert np.exp(found.log_evidence) == pytest.approx(masses.sum() / 500)
    single = np.concatenate([[np.exp(each.sample.log_mass)] * each.n for each in found.particles])
    assert found.effective_size == pytest.approx(single.sum() ** 2 / (single**2).sum())


def test_resampling_is_systematic_and_keeps_the_number():
    """As many copies on average as the share says, and never off by more than one."""
    start = OPEN_INDEX.start
    nodes = [PrefixNode(None, -1, start, is_finished=True) for _ in range(3)]
    cloud = _Population(nodes, np.array([2, 1, 1]), np.log([0.1, 0.5, 0.3]))
    copies = np.zeros(3)
    for step in range(1000):
        found = cloud.resampled(4, (step + 0.5) / 1000)
        assert found.counts.sum() == 4
        assert found.log_weights.tolist() == [0.0] * len(found.nodes)
        for each, count in zip(found.nodes, found.counts, strict=True):
            copies[nodes.index(each)] += count / 1000
            assert abs(count - 4 * [0.2, 0.5, 0.3][nodes.index(each)]) < 1
    assert copies == pytest.approx([0.8, 2.0, 1.2], abs=1e-3)


def test_resampling_keeps_the_number_where_shares_round_to_less_than_one():
    nodes = [PrefixNode(None, -1, OPEN_INDEX.start, is_finished=True) for _ in range(10)]
    cloud = _Population(nodes, np.ones(10, dtype=np.int64), np.zeros(10))
    assert cloud.resampled(10, np.nextafter(1, 0)).counts.sum() == 10


def test_texts_count_once_however_they_are_spelled():
    (found,) = runs("letters", table_model(6, 0, spread=0.5), 1, n_particles=500)
    shares = found.probabilities()
    assert set(shares) == {"ac", "bc", "aac", "abc", "bac", "bbc"}
    assert len(found.particles) > len(shares)
    assert sum(shares.values()) == pytest.approx(1)
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    assert shares["abc"] == pytest.approx(found.mean(lambda each: each.text == "abc"))


def test_a_seed_makes_steering_reproducible():
    model = table_model(4, 0)
    first, again = (runs("brackets", model, 2, n_particles=20) for _ in range(2))
    assert first == again
    assert first[0] != first[1]
    assert first[0].draw(5) == first[0].draw(5)
    assert len({first[0].draw(seed) for seed in range(30)}) > 1


def test_a_model_is_asked_once_a_step_for_particles_that_differ():
    batched = Batched(0)
    found = cfgguide.decoding.steer(
        batched, (0,), index=INDEX, n_particles=400, max_new_tokens=5, seed=0
    )
    asked = [each for step in batched.asked for each in step]
    assert len(asked) == len(set(asked))
    assert len(batched.asked) <= 5
    assert sum(each.n for each in found.particles) == 400


def test_a_prefix_is_a_condition():
    model = table_model(6, 0)
    found = cfgguide.decoding.steer(
        model, index=INDEX, n_particles=500, max_new_tokens=5, prefix_ids=(1,), seed=0
    )
    law = model_law(model, [ids[1:] for ids in SPELLINGS if ids[0] == 1], (1,))
    assert np.exp(found.log_evidence) == pytest.approx(sum(law.values()), rel=0.1)
    assert {each.sample.token_ids for each in found.particles} <= {(1, *ids) for ids in law}
    (done,) = cfgguide.decoding.steer(
        model, index=INDEX, n_particles=3, max_new_tokens=5, prefix_ids=(4, EOS)
    ).particles
    assert (done.sample.text, done.n, done.weight) == ("bc", 3, 1.0)


# --- Nothing to be found -------------------------------------------------------------------------


def excluding(token_ids):
    return [-np.inf, -np.inf, 0.0]


@pytest.mark.parametrize(
    "settings",
    [
        # a word and EOS are two
        {"model": table_model(3, 0), "max_new_tokens": 1, "finish": False},
        {"model": excluding, "max_new_tokens": 2},
        {"model": table_model(3, 0), "max_new_tokens": 2, "restrict": lambda *_: packed(2)},
    ],
)
def test_where_no_particle_is_finished_the_evidence_says_so(settings):
    model = settings.pop("model")
    found = cfgguide.decoding.steer(model, index=YES_NO, n_particles=9, seed=0, **settings)
    assert (found.particles, found.log_evidence, found.effective_size) == ((), -np.inf, 0.0)
    assert found.probabilities() == {}
    for ask in (found.draw, lambda: found.mean(lambda each: 1.0)):
        with pytest.raises(GenerationError, match="no particle was finished"):
            ask()


def test_particles_that_can_go_nowhere_have_no_weight():
    """After "yes" the model excludes EOS: all of the weight is with "no"."""

    def model(token_ids):
        return [0.0, 0.0, -np.inf] if tuple(token_ids) in {(), (0,)} else [-np.inf, -np.inf, 0.0]

    found = cfgguide.decoding.steer(model, index=YES_NO, n_particles=1000, max_new_tokens=2, seed=0)
    assert found.probabilities() == {"no": 1.0}
    assert np.exp(found.log_evidence) == pytest.approx(0.5, rel=0.01)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_particles": 0}, "n_particles is 0"),
        ({"resample_below": 1.5}, "resample_below is 1.5"),
        ({"temperature": 0}, "temperature is 0; a positive number"),
        ({"max_new_tokens": 0}, "max_new_tokens is 0"),
        ({"seed": -5}, "seed is -5"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    given = {"n_particles": 5, "max_new_tokens": 5, **settings}
    with pytest.raises(GenerationError, match=message):
        cfgguide.decoding.steer(table_model(6, 0), index=INDEX, **given)


@pytest.mark.filterwarnings("error:.*encountered")
def test_at_a_temperature_of_almost_0_there_is_one_text():
    settings = {"index": YES_NO, "n_particles": 4, "max_new_tokens": 2, "temperature": 1e-320}
    found = cfgguide.decoding.steer(lambda ids: [0.3, 0.2, 0.1 + len(ids)], **settings)
    assert found.probabilities() == {"yes": 1.0}


def test_models_and_prefixes_are_looked_at_as_in_sampling():
    with pytest.raises(ModelError, match="1 columns, the vocabulary 6 ids"):
        cfgguide.decoding.steer(lambda _: [0.0], index=INDEX, n_particles=5, max_new_tokens=5)
    with pytest.raises(TokenRejectedError):
        cfgguide.decoding.steer(
            table_model(6, 0), index=INDEX, n_particles=5, max_new_tokens=5, prefix_ids=(2,)
        )


def test_particles_that_all_go_on_from_one_text_are_told_of():
    """After "a" hardly anything that the grammar wants follows: two particles become one text."""
    vocabulary = cfgguide.Vocabulary([b"a", b"b", b"x", None], eos_token_ids=3)
    index = cfgguide.compile(cfgguide.Grammar('start: "ax" | "bx"'), vocabulary)
    rows = {(): [0.5, 0.5, 0, 0], (0,): [0.5, 0.5, 0.00001, 0], (1,): [0.05, 0.05, 0.9, 0]}

    def model(token_ids):
        with np.errstate(divide="ignore"):
            return np.log(rows.get(tuple(token_ids), [0.0, 0.0, 0.0, 1.0]))

    def steered(n_particles, seed, resample_below=0.9):
        settings = {"n_particles": n_particles, "seed": seed, "resample_below": resample_below}
        return cfgguide.decoding.steer(model, index=index, max_new_tokens=3, **settings)

    with pytest.warns(ParticleWarning, match="all 4 particles go on from one text"):
        found = [steered(4, seed) for seed in range(3)]
    assert (1, 1) in {(each.n_resampled, each.n_ancestors) for each in found}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        many = steered(4, 0, resample_below=0)
    assert many.n_ancestors == len(many.particles) == 2
    assert steered(1, 0).n_ancestors == 1  # nothing to resample
