"""Tokens a second of vLLM's server: guided over unguided, with each backend.

One server for each backend, all started before; then each is asked in its turn, without a grammar
and with one, in changing order, so that what else the machine does hits all alike. All answers have
the same number of tokens: they go on past EOS, and the grammars allow no end before. The first turn
of each, in which grammars are compiled, is left out. The ratios are medians over the turns: of
tokens a second, and of tokens for each second of processor time of all processes of the server,
which other work on the machine disturbs less.

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


Rate = tuple[float, float]  # tokens a second: of the clock, of processor time


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

    def processor_seconds(self) -> float:
        """Return the processor time of all processes of the server."""
        total = 0
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                after_name = path.read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            if int(after_name[2]) == self.process.pid:  # the process group
                total += int(after_name[11]) + int(after_name[12])
        return total / os.sysconf("SC_CLK_TCK")

    def rate(self, batch: int, n_tokens: int, schema: Any) -> Rate:
        """Return tokens a second, and a second of processor time, of some requests at once."""
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

        started, before = time.perf_counter(), self.processor_seconds()
        with ThreadPoolExecutor(batch) as threads:
            found = list(threads.map(ask, range(batch)))
        seconds = time.perf_counter() - started
        assert found == [n_tokens] * batch, f"answers of other lengths: {found}"
        n_all = batch * n_tokens
        return n_all / seconds, n_all / (self.processor_seconds() - before)

    def kill(self) -> None:
        """End it, with the processes that it has started."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def measured(
    servers: dict[str, Server], batch: int, schema: Any, arguments: argparse.Namespace
) -> dict[str, list[tuple[Rate, Rate]]]:
    """Return the rates, unguided and guided, of each turn of each backend."""
    found: dict[str, list[tuple[Rate, Rate]]] = {name: [] for name in servers}
    for turn in range(arguments.turns + 1):
        for name, server in servers.items():
            asked = [None, schema] if turn % 2 else [schema, None]
            rates = [server.rate(batch, arguments.tokens, each) for each in asked]
            unguided, guided = rates if turn % 2 else reversed(rates)
            if turn:
                found[name].append((unguided, guided))
    return found


def row_of(turns: list[tuple[Rate, Rate]]) -> str:
    """Return medians as the cells of a table."""
    unguided, guided = (
        statistics.median(each[0] for each in side) for side in zip(*turns, strict=True)
    )
    ratios = sorted(guided[0] / unguided[0] for unguided, guided in turns)
    of_time = statistics.median(guided[1] / unguided[1] for unguided, guided in turns)
    return (
        f"{unguided:.0f} | {guided:.0f} | {statistics.median(ratios):.3f} | "
        f"{ratios[0]:.2f}, {ratios[-1]:.2f} | {of_time:.3f}"
    )


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
        print("| schema | batch | backend | unguided | guided | ratio | from, to | processor |")
        print("|---|---|---|---|---|---|---|---|")
        for schema in arguments.schemas:
            for batch in arguments.batches:
                found = measured(servers, batch, SCHEMAS[schema], arguments)
                for name, turns in found.items():
                    print(f"| {schema} | {batch} | {name} | {row_of(turns)} |", flush=True)
    finally:
        for server in servers.values():
            server.kill()


if __name__ == "__main__":
    main()
