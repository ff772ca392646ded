"""A server of the playground in a thread, and what calls it as its page does."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from cfgguide.studio.playground.server import PlaygroundServer


class Client:
    """Sends requests to a server, with headers that a test may change."""

    def __init__(self, server: PlaygroundServer) -> None:
        self.server = server
        self.port = server.server_port

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            given = {"Host": f"127.0.0.1:{self.port}"} | (headers or {})
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                connection.putheader(name, value)
            if body is not None and "Content-Length" not in given:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        finally:
            connection.close()

    def call_as(
        self, name: str, body: object, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        own = {"Content-Type": "application/json", "X-Playground-Key": self.server.secret}
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        status, _, answer = self.request("POST", f"/api/{name}", data, own | (headers or {}))
        return status, json.loads(answer)

    def call(self, name: str, tab: str = "a", **body: object) -> Any:
        status, answer = self.call_as(name, {"tab": tab, **body})
        assert status == 200, answer
        return answer

    def compile(self, text: str, tab: str = "a", tokenizer: str = "bytes", **body: object) -> Any:
        return self.call("compile", tab, text=text, tokenizer=tokenizer, **body)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with PlaygroundServer(0, ["/no/such/folder"]) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield Client(server)
        server.actions.end()
        server.shutdown()
        thread.join()
