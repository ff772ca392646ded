"""The classes of equivalent states, against their definition."""

import random
from itertools import pairwise, product

import numpy as np
import pytest

from cfgguide.automata.alphabet import Alphabet
from cfgguide.automata.language import Language, grouped, smallest
from cfgguide.automata.partition import refined

_LETTERS = Alphabet(
    (0, ord("b"), ord("c"), ord("d"))
)  # "a", "b", "c" and "d" are read by a column each
_TEXTS = ["".join(each) for n in range(6) for each in product("abcd", repeat=n)]


def _told_apart(columns, labels):
    """Return the pairs of states that some text tells apart, by a table of all pairs."""
    n = len(columns)
    found = {(a, b) for a in range(n) for b in range(n) if labels[a] != labels[b]}
    while True:
        more = {
            (a, b)
            for a in range(n)
            for b in range(n)
            if (a, b) not in found
            and any(pair in found for pair in zip(columns[a], columns[b], strict=True))
        }
        if not more:
            return found
        found |= more


@pytest.mark.parametrize("seed", range(60))
def test_states_are_in_one_class_unless_a_text_tells_them_apart(seed):
    rng = np.random.default_rng(seed)
    n, n_columns = rng.integers(1, 12), rng.integers(1, 4)
    # Few targets make many states equivalent.
    columns = rng.integers(0, max(n // 2, 1), (n, n_columns)).astype(np.int32)
    labels = rng.integers(-1, 2, n)
    classes = refined(columns, labels).tolist()
    apart = _told_apart(columns.tolist(), labels.tolist())
    for a, b in product(range(n), repeat=2):
        assert (classes[a] == classes[b]) == ((a, b) not in apart)
    assert sorted(set(classes)) == list(range(len(set(classes))))


def test_a_long_chain_has_a_class_for_each_state():
    n = 5_000
    columns = np.append(np.arange(1, n), n - 1).astype(np.int32)[:, None]
    labels = (np.arange(n) == n - 1).astype(np.int64)
    assert len(set(refined(columns, labels).tolist())) == n


def test_no_states_have_no_classes():
    assert refined(np.zeros((0, 3), np.int32), np.zeros(0, np.int64)).tolist() == []


def _random_automaton(rng):
    n = rng.randrange(1, 8)
    rows = [(0,) * 4] + [tuple(rng.randrange(n + 1) for _ in range(4)) for _ in range(n)]
    return rows, {state for state in range(1, n + 1) if rng.random() < 0.3}


def _reads(rows, ends, text):
    state = 1
    for character in text:
        state = rows[state]["abcd".index(character)]
    return state in ends


@pytest.mark.parametrize("seed", range(40))
def test_the_smallest_automaton_reads_the_same_texts(seed):
    rows, ends = _random_automaton(random.Random(seed))
    found = smallest(_LETTERS, rows, 1, ends)
    for text in _TEXTS:
        assert found.accepts(text) == _reads(rows, ends, text)
    # No two states are equivalent, and an end can be reached from all but the dead one.
    table = np.array(found.rows)
    is_end = [state in found.accepting for state in range(len(table))]
    apart = _told_apart(table.tolist(), is_end)
    for a, b in product(range(len(table)), repeat=2):
        assert a == b or (a, b) in apart
    columns = list(zip(*found.rows, strict=True))
    assert all(one != other for one, other in pairwise(columns))


@pytest.mark.parametrize("seed", range(20))
def test_equal_languages_are_equal_values(seed):
    rng = random.Random(seed)
    rows, ends = _random_automaton(rng)
    n = len(rows)
    # The same automaton, with states in another order and a copy of each.
    twins = [rng.sample([state, state + n], 2) for state in range(n)]
    copied = [
        tuple(rng.choice(twins[target]) if target else 0 for target in rows[state % n])
        for state in range(2 * n)
    ]
    both = {state for state in range(2 * n) if state % n in ends}
    assert smallest(_LETTERS, copied, 1 + n, both) == smallest(_LETTERS, rows, 1, ends)


@pytest.mark.parametrize("seed", range(20))
def test_texts_are_grouped_by_the_languages_that_they_are_in(seed):
    rng = random.Random(seed)
    automata = [_random_automaton(rng) for _ in range(rng.randrange(4))]
    languages = [smallest(_LETTERS, rows, 1, ends) for rows, ends in automata]
    groups: dict[object, Language] = grouped(languages, lambda met: met)
    for text in _TEXTS:
        met = tuple(_reads(rows, ends, text) for rows, ends in automata)
        assert [key for key, group in groups.items() if group.accepts(text)] == [met]
