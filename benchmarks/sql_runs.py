"""Measures SQL that runs: whether all of it is prepared, what is lost, and what masks cost.

In: random schemas and statements of `tests/support`. Out: five parts, each asked for by name. ::

    python benchmarks/sql_runs.py sound --statements 10000   # uniform logits, judged by SQLite
    python benchmarks/sql_runs.py complete                   # real and random queries
    python benchmarks/sql_runs.py cost --texts 150           # new texts, next to with_schema
    python benchmarks/sql_runs.py schemas                    # the same, with schemas that come once
    python benchmarks/sql_runs.py schema                     # compiling for 1,000 tables

The vocabulary is SmolLM2's. Set `CFGGUIDE_CACHE` to an empty folder: `with_schema` finds what an
earlier run compiled.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from question_files import load_questions, load_schemas

import cfgguide
from cfgguide.models import load_model

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support.monitored import allows, refusal
from support.sql_schemas import random_schema, schemas_50
from support.sql_statements import DATABASES, made, random_statement

_ALIASES = [
    *"abcdefghijklmnopqrstuvwxyz",
    *(f"{each}{n}" for each in "abgiostuj" for n in range(9)),
]
_ALIASES += [
    "n",
    "k",
    "v",
    "m",
    "grp",
    "cnt",
    "label",
    "share",
    "total",
    "result",
    "avg_value",
    "total_count",
]


def database_of(schema: str) -> sqlite3.Connection:
    """Return a database with a schema."""
    database = sqlite3.connect(":memory:")
    database.executescript(schema)
    return database


def sound(vocabulary: cfgguide.Vocabulary, n: int) -> None:
    """Write statements with uniform logits, finish them, and have them judged."""
    counts: Counter[str] = Counter()
    schemas = schemas_50()
    eos = set(vocabulary.eos_token_ids)
    for number, schema in enumerate(schemas):
        database = database_of(schema)
        index = cfgguide.compile(cfgguide.sql.runs_on(database), vocabulary)
        for seed in range(n // len(schemas)):
            rng, guide = random.Random(f"{number} {seed}"), cfgguide.Guide(index)
            try:
                for _ in range(rng.choice([3, 6, 10, 20, 40, 80])):
                    allowed = [
                        each for each in guide.allowed_token_ids().tolist() if each not in eos
                    ]
                    if not allowed:
                        break
                    guide.advance(_drawn(rng, allowed, vocabulary))
                for token_id in guide.shortest_completion():
                    guide.advance(token_id)
            except cfgguide.CfgGuideError as error:
                counts["dead ends"] += 1
                print(f"{guide.text!r}: {error}")
                continue
            text = b"".join(vocabulary.tokens[each] or b"" for each in guide.token_ids)
            said = refusal(database, text.decode("utf-8", "replace"))
            counts["refused by SQLite" if said else "prepared"] += 1
            if said:
                print(f"{said}: {text!r}")
    print(dict(counts))


def _drawn(rng: random.Random, allowed: list[int], vocabulary: cfgguide.Vocabulary) -> int:
    """Return a token: any, or one of a beginning, so that signs and words come as often."""
    if rng.random() < 0.25:
        return rng.choice(allowed)
    by_beginning: dict[bytes, list[int]] = {}
    for token_id in allowed:
        text = (vocabulary.tokens[token_id] or b"").strip().lower()
        size = 4 if text[:1].isalpha() and len(allowed) < 3000 else 1
        by_beginning.setdefault(text[:size], []).append(token_id)
    return rng.choice(by_beginning[rng.choice(sorted(by_beginning))])


def complete(vocabulary: cfgguide.Vocabulary) -> None:
    """Count the queries that are accepted, and list the others."""
    indexes: dict[str, Any] = {}
    schemas = load_schemas()
    lost = []
    questions = load_questions()
    for question in questions:
        if question.schema not in indexes:
            grammar = cfgguide.sql.runs_on(database_of(schemas[question.schema]))
            indexes[question.schema] = cfgguide.compile(grammar, vocabulary)
        if not allows(indexes[question.schema], question.query):
            lost.append(question.query)
    print(f"questions: {len(questions) - len(lost)} of {len(questions)}", *lost, sep="\n  ")
    counts: Counter[bool] = Counter()
    for key in DATABASES:
        database = made(key)
        index = cfgguide.compile(cfgguide.sql.runs_on(database), vocabulary)
        for seed in range(200):
            counts[allows(index, random_statement(database, seed, "select"))] += 1
    print(f"random statements: {counts[True]} of {counts.total()}")


def cost(vocabulary: cfgguide.Vocabulary, tokenizer: Any, n: int) -> None:
    """Read new texts in turns with the names alone and with runs_on, each with an empty index."""
    database = made("shop")
    select = cfgguide.Grammar.bundled("sql_select")
    names = cfgguide.sql.with_schema(select, database, aliases=_ALIASES)
    ways = {"with_schema": names, "runs_on": cfgguide.sql.runs_on(database)}
    judges = [cfgguide.compile(grammar, vocabulary) for grammar in ways.values()]
    texts: list[str] = []
    seed = 0
    while len(texts) < n:
        text = random_statement(database, seed, "select")
        seed += 1
        if len(text) <= 250 and all(allows(index, text) for index in judges):
            texts.append(text)
    indexes = {way: cfgguide.compile(grammar, vocabulary) for way, grammar in ways.items()}
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    lengths = []
    for text in texts:
        token_ids = tokenizer.encode(text, add_special_tokens=False)
        lengths.append(len(token_ids) + 1)
        for way, index in indexes.items():
            seconds[way].append(_seconds(index, token_ids))
    print("| microseconds a token, texts | 1-20 | 21-100 | 101- | all | masks made |")
    print("|---|---|---|---|---|---|")
    for way, index in indexes.items():
        windows = (slice(0, 20), slice(20, 100), slice(100, None), slice(None))
        means = [1e6 * sum(seconds[way][each]) / max(sum(lengths[each]), 1) for each in windows]
        cells = " | ".join(f"{mean:,.0f}" for mean in means)
        print(f"| {way} | {cells} | {index.n_made:,} |")


def schemas(vocabulary: cfgguide.Vocabulary, tokenizer: Any) -> None:
    """Read each schema's queries with the names alone and with runs_on, from compiling on."""
    select = cfgguide.Grammar.bundled("sql_select")
    compiling: Counter[str] = Counter()
    reading: Counter[str] = Counter()
    n_tokens = n_queries = 0
    questions = load_questions()
    for key, schema in load_schemas().items():
        database, indexes = database_of(schema), {}
        for way in ("with_schema", "runs_on"):
            started = time.process_time()
            if way == "runs_on":
                grammar = cfgguide.sql.runs_on(database)
            else:
                grammar = cfgguide.sql.with_schema(select, database, aliases=_ALIASES)
            indexes[way] = cfgguide.compile(grammar, vocabulary)
            compiling[way] += time.process_time() - started
        queries = [each.query for each in questions if each.schema == key]
        for query in queries:
            if not all(allows(index, query) for index in indexes.values()):
                continue
            token_ids = tokenizer.encode(query, add_special_tokens=False)
            n_tokens += len(token_ids) + 1
            n_queries += 1
            for way, index in indexes.items():
                reading[way] += _seconds(index, token_ids)
    print(f"{n_queries} of {len(questions)} queries, {n_tokens:,} tokens")
    print("| | compiling, ms a schema | microseconds a token |")
    print("|---|---|---|")
    for way in reading:
        milliseconds = 1e3 * compiling[way] / len(load_schemas())
        print(f"| {way} | {milliseconds:,.0f} | {1e6 * reading[way] / n_tokens:,.0f} |")


def _seconds(index: cfgguide.Index, token_ids: list[int]) -> float:
    """Return the time in which an index makes the masks of a text."""
    out = np.zeros(index.vocabulary.n_words, dtype=np.int32)
    guide, started = cfgguide.Guide(index), time.process_time()
    for token_id in token_ids:
        guide.fill_bitmask(out)
        guide.advance(token_id)
    guide.fill_bitmask(out)
    return time.process_time() - started


def schema(vocabulary: cfgguide.Vocabulary) -> None:
    """Time from a schema of 1,000 tables to the first mask."""
    database = database_of(random_schema(0, 1000))
    cfgguide.compile(cfgguide.sql.runs_on({"warm": ["up"]}), vocabulary)
    started = time.perf_counter()
    index = cfgguide.compile(cfgguide.sql.runs_on(database), vocabulary)
    compiled = time.perf_counter()
    cfgguide.Guide(index).allowed_token_ids()
    print(f"{compiled - started:.2f} s, first mask {1e3 * (time.perf_counter() - compiled):.1f} ms")


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=["sound", "complete", "cost", "schemas", "schema"])
    parser.add_argument("--statements", type=int, default=1000)
    parser.add_argument("--texts", type=int, default=150)
    arguments = parser.parse_args()
    _, tokenizer = load_model()
    vocabulary = cfgguide.Vocabulary.from_tokenizer(tokenizer)
    if arguments.part == "sound":
        sound(vocabulary, arguments.statements)
    elif arguments.part == "complete":
        complete(vocabulary)
    elif arguments.part == "cost":
        cost(vocabulary, tokenizer, arguments.texts)
    elif arguments.part == "schemas":
        schemas(vocabulary, tokenizer)
    else:
        schema(vocabulary)


if __name__ == "__main__":
    main()
