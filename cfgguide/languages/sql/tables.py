"""The tables of a schema and their columns, in whatever form a schema is given.

In: a mapping, a database of SQLite, a text that creates one, or SQLAlchemy's metadata. Out: a
dictionary of the columns of each table, whose names can be written.

A text may be a stranger's. It only defines (:func:`created`): SQLite asks before each action of a
statement, and is allowed those of CREATE TABLE, INDEX, VIEW and TRIGGER, in memory. Nothing is
inserted or selected, so no row is read and no function called. What is left is the work of reading
definitions: SQLite counts it in the steps of its machine, but not that of writing out views in
views, which is bounded beforehand (:class:`_Views`).
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import Any, NamedTuple, Protocol

from cfgguide.errors import GrammarError, LimitError, shown
from cfgguide.languages.sql.name_sets import folded, unquoted


class Metadata(Protocol):
    """What SQLAlchemy's `MetaData` has: tables with a `name`, whose `columns` have a `name`."""

    @property
    def sorted_tables(self) -> Iterable[Any]:
        """The tables."""


#: A schema: the names of the columns of each table, or something that has them.
Schema = Mapping[str, Iterable[str]] | sqlite3.Connection | str | Metadata
_DIGITS = ("", *"123456789")

_UNSPELLABLE = re.compile(r"[\x00\ud800-\udfff]")  # no text of SQL has these

# --- What a text of definitions may do ------------------------------------------------------------

_MAX_CHARACTERS, _MAX_OF_STATEMENT = 1_000_000, 50_000
_MAX_PARTS = 1_000  # of a statement, between semicolons: a trigger has some
_OPERATIONS, _MAX_CALLS = 1_000, 50_000  # of SQLite's machine: at so many it asks, so often
_PAGE, _MAX_PAGES = 512, 100_000  # each table and index has one at least
#: Where definitions are kept; SQLite itself lets no statement change it.
_MASTER = "sqlite_master"
_CHANGES = (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE)
_ALLOWED = (
    *(sqlite3.SQLITE_CREATE_TABLE, sqlite3.SQLITE_CREATE_INDEX, sqlite3.SQLITE_CREATE_VIEW),
    *(sqlite3.SQLITE_CREATE_TRIGGER, sqlite3.SQLITE_READ, sqlite3.SQLITE_TRANSACTION),
)
# SQLite takes NULL for a call, and leaves an index unfilled: neither is needed for the names.
_LEFT_OUT = (sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_REINDEX)
#: How SQLite's work ends at a limit, or when this thread is interrupted in a question of SQLite's.
_STOPPED = (sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_FULL)
_INSTEAD = "give CREATE TABLE statements, a sqlite3.Connection, or a mapping of tables to columns"
_FEWER = "give fewer, or a mapping of tables to columns"


def tables_of(schema: object) -> dict[str, list[str]]:
    """Return the columns of each table of a mapping, a database or metadata.

    >>> tables_of({"users": ("id", "name")})
    {'users': ['id', 'name']}

    Raises
    ------
    GrammarError
        If it is none of these, or names no table.
    """
    if isinstance(schema, sqlite3.Connection):
        return _of_database(schema)
    return _checked_tables(_of_metadata(schema) if hasattr(schema, "sorted_tables") else schema)


def created(text: str) -> sqlite3.Connection:
    """Return a database in memory that a text of definitions creates; the text may be a stranger's.

    Raises
    ------
    GrammarError
        If SQLite refuses the text, or it is more than definitions.
    LimitError
        If it is too long, or takes SQLite too many steps.
    """
    database = sqlite3.connect(":memory:", isolation_level=None)
    try:
        _define(database, text)
        _Views(database).check()
    except BaseException:
        database.close()
        raise
    return database


def _define(database: sqlite3.Connection, text: str) -> None:
    """Have SQLite run the statements of a text, which only define."""
    is_refused = False

    def authorize(action: int, *of: str | None) -> int:
        nonlocal is_refused
        if action in _LEFT_OUT:
            return sqlite3.SQLITE_IGNORE
        is_of_master = action in _CHANGES and of[0] == _MASTER
        if (action in _ALLOWED or is_of_master) and of[2] in ("main", None):
            return sqlite3.SQLITE_OK
        is_refused = True
        return sqlite3.SQLITE_DENY

    n_calls = count()
    database.execute(f"PRAGMA page_size = {_PAGE}")
    database.execute(f"PRAGMA max_page_count = {_MAX_PAGES}").fetchall()
    database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_CHARACTERS)
    database.set_authorizer(authorize)
    database.set_progress_handler(lambda: next(n_calls) >= _MAX_CALLS, _OPERATIONS)
    for statement in _statements(text):
        try:
            database.execute(statement)
        except sqlite3.Error as error:
            said = shown(statement.strip())
            if is_refused:
                raise GrammarError(
                    f"the definitions of the schema hold {said}, but only CREATE TABLE, INDEX, "
                    f"VIEW and TRIGGER are read, and no query is run; leave it out, or {_INSTEAD}"
                ) from None
            if getattr(error, "sqlite_errorcode", None) in _STOPPED:  # some are Python's
                raise LimitError(
                    "the definitions of the schema take SQLite too many steps or too much memory, "
                    f"at {said}; {_FEWER}"
                ) from None
            raise GrammarError(
                f"the definitions of the schema fail in SQLite: {error}, at {said}; {_INSTEAD}"
            ) from None
    database.set_authorizer(None)
    database.set_progress_handler(None, 0)


def _statements(text: str) -> Iterator[str]:
    """Yield the statements of a text, with what stands before them."""
    if len(text) > _MAX_CHARACTERS:
        raise LimitError(
            f"the definitions of the schema have more than {_MAX_CHARACTERS} characters; {_FEWER}"
        )
    if _UNSPELLABLE.search(text):
        raise GrammarError(
            "the definitions of the schema hold a NUL or a surrogate, which no text of SQL has; "
            "leave it out"
        )
    start = n_parts = 0
    for found in re.finditer(r";|\Z", text):
        statement = text[start : found.end()]
        n_parts += 1
        if len(statement) > _MAX_OF_STATEMENT or n_parts > _MAX_PARTS:
            raise LimitError(
                f"a statement of the definitions has more than {_MAX_OF_STATEMENT} characters or "
                f"{_MAX_PARTS} semicolons: {shown(statement.strip())}; {_FEWER}"
            )
        if found.end() == len(text) or sqlite3.complete_statement(statement):
            yield statement
            start, n_parts = found.end(), 0


# --- How much there is once views are written out -------------------------------------------------

#: Words times columns, of a view and of all: names that are compared.
_MAX_WORK, _MAX_OF_ALL = 100_000_000, 400_000_000
_MAX_DEPTH = 100  # views and CTEs in each other: SQLite calls itself for each
_FEW_COLUMNS = 500  # count for nothing, so that words alone are bounded
# Words that stand for many: of the columns of all tables that are joined, or of one.
_HEAVY = {"*": 100, "NATURAL": 2000}
_BEFORE_TABLES = ("FROM", "JOIN", ",", "(", ".", "IN")
_TOKEN = re.compile(
    r"\ufeff|--[^\n]*|/\*(?s:.)*?(?:\*/|\Z)"  # no words
    r"|('[^']*(?:''[^']*)*'?|\"[^\"]*(?:\"\"[^\"]*)*\"?|`[^`]*(?:``[^`]*)*`?|\[[^\]]*\]?"
    r"|[a-zA-Z0-9_$\x80-\U0010ffff]+|[^ \t\n\f\r])"
)


class _Part(NamedTuple):
    """A view, or a CTE in one: some of the words of the view."""

    view: str
    start: int
    end: int


class _Extent(NamedTuple):
    """The words of a part with all that it names written out, and the columns of its tables."""

    n_words: int
    n_columns: int

    @property
    def work(self) -> int:
        """What it takes to find out which column each word is."""
        return self.n_words * (_FEW_COLUMNS + self.n_columns)


class _Views:
    """What SQLite has to write out to know the columns of a view, without an end of its own.

    A view in a view is written out, and so is a CTE at each place that names it: of 30, each of
    which names the one before twice, a thousand million are made. So the words are counted first.
    A word counts as the name of a view, CTE or table wherever one may stand, and as all of that
    name: it may be a column, so this is at most too much.

    Parameters
    ----------
    database : sqlite3.Connection
        With tables and views that were only defined.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        found = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'view'")
        self._words = {folded(name): list(_words(text)) for name, text in found.fetchall()}
        self._ctes = {view: _ctes(view, words) for view, words in self._words.items()}
        self._extents: dict[_Part, _Extent | None] = {}
        self._n_columns: dict[str, int] = {}
        if self._words:
            found = database.execute(
                "SELECT t.name, count(*) FROM sqlite_master AS t, pragma_table_xinfo(t.name, "
                "'main') WHERE t.type = 'table' GROUP BY t.name"
            )
            self._n_columns = {folded(name): number for name, number in found}

    def check(self) -> None:
        """Raise an error if a view has too many words.

        Raises
        ------
        GrammarError, LimitError
            In that case, or if views name each other.
        """
        work = 0
        for view, words in self._words.items():
            work += self._extent(_Part(view, 0, len(words)), 0).work
            if work > _MAX_OF_ALL:
                raise LimitError(f"the views of the definitions are too large; {_FEWER}")

    def _extent(self, part: _Part, depth: int) -> _Extent:
        known = self._extents.get(part)
        if known is not None:
            return known
        if part in self._extents:
            raise GrammarError(
                f"the view {part.view!r} of the definitions is named by what it names itself; "
                "leave it out, or give a mapping of tables to columns"
            )
        self._extents[part] = None
        words = self._words[part.view]
        n_words = n_columns = part.end - part.start
        for place in range(part.start, part.end if depth <= _MAX_DEPTH else part.start):
            n_words += _HEAVY.get(words[place].upper(), 0)
            if words[place - 1].upper() in _BEFORE_TABLES:
                name = unquoted(words[place])
                n_columns += self._n_columns.get(name, 0)
                for named in self._named(part.view, name, place):
                    inside = self._extent(named, depth + 1)
                    n_words += inside.n_words
                    n_columns += inside.n_columns
        extent = _Extent(n_words, n_columns)
        if extent.work > _MAX_WORK or depth > _MAX_DEPTH:
            raise LimitError(
                f"the view {part.view!r} of the definitions is too large once the views and CTEs "
                "that it names are written out; leave it out, or give a mapping of tables to "
                "columns"
            )
        self._extents[part] = extent
        return extent

    def _named(self, view: str, name: str, place: int) -> Iterator[_Part]:
        """Yield what a name may be at a place, but not what the place is in: that is recursion."""
        for cte in self._ctes[view].get(name, ()):
            if not cte.start <= place < cte.end:
                yield cte
        if name in self._words and name != view:
            yield _Part(name, 0, len(self._words[name]))


def _words(text: str) -> Iterator[str]:
    """Yield the words and signs of a text of SQL."""
    return (found[1] for found in _TOKEN.finditer(text) if found[1] is not None)


def _ctes(view: str, words: list[str]) -> dict[str, list[_Part]]:
    """Return what stands in parentheses after AS, by the name before."""
    found: dict[str, list[_Part]] = {}
    closed: dict[int, int] = {}  # the place of the parenthesis that one closes
    opened: list[int] = []
    for place, word in enumerate(words):
        if word == "(":
            opened.append(place)
        elif word == ")" and opened:
            start = closed[place] = opened.pop()
            before = start - 1
            while words[before].upper() in ("MATERIALIZED", "NOT"):
                before -= 1
            if words[before].upper() == "AS":
                name = before - 1
                name = closed.get(name, name + 1) - 1 if words[name] == ")" else name
                found.setdefault(unquoted(words[name]), []).append(_Part(view, start, place))
    return found


def checked_names(names: object, what: str) -> list[str]:
    """Return names as a list.

    Raises
    ------
    GrammarError
        If they are no list of strings that a text of SQL can spell.
    """
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise GrammarError(f"the {what} are a list of names, not {names!r}")
    found = list(names)
    for name in found:
        if not isinstance(name, str):
            raise GrammarError(f"the {what} are strings, not {name!r}")
        if not name:
            raise GrammarError(f"one of the {what} has no name; leave it out")
        if _UNSPELLABLE.search(name):
            raise GrammarError(
                f"the {what} hold {name!r}; no text of SQL has a NUL or a surrogate: rename it"
            )
    return found


def aliases_of(tables: Iterable[str]) -> set[str]:
    """Return names that people give to tables: letters, t1 and the like, parts of their names.

    >>> sorted(aliases_of(["order_items"]).intersection(["o", "oi", "ord", "t1", "items"]))
    ['o', 'oi', 'ord', 't1']
    """
    bases = set("abcdefghijklmnopqrstuvwxyz")
    for table in tables:
        words = table.replace(" ", "_").split("_")
        bases.add("".join(word[:1] for word in words))
        bases.update(table[:length] for length in range(1, min(len(table), 12)))
    return {base + digit for base in bases if base for digit in _DIGITS}


def asked(database: sqlite3.Connection, query: str, *parameters: str) -> list[str]:
    """Return the first column of the result of a query.

    Raises
    ------
    GrammarError
        If the query fails.
    """
    try:
        cursor = database.cursor()
        cursor.row_factory = None
        return [row[0] for row in cursor.execute(query, parameters)]
    except sqlite3.Error as error:
        raise GrammarError(
            f"cannot read the schema of the database: {error}; "
            "give a mapping of tables to columns, and the names of functions"
        ) from None


def prepares(database: sqlite3.Connection, statement: str) -> bool:
    """Return whether SQLite prepares a statement on a database; it is not run."""
    try:
        database.cursor().execute("EXPLAIN " + statement)
    except sqlite3.Error:
        return False
    return True


def _checked_tables(schema: object) -> dict[str, list[str]]:
    if not isinstance(schema, Mapping):
        raise GrammarError(
            "a schema is a mapping such as {'users': ['id', 'name']} or a sqlite3.Connection, "
            f"not {type(schema).__name__}"
        )
    if not schema:
        raise GrammarError("the schema has no tables; name at least one, with its columns")
    checked_names(list(schema), "tables of a schema")
    tables = {
        table: checked_names(columns, f"columns of {table!r}") for table, columns in schema.items()
    }
    for table, columns in tables.items():
        if not columns:
            raise GrammarError(f"the table {table!r} has no columns; name at least one")
    return tables


def _of_database(database: sqlite3.Connection) -> dict[str, list[str]]:
    """Return the columns of all tables and views of a database."""
    names = asked(
        database,
        "SELECT name FROM sqlite_master WHERE type = 'table' "
        r"AND name NOT LIKE 'sqlite\_%' ESCAPE '\'",
    )
    is_virtual = "SELECT 1 FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL %'"
    # Older ones do not say which tables are internal. To list them, SQLite prepares all views.
    if sqlite3.sqlite_version_info >= (3, 37) and asked(database, is_virtual):
        internal = asked(
            database, "SELECT name FROM pragma_table_list WHERE (schema, type) = ('main', 'shadow')"
        )
        names = [name for name in names if name not in internal]
    columns = "SELECT name FROM pragma_table_xinfo(?, 'main') WHERE hidden != 1"
    tables = {table: asked(database, columns, table) for table in names}
    for view in asked(database, "SELECT name FROM sqlite_master WHERE type = 'view'"):
        try:
            tables[view] = asked(database, columns, view)
        except GrammarError:
            continue  # it names what is no longer there: no query can use it
    usable = {name: found for name, found in tables.items() if found}
    if not usable:
        raise GrammarError("the database has no tables; create them first, or give a mapping")
    return _checked_tables(usable)


def _of_metadata(metadata: Any) -> dict[str, list[str]]:
    """Return the tables of SQLAlchemy's metadata; those of one name in two schemas are one."""
    tables: dict[str, list[str]] = {}
    for table in metadata.sorted_tables:
        columns = tables.setdefault(str(table.name), [])
        columns.extend(
            name for name in (str(column.name) for column in table.columns) if name not in columns
        )
    return tables
