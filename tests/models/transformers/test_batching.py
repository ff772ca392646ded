"""Grammars in transformers' continuous batching, with models that do not know them."""

from __future__ import annotations

import random

import pytest
import torch
from support.judges import parses
from support.tiny_models import EOS, fresh_random_model, vocabulary_of

import cfgguide
from cfgguide.errors import BudgetWarning, GenerationError
from cfgguide.integrations import guide_requests

batching = pytest.importorskip("transformers.generation.continuous_batching")
transformers = pytest.importorskip("transformers", minversion="5.23")

GRAMMARS = {
    "numbers": cfgguide.Grammar('start: "[" NUMBER ("," NUMBER)* "]"\nNUMBER: /[0-9]{1,3}/'),
    "answer": cfgguide.Grammar('start: "yes" | "no"'),
    "json": cfgguide.Grammar.bundled("json", max_ignored=1),
    "sums": cfgguide.Grammar('start: x\nx: "(" x "+" x ")" | "1"'),
}
VOCABULARY = vocabulary_of(["ye", "es", "[1", ",2", "1]", '{"', '": ', "(1+", ")+", "true"])
RULES = {"use_async_batching": False, "use_cuda_graph": False}


def manager_of(model, *, blocks=400, sampling=True, per_request=False, **options):
    generation = transformers.GenerationConfig(
        do_sample=sampling, eos_token_id=EOS, pad_token_id=EOS, max_new_tokens=30
    )
    config = transformers.ContinuousBatchingConfig(
        **{**RULES, "num_blocks": blocks, "max_batch_tokens": 64, "page_size": 16, **options},
        per_request_processors=per_request,
        seed=5,
    )
    return model.init_continuous_batching(
        generation_config=generation, continuous_batching_config=config
    )


def results_of(manager, requests):
    """What is generated for requests, by their ids; they come while others are running."""
    wanted = {}
    manager.start()
    try:
        for number, (ids, options) in enumerate(requests):
            wanted[manager.add_request(ids, request_id=f"r{number}", **options)] = None
        while any(each is None for each in wanted.values()):
            found = manager.get_result(timeout=60)
            assert found is not None
            assert found.error is None
            wanted[found.request_id] = list(found.generated_tokens)
    finally:
        manager.stop(block=True)
    return list(wanted.values())


@pytest.fixture
def model():
    return fresh_random_model(VOCABULARY.size)


@pytest.mark.slow
@pytest.mark.parametrize("sampling", [True, False])
@pytest.mark.parametrize("blocks", [400, 12])
def test_each_request_writes_a_sentence_of_its_grammar(model, sampling, blocks, monkeypatch):
    """Memory is given in blocks: by default it is most of the machine's.

    With few blocks requests are stopped, and begin again with what they have written."""
    again = []
    state = batching.requests.RequestState
    begin_again = state.create_equivalent_initial_request
    monkeypatch.setattr(
        state,
        "create_equivalent_initial_request",
        lambda self: again.append(len(self.generated_tokens)) or begin_again(self),
    )
    rng, judges = random.Random(1), {name: parses(each) for name, each in GRAMMARS.items()}
    names = [rng.choice([*GRAMMARS, None]) for _ in range(24)]
    requests = [
        (
            [rng.randrange(1, 257) for _ in range(rng.randrange(1, 20))],
            {"max_new_tokens": rng.randrange(9, 50)} | ({"grammar": name} if name else {}),
        )
        for name in names
    ]
    manager = manager_of(model, sampling=sampling, blocks=blocks)
    guide_requests(manager, GRAMMARS, VOCABULARY)
    n_unguided = 0
    for (_, options), token_ids in zip(requests, results_of(manager, requests), strict=True):
        assert len(token_ids) <= options["max_new_tokens"]
        if "grammar" not in options:
            n_unguided += len(token_ids) > 2
            continue
        assert token_ids[-1] == EOS
        text = VOCABULARY.spell(token_ids[:-1]).decode()
        assert judges[options["grammar"]](text), (options, text)
    assert n_unguided
    assert bool(again) == (blocks == 12)
    assert not again or max(again) > 0


@pytest.mark.slow
def test_a_text_that_has_to_be_cut_is_a_beginning(model):
    manager = manager_of(model)
    guide_requests(manager, GRAMMARS, VOCABULARY)
    with pytest.warns(BudgetWarning, match="will be cut"):
        (token_ids,) = results_of(manager, [([1], {"grammar": "numbers", "max_new_tokens": 2})])
    guide = cfgguide.Guide(GRAMMARS["numbers"], VOCABULARY)
    for token_id in token_ids:
        guide.advance(token_id)


@pytest.mark.parametrize(
    "options", [{"use_async_batching": True}, {"use_async_batching": None}], ids=str
)
def test_a_manager_that_does_not_wait_for_tokens_is_refused(model, options):
    manager = manager_of(model, **options)
    manager.continuous_batching_config.use_async_batching = options["use_async_batching"]
    with pytest.raises(GenerationError, match="use_async_batching=False"):
        guide_requests(manager, GRAMMARS, VOCABULARY)


@pytest.mark.slow
def test_a_grammar_that_there_is_not_is_the_error_of_one_request(model):
    manager = manager_of(model)
    guide_requests(manager, GRAMMARS, VOCABULARY)
    manager.start()
    try:
        for name in ("answer", "nothing"):
            manager.add_request([1, 2], request_id=name, grammar=name)
        found = [manager.get_result(timeout=60) for _ in range(2)]
    finally:
        manager.stop(block=True)
    errors = {each.request_id: each.error for each in found}
    assert errors["answer"] is None
    assert "there is no grammar 'nothing'; there is numbers, answer" in errors["nothing"]


@pytest.mark.slow
def test_a_manager_that_was_started_is_refused(model):
    manager = manager_of(model)
    manager.start()
    try:
        with pytest.raises(GenerationError, match="was started"):
            guide_requests(manager, GRAMMARS, VOCABULARY)
    finally:
        manager.stop(block=True)


def test_an_index_for_another_vocabulary_is_refused(model):
    other = cfgguide.compile(GRAMMARS["answer"], vocabulary_of(["y"]))
    with pytest.raises(GenerationError, match="another vocabulary"):
        guide_requests(manager_of(model), {"answer": other}, VOCABULARY)


@pytest.mark.model
@pytest.mark.slow
def test_smollm2_writes_sentences_of_different_grammars():
    from cfgguide.models import load_model

    model, tokenizer = load_model()
    model = model.to(torch.float32)
    prompts = ["Four numbers: ", "Is water wet? ", "A JSON object: ", "Count: "]
    requests = [
        (tokenizer(prompt)["input_ids"], {"grammar": name, "max_new_tokens": 24})
        for prompt, name in zip(prompts, ["numbers", "answer", "json", "sums"], strict=True)
    ]
    manager = manager_of(model, sampling=False)
    manager.generation_config.eos_token_id = tokenizer.eos_token_id
    guide_requests(manager, GRAMMARS, tokenizer)
    for (_, options), token_ids in zip(requests, results_of(manager, requests), strict=True):
        text = tokenizer.decode(token_ids, skip_special_tokens=True)
        assert token_ids[-1] == tokenizer.eos_token_id
        assert parses(GRAMMARS[options["grammar"]])(text), text
