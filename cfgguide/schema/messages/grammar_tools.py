r"""Tools with arguments that are sentences of a grammar, such as SQL.

In: the parts of a message (:mod:`cfgguide.schema.messages.parts`), in which arguments are parts of
:mod:`cfgguide.combinators`. Out: a :class:`ToolGrammar`, whose texts are in Lark's language::

    <tool_call>\n{"name": "run", "arguments": {"query": "SELECT \"a\" FROM t"}}\n</tool_call>

Lark judges all of it, JSON Schemas too, so their arguments are written as Lark's grammars.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from typing import Any

from cfgguide.automata.pattern_notations import without_head
from cfgguide.engine.machine.partial import Reading
from cfgguide.errors import GrammarError, SchemaError, shown
from cfgguide.grammar.combinators.escaping import json_string
from cfgguide.grammar.combinators.parts import Composed
from cfgguide.grammar.combinators.patterns import regex
from cfgguide.grammar.combinators.sequence import (
    concat,
    either,
    free_text,
    optional,
    repeat,
    special,
)
from cfgguide.grammar.combinators.writer import text_of
from cfgguide.grammar.grammar import Grammar
from cfgguide.schema.functions import bound
from cfgguide.schema.json_schema import schema_with_warnings
from cfgguide.schema.messages.formats import Tag
from cfgguide.schema.messages.message import Message, MessageReading
from cfgguide.schema.messages.message_reading import message_reader
from cfgguide.schema.messages.parts import (
    AnyText,
    Choice,
    Exact,
    Part,
    Pattern,
    Repeat,
    Sentence,
    Sequence,
    Token,
    Value,
)
from cfgguide.schema.messages.structural_tag import TagReader

ValueGrammar = Callable[[str], Grammar]


class ToolGrammar(Composed):
    """A grammar of messages that may call tools with sentences of grammars.

    Its text is that for a vocabulary without special tokens.

    Parameters
    ----------
    message : Part
        The message.
    reading : MessageReading
        How messages are read.
    options : tuple of (str, object)
        How the schemas in it are read.
    """

    message: Part
    reading: MessageReading
    options: tuple[tuple[str, Any], ...]

    def __init__(
        self, message: Part, reading: MessageReading, options: tuple[tuple[str, Any], ...]
    ) -> None:
        super().__init__(composed(message, (), partial(grammar_of_schema, options)).part, text_of)
        vars(self).update(message=message, reading=reading, options=options)

    def _key(self) -> Hashable:
        return (self.message, self.reading.key, self.options)

    def parse(self, text: str) -> Message:
        """Return the message of a text; raises a ValueError if JSON in it cannot be read."""
        return bound(self.reading.parse(text), self.reading.functions)

    def reader(self) -> Reading:
        """Return what reads a message as it is written."""
        return message_reader(self.reading, None)

    def for_tokens(self, special_tokens: Mapping[str, int]) -> Composed:
        """Return the grammar for a vocabulary in which some names are those of tokens."""
        value = partial(grammar_of_schema, self.options)
        return composed(self.message, special_tokens, value)


def tool_grammar(
    tag: Tag, reading: MessageReading, options: tuple[tuple[str, Any], ...]
) -> ToolGrammar:
    """Return the grammar of messages in which some arguments are parts of a grammar.

    Parameters
    ----------
    tag : dict
        The structural tag of messages; arguments that are parts have the type ``sentence``.
    reading : MessageReading
        How messages are read.
    options : tuple of (str, object)
        The options of :func:`cfgguide.json_schema`.

    Raises
    ------
    SchemaError, GrammarError
        If Lark could not tell parts of the message apart, or there is a limit on some text.
    """
    made = ToolGrammar(_Reader().message(tag), reading, options)
    made.text  # noqa: B018  # what cannot be written is refused here
    return made


def arguments(parameters: Mapping[str, Any], options: tuple[tuple[str, Any], ...]) -> Tag:
    """Return the format of arguments, some of which are sentences of grammars.

    All of them are there, in their order, with the separators of ``json.dumps``: white space around
    a value would not be told from that around the call.

    Raises
    ------
    SchemaError
        If the parameters are not an object with properties and nothing else.
    """
    odd = set(parameters) - {"type", "properties", "required", "description", "title"}
    odd -= {"additionalProperties"} if parameters.get("additionalProperties") is False else set()
    properties = parameters["properties"]
    required = parameters.get("required", [*properties])
    if odd or sorted(required) != sorted(properties):
        raise SchemaError(
            "where a property is a grammar, the parameters of a tool have properties, all of which "
            f"are required, and no other condition; these have {shown(sorted(odd) or required)}"
        )
    pieces: list[str | Grammar] = []
    for number, (name, each) in enumerate(properties.items()):
        pieces.append(f"{', ' if number else '{'}{json.dumps(name, ensure_ascii=False)}: ")
        pieces.append(
            json_string(each)
            if isinstance(each, Grammar)
            else grammar_of_schema(options, json.dumps(each))
        )
    return {"type": "sentence", "part": concat(*pieces, "}")}


def has_grammar(parameters: object) -> bool:
    """Return whether a property of some parameters is a grammar."""
    properties = parameters.get("properties") if isinstance(parameters, Mapping) else None
    return isinstance(properties, Mapping) and any(
        isinstance(each, Grammar) for each in properties.values()
    )


class _Reader(TagReader):
    """Reads structural tags in which arguments may be parts of a grammar."""

    def part(self, spec: object, path: str = "") -> Part:
        """Return the part of a format."""
        if isinstance(spec, Mapping) and spec.get("type") == "sentence":
            return Sentence(spec["part"])
        return super().part(spec, path)


def grammar_of_schema(options: Iterable[tuple[str, Any]], schema: str) -> Grammar:
    """Return the grammar of a schema, as JSON, by the options of :func:`cfgguide.json_schema`."""
    return schema_with_warnings(schema, **dict(options))


# --- Messages as grammars of parts ---------------------------------------------------------------


def composed(part: Part, names: Iterable[str], value: ValueGrammar) -> Composed:
    """Return the grammar of a part of a message, in which some names are those of tokens."""
    below = partial(composed, names=names, value=value)
    match part:
        case Exact():
            return _exact(part.text, names)
        case Token():
            return special(part.token)
        case AnyText():
            if part.max_tokens is not None:
                raise SchemaError("tokens of a text are not counted where a tool has a grammar")
            return free_text(without=part.excludes) if part.excludes else free_text()
        case Pattern():
            pattern = without_head(part.pattern)
            return regex(pattern, tidy=pattern != part.pattern)
        case Value():
            return concat(value(part.schema))
        case Sentence():
            return concat(part.grammar)
        case Sequence():
            return concat(*map(below, part.parts))
        case Choice():
            return _choice(part, below)
        case Repeat():
            return _repeat(below(part.part), part.least, part.most)
    raise GrammarError(f"a message has no part {shown(part)}")


def _exact(text: str, names: Iterable[str]) -> Composed:
    """Return the grammar of a text in which some names are those of tokens."""
    known = sorted((name for name in names if name in text), key=len, reverse=True)
    if not known:
        return concat(text)
    pieces = re.split(f"({'|'.join(map(re.escape, known))})", text)
    return concat(
        *(special(each) if number % 2 else concat(each) for number, each in enumerate(pieces))
    )


def _choice(part: Choice, below: Callable[[Part], Composed]) -> Composed:
    """Return the grammar of one of some parts; what they have at their ends in common is once."""
    match part.parts:
        case (AnyText(), Sequence((AnyText() as before, *calls))):
            # Lark could not tell the texts apart, so there is the one that can be told from calls.
            return concat(below(before), _repeat(below(Sequence(tuple(calls))), 0, 1))
    if len(part.parts) == 1:
        return below(part.parts[0])
    ends: dict[tuple[Part, ...], list[Part]] = {}
    for each in part.parts:
        steps = each.parts if isinstance(each, Sequence) else (each,)
        ends.setdefault(steps[1:], []).append(steps[0])
    return either(
        *(
            concat(either(*map(below, begins)), below(Sequence(after)))
            for after, begins in ends.items()
        )
    )


def _repeat(grammar: Composed, least: int, most: int | None) -> Composed:
    if (least, most) == (1, 1):
        return grammar
    return optional(grammar) if (least, most) == (0, 1) else repeat(grammar, least, most)
