"""A server whose requests come by the clock, whatever is unanswered, with strangers among them.

Honest clients ask for a text without a grammar, in one of a few schemas (a *hit*), or in a schema
that has never been asked for (a *new* one): at times that are drawn at random, so that a server
which stands still has a queue afterwards, as the clients of a shop make one. Each is a stream, and
what counts is when its first part comes. First they are alone; then one key sends twenty costly
requests at once, all different, again and again. ::

    make soak ARRIVALS=4 SECONDS=120
    PYTHONPATH=.:tests .venv-vllm/bin/python -m engines.arrivals --rate 4 --seconds 120
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from engines.running import Running

N_STRANGERS = 20
_EVERY = 10.0  # seconds after which the strangers come again
_PATIENCE = 40.0  # seconds that anyone waits for an answer
_N_TOKENS = 12  # of an answer
_N_KEYS, _N_SCHEMAS = 8, 4
_WARM = 15.0  # seconds that are not measured
KINDS = ("unguided", "hit", "new")
_EDGES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)  # seconds, of the histogram


@dataclass(frozen=True)
class Outcome:
    """What became of a request: its status, or `none`, and the seconds until its first part."""

    kind: str
    status: str
    seconds: float


def schema_of(name: str) -> dict[str, Any]:
    """Return a schema with names of its own."""
    fields = {f"{name}_{n}": kind for n, kind in enumerate(({"type": "string"}, {"enum": [1, 2]}))}
    return {"type": "object", "properties": fields, "required": [*fields]}


def costly() -> Iterator[dict[str, Any]]:
    """Yield schemas, all different: of two, one is refused after seconds, one is compiled."""
    for number in itertools.count():
        ahead = "".join(f"(?=.*{letter}.{{{4 + n}}})" for n, letter in enumerate("abcd"))
        pattern = f"^{ahead}.{{8,{60 + number}}}$"
        if number % 2:
            pattern = f"^{'(a|b|c|d|e)?' * 40}(a|b)*a(a|b){{{8 + number % 7}}}{number}$"
        yield {"type": "object", "properties": {"x": {"type": "string", "pattern": pattern}}}


class Load:
    """Requests that were sent to a server, each by a thread of its own."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._threads: list[threading.Thread] = []
        self.outcomes: list[Outcome] = []

    def send(self, kind: str, key: str, schema: Any) -> None:
        """Send a request; do not wait for it."""
        thread = threading.Thread(target=self._sent, args=(kind, key, schema), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _sent(self, kind: str, key: str, schema: Any) -> None:
        body = {
            "model": "smollm2",
            "messages": [{"role": "user", "content": f"Give me an example of {kind}."}],
            "max_tokens": _N_TOKENS,
            "stream": kind != "stranger",
            **({} if schema is None else {"structured_outputs": {"json": schema}}),
        }
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        started, status = time.monotonic(), "none"
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_PATIENCE)
        try:
            connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
            answer = connection.getresponse()
            status = f"{answer.status}"
            while (line := answer.readline()) and b'"content":"' not in line.replace(b'""', b""):
                if line.startswith(b'data: {"error"'):  # after a head that has been sent
                    status = f"{json.loads(line[6:])['error']['code']}"
            seconds = time.monotonic() - started
            answer.read()
        except (OSError, http.client.HTTPException) as error:
            seconds = time.monotonic() - started
            status = status if seconds < _PATIENCE - 1 else f"{status}, {type(error).__name__}"
        finally:
            connection.close()
        self.outcomes.append(Outcome(kind, status, seconds))

    def wait(self) -> None:
        """Wait until each request has been answered, or waited for too long."""
        for thread in self._threads:
            thread.join()


def warm(port: int) -> None:
    """Ask for the schemas that are to be known, until they are."""
    for n in range(_N_SCHEMAS):
        while True:
            load = Load(port)
            load.send("hit", "honest", schema_of(f"h{n}"))
            load.wait()
            if load.outcomes[0].status == "200":
                break


def honest(load: Load, rate: float, seconds: float, rng: random.Random) -> None:
    """Send `rate` requests a second, at times that are drawn at random."""
    end = time.monotonic() + seconds
    at = time.monotonic()
    while (at := at + rng.expovariate(rate)) < end:
        time.sleep(max(0.0, at - time.monotonic()))
        kind = rng.choice(KINDS)
        name = f"n{rng.getrandbits(40):x}" if kind == "new" else f"h{rng.randrange(_N_SCHEMAS)}"
        schema = None if kind == "unguided" else schema_of(name)
        load.send(kind, f"honest {rng.randrange(_N_KEYS)}", schema)


def strangers(load: Load, until: threading.Event) -> None:
    """Send twenty costly requests at once, again and again, all by one key."""
    requests = costly()
    while not until.is_set():
        for schema in itertools.islice(requests, N_STRANGERS):
            load.send("stranger", "stranger", schema)
        until.wait(_EVERY)


def measured(port: int, rate: float, seconds: float, *, attacked: bool) -> list[Outcome]:
    """Return what became of the requests of a phase."""
    load, over = Load(port), threading.Event()
    attack = threading.Thread(target=strangers, args=(load, over))
    if attacked:
        attack.start()
    honest(load, rate, seconds, random.Random(7))
    over.set()
    if attacked:
        attack.join()
    load.wait()
    return load.outcomes


def row_of(phase: str, kind: str, outcomes: list[Outcome]) -> list[str]:
    """Return cells: how many, by status, and quantiles of milliseconds until the first part."""
    of_kind = [each for each in outcomes if each.kind == kind]
    statuses = Counter(each.status for each in of_kind)
    answered = [each.seconds for each in of_kind if each.status == "200"] or [np.nan]
    cuts = 1000 * np.quantile(answered, (0.5, 0.9, 0.99, 1))
    seconds = [each.seconds for each in of_kind]
    counted = np.histogram(seconds, [0, *_EDGES, np.inf])[0]
    said = ", ".join(f"{n} x {status}" for status, n in sorted(statuses.items()))
    longest = f"{max(seconds, default=0):.1f}"
    shape = " ".join(map(str, counted))
    return [phase, kind, said, *(f"{cut:.0f}" for cut in cuts), longest, shape]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=float, default=4.0, help="honest requests a second")
    parser.add_argument("--seconds", type=float, default=120.0, help="of each phase")
    arguments = parser.parse_args()
    os.environ["CFGGUIDE_CLIENT"] = "authorization"
    folder = Path(tempfile.mkdtemp())
    server = Running(folder)
    try:
        warm(server.port)
        measured(server.port, arguments.rate, _WARM, attacked=False)
        heads = ["phase", "kind", "answers", "p50", "p90", "p99", "worst, ms", "longest, s"]
        heads.append(f"up to {', '.join(map(str, _EDGES))} s, and above")
        print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
        n_unanswered = 0
        for phase in ("alone", "with strangers"):
            attacked = phase != "alone"
            outcomes = measured(server.port, arguments.rate, arguments.seconds, attacked=attacked)
            for kind in (*KINDS, *(["stranger"] if attacked else [])):
                print(f"| {' | '.join(row_of(phase, kind, outcomes))} |", flush=True)
            n_unanswered += sum("none" in each.status for each in outcomes)
    finally:
        server.kill()
    print(f"log of the server: {folder / 'log'}")
    raise SystemExit(1 if n_unanswered else 0)


if __name__ == "__main__":
    main()
