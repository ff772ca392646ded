"""The interface of vLLM for one request: an error of ours ends that request, not the engine.

Runs in an environment that has vLLM: `make serve-test`.
"""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("vllm", reason="`make serve-test` has it, this environment has not")

import torch
import vllm.parser.harmony  # noqa: F401  (which adds a format)
from transformers import AutoTokenizer
from vllm.entrypoints.openai.chat_completion.protocol import (
    ChatCompletionNamedToolChoiceParam,
    ChatCompletionToolsParam,
)
from vllm.tool_parsers import structural_tag_registry

import cfgguide
from cfgguide.models.load import prepare_smollm2
from cfgguide.models.serving.vllm_parts import VllmGrammar, _Backends
from cfgguide.serving import Backend

VOCABULARY = cfgguide.Vocabulary.of_bytes()
EOS = VOCABULARY.eos_token_ids[0]


def grammar() -> VllmGrammar:
    return VllmGrammar(Backend(VOCABULARY).matcher("choice", '["yes", "no"]'))


def row_of(each: VllmGrammar) -> list[int]:
    bitmask = torch.full((2, VOCABULARY.n_words), -1, dtype=torch.int32)
    each.fill_bitmask(bitmask, 1)
    assert (bitmask[0] == -1).all()
    words = bitmask[1].tolist()
    return [
        token_id
        for token_id in range(VOCABULARY.size)
        if words[token_id >> 5] >> (token_id & 31) & 1
    ]


def test_drafts_past_the_end_and_padding_are_taken():
    each = grammar()
    assert each.validate_tokens([*b"yes", EOS, 5, -1]) == [*b"yes", EOS]
    assert each.accept_tokens("r", [*b"yes", EOS, 5, -1])
    assert each.is_terminated()
    each.rollback(2)
    assert not each.is_terminated()
    assert row_of(each) == [EOS]


def test_what_its_steps_took_is_told_when_it_is_no_longer_needed():
    told: list[dict[str, float | None]] = []
    each = VllmGrammar(
        Backend(VOCABULARY).matcher("choice", '["yes", "no"]'),
        None,
        lambda **took: told.append(took),
    )
    row_of(each)
    assert not told
    first = each.guarded.first_seconds
    assert each.accept_tokens("r", [*b"yes"])
    del each
    assert [took["first_seconds"] for took in told] == [first]
    assert told[0]["slowest_seconds"] >= first


TAKEN = [
    *("deepseek_r1", "deepseek_v3_1", "deepseek_v3_2", "deepseek_v4", "glm_4_7", "harmony"),
    *("hermes", "hy_v4", "kimi", "kimi_k3", "llama", "longcat", "mimo", "minimax", "plamo3"),
    *("qwen_3", "qwen_3_5", "qwen_3_coder"),
]
REFERRED = ["deepseek_v4_1"]


@pytest.fixture(scope="module")
def front_end() -> Any:
    """Whether a request is ours, as the front end of a server asks."""
    tokenizer, backends = AutoTokenizer.from_pretrained(prepare_smollm2()), _Backends()
    config = SimpleNamespace(get_vocab_size=lambda: len(tokenizer))
    return lambda asked: backends.takes(asked, tokenizer, config)


@pytest.mark.parametrize("choice", ["auto", "required", "named"])
@pytest.mark.parametrize("model", [*TAKEN, *REFERRED])
def test_calls_of_tools_as_vllm_writes_them_are_ours_or_vllms(front_end, model, choice):
    """`docs/serving.md` has the same lists."""
    parameters = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    function = {"name": "save", "parameters": parameters, "strict": True}
    named = {"type": "function", "function": {"name": "save"}}
    tag = structural_tag_registry.get_model_structural_tag(
        model=model,
        tools=[ChatCompletionToolsParam(type="function", function=function)],
        tool_choice=ChatCompletionNamedToolChoiceParam(**named) if choice == "named" else choice,
        reasoning=False,
    )
    assert front_end(("structural_tag", json.dumps(tag.model_dump()))) == (model in TAKEN)


def test_all_formats_of_calls_that_vllm_knows_are_listed():
    known = structural_tag_registry.SUPPORTED_STRUCTURAL_TAG_MODELS
    known |= set(structural_tag_registry._VLLM_STRUCTURAL_TAG_REGISTRY)
    assert known == {*TAKEN, *REFERRED}


@pytest.mark.parametrize("n_logits", [49_152, 49_200, 49_100])
def test_the_vocabulary_has_the_tokens_that_have_logits(n_logits):
    tokenizer = AutoTokenizer.from_pretrained(prepare_smollm2())
    config = SimpleNamespace(get_vocab_size=lambda: n_logits)
    backends = _Backends()
    backend = backends.of(tokenizer, config)
    assert backend.vocabulary.size == n_logits
    assert backends.of(tokenizer, config) is backend
