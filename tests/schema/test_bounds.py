"""Schemas of strangers: each is taken or refused within bounds, and another thread may give up."""

from __future__ import annotations

import threading
import time
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest

import cfgguide
from cfgguide import Limits, json_schema
from cfgguide.errors import SchemaError
from cfgguide.schema.schema_grammar import SchemaGrammar

MANY_PATTERNS = {
    "type": "object",
    "patternProperties": {
        f"a.*{chr(98 + i)}": {"type": "integer", "minimum": i} for i in range(12)
    },
}


def referring(n: int, keyword: str) -> dict[str, Any]:
    """Return a schema in which each of `n` definitions refers to the one below twice."""
    definitions: dict[str, Any] = {"d0": {"type": "integer"}}
    for number in range(n):
        below = {"$ref": f"#/$defs/d{number}"}
        definitions[f"d{number + 1}"] = {keyword: [below, below]}
    return {"$defs": definitions, "$ref": f"#/$defs/d{n}"}


def begin(grammar: SchemaGrammar) -> int:
    """Return how many tokens may begin a text, and come inside of an object."""
    guide = cfgguide.Guide(cfgguide.compile(grammar, cfgguide.Vocabulary.of_bytes([])))
    n = len(guide.allowed_token_ids())
    if guide.accepts(ord("{")):
        guide.advance(ord("{"))
        n += len(guide.allowed_token_ids())
    return n


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": list(range(5_000))},
        {"enum": [number / 8 for number in range(-2_000, 2_000)]},
        referring(40, "anyOf"),
        referring(40, "allOf"),
    ],
    ids=["integers", "fractions", "anyOf", "allOf"],
)
def test_large_schemas_are_taken(schema: Any) -> None:
    assert begin(json_schema(schema))


def test_what_takes_too_long_is_given_up() -> None:
    began = time.thread_time()
    with pytest.raises(SchemaError, match=r"more than 0\.3 seconds"):
        begin(json_schema(MANY_PATTERNS, limits=Limits(max_seconds=0.3)))
    assert time.thread_time() - began < 30, "it is bounded at all"


def test_another_thread_may_give_up() -> None:
    cancelled = threading.Event()
    timer = threading.Timer(0.2, cancelled.set)
    timer.start()
    with pytest.raises(SchemaError, match="cancelled"):
        begin(json_schema(MANY_PATTERNS, limits=Limits(max_seconds=60), cancelled=cancelled.is_set))
    timer.join()


def test_other_schemas_are_read_after_one_was_given_up() -> None:
    with pytest.raises(SchemaError, match="cancelled"):
        json_schema({"enum": list(range(500))}, cancelled=lambda: True)
    assert begin(json_schema({"enum": list(range(500))}))


def test_schemas_may_hold_other_objects_of_python() -> None:
    schema = MappingProxyType({"enum": (Decimal("1.5"), Decimal(2)), "type": "number"})
    assert json_schema(schema) == json_schema({"enum": [1.5, 2], "type": "number"})
    assert json_schema({"properties": {"a": MappingProxyType({"const": 1})}})


def test_the_order_of_a_registry_does_not_matter() -> None:
    one, other = {"x:a": {}, "x:b": {"type": "null"}}, {"x:b": {"type": "null"}, "x:a": {}}
    assert json_schema({}, registry=one) == json_schema({}, registry=other)


@pytest.mark.parametrize(
    ("schema", "options", "message"),
    [
        ({"const": object()}, {}, "the schema has a object"),
        ({"const": Decimal("inf")}, {}, "the schema has a Decimal"),
        ({}, {"limits": 5}, "limits is a cfgguide.Limits"),
        ({}, {"registry": {"a": {1, 2}, "b": object()}}, "the registry has a object"),
    ],
)
def test_what_is_no_schema_is_refused(schema: Any, options: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        json_schema(schema, **options)
