"""The interface of vLLM for one request: an error of ours ends that request, not the engine.

Runs in an environment that has vLLM: `make serve-test`.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("vllm", reason="`make serve-test` has it, this environment has not")

import torch
from transformers import AutoTokenizer

import cfgguide
from cfgguide.models.load import prepare_smollm2
from cfgguide.serving import Backend
from cfgguide.serving.vllm_parts import VllmGrammar, _Backends

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


@pytest.mark.parametrize("n_logits", [49_152, 49_200, 49_100])
def test_the_vocabulary_has_the_tokens_that_have_logits(n_logits):
    tokenizer = AutoTokenizer.from_pretrained(prepare_smollm2())
    config = SimpleNamespace(get_vocab_size=lambda: n_logits)
    backends = _Backends(None)
    backend = backends.of(tokenizer, config)
    assert backend.vocabulary.size == n_logits
    assert backends.of(tokenizer, config) is backend
