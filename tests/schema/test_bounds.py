"""Schemas of strangers: each is taken or refused within bounds, and another thread may give up."""

from __future__ import annotations

import json
import random
import threading
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import jsonschema
import pytest
from fuzz.schemas import reads
from support.schemas import is_valid

import cfgguide
from cfgguide import Limits, json_schema
from cfgguide.engine.byte_machine.byte_machine import ByteMachine
from cfgguide.errors import SchemaError, SchemaWarning
from cfgguide.schema.schema_grammar import SchemaGrammar

MANY_NUMBERS = {"properties": {"a": {"enum": [number / 8 for number in range(30_000)]}}}


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
    with pytest.raises(SchemaError, match=r"more than 0\.3 seconds"):
        begin(json_schema(MANY_NUMBERS, limits=Limits(max_seconds=0.3)))


def files(n: int) -> list[dict[str, Any]]:
    """Return objects that are alike but for numbers in them."""
    return [
        {"name": f"n{i}", "size": i, "tags": [i, str(i)], "at": {"x": i, "y": 2 * i}}
        for i in range(n)
    ]


def test_a_text_of_many_listed_objects_ends_as_one_of_them() -> None:
    grammar = json_schema({"enum": files(25)})
    guide = cfgguide.Guide(cfgguide.compile(grammar, cfgguide.Vocabulary.of_bytes([])))
    for begun in (b"", b'{"', b'size":', b"17", b',"at":{"y"'):
        for byte in begun:
            guide.advance(byte)
        ending = [each for each in guide.shortest_completion() if each < 256]
        assert json.loads(guide.text + bytes(ending)) in files(25)


def test_the_search_for_an_ending_is_given_up_too() -> None:
    index = cfgguide.compile(json_schema({"enum": files(10)}), cfgguide.Vocabulary.of_bytes([]))
    guide = cfgguide.Guide(index)
    index.machine.pushdown.steps.max_seconds = 0
    with pytest.raises(SchemaError, match="more than 0 seconds"):
        guide.shortest_completion()
    index.machine.pushdown.steps.max_seconds = 60
    assert guide.shortest_completion(), "nothing was lost"


def test_another_thread_may_give_up() -> None:
    cancelled = threading.Event()
    timer = threading.Timer(0.2, cancelled.set)
    timer.start()
    with pytest.raises(SchemaError, match="cancelled"):
        begin(json_schema(MANY_NUMBERS, limits=Limits(max_seconds=60), cancelled=cancelled.is_set))
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


LONG = {"type": "string", "maxLength": 6_000}
LETTERS = list(zip("abcdef", "ghijkl", strict=True))
SUBSEQUENCES = [f"{one}.*{other}.*{one}.*{other}" for one, other in LETTERS]


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        (
            {"anyOf": [{"properties": {"a": LONG}}, {"properties": {"b": {"type": "string"}}}]},
            {"a": "yy"},
            {"a": 1, "b": 1},
        ),
        (
            {"anyOf": [{"properties": {"a": LONG}}, {"properties": {"b": {"type": "string"}}}]},
            {"a": "y" * 6_001, "b": ""},
            {"a": "y" * 6_001, "b": 1},
        ),
        ({"not": LONG}, "y" * 6_001, "y" * 6_000),
        ({"type": "string", "not": {"minLength": 5_500, "maxLength": 1_000_000}}, "y", "y" * 5_500),
        ({"oneOf": [LONG, {"type": "string", "minLength": 5_500}]}, "y" * 5_499, "y" * 5_500),
        ({"anyOf": [{"enum": ["a", 1]}, {**LONG, "pattern": "^b*$"}]}, "b" * 6_000, "ba"),
        ({"contains": {**LONG, "minLength": 5_500}}, ["y" * 5_500], ["y" * 5_499]),
        (
            {"properties": {"a": {"pattern": "^(a|b)*a(a|b){20}$"}}},
            {"a": "a" * 21},
            {"a": "b" * 21},
        ),
        ({"allOf": [{"pattern": each} for each in SUBSEQUENCES]}, "".join("abcdefghijkl" * 4), "a"),
        ({"pattern": "^(?!(a|b)*a(a|b){20}$)"}, "b" * 21, "a" * 21),
        ({"pattern": "^a{9999}$"}, "a" * 9_999, "a" * 9_998),
    ],
)
def test_lengths_and_patterns_are_counted_as_they_are_read(
    schema: Any, valid: Any, invalid: Any
) -> None:
    recognizer = ByteMachine(json_schema(schema).automaton())
    for value, expected in ((valid, True), (invalid, False)):
        text = json.dumps(value)
        assert is_valid(schema, text) == expected, "so says jsonschema"
        assert reads(recognizer, text) == expected


MULTIPLES = (2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 24, 25, 60, 100, 365, Decimal("0.25"), Decimal("1.5"))
NUMBERS = [*map(str, range(-60, 400)), *("0.25", "0.30", "-1.5", "4.50", "1000", "7300", "65536")]


def one_number(rng: random.Random) -> Any:
    """A schema of one number."""
    schema: Any = {"multipleOf": rng.choice(MULTIPLES)} if rng.random() < 0.8 else {}
    if rng.random() < 0.3:
        schema["minimum"] = rng.choice((0, -5, 10, 100))
    if rng.random() < 0.3:
        schema["maximum"] = rng.choice((50, 99, 255, 9_999))
    if rng.random() < 0.2:
        schema["type"] = rng.choice(("integer", "number", "string"))
    return schema


@pytest.mark.few(15)
@pytest.mark.parametrize("seed", range(40))
def test_multiples_in_alternatives_are_taken_and_exact(seed: int) -> None:
    rng = random.Random(seed)
    schema: Any = {**one_number(rng), "oneOf": [one_number(rng) for _ in range(3)]}
    for keyword in rng.sample(("allOf", "anyOf", "not"), 1):
        schema[keyword] = one_number(rng) if keyword == "not" else [one_number(rng)]
    try:
        recognizer = ByteMachine(json_schema(schema).automaton())
    except SchemaError as error:
        assert "no value is allowed" in str(error)  # noqa: PT017
        return
    judge = jsonschema.Draft202012Validator(schema)
    for text in rng.sample(NUMBERS, 100):
        value = json.loads(text, parse_float=Decimal)
        assert reads(recognizer, text) == judge.is_valid(value), (schema, text)


@pytest.mark.parametrize(
    "schema",
    [
        {"oneOf": [{"multipleOf": each} for each in (2, 3, 5, 7, 11)]},
        {"anyOf": [{"multipleOf": each} for each in range(2, 11)]},
        {"multipleOf": 8, "oneOf": [{"multipleOf": 60}, {"multipleOf": 9, "maximum": 999}]},
        {"allOf": [{"multipleOf": 50}], "oneOf": [{"multipleOf": 16}, {"multipleOf": 12}]},
        {"anyOf": [{"multipleOf": 997}, {"type": "string", "multipleOf": 991}]},
        {"anyOf": [{"multipleOf": 365, "minimum": 1}, {"multipleOf": 7}, {"maximum": 65_535}]},
    ],
)
def test_multiples_of_which_few_numbers_tell_are_taken(schema: Any) -> None:
    assert begin(json_schema(schema))


@pytest.mark.parametrize(
    ("path", "schema"),
    [
        ("/propertyNames", {"propertyNames": {"maxLength": 32_767}}),
        ("/allOf/1/multipleOf", {"allOf": [{"multipleOf": 997}, {"multipleOf": 991}]}),
        ("/patternProperties", {"patternProperties": {each: {} for each in SUBSEQUENCES}}),
        ("/anyOf/0/pattern", {"anyOf": [{"pattern": "^(a|b)*a(a|b){20}$"}, {"minLength": 5}]}),
        ("/oneOf/5/pattern", {"oneOf": [{"pattern": each} for each in SUBSEQUENCES]}),
    ],
)
def test_automata_that_would_be_too_large_are_refused_before_a_text_begins(
    path: str, schema: Any
) -> None:
    whole = {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": schema}}}}
    where = "/properties/a/properties/b" + path
    with pytest.raises(SchemaError, match=f"at {where}: .*best_effort"):
        json_schema(whole)
    with pytest.warns(SchemaWarning, match=where):
        grammar = json_schema(whole, best_effort=True)
    assert where in dict(grammar.left_out)
