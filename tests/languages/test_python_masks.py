"""Masks of the bundled grammar of Python, judged by CPython's own parser."""

from __future__ import annotations

import ast
import random
import sysconfig
from functools import cache
from pathlib import Path

import pytest
from support.judges import is_python
from support.sampled_programs import Endings, text_of, walked
from support.small_tokenizers import standard_library_tokenizer, standard_library_vocabulary

import cfgguide
from cfgguide.engine.index.index import Index

pytestmark = pytest.mark.slow


@cache
def python_index() -> Index:
    return cfgguide.compile(
        cfgguide.Grammar.bundled("python"), standard_library_vocabulary(), use_cache=False
    )


def files() -> list[Path]:
    root = Path(sysconfig.get_paths()["stdlib"])
    every = [path for path in sorted(root.glob("*.py")) if path.stat().st_size < 12_000]
    return every[:: len(every) // 8]


@pytest.mark.parametrize("path", files(), ids=lambda path: path.name)
def test_files_of_the_standard_library_can_be_written(path: Path) -> None:
    index, text = python_index(), path.read_text("utf-8")
    step = index.start
    for token_id in standard_library_tokenizer().encode(text).ids:
        assert token_id in index.allowed(step)
        step = index.advance(step, token_id)
    assert index.vocabulary.eos_token_ids[0] in index.allowed(step)


def test_programs_taken_at_random_are_python() -> None:
    index = python_index()
    endings = Endings(index)
    for seed in range(12):
        rng = random.Random(seed)
        tokens, step, has_ended = walked(index, rng, rng.randint(1, 40))
        if not has_ended:
            ending = endings.ending(step)
            assert ending is not None
            tokens += ending
        text = text_of(index.vocabulary, tokens).decode()
        assert is_python(text), text


def test_short_tokens_taken_at_random_are_python() -> None:
    """Few letters, many brackets, quotes and lines: what a uniform choice hardly ever takes."""
    index = python_index()
    endings, tokens_of = Endings(index), index.vocabulary.tokens
    n_with_blocks = 0
    for seed in range(20):
        rng = random.Random(seed)
        step, tokens = index.start, []
        for _ in range(25):
            ids = index.allowed(step).token_ids().tolist()
            short = [each for each in ids if tokens_of[each] and len(tokens_of[each] or b"") < 4]
            odd = [each for each in short if not (tokens_of[each] or b"").isalnum()]
            token_id = rng.choice(odd if odd and rng.random() < 0.6 else short or ids)
            tokens.append(token_id)
            step = index.advance(step, token_id)
        ending = endings.ending(step)
        assert ending is not None
        text = text_of(index.vocabulary, tokens + ending).decode()
        assert is_python(text), text
        n_with_blocks += ":" in text and "\n" in text
    assert n_with_blocks


@pytest.mark.parametrize(
    ("text", "is_accepted"),
    [
        ("x = 1" + "0" * 4299, True),
        ("x = 1" + "0" * 4300, False),
        ("x = 1" + "0" * 4300 + ".5", True),
        ("(" * 200 + ")" * 200, True),
        ("(" * 201 + ")" * 201, False),
        ("".join(" " * level + "if x:\n" for level in range(99)) + " " * 99 + "x", True),
        ("".join(" " * level + "if x:\n" for level in range(100)) + " " * 100 + "x", False),
        ("if x:\n\tx\n        x", False),
        ("if x:\n\tx\n\tx\n   ", True),
        ("x \\\n", False),
    ],
)
def test_limits_are_cpythons(text: str, is_accepted: bool) -> None:
    recognizer = python_index().machine.recognizer
    after = recognizer.advance(recognizer.initial, text.encode())
    assert is_python(text) == is_accepted
    assert (after is not None and recognizer.is_sentence(after)) == is_accepted


def test_at_a_limit_masks_lead_nowhere_else() -> None:
    """Under 200 brackets or 99 blocks another one is not allowed, nor what would need one."""
    few = [token for token in standard_library_vocabulary().tokens if token and len(token) > 1]
    vocabulary = cfgguide.Vocabulary.of_bytes(few[:300])  # such masks take long
    index = cfgguide.compile(cfgguide.Grammar.bundled("python"), vocabulary)
    tokens = [token or b"" for token in vocabulary.tokens]
    blocks = "".join(" " * level + "if x:\n" for level in range(99)) + " " * 99
    for text, forbidden in (
        ("(" * 200, b"("),
        (blocks + "def f():", b"\n"),
    ):
        configuration = index.machine.advance(index.machine.initial, text.encode())
        assert configuration is not None
        allowed = index.subset(configuration)
        assert tokens.index(forbidden) not in allowed, text
        assert len(allowed.token_ids()), text


@pytest.mark.parametrize("name", ["python", "python312"])
def test_an_expression_needs_no_blocks(name: str) -> None:
    """The start rule uses neither INDENT nor DEDENT, which the indenter makes all the same."""
    grammar = cfgguide.Grammar.bundled(name, start="expression")
    index = cfgguide.compile(grammar, cfgguide.Vocabulary.of_bytes())
    for text in [
        "a",
        "f(a,\n  b)\n",
        "[a\n for a in b]",
        "# c\na  # d\n\n",
        "a\n b",
        "a\nb",
        " a",
        "a;",
    ]:
        guide = cfgguide.Guide(index)
        try:
            for byte in text.encode():
                guide.advance(byte)
            is_accepted = guide.is_accepting
        except cfgguide.TokenRejectedError:
            is_accepted = False
        assert is_accepted == is_expression(text), text


def is_expression(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return True
