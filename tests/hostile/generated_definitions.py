"""Hostile requests with the definitions of a schema that are too long to be written down."""

from __future__ import annotations

import json
import random
from functools import cache
from itertools import islice, permutations

from hostile.cases import Named
from hostile.tables import DEFINITION

N_DRAWN = 300


def request(definitions: object) -> str:
    """Return what a client sends with tables, or with a text that defines them."""
    return f'cfgguide:sql_select {{"tables": {json.dumps(definitions)}}}'


@cache
def texts_drawn() -> tuple[str, ...]:
    """Return requests of statements that must not run, among definitions."""
    rng = random.Random(64)
    texts: dict[str, None] = {}
    while len(texts) < N_DRAWN:
        texts[DEFINITION.draw(rng, "attack").text] = None
    return (*texts,)


def drawn() -> Named:
    for number, text in enumerate(texts_drawn()):
        yield f"drawn {number}", text


def views_in_views() -> Named:
    for number in (9, 30, 1000):
        yield (
            f"twice at each of {number} levels",
            request(
                "CREATE VIEW v0 AS SELECT 1 AS x;"
                + "".join(
                    f"CREATE VIEW v{n + 1} AS SELECT a.x FROM v{n} a, v{n} b;"
                    for n in range(number)
                )
            ),
        )
        ctes = "".join(f", c{n + 1} (x) AS (SELECT 1 FROM c{n}, c{n})" for n in range(number))
        yield (
            f"{number} CTEs",
            request(f"CREATE VIEW v AS WITH c0 AS (SELECT 1){ctes} SELECT * FROM c{number}"),
        )
    yield (
        "each names the next",
        request("".join(f"CREATE VIEW v{n} AS SELECT * FROM v{n + 1};" for n in range(5000))),
    )
    yield (
        "CTEs of one name in each other",
        request(
            "CREATE VIEW v AS WITH a AS (WITH "
            + "a AS (WITH " * 15
            + "a AS (SELECT 1 AS x) SELECT 1 AS x FROM a, a)"
            + " SELECT 1 AS x FROM a, a)" * 16
            + " SELECT * FROM a"
        ),
    )
    quoted = "".join(
        f'CREATE VIEW "v""{n + 1}" AS SELECT 1 AS x FROM "v""{n}" a, \'v"{n}\' b;'
        for n in range(40)
    )
    yield "twice at each level, quoted", request(f'CREATE VIEW "v""0" AS SELECT 1 AS x;{quoted}')
    yield "in a circle", request("CREATE VIEW a AS SELECT * FROM b; CREATE VIEW b AS TABLE a")


def wide_ones() -> Named:
    columns = ", ".join(f"c{n}" for n in range(1999))
    wide = f"CREATE TABLE t ({columns});"
    for number in (3, 63):
        yield (
            f"{number} natural joins",
            request(f"{wide}CREATE VIEW v AS SELECT 1 FROM t{' NATURAL JOIN t' * number}"),
        )
    yield (
        "views of all columns",
        request(
            f"{wide}CREATE VIEW v0 AS SELECT * FROM t;"
            + "".join(f"CREATE VIEW v{n + 1} AS SELECT * FROM v{n};" for n in range(90))
        ),
    )
    yield (
        "many joined",
        request(
            f"{wide}CREATE VIEW v AS SELECT {', '.join(['t9.c1998'] * 3000)} FROM t t0"
            + "".join(f", t t{n}" for n in range(1, 60))
        ),
    )
    few = ", ".join(f"c{n}" for n in range(300))
    for number in (2000, 20_000):
        pairs = islice(permutations(range(300), 2), number)
        keys = ", ".join(f"UNIQUE (c{a}, c{b})" for a, b in pairs)
        yield f"{number} keys", request(f"CREATE TABLE t ({few}, {keys})")
    yield (
        "columns of columns",
        request(
            "CREATE TABLE t (y0, "
            + ", ".join(f"y{n + 1} AS (y{n} + y{n})" for n in range(40))
            + "); CREATE INDEX i ON t (y40)"
        ),
    )


def long_ones() -> Named:
    for number in (2000, 45_000):
        yield (
            f"{number} tables",
            request("".join(f"CREATE TABLE t{n} (x);" for n in range(number))),
        )
    yield (
        "30,000 indexes",
        request(
            "CREATE TABLE t (x);" + "".join(f"CREATE INDEX i{n} ON t (x);" for n in range(30_000))
        ),
    )
    yield "a million semicolons", request(";" * 1_000_000)
    yield (
        "a trigger of 20,000 statements",
        request(
            f"CREATE TABLE t (x); CREATE TRIGGER r DELETE ON t BEGIN {'SELECT 1;' * 20_000} END"
        ),
    )
    yield (
        "a default of a million letters",
        request(f"CREATE TABLE t (x DEFAULT '{'a' * 1_000_000}')"),
    )
    yield "a comment of 900,000 letters", request(f"CREATE TABLE t (x) /*{'a' * 900_000}*/")
    yield "parentheses", request(f"CREATE VIEW v AS SELECT {'(' * 20_000}1{')' * 20_000} AS x")
    yield "subqueries", request(f"CREATE VIEW v AS SELECT {'(SELECT ' * 90}1{')' * 90} AS x")
    yield "10,000 unions", request("CREATE VIEW v AS " + " UNION ".join(["SELECT 1"] * 10_000))
    yield (
        "unions in an order",
        request(
            "CREATE VIEW v AS "
            + " UNION ".join(["SELECT 1 AS a"] * 450)
            + " ORDER BY "
            + ", ".join(f"{n} + {n}" for n in range(900))
        ),
    )


def objects() -> Named:
    yield "10,000 tables", request({f"t{n}": ["x"] for n in range(10_000)})
    yield "100,000 columns", request({"t": [f"c{n}" for n in range(100_000)]})
    yield "a name of a million letters", request({"t": ["c" * 1_000_000]})
    yield "quotes", request({"t": ['"' * n for n in range(1, 500)]})
    yield "names in names", request({"t": [chr(97 + n % 26) * n for n in range(1, 1500)]})
    for name, tables in {
        "a NUL": {"t": ["a\0b"]},
        "half a surrogate pair": {"t": ["\ud800"]},
        "a text with a NUL": "CREATE TABLE t (x\0)",
        "a text with half a surrogate pair": "CREATE TABLE t (x DEFAULT '\ud800')",
        "a number": 5,
        "a list": [["t", ["x"]]],
        "tables in a table": {"t": {"t": ["x"]}},
        "columns that are a text": {"t": "x"},
        "nothing": {},
    }.items():
        yield name, request(tables)


FAMILIES = (drawn, views_in_views, wide_ones, long_ones, objects)
