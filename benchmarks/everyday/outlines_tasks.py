"""The tasks with Outlines."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

import outlines
import pydantic

from everyday.given import (
    DATE,
    LABELS,
    MAX_NEW_TOKENS,
    SCHEMA,
    SUM_LARK,
    Age,
    Review,
    Reviews,
    news,
    weather,
)

DISTRIBUTION = "outlines"
CANNOT = {
    "a_stream": "streams from some servers and llama.cpp, not from transformers",
    "a_query": "has no grammar of SQL",
}


def set_up(model: Any, tokenizer: Any) -> dict[str, Any]:
    return {"wrapped": outlines.from_transformers(model, tokenizer)}


def an_object(wrapped: Any, prompt: str) -> Any:
    return Review.model_validate_json(wrapped(prompt, Review, max_new_tokens=MAX_NEW_TOKENS))


def a_label(wrapped: Any, prompt: str) -> Any:
    return wrapped(prompt, Literal[*LABELS], max_new_tokens=MAX_NEW_TOKENS)


def a_number(wrapped: Any, prompt: str) -> Any:
    age = outlines.json_schema(pydantic.TypeAdapter(Age).json_schema())
    return int(wrapped(prompt, age, max_new_tokens=MAX_NEW_TOKENS))


def a_pattern(wrapped: Any, prompt: str) -> Any:
    return wrapped(prompt, outlines.regex(DATE), max_new_tokens=MAX_NEW_TOKENS)


def a_grammar(wrapped: Any, prompt: str) -> Any:
    return wrapped(prompt, outlines.cfg(SUM_LARK), max_new_tokens=MAX_NEW_TOKENS)


def a_schema(wrapped: Any, chat: Any) -> Any:
    prompt = outlines.inputs.Chat(chat)
    text = wrapped(prompt, outlines.json_schema(SCHEMA), max_new_tokens=MAX_NEW_TOKENS)
    return json.loads(text)


def objects(wrapped: Any, prompt: str) -> Any:
    reviews = pydantic.TypeAdapter(Reviews)
    schema = outlines.json_schema(reviews.json_schema())
    return reviews.validate_json(wrapped(prompt, schema, max_new_tokens=2 * MAX_NEW_TOKENS))


def a_tool(wrapped: Any, prompt: str) -> Any:
    tools = {each.__name__: pydantic.TypeAdapter(each) for each in (weather, news)}
    calls = [
        {
            "type": "object",
            "properties": {"name": {"const": name}, "arguments": tool.json_schema()},
            "required": ["name", "arguments"],
        }
        for name, tool in tools.items()
    ]
    schema = outlines.json_schema({"anyOf": calls})
    call = json.loads(wrapped(prompt, schema, max_new_tokens=MAX_NEW_TOKENS))
    return tools[call["name"]].validate_python(call["arguments"])


def a_batch(wrapped: Any, prompts: list[str]) -> Any:
    texts = wrapped.batch(prompts, Review, max_new_tokens=MAX_NEW_TOKENS)
    return [Review.model_validate_json(each) for each in texts]


def samples(wrapped: Any, prompt: str) -> Any:
    texts = wrapped(
        prompt, Review, num_return_sequences=3, do_sample=True, max_new_tokens=MAX_NEW_TOKENS
    )
    return [Review.model_validate_json(each) for each in texts]


def thoughts(wrapped: Any, prompt: str) -> Any:
    answer = "<think>" + outlines.regex("[^<]{1,80}") + "</think>\n" + outlines.json_schema(Review)
    text = wrapped(prompt, answer, max_new_tokens=2 * MAX_NEW_TOKENS)
    thinking, _, review = text.partition("</think>")
    return thinking.removeprefix("<think>"), Review.model_validate_json(review)


def a_processor(wrapped: Any, model: Any, tokenizer: Any, prompt: str) -> Any:
    inputs = tokenizer(prompt, return_tensors="pt")
    processor = outlines.Generator(wrapped, Review).logits_processor
    ids = model.generate(**inputs, max_new_tokens=MAX_NEW_TOKENS, logits_processor=[processor])
    text = tokenizer.decode(ids[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    return Review.model_validate_json(text)


async def among_others(wrapped: Any, prompt: str) -> Any:
    text = await asyncio.to_thread(wrapped, prompt, Review, max_new_tokens=MAX_NEW_TOKENS)
    return Review.model_validate_json(text)
