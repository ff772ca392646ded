"""Masks applied to logits. The oracle unpacks the bits with numpy and picks columns one by one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import cfgguide
from cfgguide.errors import BitmaskError
from cfgguide.models import bitmask

NUMPY_FORMATS = [np.float16, np.float32, np.float64]
TORCH_FORMATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
UNUSUAL = [np.inf, -np.inf, np.nan, -0.0, 0.0]


def logits_of(n_rows: int, n_columns: int, *, seed: int = 0) -> np.ndarray:
    """Random numbers, some of them infinite, NaN or zero."""
    random = np.random.default_rng(seed)
    logits = random.normal(size=(n_rows, n_columns)).astype(np.float32)
    is_unusual = random.random(logits.shape) < 0.1
    logits[is_unusual] = random.choice(UNUSUAL, size=int(is_unusual.sum()))
    return logits


def words_of(n_rows: int, n_words: int, *, seed: int = 0) -> np.ndarray:
    """Random words, with runs of all and of none among them."""
    random = np.random.default_rng(seed)
    words = random.integers(-(2**31), 2**31, size=(n_rows, n_words), dtype=np.int32)
    words[random.random(words.shape) < 0.3] = 0
    words[random.random(words.shape) < 0.3] = -1
    return words


def allowed_by(words: np.ndarray, n_columns: int) -> np.ndarray:
    """Which columns the words allow; bool, shape (n_rows, n_columns)."""
    allowed = np.zeros((len(words), n_columns), dtype=bool)
    bits = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1, bitorder="little")
    allowed[:, : bits.shape[1]] = bits[:, :n_columns]
    return allowed


def bits_of(logits: Any) -> list[Any]:
    """The very bits, so that a NaN and the sign of a zero count."""
    if isinstance(logits, torch.Tensor):
        widths = {2: torch.int16, 4: torch.int32, 8: torch.int64}
        return logits.detach().contiguous().view(widths[logits.element_size()]).tolist()
    return np.ascontiguousarray(logits).view(f"i{logits.itemsize}").tolist()


def expected_of(logits: Any, words: np.ndarray, rows: list[int] | None = None) -> list[Any]:
    """The bits of what must come out."""
    expected = logits.copy() if isinstance(logits, np.ndarray) else logits.clone()
    allowed = allowed_by(words, logits.shape[1])
    for row in range(len(logits)) if rows is None else rows:
        for column in np.flatnonzero(~allowed[row]).tolist():
            expected[row, column] = -np.inf
    return bits_of(expected)


def apply_on_device(logits: torch.Tensor, words: np.ndarray, rows: list[int] | None = None) -> None:
    """The way of other devices, on the only one that every machine has."""
    bitmask.mask_on_device(logits, torch.from_numpy(words), rows)


# --- What comes out -------------------------------------------------------------------------------

#: Columns, words: whole words and parts of them, bytes and parts of them, columns without words.
SIZES = [(1, 1), (7, 1), (8, 1), (31, 1), (32, 1), (33, 2), (33, 1), (64, 2), (95, 3), (100, 4),
         (100, 2), (257, 9), (1000, 20), (5, 0), (4001, 126)]  # fmt: skip


@pytest.mark.few(40)
@pytest.mark.parametrize(("n_columns", "n_words"), SIZES)
@pytest.mark.parametrize("n_rows", [1, 2, 7])
@pytest.mark.parametrize("dtype", NUMPY_FORMATS)
def test_arrays_of_numpy(dtype, n_rows, n_columns, n_words):
    logits = logits_of(n_rows, n_columns).astype(dtype)
    words = words_of(n_rows, n_words)
    expected = expected_of(logits, words)
    cfgguide.apply_bitmask(logits, words)
    assert bits_of(logits) == expected


@pytest.mark.few(40)
@pytest.mark.parametrize(("n_columns", "n_words"), SIZES)
@pytest.mark.parametrize("n_rows", [1, 2, 7])
@pytest.mark.parametrize("dtype", TORCH_FORMATS)
@pytest.mark.parametrize("apply", [cfgguide.apply_bitmask, apply_on_device])
def test_tensors_of_torch(apply, dtype, n_rows, n_columns, n_words):
    logits = torch.from_numpy(logits_of(n_rows, n_columns)).to(dtype)
    words = words_of(n_rows, n_words)
    expected = expected_of(logits, words)
    apply(logits, words)
    assert bits_of(logits) == expected


@pytest.mark.slow
@given(data=st.data(), n_rows=st.integers(0, 5), n_columns=st.integers(0, 200))
@settings(deadline=None, max_examples=200)
def test_any_words_in_any_format(data, n_rows, n_columns):
    n_words = data.draw(st.integers(0, -(-n_columns // 32)))
    word = st.one_of(st.sampled_from([0, -1, 1, -(2**31)]), st.integers(-(2**31), 2**31 - 1))
    row = st.lists(word, min_size=n_words, max_size=n_words)
    rows = data.draw(st.lists(row, min_size=n_rows, max_size=n_rows))
    words = np.array(rows, dtype=np.int32).reshape(n_rows, n_words)
    logits = torch.from_numpy(logits_of(n_rows, n_columns)).to(
        data.draw(st.sampled_from(TORCH_FORMATS))
    )
    apply = data.draw(st.sampled_from([cfgguide.apply_bitmask, apply_on_device]))
    expected = expected_of(logits, words)
    apply(logits, words)
    assert bits_of(logits) == expected


def test_as_large_as_models_are():
    """250,112 columns for 250,101 ids."""
    n_columns, n_words = 250_112, 7816
    words = words_of(3, n_words)
    logits = logits_of(3, n_columns)
    expected = np.where(allowed_by(words, n_columns), logits, np.float32(-np.inf))
    by_device = torch.from_numpy(logits.copy())
    cfgguide.apply_bitmask(logits, words)
    assert np.array_equal(logits.view(np.int32), expected.view(np.int32))
    apply_on_device(by_device, words)
    assert np.array_equal(by_device.numpy().view(np.int32), expected.view(np.int32))


def test_a_device_unpacks_some_rows_at_a_time(monkeypatch):
    """The steps do not show in the result, wherever they end."""
    words = words_of(7, 4)
    for columns_at_once in (1, 100, 250, 10_000):
        monkeypatch.setattr(bitmask, "_COLUMNS_AT_ONCE", columns_at_once)
        logits = torch.from_numpy(logits_of(7, 101))
        expected = expected_of(logits, words)
        apply_on_device(logits, words)
        assert bits_of(logits) == expected


def test_one_row_without_a_batch():
    words = words_of(1, 3)[0]
    for logits in (logits_of(1, 90)[0], torch.from_numpy(logits_of(1, 90)[0])):
        expected = expected_of(logits[None], words[None])
        cfgguide.apply_bitmask(logits, words)
        assert bits_of(logits[None]) == expected


@pytest.mark.parametrize("apply", [cfgguide.apply_bitmask, apply_on_device])
def test_one_row_of_words_serves_all_rows(apply):
    words = words_of(1, 3)
    logits = torch.from_numpy(logits_of(5, 90))
    expected = expected_of(logits, np.repeat(words, 5, axis=0))
    apply(logits, words[0] if apply is cfgguide.apply_bitmask else words)
    assert bits_of(logits) == expected


ROWS: list[list[int]] = [[], [0], [3], [4, 1], [0, 1, 2, 3, 4], [2, 2]]


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("apply", [cfgguide.apply_bitmask, apply_on_device])
@pytest.mark.parametrize("is_shared", [False, True], ids=["a row each", "one row of words"])
def test_only_some_rows(is_shared, apply, rows):
    words = words_of(1 if is_shared else 5, 3)
    logits = torch.from_numpy(logits_of(5, 101))
    expected = expected_of(logits, np.repeat(words, 5, axis=0) if is_shared else words, rows)
    if apply is cfgguide.apply_bitmask:
        apply(logits, words[0] if is_shared else words, rows=iter(rows))
    else:
        apply(logits, words, rows)
    assert bits_of(logits) == expected


# --- Where it lies in memory ----------------------------------------------------------------------


def columns_between(array: Any) -> Any:
    return array[:, 5:75]


def every_other_row(array: Any) -> Any:
    return array[::2]


def rows_backwards(array: Any) -> Any:
    return array[::-1]


@pytest.mark.parametrize("view", [columns_between, every_other_row, rows_backwards])
@pytest.mark.parametrize("dtype", NUMPY_FORMATS)
def test_rows_of_numpy_may_lie_apart(dtype, view):
    """And what lies between them is left alone."""
    whole = logits_of(6, 90).astype(dtype)
    before = whole.copy()
    words = words_of(len(view(whole)), 2)
    expected = whole.copy()
    view(expected)[~allowed_by(words, view(whole).shape[1])] = -np.inf
    cfgguide.apply_bitmask(view(whole), words)
    assert bits_of(whole) == bits_of(expected) != bits_of(before)


@pytest.mark.parametrize("view", [columns_between, every_other_row])
@pytest.mark.parametrize("dtype", TORCH_FORMATS)
@pytest.mark.parametrize("apply", [cfgguide.apply_bitmask, apply_on_device])
def test_rows_of_torch_may_lie_apart(apply, dtype, view):
    whole = torch.from_numpy(logits_of(6, 90)).to(dtype)
    words = words_of(len(view(whole)), 2)
    expected = whole.clone()
    view(expected)[torch.from_numpy(~allowed_by(words, view(whole).shape[1]))] = -torch.inf
    apply(view(whole), words)
    assert bits_of(whole) == bits_of(expected)


def test_words_may_lie_anywhere_and_be_read_only():
    whole = words_of(6, 8)
    for words in (whole[::2, ::2], whole[::-2, 1:4], whole[3:, :2], np.asfortranarray(whole[:3])):
        words.flags.writeable = False
        logits = logits_of(3, 256)
        expected = expected_of(logits, words)
        cfgguide.apply_bitmask(logits, words)
        assert bits_of(logits) == expected


def test_words_may_be_a_tensor_and_logits_an_array_and_the_other_way_round():
    words = words_of(2, 3)
    expected = expected_of(logits_of(2, 90), words)
    for logits in (logits_of(2, 90), torch.from_numpy(logits_of(2, 90))):
        cfgguide.apply_bitmask(logits, torch.from_numpy(words))
        assert bits_of(logits) == expected


def test_logits_that_a_gradient_is_kept_for_are_masked_too():
    logits = torch.zeros(1, 3, requires_grad=True)
    cfgguide.apply_bitmask(logits, np.array([0b101], dtype=np.int32))
    assert logits.tolist() == [[0.0, -torch.inf, 0.0]]
    with torch.inference_mode():
        logits = torch.zeros(1, 3)
        cfgguide.apply_bitmask(logits, np.array([0b101], dtype=np.int32))
        assert logits.tolist() == [[0.0, -torch.inf, 0.0]]


# --- What is refused ------------------------------------------------------------------------------

WORD = np.zeros((2, 1), dtype=np.int32)
READ_ONLY = np.frombuffer(bytes(2 * 20 * 4), dtype=np.float32).reshape(2, 20)
FORMATS = "float16, bfloat16, float32, float64"


@pytest.mark.parametrize(
    ("logits", "words", "message"),
    [
        ([[1.0]], WORD, "the logits must be a numpy array or a torch tensor, not list"),
        (np.zeros((2, 20)), [[1]], "the bitmask must be a numpy array or a torch tensor, not list"),
        (np.zeros((2, 20)), WORD.astype(np.int64), "the bitmask must be int32, not int64"),
        (np.zeros((2, 20)), WORD.view(np.uint32), "the bitmask must be int32, not uint32"),
        (np.zeros((2, 20)), WORD.astype(">i4"), "the bitmask must be int32, not >i4"),
        (np.zeros((2, 20)), torch.zeros(2, 1), "the bitmask must be int32, not float32"),
        (np.zeros((2, 20), dtype=int), WORD, f"the logits must be one of {FORMATS}, not int64"),
        (np.zeros((2, 20), dtype=">f4"), WORD, f"the logits must be one of {FORMATS}, not >f4"),
        (torch.zeros(2, 20, dtype=torch.int32), WORD,
         f"the logits must be one of {FORMATS}, not int32"),
        (np.zeros((1, 2, 20)), WORD, "the logits must have one axis or two, not shape (1, 2, 20)"),
        (np.zeros(()), WORD, "the logits must have one axis or two, not shape ()"),
        (torch.zeros(2, 20), WORD[None],
         "the bitmask must have one axis or two, not shape (1, 2, 1)"),
        (np.zeros((3, 20)), WORD, "logits of shape (3, 20) take a bitmask of shape (3, n) or (n,) "
                                  "with n up to 1, not (2, 1)"),
        (np.zeros((2, 20)), WORD[:1], "logits of shape (2, 20) take a bitmask of shape (2, n) or "
                                      "(n,) with n up to 1, not (1, 1)"),
        (torch.zeros(20), WORD, "logits of shape (20,) take a bitmask of shape (1, n) or (n,) with "
                                "n up to 1, not (2, 1)"),
        (np.zeros((2, 32)), np.zeros((2, 2), dtype=np.int32),
         "logits of shape (2, 32) take a bitmask of shape (2, n) or (n,) with n up to 1, "
         "not (2, 2)"),
        (READ_ONLY, WORD, "the logits cannot be written to"),
        (np.zeros((20, 2)).T, WORD, "the columns of the logits must lie side by side in memory"),
        (torch.zeros(2, 40)[:, ::2], WORD,
         "the columns of the logits must lie side by side in memory"),
        (torch.zeros(20).expand(2, 20), WORD, "the rows of the logits overlap in memory"),
        (torch.zeros(40).as_strided((2, 20), (10, 1)), WORD,
         "the rows of the logits overlap in memory"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(logits, words, message):
    with pytest.raises(BitmaskError) as caught:
        cfgguide.apply_bitmask(logits, words)
    assert str(caught.value) == f"[bitmask] {message}"


@pytest.mark.parametrize("row", [-1, 2, 10**10])
def test_rows_that_there_are_not_are_refused(row):
    logits = np.zeros((2, 20), dtype=np.float32)
    with pytest.raises(BitmaskError) as caught:
        cfgguide.apply_bitmask(logits, WORD, rows=[0, row])
    assert str(caught.value) == f"[bitmask] row {row} is not one of the logits' 2"
    assert not logits.any()  # not one row was masked


# --- What has been ruled out ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TORCH_FORMATS)
@pytest.mark.parametrize("is_apart", [False, True])
def test_a_row_is_open_if_something_allowed_is_left(dtype, is_apart):
    for seed in range(40):
        words = words_of(9, 4, seed=seed) & words_of(9, 4, seed=seed + 100)
        words[np.random.default_rng(seed).random(9) < 0.3, :3] = 0
        logits = torch.from_numpy(logits_of(9, 120, seed=seed)).to(dtype)
        logits[np.random.default_rng(seed).random((9, 120)) < 0.95] = -torch.inf
        logits = logits[:, 1:] if is_apart else logits
        cfgguide.apply_bitmask(logits, words)
        expected = [any(value != -np.inf for value in row) for row in logits.tolist()]
        assert bitmask.open_rows(logits, words).tolist() == expected
        assert bitmask.open_rows_on_device(logits).tolist() == expected
    assert True in expected
    assert False in expected


# --- Without a compiler ---------------------------------------------------------------------------


@pytest.mark.slow
def test_the_kernels_run_uncompiled_with_the_same_results():
    script = """
import support.uncompiled
import numpy as np, torch, test_bitmask as tests
from cfgguide.models import bitmask
for dtype in tests.NUMPY_FORMATS:
    tests.test_arrays_of_numpy(dtype, 3, 100, 4)
    tests.test_arrays_of_numpy(dtype, 3, 100, 2)
tests.test_a_row_is_open_if_something_allowed_is_left(torch.bfloat16, False)
assert "bitmask_kernels.py" in bitmask.mask_rows.__code__.co_filename, "it is compiled"
"""
    tests = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": f"{tests}{os.pathsep}{tests.parent}"}
    subprocess.run(
        [sys.executable, "-c", script], env=environment, cwd=Path(__file__).parent, check=True
    )
