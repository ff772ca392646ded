"""Leads engines through new texts, each in a process of its own that is asked for a few at a time.

In: a :class:`Stream`. Out: a :class:`Reading` for the texts that were asked for. So all engines
read the same few texts one after the other, and what else the machine does falls on all of them.
The script itself is what runs in the process of an engine: it reads requests from its standard
input, a line of JSON each, and answers them with such lines.

A step is a mask and, but for the last of a text, the token that follows. Its time is processor
time. To ask the system for that takes longer than most steps, so it is asked only after a step that
was long enough to have been interrupted; of the others, the wall time is taken.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engines import ENGINES, LETTER, Sequence
from measuring import MeasuringError
from vocabularies import open_tokenizer

_LONG = 20_000  # nanoseconds of a step that may have been interrupted


@dataclass(frozen=True)
class Stream:
    """What an engine is to be led through.

    Attributes
    ----------
    engine, grammar : str
        Their names.
    tokenizer : str
        Path of its folder or file.
    documents : str
        Path of a JSON file with a list of token ids per text.
    index : str
        Path of an index that cfgguide loads instead of compiling the grammar; empty for none.
    """

    engine: str
    grammar: str
    tokenizer: str
    documents: str
    index: str = ""


@dataclass(frozen=True)
class Reading:
    """How an engine read some texts.

    Attributes
    ----------
    steps : list of list of int
        For each text, nanoseconds of its steps.
    is_whole : list of bool
        Whether the text was read to its end; else the engine refused a token.
    sizes : dict of str to int
        What the engine says about itself afterwards.
    """

    steps: list[list[int]]
    is_whole: list[bool]
    sizes: dict[str, int]


class Reader:
    """The process of an engine.

    Attributes
    ----------
    seconds : float
        Processor time until the grammar was compiled, or the index loaded, and its first mask made.
    """

    def __init__(self, stream: Stream, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, json.dumps(asdict(stream))],
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.seconds: float = self._answer()

    def read(self, first: int, end: int) -> Reading:
        """Lead the engine through some of the texts; raises MeasuringError if its process fails."""
        return Reading(**self._ask("read", first, end))

    def save(self, path: str) -> None:
        """Let cfgguide write its index."""
        self._ask("save", path)

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _ask(self, *request: object) -> Any:
        assert self._process.stdin is not None, "it is a pipe"
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise MeasuringError("its process has ended") from None
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None, "it is a pipe"
        line = self._process.stdout.readline()
        if not line:
            raise MeasuringError(f"its process has ended with status {self._process.wait()}")
        return json.loads(line)


def _serve(stream: Stream) -> None:
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    engine: Any = ENGINES[stream.engine].load()
    engine.prepare(open_tokenizer(Path(stream.tokenizer)))
    engine.compile(LETTER)
    engine.start().fill()
    documents = json.loads(Path(stream.documents).read_text(encoding="utf-8"))
    started = time.process_time()
    if stream.index:
        engine.load(stream.index)
    else:
        engine.compile(stream.grammar)
    engine.start().fill()
    answer: object = time.process_time() - started
    gc.disable()
    while True:
        print(json.dumps(answer), file=answers, flush=True)
        line = sys.stdin.readline()
        if not line:
            return
        gc.collect()
        name, *arguments = json.loads(line)
        if name == "save":
            answer = engine.save(*arguments)
            continue
        first, end = arguments
        steps, is_whole = [], []
        for tokens in documents[first:end]:
            steps.append(_read(engine.start(), tokens, engine.refusals))
            is_whole.append(len(steps[-1]) == len(tokens) + 1)
        answer = asdict(Reading(steps, is_whole, engine.sizes()))


def _read(
    sequence: Sequence, tokens: list[int], refusals: tuple[type[Exception], ...]
) -> list[int]:
    """Return the nanoseconds of the steps of one text, up to a token that is refused."""
    fill, advance = sequence
    clock, cpu_clock = time.perf_counter_ns, time.thread_time_ns
    steps: list[int] = []
    # Processor time up to the last long step, and the time of the steps since then.
    asked, since = cpu_clock(), 0
    before = clock()
    for token in [*tokens, None]:
        fill()
        if token is not None:
            try:
                if advance(token) is False:
                    return steps
            except refusals:
                return steps
        after = clock()
        spent = after - before
        if spent > _LONG:
            now = cpu_clock()
            spent = min(spent, max(now - asked - since, 0))
            asked, since = now, 0
            after = clock()
        else:
            since += spent
        steps.append(spent)
        before = after
    return steps


if __name__ == "__main__":
    _serve(Stream(**json.loads(sys.argv[1])))
