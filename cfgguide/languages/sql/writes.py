"""What may be written of a table: SQLite is asked what it prepares.

In: a database and a table. Out: :class:`Writes`. Views, generated columns, keys whose indexes are
partial or have collations of their own, triggers that are broken: whatever makes SQLite refuse a
statement, it says so itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from cfgguide.languages.sql.name_sets import folded
from cfgguide.languages.sql.tables import asked, prepares


class Writes(NamedTuple):
    """What may be written of a table.

    Attributes
    ----------
    inserted, updated : tuple of str
        The columns that INSERT and UPDATE may give values, folded, in order; none if the table
        takes no such statement.
    is_deleted : bool
        Whether rows may be deleted.
    keys : tuple of frozenset of str
        The columns that ON CONFLICT may name together.
    """

    inserted: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    is_deleted: bool = False
    keys: tuple[frozenset[str], ...] = ()


NOTHING_WRITTEN = Writes()


def writes_of(
    table: str, columns: tuple[str, ...], database: sqlite3.Connection | None = None
) -> Writes:
    """Return what may be written of a table; all but keys, if there is no database to be asked.

    >>> database = sqlite3.connect(":memory:")
    >>> _ = database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, x, y AS (x + 1))")
    >>> writes_of("t", ("id", "x", "y"), database)
    Writes(inserted=('id', 'x'), updated=('id', 'x'), is_deleted=True, keys=(frozenset({'id'}),))
    >>> writes_of("t", ("id", "x"))
    Writes(inserted=('id', 'x'), updated=('id', 'x'), is_deleted=True, keys=())
    """
    if database is None:
        return Writes(columns, columns, is_deleted=True)
    return _Asked(database, table).writes()


class _Asked:
    """The answers of a database about one of its tables."""

    def __init__(self, database: sqlite3.Connection, table: str) -> None:
        self._database = database
        self._table = table
        self._into = f"INTO main.{_quoted(table)}"

    def writes(self) -> Writes:
        """Return what may be written."""
        # A view has INSTEAD OF triggers at best, and a virtual table rules of its own.
        is_table = self._names(
            "SELECT name FROM sqlite_master WHERE name = ? AND type = 'table' "
            "AND sql NOT LIKE 'CREATE VIRTUAL %'"
        )
        if not is_table:
            return NOTHING_WRITTEN
        columns = self._names(
            "SELECT name FROM pragma_table_xinfo(?, 'main') WHERE hidden = 0 ORDER BY cid"
        )
        values = f"VALUES ({', '.join(['NULL'] * len(columns))})"
        is_inserted = self._prepares(f"REPLACE {self._into} {values}")
        updated = columns if self._is_updated(*columns) else filter(self._is_updated, columns)
        return Writes(
            tuple(map(folded, columns)) if is_inserted else (),
            tuple(map(folded, updated)),
            self._prepares(f"DELETE FROM main.{_quoted(self._table)} RETURNING *"),
            tuple(dict.fromkeys(self._keys(values))),
        )

    def _keys(self, values: str) -> Iterator[frozenset[str]]:
        """Yield the columns of the primary key and of unique indexes."""
        keys = [
            self._names("SELECT name FROM pragma_table_xinfo(?, 'main') WHERE pk ORDER BY pk"),
            *(
                self._names("SELECT name FROM pragma_index_info(?, 'main')", index)
                for index in self._names(
                    "SELECT name FROM pragma_index_list(?, 'main') WHERE \"unique\""
                )
            ),
        ]
        for key in keys:
            target = ", ".join(map(_quoted, key))
            statement = f"INSERT {self._into} {values} ON CONFLICT ({target}) DO NOTHING"
            if key and self._prepares(statement):
                yield frozenset(map(folded, key))

    def _is_updated(self, *columns: str) -> bool:
        changes = ", ".join(f"{_quoted(name)} = NULL" for name in columns)
        return self._prepares(f"UPDATE OR REPLACE main.{_quoted(self._table)} SET {changes}")

    def _names(self, query: str, name: str | None = None) -> list[str]:
        """Return the names that a query finds; expressions of an index have none."""
        found = asked(self._database, query, self._table if name is None else name)
        return [name for name in found if name is not None]

    def _prepares(self, statement: str) -> bool:
        return prepares(self._database, statement)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
