"""Processes that make masks for another one, and the messages between them.

In: parts of configurations. Out: their masks. A worker is another Python that runs
:mod:`cfgguide.engine.precompute.worker_program`. It is sent the index without its masks once, and
then answers over pipes until its standard input ends. `multiprocessing` would not do: its processes
run the user's program again, or inherit the locks of its threads.

Messages are pickles: the index, then lists of parts; and back, lists of answers.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Self

from cfgguide.engine.index.index import Index
from cfgguide.engine.precompute.frontier import Answer, FrontierPart

WORKER = "cfgguide.engine.precompute.worker_program"
_SECONDS_TO_END = 5  # for a thread whose worker was killed


class Workers:
    """Processes that make masks, as a context manager; they end with it.

    Parameters
    ----------
    n_workers : int
        How many.
    index : Index
        Whose masks they make.
    """

    def __init__(self, n_workers: int, index: Index) -> None:
        self._n_workers = n_workers
        self._index = pickle.dumps(index)
        self._idle: list[_Worker] = []
        self._all: list[_Worker] = []
        self._asked: dict[_Worker, list[FrontierPart]] = {}
        # An interruption leaves nothing locked: there are only plain threads and a queue.
        self._results: SimpleQueue[tuple[_Worker, list[Answer] | None]] = SimpleQueue()
        self._threads: list[Thread] = []

    def __enter__(self) -> Self:
        try:
            for _ in range(self._n_workers):
                self._all.append(_Worker(self._index))
            self._idle = list(self._all)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        for worker in self._all:
            worker.end()
        for thread in self._threads:
            thread.join(_SECONDS_TO_END)
        for worker in self._all:
            worker.close()

    @property
    def n_idle(self) -> int:
        """Number of workers without a task."""
        return len(self._idle)

    @property
    def n_busy(self) -> int:
        """Number of workers with a task."""
        return len(self._asked)

    @property
    def pending(self) -> list[list[FrontierPart]]:
        """The parts that were sent and whose answers were not collected."""
        return list(self._asked.values())

    def send(self, parts: list[FrontierPart]) -> None:
        """Let an idle worker make the masks of some parts."""
        worker = self._idle.pop()
        self._asked[worker] = parts
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        self._threads.append(Thread(target=self._ask, args=(worker, parts), daemon=True))
        self._threads[-1].start()

    def _ask(self, worker: _Worker, parts: list[FrontierPart]) -> None:
        self._results.put((worker, worker.ask(parts)))

    def collect(self, seconds: float) -> list[tuple[list[FrontierPart], list[Answer] | None]]:
        """Return the results that have arrived, waiting for the first; None from a lost worker."""
        results: list[tuple[list[FrontierPart], list[Answer] | None]] = []
        with contextlib.suppress(Empty):
            while True:
                worker, answers = self._results.get(timeout=0 if results else seconds)
                if answers is None:
                    worker.end()
                else:
                    self._idle.append(worker)
                results.append((self._asked.pop(worker), answers))
        return results


class _Worker:
    """One process."""

    def __init__(self, index: bytes) -> None:
        self._unsent = index  # until it is asked: the process has much to import
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    def ask(self, parts: list[FrontierPart]) -> list[Answer] | None:
        """Return the answers to some parts; None if the process is lost."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None, "there are pipes"
        assert stdout is not None, "there are pipes"
        try:
            stdin.write(self._unsent + pickle.dumps(parts))
            stdin.flush()
            self._unsent = b""
            answers: list[Answer] = pickle.load(stdout)  # of a process of our own
        except (OSError, ValueError, EOFError, pickle.UnpicklingError):
            return None  # the other end of the pipe, or this one, was closed
        return answers

    def end(self) -> None:
        """Kill the process; it holds nothing of value."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Close the pipes once no thread uses them."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None, "there are pipes"
            with contextlib.suppress(OSError):  # unwritten data is not needed
                pipe.close()
