"""What the step cache forgets, and when. Its configurations are numbers here.

Tokens lead from one number to another by a calculation, which says where every step should lead.
Nodes are counted by the configurations that they hold, with the garbage collector off.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import ClassVar

import pytest
from support.threads import in_threads

from cfgguide.engine.index.step_cache import StepCache, StepNode

N_PLACES = 500  # few enough that walks often come back
MAX_NODES, MAX_STEPS = 200, 300
FEW = 20  # nodes, of which one step may free so many


@dataclass(frozen=True)
class Place:
    """In place of a configuration."""

    number: int
    n_alive: ClassVar[int] = 0

    def __post_init__(self) -> None:
        Place.n_alive += 1

    def __del__(self) -> None:
        Place.n_alive -= 1


class Walker:
    """Goes from node to node as a guide does."""

    def __init__(self, cache: StepCache) -> None:
        self.cache = cache
        self.nodes = [cache.start]
        self.n_new = 0  # steps that were not known

    def advance(self, token_id: int) -> None:
        node = self.nodes[-1]
        number = after(node.configuration.number, token_id)
        following = node.following.get(token_id)
        if following is None:
            self.n_new += 1
            following = self.cache.step(node, token_id, Place(number))
        assert following.configuration.number == number
        self.nodes.append(following)

    def go_home(self) -> None:
        """Step to where all begin."""
        self.advance(-31 * self.nodes[-1].configuration.number % N_PLACES)
        assert self.nodes[-1].configuration.number == 0

    def go_back(self, n: int) -> None:
        del self.nodes[max(1, len(self.nodes) - n) :]


def after(number: int, token_id: int) -> int:
    return (number * 31 + token_id) % N_PLACES


@pytest.fixture
def cache() -> Iterator[StepCache]:
    gc.collect()
    gc.disable()
    Place.n_alive = 0
    yield StepCache(Place(0), max_nodes=MAX_NODES, max_steps=MAX_STEPS)
    gc.enable()


def walk(walker: Walker, rng: Random, n_steps: int) -> None:
    for _ in range(n_steps):
        walker.advance(rng.randrange(5))
        if rng.random() < 0.2:
            walker.go_back(rng.randrange(4))
        del walker.nodes[:-4]


@pytest.mark.slow
def test_nodes_and_steps_are_bounded_without_the_garbage_collector(cache):
    rng = Random(1)
    walkers = [Walker(cache) for _ in range(3)]
    for _ in range(300):
        walk(rng.choice(walkers), rng, 30)
        assert len(cache) <= MAX_NODES + FEW
        assert Place.n_alive <= MAX_NODES + 3 * 4 + FEW
    assert sum(walker.n_new for walker in walkers) > 10 * MAX_NODES


@pytest.mark.slow
def test_steps_lead_to_what_is_known(cache):
    """So what is forgotten is held by guides alone."""
    walker, rng = Walker(cache), Random(8)
    for _ in range(200):
        walk(walker, rng, 30)
        for node in cache._known.values():
            for following in node.following.values():
                assert cache._known[following.configuration] is following


@pytest.mark.slow
def test_many_steps_between_few_nodes_are_bounded(cache):
    walker = Walker(cache)
    for token_id in range(4 * MAX_STEPS):
        walker.advance(token_id * N_PLACES)
        walker.go_home()
        assert len(cache) <= 2
        assert len(walker.nodes[-1].following) <= MAX_STEPS + 1
        del walker.nodes[:-1]


@pytest.mark.slow
def test_no_step_forgets_much(cache):
    walker = Walker(cache)
    for number in range(5 * MAX_NODES):
        n_known, n_alive = len(cache), Place.n_alive
        walker.advance(number % 499)
        assert len(cache) >= n_known - FEW
        assert Place.n_alive >= n_alive - FEW
    assert walker.n_new > 4 * MAX_NODES


@pytest.mark.slow
def test_what_is_used_is_kept(cache):
    """A round of ten steps is repeated while others come by: its nodes stay the same.

    But for the last: no guide steps from it.
    """
    often, seldom = Walker(cache), Walker(cache)
    rng = Random(2)
    for token_id in range(10):
        often.advance(token_id)
    kept = often.nodes.copy()
    n_rounds = 0
    while seldom.n_new < 30 * MAX_NODES:
        walk(seldom, rng, 10)
        often.nodes = [cache.start]
        for token_id in range(10):
            often.advance(token_id)
        assert all(one is other for one, other in zip(often.nodes[:-1], kept, strict=False))
        n_rounds += 1
    # Each of the ten is asked for at first, and then at most once in each third of the bound.
    assert often.n_new < 10 * (1 + (often.n_new + seldom.n_new) / (MAX_NODES / 3))
    assert often.n_new < 3 * n_rounds


@pytest.mark.slow
def test_a_guide_goes_on_from_a_node_that_was_forgotten(cache):
    guide, other = Walker(cache), Walker(cache)
    guide.advance(3)
    held = guide.nodes[-1]
    rng = Random(3)
    while cache._known.get(held.configuration) is held:
        walk(other, rng, 10)
    assert held.following == {}
    guide.advance(4)
    guide.go_back(1)
    assert guide.nodes[-1] is held
    again = Walker(cache)
    again.advance(3)
    again.advance(4)
    assert again.nodes[-2] is held, "it is known again"
    assert again.nodes[-1] is held.following[4]


@pytest.mark.slow
def test_clearing_frees_all_but_what_guides_hold(cache):
    walker = Walker(cache)
    walk(walker, Random(4), 1_000)
    for _ in range(2):  # in a circle, whose memory does not free itself
        walker.go_home()
        for token_id in range(10):
            walker.advance(token_id)
    walker.go_home()
    del walker.nodes[:-4]
    before = walker.nodes[-1]
    assert Place.n_alive > 10 * len(walker.nodes)
    cache.clear()
    assert len(cache) == 1
    assert Place.n_alive <= len(walker.nodes) + 2
    assert walker.nodes[-1] is before
    walk(walker, Random(5), 100)


@pytest.mark.slow
def test_what_is_dropped_is_freed_little_by_little(cache):
    walker = Walker(cache)
    walk(walker, Random(6), 1_000)
    n_alive = Place.n_alive
    cache.drop()
    assert len(cache) == 1
    assert Place.n_alive >= n_alive, "nothing was freed yet"
    walk(walker, Random(7), 1_000)
    fresh = Walker(cache)
    walk(fresh, Random(7), 1_000)
    assert not cache._dropped
    assert len(cache) <= MAX_NODES
    assert Place.n_alive <= MAX_NODES + FEW


@pytest.mark.slow
def test_threads_step_at_once(cache):
    in_threads(lambda seed: walk(Walker(cache), Random(seed), 3_000), range(4))
    assert len(cache) <= MAX_NODES
    reached: list[StepNode] = list(cache._known.values())
    for node in reached:
        for token_id, following in node.following.items():
            expected = after(node.configuration.number, token_id)
            assert following.configuration.number == expected
