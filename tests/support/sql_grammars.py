"""The bundled SQL grammars as Lark reads them, and samples of their terminals."""

from __future__ import annotations

import random

from support.languages import lark_parses

WORDS = [
    "abort", "action", "add", "after", "all", "alter", "always", "analyze", "and", "as",
    "asc", "attach", "autoincrement", "before", "begin", "between", "by", "cascade",
    "case", "cast", "check", "collate", "column", "commit", "conflict", "constraint",
    "create", "cross", "current", "current_date", "current_time", "current_timestamp",
    "database", "default", "deferrable", "deferred", "delete", "desc", "detach",
    "distinct", "do", "drop", "each", "else", "end", "escape", "except", "exclude",
    "exclusive", "exists", "explain", "fail", "filter", "first", "following", "for",
    "foreign", "from", "full", "generated", "glob", "group", "groups", "having", "if",
    "ignore", "immediate", "in", "index", "indexed", "initially", "inner", "insert",
    "instead", "intersect", "into", "is", "isnull", "join", "key", "last", "left",
    "like", "limit", "match", "materialized", "natural", "no", "not", "nothing",
    "notnull", "null", "nulls", "of", "offset", "on", "or", "order", "others", "outer",
    "over", "partition", "plan", "pragma", "preceding", "primary", "query", "raise",
    "range", "recursive", "references", "regexp", "reindex", "release", "rename",
    "replace", "restrict", "returning", "right", "rollback", "row", "rows", "savepoint",
    "select", "set", "table", "temp", "temporary", "then", "ties", "to", "transaction",
    "trigger", "unbounded", "union", "unique", "update", "using", "vacuum", "values",
    "view", "virtual", "when", "where", "window", "with", "within", "without",
]  # fmt: skip
SYMBOLS = [
    "(", ")", ",", ".", ";", "+", "-", "*", "/", "%", "=", "==", "!=", "<>", "<", ">",
    "<=", ">=", "<<", ">>", "|", "||", "&", "~", "->", "->>", "1", "2.5", "0x1f", ".5",
    "1e3", "'a'", '"b"', "[c]", "`d`", "x'0f'", "?", "?1", ":a", "@b", "$c", "#", "a",
    "t", "x", "strict", "rowid", "stored", "int", "1x", "x'0'", "!", "^", "::", "{",
    "}", "'", '"', "/*", "--",
]  # fmt: skip


def is_accepted(text: str, name: str = "sql", start: str = "statement") -> bool:
    """Return whether Lark parses a text with a bundled grammar."""
    return lark_parses(text, name, start)


def _name(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return rng.choice(WORDS)
    return rng.choice("abcdefgh") + str(rng.randrange(100))


SAMPLES = {
    "NAME": _name,
    "WORD": lambda rng: rng.choice(WORDS),
    "QUOTED": ['"a b"', "[c d]", "`e`", '"x""y"'],
    "STRING": ["'s'", "'it''s'", "''"],
    "BLOB": ["x'00'", "X''"],
    "VARIABLE": ["?", "?7", ":v", "@v", "$v", "$a::b(c)", "#v"],
    "INTEGER": ["0", "1", "42", "0x1F"],
    "FLOAT": ["1.5", ".5", "1.", "1e3", "1.5E-3"],
    "EQUAL": ["=", "=="],
    "BITS": ["b'01'", "X'1F'"],
    "PARAMETER": ["$1"],
    "RESERVED": ["all", "from"],
    "COLUMN_WORD": ["bigint", "none", "xmlpi"],
}
