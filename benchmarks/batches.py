"""Measures batches: the masks of many texts in one call, and their tokens.

In: a grammar, a tokenizer and where texts are. Out: a section with the time of a call by the size
of the batch: *warm*, all masks known; *step*, each text consumes a token before; *new*, the same
with texts that are read for the first time. All engines run in this process, in turns, each with
the batch call that it has; processor time is that of all their threads.
"""

from __future__ import annotations

import argparse
import gc
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import stream
import tables
from engines import ENGINES, FLOOR, REFERENCE
from page import RESULTS, Section
from vocabularies import GEMMA, find, open_tokenizer, write_standard_library_tokenizer

SIZES = (1, 8, 64, 256, 1000)
BATCHED = (REFERENCE, "xgrammar", "llguidance", FLOOR)  # engines with a batch call, and the floor
N_STEPS = 30  # of each text
N_FILLS = 3  # warm calls after each step
_KINDS = ("warm", "step", "new")


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
    section = Section.begun(f"batches-{options.grammar}", f"Batches: {options.grammar}")
    os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["CFGGUIDE_CACHE"] = str(Path(temporary) / "cache")
        named = options.tokenizer and find(options.tokenizer)
        tokenizer = open_tokenizer(named or write_standard_library_tokenizer(Path(temporary)))
        options.texts = max(options.sizes)
        texts = [text for text in stream.texts(tokenizer, options) if len(text) > N_STEPS]
        found: dict[str, dict[int, Times]] = {}
        engines: dict[str, Any] = {}
        for name in options.engines:
            if reason := ENGINES[name].absence(options.grammar, tokenizer.size):
                section.lines += [f"* {name}: {reason}"]
            else:
                engines[name] = ENGINES[name].load()
                engines[name].prepare(tokenizer)
                found[name] = {}
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
    section.write(options.results)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--grammar", choices=stream.GRAMMARS, default="json")
    parser.add_argument("--tokenizer", help=f"a folder or file, or {GEMMA!r}")
    parser.add_argument("--documents", nargs="+", default=[], help="as for stream.py")
    parser.add_argument("--engines", nargs="+", choices=BATCHED, default=list(BATCHED))
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the figures")
    options = parser.parse_args()
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
