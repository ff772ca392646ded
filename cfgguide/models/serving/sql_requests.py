"""SQL on a database of the client's, as a request asks for it.

In: the JSON object that follows `cfgguide:`, or stands under `cfgguide` in the body of a request.
Out: a grammar. ::

    {"sql": "sqlite", "schema": "CREATE TABLE users (id, name)"}

A statement reads, and has no parameters: the server would not bind them. In SQLite's dialect each
one prepares on the database (:func:`cfgguide.sql.runs_on`); with `"runs": false`, and in
PostgreSQL's, its names are those of the schema (:func:`cfgguide.sql.with_schema`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

from cfgguide.errors import GrammarError, shown
from cfgguide.grammar.grammar import Grammar
from cfgguide.grammar.rules.facts import not_known
from cfgguide.languages.sql.names import with_schema
from cfgguide.languages.sql.running import runs_on
from cfgguide.languages.sql.tables import created, tables_of

_DIALECTS = ("sqlite", "postgresql")
_STATEMENTS = ("select", "write", "all")
_TABLES = 'a text of CREATE TABLE statements, an object such as {"users": ["id"]}, or a name'
#: What each option is, and what it is by default.
_OPTIONS: dict[str, tuple[str, Callable[[Any], bool], Any]] = {
    "sql": (" or ".join(_DIALECTS), _DIALECTS.__contains__, "sqlite"),
    "schema": (_TABLES, lambda value: isinstance(value, str | dict), None),
    "runs": ("true or false", lambda value: isinstance(value, bool), True),
    "statements": (" or ".join(_STATEMENTS), _STATEMENTS.__contains__, "select"),
    "parameters": ("true or false", lambda value: isinstance(value, bool), False),
    "new_columns": ("true or false", lambda value: isinstance(value, bool), False),
}
#: The bundled grammar and the start rule of a dialect and its statements.
_GRAMMARS = {
    ("sqlite", "select"): ("sql_select", "start"),
    ("sqlite", "all"): ("sql", "statement"),
    ("postgresql", "select"): ("postgresql", "select"),
    ("postgresql", "all"): ("postgresql", "statement"),
}
#: The terminal of parameters in each, with names from a schema.
_PARAMETERS = {"sqlite": "sql__VARIABLE", "postgresql": "postgresql__PARAMETER"}
#: As :mod:`cfgguide.languages.tidy_forms` has it.
_TIDY: dict[str, Any] = {
    "max_ignored": 1,
    "keywords": "upper",
    "restrict": {"SPACE": r"[ \n]+"},
}


def sql_grammar(
    options: Mapping[str, Any], names: Iterable[str] = (), *, is_tidy: bool = True
) -> Grammar:
    """Return the grammar of what a request asks for.

    Parameters
    ----------
    options : mapping
        As above.
    names : iterable of str
        What a schema may be called; an error names the nearest.
    is_tidy : bool
        Whether statements have one space at a time, and their keywords in capitals.

    Raises
    ------
    GrammarError
        If an option is unknown or wrong, or the schema cannot be used.

    Examples
    --------
    >>> import cfgguide
    >>> grammar = sql_grammar({"sql": "sqlite", "schema": "CREATE TABLE users (id, name)"})
    >>> cfgguide.check(grammar, "SELECT name FROM users").is_sentence
    True
    >>> cfgguide.check(grammar, "SELECT nam FROM users").is_sentence
    False
    """
    refuse_description(options)
    for name, value in options.items():
        if name not in _OPTIONS:
            said = f"no SQL has an option {shown(name)}; there is {', '.join(_OPTIONS)}"
            raise GrammarError(not_known(said, name, _OPTIONS))
        expected, is_right, _ = _OPTIONS[name]
        if isinstance(value, list) or not is_right(value):
            raise GrammarError(f"at /{name}: it is {expected}, not {shown(value)}")
    if "schema" not in options:
        raise GrammarError(f"at /: SQL needs a schema: {_TABLES}")
    chosen = {name: default for name, (_, _, default) in _OPTIONS.items()} | dict(options)
    schema, dialect, statements = chosen["schema"], chosen["sql"], chosen["statements"]
    if isinstance(schema, str) and schema.isidentifier():
        raise GrammarError(not_known(f"no schema is called {schema!r}", schema, names))
    if dialect == "sqlite" and chosen["runs"]:
        if chosen["parameters"]:
            raise GrammarError("at /parameters: no text that runs has them; give runs: false")
        columns = chosen["new_columns"]
        grammar: Grammar = runs_on(schema, statements=statements, new_columns=columns)
        return replace(grammar, **_TIDY) if is_tidy else grammar
    if dialect != "sqlite" and options.get("runs"):
        raise GrammarError("at /runs: only for SQLite it is known what runs")
    if (dialect, statements) not in _GRAMMARS:
        raise GrammarError(f"at /statements: with runs: false, it is select or all in {dialect}")
    name, start = _GRAMMARS[dialect, statements]
    if isinstance(schema, str):
        with closing(created(schema)) as database:
            schema = tables_of(database)
    grammar = with_schema(Grammar.bundled(name, start=start, tidy=is_tidy), schema)
    if chosen["parameters"]:
        return grammar
    return replace(grammar, restrict={**dict(grammar.restrict), _PARAMETERS[dialect]: None})


def refuse_description(options: Mapping[str, Any]) -> None:
    """Raise an error if a request asks a server to describe what it asks for.

    When a server tells of a request, its prompt is tokens already, and nothing bounds what a
    stranger's schema takes to describe.
    """
    if "describe" in options:
        raise GrammarError(
            "at /describe: the server does not change a prompt. Have the client do it: "
            "cfgguide.client(...).generate(..., describe=True); or put "
            "cfgguide.describe(...).instruction into the system message"
        )
