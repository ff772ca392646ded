"""Interrupted, short of memory, out of disk or forked: later masks are right.

`make torture SECONDS=1200` goes on for longer.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

import cfgguide
from cfgguide import Grammar, Guide, Vocabulary
from cfgguide.engine.masks.token_classes import TokenClasses
from torture import interrupts
from torture.forks import fork_in_first_use
from torture.memory import is_flat
from torture.operations import Tortured
from torture.parts import PARTS
from torture.subjects import Subject, guide_at, mask_of, subjects

NEEDED = {"interrupts": 30, "writes": 10, "forks": 3}
SLOW = 20.0  # seconds of each part

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nothing forks there")


def tortured(part: str, seconds: float, seed: int, most: int = sys.maxsize) -> Counter[str]:
    """Run a part in a process of its own: what is interrupted must not be pytest."""
    command = [sys.executable, "-m", "torture", "--part", part, "--seconds", str(seconds)]
    command += ["--seed", str(seed), "--most", str(most)]
    root = Path(__file__).parents[2]
    paths = os.pathsep.join([str(root), str(root / "tests")])
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": paths, "CFGGUIDE_CACHE": "off"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    counts = Counter(json.loads(done.stdout.splitlines()[-1]))
    problems = {"wrong masks", "lost files", "left files", "hangs"} & counts.keys()
    assert not problems, (counts, done.stderr[-5000:])
    return counts


@pytest.mark.slow
@pytest.mark.parametrize(
    "part", ["interrupts", "writes", pytest.param("forks", marks=pytest.mark.slow)]
)
def test_what_is_disturbed_a_little_is_right_later(part):
    counts = tortured(part, 60, 1, 5 * NEEDED[part])
    assert counts[part] >= NEEDED[part], counts


@pytest.mark.slow
@pytest.mark.parametrize("part", [part for part in PARTS if part != "allocations"])
def test_what_is_disturbed_often_is_right_later(part):
    tortured(part, SLOW, 2)


@pytest.fixture(scope="module")
def all_subjects() -> list[Subject]:
    return subjects(0)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("mode", ["signals", pytest.param("any", marks=pytest.mark.slow)])
def test_a_mask_that_was_interrupted_anywhere_is_right_the_next_time(all_subjects, number, mode):
    """At some forty instructions, far apart, of making the masks of one text."""
    subject = all_subjects[number]
    place = max(subject.places, key=lambda each: len(each.token_ids))

    def masks(index: cfgguide.Index) -> None:
        guide = Guide(index)
        for token_id in place.token_ids:
            mask_of(guide)
            guide.advance(token_id)

    fresh = subject.make()
    _, n_instructions = interrupts.traced(lambda: masks(fresh), sys.maxsize, mode=mode)
    n_hit = 0
    for at in range(1, n_instructions, max(1, n_instructions // 40)):
        index = subject.make()
        is_hit, _ = interrupts.traced(lambda index=index: masks(index), at, mode=mode)
        n_hit += is_hit
        assert not subject.wrong(index), (subject.name, at)
    assert n_hit > 10


@pytest.mark.parametrize("function", ["_look_for", "_decided"])
def test_a_child_looks_anew_for_what_another_thread_was_looking_for(function):
    """Schemas that refer to each other: whether they have values, and the shortest of them."""
    one = {"anyOf": [{"$ref": "#", "type": "object"}, {"pattern": "^[ab]{3}$"}]}
    schema = {"type": "object", "properties": {"next": one}, "required": ["next"]}
    grammar, vocabulary = cfgguide.json_schema(schema), Vocabulary.of_bytes()
    expected = Guide(cfgguide.compile(grammar, vocabulary, use_cache=False)).shortest_completion()
    index = cfgguide.compile(grammar, vocabulary, use_cache=False)
    is_looking, goes_on = threading.Event(), threading.Event()

    def wait(frame: FrameType, _event: str, _argument: object) -> None:
        if frame.f_code.co_name == function and not goes_on.is_set():
            is_looking.set()
            goes_on.wait()

    def look() -> None:
        sys.settrace(wait)
        Guide(index).shortest_completion()

    thread = threading.Thread(target=look)
    thread.start()
    assert is_looking.wait(60)
    child = os.fork()
    if not child:
        status = 1
        try:
            status = int(Guide(index).shortest_completion() != expected)
        finally:
            os._exit(status)
    goes_on.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("n_modules", [1, 40, 80, 120, 160, 200])
def test_a_child_goes_on_though_another_thread_was_importing(n_modules):
    """The child imports what that thread has begun to import; after a deadline it is ended."""
    assert fork_in_first_use(n_modules) == []


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["signals", "any"])
def test_a_guide_that_was_interrupted_is_before_its_step_or_after_it(all_subjects, mode):
    subject = all_subjects[0]
    place = max(subject.places, key=lambda each: len(each.token_ids))
    before, token_id = place.token_ids[:-1], place.token_ids[-1]
    known = subject.make()
    masks = {
        token_ids: mask_of(guide_at(known, token_ids))
        for token_ids in (before, (*before, token_id))
    }
    rng = random.Random(1)
    for is_known in (True, False):
        n_hit = 0
        for _ in range(40):
            index = known if is_known else subject.make()
            guide = guide_at(index, before)

            def there_and_back(guide: Guide = guide) -> None:
                guide.advance(token_id)
                guide.rollback(1)

            at = rng.randint(1, 40 if is_known else 1000)
            is_hit, _ = interrupts.traced(there_and_back, at, mode=mode)
            assert mask_of(guide) == masks[guide.token_ids]
            n_hit += is_hit
        assert n_hit > 3


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["signals", "any"])
def test_a_batch_that_was_interrupted_has_advanced_as_a_whole_or_not_at_all(all_subjects, mode):
    subject = all_subjects[0]
    chosen = [place for place in subject.places if len(place.token_ids) > 2][:3]
    index = subject.make()
    out = np.empty((3, index.vocabulary.n_words), dtype=np.int32)
    n_hit = 0
    for at in [*range(1, 120, 3), *range(120, 4000, 150)]:
        guides = [guide_at(index, place.token_ids[:-1]) for place in chosen]
        tokens = [place.token_ids[-1] for place in chosen]
        is_hit, _ = interrupts.traced(
            lambda guides=guides, tokens=tokens: cfgguide.fill_bitmasks(
                guides, out, token_ids=tokens
            ),
            at,
            mode=mode,
        )
        have_advanced = {
            guide.token_ids == place.token_ids for guide, place in zip(guides, chosen, strict=True)
        }
        assert len(have_advanced) == 1
        n_hit += is_hit
    assert n_hit > 5


@pytest.mark.slow
def test_a_search_for_token_classes_that_was_interrupted_begins_anew(all_subjects):
    index = all_subjects[0].make()
    recognizer, trie = index.machine.recognizer, index.vocabulary.trie
    expected = TokenClasses(recognizer, trie)
    expected.work()
    for at in range(1, 3000, 97):
        classes = TokenClasses(recognizer, trie)
        interrupts.traced(classes.work, at)
        classes.work()
        assert classes.trie.strings == expected.trie.strings


def test_an_interrupted_pool_compiles_again():
    vocabulary = Vocabulary.of_bytes()
    grammar = Grammar('start: "a" "b"+')
    expected = mask_of(Guide(cfgguide.compile(grammar, vocabulary)))
    rng = random.Random(1)
    for _ in range(20):
        pool = cfgguide.IndexPool(vocabulary)
        interrupts.traced(lambda pool=pool: pool.index(grammar), rng.randint(1, 4000))
        assert mask_of(Guide(pool.index(grammar))) == expected
        assert len(pool) == 1


def test_the_harness_notices_a_mask_that_is_wrong(all_subjects, tmp_path, monkeypatch):
    each = Tortured(all_subjects[0], random.Random(1), Path(tmp_path))
    assert not each.wrong_masks(n=20)
    other = all_subjects[1].make()
    monkeypatch.setattr(each, "index", other)
    assert each.wrong_masks(n=20)


@pytest.mark.slow
def test_memory_stays_as_it_is():
    said: list[str] = []
    assert is_flat(40, 1, said.append), said
