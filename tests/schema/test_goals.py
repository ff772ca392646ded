"""Many alternatives about the same values: no step of a text lists their combinations.

Each schema is one of a kind that grows. The judge says that its texts are valid, and the work of
the worst step is counted.
"""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

import cfgguide
from cfgguide.base.limits import work_of_thread

VOCABULARY = cfgguide.Vocabulary(
    [*(bytes((byte,)) for byte in range(256)), None], eos_token_ids=256
)
TEXT: Any = {"type": "string"}
WHOLE: Any = {"type": "integer"}
MOST = 40_000  # steps: far from the limit, and more than the worst of these takes


def an_object(properties: Any, *required: str) -> Any:
    return {"type": "object", "properties": properties, "required": list(required)}


def late_tags(n: int, keyword: str = "oneOf") -> tuple[Any, Any]:
    """Kinds of objects that share a property, before the tag that tells them apart."""
    kinds = [
        an_object(
            {
                "body": an_object({f"f{i}": TEXT, f"g{i % 3}": WHOLE}, f"f{i}"),
                "kind": {"const": f"k{i}"},
            },
            "kind",
            "body",
        )
        for i in range(n)
    ]
    return {keyword: kinds}, {"body": {f"f{n // 2}": "a", "x": 1}, "kind": f"k{n // 2}"}


def nested(n: int) -> tuple[Any, Any]:
    """The same, with objects in these objects."""
    kinds = [
        an_object(
            {
                "spec": an_object(
                    {"in": an_object({f"p{i % 7}": WHOLE, f"q{i % 5}": TEXT}), "m": {"minimum": i}}
                ),
                "kind": {"const": f"k{i}"},
            },
            "kind",
        )
        for i in range(n)
    ]
    return {"oneOf": kinds}, {"spec": {"in": {"p1": 1, "q1": "a"}, "m": 99}, "kind": "k1"}


def conditions(n: int) -> tuple[Any, Any]:
    """A chain of `if`, with properties before the one that decides."""
    branches = [
        {
            "if": an_object({"k": {"const": f"k{i}"}}, "k"),
            "then": an_object(
                {"v": [TEXT, WHOLE][i % 2], "w": an_object({f"z{i % 4}": WHOLE})}, "v"
            ),
        }
        for i in range(n)
    ]
    kinds = {"k": {"enum": [f"k{i}" for i in range(n)]}}
    return {**an_object(kinds, "k"), "allOf": branches}, {"w": {"z1": 1}, "v": 1, "k": "k1"}


def alternatives(n: int, *, is_tagged: bool = True) -> tuple[Any, Any]:
    """Objects that overlap, with a tag or without."""
    kinds = [
        an_object({"t": {"const": f"t{i}"}, "x": [TEXT, WHOLE][i % 2]}, "t")
        if is_tagged
        else an_object({f"t{i}": TEXT, "x": [TEXT, WHOLE][i % 2]}, f"t{i}")
        for i in range(n)
    ]
    return {"oneOf": kinds}, {"x": 1, "t": "t5"} if is_tagged else {"x": 1, "t5": "a"}


def unevaluated(n: int) -> tuple[Any, Any]:
    """`unevaluatedProperties` below several `allOf`."""
    parts = [
        {
            "anyOf": [
                an_object({f"a{i}": TEXT, "c": WHOLE}, f"a{i}"),
                an_object({f"b{i}": an_object({"x": WHOLE}), "c": {"minimum": i}}, f"b{i}"),
                an_object({"d": {}}),
            ]
        }
        for i in range(n)
    ]
    schema = {"type": "object", "allOf": parts, "unevaluatedProperties": False}
    return schema, {"a0": "x", "b1": {"x": 1}, "c": 5, "d": None}


def contained(n: int) -> tuple[Any, Any]:
    """Objects that an array contains, after two items."""
    items = [{"contains": an_object({}, f"a{i}")} for i in range(n)]
    schema = {"type": "array", "prefixItems": [{}, {}], "allOf": items}
    return schema, [1, 2, *({f"a{i}": 1} for i in range(n))]


def contained_together(n: int) -> tuple[Any, Any]:
    """The same, in fewer items."""
    schema, _ = contained(n)
    whole = {f"a{i}": 1 for i in range(n)}
    return {**schema, "maxItems": 3}, [{}, [], whole]


def arrays(n: int) -> tuple[Any, Any]:
    """Arrays of different arrays of objects."""
    kinds = [
        {"type": "array", "items": {"type": "array", "items": an_object({f"a{i}": WHOLE}, "t")}}
        for i in range(n)
    ]
    return {"anyOf": kinds}, [[{"a1": 1, "t": 1}], []]


KINDS = {
    "late tags": late_tags(30),
    "late tags, any": late_tags(30, "anyOf"),
    "objects in objects": nested(20),
    "conditions": conditions(30),
    "tags": alternatives(100),
    "no tags": alternatives(40, is_tagged=False),
    "unevaluated": unevaluated(4),
    "contained": contained(16),
    "contained together": contained_together(8),
    "arrays": arrays(6),
}


def worst_step(schema: Any, value: Any) -> int:
    """The work of the worst step of a text, a mask before each byte."""
    index = cfgguide.compile(cfgguide.json_schema(schema), VOCABULARY)
    guide, worst = cfgguide.Guide(index), 0
    for byte in json.dumps(value).encode():
        before = work_of_thread()
        assert byte in guide.allowed_token_ids(), guide.text
        guide.advance(byte)
        worst = max(worst, work_of_thread() - before)
    assert guide.is_accepting
    return worst


@pytest.mark.parametrize("kind", KINDS)
def test_no_step_lists_combinations(kind):
    schema, value = KINDS[kind]
    judge = jsonschema.Draft202012Validator(schema)
    assert judge.is_valid(value)
    assert worst_step(schema, value) < MOST
    guide = cfgguide.Guide(cfgguide.compile(cfgguide.json_schema(schema), VOCABULARY))
    guide.advance(ord("[") if isinstance(value, list) else ord("{"))
    text = guide.text + bytes(guide.shortest_completion()[:-1])
    assert judge.is_valid(json.loads(text)), text


def test_an_array_of_the_same_that_has_to_contain_something():
    """Its first mask took as long as a step may take."""
    array = {"prefixItems": [{"$ref": "#"}], "contains": True}
    schema = {"oneOf": [array], "if": {"uniqueItems": True, "items": {"type": "null"}}}
    assert worst_step(schema, [[[1]], 2]) < MOST


def test_each_item_may_need_a_value_of_its_own():
    """Different items are given values so that each has one."""
    schema: Any = {
        "type": "array",
        "uniqueItems": True,
        "items": {"enum": [1, 2, 3, "a"]},
        "allOf": [{"contains": {"enum": [1, 2]}, "minContains": 2}, {"contains": {"const": "a"}}],
        "maxItems": 3,
    }
    assert worst_step(schema, ["a", 2, 1]) < MOST
    guide = cfgguide.Guide(cfgguide.compile(cfgguide.json_schema(schema), VOCABULARY))
    for byte in b"[2,":
        guide.advance(byte)
    allowed = bytes(i for i in guide.allowed_token_ids().tolist() if i < 256)
    assert set(allowed) == set(b' \t\n\r1"')
