"""Calls of tools in the format of a model.

In: tools as OpenAI's API has them, and the name of a format
(:mod:`cfgguide.schema.messages.formats`). Out: a
:class:`~cfgguide.schema.messages.message_grammar.MessageGrammar`, whose values are messages.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from cfgguide.base.limits import Limits
from cfgguide.errors import SchemaError, shown
from cfgguide.grammar.rules.facts import not_known
from cfgguide.schema.functions import is_function, tool_of
from cfgguide.schema.messages.formats import ALIASES, FORMATS, Call, Tag, Wanted
from cfgguide.schema.messages.grammar_tools import (
    ToolGrammar,
    arguments,
    has_grammar,
    tool_grammar,
)
from cfgguide.schema.messages.message import Message, MessageReading
from cfgguide.schema.messages.message_grammar import MessageGrammar, message_grammar
from cfgguide.schema.messages.pair_values import argument_types
from cfgguide.schema.messages.pairs import checked
from cfgguide.schema.messages.structural_tag import any_of
from cfgguide.schema.pydantic_models import schema_of_model
from cfgguide.schema.schema_grammar import SEPARATORS

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_CHOICES = ("auto", "required", "none")


def tools(
    given: Iterable[object],
    *,
    format: str,
    choice: str | Mapping[str, Any] = "auto",
    parallel: bool = True,
    max_thinking: int | None = None,
    order: str = "any",
    max_whitespace: int | None = None,
    tidy: bool | None = None,
    formats: bool = True,
    best_effort: bool = False,
    limits: Limits | None = None,
) -> MessageGrammar[Message] | ToolGrammar:
    r"""Return a grammar of messages that may call tools.

    Parameters
    ----------
    given : iterable of mapping, callable or type
        The tools: ``{"type": "function", "function": {"name": ..., "parameters": ...}}`` or the
        inner mapping, with a JSON Schema of the arguments; or functions, whose annotations are read
        so, and whose calls can be run; or Pydantic models, whose names are those of the tools.
        Properties of the arguments may be grammars: the value is then a sentence, such as SQL. All
        arguments of such a tool are required, in their order.
    format : str
        How the model writes calls: ``"qwen"`` or ``"hermes"``, ``"llama3"``, ``"mistral"`` (up to
        version 7 of its tokenizer), ``"mistral_v11"``, ``"harmony"`` or ``"gpt-oss"``,
        ``"deepseek_v3"`` (R1 too), ``"deepseek_v31"`` or ``"deepseek"``, ``"deepseek_v32"``,
        ``"kimi_k2"``, ``"qwen3_coder"`` or ``"qwen3_xml"``, ``"glm45"`` (4.6 too), ``"glm47"``,
        ``"minimax_m2"``, ``"gemma4"``, ``"functiongemma"``. Those since Qwen3-Coder's, and
        ``"deepseek_v32"``, have arguments in pairs, as docs/tools.md says.
    choice : str or mapping
        ``"auto"`` for text or calls, ``"required"`` for at least one call, ``"none"`` for none, or
        the name of the tool to call; OpenAI's ``{"type": "function", "function": {"name": ...}}``
        names one too.
    parallel : bool
        Whether there may be several calls.
    max_thinking : int, optional
        Tokens of thinking, in Harmony, where thinking is a part of the format; for other formats
        see :func:`thinking`.
    order, max_whitespace, formats, best_effort, limits :
        As for :func:`cfgguide.json_schema`, for the arguments.
    tidy : bool, optional
        As for :func:`cfgguide.structural_tag`; where a tool has a grammar, or arguments are pairs,
        True by default.

    Returns
    -------
    MessageGrammar or ToolGrammar
        The latter if a tool has a grammar; Lark judges all of that. Its `parse` makes a
        :class:`~cfgguide.schema.messages.message.Message` of a text. A name such as ``<tool_call>``
        is a token if the vocabulary has one that is called so, and text otherwise.

    Raises
    ------
    SchemaError, GrammarError
        If a tool, a schema, a grammar or an option is wrong.

    Examples
    --------
    >>> weather = {"name": "weather", "parameters": {"properties": {"city": {"type": "string"}}}}
    >>> grammar = tools([weather], format="qwen", choice="required")
    >>> text = '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call>'
    >>> grammar.parse(text).calls
    [ToolCall(name='weather', arguments={'city': 'Rome'})]
    """
    name = ALIASES.get(format, format)
    if name not in FORMATS:
        raise SchemaError(
            f"there is no format {shown(format)} of tools; there is "
            f"{', '.join([*FORMATS, *ALIASES])}"
        )
    if max_thinking is not None and not FORMATS[name].has_thinking:
        raise SchemaError(f"{name} has no thinking of its own: say thinking(tools(...))")
    if order not in ("any", "declared"):
        raise SchemaError(f"order is {shown(order)}; it is 'any' or 'declared'")
    value: dict[str, Any] = {
        "any_order": order == "any",
        "max_whitespace_cnt": max_whitespace,
        "separators": FORMATS[name].separators,
        "marks": list(FORMATS[name].marks),
    }
    if FORMATS[name].style is not None:
        value["style"] = FORMATS[name].style
    options: dict[str, Any] = {"formats": formats, "best_effort": best_effort, "limits": limits}
    exact = {"order": order, "separators": SEPARATORS, "tidy": tidy is not False}
    exact["excludes"] = any_of(FORMATS[name].marks)
    written = tuple(sorted({**options, **exact}.items()))
    if not isinstance(given, Iterable) or isinstance(given, str | type):
        raise SchemaError(
            f"tools are a list of functions, mappings or Pydantic models, not {shown(given)}"
        )
    given = list(given)
    calls = [_call(each, value, written) for each in given]
    names = [call.name for call in calls]
    choice = _name_of(choice)
    if not calls and choice != "none":
        raise SchemaError("there are no tools; say choice='none' for text alone")
    for called, n_times in Counter(names).items():
        if n_times > 1:
            raise SchemaError(
                f"{n_times} tools are called {called!r}, and a call says no more than the name; "
                "rename all but one"
            )
    is_forced = choice not in _CHOICES
    if choice == "none":
        calls = []
    elif is_forced:
        calls = [call for call in calls if call.name == choice]
        if not calls:
            said = f"choice is {shown(choice)}; it is {', '.join(_CHOICES)}, or a tool"
            raise SchemaError(not_known(said, choice, names))
    wanted = Wanted(
        calls, choice == "required" or is_forced, parallel and not is_forced, max_thinking
    )
    made = FORMATS[name].tag(wanted)
    reading = MessageReading(name, functions=tuple(filter(is_function, given)))
    if any(call.arguments["type"] == "sentence" for call in calls):
        if FORMATS[name].style is not None:
            raise SchemaError(f"{name} has no JSON, in which a sentence of a grammar could stand")
        if max_whitespace is not None:
            raise SchemaError("beside a grammar, JSON has the separators of json.dumps alone")
        return tool_grammar(made, reading, written)
    if FORMATS[name].style is not None:
        tidy = tidy is not False  # 7.0 for an integer is a text for vLLM's parsers of pairs
        for call in calls:
            schema, path = call.arguments["json_schema"], f"/{call.name}"
            checked(schema, path, is_tidy=tidy, formats=formats)
        types = {call.name: argument_types(call.arguments["json_schema"]) for call in calls}
        reading = reading._replace(types=json.dumps(types, ensure_ascii=False))
    return message_grammar(made, reading, tidy=tidy, **options)


def _name_of(choice: object) -> str:
    """Return a choice as a text; OpenAI's API has a mapping for the name of a tool."""
    name = choice
    if isinstance(choice, Mapping):
        function = choice.get("function")
        name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(name, str):
        raise SchemaError(
            f"choice is {shown(choice)}; it is {', '.join(_CHOICES)}, the name of a tool, or "
            '{"type": "function", "function": {"name": ...}}'
        )
    return name


def _call(given: object, value: Mapping[str, Any], options: tuple[tuple[str, Any], ...]) -> Call:
    """Return the call of a tool."""
    if is_function(given):
        given = tool_of(given)
    if hasattr(given, "model_json_schema"):
        schema: Any = schema_of_model(given)
        return Call(_checked(getattr(given, "__name__", None)), _arguments(schema, value))
    if isinstance(given, Mapping) and isinstance(given.get("function"), Mapping):
        given = given["function"]
    if not isinstance(given, Mapping):
        raise SchemaError(
            f"a tool is a mapping, a function or a Pydantic model, not {shown(given)}"
        )
    parameters = given.get("parameters", {})
    if has_grammar(parameters):
        return Call(_checked(given.get("name")), arguments(parameters, options))
    return Call(_checked(given.get("name")), _arguments(parameters, value))


def _checked(name: object) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise SchemaError(
            f"the name of a tool has letters, digits, `_`, `.` and `-`, which {shown(name)} is not"
        )
    return name


def _arguments(schema: object, value: Mapping[str, Any]) -> Tag:
    """Return the format of arguments: an object, whatever else their schema says."""
    schema = {} if schema is None else schema
    if not isinstance(schema, Mapping):
        raise SchemaError(f"the parameters of a tool are a JSON Schema, not {shown(schema)}")
    kind = schema.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise SchemaError(
            f"the parameters of a tool are an object, by names; these have the type {shown(kind)}: "
            'say {"type": "object", "properties": {"value": ...}}'
        )
    schema = {**schema, "type": "object"}
    return {"type": "json_schema", "json_schema": schema, **value}
