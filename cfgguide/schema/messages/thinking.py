"""Thinking before an answer.

In: what the answer is to be, and what stands around the thinking. Out: a
:class:`~cfgguide.schema.messages.message_grammar.MessageGrammar`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, TypedDict, TypeVar, Unpack, overload

from cfgguide.automata.pattern_notations import headed
from cfgguide.automata.rewrite import rewritten
from cfgguide.errors import SchemaError, shown
from cfgguide.schema.messages.formats import Tag, exact, one_of, sequence, tag, text
from cfgguide.schema.messages.message import Message, MessageReading
from cfgguide.schema.messages.message_grammar import MessageGrammar, message_grammar
from cfgguide.schema.pydantic_models import schema_of_model
from cfgguide.schema.schema_grammar import SchemaGrammar
from cfgguide.schema.solver.listed_values import check_text

T = TypeVar("T")


class _Options(TypedDict, total=False):
    opening: str
    closing: str
    max_tokens: int | None
    is_open: bool
    is_optional: bool
    tidy: bool | None


@overload
def thinking(answer: type[T], **options: Unpack[_Options]) -> MessageGrammar[T]: ...


@overload
def thinking(
    answer: re.Pattern[str] | list[str] | tuple[str, ...], **options: Unpack[_Options]
) -> MessageGrammar[str]: ...


@overload
def thinking(
    answer: MessageGrammar[Message] | None, **options: Unpack[_Options]
) -> MessageGrammar[Message]: ...


@overload
def thinking(answer: object, **options: Unpack[_Options]) -> MessageGrammar[Any]: ...


def thinking(
    answer: object,
    *,
    opening: str = "<think>",
    closing: str = "</think>",
    max_tokens: int | None = None,
    is_open: bool = False,
    is_optional: bool = False,
    tidy: bool | None = None,
) -> MessageGrammar[Any]:
    r"""Return a grammar of messages that have thinking before an answer.

    Parameters
    ----------
    answer : mapping, type, pattern, list of str, or grammar
        A JSON Schema or a Pydantic model, ``re.compile(...)`` for what ``re.fullmatch`` matches, a
        list of texts, or what :func:`cfgguide.json_schema`, :func:`cfgguide.tools` or
        :func:`cfgguide.structural_tag` returns. None for any text.
    opening, closing : str
        What stands around the thinking: tokens, if the vocabulary has some that are called so. The
        thinking has neither in it, and up to two line breaks follow it.
    max_tokens : int, optional
        How many tokens the thinking may have; then `closing` has to come.
    is_open : bool
        Whether `opening` stands in the prompt already.
    is_optional : bool
        Whether the answer may come at once.
    tidy : bool, optional
        As for :func:`cfgguide.structural_tag`; by default what was chosen for the answer, if it is
        a grammar.

    Returns
    -------
    MessageGrammar
        Its value is that of the answer: of JSON what `json.loads` makes of it, of a type what
        Pydantic does; of tools, a tag or any text a
        :class:`~cfgguide.schema.messages.message.Message`. The thinking is in
        :attr:`Generation.thinking <cfgguide.integrations.Generation>`.

    Raises
    ------
    SchemaError
        If an option is wrong, or the answer is of another kind.

    Examples
    --------
    >>> grammar = thinking({"type": "integer"}, max_tokens=100)
    >>> grammar.parse("<think>\n3 x 4\n</think>\n\n12")
    12
    """
    if not (isinstance(opening, str) and isinstance(closing, str) and opening and closing):
        raise SchemaError("opening and closing are texts")
    check_text(opening + closing)
    reading = MessageReading()
    options: dict[str, Any] = {}
    if isinstance(answer, SchemaGrammar):
        chosen = answer.options
        options = {
            "tidy": chosen.tidy,
            "formats": chosen.formats,
            "best_effort": chosen.best_effort,
            "registry": json.loads(chosen.registry),
        }
    if isinstance(answer, MessageGrammar):
        reading = answer.reading
        if reading.closing:
            raise SchemaError("there is thinking before this answer already")
    thoughts = tag("" if is_open else opening, text(opening, max_tokens=max_tokens), closing)
    breaks = {"type": "regex", "pattern": "\n{0,2}"}
    before = sequence(thoughts, breaks)
    if is_optional:
        before = {"type": "optional", "content": before}
    whole = sequence(before, _tag_of(answer, opening))
    reading = reading._replace(
        opening="" if is_open else opening, closing=closing, answer=_kind_of(answer)
    )
    if tidy is not None:
        options["tidy"] = tidy
    typed = answer if hasattr(answer, "model_json_schema") else None
    return message_grammar(whole, reading, answer=typed, **options)


def _kind_of(answer: object) -> str:
    """Return what kind of value an answer has; empty if that is a message."""
    if answer is None or isinstance(answer, MessageGrammar):
        return ""
    return "text" if isinstance(answer, re.Pattern | list | tuple) else "json"


def _tag_of(answer: object, opening: str) -> Tag:
    """Return the format of an answer."""
    if answer is None:
        return text(opening)
    if isinstance(answer, MessageGrammar):
        return dict(json.loads(answer.schema))
    if isinstance(answer, SchemaGrammar):
        chosen = answer.options
        made = _value(json.loads(answer.schema), chosen.order == "declared", chosen.max_whitespace)
        return made if chosen.separators is None else {**made, "separators": chosen.separators}
    if hasattr(answer, "model_json_schema"):
        return _value(schema_of_model(answer), True)
    if isinstance(answer, Mapping):
        return _value(answer, False)
    if isinstance(answer, re.Pattern) and isinstance(answer.pattern, str):
        pattern, _ = rewritten(answer.pattern, answer.flags)
        return {"type": "regex", "pattern": headed(pattern, "python")}
    if isinstance(answer, list | tuple) and answer and all(isinstance(t, str) for t in answer):
        return one_of(*map(exact, answer))
    raise SchemaError(
        f"an answer after thinking is a JSON Schema, a Pydantic model, a pattern, a list of texts, "
        f"tools or a structural tag, not {shown(answer)}"
    )


def _value(schema: Any, is_ordered: bool, space: int | None = None) -> Tag:
    return {
        "type": "json_schema",
        "json_schema": schema,
        "any_order": not is_ordered,
        "max_whitespace_cnt": space,
    }
