"""What PostgreSQL's own parser, as `pglast` has it, says of a text."""

from __future__ import annotations

from pglast.parser import ParseError, parse_sql

#: The statements that `grammars/postgresql.lark` is about.
STATEMENTS = ("SelectStmt", "InsertStmt", "UpdateStmt", "DeleteStmt")


def error(text: str) -> str:
    """Return the parser's error; nothing if it parses the text."""
    try:
        parse_sql(text)
    except (ParseError, ValueError) as problem:
        return str(problem)
    return ""


def verdict(text: str) -> bool | None:
    """Return whether PostgreSQL parses one statement; None if it is none of `STATEMENTS`."""
    try:
        statements = parse_sql(text)
    except (ParseError, ValueError):
        return False
    if len(statements) != 1:
        return False
    statement = statements[0].stmt
    if type(statement).__name__ == "ExplainStmt":
        statement = statement.query
    return True if type(statement).__name__ in STATEMENTS else None
