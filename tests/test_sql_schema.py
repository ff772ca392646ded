"""`with_schema` lets SQL name what there is and nothing else, judged by SQLite on a real database."""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from functools import cache

import lark
import pytest
from derivations import Deriver
from lark_for_tests import no_search_for_overlaps
from sql_grammars import SAMPLES, is_accepted
from sql_judge import error

import cfgguide
from cfgguide.errors import GrammarError
from cfgguide.sql import with_schema

pytestmark = pytest.mark.xdist_group("sql")  # the grammars are loaded once

SCHEMA = {
    "users": ["id", "name", "e-mail", "key", "group"],
    "orders": ["id", "user_id", "total", "order", "a"],
    "order": ["note", "größe", "desc"],
    "Größe x": ["]odd", '"both`', "Value"],
}
DEFINITIONS = "".join(
    'CREATE TABLE "{}" ({});'.format(
        table, ", ".join('"' + column.replace('"', '""') + '"' for column in columns)
    )
    for table, columns in SCHEMA.items()
)
# SQLite prepares them on these tables, and all names are those of the schema or aliases.
KNOWN = (
    "SELECT * FROM users",
    "select ID, Name from USERS where KEY = 1",
    "SELECT u.name, sum(o.total) AS t FROM users u JOIN orders AS o ON o.user_id = u.id "
    "GROUP BY u.id HAVING t > 10 ORDER BY t DESC LIMIT 5",
    "SELECT users.name n, orders.* FROM users LEFT JOIN orders USING (id)",
    "SELECT name, (SELECT count(*) FROM orders o WHERE o.user_id = users.id) FROM users",
    "SELECT x FROM (SELECT total AS x FROM orders) y WHERE y.x IN (1, 2)",
    "SELECT name FROM users WHERE id IN (SELECT user_id FROM orders) AND EXISTS (SELECT 1)",
    "WITH x AS (SELECT id, name FROM users) SELECT x.id FROM x",
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t LIMIT 9) SELECT n FROM t",
    "WITH c(k) AS (VALUES (1)) SELECT k FROM c JOIN users ON k IN c JOIN orders USING (id)",
    'SELECT "e-mail", [e-mail], `e-mail`, users."group", "GROUP" FROM "users"',
    'SELECT note, desc, "desc", größe FROM "order" ORDER BY desc DESC',
    'SELECT o."order", [order].note FROM orders o, "order"',
    'SELECT "]odd", """both`", `"both```, ["both`], value FROM "größe x" AS "g"',
    "SELECT max(id) FILTER (WHERE id > 1) OVER w, lag(total, 1) OVER (w ROWS CURRENT ROW) "
    "FROM orders WINDOW w AS (PARTITION BY user_id ORDER BY total)",
    "SELECT CAST(total AS INTEGER), CAST(id AS varchar(10)) FROM orders",
    "SELECT name COLLATE nocase FROM users ORDER BY name COLLATE \nBINARY, rtrim(name) COLLATE RTRIM",
    "SELECT replace(name, 'a', 'b'), like('a', name), date('now'), current_date FROM users",
    "SELECT CASE WHEN total IS NOT TRUE THEN 'x' ELSE false END FROM orders",
    "SELECT e.value, e.key, json_tree.atom FROM users, json_each(name) AS e, json_tree(users.name)",
    "SELECT t1.id FROM users t1, users t2 WHERE t1.id < t2.id /* both */ -- or not",
    "VALUES (1, 'users')",
    "INSERT INTO users (id, name) VALUES (1, 'x') RETURNING id AS i",
    "INSERT INTO users AS u SELECT id, 1, 2, 3, 4 FROM orders",
    "REPLACE INTO orders DEFAULT VALUES",
    "INSERT INTO users (id) VALUES (?) ON CONFLICT DO UPDATE SET name = excluded.name, key = 1",
    'UPDATE users AS u SET (name, "group") = (1, 2) FROM orders WHERE u.id = orders.user_id',
    "UPDATE OR IGNORE orders SET total = total * 2 WHERE a = :a",
    "DELETE FROM users WHERE id NOT IN (SELECT user_id FROM orders) RETURNING *",
    "EXPLAIN QUERY PLAN SELECT id FROM users NOT INDEXED",
)
# Each names something that there is not, or writes a name as it can't be written.
UNKNOWN = (
    "SELECT * FROM user",
    "SELECT * FROM userss",
    'SELECT * FROM "users "',
    "SELECT * FROM sqlite_master",
    "SELECT * FROM main.users",
    "SELECT * FROM order",
    "SELECT * FROM größe x",
    "SELECT * FROM 'users'",
    "SELECT * FROM json_each",
    "SELECT * FROM id",
    "SELECT 1 FROM users WHERE 1 IN customers",
    "SELECT nam FROM users",
    "SELECT name_ FROM users",
    "SELECT namé FROM users",
    "SELECT GRÖSSE FROM users",
    "SELECT users.surname FROM users",
    "SELECT user.name FROM users",
    "SELECT excluded.* FROM users",
    "SELECT excluded.a1 FROM users",
    'SELECT "surname" FROM users',
    "SELECT group FROM users",
    "SELECT rowid FROM users",
    "SELECT atom FROM users",
    "SELECT users FROM users",
    "SELECT nonsense(id) FROM users",
    "SELECT name(id) FROM users",
    "SELECT load_extension('x')",
    "SELECT \"load_extension\"('x')",
    "SELECT * FROM pragma_table_info('users')",
    "SELECT * FROM generate_series(1)",
    "SELECT name AS surname FROM users",
    "SELECT name surname FROM users",
    "SELECT name 'n' FROM users",
    "SELECT users.name AS id FROM users",
    "SELECT * FROM users AS people",
    "WITH people AS (SELECT 1) SELECT 1",
    "WITH p(id) AS (SELECT 1) SELECT 1",
    "SELECT sum(id) OVER rows FROM users",
    "SELECT name COLLATE german FROM users",
    "SELECT CAST(name AS date) FROM users",
    "SELECT CAST(name AS users) FROM users",
    "SELECT * FROM users u JOIN orders USING (surname)",
    "SELECT * FROM users INDEXED BY a",
    "SELECT RAISE(IGNORE)",
    "INSERT INTO a VALUES (1)",
    "INSERT INTO users (surname) VALUES (1)",
    "INSERT INTO users (b) VALUES (1)",
    "UPDATE users SET b = 1",
    "UPDATE customers SET id = 1",
    "DELETE FROM t1",
    "CREATE TABLE users (id)",
    "DROP TABLE users",
    "ALTER TABLE users DROP name",
    "PRAGMA users",
    "ATTACH 'x' AS a",
    "BEGIN",
    "VACUUM",
)


@cache
def narrowed(name: str = "sql", start: str = "statement") -> lark.Lark:
    """Lark's parser for the schema above."""
    return parser_of(with_schema(cfgguide.Grammar.bundled(name, start=start), SCHEMA))


def parser_of(grammar: cfgguide.Grammar) -> lark.Lark:
    with no_search_for_overlaps():
        return lark.Lark(grammar.text, **grammar.lark_options)


def is_parsed(parser: lark.Lark, text: str) -> bool:
    try:
        parser.parse(text)
    except lark.exceptions.LarkError:
        return False
    return True


def select_parser(schema: object, **names: Iterable[str]) -> lark.Lark:
    return parser_of(with_schema(cfgguide.Grammar.bundled("sql", start="select"), schema, **names))


@pytest.fixture(scope="module")
def database():
    made = sqlite3.connect(":memory:")
    made.executescript(DEFINITIONS)
    yield made
    made.close()


# --- What is accepted ----------------------------------------------------------------------------


@pytest.mark.parametrize("text", KNOWN)
def test_statements_with_known_names_are_accepted(text, database):
    assert error(text, database) in ("", "table users has 5 columns but 1 values were supplied")
    assert is_parsed(narrowed(), text)


@pytest.mark.parametrize("text", UNKNOWN)
def test_statements_with_unknown_names_are_refused(text):
    assert not is_parsed(narrowed(), text)


def test_a_query_is_narrowed_in_sql_select_too():
    parser = narrowed("sql_select", "start")
    for text in KNOWN:
        is_query = text.split()[0] in ("SELECT", "select", "WITH", "VALUES") and "/*" not in text
        assert is_parsed(parser, text) == is_query, text
        assert is_parsed(parser, text + ";;") is False
    assert not any(is_parsed(parser, text) for text in UNKNOWN)
    assert not is_parsed(parser, "SELECT excluded.id FROM users")  # what only an upsert has


@pytest.mark.parametrize(
    ("start", "text"),
    [
        ("start", "DELETE FROM users; SELECT id FROM orders;"),
        ("select", "SELECT id FROM users"),
        ("expression", "upper(users.name) || 'x'"),
    ],
)
def test_the_start_rule_stays(start, text):
    assert is_parsed(narrowed("sql", start), text)
    assert not is_parsed(narrowed("sql", start), text.replace("u", "v"))


def spellings(name: str) -> list[str]:
    quoted = [quote + name.replace(quote, 2 * quote) + quote for quote in '"`']
    return [name, name.upper(), *quoted, f"[{name}]"]


@cache
def samples() -> dict[str, object]:
    """What may be written for each terminal of the narrowed grammar."""
    words = [*SCHEMA, *(column for columns in SCHEMA.values() for column in columns)]
    words += ["b", "t1", "x", "excluded", "true", "binary", "rtrim", "int", "char", "count", "abs"]
    words += ["max", "replace", "json_each", "json_tree", "fullkey", "lag"]
    found: dict[str, object] = {f"sql__{name}": texts for name, texts in SAMPLES.items()}
    found["EQUAL"] = SAMPLES["EQUAL"]
    for terminal in narrowed().terminals:
        if terminal.name.endswith("_NAME"):
            pattern = re.compile(terminal.pattern.to_regexp())
            every = [each for word in words for each in spellings(word)]
            found[terminal.name] = [each for each in every if pattern.fullmatch(each)]
            assert found[terminal.name], terminal.name
    return found


def unknown_name(message: str) -> bool:
    """Whether SQLite misses a name that the grammar should not have let stand there."""
    aliases = {*"abcdefghijklmnopqrstuvwxyz", *(f"t{number}" for number in range(1, 10))}
    columns = {name.lower() for names in SCHEMA.values() for name in names} | aliases
    elements = {"atom", "fullkey", "id", "key", "parent", "path", "type", "value"}
    found = re.match(r"no such (table|column|window): (.*)", message, re.DOTALL)
    if found is None:
        return bool(re.match(r"no such |unknown (?!join)", message))
    kind, name = found[1], found[2].lower()
    if kind == "window":
        return name not in aliases
    tables = {*(table.lower() for table in SCHEMA), "json_each", "json_tree", *aliases}
    if kind == "table":  # a known one, which is not in scope: users.*
        return name not in tables
    if name in columns:
        return False
    before, _, last = name.rpartition(".")
    return before not in {*tables, "excluded"} or last not in columns | elements


def test_which_errors_name_what_is_unknown():
    assert not any(map(unknown_name, ["no such table: T1", "no such table: users"]))
    assert not any(map(unknown_name, ["no such column: a", "near x: syntax"]))
    assert not any(map(unknown_name, ["no such column: users.b", "no such column: e.fullkey"]))
    assert all(map(unknown_name, ["no such table: user", "no such column: b.c1", "no such index: a"]))
    assert all(map(unknown_name, ["no such function: f", "no such column: atom"]))


@pytest.mark.parametrize(("name", "start"), [("sql", "statement"), ("sql_select", "start")])
def test_all_that_is_accepted_the_bundled_grammar_accepts_and_sqlite_knows(name, start, database):
    rng = random.Random(11)
    parser = narrowed(name, start)
    deriver = Deriver(parser, samples())
    n_judged = 0
    for _ in range(400):
        text = " ".join(deriver.sentence(rng, start, rng.choice((10, 20, 40, 60))))
        if is_parsed(parser, text):
            assert is_accepted(text, name, start), text
            assert not unknown_name(error(text, database)), text
            n_judged += 1
    assert n_judged > 300
