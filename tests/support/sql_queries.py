"""Random queries for SQLite that are meant to prepare: expressions, FROM, SELECT, WITH.

`Queries` writes each part with the scope that it will stand in, so FROM is made before the SELECT
list, which is written before it. What it cannot know it leaves to the judge of `sql_statements`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from support.sql_scopes import (
    JSON_COLUMNS,
    Catalogue,
    Random,
    Scope,
    Source,
    Table,
    is_plain,
    own_names,
    quoted,
    star_names,
)

_WORDS = (
    *("total", "cnt", "n", "avg_value", "result", "label", "rank_no", "share", "first_one", "m"),
    *("grp", "diff", "total amount", "is_big", "k", "v"),
)
_STRINGS = ("'a'", "'abc'", "'%x%'", "'2024-01-01'", "'it''s'", "''", "'$.a'", "'{\"a\": [1]}'")
_NUMBERS = ("0", "1", "2", "10", "100", "0.5", "1e3", "-1", "NULL", "x'0a'", "0x10", "TRUE")
_TYPES = ("INTEGER", "TEXT", "REAL", "NUMERIC", "BLOB", "VARCHAR(10)", "decimal(10, 2)", "int")
_COMPARE = ("=", "=", "<", ">", "<=", ">=", "<>", "!=", "==", "IS", "IS NOT")
_NAME = r'(?:"(?:[^"]|"")+"|`[^`]+`|\[[^\]]+\]|[^\W\d]\w*)'
_REFERENCE = re.compile(rf"\(*(?:{_NAME}\.)*({_NAME})\)*\Z")
# A term of GROUP BY or ORDER BY that is no expression but a position.
_POSITION = re.compile(r"[-+( ]*(?:\d+|0x[0-9a-f]+)[ )]*(?:COLLATE \w+)?\Z")
_ARITHMETIC = ("+", "-", "*", "/", "%", "||", "||", "&", "|", "<<", ">>")


@dataclass(frozen=True)
class Place:
    """What may stand in an expression: how deep it may go, and what calls it may hold."""

    depth: int = 2
    aggregates: bool = False
    windows: bool = False

    def deeper(self) -> Place:
        """Return the place one level further in."""
        return replace(self, depth=self.depth - 1)

    def plain(self) -> Place:
        """Return the place without aggregates and windows."""
        return Place(self.depth - 1)


@dataclass
class Column:
    """One result column: its text, the name others see, its alias, and what it holds."""

    text: str
    name: str
    alias: str = ""
    kind: str = "plain"


@dataclass
class Query:
    """A query that has been written."""

    text: str
    names: list[str]
    ends_in_from: bool = False


class Queries:
    """Writes random queries over a catalogue."""

    def __init__(self, catalogue: Catalogue, rng: Random):
        self.catalogue = catalogue
        self.rng = rng
        self.tables = {table.name.lower(): table for table in catalogue.tables}
        self.n_names = 0
        self.names_of_windows: list[list[str]] = []
        self.made_aggregate = False
        self.made_window = False
        self.has_column_true = any(
            column.lower() == "true" for table in catalogue.tables for column in table.columns
        )

    # -- small things ---------------------------------------------------------------------------

    def chance(self, share: float) -> bool:
        """Return true in that share of cases."""
        return self.rng.random() < share

    def name(self, name: str) -> str:
        """Return a name as SQL."""
        return quoted(name, self.rng)

    def fresh(self, stem: str = "") -> str:
        """Return a name that is not in use."""
        self.n_names += 1
        stem = stem or self.rng.choice(("t", "s", "x", "sub", "q"))
        return f"{stem[:1].lower() if stem[:1].isalpha() and stem.isascii() else 't'}{self.n_names}"

    # -- names of columns -----------------------------------------------------------------------

    def column(self, scope: Scope, near: float = 0.8) -> str:
        """Return a column in sight, or a literal if there is none."""
        visible = [(distance, source) for distance, source in scope.visible() if source.columns]
        own = [source for distance, source in visible if not distance]
        if not visible:
            return self.literal()
        if own and self.chance(near):
            source = self.rng.choice(own)
        else:
            _, source = self.rng.choice(visible)
        return self.column_of(scope, source) or self.literal()

    def column_of(self, scope: Scope, source: Source) -> str:
        """Return a column of a source, written in a way that means it; nothing if there is none."""
        columns = source.columns
        if source.has_rowid and self.chance(0.04):
            columns = ["rowid", "oid", "_rowid_"]
        elif source.hidden and self.chance(0.05):
            columns = list(source.hidden)
        column = self.rng.choice(columns)
        if scope.means(column) is source and self.chance(0.65):
            return self.name(column)
        shown = scope.qualified(source.qualifier, column)
        if column in ("rowid", "oid", "_rowid_") and source not in scope.sources:
            return ""
        if source.qualifier and (shown is source or (shown is None and "rowid" in column)):
            prefix = "main." if source.schema and self.chance(0.03) else ""
            return f"{prefix}{self.name(source.qualifier)}.{self.name(column)}"
        return self.name(column) if scope.means(column) is source else ""

    def literal(self) -> str:
        """Return a literal."""
        literal = self.rng.choice(_NUMBERS if self.chance(0.6) else _STRINGS)
        # Where a column is called true, the word means it.
        return "1" if literal == "TRUE" and self.has_column_true else literal

    def alias_in_sight(self, scope: Scope, place: Place) -> str:
        """Return an alias that may stand here; nothing if there is none."""
        if not scope.sees_aliases:
            return ""
        fit = [
            alias
            for alias, kind in scope.aliases.items()
            if scope.means(alias) == "alias"
            and (kind == "plain" or (kind == "aggregate" and place.aggregates))
        ]
        return self.name(self.rng.choice(fit)) if fit else ""

    # -- expressions ----------------------------------------------------------------------------

    def expression(self, scope: Scope, place: Place) -> str:
        """Return a scalar expression."""
        if place.depth <= 0:
            if self.chance(0.15):
                return self.alias_in_sight(scope, place) or self.column(scope)
            return self.column(scope) if self.chance(0.75) else self.literal()
        if place.aggregates and self.chance(0.3):
            return self.aggregate(scope, place)
        if place.windows and self.chance(0.2):
            return self.window(scope, place)
        kinds = (
            (30, self.column_here),
            (8, lambda scope, place: self.literal()),
            (12, self.arithmetic),
            (14, self.call),
            (6, self.case),
            (4, self.cast),
            (5, self.scalar_subquery),
            (4, lambda s, p: f"({self.predicate(s, p)})"),
            (3, lambda s, p: f"({self.expression(s, p.deeper())})"),
            (2, lambda s, p: f"- {self.column(s)}"),
            (2, lambda s, p: f"{self.column(s)} COLLATE {self.rng.choice(('NOCASE', 'rtrim'))}"),
            (3, self.json_arrow),
            (1, lambda s, p: self.rng.choice(("CURRENT_DATE", "current_timestamp"))),
            (2, lambda s, p: self.alias_in_sight(s, p) or self.column(s)),
        )
        writer = self.rng.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])[0]
        return writer(scope, place)

    def column_here(self, scope: Scope, place: Place) -> str:
        """Return a column."""
        return self.column(scope)

    def arithmetic(self, scope: Scope, place: Place) -> str:
        """Return two operands and an operator."""
        return (
            f"{self.expression(scope, place.deeper())} {self.rng.choice(_ARITHMETIC)}"
            f" {self.operand(scope, place.deeper())}"
        )

    def operand(self, scope: Scope, place: Place) -> str:
        """Return a column, literal or something in brackets."""
        if place.depth <= 0 or self.chance(0.7):
            return self.column(scope) if self.chance(0.7) else self.literal()
        return f"({self.expression(scope, place.deeper())})"

    def json_arrow(self, scope: Scope, place: Place) -> str:
        """Return an access by `->` or `->>`."""
        path = self.rng.choice(("'$.a'", "'name'", "0", "'$[1]'"))
        more = " ->> 'b'" if self.chance(0.2) else ""
        return f"{self.column(scope)} {self.rng.choice(('->', '->>'))} {path}{more}"

    def case(self, scope: Scope, place: Place) -> str:
        """Return a CASE."""
        base = f" {self.expression(scope, place.deeper())}" if self.chance(0.35) else ""
        whens = []
        for _ in range(self.rng.choice((1, 1, 2))):
            when = (self.expression if base else self.predicate)(scope, place.deeper())
            whens.append(f" WHEN {when} THEN {self.expression(scope, place.deeper())}")
        otherwise = f" ELSE {self.expression(scope, place.deeper())}" if self.chance(0.6) else ""
        return f"CASE{base}{''.join(whens)}{otherwise} END"

    def cast(self, scope: Scope, place: Place) -> str:
        """Return a CAST."""
        inside = self.expression(scope, place.deeper())
        return f"CAST({inside} AS {self.rng.choice(_TYPES)})"

    def call(self, scope: Scope, place: Place) -> str:
        """Return a call of a scalar function."""
        if self.chance(0.5):
            name, count = self.rng.choice(
                (
                    *(("upper", 1), ("lower", 1), ("length", 1), ("abs", 1), ("coalesce", -1)),
                    *(("ifnull", 2), ("round", 2), ("substr", 3), ("iif", 3), ("nullif", 2)),
                    *(("date", -1), ("strftime", -1), ("printf", -1), ("max", -1), ("min", -1)),
                    *(("json_extract", -1), ("trim", 1), ("instr", 2), ("replace", 3)),
                )
            )
        else:
            name, count = self.rng.choice(self.catalogue.scalars)
        if name == "likelihood":
            return f"likelihood({self.expression(scope, place.plain())}, 0.25)"
        if count < 0:
            least = 2 if name in ("coalesce", "min", "max") else self.rng.choice((0, 1, 1, 1))
            count = least + self.rng.choice((0, 0, 1, 2))
        arguments = [self.expression(scope, place.deeper()) for _ in range(count)]
        name = name.upper() if self.chance(0.1) else name
        return f"{name}({', '.join(arguments)})"

    def aggregate(self, scope: Scope, place: Place) -> str:
        """Return a call of an aggregate function that this query owns."""
        self.made_aggregate = True
        text = self.aggregate_call(scope, place)
        if self.chance(0.1):
            text += f" FILTER (WHERE {self.own_predicate(scope, place.plain())})"
        return text

    def aggregate_call(self, scope: Scope, place: Place, is_window: bool = False) -> str:
        """Return name and arguments of an aggregate function."""
        if self.chance(0.3):
            return "count(*)"
        name, count = self.rng.choice(
            (("sum", 1), ("avg", 1), ("max", 1), ("min", 1), ("count", 1), ("total", 1))
            if self.chance(0.6)
            else self.catalogue.aggregates
        )
        if not count:
            return f"{name}()"
        own = Scope(sources=scope.sources, tables=scope.tables) if scope.sources else scope
        first = self.own_column(scope) if self.chance(0.7) else ""
        first = first or self.expression(own, Place(place.depth - 1))
        if scope.outer is not None and self.chance(0.1):
            first = f"{self.own_column(scope) or '1'} + {self.column(scope, near=0.3)}"
        distinct = "DISTINCT " if count == 1 and not is_window and self.chance(0.15) else ""
        rest = [self.rng.choice(("','", self.own_column(scope) or "1")) for _ in range(count - 1)]
        return f"{name}({distinct}{', '.join([first, *rest])})"

    def own_column(self, scope: Scope) -> str:
        """Return a column of this query's own FROM; nothing if it has none."""
        usable = [source for source in scope.sources if source.columns]
        return self.column_of(scope, self.rng.choice(usable)) if usable else ""

    def own_predicate(self, scope: Scope, place: Place) -> str:
        """Return a condition on this query's own columns."""
        return f"{self.own_column(scope) or '1'} {self.rng.choice(_COMPARE)} {self.literal()}"

    def window(self, scope: Scope, place: Place) -> str:
        """Return a call of a window function."""
        self.made_window = True
        if self.chance(0.5):
            name, count = self.rng.choice(self.catalogue.windows)
            arguments = [self.expression(scope, Place(place.depth - 1)) for _ in range(count)]
            text = f"{name}({', '.join(arguments)})"
        else:
            text = self.aggregate_call(scope, place, is_window=True)
            if self.chance(0.1):
                text += f" FILTER (WHERE {self.own_predicate(scope, place)})"
        named = self.names_of_windows[-1] if self.names_of_windows else []
        if named and self.chance(0.5):
            window = self.rng.choice(named)
            # The first has no frame, so it may be built upon.
            in_brackets = window == named[0] and self.chance(0.3)
            return f"{text} OVER ({window})" if in_brackets else f"{text} OVER {window}"
        return f"{text} OVER ({self.window_definition(scope, place)})"

    def window_definition(self, scope: Scope, place: Place) -> str:
        """Return what stands in the brackets after OVER."""
        place = Place(min(1, place.depth - 1))
        parts = []
        if self.chance(0.45):
            terms = [self.expression(scope, place) for _ in range(self.rng.choice((1, 1, 2)))]
            parts.append("PARTITION BY " + ", ".join(terms))
        n_terms = self.rng.choice((0, 1, 1, 1, 2))
        if n_terms:
            terms = [self.expression(scope, place) + self.direction() for _ in range(n_terms)]
            parts.append("ORDER BY " + ", ".join(terms))
        if self.chance(0.25):
            parts.append(self.frame(n_terms))
        return " ".join(parts)

    def frame(self, n_terms: int) -> str:
        """Return a frame."""
        unit = self.rng.choice(("ROWS", "GROUPS", "RANGE"))
        exclude = self.rng.choice(("", "", "", " EXCLUDE TIES", " EXCLUDE CURRENT ROW"))
        offset = self.rng.choice(("1", "2", "1 + 1"))
        if unit == "RANGE" and n_terms != 1:
            return f"RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW{exclude}"
        bounds = (
            "UNBOUNDED PRECEDING",
            f"{offset} PRECEDING",
            "BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
            f"BETWEEN {offset} PRECEDING AND CURRENT ROW",
            f"BETWEEN {offset} PRECEDING AND {offset} FOLLOWING",
            "BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
            f"BETWEEN {offset} FOLLOWING AND UNBOUNDED FOLLOWING",
        )
        return f"{unit} {self.rng.choice(bounds)}{exclude}"

    def direction(self) -> str:
        """Return what may follow a term of ORDER BY."""
        return self.rng.choice(("", "", "", " ASC", " DESC", " DESC", " DESC NULLS LAST"))

    # -- conditions -----------------------------------------------------------------------------

    def predicate(self, scope: Scope, place: Place) -> str:
        """Return a condition."""
        if place.depth <= 0:
            return f"{self.column(scope)} {self.rng.choice(_COMPARE)} {self.literal()}"
        kinds = (
            (30, self.comparison),
            (8, self.both),
            (4, lambda s, p: f"NOT {self.operand(s, p)}"),
            (6, self.like),
            (6, self.between),
            (7, self.null_test),
            (8, self.in_list),
            (6, self.in_subquery),
            (2, self.in_table),
            (7, self.exists),
            (4, self.row_comparison),
            (3, lambda s, p: f"({self.predicate(s, p.deeper())})"),
        )
        writer = self.rng.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])[0]
        return writer(scope, place)

    def comparison(self, scope: Scope, place: Place) -> str:
        """Return a comparison of scalars."""
        left = self.expression(scope, place.deeper())
        return f"{left} {self.rng.choice(_COMPARE)} {self.operand(scope, place.deeper())}"

    def both(self, scope: Scope, place: Place) -> str:
        """Return two conditions and AND or OR."""
        left, right = (self.predicate(scope, place.deeper()) for _ in range(2))
        return f"{left} {self.rng.choice(('AND', 'AND', 'OR'))} {right}"

    def like(self, scope: Scope, place: Place) -> str:
        """Return a LIKE or GLOB."""
        word = self.rng.choice(("LIKE", "LIKE", "NOT LIKE", "GLOB"))
        escape = " ESCAPE '!'" if "LIKE" in word and self.chance(0.2) else ""
        pattern = self.rng.choice(("'%a%'", "'A_'", "'a*'", f"{self.column(scope)} || '%'"))
        return f"{self.column(scope)} {word} {pattern}{escape}"

    def between(self, scope: Scope, place: Place) -> str:
        """Return a BETWEEN."""
        low, high = (self.operand(scope, place.deeper()) for _ in range(2))
        word = "NOT BETWEEN" if self.chance(0.2) else "BETWEEN"
        return f"{self.operand(scope, place.deeper())} {word} {low} AND {high}"

    def null_test(self, scope: Scope, place: Place) -> str:
        """Return a test for NULL."""
        test = self.rng.choice(("IS NULL", "IS NOT NULL", "ISNULL", "NOTNULL", "NOT NULL"))
        return f"{self.operand(scope, place.deeper())} {test}"

    def in_list(self, scope: Scope, place: Place) -> str:
        """Return an IN with a list."""
        word = "NOT IN" if self.chance(0.25) else "IN"
        if self.chance(0.1):
            rows = ", ".join(f"({self.literal()}, {self.literal()})" for _ in range(2))
            return f"({self.column(scope)}, {self.column(scope)}) {word} ({rows})"
        items = [self.operand(scope, place.plain()) for _ in range(self.rng.choice((1, 2, 3)))]
        return f"{self.operand(scope, place.deeper())} {word} ({', '.join(items)})"

    def in_subquery(self, scope: Scope, place: Place) -> str:
        """Return an IN with a subquery, for one column or two."""
        width = 2 if self.chance(0.2) else 1
        items = [self.column(scope) for _ in range(width)]
        left = items[0] if width == 1 else f"({', '.join(items)})"
        word = "NOT IN" if self.chance(0.25) else "IN"
        return f"{left} {word} ({self.query(scope, place.depth - 1, width=width).text})"

    def in_table(self, scope: Scope, place: Place) -> str:
        """Return an IN with a table, where one is narrow enough."""
        tables = self.known(scope).values()
        fit = [table for table in tables if len(table.star or table.columns) <= 3]
        if not fit:
            return self.comparison(scope, place)
        table = self.rng.choice(fit)
        items = [self.column(scope) for _ in table.star or table.columns]
        left = items[0] if len(items) == 1 else f"({', '.join(items)})"
        return f"{left} IN {self.name(table.name)}"

    def exists(self, scope: Scope, place: Place) -> str:
        """Return an EXISTS."""
        word = "NOT EXISTS" if self.chance(0.3) else "EXISTS"
        return f"{word} ({self.query(scope, place.depth - 1).text})"

    def row_comparison(self, scope: Scope, place: Place) -> str:
        """Return a comparison of row values."""
        width = self.rng.choice((2, 2, 3))

        def row() -> str:
            return "(" + ", ".join(self.operand(scope, place.plain()) for _ in range(width)) + ")"

        right = row()
        if self.chance(0.3):
            right = f"({self.query(scope, place.depth - 1, width=width).text})"
        elif self.chance(0.2):
            return f"({row()} BETWEEN {row()} AND {row()})"
        return f"{row()} {self.rng.choice(_COMPARE)} {right}"

    def scalar_subquery(self, scope: Scope, place: Place) -> str:
        """Return a subquery of one column."""
        return f"({self.query(scope, place.depth - 1, width=1).text})"

    # -- FROM -----------------------------------------------------------------------------------

    def known(self, scope: Scope) -> dict[str, Table]:
        """Return the tables that FROM knows here, those of WITH included."""
        found = dict(self.tables)
        scopes = []
        around: Scope | None = scope
        while around is not None:
            scopes.append(around)
            around = around.outer
        for one in reversed(scopes):
            found.update(one.tables)
        return found

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
            condition += f" AND {columns[-1]} {self.rng.choice(_COMPARE)} {self.literal()}"
        return condition

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
        reference = _REFERENCE.match(text)
        if not reference or text in _NUMBERS:
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
            if name.lower() in scope.tables or name.lower() in self.tables:
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
        inner = Scope(outer=scope.outer, tables=dict(scope.tables))
        query = self.query(inner, min(1, depth - 1))
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
        inner = Scope(outer=scope.outer, tables=dict(scope.tables))
        if self.chance(0.5):
            seed = "SELECT " + ", ".join(self.literal() for _ in columns)
        elif self.chance(0.3):
            seed = "VALUES (" + ", ".join(self.literal() for _ in columns) + ")"
        else:
            seed = self.core_in(inner, 1, width, plain=True)[0].text
        step = Scope(outer=scope.outer, tables=dict(scope.tables))
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
