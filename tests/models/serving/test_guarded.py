"""An error of ours ends a request, and nothing else."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import types

import numpy as np
import pytest

import cfgguide
from cfgguide.errors import LimitError
from cfgguide.models.serving import matcher as matcher_module
from cfgguide.models.serving.guarded import GuardedMatcher
from cfgguide.serving import Backend

VOCABULARY = cfgguide.Vocabulary.of_bytes()
EOS = VOCABULARY.eos_token_ids[0]


def row_of(each: GuardedMatcher) -> list[int]:
    rows = np.full((2, VOCABULARY.n_words + 1), -1, dtype=np.int32)
    each.fill_bitmask(rows, 1)
    assert (rows[0] == -1).all()
    bits = np.unpackbits(rows[1].view(np.uint8), bitorder="little")
    return np.flatnonzero(bits).tolist()


@pytest.mark.parametrize("name", ["bitmask", "accept", "validate"])
def test_after_an_error_a_request_is_ended_as_failed(name, monkeypatch, caplog):
    each = GuardedMatcher(Backend(VOCABULARY).matcher("choice", '["yes", "no"]'))
    assert each.accept(list(b"y"))

    def fail(*_: object) -> None:
        raise LimitError("it takes too long")

    with monkeypatch.context() as patch:
        patch.setattr(each.matcher, name, fail)
        if name == "accept":
            assert not each.accept(list(b"e"))
        elif name == "validate":
            assert each.validate(list(b"e")) == []
        else:
            assert row_of(each) == [EOS]
    for failed in (each, each.copy()):
        assert row_of(failed) == [EOS]
        assert failed.validate(list(b"e")) == []
        assert not failed.accept([EOS])
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    each.reset()
    assert row_of(each) == sorted(b"yn")


def test_without_an_error_it_is_a_matcher():
    each = GuardedMatcher(Backend(VOCABULARY).matcher("choice", '["yes", "no"]'))
    other = each.copy()
    assert each.validate([*b"yes", EOS, 5]) == [*b"yes", EOS]
    assert each.accept([*b"yes", EOS, 5, -1])
    assert each.is_terminated
    each.rollback(2)
    assert not each.is_terminated
    assert row_of(each) == [EOS]
    assert row_of(other) == sorted(b"yn")


# --- Steps that others wait for -------------------------------------------------------------------

_TAG = {
    "type": "structural_tag",
    "format": {
        "type": "tag",
        "begin": "abc",
        "content": {"type": "json_schema", "json_schema": {"enum": ["x1", "x2"]}},
        "end": "",
    },
}
#: A request at each door, and a text of it; what it has behind `abc` takes too long.
DOORS = [
    ("regex", "abc(?:x1|x2)", b"abcx1"),
    ("grammar", 'start: "abc" A\nA: /x[12]/', b"abcx1"),
    ("json", '{"enum": ["abcx1", "abcx2"]}', b'"abcx1"'),
    ("structural_tag", json.dumps(_TAG), b'abc"x1"'),
]


def written(each: GuardedMatcher, text: bytes) -> bool:
    """Whether an engine can write a text: for each token, it takes a mask, and the token."""
    for token_id in text:
        if token_id not in row_of(each) or not each.accept([token_id]):
            return False
    return True


@pytest.mark.parametrize(("kind", "text", "sentence"), DOORS)
def test_a_text_whose_masks_take_long_fails_alone_and_is_refused_at_once_from_then_on(
    kind, text, sentence
):
    """A billionth of a second is over at each mask that has to be made but the first."""
    backend = Backend(VOCABULARY, use_cache=False, max_mask_seconds=1e-9)
    others = [
        GuardedMatcher(backend.matcher("grammar", "cfgguide:json")),
        GuardedMatcher(backend.matcher(kind, text)),
    ]
    at_once = others[1].copy()
    failing = GuardedMatcher(backend.matcher(kind, text))
    assert not backend.is_refused(kind, text)
    assert not written(failing, sentence)
    assert "a mask takes more than 1e-09 seconds" in str(failing.error)
    assert row_of(failing) == [EOS]
    assert written(others[0], b'{"a": [1, "b"]}')  # its grammar is the operator's
    before = backend.metrics
    for ask in (backend.index, backend.matcher, lambda *each: backend.requested(*each).result()):
        with pytest.raises(LimitError) as refused:
            ask(kind, text)
        assert str(refused.value) == str(failing.error)
    assert backend.ready(kind, text) is None
    assert backend.is_refused(kind, text)
    after = backend.metrics
    assert (after.n_compiled, after.n_refused) == (before.n_compiled, before.n_refused + 3)
    for same in (others[1], at_once):  # which were begun before
        assert not written(same, sentence)
        assert str(same.error) == str(failing.error)
    assert written(
        GuardedMatcher(Backend(VOCABULARY, use_cache=False).matcher(kind, text)), sentence
    )


@pytest.mark.parametrize("name", ["accept", "validate", "forced_token_ids"])
def test_each_call_of_an_engine_has_the_limit(name):
    from support.small_tokenizers import standard_library_tokenizer, standard_library_vocabulary

    vocabulary, tokenizer = standard_library_vocabulary(), standard_library_tokenizer()
    backend = Backend(vocabulary, use_cache=False, max_mask_seconds=1e-9)
    each = backend.matcher("regex", "abc(?:x1|x2)")
    call = getattr(each, name)
    with pytest.raises(LimitError, match="a mask takes more"):
        call(tokenizer if name == "forced_token_ids" else tokenizer.encode("abc").ids)


def test_all_steps_of_a_text_together_have_a_limit_that_grows_with_the_text(monkeypatch):
    """Each step takes 0.25 of the 0.3 seconds that it may: 2.4 for the text, 0.02 for a token."""
    now = [0.0]

    def thread_time() -> float:
        now[0] += 0.25
        return now[0]

    monkeypatch.setattr(matcher_module, "time", types.SimpleNamespace(thread_time=thread_time))
    backend = Backend(VOCABULARY, use_cache=False)
    each = GuardedMatcher(backend.matcher("regex", "a{26}"))
    assert each.accept([ord("a")] * 10)  # 2.5 s of 2.58
    assert not each.accept([ord("a")])  # 2.75 of 2.6
    assert "a text of 10 tokens takes more than 2.6 seconds" in str(each.error)
    assert backend.is_refused("regex", "a{26}")


def test_known_steps_take_nothing_of_it(monkeypatch):
    backend = Backend(VOCABULARY, use_cache=False)
    first, second = (backend.matcher("regex", "abc") for _ in range(2))
    assert written(GuardedMatcher(first), b"abc")
    monkeypatch.setattr(matcher_module, "time", None)
    assert written(GuardedMatcher(second), b"abc")


def test_a_matcher_with_a_limit_is_copied_and_pickled():
    each = Backend(VOCABULARY, use_cache=False).matcher("regex", "abc")
    for other in (copy.copy(each), copy.deepcopy(each), pickle.loads(pickle.dumps(each))):
        assert written(GuardedMatcher(other), b"abc")
