"""Masks with parts that all schemas share are those of a walk that visits every token."""

from __future__ import annotations

import itertools
import json
import random
from functools import cache
from typing import Any

import numpy as np
import pytest
from support.schema_cases import CASES, big_vocabulary

import cfgguide
from cfgguide import json_schema
from cfgguide.engine.byte_machine.byte_machine import ByteMachine
from cfgguide.engine.byte_machine.byte_walk import WalkMemory
from cfgguide.engine.byte_machine.byte_walker import ByteWalker

_LETTERS = (b"a", b"b", b'"', b":", b",", b"}", b"1", b"\\", b"\xc3", b"\xa9")


@cache
def dense_vocabulary() -> cfgguide.Vocabulary:
    """Return all tokens of up to four letters: below each first one, hundreds of others."""
    tokens = [b"".join(each) for n in range(1, 5) for each in itertools.product(_LETTERS, repeat=n)]
    others = [bytes([byte]) for byte in range(256) if bytes([byte]) not in _LETTERS]
    return cfgguide.Vocabulary([*tokens, *others, None], eos_token_ids=len(tokens) + len(others))


@cache
def plain_vocabulary() -> cfgguide.Vocabulary:
    """Return texts of up to five plain characters: most of the trie is taken whole."""
    texts = ["".join(each) for n in range(1, 6) for each in itertools.product("ab:é", repeat=n)]
    tokens = [*map(str.encode, texts), b'a"', b'"a', b"aa\xc3", b"\xa9b"]
    others = [bytes([byte]) for byte in range(256) if bytes([byte]) not in tokens]
    return cfgguide.Vocabulary([*tokens, *others, None], eos_token_ids=len(tokens) + len(others))


#: Schemas with strings and names near their bounds, and texts that come there.
NEAR: list[tuple[Any, list[str]]] = [
    ({"type": "string", "maxLength": 3}, ['"ab', '"é\\u00e', '"aa\\"b"', '"\\ud83d\\ude00a"']),
    ({"type": "string", "minLength": 3}, ['"', '"a\\n', '"éé', '"abéa"']),
    ({"type": "string", "minLength": 2, "maxLength": 2}, ['"é', '"ab"', '"\\u0061b"']),
    ({"items": {"type": "string", "minLength": 4, "maxLength": 6}}, ['["aaa', '["aaaaa", "ab']),
    (
        {"type": "object", "additionalProperties": {"maxLength": 2, "minLength": 1}},
        ['{"a": "b', '{"a":"é","b":"ab"}'],
    ),
    (
        {"properties": {"a": {"maxLength": 5}, "ab": {"const": 1}, 'a"b': {}, "éa": {}}},
        ['{"a": "abaa', '{"ab":1,"aba":"b', '{"a\\"b', '{"é', '{"éa":{"a'],
    ),
    (
        {
            "properties": {"a": {}, "ab": {}, "abab": {}, "b": {}},
            "required": ["abab"],
            "additionalProperties": False,
        },
        ['{"a":1,"ab', '{"ab":1,"abab":"a"}', '{"b":1,"'],
    ),
    (
        {"properties": {"a": {}, "aa": {}, "b": {}}, "maxProperties": 2},
        ['{"a": 1, "b": 1}', '{"aa":1,"bb":1'],
    ),
    ({"properties": {"a": False, "b": {"const": 1}}}, ['{"', '{"b":1,"aa":1,"b', '{"ab":1}']),
    (
        {"dependentRequired": {"a": ["b"]}, "propertyNames": {"maxLength": 3}},
        ['{"a":1,"ab', '{"a":"a","b":"b"}'],
    ),
    (
        {
            "properties": {"a": {}, "ab": {}, "b": {}},
            "patternProperties": {"^s": {"maxLength": 1}},
            "anyOf": [
                {"maxProperties": 1},
                {"required": ["a"], "patternProperties": {"^[^a]": False}},
            ],
        },
        ['{"a":1,"ab', '{"sa":"a","', '{"ab":1,"a'],
    ),
]
#: Names that patterns tell apart, with places where some of them are possible no more.
NAMES: list[tuple[Any, list[str]]] = [
    ({"patternProperties": {"^a": {"const": 1}, "b$": False}}, ['{"', '{"aa', '{"ba', '{"ab:']),
    ({"propertyNames": {"pattern": "^[ab:]+$"}}, ['{"', '{"ab', '{"b":1,"a']),
    ({"propertyNames": {"pattern": "^a[^b]*$", "maxLength": 4}}, ['{"', '{"a:', '{"aaé']),
    ({"patternProperties": {"^:|b.": {}}, "additionalProperties": False}, ['{"', '{"a', '{"ab:']),
    (
        {
            "patternProperties": {"^a": {}, "^b": {}},
            "anyOf": [{"maxProperties": 1}, {"required": ["b"]}],
        },
        ['{"a', '{"aa":1,"', '{"aa":1,"b', '{"b":1,"a'],
    ),
    (
        {"properties": {"ab": {}}, "patternProperties": {"^[ab]+$": {}}, "maxProperties": 2}
        | {"additionalProperties": False, "required": ["ab"]},
        ['{"', '{"a', '{"b":1,"', '{"b":1,"a'],
    ),
]
#: Patterns with states after which any characters of some kinds may follow, and few may.
STAYING: list[tuple[Any, list[str]]] = [
    ({"type": "string", **keywords}, texts)
    for keywords, texts in (
        ({"pattern": "^[ab]+$"}, ['"ab', '"b"']),
        ({"pattern": "^[^1]{0,6}$"}, ['"', '"é:a', '"aaaaaa"']),
        ({"pattern": "^a(b{2}|:){1,3}"}, ['"a:b', '"abb:"', '"a::é']),
        ({"pattern": "^[ab]*[^b]$", "maxLength": 5}, ['"', '"ab', '"abab', '"abaé"']),
        ({"pattern": "^\\S+$", "minLength": 3, "maxLength": 7}, ['"a,', '"é:{', '"aaaaaa']),
        ({"pattern": "^(?!.*aa)[ab:]*$"}, ['"ab', '"a:b"']),
        ({"pattern": "^[é一-龥]{1,3}$"}, ['"', '"é', '"éé"']),
        ({"pattern": "^[ab:][ab]*$", "maxLength": 4}, ['"', '":a', '"ab']),
        ({"pattern": "^[^é]{2,4}é?$"}, ['"', '"a', '"ab:']),
        ({"maxLength": 4}, ['"', '"ab', '"abé']),
        ({"maxLength": 40}, ['""', '"ab:é"', json.dumps("a:" * 20)]),
        ({"pattern": "^[ab]{0,40}$"}, ['""', '"ab', json.dumps("ab" * 20)]),
        ({"pattern": "^:?[ab]{3,}$", "maxLength": 40}, ['":a', '"ab', json.dumps(":" + "a" * 39)]),
        ({"pattern": "^[ab:]+$", "minLength": 2, "maxLength": 5}, ['"', '"a:', '"ab:ab"']),
        ({"pattern": "^[^:]{2,5}$"}, ['"', '"a', '"aéa', '"abab"']),
    )
]
STAYING += NAMES
NEAR += STAYING
NEAR += [(schema, [json.dumps(value) for value in values]) for schema, values in CASES.values()]


def token_ids_of(bitmask: Any, vocabulary: cfgguide.Vocabulary) -> list[int]:
    bits = np.unpackbits(bitmask.view(np.uint8), bitorder="little")[: vocabulary.size]
    return [int(each) for each in np.flatnonzero(bits)]


def compare(schema: Any, texts: list[str], vocabulary: cfgguide.Vocabulary, seed: object) -> None:
    """Compare masks after each byte of some texts, and of random walks from there.

    A mask depends on no more of the stack than is said: stacks with the same top have the same.
    """
    pushdown: Any = json_schema(schema).automaton()
    recognizer = ByteMachine(pushdown)
    shared, visiting = ByteWalker(recognizer, vocabulary), ByteWalker(recognizer, vocabulary)
    rng = random.Random(f"{seed}")
    seen: dict[tuple[int, tuple[int, ...]], list[int]] = {}

    def checked(configuration: Any) -> list[int]:
        state, stack = configuration[:2]
        subset, depth = shared.subset(state, stack, None)
        found = token_ids_of(subset.bitmask, vocabulary)
        visiting.walk(configuration)
        plain = np.zeros(vocabulary.n_words, dtype=np.int32)
        visiting.fill(plain)
        visited = token_ids_of(plain, vocabulary)
        difference = [vocabulary.tokens[each] for each in sorted({*visited} ^ {*found})]
        assert difference == [], (schema, state)
        top = tuple(itertools.islice(stack, depth))
        assert seen.setdefault((state, top), found) == found, "it depends on more of the stack"
        return found

    for text in texts:
        configuration = recognizer.initial
        allowed = checked(configuration)
        for byte in text.encode():
            after = recognizer.advance(configuration, bytes([byte]))
            if after is None or not recognizer.is_live(after):
                break
            configuration = after
            allowed = checked(configuration)
        for _ in range(3):
            if allowed:
                token = vocabulary.tokens[rng.choice(allowed)]
                configuration = recognizer.advance(configuration, token or b"")
                assert configuration is not None, token
                allowed = checked(configuration)


@pytest.mark.few(15)
@pytest.mark.parametrize("number", range(0, len(NEAR), 2))
def test_masks_are_those_of_a_walk_over_all_tokens(number: int) -> None:
    compare(*NEAR[number], dense_vocabulary(), number)


@pytest.mark.parametrize(("schema", "texts"), STAYING, ids=str)
def test_masks_of_which_most_is_taken_whole_are_those_of_a_walk(schema: Any, texts: Any) -> None:
    compare(schema, texts, plain_vocabulary(), 1)


#: Vocabularies that no model has, or hardly one: nothing is taken for granted of tokens.
UNUSUAL = {
    "no plain tokens": [b'"a', b'a"', b'":"', b"\\n", b"a\\", b'","b', b"\n\n", b'a"}', b"a\x00"],
    "bytes only": [],
    "long tokens": [
        *(byte * 1000 for byte in (b"a", b'"', b" ", b"1", b"{")),
        *(b"a" * 999 + b'"', b'":"' + b"a" * 997, b"\\n" * 500, b"\xc3\xa9" * 500),
    ],
    "no UTF-8": [
        *(b"a\xff", b"\xc0\x80", b"a\xed\xa0\x80", b"\xf5a", b"\x80a", b"a\xc3(", b"\xe2\x28\xa1"),
        *(b"a\xf4\x90", b'\xa9"', b"\xf0\x80\x80\x80", b"\xf0\x9f\x98"),
    ],
}
#: All of a kind but for one character, and characters of more than two bytes of UTF-16.
CLASSES = [f"^[^{each}]*$" for each in ("q", "5", "_", " ", "é", "一", "\U0001f600")]
CLASSES += [
    "^[\U0001f600-\U0001f64f]{1,3}$",
    "^[^\U00010000-\U0010ffff]+$",
    "^[\U00020000-\U0002fffd]*a?$",
]
SOME = [
    ({"type": "string"}, ['"a', '"\\u00']),
    ({"type": "string", "maxLength": 3}, ['"a', '"é\\']),
    ({"properties": {"a": {}, "aa": {"type": "number"}}}, ['{"a', '{"aa": 1']),
]


@pytest.mark.parametrize("name", UNUSUAL)
def test_any_tokens_are_those_of_a_walk(name: str) -> None:
    vocabulary = cfgguide.Vocabulary.of_bytes(UNUSUAL[name])
    for schema, texts in [*SOME, *STAYING[::4], NAMES[1]]:
        compare(schema, texts, vocabulary, name)


@cache
def spread_vocabulary() -> cfgguide.Vocabulary:
    """Return tokens of characters of all lengths, whole and cut."""
    texts = ["".join(each) for each in itertools.product("aq5_ é一𠀀😀😏", repeat=3)]
    cut = [text.encode()[:-1] for text in texts]
    return cfgguide.Vocabulary.of_bytes(dict.fromkeys([*map(str.encode, texts), *cut]))


@pytest.mark.parametrize("pattern", CLASSES)
def test_classes_that_are_nearly_kinds_are_those_of_a_walk(pattern: str) -> None:
    texts = ['"', '"a', '"😀', '"é']
    compare({"type": "string", "pattern": pattern}, texts, spread_vocabulary(), pattern)


@pytest.mark.slow
def test_half_a_million_tokens_are_those_of_a_walk() -> None:
    tokens = [b"%x" % number for number in range(0x10000, 0x10000 + 500_000)]
    vocabulary = cfgguide.Vocabulary.of_bytes([*tokens, b'a"', b'":', b'","'])
    for schema, texts in SOME:
        compare(schema, texts[:1], vocabulary, "many")


@cache
def word_vocabulary() -> cfgguide.Vocabulary:
    """Return words, white space and numbers, and the quotes that stand behind and before them."""
    kinds = (("ab", 9), ("\n ", 6), ("0123456789", 3), ("é一", 5))
    tokens = [
        "".join(each)
        for letters, longest in kinds
        for n in range(2, longest + 1)
        for each in itertools.product(letters, repeat=n)
    ]
    tokens += [before + text for before in ('"', '":"', '", "') for text in tokens[:500]]
    tokens += [text + after for after in ('"', '",', '":') for text in tokens[:20]]
    return cfgguide.Vocabulary.of_bytes(dict.fromkeys(map(str.encode, tokens)))


_OBJECT = {"properties": {"id": {"type": "integer"}, "name": {}, "names": {"type": "string"}}}
#: How many nodes of the trie a mask visits at most, where its rows are made.
VISITED: list[tuple[Any, str, int]] = [
    ({"type": "string"}, '"ab', 10),
    ({"type": "string", "maxLength": 5}, '"ab', 10),
    ({"type": "string", "pattern": "^[a-z]+$"}, '"ab', 400),
    ({"type": "string", "pattern": "^[^/]{0,200}$"}, '"ab', 400),
    (_OBJECT, "{", 300),
    (_OBJECT, '{"', 300),
    (_OBJECT, '{"na', 300),
    (_OBJECT, '{"name":', 400),
    (_OBJECT, '{"names": "a', 20),
    (_OBJECT, '{"id": 1', 300),
    (
        {"patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": False},
        '{"x-a',
        10,
    ),
    ({"propertyNames": {"pattern": "^[a-z_]+$"}}, '{"', 400),
]


@pytest.mark.parametrize(("schema", "text", "most"), VISITED, ids=str)
def test_few_nodes_are_visited(schema: Any, text: str, most: int, monkeypatch: Any) -> None:
    machine = ByteMachine(json_schema(schema).automaton())
    walker = ByteWalker(machine, word_vocabulary())
    visited: list[int] = []
    walk = WalkMemory.walk

    def counted(*args: Any, **options: Any) -> Any:
        found = walk(*args, **options)
        visited.append(found.n_visited if found is not None else 0)
        return found

    after = machine.read(machine.initial, text.encode())
    assert after is not None
    walker.subset(after.state, after.stack, None)
    monkeypatch.setattr(WalkMemory, "walk", counted)
    walker.subset(after.state, after.stack, None)
    assert sum(visited) <= most


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, len(NEAR), 2))
def test_other_masks_are_those_of_a_walk_over_all_tokens(number: int) -> None:
    compare(*NEAR[number], dense_vocabulary(), number)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(NEAR)))
def test_masks_of_a_large_vocabulary_are_those_of_a_walk(number: int) -> None:
    compare(*NEAR[number], big_vocabulary(), number)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(10))
def test_masks_with_shared_parts_are_those_of_the_text(number: int) -> None:
    """The masks that the text's automaton has, after each byte."""
    schema, texts = NEAR[number]
    vocabulary = dense_vocabulary()
    grammar = json_schema(schema)
    exact = cfgguide.compile(cfgguide.Grammar(grammar.text), vocabulary, use_cache=False)
    made = cfgguide.compile(grammar, vocabulary)
    for text in texts:
        guide, judge = cfgguide.Guide(made), cfgguide.Guide(exact)
        for byte in text.encode():
            found, judged = set(guide.allowed_token_ids()), set(judge.allowed_token_ids())
            assert [vocabulary.tokens[each] for each in sorted(found ^ judged)] == [], guide.text
            token_id = vocabulary.tokens.index(bytes([byte]))
            if token_id not in found:
                break
            guide.advance(token_id)
            judge.advance(token_id)
