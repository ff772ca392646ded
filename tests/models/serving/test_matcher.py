"""A matcher allows what a guide allows, whatever an engine does with it."""

from __future__ import annotations

import copy
import json
import pickle
import random
import sqlite3

import numpy as np
import pytest
from support.small_tokenizers import standard_library_tokenizer

import cfgguide
from cfgguide.errors import BitmaskError, RollbackError, TokenRejectedError
from cfgguide.models.serving.matcher import Finishing
from cfgguide.serving import Backend, Matcher, fill_bitmasks

GRAMMARS = {
    "list": 'start: "[" (WORD ("," WORD)*)? "]"\nWORD: /[ab]+/\n%ignore /[ \\n]/',
    "lines": 'start: (LINE "\\n")+\nLINE: /[ab]+/',
    "brackets": 'start: "[" start? "]"',
}
TOKENS = [b"[", b"]", b",", b"a", b"b", b"ab", b"],", b"\n", b" ", b"a\n", b"[[", b"]]", None, None]
EOS, OTHER_EOS = 12, 13
NEWLINE = TOKENS.index(b"\n")


def index_of(name: str) -> cfgguide.Index:
    vocabulary = cfgguide.Vocabulary(TOKENS, eos_token_ids=[EOS, OTHER_EOS])
    return cfgguide.compile(cfgguide.Grammar(GRAMMARS[name]), vocabulary)


class Said:
    """What a matcher should say, from guides that are made anew each time."""

    def __init__(self, index: cfgguide.Index, stops: set[int], *, trailing: bool) -> None:
        self.index, self.stops = index, stops | {EOS, OTHER_EOS}
        self.trailing = trailing
        self.tokens: list[int] = []

    def guide(self, tokens: list[int]) -> cfgguide.Guide:
        guide = cfgguide.Guide(self.index)
        for token_id in tokens:
            guide.advance(token_id)
        return guide

    def end(self, tokens: list[int]) -> int | None:
        """Where the first token is that ended the sentence."""
        for at, token_id in enumerate(tokens):
            if token_id in self.stops and self.guide(tokens[:at]).is_accepting:
                return at
        return None

    def is_over(self, guide: cfgguide.Guide) -> bool:
        """Whether a sentence is complete, and only white space could follow."""
        following = [TOKENS[token_id] or b"" for token_id in guide.allowed_token_ids()]
        return guide.is_accepting and not self.trailing and not b"".join(following).strip()

    def may_come(self, tokens: list[int], token_id: int) -> bool:
        if self.end(tokens) is not None:
            return True
        guide = self.guide(tokens)
        if token_id in self.stops and guide.is_accepting:
            return True
        if self.is_over(guide):
            return False
        return token_id not in (EOS, OTHER_EOS) and token_id in guide.allowed_token_ids()

    def mask(self) -> set[int]:
        guide = self.guide(self.tokens[: self.end(self.tokens)])
        if self.end(self.tokens) is not None or self.is_over(guide):
            return {each for each in self.stops if each < len(TOKENS)}
        allowed = set(guide.allowed_token_ids().tolist())
        if guide.is_accepting:
            return allowed | {each for each in self.stops if each < len(TOKENS)}
        return allowed - self.stops or allowed


def mask_of(matcher: Matcher, n_words: int = 1) -> set[int]:
    rows = np.full((2, n_words), -1, dtype=np.int32)
    matcher.fill_bitmask(rows, 1)
    assert (rows[0] == -1).all()
    for shape in ((2, n_words), (2, 2 * n_words)):  # words side by side, and apart
        batch = np.zeros(shape, dtype=np.int32)[:, :: shape[1] // n_words]
        fill_bitmasks([None, matcher], batch)
        assert (batch == rows).all()
    return set(np.flatnonzero(np.unpackbits(rows[1].view(np.uint8), bitorder="little")).tolist())


@pytest.mark.slow
@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize("stops", [set(), {NEWLINE}, {NEWLINE, 3, 99}])
@pytest.mark.parametrize("trailing", [True, False])
def test_a_matcher_says_what_guides_say(name, stops, trailing):
    rng = random.Random(f"{name} {sorted(stops)}")
    index = index_of(name)
    for _ in range(40):
        matcher = Matcher(index, stop_token_ids=stops, trailing=trailing)
        said = Said(index, stops, trailing=trailing)
        for _ in range(25):
            kind = rng.choice(["accept", "accept", "accept", "validate", "rollback", "copy"])
            if kind == "rollback":
                n = rng.randint(0, len(said.tokens))
                matcher.rollback(n)
                del said.tokens[len(said.tokens) - n :]
            elif kind == "copy":
                other, matcher = (
                    matcher,
                    rng.choice([copy.copy, copy.deepcopy, Matcher.copy])(matcher),
                )
                other.accept([rng.randrange(len(TOKENS))])
            else:
                allowed = sorted(said.mask())
                draft = [
                    rng.choice(allowed) if rng.random() < 0.8 else rng.randrange(-1, len(TOKENS))
                    for _ in range(rng.randint(0, 3))
                ]
                kept: list[int] = []
                is_valid = True
                for token_id in draft:
                    if token_id == -1 and kind == "accept":
                        continue
                    is_past = kind == "validate" and said.end(said.tokens + kept) is not None
                    if token_id == -1 or is_past or not said.may_come(said.tokens + kept, token_id):
                        is_valid = False
                        break
                    kept.append(token_id)
                if kind == "validate":
                    assert matcher.validate(draft) == kept
                else:
                    assert matcher.accept(draft) == is_valid
                    said.tokens += kept if is_valid else []
            assert mask_of(matcher) == said.mask()
            assert matcher.n_tokens == len(said.tokens)
            assert matcher.is_terminated == (said.end(said.tokens) is not None)


def test_wide_rows_have_zeros_beyond_the_vocabulary():
    matcher = Matcher(index_of("list"), stop_token_ids=[NEWLINE])
    assert mask_of(matcher, n_words=5) == mask_of(matcher)
    assert matcher.accept([0, 1, EOS])
    assert mask_of(matcher, n_words=5) == mask_of(matcher) == {EOS, OTHER_EOS, NEWLINE}


def test_rows_of_a_batch_that_do_not_fit_are_refused():
    matcher = Matcher(index_of("list"))
    with pytest.raises(BitmaskError, match=r"shape \(2, 1\), not int32 of shape \(3, 1\)"):
        fill_bitmasks([matcher, None], np.zeros((3, 1), dtype=np.int32))
    with pytest.raises(BitmaskError, match="needs 1 words, the bitmasks have 0"):
        fill_bitmasks([matcher], np.zeros((1, 0), dtype=np.int32))
    with pytest.raises(BitmaskError, match="int32"):
        fill_bitmasks([matcher], np.zeros((1, 1), dtype=np.int64))
    fill_bitmasks([], np.zeros((0, 1), dtype=np.int32))


def test_a_tensor_is_written_where_it_is():
    torch = pytest.importorskip("torch")
    matcher = Matcher(index_of("brackets"))
    rows = torch.zeros((3, 1), dtype=torch.int32)
    for row in range(3):
        matcher.fill_bitmask(rows, row)
    assert rows.tolist() == [[1 << 0 | 1 << 10]] * 3
    rows.set_(torch.zeros((3, 1), dtype=torch.int32))
    matcher.fill_bitmask(rows, 2)
    assert rows.tolist() == [[0], [0], [1 << 0 | 1 << 10]]


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros(1, dtype=np.int32),
        np.zeros((1, 1), dtype=np.int64),
        np.zeros((1, 0), dtype=np.int32),
        np.broadcast_to(np.zeros(1, dtype=np.int32), (2, 1)),
        [[0]],
    ],
)
def test_other_bitmasks_are_refused(wrong):
    with pytest.raises(BitmaskError):
        Matcher(index_of("list")).fill_bitmask(wrong, 0)


@pytest.mark.parametrize("row", [2, -3, None, "0"])
def test_a_row_that_there_is_not_is_refused(row):
    with pytest.raises(BitmaskError, match=f"row {row!r} is not one of the bitmasks' 2"):
        Matcher(index_of("list")).fill_bitmask(np.zeros((2, 1), dtype=np.int32), row)


def test_stop_tokens_are_a_list_or_none():
    index = index_of("list")
    assert mask_of(Matcher(index, stop_token_ids=None)) == mask_of(Matcher(index))
    with pytest.raises(TokenRejectedError, match="stop_token_ids is 7; it is a list of token ids"):
        Matcher(index, stop_token_ids=7)


@pytest.mark.parametrize("n", [-1, 3])
def test_only_what_was_accepted_is_taken_back(n):
    matcher = Matcher(index_of("brackets"))
    assert matcher.accept([0, 1])
    with pytest.raises(RollbackError):
        matcher.rollback(n)
    assert matcher.accept([EOS])


@pytest.mark.parametrize("wrong", [1.5, "a", None, True])
def test_a_token_that_is_no_integer_is_an_error(wrong):
    matcher = Matcher(index_of("list"))
    assert matcher.accept([0, 1])
    matcher.rollback(1)
    with pytest.raises(TokenRejectedError):
        matcher.accept([wrong])
    with pytest.raises(TokenRejectedError):
        Matcher(index_of("list"), stop_token_ids=[wrong])


def test_a_matcher_can_be_sent_to_another_process():
    matcher = Matcher(index_of("list"), stop_token_ids=[NEWLINE])
    assert matcher.accept([0, 3])
    again = pickle.loads(pickle.dumps(matcher))
    assert mask_of(again) == mask_of(matcher)
    assert again.accept([1, NEWLINE])
    assert again.is_terminated
    assert not matcher.is_terminated


def test_a_matcher_begins_again():
    matcher = Matcher(index_of("list"))
    first = mask_of(matcher)
    assert matcher.accept([0, 1, EOS, 5])
    matcher.reset()
    assert (mask_of(matcher), matcher.n_tokens, matcher.is_terminated) == (first, 0, False)


def test_forced_tokens_are_those_of_the_guide():
    tokenizer = standard_library_tokenizer()
    vocabulary = cfgguide.Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0)
    index = cfgguide.compile(cfgguide.Grammar('start: "[only]" "x"?'), vocabulary)
    matcher = Matcher(index)
    forced = matcher.forced_token_ids(tokenizer)
    assert forced
    assert forced == cfgguide.Guide(index).forced_token_ids(tokenizer)
    assert matcher.accept(forced)


def test_a_text_ends_where_only_white_space_could_follow():
    matcher = Matcher(index_of("list"), stop_token_ids=[NEWLINE])
    assert matcher.accept([0, 3, 1])  # `[a]`
    assert mask_of(matcher) == {EOS, OTHER_EOS, NEWLINE}
    assert not matcher.accept([8])
    assert matcher.validate([8, EOS]) == []
    whole = Matcher(index_of("list"), trailing=True)
    assert whole.accept([0, 3, 1, 8, 7, EOS])


def test_what_others_wrote_after_a_stop_token_does_not_begin_a_text_again():
    """It is a special terminal with which the sentence may end, and another guide went on there."""
    vocabulary = cfgguide.Vocabulary(
        [b"a", b"b", None, None], eos_token_ids=3, special_tokens={"<|end|>": 2}
    )
    grammar = cfgguide.Grammar('start: "a" END "b"?\n%declare END', special={"END": "<|end|>"})
    index = cfgguide.compile(grammar, vocabulary)
    guide = cfgguide.Guide(index)
    for token_id in (0, 2, 1):
        guide.advance(token_id)
    matcher = Matcher(index, stop_token_ids=[2])
    assert matcher.accept([0, 2, 1])
    assert matcher.is_terminated
    matcher.rollback(1)
    assert matcher.is_terminated
    assert matcher.n_tokens == 2


def test_a_row_is_zero_until_its_mask_is_made():
    """What may follow, by hand; a text that has ended needs no mask."""
    index = index_of("list")
    matchers = [Matcher(index, stop_token_ids=[NEWLINE]) for _ in range(4)]
    for matcher, tokens in zip(matchers, ([], [0], [0, 3], [0, 1, NEWLINE]), strict=True):
        assert matcher.accept(tokens)
    following = [{0, 8}, {1, 3, 4, 5, 8, 9}, {1, 2, 3, 4, 5, 8, 9}, {NEWLINE, EOS, OTHER_EOS}]
    rows = np.full((5, 1), 7, dtype=np.int32)
    for waiting in ([2, 3], [3], []):
        assert fill_bitmasks([None, *matchers], rows, max_new_masks=1) == waiting
        bits = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")
        found = [set(np.flatnonzero(row).tolist()) for row in bits]
        expected = [set() if row in waiting else following[row - 1] for row in range(1, 5)]
        assert found == [set(range(32)), *expected]


def runs(text: str) -> None:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE users (id, name)")
    database.execute(f"EXPLAIN {text}")


MEMBERS = {"name": {"type": "string"}, "age": {"type": "integer"}}
QUERIES = 'cfgguide:{"sql": "sqlite", "schema": "CREATE TABLE users (id, name)"}'


@pytest.mark.parametrize(
    ("kind", "text", "judge"),
    [
        ("json", json.dumps({"properties": MEMBERS, "required": [*MEMBERS]}), json.loads),
        ("json_object", "", json.loads),
        ("grammar", "cfgguide:json", json.loads),
        ("grammar", QUERIES, runs),
    ],
)
@pytest.mark.parametrize("most", [28, 60])
def test_a_text_ends_within_its_tokens_whatever_the_model_wants(kind, text, judge, most):
    vocabulary = cfgguide.Vocabulary.of_bytes()
    backend, chance = Backend(vocabulary), random.Random(0)
    for _ in range(4):
        matcher = backend.matcher(kind, text, max_tokens=most)
        for _ in range(most):
            found = matcher.bitmask()
            allowed = [i for i in range(vocabulary.size) if found[i >> 5] >> (i & 31) & 1]
            others = [each for each in allowed if each not in vocabulary.eos_token_ids]
            assert matcher.accept([chance.choice(others or allowed)])  # it never ends by itself
            if matcher.is_terminated:
                break
        assert matcher.is_terminated
        judge(matcher.guide.text.decode())


@pytest.mark.parametrize("is_object", [False, True])
def test_a_text_that_opens_much_is_led_to_its_end_sooner(is_object):
    """Each object of this one needs some tokens more after those inside it, each array one."""
    node = {"inside": {"type": "array", "items": {"$ref": "#"}}, "name": {"type": "string"}}
    schema = {"properties": {**node, "n": {"type": "integer"}}, "required": [*node, "n"]}
    schema |= {"type": "object"} if is_object else {}
    vocabulary, most = cfgguide.Vocabulary.of_bytes(), 600
    matcher = Backend(vocabulary).matcher("json", json.dumps(schema), max_tokens=most)
    order = [*b'[{:"in', *range(vocabulary.size)]  # as a model that opens one after the other
    for _ in range(most):
        found = matcher.bitmask()
        allowed = [i for i in range(vocabulary.size) if found[i >> 5] >> (i & 31) & 1]
        assert matcher.accept([min(allowed, key=order.index)])
        if matcher.is_terminated:
            break
    assert matcher.is_terminated
    text = matcher.guide.text
    assert text.count(b"{") + text.count(b"[") > 20
    json.loads(text)


def test_where_nothing_ends_in_time_all_is_allowed():
    schema = '{"type": "string", "minLength": 50}'
    backend = Backend(cfgguide.Vocabulary.of_bytes())
    matcher, plain = backend.matcher("json", schema, max_tokens=9), backend.matcher("json", schema)
    for token_id in b'"abcdefghijk':
        assert (matcher.bitmask() == plain.bitmask()).all()
        assert matcher.accept([token_id])
        assert plain.accept([token_id])


def test_the_operator_may_have_texts_cut():
    vocabulary = cfgguide.Vocabulary.of_bytes()
    backend = Backend(vocabulary, finish=False)
    matcher = backend.matcher("json_object", "", max_tokens=6)
    assert matcher.accept(list(b'{"abcd'))
    assert matcher.bitmask()[ord("e") >> 5] >> (ord("e") & 31) & 1


def test_drafts_that_are_taken_back_change_nothing():
    backend = Backend(cfgguide.Vocabulary.of_bytes())
    matcher = backend.matcher("json_object", "", max_tokens=12)
    before = matcher.bitmask().copy()
    for draft in (b'{"a', b'{"abc'):
        assert matcher.accept(list(draft))
        matcher.bitmask()
        matcher.rollback(len(draft))
        assert (matcher.bitmask() == before).all()


def test_a_way_out_is_of_the_text_that_it_was_found_for():
    """Drafts that are taken back, and copies, have other texts of the same length."""
    index = cfgguide.compile(
        cfgguide.Grammar('start: "a" "xy" | "b" "zw"'), cfgguide.Vocabulary.of_bytes()
    )
    at_once = cfgguide.Limits(max_seconds=1e-9)  # no other mask is made in that time
    matcher = Matcher(index, max_tokens=9, finishing=Finishing(index, at_once))
    for each in (matcher, matcher.copy()):
        for first, second in (b"ax", b"bz"):
            assert each.accept([first])
            found = each.bitmask()
            assert [i for i in range(257) if found[i >> 5] >> (i & 31) & 1] == [second]
            each.rollback(1)
