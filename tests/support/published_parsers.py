"""How servers find calls in a text: the regular expressions that vLLM's and SGLang's parsers use.

Written from what these parsers publish, for the formats of :func:`cfgguide.tools`; where the two
differ, the one that cuts sooner. They know no grammar and no tokens, only the decoded text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

Call = tuple[str, dict[str, Any]]
Types = dict[str, Any]  # of an argument: the schema's ``type``

_JSON = json.JSONDecoder()


def value_of(text: str, kind: Any) -> Any:
    """Return the value of a text that stands between tags."""
    if kind == "string":
        return text
    return text if "string" in kind and text != "null" else json.loads(text)


def _hermes(text: str, _: Types) -> Iterator[Call]:
    for closed, rest in re.findall(
        r"<tool_call>(.*?)</tool_call>|<tool_call>(.*)", text, re.DOTALL
    ):
        call = json.loads(closed or rest)
        yield call["name"], call["arguments"]


def _llama3(text: str, _: Types) -> Iterator[Call]:
    text = text.split("<|python_tag|>", maxsplit=1)[-1]
    while text:
        call, end = _JSON.raw_decode(text)
        yield call["name"], call["parameters"]
        text = text[end:].removeprefix("; ")


def _mistral(text: str, _: Types) -> Iterator[Call]:
    (calls,) = text.split("[TOOL_CALLS]")[1:]
    for call in json.loads(calls):
        yield call["name"], call["arguments"]


def _mistral_v11(text: str, _: Types) -> Iterator[Call]:
    for call in text.split("[TOOL_CALLS]")[1:]:
        name, arguments = call.split("[ARGS]")
        yield name, json.loads(arguments)


def _harmony(text: str, _: Types) -> Iterator[Call]:
    for channel in re.split(r"<\|start\|>|<\|end\|>|<\|call\|>|<\|return\|>", text):
        head, *body = re.split(r"<\|message\|>", channel)
        name = re.search(r"to=functions\.([\w.-]+)", head)
        if name is not None:
            (arguments,) = body
            assert not re.search(r"<\|(?:channel|constrain)\|>", arguments)
            yield name[1], json.loads(arguments)


def _deepseek_v3(text: str, _: Types) -> Iterator[Call]:
    detail = r"<｜tool▁call▁begin｜>(.*)<｜tool▁sep｜>(.*)\n```json\n(.*)\n```<｜tool▁call▁end｜>"
    for call in re.findall(r"<｜tool▁call▁begin｜>.*?<｜tool▁call▁end｜>", text, re.DOTALL):
        found = re.search(detail, call, re.DOTALL)
        assert found is not None, call
        yield found[2], json.loads(found[3])


def _deepseek_v31(text: str, _: Types) -> Iterator[Call]:
    pattern = r"<｜tool▁call▁begin｜>(.*?)<｜tool▁sep｜>(.*?)<｜tool▁call▁end｜>"
    for name, arguments in re.findall(pattern, text, re.DOTALL):
        yield name, json.loads(arguments)


def _kimi_k2(text: str, _: Types) -> Iterator[Call]:
    assert len(re.findall(r"<\|tool_calls?_section_(?:begin|end)\|>", text)) == 2
    pattern = (
        r"<\|tool_call_begin\|>\s*([^<]+:\d+)\s*<\|tool_call_argument_begin\|>\s*"
        r"((?:(?!<\|tool_call_begin\|>).)*?)\s*<\|tool_call_end\|>"
    )
    for name, arguments in re.findall(pattern, text, re.DOTALL):
        yield name.rpartition(":")[0].removeprefix("functions."), json.loads(arguments)


def _qwen3_coder(text: str, types: Types) -> Iterator[Call]:
    for closed, rest in re.findall(
        r"<tool_call>(.*?)</tool_call>|<tool_call>(.*?)$", text, re.DOTALL
    ):
        for whole, cut in re.findall(
            r"<function=(.*?)</function>|<function=(.*)$", closed or rest, re.DOTALL
        ):
            name, _, parameters = (whole or cut).partition(">")
            found = {}
            for each in re.findall(
                r"<parameter=(.*?)(?:</parameter>|(?=<parameter=)|(?=</function>)|$)",
                parameters,
                re.DOTALL,
            ):
                argument, _, value = each.partition(">")
                value = value.removeprefix("\n").removesuffix("\n")
                found[argument] = value_of(value, types[argument])
            yield name, found


def _glm(head: str) -> Callable[[str, Types], Iterator[Call]]:
    def calls(text: str, types: Types) -> Iterator[Call]:
        for call in re.findall(r"<tool_call>.*?</tool_call>", text, re.DOTALL):
            found = re.search(head, call, re.DOTALL)
            assert found is not None, call
            pairs = re.findall(
                r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>",
                found[2] or "",
                re.DOTALL,
            )
            yield found[1], {name: value_of(value, types[name]) for name, value in pairs}

    return calls


def _deepseek_v32(text: str, types: Types) -> Iterator[Call]:
    mark = "(?:｜DSML｜)?"
    block = re.search(rf"<{mark}function_calls>(.*?)</{mark}function_calls>", text, re.DOTALL)
    for name, body in re.findall(
        rf'<{mark}invoke\s+name="([^"]+)"\s*>(.*?)</{mark}invoke>',
        block[1] if block else "",
        re.DOTALL,
    ):
        pattern = (
            rf'<{mark}parameter\s+name="([^"]+)"\s+string="(true|false)"\s*>'
            rf"(.*?)</{mark}parameter>"
        )
        yield (
            name,
            {
                argument: value if is_text == "true" else json.loads(value)
                for argument, is_text, value in re.findall(pattern, body, re.DOTALL)
            },
        )


def _minimax_m2(text: str, types: Types) -> Iterator[Call]:
    for closed, rest in re.findall(
        r"<minimax:tool_call>(.*?)</minimax:tool_call>|<minimax:tool_call>(.*?)$", text, re.DOTALL
    ):
        for whole, cut in re.findall(
            r'<invoke name="(.*?)</invoke>|<invoke name="(.*)$', closed or rest, re.DOTALL
        ):
            name, _, parameters = (whole or cut).partition('">')
            found = {}
            for ended, open_ in re.findall(
                r'<parameter name="(.*?)</parameter>|<parameter name="(.*?)$', parameters, re.DOTALL
            ):
                argument, _, value = (ended or open_).partition('">')
                found[argument] = value_of(value, types[argument])
            yield name, found


def _gemma_value(text: str, quote: str) -> tuple[Any, str]:
    """Return the value that a text begins with, and the rest."""
    if text.startswith(quote):
        value, _, rest = text.removeprefix(quote).partition(quote)
        return value, rest
    if text[0] == "{":
        members, text = {}, text[1:]
        while text[0] != "}":
            name, _, text = text.partition(":")
            members[name], text = _gemma_value(text, quote)
            text = text.removeprefix(",")
        return members, text[1:]
    if text[0] == "[":
        items, text = [], text[1:]
        while text[0] != "]":
            item, text = _gemma_value(text, quote)
            items.append(item)
            text = text.removeprefix(",")
        return items, text[1:]
    value, end = _JSON.raw_decode(text)
    return value, text[end:]


def _gemma(begin: str, end: str, quote: str) -> Callable[[str, Types], Iterator[Call]]:
    def calls(text: str, _: Types) -> Iterator[Call]:
        pattern = rf"{re.escape(begin)}call:([\w.-]+)(\{{.*?\}}){re.escape(end)}"
        for name, arguments in re.findall(pattern, text, re.DOTALL):
            value, rest = _gemma_value(arguments, quote)
            assert not rest, arguments
            yield name, value

    return calls


PARSERS: dict[str, Callable[[str, Types], Iterator[Call]]] = {
    "qwen": _hermes,
    "llama3": _llama3,
    "mistral": _mistral,
    "mistral_v11": _mistral_v11,
    "harmony": _harmony,
    "deepseek_v3": _deepseek_v3,
    "deepseek_v31": _deepseek_v31,
    "kimi_k2": _kimi_k2,
    "qwen3_coder": _qwen3_coder,
    "glm45": _glm(r"<tool_call>([^\n]*)\n(.*)</tool_call>"),
    "glm47": _glm(r"<tool_call>(.*?)(<arg_key>.*?)?</tool_call>"),
    "deepseek_v32": _deepseek_v32,
    "minimax_m2": _minimax_m2,
    "gemma4": _gemma("<|tool_call>", "<tool_call|>", '<|"|>'),
    "functiongemma": _gemma("<start_function_call>", "<end_function_call>", "<escape>"),
}
#: What each parser looks for, by reading it.
MARKS: dict[str, tuple[str, ...]] = {
    "qwen": ("<tool_call>", "</tool_call>"),
    "llama3": ("<|python_tag|>",),
    "mistral": ("[TOOL_CALLS]",),
    "mistral_v11": ("[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"),
    "harmony": (
        *("<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|call|>", "<|return|>"),
        "<|constrain|>",
    ),
    "deepseek_v3": (
        *("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>"),
        *("<｜tool▁call▁end｜>", "<｜tool▁sep｜>"),
    ),
    "kimi_k2": (
        *("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>"),
        *("<|tool_call_argument_begin|>", "<|tool_call_end|>"),
        *("<|tool_call_section_begin|>", "<|tool_call_section_end|>"),
    ),
    "qwen3_coder": (
        *("<tool_call>", "</tool_call>", "<function=", "</function>", "<parameter="),
        *("</parameter>", "< / parameter >"),
    ),
    "glm45": (
        *("<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>"),
        "</arg_value>",
    ),
    "deepseek_v32": (
        *("<｜DSML｜function_calls>", "</｜DSML｜function_calls>", "<｜DSML｜invoke name="),
        *("</｜DSML｜invoke>", "<｜DSML｜parameter name=", "</｜DSML｜parameter>"),
        *("<function_calls>", "</function_calls>", "<invoke name=", "</invoke>"),
        *("<parameter name=", "</parameter>"),
    ),
    "minimax_m2": (
        *("<minimax:tool_call>", "</minimax:tool_call>", "<invoke name=", "</invoke>"),
        *("<parameter name=", "</parameter>"),
    ),
    "gemma4": ("<|tool_call>", "<tool_call|>", '<|"|>'),
    "functiongemma": ("<start_function_call>", "<end_function_call>", "<escape>"),
}
MARKS |= {"deepseek_v31": MARKS["deepseek_v3"], "glm47": MARKS["glm45"]}
