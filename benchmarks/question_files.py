"""Reads the questions about twenty small databases, each with a query that answers it.

In: the files of `sql_questions/`: a file of SQL for each database, with its tables and a few rows,
and lines of JSON, ``{"schema": "library", "question": ..., "query": ...}``, ten for each database,
the easy ones first. Out: the same as Python's objects. All of it was written for this project; none
comes from a public benchmark. There are no current dates in it, so an answer never changes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

_FOLDER = Path(__file__).with_name("sql_questions")


class Question(NamedTuple):
    """A question about a database.

    Attributes
    ----------
    schema : str
        The name of the database.
    question : str
        What is asked, in English.
    query : str
        One SELECT of SQLite's that answers it, without a semicolon.
    """

    schema: str
    question: str
    query: str


def load_schemas() -> dict[str, str]:
    """Return the statements that make each database, by its name, in the order of the names."""
    files = sorted((_FOLDER / "schemas").glob("*.sql"))
    return {file.stem: file.read_text(encoding="utf-8") for file in files}


def load_questions() -> list[Question]:
    """Return all questions in the order of the file."""
    lines = (_FOLDER / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [Question(**json.loads(line)) for line in lines]
