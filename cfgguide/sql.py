r"""SQL that knows a schema: tables, columns and functions are those that there are.

In: a bundled grammar of SQL and a schema. Out: a grammar in which every name is a known one. It is
a text in Lark's language like any other: `grammars/sql_schema.lark` narrows the places where names
stand, and the names come behind it, made here. A word may be the name of a table and of a column and
an alias; Lark's lexer gives it one terminal, so there is a terminal for each set of roles that
occurs::

    _table_to_read: TABLE_NAME | TABLE_OR_COLUMN_NAME | ALIAS_NAME
    TABLE_OR_COLUMN_NAME: /(?ai:order_no|vat)(?![...])|(?ai:"(?:order_no|vat)")(?!")|.../

The patterns are tries, written as nested groups, so that they are small and quick to match. Large
ones are cut into several terminals.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from cfgguide.errors import GrammarError
from cfgguide.grammar import Grammar
from cfgguide.name_patterns import name_patterns

#: A schema: the names of the columns of each table, or a database that has them.
Schema = Mapping[str, Iterable[str]] | sqlite3.Connection

_GRAMMARS = ("sql", "sql_select")
_ALIASES = (*"abcdefghijklmnopqrstuvwxyz", *(f"t{number}" for number in range(1, 10)))
_COLLATIONS = ("binary", "nocase", "rtrim")
# Types that SQLite converts to as they say. DATE and BOOLEAN are none: they make numbers of texts.
_TYPES = ("bigint", "blob", "char", "decimal", "double", "float", "int", "integer", "numeric")
_TYPES += ("real", "smallint", "text", "varchar")
_OPERATORS = ("match", "regexp")  # which call the function of that name
_TABLE_FUNCTIONS = ("json_each", "json_tree")
_TABLE_FUNCTION_COLUMNS = ("atom", "fullkey", "id", "key", "parent", "path", "type", "value")

# Roles, in the order in which the names of terminals say them.
_TABLE, _COLUMN, _ALIAS, _FUNCTION = "TABLE", "COLUMN", "ALIAS", "FUNCTION"
_TABLE_FUNCTION, _ELEMENT, _EXCLUDED = "TABLE_FUNCTION", "ELEMENT", "EXCLUDED"
_TRUTH, _COLLATION, _TYPE = "TRUTH", "COLLATION", "TYPE"
_ROLES = (_TABLE, _COLUMN, _ALIAS, _FUNCTION, _TABLE_FUNCTION)
_ROLES += (_ELEMENT, _EXCLUDED, _TRUTH, _COLLATION, _TYPE)
_NEVER_QUOTED = {_TRUTH, _COLLATION, _TYPE}

# The rules that sql_schema.lark leaves open, and whose names may stand there.
_PLACES = {
    "_table_to_read": {_TABLE, _ALIAS},
    "_written_table": {_TABLE},
    "_column": {_COLUMN, _ALIAS, _TRUTH},
    "_qualifier": {_TABLE, _ALIAS, _TABLE_FUNCTION},
    "_qualified_column": {_COLUMN, _ALIAS, _ELEMENT},
    "_excluded": {_EXCLUDED},
    "_written_column": {_COLUMN},
    "_joined_column": {_COLUMN, _ALIAS},
    "_new": {_ALIAS},
    "_function_name": {_FUNCTION},
    "_table_function_name": {_TABLE_FUNCTION},
    "%override _collation": {_COLLATION},
    "_type": {_TYPE},
}
_STARTS = {
    "sql": "%import .sql (start, statement, select, expression, LINE_COMMENT, BLOCK_COMMENT)\n"
    "%ignore LINE_COMMENT\n%ignore BLOCK_COMMENT\n",
    "sql_select": 'start: select_stmt ";"?\n',
}
_IDENTIFIER = re.compile(r"[A-Z_a-z\x80-\ufefe\uff00-\U0010ffff][$\w\x80-\U0010ffff]*", re.ASCII)


def with_schema(
    grammar: Grammar,
    schema: Schema,
    *,
    aliases: Iterable[str] | None = None,
    functions: Iterable[str] | None = None,
) -> Grammar:
    """Return a bundled grammar of SQL in which all names are those of a schema, or aliases.

    Names compare as SQLite compares them, without regard to case in ASCII, and may be written in
    double quotes, brackets or backticks. Reserved words, and names that are no plain words, must be.
    ``'text'`` is always a string.

    * A table is read if it or an alias is called so, and written if it is called so. There are no
      names of databases before it.
    * A column is one of any table, or an alias. It may stand behind a table, an alias, `excluded`
      (with "sql"), or json_each and json_tree, which have columns of their own. `rowid` is none,
      unless the schema says so.
    * A new name (behind AS or without it; of a CTE, its columns, a window) is an alias.
    * REGEXP and MATCH are operators if there are functions of these names.
    * Collations are BINARY, NOCASE and RTRIM; types in CAST the usual ones that SQLite converts to
      as they say.
    * Definitions, transactions, PRAGMA and the like are left out of "sql": they make new names, or
      have names that no schema knows. So are INDEXED BY and RAISE.

    What no grammar of this kind can check: that a column belongs to a table that is in scope, that an
    alias was introduced, that a name is not ambiguous, types, and numbers of arguments or columns.

    Parameters
    ----------
    grammar : Grammar
        ``Grammar.bundled("sql")`` or ``Grammar.bundled("sql_select")``, with any start rule.
    schema : mapping of str to names, or sqlite3.Connection
        The columns of each table; or a database, whose tables and views are read now (not those of
        attached databases, nor SQLite's own, nor columns that are hidden).
    aliases : iterable of str, optional
        Names that a statement may introduce; by default the letters a to z, and t1 to t9.
    functions : iterable of str, optional
        Names of functions. By default those that the database has, or SQLite itself, without the
        ones that "sql_select" forbids. ``json_each`` and ``json_tree`` stand for tables.

    Returns
    -------
    Grammar
        With the start rule and the options of `grammar`.

    Raises
    ------
    GrammarError
        If the grammar is another one, or a name or the schema cannot be used.

    Examples
    --------
    >>> import cfgguide
    >>> grammar = with_schema(
    ...     cfgguide.Grammar.bundled("sql_select"),
    ...     {"users": ["id", "name"], "order": ["id", "user_id"]},
    ... )
    >>> reads = cfgguide.compile_recognizer(grammar).accepts
    >>> reads('SELECT u.name, count(*) FROM users u JOIN "order" AS o ON o.user_id = u.id')
    True
    >>> reads("SELECT nam FROM users"), reads("SELECT id FROM user"), reads("SELECT f(id) FROM users")
    (False, False, False)
    """
    name = _name_of(grammar)
    forbidden = _Forbidden.of(name)
    if isinstance(schema, sqlite3.Connection):
        tables, found = _tables_of(schema), schema
    else:
        tables, found = _checked_schema(schema), None
    if functions is None:
        called = _functions_of(found)
    else:
        called = _checked(functions, "functions")
    roles: dict[str, set[str]] = {}
    _give(roles, _TABLE, tables)
    _give(roles, _COLUMN, (column for columns in tables.values() for column in columns))
    _give(roles, _ALIAS, _ALIASES if aliases is None else _checked(aliases, "aliases"))
    _give(roles, _FUNCTION, (each for each in called if _lower(each) not in _TABLE_FUNCTIONS))
    for each in called:
        if _lower(each) in _TABLE_FUNCTIONS:
            _give(roles, _TABLE_FUNCTION, [each])
            _give(roles, _ELEMENT, _TABLE_FUNCTION_COLUMNS)
    if name == "sql" and roles.get("excluded", set()).isdisjoint(_PLACES["_qualifier"]):
        _give(roles, _EXCLUDED, ["excluded"])
    forbidden.check(roles)
    _give(roles, _TRUTH, ["true", "false"])
    _give(roles, _COLLATION, _COLLATIONS)
    _give(roles, _TYPE, _TYPES)
    assert grammar.source_path is not None
    part = Grammar.open(Path(grammar.source_path).with_name("sql_schema.lark")).text
    return replace(grammar, text="\n".join([part, _STARTS[name], *_name_rules(roles)]) + "\n")


def _name_of(grammar: Grammar) -> str:
    """Return which bundled grammar it is."""
    if not isinstance(grammar, Grammar):
        raise GrammarError(f"with_schema takes a Grammar, not {type(grammar).__name__}")
    for name in _GRAMMARS:
        bundled = Grammar.bundled(name)
        if (grammar.text, grammar.source_path) == (bundled.text, bundled.source_path):
            return name
    raise GrammarError(
        "with_schema narrows the bundled grammars "
        f"{' and '.join(map(repr, _GRAMMARS))}, as Grammar.bundled returns them, and no other"
    )


# --- What is given -------------------------------------------------------------------------------


def _checked_schema(schema: object) -> dict[str, list[str]]:
    if not isinstance(schema, Mapping):
        raise GrammarError(
            "a schema is a mapping such as {'users': ['id', 'name']} or a sqlite3.Connection, "
            f"not {type(schema).__name__}"
        )
    if not schema:
        raise GrammarError("the schema has no tables; name at least one, with its columns")
    _checked(list(schema), "tables of a schema")
    tables = {table: _checked(columns, f"columns of {table!r}") for table, columns in schema.items()}
    for table, columns in tables.items():
        if not columns:
            raise GrammarError(f"the table {table!r} has no columns; name at least one")
    return tables


def _checked(names: object, what: str) -> list[str]:
    """Return names as a list; what cannot be one is an error."""
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise GrammarError(f"the {what} are a list of names, not {names!r}")
    found = list(names)
    for name in found:
        if not isinstance(name, str):
            raise GrammarError(f"the {what} are strings, not {name!r}")
        if not name:
            raise GrammarError(f"one of the {what} has no name; leave it out")
        if "\0" in name or _has_surrogate(name):
            raise GrammarError(
                f"the {what} hold {name!r}; no text of SQL has a NUL or a surrogate: rename it"
            )
    return found


def _has_surrogate(name: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in name)


def _tables_of(database: sqlite3.Connection) -> dict[str, list[str]]:
    """Return the columns of all tables and views of a database."""
    names = _asked(
        database,
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
        r"AND name NOT LIKE 'sqlite\_%' ESCAPE '\'",
    )
    if sqlite3.sqlite_version_info >= (3, 37):  # before that, no one can tell
        internal = _asked(database, "SELECT name FROM pragma_table_list WHERE type = 'shadow'")
        names = [name for name in names if name not in internal]
    if not names:
        raise GrammarError("the database has no tables; create them first, or give a mapping")
    columns = "SELECT name FROM pragma_table_xinfo(?, 'main') WHERE hidden != 1"
    tables = {table: _asked(database, columns, table) for table in names}
    return _checked_schema(tables)


def _functions_of(database: sqlite3.Connection | None) -> list[str]:
    """Return the functions of a database, or of SQLite, that no grammar need forbid."""
    own = database or sqlite3.connect(":memory:")
    try:
        found = _asked(own, "SELECT DISTINCT name FROM pragma_function_list")
        found += [
            name for name in _asked(own, "SELECT name FROM pragma_module_list")
            if name in _TABLE_FUNCTIONS
        ]
    finally:
        if database is None:
            own.close()
    forbidden = _Forbidden.of("sql_select").functions
    return [name for name in found if _IDENTIFIER.fullmatch(name) and _lower(name) not in forbidden]


def _asked(database: sqlite3.Connection, query: str, *parameters: str) -> list[str]:
    """Return the first column of what a query says."""
    try:
        cursor = database.cursor()
        cursor.row_factory = None
        return [row[0] for row in cursor.execute(query, parameters)]
    except sqlite3.Error as error:
        raise GrammarError(
            f"cannot read the schema of the database: {error}; "
            "give a mapping of tables to columns, and the names of functions"
        ) from None


@dataclass(frozen=True)
class _Forbidden:
    """What a grammar never lets a function or a table be called, in lower case."""

    functions: frozenset[str] = frozenset()
    tables: frozenset[str] = frozenset()
    beginnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str) -> _Forbidden:
        """Read it from the text of a bundled grammar."""
        if name != "sql_select":
            return cls()
        text = Grammar.bundled(name).text
        functions = _words_of("FORBIDDEN.3", text)
        return cls(functions, _words_of("NO_TABLE.3", text), ("pragma_",))

    def check(self, roles: Mapping[str, set[str]]) -> None:
        """Raise an error if one of the names could never be written.

        Raises
        ------
        GrammarError
            If a function or a table is forbidden.
        """
        for name, given in roles.items():
            is_table = not given.isdisjoint({_TABLE, _ALIAS})
            if _FUNCTION in given and name in self.functions:
                raise GrammarError(
                    f"the function {name!r} is forbidden by 'sql_select'; leave it out of functions"
                )
            if is_table and (name in self.tables or name.startswith(self.beginnings)):
                raise GrammarError(
                    f"no table may be called {name!r} in 'sql_select'; give a mapping without it"
                )


# --- Rules and terminals -------------------------------------------------------------------------


def _lower(name: str) -> str:
    """Return a name as SQLite compares it: only letters of ASCII have a case."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


def _give(roles: dict[str, set[str]], role: str, names: Iterable[str]) -> None:
    for name in names:
        roles.setdefault(_lower(name), set()).add(role)


def _words_of(terminal: str, text: str) -> frozenset[str]:
    """Return the words that a terminal of a bundled grammar lists in its first pattern."""
    found = re.search(rf"^{re.escape(terminal)}: /\(\?ai:([a-z0-9_|]+)\)", text, re.MULTILINE)
    assert found is not None, terminal
    return frozenset(found[1].split("|"))


def _name_rules(roles: Mapping[str, set[str]]) -> Iterator[str]:
    """Yield the rules that say which names may stand where, and the terminals of the names."""
    names_of: dict[frozenset[str], tuple[list[str], list[str]]] = {}  # plain and quoted ones
    text = Grammar.bundled("sql").text
    reserved = _words_of("RESERVED.1", text)
    keywords = frozenset(re.findall(r"^\w+\.2: /\(\?ai:(\w+)\)", text, re.MULTILINE))
    for name, given in roles.items():
        plain = given - {_ALIAS} if name in keywords else given
        if plain and name not in reserved and _IDENTIFIER.fullmatch(name):
            names_of.setdefault(frozenset(plain), ([], []))[0].append(name)
        if quoted := given - _NEVER_QUOTED:
            names_of.setdefault(frozenset(quoted), ([], []))[1].append(name)
    terminals: dict[str, tuple[frozenset[str], str]] = {}
    for each in sorted(names_of, key=sorted):
        patterns = name_patterns(*names_of[each])
        name = "_OR_".join(role for role in _ROLES if role in each) + "_NAME"
        numbers = [f"_{number}" for number in range(1, len(patterns) + 1)]
        for number, pattern in zip(numbers if len(patterns) > 1 else [""], patterns, strict=True):
            terminals[name + number] = each, pattern
    for rule, wanted in _PLACES.items():
        fitting = [name for name, (given, _) in terminals.items() if given & wanted]
        yield f"{rule}: {' | '.join(fitting or ['NEVER'])}"
    operators = [name.upper() for name in _OPERATORS if _FUNCTION in roles.get(name, ())]
    yield f"_called_operator: {' | '.join(operators or ['NEVER'])}"
    for name, (_, pattern) in terminals.items():
        yield f"{name}: /{pattern}/"
