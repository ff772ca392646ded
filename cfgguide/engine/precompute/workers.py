"""Processes that make masks for another one, and the messages between them.

In: parts of configurations. Out: their masks. A worker is another Python that runs
:mod:`cfgguide.engine.precompute.worker_program`. It loads the grammar's tables and the vocabulary
from a folder once, and then answers over pipes until its standard input ends. `multiprocessing`
would not do: its processes run the user's program again, or inherit the locks of its threads.

A message is the length of a JSON value and the length of some bytes (8 bytes each, little-endian),
then the value, and then the bytes::

    [[state, context, [top, ...]], ...]                          parts
    [[depth, index] or "TOO_SHALLOW" ..., ...] masks             their masks; equal masks of one
                                                                 message are sent once
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, Any, Self

import numpy as np

from cfgguide.base import archive
from cfgguide.engine.index.configuration_trie import Mask
from cfgguide.engine.precompute.frontier import Answer, FrontierPart, Unmade
from cfgguide.engine.vocabulary.vocabulary import Vocabulary

WORKER = "cfgguide.engine.precompute.worker_program"
TABLES, VOCABULARY = "tables", "vocabulary"  # names of files
_NO_TEXT = -1  # the length of a token without text
_SECONDS_TO_END = 5  # for a thread whose worker was killed


class Workers:
    """Processes that make masks, as a context manager; they end with it.

    Parameters
    ----------
    n_workers : int
        How many.
    save_tables : callable
        Writes an index without masks to a path.
    vocabulary : Vocabulary
        Of the index.
    """

    def __init__(
        self, n_workers: int, save_tables: Callable[[str], None], vocabulary: Vocabulary
    ) -> None:
        self._n_workers = n_workers
        self._save_tables = save_tables
        self._vocabulary = vocabulary
        self._idle: list[_Worker] = []
        self._all: list[_Worker] = []
        self._asked: dict[_Worker, list[FrontierPart]] = {}
        # An interruption leaves nothing locked: there are only plain threads and a queue.
        self._results: SimpleQueue[tuple[_Worker, list[Answer] | None]] = SimpleQueue()
        self._threads: list[Thread] = []

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="cfgguide-")
        try:
            folder = self._folder.name
            self._save_tables(os.path.join(folder, TABLES))
            _save_vocabulary(Path(folder, VOCABULARY), self._vocabulary)
            for _ in range(self._n_workers):
                self._all.append(_Worker(folder, self._vocabulary.n_words))
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
        self._folder.cleanup()

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

    def __init__(self, folder: str, n_words: int) -> None:
        self._n_words = n_words
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", WORKER, folder],
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
            value = [[part.scanner_state, part.context, part.states] for part in parts]
            write_message(stdin, value, b"")
            message = read_message(stdout)
        except (OSError, ValueError):  # the other end of the pipe, or this one, was closed
            return None
        return None if message is None else self._answers(*message)

    def _answers(self, value: Any, data: bytes) -> list[Answer]:
        masks = np.frombuffer(data, dtype="<i4").reshape(-1, self._n_words).astype(np.int32)
        return [
            Unmade[each] if isinstance(each, str) else Mask(each[0], masks[each[1]])
            for each in value
        ]

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


def packed(answers: Sequence[Answer]) -> tuple[list[Any], bytes]:
    """Return answers as a worker sends them."""
    indices: dict[bytes, int] = {}
    value: list[Any] = []
    for answer in answers:
        if isinstance(answer, Unmade):
            value.append(answer.name)
        else:
            data = answer.bitmask.astype("<i4", copy=False).tobytes()
            value.append([answer.depth, indices.setdefault(data, len(indices))])
    return value, b"".join(indices)


def write_message(stream: IO[bytes], value: object, data: bytes) -> None:
    """Write a message."""
    text = json.dumps(value).encode()
    for part in (len(text).to_bytes(8, "little"), len(data).to_bytes(8, "little"), text, data):
        stream.write(part)
    stream.flush()


def read_message(stream: IO[bytes]) -> tuple[Any, bytes] | None:
    """Return the next message; None if the stream ends before it does."""
    head = stream.read(16)
    lengths = int.from_bytes(head[:8], "little"), int.from_bytes(head[8:], "little")
    text = stream.read(lengths[0])
    data = stream.read(lengths[1])
    if len(head) < 16 or (len(text), len(data)) != lengths:
        return None
    return json.loads(text), data


def _save_vocabulary(path: Path, vocabulary: Vocabulary) -> None:
    tokens = vocabulary.tokens
    lengths = [_NO_TEXT if token is None else len(token) for token in tokens]
    arrays: archive.Arrays = {
        "lengths": np.array(lengths, dtype=np.int32),
        "bytes": np.frombuffer(b"".join(token or b"" for token in tokens), dtype=np.uint8),
    }
    eos = list(vocabulary.eos_token_ids)
    digest = vocabulary.digest
    archive.write(path, arrays, eos, kind=VOCABULARY, digest=digest, is_durable=False)


def open_vocabulary(path: Path) -> Vocabulary:
    """Return the vocabulary in a worker's folder."""
    arrays, eos = archive.read(path, kind=VOCABULARY)
    data = arrays["bytes"].tobytes()
    tokens: list[bytes | None] = []
    end = 0
    for length in arrays["lengths"].tolist():
        start, end = end, end + max(length, 0)
        tokens.append(None if length == _NO_TEXT else data[start:end])
    return Vocabulary(tokens, eos_token_ids=eos)
