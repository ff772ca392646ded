"""Tools with SQL: their messages are those of the other engine, if each query is a sentence.

Messages of the same tools with a JSON Schema for the query come from a pushdown automaton that is
tested by itself. Lark judges the queries, `json` how they are spelled.
"""

from __future__ import annotations

import json
import pickle
import random
import sqlite3

import jsonschema
import pytest
from support.judges import is_written, parses

import cfgguide
from cfgguide.errors import CfgGuideError, GrammarError, SchemaError
from cfgguide.schema.messages.formats import FORMATS, Call, Wanted
from cfgguide.schema.messages.message import Message, ToolCall

SELECT = cfgguide.Grammar(
    'start: "SELECT" (NAME | STAR)\nNAME: /[a-z]+|"[^"]*"/\nSTAR: "*"\n%ignore " "'
)
SPACED = cfgguide.Grammar(  # whose %ignore stays, since Lark takes `SELECT` out of the names
    'start: SELECT NAME\nSELECT: "SELECT"\nNAME: /[A-Za-z]+|"[^"]*"/\n%ignore " "'
)
QUERIES = [
    "SELECT a", 'SELECT "b\\\n"', ' SELECT  "é" ', "SELECT", "select a", "SELECT *",
    'SELECT a"',
]  # fmt: skip
RUN = {"name": "run", "parameters": {"type": "object", "properties": {"query": SELECT}}}
CITY = {"properties": {"city": {"enum": ["Rome", "Oslo"]}}, "required": ["city"], "type": "object"}
CITY["additionalProperties"] = False
WEATHER = {"name": "weather", "parameters": CITY}
OTHER = {"function": {**RUN, "name": "other"}}
TOOLS = {"one": [RUN], "two": [RUN, OTHER], "mixed": [WEATHER, RUN]}
NAMES = sorted(
    [
        *("<tool_call>", "</tool_call>", "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"),
        *("<|channel|>", "<|message|>", "<|constrain|>", "<|start|>", "<|end|>"),
        *("<|call|>", "<|return|>", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
        *("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>"),
    ]
)
N = 256
SPECIAL = {name: N + number for number, name in enumerate(NAMES)}
PIECES = [*(bytes([byte]) for byte in range(N)), *[None] * len(NAMES), None]
EOS = len(PIECES) - 1
WITH = cfgguide.Vocabulary(PIECES, eos_token_ids=EOS, special_tokens=SPECIAL)
WITHOUT = cfgguide.Vocabulary(PIECES, eos_token_ids=EOS)
VOCABULARIES = {"tokens": WITH, "text": WITHOUT}
is_query = parses(SELECT)
pytestmark = pytest.mark.filterwarnings("ignore::cfgguide.errors.VocabularyWarning")


def twin_of(form, tools, choice, parallel):
    """The same tools for the other engine, with some texts for a query."""
    schemas = {}
    for tool in tools:
        tool = tool.get("function", tool)
        schema = CITY if tool is WEATHER else None
        schemas[tool["name"]] = schema or {
            "type": "object",
            "properties": {"query": {"enum": QUERIES}},
            "required": ["query"],
            "additionalProperties": False,
        }
    calls = [
        Call(name, {
            "type": "json_schema",
            "json_schema": schema,
            "any_order": True,
            "separators": [", ", ": "],
        })
        for name, schema in schemas.items()
        if choice in ("auto", "required", name)
    ]  # fmt: skip
    is_required = choice != "auto"
    wanted = Wanted(calls, is_required, parallel and choice in ("auto", "required"))
    return cfgguide.structural_tag(FORMATS[form].tag(wanted))


def decoded(token_ids):
    names = {token_id: name.encode() for name, token_id in SPECIAL.items()}
    return b"".join(names.get(each) or PIECES[each] for each in token_ids).decode()


def sampled(index, rng, n_tokens=400):
    """The tokens of a random message; few of them are backslashes, and many special."""
    guide, token_ids = cfgguide.Guide(index), []
    for left in range(n_tokens, 0, -1):
        allowed = guide.allowed_within(left).tolist()
        special = [each for each in allowed if each not in range(N)]
        rare = [each for each in allowed if each < 128 and each != ord("\\")] or allowed
        token_id = rng.choice(special if special and rng.random() < 0.4 else rare)
        guide.advance(token_id)
        if guide.is_finished:
            break
        token_ids.append(token_id)
    assert guide.is_finished
    return token_ids


def raw_arguments(form, text):
    """What stands for the arguments of each call, and their values."""
    end = 0
    while (found := FORMATS[form].call.search(text, end)) is not None:
        value, end = json.JSONDecoder().raw_decode(text, found.end())
        yield text[found.end() : end], value


def is_expected(form, text, content):
    return (form != "llama3" or "{" not in content) and all(
        "city" in value
        or (raw == json.dumps(value, ensure_ascii=False) and is_query(value["query"]))
        for raw, value in raw_arguments(form, text)
    )


#: Arguments in pairs have no JSON in which a sentence could stand.
WITH_JSON = [name for name, form in FORMATS.items() if form.style is None]


@pytest.mark.slow
@pytest.mark.parametrize("tools", TOOLS)
@pytest.mark.parametrize("vocabulary", VOCABULARIES)
@pytest.mark.parametrize("form", WITH_JSON)
def test_messages_are_those_of_the_other_engine_with_sentences_in_them(form, vocabulary, tools):
    rng = random.Random(form + tools)
    n_calls = 0
    for choice, parallel in (("auto", True), ("auto", False), ("required", True), ("run", True)):
        grammar = cfgguide.tools(TOOLS[tools], format=form, choice=choice, parallel=parallel)
        index = cfgguide.compile(grammar, VOCABULARIES[vocabulary], use_cache=False)
        twin = twin_of(form, TOOLS[tools], choice, parallel)
        other = cfgguide.compile(twin, VOCABULARIES[vocabulary])
        for _ in range(12):
            token_ids = sampled(other, rng)
            text = decoded(token_ids)
            message = grammar.parse(text)
            expected = is_expected(form, text, message.content)
            assert is_written(index, token_ids) == expected, (choice, text)
            n_calls += expected and len(message.calls)
    assert n_calls > 1


@pytest.mark.slow
@pytest.mark.parametrize("tools", TOOLS)
@pytest.mark.parametrize("form", WITH_JSON)
def test_random_messages_have_queries_and_values(form, tools):
    rng = random.Random(form + tools)
    n_calls = 0
    for choice in ("auto", "required"):
        grammar = cfgguide.tools(TOOLS[tools], format=form, choice=choice)
        for vocabulary in (WITH, WITHOUT):
            index = cfgguide.compile(grammar, vocabulary, use_cache=False)
            for _ in range(8):
                text = decoded(sampled(index, rng, 300))
                message = grammar.parse(text)
                assert choice == "auto" or message.calls
                for call in message.calls:
                    if call.name == "weather":
                        jsonschema.validate(call.arguments, CITY)
                    else:
                        assert is_query(call.arguments["query"])
                assert is_expected(form, text, "")
                n_calls += len(message.calls)
    assert n_calls > 10


@pytest.mark.slow
def test_a_message_is_read_back_with_what_sqlite_runs():
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE users (id, name)")
    sql = cfgguide.Grammar.bundled("sql_select")
    tool = {"name": "run-sql", "parameters": {"properties": {"query": sql}}}
    grammar = cfgguide.tools([tool, WEATHER], format="qwen")
    query = "SELECT \"name\"\n  FROM users\n WHERE id = '\\' -- ".removesuffix(" -- ") + " ;"
    calls = [ToolCall("run-sql", {"query": query}), ToolCall("weather", {"city": "Rome"})]
    text = "I look.\n" + "\n".join(
        f'<tool_call>\n{{"name": "{name}", "arguments": {json.dumps(values)}}}\n</tool_call>'
        for name, values in ((call.name, call.arguments) for call in calls)
    )
    assert grammar.parse(text) == Message("I look.\n", calls)
    index = cfgguide.compile(grammar, WITH)
    token_ids = []
    rest = text
    while rest:
        name = next((name for name in NAMES if rest.startswith(name)), None)
        token_ids.append(ord(rest[0]) if name is None else SPECIAL[name])
        rest = rest[len(name or "a") :]
    assert is_written(index, token_ids)
    database.execute(query)
    assert is_written(cfgguide.compile(grammar, WITHOUT), list(text.encode()))
    assert not is_written(
        cfgguide.compile(grammar, WITHOUT), list(text.replace("FROM", "FORM").encode())
    )
    assert index.output_type.parse(text) == Message("I look.\n", calls)


def test_several_arguments_come_in_their_order():
    properties = {"limit": {"type": "integer"}, "query": SELECT, 'the "x"': {"type": "boolean"}}
    tool = {"name": "run", "parameters": {"properties": properties, "required": [*properties]}}
    grammar = cfgguide.tools([tool], format="llama3", choice="required")
    index = cfgguide.compile(grammar, WITHOUT)
    right = {"limit": 3, "query": "SELECT a", 'the "x"': True}
    text = '{"name": "run", "parameters": %s}'
    assert is_written(index, list((text % json.dumps(right)).encode()))
    assert grammar.parse(text % json.dumps(right)).calls == [ToolCall("run", right)]
    for wrong in ({**right, "limit": "3"}, {"query": "SELECT a"}, {**right, "query": "SELECT"}):
        assert not is_written(index, list((text % json.dumps(wrong)).encode()))


def test_a_grammar_that_lark_lets_ignore_everywhere_is_the_only_one():
    tool = {"name": "run", "parameters": {"properties": {"query": SPACED}}}
    index = cfgguide.compile(cfgguide.tools([tool], format="qwen"), WITHOUT)
    call = '<tool_call>\n{"name": "run", "arguments": {"query": "%s"}}\n</tool_call>'
    assert is_written(index, list((call % " SELECT  a ").encode()))
    assert not is_written(index, list((call % "SELECT a").replace('": "', '":  "').encode()))
    with pytest.raises(GrammarError, match="do not ignore the same"):
        cfgguide.tools([tool, WEATHER], format="qwen")


def test_grammars_of_tools_are_values():
    grammar = cfgguide.tools(TOOLS["mixed"], format="qwen")
    assert pickle.loads(pickle.dumps(grammar)) == grammar
    assert grammar == cfgguide.tools(TOOLS["mixed"], format="hermes")
    assert hash(grammar) == hash(cfgguide.tools(TOOLS["mixed"], format="hermes"))
    for other in (
        cfgguide.tools(TOOLS["one"], format="qwen"),
        cfgguide.tools(TOOLS["mixed"], format="qwen", choice="required"),
        cfgguide.tools([WEATHER], format="qwen"),
    ):
        assert grammar != other


@pytest.mark.parametrize(
    ("parameters", "options", "message"),
    [
        ({"properties": {"query": SELECT, "n": {}}, "required": ["query"]}, {}, "all of which"),
        ({"properties": {"query": SELECT}}, {"max_whitespace": 1}, "separators of json.dumps"),
        ({"properties": {"query": SELECT}, "minProperties": 1}, {}, "minProperties"),
        ({"properties": {"q": SELECT}}, {"format": "harmony", "max_thinking": 9}, "not count"),
        ({"properties": {"query": cfgguide.Grammar.bundled("python")}}, {}, "an indenter"),
        ({"properties": {"query": cfgguide.combinators.special(3)}}, {}, "special tokens"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_an_error_that_says_why(parameters, options, message):
    with pytest.raises(CfgGuideError, match=message):
        cfgguide.tools([{"name": "run", "parameters": parameters}], **{"format": "qwen", **options})


def test_thinking_and_grammars_are_refused_together():
    with pytest.raises(SchemaError, match="an answer after thinking is"):
        cfgguide.thinking(cfgguide.tools([RUN], format="qwen"))
