"""Random databases: SQLite loads them and reads every table and view of them."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from support.sql_schemas import random_schema, schemas_50


def names_of(database, kind):
    query = (
        "SELECT name FROM sqlite_schema WHERE type = ? AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    )
    return [name for (name,) in database.execute(query, [kind])]


def check(text, n_tables):
    """SQLite loads a schema of so many tables, and every name in it can be used."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("PRAGMA foreign_keys = ON")
        database.executescript(text)
        tables = names_of(database, "table")
        assert len(tables) == n_tables
        for name in tables + names_of(database, "view"):
            quoted = '"' + name.replace('"', '""') + '"'
            assert 1 <= len(database.execute(f"SELECT * FROM {quoted}").description) <= 12
        for name in tables:  # finds foreign keys that match no key
            database.execute('DELETE FROM "{}"'.format(name.replace('"', '""')))


@pytest.mark.slow
@pytest.mark.parametrize("n_tables", [2, 3, 5, 20, 1000])
def test_sqlite_loads_as_many_tables_as_are_asked_for(n_tables):
    for seed in range(3 if n_tables == 1000 else 40):
        check(random_schema(seed, n_tables), n_tables)


def test_a_schema_is_the_same_for_a_seed_and_another_for_another():
    assert random_schema(7, 30) == random_schema(7, 30)
    assert random_schema(7, 30) != random_schema(8, 30)


def test_fifty_schemas_spread_from_two_tables_to_two_hundred():
    sizes = [text.count("CREATE TABLE") for text in schemas_50()]
    assert len(sizes) == 50
    assert sizes == sorted(sizes)
    assert (sizes[0], sizes[-1]) == (2, 200)
    for text, size in zip(schemas_50(), sizes, strict=True):
        check(text, size)


def test_all_that_is_special_occurs_in_the_fifty():
    text = "".join(schemas_50())
    for part in (
        *("WITHOUT ROWID", "CREATE VIEW", "PRIMARY KEY (", "FOREIGN KEY (", "UNIQUE (", "STORED"),
        *('""hi""', "größe", "`", "[", '"order', '" padded "', "AUTOINCREMENT", "COLLATE NOCASE"),
        *("JOIN", "GROUP BY", "UNION", "IF NOT EXISTS", "DEFAULT", "CHECK (", "ON DELETE"),
    ):
        assert part in text, part
