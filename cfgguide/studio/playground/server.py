"""The server of the page: on the loopback only, and for its own page only.

In: requests. Out: the page's files, which were read when the server started, and answers of
:class:`~cfgguide.studio.playground.actions.Actions` as JSON.
:mod:`cfgguide.studio.playground.guarding` says which requests get one.
"""

from __future__ import annotations

import json
import os
import secrets
import select
import socket
import traceback
from collections.abc import Sequence
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any

import cfgguide
from cfgguide.errors import CfgGuideError
from cfgguide.studio.playground.actions import Actions
from cfgguide.studio.playground.guarding import HEADERS, refusal_of_call, refusal_of_origin

DEFAULT_PORT = 8321
ADDRESS = "127.0.0.1"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_SECONDS = 60.0  # that a connection may be silent
_MAX_DEPTH_MESSAGE = "the body is no object of JSON"


@cache
def page_files() -> dict[str, tuple[str, bytes]]:
    """Return the page's files by their paths in addresses: the type and the bytes of each.

    >>> sorted(page_files())[0]
    '/'
    """
    files = {}
    for entry in (resources.files("cfgguide.studio.playground") / "page").iterdir():
        kind = _TYPES.get("." + entry.name.rpartition(".")[2])
        if kind is not None:
            files["/" + entry.name] = kind, entry.read_bytes()
    return {"/": files["/index.html"], **files}


class PlaygroundServer(ThreadingHTTPServer):
    """Serves the page on this machine.

    Parameters
    ----------
    port : int
        The port; 0 for any that is free.
    tokenizers : sequence of str
        Folders, or files tokenizer.json, to choose from; or "smollm2".
    model : str, optional
        A folder, or "smollm2".

    Attributes
    ----------
    secret : str
        What the page sends with every call; a part of `url`.
    actions : Actions
        What it can ask for.

    Raises
    ------
    CfgGuideError
        If the port is in use, or may not be used.
    ModelError
        If the model cannot be loaded.

    Examples
    --------
    >>> with PlaygroundServer(0) as server:
    ...     server.url.startswith("http://127.0.0.1:")
    True
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(
        self, port: int = DEFAULT_PORT, tokenizers: Sequence[str] = (), model: str | None = None
    ) -> None:
        try:
            super().__init__((ADDRESS, port), _Handler)
        except (OSError, OverflowError) as error:
            raise CfgGuideError(
                f"port {port} cannot be used: {getattr(error, 'strerror', None) or error}; give "
                "another one with --port, or --port 0 for any that is free"
            ) from None
        try:
            self.secret = secrets.token_urlsafe(24)
            self.actions = Actions(tokenizers, model)
            page_files()
        except BaseException:
            self.server_close()
            raise

    @property
    def url(self) -> str:
        """The address of the page, with the secret."""
        return f"http://{ADDRESS}:{self.server_port}/?key={self.secret}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of pages that were closed in the midst of an answer."""


class _Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    server: PlaygroundServer
    protocol_version = "HTTP/1.1"
    server_version = f"cfgguide/{cfgguide.__version__}"
    sys_version = ""
    timeout = _SECONDS
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Send a file of the page."""
        if self._is_refused():
            return
        file = page_files().get(self.path.partition("?")[0])
        if file is None:
            self._send(404, {"error": {"code": "http", "message": "there is no such file"}})
        else:
            self._send_bytes(200, *file)

    def do_POST(self) -> None:
        """Answer a call."""
        if self._is_refused():
            return
        refusal = refusal_of_call(self.headers, self.server.secret)  # type: ignore[arg-type]
        if refusal is not None:
            self._refuse(refusal.status, refusal.message)
            return
        data = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            body = json.loads(data)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            self._refuse(400, _MAX_DEPTH_MESSAGE)
            return
        name = self.path.removeprefix("/api/")
        if not self.server.actions.has(name) or not self.path.startswith("/api/"):
            self._send(404, {"error": {"code": "http", "message": "there is no such call"}})
            return
        try:
            answer = self.server.actions.answer(name, body, self._has_left)
        except Exception as error:  # shown on the page, rather than waited for in vain
            frame = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{os.path.basename(frame.filename)}, line {frame.lineno}"
            said = f"an error inside of cfgguide ({where}): {type(error).__name__}: {error}"
            self._send(500, {"error": {"code": "internal", "message": said}})
            return
        self._send(200, answer)

    def log_message(self, format: str, *args: object) -> None:
        """Write no log."""

    def _is_refused(self) -> bool:
        refusal = refusal_of_origin(self.headers, self.server.server_port)  # type: ignore[arg-type]
        if refusal is not None:
            self._refuse(refusal.status, refusal.message)
        return refusal is not None

    def _refuse(self, status: int, message: str) -> None:
        """Refuse a request, and close the connection: its body is not read."""
        self.close_connection = True
        self._send(status, {"error": {"code": "http", "message": message}})

    def _send(self, status: int, answer: object) -> None:
        data = json.dumps(answer, separators=(",", ":")).encode()
        self._send_bytes(status, "application/json", data)

    def _send_bytes(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        if self.close_connection:
            self.send_header("Connection", "close")
        for name, value in HEADERS.items():
            self.send_header(name, value)
        # One write for all: two would wait for each other's acknowledgement.
        self._headers_buffer.append(b"\r\n" + data)  # type: ignore[attr-defined]
        self.flush_headers()

    def _has_left(self) -> bool:
        """Return whether the other side has closed the connection."""
        try:
            readable, _, _ = select.select([self.connection], [], [], 0)
            return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)
        except (OSError, ValueError):
            return True
