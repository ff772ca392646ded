"""Messages with calls, sampled, and read by vLLM's own parser of each format and by `jsonschema`.

Runs in an environment that has vLLM: `make serve-test`. Harmony's parser needs OpenAI's vocabulary,
which is on a server that tests don't ask; what gpt-oss's template renders is read in
`tests/schema/messages`.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

pytest.importorskip("vllm", reason="`make serve-test` has it, this environment has not")

import jsonschema
from transformers import AutoTokenizer
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.tool_parsers import ToolParserManager

import cfgguide
from cfgguide.models.load import prepare_smollm2

N_MESSAGES = 500
MAX_TOKENS = 60
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "save",
            "parameters": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
                    "age": {"type": "integer", "minimum": 0},
                },
                "required": ["name"],
                "additionalProperties": False,
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "look-up.v2",
            "parameters": {
                "type": "object",
                "properties": {"at": {"enum": ["here", "there", 7, None]}},
            },
        },
    },
    {"type": "function", "function": {"name": "stop", "parameters": {"type": "object"}}},
]
#: Objects without names that are declared, and lists of different items, are no Gemma.
NESTED = [
    {
        "type": "function",
        "function": {
            "name": "save",
            "parameters": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "tags": {"type": "array", "items": {"type": ["string", "null"]}},
                    "Age": {"type": "integer", "minimum": 0},
                    "who": {
                        "type": "object",
                        "properties": {"is_new": {"type": "boolean"}, "name": {"type": "string"}},
                    },
                    "grid": {
                        "type": "array",
                        "items": {"type": "array", "items": {"type": "integer", "maximum": 9}},
                        "maxItems": 3,
                    },
                },
                "required": ["name"],
                "additionalProperties": False,
            },
        },
    },
    *TOOLS[1:],
]
#: What vLLM's parser of FunctionGemma reads: words as names, and strings that are not JSON.
WORDS = [
    {
        "type": "function",
        "function": {
            "name": "save",
            "parameters": {
                "type": "object",
                "properties": {each: {"type": "string", "pattern": "^[A-H]"} for each in "bAc"},
                "required": ["b"],
            },
        },
    },
    TOOLS[2],
]
DEEPSEEK = [
    *("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>"),
    *("<｜tool▁call▁end｜>", "<｜tool▁sep｜>"),
]
KIMI = [
    *("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>"),
    *("<|tool_call_argument_begin|>", "<|tool_call_end|>"),
]
GLM = [*("<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>")]
#: Our format, vLLM's parser of it, and the tokens that its models have.
PARSERS = {
    "qwen": ("hermes", ["<tool_call>", "</tool_call>"]),
    "hermes": ("hermes", []),  # as text
    "llama3": ("llama3_json", ["<|python_tag|>"]),
    "mistral": ("mistral", ["[TOOL_CALLS]"]),
    "deepseek_v3": ("deepseek_v3", DEEPSEEK),
    "deepseek_v31": ("deepseek_v31", DEEPSEEK),
    "kimi_k2": ("kimi_k2", KIMI),
    "qwen3_coder": ("qwen3_coder", ["<tool_call>", "</tool_call>"]),
    "glm45": ("glm45", GLM),
    "glm47": ("glm47", GLM),
    "deepseek_v32": ("deepseek_v32", ["｜DSML｜"]),
    "minimax_m2": ("minimax_m2", ["<minimax:tool_call>", "</minimax:tool_call>"]),
    "gemma4": ("gemma4", ["<|tool_call>", "<tool_call|>", '<|"|>']),
    "functiongemma": (
        "functiongemma",
        ["<start_function_call>", "<end_function_call>", "<escape>"],
    ),
}
TOOLS_OF = {"gemma4": NESTED, "functiongemma": WORDS}


def sampled(index: cfgguide.Index, rng: random.Random) -> list[int]:
    """Return the tokens of a message: special ones and short ones are likelier, so that it ends."""
    guide = cfgguide.Guide(index)
    symbols = sorted(index.vocabulary.symbol_ids)
    for left in range(MAX_TOKENS, 0, -1):
        allowed = guide.allowed_within(left).tolist()
        special = [each for each in symbols if each in allowed]
        few = rng.sample(allowed, min(len(allowed), 4))
        token_id = rng.choice(special if special and rng.random() < 0.3 else few)
        guide.advance(token_id)
        if guide.is_finished:
            break
    assert guide.is_finished
    return [each for each in guide.token_ids if each not in index.vocabulary.eos_token_ids]


@pytest.mark.parametrize("form", PARSERS)
def test_each_call_is_found_by_the_models_parser_and_is_what_its_schema_allows(form):
    (name, added), tools = PARSERS[form], TOOLS_OF.get(form, TOOLS)
    tokenizer = AutoTokenizer.from_pretrained(prepare_smollm2())
    tokenizer.add_tokens(added, special_tokens=True)
    grammar = cfgguide.tools(tools, format=form, choice="auto" if form == "qwen" else "required")
    index = cfgguide.compile(grammar, tokenizer)
    request = ChatCompletionRequest(
        model="m", messages=[{"role": "user", "content": "Hi"}], tools=tools
    )
    schemas: dict[str, Any] = {
        tool["function"]["name"]: tool["function"]["parameters"] for tool in tools
    }
    rng, n_calls = random.Random(form), 0
    for _ in range(N_MESSAGES):
        text = tokenizer.decode(sampled(index, rng), skip_special_tokens=False)
        parser = ToolParserManager.get_tool_parser(name)(tokenizer, request.tools)
        found = parser.extract_tool_calls(text, request).tool_calls
        ours = grammar.parse(text).calls
        assert [call.function.name for call in found] == [call.name for call in ours], text
        for call, own in zip(found, ours, strict=True):
            arguments = json.loads(call.function.arguments)
            assert arguments == own.arguments
            jsonschema.validate(arguments, schemas[call.function.name])
        n_calls += len(found)
    assert n_calls > N_MESSAGES / 4
