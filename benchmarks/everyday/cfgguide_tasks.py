"""The tasks with cfgguide."""

from __future__ import annotations

import re
from typing import Any

import cfgguide
from everyday.given import (
    DATE,
    LABELS,
    MAX_NEW_TOKENS,
    SCHEMA,
    SUM_LARK,
    TABLES,
    Age,
    Review,
    Reviews,
    news,
    weather,
)

DISTRIBUTION = "cfgguide"
CANNOT: dict[str, str] = {}


def an_object(loaded: Any, prompt: str) -> Any:
    return cfgguide.generate(loaded, prompt, Review, max_new_tokens=MAX_NEW_TOKENS).parsed


def a_label(loaded: Any, prompt: str) -> Any:
    return cfgguide.generate(loaded, prompt, LABELS).text


def a_number(loaded: Any, prompt: str) -> Any:
    return cfgguide.generate(loaded, prompt, Age).parsed


def a_pattern(loaded: Any, prompt: str) -> Any:
    return cfgguide.generate(loaded, prompt, re.compile(DATE)).text


def a_grammar(loaded: Any, prompt: str) -> Any:
    return cfgguide.generate(loaded, prompt, cfgguide.Grammar(SUM_LARK)).text


def a_schema(loaded: Any, chat: Any) -> Any:
    return cfgguide.generate(loaded, chat, SCHEMA, max_new_tokens=MAX_NEW_TOKENS).parsed


def objects(loaded: Any, prompt: str) -> Any:
    return cfgguide.generate(loaded, prompt, Reviews, max_new_tokens=2 * MAX_NEW_TOKENS).parsed


def a_tool(loaded: Any, prompt: str) -> Any:
    tools = cfgguide.tools([weather, news], format="hermes", choice="required")
    message = cfgguide.generate(loaded, prompt, tools, max_new_tokens=MAX_NEW_TOKENS).parsed
    return message.calls[0].call()


def a_stream(loaded: Any, prompt: str, show: Any) -> None:
    for part in cfgguide.stream(loaded, prompt, Review, max_new_tokens=MAX_NEW_TOKENS):
        show(part.partial.value)


def a_batch(loaded: Any, prompts: list[str]) -> Any:
    written = cfgguide.generate(loaded, prompts, Review, max_new_tokens=MAX_NEW_TOKENS)
    return [each.parsed for each in written]


def samples(loaded: Any, prompt: str) -> Any:
    written = cfgguide.generate(
        loaded, prompt, Review, n=3, temperature=1.0, max_new_tokens=MAX_NEW_TOKENS
    )
    return [each.parsed for each in written]


def thoughts(loaded: Any, prompt: str) -> Any:
    result = cfgguide.generate(
        loaded, prompt, cfgguide.thinking(Review), max_new_tokens=2 * MAX_NEW_TOKENS
    )
    return result.thinking, result.parsed


def a_query(loaded: Any, prompt: str) -> Any:
    query = cfgguide.sql.runs_on(TABLES)
    return cfgguide.generate(loaded, prompt, query, max_new_tokens=MAX_NEW_TOKENS).text


def a_processor(model: Any, tokenizer: Any, prompt: str) -> Any:
    inputs = tokenizer(prompt, return_tensors="pt")
    processor = cfgguide.LogitsProcessor(Review, tokenizer)
    ids = model.generate(**inputs, max_new_tokens=MAX_NEW_TOKENS, logits_processor=[processor])
    text = tokenizer.decode(ids[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    return Review.model_validate_json(text)


async def among_others(loaded: Any, prompt: str) -> Any:
    result = await cfgguide.agenerate(loaded, prompt, Review, max_new_tokens=MAX_NEW_TOKENS)
    return result.parsed
