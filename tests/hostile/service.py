"""Clients whose texts are written while strangers attack the same backend.

``PYTHONPATH=.:tests python -m hostile.service [--seconds N] [--requests N]``

In: seconds, or a number of hostile requests, all different. Out: a table of how long clients waited
between two tokens of a text, without an attack, and with one, isolated or not; the longest that one
waited for the matcher of its next text; and the memory at the end. Each client takes a token every
10 ms, as a model writes them: a mask, a token, and a pause.

With ``--only leaving``: how soon work ends that nobody waits for any more; the median, the 90th and
99th percentile, and the longest. With ``--only hidden``: how long the clients of an engine, which
takes a token of each in turn, wait for those of a stranger, whose requests hide behind a word what
has masks that take long; at each door, a new request each time or the same one.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
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
from cfgguide.models.serving.guarded import GuardedMatcher
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


_COSTLY = r"(?!.*.a.{9}b)(?!.*c.{9}d)(?!.*e.{9}f).{8,64}"  # each mask takes seconds
_WORD = "abcdefghij" * 25  # longer than a walk of chance


def hidden(mark: str) -> dict[str, tuple[str, str, bytes]]:
    """Return a request at each door, and what is written before its masks take long.

    The shortest text of each is another one, so a trial that follows that does not come there.
    """
    word = mark + _WORD
    pattern = f"(?:zz|{word}{_COSTLY})"
    schema = {"type": "string", "pattern": f"^{pattern}$"}
    content = {"type": "json_schema", "json_schema": schema}
    tag = {"type": "tag", "begin": "<", "content": content, "end": ""}
    grammar = f'start: "zz" | "{word}" A\nA: /{_COSTLY}/'
    structure = json.dumps({"type": "structural_tag", "format": tag})
    return {
        "pattern": ("regex", pattern, word.encode()),
        "grammar": ("grammar", grammar, word.encode()),
        "schema": ("json", json.dumps(schema), f'"{word}'.encode()),
        "tag": ("structural_tag", structure, f'<"{word}'.encode()),
    }


class _Text:
    """A text in an engine: what is given, and then by chance."""

    def __init__(self, backend: Backend, request: tuple[str, str], given: bytes, seed: int) -> None:
        self.guarded = GuardedMatcher(backend.matcher(*request))
        self._given, self._chance = given, random.Random(seed)
        self._tokens = backend.vocabulary.tokens
        self._eos = backend.vocabulary.eos_token_ids[0]
        self._n_left = 4  # tokens after what is given

    def goes_on(self) -> bool:
        """Take a mask and a token, as an engine does for a row; return whether there are more."""
        words = self.guarded.bitmask().view(np.uint32)
        allowed = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")).tolist()
        if self._given:
            fitting = [
                each for each in allowed if self._given.startswith(self._tokens[each] or b"?")
            ]
            token_id = max(fitting, key=lambda each: len(self._tokens[each] or b""), default=None)
            token_id = self._eos if token_id is None else token_id
            self._given = self._given[len(self._tokens[token_id] or b"") :]
        else:
            token_id = self._chance.choice(allowed) if self._n_left else self._eos
            self._n_left -= 1
        return token_id != self._eos and self.guarded.accept([token_id])


def print_how_long_an_engine_waits(vocabulary: Vocabulary, n_requests: int) -> None:
    """Have a stranger send so many requests at each door; print the longest step of the engine.

    Seconds are those of its processor, since other programs may run beside it.
    """
    for door, is_new in itertools.product(hidden(""), (True, False)):
        backend = Backend(vocabulary, use_cache=False, isolate=True)
        clients = [("json", _SCHEMA % number) for number in range(_N_CLIENTS)]
        texts = [_Text(backend, each, b"", number) for number, each in enumerate(clients)]
        steps, outcomes = [], Counter[str]()
        for number in range(n_requests):
            kind, text, given = hidden(f"x{number if is_new else 0}")[door]
            try:
                stranger = _Text(backend, (kind, text), given, number)
            except CfgGuideError:
                outcomes["refused before it is written"] += 1
                continue
            goes_on = True
            while goes_on:
                started = time.thread_time()
                for place, each in enumerate(texts):
                    if not each.goes_on():
                        texts[place] = _Text(backend, clients[place], b"", place)
                goes_on = stranger.goes_on()
                steps.append(time.thread_time() - started)
            outcomes["fails" if stranger.guarded.error else "ends"] += 1
        worst = f"{max(steps):.2f} s" if steps else "none"
        waited = sum(each for each in steps if each > 0.1)
        print(
            f"{door:8} {'new' if is_new else 'same':5} longest step {worst}, all above 0.1 s "
            f"{waited:.2f} s; {dict(outcomes)}",
            flush=True,
        )


def main() -> None:
    """Run without an attack, with one, and with one that is not isolated."""
    parser = argparse.ArgumentParser(prog="hostile.service", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--requests", type=int, default=10_000)
    names = ("quiet", "isolated", "not isolated", "leaving", "hidden")
    parser.add_argument("--only", choices=names)
    options = parser.parse_args()
    logging.disable()
    vocabulary = standard_library_vocabulary()
    if options.only == "leaving":
        print_how_soon_the_work_ends(vocabulary)
        return
    if options.only == "hidden":
        print_how_long_an_engine_waits(vocabulary, min(options.requests, 3))
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
