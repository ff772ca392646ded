"""MLX-LM on a CPU, with SmolLM2: every text is what was asked for.

Runs in an environment that has MLX-LM: `make serve-test`.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

pytest.importorskip("mlx_lm", reason="`make serve-test` has it, this environment has not")

import jsonschema
import mlx.core as mx
import mlx_lm
from engines.asked import PERSON
from mlx_lm.generate import stream_generate
from mlx_lm.sample_utils import make_sampler

import cfgguide
from cfgguide.models.load import prepare_smollm2
from cfgguide.models.serving.mlx import MlxProcessor


@pytest.fixture(scope="module")
def loaded() -> Any:
    return mlx_lm.load(str(prepare_smollm2()))


def text_of(loaded: Any, index: cfgguide.Index, prompt: str, **options: Any) -> tuple[str, str]:
    """What is written, and why it ends."""
    model, tokenizer = loaded
    processor = MlxProcessor(index, stop_token_ids=tokenizer.eos_token_ids)
    parts = list(
        stream_generate(
            model,
            tokenizer,
            prompt,
            max_tokens=60,
            sampler=make_sampler(temp=0.8),
            logits_processors=[processor],
            **options,
        )
    )
    return "".join(part.text for part in parts), parts[-1].finish_reason


@pytest.mark.parametrize("seed", range(3))
def test_a_text_is_what_was_asked_for(loaded, seed):
    mx.random.seed(seed)
    tokenizer = loaded[1]._tokenizer
    schema = cfgguide.json_schema(PERSON, max_whitespace=1)
    written, reason = text_of(loaded, cfgguide.compile(schema, tokenizer), "A person: ")
    if reason == "stop":
        jsonschema.validate(json.loads(written), PERSON)
    dates = cfgguide.compile(cfgguide.regex("[0-9]{4}-[0-9]{2}"), tokenizer)
    written, reason = text_of(loaded, dates, "The month is ")
    assert reason == "stop"
    assert re.fullmatch("[0-9]{4}-[0-9]{2}", written)


def test_drafts_that_are_taken_back_do_no_harm(loaded):
    """The model drafts for itself, with other random numbers."""
    mx.random.seed(1)
    tokenizer = loaded[1]._tokenizer
    dates = cfgguide.compile(cfgguide.regex("([0-9]{2}-){9}[0-9]{2}"), tokenizer)
    written, reason = text_of(loaded, dates, "Numbers: ", draft_model=loaded[0], num_draft_tokens=3)
    assert reason == "stop"
    assert re.fullmatch("([0-9]{2}-){9}[0-9]{2}", written)


def test_a_processor_serves_one_text_after_another(loaded):
    model, tokenizer = loaded
    index = cfgguide.compile(cfgguide.choice(["yes", "no"]), tokenizer._tokenizer)
    processor = MlxProcessor(index, stop_token_ids=tokenizer.eos_token_ids)
    for prompt in ("Is water wet? ", "Is fire cold? ", "Is it? "):
        options = {"max_tokens": 10, "logits_processors": [processor]}
        assert mlx_lm.generate(model, tokenizer, prompt, **options) in ("yes", "no")
