"""The bundled grammar of PostgreSQL's queries and writing, judged anew by PostgreSQL's parser.

`postgresql_texts.txt` holds statements of one construction each: `+` PostgreSQL parses them, `-` it
refuses them, `~` it parses them and the grammar does not.
"""

from __future__ import annotations

import random
from functools import partial

import pytest
from support.ci import or_in_ci
from support.derivations import mutated
from support.judged_texts import texts_of
from support.postgresql_judge import verdict
from support.sql_grammars import SYMBOLS, WORDS, is_accepted

# The grammar is loaded once, which with the texts takes half a minute.
pytestmark = pytest.mark.slow

texts = partial(texts_of, "postgresql_texts.txt")


@pytest.mark.parametrize("text", texts("+"))
def test_what_postgresql_parses_is_accepted(text: str) -> None:
    assert verdict(text) is True
    assert is_accepted(text, "postgresql")


@pytest.mark.parametrize("text", texts("-"))
def test_what_postgresql_refuses_is_refused(text: str) -> None:
    assert verdict(text) is False
    assert not is_accepted(text, "postgresql")


@pytest.mark.parametrize("text", texts("~"))
def test_what_is_known_to_be_lost_is_refused(text: str) -> None:
    assert verdict(text) is True
    assert not is_accepted(text, "postgresql")


def test_changed_texts_that_are_accepted_are_parsed() -> None:
    rng = random.Random(5)
    bases = [text for mark in "+-" for text in texts(mark)]
    counts = {True: 0, False: 0}
    for _ in range(or_in_ci(1200, 400)):
        text = mutated(rng, rng.choice(bases), [*WORDS, *SYMBOLS], rng.choice((1, 1, 2)))
        is_sentence = is_accepted(text, "postgresql")
        counts[is_sentence] += 1
        if is_sentence:
            assert verdict(text) is not False, text
    assert min(counts.values()) > or_in_ci(100, 30)
