"""The tasks with XGrammar: masks for the loop of transformers, and the rest by hand."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from typing import Any

import pydantic
import pydantic_core
import transformers
import xgrammar

from everyday.given import (
    DATE,
    LABELS,
    MAX_NEW_TOKENS,
    SCHEMA,
    SUM_EBNF,
    Age,
    Review,
    Reviews,
    news,
    weather,
)

DISTRIBUTION = "xgrammar"
CANNOT = {"a_query": "has no grammar of SQL"}


def set_up(model: Any, tokenizer: Any) -> dict[str, Any]:
    return {
        "compiler": xgrammar.GrammarCompiler(
            xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=model.config.vocab_size)
        )
    }


def an_object(compiler: Any, model: Any, tokenizer: Any, prompt: str) -> Any:
    grammar = compiler.compile_json_schema(Review)
    inputs = tokenizer(prompt, return_tensors="pt")
    processor = xgrammar.contrib.hf.LogitsProcessor(grammar)
    ids = model.generate(**inputs, max_new_tokens=MAX_NEW_TOKENS, logits_processor=[processor])
    text = tokenizer.decode(ids[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    return Review.model_validate_json(text)


def a_label(compiler: Any, model: Any, tokenizer: Any, prompt: str) -> Any:
    grammar = compiler.compile_grammar("root ::= " + " | ".join(map(json.dumps, LABELS)))
    inputs = tokenizer(prompt, return_tensors="pt")
    processor = xgrammar.contrib.hf.LogitsProcessor(grammar)
    ids = model.generate(**inputs, max_new_tokens=MAX_NEW_TOKENS, logits_processor=[processor])
    return tokenizer.decode(ids[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)


def a_number(compiler: Any, model: Any, tokenizer: Any, prompt: str) -> Any:
    grammar = compiler.compile_json_schema(pydantic.TypeAdapter(Age).json_schema())
    inputs = tokenizer(prompt, return_tensors="pt")
    processor = xgrammar.contrib.hf.LogitsProcessor(grammar)
    ids = model.generate(**inputs, max_new_tokens=MAX_NEW_TOKENS, logits_processor=[processor])
    text = tokenizer.decode(ids[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    return int(text)


def a_pattern(compiler: Any, model: Any, tokenizer: Any, prompt: str) -> Any:
    grammar = compiler.compile_regex(DATE)
    inputs = tokenizer(prompt, return_tensors="pt")
    processor = xgrammar.contrib.hf.LogitsProcessor(grammar)
    ids = model.generate(**inputs, max_new_tokens=MAX_NEW_TOKENS, logits_processor=[processor])
    return tokenizer.decode(ids[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)


def a_grammar(compiler: Any, model: Any, tokenizer: Any, prompt: str) -> Any:
    grammar = compiler.compile_grammar(SUM_EBNF)
    inputs = tokenizer(prompt, return_tensors="pt")
    processor = xgrammar.contrib.hf.LogitsProcessor(grammar)
    ids = model.generate(**inputs, max_new_tokens=MAX_NEW_TOKENS, logits_processor=[processor])
    return tokenizer.decode(ids[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)


def a_schema(compiler: Any, model: Any, tokenizer: Any, chat: Any) -> Any:
    grammar = compiler.compile_json_schema(SCHEMA)
    inputs = tokenizer.apply_chat_template(
        chat, add_generation_prompt=True, return_tensors="pt", return_dict=True
    )
    processor = xgrammar.contrib.hf.LogitsProcessor(grammar)
    ids = model.generate(**inputs, max_new_tokens=MAX_NEW_TOKENS, logits_processor=[processor])
    text = tokenizer.decode(ids[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    return json.loads(text)


def objects(compiler: Any, model: Any, tokenizer: Any, prompt: str) -> Any:
    reviews = pydantic.TypeAdapter(Reviews)
    grammar = compiler.compile_json_schema(reviews.json_schema())
    inputs = tokenizer(prompt, return_tensors="pt")
    processor = xgrammar.contrib.hf.LogitsProcessor(grammar)
    ids = model.generate(**inputs, max_new_tokens=2 * MAX_NEW_TOKENS, logits_processor=[processor])
    text = tokenizer.decode(ids[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    return reviews.validate_json(text)


def a_tool(compiler: Any, model: Any, tokenizer: Any, prompt: str) -> Any:
    tools = {each.__name__: pydantic.TypeAdapter(each) for each in (weather, news)}
    functions = [
        {"type": "function", "function": {"name": name, "parameters": tool.json_schema()}}
        for name, tool in tools.items()
    ]
    tag = xgrammar.get_model_structural_tag(
        "qwen_3", tools=functions, tool_choice="required", reasoning=False
    )
    grammar = compiler.compile_structural_tag(tag)
    inputs = tokenizer(prompt, return_tensors="pt")
    processor = xgrammar.contrib.hf.LogitsProcessor(grammar)
    ids = model.generate(**inputs, max_new_tokens=MAX_NEW_TOKENS, logits_processor=[processor])
    text = tokenizer.decode(ids[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    call = json.loads(text.partition("<tool_call>")[2].partition("</tool_call>")[0])
    return tools[call["name"]].validate_python(call["arguments"])


def a_stream(compiler: Any, model: Any, tokenizer: Any, prompt: str, show: Any) -> None:
    grammar = compiler.compile_json_schema(Review)
    streamer = transformers.TextIteratorStreamer(
        tokenizer, skip_prompt=True, skip_special_tokens=True
    )
    options = {
        **tokenizer(prompt, return_tensors="pt"),
        "max_new_tokens": MAX_NEW_TOKENS,
        "logits_processor": [xgrammar.contrib.hf.LogitsProcessor(grammar)],
        "streamer": streamer,
    }
    threading.Thread(target=model.generate, kwargs=options).start()
    for text in itertools.accumulate(streamer):
        if text:
            show(pydantic_core.from_json(text, allow_partial="trailing-strings"))


def a_batch(compiler: Any, model: Any, tokenizer: Any, prompts: list[str]) -> Any:
    grammar = compiler.compile_json_schema(Review)
    inputs = tokenizer(prompts, return_tensors="pt", padding=True, padding_side="left")
    processor = xgrammar.contrib.hf.LogitsProcessor(grammar)
    ids = model.generate(**inputs, max_new_tokens=MAX_NEW_TOKENS, logits_processor=[processor])
    new = ids[:, inputs["input_ids"].shape[1] :]
    texts = tokenizer.batch_decode(new, skip_special_tokens=True)
    return [Review.model_validate_json(each) for each in texts]


def samples(compiler: Any, model: Any, tokenizer: Any, prompt: str) -> Any:
    grammar = compiler.compile_json_schema(Review)
    inputs = tokenizer(prompt, return_tensors="pt")
    processor = xgrammar.contrib.hf.LogitsProcessor(grammar)
    ids = model.generate(
        **inputs,
        do_sample=True,
        num_return_sequences=3,
        max_new_tokens=MAX_NEW_TOKENS,
        logits_processor=[processor],
    )
    new = ids[:, inputs["input_ids"].shape[1] :]
    texts = tokenizer.batch_decode(new, skip_special_tokens=True)
    return [Review.model_validate_json(each) for each in texts]


def thoughts(compiler: Any, model: Any, tokenizer: Any, prompt: str) -> Any:
    thought = {"type": "regex", "pattern": "[^<]{1,80}"}
    thoughts = {"type": "tag", "begin": "<think>", "content": thought, "end": "</think>"}
    answer = {"type": "json_schema", "json_schema": Review.model_json_schema()}
    tag = {"type": "structural_tag", "format": {"type": "sequence", "elements": [thoughts, answer]}}
    grammar = compiler.compile_structural_tag(tag)
    inputs = tokenizer(prompt, return_tensors="pt")
    processor = xgrammar.contrib.hf.LogitsProcessor(grammar)
    ids = model.generate(**inputs, max_new_tokens=2 * MAX_NEW_TOKENS, logits_processor=[processor])
    text = tokenizer.decode(ids[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    thinking, _, review = text.partition("</think>")
    return thinking.removeprefix("<think>"), Review.model_validate_json(review)


def a_processor(compiler: Any, model: Any, tokenizer: Any, prompt: str) -> Any:
    grammar = compiler.compile_json_schema(Review)
    inputs = tokenizer(prompt, return_tensors="pt")
    processor = xgrammar.contrib.hf.LogitsProcessor(grammar)
    ids = model.generate(**inputs, max_new_tokens=MAX_NEW_TOKENS, logits_processor=[processor])
    text = tokenizer.decode(ids[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    return Review.model_validate_json(text)


async def among_others(compiler: Any, model: Any, tokenizer: Any, prompt: str) -> Any:
    grammar = compiler.compile_json_schema(Review)
    inputs = tokenizer(prompt, return_tensors="pt")
    processor = xgrammar.contrib.hf.LogitsProcessor(grammar)
    options = {"max_new_tokens": MAX_NEW_TOKENS, "logits_processor": [processor]}
    ids = await asyncio.to_thread(model.generate, **inputs, **options)
    text = tokenizer.decode(ids[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    return Review.model_validate_json(text)
