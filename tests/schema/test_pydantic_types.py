"""Every type that Pydantic knows: what is sampled of it, Pydantic reads; or there was a warning."""

from __future__ import annotations

import functools
import json
import re
import warnings
from typing import Annotated, Any

import numpy as np
import pytest
from pydantic import Field, FiniteFloat, TypeAdapter, create_model
from support.pydantic_types import ACCEPTED, IMPOSSIBLE, TYPES, UNCHECKED

import cfgguide
from cfgguide.errors import CfgGuideError, SchemaWarning
from cfgguide.output_types import OutputType, output_type

VOCABULARY = cfgguide.Vocabulary.of_bytes()
N_IN_SLOW_TEST = 25  # 60 take more than two minutes of two cores
_LONGEST = 250  # bytes


@functools.cache  # a user is warned once
def asked(name: str) -> tuple[OutputType, list[str]]:
    """Return what a type asks for, and what the user was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = output_type(TYPES[name])
    return made, [str(each.message) for each in caught if each.category is SchemaWarning]


def sampled(what: OutputType, n: int) -> list[str]:
    """Return texts of a type, by models that like some bytes more than others."""
    index = cfgguide.compile(what.grammar, VOCABULARY)
    texts = []
    for seed in range(n):
        drawn = np.random.default_rng(seed)
        tastes = drawn.normal(scale=1 + seed % 3 * 2, size=len(VOCABULARY.tokens))

        def model(_: Any, drawn: Any = drawn, tastes: Any = tastes) -> Any:
            return tastes + drawn.normal(scale=2, size=len(tastes))

        written = cfgguide.sample(model, index=index, max_new_tokens=_LONGEST, seed=seed)
        texts.append(written.text)
    return texts


def check(name: str, n: int) -> None:
    what, warned = asked(name)
    adapter = TypeAdapter(TYPES[name])
    refused = [text for text in sampled(what, n) if not is_read(adapter, text)]
    assert warned or not refused


def is_read(adapter: TypeAdapter[Any], text: str) -> bool:
    try:
        adapter.validate_json(text)
    except (ValueError, OSError):
        return False
    return True


POSSIBLE = sorted(set(TYPES) - IMPOSSIBLE)


@pytest.mark.few(40)
@pytest.mark.parametrize("name", POSSIBLE)
def test_pydantic_reads_what_is_written(name: str) -> None:
    check(name, 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", POSSIBLE)
def test_pydantic_reads_all_that_is_written(name: str) -> None:
    check(name, N_IN_SLOW_TEST)


def test_only_those_types_have_a_warning_that_must_have_one() -> None:
    assert {name for name in POSSIBLE if asked(name)[1]} == UNCHECKED


@pytest.mark.parametrize("name", sorted(IMPOSSIBLE))
def test_a_type_that_no_json_has_is_refused(name: str) -> None:
    with pytest.raises(CfgGuideError, match="Pydantic makes no schema"):
        output_type(TYPES[name])


@pytest.mark.parametrize("name", sorted(ACCEPTED))
def test_texts_that_people_write_are_possible(name: str) -> None:
    what, adapter = asked(name)[0], TypeAdapter(TYPES[name])
    for text in ACCEPTED[name]:
        written = json.dumps(text)
        adapter.validate_json(written)
        assert cfgguide.check(what.grammar, written).is_sentence, written


#: Not `true`, which Pydantic takes for 1.
LISTED = ("a", "b", "t", "xa", 1, 2, 0.5, [1, 2], [3, 4], "z", "red", None)


@pytest.mark.parametrize(
    "name",
    [each for each in POSSIBLE if {"Literal", "Mixed", "Ratio", "Prefixed"} & {*each.split()}],
)
def test_listed_values_and_names_are_those_that_pydantic_reads(name: str) -> None:
    what, adapter = asked(name)[0], TypeAdapter(TYPES[name])
    texts = [json.dumps(each) for each in LISTED]
    if name.startswith("dict"):
        texts = ["{}", *(json.dumps({str(each): 1}) for each in LISTED)]
    mine = {text for text in texts if cfgguide.check(what.grammar, text).is_sentence}
    assert mine == {text for text in texts if is_read(adapter, text)}


def test_a_union_is_told_apart_by_members_of_an_enumeration() -> None:
    what = asked("union told apart by members")[0]
    for text, is_one in (
        ('{"letter": "a", "n": 1}', True),
        ('{"letter": "b", "text": "x"}', True),
        ('{"letter": "b", "n": 1}', False),
    ):
        assert cfgguide.check(what.grammar, text).is_sentence == is_one


@pytest.mark.parametrize(
    "text",
    [
        '{"one": {"kind": "tax"}, "many": []}',
        '{"one": {}, "many": []}',
        '{"one": {"n": 2}, "many": []}',
        '{"one": {"kind": "fee"}, "many": [{}]}',
        '{"one": {"kind": "fee"}, "many": [{"kind": "tax", "n": 1}], "maybe": {"kind": "fee"}}',
        '{"one": {"kind": "fee"}, "many": [], "maybe": {"n": 1}}',
    ],
)
def test_a_tag_is_written_though_it_has_a_default(text: str) -> None:
    what, adapter = asked("Bill")[0], TypeAdapter(TYPES["Bill"])
    assert cfgguide.check(what.grammar, text).is_sentence == is_read(adapter, text)


@pytest.mark.parametrize("wanted", [FiniteFloat, FiniteFloat | None])
def test_a_finite_number_may_have_an_exponent(wanted: Any) -> None:
    model = create_model("Made", x=(wanted, ...))
    recognizer = cfgguide.index.compile_recognizer(cfgguide.json_schema(model))
    digits = ("0", "-0.0", "1", "-7.25", "1.7976931348623157", "1.7976931348623158", "123456")
    exponents = ("e5", "E+07", "e-400", "e291", "e303", "e304", "e308", "e309", "e0308", "e9999")
    read = []
    for number in (each + exponent for each in digits for exponent in ("", *exponents)):
        text = f'{{"x": {number}}}'
        after = recognizer.advance(recognizer.initial, text.encode())
        if after is not None and recognizer.is_sentence(after):
            read.append(number)
            model.model_validate_json(text)
    assert {"1e5", "-7.25E+07", "123456e-400", "1.7976931348623157e308", "1e0308"} <= {*read}


def test_a_pattern_that_rust_does_not_have_says_what_to_do() -> None:
    def made(pattern: Any) -> Any:
        return list[Annotated[str, Field(pattern=pattern)]]

    def called(names: Any) -> None:
        """Take names."""

    called.__annotations__["names"] = made(r"^(?=.*x)y")

    for wanted in (made(r"^(?=.*x)y"), called):
        with pytest.raises(CfgGuideError, match=r"look-ahead.* give pattern=re\.compile"):
            output_type(wanted)
    assert output_type(made(re.compile(r"^(?=.*x)[xy]")))
