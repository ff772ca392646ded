"""Clients whose texts are written while strangers attack the same backend.

``PYTHONPATH=.:tests python -m hostile.service [--seconds N] [--requests N]``

In: seconds, or a number of hostile requests, all different. Out: a table of how long clients waited
between two tokens of a text, without an attack, and with one, isolated or not; the longest that one
waited for the matcher of its next text; and the memory at the end. Each client takes a token every
10 ms, as a model writes them: a mask, a token, and a pause.

With ``--only leaving``: how soon work ends that nobody waits for any more; the median, the 90th and
99th percentile, and the longest.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator

import numpy as np
from support.small_tokenizers import standard_library_vocabulary

from cfgguide import Vocabulary
from cfgguide.base.async_abort import resident_bytes
from cfgguide.errors import CfgGuideError
from cfgguide.serving import Backend
from hostile.cases import REQUESTS, all_cases, attacks

_N_CLIENTS, _N_ATTACKERS = 8, 16
_STAYS = 0.2  # seconds that a client waits for a hostile request
_PAUSE = 0.01  # seconds that a model takes for a token
_SCHEMA = '{"properties": {"name": {"type": "string"}, "n": {"type": "integer"}}, "title": "%d"}'


class _Run:
    """One backend with its clients, and perhaps attackers, until it is over."""

    def __init__(self, backend: Backend, requests: Iterator[tuple[str, str]] | None) -> None:
        self.backend, self._requests = backend, requests
        self._lock, self.is_over = threading.Lock(), threading.Event()
        self.waits: list[float] = []  # between two tokens of a text
        self.starts: list[float] = []  # for the matcher of a text
        self.outcomes: Counter[str] = Counter()
        self._failed: list[BaseException] = []

    def client(self, number: int) -> None:
        """Write texts of a schema of one's own."""
        chance = random.Random(number)
        eos = self.backend.vocabulary.eos_token_ids[0]
        while not self.is_over.is_set():
            last, asked = None, time.perf_counter()
            matcher = self.backend.matcher("json", _SCHEMA % number)
            self.starts.append(time.perf_counter() - asked)
            for _ in range(60):
                words = matcher.bitmask().view(np.uint32)
                allowed = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
                token_id = int(chance.choice(allowed))
                if token_id == eos or not matcher.accept([token_id]):
                    break
                now = time.perf_counter()
                if last is not None:
                    self.waits.append(now - last - _PAUSE)
                time.sleep(_PAUSE)
                last = now

    def attacker(self) -> None:
        """Send requests and wait for each, as a client of the server would."""
        while not self.is_over.is_set():
            with self._lock:
                request = next(self._requests or iter(()), None)
            if request is None:
                return
            future = self.backend.requested(*request, cancelled=self.is_over.is_set)
            try:
                future.result()
                self.outcomes["works"] += 1
            except CfgGuideError:
                self.outcomes["refused"] += 1

    def guarded(self, work: object, *arguments: object) -> None:
        try:
            work(*arguments)  # type: ignore[operator]
        except BaseException as error:
            self._failed.append(error)
            self.is_over.set()
            raise

    def run(self, seconds: float) -> None:
        """Let all work for some seconds, or until the requests are spent."""
        begun = [(self.client, number) for number in range(_N_CLIENTS)]
        attackers = [
            threading.Thread(target=self.guarded, args=(self.attacker,))
            for _ in range(_N_ATTACKERS if self._requests is not None else 0)
        ]
        threads = [threading.Thread(target=self.guarded, args=each) for each in begun] + attackers
        for each in threads:
            each.start()
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.is_over.is_set():
            if attackers and not any(each.is_alive() for each in attackers):
                break
            time.sleep(0.1)
        self.is_over.set()
        for each in threads:
            each.join()
        if self._failed:
            raise self._failed[0]


def print_how_soon_the_work_ends(vocabulary: Vocabulary) -> None:
    """Leave each case of the corpus that takes longer than `_STAYS`; print when that is heard."""
    late: list[tuple[float, str]] = []
    for case in all_cases():
        backend, text = Backend(vocabulary, use_cache=False), case.make()
        end = time.perf_counter() + _STAYS
        with contextlib.suppress(CfgGuideError):
            kind = REQUESTS[case.kind]
            backend.index(kind, text, cancelled=lambda end=end: time.perf_counter() > end)
        late.append((1000 * (time.perf_counter() - end), case.full_name))
    late = sorted(each for each in late if each[0] > 0)
    cuts = np.quantile([milliseconds for milliseconds, _ in late], (0.5, 0.9, 0.99, 1))
    print(f"{len(late)} cases took longer, and ended after", *(f"{cut:.0f}" for cut in cuts), "ms")
    for milliseconds, name in reversed(late[-5:]):
        print(f"{milliseconds:8.0f} ms  {name}")


def main() -> None:
    """Run without an attack, with one, and with one that is not isolated."""
    parser = argparse.ArgumentParser(prog="hostile.service", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--only", choices=("quiet", "isolated", "not isolated", "leaving"))
    options = parser.parse_args()
    logging.disable()
    vocabulary = standard_library_vocabulary()
    if options.only == "leaving":
        print_how_soon_the_work_ends(vocabulary)
        return
    heads = ("tokens", "p50", "p99", "p99.9", "worst", "start")
    print(" " * 14 + "".join(f"{head:>8}" for head in heads), "ms   memory, MB")
    for name in ("quiet", "isolated", "not isolated"):
        if options.only not in (None, name):
            continue
        backend = Backend(vocabulary, use_cache=False, isolate=name == "isolated")
        for number in range(_N_CLIENTS):
            backend.matcher("json", _SCHEMA % number)
        before = resident_bytes()
        requests = None if name == "quiet" else itertools.islice(attacks(), options.requests)
        run = _Run(backend, requests)
        run.run(options.seconds)
        cuts = 1000 * np.array([*np.quantile(run.waits, (0.5, 0.99, 0.999, 1)), max(run.starts)])
        print(
            f"{name:14}{len(run.waits):8}" + "".join(f"{each:8.1f}" for each in cuts),
            f"     {before / 1e6:.0f} -> {resident_bytes() / 1e6:.0f}   ",
            *(f"{count} {what}" for what, count in sorted(run.outcomes.items())),
            flush=True,
        )


if __name__ == "__main__":
    main()
