"""Plausible mistakes in statements of SQL, each judged by SQLite.

A mistake changes few tokens. It may leave the statement valid, so the judge's word is kept with it.
"""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from support.sql_judge import error, is_syntax

_TOKENS = re.compile(
    r"\s+|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|\[[^\]]*\]"
    r"|[^\W\d][\w$]*|\d[\w.]*|->>?|<=|>=|<>|!=|==|\|\||<<|>>|."
)
_KEYWORDS = re.compile(
    r"ABORT|ALL|AND|AS|ASC|BETWEEN|BY|CASE|CAST|COLLATE|CONFLICT|CROSS|CURRENT|DEFAULT|"
    r"DELETE|DESC|DISTINCT|DO|ELSE|END|ESCAPE|EXCEPT|EXCLUDE|EXISTS|FAIL|FILTER|FOLLOWING|"
    r"FROM|FULL|GLOB|GROUP|GROUPS|HAVING|IGNORE|IN|INNER|INSERT|INTERSECT|INTO|IS|ISNULL|"
    r"JOIN|LEFT|LIKE|LIMIT|MATERIALIZED|NATURAL|NOT|NOTHING|NOTNULL|NULL|NULLS|OFFSET|ON|"
    r"OR|ORDER|OUTER|OVER|PARTITION|PRECEDING|RANGE|RECURSIVE|REPLACE|RETURNING|RIGHT|"
    r"ROLLBACK|ROW|ROWS|SELECT|SET|THEN|TIES|UNBOUNDED|UNION|UPDATE|USING|VALUES|WHEN|"
    r"WHERE|WINDOW|WITH|FIRST|LAST|TRUE|FALSE|CURRENT_DATE|CURRENT_TIMESTAMP"
)


@dataclass(frozen=True)
class Mistake:
    """A statement with a mistake: the text, what was done, and SQLite's error (nothing: valid)."""

    statement: str
    name: str
    message: str

    @property
    def is_valid(self) -> bool:
        """Return whether SQLite prepares it nevertheless."""
        return not self.message


class Tokens:
    """The tokens of a statement, and random places among them."""

    def __init__(self, statement: str, database: sqlite3.Connection, rng: random.Random):
        self.texts = _TOKENS.findall(statement)
        self.rng = rng
        self.database = database
        self.words = [i for i, text in enumerate(self.texts) if not text.isspace()]

    def is_name(self, i: int) -> bool:
        """Return whether a token is a name, quoted or not."""
        text = self.texts[i]
        return text[0] in '"`[' or (
            (text[0].isalpha() or text[0] == "_") and not _KEYWORDS.fullmatch(text.upper())
        )

    def after(self, i: int) -> str:
        """Return the token that follows."""
        return next((text for text in self.texts[i + 1 :] if not text.isspace()), "")

    def before(self, i: int) -> str:
        """Return the token that precedes."""
        return next((text for text in reversed(self.texts[:i]) if not text.isspace()), "")

    def names(self) -> list[int]:
        """Return the names that are no functions."""
        return [i for i in self.words if self.is_name(i) and self.after(i) != "("]

    def functions(self) -> list[int]:
        """Return the names of functions."""
        return [i for i in self.words if self.is_name(i) and self.after(i) == "("]

    def keywords(self, *which: str) -> list[int]:
        """Return the places of keywords."""
        return [i for i in self.words if self.texts[i].upper() in which]

    def put(self, places: list[int], *options: str) -> bool:
        """Put one of some texts at one of some places."""
        if not places or not options:
            return False
        self.texts[self.rng.choice(places)] = self.rng.choice(options)
        return True

    def add(self, places: list[int], *options: str) -> bool:
        """Add one of some texts after one of some places."""
        if not places:
            return False
        i = self.rng.choice(places)
        self.texts[i] += self.rng.choice(options)
        return True

    def tables(self) -> list[str]:
        """Return the database's tables as SQL names."""
        rows = self.database.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table','view')"
        )
        return ['"' + name.replace('"', '""') + '"' for (name,) in rows]

    def columns(self) -> list[str]:
        """Return the database's columns as SQL names."""
        rows = self.database.execute(
            "SELECT DISTINCT c.name FROM sqlite_master AS t, pragma_table_info(t.name) AS c"
            " WHERE t.type IN ('table', 'view') ORDER BY 1"
        )
        return ["[" + name + "]" for (name,) in rows if "]" not in name]


def _qualified(tokens: Tokens) -> list[int]:
    return [i for i in tokens.names() if tokens.before(i) == "."]


def _qualifiers(tokens: Tokens) -> list[int]:
    return [i for i in tokens.names() if tokens.after(i) == "."]


def _sources(tokens: Tokens) -> list[int]:
    return [i for i in tokens.names() if tokens.before(i).upper() in ("FROM", "JOIN", "INTO", "IN")]


def _drop_qualifier(tokens: Tokens) -> bool:
    places = _qualifiers(tokens)
    if not places:
        return False
    i = tokens.rng.choice(places)
    del tokens.texts[i : i + 2]
    return True


def _swap(tokens: Tokens) -> bool:
    names = tokens.names()
    texts = sorted({tokens.texts[i] for i in names})
    return len(texts) > 1 and tokens.put(names, *texts)


def _repeat_source(tokens: Tokens) -> bool:
    places = tokens.keywords("FROM")
    return tokens.add(places, *(f" {table}," for table in tokens.tables()))


def _arguments(tokens: Tokens) -> bool:
    functions = tokens.functions()
    if not functions:
        return False
    i = tokens.rng.choice(functions)
    opening = tokens.texts.index("(", i)
    tokens.texts[opening] += tokens.rng.choice(("1, ", "1, 2, ", "DISTINCT ", "*", "NULL, "))
    return True


def _empty_call(tokens: Tokens) -> bool:
    functions = tokens.functions()
    if not functions:
        return False
    start = tokens.texts.index("(", tokens.rng.choice(functions))
    depth = 0
    for end in range(start, len(tokens.texts)):
        depth += {"(": 1, ")": -1}.get(tokens.texts[end], 0)
        if not depth:
            tokens.texts[start + 1 : end] = tokens.rng.choice(([], ["*"]))
            return True
    return False


def _drop_clause(tokens: Tokens) -> bool:
    """Take GROUP BY, OVER or WINDOW away with what belongs to it, up to the next keyword."""
    starts = tokens.keywords("GROUP", "OVER", "WINDOW", "HAVING", "WITH", "FROM")
    if not starts:
        return False
    start = tokens.rng.choice(starts)
    stops = ("HAVING", "ORDER", "LIMIT", "WINDOW", "UNION", "WHERE", "FROM", "GROUP", "SELECT")
    depth, end = 0, start + 1
    while end < len(tokens.texts):
        text = tokens.texts[end]
        depth += {"(": 1, ")": -1}.get(text, 0)
        if depth < 0 or (not depth and (text.upper() in stops or text == ",")):
            break
        end += 1
    del tokens.texts[start:end]
    return True


def _drop_item(tokens: Tokens) -> bool:
    commas = [i for i, text in enumerate(tokens.texts) if text == ","]
    if not commas:
        return False
    i = tokens.rng.choice(commas)
    depth, end = 0, i + 1
    while end < len(tokens.texts):
        text = tokens.texts[end]
        depth += {"(": 1, ")": -1}.get(text, 0)
        if depth < 0 or (not depth and (text == "," or text.upper() in ("FROM", "WHERE"))):
            break
        end += 1
    tokens.texts[i:end] = [" "]
    return True


def _position(tokens: Tokens) -> bool:
    places = [i for i in tokens.keywords("BY") if tokens.before(i).upper() in ("ORDER", "GROUP")]
    return tokens.add(places, " 0,", " 99,", " 1,", " 2,", " 3,", " -1,", " (4),", " +2,")


MISTAKES: dict[str, Callable[[Tokens], bool]] = {
    "column of another table": lambda t: t.put(_qualified(t) or t.names(), *t.columns()),
    "unknown column": lambda t: t.put(_qualified(t) or t.names(), "nope", "[no such]"),
    "unknown name": lambda t: t.put(t.names(), "nope", "[nope]"),
    "another qualifier": lambda t: t.put(
        _qualifiers(t), *t.tables(), *sorted({t.texts[i] for i in t.names()})
    ),
    "unknown qualifier": lambda t: t.put(_qualifiers(t), "zz"),
    "no qualifier": _drop_qualifier,
    "one name for another": _swap,
    "another table": lambda t: t.put(_sources(t), *t.tables(), "nope"),
    "one more source": _repeat_source,
    "aggregate in WHERE": lambda t: t.add(
        t.keywords("WHERE", "ON"), " count(*) > 1 AND", " max(1) AND", " sum(1) OR"
    ),
    "window in WHERE": lambda t: t.add(
        t.keywords("WHERE", "HAVING", "BY"), " row_number() OVER () = 1 AND"
    ),
    "one more column": lambda t: t.add(t.keywords("SELECT"), " 1,", " *,"),
    "one more value": lambda t: t.add(
        [i for i in t.words if t.texts[i] == "(" and t.before(i).upper() in ("VALUES", "IN", "=")],
        "1, ",
    ),
    "wrong arguments": _arguments,
    "no arguments": _empty_call,
    "unknown function": lambda t: t.put(t.functions(), "nofun", "row_number", "max", "regexp"),
    "position": _position,
    "unknown term": lambda t: t.add(
        t.keywords("BY"), " nope,", " [nope],", " max(1),", " 'x',", ' "nope",'
    ),
    "HAVING": lambda t: t.add([t.words[-1]], " HAVING 1", " HAVING count(*) > 1"),
    "ORDER BY": lambda t: t.add([t.words[-1]], " ORDER BY 9", " ORDER BY nope", " LIMIT id"),
    "clause left out": _drop_clause,
    "item left out": _drop_item,
    "row value": lambda t: t.put(
        [i for i in t.names() if t.before(i) not in (".", ")") and t.after(i) != "."],
        "(1, 2)",
        "(SELECT 1, 2)",
    ),
    "other quotes": lambda t: t.put(
        t.names(), *(f'"{t.texts[i].strip(chr(34))}"' for i in t.names()), '"nope"', "'x'"
    ),
    "unknown collation": lambda t: t.add(t.names(), " COLLATE nope"),
    "unknown window": lambda t: (
        t.put(
            [i for i in t.words if t.before(i).upper() in ("OVER", "WINDOW") and t.is_name(i)],
            "nope",
        )
        or t.add(
            [i for i in t.words if t.texts[i] == "(" and t.before(i).upper() == "OVER"], "nope "
        )
    ),
    "other join": lambda t: t.put(
        t.keywords("JOIN"), "FULL JOIN", "NATURAL JOIN", "RIGHT JOIN", "CROSS JOIN", ","
    ),
    "alias left out": lambda t: t.put(
        [i for i in t.names() if t.before(i).upper() == "AS"], "other", "zz"
    ),
    "star": lambda t: t.put(
        [i for i in t.names() if t.before(i) in (",", "SELECT", ".") and t.after(i) != "."], "*"
    ),
}


def mutated(statement: str, database: sqlite3.Connection, seed: int) -> Mistake:
    """Return a statement with one mistake that is not one of syntax, and what SQLite says of it."""
    rng = random.Random(f"mistake {seed} {statement}")
    for _ in range(5):
        names = list(MISTAKES)
        rng.shuffle(names)
        for name in names:
            tokens = Tokens(statement, database, rng)
            if not MISTAKES[name](tokens) or (text := "".join(tokens.texts)) == statement:
                continue
            message = error(text, database)
            if not is_syntax(message) and "one statement at a time" not in message:
                return Mistake(text, name, message)
    return Mistake(statement, "", error(statement, database))
