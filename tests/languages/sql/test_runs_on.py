"""Queries that run: SQLite prepares all that is allowed, and nearly all that people write is."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.monitored import (
    allowed_tokens,
    allows,
    finish_at_random,
    read_tokens,
    refusal,
    uniform_walk,
)
from support.scripts import loaded
from support.sql_schemas import random_schema
from support.sql_statements import DATABASES, made, random_statement

import cfgguide
from cfgguide.errors import GrammarError
from cfgguide.models import load_model
from cfgguide.sql import runs_on

BYTES = cfgguide.Vocabulary.of_bytes([b" FROM", b"SELECT ", b"id", b" AS ", b"(*)", b"), ", b" ("])
SCHEMA = """
CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, age INT, city TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, user_id INT, total REAL, date TEXT);
CREATE TABLE "order line" (order_id INT, product TEXT, "unit price" REAL);
CREATE VIEW sums AS SELECT user_id, sum(total) AS total FROM orders GROUP BY 1;
"""
STATEMENTS = """
SELECT name FROM users
SELECT u.name, o.total FROM users u JOIN orders AS o ON u.id = o.user_id ORDER BY o.total DESC
SELECT id FROM users, orders
SELECT id FROM users JOIN orders USING (id)
SELECT id FROM users NATURAL JOIN orders
SELECT name FROM orders
SELECT users.total FROM users
SELECT u.name FROM users
SELECT users.name FROM users AS u
SELECT count(*), city FROM users GROUP BY city HAVING count(*) > 3
SELECT city FROM users HAVING age > 3
SELECT count(*) FROM users WHERE count(*) > 1
SELECT max(count(*)) FROM users
SELECT max(age, 3) FROM users WHERE max(age, 2) > 1
SELECT name FROM users WHERE max(age) > 1
SELECT name FROM users WHERE id IN (SELECT user_id FROM orders)
SELECT name FROM users WHERE id IN (SELECT user_id, id FROM orders)
SELECT name, (SELECT sum(total) FROM orders WHERE user_id = users.id) AS s FROM users ORDER BY s
SELECT name, (SELECT total, id FROM orders) FROM users
SELECT a FROM (SELECT name AS a FROM users)
SELECT b FROM (SELECT name AS a FROM users)
SELECT q.a FROM (SELECT name AS a FROM users) AS q
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM t WHERE n < 5) SELECT n FROM t
WITH t(n) AS (SELECT 1 UNION ALL SELECT max(n) FROM t) SELECT n FROM t
WITH t AS (SELECT * FROM t) SELECT * FROM t
WITH x AS (SELECT city, count(*) AS c FROM users GROUP BY city) SELECT x.city FROM x WHERE c > 2
WITH x(a, b) AS (SELECT 1) SELECT a FROM x
SELECT "unit price" FROM "order line"
SELECT product FROM [order line] WHERE `unit price` > 2
SELECT product FROM order line
SELECT name FROM users UNION SELECT product FROM "order line" ORDER BY name
SELECT name FROM users UNION SELECT product FROM "order line" ORDER BY 2
SELECT name FROM users UNION SELECT product, 1 FROM "order line"
SELECT * FROM users UNION SELECT id, name, age, city FROM users
SELECT 1, 2 UNION SELECT * FROM users
SELECT row_number() OVER (PARTITION BY city ORDER BY age) AS rn FROM users
SELECT row_number() OVER w FROM users WINDOW w AS (ORDER BY age)
SELECT row_number() OVER w FROM users
SELECT row_number() FROM users
SELECT name FROM users WHERE row_number() OVER () = 1
SELECT u.name FROM users AS u WHERE EXISTS (SELECT 1 FROM orders WHERE orders.user_id = u.id)
SELECT * FROM users WHERE (id, name) = (SELECT id, date FROM orders)
SELECT * FROM users WHERE (id, name) = (SELECT id FROM orders)
SELECT * FROM users WHERE (id, name) = (1, 2, 3)
SELECT replace(name, 'a', 'b') FROM users
SELECT replace(name, 'a') FROM users
SELECT nonsense(name) FROM users
SELECT abs(1,2)
SELECT coalesce(name, 'x') n2 FROM users WHERE n2 = 'x'
SELECT count(*) n2 FROM users WHERE n2 = 'x'
SELECT CASE WHEN age > 3 THEN 'a' ELSE 'b' END AS k, count(*) FROM users GROUP BY k ORDER BY 2 DESC
SELECT name FROM users ORDER BY 2
SELECT name FROM users ORDER BY -1
SELECT count(*) FROM users GROUP BY 1
SELECT count(*) AS 'N', 'a' 'it''s' FROM users ORDER BY n
SELECT [a b] FROM (SELECT 1 AS 'a b')
VALUES (1, 2), (3, 4)
VALUES (1, 2), (3)
SELECT count(DISTINCT city) FROM users
SELECT group_concat(DISTINCT city, ',') FROM users
SELECT sum(age) FILTER (WHERE city = 'x') FROM users
SELECT abs(age) FILTER (WHERE city = 'x') FROM users
SELECT name FROM users LIMIT age
SELECT * FROM sums NATURAL JOIN orders
SELECT *
SELECT name FROM users LEFT JOIN orders ON users.id = user_id WHERE total IS NULL
SELECT name FROM users RIGHT JOIN orders ON users.id = user_id
SELECT true, false, NULL
SELECT abs((SELECT 1)), round((SELECT age), 2) FROM users
SELECT coalesce(EXISTS (SELECT 1), 1 IN (SELECT 2))
SELECT sum(age) OVER (ROWS UNBOUNDED PRECEDING EXCLUDE GROUP) FROM users
SELECT abs((SELECT 1), 2)
SELECT abs(1 IN (2, 3)), max(1 IN (2), 3), (1 IN (2, 3), 4) = (5, 6)
SELECT * FROM users WHERE ((SELECT 1), name) = (1, 'x')
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
    return cfgguide.compile(runs_on(database), BYTES)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_what_sqlite_prepares_is_allowed_and_nothing_else(database, index, statement):
    assert allows(index, statement) == (not refusal(database, statement))


@pytest.mark.slow
def test_nothing_of_the_known_facts_is_allowed_that_sqlite_refuses():
    schema, statements = [], []
    for line in FACTS.read_text().splitlines():
        kind, *rest = line.split("\t")
        if kind == "schema":
            schema.append(rest[-1])
        elif rest and not kind.startswith("#"):
            statements.append(rest[-1])
    database = sqlite3.connect(":memory:")
    database.executescript(";\n".join(schema))
    index = cfgguide.compile(runs_on(database), BYTES)
    allowed = [statement for statement in statements if allows(index, statement)]
    assert len(allowed) > 500
    assert [each for each in allowed if refusal(database, each)] == []


@pytest.mark.slow
def test_real_questions_are_all_answered():
    files = loaded(Path(__file__).parents[3] / "benchmarks" / "question_files.py")
    schemas, refused = files.load_schemas(), []
    indexes = {}
    for question in files.load_questions():
        if question.schema not in indexes:
            database = sqlite3.connect(":memory:")
            database.executescript(schemas[question.schema])
            indexes[question.schema] = cfgguide.compile(runs_on(database), BYTES)
        if not allows(indexes[question.schema], question.query):
            refused.append(question.query)
    assert refused == []


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))]
)
def test_random_texts_prepare(seed):
    """Uniform tokens, then the shortest ending: SQLite prepares all of them."""
    rng = random.Random(seed)
    database = sqlite3.connect(":memory:")
    database.executescript(random_schema(seed, rng.choice([2, 4, 8])))
    index = cfgguide.compile(runs_on(database), BYTES)
    for _ in range(12):
        guide = cfgguide.Guide(index)
        written = finish_at_random(guide, rng, rng.choice([5, 20, 60]))
        text = written.decode("utf-8", "replace")
        assert refusal(database, text) == "", text


@pytest.mark.slow
def test_masks_are_what_reading_says(index):
    rng = random.Random(0)
    for _ in range(12):
        guide = cfgguide.Guide(index)
        for allowed in uniform_walk(guide, rng, 30):
            assert allowed == read_tokens(guide), guide.text


@pytest.mark.slow
@pytest.mark.parametrize("statements", ["select", "write"])
def test_masks_of_a_real_vocabulary_are_what_reading_says(database, statements):
    """Each of 49,152 tokens is read by itself, at places inside of real statements."""
    _, tokenizer = load_model()
    vocabulary = cfgguide.Vocabulary.from_tokenizer(tokenizer)
    index = cfgguide.compile(runs_on(database, statements=statements), vocabulary)
    rng = random.Random(3)
    for seed in range(12):
        kind = rng.choice(["insert", "update", "delete"]) if statements == "write" else "select"
        text = random_statement(database, seed, kind)
        token_ids = tokenizer.encode(text, add_special_tokens=False)
        guide = cfgguide.Guide(index)
        for token_id in token_ids[: rng.randrange(len(token_ids))]:
            if token_id not in allowed_tokens(guide):
                break
            guide.advance(token_id)
        assert allowed_tokens(guide) == read_tokens(guide), guide.text


@pytest.mark.slow
def test_most_random_statements_are_allowed():
    counts = Counter()
    for key in DATABASES:
        database = made(key)
        index = cfgguide.compile(runs_on(database), BYTES)
        for seed in range(60):
            counts[allows(index, random_statement(database, seed, "select"))] += 1
    assert counts[True] > 0.4 * counts.total(), counts


@pytest.mark.parametrize("aliases", [None, ["a"], ["a", "b"]])
def test_tables_have_no_other_aliases_if_asked_for(database, aliases):
    index = cfgguide.compile(runs_on(database, new_columns=False, aliases=aliases), BYTES)
    assert allows(index, "SELECT a.name FROM users AS a")
    assert allows(index, "SELECT name FROM users JOIN users a USING (name)")
    assert not allows(index, "SELECT name FROM users WHEREx")
    assert not allows(index, "SELECT x.name FROM users AS x") or aliases is None
    rng = random.Random(1)
    for _ in range(12):
        guide = cfgguide.Guide(index)
        text = finish_at_random(guide, rng, rng.choice([20, 60])).decode("utf-8", "replace")
        assert refusal(database, text) == "", text


@pytest.mark.parametrize("name", ["true", "FALSE", '"true"'])
def test_true_and_false_are_columns_of_tables_alone(name):
    for column, is_there in (("a", False), ('"true", "false"', True)):
        database = sqlite3.connect(":memory:")
        database.execute(f"CREATE TABLE t ({column})")
        machine = cfgguide.compile(runs_on(database), BYTES).machine
        for before, is_allowed in (
            ("", is_there),
            ("WITH k(true, false) AS (SELECT 1, 2) ", False),
        ):
            begun = f"{before}SELECT k.{name} ".encode()
            assert (machine.advance(machine.initial, begun) is not None) == is_allowed


def test_budgets_leave_many_known_names():
    names = [f"tab{number}" for number in range(150)]
    tokens = [b"SELECT ", b"a ", b"FROM ", *(name.encode() for name in names)]
    vocabulary = cfgguide.Vocabulary.of_bytes(tokens)
    index = cfgguide.compile(runs_on({name: ["a"] for name in names}), vocabulary)
    guide = cfgguide.Guide(index)
    for token in (b"SELECT ", b"a ", b"FROM "):
        guide.advance(vocabulary.tokens.index(token))
    allowed = {vocabulary.tokens[each] for each in guide.allowed_within(2).tolist()}
    assert allowed == {name.encode() for name in names}


@pytest.mark.parametrize("n_others", [3, 150])  # each is looked at, or all together
def test_budgets_tell_names_that_exist_from_others(n_others):
    others = [f"q{number}x".encode() for number in range(n_others)]
    vocabulary = cfgguide.Vocabulary.of_bytes([b"SELECT ", b"name", b" FROM users", *others])
    index = cfgguide.compile(runs_on({"users": ["name"]}), vocabulary)
    guide = cfgguide.Guide(index)
    guide.advance(vocabulary.tokens.index(b"SELECT "))
    allowed = [vocabulary.tokens[each] for each in guide.allowed_within(3).tolist()]
    assert [each for each in allowed if len(each) > 1] == [b"name"]
    many = {vocabulary.tokens[each] for each in guide.allowed_within(60).tolist()}
    assert many >= {b"name", *others}, "a table of one's own may have such a column"


def test_a_database_may_have_views_alone():
    index = cfgguide.compile(runs_on("CREATE VIEW v AS SELECT 1 AS a, 2 AS b"), BYTES)
    assert allows(index, "SELECT a FROM v WHERE b = 2")
    assert not allows(index, "SELECT c FROM v")
    with pytest.raises(GrammarError, match="no tables"):
        runs_on("CREATE VIEW v AS SELECT * FROM missing")


def test_only_known_columns_are_named_if_asked_for(database):
    index = cfgguide.compile(runs_on(database, new_columns=False), BYTES)
    assert allows(index, "SELECT name FROM users")
    assert not allows(index, "SELECT a FROM (SELECT name AS a FROM users)")


@pytest.mark.parametrize(
    "schema",
    [
        SCHEMA,
        {"users": ["id", "name"], "order": ["id"]},
        {"größe": ["ä ö", "🎉"], 'a"b': ["c`d", "e]f"], "select": ["from"]},
    ],
)
def test_schemas_in_any_form(schema):
    index = cfgguide.compile(runs_on(schema), BYTES)
    table = next(iter(schema)) if isinstance(schema, dict) else "users"
    written = table.replace('"', '""')
    assert allows(index, f'SELECT * FROM "{written}"')
    guide = cfgguide.Guide(index)
    for byte in b'SELECT * FROM "':
        guide.advance(byte)
    assert guide.allowed_token_ids().size


def test_metadata_of_sqlalchemy_is_a_schema():
    columns = [SimpleNamespace(name="id"), SimpleNamespace(name="name")]
    metadata = SimpleNamespace(sorted_tables=[SimpleNamespace(name="users", columns=columns)])
    index = cfgguide.compile(runs_on(metadata), BYTES)
    assert allows(index, "SELECT name FROM users")


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({}, "no tables"), ({"users": []}, "no columns"), ({"users": [""]}, "no name"),
        ({"": ["id"]}, "no name"), ({"users": ["id"], "USERS": ["id"]}, "same name"),
        ({"users": ["id", "ID"]}, "twice"), ("CREATE TABLE users (", "fail in SQLite"),
        ("nonsense", "fail in SQLite"), (7, "a schema is"),
    ],
)  # fmt: skip
def test_bad_schemas_are_refused(schema, message):
    with pytest.raises(GrammarError, match=message):
        runs_on(schema)


def test_views_of_tables_that_are_gone_are_left_out():
    database = sqlite3.connect(":memory:")
    database.executescript("CREATE TABLE a (x); CREATE VIEW v AS SELECT gone FROM a")
    index = cfgguide.compile(runs_on(database), BYTES)
    assert not allows(index, "SELECT * FROM v")
    assert allows(index, "SELECT * FROM a")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "piece", "reason"),
    [
        ("SELECT name FROM users WHERE ", "product > 3", "`product` is no column of `users`"),
        ("SELECT total FROM users", ";", "FROM has to go on: it lacks `total`"),
        ("SELECT name FROM users, orders WHERE ", "id = 3", "`id` is ambiguous"),
        ("SELECT name FROM users WHERE ", "count(*) > 3", "count is an aggregate"),
        ("SELECT name FROM ", "customers", "there is no table `customers`"),
        ("SELECT abs(1", ",", "abs takes 1 arguments"),
        ("SELECT 1 UNION SELECT 1", ",", "1 result columns are needed"),
        ("SELECT sum((SELECT", " total", "no subquery may stand in the arguments of an aggregate"),
        ("SELECT sum(", "EXISTS (", "no subquery may stand in the arguments of an aggregate"),
        ("SELECT name FROM users WHERE max(id", ")", "max of one argument is an aggregate"),
        ("SELECT count(*) FROM users GROUP BY 1", ";", "1 is the position of no result column"),
    ],
)
def test_refusals_are_explained(index, text, piece, reason):
    guide = cfgguide.Guide(index)
    for byte in text.encode():
        guide.advance(byte)
    explanation = guide.explain(piece.encode())
    assert not explanation.is_allowed
    assert reason in explanation.reason


@pytest.mark.slow
def test_budgets_hold(database, index):
    rng = random.Random(5)
    for _ in range(5):
        guide, left = cfgguide.Guide(index), 60
        while not guide.is_finished:
            guide.advance(int(rng.choice(guide.allowed_within(left).tolist())))
            left -= 1
        text = b"".join(BYTES.tokens[each] or b"" for each in guide.token_ids).decode()
        assert refusal(database, text) == "", text


@pytest.mark.parametrize(
    "begun",
    [
        "SELECT name FROM users ORDER BY 0",  # no position: it becomes 0.
        "SELECT name FROM users GROUP BY (+82",
        "SELECT max(n) OVER w FROM users JOIN (SELECT 1 AS n)",
        "SELECT abs((SELECT 1",
        'SELECT q."a b" FROM (SELECT 1 AS "a b") AS q WHERE q',
    ],
)
def test_what_has_begun_oddly_is_finished(database, index, begun):
    guide = cfgguide.Guide(index)
    for byte in begun.encode():
        guide.advance(byte)
    for token_id in guide.shortest_completion():
        guide.advance(token_id)
    assert refusal(database, guide.text.decode()) == ""
