"""The end task: a small model answers questions about databases with SQL.

In: the questions of `question_files.py` and SmolLM2. Out: for each way to write the share of
queries that SQLite prepares, of those that it runs, and of those with the rows of the gold query;
and tokens a second. The ways are: no mask, a grammar, with_schema (names) and runs_on. ::

    python benchmarks/sql_task.py --questions 100 --picture docs/pictures/sql-task.svg

Questions are drawn evenly from all databases; ways take turns question by question. A picture goes
to `--picture`, for which matplotlib is needed.
"""

from __future__ import annotations

import argparse
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from question_files import Question, load_questions, load_schemas

import cfgguide
from cfgguide.models import load_model

WAYS = ("no mask", "grammar", "names", "runs_on")
_SELECT = cfgguide.Grammar.bundled("sql_select", tidy=True)


@dataclass
class Score:
    """What became of the queries that were written in one way."""

    n: int = 0
    n_prepared: int = 0
    n_run: int = 0
    n_right: int = 0
    n_tokens: int = 0
    seconds: float = 0.0

    def row(self, way: str) -> str:
        """Return a row of the table."""
        shares = (100 * each / self.n for each in (self.n_prepared, self.n_run, self.n_right))
        cells = " | ".join(f"{share:.0f} %" for share in shares)
        return f"| {way} | {cells} | {self.n_tokens / self.seconds:.1f} |"


def chosen(n: int) -> Iterator[Question]:
    """Yield questions, as many of each database."""
    by_schema: dict[str, list[Question]] = {}
    for question in load_questions():
        by_schema.setdefault(question.schema, []).append(question)
    ranks = range(max(map(len, by_schema.values())))
    every = [each[rank] for rank in ranks for each in by_schema.values() if rank < len(each)]
    yield from every[:n]


def definitions(schema: str) -> str:
    """Return the definitions of tables and views, without their rows."""
    statements = [each.strip() for each in schema.split(";")]
    return ";\n".join(each for each in statements if not each.upper().startswith("INSERT"))


def unguided(model: Any, tokenizer: Any, chat: list[dict[str, str]], n: int) -> tuple[str, int]:
    """Return what the model writes without a mask, up to the end of its code, and its tokens."""
    prompt = tokenizer.apply_chat_template(chat, tokenize=False, continue_final_message=True)
    ids = tokenizer(prompt, return_tensors="pt", add_special_tokens=False)
    with torch.no_grad():
        out = model.generate(
            **ids, max_new_tokens=n, do_sample=False, pad_token_id=tokenizer.eos_token_id
        )
    new = out[0, ids["input_ids"].shape[1] :]
    text: str = tokenizer.decode(new, skip_special_tokens=True)
    return text.split("```")[0].split(";")[0].strip(), len(new)


def judge(database: sqlite3.Connection, text: str, gold: str, score: Score) -> None:
    """Count what SQLite says of a query."""
    score.n += 1
    try:
        database.execute(f"EXPLAIN {text}")
    except sqlite3.Error:
        return
    score.n_prepared += 1
    try:
        rows = database.execute(text).fetchmany(1000)
    except sqlite3.Error:
        return
    score.n_run += 1
    score.n_right += sorted(map(repr, rows)) == sorted(map(repr, database.execute(gold).fetchall()))


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--tokens", type=int, default=60, help="most tokens of a query")
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    model, tokenizer = load_model()
    schemas, scores = load_schemas(), {way: Score() for way in WAYS}
    databases: dict[str, sqlite3.Connection] = {}
    grammars: dict[str, dict[str, Any]] = {}
    for question in chosen(arguments.questions):
        if question.schema not in databases:
            database = databases[question.schema] = sqlite3.connect(":memory:")
            database.executescript(schemas[question.schema])
            grammars[question.schema] = {
                "grammar": _SELECT,
                "names": cfgguide.sql.with_schema(cfgguide.Grammar.bundled("sql_select"), database),
                "runs_on": cfgguide.sql.runs_on(database, new_columns=False),
            }
        database = databases[question.schema]
        asked = (
            f"{definitions(schemas[question.schema])}\nWrite one SQLite query: {question.question}"
        )
        chat = [{"role": "user", "content": asked}, {"role": "assistant", "content": "```sql\n"}]
        for way in WAYS:
            started = time.perf_counter()
            if way == "no mask":
                text, n_tokens = unguided(model, tokenizer, chat, arguments.tokens)
            else:
                result = cfgguide.generate(
                    (model, tokenizer),
                    chat,
                    grammars[question.schema][way],
                    max_new_tokens=arguments.tokens,
                    progress=False,
                )
                text, n_tokens = result.text, len(result.token_ids)
            scores[way].seconds += time.perf_counter() - started
            scores[way].n_tokens += n_tokens
            judge(database, text, question.query, scores[way])
    print(f"{arguments.questions} questions, SmolLM2-135M\n")
    print("| | prepared | run | right | tokens a second |\n|---|---|---|---|---|")
    for way, score in scores.items():
        print(score.row(way))
    if arguments.picture is not None:
        draw(scores, arguments.picture)


def draw(scores: dict[str, Score], path: Path) -> None:
    """Draw the shares as bars."""
    import matplotlib as mpl

    mpl.use("svg")
    # Text as text, and the same file for the same figures.
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "cfgguide", "font.size": 9})
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 2.6))
    for rank, (what, colour) in enumerate((("n_prepared", "#4477aa"), ("n_right", "#228833"))):
        shares = [100 * getattr(score, what) / score.n for score in scores.values()]
        places = [place + (rank - 0.5) * 0.38 for place in range(len(scores))]
        bars = axes.bar(places, shares, 0.36, color=colour, label=("prepared", "right")[rank])
        axes.bar_label(bars, fmt="%.0f %%")
    axes.set_xticks(range(len(scores)), list(scores))
    axes.set_ylim(0, 112)
    axes.set_ylabel("queries, %")
    axes.legend(frameon=False, ncols=2, loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    # matplotlib leaves spaces at the ends of lines
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(line.rstrip() for line in lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
