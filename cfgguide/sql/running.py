"""SQL that runs: a grammar whose every sentence prepares on a database."""

from __future__ import annotations

from collections.abc import Iterable

from cfgguide.grammar.grammar import Grammar, bundled_folder
from cfgguide.monitors.monitored_grammar import MonitoredGrammar
from cfgguide.sql.database import Database
from cfgguide.sql.schema_names import SchemaNames
from cfgguide.sql.select_monitor import SelectMonitor


def runs_on(
    schema: object,
    *,
    aliases: Iterable[str] | None = None,
    functions: Iterable[str] | None = None,
    new_columns: bool = True,
) -> MonitoredGrammar:
    """Return a grammar of the queries that prepare on a database."""
    database = Database.of(schema, functions)
    grammar = Grammar.open(bundled_folder() / "sql_runs.lark", parser="lalr")
    return grammar.watched_by(SelectMonitor(SchemaNames(database, aliases, takes_new_columns=new_columns)))
