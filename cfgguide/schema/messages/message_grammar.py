"""The grammar of a model's messages: what is around the values, and the values.

In: a structural tag and options for the JSON in it. Out: a :class:`MessageGrammar`, which
:func:`cfgguide.compile` takes as it takes the grammar of a schema. It has no text in Lark's
language: its judges are the parser of the model's format, and the schemas of the values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from collections.abc import Sequence as SequenceOf
from contextlib import suppress
from dataclasses import asdict
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from cfgguide.base.limits import Limits, Steps
from cfgguide.base.symbols import symbols_of
from cfgguide.engine.byte_machine.byte_machine import ByteMachine
from cfgguide.engine.machine.partial import Reading, TextReading
from cfgguide.errors import GrammarError, IndexFormatError, LimitError, SchemaError
from cfgguide.grammar.combinators import parts as composed
from cfgguide.grammar.llguidance.languages import first_ends
from cfgguide.schema.completions import completed
from cfgguide.schema.functions import bound
from cfgguide.schema.json_reading import JsonReading
from cfgguide.schema.json_schema import read_again as schema_again
from cfgguide.schema.json_schema import schema_with_warnings
from cfgguide.schema.messages.message import Message, MessageReading
from cfgguide.schema.messages.message_automaton import MessageAutomaton
from cfgguide.schema.messages.message_reading import message_reader
from cfgguide.schema.messages.parts import (
    AnyText,
    Choice,
    Exact,
    Part,
    PlainText,
    Repeat,
    Sequence,
    Token,
    UnsupportedTagError,
    Value,
    every,
    values_in,
)
from cfgguide.schema.messages.structural_tag import TagReader
from cfgguide.schema.messages.structure import ALL_BYTES, Structure
from cfgguide.schema.schema_grammar import SchemaGrammar, SchemaOptions, SchemaSource
from cfgguide.schema.typed_reading import Shape, TypedReading

if TYPE_CHECKING:
    from cfgguide.engine.vocabulary.vocabulary import Vocabulary

T = TypeVar("T", covariant=True)

_COMPOSED = "composed"  # in place of a structural tag, where a grammar of parts was written


class MessageGrammar(SchemaGrammar, Generic[T]):
    """A grammar of the messages that a structural tag allows, with values of a type.

    Parameters
    ----------
    tag : str
        The structural tag as JSON; grammars with equal tags and options are equal.
    options : SchemaOptions
        How the schemas in it are read.
    part : Part
        The message.
    values : mapping of (str, str) to SchemaGrammar
        The grammar of each value in it, by its key.
    steps : Steps
        Bounds what each step on the way to a mask may take.
    reading : MessageReading
        How messages are read.
    answer : type, optional
        That of the answer after thinking, if Pydantic makes it.
    """

    def __init__(
        self,
        tag: str,
        options: SchemaOptions,
        part: Part,
        values: Mapping[tuple[str, str], SchemaGrammar],
        steps: Steps,
        reading: MessageReading,
        answer: Any = None,
    ) -> None:
        left_out = [each for grammar in values.values() for each in grammar.left_out]
        vars(self).update(
            schema=tag,
            options=options,
            left_out=tuple(left_out),
            part=part,
            _values=dict(values),
            _steps=steps,
            reading=reading,
            answer=answer,
        )

    part: Part
    reading: MessageReading
    answer: Any

    def _key(self) -> Hashable:
        return self.schema, self.options, self.reading.key, self.answer

    def __reduce__(self) -> tuple[Any, ...]:
        """For `pickle`: what it was read from."""
        return read_again, (self.schema, asdict(self.options), self.reading, self.answer)

    def _source(self, vocabulary: Vocabulary) -> MessageSource:
        return MessageSource(self, (*vocabulary.symbols,), vocabulary.spelling.reachable_bytes)

    def tidied(self) -> MessageGrammar[T]:
        """Return the grammar of the messages that a model writes by default."""
        return self if self.options.tidy is not None else self._tidied

    @cached_property
    def _tidied(self) -> MessageGrammar[T]:
        options = {**asdict(self.options), "tidy": True}
        return read_again(self.schema, options, self.reading, self.answer)

    def parse(self, text: str) -> T:
        """Return the value of a text: a message, or that of the answer after thinking.

        Raises
        ------
        ValueError
            If it is not such a text: JSON in it cannot be read, or Pydantic refuses the answer.
        """
        value: Any
        if self._answer is None:
            value = bound(self.reading.parse(text), self.reading.functions)
        else:
            value = self._answer[0](self.reading.split(text)[1])
        found: T = value
        return found

    def reader(self) -> Reading:
        """Return what reads a message as it is written."""
        return message_reader(self.reading, self._answer and self._answer[1])

    @cached_property
    def _answer(self) -> tuple[Callable[[str], Any], Callable[[], Reading]] | None:
        """What makes a value of an answer, and what reads one as it is written."""
        if self.answer is not None:
            from pydantic import TypeAdapter

            adapter = TypeAdapter(self.answer)
            return adapter.validate_json, partial(TypedReading, Shape.of(adapter.core_schema))
        if self.reading.answer == "json":
            return json.loads, JsonReading
        return (str, TextReading) if self.reading.answer else None

    def _written(self) -> str:
        raise GrammarError(
            "a structural tag has no text in Lark's language; write a grammar with special "
            "terminals for that: Grammar(text, special={...})"
        )

    def symbols_in(self, special_tokens: Mapping[str, int]) -> dict[str, tuple[str | int, ...]]:
        """Return the tokens of a vocabulary that the message has, by names."""
        found: dict[str, tuple[str | int, ...]] = {}
        for part in every(self.part):
            if isinstance(part, Token):
                found[part.name] = (part.token,)
            elif isinstance(part, Exact):
                found |= {name: (name,) for name in special_tokens if name in part.text}
        return found

    def automaton(
        self, symbols: Iterable[str] = (), spelled: frozenset[int] = ALL_BYTES
    ) -> MessageAutomaton:
        """Return an automaton that nobody else has, for a vocabulary with some symbols and bytes.

        Raises
        ------
        SchemaError
            If the message is too large, or it cannot be told where a value begins.
        """
        numbers = symbols_of(symbols)
        automaton = MessageAutomaton(
            partial(Structure, self.part, numbers, spelled),
            [self._values[value.key].root for value in values_in(self.part)],
            numbers,
            self.options.layout,
            is_ordered=self.options.order == "declared",
            steps=self._steps,
        )
        return completed(automaton)


def structural_tag(
    tag: Mapping[str, Any] | str,
    *,
    tidy: bool | None = None,
    formats: bool = True,
    best_effort: bool = False,
    registry: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> MessageGrammar[Message]:
    r"""Return a grammar of the messages that a structural tag allows.

    Parameters
    ----------
    tag : mapping or str
        As vLLM and SGLang take them (``response_format`` of type ``structural_tag``), and as
        XGrammar's models dump them; :mod:`cfgguide.schema.messages.structural_tag` says what is
        supported.
    tidy : bool, optional
        As for :func:`cfgguide.json_schema`, for all values; ``\s`` in patterns too. By default so
        where a model writes, in :func:`cfgguide.generate`, :class:`cfgguide.LogitsProcessor` and
        servers, and elsewhere not.
    formats, best_effort, registry, limits, cancelled :
        As for :func:`cfgguide.json_schema`, for the schemas in it.

    Returns
    -------
    MessageGrammar
        What :func:`cfgguide.compile` takes.

    Raises
    ------
    SchemaError
        If the tag or a schema in it is wrong, or asks for what cannot be guaranteed.

    Examples
    --------
    >>> import cfgguide
    >>> grammar = structural_tag(
    ...     {
    ...         "type": "tag",
    ...         "begin": "<answer>",
    ...         "content": {"type": "json_schema", "json_schema": {"enum": [1, 2]}},
    ...         "end": "</answer>",
    ...     }
    ... )
    >>> index = cfgguide.compile(grammar, cfgguide.Vocabulary.of_bytes([b"<answer>"]))
    >>> cfgguide.Guide(index).allowed_token_ids().tolist()  # `<`, or all of it
    [60, 256]
    """
    if isinstance(tag, str):
        try:
            tag = json.loads(tag)
        except (ValueError, RecursionError) as error:
            raise SchemaError(f"the structural tag is not JSON: {error}") from None
    return message_grammar(
        tag,
        MessageReading(),
        tidy=tidy,
        formats=formats,
        best_effort=best_effort,
        registry=registry,
        limits=limits,
        cancelled=cancelled,
    )


def message_grammar(
    tag: object,
    reading: MessageReading,
    *,
    tidy: bool | None = None,
    formats: bool = True,
    best_effort: bool = False,
    registry: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    cancelled: Callable[[], bool] | None = None,
    answer: Any = None,
) -> MessageGrammar[Any]:
    """Return the grammar of a structural tag; as :func:`structural_tag`."""
    reader = TagReader(has_common_spaces=bool(tidy), formats=formats, registry=registry)
    part = reader.message(tag)
    written = json.dumps(tag)
    chosen: dict[str, Any] = {
        "formats": formats,
        "best_effort": best_effort,
        "order": "declared" if _one(reader.any_orders, "any_order", True) is False else "any",
        "max_whitespace": _one(reader.spaces, "max_whitespace_cnt", None),
        "separators": _one(reader.separators, "separators", None),
    }
    steps = Steps(limits, cancelled)
    with steps.begun():
        values = {
            value.key: _grammar_of(
                value,
                registry=registry,
                limits=limits,
                cancelled=cancelled,
                tidy=bool(tidy),
                **chosen,
            )
            for value in values_in(part)
        }
    documents = json.dumps(registry or {}, sort_keys=True)
    options = SchemaOptions(
        registry=documents,
        max_seconds=steps.max_seconds,
        max_memory=steps.max_memory,
        tidy=tidy,
        **chosen,
    )
    options.check()
    return MessageGrammar(written, options, part, values, steps, reading, answer)


def _grammar_of(value: Value, **options: Any) -> SchemaGrammar:
    """Return the grammar of a value; its texts have nothing of what is excluded."""
    read = partial(schema_with_warnings, value.schema, **options)
    try:
        return read(excludes=value.excludes)
    except SchemaError as error:
        reason = str(error.args[0])
    if value.excludes:
        with suppress(SchemaError):
            read()
            reason = f"each value has a text that ends a call in this format, /{value.excludes}/"
    raise SchemaError(f"in the schema at {value.path}: {reason}")


class MessageSource(NamedTuple):
    """What a machine of messages is made from.

    Attributes
    ----------
    grammar : MessageGrammar
        Of the messages.
    symbols : tuple of str
        The names of tokens that are no text.
    used : frozenset of int
        The bytes that occur in tokens.
    """

    grammar: MessageGrammar[Any]
    symbols: tuple[str, ...]
    used: frozenset[int]

    @property
    def digest(self) -> str:
        """Of the structural tag and the options."""
        return SchemaSource(self.grammar).digest

    def packed(self) -> dict[str, object]:
        """Return the structural tag and the options."""
        grammar = self.grammar
        message = {
            "tag": grammar.schema,
            "options": asdict(grammar.options),
            "reading": list(grammar.reading.key),
        }
        return {"schema": message}

    def machine(self) -> ByteMachine:
        """Return a machine that nobody else has."""
        return ByteMachine(self.grammar.automaton(self.symbols, self.used), self)


def grammar_of(value: Mapping[str, Any]) -> SchemaGrammar:
    """Return the grammar of messages, or of a schema, that a machine's `packed` has described.

    Raises
    ------
    IndexFormatError
        If that is wrong.
    """
    try:
        if "tag" in value:
            return read_again(value["tag"], value["options"], value["reading"])
        return schema_again(value["schema"], value["options"])
    except (KeyError, TypeError, ValueError, SchemaError) as error:
        raise IndexFormatError(
            f"the index cannot be used: its schema or tag is wrong ({error}); make it again"
        ) from None


# --- Grammars of parts (`cfgguide.concat`), some of which are schemas ----------------------------


def message_of(part: composed.Part) -> MessageGrammar[Message] | None:
    """Return the grammar of a composed grammar's part as a message around JSON values.

    None if it has no schema, or something that is not a part of a message; or if the next byte
    does not tell whether a value begins, or where it ends.
    """
    schemas = [each for each in composed.grammars_in(part) if isinstance(each, SchemaGrammar)]
    grammars = {each.schema: each for each in schemas}
    options = {each.options for each in grammars.values()}
    if len(options) != 1:
        return None
    try:
        structure = {_COMPOSED: _written(part)}
        found = _composed(structure, options.pop(), grammars.__getitem__)
        found.automaton(found.symbols_in({}))  # raises if it cannot be read
    except (SchemaError, LimitError, KeyError):
        return None
    return found


def _written(part: composed.Part) -> list[Any]:
    """Return a part as JSON; a KeyError if it is none of a message."""
    match part:
        case composed.Regular(looks=False):
            return ["text", part.pattern]
        case composed.Free(stops=()):
            return ["any", *part.without]
        case composed.Free():
            stops = "|".join(map(re.escape, part.stops))
            return ["text", first_ends(rf"(?s:.*)(?:{stops})", [])]
        case composed.Special():
            return ["token", *part.tokens]
        case composed.Embedded(grammar=SchemaGrammar() as grammar):
            if type(grammar) is SchemaGrammar:
                return ["value", grammar.schema]
        case composed.Sequence():
            return ["sequence", *map(_written, part.parts)]
        case composed.Either():
            return ["choice", *map(_written, part.parts)]
        case composed.Repeated():
            return ["repeat", part.least, part.most, _written(part.part)]
    raise KeyError("not a part of a message")


def _composed(
    structure: Mapping[str, Any], options: SchemaOptions, grammar_of: Callable[[str], SchemaGrammar]
) -> MessageGrammar[Message]:
    """Return the message of parts that were written as JSON."""
    space = options.layout.space
    around = PlainText(rf"[ \t\n\r]{'*' if space is None else f'{{0,{space}}}'}")

    def read(written: list[Any]) -> Part:
        kind, *rest = written
        match kind:
            case "text":
                return PlainText(*rest)
            case "any":
                return AnyText(tuple(rest))
            case "token":
                return Choice(tuple(map(Token, rest)))
            case "value":
                return Sequence((around, Value(rest[0], "/"), around))
            case "repeat":
                least, most, part = rest
                return Repeat(read(part), least, most)
        return (Choice if kind == "choice" else Sequence)(tuple(map(read, rest)))

    part = read(structure[_COMPOSED])
    values = {each.key: grammar_of(each.schema) for each in values_in(part)}
    steps = Steps(Limits(max_seconds=options.max_seconds, max_memory=options.max_memory))
    return MessageGrammar(json.dumps(structure), options, part, values, steps, MessageReading())


def _one(found: set[Any], name: str, otherwise: Any) -> Any:
    """Return what all values say."""
    if len(found) > 1:
        raise UnsupportedTagError(f"{name} differs from value to value of one structural tag")
    return next(iter(found), otherwise)


def read_again(
    tag: str, options: Mapping[str, Any], reading: SequenceOf[Any], answer: Any = None
) -> MessageGrammar[Any]:
    """Return a grammar again, of its structural tag as JSON, its options, and how it is read.

    Raises
    ------
    SchemaError, KeyError, TypeError, ValueError
        If they are not those of a grammar.
    """
    limits = Limits(max_seconds=options["max_seconds"], max_memory=options["max_memory"])
    structure = json.loads(tag)
    if _COMPOSED in structure:
        chosen = schema_again("true", options).options
        return _composed(structure, chosen, lambda schema: schema_again(schema, options))
    return message_grammar(
        structure,
        MessageReading(*reading),
        tidy=options.get("tidy"),
        formats=options["formats"],
        best_effort=options["best_effort"],
        registry=json.loads(options["registry"]),
        limits=limits,
        answer=answer,
    )
