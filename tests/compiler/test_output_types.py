"""What a caller may name as what to write, and the values that texts of it become."""

from __future__ import annotations

import dataclasses
import json
import re
import typing
from typing import Any

import lark
import pydantic
import pytest
import typing_extensions

import cfgguide
from cfgguide.errors import CfgGuideError
from cfgguide.output_types import output_type
from cfgguide.shared_indexes import shared_index


class Fruit(pydantic.BaseModel):
    name: str
    count: int = pydantic.Field(ge=0)


@dataclasses.dataclass
class Point:
    x: int
    y: int


class Move(typing_extensions.TypedDict):
    by: typing.Literal["rook", "king"]


VOCABULARY = cfgguide.Vocabulary.of_bytes()


def double(x: int) -> int:
    return 2 * x


def eaten(fruit: Fruit, by: str = "me") -> str:
    return f"{fruit.name} by {by}"


def is_written(what: object, text: str) -> bool:
    guide = cfgguide.Guide(what, VOCABULARY)
    try:
        for byte in text.encode():
            guide.advance(byte)
    except cfgguide.TokenRejectedError:
        return False
    return guide.is_accepting


@pytest.mark.parametrize(
    ("what", "text", "value", "wrong"),
    [
        (Fruit, '{"name": "fig", "count": 2}', Fruit(name="fig", count=2), '{"name": "fig"}'),
        (list[Fruit], '[{"name": "", "count": 0}]', [Fruit(name="", count=0)], "[1]"),
        (Fruit | None, "null", None, "nil"),
        (Point, '{"x": 1, "y": -1}', Point(1, -1), '{"x": 1, "y": 2, "z": 3}'),
        (Move, '{"by": "king"}', {"by": "king"}, '{"by": "pawn"}'),
        (typing.Literal["a", 1], "1", 1, "2"),
        (int, "-12", -12, "1.5"),
        (dict[str, bool], '{"a": true}', {"a": True}, '{"a": 1}'),
        ({"type": "array", "items": {"type": "integer"}}, "[1, 2]", [1, 2], "[1,2]"),
        (re.compile("[0-9]{2}"), "42", "42", "4"),
        (["yes", "no"], "no", "no", "maybe"),
        (("yes", "no"), "yes", "yes", '"yes"'),
        ("json", '{"a": [1, null]}', {"a": [1, None]}, '{"a":[1]}'),
        (cfgguide.choice(["a", "b"]), "b", "b", "c"),
    ],
)
def test_what_can_be_written_and_its_value(what: Any, text: str, value: Any, wrong: str) -> None:
    assert is_written(what, text)
    assert output_type(what).parse(text) == value
    assert not is_written(what, wrong)


def test_sentences_of_a_grammar_become_larks_trees() -> None:
    grammar = cfgguide.Grammar('start: WORD+\nWORD: /[a-z]+/\n%ignore " "')
    tree = output_type(grammar).parse("a b")
    assert tree == lark.Lark(grammar.text, parser="lalr").parse("a b")
    assert output_type("sql").parse("SELECT 1").data == "statement"


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("yaml", "there is no bundled grammar 'yaml'; there are c, go, "),
        ("start + 1", "takes the text of a grammar"),
        (5, "5 does not say what to write; give a type"),
        (None, "None does not say what to write"),
        ([], "a list is a choice among texts"),
        ([1, 2], "a list is a choice among texts"),
        (Fruit(name="a", count=1), "does not say what to write"),
        (typing.Callable[[], int], "Pydantic makes no schema"),
        ({"type": "strnig"}, "type"),
    ],
)
def test_what_says_nothing_is_refused(what: Any, message: str) -> None:
    with pytest.raises(CfgGuideError, match=re.escape(message)):
        output_type(what)


def test_a_grammar_needs_a_tokenizer() -> None:
    with pytest.raises(CfgGuideError, match="give the tokenizer too, or an index"):
        cfgguide.Guide(cfgguide.Grammar('start: "a"'))


def test_the_same_is_compiled_once() -> None:
    first = shared_index(Fruit, VOCABULARY)
    assert shared_index(Fruit, VOCABULARY) is first
    assert shared_index(first, None) is first
    assert shared_index(Fruit, cfgguide.Vocabulary.of_bytes()) is first, "an equal vocabulary"
    assert shared_index(list[Fruit], VOCABULARY) is not first


def test_an_index_knows_what_it_was_compiled_from(tmp_path: Any) -> None:
    index = cfgguide.compile(Fruit, VOCABULARY)
    assert index.output_type is not None
    assert index.output_type.parse('{"name": "a", "count": 1}') == Fruit(name="a", count=1)
    index.save(tmp_path / "index")
    assert cfgguide.Index.load(tmp_path / "index", VOCABULARY).output_type is None


def test_types_have_json_as_it_is_dumped() -> None:
    value = {"name": "fig", "count": 2}
    assert is_written(Fruit, json.dumps(value))
    assert not is_written(Fruit, json.dumps(value, indent=1))


@pytest.mark.parametrize(
    ("name", "content", "text", "wrong"),
    [
        ("my.lark", 'start: "a" | start "b"', "abb", "b"),
        ("my.gbnf", 'root ::= "a" | "b"', "b", "ab"),
        ("my.json", '{"type": "integer", "minimum": 3}', "4", "2"),
    ],
)
@pytest.mark.parametrize("given_as", [str, lambda path: path])
def test_a_file_is_what_it_holds(tmp_path, name, content, text, wrong, given_as):
    path = tmp_path / name
    path.write_text(content)
    assert is_written(given_as(path), text)
    assert not is_written(given_as(path), wrong)
    path.write_text(content.replace('"a"', '"c"').replace("3", "5"))
    assert not is_written(given_as(path), text.replace("b", "a"))


@pytest.mark.parametrize(
    ("what", "text", "wrong"),
    [
        ('start: "a" | start "b"', "abb", "b"),
        ('?start: x | x "+" start\nx: "1"', "1+1", "1+"),
        ('{"type": "array", "items": {"type": "null"}}', "[null]", "[1]"),
    ],
)
def test_the_text_of_a_grammar_or_of_a_schema_is_one(what, text, wrong):
    assert is_written(what, text)
    assert not is_written(what, wrong)


@pytest.mark.parametrize(
    ("text", "returned"),
    [
        ('{"name": "double", "arguments": {"x": 4}}', 8),
        ('{"name": "eaten", "arguments": {"fruit": {"name": "fig", "count": 1}}}', "fig by me"),
    ],
)
def test_of_several_functions_a_model_calls_one(text, returned):
    assert is_written([double, eaten], text)
    assert not is_written([double, eaten], '{"name": "double", "arguments": {"fruit": 4}}')
    assert output_type([double, eaten]).parse(text).call() == returned


def test_a_function_that_makes_a_grammar_stands_for_it_without_parentheses():
    assert output_type(cfgguide.integer).grammar == cfgguide.integer()
    assert output_type(cfgguide.free_text).grammar == cfgguide.free_text()


def test_what_people_look_for_at_the_top_is_there():
    assert is_written(cfgguide.integer(1, 5), "4")
    assert not is_written(cfgguide.integer(1, 5), "6")
    assert is_written(cfgguide.number(0, 1), "0.5")
    assert callable(cfgguide.load_model)
    assert cfgguide.Grammar.from_file == cfgguide.Grammar.open
