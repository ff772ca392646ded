"""Random statements that SQLite prepares on a database, and plausible mistakes in them.

`random_statement` writes with the scopes of `sql_scopes` and lets SQLite judge; what SQLite refuses
is written anew from the next seed. `attempts` shows what was refused, and why.

>>> database = sqlite3.connect(":memory:")
>>> _ = database.executescript(DATABASES["shop"])
>>> random_statement(database, 1) == random_statement(database, 1)
True
"""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Iterator
from functools import cache

from support.sql_expressions import Place
from support.sql_judge import error
from support.sql_mistakes import MISTAKES, Mistake, mutated
from support.sql_queries import Queries
from support.sql_scopes import Catalogue, Scope, Source, Table

__all__ = [
    "DATABASES", "KINDS", "MISTAKES", "Mistake", "attempts", "made", "mutated",
    "random_statement",
]  # fmt: skip

KINDS = ("select", "insert", "update", "delete")
# Schemas that show what makes names hard: shared names, odd names, views, keys of all kinds.
DATABASES = {
    "shop": """
        CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT UNIQUE, age INT);
        CREATE TABLE orders (id INTEGER PRIMARY KEY, user_id INT, total REAL, created TEXT,
            note TEXT, UNIQUE (user_id, created));
        CREATE TABLE items (order_id INT, product TEXT, price REAL, quantity INT,
            amount AS (price * quantity), PRIMARY KEY (order_id, product)) WITHOUT ROWID;
        CREATE TABLE tags (name TEXT);
        CREATE VIEW big_orders AS SELECT id, user_id, total FROM orders WHERE total > 100;
    """,
    "school": """
        CREATE TABLE student (id INTEGER PRIMARY KEY, name TEXT, class_id INT, born DATE, info);
        CREATE TABLE class (id INTEGER PRIMARY KEY, title TEXT, teacher_id INT, room TEXT);
        CREATE TABLE teacher (id INTEGER PRIMARY KEY, name TEXT, salary REAL, boss_id INT);
        CREATE TABLE grade (student_id INT, class_id INT, grade REAL, given TEXT,
            PRIMARY KEY (student_id, class_id));
        CREATE UNIQUE INDEX class_title ON class (title COLLATE NOCASE);
    """,
    "odd": """
        CREATE TABLE "Order Lines" ("line no" INTEGER PRIMARY KEY, "select" TEXT, [from] INT, x, y);
        CREATE TABLE pair (x, y);
        CREATE TABLE "größe" ("ä ö" TEXT, value, key INT, "a""b", x);
        CREATE TABLE "group" (id INT, "order" TEXT, "end", rowid TEXT, "true");
        CREATE VIEW v AS SELECT x, y, count(*) AS n FROM pair GROUP BY x;
    """,
}


@cache
def made(key: str) -> sqlite3.Connection:
    """Return one of `DATABASES`, made in memory."""
    database = sqlite3.connect(":memory:")
    database.executescript(DATABASES[key])
    return database


def random_statement(database: sqlite3.Connection, seed: int, kind: str = "select") -> str:
    """Return a statement of a kind that SQLite prepares on a database."""
    return next(text for text, message in attempts(database, seed, kind) if not message)


def attempts(
    database: sqlite3.Connection, seed: int, kind: str = "select"
) -> Iterator[tuple[str, str]]:
    """Yield statements, each with SQLite's error, until one has none."""
    catalogue = Catalogue.of(database)
    names = [table.name for table in catalogue.tables]
    for attempt in range(1000):
        writer = Statements(catalogue, random.Random(f"{kind} {seed} {attempt} {names}"))
        text = writer.statement(kind)
        message = error(text, database)
        yield text, message
        if not message:
            return


class Statements(Queries):
    """Writes random statements over a catalogue."""

    def statement(self, kind: str) -> str:
        """Return a statement of a kind."""
        writers = {
            "select": self.select,
            "insert": self.insert,
            "update": self.update,
            "delete": self.delete,
        }
        text = writers[kind]()
        return text + (";" if self.chance(0.05) else "")

    def select(self) -> str:
        """Return a query."""
        depth = self.rng.choices((0, 1, 2, 3), (25, 35, 30, 10))[0]
        return self.query(None, depth).text

    def target(self) -> Table:
        """Return a table that may be changed."""
        fit = [t for t in self.catalogue.tables if not t.is_view and not t.is_virtual]
        return self.rng.choice(fit)

    def prefix(self, scope: Scope) -> str:
        """Return WITH in a few cases; its tables are noted in the scope."""
        return self.with_clause(scope, 1) if self.chance(0.1) else ""

    def or_what(self) -> str:
        """Return the clause of conflicts after INSERT or UPDATE."""
        words = ("REPLACE", "IGNORE", "ABORT", "FAIL", "ROLLBACK")
        return f" OR {self.rng.choice(words)}" if self.chance(0.12) else ""

    def seen(self, table: Table, qualifier: str) -> Source:
        """Return a changed table as its own clauses see it."""
        return Source(qualifier, list(table.columns), table.has_rowid)

    def returning(self, table: Table) -> str:
        """Return RETURNING in some cases; it knows the table by its own name alone."""
        if not self.chance(0.25):
            return ""
        if self.chance(0.3):
            return " RETURNING *"
        scope = Scope(sources=[self.seen(table, table.name)])
        columns = []
        for _ in range(self.rng.choice((1, 1, 2))):
            alias = f" AS {self.fresh('r')}" if self.chance(0.3) else ""
            columns.append(self.expression(scope, Place(1)) + alias)
        return f" RETURNING {', '.join(columns)}"

    # -- INSERT ---------------------------------------------------------------------------------

    def insert(self) -> str:
        """Return an INSERT or REPLACE."""
        table = self.target()
        scope = Scope()
        prefix = self.prefix(scope)
        start = "REPLACE" if self.chance(0.08) else f"INSERT{self.or_what()}"
        alias = self.fresh(table.name) if self.chance(0.1) else ""
        schema = "main." if self.chance(0.04) else ""
        text = f"{prefix}{start} INTO {schema}{self.name(table.name)}"
        text += f" AS {alias}" if alias else ""
        if self.chance(0.05):
            return f"{text} DEFAULT VALUES{self.returning(table)}"
        writable = [column for column in table.columns if column not in table.generated]
        columns = writable
        if self.chance(0.75):
            columns = self.rng.sample(writable, self.rng.randint(1, len(writable)))
            if table.has_rowid and self.chance(0.04):
                columns = [self.rng.choice(("rowid", "oid")), *columns]
            text += f" ({', '.join(map(self.name, columns))})"
        if self.chance(0.7):
            text += f" {self.rows(scope, len(columns))}"
            can_conflict = True
        else:
            query = self.query(Scope(tables=scope.tables), 1, width=len(columns))
            # SQLite forgets WITH before VALUES of one row here.
            while re.match(r"WITH.*VALUES", query.text):
                query = self.query(Scope(tables=scope.tables), 1, width=len(columns))
            text += f" {query.text}"
            can_conflict = not query.ends_in_from and self.chance(0.4)
        if can_conflict and self.chance(0.3):
            text += self.upsert(table, alias or table.name)
        return text + self.returning(table)

    def rows(self, scope: Scope, width: int) -> str:
        """Return VALUES without any column in sight."""
        rows = []
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            items = [
                self.literal() if self.chance(0.75) else self.expression(scope, Place(1))
                for _ in range(width)
            ]
            rows.append(f"({', '.join(items)})")
        return "VALUES " + ", ".join(rows)

    def upsert(self, table: Table, qualifier: str) -> str:
        """Return ON CONFLICT with a key of the table or none."""
        target = ""
        if table.keys and self.chance(0.7):
            key = list(self.rng.choice(table.keys))
            self.rng.shuffle(key)
            target = f" ({', '.join(map(self.name, key))})"
        if self.chance(0.35):
            return f" ON CONFLICT{target} DO NOTHING"
        scope = Scope(sources=[self.seen(table, qualifier)])
        excluded = self.seen(table, "excluded")
        sets = self.assignments(scope, table, excluded)
        where = f" WHERE {self.predicate(scope, Place(1))}" if self.chance(0.25) else ""
        return f" ON CONFLICT{target} DO UPDATE SET {sets}{where}"

    def assignments(self, scope: Scope, table: Table, excluded: Source | None = None) -> str:
        """Return what stands after SET."""
        writable = [column for column in table.columns if column not in table.generated]
        count = min(len(writable), self.rng.choice((1, 1, 1, 2, 2, 3)))
        columns = self.rng.sample(writable, count)
        if count > 1 and self.chance(0.25):
            left = f"({', '.join(map(self.name, columns))})"
            if self.chance(0.4):
                return f"{left} = ({self.query(scope, 1, width=count).text})"
            return f"{left} = ({', '.join(self.value(scope, excluded) for _ in columns)})"
        return ", ".join(
            f"{self.name(column)} = {self.value(scope, excluded)}" for column in columns
        )

    def value(self, scope: Scope, excluded: Source | None) -> str:
        """Return the right side of an assignment."""
        if excluded is not None and self.chance(0.6):
            return f"excluded.{self.name(self.rng.choice(excluded.columns))}"
        return self.expression(scope, Place(self.rng.choice((0, 1, 1, 2))))

    # -- UPDATE and DELETE ----------------------------------------------------------------------

    def changed(self, table: Table) -> tuple[str, str]:
        """Return the target of UPDATE or DELETE, and the name it goes by."""
        alias = self.fresh(table.name) if self.chance(0.15) else ""
        schema = "main." if self.chance(0.04) else ""
        text = f"{schema}{self.name(table.name)}" + (f" AS {alias}" if alias else "")
        return text, alias or table.name

    def update(self) -> str:
        """Return an UPDATE."""
        table = self.target()
        scope = Scope()
        prefix = self.prefix(scope)
        text, qualifier = self.changed(table)
        scope.sources.append(self.seen(table, qualifier))
        from_text = ""
        if self.chance(0.2):
            # FROM knows nothing of the target, and what follows knows both.
            inner = Scope(tables=scope.tables)
            from_text = f" FROM {self.from_clause(inner, 1)}"
            # SQLite makes a star of several sources, which may be ambiguous after USING.
            is_star = any(one.joined for one in inner.sources) and (
                len(inner.sources) > 2 or "RIGHT" in inner.sources[-1].join
            )
            names = [one.qualifier.lower() for one in inner.sources]
            if is_star or qualifier.lower() in names:
                from_text = ""
            else:
                for source in inner.sources:
                    source.has_rowid, source.may_have_rowid, source.hidden = False, True, ()
                scope.sources += inner.sources
        sets = self.assignments(scope, table)
        where = f" WHERE {self.predicate(scope, Place(2))}" if self.chance(0.8) else ""
        return (
            f"{prefix}UPDATE{self.or_what()} {text} SET {sets}{from_text}{where}"
            f"{self.returning(table)}"
        )

    def delete(self) -> str:
        """Return a DELETE."""
        table = self.target()
        scope = Scope()
        prefix = self.prefix(scope)
        text, qualifier = self.changed(table)
        scope.sources.append(self.seen(table, qualifier))
        where = f" WHERE {self.predicate(scope, Place(2))}" if self.chance(0.9) else ""
        return f"{prefix}DELETE FROM {text}{where}{self.returning(table)}"
