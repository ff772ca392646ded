"""The masks of many guides in one array: each row is what its guide alone would write."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from support.small_tokenizers import standard_library_tokenizer, standard_library_vocabulary

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


@pytest.mark.parametrize("bound", [{}, {"max_new_masks": 2}])
def test_a_mask_that_cannot_be_made_leaves_the_batch_as_it_was(monkeypatch, bound):
    guides = lists()
    before = [guide.token_ids for guide in guides]

    def too_much(configuration: object) -> None:
        raise LimitError("too much")

    monkeypatch.setattr(guides[0].index, "subset", too_much)
    out = np.full((5, 20), 9, dtype=np.int32)
    with pytest.raises(LimitError) as caught:
        cfgguide.fill_bitmasks(guides, out, token_ids=[-1, ord("3"), ord("3"), -1, -1], **bound)
    assert caught.value.__notes__ == ["in row 0 of the batch"]
    assert [guide.token_ids for guide in guides] == before
    assert (out == 9).all()


def test_there_is_one_token_for_each_guide():
    guides = lists()
    out = np.empty((5, 20), dtype=np.int32)
    with pytest.raises(BitmaskError, match="5 guides take 5 tokens, not 2"):
        cfgguide.fill_bitmasks(guides, out, token_ids=[-1, ord("]")])
    assert guides[1].text == b"["


# --- A bound on the masks that a call makes -------------------------------------------------------

#: What may follow the texts of `lists()`, by hand; the tokens 256 and 257 are `[1` and `,1`.
DIGITS = {*range(ord("0"), ord("9") + 1)}
FOLLOWING = [{ord("["), 256}, DIGITS | {ord("]")}, DIGITS, {258}, set()]


def filled(guides: list[cfgguide.Guide | None], n: int, **options: object) -> list[set[int]]:
    """The tokens of each row after a call, and in front of them the rows that are not ready."""
    out = np.full((len(guides), n), 7, dtype=np.int32)
    waiting = cfgguide.fill_bitmasks(guides, out, **options)
    bits = np.unpackbits(out.view(np.uint8), axis=1, bitorder="little")
    return [set(waiting), *(set(np.flatnonzero(row).tolist()) for row in bits)]


@pytest.mark.parametrize(
    ("bound", "waiting"),
    [
        (0, [{0, 1, 2, 3}] * 2),
        (1, [{1, 2, 3}, {2, 3}, {3}, set()]),
        (3, [{3}, set()]),
        (9, [set()]),
    ],
)
def test_each_call_makes_so_many_masks_and_says_which_rows_have_none(bound, waiting):
    guides = lists()
    for rows in waiting:
        expected = [set() if row in rows else FOLLOWING[row] for row in range(5)]
        assert filled(guides, 9, max_new_masks=bound) == [rows, *expected]
        assert [guide.is_ready for guide in guides] == [row not in rows for row in range(5)]


def test_known_masks_are_written_whatever_is_missing_before_them():
    guides = lists()
    guides[3].allowed_token_ids()
    found = filled([None, *guides], 9, max_new_masks=0)
    assert found == [{1, 2, 3}, {*range(288)}, set(), set(), set(), {258}, set()]


def test_rows_that_want_one_mask_make_it_once():
    """Names and numbers differ, and what may follow does not; the vocabulary is a real one."""
    index = cfgguide.compile(cfgguide.Grammar.bundled("json"), standard_library_vocabulary())
    guides = [cfgguide.Guide(index) for _ in range(64)]
    for number, guide in enumerate(guides):
        for token_id in standard_library_tokenizer().encode(f'{{"name{number}": {number}, "').ids:
            guide.advance(token_id)
    assert index.n_made == 0
    assert filled(guides, index.vocabulary.n_words, max_new_masks=1)[0] == set()
    assert index.n_made == 1


def test_a_row_that_waits_is_before_those_that_come_later():
    old, *new = (lists()[1] for _ in range(4))  # each of an index of its own
    assert filled([new[0], old], 9, max_new_masks=1) == [{1}, FOLLOWING[1], set()]
    assert filled([new[1], old], 9, max_new_masks=1) == [{0}, set(), FOLLOWING[1]]
    assert filled([new[2], old, new[1]], 9, max_new_masks=1)[0] == {0}


def test_tokens_are_consumed_although_the_mask_comes_later():
    guides = lists()
    found = filled(guides, 9, token_ids=[ord("["), -1, ord("8"), -1, -1], max_new_masks=1)
    assert found == [{2, 3}, FOLLOWING[1], FOLLOWING[1], set(), set(), set()]  # rows 0 and 1 share
    assert [guide.text for guide in guides] == [b"[", b"[", b"[1,8", b"[7]", b"[]"]


def test_texts_that_wait_get_the_masks_of_texts_that_do_not():
    """Tokens of real texts; each guide goes on as soon as it is ready."""
    vocabulary, encode = standard_library_vocabulary(), standard_library_tokenizer().encode
    texts = ['{"a": [1, true]}', "-1.5e3", '"x\\u00e9"', "[[], {}]", " null", '[{"b": 0}]']
    bounded, whole = (
        cfgguide.compile(cfgguide.Grammar.bundled("json"), vocabulary) for _ in range(2)
    )
    guides = [cfgguide.Guide(bounded) for _ in texts]
    left = [encode(text).ids for text in texts]
    out = np.empty((len(texts), vocabulary.n_words), dtype=np.int32)
    expected = np.empty(vocabulary.n_words, dtype=np.int32)
    tokens, n_calls, n_waited = [-1] * len(texts), 0, 0
    while any(left):
        waiting = cfgguide.fill_bitmasks(guides, out, token_ids=tokens, max_new_masks=1)
        n_calls, n_waited = n_calls + 1, n_waited + len(waiting)
        assert n_calls < 1000
        for row, guide in enumerate(guides):
            tokens[row] = left[row].pop(0) if row not in waiting and left[row] else -1
            other = cfgguide.Guide(whole)
            for token_id in guide.token_ids:
                other.advance(token_id)
            other.fill_bitmask(expected)
            assert (out[row] == (0 if row in waiting else expected)).all()
    assert n_waited > 0


@pytest.mark.parametrize("bound", [-1, True, 1.5, "2"])
def test_a_bound_is_a_number(bound):
    with pytest.raises(BitmaskError, match="max_new_masks is a number from 0 on, not"):
        cfgguide.fill_bitmasks(lists(), np.empty((5, 9), np.int32), max_new_masks=bound)
