"""Who asks over HTTP, and what the head of the answer tells of the request.

In: calls of an ASGI application. Out: the same calls, of which :func:`current` tells those who
compile who asks, and the answer's header field ::

    cfgguide-left-out: [["/maxlength", "it is no keyword; did you mean 'maxLength'?"]]

a JSON array of what is not enforced: the path of each part of the schema, and why. The head of a
stream is sent with its first part, since an engine begins to compile after it has begun to answer.
So a stream that is refused has a status of HTTP, as other answers have: what would be ::

    HTTP 200    data: {"error": {"message": ..., "code": 400}}    data: [DONE]

is HTTP 400 with that object, and where it is to come again, HTTP 429 with `Retry-After`.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from cfgguide.models.serving.isolation import LeftOut
from cfgguide.models.serving.lanes import BusyError

ADDRESS = "address"
LEFT_OUT = b"cfgguide-left-out"
_MAX_CLIENT = 200  # characters
_DATA, _ERROR = b"data: ", b'data: {"error"'  # of an event of a stream
_TOO_MANY = 429

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]


@dataclass
class Call:
    """A call.

    Attributes
    ----------
    client : str
        Who asks.
    is_guided : bool
        Whether it asks for a text that is guided, so that `left_out` may come.
    left_out : tuple of (str, str)
        What is not enforced of it.
    """

    client: str
    is_guided: bool = False
    left_out: LeftOut = ()

    def headers(self) -> list[tuple[bytes, bytes]]:
        """Return what the head of the answer has beside the rest."""
        return [(LEFT_OUT, json.dumps(self.left_out).encode())] if self.left_out else []


_CALL: ContextVar[Call | None] = ContextVar("call", default=None)


def current() -> Call:
    """Return the call that the running task answers; one of nobody's if there is none."""
    return _CALL.get() or Call("")


class Calls:
    """An ASGI application around another one.

    Parameters
    ----------
    app : callable
        The other one.
    told_apart_by : str
        What clients are told apart by: their `address`, or the name of a header of their requests.
    """

    def __init__(self, app: Application, told_apart_by: str = ADDRESS) -> None:
        self._app = app
        self._header = None if told_apart_by == ADDRESS else told_apart_by.lower().encode()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a call."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        call = Call(self._client_of(scope))
        waiting: list[Message] = []
        is_refused = False

        async def send_told(message: Message) -> None:
            nonlocal is_refused
            if is_refused:
                return  # what is left of a stream that has become another answer
            if waiting and (refused := _refusal(message)) is not None:
                is_refused = True
                waiting.clear()
                for each in refused:
                    await send(each)
                return
            if message["type"] == "http.response.start":
                waiting.append(message)
                if call.is_guided and _is_stream(message):
                    return
            for head in waiting:
                headers = [*head.get("headers", ()), *call.headers()]
                await send({**head, "headers": headers})
            if message not in waiting:
                await send(message)
            waiting.clear()

        before = _CALL.set(call)
        try:
            await self._app(scope, receive, send_told)
        finally:
            _CALL.reset(before)

    def _client_of(self, scope: Message) -> str:
        """Return who asks: what the header says, or the address where there is none."""
        for name, value in scope.get("headers", ()):
            if name == self._header:
                return f"{value.decode('latin-1')[:_MAX_CLIENT]}"
        address, *_ = scope.get("client") or ("",)
        return f"{address}"


def _refusal(first: Message) -> list[Message] | None:
    """Return the answer instead of a stream that begins with an error, by its first part."""
    body = first.get("body", b"")
    if not body.startswith(_ERROR):
        return None
    event, _, _ = body[len(_DATA) :].partition(b"\n")
    try:
        code = json.loads(event)["error"]["code"]
    except (ValueError, TypeError, KeyError):
        return None
    if not isinstance(code, int) or not 400 <= code < 600:
        return None
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(event))]
    headers += [(b"retry-after", b"%d" % BusyError.retry_after)] if code == _TOO_MANY else []
    return [
        {"type": "http.response.start", "status": code, "headers": headers},
        {"type": "http.response.body", "body": event},
    ]


def _is_stream(head: Message) -> bool:
    found = dict(head.get("headers", ())).get(b"content-type", b"")
    return bool(found.startswith(b"text/event-stream"))
