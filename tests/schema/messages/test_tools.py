"""Calls of tools: conversations that the models' own templates have rendered, and random ones."""

from __future__ import annotations

import dataclasses
import json
import pickle
import random
import re
from pathlib import Path

import jsonschema
import pydantic
import pytest
from support import partial_laws
from support.ci import or_in_ci

import cfgguide
from cfgguide.errors import SchemaError
from cfgguide.output_types import output_type
from cfgguide.schema.messages.formats import ALIASES, FORMATS
from cfgguide.schema.messages.message import Message, ToolCall

CONVERSATIONS = json.loads(
    (Path(__file__).parent / "conversations.json").read_text(encoding="utf-8")
)
TOOLS = CONVERSATIONS["tools"]
NAMES = sorted(
    [
        *("<tool_call>", "</tool_call>", "<think>", "</think>", "[TOOL_CALLS]", "[ARGS]"),
        *("[CALL_ID]", "<|channel|>", "<|message|>", "<|constrain|>", "<|start|>", "<|end|>"),
        *("<|call|>", "<|return|>", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
        *("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>"),
        *("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>"),
        *("<|tool_call_argument_begin|>", "<|tool_call_end|>", "<arg_key>", "</arg_key>"),
        *("<arg_value>", "</arg_value>", "｜DSML｜", "<minimax:tool_call>", "</minimax:tool_call>"),
        *("<|tool_call>", "<tool_call|>", '<|"|>', "<|channel>", "<channel|>", "<escape>"),
        *("<start_function_call>", "<end_function_call>"),
    ]
)
N = 256
SPECIAL = {name: N + number for number, name in enumerate(NAMES)}
EOS = N + len(NAMES)
BYTES = [bytes([byte]) for byte in range(N)]
WITH = cfgguide.Vocabulary(
    [*BYTES, *[None] * (len(NAMES) + 1)], eos_token_ids=EOS, special_tokens=SPECIAL
)
WITHOUT = cfgguide.Vocabulary([*BYTES, *[None] * (len(NAMES) + 1)], eos_token_ids=EOS)
_NAME = re.compile("(" + "|".join(map(re.escape, NAMES)) + ")")


def encoded(text, vocabulary):
    """Return the tokens of a text: names of special tokens are tokens, if there are any."""
    if vocabulary is WITHOUT:
        return list(text.encode())
    found = []
    for place, piece in enumerate(_NAME.split(text)):
        found += [SPECIAL[piece]] if place % 2 else list(piece.encode())
    return found


def decoded(token_ids):
    names = {token_id: name.encode() for name, token_id in SPECIAL.items()}
    return b"".join(
        names.get(each, BYTES[each] if each < N else b"") for each in token_ids
    ).decode()


def message_of(case):
    calls = [ToolCall(name, arguments) for name, arguments in case["calls"]]
    return Message(case["content"], calls, case["thinking"])


def written(case):
    """Return the text of a case without numbers of calls, which are read and never written."""
    return re.sub(r"\[CALL_ID\]\w{9}(?=\[ARGS\])", "", case["text"])


def grammar_of(case, **options):
    grammar = cfgguide.tools(TOOLS, format=case["format"], **options)
    if "<|channel>thought" in case["text"]:
        return cfgguide.thinking(grammar, opening="<|channel>thought\n", closing="<channel|>")
    return cfgguide.thinking(grammar) if "<think>" in case["text"] else grammar


@pytest.mark.few(80)
@pytest.mark.parametrize("vocabulary", [WITH, WITHOUT], ids=["tokens", "text"])
@pytest.mark.parametrize(
    "case", CONVERSATIONS["cases"], ids=lambda case: f"{case['template']}-{case['text'][-20:]!a}"
)
def test_what_a_template_renders_is_a_message_and_is_parsed_back(case, vocabulary):
    grammar = grammar_of(case)
    guide = cfgguide.Guide(grammar, vocabulary)
    for token_id in encoded(written(case), vocabulary):
        guide.advance(token_id)
    assert guide.is_accepting
    message = grammar.parse(case["text"])
    assert message == grammar.parse(written(case))
    breaks = message.content[len(case["content"]) :]  # before a call
    assert breaks in (("", "\n", "\n\n") if case["calls"] else ("",))
    assert message == message_of({**case, "content": case["content"] + breaks})


@pytest.mark.parametrize("case", CONVERSATIONS["cases"][::5], ids=lambda case: case["template"])
def test_what_is_required_or_forbidden_is(case):
    n_calls, token_ids = len(case["calls"]), encoded(written(case), WITH)
    choices = {
        "required": n_calls > 0 and (case["format"] == "harmony" or not case["content"]),
        "none": n_calls == 0,
        "find-notes.v2": [name for name, _ in case["calls"]] == ["find-notes.v2"]
        and (case["format"] == "harmony" or not case["content"]),
    }
    for choice, expected in choices.items():
        guide = cfgguide.Guide(grammar_of(case, choice=choice), WITH)
        is_accepted = True
        for token_id in token_ids:
            is_accepted = is_accepted and guide.accepts(token_id)
            if is_accepted:
                guide.advance(token_id)
        assert (is_accepted and guide.is_accepting) == expected, choice
    guide = cfgguide.Guide(grammar_of(case, parallel=False), WITH)
    for token_id in token_ids:
        if not guide.accepts(token_id):
            assert n_calls > 1
            break
        guide.advance(token_id)
    else:
        assert n_calls < 2


def test_calls_of_mistral_have_no_number_which_parsers_would_take_for_a_part_of_the_name():
    guide = cfgguide.Guide(cfgguide.tools(TOOLS, format="mistral_v11", choice="required"), WITH)
    for token_id in encoded("[TOOL_CALLS]get_weather", WITH):
        guide.advance(token_id)
    assert decoded(guide.allowed_token_ids().tolist()) == "[ARGS]"


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("choice", ["auto", "required"])
def test_random_messages_have_calls_that_the_schemas_allow(form, choice):
    rng = random.Random(form + choice)
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}
    grammar = cfgguide.tools(TOOLS, format=form, choice=choice, max_whitespace=1)
    index = cfgguide.compile(grammar, WITH)
    n_calls = 0
    for _ in range(25):
        guide, token_ids = cfgguide.Guide(index), []
        for left in range(200, 0, -1):
            allowed = guide.allowed_within(left)
            special = [each for each in allowed.tolist() if each >= N]
            token_id = int(rng.choice(special if special and rng.random() < 0.3 else allowed))
            guide.advance(token_id)
            if guide.is_finished:
                break
            token_ids.append(token_id)
        assert guide.is_finished
        message = grammar.parse(decoded(token_ids))
        assert choice == "auto" or message.calls
        for call in message.calls:
            jsonschema.validate(call.arguments, schemas[call.name])
        n_calls += len(message.calls)
    # Some have no token to begin a call.
    assert n_calls > 3 or (choice == "auto" and form in ("llama3", "deepseek_v32"))


def test_thinking_of_harmony_has_a_limit():
    rng = random.Random(3)
    index = cfgguide.compile(cfgguide.tools(TOOLS, format="gpt-oss", max_thinking=5), WITH)
    for _ in range(40):
        guide = cfgguide.Guide(index)
        for token_id in encoded("<|channel|>analysis<|message|>", WITH):
            guide.advance(token_id)
        n_tokens = 0
        while SPECIAL["<|end|>"] not in guide.token_ids:
            guide.advance(int(rng.choice(guide.allowed_token_ids())))
            n_tokens += 1
        assert n_tokens <= 5 + 3 + 1  # of a character that has begun, and the end


def test_models_of_pydantic_are_tools():
    pydantic = pytest.importorskip("pydantic")

    class Add(pydantic.BaseModel):
        a: int
        b: int = 0

    grammar = cfgguide.tools([Add], format="hermes", choice="required", order="declared")
    text = '<tool_call>\n{"name": "Add", "arguments": {"a": 1, "b": 2}}\n</tool_call>'
    guide = cfgguide.Guide(grammar, WITHOUT)
    for byte in text.encode():
        guide.advance(byte)
    assert guide.is_accepting
    assert grammar.parse(text).calls == [ToolCall("Add", {"a": 1, "b": 2})]


def test_grammars_of_tools_are_equal_and_pickled():
    grammar = cfgguide.tools(TOOLS, format="qwen")
    assert pickle.loads(pickle.dumps(grammar)) == grammar == cfgguide.tools(TOOLS, format="hermes")
    assert hash(grammar) == hash(cfgguide.tools(TOOLS, format="qwen"))
    others = [
        cfgguide.tools(TOOLS, format="qwen", choice="required"),
        cfgguide.tools(TOOLS[:1], format="qwen"),
        cfgguide.thinking(grammar),
        cfgguide.structural_tag(json.loads(grammar.schema)),
    ]
    assert all(other != grammar for other in others)


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ([], {}, "no tools"),
        (TOOLS, {"format": "unknown"}, "there is qwen"),
        (TOOLS, {"choice": "other"}, "choice is 'other'"),
        (TOOLS, {"max_thinking": 3}, r"thinking\(tools"),
        (TOOLS, {"order": "sorted"}, "order"),
        ([{"name": "a b"}], {}, "the name of a tool"),
        ([{"parameters": {}}], {}, "the name of a tool"),
        ([1], {}, "a tool is"),
        ([{"name": "a", "parameters": 1}], {}, "a JSON Schema"),
        (
            [{"name": "a", "parameters": {"type": "string"}}],
            {"choice": "none"},
            r"the type 'string': say \{\"type\": \"object\", \"properties\"",
        ),
        ([{"name": "a", "parameters": {"type": ["object", "null"]}}], {}, None),
        ([{"name": "a"}, {"name": "b"}, {"name": "a"}], {}, "2 tools are called 'a'.*rename"),
        (TOOLS, {"choice": {"type": "function", "function": {"name": "get_weather"}}}, None),
        (TOOLS, {"choice": {"type": "function", "function": {"name": "f"}}}, "choice is 'f'"),
        (TOOLS, {"choice": {"name": "get_weather", "type": "function"}}, "choice is {'name'"),
        (TOOLS, {"choice": None}, "choice is None; it is auto, required, none, the name"),
        (
            [{"name": "a", "parameters": {"required": ["x"], "properties": {"x": False}}}],
            {},
            "no v",
        ),
    ],
)
def test_wrong_tools_are_errors_that_say_what_is_wrong(given, options, message):
    options = {"format": "qwen", **options}
    if message is None:
        cfgguide.tools(given, **options)
        return
    with pytest.raises(SchemaError, match=message):
        cfgguide.tools(given, **options)


def test_a_choice_of_openai_is_that_of_a_name():
    named = {"type": "function", "function": {"name": "get_weather"}}
    grammars = [cfgguide.tools(TOOLS, format="qwen", choice=c) for c in (named, "get_weather")]
    assert grammars[0] == grammars[1]


def test_each_alias_is_that_of_a_format():
    assert set(ALIASES.values()) <= set(FORMATS)


class Pick(pydantic.BaseModel):
    one: list[int]


@pytest.mark.parametrize(
    ("answer", "text", "value"),
    [
        ({"type": "integer"}, "12", 12),
        (Pick, '{"one": [1]}', Pick(one=[1])),
        (re.compile("[a-c]+"), "abc", "abc"),
        (re.compile(r"(?x) [a-c]\w # é\n", re.I), "Aé", "Aé"),  # as `re` has it
        (["yes", "no"], "no", "no"),
        (None, "Anything.", Message("Anything.", [], "So < 3.")),
        (cfgguide.json_schema({"type": "boolean"}), "true", True),
        (cfgguide.json_schema({"type": "array"}, separators=(",  ", ":")), "[1,  2]", [1, 2]),
    ],
    ids=str,
)
@pytest.mark.parametrize("vocabulary", [WITH, WITHOUT], ids=["tokens", "text"])
def test_an_answer_follows_thinking(answer, text, value, vocabulary):
    grammar = cfgguide.thinking(answer, is_optional=True)
    for before in ("", "<think>\nSo < 3.\n</think>\n\n", "<think></think>"):
        guide = cfgguide.Guide(grammar, vocabulary)
        for token_id in encoded(before + text, vocabulary):
            guide.advance(token_id)
        assert guide.is_accepting
    said = f"<think>\nSo < 3.\n</think>\n\n{text}"
    assert grammar.parse(said) == value
    assert output_type(grammar).thinking_of(said) == "So < 3."
    again = pickle.loads(pickle.dumps(grammar))
    assert (again, again.parse(said)) == (grammar, value)
    inside = cfgguide.thinking(answer, is_open=True)
    guide = cfgguide.Guide(inside, vocabulary)
    for token_id in encoded(f"So.</think>{text}", vocabulary):
        guide.advance(token_id)
    assert guide.is_accepting
    found = inside.parse(f"So < 3.</think>{text}")
    assert found == value


@pytest.mark.parametrize(
    ("answer", "options", "message"),
    [
        (object(), {}, "an answer after thinking is"),
        ({}, {"closing": ""}, "are texts"),
        (cfgguide.thinking({}), {}, "already"),
        ({}, {"max_tokens": -1}, "max_tokens"),
    ],
)
def test_wrong_answers_are_errors(answer, options, message):
    with pytest.raises(SchemaError, match=message):
        cfgguide.thinking(answer, **options)


# --- Beginnings of messages ----------------------------------------------------------------------


def partials_of(grammar, token_ids, vocabulary):
    """The values of the beginnings of a message, token by token, and of the whole."""
    guide = cfgguide.Guide(grammar, vocabulary)
    for token_id in [*token_ids, EOS]:
        yield guide.partial()
        guide.advance(token_id)
    yield guide.partial()


@pytest.mark.few(50)
@pytest.mark.parametrize(
    "vocabulary",
    [
        pytest.param(WITH, id="tokens"),
        pytest.param(WITHOUT, id="text", marks=pytest.mark.slow),  # as long as all others here
    ],
)
@pytest.mark.parametrize(
    "case", CONVERSATIONS["cases"], ids=lambda case: f"{case['template']}-{case['text'][-20:]!a}"
)
def test_no_beginning_of_what_a_template_renders_contradicts_the_whole(case, vocabulary):
    grammar = grammar_of(case)
    token_ids, final = encoded(written(case), vocabulary), grammar.parse(written(case))
    partials = partials_of(grammar, token_ids, vocabulary)
    partial_laws.check(partials, final, dataclasses.asdict(final))


@pytest.mark.parametrize(
    ("form", "text", "message", "growing"),
    [
        ("qwen", "I look. <tool_", Message("I look. "), ("content",)),
        ("qwen", '<tool_call>\n{"name": "get_wea', Message(), ("content",)),
        (
            "qwen",
            'So.<tool_call>\n{"name": "get_weather", "arguments": {"city": "Ro',
            Message("So.", [ToolCall("get_weather", {"city": "Ro"})]),
            ("calls", 0, "arguments", "city"),
        ),
        (
            "mistral_v11",
            '[TOOL_CALLS]get_weather[ARGS]{"city": "Rome"}',
            Message("", [ToolCall("get_weather", {"city": "Rome"})]),
            ("calls",),
        ),
        ("harmony", "<|channel|>analysis<|message|>We n", Message("", [], "We n"), ("thinking",)),
        ("harmony", "<|channel|>final<|message|>He<", Message("He"), ("content",)),
        ("harmony", "<|channel|>commentary to=functions.get", Message(), ()),
    ],
)
def test_what_of_a_message_is_shown(form, text, message, growing):
    guide = cfgguide.Guide(cfgguide.tools(TOOLS, format=form), WITHOUT)
    for byte in text.encode():
        guide.advance(byte)
    partial = guide.partial()
    assert (partial.value, partial.growing) == (message, growing)


def test_what_is_complete_in_a_message_is_told():
    reading = output_type(cfgguide.tools(TOOLS, format="qwen")).reading()
    reading.feed('So.<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome", "d')
    partial = reading.partial(None, None)
    assert partial.is_complete("content")
    assert partial.is_complete("calls", 0, "name")
    assert partial.is_complete("calls", 0, "arguments", "city")
    assert not partial.is_complete("calls")
    assert not partial.is_complete("calls", 0, "arguments")


def test_an_answer_without_thinking_may_have_its_closing_tag_in_a_text():
    grammar = cfgguide.thinking({"type": "string"}, is_optional=True)
    assert cfgguide.check(grammar, '"a</think>b"').is_sentence
    assert grammar.parse('"a</think>b"') == "a</think>b"
    assert grammar.parse('<think>So.</think>"a</think>b"') == "a</think>b"


def test_an_answer_after_thinking_grows_as_its_type():
    reading = output_type(cfgguide.thinking(Pick)).reading()
    seen = []
    for piece in ("<thi", "nk>\nSo", ".\n</th", "ink>\n", '\n{"one": [', "1, ", "2]}"):
        reading.feed(piece)
        partial = reading.partial(None, None)
        seen.append((partial.thinking, partial.value and partial.value.one, partial.growing))
    assert seen == [
        ("", None, ("thinking",)),
        ("So", None, ("thinking",)),
        ("So.", None, ("thinking",)),
        ("So.", None, ()),
        ("So.", [], ("one", 0)),
        ("So.", [1], ("one", 1)),
        ("So.", [1, 2], None),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
def test_no_beginning_of_a_random_message_contradicts_the_whole(form):
    rng = random.Random(form)
    grammar = cfgguide.tools(TOOLS, format=form, max_whitespace=1)
    index, n = cfgguide.compile(grammar, WITH), or_in_ci(500, 6)
    for _ in range(n):
        guide, partials = cfgguide.Guide(index), []
        for left in range(60, 0, -1):
            partials.append(guide.partial())
            allowed = guide.allowed_within(left)
            special = [each for each in allowed.tolist() if each >= N]
            guide.advance(int(rng.choice(special if special and rng.random() < 0.3 else allowed)))
            if guide.is_finished:
                break
        partials.append(guide.partial())
        final = grammar.parse(decoded(guide.token_ids[:-1]))
        partial_laws.check(partials, final, dataclasses.asdict(final))
