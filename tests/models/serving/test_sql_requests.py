"""SQL by request: what is asked for over HTTP runs; SQLite judges."""

from __future__ import annotations

import json
import sqlite3

import numpy as np
import pytest

import cfgguide
from cfgguide.errors import CfgGuideError, GrammarError
from cfgguide.guide.guide import Guide
from cfgguide.models.serving.sql_requests import sql_grammar
from cfgguide.serving import Backend

VOCABULARY = cfgguide.Vocabulary.of_bytes()
SHOP = (
    "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INT);"
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, user_id INT, total REAL, placed TEXT);"
    'CREATE TABLE "order lines" (order_id, article, amount INT);'
    "CREATE VIEW spent AS SELECT name, sum(total) AS spent FROM users JOIN orders"
    " ON users.id = user_id GROUP BY 1;"
)


def asked(**options: object) -> str:
    return f"cfgguide:{json.dumps({'sql': 'sqlite', 'schema': SHOP, **options})}"


@pytest.fixture(scope="module")
def backend() -> Backend:
    return Backend(VOCABULARY)


def sampled(backend: Backend, text: str, n: int) -> list[str]:
    """Texts of a request: some tokens by chance, mostly ones that can be typed, and a way out."""
    index, chance, found = backend.index("grammar", text), np.random.default_rng(0), []
    while len(found) < n:
        guide = Guide(index)
        for _ in range(chance.integers(1, 80)):
            ids = guide.allowed_token_ids()
            typed = ids[(ids >= 32) & (ids < 127)]
            chosen = typed if len(typed) and chance.random() < 0.95 else ids
            guide.advance(int(chance.choice(chosen)))
            if guide.is_finished:
                break
        else:
            for token_id in guide.shortest_completion():
                guide.advance(token_id)
        found.append(guide.text.decode())
    return found


def prepared(text: str) -> None:
    """Have SQLite prepare a text that only reads, and has nothing to bind."""
    database = sqlite3.connect(":memory:")
    database.executescript(SHOP)
    database.execute("PRAGMA query_only = ON")
    database.execute(f"EXPLAIN {text}")


@pytest.mark.slow
@pytest.mark.parametrize("new_columns", [True, False])
def test_each_of_200_texts_prepares_and_reads(backend, new_columns):
    for text in sampled(backend, asked(new_columns=new_columns), 200):
        prepared(text)


def test_texts_prepare_and_read(backend):
    for text in sampled(backend, asked(), 20):
        prepared(text)


@pytest.mark.parametrize(
    ("options", "right", "wrong"),
    [
        ({}, "SELECT name FROM users", "DELETE FROM users"),
        ({}, "SELECT total FROM orders", "SELECT total FROM users"),
        ({}, "SELECT spent FROM spent", "SELECT name FROM users WHERE id = :x"),
        ({}, "SELECT name FROM users", "select name from users"),
        ({"statements": "write"}, "DELETE FROM users", "SELECT name FROM users"),
        ({"statements": "all"}, "DELETE FROM users", "DROP TABLE users"),
        ({"runs": False}, "SELECT total FROM users", "SELECT name FROM users WHERE id = :x"),
        ({"runs": False, "parameters": True}, "SELECT id FROM users WHERE id = :x", "SELECT ago"),
        ({"runs": False, "statements": "all"}, "DELETE FROM users", "DELETE FROM user"),
        (
            {"schema": {"users": ["id"]}},
            "SELECT id FROM users",
            "SELECT name FROM users",
        ),
        (
            {"sql": "postgresql"},
            "SELECT name FROM users",
            "SELECT name FROM users WHERE id = $1",
        ),
        ({"sql": "postgresql"}, "SELECT name FROM users", "DELETE FROM users"),
    ],
)
def test_a_request_says_what_may_be_written(options, right, wrong):
    grammar = sql_grammar({"sql": "sqlite", "schema": SHOP} | options)
    assert cfgguide.check(grammar, right).is_sentence
    assert not cfgguide.check(grammar, wrong).is_sentence


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sql": "mysql"}, "at /sql: it is sqlite or postgresql, not 'mysql'"),
        ({"schema": 3}, "at /schema: it is a text of CREATE TABLE"),
        ({"schema": "CREATE TABL x"}, 'near "TABL": syntax error'),
        ({"schema": "shopp"}, "no schema is called 'shopp'; did you mean shop?"),
        ({"shema": "x"}, "did you mean schema?"),
        ({"runs": "yes"}, "at /runs: it is true or false, not 'yes'"),
        ({"statements": "drop"}, "at /statements: it is select or write or all, not 'drop'"),
        ({"statements": "write", "runs": False}, "at /statements: with runs: false, it is select"),
        ({"parameters": True}, "at /parameters: no text that runs has them"),
        ({"sql": "postgresql", "runs": True}, "at /runs: only for SQLite"),
        ({"describe": True}, "at /describe: the server does not change a prompt"),
    ],
)
def test_a_wrong_request_is_told_where(options, message):
    with pytest.raises(CfgGuideError) as told:
        sql_grammar({"sql": "sqlite", "schema": SHOP} | options, ["shop"])
    assert message in str(told.value)


def test_a_schema_has_to_be_there(backend):
    with pytest.raises(GrammarError, match="SQL needs a schema"):
        backend.index("grammar", 'cfgguide: {"sql": "sqlite"}')
    with pytest.raises(GrammarError, match="JSON object"):
        backend.index("grammar", 'cfgguide: {"sql": ')


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("grammar", asked(describe=True)),
        ("grammar", 'cfgguide:json {"describe": "example"}'),
        ("json", '{"type": "object", "x-cfgguide": {"describe": true}}'),
    ],
)
def test_no_request_has_itself_described(backend, kind, text):
    with pytest.raises(GrammarError, match=r"at /describe: the server does not change a prompt"):
        backend.index(kind, text)


def test_a_stranger_wrote_it(backend):
    assert not backend._asked("grammar", asked()).is_trusted
