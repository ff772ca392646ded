"""A dict that is given as a schema is looked at: what is no keyword is told, with its place."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import cfgguide
from cfgguide.errors import SchemaError, SchemaWarning
from cfgguide.output_types import output_type
from cfgguide.schema.json_schema import read_schema

STRING = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "path", "problem"),
    [
        ({"type": "object", "requird": ["a"]}, "/requird", "did you mean 'required'?"),
        ({"properties": {"a": {"typ": "null"}}}, "/properties/a/typ", "did you mean 'type'?"),
        ({"type": "array", "item": STRING}, "/item", "did you mean 'items'?"),
        ({"type": "string", "max_length": 3}, "/max_length", "did you mean 'maxLength'?"),
        ({"type": "string", "maxlength": 3}, "/maxlength", "did you mean 'maxLength'?"),
        ({"type": "integer", "min": 3}, "/min", "did you mean 'minimum'?"),
        ({"type": "integer", "minimun": 3}, "/minimun", "did you mean 'minimum'?"),
        ({"type": "object", "property": {"a": {}}}, "/property", "did you mean 'properties'?"),
        ({"type": "null", "oneof": [{}]}, "/oneof", "did you mean 'oneOf'?"),
        ({"items": {"fromat": "date", **STRING}}, "/items/fromat", "did you mean 'format'?"),
        (
            {"properties": {"name": STRING, "age": {}}, "required": ["age", "nmae"]},
            "/required",
            "'nmae' is no member; did you mean 'name'?",
        ),
        ({"type": "string", "format": "telephone"}, "/format", "'telephone' is not known"),
        (
            {"properties": {"a": {"type": "string", "required": True}}},
            "/properties/a/required",
            "lists the names",
        ),
    ],
)
def test_what_is_no_keyword_is_told(schema: dict[str, Any], path: str, problem: str) -> None:
    with pytest.warns(SchemaWarning, match=problem.replace("?", r"\?")):
        grammar = cfgguide.json_schema(schema)
    assert [(where, problem in why) for where, why in grammar.left_out] == [(path, True)]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "x-order": 1, "order": 2, "hint": "?", "widget": "text", "note": ""},
        {"type": "integer", "format": "int32", "example": 3, "nullable": False},
        {"properties": {"line1": {}, "rest": {}}, "required": ["line2", "other", "lines"]},
        {"title": "a", "description": "b", "default": None, "$comment": "c", "units": "m"},
    ],
)
def test_keywords_of_others_are_no_mistakes(schema: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cfgguide.json_schema(schema).left_out == ()


@pytest.mark.parametrize(
    "wrapped",
    [
        {"type": "json_schema", "json_schema": {"name": "a", "schema": STRING, "strict": True}},
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "a", "schema": STRING},
            }
        },
        {"name": "a", "schema": STRING},
        {"type": "json_schema", "schema": STRING},
        {"format": STRING},
    ],
)
def test_the_schema_of_an_answer_is_unwrapped(wrapped: dict[str, Any]) -> None:
    grammar = output_type(wrapped).grammar
    assert cfgguide.check(grammar, '"a"').is_sentence
    assert not cfgguide.check(grammar, "1").is_sentence


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"name": "string"}, "no keyword of JSON Schema"),
        ({"oneof": [STRING]}, "did you mean 'oneOf'"),
        ({"type": "function", "function": {"name": "f", "parameters": {}}}, "it is a tool"),
        ({"name": "f", "parameters": {"type": "object"}}, "it is a tool"),
        ({"name": "f", "input_schema": {"type": "object"}}, "it is a tool"),
        ({"type": "json_object"}, 'give "json" instead'),
        ({"type": "str"}, "did you mean 'string'"),
        ({"type": ["int", "null"]}, "did you mean 'integer'"),
        ({"type": "Object"}, "did you mean 'object'"),
        ({"type": "bool"}, "did you mean 'boolean'"),
        ({"type": None}, "type is one or more of"),
        ({"type": []}, "type is one or more of"),
        ({"properties": {"a": "string"}}, 'at /properties/a: .*write {"type": "string"}'),
    ],
)
def test_a_dict_that_is_no_schema_is_refused(schema: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        output_type(schema)


def test_a_server_warns_nobody() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grammar, told = read_schema({"type": "string", "format": "telephone"})
    assert len(told) == len(grammar.left_out) == 1
