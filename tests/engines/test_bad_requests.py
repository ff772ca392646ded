"""Bad requests over HTTP: a status, a message that a client can act on, and soon.

Runs in an environment that has vLLM: `make serve-test`.
"""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("vllm", reason="`make serve-test` has it, this environment has not")

import numpy as np
from engines.bad import BAD
from engines.running import GREETING, Running

SOON = 1.0  # seconds of a machine that does nothing else
TOOK: list[float] = []  # seconds, of each
#: Of the server's files; what a message says of a schema has slashes, too.
PATH = re.compile(r"/(?:home|root|tmp|usr|var|work)/|site-packages|\.py\b")
#: Words to a caller in Python, which no client of a server is.
PYTHONS = ("best_effort=True", "registry=", "Grammar.open", "re.compile", "raise the limit")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running(tmp_path_factory.mktemp("server"))
    running.ask(GREETING, max_tokens=3)
    yield running
    running.kill()


def answer(server: Running, body: dict[str, Any]) -> tuple[int, str, float]:
    """Return the status, the message and the seconds of an answer."""
    asked = {"model": "smollm2", "messages": [{"role": "user", "content": "Go."}], "max_tokens": 4}
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.port}/v1/chat/completions",
        json.dumps(asked | body).encode(),
        {"Content-Type": "application/json"},
    )
    started = time.monotonic()
    try:
        with urllib.request.urlopen(request, timeout=60) as found:
            return found.status, found.read().decode(), time.monotonic() - started
    except urllib.error.HTTPError as error:
        message = json.loads(error.read())["error"]["message"]
        return error.code, message, time.monotonic() - started


@pytest.mark.parametrize("is_stream", [False, True], ids=["answer", "stream"])
@pytest.mark.parametrize("name", BAD)
def test_a_bad_request_is_told_what_is_wrong_and_soon(server, name, is_stream):
    body, words = BAD[name]
    status, message, seconds = answer(server, body | {"stream": is_stream})
    assert (status, bool(re.search(words, message))) == (400, True), message
    assert PATH.search(message) is None
    assert not any(each in message for each in PYTHONS)
    TOOK.append(seconds)


def test_they_are_told_soon_and_others_are_served(server):
    """The machine may be busy with something else, so that a few may take longer."""
    assert len(TOOK) >= 2 * 60
    assert np.quantile(TOOK, 0.9) < SOON
    started = time.monotonic()
    server.ask(GREETING, max_tokens=3)
    assert time.monotonic() - started < 10 * SOON
