"""Loops: found as a naive search finds them, closed where they began, and nothing else is touched.

A model is a table here: it wants one text, and after that whatever is short. What it wrote is read
with `json` and `ast`.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import cfgguide
from cfgguide.errors import GenerationError
from cfgguide.guide.repetition import looping
from cfgguide.integrations import Loop

VOCABULARY = cfgguide.Vocabulary(
    [*(bytes([byte]) for byte in range(256)), b"ha", b' "', b'",', b'"]', b"]}", b", 0", None],
    eos_token_ids=262,
)
#: What a model wants when it is not told: to end, or to come nearer to that.
_ENDS = {262: 9.0} | {ord(mark): 8.0 - n for n, mark in enumerate('"]}):0\n')}
STRING, WHOLE = {"type": "string"}, {"type": "integer"}
SHORT = cfgguide.Repetition(repeats=3, characters=12)

Model = Callable[[Any], Any]


def wanting(text: str) -> Model:
    """A model that writes a text, byte by byte, as long as it may."""
    data = text.encode()

    def model(token_ids: Any) -> Any:
        logits = np.zeros(VOCABULARY.size)
        for token_id, logit in _ENDS.items():
            logits[token_id] = logit
        so_far = VOCABULARY.spell(token_ids)
        if data.startswith(so_far) and len(so_far) < len(data):
            logits[data[len(so_far)]] = 20
        return logits

    return model


def index_of(what: Any) -> Any:
    return cfgguide.compile(what, VOCABULARY)


def written(what: Any, text: str, repetition: Any = SHORT, n: int = 500, **options: Any) -> Any:
    index = index_of(what)
    return cfgguide.sample(
        wanting(text), index=index, max_new_tokens=n, temperature=0, repetition=repetition,
        **options,
    )  # fmt: skip


def object_of(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object", "properties": properties,
        "required": list(properties), "additionalProperties": False,
    }  # fmt: skip


def array_of(items: Any, **keywords: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **keywords}


# --- What loops ----------------------------------------------------------------------------------


def naively_looping(data: bytes, repeats: int, characters: int) -> tuple[int, int] | None:
    for period in range(1, len(data) + 1):
        begin = len(data) - period
        while begin and data[begin - 1] == data[begin - 1 + period]:
            begin -= 1
        length = len(data[begin:].decode(errors="ignore"))
        if len(data) - begin >= repeats * period and length >= characters:
            return period, begin
    return None


@given(
    st.text("ab\u00e9", max_size=12), st.text("ab\u00e9", min_size=1, max_size=5),
    st.integers(0, 9), st.integers(2, 5), st.integers(2, 14),
)  # fmt: skip
def test_a_loop_is_what_a_naive_search_finds(
    before: str, period: str, n: int, repeats: int, characters: int
) -> None:
    data = (before + n * period).encode()
    assert looping(data, repeats, characters) == naively_looping(data, repeats, characters)


# --- Where they are closed -----------------------------------------------------------------------

BOUNDED, LONG = {**STRING, "maxLength": 99}, {**STRING, "minLength": 15}
ENDED = {**STRING, "pattern": "^a*end$"}
LEXEMES: list[tuple[Any, str, str, tuple[Any, ...]]] = [
    # what to write, what the model wants, what it writes, and the way to the loop
    (object_of(a=STRING), '{"a": "x' + 90 * "ha", '{"a": "xhahahahahaha"}', ("a",)),
    (object_of(a=STRING, b=WHOLE), '{"a": "' + 90 * "a", '{"a": "aaaaaaaaaaaa", "b": 0}', ("a",)),
    (object_of(a=BOUNDED), '{"a": "' + 90 * "a", '{"a": "aaaaaaaaaaaa"}', ("a",)),
    (object_of(a=LONG), '{"a": "' + 90 * "a", 15, ("a",)),
    (object_of(a=ENDED), '{"a": "' + 90 * "a", '{"a": "aaaaaaaaaaaaend"}', ("a",)),
    (object_of(a=WHOLE), '{"a": ' + 90 * "7", '{"a": 777777777777}', ("a",)),
    ({"type": "object"}, '{"' + 90 * "a", '{"aaaaaaaaaaaa": ""}', ()),
    (array_of(STRING), '["x", "' + 90 * "a", '["x", "aaaaaaaaaaaa"]', (1,)),
    (STRING, '"' + 90 * "a", '"aaaaaaaaaaaa"', ()),
]  # fmt: skip


@pytest.mark.parametrize(("what", "wanted", "expected", "path"), LEXEMES)
def test_a_loop_in_a_string_or_a_number_ends_it(
    what: Any, wanted: str, expected: Any, path: tuple[Any, ...]
) -> None:
    result = written(what, wanted)
    if isinstance(expected, int):  # as long as it has to be, and no longer
        (value,) = json.loads(result.text).values()
        assert len(value) == expected
    else:
        assert result.text == expected
    assert [each.path for each in result.notes] == [path]
    assert result.is_complete


FIVES, FEWER = '{"a": [5' + 90 * ", 5", '{"a": [5, 5, 5, 5, 5], "b": 0}'
MEMBERS = '[{"n": 1}, {"n": 1}, {"n": 1}, {"n": 1}]'
ITEMS: list[tuple[Any, str, str, tuple[Any, ...]]] = [
    (array_of(WHOLE), "[" + 90 * "1, 2, ", "[1, 2, 1, 2, 1, 2, 1]", ()),
    (array_of(WHOLE), "[" + 90 * "10, ", "[10, 10, 10, 10]", ()),
    (array_of(object_of(n=WHOLE)), "[" + 90 * '{"n": 10}, ', MEMBERS.replace("1", "10"), ()),
    (object_of(a=array_of(WHOLE), b=WHOLE), FIVES, FEWER, ("a",)),
    (array_of(array_of(WHOLE)), "[[1], [5" + 90 * ", 5", "[[1], [5, 5, 5, 5, 5]]", (1,)),
    (array_of(object_of(n=WHOLE)), "[" + 90 * '{"n": 1}, ', MEMBERS, ()),
    (array_of(array_of({})), 90 * "[", "[[[[[[[[[[[[]]]]]]]]]]]]", ()),
]  # fmt: skip


@pytest.mark.parametrize(("what", "wanted", "expected", "path"), ITEMS)
def test_a_loop_of_items_ends_the_array(
    what: Any, wanted: str, expected: str, path: tuple[Any, ...]
) -> None:
    result = written(what, wanted)
    json.loads(result.text)
    assert result.text == expected
    assert [each.path for each in result.notes] == [path]


def test_an_array_that_needs_more_items_gets_these_and_no_more() -> None:
    result = written(array_of(WHOLE, minItems=9), "[" + 90 * "5, ")
    assert len(json.loads(result.text)) == 9
    assert len(result.notes) == 1


def test_loops_in_two_items_of_an_array_end_it() -> None:
    one, another = '"' + 12 * "a", '"' + 12 * "b"
    result = written(array_of(STRING), f'[{one}", {another}", {one}')
    assert json.loads(result.text) == [12 * "a", 3 * "b"]
    assert [each.path for each in result.notes] == [(0,), (1,)]


def test_the_loop_is_told() -> None:
    (loop,) = written(object_of(a=array_of(STRING)), '{"a": ["\u00e9", "so ' + 90 * "ha ").notes
    assert loop == Loop(("a", 1), 15, " ha", 4)
    assert str(loop) == "a loop in a[1] was closed: from character 15 on, ' ha' stood there 4 times"


def test_what_follows_a_closed_part_may_loop_again() -> None:
    first, rest = '{"a": "' + 12 * "a", '", "b": "' + 90 * "b"
    result = written(object_of(a=STRING, b=STRING), first + rest)
    assert result.text == '{"a": "aaaaaaaaaaaa", "b": "bbb"}'  # a quarter is enough now
    assert [each.path for each in result.notes] == [("a",), ("b",)]


PROGRAMS: list[tuple[str, str]] = [
    ("x = '" + 90 * "ha", "x = 'hahahahahaha'"),
    ("f([1" + 90 * ", 1", "f([1, 1, 1, 1, ]"),
    ("x = 1" + 90 * "1", "x = 111111111111"),
    ("foo" + 90 * "foo", "foofoofoofoo"),
    ("# so " + 90 * "ha ", "# so ha ha ha ha"),
]


@pytest.mark.parametrize(("wanted", "begun"), PROGRAMS)
def test_strings_lists_numbers_names_and_comments_of_a_program_end(wanted: str, begun: str) -> None:
    result = written(cfgguide.Grammar.bundled("python"), wanted)
    ast.parse(result.text)
    assert result.text.startswith(begun)
    assert len(result.text) < len(begun) + 8
    assert result.notes[0].path == ()


BUDGETS = range(17, 40, 3)


@pytest.mark.parametrize("n", BUDGETS)
def test_a_loop_that_is_closed_keeps_the_budget(n: int) -> None:
    what = object_of(a=STRING, b=array_of(STRING, minItems=1))
    result = written(what, '{"a": "' + 90 * "a", n=n)
    assert result.is_complete
    assert len(result.token_ids) <= n
    json.loads(result.text)


# --- What is left alone --------------------------------------------------------------------------

ASKED_FOR = (json.dumps([0] * 40), json.dumps("ha" * 20), json.dumps(["no"] * 20), "1" * 19)


@pytest.mark.parametrize("text", ASKED_FOR)
def test_repetitions_that_people_ask_for_are_not_closed(text: str) -> None:
    result = written({}, text, repetition=True)
    assert (result.text, result.notes) == (text, ())


def test_nothing_is_closed_unless_that_is_asked_for() -> None:
    text = json.dumps({"a": "ha" * 200})
    for off in (False, cfgguide.Repetition(repeats=None)):
        assert written(object_of(a=STRING), text, repetition=off).text == text


# --- Free tokens ---------------------------------------------------------------------------------


def test_only_free_tokens_are_weighed() -> None:
    """Brackets, keys and quotes come again; letters that have come do not."""
    text = json.dumps([{"a": "xy"}, {"a": "xy"}])
    what = array_of(object_of(a=STRING))
    heavy = cfgguide.Repetition(repeats=None, penalty=1e12)
    result = written(what, text, repetition=heavy)
    first, second = json.loads(result.text)
    assert first == {"a": "xy"}
    assert second == {"a": ""}  # what was wanted had been written


def test_no_free_tokens_come_twice_in_a_row() -> None:
    result = written(STRING, '"abcabcabc', repetition=cfgguide.Repetition(no_repeat_ngram=3))
    assert result.text == '"abcab"'


def test_unlikely_free_tokens_are_left_out() -> None:
    """Of a model that gives a letter a tenth of the probability of another one."""
    index = index_of(STRING)
    logits = np.full(VOCABULARY.size, -20.0)
    logits[[ord('"'), ord("a"), ord("b")]] = np.log([1e-6, 1.0, 0.1])
    for least, expected in ((0.05, {"a", "b"}), (0.2, {"a"})):
        results = cfgguide.decoding.sample_many(
            lambda _: logits, [()] * 20, index=index, max_new_tokens=40, seed=0,
            repetition=cfgguide.Repetition(repeats=None, min_p=least),
        )  # fmt: skip
        assert {letter for each in results for letter in each.text.strip('"')} == expected


# --- Settings ------------------------------------------------------------------------------------

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"repeats": 1}, "repeats is 1; it is a whole number from 2 up"),
    ({"repeats": True}, "repeats is True; it is a whole number from 2 up"),
    ({"characters": 1.5}, "characters is 1.5; it is a whole number from 2 up"),
    ({"penalty": 0.5}, "penalty is 0.5; it is a number from 1 up"),
    ({"no_repeat_ngram": -1}, "no_repeat_ngram is -1; it is a whole number from 0 up"),
    ({"min_p": 2}, "min_p is 2; it is a number from 0 to 1"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_settings_out_of_range_are_told(options: dict[str, Any], message: str) -> None:
    with pytest.raises(GenerationError, match=f"{message}$"):
        cfgguide.Repetition(**options)


def test_an_option_that_is_none_is_told() -> None:
    with pytest.raises(GenerationError, match="repetition is 3; it is True, False, or"):
        written(STRING, '""', repetition=3)
