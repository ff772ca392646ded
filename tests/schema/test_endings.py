"""Endings complete every text of a schema, and masks within a budget keep their promise.

`jsonschema` judges the values; the recogniser, whether a text is a sentence.
"""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pydantic
import pytest
from support.schema_walks import SMALL, check_ending, finder, shorter_ending, walk
from support.schemas import is_valid, random_schema
from support.small_tokenizers import standard_library_vocabulary

import cfgguide
from cfgguide import json_schema
from cfgguide.base.limits import work_of_thread
from cfgguide.errors import BudgetError, LimitError, SchemaError
from cfgguide.schema import completions
from cfgguide.schema.equality import value_of
from cfgguide.schema.solver.counts import Enough

BYTES = cfgguide.Vocabulary.of_bytes([])
MARKS = {bytes((byte,)) for byte in b'{}[],":'}
ORDERS = ("declared", "any")

TREE = {
    "type": "object",
    "properties": {"value": {"type": "number"}, "left": {"$ref": "#"}, "right": {"$ref": "#"}},
    "required": ["value", "kind"],
}
LIST = {"anyOf": [{"type": "null"}, {"type": "array", "prefixItems": [True, {"$ref": "#"}],
                                     "minItems": 2, "maxItems": 2, "items": False}]}  # fmt: skip
SHAPE = {
    "type": "object",
    "oneOf": [
        {"properties": {"kind": {"const": "circle"}, "r": {"type": "number"}},
         "required": ["kind", "r"]},
        {"properties": {"kind": {"const": "box"}, "sides": {"type": "array", "minItems": 3}},
         "required": ["kind", "sides"]},
    ],
}  # fmt: skip

LONG = {"type": "string", "minLength": 40}

#: A schema, a text that has begun, and what is added at most to finish it.
ENDINGS: list[tuple[Any, str, int]] = [
    (TREE, "", len('{"value":0,"kind":0}')),
    (TREE, '{"left": {"val', len('ue":0,"kind":0},"value":0,"kind":0}')),
    (TREE, '{"kind": {"kind": [[1', len(']]},"value":0}')),
    (LIST, "[1, [2,", len("null]]")),
    (LIST, '["\\u00', len('00",null]')),
    (SHAPE, '{"kind": "c', len('ircle","r":0}')),
    (SHAPE, '{"kind": "b', len('ox","sides":[0,0,0]}')),
    ({"type": "string", "minLength": 6}, '"ab\\', len('n    "') + 1),
    ({"type": "string", "pattern": "^[a-c]{3}-x+$"}, '"ab', len('a-x"')),
    ({"type": "array", "items": {"enum": ["a", "bb", 1]}, "uniqueItems": True, "minItems": 3},
     '["bb"', len(',1,"a"]')),
    ({"type": "array", "contains": {"const": 5}, "minItems": 2}, "[", len("5,0]")),
    ({"type": "object", "properties": {"name": {"type": "integer"}}, "required": ["name"]},
     '{"na', len('me":0}')),
    ({"type": "object", "minProperties": 1, "additionalProperties": {"type": "array"}},
     "{", len('"":[]}')),
    ({"type": "object", "properties": {"a": {"type": "null"}}, "dependentRequired": {"a": ["bc"]}},
     '{"a"', len(':null,"bc":0}')),
    ({"type": "object", "properties": {"report": LONG}, "minProperties": 1}, "", len('{"":0}')),
    ({"type": "object", "properties": {"report": LONG}, "minProperties": 2,
      "additionalProperties": {"type": "integer"}}, "", len('{"":0," ":0}')),
    ({"type": "object", "properties": {"a": LONG, "b": {"type": "array", "minItems": 9}, "c": LONG,
                                       "d": {"type": "null"}},
      "minProperties": 2, "additionalProperties": False},
     "{", len('"b":[0,0,0,0,0,0,0,0,0],"d":null}')),
    ({"type": "object", "anyOf": [{"required": ["report"]}, {"required": ["n"]}],
      "properties": {"report": LONG, "n": {"type": "integer"}}}, "{", len('"n":0}')),
    ({"type": "object", "oneOf": [{"properties": {"kind": {"const": "long"}, "report": LONG},
                                   "required": ["kind", "report"]},
                                  {"properties": {"kind": {"const": "a name"}},
                                   "required": ["kind"]}]}, "{", len('"kind":"a name"}')),
    ({"type": "object", "properties": {"far": LONG, "father": True}, "required": ["far"]},
     '{"fa', len('r":"' + 40 * "a" + '"}')),
    ({"type": "object", "properties": {"ab": LONG, "abcdef": True}, "additionalProperties": False},
     '{"ab', len('cdef":0}')),
    ({"type": "object", "properties": dict.fromkeys("abcdefghijk", True), "required": ["k"]},
     '{"xy', len('":0,"k":0}')),
    ({"enum": [["\t", "a long one", "and another one"], ["abc"]]}, '["', len('abc"]')),
    # What has begun becomes what has to come, although it may end sooner as something else.
    ({"additionalProperties": {"contains": {"type": "array", "minItems": 4}}},
     '{"":[[0,1', len(",0,0]]}")),
    ({"contains": {"type": "array", "minItems": 3, "items": {"type": "string"}}},
     '[["",', len('"",""]]')),
    ({"contains": {"type": "object", "required": ["a", "bc"]}}, '[{"a":1', len(',"bc":0}]')),
    ({"type": "object", "minProperties": 2, "anyOf": [
        {"required": ["a"], "properties": {"a": {"contains": {"type": "array", "minItems": 3}}}},
        {"required": ["bcdefghijk"]}]}, '{"a":[[1,2', len(',0]],"":0}')),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "text", "n"), ENDINGS)
def test_an_ending_is_short_and_completes_a_valid_text(schema, text, n):
    index = cfgguide.compile(json_schema(schema), SMALL)
    find = finder(index)
    for end in range(len(text.encode()) + 1):
        so_far = text.encode()[:end]
        configuration = index.machine.advance(index.machine.initial, so_far)
        ending = check_ending(index, find, configuration)
        assert ending == finder(index)(configuration), "whatever was asked before"
        assert is_valid(schema, (so_far + ending).decode())
    assert len(ending) <= n, ending


@pytest.mark.parametrize("n", [30, 60, 900])
def test_a_text_that_is_nested_deeply_ends_where_all_classes_matter(n):
    schema = {"type": "array", "contains": {"anyOf": [{"$ref": "#"}, {"const": 1}]}}
    index = cfgguide.compile(json_schema(schema), SMALL)
    configuration = index.machine.advance(index.machine.initial, b"[" * n)
    # From fifty frames on, the innermost ends as it is, and `,1` comes later.
    assert len(check_ending(index, finder(index), configuration)) <= n + (1 if n < 50 else 2)


def within_parts(rng: random.Random, depth: int = 3) -> Any:
    """Return a schema whose parts are told apart by what is inside of them."""
    inner = (lambda: within_parts(rng, depth - 1)) if depth else lambda: rng.choice(WHOLE)
    return rng.choice([
        lambda: {"contains": inner()},
        lambda: {"items": inner(), "minItems": rng.randint(0, 2)},
        lambda: {"additionalProperties": inner(), "minProperties": rng.randint(0, 1)},
        lambda: {"anyOf": [inner(), inner()]},
        lambda: rng.choice(WHOLE),
    ])()  # fmt: skip


WHOLE = [
    {"type": "array", "minItems": 3},
    {"type": "array", "minItems": 2, "uniqueItems": True},
    {"type": "object", "required": ["a", "b"]},
    {"type": ["string", "null"]},
    {"const": 12},
]


@pytest.mark.few(40)
@pytest.mark.parametrize("seed", range(80))
@pytest.mark.parametrize("random_schema", [random_schema, within_parts])
def test_no_token_leads_to_a_shorter_ending(random_schema, seed):
    """So by induction there is none: the end of a text has none, and each ending begins so."""
    rng = random.Random(seed)
    schema = random_schema(rng)
    try:
        index = cfgguide.compile(json_schema(schema, order=rng.choice(ORDERS)), BYTES)
    except SchemaError:
        return
    find = finder(index)
    for _ in range(3):
        guide = cfgguide.Guide(index)
        for _ in range(12):
            shorter = shorter_ending(index, find, guide.step)
            assert shorter is None, (schema, guide.text, shorter)
            allowed = guide.allowed_token_ids().tolist()
            marks = [each for each in allowed if BYTES.tokens[each] in MARKS]
            guide.advance(rng.choice(marks if marks and rng.random() < 0.5 else allowed))
            if guide.is_finished:
                break


@pytest.mark.parametrize("seed", range(200))
def test_bytes_that_are_enough_are_no_less_than_a_shortest_value_has(seed):
    rng = random.Random(seed)
    try:
        automaton = json_schema(random_schema(rng)).automaton()
    except SchemaError:
        return
    (values,) = automaton.roots
    shortest = automaton.completions.shortest.of(automaton.search.goal(values))
    assert len(shortest.text) <= Enough(automaton.search, 1, 1).of(values)


@pytest.mark.parametrize(
    ("schema", "n"),
    [
        ({"type": "array", "minItems": 3, "items": {"type": "integer"}}, 100),
        ({"type": "object", "required": ["ab"], "properties": {"ab": {"minLength": 7}}}, 60),
        ({"type": "string", "pattern": "^a{40,}b$", "maxLength": 90}, 2000),
        ({"type": "string", "format": "date-time"}, 2000),
        ({"allOf": [{"required": ["a"]}, {"type": "object", "required": ["b"]}]}, 80),
        ({"enum": ["abc", "abcd"]}, 40),
        ({"type": "array", "prefixItems": [{"const": "a"}, {"type": "string"}], "minItems": 2}, 40),
    ],
)
def test_of_common_schemas_counting_tells_that_a_short_value_exists(schema, n):
    automaton = json_schema(schema).automaton()
    assert Enough(automaton.search, 1, 1).of(automaton.roots[0]) <= n


def random_walks(seed: int, vocabulary: cfgguide.Vocabulary) -> None:
    rng = random.Random(seed)
    schema = random_schema(rng)
    options = rng.choice(
        ({}, {"order": "any"}, {"separators": (", ", ": ")}, {"max_whitespace": 1})
    )
    try:
        grammar = json_schema(schema, **options)
    except SchemaError:
        return
    index = cfgguide.compile(grammar, vocabulary)
    for _ in range(2):
        walk(index, schema, rng)


@pytest.mark.few(30)
@pytest.mark.parametrize("seed", range(60))
def test_random_walks_within_a_budget_finish_with_valid_values(seed):
    random_walks(seed, SMALL)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60, 160))
def test_random_walks_with_many_tokens_finish_with_valid_values(seed):
    random_walks(seed, standard_library_vocabulary())


def test_every_token_that_is_allowed_leaves_an_ending_that_fits():
    index = cfgguide.compile(json_schema(SHAPE), standard_library_vocabulary())
    guide = cfgguide.Guide(index)
    for n in range(len(guide.shortest_completion()), 1, -1):
        for token_id in guide.allowed_within(n).tolist():
            other = guide.copy()
            other.advance(token_id)
            assert len(other.shortest_completion()) < n
        guide.advance(guide.shortest_completion()[0])


def test_a_budget_that_is_too_small_is_refused():
    index = cfgguide.compile(json_schema(TREE), SMALL)
    with pytest.raises(BudgetError):
        cfgguide.Guide(index).allowed_within(3)


def test_a_model_is_finished_within_a_budget():
    class Item(pydantic.BaseModel):
        name: str = pydantic.Field(min_length=2, max_length=8)
        tags: list[str] = pydantic.Field(max_length=3)
        parent: Item | None

    index = cfgguide.compile(Item, standard_library_vocabulary())
    rng = random.Random(0)
    for _ in range(10):
        guide = cfgguide.Guide(index)
        n = len(guide.shortest_completion()) + rng.randrange(20)
        while not guide.is_finished:
            guide.advance(int(rng.choice(guide.allowed_within(n - len(guide.token_ids)))))
        assert len(guide.token_ids) <= n
        Item.model_validate(json.loads(guide.text))


def arrays_in_arrays(depth: int, n: int) -> Any:
    inner = arrays_in_arrays(depth - 1, n) if depth else True
    return {"type": "array", "prefixItems": [inner] * n, "minItems": n, "uniqueItems": True}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "minProperties": 90},
        {"type": "object", "minProperties": 300, "propertyNames": {"maxLength": 2}},
        {"minProperties": 100, "required": ["a"], "properties": {"a": {"enum": ["b"]}}},
        {"type": "array", "minItems": 200, "uniqueItems": True},
        {"type": "array", "minItems": 900, "uniqueItems": True, "items": {"type": "integer"}},
        {"type": "array", "minItems": 400, "uniqueItems": True, "items": {"type": "string"}},
        {"type": "array", "minItems": 300, "uniqueItems": True,
         "items": {"type": ["string", "null"], "pattern": "^x[a-z]{2}"}},
        arrays_in_arrays(1, 10),
        {"enum": [{"id": n, "name": f"n{n}"} for n in range(80)]},
    ],
    ids=["90 names", "300 names", "100 names", "200 items", "900 integers", "400 strings",
         "300 of a pattern", "10 times 10 items", "80 objects"],
)  # fmt: skip
def test_an_ending_with_many_different_parts_is_found(schema):
    """What has to come is found one after the other, however many there are."""
    index = cfgguide.compile(json_schema(schema), standard_library_vocabulary())
    guide = cfgguide.Guide(index)
    token_ids = guide.shortest_completion()
    text = index.vocabulary.spell(token_ids[:-1])
    assert is_valid(schema, text.decode())
    assert token_ids[0] in guide.allowed_within(len(token_ids))


def test_an_ending_that_takes_too_long_is_a_limit():
    """The string is longer than what any step may read."""
    few = cfgguide.Limits(max_seconds=0.05)
    long = {"type": "string", "minLength": 90_000, "pattern": "^(?:(?:ab|ba){30}c)*$"}
    schema = {"type": "object", "properties": {"a": long}}
    guide = cfgguide.Guide(cfgguide.compile(json_schema(schema, limits=few), SMALL))
    for byte in (b"{", b'"', b"a", b'"', b":", b'"'):
        guide.advance(SMALL.tokens.index(byte))
    with pytest.raises(SchemaError, match="max_seconds"):
        guide.shortest_completion()


@pytest.mark.parametrize(
    ("pattern", "begun", "n_bytes"),
    [
        ("(?:[^a]{100}b){900}", "bé!", 101 * 900),
        ("(?:ab|b){30000}c", "aba", 30_001),
        ("(?:é|[b-d]x|ef{2,9}){1000}(?:gg)?(?:h{10}i){20,}", "efff", 2 * 1000 + 11 * 20),
        ("(?:a{5}|bc){2,5}(?:d(?:e|fg){3}){1000,2000}", "bca", 4 + 4 * 1000),
    ],
)
@pytest.mark.parametrize("is_schema", [False, True])
def test_a_long_string_of_a_pattern_ends_without_a_search(pattern, begun, n_bytes, is_schema):
    """It is put together of the shortest texts of its parts: by hand, so many bytes."""
    grammar = cfgguide.regex(pattern)
    if is_schema:
        grammar = json_schema({"type": "string", "pattern": f"^{pattern}$"})
    guide = cfgguide.Guide(cfgguide.compile(grammar, BYTES))
    assert len(guide.shortest_completion()) == n_bytes + 2 * is_schema + 1
    for byte in b'"' * is_schema + begun.encode():
        guide.advance(byte)
    before = work_of_thread()
    guide.shortest_completion()
    assert work_of_thread() - before < 10 * n_bytes
    whole = guide.text + bytes(guide.shortest_completion()[:-1])
    assert re.fullmatch(pattern, json.loads(whole) if is_schema else whole.decode())


@pytest.mark.parametrize(
    "pattern", ["(?:[^a]{100}b){1000}", "a{200000}", "[a-z]{50000}(?:bc){30000}"]
)
def test_a_pattern_of_long_texts_only_is_refused(pattern):
    with pytest.raises(LimitError, match="more than 100000 bytes"):
        cfgguide.compile(cfgguide.regex(pattern), BYTES)
    with pytest.raises(SchemaError, match="100000 bytes at most"):
        json_schema({"type": "string", "pattern": f"^{pattern}$"})


DOUBLED = {"l0": {"const": 1}} | {
    f"l{n + 1}": {"type": "array", "prefixItems": [{"$ref": f"#/$defs/l{n}"}] * 2, "minItems": 2}
    for n in range(60)
}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/l60", "$defs": DOUBLED},
        {"type": "array", "items": {"type": "number"}, "minItems": 1_000_000},
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/l60"}},
            "required": ["a"],
            "$defs": DOUBLED,
        },
        {"items": {"$ref": "#/$defs/l60"}, "type": "array", "minItems": 1, "$defs": DOUBLED},
        {
            "type": "object",
            "properties": {
                "a": {"$ref": "#/$defs/l60"},
                "b": {
                    "oneOf": [{"const": n} for n in range(3)] + [{"type": "null"}, {"const": []}]
                },
            },
            "required": ["a"],
            "$defs": DOUBLED,
        },
    ],
)
def test_a_text_that_takes_more_than_a_hundred_kilobytes_is_refused(schema: Any) -> None:
    """2^60 ones fill no memory; beside what is short, no budget is enough once they have begun."""
    with pytest.raises(SchemaError, match="100000 bytes at most"):
        json_schema(schema)
    beside = {"anyOf": [schema, {"type": "null"}], "$defs": schema.get("$defs", {})}
    guide = cfgguide.Guide(cfgguide.compile(json_schema(beside), SMALL))
    assert guide.allowed_within(1000).tolist()
    guide.advance(SMALL.tokens.index(b"{" if schema.get("type") == "object" else b"["))
    for _ in range(3):
        for ask in (guide.shortest_completion, lambda: guide.allowed_within(1000)):
            with pytest.raises(BudgetError):
                ask()
        allowed = guide.allowed_token_ids()
        assert len(allowed)
        guide.advance(int(allowed[-1]))


def test_a_budget_is_the_same_whatever_endings_were_asked_for_before() -> None:
    """After `[1` a shorter ending is found than was known: the mask before it allowed more then."""
    schema = {"type": "array", "uniqueItems": True, "minItems": 3}
    least = []
    for texts in ((), (b"[", b"[1", b"[1,")):
        index = cfgguide.compile(json_schema(schema), BYTES, use_cache=False)
        for text in texts:
            guide = cfgguide.Guide(index)
            for byte in text:
                guide.advance(byte)
            guide.shortest_completion()
        least.append(next(n for n in range(30) if is_enough(cfgguide.Guide(index), n)))
    assert least[0] == least[1]


@pytest.mark.parametrize("n", [3, 12, 30])
def test_the_shortest_different_items_come(n: int) -> None:
    index = cfgguide.compile(
        json_schema({"type": "array", "uniqueItems": True, "minItems": n}), BYTES
    )
    text = index.vocabulary.spell(cfgguide.Guide(index).shortest_completion())
    assert len({value_of(json.dumps(item).encode()) for item in json.loads(text)}) == n
    # The digits, then `""`, `[]`, `{}` and numbers of two digits, `-1` to `-9` among them.
    assert len(text) == 1 + sum(1 + (number >= 10) for number in range(n)) + n


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"prefixItems": [{}], "contains": {}}, "[0]"),
        ({"prefixItems": [{}, {}], "contains": {"type": "string"}}, '[""]'),
        ({"prefixItems": [{}], "contains": {"type": "string"}, "minContains": 2}, '["",""]'),
        ({"contains": {"type": "string"}, "allOf": [{"contains": {"minLength": 2}}]}, '["  "]'),
    ],
)
def test_what_an_array_contains_comes_in_few_items(schema: Any, text: str) -> None:
    index = cfgguide.compile(json_schema({"type": "array", **schema}), BYTES)
    assert index.vocabulary.spell(cfgguide.Guide(index).shortest_completion()) == text.encode()


def test_a_token_that_begins_an_item_counts_the_tokens_of_its_own_ending() -> None:
    schema = {"type": "array", "uniqueItems": True, "minItems": 2}
    index = cfgguide.compile(json_schema(schema), cfgguide.Vocabulary.of_bytes([b"[-", b"0,1]"]))
    tokens = index.vocabulary.tokens
    assert [tokens[each] for each in cfgguide.Guide(index).allowed_within(3)] == [b"[", b"[-"]


#: Texts of which thousands of characters have to come.
MANY_CHARACTERS: list[Any] = [
    {"type": "string", "minLength": 12_000},
    {"type": "string", "minLength": 6_000, "pattern": "^a*b$"},
    {"type": "string", "not": {"maxLength": 8_000}},
    {"oneOf": [{"type": "string", "maxLength": 70_000}, {"type": "string", "maxLength": 6_000}]},
    {"oneOf": [{"properties": {"a": {"type": "string", "maxLength": 70_000}}},
               {"properties": {"é": {"type": "string", "maxLength": 6_000}}, "required": ["é"]}]},
]  # fmt: skip


@pytest.mark.parametrize("schema", MANY_CHARACTERS)
def test_characters_that_only_have_to_be_many_are_not_searched_one_by_one(schema: Any) -> None:
    index = cfgguide.compile(json_schema(schema), BYTES, use_cache=False)
    find = finder(index)
    guide, most = cfgguide.Guide(index), 0
    for byte in '{"a":"x","é":"xy'.encode() if "properties" in str(schema) else b'"aa':
        guide.advance(byte)
        before = work_of_thread()
        find(guide.configuration)
        most = max(most, work_of_thread() - before)
        ending = check_ending(index, find, guide.configuration)
        assert is_valid(schema, (guide.text + ending).decode("utf-8", "ignore")) or byte > 127
    assert most < 5_000


def is_enough(guide: cfgguide.Guide, n: int) -> bool:
    """Return whether a budget of so many tokens allows any."""
    try:
        return bool(len(guide.allowed_within(n)))
    except BudgetError:
        return False


def test_a_short_value_is_found_beside_one_that_is_long() -> None:
    schema = {"anyOf": [{"$ref": "#/$defs/l60"}, {"type": "object"}], "$defs": DOUBLED}
    guide = cfgguide.Guide(cfgguide.compile(json_schema(schema), SMALL))
    text = b"".join(SMALL.tokens[each] or b"" for each in guide.shortest_completion())
    assert json.loads(text) == {}


LISTED = [
    "a",
    "ab",
    "abcd",
    "abd",
    'a"b',
    "a\nb",
    "a\\",
    "é",
    "éa",
    "né",
    "\u20ac1",
    "\u20acuro",
    "/",
]


@pytest.mark.parametrize("as_name", [False, True])
def test_a_listed_text_that_has_begun_ends_as_the_shortest_of_those_left(as_name):
    schema = {"enum": LISTED}
    if as_name:
        schema = {"type": "object", "properties": {each: {"type": "null"} for each in LISTED},
                  "additionalProperties": False, "minProperties": 1}  # fmt: skip
    index = cfgguide.compile(json_schema(schema, order="any"), BYTES)
    find, machine = finder(index), index.machine
    whole = [json.dumps(each, ensure_ascii=False).encode() for each in LISTED]
    for begun in {text[:end] for text in whole for end in range(1, len(text))}:
        left = [each for each in whole if each.startswith(begun)]
        before, after = (b"{", b":null}") if as_name else (b"", b"")
        ending = find(machine.advance(machine.initial, before + begun))
        found = (begun + ending).removesuffix(after)
        assert found in left
        assert len(found) == min(map(len, left))


def test_the_ends_of_many_listed_texts_are_not_searched():
    rng = random.Random(0)
    codes = ["".join(rng.choices("ABCDEFGHKLMN0123456789", k=16)) for _ in range(1_000)]
    vocabulary = cfgguide.Vocabulary.of_bytes(
        [b'{"', b'":"', *{code[n : n + 2].encode() for code in codes for n in (0, 2, 4)}]
    )
    schema = {"type": "object", "properties": {"id": {"enum": codes}}, "required": ["id"]}
    guide = cfgguide.Guide(cfgguide.compile(json_schema(schema), vocabulary))
    text = json.dumps({"id": codes[0]}, separators=(",", ":")).encode()
    most = 0
    for byte in text:
        before = work_of_thread()
        guide.allowed_within(60)
        most = max(most, work_of_thread() - before)
        guide.advance(byte)
    assert most < 10 * len(codes)


def kinds(n: int, rng: random.Random, *, are_plain: bool = True) -> Any:
    """Objects of so many kinds that a tag tells apart, one in another; some names are shared."""
    values = [{"type": "string"}, {"type": "integer"}, {"enum": ["x", "yy"]}, {"const": None},
              {"type": "array", "items": {"type": "boolean"}}, {"type": "array", "items": LONG},
              {"$ref": "#"}, {"type": "array", "items": {"$ref": "#"}, "minItems": 1}]  # fmt: skip
    found = []
    for number in range(n):
        own = {f"{rng.choice('abcd')}{number}_{each}": rng.choice(values) for each in range(12)}
        shared = {name: rng.choice(values) for name in ("link", "title", "id", "date", "of")}
        names = [*(own | shared).items()]
        rng.shuffle(names)
        properties: dict[str, Any] = {"kind": {"const": f"K{number}"}, **dict(names)}
        kind = {"type": "object", "properties": properties, "required": ["kind"],
                "additionalProperties": False}  # fmt: skip
        if not are_plain:
            short = [name for name, value in names if "$ref" not in str(value)]
            kind["required"] += rng.sample(short, rng.choice([0, 0, 1, 2]))
            kind |= rng.choice([{}, {}, {"minProperties": 3}, {"maxProperties": 4}])
            kind["additionalProperties"] = rng.choice([False, False, {"type": "null"}])
        found.append(kind)
    return {"oneOf" if are_plain else rng.choice(["oneOf", "anyOf"]): found}


@pytest.mark.few(4)
@pytest.mark.parametrize("seed", range(12))
def test_an_object_of_many_names_is_finished_whichever_comes_first(seed):
    """Its endings are not the shortest, but each completes a valid text."""
    rng = random.Random(seed)
    schema = kinds(10, rng, are_plain=seed % 2 == 0)
    options = {"order": rng.choice(ORDERS)}
    index = cfgguide.compile(json_schema(schema, **options), standard_library_vocabulary())
    for _ in range(3):
        walk(index, schema, rng)


def test_work_within_a_budget_is_linear_in_the_kinds_of_objects():
    """Also where names come before the tag that tells the kinds apart, and inside of those."""
    work: dict[int, list[int]] = {}
    for n in (20, 80):
        rng = random.Random(0)
        index = cfgguide.compile(json_schema(kinds(n, rng)), standard_library_vocabulary())
        work[n] = []
        for text in ('{"kind":"K1","id', '{"a1', '{"ti', '{"link":'):
            guide = cfgguide.Guide(index)
            for byte in text.encode():
                guide.allowed_token_ids()
                before = work_of_thread()
                guide.allowed_within(300)
                work[n].append(work_of_thread() - before)
                guide.advance(index.vocabulary.tokens.index(bytes((byte,))))
    assert sum(work[80]) < 4 * sum(work[20]) + 4_000
    assert max(work[80]) < 8_000


def test_work_within_a_budget_is_linear_in_the_items_of_an_array():
    """Also where each item has to leave a way to the end that has to be searched."""
    work = []
    for n in (100, 400):
        schema = {"minItems": n, "unevaluatedItems": {}}
        guide = cfgguide.Guide(cfgguide.compile(json_schema(schema), BYTES))
        before = work_of_thread()
        guide.allowed_within(3 * n)
        work.append(work_of_thread() - before)
    assert work[1] < 5 * work[0]


def test_the_shortest_multiple_is_the_first_one_and_is_not_searched():
    schema = {"type": "number", "multipleOf": 12.34, "minimum": 1_000_000}
    guide = cfgguide.Guide(cfgguide.compile(json_schema(schema), BYTES))
    before = work_of_thread()
    ending = guide.shortest_completion()
    assert work_of_thread() - before < 500
    assert b"".join(BYTES.tokens[each] or b"" for each in ending) == b"1000157"  # 1621 * 617


def test_names_that_have_to_come_are_found_once(monkeypatch):
    n_found = 0

    def counted(text):
        nonlocal n_found
        n_found += 1
        return value_of(text)

    monkeypatch.setattr(completions, "value_of", counted)
    guide = cfgguide.Guide(cfgguide.compile(json_schema({"minProperties": 50}), SMALL))
    for byte in b'{"a":1,"':
        guide.advance(SMALL.tokens.index(bytes((byte,))))
    guide.allowed_within(len(guide.shortest_completion()))
    assert n_found < 2 * 50


def test_objects_with_a_name_too_long_to_write_have_no_ending() -> None:
    schema = {"type": ["object", "null"], "required": ["x" * 150_000]}
    guide = cfgguide.Guide(cfgguide.compile(json_schema(schema), cfgguide.Vocabulary.of_bytes([])))
    assert bytes(guide.shortest_completion()[:-1]) == b"null"
    assert ord("{") not in guide.allowed_within(50)
    guide.advance(ord("{"))
    with pytest.raises(BudgetError, match="no way was found"):
        guide.allowed_within(50)
