"""What is assured of a grammar, from the cache: the same again; made anew if it can't be right."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

import cfgguide
from cfgguide import Grammar, Guide
from cfgguide.base.cache import Cache, user_cache
from cfgguide.compiler import compile_recognizer
from cfgguide.engine.liveness import always_live_cache as cached_liveness
from cfgguide.engine.liveness.always_live import AlwaysLive
from cfgguide.engine.liveness.always_live_cache import KIND
from cfgguide.engine.liveness.endings import Endings
from cfgguide.engine.machine.recognizer import Recognizer
from cfgguide.engine.vocabulary.spelling import Spelling

GRAMMAR = Grammar(
    'start: "if" NAME "[" start* "]" | NAME "=" /"[^"]*"/ \nNAME: /[a-z]+/ \n%ignore " "'
)
ALL_BYTES = Spelling.of_all_bytes()


@pytest.fixture
def cache(monkeypatch, tmp_path) -> Cache:
    monkeypatch.setenv("CFGGUIDE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cached_liveness, "MIN_STATES", 1)  # keep those of small grammars too
    found = user_cache()
    assert found is not None
    return found


def kept(cache: Cache) -> list[str]:
    names = [entry.path.name for entry in cache.entries()]
    return [name.removeprefix(f"{KIND}-") for name in names if name.startswith(KIND)]


def same(one: AlwaysLive | None, other: AlwaysLive | None) -> bool:
    assert one is not None
    assert other is not None
    ours, theirs = (
        {**{field.name: getattr(each, field.name) for field in fields(each)}, **each.endings}
        for each in (one, other)
    )
    names = ours.keys() - {"endings"}
    return names == theirs.keys() - {"endings"} and all(
        np.array_equal(ours[name], theirs[name]) for name in names
    )


def table_of(recognizer: Recognizer) -> AlwaysLive:
    """Return the table as it is made, with what endings are found with."""
    endings = Endings(recognizer, ALL_BYTES.reachable_bytes).packed()
    return replace(AlwaysLive.of(recognizer, ALL_BYTES), endings=endings)


def test_what_is_assured_comes_back_as_it_was(cache):
    recognizer = compile_recognizer(GRAMMAR)
    made = table_of(recognizer)
    assert len(kept(cache)) == 1
    found = cached_liveness.load_or_make(recognizer, ALL_BYTES)
    assert same(found, made)
    assert [array.dtype for array in vars(found).values() if isinstance(array, np.ndarray)] == [
        array.dtype for array in vars(made).values() if isinstance(array, np.ndarray)
    ]


def test_what_is_found_is_used(cache):
    recognizer = compile_recognizer(GRAMMAR)
    (digest,) = kept(cache)
    arrays, terminal_ids = cache.load(KIND, digest)
    cache.store(
        KIND,
        digest,
        {**arrays, "is_always_live": np.zeros_like(arrays["is_always_live"])},
        terminal_ids,
    )
    found = cached_liveness.load_or_make(recognizer, ALL_BYTES)
    assert found is not None
    assert not found.is_always_live.any()


@pytest.mark.parametrize(
    ("lacking", "text", "n_kept"),
    [
        (b"", b"if x[ab =", 1),
        (b"q", b"if x[ab =", 1),  # a letter is as good as others
        (b'"', b"if x[if ab[", 2),
    ],
)
def test_a_guide_from_the_cache_allows_the_same(cache, lacking, text, n_kept):
    every_byte = cfgguide.Vocabulary.of_bytes().tokens[:256]
    tokens = [token for token in every_byte if token not in lacking.split()]
    vocabulary = cfgguide.Vocabulary([*tokens, b"if", None], eos_token_ids=len(tokens) + 1)
    found = []
    for _ in range(2):
        guide = Guide(cfgguide.compile(GRAMMAR, vocabulary))
        masks = []
        for token in text:
            masks.append(guide.allowed_token_ids().tolist())
            guide.advance(tokens.index(bytes([token])))
        found.append((masks, guide.expected()))
    assert found[0] == found[1]
    assert len(kept(cache)) == n_kept


def test_nothing_is_kept_of_small_grammars_or_without_a_cache(cache, monkeypatch):
    compile_recognizer(GRAMMAR, use_cache=False)
    monkeypatch.setattr(cached_liveness, "MIN_STATES", 1000)
    recognizer = compile_recognizer(GRAMMAR)
    assert cached_liveness.load_or_make(recognizer, ALL_BYTES) is None
    monkeypatch.setattr(cached_liveness, "MIN_STATES", 1)
    monkeypatch.setenv("CFGGUIDE_CACHE", "off")
    assert cached_liveness.load_or_make(recognizer, ALL_BYTES) is None
    assert kept(cache) == []


def set_one(name, number):
    return lambda arrays, terminal_ids: arrays[name].flat.__setitem__(-1, number)


def changed(name, change):
    return lambda arrays, terminal_ids: arrays.__setitem__(name, change(arrays[name]))


NUMBERS = (
    *("end_offsets", "end_terminal_ids", "end_groups", "first_alike", "endings.row_of_state"),
    *("endings.firsts", "endings.ends", "endings.items"),
)
FLAGS = (
    *("is_certain", "resolves", "is_letter", "is_always_live", "is_live_after_newline"),
    *("endings.distances", "endings.lengths"),
)
HUGE = 2**31 - 1
DAMAGES = {
    **{
        f"no {name}": lambda arrays, terminal_ids, name=name: arrays.pop(name)
        for name in NUMBERS + FLAGS
    },
    **{f"{name} too high": set_one(name, HUGE) for name in NUMBERS},
    **{f"{name} too low": set_one(name, -HUGE) for name in NUMBERS},
    **{
        f"{name} of halves": changed(name, lambda array: array.astype(np.float16))
        for name in NUMBERS + FLAGS
    },
    **{f"{name} cut": changed(name, lambda array: array[:-1]) for name in NUMBERS + FLAGS},
    **{f"{name} deeper": changed(name, lambda array: array[None]) for name in NUMBERS + FLAGS},
    "a distance below 0": set_one("endings.distances", -1),
    "a length below 0": set_one("endings.lengths", -1),
    "a length that is no number": set_one("endings.lengths", np.nan),
    "items that go back": lambda arrays, terminal_ids: arrays["endings.ends"].__setitem__(1, HUGE),
    "an item before its production": set_one("endings.items", 0),
    "no groups": lambda arrays, terminal_ids: arrays.update(
        is_always_live=arrays["is_always_live"][:, :0],
        is_live_after_newline=arrays["is_live_after_newline"][:, :0],
    ),
    "offsets that go back": lambda arrays, terminal_ids: arrays["end_offsets"].__setitem__(1, HUGE),
    "offsets that start late": lambda arrays, terminal_ids: arrays["end_offsets"].__setitem__(0, 1),
    "an unknown label": lambda arrays, terminal_ids: terminal_ids.append(10_000),
    "a label that is a text": lambda arrays, terminal_ids: terminal_ids.append("NAME"),
}


@pytest.mark.few(30)
@pytest.mark.parametrize("name", DAMAGES)
def test_what_cannot_be_right_is_made_anew(cache, name):
    recognizer = compile_recognizer(GRAMMAR)
    (digest,) = kept(cache)
    whole = cache.path(KIND, digest).read_bytes()
    found, terminal_ids = cache.load(KIND, digest)
    arrays = {key: np.array(array) for key, array in found.items()}
    DAMAGES[name](arrays, terminal_ids)
    cache.store(KIND, digest, arrays, terminal_ids)
    assert cache.path(KIND, digest).read_bytes() != whole
    again = cached_liveness.load_or_make(recognizer, ALL_BYTES)
    assert same(again, table_of(recognizer))
    assert cache.path(KIND, digest).read_bytes() == whole


@pytest.mark.parametrize("terminal_ids", [None, 3, {"0": 1}])
def test_terminal_ids_of_another_shape_are_made_anew(cache, terminal_ids):
    recognizer = compile_recognizer(GRAMMAR)
    (digest,) = kept(cache)
    arrays, _ = cache.load(KIND, digest)
    cache.store(KIND, digest, arrays, terminal_ids)
    again = cached_liveness.load_or_make(recognizer, ALL_BYTES)
    assert same(again, table_of(recognizer))


def test_endings_are_the_same_with_what_is_kept(cache):
    recognizer = compile_recognizer(GRAMMAR)
    found = cached_liveness.load_or_make(recognizer, ALL_BYTES)
    used = ALL_BYTES.reachable_bytes
    both = [Endings(recognizer, used, len, stored) for stored in (found.endings, None)]
    for text in (b"", b"i", b"if", b"if a", b"if a [", b'x = "', b"if a[x =", b"if a[if b[if"):
        of_kept, of_made = (each.of(recognizer.advance(recognizer.initial, text)) for each in both)
        assert of_kept == of_made
        assert recognizer.is_sentence(recognizer.advance(recognizer.initial, text + of_kept))
