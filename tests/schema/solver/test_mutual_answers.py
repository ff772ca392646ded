"""Verdicts that follow from others, against values that are listed."""

import random

import pytest

from cfgguide.schema.solver.mutual_answers import Settled, Verdicts


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
    assert verdicts.of(frozenset("cd")) is False
    assert verdicts.of(frozenset("bd")) is None
    assert verdicts.of(frozenset()) is None


@pytest.mark.few(60)
@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("n", [5, 60, 400])
def test_questions_that_ask_each_other_have_the_least_answers(seed, n):
    """The judge applies all rules until nothing changes."""
    rng = random.Random(seed)
    rules = {  # a question is true if all questions of one of its sets are
        each: [rng.choices(range(n), k=rng.randint(1, 2)) for _ in range(rng.randint(0, 2))]
        for each in range(n)
    }
    rules[rng.randrange(n)].append([])
    if seed % 2:  # each asks the next one too: a chain that is longer than Python's stack
        rules = {each: [*rules[each], [each + 1] if each + 1 < n else []] for each in rules}
    true: set[int] = set()
    while found := {each for each in rules if any(true.issuperset(one) for one in rules[each])}:
        if found <= true:
            break
        true |= found
    settled = Settled()

    def answer(question: int) -> bool:
        def decide() -> bool:
            return any(all(answer(each) for each in one) for one in rules[question])

        return settled.answer(question, decide)

    for question in rng.sample(range(n), 5):
        assert answer(question) == (question in true)
        assert settled.is_settled(question)
