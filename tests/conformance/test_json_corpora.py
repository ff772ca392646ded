"""JSON texts that others collected, token by token, in every way of cutting them into tokens.

The folder comes from the environment variable CFGGUIDE_CONFORMANCE_DATA, which
`make conformance DATA=...` sets. It holds `tokenizers/<name>/tokenizer.json` and, in
`corpora/json_nst` (JSONTestSuite) and `corpora/json_checker`, a `data.jsonl` whose lines have an
`id`, a `text` (null where the bytes are not UTF-8) and what is `expected`: accept, reject, either.
"""

from __future__ import annotations

import functools
import json
import os
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

import cfgguide

FOLDER = os.environ.get("CFGGUIDE_CONFORMANCE_DATA")
if not FOLDER:
    pytest.skip("CFGGUIDE_CONFORMANCE_DATA names no folder", allow_module_level=True)
DATA = Path(FOLDER)
TOKENIZERS = sorted(path.parent.name for path in DATA.glob("tokenizers/*/tokenizer.json"))
LONGEST = 40  # bytes of a token in a random tokenisation


def corpus(name: str) -> Iterator[dict[str, Any]]:
    with (DATA / "corpora" / name / "data.jsonl").open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


CASES = [case for name in ("json_nst", "json_checker") for case in corpus(name)]
TEXTS = {case["id"]: case["text"] for case in CASES if case["text"] is not None}
ACCEPTED = [case["id"] for case in CASES if case["expected"] == "accept"]
REFUSED = [case["id"] for case in CASES if case["expected"] == "reject" and case["id"] in TEXTS]


@functools.cache
def tokenizer(name: str) -> Tokenizer:
    return Tokenizer.from_file(str(DATA / "tokenizers" / name / "tokenizer.json"))


@functools.cache
def index(name: str) -> cfgguide.Index:
    special = {
        token_id: token.content
        for token_id, token in tokenizer(name).get_added_tokens_decoder().items()
        if token.special
    }
    vocabulary = cfgguide.Vocabulary.from_tokenizer(tokenizer(name), eos_token_ids=min(special))
    return cfgguide.compile(cfgguide.Grammar.bundled("json"), vocabulary)


@functools.cache
def ids_by_bytes(name: str) -> dict[bytes, list[int]]:
    found: dict[bytes, list[int]] = {}
    for token_id, token in enumerate(index(name).vocabulary.tokens):
        if token:
            found.setdefault(token, []).append(token_id)
    return found


def canonical(name: str, text: str) -> list[int] | None:
    """The tokenizer's own ids, or None where they spell something else (it normalises).

    Sentencepiece puts a space in front, which changes nothing about a JSON text.
    """
    ids: list[int] = tokenizer(name).encode(text, add_special_tokens=False).ids
    tokens = index(name).vocabulary.tokens
    spelled = b"".join(tokens[token_id] or b"" for token_id in ids)
    return ids if spelled in (text.encode(), b" " + text.encode()) else None


def random_ids(name: str, text: str, rng: random.Random) -> list[int] | None:
    """Ids of random tokens that spell the text, or None where the vocabulary cannot."""
    data, by_bytes, ids, start = text.encode(), ids_by_bytes(name), [], 0
    while start < len(data):
        ends = [
            end
            for end in range(start + 1, min(len(data), start + LONGEST) + 1)
            if data[start:end] in by_bytes
        ]
        if not ends:
            return None
        end = rng.choice(ends)
        ids.append(rng.choice(by_bytes[data[start:end]]))
        start = end
    return ids


def single_bytes(name: str, text: str) -> list[int] | None:
    """Ids of one byte each, or None where the vocabulary lacks such a token."""
    by_bytes = ids_by_bytes(name)
    found = [by_bytes.get(bytes([byte])) for byte in text.encode()]
    return [each[0] for each in found if each] if all(found) else None


def is_written(name: str, ids: Iterable[int]) -> bool:
    """Whether each token is allowed by the mask, and EOS in the end."""
    guide = cfgguide.Guide(index(name))
    for token_id in ids:
        if token_id not in index(name).subset(guide.configuration):
            return False
        guide.advance(token_id)
    eos = index(name).vocabulary.eos_token_ids[0]
    return eos in index(name).subset(guide.configuration)


def spellings(name: str, text: str) -> list[list[int]]:
    ways = [canonical(name, text), single_bytes(name, text)]
    ways += [random_ids(name, text, random.Random(seed)) for seed in range(3)]
    return [ids for ids in ways if ids is not None]


@pytest.mark.parametrize("name", TOKENIZERS)
def test_every_accepted_text_can_be_written_in_every_tokenisation(name):
    n_ways = 0
    for case_id in ACCEPTED:
        ways = spellings(name, TEXTS[case_id])
        n_ways += len(ways)
        assert all(is_written(name, ids) for ids in ways), case_id
    # A text may hold bytes that the vocabulary has no token for; nearly all can be spelled.
    assert n_ways > 4 * len(ACCEPTED)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_no_refused_text_can_be_written_in_any_tokenisation(name):
    n_ways = 0
    for case_id in REFUSED:
        ways = spellings(name, TEXTS[case_id])
        n_ways += len(ways)
        assert not any(is_written(name, ids) for ids in ways), case_id
    assert n_ways > 4 * len(REFUSED)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_the_corpora_are_there(name):
    assert len(ACCEPTED) > 100
    assert len(REFUSED) > 180
    assert any(canonical(name, text) for text in TEXTS.values())
