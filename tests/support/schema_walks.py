"""Texts of a schema that are written token by token within a budget."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import cfgguide
from cfgguide.engine.index.memo import Step
from support.schemas import is_valid

SMALL = cfgguide.Vocabulary.of_bytes(
    [b'{"', b'":', b'"a', b"true", b"  ", b'"}', b"],", b'"b":', "é".encode(), b'","']
)


def finder(index: cfgguide.Index) -> Any:
    """What finds short endings of texts of a schema or a message."""
    (find,) = index.machine.endings(index.vocabulary, len)
    return find


def check_ending(index: cfgguide.Index, find: Any, configuration: Any) -> bytes:
    """The ending of a configuration; it completes a sentence."""
    ending: bytes = find(configuration)
    after = index.machine.advance(configuration, ending)
    assert after is not None, ending
    assert index.machine.is_sentence(after), ending
    return ending


def shorter_ending(index: cfgguide.Index, find: Any, step: Step) -> bytes | None:
    """What ends a text in less bytes than its ending: a token, and the ending after it."""
    ending = find(step.configuration)
    for token_id in index.allowed(step).token_ids().tolist():
        token = index.vocabulary.tokens[token_id]
        after = None if token is None else index.advance(step, token_id)
        if after is not None:
            other: bytes = token + find(after.configuration)
            if len(other) < len(ending):
                return other
    return None


def walk(index: cfgguide.Index, schema: Any, rng: random.Random) -> None:
    """Write a text within a budget, any allowed token with the same probability."""
    guide, find = cfgguide.Guide(index), finder(index)
    n = len(guide.shortest_completion()) + rng.randrange(30)
    while not guide.is_finished:
        ending = check_ending(index, find, guide.configuration)
        assert is_valid(schema, (guide.text + ending).decode())
        allowed = guide.allowed_within(n - len(guide.token_ids))
        plain = guide.allowed_token_ids()
        assert np.isin(allowed, plain).all()
        assert np.array_equal(guide.allowed_within(10**6), plain)
        guide.advance(int(rng.choice(allowed)))
    assert len(guide.token_ids) <= n
    assert is_valid(schema, guide.text.decode())
