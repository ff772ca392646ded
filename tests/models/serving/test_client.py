"""The client asks a server that speaks OpenAI's protocol over a real, if tiny, model."""

from __future__ import annotations

import asyncio
import datetime
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Annotated, Any, Literal

import pydantic
import pytest
from support.tiny_models import N_SMALL, random_model, small_tokenizer

pytest.importorskip("openai", reason="the client sends its requests by it")

import cfgguide
from cfgguide.errors import CfgGuideError, GenerationError, SchemaWarning
from cfgguide.models.serving.client import Client, _for_others
from cfgguide.output_types import output_type
from cfgguide.serving import Backend

MODEL, TOKENIZER = random_model(N_SMALL), small_tokenizer()
VOCABULARY = cfgguide.Vocabulary.of_bytes()
CHAT = [{"role": "user", "content": "a"}]
SQL = 'cfgguide:sql_select {"tables": {"users": ["id", "name"]}}'


class Person(pydantic.BaseModel):
    name: str = pydantic.Field(max_length=8, pattern="^[A-Z]?[a-z]*$")
    age: int = pydantic.Field(ge=0, le=150)
    kind: Literal["cat", "dog"]


class Handler(BaseHTTPRequestHandler):
    """Completions, chats and streams of them; the class of a server with the plug-in says so."""

    has_plugin = True
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(asked)
        try:
            texts = [self.written(asked, number) for number in range(asked.get("n", 1))]
        except CfgGuideError as error:
            self.answer(400, {"error": {"message": f"cfgguide: {error}"}})
            return
        is_chat = "messages" in asked
        if not asked.get("stream"):
            choices = [
                {"index": number, "finish_reason": reason}
                | ({"message": {"role": "assistant", "content": text}} if is_chat else {})
                | ({} if is_chat else {"text": text})
                for number, (text, reason) in enumerate(texts)
            ]
            usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
            self.answer(200, {"id": "1", "choices": choices[::-1], "usage": usage})
            return
        ((text, reason),) = texts
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for piece in [text[n : n + 3] for n in range(0, len(text), 3)] + [None]:
            choice = {"index": 0, "finish_reason": reason if piece is None else None}
            choice |= {"delta": {"content": piece}} if is_chat else {"text": piece or ""}
            self.wfile.write(f"data: {json.dumps({'id': '1', 'choices': [choice]})}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def answer(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def written(self, asked: dict[str, Any], number: int) -> tuple[str, str]:
        what: Any = re.compile("[a-z]{3}")
        if self.has_plugin and "structured_outputs" in asked:
            backend = Backend(VOCABULARY, use_cache=False, isolate=False)
            what = backend.grammar("grammar", asked["structured_outputs"]["grammar"])
        elif "response_format" in asked:
            schema = asked["response_format"]["json_schema"]["schema"]
            what = cfgguide.json_schema(schema, max_whitespace=1)
        options: dict[str, Any] = {"temperature": asked["temperature"]} if number else {}
        found = cfgguide.generate(
            MODEL, "a", what, tokenizer=TOKENIZER, max_new_tokens=asked["max_tokens"],
            stop=asked.get("stop", ()), finish="cut" not in asked, seed=number, **options,
        )  # fmt: skip
        return found.text, "stop" if found.is_complete or "stop" in asked else "length"


class Without(Handler):
    has_plugin = False


class Lying(Without):
    """Writes what it likes, whatever it is asked for."""

    def written(self, asked: dict[str, Any], number: int) -> tuple[str, str]:
        return '{"name": "Ada", "age": "old"}', "stop"


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, handler: type[Handler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.asked: list[dict[str, Any]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def client(self, **options: Any) -> Client:
        address = f"http://127.0.0.1:{self.server_address[1]}"
        return cfgguide.client(address, "tiny", max_retries=0, **options)


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Server]]:
    made = {each.__name__: Server(each) for each in (Handler, Without, Lying)}
    yield made
    for each in made.values():
        each.shutdown()
        each.server_close()


@pytest.fixture
def server(servers: dict[str, Server]) -> Server:
    servers["Handler"].asked.clear()
    return servers["Handler"]


@pytest.fixture
def plain(servers: dict[str, Server]) -> Server:
    servers["Without"].asked.clear()
    return servers["Without"]


SUMS = cfgguide.Grammar('sum: NUMBER ("+" NUMBER)~1..2\nNUMBER: /[0-9]{1,3}/', start="sum")
TOOL = {"name": "weather", "parameters": {"properties": {"city": {"enum": ["Rome", "Oslo"]}}}}


@pytest.mark.parametrize(
    ("what", "asked"),
    [
        (Person, "cfgguide:json_schema\n"),
        (list[Literal["a", "b"]], "cfgguide:json_schema\n"),
        ({"enum": ["yes", "no"]}, "cfgguide:json_schema\n"),
        (["yes", "no"], 'cfgguide:choice\n["yes", "no"]'),
        (re.compile("[A-C]{3}", re.IGNORECASE), "cfgguide:regex\n(?iu)[A-C]{3}"),
        (SUMS, "cfgguide:\nsum: NUMBER"),
        (cfgguide.json_schema({"type": "null"}, separators=(",", ":")), "cfgguide:json_schema\n"),
        (cfgguide.tools([TOOL], format="qwen", choice="required"), "cfgguide:structural_tag\n"),
        (cfgguide.thinking(["yes", "no"], max_tokens=3), "cfgguide:structural_tag\n"),
        (cfgguide.concat("a", cfgguide.regex("[0-9]")), "cfgguide:\n"),
        pytest.param("sql_select", "cfgguide:sql_select {", marks=pytest.mark.slow),
        pytest.param(SQL, SQL, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_with_the_plug_in_anything_is_asked_for(server, what, asked):
    client = server.client()
    found = client.generate("a", what, max_new_tokens=60)
    said = server.asked[-1]["structured_outputs"]["grammar"]
    assert said.startswith(asked)
    assert found.is_complete
    parts = list(stream := client.stream(CHAT, what, max_new_tokens=60))
    assert server.asked[-1]["messages"] == CHAT
    assert "".join(part.text for part in parts) == stream.result.text == found.text
    assert parts[-1].partial.value == found.parsed
    assert parts[-1].partial.growing is None


@pytest.mark.parametrize(
    "what", [Person, list[Literal["a", "b"]], {"enum": ["yes", "no"]}, ["yes", "no"]]
)
def test_without_it_types_schemas_and_choices_are(plain, what):
    client = plain.client()
    assert not client.has_plugin
    found = client.generate(CHAT, what, max_new_tokens=60)
    said = plain.asked[-1]["response_format"]["json_schema"]
    assert said["strict"] is True
    assert "rust" not in json.dumps(said)
    assert found.is_complete
    assert isinstance(what, dict | list) or pydantic.TypeAdapter(what).validate_python(found.parsed)
    assert not isinstance(what, list) or found.text in what
    parts = list(stream := client.stream("a", what, max_new_tokens=60))
    assert stream.result == found
    assert parts[-1].partial.value == found.parsed


@pytest.mark.parametrize(
    ("what", "said"),
    [(re.compile("a"), "a pattern"), (SUMS, "a grammar"), ("sql", "a grammar"), (SQL, "a grammar"),
     (cfgguide.thinking(["a"]), "a grammar of messages")],
)  # fmt: skip
def test_what_needs_the_plug_in_says_so(plain, what, said):
    with pytest.raises(GenerationError, match=f"^.generation. {said} needs the plug-in"):
        plain.client().generate("a", what)


@pytest.mark.parametrize("what", [Person, ["yes", "no"], {"const": 1}])
def test_a_server_is_not_believed(servers, what):
    client = servers["Lying"].client()
    with pytest.raises(GenerationError, match=r"(?s)wrote what was not asked for.*Ada"):
        client.generate("a", what)
    with pytest.raises(GenerationError, match="wrote what was not asked for"):
        list(client.stream("a", what))


def test_a_text_that_was_cut_has_no_value(server):
    found = server.client().generate("a", Person, max_new_tokens=4, request={"cut": True})
    assert not found.is_complete
    assert '{"name": "'.startswith(found.text[:10])
    with pytest.raises(GenerationError, match=r"was cut.*: give more max_new_tokens$"):
        _ = found.parsed


def test_what_the_server_counted_is_kept(server):
    assert server.client().generate("a", SUMS).usage.completion_tokens == 2


def test_objects_of_a_mapping_are_as_the_server_has_them_and_of_a_grammar_as_that_says(server):
    client, schema = server.client(plugin=True), {"properties": {"a": {"const": 1}}}
    for what, is_said in ((schema, False), (cfgguide.json_schema(schema), True)):
        client.generate("a", what, max_new_tokens=60)
        said = json.loads(server.asked[-1]["structured_outputs"]["grammar"].partition("\n")[2])
        assert ("closed" in said["x-cfgguide"]) == is_said


def test_several_texts_and_several_prompts(server):
    client = server.client()
    found = client.generate("a", SUMS, n=3, temperature=1.0)
    assert server.asked[-1]["n"] == 3
    assert [each.is_complete for each in found] == [True] * 3
    assert found[0] == client.generate("a", SUMS)  # in the order of their numbers
    batch = client.generate(["a", CHAT], SUMS)
    assert [each.text for each in batch] == [found[0].text] * 2
    with pytest.raises(GenerationError, match="n is 2, and all texts would be alike: give a temp"):
        client.generate("a", SUMS, n=2)
    for n, prompt in ((0, "a"), (2, ["a", "b"])):
        with pytest.raises(GenerationError, match="n is"):
            client.generate(prompt, SUMS, n=n)


def test_a_text_that_was_stopped_is_complete_if_it_is_a_sentence(server):
    client = server.client()
    for stop in ("+", "1", "2", "3"):
        found = client.generate("a", SUMS, stop=stop)
        assert server.asked[-1]["stop"] == [stop]
        assert found.is_complete == cfgguide.check(SUMS, found.text).is_sentence


def test_options_are_those_of_the_protocol(server):
    begun = [*CHAT, {"role": "assistant", "content": "It is "}]
    server.client(plugin=True).generate(
        begun, {"const": 1}, max_new_tokens=9, temperature=0.5, top_p=0.9, seed=3,
        request={"top_k": 4},
    )  # fmt: skip
    (asked,) = server.asked  # the server was not asked whether it has the plug-in
    expected = {"max_tokens": 9, "temperature": 0.5, "top_p": 0.9, "seed": 3, "top_k": 4}
    expected |= {"continue_final_message": True, "add_generation_prompt": False, "model": "tiny"}
    assert {name: asked[name] for name in expected} == expected


TOLD = cfgguide.describe(Person).instruction


@pytest.mark.parametrize(
    ("prompt", "sent"),
    [
        (CHAT, [{"role": "system", "content": TOLD}, *CHAT]),
        (
            [{"role": "system", "content": "Be brief."}, *CHAT],
            [{"role": "system", "content": f"Be brief.\n\n{TOLD}"}, *CHAT],
        ),
        (
            [{"role": "developer", "content": [{"type": "text", "text": "Hi"}]}, *CHAT],
            [
                {
                    "role": "developer",
                    "content": [{"type": "text", "text": "Hi"}, {"type": "text", "text": TOLD}],
                },
                *CHAT,
            ],
        ),
        ("a", f"{TOLD}\n\na"),
    ],
)
def test_the_prompt_says_what_is_to_be_written(server, plain, prompt, sent):
    for each in (server, plain):
        client, name = each.client(), "prompt" if isinstance(prompt, str) else "messages"
        found = client.generate(prompt, Person, max_new_tokens=60, describe=True)
        assert (each.asked[-1][name], found.is_complete) == (sent, True)
        client.stream(prompt, Person, max_new_tokens=60, describe="typescript").result  # noqa: B018
        assert each.asked[-1][name] == sent
        client.generate(prompt, Person, max_new_tokens=60)
        assert each.asked[-1][name] == prompt


def test_styles_and_patterns_and_requests_are_described(server):
    client = server.client(plugin=True)
    for what, style in ((Person, "example"), (re.compile("[A-C]{3}"), "typescript")):
        client.generate(["a", "b"], what, max_new_tokens=60, describe=style)
        told = cfgguide.describe(what, style).instruction
        prompts = {each["prompt"] for each in server.asked[-2:]}
        assert prompts == {f"{told}\n\na", f"{told}\n\nb"}
    client.generate("a", "cfgguide:regex\n[A-C]{3}", describe=True)
    assert "matches this regular expression" in server.asked[-1]["prompt"]
    with pytest.raises(GenerationError, match="style is 'yaml'"):
        client.generate("a", Person, describe="yaml")
    with pytest.raises(GenerationError, match="only the server knows what 'cfgguide:mine' is"):
        client.generate("a", "cfgguide:mine", describe=True)


def test_what_looks_like_a_special_token_is_broken(server):
    names = ["<|im_end|>", "</s>", "<bos>", "[/INST]", "<｜User｜>", "<<SYS>>", "<start_of_turn>"]
    schema = {"const": 1, "description": f"{' '.join(names)}; 1 < 2, a[0], [A-Z], {{x}}"}
    server.client(plugin=True).generate(CHAT, {"properties": {"a": schema}}, describe=True)
    told = server.asked[-1]["messages"][0]["content"]
    assert not [name for name in names if name in told]
    assert "< |im_end|> < /s> < bos> [ /INST]" in told
    assert "1 < 2, a[0], [A-Z], {x}" in told


def test_what_the_plug_in_refuses_is_our_error(server):
    with pytest.raises(GenerationError, match="no grammar is called 'mine'"):
        server.client().generate("a", "cfgguide:mine")


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (cfgguide.Grammar('start: "a"', max_ignored=2), "not its max_ignored"),
        (cfgguide.Grammar('start: "a"i', regex_flags=re.IGNORECASE), "not its regex_flags"),
        (cfgguide.Grammar('start: "a"\nb: "b"', start="b"), "beside a rule `start`"),
        (cfgguide.json_schema({"$ref": "x:"}, registry={"x:": True}), "has no registry"),
    ],
)
def test_what_no_request_can_say_is_an_error(server, what, message):
    with pytest.raises(GenerationError, match=message):
        server.client().generate("a", what)


def test_the_same_amid_other_tasks(server):
    async def both() -> Any:
        client = server.client()
        parts = [part async for part in client.astream("a", Person, max_new_tokens=60)]
        return parts, await client.agenerate("a", Person, max_new_tokens=60)

    parts, found = asyncio.run(both())
    assert "".join(part.text for part in parts) == found.text
    assert parts[-1].partial.value == found.parsed


def test_several_texts_amid_other_tasks(server):
    async def both() -> Any:
        client = server.client()
        options: Any = {"max_new_tokens": 60}
        batch = await client.agenerate(["a", "b"], Person, **options)
        return batch, await client.agenerate("a", Person, n=2, temperature=1.0, **options)

    client = server.client()
    batch, again = asyncio.run(both())
    assert [each.text for each in batch] == [
        each.text for each in client.generate(["a", "b"], Person, max_new_tokens=60)
    ]
    assert len(again) == 2
    assert {type(each.parsed) for each in again} == {Person}


@pytest.mark.parametrize("address", ["localhost:8000", 8000, ""])
def test_a_server_has_an_address(address):
    with pytest.raises(GenerationError, match="has an address such as"):
        cfgguide.client(address, "tiny")


def test_other_servers_are_asked_without_what_is_ours() -> None:
    class Stay(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(strict=True)
        nights: int
        length: datetime.timedelta
        code: Annotated[str, pydantic.Field(pattern="^[a-z]+$")]
        even: Annotated[int, pydantic.AfterValidator(lambda value: value)]

    with pytest.warns(SchemaWarning):
        schema = _for_others(json.loads(output_type(Stay).grammar.schema))
    properties = schema["properties"]
    assert properties["nights"] == {"title": "Nights", "type": "integer"}
    assert properties["length"] == {"title": "Length", "type": "string"}
    assert properties["code"]["pattern"] == "^[a-z]+$"
    assert "x-cfgguide" not in json.dumps(schema)
