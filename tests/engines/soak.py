"""A server under load for as long as one likes: what is lost, what is wrong, what memory it takes.

Many clients ask for twenty grammars; some take a stream, some leave in the middle, and some
requests are bad and have to be refused. Each answer has a judge. A request is *lost* if there is no
answer or HTTP 5xx, and *wrong* if its judge says so, or if a bad one is answered. ::

    make soak SECONDS=1800
    PYTHONPATH=.:tests .venv-vllm/bin/python -m engines.soak --seconds 1800

Or it is under attack: 8 clients take streams, first alone, then while a process sends hostile
requests, all different, until the time is over, then while it sends as many harmless ones a second
as the attack had answered. The table says how long the clients waited between two tokens. What a
hostile request costs more than a harmless one is ours: of each, the model reads the prompt. ::

    make soak HOSTILE=10000
    PYTHONPATH=.:tests .venv-vllm/bin/python -m engines.soak --hostile 10000
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import multiprocessing
import os
import random
import re
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from queue import Empty
from typing import Any

import jsonschema
import numpy as np
import openai
from engines.asked import MARKED, OTHERS, PERSON, UNIQUE, Asked, is_one_of, matches, validates
from engines.bad import BAD
from engines.running import GREETING, Running
from hostile.cases import attacks

ANSWER = {
    "type": "structural_tag",
    "format": {
        "type": "tag",
        "begin": "<answer>",
        "content": {"type": "json_schema", "json_schema": UNIQUE},
        "end": "</answer>",
    },
}
OLD = {
    "type": "structural_tag",
    "triggers": ["<a"],
    "structures": [{"begin": "<a>", "schema": {"enum": [1, 2]}, "end": "</a>"}],
}
TOOL = {"type": "function", "function": {"name": "save", "strict": True, "parameters": PERSON}}
NAMED = {"type": "function", "function": {"name": "save"}}


@dataclass(frozen=True)
class Case:
    """A request of the chat API, and who judges one of its choices."""

    name: str
    options: dict[str, Any]
    judge: Callable[[str, list[str], str], None]


def _is_an_answer(text: str) -> None:
    found = re.fullmatch(r"<answer>(.*)</answer>", text, re.DOTALL)
    assert found is not None, text
    jsonschema.validate(json.loads(found[1]), UNIQUE)


def _has_whole_tags(text: str) -> None:
    assert re.fullmatch(r"(?:(?!<a)[\s\S]|<a>[12](?:\.0*)?(?:[eE][+-]?0+)?</a>)*", text), text


def _of(asked: Asked) -> Case:
    def judge(text: str, calls: list[str], reason: str) -> None:
        assert not calls
        asked.check(text, is_finished=reason == "stop")

    return Case(asked.name, {"extra_body": {"structured_outputs": asked.structured_outputs}}, judge)


def _of_tools(choice: Any) -> Case:
    def judge(text: str, calls: list[str], reason: str) -> None:
        if reason == "length":
            return
        assert calls or choice == "auto", text
        for call in calls:
            jsonschema.validate(json.loads(call), PERSON)

    name = choice if isinstance(choice, str) else "named"
    return Case(f"tool, {name}", {"tools": [TOOL], "tool_choice": choice}, judge)


def cases() -> list[Case]:
    """Return twenty requests."""
    phone, words = r"\+[0-9]{2} [0-9]{3}", ["red", "green", "dark blue"]
    asked = [
        *(*MARKED, *OTHERS, GREETING),
        Asked("unique", "json", UNIQUE, validates(UNIQUE)),
        Asked("any object", "json_object", True, json.loads, same=("json_object", "")),
        Asked("phone", "regex", phone, matches(phone)),
        Asked("colours", "choice", words, is_one_of(words)),
        Asked("sentence", "grammar", 'start: "a"+ "b"', matches("a+b")),
        Asked("answer tag", "structural_tag", json.dumps(ANSWER), _is_an_answer),
        Asked("old tags", "structural_tag", json.dumps(OLD), _has_whole_tags),
    ]
    schema = Asked("schema", "json", PERSON, validates(PERSON))
    response_format = {
        "type": "json_schema",
        "json_schema": {"name": "person", "schema": PERSON, "strict": True},
    }
    tools = [_of_tools(choice) for choice in ("auto", "required", NAMED)]
    strict = Case("response format", {"response_format": response_format}, _of(schema).judge)
    return [*map(_of, asked), strict, *tools, _of(UNION)]


_SHAPES = {"oneOf": [{"type": "boolean"}, {"type": "string", "format": "date"}]}
UNION = Asked("union", "json", _SHAPES, validates(_SHAPES))

N_STREAMS, N_ATTACKERS = 8, 16
_WARM, _QUIET = 20.0, 120.0  # seconds without an attack, not measured and measured
_EVERY = 500  # hostile requests, after which the memory is looked at
_EXPECTED = {"HTTP 200", "HTTP 400"}
_HARMLESS = "regex", "yes|no"


def people(number: int) -> Case:
    """Return a request for a long answer, with a schema of one's own."""
    schema = {"title": f"{number}", "type": "array", "items": PERSON, "minItems": 8}
    case = _of(Asked("people", "json", schema, validates(schema)))
    return Case(case.name, {**case.options, "max_tokens": 200}, case.judge)


@dataclass
class Counts:
    """What became of the requests."""

    answers: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)  # seconds between two tokens of a stream
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, name: str) -> None:
        """Count an answer that its judge has found right."""
        with self.lock:
            self.answers[name] += 1


class Client(threading.Thread):
    """Asks until the time is over."""

    def __init__(self, server: Running, counts: Counts, end: float, seed: int) -> None:
        super().__init__(daemon=True)
        self.server, self.counts, self.end = server, counts, end
        self.rng = random.Random(seed)
        self.cases = cases()
        self.wrong = [body for body, _ in BAD.values()]
        self.asking = [self.ask] * 7 + [self.stream, self.stream, self.leave, self.bad]

    def run(self) -> None:
        while time.monotonic() < self.end:
            one, case = self.rng.choice(self.asking), self.rng.choice(self.cases)
            started = time.monotonic()
            try:
                one(case)
            except Exception as error:  # of a judge, of the server, or a refusal of a right request
                is_lost = isinstance(error, openai.APIError)
                is_lost = is_lost and not isinstance(error, openai.BadRequestError)
                found = self.counts.lost if is_lost else self.counts.wrong
                found.append(f"{one.__name__} {case.name}: {error!r:.500} {error.__cause__!r:.200}")
                print("lost:" if is_lost else "wrong:", found[-1], flush=True)
            with self.counts.lock:
                self.counts.kinds[one.__name__] += 1
            self.counts.seconds.append(time.monotonic() - started)

    def options(self, case: Case) -> dict[str, Any]:
        return {"max_tokens": self.rng.randrange(4, 60), **case.options}

    def ask(self, case: Case) -> None:
        n = self.rng.choice([1, 1, 1, 2, 3])
        answer = self.server.chat(**self.options(case), n=n)
        assert len(answer.choices) == n
        for choice in answer.choices:
            calls = [call.function.arguments for call in choice.message.tool_calls or []]
            case.judge(choice.message.content or "", calls, choice.finish_reason)
            self.counts.answer(case.name)

    def stream(self, case: Case) -> None:
        text, calls, reason, times = "", [], "length", []
        with self.server.chat(**self.options(case), stream=True) as parts:
            for part in parts:
                for choice in part.choices:
                    text += choice.delta.content or ""
                    if choice.delta.content:
                        times.append(time.monotonic())
                    for call in choice.delta.tool_calls or []:
                        calls += [""] * (call.index + 1 - len(calls))
                        calls[call.index] += call.function.arguments or ""
                    reason = choice.finish_reason or reason
                if time.monotonic() > self.end:
                    break
        self.counts.gaps += np.diff(times).tolist()
        case.judge(text, calls, reason)
        self.counts.answer(case.name)

    def leave(self, case: Case) -> None:
        parts = self.server.chat(**{**case.options, "max_tokens": 200}, stream=True)
        for _, _ in zip(range(self.rng.randrange(1, 12)), parts, strict=False):
            pass
        parts.close()

    def bad(self, _: Case) -> None:
        try:
            self.server.chat(extra_body=self.rng.choice(self.wrong), max_tokens=4)
        except openai.BadRequestError:
            return
        raise AssertionError("a bad request was answered")


def memory_of(group: int) -> dict[str, int]:
    """Return the resident megabytes of each process of a group, by name and id."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text()
            status = (folder / "status").read_text()
        except OSError:  # it has ended
            continue
        resident = re.search(r"VmRSS:\s+(\d+)", status)
        if int(stat.rpartition(")")[2].split()[2]) == group and resident is not None:
            name = stat.partition("(")[2].rpartition(")")[0]
            found[f"{name} {folder.name}"] = int(resident[1]) // 1024
    return found


def metrics_of(server: Running) -> dict[str, float]:
    """Return what `/metrics` says of requests and of cfgguide."""
    wanted = re.compile(
        r"cfgguide_\w+|vllm:(?:num_requests_(?:running|waiting)|num_preemptions_total"
        r"|generation_tokens_total|request_success_total)"
    )
    return {name: value for name, value in server.metrics().items() if wanted.fullmatch(name)}


def report(counts: Counts, metrics: dict[str, float], memory: list[int]) -> None:
    """Print what became of the requests, as one table."""
    seconds = sorted(counts.seconds) or [0.0]
    rows: dict[str, Any] = {
        "requests": counts.kinds.total(),
        **{f"of kind {kind}": n for kind, n in sorted(counts.kinds.items())},
        "answers judged": counts.answers.total(),
        "grammars": len(counts.answers),
        "lost": len(counts.lost),
        "wrong": len(counts.wrong),
        "seconds a request, median": f"{seconds[len(seconds) // 2]:.2f}",
        "seconds a request, p99": f"{seconds[int(0.99 * (len(seconds) - 1))]:.2f}",
        "memory, MB: first, last, most": f"{memory[0]}, {memory[-1]}, {max(memory)}",
        **{name: f"{value:g}" for name, value in sorted(metrics.items())},
    }
    print("| | |\n|---|---|")
    for name, value in rows.items():
        print(f"| {name} | {value} |", flush=True)


def watch(server: Running, clients: list[Client], counts: Counts) -> list[int]:
    """Print the memory of the server every minute until all clients are done; return the sums."""
    started, sums = time.monotonic(), []
    while any(client.is_alive() for client in clients):
        memory = memory_of(server.process.pid)
        sums.append(sum(memory.values()))
        minutes = (time.monotonic() - started) / 60
        state = (
            f"{counts.kinds.total()} requests, {len(counts.lost)} lost, {len(counts.wrong)} wrong"
        )
        print(f"{minutes:5.1f} min: {state}, {sums[-1]} MB: {memory}", flush=True)
        end = time.monotonic() + 60
        while time.monotonic() < end and any(client.is_alive() for client in clients):
            time.sleep(0.5)
    return sums


def soak(server: Running, n_clients: int, seconds: float) -> bool:
    """Let clients ask; return whether all answers came and were right."""
    counts, end = Counts(), time.monotonic() + seconds
    clients = [Client(server, counts, end, seed) for seed in range(n_clients)]
    for client in clients:
        client.start()
    memory = watch(server, clients, counts)
    time.sleep(5)  # requests of clients that have left end
    report(counts, metrics_of(server), memory)
    return not (counts.lost or counts.wrong)


def send(port: int, kind: str, text: str) -> str:
    """Send a hostile request; return the status of HTTP, or the name of the error."""
    body = {
        "model": "smollm2",
        "messages": [{"role": "user", "content": "Go."}],
        "max_tokens": 4,
        "structured_outputs": {kind: text},
    }
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=300) as answer:
            return f"HTTP {answer.status}"
    except urllib.error.HTTPError as error:
        return f"HTTP {error.code}"
    except OSError as error:
        return type(error).__name__


def attack(port: int, n_requests: int, outcomes: Any, pause: float) -> None:
    """Send requests, and put into a queue what became of each, with its seconds.

    They are hostile, and sent one after the other; with a pause between them, harmless.
    """
    os.nice(10)  # as little as possible of the machine that the server has
    sent = itertools.repeat(_HARMLESS) if pause else attacks()
    requests, lock = itertools.islice(sent, n_requests), threading.Lock()

    def attacker() -> None:
        while True:
            with lock:
                time.sleep(pause)
                request = next(requests, None)
            if request is None:
                return
            started = time.monotonic()
            outcome = send(port, *request)
            outcomes.put((outcome, time.monotonic() - started, f"{request!s:.200}"))

    for _ in range(N_ATTACKERS):
        threading.Thread(target=attacker).start()


def stream(server: Running, until: Callable[[], object]) -> Counts:
    """Let clients take streams until a function returns; return what became of them."""
    counts, answers = Counts(), []
    clients = [Client(server, counts, math.inf, number) for number in range(N_STREAMS)]
    for number, client in enumerate(clients):
        case = people(number)
        # Judged later: the judge of one answer would keep the clients of others waiting.
        keep = partial(_keep, answers, case.judge)
        client.cases, client.asking = [Case(case.name, case.options, keep)], [client.stream]
        client.start()
    until()
    for client in clients:
        client.end = 0.0
    for client in clients:
        client.join()
    for judge, answer in answers:
        try:
            judge(*answer)
        except Exception as error:
            counts.wrong.append(f"{answer!s:.500}: {error!r:.500}")
            print("wrong:", counts.wrong[-1], flush=True)
    return counts


def _keep(answers: list[Any], judge: Any, *answer: Any) -> None:
    answers.append((judge, answer))


def under_attack(server: Running, n_requests: int, seconds: float) -> bool:
    """Let clients take streams, alone and while others attack; return whether all was well."""
    stream(server, lambda: time.sleep(_WARM))  # what all requests share is made
    lasting = memory_of(server.process.pid).keys()
    outcomes: Counter[str] = Counter()
    taken: list[float] = []

    def show() -> None:
        memory = memory_of(server.process.pid)
        held = {name: memory.get(name, 0) for name in lasting}
        print(f"after {len(taken)} requests: {sum(held.values())} MB: {held}, {dict(outcomes)}")
        print(f"    {metrics_of(server)}", flush=True)

    def until_attacked(seconds: float, pause: float = 0.0) -> None:
        # A process of its own: its threads are not to keep those of the clients waiting.
        context, end = multiprocessing.get_context("spawn"), time.monotonic() + seconds
        queue = context.Queue()
        attackers = context.Process(target=attack, args=(server.port, n_requests, queue, pause))
        attackers.start()
        while (pause or len(taken) < n_requests) and time.monotonic() < end:
            if not pause and len(taken) % _EVERY == 0:
                show()
            try:
                outcome, waited, text = queue.get(timeout=end - time.monotonic())
            except (Empty, ValueError):
                break
            if pause:
                assert outcome == "HTTP 200", outcome
                continue
            outcomes[outcome] += 1
            taken.append(waited)
            if outcome not in _EXPECTED:
                print(f"{outcome} after {waited:.1f} s: {text}", flush=True)
        attackers.kill()

    quiet = stream(server, lambda: time.sleep(_QUIET))
    started = time.monotonic()
    attacked = stream(server, partial(until_attacked, seconds))
    pause = (time.monotonic() - started) / max(outcomes["HTTP 200"], 1)
    show()
    harmless = stream(server, partial(until_attacked, _QUIET, pause))
    phases = {"quiet": quiet, "attacked": attacked, "as many harmless ones": harmless}
    print("| | answers | lost | wrong | tokens | p50 | p99 | p99.9 | worst, ms |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, counts in phases.items():
        cuts = 1000 * np.quantile(counts.gaps, (0.5, 0.99, 0.999, 1))
        row = [name, counts.answers.total(), len(counts.lost), len(counts.wrong), len(counts.gaps)]
        print(f"| {' | '.join(map(str, row))} | {' | '.join(f'{cut:.0f}' for cut in cuts)} |")
    cuts = np.quantile(taken, (0.5, 0.99, 1)).round(2).tolist()
    print(f"hostile: {dict(outcomes)}; seconds, p50, p99, worst: {cuts}")
    ended = sorted(lasting - memory_of(server.process.pid).keys())
    print(f"processes that have ended: {ended or 'none'}")
    is_well = outcomes.keys() <= _EXPECTED and not ended
    return is_well and not any(counts.lost or counts.wrong for counts in phases.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--hostile", type=int, metavar="REQUESTS")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    server = Running(folder)
    try:
        if arguments.hostile:
            is_well = under_attack(server, arguments.hostile, arguments.seconds)
        else:
            is_well = soak(server, arguments.clients, arguments.seconds)
    finally:
        server.kill()
    print(f"log of the server: {folder / 'log'}")
    raise SystemExit(0 if is_well else 1)


if __name__ == "__main__":
    main()
