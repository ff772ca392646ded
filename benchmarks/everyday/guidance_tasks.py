"""The tasks with guidance."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import guidance
import pydantic
import pydantic_core

from everyday.given import (
    DATE,
    LABELS,
    SCHEMA,
    SUM_LARK,
    Age,
    Review,
    Reviews,
    news,
    weather,
)

DISTRIBUTION = "guidance"
CANNOT = {
    "a_query": "has no grammar of SQL",
    "a_processor": "runs the model itself",
}


def set_up(model: Any, tokenizer: Any) -> dict[str, Any]:
    return {"wrapped": guidance.models.Transformers(model, tokenizer, echo=False)}


def an_object(wrapped: Any, prompt: str) -> Any:
    written = wrapped + prompt + guidance.json("review", schema=Review)
    return Review.model_validate_json(written["review"])


def a_label(wrapped: Any, prompt: str) -> Any:
    return (wrapped + prompt + guidance.select(LABELS, name="label"))["label"]


def a_number(wrapped: Any, prompt: str) -> Any:
    return int((wrapped + prompt + guidance.json("age", schema=pydantic.TypeAdapter(Age)))["age"])


def a_pattern(wrapped: Any, prompt: str) -> Any:
    return (wrapped + prompt + guidance.gen("date", regex=DATE))["date"]


def a_grammar(wrapped: Any, prompt: str) -> Any:
    return (wrapped + prompt + guidance.lark(SUM_LARK, name="sum"))["sum"]


def a_schema(wrapped: Any, chat: Any) -> Any:
    for message in chat:
        with guidance.role(message["role"]):
            wrapped += message["content"]
    with guidance.assistant():
        wrapped += guidance.json("days", schema=SCHEMA)
    return json.loads(wrapped["days"])


def objects(wrapped: Any, prompt: str) -> Any:
    reviews = pydantic.TypeAdapter(Reviews)
    written = wrapped + prompt + guidance.json("reviews", schema=reviews)
    return reviews.validate_json(written["reviews"])


def a_tool(wrapped: Any, prompt: str) -> Any:
    tools = {each.__name__: pydantic.TypeAdapter(each) for each in (weather, news)}
    written = wrapped + prompt + guidance.select(list(tools), name="tool")
    tool = tools[written["tool"]]
    called = written + guidance.json("arguments", schema=tool.json_schema())
    return tool.validate_json(called["arguments"])


def a_stream(wrapped: Any, prompt: str, show: Any) -> None:
    for written in wrapped.stream() + prompt + guidance.json("review", schema=Review):
        if text := str(written).removeprefix(prompt):
            show(pydantic_core.from_json(text, allow_partial="trailing-strings"))


def a_batch(wrapped: Any, prompts: list[str]) -> Any:
    review = guidance.json("review", schema=Review)
    texts = [(wrapped + prompt + review)["review"] for prompt in prompts]
    return [Review.model_validate_json(each) for each in texts]


def samples(wrapped: Any, prompt: str) -> Any:
    review = guidance.json("review", schema=Review, temperature=1.0)
    texts = [(wrapped + prompt + review)["review"] for _ in range(3)]
    return [Review.model_validate_json(each) for each in texts]


def thoughts(wrapped: Any, prompt: str) -> Any:
    thinking = guidance.gen("thinking", stop="</think>", max_tokens=40)
    review = guidance.json("review", schema=Review)
    written = wrapped + f"{prompt}<think>" + thinking + "</think>\n" + review
    return written["thinking"], Review.model_validate_json(written["review"])


async def among_others(wrapped: Any, prompt: str) -> Any:
    review = guidance.json("review", schema=Review)
    written = await asyncio.to_thread(lambda: wrapped + prompt + review)
    return Review.model_validate_json(written["review"])
