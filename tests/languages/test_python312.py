"""The bundled grammar of Python 3.12 and later.

`python312_texts.txt` holds texts of one construction each with the verdicts of CPython 3.14, which
this interpreter is not. libcst, which parses up to 3.14, is asked anew; it takes more than CPython
(it checks no escapes), and two things less.
"""

from __future__ import annotations

import functools
import random
import re
import sysconfig
from functools import cache
from pathlib import Path

import lark
import libcst
import pytest
from support.judged_texts import texts_of
from support.judges import is_parsed, lark_parser
from support.sampled_programs import Endings, text_of, walked
from support.small_tokenizers import standard_library_vocabulary

import cfgguide
from cfgguide.engine.index.index import Index

pytestmark = pytest.mark.slow  # Lark takes ten seconds to load the grammar

texts = functools.partial(texts_of, "python312_texts.txt")
# Generator expressions without parentheses: 3.12 wants them.
NOT_ANY_MORE = re.compile(r"f'\{\w (async )?for ")
# Of the texts that CPython parses, those that libcst does not: a name of a character in a format
# spec, and a comma behind the only exception.
UNKNOWN_TO_LIBCST = ("\\N{", "except a,:")


@functools.cache
def parser() -> lark.Lark:
    return lark_parser(cfgguide.Grammar.bundled("python312"))


def grammar_accepts(text: str) -> bool:
    return is_parsed(parser(), text)


def libcst_accepts(text: str) -> bool:
    try:
        libcst.parse_module(text)
    except libcst.ParserSyntaxError:
        return False
    return True


@pytest.mark.parametrize("text", texts("+"))
def test_what_cpython_parses_is_accepted(text: str) -> None:
    assert grammar_accepts(text)
    assert libcst_accepts(text) or any(part in text for part in UNKNOWN_TO_LIBCST)


@pytest.mark.parametrize("text", texts("-"))
def test_what_cpython_refuses_is_refused(text: str) -> None:
    assert not grammar_accepts(text)


@pytest.mark.parametrize("text", texts("~"))
def test_what_is_documented_as_lost_is_refused(text: str) -> None:
    assert not grammar_accepts(text)


def test_what_python_311_has_is_kept() -> None:
    for text in texts_of("python_texts.txt", "+"):
        assert grammar_accepts(text) == (not NOT_ANY_MORE.match(text)), text


@pytest.mark.parametrize(("depth", "is_accepted"), [(149, True), (150, False)], ids=["149", "150"])
def test_f_strings_nest_as_deep_as_cpython_has_them(depth: int, is_accepted: bool) -> None:
    assert grammar_accepts('f"{' * depth + "1" + '}"' * depth) == is_accepted


@cache
def index() -> Index:
    return cfgguide.compile(
        cfgguide.Grammar.bundled("python312"), standard_library_vocabulary(), use_cache=False
    )


def is_sentence(text: str) -> bool:
    recognizer = index().machine.recognizer
    after = recognizer.advance(recognizer.initial, text.encode())
    return after is not None and recognizer.is_sentence(after)


def test_configurations_say_the_same_as_lark() -> None:
    for mark in "+-~":
        for text in texts(mark):
            assert is_sentence(text) == (mark == "+"), text


def test_files_of_the_standard_library_are_sentences() -> None:
    root = Path(sysconfig.get_paths()["stdlib"])
    paths = [path for path in sorted(root.glob("*.py")) if path.stat().st_size < 12_000][::9]
    for path in paths:
        assert is_sentence(path.read_text("utf-8")), path


def test_programs_taken_at_random_are_python() -> None:
    endings = Endings(index())
    n_judged = 0
    for seed in range(30):
        rng = random.Random(seed)
        tokens, step, has_ended = walked(index(), rng, rng.randint(1, 40))
        if not has_ended:
            ending = endings.ending(step)
            assert ending is not None
            tokens += ending
        text = text_of(index().vocabulary, tokens).decode()
        assert grammar_accepts(text), text
        if not any(part in text for part in UNKNOWN_TO_LIBCST):
            assert libcst_accepts(text), text
            n_judged += 1
    assert n_judged > 20
