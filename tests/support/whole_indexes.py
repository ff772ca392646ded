"""Indexes with the masks of many configurations."""

from __future__ import annotations

import random
import warnings

import numpy as np

import cfgguide
from cfgguide import Grammar, Guide, Index, Vocabulary


def whole_index(grammar: str, tokens: list[bytes], **options) -> Index:
    vocabulary = Vocabulary([*tokens, None], eos_token_ids=len(tokens))
    with warnings.catch_warnings(action="ignore"):
        return cfgguide.compile(Grammar(grammar), vocabulary, **options)


def walked(index: Index, seed: int, most: int = 40) -> list[tuple[tuple[int, ...], bytes]]:
    """Random tokens, and the bitmask before each of them."""
    guide, rng, found = Guide(index), random.Random(seed), []
    for _ in range(most):
        out = np.empty(index.vocabulary.n_words, dtype=np.int32)
        guide.fill_bitmask(out)
        found.append((guide.token_ids, out.tobytes()))
        allowed = guide.allowed_token_ids().tolist()
        if not allowed:
            break
        guide.advance(rng.choice(allowed))
    return found
