"""Runs a hostile case in a process of its own, and measures what it took.

In: a case, and what is to be done with it. Out: an :class:`Outcome`. The process is a fork, so that
everything is imported and the vocabulary read beforehand. It may take so much address space and so
many seconds of the processor, and is then killed. A second thread in it ticks every 5 ms and notes
its longest gap: for so long the other threads of a service would have stood still. Of seconds and
gaps counts what the process itself computed, so other processes on a busy machine do not.
"""

from __future__ import annotations

import contextlib
import faulthandler
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
from pathlib import Path

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


def run(
    case: Case, engine: Engine, *, most_seconds: int = 12, most_bytes: int = 3 * 10**9
) -> Outcome:
    """Return what becomes of a case in a process that is killed after so many seconds of work."""
    text = case.make()
    reading, writing = os.pipe()
    started = time.monotonic()
    process = os.fork()
    if not process:
        os.close(reading)
        _in_child(case.kind, text, engine, writing, most_seconds, most_bytes)
    os.close(writing)
    said = _read(reading, started + _PATIENCE * most_seconds)
    if said is None:
        os.kill(process, signal.SIGKILL)
    _, status, usage = os.wait4(process, 0)
    n_bytes = max(1024 * usage.ru_maxrss - _resident(), 0)
    cpu = usage.ru_utime + usage.ru_stime
    if said is None:
        seconds = time.monotonic() - started
        return Outcome(case.full_name, TOO_SLOW, "killed", seconds, cpu, n_bytes, 0.0)
    try:
        told = json.loads(said)
    except ValueError:
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
            seconds = time.monotonic() - started
            return Outcome(case.full_name, TOO_SLOW, "killed", seconds, cpu, n_bytes, 0.0)
        how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit {status >> 8}"
        seconds = time.monotonic() - started
        return Outcome(case.full_name, CRASHED, how, seconds, cpu, n_bytes, 0.0)
    seconds, outcome = told["seconds"], told["outcome"]
    n_bytes = max(n_bytes, told["n_bytes"])
    if outcome in (WORKS, REFUSED):
        outcome = TOO_SLOW if min(seconds, cpu) > SECONDS + GRACE else outcome
        outcome = TOO_LARGE if n_bytes > BYTES else outcome
    standstill = told["standstill"]
    return Outcome(case.full_name, outcome, told["more"], seconds, cpu, n_bytes, standstill)


def _read(descriptor: int, end: float) -> bytes | None:
    """Return all that a process writes until it ends; None if the time is up."""
    parts = []
    try:
        while True:
            left = end - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                return None
            part = os.read(descriptor, 65536)
            if not part:
                return b"".join(parts)
            parts.append(part)
    finally:
        os.close(descriptor)


def _resident() -> int:
    """Return the bytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _in_child(
    kind: str, text: str, engine: Engine, writing: int, most_seconds: int, most_bytes: int
) -> None:
    """Do the work and tell of it; never return."""
    try:
        taken = int(Path("/proc/self/statm").read_text().split()[0])
        most = taken * os.sysconf("SC_PAGE_SIZE") + most_bytes
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CPU, (most_seconds, most_seconds + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        faulthandler.disable()  # pytest's
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)  # C++ writes there too
        os.dup2(silent, 2)
        before = _resident()
        ticker = _Ticker()
        started = time.perf_counter()
        try:
            outcome, more = engine(kind, text)
        except BaseException as error:
            outcome, more = RAW, _told(error)
        seconds = time.perf_counter() - started
        standstill = ticker.stop()
        peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        told = {
            "outcome": outcome,
            "more": more,
            "seconds": seconds,
            "n_bytes": max(peak - before, 0),
            "standstill": standstill,
        }
        os.write(writing, json.dumps(told).encode())
    finally:
        os._exit(0)


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
        self._is_over = False
        self._thread = threading.Thread(target=self._tick, daemon=True)
        self._thread.start()

    def _tick(self) -> None:
        last, last_cpu = time.perf_counter(), time.process_time()
        while not self._is_over:
            time.sleep(TICK)
            now, cpu = time.perf_counter(), time.process_time()
            self._longest = max(self._longest, min(now - last, cpu - last_cpu) - TICK)
            last, last_cpu = now, cpu

    def stop(self) -> float:
        self._is_over = True
        self._thread.join()
        return self._longest


def as_json(outcome: Outcome) -> str:
    """Return an outcome as a line of JSON."""
    return json.dumps(asdict(outcome))
