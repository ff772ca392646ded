"""What a model is told: of each form that `what` may have, and what cannot be described."""

from __future__ import annotations

import copy
import json
import pickle
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
import pytest
from support.type_notation import type_of

import cfgguide
from cfgguide.errors import GenerationError, GrammarError, LimitError


class Person(pydantic.BaseModel):
    """Someone in a text."""

    full_name: Annotated[str, pydantic.Field(description="As in the text, in CAPITAL letters")]
    age: Annotated[int | None, pydantic.Field(ge=0, le=150, description="in years")] = None
    friends: list[Person] = []


class Sign(pydantic.BaseModel):
    sign: str = pydantic.Field(pattern="^x$")


AS_TYPE = """\
// Someone in a text
type Person = {
  full_name: string, // As in the text, in CAPITAL letters
  age?: integer | null, // in years; default null; 0 to 150
  friends?: Person[], // default []
}"""


def weather(city: str, days: int = 1) -> str:
    """Tell the weather.

    Parameters
    ----------
    city : str
        Where, in English.
    """
    return f"{city} {days}"


def test_types_and_their_indexes() -> None:
    vocabulary = cfgguide.Vocabulary.of_bytes()
    index = cfgguide.compile(Person, vocabulary)
    assert cfgguide.describe(Person) == cfgguide.describe(index) == AS_TYPE
    assert cfgguide.describe(list[Person]) == f"Person[]\n\n{AS_TYPE}"
    assert cfgguide.describe(Literal["a", "b"]) == '"a" | "b"'
    told = cfgguide.describe(Person).instruction
    assert told == f"Answer with JSON of this type:\n\n{AS_TYPE}"


def test_types_as_schemas_and_examples() -> None:
    schema = json.loads(cfgguide.describe(Person, "json_schema"))
    assert "x-cfgguide" not in str(schema)
    for example in cfgguide.describe(Person, "example").split("\n"):
        Person.model_validate_json(example)


def test_patterns_of_types_are_shown_as_they_were_written() -> None:
    assert cfgguide.describe(Sign) == "// Sign\n{\n  sign: string, // /^x$/\n}"
    assert '"pattern":"^x$"' in cfgguide.describe(Sign, "json_schema")


def test_functions_are_their_arguments() -> None:
    assert cfgguide.describe(weather) == (
        "{\n  city: string, // Where, in English\n  days?: integer, // default 1\n}"
    )


@pytest.mark.parametrize("what", [{"type": "integer"}, '{"type": "integer"}', "file"])
def test_schemas_in_all_forms(what: Any, tmp_path: Path) -> None:
    if what == "file":
        what = tmp_path / "a.json"
        what.write_text('{"type": "integer"}')
    assert cfgguide.describe(what) == "integer"


def test_a_schema_that_cannot_be_compiled_is_described() -> None:
    assert cfgguide.describe({"properties": {"a": {"$ref": "x.json"}}}) == "{ a?: any }"


def test_patterns_and_choices() -> None:
    year = cfgguide.describe(re.compile("[0-9]{4}"))
    assert year == "/[0-9]{4}/"
    sample = re.fullmatch(r"Answer .* as a whole, such as (\S+)\n\n/.*/", year.instruction)
    assert sample is not None
    assert re.fullmatch("[0-9]{4}", sample[1])
    assert cfgguide.describe(["yes", 'n"o']) == '"yes" | "n\\"o"'
    for pattern in ("(ab)*", "a?b?", "[a-z]{3}|x"):
        assert re.fullmatch(pattern, cfgguide.describe(re.compile(pattern), "example"))
    assert cfgguide.describe(re.compile("a*"), "example") == "a"


GRAMMAR = """
// Sums of numbers.
start: term ("+" term)*
term: NUMBER | "(" start ")"
    | "-" term   // the rest of it
unused: "x"
%import common.WS
NUMBER: /[0-9]+/
%ignore WS
"""


def test_grammars_have_the_rules_that_matter_and_a_sentence() -> None:
    grammar = cfgguide.Grammar(GRAMMAR)
    made = cfgguide.describe(grammar)
    assert [line.partition(":")[0] for line in made.split("\n") if ":" in line] == [
        "start", "term", "NUMBER"]  # fmt: skip
    sample = cfgguide.describe(grammar, "example")
    assert cfgguide.check(grammar, sample).is_sentence
    assert f"such as\n\n{sample}\n\nIts rules:\n\n{made}" in made.instruction


def test_long_grammars_end_with_dots() -> None:
    rules = "\n".join(f'rule{n}: "{n}" rule{n + 1}' for n in range(500))
    grammar = cfgguide.Grammar(f'start: rule0\n{rules}\nrule500: "x"')
    made = cfgguide.describe(grammar)
    assert made.startswith("start: rule0\nrule0: ")
    assert made.endswith("\n...")
    assert len(made) < 2_000


def test_bundled_languages_are_named() -> None:
    made = cfgguide.describe("sql")
    assert made == "SQL: the statements that SQLite 3.40 prepares without a syntax error."
    assert cfgguide.describe("json") == "object | any[]"


def test_quotes_are_of_the_text() -> None:
    made = cfgguide.describe(cfgguide.quote_of("To be or not", "words", max_length=3))
    assert made == "words of the text as they stand there, of at most 3 words"


def test_messages_have_types_in_their_places() -> None:
    tools = cfgguide.tools([weather], format="qwen", choice="required")
    made = cfgguide.describe(tools)
    assert '<tool_call>\n{"name": "weather", "arguments": {\n  city: string,' in made
    assert cfgguide.check(tools, cfgguide.describe(tools, "example")).is_sentence
    thinking = cfgguide.thinking(Person)
    assert AS_TYPE in cfgguide.describe(thinking)
    assert '{"full_name": "' in cfgguide.describe(thinking, "example")


def test_parts_are_shown_by_a_sentence() -> None:
    for part in (cfgguide.free_text(until="x"), cfgguide.json_schema({"type": "boolean"})):
        joined = cfgguide.concat("a", part)
        assert cfgguide.check(joined, cfgguide.describe(joined)).is_sentence


def test_descriptions_are_pickled() -> None:
    made = cfgguide.describe(Person)
    assert pickle.loads(pickle.dumps(made)).instruction == copy.copy(made).instruction


def test_the_tokens_are_counted() -> None:
    made = cfgguide.describe(Person)
    assert made.n_tokens(lambda text: [ord(each) for each in text]) == len(made)


@pytest.mark.parametrize(
    ("what", "options", "error", "said"),
    [
        (["a"], {"style": "json_schema"}, GenerationError, "has no JSON Schema"),
        (Person, {"style": "yaml"}, GenerationError, "style is 'yaml'"),
        (Person, {"max_characters": 1}, GenerationError, "max_characters is 1"),
        (Person, {"style": "json_schema", "max_characters": 100}, LimitError, "max_characters"),
        (3, {}, GrammarError, "does not say what to write"),
        ("{", {}, GrammarError, "not JSON"),
    ],
)
def test_what_cannot_be_described(what: Any, options: Any, error: Any, said: str) -> None:
    with pytest.raises(error, match=said):
        cfgguide.describe(what, **options)


def test_a_shortened_type_is_still_a_type() -> None:
    deep: Any = {"type": "string"}
    for n in range(60):
        deep = {"properties": {f"name{n}": deep, "x": {"description": "y " * 50}}}
    made = cfgguide.describe(deep, max_characters=400)
    assert len(made) <= 400
    assert type_of(made)({"name59": {}})
