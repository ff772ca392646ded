"""The monitor of INSERT, UPDATE and DELETE: all that it lets through prepares on the database.

In: the lexemes and reductions of a text in ``grammars/sql_runs_writing.lark``. Out: as for SELECT
(:mod:`cfgguide.languages.sql.select_monitor`), of which all that stands inside is a part. A
statement that writes names its table first, so that all its names are known where they are written.
::

    UPDATE users AS u SET ...     Query, Writing(users), Core(u): names are looked up in the Core
    INSERT INTO users VALUES ...  Query, Writing(users), Query, Values: no names
    ... RETURNING ...             Query, Writing(users), Core(users)

In DO UPDATE, ``excluded`` is a second source of that Core, all of whose columns are merged with
those of the first.

Source: https://www.sqlite.org/lang_insert.html, lang_upsert.html, lang_update.html,
lang_delete.html, lang_returning.html; docs/design/0037, section 7.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, ClassVar, Self

from cfgguide.engine.monitors.text_sets import Texts
from cfgguide.languages.sql.database import Database
from cfgguide.languages.sql.name_sets import NameSet, OtherNames, SqlIdentifiers, quoted, unquoted
from cfgguide.languages.sql.schema_names import name_set
from cfgguide.languages.sql.scopes import (
    Core,
    Listed,
    Query,
    Sources,
    TableSource,
    ValuesScope,
    Writing,
)
from cfgguide.languages.sql.select_monitor import SelectMonitor
from cfgguide.languages.sql.writes import Writes

_EXCLUDED = "excluded"
_MAX_CONFLICTS = 20  # clauses of an INSERT
_MAX_RETURNED = 100  # result columns of RETURNING


class WriteMonitor(SelectMonitor):
    """What a statement has so far, and what it owes; it may write."""

    __slots__ = ()

    # -- frames -----------------------------------------------------------------------------

    @property
    def _writing(self) -> Writing:
        """The statement that writes, which is the second frame."""
        writing = self.frames[1]
        assert isinstance(writing, Writing), "the statement writes"
        return writing

    @property
    def _writes(self) -> Writes:
        return self.names.database.tables[self._writing.table or ""].writes

    def _at_statement(self, *frames: Any, **changes: Any) -> Self:
        """Return the monitor with a change to the statement, in which only some frames are open."""
        return self._with((self.frames[0], self._writing._replace(**changes), *frames))

    def _is_writing(self) -> bool:
        return len(self.frames) > 1 and isinstance(self.frames[1], Writing)

    def _core_of(self, *names: str, clause: str = "where") -> Core:
        """Return a scope of the columns of the table, by one or two names."""
        columns = self.names.database.tables[self._writing.table or ""].columns
        merged = frozenset((1, column) for column in columns) if len(names) > 1 else frozenset()
        sources = Sources(tuple(TableSource(name, columns) for name in names), merged)
        return Core(None, -1, clause=clause, sources=sources, is_known=True)

    # -- what may come ----------------------------------------------------------------------

    def _table_to_write_texts(self, _: str) -> Texts:
        return SqlIdentifiers((_tables_for(self.names.database, self._writing.kind),))

    def _target_alias_texts(self, _: str) -> Texts | None:
        # Columns of that name would be ambiguous in DO UPDATE.
        is_insert = self._writing.kind == "insert"
        return OtherNames(frozenset([_EXCLUDED])) if is_insert else None

    def _column_to_write_texts(self, _: str) -> Texts:
        return SqlIdentifiers((name_set(frozenset(self._columns_to_write())),))

    def _columns_to_write(self) -> list[str]:
        """Return the columns that may be named next, in order."""
        top, writes = self._top, self._writes
        if not isinstance(top, Listed):
            return [name for name in writes.updated if name not in self._writing.columns]
        if top.kind == "insert":
            return [name for name in writes.inserted if name not in top.names]
        if top.kind == "set":
            taken = self._writing.columns | top.names
            return [name for name in writes.updated if name not in taken]
        keys = [key for key in writes.keys if top.names < key]
        return [name for name in sorted({n for key in keys for n in key}) if name not in top.names]

    def _may_be_comma(self, terminal: str) -> bool:
        top = self._top
        if isinstance(top, Listed) or (isinstance(top, Core) and top.clause == "set"):
            return bool(self._columns_to_write())
        if isinstance(top, Core) and top.clause == "returning":
            return self._writing.n < _MAX_RETURNED
        if isinstance(top, ValuesScope) and self._is_compared():
            return False
        return super()._may_be_comma(terminal)

    def _is_compared(self) -> bool:
        """Return whether VALUES ends a compound that may be compared with a row.

        SQLite refuses several rows there, where it reads an expression twice.
        """
        query = self.frames[-2]
        assert isinstance(query, Query), "VALUES is part of one"
        is_source = isinstance(self.frames[-3] if len(self.frames) > 2 else None, Writing)
        return self._is_writing() and not is_source and query.n_parts > 0 and query.wanted != 1

    def _may_be_closing(self, terminal: str) -> bool:
        top = self._top
        if not isinstance(top, Listed):
            return super()._may_be_closing(terminal)
        return top.kind != "key" or top.names in self._writes.keys

    def _may_be_from(self, terminal: str) -> bool:
        return not isinstance(self._top, Core) or super()._may_be_from(terminal)

    def _may_be_on(self, terminal: str) -> bool:
        if not isinstance(self._top, Writing):
            return super()._may_be_on(terminal)
        return self._top.takes_conflicts and self._top.n < _MAX_CONFLICTS

    def _may_be_values(self, terminal: str) -> bool:
        # SQLite forgets WITH before VALUES of one row.
        if len(self.frames) == 4 and self._is_writing() and isinstance(self._top, ValuesScope):
            query = self.frames[2]
            if isinstance(query, Query) and query.ctes:
                return False
        return super()._may_be_opening(terminal)

    def _may_be_update(self, _: str) -> bool:
        if self._is_writing():
            return bool(self._writes.updated)
        return bool(_tables_for(self.names.database, "update").names)

    def _may_be_statement(self, terminal: str) -> bool:
        kind = "delete" if terminal == "DELETE" else "insert"
        return self._is_writing() or bool(_tables_for(self.names.database, kind).names)

    # -- lexemes ----------------------------------------------------------------------------

    def _shift_table_to_write(self, _: str, text: str) -> Self:
        monitor = self._at_statement(table=unquoted(text))
        return monitor._named_target()

    def _shift_target_alias(self, _: str, text: str) -> Self:
        return self._at_statement(alias=unquoted(text))._named_target()

    def _named_target(self) -> Self:
        """Return the monitor when the name of the table in the statement is known."""
        writing = self._writing
        if writing.kind == "insert":
            return self
        clause = "set" if writing.kind == "update" else "where"
        return self._at_statement(self._core_of(writing.name, clause=clause))

    def _shift_column_to_write(self, _: str, text: str) -> Self:
        top, name = self._top, unquoted(text)
        if isinstance(top, Listed):
            return self._changed(names=top.names | {name})
        return self._at_statement(top, columns=self._writing.columns | {name})

    def _shift_comma(self, terminal: str, text: str) -> Self:
        top = self._top
        if isinstance(top, Core) and top.clause == "returning":
            return self._at_statement(top, n=self._writing.n + 1)
        return super()._shift_comma(terminal, text)

    def _shift_returning(self, _: str, __: str) -> Self:
        writing = self._writing
        core = self._core_of(writing.table or "", clause="returning")
        return self._at_statement(core, columns=frozenset(), alias=None, n=1)

    def _shift_result(self, terminal: str, text: str) -> Self:
        top = self._top
        is_returned = isinstance(top, Core) and top.clause == "returning"
        after: Self = self if is_returned else SelectMonitor.shifts[terminal](self, terminal, text)
        return after

    def _shift_where(self, terminal: str, text: str) -> Self:
        if len(self.frames) == 3 and self._is_writing():
            return self._at_statement(self._top._replace(clause="where"), columns=frozenset())
        return super()._shift_clause(terminal, text)

    def _shift_on(self, terminal: str, text: str) -> Self:
        if isinstance(self._top, Writing):
            return self._at_statement(n=self._writing.n + 1)
        return super()._shift_clause(terminal, text)

    # -- reductions -------------------------------------------------------------------------

    def _open_statement(self, kind: str) -> Self:
        return self._pushed(Writing(kind))

    def _reduce_column_list(self) -> Self:
        return self._at_statement(columns=self._top.names)

    def _open_source(self) -> Self | None:
        wanted = len(self._writing.columns or self._writes.inserted)
        return self._pushed(Query(wanted, -1))

    def _reduce_subquery(self) -> Self:
        query, after = self._top, super()._reduce_subquery()
        if len(self.frames) != 3 or not self._is_writing():
            return after
        # ON after a table that nothing follows would be the ON of a join.
        last = query.last
        is_closed = last is None or last.clause != "known" or not last.sources.tables
        return after._at_statement(columns=frozenset(), takes_conflicts=is_closed)

    def _reduce_ordered(self) -> Self:
        return self._changed(last=None)

    def _open_key(self) -> Self | None:
        return self._pushed(Listed("key")) if self._writes.keys else None

    def _open_upsert(self) -> Self:
        name = self._writing.name
        names = (name,) if name == _EXCLUDED else (name, _EXCLUDED)
        return self._pushed(self._core_of(*names, clause="set"))

    def _end_upsert(self) -> Self:
        return self._at_statement(columns=frozenset())

    def _open_set(self) -> Self | None:
        return self._pushed(Listed("set")) if len(self._columns_to_write()) > 1 else None

    def _reduce_set_columns(self) -> Self:
        names = self._top.names
        core = self.frames[2]
        monitor = self._at_statement(core, columns=self._writing.columns | names)
        return monitor._with(monitor.frames, row=len(names))

    def _reduce_statement(self) -> Self:
        return self._with(())

    # -- ways out ---------------------------------------------------------------------------

    def way_out(self) -> Iterator[tuple[str, str]]:
        """Return lexemes that lead towards the end of a text."""
        top = self._top
        if isinstance(top, Writing):
            yield from self._way_out_of_statement(top)
        elif isinstance(top, Listed):
            if top.kind != "set" or len(top.names) > 1:
                yield "RPAR", ")"
            for name in self._columns_to_write()[:1]:
                yield "COLUMN_TO_WRITE", quoted(name)
            yield from (("COMMA", ","), ("LPAR", "("))
        elif isinstance(top, Core) and top.clause in ("set", "returning"):
            yield from (("RPAR", ")"), ("EQUAL", "="), ("SET", "SET"))
            yield "LPAR", "("
            for name in self._columns_to_write()[:1]:
                yield "COLUMN_TO_WRITE", quoted(name)
            yield "INTEGER", "1"
        elif isinstance(top, ValuesScope):
            yield "LPAR", "("
        else:
            if top is None or (isinstance(top, Query) and len(self.frames) == 1):
                yield from (("DELETE", "DELETE"), ("FROM", "FROM"), ("INTO", "INTO"))
                yield from (("INSERT", "INSERT"), ("UPDATE", "UPDATE"))
            yield from super().way_out()

    def _way_out_of_statement(self, writing: Writing) -> Iterator[tuple[str, str]]:
        if writing.table is None:
            for name in sorted(_tables_for(self.names.database, writing.kind).names)[:1]:
                yield "TABLE_TO_WRITE", quoted(name)
        yield from (("DEFAULT", "DEFAULT"), ("VALUES", "VALUES"), ("SET", "SET"))
        yield from (("CONFLICT", "CONFLICT"), ("DO", "DO"), ("NOTHING", "NOTHING"))


@lru_cache(maxsize=256)
def _tables_for(database: Database, kind: str) -> NameSet:
    """Return the tables that take a kind of statement."""
    place = {"insert": 0, "update": 1, "delete": 2}[kind]
    return NameSet(name for name, table in database.tables.items() if table.writes[place])


_M = WriteMonitor

WriteMonitor.asked = {
    **SelectMonitor.asked,
    "TABLE_TO_WRITE": _M._table_to_write_texts,
    "TARGET_ALIAS": _M._target_alias_texts,
    "COLUMN_TO_WRITE": _M._column_to_write_texts,
}
WriteMonitor.allowed = {
    **SelectMonitor.allowed,
    "COMMA": _M._may_be_comma,
    "RPAR": _M._may_be_closing,
    "FROM": _M._may_be_from,
    "ON": _M._may_be_on,
    "VALUES": _M._may_be_values,
    "UPDATE": _M._may_be_update,
    "DELETE": _M._may_be_statement,
    "INSERT": _M._may_be_statement,
    "REPLACE": _M._may_be_statement,
}

WriteMonitor.shifts = {
    **SelectMonitor.shifts,
    "TABLE_TO_WRITE": _M._shift_table_to_write,
    "TARGET_ALIAS": _M._shift_target_alias,
    "COLUMN_TO_WRITE": _M._shift_column_to_write,
    "COMMA": _M._shift_comma,
    "RETURNING": _M._shift_returning,
    "EVERY_COLUMN": _M._shift_result,
    "RESULT_NAME": _M._shift_result,
    "WHERE": _M._shift_where,
    "ON": _M._shift_on,
}

WriteMonitor.reductions = {
    **SelectMonitor.reductions,
    "open_insert": lambda monitor: monitor._open_statement("insert"),
    "open_update": lambda monitor: monitor._open_statement("update"),
    "open_delete": lambda monitor: monitor._open_statement("delete"),
    "open_columns": lambda monitor: monitor._pushed(Listed("insert")),
    "column_list": _M._reduce_column_list,
    "open_source": _M._open_source,
    "subquery": _M._reduce_subquery,
    "_ordered": _M._reduce_ordered,
    "_compound_ordered": _M._reduce_ordered,
    "open_key": _M._open_key,
    "conflict_target": _M._popped,
    "open_upsert": _M._open_upsert,
    "upsert": _M._end_upsert,
    "_last_upsert": _M._end_upsert,
    "open_set": _M._open_set,
    "set_columns": _M._reduce_set_columns,
    **dict.fromkeys(("insert_stmt", "update_stmt", "delete_stmt"), _M._reduce_statement),
}

WriteMonitor.terminals = frozenset({*_M.asked, *_M.allowed, *_M.shifts})
WriteMonitor.rules = frozenset(_M.reductions) - {"query"}


class StatementMonitor(WriteMonitor):
    """What a statement has so far, whether it writes or is a query."""

    __slots__ = ()

    rules: ClassVar[frozenset[str]] = WriteMonitor.rules | {"query"}
