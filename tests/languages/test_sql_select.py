"""`sql_select` lets one query be written, and no attempt to smuggle more is accepted."""

from __future__ import annotations

import sqlite3

import pytest
from support.sql_grammars import is_accepted
from support.sql_judge import verdict

WRITES = (
    "INSERT INTO t VALUES (1)", "REPLACE INTO t VALUES (1)", "UPDATE t SET a = 1",
    "DELETE FROM t", "DELETE FROM t RETURNING a", "DROP TABLE t", "CREATE TABLE u (a)",
    "CREATE TABLE u AS SELECT 1", "ALTER TABLE t RENAME TO u", "ATTACH 'x' AS y",
    "PRAGMA writable_schema = 1", "VACUUM INTO 'x'", "ROLLBACK TO x", "ANALYZE t.u",
    "SELECT 2",
)  # fmt: skip
# Ways to hide a statement beside, before or inside a query.
WRAPPERS = (
    "SELECT 1; {0}", "{0}; SELECT 1", "{0}", "; {0}", "SELECT 1 {0}",
    "SELECT 1 /* a */; /* b */ {0}", "SELECT 1 -- a\n; {0}",
    "SELECT 1 WHERE 'a' = ''; {0} --'", "WITH a AS ({0}; SELECT 1) SELECT * FROM a",
    "EXPLAIN {0}", "SELECT 1;;{0}",
)  # fmt: skip
# A statement that writes, where a query might stand.
NESTED = (
    "SELECT ({0})", "SELECT * FROM ({0})", "SELECT 1 WHERE a IN ({0})",
    "SELECT EXISTS ({0})", "WITH a AS ({0}) SELECT * FROM a",
    "WITH a AS (SELECT 1) {0}", "SELECT 1 UNION {0}", "VALUES (1), {0}",
    "SELECT * FROM t, {0}",
)  # fmt: skip
NAMES = (
    "load_extension", "LOAD_EXTENSION", "writefile", "ReadFile", "edit", "eval",
    "fts3_tokenizer",
)  # fmt: skip
CALLS = (
    "SELECT {0}('x', 'y')",
    "SELECT \"{0}\"('x', 1)",
    "SELECT [{0}] ('x', 1)",
    "SELECT `{0}`\n('x', 1)",
    "SELECT 1 WHERE 1 AND {0} ('x')",
    'SELECT * FROM t ORDER BY "{0}"()',
)
TABLES = (
    "SELECT * FROM pragma_table_info('t')",
    "SELECT * FROM Pragma_database_list",
    "SELECT * FROM main.pragma_journal_mode",
    'SELECT * FROM "pragma_user_version"',
    "SELECT * FROM 'pragma_user_version'",
    "SELECT * FROM [pragma_user_version]",
    "SELECT * FROM `pragma_user_version`",
    "SELECT 1 WHERE 1 IN pragma_user_version",
    "SELECT * FROM t JOIN pragma_user_version",
    "SELECT * FROM (pragma_user_version)",
    "SELECT * FROM fsdir('/')",
    "SELECT * FROM 'fsdir'('/')",
    "SELECT * FROM \"zipfile\"('x')",
)
ATTEMPTS = (
    *(wrapper.format(write) for write in WRITES for wrapper in WRAPPERS),
    *(nest.format(write) for write in WRITES[:-1] for nest in NESTED),
    *(call.format(name) for name in NAMES for call in CALLS),
    *TABLES,
)
# What a wrapper comes to with a query in it.
HARMLESS = ("SELECT 2",)


def is_query(text: str) -> bool:
    return is_accepted(text, "sql_select", "start")


def test_there_are_enough_attempts() -> None:
    assert len(set(ATTEMPTS)) >= 200


@pytest.mark.slow
@pytest.mark.parametrize("text", [text for text in ATTEMPTS if text not in HARMLESS])
def test_no_attempt_to_smuggle_is_accepted(text: str) -> None:
    assert not is_query(text)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "text",
    [
        "SELECT a, count(*) FROM t WHERE b LIKE 'x%' GROUP BY a HAVING a > 1 ORDER BY 2 DESC;",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9) SELECT i FROM n",
        "VALUES (1, 'DROP TABLE t; --')",
        "SELECT edit, t.eval, edit.a, replace(a, 'b', 'c') FROM main.t JOIN f(1) USING (edit)",
        'SELECT "load_extension", [writefile] FROM t',
        'SELECT \'load_extension(1)\', "delete" FROM "insert"',
        "SELECT sum(a) OVER (PARTITION BY b) FROM t",
        'SELECT * FROM pragmatic, fsdirs, "zipfile "',
    ],
)
def test_queries_are_accepted(text: str) -> None:
    assert is_query(text)
    assert verdict(text) is True


@pytest.mark.parametrize("space", ["\v", " \v", "\ufeff", "\n\ufeff"])
def test_spaces_that_pythons_sqlite3_takes_for_a_second_statement_are_none(space: str) -> None:
    database = sqlite3.connect(":memory:")
    with pytest.raises(sqlite3.ProgrammingError, match="one statement at a time"):
        database.execute(f"SELECT 1;{space}")
    assert not is_query(f"SELECT 1;{space}")
    assert is_query("SELECT 1;\t\n\f\r ")
    database.execute("SELECT 1;\t\n\f\r ")
