"""Type checkers know what is returned: `mypy --strict` reads twenty calls."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CALLS = """
import re
from dataclasses import dataclass
from typing import TypedDict

import cfgguide
import pydantic

class Review(pydantic.BaseModel):
    stars: int

@dataclass
class Point:
    x: int

class Film(TypedDict):
    title: str

model: object = None
chat = [{"role": "user", "content": "x"}]
reveal_type(cfgguide.generate(model, "x", Review).parsed)  # Review
reveal_type(cfgguide.generate(model, chat, list[Review]).parsed)  # list[Review]
reveal_type(cfgguide.generate(model, "x", Point).parsed)  # Point
reveal_type(cfgguide.generate(model, "x", Film).parsed)  # TypedDict(Film, {'title': str})
reveal_type(cfgguide.generate(model, ["x", "y"], int))  # list[Generation[int]]
reveal_type(cfgguide.generate(model, "x", Review, n=3))  # list[Generation[Review]]
reveal_type(cfgguide.generate(model, "x", ["a", "b"]).parsed)  # str
reveal_type(cfgguide.generate(model, "x", re.compile("a"), max_new_tokens=3).parsed)  # str
reveal_type(cfgguide.generate(model, "x", {"type": "integer"}).parsed)  # Any
reveal_type(cfgguide.generate(model, "x", cfgguide.thinking(Review)).parsed)  # Review
reveal_type(cfgguide.stream(model, chat, Review).result.parsed)  # Review
reveal_type(next(cfgguide.stream(model, "x", Review)).partial.value)  # Review | None

def weather(city: str) -> float:
    return 1.0

reveal_type(cfgguide.generate(model, "x", weather).parsed.call())  # float
reveal_type(cfgguide.generate(model, chat, tools=[weather]).parsed.calls)  # list[ToolCall[Any]]

async def written() -> None:
    reveal_type((await cfgguide.agenerate(model, "x", Review)).parsed)  # Review
    reveal_type(await cfgguide.agenerate(model, ["x", "y"], int))  # list[Generation[int]]
    async for part in cfgguide.astream(model, "x", Review):
        reveal_type(part.partial.value)  # Review | None
    server = cfgguide.client("http://localhost:8000", "m")
    reveal_type((await server.agenerate("x", Review)).parsed)  # Review
    reveal_type(await server.agenerate(["x", "y"], Review))  # list[Generation[Review]]
    async for part in server.astream("x", Review):
        reveal_type(part.partial.value)  # Review | None

texts = cfgguide.stream(model, "x", ["a"])
reveal_type([part.partial.value for part in texts])  # list[str | None]
"""


@pytest.mark.slow  # with an empty cache mypy reads all of transformers
def test_mypy_knows_what_calls_return(tmp_path):
    path = tmp_path / "calls.py"
    path.write_text(CALLS)
    # In the package's configuration, which is strict, mypy need not read transformers again.
    command = [sys.executable, "-m", "mypy", str(path)]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    said = re.findall(r'note: Revealed type is "(.*)"', found.stdout)
    shown = [re.sub(r"(?:[a-z_]+\.)+(?=[A-Za-z])", "", each) for each in said]
    assert shown == re.findall(r"  # (.*)$", CALLS, re.MULTILINE), found.stdout
    assert "error" not in found.stdout
