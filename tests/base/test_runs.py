"""Tables as runs: what comes back is what was given, or a refusal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfgguide.base import runs
from cfgguide.errors import IndexFormatError

TABLE = np.repeat(np.arange(8, dtype=np.int16), 1000).reshape(80, 100)


@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 90_000)), min_size=1, max_size=9),
    st.sampled_from([np.int8, np.int16, np.int32]),
    st.sampled_from([1, 2, 5]),
)
def test_every_array_comes_back(given_runs, dtype, n_columns):
    values, lengths = zip(*given_runs, strict=True)
    flat = np.repeat(np.array(values, dtype=dtype), lengths)
    array = flat[: len(flat) // n_columns * n_columns].reshape(-1, n_columns)
    (found,) = runs.restored(runs.shortened({"x": array})).values()
    assert found.dtype == array.dtype
    assert np.array_equal(found, array)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((0, 5), dtype=np.int32),
        np.arange(100_000, dtype=np.int32),
        np.zeros(runs.MIN_ITEMS - 1, dtype=np.int8),
        np.zeros((3, 10_000), dtype=np.bool_),
    ],
    ids=["empty", "no runs", "small", "flags"],
)
def test_arrays_of_other_kinds_come_back(array):
    (found,) = runs.restored(runs.shortened({"x": array})).values()
    assert found.dtype == array.dtype
    assert np.array_equal(found, array)


def test_a_table_of_long_runs_becomes_small():
    shortened = runs.shortened({"x": TABLE})
    assert sum(array.nbytes for array in shortened.values()) < TABLE.nbytes / 100


DAMAGES = {
    "no lengths": {"x:lengths": None},
    "no shape": {"x:shape": None},
    "too few lengths": {"x:lengths": np.array([8000], dtype=np.uint16)},
    "lengths that fall short": {"x:lengths": np.full(8, 999, dtype=np.uint16)},
    "lengths below zero": {"x:lengths": np.full(8, 1000, dtype=np.int16)},
    "a shape below zero": {"x:shape": np.array([-80, -100])},
    "another shape": {"x:shape": np.array([80, 101])},
    "no dimensions": {"x:shape": np.zeros(0, dtype=np.int64)},
    "values of two dimensions": {"x:values": np.zeros((8, 1), dtype=np.int16)},
    "more items than anyone has": {
        "x:lengths": np.full(8, (1 << 32) - 1, dtype=np.uint32),
        "x:shape": np.array([8, (1 << 32) - 1]),
    },
    "a product that is too large for 64 bits": {"x:shape": np.array([80, 100, 1 << 62, 4])},
}


@pytest.mark.parametrize("name", DAMAGES)
def test_runs_that_do_not_fill_their_table_are_refused(name):
    damaged = runs.shortened({"x": TABLE}) | DAMAGES[name]
    with pytest.raises(IndexFormatError, match="the runs of the array 'x' do not fill it"):
        runs.restored({key: array for key, array in damaged.items() if array is not None})
