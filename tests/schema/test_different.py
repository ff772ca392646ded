"""Arrays of different values, and objects whose names are counted, against `jsonschema`."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest
from support.schema_cases import small_vocabulary
from support.schemas import is_read, is_valid

import cfgguide
from cfgguide import json_schema

_FLAGS = {"type": "object", "properties": {"a": {"type": "boolean"}}, "additionalProperties": False}
SCHEMAS: dict[str, Any] = {
    "anything": {"type": "array", "uniqueItems": True, "maxItems": 3},
    "objects": {"type": "array", "uniqueItems": True, "items": {"type": "object"}},
    "few objects": {"type": "array", "uniqueItems": True, "items": _FLAGS},
    "all of few objects": {"type": "array", "uniqueItems": True, "items": _FLAGS, "minItems": 3},
    "pairs": {
        "type": "array",
        "uniqueItems": True,
        "items": {"type": "array", "items": {"enum": [0, 1]}, "minItems": 2, "maxItems": 2},
    },
    "inside": {"type": "array", "items": {"type": "array", "uniqueItems": True}},
    "contains": {"type": "array", "uniqueItems": True, "contains": {"const": [1]}},
    "at least two names": {"type": "object", "minProperties": 2, "properties": {"a": {}}},
    "at most one name": {"type": "object", "maxProperties": 1},
    "more than one name": {"type": "object", "not": {"maxProperties": 1}},
    "names of a pattern": {
        "type": "object",
        "patternProperties": {"^[ab]$": {}},
        "additionalProperties": False,
        "minProperties": 2,
    },
}
_ITEMS = [
    0,
    1,
    True,
    None,
    "a",
    [],
    [0],
    [1],
    [0, 1],
    [1, 0],
    [1, 1],
    {},
    {"a": True},
    {"a": False},
]


def _values(rng: random.Random) -> list[Any]:
    lists = [list(rng.choices(_ITEMS, k=rng.randrange(5))) for _ in range(60)]
    lists += [[each] for each in lists[:20]]
    names = [
        dict.fromkeys(names, 1) for n in range(4) for names in itertools.combinations("abc", n)
    ]
    return [*lists, [{"a": True}, {"a": False}, {}], *names]


@pytest.mark.parametrize("name", SCHEMAS)
def test_verdicts_are_those_of_jsonschema(name: str) -> None:
    schema = SCHEMAS[name]
    for value in _values(random.Random(name)):
        text = json.dumps(value)
        assert is_read(json.dumps(schema), text) == is_valid(schema, text), text


@pytest.mark.parametrize("name", SCHEMAS)
def test_texts_that_are_written_token_by_token_are_valid(name: str) -> None:
    schema, rng = SCHEMAS[name], random.Random(name)
    index = cfgguide.compile(json_schema(schema, max_whitespace=0), small_vocabulary())
    for _ in range(6):
        guide = cfgguide.Guide(index)
        for _ in range(25):
            if guide.is_finished:
                break
            guide.advance(rng.choice(guide.allowed_token_ids().tolist()))
        text = guide.text if guide.is_finished else guide.text + _ending(guide)
        assert is_valid(schema, text.decode()), text


def _ending(guide: cfgguide.Guide) -> bytes:
    tokens = guide.index.vocabulary.tokens
    ids = guide.shortest_completion()
    return b"".join(tokens[token_id] or b"" for token_id in ids)


def test_equal_values_written_otherwise_do_not_come_twice() -> None:
    schema = {"type": "array", "uniqueItems": True, "items": {"type": "object"}}
    for first, second in (('{"a":1,"b":2}', '{"b":2,"a":1}'), ('{"a":"b"}', '{"a": "b"}')):
        assert not is_read(json.dumps(schema), f"[{first},{second}]")


def test_an_array_of_more_values_than_there_are_is_refused() -> None:
    schema = {"type": "array", "uniqueItems": True, "items": _FLAGS, "minItems": 4}
    with pytest.raises(cfgguide.errors.SchemaError, match=r"no value is allowed|suffice"):
        json_schema(schema)
