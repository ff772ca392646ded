"""A token is chosen by the settings: each against its definition, spelled out slowly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfgguide.errors import GenerationError
from cfgguide.models.decoding.warpers import Warper, drawn

#: The mass of the allowed tokens is 0.8, and the second and third are equally probable.
ALLOWED = np.log([0.4, 0.16, 0.16, 0.08])
MASKED = [0.5, 0.2, 0.2, 0.1]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, MASKED),
        ({"temperature": 0}, [1, 0, 0, 0]),
        ({"temperature": 1e-320}, [1, 0, 0, 0]),
        ({"temperature": 0.5}, np.array([25, 4, 4, 1]) / 34),
        ({"top_k": 1}, [1, 0, 0, 0]),
        ({"top_k": 2}, [5 / 7, 2 / 7, 0, 0]),  # of the equal ones, that with the lower id
        ({"top_k": 9}, MASKED),
        ({"top_p": 0.5}, [1, 0, 0, 0]),
        ({"top_p": 0.51}, [5 / 7, 2 / 7, 0, 0]),
        ({"top_p": 0.85}, [5 / 9, 2 / 9, 2 / 9, 0]),
        ({"min_p": 0.39}, [5 / 9, 2 / 9, 2 / 9, 0]),
        ({"min_p": 1}, [1, 0, 0, 0]),
        ({"top_k": 3, "top_p": 0.7}, [5 / 7, 2 / 7, 0, 0]),  # 5/9 + 2/9 are 0.78 of what is left
        ({"temperature": 2, "min_p": 0.6}, np.array([5**0.5, 2**0.5, 2**0.5, 0]) / 5.0645),
    ],
)
def test_settings_do_what_they_say_after_the_mask(settings, expected):
    assert Warper(**settings).probabilities(ALLOWED) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"temperature": -1}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"temperature": float("inf")}, "temperature"),
        ({"top_k": 0}, "top_k"),
        ({"top_p": 0}, "top_p"),
        ({"top_p": 1.1}, "top_p"),
        ({"min_p": -0.1}, "min_p"),
        ({"min_p": 1.1}, "min_p"),
    ],
)
def test_settings_out_of_their_range_are_refused(settings, named):
    with pytest.raises(GenerationError, match=rf"\[generation\] {named} is "):
        Warper(**settings)


LOGITS = st.lists(st.integers(-8, 8).map(float) | st.just(-np.inf), min_size=1, max_size=12).filter(
    lambda found: max(found) > -np.inf
)


@given(
    LOGITS,
    st.sampled_from([0.3, 1.0, 2.5]),
    st.none() | st.integers(1, 13),
    st.sampled_from([0.1, 0.5, 0.9, 1.0]),
    st.sampled_from([0.0, 0.2, 1.0]),
)
def test_a_choice_keeps_the_most_probable_tokens_and_their_proportions(
    logits, temperature, top_k, top_p, min_p
):
    found = Warper(temperature, top_k, top_p, min_p).probabilities(np.array(logits))
    powers = np.exp((np.array(logits) - max(logits)) / temperature)
    kept = found > 0
    assert found.sum() == pytest.approx(1)
    assert found[kept] == pytest.approx(powers[kept] / powers[kept].sum())
    assert powers[kept].min() >= powers[~kept].max(initial=0)
    if top_k is not None:
        assert kept.sum() <= top_k


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(any),
    st.lists(st.integers(0, 999), max_size=5),
)
def test_a_uniform_number_draws_the_token_on_whose_share_it_falls(weights, thousandths):
    probabilities = np.array(weights) / sum(weights)
    uniforms = (np.array(thousandths) + 0.5) / 1000
    expected = [
        next(place for place in range(len(weights)) if u < probabilities[: place + 1].sum())
        for u in uniforms
    ]
    assert drawn(probabilities, uniforms).tolist() == expected


def test_what_has_no_probability_is_never_drawn():
    probabilities = np.array([0.0, 1 / 3, 1 / 3, 1 / 3, 0.0])
    assert drawn(probabilities, np.array([0.0, np.nextafter(1, 0)])).tolist() == [1, 3]
