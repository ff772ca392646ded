"""INSERT, UPDATE and DELETE that run: SQLite prepares all that is allowed."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from pathlib import Path

import pytest
from support.monitored import allowed_tokens, allows, finish_at_random, read_tokens, refusal
from support.sql_schemas import random_schema
from support.sql_statements import DATABASES, made, random_statement

import cfgguide
from cfgguide.errors import GrammarError
from cfgguide.sql import runs_on

BYTES = cfgguide.Vocabulary.of_bytes(
    [b"INSERT INTO ", b"UPDATE ", b"DELETE FROM ", b" VALUES (", b" SET ", b" ON CONFLICT ", b"id"]
)
SCHEMA = """
CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT UNIQUE, age INT);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY, user_id INT, total REAL, day TEXT, tax AS (total / 5),
    UNIQUE (user_id, day));
CREATE TABLE "order line" (order_id INT, "unit price" REAL, PRIMARY KEY (order_id)) WITHOUT ROWID;
CREATE UNIQUE INDEX partial ON orders (total) WHERE day IS NULL;
CREATE UNIQUE INDEX by_text ON orders (lower(day));
CREATE UNIQUE INDEX otherwise ON users (name COLLATE NOCASE);
CREATE TABLE excluded (id INTEGER PRIMARY KEY, x);
CREATE VIEW sums AS SELECT user_id, sum(total) AS total FROM orders GROUP BY 1;
CREATE TABLE logged (x, y);
CREATE TRIGGER broken AFTER UPDATE OF y ON logged BEGIN INSERT INTO nowhere VALUES (1); END;
"""
STATEMENTS = """
INSERT INTO users VALUES (1, 'a', 'b', 3)
INSERT INTO users VALUES (1, 'a', 'b')
INSERT INTO users VALUES (1, 'a', 'b', 3, 4)
INSERT INTO users VALUES (1, 'a', 'b', 3), (2, 'c', 'd', 4)
INSERT INTO users VALUES (1, 'a', 'b', 3), (2, 'c')
INSERT INTO users (name) VALUES ('a')
INSERT INTO users (name, age) VALUES ('a', 1), ('b', 2);
INSERT INTO users (name, age) VALUES ('a')
INSERT INTO users (name, total) VALUES ('a', 1)
INSERT INTO users ("name", [AGE]) VALUES ('a', 1)
INSERT INTO users DEFAULT VALUES
INSERT INTO users (name) DEFAULT VALUES
INSERT INTO users (name) VALUES (name)
INSERT INTO users (name) VALUES ((SELECT name FROM users))
INSERT INTO users (name) VALUES (max(1, 2))
INSERT INTO users (name) VALUES (max(1))
INSERT INTO users (name) VALUES (row_number() OVER ())
INSERT INTO users (name, age) SELECT day, total FROM orders
INSERT INTO users (name, age) SELECT day FROM orders
INSERT INTO users (name, age) SELECT * FROM "order line"
INSERT INTO users (name, age) SELECT * FROM orders
INSERT INTO users SELECT * FROM users
INSERT INTO users (name) SELECT day FROM orders ORDER BY total LIMIT 3
INSERT INTO users (name) SELECT 'a' UNION SELECT 'b'
INSERT INTO users (name) WITH q AS (SELECT 'a' AS k) SELECT k FROM q
INSERT INTO users (name) WITH q AS (SELECT 'a' AS k) VALUES ((SELECT k FROM q))
WITH q AS (SELECT 'a' AS k) INSERT INTO users (name) SELECT k FROM q
WITH q AS (SELECT 'a' AS k) INSERT INTO users (name) VALUES ((SELECT k FROM q))
WITH q AS (SELECT 'a' AS k) INSERT INTO q VALUES (1)
INSERT INTO orders VALUES (1, 2, 3, 4)
INSERT INTO orders VALUES (1, 2, 3, 4, 5)
INSERT INTO orders (tax) VALUES (1)
INSERT INTO sums VALUES (1, 2)
INSERT INTO nowhere VALUES (1)
INSERT INTO logged VALUES (1, 2)
INSERT OR IGNORE INTO users (name) VALUES ('a')
INSERT OR REPLACE INTO users (name) VALUES ('a')
INSERT OR NOTHING INTO users (name) VALUES ('a')
REPLACE INTO users (name) VALUES ('a')
REPLACE OR FAIL INTO users (name) VALUES ('a')
INSERT INTO users AS u (name) VALUES ('a')
INSERT INTO users u (name) VALUES ('a')
INSERT INTO users (name) VALUES ('a') ON CONFLICT DO NOTHING
INSERT INTO users (name) VALUES ('a') ON CONFLICT (id) DO NOTHING
INSERT INTO users (name) VALUES ('a') ON CONFLICT (email) DO NOTHING
INSERT INTO users (name) VALUES ('a') ON CONFLICT (id, email) DO NOTHING
INSERT INTO users (name) VALUES ('a') ON CONFLICT (age) DO NOTHING
INSERT INTO orders (day) VALUES ('a') ON CONFLICT (day, user_id) DO NOTHING
INSERT INTO orders (day) VALUES ('a') ON CONFLICT (day) DO NOTHING
INSERT INTO orders (day) VALUES ('a') ON CONFLICT (total) DO NOTHING
INSERT INTO "order line" VALUES (1, 2) ON CONFLICT (order_id) DO UPDATE SET order_id = 3
INSERT INTO users (id, age) VALUES (1, 2) ON CONFLICT (id) DO UPDATE SET age = excluded.age + age
INSERT INTO users (id, age) VALUES (1, 2) ON CONFLICT (id) DO UPDATE SET age = excluded.total
INSERT INTO users (id, age) VALUES (1, 2) ON CONFLICT (id) DO UPDATE SET total = 1
INSERT INTO users (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET age = 1 WHERE age > excluded.age
INSERT INTO users AS u (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET age = u.age
INSERT INTO users AS u (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET age = users.age
INSERT INTO users (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET age = max(age)
REPLACE INTO users (id) VALUES (1) ON CONFLICT DO UPDATE SET age = (SELECT excluded.id FROM orders)
INSERT INTO users (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET (name, age) = ('a', excluded.age)
INSERT INTO users (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET (name, age) = ('a')
REPLACE INTO users (id) VALUES (1) ON CONFLICT (id) DO NOTHING ON CONFLICT (email) DO NOTHING
INSERT INTO users (id) VALUES (1) ON CONFLICT (id) DO NOTHING ON CONFLICT DO NOTHING RETURNING id
INSERT INTO users (id) VALUES (1) ON CONFLICT DO NOTHING ON CONFLICT (id) DO NOTHING
INSERT INTO excluded VALUES (1, 2) ON CONFLICT (id) DO UPDATE SET x = excluded.x
INSERT INTO users (id) SELECT id FROM orders ON CONFLICT DO NOTHING
INSERT INTO users (id) SELECT id FROM orders WHERE true ON CONFLICT DO NOTHING
INSERT INTO users (id) SELECT id FROM orders ORDER BY 1 ON CONFLICT DO NOTHING
INSERT INTO users (id) SELECT 1 ON CONFLICT (id) DO NOTHING
INSERT INTO users DEFAULT VALUES ON CONFLICT DO NOTHING
INSERT INTO users DEFAULT VALUES RETURNING *, id + 1 AS next, users.name
INSERT INTO users (id) VALUES (1) RETURNING count(*)
INSERT INTO users (id) VALUES (1) RETURNING users.*
INSERT INTO users (id) VALUES (1) RETURNING id AS k, k
INSERT INTO users (id) VALUES (1) RETURNING excluded.id
INSERT INTO users (id) VALUES (1) RETURNING (SELECT sum(total) FROM orders WHERE user_id = users.id)
INSERT INTO users AS u (id) VALUES (1) RETURNING u.id
INSERT INTO users AS u (id) VALUES (1) RETURNING users.id
UPDATE users SET age = 1
UPDATE users SET age = age + 1, name = upper(name) WHERE id = 3
UPDATE users SET total = 1
UPDATE users SET age = total
UPDATE users SET users.age = 1
UPDATE users SET (name, age) = ('a', 1), email = 'b'
UPDATE users SET (name, age) = ('a', 1, 2)
UPDATE users SET (name, age) = (SELECT day, total FROM orders WHERE user_id = users.id)
UPDATE users SET (name, age) = (SELECT day FROM orders)
UPDATE users SET (name, age) = 1
UPDATE users SET age = (1, 2)
UPDATE users SET age = (SELECT 1, 2)
UPDATE users SET age = max(age)
UPDATE users SET age = (SELECT max(total) FROM orders WHERE user_id = users.id)
UPDATE users SET age = 1 WHERE max(age) > 1
UPDATE users SET age = (1, 2) = (SELECT 1, 2 UNION VALUES (1, 2), (3, 4))
UPDATE users SET age = (1, 2) = (SELECT 1, 2 UNION VALUES (1, 2))
UPDATE users AS u SET age = u.age WHERE u.id = 1
UPDATE users AS u SET age = users.age
UPDATE users u SET age = 1
UPDATE users AS u SET age = 1 RETURNING users.id
UPDATE users AS u SET age = 1 RETURNING u.id
UPDATE OR IGNORE users SET age = 1
UPDATE orders SET tax = 1
UPDATE orders SET total = tax
UPDATE sums SET total = 1
UPDATE logged SET x = 1
UPDATE logged SET y = 1
UPDATE "order line" SET "unit price" = `unit price` * 2
WITH q AS (SELECT 1 AS k) UPDATE users SET age = (SELECT k FROM q) WHERE id IN (SELECT k FROM q)
DELETE FROM users
DELETE FROM users WHERE age > 3 AND id IN (SELECT user_id FROM orders WHERE total < users.age)
DELETE FROM users WHERE total > 3
DELETE FROM users WHERE max(age) > 3
DELETE FROM users AS u WHERE u.age > 3 RETURNING *
DELETE FROM users AS u WHERE users.age > 3
DELETE FROM users u
DELETE FROM users, orders
DELETE FROM sums
DELETE FROM logged WHERE EXISTS (SELECT 1 FROM users WHERE age = x)
DELETE FROM users WHERE (id, age) = (SELECT user_id, total FROM orders)
DELETE FROM users WHERE (id, age) = (SELECT user_id FROM orders)
WITH q AS (SELECT 1 AS k) DELETE FROM users WHERE id IN (SELECT k FROM q)
SELECT name FROM users
SELECT name FROM orders
DROP TABLE users
""".strip().split("\n")
# Left out: what SQLite prepares, and is not allowed.
LEFT_OUT = """
INSERT INTO main.users DEFAULT VALUES
INSERT INTO users (rowid) VALUES (1)
INSERT INTO users (name, name) VALUES ('a', 'b')
INSERT INTO users (id) VALUES (1) ON CONFLICT (users.id) DO NOTHING
INSERT INTO users (id) VALUES (1) ON CONFLICT (name COLLATE nocase) DO NOTHING
INSERT INTO orders (id) VALUES (1) ON CONFLICT (total) WHERE day IS NULL DO NOTHING
INSERT INTO users (id) SELECT o.id FROM users JOIN orders AS o USING (id) ON CONFLICT DO NOTHING
INSERT INTO users (name) WITH q AS (SELECT 'a' AS k) VALUES ((SELECT k FROM q)), (1)
UPDATE users SET age = 1, age = 2
UPDATE users SET (age) = 1
UPDATE users SET rowid = 1
UPDATE users SET age = total FROM orders WHERE user_id = users.id
UPDATE users SET age = 1 LIMIT 1
DELETE FROM users NOT INDEXED
DELETE FROM users ORDER BY id LIMIT 1
""".strip().split("\n")
FACTS = Path(__file__).parent / "sqlite_facts.txt"


@pytest.fixture(scope="module")
def database():
    database = sqlite3.connect(":memory:")
    database.executescript(SCHEMA)
    yield database
    database.close()


@pytest.fixture(scope="module")
def index(database):
    return cfgguide.compile(runs_on(database, statements="all"), BYTES)


@pytest.mark.parametrize("statement", [each for each in STATEMENTS if each[:4] != "DROP"])
def test_what_sqlite_prepares_is_allowed_and_nothing_else(database, index, statement):
    assert allows(index, statement) == (not refusal(database, statement))


@pytest.mark.parametrize("statement", LEFT_OUT)
def test_what_is_left_out(index, statement):
    assert not allows(index, statement)


def test_statements_are_those_that_are_asked_for(database):
    query, change = "SELECT name FROM users", "DELETE FROM users"
    allowed = {
        statements: [
            allows(cfgguide.compile(runs_on(database, statements=statements), BYTES), each)
            for each in (query, change, "DROP TABLE users")
        ]
        for statements in ("select", "write", "all")
    }
    assert allowed == {
        "select": [True, False, False],
        "write": [False, True, False],
        "all": [True, True, False],
    }
    assert not allows(cfgguide.compile(runs_on(database), BYTES), change)
    with pytest.raises(GrammarError, match="statements is one of 'select', 'write', 'all'"):
        runs_on(database, statements="drop")


def test_of_a_mapping_all_columns_are_written_and_no_key_is_known():
    index = cfgguide.compile(runs_on({"users": ["id", "order"]}, statements="write"), BYTES)
    assert allows(index, "INSERT INTO users VALUES (1, 2) ON CONFLICT DO NOTHING")
    assert allows(index, 'UPDATE users SET id = 1, "order" = id RETURNING *')
    assert not allows(index, "INSERT INTO users VALUES (1, 2) ON CONFLICT (id) DO NOTHING")


def test_where_nothing_can_be_written_nothing_is():
    schema = "CREATE TABLE t (x);" + "".join(
        f"CREATE TRIGGER {each}_t AFTER {each} ON t BEGIN DELETE FROM nowhere; END;"
        for each in ("INSERT", "UPDATE", "DELETE")
    )
    guide = cfgguide.Guide(cfgguide.compile(runs_on(schema, statements="all"), BYTES))
    first = {BYTES.tokens[token_id][:1].upper() for token_id in guide.allowed_token_ids().tolist()}
    assert first >= {b"S", b"V", b"W"}
    assert not first & {b"I", b"R", b"U", b"D"}
    with pytest.raises(GrammarError, match="no table of the database takes INSERT"):
        runs_on(schema, statements="write")


@pytest.mark.slow
def test_nothing_of_the_known_facts_is_allowed_that_sqlite_refuses():
    schema, statements = [], []
    for line in FACTS.read_text().splitlines():
        kind, *rest = line.split("\t")
        if kind == "schema":
            schema.append(rest[-1])
        elif rest and not kind.startswith("#"):
            statements.append(rest[1])
    database = sqlite3.connect(":memory:")
    database.executescript(";\n".join(schema))
    index = cfgguide.compile(runs_on(database, statements="write"), BYTES)
    allowed = [statement for statement in statements if allows(index, statement)]
    assert len(allowed) > 100
    assert [each for each in allowed if refusal(database, each)] == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_random_texts_prepare(seed):
    """Beginnings of statements, uniform tokens, the shortest ending: SQLite prepares all."""
    rng = random.Random(seed)
    database = sqlite3.connect(":memory:")
    database.executescript(random_schema(seed, rng.choice([2, 4, 8])))
    index = cfgguide.compile(runs_on(database, statements="write"), BYTES)
    for number in range(16):
        guide = cfgguide.Guide(index)
        kind = rng.choice(["insert", "update", "delete"])
        text = random_statement(database, number, kind) if number % 2 else ""
        for byte in text[: rng.randrange(len(text) + 1)].encode():
            if not guide.accepts(byte):
                break
            guide.advance(byte)
        written = finish_at_random(guide, rng, rng.choice([5, 20, 60]))
        text = written.decode("utf-8", "replace")
        assert refusal(database, text) == "", text


def test_masks_are_what_reading_says(index):
    rng = random.Random(1)
    statements = [each for each in STATEMENTS if allows(index, each)]
    for statement in rng.sample(statements, 12):
        guide = cfgguide.Guide(index)
        for byte in statement.replace(" ", "  ").encode():
            if rng.random() < 0.15:
                assert allowed_tokens(guide) == read_tokens(guide), guide.text
            if not guide.accepts(byte):
                break
            guide.advance(byte)


def test_names_may_follow_more_white_space():
    """A mask inside of white space has tokens of more white space and a name."""
    vocabulary = cfgguide.Vocabulary.of_bytes([b" users"])
    index = cfgguide.compile(runs_on({"users": ["id"]}, statements="write"), vocabulary)
    guide = cfgguide.Guide(index)
    for byte in b"UPDATE ":
        guide.advance(byte)
    assert b" users" in [vocabulary.tokens[each] for each in guide.allowed_token_ids().tolist()]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "least"), [("insert", 0.7), ("update", 0.45), ("delete", 0.65)])
def test_most_random_statements_are_allowed(kind, least):
    counts = Counter()
    for key in DATABASES:
        database = made(key)
        index = cfgguide.compile(runs_on(database, statements="write"), BYTES)
        for seed in range(60):
            counts[allows(index, random_statement(database, seed, kind))] += 1
    assert counts[True] > least * counts.total(), counts
