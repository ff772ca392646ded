"""What SQLite says of a text: prepared, never run.

`verdict` prepares one statement on an empty database. "No such table", types and counts are not
syntax, but a second semicolon is: Python's sqlite3 executes one statement. A few errors that are no
"syntax error" by name are refused by the actions of SQLite's own grammar, and its documentation's
diagrams refuse them too: these count as syntax (`is_syntax`).

SQLite makes tables and triggers while it still reads, and stops at the first error, whatever it is.
So a text with an error of another kind is read once more with a bracket that closes nothing after
it: if that changes nothing, the rest of the text has never been read. Then what was missing is made
(a table, a view, a database), or the verdict is ``None``: SQLite does not say.
"""

from __future__ import annotations

import re
import sqlite3

# Errors of SQLite's tokenizer and parser, and of the actions of its grammar.
_SYNTAX = (
    r"near .*: syntax error",
    r"syntax error after column name ",
    r"incomplete input",
    r"unrecognized token: ",
    r"unknown join type: ",
    r"a JOIN clause is required before ",
    r"(ORDER BY|LIMIT) clause should come after ",
    r"ORDER BY without LIMIT on ",
    r"unknown table option: ",
    r"error in generated column ",
    r"unsupported frame specification",
    r"unsupported use of NULLS ",
    r'RETURNING may not use "TABLE.\*" wildcards',
    r"cannot use RETURNING in a trigger",
    r"qualified table names are not allowed on ",
    r"the (NOT )?INDEXED( BY)? clause is not allowed on UPDATE or DELETE statements within ",
    r"the query contains a null character",
)
_IS_SYNTAX = re.compile("|".join(_SYNTAX), re.DOTALL)
_SPACE = r"(?:[\s\ufeff]|--[^\n]*\n|/\*(?s:.*?)\*/)*"
_TOKENS = re.compile(
    r"(?P<nothing>[\s\ufeff]+|--[^\n]*|/\*(?s:.*?)(?:\*/|\Z))|(?P<end>;)"
    r"|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|\[[^\]]*\]|(?s:.)"
)
# What Python's sqlite3 takes after the semicolon; to it anything else is a second statement.
_AFTER = re.compile(r"(?:[ \t\n\f\r]|--[^\n]*|/\*(?s:.*?)(?:\*/|\Z))*+\Z")
_EXPLAINS = re.compile(_SPACE + r"explain(?![\w$])", re.IGNORECASE)
_ONE_STATEMENT = "one statement at a time"
_MAX_REPAIRS = 8
# What is missing, and what makes it.
_REPAIRS = (
    (r"no such table: (?:main\.|temp\.)?(.+)", "CREATE TABLE {0}(a)"),
    (r"unknown database:? (.+)", "ATTACH ':memory:' AS {0}"),
    (
        r"cannot create INSTEAD OF trigger on table: (.+)",
        "DROP TABLE {0}; CREATE VIEW {0} AS SELECT 1",
    ),
)


def is_syntax(message: str) -> bool:
    """Return whether an error of SQLite is about syntax."""
    return _IS_SYNTAX.match(message) is not None


def error(text: str, database: sqlite3.Connection | None = None) -> str:
    """Return SQLite's error for one statement; nothing if it can be prepared."""
    own = database or sqlite3.connect(":memory:")
    try:
        # Nothing is run: a statement that is explained only says how it would be.
        own.execute(text if _EXPLAINS.match(text) else "EXPLAIN " + text)
    except (sqlite3.Error, sqlite3.Warning, ValueError) as problem:
        message = str(problem)
        return "" if message.startswith("Incorrect number of bindings") else message
    finally:
        if database is None:
            own.close()
    return ""


def _without_empty_statements(text: str) -> str:
    """Return a text up to the semicolon after which there are only others, and comments."""
    end = None
    for token in _TOKENS.finditer(text):
        if token.lastgroup == "end":
            end = token.end() if end is None else end
        elif token.lastgroup is None:
            end = None
    return text[:end]


def verdict(text: str) -> bool | None:
    """Return whether SQLite parses one statement; None if it does not say."""
    whole, text = text, _without_empty_statements(text)
    if not _AFTER.match(whole, len(text)):
        return False
    database = sqlite3.connect(":memory:")
    try:
        message = error(text, database)
        for _ in range(_MAX_REPAIRS):
            if not _repaired(database, message):
                break
            message = error(text, database)
        if not message:
            return True
        if is_syntax(message) or _ONE_STATEMENT in message:
            return False
        rest_was_read = error(text.rstrip().rstrip(";") + "\n)", database) != message
        return True if rest_was_read else None
    finally:
        database.close()


def _repaired(database: sqlite3.Connection, message: str) -> bool:
    for pattern, remedy in _REPAIRS:
        found = re.fullmatch(pattern, message, re.DOTALL)
        if found:
            name = '"' + found[1].rsplit(".", 1)[-1].replace('"', '""') + '"'
            try:
                database.executescript(remedy.format(name))
            except sqlite3.Error:
                return False
            return True
    return False
