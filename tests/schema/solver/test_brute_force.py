"""Which values schemas allow, and how many: the solver against all values of a small universe.

A schema allows only the values below. Beside it stand random schemas, and `jsonschema` says for
each value which of them it meets.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

import jsonschema
import pytest
from support.ci import or_in_ci

import cfgguide
from cfgguide.errors import SchemaError
from cfgguide.schema.reader import SchemaReader
from cfgguide.schema.solver.arrays import told_apart
from cfgguide.schema.solver.counts import has_enough_items
from cfgguide.schema.solver.nodes import Node, reachable, wanted_to_fail
from cfgguide.schema.solver.search import Search
from cfgguide.schema.solver.values import AllValues

SCALARS = (None, True, False, 0, 0.5, 1, "", "a", "ab")
INNER = (*SCALARS, [], {})
VALUES = [
    *SCALARS,
    *(list(items) for n in range(3) for items in itertools.product(INNER, repeat=n)),
    *(
        dict(zip(names, values, strict=True))
        for names in ("", "a", "b", "ab")
        for values in itertools.product(INNER, repeat=len(names))
    ),
]
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
VOCABULARY = cfgguide.Vocabulary([*(bytes([byte]) for byte in range(256)), None], eos_token_ids=256)
EOS = 256
_NUMBERS_AND_TEXTS = {"minimum": 0, "maximum": 1, "multipleOf": 0.5, "pattern": "^(ab?)?$"}
_SCALAR: Any = {"type": ["null", "boolean", "number", "string"], **_NUMBERS_AND_TEXTS}
_INNER: Any = {**_NUMBERS_AND_TEXTS, "maxItems": 0, "maxProperties": 0}
#: What allows these values, and no others, and has no alternatives.
UNIVERSE: Any = {
    "maxItems": 2,
    "items": _INNER,
    "properties": {"a": _INNER, "b": _INNER},
    "additionalProperties": False,
    **_NUMBERS_AND_TEXTS,
}
UNIVERSES: Any = ((_SCALAR, SCALARS), (_INNER, INNER), (UNIVERSE, VALUES))
UNCOUNTED = ("told apart", "suffice")  # why a schema is refused that asks for different items
REFUSALS = (*UNCOUNTED, "no value is allowed")
WHOLE_SO_FAR = {ord(".")}  # a whole number may be written with a point too


def drawn(rng: random.Random, depth: int = 2) -> Any:
    """A schema of one to three groups of keywords, which tell some of the values apart."""

    def part() -> Any:
        return drawn(rng, depth - 1)

    def parts() -> list[Any]:
        return [part() for _ in range(rng.randrange(1, 4))]

    def bounds(of: str) -> Any:
        least, most = sorted(rng.choices(range(3), k=2))
        return {f"min{of}": least, f"max{of}": most}

    def name() -> str:
        return rng.choice("ab")

    scalars = (
        lambda: {"type": rng.sample(TYPES, rng.randrange(1, 5))},
        lambda: {"enum": rng.sample(VALUES, rng.randrange(1, 5))},
        lambda: {"enum": rng.sample(SCALARS, rng.randrange(1, 5))},
        lambda: {rng.choice(("minimum", "exclusiveMaximum")): rng.choice((0, 0.5, 1))},
        lambda: {rng.choice(("maximum", "multipleOf")): rng.choice((0.5, 1))},
        lambda: bounds("Length"),
        lambda: {"pattern": rng.choice(("b", "^a", "^$", "^(?!ab)", "^.?$"))},
    )
    arrays = (
        lambda: bounds("Items"),
        lambda: {"items": part()},
        lambda: {"prefixItems": parts()},
        lambda: {"contains": part(), **(bounds("Contains") if rng.random() < 0.7 else {})},
        lambda: {"unevaluatedItems": part()},
        lambda: {"uniqueItems": True, "items": {"enum": rng.sample(SCALARS, 3)}},
    )
    objects = (
        lambda: {"required": [name()]},
        lambda: {"properties": {name(): part(), "c": part()}},
        lambda: {"properties": {name(): part()}, "additionalProperties": part()},
        lambda: {"patternProperties": {rng.choice(("^a$", "b", "")): part()}},
        lambda: {"propertyNames": part()},
        lambda: bounds("Properties"),
        lambda: {"dependentRequired": {name(): [name()]}},
        lambda: {"dependentSchemas": {name(): part()}},
        lambda: {"unevaluatedProperties": part()},
    )
    combined = (
        lambda: {rng.choice(("allOf", "anyOf", "oneOf")): parts()},
        lambda: {"oneOf": parts()},
        lambda: {"not": part()},
        lambda: {each: part() for each in ("if", "then", "else")},
    )
    if depth == 0:
        return rng.choice(scalars)() if rng.random() < 0.9 else rng.random() < 0.5
    found: Any = {}
    for _ in range(rng.randrange(1, 4)):
        found |= rng.choice(rng.choice((scalars, arrays, objects, combined)))()
    return found


def verdicts(schema: Any, values: Sequence[Any]) -> list[bool]:
    """What the judge says of each value."""
    judge = jsonschema.Draft202012Validator(schema)
    return [judge.is_valid(value) for value in values]


def texts_of(value: Any) -> Iterator[bytes]:
    """How a value is written, with its properties in each order."""
    orders = itertools.permutations(value.items()) if isinstance(value, dict) else [value]
    for each in orders:
        same = dict(each) if isinstance(value, dict) else value
        yield json.dumps(same, separators=(",", ":")).encode()


def solver_of(*schemas: Any) -> tuple[Search, list[Node]]:
    """The solver of some schemas, each of which may be wanted to hold and to fail; their nodes."""
    whole = {"oneOf": [{"allOf": [schema]} for schema in schemas]}
    root = SchemaReader(whole, formats=False, best_effort=False).root()
    assert root.one_of is not None
    search = Search(AllValues(), is_ordered=False, wanted_to_fail=wanted_to_fail(root))
    return search, root.one_of


@pytest.mark.parametrize(("universe", "values"), UNIVERSES)
def test_the_judge_allows_these_values(universe, values):
    assert all(verdicts(universe, values))
    assert len({json.dumps(value) for value in values}) == len(values)


def check_classes(seed: int) -> None:
    """Some value meets some schemas, and not the others, where one of the universe does."""
    rng = random.Random(seed)
    schemas = [drawn(rng) for _ in range(rng.randrange(1, 4))]
    search, (universe, *nodes) = solver_of(UNIVERSE, *schemas)
    inner = itertools.chain(*map(reachable, nodes))
    if any(node.is_unique and told_apart([node]) is None for node in inner):
        return  # no schema may ask for that to fail
    met = set(zip(*(verdicts(schema, VALUES) for schema in schemas), strict=True))
    for wanted in itertools.product((True, False), repeat=len(schemas)):
        holding = [node for node, holds in zip(nodes, wanted, strict=True) if holds]
        failing = [node for node, holds in zip(nodes, wanted, strict=True) if not holds]
        assert search.has([universe, *holding], failing) == (wanted in met), (schemas, wanted)
    if not any(node.meant.is_false for node in nodes):  # with one, no value is asked for
        classes = search.classes(search.values.of([universe, *nodes]))
        found = {
            tuple(node.meant.is_trivial or node.meant in each for node in nodes)
            for each in classes
            if universe.meant in each
        }
        assert found == met, schemas


def has_so_many(item: Any, least: int) -> bool | None:
    """Whether there are so many different items, as far as the solver knows."""
    array = {"type": "array", "uniqueItems": True, "minItems": least, "items": item}
    search, (node,) = solver_of(array)
    return has_enough_items(search.values.of([node]), search)


def check_counts(seed: int) -> None:
    """Whether there are so many different items is known rightly, or not known."""
    rng = random.Random(seed)
    for _ in range(8):
        (universe, values), schema = rng.choice(UNIVERSES), drawn(rng, rng.choice((0, 1, 1)))
        n_values = sum(verdicts(schema, values))
        for least in {2, 3, n_values, n_values + 1} - {0}:
            found = has_so_many({"allOf": [universe, schema]}, least)
            assert found in (None, n_values >= least), (universe, schema, least)


def check_texts(seed: int) -> None:
    """Bytes are allowed where a value's text goes on with them, and the end where it ends."""
    schema = drawn(random.Random(seed))
    may_follow: dict[bytes, dict[int, bool]] = {}  # after each beginning; EOS after a whole text
    for value, is_valid in zip(VALUES, verdicts(schema, VALUES), strict=True):
        for text in texts_of(value):
            for n, token_id in enumerate((*text, EOS)):
                after = may_follow.setdefault(text[:n], {})
                after[token_id] = after.get(token_id, False) or is_valid
    has_any = any(may_follow[b""].values())
    try:
        grammar = cfgguide.json_schema({"allOf": [UNIVERSE, schema]}, separators=(",", ":"))
    except SchemaError as error:
        if not any(why in str(error) for why in (UNCOUNTED if has_any else REFUSALS)):
            raise
        return
    assert has_any, schema
    pending = [cfgguide.Guide(cfgguide.compile(grammar, VOCABULARY))]
    for guide in pending:  # grows while it is walked
        allowed = set(guide.allowed_token_ids().tolist())
        following = may_follow[guide.text]
        right = {token_id for token_id, is_right in following.items() if is_right}
        assert right <= allowed, (schema, guide.text)
        assert (allowed & following.keys()) - right <= WHOLE_SO_FAR, (schema, guide.text)
        for token_id in sorted(right - {EOS}):
            longer = guide.copy()
            longer.advance(token_id)
            pending.append(longer)


_TRUTH: Any = {"type": "boolean"}
_TRUTHS: Any = {"type": "array", "items": _TRUTH}
_CLOSED: Any = {"type": "object", "additionalProperties": False}


@pytest.mark.parametrize(
    ("item", "n_values"),
    [
        ({"type": ["boolean", "null"]}, 3),
        ({"enum": ["a", 1, 1.0, 2]}, 3),
        ({"type": "string", "pattern": "^[ab]{0,2}$"}, 1 + 2 + 4),
        ({"type": "string", "pattern": "^[ab]{0,2}$", "minLength": 1}, 2 + 4),
        ({"type": "number", "minimum": 0, "maximum": 1, "multipleOf": 0.25}, 5),
        ({**_TRUTHS, "maxItems": 2}, 1 + 2 + 4),
        ({**_TRUTHS, "minItems": 1, "maxItems": 2}, 2 + 4),
        ({**_TRUTHS, "prefixItems": [{"type": "null"}], "maxItems": 3}, 1 + 1 + 2 + 4),
        ({"type": "array", "items": {**_TRUTHS, "maxItems": 1}, "maxItems": 2}, 1 + 3 + 9),
        ({**_CLOSED, "properties": {"a": _TRUTH, "b": _TRUTH}}, 3 * 3),
        ({**_CLOSED, "properties": {"a": _TRUTH, "b": _TRUTH}, "required": ["a"]}, 2 * 3),
        ({**_CLOSED, "properties": {"a": _TRUTH, "b": False}}, 3),
    ],
)
def test_values_are_counted(item, n_values):
    assert has_so_many(item, n_values) is True
    assert has_so_many(item, n_values + 1) is False


@pytest.mark.parametrize(
    "item",
    [
        {"type": "array", "contains": _TRUTH},
        {"type": "array", "unevaluatedItems": _TRUTH},
        {"type": "object", "minProperties": 1},
    ],
)
def test_what_is_not_counted_is_not_denied(item):
    assert has_so_many(item, 2) is None


CHECKS = (check_classes, check_counts, check_texts)


@pytest.mark.few(12)
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("seed", range(12))
def test_the_solver_agrees_with_trying_all_values(check, seed):
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("seed", range(100, 100 + or_in_ci(200, 60), 20))
def test_it_agrees_over_many_schemas(check, seed):
    for each in range(seed, seed + 20):
        check(each)
