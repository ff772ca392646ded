"""The names of a schema, as sets that places in a query share.

In: a :class:`~cfgguide.languages.sql.database.Database`. Out: :class:`SchemaNames`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, lru_cache

from cfgguide.languages.sql.database import AGGREGATE, WINDOW, Database, names_of
from cfgguide.languages.sql.name_sets import NameSet
from cfgguide.languages.sql.scopes import TRUE_OR_FALSE
from cfgguide.languages.sql.tables import aliases_of
from cfgguide.languages.states import KeyedValue


@lru_cache(maxsize=4096)
def name_set(names: frozenset[str]) -> NameSet:
    """Return a set of names; equal ones share one."""
    return NameSet(names)


TRUTH = NameSet(TRUE_OR_FALSE, is_word_only=True)


class SchemaNames(KeyedValue):
    """The names of a database, and those that FROM may give to tables.

    Parameters
    ----------
    database : Database
        Tables and functions.
    aliases : iterable of str, optional
        What may qualify a column before FROM gives the name to a table; by default one letter,
        ``t1`` and the like, and beginnings or initials of the names of tables.
    takes_new_columns : bool
        Whether the result columns of a SELECT may name columns that only a subquery in its FROM
        will have.
    """

    def __init__(
        self,
        database: Database,
        aliases: Iterable[str] | None = None,
        *,
        takes_new_columns: bool = False,
    ) -> None:
        self.database = database
        self.takes_new_columns = takes_new_columns
        given = aliases_of(database.tables) if aliases is None else aliases
        self.aliases = NameSet(set(given).difference(database.tables))
        super().__init__(database, self.aliases, takes_new_columns)

    @cached_property
    def tables(self) -> NameSet:
        """All tables."""
        return NameSet(self.database.tables)

    @cached_property
    def columns(self) -> NameSet:
        """The columns of all tables."""
        return NameSet(
            column for table in self.database.tables.values() for column in table.columns
        )

    def columns_of(self, table: str) -> NameSet:
        """Return the columns of a table."""
        return name_set(frozenset(self.database.tables[table].columns))

    def functions(self, *, aggregates: bool, windows: bool) -> NameSet:
        """Return the functions that may stand where aggregates and windows may, or not."""
        return self._functions[aggregates, windows]

    @cached_property
    def _functions(self) -> dict[tuple[bool, bool], NameSet]:
        every = self.database.functions
        return {
            (aggregates, windows): names_of(
                name
                for name, function in every.items()
                if (aggregates or function.kind != AGGREGATE)
                and (windows or function.kind != WINDOW)
            )
            for aggregates in (False, True)
            for windows in (False, True)
        }
