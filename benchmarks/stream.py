"""Measures new texts, each read once: what a token costs while an index fills.

In: a grammar, a tokenizer and where texts are. Out: a section with the processor time of a token
(its mask, and `advance`), window by window of the stream, for cfgguide and its peers. The engines
read the same few texts in turns (:mod:`streaming`). ``python benchmarks/stream.py --help`` tells
the options; `benchmarks/README.md` what the figures mean.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path
from random import Random

import documents
import numpy as np
import numpy.typing as npt
import tables
from engines import AMBIGUOUS, BEFORE, ENGINES, REFERENCE, TWINS
from judging import judge_of
from measuring import MeasuringError
from page import RESULTS, Section
from streaming import Reader, Stream
from targets import Target
from vocabularies import GEMMA, Tokenizer, find, open_tokenizer, write_standard_library_tokenizer

EARLIER = "cfgguide, earlier index"  # of a run over other texts, saved and loaded
GRAMMARS = ("json", "sql", "sqlite", "python_expressions", "python", *AMBIGUOUS, *TWINS)
PEERS = ("glrmask", "llguidance", "xgrammar")
EDGES = (0, 20, 100, 300, 1000, 3000)
N_IN_TURN = 20  # texts that an engine reads before the next engine does
SHORTEST, LONGEST = 20, 6000  # characters
PATIENCE = 120.0  # seconds of an engine
DOCUMENTS = "CFGGUIDE_STREAM_DOCUMENTS"
#: Most microseconds of a token, by grammar and the first text of a window.
LIMITS = {
    "json": {21: 2.0},
    "sql": {21: 10.0, 301: 4.0},
    "sqlite": {21: 25.0, 301: 8.0},
    "python": {21: 40.0, 301: 15.0},
}
_N_RATHER = 2  # times as many texts are drawn from as are read


@dataclass
class Read:
    """What an engine has read so far.

    Attributes
    ----------
    seconds : float
        Processor time of compiling.
    steps : list of (int64, shape (n_steps,))
        For each text, nanoseconds of its steps.
    is_whole : list of bool
        For each text, whether it was read to its end.
    sizes : dict of int to dict of str to int
        By the number of texts read, what the engine says about itself.
    """

    seconds: float
    steps: list[npt.NDArray[np.int64]] = field(default_factory=list)
    is_whole: list[bool] = field(default_factory=list)
    sizes: dict[int, dict[str, int]] = field(default_factory=lambda: {0: {}})


Window = tuple[int, int]


def main() -> None:
    options = _options()
    section = Section.begun(f"stream-{options.grammar}", f"New texts: {options.grammar}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        paths = [find(name) for name in options.tokenizer]
        for number, path in enumerate(paths or [write_standard_library_tokenizer(folder)]):
            work = folder / str(number)
            work.mkdir()
            _measure(path, options, work, section)
    section.write(options.results)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--grammar", choices=GRAMMARS, default="json")
    parser.add_argument(
        "--tokenizer", nargs="+", default=[], help=f"as for masks.py, {GEMMA!r} included"
    )
    parser.add_argument(
        "--documents",
        nargs="+",
        default=os.environ.get(DOCUMENTS, "").split(),
        help="folders of files, or JSON lines with a `text` each; default: what the environment "
        f"variable {DOCUMENTS} names, else the standard library, else made here",
    )
    parser.add_argument("--texts", type=int, default=EDGES[-1], help="at most so many")
    parser.add_argument("--engines", nargs="+", choices=[REFERENCE, EARLIER, *PEERS])
    parser.add_argument("--before", type=Path, help="another checkout of cfgguide")
    parser.add_argument(
        "--patience", type=float, default=PATIENCE, help="seconds after which an engine is left"
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the figures")
    options = parser.parse_args()
    options.engines = options.engines or [REFERENCE, EARLIER, *PEERS]
    if options.before:
        options.engines.insert(1, BEFORE)
    return options


def _measure(path: Path, options: argparse.Namespace, work: Path, section: Section) -> None:
    """Measure with one tokenizer, and add what was found to the section."""
    tokenizer = open_tokenizer(path)
    drawn = texts(tokenizer, options)
    n = min(options.texts, len(drawn) - len(drawn) // 4)
    tokens = work / "tokens.json"
    tokens.write_text(json.dumps(drawn), encoding="utf-8")
    stream = Stream("", options.grammar, str(path), str(tokens))
    found, absent = read_in_turns(stream, options, n, len(drawn), work)
    edges = [edge for edge in EDGES if edge < n] + [n]
    windows = list(pairwise(edges))
    lines = [
        f"### {tokenizer.name}: {tokenizer.size:,} ids",
        "",
        f"{n} texts, {sum(len(text) + 1 for text in drawn[:n]):,} steps; the earlier index read "
        f"{len(drawn) - n} others.",
        "",
        *(f"* {name}: {reason}" for name, reason in absent.items()),
        *[""] * bool(absent),
    ]
    for title, rows in _tables(found, windows).items():
        lines += [f"#### {title}", "", *tables.table(rows[0], rows[1:]), ""]
    section.lines += lines
    section.targets += _targets(f"{options.grammar}, {tokenizer.name}", found, windows)
    section.figures.setdefault("tokenizers", []).append(_as_json(tokenizer, found, windows))


def texts(tokenizer: Tokenizer, options: argparse.Namespace) -> list[list[int]]:
    """Return texts as tokens in a random order: those to be read, and a third as many others."""
    judge = judge_of(options.grammar)
    wanted = options.texts + options.texts // 3
    every = documents.stream(options.grammar, options.documents)
    fitting = (text for text in every if SHORTEST <= len(text) <= LONGEST)
    most = None if options.documents else _N_RATHER * wanted
    pool = list(dict.fromkeys(islice(fitting, most)))
    Random(0).shuffle(pool)
    token_bytes = tokenizer.token_bytes()
    chosen: list[list[int]] = []
    for text in pool:
        tokens = tokenizer.encode(text)
        spelled = b"".join(token_bytes[token] or b"" for token in tokens)
        if spelled == text.encode() and judge.is_sentence(spelled):
            chosen.append(tokens)
            if len(chosen) == wanted:
                break
    return chosen


def read_in_turns(
    stream: Stream, options: argparse.Namespace, n: int, n_texts: int, work: Path
) -> tuple[dict[str, Read], dict[str, str]]:
    """Return what the engines read, and why others did not."""
    found: dict[str, Read] = {}
    absent: dict[str, str] = {}
    readers: dict[str, Reader] = {}
    for name in options.engines:
        entry = ENGINES[REFERENCE if name == EARLIER else name]
        reason = entry.absence(stream.grammar, 0)
        if reason:
            absent[name] = reason
            continue
        print(f"{name}: compiling", file=sys.stderr, flush=True)
        try:
            readers[name] = _reader(name, stream, options, (n, n_texts), work)
            found[name] = Read(readers[name].seconds)
        except MeasuringError as error:
            absent[name] = f"failed: {error}"
    stops = sorted({*range(0, n, N_IN_TURN), *(edge for edge in EDGES if edge < n), n})
    for first, end in pairwise(stops):
        for name, reader in list(readers.items()):
            reading = reader.read(first, end)
            read = found[name]
            read.steps += [np.array(steps, dtype=np.int64) for steps in reading.steps]
            read.is_whole += reading.is_whole
            read.sizes[end] = reading.sizes
            if sum(int(steps.sum()) for steps in read.steps) > options.patience * 1e9:
                readers.pop(name).close()
        if end in EDGES:
            print(f"{end} texts", file=sys.stderr, flush=True)
    for reader in readers.values():
        reader.close()
    return found, absent


def _reader(
    name: str, stream: Stream, options: argparse.Namespace, others: Window, work: Path
) -> Reader:
    """Return the process of an engine, with a cache of its own."""
    cache = str(work / f"cache-{name}") + os.sep
    environment = {"OMP_NUM_THREADS": "1", "CFGGUIDE_CACHE": cache}
    environment["TOKENIZERS_PARALLELISM"] = "false"
    if name == BEFORE:
        environment["PYTHONPATH"] = str(options.before.resolve())
    if name != EARLIER:
        return Reader(_of(stream, name), environment)
    index = str(work / "index")
    earlier = Reader(_of(stream, REFERENCE), environment)
    earlier.read(*others)
    earlier.save(index)
    earlier.close()
    return Reader(_of(stream, REFERENCE, index), environment)


def _of(stream: Stream, engine: str, index: str = "") -> Stream:
    return Stream(engine, stream.grammar, stream.tokenizer, stream.documents, index)


def _tables(found: dict[str, Read], windows: list[Window]) -> dict[str, list[list[str]]]:
    """Return tables of all engines by window, under their titles."""
    head = [f"{first + 1:,}-{end:,}" for first, end in windows]

    def by_window(
        names: list[str], cell: Callable[[str, Window], str], *more: str
    ) -> list[list[str]]:
        rows = [[name, *(cell(name, window) for window in windows)] for name in names]
        return [["engine", *head, *more], *rows]

    mean = by_window(
        list(found),
        lambda name, window: _shown(found[name], window, lambda steps: [steps.mean()]),
        "compile, seconds",
        "texts refused",
    )
    for row, read in zip(mean[1:], found.values(), strict=True):
        row += [tables.number(read.seconds), str(len(read.is_whole) - sum(read.is_whole))]
    result = {"Mean of a token, microseconds of processor time": mean}
    if REFERENCE in found:
        result[f"The same, divided by {REFERENCE}'s over the texts that both read"] = by_window(
            [name for name in found if name != REFERENCE],
            lambda name, window: _ratio_shown(found[name], found[REFERENCE], window),
        )
    result["Steps, microseconds: p50 / p99 / worst"] = by_window(
        list(found), lambda name, window: _shown(found[name], window, _percentiles)
    )
    indexes = [name for name in found if name in (REFERENCE, EARLIER, BEFORE)]
    result["Steps whose mask was made; entries / distinct masks / MB at the end of the window"] = (
        by_window(indexes, lambda name, window: _index_shown(found[name], window))
    )
    return result


def _targets(setting: str, found: dict[str, Read], windows: list[Window]) -> list[Target]:
    """Return the limits of a token's mean, and the ratio to the fastest peer in each window."""
    targets: list[Target] = []
    if REFERENCE not in found:
        return targets
    ours = found[REFERENCE]
    for window in windows:
        name = f"a token of new texts {window[0] + 1:,}-{window[1]:,}, mean"
        limit = LIMITS.get(setting.partition(",")[0], {}).get(window[0] + 1)
        steps = _steps(ours, window)
        if limit and steps is not None:
            targets.append(Target(name, setting, float(steps.mean()), limit, "us"))
        ratios = {peer: _ratio(ours, found[peer], window) for peer in PEERS if peer in found}
        known = {peer: ratio for peer, ratio in ratios.items() if ratio is not None}
        if known:
            fastest = max(known, key=lambda peer: known[peer])
            against = f"{name}, against fastest peer"
            targets.append(Target(against, setting, known[fastest], 1.0, "times", fastest))
    return targets


def _steps(read: Read, window: Window) -> npt.NDArray[np.float64] | None:
    """Return microseconds of all steps in a window; None if its end was not reached."""
    first, end = window
    if end > len(read.steps):
        return None
    steps: npt.NDArray[np.float64] = np.concatenate(read.steps[first:end]) / 1000
    return steps


def _percentiles(steps: npt.NDArray[np.float64]) -> list[float]:
    return [*np.percentile(steps, [50, 99]).tolist(), float(steps.max())]


def _shown(
    read: Read, window: Window, figures: Callable[[npt.NDArray[np.float64]], list[float]]
) -> str:
    steps = _steps(read, window)
    return "-" if steps is None else " / ".join(map(tables.number, figures(steps)))


def _ratio(one: Read, other: Read, window: Window) -> float | None:
    """Return the time of the texts that both read whole, divided; None if a window is not read."""
    first, end = window
    if end > min(len(one.steps), len(other.steps)):
        return None
    shared = [n for n in range(first, end) if one.is_whole[n] and other.is_whole[n]]
    times = [sum(int(read.steps[n].sum()) for n in shared) for read in (one, other)]
    return times[0] / times[1] if shared else None


def _ratio_shown(one: Read, other: Read, window: Window) -> str:
    ratio = _ratio(one, other, window)
    return "-" if ratio is None else tables.number(ratio)


def _index_shown(read: Read, window: Window) -> str:
    first, end = window
    sizes = read.sizes.get(end)
    if sizes is None:
        return "-"
    n_steps = sum(map(len, read.steps[first:end]))
    made = sizes["index.n_made"] - read.sizes[first].get("index.n_made", 0)
    counts = f"{sizes['index.n_entries']:,} / {sizes['index.n_subsets']:,}"
    return f"{made / n_steps:.2%}; {counts} / {sizes['index.nbytes'] / 1e6:.1f}"


def _as_json(
    tokenizer: Tokenizer, found: dict[str, Read], windows: list[Window]
) -> dict[str, object]:
    """Return all figures of one tokenizer as plain data."""
    engines: dict[str, object] = {}
    for name, read in found.items():
        of_windows = []
        for window in windows:
            if (steps := _steps(read, window)) is not None:
                figures = dict(zip(("p50", "p99", "worst"), _percentiles(steps), strict=True))
                ratio = _ratio(read, found[REFERENCE], window) if REFERENCE in found else None
                more = {"mean": float(steps.mean()), "n_steps": len(steps), "ratio": ratio}
                of_windows.append(
                    {"texts": window, **figures, **more, "sizes": read.sizes[window[1]]}
                )
        engines[name] = {"compile": read.seconds, "windows": of_windows}
    return {"tokenizer": tokenizer.name, "size": tokenizer.size, "engines": engines}


if __name__ == "__main__":
    main()
