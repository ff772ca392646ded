"""Hostile schemas that are too long, or too regular, to be written down."""

from __future__ import annotations

import json
from typing import Any

from hostile.cases import Named


def many_values() -> Named:
    yield "2,000 integers", json.dumps({"enum": [7919 * n for n in range(2000)]})
    yield "100,000 integers", json.dumps({"enum": list(range(100_000))})
    yield "1,000 objects", json.dumps({"enum": [{"id": n, "name": f"n{n}"} for n in range(1000)]})
    yield "10,000 strings", json.dumps({"enum": [f"value-{n}" for n in range(10_000)]})
    yield "100,000 strings", json.dumps({"enum": [f"{n * 7919:x}" for n in range(100_000)]})
    yield "strings of 5 MB", json.dumps({"enum": [f"{n}" + "x" * 5000 for n in range(1000)]})
    yield "one string of 5 MB", json.dumps({"const": "x" * 5_000_000})
    yield "2,000 fractions", json.dumps({"enum": [n / 997 for n in range(2000)]})
    yield "1,000 arrays", json.dumps({"enum": [[n, [n + 1, [n + 2]]] for n in range(1000)]})
    yield "an array of 100,000", json.dumps({"const": list(range(100_000))})
    deep: Any = 0
    for _ in range(200):
        deep = [deep]
    yield "200 arrays in arrays", json.dumps({"const": deep})
    yield (
        "2,000 of strings in other letters",
        json.dumps({"enum": [chr(0x4E00 + n) for n in range(2000)]}),
    )
    yield (
        "all but 1,000 strings",
        json.dumps({"type": "string", "not": {"enum": [f"w{n}" for n in range(1000)]}}),
    )
    yield (
        "200 lists of strings, any",
        json.dumps({"anyOf": [{"enum": [f"{n}-{k}" for k in range(50)]} for n in range(200)]}),
    )
    yield (
        "20 lists of strings, one",
        json.dumps({"oneOf": [{"enum": [f"{k}" for k in range(n, 200)]} for n in range(20)]}),
    )


def many_properties() -> Named:
    for count in (150, 1000, 10_000):
        yield (
            f"{count} properties",
            json.dumps({"properties": {f"p{n}": {"type": "integer"} for n in range(count)}}),
        )
    for count in (30, 300, 2000):
        names = [f"p{n}" for n in range(count)]
        yield f"{count} required", json.dumps({"type": "object", "required": names})
    names = [f"p{n}" for n in range(300)]
    yield (
        "300 declared, required and no others",
        json.dumps(
            {
                "properties": {name: {"enum": [name]} for name in names},
                "required": names,
                "additionalProperties": False,
            }
        ),
    )
    yield (
        "100 that require others",
        json.dumps({"dependentRequired": {f"p{n}": [f"p{n + 1}", f"q{n}"] for n in range(100)}}),
    )
    yield (
        "20 that require others' schemas",
        json.dumps(
            {
                "dependentSchemas": {
                    f"p{n}": {"properties": {f"p{n + 1}": {"type": "null"}}, "minProperties": n}
                    for n in range(20)
                }
            }
        ),
    )
    yield "a name of a million letters", json.dumps({"required": ["x" * 1_000_000]})
    yield (
        "1,000 names with one beginning",
        json.dumps({"properties": {"a" * n: {"const": n} for n in range(1, 1000)}}),
    )
    yield (
        "300 properties of 30 types",
        json.dumps(
            {
                "properties": {f"p{n}": {"minimum": n % 30} for n in range(300)},
                "additionalProperties": {"minimum": 40},
            }
        ),
    )


def overlapping_patterns_of_names() -> Named:
    for count in (12, 50, 200):
        yield (
            f"{count} letters anywhere",
            json.dumps(
                {
                    "patternProperties": {
                        chr(97 + n % 26) + str(n // 26 or ""): {"minimum": n} for n in range(count)
                    }
                }
            ),
        )
    yield (
        "12 with others",
        json.dumps(
            {
                "patternProperties": {
                    f"{n}": {"type": ["integer", "null"], "minimum": n} for n in range(12)
                },
                "additionalProperties": {"type": "string"},
                "required": ["0123456789"],
                "propertyNames": {"maxLength": 12},
            }
        ),
    )
    yield (
        "letters at a distance",
        json.dumps({"patternProperties": {f"a.{{{n}}}$": {"const": n} for n in range(20)}}),
    )


def deep_schemas() -> Named:
    def nested(depth: int, *before: str, inner: Any = True) -> str:
        opening = "".join(f'{{"{name}":' for name in before)
        return opening * depth + json.dumps(inner) + "}" * len(before) * depth

    for depth in (50, 250, 1000, 20_000):
        yield f"{depth} properties", nested(depth, "properties", "a")
    yield "200 items", nested(200, "items")
    yield "100 negations", nested(100, "not")
    yield "150 negations of objects", nested(75, "not", "properties", "a")
    yield "200 conditions", nested(200, "if")
    yield "100 of all", '{"allOf":[' * 100 + "true" + "]}" * 100
    yield "60 of any of two", '{"anyOf":[{"minimum":1},' * 60 + "true" + "]}" * 60
    yield "60 of one of two", '{"oneOf":[{"minimum":1},' * 60 + "false" + "]}" * 60
    yield "100,000 brackets", "[" * 100_000
    yield "100,000 negations", '{"not":' * 100_000 + "{}" + "}" * 100_000
    yield (
        "40 arrays of required properties",
        nested(40, "required", inner=["a"]).replace('"required"', '"prefixItems"'),
    )
    yield "60 items that differ", '{"uniqueItems":true,"items":' * 60 + "{}" + "}" * 60


def shared_schemas() -> Named:
    def chain(count: int, step: Any, last: Any) -> str:
        defs = {f"d{n}": step({"$ref": f"#/$defs/d{n + 1}"}) for n in range(count)}
        return json.dumps({"$ref": "#/$defs/d0", "$defs": {**defs, f"d{count}": last}})

    for count in (18, 60):
        yield (
            f"two properties, {count} deep",
            chain(
                count,
                lambda ref: {
                    "type": "object",
                    "properties": {"a": ref, "b": ref},
                    "required": ["a", "b"],
                    "additionalProperties": False,
                },
                {"type": "null"},
            ),
        )
    yield (
        "two properties of any, 18 deep",
        chain(18, lambda ref: {"properties": {"a": ref, "b": {"not": ref}}}, {"minimum": 1}),
    )
    yield "all of twice, 30 deep", chain(30, lambda ref: {"allOf": [ref, ref]}, {"type": "string"})
    yield (
        "any of twice, 30 deep",
        chain(30, lambda ref: {"anyOf": [ref, {"items": ref}]}, {"type": "string"}),
    )
    yield (
        "one of twice, 30 deep",
        chain(30, lambda ref: {"oneOf": [ref, {"items": ref}]}, {"type": "string"}),
    )
    yield "1,000 references in a row", chain(1000, lambda ref: ref, {"type": "string"})
    yield "1,000 arrays by reference", chain(1000, lambda ref: {"items": ref}, {"type": "string"})
    yield (
        "500 required by reference",
        chain(
            500,
            lambda ref: {"type": "object", "properties": {"a": ref}, "required": ["a"]},
            {"type": "string"},
        ),
    )
    yield (
        "a circle of 500",
        json.dumps(
            {
                "$ref": "#/$defs/d0",
                "$defs": {f"d{n}": {"$ref": f"#/$defs/d{(n + 1) % 500}"} for n in range(500)},
            }
        ),
    )


def exponential_choices() -> Named:
    for count in (10, 20, 60):
        yield (
            f"all of {count} choices",
            json.dumps(
                {
                    "allOf": [
                        {"anyOf": [{"required": [f"a{n}"]}, {"required": [f"b{n}"]}]}
                        for n in range(count)
                    ]
                }
            ),
        )
    yield (
        "all of 12 choices of one",
        json.dumps(
            {
                "allOf": [
                    {"oneOf": [{"required": [f"a{n}"]}, {"required": [f"b{n}"]}]} for n in range(12)
                ]
            }
        ),
    )
    for count in (20, 200):
        yield (
            f"one of {count} objects",
            json.dumps(
                {
                    "oneOf": [
                        {"properties": {f"p{n}": {"type": "integer"}, "k": {"minimum": n}}}
                        for n in range(count)
                    ]
                }
            ),
        )
    yield (
        "any of 1,000 objects",
        json.dumps(
            {
                "anyOf": [
                    {
                        "type": "object",
                        "properties": {"kind": {"const": f"k{n}"}, f"p{n}": {}},
                        "required": ["kind"],
                    }
                    for n in range(1000)
                ]
            }
        ),
    )
    yield (
        "one of 30 ranges",
        json.dumps({"oneOf": [{"minimum": n, "maximum": n + 40} for n in range(30)]}),
    )
    yield (
        "one of 15 patterns",
        json.dumps({"oneOf": [{"pattern": f"{chr(97 + n)}.{{{n}}}z"} for n in range(15)]}),
    )
    yield (
        "20 conditions",
        json.dumps(
            {
                "allOf": [
                    {
                        "if": {"required": [f"a{n}"]},
                        "then": {"required": [f"b{n}"]},
                        "else": {"required": [f"c{n}"]},
                    }
                    for n in range(20)
                ]
            }
        ),
    )
    yield "a chain of 50 conditions", '{"if":{"maximum":5},"else":' * 50 + "true" + "}" * 50
    yield (
        "12 arrays that contain something",
        json.dumps({"allOf": [{"contains": {"const": n}, "maxContains": 3} for n in range(12)]}),
    )
    yield (
        "30 items of other choices",
        json.dumps(
            {
                "prefixItems": [
                    {"oneOf": [{"minimum": n}, {"maxLength": n}, {"minItems": n}]}
                    for n in range(30)
                ],
                "minItems": 30,
            }
        ),
    )
    yield (
        "all of 10 letters at a distance",
        json.dumps({"allOf": [{"pattern": f"{chr(97 + n)}.{{10}}"} for n in range(10)]}),
    )
    yield (
        "all of 30 letters",
        json.dumps({"allOf": [{"pattern": f"{chr(97 + n % 26)}{n}"} for n in range(30)]}),
    )
    yield (
        "none of 30 letters at a distance",
        json.dumps(
            {
                "type": "string",
                "not": {"anyOf": [{"pattern": f"{chr(97 + n % 26)}.{{{n}}}$"} for n in range(30)]},
            }
        ),
    )


def unevaluated() -> Named:
    yield (
        "12 choices of properties",
        json.dumps(
            {
                "anyOf": [{"properties": {f"p{n}": {"minimum": n}}} for n in range(12)],
                "unevaluatedProperties": False,
            }
        ),
    )
    yield (
        "60 choices of properties",
        json.dumps(
            {
                "anyOf": [{"properties": {f"p{n}": {"minimum": n}}} for n in range(60)],
                "unevaluatedProperties": False,
            }
        ),
    )
    yield (
        "10 conditions",
        json.dumps(
            {
                "allOf": [
                    {
                        "if": {"properties": {f"p{n}": {"const": n}}, "required": [f"p{n}"]},
                        "then": {"properties": {f"q{n}": True}},
                    }
                    for n in range(10)
                ],
                "unevaluatedProperties": {"type": "null"},
            }
        ),
    )
    yield (
        "items of 12 contained ones",
        json.dumps(
            {"allOf": [{"contains": {"minimum": n}} for n in range(12)], "unevaluatedItems": False}
        ),
    )
    yield "nested 40 times", '{"unevaluatedProperties":' * 40 + "false" + "}" * 40


def long_patterns() -> Named:
    yield "100,000 letters", json.dumps({"pattern": "a" * 100_000})
    yield "10,000 words", json.dumps({"pattern": "|".join(f"word{n}" for n in range(10_000))})
    yield "3,000 parentheses", json.dumps({"pattern": "(" * 3000 + "a" + ")" * 3000})
    yield (
        "1,000 classes",
        json.dumps({"pattern": "".join(f"[^{chr(0x100 + n)}]" for n in range(1000))}),
    )
    yield (
        "26 conditions",
        json.dumps({"pattern": "^" + "".join(f"(?=.*{chr(97 + n)})" for n in range(26))}),
    )
    yield (
        "100 patterns of items",
        json.dumps(
            {
                "prefixItems": [{"pattern": f"^[a-z]{{{n}}}x.{{{n % 9}}}$"} for n in range(100)],
                "minItems": 100,
            }
        ),
    )


def texts_that_are_long() -> Named:
    yield "white space of a megabyte", " " * 1_000_000 + "{}"
    yield "a number of 10,000 digits", '{"minimum":' + "1" * 10_000 + "}"
    yield "a fraction of 10,000 digits", '{"multipleOf":0.' + "0" * 10_000 + "1}"
    yield "a title of a megabyte", json.dumps({"title": "x" * 1_000_000, "type": "null"})
    yield "100,000 unknown keywords", json.dumps({f"x-{n}": n for n in range(100_000)})
    yield (
        "20,000 definitions that nobody uses",
        json.dumps({"$defs": {f"d{n}": {"type": "null"} for n in range(20_000)}}),
    )
    yield (
        "30,000 schemas",
        json.dumps({"properties": {f"d{n}": {"minLength": n} for n in range(30_000)}}),
    )


def long_endings() -> Named:
    """Yield values of which the shortest is long, so that the end of a text is looked for."""
    members = {f"member{n}": n for n in range(3000)}
    yield "one object of 3,000 members", json.dumps({"const": members})
    yield (
        "300 objects of 40 members",
        json.dumps({"enum": [{f"m{k}": n * k for k in range(40)} for n in range(300)]}),
    )
    yield (
        "100 objects in an object",
        json.dumps({"const": {f"m{n}": {f"k{k}": [n, k] for k in range(30)} for n in range(100)}}),
    )
    yield "a string of 10 MB", json.dumps({"const": "x" * 10_000_000})
    yield "a million properties", json.dumps({"type": "object", "minProperties": 1_000_000})
    yield (
        "a million items that are contained",
        json.dumps({"type": "array", "contains": {"type": "integer"}, "minContains": 1_000_000}),
    )
    yield (
        "200,000 multiples",
        json.dumps({"items": {"multipleOf": 0.37, "minimum": 10}, "minItems": 200_000}),
    )
    yield "pairs of pairs, 30 deep", json.dumps(_nested(30, {}))
    yield "different pairs of pairs, 12 deep", json.dumps(_nested(12, {"uniqueItems": True}))
    yield (
        "a space of 10 MB after commas",
        json.dumps({"x-cfgguide": {"separators": ["," + " " * 10_000_000, ":"]}}),
    )
    yield (
        "a space of 999 between 3,000 numbers",
        json.dumps({"x-cfgguide": {"separators": ["," + " " * 999, ":"]}, "const": [*range(3000)]}),
    )
    yield (
        "a look at two letters, eight times",
        json.dumps({"pattern": "".join(f"(?=.*{chr(97 + n)}.*{chr(105 + n)})" for n in range(8))}),
    )


def _nested(depth: int, also: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of arrays of two arrays of two."""
    definitions: dict[str, Any] = {"d0": {"type": "number"}}
    for n in range(1, depth + 1):
        items = {"items": {"$ref": f"#/$defs/d{n - 1}"}, "minItems": 2}
        definitions[f"d{n}"] = {"type": "array", **items, **also}
    return {"$ref": f"#/$defs/d{depth}", "$defs": definitions}


def choices_side_by_side() -> Named:
    for count in (2, 3):
        yield (
            f"twelve of {count} names",
            json.dumps(
                {
                    "type": "object",
                    "allOf": [
                        {"oneOf": [{"required": [f"{chr(97 + k)}{n}"]} for k in range(count)]}
                        for n in range(12)
                    ],
                }
            ),
        )
    yield (
        "sixteen of two patterns of names",
        json.dumps(
            {
                "allOf": [
                    {
                        "oneOf": [
                            {"patternProperties": {f"^{letter}": {"type": "integer"}}},
                            {"patternProperties": {f"{letter}$": {"type": "string"}}},
                        ]
                    }
                    for letter in "abcdefghijklmnop"
                ]
            }
        ),
    )
    yield (
        "sixteen of two items that are contained",
        json.dumps({"allOf": [{"oneOf": [_contains(n), _contains(str(n))]} for n in range(16)]}),
    )
    yield (
        "ten of two properties, and no others",
        json.dumps(
            {
                "type": "object",
                "unevaluatedProperties": False,
                "allOf": [
                    {"oneOf": [_has(f"a{n}", "integer"), _has(f"b{n}", "string")]}
                    for n in range(10)
                ],
            }
        ),
    )


def _contains(value: Any) -> dict[str, Any]:
    return {"contains": {"const": value}}


def _has(name: str, kind: str) -> dict[str, Any]:
    return {"properties": {name: {"type": kind}}, "required": [name]}


def long_words() -> Named:
    """Yield what is refused, with a message that names it."""
    name = "x" * 4000
    yield "a name with a wrong type", json.dumps({"properties": {name: {"type": "strin"}}})
    yield "a wrong property of Unicode", json.dumps({"pattern": f"\\p{{{name}}}"})
    yield "a number of 4,000 digits", json.dumps({"minimum": 10**4000, "maximum": 3})
    deep: dict[str, Any] = {"type": 5}
    for n in range(90):
        deep = {"properties": {f"level{n}{'y' * 30}": deep}}
    yield "a wrong type 90 deep", json.dumps(deep)


FAMILIES = (
    many_values, many_properties, overlapping_patterns_of_names, deep_schemas,
    shared_schemas, exponential_choices, unevaluated, long_patterns,
    texts_that_are_long, long_endings, choices_side_by_side, long_words,
)  # fmt: skip
