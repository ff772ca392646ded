"""A vocabulary from the cache is the one that would be read; what can't be right is read anew."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import numpy as np
import pytest
from support.small_tokenizers import (
    END_OF_TEXT,
    standard_library_tokenizer,
    unigram_tokenizer,
    unusual_tokenizer,
)
from tokenizers import Tokenizer, decoders

from cfgguide.base.cache import Cache, user_cache
from cfgguide.engine.vocabulary import trie_kinds, vocabulary_cache
from cfgguide.engine.vocabulary import vocabulary as vocabulary_module
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import VocabularyError, VocabularyWarning


@pytest.fixture
def cache(monkeypatch, tmp_path) -> Cache:
    monkeypatch.setenv("CFGGUIDE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(vocabulary_cache, "MIN_SIZE", 1)  # keep small ones too
    found = user_cache()
    assert found is not None
    return found


def kept(cache: Cache) -> list[str]:
    return sorted(entry.path.name.partition("-")[2] for entry in cache.entries())


def all_of(vocabulary: Vocabulary) -> list[Any]:
    """Everything of a vocabulary that others read."""
    arrays = (*vocabulary.trie.packed, vocabulary.trie_kinds)
    return [
        *(getattr(vocabulary, field.name) for field in dataclasses.fields(vocabulary)),
        (vocabulary.digest, vocabulary.spelling, vocabulary.trie.max_depth),
        *((np.asarray(each).dtype, np.asarray(each).tolist()) for each in arrays),
    ]


def read(tokenizer: Tokenizer, *, without_cache: bool = False, **options: Any) -> list[Any]:
    with pytest.MonkeyPatch.context() as patch:
        if without_cache:
            patch.setenv("CFGGUIDE_CACHE", "off")
        return all_of(Vocabulary.from_tokenizer(tokenizer, **{"eos_token_ids": 0, **options}))


@pytest.mark.parametrize("make", [standard_library_tokenizer, unusual_tokenizer, unigram_tokenizer])
def test_a_vocabulary_comes_back_as_it_was(cache, make):
    expected = read(make(), without_cache=True)
    assert [read(make()), read(make())] == [expected, expected]
    assert len(kept(cache)) == 1


def test_what_is_found_is_not_read_again(cache, monkeypatch):
    expected = read(standard_library_tokenizer())
    monkeypatch.delattr(vocabulary_module, "read_tokens")
    monkeypatch.delattr(trie_kinds, "kinds_below")
    assert read(standard_library_tokenizer()) == expected


def changed(**changes: Any) -> Tokenizer:
    tokenizer = Tokenizer.from_str(unusual_tokenizer().to_str())
    for name, value in changes.items():
        if callable(getattr(tokenizer, name)):
            getattr(tokenizer, name)(value)
        else:
            setattr(tokenizer, name, value)
    return tokenizer


class WithSpecial:
    """A tokenizer as those of transformers, which has special ids of its own."""

    def __init__(self, *ids: int) -> None:
        self.backend_tokenizer = unusual_tokenizer()
        self.all_special_ids = list(ids)


#: What decides about a vocabulary: each is another one.
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "as it is": (changed(), {}),
    "another token": (changed(add_tokens=["<one>"]), {}),
    "a special token": (changed(add_special_tokens=["<one>"]), {}),
    "another decoder": (changed(decoder=decoders.Fuse()), {}),
    "another EOS": (changed(), {"eos_token_ids": 1}),
    "two of them": (changed(), {"eos_token_ids": [1, 0]}),
    "a size": (changed(), {"size": 400}),
    "special ids": (WithSpecial(65), {}),
    "other special ids": (WithSpecial(65, 66), {}),
}


def test_whatever_decides_about_a_vocabulary_makes_another_one(cache):
    expected = [read(case, without_cache=True, **options) for case, options in CASES.values()]
    for _ in range(2):
        assert [read(case, **options) for case, options in CASES.values()] == expected
    different = {(digest, *names) for _, _, names, _, (digest, *_), *_ in expected}
    assert len(different) == len(kept(cache)) == len(CASES)


@pytest.mark.parametrize("options", [{"eos_token_ids": True}, {"size": True}, {"size": 10}])
def test_what_is_refused_is_refused_although_its_like_is_known(cache, options):
    tokenizer = unusual_tokenizer()
    read(tokenizer, eos_token_ids=1)
    with pytest.raises(VocabularyError):
        Vocabulary.from_tokenizer(tokenizer, **{"eos_token_ids": 1, **options})


def test_the_names_of_tokens_are_those_of_the_tokenizer(cache):
    for name in ("<one>", "<two>"):
        tokenizer = changed(add_special_tokens=[name])
        for _ in range(2):
            assert name in Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0).special_tokens


def test_a_warning_comes_each_time(cache):
    tokenizer = changed(add_tokens=["café"])
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0)
        assert [each.filename for each in caught] == [__file__]
        assert "'née'" in str(caught[0].message)  # decoded as another text, and café, too
        assert caught[0].category is VocabularyWarning


def test_nothing_is_kept_of_small_vocabularies_without_a_cache_or_with_the_separator(
    cache, monkeypatch
):
    read(standard_library_tokenizer(), without_cache=True)
    monkeypatch.setattr(vocabulary_cache, "SEPARATOR", b" re")
    expected = read(standard_library_tokenizer())
    assert read(standard_library_tokenizer()) == expected
    monkeypatch.undo()
    monkeypatch.setenv("CFGGUIDE_CACHE", str(cache.folder.parent))
    assert read(unusual_tokenizer()) == read(unusual_tokenizer(), without_cache=True)
    assert kept(cache) == []


# --- Damage --------------------------------------------------------------------------------------

INT32 = ("token_ids", "nodes")
NAMES = ("kinds", *INT32)


def set_one(name: str, place: Any, number: int) -> Any:
    return lambda arrays, value: arrays[name].__setitem__(place, number)


def replace(name: str, change: Any) -> Any:
    return lambda arrays, value: arrays.__setitem__(name, change(arrays[name]))


def set_value(name: str, new: Any) -> Any:
    return lambda arrays, value: value.__setitem__(name, new)


HUGE = 2**31 - 1
DAMAGES = {
    **{f"no {name}": lambda arrays, value, name=name: arrays.pop(name) for name in NAMES},
    "no text": lambda arrays, value: arrays.pop("text"),
    "a text of numbers": replace("text", lambda array: array.astype(np.int32)),
    "a text that is cut": replace("text", lambda array: array[:-9]),
    **{f"{name} of doubles": replace(name, lambda array: array.astype(float)) for name in NAMES},
    **{f"{name} cut": replace(name, lambda array: array[:-1]) for name in NAMES},
    **{f"{name} deeper": replace(name, lambda array: array[None]) for name in NAMES},
    **{f"{name} too high": set_one(name, -1, HUGE) for name in INT32},
    **{f"{name} too low": set_one(name, -1, -HUGE) for name in INT32},
    **{f"column {column} too high": set_one("nodes", (5, column), HUGE) for column in range(4)},
    **{f"column {column} too low": set_one("nodes", (5, column), -1) for column in range(4)},
    "children before their node": set_one("nodes", (0, 3), 0),
    "a token twice": lambda arrays, value: arrays["token_ids"].__setitem__(
        0, arrays["token_ids"][1]
    ),
    **{f"{name} is no such value": set_value(name, 7) for name in ("digest", "warning")},
    "an EOS too high": set_value("eos_token_ids", [10**6]),
    "an EOS that is a text": set_value("eos_token_ids", ["0"]),
    "no EOS": lambda arrays, value: value.pop("eos_token_ids"),
    "a spelling that leads away": set_value("spelling", [[[65, 1]]]),
    "a spelling of nothing": set_value("spelling", [65]),
    "a spelling without nodes": set_value("spelling", []),
}


@pytest.mark.few(20)
@pytest.mark.parametrize("name", DAMAGES)
def test_what_cannot_be_right_is_made_anew(cache, name):
    expected = read(unusual_tokenizer())
    (key,) = kept(cache)
    arrays, value = cache.load(vocabulary_cache.KIND, key) or ({}, None)
    arrays = {each: array.copy() for each, array in arrays.items()}
    DAMAGES[name](arrays, value)
    cache.store(vocabulary_cache.KIND, key, arrays, value)
    assert vocabulary_cache.load(key) is None
    assert kept(cache) == []
    assert read(unusual_tokenizer()) == expected
    assert kept(cache) == [key]


def test_a_file_that_is_cut_short_is_made_anew(cache):
    tokenizer = standard_library_tokenizer()
    end = tokenizer.token_to_id(END_OF_TEXT)
    expected = read(tokenizer, eos_token_ids=end)
    (entry,) = cache.entries()
    entry.path.write_bytes(entry.path.read_bytes()[:-100])
    assert read(tokenizer, eos_token_ids=end) == expected
