"""Masks inside llama-cpp-python.

What the processor does with ids and scores is tested everywhere. What llama-cpp-python makes of it
is tested where that is installed, with the GGUF file of SmolLM2.
"""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest
from support.tiny_models import short_vocabulary_of

import cfgguide
from cfgguide.errors import GenerationError, LimitError, ModelError
from cfgguide.models.llama_cpp import LlamaCppProcessor, vocabulary_of

#: EOS is 0, a is 1, b is 2, c is 3.
VOCABULARY = short_vocabulary_of(["a", "b", "c"])
GRAMMAR = cfgguide.Grammar('start: "a" ("b" | "c")*')
PROMPT = [3, 3]


def processor(grammar: cfgguide.Grammar = GRAMMAR) -> LlamaCppProcessor:
    return LlamaCppProcessor(cfgguide.compile(grammar, VOCABULARY))


def ask(process: LlamaCppProcessor, ids: list[int], scores: object = None) -> list[int]:
    """The ids that may come next."""
    given = np.arange(4, dtype=np.float32) if scores is None else scores
    masked = process(np.array(ids, dtype=np.intc), given)
    return np.flatnonzero(masked != -np.inf).tolist()


def stop(process: LlamaCppProcessor, ids: list[int]) -> bool:
    return process.stop(np.array(ids, dtype=np.intc), np.zeros(4, dtype=np.float32))


def test_a_text_is_masked_from_the_end_of_the_prompt_on():
    process = processor()
    text = []
    for token_id, allowed in [(1, [1]), (2, [0, 2, 3]), (3, [0, 2, 3]), (0, [0, 2, 3])]:
        assert ask(process, PROMPT + text) == allowed
        assert stop(process, PROMPT + text) is False
        text.append(token_id)
    assert ask(process, PROMPT + text) == [0]  # it has ended
    assert ask(process, [*PROMPT, *text, 0]) == [0]


def test_scores_are_kept_and_the_given_ones_are_not_changed():
    process = processor()
    pairs = np.zeros(4, dtype=[("id", np.intc), ("logit", np.single), ("p", np.single)])
    pairs["logit"] = [0.5, 1.5, 2.5, 3.5]
    scores = pairs["logit"]  # as llama-cpp-python gives them: 12 bytes apart
    masked = process(np.array(PROMPT, dtype=np.intc), scores)
    assert masked.tolist() == [-np.inf, 1.5, -np.inf, -np.inf]
    assert masked.dtype == np.float32
    assert scores.tolist() == [0.5, 1.5, 2.5, 3.5]


def test_another_prompt_begins_another_text():
    process = processor()
    assert ask(process, PROMPT) == [1]
    assert ask(process, [*PROMPT, 1]) == [0, 2, 3]
    assert ask(process, [2, 2, 2, 2]) == [1]
    assert ask(process, [2, 2, 2, 2, 1]) == [0, 2, 3]
    assert ask(process, PROMPT) == [1]  # the first one again


def test_a_prompt_that_is_the_last_step_and_one_token_more_needs_a_reset():
    process = processor()
    ask(process, PROMPT)
    process.reset()
    assert ask(process, [*PROMPT, 1]) == [1]


def test_a_token_chosen_against_the_mask_is_an_error_and_only_eos_is_left():
    process = processor()
    ask(process, PROMPT)
    assert ask(process, [*PROMPT, 2]) == [0]
    with pytest.raises(GenerationError, match="token 2 was chosen, which the grammar does not"):
        stop(process, [*PROMPT, 2])
    assert ask(process, [*PROMPT, 2, 1]) == [0]  # still
    with pytest.raises(GenerationError, match="token 2 was chosen"):
        process.check()
    assert ask(process, [1, 1]) == [1]  # a new text is not to blame
    process.check()


def test_a_token_chosen_without_asking_is_an_error():
    process = processor()
    with pytest.raises(GenerationError, match="chosen without the mask"):
        process.check()
    with pytest.raises(GenerationError, match="chosen without the mask"):
        stop(process, PROMPT)
    ask(process, PROMPT)
    with pytest.raises(GenerationError, match="chosen without the mask"):
        stop(process, [*PROMPT, 1])


def test_scores_of_another_model_are_an_error():
    process = processor()
    assert ask(process, PROMPT, np.zeros(3, dtype=np.float32)) == [0]
    with pytest.raises(ModelError, match="3 columns, the vocabulary 4 ids"):
        process.check()


def test_columns_beyond_the_vocabulary_are_not_allowed():
    assert ask(processor(), PROMPT, np.zeros(40, dtype=np.float32)) == [1]


def test_what_others_have_ruled_out_is_an_error():
    process = processor()
    scores = np.array([0, -np.inf, 0, 0], dtype=np.float32)
    assert ask(process, PROMPT, scores) == [0]
    with pytest.raises(GenerationError, match="was ruled out before"):
        process.check()


def test_errors_of_the_engine_are_kept_too():
    """C would drop them: after them a token would be chosen without a mask."""
    grammar = cfgguide.Grammar("start: A+\nA: /(?:a(?=.{5}b)c?|ad?)+/")
    vocabulary = short_vocabulary_of(["a", "b", "c", "d"])
    limits = cfgguide.Limits(max_hypotheses=6)
    process = LlamaCppProcessor(cfgguide.compile(grammar, vocabulary, limits=limits))
    scores = np.zeros(5, dtype=np.float32)
    found = [ask(process, PROMPT + [1] * length, scores) for length in range(9)]
    assert 1 in found[0]
    assert found[-1] == [0]
    with pytest.raises(LimitError, match="max_hypotheses"):
        process.check()


def test_without_llama_cpp_it_is_said_what_to_install():
    if importlib.util.find_spec("llama_cpp") is not None:
        pytest.skip("llama-cpp-python is installed")
    with pytest.raises(ModelError, match=r'pip install "cfgguide\[llama\]"'):
        vocabulary_of(None)
    with pytest.raises(ModelError, match=r'pip install "cfgguide\[llama\]"'):
        processor().arguments()


# --- With llama-cpp-python -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    api = pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed")
    from cfgguide.models.smollm2 import find_gguf

    gguf = find_gguf(tmp_path_factory.mktemp("gguf"), progress=False)
    return api.Llama(str(gguf), n_ctx=512, n_threads=1, n_threads_batch=1, verbose=False)


@pytest.fixture(scope="module")
def json_index(llama) -> cfgguide.Index:
    grammar = cfgguide.Grammar.bundled("json", max_ignored=4)
    return cfgguide.compile(grammar, vocabulary_of(llama))


@pytest.mark.slow
@pytest.mark.model
def test_the_vocabulary_is_that_of_the_tokenizer(llama):
    from cfgguide.models import load_tokenizer

    found = vocabulary_of(llama)
    expected = cfgguide.Vocabulary.from_tokenizer(
        load_tokenizer(), eos_token_ids=found.eos_token_ids
    )
    assert found.tokens == expected.tokens
    assert {llama.token_eos(), 0} <= set(found.eos_token_ids)  # <|im_end|> and <|endoftext|>


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.parametrize("options", [{"temperature": 0.0}, {"temperature": 1.0, "seed": 5}])
def test_it_writes_sentences_one_after_the_other(llama, json_index, options):
    process = LlamaCppProcessor(json_index)
    for prompt in ("A cat as JSON:\n", "Numbers:\n", "A cat as JSON:\n"):
        out = llama(prompt, max_tokens=100, **options, **process.arguments())
        choice = out["choices"][0]
        guide = cfgguide.Guide(json_index)
        for token_id in llama.tokenize(choice["text"].encode(), add_bos=False):
            guide.advance(token_id)
        assert choice["finish_reason"] in ("stop", "length")
        if choice["finish_reason"] == "stop":
            json.loads(choice["text"])


@pytest.mark.slow
@pytest.mark.model
def test_a_sentence_with_an_end_is_complete_also_in_chats(llama):
    grammar = cfgguide.Grammar('start: "[" NUMBER ("," NUMBER)~2 "]"\nNUMBER: /[0-9]{1,3}/')
    process = LlamaCppProcessor(cfgguide.compile(grammar, vocabulary_of(llama)))
    out = llama.create_chat_completion(
        [{"role": "user", "content": "Three numbers"}],
        max_tokens=40,
        temperature=0.0,
        logits_processor=process.arguments()["logits_processor"],
    )
    process.check()
    choice = out["choices"][0]
    assert choice["finish_reason"] == "stop"
    assert len(json.loads(choice["message"]["content"])) == 3


@pytest.mark.slow
@pytest.mark.model
def test_errors_within_c_and_dropped_processors_are_noticed(llama, json_index):
    vocabulary = short_vocabulary_of(["a", "b", "c"] * 20_000)
    wrong = LlamaCppProcessor(cfgguide.compile(GRAMMAR, vocabulary))
    with pytest.raises(ModelError, match="49152 columns, the vocabulary 60001 ids"):
        llama("x", max_tokens=5, **wrong.arguments())
    process = LlamaCppProcessor(json_index)
    with pytest.raises(GenerationError, match="chosen without the mask"):
        llama("x", max_tokens=5, logit_bias={5: 1.0}, **process.arguments())
