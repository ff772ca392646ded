"""Schemas as types, as shorter schemas and as examples, against `jsonschema` and a reader of types.

A type allows all that its schema allows: it says no condition that the schema has not. A schema
that was made shorter says the same as before. An example is valid.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from support.schemas import is_valid, of_draft, random_schema, random_value, varied_schema
from support.type_notation import type_of

import cfgguide
from cfgguide.errors import SchemaError
from cfgguide.schema.minified import minified
from cfgguide.schema.typescript import typescript

STRING = {"type": "string"}
PERSON: dict[str, Any] = {
    "type": "object",
    "title": "Person",
    "description": "Someone who is named in the text.  It\nhas two lines.",
    "properties": {
        "name": {"type": "string", "title": "Name", "maxLength": 40},
        "born": {"type": "string", "format": "date", "description": "The day, as in a passport."},
        "height": {"type": "number", "exclusiveMinimum": 0, "description": "in metres"},
        "mood": {"enum": ["good", "bad"], "default": "good"},
        "tags": {
            "type": "array",
            "items": {"enum": ["a", "b"]},
            "maxItems": 3,
            "uniqueItems": True,
        },
        "boss": {"anyOf": [{"$ref": "#"}, {"type": "null"}]},
        "no name": {"type": ["integer", "null"], "minimum": 1, "maximum": 5},
    },
    "required": ["name", "mood"],
}
AS_TYPE = """\
// Someone who is named in the text. It has two lines
type Value = {
  name: string, // <= 40 characters
  born?: string, // The day, as in a passport; date
  height?: number, // in metres; > 0
  mood: "good" | "bad", // default "good"
  tags?: ("a" | "b")[], // <= 3 items; all different
  boss?: Value | null,
  "no name"?: integer | null, // 1 to 5
}"""


def test_a_type_has_what_a_schema_tells() -> None:
    assert typescript(PERSON, {}) == AS_TYPE


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (True, "any"),
        ({}, "any"),
        (False, "never"),
        ({"type": ["object", "array"]}, "object | any[]"),
        ({"type": "array", "prefixItems": [STRING, {}], "items": False}, "[string, any]"),
        ({"type": "array", "items": [STRING], "additionalItems": STRING}, "[string, ...string[]]"),
        ({"additionalProperties": {"type": "integer"}}, "{ [name: string]: integer }"),
        ({"patternProperties": {"^x": STRING}}, "{ [name: /^x/]: string }"),
        ({"allOf": [{"properties": {"a": STRING}}, {"properties": {"b": STRING}}]},
         "{ a?: string } & { b?: string }"),
        ({"const": {"a": [1, None]}}, '{"a": [1, null]}'),
        ({"type": "string", "enum": ["x" * 300]}, "... /* 302 characters */"),
        ({"enum": [*range(60), "x", "y"]}, " | ".join(map(str, range(60))) + " | ... /* 2 more */"),
        ({"$ref": "https://example.org/nowhere.json"}, "any"),
        ({"$ref": "#"}, "any"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, "any"),
        ({"properties": {"a": {"$ref": "https://example.org/x"}}}, "{ a?: any }"),
    ],
)  # fmt: skip
def test_what_types_look_like(schema: Any, text: str) -> None:
    assert " ".join(typescript(schema, {}).split()) == text


def test_what_comes_twice_is_written_once() -> None:
    address = {
        "properties": {"street": {**STRING, "description": "with the number"}, "zip": STRING}
    }
    schema = {"properties": {"home": address, "work": address, "short": STRING, "other": STRING}}
    found = typescript(schema, {})
    assert found.count("with the number") == 1
    assert "home?: home" in found
    assert "work?: home" in found
    assert "short?: string" in found
    named = {"properties": {"home": {"$ref": "#/$defs/A"}, "work": {"$ref": "#/$defs/A"}},
             "$defs": {"A": address}}  # fmt: skip
    assert "\ntype A = {" in typescript(named, {})


def test_cycles_of_definitions_are_described_once() -> None:
    tree, leaf = {"$ref": "#/$defs/tree"}, {"$ref": "#/$defs/leaf"}
    defined = {
        "tree": {"properties": {"left": tree, "leaf": leaf}},
        "leaf": {"properties": {"tree": tree}},
    }
    schema = {**tree, "$defs": defined}
    assert typescript(schema, {}) == "type tree = { left?: tree, leaf?: { tree?: tree } }"


def test_documents_of_a_registry_are_read() -> None:
    registry = {"https://example.org/x": {"type": "integer", "description": "a year"}}
    schema = {"properties": {"a": {"$ref": "https://example.org/x"}}}
    assert typescript(schema, registry) == "{\n  a?: integer, // a year\n}"


def test_descriptions_never_end_a_comment_or_a_line() -> None:
    evil = "a */ } | any // b\n\r\u2028\u2029\x85}, x: {"
    schema = {"properties": {"a": {**STRING, "description": evil}},
              "anyOf": [{"properties": {"b": {"const": 1}}, "description": evil, "required": ["b"]},
                        {"properties": {"c": {"const": 1}}, "title": "c"}]}  # fmt: skip
    check = type_of(typescript(schema, {}))
    assert check({"a": "x", "b": 1})
    assert not check({"a": 1, "b": 1})
    assert not check({"c": 2})


def test_long_schemas_are_shortened_and_say_so() -> None:
    inner = {
        "properties": {f"inner{n}": {**STRING, "description": f"{n} " * 60} for n in range(20)}
    }
    schema = {"properties": {f"outer{n}": {**inner, "title": f"T{n}"} for n in range(500)}}
    found = typescript(schema, {}, max_characters=20_000)
    assert len(found) <= 20_000
    assert found.startswith("// max_characters=20000: ")
    assert "outer499?: object" in found
    assert "inner" not in found
    flat = {"properties": {f"outer{n}": STRING for n in range(5_000)}}
    cut = typescript(flat, {}, max_characters=1_000)
    assert len(cut) <= 1_000
    assert "outer0?: string" in cut
    n_lines = cut.count("\n") - 2
    assert cut.endswith(f"// {5_000 + 1 - n_lines} more lines")


def test_descriptions_are_cut_at_sentences_and_words() -> None:
    more = "And then a second sentence that goes on for long. " * 5
    told = [f"First words of {each}. {more}" for each in range(40)]
    schema = {"properties": {f"p{n}": {**STRING, "description": told[n]} for n in range(40)}}
    found = typescript(schema, {})
    assert found.count("// First words of ") == 40
    assert "second" not in found
    assert len(found) < len(json.dumps(schema)) / 3


SCHEMAS = [
    {},
    PERSON,
    {"type": "array", "items": {"type": "integer", "minimum": 17}, "minItems": 4},
    {"type": "object", "properties": {"a": {"minLength": 9, "type": "string"}}, "minProperties": 3},
    {"type": "string", "pattern": "^[A-Z]{3}-[0-9]+$"},
    {"type": "object", "properties": {"a": STRING, "b": STRING}, "oneOf": [
        {"required": ["a"]}, {"required": ["b"]}]},
    {"$defs": {"t": {"type": "object", "properties": {"t": {"$ref": "#/$defs/t"}, "n": STRING}}},
     "type": "array", "items": {"$ref": "#/$defs/t"}, "minItems": 1},
    {"type": "array", "items": STRING, "uniqueItems": True, "minItems": 3},
    {"type": "object", "required": ["a"], "properties": {"a": {"type": "array", "minItems": 2}}},
    {"type": "number", "minimum": 12.25, "maximum": 12.5},
    {"type": "object", "additionalProperties": {"type": "string", "format": "date"}},
    {"type": "array", "prefixItems": [{"const": 1}, {"enum": ["a"]}], "items": False},
    {"type": "object", "properties": {"a": {"examples": [3, "ab"], "type": "string"},
                                      "b": {"default": "bb", "maxLength": 1}}},
]  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS)
def test_examples_are_valid(schema: Any) -> None:
    examples = cfgguide.describe(schema or cfgguide.json_schema({}), "example").split("\n")
    assert 1 <= len(examples) <= 2
    for each in examples:
        assert is_valid(schema, each, formats=True), each


def test_a_typical_value_has_what_is_declared() -> None:
    typical, shortest = cfgguide.describe(PERSON, "example").split("\n")
    assert json.loads(typical).keys() == PERSON["properties"].keys() - {"boss"}  # a Person, too
    assert json.loads(shortest).keys() == {"name", "mood"}
    assert json.loads(typical)["born"] == "2026-01-31"


#: Of JSON Schema Validation, sections 6.2 to 6.5, and Core, sections 10.3.1 and 10.3.2.
KEYWORDS = {
    "number": ("multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"),
    "string": ("maxLength", "minLength", "pattern", "format"),
    "array": ("maxItems", "minItems", "uniqueItems", "items", "prefixItems", "contains"),
    "object": ("required", "properties", "patternProperties", "additionalProperties"),
}


def typed(schema: Any) -> Any:
    """A schema that asks for the one type that its keywords are about, where it names none."""
    if isinstance(schema, list):
        return [typed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kinds = [kind for kind, words in KEYWORDS.items() if not schema.keys().isdisjoint(words)]
    more = {"type": kinds[0]} if len(kinds) == 1 and "type" not in schema else {}
    return {**more, **{name: typed(value) for name, value in schema.items()}}


@pytest.mark.parametrize("seed", range(8))
def test_random_schemas_are_described(seed: int) -> None:
    """What a schema allows, its type allows; the shorter schema says the same of every value."""
    rng, n_valid, n_types = random.Random(seed), 0, 0
    for number in range(60):
        schema = (random_schema, varied_schema)[number % 2](rng)
        if number % 3 == 0:
            schema = of_draft(rng, schema, ("4", "6", "7", "2019-09")[number % 4])
        text, small = typescript(schema, {}), json.loads(minified(schema, {}))
        assert len(json.dumps(small)) <= len(json.dumps(schema))
        if isinstance(schema, dict) and "$schema" in schema:
            small = {**small, "$schema": schema["$schema"]}
        check = type_of(text)
        n_types += text != "any"
        for _ in range(12):
            value = json.dumps(random_value(rng))
            is_allowed = is_valid(schema, value)
            assert is_valid(small, value) == is_allowed, (schema, small, value)
            n_valid += is_allowed
            is_meant = is_allowed and is_valid(typed(schema), value)
            assert not is_meant or check(json.loads(value)), (schema, text, value)
    assert n_valid > 50
    assert n_types > 20


@pytest.mark.parametrize("seed", range(4))
def test_examples_of_random_schemas_are_valid(seed: int) -> None:
    rng, n_examples = random.Random(seed), 0
    for _ in range(30):
        schema = random_schema(rng)
        try:
            grammar = cfgguide.json_schema(schema, tidy=True)
        except SchemaError:  # it allows nothing, or what cannot be guaranteed
            continue
        for each in cfgguide.describe(grammar, "example").split("\n"):
            assert is_valid(schema, each), (schema, each)
            n_examples += 1
    assert n_examples > 20


def test_a_shorter_schema_has_what_tells_something() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://example.org/a",
        "$comment": "internal",
        "title": "A box",
        "properties": {
            "first_name": {"title": "First Name", "type": "string"},
            "title": {"$ref": "#/$defs/used"},
            "$id": {"title": "The number"},
        },
        "$defs": {"used": {"description": "x", "$ref": "#/$defs/also"}, "also": {}, "not": {}},
    }
    assert json.loads(minified(schema, {})) == {
        "title": "A box",
        "properties": {
            "first_name": {"type": "string"},
            "title": {"$ref": "#/$defs/used"},
            "$id": {"title": "The number"},
        },
        "$defs": {"used": {"description": "x", "$ref": "#/$defs/also"}, "also": {}},
    }
    named = {"$id": "https://example.org/a", "properties": {"x": {"$ref": "a#/$defs/b"}},
             "$defs": {"b": {}}}  # fmt: skip
    assert json.loads(minified(named, {})) == named
