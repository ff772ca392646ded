"""SQL that runs: a grammar whose every sentence prepares on a database.

In: a schema. Out: a grammar with a monitor, the one of
:mod:`cfgguide.languages.sql.select_monitor`.
"""

from __future__ import annotations

from collections.abc import Iterable

from cfgguide.engine.monitors.monitored_grammar import MonitoredGrammar
from cfgguide.errors import GrammarError
from cfgguide.grammar.grammar import Grammar, bundled_folder
from cfgguide.languages.sql.database import Database
from cfgguide.languages.sql.schema_names import SchemaNames
from cfgguide.languages.sql.select_monitor import SelectMonitor
from cfgguide.languages.sql.write_monitor import StatementMonitor, WriteMonitor

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
    """Return a grammar of SQLite's statements, all of which prepare on a database.

    Every finished text is one query, or one statement that writes if that is asked for, and SQLite
    prepares it: each table and column is there, each name means one thing, functions have as many
    arguments as they take, aggregates and windows stand where they may, and columns are as many as
    they must be. A model can always go on. What is covered, and what is not, is in docs/sql.md.

    Parameters
    ----------
    schema : sqlite3.Connection, str, mapping or MetaData
        The database, whose tables, views and functions are read now; or a text of definitions, as
        :func:`with_schema` takes it; or the columns of each table; or SQLAlchemy's metadata.
    statements : {"select", "write", "all"}
        Only queries, which read; only INSERT, UPDATE and DELETE; or both.
    aliases : iterable of str, optional
        Names that may qualify a column before FROM gives them to a table, if `new_columns` is
        False, and all that FROM then gives to tables; by default one letter or ``t1`` and the like,
        and beginnings and initials of the tables' names.
    functions : iterable of str, optional
        Names of the functions that may be called; by default those that SQLite or the database has
        and that neither read nor write files.
    new_columns : bool
        Whether the result columns of a SELECT may be named before a subquery in its FROM makes
        them, as in ``SELECT n FROM (SELECT count(*) AS n FROM t)``. With False, each is one of a
        table, of a WITH before it, or of the query around, and tables get no name but the
        `aliases`: better for small models, which make up names.

    Returns
    -------
    MonitoredGrammar
        A grammar like any other for :func:`cfgguide.compile`, ``generate`` and the rest.

    Raises
    ------
    GrammarError
        If the schema cannot be used, `statements` is unknown, or nothing can be written; the
        message says why.

    Examples
    --------
    >>> import cfgguide
    >>> grammar = runs_on("CREATE TABLE users (id, name); CREATE TABLE orders (user_id, total)")
    >>> cfgguide.check(grammar, "SELECT total FROM orders").is_sentence
    True
    >>> print(cfgguide.check(grammar, "SELECT total FROM users;"))
    line 1, column 24: expected one of: AS, COMMA, ...
    >>> grammar = runs_on("CREATE TABLE users (id INTEGER PRIMARY KEY, name)", statements="write")
    >>> cfgguide.check(grammar, "UPDATE users SET name = upper(name)").is_sentence
    True
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
