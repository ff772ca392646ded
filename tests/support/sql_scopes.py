"""What a database holds, and which names a query may write for it: scopes as SQLite reads them.

The rules are those of `docs/design/0037-sqlite-name-resolution.md`, found by experiment. They are
written here a second time, for the random statements of `sql_statements`, and on purpose share
nothing with `cfgguide.sql`.
"""

from __future__ import annotations

import random
import sqlite3
from dataclasses import dataclass, field
from functools import cache

Random = random.Random

JSON_COLUMNS = ("key", "value", "type", "atom", "id", "parent", "fullkey", "path")


@dataclass(frozen=True)
class Table:
    """A table, view or common table expression as FROM sees it."""

    name: str
    columns: tuple[str, ...]
    generated: tuple[str, ...] = ()
    has_rowid: bool = True
    is_view: bool = False
    is_cte: bool = False
    is_virtual: bool = False
    keys: tuple[tuple[str, ...], ...] = ()  # columns of whole unique indexes, rowid key included
    star: tuple[str, ...] = ()  # what `*` gives, where that is more than the columns


@dataclass(frozen=True)
class Catalogue:
    """The tables and functions of a database."""

    tables: tuple[Table, ...]
    scalars: tuple[tuple[str, int], ...]  # name and number of arguments, -1 for any
    aggregates: tuple[tuple[str, int], ...]
    windows: tuple[tuple[str, int], ...]

    @staticmethod
    def of(database: sqlite3.Connection) -> Catalogue:
        """Return what SQLite's own tables say of a database."""
        tables = [
            _table(database, name, kind, bool(without_rowid))
            for name, kind, without_rowid in database.execute(
                "SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main'"
                " AND name NOT LIKE 'sqlite_%' AND type <> 'shadow' ORDER BY name"
            ).fetchall()
        ]
        functions = set(database.execute("SELECT name, narg, type FROM pragma_function_list"))
        aggregates = {(name, count) for name, count, kind in functions if kind in "aw"}
        only_windows = {(name, count) for name, count in aggregates if name in WINDOWS}
        scalars = {
            (name, count)
            for name, count, kind in functions
            if kind == "s" and name not in _NOT_FOR_USE and name.replace("_", "").isalnum()
        }
        return Catalogue(
            tuple(tables),
            tuple(sorted(scalars)),
            tuple(sorted(aggregates - only_windows)),
            tuple(sorted(only_windows)),
        )


WINDOWS = (
    *("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead"),
    *("first_value", "last_value", "nth_value"),
)
# Of extensions, dangerous, or no plain calls.
_NOT_FOR_USE = (
    *("load_extension", "likelihood", "fts3_tokenizer", "fts5", "bm25", "highlight", "snippet"),
    *("matchinfo", "offsets", "optimize", "rtreecheck", "rtreedepth", "rtreenode", "match"),
    *("current_date", "current_time", "current_timestamp", "fts5_source_id", "sqlite_log"),
    *("subtype", "like", "glob"),
)


def _table(database: sqlite3.Connection, name: str, kind: str, without_rowid: bool) -> Table:
    rows = database.execute(
        "SELECT name, hidden, pk, type FROM pragma_table_xinfo(?)", (name,)
    ).fetchall()
    keys = []
    for index, unique, partial in database.execute(
        'SELECT name, "unique", partial FROM pragma_index_list(?)', (name,)
    ).fetchall():
        parts = database.execute(
            "SELECT name FROM pragma_index_xinfo(?) WHERE key", (index,)
        ).fetchall()
        if unique and not partial and all(part for (part,) in parts):
            keys.append(tuple(part for (part,) in parts))
    primary = [column for column, _, position, _ in rows if position]
    types = {column: kind.upper() for column, _, _, kind in rows}
    is_rowid = not without_rowid and len(primary) == 1 and types[primary[0]] == "INTEGER"
    key = primary[0] if is_rowid else ""
    if key:
        keys.append((key,))
    return Table(
        name,
        tuple(column for column, hidden, _, _ in rows if hidden != 1),
        tuple(column for column, hidden, _, _ in rows if hidden in (2, 3)),
        not without_rowid and kind != "view",
        kind == "view",
        False,
        kind == "virtual",
        tuple(keys),
    )


@dataclass
class Source:
    """One table of a FROM: the name it goes by, and its columns."""

    qualifier: str
    columns: list[str]
    has_rowid: bool = False
    schema: str = ""  # "main" where the qualifier may be written so
    joined: set[str] = field(default_factory=set)  # lower-case names that its join merges
    join: str = ","
    hidden: tuple[str, ...] = ()
    may_have_rowid: bool = False  # views and derived tables: some builds give them one
    star: list[str] = field(default_factory=list)  # what `*` gives, "" for names not known

    def has(self, name: str) -> bool:
        """Return whether it has a column of that name."""
        columns = (*self.columns, *self.hidden)
        return any(name.lower() == column.lower() for column in columns)


@dataclass
class Scope:
    """One query while it is written, and the queries around it."""

    outer: Scope | None = None
    sources: list[Source] = field(default_factory=list)
    tables: dict[str, Table] = field(default_factory=dict)  # lower-case names that FROM knows
    aliases: dict[str, str] = field(default_factory=dict)  # name: "plain", "aggregate", "window"
    sees_aliases: bool = False
    sees_outer: bool = True

    def count(self, name: str) -> tuple[int, Source | None]:
        """Return how often an unqualified name is counted here, and what it means."""
        hits, meant = 0, None
        for source in self.sources:
            if not source.has(name):
                continue
            if hits and name.lower() in source.joined:
                if "RIGHT" in source.join:
                    hits, meant = 1, source
                continue
            hits += 1
            meant = meant or source
        return hits, meant

    def means(self, name: str) -> Source | str | None:
        """Return the source, "alias", "ambiguous" or nothing that an unqualified name means."""
        scope: Scope | None = self
        while scope is not None:
            hits, meant = scope.count(name)
            if hits:
                return meant if hits == 1 else "ambiguous"
            if name.lower() in ("rowid", "oid", "_rowid_") and scope.sources:
                with_rowid = [source for source in scope.sources if source.has_rowid]
                is_open = any(source.may_have_rowid for source in scope.sources)
                if is_open or len(with_rowid) > 1:
                    return "ambiguous"
                if with_rowid:
                    return with_rowid[0]
            if scope.sees_aliases and name.lower() in map(str.lower, scope.aliases):
                return "alias"
            scope = scope.outer if scope.sees_outer else None
        return None

    def qualified(self, qualifier: str, column: str) -> Source | None:
        """Return the source that `qualifier.column` means, if it means one."""
        scope: Scope | None = self
        while scope is not None:
            hits = [
                source
                for source in scope.sources
                if source.qualifier.lower() == qualifier.lower() and source.has(column)
            ]
            if hits:
                return hits[0] if len(hits) == 1 else None
            scope = scope.outer if scope.sees_outer else None
        return None

    def visible(self) -> list[tuple[int, Source]]:
        """Return the sources in sight, each with how many queries it is away."""
        found, scope, distance = [], self, 0
        while scope is not None:
            found += [(distance, source) for source in scope.sources]
            if not scope.sees_outer:
                break
            scope, distance = scope.outer, distance + 1  # type: ignore[assignment]
        return found

    def star_columns(self) -> list[str]:
        """Return the columns of `*`."""
        return [
            column
            for source in self.sources
            for column in source.star or source.columns
            if column.lower() not in source.joined
        ]


def own_names(columns: list[str]) -> list[str]:
    """Return the names that may be asked of a derived table: the first of each name."""
    seen: set[str] = set()
    names = []
    for column in columns:
        if column and column.lower() not in seen:
            names.append(column)
        seen.add(column.lower())
    return names


def star_names(columns: list[str]) -> list[str]:
    """Return the names that `*` gives of a query: those of `own_names`, "" where there is none."""
    own = own_names(columns)
    names = []
    for column in columns:
        names.append(column if column in own else "")
        own = [name for name in own if name != column]
    return names


@cache
def is_plain(name: str) -> bool:
    """Return whether a name needs no quotes, anywhere."""
    if not name.replace("_", "a").isalnum() or name[0].isdigit() or not name.isascii():
        return False
    try:
        with sqlite3.connect(":memory:") as database:
            database.execute(f"CREATE TABLE {name} ({name})")
            database.execute(f"EXPLAIN SELECT {name}.{name}, {name} {name} FROM {name} {name}")
            database.execute(f"EXPLAIN WITH {name} AS (SELECT 1 {name}) SELECT {name} FROM {name}")
    except sqlite3.Error:
        return False
    return name.lower() not in ("true", "false")


def quoted(name: str, rng: Random) -> str:
    """Return a name as SQL: bare where it can be, sometimes in quotes, sometimes in other case."""
    if is_plain(name) and rng.random() < 0.93:
        return rng.choice((name.upper(), name.title())) if rng.random() < 0.03 else name
    style = rng.choice(('"', '"', "`", "["))
    if style == "[":
        return f"[{name}]" if "]" not in name else '"' + name.replace('"', '""') + '"'
    return style + name.replace(style, style * 2) + style
