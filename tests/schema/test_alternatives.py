"""Unions of objects: every small object, in every order of its names, against `jsonschema`.

A text of a member of a union may be begun only if some valid object goes on like that: all objects
are tried that have no other names than two listed ones and one more.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from itertools import permutations, product
from typing import Any

import jsonschema
import pytest
from support.schemas import recognizer_of
from support.scripts import printed

import cfgguide
from cfgguide.base.limits import work_of_thread
from cfgguide.errors import SchemaError

NAMES = ["a", "b", "z"]
VALUES = [1, 2, "x", None]
LISTED = NAMES[:2]

Members = tuple[tuple[str, Any], ...]


def all_objects() -> Iterator[Members]:
    """Yield the members of all small objects, in all orders."""
    for n in range(len(NAMES) + 1):
        for names in permutations(NAMES, n):
            for values in product(VALUES, repeat=n):
                yield tuple(zip(names, values, strict=True))


OBJECTS = list(all_objects())


def random_branch(rng: random.Random, depth: int) -> Any:
    """Return a schema of an object, some of them with alternatives."""
    schema: dict[str, Any] = {}
    for name in LISTED:
        if rng.random() < 0.6:
            schema.setdefault("properties", {})[name] = random_part(rng)
    if rng.random() < 0.6:
        schema["required"] = rng.sample(NAMES, rng.randint(1, 2))
    if rng.random() < 0.5:
        # A schema there would do, too, but jsonschema 4.26 takes its keywords for evaluated names.
        schema["additionalProperties"] = rng.choice([False, False, True])
    if rng.random() < 0.2:
        schema[rng.choice(["minProperties", "maxProperties"])] = rng.randint(1, 2)
    if rng.random() < 0.2:
        schema["dependentRequired"] = {rng.choice(NAMES): [rng.choice(NAMES)]}
    if depth:
        keyword = rng.choice(["oneOf", "anyOf", "allOf", "not", "if", "unevaluatedProperties", ""])
        branches = [random_branch(rng, depth - 1) for _ in range(rng.randint(2, 6))]
        if keyword in ("not", "if"):
            schema[keyword] = branches[0]
        elif keyword == "unevaluatedProperties":
            schema |= {keyword: False, rng.choice(["oneOf", "anyOf"]): branches[:3]}
        elif keyword:
            schema[keyword] = branches[: 2 if keyword == "allOf" else 6]
        if keyword == "if":
            schema |= {"then": branches[1], "else": branches[-1]}
    return schema


def random_part(rng: random.Random) -> Any:
    """Return a schema of a member's value."""
    return rng.choice(
        [
            {"const": rng.choice(VALUES)},
            {"const": rng.choice(VALUES)},
            {"enum": rng.sample(VALUES, 2)},
            {"type": rng.choice(["integer", "string", "null"])},
            {"not": {"const": rng.choice(VALUES)}},
            False,
            True,
        ]
    )


def discriminated(n: int, rng: random.Random) -> Any:
    """Return a union of many objects that a value or the names that they need tell apart."""
    branches = []
    for number in range(n):
        needed = rng.choice(["b", "z"])
        branches.append(
            {
                "properties": {"a": {"const": number}, needed: rng.choice([True, {"const": 1}])},
                "required": ["a", needed],
                "additionalProperties": False,
            }
        )
    return {"oneOf": branches}


SCHEMAS: list[Any] = [
    {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    {"oneOf": [{"required": ["a"]}, {"required": ["b"]}, {"required": ["a", "b"]}]},
    {"not": {"oneOf": [{"required": ["a"]}, {"required": ["b"]}, {"required": ["z"]}]}},
    {"anyOf": [{"required": ["a"], "properties": {"a": {"const": 1}}},
               {"required": ["b"], "additionalProperties": False, "properties": {"b": True}}]},
    {"oneOf": [{"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"required": ["z"]}]},
    {"allOf": [{"if": {"required": ["a"], "properties": {"a": {"const": 1}}},
                "then": {"required": ["b"]}, "else": {"required": ["z"]}}]},
    {"oneOf": [{"patternProperties": {"^[az]$": {"const": 1}}, "additionalProperties": False},
               {"required": ["z"]}]},
]  # fmt: skip


def check(schema: Any, *, is_closed: bool = True) -> None:
    """Compare what is read with what is valid; closed objects have nothing that is not tried."""
    schema = {"type": "object", **schema}
    if is_closed:
        properties = {name: {"enum": VALUES} for name in NAMES}
        closed = {"properties": properties, "additionalProperties": False}
        schema = {"allOf": [closed, schema]}
    validator = jsonschema.Draft202012Validator(schema)
    valid = {members for members in OBJECTS if validator.is_valid(dict(members))}
    begun = {members[:n] for members in valid for n in range(len(members) + 1)}
    expected = pytest.raises(SchemaError, match="no value is allowed")
    with nullcontext() if valid else expected if is_closed else suppress(SchemaError):
        recognizer = recognizer_of(json.dumps(schema))
    if not valid:
        return
    for members in OBJECTS:
        text = "{" + ",".join(f"{json.dumps(n)}:{json.dumps(value)}" for n, value in members)
        inside = recognizer.advance(recognizer.initial, text.encode())
        if inside is None:
            assert members not in begun, text
            continue
        assert members in begun or not is_closed, f"{text}: no valid object begins like this"
        whole = recognizer.advance(inside, b"}")
        assert (whole is not None and recognizer.is_sentence(whole)) == (members in valid), text


@pytest.mark.parametrize("number", range(len(SCHEMAS)))
def test_listed_unions(number: int) -> None:
    check(SCHEMAS[number])


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ('{"context":"a","image":"b","sync":"c"}', True),
        ('{"image":"b","sync":"c"}', True),
        ('{"context":"a","image":"b"}', True),
        ('{"image":"b","context":"a"}', False),
        ('{"sync":"a","image":"b"}', False),
    ],
)
def test_branches_keep_their_own_order(text: str, is_read: bool) -> None:
    image, sync = {"image": {}}, {"sync": {}}
    branches = [
        {"properties": {**image, **sync}, "required": ["sync"]},
        {"properties": {"context": {}, **image, **sync}, "required": ["context"]},
    ]
    schema = {"type": "object", "required": ["image"], "anyOf": branches}
    recognizer = recognizer_of(json.dumps(schema), order="declared")
    after = recognizer.advance(recognizer.initial, text.encode())
    assert (after is not None and recognizer.is_sentence(after)) == is_read


@pytest.mark.few(8)
@pytest.mark.parametrize("seed", range(40))
def test_random_unions(seed: int) -> None:
    check(random_branch(random.Random(seed), 2), is_closed=seed % 4 > 0)


@pytest.mark.few(1)
@pytest.mark.parametrize("n", [4, 40])
def test_many_branches(n: int) -> None:
    check(discriminated(n, random.Random(n)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40, 400))
def test_more_random_unions(seed: int) -> None:
    check(random_branch(random.Random(seed), 3), is_closed=seed % 4 > 0)


def test_a_value_that_one_node_lists_and_another_refuses_is_no_value() -> None:
    lists = {"properties": {"a": {"enum": [1, 2]}}}
    refuses = {"type": "object", "properties": {"a": False}, "required": ["a"]}
    with pytest.raises(SchemaError, match="no value is allowed"):
        cfgguide.compile({"allOf": [lists, refuses]}, cfgguide.Vocabulary.of_bytes([]))


# -- kinds of objects that a tag tells apart ------------------------------------------------


def tagged_kinds(n: int, *, is_typed: bool = False) -> Any:
    """Return a schema of so many kinds of objects with a tag; a list of them is in each."""
    kinds = {
        f"K{number}": {
            **({"type": "object"} if is_typed else {}),
            "properties": {
                "kind": {"const": f"K{number}"},
                "inside": {"type": "array", "items": {"$ref": "#/$defs/any"}},
                **{f"m{number}_{each}": {"type": "integer"} for each in range(8)},
                f"shared{number % 5}": {"description": f"of K{number}", "enum": ["a", number % 3]},
            },
            "additionalProperties": False,
            "required": ["kind"],
        }
        for number in range(n)
    }
    whole = {"oneOf": [{"$ref": f"#/$defs/{kind}"} for kind in kinds]}
    return {"$defs": {**kinds, "any": whole}, **whole}


TAGGED: list[Any] = [
    *({"kind": "K1"}, {"kind": "K9"}, {}, [], 1, "K1", None, True),
    *({"kind": "K2", "shared2": 2}, {"shared2": 2, "kind": "K2"}, {"shared2": 1, "kind": "K2"}),
    *({"kind": "K2", "shared1": "a"}, {"m3_1": 5, "kind": "K3"}, {"m3_1": 5, "kind": "K4"}),
    {"inside": [{"kind": "K0", "m0_7": 1}, {"kind": "K3", "inside": []}], "kind": "K1"},
    {"inside": [{"kind": "K0", "m1_7": 1}], "kind": "K1"},
]


@pytest.mark.parametrize("is_typed", [True, False])
@pytest.mark.parametrize(
    "change",
    [
        {},
        {"kind": {"enum": ["K0", "K1"]}},  # a tag that two kinds have
        {"kind": {"type": "string"}},
        {"kind": {"description": "open", "enum": ["K0", "other", 1]}},
    ],
)
def test_kinds_told_apart_by_a_tag_are_what_jsonschema_says(is_typed: bool, change: Any) -> None:
    schema = tagged_kinds(5, is_typed=is_typed)
    schema["$defs"]["K0"]["properties"] |= change
    recognizer = cfgguide.index.compile_recognizer(cfgguide.json_schema(schema))
    judge = jsonschema.Draft202012Validator(schema)
    for value in TAGGED:
        after = recognizer.advance(recognizer.initial, json.dumps(value).encode())
        is_read = after is not None and recognizer.is_sentence(after)
        assert is_read == judge.is_valid(value), value


def test_a_kind_costs_no_more_where_there_are_many_others() -> None:
    def work(n: int) -> float:
        grammar = cfgguide.json_schema(tagged_kinds(n))
        guide = cfgguide.Guide(cfgguide.compile(grammar, cfgguide.Vocabulary.of_bytes()))
        before = work_of_thread()
        for byte in b'{"kind":"K7","m7_3":1,"inside":[{"kind":"K3","m3_0":2}]}':
            guide.allowed_token_ids()
            guide.allowed_within(200)
            guide.advance(byte)
        return work_of_thread() - before

    assert work(160) < 3 * work(80)


#: Prints what may come after the beginnings of a text, by schemas that are read from a line each.
_MASKS = """
import json, sys
import cfgguide
sys.setrecursionlimit(700)  # what asks has a stack too
vocabulary = cfgguide.Vocabulary.of_bytes()
for line in sys.stdin:
    guide = cfgguide.Guide(cfgguide.compile(cfgguide.json_schema(json.loads(line)), vocabulary))
    for byte in b'{"right":':
        print(guide.allowed_token_ids().tolist())
        if not guide.accepts(byte):
            break
        guide.advance(byte)
"""
#: Kinds of objects: the names of their properties, with "!" if they are required, and of what
#: kinds these are; a bracket is before those of the values of a list, or of an object.
_KINDS: Any = {
    "2": {"right!": "[32679"},
    "3": {"right!": "847", "left!": "6"},
    "4": {"right": "53976428"},
    "5": {"left": "368427", "right!": "7563"},
    "6": {"right": "76583942", "left": "5496287"},
    "7": {"right": "7", "left": "54798"},
    "8": {"right!": "3"},
    "9": {"left": "2", "right!": "67"},
}


def kinds(table: Any) -> Any:
    """Return a schema of such a table; a value is of one of the kinds 6 and 7."""

    def one_of(numbers: str) -> Any:
        if numbers[0] in "[{":
            inner = one_of(numbers[1:])
            if numbers[0] == "[":
                return {"type": "array", "items": inner}
            return {"type": "object", "additionalProperties": inner}
        return {"oneOf": [{"$ref": f"#/$defs/{number}"} for number in numbers]}

    made = {
        number: {
            "type": "object",
            "properties": {name.strip("!"): one_of(each) for name, each in properties.items()},
            "required": [name.strip("!") for name in properties if "!" in name],
        }
        for number, properties in table.items()
    }
    return {"$defs": made, **one_of("67")}


@pytest.mark.slow
def test_kinds_that_refer_to_each_other_are_the_same_under_any_hash_seed() -> None:
    """They are told apart by long chains of questions, in an order that hashes decide."""
    assert printed(_MASKS, json.dumps(kinds(_KINDS))).count("\n") > 1


def test_names_that_alternatives_evaluate_are_found_without_trying_all_choices() -> None:
    """Of eight times two alternatives, a value that fails one of them leaves the other one."""

    def schema(n: int) -> Any:
        pairs = [
            {"anyOf": [{"properties": {f"a{i}": {"type": "integer"}}, "required": [f"a{i}"]},
                       {"properties": {f"b{i}": {"type": "string"}}, "required": [f"b{i}"]}]}
            for i in range(n)
        ]  # fmt: skip
        return {"type": "object", "unevaluatedProperties": False, "allOf": pairs}

    def work(n: int) -> float:
        grammar = cfgguide.json_schema(schema(n))
        guide = cfgguide.Guide(cfgguide.compile(grammar, cfgguide.Vocabulary.of_bytes()))
        before = work_of_thread()
        for byte in b'{"a0":1,"b1':
            guide.allowed_within(1_000)
            guide.advance(byte)
        text = guide.text + bytes(guide.shortest_completion()[:-1])
        assert jsonschema.Draft202012Validator(schema(n)).is_valid(json.loads(text))
        return work_of_thread() - before

    assert work(8) < 20 * work(4)


def test_a_value_is_bounded_without_trying_all_choices_for_others() -> None:
    """Of n alternatives one bounds each value, and which of the others holds is all the same."""

    def schema(n: int) -> Any:
        pairs = [
            {"oneOf": [{"properties": {f"a{i}": {"type": "integer"}}},
                       {"properties": {f"a{i}": {"type": "number", "minimum": 3},
                                       f"b{i}": {"type": "string"}}, "required": [f"b{i}"]}]}
            for i in range(n)
        ]  # fmt: skip
        return {"type": "object", "allOf": pairs}

    def work(n: int) -> float:
        guide = cfgguide.Guide(
            cfgguide.compile(cfgguide.json_schema(schema(n)), cfgguide.Vocabulary.of_bytes())
        )
        before = work_of_thread()
        for byte in b'{"a1":1,"a2":3.5,"b2":"x"':
            assert byte in guide.allowed_token_ids()
            guide.advance(byte)
        text = guide.text + bytes(guide.shortest_completion()[:-1])
        assert jsonschema.Draft202012Validator(schema(n)).is_valid(json.loads(text))
        return work_of_thread() - before

    assert work(10) < 30 * work(3)


def test_names_of_a_value_that_is_no_object_are_not_asked_for() -> None:
    """Where many alternatives are open, which names may come is asked of each."""
    closed = {"type": "array", "properties": {"y": {}}, "additionalProperties": False}
    schema = {"anyOf": [{"additionalProperties": closed}, {"type": "object", "required": ["b"]}]}
    recognizer = recognizer_of(json.dumps(schema))
    for value in ({"x": []}, {"x": {"y": 1}}, {"b": 1, "x": {"y": 2}}, {"x": {}}, {}):
        after = recognizer.advance(recognizer.initial, json.dumps(value).encode())
        is_read = after is not None and recognizer.is_sentence(after)
        assert is_read == jsonschema.Draft202012Validator(schema).is_valid(value), value


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf"])
def test_pairs_of_items_of_which_one_is_contained_are_found_without_all_combinations(
    keyword: str,
) -> None:
    """Once both of `oneOf` have come, nothing that follows is looked at."""

    def work(n: int) -> int:
        pairs = [[{"contains": {"const": each}} for each in (i, str(i))] for i in range(n)]
        schema = {"type": "array", "allOf": [{keyword: pair} for pair in pairs]}
        before = work_of_thread()
        grammar = cfgguide.json_schema(schema)
        guide = cfgguide.Guide(cfgguide.compile(grammar, cfgguide.Vocabulary.of_bytes()))
        for byte in b'["0",1,':
            guide.advance(byte)
        text = guide.text + bytes(guide.shortest_completion()[:-1])
        assert jsonschema.Draft202012Validator(schema).is_valid(json.loads(text))
        return work_of_thread() - before

    assert work(9) < 6 * work(6)
