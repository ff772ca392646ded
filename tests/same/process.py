"""A process that runs the package of one tree, from outside.

It is asked in turn and answers in turn (:mod:`same.worker`). One that dies, or takes far too long,
is begun again; what it was asked last is answered by how it died.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from same.worker import LIMIT, MOST_SECONDS, RAW, Job, receive, send

TESTS = Path(__file__).resolve().parents[1]
_PATIENCE = 5 * MOST_SECONDS  # seconds by the clock, on a busy machine
_BYTES = 3 * 10**9  # then a process is begun again before its next job

Answer = dict[str, Any]


class Side:
    """One of the two trees.

    Parameters
    ----------
    name : str
        ``before`` or ``now``.
    tree : Path
        The folder that `cfgguide` is imported from.
    """

    def __init__(self, name: str, tree: Path) -> None:
        self.name, self._tree = name, tree
        self._process: subprocess.Popen[bytes] | None = None
        self.n_died = 0

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
            environment |= {"CFGGUIDE_CACHE": "off", "OMP_NUM_THREADS": "1"}
            worker = Path(__file__).with_name("worker.py")
            self._process = subprocess.Popen(
                [sys.executable, "-I", worker, self._tree, TESTS],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=self._tree,
                env=environment,
            )
        return self._process

    def ask(self, job: Job) -> Answer:
        """Return what a job comes to."""
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        watch = threading.Timer(_PATIENCE, process.kill)
        watch.start()
        try:
            send(process.stdin, job)
            answer = receive(process.stdout)
        except (BrokenPipeError, EOFError):
            answer = None
        finally:
            is_late = not watch.is_alive()
            watch.cancel()
        if answer is None:
            self.close()
            process.wait()
            self.n_died += 1
            if is_late:
                return {"error": f"{LIMIT}killed after {_PATIENCE} s"}
            return {"error": f"{RAW}died with {_how(process.returncode)}"}
        if answer["n_bytes"] > _BYTES:
            self.close()
        return answer

    def close(self) -> None:
        """End the process; the next job begins another one."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        process.kill()
        process.wait()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()


def _how(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"


class Line:
    """Asks a side in a thread of its own: what another side waits for first."""

    def __init__(self, side: Side, tell: Callable[[Any, Answer], None]) -> None:
        self._side, self._tell = side, tell
        self._jobs: queue.PriorityQueue[tuple[int, int, Any, Job | None]] = queue.PriorityQueue()
        self._n = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def put(self, mark: Any, job: Job, *, first: bool) -> None:
        """Ask a job; its answer is told with the mark."""
        self._n += 1
        self._jobs.put((0 if first else 1, self._n, mark, job))

    def _run(self) -> None:
        while (given := self._jobs.get())[3] is not None:
            self._tell(given[2], self._side.ask(given[3]))

    def close(self) -> None:
        """End the thread, and the process that it waits for."""
        self._jobs.put((-1, 0, None, None))
        self._side.close()
        self._thread.join(timeout=5)


def both(sides: tuple[Side, Side], jobs: tuple[Job, Job]) -> tuple[Answer, Answer]:
    """Ask both sides at once."""
    found: dict[int, Answer] = {}

    def ask(number: int) -> None:
        found[number] = sides[number].ask(jobs[number])

    threads = [threading.Thread(target=ask, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found[0], found[1]
