"""`agenerate` and `astream`: the same texts, while other tasks run."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest
import torch
from support.tiny_models import N_SMALL, random_model, small_tokenizer

import cfgguide
from cfgguide.errors import GenerationError

N_COLUMNS = N_SMALL + 5
MODEL = random_model(N_COLUMNS)
WHAT = {"type": "array", "items": {"type": "string"}}
OPTIONS: dict[str, Any] = {"tokenizer": small_tokenizer(), "max_new_tokens": 20}


def logits(token_ids):
    with torch.no_grad():
        return MODEL(torch.tensor([list(token_ids)])).logits[0, -1].float().numpy()


async def waiting(token_ids):
    await asyncio.sleep(0)
    return logits(token_ids)


@pytest.mark.parametrize("model", [MODEL, logits, waiting], ids=["model", "function", "async"])
def test_what_is_written_is_what_generate_writes(model):
    async def both():
        parts = [part async for part in cfgguide.astream(model, "a", WHAT, **OPTIONS)]
        return parts, await cfgguide.agenerate(model, "a", WHAT, **OPTIONS)

    parts, found = asyncio.run(both())
    expected = cfgguide.generate(MODEL, "a", WHAT, **OPTIONS)
    assert (found.text, found.parsed) == (expected.text, expected.parsed)
    assert "".join(part.text for part in parts) == expected.text
    assert parts[-1].partial.value == expected.parsed


@pytest.mark.parametrize("asked", [(["a", "b"], {}), ("a", {"n": 2, "temperature": 1, "seed": 3})])
def test_several_texts_are_those_of_generate(asked):
    prompt, more = asked
    found = asyncio.run(cfgguide.agenerate(MODEL, prompt, WHAT, **OPTIONS, **more))
    expected = cfgguide.generate(MODEL, prompt, WHAT, **OPTIONS, **more)
    assert [each.text for each in found] == [each.text for each in expected]
    assert len(found) == 2


def test_other_tasks_run_between():
    async def run():
        ticks = itertools.count()

        async def tick():
            while True:
                next(ticks)
                await asyncio.sleep(0)

        task = asyncio.create_task(tick())
        found = await cfgguide.agenerate(waiting, "a", WHAT, **OPTIONS)
        task.cancel()
        return next(ticks), found.n_model_calls

    n_ticks, n_calls = asyncio.run(run())
    assert n_ticks > n_calls > 0


def test_who_stops_waiting_stops_the_model():
    n_asked = 0

    async def counted(token_ids):
        nonlocal n_asked
        n_asked += 1
        return logits(token_ids)

    async def run():
        async for _ in cfgguide.astream(counted, "a", WHAT, **OPTIONS):
            break
        seen = n_asked
        await asyncio.sleep(0.05)
        return seen

    assert asyncio.run(run()) == n_asked < 20


def test_a_function_without_a_tokenizer_is_told():
    with pytest.raises(GenerationError, match="a function from token ids to logits needs a token"):
        asyncio.run(cfgguide.agenerate(waiting, "a", WHAT))
