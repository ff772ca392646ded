"""A server of vLLM with the plug-in, for tests and programs that ask it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import openai
from engines.asked import Asked, is_one_of

from cfgguide.models.load import prepare_smollm2

START = 600.0  # seconds that a server gets to start


def run_server(folder: Path, port: int, mode: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
    command += ["--model", str(prepare_smollm2()), "--served-model-name", "smollm2"]
    command += ["--max-model-len", "1024", "--max-num-seqs", "64", "--enforce-eager"]
    command += ["--port", str(port)]
    command += ["--enable-auto-tool-choice", "--tool-call-parser", "hermes"]
    shutil.rmtree(metrics := folder / "metrics", ignore_errors=True)
    metrics.mkdir()
    environment = {
        **os.environ,
        "CFGGUIDE_VLLM": mode,
        "CFGGUIDE_VLM": mode,  # as an operator may misspell it
        "CFGGUIDE_WARM": "json",
        "VLLM_PLUGINS": "cfgguide",
        # A connection that is closed for being idle just as a client uses it is a request lost.
        "VLLM_HTTP_TIMEOUT_KEEP_ALIVE": "60",
        "CFGGUIDE_CACHE": str(folder / "cache"),
        "CFGGUIDE_GRAMMARS": str(folder),
        "PROMETHEUS_MULTIPROC_DIR": str(metrics),
    }
    (folder / "greeting.lark").write_text('start: ("hello" | "bye") "!"?\n', encoding="utf-8")
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            command, env=environment, stdout=log, stderr=log, start_new_session=True
        )


def wait_for(server: subprocess.Popen[bytes], client: openai.OpenAI, folder: Path) -> None:
    end = time.monotonic() + START
    while time.monotonic() < end:
        assert server.poll() is None, (folder / "log").read_text()[-5000:]
        try:
            client.models.list()
            return
        except openai.APIConnectionError:
            time.sleep(0.5)
    raise AssertionError("the server does not start")


class Running:
    """A server, and a client of it; `mode` is what of its requests are the plug-in's."""

    def __init__(self, folder: Path, mode: str = "all") -> None:
        self.mode = mode
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder = folder
        self.client = openai.OpenAI(
            base_url=f"http://127.0.0.1:{self.port}/v1", api_key="none", max_retries=0, timeout=300
        )
        self.start()

    def start(self) -> None:
        self.process = run_server(self.folder, self.port, self.mode)
        try:
            wait_for(self.process, self.client, self.folder)
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """As `kill -9` does, with the processes that it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def metrics(self) -> dict[str, float]:
        """Return what `/metrics` says, each the sum over its labels."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics") as page:
            lines = page.read().decode().splitlines()
        sums: Counter[str] = Counter()
        for line in lines:
            if not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                sums[name.partition("{")[0]] += float(value)
        return dict(sums)

    def chat(self, said: str = "Give me an example.", **options: Any) -> Any:
        # No seed: this build of vLLM dies of some ("CPU Generator does not use offset").
        options = {"max_tokens": 60, "temperature": 0.8, **options}
        return self.client.chat.completions.create(
            model="smollm2", messages=[{"role": "user", "content": said}], **options
        )

    def ask(self, asked: Asked, **options: Any) -> list[str]:
        """Return the answers, which were checked."""
        answer = self.chat(extra_body={"structured_outputs": asked.structured_outputs}, **options)
        for choice in answer.choices:
            asked.check(choice.message.content, is_finished=choice.finish_reason == "stop")
        return [choice.message.content for choice in answer.choices]


GREETING = Asked(
    "greeting",
    "grammar",
    "cfgguide:greeting",
    is_one_of(["hello", "bye", "hello!", "bye!"]),
    same=("grammar", 'start: ("hello" | "bye") "!"?'),
)
