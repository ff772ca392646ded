"""JSON Schema: the grammar has the texts that the schema allows; `jsonschema` is the judge."""

from __future__ import annotations

import json
import math
import random
import re
import struct
import sys
import warnings
from collections import Counter
from typing import Annotated, Any, Literal

import lark
import pydantic
import pydantic.dataclasses
import pytest
from fuzz.schemas import compare_with_jsonschema, reads
from support.ci import or_in_ci
from support.lark_search import no_search_for_overlaps
from support.schemas import (
    OLDER_DRAFTS,
    is_accepted,
    is_read,
    is_valid,
    of_draft,
    random_schema,
    random_value,
    varied_schema,
)
from typing_extensions import TypedDict

import cfgguide
from cfgguide import json_schema
from cfgguide.engine.byte_machine.byte_machine import ByteMachine
from cfgguide.errors import SchemaError, SchemaWarning
from cfgguide.output_types import output_type
from cfgguide.schema.solver.nodes import Node


def compare(seed: int) -> None:
    """Compare a random schema with the judge, over random values."""
    rng = random.Random(seed)
    schema = random_schema(rng)
    texts = [json.dumps(random_value(rng)) for _ in range(25)]
    problem = ""
    try:
        json_schema(schema, order="any")
    except SchemaError as error:
        problem = str(error)
    assert problem == "" or "no value is allowed" in problem
    for text in texts:
        is_written = not problem and is_accepted(schema, text, order="any")
        assert is_written == is_valid(schema, text), (schema, text)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100))
def test_random_schemas_mean_what_jsonschema_says(seed: int) -> None:
    compare(seed)


@pytest.mark.slow
def test_the_same_schema_has_the_same_grammar() -> None:
    """Where the nodes lie in memory, on which the order of sets of them depends, is no matter."""
    schema = random_schema(random.Random(40))
    grammars, nodes = set(), []
    for n_others in range(12):
        grammars.add(json_schema(schema, order="any").text)
        nodes.append([Node("") for _ in range(97 * n_others)])
    assert len(grammars) == 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1600))
def test_many_random_schemas_mean_what_jsonschema_says(seed: int) -> None:
    compare(seed)


# A schema, texts that it allows, and texts that it does not.
CASES: list[tuple[Any, list[str], list[str]]] = [
    ({"type": "integer"}, ["0", "-7", "1.0", "12e0"][:3], ["1.5", '"1"', "01", "-", "1."]),
    ({"minimum": -1.5, "maximum": 2}, ["-1.50", "0", "2.0", "-0", '"x"'], ["-1.51", "2.01", "10"]),
    ({"exclusiveMinimum": 0, "type": "number"}, ["0.001", "7"], ["0", "-0.0", "-1", "0.000"]),
    ({"multipleOf": 0.25, "type": "number"}, ["0.5", "1.75", "-2.250"], ["0.3", "0.125"]),
    ({"type": "string", "maxLength": 2}, ['""', '"ab"', '"é\\n"', '"😀😀"'], ['"abc"', '"abé"']),
    ({"type": "string", "pattern": "^[a-c]+$"}, ['"abc"'], ['"abd"', '""', '"a\\n"']),
    ({"type": "string", "pattern": "b"}, ['"abc"', '"b"'], ['"ac"']),
    (
        {"enum": ["yes", 1, None, [2]]},
        ['"yes"', "1", "null", "[2]", "1.0"],
        ["[1]", '"no"', "true"],
    ),
    ({"type": "array", "prefixItems": [{"const": 1}], "items": False}, ["[1]", "[]"], ["[1, 2]"]),
    ({"contains": {"const": 1}, "maxContains": 1}, ["[1]", "[2, 1]", "{}"], ["[]", "[1, 1]"]),
    (
        {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True},
        ["[]", '["a", "b"]', '["b"]'],
        ['["a", "a"]', '["a", "b", "a"]', '["c"]'],
    ),
    (
        {"properties": {"a": {"type": "null"}}, "required": ["a"], "additionalProperties": False},
        ['{"a": null}', "1"],
        ["{}", '{"a": 1}', '{"a": null, "b": 1}', '{"a": null, "a": null}'],
    ),
    (
        {"patternProperties": {"^a": {"type": "null"}, "b$": {"const": 1}}},
        ['{"a": null}', '{"cb": 1}', '{"c": 2}'],
        ['{"ab": null}', '{"ab": 1}', '{"cb": 2}'],
    ),
    ({"propertyNames": {"maxLength": 1}}, ['{"a": 1}'], ['{"ab": 1}']),
    (  # a branch that has failed does not take the other one with it
        {
            "type": "object",
            "anyOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"b": {"const": 2}}}],
            "not": {"properties": {"c": {"const": 3}}, "required": ["c"]},
        },
        ['{"a": 2, "b": 2}', '{"a": 1, "b": 3}', '{"a": 2, "c": 4}', '{"c": 4, "a": 1, "b": 3}'],
        ['{"a": 2, "b": 3}', '{"a": 2, "b": 3, "c": 4}', '{"a": 1, "c": 3}'],
    ),
    (  # the same of arrays
        {
            "type": "array",
            "anyOf": [{"prefixItems": [{"const": 1}]}, {"items": {"const": 2}}],
            "not": {"prefixItems": [True, {"const": 3}], "minItems": 2},
        },
        ["[1]", "[2, 2]", "[1, 4]", "[]"],
        ["[3]", "[2, 1]", "[1, 3]"],
    ),
    (  # names that are not listed are counted as if they differed
        {
            "anyOf": [
                {"type": "object", "minProperties": 1, "maxProperties": 1},
                {"required": ["a"]},
            ]
        },
        ['{"b": 1}', '{"a": 1}', '{"a": 1, "b": 2}'],
        ["{}", '{"b": 1, "c": 2}', '{"b": 1, "b": 2}'],
    ),
    ({"oneOf": [{"minimum": 3}, {"type": "integer"}]}, ["1", "3.5"], ["3", "1.5"]),
    ({"not": {"type": "object"}}, ["[]", "1"], ["{}"]),
    (
        {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"maxProperties": 0}},
        ["{}", '{"a": 1, "b": 2}'],
        ['{"a": 1}', '{"b": 1}'],
    ),
    (
        {"allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False},
        ["{}", '{"a": 1}'],
        ['{"b": 1}'],
    ),
    (  # a branch that fails has evaluated nothing
        {
            "anyOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"b": True}}],
            "unevaluatedProperties": False,
        },
        ['{"a": 1}', '{"b": 5}', '{"a": 1, "b": 5}'],
        ['{"a": 2}', '{"a": 2, "b": 5}'],
    ),
    (
        {
            "anyOf": [{"prefixItems": [{"const": 1}]}, {"contains": {"const": 2}}],
            "unevaluatedItems": False,
        },
        ["[1]", "[2]", "[1, 2]", "[2, 2]"],
        ["[3, 2]", "[1, 3]", "[3]"],
    ),
    (
        {"$ref": "#/$defs/t", "$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}}}},
        ["[]", "[[], [[]]]"],
        ["[1]", "{}"],
    ),
]


@pytest.mark.parametrize(("schema", "allowed", "refused"), CASES)
def test_keywords(schema: Any, allowed: list[str], refused: list[str]) -> None:
    for text in allowed:
        assert is_accepted(schema, text), text
    for text in refused:
        assert not is_accepted(schema, text), text


KUBERNETES = "a-very-long-kubernetes-service-name-for-payments.prod.svc.cluster.local"


@pytest.mark.parametrize(
    ("name", "allowed", "refused"),
    [
        ("date", ["2024-02-29", "1900-12-31"], ["2023-02-29", "1900-02-29", "2024-13-01"]),
        ("date", ["0001-01-01", "0004-02-29"], ["0000-01-01", "0000-02-29"]),  # as Python has it
        ("date-time", ["2024-02-29T12:00:00Z"], ["2024-02-29T24:00:00Z", "2024-02-29"]),
        ("date-time", ["0001-01-01T00:00:00Z"], ["0000-01-01T00:00:00Z"]),
        ("time", ["23:59:60Z", "08:30:06+01:00"], ["22:59:60Z", "08:30:06"]),
        ("duration", ["P4DT12H30M5S", "P1W", "PT0S"], ["P", "P1YT", "P2W1D"]),
        ("email", ["joe.bloggs@example.com"], ["joe", ".joe@example.com", "j@[x]"]),
        ("hostname", ["a.example", "a" * 63], ["a" * 64, "-a", "a..b", "xn--x"]),
        (
            "hostname",
            [KUBERNETES, ".".join(["a" * 63] * 3 + ["a" * 61]), ".".join("a" * 127)],
            [".".join(["a" * 63] * 3 + ["a" * 62]), ".".join("a" * 128), f"{KUBERNETES}."],
        ),
        ("email", [f"a@{KUBERNETES}"], [f"a@{KUBERNETES}.", "a" * 243 + "@example.com"]),
        ("ipv4", ["0.0.0.0", "255.1.2.3"], ["256.0.0.1", "01.2.3.4", "1.2.3"]),
        ("ipv6", ["::", "::1", "1:2:3:4:5:6:7:8", "::1.2.3.4"], ["1::2::3", ":1", "12345::"]),
        ("uri", ["http://a.b/c?d#e", "urn:x:y"], ["a/b", "http://a b"]),
        ("uuid", ["2eb8aa08-aa98-11ea-b4aa-73b441d16380"], ["2eb8aa08-aa98-11ea-b4aa73b441d16380"]),
        ("json-pointer", ["", "/a~1b"], ["a", "/~2"]),
    ],
)
def test_formats(name: str, allowed: list[str], refused: list[str]) -> None:
    schema = {"type": "string", "format": name}
    for text in allowed:
        assert is_accepted(schema, json.dumps(text)), text
    for text in refused:
        assert not is_accepted(schema, json.dumps(text)), text
        assert is_accepted(schema, json.dumps(text), formats=False), text


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "text"}, "at /type: type is one or more of"),
        ({"minLength": -1}, "at /minLength: minLength is a whole number"),
        ({"properties": {"a": {"items": {"minimum": "1"}}}}, "at /properties/a/items/minimum:"),
        ({"$ref": "http://example.com/x.json"}, "at /$ref: 'http://example.com/x.json' is not in"),
        ({"$ref": "#/$defs/a"}, "leads nowhere"),
        ({"$ref": "#"}, "refers to itself before"),
        ({"anyOf": [{"allOf": [{"$ref": "#"}]}]}, "refers to itself before"),
        ({"type": "integer", "minimum": 3, "exclusiveMaximum": 3}, "no value is allowed"),
        (
            {
                "properties": {"a": {"type": "null", "const": 1}},
                "required": ["a"],
                "type": "object",
            },
            "at /properties/a: no value is allowed",
        ),
        (
            {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
            "only an infinite value",
        ),
        ({"maximum": int("1" * 500)}, "has more than 400 digits"),
        ({"type": "string", "pattern": "(a)\\1"}, "a backreference is not supported"),
        ({"type": "string", "pattern": "("}, "cannot be read"),
        ({"type": "number", "multipleOf": 0.123456789}, "at /multipleOf: multipleOf"),
        ({"not": {"type": "array", "uniqueItems": True}}, "at /not/uniqueItems: values cannot be"),
        ({"not": {"format": "idn-email"}}, "the format 'idn-email' is not regular"),
        ({"$schema": "http://json-schema.org/draft-03/schema#"}, "$schema is 'http://json-schema"),
        ({"enum": [float("inf")]}, "is not a number of JSON"),
        ("{", "the schema is not JSON"),
        (7, "a schema is an object"),
    ],
)
def test_schemas_that_are_refused(schema: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(message)) as caught:
        json_schema(schema)
    assert caught.type is SchemaError, "users see the name of the type"


def test_a_part_of_a_format_is_written_and_said() -> None:
    with pytest.warns(SchemaWarning, match="at /format: of the format 'idn-email', only 'email'"):
        assert is_accepted({"format": "idn-email"}, '"a@example.com"')
    with pytest.warns(SchemaWarning, match="of the format 'idn-hostname', only 'hostname'"):
        assert not is_accepted({"format": "idn-hostname"}, '"a b"')


@pytest.mark.parametrize(
    ("schema", "where"),
    [
        ({"uniqueItems": "yes"}, "at /uniqueItems: it is neither true nor false"),
        ({"items": {"format": 3}}, "at /items/format: it is no name"),
    ],
)
def test_what_is_no_value_of_a_keyword_is_told(schema: Any, where: str) -> None:
    with pytest.warns(SchemaWarning, match=where):
        json_schema(schema)


def test_what_cannot_be_guaranteed_is_left_out_with_a_warning() -> None:
    schema = {"type": "array", "items": {"multipleOf": 0.123456789}}
    with pytest.warns(SchemaWarning, match="/items/multipleOf"):
        assert is_accepted(schema, "[1]", best_effort=True)
    with warnings.catch_warnings(action="error"):
        json_schema({"type": "array", "uniqueItems": True, "maxItems": 1})


def test_schemas_nested_deeply_are_refused_or_read() -> None:
    schema: Any = {"type": "null"}
    for _ in range(100):
        schema = {"type": "array", "items": schema}
    assert is_accepted(schema, "[" * 100 + "null" + "]" * 100)
    for _ in range(100_000):
        schema = {"not": schema}
    with pytest.raises(SchemaError, match="nested"):
        json_schema(schema)


def test_a_pattern_with_a_bound_on_the_length_that_no_short_expression_has() -> None:
    schema = {"type": "string", "pattern": "^[a-z0-9](-?[a-z0-9])*$", "maxLength": 39}
    assert len(json_schema(schema).text) < 1000
    for text in ("a", "a-b", "a" * 39, "a-" * 19 + "a"):
        assert is_accepted(schema, json.dumps(text)), text
    for text in ("", "-a", "a--b", "a-", "a" * 40, "a-" * 20 + "a"):
        assert not is_accepted(schema, json.dumps(text)), text


def test_what_is_left_out_of_a_pattern_that_no_short_expression_has() -> None:
    """Both branches at once are none, so each is written without the other."""
    long = {"pattern": "^[a-z0-9](-?[a-z0-9])*$", "maxLength": 39}
    schema = {"type": "string", "allOf": [long], "not": {"pattern": "aa|bb"}}
    assert len(json_schema(schema).text) < 2000
    for text in ("a", "a-b", "ab" * 19 + "a", "a-" * 19 + "a"):
        assert is_accepted(schema, json.dumps(text)), text
    for text in ("", "aa", "a-bb", "cbba", "a--b", "ab" * 20):
        assert not is_accepted(schema, json.dumps(text)), text


def test_any_order_and_declared_order() -> None:
    schema = {"properties": {"a": {}, "b": {}, "c": {}}, "required": ["b"], "type": "object"}
    assert is_accepted(schema, '{"c": 1, "b": 1, "a": 1}')
    assert not is_accepted(schema, '{"c": 1, "b": 1}', order="declared")
    assert is_accepted(schema, '{"x": 0, "b": 1, "y": 0, "c": 1}', order="declared")
    assert not is_accepted(schema, '{"a": 1, "c": 1}', order="declared")


def test_there_is_no_text_of_many_properties_in_any_order() -> None:
    """The automaton has no such limit; `test_pushdown` tests that."""
    many = {"properties": {f"p{n}": {} for n in range(20)}}
    for order in ("any", None):
        with pytest.raises(SchemaError, match="order='declared'"):
            _ = json_schema(many, order=order).text
    assert is_accepted(many, '{"p1": 0, "p19": 0}', order="declared")
    assert not is_accepted(many, '{"p19": 0, "p1": 0}', order="declared")


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "array", "maxItems": 10**9}, "too many states"),
        ({"type": "string", "maxLength": 10**6}, "it has more than 20000 states"),
    ],
)
def test_texts_do_not_count_far(schema: Any, message: str) -> None:
    """Automata do."""
    grammar = json_schema(schema)
    with pytest.raises(SchemaError, match=message):
        _ = grammar.text


def test_whitespace_between_values() -> None:
    schema = {"type": "array"}
    assert is_accepted(schema, ' [1 ,\n{"a" : [ ] }\t]\n')
    assert is_accepted(schema, '[1, {"a":2}]', max_whitespace=1)
    assert not is_accepted(schema, "[1,  2]", max_whitespace=1)
    assert not is_accepted(schema, "[1, 2]", max_whitespace=0)
    compact: Any = {"separators": (", ", ": ")}
    assert is_accepted(schema, json.dumps([1, {"a": [2, 3]}]), **compact)
    assert not is_accepted(schema, "[1,2]", **compact)


class Address(pydantic.BaseModel):
    street: str
    zip_code: str = pydantic.Field(pattern=r"^[0-9]{5}$")


class Person(pydantic.BaseModel):
    name: str = pydantic.Field(min_length=1)
    age: int = pydantic.Field(ge=0, le=150)
    role: Literal["admin", "user"]
    address: Address | None = None
    friends: list[Person] = []


class Open(pydantic.BaseModel, extra="allow"):
    size: int
    properties: dict[str, int] = {}


def test_a_model_of_pydantic_has_the_members_that_it_declares() -> None:
    def parses(model: type, text: str) -> bool:
        with no_search_for_overlaps():
            parser = lark.Lark(json_schema(model).text, parser="lalr")
        try:
            parser.parse(text)
        except lark.exceptions.UnexpectedInput:
            return False
        return True

    more = '{"street": "S", "zip_code": "12345", "city": "C"}'
    assert is_accepted(Address.model_json_schema(), more)
    assert not parses(Address, more)
    assert parses(Open, '{"size": 1, "properties": {"a": 1}, "city": "C"}')
    assert not parses(Open, '{"size": 1, "properties": {"a": "b"}}')


def test_a_model_of_pydantic_reads_what_is_written() -> None:
    schema = Person.model_json_schema()
    text = (
        '{"name": "Ada", "age": 36, "role": "admin", "address": {"street": "S", "zip_code": '
        '"12345"}, "friends": [{"name": "B", "age": 0, "role": "user"}]}'
    )
    assert Person.model_validate_json(text)
    assert is_accepted(schema, text)
    closed = dict(schema)  # Person is among the definitions, since it is in its own friends
    closed["$defs"] = {
        name: {**part, "additionalProperties": False} for name, part in schema["$defs"].items()
    }
    assert json_schema(Person).text == json_schema(closed, order="declared").text
    for wrong in (
        '{"name": "", "age": 36, "role": "admin"}',
        '{"name": "A", "age": 151, "role": "admin"}',
        '{"name": "A", "age": 1, "role": "root"}',
    ):
        with pytest.raises(pydantic.ValidationError):
            Person.model_validate_json(wrong)
        assert not is_accepted(schema, wrong)


# Where the notations differ: `$` of Python's comes before a line feed, and only Python has
# look-ahead; marks are of words in Rust alone, numbers that are no digits in Python alone.
Narrow = Annotated[str, pydantic.Field(pattern=r"^\W$")]


class InRust(pydantic.BaseModel):
    a: Narrow
    b: dict[Annotated[str, pydantic.Field(pattern=r"^\D$")], int] = {}


class InPython(pydantic.BaseModel, regex_engine="python-re"):
    a: Narrow
    b: dict[Annotated[str, pydantic.Field(pattern=r"^\D$")], int] = {}
    looking: Annotated[str, pydantic.Field(pattern="(?=a)[ab]")] = "a"
    inner: InRust | None = None


class Holder(pydantic.BaseModel):
    inner: InPython


@pydantic.dataclasses.dataclass(config=pydantic.ConfigDict(regex_engine="python-re"))
class InDataclass:
    a: Narrow


class InTypedDict(TypedDict):
    a: Narrow


class PythonTypedDict(TypedDict):
    __pydantic_config__ = pydantic.ConfigDict(regex_engine="python-re")  # type: ignore[misc]
    a: Narrow
    inner: InTypedDict


Compiled = Annotated[str, pydantic.StringConstraints(pattern=re.compile("^\\W$|(?<=x)y", re.I))]
HARD = ["", "-", "é", "-\n", "\n", "7", "\u0667", "\u00b2", "\u0301", "xy", "XY", "b", "ab", "ba"]


@pytest.mark.parametrize(
    ("type_", "template"),
    [
        (Narrow, "{}"),
        (list[Narrow], "[{}]"),
        (dict[str, Narrow | None], '{{"k": {}}}'),
        (pydantic.constr(pattern=r"^[a-c&&b]\z|^\d$"), "{}"),
        (Annotated[str, pydantic.Field(pattern="^.$"), pydantic.Field(pattern=r"\W")], "{}"),
        (Compiled, "{}"),
        (InRust, '{{"a": {}}}'),
        (InRust, '{{"a": "-", "b": {{{}: 1}}}}'),
        (InPython, '{{"a": {}}}'),
        (InPython, '{{"a": "-", "b": {{{}: 1}}}}'),
        (InPython, '{{"a": "-", "looking": {}}}'),
        (InPython, '{{"a": "-", "inner": {{"a": {}}}}}'),
        (Holder, '{{"inner": {{"a": {}}}}}'),
        (InDataclass, '{{"a": {}}}'),
        (InTypedDict, '{{"a": {}}}'),
        (PythonTypedDict, '{{"a": {}, "inner": {{"a": "-"}}}}'),
        (PythonTypedDict, '{{"a": "-", "inner": {{"a": {}}}}}'),
    ],
)
def test_patterns_of_pydantic_mean_what_its_own_engine_finds(type_: Any, template: str) -> None:
    machine = ByteMachine(output_type(type_).grammar.automaton())
    adapter = pydantic.TypeAdapter(type_)
    n_valid = 0
    for value in HARD:
        text = template.format(json.dumps(value, ensure_ascii=False))
        try:
            adapter.validate_json(text)
            is_valid_text = True
        except pydantic.ValidationError:
            is_valid_text = False
        n_valid += is_valid_text
        read = machine.advance(machine.initial, text.encode())
        assert (read is not None and machine.is_sentence(read)) == is_valid_text, text
    assert 0 < n_valid < len(HARD)


def of_older(draft: str, **keywords: Any) -> dict[str, Any]:
    return {"$schema": OLDER_DRAFTS[draft], **keywords}


A_NULL = {"definitions": {"a": {"type": ["null", "array"]}}}
IN_PARTS = {"x": {"id": "http://x.org/part", "$id": "http://x.org/part", "type": "null"}}


@pytest.mark.parametrize(
    ("schema", "texts"),
    [
        (of_older("4", type="integer"), ["1", "-0", "1.0", "1.5", "10"]),
        (of_older("4", type="integer", multipleOf=5), ["10", "10.0", "11"]),
        (of_older("4", type=["integer", "number"]), ["1", "1.0", "1.5"]),
        (of_older("4", type="integer", enum=[1.0, 2.5]), ["1", "1.0", "2.5"]),
        (of_older("6", type="integer"), ["1", "1.0", "1.5"]),
        (of_older("4", minimum=3, exclusiveMinimum=True), ["3", "3.0", "3.1"]),
        (of_older("4", minimum=3, exclusiveMinimum=False), ["3", "2.9", "3.1"]),
        (of_older("4", exclusiveMinimum=3), ["2", "3", "4"]),
        (of_older("4", maximum=3, exclusiveMaximum=True), ["3", "3.0", "2"]),
        (of_older("6", exclusiveMinimum=3), ["2", "3", "4"]),
        (of_older("4", const=1), ["1", "2"]),
        (of_older("6", const=1), ["1", "2"]),
        (of_older("4", contains={"const": 1}), ["[]", "[1]"]),
        (of_older("7", contains={"const": 1}, minContains=2, maxContains=2), ["[]", "[1]", "[2]"]),
        (of_older("2019-09", contains={"const": 1}, minContains=2), ["[1]", "[1, 1]"]),
        (of_older("4", propertyNames={"maxLength": 1}), ['{"ab": 1}', '{"a": 1}']),
        (of_older("6", propertyNames={"maxLength": 1}), ['{"ab": 1}', '{"a": 1}']),
        (of_older("4", **{"if": {"type": "null"}, "then": False}), ["null", "1"]),
        (of_older("6", **{"if": {"type": "null"}, "then": False}), ["null", "1"]),
        (of_older("7", **{"if": {"type": "null"}, "then": False}), ["null", "1"]),
        (of_older("7", dependencies={"a": ["b"]}), ['{"a": 1}', '{"a": 1, "b": 1}']),
        (of_older("7", dependentRequired={"a": ["b"]}), ['{"a": 1}', '{"a": 1, "b": 1}']),
        (of_older("2019-09", dependentRequired={"a": ["b"]}), ['{"a": 1}', '{"a": 1, "b": 1}']),
        (of_older("7", unevaluatedProperties=False), ['{"a": 1}', "{}"]),
        (of_older("2019-09", unevaluatedProperties=False), ['{"a": 1}', "{}"]),
        (of_older("7", items=[{"type": "null"}], additionalItems=False), ["[null]", "[null, 1]"]),
        (of_older("4", items={"type": "null"}, additionalItems=False), ["[null, null]", "[1]"]),
        (of_older("2019-09", items=[{"type": "null"}]), ["[null, 1]", "[1]"]),
        (of_older("2019-09", prefixItems=[{"type": "null"}]), ["[null]", "[1]"]),
        (of_older("7", **A_NULL, **{"$ref": "#/definitions/a"}, maxItems=0), ["null", "[]", "[1]"]),
        (of_older("2019-09", **A_NULL, **{"$ref": "#/definitions/a"}, maxItems=0), ["[]", "[1]"]),
        (of_older("4", **{"$ref": "http://x.org/part"}, definitions=IN_PARTS), ["null", "1"]),
        (of_older("6", **{"$ref": "http://x.org/part"}, definitions=IN_PARTS), ["null", "1"]),
        (
            of_older("2019-09", **{"$recursiveAnchor": True, "type": ["array", "null"]})
            | {"items": {"$recursiveRef": "#"}},
            ["[[null]]", "[[1]]"],
        ),
        (
            {"$schema": "https://json-schema.org/draft/2020-12/schema"}
            | {"prefixItems": [True], "additionalItems": False},
            ["[1]", "[1, 1]"],
        ),
    ],
)
def test_each_draft_is_read_by_its_own_rules(schema: dict[str, Any], texts: list[str]) -> None:
    for text in texts:
        assert is_accepted(schema, text) == is_valid(schema, text), text


@pytest.mark.slow
@pytest.mark.parametrize("draft", OLDER_DRAFTS)
def test_random_schemas_of_older_drafts_agree_with_jsonschema(draft: str) -> None:
    for seed in range(or_in_ci(60, 15)):
        rng = random.Random(seed)
        schema = of_draft(rng, varied_schema(rng, rng.choice((1, 2))), draft)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SchemaWarning)
            compare_with_jsonschema(schema, seed, Counter())


def test_what_a_draft_ignores_is_noted() -> None:
    schema = of_older(
        "4", const=1, items={"if": {}}, anyOf=[{"$ref": "#/definitions/a", "enum": [1]}]
    )
    grammar = json_schema({**schema, **A_NULL, "exclusiveMinimum": 3})
    assert grammar.left_out == (
        ("/const", "draft 4 does not know it"),
        ("/exclusiveMinimum", "draft 4 knows truth values only"),
        ("/anyOf/0/enum", "draft 4 ignores what stands beside $ref"),
        ("/items/if", "draft 4 does not know it"),
    )
    assert json_schema({"const": 1, "items": {"if": {}}}).left_out == ()


@pytest.mark.parametrize("keyword", ["id", "$id"])
def test_what_a_part_with_an_id_does_not_have_is_looked_up_from_the_root(keyword: str) -> None:
    part = {keyword: "http://x.org/part", "items": {"$ref": "#/definitions/a"}}
    draft = "4" if keyword == "id" else "7"
    schema = of_older(draft, properties={"b": part}, definitions={"a": {"enum": [7]}})
    grammar = json_schema(schema)
    assert [is_accepted(schema, text) for text in ('{"b": [7]}', '{"b": [8]}')] == [True, False]
    assert grammar.left_out == (
        (
            "/properties/b/items/$ref",
            "'#/definitions/a' leads nowhere inside the part with the id 'http://x.org/part'; "
            "it is looked up from the root",
        ),
    )
    own = {**part, "definitions": {"a": {"enum": [8]}}}
    schema = of_older(draft, properties={"b": own}, definitions={"a": {"enum": [7]}})
    assert [is_accepted(schema, text) for text in ('{"b": [7]}', '{"b": [8]}')] == [False, True]
    with pytest.raises(SchemaError, match="leads nowhere: there is no 'definitions'"):
        json_schema(of_older(draft, properties={"b": part}))


LARGEST = "17976931348623157" + "0" * 292  # as `repr` writes it


@pytest.mark.parametrize(
    ("schema", "allowed", "refused"),
    [
        ({"maximum": 1.79769e308}, ["0", "-1", "179768" + "9" * 303], ["179769" + "0" * 302 + "1"]),
        ({"maximum": sys.float_info.max}, [LARGEST], [LARGEST[:-1] + "1", f"{LARGEST}0"]),
        ({"minimum": -1.79769e308, "type": "integer"}, ["-5", "5"], ["-18" + "0" * 307]),
        ({"exclusiveMinimum": 5e-324}, ["1", f"0.{'0' * 323}6"], ["0", f"0.{'0' * 323}5", "-1"]),
        ({"minimum": 4.9406564584124654e-324}, [f"0.{'0' * 323}5"], [f"0.{'0' * 323}4"]),
        ({"maximum": 1e100, "minimum": -1e100}, ["1" + "0" * 100], ["1" + "0" * 100 + ".1"]),
        ({"const": 1e100}, ["1" + "0" * 100], ["1" + "0" * 99]),
    ],
)
def test_bounds_may_be_as_large_and_as_small_as_floats(
    schema: Any, allowed: list[str], refused: list[str]
) -> None:
    recognizer = ByteMachine(json_schema(schema).automaton())
    assert [reads(recognizer, text) for text in allowed] == [True] * len(allowed)
    assert [reads(recognizer, text) for text in refused] == [False] * len(refused)


def test_masks_write_a_valid_value() -> None:
    """Through the whole engine: whatever is written token by token is valid."""
    schema = {
        "type": "object",
        "properties": {"kind": {"enum": ["cat", "dog"]}, "age": {"type": "integer", "minimum": 1}},
        "required": ["kind", "age"],
        "additionalProperties": False,
    }
    tokens = [bytes([byte]) for byte in range(32, 127)] + [b'{"', b'": ', b"ca", b'"age', None]
    vocabulary = cfgguide.Vocabulary(tokens, eos_token_ids=len(tokens) - 1)
    grammar = json_schema(schema, separators=(", ", ": "))
    index = cfgguide.compile(grammar, vocabulary)
    rng = random.Random(0)
    n_complete = 0
    for _ in range(60):
        guide = cfgguide.Guide(index)
        for _ in range(60):
            token_id = rng.choice(guide.allowed_token_ids().tolist())
            guide.advance(token_id)
            if guide.is_finished:
                n_complete += 1
                assert is_valid(schema, guide.text.decode())
                break
    assert n_complete > 30


def test_an_unknown_dialect_is_read_as_the_latest_with_a_warning() -> None:
    schema = {"$schema": "http://example.com/mine", "prefixItems": [{"type": "null"}]}
    with pytest.warns(SchemaWarning, match="read as 2020-12"):
        grammar = json_schema(schema)
    assert cfgguide.check(grammar, "[null, 1]").is_sentence
    assert not cfgguide.check(grammar, "[1]").is_sentence


@pytest.mark.parametrize("dialect", ["draft-04", "draft-07", "draft/2019-09", "draft/2020-12"])
def test_metaschemas_are_known(dialect: str) -> None:
    schema = {"items": {"$ref": f"http://json-schema.org/{dialect}/schema#"}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SchemaWarning)  # what is said of `default` and `enum`
        grammar = json_schema(schema, best_effort=True)
    recognizer = ByteMachine(grammar.automaton())
    texts = ('[{"type": "string"}]', '[{"type": "strin"}]', '[{"properties": {"a": {"not": 1}}}]')
    read = [recognizer.advance(recognizer.initial, text.encode()) for text in texts]
    assert [each is not None and recognizer.is_sentence(each) for each in read] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    "schema",
    [
        {"items": [{"type": "null"}], "additionalItems": False},  # older than 2020-12
        {"$defs": {"a": {"$id": "#a", "const": [None]}}, "$ref": "#a"},
        {
            "id": "http://x.org/b",
            "definitions": {"a": {"const": [None]}},
            "$ref": "b#/definitions/a",
        },
    ],
)
def test_what_older_drafts_say_without_a_schema_keyword(schema: dict[str, object]) -> None:
    grammar = json_schema(schema)
    assert cfgguide.check(grammar, "[null]").is_sentence
    assert not cfgguide.check(grammar, "[1]").is_sentence


@pytest.mark.parametrize(
    ("schema", "options", "message"),
    [
        ("[" * 100_000, {}, "nested too deeply"),
        ('{"not":' * 100_000, {}, "nested too deeply"),
        ({"$ref": "#/allOf/²", "allOf": [{}]}, {}, "leads nowhere: there is no '²'"),
        ({"$ref": "#/allOf/" + "1" * 5000, "allOf": [{}]}, {}, "leads nowhere"),
        ({"$id": "http://[", "$ref": "a"}, {}, "is not a URI"),
        (
            {"properties": {1: {}}},
            {},
            "the schema has the name 1, of the type int; in JSON names are texts",
        ),
        ({"const": {None: 1}}, {}, "the schema has the name None"),
        ({}, {"registry": {1: {}}}, "the registry has the name 1"),
        ({}, {"separators": (None, None)}, "separators is (None, None); it is two texts"),
        ({}, {"separators": ","}, "it is two texts, a comma and a colon"),
        ({}, {"separators": (";", ":")}, "it is two texts, a comma and a colon"),
        ({}, {"separators": (",\u00a0", ":")}, "it is two texts, a comma and a colon"),
        ({}, {"separators": ("," + " " * 1000, ":")}, "of 1000 characters at most"),
        ({"pattern": "a" * 50_001}, {}, "has 50001 characters, more than 50000"),
        ({"patternProperties": {"a" * 50_001: {}}}, {}, "has 50001 characters, more than 50000"),
        ({}, {"order": ["any"]}, "order is ['any']; it is 'any' or 'declared'"),
        ({}, {"max_whitespace": 1.5}, "max_whitespace is 1.5; it is 0 to 1000000"),
        ({}, {"formats": "no"}, "formats is 'no'; it is True or False"),
        ({}, {"limits": 5}, "limits is a cfgguide.Limits, such as Limits(max_seconds=5), not 5"),
        ({}, {"cancelled": True}, "cancelled is a function without arguments, not True"),
    ],
)
def test_what_is_wrong_is_said(schema: Any, options: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(message)) as caught:
        json_schema(schema, **options)
    assert len(str(caught.value)) < 500


# --- Tidy: what a model writes by default --------------------------------------------------------

NINES = "9" * 19
LARGE = 10**25
# A schema, texts of it that are tidy, and texts of the same values, or of others, that are not.
TIDY: dict[str, tuple[Any, list[str], list[str]]] = {
    "whole": (
        {"type": "integer"},
        ["0", "-12", NINES, f"-{NINES}"],
        ["1.0", "1e2", "-0", f"1{NINES}"],
    ),
    "from 1 to 5": ({"type": "integer", "minimum": 1, "maximum": 5}, ["1", "5"], ["1.0", "6", "0"]),
    "a number": (
        {"type": "number"},
        [
            "3", "3.0", "-2.50", "1e-07", "5e-324", "1.7976931348623157e+308",
            "0.00012345678901234567",
        ],
        ["1" * 18, "1." + "1" * 17, "0." + "0" * 18, "1e1000", "1e999", "1.8e308", "-0"],
    ),
    "anything": ({}, [NINES, "1.5", '"a"', "[1, 2]"], [f"1{NINES}", "[1,2]", "1." + "0" * 17]),
    "listed": ({"enum": [1, 2.5, "a"]}, ["1", "2.5", '"a"'], ["1.0", "2.50"]),
    "one": ({"const": 1.0}, ["1"], ["1.0"]),
    "whole or text": ({"type": ["integer", "string"]}, ["7", '"7"'], ["7.0"]),
    "steps": ({"type": "number", "multipleOf": 0.5}, ["1", "1.0", "2.5"], ["2.3", "1." + "0" * 17]),
    "money": ({"type": "number", "multipleOf": 0.01, "minimum": 0}, ["5.50", "5"], ["5.501", "-1"]),
    "large": (
        {"type": "integer", "minimum": LARGE},
        [str(LARGE), f"1{LARGE}"],
        [f"11{LARGE}", "1"],
    ),
    "up to large": (
        {"type": "integer", "minimum": 0, "maximum": LARGE},
        [str(LARGE)],
        [f"{LARGE}.0"],
    ),
    "below": ({"type": "integer", "maximum": -LARGE}, [f"-{LARGE}"], [f"-111{LARGE}"]),
    "close together": (
        {"type": "number", "exclusiveMinimum": 1e-30, "exclusiveMaximum": 2e-30},
        ["0." + "0" * 29 + "15"],
        ["0." + "0" * 29 + "1", "0." + "0" * 29 + "15" + "0" * 9],
    ),
    "not whole": ({"type": "number", "not": {"type": "integer"}}, ["0.5", "1.5"], ["1", "1.0"]),
    "one of two": (
        {"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 10}]},
        ["9", "10.5", "9.0"],
        ["10", "9.5", "1" * 18],
    ),
    "names": (
        {"additionalProperties": {"type": "integer"}, "type": "object"},
        ['{"a": 1}'],
        ['{"a": 1.0}'],
    ),
    "patterns": (
        {"type": "object", "patternProperties": {"^a": {"type": "integer"}}},
        ['{"a": 1}'],
        ['{"a": 1.0}', '{"a":1}', '{"a" : 1}'],
    ),
    "first": ({"type": "array", "prefixItems": [{"type": "integer"}]}, ["[1]"], ["[1.0]", "[ 1]"]),
    "white space": (
        {"pattern": r"^\s[\s,]$"},
        ['" ,"', '"\\n "'],
        ['"\u2003 "', '" \u00a0"', '"ab"'],
    ),
    "no white space": ({"pattern": r"^[^\s]\S$"}, ['"ab"'], ['"a "', '"\u2003b"']),
    "not white space": (
        {"type": "string", "not": {"pattern": r"\s"}},
        ['"a"'],
        ['" "', '"\u2003"'],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TIDY)
def test_tidy_values_are_written_in_ways_that_end(name: str) -> None:
    schema, tidy, others = TIDY[name]
    for text in [*tidy, *others]:
        assert is_read(json.dumps(schema), text, tidy=True) == (text in tidy), text
    assert all(is_valid(schema, text) for text in tidy)


@pytest.mark.slow
@pytest.mark.parametrize("name", TIDY)
def test_the_text_of_a_tidy_grammar_says_the_same(name: str) -> None:
    schema, tidy, others = TIDY[name]
    for text in [*tidy, *others]:
        assert is_accepted(schema, text, tidy=True) == (text in tidy), text


def test_what_python_writes_of_numbers_is_tidy() -> None:
    rng = random.Random(7)
    floats = [struct.unpack("d", rng.randbytes(8))[0] for _ in range(3_000)]
    floats += [x * 10.0 ** rng.randint(-9, 17) for x in floats[:9] for _ in range(9)]
    floats += [0.0, -0.0, 1e16, 1e15, 1e-4, 123456789012345.67, sys.float_info.max, 5e-324]
    floats += [round(rng.uniform(-1e4, 1e4), 2) for _ in range(500)]
    number, anything = json.dumps({"type": "number"}), "{}"
    for each in filter(math.isfinite, floats):
        assert is_read(number, json.dumps(each), tidy=True), each
    for bits in range(1, 64):
        for each in (2**bits - 1, -(2**bits)):
            assert is_read(anything, json.dumps(each), tidy=True)


@pytest.mark.parametrize("text", ["1.0", "1e2", "-0", "1" * 30, "1." + "0" * 30])
def test_without_options_a_schema_has_all_forms_of_numbers(text: str) -> None:
    assert is_read(json.dumps({"type": "number"}), text)
    assert text == "1e2" or is_read(json.dumps({"type": "integer"}), text)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_random_schemas_have_tidy_values_wherever_they_have_values(seed: int) -> None:
    """Byte by byte, one chosen of those allowed: the texts are valid, and their numbers short."""
    rng = random.Random(seed)
    schema = random_schema(rng)
    if not has_values(schema):
        return
    index = cfgguide.compile(json_schema(schema, tidy=True), cfgguide.Vocabulary.of_bytes())
    for _ in range(4):
        text = sampled_text(index, rng)
        assert is_valid(schema, text), (schema, text)
        for number in re.findall(r"-?[0-9][-+.0-9eE]*", re.sub(r'"(?:[^"\\]|\\.)*"', "", text)):
            digits, _, exponent = number.lower().partition("e")
            is_whole = re.fullmatch("-?[0-9]+", number) is not None
            n_digits = len(digits.replace(".", "").lstrip("-0"))
            assert n_digits <= (19 if is_whole else 17), text
            assert len(exponent.lstrip("+-")) <= 3, text


def has_values(schema: Any) -> bool:
    """Return whether a schema can be guaranteed and allows any value."""
    try:
        json_schema(schema)
    except SchemaError:
        return False
    return True


def sampled_text(index: cfgguide.Index, rng: random.Random) -> str:
    """A text whose end is looked for once it is long."""
    guide, data = cfgguide.Guide(index), b""
    eos = index.vocabulary.eos_token_ids[0]
    while not guide.is_finished:
        allowed = guide.allowed_token_ids().tolist()
        ends = set(allowed) & {eos, *b']}",'}
        token = rng.choice(
            sorted(ends) if ends and len(data) > 60 and rng.random() < 0.8 else allowed
        )
        guide.advance(token)
        data += bytes([token]) if token != eos else b""
        if len(data) > 400:
            return (
                data + bytes(each for each in guide.shortest_completion() if each != eos)
            ).decode()
    return data.decode()


# --- Closed: no members but those that are declared ----------------------------------------------

OPEN: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("schema", "text", "may_have_others"),
    [
        (OPEN, '{"b": 2}', False),
        ({"type": "array", "items": OPEN}, '[{"b": 2}]', False),
        ({"anyOf": [OPEN, {"type": "null"}]}, '{"b": 2}', False),
        ({"$ref": "#/$defs/o", "$defs": {"o": OPEN}}, '{"b": 2}', False),
        ({"properties": {"o": {"allOf": [OPEN]}}}, '{"o": {"b": 2}}', False),
        ({**OPEN, "additionalProperties": True}, '{"b": 2}', True),
        ({**OPEN, "patternProperties": {"^b": {}}}, '{"b": 2}', True),
        ({**OPEN, "required": ["b"]}, '{"b": 2}', True),
        ({"type": "object"}, '{"b": 2}', True),
        ({"allOf": [OPEN, {"required": ["b"], "properties": {"b": {}}}]}, '{"b": 2}', True),
        ({"anyOf": [OPEN], "required": ["b"]}, '{"b": 2}', True),
        (
            {"oneOf": [OPEN, {"type": "object", "properties": {"b": {}}}]},
            '{"a": "x", "b": 2}',
            True,
        ),
        ({"not": OPEN}, '{"a": "x", "b": 2}', True),
        ({"if": OPEN, "then": {"minProperties": 1}}, '{"b": 2}', True),
        (
            {"properties": {"o": OPEN}, "patternProperties": {"o": {"required": ["b"]}}},
            '{"o": {"b": 2}}',
            True,
        ),
    ],
)
def test_closed_objects_have_declared_members_only_where_that_is_safe(
    schema: Any, text: str, may_have_others: bool
) -> None:
    assert is_valid(schema, text)
    assert is_read(json.dumps(schema), text)
    assert is_read(json.dumps(schema), text, closed=True) == may_have_others


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(150))
def test_closed_schemas_have_values_and_no_others_than_before(seed: int) -> None:
    rng = random.Random(seed)
    schema = random_schema(rng)
    if not has_values(schema):
        return
    json_schema(schema, closed=True)  # has a value too
    for _ in range(20):
        text = json.dumps(random_value(rng))
        if is_read(json.dumps(schema), text, closed=True):
            assert is_valid(schema, text), text
