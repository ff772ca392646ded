"""SQL that runs: a grammar whose every sentence prepares on a database."""

from __future__ import annotations

from collections.abc import Iterable

from cfgguide.errors import GrammarError
from cfgguide.grammar.grammar import Grammar, bundled_folder
from cfgguide.monitors.monitored_grammar import MonitoredGrammar
from cfgguide.sql.database import Database
from cfgguide.sql.schema_names import SchemaNames
from cfgguide.sql.select_monitor import SelectMonitor
from cfgguide.sql.write_monitor import StatementMonitor, WriteMonitor

# Files of `grammars`, their start rules, and what watches them.
_STATEMENTS: dict[str, tuple[str, str, type[SelectMonitor]]] = {
    "select": ("sql_runs.lark", "start", SelectMonitor),
    "write": ("sql_runs_writing.lark", "writing", WriteMonitor),
    "all": ("sql_runs_writing.lark", "start", StatementMonitor),
}


def runs_on(
    schema: object,
    *,
    statements: str = "select",
    aliases: Iterable[str] | None = None,
    functions: Iterable[str] | None = None,
    new_columns: bool = True,
) -> MonitoredGrammar:
    """Return a grammar of the statements that prepare on a database.

    Parameters
    ----------
    schema : mapping, sqlite3.Connection, str or sqlalchemy.MetaData
        The tables.
    statements : {"select", "write", "all"}
        Only queries, which read; only INSERT, UPDATE and DELETE; or both.
    aliases, functions : iterable of str, optional
        What may qualify columns besides tables, and which functions may be called.
    new_columns : bool
        Whether a SELECT may name columns that only a subquery in its FROM has.

    Raises
    ------
    GrammarError
        If the schema is none, `statements` is unknown, or nothing can be written.
    """
    if statements not in _STATEMENTS:
        known = ", ".join(map(repr, _STATEMENTS))
        raise GrammarError(f"statements is one of {known}, not {statements!r}")
    file, start, monitor = _STATEMENTS[statements]
    database = Database.of(schema, functions, writes=statements != "select")
    if statements == "write" and not any(any(t.writes[:3]) for t in database.tables.values()):
        raise GrammarError(
            "no table of the database takes INSERT, UPDATE or DELETE: SQLite prepares none; "
            "statements='select' reads them"
        )
    names = SchemaNames(database, aliases, takes_new_columns=new_columns)
    grammar = Grammar.open(bundled_folder() / file, start=start, parser="lalr")
    return grammar.watched_by(monitor(names))
