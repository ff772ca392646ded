"""Random FROM clauses for SQLite: tables, derived tables, table functions and their joins."""

from __future__ import annotations

from support.sql_expressions import COMPARE, Expressions
from support.sql_scopes import JSON_COLUMNS, Scope, Source, own_names, star_names


class Sources(Expressions):
    """Writes random FROM clauses."""

    def source(self, scope: Scope, depth: int) -> tuple[str, Source]:
        """Return one table of FROM as text and as a source."""
        if depth > 0 and self.chance(0.16):
            # A derived table sees the queries around this one, but nothing of this one.
            inner = Scope(outer=scope.outer, tables=scope.tables)
            query = self.query(inner, depth - 1)
            alias = self.fresh("sub") if self.chance(0.9) else ""
            text = f"({query.text})" + (self.as_alias(alias) if alias else "")
            source = Source(alias, own_names(query.names), may_have_rowid=True)
            source.star = star_names(query.names)
            return text, source
        tables = list(self.known(scope).values())
        table = self.rng.choice(tables)
        ctes = [table for table in tables if table.is_cte]
        if ctes and self.chance(0.5):
            table = self.rng.choice(ctes)
        alias = self.fresh(table.name) if self.chance(0.45) else ""
        if any(other.qualifier.lower() == (alias or table.name).lower() for other in scope.sources):
            alias = self.fresh(table.name)
        schema = "main" if not table.is_cte else ""
        text = self.name(table.name)
        if schema and self.chance(0.03):
            text = f"main.{text}"
        text += self.as_alias(alias) if alias else ""
        source = Source(alias or table.name, list(table.columns), table.has_rowid, schema)
        source.may_have_rowid = table.is_view
        source.star = list(table.star)
        return text, source

    def as_alias(self, alias: str) -> str:
        """Return an alias of a table, with or without AS."""
        return f" AS {self.name(alias)}" if self.chance(0.7) else f" {alias}"

    def from_clause(self, scope: Scope, depth: int, n_sources: int = 0) -> str:
        """Return FROM without the word, and note its sources in the scope."""
        n_sources = n_sources or self.rng.choices((1, 2, 3), (60, 30, 10))[0]
        texts: list[str] = []
        for position in range(n_sources):
            text, source = self.source(scope, depth)
            if position and self.chance(0.08):
                text, source = self.table_function(scope)
            if position:
                source.join = self.join_word()
            texts.append(text)
            scope.sources.append(source)
        return self.joined(scope, texts, depth)

    def table_function(self, scope: Scope) -> tuple[str, Source]:
        """Return json_each or json_tree over a column of a source to the left."""
        alias = self.fresh("j")
        name = self.rng.choice(("json_each", "json_each", "json_tree"))
        columns = [
            f"{self.name(source.qualifier)}.{self.name(self.rng.choice(source.columns))}"
            for source in scope.sources
            if source.qualifier and source.columns
        ]
        argument = self.rng.choice(columns) if columns and self.chance(0.85) else "'[1, 2]'"
        path = ", '$.a'" if self.chance(0.2) else ""
        source = Source(alias, list(JSON_COLUMNS), True, hidden=("json", "root"))
        return f"{name}({argument}{path}){self.as_alias(alias)}", source

    def join_word(self) -> str:
        """Return how a further source is joined."""
        return self.rng.choices(
            (
                *(",", "JOIN", "INNER JOIN", "LEFT JOIN", "LEFT OUTER JOIN", "CROSS JOIN"),
                *("RIGHT JOIN", "FULL JOIN", "FULL OUTER JOIN", "NATURAL JOIN"),
                *("NATURAL LEFT JOIN",),
            ),
            (20, 30, 8, 20, 4, 5, 4, 3, 1, 4, 2),
        )[0]

    def joined(self, scope: Scope, texts: list[str], depth: int) -> str:
        """Return the joins of FROM, each with USING, ON or nothing."""
        has_outer = any("RIGHT" in one.join or "FULL" in one.join for one in scope.sources)
        using: dict[int, list[str]] = {}
        for position, source in enumerate(scope.sources):
            if not position:
                continue
            left = Scope(sources=scope.sources[:position])
            common = [
                column
                for column in source.columns
                if left.count(column)[0] == 1 or (left.count(column)[0] and not has_outer)
            ]
            if "NATURAL" in source.join:
                shared = [column for column in source.columns if left.count(column)[0]]
                if len(shared) > len(common):
                    source.join = "JOIN"
                    continue
                source.joined = {column.lower() for column in shared}
            elif common and source.join != "," and self.chance(0.3):
                using[position] = self.rng.sample(common, 1 if self.chance(0.8) else len(common))
                source.joined = {column.lower() for column in using[position]}
        written = texts[0]
        for position, text in list(enumerate(texts))[1:]:
            source = scope.sources[position]
            separator = ", " if source.join == "," else f" {source.join} "
            written += separator + text
            if position in using:
                written += f" USING ({', '.join(map(self.name, using[position]))})"
            elif source.join != "," and "NATURAL" not in source.join and self.chance(0.92):
                written += f" ON {self.on(scope, position, depth, has_outer)}"
            if position == 1 and len(texts) > 2 and not has_outer and self.chance(0.15):
                written = f"({written})"
                for inner in scope.sources[:2]:
                    inner.has_rowid, inner.may_have_rowid = False, True
        return written

    def on(self, scope: Scope, position: int, depth: int, has_outer: bool) -> str:
        """Return the condition of a join, over the sources so far."""
        seen = scope.sources[: position + 1]
        if not has_outer and scope.sources[position].join == "JOIN" and self.chance(0.03):
            seen = scope.sources
        # Unqualified names count all sources; so others are looked up in the whole scope.
        columns = [
            column
            for _ in range(6)
            if (source := self.rng.choice(seen)).columns
            and (column := self.column_of(scope, source))
        ]
        here = [
            column
            for _ in range(3)
            if scope.sources[position].columns
            and (column := self.column_of(scope, scope.sources[position]))
        ]
        if not columns or not here:
            return "1"
        if has_outer:
            columns = [column for column in columns if "." in column]
            here = [column for column in here if "." in column]
            if not columns or not here:
                return "1"
        condition = f"{columns[0]} = {here[0]}"
        if self.chance(0.15):
            condition += f" AND {columns[-1]} {self.rng.choice(COMPARE)} {self.literal()}"
        return condition
