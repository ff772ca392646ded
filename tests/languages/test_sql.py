"""The bundled grammar of SQLite's SQL, judged anew by this interpreter's SQLite.

`sql_texts.txt` holds statements of one construction each: `+` SQLite parses them, `-` it refuses
them, `~` it parses them and the grammar does not.
"""

from __future__ import annotations

import random
from functools import partial

import pytest
from support.derivations import Deriver, mutated
from support.judged_texts import texts_of
from support.languages import bundled_parser
from support.sql_grammars import SAMPLES, SYMBOLS, WORDS, is_accepted
from support.sql_judge import is_syntax, verdict

texts = partial(texts_of, "sql_texts.txt")
# Where names may stand; each keyword is put there in turn.
HOLES = (
    "SELECT {0}", "SELECT {0}(1)", "SELECT a {0} FROM t", "SELECT * FROM {0}",
    "SELECT * FROM t {0}", "SELECT * FROM t {0} JOIN u", "SELECT 1 WHERE a = {0} AND b",
    "SELECT f() OVER ({0} ROWS CURRENT ROW)", "SELECT f() OVER (ROWS {0} PRECEDING)",
    "WITH {0} AS (SELECT 1) SELECT 1", "INSERT INTO {0} VALUES (1)",
    "UPDATE t SET {0} = 1", "CREATE TABLE {0} (a)", "CREATE TABLE t (a {0} NOT NULL)",
    "CREATE TABLE t (a int NOT NULL {0} AS (1))", "DROP TABLE {0}",
    "ALTER TABLE t ADD {0}", "RELEASE {0}", "{0} 1",
)  # fmt: skip
# An alias or a type called `window` without AS: SQLite looks further ahead than one word.
LOST_HOLES = {
    "SELECT a {0} FROM t",
    "SELECT * FROM t {0}",
    "SELECT * FROM t {0} JOIN u",
    "CREATE TABLE t (a {0} NOT NULL)",
}


@pytest.mark.slow
@pytest.mark.parametrize("text", texts("+"))
def test_what_sqlite_parses_is_accepted(text: str) -> None:
    assert verdict(text) is True
    assert is_accepted(text)


@pytest.mark.slow
@pytest.mark.parametrize("text", texts("-"))
def test_what_sqlite_refuses_is_refused(text: str) -> None:
    assert verdict(text) is False
    assert not is_accepted(text)


@pytest.mark.few(1)
@pytest.mark.parametrize("text", texts("~"))
def test_what_is_known_to_be_lost_is_refused(text: str) -> None:
    assert verdict(text) is True
    assert not is_accepted(text)


@pytest.mark.few(4)
@pytest.mark.parametrize("hole", HOLES)
def test_keywords_are_names_where_sqlite_has_them_so(hole: str) -> None:
    for word in WORDS:
        text = hole.format(word)
        said = verdict(text)
        if word == "window" and hole in LOST_HOLES:
            assert said is True
            assert not is_accepted(text)
        elif said is not None:
            assert is_accepted(text) == said, text


@pytest.mark.slow
@pytest.mark.parametrize("start", ["statement", "select", "expression"])
def test_sentences_made_at_random_are_parsed(start: str) -> None:
    rng = random.Random(7)
    deriver = Deriver(bundled_parser("sql", start), SAMPLES)
    n_judged = 0
    for _ in range(300):
        text = " ".join(deriver.sentence(rng, start, rng.choice((5, 10, 20, 40))))
        if is_accepted(text, start=start):
            asked = f"SELECT {text}" if start == "expression" else text
            said = verdict(asked)
            assert said is not False, asked
            n_judged += said is not None
    assert n_judged > 150


@pytest.mark.slow
def test_changed_texts_are_judged_alike() -> None:
    rng = random.Random(8)
    bases = [text for mark in "+-" for text in texts(mark)]
    counts = {True: 0, False: 0}
    for _ in range(1500):
        text = mutated(rng, rng.choice(bases), [*WORDS, *SYMBOLS], rng.choice((1, 1, 2)))
        said = verdict(text)
        if is_accepted(text):
            assert said is not False, text
            counts[True] += 1
        elif said is False:
            counts[False] += 1
    assert min(counts.values()) > 100


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "is_script"),
    [
        ("select 1; select 2", True),
        (";;select 1;;", True),
        ("begin; insert into t values (';'); commit;", True),
        ("select 1 select 2", False),
        ("", False),
        (";", False),
    ],
)
def test_scripts_are_statements_with_semicolons_between(text: str, is_script: bool) -> None:
    assert is_accepted(text, start="start") == is_script
    assert not is_accepted(text, start="select")


@pytest.mark.parametrize(
    ("message", "is_one"),
    [
        ('near "x": syntax error', True),
        ("incomplete input", True),
        ('unrecognized token: "1x"', True),
        ("no such table: near", False),
        ("parser stack overflow", False),
        ("ambiguous column name: a", False),
    ],
)
def test_which_errors_are_about_syntax(message: str, is_one: bool) -> None:
    assert is_syntax(message) == is_one
