"""The masks of sentences that are there already."""

from __future__ import annotations

import functools
import json

import numpy as np
import pytest
import torch
from support.tiny_models import EOS, short_vocabulary_of, small_tokenizer
from tokenizers import normalizers

import cfgguide
from cfgguide.errors import TextError
from cfgguide.evaluation import masks_for, stack_masks, token_log_probabilities
from cfgguide.integrations import bool_mask

#: Three sentences, so that what is allowed can be counted from their definition.
NUMBERS = 'start: "[" NUMBER "]"\nNUMBER: "10" | "2" | "true"\n'
SENTENCES = [b"[10]", b"[2]", b"[true]"]


@functools.cache
def index_of(text: str) -> cfgguide.Index:
    return cfgguide.compile(cfgguide.Grammar(text), small_tokenizer())


def allowed_after(prefix: bytes, tokens: tuple[bytes | None, ...]) -> list[int]:
    rests = [text[len(prefix) :] for text in SENTENCES if text.startswith(prefix)]
    return [
        token_id
        for token_id, token in enumerate(tokens)
        if (token and any(rest.startswith(token) for rest in rests))
        or (token_id == EOS and b"" in rests)
    ]


@pytest.mark.slow
def test_every_place_has_the_mask_of_what_can_stand_there():
    index = index_of(NUMBERS)
    texts = [text.decode() for text in SENTENCES]
    found = masks_for(texts, index, small_tokenizer())
    assert len(found) == 3
    for text, masks in zip(texts, found, strict=True):
        ids = small_tokenizer().encode(text)
        assert masks.token_ids.tolist() == [*ids, EOS]
        assert masks.bitmasks.shape == (len(ids) + 1, index.vocabulary.n_words)
        assert (masks.token_ids.dtype, masks.bitmasks.dtype) == (np.int64, np.int32)
        for step, row in enumerate(bool_mask(masks.bitmasks, index.vocabulary.size)):
            before = index.vocabulary.spell(ids[:step])
            assert np.flatnonzero(row).tolist() == allowed_after(before, index.vocabulary.tokens)


def test_any_tokens_that_spell_a_sentence_may_be_given():
    vocabulary = short_vocabulary_of(["a", "b", "ab"])
    index = cfgguide.compile(cfgguide.Grammar('start: "a" "b"'), vocabulary)
    found = masks_for([[1, 2], [3], (1, 2, EOS), np.array([3, EOS])], index, None)
    assert [masks.token_ids.tolist() for masks in found] == [[1, 2, 0], [3, 0]] * 2
    assert [masks.bitmasks[:, 0].tolist() for masks in found] == [
        [0b1010, 0b0100, 1],
        [0b1010, 1],
    ] * 2


def test_all_of_a_text_is_text():
    index = cfgguide.compile(cfgguide.Grammar.bundled("json"), small_tokenizer())
    text = json.dumps(small_tokenizer().eos_token)
    (masks,) = masks_for([text], index, small_tokenizer())
    assert index.vocabulary.spell(masks.token_ids.tolist()) == text.encode()
    assert masks.token_ids.tolist().count(EOS) == 1


def test_the_eos_is_the_tokenizers_or_the_one_that_is_asked_for():
    vocabulary = cfgguide.Vocabulary([b"a", None, None], eos_token_ids=[1, 2])
    index = cfgguide.compile(cfgguide.Grammar('start: "a"'), vocabulary)
    assert masks_for([[0]], index, None)[0].token_ids.tolist() == [0, 1]
    assert masks_for([[0]], index, None, eos_token_id=2)[0].token_ids.tolist() == [0, 2]
    tokenizer = small_tokenizer()
    assert tokenizer.eos_token_id == EOS  # none of this vocabulary
    assert masks_for([[0]], index, tokenizer)[0].token_ids.tolist() == [0, 1]
    with pytest.raises(
        TextError, match=r"token 0 is not an EOS of the vocabulary; those are \(1, 2\)"
    ):
        masks_for([[0]], index, None, eos_token_id=0)


#: Texts of which the second is wrong, and what is said of it.
WRONG = {
    "a wrong byte": (
        ["[2]", "[10\n]"],
        "[text] text 1 is not a sentence of the grammar: "
        "line 1, column 4: token LINE_BREAK ('\\n') "
        "is refused at byte 0, '\\n': no terminal that may follow NUMBER '10' begins with it\n"
        "  expected there: RSQB ']'\n"
        "[10\n"
        "   ^",
    ),
    "a text that has not ended": (
        ["[2]", "[10"],
        "[text] text 1 is not a sentence of the grammar: "
        "line 1, column 4: token 0 (EOS) is refused: "
        "the text so far is not a sentence\n"
        "  expected there: RSQB ']'\n"
        "[10\n"
        "   ^",
    ),
    "no text": (
        ["[2]", ""],
        "[text] text 1 is not a sentence of the grammar: "
        "line 1, column 1: token 0 (EOS) is refused: "
        "the text so far is not a sentence\n"
        "  expected there: LSQB '['\n"
        "\n"
        "^",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_text_that_is_no_sentence_is_an_error_that_says_where(name):
    texts, said = WRONG[name]
    with pytest.raises(TextError) as raised:
        masks_for(texts, index_of(NUMBERS), small_tokenizer())
    (line_break,) = small_tokenizer().encode("\n")
    assert str(raised.value) == said.replace("LINE_BREAK", str(line_break))


def test_a_tokenizer_that_changes_texts_is_an_error():
    tokenizer = small_tokenizer().backend_tokenizer
    tokenizer.normalizer = normalizers.Lowercase()
    index = index_of('start: "a" | "A"')
    assert masks_for(["a"], index, tokenizer)[0].token_ids.tolist() == [
        *tokenizer.encode("a").ids,
        0,
    ]
    with pytest.raises(TextError, match="text 0 is 'A', but its tokens spell 'a'; give the ids"):
        masks_for(["A"], index, tokenizer)


def test_sentences_side_by_side_are_filled_up_with_what_no_loss_counts():
    found = masks_for(["[true]", "[2]"], index_of(NUMBERS), small_tokenizer())
    batch = stack_masks(found)
    n_tokens = len(found[0])
    assert batch.token_ids.shape == (2, n_tokens)
    assert batch.bitmasks.shape == (2, n_tokens, found[0].bitmasks.shape[1])
    for row, masks in enumerate(found):
        length = len(masks)
        assert batch.token_ids[row, :length].tolist() == masks.token_ids.tolist()
        assert np.array_equal(batch.bitmasks[row, :length], masks.bitmasks)
        assert set(batch.token_ids[row, length:].tolist()) <= {-100}
        assert set(batch.bitmasks[row, length:].reshape(-1).tolist()) <= {-1}
    assert len(found[1]) < n_tokens
    with pytest.raises(TextError, match="no sentences"):
        stack_masks([])


def test_the_loss_of_a_batch_is_that_of_the_allowed_tokens():
    """torch's cross-entropy over masked logits, filled up, is the mean of the masked ones."""
    index = index_of(NUMBERS)
    batch = stack_masks(masks_for(["[true]", "[2]"], index, small_tokenizer()))
    generator = torch.Generator().manual_seed(3)
    n_columns = index.vocabulary.size + 7
    logits = torch.randn((*batch.token_ids.shape, n_columns), generator=generator)
    allowed = bool_mask(torch.from_numpy(batch.bitmasks), n_columns)
    labels = torch.from_numpy(batch.token_ids)
    loss = torch.nn.functional.cross_entropy(
        logits.masked_fill(~allowed, float("-inf")).flatten(0, 1), labels.flatten()
    )
    bitmasks = torch.from_numpy(batch.bitmasks)
    each = token_log_probabilities(logits, bitmasks, labels.clamp(min=0)).masked
    assert torch.isfinite(loss)
    assert loss.item() == pytest.approx(-each[labels != -100].mean().item(), rel=1e-5)
