"""Arguments in pairs: what may be written, and what is read; expected by vLLM's parsers' rules."""

from __future__ import annotations

import pytest
from support.random_walks import is_message

import cfgguide
from cfgguide.errors import SchemaError
from cfgguide.schema.messages.formats import FORMATS
from cfgguide.schema.messages.pair_values import STYLES

#: How each format writes a call of `f` with the argument `a`, as its models' templates do.
CALLS = {
    "qwen3_coder": "<tool_call>\n<function=f>\n<parameter=a>\nVALUE\n</parameter>\n</function>\n"
    "</tool_call>",
    "glm45": "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>VALUE</arg_value>\n</tool_call>",
    "glm47": "<tool_call>f<arg_key>a</arg_key><arg_value>VALUE</arg_value></tool_call>",
    "deepseek_v32": '<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n'
    '<｜DSML｜parameter name="a" string="SAYS">VALUE</｜DSML｜parameter>\n'
    "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    "minimax_m2": '<minimax:tool_call>\n<invoke name="f">\n<parameter name="a">VALUE</parameter>\n'
    "</invoke>\n</minimax:tool_call>",
}


def grammar_of(schema, form, **options):
    parameters = {"type": "object", "properties": {"a": schema}, "required": ["a"], **options}
    return cfgguide.tools([{"name": "f", "parameters": parameters}], format=form, choice="required")


def called(form, text, value):
    says = "true" if isinstance(value, str) else "false"
    return CALLS[form].replace("VALUE", text).replace("SAYS", says)


CASES = [
    # A schema, a text, and the value that it has; ... if it may not be written.
    ({"type": "string"}, "null", "null"),
    ({"type": "string"}, "\n a\n", "\n a\n"),
    ({"type": "string"}, "", ""),
    ({"type": "string"}, '"5" < 6 & \\n', '"5" < 6 & \\n'),
    ({"type": "string", "maxLength": 2}, "äö", "äö"),
    ({"type": "string", "maxLength": 2}, "äöü", ...),
    ({"type": "string", "pattern": "^[a-c]+$", "minLength": 2}, "abc", "abc"),
    ({"type": "string", "pattern": "^[a-c]+$", "minLength": 2}, "a", ...),
    ({"type": "string", "pattern": "^[a-c]+$"}, "abd", ...),
    ({"enum": ["red", "green"]}, "green", "green"),
    ({"enum": ["red", "green"]}, '"red"', ...),
    ({"enum": ["red", "green"]}, "blue", ...),
    ({"enum": ["red", 7, None]}, "7", 7),
    ({"enum": ["red", 7, None]}, "null", None),
    ({"enum": ["7", 7]}, "7", 7),
    ({"type": ["string", "number"], "enum": ["a", 1]}, "1", 1),
    ({"type": ["string", "null"], "enum": ["a"]}, "a", "a"),
    ({"type": ["string", "null"], "enum": ["a"]}, "", ...),
    ({"const": "x"}, "x", "x"),
    ({"type": "integer"}, "12", 12),
    ({"type": "integer"}, '"12"', ...),
    ({"type": "integer"}, "12.0", ...),  # a text for vLLM's parsers
    ({"type": "boolean"}, "true", True),
    ({"type": "boolean"}, "True", ...),
    ({"type": ["string", "null"]}, "null", None),
    ({"type": ["string", "null"]}, "nil", "nil"),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "null", None),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "NULL!", "NULL!"),
    ({"anyOf": [{"type": "string", "maxLength": 1}, {"type": "integer"}]}, "12", 12),
    ({"anyOf": [{"type": "string", "maxLength": 1}, {"type": "integer"}]}, "ab", ...),
    ({"anyOf": [{"const": "a"}, {"pattern": "^b$", "type": "string"}]}, "b", "b"),
    ({"anyOf": [{"type": "string"}, {"const": False}]}, "false", False),
    ({"anyOf": [{"type": "string"}, {"const": False}]}, "true", ...),
    ({"type": ["string", "array"]}, "[1]", [1]),
    ({"type": ["string", "boolean"]}, "true", True),
    ({"type": "object", "properties": {"k": {"enum": ["v"]}}}, '{"k": "v"}', {"k": "v"}),
    ({"type": "object", "properties": {"k": {"enum": ["v"]}}}, '{"k": "w"}', ...),
    ({"type": "array", "items": {"type": "string"}}, '["a", "</b>"]', ["a", "</b>"]),
    ({"$ref": "#/$defs/w"}, "walk", "walk"),
    ({"$ref": "#/$defs/p"}, '{"x": 1}', {"x": 1}),
    ({"anyOf": [{"$ref": "#/$defs/p"}, {"type": "null"}]}, '{"x": 1}', {"x": 1}),
    (True, "anything: 5", "anything: 5"),
    ({}, "5", "5"),
]
DEFINITIONS = {
    "w": {"type": "string", "enum": ["walk", "run"]},
    "p": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
}


@pytest.mark.few(60)
@pytest.mark.parametrize("form", CALLS)
@pytest.mark.parametrize(("schema", "text", "value"), CASES, ids=str)
def test_a_value_is_written_by_its_schema_and_read_back(form, schema, text, value):
    grammar = grammar_of(schema, form, **{"$defs": DEFINITIONS})
    if value is ...:
        assert not any(is_message(grammar, called(form, text, each)) for each in ("", None))
        return
    message = called(form, text, value)
    assert is_message(grammar, message)
    (call,) = grammar.parse(message).calls
    assert (call.arguments, type(call.arguments["a"])) == ({"a": value}, type(value))


@pytest.mark.few(12)
@pytest.mark.parametrize("form", CALLS)
@pytest.mark.parametrize(
    ("types", "text"),
    [
        (["string", "null"], "Null"),
        (["string", "integer"], " 1_0 "),
        (["string", "number"], "1e5 "),
        (["string", "boolean"], " TRUE"),
        (["string", "boolean"], "0"),
        (["string", "object"], ' "a"'),
        (["string", "array"], "NaN"),
    ],
)
def test_no_string_is_one_that_a_parser_reads_as_something_else(form, types, text):
    assert not is_message(grammar_of({"type": types}, form), called(form, text, ""))
    assert is_message(grammar_of({"type": "string"}, form), called(form, text, ""))


@pytest.mark.parametrize(
    ("form", "texts"),
    [
        ("qwen3_coder", ["</parameter>", "a< / parameter >", "<parameter=b>", "</function>"]),
        ("glm45", ["</arg_value>", "x</tool_call>"]),
        ("glm47", ["</arg_value>", "x</tool_call>"]),
        ("deepseek_v32", ["</｜DSML｜parameter>", "</｜DSML｜invoke>"]),
        ("minimax_m2", ["</parameter>", "<parameter name=", "</invoke>"]),
    ],
)
def test_no_string_has_what_ends_it_for_a_parser(form, texts):
    grammar = grammar_of({"type": "string"}, form)
    for text in texts:
        assert not is_message(grammar, called(form, text, ""))
        assert is_message(grammar, called(form, text[:-2].replace("=", ""), ""))


@pytest.mark.parametrize("form", CALLS)
def test_pairs_come_in_order_and_optional_ones_may_be_left_out(form):
    properties = {"a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": "null"}}
    parameters = {"type": "object", "properties": properties, "required": ["b", "d"]}
    grammar = cfgguide.tools(
        [{"name": "f", "parameters": parameters}], format=form, choice="required"
    )
    one = CALLS[form]
    pair = STYLES[FORMATS[form].style]
    begin = next(pair.pair.finditer(one.replace("SAYS", "true"))).start()
    end = one.index(pair.end) + len(pair.end)

    def message(**values):
        written = "".join(
            one[begin:end]
            .replace("<arg_key>a", f"<arg_key>{name}")
            .replace("=a>", f"={name}>")
            .replace('"a"', f'"{name}"')
            .replace("VALUE", text)
            .replace("SAYS", "true" if name in "ad" else "false")
            for name, text in values.items()
        )
        return one[:begin] + written + one[end:]

    for values in ({"b": "1", "d": "x"}, {"a": "x", "b": "1", "c": "null", "d": ""}):
        assert is_message(grammar, message(**values))
        (call,) = grammar.parse(message(**values)).calls
        assert [*call.arguments] == [*values]
        assert call.arguments["b"] == 1
    for values in ({"b": "1"}, {"d": "x", "b": "1"}, {"b": "1", "d": "x", "e": "y"}):
        assert not is_message(grammar, message(**values))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"minProperties": 1}, "minProperties cannot be followed.*whose arguments are JSON"),
        ({"allOf": [{}], "if": {}}, "allOf, if cannot"),
        ({"properties": {"a>b": {}}}, "a name in pairs is a word, not 'a>b'"),
        ({"properties": {"a": {"$ref": "other.json"}}}, "at /f: at /properties/a"),
        ({"properties": 3}, "at /f: at /properties: "),
        ({"properties": {"a": {"anyOf": 3}}}, "at /f: at /properties/a/anyOf"),
        ({"properties": {"a": {"type": 3}}}, "at /f: at /properties/a"),
        ({"properties": {}, "required": 3}, "at /f: at /required"),
        ({"properties": {"a": {"const": "</function>"}}}, "no string that it allows"),
        (
            {"properties": {"a": {"type": "string", "oneOf": [{"minLength": 2}, {}]}}},
            "a string of alternatives",
        ),
        (
            {"properties": {"a": {"type": ["string", "null"], "not": {"const": None}}}},
            "combined with not.*anyOf",
        ),
    ],
)
def test_what_pairs_cannot_say_is_an_error(parameters, message):
    with pytest.raises(SchemaError, match=message):
        cfgguide.tools([{"name": "f", "parameters": parameters}], format="qwen3_coder")


def test_a_grammar_is_no_argument_in_pairs():
    run = {"name": "run", "parameters": {"properties": {"q": cfgguide.regex("[a-z]+")}}}
    with pytest.raises(SchemaError, match="qwen3_coder has no JSON"):
        cfgguide.tools([run], format="qwen3_coder")


@pytest.mark.parametrize("form", CALLS)
def test_each_beginning_of_a_call_tells_what_is_certain(form):
    value = "Rome, Italy"
    grammar = grammar_of({"type": "string"}, form)
    text = called(form, value, value)
    (pair,) = STYLES[FORMATS[form].style].pair.finditer(text)
    seen = []
    for end in range(pair.start(), len(text) + 1):
        reading = grammar.reading.arguments("f")
        reading.read(text[pair.start() : end])
        seen.append(reading.so_far().get("a"))
    shown = [each for each in seen if each is not None]
    assert shown == sorted(shown, key=len)
    assert {*shown} == {value[:n] for n in range(len(value) + 1)}
    whole = grammar.reading.arguments("f")
    n_read = sum(whole.read(character) for character in text[pair.start() :])
    assert whole.value == {"a": value}
    assert n_read > len(value)
