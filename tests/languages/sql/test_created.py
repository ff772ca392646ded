"""A text of definitions is read as SQLite reads it, does nothing else, and ends by itself."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from support.sql_schemas import random_schema

from cfgguide.base.limits import Budget
from cfgguide.errors import GrammarError, LimitError
from cfgguide.languages.sql.tables import created, tables_of

N_COLUMNS = 1_999
WIDE = f"CREATE TABLE t ({', '.join(f'c{n}' for n in range(N_COLUMNS))});"


def of_sqlite(text: str) -> dict[str, list[str]]:
    """Return the tables of a text that SQLite runs without a guard."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(text)
        return tables_of(database)


DEFINITIONS = [
    "CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE NOT NULL)",
    "\ufeffDROP TABLE IF EXISTS t; BEGIN; CREATE TABLE t (x, y AS (lower(x)) STORED); COMMIT;",
    "CREATE TABLE t (x DEFAULT (hex(randomblob(8))), CHECK (length(x) < 3 AND x LIKE '%;'));",
    "CREATE TABLE t (x); CREATE UNIQUE INDEX i ON t (lower(x)) WHERE x NOT LIKE 'a%';",
    "CREATE TABLE a (x); CREATE VIEW v AS SELECT x, count(*) AS n FROM a GROUP BY x\n/* v(x,n) */;",
    "CREATE TABLE a (x); CREATE TRIGGER r AFTER INSERT ON a BEGIN DELETE FROM a; SELECT 1; END; "
    "CREATE TABLE b (y)",
    "CREATE VIEW v (a) AS WITH RECURSIVE c(x) AS (SELECT 1 UNION SELECT x + 1 FROM c WHERE x < 9), "
    "d AS (SELECT * FROM c, c AS e) SELECT x FROM d JOIN c USING (x)",
    "CREATE TABLE t (x); CREATE VIEW total AS SELECT x, total FROM (SELECT x, 1 AS total FROM t); "
    "CREATE VIEW w AS SELECT * FROM total a JOIN total b ON a.x IN (SELECT x FROM [total])",
    "CREATE VIEW later AS SELECT * FROM t; CREATE TABLE t (x)",
    "".join(f"CREATE TABLE t{n} (x, y);" for n in range(500)),
    f"{WIDE}CREATE VIEW v AS SELECT * FROM t; CREATE VIEW w AS SELECT * FROM v",
]


@pytest.mark.parametrize("text", DEFINITIONS, ids=[text[:40] for text in DEFINITIONS])
def test_definitions_are_read_as_sqlite_reads_them(text):
    with closing(created(text)) as database:
        assert tables_of(database) == of_sqlite(text)


@pytest.mark.few(5)
@pytest.mark.parametrize("seed", range(100))
def test_random_schemas_are_read_as_sqlite_reads_them(seed):
    text = random_schema(seed, 60)
    with closing(created(text)) as database:
        assert tables_of(database) == of_sqlite(text)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1", "SELECT * FROM t", "VALUES (1)", "WITH c AS (SELECT 1) SELECT 1",
        "EXPLAIN SELECT 1", "CREATE TABLE u AS SELECT 1 AS x", "INSERT INTO t VALUES (1)",
        "REPLACE INTO t DEFAULT VALUES", "UPDATE t SET x = 1", "DELETE FROM t", "DROP TABLE t",
        "ALTER TABLE t ADD y", "ATTACH ':memory:' AS u", "DETACH main", "VACUUM",
        "VACUUM INTO ':memory:'", "PRAGMA foreign_keys = OFF", "PRAGMA user_version", "ANALYZE",
        "SAVEPOINT s", "CREATE TEMP TABLE u (x)", "CREATE TEMP VIEW u AS SELECT 1",
        "CREATE TEMP TRIGGER r DELETE ON t BEGIN SELECT 1; END", "CREATE TABLE temp.u (x)",
        "CREATE VIRTUAL TABLE u USING fts5(x)", "CREATE VIRTUAL TABLE u USING rtree(a, b, c)",
    ],
)  # fmt: skip
def test_what_is_more_than_a_definition_is_refused_and_shown(statement):
    with pytest.raises(GrammarError, match="only CREATE TABLE, INDEX, VIEW and TRIGGER") as told:
        created(f"CREATE TABLE t (x); {statement}; CREATE TABLE v (x)")
    assert statement[:20] in str(told.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE TABLE t (", "incomplete input, at 'CREATE TABLE t"),
        ("CREATE TABLE t (x); UPDATE sqlite_master SET sql = ''", "may not be modified"),
        ("CREATE TABLE t (x); DELETE FROM sqlite_master", "may not be modified"),
        ("CREATE TABLE t (x\0)", "NUL"),
        ("CREATE TABLE t (x DEFAULT '\ud800')", "surrogate"),
        ("CREATE VIEW v AS SELECT * FROM w; CREATE VIEW w AS SELECT * FROM v", "named by what it"),
    ],
)
def test_what_is_no_definition_is_an_error_that_says_where(text, message):
    with pytest.raises(GrammarError, match=message):
        created(text)


def twice(first: str, *later: str) -> str:
    """Return definitions of which each of 40 names the one before twice, or more."""
    return first + "".join(each.format(n, n + 1) for n in range(40) for each in later)


def within(inner: str, outer: str, number: int) -> str:
    """Return a text in another one, again and again."""
    for _ in range(number):
        inner = outer.replace("<>", inner)
    return inner


#: SQLite would write out 2^40 parts, or compare as many names, in one call that nothing stops.
TOO_LARGE = {
    "views": twice(
        "CREATE VIEW v0 AS SELECT 1 AS x;", "CREATE VIEW v{1} AS SELECT a.x FROM v{0} a, v{0} b;"
    ),
    "views in expressions": twice(
        "CREATE VIEW v0 AS SELECT 1 AS x;",
        "CREATE VIEW v{1} AS SELECT 1 IN v{0} AS x, (SELECT x FROM (main . v{0})) AS y;",
    ),
    "quoted views": twice(
        'CREATE VIEW "v""0" AS SELECT 1 AS x;',
        'CREATE VIEW "V""{1}" AS SELECT a.x FROM `v"{0}` a, \'v"{0}\' b JOIN [v"{0}] c;',
    ),
    "views after comments": twice(
        "CREATE VIEW v0 AS SELECT 1 AS x;",
        "CREATE VIEW v{1} AS SELECT 1 AS x FROM/**/v{0} a,-- ' \n v{0} JOIN \ufeffv{0} c;",
    ),
    "views beyond ASCII": twice(
        "CREATE VIEW \xa00\u2028 AS SELECT 1 AS x;",
        "CREATE VIEW \xa0{1}\u2028 AS SELECT 1 AS x FROM \xa0{0}\u2028 a, \xa0{0}\u2028 b;",
    ),
    "views of unions": twice(
        "CREATE VIEW v0 AS SELECT 1 AS x;",
        "CREATE VIEW v{1} AS SELECT x FROM v{0} UNION SELECT x FROM v{0};",
    ),
    "CTEs": twice(
        "CREATE VIEW v AS WITH c0 AS (SELECT 1 AS x)",
        ", c{1}(x) AS NOT MATERIALIZED (SELECT 1 FROM c{0}, c{0})",
    )
    + " SELECT * FROM c40",
    "CTEs of one name": "CREATE VIEW v AS "
    + within("SELECT 1 AS x", f"WITH a AS (<>) SELECT 1 AS x FROM a{', a' * 30}", 8),
    "a chain": "".join(f"CREATE VIEW v{n} AS SELECT * FROM v{n + 1};" for n in range(3000))
    + "CREATE VIEW v3000 AS SELECT 1 AS x",
    "natural joins": f"{WIDE}CREATE VIEW v AS SELECT 1 AS x FROM t{' NATURAL JOIN t' * 60}",
    "all columns again and again": f"{WIDE}CREATE VIEW v0 AS SELECT * FROM t;"
    + "".join(f"CREATE VIEW v{n + 1} AS SELECT * FROM v{n};" for n in range(90)),
}


@pytest.mark.parametrize("text", TOO_LARGE.values(), ids=TOO_LARGE)
def test_views_that_are_too_large_once_written_out_are_refused_first(text):
    with pytest.raises(LimitError, match="too large"):
        created(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("".join(f"CREATE TABLE t{n} (x);" for n in range(20_000)), "too many steps"),
        (f"CREATE TABLE t (x DEFAULT '{'a' * 100_000}')", "more than 50000 characters"),
        (f"CREATE TRIGGER r DELETE ON t BEGIN {'SELECT 1;' * 2_000} END", "semicolons"),
        (f"CREATE TABLE t (x) -- {'a' * 1_000_000}", "more than 1000000 characters"),
    ],
)
def test_definitions_end_after_so_much_work(text, message):
    with pytest.raises(LimitError, match=message):
        created(text)


@pytest.mark.parametrize(
    "value", ["hex(zeroblob(499999999))", "printf('%*c', 999999999, 'a') LIKE '%a%a%a%a%a%b'"]
)
def test_no_function_is_called(value):
    """Each of these would take gigabytes or minutes, in one call."""
    text = f"CREATE TABLE t (x DEFAULT ({value}), y AS ({value})); CREATE INDEX i ON t ({value})"
    with closing(created(text)) as database:
        assert tables_of(database) == {"t": ["x", "y"]}


def test_who_has_left_stops_the_reading_of_definitions():
    tables = "".join(f"CREATE TABLE t{n} (x);" for n in range(20_000))
    with pytest.raises(LimitError):
        Budget(cancelled=lambda: True).run(lambda: created(tables))
