"""vLLM's OpenAI server with the plug-in, asked by the real client of OpenAI.

All structured outputs are cfgguide's here (`CFGGUIDE_VLLM=all`), but structural tags, of which vLLM
makes tool calls: these are XGrammar's, in the same engine. Runs in an environment that has vLLM:
`make serve-test`.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("vllm", reason="`make serve-test` has it, this environment has not")

import jsonschema
import openai
from engines.asked import MARKED, OTHERS, PERSON, UNIQUE, Asked, is_one_of
from engines.running import GREETING, Running

N_CLIENTS, N_GRAMMARS = 64, 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running(tmp_path_factory.mktemp("server"))
    yield running
    running.kill()


@pytest.mark.parametrize("asked", [*MARKED, *OTHERS], ids=lambda each: each.name)
def test_an_answer_is_what_was_asked_for(server, asked):
    server.ask(asked)


def test_an_operators_grammar_has_a_name(server):
    answer = server.ask(GREETING, max_tokens=20, n=4)
    assert len(answer) == 4


def test_response_format_is_a_schema(server):
    for schema in (PERSON, UNIQUE):
        answer = server.chat(
            max_tokens=200,
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "it", "schema": schema, "strict": True},
            },
        )
        (choice,) = answer.choices
        if choice.finish_reason == "stop":
            jsonschema.validate(json.loads(choice.message.content), schema)
        else:
            Asked("it", "json", schema, json.loads).check(choice.message.content, is_finished=False)


def test_completions_and_streams(server):
    asked = OTHERS[1]
    answer = server.client.completions.create(
        model="smollm2",
        prompt="The month is ",
        max_tokens=30,
        extra_body={"structured_outputs": asked.structured_outputs},
    )
    asked.check(answer.choices[0].text, is_finished=answer.choices[0].finish_reason == "stop")
    parts = list(
        server.chat(stream=True, extra_body={"structured_outputs": asked.structured_outputs})
    )
    text = "".join(part.choices[0].delta.content or "" for part in parts if part.choices)
    asked.check(text, is_finished=True)


def test_a_tool_that_must_be_called_is_called_with_what_it_takes(server):
    tool = {"type": "function", "function": {"name": "save", "parameters": PERSON}}
    tool["function"]["strict"] = True
    answer = server.chat(
        "Save Ann, 12.",
        tools=[tool],
        tool_choice={"type": "function", "function": {"name": "save"}},
        max_tokens=200,
        temperature=0.0,
    )
    (choice,) = answer.choices
    (call,) = choice.message.tool_calls
    assert call.function.name == "save"
    if choice.finish_reason != "length":
        jsonschema.validate(json.loads(call.function.arguments), PERSON)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"grammar": "cfgguide:cobol"}, "no grammar is called 'cobol'"),
        ({"grammar": "start: a"}, "used but not defined"),
        ({"grammar": "start: /(a|b)*a(a|b){40}/"}, "max_"),
        ({"json": {"type": "nothing"}}, "type is one or more of"),
        ({"json": {"type": "string", "pattern": "("}}, "pattern"),
        ({"regex": "(?P<x>"}, "regex|pattern|unterminated|missing"),
        ({"choice": [""]}, None),
    ],
)
def test_a_bad_request_is_the_clients_error_with_our_message(server, wrong, message):
    if message is None:  # an empty text is a choice like others
        server.chat(extra_body={"structured_outputs": wrong})
        return
    with pytest.raises(openai.BadRequestError, match=message):
        server.chat(extra_body={"structured_outputs": wrong})
    server.ask(GREETING, max_tokens=3)


def test_others_are_served_while_a_grammar_takes_long(server):
    server.ask(GREETING, max_tokens=3)
    with ThreadPoolExecutor(1) as threads:
        slow = threads.submit(_refused, server, f"start: /{'(a|b|c|d|e)?' * 60}(a|b)*a(a|b){{14}}/")
        waited = []
        while not slow.done():
            started = time.monotonic()
            server.ask(GREETING, max_tokens=3)
            waited.append(time.monotonic() - started)
            if len(waited) > 1000:
                break
        slow.result()
    assert waited


def _refused(server: Running, grammar: str) -> None:
    try:
        server.chat(max_tokens=1, extra_body={"structured_outputs": {"grammar": grammar}})
    except openai.BadRequestError:
        return


def grammar_of(number: int) -> Asked:
    """Twenty grammars: those above, and small ones that differ."""
    known = [*MARKED, *OTHERS, GREETING]
    if number < len(known):
        return known[number]
    words = [f"word{number}", f"other{number}"]
    return Asked(f"words {number}", "choice", words, is_one_of(words))


def test_many_clients_with_many_grammars(server):
    rng = random.Random(1)
    asked = [grammar_of(rng.randrange(N_GRAMMARS)) for _ in range(N_CLIENTS)]
    with ThreadPoolExecutor(N_CLIENTS) as threads:
        answers = list(threads.map(lambda each: server.ask(each, max_tokens=24), asked))
    assert len(answers) == N_CLIENTS


def test_a_client_that_leaves_does_no_harm(server):
    for _ in range(5):
        stream = server.chat(
            stream=True, max_tokens=500, extra_body={"structured_outputs": {"json_object": True}}
        )
        next(iter(stream))
        stream.close()
    server.ask(GREETING)


def test_a_killed_server_starts_again_with_what_was_saved(server):
    before = server.ask(MARKED[1], temperature=0.0)
    cached = sorted(path.name for path in (server.folder / "cache").rglob("*") if path.is_file())
    server.kill()
    server.start()
    assert server.ask(MARKED[1], temperature=0.0) == before
    again = sorted(path.name for path in (server.folder / "cache").rglob("*") if path.is_file())
    assert set(cached) <= set(again)
