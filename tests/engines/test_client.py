"""`cfgguide.client` over vLLM's server, with the plug-in and without it; others beside it.

The plug-in gets marked requests alone, as by default, so all that the client asks for is marked.
Runs in an environment that has vLLM: `make serve-test`.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Literal

import pytest

pytest.importorskip("vllm", reason="`make serve-test` has it, this environment has not")

import jsonschema
import openai
import outlines
import pydantic
from engines.asked import CALCULATION, PERSON, TABLES, UNIQUE, is_one_of, matches, parses
from engines.running import Running
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import cfgguide
from cfgguide.errors import GenerationError
from cfgguide.serving import Client

CHAT = [{"role": "user", "content": "Give me an example."}]
SQL = f"cfgguide:sql_select {json.dumps({'tables': TABLES})}"
TOOL = {"name": "weather", "parameters": {"properties": {"city": {"enum": ["Rome", "Oslo"]}}}}


class Animal(pydantic.BaseModel):
    name: str = pydantic.Field(max_length=8)
    legs: int = pydantic.Field(ge=0, le=8)
    kind: Literal["cat", "bird"]


@pytest.fixture(scope="module", params=["marked", "off"])
def server(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Iterator[Running]:
    running = Running(tmp_path_factory.mktemp("server"), request.param)
    yield running
    running.kill()


@pytest.fixture
def client(server: Running) -> Client:
    return cfgguide.client(f"http://127.0.0.1:{server.port}", "smollm2", timeout=300)


@pytest.fixture
def marked(server: Running, client: Client) -> Client:
    if server.mode == "off":
        pytest.skip("it has no plug-in")
    return client


def both(client: Client, prompt: Any, what: Any, **options: Any) -> Any:
    """What `generate` returns, and that `stream` comes to the same kind of end."""
    stream = client.stream(prompt, what, temperature=0.8, **options)
    *_, last = parts = list(stream)
    result = stream.result
    assert "".join(part.text for part in parts) == result.text
    if result.is_complete:
        assert (last.partial.value, last.partial.growing) == (result.parsed, None)
    # Without the plug-in, the server's own masks let a model fill its tokens with white space.
    for _ in range(1 if client.has_plugin else 10):
        result = client.generate(prompt, what, temperature=0.8, **options)
        if result.is_complete:
            break
    return result


def test_the_client_finds_out_whether_the_plug_in_is_there(server, client):
    assert client.has_plugin == (server.mode == "marked")


@pytest.mark.parametrize("prompt", ["An animal: ", CHAT], ids=["text", "chat"])
def test_types_schemas_and_choices_come_from_any_server(client, prompt):
    animal = both(client, prompt, Animal, max_new_tokens=200)
    assert isinstance(animal.parsed, Animal)
    person = both(client, prompt, PERSON, max_new_tokens=200)
    jsonschema.validate(person.parsed, PERSON)
    assert both(client, prompt, ["yes", "no"]).parsed in ("yes", "no")


def test_values_grow(client):
    seen = [part.partial.value for part in client.stream(CHAT, Animal, max_new_tokens=200)]
    names = [each.name for each in seen if each is not None and each.name is not None]
    assert all(later.startswith(name) for name, later in itertools.pairwise(names))
    assert isinstance(seen[-1], Animal)


def test_several_texts_prompts_and_tasks(client):
    assert len(client.generate(CHAT, ["a", "b"], n=3, temperature=1.0)) == 3
    assert len(client.generate(["a", CHAT, "b"], ["a", "b"])) == 3

    async def run() -> Any:
        parts = [part async for part in client.astream(CHAT, Animal, max_new_tokens=200)]
        return parts[-1].partial.value, await client.agenerate(CHAT, Animal, max_new_tokens=200)

    last, found = asyncio.run(run())
    assert isinstance(last, Animal)
    assert isinstance(found.parsed, Animal)


def test_a_text_that_is_cut_has_no_value(client):
    found = client.generate(CHAT, Animal, max_new_tokens=3)
    assert not found.is_complete
    with pytest.raises(GenerationError, match="was cut"):
        _ = found.parsed


@pytest.mark.parametrize(
    ("what", "judge"),
    [
        (cfgguide.Grammar(CALCULATION), parses(CALCULATION)),
        (re.compile("[A-C]{3}", re.IGNORECASE), matches("[A-Ca-c]{3}")),
        (UNIQUE, lambda text: jsonschema.validate(json.loads(text), UNIQUE)),
        ("cfgguide:greeting", is_one_of(["hello", "bye", "hello!", "bye!"])),
        (cfgguide.concat("a", cfgguide.regex("[0-9]{2}")), matches("a[0-9]{2}")),
        (SQL, lambda text: text.startswith(("SELECT", "WITH"))),
        ("json", json.loads),
    ],
)
def test_with_the_plug_in_anything_does(marked, what, judge):
    found = both(marked, CHAT, what, max_new_tokens=100)
    if found.is_complete:
        judge(found.text)
    assert found.is_complete or what in (SQL, "json") or isinstance(what, cfgguide.Grammar)


def test_calls_of_tools_and_thinking(marked):
    tools = cfgguide.tools([TOOL], format="hermes", choice="required", parallel=False)
    (call,) = both(marked, CHAT, tools, max_new_tokens=200).parsed.calls
    assert call.name == "weather"
    thinking = cfgguide.thinking(["yes", "no"], max_tokens=5)
    found = both(marked, CHAT, thinking)
    assert found.parsed in ("yes", "no")


def test_what_needs_the_plug_in_says_so(server, client):
    if server.mode == "marked":
        return
    for what in (re.compile("a"), cfgguide.Grammar(CALCULATION), SQL):
        with pytest.raises(GenerationError, match="needs the plug-in"):
            client.generate(CHAT, what)


def test_what_the_plug_in_refuses_is_an_error_of_ours(marked):
    with pytest.raises(GenerationError, match="no grammar is called 'cobol'"):
        marked.generate(CHAT, "cfgguide:cobol")


def again(server: Running, ask: Callable[[], Any]) -> Any:
    """What another client gets; without the plug-in, white space may fill the tokens of a text."""
    for _ in range(0 if server.mode == "marked" else 9):
        with contextlib.suppress(openai.LengthFinishReasonError, ValueError, AgentRunError):
            return ask()
    return ask()


def test_openais_own_parse(server):
    def ask() -> Any:
        found = server.client.chat.completions.parse(
            model="smollm2", messages=CHAT, response_format=Animal, max_tokens=200
        )
        return found.choices[0].message.parsed

    assert isinstance(again(server, ask), Animal)


def test_outlines(server):
    model = outlines.from_vllm(server.client, "smollm2")
    answer = again(
        server, lambda: Animal.model_validate_json(model("An animal.", Animal, max_tokens=200))
    )
    assert isinstance(answer, Animal)


def test_pydantic_ai(server):
    provider = OpenAIProvider(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none")
    agent = Agent(
        OpenAIChatModel("smollm2", provider=provider),
        output_type=NativeOutput(Animal),
        model_settings={"max_tokens": 200},
    )
    assert isinstance(again(server, lambda: agent.run_sync("An animal.").output), Animal)
