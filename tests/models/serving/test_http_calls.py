"""Who asks over HTTP is known where it is compiled, and the head of the answer has what is told."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from cfgguide.models.serving.http_calls import ADDRESS, Calls, current

LEFT_OUT = (("/requird", "it is no keyword; did you mean 'required'?"), ("/é\r\nx: 1", "no"))
HEAD = {"type": "http.response.start", "status": 200}


async def nothing() -> Any:
    raise AssertionError("no body is read")


def called(answer: Any, *, by: str = ADDRESS, **scope: Any) -> list[Any]:
    """What a client gets of an application that answers so."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        async def task() -> None:  # a copy of the context
            await answer(send, sent)

        await asyncio.create_task(task())

    found = {"type": "http", "client": ("10.0.0.1", 5), "headers": [], **scope}
    asyncio.run(Calls(app, told_apart_by=by)(found, nothing, send))
    return sent


def told(head: Any) -> Any:
    (said,) = (value for name, value in head["headers"] if name == b"cfgguide-left-out")
    assert said.isascii()
    assert b"\n" not in said
    return tuple(map(tuple, json.loads(said)))


@pytest.mark.parametrize("kind", [b"application/json", b"text/event-stream; charset=utf-8"])
def test_the_head_has_what_is_left_out_of_a_stream_too(kind):
    async def answer(send: Any, sent: list[Any]) -> None:
        is_stream = kind.startswith(b"text")
        current().is_guided = True
        if not is_stream:
            current().left_out = LEFT_OUT
        await send({**HEAD, "headers": [(b"content-type", kind)]})
        assert bool(sent) != is_stream
        current().left_out = LEFT_OUT
        for part in (b"a", b"b"):
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    head, *parts = called(answer)
    assert told(head) == LEFT_OUT
    assert head["headers"][0] == (b"content-type", kind)
    assert [each["body"] for each in parts] == [b"a", b"b", b""]


@pytest.mark.parametrize(("code", "more"), [(400, {}), (429, {b"retry-after": b"5"}), (503, {})])
def test_a_guided_stream_that_is_refused_has_a_status(code, more):
    error = {"error": {"message": "no grammar is called 'pyton'", "code": code}}

    async def answer(send: Any, sent: list[Any]) -> None:
        current().is_guided = True
        await send({**HEAD, "headers": [(b"content-type", b"text/event-stream")]})
        for part in (f"data: {json.dumps(error)}\n\n", "data: [DONE]\n\n", ""):
            await send({"type": "http.response.body", "body": part.encode(), "more_body": True})

    head, body = called(answer)
    assert head["status"] == code
    assert json.loads(body["body"]) == error
    assert not body.get("more_body")
    length = b"%d" % len(body["body"])
    headers = {b"content-type": b"application/json", b"content-length": length, **more}
    assert dict(head["headers"]) == headers


@pytest.mark.parametrize(
    "event",
    [
        b'data: {"error": 1}',
        b'data: {"error": {"code": 200}}',
        b'data: {"error',
        b'data: {"id": 1}',
    ],
)
def test_a_stream_that_begins_otherwise_is_one(event):
    async def answer(send: Any, sent: list[Any]) -> None:
        current().is_guided = True
        await send({**HEAD, "headers": [(b"content-type", b"text/event-stream")]})
        await send({"type": "http.response.body", "body": event})

    head, body = called(answer)
    assert (head["status"], body["body"]) == (200, event)


def test_other_answers_are_as_they_were_and_do_not_wait():
    kind = (b"content-type", b"text/event-stream")

    async def answer(send: Any, sent: list[Any]) -> None:
        await send({**HEAD, "headers": [kind]})
        assert sent == [{**HEAD, "headers": [kind]}]

    assert len(called(answer)) == 1


@pytest.mark.parametrize(
    ("by", "scope", "client"),
    [
        (ADDRESS, {}, "10.0.0.1"),
        (ADDRESS, {"headers": [(b"authorization", b"Bearer a")]}, "10.0.0.1"),
        (ADDRESS, {"client": None}, ""),
        ("Authorization", {"headers": [(b"authorization", b"Bearer a")]}, "Bearer a"),
        ("authorization", {}, "10.0.0.1"),
        ("x-user", {"headers": [(b"x-user", b"9" * 1000)]}, "9" * 200),
    ],
)
def test_who_asks_is_known(by, scope, client):
    found: list[str] = []

    async def answer(send: Any, sent: list[Any]) -> None:
        found.append(current().client)

    called(answer, by=by, **scope)
    assert found == [client]
    assert current().client == ""


def test_what_is_no_http_is_left_alone():
    async def answer(send: Any, sent: list[Any]) -> None:
        await send({"type": "lifespan.startup.complete"})

    assert called(answer, type="lifespan") == [{"type": "lifespan.startup.complete"}]
