"""An error of ours ends a request, and nothing else."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import cfgguide
from cfgguide.errors import LimitError
from cfgguide.models.serving.guarded import GuardedMatcher
from cfgguide.serving import Backend

VOCABULARY = cfgguide.Vocabulary.of_bytes()
EOS = VOCABULARY.eos_token_ids[0]


def row_of(each: GuardedMatcher) -> list[int]:
    rows = np.full((2, VOCABULARY.n_words + 1), -1, dtype=np.int32)
    each.fill_bitmask(rows, 1)
    assert (rows[0] == -1).all()
    bits = np.unpackbits(rows[1].view(np.uint8), bitorder="little")
    return np.flatnonzero(bits).tolist()


@pytest.mark.parametrize("name", ["bitmask", "accept", "validate"])
def test_after_an_error_a_request_is_ended_as_failed(name, monkeypatch, caplog):
    each = GuardedMatcher(Backend(VOCABULARY).matcher("choice", '["yes", "no"]'))
    assert each.accept(list(b"y"))

    def fail(*_: object) -> None:
        raise LimitError("it takes too long")

    with monkeypatch.context() as patch:
        patch.setattr(each.matcher, name, fail)
        if name == "accept":
            assert not each.accept(list(b"e"))
        elif name == "validate":
            assert each.validate(list(b"e")) == []
        else:
            assert row_of(each) == [EOS]
    for failed in (each, each.copy()):
        assert row_of(failed) == [EOS]
        assert failed.validate(list(b"e")) == []
        assert not failed.accept([EOS])
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    each.reset()
    assert row_of(each) == sorted(b"yn")


def test_without_an_error_it_is_a_matcher():
    each = GuardedMatcher(Backend(VOCABULARY).matcher("choice", '["yes", "no"]'))
    other = each.copy()
    assert each.validate([*b"yes", EOS, 5]) == [*b"yes", EOS]
    assert each.accept([*b"yes", EOS, 5, -1])
    assert each.is_terminated
    each.rollback(2)
    assert not each.is_terminated
    assert row_of(each) == [EOS]
    assert row_of(other) == sorted(b"yn")
