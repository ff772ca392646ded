"""Random databases: definitions of tables and views that SQLite loads, made from a seed.

``random_schema(seed, n_tables)`` draws them. Names are made of words in one style for each schema;
tables share names of columns, and refer to earlier tables by foreign keys. Now and then a name is a
keyword or holds spaces, quotes or letters beyond ASCII, a key has several columns, a table has no
row ids, a column is generated, or a view reads what was defined before it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

_NOUN_WORDS = """
    account address agent album animal asset author badge batch bed bill book booking branch camera
    card case catalog city claim class client color comment contract country course crew customer
    delivery device doctor document driver edition employee engine event exam farm feature field
    file film flight folder game guest harbor house image invoice item job journal label language
    league lesson letter line loan machine map match meal meeting member menu message meter model
    note offer office order package page parcel part partner patient payment person photo plan plant
    player post price product project question rack rate recipe region report review ring room route
    sample school score season seat sensor service shelf shift ship shop site skill song species
    stage station stock store street student supplier survey task team ticket tool topic town track
    trip user vehicle vendor venue visit vote warehouse week window zone
"""
_QUALIFIER_WORDS = """
    active annual archived base closed daily default external final first foreign gross home initial
    inner internal last local main monthly net new next old open outer paid partial past pending
    primary private public recent regional related second shared source special spare target
    temporary total unit used weekly
"""
_SHARED_WORDS = """
    id name code title status type created_at updated_at note description amount price quantity year
    email city country active position date parent_id value comment rank
"""
_KEYWORD_WORDS = """
    order group table select index from to where key desc all as by case check column default delete
    distinct else end exists foreign having in insert into is join left like limit match natural not
    null offset on outer primary references replace right row rows set then union unique update
    using values view when window with filter over range current_date abort plan query temp
"""
_NOUNS, _QUALIFIERS = _NOUN_WORDS.split(), _QUALIFIER_WORDS.split()
_SHARED, _KEYWORDS = _SHARED_WORDS.split(), _KEYWORD_WORDS.split()
_ODD = (
    *("unit price", "First Name", "e-mail", "2nd line", "a.b", "% done", "due  date", " padded "),
    *('say "hi"', "it's", "back`tick", "[boxed]", "semi;colon", "--dash", "UPPER", "SHOUT CASE"),
    *("größe", "Straße", "naïve", "имя", "名前", "δ", "prix €", "año", "ID #", "is it?", "x/y"),
)
_INTEGERS = ("INTEGER", "INTEGER", "INT", "BIGINT", "BOOLEAN")
_NUMBERS = ("REAL", "NUMERIC(10, 2)", "DECIMAL", "DOUBLE PRECISION", "NUMERIC")
_TEXTS = ("TEXT", "TEXT", "VARCHAR(80)", "CHAR(3)", "DATE", "DATETIME", "TIMESTAMP")
_OTHERS = ("BLOB", "")
_AFFIXES = ("summary", "overview", "by", "list", "view", "stats")


@dataclass(frozen=True)
class _Reference:
    """Columns of a table that hold the key of another."""

    columns: tuple[str, ...]
    table: str
    key: tuple[str, ...]


@dataclass(frozen=True)
class _Table:
    """What later tables and views need to know of a table."""

    name: str
    columns: dict[str, str]  # and their types
    key: tuple[str, ...]
    references: tuple[_Reference, ...]


def random_schema(seed: int, n_tables: int) -> str:
    """Return definitions of so many tables, with some views; always the same for a seed."""
    return _Writer(random.Random(f"{seed} {n_tables}")).written(n_tables)


@cache
def schemas_50() -> list[str]:
    """Return fifty schemas, from 2 tables to 200, each a tenth larger than the one before."""
    return [random_schema(seed, round(2 * 100 ** (seed / 49))) for seed in range(50)]


class _Writer:
    """Writes one schema: its style is drawn first, then one table after the other."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._join = rng.choice(("_", "_", "_", "camel", "pascal"))
        self._plural = rng.random() < 0.4
        self._oddity = rng.choice((0.0, 0.02, 0.05, 0.15))  # the share of unusual names
        self._quotes = rng.choice((0.0, 0.0, 0.1, 1.0))  # the share of needless quotes
        self._key = rng.choice(("id", "{}_id", "{}_id", "code", "ID"))
        self._taken: set[str] = set()
        self._tables: list[_Table] = []

    def written(self, n_tables: int) -> str:
        statements = []
        for _ in range(n_tables):
            statements.append(self._table())
            if self._rng.random() < 0.08:
                statements.append(self._view())
        return ";\n".join(statements) + ";\n"

    # --- Names ------------------------------------------------------------------------------------

    def _spelled(self, *words: str) -> str:
        if self._join == "_":
            return "_".join(words)
        spelled = "".join(word.capitalize() for word in words)
        return spelled if self._join == "pascal" else spelled[0].lower() + spelled[1:]

    def _table_words(self) -> str:
        rng = self._rng
        if rng.random() < self._oddity:
            return rng.choice((*_KEYWORDS, *_ODD))
        words = [rng.choice(_NOUNS)]
        if rng.random() < 0.3:
            words.insert(0, rng.choice(_QUALIFIERS))
        if rng.random() < 0.3:
            words.append(rng.choice(_NOUNS))
        if self._plural and words[-1][-1] not in "shy":
            words[-1] += "s"
        return self._spelled(*words)

    def _column_words(self) -> str:
        rng = self._rng
        if rng.random() < self._oddity:
            return rng.choice((*_KEYWORDS, *_ODD))
        if rng.random() < 0.4:
            return self._spelled(*rng.choice(_SHARED).split("_"))
        if rng.random() < 0.5:
            return self._spelled(rng.choice(_NOUNS))
        return self._spelled(rng.choice(_QUALIFIERS), rng.choice(_NOUNS))

    def _quoted(self, name: str) -> str:
        """Return a name as SQL; what is no plain word, or is a keyword, is always quoted."""
        word = name.replace("_", "a")
        is_plain = word.isascii() and word.isalnum() and not word[0].isdigit()
        if is_plain and name.lower() not in _KEYWORDS and self._rng.random() >= self._quotes:
            return name
        choice = self._rng.random()
        if choice < 0.1 and "]" not in name:
            return f"[{name}]"
        if choice < 0.2:
            return "`" + name.replace("`", "``") + "`"
        return '"' + name.replace('"', '""') + '"'

    def _list(self, names: tuple[str, ...]) -> str:
        return "(" + ", ".join(map(self._quoted, names)) + ")"

    # --- Tables -----------------------------------------------------------------------------------

    def _table(self) -> str:
        rng = self._rng
        name = _fresh(self._table_words, self._taken)
        n_columns = rng.randint(1, 12)
        taken: set[str] = set()
        references = self._references(name, n_columns // 3, taken)
        columns = {
            column: self._type_of(reference, column)
            for reference in references
            for column in reference.columns
        }
        own = self._own_key(name, taken, columns)
        columns = own | columns  # the key stands first
        while len(columns) < n_columns:
            columns[_fresh(self._column_words, taken)] = rng.choice(
                (*_INTEGERS, *_NUMBERS, *_TEXTS, rng.choice(_OTHERS))
            )
        key = tuple(own) or self._chosen_key(columns)
        has_rowids = not key or rng.random() >= 0.1
        table = _Table(name, columns, key, references)
        lines = [self._column(table, column, has_rowids) for column in columns]
        if len(columns) < 12 and rng.random() < 0.12:
            computed = _fresh(self._column_words, taken)
            lines.append(self._generated(computed, columns))
            table = replace(table, columns=columns | {computed: "TEXT"})
        lines += self._constraints(table)
        self._tables.append(table)
        start = "CREATE TABLE IF NOT EXISTS" if rng.random() < 0.05 else "CREATE TABLE"
        body = ",\n    ".join(lines)
        end = ")" if has_rowids else ") WITHOUT ROWID"
        return f"{start} {self._quoted(name)} (\n    {body}\n{end}"

    def _references(self, name: str, most: int, taken: set[str]) -> tuple[_Reference, ...]:
        """Return references to some earlier tables, with fresh columns for them."""
        rng = self._rng
        parents = [table for table in self._tables[-60:] if table.key]
        found: list[_Reference] = []
        for parent in rng.sample(parents, min(len(parents), rng.randint(0, min(most, 3)))):
            if sum(len(reference.columns) for reference in found) + len(parent.key) > most:
                continue
            columns = []
            for key in parent.key:
                longer = f"{parent.name}_{key}"
                has_own_name = key.startswith(parent.name) or (len(key) > 4 and rng.random() < 0.5)
                names = [key] if has_own_name else [longer]
                columns.append(_fresh(iter([*names, *_numbered(longer)]).__next__, taken))
            found.append(_Reference(tuple(columns), parent.name, parent.key))
        return tuple(found)

    def _type_of(self, reference: _Reference, column: str) -> str:
        table = next(table for table in self._tables if table.name == reference.table)
        return table.columns[reference.key[reference.columns.index(column)]]

    def _own_key(self, name: str, taken: set[str], columns: dict[str, str]) -> dict[str, str]:
        """Return the column that is made to be the key, if there is one."""
        if self._rng.random() < 0.3 or len(columns) > 10:
            return {}
        name = self._key.format(name)
        if name.casefold() in taken:
            return {}
        taken.add(name.casefold())
        return {name: "TEXT" if self._key == "code" else "INTEGER"}

    def _chosen_key(self, columns: dict[str, str]) -> tuple[str, ...]:
        """Return a key of one to three of the columns, or none."""
        if self._rng.random() < 0.35:
            return ()
        return tuple(self._rng.sample(list(columns), min(len(columns), self._rng.randint(1, 3))))

    def _column(self, table: _Table, column: str, has_rowids: bool) -> str:
        rng = self._rng
        kind = table.columns[column]
        parts = [self._quoted(column), kind]
        if table.key == (column,):
            parts.append("PRIMARY KEY")
            if kind == "INTEGER" and has_rowids and rng.random() < 0.05:
                parts.append("AUTOINCREMENT")
        elif rng.random() < 0.08:
            parts.append("UNIQUE")
        if rng.random() < 0.35:
            parts.append("NOT NULL")
        if rng.random() < 0.1 and column not in table.key:
            texts = ("''", "'none'", "CURRENT_DATE", "(lower('X'))")
            parts.append("DEFAULT " + rng.choice(texts if kind in _TEXTS else ("0", "1", "NULL")))
        if rng.random() < 0.05:
            parts.append(f"CHECK (length({self._quoted(column)}) < 100)")
        if kind in _TEXTS and rng.random() < 0.1:
            parts.append("COLLATE NOCASE")
        for reference in table.references:
            if reference.columns == (column,):
                parts.append(f"REFERENCES {self._quoted(reference.table)}")
                if rng.random() < 0.7:
                    parts.append(self._list(reference.key))
                if rng.random() < 0.2:
                    # Not RESTRICT: with a table named "[x]", SQLite then looks for a table x.
                    parts.append("ON DELETE " + rng.choice(("CASCADE", "SET NULL", "NO ACTION")))
        return " ".join(filter(None, parts))

    def _generated(self, name: str, columns: dict[str, str]) -> str:
        """Return the line of a column that SQLite computes from one or two others."""
        rng = self._rng
        one, other = (self._quoted(rng.choice(list(columns))) for _ in range(2))
        value = rng.choice(
            (f"{one} || ' ' || {other}", f"{one} * 2", f"upper({one})", f"coalesce({one}, {other})")
        )
        always = rng.choice(("GENERATED ALWAYS AS", "AS"))
        kind = rng.choice(("", " STORED", " VIRTUAL"))
        return f"{self._quoted(name)} {rng.choice(_TEXTS)} {always} ({value}){kind}"

    def _constraints(self, table: _Table) -> list[str]:
        rng = self._rng
        lines = []
        if len(table.key) > 1:
            lines.append("PRIMARY KEY " + self._list(table.key))
        if len(table.columns) > 2 and rng.random() < 0.1:
            lines.append("UNIQUE " + self._list(tuple(rng.sample(list(table.columns), 2))))
        for reference in table.references:
            if len(reference.columns) > 1:
                target = f"{self._quoted(reference.table)} {self._list(reference.key)}"
                lines.append(f"FOREIGN KEY {self._list(reference.columns)} REFERENCES {target}")
        return lines

    # --- Views ------------------------------------------------------------------------------------

    def _view(self) -> str:
        """Return a view over one or two of the tables."""
        rng = self._rng
        table = rng.choice(self._tables[-60:])
        make = rng.choice((self._columns_of, self._groups_of, self._union_with, self._joined))
        names, query = make(table)
        name = _fresh(lambda: self._spelled(self._table_words(), rng.choice(_AFFIXES)), self._taken)
        head = f"CREATE VIEW {self._quoted(name)}"
        if rng.random() < 0.2:
            head += " " + self._list(names)
        return f"{head} AS\n{query}"

    def _columns_of(self, table: _Table) -> tuple[tuple[str, ...], str]:
        names = tuple(self._rng.sample(list(table.columns), min(3, len(table.columns))))
        columns = ", ".join(map(self._quoted, names))
        condition = f"{self._quoted(self._rng.choice(names))} IS NOT NULL"
        return names, f"SELECT {columns} FROM {self._quoted(table.name)} WHERE {condition}"

    def _groups_of(self, table: _Table) -> tuple[tuple[str, ...], str]:
        name = self._rng.choice(list(table.columns))
        count = _fresh(iter(("n", "total", *_numbered("n"))).__next__, {name.casefold()})
        group, counted = self._quoted(name), self._quoted(count)
        source = self._quoted(table.name)
        query = f"SELECT {group}, COUNT(*) AS {counted} FROM {source} GROUP BY {group}"
        return (name, count), query

    def _union_with(self, table: _Table) -> tuple[tuple[str, ...], str]:
        other = self._rng.choice(self._tables[-60:])
        name, second = (self._rng.choice(list(each.columns)) for each in (table, other))
        parts = [
            f"SELECT {self._quoted(column)} FROM {self._quoted(each.name)}"
            for each, column in ((table, name), (other, second))
        ]
        return (name,), f" {self._rng.choice(('UNION', 'UNION ALL', 'EXCEPT'))} ".join(parts)

    def _joined(self, table: _Table) -> tuple[tuple[str, ...], str]:
        if not table.references:
            return self._columns_of(table)
        reference = self._rng.choice(table.references)
        parent = next(each for each in self._tables if each.name == reference.table)
        first = self._rng.choice(list(table.columns))
        second = self._rng.choice(list(parent.columns))
        name = _fresh(iter((second, *_numbered(second))).__next__, {first.casefold()})
        matches = " AND ".join(
            f"a.{self._quoted(column)} = b.{self._quoted(key)}"
            for column, key in zip(reference.columns, reference.key, strict=True)
        )
        chosen = f"a.{self._quoted(first)}, b.{self._quoted(second)} AS {self._quoted(name)}"
        sources = f"{self._quoted(table.name)} AS a JOIN {self._quoted(parent.name)} AS b"
        return (first, name), f"SELECT {chosen} FROM {sources} ON {matches}"


def _numbered(name: str) -> list[str]:
    return [f"{name}{number}" for number in range(2, 50)]


def _fresh(make: Callable[[], str], taken: set[str]) -> str:
    """Return the first name made that is not taken, whatever its case, and take it."""
    while True:
        name = make()
        if name.casefold() not in taken:
            taken.add(name.casefold())
            return name
