"""How sure a model was: against all texts that its masks let it write in a leaf's place.

The twin knows no machine and ends no branch early: it asks the model for every tokenisation of
every value, token by token, and reads the values with `json`.
"""

from __future__ import annotations

import functools
import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from support.tiny_models import N_SMALL, random_model, small_tokenizer

import cfgguide
from cfgguide.integrations import Confidence
from cfgguide.output_types import output_type
from cfgguide.shared_indexes import shared_index, shared_vocabulary

N_COLUMNS = N_SMALL + 5
PROMPT = "a = ["
NEGLIGIBLE = 1e-8


def schema_of(*required: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object", "properties": properties,
        "required": list(required or properties), "additionalProperties": False,
    }  # fmt: skip


BOOLEAN = {"type": "boolean"}
SIZES = {"enum": ["small", "large", "late"]}


def whole(low: int, high: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": low, "maximum": high}


SCHEMAS: list[dict[str, Any]] = [
    schema_of(ok=BOOLEAN),
    schema_of(ok={"type": ["boolean", "null"]}),
    schema_of(size=SIZES),
    schema_of(size={"enum": ["a", "ab", "abc", "b"]}),
    schema_of(size={"enum": ["self", "selfish", "sell", "return", "re"]}),
    schema_of(size={"enum": ["", "x"]}),
    schema_of(size={"enum": ["\u00e9t\u00e9", "\u00eatre", "\u65e5\u672c", "\u65e5"]}),
    schema_of(size={"enum": ['a"b', 'a"', "a\\", "a\\\\b", "a\nb"]}),
    schema_of(size={"enum": ["true", True, None, "null"]}),
    schema_of(size={"enum": [1, "1", 12, True, None]}),
    schema_of(size={"enum": [-1, 1, 10, 100, 1000]}),
    schema_of(size={"enum": [0.5, 0.25, 5, 50]}),
    schema_of(size={"const": "only"}, ok=BOOLEAN),
    schema_of(n=whole(0, 9)),
    schema_of(n=whole(0, 20)),
    schema_of(n=whole(-12, 12)),
    schema_of(n={"type": "integer", "minimum": 0, "maximum": 100, "multipleOf": 10}),
    schema_of(n={"anyOf": [whole(1, 3), {"type": "null"}]}),
    schema_of(n={"anyOf": [whole(1, 30), {"enum": ["one", "many"]}]}),
    schema_of(a=BOOLEAN, b=BOOLEAN, c=BOOLEAN),
    schema_of(a=SIZES, b=whole(1, 12), c=BOOLEAN),
    schema_of("a", a=BOOLEAN, b=SIZES),
    schema_of(inner=schema_of(ok=BOOLEAN, size=SIZES), last=BOOLEAN),
    schema_of(items={"type": "array", "items": SIZES, "minItems": 2, "maxItems": 3}),
    schema_of(items={"type": "array", "items": whole(0, 11), "minItems": 1, "maxItems": 3}),
    schema_of(
        pair={"type": "array", "prefixItems": [BOOLEAN, SIZES], "items": False, "minItems": 2}
    ),
    {"type": "array", "items": BOOLEAN, "minItems": 2, "maxItems": 4},
    {"enum": ["yes", "no", "not at all"]},
    whole(0, 30),
    {"type": ["boolean", "null"]},
]  # fmt: skip


@functools.cache
def tokenizer() -> Any:
    return small_tokenizer()


def exact_model(seed: int) -> Any:
    """In float64, since float32 gives other logits by 1e-6 with keys and values that were kept."""
    return random_model(N_COLUMNS, seed=seed, dtype=torch.float64)


def index_of(what: Any) -> cfgguide.Index:
    """The index that `generate` uses."""
    grammar = output_type(what).grammar
    return shared_index(grammar, shared_vocabulary(tokenizer(), None), is_written=True)


def generated(what: Any, *, seed: int = 0, **options: Any) -> Any:
    options = {"max_new_tokens": 200, "temperature": 1.0, "confidence": True, **options}
    return cfgguide.generate(
        exact_model(seed), PROMPT, what, tokenizer=tokenizer(), seed=seed, **options
    )


class Twin:
    """Asks the model for each text alone."""

    def __init__(self, model: Any, index: cfgguide.Index) -> None:
        self._model, self._index = model, index
        self._prompt = tokenizer()(PROMPT)["input_ids"]
        self._known: dict[tuple[int, ...], dict[int, float]] = {}

    def chances(self, token_ids: tuple[int, ...]) -> dict[int, float]:
        """Return the probabilities of the tokens that the mask allows."""
        if token_ids not in self._known:
            guide = cfgguide.Guide(self._index)
            for token_id in token_ids:
                guide.advance(token_id)
            allowed = list(guide.allowed_token_ids())
            with torch.no_grad():
                logits = self._model(torch.tensor([[*self._prompt, *token_ids]])).logits[0, -1]
            shares = torch.softmax(logits[allowed].double(), dim=-1).tolist()
            self._known[token_ids] = dict(zip(allowed, shares, strict=True))
        return self._known[token_ids]

    def values(self, token_ids: tuple[int, ...], before: bytes) -> dict[str, float]:
        """Return the probabilities of all values after a text, of which some tokens are written."""
        found: Counter[str] = Counter()
        open_texts = [(1.0, token_ids)]
        while open_texts:
            chance, written = open_texts.pop()
            for token_id, share in self.chances(written).items():
                after = (*written, token_id)
                text = self._index.vocabulary.spell(after)
                if chance * share < NEGLIGIBLE or text[: len(before)] != before[: len(text)]:
                    continue
                is_end = token_id in self._index.vocabulary.eos_token_ids
                value = value_in(text[len(before) :], is_end=is_end)
                if value is None:
                    open_texts.append((chance * share, after))
                elif value:
                    found[value] += chance * share
        total = sum(found.values())
        return {value: chance / total for value, chance in found.items()}


def value_in(text: bytes, *, is_end: bool) -> str | None:
    """Return the JSON value that a text begins with: None if it may go on, "" if none begins."""
    decoded = text.decode("utf-8", "ignore")
    if decoded[:1].isspace():
        return ""
    try:
        value, end = json.JSONDecoder().raw_decode(decoded)
    except json.JSONDecodeError:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and not is_end and (end == len(decoded) or decoded[end] in "0123456789.eE"):
        return None
    return json.dumps(value)


def leaves(tree: Any) -> Iterator[Confidence]:
    if isinstance(tree, Confidence):
        yield tree
    else:
        for each in tree.values() if isinstance(tree, dict) else tree:
            yield from leaves(each)


def plain(tree: Any) -> Any:
    """The value that is written in a tree of confidences."""
    if isinstance(tree, Confidence):
        return tree.value
    if isinstance(tree, dict):
        return {name: plain(each) for name, each in tree.items()}
    return [plain(each) for each in tree]


def places(text: str, tree: Any) -> Iterator[tuple[int, Confidence]]:
    """Yield where each leaf begins in a text, in bytes: after the leaf before."""
    place = 0
    for leaf in leaves(tree):
        decoder = json.JSONDecoder()
        while True:
            rest = text[place:]
            if rest[0] in '"-0123456789tfn':
                value, end = decoder.raw_decode(rest)
                is_name = rest[end:].lstrip()[:1] == ":"
                if not is_name:
                    assert (value, type(value)) == (leaf.value, type(leaf.value))
                    yield len(text[:place].encode()), leaf
                place += end
                if not is_name:
                    break
            else:
                place += 1


def tokens_before(result: Any, index: cfgguide.Index, begin: int) -> tuple[int, ...]:
    """Return the tokens that end at a place or before, and those that were forced after them."""
    ids = result.token_ids
    n = max(n for n in range(len(ids) + 1) if len(index.vocabulary.spell(ids[:n])) <= begin)
    while n < len(ids) and math.isnan(result.log_probs[n]):
        n += 1
    return tuple(ids[:n])


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("number", range(len(SCHEMAS)))
def test_alternatives_are_all_values_over_all_tokenisations(number: int, force: bool) -> None:
    schema = SCHEMAS[number]
    result = generated(schema, seed=number % 4, force=force, log_probs=True)
    index = index_of(schema)
    twin = Twin(exact_model(number % 4), index)
    data = result.text.encode()
    assert plain(result.confidence) == json.loads(result.text)
    for begin, leaf in places(result.text, result.confidence):
        expected = twin.values(tokens_before(result, index, begin), data[:begin])
        found = {json.dumps(value): chance for value, chance in leaf.alternatives}
        assert expected.keys() <= found.keys()
        for value, chance in found.items():
            assert chance == pytest.approx(expected.get(value, 0.0), abs=1e-6)
        assert leaf.probability == found[json.dumps(leaf.value)]
        assert leaf.undecided < 1e-6
        assert leaf.entropy is None


def test_free_strings_have_the_probability_of_their_tokens() -> None:
    schema = schema_of(name={"type": "string", "maxLength": 5}, other={"type": ["string", "null"]})
    result = generated(schema, force=False, seed=3)
    index = index_of(schema)
    twin = Twin(exact_model(3), index)
    ids, data = result.token_ids, result.text.encode()
    name, other = result.confidence["name"], result.confidence["other"]
    begin = next(begin for begin, leaf in places(result.text, result.confidence) if leaf is name)
    _, n_characters = json.JSONDecoder().raw_decode(data[begin:].decode())
    end = begin + len(data[begin:].decode()[:n_characters].encode())
    chance, entropies = 1.0, []
    for n in range(len(ids)):
        before, after = (len(index.vocabulary.spell(ids[:k])) for k in (n, n + 1))
        if before < end and after > begin:
            shares = twin.chances(tuple(ids[:n]))
            chance *= shares[ids[n]]
            entropies.append(-sum(share * math.log(share) for share in shares.values() if share))
    assert name.probability == pytest.approx(chance, rel=1e-4)
    assert name.entropy == pytest.approx(sum(entropies) / len(entropies), abs=1e-4)
    assert name.alternatives == ()
    assert {value for value, _ in other.alternatives} == {None, str}
    assert sum(chance for _, chance in other.alternatives) == pytest.approx(1.0)


@pytest.mark.parametrize(("text", "n"), [("a b c a b", 12), ("a bb ccc dddd eeeee ffffff", 0)])
def test_few_quotes_are_alternatives_and_many_are_not(text: str, n: int) -> None:
    pieces = {text[i:j] for i in range(len(text)) for j in range(i + 1, len(text) + 1)}
    unit = "words" if n else "characters"
    assert n or len(pieces) > 64
    what = schema_of(a={"type": "string", "x-cfgguide-quote": {"text": text, "unit": unit}})
    result = cfgguide.generate(
        exact_model(1), PROMPT, what, tokenizer=tokenizer(), confidence=True, max_new_tokens=120
    )
    sure = result.confidence["a"]
    assert sure.value == result.parsed["a"]
    assert len(sure.alternatives) == n
    assert {value for value, _ in sure.alternatives} <= pieces
    assert (sure.entropy is None) == bool(n)
    assert 0 < sure.probability <= 1


def test_a_list_of_texts_has_one_confidence_and_all_of_them() -> None:
    texts = ["spam", "spammer", "no spam"]
    results = generated(texts, n=3)
    for result in results:
        assert result.confidence.value == result.text
        assert {value for value, _ in result.confidence.alternatives} == set(texts)
        assert dict(result.confidence.alternatives)[result.text] == result.confidence.probability
    # What the model thinks of a list does not depend on what it draws from it.
    alike = {text: [dict(r.confidence.alternatives)[text] for r in results] for text in texts}
    for chances in alike.values():
        assert chances == pytest.approx([chances[0]] * 3, abs=1e-6)


def test_what_is_asked_for_it_is_counted_and_changes_no_text() -> None:
    schema = SCHEMAS[20]
    without, result = (generated(schema, seed=1, confidence=each) for each in (False, True))
    assert without.text == result.text
    assert (without.confidence, without.n_confidence_calls) == (None, 0)
    assert result.log_probs is None
    assert result.n_confidence_calls == sum(leaf.n_calls for leaf in leaves(result.confidence))


def test_a_text_that_was_cut_has_none() -> None:
    assert (
        generated({"type": "string", "minLength": 50}, max_new_tokens=3, finish=False).confidence
        is None
    )


def test_a_prefix_is_given_and_what_follows_it_is_not() -> None:
    schema = schema_of(a=BOOLEAN, size=SIZES)
    result = generated(schema, prefix='{"a": true, "size": "la', seed=2)
    assert result.confidence["a"].probability == 1.0
    chances = dict(result.confidence["size"].alternatives)
    assert chances["small"] == 0.0
    assert chances["large"] + chances["late"] == pytest.approx(1.0)


def test_the_probability_of_another_value() -> None:
    values = ((True, 0.4), (1, 0.3), (None, 0.2), (str, 0.1))
    confidence = Confidence(True, 0.4, values)
    assert [confidence.probability_of(value) for value, _ in values] == [0.4, 0.3, 0.2, 0.1]
    assert [confidence.probability_of(value) for value in (False, 0, "a")] == [None] * 3


def test_how_near_a_model_was_to_null() -> None:
    """Free strings and null begin with one token each, so that a softmax of two is the answer."""
    tokenizer = small_tokenizer()
    vocabulary = shared_vocabulary(tokenizer, None)
    [quote], [null] = (
        [number for number, token in enumerate(vocabulary.tokens) if token == wanted]
        for wanted in (b'"', b"n")
    )
    logits = torch.full((N_COLUMNS,), -100.0)
    logits[quote], logits[null] = 1.0, 0.5
    schema = cfgguide.or_unknown(schema_of(name={"type": "string", "maxLength": 3}))
    result = cfgguide.generate(
        lambda _: logits.numpy(), "a", schema, tokenizer=tokenizer, confidence=True
    )
    assert result.parsed == {"name": ""}
    found = result.confidence["name"].probability_of(None)
    assert found == pytest.approx(1 / (1 + math.exp(0.5)), abs=1e-6)
