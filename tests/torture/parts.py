"""The parts of the torture, each until the time is up; what they count adds up.

In: seconds and a seed. Out: a :class:`Counter`, yielded again and again, since a part that is
killed has counted until then. ::

    interrupts  allocations  writes  forks      what was done to the engine
    wrong masks  hangs  lost files  errors      what came of it
"""

from __future__ import annotations

import faulthandler
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

from torture import allocations, forks, interrupts
from torture.operations import Operation, Tortured, new_folder
from torture.subjects import Subject, subjects
from torture.writes import Files

PARTS = ("interrupts", "allocations", "writes", "forks")
_HANGS = 120.0  # seconds after which some operations do not end
_OFTEN = 100  # operations; the watch that ends a process is a thread, made anew each time
_MANY = 3000  # instructions and allocations of an operation that is not known


class Found:
    """Counts, and writes what is wrong to the standard error."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def note(self, problems: list[str]) -> None:
        for problem in problems:
            kind = next(
                (kind for kind in ("hang", "lost", "left") if problem.startswith(kind)), None
            )
            names = {
                "hang": "hangs",
                "lost": "lost files",
                "left": "left files",
                None: "wrong masks",
            }
            self.counts[names[kind]] += 1
            sys.stderr.write(f"{problem}\n")


def run(part: str, seconds: float, seed: int, most: int = sys.maxsize) -> Iterator[Counter[str]]:
    """Yield the counts of a part so far."""
    rng = random.Random(f"{part} {seed}")
    found = Found()
    end = time.monotonic() + seconds
    steps = {"interrupts": _interrupts, "allocations": _allocations, "writes": _writes}
    make = steps.get(part, _forks)
    with closing(make(subjects(seed % 7), rng, found, end)) as steps_of_part:
        for n, _ in enumerate(steps_of_part, 1):
            yield found.counts
            if n >= most or time.monotonic() > end:
                break
    yield found.counts  # with what was found at the end


def _operations(
    chosen: list[Subject], rng: random.Random, found: Found
) -> Generator[tuple[Tortured, Operation], None, None]:
    """Yield operations, and note what is wrong after each; then all masks of the indexes."""
    with new_folder() as folder:
        tortured = [Tortured(each, rng, Path(folder)) for each in chosen]
        for each in tortured:
            for operation in each.operations():  # everything is imported, and has worked once
                operation.call()
                found.note(operation.wrong())
        try:
            for number in count():
                if number % _OFTEN == 0:
                    faulthandler.dump_traceback_later(_HANGS, exit=True)
                each = rng.choice(tortured)
                operation = each.operation()
                yield each, operation
                try:
                    problems = operation.wrong()
                except Exception:
                    problems = [traceback.format_exc()]
                found.note([f"after {operation.name}: {each}" for each in problems])
                if problems:
                    each.begin()
        finally:
            faulthandler.cancel_dump_traceback_later()
            for each in tortured:
                found.note(
                    [f"at the end: {each.subject.name}"] * len(each.subject.wrong(each.index))
                )


def _interrupts(
    chosen: list[Subject], rng: random.Random, found: Found, _end: float
) -> Generator[None, None, None]:
    lengths: dict[tuple[str, str, str], float] = {}
    with closing(_operations(chosen, rng, found)) as operations:
        for tortured, operation in operations:
            mode = rng.choice(["timer", "timer", "signals", "any"])
            key = (tortured.subject.name, operation.name, mode)
            if mode == "timer":
                started = time.perf_counter()
                is_hit = interrupts.timed(
                    operation.call, 1.1 * rng.random() * lengths.get(key, 0.002)
                )
                length: float = time.perf_counter() - started
            else:
                at = rng.randint(1, int(1.1 * lengths.get(key, _MANY)) + 1)
                is_hit, length = interrupts.traced(operation.call, at, mode=mode)
            if not is_hit:
                lengths[key] = (lengths.get(key, length) + length) / 2
            found.counts["allocations" if mode == "any" else "interrupts"] += is_hit
            yield


def _allocations(
    chosen: list[Subject], rng: random.Random, found: Found, _end: float
) -> Generator[None, None, None]:
    lengths: dict[tuple[str, str], int] = {}
    with closing(_operations(chosen, rng, found)) as operations:
        for tortured, operation in operations:
            key = (tortured.subject.name, operation.name)
            at = rng.randint(1, lengths.get(key, _MANY))
            has_failed, has_ended = allocations.failing(operation.call, at)
            if has_failed:
                lengths[key] = max(lengths.get(key, _MANY), int(1.3 * at))
            elif has_ended:
                lengths[key] = max(100, at)
            found.counts["allocations"] += has_failed
            yield


def _writes(
    chosen: list[Subject], rng: random.Random, found: Found, _end: float
) -> Generator[None, None, None]:
    with new_folder() as folder:
        files = [Files(each, Path(folder), rng) for each in chosen]
        try:
            for number in count():
                if number % _OFTEN == 0:
                    faulthandler.dump_traceback_later(_HANGS, exit=True)
                each = rng.choice(files)
                call: Callable[[], tuple[bool, list[str]]]
                call = each.cache if rng.random() < 0.1 else each.save
                has_failed, problems = call()
                found.counts["writes"] += has_failed
                found.note(problems)
                yield
        finally:
            faulthandler.cancel_dump_traceback_later()


def _forks(
    chosen: list[Subject], rng: random.Random, found: Found, end: float
) -> Generator[None, None, None]:
    for problems in forks.forks(chosen, rng, end):
        found.counts["forks"] += 1
        found.note(problems)
        yield
