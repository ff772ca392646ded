"""What a model has written, as a value.

In: the text of a message, and how it is read. Out: a :class:`Message`: its thinking, its text, and
the calls of tools in it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from cfgguide.errors import GenerationError
from cfgguide.schema.json_reading import JsonReading
from cfgguide.schema.messages.formats import FORMATS
from cfgguide.schema.messages.pair_values import STYLES, ObjectReading, PairReading

R = TypeVar("R", covariant=True)
ArgumentsReading = JsonReading | PairReading | ObjectReading


@dataclass(frozen=True)
class ToolCall(Generic[R]):
    """A call of a tool, which returns an R if it is a function.

    Attributes
    ----------
    name : str
        The name of the tool.
    arguments : dict
        What it is called with.
    """

    name: str
    arguments: Any
    _function: Callable[..., R] | None = field(default=None, repr=False, compare=False)

    def call(self) -> R:
        """Call the function that was given as the tool, and return what it returns.

        Raises
        ------
        GenerationError
            If the tool was no function.
        """
        if self._function is None:
            raise GenerationError(f"{self.name} is no function: give the function as the tool")
        return self._function(**self.arguments)


@dataclass(frozen=True)
class Message:
    """What a model has written.

    Attributes
    ----------
    content : str
        The text that is for the user.
    calls : list of ToolCall
        The calls, in their order.
    thinking : str
        The thinking before.
    """

    content: str = ""
    calls: list[ToolCall[Any]] = field(default_factory=list)
    thinking: str = ""


class MessageReading(NamedTuple):
    """How a message is read.

    Attributes
    ----------
    format : str or None
        The name of the format of its calls (:data:`~cfgguide.schema.messages.formats.FORMATS`).
    opening, closing : str
        What stands around its thinking; empty if there is none.
    answer : str
        What comes after the thinking, if it has a value of its own: "json" or "text".
    types : str
        The types of each argument of each tool, as JSON, if arguments are no JSON.
    functions : tuple of callable
        The tools that are functions: their calls can be run. They are no part of the language, so
        grammars that differ in nothing else are equal, and share an index.
    """

    format: str | None = None
    opening: str = ""
    closing: str = ""
    answer: str = ""
    types: str = ""
    functions: tuple[Callable[..., Any], ...] = ()

    @property
    def key(self) -> tuple[Any, ...]:
        """All but the functions: what is compared, and what a file can hold."""
        return self[:-1]

    def arguments(self, name: str) -> ArgumentsReading:
        """Return what reads the arguments of a call of a tool."""
        form = None if self.format is None else FORMATS[self.format]
        if form is None or form.style is None:
            return JsonReading()
        style, types = STYLES[form.style], json.loads(self.types or "{}").get(name, {})
        return (ObjectReading if style.quote else PairReading)(style, types)

    def split(self, text: str) -> tuple[str, str]:
        """Return the thinking before a message, and the message."""
        # A message without thinking may have its closing tag in a text.
        if not self.closing or self.closing not in text or not text.startswith(self.opening):
            return "", text
        thoughts, _, text = text.partition(self.closing)
        return thoughts.removeprefix(self.opening).strip("\n"), text.lstrip("\n")

    def parse(self, text: str) -> Message:
        """Return the message of a text; raises a ValueError if JSON in it cannot be read."""
        thoughts, text = self.split(text)
        if self.format is None:
            return Message(text, [], thoughts)
        form = FORMATS[self.format]
        calls: list[ToolCall[Any]] = []
        decoder, end = json.JSONDecoder(), 0
        begin = None  # of the first call
        while (found := form.call.search(text, end)) is not None:
            begin = found.start() if begin is None else begin
            end = found.end()
            if form.style is None:
                arguments, end = decoder.raw_decode(text, end)
            else:
                pairs = self.arguments(found[1])
                end += pairs.read(text[end:])
                arguments = pairs.so_far()
            calls.append(ToolCall(found[1], arguments))
        content = text[:begin]
        if form.content is not None:
            content = "".join(form.content.findall(text))
        if form.thinking is not None:
            thoughts = "".join(form.thinking.findall(text))
        return Message(content, calls, thoughts)
