"""vLLM's OpenAI server with the plug-in, asked by the real client of OpenAI.

All structured outputs are cfgguide's here (`CFGGUIDE_VLLM=all`), structural tags too, of which vLLM
makes tool calls; formats in them that cfgguide does not know are XGrammar's, in the same engine.
Runs in an environment that has vLLM: `make serve-test`.
"""

from __future__ import annotations

import contextlib
import json
import random
import re
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

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


def test_the_log_begins_with_what_the_operator_has_chosen(server):
    log = (server.folder / "log").read_text(encoding="utf-8")
    (said,) = re.findall(r"cfgguide \S+ takes all structured outputs of vLLM 0\.\S+: (.*)", log)
    assert "isolate on" in said
    assert said.endswith("own grammars: greeting, warm: json")
    assert "nothing reads the variable CFGGUIDE_VLM; did you mean CFGGUIDE_VLLM?" in log


NOTE = {"type": "object", "properties": {"note": {"type": "string"}}, "required": ["note"]}
STORY = "Tell me a long story about the sea."


@pytest.mark.parametrize("most", [16, 24])
@pytest.mark.parametrize(
    "asked",
    [
        {"extra_body": {"structured_outputs": {"json": NOTE}}},
        {"extra_body": {"structured_outputs": {"json": PERSON}}},
        {"response_format": {"type": "json_object"}},
        {"extra_body": {"structured_outputs": {"grammar": "cfgguide:json"}}},
    ],
    ids=["note", "person", "object", "json"],
)
def test_texts_end_within_their_tokens(server, asked, most):
    answer = server.chat(STORY, max_tokens=most, n=8, **asked)
    for choice in answer.choices:
        assert choice.finish_reason == "stop"
        json.loads(choice.message.content)


def test_calls_end_within_their_tokens(server):
    answer = server.chat(STORY, tools=TOOLS[:1], tool_choice="required", max_tokens=48, n=8)
    for choice in answer.choices:
        assert choice.finish_reason != "length"
        check_calls(
            [(call.function.name, call.function.arguments) for call in choice.message.tool_calls],
            True,
        )


SHOP = (
    "CREATE TABLE goods (id INTEGER PRIMARY KEY, name TEXT, price REAL);"
    "CREATE TABLE sold (good, day TEXT)"
)


@pytest.mark.parametrize("marked", [False, True])
def test_queries_of_a_request_prepare_on_its_database(server, marked):
    asked = {"sql": "sqlite", "schema": SHOP}
    body: dict[str, Any] = {"cfgguide": asked}
    if marked:
        body = {"structured_outputs": {"grammar": f"cfgguide:{json.dumps(asked)}"}}
    said = f"Tables: {SHOP}. Which goods cost most? One SQL query:"
    for choice in server.chat(said, max_tokens=60, n=8, extra_body=body).choices:
        assert choice.finish_reason == "stop"
        with contextlib.closing(sqlite3.connect(":memory:")) as database:
            database.executescript(SHOP)
            database.execute(f"EXPLAIN {choice.message.content}")


def test_a_request_asks_in_one_way(server):
    body = {"cfgguide": {"sql": "sqlite", "schema": SHOP}}
    with pytest.raises(openai.BadRequestError, match="either cfgguide, or structured_outputs"):
        server.chat(extra_body=body, response_format={"type": "json_object"})


@pytest.mark.parametrize("said", [{"describe": True}, {"sql": "sqlite", "describe": "example"}])
def test_no_request_has_itself_described(server, said):
    for more in ({}, {"response_format": {"type": "json_object"}}):
        with pytest.raises(openai.BadRequestError, match=r"at /describe: .* Have the client do it"):
            server.chat(extra_body={"cfgguide": said}, **more)


def test_digits_of_patterns_are_asciis(server):
    asked = {"structured_outputs": {"regex": r"\d{6}"}}
    answer = server.chat(
        "\u0627\u0643\u062a\u0628 \u0631\u0642\u0645\u0627", n=16, extra_body=asked
    )
    assert all(re.fullmatch("[0-9]{6}", each.message.content) for each in answer.choices)


def test_a_misspelt_keyword_is_told_in_the_log(server):
    server.chat(extra_body={"structured_outputs": {"json": {"type": "string", "maxlength": 3}}})
    assert "did you mean 'maxLength'" in (server.folder / "log").read_text(encoding="utf-8")


def test_where_too_many_wait_the_answer_says_when_to_come_again(server):
    slow = [f"start: /{'(a|b|c|d|e)?' * 60}(a|b)*a(a|b){{14}}{n}/" for n in range(20)]
    with ThreadPoolExecutor(len(slow)) as threads:
        asked = [threads.submit(_status, server, each) for each in slow]
        time.sleep(1)
        waited = []
        for _ in range(5):
            started = time.monotonic()
            server.ask(GREETING, max_tokens=3)
            waited.append(time.monotonic() - started)
        found = [each.result() for each in asked]
    assert {status for status, _, _ in found} <= {400, 429}
    assert all(after == "5" for status, after, _ in found if status == 429)
    assert max(seconds for _, _, seconds in found) < 40
    assert max(waited) < 10  # on a machine whose processors are all busy


def _status(server: Running, grammar: str) -> tuple[int, str | None, float]:
    started = time.monotonic()
    try:
        server.chat(max_tokens=1, extra_body={"structured_outputs": {"grammar": grammar}})
    except openai.APIStatusError as error:
        seconds = time.monotonic() - started
        return error.status_code, error.response.headers.get("Retry-After"), seconds
    return 200, None, time.monotonic() - started


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


UNIQUE_TAGS = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 8}, "tags": UNIQUE},
    "required": ["name", "tags"],
    "additionalProperties": False,
}
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": schema, "strict": True}}
    for name, schema in (("save", UNIQUE_TAGS), ("show", PERSON))
]
SCHEMAS = {"save": UNIQUE_TAGS, "show": PERSON}


def counters(server: Running) -> dict[str, float]:
    """What `/metrics` counts of cfgguide."""
    found = server.metrics().items()
    return {name: value for name, value in found if re.fullmatch(r"cfgguide_\w+_total", name)}


def check_calls(calls: list[tuple[str, str]], is_finished: bool) -> None:
    for name, arguments in calls:
        assert name in SCHEMAS
        if is_finished:
            jsonschema.validate(json.loads(arguments), SCHEMAS[name])


@pytest.mark.parametrize("choice", ["auto", "required", "named"])
def test_calls_of_tools_are_ours_and_what_their_schemas_allow(server, choice):
    before = counters(server)
    named = {"type": "function", "function": {"name": "save"}}
    answer = server.chat(
        "Save Ann.",
        tools=TOOLS,
        tool_choice=named if choice == "named" else choice,
        max_tokens=200,
        n=4,
    )
    after = counters(server)
    assert sum(after.values()) > sum(before.values())
    assert after["cfgguide_referred_total"] == before["cfgguide_referred_total"]
    for each in answer.choices:
        is_finished = each.finish_reason != "length"
        found = each.message.tool_calls or []
        calls = [(call.function.name, call.function.arguments) for call in found]
        assert calls or choice == "auto" or not is_finished
        assert choice != "named" or {name for name, _ in calls} <= {"save"}
        check_calls(calls, is_finished)


def test_first_visits_of_masks_are_counted(server):
    asked = {"structured_outputs": {"grammar": 'cfgguide:\nstart: "first" " visit" "!"*'}}
    before = counters(server)
    server.chat(extra_body=asked)
    server.chat(extra_body=asked)  # what the first one did is counted when the second one comes
    after = counters(server)
    for name in ("cfgguide_first_visits_total", "cfgguide_first_visit_seconds_total"):
        assert after[name] > before.get(name, 0)


def test_calls_of_tools_come_in_streams(server):
    parts = server.chat(
        "Save Ann.", tools=TOOLS, tool_choice="required", max_tokens=200, stream=True
    )
    names: list[str] = []
    arguments: list[str] = []
    reason = None
    for part in parts:
        for choice in part.choices:
            reason = choice.finish_reason or reason
            for call in choice.delta.tool_calls or []:
                if call.index == len(names):
                    names.append(call.function.name)
                    arguments.append("")
                arguments[call.index] += call.function.arguments or ""
    assert names
    check_calls(list(zip(names, arguments, strict=True)), reason != "length")


def response_format_of(content: Any) -> dict[str, Any]:
    made = {"type": "tag", "begin": "<answer>", "content": content, "end": "</answer>"}
    return {"type": "structural_tag", "format": made}


def test_response_format_is_a_structural_tag(server):
    content = {"type": "json_schema", "json_schema": UNIQUE}
    answer = server.chat(response_format=response_format_of(content), n=4)
    for choice in answer.choices:
        if choice.finish_reason == "stop":
            found = re.fullmatch(r"<answer>(.*)</answer>", choice.message.content, re.DOTALL)
            jsonschema.validate(json.loads(found[1]), UNIQUE)


def test_structural_tags_have_an_older_notation(server):
    old = {
        "type": "structural_tag",
        "structures": [{"begin": "<a>", "schema": UNIQUE, "end": "</a>"}],
        "triggers": ["<a"],
    }
    answer = server.chat("Write <a>", response_format=old, logit_bias={"44": 20}, n=4)  # of `<`
    for choice in answer.choices:
        for found in re.findall(r"<a(.*?)(?:</a>|$)", choice.message.content, re.DOTALL):
            assert found.startswith(">") or choice.finish_reason == "length"
        for value in re.findall(r"<a>(.*?)</a>", choice.message.content, re.DOTALL):
            jsonschema.validate(json.loads(value), UNIQUE)


def test_a_format_that_we_do_not_know_goes_to_vllms_own_backend(server):
    before = counters(server)["cfgguide_referred_total"]
    asked = response_format_of({"type": "grammar", "grammar": 'root ::= "yes" | "no"'})
    for _ in range(2):
        answer = server.chat(response_format=asked)
        assert answer.choices[0].message.content in ("<answer>yes</answer>", "<answer>no</answer>")
    assert counters(server)["cfgguide_referred_total"] == before + 1
    log = (server.folder / "log").read_text(encoding="utf-8")
    assert log.count("vLLM's own backend takes this structural tag") == before + 1
    server.ask(GREETING)


def test_a_wrong_schema_in_a_structural_tag_is_the_clients_error(server):
    """XGrammar has read it before, as vLLM's server does with all of them; we are stricter."""
    schema = {"type": "integer", "not": {"type": "integer"}}
    asked = response_format_of({"type": "json_schema", "json_schema": schema})
    with pytest.raises(openai.BadRequestError, match=r"cfgguide: .*no value is allowed"):
        server.chat(response_format=asked)


MISSPELT = {"type": "object", "properties": {"a": {"type": "string", "maxlength": 3}}}


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("at", ["structured_outputs", "response_format", "again"])
def test_a_misspelt_keyword_is_told_in_the_head_of_the_answer(server, at, is_stream):
    schema = {**MISSPELT, "title": f"{at} {is_stream}"}
    made = {"type": "json_schema", "json_schema": {"name": "it", "schema": schema}}
    asked = {"structured_outputs": {"json": schema}}
    options = {"response_format": made} if at == "response_format" else {"extra_body": asked}
    answer = server.client.chat.completions.with_raw_response.create(
        model="smollm2",
        messages=[{"role": "user", "content": "Give me an example."}],
        max_tokens=5,
        stream=is_stream,
        **options,
    )
    told = json.loads(answer.headers["cfgguide-left-out"])
    assert told == [["/properties/a/maxlength", "it is no keyword; did you mean 'maxLength'?"]]


@pytest.mark.parametrize("options", [{}, {"extra_body": {"structured_outputs": {"json": PERSON}}}])
def test_where_all_is_enforced_the_head_has_nothing_more(server, options):
    answer = server.client.chat.completions.with_raw_response.create(
        model="smollm2",
        messages=[{"role": "user", "content": "Hi"}],
        max_tokens=5,
        stream=True,
        **options,
    )
    assert "cfgguide-left-out" not in answer.headers


def test_what_was_compiled_is_counted_and_logged(server):
    asked = {"structured_outputs": {"choice": ["once", "and again"]}}
    before, seconds = counters(server), server.metrics()
    for _ in range(3):
        server.chat(extra_body=asked)
    with pytest.raises(openai.BadRequestError):
        server.chat(extra_body={"structured_outputs": {"grammar": "start: lonely"}})
    after = counters(server)
    more = {name: after[name] - before[name] for name in after}
    assert more["cfgguide_compiled_total"] == 1
    assert more["cfgguide_hits_total"] == 2
    assert more["cfgguide_refused_total"] == 1
    took = server.metrics()
    # The engine lets the last request go when another one comes.
    for name, n in (("compile", 2), ("first_mask", 2), ("slowest_step", 2)):
        assert took[f"cfgguide_{name}_seconds_sum"] > seconds.get(f"cfgguide_{name}_seconds_sum", 0)
        counted = f"cfgguide_{name}_seconds_count"
        assert took[counted] - seconds.get(counted, 0) >= n
    log = (server.folder / "log").read_text(encoding="utf-8")
    assert """compiled choice '["once", "and again"]' in """ in log
    assert "refused grammar 'start: lonely' after " in log


def test_what_is_held_is_shown(server):
    """The texts of requests and their indexes, and what all share, are held by now."""
    server.ask(MARKED[0], max_tokens=3)
    found = server.metrics()
    assert found["cfgguide_bytes"] > 0
    assert found["cfgguide_shared_bytes"] > 0


DIGITS = 'start: DIGIT+ "!"\nDIGIT: /[0-9]/'


def custom(syntax: str, definition: str) -> dict[str, Any]:
    made = {"type": "grammar", "syntax": syntax, "definition": definition}
    return {"type": "custom", "name": "write", "description": "Writes it down.", "format": made}


@pytest.mark.parametrize(
    ("syntax", "definition", "pattern"),
    [("lark", DIGITS, r"[0-9]+!"), ("regex", r"[a-c]{3}(/\d)?", r"[a-c]{3}(/\d)?")],
)
@pytest.mark.parametrize("choice", ["required", {"type": "custom", "name": "write"}])
def test_the_input_of_a_custom_tool_is_in_its_grammar(server, syntax, definition, pattern, choice):
    answer = server.client.responses.create(
        model="smollm2",
        input="Write something.",
        tools=[custom(syntax, definition)],
        tool_choice=choice,
        max_output_tokens=200,
        extra_body={"logit_bias": {"17": 5}},  # of `!`
    )
    if answer.status == "incomplete":
        assert [item.type for item in answer.output] == ["message"]
        return
    (call,) = answer.output
    assert (call.type, call.name) == ("custom_tool_call", "write")
    assert re.fullmatch(pattern, call.input), call.input


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"tool_choice": "auto"}, "where tool_choice names it"),
        ({"tool_choice": "required", "stream": True}, "stream is not supported"),
        ({"tools": [custom("lark", "start: a")]}, "used but not defined"),
        ({"tools": [custom("regex", "(")]}, "cfgguide"),
        ({"tools": [custom("ebnf", "x")]}, "lark or regex"),
    ],
)
def test_a_bad_custom_tool_is_the_clients_error(server, changed, message):
    asked = {"tools": [custom("lark", DIGITS)], "tool_choice": "required", **changed}
    with pytest.raises(openai.BadRequestError, match=message):
        server.client.responses.create(model="smollm2", input="Write.", **asked)


def test_other_requests_of_the_responses_api_are_vllms(server):
    answer = server.client.responses.create(model="smollm2", input="Hi", max_output_tokens=5)
    assert answer.output[0].type == "message"
    with pytest.raises(openai.BadRequestError):
        server.client.responses.create(model="smollm2", input=[{"type": "nothing"}])


def test_an_empty_text_is_a_choice_as_others_are(server):
    server.chat(extra_body={"structured_outputs": {"choice": [""]}})


def test_others_are_served_while_a_grammar_takes_long(server):
    server.ask(GREETING, max_tokens=3)
    with ThreadPoolExecutor(1) as threads:
        slow = threads.submit(_status, server, f"start: /{'(a|b|c|d|e)?' * 60}(a|b)*a(a|b){{14}}/")
        waited = []
        while not slow.done():
            started = time.monotonic()
            server.ask(GREETING, max_tokens=3)
            waited.append(time.monotonic() - started)
            if len(waited) > 1000:
                break
        assert slow.result()[0] in (400, 429)  # of which the second says that it may come again
    assert waited


def test_a_grammar_whose_client_has_left_is_compiled_no_further(server):
    grammar = f"start: /{'(a|b|c|d|f)?' * 60}(a|b)*a(a|b){{14}}/"
    client = server.client.with_options(timeout=1.0)
    with pytest.raises(openai.APITimeoutError):
        client.chat.completions.create(
            model="smollm2",
            messages=[{"role": "user", "content": "Go."}],
            extra_body={"structured_outputs": {"grammar": grammar}},
        )
    end = time.monotonic() + 60
    while "compiling was cancelled" not in (server.folder / "log").read_text():
        assert time.monotonic() < end
        time.sleep(0.2)
    server.ask(GREETING, max_tokens=3)


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
