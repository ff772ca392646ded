"""`generate`: what comes out, when it is complete, and that only mask and temperature decide.

The twin of the loop is ten lines (`by_hand`): the model's logits, a guide, and the largest of what
it allows.
"""

from __future__ import annotations

import functools
import gc
import json
import random
import re
import time
import weakref
from collections import Counter
from itertools import pairwise
from typing import Any, Literal

import lark
import numpy as np
import pydantic
import pytest
import torch
from support import partial_laws
from support.ci import or_in_ci
from support.tiny_models import (
    EOS,
    N_SMALL,
    fresh_random_model,
    random_model,
    short_vocabulary_of,
    small_tokenizer,
)

import cfgguide
from cfgguide.errors import (
    BudgetError,
    CfgGuideError,
    GenerationError,
    ModelError,
    TokenRejectedError,
    VocabularyError,
)
from cfgguide.models.transformers.generation import Generation
from cfgguide.serving import Matcher
from cfgguide.shared_indexes import shared_index

N_COLUMNS = N_SMALL + 5
JSON = cfgguide.Grammar.bundled("json", max_ignored=0)
LETTERS = cfgguide.Grammar("start: /[a-z]/+")
#: Every token of its sentences is a part of a character.
THREE = cfgguide.Grammar('start: "日" "é" "𝄞"')
GREEK = cfgguide.Grammar('start: WORD ("-" WORD)*\nWORD: /[α-ωё日本]{2,9}/')
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)


@functools.cache
def tokenizer():
    return small_tokenizer()


@functools.cache
def index_of(grammar: cfgguide.Grammar) -> cfgguide.Index:
    return cfgguide.compile(grammar, tokenizer())


def written(grammar: cfgguide.Grammar, prompt: Any = "a = [", **options: Any) -> Generation:
    options = {"model": random_model(N_COLUMNS), "max_new_tokens": 20, **options}
    return cfgguide.generate(
        options.pop("model"), prompt, tokenizer=tokenizer(), what=index_of(grammar), **options
    )


def streamed(grammar: cfgguide.Grammar, **options: Any) -> tuple[list[str], Generation]:
    """The pieces of a text, and the whole of it."""
    options = {"model": random_model(N_COLUMNS), "max_new_tokens": 20, **options}
    stream = cfgguide.stream(
        options.pop("model"), "a = [", index_of(grammar), tokenizer=tokenizer(), **options
    )
    return [part.text for part in stream], stream.result


#: The model is asked for every token, and may be cut off.
PLAIN: dict[str, Any] = {"finish": False, "force": False}


def by_hand(grammar: cfgguide.Grammar, prompt: str, *, model: Any, max_new_tokens: int):
    """The ids that the model writes greedily."""
    ids = tokenizer()(prompt)["input_ids"]
    guide = cfgguide.Guide(index_of(grammar))
    while len(guide.token_ids) < max_new_tokens and not guide.is_finished:
        with torch.no_grad():
            logits = model(torch.tensor([[*ids, *guide.token_ids]])).logits[0, -1].float()
        guide.advance(max(guide.allowed_token_ids(), key=lambda token_id: logits[token_id]))
    return guide.token_ids


# --- What is written -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("grammar", [JSON, LETTERS, THREE, GREEK])
@pytest.mark.parametrize("seed", range(3))
def test_greedy_takes_the_most_probable_token_that_is_allowed(grammar, seed):
    model = random_model(N_COLUMNS, seed=seed)
    found = written(grammar, model=model, max_new_tokens=30, **PLAIN)
    assert found.token_ids == by_hand(grammar, "a = [", model=model, max_new_tokens=30)


@pytest.mark.parametrize("temperature", [0.0, 0.5, 2.0])
def test_the_text_is_what_the_tokens_spell(temperature):
    for seed in range(10):
        found = written(GREEK, temperature=temperature, seed=seed)
        spelled = index_of(GREEK).vocabulary.spell(found.token_ids)
        assert found.text == spelled.decode("utf-8", "ignore")  # the last character may be cut


@pytest.mark.parametrize(
    ("max_new_tokens", "text", "is_complete"),
    [
        (1, "", False),
        (2, "", False),
        (3, "日", False),
        (4, "日", False),
        (5, "日é", False),
        (8, "日é", False),
        (9, "日é𝄞", False),  # a sentence, but the model had no token left to say so
        (10, "日é𝄞", True),
        (99, "日é𝄞", True),
    ],
)
def test_a_text_is_complete_when_eos_was_written(max_new_tokens, text, is_complete):
    """This tokenizer spells the sentence in nine single bytes."""
    found = written(THREE, max_new_tokens=max_new_tokens, **PLAIN)
    assert (found.text, found.is_complete) == (text, is_complete)
    assert len(found.token_ids) == min(max_new_tokens, 10)
    assert (found.token_ids[-1] == EOS) == is_complete


@pytest.mark.slow
def test_complete_texts_parse_and_others_do_not_pretend_to():
    judge = lark.Lark(GREEK.text, parser="lalr", lexer="contextual")
    n_complete = 0
    for seed in range(40):
        found = written(GREEK, max_new_tokens=15, temperature=2.0, seed=seed, finish=False)
        if found.is_complete:
            judge.parse(found.text)
            n_complete += 1
        else:
            assert len(found.token_ids) == 15
    assert 0 < n_complete < 40


@pytest.mark.slow
def test_pieces_are_passed_on_as_they_are_written_and_join_to_the_text():
    for seed in range(10):
        pieces, found = streamed(GREEK, temperature=1.0, seed=seed)
        assert found == written(GREEK, temperature=1.0, seed=seed)
        assert "".join(pieces) == found.text
        assert all(pieces[:-1])  # half a character is no piece
        assert bool(pieces[-1]) != found.is_complete
        assert "\ufffd" not in found.text
        assert len(pieces) > 1


@pytest.mark.parametrize("prefix", ["", "[", '[1, {"a'])
def test_a_text_begins_with_its_prefix_which_the_model_goes_on_from(prefix):
    """What is written is what a prompt with the prefix at its end gets, from there on."""
    grammar = cfgguide.Grammar.bundled("json")
    pieces, found = streamed(grammar, prefix=prefix, max_new_tokens=12, **PLAIN)
    begun = tokenizer().encode(prefix)
    assert found.text == prefix + "".join(pieces)
    assert found.token_ids[: len(begun)] == tuple(begun)
    assert len(found.token_ids) <= len(begun) + 12
    ids, guide = tokenizer()("a = [")["input_ids"], cfgguide.Guide(index_of(grammar))
    for token_id in begun:
        guide.advance(token_id)
    while len(guide.token_ids) < len(begun) + 12 and not guide.is_finished:
        with torch.no_grad():
            logits = random_model(N_COLUMNS)(torch.tensor([[*ids, *guide.token_ids]])).logits
        allowed = guide.allowed_token_ids()
        guide.advance(max(allowed, key=lambda token_id: logits[0, -1, token_id]))
    assert found.token_ids == guide.token_ids


def test_a_prefix_that_begins_no_sentence_is_an_error():
    with pytest.raises(TokenRejectedError):
        written(JSON, prefix="[}")


def test_until_ends_a_text_where_it_is_a_sentence():
    asked: list[str] = []

    def is_long(text: str) -> bool:
        asked.append(text)
        return len(text) >= 5

    grammar = cfgguide.Grammar('start: (/[a-z]/ ";")+')
    found = written(grammar, prefix="x;", until=is_long, max_new_tokens=100)
    assert found.is_complete
    assert found.token_ids[-1] != EOS
    assert all(text.endswith(";") for text in asked)
    assert [len(text) >= 5 for text in asked] == [False] * (len(asked) - 1) + [True]
    assert found.text == asked[-1]


def test_a_text_that_until_does_not_end_is_complete_only_with_eos():
    grammar = cfgguide.Grammar('start: /[a-z]/ ";" /[a-z]/ ";"')
    assert not written(grammar, until=lambda text: False, max_new_tokens=2, **PLAIN).is_complete
    found = written(grammar, until=lambda text: False)
    assert (found.is_complete, found.token_ids[-1]) == (True, EOS)


# --- Budgets, forced text, healing ---------------------------------------------------------------


@pytest.mark.parametrize("grammar", [JSON, GREEK])
@pytest.mark.parametrize("choice", [{}, {"temperature": 1.5}, {"temperature": 1.5, "top_p": 0.5}])
@pytest.mark.parametrize("n", [6, *(pytest.param(n, marks=pytest.mark.slow) for n in (7, 12, 25))])
def test_a_sentence_is_finished_within_its_tokens(grammar, choice, n):
    judge = lark.Lark(grammar.text, parser="lalr", lexer="contextual")
    for seed in range(8):
        model = random_model(N_COLUMNS, seed=seed)
        found = written(grammar, model=model, max_new_tokens=n, seed=seed, **choice)
        assert found.is_complete
        assert len(found.token_ids) <= n
        judge.parse(found.text)


def test_a_budget_in_which_no_sentence_fits_is_an_error():
    assert written(THREE, max_new_tokens=10).is_complete
    with pytest.raises(BudgetError) as error:
        written(THREE, max_new_tokens=9)
    assert str(error.value) == (
        "[budget] no sentence can be finished within 9 tokens: 10 tokens, EOS included, finish "
        "one; allow more"
    )


def test_a_budget_changes_nothing_while_all_fits():
    for seed in range(5):
        options = {"temperature": 1.0, "seed": seed, "max_new_tokens": 12}
        free = written(JSON, finish=False, **options)
        if free.is_complete:
            assert written(JSON, **options) == free


def test_text_that_must_come_is_not_asked_for():
    grammar = cfgguide.Grammar("""start: "{" "name:" /[a-z]{1,3}/ ",age:" /[0-9]/ "}" """)
    for seed in range(5):
        model = random_model(N_COLUMNS, seed=seed)
        found = written(grammar, model=model)
        assert found.is_complete
        assert found.n_forced > 5
        assert found.n_model_calls == len(found.token_ids) - found.n_forced
        plain = written(grammar, model=model, force=False)
        assert (plain.n_model_calls, plain.n_forced) == (len(plain.token_ids), 0)


def test_text_without_any_choice_needs_no_model():
    found = written(cfgguide.Grammar('start: "import"'))
    assert (found.text, found.n_model_calls, found.n_forced) == ("import", 0, len(found.token_ids))
    assert found.token_ids[:-1] == tuple(tokenizer().encode("import"))


def test_pieces_that_are_forced_are_passed_on_too():
    grammar = cfgguide.Grammar('start: "import" /[a-z]/ "import"')
    pieces, found = streamed(grammar)
    assert "".join(pieces) == found.text


@pytest.mark.parametrize("prompt", ["a = [", "import", "x = ret", "de", "日"])
@pytest.mark.parametrize("prefix", ["", "["])
def test_a_healed_prompt_is_spelled_again_before_the_sentence(prompt, prefix):
    vocabulary = index_of(JSON).vocabulary
    for seed in range(5):
        model = random_model(N_COLUMNS, seed=seed)
        found = written(JSON, prompt, model=model, prefix=prefix, heal=True, max_new_tokens=15)
        assert found.is_complete
        json.loads(found.text)
        assert found.text.startswith(prefix)
        spelled = vocabulary.spell(found.token_ids).decode()
        assert (prompt + found.text).endswith(spelled)


@pytest.mark.usefixtures("only_what_is_new_is_collected")
def test_a_loop_that_is_left_leaves_nothing_and_its_result_writes_the_rest():
    model = fresh_random_model(N_COLUMNS)
    options = {"tokenizer": tokenizer(), "what": index_of(GREEK), "max_new_tokens": 20}
    stream = cfgguide.stream(model, "a = [", **options)
    first = next(iter(stream)).text
    whole = cfgguide.generate(model, "a = [", **options)
    assert (stream.result, stream.result) == (whole, whole)
    assert whole.text.startswith(first)
    assert list(stream) == []
    left = weakref.ref(model)
    for _ in cfgguide.stream(model, "a = [", **options):
        break
    del model, stream, _
    gc.collect()
    assert left() is None


@pytest.mark.parametrize("what", [cfgguide.free_text(), LETTERS], ids=["any", "letters"])
def test_a_stop_ends_a_text_and_is_not_in_it(what):
    n_stopped = 0
    for seed in range(12):
        options = {"temperature": 1.0, "seed": seed, "max_new_tokens": 40, "finish": False}
        plain = written(what, **options).text
        stops = [plain[9:12], plain[20:22]]
        if not all(stops):
            continue
        n_stopped += 1
        pieces, found = streamed(what, stop=stops, **options)
        end = min(plain.find(stop) for stop in stops)
        assert found.text == plain[:end] == "".join(pieces)
        assert found.is_complete == (end > 0 or what is not LETTERS)
    assert n_stopped


def test_a_text_that_no_stop_ends_is_whole():
    options = {"temperature": 1.0, "max_new_tokens": 12, "finish": False}
    for seed in range(5):
        plain = written(LETTERS, seed=seed, **options)
        stops = [plain.text[-2:] + "~", plain.text[:1] + "~"]
        pieces, found = streamed(LETTERS, seed=seed, stop=stops, **options)
        assert found == plain
        assert "".join(pieces) == plain.text


def test_many_texts_of_one_prompt_are_a_list():
    options = {"temperature": 1.5, "seed": 4}
    texts = [one.text for one in written(LETTERS, n=4, **options)]
    assert texts == [one.text for one in written(LETTERS, ["a = ["] * 4, **options)]
    assert len(set(texts)) > 1
    assert len(written(LETTERS, n=1)) == 1


def test_the_parts_of_a_stream_have_the_value_so_far():
    class Pair(pydantic.BaseModel):
        a: Literal["one", "two"]
        b: list[str]

    options = {"tokenizer": tokenizer(), "max_new_tokens": 60, "temperature": 1.0}
    for seed in range(5):
        stream = cfgguide.stream(random_model(N_COLUMNS), "a", Pair, seed=seed, **options)
        parts = list(stream)
        assert "".join(part.text for part in parts) == stream.result.text
        final = stream.result.parsed
        assert final == Pair.model_validate_json(stream.result.text)
        read = json.loads(stream.result.text)
        partial_laws.check((part.partial for part in parts), final, read)
        # In any order, and again.
        assert parts[-1].partial.value == final
        again = cfgguide.stream(random_model(N_COLUMNS), "a", Pair, seed=seed, **options)
        seen = [part.partial for part in reversed(list(again))]
        assert seen == [part.partial for part in reversed(parts)]


def test_the_value_so_far_begins_with_the_prefix():
    stream = cfgguide.stream(
        random_model(N_COLUMNS), "a", {"type": "array", "items": {"type": "string"}},
        tokenizer=tokenizer(), prefix='["a", "', max_new_tokens=12,
    )  # fmt: skip
    assert next(stream).partial.value[0] == "a"


def test_a_text_without_another_value_is_its_own():
    stream = cfgguide.stream(
        random_model(N_COLUMNS), "a", re.compile("[ab]{9}"), tokenizer=tokenizer()
    )
    seen = [part.partial.value for part in stream]
    assert seen[-1] == stream.result.text
    assert all(later.startswith(value) for value, later in pairwise(seen))


# --- Randomness ----------------------------------------------------------------------------------


def test_greedy_is_deterministic():
    assert len({written(JSON, seed=seed) for seed in (None, None, 0, 1)}) == 1


def test_a_seed_reproduces_a_sample_and_different_seeds_differ():
    samples = [written(JSON, temperature=1.0, seed=seed) for seed in range(8)]
    assert samples == [written(JSON, temperature=1.0, seed=seed) for seed in range(8)]
    assert len({sample.text for sample in samples}) > 1


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_seed_leaves_every_global_random_state_alone(temperature):
    before = torch.get_rng_state(), random.getstate(), str(np.random.get_state())
    written(JSON, temperature=temperature, seed=1)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (random.getstate(), str(np.random.get_state())) == before[1:]


def test_the_global_random_state_survives_an_error():
    before = torch.get_rng_state()
    with pytest.raises(ZeroDivisionError):
        written(LETTERS, temperature=1.0, seed=1, until=lambda text: 1 // 0)
    assert torch.equal(torch.get_rng_state(), before)


def test_without_a_seed_the_global_random_state_is_drawn_from():
    texts = []
    for _ in range(2):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(5)
            texts.append([written(JSON, temperature=1.0).text for _ in range(4)])
    assert texts[0] == texts[1]
    assert len(set(texts[0])) > 1


@pytest.mark.parametrize(
    "temperature",
    [pytest.param(0.3, marks=pytest.mark.slow), 1.0, pytest.param(2.5, marks=pytest.mark.slow)],
)
def test_sampling_follows_the_models_distribution_over_what_is_allowed(temperature):
    """One token of 26; among 400 draws each count is within 5 standard deviations."""
    vocabulary = index_of(LETTERS).vocabulary
    model = random_model(N_COLUMNS)
    with torch.no_grad():
        logits = model(tokenizer()("x", return_tensors="pt")["input_ids"]).logits[0, -1]
    single = [vocabulary.tokens.index(bytes([byte])) for byte in b"abcdefghijklmnopqrstuvwxyz"]
    one = cfgguide.compile(cfgguide.Grammar("start: /[a-z]/"), tokenizer())
    n_draws = 400
    counts = Counter(
        cfgguide.generate(
            model,
            "x",
            tokenizer=tokenizer(),
            what=one,
            max_new_tokens=1,
            temperature=temperature,
            seed=seed,
            finish=False,
        ).token_ids[0]
        for seed in range(n_draws)
    )
    probabilities = torch.softmax(logits[single].double() / temperature, dim=0).tolist()
    for token_id, probability in zip(single, probabilities, strict=True):
        deviation = (n_draws * probability * (1 - probability)) ** 0.5
        assert abs(counts[token_id] - n_draws * probability) <= 5 * deviation + 1


@pytest.mark.parametrize("bounds", [{"top_k": 3}, {"top_p": 0.4}, {"min_p": 0.3}])
def test_bounds_leave_the_most_probable_of_what_is_allowed(bounds):
    """Which letters may come first is found from the model's logits, by the definitions."""
    vocabulary = index_of(LETTERS).vocabulary
    model = random_model(N_COLUMNS)
    with torch.no_grad():
        logits = model(tokenizer()("x", return_tensors="pt")["input_ids"]).logits[0, -1]
    one = cfgguide.compile(cfgguide.Grammar("start: /[a-z]/"), tokenizer())
    single = [vocabulary.tokens.index(bytes([byte])) for byte in b"abcdefghijklmnopqrstuvwxyz"]
    chances = torch.softmax(logits[single].double(), dim=0)
    order = chances.argsort(descending=True).tolist()
    if "top_k" in bounds:
        n = bounds["top_k"]
    elif "top_p" in bounds:
        n = 1 + int((chances[order].cumsum(0) < bounds["top_p"]).sum())
    else:
        n = int((chances >= bounds["min_p"] * chances.max()).sum())
    assert 1 < n < 26
    options = {"what": one, "max_new_tokens": 2, "temperature": 1.0, **bounds}
    first = {
        cfgguide.generate(model, "x", tokenizer=tokenizer(), seed=seed, **options).token_ids[0]
        for seed in range(60)
    }
    assert first <= {single[place] for place in order[:n]}
    assert single[order[0]] in first
    assert len(first) > 1


@pytest.mark.parametrize("force", [False, True])
def test_sampling_with_any_model_writes_the_same(force):
    """One loop: greedily, `sample` with the same model writes what `generate` writes."""
    for grammar in (JSON, GREEK, THREE):
        for seed in range(3):
            model = random_model(N_COLUMNS, seed=seed)
            found = written(grammar, model=model, finish=False, force=force)
            sampled = cfgguide.sample(
                cfgguide.integrations.TransformersModel(model),
                tokenizer()("a = [")["input_ids"],
                index=index_of(grammar),
                max_new_tokens=20,
                temperature=0,
                finish=False,
                force=tokenizer() if force else None,
            )
            assert (found.token_ids, found.text) == (sampled.token_ids, sampled.text)
            assert found.n_forced == sum(np.isnan(sampled.log_probs))


#: What a model's own generation_config.json may say; none of it is asked for here.
OWN_SETTINGS: dict[str, Any] = {
    "top_k": 1, "top_p": 0.01, "min_p": 0.9, "typical_p": 0.1, "epsilon_cutoff": 0.5,
    "eta_cutoff": 0.5, "temperature": 9.0, "do_sample": True, "repetition_penalty": 5.0,
    "no_repeat_ngram_size": 1, "suppress_tokens": list(range(1, N_COLUMNS, 2)),
    "begin_suppress_tokens": list(range(1, N_COLUMNS, 2)),
    "bad_words_ids": [[token_id] for token_id in range(1, N_COLUMNS, 2)],
    "sequence_bias": [[[token_id], 50.0] for token_id in range(1, N_COLUMNS, 2)],
    "exponential_decay_length_penalty": (1, 9.0), "min_new_tokens": 15,
    "min_length": 15, "max_length": 5, "max_time": 0.0, "forced_bos_token_id": 7,
    "forced_eos_token_id": 7, "num_beams": 4, "num_return_sequences": 2,
    "prompt_lookup_num_tokens": 3, "return_dict_in_generate": True,
    "renormalize_logits": True, "guidance_scale": 3.0, "eos_token_id": [9, 10, 11],
    "pad_token_id": 9,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN_SETTINGS)
def test_the_models_own_settings_change_nothing(name):
    """Only the mask and the temperature touch the distribution, and EOS is the vocabulary's."""
    model = fresh_random_model(N_COLUMNS)
    setattr(model.generation_config, name, OWN_SETTINGS[name])
    for temperature in (0.0, 1.0):
        options = {"temperature": temperature, "seed": 3, "max_new_tokens": 12}
        assert written(JSON, model=model, **options) == written(JSON, **options)
    assert getattr(model.generation_config, name) == OWN_SETTINGS[name]


# --- Prompts -------------------------------------------------------------------------------------


def test_a_chat_goes_through_the_chat_template(monkeypatch):
    monkeypatch.setattr(tokenizer(), "chat_template", CHAT_TEMPLATE)
    chat = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "a list"}]
    options = {"temperature": 1.0, "seed": 4}
    rendered = "system: be brief\nuser: a list\nassistant:"
    assert written(JSON, chat, **options) == written(JSON, rendered, **options)
    assert written(JSON, tuple(chat), **options) == written(JSON, rendered, **options)


def test_what_the_assistant_has_begun_is_gone_on_with(monkeypatch):
    monkeypatch.setattr(tokenizer(), "chat_template", CHAT_TEMPLATE)
    chat = [{"role": "user", "content": "a list"}, {"role": "assistant", "content": "here: "}]
    options = {"max_new_tokens": 6, "temperature": 1.0, "seed": 5}
    rendered = "user: a list\nassistant: here: "
    assert written(JSON, chat, **options) == written(JSON, rendered, **options)
    assert written(JSON, chat, **options) != written(JSON, rendered[:-6], **options)


def test_a_chat_without_a_template_is_an_error():
    with pytest.raises(GenerationError) as error:
        written(JSON, [{"role": "user", "content": "a list"}])
    assert str(error.value) == (
        "[generation] the prompt is a chat, but the tokenizer has no chat template; "
        "give the prompt as a text"
    )


def test_an_empty_prompt_starts_from_a_special_token():
    assert written(THREE, "").text == "日é𝄞"
    assert written(JSON, "") == written(JSON, tokenizer().eos_token)


@pytest.mark.parametrize("prompt", [" ", "\n", "日本", "\x00", "<|endoftext|>", "x" * 500])
def test_any_prompt_will_do(prompt):
    assert written(THREE, prompt) == written(THREE)


def test_what_else_a_tokenizer_returns_does_not_disturb_the_model(monkeypatch):
    """Tokenizers of the BERT family, and some others, return token types too."""
    names = ["input_ids", "token_type_ids", "attention_mask"]
    expected = written(JSON)
    monkeypatch.setattr(tokenizer(), "model_input_names", names)
    assert written(JSON) == expected


# --- Errors and bars -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_new_tokens": 0}, "max_new_tokens is 0; at least 1 is needed"),
        ({"max_new_tokens": -1}, "max_new_tokens is -1; at least 1 is needed"),
        ({"temperature": -0.1}, "temperature is -0.1; it is 0 (greedy) or positive"),
        ({"temperature": float("inf")}, "temperature is inf; it is 0 (greedy) or positive"),
        ({"temperature": float("-inf")}, "temperature is -inf; it is 0 (greedy) or positive"),
        ({"temperature": float("nan")}, "temperature is nan; it is 0 (greedy) or positive"),
        ({"top_k": 0}, "top_k is 0; it is at least 1, or None for all"),
        ({"top_p": 0.0}, "top_p is 0.0; it is above 0 and at most 1"),
        ({"min_p": 1.5}, "min_p is 1.5; it is between 0 and 1"),
        ({"seed": -1}, "seed is -1; it is a number that is not negative, or a numpy Generator"),
    ],
)
def test_options_that_make_no_sense_are_errors(options, message):
    with pytest.raises(GenerationError) as error:
        written(JSON, **options)
    assert str(error.value) == f"[generation] {message}"


def test_a_temperature_near_zero_is_greedy():
    assert written(JSON, temperature=1e-4, seed=0) == written(JSON)


def test_the_model_of_another_tokenizer_is_an_error():
    index = cfgguide.compile(THREE, tokenizer())
    with pytest.raises(ModelError, match="have 350 columns, the vocabulary 400 ids"):
        cfgguide.generate(
            random_model(350), "a", tokenizer=tokenizer(), what=index, max_new_tokens=5, **PLAIN
        )


def test_an_index_of_other_tokens_is_refused():
    index = cfgguide.compile(["ab"], short_vocabulary_of(["a", "b", "c"]))
    for call in (
        lambda: cfgguide.generate(random_model(N_COLUMNS), "a", tokenizer=tokenizer(), what=index),
        lambda: cfgguide.Guide(index, tokenizer()),
        lambda: cfgguide.LogitsProcessor(index, tokenizer()),
    ):
        with pytest.raises(VocabularyError, match="token 1 is b'a' there and b'!' here"):
            call()


@pytest.mark.parametrize("unknown", [object(), lambda text: list(text.encode())])
def test_an_index_needs_no_tokenizer_that_is_known(unknown):
    index = index_of(THREE)
    allowed = cfgguide.Guide(index).allowed_token_ids().tolist()
    assert cfgguide.Guide(index, unknown).allowed_token_ids().tolist() == allowed


def test_several_eos_tokens_all_end_a_text():
    vocabulary = cfgguide.Vocabulary.from_tokenizer(tokenizer(), eos_token_ids=(0, 3))
    index = cfgguide.compile(cfgguide.Grammar('start: "a" "b"'), vocabulary)
    ends = set()
    for seed in range(20):
        found = cfgguide.generate(
            random_model(N_COLUMNS, seed=seed),
            "a",
            tokenizer=tokenizer(),
            what=index,
            max_new_tokens=9,
        )
        assert (found.text, found.is_complete, len(found.token_ids)) == ("ab", True, 3)
        ends.add(found.token_ids[-1])
    assert ends == {0, 3}


@pytest.mark.parametrize(
    ("options", "is_shown"), [({"progress": True}, True), ({"progress": False}, False), ({}, False)]
)
def test_the_bar_goes_to_standard_error_and_only_if_asked_for(options, is_shown, capsys):
    """Standard error is no terminal here, so by default there is none."""
    written(THREE, **options)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert ("token" in captured.err) == is_shown


# --- A model that can write ----------------------------------------------------------------------

PROMPTS = [
    "Write a JSON object with the name, the age and the hobbies of a person.",
    "List three European capitals as a JSON array of objects with city and country.",
    "Give the settings of a small web server as JSON.",
    "A JSON array of the first ten prime numbers.",
    "Describe a cat as a JSON object with name, colour and weight.",
    "Answer true or false in JSON: is water wet?",
    "What is 7 times 8? Answer with a JSON number.",
    "A JSON string that says hello in French.",
    "Translate 'good morning' to Japanese and answer as a JSON object.",
    "Write a shopping list with prices in JSON.",
    "A recipe for pancakes as JSON with ingredients and steps.",
    "The planets of the solar system as a JSON array of strings.",
    "A JSON object that maps English numbers to German ones.",
    "A bus timetable in JSON.",
    "Write an empty JSON object.",
    "Give me nested JSON arrays, three levels deep.",
    "A JSON object with a null, a true, a false and a negative number.",
    "The weather in Paris tomorrow as JSON, with temperatures in Celsius.",
    "Write Python code that prints hello.",
    "Why is the sky blue?",
]


@pytest.mark.slow
@pytest.mark.model
def test_finished_texts_of_smollm2_are_json(capsys):
    """Greedily and sampled at 0.8: 20 prompts make about 4,000 tokens in some minutes; CI has 4."""
    from cfgguide.models import load_model

    model, own_tokenizer = load_model()
    grammar = cfgguide.Grammar.bundled("json", max_ignored=16)
    judge = lark.Lark(grammar.text, parser="lalr", lexer="contextual")
    index = cfgguide.compile(grammar, own_tokenizer)
    n_complete = {0.0: 0, 0.8: 0}
    started = time.perf_counter()
    n_tokens = 0
    prompts = PROMPTS[:: or_in_ci(1, 6)]
    for number, prompt in enumerate(prompts):
        for temperature in n_complete:
            stream = cfgguide.stream(
                model,
                [{"role": "user", "content": prompt}],
                tokenizer=own_tokenizer,
                what=index,
                max_new_tokens=120,
                temperature=temperature,
                seed=number,
                finish=False,
            )
            pieces, found = [part.text for part in stream], stream.result
            n_tokens += len(found.token_ids)
            assert "".join(pieces) == found.text
            assert found.is_complete or len(found.token_ids) == 120
            if found.is_complete:
                n_complete[temperature] += 1
                json.loads(found.text)
                judge.parse(found.text)
    with capsys.disabled():
        print(  # noqa: T201  (how many finish is worth seeing and not worth pinning)
            f"\nSmolLM2: complete by temperature {n_complete} of {len(prompts)} each, "
            f"{n_tokens} tokens in {time.perf_counter() - started:.0f} s"
        )
    assert all(n_complete.values())


# --- What to write, batches, values ------------------------------------------------------------


def test_a_type_is_written_and_read_back():
    class Pair(pydantic.BaseModel):
        a: bool
        b: list[bool]

    model = random_model(N_COLUMNS)
    found = cfgguide.generate(model, "a", Pair, tokenizer=tokenizer(), max_new_tokens=60)
    assert found.parsed == Pair.model_validate_json(found.text)
    assert json.dumps(json.loads(found.text)) == found.text
    chosen = cfgguide.generate(model, "a", ["aa", "bb"], tokenizer=tokenizer(), max_new_tokens=9)
    assert chosen.parsed == chosen.text
    cut = cfgguide.generate(
        model, "a", list[bool], tokenizer=tokenizer(), max_new_tokens=1, finish=False, prefix="["
    )
    if not cut.is_complete:
        with pytest.raises(GenerationError, match="cut, so it has no value"):
            _ = cut.parsed


def test_a_batch_writes_what_its_prompts_write_alone():
    model, prompts = random_model(N_COLUMNS), ["a", "bc", "a", "c b a"]
    options = {"tokenizer": tokenizer(), "what": index_of(THREE), "max_new_tokens": 12}
    together = cfgguide.generate(model, prompts, **options)
    alone = [cfgguide.generate(model, prompt, **options) for prompt in prompts]
    assert [one.text for one in together] == [one.text for one in alone]
    assert [one.n_forced for one in together] == [one.n_forced for one in alone]
    assert cfgguide.generate(model, [], **options) == []
    options["what"] = index_of(LETTERS)
    sampled = [
        [
            one.text
            for one in cfgguide.generate(model, ["a"] * 8, temperature=2.0, seed=3, **options)
        ]
        for _ in range(2)
    ]
    assert sampled[0] == sampled[1]
    assert len(set(sampled[0])) > 1, "equal prompts, different texts"
    with pytest.raises(GenerationError, match="a stream is of one prompt"):
        cfgguide.stream(model, prompts, **options)


def test_log_probabilities_are_the_models_own():
    model = random_model(N_COLUMNS)
    found = cfgguide.generate(
        model, "a", index_of(THREE), tokenizer=tokenizer(), max_new_tokens=12,
        force=False, log_probs=True,
    )  # fmt: skip
    ids = torch.tensor([[*tokenizer()("a")["input_ids"], *found.token_ids]])
    with torch.no_grad():
        log_probs = torch.log_softmax(model(ids).logits[0].double(), dim=-1)
    n = len(found.token_ids)
    expected = log_probs[-n - 1 : -1].gather(1, ids[0, -n:, None])[:, 0].tolist()
    assert found.log_probs == pytest.approx(expected, abs=1e-4)
    assert written(THREE).log_probs is None


def test_a_tokenizer_is_found_beside_the_model(tmp_path):
    model = fresh_random_model(N_COLUMNS)

    class Pipeline:
        def __init__(self) -> None:
            self.model, self.tokenizer = model, tokenizer()

    options = {"what": index_of(THREE), "max_new_tokens": 12}
    expected = cfgguide.generate(model, "a", tokenizer=tokenizer(), **options)
    assert cfgguide.generate((model, tokenizer()), "a", **options) == expected
    assert cfgguide.generate(Pipeline(), "a", **options) == expected
    tokenizer().save_pretrained(tmp_path)
    model.config._name_or_path = str(tmp_path)
    assert cfgguide.generate(model, "a", **options) == expected
    nowhere = fresh_random_model(N_COLUMNS)
    nowhere.config._name_or_path = str(tmp_path / "nothing")
    with pytest.raises(GenerationError, match="no tokenizer lies beside the model"):
        cfgguide.generate(nowhere, "a", **options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "SmolLM2"}, "a model of transformers is needed, not 'SmolLM2': load one"),
        ({"tokenizer": "SmolLM2"}, "a tokenizer of transformers is needed, not 'SmolLM2'"),
        ({"prompt": 5}, "a prompt is a text or a list of messages, not int"),
        ({"prompt": b"a"}, "a prompt is a text or a list of messages, not bytes"),
        ({"what": "start + a"}, "cfgguide.Grammar(text) takes the text of a grammar"),
        ({"what": None}, "None does not say what to write; give a type"),
        ({"prompt": "a\ud800"}, "the prompt has half a surrogate pair at character 1"),
        ({"prefix": "\ud800"}, "prefix has half a surrogate pair at character 0"),
        ({"max_new_tokens": 0}, "max_new_tokens is 0"),
        ({"n": 0}, "n is 0; it is a number from 1 up, of one prompt"),
        ({"n": 2, "prompt": ["a", "b"]}, "n is 2; it is a number from 1 up, of one prompt"),
        ({"stop": ""}, "stop is ''; it is a text, or a list of texts"),
        ({"stop": 5}, "stop is 5; it is a text, or a list of texts"),
        ({"prompt": ["a", "b"], "what": [int, str]}, "all prompts of a call share one"),
    ],
)
def test_wrong_arguments_are_told_at_the_door(arguments, message):
    right = {
        "model": random_model(N_COLUMNS),
        "prompt": "a",
        "what": index_of(THREE),
        "tokenizer": tokenizer(),
        "max_new_tokens": 12,
    }
    with pytest.raises(CfgGuideError, match=re.escape(message)):
        cfgguide.generate(**{**right, **arguments})


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ({"role": "user"}, "message 1 of the chat has no `content`"),
        ({"content": "x"}, "message 1 of the chat has no `role`"),
        ("x", "message 1 of the chat is 'x'; a message is a mapping"),
        ({"role": "user", "content": 5}, "the tokenizer's chat template does not take this chat"),
        ({"role": "user", "content": "{raise}"}, "does not take this chat: not this; most"),
        ({"role": "user", "content": "a\ud800"}, "message 1 of the chat has half a surrogate pair"),
    ],
)
def test_a_message_that_is_wrong_is_told(message, error):
    chatty = small_tokenizer()
    chatty.chat_template = (
        "{% for message in messages %}{{ message['role'] + ': ' + message['content'] }}"
        "{% if message['content'] == '{raise}' %}{{ raise_exception('not this') }}{% endif %}"
        "{% endfor %}"
    )
    chat = [{"role": "user", "content": "a"}, message]
    with pytest.raises(GenerationError, match=re.escape(error)):
        cfgguide.generate(random_model(N_COLUMNS), chat, index_of(THREE), tokenizer=chatty)


def test_a_text_ends_where_nothing_but_white_space_could_follow():
    grammar = cfgguide.Grammar('start: "a" ["b"]\nSPACE: / +/\n%ignore SPACE')
    index = cfgguide.compile(grammar, tokenizer())
    ends = set()
    for seed in range(30):
        for trailing in (False, True):
            found = cfgguide.generate(
                random_model(N_COLUMNS), "a", index, tokenizer=tokenizer(), max_new_tokens=12,
                temperature=3.0, seed=seed, trailing=trailing,
            )  # fmt: skip
            assert found.is_complete
            ends.add((trailing, found.text.rstrip(" ")[-1:], found.text.endswith(" ")))
    assert (False, "b", True) not in ends, "`b` is the end"
    assert (False, "a", True) in ends, "after `a` a `b` may follow, so there is white space"
    assert (True, "b", True) in ends


# --- What ends by itself -------------------------------------------------------------------------


class Review(pydantic.BaseModel):
    mood: Literal["good", "bad"]
    stars: int = pydantic.Field(ge=1, le=5)


class Shop(pydantic.BaseModel):
    reviews: tuple[Review, Review]
    place: dict[Literal["x", "y"], float]
    rating: float | None


#: What to write, the type of its value, and the most bytes that it takes.
ENDING: list[tuple[Any, type, int]] = [
    (int, int, 20),
    (float, float, 60),
    (Review, Review, 40),
    (Shop, Shop, 250),
    (tuple[int, float], tuple, 80),
    (re.compile(r"\s{0,9}19[0-9]{2}"), str, 13),
    ({"type": "integer", "minimum": 3}, int, 20),
    ({"type": ["number", "null"]}, object, 60),
]


def processed(what: Any, model: Any) -> str:
    """What the model's `generate` writes with a processor."""
    ids = tokenizer()("a", return_tensors="pt")["input_ids"]
    process = cfgguide.LogitsProcessor(what, tokenizer(), finish=False)
    found = model.generate(ids, logits_processor=[process], max_new_tokens=300, do_sample=False)
    new = found[0, ids.shape[1] :].tolist()
    assert new[-1] == EOS
    return str(tokenizer().decode(new[:-1]))


def matched(what: Any, model: Any) -> str:
    """What a server writes with a matcher."""
    ids = tokenizer()("a")["input_ids"]
    matcher = Matcher(shared_index(what, tokenizer(), is_written=True))
    rows = np.zeros((1, matcher.index.vocabulary.n_words), dtype=np.int32)
    written: list[int] = []
    while not matcher.is_terminated:
        assert len(written) < 300
        with torch.no_grad():
            logits = model(torch.tensor([[*ids, *written]])).logits[0, -1]
        matcher.fill_bitmask(rows, 0)
        bits = np.unpackbits(rows.view(np.uint8), bitorder="little")
        token = max(np.flatnonzero(bits).tolist(), key=lambda each: logits[each])
        assert matcher.accept([token])
        written.append(token)
    return str(tokenizer().decode(written[:-1]))


@pytest.mark.few(6)
@pytest.mark.parametrize("case", range(len(ENDING)))
@pytest.mark.parametrize("seed", range(2))
def test_what_has_an_end_ends_without_a_budget_through_every_door(case, seed):
    what, kind, n_bytes = ENDING[case]
    model = random_model(N_COLUMNS, seed=seed)
    found = cfgguide.generate(
        model, "a", what, tokenizer=tokenizer(), max_new_tokens=300, finish=False, force=False
    )
    assert found.is_complete
    assert isinstance(found.parsed, kind)
    assert not isinstance(found.parsed, bool)
    assert len(found.text) <= n_bytes
    assert found.text.isascii()
    assert processed(what, model) == found.text == matched(what, model)


def test_json_is_an_object_or_an_array_unless_any_value_is_asked_for():
    for seed in range(4):
        model = random_model(N_COLUMNS, seed=seed)
        found = cfgguide.generate(model, "a", "json", tokenizer=tokenizer(), max_new_tokens=30)
        assert isinstance(found.parsed, dict | list)
    assert cfgguide.check({}, "12").is_sentence
    assert not cfgguide.check("json", "12").is_sentence
