"""The masks of many guides in one array: each row is what its guide alone would write."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import cfgguide
from cfgguide.errors import BitmaskError, LimitError, TokenRejectedError

WORDS_OF_THREE = 3  # words of an index of 70 ids


@pytest.fixture(scope="module")
def guides() -> list[cfgguide.Guide]:
    """Guides of two grammars over vocabularies of 4 and 70 ids; the last has ended."""
    grammar = cfgguide.Grammar('start: ("a" | "b")+')
    small = cfgguide.Vocabulary([b"a", b"b", b"ab", None], eos_token_ids=3)
    tokens: list[bytes | None] = [None, *(b"ab" * number for number in range(1, 70))]
    large = cfgguide.Vocabulary(tokens, eos_token_ids=0)
    indexes = [cfgguide.compile(grammar, vocabulary) for vocabulary in (small, large)]
    made = [cfgguide.Guide(indexes[number]) for number in (0, 1, 0, 1, 1)]
    made[2].advance(2)
    made[3].advance(69)
    made[4].advance(1)
    made[4].advance(0)
    return made


def row_of(guide: cfgguide.Guide, n_words: int) -> list[int]:
    """A guide's mask, bit by bit from the ids that it allows."""
    row = [0] * n_words
    for token_id in guide.allowed_token_ids().tolist():
        row[token_id // 32] |= 1 << token_id % 32
    return [word - 2**32 if word >= 2**31 else word for word in row]


@pytest.mark.parametrize("n_words", [WORDS_OF_THREE, 5])
def test_each_row_is_what_its_guide_allows(guides, n_words):
    expected = [row_of(guide, n_words) for guide in guides]
    assert expected[0] != expected[2] != expected[4] == [0] * n_words
    array = np.full((5, n_words), -1, dtype=np.int32)
    cfgguide.fill_bitmasks(guides, array)
    assert array.tolist() == expected
    tensor = torch.full((5, n_words), -1, dtype=torch.int32)
    cfgguide.fill_bitmasks(guides, tensor)
    assert tensor.tolist() == expected


def test_a_part_of_a_larger_array_is_filled_in_place(guides):
    whole = np.full((12, 7), 9, dtype=np.int32)
    cfgguide.fill_bitmasks(guides, whole[1:11:2, 2:6])
    assert whole[1:11:2, 2:6].tolist() == [row_of(guide, 4) for guide in guides]
    whole[1:11:2, 2:6] = 9
    assert (whole == 9).all()


def test_no_guides_fill_no_rows():
    cfgguide.fill_bitmasks([], np.zeros((0, 4), dtype=np.int32))


def test_what_was_filled_can_be_applied(guides):
    words = np.empty((5, WORDS_OF_THREE), dtype=np.int32)
    cfgguide.fill_bitmasks(guides, words)
    logits = torch.zeros(5, 96, dtype=torch.bfloat16)
    cfgguide.apply_bitmask(logits, words)
    for guide, row in zip(guides, logits, strict=True):
        assert row.isfinite().nonzero().flatten().tolist() == guide.allowed_token_ids().tolist()


@pytest.mark.parametrize(
    ("out", "found"),
    [
        (np.zeros((5, 3), dtype=np.int64), "int64 of shape (5, 3)"),
        (np.zeros((5, 3), dtype=">i4"), ">i4 of shape (5, 3)"),
        (torch.zeros(5, 3, dtype=torch.int64), "int64 of shape (5, 3)"),
        (np.zeros((4, 3), dtype=np.int32), "int32 of shape (4, 3)"),
        (np.zeros((6, 3), dtype=np.int32), "int32 of shape (6, 3)"),
        (np.zeros(15, dtype=np.int32), "int32 of shape (15,)"),
        (np.frombuffer(bytes(60), dtype=np.int32).reshape(5, 3), "int32 of shape (5, 3)"),
        (None, "object of shape ()"),
    ],
)
def test_an_unfit_array_is_refused(guides, out, found):
    with pytest.raises(BitmaskError) as caught:
        cfgguide.fill_bitmasks(guides, out)
    assert str(caught.value) == (
        f"[bitmask] the bitmasks are a writeable int32 array of shape (5, 3), not {found}"
    )


def test_a_guide_whose_words_do_not_fit_is_named_and_nothing_is_written(guides):
    out = np.full((5, 2), 9, dtype=np.int32)
    with pytest.raises(BitmaskError) as caught:
        cfgguide.fill_bitmasks(guides, out)
    assert str(caught.value) == (
        "[bitmask] row 1: the guide's vocabulary needs 3 words, the bitmasks have 2"
    )
    assert (out == 9).all()


def test_columns_may_lie_apart(guides):
    whole = np.full((5, 8), 9, dtype=np.int32)
    cfgguide.fill_bitmasks(guides, whole[:, ::2])
    assert whole[:, ::2].tolist() == [row_of(guide, 4) for guide in guides]
    assert (whole[:, 1::2] == 9).all()


# --- Rows without a grammar, and tokens -----------------------------------------------------------


def test_without_a_grammar_everything_is_allowed(guides):
    out = np.zeros((3, WORDS_OF_THREE), dtype=np.int32)
    cfgguide.fill_bitmasks([None, guides[1], None], out)
    assert out.tolist() == [[-1] * 3, row_of(guides[1], 3), [-1] * 3]
    cfgguide.fill_bitmasks([None], out[:1, :0])


def lists() -> list[cfgguide.Guide]:
    """Guides of a grammar of lists of digits, at different places; the last has ended."""
    vocabulary = cfgguide.Vocabulary.of_bytes([b"[1", b",1"])
    index = cfgguide.compile(
        cfgguide.Grammar('start: "[" [/[0-9]/ ("," /[0-9]/)*] "]"'), vocabulary
    )
    made = [cfgguide.Guide(index) for _ in range(5)]
    for guide, text in zip(made, (b"", b"[", b"[1,", b"[7]", b"[]"), strict=True):
        for byte in text:
            guide.advance(byte)
    (eos,) = vocabulary.eos_token_ids
    made[4].advance(eos)
    return made


@pytest.mark.parametrize("kind", [list, np.array, torch.tensor])
def test_tokens_are_consumed_first(kind):
    """The same as one call of `advance` and of `fill_bitmask` for each guide."""
    guides, others = lists(), lists()
    (eos,) = guides[0].index.vocabulary.eos_token_ids
    n_words = guides[0].index.vocabulary.n_words
    tokens = [ord("["), -1, ord("8"), eos, -1]
    out = np.empty((6, n_words), dtype=np.int32)
    cfgguide.fill_bitmasks([*guides, None], out, token_ids=kind([*tokens, 99]))
    for guide, token_id in zip(others, tokens, strict=True):
        if token_id >= 0:
            guide.advance(token_id)
    assert [guide.text for guide in guides] == [b"[", b"[", b"[1,8", b"[7]", b"[]"]
    assert [guide.is_finished for guide in guides] == [False, False, False, True, True]
    assert out.tolist() == [*(row_of(guide, n_words) for guide in others), [-1] * n_words]


def test_a_refused_token_leaves_the_batch_as_it_was():
    guides = lists()
    before = [guide.token_ids for guide in guides]
    out = np.full((5, 20), 9, dtype=np.int32)
    with pytest.raises(TokenRejectedError) as caught:
        cfgguide.fill_bitmasks(guides, out, token_ids=[ord("["), ord("]"), ord("]"), -1, -1])
    assert caught.value.__notes__ == ["in row 2 of the batch"]
    with pytest.raises(TokenRejectedError, match="comes after EOS"):
        cfgguide.fill_bitmasks(guides, out, token_ids=[-1, -1, -1, -1, ord("[")])
    assert [guide.token_ids for guide in guides] == before
    assert [guide.is_finished for guide in guides] == [False] * 4 + [True]
    assert (out == 9).all()


def test_a_mask_that_cannot_be_made_leaves_the_batch_as_it_was(monkeypatch):
    guides = lists()
    before = [guide.token_ids for guide in guides]

    def too_much(configuration: object) -> None:
        raise LimitError("too much")

    monkeypatch.setattr(guides[0].index, "subset", too_much)
    out = np.full((5, 20), 9, dtype=np.int32)
    with pytest.raises(LimitError) as caught:
        cfgguide.fill_bitmasks(guides, out, token_ids=[-1, ord("3"), ord("3"), -1, -1])
    assert caught.value.__notes__ == ["in row 0 of the batch"]
    assert [guide.token_ids for guide in guides] == before
    assert (out == 9).all()


def test_there_is_one_token_for_each_guide():
    guides = lists()
    out = np.empty((5, 20), dtype=np.int32)
    with pytest.raises(BitmaskError, match="5 guides take 5 tokens, not 2"):
        cfgguide.fill_bitmasks(guides, out, token_ids=[-1, ord("]")])
    assert guides[1].text == b"["
