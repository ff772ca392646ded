"""Runs `compare` itself on three tasks: to sort, to extract, and to ask a database.

In: SmolLM2; the tasks "sort" and "extract" of `described.py`; and questions of `sql_questions` to
three databases, right if a query has the rows of the gold query. Out: the table of each task, its
picture and its answers in a folder, from which an interrupted run goes on. ::

    python benchmarks/compared.py --examples 30 --folder answers
    python benchmarks/compared.py --examples 30 --folder answers --tasks query
"""

from __future__ import annotations

import argparse
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from described import tasks
from question_files import load_questions, load_schemas
from sql_task import definitions

import cfgguide
from cfgguide.evaluation import Answer, Comparison, compare
from cfgguide.models import load_model

WAYS = ("free", "free, described", "masked", "masked, described")
TASKS = ("sort", "extract", "query")
DATABASES = ("weather", "birds", "museum")  # with the shortest definitions


def query_of(text: str) -> str:
    """Return the first statement of a text that was written in a block of code."""
    return text.split("```")[0].split(";")[0].strip()


def has_rows(database: sqlite3.Connection, text: str, gold: str) -> bool:
    """Return whether a query runs and has the rows of another."""
    try:
        rows = database.execute(query_of(text)).fetchmany(1000)
    except (sqlite3.Error, sqlite3.Warning):
        return False
    return sorted(map(repr, rows)) == sorted(map(repr, database.execute(gold).fetchall()))


def asked(model: Any, n: int, folder: Path) -> Comparison:
    """Return what became of questions to three databases, as one comparison."""
    answers: list[Answer] = []
    schemas, per_database = load_schemas(), -(-n // len(DATABASES))
    for number, name in enumerate(DATABASES):
        database = sqlite3.connect(":memory:")
        database.executescript(schemas[name])
        told = definitions(schemas[name])
        questions = [each for each in load_questions() if each.schema == name][:per_database]
        examples = [
            {
                "messages": [
                    {"role": "user", "content": f"{told}\nWrite one SQLite query: {each.question}"},
                    {"role": "assistant", "content": "```sql\n"},
                ],
                "reference": each.query,
            }
            for each in questions
        ]
        found = compare(
            model,
            examples,
            cfgguide.sql.runs_on(database, new_columns=False),
            ways=WAYS,
            score=lambda text, gold, database=database: has_rows(database, text, gold),
            max_new_tokens=48,
            output=folder / f"{name}.jsonl",
        )
        answers += [replace(each, line=each.line + 1000 * number) for each in found.answers]
    return Comparison(tuple(answers))


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--examples", type=int, default=30, help="of each task, at most")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--folder", type=Path, required=True, help="for answers and pictures")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    model = load_model()
    found: dict[str, Comparison] = {}
    for task in tasks(options.examples):
        if task.name not in options.tasks:
            continue
        examples = [
            {
                "messages": [{"role": "user", "content": f"{task.question}\n\n{text}"}],
                "reference": right.get("department", right),
            }
            for text, right in task.examples
        ]
        found[task.name] = compare(
            model,
            examples,
            task.what,
            ways=(*WAYS, "or unknown"),
            max_new_tokens=64,
            output=options.folder / f"{task.name}.jsonl",
        )
        print(f"\n{task.name}\n\n{found[task.name]}", flush=True)
    if "query" in options.tasks:
        found["query"] = asked(model, options.examples, options.folder)
        print(f"\nquery\n\n{found['query']}", flush=True)
    for name, each in found.items():
        each.picture(name).save(options.folder / f"{name}.svg")


if __name__ == "__main__":
    main()
