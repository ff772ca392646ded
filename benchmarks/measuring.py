"""Measures one engine in a process of its own.

In: a :class:`Job`, as a file that names an engine, a tokenizer and the documents' tokens. Out: a
:class:`Run`, as two files beside it. `run` starts the process and reads its files; the script
itself is what runs in there.

The engine is led through the documents by their own tokens ("teacher forcing"). A *step* is a place
in a document where a mask is asked for: before each token, and once more after the last. Steps are
numbered through all documents.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from engines import ENGINES, LETTER, Engine, Sequence
from vocabularies import open_tokenizer

FloatArray = npt.NDArray[np.float64]
_clock = time.perf_counter_ns


@dataclass(frozen=True)
class Job:
    """What a process is to measure.

    Attributes
    ----------
    engine, grammar : str
        Their names.
    tokenizer : str
        Path of its folder or file.
    is_first : bool
        Whether no grammar is compiled before: else one of a single letter is, so that what an
        engine does once in a process is measured apart.
    documents : str
        Path of a JSON file with a list of token ids per document.
    n_warm_passes : int
        Passes over the documents after the first.
    patience : float
        Seconds after which a pass begins no further document; later passes are as long.
    sampled_steps : list of int
        Steps whose masks are kept; if there are none, nothing is asked about other steps either.
    """

    engine: str
    grammar: str
    tokenizer: str
    documents: str
    n_warm_passes: int
    is_first: bool = False
    patience: float = float("inf")
    sampled_steps: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Run:
    """What a process measured.

    Attributes
    ----------
    seconds : dict of str to float
        ``import``, ``prepare`` (the vocabulary), ``letter`` (grammar of one letter to first mask),
        ``compile`` (grammar text to first mask), ``compile, processor`` (its processor time).
    rss : dict of str to int
        Resident bytes: ``prepared``, ``compiled``, ``passed``; 0 where the system does not tell.
    sizes : dict of str to int
        What the engine says about itself after all passes.
    timer : float
        Nanoseconds that the two calls of the clock around a call cost themselves.
    n_documents : int
        Documents that were led through before patience ended.
    refusals : list of (int, int)
        Documents, and their tokens, at which the engine refused to go on.
    fill, advance : float64, shape (n_passes, n_steps)
        Nanoseconds; the first pass is the cold one. NaN where the engine did not get to, and for
        ``advance`` after a document's last token.
    fill_cpu : float64, shape (n_steps,)
        Nanoseconds of processor time of the thread for each mask of the first pass.
    next_allowed : bool, shape (n_steps,)
        Whether the mask allows the document's next token, or EOS at its end; False where the
        engine did not get to.
    masks : int32, shape (n_sampled_steps, n_words)
        Masks of the sampled steps; all zero where the engine did not get to.
    """

    seconds: dict[str, float]
    rss: dict[str, int]
    sizes: dict[str, int]
    timer: float
    n_documents: int
    refusals: list[tuple[int, int]]
    fill: FloatArray
    advance: FloatArray
    fill_cpu: FloatArray
    next_allowed: npt.NDArray[np.bool_]
    masks: npt.NDArray[np.int32]


class MeasuringError(Exception):
    """The process of an engine failed; the last line that it wrote says why."""


def run(job: Job, folder: Path, environment: dict[str, str], python: str = sys.executable) -> Run:
    """Measure in a new process.

    Parameters
    ----------
    folder : Path
        Where the job and its results are written.
    environment : dict of str to str
        Variables that are set on top of this process's own.
    python : str
        The interpreter.

    Raises
    ------
    MeasuringError
        If the process fails.
    """
    path = folder / "job.json"
    path.write_text(json.dumps(asdict(job)), encoding="utf-8")
    command = [python, __file__, str(path)]
    finished = subprocess.run(
        command, env={**os.environ, **environment}, stderr=subprocess.PIPE, text=True, check=False
    )
    if finished.returncode:
        lines = finished.stderr.strip().splitlines() or [f"exit status {finished.returncode}"]
        raise MeasuringError(lines[-1])
    plain = json.loads(path.with_suffix(".result.json").read_text(encoding="utf-8"))
    with np.load(path.with_suffix(".npz")) as arrays:
        return Run(**plain, **arrays)


def _measure(job: Job) -> Run:
    documents: list[list[int]] = json.loads(Path(job.documents).read_text(encoding="utf-8"))
    tokenizer = open_tokenizer(Path(job.tokenizer))
    started = _clock()
    engine = ENGINES[job.engine].load()
    imported = _clock()
    engine.prepare(tokenizer)
    seconds = {"import": (imported - started) / 1e9, "prepare": (_clock() - imported) / 1e9}
    if not job.is_first:
        seconds["letter"] = _time_to_first_mask(engine, LETTER)
    rss = {"prepared": resident_bytes()}
    gc.collect()
    before = time.process_time()
    seconds["compile"] = _time_to_first_mask(engine, job.grammar)
    seconds["compile, processor"] = time.process_time() - before
    rss["compiled"] = resident_bytes()
    first = _pass(engine, documents, is_cold=True, patience=job.patience)
    reached = documents[: first.n_documents]
    passes = [first, *(_pass(engine, reached) for _ in range(job.n_warm_passes))]
    rss["passed"] = resident_bytes()
    sizes = engine.sizes()
    n_steps = sum(len(tokens) + 1 for tokens in documents)
    n_words = len(engine.mask)
    next_allowed = np.zeros(n_steps, dtype=np.bool_)
    masks = np.zeros((len(job.sampled_steps), n_words), dtype=np.int32)
    if job.sampled_steps:
        _keep_masks(engine, reached, tokenizer.eos_token_id, job.sampled_steps, next_allowed, masks)
    return Run(
        seconds=seconds,
        rss=rss,
        sizes=sizes,
        timer=_timer_nanoseconds(),
        n_documents=len(reached),
        refusals=first.refusals,
        fill=np.array([_filled(each.fill, n_steps) for each in passes]),
        advance=np.array([_filled(each.advance, n_steps) for each in passes]),
        fill_cpu=_filled(first.fill_cpu, n_steps),
        next_allowed=next_allowed,
        masks=masks,
    )


def _filled(times: list[float], n_steps: int) -> FloatArray:
    """Return times as an array, with NaN for the steps that were not reached."""
    filled = np.full(n_steps, np.nan)
    filled[: len(times)] = times
    return filled


def _time_to_first_mask(engine: Engine, grammar: str) -> float:
    started = _clock()
    engine.compile(grammar)
    engine.start().fill()
    return (_clock() - started) / 1e9


@dataclass
class _Timed:
    """The times of a pass."""

    fill: list[float] = field(default_factory=list)
    advance: list[float] = field(default_factory=list)
    fill_cpu: list[float] = field(default_factory=list)
    refusals: list[tuple[int, int]] = field(default_factory=list)
    n_documents: int = 0


def _pass(
    engine: Engine,
    documents: list[list[int]],
    *,
    is_cold: bool = False,
    patience: float = float("inf"),
) -> _Timed:
    """Lead the engine through the documents once."""
    timed = _Timed()
    n_steps = 0
    deadline = time.perf_counter() + patience
    gc.collect()
    gc.disable()
    for number, tokens in enumerate(documents):
        if time.perf_counter() > deadline:
            break
        _lead(engine.start(), tokens, engine.refusals, timed, is_cold)
        n_steps += len(tokens) + 1
        if len(timed.fill) < n_steps:
            timed.refusals.append((number, len(tokens) + 1 - (n_steps - len(timed.fill))))
        for times in (timed.fill, timed.advance, timed.fill_cpu):
            times += [float("nan")] * (n_steps - len(times))
        timed.n_documents += 1
    gc.enable()
    return timed


def _lead(
    sequence: Sequence,
    tokens: list[int],
    refusals: tuple[type[Exception], ...],
    timed: _Timed,
    is_cold: bool,
) -> None:
    """Time the calls for one document, as far as the engine goes along.

    The processor's clock is a call to the system, so it is asked in the cold pass only, and outside
    of what the other clock measures.
    """
    fill, advance, clock, cpu_clock = sequence.fill, sequence.advance, _clock, time.thread_time_ns
    before_cpu = 0
    for token in [*tokens, None]:
        if is_cold:
            before_cpu = cpu_clock()
        before_fill = clock()
        fill()
        after_fill = clock()
        if is_cold:
            timed.fill_cpu.append(cpu_clock() - before_cpu)
        if token is None:
            timed.fill.append(after_fill - before_fill)
            return
        before_advance = clock()
        try:
            answer = advance(token)
        except refusals:
            answer = False
        after = clock()
        if answer is False:
            return
        timed.fill.append(after_fill - before_fill)
        timed.advance.append(after - before_advance)


def _keep_masks(
    engine: Engine,
    documents: list[list[int]],
    eos_token_id: int,
    sampled_steps: list[int],
    next_allowed: npt.NDArray[np.bool_],
    masks: npt.NDArray[np.int32],
) -> None:
    """Note for every step whether its token is allowed, and the masks of the sampled steps."""
    rows = {step: row for row, step in enumerate(sampled_steps)}
    first = 0
    for tokens in documents:
        sequence = engine.start()
        for step, token in enumerate([*tokens, eos_token_id], start=first):
            sequence.fill()
            next_allowed[step] = engine.mask[token >> 5] >> (token & 31) & 1
            if step in rows:
                masks[rows[step]] = engine.mask
            if step < first + len(tokens) and not _is_accepted(
                sequence.advance, token, engine.refusals
            ):
                break
        first += len(tokens) + 1


def _is_accepted(
    advance: Callable[[int], object], token: int, refusals: tuple[type[Exception], ...]
) -> bool:
    try:
        return advance(token) is not False
    except refusals:
        return False


def resident_bytes() -> int:
    """Return the resident memory of this process; 0 where the system does not tell."""
    gc.collect()
    try:
        fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    except FileNotFoundError:
        return 0
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def _timer_nanoseconds() -> float:
    times = []
    for _ in range(10_001):
        before = _clock()
        times.append(_clock() - before)
    return float(np.median(times))


def _write(path: Path, measured: Run) -> None:
    arrays: dict[str, Any] = {}
    plain: dict[str, Any] = {}
    for name, value in vars(measured).items():
        (arrays if isinstance(value, np.ndarray) else plain)[name] = value
    path.with_suffix(".result.json").write_text(json.dumps(plain), encoding="utf-8")
    np.savez(path.with_suffix(".npz"), **arrays)


if __name__ == "__main__":
    _path = Path(sys.argv[1])
    _write(_path, _measure(Job(**json.loads(_path.read_text(encoding="utf-8")))))
