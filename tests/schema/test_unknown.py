"""What may be left open: `jsonschema`, Pydantic and `re` decide which texts there are then."""

from __future__ import annotations

import itertools
import json
import random
import re
import warnings
from typing import Annotated, Any, Literal

import pydantic
import pytest
from pydantic import BaseModel, Field
from support.schemas import is_valid

import cfgguide
from cfgguide import or_unknown
from cfgguide.errors import CfgGuideError, GrammarError, SchemaError
from cfgguide.output_types import output_type


class Address(BaseModel):
    city: Annotated[str, Field(max_length=9)]
    zip: str | None = None


class Person(BaseModel):
    """Someone."""

    kind: Literal["person"] = "person"
    name: Annotated[str, Field(min_length=1, description="As in the text", alias="called")]
    age: int = Field(ge=0, le=150)
    home: Address
    friends: list[Person] = []
    homes: dict[str, Address] = {}
    tags: list[str]

    @pydantic.field_validator("age")
    @classmethod
    def is_grown(cls, age: int | None) -> int | None:
        if age is not None and age < 18:
            raise ValueError("a child")
        return age


KNOWN = {
    "called": "Ada",
    "age": 36,
    "home": {"city": "London"},
    "friends": [{"called": "B", "age": 20, "home": {"city": "x"}, "tags": []}],
    "tags": ["x"],
}
#: What a model may be unsure of, as paths in `KNOWN`.
LEAVES = (
    *(("called",), ("age",), ("home", "city"), ("tags",), ("friends",)),
    *(("friends", 0, "age"), ("friends", 0, "home", "city"), ("home", "zip")),
)


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    made = json.loads(json.dumps(value))
    inside = made
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = new
    return made


def accepts(what: Any, value: Any) -> bool:
    with warnings.catch_warnings(action="ignore"):  # of the validator
        return cfgguide.check(what, json.dumps(value)).is_sentence


@pytest.mark.parametrize("path", LEAVES)
def test_each_leaf_of_a_model_may_be_null(path: tuple[Any, ...]) -> None:
    made = or_unknown(Person)
    value = changed(KNOWN, path, None)
    assert accepts(made, value)
    parsed = made.model_validate(value)
    assert isinstance(parsed, Person)
    assert made.__name__ == "Person"


@pytest.mark.parametrize(
    ("path", "new"),
    [(("kind",), None), (("home",), None), (("friends", 0), None), (("age",), 151),
     (("age",), "x"), (("home", "city"), "0123456789"), (("called",), ""), (("tags", 0), None)],
)  # fmt: skip
def test_all_else_is_as_it_was(path: tuple[Any, ...], new: Any) -> None:
    made = or_unknown(Person)
    assert accepts(made, KNOWN)
    value = changed(KNOWN, path, new)
    assert not accepts(made, value)
    with pytest.raises(pydantic.ValidationError):
        made.model_validate(value)


def test_validators_and_the_class_stay() -> None:
    made = or_unknown(Person)
    with pytest.raises(pydantic.ValidationError, match="a child"):
        made.model_validate(changed(KNOWN, ("age",), 3))
    assert Person.model_fields["age"].annotation is int
    friend = made.model_validate(KNOWN).friends[0]
    assert type(friend) is made


def test_fields_by_name() -> None:
    made = or_unknown(Person, ["city", "home"])
    assert accepts(made, changed(KNOWN, ("home", "city"), None))
    assert accepts(made, changed(KNOWN, ("home",), None))
    assert accepts(made, changed(KNOWN, ("friends", 0, "home", "city"), None))
    assert not accepts(made, changed(KNOWN, ("age",), None))


def test_another_value_than_null() -> None:
    made = or_unknown(Person, ["age"], value="unknown")
    assert accepts(made, changed(KNOWN, ("friends", 0, "age"), "unknown"))
    assert not accepts(made, changed(KNOWN, ("age",), None))


def test_other_types() -> None:
    assert output_type(or_unknown(int)).parse("null") is None
    assert accepts(or_unknown(Literal["a", "b"]), None)
    [found] = output_type(or_unknown(list[Address])).parse('[{"city": null, "zip": null}]')
    assert found.city is None
    assert not accepts(or_unknown(list[Address]), [None])


SCHEMAS: list[dict[str, Any]] = [
    {"type": "object", "properties": {"a": {"type": "integer", "minimum": 3}, "b": {"const": 1}},
     "required": ["a"], "additionalProperties": False},
    {"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}, "b": {"$ref": "#/$defs/n"}},
     "$defs": {"x": {"type": "object", "properties": {"a": {"enum": ["p", "q"]}}},
               "n": {"type": "boolean"}}},
    {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                                      "b": {"type": "array", "items": {"type": "object",
                                            "properties": {"a": {"type": "integer"}}}}}},
    {"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}},
               {"properties": {"a": {"minimum": 3}, "b": {"type": "string"}}}]},
    {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
     "properties": {"a": {"$ref": "#/definitions/n"}, "b": {}},
     "definitions": {"n": {"type": "string", "maxLength": 2}}},
]  # fmt: skip
VALUES = (None, 1, 3, "p", "long", True, [], [{"a": 1}], [{"a": None}], {"a": "p"}, {"a": None})


def without_nulls(value: Any) -> Any:
    """A value without the members that are null."""
    if isinstance(value, dict):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("schema", SCHEMAS)
def test_schemas_allow_null_for_values_and_nothing_else(schema: dict[str, Any]) -> None:
    before, n_more = json.dumps(schema), 0
    made = or_unknown(schema)
    assert json.dumps(schema) == before
    optional = {**schema, "required": []}
    for a, b in itertools.product((*VALUES, ...), repeat=2):
        value = {name: each for name, each in (("a", a), ("b", b)) if each is not ...}
        text = json.dumps(value)
        is_known = is_valid(schema, text)
        assert is_valid(made, text) or not is_known
        if is_valid(made, text) and not is_known:
            n_more += 1
            assert is_valid(optional, json.dumps(without_nulls(value))), value
    assert n_more > 1


def test_a_schema_of_no_object_may_be_null_itself() -> None:
    made = or_unknown({"$defs": {"n": {"type": "integer"}}, "$ref": "#/$defs/n", "title": "N"})
    assert [is_valid(made, text) for text in ("3", "null", '"x"')] == [True, True, False]
    assert made["title"] == "N"


@pytest.mark.parametrize(
    "pattern", [re.compile("[a-c]+"), re.compile("(?i)[a-c]+ # x", re.VERBOSE), re.compile("a|b?$")]
)
def test_patterns_have_one_text_more(pattern: re.Pattern[str]) -> None:
    made = or_unknown(pattern)
    rng = random.Random(0)
    texts = ["", "unknown", "UNKNOWN", "unknow", "unknowna"]
    texts += ["".join(rng.choices("abcABC", k=rng.randrange(4))) for _ in range(40)]
    for text in texts:
        is_known = pattern.fullmatch(text) is not None
        assert cfgguide.check(made, text).is_sentence == (is_known or text == "unknown"), text
        assert output_type(made).parse(text) == (None if text == "unknown" else text)


def test_choices_have_one_text_more() -> None:
    made = or_unknown(["cat", "unknown animal"], value="?")
    texts = ("cat", "unknown animal", "?", "unknown", "")
    assert [cfgguide.check(made, text).is_sentence for text in texts] == [True] * 3 + [False] * 2
    assert output_type(made).parse("?") is None


@pytest.mark.parametrize(
    ("what", "options", "error", "said"),
    [
        (Person, {"fields": ["agee"]}, SchemaError, "did you mean age"),
        (["a"], {"fields": ["b"]}, SchemaError, "have no fields"),
        (["unknown"], {}, GrammarError, "means something already"),
        (re.compile(".*"), {}, GrammarError, "means something already"),
        ("sql", {}, GrammarError, "give a type, a schema"),
        (Person, {"value": 3}, GrammarError, "value is 3"),
        (["a"], {"value": "\ud800"}, CfgGuideError, "surrogate"),
    ],
)
def test_what_cannot_be_left_open(what: Any, options: Any, error: Any, said: str) -> None:
    with pytest.raises(error, match=said):
        or_unknown(what, **options)


def test_a_model_without_a_description_has_none() -> None:
    class Bare(BaseModel):
        age: int

    assert or_unknown(Bare).__doc__ is None
    assert cfgguide.describe(or_unknown(Bare)) == "// Bare\n{ age: integer | null }"
