r"""How models write calls of tools.

In: names and schemas. Out: structural tags, and what finds the calls in a text again. Each format
is read off the chat templates of its models, which render calls in one way, white space included:
models have seen nothing else. ::

    qwen          <tool_call>\n{"name": "f", "arguments": {...}}\n</tool_call>
    llama3        {"name": "f", "parameters": {...}}
    mistral       [TOOL_CALLS][{"name": "f", "arguments": {...}, "id": "..."}]
    mistral_v11   [TOOL_CALLS]f[ARGS]{...}
    harmony       <|channel|>commentary to=functions.f <|constrain|>json<|message|>{...}<|call|>
    deepseek_v3   <｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{...}\n```...
    deepseek_v31  <｜tool▁call▁begin｜>f<｜tool▁sep｜>{...}<｜tool▁call▁end｜>
    kimi_k2       <|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{...}<|tool_call_end|>

In others arguments are pairs (:mod:`cfgguide.schema.messages.pairs`)::

    qwen3_coder   <tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>...
    glm45         <tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>
    glm47         <tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>
    deepseek_v32  <｜DSML｜invoke name="f">\n<｜DSML｜parameter name="a" string="false">1</｜DSML...
    minimax_m2    <invoke name="f">\n<parameter name="a">1</parameter>\n</invoke>
    gemma4        <|tool_call>call:f{a:1}<tool_call|>
    functiongemma <start_function_call>call:f{a:1}<end_function_call>
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Tag = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """What is asked of one call.

    Attributes
    ----------
    name : str
        The name of the tool.
    arguments : dict
        The format of its arguments.
    """

    name: str
    arguments: Tag


@dataclass(frozen=True)
class Wanted:
    """What is asked of a message.

    Attributes
    ----------
    calls : list of Call
        The tools that may be called; if there are none, there is text alone.
    is_required : bool
        Whether some tool has to be called; otherwise there may be text, and calls.
    is_parallel : bool
        Whether there may be several calls.
    max_thinking : int or None
        How many tokens of thinking there may be, in formats that have thinking of their own.
    """

    calls: list[Call]
    is_required: bool
    is_parallel: bool
    max_thinking: int | None = None


@dataclass(frozen=True)
class Format:
    """How one family of models writes calls.

    Attributes
    ----------
    tag : callable
        Makes the structural tag of a message.
    call : re.Pattern
        What stands before the arguments of a call; its group is the name.
    openings : tuple of str
        How that begins; in a text that is being written, text from there on may be a call.
    content, thinking : re.Pattern or None
        What texts look like that are no call; None if all before the first call is content.
    separators : (str, str) or None
        The separators in arguments, if the models' parsers read no others.
    style : str or None
        How arguments are written that are pairs, and not JSON.
    marks : tuple of str
        What parsers search the text of a message for, where arguments are JSON: a call ends there
        for them, or another one begins, also inside of a string. No text in arguments has it; for
        pairs the style says so.
    has_thinking : bool
        Whether thinking is a part of the format.
    """

    tag: Callable[[Wanted], Tag]
    call: re.Pattern[str]
    openings: tuple[str, ...]
    content: re.Pattern[str] | None = None
    thinking: re.Pattern[str] | None = None
    separators: tuple[str, str] | None = None
    style: str | None = None
    marks: tuple[str, ...] = ()

    @property
    def has_thinking(self) -> bool:
        """Whether thinking is a part of the format."""
        return self.thinking is not None


def text(*excludes: str, max_tokens: int | None = None) -> Tag:
    """Return a text without some words."""
    return {"type": "any_text", "excludes": list(excludes), "max_tokens": max_tokens}


def exact(value: str) -> Tag:
    """Return one text."""
    return {"type": "const_string", "value": value}


def sequence(*elements: Tag) -> Tag:
    """Return what comes one after the other."""
    return {"type": "sequence", "elements": list(elements)}


def one_of(*elements: Tag) -> Tag:
    """Return what comes instead of each other."""
    return elements[0] if len(elements) == 1 else {"type": "or", "elements": list(elements)}


def tag(begin: str | Tag, content: Tag, end: str) -> Tag:
    """Return a tag."""
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def _calls(wanted: Wanted, begin: str, end: str) -> list[Tag]:
    """Return the tags of all calls; `NAME` in the beginning stands for the tool's."""
    return [tag(begin.replace("NAME", call.name), call.arguments, end) for call in wanted.calls]


def _several(tags: list[Tag], separator: str, wanted: Wanted) -> Tag:
    """Return one call, or several if there may be."""
    return {
        "type": "tags_with_separator",
        "tags": tags,
        "separator": separator,
        "at_least_one": True,
        "stop_after_first": not wanted.is_parallel,
    }


def _after_text(before: Tag, calls: Tag, wanted: Wanted) -> Tag:
    """Return calls, and text before them if nothing is required; without tools, that alone."""
    if wanted.is_required:
        return calls
    if not wanted.calls:
        return before
    return sequence(before, {"type": "optional", "content": calls})


def _in_tool_call(
    begin: str, end: str, *others: str, separator: str = "\n"
) -> Callable[[Wanted], Tag]:
    """Return what writes each call in a tag of its own; text has no other beginnings of calls."""

    def made(wanted: Wanted) -> Tag:
        if not wanted.calls:
            return text("<tool_call>", *others)
        tags = _calls(wanted, f"<tool_call>{begin}", end)
        if wanted.is_required:
            return _several(tags, separator, wanted)
        return {
            "type": "triggered_tags",
            "triggers": ["<tool_call>"],
            "excludes": list(others),
            "tags": tags,
            "stop_after_first": not wanted.is_parallel,
        }

    return made


def _llama3(wanted: Wanted) -> Tag:
    if not wanted.calls:
        return text('{"name"')
    tags = _calls(wanted, '{"name": "NAME", "parameters": ', "}")
    calls = _several(tags, "; ", wanted)
    if wanted.is_required:
        return calls
    # The model's parser takes every brace for the beginning of a call.
    return one_of(text('{"name"'), sequence(text("{"), calls))


def _mistral(wanted: Wanted) -> Tag:
    identifier = {"type": "regex", "pattern": '(?:, "id": "[A-Za-z0-9]{9}")?'}
    tags = [
        tag(f'{{"name": "{call.name}", "arguments": ', sequence(call.arguments, identifier), "}")
        for call in wanted.calls
    ]
    space = {"type": "regex", "pattern": " ?"}
    several = _several(tags, ", ", wanted)
    calls = sequence(exact("[TOOL_CALLS]"), space, tag("[", several, "]"))
    return _after_text(text("[TOOL_CALLS]"), calls, wanted)


def _one_by_one(opening: str, begin: str, end: str, *others: str) -> Callable[[Wanted], Tag]:
    """Return what writes calls without anything between them, after text if there may be."""

    def made(wanted: Wanted) -> Tag:
        if not wanted.calls:
            return text(opening)
        calls = _several(_calls(wanted, f"{opening}{begin}", end), "", wanted)
        return _after_text(text(opening, *others), calls, wanted)

    return made


_HARMONY_NAMES = ("<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|call|>", "<|return|>")


def _harmony(wanted: Wanted) -> Tag:
    plain = text(*_HARMONY_NAMES)
    thinking = text(*_HARMONY_NAMES, max_tokens=wanted.max_thinking)
    again = "<|end|><|start|>assistant"
    before = one_of(
        tag("<|channel|>analysis<|message|>", thinking, again),
        tag("<|channel|>commentary<|message|>", plain, again),
    )
    last = [
        tag(begin.replace("NAME", call.name), call.arguments, "<|call|>")
        for call in wanted.calls
        for begin in (
            "<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>",
            " to=functions.NAME<|channel|>commentary json<|message|>",
            " to=functions.NAME<|channel|>commentary <|constrain|>json<|message|>",
        )
    ]
    if not wanted.is_required:
        last.append(tag("<|channel|>final<|message|>", plain, "<|return|>"))
    return sequence({"type": "star", "content": before}, one_of(*last))


def _deepseek(begin: str, end: str, separator: str) -> Callable[[Wanted], Tag]:
    def made(wanted: Wanted) -> Tag:
        several = _several(_calls(wanted, f"<｜tool▁call▁begin｜>{begin}", end), separator, wanted)
        calls = tag("<｜tool▁calls▁begin｜>", several, "<｜tool▁calls▁end｜>")
        return _after_text(text("<｜tool▁calls▁begin｜>"), calls, wanted)

    return made


def _kimi_k2(wanted: Wanted) -> Tag:
    section = "<|tool_calls_section_begin|>"
    number = {"type": "regex", "pattern": "0|[1-9][0-9]{0,3}"}  # of the call in the conversation
    after = exact("<|tool_call_argument_begin|>")
    tags = [
        tag(
            sequence(exact(f"<|tool_call_begin|>functions.{call.name}:"), number, after),
            call.arguments,
            "<|tool_call_end|>",
        )
        for call in wanted.calls
    ]
    calls = tag(section, _several(tags, "", wanted), "<|tool_calls_section_end|>")
    return _after_text(text(section), calls, wanted)


def _in_block(begin: str, call_begin: str, call_end: str, end: str) -> Callable[[Wanted], Tag]:
    """Return what writes all calls in one tag; each begins as its tag does, and with a name."""

    def made(wanted: Wanted) -> Tag:
        before = text(begin, call_begin.partition("NAME")[0])
        tags = _calls(wanted, call_begin, call_end)
        calls = tag(f"{begin}\n", _several(tags, "", wanted), end)
        if wanted.is_required:  # templates write line breaks before it
            return sequence({"type": "regex", "pattern": "\n{0,2}"}, calls)
        return _after_text(before, calls, wanted)

    return made


_NAME = r"([\w.-]+)"
_CALLS = "(?:<｜tool▁calls▁begin｜>)?"
_BEGINS = ("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>")
_OF_DEEPSEEK = (*_BEGINS, "<｜tool▁sep｜>", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>")
_ON_ONE_LINE = (", ", ": ")


def _begin(text: str, before: str = "", after: str = "") -> re.Pattern[str]:
    """Return what a call begins with: a text with its name, between other patterns."""
    return re.compile(f"{before}{re.escape(text).replace('NAME', _NAME)}(?={after})")


FORMATS: dict[str, Format] = {
    "qwen": Format(
        _in_tool_call('\n{"name": "NAME", "arguments": ', "}\n</tool_call>"),
        _begin('<tool_call>\n{"name": "NAME", "arguments": '),
        ("<tool_call>",),
        marks=("<tool_call>", "</tool_call>"),
    ),
    "llama3": Format(
        _llama3,
        _begin('{"name": "NAME", "parameters": '),
        ('{"name": "',),
        marks=("<|python_tag|>",),
    ),
    "mistral": Format(
        _mistral,
        _begin('{"name": "NAME", "arguments": ', r"(?:\[TOOL_CALLS\] ?\[|, )"),
        ("[TOOL_CALLS]", ', {"name": "'),
        marks=("[TOOL_CALLS]",),
    ),
    "mistral_v11": Format(
        # A number, "[CALL_ID]" and nine characters, would be a part of the name for vLLM's parser.
        _one_by_one("[TOOL_CALLS]", "NAME[ARGS]", "", "[ARGS]"),
        re.compile(rf"\[TOOL_CALLS\]{_NAME}(?:\[CALL_ID\]\w{{9}})?\[ARGS\]"),
        ("[TOOL_CALLS]",),
        marks=("[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"),
    ),
    "harmony": Format(
        _harmony,
        re.compile(
            rf"(?:<\|channel\|>commentary)? to=functions\.{_NAME}"
            r"(?:<\|channel\|>commentary)? (?:<\|constrain\|>)?json<\|message\|>"
        ),
        ("<|channel|>", " to=functions."),
        content=re.compile(r"<\|channel\|>(?:final|commentary)<\|message\|>(.*?)<\|", re.DOTALL),
        thinking=re.compile(r"<\|channel\|>analysis<\|message\|>(?:(.*?)<\|end\|>|.*)", re.DOTALL),
        marks=(*_HARMONY_NAMES, "<|constrain|>"),
    ),
    "deepseek_v3": Format(
        _deepseek("function<｜tool▁sep｜>NAME\n```json\n", "\n```<｜tool▁call▁end｜>", "\n"),
        _begin("<｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME\n```json\n", _CALLS),
        _BEGINS,
        separators=_ON_ONE_LINE,
        marks=_OF_DEEPSEEK,
    ),
    "deepseek_v31": Format(
        _deepseek("NAME<｜tool▁sep｜>", "<｜tool▁call▁end｜>", ""),
        _begin("<｜tool▁call▁begin｜>NAME<｜tool▁sep｜>", _CALLS),
        _BEGINS,
        separators=_ON_ONE_LINE,
        marks=_OF_DEEPSEEK,
    ),
    "kimi_k2": Format(
        _kimi_k2,
        re.compile(
            r"(?:<\|tool_calls_section_begin\|>)?<\|tool_call_begin\|>"
            rf"functions\.{_NAME}:\d+<\|tool_call_argument_begin\|>"
        ),
        ("<|tool_calls_section_begin|>", "<|tool_call_begin|>"),
        marks=(
            *("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
            *("<|tool_call_section_begin|>", "<|tool_call_section_end|>"),  # vLLM knows these, too
            *("<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"),
        ),
    ),
    "qwen3_coder": Format(
        _in_tool_call("\n<function=NAME>\n", "</function>\n</tool_call>", "<function="),
        _begin("<tool_call>\n<function=NAME>\n"),
        ("<tool_call>",),
        style="qwen_xml",
    ),
    "glm45": Format(
        _in_tool_call("NAME\n", "</tool_call>"),
        _begin("<tool_call>NAME\n"),
        ("<tool_call>",),
        style="glm45_xml",
    ),
    "glm47": Format(
        _in_tool_call("NAME", "</tool_call>", separator=""),
        _begin("<tool_call>NAME", after="<"),
        ("<tool_call>",),
        style="glm_xml",
    ),
    "deepseek_v32": Format(
        _in_block(
            "<｜DSML｜function_calls>",
            '<｜DSML｜invoke name="NAME">\n',
            "</｜DSML｜invoke>\n",
            "</｜DSML｜function_calls>",
        ),
        _begin('<｜DSML｜invoke name="NAME">\n', "(?:<｜DSML｜function_calls>\n)?"),
        ("<｜DSML｜function_calls>", "<｜DSML｜invoke name="),
        style="deepseek_xml",
    ),
    "minimax_m2": Format(
        _in_block(
            "<minimax:tool_call>", '<invoke name="NAME">\n', "</invoke>\n", "</minimax:tool_call>"
        ),
        _begin('<invoke name="NAME">\n', "(?:<minimax:tool_call>\n)?"),
        ("<minimax:tool_call>", "<invoke name="),
        style="minimax_xml",
    ),
    "gemma4": Format(
        _one_by_one("<|tool_call>", "call:NAME", "<tool_call|>"),
        _begin("<|tool_call>call:NAME", after="{"),
        ("<|tool_call>",),
        style="gemma4",
    ),
    "functiongemma": Format(
        _one_by_one("<start_function_call>", "call:NAME", "<end_function_call>"),
        _begin("<start_function_call>call:NAME", after="{"),
        ("<start_function_call>",),
        style="functiongemma",
    ),
}
#: What else the formats are called.
ALIASES = {"hermes": "qwen", "gpt-oss": "harmony", "deepseek": "deepseek_v31"}
ALIASES |= {"qwen3_xml": "qwen3_coder", "deepseekv32": "deepseek_v32", "minimax-m2": "minimax_m2"}
