"""Processes that make masks for another one, and what is said between them.

In: parts of configurations. Out: their masks. A worker is another Python with
:mod:`cfgguide.index.worker_program`, which opens the grammar's tables and the vocabulary from a
folder, once, and then answers over pipes until its standard input ends. It is no process of
`multiprocessing`: those run the user's program once more, or inherit its threads' locks.

A message is the length of a JSON value and that of the bytes behind it (8 bytes each,
little-endian), the value, and the bytes::

    [[state, context, [top, ...]], ...]                          parts
    [[depth, number] or           "TOO_SHALLOW" ..., ...] masks  their masks, of which equal ones
                                                                 of one message are one
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

from cfgguide.index.configuration_trie import Mask
from cfgguide.index.frontier import Answer, Part, Unmade
from cfgguide.storage import archive
from cfgguide.vocabulary.vocabulary import Vocabulary

WORKER = "cfgguide.index.worker_program"
TABLES, VOCABULARY = "tables", "vocabulary"  # names of files
_NO_TEXT = -1  # in place of the length of a token
_SECONDS_TO_END = 5  # for a thread whose worker was killed


class Workers:
    """Processes that make masks, as a context; at its end they are no more.

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
        self._asked: dict[_Worker, list[Part]] = {}
        # Of plain threads and a queue an interruption leaves nothing locked.
        self._came: SimpleQueue[tuple[_Worker, list[Answer] | None]] = SimpleQueue()
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
        """How many have nothing to do."""
        return len(self._idle)

    @property
    def n_busy(self) -> int:
        """How many have something to do."""
        return len(self._asked)

    @property
    def dealt(self) -> list[list[Part]]:
        """What was dealt out and not collected."""
        return list(self._asked.values())

    def deal(self, parts: list[Part]) -> None:
        """Let an idle worker make the masks of some parts."""
        worker = self._idle.pop()
        self._asked[worker] = parts
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        self._threads.append(Thread(target=self._ask, args=(worker, parts), daemon=True))
        self._threads[-1].start()

    def _ask(self, worker: _Worker, parts: list[Part]) -> None:
        self._came.put((worker, worker.ask(parts)))

    def collect(self, seconds: float) -> list[tuple[list[Part], list[Answer] | None]]:
        """Return what has come in, waiting so long for something; None from a lost worker."""
        found: list[tuple[list[Part], list[Answer] | None]] = []
        with contextlib.suppress(Empty):
            while True:
                worker, answers = self._came.get(timeout=0 if found else seconds)
                if answers is None:
                    worker.end()
                else:
                    self._idle.append(worker)
                found.append((self._asked.pop(worker), answers))
        return found


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

    def ask(self, parts: list[Part]) -> list[Answer] | None:
        """Return the answers to some parts; None if the process is lost."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None, "there are pipes"
        assert stdout is not None, "there are pipes"
        try:
            told = [[part.scanner_state, part.context, part.states] for part in parts]
            write_message(stdin, told, b"")
            message = read_message(stdout)
        except (OSError, ValueError):  # the other end of the pipe, or this one, was closed
            return None
        return None if message is None else self._answers(*message)

    def _answers(self, value: Any, data: bytes) -> list[Answer]:
        masks = np.frombuffer(data, dtype="<i4").reshape(-1, self._n_words).astype(np.int32)
        return [
            Unmade[told] if isinstance(told, str) else Mask(told[0], masks[told[1]])
            for told in value
        ]

    def end(self) -> None:
        """Kill the process, which has nothing to lose."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Close the pipes, which nobody reads or writes any more."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None, "there are pipes"
            with contextlib.suppress(OSError):  # what was not written is not wanted
                pipe.close()


def told(answers: Sequence[Answer]) -> tuple[list[Any], bytes]:
    """Return answers as a worker sends them."""
    numbers: dict[bytes, int] = {}
    value: list[Any] = []
    for found in answers:
        if isinstance(found, Unmade):
            value.append(found.name)
        else:
            data = found.bitmask.astype("<i4", copy=False).tobytes()
            number = numbers.setdefault(data, len(numbers))
            value.append([found.depth, number])
    return value, b"".join(numbers)


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
    """Return the vocabulary that a worker finds in its folder."""
    arrays, eos = archive.read(path, kind=VOCABULARY)
    data = arrays["bytes"].tobytes()
    tokens: list[bytes | None] = []
    end = 0
    for length in arrays["lengths"].tolist():
        start, end = end, end + max(length, 0)
        tokens.append(None if length == _NO_TEXT else data[start:end])
    return Vocabulary(tokens, eos_token_ids=eos)
