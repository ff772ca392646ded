"""Bundled programming languages: what Lark says of a text, what masks say, and who judges.

In: the name of a bundled grammar, and a text. Out: verdicts. A judge is a module with
`error(text)`: "" if the language's own parser takes the text, None if it refuses it for another
reason than its syntax, else what is wrong; its `PROGRAM` is None where there is no such parser.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

import lark
import pytest

import cfgguide
from support.judges import is_parsed, is_written, lark_parser

#: The judge of each language, by the name of the bundled grammar.
JUDGES = {
    "c": "support.c_judge", "go": "support.go_judge", "java": "support.java_judge",
    "javascript": "support.javascript_judge", "lua": "support.lua_judge",
    "pascal": "support.pascal_judge", "rust2021": "support.rust_judge",
    "rust": "support.rust2024_judge", "verilog": "support.verilog_judge",
}  # fmt: skip


def judge_of(name: str) -> Any:
    """Return the judge of a language, or skip the test if its parser is not installed."""
    judge = import_module(JUDGES[name])
    if not getattr(judge, "is_installed", lambda: judge.PROGRAM is not None)():
        pytest.skip(f"what judges {name} is not installed")
    return judge


def errors_of(name: str, texts: Sequence[str]) -> list[str | None]:
    """Return what the judge of a language says of texts: at once, if it can."""
    judge = judge_of(name)
    if hasattr(judge, "errors"):
        errors: list[str | None] = judge.errors(list(texts))
        return errors
    return [judge.error(text) for text in texts]


@functools.cache
def index_of(
    name: str, start: str = "start", *, tidy: bool = False, words: tuple[bytes, ...] = ()
) -> cfgguide.Index:
    """Return an index whose tokens are all bytes, and some words."""
    grammar = cfgguide.Grammar.bundled(name, start=start, tidy=tidy)
    return cfgguide.compile(grammar, cfgguide.Vocabulary.of_bytes(words))


def can_be_written(text: str, index: cfgguide.Index) -> bool:
    """Return whether masks let a text be written byte by byte, and end there."""
    return is_written(index, text.encode())


@functools.cache
def bundled_parser(name: str, start: str = "start") -> lark.Lark:
    """Return Lark's parser of a bundled grammar."""
    return lark_parser(cfgguide.Grammar.bundled(name, start=start))


def lark_parses(text: str, name: str, start: str = "start") -> bool:
    """Return whether Lark parses a text by a bundled grammar."""
    return is_parsed(bundled_parser(name, start), text)


def random_texts(index: cfgguide.Index, n: int, most: int = 60) -> Iterator[str]:
    """Write texts, each allowed token with the same probability; end them by the shortest way."""
    for seed in range(n):
        rng = random.Random(seed)
        guide = cfgguide.Guide(index)
        for _ in range(rng.randint(1, most)):
            guide.advance(int(rng.choice(guide.allowed_token_ids())))
            if guide.is_finished:
                break
        for token_id in () if guide.is_finished else guide.shortest_completion():
            guide.advance(token_id)
        yield guide.text.decode()
