"""Rows are copied as they are, compiled or not."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cfgguide.engine.masks.rows import copy_rows


@pytest.mark.parametrize("n_rows", [0, 1, 2, 7])
@pytest.mark.parametrize("step", [1, 2, -1])
def test_each_row_is_copied_and_the_rest_is_zero(n_rows, step):
    rng = Random(n_rows)
    texts = [
        [rng.randrange(-(2**31), 2**31) for _ in range(rng.randrange(6))] for _ in range(n_rows)
    ]
    masks = [np.array(words, dtype=np.int32) for words in texts]
    for mask in masks:
        mask.flags.writeable = False
    whole = np.full((abs(step) * n_rows, 7), 9, dtype=np.int32)
    out = whole[::step, 1:-1]
    copy_rows(masks, out)
    assert out.tolist() == [words + [0] * (5 - len(words)) for words in texts]
    assert (whole[:, [0, -1]] == 9).all()
    assert step != 2 or (whole[1::2] == 9).all()


def test_a_row_that_is_no_array_is_refused():
    with pytest.raises(TypeError):
        copy_rows([None], np.zeros((1, 2), dtype=np.int32))
