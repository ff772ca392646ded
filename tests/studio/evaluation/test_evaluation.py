"""How far a model disagrees with a grammar: against the definitions, one text at a time."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
import torch
from support.tiny_models import EOS, N_SMALL, fresh_random_model, random_model, small_tokenizer

import cfgguide
from cfgguide.errors import GenerationError, ModelError, TextError
from cfgguide.studio.evaluation.disagreement import Evaluation, TextEvaluation

N_COLUMNS = N_SMALL + 5
TEXTS = [
    ("A list:", "[1, 2]"),
    "true",
    ("", '{"a":-1.5}'),
    ("A much longer prompt than the others have: ", "0"),
]


@functools.cache
def index() -> cfgguide.Index:
    return cfgguide.compile(cfgguide.Grammar.bundled("json"), small_tokenizer())


def evaluated(texts: list, model=None, **options) -> Evaluation:
    chosen = random_model(N_COLUMNS) if model is None else model
    return cfgguide.evaluation.evaluate(
        chosen, index(), texts, tokenizer=small_tokenizer(), **options
    )


@functools.cache
def naive(prompt: str, sentence: str) -> dict[str, list]:
    """The same, token by token: all of the text before it is read anew."""
    tokenizer, model = small_tokenizer(), random_model(N_COLUMNS)
    guide = cfgguide.Guide(index())
    before = tokenizer.encode(prompt) if prompt else [EOS]
    found: dict[str, list] = {
        name: [] for name in ("raw", "masked", "log_kept", "log_removed", "best", "worst", "lost")
    }
    for token_id in [*tokenizer.encode(sentence), EOS]:
        with torch.inference_mode():
            logits = model(input_ids=torch.tensor([before])).logits[0, -1].double()
        p = torch.softmax(logits, dim=-1)
        allowed = guide.allowed_token_ids()
        kept = p[allowed].sum().item()
        forbidden = [each for each in range(N_COLUMNS) if each not in set(allowed.tolist())]
        found["raw"].append(math.log(p[token_id].item()))
        found["masked"].append(math.log(p[token_id].item() / kept))
        found["log_kept"].append(math.log(kept))
        found["log_removed"].append(math.log(p[forbidden].sum().item()))
        found["best"].append(int(p.argmax()))
        found["worst"].append(max(forbidden, key=lambda each: p[each].item()))
        found["lost"].append(int(p.argmax()) in forbidden)
        guide.advance(token_id)
        before = [*before, token_id]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("max_tokens", [1, 60, 1024])
def test_every_number_is_what_its_definition_says(max_tokens):
    found = evaluated(TEXTS, max_tokens=max_tokens)
    assert [each.number for each in found.texts] == [0, 1, 2, 3]
    for given, each in zip(TEXTS, found.texts, strict=True):
        prompt, sentence = ("", given) if isinstance(given, str) else given
        expected = naive(prompt, sentence)
        assert each.text == sentence.encode()
        assert each.token_ids.tolist() == [*small_tokenizer().encode(sentence), EOS]
        for name in ("raw", "masked", "log_kept", "log_removed"):
            assert getattr(each, name) == pytest.approx(expected[name], rel=1e-4, abs=1e-4)
        assert each.best_token_ids.tolist() == expected["best"]
        assert each.is_best_forbidden.tolist() == expected["lost"]
        assert each.forbidden_token_ids.tolist() == expected["worst"]
        assert each.raw == pytest.approx(each.masked + each.log_kept, abs=1e-5)


def test_the_sums_are_over_all_tokens():
    found = evaluated(TEXTS)
    raw = np.concatenate([each.raw for each in found.texts])
    lost = np.concatenate([each.is_best_forbidden for each in found.texts])
    removed = np.exp(np.concatenate([each.log_removed for each in found.texts]))
    assert found.n_tokens == len(raw)
    assert found.raw_perplexity == pytest.approx(math.exp(-sum(raw) / len(raw)))
    assert found.masked_perplexity < found.raw_perplexity
    assert found.share_forbidden == pytest.approx(sum(lost) / len(lost))
    assert found.removed == pytest.approx(sum(removed) / len(removed))


def test_no_batch_is_larger_than_is_allowed_and_each_text_is_read_once():
    model = fresh_random_model(N_COLUMNS)
    shapes = []
    model.register_forward_pre_hook(
        lambda module, arguments, options: shapes.append(tuple(options["input_ids"].shape)),
        with_kwargs=True,
    )
    texts = ["[" + ", ".join("1" * n) + "]" for n in (1, 30, 2, 28, 3, 3, 1)]
    evaluated(texts, model, max_tokens=100)
    assert sum(rows for rows, _ in shapes) == len(texts)
    assert all(rows == 1 or rows * length <= 100 for rows, length in shapes)
    assert len(shapes) < len(texts)


def test_the_largest_disagreements_are_explained():
    found = evaluated(TEXTS, n_disagreements=5)
    every = sorted((x for each in found.texts for x in each.log_removed), reverse=True)
    assert [each.log_removed for each in found.disagreements] == pytest.approx(every[:5])
    for each in found.disagreements:
        text = found.texts[each.number]
        assert each.explanation.token_id == text.forbidden_token_ids[each.step]
        assert each.forbidden_log_probability == text.forbidden[each.step]
        assert not each.explanation.is_allowed
        assert each.explanation.reason
        assert text.text.startswith(each.before)
        assert each.token_id == text.token_ids[each.step]
    assert evaluated(TEXTS, n_disagreements=0).disagreements == ()


def test_a_grammar_is_compiled_for_the_tokenizer():
    grammar = cfgguide.Grammar.bundled("json")
    model = random_model(N_COLUMNS)
    found = cfgguide.evaluation.evaluate(model, grammar, ["[1]"], tokenizer=small_tokenizer())
    (expected,) = evaluated(["[1]"]).texts
    assert found.texts[0].masked.tolist() == expected.masked.tolist()


def test_tokens_may_be_given_too():
    ids = small_tokenizer().encode("[1]")
    by_text, by_ids, by_pair = evaluated(["[1]", ids, ("", tuple(ids))]).texts
    assert by_ids.raw == pytest.approx(by_text.raw, abs=1e-5)
    assert by_pair.raw == pytest.approx(by_text.raw, abs=1e-5)


@pytest.mark.slow
def test_chats_go_through_the_template():
    tokenizer = small_tokenizer()
    chat = [{"role": "user", "content": "A list"}]
    with pytest.raises(GenerationError, match="no chat template"):
        evaluated([(chat, "[1]")])
    tokenizer.chat_template = "{% for m in messages %}<{{ m.content }}>{% endfor %}"
    model = random_model(N_COLUMNS)
    found = cfgguide.evaluation.evaluate(model, index(), [(chat, "[1]")], tokenizer=tokenizer)
    assert found.texts[0].raw == pytest.approx(naive("<A list>", "[1]")["raw"], abs=1e-4)


@pytest.mark.slow
def test_what_cannot_be_measured_is_an_error():
    with pytest.raises(TextError, match="there are no texts"):
        evaluated([])
    with pytest.raises(TextError, match="text 1 is not a sentence of the grammar"):
        evaluated(["1", ("Prompt", "[1")])
    with pytest.raises(ModelError, match=f"{N_SMALL - 1} columns, the vocabulary {N_SMALL} ids"):
        evaluated(["1"], random_model(N_SMALL - 1))
    broken = fresh_random_model(N_COLUMNS)
    with torch.no_grad():
        broken.lm_head.weight.fill_(math.nan)
    with pytest.raises(ModelError, match="logits for text 0 are not all numbers"):
        evaluated(["1"], broken)


def row(number: int, text: str, p: list[float], kept: list[float], lost: list[bool]) -> object:
    """A text of one token for each probability."""
    n = len(p)
    return TextEvaluation(
        number=number,
        text=text.encode(),
        token_ids=np.arange(n),
        raw=np.log(p),
        masked=np.log(np.array(p) / kept),
        log_kept=np.log(kept),
        log_removed=np.log(1 - np.array(kept)),
        best_token_ids=np.zeros(n, dtype=np.int64),
        is_best_forbidden=np.array(lost),
        forbidden_token_ids=np.zeros(n, dtype=np.int64),
        forbidden=np.log(1 - np.array(kept)),
    )


def test_the_table_by_hand():
    """Perplexity of halves and quarters: 2 ** 1.5; all three tokens: 2 ** (5 / 3)."""
    rows = (
        row(0, "[1]", [0.5, 0.25], [0.5, 0.5], [True, False]),
        row(1, "true", [0.25], [0.75], [False]),
    )
    assert str(Evaluation(rows, ())).splitlines() == [
        "text  tokens  raw ppl  masked ppl  removed  forbidden",
        "   0       2     2.83        1.41   50.00%      50.0%  '[1]'",
        "   1       1     4.00        3.00   25.00%       0.0%  'true'",
        " all       3     3.17        1.82   41.67%      33.3%",
    ]


def test_a_long_table_says_that_it_goes_on():
    rows = tuple(row(number, "x", [0.5], [0.5], [False]) for number in range(25))
    lines = str(Evaluation(rows, ())).splitlines()
    assert lines[-2] == "and 5 more texts"
    assert len(lines) == 1 + 20 + 2


@pytest.mark.slow
@pytest.mark.model
def test_smollm2_has_its_opinions():
    """It is sure of JSON's commas, and would rather begin with a fence of Markdown."""
    from cfgguide.models import load_model

    model, tokenizer = load_model()
    chat = [{"role": "user", "content": "Give me a JSON list of three fruits"}]
    found = cfgguide.evaluation.evaluate(
        model,
        cfgguide.Grammar.bundled("json"),
        [(chat, '["apple", "banana", "cherry"]')],
        tokenizer=tokenizer,
    )
    (text,) = found.texts
    assert text.is_best_forbidden[0]
    assert found.disagreements[0].explanation.token == b"```"
    assert found.share_forbidden < 0.5
    assert found.masked_perplexity < found.raw_perplexity < 20
