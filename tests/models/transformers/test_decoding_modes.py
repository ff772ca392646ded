"""A grammar for each prompt, and every way in which transformers' `generate` decodes.

The models are real classes of transformers with random weights: one that goes on with its prompt,
and two with an encoder. The judge of what they write is Lark. `test_processor` has beams, sampling
and drafts with one grammar, `test_calls` one object in several calls.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import lark
import pytest
import torch
from support.short_grammars import GRAMMARS, assert_sentences, index_of
from support.small_tokenizers import END_OF_TEXT, standard_library_tokenizer
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
    tiny_index,
    tiny_processor,
)
from support.tiny_models import EOS, fresh_random_model, random_model, small_tokenizer, untrained
from transformers import (
    BartForConditionalGeneration,
    PreTrainedTokenizerFast,
    T5ForConditionalGeneration,
)

import cfgguide
from cfgguide.errors import GenerationError

# --- A grammar for each prompt: exact columns ----------------------------------------------------

BEGINNING = {OPEN, X, OPEN_X}


@functools.cache
def backwards_index() -> cfgguide.Index:
    """Of `)x(` in any depth, over the same tokens."""
    return cfgguide.compile(cfgguide.Grammar('start: ")" start "(" | "x"'), TINY)


def both() -> cfgguide.LogitsProcessor:
    return cfgguide.LogitsProcessor([tiny_index(), backwards_index()])


def step(process: cfgguide.LogitsProcessor, *rows: list[int]) -> list[set[int]]:
    return allowed(process(torch.tensor(rows), scores_of(len(rows))))


@pytest.mark.parametrize("n_each", [1, 2, 3])
def test_the_rows_of_a_prompt_have_its_grammar(n_each):
    process = both()
    prompts = [[END, X]] * n_each + [[OPEN, X]] * n_each
    assert step(process, *prompts) == [BEGINNING] * n_each + [{CLOSE, X}] * n_each
    rows = [[*row, X] for row in prompts]
    assert step(process, *rows) == [{END}] * 2 * n_each
    rows = [[*row, CLOSE] for row in prompts]  # as if other beams had won
    assert step(process, *rows) == [{END}] * n_each + [{CLOSE, X}] * n_each


def test_prompts_may_be_alike_and_have_grammars_of_their_own():
    process = both()
    assert step(process, [X], [X]) == [BEGINNING, {CLOSE, X}]
    assert step(process, [X, X], [X, CLOSE]) == [{END}, {CLOSE, X}]


def test_one_index_in_a_sequence_is_for_all_rows():
    process = cfgguide.LogitsProcessor([tiny_index()])
    assert step(process, [X, X], [X, OPEN], [OPEN, X]) == [BEGINNING] * 3


def test_a_prompt_that_is_done_may_have_rows_of_another():
    """Diverse beam search copies the first row over them."""
    process = both()
    step(process, [END, X], [END, X], [OPEN, X], [OPEN, X])
    masked = step(process, [END, X, OPEN_X], [END, X, X], [END, X, OPEN_X], [END, X, CLOSE])
    assert masked == [{CLOSE}, {END}, {CLOSE}, {END}]


def test_rows_may_be_left_out_where_prompts_differ():
    process = both()
    step(process, [END, X], [OPEN, X])
    assert step(process, [OPEN, X, CLOSE]) == [{CLOSE, X}]
    assert step(process, [END, X, OPEN]) == [BEGINNING]


def test_with_a_given_prompt_length_each_row_may_come_whole():
    process = cfgguide.LogitsProcessor([tiny_index(), backwards_index()], prompt_length=1)
    assert step(process, [X, OPEN_X], [X, CLOSE]) == [{CLOSE}, {CLOSE, X}]


OTHER_VOCABULARY = cfgguide.Vocabulary([b"(", b")", b"x", None], eos_token_ids=3)
ONE_EACH = "give one index for each prompt of the batch, or one for all"
#: Rows, and what is wrong with them for two indexes.
REFUSED_ROWS = {
    "an odd number": ([[X]] * 3, f"3 rows cannot be shared out among 2 indexes; {ONE_EACH}"),
    "fewer than indexes": ([[X]], f"1 rows cannot be shared out among 2 indexes; {ONE_EACH}"),
    "prompts of more than two": (
        [[X], [OPEN], [X], [X]],
        f"rows 0 and 1 have one index and different prompts: 4 rows, 2 indexes; {ONE_EACH}",
    ),
}


@pytest.mark.parametrize("name", REFUSED_ROWS)
def test_rows_that_cannot_be_shared_out_are_refused(name):
    rows, expected = REFUSED_ROWS[name]
    with pytest.raises(GenerationError) as caught:
        step(both(), *rows)
    assert str(caught.value) == f"[generation] {expected}"


def test_indexes_that_make_no_sense_are_refused():
    with pytest.raises(GenerationError) as caught:
        cfgguide.LogitsProcessor([])
    assert str(caught.value) == (
        "[generation] there is no index; give one, or one for each prompt of the batch"
    )
    other = cfgguide.compile(cfgguide.Grammar('start: "x"'), OTHER_VOCABULARY)
    with pytest.raises(GenerationError) as caught:
        cfgguide.LogitsProcessor([tiny_index(), tiny_index(), other])
    assert str(caught.value) == (
        "[generation] index 2 is for another vocabulary than index 0; "
        "make all of them for the tokenizer of the model"
    )


def test_prompt_lengths_that_make_no_sense_are_refused():
    with pytest.raises(GenerationError) as caught:
        tiny_processor(prompt_length=-1)
    assert str(caught.value) == "[generation] prompt_length is -1; it is 0 or more"
    with pytest.raises(GenerationError) as caught:
        step(tiny_processor(prompt_length=3), [SPECIAL, X])
    assert str(caught.value) == "[generation] prompt_length is 3, but the rows have only 2 ids"


# --- A grammar for each prompt, in every mode ----------------------------------------------------

#: Two grammars over the pieces of JSON.
NAMES = ("json", "lists")
N_COLUMNS = GRAMMARS["json"][1].size + 5
PROMPTS = torch.tensor([[EOS, 5, 3, 2], [2, 4, 1, 6], [EOS, EOS, 8, 9], [1, 2, 3, 4]])
SAMPLING = {"do_sample": True, "top_k": 0}
MODES: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampling": SAMPLING,
    "3 texts a prompt": {**SAMPLING, "num_return_sequences": 3},
    "beams": {"num_beams": 3},
    "beams, 3 texts a prompt": {"num_beams": 3, "num_return_sequences": 3},
    "beam sampling": {**SAMPLING, "num_beams": 3},
    "static cache": {**SAMPLING, "cache_implementation": "static"},
    "no cache": {**SAMPLING, "use_cache": False},
}


def written(model: Any, prompts: torch.Tensor, indexes: Any, **options: Any) -> list[list[int]]:
    """The ids that a model generates; of beams, those that are not there to fill up."""
    torch.manual_seed(0)
    found = model.generate(
        prompts,
        attention_mask=(prompts != EOS).long(),
        max_new_tokens=40,
        logits_processor=[cfgguide.LogitsProcessor(indexes)],
        return_dict_in_generate=True,
        output_scores=True,
        **options,
    )
    begin = 1 if model.config.is_encoder_decoder else prompts.shape[1]
    scores = getattr(found, "sequences_scores", None)
    rows = found.sequences[:, begin:].tolist()
    if scores is None:
        return rows
    return [row if score > -1e6 else [] for row, score in zip(rows, scores, strict=True)]


def assert_each(names: Sequence[str], rows: Sequence[Sequence[int]]) -> int:
    """Assert that the texts of each prompt are of its grammar; return how many are finished."""
    n_each = len(rows) // len(names)
    return sum(
        assert_sentences(name, rows[number * n_each : (number + 1) * n_each])
        for number, name in enumerate(names)
    )


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_each_text_is_of_the_grammar_of_its_prompt(mode):
    names = [NAMES[number % 2] for number in range(len(PROMPTS))]
    n_finished = 0
    for seed in range(2):
        rows = written(
            random_model(N_COLUMNS, seed=seed), PROMPTS, [*map(index_of, names)], **MODES[mode]
        )
        n_finished += assert_each(names, rows)
    assert n_finished > 0


@pytest.mark.slow
def test_a_grammar_for_each_prompt_is_as_good_as_a_batch_for_each():
    names = [NAMES[number % 2] for number in range(len(PROMPTS))]
    for options in ({}, {"num_beams": 3}):
        together = written(random_model(N_COLUMNS), PROMPTS, [*map(index_of, names)], **options)
        for name, prompt, row in zip(names, PROMPTS, together, strict=True):
            (alone,) = written(random_model(N_COLUMNS), prompt[None], index_of(name), **options)
            assert row[: len(alone)] == alone


# --- Models with an encoder ----------------------------------------------------------------------


@functools.cache
def t5(seed: int) -> T5ForConditionalGeneration:
    return untrained(
        T5ForConditionalGeneration, seed, vocab_size=N_COLUMNS, d_model=32, d_kv=16, d_ff=64,
        num_layers=2, num_heads=2, initializer_factor=8.0, tie_word_embeddings=False,
        decoder_start_token_id=EOS, pad_token_id=EOS,
    )  # fmt: skip


@functools.cache
def bart(seed: int) -> BartForConditionalGeneration:
    return untrained(
        BartForConditionalGeneration, seed, vocab_size=N_COLUMNS, d_model=32, encoder_layers=2,
        decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
        encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=256, init_std=0.2,
        decoder_start_token_id=2, bos_token_id=2, pad_token_id=EOS, forced_eos_token_id=None,
    )  # fmt: skip


WITH_ENCODER = {"T5": t5, "BART": bart}


@pytest.mark.slow
@pytest.mark.parametrize("kind", WITH_ENCODER)
@pytest.mark.parametrize("mode", MODES)
def test_a_model_with_an_encoder_writes_sentences(kind, mode):
    """What its processors see begins with the token that starts the decoder."""
    n_finished = 0
    for seed in range(3):
        rows = written(WITH_ENCODER[kind](seed), PROMPTS, index_of("json"), **MODES[mode])
        n_finished += assert_sentences("json", rows)
    assert n_finished > 0


@pytest.mark.parametrize("kind", WITH_ENCODER)
def test_a_model_with_an_encoder_has_a_grammar_for_each_prompt(kind):
    """All rows begin alike; that they are in order is all that tells them apart."""
    names = [NAMES[number % 2] for number in range(len(PROMPTS))]
    for options in ({}, {"num_beams": 3}, {**SAMPLING, "num_return_sequences": 2}):
        indexes = [*map(index_of, names)]
        assert_each(names, written(WITH_ENCODER[kind](1), PROMPTS, indexes, **options))


@pytest.mark.slow
@pytest.mark.parametrize("kind", WITH_ENCODER)
def test_drafts_do_not_change_what_a_model_with_an_encoder_writes(kind):
    for seed in range(3):
        model, prompt = WITH_ENCODER[kind](seed), PROMPTS[1:2]
        expected = written(model, prompt, index_of("json"))
        for drafts in (
            {"prompt_lookup_num_tokens": 3},
            {"assistant_model": WITH_ENCODER[kind](seed + 1)},
        ):
            assert written(model, prompt, index_of("json"), **drafts) == expected


# --- Other ways to decode ------------------------------------------------------------------------


def test_caches_do_not_change_what_is_written():
    for name in ("json", "lists"):
        model = random_model(N_COLUMNS, seed=1)
        expected = written(model, PROMPTS, index_of(name))
        for options in ({"cache_implementation": "static"}, {"use_cache": False}):
            assert written(model, PROMPTS, index_of(name), **options) == expected


class Heard:
    """A streamer that keeps what it was given."""

    def __init__(self) -> None:
        self.ids: list[int] = []

    def put(self, value: torch.Tensor) -> None:
        self.ids.extend(value.flatten().tolist())

    def end(self) -> None:
        pass


@pytest.mark.parametrize("options", [{}, {"prompt_lookup_num_tokens": 3}])
def test_a_stream_is_the_text(options):
    heard = Heard()
    prompt = PROMPTS[1:2]
    rows = written(random_model(N_COLUMNS), prompt, index_of("json"), streamer=heard, **options)
    assert heard.ids == [*prompt[0].tolist(), *rows[0]]


def test_a_prompt_of_embeddings_has_no_ids():
    model = random_model(N_COLUMNS)
    found = model.generate(
        inputs_embeds=model.get_input_embeddings()(PROMPTS[1:2]),
        max_new_tokens=40,
        logits_processor=[cfgguide.LogitsProcessor(index_of("json"))],
    )
    assert found.tolist() == written(model, PROMPTS[1:2], index_of("json"))


def test_a_layer_may_draft_for_the_others():
    """Early exit: the model is its own assistant."""
    model = fresh_random_model(N_COLUMNS, seed=1, n_layers=2)
    expected = written(model, PROMPTS[1:2], index_of("json"))
    drafted = written(model, PROMPTS[1:2], index_of("json"), assistant_early_exit=1)
    assert drafted == expected


@pytest.mark.slow
@pytest.mark.parametrize("is_small", [False, True], ids=["large assistant", "small assistant"])
def test_an_assistant_may_have_another_tokenizer(is_small):
    """Its ids mean nothing to the grammar; the model's own choice is masked."""
    large = PreTrainedTokenizerFast(
        tokenizer_object=standard_library_tokenizer(), eos_token=END_OF_TEXT
    )
    own, of_assistant = (large, small_tokenizer()) if is_small else (small_tokenizer(), large)
    index = cfgguide.compile(GRAMMARS["json"][0], own)
    ids = own("An array: ", return_tensors="pt")["input_ids"]
    for seed in range(2):
        model = random_model(len(own), seed=seed)
        drafts = {
            "assistant_model": random_model(len(of_assistant), seed=1),
            "tokenizer": own,
            "assistant_tokenizer": of_assistant,
        }
        options = {"attention_mask": torch.ones_like(ids), "max_new_tokens": 20}
        plain, drafted = (
            model.generate(
                ids, logits_processor=[cfgguide.LogitsProcessor(index)], **options, **more
            ).tolist()
            for more in ({}, drafts)
        )
        assert drafted == plain


def test_an_unfinished_text_goes_on_where_the_prompts_length_is_given():
    model = random_model(N_COLUMNS)
    prompt = torch.tensor([[5, 3]])
    whole = written(model, prompt, index_of("json"))
    for n_tokens in (1, 4, 7):
        begun = torch.cat([prompt, torch.tensor([whole[0][:n_tokens]])], dim=1)
        process = cfgguide.LogitsProcessor(index_of("json"), prompt_length=2)
        rows = model.generate(
            begun,
            attention_mask=torch.ones_like(begun),
            max_new_tokens=40 - n_tokens,
            logits_processor=[process],
        )
        assert rows[:, 2:].tolist() == whole


# --- SmolLM2 -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.model
def test_smollm2_writes_sentences_in_every_mode():
    from cfgguide.models import load_model

    model, tokenizer = load_model()
    tokenizer.padding_side = "left"
    grammar = cfgguide.Grammar('start: "[" NUMBER ("," NUMBER)~1..3 "]"\nNUMBER: /-?[0-9]{1,3}/')
    index = cfgguide.compile(grammar, tokenizer)
    judge = lark.Lark(grammar.text, parser="lalr", lexer="contextual")
    batch = tokenizer(["Numbers:", "Four small numbers: "], return_tensors="pt", padding=True)
    for options in [
        {},
        {**SAMPLING, "num_return_sequences": 2},
        {"num_beams": 2, "num_return_sequences": 2},
        {**SAMPLING, "num_beams": 2},
        {"cache_implementation": "static"},
    ]:
        rows = model.generate(
            **batch,
            max_new_tokens=24,
            logits_processor=[cfgguide.LogitsProcessor(index)],
            **options,
        )
        for row in rows[:, batch["input_ids"].shape[1] :]:
            assert tokenizer.eos_token_id in row
            judge.parse(tokenizer.decode(row, skip_special_tokens=True))
