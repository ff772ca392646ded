"""Random expressions and conditions for SQLite, over the names of a scope."""

from __future__ import annotations

from dataclasses import dataclass, replace

from support.sql_scopes import Catalogue, Random, Scope, Source, Table, quoted

_STRINGS = ("'a'", "'abc'", "'%x%'", "'2024-01-01'", "'it''s'", "''", "'$.a'", "'{\"a\": [1]}'")
NUMBERS = ("0", "1", "2", "10", "100", "0.5", "1e3", "-1", "NULL", "x'0a'", "0x10", "TRUE")
_TYPES = ("INTEGER", "TEXT", "REAL", "NUMERIC", "BLOB", "VARCHAR(10)", "decimal(10, 2)", "int")
COMPARE = ("=", "=", "<", ">", "<=", ">=", "<>", "!=", "==", "IS", "IS NOT")
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
class Query:
    """A query that has been written."""

    text: str
    names: list[str]
    ends_in_from: bool = False


class Expressions:
    """Writes random expressions over a catalogue."""

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
        literal = self.rng.choice(NUMBERS if self.chance(0.6) else _STRINGS)
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
        return f"{self.own_column(scope) or '1'} {self.rng.choice(COMPARE)} {self.literal()}"

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
            return f"{self.column(scope)} {self.rng.choice(COMPARE)} {self.literal()}"
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
        return f"{left} {self.rng.choice(COMPARE)} {self.operand(scope, place.deeper())}"

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
        return f"{row()} {self.rng.choice(COMPARE)} {right}"

    def scalar_subquery(self, scope: Scope, place: Place) -> str:
        """Return a subquery of one column."""
        return f"({self.query(scope, place.depth - 1, width=1).text})"

    # -- what holds expressions -----------------------------------------------------------------

    def query(self, outer: Scope | None, depth: int, width: int = 0) -> Query:
        """Return a whole query."""
        raise NotImplementedError

    def known(self, scope: Scope) -> dict[str, Table]:
        """Return the tables that FROM knows here, those of WITH included."""
        found: dict[str, Table] = dict(self.tables)
        scopes = []
        around: Scope | None = scope
        while around is not None:
            scopes.append(around)
            around = around.outer
        for one in reversed(scopes):
            found.update(one.tables)
        return {name: table for name, table in found.items() if table.columns}
