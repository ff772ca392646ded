"""`with_schema` for PostgreSQL: only what there is is named; a real server and its parser judge."""

from __future__ import annotations

import json
import random
import re
import sqlite3
import types
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import lark
import pytest
from pglast.parser import parse_sql_json
from support.derivations import Deriver
from support.judges import is_parsed, lark_parser
from support.postgresql_judge import verdict
from support.postgresql_server import MISSING, Server, running

import cfgguide
from cfgguide.errors import GrammarError
from cfgguide.languages.sql.name_patterns import is_folded_word
from cfgguide.languages.sql.postgresql_names import COLLATIONS, FUNCTIONS, TYPES
from cfgguide.sql import with_schema

DEFINITIONS = """
    CREATE TABLE users (
        id int PRIMARY KEY, name text NOT NULL, email text UNIQUE, "e-mail" text, "Key" int,
        "group" text, year int, time time, data jsonb, tags text[], created_at timestamptz
    );
    CREATE TABLE orders (
        id int PRIMARY KEY, user_id int REFERENCES users, total numeric(10, 2), position int,
        "order" int, placed date, timestamp timestamp, a int
    );
    CREATE TABLE "order" (note text, größe int, "desc" text);
    CREATE TABLE "Line Items" (id int, "odd""name" text, value float8);
    CREATE TABLE position (x int, interval interval);
"""
SCHEMA = {
    "users": (
        *("id", "name", "email", "e-mail", "Key", "group", "year", "time", "data", "tags"),
        "created_at",
    ),
    "orders": ("id", "user_id", "total", "position", "order", "placed", "timestamp", "a"),
    "order": ("note", "größe", "desc"),
    "Line Items": ("id", 'odd"name', "value"),
    "position": ("x", "interval"),
}
ALIASES = (*"abcdefghijklmnopqrstuvwxyz", *(f"t{number}" for number in range(1, 10)))
# PostgreSQL prepares them on these tables, and all names are those of the schema or aliases.
KNOWN = (
    "SELECT * FROM users",
    "select ID, Name from USERS where YEAR = 2020",
    "SELECT u.name, sum(o.total) AS t FROM users u JOIN orders AS o ON o.user_id = u.id "
    "GROUP BY u.id HAVING sum(o.total) > 10 ORDER BY t DESC NULLS LAST LIMIT 5 OFFSET 2",
    "SELECT users.name n, orders.* FROM users LEFT OUTER JOIN orders USING (id)",
    "SELECT name, (SELECT count(*) FROM orders o WHERE o.user_id = users.id) FROM users",
    "SELECT x FROM (SELECT total AS x FROM orders) y WHERE y.x IN (1, 2.5)",
    "SELECT name FROM users WHERE id IN (SELECT user_id FROM orders) AND EXISTS (SELECT 1)",
    "WITH x AS (SELECT id, name FROM users) SELECT x.id FROM x",
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 9) SELECT n FROM t",
    'SELECT "id", u."e-mail", u."Key", "group", u.group FROM "users" AS "u"',
    'SELECT o.note, o.GRößE, größe, "desc", o.desc FROM "order" o',
    'SELECT l."odd""name", l.value, "Line Items".id FROM "Line Items" l CROSS JOIN "Line Items"',
    "SELECT time, position, timestamp, u.time, orders.position FROM users u, orders",
    "SELECT position.x, position.*, interval + interval '1 day' FROM position",
    "SELECT max(id) FILTER (WHERE id > 1) OVER w, lag(total, 1) OVER (w ROWS CURRENT ROW) "
    "FROM orders WINDOW w AS (PARTITION BY user_id ORDER BY total)",
    "SELECT row_number() OVER (PARTITION BY year ORDER BY created_at DESC), "
    "rank() over (order by id) FROM users",
    "SELECT CAST(total AS integer), id::text, name::varchar(10), '1'::\"text\", tags::text[] "
    "FROM orders JOIN users USING (id)",
    "SELECT date '2020-01-01', timestamp '2020-01-01 10:00', DATE'2020-01-01', "
    "placed - date '2020-1-1' FROM orders",
    'SELECT name COLLATE "C" FROM users ORDER BY name COLLATE ucs_basic, email COLLATE "POSIX"',
    "SELECT lower(name), left(name, 2), \"upper\"(name), coalesce(email, 'x'), nullif(id, 0) "
    "FROM users",
    "SELECT date_trunc('month', placed), extract(year from placed), extract(epoch from timestamp), "
    'extract("week" from placed), now(), current_date, age(timestamp) FROM orders',
    "SELECT CASE WHEN total IS NOT NULL THEN 'x' ELSE 'y' END FROM orders WHERE placed BETWEEN "
    "'2020-01-01' AND CURRENT_DATE - interval '7 days'",
    "SELECT data -> 'a' ->> 'b', data #>> '{a,b}', data @> '{}', data['a'], tags[1], tags[1:2] "
    "FROM users WHERE name ILIKE 'a%' AND 'x' = ANY (tags)",
    "SELECT e.key, e.value, j.ordinality FROM users, jsonb_each(data) AS e, "
    "unnest(tags) WITH ORDINALITY AS j",
    "SELECT g, x, y FROM generate_series(1, 10) AS g, json_to_recordset('[]') AS r (x int, y text)",
    "SELECT u.name, l.total FROM users u CROSS JOIN LATERAL (SELECT total FROM orders o WHERE "
    "o.user_id = u.id ORDER BY o.placed LIMIT 1) l",
    "SELECT string_agg(DISTINCT name, ', ' ORDER BY name), array_agg(id), "
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY id) FROM users",
    "SELECT DISTINCT ON (year) year, name FROM users ORDER BY year, created_at",
    "SELECT u.id FROM users u, orders FOR UPDATE OF u SKIP LOCKED",
    "SELECT year, count(*) FROM users GROUP BY ROLLUP (year), GROUPING SETS ((name), ())",
    "SELECT created_at AT TIME ZONE 'UTC', created_at + make_interval(days => 3, hours := 1) "
    "FROM users",
    "SELECT id FROM users UNION ALL (SELECT user_id FROM orders) EXCEPT SELECT 3 ORDER BY 1",
    "SELECT trim(both ' ' from name), substring(name from 1 for 2), position('a' in name), "
    "overlay(name placing 'x' from 1) FROM users TABLESAMPLE bernoulli (10)",
    "SELECT b'01', x'1f', e'a\\n', u.id u FROM users u /* all */ -- of them",
    "SELECT u, (u).name, (u).* FROM users u GROUP BY u.id",
    "VALUES (1, 'users')",
    "TABLE users",
    "INSERT INTO users (id, name) VALUES (1, 'x'), (2, default) RETURNING id AS i",
    "INSERT INTO orders AS o SELECT id, year FROM users",
    "INSERT INTO users (id, name) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET "
    "name = excluded.name, year = users.year + 1 WHERE users.id > excluded.id",
    "INSERT INTO users (id, name) VALUES (1, 'x') ON CONFLICT (email) DO NOTHING",
    "UPDATE users AS u SET (name, \"group\") = ('a', 'b'), time = now()::time FROM orders "
    "WHERE u.id = orders.user_id RETURNING u.*",
    "UPDATE orders o SET total = total * 2, position = DEFAULT WHERE a = $1",
    "WITH d AS (DELETE FROM orders RETURNING *) INSERT INTO orders SELECT * FROM d",
    "DELETE FROM users USING orders o WHERE users.id = o.user_id RETURNING *",
)
# Each names something that there is not, or writes a name as it can't be written.
UNKNOWN = (
    "SELECT * FROM user_", "SELECT * FROM userss", 'SELECT * FROM "Users"',
    'SELECT * FROM "users "', "SELECT * FROM `users`", "SELECT * FROM [users]",
    "SELECT * FROM 'users'", "SELECT * FROM public.users", "SELECT * FROM pg_class",
    "SELECT * FROM information_schema.tables", "SELECT * FROM order",
    "SELECT * FROM id", "SELECT * FROM Line", "SELECT nam FROM users",
    "SELECT name_ FROM users", "SELECT namé FROM users", "SELECT GRÖSSE FROM users",
    "SELECT GRÖßÉ FROM users", 'SELECT "GRÖßE" FROM "order"',
    'SELECT "Name" FROM users', "SELECT key FROM users",
    "SELECT users.surname FROM users", "SELECT users.id.name FROM users",
    "SELECT users.users.* FROM users", "SELECT customers.name FROM users",
    "SELECT excluded.* FROM users", "SELECT excluded.b FROM users",
    "SELECT (u).surname FROM users u", 'SELECT "name""b" FROM users',
    "SELECT group FROM users", "SELECT desc FROM users", "SELECT ctid FROM users",
    "SELECT ordinality FROM users, unnest(tags) WITH ORDINALITY",
    "SELECT nonsense(id) FROM users", "SELECT name(id) FROM users",
    "SELECT pg_read_file('x')", 'SELECT "pg_sleep"(1)', "SELECT pg_catalog.lower('x')",
    "SELECT * FROM pg_ls_dir('x')", "SELECT nextval('s')", "SELECT lower(a => 'x')",
    "SELECT name AS surname FROM users", "SELECT name surname FROM users",
    "SELECT users.name AS id FROM users", "SELECT * FROM users AS people",
    "SELECT * FROM users u (people)", "WITH people AS (SELECT 1) SELECT 1",
    "WITH p(id) AS (SELECT 1) SELECT 1", "SELECT sum(id) OVER people FROM users",
    'SELECT name COLLATE "de_DE" FROM users', "SELECT name COLLATE c FROM users",
    "SELECT CAST(name AS colour) FROM users", "SELECT name::users FROM users",
    "SELECT colour 'x'", "SELECT extract(fortnight FROM placed) FROM orders",
    "SELECT * FROM users u JOIN orders USING (surname)", "SELECT id INTO b FROM users",
    "SELECT 1 OPERATOR(pg_catalog.+) 2", "SELECT id FROM users FOR UPDATE OF people",
    "INSERT INTO a VALUES (1)", "INSERT INTO users (surname) VALUES (1)",
    "INSERT INTO users (b) VALUES (1)",
    "INSERT INTO users (id) VALUES (1) ON CONFLICT (surname) DO NOTHING",
    "INSERT INTO users (id) VALUES (1) ON CONFLICT ON CONSTRAINT users_pkey DO NOTHING",
    "UPDATE users SET b = 1", "UPDATE customers SET id = 1", "DELETE FROM t1",
    "DELETE FROM users WHERE CURRENT OF c", "DROP TABLE users",
    "CREATE TABLE a (b int)",
)  # fmt: skip


def narrow(schema: Any, start: str = "statement", **names: Iterable[str]) -> cfgguide.Grammar:
    return with_schema(cfgguide.Grammar.bundled("postgresql", start=start), schema, **names)


@cache
def narrowed(start: str = "statement") -> lark.Lark:
    """Lark's parser for the schema above."""
    return lark_parser(narrow(SCHEMA, start))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    if MISSING:
        pytest.skip(MISSING)
    with running() as started:
        started.run(DEFINITIONS)
        yield started


# --- What is accepted ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("text", KNOWN)
def test_statements_with_known_names_are_accepted(text: str) -> None:
    assert verdict(text) is True
    assert is_parsed(narrowed(), text)


def test_the_server_prepares_those_statements(server: Server) -> None:
    problems = zip(KNOWN, server.problems(KNOWN), strict=True)
    assert [(text, problem) for text, problem in problems if problem] == []


@pytest.mark.slow
@pytest.mark.parametrize("text", UNKNOWN)
def test_statements_with_unknown_names_are_refused(text: str) -> None:
    assert not is_parsed(narrowed(), text)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "text"),
    [
        ("start", "DELETE FROM users; SELECT id FROM orders;"),
        ("select", "SELECT id FROM users"),
        ("expression", "upper(users.name) || 'x'"),
    ],
)
def test_the_start_rule_stays(start: str, text: str) -> None:
    assert is_parsed(narrowed(start), text)
    assert not is_parsed(narrowed(start), text.replace("u", "v"))


@pytest.mark.parametrize(
    ("names", "catalog", "column"),
    [
        (FUNCTIONS, "pg_proc", "proname"),
        (TYPES, "pg_type", "typname"),
        (COLLATIONS, "pg_collation", "collname"),
    ],
)
def test_what_is_known_without_a_schema_exists(
    server: Server, names: tuple[str, ...], catalog: str, column: str
) -> None:
    listed = ", ".join(f"'{name}'" for name in names)
    query = f"SELECT name FROM unnest(ARRAY[{listed}]) name"
    assert server.run(f"{query} WHERE name NOT IN (SELECT {column} FROM {catalog});") == ""


# --- Random statements ---------------------------------------------------------------------------

COLUMNS = {column for columns in SCHEMA.values() for column in columns}
ELEMENTS = {"key", "value", "ordinality"}
# Those of the grammar's keywords, as the parser calls them, and the others.
KNOWN_TYPES = {
    *("bit", "bool", "bpchar", "float4", "float8", "int2", "int4", "int8", "interval", "json"),
    *("numeric", "time", "timestamp", "timestamptz", "timetz", "varbit", "varchar"),
    *TYPES,
}
# What the keywords with a syntax of their own call.
SPECIAL = {
    *(
        "btrim", "extract", "is_normalized", "like_escape", "ltrim", "normalize",
        "overlaps", "overlay",
    ),
    *("pg_collation_for", "position", "rtrim", "similar_to_escape", "substring", "timezone"),
    *("bernoulli", "system", "system_user"),
}  # fmt: skip
ARGUMENTS = {"years", "months", "weeks", "days", "hours", "mins", "secs"}
KNOWN_NAMES = {
    "relname": {*SCHEMA, *ALIASES}, "collname": {"C", "POSIX", "default", "ucs_basic"},
    "colnames": {*ALIASES}, "usingClause": {*COLUMNS, *ALIASES},
    "indirection": {*COLUMNS, *ALIASES, *ELEMENTS},
    "search_col_list": {*COLUMNS, *ALIASES}, "cycle_col_list": {*COLUMNS, *ALIASES},
    "name": {*COLUMNS, *ALIASES, *ARGUMENTS}, "names": KNOWN_TYPES,
    "funcname": {*FUNCTIONS, *SPECIAL}, "aliasname": {*ALIASES}, "ctename": {*ALIASES},
    "refname": {*ALIASES}, "search_seq_column": {*ALIASES},
    "cycle_mark_column": {*ALIASES}, "cycle_path_column": {*ALIASES},
    "colname": {*ALIASES},
}  # fmt: skip


def unknown_names(text: str) -> list[str]:
    """The names in PostgreSQL's own parse of a text that are not known in their places."""
    return list(_unknown(json.loads(parse_sql_json(text))))


def _unknown(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for each in node:
            yield from _unknown(each)
    if not isinstance(node, dict):
        return
    for key, value in node.items():
        yield from _unknown(value)
        names = [value] if isinstance(value, str) else strings(value)
        if key in ("funcname", "names") and names[:1] == ["pg_catalog"]:
            names = names[1:]
        if key == "schemaname":
            yield value
        elif key == "fields" and len(value) > 1:
            if len(value) > 2 or names[0] not in {*SCHEMA, *ALIASES, "excluded"}:
                yield names[0]
            yield from {*names[1:]} - KNOWN_NAMES["indirection"]
        elif key == "fields":
            yield from {*names} - COLUMNS - {*ALIASES}
        elif key in KNOWN_NAMES and not (key == "name" and isinstance(value, list)):  # an operator
            yield from {*names[1:]} if key in ("funcname", "names") else ()
            yield from {*names} - KNOWN_NAMES[key]


def strings(value: Any) -> list[str]:
    """The names in a list of the parser's."""
    parts = value if isinstance(value, list) else []
    return [part["String"]["sval"] for part in parts if "String" in part]


def test_which_names_are_unknown() -> None:
    assert [(text, unknown_names(text)) for text in KNOWN if unknown_names(text)] == []
    # The others name what is known, in a place that the parser does not tell from others.
    is_silent = re.compile(
        r"INTO|extract|ordinality|excluded|OPERATOR|AS id|p\(id\)|pg_catalog|=>|UPDATE users|DELETE"
    )
    for text in UNKNOWN:
        if verdict(text) and not is_silent.search(text):
            assert unknown_names(text), text


def spellings(name: str) -> list[str]:
    quoted = '"' + name.replace('"', '""') + '"'
    return [name, name.upper(), quoted] if is_folded_word(name) else [quoted]


@cache
def samples() -> dict[str, Any]:
    """What may be written for each terminal of the narrowed grammar."""
    names = [*SCHEMA, *sorted(COLUMNS), "b", "t1", "u", "x", "excluded", "key", "ordinality"]
    names += [
        "count",
        "lower",
        "max",
        "jsonb_each",
        "generate_series",
        "lag",
        "make_interval",
        "days",
    ]
    names += ["text", "date", "uuid", "C", "POSIX", "epoch", "week", "row_number"]
    texts: dict[str, Any] = {
        "STRING": ["'s'", "'it''s'", "'1'", "'{}'", "e'a'"],
        "BITS": ["b'01'", "x'1f'"],
        "INTEGER": ["0", "1", "42"],
        "FLOAT": ["1.5", ".5", "1e3"],
        "PARAMETER": ["$1"],
        "SIZE": ["3"],
        "BITS_OF_FLOAT": ["24"],
        "OPERATOR_SIGN": ["||", "->", "->>", "@>", "&&", "~"],
        "PLUS": ["+"],
        "MINUS": ["-"],
        "TIMES": ["*"],
        "DIVIDE": ["/"],
        "MODULO": ["%"],
        "POWER": ["^"],
        "LESS": ["<"],
        "MORE": [">"],
        "EQUAL": ["="],
        "AT_MOST": ["<="],
        "AT_LEAST": [">="],
        "UNEQUAL": ["<>", "!="],
    }
    texts |= {f"postgresql__{name}": each for name, each in texts.items()}
    for terminal in narrowed().terminals:
        if terminal.name.endswith("_NAME"):
            pattern = re.compile(terminal.pattern.to_regexp())
            spelled = [each for name in names for each in spellings(name)]
            texts[terminal.name] = [each for each in spelled if pattern.fullmatch(each)]
    return {name: each for name, each in texts.items() if each}


# What a server may say of a name that is known, but not in scope or not with such arguments.
SCOPES = (
    r"42P01 (?:relation|missing FROM-clause entry for table|invalid reference to .* table) ",
    r"42P01 relation \"(.+)\" in FOR UPDATE|42P01 relation .* clause not found",
    r"42703 column ",
    r"42883 (?:operator|function) ",
    r"42704 window ",
)


@pytest.mark.slow
def test_all_that_is_accepted_names_what_there_is(server: Server) -> None:
    rng = random.Random(3)
    parser = narrowed()
    deriver = Deriver(parser, samples())
    # Sentences end in what is shortest, which is DEFAULT: so these are other values, too.
    values = ("NULL", "NULL", "NULL", "1", "'a'", "id", "u.NAME", '"order".note', "x", "users.time")
    starts = ("select_stmt", "select_stmt", "insert_stmt", "update_stmt", "delete_stmt")
    sentences = (
        " ".join(
            rng.choice(values) if word.lower() == "default" else word
            for word in deriver.sentence(rng, rng.choice(starts), rng.choice((5, 10, 20, 40)))
        )
        for _ in range(500)
    )
    texts = [text for text in sentences if is_parsed(parser, text)]
    assert len(texts) > 300
    for text in texts:
        assert verdict(text) is True, text
        assert unknown_names(text) == [], text
    problems = [each for each in server.problems(texts) if each]
    missing = [
        each for each in problems if re.match("42P01|42703|42883|42704|3F000|3D000|42P02", each)
    ]
    assert [each for each in missing if not any(re.match(scope, each) for scope in SCOPES)] == []
    named = "|".join(map(re.escape, sorted({*SCHEMA, *COLUMNS, *ALIASES, *ELEMENTS, "excluded"})))
    for each in missing:
        if each.startswith(("42P01", "42703")):
            assert re.match(rf'\w+ [^"]*"?(?:{named})(?:\.(?:{named}))?"? ?', each), each
    assert len(texts) - len(problems) > 10


# --- Keywords as names ---------------------------------------------------------------------------

HOLES = (
    "SELECT {0}, 1 + t.{0} FROM t ORDER BY {0} DESC",
    "SELECT {0}.x, {0}.* FROM t, {0}",
    "SELECT max({0}) OVER (PARTITION BY {0} ROWS CURRENT ROW) FROM t JOIN t b USING ({0})",
    "SELECT CASE {0} WHEN 1 THEN {0} END FROM t WHERE {0} IN (1)",
    "SELECT t.{0} FROM t",
    "UPDATE {0} SET x = 1",
    "UPDATE t SET {0} = 1, ({0}, a) = (1, 2)",
    "INSERT INTO t ({0}) VALUES (1) ON CONFLICT ({0}) DO NOTHING RETURNING {0}",
    "INSERT INTO {0} SELECT {0} FROM t WHERE true",
    "DELETE FROM {0} WHERE x",
)
# PostgreSQL lets these be names without quotes, also where a keyword may stand.
LOST = {"exists", "row", "rows", "values"}
NEW_HOLES = (
    "SELECT a AS {0} FROM t AS {0}",
    "WITH {0}({0}) AS (SELECT 1) SELECT {0}.{0} FROM {0}",
    "SELECT max(a) OVER {0} FROM t WINDOW {0} AS ()",
    "SELECT {0}.a {0} FROM t {0}",
)


@cache
def keywords() -> list[str]:
    """PostgreSQL's keywords of all kinds."""
    text = cfgguide.Grammar.bundled("postgresql").text
    kinds = re.findall(
        r"^(?:RESERVED|COLUMN_WORD|UNRESERVED)\.1: /\(\?ai:(.*?)\)", text, re.MULTILINE
    )
    assert len(kinds) == 3
    return sorted({word for kind in kinds for word in kind.split("|")})


@cache
def parser_of_keywords() -> lark.Lark:
    """Lark's parser for a schema in which each keyword is a table, a column and an alias."""
    schema = {"t": ["a", *keywords()], **{word: ["x"] for word in keywords()}}
    return lark_parser(narrow(schema, aliases=["b", *keywords()]))


@pytest.mark.slow
@pytest.mark.parametrize("hole", HOLES)
def test_keywords_are_names_where_postgresql_has_them_so(hole: str) -> None:
    for word in keywords():
        text = hole.format(word)
        is_accepted = is_parsed(parser_of_keywords(), text)
        assert is_accepted == (verdict(text) is True) or (word in LOST and not is_accepted), text


@pytest.mark.slow
@pytest.mark.parametrize("hole", NEW_HOLES)
def test_keywords_are_new_names_only_where_postgresql_has_them_so(hole: str) -> None:
    counts = {True: 0, False: 0}
    for word in keywords():
        text = hole.format(word)
        is_accepted = is_parsed(parser_of_keywords(), text)
        counts[is_accepted] += 1
        assert not is_accepted or verdict(text), text
    assert min(counts.values()) > 50


@pytest.mark.slow
@pytest.mark.parametrize("hole", [*HOLES, *NEW_HOLES])
def test_in_quotes_any_keyword_is_a_name(hole: str) -> None:
    for word in keywords()[::4]:
        text = hole.format(f'"{word}"')
        assert verdict(text) is True
        assert is_parsed(parser_of_keywords(), text), text


# --- What is given -------------------------------------------------------------------------------


@pytest.mark.slow
def test_quotes_keep_the_case_and_other_names_lose_it() -> None:
    schema = {"Users": ["ID", "id"], "users": ["Name"], "ÄB": ["ß"]}
    parser = lark_parser(narrow(schema, "select", aliases=["b", "X", "u", "n"]))
    for text in ('SELECT "ID", ID FROM "Users"', 'SELECT "Name" FROM USERS', 'SELECT ß FROM "ÄB"'):
        assert is_parsed(parser, text), text
    for text in ('SELECT "Id" FROM "Users"', 'SELECT id FROM "USERS"', "SELECT Name FROM users"):
        assert not is_parsed(parser, text), text
    assert not is_parsed(parser, "SELECT ß FROM ÄB")  # only ASCII letters are folded
    assert is_parsed(parser, 'SELECT id AS B FROM users "X"')
    assert not is_parsed(parser, "SELECT id FROM users X")


@pytest.mark.slow
def test_some_letters_begin_other_lexemes() -> None:
    parser = lark_parser(narrow({"b": ["e", "u", "n", "x"]}, "select"))
    for text in ("SELECT b'01', e'\\n', x'1f'", "SELECT b.e, u&1, n, x FROM b"):
        assert verdict(text) is True
        assert is_parsed(parser, text), text
    for text in ("SELECT b.e'x'", "SELECT u&'x'", 'SELECT u&"x" FROM b', 'SELECT b.u&"n" FROM b'):
        assert not is_parsed(parser, text), text


@pytest.mark.slow
def test_functions_and_aliases_may_be_given() -> None:
    parser = lark_parser(
        narrow({"a": ["id"]}, "select", aliases=["total", "year"], functions=["left", "My f"])
    )
    assert is_parsed(parser, 'SELECT left(id, 1) AS total, "My f"(id) AS year FROM a "year"')
    for text in ("lower(id)", "right(id, 1)", "id b", "id year", "make_interval(days => 1)"):
        assert not is_parsed(parser, f"SELECT {text} FROM a"), text
    assert is_parsed(parser, "SELECT coalesce(a.id, 1) FROM a")
    bare = lark_parser(narrow({"a": ["id"]}, "select", aliases=[], functions=[]))
    assert is_parsed(bare, "SELECT a.id FROM a")
    assert not is_parsed(bare, "SELECT a.id AS a FROM a")


@pytest.mark.slow
def test_a_name_may_be_everything_at_once() -> None:
    schema = {"excluded": ["a", "count", "text"], "count": ["week", "days", "date"], "text": ["a"]}
    parser = lark_parser(narrow(schema))
    for text in (
        "SELECT count(count), text, text '1', date '2020-1-1', date, excluded.a FROM count, text",
        "SELECT extract(week FROM week), make_interval(days => days), a.* FROM excluded a",
        "INSERT INTO excluded (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET a = excluded.count",
        "SELECT count.days FROM count(1) AS c, count",
    ):
        assert verdict(text) is True
        assert is_parsed(parser, text), text


def test_metadata_of_sqlalchemy_is_a_schema() -> None:
    column = types.SimpleNamespace
    tables = [
        types.SimpleNamespace(name="users", columns=[column(name="id"), column(name="Name")]),
        types.SimpleNamespace(name="orders", columns=[column(name="total")]),
        types.SimpleNamespace(name="users", columns=[column(name="id"), column(name="age")]),
    ]
    metadata = types.SimpleNamespace(sorted_tables=tables)
    mapping = {"users": ["id", "Name", "age"], "orders": ["total"]}
    for name in ("postgresql", "sql", "sql_select"):
        bundled = cfgguide.Grammar.bundled(name)
        assert with_schema(bundled, metadata).text == with_schema(bundled, mapping).text


def test_a_text_of_definitions_is_a_schema_for_sqlite() -> None:
    bundled = cfgguide.Grammar.bundled("sql")
    text = "CREATE TABLE users (id, name); CREATE VIEW names AS SELECT name FROM users;"
    mapping = {"users": ["id", "name"], "names": ["name"]}
    assert with_schema(bundled, text).text == with_schema(bundled, mapping).text
    with pytest.raises(GrammarError, match="the definitions of the schema fail in SQLite: near"):
        with_schema(bundled, "CREATE TABEL users (id)")


@pytest.mark.parametrize("given", ["CREATE TABLE a (b int)", sqlite3.connect(":memory:")])
def test_what_sqlite_reads_is_no_schema_of_postgresql(given: Any) -> None:
    with pytest.raises(GrammarError, match=r"'postgresql' takes no (str|Connection) for a schema"):
        narrow(given)


def test_names_that_no_text_can_spell_are_refused() -> None:
    with pytest.raises(GrammarError, match="the schema has no tables"):
        narrow({})
    with pytest.raises(GrammarError, match="one of the columns of 'users' has no name"):
        narrow({"users": [""]})


def test_order_changes_nothing() -> None:
    one = narrow({"users": ["id", "name"], "orders": ["id"]}, functions=["f", "g"])
    other = narrow({"orders": ("id",), "users": iter(["name", "id"])}, functions={"g", "f"})
    assert one.text == other.text


@pytest.mark.slow
def test_it_compiles_and_its_tidy_form_does() -> None:
    words = [b" users", b" user", b" name", b" surname", b' "Key"', b" Key", b" orders"]
    vocabulary = cfgguide.Vocabulary.of_bytes(words)
    bundled = cfgguide.Grammar.bundled("postgresql", start="select", tidy=True)
    grammar = with_schema(bundled, SCHEMA)
    index = cfgguide.compile(grammar, vocabulary)
    guide = cfgguide.Guide(index)
    for byte in b"SELECT * FROM":
        guide.advance(byte)
    allowed = [words[i - 256] for i in guide.allowed_token_ids() if 256 <= i < vocabulary.size - 1]
    assert allowed == [b" users", b" user", b" orders"]  # " user" begins " users"
    assert cfgguide.check(grammar, "SELECT u.name FROM users u").is_sentence
    assert not cfgguide.check(grammar, "SELECT u.surname FROM users u").is_sentence
