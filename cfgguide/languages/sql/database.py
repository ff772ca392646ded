"""What a monitor needs to know of a database: its tables, their columns, and the functions.

In: a mapping, a database, a text of definitions, or SQLAlchemy's metadata. Out: a
:class:`Database`. SQLite itself is asked what functions there are, with how many arguments, and
which of them are aggregates.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from cfgguide.errors import GrammarError
from cfgguide.languages.sql.name_patterns import is_word
from cfgguide.languages.sql.name_sets import NameSet, folded
from cfgguide.languages.sql.names import functions_of
from cfgguide.languages.sql.tables import created, prepares, tables_of
from cfgguide.languages.sql.writes import NOTHING_WRITTEN, Writes, writes_of
from cfgguide.languages.states import KeyedValue

_MAX_ARGUMENTS = 100
_TRIED = 4  # numbers of arguments of a function that takes any number
# They prepare, but run only inside of queries of virtual tables, or read no data at all.
_OF_MODULES = (
    *("match", "bm25", "fts5", "fts5_source_id", "highlight", "matchinfo", "offsets", "optimize"),
    *("rtreecheck", "rtreedepth", "rtreenode", "snippet", "subtype"),
)
_WINDOW_ONLY = (
    *("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead"),
    *("first_value", "last_value", "nth_value"),
)

SCALAR, AGGREGATE, WINDOW, EITHER = "scalar", "aggregate", "window", "either"


class Function(NamedTuple):
    """A function of SQL.

    Attributes
    ----------
    kind : str
        `SCALAR`, `AGGREGATE`, `WINDOW` for one that needs OVER, or `EITHER`: an aggregate with one
        argument and scalar with more.
    counts : frozenset of int
        How many arguments it may have.
    is_windowed : bool
        Whether it may have OVER.
    takes_star : bool
        Whether it may have ``*`` for its arguments.
    """

    kind: str
    counts: frozenset[int]
    is_windowed: bool
    takes_star: bool

    @property
    def most(self) -> int:
        """The largest number of arguments."""
        return max(self.counts)


@dataclass(frozen=True)
class Table:
    """A table or view.

    Attributes
    ----------
    name : str
        As it was defined.
    columns : tuple of str
        The columns that can be read, folded, in order.
    writes : Writes
        What may be written.
    """

    name: str
    columns: tuple[str, ...]
    writes: Writes = NOTHING_WRITTEN


class Database(KeyedValue):
    """Tables by folded name, and functions by name."""

    __slots__ = ("functions", "tables")

    def __init__(self, tables: Mapping[str, Table], functions: Mapping[str, Function]) -> None:
        read = sorted((name, table.columns, table.writes) for name, table in tables.items())
        super().__init__(tuple(read), tuple(sorted(functions.items())))
        self.tables = tables
        self.functions = functions

    @classmethod
    def of(
        cls, schema: object, functions: Iterable[str] | None = None, *, writes: bool = False
    ) -> Database:
        """Return what is known of a schema in any form, and if `writes`, of what may be written.

        Raises
        ------
        GrammarError
            If it is none, or names no table.
        """
        opened = closing(created(schema)) if isinstance(schema, str) else nullcontext(schema)
        with opened as given:
            tables = _read(given, writes=writes)
        # Definitions make no functions.
        known = _functions_of_sqlite()
        if isinstance(schema, sqlite3.Connection):
            known = _asked_functions(schema)
        if functions is not None:
            wanted = {folded(name) for name in functions}
            known = {name: each for name, each in known.items() if name in wanted}
        return cls(tables, known)


def _read(schema: object, *, writes: bool) -> dict[str, Table]:
    """Return the tables of a schema, but of a text, by folded name."""
    connection = schema if isinstance(schema, sqlite3.Connection) else None
    tables: dict[str, Table] = {}
    for name, columns in tables_of(schema).items():
        if folded(name) in tables:
            raise GrammarError(
                f"the tables {tables[folded(name)].name!r} and {name!r} have the same name in "
                "SQL, where case is ignored; rename one"
            )
        table = Table(name, tuple(map(folded, columns)))
        if writes:
            table = replace(table, writes=writes_of(table.name, table.columns, connection))
        tables[folded(name)] = table
        if len(set(table.columns)) < len(columns):
            raise GrammarError(
                f"the table {name!r} has a column twice, since SQL ignores case; rename one"
            )
    return tables


@cache
def _functions_of_sqlite() -> dict[str, Function]:
    with closing(sqlite3.connect(":memory:")) as database:
        return _asked_functions(database)


def _asked_functions(database: sqlite3.Connection) -> dict[str, Function]:
    """Return the functions of a database: SQLite is asked which calls it prepares."""
    allowed = {folded(name) for name in functions_of(database)}.difference(_OF_MODULES)
    cursor = database.cursor()
    cursor.row_factory = None
    try:
        rows = cursor.execute("SELECT name, type, narg FROM pragma_function_list").fetchall()
    except sqlite3.Error as error:
        raise GrammarError(
            f"cannot list the functions of the database: {error}; use SQLite 3.30 or newer"
        ) from None
    given: dict[str, set[tuple[str, int]]] = {}
    for name, kind, n_arguments in rows:
        if folded(name) in allowed and is_word(name):
            given.setdefault(folded(name), set()).add((kind, n_arguments))
    functions = {}
    for name, forms in sorted(given.items()):
        function = _function(database, name, forms)
        if function is not None:
            functions[name] = function
    return functions


def _function(
    database: sqlite3.Connection, name: str, forms: set[tuple[str, int]]
) -> Function | None:
    """Return what a function takes; None if no call of it is prepared."""

    def takes(arguments: str, rest: str = "", *, clause: str = "SELECT {}") -> bool:
        return prepares(database, clause.format(f"{name}({arguments}){rest}"))

    counts: set[int] = set()
    over = " OVER ()" if name in _WINDOW_ONLY else ""
    for _, n in forms:
        tried = range(_TRIED + 1) if n < 0 else (n,)
        counts.update(each for each in tried if takes(", ".join("1" * each), over))
        # A function that takes so many takes any number: it is not asked about each.
        if n < 0 and _TRIED in counts:
            counts.update(range(_TRIED, _MAX_ARGUMENTS + 1))
    if not counts:
        return None
    some = ", ".join("1" * min(counts))
    where = "SELECT 1 WHERE {}"
    # SQLite prepares no aggregate in WHERE.
    is_aggregate = not over and not takes(some, clause=where)
    # `min` and `max` are aggregates of one argument and scalars of more: all numbers are tried.
    is_scalar = not over and any(
        takes(", ".join("1" * each), clause=where) for each in sorted(counts)[:_TRIED]
    )
    kind = SCALAR
    if over:
        kind = WINDOW
    elif is_aggregate:
        kind = EITHER if is_scalar else AGGREGATE
    is_windowed = takes(some, " OVER ()")
    return Function(kind, frozenset(counts), is_windowed, takes("*", over) and kind == AGGREGATE)


def names_of(functions: Iterable[str]) -> NameSet:
    """Return names of functions, which are not quoted."""
    return NameSet(functions, is_word_only=True)
