r"""Custom tools of OpenAI's responses API whose input is a sentence of a grammar, in vLLM.

In: a request of `/v1/responses` that has to call a tool with such a format::

    {"tools": [{"type": "custom", "name": "calculate",
                "format": {"type": "grammar", "syntax": "lark", "definition": "start: ..."}}],
     "tool_choice": {"type": "custom", "name": "calculate"}}

Out: its answer, in which the text is the input of a call (`custom_tool_call`). vLLM refuses such
tools. What it is asked instead is a text that is a sentence of the grammar, by a model that is told
what the tool is. A text that was cut off is no input: it stays a message, and the response is
incomplete.

vLLM loads this by its entry point `vllm.endpoint_plugins`, where `VLLM_PLUGINS` names `cfgguide`:
the route takes the place of vLLM's own, to which all other requests go on unchanged. All answers
get what :mod:`cfgguide.models.serving.http_calls` has to tell.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from vllm.entrypoints.openai.responses.api_router import create_responses
from vllm.entrypoints.openai.responses.protocol import ResponsesRequest
from vllm.entrypoints.serve.exception_handling.error_response import create_error_response
from vllm.entrypoints.serve.utils.api_utils import validate_json_request
from vllm.exceptions import VLLMValidationError

from cfgguide.errors import CfgGuideError
from cfgguide.grammar.combinators.patterns import regex
from cfgguide.models.serving.backend import PREFIX
from cfgguide.models.serving.client_errors import for_client
from cfgguide.models.serving.http_calls import Calls, current
from cfgguide.models.serving.settings import Settings
from cfgguide.models.serving.vllm_parts import BusyServerError

_SYNTAXES = ("lark", "regex")
#: What a request may not have beside such a tool: the first two need answers of other forms.
_NOT_WITH = ("stream", "background", "structured_outputs", "text")


class CustomTools:
    """The plug-in: its route, by vLLM's protocol."""

    name = "cfgguide"
    required_tasks = ("generate",)

    def attach_router(self, app: FastAPI) -> None:
        """Add the route, in the place of vLLM's own, and what the heads of answers tell."""
        app.add_middleware(Calls, told_apart_by=Settings.of_environment().client)
        app.exception_handler(BusyServerError)(_come_again)
        app.post("/v1/responses", dependencies=[Depends(validate_json_request)])(_respond)

    async def init_state(self, engine_client: Any, state: Any, args: Any) -> None:
        """Do nothing: the route has no state."""


async def _come_again(_: Request, error: BusyServerError) -> JSONResponse:
    """Answer that others come first; vLLM's own answer has no header."""
    answer = create_error_response(error)
    headers = {"Retry-After": str(error.retry_after)}
    return JSONResponse(answer.model_dump(), status_code=answer.error.code, headers=headers)


async def _respond(raw_request: Request) -> Any:
    body = await raw_request.json()
    tool = called_tool(body)
    if tool is not None:
        body = {**body, **await asyncio.to_thread(_instead, body, tool)}
    try:
        request = ResponsesRequest.model_validate(body)
    except ValidationError as error:
        raise RequestValidationError(error.errors(), body=body) from error
    current().is_guided = any(map(body.get, ("structured_outputs", "text", "tools")))
    answer = await create_responses(request, raw_request)
    if tool is None or not isinstance(answer, JSONResponse) or answer.status_code != 200:
        return answer
    return JSONResponse(with_call(json.loads(bytes(answer.body)), tool["name"]))


def called_tool(body: Any) -> Mapping[str, Any] | None:
    """Return the tool with a grammar that a request has to call; None if none has one.

    Raises
    ------
    VLLMValidationError
        If one has, and another tool, or none, may be called: then vLLM has to tell calls from text.
    """
    tools = body.get("tools") if isinstance(body, dict) else None
    if not isinstance(tools, list) or not any(map(_has_grammar, tools)):
        return None
    choice = body.get("tool_choice", "auto")
    if choice == "required":
        called = tools
    else:
        name = choice.get("name") if isinstance(choice, dict) else None
        called = [tool for tool in tools if name and tool.get("name") == name]
    if len(called) == 1 and _has_grammar(called[0]):
        return dict(called[0])
    if len(called) == 1:
        raise _error("the tool that is called has no grammar: leave those out that have one")
    raise _error(
        "a custom tool with a grammar is called where tool_choice names it, or is 'required' and "
        "there is no other tool"
    )


def _has_grammar(tool: Any) -> bool:
    made = tool.get("format") if isinstance(tool, dict) else None
    is_grammar = isinstance(made, dict) and made.get("type") == "grammar"
    return is_grammar and tool.get("type") == "custom"


def _error(message: str) -> VLLMValidationError:
    return VLLMValidationError(f"cfgguide: {message}", parameter="tools")


def _instead(body: Mapping[str, Any], tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is asked of vLLM instead: a text in the grammar, and no tools."""
    for name in _NOT_WITH:
        if body.get(name):
            raise _error(f"{name} is not supported with a custom tool that has a grammar")
    made = tool["format"]
    syntax, definition = made.get("syntax"), made.get("definition")
    if (
        not isinstance(tool.get("name"), str)
        or syntax not in _SYNTAXES
        or not isinstance(definition, str)
    ):
        raise _error("a custom tool has a name, a syntax (lark or regex) and a definition")
    try:
        if syntax == "regex":
            regex(definition)
    except CfgGuideError as error:
        raise _error(for_client(error)) from error
    kind = "regex" if syntax == "regex" else ""
    said = [
        body.get("instructions"),
        f"Write the input of the tool {tool['name']}, and nothing else.",
        tool.get("description"),
        f"Its input is in this {syntax} grammar:\n{definition}",
    ]
    return {
        "tools": [],
        "tool_choice": "none",
        "instructions": "\n\n".join(each for each in said if isinstance(each, str)),
        "structured_outputs": {"grammar": f"{PREFIX}{kind}\n{definition}"},
    }


def with_call(answer: dict[str, Any], name: str) -> dict[str, Any]:
    """Return an answer whose text is the input of a call, if the text is whole."""
    if answer.get("status") != "completed":
        return answer
    output = answer["output"]
    messages = [item for item in output if item.get("type") == "message"]
    text = "".join(part["text"] for item in messages for part in item["content"])
    call = {
        "type": "custom_tool_call",
        "id": f"ctc_{uuid4().hex}",
        "call_id": f"call_{uuid4().hex}",
        "name": name,
        "input": text,
    }
    return {**answer, "output": [*(item for item in output if item not in messages), call]}
