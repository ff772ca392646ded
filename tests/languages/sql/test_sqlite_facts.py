"""What `docs/design/0037-sqlite-name-resolution.md` says of SQLite, SQLite says too.

`sqlite_facts.txt` holds one statement a line, with what SQLite 3.40.1 says when it prepares it.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from support.sql_judge import error

LINES = Path(__file__).with_name("sqlite_facts.txt").read_text(encoding="utf-8").splitlines()
VERSION = sqlite3.sqlite_version_info
# These messages are of one version; others say the same in other words.
IS_3_40 = VERSION[:2] == (3, 40)


def _sections() -> dict[str, list[tuple[str, str, str, bool]]]:
    """Return the facts by heading: verdict, schema, statement, whether versions differ."""
    sections: dict[str, list[tuple[str, str, str, bool]]] = {}
    heading = ""
    for line in LINES:
        if line.startswith("# "):
            heading = line[2:]
        elif line and not line.startswith("schema\t"):
            verdict, schema, statement, *varies = line.split("\t")
            sections.setdefault(heading, []).append((verdict, schema, statement, bool(varies)))
    return sections


@pytest.fixture(scope="module")
def databases() -> dict[str, sqlite3.Connection]:
    definitions: dict[str, str] = {}
    for line in LINES:
        if line.startswith("schema\t"):
            _, key, definition = line.split("\t")
            definitions[key] = definitions.get(key, "") + definition + "\n"
    made = {}
    for key, script in definitions.items():
        made[key] = sqlite3.connect(":memory:")
        try:
            made[key].executescript(script)
        except sqlite3.OperationalError as problem:
            pytest.skip(f"this SQLite cannot make the tables: {problem}")
    return made


@pytest.mark.skipif(VERSION < (3, 39), reason="no RIGHT and FULL JOIN before 3.39")
@pytest.mark.parametrize("heading", _sections())
def test_sqlite_says_so(heading: str, databases: dict[str, sqlite3.Connection]) -> None:
    wrong = []
    for verdict, schema, statement, varies in _sections()[heading]:
        if varies and not IS_3_40:
            continue
        said = error(statement, databases[schema]) or "ok"
        if (said == "ok") != (verdict == "ok") or (IS_3_40 and verdict not in said):
            wrong.append((statement, verdict, said))
    assert not wrong
