"""Which requests the server answers: those of its own page, and nobody else's.

In: the headers of a request. Out: None, or why it is refused. Any page on the web can send requests
to a port of this machine, so a request needs more than to arrive:

* it names this server as its host, by a name of the loopback (a page whose own name was made to
  point here, by rebinding, has another name);
* if the browser says where it comes from, that is here;
* if it calls the engine, it has the secret of this session, as JSON in a body of bounded size.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import NamedTuple

#: The header with the secret: a page of another origin cannot set it without asking first.
SECRET_HEADER = "X-Playground-Key"
MAX_BODY = 1_000_000  # bytes of a request
_NAMES = ("127.0.0.1", "localhost")
_OWN_SITES = ("same-origin", "none")  # `none`: typed into the address bar

#: What every answer says: nothing but this server's own files, and pictures drawn by it.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Refusal(NamedTuple):
    """Why a request is refused: a status of HTTP, and a sentence."""

    status: int
    message: str


def refusal_of_origin(headers: Mapping[str, str], port: int) -> Refusal | None:
    """Return why a request is refused for where it comes from, or None.

    Parameters
    ----------
    headers : mapping of str to str
        Of the request.
    port : int
        The server's.

    Examples
    --------
    >>> refusal_of_origin({"Host": "127.0.0.1:8321"}, 8321) is None
    True
    >>> refusal_of_origin({"Host": "playground.example:8321"}, 8321).status
    421
    >>> refusal_of_origin({"Host": "localhost:8321", "Origin": "http://other.example"}, 8321).status
    403
    """
    hosts = {f"{name}:{port}" for name in _NAMES}
    if headers.get("Host") not in hosts:
        return Refusal(421, f"this server answers to {' and '.join(sorted(hosts))} only")
    origin = headers.get("Origin")
    if origin is not None and origin not in {f"http://{host}" for host in hosts}:
        return Refusal(403, "requests of other pages are refused (Origin)")
    site = headers.get("Sec-Fetch-Site")
    if site is not None and site not in _OWN_SITES:
        return Refusal(403, "requests of other pages are refused (Sec-Fetch-Site)")
    return None


def refusal_of_call(headers: Mapping[str, str], secret: str) -> Refusal | None:
    """Return why a call of the engine is refused, or None.

    Examples
    --------
    >>> refusal_of_call({}, "secret").status
    403
    >>> call = {SECRET_HEADER: "secret", "Content-Type": "application/json", "Content-Length": "2"}
    >>> refusal_of_call(call, "secret") is None
    True
    >>> refusal_of_call(call | {"Content-Length": "1000001"}, "secret").status
    413
    """
    given = headers.get(SECRET_HEADER) or ""
    if not hmac.compare_digest(given.encode(), secret.encode()):
        return Refusal(
            403,
            "this address is of another session; open the one that `cfgguide playground` printed",
        )
    if (headers.get("Content-Type") or "").partition(";")[0].strip() != "application/json":
        return Refusal(415, "a call has a body of JSON")
    length = headers.get("Content-Length") or ""
    if "Transfer-Encoding" in headers or not (length.isascii() and length.isdecimal()):
        return Refusal(411, "a call says how long its body is")
    if len(length) > len(str(MAX_BODY)) or int(length) > MAX_BODY:
        return Refusal(413, f"the body of a call has at most {MAX_BODY:,} bytes")
    return None
