"""SQL that runs: a grammar whose every sentence prepares on a database.

In: a schema. Out: a grammar with a monitor, the one of :mod:`cfgguide.sql.select_monitor`.
"""

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
    """Return a grammar of SQLite's queries, all of which prepare on a database.

    Every finished text is one query, and SQLite prepares it: each table and column is there, each
    name means one thing, functions have as many arguments as they take, aggregates and windows
    stand where they may, and columns are as many as they must be. A model can always go on. What is
    covered, and what is not, is in docs/sql.md.

    Parameters
    ----------
    schema : sqlite3.Connection, str, mapping or MetaData
        The database, whose tables, views and functions are read now; or definitions, which SQLite
        reads; or the columns of each table; or SQLAlchemy's metadata.
    aliases : iterable of str, optional
        Names that may qualify a column before FROM gives them to a table, if `new_columns` is
        False; by default one letter or ``t1`` and the like, and beginnings and initials of the
        tables' names.
    functions : iterable of str, optional
        Names of the functions that may be called; by default those that SQLite or the database has
        and that neither read nor write files.
    new_columns : bool
        Whether the result columns of a SELECT may be named before a subquery in its FROM makes
        them, as in ``SELECT n FROM (SELECT count(*) AS n FROM t)``. With False, each is one of a
        table, of a WITH before it, or of the query around: better for small models, which make up
        names.

    Returns
    -------
    MonitoredGrammar
        A grammar like any other for :func:`cfgguide.compile`, ``generate`` and the rest.

    Raises
    ------
    GrammarError
        If the schema cannot be used; the message says why.

    Examples
    --------
    >>> import cfgguide
    >>> grammar = runs_on("CREATE TABLE users (id, name); CREATE TABLE orders (user_id, total)")
    >>> cfgguide.check(grammar, "SELECT total FROM orders").is_sentence
    True
    >>> print(cfgguide.check(grammar, "SELECT total FROM users;"))
    line 1, column 24: expected one of: COMMA, ...
    """
    database = Database.of(schema, functions)
    grammar = Grammar.open(bundled_folder() / "sql_runs.lark", parser="lalr")
    names = SchemaNames(database, aliases, takes_new_columns=new_columns)
    return grammar.watched_by(SelectMonitor(names))
