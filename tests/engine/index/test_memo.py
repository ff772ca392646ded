"""What a memo gives back, what it forgets, and that the collector tracks nothing of it."""

from __future__ import annotations

import gc
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.threads import in_threads

import cfgguide
from cfgguide.engine.byte_machine.seen_parts import ByteConfiguration, Open, SeenParts
from cfgguide.engine.index import memo as memo_module
from cfgguide.engine.index.memo import Entries, Memo, Sequences, Step
from cfgguide.engine.machine.recognizer import Configuration, Hypothesis
from cfgguide.grammar.lr.stack import Stack

MOST, MOST_STEPS = 100, 300
NONE = -1


class Pair(NamedTuple):
    """A tuple with names."""

    first: Any
    second: Any


numbers = st.integers() | st.integers(-3, 3) | st.sampled_from([2**29, -(2**29), 2**31, -(2**63)])
leaves = st.one_of(
    numbers,
    st.none(),
    st.binary(max_size=3),
    st.text(max_size=3),
    st.frozensets(st.integers(0, 9), max_size=3),
    st.lists(st.integers(0, 5), min_size=1, max_size=8).map(Stack.of),
)
configurations = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4).map(tuple) | st.builds(Pair, inner, inner),
    max_leaves=12,
)


@given(st.lists(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=5), max_size=200))
def test_sequences_have_the_numbers_of_a_dict(given_sequences: list[list[int]]) -> None:
    sequences, known = Sequences(), dict[tuple[int, ...], int]()
    for sequence in given_sequences:
        data = memoryview(np.array([*sequence, 7], dtype=np.int32))
        assert sequences.find(data, len(sequence)) == known.get(tuple(sequence), NONE)
        number = known.setdefault(tuple(sequence), len(known))
        assert sequences.add(data, len(sequence)) == number
    assert sequences.length == len(known)


@pytest.mark.parametrize("at", range(1, 12))
def test_paths_are_saved_as_they_are_or_not_at_all_where_there_is_no_memory(at: int) -> None:
    """Found by torture: numpy makes a list of what it has no memory to look at, of other ints."""
    testcapi = pytest.importorskip("_testcapi")
    entries, items, offsets = Entries(), np.empty(0, np.int32), np.empty(0, np.int32)
    entries.add((1, (2, 3), 4), None)
    try:
        testcapi.set_nomemory(at, at + 1)
        try:
            items, offsets, _ = entries.items
        finally:
            testcapi.remove_mem_hooks()
    except MemoryError:
        pass
    assert items.dtype == offsets.dtype == np.int32


@pytest.mark.parametrize("at", range(1, 32, 2))
def test_searches_end_where_there_was_no_memory_for_more(at: int) -> None:
    """Found by torture: once rows had grown and slots had not, no slot was free at last."""
    testcapi = pytest.importorskip("_testcapi")
    sequences, known = Sequences(), dict[int, int]()
    has_failed = False
    for first in range(1000):
        has_failed = not has_failed and sequences.length == len(sequences.slots) // 2
        try:
            if has_failed:
                testcapi.set_nomemory(at, at + 1)
            number = sequences.add_pair(first, 0, first)
        except MemoryError:
            continue
        finally:
            testcapi.remove_mem_hooks()
        known[first] = number
        assert len(sequences.slots) > sequences.length
    found = {first: sequences.find_pair(first, 0) for first in range(1000)}
    assert found == {first: known.get(first, NONE) for first in range(1000)}


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-1, 9)), max_size=200))
def test_pairs_have_the_first_value_that_they_were_added_with(pairs: list[tuple[int, int]]) -> None:
    sequences, known = Sequences(), dict[tuple[int, int], int]()
    for value, pair in enumerate(pairs):
        place = sequences.add_pair(*pair, value)
        assert sequences.values[place] == known.setdefault(pair, value)
        assert sequences.find_pair(*pair) == place
    assert all((sequences.find_pair(*p) != NONE) == (p in known) for p in [(0, 0), (9, -1), (5, 5)])


@given(st.lists(configurations, min_size=1, max_size=12))
def test_configurations_come_back(given_configurations: list[Any]) -> None:
    memo = Memo(given_configurations[0])
    steps = [memo.at(configuration) for configuration in given_configurations]
    distinct = set(given_configurations)
    assert len(memo) == len(distinct) == len({step.number for step in steps})
    for step, configuration in zip(steps, given_configurations, strict=True):
        back = memo.configuration(step.number)
        assert back == configuration
        assert hash(back) == hash(configuration)
        assert type(back) is type(configuration)


def test_configurations_of_both_kinds_of_machines_come_back() -> None:
    stack = Stack.of([0, 7, 3])
    seen = SeenParts((Open(2, frozenset({b"a", ("list", 1)}), 3),), b'"a')
    memo = Memo(ByteConfiguration(5, stack, seen, -3, True))
    hypothesis = Hypothesis(12, (3, 4), stack.push(9))
    step = memo.led(
        memo.start, 17, Configuration((hypothesis, hypothesis._replace(stack=stack)), 2)
    )
    again = memo.start.after(17)
    assert again is not None
    assert again.number == step.number
    assert again.configuration == step.configuration
    assert again.configuration is again.configuration
    assert memo.start.configuration == ByteConfiguration(5, stack, seen, -3, True)


def test_what_cannot_be_looked_up_is_an_error_that_changes_nothing() -> None:
    memo = Memo((1, 2))
    with pytest.raises(TypeError):
        memo.at((1, []))
    with pytest.raises(TypeError):
        memo.led(memo.start, 3, {})
    assert len(memo) == 1
    assert memo.start.after(3) is None
    assert memo.at((1, 2)).number == 0


@pytest.mark.parametrize("token_id", [-1, 1 << 31, 1 << 80])
def test_what_is_no_token_led_nowhere(token_id: int) -> None:
    assert Memo(0).start.after(token_id) is None


class Walker:
    """Goes from step to step as a guide does, over numbers: a calculation says where each leads."""

    def __init__(self, memo: Memo) -> None:
        self.memo = memo
        self.steps = [memo.start]
        self.n_new = 0

    def advance(self, token_id: int) -> None:
        step = self.steps[-1]
        (number,) = step.configuration
        reached = (number * 31 + token_id) % 500
        following = step.after(token_id)
        if following is None:
            self.n_new += 1
            if self.memo.is_full:
                self.memo = Memo((0,))
            following = self.memo.led(step, token_id, (reached,))
        assert following.configuration == (reached,)
        assert following.token_id == token_id
        self.steps.append(following)

    def walk(self, rng: Random, n_steps: int) -> None:
        for _ in range(n_steps):
            self.advance(rng.randrange(5))
            if rng.random() < 0.2:
                del self.steps[max(1, len(self.steps) - rng.randrange(4)) :]


def test_a_full_memo_is_replaced_and_guides_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memo_module, "MAX_CONFIGURATIONS", MOST)
    monkeypatch.setattr(memo_module, "MAX_STEPS", MOST_STEPS)
    walker, memos = Walker(Memo((0,))), set()
    rng = Random(1)
    for _ in range(300):
        walker.walk(rng, 10)
        memos.add(walker.memo)
        assert len(walker.memo) <= MOST + 1
    assert len(memos) > 5
    assert walker.n_new > 5 * MOST_STEPS / 2
    before = walker.n_new
    for step in walker.steps:  # also of memos that were replaced long ago
        assert step.configuration == step.memo.configuration(step.number)
    assert walker.n_new == before


def test_threads_step_at_once() -> None:
    walkers = [Walker(Memo((0,))) for _ in range(4)]
    for walker in walkers[1:]:
        walker.memo, walker.steps = walkers[0].memo, [walkers[0].memo.start]
    in_threads(lambda seed: walkers[seed].walk(Random(seed), 3_000), range(4))
    assert len(walkers[0].memo) <= 500


@pytest.mark.usefixtures("only_what_is_new_is_collected")
def test_the_collector_tracks_nothing_of_what_is_known() -> None:
    stack = Stack.of([0, 1])
    memo = Memo(ByteConfiguration(0, stack))
    gc.collect()
    before = len(gc.get_objects())
    step: Step = memo.start
    for state in range(5_000):
        step = memo.led(step, state, ByteConfiguration(state, Stack.of([0, state % 99, 1])))
    del step
    gc.collect()
    assert len(gc.get_objects()) - before < 50


def test_guides_of_an_index_share_what_they_know() -> None:
    vocabulary = cfgguide.Vocabulary([b"a", b"b", b"ab", None], eos_token_ids=3)
    index = cfgguide.compile(cfgguide.Grammar('start: "a" "b"'), vocabulary)
    one, other = cfgguide.Guide(index), cfgguide.Guide(index)
    one.advance(0)
    mask = one.bitmask()
    known = other.step.after(0)
    assert known is not None
    assert known.subset is one.step.subset
    index.forget_steps()
    assert cfgguide.Guide(index).step.after(0) is None
    assert (one.bitmask() == mask).all()
    one.advance(1)
    assert one.is_accepting
