r"""What commands print: lines for people or one JSON document, with colours and progress.

In: the results of a command. Out: standard output and standard error. Lines go to a terminal in
colours, and without the terminal controls that a user's text may hold. ::

    say("a", good("b"))     for people, on standard output: nothing with `--json`
    document({...})         for programs: nothing without `--json`
    note("...")             standard error
    working("loading")      a line on standard error, if it takes more than a second
"""

from __future__ import annotations

import base64
import json
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import IO, Any, NamedTuple

_SHOWN_AFTER = 1.0  # seconds
_MAX_SHOWN = 60  # characters of what is being done: a line of most terminals
# All but tabs and line breaks: controls, what turns the direction of writing, lone surrogates.
_CONTROLS = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)"
)


class Painted(NamedTuple):
    """A text in a colour: the number of ECMA-48's "select graphic rendition"."""

    text: str
    colour: int


def good(text: str) -> Painted:
    """Return a text in green."""
    return Painted(text, 32)


def bad(text: str) -> Painted:
    """Return a text in red."""
    return Painted(text, 31)


def doubtful(text: str) -> Painted:
    """Return a text in yellow."""
    return Painted(text, 33)


def name(text: str) -> Painted:
    """Return a text in cyan."""
    return Painted(text, 36)


def harmless(text: str) -> str:
    r"""Return a text without terminal controls: they are spelled out.

    >>> print(harmless("a\x1b[31mb"))
    a\x1b[31mb
    """
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def is_terminal(stream: IO[str] | None) -> bool:
    """Return whether a stream is a terminal."""
    return stream is not None and not stream.closed and stream.isatty()


def has_colours(stream: IO[str] | None) -> bool:
    """Return whether colours go to a stream; the order is that of Python's own tracebacks."""
    known = os.environ
    if known.get("NO_COLOR"):
        return False
    if any(known.get(key, "0") not in ("", "0") for key in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    if known.get("TERM") == "dumb" or known.get("CLICOLOR") == "0":
        return False
    if os.name == "nt" and not {"WT_SESSION", "ANSICON", "TERM"} & known.keys():
        return False  # an old console may show the codes themselves
    return is_terminal(stream)


def rendered(pieces: tuple[str | Painted, ...], stream: IO[str] | None) -> str:
    """Return pieces as a stream is to get them."""
    in_colours = has_colours(stream)
    found = []
    for piece in pieces:
        text = harmless(piece.text if isinstance(piece, Painted) else piece)
        is_painted = in_colours and isinstance(piece, Painted) and text != ""
        found.append(f"\x1b[{piece.colour}m{text}\x1b[0m" if is_painted else text)  # type: ignore[union-attr]
    return "".join(found)


@dataclass(frozen=True)
class Output:
    """Where a command prints.

    Parameters
    ----------
    is_json : bool
        Whether standard output gets one JSON document, and nothing else.
    is_quiet : bool
        Whether progress and warnings are left out.
    """

    is_json: bool = False
    is_quiet: bool = False

    @property
    def progress(self) -> bool | None:
        """What functions with an argument `progress` get; None stands for a terminal only."""
        return False if self.is_quiet else None

    @property
    def has_progress(self) -> bool:
        """Whether progress is shown."""
        return not self.is_quiet and is_terminal(sys.stderr)

    def say(self, *pieces: str | Painted, end: str = "\n") -> None:
        """Print a line for people."""
        if not self.is_json:
            print(rendered(pieces, sys.stdout), end=end)

    def data(self, text: str, *, end: str = "\n") -> None:
        """Print, at once, a text that is the result itself: exact, but not on a terminal."""
        if not self.is_json:
            shown = harmless(text) if is_terminal(sys.stdout) else text
            print(shown, end=end, flush=True)

    def note(self, *pieces: str | Painted) -> None:
        """Print a line for people on standard error."""
        if not self.is_json:
            print(rendered(pieces, sys.stderr), file=sys.stderr)

    def document(self, value: Mapping[str, object]) -> None:
        """Print the JSON document."""
        if self.is_json:
            print(as_json(value, indent=2))

    def error(self, code: str, message: str, *, prefix: str = "cfgguide: ") -> None:
        """Print why a command cannot go on: a line for people, or a JSON object."""
        if self.is_json:
            print(as_json({"error": {"code": code, "message": message}}), file=sys.stderr)
        else:
            print(rendered((prefix, message), sys.stderr), file=sys.stderr)

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Say what a ``with`` block is doing, on a terminal and after a second."""
        if not self.has_progress:
            yield
            return
        is_over = threading.Event()

        def show() -> None:
            shown, n = "", 1
            while not is_over.wait(_SHOWN_AFTER):
                shown = f"{what[:_MAX_SHOWN]} [{n} s]"
                print(f"\r{shown}", end="", file=sys.stderr, flush=True)
                n += 1
            if shown:
                print(f"\r{' ' * len(shown)}\r", end="", file=sys.stderr, flush=True)

        thread = threading.Thread(target=show, daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()


def as_json(value: object, *, indent: int | None = None) -> str:
    r"""Return a value as JSON in ASCII.

    Bytes are an object, as in ripgrep's output: their text, or base64 where they are not UTF-8.

    >>> as_json({"a": b"x", "b": b"\xff"})
    '{"a": {"text": "x"}, "b": {"bytes": "/w=="}}'
    """
    return json.dumps(_plain(value), indent=indent)


def _plain(value: object) -> Any:
    """Return a value in the types of JSON."""
    if isinstance(value, bytes):
        try:
            return {"text": value.decode()}
        except UnicodeDecodeError:
            return {"bytes": base64.b64encode(value).decode()}
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return value.value if isinstance(value, Enum) else value
