"""All that can be asked about a text of a schema give one answer: that of the masks."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from support.schemas import mutated, random_value, varied_schema

import cfgguide
from cfgguide.diagnostics.explainers import explainer_of
from cfgguide.errors import SchemaError

BYTES = cfgguide.Vocabulary.of_bytes()
LONGER = cfgguide.Vocabulary.of_bytes([b'{"', b'": ', b'", "', b"], [", b"true", b"12", b'"}'])
NAMES = "abcdefghi"
FUNCTION = {"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "number"}}}}


def is_written(index: cfgguide.Index, text: str) -> bool:
    """Whether the masks let each token, the longest first, and then EOS come."""
    guide, rest = cfgguide.Guide(index), text.encode()
    tokens = {token: number for number, token in enumerate(index.vocabulary.tokens) if token}
    while rest:
        piece = max((token for token in tokens if rest.startswith(token)), key=len)
        if tokens[piece] not in guide.allowed_token_ids().tolist():
            return False
        guide.advance(tokens[piece])
        rest = rest[len(piece) :]
    return guide.is_accepting


def is_explained(index: cfgguide.Index, text: str) -> bool:
    """Whether an explanation refuses no byte, and then the end may come."""
    explainer = explainer_of(index)
    for byte in text.encode():
        if not explainer.explain(bytes([byte])).is_allowed:
            return False
        explainer.advance(bytes([byte]))
    (eos,) = index.vocabulary.eos_token_ids
    return explainer.explain_token(eos).is_allowed


class Asked:
    """All that can be asked of one grammar."""

    def __init__(self, grammar: cfgguide.Grammar) -> None:
        self.grammar = grammar
        self.after = cfgguide.concat("x ", grammar)
        self.between = cfgguide.concat(cfgguide.free_text(until="<json>"), grammar, "</json>")
        self.index = cfgguide.compile(grammar, BYTES)
        self.longer = cfgguide.compile(grammar, LONGER)
        self.after_index = cfgguide.compile(self.after, BYTES)
        self.recognizer = cfgguide.index.compile_recognizer(grammar)

    def answers(self, text: str) -> dict[str, bool]:
        """What each says to whether a text is a sentence."""
        read = self.recognizer.advance(self.recognizer.initial, text.encode())
        return {
            "masks": is_written(self.index, text),
            "masks of longer tokens": is_written(self.longer, text),
            "check": cfgguide.check(self.grammar, text).is_sentence,
            "explain": is_explained(self.index, text),
            "compile_recognizer": read is not None and self.recognizer.is_sentence(read),
            "masks of concat": is_written(self.after_index, f"x {text}"),
            "concat": cfgguide.check(self.after, f"x {text}").is_sentence,
            "free text": cfgguide.check(self.between, f"a<json>{text}</json>").is_sentence,
        }


def texts_of(rng: random.Random) -> Iterator[str]:
    for _ in range(4):
        value = random_value(rng)
        yield json.dumps(value)
        yield json.dumps(mutated(rng, value), separators=(",", ":"))


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 24))]
)
def test_all_who_are_asked_about_random_schemas_agree(seed):
    rng = random.Random(seed)
    n_asked = 0
    while n_asked < 4:
        schema = varied_schema(rng)
        try:
            grammar = cfgguide.json_schema(schema)
        except SchemaError:
            continue
        asked = Asked(grammar)
        written = cfgguide.Guide(asked.index).shortest_completion()
        shortest = bytes(each for each in written or () if each < 256).decode()
        assert asked.answers(shortest)["check"], (schema, shortest)
        for text in [shortest, *texts_of(rng)]:
            found = asked.answers(text)
            assert len({*found.values()}) == 1, (schema, text, found)
        n_asked += 1


def check_each_byte(schema: Any, rng: random.Random) -> None:
    """Every byte is explained as the mask has it, all along a text that is written at random."""
    guide = cfgguide.Guide(cfgguide.compile(cfgguide.json_schema(schema), BYTES))
    for _ in range(30):
        allowed = {*guide.allowed_token_ids().tolist()}
        explained = {byte for byte in range(256) if guide.explain(byte).is_allowed}
        assert explained == {byte for byte in allowed if byte < 256}, (schema, guide.text)
        if guide.is_finished:
            return
        guide.advance(rng.choice(sorted(allowed)))


@pytest.mark.parametrize(
    "schema",
    [
        {"propertyNames": {"pattern": "^\\w+$"}},
        {"patternProperties": {"^é.$": {"type": "null"}}, "additionalProperties": False},
        {"propertyNames": {"enum": ["ab", "aé"]}},
        {"propertyNames": {"maxLength": 2}, "minProperties": 1},
        {"patternProperties": {"a$": False}, "propertyNames": {"minLength": 2}},
    ],
)
def test_an_explanation_allows_the_bytes_of_names_that_a_mask_allows(schema):
    for seed in range(3):
        check_each_byte(schema, random.Random(seed))


@pytest.mark.few(3)
@pytest.mark.parametrize("seed", range(60))
def test_an_explanation_allows_the_bytes_that_a_mask_allows(seed):
    rng = random.Random(seed)
    while True:
        schema = varied_schema(rng)
        try:
            cfgguide.json_schema(schema)
        except SchemaError:
            continue
        return check_each_byte(schema, rng)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (
            {"properties": {name: {"type": "integer"} for name in NAMES}, "required": [*NAMES]},
            json.dumps(dict.fromkeys(reversed(NAMES), 1)),
        ),
        ({"type": "array", "items": {"type": "string"}, "uniqueItems": True}, '["b", "a"]'),
        ({"type": "string", "maxLength": 1_000_000}, '"abc"'),
        ({"type": "string", "maxLength": 5000, "pattern": r"^\S*$"}, '"abc"'),
        ({"type": "integer", "multipleOf": 97}, "194"),
        ({"minProperties": 2, "patternProperties": {"^a": {}}}, '{"ab": 1, "b": 2}'),
        (
            {
                "anyOf": [
                    {"properties": {f"k{n}": {"type": "integer"}}, "required": [f"k{n}"]}
                    for n in range(60)
                ]
            },
            '{"k59": 7}',
        ),
    ],
)
def test_all_read_what_a_text_in_larks_language_cannot_say(schema, text):
    grammar = cfgguide.json_schema(schema)
    asked = Asked(grammar)
    assert {*asked.answers(text).values()} == {True}
    assert {*asked.answers(f"{text}]").values()} == {False}
    assert "byte by byte" in str(cfgguide.diagnostics.inspect(grammar))


def test_separators_may_stand_in_a_list():
    grammar = cfgguide.json_schema({"type": "array"}, separators=[", ", ": "])
    assert {*Asked(grammar).answers("[1, 2]").values()} == {True}
    assert {*Asked(grammar).answers("[1,2]").values()} == {False}


def test_calls_of_tools_are_checked():
    grammar = cfgguide.tools([{"type": "function", "function": FUNCTION}], format="hermes")
    call = '<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>'
    assert cfgguide.check(grammar, call).is_sentence
    refused = cfgguide.check(grammar, call.replace('"f"', '"g"'))
    assert (refused.line, refused.column, refused.expected) == (2, 11, ("'f'",))


def test_a_schema_beside_a_grammar_is_the_same_language_or_refused():
    many: dict[str, Any] = {"properties": {name: {} for name in NAMES}}
    sums = cfgguide.Grammar('start: "1" ("+" "1")*')
    grammar = cfgguide.concat(cfgguide.json_schema(many), "\n", sums)
    with pytest.raises(SchemaError, match=r"9 properties in any order .* order='declared'"):
        cfgguide.check(grammar, '{"a": 1}\n1+1')
    declared = cfgguide.concat(cfgguide.json_schema(many, order="declared"), "\n", sums)
    assert cfgguide.check(declared, '{"a": 1}\n1+1').is_sentence


@pytest.mark.parametrize("after", ["5", "e1", ".5", "-"])
def test_nothing_follows_a_number_with_which_it_could_go_on(after):
    tag = {
        "type": "sequence",
        "elements": [
            {"type": "json_schema", "json_schema": {"type": "number"}},
            {"type": "const_string", "value": after},
        ],
    }
    grammar = cfgguide.structural_tag({"type": "structural_tag", "format": tag})
    with pytest.raises(SchemaError, match="may come right after a number"):
        cfgguide.compile(grammar, BYTES)
