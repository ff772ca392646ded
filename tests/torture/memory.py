"""Resident memory over many tokens and many grammars.

In: seconds. Out: whether the process has as much memory at the end as after its first half:
by then, all that is bounded is full. Tokens
are those of random texts of a few grammars, kept as numbers, numpy's integers and tensors; then a
pool of bounded size gets one grammar after another, all different.
"""

from __future__ import annotations

import gc
import random
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import cfgguide
from cfgguide import Grammar, Guide, IndexPool
from torture.subjects import mask_of, subjects, vocabulary

_MOST_TOKENS, _MOST_GRAMMARS = 10_000_000, 10_000
_GROWTH = 0.05  # of the memory after the first half
_STATM = Path("/proc/self/statm")


def resident() -> int:
    """Bytes of the process now."""
    gc.collect()
    if _STATM.exists():
        return int(_STATM.read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _tokens(rng: random.Random) -> Iterator[int]:
    """Consume tokens of random texts; yield how many in each."""
    indexes = [each.make() for each in subjects(0)]
    while True:
        guide = Guide(rng.choice(indexes))
        n = 0
        out = np.empty(guide.index.vocabulary.n_words, dtype=np.int32)
        while not guide.is_finished and n < 200:
            guide.fill_bitmask(out)
            allowed = guide.allowed_token_ids()
            if not len(allowed):
                break
            token_id = allowed[rng.randrange(len(allowed))]
            guide.advance(int(token_id) if n % 2 else token_id)
            n += 1
        yield n


def _grammars(rng: random.Random) -> Iterator[int]:
    """Ask a pool for new grammars, some of them schemas; yield 1 for each."""
    pool = IndexPool(vocabulary(), max_bytes=20_000_000, use_cache=False)
    while True:
        word = "".join(rng.choices("abcdefgh", k=12))
        grammar = Grammar(f'start: "{word}" ("," NAME)*\nNAME: /[a-z]+{word}?/')
        if rng.random() < 0.5:
            grammar = cfgguide.json_schema({"properties": {word: {"pattern": f"^{word}+"}}})
        guide = Guide(pool.index(grammar))
        for _ in range(10):
            mask_of(guide)
            allowed = guide.allowed_token_ids().tolist()
            if not allowed:
                break
            guide.advance(rng.choice(allowed))
        yield 1


def is_flat(seconds: float, seed: int, write: Callable[[str], object]) -> bool:
    """Whether memory stays as it is; the figures are written."""
    are_flat = []
    for name, work, most in (
        ("tokens", _tokens, _MOST_TOKENS),
        ("grammars", _grammars, _MOST_GRAMMARS),
    ):
        started, n, first = time.monotonic(), 0, 0
        for done in work(random.Random(seed)):
            n += done
            spent = (time.monotonic() - started) / (seconds / 2)
            if not first and (spent > 0.5 or n > most / 2):
                first, n_first = resident(), n
            if spent > 1 or n >= most:
                break
        last = resident()
        are_flat.append(last < (1 + _GROWTH) * first)
        megabytes = f"{first / 1e6:.0f} MB after {n_first:,}, {last / 1e6:.0f} MB at the end"
        write(f"{n:,} {name}: {megabytes}\n")
    return all(are_flat)
