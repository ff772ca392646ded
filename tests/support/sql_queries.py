"""Random queries for SQLite that are meant to prepare: SELECT, compounds, VALUES, WITH.

`Queries` writes each part with the scope that it will stand in, so FROM is made before the SELECT
list, which is written before it. What it cannot know it leaves to the judge of `sql_statements`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from support.sql_expressions import NUMBERS, Place, Query
from support.sql_scopes import Scope, Source, Table, is_plain, own_names, star_names
from support.sql_sources import Sources

_WORDS = (
    *("total", "cnt", "n", "avg_value", "result", "label", "rank_no", "share", "first_one", "m"),
    *("grp", "diff", "total amount", "is_big", "k", "v"),
)
_NAME = r'(?:"(?:[^"]|"")+"|`[^`]+`|\[[^\]]+\]|[^\W\d]\w*)'
_REFERENCE = re.compile(rf"\(*(?:{_NAME}\.)*({_NAME})\)*\Z")
# A term of GROUP BY or ORDER BY that is no expression but a position.
_POSITION = re.compile(r"[-+( ]*(?:\d+|0x[0-9a-f]+)[ )]*(?:COLLATE \w+)?\Z")


@dataclass
class Column:
    """One result column: its text, the name others see, its alias, and what it holds."""

    text: str
    name: str
    alias: str = ""
    kind: str = "plain"


class Queries(Sources):
    """Writes random queries over a catalogue."""

    # -- SELECT ---------------------------------------------------------------------------------

    def result_columns(self, scope: Scope, place: Place, width: int) -> list[Column]:
        """Return result columns; width 0 for any number, stars included."""
        columns: list[Column] = []
        # After RIGHT or FULL JOIN … USING a star may be ambiguous.
        has_full = any(re.search("RIGHT|FULL", one.join) for one in scope.sources)
        is_merged = has_full and any(one.joined for one in scope.sources)
        if not width and scope.sources and not is_merged and self.chance(0.16):
            columns.append(self.star(scope))
            if self.chance(0.7):
                return columns
        for _ in range(width or self.rng.choices((1, 2, 3, 4), (25, 35, 25, 15))[0]):
            columns.append(self.result_column(scope, place))
        return columns

    def star(self, scope: Scope) -> Column:
        """Return `*` or `t.*`; its names are joined by commas in `name`."""
        names = [one.qualifier.lower() for one in scope.sources]
        fit = [
            one
            for one in scope.sources
            if one.qualifier and names.count(one.qualifier.lower()) == 1
        ]
        if fit and self.chance(0.5):
            source = self.rng.choice(fit)
            names = "\0".join(source.star or source.columns)
            return Column(f"{self.name(source.qualifier)}.*", names, kind="*")
        return Column("*", "\0".join(scope.star_columns()), kind="*")

    def result_column(self, scope: Scope, place: Place) -> Column:
        """Return one result column."""
        self.made_aggregate, before = False, self.made_aggregate
        self.made_window, window_before = False, self.made_window
        text = self.expression(scope, place)
        kind = "window" if self.made_window else "aggregate" if self.made_aggregate else "plain"
        self.made_aggregate |= before
        self.made_window |= window_before
        name = self.referred(text)
        if kind == "aggregate" and self.chance(0.1):
            name = text
        if self.chance(0.45) or (not name and self.chance(0.3)):
            alias = self.rng.choice(_WORDS) if self.chance(0.85) else self.some_column(scope)
            if kind == "plain" and self.chance(0.1) and is_plain(alias):
                return Column(f"{text} {alias}", alias, alias, kind)
            seen = "" if alias.lower() in ("true", "false") else alias
            return Column(f"{text} AS {self.name(alias)}", seen, alias, kind)
        return Column(text, name, "", kind)

    def referred(self, text: str) -> str:
        """Return the name of the column that an expression is; nothing if it is more than one."""
        text = re.sub(r" COLLATE \w+\Z", "", text)
        reference = _REFERENCE.match(text)
        plain = text.strip("()")
        if not reference or plain in NUMBERS or plain.lower().startswith("current_"):
            return ""
        written = reference[1]
        if written[0].isalpha() or written[0] == "_":
            return written
        return written[1:-1].replace('""', '"') if written[0] == '"' else written[1:-1]

    def some_column(self, scope: Scope) -> str:
        """Return a column's name, to be used as an alias that shadows or repeats it."""
        columns = [column for source in scope.sources for column in source.columns]
        return self.rng.choice(columns or _WORDS)

    def core(self, outer: Scope | None, depth: int, width: int = 0, plain: bool = False) -> Query:
        """Return one SELECT without ORDER BY."""
        scope = Scope(outer=outer)
        return self.core_in(scope, depth, width, plain)[0]

    def core_in(
        self, scope: Scope, depth: int, width: int = 0, plain: bool = False, fixed_from: str = ""
    ) -> tuple[Query, list[Column], bool]:
        """Return one SELECT in a scope, its columns, and whether ORDER BY may hold aggregates."""
        rng = self.rng
        source = fixed_from
        if not source and (rng.random() < 0.95 or not depth):
            source = self.from_clause(scope, depth)
        place = Place(max(0, min(2, depth)))
        is_grouped = not plain and bool(scope.sources) and self.chance(0.2)
        has_aggregates = is_grouped or (not plain and bool(scope.sources) and self.chance(0.12))
        has_windows = not plain and bool(scope.sources) and self.chance(0.13)
        named = [self.fresh("w") for _ in range(rng.choice((0, 1, 2)))] if has_windows else []
        self.names_of_windows.append(named)
        before, self.made_aggregate = self.made_aggregate, False
        window_before, self.made_window = self.made_window, False
        columns = self.result_columns(
            scope,
            Place(
                max(place.depth, 1 if has_aggregates or has_windows else 0),
                has_aggregates,
                has_windows,
            ),
            width,
        )
        made_aggregate = self.made_aggregate
        windows = self.window_clause(scope, named, place)
        scope.aliases = {column.alias: column.kind for column in reversed(columns) if column.alias}
        scope.sees_aliases = True
        text = (
            "SELECT "
            + rng.choice(("", "", "", "", "", "DISTINCT "))
            + ", ".join(column.text for column in columns)
        )
        text += f" FROM {source}" if source else ""
        if scope.sources and self.chance(0.5):
            text += f" WHERE {self.predicate(scope, Place(place.depth))}"
        if is_grouped:
            text += f" GROUP BY {self.groups(scope, columns, place)}"
        if (is_grouped and self.chance(0.4)) or (made_aggregate and self.chance(0.1)):
            text += f" HAVING {self.having(scope, place)}"
        text += windows
        self.names_of_windows.pop()
        self.made_aggregate, self.made_window = before, window_before
        names = [
            name
            for column in columns
            for name in (column.name.split("\0") if column.kind == "*" else [column.name])
        ]
        names = [
            f"column{position}" if name.lower() in ("true", "false") else name
            for position, name in enumerate(names, 1)
        ]
        ends_in_from = bool(source) and text.endswith(source)
        return Query(text, names, ends_in_from), columns, is_grouped or made_aggregate

    def window_clause(self, scope: Scope, named: list[str], place: Place) -> str:
        """Return WINDOW with the windows of this query."""
        if not named:
            return ""
        parts = [f"{named[0]} AS (PARTITION BY {self.column(scope)})"]
        if len(named) > 1 and self.chance(0.4):
            parts.append(f"{named[1]} AS ({named[0]} ORDER BY {self.column(scope)})")
        elif len(named) > 1:
            parts.append(f"{named[1]} AS ({self.window_definition(scope, place)})")
        return f" WINDOW {', '.join(parts)}"

    def groups(self, scope: Scope, columns: list[Column], place: Place) -> str:
        """Return the terms of GROUP BY."""
        own = Scope(sources=scope.sources, aliases=scope.aliases, sees_aliases=True)
        terms = []
        for _ in range(self.rng.choice((1, 1, 2))):
            plain = [
                position
                for position, column in enumerate(columns, 1)
                if column.kind == "plain" and "*" not in columns[0].kind
            ]
            choice = self.rng.random()
            if plain and choice < 0.2:
                terms.append(str(self.rng.choice(plain)))
            elif choice < 0.4:
                terms.append(self.alias_in_sight(own, Place()) or self.column(own))
            elif choice < 0.6:
                terms.append(self.expression(own, Place(min(1, place.depth))))
            else:
                terms.append(self.own_column(own) or "NULL")
            if choice >= 0.2 and _POSITION.match(terms[-1]):
                terms[-1] += " + 0"
        return ", ".join(terms)

    def having(self, scope: Scope, place: Place) -> str:
        """Return the condition of HAVING."""
        if self.chance(0.6):
            left = (
                self.aggregate(scope, Place(1))
                if self.chance(0.7)
                else (self.alias_in_sight(scope, Place(1, True)) or "count(*)")
            )
            return f"{left} {self.rng.choice(('>', '<', '=', '>='))} {self.literal()}"
        return self.predicate(scope, Place(min(1, place.depth), True))

    def order(self, scope: Scope, columns: list[Column], aggregates: bool, depth: int) -> str:
        """Return ORDER BY of a single SELECT."""
        own = Scope(sources=scope.sources, aliases=scope.aliases, sees_aliases=True)
        n_columns = sum(
            len(column.name.split("\0")) if column.kind == "*" else 1 for column in columns
        )
        aliases = list(scope.aliases)
        terms = []
        for _ in range(self.rng.choice((1, 1, 2))):
            choice = self.rng.random()
            if choice < 0.2:
                term = str(self.rng.randint(1, n_columns))
            elif choice < 0.45 and aliases:
                term = self.name(self.rng.choice(aliases))
            elif choice < 0.55 and aggregates:
                term = self.aggregate_call(own, Place(1))
            else:
                term = self.expression(own, Place(min(1, depth)))
            if choice >= 0.2 and _POSITION.match(term):
                term += " + 0"
            terms.append(term + self.direction())
        return " ORDER BY " + ", ".join(terms)

    def limit(self) -> str:
        """Return LIMIT, with OFFSET or not."""
        count = self.rng.choice(("1", "5", "10", "10 + 1", "(SELECT 3)", "-1"))
        if self.chance(0.1):
            return f" LIMIT 2, {count}"
        return f" LIMIT {count}" + (" OFFSET 5" if self.chance(0.3) else "")

    def query(self, outer: Scope | None, depth: int, width: int = 0) -> Query:
        """Return a whole query: perhaps WITH, a compound or VALUES, ORDER BY and LIMIT."""
        depth = max(0, depth)
        scope = Scope(outer=outer)
        prefix = ""
        if depth > 0 and self.chance(0.12 if outer is None else 0.04):
            holder = Scope(outer=outer)
            prefix = self.with_clause(holder, depth)
            scope = Scope(outer=outer, tables=holder.tables)
        if self.chance(0.03):
            query = self.values(scope, width, depth)
            return Query(prefix + query.text, query.names)
        if depth > 0 and self.chance(0.12):
            query = self.compound(scope, depth, width)
            return replace(query, text=prefix + query.text)
        query, columns, aggregates = self.core_in(scope, depth, width)
        text = query.text
        if self.chance(0.3):
            self.names_of_windows.append([])
            text += self.order(scope, columns, aggregates, depth)
            self.names_of_windows.pop()
        if self.chance(0.2):
            text += self.limit()
        ends_in_from = query.ends_in_from and text == query.text
        return Query(prefix + text, query.names, ends_in_from)

    def values(self, scope: Scope, width: int, depth: int) -> Query:
        """Return VALUES."""
        width = width or self.rng.choice((1, 2))
        rows: list[str] = []
        names: list[str] = []
        for _ in range(self.rng.choice((1, 2, 2))):
            items = [self.expression(scope, Place(min(1, depth))) for _ in range(width)]
            rows.append(f"({', '.join(items)})")
            # A column keeps its name, anything else is counted.
            names = names or [
                self.referred(item) or f"column{n}" for n, item in enumerate(items, 1)
            ]
        return Query("VALUES " + ", ".join(rows), names)

    def compound(self, scope: Scope, depth: int, width: int) -> Query:
        """Return UNION, INTERSECT or EXCEPT of two or three queries."""
        first, columns, _ = self.core_in(
            Scope(outer=scope.outer, tables=scope.tables), depth - 1, width
        )
        n_columns = len(first.names)
        text = first.text
        known = [column.alias for column in columns if column.alias]
        is_values = False
        for _ in range(self.rng.choice((1, 1, 2))):
            word = self.rng.choice(("UNION", "UNION ALL", "UNION ALL", "INTERSECT", "EXCEPT"))
            inner = Scope(outer=scope.outer, tables=scope.tables)
            is_values = self.chance(0.06)
            if is_values:
                arm = self.values(inner, n_columns, 0)
            else:
                arm, more, _ = self.core_in(inner, depth - 1, n_columns)
                known += [column.alias for column in more if column.alias]
            text += f" {word} {arm.text}"
        if not is_values and self.chance(0.45):
            terms = [
                self.name(self.rng.choice(known))
                if known and self.chance(0.6)
                else str(self.rng.randint(1, n_columns))
                for _ in range(self.rng.choice((1, 1, 2)))
            ]
            text += " ORDER BY " + ", ".join(term + self.direction() for term in terms)
        if not is_values and self.chance(0.2):
            text += self.limit()
        return Query(text, first.names, arm.ends_in_from)

    # -- WITH -----------------------------------------------------------------------------------

    def with_clause(self, scope: Scope, depth: int) -> str:
        """Return WITH, and note its tables in the scope."""
        parts, is_recursive = [], False
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            stem = self.rng.choice(("cte", "recent", "ranked", "base", "tree", "stats"))
            name = f"{stem}{self.n_names + 1}" if self.chance(0.5) else stem
            self.n_names += 1
            if not parts and self.chance(0.06):
                # It hides a table: also from those that come before it, so it is the first.
                name = self.rng.choice(list(self.tables.values())).name
            elif name.lower() in self.known(scope):
                continue
            if self.chance(0.2):
                text, columns = self.recursive(scope, name)
                is_recursive = True
            else:
                text, columns = self.common(scope, name, depth)
            parts.append(text)
            scope.tables[name.lower()] = Table(
                name,
                tuple(own_names(columns)),
                has_rowid=False,
                is_cte=True,
                star=tuple(star_names(columns)),
            )
        if not parts:
            return ""
        if len(parts) > 1 and self.chance(0.05):
            parts.reverse()
        word = "WITH RECURSIVE " if is_recursive and self.chance(0.8) else "WITH "
        return word + ", ".join(parts) + " "

    def common(self, scope: Scope, name: str, depth: int) -> tuple[str, list[str]]:
        """Return one common table expression and its columns."""
        # Without itself: it would be circular.
        tables = {**scope.tables, name.lower(): Table(name, ())}
        query = self.query(Scope(outer=scope.outer, tables=tables), min(1, depth - 1))
        columns = query.names
        listed = ""
        if self.chance(0.4) or not own_names(columns):
            columns = [f"{self.rng.choice('abcdef')}{n}" for n in range(len(query.names))]
            listed = f"({', '.join(columns)})"
        hint = self.rng.choice(("", "", "", "", " MATERIALIZED", " NOT MATERIALIZED"))
        return f"{self.name(name)}{listed} AS{hint} ({query.text})", columns

    def recursive(self, scope: Scope, name: str) -> tuple[str, list[str]]:
        """Return a recursive common table expression and its columns."""
        width = self.rng.choice((1, 2, 3))
        columns = [f"{self.rng.choice(('n', 'id', 'lvl', 'item'))}{n}" for n in range(width)]
        tables = {**scope.tables, name.lower(): Table(name, ())}
        inner = Scope(outer=scope.outer, tables=tables)
        if self.chance(0.5):
            seed = "SELECT " + ", ".join(self.literal() for _ in columns)
        elif self.chance(0.3):
            seed = "VALUES (" + ", ".join(self.literal() for _ in columns) + ")"
        else:
            seed = self.core_in(inner, 1, width, plain=True)[0].text
        step = Scope(outer=scope.outer, tables=tables)
        written = self.name(name)
        step.sources.append(Source(name, columns))
        if self.chance(0.5):
            text, source = self.source(step, 0)
            source.join = "JOIN"
            step.sources.append(source)
            written = self.joined(step, [written, text], 0)
        arm = self.core_in(step, 1, width, plain=True, fixed_from=written)[0].text
        word = self.rng.choice(("UNION ALL", "UNION ALL", "UNION"))
        end = self.rng.choice(("", "", "", " LIMIT 100", " ORDER BY 1"))
        return f"{self.name(name)}({', '.join(columns)}) AS ({seed} {word} {arm}{end})", columns
