"""What ends a call for a server's parser, which searches the text, is in no argument of it."""

from __future__ import annotations

import random

import jsonschema
import pytest
from support.published_parsers import MARKS, PARSERS
from support.random_walks import is_message

import cfgguide
from cfgguide.errors import SchemaError
from cfgguide.schema.messages.formats import FORMATS
from cfgguide.schema.messages.message import ToolCall

#: Objects and lists as every format has them; in some they are JSON, between tags or not.
PROPERTIES = {
    "command": {"type": "string"},
    "note": {"type": ["string", "null"]},
    "files": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
    "more": {"type": "object", "properties": {"k": {"type": "string"}}},
}
TYPES = {name: schema["type"] for name, schema in PROPERTIES.items()}
SCHEMA = {
    "type": "object",
    "properties": PROPERTIES,
    "required": ["command"],
    "additionalProperties": False,
}
BYTES = [bytes([byte]) for byte in range(256)]


def grammar_of(form, schema=SCHEMA, **options):
    tools = [{"name": name, "parameters": schema} for name in ("run", "look-up.v2")]
    return cfgguide.tools(tools, format=form, choice="required", **options)


def vocabulary_of(form):
    """Bytes, and tokens that make what ends calls likely: whole, in halves, and in a text."""
    marks = MARKS[form]
    halves = [half for mark in marks for half in (mark[: len(mark) // 2], mark[len(mark) // 2 :])]
    tokens = [*marks, *halves, *(f"x/{mark}y" for mark in marks)]
    known = sorted({each.encode() for each in tokens if len(each.encode()) > 1})
    size = 256 + len(known)
    return cfgguide.Vocabulary([*BYTES, *known, None], eos_token_ids=size)


def written(index, rng, n_tokens):
    """Return a message in which what looks like the end of a call is likelier than all else."""
    guide = cfgguide.Guide(index)
    for left in range(n_tokens, 0, -1):
        allowed = guide.allowed_within(left).tolist()
        assert allowed
        long = [each for each in allowed if each >= len(BYTES)]
        guide.advance(rng.choice(long if long and rng.random() < 0.7 else allowed))
        if guide.is_finished:
            return guide.text.decode()
    raise AssertionError("a message ends within its budget")


def test_each_format_has_a_published_parser():
    assert set(PARSERS) == set(MARKS) == set(FORMATS)


@pytest.mark.few(len(FORMATS))
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("seed", range(3))
def test_a_published_parser_finds_the_calls_that_we_find(form, seed):
    rng, grammar = random.Random(f"{form} {seed}"), grammar_of(form)
    index, n_texts = cfgguide.compile(grammar, vocabulary_of(form)), 0
    for _ in range(20):
        text = written(index, rng, 80)
        ours = grammar.parse(text).calls
        theirs = [ToolCall(*call) for call in PARSERS[form](text, TYPES)]
        assert theirs == ours, text
        for call in ours:
            jsonschema.validate(call.arguments, SCHEMA)
            n_texts += len(call.arguments)
    assert n_texts > 6


#: A call with one argument, a string, as each format writes it; `...` stands for the string.
CALLS = {
    "qwen": '<tool_call>\n{"name": "run", "arguments": {"a": "..."}}\n</tool_call>',
    "llama3": '{"name": "run", "parameters": {"a": "..."}}',
    "mistral": '[TOOL_CALLS][{"name": "run", "arguments": {"a": "..."}}]',
    "mistral_v11": '[TOOL_CALLS]run[ARGS]{"a": "..."}',
    "harmony": "<|channel|>commentary to=functions.run <|constrain|>json<|message|>"
    '{"a": "..."}<|call|>',
    "deepseek_v3": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>run\n```json\n"
    '{"a": "..."}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "deepseek_v31": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>run<｜tool▁sep｜>"
    '{"a": "..."}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "kimi_k2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.run:0"
    '<|tool_call_argument_begin|>{"a": "..."}<|tool_call_end|><|tool_calls_section_end|>',
    "qwen3_coder": "<tool_call>\n<function=run>\n<parameter=a>\n...\n</parameter>\n</function>\n"
    "</tool_call>",
    "glm45": "<tool_call>run\n<arg_key>a</arg_key>\n<arg_value>...</arg_value>\n</tool_call>",
    "glm47": "<tool_call>run<arg_key>a</arg_key><arg_value>...</arg_value></tool_call>",
    "deepseek_v32": '<｜DSML｜function_calls>\n<｜DSML｜invoke name="run">\n'
    '<｜DSML｜parameter name="a" string="true">...</｜DSML｜parameter>\n'
    "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    "minimax_m2": '<minimax:tool_call>\n<invoke name="run">\n<parameter name="a">...</parameter>\n'
    "</invoke>\n</minimax:tool_call>",
    "gemma4": '<|tool_call>call:run{a:<|"|>...<|"|>}<tool_call|>',
    "functiongemma": "<start_function_call>call:run{a:<escape>...<escape>}<end_function_call>",
}
#: The same with an argument of any kind.
WHOLE = {form: text.replace('"..."', "...") for form, text in CALLS.items()}
ONE = {"properties": {"a": {"type": "string"}}, "required": ["a"]}
MARKED = [(form, mark) for form, marks in MARKS.items() for mark in marks]


@pytest.mark.parametrize(("form", "mark"), MARKED)
def test_a_string_goes_on_as_what_ends_a_call_but_does_not_become_it(form, mark):
    head, tail = CALLS[form].split("...")
    vocabulary = vocabulary_of(form)
    guide = cfgguide.Guide(grammar_of(form, ONE), vocabulary)
    for byte in head.encode():
        guide.advance(byte)
    assert not guide.accepts(vocabulary.tokens.index(f"x/{mark}y".encode()))
    for byte in mark.encode()[:-1]:
        guide.advance(byte)
    assert guide.accepts(mark.encode()[-1]) == tail.startswith(mark)  # it is the end of the string
    written = f"{mark[:-1]}y{mark[:-1]}"
    for byte in (written.removeprefix(mark[:-1]) + tail).encode():
        assert guide.allowed_within(200).size
        guide.advance(byte)
    assert guide.is_accepting
    ((name, arguments),) = PARSERS[form](head + written + tail, {"a": "string"})
    assert (name, arguments) == ("run", {"a": written})


@pytest.mark.parametrize(
    ("form", "schema", "value", "is_allowed"),
    [
        ("qwen3_coder", {"type": "string"}, "rm -r x/</tool_call>y", False),
        ("qwen3_coder", {"type": "string"}, "rm -r x/</tool_cal>y", True),
        ("minimax_m2", {"type": "string"}, "rm -r x/</minimax:tool_call>y", False),
        ("qwen3_coder", {"type": "array"}, '["</parameter>"]', False),
        ("qwen3_coder", {"type": "array"}, '["</p>"]', True),
        ("qwen3_coder", {"type": "object"}, '{"</function>": 1}', False),
        ("qwen3_coder", {"enum": ["a", ["</tool_call>"]]}, '["</tool_call>"]', False),
        ("qwen3_coder", {"enum": ["a", ["</tool_call>"]]}, "a", True),
        ("qwen", {"type": "string"}, '"</tool_call>"', False),
        ("qwen", {"type": "string"}, '"</tool_call"', True),
        ("qwen", {}, '[{"a": ["</tool_call>"]}]', False),
        ("qwen", {}, '[{"<tool_call>": 1}]', False),
        ("qwen", {}, '[{"tool_call>": 1, "b": ["x", 1.5, null]}]', True),
        ("qwen", {"enum": ["</tool_call>", "b"]}, '"</tool_call>"', False),
        ("qwen", {"enum": ["</tool_call>", "b"]}, '"b"', True),
        ("qwen", {"type": "string", "pattern": "^.{12}$"}, '"</tool_call>"', False),
        ("qwen", {"type": "string", "pattern": "^.{12}$"}, '"</tool_cal">"', False),
        ("qwen", {"type": "string", "pattern": "^.{12}$"}, '"</tool_cal>>"', True),
        ("kimi_k2", {"type": "string"}, '"a<|tool_call_end|>b"', False),
    ],
)
def test_no_text_in_arguments_has_what_ends_them(form, schema, value, is_allowed):
    parameters = {"properties": {"a": schema}, "required": ["a"]}
    assert is_message(grammar_of(form, parameters), WHOLE[form].replace("...", value)) is is_allowed


@pytest.mark.parametrize(
    ("form", "schema"),
    [
        ("qwen", {"const": "x</tool_call>"}),
        ("qwen", {"type": "string", "pattern": "</tool_call>"}),
        ("qwen", {"type": "object", "required": ["<tool_call>"]}),
        ("mistral", {"enum": ["[TOOL_CALLS]", "a[TOOL_CALLS]b"]}),
        ("qwen3_coder", {"const": "x</tool_call>"}),
        ("qwen3_coder", {"type": "string", "pattern": "<function="}),
        ("minimax_m2", {"const": ["</minimax:tool_call>"]}),
        ("glm47", {"type": "array", "items": {"const": "<arg_key>"}, "minItems": 1}),
        ("gemma4", {"const": "<tool_call|>"}),
    ],
)
def test_arguments_that_have_to_end_their_call_are_refused_before_a_text_begins(form, schema):
    parameters = {"properties": {"a": schema}, "required": ["a"]}
    with pytest.raises(SchemaError, match=r"at /.*(ends a call|can be written)"):
        grammar_of(form, parameters)


def test_a_tool_beside_a_grammar_has_no_argument_that_ends_a_call():
    query = {"name": "ask", "parameters": {"properties": {"q": cfgguide.regex("[a-c]+")}}}
    run = {
        "name": "run",
        "parameters": {"properties": {"a": {"type": "string"}}, "required": ["a"]},
    }
    grammar = cfgguide.tools([query, run], format="qwen", choice="required")
    assert cfgguide.check(grammar, CALLS["qwen"].replace("...", "</tool_call")).is_sentence
    assert not cfgguide.check(grammar, CALLS["qwen"].replace("...", "</tool_call>")).is_sentence
