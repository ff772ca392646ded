"""The guide: the state of one sequence, its errors, and depths that no recursion would stand."""

from __future__ import annotations

import copy
import pickle
import random
import threading
import tracemalloc
import warnings

import numpy as np
import pytest
from lark.exceptions import UnexpectedInput
from support.judged_texts import texts_of
from support.judges import lark_parser

import cfgguide
from cfgguide.errors import BitmaskError, RollbackError, TokenRejectedError, VocabularyError

# ids    0     1     2     3     4      5       6       7       8     9 (EOS)  10 (no text)
TOKENS = [b"[", b"]", b",", b"1", b"1,", b"]]", b"[1", b"null", b"x", None, None]
EOS = 9
BYTES = cfgguide.Vocabulary.of_bytes().tokens[:256]


@pytest.fixture(scope="module")
def index() -> cfgguide.Index:
    return index_of(TOKENS, [EOS])


def index_of(tokens: list[bytes | None], eos: list[int], grammar: str = "json") -> cfgguide.Index:
    vocabulary = cfgguide.Vocabulary(tokens, eos_token_ids=eos)
    with warnings.catch_warnings(action="ignore"):  # `TOKENS` spells no strings, for one
        return cfgguide.compile(cfgguide.Grammar.bundled(grammar), vocabulary)


def guide_after(index: cfgguide.Index, *token_ids: int) -> cfgguide.Guide:
    guide = cfgguide.Guide(index)
    for token_id in token_ids:
        guide.advance(token_id)
    return guide


def bits(guide: cfgguide.Guide) -> list[int]:
    """Return the ids whose bits are set, read one by one."""
    out = np.full(guide.index.vocabulary.n_words, -1, dtype=np.int32)
    guide.fill_bitmask(out)
    return [i for i in range(32 * len(out)) if int(out[i // 32]) >> (i % 32) & 1]


# --- One sequence ---------------------------------------------------------------------------------


def test_a_sequence_from_start_to_end(index):
    guide = cfgguide.Guide(index)
    rows = []
    for token_id in (6, 2, 3, 1, EOS):
        rows.append((guide.text, guide.allowed_token_ids().tolist(), guide.is_accepting))
        assert not guide.is_finished
        guide.advance(token_id)
    assert rows == [
        (b"", [0, 3, 6, 7], False),
        (b"[1", [1, 2, 3, 4], False),
        (b"[1,", [0, 3, 4, 6, 7], False),
        (b"[1,1", [1, 2, 3, 4], False),
        (b"[1,1]", [EOS], True),
    ]
    assert (guide.text, guide.is_finished, guide.is_accepting) == (b"[1,1]", True, True)
    assert guide.token_ids == (6, 2, 3, 1, EOS)


def test_after_eos_nothing_may_come(index):
    guide = guide_after(index, 3, EOS)
    assert guide.allowed_token_ids().tolist() == []
    assert guide.allowed_token_ids().dtype == np.int64
    assert bits(guide) == []
    assert guide.expected() == ()
    assert not any(guide.accepts(token_id) for token_id in range(len(TOKENS)))
    with pytest.raises(TokenRejectedError) as caught:
        guide.advance(EOS)
    assert str(caught.value) == (
        f"[token-rejected] token {EOS} comes after EOS; roll back or start a new guide"
    )
    assert guide.token_ids == (3, EOS)
    guide.rollback(1)
    assert (guide.is_finished, guide.allowed_token_ids().tolist()) == (False, [3, EOS])


def test_every_eos_ends_the_text():
    index = index_of([*BYTES, None, b"</s>", None], [256, 257])
    guide = guide_after(index, ord("1"))
    assert [guide.accepts(token_id) for token_id in (256, 257, 258)] == [True, True, False]
    assert guide.allowed_token_ids().tolist()[-2:] == [256, 257]
    guide.advance(257)
    assert guide.is_finished
    assert guide.text == b"1"  # an EOS spells nothing, whatever it is called


@pytest.mark.parametrize("token_id", [-1, -256, 11, 31, 32, 10**6, 2**40])
def test_ids_outside_the_vocabulary_are_rejected(index, token_id):
    guide = guide_after(index, 0)
    for _ in range(2):  # without and with the mask at hand
        assert not guide.accepts(token_id)
        with pytest.raises(TokenRejectedError) as caught:
            guide.advance(token_id)
        assert str(caught.value) == (
            f"[token-rejected] token {token_id} is not in the vocabulary of 11 ids"
        )
        assert guide.text == b"["
        guide.allowed_token_ids()


@pytest.mark.parametrize("convert", [np.int32, np.int64, np.uint16, int])
def test_ids_may_be_numbers_of_numpy(index, convert):
    guide = guide_after(index, convert(0), convert(3))
    assert guide.accepts(convert(1))
    guide.allowed_token_ids()
    assert guide.accepts(convert(1))
    assert not guide.accepts(convert(8))
    assert all(type(token_id) is int for token_id in guide.token_ids)


@pytest.mark.parametrize(
    ("token_ids", "rejected", "message"),
    [
        ((), 1, "token 1 (b']') may not follow b''; expected one of: FALSE, LBRACE, LSQB, NULL, "
                "NUMBER, STRING, TRUE, WS"),
        ((0, 3), 7, "token 7 (b'null') may not follow b'[1'; expected one of: COMMA, NUMBER, RSQB, "
                    "WS"),
        ((0, 3), EOS, "token 9 (EOS) may not follow b'[1'; expected one of: COMMA, NUMBER, RSQB, "
                      "WS"),
        ((0,), 10, "token 10 (no text) may not follow b'['; expected one of: FALSE, LBRACE, LSQB, "
                   "NULL, NUMBER, RSQB, STRING, TRUE, WS"),
        ((3,), 0, "token 0 (b'[') may not follow b'1'; expected one of: $END, NUMBER, WS"),
        ((0, *[4] * 30), 1, f"token 1 (b']') may not follow {b'1,' * 20!r}; expected one of: "
                            "FALSE, LBRACE, LSQB, NULL, NUMBER, STRING, TRUE, WS"),
    ],
)  # fmt: skip
def test_a_rejected_token_leaves_the_guide_as_it_was(token_ids, rejected, message):
    """The message names the token, the end of the text and the terminals that were expected."""
    guide = guide_after(index_of([*TOKENS[:9], None, None, *BYTES], [EOS]), *token_ids)
    before = (guide.text, guide.token_ids, guide.configuration, guide.is_finished, bits(guide))
    with pytest.raises(TokenRejectedError) as caught:
        guide.advance(rejected)
    assert str(caught.value) == f"[token-rejected] {message}; Guide.explain tells more"
    assert before == (
        guide.text, guide.token_ids, guide.configuration, guide.is_finished, bits(guide)
    )  # fmt: skip


def test_what_was_expected_is_asked_for_when_it_is_read(index, monkeypatch):
    """And then it is about the place of the refusal, wherever the guide is meanwhile."""
    asked = []
    kind = type(index.machine)
    find = kind.expected
    monkeypatch.setattr(
        kind, "expected", lambda self, place: asked.append(place) or find(self, place)
    )
    guide = guide_after(index, 3)
    place = guide.configuration
    with pytest.raises(TokenRejectedError) as caught:
        guide.advance(0)
    guide.advance(EOS)
    assert not asked
    assert caught.value.expected == ("$END", "NUMBER")
    assert "expected one of: $END, NUMBER" in str(caught.value)
    assert asked == [place]
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (TokenRejectedError, str(caught.value))


def work_of(index: cfgguide.Index) -> tuple[object, ...]:
    """Return what is counted of masks, and what was made to decide whether sentences follow."""
    liveness = index.machine.liveness
    made = {name: len(value) for name, value in vars(liveness).items() if isinstance(value, dict)}
    del made["_decided"], made["_depths"]  # what was decided is remembered, however it was found
    return index.n_made, index.n_entries, index.seconds_made, sorted(vars(liveness)), made


REFUSED = {
    "json": (b'{"a": [1', b"}"),
    "lua": (b"x = not a", b")"),
    "sql": (b"SELECT SUM(a)", b"}"),
    "python": (b"def f", b" then"),
    "javascript": (b"const x =", b" &&"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_makes_no_mask_and_searches_nothing(name):
    """Not when it is decided, nor when its message or what was expected is read."""
    before, refused = REFUSED[name]
    vocabulary = cfgguide.Vocabulary.of_bytes([refused])
    guide = cfgguide.Guide(cfgguide.compile(cfgguide.Grammar.bundled(name), vocabulary))
    for byte in before:
        guide.advance(byte)
    work = work_of(guide.index)
    token_id = vocabulary.tokens.index(refused)
    with pytest.raises(TokenRejectedError) as caught:
        guide.advance(token_id)
    with pytest.raises(TokenRejectedError) as of_batch:
        cfgguide.fill_bitmasks([guide], np.empty((1, 9), np.int32), token_ids=[token_id])
    assert str(of_batch.value).startswith(str(caught.value))
    assert guide.expected() == caught.value.expected
    assert work_of(guide.index) == work
    assert guide.text == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["json", "lua", "c", "rust"])
def test_what_a_message_names_may_come_in_some_text(name):
    """Of what Lark's parser takes after the text, or instead of the lexeme that it ends with."""
    index = index_of([*BYTES, None], [256], name)
    lexer = lark_parser(cfgguide.Grammar.bundled(name))
    texts = texts_of(f"{name}_texts.txt", "+") if name != "json" else ['{"a": [1, null, "b"]}']
    rng, n_named = random.Random(5), 0
    for text in rng.choices([each for each in texts if each.isascii()], k=60):
        guide = cfgguide.Guide(index)
        for byte in text.encode()[: rng.randint(1, len(text) or 1)]:
            if not guide.accepts(byte):
                break
            guide.advance(byte)
        parser = lexer.parse_interactive(guide.text.decode())
        taken = [parser.accepts()]
        try:
            for token in parser.lexer_thread.lex(parser.parser_state):
                parser.feed_token(token)
                taken.append(parser.accepts())
        except UnexpectedInput:
            pass  # the last lexeme has not ended
        for byte in rng.choices(range(256), k=5):
            if not guide.accepts(byte):
                with pytest.raises(TokenRejectedError) as caught:
                    guide.advance(byte)
                # Lark's `accepts` leaves out names that are not all in capitals.
                named = set(filter(str.isupper, caught.value.expected))
                assert named <= set().union(*taken[-2:]), guide.text
                n_named += len(caught.value.expected)
    assert n_named > 100


def test_only_what_the_vocabulary_spells_is_expected(index):
    """It has no token for a string, nor for whitespace."""
    assert guide_after(index, 0).expected() == ("LSQB", "NULL", "NUMBER", "RSQB")


# --- The bitmask ----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [11, 31, 32, 33, 64, 100])
def test_the_bitmask_is_the_mask(size):
    index = index_of([*TOKENS, *[None] * (size - len(TOKENS))], [EOS, size - 1])
    for token_ids in ((), (0,), (0, 3), (3,)):
        guide = guide_after(index, *token_ids)
        assert bits(guide) == guide.allowed_token_ids().tolist()
        assert bits(guide) == [i for i in range(size + 40) if guide.accepts(i)]


@pytest.mark.parametrize(
    ("out", "found"),
    [
        (np.zeros(1, dtype=np.int64), "int64 of shape (1,)"),
        (np.zeros(1, dtype=np.uint32), "uint32 of shape (1,)"),
        (np.zeros(1, dtype=">i4"), ">i4 of shape (1,)"),
        (np.zeros(2, dtype=np.int32), "int32 of shape (2,)"),
        (np.zeros(0, dtype=np.int32), "int32 of shape (0,)"),
        (np.zeros((1, 1), dtype=np.int32), "int32 of shape (1, 1)"),
        (np.zeros((), dtype=np.int32), "int32 of shape ()"),
        (np.frombuffer(b"\0" * 4, dtype=np.int32), "int32 of shape (1,)"),  # read-only
        ([0], "int64 of shape (1,)"),
        (None, "object of shape ()"),
    ],
)
def test_an_unfit_array_for_the_bitmask_is_refused(index, out, found):
    guide = cfgguide.Guide(index)
    with pytest.raises(BitmaskError) as caught:
        guide.fill_bitmask(out)
    assert str(caught.value) == (
        f"[bitmask] the bitmask is a writeable int32 array of shape (1,), not {found}"
    )


def test_a_row_of_a_batch_is_filled_in_place(index):
    batch = np.zeros((3, 1), dtype=np.int32)
    cfgguide.Guide(index).fill_bitmask(batch[1])
    assert batch.tolist() == [[0], [0b1100_1001], [0]]
    strided = np.zeros(4, dtype=np.int32)
    cfgguide.Guide(index).fill_bitmask(strided[2:3:2])
    assert strided.tolist() == [0, 0, 0b1100_1001, 0]


def test_a_torch_tensor_is_filled_in_place(index):
    torch = pytest.importorskip("torch", reason="torch is not installed: nothing to fill")
    tensor = torch.zeros((2, 1), dtype=torch.int32)
    cfgguide.Guide(index).fill_bitmask(tensor[1])
    assert tensor.tolist() == [[0], [0b1100_1001]]
    with pytest.raises(BitmaskError):
        cfgguide.Guide(index).fill_bitmask(torch.zeros(1, dtype=torch.int64))


def test_a_tensor_is_written_where_it_is_now(index):
    """Guides share what they know of a buffer, but its words may move or change their number."""
    torch = pytest.importorskip("torch", reason="torch is not installed: nothing to fill")
    tensor = torch.zeros(1, dtype=torch.int32)
    guide, other = cfgguide.Guide(index), cfgguide.Guide(index)
    for each in (guide, other, guide):
        tensor.set_(torch.zeros(1, dtype=torch.int32))
        each.fill_bitmask(tensor)
        assert tensor.tolist() == [0b1100_1001]
    tensor.set_(torch.zeros(2, dtype=torch.int32))
    with pytest.raises(BitmaskError, match="shape"):
        guide.fill_bitmask(tensor)


def test_a_buffer_that_fits_one_vocabulary_is_refused_by_another(index):
    wide = index_of([*TOKENS, *[None] * (100 - len(TOKENS))], [EOS, 99])
    out = np.zeros(4, dtype=np.int32)
    cfgguide.Guide(wide).fill_bitmask(out)
    with pytest.raises(BitmaskError, match=r"shape \(1,\), not int32 of shape \(4,\)"):
        cfgguide.Guide(index).fill_bitmask(out)
    rows = np.zeros((1, 1), dtype=np.int32)
    cfgguide.fill_bitmasks([cfgguide.Guide(index)], rows)
    with pytest.raises(BitmaskError, match=r"shape \(1,\), not int32 of shape \(1, 1\)"):
        cfgguide.Guide(index).fill_bitmask(rows)


def test_a_token_that_is_tried_is_consumed_if_it_may_come(index):
    guide = cfgguide.Guide(index)
    tried = [guide.try_advance(token_id) for token_id in (0, 0, 5, 3, 99)]
    told = [guide.accepts(token_id) for token_id in range(12)]
    assert (guide.n_tokens, guide.last_token_id) == (sum(tried), guide.token_ids[-1])
    assert [guide.copy().try_advance(token_id) for token_id in range(12)] == told


def test_the_masks_of_the_index_cannot_be_changed(index):
    subset = index.subset(index.machine.initial)
    with pytest.raises(ValueError, match="read-only"):
        subset.bitmask[0] = 0
    out = np.zeros(1, dtype=np.int32)
    guide = cfgguide.Guide(index)
    guide.fill_bitmask(out)
    out[:] = 0
    ids = guide.allowed_token_ids()
    ids[:] = 0
    assert guide.allowed_token_ids().tolist() == [0, 3, 6, 7]


# --- Rollback and copies --------------------------------------------------------------------------


def test_rollback_takes_back_tokens_one_by_one(index):
    steps = (0, 4, 6, 5, EOS)
    guide, history = cfgguide.Guide(index), []
    for token_id in steps:
        history.append((guide.text, guide.allowed_token_ids().tolist(), guide.configuration))
        guide.advance(token_id)
    for n, row in enumerate(reversed(history), start=1):
        again = guide.copy()
        again.rollback(n)
        assert (again.text, again.allowed_token_ids().tolist(), again.configuration) == row
        assert not again.is_finished
        assert again.token_ids == steps[: len(steps) - n]


@pytest.mark.parametrize("n", [-1, 3, 100])
def test_more_cannot_be_taken_back_than_was_consumed(index, n):
    guide = guide_after(index, 0, 3)
    with pytest.raises(RollbackError) as caught:
        guide.rollback(n)
    assert str(caught.value) == f"[rollback] cannot roll back {n} tokens: 2 were consumed"
    assert guide.text == b"[1"
    guide.rollback(0)
    assert guide.text == b"[1"
    guide.rollback(2)
    assert guide.text == b""


def test_a_copy_goes_its_own_way(index):
    guide = guide_after(index, 0)
    other = guide.copy()
    guide.advance(3)
    other.advance(1)
    other.advance(EOS)
    third = other.copy()
    third.rollback(2)
    third.advance(7)
    assert [g.text for g in (guide, other, third)] == [b"[1", b"[]", b"[null"]
    assert [g.is_finished for g in (guide, other, third)] == [False, True, False]
    assert guide.index is other.index is third.index is index


# --- Many threads ---------------------------------------------------------------------------------


def test_many_guides_of_one_index_from_many_threads():
    """Each thread walks through the same texts; none sees another's masks."""
    index = index_of([*BYTES, None], [256])
    alone = index_of([*BYTES, None], [256])
    texts = [b'{"a":[1,2.5e-3,{"b":null}],"\xc3\xa9":"\\u00e9"}', b"[[[[[[0]]]]]]", b"[true,false]"]

    def masks(index: cfgguide.Index, text: bytes) -> list[list[int]]:
        guide, rows = cfgguide.Guide(index), []
        for byte in text:
            rows.append(guide.allowed_token_ids().tolist())
            guide.advance(byte)
        return [*rows, guide.allowed_token_ids().tolist()]

    expected = [masks(alone, text) for text in texts]
    found: list[list[list[list[int]]]] = []
    threads = [
        threading.Thread(target=lambda: found.append([masks(index, text) for text in texts]))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


# --- Depth ----------------------------------------------------------------------------------------

DEEP = 100_000


@pytest.fixture(scope="module")
def byte_index() -> cfgguide.Index:
    return index_of([*BYTES, b"[[", b"]]", b"[" * 1000, None], [259])


@pytest.fixture(scope="module")
def deep(byte_index) -> cfgguide.Guide:
    """Copy it before it is changed."""
    return guide_after(byte_index, *[ord("[")] * DEEP)


@pytest.mark.slow
def test_a_hundred_thousand_brackets_are_closed(deep):
    guide = deep.copy()
    assert {ord("["), ord("]"), 256, 257, 258} < set(guide.allowed_token_ids().tolist())
    guide.advance(ord("1"))
    for _ in range(DEEP // 2):
        guide.advance(257)
    assert guide.allowed_token_ids().tolist() == [*b"\t\n\r ", 259]
    guide.advance(259)
    assert guide.text == b"[" * DEEP + b"1" + b"]" * DEEP


def test_a_token_takes_little_memory(byte_index):
    tracemalloc.start()
    guide = guide_after(byte_index, *[ord("[")] * 10_000)
    masks = [guide.allowed_token_ids() for guide in [guide.copy() for _ in range(10)]]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(masks) == 10
    assert peak < 20e6  # 2 kB for each bracket


@pytest.mark.slow
def test_a_deep_guide_is_copied_and_rolled_back(deep):
    other = deep.copy()
    other.rollback(DEEP - 1)
    assert other.text == b"["
    other.advance(ord("]"))
    assert other.allowed_token_ids().tolist() == [*b"\t\n\r ", 259]
    assert deep.text == b"[" * DEEP


@pytest.mark.slow
def test_deep_configurations_are_compared_and_hashed(byte_index, deep):
    """Equal, though not one cell is shared: the text is spelled by other tokens."""
    other = guide_after(byte_index, *[258] * (DEEP // 1000))
    assert other.text == deep.text
    assert other.configuration == deep.configuration
    assert hash(other.configuration) == hash(deep.configuration)
    assert other.allowed_token_ids().tolist() == deep.allowed_token_ids().tolist()
    other.advance(ord("["))
    assert other.configuration != deep.configuration


@pytest.mark.slow
def test_a_deep_refusal_is_explained(deep):
    with pytest.raises(TokenRejectedError, match=r"may not follow b'\[{40}'; expected one of: "):
        deep.advance(ord("}"))


@pytest.mark.slow
def test_deep_guides_are_dropped_without_recursion(byte_index):
    """Cells are freed one below the other: a recursive release would overflow the C stack."""
    recognizer = byte_index.machine.recognizer
    configuration = recognizer.advance(recognizer.initial, b"[" * (5 * DEEP))
    assert configuration is not None
    del configuration
    assert recognizer.advance(recognizer.initial, b"[") is not None


@pytest.mark.parametrize(
    ("grammar", "opened"),
    [
        ('start: "[" start | "x"', b"["),  # the end reduces everything
        ('start: start "[" | "["', b"["),
        ('start: "[" start "]" start |', b"["),
        ('start: "[" start ")" | "[" start "]" | "x"', b"["),
    ],
)
def test_other_grammars_go_deep_too(grammar, opened):
    vocabulary = cfgguide.Vocabulary.of_bytes()
    index = cfgguide.compile(cfgguide.Grammar(grammar), vocabulary)
    guide = guide_after(index, *opened * 20_000)
    assert ord("[") in guide.allowed_token_ids()


def test_a_list_that_recurses_to_the_right_may_be_long():
    """Lark reduces all of it at the end, and so must we."""
    vocabulary = cfgguide.Vocabulary([b"a" * 1000, b"a", None], eos_token_ids=2)
    index = cfgguide.compile(cfgguide.Grammar('start: "a" start | "a"'), vocabulary)
    guide = guide_after(index, *[0] * 101)
    assert guide.is_accepting
    assert guide.accepts(2)


# --- Vocabularies ---------------------------------------------------------------------------------


def test_a_vocabulary_without_eos_cannot_be_made():
    with pytest.raises(VocabularyError, match="eos_token_ids is empty, and without EOS"):
        cfgguide.Vocabulary([b"1"], eos_token_ids=[])


def test_empty_tokens_are_never_allowed():
    index = index_of([*BYTES, b"", None], [257])
    assert 256 not in guide_after(index).allowed_token_ids()
    assert not guide_after(index).accepts(256)


def test_tokens_with_the_same_bytes_are_allowed_together():
    index = index_of([*BYTES, b"1", b"1", None], [258])
    guide = guide_after(index, 256)
    assert {ord("1"), 256, 257} < set(guide.allowed_token_ids().tolist())
    assert guide.configuration == guide_after(index, 257).configuration


# --- Buffers, copies and other processes ----------------------------------------------------------


def test_a_tensor_whose_memory_has_moved_is_filled_where_it_is_now(index):
    torch = pytest.importorskip("torch")
    guide, other = cfgguide.Guide(index), guide_after(index, 6)
    expected = np.empty(index.vocabulary.n_words, dtype=np.int32)
    other.fill_bitmask(expected)

    def share(tensor):
        tensor.share_memory_()

    def set_other(tensor):
        tensor.set_(torch.zeros(index.vocabulary.n_words, dtype=torch.int32))

    def set_data(tensor):
        tensor.data = torch.zeros(index.vocabulary.n_words, dtype=torch.int32)

    for move in (share, set_other, set_data):
        out = torch.zeros(index.vocabulary.n_words, dtype=torch.int32)
        guide.fill_bitmask(out)
        move(out)
        other.fill_bitmask(out)
        assert out.tolist() == expected.tolist(), move
        out.zero_()
        other.fill_bitmask(out)
        assert out.tolist() == expected.tolist(), move


def test_a_tensor_that_has_another_shape_now_is_refused(index):
    torch = pytest.importorskip("torch")
    guide = cfgguide.Guide(index)
    out = torch.zeros(index.vocabulary.n_words, dtype=torch.int32)
    guide.fill_bitmask(out)
    out.set_(torch.zeros(index.vocabulary.n_words + 1, dtype=torch.int32))
    with pytest.raises(BitmaskError, match="shape"):
        guide.fill_bitmask(out)


def test_a_tensor_whose_words_lie_apart_now_is_filled_as_it_is():
    torch = pytest.importorskip("torch")
    large = index_of([*BYTES, None], [256], "json")
    guide = cfgguide.Guide(large)
    expected = np.empty(large.vocabulary.n_words, dtype=np.int32)
    guide.fill_bitmask(expected)
    out = torch.zeros(large.vocabulary.n_words, dtype=torch.int32)
    guide.fill_bitmask(out)
    storage = torch.zeros(2 * large.vocabulary.n_words, dtype=torch.int32)
    out.set_(storage)
    out.as_strided_((large.vocabulary.n_words,), (2,))
    guide.fill_bitmask(out)
    assert out.tolist() == expected.tolist()
    assert storage[1::2].tolist() == [0] * large.vocabulary.n_words


@pytest.mark.parametrize("token_id", [6.0, None, True, np.True_, "6", b"6", [6], np.float32(6)])
def test_what_is_no_integer_is_no_token(index, token_id):
    guide = cfgguide.Guide(index)
    for ask in (guide.advance, guide.accepts):
        with pytest.raises(TokenRejectedError, match="a token id is an integer, not"):
            ask(token_id)
    assert guide.token_ids == ()


@pytest.mark.parametrize("kind", [np.int64, np.uint16, np.array, "tensor"])
def test_integers_of_other_libraries_are_tokens_and_leave_no_trace(index, kind):
    if kind == "tensor":
        kind = pytest.importorskip("torch").tensor
    guide = cfgguide.Guide(index)
    for _ in range(3):
        guide.advance(kind(6))
        assert type(guide.token_ids[0]) is int
        guide.rollback(1)
    assert guide.step.after(6) is not None


def test_a_truth_value_of_torch_is_no_token(index):
    torch = pytest.importorskip("torch")
    guide = cfgguide.Guide(index)
    for value in (torch.tensor(True), torch.tensor(1.0), torch.tensor([1, 2])):
        with pytest.raises(TokenRejectedError, match="a token id is an integer, not"):
            guide.advance(value)


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, cfgguide.Guide.copy])
def test_any_copy_goes_its_own_way(index, make):
    guide = guide_after(index, 6, 2)
    other = make(guide)
    other.advance(3)
    assert (guide.token_ids, other.token_ids) == ((6, 2), (6, 2, 3))
    guide.rollback(2)
    assert bits(other) == bits(guide_after(index, 6, 2, 3))
    assert other.index is index


def test_a_guide_is_the_same_in_another_process():
    one = index_of([*BYTES, None], [256])
    guides = [guide_after(one, *text) for text in (b"", b'{"a": [1, 2', b"[]")]
    guides.append(guide_after(one, *b"[]", 256))
    again = pickle.loads(pickle.dumps(guides))
    assert len({id(guide.index) for guide in again}) == 1
    for guide, other in zip(guides, again, strict=True):
        assert (other.token_ids, other.is_finished) == (guide.token_ids, guide.is_finished)
        assert bits(other) == bits(guide)
