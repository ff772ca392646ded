"""Schemas of all kinds, each with values that it allows, or nearly allows."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import cfgguide
from support.small_tokenizers import standard_library_vocabulary

#: Options of `json_schema` that change where white space stands, and in which order names come.
OPTIONS: list[dict[str, Any]] = [
    {},
    {"max_whitespace": 1},
    {"separators": (", ", ": ")},
    {"order": "declared"},
]

#: The tokens that JSON likes, and parts of the names and words below; single bytes are there too.
_PARTS = (
    *('{"', '"}', '":', '": ', '": "', '","', '", "', '",', ', "', "{}", "[]", "[[", "]]", "],["),
    *("}]", "},", "},{", "[{", '["', '"]', '""', '"a"', '"b"', '"a":', "null", "true", "false"),
    *("nul", "tr", "als", "  ", "\n ", ": ", ", ", " ]", " }", "\\u", "\\u00", "\\n", '\\"'),
    *("\\\\", "ab", "abc", "aa", "aaa", "bc", "ca", "x1", "x", "xy", "é", "éé", "aé", 'é"', "😀"),
    *("10", "12", "00", "-1", ".5", "0.", "1.", "25", "1,", "0]", "1}", 'a"', 'a",', 'ab"', 'b"}'),
    *('"é', '"x', '"ab', "kind", "name", "cat", "dog", "na", "me", "2024-", "-0", "@a", ".b"),
    *('":1', '":1,"', '":{"', '":["', '":"', '"},"', '":null', "\\ud83d", "\\ude00", "e9", "9"),
)


@cache
def small_vocabulary() -> cfgguide.Vocabulary:
    """Return some hundred tokens of one or more bytes, some of them in pieces of characters."""
    pieces = [
        "é".encode()[1:] + b'"',
        "😀".encode()[:2],
        "😀".encode()[2:],
        b'"' + "é".encode()[:1],
    ]
    words = [*(part.encode() for part in _PARTS), *pieces]
    tokens = dict.fromkeys([*(bytes([byte]) for byte in range(256)), *words])
    return cfgguide.Vocabulary([*tokens, None], eos_token_ids=len(tokens))


@cache
def big_vocabulary() -> cfgguide.Vocabulary:
    """Return 32,000 tokens of a tokenizer with bytes."""
    return standard_library_vocabulary()


def spelled(data: bytes, vocabulary: cfgguide.Vocabulary, rng: random.Random) -> list[int]:
    """Return tokens that spell some bytes, in one of the many ways."""
    by_bytes = _by_bytes(vocabulary)
    found = []
    while data:
        known = [data[:n] for n in range(1, 17) if data[:n] in by_bytes]
        token = rng.choice(known)
        found.append(by_bytes[token])
        data = data[len(token) :]
    return found


@cache
def _by_bytes(vocabulary: cfgguide.Vocabulary) -> dict[bytes, int]:
    return {token: each for each, token in enumerate(vocabulary.tokens) if token}


_TREE: Any = {
    "$ref": "#/$defs/t",
    "$defs": {
        "t": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"$ref": "#/$defs/t"}},
            "required": ["a"],
            "additionalProperties": False,
        }
    },
}
_LISTS: Any = {
    "$ref": "#/$defs/l",
    "$defs": {"l": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/l"}}, {"const": 1}]}},
}
_CLOSED: Any = {"type": "object", "additionalProperties": False}
_KINDS: Any = {
    "type": "object",
    "oneOf": [
        {"properties": {"kind": {"const": "cat"}, "a": {"type": "null"}}, "required": ["kind"]},
        {"properties": {"kind": {"const": "dog"}, "a": {"const": 1}}, "required": ["kind", "a"]},
    ],
}

#: By name: a schema, and values that may be of it.
CASES: dict[str, tuple[Any, list[Any]]] = {
    "anything": (True, [{"a": [1, "é\n", None]}, "😀", -1.5, [[], {}]]),
    "null": ({"type": "null"}, [None]),
    "boolean": ({"type": "boolean"}, [True, False]),
    "integer": ({"type": "integer"}, [0, -12, 100]),
    "number": ({"type": "number"}, [0, -1.5, 10.25]),
    "string": ({"type": "string"}, ["", 'a"b\\', "é😀\x01"]),
    "types": ({"type": ["string", "null", "array"]}, ["a", None, [1]]),
    "range": ({"type": "integer", "minimum": -3, "maximum": 12}, [-3, 12, 13, 5]),
    "decimal range": ({"type": "number", "exclusiveMinimum": 0, "maximum": 1.25}, [0, 0.5, 1.25]),
    "multiple": ({"type": "integer", "multipleOf": 12}, [0, 12, 25, 144]),
    "multiple of part": ({"type": "number", "multipleOf": 0.25, "minimum": 1}, [1.25, 0.5, 1.3]),
    "const object": ({"const": {"a": [1, "x"], "b": None}}, [{"a": [1, "x"], "b": None}]),
    "const words": ({"enum": ["a", "ab", "abc", "é", ""]}, ["a", "ab", "abc", "é", "", "b"]),
    "enum mixed": ({"enum": ["a", 1, 1.5, None, True, [1], {"a": 1}, "aa"]}, ["aa", [1], 1.5, 1]),
    "enum numbers": ({"enum": [1, 10, 12, 1.25]}, [1, 10, 12, 1.25]),
    "enum and type": ({"enum": ["a", 1, None], "type": ["string", "null"]}, ["a", None, 1]),
    "pattern": ({"type": "string", "pattern": "^[a-c]+x?$"}, ["abcx", "a", "x", ""]),
    "pattern search": ({"type": "string", "pattern": "ab"}, ["xabx", "ab", "aéab\n", "ba"]),
    "pattern beyond ASCII": ({"type": "string", "pattern": "^[é😀]*$"}, ["é😀é", "", "a"]),
    "pattern ahead": ({"type": "string", "pattern": "^(?!ab)"}, ["ab", "aa", "", "b"]),
    "lengths": ({"type": "string", "minLength": 2, "maxLength": 4}, ["ab", "aé😀b", "a", "aaaaa"]),
    "least length": ({"type": "string", "minLength": 3}, ["abc", "é\nx", "ab"]),
    "most length": ({"type": "string", "maxLength": 2}, ["", "é😀", "abc"]),
    "long": ({"type": "string", "minLength": 30, "maxLength": 33}, ["a" * 31, "aé" * 15]),
    "length and pattern": (
        {"type": "string", "pattern": "^(ab)*$", "minLength": 3, "maxLength": 6},
        ["abab", "ababab", "ab"],
    ),
    "length of repeated": (
        {"type": "string", "pattern": "^(-?[a-c0-9])*$", "minLength": 5, "maxLength": 40},
        ["a-bc10", "-a-b-c"],
    ),
    "not pattern": ({"type": "string", "not": {"pattern": "a"}}, ["bcx", "xa", ""]),
    "date": ({"type": "string", "format": "date"}, ["2024-02-29", "2023-02-29"]),
    "email": ({"type": "string", "format": "email", "maxLength": 12}, ["a@a.b", "x1@ab.ca"]),
    "ipv4": ({"type": "string", "format": "ipv4"}, ["10.0.0.255", "1.2.3"]),
    "object": ({"type": "object"}, [{}, {"a": 1, "b": {"a": []}}]),
    "properties": (
        {"type": "object", "properties": {"a": {"type": "integer"}, "ab": {"type": "null"}}},
        [{"a": 1, "ab": None}, {"ab": None, "abc": "x"}, {"b": 1}],
    ),
    "closed": (
        {**_CLOSED, "properties": {"name": {"type": "string"}, "na": True, "kind": {"const": 1}}},
        [{"name": "a", "na": 1}, {"kind": 1, "name": "x"}, {}],
    ),
    "required": (
        {**_CLOSED, "properties": {"a": {}, "b": {"type": "null"}}, "required": ["b", "a"]},
        [{"a": 1, "b": None}, {"b": None, "a": {}}],
    ),
    "required but not listed": (
        {"type": "object", "required": ["x1", "é"], "properties": {"a": {"const": 1}}},
        [{"x1": 1, "é": 2}, {"a": 1, "é": 2, "x1": []}],
    ),
    "names to escape": (
        {**_CLOSED, "properties": {'a"b': {}, "a\\": {}, "\n": {}, "é😀": {}, "": {}}},
        [{'a"b': 1, "a\\": 2}, {"\n": 1, "é😀": 2, "": 3}],
    ),
    "names nobody may have": (
        {"type": "object", "properties": {"a": False, "ab": {"type": "integer"}}},
        [{"ab": 1}, {"b": 1, "aa": 2}],
    ),
    "additional": (
        {"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "boolean"}},
        [{"a": 1, "b": True}, {"x": False}],
    ),
    "pattern properties": (
        {
            "type": "object",
            "patternProperties": {"^a": {"type": "null"}, "b$": {"type": ["null", "integer"]}},
            "properties": {"abc": True, "b": {"const": 1}},
        },
        [{"a": None, "cb": 1}, {"ab": None, "abc": None, "b": 1}, {"x": []}],
    ),
    "patterns closed": (
        {**_CLOSED, "patternProperties": {"^x[0-9]$": {"const": 1}}, "properties": {"x": {}}},
        [{"x1": 1, "x": 2}, {"x": 1}],
    ),
    "property names": (
        {"type": "object", "propertyNames": {"pattern": "^[a-c]*$", "maxLength": 2}},
        [{"ab": 1, "c": 2}, {}],
    ),
    "property names of enum": (
        {"type": "object", "propertyNames": {"enum": ["a", "ab", "é"]}, "minProperties": 1},
        [{"a": 1, "é": 2}, {"ab": 1, "a": 2, "é": 3}],
    ),
    "counted": (
        {**_CLOSED, "properties": {"a": {}, "b": {}, "c": {}}, "minProperties": 2}
        | {"maxProperties": 2},
        [{"a": 1, "b": 2}, {"c": 1, "a": 2}],
    ),
    "most properties": ({"type": "object", "maxProperties": 2}, [{"a": 1, "b": 2}, {"x": {}}]),
    "dependent required": (
        {"type": "object", "properties": {"a": {}}, "dependentRequired": {"a": ["b"]}},
        [{"a": 1, "b": 2}, {"b": 1, "a": 2}, {"c": 1}],
    ),
    "dependent schemas": (
        {
            "type": "object",
            "dependentSchemas": {"a": {"properties": {"b": {"const": 1}}, "required": ["b"]}},
        },
        [{"a": 1, "b": 1}, {"b": 2, "c": 1}],
    ),
    "unevaluated properties": (
        {
            "type": "object",
            "anyOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"b": True}}],
            "unevaluatedProperties": False,
        },
        [{"a": 1, "b": 2}, {"b": 1}, {"a": 2}],
    ),
    "unevaluated of all": (
        {
            "type": "object",
            "allOf": [{"properties": {"a": {"type": "integer"}}}],
            "properties": {"b": {"type": "null"}},
            "unevaluatedProperties": {"type": "boolean"},
        },
        [{"a": 1, "b": None, "c": True}],
    ),
    "array": ({"type": "array", "items": {"type": "boolean"}}, [[], [True, False]]),
    "bounded array": (
        {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3},
        [[1, 2], [1, 0, 12]],
    ),
    "nested arrays": (
        {
            "type": "array",
            "minItems": 1,
            "items": {"type": "array", "maxItems": 2, "items": {"type": "array", "minItems": 1}},
        },
        [[[], [[1], ["a"]]], [[[[]]]]],
    ),
    "tuple": (
        {"type": "array", "prefixItems": [{"type": "string"}, {"const": 1}], "items": False},
        [["a", 1], ["a"], []],
    ),
    "tuple and more": (
        {"type": "array", "prefixItems": [{"type": "null"}, {}], "items": {"type": "integer"}}
        | {"minItems": 2},
        [[None, "a"], [None, {}, 1, 2]],
    ),
    "items nobody may be": ({"type": "array", "prefixItems": [{}, False]}, [[1], []]),
    "contains": (
        {"type": "array", "items": {"enum": [1, "a", None]}, "contains": {"const": "a"}},
        [["a"], [1, "a", None]],
    ),
    "contains counted": (
        {
            "type": "array",
            "contains": {"type": "integer"},
            "minContains": 2,
            "maxContains": 2,
            "maxItems": 4,
        },
        [[1, "a", 2], [0, 1, None]],
    ),
    "unique": (
        {"type": "array", "items": {"enum": ["a", "b", 1]}, "uniqueItems": True, "minItems": 1},
        [["a", 1], [1, "b", "a"]],
    ),
    "unevaluated items": (
        {
            "type": "array",
            "anyOf": [{"prefixItems": [{"const": 1}]}, {"contains": {"const": 2}}],
            "unevaluatedItems": False,
        },
        [[1], [2, 2], [1, 2]],
    ),
    "any of": (
        {"anyOf": [{"type": "string", "maxLength": 2}, {"minimum": 3}]},
        ["ab", 3, [1], "abc"],
    ),
    "any of objects": (
        {
            "type": "object",
            "anyOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"b": {"const": 2}}}],
        },
        [{"a": 1, "b": 3}, {"a": 3, "b": 2}, {"c": 1}],
    ),
    "one of numbers": ({"oneOf": [{"minimum": 3}, {"type": "integer"}]}, [1, 3.5, 3, 1.5]),
    "one of kinds": (_KINDS, [{"kind": "cat", "a": None}, {"a": 1, "kind": "dog"}]),
    "one of arrays": (
        {"type": "array", "oneOf": [{"items": {"type": "integer"}}, {"minItems": 2}]},
        [[1], ["a", 1], [1, 2], []],
    ),
    "not": ({"not": {"type": ["object", "string"]}}, [1, [], None, [{}]]),
    "not enum": ({"type": "string", "not": {"enum": ["a", "ab"]}}, ["b", "abc", ""]),
    "not required": (
        {"type": "object", "not": {"required": ["a"]}, "properties": {"b": {"const": 1}}},
        [{"b": 1}, {"ab": 2}],
    ),
    "not items": ({"type": "array", "not": {"items": {"type": "integer"}}}, [["a"], [1, "a"]]),
    "if then else": (
        {
            "type": "object",
            "if": {"properties": {"kind": {"const": 1}}, "required": ["kind"]},
            "then": {"required": ["a"]},
            "else": {"properties": {"b": {"type": "null"}}},
        },
        [{"kind": 1, "a": 2}, {"kind": 2, "b": None}, {"a": 1, "kind": 1}],
    ),
    "all of": (
        {
            "allOf": [
                {"type": "object", "properties": {"a": {"minimum": 2}}},
                {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
            ]
        },
        [{"a": 2}, {"b": 1, "a": 12}],
    ),
    "all of words": (
        {"allOf": [{"enum": ["a", "ab", "x"]}, {"pattern": "^a"}, {"minLength": 2}]},
        ["ab"],
    ),
    "tree": (_TREE, [{"a": 1, "b": {"a": 2, "b": {"a": 3}}}, {"b": {"a": 1}, "a": 2}]),
    "lists": (_LISTS, [[[1, []], 1], 1]),
    "what cannot end": (
        {
            "$defs": {"e": {"type": "array", "items": {"$ref": "#/$defs/e"}, "minItems": 1}},
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/e"}, "b": {"type": "array"}},
        },
        [{"b": [1]}, {"c": 1}],
    ),
    "beside a reference": (
        {"$defs": {"s": {"type": "string"}}, "$ref": "#/$defs/s", "minLength": 2},
        ["ab", "é1"],
    ),
    "deep": (
        {"properties": {"a": {"properties": {"a": {"type": "array", "items": _CLOSED}}}}},
        [{"a": {"a": [{}, {}]}}, {"a": {"b": 1}}, 1],
    ),
}
