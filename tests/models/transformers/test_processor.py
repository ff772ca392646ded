"""The logits processor: exact columns by hand, and every strategy of transformers' `generate`.

The models are real ones with random weights (`support.tiny_models`); the judge of what they write
is Lark.
"""

from __future__ import annotations

import copy
import itertools
import json
import pickle
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from support.short_grammars import GRAMMARS, assert_sentences, index_of
from support.tiny_grammar import (
    CLOSE,
    END,
    OPEN,
    OPEN_X,
    SPECIAL,
    TINY,
    X,
    allowed,
    scores_of,
    tiny_processor,
)
from support.tiny_models import (
    EOS,
    N_SMALL,
    random_model,
    short_vocabulary_of,
    small_tokenizer,
)

import cfgguide
from cfgguide.errors import BudgetError, BudgetWarning, GenerationError, ModelError

# --- Exact columns -------------------------------------------------------------------------------

#: What was written, and what may follow.
TINY_MASKS: list[tuple[tuple[int, ...], set[int]]] = [
    ((), {OPEN, X, OPEN_X}),
    ((OPEN,), {OPEN, X, OPEN_X}),
    ((X,), {END}),
    ((OPEN_X,), {CLOSE}),
    ((OPEN, OPEN_X), {CLOSE}),
    ((OPEN, OPEN_X, CLOSE), {CLOSE}),
    ((OPEN, OPEN_X, CLOSE, CLOSE), {END}),
]
#: Rows that have ended, by EOS or by a token that no mask allowed (beam search makes those).
ENDED_ROWS: list[tuple[int, ...]] = [
    (X, END),
    (X, END, END),
    (X, END, SPECIAL, SPECIAL),
    (X, END, 40, 40),  # padding with an id that the vocabulary does not have
    (X, END, OPEN, X),
    (END,),  # EOS where the text is no sentence
    (CLOSE,),
    (OPEN, SPECIAL, X),
    (X, X, X, X),
]


@pytest.mark.parametrize(("written", "expected"), TINY_MASKS)
def test_the_columns_that_stay_are_the_tokens_that_the_grammar_allows(written, expected):
    process = tiny_processor()
    prompt = (SPECIAL, X)
    for length in range(len(written) + 1):  # token by token, as `generate` calls it
        masked = process(torch.tensor([prompt + written[:length]]), scores_of(1))
    assert allowed(masked) == [expected]


@pytest.mark.parametrize(("written", "expected"), TINY_MASKS)
def test_a_row_may_come_whole_where_the_prompt_length_is_given(written, expected):
    masked = tiny_processor(prompt_length=2)(torch.tensor([(SPECIAL, X, *written)]), scores_of(1))
    assert allowed(masked) == [expected]


def test_allowed_columns_keep_their_scores():
    masked = tiny_processor()(torch.tensor([[X]]), scores_of(1))
    assert masked[0, [OPEN, X, OPEN_X]].tolist() == scores_of(1)[0, [OPEN, X, OPEN_X]].tolist()


def test_columns_beyond_the_vocabulary_are_never_allowed():
    """The masks themselves are padded to 32 bits; models pad their logits much further."""
    for n_columns in (6, 7, 31, 32, 33, 64, 1000):
        masked = tiny_processor()(torch.tensor([[X]]), scores_of(1, n_columns))
        assert masked.shape == (1, n_columns)
        assert allowed(masked) == [{OPEN, X, OPEN_X}]


def test_logits_of_another_width_get_masks_of_that_width():
    process = tiny_processor(prompt_length=1)
    for n_columns in (7, 1000, 7):
        assert process(torch.tensor([[X]]), scores_of(1, n_columns)).shape == (1, n_columns)


def test_logits_with_too_few_columns_are_an_error():
    with pytest.raises(ModelError) as error:
        tiny_processor()(torch.tensor([[X]]), scores_of(1, 5))
    assert str(error.value) == (
        "[model] the model's logits have 5 columns, the vocabulary 6 ids: "
        "the tokenizer is of another model"
    )


def test_rows_in_different_states_get_masks_of_their_own():
    length = max(len(written) for written, _ in TINY_MASKS)
    longest = [(written, expected) for written, expected in TINY_MASKS if len(written) == length]
    rows = longest + [((*row, END, END, END, END)[:length], {END}) for row in ENDED_ROWS]
    rows.append(((OPEN,) * length, {OPEN, X, OPEN_X}))
    rows.append(((OPEN,) * (length - 1) + (OPEN_X,), {CLOSE}))
    ids = torch.tensor([[SPECIAL, *written] for written, _ in rows])
    masked = tiny_processor(prompt_length=1)(ids, scores_of(len(rows)))
    assert allowed(masked) == [expected for _, expected in rows]


@pytest.mark.parametrize("row", ENDED_ROWS)
@pytest.mark.parametrize("is_whole", [False, True], ids=["token by token", "whole"])
def test_a_row_that_ended_never_raises_and_has_one_finite_column(row, is_whole):
    process = tiny_processor(prompt_length=1)
    for length in range(len(row) if is_whole else 0, len(row) + 1):
        masked = process(torch.tensor([[X, *row[:length]]]), scores_of(1))
    assert allowed(masked) == [{END}]
    assert masked[0, END].isfinite()


def test_after_a_token_beyond_the_vocabulary_a_row_has_ended():
    """Beam sampling draws padded columns where fewer tokens are allowed than it has beams."""
    for token_id in (6, 31, 32, 33, 47):
        masked = tiny_processor(prompt_length=1)(torch.tensor([[X, token_id]]), scores_of(1))
        assert allowed(masked) == [{END}]


def test_left_padding_is_part_of_the_prompt():
    process = tiny_processor()
    prompts = [[END, END, X], [OPEN, X, OPEN], [END, OPEN, OPEN]]
    assert allowed(process(torch.tensor(prompts), scores_of(3))) == [{OPEN, X, OPEN_X}] * 3
    ids = [[*prompt, token] for prompt, token in zip(prompts, (X, OPEN, OPEN_X), strict=True)]
    assert allowed(process(torch.tensor(ids), scores_of(3))) == [{END}, {OPEN, X, OPEN_X}, {CLOSE}]


def test_rows_may_be_reordered_between_two_calls():
    """As beam search does, without telling."""
    process = tiny_processor()
    process(torch.tensor([[X], [X]]), scores_of(2))
    process(torch.tensor([[X, OPEN], [X, OPEN_X]]), scores_of(2))
    swapped = torch.tensor([[X, OPEN_X, CLOSE], [X, OPEN, X]])
    assert allowed(process(swapped, scores_of(2))) == [{END}, {CLOSE}]


def test_a_row_may_become_shorter_again():
    """As where a draft of assisted decoding is rejected."""
    process = tiny_processor()
    for row, expected in [
        ([X], {OPEN, X, OPEN_X}),
        ([X, OPEN], {OPEN, X, OPEN_X}),
        ([X, OPEN, OPEN_X], {CLOSE}),
        ([X, OPEN, OPEN_X, CLOSE], {CLOSE}),
        ([X, OPEN, X], {CLOSE}),
        ([X, X], {END}),
    ]:
        assert allowed(process(torch.tensor([row]), scores_of(1))) == [expected]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_scores_of_every_floating_type_are_masked_and_keep_it(dtype):
    scores = scores_of(1).to(dtype)
    masked = tiny_processor()(torch.tensor([[X]]), scores)
    assert masked.dtype == dtype
    assert allowed(masked) == [{OPEN, X, OPEN_X}]
    assert masked[0, X] == scores[0, X]


def test_the_given_scores_are_not_modified():
    scores = scores_of(2)
    tiny_processor()(torch.tensor([[X], [X]]), scores)
    assert torch.equal(scores, scores_of(2))


def test_scores_that_are_already_minus_infinity_stay_so():
    """Another processor may have forbidden tokens before."""
    scores = scores_of(1)
    scores[0, OPEN] = -torch.inf
    assert allowed(tiny_processor()(torch.tensor([[X]]), scores)) == [{X, OPEN_X}]


def test_a_row_whose_allowed_tokens_were_all_ruled_out_before_is_named():
    """A row that has ended is not: whatever it gets is dropped."""
    process = tiny_processor(prompt_length=1)
    ids = torch.tensor([[X, OPEN, OPEN_X], [X, X, END], [X, OPEN, OPEN]])
    scores = scores_of(3)
    scores[1, END] = scores[2, OPEN] = scores[2, X] = -torch.inf
    assert allowed(process(ids, scores)) == [{CLOSE}, set(), {OPEN_X}]
    scores[2, OPEN_X] = -torch.inf
    with pytest.raises(GenerationError) as caught:
        process(ids, scores)
    assert str(caught.value) == (
        "[generation] row 2: every token that the grammar allows was ruled out before, by another "
        "logits processor or setting (suppress_tokens, min_new_tokens, ...); leave that out"
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_scores_of_every_format_whose_rows_lie_apart(dtype):
    whole = scores_of(4).to(dtype)
    masked = tiny_processor()(torch.tensor([[X], [X]]), whole[::2, :40])
    assert allowed(masked) == [{OPEN, X, OPEN_X}] * 2
    assert masked.dtype == dtype
    assert masked[1, X] == whole[2, X]
    assert torch.equal(whole, scores_of(4).to(dtype))


def test_after_more_steps_than_are_remembered_the_masks_are_still_right():
    """300 brackets are opened and closed, and then the same once more."""
    depth = 300
    steps = [(OPEN, {OPEN, X, OPEN_X})] * depth + [(X, {OPEN, X, OPEN_X})]
    steps += [(CLOSE, {CLOSE})] * depth + [(END, {END})]
    process = tiny_processor()
    for _ in range(2):
        ids = [SPECIAL]
        for token_id, expected in steps:
            assert allowed(process(torch.tensor([ids]), scores_of(1))) == [expected]
            ids.append(token_id)
        assert len(ids) > 256


# --- Budgets -------------------------------------------------------------------------------------


def spelled_within(n: int) -> set[tuple[int, ...]]:
    """All sequences of at most so many tokens that spell a sentence, by trying all of them."""
    pieces = [TINY.tokens[token_id] or b"" for token_id in (OPEN, CLOSE, X, OPEN_X)]
    found = set()
    for length in range(1, n):
        for ids in itertools.product((OPEN, CLOSE, X, OPEN_X), repeat=length):
            text = b"".join(pieces[token_id] for token_id in ids)
            depth = len(text) // 2
            if text == b"(" * depth + b"x" + b")" * depth:
                found.add((*ids, END))
    return found


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7])
def test_within_a_budget_the_masks_have_what_can_still_be_finished(n):
    """At every beginning of a sentence that fits; by brute force."""
    sentences = spelled_within(n)
    prefix_tree = sorted({ids[:length] for ids in sentences for length in range(len(ids))})
    process = tiny_processor(prompt_length=1, max_new_tokens=n)
    for ids in prefix_tree:
        masked = process(torch.tensor([[X, *ids]]), scores_of(1))
        assert allowed(masked) == [
            {each[len(ids)] for each in sentences if each[: len(ids)] == ids}
        ], ids


def test_a_token_behind_which_nothing_fits_ends_a_row():
    process = tiny_processor(prompt_length=1, max_new_tokens=4)
    assert allowed(process(torch.tensor([[X, OPEN, OPEN]]), scores_of(1))) == [{END}]
    assert allowed(process(torch.tensor([[X, OPEN, OPEN_X]]), scores_of(1))) == [{END}]
    assert allowed(process(torch.tensor([[X, OPEN]]), scores_of(1))) == [{X}]


def test_a_budget_that_nothing_fits_is_refused_at_once():
    with pytest.raises(BudgetError, match="no sentence can be finished within 1 token"):
        tiny_processor(max_new_tokens=1)
    with pytest.raises(GenerationError, match="max_new_tokens is 0; at least 1 is needed"):
        tiny_processor(max_new_tokens=0)


# --- One object, several calls -------------------------------------------------------------------


def written_by(process: cfgguide.LogitsProcessor, prompt: list[int], n_steps: int) -> list[int]:
    """What a model writes that likes early columns, with a processor."""
    ids = list(prompt)
    for _ in range(n_steps):
        masked = process(torch.tensor([ids]), -scores_of(1))
        ids.append(int(masked.argmax()))
        if ids[-1] == END:
            break
    return ids[len(prompt) :]


#: The prompts of two calls in a row, without transformers' list of processors; the first writes
#: "(((". A prompt that is one allowed token longer than what was seen cannot be told from the next
#: step: that is what `reset` is for.
CALLS_IN_A_ROW = {
    "the same prompt": ([X, X], [X, X]),
    "a shorter prompt": ([X, X], [X]),
    "another prompt of that length": ([X, X], [X, CLOSE]),
    "a longer prompt": ([X, X], [CLOSE, X, X, X]),
    "a prompt that starts with the one before": ([X, X], [X, X, X, X]),
    "a much longer one that does": ([X, X], [X, X, CLOSE, CLOSE, CLOSE, CLOSE, CLOSE]),
    "one that starts with the prompt and some of the text": ([X, X], [X, X, OPEN, CLOSE, X]),
    "one that starts with the prompt and all of the text": (
        [X, X],
        [X, X, OPEN, OPEN, OPEN, SPECIAL, X],
    ),
}


@pytest.mark.parametrize("name", CALLS_IN_A_ROW)
def test_one_object_serves_one_call_after_another(name):
    first, second = CALLS_IN_A_ROW[name]
    process = tiny_processor()
    assert written_by(process, first, 3) == [OPEN] * 3
    assert written_by(process, second, 3) == [OPEN] * 3


def test_a_chat_goes_on_after_a_finished_text():
    """The next prompt is the one before, the text, its EOS and what the user says to it."""
    process = tiny_processor()
    prompt = [X, SPECIAL]
    for token_id in (OPEN_X, CLOSE, END):
        process(torch.tensor([prompt]), scores_of(1))
        prompt.append(token_id)
    masked = process(torch.tensor([[*prompt, SPECIAL, X]]), scores_of(1))
    assert allowed(masked) == [{OPEN, X, OPEN_X}]


def test_after_reset_a_prompt_may_be_what_an_earlier_call_wrote():
    process = tiny_processor()
    written = [X, *written_by(process, [X], 3)]
    process.reset()
    assert written_by(process, written, 3) == [OPEN] * 3


def test_reset_keeps_a_given_prompt_length():
    process = tiny_processor(prompt_length=1)
    process.reset()
    assert allowed(process(torch.tensor([[X, OPEN_X]]), scores_of(1))) == [{CLOSE}]


def test_with_a_given_prompt_length_calls_may_follow_each_other():
    process = tiny_processor(prompt_length=2)
    for prompt in ([X, X], [X, X], [X, OPEN], [END, END]):
        assert written_by(process, prompt, 3) == [OPEN] * 3


def test_a_batch_may_be_followed_by_another():
    process = tiny_processor()
    for prompts in (
        [[X, X], [X, OPEN]],
        [[X, OPEN], [X, X], [X, X]],
        [[X, X, X, X], [X, OPEN, X, X]],
    ):
        masked = process(torch.tensor(prompts), scores_of(len(prompts)))
        assert allowed(masked) == [{OPEN, X, OPEN_X}] * len(prompts)
        ids = torch.tensor([[*prompt, OPEN_X] for prompt in prompts])
        assert allowed(process(ids, scores_of(len(prompts)))) == [{CLOSE}] * len(prompts)


# --- Every strategy of `generate` ----------------------------------------------------------------

BATCH = [[5, 3, 2], [2, 4, 1, 6], [7]]  # prompts: any ids will do


def generated(name: str, prompts: Sequence[Sequence[int]], *, seed: int = 0, **options: Any):
    """The ids that a random model writes after each prompt, and the scores of beams."""
    index = index_of(name)
    model = random_model(index.vocabulary.size + 5, seed=seed)  # columns beyond the vocabulary
    width = max(map(len, prompts))
    ids = torch.tensor([[EOS] * (width - len(prompt)) + list(prompt) for prompt in prompts])
    torch.manual_seed(seed)
    found = model.generate(
        ids,
        attention_mask=(ids != EOS).long(),
        return_dict_in_generate=True,
        output_scores=True,
        **{"max_new_tokens": 40, "logits_processor": [cfgguide.LogitsProcessor(index)], **options},
    )
    return found.sequences[:, width:].tolist(), getattr(found, "sequences_scores", None)


SAMPLING = {"do_sample": True, "top_k": 0}
STRATEGIES: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampling": SAMPLING,
    "sampling, hot": {**SAMPLING, "temperature": 3.0},
    "sampling among the top 5 and the nucleus": {"do_sample": True, "top_k": 5, "top_p": 0.5},
    "sampling, 3 texts a prompt": {**SAMPLING, "num_return_sequences": 3},
    "beams": {"num_beams": 4},
    "beams, 3 texts a prompt": {"num_beams": 4, "num_return_sequences": 3},
    "beams that stop early": {"num_beams": 4, "early_stopping": True},
    "beam sampling": {**SAMPLING, "num_beams": 4},
    "beam sampling, 4 texts a prompt": {**SAMPLING, "num_beams": 4, "num_return_sequences": 4},
}


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", GRAMMARS)
def test_every_finished_text_parses_under_lark(name, strategy):
    n_finished = 0
    for seed in range(3):
        rows, beam_scores = generated(name, BATCH, seed=seed, **STRATEGIES[strategy])
        if beam_scores is not None:  # beams of forbidden tokens fill up where there are too few
            rows = [row for row, score in zip(rows, beam_scores, strict=True) if score > -1e6]
        n_finished += assert_sentences(name, rows)
    assert n_finished > 0 or strategy in ("greedy", "beams")  # those may run in circles


@pytest.mark.slow
@pytest.mark.parametrize("is_told", [True, False], ids=["told", "as generate says"])
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", GRAMMARS)
def test_within_a_budget_every_text_is_finished(name, strategy, is_told):
    for seed, budget in ((0, 5), (1, 9), (2, 70)) if not is_told else ((0, 5), (1, 9)):
        told = {"max_new_tokens": budget} if is_told else {}
        process = cfgguide.LogitsProcessor(index_of(name), **told)
        rows, beam_scores = generated(
            name,
            BATCH,
            seed=seed,
            max_new_tokens=budget,
            logits_processor=[process],
            **STRATEGIES[strategy],
        )
        if beam_scores is not None:
            rows = [row for row, score in zip(rows, beam_scores, strict=True) if score > -1e6]
        assert assert_sentences(name, rows) == len(rows) > 0


def test_a_call_of_generate_that_nothing_fits_is_refused_at_its_first_step():
    with pytest.raises(BudgetError, match="no sentence can be finished within 1 token"):
        generated("json", BATCH, max_new_tokens=1)
    process = cfgguide.LogitsProcessor(index_of("json"), finish=False)
    rows, _ = generated("json", BATCH, max_new_tokens=1, logits_processor=[process])
    assert [len(row) for row in rows] == [1] * len(BATCH)


@pytest.mark.slow
def test_a_text_that_has_to_be_cut_is_told_of(monkeypatch):
    """As if a token lengthened what finishes a sentence by more than was thought."""
    monkeypatch.setattr("cfgguide.models.transformers.batch_rows.RESERVE", 0)
    options = {"max_new_tokens": 9, "do_sample": True, "top_k": 0}
    with pytest.warns(BudgetWarning, match="a text will be cut before its end: "):
        _ = [generated("json", BATCH, seed=seed, **options) for seed in range(20)]


def test_only_eos_stands_where_nothing_but_ignored_text_could_follow():
    grammar = cfgguide.Grammar('start: "a"\n%ignore " "')
    vocabulary = short_vocabulary_of(["a", " "])
    a, space = (vocabulary.tokens.index(text) for text in (b"a", b" "))
    (end,) = vocabulary.eos_token_ids
    index = cfgguide.compile(grammar, vocabulary)
    ids = torch.tensor([[7, a]])
    scores = scores_of(1)
    for trailing, expected in ((False, {end}), (True, {end, space})):
        process = cfgguide.LogitsProcessor(index, prompt_length=1, trailing=trailing)
        assert allowed(process(ids, scores)) == [expected]


@pytest.mark.parametrize("name", GRAMMARS)
def test_drafts_do_not_change_what_is_written_within_a_budget(name):
    index = index_of(name)
    prompt = [*generated(name, [[5, 3, 2]])[0][0], 5, 3, 2]
    for options in (
        {"prompt_lookup_num_tokens": 4, "max_matching_ngram_size": 2},
        {"assistant_model": random_model(index.vocabulary.size + 5, seed=1)},
    ):
        expected, rows = (
            generated(
                name,
                [prompt],
                max_new_tokens=7,
                logits_processor=[cfgguide.LogitsProcessor(index, max_new_tokens=7)],
                **each,
            )[0]
            for each in ({}, options)
        )
        assert rows == expected
        assert assert_sentences(name, rows) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize("drafts", ["prompt lookup", "assistant", "bad assistant"])
def test_drafts_do_not_change_what_is_written(name, drafts):
    """Prompt lookup copies from the prompt, which here holds a sentence of every grammar."""
    size = index_of(name).vocabulary.size + 5
    for seed in range(3):
        prompt = [*generated(name, [[5, 3, 2]], seed=seed)[0][0], 5, 3, 2]
        expected, _ = generated(name, [prompt], seed=seed)
        options: dict[str, dict[str, Any]] = {
            "prompt lookup": {"prompt_lookup_num_tokens": 4, "max_matching_ngram_size": 2},
            "assistant": {"assistant_model": random_model(size, seed=seed)},
            "bad assistant": {"assistant_model": random_model(size, seed=seed + 1)},
        }
        rows, _ = generated(name, [prompt], seed=seed, **options[drafts])
        assert rows == expected
        assert_sentences(name, rows)


@pytest.mark.slow
def test_greedy_in_a_batch_is_greedy_alone():
    for name in GRAMMARS:
        rows, _ = generated(name, BATCH)
        for prompt, row in zip(BATCH, rows, strict=True):
            (alone,), _ = generated(name, [prompt])
            assert row[: len(alone)] == alone


def test_more_beams_than_there_are_sentences():
    """Beams of forbidden tokens fill up; their scores tell them apart."""
    grammar = cfgguide.Grammar('start: "ab" | "cd"')
    vocabulary = short_vocabulary_of(["a", "b", "c", "d"])
    index = cfgguide.compile(grammar, vocabulary)
    for seed in range(5):
        for do_sample in (False, True):
            torch.manual_seed(seed)
            found = random_model(40, seed=seed).generate(
                torch.tensor([[2, 3]]),
                attention_mask=torch.ones(1, 2, dtype=torch.long),
                max_new_tokens=6,
                num_beams=8,
                num_return_sequences=8,
                do_sample=do_sample,
                logits_processor=[cfgguide.LogitsProcessor(index)],
                return_dict_in_generate=True,
                output_scores=True,
            )
            texts = [
                vocabulary.spell(token for token in row if token)
                for row, score in zip(
                    found.sequences[:, 2:].tolist(), found.sequences_scores, strict=True
                )
                if score > -1e6
            ]
            assert sorted(texts) == [b"ab", b"cd"]


@pytest.mark.slow
def test_one_object_serves_several_calls_of_generate():
    """A processor that is new for each call is the measure."""
    for name in ("json", "fall-back"):
        process = cfgguide.LogitsProcessor(index_of(name))
        for prompt in (
            [5, 3, 2],
            [5, 3, 2],
            [5, 3],
            [5, 3, 2, 1, 4],
            [5, 3, 2, 1, 1, 1, 4],
            [2] * 9,
        ):
            for strategy in ("greedy", "sampling", "beams"):
                options = STRATEGIES[strategy]
                fresh, _ = generated(name, [prompt], **options)
                again, _ = generated(name, [prompt], logits_processor=[process], **options)
                assert again == fresh


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_models_of_half_precision_write_sentences(dtype):
    for name in GRAMMARS:
        index = index_of(name)
        model = random_model(index.vocabulary.size + 5, dtype=dtype)
        ids = torch.tensor([[3, 4]] * 8)
        torch.manual_seed(0)
        rows = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=40,
            logits_processor=[cfgguide.LogitsProcessor(index)],
            **SAMPLING,
        )
        assert assert_sentences(name, rows[:, 2:].tolist())


# --- Wrong shapes, copies -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ids", "scores"),
    [((2,), (1, 257)), ((2,), (257,)), ((1, 2), (257,)), ((1, 2), (2, 257)), ((1, 1, 2), (1, 257))],
)
def test_ids_and_scores_have_two_axes_and_as_many_rows(ids, scores):
    index = cfgguide.compile(cfgguide.Grammar('start: "ab"'), cfgguide.Vocabulary.of_bytes())
    process = cfgguide.LogitsProcessor(index)
    with pytest.raises(GenerationError, match="ids have the shape"):
        process(torch.zeros(ids, dtype=torch.int64), torch.zeros(scores))


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))]
)
def test_a_copied_processor_has_seen_no_rows(again):
    index = cfgguide.compile(cfgguide.Grammar('start: "ab"'), cfgguide.Vocabulary.of_bytes())
    process = cfgguide.LogitsProcessor(index, max_new_tokens=5)
    for ids in ([[1]], [[1, ord("a")]]):
        process(torch.tensor(ids), torch.zeros(1, 257))
    other = again(process)
    first = other(torch.tensor([[1, ord("a")]]), torch.zeros(1, 257))
    assert torch.isfinite(first).nonzero().tolist() == [[0, ord("a")]]
    later = process(torch.tensor([[1, ord("a")]]), torch.zeros(1, 257))
    assert torch.isfinite(later).nonzero().tolist() == [[0, ord("b")]]


# --- Repetition ----------------------------------------------------------------------------------

REPETITIONS = (
    cfgguide.Repetition(repeats=2, characters=2),
    cfgguide.Repetition(repeats=2, characters=2, penalty=2.0, no_repeat_ngram=3, min_p=0.01),
)


@pytest.mark.parametrize("repetition", REPETITIONS)
@pytest.mark.parametrize("seed", range(3))
def test_loops_are_closed_as_cfgguides_generate_closes_them(
    repetition: cfgguide.Repetition, seed: int
) -> None:
    tokenizer, model = small_tokenizer(), random_model(N_SMALL + 5, seed=seed)
    texts = {"type": "array", "items": {"type": "string"}, "minItems": 2}
    what = {"properties": {"a": texts, "b": texts}, "required": ["a", "b"], "type": "object"}
    ids = tokenizer("a = [", return_tensors="pt").input_ids
    result = cfgguide.generate(
        model, "a = [", what, tokenizer=tokenizer, max_new_tokens=150, force=False,
        repetition=repetition,
    )  # fmt: skip
    process = cfgguide.LogitsProcessor(
        what, tokenizer, max_new_tokens=150, repetition=repetition, prompt_length=ids.shape[1]
    )
    written = model.generate(
        ids, logits_processor=[copy.deepcopy(process)], max_new_tokens=150, do_sample=False
    )
    assert written[0, ids.shape[1] :].tolist() == list(result.token_ids)
    process(written[:, :-1], torch.zeros(1, N_SMALL + 5))
    assert process.notes == (result.notes,)
    assert result.notes
    assert json.loads(result.text).keys() >= {"a", "b"}
