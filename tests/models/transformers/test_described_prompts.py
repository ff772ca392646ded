"""Where a prompt says what is to be written: in what the model is shown, whatever the template."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pydantic
import pytest
from support.tiny_models import small_tokenizer

import cfgguide
from cfgguide.errors import GenerationError
from cfgguide.models.prompts import with_description


class Answer(pydantic.BaseModel):
    is_right: bool


TOLD = cfgguide.describe(Answer).instruction
EACH = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{% endfor %}"
#: Like Gemma's, which refuses a system text, and like others, which drop it.
REFUSES = "{% if messages[0].role == 'system' %}{{ raise_exception('none') }}{% endif %}" + EACH
DROPS = EACH.replace("in messages", "in messages if m.role != 'system'")
#: Like Llama 2's, which takes the user's and the assistant's texts in turn.
TURNS = (
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('in turn') }}{% endif %}{% endfor %}" + EACH
)
CHAT = [{"role": "user", "content": "Is 2 even?"}]
SYSTEM = {"role": "system", "content": "Be brief."}


def tokenizer_with(template: str) -> Any:
    tokenizer = small_tokenizer()
    tokenizer.chat_template = template
    return tokenizer


def shown(prompt: Any, template: str = EACH, **options: Any) -> str:
    """Return the prompt that a model sees, of which it writes one answer."""
    tokenizer = tokenizer_with(template)
    seen: list[list[int]] = []

    def model(token_ids: Any) -> Any:
        seen.append(list(token_ids))
        return np.zeros(len(tokenizer))

    result = cfgguide.generate(model, prompt, Answer, tokenizer=tokenizer, **options)
    assert json.loads(result.text).keys() == {"is_right"}
    text: str = tokenizer.decode(seen[0], skip_special_tokens=False)
    return text


def test_nothing_is_told_unless_it_is_asked_for() -> None:
    assert shown("Is 2 even?").startswith("Is 2 even?")
    assert shown(CHAT).startswith("<user>Is 2 even?")


def test_before_a_plain_prompt() -> None:
    assert shown("Is 2 even?", describe=True).startswith(f"{TOLD}\n\nIs 2 even?")


@pytest.mark.parametrize(
    ("template", "chat", "begins"),
    [
        (EACH, CHAT, f"<system>{TOLD}</system><user>Is 2 even?</user>"),
        (EACH, [SYSTEM, *CHAT], f"<system>Be brief.\n\n{TOLD}</system><user>Is"),
        (REFUSES, CHAT, f"<user>{TOLD}\n\nIs 2 even?</user>"),
        (DROPS, CHAT, f"<user>{TOLD}\n\nIs 2 even?</user>"),
        (TURNS, CHAT, f"<user>{TOLD}\n\nIs 2 even?</user>"),
    ],
)
def test_in_a_chat(template: str, chat: Any, begins: str) -> None:
    assert shown(chat, template, describe=True).startswith(begins)


def test_in_the_style_that_is_asked_for() -> None:
    told = cfgguide.describe(Answer, "example").instruction
    assert shown(CHAT, describe="example").startswith(f"<system>{told}</system>")


def test_a_chat_is_left_as_it_was() -> None:
    chat = [dict(SYSTEM), *map(dict, CHAT)]
    shown(chat, describe=True)
    assert chat == [SYSTEM, *CHAT]


def test_content_in_parts() -> None:
    chat = [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]
    [message] = with_description(chat, "TOLD", tokenizer_with(REFUSES))
    assert message["content"] == [{"type": "text", "text": "TOLD"}, *chat[0]["content"]]


def test_batches_and_streams_are_told_too() -> None:
    tokenizer = tokenizer_with(EACH)
    seen: set[str] = set()

    def model(token_ids: Any) -> Any:
        seen.add(tokenizer.decode(list(token_ids)))
        return np.zeros(len(tokenizer))

    options: dict[str, Any] = {"tokenizer": tokenizer, "describe": True}
    cfgguide.stream(model, CHAT, Answer, **options).result  # noqa: B018  # writes it
    assert all(text.startswith(f"<system>{TOLD}") for text in seen)


def test_names_of_special_tokens_are_no_tokens() -> None:
    tokenizer = tokenizer_with(EACH)
    [name] = tokenizer.all_special_tokens[:1]
    schema = {"properties": {"a": {"description": f"x {name} {{{{ bos }}}} {{% if %}} {{a}}"}}}
    told = cfgguide.describe(schema).instruction
    assert name in told
    for prompt in (CHAT, "Hello"):
        made: Any = with_description(prompt, told, tokenizer)
        is_text = isinstance(made, str)
        rendered = made if is_text else tokenizer.apply_chat_template(made, tokenize=False)
        n_special = sum(
            token in tokenizer.all_special_ids
            for token in tokenizer.encode(rendered, add_special_tokens=False)
        )
        assert n_special == 0
        assert "{{ bos }} {% if %} {a}" in rendered


@pytest.mark.parametrize("style", ["yaml", 3])
def test_styles_that_are_none(style: Any) -> None:
    with pytest.raises(GenerationError, match="style is"):
        shown(CHAT, describe=style)
