"""Leads one engine through schemas and their instances, in a process of its own.

In: a schema, and the tokens of instances. Out: a :class:`Run`: processor time to the first mask,
and for each instance whether each token was allowed by the mask before it, and EOS by the last,
with the time of each token (its mask, the look at it, and ``advance``).

The process stays for all schemas, as a service does, and is ended by the system's alarm when a
schema takes too long, which no native code escapes; the next schema starts another. A limit of
processor time would be fairer on a busy machine, but while Linux watches one, the clock of
processor time goes in steps of milliseconds. The script itself is what runs there: it reads a line
of JSON for each schema from its standard input and answers with lines, one for each step that it
got to, so that what was measured before the end is kept.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from engines import SCHEMA_ENGINES, SchemaEngine
from measuring import MeasuringError
from vocabularies import Tokenizer, open_tokenizer

COMPILED = "compiled"
REFUSED = "compile error"
OVER_LIMIT = "over the limit"
CRASHED = "crashed"
_LONG = 20_000  # nanoseconds of a step that may have been interrupted
_FIRST = {"type": "boolean"}  # what an engine does once in a process, it does for this one


@dataclass(frozen=True)
class Reading:
    """How an engine read an instance.

    Attributes
    ----------
    steps : list of int
        Nanoseconds of the tokens, the first one that was refused included.
    refused : int or None
        Number of the first token that was not allowed, that of EOS if only it was not; None if the
        instance was accepted.
    error : str
        What the engine raised, or that it refused a token of its own mask; else empty.
    """

    steps: list[int]
    refused: int | None = None
    error: str = ""


@dataclass
class Run:
    """What an engine did with a schema.

    Attributes
    ----------
    outcome : str
        `COMPILED`, `REFUSED`, `OVER_LIMIT` or `CRASHED`.
    reason : str
        The message, or how far the engine got; empty if all went well.
    first_mask : int or None
        Nanoseconds of processor time from the schema to its first mask.
    cold, warm : list of Reading
        The instances, the first time and again.
    growth : int
        Bytes by which the process's memory was ever larger than before its first schema.
    """

    outcome: str = COMPILED
    reason: str = ""
    first_mask: int | None = None
    cold: list[Reading] = field(default_factory=list)
    warm: list[Reading] = field(default_factory=list)
    growth: int = 0


@dataclass(frozen=True)
class Setting:
    """How an engine is run.

    Attributes
    ----------
    engine, tokenizer : str
        Its name, and a tokenizer's folder.
    limit : float
        Seconds for a schema with its instances; and as many for reading them again.
    memory : float
        Most GB of data that the process may have; none if 0.
    is_warm : bool
        Whether all instances of a schema are read once more.
    """

    engine: str
    tokenizer: str
    limit: float = 10.0
    memory: float = 0.0
    is_warm: bool = False


class Runner:
    """The process of an engine, which is started again when it was killed.

    Raises
    ------
    MeasuringError
        If the engine cannot be prepared.
    """

    def __init__(self, setting: Setting, environment: dict[str, str]) -> None:
        self._setting = setting
        self._environment = {**os.environ, **environment}
        self._process: subprocess.Popen[str] | None = None
        self._complaints = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115
        self._start()

    def run(self, schema: Any, instances: list[list[int]]) -> Run:
        """Lead the engine through a schema and the tokens of its instances."""
        process = self._process or self._start()
        assert process.stdin is not None, "it is a pipe"
        assert process.stdout is not None, "it is a pipe"
        process.stdin.write(json.dumps([schema, instances]) + "\n")
        process.stdin.flush()
        run = Run()
        for line in process.stdout:
            name, value = json.loads(line)
            if name == "end":
                return run
            if name in ("cold", "warm"):
                getattr(run, name).append(Reading(**value))
            else:
                setattr(run, name, value)
        self._process = None
        run.outcome, run.reason = self._death(process.wait(), run)
        return run

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, __file__, json.dumps(asdict(self._setting))]
        process = subprocess.Popen(
            command,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
        )
        assert process.stdout is not None, "it is a pipe"
        if not process.stdout.readline():
            raise MeasuringError(f"its process has ended: {self._last_complaint(process.wait())}")
        self._process = process
        return process

    def _death(self, status: int, run: Run) -> tuple[str, str]:
        """Return the outcome of a run whose process has ended, and a reason."""
        place = "while compiling" if run.first_mask is None else "while reading instances"
        if status == -signal.SIGALRM:
            return OVER_LIMIT, place
        return CRASHED, f"{place}: {self._last_complaint(status)}"

    def _last_complaint(self, status: int) -> str:
        self._complaints.seek(0)
        lines = self._complaints.read().strip().splitlines()
        self._complaints.seek(0)
        self._complaints.truncate()
        name = signal.Signals(-status).name if status < 0 else f"status {status}"
        return f"{name}, {lines[-1]}" if lines else name


class StepClock:
    """Takes the time of steps: wall time of short ones, else processor time if that is less.

    To ask for processor time takes longer than most steps, so it is asked only after a step that
    was long enough to have been interrupted.
    """

    def __init__(self) -> None:
        self._asked, self._since = time.process_time_ns(), 0
        self._before = time.perf_counter_ns()

    def lap(self) -> int:
        """Return the nanoseconds since the last call, or since the clock was made."""
        spent = time.perf_counter_ns() - self._before
        if spent > _LONG:
            now = time.process_time_ns()
            spent = min(spent, max(now - self._asked - self._since, 0))
            self._asked, self._since = now, 0
        else:
            self._since += spent
        self._before = time.perf_counter_ns()
        return spent


def prepared(name: str, tokenizer: Tokenizer) -> SchemaEngine:
    """Return an engine that has taken in the vocabulary, and compiled one small schema."""
    engine = cast(SchemaEngine, SCHEMA_ENGINES[name].load())
    engine.prepare(tokenizer)
    first_mask(engine, _FIRST)
    return engine


def first_mask(engine: SchemaEngine, schema: Any) -> int:
    """Compile a schema and fill the first mask; return the nanoseconds of processor time."""
    started = time.process_time_ns()
    engine.compile_schema(schema)
    engine.start().fill()
    return time.process_time_ns() - started


def read(engine: SchemaEngine, tokens: list[int], eos_token_id: int) -> Reading:
    """Read an instance with a fresh matcher, up to a token that its mask does not allow."""
    steps: list[int] = []
    row = engine.mask.data  # of which an item is a plain number
    try:
        fill, advance = engine.start()
        clock = StepClock()
        for number, token in enumerate(tokens):
            fill()
            is_allowed = row[token >> 5] >> (token & 31) & 1
            is_taken = not is_allowed or advance(token) is not False
            steps.append(clock.lap())
            if not is_taken:
                return Reading(steps, number, "it refuses a token that its mask allows")
            if not is_allowed:
                return Reading(steps, number)
        fill()
    except BaseException as error:
        return Reading(steps, len(steps), message(error))
    may_end = row[eos_token_id >> 5] >> (eos_token_id & 31) & 1
    return Reading(steps, None if may_end else len(tokens))


def message(error: BaseException) -> str:
    """Return the kind of an error, and what it says; a panic of Rust is not an `Exception`."""
    if isinstance(error, KeyboardInterrupt):
        raise error
    return f"{type(error).__name__}: {error}"


def _serve(setting: Setting) -> None:
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer

    def answer(name: str, value: object) -> None:
        print(json.dumps([name, value]), file=answers, flush=True)

    if setting.memory:
        most = int(setting.memory * 1e9)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    tokenizer = open_tokenizer(Path(setting.tokenizer))
    engine = prepared(setting.engine, tokenizer)
    gc.collect()
    _forget_peak()
    before = _peak()
    answer("prepared", None)
    for line in sys.stdin:
        schema, instances = json.loads(line)
        gc.collect()
        _limit(setting.limit)
        try:
            answer("first_mask", first_mask(engine, schema))
        except BaseException as error:
            answer("outcome", REFUSED)
            answer("reason", message(error))
            instances = []
        for name in ("cold", "warm") if setting.is_warm else ("cold",):
            for tokens in instances:
                answer(name, asdict(read(engine, tokens, tokenizer.eos_token_id)))
            _limit(setting.limit if name == "cold" else 0)
        _limit(0)
        answer("growth", max(0, _peak() - before))
        answer("end", None)


def _limit(seconds: float) -> None:
    """Have the system end this process after so many seconds from now; never if 0."""
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _forget_peak() -> None:
    """Have the system forget the largest memory so far, where it can."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peak() -> int:
    """Return the most resident memory of this process in bytes; 0 if the system does not tell."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    return 0


if __name__ == "__main__":
    _serve(Setting(**json.loads(sys.argv[1])))
