"""The automaton of a schema: its masks are those of the grammar's text, and jsonschema agrees."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pytest
from fuzz.schemas import compare_with_jsonschema, draw, is_exact, reads, written
from support.schema_cases import CASES, OPTIONS, big_vocabulary, small_vocabulary, spelled
from support.schemas import is_valid, mutated

import cfgguide
from cfgguide import json_schema
from cfgguide.engine.byte_machine.byte_machine import ByteMachine
from cfgguide.errors import SchemaError

# Where names that are not listed are counted, texts of the grammar have some twice.
OTHERWISE = {"property names of enum", "most properties"}
JUDGED = [name for name in CASES if name not in OTHERWISE]
ROTATED = [(name, OPTIONS[number % len(OPTIONS)]) for number, name in enumerate(JUDGED)]
OTHERS = [(name, each) for name in JUDGED for each in OPTIONS if (name, each) not in ROTATED]

# -- the text's masks -----------------------------------------------------------------------


def assert_same_masks(
    made: cfgguide.Index, exact: cfgguide.Index, token_ids: list[int], what: object
) -> None:
    """Compare the masks before each token, as far as the tokens are allowed, and after the last."""
    guide, judge = cfgguide.Guide(made), cfgguide.Guide(exact)
    for token_id in [*token_ids, None]:
        allowed, judged = set(guide.allowed_token_ids()), set(judge.allowed_token_ids())
        difference = [made.vocabulary.tokens[each] for each in sorted(allowed ^ judged)]
        assert difference == [], (what, guide.text)
        if token_id not in allowed:
            return
        guide.advance(token_id)
        judge.advance(token_id)


def walked(index: cfgguide.Index, rng: random.Random, n_tokens: int) -> list[int]:
    """Return random tokens, each one of those that are allowed."""
    guide = cfgguide.Guide(index)
    found: list[int] = []
    while len(found) < n_tokens and not guide.is_finished:
        found.append(rng.choice(guide.allowed_token_ids().tolist()))
        guide.advance(found[-1])
    return found


def compare_masks(
    name: str, options: dict[str, Any], vocabulary: cfgguide.Vocabulary, n_walks: int
) -> None:
    schema, values = CASES[name]
    rng = random.Random(name)
    grammar = json_schema(schema, **options)
    made = cfgguide.compile(grammar, vocabulary)
    exact = cfgguide.compile(cfgguide.Grammar(grammar.text), vocabulary, use_cache=False)
    for value in values:
        separators = options.get("separators", (", ", ": "))
        text = json.dumps(value, ensure_ascii=rng.random() < 0.5, separators=separators)
        token_ids = spelled(text.encode(), vocabulary, rng)
        assert_same_masks(made, exact, token_ids, (schema, options))
    for number in range(n_walks):
        token_ids = walked((made, exact)[number % 2], rng, 25)
        assert_same_masks(made, exact, token_ids, (schema, options))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), ROTATED)
def test_masks_are_those_of_the_text(name: str, options: dict[str, Any]) -> None:
    compare_masks(name, options, small_vocabulary(), 2)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), OTHERS)
def test_masks_are_those_of_the_text_with_all_options(name: str, options: dict[str, Any]) -> None:
    compare_masks(name, options, small_vocabulary(), 8)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), ROTATED)
def test_masks_of_a_large_vocabulary_are_those_of_the_text(
    name: str, options: dict[str, Any]
) -> None:
    """Here subtrees of the vocabulary are large enough to take their masks from elsewhere."""
    compare_masks(name, options, big_vocabulary(), 4)


@pytest.mark.parametrize("order", ["any", "declared"])
def test_more_properties_than_a_text_has_in_any_order(order: str) -> None:
    """Counted by hand: which names may come depends on the order alone."""
    names = [f"p{number}" for number in range(70)]  # more than one machine word of them
    closed = {"type": "object", "additionalProperties": False, "required": [names[68]]}
    schema = {**closed, "properties": {name: {"type": "null"} for name in names}}
    recognizer = recognizer_of(schema, order=order)
    for chosen in ([3, 1, 68], [68], [68, 69, 0], [0, 1, 68, 69], [68, 68], [1, 2], [67, 69]):
        text = "{" + ", ".join(f'"{names[number]}": null' for number in chosen) + "}"
        is_right = 68 in chosen and len(set(chosen)) == len(chosen)
        if order == "declared":
            is_right = is_right and chosen == sorted(chosen)
        assert reads(recognizer, text) == is_right, chosen
        assert_live(recognizer, text)


@pytest.mark.parametrize("n", [1_000, 10**9])
def test_arrays_are_counted_as_far_as_need_be(n: int) -> None:
    recognizer = recognizer_of({"type": "array", "items": {"type": "null"}, "maxItems": n})
    assert reads(recognizer, json.dumps([None] * 1_000))
    assert reads(recognizer, json.dumps([None] * 1_001)) == (n > 1_000)


# -- jsonschema's verdicts ------------------------------------------------------------------


def recognizer_of(schema: Any, **options: Any) -> ByteMachine:
    return ByteMachine(json_schema(schema, **options).automaton())


def assert_live(recognizer: ByteMachine, text: str) -> None:
    """Check that a byte at least may follow each beginning that is not refused, or it may end."""
    after = recognizer.initial
    for byte in text.encode():
        found = recognizer.advance(after, bytes([byte]))
        if found is None or not recognizer.is_live(found):
            return
        after = found
        following = (recognizer.advance(after, bytes([each])) for each in range(256))
        is_live = any(each is not None and recognizer.is_live(each) for each in following)
        assert is_live or recognizer.is_sentence(after), text


@pytest.mark.few(12)
@pytest.mark.parametrize("seed", range(80))
def test_texts_of_random_schemas_are_what_jsonschema_allows(seed: int) -> None:
    compare_with_jsonschema(draw(seed), seed, Counter())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1600))
def test_texts_of_many_random_schemas_are_what_jsonschema_allows(seed: int) -> None:
    compare_with_jsonschema(draw(seed), seed, Counter())


@pytest.mark.few(10)
@pytest.mark.parametrize("name", CASES)
def test_texts_of_cases_are_what_jsonschema_allows(name: str) -> None:
    """Formats are not judged: the judge knows others."""
    schema, values = CASES[name]
    rng = random.Random(name)
    recognizer = recognizer_of(schema, formats=False)
    index = cfgguide.compile(json_schema(schema, formats=False), small_vocabulary())
    for _ in range(10):
        text = written(index, rng)
        assert text is None or is_valid(schema, text), text
    for value in values:
        for each in (value, *(mutated(rng, value) for _ in range(20))):
            for is_ascii in (False, True):
                text = json.dumps(each, ensure_ascii=is_ascii)
                assert not is_exact(text) or reads(recognizer, text) == is_valid(schema, text), text


@pytest.mark.few(20)
@pytest.mark.parametrize("seed", range(300))
def test_tokens_lead_where_their_bytes_do(seed: int) -> None:
    """Those of subtrees, too, that a walk takes whole."""
    schema, rng = draw(seed), random.Random(seed)
    try:
        index = cfgguide.compile(json_schema(schema), small_vocabulary())
    except SchemaError:
        return
    guide, walker, tokens = cfgguide.Guide(index), index.walker(), index.vocabulary.tokens
    for _ in range(20):
        configuration = guide.configuration
        outcomes = walker.walk_plainly(configuration)
        places, numbers = outcomes.places()
        token_ids = outcomes.trie.token_ids[places].tolist()
        for token_id, number in zip(token_ids, numbers.tolist(), strict=True):
            after = index.machine.advance(configuration, tokens[token_id])
            if after is not None and not after.memory.opens:
                assert after == outcomes.configuration(number), tokens[token_id]
        allowed = guide.allowed_token_ids().tolist()
        assert {*allowed} - {*index.vocabulary.eos_token_ids} <= {*token_ids}
        guide.advance(rng.choice(allowed))
        if guide.is_finished:
            return


# -- what went wrong once -------------------------------------------------------------------

_NOTHING_BEGINS_SO: Any = {"const": {"ab": 1}}


def test_a_name_that_is_not_listed_is_not_begun_where_none_may_come() -> None:
    recognizer = recognizer_of(_NOTHING_BEGINS_SO)
    index = cfgguide.compile(json_schema(_NOTHING_BEGINS_SO), small_vocabulary())
    guide = cfgguide.Guide(index)
    guide.advance(index.vocabulary.tokens.index(b"{"))
    allowed = {index.vocabulary.tokens[each] for each in guide.allowed_token_ids()}
    assert b'"ab' in allowed
    assert not allowed & {b'"x', b'"b"', b'"}', b'": '}
    assert_live(recognizer, '{"ab": 1}')


@pytest.mark.parametrize(
    ("text", "is_begun"),
    [
        ('{"a', True),
        ('{"ab": 1, "a', False),  # "ab" has come, and nothing else begins so
        ('{"ab": 1, "c', True),
        ('{"ab": 1, "cd": 1, "c', True),  # "c" matches, and is not listed
    ],
)
def test_a_name_is_begun_only_if_a_name_that_may_come_begins_so(text: str, is_begun: bool) -> None:
    recognizer = recognizer_of(
        {
            "type": "object",
            "properties": {"ab": {}, "cd": {}},
            "patternProperties": {"^(ab|cd?)$": {"const": 1}},
            "additionalProperties": False,
        }
    )
    found = recognizer.advance(recognizer.initial, text.encode())
    assert (found is not None and recognizer.is_live(found)) == is_begun


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["^x-", "^[^/]", "b", "^a.*$"])
def test_masks_where_the_rest_of_a_name_or_text_may_be_anything(pattern: str) -> None:
    schema = {
        "type": "object",
        "properties": {"xy": {"type": "string", "pattern": pattern}, "x-a": {"type": "null"}},
        "patternProperties": {pattern: {"type": ["string", "null"]}},
        "additionalProperties": {"type": "integer"},
    }
    grammar, rng = json_schema(schema), random.Random(pattern)
    made = cfgguide.compile(grammar, big_vocabulary())
    exact = cfgguide.compile(cfgguide.Grammar(grammar.text), big_vocabulary(), use_cache=False)
    for index in (made, exact, made, exact):
        assert_same_masks(made, exact, walked(index, rng, 25), schema)
    for text in ('{"xy": "abc", "x-b": "x", "ab', '{"xyz": 1, "x-', '{"axb/": "'):
        assert_same_masks(made, exact, spelled(text.encode(), big_vocabulary(), rng), schema)


@pytest.mark.parametrize(
    ("schema", "text", "is_right"),
    [
        # Names are unlike, but all of them are strings, of which nothing is asked.
        ({"propertyNames": {"multipleOf": 1}}, '{"a": 1, "b": 2}', True),
        # A pattern of names in a schema for arrays.
        (
            {
                "type": "object",
                "dependentSchemas": {"x": {"type": "array", "patternProperties": {"^x": {}}}},
                "unevaluatedProperties": {"const": 1},
            },
            '{"xy": 1}',
            True,
        ),
        # DEL need not be escaped, but json.dumps does so.
        ({"type": "string", "minLength": 1}, r'"\u007f"', True),
        ({"const": {"\x7f": 1}}, '{"\x7f": 1}', True),
        # An empty object may have white space after one mark, and before the other.
        ({"type": "object", "maxProperties": 0}, "{}", True),
    ],
)
def test_what_went_wrong_once(schema: Any, text: str, is_right: bool) -> None:
    assert is_valid(schema, text) == is_right
    assert reads(recognizer_of(schema), text) == is_right


def test_white_space_inside_what_is_empty_belongs_to_both_marks() -> None:
    for schema, text in (({"type": "object"}, "{  }"), ({"type": "array"}, "[  ]")):
        assert reads(recognizer_of(schema, max_whitespace=1), text)
        assert not reads(recognizer_of(schema, max_whitespace=1), text.replace("  ", "   "))
    assert not reads(recognizer_of({}, max_whitespace=1), "[  1]")
    assert not reads(recognizer_of({"minItems": 1}, max_whitespace=1), "[  ]")
