"""Runs a hostile case in a process of its own, and measures what each step of it took.

In: a case, and what is to be done with it. Out: each :class:`Step` of :func:`watched`, or the
:class:`Outcome` of a single one. The process is a fork, so that everything is imported and the
vocabulary read beforehand. It may take so much address space and so many seconds of the processor,
and is then killed; each step is told when it begins and when it ends, so it is known which one that
was. A second thread in it ticks every 5 ms and notes its longest gap: for so long the other threads
of a service would have stood still. Of seconds and gaps counts what the process itself computed, so
other processes on a busy machine do not.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import json
import os
import resource
import select
import signal
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from hostile.cases import Case

SECONDS = 5.0
#: A limit is noticed a little later than it is reached.
GRACE = 0.5
BYTES = 500_000_000
STANDSTILL = 0.05
TICK = 0.005
#: How much longer than on an idle machine a process may take.
_PATIENCE = 5

WORKS, REFUSED = "works", "refused"
TOO_SLOW, TOO_LARGE, CRASHED, RAW = "over 5 s", "over 500 MB", "crashed", "raw error"
NOT_EXPRESSIBLE = "not expressible"
#: What a text may come to that has begun (:mod:`hostile.attack`); none of them is as it should be.
LIMIT, DEAD_END, NO_ENDING = "limit in a text", "dead end", "no ending"
UNSOUND, INCONSISTENT = "unsound", "inconsistent"
#: What a case may come to; the first two are as it should be.
OUTCOMES = (WORKS, REFUSED, TOO_SLOW, TOO_LARGE, CRASHED, RAW)

#: Does what is measured with a kind and a text; returns what it came to, and a word more.
Engine = Callable[[str, str], tuple[str, str]]


@dataclass(frozen=True)
class Outcome:
    """What became of a case.

    Attributes
    ----------
    name : str
        Full name of the case.
    outcome : str
        One of `OUTCOMES`.
    more : str
        The class of the error and the beginning of its message.
    seconds, cpu_seconds : float
        From the text to the first mask, or to the refusal.
    n_bytes : int
        By which the process grew at most.
    standstill : float
        Seconds for which another thread could not run.
    """

    name: str
    outcome: str
    more: str
    seconds: float
    cpu_seconds: float
    n_bytes: int
    standstill: float

    def __str__(self) -> str:
        return (
            f"{self.outcome:12} {self.seconds:6.2f} s {self.cpu_seconds:6.2f} s of processor "
            f"{self.n_bytes / 1e6:6.0f} MB {1000 * self.standstill:6.0f} ms  {self.name}"
            + (f"  [{self.more}]" if self.more else "")
        )


@dataclass(frozen=True)
class Step:
    """What a step of a case took.

    Attributes
    ----------
    name : str
        Its own.
    outcome, more : str
        What it came to, and a word more.
    seconds : float
        Of the call that took longest, if calls were timed (:meth:`Meter.call`); else of the step.
    whole : float
        Of the step, by the clock on the wall.
    n_bytes : int
        By which the process grew at most.
    standstill : float
        Seconds for which another thread could not run.
    where : str
        Which call took longest.
    """

    name: str
    outcome: str
    more: str = ""
    seconds: float = 0.0
    whole: float = 0.0
    n_bytes: int = 0
    standstill: float = 0.0
    where: str = ""


@dataclass(frozen=True)
class Watched:
    """The steps of a case, of which the last may have been cut off; and of all together."""

    steps: tuple[Step, ...]
    seconds: float
    cpu_seconds: float
    n_bytes: int


def run(
    case: Case, engine: Engine, *, most_seconds: int = 12, most_bytes: int = 3 * 10**9
) -> Outcome:
    """Return what becomes of a case in a process that is killed after so many seconds of work."""
    work = partial(engine, case.kind, case.make())
    told = watched(
        lambda meter: meter.step("all", work), most_seconds=most_seconds, most_bytes=most_bytes
    )
    (step,) = told.steps
    seconds, cpu, outcome = step.whole or told.seconds, told.cpu_seconds, step.outcome
    n_bytes = max(told.n_bytes, step.n_bytes)
    if outcome in (WORKS, REFUSED):
        outcome = TOO_SLOW if min(seconds, cpu) > SECONDS + GRACE else outcome
        outcome = TOO_LARGE if n_bytes > BYTES else outcome
    return Outcome(case.full_name, outcome, step.more, seconds, cpu, n_bytes, step.standstill)


def watched(
    work: Callable[[Meter], object], *, most_seconds: int = 12, most_bytes: int = 3 * 10**9
) -> Watched:
    """Return the steps of some work in a process that is killed when one takes too long."""
    reading, writing = os.pipe()
    started = time.monotonic()
    process = os.fork()
    if not process:
        os.close(reading)
        _in_child(work, writing, most_seconds, most_bytes)
    os.close(writing)
    try:
        said, is_over = _read(reading, started + _PATIENCE * most_seconds)
    except BaseException:  # of the keyboard
        os.kill(process, signal.SIGKILL)
        os.wait4(process, 0)
        raise
    if not is_over:
        os.kill(process, signal.SIGKILL)
    _, status, usage = os.wait4(process, 0)
    steps, begun = [], ""
    for line in said.splitlines():
        with contextlib.suppress(ValueError):  # cut off
            told: Any = json.loads(line)
            begun = told if isinstance(told, str) else ""
            steps += [Step(**told)] if isinstance(told, dict) else []
    seconds, cpu = time.monotonic() - started, usage.ru_utime + usage.ru_stime
    if begun or not steps:
        signalled = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        outcome, how = TOO_SLOW, "killed"
        if is_over and signalled != signal.SIGXCPU:
            outcome, how = CRASHED, f"signal {signalled}" if signalled else f"exit {status >> 8}"
        rest = min(seconds, cpu) - sum(step.whole for step in steps)
        steps.append(Step(begun, outcome, how, max(rest, 0.0)))
    n_bytes = max(1024 * usage.ru_maxrss - _resident(), 0)
    return Watched(tuple(steps), seconds, cpu, n_bytes)


def _read(descriptor: int, end: float) -> tuple[bytes, bool]:
    """Return all that a process writes until it ends, and whether it did before the time was up."""
    parts = []
    try:
        while True:
            left = end - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                return b"".join(parts), False
            part = os.read(descriptor, 65536)
            if not part:
                return b"".join(parts), True
            parts.append(part)
    finally:
        os.close(descriptor)


def _resident() -> int:
    """Return the bytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _in_child(
    work: Callable[[Meter], object], writing: int, most_seconds: int, most_bytes: int
) -> None:
    """Do the work and tell of it; never return."""
    try:
        taken = int(Path("/proc/self/statm").read_text().split()[0])
        most = taken * os.sysconf("SC_PAGE_SIZE") + most_bytes
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        faulthandler.disable()  # pytest's
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)  # C++ writes there too
        os.dup2(silent, 2)
        gc.freeze()  # what was there before is no concern of the text's
        work(Meter(writing, most_seconds))
    finally:
        os._exit(0)


class Meter:
    """Measures steps one after another, and tells of each as it begins and as it ends."""

    def __init__(self, writing: int, most_seconds: int) -> None:
        self._writing, self._most_seconds = writing, most_seconds
        self._ticker = _Ticker()
        self._longest, self._where = -1.0, ""
        self.used = 0.0  # seconds of the calls of this step

    def step(
        self, name: str, work: Callable[[], tuple[str, str]], *, most_seconds: int | None = None
    ) -> bool:
        """Do a step, which says what it comes to, and return whether it works."""
        self._tell(name)
        most = int(time.process_time()) + (most_seconds or self._most_seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        self._longest, self._where, self.used = -1.0, "", 0.0
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # forgets the peak of memory
        before = _resident()
        self._ticker.lap()
        started, used = time.perf_counter(), time.process_time()
        try:
            outcome, more = work()
        except BaseException as error:
            outcome, more = RAW, _told(error)
        whole = time.perf_counter() - started
        seconds = min(whole, time.process_time() - used)
        standstill = self._ticker.lap()
        peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        seconds = seconds if self._longest < 0 else self._longest
        told = Step(
            name, outcome, more, seconds, whole, max(peak - before, 0), standstill, self._where
        )
        self._tell(asdict(told))
        return outcome == WORKS

    def call(self, where: Callable[[], str], function: Callable[..., Any], *given: Any) -> Any:
        """Return what a function returns; the call of a step that takes longest is told."""
        started, used = time.perf_counter(), time.process_time()
        try:
            return function(*given)
        finally:
            seconds = min(time.perf_counter() - started, time.process_time() - used)
            self.used += seconds
            if seconds > self._longest:
                self._longest, self._where = seconds, where()

    def _tell(self, what: object) -> None:
        os.write(self._writing, json.dumps(what).encode() + b"\n")


def _told(error: BaseException) -> str:
    """Return the class of an error, its message's beginning and where it was raised."""
    where = traceback.extract_tb(error.__traceback__)[-1:]
    place = f" at {Path(where[0].filename).name}:{where[0].lineno}" if where else ""
    message = ""
    with contextlib.suppress(Exception):
        message = str(error)[:80].encode("ascii", "replace").decode()
    return f"{type(error).__name__}: {message}{place}"


class _Ticker:
    """Another thread, which would like to run every 5 ms."""

    def __init__(self) -> None:
        self._longest = 0.0
        self._last = time.perf_counter(), time.process_time()
        threading.Thread(target=self._tick, daemon=True).start()

    def _tick(self) -> None:
        while True:
            time.sleep(TICK)
            self._longest = max(self._longest, self._gap())

    def _gap(self) -> float:
        """Return for how long this thread could not run, and begin anew."""
        now, last = (time.perf_counter(), time.process_time()), self._last
        self._last = now
        return min(now[0] - last[0], now[1] - last[1]) - TICK

    def lap(self) -> float:
        """Return the longest gap since the last time that this was asked."""
        longest = max(self._longest, self._gap())
        self._longest = 0.0
        return max(longest, 0.0)


def as_json(outcome: Outcome) -> str:
    """Return an outcome as a line of JSON."""
    return json.dumps(asdict(outcome))
