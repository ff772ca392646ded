"""The index: masks are kept once, as what differs from others, and dropped when they are too many.

The obvious twin of what is kept is a dict of whole bitmasks.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.small_tokenizers import standard_library_vocabulary
from support.threads import in_threads
from support.walked_grammars import GRAMMARS
from support.whole_indexes import walked, whole_index

import cfgguide
from cfgguide import Grammar, Guide, Index
from cfgguide.engine.masks.subset import Subset, Subsets, UnpackedMasks

N_WORDS = 40


def bitmask(words: dict[int, int]) -> np.ndarray:
    """A bitmask of zeros but for some words."""
    made = np.zeros(N_WORDS, dtype=np.int32)
    made[list(words)] = list(words.values())
    return made


def remade(
    index: Index, configuration: cfgguide.engine.machine.recognizer.Configuration
) -> np.ndarray:
    """The mask as an index that knows nothing makes it."""
    fresh = Index(index.machine, index.vocabulary)
    return fresh.subset(configuration).bitmask


# --- Subsets --------------------------------------------------------------------------------------

words = st.integers(-(2**31), 2**31 - 1)
some_words = st.dictionaries(st.integers(0, N_WORDS - 1), words, max_size=6)
any_words = st.lists(words, min_size=N_WORDS, max_size=N_WORDS)


@st.composite
def bitmasks(draw) -> list[tuple[int, np.ndarray]]:
    """Bitmasks in some scanner states: nearly empty, like an earlier one, or like none."""
    found: list[tuple[int, np.ndarray]] = []
    for _ in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(["empty", "like", "new", "same"]))
        made = bitmask({})
        if kind == "new" or (not found and kind != "empty"):
            made[:] = draw(any_words)
        elif kind != "empty":
            made[:] = draw(st.sampled_from(found))[1]
        if kind in ("empty", "like"):
            for place, word in draw(some_words).items():
                made[place] = word
        found.append((draw(st.integers(0, 2)), made))
    return found


@pytest.mark.slow
@settings(deadline=None)
@given(bitmasks(), st.sampled_from([0, 500, 10**6]), st.randoms(use_true_random=False))
def test_subsets_are_what_a_plain_dict_holds(masks, max_bytes, rng):
    unpacked = UnpackedMasks(N_WORDS, max_bytes)
    subsets = Subsets(N_WORDS)
    subsets._unpacked = unpacked
    plain: dict[bytes, Subset] = {}
    users: list[tuple[Subset, bytes]] = []
    for like, mask in masks:
        subset = subsets.add(mask.copy(), like)
        assert plain.setdefault(mask.tobytes(), subset) is subset
        users.append((subset, mask.tobytes()))
    assert len(subsets) == len(plain)
    assert subsets.nbytes == sum(subset.nbytes for subset in subsets)
    for expected, subset in plain.items():
        found = subset.bitmask
        assert found.tobytes() == expected
        assert not found.flags.writeable
        assert unpacked.nbytes <= max(max_bytes, 4 * N_WORDS)
        bits = np.flatnonzero(np.unpackbits(np.frombuffer(expected, np.uint8), bitorder="little"))
        assert subset.token_ids().tolist() == bits.tolist()
        assert subset.n_tokens == len(bits)
        assert [i for i in range(-1, 32 * N_WORDS + 1) if i in subset] == bits.tolist()
    rng.shuffle(users)
    while users:
        subsets.release(users.pop()[0])
        assert all(subset.bitmask.tobytes() == expected for subset, expected in users)
        known = {id(subset) for subset in subsets}
        assert {id(subset) for subset, _ in users} <= known
        assert all(subset.base is None or id(subset.base) in known for subset in subsets)
    assert (len(subsets), subsets.nbytes) == (0, 0)
    assert subsets._bases == subsets._key_of_base == {}


def test_a_mask_like_another_is_kept_as_what_differs():
    subsets = Subsets(N_WORDS)
    full = bitmask(dict.fromkeys(range(N_WORDS), -1))
    base = subsets.add(full, "state")
    near, few = full.copy(), bitmask({3: 8})
    near[5] = 1
    assert base.is_whole
    like_it, like_none = subsets.add(near, "state"), subsets.add(few, "state")
    assert (like_it.base, like_it.places.tolist(), like_it.words.tolist()) == (base, [5], [1])
    assert (like_none.base, like_none.places.tolist()) == (None, [3])
    assert subsets.add(near[::-1].copy(), "another state").is_whole


# --- Bounded entries ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["json", "keywords", "look-around", "fall-backs"])
def test_masks_are_right_whatever_was_dropped(name):
    grammar, tokens = GRAMMARS[name]
    free = whole_index(grammar, tokens)
    tight = whole_index(grammar, tokens, max_bytes=1_500)
    for seed in range(12):
        assert walked(tight, seed) == walked(free, seed)
        entries = tight._entries
        assert entries.nbytes <= 1_500 or len(entries) == 1
        kept = {id(subset) for _, subset in entries}
        kept |= {id(subset.base) for _, subset in entries if subset.base is not None}
        assert kept == {id(subset) for subset in entries.subsets}, "nobody's subset is kept"
        assert len(entries.trie) == len(entries) == len(list(entries))
    assert tight._entries.n_dropped
    assert free._entries.n_dropped == 0
    assert tight.n_made > free.n_made, "what was dropped is made again"


def test_what_was_looked_up_longest_ago_goes_first():
    grammar, tokens = GRAMMARS["json"]
    index = whole_index(grammar, tokens)
    texts = (b"", b"[", b'["', b"[1", b"[t", b"[1,", b"[f")
    after = {text: index.machine.advance(index.machine.initial, text) for text in texts}
    for text in texts:
        index.subset(after[text])
    entries = index._entries
    entries.max_bytes = entries.nbytes
    for text in (b"[n", b"[1e"):
        index.subset(index.machine.advance(index.machine.initial, text))
        n_made = index.n_made
        index.subset(after[b"[f"])  # used again
        assert index.n_made == n_made, "was used last"
    assert entries.n_dropped
    index.subset(after[b""])
    assert index.n_made == n_made + 1, "was used first"


def test_visits_do_not_hold_what_was_dropped():
    grammar, tokens = GRAMMARS["json"]
    index = whole_index(grammar, tokens, max_bytes=1_500)
    guide = Guide(index)
    first = index.start
    n_dropped = 0
    for seed in range(10):
        walked(index, seed)
        n_dropped = index._entries.n_dropped
    assert n_dropped
    assert index.start is not first
    assert guide.allowed_token_ids().size, "guides keep the visits they hold"


@pytest.mark.slow
@pytest.mark.parametrize(("grammar", "tokens"), GRAMMARS.values(), ids=GRAMMARS.keys())
def test_what_is_found_is_what_would_be_made(grammar, tokens):
    index = whole_index(grammar, tokens)
    for seed in range(6):
        walked(index, seed, most=15)
    n_made = index.n_made
    for seed in range(6):
        guide = Guide(index)
        for token_ids, mask in walked(index, seed, most=15):
            guide.rollback(len(guide.token_ids))
            for token_id in token_ids:
                guide.advance(token_id)
            if not guide.is_finished:
                assert remade(index, guide.configuration).tobytes() == mask
    assert index.n_made == n_made, "every mask was there"
    assert index.n_subsets <= index.n_entries <= n_made


# --- Threads --------------------------------------------------------------------------------------

STATEMENTS = r"""
start: (statement ";")*
statement: NAME "=" sum | "if" sum "then" statement ["else" statement] | "{" start "}"
?sum: product (("+" | "-") product)*
?product: atom (("*" | "/") atom)*
?atom: NUMBER | NAME | STRING | "(" sum ")" | NAME "(" [sum ("," sum)*] ")"
NAME: /[a-z_]\w*/
NUMBER: /\d+(\.\d+)?/
STRING: /"[^"\n]*"/ | /'[^'\n]*'/
%ignore /[ \n]+/
"""
SECONDS = float(os.environ.get("CFGGUIDE_THREADS_SECONDS", "3"))  # of all four; `make threads`: 60
SLOW = pytest.mark.slow


@pytest.mark.slow
@pytest.mark.parametrize(
    ("grammar", "max_bytes"),
    [
        pytest.param(Grammar.bundled("json").text, None, id="json"),
        pytest.param(STATEMENTS, 100_000, id="statements, bounded"),
        pytest.param(Grammar.bundled("json").text, 100_000, id="json, bounded", marks=SLOW),
        pytest.param(STATEMENTS, None, id="statements", marks=SLOW),
    ],
)
def test_eight_threads_fill_one_index_as_one_thread_does(grammar, max_bytes):
    """Each round starts with an empty index, so that all are filling it at once."""
    vocabulary = standard_library_vocabulary()
    alone = cfgguide.compile(Grammar(grammar), vocabulary)
    expected = {seed: walked(alone, seed) for seed in range(12)}
    end = time.monotonic() + SECONDS / 4
    n_masks = n_rounds = 0
    was = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        while not n_rounds or time.monotonic() < end:
            index = cfgguide.compile(Grammar(grammar), vocabulary, max_bytes=max_bytes)
            index._entries.subsets._unpacked = UnpackedMasks(
                vocabulary.n_words, 1
            )  # unpacked again and again
            found = walked_in_threads(index, list(expected), n_rounds)
            assert all(masks == expected[seed] for seed, masks in found)
            assert len(found) == 8 * len(expected)
            n_masks += sum(len(masks) for _, masks in found)
            n_rounds += 1
    finally:
        sys.setswitchinterval(was)
    print(f"{n_rounds} rounds, {n_masks:,} masks")  # noqa: T201 -- shown by `make threads`


def walked_in_threads(index: Index, seeds: list[int], first: int):
    barrier = threading.Barrier(8)

    def work(number: int):
        order = seeds.copy()
        random.Random(8 * first + number).shuffle(order)
        barrier.wait()
        return [(seed, walked(index, seed)) for seed in order]

    return [each for found in in_threads(work, range(8)) for each in found]
