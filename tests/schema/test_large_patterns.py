"""Schemas with patterns that are too large to be made as a whole: `re` and `jsonschema` judge."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from support.schema_walks import SMALL, check_ending, finder, walk
from support.schemas import is_read, is_valid, random_schema

import cfgguide
from cfgguide.automata.language import Language
from cfgguide.automata.pattern_automaton import PatternAutomaton
from cfgguide.errors import SchemaError

#: An automaton of 2 ** 18 states.
HUGE = "^(?:x{0,210}|[ab]*a[ab]{17})$"
#: From SchemaStore's `revola`.
EMAIL = {"type": "string", "format": "email", "pattern": '^[^\\s@"]{1,64}@[^\\s@]{1,255}$'}
ARN = "arn:[a-z0-9-\\.]{1,63}:[a-z0-9-\\.]{0,63}:[a-z0-9-\\.]{0,63}:[a-z0-9-\\.]{0,63}:[^/].{0,999}"


@pytest.mark.parametrize(
    ("text", "is_right"),
    [
        ('"a@b"', True),
        ('"41898282+github-actions@users.noreply.github.com"', True),
        ('"' + "a" * 64 + '@example.com"', True),
        ('"' + "a" * 65 + '@example.com"', False),
        ('"a b@c"', False),  # by both
        ('"a[b]@c"', False),  # by the format
        ('"\\"a b\\"@c"', False),  # by the pattern
        ('"a@b..c"', False),
    ],
)
def test_a_format_and_a_pattern_together(text: str, is_right: bool) -> None:
    assert is_read(json.dumps(EMAIL), text, formats=True) == is_right


@pytest.mark.parametrize("bounds", [{}, {"maxLength": 30}, {"minLength": 20, "maxLength": 40}])
def test_what_has_begun_ends(bounds: dict[str, int]) -> None:
    """Written at random: each character that is allowed leads to a text of the schema."""
    schema = {**EMAIL, **bounds}
    index = cfgguide.compile(cfgguide.json_schema(schema, formats=True), SMALL)
    find, rng = finder(index), random.Random(3)
    for _ in range(20):
        guide = cfgguide.Guide(index)
        for _ in range(40):
            if guide.is_finished:
                break
            ending = check_ending(index, find, guide.configuration)
            text = (guide.text + ending).decode()
            assert is_valid(schema, text, formats=True), text
            guide.advance(int(rng.choice(guide.allowed_token_ids())))


@pytest.mark.parametrize("maximum", [{}, {"maxLength": 400}])
def test_a_pattern_that_stands_anywhere(maximum: dict[str, int]) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": ARN, **maximum}}}
    index = cfgguide.compile(cfgguide.json_schema(schema), SMALL)
    for begun in ('{"a":"', '{"a":"x arn:arn:a', '{"a":"' + "arn:a:" * 20):
        configuration = index.machine.advance(index.machine.initial, begun.encode())
        ending = check_ending(index, finder(index), configuration)
        assert is_valid(schema, begun + ending.decode())


@pytest.mark.slow
@pytest.mark.parametrize(
    "keywords",
    [
        {"anyOf": [{"pattern": "b"}, {"pattern": "c"}]},
        {"not": {"pattern": "b"}},
        {"properties": {"a": {"pattern": HUGE}}, "minProperties": 3},
        {"type": "array", "items": {"type": "string", "pattern": HUGE}, "uniqueItems": True},
    ],
)
def test_what_is_needed_as_a_whole_is_refused_at_once(keywords: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match="more than 20000 states"):
        cfgguide.json_schema({"pattern": HUGE, **keywords})


def _with_large_patterns(rng: random.Random, schema: Any) -> Any:
    """Return a schema in which some strings have a large pattern."""
    if isinstance(schema, list):
        return [_with_large_patterns(rng, each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    skipped = ("enum", "const", "required", "properties", "patternProperties")
    found = {
        key: value if key in skipped else _with_large_patterns(rng, value)
        for key, value in schema.items()
    }
    for key in ("properties", "patternProperties"):
        if isinstance(found.get(key), dict):
            below = found[key].items()
            found[key] = {name: _with_large_patterns(rng, each) for name, each in below}
    return {**found, "pattern": HUGE} if rng.random() < 0.4 else found


@pytest.mark.few(100)
@pytest.mark.parametrize("seed", range(400))
def test_no_error_comes_late(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked for as a whole is asked for when the schema is read."""

    whole = PatternAutomaton.language.func

    def too_large(pattern: PatternAutomaton) -> Language:
        if pattern.n_states > 200:
            raise SchemaError("it is too large")
        return whole(pattern)

    monkeypatch.setattr(PatternAutomaton, "language", property(too_large))
    rng = random.Random(seed)
    schema = _with_large_patterns(rng, random_schema(rng, 3))
    try:
        grammar = cfgguide.json_schema(schema)
        index = cfgguide.compile(grammar, SMALL)
    except SchemaError:
        return
    for _ in range(3):
        walk(index, schema, rng)


#: Objects that refer to one definition, each with a member of its own format.
SHARED: dict[str, Any] = {
    "$defs": {"extended": {"patternProperties": {"^x-": True}}},
    "type": "object",
    "properties": {
        name: {
            "$ref": "#/$defs/extended",
            "type": "object",
            "properties": {"member": {"type": "string", "format": name}},
            "unevaluatedProperties": False,
        }
        for name in ("email", "uri-reference", "uri", "regex")
    },
}


@pytest.mark.parametrize(
    ("name", "member"),
    [("email", "a@b.c"), ("uri-reference", "/a?b"), ("uri", "a:b"), ("regex", "a*")],
)
def test_what_refers_to_one_definition_is_not_at_one_place_because_of_it(
    name: str, member: str
) -> None:
    """Together, formats of four members would need too large an automaton."""
    for value, is_right in ((member, True), ("[ ", False)):
        text = json.dumps({name: {"member": value, "x-y": 1}})
        assert is_read(json.dumps(SHARED), text, formats=True) == is_right
    assert not is_read(json.dumps(SHARED), json.dumps({name: {"y": 1}}), formats=True)


def test_what_stands_at_one_place_is_still_refused() -> None:
    formats = [{"format": name} for name in ("email", "uri-reference", "uri", "regex")]
    with pytest.raises(SchemaError, match="too large an automaton"):
        cfgguide.json_schema({"type": "string", "oneOf": formats}, formats=True)
