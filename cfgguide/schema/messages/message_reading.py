"""A message that is being written, as a value.

In: how messages are read (:class:`~cfgguide.schema.messages.message.MessageReading`), and the text
piece by piece. Out: at any time the thinking, the text and the calls so far. ::

    <think>We nee                            thinking "We nee"
    I look. <tool_                           content "I look. ", the rest may begin a call
    <tool_call>⏎{"name": "f", "arg           the same: no call has a name yet
    ... "arguments": {"city": "Ro            a call of f, with {"city": "Ro"} so far

What may be the beginning of a tag is kept back until that is certain.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from cfgguide.engine.machine.partial import Partial, Path, Reading, n_kept, until
from cfgguide.engine.machine.protocol import AnyMachine
from cfgguide.schema.json_reading import NOTHING, is_listed
from cfgguide.schema.messages.formats import FORMATS
from cfgguide.schema.messages.message import ArgumentsReading, Message, MessageReading, ToolCall

_MAX_HEAD = 400  # characters of what stands before the arguments of a call
# The parts of a message in Harmony, beside its calls.
_CHANNEL = re.compile(r"<\|channel\|>(analysis|final|commentary)<\|message\|>")
_ENDS = {"analysis": "<|end|>", "final": "<|", "commentary": "<|"}
_LINES = "\n"


class ThinkingReading:
    """Reads a text that begins with thinking, and then what comes after it.

    Parameters
    ----------
    opening, closing : str
        What stands around the thinking.
    answer : Reading
        Reads what comes after it.
    """

    def __init__(self, opening: str, closing: str, answer: Reading) -> None:
        self._opening = opening
        self._closing = closing
        self._answer = answer
        self._pending = ""  # what may belong to the opening, the closing, or the lines after it
        self._thoughts: list[str] = []
        self._state = "opening" if opening else "thinking"

    def feed(self, piece: str) -> None:
        """Read a piece."""
        if self._state == "answer":
            self._answer.feed(piece)
            return
        self._pending += piece
        if self._state == "opening":
            if self._opening.startswith(self._pending):
                return
            is_there = self._pending.startswith(self._opening)
            self._pending = self._pending.removeprefix(self._opening)
            self._state = "thinking" if is_there else "answer"
        if self._state == "thinking":
            thought, self._pending, is_over = until(self._pending, self._closing)
            self._thoughts.append(thought)
            self._state = "lines" if is_over else "thinking"
        if self._state == "lines":
            self._pending = self._pending.lstrip(_LINES)
            self._state = "answer" if self._pending else "lines"
        if self._state == "answer":
            self._answer.feed(self._pending)
            self._pending = ""

    def partial(self, machine: AnyMachine, configuration: Any) -> Partial[Any]:
        """Return the value so far."""
        self._thoughts = ["".join(self._thoughts)]
        thoughts = self._thoughts[0].strip(_LINES)
        found = self._answer.partial(machine, configuration)
        if self._state in ("opening", "thinking"):
            value = Message(thinking=thoughts) if isinstance(found.value, Message) else None
            return Partial(value, ("thinking",), {}, thinking=thoughts)
        if not isinstance(found.value, Message):
            return replace(found, thinking=thoughts)
        value = replace(found.value, thinking=thoughts)
        return Partial(value, found.growing, {**found.read, "thinking": thoughts}, thoughts)


class MessageSoFar:
    """Reads a message without thinking before it.

    Parameters
    ----------
    reading : MessageReading
        How it is read as a whole.
    """

    def __init__(self, reading: MessageReading) -> None:
        form = None if reading.format is None else FORMATS[reading.format]
        self._form = form
        self._reading = reading
        self._pending = ""  # that is not read yet: it may begin a call
        self._content: list[str] = []
        self._thoughts: list[str] = []
        self._calls: list[tuple[str, ArgumentsReading]] = []
        has_blocks = form is not None and form.has_thinking
        self._block = "" if has_blocks else "text"  # that is being read

    def feed(self, piece: str) -> None:
        """Read a piece."""
        self._pending += piece
        while self._pending and self._step():
            pass

    def _step(self) -> bool:
        """Read what has come as one part; return whether another may follow."""
        form = self._form
        if form is None:
            self._content.append(self._pending)
            self._pending = ""
            return False
        if self._block == "call":
            n_read = self._calls[-1][1].read(self._pending)
            self._pending = self._pending[n_read:]
            self._block = "" if self._calls[-1][1].value is not NOTHING else "call"
            return self._block == ""
        if self._block in _ENDS:
            return self._read_block(_ENDS[self._block])
        call = form.call.search(self._pending)
        other = _CHANNEL.search(self._pending) if form.has_thinking else None
        first = min((m for m in (call, other) if m), key=re.Match.start, default=None)
        if first is None:
            self._keep_back(n_kept(self._pending, form.openings, _MAX_HEAD))
            return False
        self._keep_back(len(self._pending) - first.start())
        self._pending = self._pending[first.end() - first.start() :]
        if first is call:
            self._calls.append((first[1], self._reading.arguments(first[1])))
            self._block = "call"
        else:
            self._block = first[1]
        return True

    def _keep_back(self, n: int) -> None:
        """Take what comes before the last characters for content, where that may stand."""
        n_read = len(self._pending) - n
        if self._block == "text":
            self._content.append(self._pending[:n_read])
        self._pending = self._pending[n_read:]

    def _read_block(self, end: str) -> bool:
        text, rest, is_over = until(self._pending, end)
        (self._thoughts if self._block == "analysis" else self._content).append(text)
        # The next part may begin with the mark that ends this one.
        self._pending = end + rest if is_over else rest
        self._block = "" if is_over else self._block
        return is_over

    def partial(self, machine: AnyMachine, configuration: Any) -> Partial[Message]:
        """Return the message so far."""
        self._content, self._thoughts = ["".join(self._content)], ["".join(self._thoughts)]
        calls: list[ToolCall[Any]] = []
        growing = self._growing()
        for number, (name, reading) in enumerate(self._calls):
            is_last = growing[:2] == ("calls", number)
            read = reading.so_far(is_listed=is_last and is_listed(machine, configuration))
            calls.append(ToolCall(name, {} if read is NOTHING else read))
        message = Message(self._content[0], calls, self._thoughts[0])
        # Text and thinking are known to be whole when calls have begun.
        read = {**asdict(message)} if calls else {}
        return Partial(message, growing, read, thinking=message.thinking)

    def _growing(self) -> Path:
        if self._block == "call":
            inside = self._calls[-1][1].growing
            assert inside is not None, "else the call had ended"
            return ("calls", len(self._calls) - 1, "arguments", *inside)
        if self._block == "analysis":
            return ("thinking",)
        if self._block:
            return ("content",)
        return ("calls",) if self._calls else ()


def message_reader(reading: MessageReading, answer: Callable[[], Reading] | None) -> Reading:
    """Return what reads a message as it is written.

    Parameters
    ----------
    reading : MessageReading
        How messages are read.
    answer : callable, optional
        Begins to read what comes after the thinking; by default the rest of a message.
    """
    inner: Reading = MessageSoFar(reading) if answer is None else answer()
    if not reading.closing:
        return inner
    return ThinkingReading(reading.opening, reading.closing, inner)
