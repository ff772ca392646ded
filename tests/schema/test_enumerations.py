"""Enumerations with arrays and objects: which values they have, and what they cost.

The judge of values is `jsonschema`. What a step costs is counted in calls, not in time.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from itertools import permutations
from types import FrameType
from typing import Any

import pytest
from support.schemas import is_valid, recognizer_of

import cfgguide
from cfgguide.base.limits import Limits
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import SchemaError
from cfgguide.schema import automaton

SCALARS = [0, 1, 1.5, 1.05, 10, 12, -1, True, False, None, "x", "xy", ""]
NAMES = ["a", "b", "xy"]
OTHERS: list[Any] = [
    {"type": ["object", "array", "number"]},
    {"required": ["a"]},
    {"properties": {"a": {"type": "number", "minimum": 1}}},
    {"additionalProperties": {"type": ["integer", "object"]}},
    {"patternProperties": {"^[ab]$": {"type": "string"}}},
    {"properties": {"a": True}, "unevaluatedProperties": False},
    {"anyOf": [{"properties": {"a": True}}, {"items": {"type": "integer"}}]},
    {"propertyNames": {"maxLength": 1}},
    {"dependentRequired": {"a": ["b"]}},
    {"dependentSchemas": {"a": {"required": ["b"]}}},
    {"minProperties": 1, "maxProperties": 2},
    {"items": {"type": ["integer", "array"]}},
    {"prefixItems": [{"type": "integer"}], "unevaluatedItems": {"type": "string"}},
    {"contains": {"type": "string"}, "maxContains": 1},
    {"minItems": 1, "uniqueItems": True},
    {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"type": "array"}},
    {"not": {"required": ["b"]}},
    {"oneOf": [{"required": ["a"]}, {"required": ["b"]}, {"type": "array"}]},
    {"multipleOf": 5},
    {"pattern": "^x"},
]


def random_value(rng: random.Random, depth: int) -> Any:
    """Return a small value."""
    kind = rng.random()
    if not depth or kind < 0.3:
        return rng.choice(SCALARS)
    if kind < 0.75:
        names = rng.sample(NAMES, rng.randint(0, 3))
        return {name: random_value(rng, depth - 1) for name in names}
    return [random_value(rng, depth - 1) for _ in range(rng.randint(0, 3))]


def texts_of(value: Any) -> Iterator[str]:
    """Yield texts of a value, with the members of objects in all orders."""
    if isinstance(value, dict):
        for members in permutations(value.items()):
            yield json.dumps(dict(members), separators=(",", ":"))
    else:
        yield json.dumps(value)


def random_schema(rng: random.Random) -> tuple[Any, list[Any]]:
    """Return an enumeration, alone or beside other keywords, and its values."""
    values = [random_value(rng, 2) for _ in range(rng.randint(1, 6))]
    constants = [{"const": value} for value in values]
    other = rng.choice(OTHERS)
    again = rng.choice(values)
    schemas: list[Any] = [
        {"enum": values},
        {"enum": values, **other},
        {"allOf": [{"enum": values}, other, rng.choice(OTHERS)]},
        {"anyOf": constants, **({} if "anyOf" in other else other)},
        {"oneOf": [*constants, {"enum": [again, random_value(rng, 1)]}]},
        {"allOf": [{"enum": values}, {"not": {"enum": [again]}}]},
        {"anyOf": [{"enum": values}, {"type": "null"}, {"type": "string"}]},
    ]
    return rng.choice(schemas), values


@pytest.mark.parametrize("seed", range(120))
def test_an_enumeration_has_its_values_in_any_order_and_no_others(seed):
    rng = random.Random(seed)
    schema, listed = random_schema(rng)
    values = [random_value(rng, 2) for _ in range(20)]
    texts = [text for value in (*listed, *values) for text in texts_of(value)]
    try:
        recognizer = recognizer_of(json.dumps(schema))
    except SchemaError:
        assert not any(is_valid(schema, text) for text in texts)
        return
    for text in texts:
        after = recognizer.advance(recognizer.initial, text.encode())
        is_read = after is not None and recognizer.is_sentence(after)
        assert is_read == is_valid(schema, text), (schema, text)


def test_a_listed_object_keeps_the_spelling_that_draft_4_has_of_integers():
    recognizer = recognizer_of(
        json.dumps(
            {
                "$schema": "http://json-schema.org/draft-04/schema#",
                "enum": [{"a": 1.0}, {"a": 2.5}],
                "properties": {"a": {"type": "integer"}},
            }
        )
    )
    for text, is_right in ((b'{"a":1}', True), (b'{"a":1.0}', False), (b'{"a":2.5}', False)):
        after = recognizer.advance(recognizer.initial, text)
        assert (after is not None and recognizer.is_sentence(after)) == is_right


@pytest.mark.parametrize("options", [{}, {"tidy": True}])
def test_numbers_in_listed_objects_have_zeros_at_their_end_unless_they_are_tidy(options):
    schema = json.dumps({"enum": [{"a": 1}, {"a": 1.05}, {"a": 0}]})
    recognizer = recognizer_of(schema, **options)
    is_tidy = bool(options)
    for number, is_listed, is_short in (
        ("1", True, True),
        ("1.05", True, True),
        ("0", True, True),
        ("1.0", True, False),
        ("1.00", True, False),
        ("1.050", True, False),
        ("-0", True, False),
        ("1.", False, False),
        ("1.5", False, False),
        ("10", False, False),
        ("-1", False, False),
    ):
        text = json.dumps({"a": 7}).replace("7", number)
        after = recognizer.advance(recognizer.initial, text.encode())
        is_read = after is not None and recognizer.is_sentence(after)
        assert is_read == (is_short if is_tidy else is_listed), number


def test_declared_order_is_that_of_the_listed_objects():
    schema = json.dumps({"enum": [{"a": 1, "b": 2}, {"b": 3, "c": [{"d": 4}]}]})
    recognizer = recognizer_of(schema, order="declared")
    for text, is_right in (
        (b'{"a":1,"b":2}', True),
        (b'{"b":2,"a":1}', False),
        (b'{"b":3,"c":[{"d":4}]}', True),
        (b'{"c":[{"d":4}],"b":3}', False),
        (b'{"b":2,"c":[{"d":4}]}', False),
    ):
        after = recognizer.advance(recognizer.initial, text)
        assert (after is not None and recognizer.is_sentence(after)) == is_right


def small_objects(n: int) -> list[Any]:
    """Return objects that one member would tell apart."""
    return [{"id": number, "name": f"item {number}"} for number in range(n)]


def nested_objects(n: int) -> list[Any]:
    """Return objects that only a member of a member tells apart."""
    return [{"a": {"b": {"c": number}}, "z": [number]} for number in range(n)]


LISTS = {
    "objects": lambda n: ({"enum": small_objects(n)}, small_objects(n)),
    "nested objects": lambda n: ({"enum": nested_objects(n)}, nested_objects(n)),
    "anyOf": lambda n: (
        {"anyOf": [{"const": each} for each in small_objects(n)]},
        small_objects(n),
    ),
    "oneOf": lambda n: (
        {"oneOf": [{"const": each} for each in small_objects(n)]},
        small_objects(n),
    ),
    "objects or null": lambda n: (
        {"anyOf": [{"enum": small_objects(n)}, {"type": "null"}]},
        small_objects(n),
    ),
    "with a type": lambda n: (
        {"type": "object", "required": ["id"], "enum": small_objects(n)},
        small_objects(n),
    ),
    "items": lambda n: (
        {"type": "array", "items": {"enum": small_objects(n)}},
        [[each] for each in small_objects(n)],
    ),
}


def n_calls(schema: Any, value: Any) -> int:
    """Return how many calls it takes to write a value, with a mask before each byte."""
    vocabulary = Vocabulary([bytes((byte,)) for byte in range(256)] + [None], eos_token_ids=256)
    count = 0

    def add(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(add)
    try:
        guide = cfgguide.Guide(cfgguide.compile(cfgguide.json_schema(schema), vocabulary))
        for byte in json.dumps(value, separators=(",", ":")).encode():
            guide.allowed_token_ids()
            guide.advance(byte)
    finally:
        sys.setprofile(before)
    assert guide.is_accepting
    return count


@pytest.mark.parametrize("name", LISTS)
def test_twice_as_many_listed_objects_cost_twice_as_much(name):
    counts = []
    for n in (10, 50, 100):  # the first warms up what all schemas share
        schema, values = LISTS[name](n)
        counts.append(n_calls(schema, values[n // 2]))
    assert counts[2] < 2.1 * counts[1]


def alternatives(n: int) -> Any:
    """Return a schema of which `n` alternatives ask something of one property."""
    pairs = [[{"required": [f"{letter}{number}"]} for letter in "ab"] for number in range(n)]
    return {
        "type": "object",
        "allOf": [{"oneOf": [{"properties": {"p": each}} for each in pair]} for pair in pairs],
    }


def test_too_many_alternatives_about_one_property_are_refused_at_once(monkeypatch):
    unlimited = Limits(max_seconds=10_000)
    cfgguide.json_schema(alternatives(4), limits=unlimited)
    monkeypatch.setattr(automaton, "_MAX_COMBINED", 1_000)
    with pytest.raises(SchemaError, match="at /: 16 alternatives have to hold for one value"):
        cfgguide.json_schema(alternatives(16), limits=unlimited)


@pytest.mark.parametrize("branches", ["anyOf", "oneOf"])
def test_many_listed_objects_beside_an_open_alternative_are_refused_at_once(branches):
    """Each has to be told apart from the others of that alternative."""
    listed = {"enum": [{"id": n} for n in range(600)]}
    for other in ({"type": "object", "required": ["x"]}, {"minProperties": 2}):
        with pytest.raises(SchemaError, match="at /: 600 objects are listed beside an alternative"):
            cfgguide.json_schema({branches: [listed, other]})
    for other in ({"type": "null"}, {"enum": [{"x": n} for n in range(600)]}):
        cfgguide.json_schema({branches: [listed, other]})
