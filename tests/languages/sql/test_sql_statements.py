"""Random statements are what they claim: SQLite prepares them, and they show all it offers."""

from __future__ import annotations

import re

import pytest
from support.sql_judge import error, is_syntax
from support.sql_statements import (
    DATABASES,
    KINDS,
    MISTAKES,
    attempts,
    made,
    mutated,
    random_statement,
)

SEEDS = range(150)
FEATURES = {
    "select": (
        *("WITH", "WITH RECURSIVE", "AS MATERIALIZED", "AS NOT MATERIALIZED", "UNION ALL", "UNION"),
        *("INTERSECT", "EXCEPT", "VALUES", "DISTINCT", "GROUP BY", "HAVING", "ORDER BY", "LIMIT"),
        *("OFFSET", "LEFT JOIN", "RIGHT JOIN", "FULL (OUTER )?JOIN", "NATURAL", "CROSS JOIN"),
        *(
            r"USING \(", r"\bON\b", r"OVER \(", r"OVER \w", "WINDOW", "PARTITION BY",
            "ROWS", "RANGE",
        ),
        *("GROUPS", "EXCLUDE", "FILTER", r"count\(\*\)", r"\(DISTINCT ", "CASE", "CAST", "LIKE"),
        *("GLOB", "ESCAPE", "BETWEEN", "ISNULL", "IS NOT NULL", "COLLATE", "->", "->>", "EXISTS"),
        *(r"IN \(SELECT", r"IN \(", r"IN [\w\"`\[]", r"= \(SELECT", r"FROM \(SELECT", "json_each"),
        *(r"\.\*", r"SELECT \*", "rowid", '"', "`", r"\[", r"main\.", "NULLS LAST", r"FROM \("),
        r", \(SELECT",
    ),
    "insert": (
        *("INSERT OR", "REPLACE INTO", "DEFAULT VALUES", "ON CONFLICT DO", r"ON CONFLICT \("),
        *("DO NOTHING", "DO UPDATE SET", "excluded", "RETURNING", r"VALUES .*\), \(", "SELECT"),
    ),
    "update": ("UPDATE OR", " FROM ", r"SET \(.*\) = \(", "RETURNING", "WITH", " AS ", "WHERE"),
    "delete": ("WHERE", "RETURNING", "WITH", "EXISTS", r"IN \(SELECT"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key", DATABASES)
def test_nearly_all_attempts_prepare(key: str, kind: str) -> None:
    refused = [
        (message, text)
        for seed in SEEDS
        for text, message in attempts(made(key), seed, kind)
        if message
    ]
    assert len(refused) <= len(SEEDS) / 50, refused


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_statements_show_every_feature(kind: str) -> None:
    texts = [random_statement(made(key), seed, kind) for key in DATABASES for seed in range(600)]
    assert not [
        feature for feature in FEATURES[kind] if not any(re.search(feature, text) for text in texts)
    ]


def test_a_seed_stands_for_one_statement() -> None:
    first = [random_statement(made("odd"), seed) for seed in range(20)]
    assert first == [random_statement(made("odd"), seed) for seed in range(20)]
    assert len(set(first)) > 15


@pytest.mark.slow
def test_mistakes_are_judged_and_mostly_wrong() -> None:
    names, n_valid, n_all = set(), 0, 0
    for key in DATABASES:
        for kind in KINDS:
            for seed in SEEDS:
                mistake = mutated(random_statement(made(key), seed, kind), made(key), seed)
                assert mistake.message == error(mistake.statement, made(key))
                assert not is_syntax(mistake.message)
                names.add(mistake.name)
                n_valid += mistake.is_valid
                n_all += 1
    assert set(MISTAKES) <= names
    assert 0.1 < n_valid / n_all < 0.6
