"""Functions as what a model writes: their arguments, and calls of them.

In: a function with annotations. Out: it as a tool, in the form of OpenAI's API, and what makes the
values of its arguments of JSON. What is said of the arguments is from the docstring, in the form of
NumPy, Google or Sphinx; ``Annotated[int, Field(description=...)]`` comes before that.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

from cfgguide.errors import GenerationError, GrammarError, shown
from cfgguide.schema.messages.message import Message, ToolCall
from cfgguide.schema.pydantic_models import errors_of_pydantic

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_N_KEPT = 256
Function = Callable[..., Any]

# `name (int): said` of Google, `:param int name: said` of Sphinx.
_OF_GOOGLE = re.compile(r"^ {2,8}(\w+)(?: ?\([^)\n]*\))?: ([^\n]+)$", re.MULTILINE)
_OF_SPHINX = re.compile(r"^:param (?:[^:\n]* )?(\w+): ([^\n]+)$", re.MULTILINE)


def is_function(what: object) -> TypeGuard[Function]:
    """Return whether something is a function or a method, and no class."""
    return inspect.isroutine(what) or isinstance(what, functools.partial)


def tool_of(function: Function) -> dict[str, Any]:
    """Return a function as a tool: its name, what it does, and the schema of its arguments.

    Raises
    ------
    GrammarError
        If its arguments have no schema.

    Examples
    --------
    >>> def weather(city: str, days: int = 1) -> str:
    ...     '''Tell what the weather will be.'''
    >>> made = tool_of(weather)
    >>> made["name"], made["description"], made["parameters"]["required"]
    ('weather', 'Tell what the weather will be.', ['city'])
    """
    from cfgguide.schema.pydantic_models import schema_of_adapter

    documented = inspect.getdoc(function) or ""
    said = _said_of_arguments(documented)
    schema = dict(schema_of_adapter(_adapter(function)))
    schema["properties"] = {
        name: {"description": said[name], **part} if name in said else part
        for name, part in schema.get("properties", {}).items()
    }
    description = documented.partition("\n\n")[0].replace("\n", " ").strip()
    return {"name": name_of(function), "description": description, "parameters": schema}


def described_tool(tool: Any) -> dict[str, Any]:
    """Return a tool as chat templates take it: a function, a Pydantic model, or a mapping."""
    if is_function(tool):
        inner = tool_of(tool)
    elif hasattr(tool, "model_json_schema"):
        documented = (inspect.getdoc(tool) or "").partition("\n\n")[0]
        schema = tool.model_json_schema()
        inner = {"name": tool.__name__, "description": documented, "parameters": schema}
    else:
        inner = dict(tool.get("function", tool)) if isinstance(tool, Mapping) else {}
    return {"type": "function", "function": inner}


def name_of(function: Function) -> str:
    """Return the name that a model calls a function by."""
    while isinstance(function, functools.partial):
        function = function.func
    return function.__name__


def read_call(function: Function, text: str) -> ToolCall[Any]:
    """Return the call of a function whose arguments are given as JSON.

    Raises
    ------
    GenerationError
        If a validator refuses them.
    """
    return _called(function, text, shown(text))


def bound(message: Message, functions: Iterable[Function]) -> Message:
    """Return a message whose calls are those of functions, with the values that they take.

    Raises
    ------
    GenerationError
        If a validator refuses the arguments of a call.
    """
    named = {name_of(each): each for each in functions}
    return replace(message, calls=[_bound(call, named) for call in message.calls])


def call_of(functions: Mapping[str, Function], value: Mapping[str, Any]) -> ToolCall[Any]:
    """Return the call of one of some functions: an object of a name and arguments.

    Raises
    ------
    GenerationError
        If a validator refuses the arguments.
    """
    return _bound(ToolCall(value["name"], value["arguments"]), functions)


def _bound(call: ToolCall[Any], functions: Mapping[str, Function]) -> ToolCall[Any]:
    function = functions.get(call.name)
    if function is None:
        return call
    return _called(function, json.dumps(call.arguments), str(call.arguments))


def _called(function: Function, text: str, said: str) -> ToolCall[Any]:
    """Return the call of a function with arguments as JSON, of which errors say something."""
    name = name_of(function)
    try:
        return ToolCall(name, _adapter(function).validate_json(text), function)
    except (ValueError, OSError) as error:
        raise GenerationError(f"{name} does not take {said}: {error}") from error


@functools.lru_cache(maxsize=_N_KEPT)
def _adapter(function: Function) -> TypeAdapter[Any]:
    """Return what makes the arguments of a function of JSON, by name, and does not call it."""
    signature = inspect.signature(function)

    def arguments(*values: Any, **named: Any) -> dict[str, Any]:
        return dict(signature.bind(*values, **named).arguments)

    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            raise GrammarError(
                f"{name_of(function)} takes {parameter} by its position, but a model writes the "
                "names of arguments"
            )
    functools.update_wrapper(arguments, function)
    with errors_of_pydantic(name_of(function)):
        from pydantic import TypeAdapter

        recorded: Any = arguments
        return TypeAdapter(recorded)


def _said_of_arguments(documented: str) -> dict[str, str]:
    """Return what a docstring says of each argument."""
    _, heading, rest = documented.partition("Parameters\n----------\n")
    if heading:
        return _said_by_numpy(rest.splitlines())
    _, heading, rest = documented.partition("Args:\n")
    if heading:
        return dict(_OF_GOOGLE.findall(rest.partition("\n\n")[0]))
    return dict(_OF_SPHINX.findall(documented))


def _said_by_numpy(lines: Sequence[str]) -> dict[str, str]:
    """Return what is said of each argument below a heading, up to the next one."""
    said: dict[str, list[str]] = {}
    name = ""
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if below and not below.strip("-"):
            break
        if line.startswith(" "):
            said.setdefault(name, []).extend(line.split())
        elif line:
            name = line.partition(":")[0].strip()
    return {name: " ".join(words) for name, words in said.items()}
