"""Different items of any kind, and counted names: masks against single bytes, and `jsonschema`.

A text of such a schema remembers what has come. A mask is right if it has just the tokens whose
bytes may come one after another, since the bytes are read without masks.
"""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest
from fuzz.schemas import has_repeated_names, reads
from support.schema_walks import SMALL, walk
from support.schemas import is_valid

import cfgguide
from cfgguide import json_schema
from cfgguide.engine.byte_machine.byte_machine import ByteMachine
from cfgguide.errors import SchemaError
from cfgguide.schema import completions
from cfgguide.schema.automaton import JsonLayout
from cfgguide.schema.equality import value_of
from cfgguide.schema.json_reading import BegunValue

UNIQUE: dict[str, Any] = {"type": "array", "uniqueItems": True}
TRUTH = {"type": "boolean"}
CLOSED = {"type": "object", "properties": {"a": TRUTH}, "additionalProperties": False}
OBJECT = {"type": "object"}

ARRAYS: list[dict[str, Any]] = [
    UNIQUE,
    {**UNIQUE, "items": CLOSED},
    {**UNIQUE, "items": {**CLOSED, "required": ["a"]}, "minItems": 2},
    {**UNIQUE, "items": {**CLOSED, "type": ["integer", "object"]}},
    {**UNIQUE, "items": {"type": "array", "items": TRUTH, "maxItems": 2}},
    {**UNIQUE, "items": {**UNIQUE, "items": TRUTH, "maxItems": 2}},
    {**UNIQUE, "items": {**UNIQUE, "items": {"type": ["integer", "array"], "maxItems": 0}}},
    {**UNIQUE, "prefixItems": [{"enum": [1, "a"]}, {"enum": [1, "b"]}], "items": CLOSED},
    {**UNIQUE, "contains": {"const": 1}},
    {**UNIQUE, "minItems": 3, "items": {"enum": ["a", 1, None]}, "contains": {"type": "integer"},
     "minContains": 0, "maxContains": 1},
    {**UNIQUE, "minItems": 3, "items": {"enum": ["a", 1, "x", True]},
     "contains": {"type": "string"}, "maxContains": 1},
    {**UNIQUE, "contains": OBJECT, "minContains": 2, "items": {"type": ["object", "boolean"]}},
    {**UNIQUE, "items": {**OBJECT, "patternProperties": {"^[ab]$": TRUTH},
                         "additionalProperties": False}},
    {**UNIQUE, "items": {**OBJECT, "propertyNames": {"pattern": "^(a|b)$"},
                         "additionalProperties": TRUTH}},
    {**UNIQUE, "items": {"oneOf": [{**OBJECT, "required": ["a"], "properties": {"a": TRUTH}},
                                   {**OBJECT, "required": ["b"], "properties": {"b": TRUTH}}]}},
    {"anyOf": [{**UNIQUE, "items": {"type": ["boolean", "array"], "maxItems": 0}},
               {"type": "array", "items": TRUTH}]},
    {"required": ["a"], "properties": {"a": UNIQUE}, "not": {"properties": {"a": {"maxItems": 1}}}},
    {**UNIQUE, "items": {"enum": ["x", "y", {"x": 1}, {"x": 2}]}},
    {**UNIQUE, "items": {"type": ["object", "string"]}},
    {**UNIQUE, "items": {**OBJECT, "properties": {"a": {**UNIQUE, "items": OBJECT}}}},
    {**UNIQUE, "items": {**UNIQUE, "items": {**OBJECT, "required": ["a"]}}},
    {**UNIQUE, "items": {"oneOf": [{**OBJECT, "properties": {"a": {"const": 1}}},
                                   {**OBJECT, "required": ["a", "b"]}]}},
    {**UNIQUE, "prefixItems": [OBJECT], "unevaluatedItems": TRUTH},
    {**UNIQUE, "items": {**UNIQUE, "items": {"enum": ["a", "ab", "b"]}}},
    {**UNIQUE, "items": {**UNIQUE, "items": {"type": ["string", "integer"]}, "minItems": 2}},
    {"oneOf": [{**UNIQUE, "items": CLOSED, "minItems": 1}, {**UNIQUE, "items": TRUTH}]},
    {"oneOf": [{**UNIQUE, "items": {"type": ["boolean", "array"]}, "minItems": 2},
               {"oneOf": [{"const": 1}, {**UNIQUE, "items": {"type": ["array", "integer"]}}]}]},
    {"oneOf": [{**UNIQUE, "items": CLOSED, "minItems": 1}, {"type": "array", "items": TRUTH}]},
    {**UNIQUE, "items": {"type": "array", "contains": TRUTH, "maxContains": 1}, "minItems": 2},
    {**UNIQUE, "items": {"type": "array", "unevaluatedItems": TRUTH}, "minItems": 2},
    *(
        {**UNIQUE, "items": {"type": "string", **each}}
        for each in (
            *({"maxLength": 0}, {"maxLength": 1}, {"maxLength": 30}, {"minLength": 2}),
            *({"pattern": "^[ax]+$"}, {"pattern": "^a*$", "maxLength": 2}, {"pattern": "^[ab]$"}),
            *({"pattern": "^(a|x.*)$"}, {"pattern": "^.a", "minLength": 3}),
        )
    ),
    {**UNIQUE, "items": {"type": ["string", "null"], "maxLength": 0}},
    {**UNIQUE, "items": {"oneOf": [{"type": "array"}, {"type": "integer"}, {"const": "a"}]}},
    {**UNIQUE, "items": {"anyOf": [{"type": "number"}, {"const": "a"}]}},
    {**UNIQUE, "items": {**OBJECT, "properties": {"a": TRUTH, "b": {"type": "string"}}}},
    {**UNIQUE, "items": {"type": ["string", "integer"], "pattern": "^[ax]$"}},
    {**UNIQUE, "items": {**OBJECT, "patternProperties": {"^[xa]$": {"type": "string"}},
                         "additionalProperties": False}},
    {**UNIQUE, "items": {**OBJECT, "required": ["a", "b"], "additionalProperties": False,
                         "properties": {"a": {"type": "integer"}, "b": TRUTH}}},
    {**UNIQUE, "items": {"type": "string", "pattern": "^x*a[ab]$"}, "minItems": 2},
    {**UNIQUE, "items": {"type": "string", "pattern": "^(😀[ab]|x+)$"}},
    {**UNIQUE, "items": {**OBJECT, "additionalProperties": False, "minProperties": 1,
                         "properties": {"a": {"type": "string", "pattern": "^x*a$"},
                                        "b": {"enum": ["a", "b"]}}}},
    {**UNIQUE, "items": {"type": ["string", "boolean"], "pattern": "^[ax]+$"}, "minItems": 3},
    {**UNIQUE, "items": {**OBJECT, "properties": {"a": {"type": "string", "maxLength": 1}},
                         "required": ["a"], "additionalProperties": False}},
]  # fmt: skip
OBJECTS: list[dict[str, Any]] = [
    {**OBJECT, "minProperties": 2},
    {**OBJECT, "minProperties": 2, "maxProperties": 2},
    {"not": {**OBJECT, "maxProperties": 1}},
    {**OBJECT, "minProperties": 1, "maxProperties": 1, "propertyNames": {"pattern": "^x+$"}},
    {**OBJECT, "minProperties": 2, "patternProperties": {"^[ab]$": TRUTH},
     "additionalProperties": False},
    {**OBJECT, "minProperties": 3, "patternProperties": {"^(a|xx*)$": TRUTH},
     "additionalProperties": False},
    {**OBJECT, "minProperties": 3, "patternProperties": {"^(a|ab|b.?|😀a)$": TRUTH},
     "additionalProperties": False},
    {**UNIQUE, "items": {**OBJECT, "minProperties": 2,
                         "propertyNames": {"pattern": "^(ab?|b.*)$"}}},
    {**OBJECT, "minProperties": 2, "properties": {"a": TRUTH}, "maxProperties": 3},
    {"oneOf": [{**OBJECT, "maxProperties": 1}, {**OBJECT, "required": ["a"]}]},
    {**OBJECT, "additionalProperties": {**OBJECT, "minProperties": 2}},
]  # fmt: skip
SCHEMAS = [*ARRAYS, *OBJECTS]
BYTES = cfgguide.Vocabulary.of_bytes(
    [
        *(b"[{", b"},{", b'{"a"', b'{"a":true}', b',{"a":true}', b'":', b"true", b"null", b"1.0"),
        *(b"1,1", b"[],[]", b"],[", b".0", b"0e", b"{},{}", b'"a"', b'","', b'"b":', b"}]", b"[["),
        *(b"tr", b"ue}", b'e},{"a":', b'":true,"', b'"a":1,"a"', b"[1,2],[", b"\\u0061", b',{"'),
        *(b'["",', b'"a","a"', b'x",', b'xa"', b'", "', b'"],"a":["a","a'),
        *(b'{"a":true,', b"[true,", b'true,"a":', b"[1,", b'"a":true,', b'"",', b',"a",'),
        *(b"\\u00", b"a\\u0062", b'\\u0061"', b"\\ud83d", b"ab", b'b":', "😀a".encode()),
        *(b", ", b'":0,"x', b'"x"', b'",""', b'","a"', b'"a":{"a":"', b'a"', b'"}}', b'"},{"a":"'),
    ]
)
VALUES: list[Any] = [
    *(True, False, None, 0, 1, 1.5, "a", "x", {}, {"a": True}, {"a": False}, {"b": True}, []),
    *({"a": True, "b": False}, {"b": False, "a": True}, [1], [True], [True, False], [[]]),
    *({"x": 1}, {"xx": 2, "x": True, "a": False}, {"a": True, "c": True}, {"b": {"a": 1, "b": 2}}),
]


def spelled_by_bytes(
    recognizer: ByteMachine, configuration: Any, vocabulary: cfgguide.Vocabulary = BYTES
) -> set[int]:
    """The tokens whose bytes may come one after another."""
    found = set()
    for token_id, token in enumerate(vocabulary.tokens):
        after = configuration
        for byte in token or b"":
            after = after and recognizer.advance(after, bytes([byte]))
        if token and after and recognizer.is_live(after):
            found.add(token_id)
    ends = recognizer.is_sentence(configuration)
    return found | (set(vocabulary.eos_token_ids) if ends else set())


def compare_masks(
    schema: Any, seed: int, n_tokens: int = 25, vocabulary: cfgguide.Vocabulary = BYTES
) -> None:
    """Walk at random; compare all masks on the way, and all sentences with the judge."""
    rng = random.Random(seed)
    guide = cfgguide.Guide(cfgguide.compile(json_schema(schema), vocabulary))
    recognizer = ByteMachine(json_schema(schema).automaton())
    configuration: Any = recognizer.initial
    closing = {b"]", b"}", b'"', b",", b"true", b"1", b"{", b"[", b'"a"', b":", None}
    closing |= {b'{"a":1}', b'{"a":', b", ", b"0"}
    for _ in range(n_tokens):
        allowed = guide.allowed_token_ids().tolist()
        assert set(allowed) == spelled_by_bytes(recognizer, configuration, vocabulary), guide.text
        assert allowed, guide.text
        likely = [each for each in allowed if vocabulary.tokens[each] in closing]
        guide.advance(rng.choice(likely if likely and rng.random() < 0.7 else allowed))
        if guide.is_finished:
            return
        configuration = recognizer.advance(recognizer.initial, guide.text)
        if recognizer.is_sentence(configuration) and not has_repeated_names(guide.text.decode()):
            assert is_valid(schema, guide.text.decode()), guide.text


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
def test_masks_are_what_single_bytes_allow(schema: Any) -> None:
    for seed in range(3):
        compare_masks(schema, seed)


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
def test_masks_are_what_single_bytes_allow_many_times(schema: Any) -> None:
    for seed in range(3, 30):
        compare_masks(schema, seed)


@pytest.mark.parametrize("value", VALUES, ids=json.dumps)
def test_a_text_may_become_what_it_begins(value: Any) -> None:
    others = [each for each in VALUES if value_of(dumped(each)) != value_of(dumped(value))]
    for text in (dumped(value), json.dumps(value, indent=1).encode()):
        for n in range(1, len(text)):
            begun = BegunValue(text[:n])
            assert begun.may_become(value_of(dumped(value))), text[:n]
            for other in others:
                if dumped(other).startswith(text[:n]):
                    assert begun.may_become(value_of(dumped(other))), (text[:n], other)


@pytest.mark.parametrize(
    ("begun", "value"),
    [
        (b'"a', "x"), (b'"a', {"a": 1}), (b"[1,", [1]), (b"[1, ", [1]),
        (b'{"a":1', {"b": 1}), (b'{"a":1,"b":', {"a": 2, "b": 1}), (b'{"a":1,"x', {"a": 1, "b": 2}),
        (b"tr", False), (b"n", True), (b"[", {}), (b'{"a":[1,2],', {"a": [1, 3], "b": 1}),
        (b'{"a":"x', {"a": "y"}), (b"[[]", [1]), (b"1", "1"),
    ],
)  # fmt: skip
def test_a_text_may_not_become_what_it_does_not_begin(begun: bytes, value: Any) -> None:
    assert not BegunValue(begun).may_become(value_of(dumped(value)))


def dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


#: Tokens that end, write and begin several scalars at once, some of them in other spellings.
SPELLED = cfgguide.Vocabulary.of_bytes(
    [
        *(b'"a"', b'","', b'"a","b"', b"ab", b"1,", b"2,1", b"0,0", b"1,2,3", b", ", b"],", b"] "),
        *(b"true", b"tr", b"ue", b"nu", b",null", b",true,", b"true,false", b'a"', b'b", "'),
        *(b'","a', b'","c"', b'"bl', b'ue"', b'ack"', b"blue", b".0", b"1.0", b"1.50", b"e1"),
        *(b"10", b"50", b"0]", b"1]", b'"]', b'","]', b'", "', b"  ,  ", b"[1", b'""', b'"",""'),
        *(b"e0", b"E-1", b',""', b" 1 ", b"1 ", b"2 ,", b"\\u", b"\\n", b"\\u0061", b"\xed\xa0"),
        *(b"ud83d", b"\\ude00", b"},{", b'{"a":1}', b'{"a":1},', b'{"a":', b'"a":', b"1}", b"a"),
        *(b'","', b"1"),
    ]
)  # fmt: skip
WORDS = ["blue", "black", "blu", "b", "", "é", "a\\b", 1, 2, 12, 1.5, True, None]
SCALARS: list[Any] = [
    *({"type": "number"}, {"type": "integer"}, {"type": "number", "minimum": 0.5}, {"enum": WORDS}),
    *({"type": "integer", "minimum": -1, "maximum": most} for most in (3, 120)),
    *({"type": "number", "minimum": 0, "multipleOf": each} for each in (0.5, 2)),
    *({"type": ["integer", each, "null"], "maxLength": 1} for each in ("string", "boolean")),
    *({"enum": WORDS[:n]} for n in (4, 7)),
    *({"enum": [0, 1, 12, 100, 120, -1]}, {"type": "string", "pattern": "^.?$"}),
    *(
        {"type": "string", "pattern": each}
        for each in ("^[ab]{1,2}$", r"^\S*$", "^(a|b)(-[a-z]+)*$")
    ),
]


@pytest.mark.parametrize("n_outside", range(3))
@pytest.mark.parametrize("items", [*SCALARS, {}, OBJECT, {"properties": {"a": {"type": "number"}}}])
def test_scalars_are_refused_that_have_come_in_any_spelling(items: Any, n_outside: int) -> None:
    schema = {**UNIQUE, "items": items}
    if n_outside:
        schema = {
            **UNIQUE,
            "items": [schema, {**OBJECT, "additionalProperties": items}][n_outside - 1],
        }
    for seed in range(4):
        compare_masks(schema, seed, vocabulary=SPELLED)


@pytest.mark.parametrize(
    ("items", "text"),
    [
        *((OBJECT, text) for text in ('[{"a":1},{"a":1', '[{"b":[{}],"a":1},{"a":1,"b":[{}')),
        ({"properties": {"a": {"type": "number"}}}, '[{"a":1},{}, {"a" :1.0'),
        *(({"type": "number"}, text) for text in ("[10,1e+", "[10,1e+1", "[0,-", "[1.50,1.5")),
        *(({}, text) for text in ('["",1', "[true,1.0", '[{"":1},{"":1', "[[1,2],[1,2", '[{},"a"')),
    ],
)
def test_what_ends_a_part_that_has_come_is_refused(items: Any, text: str) -> None:
    grammar = json_schema({**UNIQUE, "items": items})
    guide = cfgguide.Guide(cfgguide.compile(grammar, SPELLED))
    for byte in text.encode():
        guide.advance(SPELLED.tokens.index(bytes([byte])))
    recognizer = ByteMachine(grammar.automaton())
    configuration = recognizer.advance(recognizer.initial, text.encode())
    allowed = set(guide.allowed_token_ids().tolist())
    assert allowed == spelled_by_bytes(recognizer, configuration, SPELLED)


FEW: list[dict[str, Any]] = [
    {**UNIQUE, "items": {**CLOSED, "required": ["a"]}, "minItems": 2},
    {**UNIQUE, "items": {"type": "array", "items": TRUTH, "maxItems": 1}, "minItems": 2},
    {**UNIQUE, "items": {**UNIQUE, "items": TRUTH, "minItems": 2}},
    {**OBJECT, "minProperties": 3, "maxProperties": 3, "patternProperties": {"^[abx]$": TRUTH},
     "additionalProperties": False},
]  # fmt: skip


@pytest.mark.parametrize("schema", FEW, ids=json.dumps)
def test_masks_do_not_depend_on_how_many_steps_a_count_has(
    schema: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where values are not counted to the end, an ending is looked for, however long that takes."""
    rng = random.Random(1)
    guides = []
    for _ in range(2):
        guides.append(cfgguide.Guide(cfgguide.compile(json_schema(schema), BYTES)))
        monkeypatch.setattr(completions, "_MAX_STEPS", 0)
    for _ in range(30):
        monkeypatch.undo()
        allowed = guides[0].allowed_token_ids().tolist()
        monkeypatch.setattr(completions, "_MAX_STEPS", 0)
        assert guides[1].allowed_token_ids().tolist() == allowed, guides[0].text
        token = rng.choice(allowed)
        for guide in guides:
            guide.advance(token)
        if guides[0].is_finished:
            break


def test_arrays_are_written_where_counting_does_not_tell_of_enough_items(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of two names with two values each there are nine objects, found however long it takes."""
    names = {"patternProperties": {"^[ab]$": TRUTH}, "additionalProperties": False}
    grammar = json_schema({**UNIQUE, "items": {**OBJECT, **names}, "minItems": 5})
    monkeypatch.setattr(completions, "_MAX_STEPS", 0)
    automaton = completions.new_automaton(grammar.root, JsonLayout(), is_ordered=False)
    assert automaton.has_sentence


@pytest.mark.parametrize(
    "items", [{"type": "string"}, {"pattern": "^a", "type": ["string", "null"]}]
)
@pytest.mark.parametrize("text", ['[["a"],[', '[["a"],["a', '[["a"],["a"', '[["a","aa"],["a",'])
def test_masks_where_different_items_have_different_items(text: str, items: Any) -> None:
    schema = {**UNIQUE, "items": {**UNIQUE, "items": items}}
    guide = cfgguide.Guide(cfgguide.compile(json_schema(schema), SMALL))
    recognizer = ByteMachine(json_schema(schema).automaton())
    for byte in text.encode():
        guide.advance(SMALL.tokens.index(bytes([byte])))
    configuration = recognizer.advance(recognizer.initial, text.encode())
    allowed = set(guide.allowed_token_ids().tolist())
    assert allowed == spelled_by_bytes(recognizer, configuration, SMALL)


@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
def test_values_are_read_that_jsonschema_allows(schema: Any) -> None:
    rng = random.Random(1)
    recognizer = ByteMachine(json_schema(schema).automaton())
    values = [[rng.choice(VALUES) for _ in range(rng.randrange(5))] for _ in range(100)]
    for value in [*values, *VALUES, *({"a": each} for each in values)]:
        text = json.dumps(value)
        assert reads(recognizer, text) == is_valid(schema, text), text


@pytest.mark.few(10)
@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
def test_budgets_are_kept(schema: Any) -> None:
    index = cfgguide.compile(json_schema(schema), SMALL)
    for seed in range(2):
        walk(index, schema, random.Random(seed))


def test_a_budget_allows_every_beginning_that_fits_where_nothing_has_come() -> None:
    """What has begun differs from token to token, but nothing can refuse it yet.

    As one token stands for others, each byte of the ending counts as a token.
    """
    words = [b"[-", b"[f", b"[1", b'["a']
    vocabulary = cfgguide.Vocabulary.of_bytes(words)
    guide = cfgguide.Guide(cfgguide.compile(json_schema({"uniqueItems": True}), vocabulary))
    fewest = {b"[-": 4, b"[f": 7, b"[1": 3, b'["a': 4}  # `[-`, `0`, `]`, EOS
    for n in range(3, 9):
        allowed = set(guide.allowed_within(n).tolist())
        found = {word for word in fewest if vocabulary.tokens.index(word) in allowed}
        assert found == {word for word, least in fewest.items() if least <= n}, n


#: Of a schema, a text that may come and one more byte that may not: nothing would be left.
DEAD_ENDS: list[tuple[Any, str, str]] = [
    (UNIQUE, "[1,1.0", ","),
    (UNIQUE, "[0,0", "e"),  # all that begins so is 0
    (UNIQUE, '[{"a":1,"b":[]},{"b":[],"\\u0061":1', "}"),
    (UNIQUE, '[{"a":1', ',"a"'),  # names come once there
    ({**UNIQUE, "items": {**CLOSED, "required": ["a"]}}, '[{"a":true},{"a":', "t"),
    ({**UNIQUE, "items": {**CLOSED, "required": ["a"]}}, '[{"a":true},{"a":false}', ","),
    ({**UNIQUE, "items": {"type": ["integer", "null", "array"], "maxItems": 0}}, "[1,1", "."),
    (OBJECTS[4], '{"a":true,"', "a"),  # the other name has to come
    ({**OBJECT, "minProperties": 2}, '{"a":1,"a', '"'),
]


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(4))
def test_an_ending_of_a_string_whose_beginning_is_not_known(seed: int) -> None:
    """Tokens that begin and end several strings: after a walk, which one stands open is unknown."""
    tokens = [b'", "a', b'""', b'a","', b'a"']
    vocabulary = cfgguide.Vocabulary.of_bytes(tokens)
    index = cfgguide.compile(json_schema({**UNIQUE, "items": {"type": "string"}}), vocabulary)
    rng = random.Random(seed)
    for _ in range(15):
        guide = cfgguide.Guide(index)
        for left in range(40, 0, -1):
            guide.advance(int(rng.choice(guide.allowed_within(left).tolist())))
            if guide.is_finished:
                break
        items = json.loads(guide.text)
        assert guide.is_finished
        assert len(set(items)) == len(items)


@pytest.mark.parametrize("items", [{}, {"pattern": "^[ax]+$"}, {"maxLength": 30}, {"minLength": 1}])
def test_strings_that_come_twice_are_refused_in_every_tokenisation(items: Any) -> None:
    cases = {
        b'["ax","a': (b'x"', b'x","a"', b'\\u0078"', b'x"]'),
        b'["a","xa': (b'","a"', b'","xa"', b'","a"]'),
        b'["': (b'a","a"', b'a","x","a"', b'xa", "xa"'),
        b'["a",': (b'"a"', b'"x","a"'),
    }
    others = [b'a"', b'a","x"', b'a","a', b'xx"]']
    vocabulary = cfgguide.Vocabulary.of_bytes([*{t for c in cases.values() for t in c}, *others])
    index = cfgguide.compile(
        json_schema({**UNIQUE, "items": {"type": "string", **items}}), vocabulary
    )
    for text, refused in cases.items():
        guide = cfgguide.Guide(index)
        for byte in text:
            guide.advance(vocabulary.tokens.index(bytes([byte])))
        allowed = {vocabulary.tokens[each] for each in guide.allowed_token_ids().tolist()}
        assert allowed.isdisjoint(refused)
        if text == b'["':
            assert allowed.issuperset(others)


def test_a_token_after_which_no_other_item_is_left_is_refused() -> None:
    empty = {"type": "string", "maxLength": 0}
    vocabulary = cfgguide.Vocabulary.of_bytes([b'["",', b'"",', b'[""', b'""'])
    guide = cfgguide.Guide(cfgguide.compile(json_schema({**UNIQUE, "items": empty}), vocabulary))
    for begun, allowed, refused in ((b"[", b'[""', b'["",'), (b'"', b'""', b'"",')):
        tokens = [vocabulary.tokens[each] for each in guide.allowed_token_ids().tolist()]
        assert allowed in tokens
        assert refused not in tokens
        guide.advance(vocabulary.tokens.index(begun))


@pytest.mark.parametrize(("schema", "text", "more"), DEAD_ENDS)
def test_what_leaves_nothing_is_refused(schema: Any, text: str, more: str) -> None:
    recognizer = ByteMachine(json_schema(schema).automaton())
    configuration = recognizer.advance(recognizer.initial, text.encode())
    assert configuration is not None
    after = recognizer.advance(configuration, more.encode())
    assert after is None or not recognizer.is_live(after)


#: Arrays of more different items than there are.
TOO_MANY = [
    {**UNIQUE, "minItems": 3, "items": {"type": "array", "maxItems": 1, "items": {"type": "null"}}},
    {**UNIQUE, "minItems": 5, "items": {"type": "integer", "minimum": 0, "maximum": 1}},
    {**UNIQUE, "minItems": 2, "items": {"type": "string", "maxLength": 0}},
]


@pytest.mark.parametrize("none", TOO_MANY)
@pytest.mark.parametrize(
    "kind",
    ["contains", "contains beside items", "contains beside more", "an item beside contains"],
)
def test_an_array_is_not_begun_that_needs_more_different_items_than_there_are(
    none: Any, kind: str
) -> None:
    array = {
        "contains": {"contains": none},
        "contains beside items": {"items": {"type": ["array", "null"]}, "contains": none},
        "contains beside more": {"items": {"unevaluatedItems": {}}, "contains": none},
        "an item beside contains": {"prefixItems": [none], "contains": {"const": 1}},
    }[kind]
    schema = {"anyOf": [{"type": "array", **array}, {"type": "null"}]}
    guide = cfgguide.Guide(cfgguide.compile(json_schema(schema), SMALL))
    allowed = {SMALL.tokens[each] for each in guide.allowed_token_ids()}
    assert b"n" in allowed
    assert b"[" not in allowed
    with pytest.raises(SchemaError, match="no value is allowed"):
        json_schema({"type": "array", **array})


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"not": UNIQUE}, "at /not/uniqueItems: values cannot be told apart where it may fail"),
        ({**UNIQUE, "contains": {"const": 1}, "minContains": 2}, "at /uniqueItems: items that"),
        ({**UNIQUE, "items": {**CLOSED, "required": ["a"]}, "minItems": 3}, "no value is allowed"),
    ],
)
def test_what_cannot_be_known_is_refused(schema: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        json_schema(schema)


@pytest.mark.parametrize(
    ("schema", "begun"),
    [
        ({"uniqueItems": True}, "["),
        ({"uniqueItems": True, "contains": {"maxProperties": 20}, "maxContains": 1}, "["),
        ({**UNIQUE, "items": {}}, '[[{"a": 1}'),
    ],
)
def test_texts_are_nested_as_deeply_as_one_likes(schema: Any, begun: str) -> None:
    """More levels than Python's functions may call each other."""
    vocabulary = cfgguide.Vocabulary.of_bytes()
    guide = cfgguide.Guide(cfgguide.compile(json_schema(schema), vocabulary, use_cache=False))
    n = 1_500
    for byte in f"{begun}{',' * begun.endswith('}')}{'[' * n}".encode():
        guide.advance(byte)
    assert ord("]") in guide.allowed_token_ids()
    for token_id in guide.shortest_completion():
        guide.advance(token_id)
    assert guide.is_finished
    assert guide.text.endswith(b"]" * n)


def test_deeply_nested_values_are_compared() -> None:
    vocabulary = cfgguide.Vocabulary.of_bytes()
    index = cfgguide.compile(json_schema({**UNIQUE, "items": {}}), vocabulary, use_cache=False)
    values = [
        '{"a": [%s1, "\\u0061"%s], "b": 2}',
        '{"b":2.0,"a":[%s1.0,"a"%s]}',
        '{"a": [%s1, "b"%s], "b": 2}',
        '{"a": [%s"1", "a"%s], "b": 2}',
        '{"b": [%s1, "a"%s], "a": 2}',
        '{"a": [%s{"1": "a"}%s], "b": 2}',
    ]
    first, same, *others = [each % ("[" * 60, "]" * 60) for each in values]
    machine = index.machine
    for other in (same, first, *others):
        text = f"[{first},{other}"
        after = machine.advance(machine.initial, text.encode())
        is_live = after is not None and machine.is_live(after)
        assert is_live == (json.loads(first) != json.loads(other)), other


WORDS = [f"w{number}" for number in range(30)]


def words(most: int) -> dict[str, Any]:
    return {"type": "array", "uniqueItems": True, "items": {"enum": WORDS}, "maxItems": most}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"a": WORDS[:29], "b": WORDS[:2]}, True),
        ({"a": WORDS[:2], "b": WORDS[:29]}, True),
        ({"a": WORDS[:3], "b": WORDS[:3]}, False),
        ({"a": WORDS[:29], "b": ["w1", "w1"]}, False),
        ({"a": WORDS}, False),
    ],
)
def test_arrays_that_branches_bound_differently_are_counted(values: Any, expected: bool) -> None:
    branches = [{"a": words(29), "b": words(2)}, {"a": words(2), "b": words(29)}]
    schema = {"anyOf": [{"properties": each} for each in branches]}
    text = json.dumps(values)
    assert is_valid(schema, text) == expected, "so says jsonschema"
    assert reads(ByteMachine(json_schema(schema).automaton()), text) == expected


#: Values that nearly all arrays are made of which a schema of few values allows.
_FEW_VALUES = (0, 1, 2, True, None, "", "a", "b")


@pytest.mark.parametrize("seed", range(16))
def test_an_array_is_refused_if_no_array_of_so_many_different_items_is_valid(seed: int) -> None:
    rng = random.Random(seed)
    items: list[Any] = [
        {"type": "integer", "minimum": 0, "maximum": rng.randrange(3)},
        {"type": "string", "pattern": "^[ab]?$", "maxLength": rng.randrange(2)},
        {"type": "string", "maxLength": 0},
        {"enum": rng.sample(_FEW_VALUES, 3)},
        {"type": rng.sample(["boolean", "null"], rng.choice((1, 2)))},
    ]
    least = rng.randrange(1, 4)
    some = {"anyOf": rng.sample(items, rng.randrange(1, 3))}
    schema = {**UNIQUE, "items": some, "minItems": least, "maxItems": least}
    values = [*_FEW_VALUES, False]
    arrays = map(json.dumps, itertools.permutations(values, least))
    valid = {text for text in arrays if is_valid(schema, text)}
    for around in (schema, {"anyOf": [schema, {"not": {}, "type": "string"}]}):
        try:
            recognizer = ByteMachine(json_schema(around).automaton())
        except SchemaError:
            assert not valid, around
            continue
        assert valid, around
        assert all(reads(recognizer, text) for text in valid), around


@pytest.mark.parametrize(
    "condition",
    [{"pattern": "^a{0,2}$"}, {"pattern": "^a*$", "maxLength": 2}],
    ids=str,
)
def test_strings_that_share_masks_for_their_lengths_are_no_more_than_they_are(condition) -> None:
    schema = {"uniqueItems": True, "type": "array", "items": {"type": "string", **condition}}
    vocabulary = cfgguide.Vocabulary.of_bytes()
    guide = cfgguide.Guide(cfgguide.compile(json_schema(schema), vocabulary))
    for byte in b'["a","","aa"':
        guide.advance(byte)
    allowed = {vocabulary.tokens[token_id] for token_id in guide.allowed_token_ids().tolist()}
    assert allowed - {b" ", b"\t", b"\n", b"\r"} == {b"]"}


#: Empty parts, behind which more white space may stand than before others.
EMPTY = [
    {"items": {"type": "array", "maxItems": 2, "items": {"enum": [1, 2]}}, "maxItems": 3},
    {"items": {"properties": {"a": {"enum": [1]}}, "additionalProperties": False}},
    {"items": {"type": ["array", "object"], "maxItems": 0, "maxProperties": 0}, "minItems": 2},
    {"items": {"items": {"type": "array", "maxItems": 1, "items": {"const": 0}}, "maxItems": 2}},
    {"items": {"type": ["array", "string"], "items": {"type": "string", "pattern": "^a?$"}}},
]
BLANKS = [*(bytes([byte]) for byte in range(256)), b"  ", b"   ", b"[ ", b"[  ", b", [ ", b"{  "]
BLANKS += [b"[]", b"{}", b"},{ ", b"},{  ", b"], [  ", b" ]", b"[[  ", b", []"]


@pytest.mark.parametrize("space", [1, 2, None])
@pytest.mark.parametrize("keywords", EMPTY)
def test_white_space_that_leads_only_to_a_part_that_has_come_is_refused(keywords, space):
    vocabulary = cfgguide.Vocabulary([*BLANKS, None], eos_token_ids=len(BLANKS))
    rng = random.Random(f"{keywords} {space}")
    items = {"type": "object", **keywords["items"]}
    items = items if "properties" in items else {"type": "array", **keywords["items"]}
    schema = {"type": "array", "uniqueItems": True, **keywords, "items": items}
    index = cfgguide.compile(json_schema(schema, max_whitespace=space), vocabulary)
    for _ in range(4):
        configuration = index.machine.initial
        for _ in range(14):
            after = [index.machine.advance(configuration, token) for token in BLANKS]
            expected = [number for number, each in enumerate(after) if each is not None]
            allowed = index.subset(configuration).token_ids().tolist()
            assert [each for each in allowed if each < len(BLANKS)] == expected
            chosen = [each for each in expected if each > 255 or BLANKS[each] in b" [],{}"]
            if not chosen:
                break
            configuration = after[rng.choice(chosen)]


def test_names_of_what_may_come_leave_out_what_has_come() -> None:
    grammar = json_schema({"items": {"type": ["boolean", "null"]}, "uniqueItems": True})
    expected = {text: cfgguide.check(grammar, text).expected for text in ("[true,", "[true,null,")}
    assert expected == {"[true,": ("FALSE", "NULL"), "[true,null,": ("FALSE",)}
