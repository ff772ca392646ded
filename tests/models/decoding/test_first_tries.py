"""What people try first is written whole, in every way of decoding, within every budget.

The judge of a text is `re.fullmatch`, `json` or Pydantic. The fast tests have a model with random
weights; the slow ones ask SmolLM2, as `python tests/models/decoding/test_first_tries.py` does to
print what it writes.
"""

from __future__ import annotations

import functools
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import jsonschema
import pydantic
import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))  # to be run as a script too

from support.ci import IN_CI
from support.tiny_models import random_model, small_tokenizer

import cfgguide
from cfgguide.decoding import beam_search, steer
from cfgguide.errors import BudgetError
from cfgguide.integrations import TransformersModel


class Review(pydantic.BaseModel):
    """README's."""

    mood: Literal["good", "bad"]
    stars: int = pydantic.Field(ge=1, le=5)


class Try(NamedTuple):
    """What is to be written, what a model is asked, and whether a text is right."""

    what: object
    ask: str
    is_right: Callable[[str], bool]


def _pattern(pattern: str, ask: str) -> Try:
    compiled = re.compile(pattern)
    return Try(compiled, ask, lambda text: compiled.fullmatch(text) is not None)


def _typed(what: Any, ask: str) -> Try:
    validate = pydantic.TypeAdapter(what).validate_json

    def is_right(text: str) -> bool:
        validate(text, strict=True)
        return True

    return Try(what, ask, is_right)


def _choice(texts: list[str], ask: str) -> Try:
    return Try(texts, ask, texts.__contains__)


def _whole(pattern: str) -> Callable[[str], bool]:
    return lambda text: re.fullmatch(pattern, text) is not None


PINK_FLOYD = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "instrument": {"enum": ["guitar", "bass", "drums", "keyboards"]},
        "born": {"type": "integer", "minimum": 1940, "maximum": 1950},
    },
    "required": ["name", "instrument", "born"],
}
_OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
TRIES = {
    "a word": _pattern("[a-z]+", "Name a colour."),
    "a name": _pattern("[A-Z][a-z]+", "Name a city."),
    "a full name": _pattern("[A-Z][a-z]+ [A-Z][a-z]+", "Who wrote Hamlet?"),
    "letters and digits": _pattern(r"\w+", "Name an animal."),
    "an identifier": _pattern(r"[^\W\d]\w*", "Name a variable."),
    "a number": _pattern("[0-9]+", "How many legs has a spider?"),
    "a decimal": _pattern(r"\d+(\.\d+)?", "What is pi?"),
    "a negative number": _pattern(r"-?\d{1,3}", "What is 3 - 5?"),
    "Willard and Louf's float": _pattern(r"([0-9]*)?\.?[0-9]*", "What is pi?"),
    "money": _pattern(r"\$\d+(\.\d{2})?", "What does a coffee cost?"),
    "a date": _pattern(r"\d{4}-\d{2}-\d{2}", "When did the Titanic sink?"),
    "a time": _pattern(r"([01]\d|2[0-3]):[0-5]\d", "When is noon?"),
    "a year": _pattern(r"\s*19[0-9]{2}", "When did men land on the Moon?"),
    "yes or no": _pattern("yes|no", "Is water wet?"),
    "a frequency": _pattern(r"\s*([Yy]es|[Nn]o|[Nn]ever|[Aa]lways)", "Do cats bark?"),
    "an address of the Internet": _pattern(rf"({_OCTET}\.){{3}}{_OCTET}", "Google's DNS server?"),
    "an e-mail address": _pattern(r"[a-z0-9._]+@[a-z0-9]+\.(com|org)", "An e-mail address?"),
    "a URL": _pattern("https?://[a-z./]+", "Where is Wikipedia?"),
    "a URL of a few kinds": _pattern(
        r"(https:\/\/www\.|http:\/\/www\.|https:\/\/|http:\/\/)[a-zA-Z]{2,20}\.(com|ai|org|edu)",
        "Where is Google?",
    ),
    "four words that begin so": _pattern(
        "Re[a-z]+ L[a-z]+ L[a-z]+ M[a-z]+", "What does ReLLM mean?"
    ),
    "a plan": _pattern(
        r"Today I'm going to the [a-z]+ to [a-z]+ because ([a-z]+ )*\.", "What will you do?"
    ),
    "an amount": _pattern("[0-9]{1,10} [a-z]* of [a-z]*", "How much flour?"),
    "a list": _pattern("[a-z]+(, [a-z]+)*", "Name some fruits."),
    "a line of CSV": _pattern(r"[^,\n]+(,[^,\n]+){2}", "Write a line of CSV: name, city, age."),
    "hashtags": _pattern("(#[a-z]+ ?)+", "Hashtags for a beach?"),
    "a sentence": _pattern(r"[A-Z][^.!?\n]*[.!?]", "Say something."),
    "a line": _pattern(".+", "Say something."),
    "anything on a line": _pattern(".*", "Say something."),
    "the same again": _pattern("(ab)+", "Say something."),
    "perhaps": _pattern("(yes|no)?", "Is water wet?"),
    "an occupation": _choice(["Programmer", "Computer Scientist", "AGI"], "What are you?"),
    "a choice in a choice": _choice(["aa", "aaaa"], "Say aa."),
    "yes or yesterday": _choice(["yes", "yesterday", "no"], "When?"),
    "a whole number": _typed(int, "How many legs has a spider?"),
    "a float": _typed(float, "What is pi?"),
    "a truth value": _typed(bool, "Is water wet?"),
    "a literal": _typed(Literal["red", "green"], "Name a colour."),
    "numbers": _typed(list[int], "Count to three."),
    "a review": _typed(Review, "Review: 'The soup was cold.' Rate it as JSON."),
    "JSON": Try("json", "Write JSON.", lambda text: json.loads(text) is not None),
    "a musician": Try(
        PINK_FLOYD,
        "A member of Pink Floyd?",
        lambda text: set(json.loads(text)) >= {"name", "instrument", "born"},
    ),
    "Lark's WORD": Try(
        cfgguide.Grammar("%import common.WORD\nstart: WORD"), "Name a colour.", _whole("[a-zA-Z]+")
    ),
    "Lark's INT": Try(
        cfgguide.Grammar("%import common.INT\nstart: INT"), "Count.", _whole("[0-9]+")
    ),
    "Lark's CNAME": Try(
        cfgguide.Grammar("%import common.CNAME\nstart: CNAME"),
        "Name a variable.",
        _whole("[a-zA-Z_][a-zA-Z_0-9]*"),
    ),
    "GBNF": Try(cfgguide.Grammar.gbnf("root ::= [a-z]+"), "Name a colour.", _whole("[a-z]+")),
    "free text": Try(cfgguide.free_text(), "Say something.", lambda text: True),
}

Texts = list[tuple[str, bool]]  # each with whether it is complete
Pair = tuple[Any, Any]  # a model and its tokenizer


@functools.cache
def tiny() -> Pair:
    tokenizer = small_tokenizer()
    return random_model(len(tokenizer)), tokenizer


@functools.cache
def smollm2() -> Pair:
    from cfgguide.models import load_model

    return load_model()


@functools.cache
def index_of(name: str, pair: Callable[[], Pair]) -> cfgguide.Index:
    return cfgguide.compile(TRIES[name].what, pair()[1])


def prompt_of(name: str, tokenizer: Any) -> list[int]:
    chat = [{"role": "user", "content": TRIES[name].ask}]
    if tokenizer.chat_template is None:
        return list(tokenizer(TRIES[name].ask).input_ids)
    text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    return list(tokenizer(text, add_special_tokens=False).input_ids)


def generated(name: str, pair: Callable[[], Pair], n: int) -> Texts:
    text = TRIES[name].ask
    chat: Any = [{"role": "user", "content": text}] if pair()[1].chat_template else text
    written = cfgguide.generate(pair(), chat, TRIES[name].what, max_new_tokens=n)
    return [(written.text, written.is_complete)]


def decoded(
    decode: Callable[..., Any], name: str, pair: Callable[[], Pair], n: int, **options: Any
) -> Any:
    """Return what one of our own ways of decoding gives."""
    model, tokenizer = pair()
    return decode(
        TransformersModel(model),
        prompt_of(name, tokenizer),
        index=index_of(name, pair),
        max_new_tokens=n,
        **options,
    )


def sampled(name: str, pair: Callable[[], Pair], n: int) -> Texts:
    written = decoded(cfgguide.sample, name, pair, n, seed=n)
    return [(written.text, written.is_complete)]


def processed(name: str, pair: Callable[[], Pair], n: int) -> Texts:
    model, tokenizer = pair()
    ids = torch.tensor([prompt_of(name, tokenizer)])
    processor = cfgguide.LogitsProcessor(TRIES[name].what, tokenizer, max_new_tokens=n)
    out = model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        logits_processor=[processor],
        max_new_tokens=n,
        do_sample=False,
        pad_token_id=0,
    )[0, ids.shape[1] :].tolist()
    vocabulary = index_of(name, pair).vocabulary
    is_complete = out[-1] in vocabulary.eos_token_ids
    return [(vocabulary.spell(out).decode("utf-8", "replace"), is_complete)]


def in_beams(name: str, pair: Callable[[], Pair], n: int) -> Texts:
    best = decoded(beam_search, name, pair, n, n_beams=2)[0]
    return [(best.text, best.is_complete)]


def steered(name: str, pair: Callable[[], Pair], n: int) -> Texts:
    result = decoded(steer, name, pair, n, n_particles=2, seed=n)
    return [(each.sample.text, each.sample.is_complete) for each in result.particles]


WAYS = [generated, sampled, processed, in_beams, steered]


def budgets_of(name: str, pair: Callable[[], Pair]) -> tuple[int, int, int]:
    """Return what the shortest text needs, a little more, and what a caller would allow."""
    least = len(cfgguide.Guide(index_of(name, pair)).shortest_completion())
    return least, least + 3, max(40, 2 * least)


def wrong(name: str, way: Callable[..., Texts], pair: Callable[[], Pair], n: int) -> list[str]:
    """Return what is wrong of what is written."""
    return [
        f"{name}, {way.__name__}, within {n}: {text!r}"
        for text, is_complete in way(name, pair, n)
        if not (is_complete and TRIES[name].is_right(text))
    ]


@pytest.mark.few(20)
@pytest.mark.parametrize("name", TRIES)
def test_a_random_model_writes_what_people_try_first(name):
    tight, more, _ = budgets_of(name, tiny)
    assert not wrong(name, generated, tiny, tight)
    assert not wrong(name, sampled, tiny, more)
    if 1 < tight <= 16:  # 1: the empty text fits; of longer ones, the fewest tokens are not known
        with pytest.raises(BudgetError, match=rf"\b{tight}\b"):
            generated(name, tiny, tight - 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", TRIES)
def test_smollm2_writes_what_people_try_first(name):
    budgets = budgets_of(name, smollm2)
    for n in budgets[1:2] if IN_CI else budgets:
        assert not [each for way in WAYS for each in wrong(name, way, smollm2, n)]


# --- Whole numbers are written whole, and end -----------------------------------------------------

INT: dict[str, Any] = {"type": "integer"}


def _object(**properties: Any) -> dict[str, Any]:
    closed = {"type": "object", "additionalProperties": False}  # others may have any numbers
    return {**closed, "properties": properties, "required": [*properties]}


WHOLE: dict[str, Any] = {
    "alone": INT,
    "in a list": {"type": "array", "items": INT},
    "in a list of three": {"type": "array", "items": INT, "minItems": 3, "maxItems": 3},
    "in a list of lists": {"type": "array", "items": {"type": "array", "items": INT}},
    "in a list of different ones": {"type": "array", "items": INT, "uniqueItems": True},
    "in places of a list": {
        "type": "array",
        "prefixItems": [INT, {"type": "string"}, INT],
        "items": False,
    },
    "a member": _object(age=INT),
    "several members": _object(day=INT, month=INT, year=INT),
    "a member that may be left out": {**_object(age=INT), "required": []},
    "deeper": _object(address=_object(street={"type": "string"}, number=INT)),
    "members of any name": {"type": "object", "additionalProperties": INT},
    "members of some names": {
        "type": "object",
        "patternProperties": {"^[a-z]{1,3}$": INT},
        "additionalProperties": False,
    },
    "or null": _object(age={"type": ["integer", "null"]}),
    "or a text": _object(age={"anyOf": [INT, {"type": "string"}]}),
    "from a bound on": _object(age={**INT, "minimum": 18}),
    "up to a bound": _object(age={**INT, "exclusiveMaximum": 0}),
    "of even ones": _object(pairs={**INT, "multipleOf": 2}),
    "but one": _object(floor={**INT, "not": {"const": 13}}),
    "in a tree": {
        "$ref": "#/$defs/tree",
        "$defs": {
            "tree": _object(n=INT, below={"type": "array", "items": {"$ref": "#/$defs/tree"}})
        },
    },
    "a number that is whole": _object(n={"type": "number", "multipleOf": 1}),
}


def _odd_numbers(text: str) -> list[str]:
    """Return the numbers of a JSON text that have a fraction, an exponent or too many digits."""
    odd: list[str] = []
    json.loads(
        text, parse_float=odd.append, parse_int=lambda digits: odd.append(digits.lstrip("-")[19:])
    )
    return [*filter(None, odd)]


def check_whole_numbers(name: str, pair: Callable[[], Pair]) -> None:
    for options in ({}, {"temperature": 1.0, "seed": 0}, {"temperature": 1.5, "seed": 1}):
        asked: Any = [{"role": "user", "content": "Write it."}]
        prompt = asked if pair()[1].chat_template else "Write it."
        written = cfgguide.generate(pair(), prompt, WHOLE[name], max_new_tokens=256, **options)
        assert written.is_complete
        assert not _odd_numbers(written.text), written.text
        jsonschema.validate(json.loads(written.text), WHOLE[name])


@pytest.mark.few(3)
@pytest.mark.parametrize("name", WHOLE)
def test_a_random_model_ends_whole_numbers(name):
    check_whole_numbers(name, tiny)


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.parametrize("name", WHOLE)
def test_smollm2_ends_whole_numbers(name):
    check_whole_numbers(name, smollm2)


def main() -> None:
    """Print what SmolLM2 writes, and how much of it is right, and how much empty."""
    n_texts = n_right = n_empty = 0
    for name in TRIES:
        budgets = budgets_of(name, smollm2)
        for n in budgets:
            for way in WAYS:
                for text, is_complete in way(name, smollm2, n)[:1]:
                    n_texts += 1
                    n_right += is_complete and TRIES[name].is_right(text)
                    n_empty += not text and n > 1
                    sys.stdout.write(f"{name:28} {way.__name__:10} {n:3} {text!r}\n")
    sys.stdout.write(f"{n_right} of {n_texts} are right, {n_empty} empty where more fits\n")


if __name__ == "__main__":
    main()
