"""Measures batches: the masks of many texts in one call, and their tokens.

In: a grammar, a tokenizer and where texts are. Out: a section with the time of a call by the size
of the batch: *warm*, all masks known; *step*, each text consumes a token before; *new*, the same
with texts that are read for the first time. All engines run in this process, in turns, each with
the batch call that it has; processor time is that of all their threads.

With ``--cold`` the rows of a batch are of different schemas, and then of different grammars, that
were just compiled: what a step of a server takes while nothing is known. Each row is filled by a
call of its own, which all engines have.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import itertools
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import documents
import numpy as np
import schema_cases
import stream
import tables
from engines import ENGINES, FLOOR, REFERENCE, Sequence
from judging import judge_of
from page import RESULTS, Section
from vocabularies import GEMMA, Tokenizer, find, open_tokenizer, write_standard_library_tokenizer

SIZES = (1, 8, 64, 256, 1000)
BATCHED = (REFERENCE, "xgrammar", "llguidance", FLOOR)  # engines with a batch call, and the floor
N_STEPS = 30  # of each text
N_FILLS = 3  # warm calls after each step
_KINDS = ("warm", "step", "new")
N_COLD = 64  # rows of different schemas, or of grammars
COLD = (REFERENCE, "llguidance", "glrmask", "xgrammar")
MIXED = ("json", "sql", "python_expressions")


@dataclass
class Times:
    """Microseconds of calls of one engine with batches of one size.

    Attributes
    ----------
    wall, cpu : dict of str to list of float
        By kind.
    """

    wall: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in _KINDS})
    cpu: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in _KINDS})

    def time(self, kind: str, call: Callable[[], object]) -> None:
        """Measure a call."""
        cpu, wall = time.process_time_ns(), time.perf_counter_ns()
        call()
        self.wall[kind].append((time.perf_counter_ns() - wall) / 1000)
        self.cpu[kind].append((time.process_time_ns() - cpu) / 1000)


def main() -> None:
    options = _options()
    name = "cold" if options.cold else options.grammar
    section = Section.begun(f"batches-{name}", f"Batches: {name}")
    os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["CFGGUIDE_CACHE"] = str(Path(temporary) / "cache")
        named = options.tokenizer and find(options.tokenizer)
        tokenizer = open_tokenizer(named or write_standard_library_tokenizer(Path(temporary)))
        measure = _measure_cold if options.cold else _measure_sizes
        measure(tokenizer, options, section)
    section.write(options.results)


def _prepared(
    names: list[str], grammars: tuple[str, ...], tokenizer: Tokenizer, section: Section
) -> dict[str, Any]:
    """Return the engines that are there and read the grammars; say why others are left out."""
    engines: dict[str, Any] = {}
    for name in names:
        reasons = (ENGINES[name].absence(grammar, tokenizer.size) for grammar in grammars)
        if reason := next(filter(None, reasons), None):
            section.lines += [f"* {name}: {reason}"]
        else:
            engines[name] = ENGINES[name].load()
            engines[name].prepare(tokenizer)
    return engines


def _measure_sizes(tokenizer: Tokenizer, options: argparse.Namespace, section: Section) -> None:
    """Measure batches of one grammar, of each size."""
    options.texts = max(options.sizes)
    texts = [text for text in stream.texts(tokenizer, options) if len(text) > N_STEPS]
    engines = _prepared(options.engines, (options.grammar,), tokenizer, section)
    found: dict[str, dict[int, Times]] = {name: {} for name in engines}
    for size in options.sizes:
        chosen = [texts[number % len(texts)] for number in range(size)]
        for name, engine in engines.items():
            found[name][size] = _measure(engine, options.grammar, chosen)
    section.lines += [
        f"{tokenizer.name}, {tokenizer.size:,} ids; {len(texts)} texts, the first {N_STEPS} tokens "
        "of each; microseconds of a call.",
        "",
        *_tables(found),
    ]
    section.figures = {
        name: {size: vars(times) for size, times in of_size.items()}
        for name, of_size in found.items()
    }


@dataclass
class Mixed:
    """A batch of one engine whose rows are of different schemas or grammars.

    Attributes
    ----------
    rows : list of (Sequence or None)
        One for each row; None once it has refused a token.
    refusals : tuple of exception types
        What the engine may raise for a token that it refuses.
    compiling : float
        Milliseconds of processor time in which they were compiled.
    steps : list of float
        Milliseconds of processor time of each step: all tokens, and all masks.
    """

    refusals: tuple[type[Exception], ...]
    rows: list[Sequence | None] = field(default_factory=list)
    compiling: float = 0.0
    steps: list[float] = field(default_factory=list)

    def compile(self, make: Callable[[], object]) -> None:
        """Compile something."""
        started = time.process_time()
        make()
        self.compiling += 1e3 * (time.process_time() - started)

    def step(self, tokens: list[int] | None) -> None:
        """Have each row consume its token, if there are any, and fill its mask."""
        started = time.process_time()
        for number, row in enumerate(self.rows):
            if row is None or (tokens and not self._is_taken(row, tokens[number])):
                self.rows[number] = None
            else:
                row.fill()
        self.steps.append(1e3 * (time.process_time() - started))

    def _is_taken(self, row: Sequence, token: int) -> bool:
        try:
            return row.advance(token) is not False
        except self.refusals:
            return False


def _measure_cold(tokenizer: Tokenizer, options: argparse.Namespace, section: Section) -> None:
    """Measure a batch of different schemas, and one of different grammars."""
    section.lines += [
        f"{tokenizer.name}, {tokenizer.size:,} ids; the first {N_STEPS} tokens of each row; "
        "milliseconds of processor time.",
        "",
    ]
    engines = _prepared(options.engines, MIXED, tokenizer, section)
    for title, found in (
        ("Different schemas", _mixed_schemas(engines, tokenizer, options)),
        (", ".join(MIXED), _mixed_grammars(engines, tokenizer, options)),
    ):
        head = ["engine", "a step, mean", "worst", "the first", "compiling", "rows that refuse"]
        rows = [
            [
                name,
                tables.number(float(np.mean(batch.steps))),
                *map(tables.number, (max(batch.steps), batch.steps[0], batch.compiling)),
                str(batch.rows.count(None)),
            ]
            for name, batch in found.items()
        ]
        n_rows = max((len(batch.rows) for batch in found.values()), default=0)
        section.lines += ["", f"#### {title}: {n_rows} rows", "", *tables.table(head, rows)]
        section.figures[title] = {
            name: {"steps": batch.steps, "compiling": batch.compiling}
            for name, batch in found.items()
        }


def _mixed_schemas(
    engines: dict[str, Any], tokenizer: Tokenizer, options: argparse.Namespace
) -> dict[str, Mixed]:
    """Lead engines through a document each of schemas that all of them compile."""
    found = {name: Mixed(engine.refusals) for name, engine in engines.items()}
    texts: list[list[int]] = []
    for case in schema_cases.drawn(options.schemas, 4 * options.rows, 0):
        documents = [tokenizer.encode(each.text) for each in case.instances if each.is_valid]
        long = [document for document in documents if len(document) > N_STEPS]
        if not long or len(texts) == options.rows:
            continue
        started: dict[str, Sequence] = {}
        for name, engine in engines.items():
            with contextlib.suppress(Exception):  # it does not take the schema
                found[name].compile(partial(engine.compile_schema, case.schema))
                started[name] = engine.start()
        if len(started) == len(engines):
            texts.append(long[0])
            for name, row in started.items():
                found[name].rows.append(row)
    return _led(found, texts)


def _mixed_grammars(
    engines: dict[str, Any], tokenizer: Tokenizer, options: argparse.Namespace
) -> dict[str, Mixed]:
    """Lead engines through texts of several grammars."""
    texts = {
        grammar: _long_texts(grammar, len(range(first, options.rows, len(MIXED))), tokenizer)
        for first, grammar in enumerate(MIXED)
    }
    found = {name: Mixed(engine.refusals) for name, engine in engines.items()}
    for name, engine in engines.items():
        for grammar in MIXED:
            found[name].compile(partial(engine.compile, grammar))
            found[name].rows += [engine.start() for _ in texts[grammar]]
    return _led(found, [text for grammar in MIXED for text in texts[grammar]])


def _long_texts(grammar: str, n: int, tokenizer: Tokenizer) -> list[list[int]]:
    """Return texts of a grammar that are made from seeds."""
    judge = judge_of(grammar)
    made = (documents.made(grammar, seed) for seed in itertools.count())
    right = (tokenizer.encode(text) for text in made if judge.is_sentence(text.encode()))
    return list(itertools.islice((text for text in right if len(text) > N_STEPS), n))


def _led(found: dict[str, Mixed], texts: list[list[int]]) -> dict[str, Mixed]:
    """Have all engines take each step in turns."""
    gc.collect()
    for number in range(N_STEPS + 1):
        tokens = [text[number - 1] for text in texts] if number else None
        for batch in found.values():
            batch.step(tokens)
    return found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--grammar", choices=stream.GRAMMARS, default="json")
    parser.add_argument("--tokenizer", help=f"a folder or file, or {GEMMA!r}")
    parser.add_argument("--documents", nargs="+", default=[], help="as for stream.py")
    parser.add_argument("--engines", nargs="+", choices=sorted({*BATCHED, *COLD}))
    parser.add_argument(
        "--cold", action="store_true", help="different schemas and grammars at once"
    )
    parser.add_argument(
        "--schemas", nargs="+", type=Path, default=[], help="as of maskbench.py; else made here"
    )
    parser.add_argument("--rows", type=int, default=N_COLD, help="of a cold batch")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the figures")
    options = parser.parse_args()
    options.engines = options.engines or list(COLD if options.cold else BATCHED)
    options.documents = options.documents or os.environ.get(stream.DOCUMENTS, "").split()
    return options


def _measure(engine: Any, grammar: str, texts: list[list[int]]) -> Times:
    """Lead an engine that knows nothing of the grammar through the texts twice."""
    times = Times()
    engine.compile(grammar)
    gc.collect()
    gc.disable()
    for kind in ("new", "step"):
        batch = engine.batch(len(texts))
        times.time("warm" if kind == "step" else kind, batch.fill)
        for number in range(N_STEPS):
            times.time(kind, partial(batch.step, [text[number] for text in texts]))
            for _ in range(N_FILLS if kind == "step" else 0):
                times.time("warm", batch.fill)
    gc.enable()
    return times


def _tables(found: dict[str, dict[int, Times]]) -> list[str]:
    lines = []
    for kind, title in (
        ("warm", "All masks known: median of processor time (of wall time)"),
        ("step", "A token each, then the masks: the same"),
        ("new", "The same with new texts: mean of processor time / longest call (wall time)"),
    ):
        rows = [
            [name, *(_cell(times, kind) for times in of_size.values())]
            for name, of_size in found.items()
        ]
        sizes = [f"{size:,}" for size in next(iter(found.values()), {})]
        lines += [f"#### {title}", "", *tables.table(["engine", *sizes], rows), ""]
    return lines


def _cell(times: Times, kind: str) -> str:
    wall, cpu = np.array(times.wall[kind]), np.array(times.cpu[kind])
    if kind == "new":
        return f"{tables.number(float(cpu.mean()))} / {tables.number(float(wall.max()))}"
    return f"{tables.number(float(np.median(cpu)))} ({tables.number(float(np.median(wall)))})"


if __name__ == "__main__":
    main()
