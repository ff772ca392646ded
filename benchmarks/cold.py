"""Measures cold tokens: what a step takes when its mask was not made before, and the worst of all.

In: a tokenizer; schemas with documents (:mod:`schema_cases`), and grammars with texts. Out: a
section with the mean and the tail of a step, how many steps stall a server, and the text before the
worst one, for cfgguide and its peers. Each engine has a process of its own, and they take turns:
schema by schema (:mod:`schema_runs`), and a few texts of a grammar at a time (:mod:`streaming`).

    python benchmarks/cold.py --schemas data.jsonl.gz --tokenizer path/to/qwen2.5
    python benchmarks/cold.py --grammars sqlite --texts 300
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import maskbench
import numpy as np
import numpy.typing as npt
import schema_cases
import stream
import tables
from engines import BEFORE, REFERENCE
from page import RESULTS, Section
from schema_runs import COMPILED
from schema_tables import Results
from streaming import Stream
from vocabularies import GEMMA, Tokenizer, find, open_tokenizer, write_standard_library_tokenizer

GRAMMARS = ("json", "sqlite", "python_expressions")
ENGINES = (REFERENCE, *stream.PEERS)
N_SCHEMAS = 100  # that are made, or drawn from files
N_TEXTS = 100
_SHOWN = 60  # characters before the worst step
_STALLS = {"over 1 ms": 1e3, "over 10 ms": 1e4}  # microseconds


@dataclass(frozen=True)
class Steps:
    """The steps of one text.

    Attributes
    ----------
    name : str
        Of its schema; empty for a text of a grammar.
    tokens : list of int
        What it is made of.
    times : float64, shape (n_steps,)
        Microseconds; the step of each token, and for a text of a grammar one after the last.
    """

    name: str
    tokens: list[int]
    times: npt.NDArray[np.float64]


def main() -> None:
    options = _options()
    section = Section.begun("cold", "Cold tokens")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        named = options.tokenizer and find(options.tokenizer)
        path = named or write_standard_library_tokenizer(folder)
        tokenizer = open_tokenizer(path)
        section.lines += [f"{tokenizer.name}, {tokenizer.size:,} ids; processor time.", ""]
        if not options.without_schemas:
            _measure_schemas(path, tokenizer, options, section)
        for grammar in options.grammars:
            work = folder / grammar
            work.mkdir()
            _measure_grammar(grammar, path, tokenizer, options, work, section)
    section.write(options.results)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tokenizer", help=f"a folder or file, or {GEMMA!r}")
    parser.add_argument(
        "--schemas", nargs="+", type=Path, default=[], help="as of maskbench.py; else made here"
    )
    parser.add_argument("--sample", type=int, default=N_SCHEMAS, help="at most so many schemas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--without-schemas", action="store_true")
    parser.add_argument(
        "--grammars", nargs="*", choices=stream.GRAMMARS, default=list(GRAMMARS), metavar="GRAMMAR"
    )
    parser.add_argument("--documents", nargs="+", default=[], help="as for stream.py")
    parser.add_argument("--texts", type=int, default=N_TEXTS, help="of each grammar, at most")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--before", type=Path, help="another checkout of cfgguide")
    parser.add_argument(
        "--limit",
        type=float,
        default=maskbench.LIMIT,
        help="seconds for a schema and its documents",
    )
    parser.add_argument("--memory", type=float, default=maskbench.MEMORY, help="GB of an engine")
    parser.add_argument(
        "--patience",
        type=float,
        default=stream.PATIENCE,
        help="seconds of an engine with a grammar",
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the figures")
    options = parser.parse_args()
    options.warm = False
    if options.before:
        options.engines.insert(1, BEFORE)
    return options


# --- Schemas -------------------------------------------------------------------------------------


def _measure_schemas(
    path: Path, tokenizer: Tokenizer, options: argparse.Namespace, section: Section
) -> None:
    cases = schema_cases.drawn(options.schemas, options.sample, options.seed)
    runners, absent = maskbench.started(options, path)
    results = maskbench.in_turns(runners, cases, tokenizer)
    cases_of = {
        name: [number for number, run in enumerate(runs) if run.outcome == COMPILED]
        for name, runs in results.runs.items()
    }
    shared = sorted(set(range(len(results.cases))).intersection(*cases_of.values()))
    counts = ", ".join(f"{name} {len(numbers)}" for name, numbers in cases_of.items())
    section.lines += [
        f"### Schemas: {len(results.cases)}",
        "",
        f"Compiled, and read without a crash: {counts}; by all engines {len(shared)}.",
        "",
        *(f"* {name}: {reason}" for name, reason in absent.items()),
        *[""] * bool(absent),
    ]
    both = {name: list(_of_schemas(results, name, shared, tokenizer)) for name in results.runs}
    starts = {name: _starts(results, name, shared) for name in results.runs}
    _report(
        "The tokens that all engines read", "shared", shared_part(both), tokenizer, section, starts
    )
    every = {
        name: list(_of_schemas(results, name, numbers, tokenizer))
        for name, numbers in cases_of.items()
    }
    starts = {name: _starts(results, name, numbers) for name, numbers in cases_of.items()}
    _report("All tokens that an engine read", "schemas", every, tokenizer, section, starts)


def shared_part(found: dict[str, list[Steps]]) -> dict[str, list[Steps]]:
    """Return each text up to where the first engine refused a token."""
    lengths = [min(len(each.times) for each in same) for same in zip(*found.values(), strict=True)]
    return {
        name: [
            replace(text, times=text.times[:length])
            for text, length in zip(texts, lengths, strict=True)
        ]
        for name, texts in found.items()
    }


def _of_schemas(
    results: Results, engine: str, numbers: list[int], tokenizer: Tokenizer
) -> Iterator[Steps]:
    """Yield the steps of all documents of some schemas."""
    for number in numbers:
        case, run = results.cases[number], results.runs[engine][number]
        for instance, reading in zip(case.instances, run.cold, strict=True):
            tokens = tokenizer.encode(instance.text)
            yield Steps(case.name, tokens, np.array(reading.steps, dtype=np.int64) / 1e3)


def _starts(results: Results, engine: str, numbers: list[int]) -> dict[str, float]:
    """Return milliseconds to the first mask, and of a schema with its first document."""
    runs = [results.runs[engine][number] for number in numbers]
    firsts = np.array([run.first_mask or 0 for run in runs]) / 1e6
    whole = [
        first + sum(run.cold[0].steps) / 1e6
        for first, run in zip(firsts, runs, strict=True)
        if run.cold
    ]
    if not whole:
        return {}
    return {
        "schema and first document, mean ms": float(np.mean(whole)),
        "first mask, p50 ms": float(np.percentile(firsts, 50)),
        "first mask, p99 ms": float(np.percentile(firsts, 99)),
    }


# --- Grammars ------------------------------------------------------------------------------------


def _measure_grammar(
    grammar: str,
    path: Path,
    tokenizer: Tokenizer,
    options: argparse.Namespace,
    work: Path,
    section: Section,
) -> None:
    # Twice as many are drawn: what the grammar's judge refuses is left out.
    drawn = {"grammar": grammar, "texts": 2 * options.texts}
    chosen = argparse.Namespace(**{**vars(options), **drawn})
    texts = stream.texts(tokenizer, chosen)[: options.texts]
    tokens = work / "tokens.json"
    tokens.write_text(json.dumps(texts), encoding="utf-8")
    read, absent = stream.read_in_turns(
        Stream("", grammar, str(path), str(tokens)), chosen, len(texts), len(texts), work
    )
    n_shared = min((len(each.steps) for each in read.values()), default=0)
    section.lines += [
        f"### {grammar}: {n_shared} texts",
        "",
        *(f"* {name}: {reason}" for name, reason in absent.items()),
        *[""] * bool(absent),
    ]
    found = {
        name: [
            Steps("", text, steps / 1e3)
            for text, steps in islice(zip(texts, each.steps, strict=False), n_shared)
        ]
        for name, each in read.items()
    }
    starts = {name: {"compile, ms": each.seconds * 1e3} for name, each in read.items()}
    _report(
        "The tokens that all engines read", grammar, shared_part(found), tokenizer, section, starts
    )


# --- The report ----------------------------------------------------------------------------------


def figures_of(texts: list[Steps]) -> dict[str, float]:
    """Return the mean and the tail of all steps in microseconds, and how many stall a server."""
    times = np.concatenate([np.empty(0), *(text.times for text in texts)])
    if not len(times):
        return {}
    p99, p999 = np.percentile(times, [99, 99.9]).tolist()
    return {
        "steps": len(times),
        "mean": float(times.mean()),
        "p99": p99,
        "p99.9": p999,
        "worst": float(times.max()),
        **{name: int((times > limit).sum()) for name, limit in _STALLS.items()},
    }


def worst_of(texts: list[Steps]) -> tuple[Steps, int]:
    """Return the text with the longest step, and that step's number."""
    text = max(texts, key=lambda each: float(each.times.max(initial=0)))
    return text, int(text.times.argmax())


def _report(
    title: str,
    name: str,
    found: dict[str, list[Steps]],
    tokenizer: Tokenizer,
    section: Section,
    starts: dict[str, dict[str, float]],
) -> None:
    """Add the table of all engines to the section, and the text before the worst step of each."""
    figures = {engine: figures_of(texts) for engine, texts in found.items()}
    known = [engine for engine, each in figures.items() if each]
    if not known:
        section.lines += ["No text was read by all engines.", ""]
        return
    rows = [[engine, *map(_cell, (figures[engine] | starts[engine]).items())] for engine in known]
    head = ["engine", *figures[known[0]], *starts[known[0]]]
    worst = [_worst_shown(engine, found[engine], tokenizer) for engine in known]
    section.lines += [
        f"{title}, microseconds a step:",
        "",
        *tables.table(head, rows),
        "",
        *worst,
        "",
    ]
    section.figures[name] = {engine: figures[engine] | starts[engine] for engine in known}


def _cell(figure: tuple[str, float]) -> str:
    name, value = figure
    return f"{value:,}" if name == "steps" or name in _STALLS else tables.number(value)


def _worst_shown(engine: str, texts: list[Steps], tokenizer: Tokenizer) -> str:
    text, step = worst_of(texts)
    before = json.dumps(tokenizer.fast.decode(text.tokens[:step])[-_SHOWN:], ensure_ascii=False)
    place = f" of `{text.name}`" if text.name else ""
    return f"* {engine}: {text.times[step] / 1e3:,.1f} ms after {before}{place}"


if __name__ == "__main__":
    os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
    main()
