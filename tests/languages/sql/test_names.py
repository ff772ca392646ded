"""`with_schema` lets SQL name what there is and nothing else; SQLite judges on a real database."""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import product

import lark
import pytest
from support.derivations import Deriver
from support.judges import is_parsed, lark_parser
from support.sql_grammars import SAMPLES, WORDS, is_accepted
from support.sql_judge import error

import cfgguide
from cfgguide.automata.determinize import fsm_of_pattern
from cfgguide.errors import GrammarError
from cfgguide.languages.sql.name_patterns import name_patterns
from cfgguide.sql import with_schema

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
    "SELECT name COLLATE nocase FROM users ORDER BY id COLLATE \nBINARY, rtrim(name) COLLATE RTRIM",
    "SELECT replace(name, 'a', 'b'), like('a', name), date('now'), current_date FROM users",
    "SELECT CASE WHEN total IS NOT TRUE THEN 'x' ELSE false END FROM orders",
    "SELECT e.value, e.key, json_tree.atom FROM users, json_each(name) AS e, json_tree(users.name)",
    "SELECT t1.id FROM users t1, users t2 WHERE t1.id < t2.id /* both */ -- or not",
    "VALUES (1, 'users')",
    "SELECT x'00', X'', x.id FROM users x",
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
    "SELECT * FROM user", "SELECT * FROM userss", 'SELECT * FROM "users "',
    "SELECT * FROM sqlite_master", "SELECT * FROM main.users", "SELECT * FROM order",
    "SELECT * FROM größe x", "SELECT * FROM 'users'", "SELECT * FROM json_each",
    "SELECT * FROM id", "SELECT 1 FROM users WHERE 1 IN customers",
    "SELECT nam FROM users", "SELECT name_ FROM users", "SELECT namé FROM users",
    "SELECT GRÖSSE FROM users", "SELECT users.surname FROM users",
    "SELECT user.name FROM users", "SELECT excluded.* FROM users",
    "SELECT excluded.b FROM users", 'SELECT "surname" FROM users',
    'SELECT "name""b" FROM users', "SELECT `name``b` FROM users",
    "SELECT group FROM users", "SELECT rowid FROM users", "SELECT atom FROM users",
    "SELECT users FROM users", "SELECT nonsense(id) FROM users",
    "SELECT name(id) FROM users", "SELECT load_extension('x')",
    "SELECT \"load_extension\"('x')", "SELECT * FROM pragma_table_info('users')",
    "SELECT * FROM generate_series(1)", "SELECT name AS surname FROM users",
    "SELECT name surname FROM users", "SELECT name 'n' FROM users",
    "SELECT users.name AS id FROM users", "SELECT * FROM users AS people",
    "WITH people AS (SELECT 1) SELECT 1", "WITH p(id) AS (SELECT 1) SELECT 1",
    "SELECT sum(id) OVER rows FROM users", "SELECT name COLLATE german FROM users",
    "SELECT CAST(name AS date) FROM users", "SELECT CAST(name AS users) FROM users",
    "SELECT * FROM users u JOIN orders USING (surname)",
    "SELECT * FROM users INDEXED BY a", "SELECT RAISE(IGNORE)",
    "INSERT INTO a VALUES (1)", "INSERT INTO users (surname) VALUES (1)",
    "INSERT INTO users (b) VALUES (1)", "UPDATE users SET b = 1",
    "UPDATE customers SET id = 1", "DELETE FROM t1", "CREATE TABLE users (id)",
    "DROP TABLE users", "ALTER TABLE users DROP name", "PRAGMA users",
    "ATTACH 'x' AS a", "BEGIN", "VACUUM",
)  # fmt: skip


@cache
def narrowed(name: str = "sql", start: str = "statement") -> lark.Lark:
    """Lark's parser for the schema above."""
    return lark_parser(with_schema(cfgguide.Grammar.bundled(name, start=start), SCHEMA))


def select_parser(schema: object, **names: Iterable[str]) -> lark.Lark:
    return lark_parser(
        with_schema(cfgguide.Grammar.bundled("sql", start="select"), schema, **names)
    )


@pytest.fixture(scope="module")
def database():
    made = sqlite3.connect(":memory:")
    made.executescript(DEFINITIONS)
    yield made
    made.close()


# --- What is accepted ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("text", KNOWN)
def test_statements_with_known_names_are_accepted(text, database):
    assert error(text, database) in ("", "table users has 5 columns but 1 values were supplied")
    assert is_parsed(narrowed(), text)


@pytest.mark.slow
@pytest.mark.parametrize("text", UNKNOWN)
def test_statements_with_unknown_names_are_refused(text):
    assert not is_parsed(narrowed(), text)


@pytest.mark.slow
def test_a_query_is_narrowed_in_sql_select_too():
    parser = narrowed("sql_select", "start")
    for text in KNOWN:
        is_query = text.split()[0] in ("SELECT", "select", "WITH", "VALUES") and "/*" not in text
        assert is_parsed(parser, text) == is_query, text
    assert is_parsed(parser, "SELECT id FROM users;")
    assert not is_parsed(parser, "SELECT id FROM users; SELECT 1")
    assert not any(is_parsed(parser, text) for text in UNKNOWN)
    assert not is_parsed(parser, "SELECT excluded.id FROM users")  # what only an upsert has


@pytest.mark.slow
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
    # Sentences end in what is shortest, which are variables: so these are columns, too.
    found["sql__VARIABLE"] = ["?1", "users.NAME", "[order].note", '"Größe X"."]odd"', "x.t1"]
    found["sql__VARIABLE"] += ["key", "`order`.desc", "e.value", "name", "TOTAL", "a", '"group"']
    return found


def unknown_name(message: str) -> bool:
    """Whether SQLite misses a name that the grammar should not have let stand there."""
    beginnings = {table[:length].lower() for table in SCHEMA for length in range(1, len(table))}
    bases = {*"abcdefghijklmnopqrstuvwxyz", "gx", *beginnings} - {"user"}  # a singular
    aliases = {base + digit for base in bases for digit in ["", *"123456789"]}
    aliases -= {"order", "or"}  # keywords
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
    assert all(
        map(unknown_name, ["no such table: user", "no such column: b.c0", "no such index: a"])
    )
    assert all(map(unknown_name, ["no such function: f", "no such column: atom"]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "start"),
    [("sql", "statement"), pytest.param("sql_select", "start", marks=pytest.mark.slow)],
)
def test_all_that_is_accepted_the_bundled_grammar_accepts_and_sqlite_knows(name, start, database):
    rng = random.Random(11)
    parser = narrowed(name, start)
    deriver = Deriver(parser, samples())
    n_judged = 0
    for _ in range(100):
        text = " ".join(deriver.sentence(rng, start, rng.choice((10, 20, 40))))
        if is_parsed(parser, text):
            assert is_accepted(text, name, start), text
            assert not unknown_name(error(text, database)), text
            n_judged += 1
    assert n_judged > 80


# --- Keywords as names ---------------------------------------------------------------------------

HOLES = (
    "SELECT {0}, 1 + t.{0} FROM t ORDER BY {0} DESC",
    "SELECT {0}.x, {0}.* FROM t, {0}",
    "SELECT max({0}) OVER (PARTITION BY {0} ROWS CURRENT ROW) FROM t JOIN t b USING ({0})",
    "SELECT CASE {0} WHEN 1 THEN {0} END FROM t WHERE 1 IN {0}",
    "UPDATE OR FAIL {0} SET x = 1",
    "UPDATE t SET {0} = 1, ({0}, a) = (1, 2)",
    "INSERT INTO t ({0}) VALUES (1) ON CONFLICT ({0}) DO NOTHING RETURNING {0}",
    "INSERT INTO {0} SELECT {0} FROM t WHERE 1",
    "DELETE FROM {0} WHERE x",
)
NEW_HOLES = (
    "SELECT a AS {0} FROM t AS {0}",
    "SELECT {0}.a {0} FROM t {0}",
    "WITH {0}({0}) AS (SELECT 1) SELECT {0}.{0} FROM {0}",
    "SELECT max(a) OVER {0} FROM t WINDOW {0} AS ()",
)
# SQLite lets these be names without quotes; here they are reserved.
JOIN_WORDS = {"cross", "full", "indexed", "inner", "left", "natural", "outer", "right"}


@cache
def parser_of_keywords() -> lark.Lark:
    """Lark's parser for a schema in which each keyword is a table, a column and an alias."""
    schema = {"t": ["a", *WORDS], **{word: ["x"] for word in WORDS}}
    grammar = cfgguide.Grammar.bundled("sql", start="statement")
    return lark_parser(with_schema(grammar, schema, aliases=["b", *WORDS]))


@pytest.fixture(scope="module")
def keyword_database():
    made = sqlite3.connect(":memory:")
    columns = ", ".join(f'"{word}"' for word in WORDS)
    made.execute(f"CREATE TABLE t (a, {columns})")
    for word in WORDS:
        made.execute(f'CREATE TABLE "{word}" (x)')
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize("hole", HOLES)
def test_keywords_are_names_where_sqlite_has_them_so(hole, keyword_database):
    for word in WORDS:
        text = hole.format(word)
        said = error(text, keyword_database)
        is_name = not re.search("syntax error|incomplete|JOIN clause", said)
        assert is_parsed(parser_of_keywords(), text) == (is_name and word not in JOIN_WORDS), text
        assert not is_name or is_accepted(text), text


@pytest.mark.slow
@pytest.mark.parametrize("hole", [*HOLES, *NEW_HOLES])
def test_in_quotes_any_keyword_is_a_name(hole, keyword_database):
    for number, word in enumerate(WORDS[::4]):
        text = hole.format(spellings(word)[2 + number % 3])
        assert "syntax error" not in error(text, keyword_database)
        assert is_parsed(parser_of_keywords(), text), text


@pytest.mark.few(1)
@pytest.mark.parametrize("hole", NEW_HOLES)
def test_a_keyword_is_a_new_name_in_quotes_only(hole):
    for word in WORDS:
        assert is_parsed(parser_of_keywords(), hole.format(word)) == (word == "within"), word


# --- What is given -------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_database_tells_its_schema():
    database = sqlite3.connect(":memory:")
    database.row_factory = lambda cursor, row: {"name": row[0]}  # which must not matter
    database.executescript("""
        CREATE TABLE books (id INTEGER PRIMARY KEY AUTOINCREMENT, title, up AS (upper(title)));
        CREATE VIEW titles (heading) AS SELECT title FROM books;
        CREATE VIRTUAL TABLE pages USING fts5(body);
        CREATE TABLE sqlites (one);
    """)
    database.create_function("slug", 1, str)
    parser = select_parser(database)
    assert is_parsed(parser, "SELECT b.title, up, slug(heading), body FROM books b, titles, pages")
    assert is_parsed(parser, "SELECT one, highlight(pages.body, 0, 'a', 'b') FROM sqlites, pages")
    assert is_parsed(parser, "SELECT count(*) FROM pages WHERE body MATCH 'x'")
    for text in (
        "SELECT * FROM sqlite_sequence",
        "SELECT * FROM pages_content",
        "SELECT rank FROM pages",
        "SELECT load_extension('x')",
        "SELECT id REGEXP 'x' FROM books",
    ):
        assert error(text, database) in ("", "no such function: REGEXP")
        assert not is_parsed(parser, text), text
    database.close()


@pytest.mark.slow
def test_aliases_and_functions_are_those_given():
    parser = select_parser(
        {"users": ["id"]}, aliases=["People", "my list", "key"], functions=["SLUG", "regexp"]
    )
    for text in (
        "SELECT people.id FROM users people",
        'SELECT slug(id) AS "my list" FROM users [KEY]',
        "SELECT id REGEXP 'x' FROM users WHERE id LIKE 'y'",
    ):
        assert is_parsed(parser, text), text
    for text in (
        "SELECT a.id FROM users a",
        "SELECT count(id) FROM users",
        "SELECT id MATCH 'x' FROM users",
        "SELECT * FROM json_each(1)",
        "SELECT id key FROM users",
    ):
        assert not is_parsed(parser, text), text


SHOP = {
    "customers": ["id", "name"],
    "order_items": ["id", "order_id"],
    "orders": ["id", "customer_id"],
    "CROSSINGS": ["id"],
    "zipfiles": ["id"],
    "processes": ["id"],
    "web pages": ["id"],
}


def test_the_usual_aliases_are_letters_and_parts_of_the_names_of_tables():
    """As people and models write them: beginnings, initials, a digit; `cr` is not CROSS."""
    parser = select_parser(SHOP)
    for text in (
        "SELECT cu.name FROM customers cu JOIN orders AS ord ON ord.customer_id = cu.id",
        "SELECT oi.id FROM order_items AS oi, order_items oi2, customers cust, orders t1",
        "SELECT cr.id FROM crossings cr CROSS JOIN crossings cro",
        "WITH cust AS (SELECT id FROM customers) SELECT cust.id FROM cust",
    ):
        assert is_parsed(parser, text), text
    for text in (
        "SELECT id FROM customer",
        "SELECT id FROM process",
        "SELECT id FROM items",
        "SELECT order_id FROM order_items JOIN item",
        "SELECT id FROM web",
        "SELECT id FROM orders orders2 JOIN zipfiles or",
        "SELECT id FROM zipfile",
        "SELECT id FROM clients",
        "SELECT id FROM customers buyer",
    ):
        assert not is_parsed(parser, text), text
    cfgguide.compile(
        with_schema(cfgguide.Grammar.bundled("sql_select"), SHOP), cfgguide.Vocabulary.of_bytes()
    )


@pytest.mark.slow
def test_with_no_aliases_and_no_functions_none_are_there():
    parser = select_parser({"users": ["id"]}, aliases=[], functions=[])
    assert is_parsed(parser, "SELECT users.id, * FROM users WHERE id IS TRUE OR id IN (1)")
    assert not is_parsed(parser, "SELECT id AS a FROM users")
    assert not is_parsed(parser, "SELECT abs(id) FROM users")


@pytest.mark.slow
def test_a_table_may_have_the_name_of_everything_else():
    parser = lark_parser(
        with_schema(
            cfgguide.Grammar.bundled("sql", start="statement"),
            {"a": ["true", "count", "json_each"], "excluded": ["x"], "json_each": ["nocase"]},
        )
    )
    for text in (
        "SELECT a.count, count(true), x FROM a AS a, json_each, json_each(a.json_each)",
        "SELECT excluded.* FROM excluded ORDER BY nocase COLLATE nocase",
        "INSERT INTO excluded (x) VALUES (1) ON CONFLICT (x) DO UPDATE SET x = excluded.x",
    ):
        assert is_parsed(parser, text), text
        assert is_accepted(text), text


@pytest.mark.slow
def test_names_may_be_of_any_characters():
    rng = random.Random(5)
    letters = " abz_09$\"'`[]().*+?^|\\/#-&~{}\n\t\x01\x7fäÄſ\u212a\u2028\ufeff\U0001f600"
    names = {"".join(rng.choices(letters, k=rng.choice((1, 1, 2, 3, 5)))) for _ in range(400)}
    odd = ['a\\"b', 'a\\\\"', "a\\", "a\\'b", "//a", "a#//b"]  # notation of Lark's own
    known = sorted({*names} - {*odd})[::2] + odd
    names.update(odd)
    database = sqlite3.connect(":memory:")
    columns = ", ".join(spellings(name)[2] for name in known)
    database.execute(f"CREATE TABLE t ({columns})")
    parsers = [
        select_parser(given, aliases=[], functions=[])
        for given in (database, {"t": reversed(known)})
    ]
    for name in sorted(names):
        for text in spellings(name)[2:] if "]" not in name else spellings(name)[2:4]:
            asked = f"SELECT t.{text} FROM t"
            is_known = error(asked, database) == ""
            assert is_known == (name in known), asked
            assert [is_parsed(parser, asked) for parser in parsers] == 2 * [is_known], asked
        asked = f"SELECT {name} FROM t"
        if re.fullmatch(r"[a-zäſ\U0001f600_][a-zäſ\ufeff\U0001f6000-9_$]*", name):
            assert is_parsed(parsers[0], asked) == (error(asked, database) == ""), asked
    database.close()


def test_the_options_of_the_grammar_stay():
    bundled = replace(cfgguide.Grammar.bundled("sql", start="select"), lexer="basic")
    given = with_schema(bundled, {"users": ["id"]})
    assert given == replace(bundled, text=given.text)


def test_order_and_case_of_names_change_nothing():
    bundled = cfgguide.Grammar.bundled("sql_select")
    one = with_schema(bundled, {"users": ["id", "name"], "orders": ["id"]}, functions=["f", "g"])
    other = with_schema(
        bundled, {"ORDERS": ("ID",), "Users": iter(["Name", "id"])}, functions={"G", "F"}
    )
    assert one.text == other.text


@pytest.mark.parametrize(
    ("schema", "names", "message"),
    [
        ({}, {}, "the schema has no tables; name at least one, with its columns"),
        (sqlite3.connect(":memory:"), {}, "the database has no tables; create them first"),
        (["users"], {}, "a schema is a mapping such as {'users': ['id', 'name']} or a sqlite3"),
        ({"": ["id"]}, {}, "one of the tables of a schema has no name; leave it out"),
        ({"users": [""]}, {}, "one of the columns of 'users' has no name"),
        ({"users": []}, {}, "the table 'users' has no columns; name at least one"),
        ({"users": "id"}, {}, "the columns of 'users' are a list of names, not 'id'"),
        ({"users": None}, {}, "the columns of 'users' are a list of names, not None"),
        ({"users": ["id", 1]}, {}, "the columns of 'users' are strings, not 1"),
        ({1: ["id"]}, {}, "the tables of a schema are strings, not 1"),
        ({"us\0ers": ["id"]}, {}, "no text of SQL has a NUL or a surrogate: rename it"),
        ({"users": ["\ud800"]}, {}, "no text of SQL has a NUL or a surrogate: rename it"),
        ({"users": ["id"]}, {"aliases": "ab"}, "the aliases are a list of names, not 'ab'"),
        ({"users": ["id"]}, {"aliases": [""]}, "one of the aliases has no name"),
        ({"users": ["id"]}, {"functions": [len]}, "the functions are strings, not <built-in"),
        (
            {"users": ["id"]},
            {"functions": ["EVAL"]},
            "the function 'eval' is forbidden by 'sql_sel",
        ),
        ({"fsdir": ["id"]}, {}, "no table may be called 'fsdir' in 'sql_select'"),
        ({"pragma_x": ["id"]}, {}, "no table may be called 'pragma_x' in 'sql_select'"),
        ({"users": ["id"]}, {"aliases": ["Zipfile"]}, "no table may be called 'zipfile'"),
    ],
)
def test_what_cannot_be_used_is_an_error(schema, names, message):
    with pytest.raises(GrammarError, match=re.escape(message)):
        with_schema(cfgguide.Grammar.bundled("sql_select"), schema, **names)


@pytest.mark.parametrize(
    ("grammar", "message"),
    [
        (cfgguide.Grammar.bundled("json"), "narrows the bundled grammars 'sql', 'sql_select', '"),
        (cfgguide.Grammar('start: "SELECT"'), "narrows the bundled grammars 'sql', 'sql_select', "),
        ("sql", "with_schema takes a Grammar, not str"),
    ],
)
def test_another_grammar_is_an_error(grammar, message):
    with pytest.raises(GrammarError, match=message):
        with_schema(grammar, {"users": ["id"]})


def test_a_closed_database_is_an_error():
    database = sqlite3.connect(":memory:")
    database.close()
    with pytest.raises(
        GrammarError, match="cannot read the schema of the database: Cannot operate"
    ):
        with_schema(cfgguide.Grammar.bundled("sql"), database)


def test_what_sql_select_forbids_is_forbidden_to_functions_and_tables():
    grammar = cfgguide.Grammar.bundled("sql")  # which forbids nothing
    given = with_schema(grammar, {"fsdir": ["x"]}, functions=["eval"], aliases=["pragma_x"])
    assert all(word in given.text for word in ("fsdir", "eval", "pragma_x"))


# --- Masks ---------------------------------------------------------------------------------------


def test_masks_follow_the_schema():
    words = [b"SELECT ", b"name", b"nam", b"title", b" FROM ", b"users", b"users;", b"user", b"u.",
             b"count(", b" u", b" WHERE ", b"'title'", b'"name"', b"NAME", b"TitlE "]  # fmt: skip
    vocabulary = cfgguide.Vocabulary.of_bytes(words)
    grammar = with_schema(cfgguide.Grammar.bundled("sql_select"), {"users": ["id", "name"]})
    guide = cfgguide.Guide(cfgguide.compile(grammar, vocabulary))

    def allowed(text: bytes) -> set[bytes]:
        """The words that may follow so much more text."""
        for byte in text:
            guide.advance(byte)
        return {bytes(vocabulary.tokens[token] or b"") for token in guide.allowed_token_ids()} & {
            *words
        }

    columns = {b"name", b"nam", b"NAME", b'"name"', b" u"}
    assert allowed(b"SELECT ") == columns | {b"users", b"user", b"u.", b"count(", b"'title'"}
    assert allowed(b"name FROM ") == {b"users", b"users;", b"user", b" u"}
    assert allowed(b"users") == {b" u", b" WHERE "}
    assert guide.is_accepting
    assert allowed(b" u WHERE u.") == columns
    assert allowed(b"[na") == set()
    assert bytes(t for t in guide.allowed_token_ids().tolist() if t < 256) == b"Mm"


def test_each_of_many_names_is_in_one_pattern():
    rng = random.Random(6)
    names = ["a" * length for length in range(1, 150)]  # more than groups may be nested
    names += ["".join(rng.choices("abcdefgh_", k=10)) for _ in range(1000)]
    patterns = [re.compile(pattern) for pattern in name_patterns(names, names)]
    assert len(patterns) > 1
    for name in {*names}:
        for text in spellings(name):
            assert sum(pattern.fullmatch(text) is not None for pattern in patterns) == 1, text
    assert not any(pattern.match("a" * 150) for pattern in patterns)


@pytest.mark.slow
def test_no_terminal_of_many_names_needs_too_many_states():
    rng = random.Random(6)
    names = ["".join(chr(rng.randrange(0x4E00, 0x9FA5)) for _ in range(4)) for _ in range(400)]
    patterns = name_patterns(names, names)
    assert len(patterns) > 1
    for pattern in patterns:
        fsm_of_pattern(pattern, name="NAME")  # which raises if there are too many


@pytest.mark.slow
def test_large_schemas_compile():
    parts = ["user", "order", "total", "price", "date", "city", "phone", "mail", "group", "value"]
    parts += ["amount", "level", "state", "batch"]
    columns = ["_".join(names) for names in product(parts, repeat=3)]
    schema = {
        f"table_{number}": [
            columns[(7 * number + 11 * place) % len(columns)] for place in range(10)
        ]
        for number in range(1000)
    }
    assert len({column for columns in schema.values() for column in columns}) > 2500
    grammar = with_schema(cfgguide.Grammar.bundled("sql_select"), schema)
    recognizer = cfgguide.index.compile_recognizer(grammar)
    for text, is_sentence in (
        (b"SELECT a.user_city_batch FROM table_999 a, table_0 WHERE date_user_user = 1", True),
        (b"SELECT a.user_city_name FROM table_999 a", False),
        (b"SELECT user_city_batch FROM table_1000", False),
    ):
        configuration = recognizer.advance(recognizer.initial, text)
        accepted = configuration is not None and recognizer.is_sentence(configuration)
        assert accepted == is_sentence
