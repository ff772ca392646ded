"""Objects of bare names, as Gemma writes them: what its templates render, and what is read back."""

from __future__ import annotations

import json
import random
from dataclasses import asdict
from itertools import chain, combinations

import jsonschema
import pytest
from support import partial_laws
from support.random_walks import is_message

import cfgguide
from cfgguide.errors import SchemaError
from cfgguide.schema.messages import pairs
from cfgguide.schema.messages.message import Message, ToolCall

BYTES = cfgguide.Vocabulary.of_bytes()
#: How each format writes a call of `f`, and its quotes.
CALLS = {
    "gemma4": ("<|tool_call>call:f{}<tool_call|>", '<|"|>'),
    "functiongemma": ("<start_function_call>call:f{}<end_function_call>", "<escape>"),
}
DEFINITIONS = {
    "w": {"type": "string", "enum": ["walk", "run"]},
    "p": {
        "type": "object",
        "properties": {"y": {"type": "number"}, "x": {"type": "integer"}},
        "required": ["x"],
    },
    "tree": {
        "type": "object",
        "properties": {"under": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
    },
}


def grammar_of(form, properties, *required):
    parameters = {"type": "object", "properties": properties, "required": [*required]}
    tool = {"name": "f", "parameters": {**parameters, "$defs": DEFINITIONS}}
    return cfgguide.tools([tool], format=form, choice="required")


def called(form, arguments):
    """Return a call; in its arguments a backquote stands for the format's quote."""
    call, quote = CALLS[form]
    return call.replace("{}", "{" + arguments.replace("`", quote) + "}")


def rendered(value):
    """Return a value as the templates render it, but for null, which they write as Python does."""
    match value:
        case str():
            return f"`{value}`"
        case dict():
            names = sorted(value, key=str.lower)
            return "{" + ",".join(f"{name}:{rendered(value[name])}" for name in names) + "}"
        case list():
            return "[" + ",".join(map(rendered, value)) + "]"
    return json.dumps(value)


CASES = [
    # A schema, a text, and the value that it has; ... if it may not be written.
    ({"type": "string"}, "`null`", "null"),
    ({"type": "string"}, "`\n a\n`", "\n a\n"),
    ({"type": "string"}, "``", ""),
    ({"type": "string"}, '`"5" < {6},a:[\\n`', '"5" < {6},a:[\\n'),
    ({"type": "string"}, "`a<|`", "a<|"),
    ({"type": "string"}, "a", ...),
    ({"type": "string"}, '"a"', ...),
    ({"type": "string", "maxLength": 2}, "`äö`", "äö"),
    ({"type": "string", "maxLength": 2}, "`äöü`", ...),
    ({"enum": ["red", 7, None]}, "`red`", "red"),
    ({"enum": ["red", 7, None]}, "7", 7),
    ({"enum": ["red", 7, None]}, "`7`", ...),
    ({"enum": ["red", 7, None]}, "null", None),
    ({"const": True}, "true", True),
    ({"type": ["string", "null"], "enum": ["a"]}, "`a`", "a"),
    ({"type": ["string", "null"], "enum": ["a"]}, "null", ...),
    ({"type": ["string", "number"], "enum": ["a", 1]}, "1", 1),
    ({"type": "integer"}, "12", 12),
    ({"type": "integer", "maximum": 11}, "12", ...),
    ({"type": "number"}, "-1.5e-07", -1.5e-07),
    ({"type": "boolean"}, "True", ...),
    ({"type": ["string", "null"]}, "null", None),
    ({"type": ["string", "null"]}, "`nil`", "nil"),
    ({"type": ["string", "null"]}, "`Null`", ...),  # vLLM's parser takes it for null
    ({"type": ["string", "integer"]}, "`5`", ...),
    ({"anyOf": [{"type": "integer"}, {"type": "number"}, {"const": "x"}]}, "1.5", 1.5),
    ({"anyOf": [{"type": "integer"}, {"type": "number"}, {"const": "x"}]}, "`x`", "x"),
    ({"type": "array", "items": {"type": "string"}}, "[`a`,`]`]", ["a", "]"]),
    ({"type": "array", "items": {"type": "string"}}, "[]", []),
    ({"type": "array", "items": {"type": "string"}}, "[`a`,]", ...),
    ({"type": "array", "items": {"type": "string"}}, "[,`a`]", ...),
    ({"type": "array", "items": {"type": "string"}}, "[1]", ...),
    ({"type": "array"}, "[`a`]", ["a"]),
    (
        {"type": "array", "items": {"type": "array", "items": {"type": "null"}}},
        "[[],[null]]",
        [[], [None]],
    ),
    ({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2}, "[]", ...),
    ({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2}, "[1]", [1]),
    ({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}, "[1]", ...),
    ({"type": "array", "items": {"type": "integer"}, "maxItems": 2}, "[1,2]", [1, 2]),
    ({"type": "array", "items": {"type": "integer"}, "maxItems": 2}, "[1,2,3]", ...),
    ({"type": "array", "items": {"type": "integer"}, "maxItems": 0}, "[]", []),
    ({"$ref": "#/$defs/w"}, "`walk`", "walk"),
    ({"$ref": "#/$defs/p"}, "{x:1,y:2}", {"x": 1, "y": 2}),
    ({"$ref": "#/$defs/p"}, "{y:2,x:1}", ...),
    ({"$ref": "#/$defs/p"}, "{y:2}", ...),
    ({"$ref": "#/$defs/p"}, '{"x":1}', ...),
    ({"anyOf": [{"$ref": "#/$defs/p"}, {"type": "null"}]}, "{x:1}", {"x": 1}),
    ({"anyOf": [{"$ref": "#/$defs/p"}, {"type": "null"}]}, "null", None),
    ({"type": "object", "additionalProperties": False}, "{}", {}),
    (True, "`anything: 5`", "anything: 5"),
    ({}, "`5`", "5"),
]


@pytest.mark.few(30)
@pytest.mark.parametrize("form", CALLS)
@pytest.mark.parametrize(("schema", "text", "value"), CASES, ids=str)
def test_a_value_is_written_by_its_schema_and_read_back(form, schema, text, value):
    grammar, message = grammar_of(form, {"a": schema}, "a"), called(form, f"a:{text}")
    assert is_message(grammar, message) == (value is not ...)
    if value is not ...:
        (call,) = grammar.parse(message).calls
        assert (call.arguments, type(call.arguments["a"])) == ({"a": value}, type(value))


@pytest.mark.parametrize("form", CALLS)
def test_no_string_has_what_ends_it_for_a_parser(form):
    grammar = grammar_of(form, {"a": {"type": "string"}}, "a")
    call, quote = CALLS[form]
    begin, end = call.split("call:f{}")
    for mark in (begin, end, quote):
        assert not is_message(grammar, called(form, f"a:`x{mark}y`"))
        assert is_message(grammar, called(form, f"a:`x{mark[:-1]}y`"))


@pytest.mark.parametrize("form", CALLS)
def test_there_is_a_comma_between_each_two_that_come(form):
    properties = {"c": {"type": "null"}, "B": {"type": "integer"}, "d": True, "a": {"const": "x"}}
    written = {"a": "a:`x`", "B": "B:1", "c": "c:null", "d": "d:``"}
    for required in ((), ("c",), ("B", "d")):
        grammar = grammar_of(form, properties, *required)
        for names in chain.from_iterable(combinations(written, n) for n in range(5)):
            message = called(form, ",".join(written[name] for name in names))
            assert is_message(grammar, message) == ({*required} <= {*names}), message
            if {*required} <= {*names}:
                assert [*grammar.parse(message).calls[0].arguments] == [*names]
    grammar = grammar_of(form, properties)
    for text in ("a:`x`B:1", "a:`x`,", ",a:`x`", "a:`x`,,B:1", "B:1,a:`x`", "a:`x`, B:1", "e:1"):
        assert not is_message(grammar, called(form, text))


PROPERTIES = {
    "name": {"type": "string"},
    "Tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z{}]*$"}},
    "age": {"type": "integer", "minimum": 0},
    "at": {"anyOf": [{"$ref": "#/$defs/p"}, {"type": "null"}]},
    "grid": {"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}},
    "who": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"at": {"$ref": "#/$defs/p"}, "how": {"$ref": "#/$defs/w"}},
        },
        "maxItems": 2,
    },
    "e": {"enum": ["here", 7, None, False]},
}


def random_value(schema, rng):
    schema = DEFINITIONS[schema["$ref"][-1]] if "$ref" in schema else schema
    if "enum" in schema:
        return rng.choice(schema["enum"])
    if "anyOf" in schema:
        return random_value(rng.choice(schema["anyOf"]), rng)
    match schema["type"]:
        case "string":
            some = "ab{}" if "pattern" in schema else 'aö,:{}[]<|">e\\\n 1'
            return "".join(rng.choice(some) for _ in range(rng.randrange(6)))
        case "array":
            return [random_value(schema["items"], rng) for _ in range(rng.randrange(3))]
        case "object":
            required = schema.get("required", ())
            return {
                name: random_value(each, rng)
                for name, each in schema["properties"].items()
                if name in required or rng.random() < 0.6
            }
        case "integer":
            return rng.randrange(100)
        case "number":
            return rng.choice([0, -2.5, 1e-7, 3])
        case "boolean":
            return rng.random() < 0.5
    return None


@pytest.mark.parametrize("form", CALLS)
def test_what_a_template_renders_of_random_arguments_is_read_back(form):
    rng = random.Random(form)
    grammar = grammar_of(form, PROPERTIES, "name")
    schema = {"type": "object", "properties": PROPERTIES, "required": ["name"]}
    for _ in range(150):
        value = random_value(schema, rng)
        message = called(form, rendered(value)[1:-1])
        assert is_message(grammar, message), message
        assert grammar.parse(message).calls == [ToolCall("f", value)]


@pytest.mark.parametrize("form", CALLS)
def test_what_may_be_written_is_what_the_schema_allows_and_only_grows(form):
    rng = random.Random(form)
    grammar = grammar_of(form, PROPERTIES, "name")
    index = cfgguide.compile(grammar, BYTES)
    schema = {"type": "object", "properties": PROPERTIES, "required": ["name"]}
    schema |= {"additionalProperties": False, "$defs": DEFINITIONS}
    n_names = 0
    for _ in range(15):
        guide, partials = cfgguide.Guide(index), []
        for left in range(220, 0, -1):
            partials.append(guide.partial())
            allowed = guide.allowed_within(left).tolist()
            marks = [each for each in allowed if each in {*b"<>,:{}[]|"}]
            guide.advance(rng.choice(marks if marks and rng.random() < 0.5 else allowed))
            if guide.is_finished:
                break
        partials.append(guide.partial())
        final = grammar.parse(bytes(guide.token_ids[:-1]).decode())
        partial_laws.check(partials, final, asdict(final))
        for call in final.calls:
            jsonschema.validate(call.arguments, schema)
            n_names += len(call.arguments)
    assert n_names > 20


def test_what_has_come_of_arguments_is_shown():
    grammar = grammar_of("gemma4", {**PROPERTIES, "w": {"$ref": "#/$defs/w"}})
    for text, value, growing in [
        ("a", {}, ()),
        ("age:1", {}, ("age",)),
        ("age:12,", {"age": 12}, ()),
        ("age:12,at:{x:3", {"age": 12, "at": {}}, ("at", "x")),
        ('name:<|"|>Rome<|', {"name": "Rome"}, ("name",)),
        ('Tags:[<|"|>a<|"|>,<|"|>b', {"Tags": ["a"]}, ("Tags", 1)),
        ('w:<|"|>wa', {}, ("w",)),
    ]:
        guide = cfgguide.Guide(grammar, BYTES)
        for byte in f"<|tool_call>call:f{{{text}".encode():
            guide.advance(byte)
        partial = guide.partial()
        assert partial.value == Message("", [ToolCall("f", value)])
        assert partial.growing == ("calls", 0, "arguments", *growing)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"$ref": "#/$defs/tree"}, "a value that holds others of its kind.*arguments are JSON"),
        ({"type": "object"}, "the names in an object have to be declared"),
        (
            {"type": "object", "properties": {"x": {}}, "minProperties": 1},
            "minProperties cannot be followed.*whose arguments are JSON",
        ),
        ({"type": "array", "uniqueItems": True}, "uniqueItems cannot be followed"),
        ({"type": "array", "prefixItems": [{}]}, "prefixItems cannot be followed"),
        ({"const": [1]}, "const cannot be followed"),
        ({"enum": [{"x": 1}, "a"]}, "enum cannot be followed"),
        ({"type": "object", "properties": {"x:y": {}}}, "a name in pairs is a word, not 'x:y'"),
        ({"const": '<|"|>'}, "no string that it allows"),
        ({"type": ["string", "null"], "not": {"type": "null"}}, "/a: .*no value is allowed"),
        ({"type": "null", "enum": [1]}, "no value that it allows can be written"),
        ({"type": "object", "properties": {"x": {"pattern": "("}}}, "/a/properties/x"),
        ({"type": "integer", "minimum": "x"}, "/properties/a"),
        ({"type": "array", "minItems": "x"}, "/properties/a/minItems"),
        ({"type": "array", "items": 3}, "/properties/a/items"),
        ({"type": "object", "properties": 3}, "/properties/a/properties"),
        ({"type": ["array", "null"], "minItems": 1, "maxItems": 0}, "no list has so many items"),
        ({"$ref": "other.json"}, "/properties/a"),
    ],
    ids=str,
)
def test_what_cannot_be_written_is_an_error(schema, message):
    with pytest.raises(SchemaError, match=message):
        grammar_of("gemma4", {"a": schema})


def test_references_that_lead_to_too_much_are_an_error(monkeypatch):
    monkeypatch.setattr(pairs, "_MAX_VALUES", 500)
    definitions = {
        f"d{n}": {
            "type": "object",
            "properties": {each: {"$ref": f"#/$defs/d{n + 1}"} for each in "abcd"},
        }
        for n in range(9)
    }
    definitions["d9"] = {"type": "null"}
    parameters = {"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions}
    with pytest.raises(SchemaError, match="more than 500 values"):
        cfgguide.tools([{"name": "f", "parameters": parameters}], format="gemma4")
