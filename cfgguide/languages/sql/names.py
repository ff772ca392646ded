r"""SQL that knows a schema: only existing tables, columns and functions are named.

In: a bundled grammar of SQL and a schema. Out: a grammar in which every name is a known one. It is
an ordinary grammar in Lark's language: `grammars/sql_schema.lark` narrows the rules for names, and
the rules and terminals of the names (:mod:`cfgguide.languages.sql.name_roles`) are appended here.
Where a keyword is allowed, Lark's lexer tries it before all names, as in the original grammar.

SQLite's names are here, PostgreSQL's in :mod:`cfgguide.languages.sql.postgresql_names`.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path

from cfgguide.errors import GrammarError
from cfgguide.grammar.grammar import Grammar
from cfgguide.languages.sql import postgresql_names
from cfgguide.languages.sql.name_patterns import is_word, name_patterns
from cfgguide.languages.sql.name_roles import NO_ROLE, Dialect, Role, Roles
from cfgguide.languages.sql.name_sets import folded, keywords, listed_words
from cfgguide.languages.sql.tables import (
    Schema,
    aliases_of,
    asked,
    checked_names,
    created,
    tables_of,
)

_REPLACED = ("NAME", "WORD", "sql__NAME")  # terminals in whose place those of the schema come
_COLLATIONS = ("binary", "nocase", "rtrim")
# Types to which SQLite converts as expected. DATE and BOOLEAN are not: they turn texts to numbers.
_INTEGERS = ("bigint", "int", "integer", "smallint")
_NUMBERS = ("decimal", "double", "float", "numeric", "real")
_TYPES = (*_INTEGERS, *_NUMBERS, "blob", "char", "text", "varchar")
_OPERATORS = {"match": "MATCH", "regexp": "REGEXP"}  # which call the function of that name
_TABLE_FUNCTIONS = ("json_each", "json_tree")
_ELEMENTS = ("atom", "fullkey", "id", "key", "parent", "path", "type", "value")

# The start rules of each grammar, and what it ignores besides spaces.
_STARTS = {
    "sql": "%import .sql (start, statement, select, expression, LINE_COMMENT, BLOCK_COMMENT)\n"
    "%ignore LINE_COMMENT\n%ignore BLOCK_COMMENT\n",
    "sql_select": "%import .sql (_operator, _sign)\n"
    "%override SPACE: /[\\t\\n\\f\\r ]+/\n"
    '%extend _operator: "--" NEVER\n%extend _sign: "--" NEVER\nstart: select_stmt ";"?\n',
    "postgresql": "%import .postgresql (start, statement, select, expression)\n",
}
_NEVER_QUOTED = Role.OPERATOR | Role.TRUTH | Role.COLLATION | Role.TYPE

# The rules that sql_schema.lark leaves open, and the roles of the names that are allowed there.
_PLACES = {
    "_table_to_read": Role.TABLE | Role.ALIAS,
    "_written_table": Role.TABLE,
    "_column": Role.COLUMN | Role.ALIAS | Role.TRUTH,
    "_qualifier": Role.TABLE | Role.ALIAS | Role.TABLE_FUNCTION,
    "_qualified_column": Role.COLUMN | Role.ALIAS | Role.ELEMENT,
    "_excluded": Role.EXCLUDED,
    "_written_column": Role.COLUMN,
    "_joined_column": Role.COLUMN | Role.ALIAS,
    "_new": Role.ALIAS,
    "_function_name": Role.FUNCTION,
    "_table_function_name": Role.TABLE_FUNCTION,
    "%override _collation": Role.COLLATION,
    "_type": Role.TYPE,
    "_called_operator": Role.OPERATOR,
}


def _plain(name: str, role: Role) -> Role:
    """Return the roles in which a name needs no quotes."""
    reserved, every = keywords()
    if not is_word(name) or name in reserved:
        return NO_ROLE
    role &= ~Role.OPERATOR
    # After an expression both a keyword and a new name are allowed.
    return role & ~Role.ALIAS if name in every else role


_SQLITE = Dialect(
    part="sql_schema",
    places=_PLACES,
    plain=_plain,
    quoted=lambda role: role & ~_NEVER_QUOTED,
    patterns=name_patterns,
    keywords=[(Role.OPERATOR, _OPERATORS)],
    constants={},
)


def with_schema(
    grammar: Grammar,
    schema: Schema,
    *,
    aliases: Iterable[str] | None = None,
    functions: Iterable[str] | None = None,
) -> Grammar:
    """Return a bundled grammar of SQL in which all names are aliases or those of a schema.

    In SQLite's dialect, names compare as in SQLite: ASCII case is ignored. They may be written in
    double quotes, brackets or backticks. Reserved words, including LEFT and the other words of
    joins, and names that are not plain words must be quoted. ``'text'`` is always a string.

    * A table that is read is in the schema or an alias; one that is written is in the schema. The
      name of a database never precedes it.
    * A column is one of any table, or an alias. It may be qualified by a table, an alias, or
      `excluded` (with "sql"). After json_each, json_tree and aliases, their columns are too.
      `rowid` is a column only if the schema has it.
    * A new name (after AS or without it; of a CTE, its columns, a window) is an alias. If it is a
      keyword of any kind, it is quoted.
    * REGEXP and MATCH are operators if there are functions of these names.
    * Collations are BINARY, NOCASE and RTRIM; types in CAST are the usual ones to which SQLite
      converts as expected (not DATE, for example, which turns a text into a number).
    * Definitions, transactions, PRAGMA and the like are left out of "sql": they make new names, or
      have names that no schema has. So are INDEXED BY and RAISE.

    "postgresql" follows PostgreSQL instead. A name is in lower case unless it stands in double
    quotes, so one with capitals needs them; so do reserved words (but not after a dot), and
    keywords that are new names without AS. No schema precedes the name of a table or function. Any
    function may stand in FROM; the columns that it makes are aliases, or `key`, `value` and
    `ordinality` after a dot. Types and collations are those of every PostgreSQL; the functions
    with a syntax of their own, such as COALESCE, are always there. Left out are SELECT INTO, XML,
    and the names of constraints, cursors and classes of operators.

    No grammar of this kind can check that a column belongs to a table in scope, that an alias was
    introduced, that a name is unambiguous, or types and numbers of arguments and columns.

    Parameters
    ----------
    grammar : Grammar
        The bundled "sql", "sql_select" or "postgresql", with any of its start rules.
    schema : mapping of str to names, sqlite3.Connection, str, or SQLAlchemy's MetaData
        The columns of each table; or a database, whose tables and views are read now (not those of
        attached databases, nor SQLite's own, nor columns that are hidden); or, in SQLite's dialect,
        a text of CREATE TABLE, INDEX, VIEW and TRIGGER, which SQLite reads in memory; it may be a
        stranger's, and anything more in it is refused.
    aliases : iterable of str, optional
        Names that a statement may introduce; by default one letter, and beginnings and initials of
        the tables' names, each with a digit or without, but for those that would need quotes, and
        words of these names, in the singular or the plural.
    functions : iterable of str, optional
        Names of functions; by default those of the database, or of SQLite itself, without the ones
        that "sql_select" forbids. ``json_each`` and ``json_tree`` are used as tables.

    Returns
    -------
    Grammar
        With the start rule and the options of `grammar`.

    Raises
    ------
    GrammarError
        If the grammar is none of these, or a name or the schema cannot be used.

    Examples
    --------
    >>> import cfgguide
    >>> grammar = with_schema(
    ...     cfgguide.Grammar.bundled("sql_select"),
    ...     {"users": ["id", "name"], "order": ["id", "user_id"]},
    ... )
    >>> recognizer = cfgguide.index.compile_recognizer(grammar)
    >>> def is_sentence(text):
    ...     configuration = recognizer.advance(recognizer.initial, text)
    ...     return configuration is not None and recognizer.is_sentence(configuration)
    >>> is_sentence(b'SELECT u.name, count(*) FROM users u JOIN "order" AS o ON o.user_id = u.id')
    True
    >>> is_sentence(b"SELECT nam FROM users"), is_sentence(b"SELECT name FROM customers")
    (False, False)
    """
    name, folder = _place_of(grammar)
    given = None if aliases is None else checked_names(aliases, "aliases")
    if name == "postgresql":
        dialect = postgresql_names.dialect()
        roles = _roles_in_postgresql(schema, given, functions)
    else:
        dialect = _SQLITE
        roles = _roles_in_sqlite(name, schema, given, functions)
    text = Grammar.open(folder / f"{dialect.part}.lark").text
    # Names are other terminals now, and what is imported is called after its file.
    restrict = {
        {"VARIABLE": "sql__VARIABLE"}.get(each, each): pattern
        for each, pattern in dict(grammar.restrict).items()
        if each not in _REPLACED and not (each == "QUOTED" and name == "postgresql")
    }
    text = "\n".join([text, _STARTS[name], *dialect.rules(roles), ""])
    return replace(grammar, text=text, restrict=restrict)


def _roles_in_postgresql(
    schema: Schema, aliases: Iterable[str] | None, functions: Iterable[str] | None
) -> Roles:
    if isinstance(schema, str | sqlite3.Connection):
        raise GrammarError(
            f"'postgresql' takes no {type(schema).__name__} for a schema, since SQLite would read "
            "it; give a mapping such as {'users': ['id', 'name']}, or SQLAlchemy's metadata, which "
            "reflects a database"
        )
    known = postgresql_names.FUNCTIONS
    called = known if functions is None else checked_names(functions, "functions")
    tables = tables_of(schema)
    given = _usual_aliases(tables) if aliases is None else aliases
    return postgresql_names.roles_of(tables, given, called)


def _roles_in_sqlite(
    name: str, schema: Schema, aliases: Iterable[str] | None, functions: Iterable[str] | None
) -> Roles:
    """Return the roles of each name, by the name in lower case."""
    opened = closing(created(schema)) if isinstance(schema, str) else nullcontext(schema)
    with opened as given:
        database = given if isinstance(given, sqlite3.Connection) else None
        tables = tables_of(given)
        names = (
            functions_of(database) if functions is None else checked_names(functions, "functions")
        )
    called = set(map(folded, names))
    tabular = called.intersection(_TABLE_FUNCTIONS)
    named = {
        Role.TABLE: tables,
        Role.COLUMN: [column for columns in tables.values() for column in columns],
        Role.ALIAS: _usual_aliases(tables) if aliases is None else aliases,
        Role.FUNCTION: called - tabular,
        Role.TABLE_FUNCTION: tabular,
        Role.OPERATOR: called.intersection(_OPERATORS),
        Role.ELEMENT: _ELEMENTS if tabular else (),
        Role.TRUTH: ("true", "false"),
        Role.COLLATION: _COLLATIONS,
        Role.TYPE: _TYPES,
    }
    folded_names = [(role, map(folded, names)) for role, names in named.items()]
    roles = _SQLITE.roles(folded_names, has_upserts=name == "sql")
    if name == "sql_select":
        _check_allowed(roles)
    return roles


def _usual_aliases(tables: Iterable[str]) -> list[str]:
    """Return what people call tables, without names that need quotes or no table may have.

    An alias may be read like a table, so `user` is none where there are `users` or `user_roles`.
    """
    known = {folded(table) for table in tables}
    words = {word for table in known for word in re.split(r"[\W_]+", table)}
    plurals = [word for word in words if word.endswith("s")]
    words.update(word[:-1].removesuffix(end) for word in plurals for end in ("", "e"))
    whole = {word for word in words if len(word) > 2}
    _, every = keywords()
    forbidden = listed_words("sql_select", "NO_TABLE.3")
    usual = aliases_of(known).difference(every, forbidden)
    return sorted(
        alias for alias in usual if is_word(alias) and alias.rstrip("123456789") not in whole
    )


def _place_of(grammar: object) -> tuple[str, Path]:
    """Return the name of a bundled grammar, and its folder."""
    if not isinstance(grammar, Grammar):
        raise GrammarError(f"with_schema takes a Grammar, not {type(grammar).__name__}")
    for name in _STARTS:
        bundled = Grammar.bundled(name)
        if (grammar.text, grammar.source_path) == (bundled.text, bundled.source_path):
            return name, Path(str(bundled.source_path)).parent
    raise GrammarError(
        f"with_schema narrows the bundled grammars {', '.join(map(repr, _STARTS))}, "
        "as Grammar.bundled returns them, and no other"
    )


def functions_of(database: sqlite3.Connection | None) -> list[str]:
    """Return the functions of a database, or of SQLite, that `sql_select` does not forbid."""
    opened = closing(sqlite3.connect(":memory:")) if database is None else nullcontext(database)
    with opened as own:
        found = asked(own, "SELECT DISTINCT name FROM pragma_function_list")
        modules = asked(own, "SELECT name FROM pragma_module_list")
    forbidden = listed_words("sql_select", "FORBIDDEN.3")
    # The list has operators too: "->" is not a word.
    return [name for name in found if is_word(name) and folded(name) not in forbidden] + [
        name for name in modules if name in _TABLE_FUNCTIONS
    ]


def _check_allowed(roles: Roles) -> None:
    """Check that `sql_select` forbids no function or table."""
    functions = listed_words("sql_select", "FORBIDDEN.3")
    tables = listed_words("sql_select", "NO_TABLE.3")
    for name, role in roles.items():
        if role & Role.FUNCTION and name in functions:
            raise GrammarError(
                f"the function {name!r} is forbidden by 'sql_select'; leave it out of functions"
            )
        is_forbidden = name in tables or name.startswith("pragma_")
        if is_forbidden and role & _PLACES["_table_to_read"]:
            raise GrammarError(
                f"no table may be called {name!r} in 'sql_select'; give a mapping without it"
            )
