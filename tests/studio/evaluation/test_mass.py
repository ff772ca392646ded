"""The probability that masks keep and remove, against decimal numbers of 200 digits."""

from __future__ import annotations

import decimal
import math
from decimal import Decimal

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import cfgguide
from cfgguide.errors import BitmaskError
from cfgguide.evaluation import kept_mass, log_probabilities, token_log_probabilities
from cfgguide.integrations import additive_mask, bool_mask

INFINITY = math.inf


def packed(allowed: list[bool]) -> np.ndarray:
    """The packed mask, bit by bit."""
    words = [0] * -(-len(allowed) // 32)
    for token_id, is_allowed in enumerate(allowed):
        words[token_id // 32] |= is_allowed << (token_id % 32)
    return np.array(words, dtype=np.uint32).view(np.int32)


def log(value: Decimal) -> float:
    return float(value.ln()) if value else -INFINITY


def exact(
    logits: list[float], allowed: list[bool]
) -> tuple[float, float, list[float], list[float]]:
    """log Z, the log of what is removed, and all log-probabilities, raw and masked."""
    with decimal.localcontext() as context:
        context.prec = 200
        context.Emin, context.Emax = -999_999, 999_999
        weights = [Decimal(x).exp() if x > -INFINITY else Decimal(0) for x in logits]
        every = sum(weights)
        kept = sum((w for w, a in zip(weights, allowed, strict=True) if a), Decimal(0))
        raw = [log(w / every) for w in weights]
        masked = [
            log(w / kept) if a and kept else -INFINITY
            for w, a in zip(weights, allowed, strict=True)
        ]
        return log(kept / every), log((every - kept) / every), raw, masked


#: Logits, and which are allowed.
CASES = {
    "alike": ([0.0] * 5, [True, False, True, False, False]),
    "nearly all is kept": ([50.0, 49.0, -40.0, 3.0], [True, True, False, True]),
    "hardly anything is kept": ([50.0, 49.0, -40.0, 3.0], [False, False, True, False]),
    "what is removed cannot be told from nothing": ([0.0, -300.0], [True, False]),
    "what is kept cannot be told from nothing": ([0.0, -300.0], [False, True]),
    "everything is allowed": ([1.0, 2.0, 3.0], [True] * 3),
    "nothing is allowed": ([1.0, 2.0, 3.0], [False] * 3),
    "large logits": ([80.0, 81.0, 79.0], [True, False, True]),
    "small logits": ([-180.0, -181.0, -179.0], [True, False, True]),
    "tokens without probability": ([-INFINITY, 1.0, 2.0, -INFINITY], [True, True, False, False]),
    "only tokens without probability are allowed": ([-INFINITY, 1.0, 2.0], [True, False, False]),
    "a half": ([1.0, 1.0], [True, False]),
}
KINDS = [
    (np.float64, 1e-13),
    (np.float32, 1e-13),
    (np.float16, 1e-13),
    (torch.float64, 1e-13),
    (torch.float32, 1e-6),
    (torch.bfloat16, 1e-6),
    (torch.float16, 1e-6),
]


@pytest.mark.parametrize(("dtype", "error"), KINDS, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_all_is_as_exact_as_the_numbers_allow(name, dtype, error):
    numbers, allowed = CASES[name]
    if isinstance(dtype, torch.dtype):
        logits = torch.tensor(numbers, dtype=torch.float64).to(dtype)
        bitmask = torch.from_numpy(packed(allowed))
    else:
        logits, bitmask = np.array(numbers).astype(dtype), packed(allowed)
    given = [float(x) for x in logits]  # as they are in that format
    log_kept, log_removed, raw, masked = exact(given, allowed)
    close = {"rel": error, "abs": error * 1e-3}
    found = kept_mass(logits, bitmask)
    assert float(found.log_kept) == pytest.approx(log_kept, **close)
    assert float(found.log_removed) == pytest.approx(log_removed, **close)
    every = log_probabilities(logits, bitmask)
    assert every.raw.tolist() == pytest.approx(raw, rel=error, abs=10 * error)
    assert every.masked.tolist() == pytest.approx(masked, rel=error, abs=10 * error)
    rows = len(numbers), -1
    each = token_log_probabilities(
        logits.reshape(1, -1).repeat(len(numbers), 0)
        if isinstance(logits, np.ndarray)
        else logits.expand(rows),
        bitmask.reshape(1, -1).repeat(len(numbers), 0)
        if isinstance(bitmask, np.ndarray)
        else bitmask.expand(rows),
        np.arange(len(numbers)),
    )
    assert each.raw.tolist() == pytest.approx(raw, rel=error, abs=10 * error)
    assert each.masked.tolist() == pytest.approx(masked, rel=error, abs=10 * error)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.floats(-60, 60, width=32), st.booleans()), min_size=1, max_size=70))
def test_numpy_and_torch_agree_with_the_definition(columns):
    numbers, allowed = [x for x, _ in columns], [is_allowed for _, is_allowed in columns]
    log_kept, log_removed, raw, masked = exact(numbers, allowed)
    bitmask = packed(allowed)
    for logits, mask in [
        (np.array(numbers), bitmask),
        (torch.tensor(numbers, dtype=torch.float64), torch.from_numpy(bitmask)),
    ]:
        found = kept_mass(logits, mask)
        assert float(found.log_kept) == pytest.approx(log_kept, rel=1e-12, abs=1e-300)
        assert float(found.log_removed) == pytest.approx(log_removed, rel=1e-12, abs=1e-300)
        every = log_probabilities(logits, mask)
        assert every.raw.tolist() == pytest.approx(raw, rel=1e-12, abs=1e-12)
        assert every.masked.tolist() == pytest.approx(masked, rel=1e-12, abs=1e-12)


def test_a_row_without_any_probability_has_none():
    for logits, mask in [
        (np.full((1, 3), -INFINITY), packed([True, False, True])[None]),
        (torch.full((1, 3), -INFINITY), torch.from_numpy(packed([True, False, True]))[None]),
    ]:
        found = kept_mass(logits, mask)
        assert math.isnan(found.log_kept[0])
        assert math.isnan(found.log_removed[0])


def test_axes_before_the_last_are_rows():
    generator = np.random.default_rng(1)
    logits = generator.normal(size=(2, 3, 40))
    allowed = generator.random((2, 3, 40)) < 0.5
    bitmask = np.array([[packed(row.tolist()) for row in rows] for rows in allowed])
    found = kept_mass(logits, bitmask)
    assert found.log_kept.shape == (2, 3)
    for place in np.ndindex(2, 3):
        alone = kept_mass(logits[place], bitmask[place])
        assert found.log_kept[place] == pytest.approx(float(alone.log_kept))
    ids = generator.integers(0, 40, size=(2, 3))
    of_tokens = token_log_probabilities(logits, bitmask, ids)
    every = log_probabilities(logits, bitmask)
    for place in np.ndindex(2, 3):
        assert of_tokens.raw[place] == every.raw[place][ids[place]]
        assert of_tokens.masked[place] == every.masked[place][ids[place]]


def test_a_loss_over_the_allowed_tokens_has_a_gradient_on_them_alone():
    logits = torch.tensor([[1.0, 2.0, 3.0, 4.0]], requires_grad=True)
    bitmask = torch.from_numpy(packed([True, False, True, False]))[None]
    loss = -token_log_probabilities(logits, bitmask, torch.tensor([2])).masked.sum()
    loss.backward()
    p = math.exp(1) / (math.exp(1) + math.exp(3))  # softmax over the two
    assert loss.item() == pytest.approx(-math.log(1 - p))
    assert logits.grad.tolist()[0] == pytest.approx([p, 0.0, -p, 0.0])


# --- Masks as one value for each token -----------------------------------------------------------


@pytest.mark.parametrize("n_columns", [1, 31, 32, 33, 64, 70])
def test_masks_are_unpacked_bit_by_bit(n_columns):
    generator = np.random.default_rng(n_columns)
    allowed = generator.random((2, 3, n_columns)) < 0.5
    bitmask = np.array([[packed(row.tolist()) for row in rows] for rows in allowed])
    assert np.array_equal(bool_mask(bitmask, n_columns), allowed)
    assert np.array_equal(bool_mask(torch.from_numpy(bitmask), n_columns).numpy(), allowed)
    expected = np.where(allowed, 0.0, -INFINITY)
    assert np.array_equal(additive_mask(bitmask, n_columns), expected)
    added = additive_mask(torch.from_numpy(bitmask), n_columns, dtype=torch.bfloat16)
    assert added.dtype == torch.bfloat16
    assert np.array_equal(added.float().numpy(), expected)


def test_columns_without_a_bit_are_not_allowed():
    """A model's logits may be wider than its vocabulary."""
    bitmask = packed([True] * 32)
    assert bool_mask(bitmask, 100).tolist() == [True] * 32 + [False] * 68
    assert bool_mask(torch.from_numpy(bitmask), 100).tolist() == [True] * 32 + [False] * 68
    assert bool_mask(bitmask, 20).tolist() == [True] * 20


def test_strided_masks_are_read_as_they_are():
    bitmask = np.arange(12, dtype=np.int32).reshape(2, 6)[:, ::2]
    contiguous = np.ascontiguousarray(bitmask)
    assert np.array_equal(bool_mask(bitmask, 96), bool_mask(contiguous, 96))
    tensor = torch.arange(12, dtype=torch.int32).reshape(2, 6)[:, ::2]
    assert np.array_equal(bool_mask(tensor, 96).numpy(), bool_mask(contiguous, 96))


WORDS = np.zeros((2, 1), dtype=np.int32)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: bool_mask([1, 2], 4), "must be a numpy array or a torch tensor, not list"),
        (lambda: bool_mask(np.zeros(1), 4), "must be int32 with its words in the last axis"),
        (lambda: bool_mask(np.int32(3), 4), "not int32"),
        (lambda: bool_mask(torch.zeros(1, dtype=torch.int64), 4), "not torch.int64 of shape"),
        (lambda: bool_mask(np.zeros(3, dtype=np.int32), 64), "of up to 2 words, not 3"),
        (lambda: kept_mass([0.0], WORDS), "the logits must be a numpy array or a torch tensor"),
        (lambda: kept_mass(np.zeros((2, 4)), torch.from_numpy(WORDS)), "must both be numpy"),
        (lambda: kept_mass(torch.zeros(2, 4), WORDS), "must both be numpy"),
        (lambda: kept_mass(np.zeros((3, 4)), WORDS), r"logits of shape \(3, 4\) take a bitmask"),
        (lambda: kept_mass(np.zeros((2, 4), dtype=np.int64), WORDS), "must be floating, not int64"),
        (lambda: kept_mass(np.zeros((2, 40)), np.zeros((2, 3), dtype=np.int32)), "2 words, not 3"),
    ],
)
def test_what_does_not_fit_is_an_error(ask, said):
    with pytest.raises(BitmaskError, match=said):
        ask()


def test_the_masks_of_a_guide_are_understood():
    vocabulary = cfgguide.Vocabulary([b"a"] * 40 + [b"b", None], eos_token_ids=41)
    guide = cfgguide.Guide(cfgguide.compile(cfgguide.Grammar('start: "b"'), vocabulary))
    bitmask = np.empty(vocabulary.n_words, dtype=np.int32)
    guide.fill_bitmask(bitmask)
    found = kept_mass(np.zeros(vocabulary.size), bitmask)
    assert float(found.log_kept) == pytest.approx(math.log(1 / 42))
