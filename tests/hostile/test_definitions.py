"""A text of definitions that a request brings defines, and does nothing else.

A folder is watched while hostile ones run, in the process of the test: no trial stands before it.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import cfgguide
from cfgguide.errors import CfgGuideError
from cfgguide.serving import Backend
from hostile.cases import all_cases

SECRET = "swordfish"
CASES = [case for case in all_cases() if case.kind == "definition"]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Return the folder that names without a path are in, and SQLite's temporary files."""
    monkeypatch.chdir(tmp_path)
    for name in ("SQLITE_TMPDIR", "TMPDIR"):
        monkeypatch.setitem(os.environ, name, str(tmp_path))
    (tmp_path / "in").mkdir()
    Path("secret.txt").write_text(SECRET)
    with closing(sqlite3.connect("secret.db")) as database:
        database.execute(f"CREATE TABLE passwords ({SECRET})")
        database.execute(f"INSERT INTO passwords VALUES ('{SECRET}')")
        database.commit()
    return tmp_path


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return all files, and when each was written."""
    return {
        str(path.relative_to(folder)): (
            path.read_bytes() if path.is_file() else b"",
            path.stat().st_mtime_ns if path.is_file() else 0,
        )
        for path in folder.rglob("*")
    }


def open_files() -> set[str]:
    """Return the files that this process has open, where the system tells it."""
    found = Path("/proc/self/fd")
    return (
        {os.readlink(each) for each in found.iterdir() if each.exists()}
        if found.exists()
        else set()
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("part", range(8))
def test_hostile_definitions_name_read_and_write_no_file(folder, part):
    backend = Backend(cfgguide.Vocabulary.of_bytes(), use_cache=False)
    before, opened = contents(folder), open_files()
    for case in CASES[part::8]:
        request = case.make()
        try:
            answer = backend.grammar("grammar", request).text
        except CfgGuideError as error:
            answer = str(error)
            asked = json.loads(request[request.index("{") :])["tables"]
            if isinstance(asked, str) and SECRET not in asked:
                assert str(folder) not in answer
        assert SECRET not in answer, case.full_name
        assert contents(folder) == before, case.full_name
    assert not {name for name in open_files() - opened if name.startswith(str(folder))}
