"""Random texts under a mask, what reading says of its tokens, and what SQLite says of a text."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator

import cfgguide


def allows(index: cfgguide.Index, text: str) -> bool:
    """Whether a text is a sentence that grammar and monitor allow."""
    after = index.machine.advance(index.machine.initial, text.encode())
    return after is not None and index.machine.is_sentence(after)


def refusal(database: sqlite3.Connection, statement: str) -> str:
    """What SQLite says against a statement, empty if it prepares it."""
    try:
        database.execute(f"EXPLAIN {statement}")
    except sqlite3.Error as error:
        return str(error)
    return ""


def allowed_tokens(guide: cfgguide.Guide) -> set[int]:
    """The tokens of the mask, without EOS."""
    return set(guide.allowed_token_ids().tolist()) - set(guide.index.vocabulary.eos_token_ids)


def read_tokens(guide: cfgguide.Guide) -> set[int]:
    """The tokens after which a sentence can follow, each read by itself."""
    index, found = guide.index, set()
    for token_id, token in enumerate(index.vocabulary.tokens):
        after = index.machine.advance(guide.configuration, token) if token else None
        if after is not None and index.machine.is_live(after):
            found.add(token_id)
    return found


def uniform_walk(guide: cfgguide.Guide, rng: random.Random, n_tokens: int) -> Iterator[set[int]]:
    """Write up to some tokens, each as likely as any other; yield those of each mask before."""
    for _ in range(n_tokens):
        allowed = allowed_tokens(guide)
        yield allowed
        if not allowed:
            return
        guide.advance(rng.choice(sorted(allowed)))


def finish_at_random(guide: cfgguide.Guide, rng: random.Random, n_tokens: int) -> bytes:
    """Write up to some uniform tokens and then the shortest ending; return the whole text."""
    for _ in uniform_walk(guide, rng, n_tokens):
        pass
    for token_id in guide.shortest_completion():
        guide.advance(token_id)
    return guide.text
