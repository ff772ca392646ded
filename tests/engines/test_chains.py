"""The chains of docs/serving.md that write SQL are run as they stand there; SQLite is the judge.

Runs in an environment that has vLLM; the chains need other versions of what both use, so
`CHAINS_PYTHON` names an interpreter of theirs: `make serve-test`.
"""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("vllm", reason="`make serve-test` has it, this environment has not")

from engines.running import Running

PYTHON = os.environ.get("CHAINS_PYTHON")
pytestmark = pytest.mark.skipif(PYTHON is None, reason="CHAINS_PYTHON names no interpreter")
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
BLOCKS = [
    block
    for block in re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    if "shop.db" in block
]
QUESTIONS = ["How many users are there?", "Which user paid most?", "List all orders of Ann."]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running(tmp_path_factory.mktemp("server"), mode="marked")
    yield running
    running.kill()


@pytest.fixture
def shop(tmp_path, monkeypatch) -> sqlite3.Connection:
    monkeypatch.chdir(tmp_path)
    database = sqlite3.connect("shop.db")
    database.executescript(
        "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT);"
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, user_id INTEGER, total REAL);"
        "INSERT INTO users (name) VALUES ('Ann'), ('Bob');"
    )
    return database


@pytest.mark.parametrize("package", ["langchain_classic", "llama_index"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_each_statement_of_a_chain_prepares(server, shop, package, question):
    (block,) = (each for each in BLOCKS if package in each)
    assert QUESTIONS[0] in block
    code = block.replace(":8000/", f":{server.port}/").replace("your/model", "smollm2")
    code = code.replace(QUESTIONS[0], question) + "\nprint(query, file=open('query', 'w'))\n"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [PYTHON, "-c", code], capture_output=True, text=True, env=environment, timeout=300
    )
    assert done.returncode == 0, done.stderr
    query = Path("query").read_text(encoding="utf-8")
    assert shop.execute(f"EXPLAIN {query}").fetchall()
