"""Forks while other threads make masks, compile and ask pools: children work, and are right.

In: subjects. Out: how many children there were, and what was wrong in them. A child has to give
some masks of the shared indexes, make a new index, and ask the shared pool. It gets some seconds.
Some forks come while a thread of a new process uses cfgguide for the first time, and so imports.
"""

from __future__ import annotations

import contextlib
import os
import random
import select
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import cfgguide
from torture.operations import Tortured, new_folder
from torture.subjects import Subject, guide_at, mask_of, vocabulary, within_of

N_THREADS = 3
SECONDS = 20.0  # that a child gets
N_MODULES = 220  # of ours that a first use imports, about

_FEW = [cfgguide.Grammar(f'start: "aa" "b{n}" ("," "bb")*') for n in range(8)]


class Busy:
    """Threads that use indexes and a pool, until they are told to stop."""

    def __init__(self, tortured: list[Tortured], seed: int) -> None:
        self._tortured = tortured
        self._seed = seed
        self._is_over = threading.Event()
        self.pool = cfgguide.IndexPool(vocabulary(), max_bytes=300_000, use_cache=False)
        self.n_errors = 0

    def run(self, number: int) -> None:
        rng = random.Random(self._seed * N_THREADS + number)
        while not self._is_over.is_set():
            each = rng.choice(self._tortured)
            try:
                if rng.random() < 0.1:
                    each.begin()
                index = each.index
                if rng.random() < 0.3:
                    index.forget_steps()
                if rng.random() < 0.2:
                    self.pool.index(rng.choice(_FEW))
                guide = guide_at(index, rng.choice(each.subject.places).token_ids)
                mask_of(guide)
                if rng.random() < 0.1:
                    within_of(guide)
                    guide.expected()
            except Exception:
                self.n_errors += 1

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        threads = [threading.Thread(target=self.run, args=(n,)) for n in range(N_THREADS)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            for thread in threads:
                thread.join()


def _child(tortured: list[Tortured], pool: cfgguide.IndexPool, rng: random.Random) -> list[str]:
    found = []
    for each in rng.sample(tortured, len(tortured)):
        found += each.wrong_masks(n=4)
        within_of(guide_at(each.index, rng.choice(each.subject.places).token_ids))
        guide_at(each.index, rng.choice(each.subject.places).token_ids).expected()
    chosen = rng.choice(tortured)
    found += chosen.wrong_masks(chosen.subject.make(), n=2)
    for grammar in rng.sample(_FEW, 2):
        alone = cfgguide.compile(grammar, vocabulary(), use_cache=False)
        if mask_of(cfgguide.Guide(pool.index(grammar))) != mask_of(cfgguide.Guide(alone)):
            found.append("pool")
    return found


def fork(tortured: list[Tortured], pool: cfgguide.IndexPool, seed: int) -> list[str]:
    """Fork once; return what was wrong in the child, with "hang" if it was killed."""
    read, write = os.pipe()
    with warnings.catch_warnings(action="ignore"):  # Python 3.12 warns of forks amid threads
        child = os.fork()
    if child == 0:
        try:
            signal.alarm(int(2 * SECONDS))  # should the parent be killed
            found = _child(tortured, pool, random.Random(seed))
            os.write(write, ("\n".join(found) or "right").encode()[:4000])
        except BaseException as error:
            os.write(write, f"{type(error).__name__}: {error}".encode()[:4000])
        finally:
            os._exit(0)
    os.close(write)
    try:
        is_ready, _, _ = select.select([read], [], [], SECONDS)
        answer = os.read(read, 5000).decode() if is_ready else "hang"
        if not is_ready:
            os.kill(child, signal.SIGKILL)
    finally:
        os.close(read)
        os.waitpid(child, 0)
    return [] if answer == "right" else (answer or "the child was killed").splitlines()


_FIRST_USE = """
import os, signal, sys, threading, time
import cfgguide

def use():
    grammar = cfgguide.json_schema({"type": "string", "maxLength": 1})
    index = cfgguide.compile(grammar, cfgguide.Vocabulary.of_bytes(), use_cache=False)
    found.append(cfgguide.Guide(index).allowed_token_ids().tolist())

def is_right():
    use()
    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    return found == 2 * [[9, 10, 13, 32, 34]]  # white space and a quote

found, n_modules, seconds = [], int(sys.argv[1]), int(sys.argv[2])
sys.setswitchinterval(0.0001)
thread = threading.Thread(target=use)
thread.start()
while thread.is_alive():
    if sum(each.startswith("cfgguide.") for each in list(sys.modules)) >= n_modules:
        break
    time.sleep(0)
child = os.fork()
if not child:
    signal.alarm(seconds)  # which ends a child that hangs
    found.clear()
    os._exit(0 if is_right() else 1)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
thread.join()
print("hang" if status == -signal.SIGALRM else "" if status == 0 else f"ended with {status}")
"""


def fork_in_first_use(n_modules: int) -> list[str]:
    """Fork once so many modules of ours are imported, or begun; return what was wrong."""
    command = [sys.executable, "-W", "ignore", "-c", _FIRST_USE, str(n_modules), str(int(SECONDS))]
    run = subprocess.run(command, capture_output=True, text=True, timeout=4 * SECONDS, check=False)
    return (run.stdout or run.stderr).split("\n")[:-1] if run.stdout != "\n" else []


def forks(subjects: list[Subject], rng: random.Random, end: float) -> Iterator[list[str]]:
    """Yield what is wrong with each child."""
    with new_folder() as folder:
        tortured = [Tortured(each, rng, Path(folder)) for each in subjects]
        busy = Busy(tortured, rng.getrandbits(30))
        with busy.at_work():
            while time.monotonic() < end:
                if rng.random() < 0.05:
                    yield fork_in_first_use(rng.randrange(N_MODULES))
                time.sleep(rng.random() * 0.01)
                yield fork(tortured, busy.pool, rng.getrandbits(30))
                if busy.n_errors:
                    busy.n_errors = 0
                    yield ["an error in a thread"]
