"""Statements of SQL made from seeds: queries, changes of rows, and definitions.

In: a random generator. Out: one document, a few statements as people write them, on one line or
over several. They stay within `grammars/sql.cfgguide.lark`.
"""

from __future__ import annotations

from random import Random

_TABLES = "orders customers products invoices shipments employees payments events user_accounts"
_COLUMNS = """
    id name price quantity created_at updated_at status email country total discount category_id
    customer_id order_id is_active description first_name weight rating due_date notes
"""
TABLES, COLUMNS = _TABLES.split(), _COLUMNS.split()
WORDS = ["open", "pending", "it''s", "red", "large", "Zürich", "2024-01-31", "n/a", "10%", "café"]
TYPES = ["INTEGER", "BIGINT", "TEXT", "BOOLEAN", "DATE", "VARCHAR(80)", "NUMERIC(10, 2)"]
UNITS = ["YEAR", "MONTH", "DAY", "HOUR"]
SHORTEST, LONGEST = 400, 1500  # characters


def document(rng: Random) -> str:
    """Return statements, each with its semicolon."""
    style = rng.choice(["\n", "\n", " "])
    length = rng.randrange(SHORTEST, LONGEST)
    text = ""
    while len(text) < length:
        make = rng.choice([_query] * 5 + [_insert, _insert, _update, _delete, _table, _other])
        text += style.join(make(rng)) + ";" + style
    return text.rstrip()


def _query(rng: Random, depth: int = 0) -> list[str]:
    alias = rng.choice("abcotx")
    lines = [f"WITH recent AS (SELECT * FROM {_table_name(rng)})"] * (
        rng.random() < 0.15 and not depth
    )
    kind = rng.choice(["", "", "", "DISTINCT "])
    columns = ", ".join(_column(rng, depth) for _ in range(rng.randrange(1, 5)))
    lines += [f"SELECT {kind}{columns}", f"FROM {_table_name(rng)} AS {alias}"]
    for _ in range(rng.choice([0, 0, 1, 2]) if not depth else 0):
        other = rng.choice("defgh")
        how = rng.choice(["JOIN", "LEFT JOIN", "INNER JOIN"])
        lines.append(f"{how} {_table_name(rng)} AS {other} ON {alias}.id = {other}.{_name(rng)}")
    if rng.random() < 0.7:
        lines.append(f"WHERE {_condition(rng, depth)}")
    if rng.random() < 0.3:
        lines.append(f"GROUP BY {_name(rng)}, {_name(rng)}")
        if rng.random() < 0.5:
            lines.append(f"HAVING COUNT(*) > {rng.randrange(100)}")
    if rng.random() < 0.4:
        lines.append(f"ORDER BY {_name(rng)} {rng.choice(['DESC', 'ASC', 'DESC NULLS LAST'])}")
    if rng.random() < 0.3:
        lines.append(f"LIMIT {rng.randrange(1, 500)}")
    return lines


def _column(rng: Random, depth: int) -> str:
    kind = rng.randrange(10)
    if kind < 5:
        return _reference(rng)
    expression = _expression(rng, depth)
    return f"{expression} AS {_name(rng)}"


def _condition(rng: Random, depth: int) -> str:
    parts = [_test(rng, depth) for _ in range(rng.choice([1, 1, 2, 3]))]
    return rng.choice([" AND ", " AND ", " OR "]).join(parts)


def _test(rng: Random, depth: int) -> str:
    name = _reference(rng)
    tests = [
        lambda: f"{name} {rng.choice(['=', '<>', '<', '>=', '>'])} {_expression(rng, depth)}",
        lambda: f"{name} {rng.choice(['=', '=', '!='])} {_literal(rng)}",
        lambda: f"{name} IS {rng.choice(['NULL', 'NOT NULL'])}",
        lambda: f"{name} BETWEEN {_number(rng)} AND {_number(rng)}",
        lambda: f"{name} LIKE '%{rng.choice(WORDS)}%'",
        lambda: f"{name} IN ({', '.join(_literal(rng) for _ in range(rng.randrange(1, 5)))})",
        lambda: f"NOT ({_condition(rng, depth + 1)})" if depth < 2 else f"NOT {name}",
        lambda: (
            f"{name} NOT IN ({' '.join(_query(rng, depth + 1))})" if depth < 2 else f"{name} = 1"
        ),
    ]
    return rng.choice(tests)()


def _expression(rng: Random, depth: int) -> str:
    name = _reference(rng)
    if depth > 2:
        return name
    deeper = depth + 1
    kinds = [
        lambda: _literal(rng),
        lambda: f"{name} {rng.choice('+-*/')} {_expression(rng, deeper)}",
        lambda: f"({_expression(rng, deeper)} {rng.choice('+-*/')} {_number(rng)})",
        lambda: f"{rng.choice(['SUM', 'AVG', 'MIN', 'MAX'])}({_expression(rng, deeper)})",
        lambda: f"COUNT({rng.choice(['*', f'DISTINCT {name}'])})",
        lambda: f"{rng.choice(['UPPER', 'LOWER', 'LENGTH'])}({name})",
        lambda: f"COALESCE({name}, {_expression(rng, deeper)})",
        lambda: f"CAST({name} AS {rng.choice(TYPES)})",
        lambda: f"EXTRACT({rng.choice(UNITS)} FROM {name})",
        lambda: f"CASE WHEN {_test(rng, deeper)} THEN {_literal(rng)} ELSE {_literal(rng)} END",
        lambda: f"ROW_NUMBER() OVER (PARTITION BY {name} ORDER BY {_name(rng)} DESC)",
        lambda: f"{name} || ' ' || {_reference(rng)}",
        lambda: f"date_trunc('month', {name})",
    ]
    return rng.choice(kinds)()


def _insert(rng: Random) -> list[str]:
    names = rng.sample(COLUMNS, rng.randrange(2, 6))
    rows = [f"({', '.join(_literal(rng) for _ in names)})" for _ in range(rng.choice([1, 1, 2, 3]))]
    lines = [f"INSERT INTO {_table_name(rng)} ({', '.join(names)})", "VALUES " + ", ".join(rows)]
    if rng.random() < 0.3:
        lines.append(
            f"ON CONFLICT ({names[0]}) DO {rng.choice(['NOTHING', 'UPDATE SET total = 0'])}"
        )
    return lines


def _update(rng: Random) -> list[str]:
    changes = [f"{_name(rng)} = {_expression(rng, 1)}" for _ in range(rng.randrange(1, 4))]
    lines = [f"UPDATE {_table_name(rng)}", f"SET {', '.join(changes)}"]
    return [*lines, f"WHERE {_condition(rng, 1)}"]


def _delete(rng: Random) -> list[str]:
    return [f"DELETE FROM {_table_name(rng)}", f"WHERE {_condition(rng, 1)}"]


def _table(rng: Random) -> list[str]:
    columns = ["id INTEGER PRIMARY KEY"]
    for name in rng.sample(COLUMNS[1:], rng.randrange(2, 7)):
        constraint = rng.choice(["", "", " NOT NULL", " UNIQUE", f" DEFAULT {_literal(rng)}"])
        columns.append(f"{name} {rng.choice(TYPES)}{constraint}")
    if rng.random() < 0.5:
        columns.append(
            f"FOREIGN KEY (order_id) REFERENCES {_table_name(rng)} (id) ON DELETE CASCADE"
        )
    return [f"CREATE TABLE IF NOT EXISTS {_table_name(rng)} (", "  " + ",\n  ".join(columns), ")"]


def _other(rng: Random) -> list[str]:
    table, name = _table_name(rng), _name(rng)
    kinds = [
        [f"CREATE UNIQUE INDEX {table}_{name} ON {table} ({name} DESC)"],
        [f"CREATE VIEW {table}_view AS", *_query(rng, 1)],
        [f"ALTER TABLE {table} ADD COLUMN {name} {rng.choice(TYPES)} NOT NULL"],
        [f"DROP TABLE IF EXISTS {table} CASCADE"],
        [f"ALTER TABLE {table} RENAME COLUMN {name} TO {_name(rng)}"],
        ["BEGIN"],
        ["COMMIT"],
    ]
    return rng.choice(kinds)


def _table_name(rng: Random) -> str:
    return rng.choice(TABLES)


def _name(rng: Random) -> str:
    return rng.choice(COLUMNS)


def _reference(rng: Random) -> str:
    return f"{rng.choice('abcdo')}.{_name(rng)}" if rng.random() < 0.4 else _name(rng)


def _number(rng: Random) -> str:
    return str(rng.choice([rng.randrange(10), rng.randrange(100_000), rng.randrange(10_000) / 100]))


def _literal(rng: Random) -> str:
    kind = rng.randrange(10)
    if kind < 4:
        return f"'{rng.choice(WORDS)}'"
    if kind < 8:
        return _number(rng)
    return rng.choice(
        ["NULL", "TRUE", "DATE '2024-05-17'", "CURRENT_TIMESTAMP", "INTERVAL '3' DAY"]
    )
