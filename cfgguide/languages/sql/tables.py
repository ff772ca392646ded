"""The tables of a schema and their columns, in whatever form a schema is given.

In: a mapping, a database of SQLite, a text that creates one, or SQLAlchemy's metadata. Out: a
dictionary of the columns of each table, whose names can be written.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from cfgguide.errors import GrammarError


class Metadata(Protocol):
    """What SQLAlchemy's `MetaData` has: tables with a `name`, whose `columns` have a `name`."""

    @property
    def sorted_tables(self) -> Iterable[Any]:
        """The tables."""


#: A schema: the names of the columns of each table, or something that has them.
Schema = Mapping[str, Iterable[str]] | sqlite3.Connection | str | Metadata


def tables_of(schema: object) -> dict[str, list[str]]:
    """Return the columns of each table of a mapping, a database or metadata.

    >>> tables_of({"users": ("id", "name")})
    {'users': ['id', 'name']}

    Raises
    ------
    GrammarError
        If it is none of these, or names no table.
    """
    if isinstance(schema, sqlite3.Connection):
        return _of_database(schema)
    return _checked_tables(_of_metadata(schema) if hasattr(schema, "sorted_tables") else schema)


def created(text: str) -> sqlite3.Connection:
    """Return a database that a text of definitions creates.

    Raises
    ------
    GrammarError
        If SQLite refuses the text.
    """
    database = sqlite3.connect(":memory:")
    try:
        database.executescript(text)
    except sqlite3.Error as error:
        database.close()
        raise GrammarError(
            f"the definitions of the schema fail in SQLite: {error}; give CREATE TABLE statements, "
            "a sqlite3.Connection, or a mapping of tables to columns"
        ) from None
    return database


def checked_names(names: object, what: str) -> list[str]:
    """Return names as a list.

    Raises
    ------
    GrammarError
        If they are no list of strings that a text of SQL can spell.
    """
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise GrammarError(f"the {what} are a list of names, not {names!r}")
    found = list(names)
    for name in found:
        if not isinstance(name, str):
            raise GrammarError(f"the {what} are strings, not {name!r}")
        if not name:
            raise GrammarError(f"one of the {what} has no name; leave it out")
        if re.search(r"[\x00\ud800-\udfff]", name):
            raise GrammarError(
                f"the {what} hold {name!r}; no text of SQL has a NUL or a surrogate: rename it"
            )
    return found


def asked(database: sqlite3.Connection, query: str, *parameters: str) -> list[str]:
    """Return the first column of the result of a query.

    Raises
    ------
    GrammarError
        If the query fails.
    """
    try:
        cursor = database.cursor()
        cursor.row_factory = None
        return [row[0] for row in cursor.execute(query, parameters)]
    except sqlite3.Error as error:
        raise GrammarError(
            f"cannot read the schema of the database: {error}; "
            "give a mapping of tables to columns, and the names of functions"
        ) from None


def prepares(database: sqlite3.Connection, statement: str) -> bool:
    """Return whether SQLite prepares a statement on a database; it is not run."""
    try:
        database.cursor().execute("EXPLAIN " + statement)
    except sqlite3.Error:
        return False
    return True


def _checked_tables(schema: object) -> dict[str, list[str]]:
    if not isinstance(schema, Mapping):
        raise GrammarError(
            "a schema is a mapping such as {'users': ['id', 'name']} or a sqlite3.Connection, "
            f"not {type(schema).__name__}"
        )
    if not schema:
        raise GrammarError("the schema has no tables; name at least one, with its columns")
    checked_names(list(schema), "tables of a schema")
    tables = {
        table: checked_names(columns, f"columns of {table!r}") for table, columns in schema.items()
    }
    for table, columns in tables.items():
        if not columns:
            raise GrammarError(f"the table {table!r} has no columns; name at least one")
    return tables


def _of_database(database: sqlite3.Connection) -> dict[str, list[str]]:
    """Return the columns of all tables and views of a database."""
    names = asked(
        database,
        "SELECT name FROM sqlite_master WHERE type = 'table' "
        r"AND name NOT LIKE 'sqlite\_%' ESCAPE '\'",
    )
    if sqlite3.sqlite_version_info >= (3, 37):  # older ones do not say which tables are internal
        internal = asked(
            database, "SELECT name FROM pragma_table_list WHERE (schema, type) = ('main', 'shadow')"
        )
        names = [name for name in names if name not in internal]
    columns = "SELECT name FROM pragma_table_xinfo(?, 'main') WHERE hidden != 1"
    tables = {table: asked(database, columns, table) for table in names}
    for view in asked(database, "SELECT name FROM sqlite_master WHERE type = 'view'"):
        try:
            tables[view] = asked(database, columns, view)
        except GrammarError:
            continue  # it names what is no longer there: no query can use it
    usable = {name: found for name, found in tables.items() if found}
    if not usable:
        raise GrammarError("the database has no tables; create them first, or give a mapping")
    return _checked_tables(usable)


def _of_metadata(metadata: Any) -> dict[str, list[str]]:
    """Return the tables of SQLAlchemy's metadata; those of one name in two schemas are one."""
    tables: dict[str, list[str]] = {}
    for table in metadata.sorted_tables:
        columns = tables.setdefault(str(table.name), [])
        columns.extend(
            name for name in (str(column.name) for column in table.columns) if name not in columns
        )
    return tables
