"""Whatever is passed, an error is one of cfgguide's, and says in a few lines what is wrong.

Every argument of every function that takes a user's grammar, pattern, schema or vocabulary is given
every value of a list, most of them wrong. It may be accepted. Nothing is asked of the message but
that it is short and in words: what is wrong differs.
"""

from __future__ import annotations

import contextlib
import re
import sys
import warnings
from collections import UserDict
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import cfgguide
from cfgguide import combinators, values
from cfgguide.errors import CfgGuideError
from cfgguide.notations import from_lark
from cfgguide.output_types import output_type
from cfgguide.precompute import precompute_masks
from cfgguide.serving import Backend, Matcher

MOST = 3000  # characters of a message


class Text(str):
    """A text of a type of its own."""


class Silent:
    """Nobody can show it."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


class Unhashable:
    __hash__ = None  # type: ignore[assignment]


class Number(int):
    """A number of a type of its own."""


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def nested_mappings(depth: int, name: str) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {name: value}
    return value


def in_a_circle() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def mapping_in_a_circle() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["not"] = value
    return value


#: By name; made anew for each call.
VALUES: dict[str, Any] = {
    "None": lambda: None,
    "True": lambda: True,
    "zero": lambda: 0,
    "minus one": lambda: -1,
    "seven": lambda: 7,
    "a fraction": lambda: 1.5,
    "NaN": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "a number of 31 digits": lambda: 10**30,
    "a number of 5,001 digits": lambda: 10**5000,
    "a decimal": lambda: Decimal("1e400"),
    "a decimal that is none": lambda: Decimal("sNaN"),
    "Fraction": lambda: Fraction(1, 3),
    "complex": lambda: 1j,
    "a number of numpy": lambda: np.int64(3),
    "an array": lambda: np.arange(3),
    "an object of numpy": lambda: np.array(None),
    "own number": lambda: Number(3),
    "bytes": lambda: b"abc",
    "bytearray": lambda: bytearray(b"abc"),
    "the empty text": lambda: "",
    "a text": lambda: "abc",
    "own text": lambda: Text("abc"),
    "surrogate": lambda: "\ud800",
    "NUL": lambda: "a\0b",
    "a long text": lambda: "x" * 60_000,
    "brackets": lambda: "[" * 5000,
    "parentheses": lambda: "(" * 5000,
    "braces": lambda: '{"not":' * 5000,
    "a broken pattern": lambda: "[z-a",
    "digits": lambda: "1" * 5000,
    "an object": object,
    "Silent": Silent,
    "Unhashable": Unhashable,
    "a list": list,
    "None in a list": lambda: [None],
    "texts in a list": lambda: ["a", "b"],
    "unlike ones in a list": lambda: ["a", 1, None],
    "surrogates in a list": lambda: ["\ud800", "a"],
    "a tuple": tuple,
    "two of None": lambda: (None, None),
    "two numbers": lambda: (1, 2),
    "a set": lambda: {"a", "b"},
    "a mapping": dict,
    "numbers as names": lambda: {1: 2},
    "unlike names": lambda: {1: 2, "a": 3, None: 4},
    "tuples as names": lambda: {(1, 2): 3},
    "properties by numbers": lambda: {"properties": {1: {}, "a": {}}},
    "own mapping": lambda: UserDict(type="string"),
    "a circle": in_a_circle,
    "a circle of mappings": mapping_in_a_circle,
    "nested deeply": lambda: nested(10_000),
    "mappings nested deeply": lambda: nested_mappings(10_000, "not"),
    "mappings nested": lambda: nested_mappings(900, "not"),
    "a function": lambda: len,
    "a generator": lambda: (text for text in ("a", 1)),
    "a type": lambda: int,
    "a class": lambda: Silent,
    "a pattern": lambda: re.compile("a+"),
    "a pattern of bytes": lambda: re.compile(b"a+"),
    "a grammar": lambda: cfgguide.Grammar('start: "a"'),
    "a broken grammar": lambda: cfgguide.Grammar("start: ("),
    "a grammar of numbers": lambda: values.integer(0, 9),
    "an error": lambda: ValueError("x"),
    "Ellipsis": lambda: ...,
}

VOCABULARY = cfgguide.Vocabulary.of_bytes([b"ab"])
LIMITS = cfgguide.Limits(max_seconds=1)
GRAMMAR = cfgguide.Grammar('start: "a" "b"')


def written(grammar: Any) -> Any:
    """Write the grammar's text too, and compile it."""
    _ = grammar.text
    return compiled(grammar)


def compiled(grammar: Any) -> Any:
    index = cfgguide.compile(grammar, VOCABULARY, limits=LIMITS, use_cache=False)
    return cfgguide.Guide(index).allowed_token_ids()


#: What is called with a value, by name.
CALLS: dict[str, Any] = {
    "Vocabulary(.)": lambda value: cfgguide.Vocabulary(value, eos_token_ids=0),
    "Vocabulary([.])": lambda value: cfgguide.Vocabulary([b"a", value], eos_token_ids=0),
    "Vocabulary(eos)": lambda value: cfgguide.Vocabulary([b"a", b"b"], eos_token_ids=value),
    "Vocabulary([eos])": lambda value: cfgguide.Vocabulary([b"a", b"b"], eos_token_ids=[value]),
    "Vocabulary(size)": lambda v: cfgguide.Vocabulary([b"a", b"b"], eos_token_ids=1, size=v),
    "of_bytes": cfgguide.Vocabulary.of_bytes,
    "of_bytes([.])": lambda value: cfgguide.Vocabulary.of_bytes([value]),
    "Vocabulary.of": cfgguide.Vocabulary.of,
    "from_tokenizer": cfgguide.Vocabulary.from_tokenizer,
    "spell": VOCABULARY.spell,
    "spell([.])": lambda value: VOCABULARY.spell([value]),
    "regex": lambda value: written(cfgguide.regex(value)),
    "regex(flags)": lambda value: cfgguide.regex("a", value),
    "choice": lambda value: written(cfgguide.choice(value)),
    "choice([.])": lambda value: written(cfgguide.choice(["a", value])),
    "free_text": lambda value: written(cfgguide.free_text(until=value)),
    "free_text([.])": lambda value: written(cfgguide.free_text(until=["a", value])),
    "concat": lambda value: written(cfgguide.concat("a", value)),
    "concat first": lambda value: written(cfgguide.concat(value, cfgguide.free_text(until="b"))),
    "repeat": lambda value: written(cfgguide.repeat(value, 1, 2)),
    "repeat(least)": lambda value: written(cfgguide.repeat("a", value)),
    "repeat(most)": lambda value: written(cfgguide.repeat("a", 0, value)),
    "optional": lambda value: written(combinators.optional(value)),
    "integer(low)": lambda value: values.integer(value, None),
    "integer(high)": lambda value: values.integer(None, value),
    "number(low)": lambda value: values.number(value, None),
    "number(high)": lambda value: values.number(None, value),
    "date_time(digits)": lambda value: values.date_time(digits=value),
    "time(digits)": lambda value: values.time(digits=value),
    "json_schema": lambda value: compiled(cfgguide.json_schema(value)),
    "json_schema(order)": lambda value: cfgguide.json_schema({}, order=value),
    "json_schema(whitespace)": lambda value: compiled(
        cfgguide.json_schema({}, max_whitespace=value)
    ),
    "json_schema(separators)": lambda value: cfgguide.json_schema({}, separators=value),
    "json_schema((., .))": lambda value: cfgguide.json_schema({}, separators=(value, value)),
    "json_schema(formats)": lambda value: cfgguide.json_schema({"format": "date"}, formats=value),
    "json_schema(best_effort)": lambda value: cfgguide.json_schema({}, best_effort=value),
    "json_schema(registry)": lambda value: cfgguide.json_schema({}, registry=value),
    "json_schema(registry={'a': .})": lambda value: cfgguide.json_schema(
        {"$ref": "a"}, registry={"a": value}
    ),
    "json_schema(limits)": lambda value: cfgguide.json_schema({}, limits=value),
    "json_schema(cancelled)": lambda value: cfgguide.json_schema({}, cancelled=value),
    "output_type": lambda value: written(output_type(value).grammar),
    "output_type([.])": lambda value: written(output_type(["a", value]).grammar),
    "compile": lambda value: compiled(value),
    "compile(vocabulary)": lambda value: cfgguide.compile(GRAMMAR, value, use_cache=False),
}

INDEX = cfgguide.compile(GRAMMAR, VOCABULARY)
BITMASKS = np.zeros((2, VOCABULARY.n_words), dtype=np.int32)


def model(_: Any) -> Any:
    return np.zeros(len(VOCABULARY.tokens))


def sampled(*prompt: Any, **options: Any) -> Any:
    return cfgguide.sample(model, *prompt, max_new_tokens=9, **{"index": INDEX, **options})


CALLS |= {
    "check": lambda value: cfgguide.check(value, "a"),
    "check(text)": lambda value: cfgguide.check(GRAMMAR, value),
    "Guide": lambda value: cfgguide.Guide(value, VOCABULARY),
    "Guide.advance": lambda value: cfgguide.Guide(INDEX).advance(value),
    "Guide.accepts": lambda value: cfgguide.Guide(INDEX).accepts(value),
    "Guide.allowed_within": lambda value: cfgguide.Guide(INDEX).allowed_within(value),
    "Guide.rollback": lambda value: cfgguide.Guide(INDEX).rollback(value),
    "IndexPool(max_bytes)": lambda v: cfgguide.IndexPool(VOCABULARY, max_bytes=v).index(GRAMMAR),
    "IndexPool.index": lambda v: cfgguide.IndexPool(VOCABULARY, limits=LIMITS).index(v),
    "Grammar.gbnf": cfgguide.Grammar.gbnf,
    "from_lark": lambda value: from_lark(value, "gbnf"),
    "Matcher(stop_token_ids)": lambda value: Matcher(INDEX, stop_token_ids=value),
    "Matcher.fill_bitmask": lambda value: Matcher(INDEX).fill_bitmask(value, 0),
    "Matcher.fill_bitmask(row)": lambda value: Matcher(INDEX).fill_bitmask(BITMASKS, value),
    "compile(max_bytes)": lambda v: cfgguide.compile(GRAMMAR, VOCABULARY, max_bytes=v),
    "Backend(max_bytes)": lambda value: Backend(VOCABULARY, max_bytes=value),
    "precompute_masks(max_bytes)": lambda value: precompute_masks(INDEX, max_bytes=value),
    "precompute_masks(max_seconds)": lambda value: precompute_masks(INDEX, max_seconds=value),
    "sample(prompt)": sampled,
    "sample(index)": lambda value: sampled(index=value),
    "sample(prefix_ids)": lambda value: sampled(prefix_ids=value),
    "sample(seed)": lambda value: sampled(seed=value),
    "sample(finish)": lambda value: sampled(finish=value),
    "sample(temperature)": lambda value: sampled(temperature=value),
}

KEYWORDS = (
    *("$schema", "$id", "id", "$ref", "$dynamicRef", "$recursiveRef", "$anchor", "$dynamicAnchor"),
    *("$defs", "definitions", "$vocabulary", "$comment", "title", "default", "examples"),
    *("type", "enum", "const", "nullable"),
    *("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"),
    *("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "pattern", "format", "contentEncoding", "contentSchema"),
    *("items", "prefixItems", "additionalItems", "contains", "minContains", "maxContains"),
    *("minItems", "maxItems", "uniqueItems", "unevaluatedItems"),
    *("properties", "patternProperties", "additionalProperties", "propertyNames", "required"),
    *("dependentRequired", "minProperties", "maxProperties", "unevaluatedProperties"),
)
#: What makes a keyword with this value of some effect.
BESIDE = {
    "if": {"then": False},
    "minContains": {"contains": True},
    "maxContains": {"contains": True},
}


def of_keyword(keyword: str, value: Any) -> Any:
    schema = {keyword: value, **BESIDE.get(keyword, {})}
    return compiled(cfgguide.json_schema(schema, limits=LIMITS))


CALLS |= {
    f"json_schema({{{keyword!r}: .}})": lambda value, keyword=keyword: of_keyword(keyword, value)
    for keyword in KEYWORDS
}


# Each of them takes seconds.
LONG = {
    *("repeat", "free_text", "free_text([.])", "optional", "regex", "output_type([.])", "concat"),
    *("concat first", "choice([.])"),
}


@contextlib.contextmanager
def only_errors_of_cfgguide(what: str):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except CfgGuideError as error:
        name, message = type(error).__name__, str(error)
        assert not name.startswith("_"), what
        assert message.isprintable() or "\n" in message or "\ud800" not in message, what
        assert len(message) <= MOST, f"{what}: {len(message)} characters: {message[:200]}..."


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in CALLS]
)
def test_no_value_raises_an_error_that_is_not_cfgguides(name):
    raw = []
    depth = sys.getrecursionlimit()
    for shown, make in VALUES.items():
        value = make()
        try:
            with only_errors_of_cfgguide(f"{name} of {shown}"):
                CALLS[name](value)
        except AssertionError as error:
            raw.append(str(error))
        except Exception as error:  # what the test is about
            raw.append(f"{shown}: {type(error).__name__}: {str(error)[:150]}")
    assert sys.getrecursionlimit() == depth
    assert not raw, "\n".join([f"{name}:", *raw])
