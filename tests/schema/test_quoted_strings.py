"""Quotes inside of JSON: all pieces of a text in their place and nothing else, against slices."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
import random
import re
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from support.schema_cases import big_vocabulary, small_vocabulary, spelled

import cfgguide
from cfgguide import Quote
from cfgguide.errors import GrammarError, SchemaError
from cfgguide.index import compile_recognizer

QUOTE = "x-cfgguide-quote"
TEXT = 'She said: "Élan \\ vital"\nand left; and left again.'


def texts(n: int, seed: int) -> list[str]:
    """Short texts with much that comes again, and with what JSON escapes."""
    rng = random.Random(seed)
    letters = ("ab", "ab ", 'ab"\\', "aé😀\n", "a.b! \x01", 'a" b')
    return ["".join(rng.choices(letters[n % 6], k=rng.randrange(1, 15))) for n in range(n)]


def pieces(text: str, unit: str = "characters", most: int | None = None) -> set[str]:
    """Return all quotes, from what a quote is."""
    spans = [(n, n + 1) for n in range(len(text))]
    if unit == "words":
        spans = [each.span() for each in re.finditer(r"\w+(?:[-'.\u2019]\w+)*", text)]
    return {
        text[first : last[1]]
        for number, (first, _) in enumerate(spans)
        for last in spans[number : None if most is None else number + most]
    }


def model_of(*fields: Any) -> type[BaseModel]:
    """Return a model with some quotes, and a number after each."""
    members = {f"q{number}": Annotated[str, each] for number, each in enumerate(fields)}
    made = type("Found", (BaseModel,), {"__annotations__": {**members, "n": int}})
    assert issubclass(made, BaseModel)
    return made


@pytest.mark.parametrize("unit", ["characters", "words"])
@pytest.mark.parametrize("most", [None, 1, 3])
def test_strings_are_pieces_and_nothing_else(unit: Any, most: int | None) -> None:
    rng, n_checked = random.Random(0), 0
    for text in [*texts(18, seed=1), TEXT]:
        known = pieces(text, unit, most)
        if not known:
            continue
        recognizer = compile_recognizer(cfgguide.json_schema(model_of(Quote(text, unit, most))))
        others = pieces(text) | {"".join(rng.choices('ab "\\é', k=3)) for _ in range(50)} | {""}
        for each, is_ascii in itertools.product(known | others, (True, False)):
            written = json.dumps({"q0": each, "n": 1}, ensure_ascii=is_ascii)
            read = recognizer.advance(recognizer.initial, written.encode())
            is_sentence = read is not None and recognizer.is_sentence(read)
            assert is_sentence == (each in known), (text, each)
            n_checked += 1
    assert n_checked > 1_000


def test_every_piece_can_be_written_in_every_tokenisation() -> None:
    rng = random.Random(2)
    for text in texts(12, seed=3):
        index = cfgguide.compile(model_of(Quote(text), Quote("ab ab")), small_vocabulary())
        for piece in sorted(pieces(text)):
            written = json.dumps({"q0": piece, "q1": "b a", "n": 1}, ensure_ascii=False)
            guide = cfgguide.Guide(index)
            for token_id in spelled(written.encode(), small_vocabulary(), rng):
                assert guide.accepts(token_id), (text, piece)
                guide.advance(token_id)
            assert guide.is_accepting


@pytest.mark.parametrize("unit", ["characters", "words", "sentences"])
def test_masks_are_those_of_tokens_read_alone(unit: Any) -> None:
    rng, n_masks, tokens = random.Random(7), 0, big_vocabulary().tokens
    quotes = [
        Quote(each, unit) for each in (TEXT, 'A "b"\tc\x01\x7f\\n. élan😀 \\" a.', "0, 1, 2. true")
    ]
    listed = list[Annotated[str, quotes[0]]]
    for what in [*(model_of(quote, quote) for quote in quotes), listed]:
        index = cfgguide.compile(what, big_vocabulary())
        machine = index.machine
        guide, read = cfgguide.Guide(index), machine.initial
        begun = b'["' if what is listed else b'{"q0": "'
        for token_id in spelled(begun, big_vocabulary(), rng):
            guide.advance(token_id)
            read = machine.read(read, tokens[token_id] or b"")
        for _ in range(9):
            alone = []
            for token_id, token in enumerate(tokens):
                after = machine.read(read, token) if token else None
                if after is not None and machine.is_live(after):
                    alone.append(token_id)
            allowed = guide.allowed_token_ids().tolist()
            assert [each for each in allowed if tokens[each]] == alone, guide.text
            n_masks += 1
            if not alone:
                break
            inside = [each for each in alone if b'"' not in (tokens[each] or b"")]
            token_id = rng.choice(inside if inside and n_masks % 5 else alone)
            guide.advance(token_id)
            read = machine.read(read, tokens[token_id] or b"")
    assert n_masks > 25


def test_walks_write_pieces() -> None:
    rng, n_finished = random.Random(4), 0
    for text in [*texts(9, seed=5), TEXT]:
        index = cfgguide.compile(model_of(Quote(text)), big_vocabulary())
        for _ in range(30):
            guide = cfgguide.Guide(index)
            for _ in range(60):
                allowed = guide.allowed_token_ids().tolist()
                assert allowed, "a dead end"
                guide.advance(rng.choice(allowed))
                if guide.is_finished:
                    break
            else:
                for token_id in guide.shortest_completion():
                    guide.advance(token_id)
            n_finished += guide.is_finished
            assert json.loads(guide.text)["q0"] in pieces(text)
    assert n_finished == 300


def test_other_conditions_hold_as_well() -> None:
    class Found(BaseModel):
        long: Annotated[str, Field(min_length=12), Quote(TEXT, "words")]
        either: Annotated[str, Quote("abc")] | int | None
        several: list[Annotated[str, Quote("abc")]] = Field(max_length=2)

    def is_sentence(**changed: Any) -> bool:
        value = {"long": 'said: "Élan', "either": None, "several": [], **changed}
        return cfgguide.check(Found, json.dumps(value)).is_sentence

    long = {each for each in pieces(TEXT, "words") if len(each) >= 12}
    assert all(is_sentence(long=each) == (each in long) for each in pieces(TEXT, "words"))
    eithers = {"bc": True, "ca": False, 7: True, None: True}
    assert [is_sentence(long=min(long), either=each) for each in eithers] == [*eithers.values()]
    arrays = [["a", "bc"], ["a", "ca"], ["a", "b", "c"]]
    assert [is_sentence(long=min(long), several=each) for each in arrays] == [True, False, False]


def of(**keywords: Any) -> dict[str, Any]:
    return {"type": "string", QUOTE: {"text": "abcab"}, **keywords}


@pytest.mark.parametrize(
    ("schema", "holds"),
    [
        (of(), lambda text: text in pieces("abcab")),
        (of(enum=["ab", "ba", "x"]), lambda text: text == "ab"),
        (of(pattern="^a"), lambda text: text in pieces("abcab") and text.startswith("a")),
        ({"type": "string", "not": of()}, lambda text: text not in pieces("abcab")),
        (
            {"oneOf": [of(), {"type": "string", QUOTE: {"text": "bcd"}}]},
            lambda text: (text in pieces("abcab")) != (text in pieces("bcd")),
        ),
        (
            {"type": "array", "items": of(), "uniqueItems": True},
            None,
        ),
    ],
)
def test_the_keyword_is_a_condition_like_others(schema: Any, holds: Any) -> None:
    grammar = cfgguide.json_schema(schema)
    if holds is None:
        answers = {'["ab","b"]': True, '["ab","ab"]': False, '["ba"]': False}
        found = {each: cfgguide.check(grammar, each).is_sentence for each in answers}
        assert found == answers
        return
    for text in map(
        "".join, itertools.chain(*(itertools.product("abcd", repeat=n) for n in (1, 2, 3)))
    ):
        assert cfgguide.check(grammar, json.dumps(text)).is_sentence == holds(text), text


def test_pydantic_checks_it_too() -> None:
    found = TypeAdapter(Annotated[str, Quote(TEXT, "words", max_length=2)])
    assert found.validate_python("She said") == "She said"
    with pytest.raises(ValidationError, match="'he said' is not words of the text"):
        found.validate_json('"he said"')


def test_a_quote_may_be_unknown_and_is_copied() -> None:
    quote = Quote(TEXT, "words", 3)
    known = cfgguide.or_unknown(model_of(quote))
    for value, is_sentence in (("null", True), ('"and left"', True), ('"andleft"', False)):
        assert cfgguide.check(known, f'{{"q0": {value}, "n": 1}}').is_sentence == is_sentence
    assert copy.deepcopy(quote) == pickle.loads(pickle.dumps(quote)) == quote
    assert hash(quote) == hash(copy.copy(quote))


def test_long_texts_are_no_condition_that_has_to_fail() -> None:
    letters = random.Random(6).choices("abcdefgh", k=30_000)
    schema = {"type": "string", QUOTE: {"text": "".join(letters)}}
    assert cfgguide.check(schema, f'"{"".join(letters[9_000:9_500])}"').is_sentence
    with pytest.raises(SchemaError, match=f"at /not/{QUOTE}: it has more than 20000 states"):
        cfgguide.json_schema({"type": "string", "not": schema})


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (3, "is an object with text, unit, max_length, of which text has to be there"),
        ({"unit": "words"}, "of which text has to be there"),
        ({"text": "a", "most": 1}, "of which text has to be there"),
        ({"text": 1}, "what is quoted is a text, not 1"),
        ({"text": "a", "unit": "lines"}, "unit is 'lines'"),
        ({"text": "a", "max_length": 0}, "max_length is 0"),
        ({"text": "...", "unit": "words"}, "there is nothing to quote"),
    ],
)
def test_what_means_nothing(value: Any, said: str) -> None:
    schema = {"properties": {"a": {"type": "string", QUOTE: value}}}
    with pytest.raises(SchemaError, match=f"at /properties/a/{QUOTE}: .*{said}"):
        cfgguide.json_schema(schema)


def test_only_a_string_is_a_quote() -> None:
    with pytest.raises(GrammarError, match=r"Quote stands at a str, .*'integer'"):
        cfgguide.describe(Annotated[int, Quote("a")])
