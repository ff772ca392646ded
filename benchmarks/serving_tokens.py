"""Tokens a second of vLLM's server: guided over unguided, with each backend.

One server for each backend, all started before; then each is asked in its turn, without a grammar
and with one, in changing order, so that what else the machine does hits all alike. All answers have
the same number of tokens: they go on past EOS, and the grammars allow no end before. The first turn
of each, in which grammars are compiled, is left out. The ratio is the median over the turns.

    .venv-vllm/bin/python benchmarks/serving_tokens.py MODEL_FOLDER --batches 1 8 32
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openai

START = 600.0  # seconds that a server gets to start
TEXT = {
    "type": "object",
    "properties": {"text": {"type": "string", "minLength": 2000}},
    "required": ["text"],
    "additionalProperties": False,
}
RECORD = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "kind": {"enum": ["apple", "pear", "plum"]},
        "name": {"type": "string"},
        "is_ripe": {"type": "boolean"},
    },
    "required": ["id", "kind", "name", "is_ripe"],
    "additionalProperties": False,
}
SCHEMAS = {"text": TEXT, "records": {"type": "array", "items": RECORD, "minItems": 200}}
#: The backends: vLLM's own name, and what the plug-in takes.
BACKENDS = {
    "cfgguide": ("auto", "all"),
    "xgrammar": ("xgrammar", "off"),
    "guidance": ("guidance", "off"),
}


class Server:
    """A server with one backend."""

    def __init__(self, backend: str, model: str, folder: Path) -> None:
        own, mode = BACKENDS[backend]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", model]
        command += [
            "--served-model-name",
            "model",
            "--max-model-len",
            "1024",
            "--max-num-seqs",
            "64",
        ]
        command += ["--enforce-eager", "--port", str(port)]
        command += ["--structured-outputs-config.backend", own]
        environment = {**os.environ, "CFGGUIDE_VLLM": mode, "CFGGUIDE_CACHE": str(folder / "cache")}
        with (folder / f"{backend}.log").open("wb") as log:
            self.process = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, start_new_session=True
            )
        self.client = openai.OpenAI(
            base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0, timeout=600
        )

    def wait(self) -> None:
        """Wait until it answers."""
        end = time.monotonic() + START
        while time.monotonic() < end:
            assert self.process.poll() is None, "the server has ended"
            try:
                self.client.models.list()
                return
            except openai.APIConnectionError:
                time.sleep(0.5)
        raise TimeoutError("the server does not start")

    def rate(self, batch: int, n_tokens: int, schema: Any) -> float:
        """Return tokens a second of some requests at once."""
        options = {} if schema is None else {"structured_outputs": {"json": schema}}

        def ask(number: int) -> int:
            answer = self.client.completions.create(
                model="model",
                prompt=f"Number {number}. A long list of fruit, with much about each, as JSON: ",
                max_tokens=n_tokens,
                temperature=0.8,
                extra_body={"ignore_eos": True, **options},
            )
            return answer.usage.completion_tokens

        started = time.perf_counter()
        with ThreadPoolExecutor(batch) as threads:
            found = list(threads.map(ask, range(batch)))
        seconds = time.perf_counter() - started
        assert found == [n_tokens] * batch, f"answers of other lengths: {found}"
        return batch * n_tokens / seconds

    def kill(self) -> None:
        """End it, with the processes that it has started."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def measured(
    servers: dict[str, Server], batch: int, schema: Any, arguments: argparse.Namespace
) -> dict[str, list[tuple[float, float]]]:
    """Return tokens a second, unguided and guided, of each turn of each backend."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in servers}
    for turn in range(arguments.turns + 1):
        for name, server in servers.items():
            asked = [None, schema] if turn % 2 else [schema, None]
            rates = [server.rate(batch, arguments.tokens, each) for each in asked]
            unguided, guided = rates if turn % 2 else reversed(rates)
            if turn:
                found[name].append((unguided, guided))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="a folder")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--backends", nargs="+", choices=BACKENDS, default=list(BACKENDS))
    parser.add_argument("--schemas", nargs="+", choices=SCHEMAS, default=list(SCHEMAS))
    parser.add_argument("--tokens", type=int, default=96, help="of an answer")
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    servers: dict[str, Server] = {}
    try:
        for backend in arguments.backends:
            servers[backend] = Server(backend, arguments.model, folder)
            servers[backend].wait()
        print("| schema | batch | backend | unguided | guided | guided / unguided | from, to |")
        print("|---|---|---|---|---|---|---|")
        for schema in arguments.schemas:
            for batch in arguments.batches:
                found = measured(servers, batch, SCHEMAS[schema], arguments)
                for name, turns in found.items():
                    ratios = sorted(guided / unguided for unguided, guided in turns)
                    unguided, guided = (
                        statistics.median(each) for each in zip(*turns, strict=True)
                    )
                    print(
                        f"| {schema} | {batch} | {name} | {unguided:.0f} | {guided:.0f} | "
                        f"{statistics.median(ratios):.3f} | {ratios[0]:.2f}, {ratios[-1]:.2f} |",
                        flush=True,
                    )
    finally:
        for server in servers.values():
            server.kill()


if __name__ == "__main__":
    main()
