"""The value of each beginning of a JSON text: it never contradicts that of the whole."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import random
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

import pydantic
import pytest
from support import partial_laws
from support.ci import or_in_ci
from support.schemas import random_schema, random_value
from typing_extensions import TypedDict

import cfgguide
from cfgguide.errors import CfgGuideError
from cfgguide.output_types import output_type
from cfgguide.schema.json_reading import JsonReading

BYTES = cfgguide.Vocabulary.of_bytes()


def partials_of(text: str, what: Any = None, *, cut: random.Random | None = None) -> Any:
    """The values of the beginnings of a text, by one character or by some."""
    reading = JsonReading() if what is None else output_type(what).reading()
    place = 0
    while place < len(text):
        end = place + (1 if cut is None else cut.randrange(1, 9))
        reading.feed(text[place:end])
        place = end
        yield reading.partial(None, None)
    # Of a number, only the end of the text says that it is whole.
    reading.feed(" ")
    yield reading.partial(None, None)


def spelled(value: Any, rng: random.Random) -> str:
    """JSON with any white space and any escapes."""
    if isinstance(value, str):
        units = value.encode("utf-16-be", "surrogatepass")
        escaped = "".join(f"\\u{units[i]:02x}{units[i + 1]:02X}" for i in range(0, len(units), 2))
        plain = json.dumps(value, ensure_ascii=False)[1:-1]
        return f'"{rng.choice([escaped, plain, plain, json.dumps(value)[1:-1]])}"'
    space = rng.choice(["", " ", "\n\t"])
    if isinstance(value, list):
        return f"[{space}{f'{space},'.join(spelled(each, rng) for each in value)}{space}]"
    if isinstance(value, dict):
        members = (
            f"{spelled(name, rng)}:{space}{spelled(each, rng)}" for name, each in value.items()
        )
        return f"{space}{{{f',{space}'.join(members)}{space}}}"
    return json.dumps(value)


def parts(value: Any) -> list[Any]:
    """A value and those in it that are not too long."""
    inner = value if isinstance(value, list) else value.values() if isinstance(value, dict) else []
    found = [value] if 20 < len(json.dumps(value)) < 600 else []
    return found + [part for each in inner for part in parts(each)]


def corpus() -> list[Any]:
    """The values in the JSON files of the tests: conversations, schemas, tables of cases."""
    folder = Path(__file__).parents[1]
    files = sorted(folder.rglob("*.json"))
    return [part for path in files for part in parts(json.loads(path.read_text("utf-8")))]


def check_documents(n: int, rng: random.Random) -> None:
    real = corpus()
    values = rng.sample(real, min(n // 2, len(real)))
    values += [random_value(rng, 4) for _ in range(n - len(values))]
    for value in values:
        text = rng.choice([json.dumps(value), spelled(value, rng)])
        assert json.loads(text) == value
        partial_laws.check(partials_of(text), value)
        partial_laws.check(partials_of(text, cut=rng), value)


def test_no_beginning_of_a_document_contradicts_the_whole():
    check_documents(40, random.Random(1))


@pytest.mark.slow
def test_no_beginning_of_many_documents_contradicts_the_whole():
    check_documents(or_in_ci(2000, 6), random.Random(2))


@pytest.mark.parametrize(
    ("text", "value", "growing"),
    [
        ("", None, ()),
        ("{", {}, ()),
        ('{"a', {}, ()),
        ('{"a":', {}, ("a",)),
        ('{"a": "x', {"a": "x"}, ("a",)),
        ('{"a": "x"', {"a": "x"}, ()),
        ('{"a": 1', {}, ("a",)),
        ('{"a": 1,', {"a": 1}, ()),
        ('{"a": tru', {}, ("a",)),
        ('{"a": true', {"a": True}, ()),
        ("[", [], (0,)),
        ("[]", [], None),
        ("[[1, 2], ", [[1, 2]], (1,)),
        ('["\\', [""], (0,)),
        ('["\\u00e', [""], (0,)),
        ('["\\u00e9', ["é"], (0,)),
        ('["\\ud834', [""], (0,)),
        ('["\\ud834\\u', [""], (0,)),
        ('["\\ud834\\udd1', [""], (0,)),
        ('["\\ud834\\udd1e', ["\U0001d11e"], (0,)),
        ('["\\ud834x', ["\ud834x"], (0,)),
        ('["\\ud834\\n', ["\ud834\n"], (0,)),
        ('["\\ud834\\ud834\\udd1e', ["\ud834\U0001d11e"], (0,)),
        ('["\\ud834"', ["\ud834"], ()),
        ('{"a": {"b": [{}, "c', {"a": {"b": [{}, "c"]}}, ("a", "b", 1)),
        ("12", None, ()),
        ("12 ", 12, None),
    ],
)
def test_the_value_of_a_beginning(text, value, growing):
    reading = JsonReading()
    reading.feed(text)
    partial = reading.partial(None, None)
    assert (partial.value, partial.growing) == (value, growing)


def test_a_value_belongs_to_who_asked_for_it():
    reading = JsonReading()
    reading.feed('{"a": [1, ')
    first = reading.partial(None, None)
    first.value["a"].append("mine")
    reading.feed('2, "')
    assert reading.partial(None, None).value == {"a": [1, 2, ""]}
    assert first.value == {"a": [1, "mine"]}


# --- Types ---------------------------------------------------------------------------------------


class Mood(enum.Enum):
    GOOD = "good"
    GOODISH = "goodish"


class Address(pydantic.BaseModel):
    city: str
    since: datetime.date | None
    price: decimal.Decimal = pydantic.Field(ge=0, le=9)


@dataclasses.dataclass
class Point:
    x: int
    label: str | None = "none"


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]
    name: str


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]
    name: str
    friends: list[Pet]


Pet = Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]
Dog.model_rebuild()


class Film(TypedDict):
    title: str
    year: NotRequired[int]


class Tags(pydantic.RootModel[list[str]]):
    pass


class Upper(pydantic.BaseModel):
    word: str
    words: list[str]
    note: Annotated[str, pydantic.StringConstraints(strip_whitespace=True)]

    @pydantic.field_validator("word")
    @classmethod
    def upper(cls, word: str) -> str:
        return word.upper()

    @pydantic.field_validator("words")
    @classmethod
    def reverse(cls, words: list[str]) -> list[str]:
        return words[::-1]


class Everything(pydantic.BaseModel):
    name: str = pydantic.Field(alias="full name")
    mood: Mood
    home: Address
    others: list[Address]
    point: Point
    pet: Pet
    film: Film
    tags: Tags
    pair: tuple[bool, str]
    seen: set[int]
    other: Address | Point | None = None
    table: dict[str, str] = {}  # Pydantic copies it
    anything: Any = None


WHOLE = {
    "full name": 'A"\\né𝄞',
    "mood": "goodish",
    "home": {"city": "Rome", "since": "2020-02-03", "price": 1.50},
    "others": [
        {"city": "Oslo", "since": None, "price": 2},
        {"city": "", "since": None, "price": 3},
    ],
    "point": {"x": 12, "label": "here"},
    "pet": {"kind": "dog", "name": "Rex", "friends": [{"kind": "cat", "name": "Tom"}]},
    "film": {"title": "Alien", "year": 1979},
    "tags": ["a", "bc"],
    "pair": [True, "yes"],
    "seen": [1, 2, 3],
    "other": {"city": "Rio", "since": None, "price": 0},
    "table": {"k": "v", "l": ""},
    "anything": {"deep": [None, "text"]},
}
UPPER = {"word": "loud", "words": ["a", "b"], "note": " x "}


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("what", "value"),
    [
        (Everything, WHOLE),
        (Upper, UPPER),
        (list[Everything], [WHOLE, WHOLE]),
        (dict[str, Upper], {"a": UPPER, "b": UPPER}),
        (Tags, ["a", "b"]),
        (str, "text"),
        (Film, {"title": "A"}),
        (list[Pet], [WHOLE["pet"], {"kind": "cat", "name": "T"}]),
        (list[int | str], [1, "ab", "1"]),
        (Literal["good", "goodish"], "goodish"),
    ],
    ids=repr,
)
def test_no_beginning_of_a_typed_document_contradicts_the_whole(what, value):
    parse = pydantic.TypeAdapter(what).validate_json
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        partial_laws.check(partials_of(text, what), parse(text), value)


def after(what: Any, text: str) -> Any:
    """The value of a beginning."""
    reading = output_type(what).reading()
    reading.feed(text)
    return reading.partial(None, None).value


@pytest.mark.parametrize(
    ("what", "text", "expected"),
    [
        (Address, '{"city": "Ro', {"city": "Ro", "since": None, "price": None}),
        (Address, '{"city": "R", "since": "2020-0', {"city": "R", "since": None, "price": None}),
        (Point, '{"x": 1, "label": "he', {"x": 1, "label": "he"}),
        (Film, '{"title": "Al', {"title": "Al"}),
        (Tags, '["a", "b', {"root": ["a", "b"]}),
        # A tag that has come tells the alternative.
        (dict[str, Pet], '{"p": {"kind": "ca', {}),
        (dict[str, Pet], '{"p": {"kind": "cat"', {"p": {"kind": "cat", "name": None}}),
        (dict[str, Pet], '{"p": {"kind": "cat", "name": "T', {"p": {"kind": "cat", "name": "T"}}),
        (dict[str, Cat | Point], '{"p": {"kind": "cat", "name": "T', {}),
        # A function may change what it is given.
        (Upper, '{"word": "lo', {"word": None, "words": None, "note": None}),
        (Upper, '{"word": "lo", "words": ["a", ', {"word": "LO", "words": None, "note": None}),
        (Upper, '{"words": ["a", "b"], "n', {"word": None, "words": ["b", "a"], "note": None}),
        (Upper, '{"note": " x', {"word": None, "words": None, "note": None}),
        (set[str], '["a", "b', {"a"}),
        (list[Mood], '["good", "good', [Mood.GOOD]),
        (datetime.date, '"2020-02-03', None),
    ],
)  # fmt: skip
def test_what_of_a_type_is_shown(what, text, expected):
    found = after(what, text)
    if isinstance(found, dict):
        found = {name: partial_laws.members_of(each) or each for name, each in found.items()}
    is_named = isinstance(found, pydantic.BaseModel) or dataclasses.is_dataclass(found)
    assert (dict(vars(found)) if is_named else found) == expected


def test_the_fields_of_a_partial_model_that_have_come_are_set():
    found = after(Everything, '{"full name": "A", "mood": "good", "home": {"city": "R')
    assert found.model_fields_set == {"name", "mood", "home"}
    assert found.home.model_fields_set == {"city"}
    assert isinstance(found.home, Address)
    assert repr(found.home) == "Address(city='R', since=None, price=None)"


def test_parts_that_are_whole_are_validated_once():
    n_validated = 0

    class Item(pydantic.BaseModel):
        n: int

        @pydantic.model_validator(mode="after")
        def count(self) -> Item:
            nonlocal n_validated
            n_validated += 1
            return self

    for partial in partials_of(json.dumps([{"n": n} for n in range(50)]), list[Item]):
        assert partial.growing is None or len(partial.value or []) <= 50
    assert n_validated == 100  # once as parts, and once all together


# --- The machine tells what a schema says --------------------------------------------------------


def walk(what: Any, rng: random.Random, n_tokens: int = 80) -> tuple[list[Any], str]:
    """The partial values of a random text, token by token; and the text."""
    guide = cfgguide.Guide(what, BYTES)
    found = [guide.partial()]
    for left in range(n_tokens, 0, -1):
        guide.advance(int(rng.choice(guide.allowed_within(left))))
        found.append(guide.partial())
        if guide.is_finished:
            break
    return found, guide.text.decode()


def check_schemas(n: int, rng: random.Random) -> None:
    n_checked = 0
    while n_checked < n:
        schema = random_schema(rng)
        try:
            found, text = walk(schema, rng)
        except CfgGuideError:  # it allows no value, or none so short
            continue
        partial_laws.check(found, json.loads(text))
        n_checked += 1


def test_no_beginning_of_a_random_text_of_a_schema_contradicts_the_whole():
    check_schemas(15, random.Random(3))


@pytest.mark.slow
def test_no_beginning_of_many_texts_of_schemas_contradicts_the_whole():
    check_schemas(or_in_ci(500, 6), random.Random(4))


@pytest.mark.slow
@pytest.mark.parametrize(
    "what", [Address, Point, list[Pet], Film, Tags, Upper, list[Mood]], ids=repr
)
def test_no_beginning_of_a_random_text_of_a_type_contradicts_the_whole(what):
    rng = random.Random(5)
    for _ in range(or_in_ci(60, 6)):
        try:
            found, text = walk(what, rng)
            final = pydantic.TypeAdapter(what).validate_json(text)
        except pydantic.ValidationError:  # such as half of a pair of surrogates
            continue
        partial_laws.check(found, final, json.loads(text))


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"items": {"enum": ["yes", "yesterday"]}}, '["yes', []),
        ({"items": {"enum": ["yes", "yesterday"]}}, '["yes"', ["yes"]),
        ({"items": {"type": "string"}}, '["yes', ["yes"]),
        ({"items": {"anyOf": [{"const": "yes"}, {"type": "string"}]}}, '["yes', ["yes"]),
        ({"items": {"pattern": "^y"}}, '["yes', ["yes"]),
    ],
)
def test_one_of_a_list_of_texts_is_shown_when_it_is_whole(schema, text, value):
    guide = cfgguide.Guide({"type": "array", **schema}, BYTES)
    for byte in text.encode():
        guide.advance(byte)
    assert guide.partial().value == value


def test_a_guide_that_goes_back_reads_again():
    guide = cfgguide.Guide({"type": "array"}, BYTES)
    for byte in b'["a", "b':
        guide.advance(byte)
    other = guide.copy()
    assert guide.partial().value == other.partial().value == ["a", "b"]
    guide.rollback(2)
    guide.advance(ord('"'))
    guide.advance(ord("c"))
    assert guide.partial().value == ["a", "c"]
    assert other.partial().value == ["a", "b"]
