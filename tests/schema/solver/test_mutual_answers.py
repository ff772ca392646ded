"""Verdicts that follow from others, against values that are listed."""

import random

import pytest

from cfgguide.schema.solver.mutual_answers import Verdicts


@pytest.mark.parametrize("seed", range(50))
def test_verdicts_on_other_conditions_tell_no_more_than_is_true(seed):
    rng = random.Random(seed)
    conditions = range(6)
    values = [
        frozenset(each for each in conditions if rng.random() < 0.5)
        for _ in range(rng.randrange(5))
    ]
    verdicts, n_told = Verdicts(), 0
    for _ in range(200):
        asked = frozenset(rng.sample(conditions, rng.randrange(5)))
        is_met = any(asked <= value for value in values)
        told = verdicts.of(asked)
        assert told in (None, is_met)
        n_told += told is not None
        verdicts.add(asked, is_met=is_met)
    assert n_told > 100  # there are 57 sets to ask about


def test_what_meets_more_conditions_meets_fewer():
    verdicts = Verdicts()
    verdicts.add(frozenset("abc"), is_met=True)
    verdicts.add(frozenset("cd"), is_met=False)
    assert verdicts.of(frozenset("ab")) is True
    assert verdicts.of(frozenset("acd")) is False
    assert verdicts.of(frozenset("bd")) is None
    assert verdicts.of(frozenset()) is None
