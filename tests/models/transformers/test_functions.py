"""Functions as what to write and as tools, and texts that a validator refuses."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pydantic
import pytest
from pydantic import Field
from support.tiny_models import N_SMALL, random_model, small_tokenizer

import cfgguide
from cfgguide.errors import CfgGuideError, GenerationError, SchemaWarning
from cfgguide.models.transformers.generation import Generation
from cfgguide.schema.functions import tool_of

TEMPLATE = (
    "{% for tool in tools or [] %}{{ tool.function.name }}: {{ tool.function.description }}\n"
    "{% endfor %}"
    "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
    "{# <tool_call> #}{% if add_generation_prompt %}assistant:{% endif %}"
)
CHAT = [{"role": "user", "content": "Rain?"}]


def weather(city: Literal["Rome", "Oslo"], days: int = 3, *, unit: Literal["c", "f"] = "c") -> str:
    """Tell the weather.

    Parameters
    ----------
    city : str
        Where the weather
        is wanted.
    days : int
        How many days ahead.

    Returns
    -------
    str
    """
    return f"{city} {days} {unit}"


def add(first: Annotated[int, Field(ge=1, le=3)], second: Literal[1, 2]) -> int:
    """Add two numbers.

    Args:
        first (int): The one.
        second: The other.
    """
    return first + second


def written(prompt: Any, *args: Any, template: str | None = TEMPLATE, **options: Any) -> Any:
    tokenizer = small_tokenizer()
    tokenizer.chat_template = template
    model = random_model(N_SMALL + 5)
    options = {"max_new_tokens": 120, "seed": 1, "temperature": 1, **options}
    return cfgguide.generate(model, prompt, *args, tokenizer=tokenizer, **options)


def test_a_function_is_a_tool() -> None:
    tool = tool_of(weather)
    assert (tool["name"], tool["description"]) == ("weather", "Tell the weather.")
    said = {
        name: part.get("description") for name, part in tool["parameters"]["properties"].items()
    }
    assert said == {
        "city": "Where the weather is wanted.",
        "days": "How many days ahead.",
        "unit": None,
    }
    assert tool["parameters"]["required"] == ["city"]


def test_docstrings_of_other_forms_are_read() -> None:
    def sphinx(x: int, y: int) -> None:
        """Draw.

        :param x: From the left.
        :param int y: From the top.
        """

    for function, said in (
        (add, ["The one.", "The other."]),
        (sphinx, ["From the left.", "From the top."]),
    ):
        properties = tool_of(function)["parameters"]["properties"].values()
        assert [each["description"] for each in properties] == said


def test_a_function_is_a_type() -> None:
    generation: Generation[Any] = written("a", weather)
    call = generation.parsed
    assert call.name == "weather"
    assert call.arguments == {"days": 3, "unit": "c", **json.loads(generation.text)}
    assert call.call().startswith(call.arguments["city"])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("mark", ["<tool_call>", "<|tool_call>", "<start_function_call>"])
def test_a_model_calls_functions(seed: int, mark: str) -> None:
    options: dict[str, Any] = {"template": TEMPLATE.replace("<tool_call>", mark), "seed": seed}
    message = written(CHAT, tools=[weather, add], tool_choice="required", **options).parsed
    assert message.calls
    for call in message.calls:
        value = {"weather": weather, "add": add}[call.name](**call.arguments)
        assert call.call() == value


def test_one_function_is_chosen_as_openai_has_it() -> None:
    chosen = {"type": "function", "function": {"name": "add"}}
    (call,) = written(CHAT, tools=[weather, add], tool_choice=chosen).parsed.calls
    assert call.call() == call.arguments["first"] + call.arguments["second"]


def test_the_template_is_told_of_the_tools() -> None:
    told = written(CHAT, tools=[add], tool_choice="required", max_new_tokens=100)
    grammar = cfgguide.tools([add], format="qwen", choice="required")
    same = written("add: Add two numbers.\nuser: Rain?\nassistant:", grammar, max_new_tokens=100)
    assert told.text == same.text


def test_arguments_have_their_types() -> None:
    class Place(pydantic.BaseModel):
        x: Literal[1, 2]

    def go(to: Place) -> int:
        return to.x

    go.__annotations__["to"] = Place  # a class of this test, which no module has
    (call,) = written(CHAT, tools=[go], tool_choice="go").parsed.calls
    assert isinstance(call.arguments["to"], Place)
    assert call.call() == call.arguments["to"].x


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tools": [weather], "template": None}, "no calls of tools in a format that is known"),
        ({"tools": [weather], "template": "{{ messages }}"}, "format that is known"),
        ({"tools": [3]}, "a tool is a mapping, a function or a Pydantic model"),
        ({"tools": [weather], "tool_choice": "sun"}, "choice is 'sun'"),
        ({}, "None does not say what to write"),
        ({"what": weather, "tools": [weather]}, "say what to write, or which tools"),
        ({"tools": [lambda *values: values]}, "a model writes the names of arguments"),
    ],
)
def test_wrong_tools_are_told(options: dict[str, Any], message: str) -> None:
    with pytest.raises(CfgGuideError, match=message):
        written(CHAT, **options)


CALL = '<tool_call>\n{"name": "add", "arguments": {"first": 1, "second": 2}}\n</tool_call>'


def test_a_grammar_of_functions_calls_them() -> None:
    grammar = cfgguide.tools([weather, add], format="hermes", choice="required")
    (call, *_) = written("Rain?", grammar).parsed.calls
    assert call.call() == {"weather": weather, "add": add}[call.name](**call.arguments)
    for thoughtful in (grammar, cfgguide.thinking(grammar, is_optional=True)):
        assert thoughtful.parse(CALL).calls[0].call() == 3


def test_a_function_beside_a_tool_that_takes_a_grammar_is_called() -> None:
    letters = {"name": "say", "parameters": {"properties": {"text": cfgguide.regex("[a-z]+")}}}
    grammar = cfgguide.tools([letters, add], format="hermes")
    assert grammar.parse(CALL).calls[0].call() == 3


def test_equal_grammars_call_their_own_functions() -> None:
    def adding(number: int) -> Any:
        def add(first: int, second: int) -> int:
            return first + second + number

        return add

    grammars = [cfgguide.tools([adding(n)], format="hermes", choice="add") for n in (0, 10)]
    assert grammars[0] == grammars[1]
    assert hash(grammars[0]) == hash(grammars[1])
    for grammar, n in zip(grammars, (0, 10), strict=True):
        call = written("1?", grammar).parsed.calls[0]
        assert call.call() == call.arguments["first"] + call.arguments["second"] + n


def test_tools_need_a_chat() -> None:
    with pytest.raises(GenerationError, match="give the prompt as a list of messages"):
        written("Rain?", tools=[weather])


class Even(pydantic.BaseModel):
    number: Annotated[int, Field(ge=1, le=9)]

    @pydantic.field_validator("number")
    @classmethod
    def is_even(cls, number: int) -> int:
        if number % 2:
            raise ValueError("the number is odd")
        return number


def test_what_a_validator_refuses_is_written_again() -> None:
    with pytest.warns(SchemaWarning, match="/properties/number: Even.is_even decides it"):
        cfgguide.compile(Even, small_tokenizer())
    texts = [(seed, written("a", Even, seed=seed)) for seed in range(8)]
    seed, odd = next((seed, each) for seed, each in texts if json.loads(each.text)["number"] % 2)
    with pytest.raises(GenerationError, match=r"the type refuses (?s:.*)the number is odd"):
        _ = odd.parsed
    for prompt in ("a", CHAT):
        assert written(prompt, Even, seed=seed, retries=20).parsed.number % 2 == 0
