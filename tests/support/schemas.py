"""Schemas and values at random, for the comparison with the library `jsonschema`."""

from __future__ import annotations

import json
import random
import re
from decimal import Decimal, localcontext
from functools import cache
from typing import Any

import jsonschema
import lark

from cfgguide.engine.byte_machine.byte_machine import ByteMachine
from cfgguide.errors import SchemaError
from cfgguide.schema.json_schema import json_schema
from support.lark_search import no_search_for_overlaps

#: The drafts before 2020-12, by how their metaschemas are called.
OLDER_DRAFTS = {
    "4": "http://json-schema.org/draft-04/schema#",
    "6": "http://json-schema.org/draft-06/schema#",
    "7": "http://json-schema.org/draft-07/schema#",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
}
NAMES = ("a", "b", "c", "x1", "é")
WORDS = ("", "a", "ab", "abc", "b", "x1", 'q"\\', "é", "\t")
NUMBERS = (0, 1, -1, 2, 3, 10, 1.5, -2.25, 0.5, 12)


def random_value(rng: random.Random, depth: int = 2) -> Any:
    """Return a value of JSON with few names and words in it."""
    kind = rng.randrange(7 if depth else 5)
    if kind == 5:
        return [random_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    if kind == 6:
        names = rng.sample(NAMES, rng.randrange(4))
        return {name: random_value(rng, depth - 1) for name in names}
    if kind in (0, 1):
        return rng.choice(NUMBERS)
    return rng.choice(WORDS) if kind in (2, 3) else rng.choice((None, True, False))


def random_schema(rng: random.Random, depth: int = 2) -> Any:
    """Return a schema of the keywords that can always be guaranteed."""
    if depth <= 0 or rng.random() < 0.1:
        return _leaf(rng)
    makers = (_object, _array, _combined, _leaf, _object)
    found = rng.choice(makers)(rng, depth)
    if rng.random() < 0.25 and isinstance(found, dict):
        found.update(rng.choice(makers[:3])(rng, depth - 1))
    return found


def _leaf(rng: random.Random, depth: int = 0) -> Any:
    return rng.choice(
        (
            lambda: rng.choice((True, False, {}, {})),
            lambda: {"type": rng.choice(("string", "integer", "number", "null", "boolean"))},
            lambda: {"type": rng.sample(("string", "number", "array", "object", "null"), 2)},
            lambda: {"const": random_value(rng, 1)},
            lambda: {"enum": [random_value(rng, 1) for _ in range(rng.randrange(1, 4))]},
            lambda: {"minimum": rng.choice(NUMBERS), "exclusiveMaximum": rng.choice(NUMBERS)},
            lambda: {"multipleOf": rng.choice((1, 2, 3, 0.5, 1.5))},
            lambda: {"minLength": rng.randrange(3), "maxLength": rng.randrange(1, 4)},
            lambda: {"pattern": rng.choice(("^a", "b", "^x?[0-9a-c]*$", "é$", "^(?!ab)"))},
        )
    )()


def _object(rng: random.Random, depth: int) -> Any:
    found: dict[str, Any] = {}
    if rng.random() < 0.4:
        found["type"] = "object"
    names = rng.sample(NAMES, rng.randrange(4))
    if names:
        found["properties"] = {name: random_schema(rng, depth - 1) for name in names}
    if rng.random() < 0.5:
        found["required"] = rng.sample(NAMES, rng.randrange(3))
    if rng.random() < 0.3:
        pattern = rng.choice(("^[ab]$", "c", "^x"))
        found["patternProperties"] = {pattern: random_schema(rng, depth - 1)}
    if rng.random() < 0.5:
        keyword = rng.choice(("additionalProperties", "additionalProperties", "propertyNames"))
        found[keyword] = random_schema(rng, depth - 1)
    if rng.random() < 0.2:
        found["unevaluatedProperties"] = random_schema(rng, depth - 1)
    if rng.random() < 0.2:
        found["dependentRequired"] = {rng.choice(NAMES): [rng.choice(NAMES)]}
    if rng.random() < 0.2:
        found["dependentSchemas"] = {rng.choice(NAMES): random_schema(rng, depth - 1)}
    if rng.random() < 0.2:
        found["maxProperties"] = rng.randrange(4)
    return found


def _array(rng: random.Random, depth: int) -> Any:
    found: dict[str, Any] = {}
    if rng.random() < 0.4:
        found["type"] = "array"
    if rng.random() < 0.4:
        found["prefixItems"] = [random_schema(rng, depth - 1) for _ in range(rng.randrange(1, 3))]
    if rng.random() < 0.5:
        found["items"] = random_schema(rng, depth - 1)
    if rng.random() < 0.4:
        found["minItems"], found["maxItems"] = rng.randrange(3), rng.randrange(1, 4)
    if rng.random() < 0.3:
        found["contains"] = random_schema(rng, depth - 1)
        found["minContains"], found["maxContains"] = rng.randrange(3), rng.randrange(1, 3)
    if rng.random() < 0.2:
        found["unevaluatedItems"] = random_schema(rng, depth - 1)
    return found


def _combined(rng: random.Random, depth: int) -> Any:
    def some() -> list[Any]:
        return [random_schema(rng, depth - 1) for _ in range(rng.randrange(1, 4))]

    keyword = rng.choice(("allOf", "anyOf", "oneOf", "not", "if"))
    if keyword == "not":
        return {"not": random_schema(rng, depth - 1)}
    if keyword == "if":
        return {name: random_schema(rng, depth - 1) for name in ("if", "then", "else")}
    return {keyword: some()}


def varied_schema(rng: random.Random, depth: int = 2) -> Any:
    """Return a schema of still more keywords; it may refer to itself."""
    found = _varied(rng, random_schema(rng, depth))
    definitions = {name: _varied(rng, random_schema(rng, 1)) for name in ("first", "second")}
    if isinstance(found, dict):
        found["$defs"] = definitions
    return found


def _varied(rng: random.Random, schema: Any) -> Any:
    """Return a schema of which some parts are replaced, or get other keywords too."""
    if not isinstance(schema, dict) or rng.random() < 0.1:
        return _part(rng)
    for keyword, value in schema.items():
        if keyword in ("properties", "patternProperties", "dependentSchemas"):
            schema[keyword] = {name: _varied(rng, each) for name, each in value.items()}
        elif keyword in ("allOf", "anyOf", "oneOf", "prefixItems"):
            schema[keyword] = [_varied(rng, each) for each in value]
        elif isinstance(value, dict) and keyword != "dependentRequired" and keyword != "const":
            schema[keyword] = _varied(rng, value)
    return {**schema, **_part(rng)} if rng.random() < 0.1 else schema


def _part(rng: random.Random) -> Any:
    least, most = sorted(rng.choices(range(6), k=2))
    names = rng.sample(NAMES, 3)
    return rng.choice(
        (
            lambda: {"$ref": rng.choice(("#/$defs/first", "#/$defs/second", "#"))},
            lambda: {"items": {"enum": rng.sample(WORDS, 3)}, "uniqueItems": True},
            lambda: (
                {"items": {"type": rng.choice(("string", "integer", "number"))}}
                | {"uniqueItems": True, "type": "array"}
            ),
            lambda: {"type": "array", "uniqueItems": True},
            lambda: {"type": "array", "items": {"$ref": "#/$defs/second"}, "uniqueItems": True},
            lambda: {"type": "object", "minProperties": least, "maxProperties": most},
            lambda: {"exclusiveMinimum": rng.choice(NUMBERS), "type": "number"},
            lambda: {"maximum": rng.choice(NUMBERS), "multipleOf": 0.25},
            lambda: {"minLength": least, "maxLength": most, "pattern": "^(ab|c)*$"},
            lambda: {"minLength": least, "type": "string"},
            lambda: {"maxLength": 3 * most, "type": "string"},
            lambda: {"type": "string", "format": "date"},
            lambda: {"type": "array", "minItems": least, "maxItems": most},
            lambda: {"type": "object", "minProperties": 1},
            lambda: (
                {"properties": dict.fromkeys(names, True), "additionalProperties": False}
                | {"minProperties": min(least, 3), "type": "object"}
            ),
            lambda: {"type": "object", "required": names[:2], "maxProperties": 2 + least},
            lambda: {"type": "object", "propertyNames": {"enum": names}},
            lambda: {"type": "array", "items": {"$ref": "#/$defs/first"}},
            lambda: {"type": "object", "additionalProperties": {"$ref": "#/$defs/second"}},
        )
    )()


def scarce_schema(rng: random.Random) -> Any:
    """Return a schema with arrays of different items that have hardly as many values as needed."""
    found = _in_something(rng, _scarce_array(rng, 2))
    return _in_something(rng, found) if rng.random() < 0.5 else found


def _scarce_array(rng: random.Random, depth: int) -> Any:
    """Return a schema of arrays of different items."""
    found: dict[str, Any] = {"uniqueItems": True, "minItems": rng.choice((1, 2, 2, 3, 3, 4, 5))}
    if rng.random() < 0.8:
        found["type"] = "array"
    if rng.random() < 0.85:
        found["items"] = rng.choice((_few, _few, _several))(rng, depth)
    if rng.random() < 0.3:
        found["prefixItems"] = [_few(rng, depth) for _ in range(rng.randrange(1, 4))]
    if rng.random() < 0.3:
        found["maxItems"] = found["minItems"] + rng.randrange(-1, 3)
    if rng.random() < 0.25:
        found["contains"] = _few(rng, depth)
        found["minContains"] = rng.randrange(4)
        if rng.random() < 0.4:
            found["maxContains"] = rng.randrange(1, 4)
    if rng.random() < 0.1:
        found["unevaluatedItems"] = _few(rng, depth)
    return found


def _several(rng: random.Random, depth: int) -> Any:
    parts = [_few(rng, depth) for _ in range(rng.randrange(1, 4))]
    return {rng.choice(("anyOf", "anyOf", "oneOf", "allOf")): parts}


def _few(rng: random.Random, depth: int) -> Any:
    """Return a schema of few values, or nearly: some of them have more spellings than values."""
    first, names = rng.randrange(-2, 3), rng.sample(NAMES, 2)
    makers = [
        lambda: {"enum": [_scarce_value(rng) for _ in range(rng.randrange(1, 4))]},
        lambda: {"const": _scarce_value(rng)},
        lambda: {"type": rng.sample(("boolean", "null", "integer"), rng.choice((1, 2)))},
        lambda: {"type": "integer", "minimum": first, "maximum": first + rng.randrange(4)},
        lambda: {"type": "number", "minimum": first, "maximum": first + 2, "multipleOf": 0.5},
        lambda: {"type": "integer", "multipleOf": rng.choice((7, 10)), "minimum": 0},
        lambda: {"type": "string", "maxLength": rng.randrange(2)},
        lambda: {"type": "string", "pattern": rng.choice(("^[ab]?$", "^(a|bb|)$", "^a*$"))},
        lambda: {"type": "string", "pattern": "^a*$", "maxLength": rng.randrange(3)},
        lambda: {"type": "string", "enum": rng.sample(WORDS, 2), "minLength": rng.randrange(3)},
    ]
    if depth:
        makers += 2 * [
            lambda: _scarce_array(rng, depth - 1),
            lambda: {"type": "array", "items": _few(rng, depth - 1), "maxItems": rng.randrange(3)},
            lambda: {
                "type": "object",
                "properties": {name: _few(rng, depth - 1) for name in names},
                "required": names[: rng.randrange(3)],
                "additionalProperties": False,
            },
            lambda: {
                "type": "object",
                "patternProperties": {"^[ab]$": _few(rng, depth - 1)},
                "additionalProperties": False,
                "minProperties": rng.randrange(3),
            },
        ]
    return rng.choice(makers)()


def _scarce_value(rng: random.Random, depth: int = 1) -> Any:
    scalars = (0, 1, 1.0, 2, 2.5, True, False, None, "", "a", "1", "ab")
    if depth and rng.random() < 0.2:
        inner = [_scarce_value(rng, 0) for _ in range(rng.randrange(3))]
        return rng.choice((inner, dict(zip(NAMES, inner, strict=False))))
    return rng.choice(scalars)


def _in_something(rng: random.Random, inner: Any) -> Any:
    """Return a schema that has another one beside others, or inside of what it asks of a value."""
    name, other = rng.choice(NAMES), rng.choice((_few, _scarce_array, _several))(rng, 1)
    nothing = {"not": {}, "type": rng.choice(("string", "number", "array"))}
    is_object = {"type": "object", "required": [name]}
    return rng.choice(
        (
            lambda: inner,
            lambda: {"anyOf": [inner, nothing]},
            lambda: {"oneOf": [nothing, inner]},
            lambda: {rng.choice(("anyOf", "oneOf", "allOf")): [inner, other]},
            lambda: {"anyOf": [{"allOf": [inner, other]}, {"const": 7}]},
            lambda: {"allOf": [inner, {"not": other}]},
            lambda: {"type": "array", "not": inner},
            lambda: {"if": other, "then": inner, "else": {"type": "null"}},
            lambda: {"if": inner, "then": other},
            lambda: {**is_object, "properties": {name: inner}},
            lambda: {"type": "object", "properties": {name: inner}, "additionalProperties": other},
            lambda: {"type": "object", "additionalProperties": inner},
            lambda: {"type": "object", "additionalProperties": {"anyOf": [inner, nothing]}},
            lambda: {**is_object, "patternProperties": {"^.$": inner, "^[a-c]": other}},
            lambda: {"type": "object", "dependentSchemas": {name: {"properties": {"b": inner}}}},
            lambda: {"type": "array", "prefixItems": [inner, other], "minItems": 2},
            lambda: {"type": "array", "contains": inner, "maxItems": 3},
            lambda: {"type": "array", "items": inner, "uniqueItems": True, "minItems": 2},
        )
    )()


def of_draft(rng: random.Random, schema: Any, draft: str) -> Any:
    """Return a schema of an older draft: some keywords in its forms, others as it ignores them.

    Of 2019-09 without ``unevaluated...``: there jsonschema does not do what the standard says.
    """
    older = _older(rng, schema, draft)
    return {"$schema": OLDER_DRAFTS[draft], **older} if isinstance(older, dict) else older


def _older(rng: random.Random, schema: Any, draft: str) -> Any:
    if not isinstance(schema, dict):
        return schema
    found: dict[str, Any] = {}
    for keyword, value in schema.items():
        if draft == "2019-09" and keyword.startswith("unevaluated"):
            continue
        if keyword in ("const", "enum"):
            found[keyword] = value
        elif keyword in ("properties", "patternProperties", "dependentSchemas", "$defs"):
            found[keyword] = {name: _older(rng, each, draft) for name, each in value.items()}
        elif isinstance(value, list):
            found[keyword] = [_older(rng, each, draft) for each in value]
        else:
            found[keyword] = _older(rng, value, draft)
    if "prefixItems" in found and rng.random() < 0.8:
        if "items" in found:
            found["additionalItems"] = found["items"]
        found["items"] = found.pop("prefixItems")
    elif draft == "4" and isinstance(found.get("items"), bool):
        found["items"] = {} if found["items"] else {"not": {}}
    if draft == "2019-09":
        return found
    for keyword in ("dependentRequired", "dependentSchemas"):
        if keyword in found and rng.random() < 0.8:
            found["dependencies"] = {**found.get("dependencies", {}), **found.pop(keyword)}
    if draft == "4":
        for bound in ("Minimum", "Maximum"):
            if f"exclusive{bound}" in found:
                found[bound.lower()] = found[f"exclusive{bound}"]
                found[f"exclusive{bound}"] = rng.random() < 0.7
    return found


def large_schema(rng: random.Random) -> Any:
    """Return a union of schemas with large bounds, or many different words, at the same places."""
    words = [f"w{number}" for number in range(rng.choice((3, 9, 40)))]

    def part() -> Any:
        most = rng.choice((0, 1, 2, 5, 40, 300, 6_000, 70_000))
        unique = {"type": "array", "uniqueItems": True, "items": {"enum": words}}
        return rng.choice(
            (
                lambda: {"type": "string", "minLength": rng.randrange(3), "maxLength": most},
                lambda: {"type": "string", "maxLength": most, "pattern": "^(ab|c)*$"},
                lambda: {"maximum": rng.choice((1.79769e308, 5e-324, 1e100, 12345.678))},
                lambda: {"type": "integer", "minimum": -(10 ** rng.randrange(40))},
                lambda: {**unique, "maxItems": rng.randrange(1, len(words) + 1)},
                lambda: {**unique, "minItems": rng.randrange(3)},
                lambda: {**unique, "contains": {"const": rng.choice(words)}},
                lambda: {"type": "array", "items": {"enum": words}, "maxItems": min(most, 300)},
                lambda: {"enum": rng.sample(words, 2)},
                lambda: {"type": "array", "items": unique, "uniqueItems": True},
            )
        )()

    def whole() -> Any:
        names = rng.sample(NAMES, rng.randrange(1, 3))
        found = {"properties": {name: part() for name in names}}
        return found | ({"required": names[:1]} if rng.random() < 0.5 else {})

    keyword = rng.choice(("anyOf", "oneOf", "allOf"))
    return {keyword: [whole() for _ in range(rng.randrange(1, 4))], "type": "object"}


def mutated(rng: random.Random, value: Any) -> Any:
    """Return a value with one thing changed, left out or added."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        name = rng.choice(list(value))
        rest = {each: inner for each, inner in value.items() if each != name}
        changes = (
            lambda: rest,
            lambda: {**value, name: mutated(rng, value[name])},
            lambda: {**value, name: mutated(rng, value[name])},
            lambda: {**rest, rng.choice(NAMES): value[name]},
            lambda: {**value, rng.choice(NAMES): random_value(rng, 1)},
        )
        return rng.choice(changes)()
    if isinstance(value, list) and value and rng.random() < 0.8:
        place = rng.randrange(len(value))
        inner = [[], [mutated(rng, value[place])], [value[place], random_value(rng, 1)]]
        return [*value[:place], *rng.choice(inner), *value[place + 1 :]]
    if isinstance(value, str) and rng.random() < 0.6:
        place = rng.randrange(len(value) + 1)
        return value[:place] + rng.choice(WORDS) + value[place + rng.randrange(2) :]
    return random_value(rng, 1)


@cache
def parser_of(schema: str, **options: Any) -> lark.Lark:
    with no_search_for_overlaps():
        return lark.Lark(json_schema(json.loads(schema), **options).text, parser="lalr")


def is_accepted(schema: Any, text: str, **options: Any) -> bool:
    """Return whether Lark parses a text with the grammar of a schema.

    If Lark's language cannot say what the schema asks, whether the automaton reads it.
    """
    try:
        parser_of(json.dumps(schema), **options).parse(text)
    except lark.exceptions.UnexpectedInput:
        return False
    except SchemaError as error:
        if "the text of a grammar cannot say that" not in str(error):
            raise
        return is_read(json.dumps(schema), text, **options)
    return True


def is_read(schema: str, text: str, **options: Any) -> bool:
    """Return whether the automaton of a schema reads a text to its end."""
    recognizer = recognizer_of(schema, **options)
    read = recognizer.advance(recognizer.initial, text.encode())
    return read is not None and recognizer.is_sentence(read)


@cache
def recognizer_of(schema: str, **options: Any) -> ByteMachine:
    return ByteMachine(json_schema(json.loads(schema), **options).automaton())


def is_valid(schema: Any, text: str, *, formats: bool = False) -> bool:
    """Return what jsonschema says of a text, with numbers as they are written."""
    is_mapping = isinstance(schema, dict)
    judge = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    is_written_whole = is_mapping and schema.get("$schema") == OLDER_DRAFTS["4"]
    exact = _written if is_written_whole else _exact
    exact_schema = json.loads(json.dumps(schema), parse_float=_exact)
    value = json.loads(text, parse_float=exact)
    checker = judge.FORMAT_CHECKER if formats else None
    with localcontext() as context:
        context.prec = 1_000  # for long numbers, of which jsonschema takes the remainder
        return bool(judge(exact_schema, format_checker=checker).is_valid(value))


def _exact(text: str) -> int | Decimal:
    """Return a number as it is written; for jsonschema only an int is whole."""
    number = _written(text)
    return int(number) if number == number.to_integral_value() else number


def _written(text: str) -> Decimal:
    """Return a number that has a fraction or an exponent, as draft 4 tells it from a whole one.

    Exponents of more than three digits are cut off: nothing here tells such numbers apart.
    """
    return Decimal(re.sub(r"(?<=[eE])([+-]?)0*(\d{3})\d+", r"\1\2", text))
