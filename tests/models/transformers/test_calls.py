"""Which call of `generate` a step belongs to: one object in several, one after another or at once.

By hand with transformers' list of processors, and with its own `generate`, where a processor that
is new for each call is the measure.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from support.short_grammars import index_of
from support.threads import in_threads
from support.tiny_grammar import (
    CLOSE,
    END,
    OPEN,
    OPEN_X,
    SPECIAL,
    X,
    allowed,
    scores_of,
    tiny_processor,
)
from support.tiny_models import fresh_random_model, random_model
from transformers import LogitsProcessorList

import cfgguide
from cfgguide.errors import GenerationError

BEGINNING = {OPEN, X, OPEN_X}

# --- By hand -------------------------------------------------------------------------------------


def step(processors: Any, *rows: list[int]) -> list[set[int]]:
    return allowed(processors(torch.tensor(rows), scores_of(len(rows))))


@pytest.mark.parametrize("token", [OPEN, X, OPEN_X, CLOSE, SPECIAL, END])
def test_a_new_list_begins_a_new_text_whatever_the_prompt(token):
    """Its prompt is the one before and a token; without the list that would be the next step."""
    process = tiny_processor()
    first = LogitsProcessorList([process])
    assert step(first, [SPECIAL, X]) == [BEGINNING]
    del first
    second = LogitsProcessorList([process])
    assert step(second, [SPECIAL, X, token]) == [BEGINNING]
    assert step(second, [SPECIAL, X, token, OPEN_X]) == [{CLOSE}]


def test_two_lists_may_take_turns():
    process = tiny_processor()
    first, second = LogitsProcessorList([process]), LogitsProcessorList([process])
    assert step(first, [X]) == [BEGINNING]
    assert step(second, [X, OPEN_X]) == [BEGINNING]
    assert step(first, [X, OPEN_X]) == [{CLOSE}]
    assert step(second, [X, OPEN_X, X]) == [{END}]
    assert step(first, [X, OPEN_X, CLOSE]) == [{END}]


class Wrapped:
    """A processor around another one, as for measuring it."""

    def __init__(self, process: cfgguide.LogitsProcessor) -> None:
        self._process = process

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        return self._process(input_ids, scores)


def test_the_list_may_call_a_processor_around_it():
    process = tiny_processor()
    for prompt in ([X], [X, OPEN], [X, OPEN, OPEN]):
        processors = LogitsProcessorList([Wrapped(process)])
        assert step(processors, prompt) == [BEGINNING]
        assert step(processors, [*prompt, X]) == [{END}]


def test_the_rows_of_a_list_begin_with_its_prompts():
    processors = LogitsProcessorList([tiny_processor()])
    step(processors, [X, X])
    with pytest.raises(GenerationError) as caught:
        step(processors, [X, OPEN, OPEN])
    assert str(caught.value) == (
        "[generation] the rows do not begin with the prompts of the first step, and one list of "
        "processors is for one generate; make a new list, or call reset() in between"
    )
    assert step(processors, [X, X, OPEN_X]) == [{CLOSE}]


def test_after_reset_a_list_may_serve_another_text():
    process = tiny_processor()
    processors = LogitsProcessorList([process])
    step(processors, [X, X])
    process.reset()
    assert step(processors, [X, X, OPEN]) == [BEGINNING]


def test_rows_may_be_left_out_once_they_have_ended():
    processors = LogitsProcessorList([tiny_processor()])
    step(processors, [X, X], [X, OPEN], [OPEN, X])
    step(processors, [X, X, X], [X, OPEN, OPEN], [OPEN, X, OPEN_X])
    assert step(processors, [OPEN, X, OPEN_X, CLOSE], [X, OPEN, OPEN, X]) == [{END}, {CLOSE}]


def test_a_lists_rows_are_forgotten_with_it():
    """Or an object that serves a million calls would remember them all."""
    process = tiny_processor()
    for n_calls in range(20):
        step(LogitsProcessorList([process]), [n_calls])
    assert len(process._calls) <= 2


def test_without_a_list_a_token_that_was_ruled_out_begins_a_new_text():
    process = tiny_processor()
    for token in (CLOSE, SPECIAL, END):
        process.reset()
        assert step(process, [X, X]) == [BEGINNING]
        assert step(process, [X, X, token]) == [BEGINNING]
        assert step(process, [X, X, token, OPEN_X]) == [{CLOSE}]


def test_without_a_list_a_row_that_has_ended_stays_so_beside_one_that_has_not():
    process = tiny_processor()
    step(process, [X], [X])
    assert step(process, [X, X], [X, OPEN]) == [{END}, BEGINNING]
    assert step(process, [X, X, END], [X, OPEN, OPEN]) == [{END}, BEGINNING]
    assert step(process, [X, X, END, SPECIAL], [X, OPEN, OPEN, OPEN]) == [{END}, BEGINNING]


# --- `generate` ----------------------------------------------------------------------------------


PROMPT = [5, 3]  # greedily the model writes a long text after it


def written(process: cfgguide.LogitsProcessor, *prompts: list[int], **options: Any) -> Any:
    """Prompts and texts, as `generate` returns them."""
    ids = torch.tensor(prompts)
    model = random_model(index_of("json").vocabulary.size + 5)
    torch.manual_seed(0)
    options = {"max_new_tokens": 12, **options}
    mask = torch.ones_like(ids)
    return model.generate(ids, attention_mask=mask, logits_processor=[process], **options).tolist()


def fresh() -> cfgguide.LogitsProcessor:
    return cfgguide.LogitsProcessor(index_of("json"), finish=False)


SAMPLING = {"do_sample": True, "top_k": 0}


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{}, SAMPLING, {"num_beams": 3}, {"prompt_lookup_num_tokens": 3}]
)
@pytest.mark.parametrize("n_tokens", [1, 3, 12], ids="{} tokens at first".format)
def test_a_prompt_may_be_what_the_last_call_returned(options, n_tokens):
    """Whether that ended with EOS or for want of tokens: a sentence begins after the prompt."""
    process = fresh()
    prompt = PROMPT
    for _ in range(3):
        (longer,) = written(process, prompt, **{**options, "max_new_tokens": n_tokens})
        assert written(process, longer, **options) == written(fresh(), longer, **options)
        prompt = longer


@pytest.mark.few(6)
@pytest.mark.parametrize("token", range(1, 20))
def test_a_prompt_may_be_the_last_one_and_a_token(token):
    process = fresh()
    written(process, PROMPT)
    longer = [*PROMPT, token]
    assert written(process, longer) == written(fresh(), longer)


def test_a_prompt_of_a_batch_may_be_the_text_of_another():
    process = fresh()
    (text,) = written(process, PROMPT, max_new_tokens=2)
    batch = [text, [*text[:3], 7]]
    assert written(process, *batch) == written(fresh(), *batch)
    assert written(process, *batch[::-1]) == written(fresh(), *batch[::-1])


def test_calls_may_differ_in_batch_beams_and_texts_a_prompt():
    process = fresh()
    for prompts, options in [
        ([[5, 3]], {"num_beams": 4}),
        ([[5, 3], [5, 3]], {"num_beams": 2}),
        ([[5, 3]], {**SAMPLING, "num_return_sequences": 4}),
        ([[5, 3], [3, 5], [5, 3]], SAMPLING),
        ([[5, 3]], {"prompt_lookup_num_tokens": 2}),
        ([[5, 3], [5, 4]], {"num_beams": 3, "num_return_sequences": 2, **SAMPLING}),
    ]:
        assert written(process, *prompts, **options) == written(fresh(), *prompts, **options)


def test_a_call_that_failed_leaves_nothing_behind():
    """Its list lives on in the traceback."""
    process = fresh()

    def fail(input_ids: torch.Tensor, scores: torch.Tensor, **_: Any) -> torch.Tensor:
        if input_ids.shape[1] == len(PROMPT) + 4:
            raise KeyboardInterrupt
        return torch.zeros(len(input_ids), dtype=torch.bool)

    with pytest.raises(KeyboardInterrupt) as caught:
        written(process, PROMPT, stopping_criteria=[fail])
    (text,) = written(fresh(), PROMPT)
    for prompt in (text[:4], text[:5], text[:6], text[:7], PROMPT):
        assert written(process, prompt) == written(fresh(), prompt)
    assert caught.tb is not None


class Asking:
    """A streamer that has another text written at each token, whose prompt is the text so far."""

    def __init__(self, process: cfgguide.LogitsProcessor) -> None:
        self._process = process
        self._ids: list[int] = []
        self.answers: list[tuple[Any, Any]] = []

    def put(self, value: torch.Tensor) -> None:
        self._ids.extend(value.flatten().tolist())
        self.answers.append((written(self._process, self._ids), written(fresh(), self._ids)))

    def end(self) -> None:
        pass


def test_a_call_may_run_within_another():
    process = fresh()
    asking = Asking(process)
    found = written(process, PROMPT, streamer=asking, max_new_tokens=6)
    assert found == written(fresh(), PROMPT, max_new_tokens=6)
    assert len(asking.answers) > 3
    for inner, expected in asking.answers:
        assert inner == expected


def test_threads_may_share_an_object():
    process = fresh()
    prompts = [[5], [5, 3], [5, 3, 19], [5, 3, 2, 7]]
    expected = [written(fresh(), prompt) for prompt in prompts]
    found = in_threads(lambda prompt: [written(process, prompt) for _ in range(5)], prompts)
    assert found == [[rows] * 5 for rows in expected]


# --- Drafts --------------------------------------------------------------------------------------


class Counted:
    """How often a model was run."""

    def __init__(self, model: Any) -> None:
        self.n_runs = 0
        self._hook = model.register_forward_hook(self._count)

    def _count(self, *_: Any) -> None:
        self.n_runs += 1

    def stop(self) -> int:
        self._hook.remove()
        return self.n_runs


@pytest.mark.parametrize("name", ["json", "keywords"])
def test_an_assistant_that_is_the_model_is_always_right(name):
    """Its drafts begin with the text so far, which is no new prompt to the processor."""
    index = index_of(name)
    for seed in range(3):
        model = random_model(index.vocabulary.size + 5, seed=seed)
        assistant = fresh_random_model(index.vocabulary.size + 5, seed=seed)
        assistant.generation_config.num_assistant_tokens = 4
        assistant.generation_config.num_assistant_tokens_schedule = "constant"
        assistant.generation_config.assistant_confidence_threshold = 0.0
        counted = Counted(model)
        (row,) = model.generate(
            torch.tensor([PROMPT]),
            attention_mask=torch.ones(1, len(PROMPT), dtype=torch.long),
            max_new_tokens=21,
            assistant_model=assistant,
            logits_processor=[cfgguide.LogitsProcessor(index, finish=False)],
        ).tolist()
        n_written = len(row) - len(PROMPT)
        assert n_written > 15
        assert counted.stop() == -(-n_written // 5)  # four tokens of a draft and one of its own


@pytest.mark.slow
def test_drafts_may_be_made_with_the_same_object_as_the_text_before():
    process = fresh()
    assistant = random_model(index_of("json").vocabulary.size + 5, seed=1)
    prompt = PROMPT
    for _ in range(3):
        expected = written(fresh(), prompt)
        assert written(process, prompt, assistant_model=assistant) == expected
        prompt = expected[0][:-2]
