"""The questions about small databases: SQLite prepares and runs every query, and rows come back."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from support.scripts import loaded

FILES = loaded(Path(__file__).parents[3] / "benchmarks" / "question_files.py")
SCHEMAS = FILES.load_schemas()
QUESTIONS = FILES.load_questions()
_STRING = re.compile(r"'(?:[^']|'')*'")
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')


@pytest.fixture(scope="module")
def databases():
    made = {}
    for name, text in SCHEMAS.items():
        made[name] = sqlite3.connect(":memory:")
        made[name].execute("PRAGMA foreign_keys = ON")
        made[name].executescript(text)
    yield made
    for database in made.values():
        database.close()


def columns_of(database, name):
    with closing(database.execute(f'SELECT * FROM "{name}"')) as cursor:
        return [column[0] for column in cursor.description]


def tables_of(database, kinds=("table", "view")):
    found = database.execute("SELECT name, type FROM sqlite_schema").fetchall()
    return [name for name, kind in found if kind in kinds]


def test_there_are_ten_questions_for_each_of_twenty_databases():
    assert len(SCHEMAS) == 20
    assert Counter(question.schema for question in QUESTIONS) == dict.fromkeys(SCHEMAS, 10)
    assert len({question.question for question in QUESTIONS}) == len(QUESTIONS) == 200
    assert len({question.query for question in QUESTIONS}) == 200


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_database_is_small_and_every_table_has_rows(databases, name):
    tables = tables_of(databases[name], ["table"])
    assert 2 <= len(tables) <= 12
    for table in tables:
        (count,) = databases[name].execute(f'SELECT COUNT(*) FROM "{table}"').fetchone()
        assert 3 <= count <= 12


@pytest.mark.parametrize(
    "question", QUESTIONS, ids=[f"{each.schema}-{n % 10}" for n, each in enumerate(QUESTIONS)]
)
def test_sqlite_prepares_and_runs_a_query_and_rows_come_back(databases, question):
    database = databases[question.schema]
    assert question.query.startswith(("SELECT", "WITH"))
    assert not question.query.endswith(";")
    assert database.execute(f"EXPLAIN {question.query}").fetchall()
    rows = database.execute(question.query).fetchall()
    assert any(value is not None for row in rows for value in row)
    # SQLite takes a name in double quotes that is unknown for a string.
    known = {name.lower() for table in tables_of(database) for name in columns_of(database, table)}
    known |= {table.lower() for table in tables_of(database)}
    quoted = _QUOTED.findall(_STRING.sub("''", question.query))
    assert {name.lower() for name in quoted} <= known
