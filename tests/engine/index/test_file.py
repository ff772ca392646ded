"""Saved indexes: the same masks again, and files that could not have been saved are refused."""

from __future__ import annotations

import io
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.walked_grammars import GRAMMARS
from support.whole_indexes import walked, whole_index

import cfgguide
from cfgguide import Grammar, Guide, Index, Vocabulary
from cfgguide.base import archive
from cfgguide.base.cache import Cache, user_cache
from cfgguide.engine.index import index_cache as cached_masks
from cfgguide.engine.index.saved_index import packed, use_packed
from cfgguide.engine.masks.subset import UnpackedMasks
from cfgguide.engine.masks.token_classes import TokenClasses
from cfgguide.errors import IndexFormatError

KINDS = pytest.mark.parametrize(
    ("grammar", "tokens"), GRAMMARS.values(), ids=[name.replace(" ", "-") for name in GRAMMARS]
)


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "index"


def rows(index: Index) -> dict[bytes, int]:
    """The masks of all entries, and how many entries have each."""
    counts: dict[bytes, int] = {}
    for subset in index.entries().values():
        key = subset.bitmask.tobytes()
        counts[key] = counts.get(key, 0) + 1
    return counts


# --- What is right --------------------------------------------------------------------------------


@KINDS
def test_a_loaded_index_makes_no_mask_again(path, grammar, tokens):
    index = whole_index(grammar, tokens)
    found = [walked(index, seed, most=20) for seed in range(10)]
    index.save(path)
    loaded = Index.load(path, index.vocabulary)
    assert [walked(loaded, seed, most=20) for seed in range(10)] == found
    assert loaded.n_made == 0
    assert loaded.n_entries <= index.n_entries
    assert loaded.digest == index.digest
    assert rows(loaded) == rows(index)


@pytest.mark.few(4)
@KINDS
def test_what_is_saved_again_holds_the_old_and_the_new(path, grammar, tokens):
    index = whole_index(grammar, tokens)
    old = [walked(index, seed, most=12) for seed in range(4)]
    index.save(path)
    loaded = Index.load(path, index.vocabulary)
    new = [walked(loaded, seed, most=25) for seed in range(10, 16)]
    loaded.save(path)
    again = Index.load(path, index.vocabulary)
    assert [walked(again, seed, most=12) for seed in range(4)] == old
    assert [walked(again, seed, most=25) for seed in range(10, 16)] == new
    assert again.n_made == 0
    arrays, _ = archive.read(path, kind="index")
    saved = arrays["masks.rows"]
    assert len(np.unique(saved, axis=0)) == len(saved), "a mask is kept once"
    assert len(arrays["masks.base_of_subset"]) == len(rows(again)), "equal masks are one"
    again.save(path.with_name("third"))
    assert path.with_name("third").read_bytes() == path.read_bytes()


def test_files_add_up(tmp_path):
    grammar, tokens = GRAMMARS["json"]
    fresh = whole_index(grammar, tokens)
    for name, seeds in (("first", range(3)), ("second", range(3, 6))):
        index = whole_index(grammar, tokens)
        for seed in seeds:
            walked(index, seed)
        index.save(tmp_path / name)
        fresh.add_file(tmp_path / name)
    for seed in range(6):
        walked(fresh, seed)
    assert fresh.n_made == 0


def test_packed_masks_can_be_used_without_a_file():
    index, other = (whole_index(*GRAMMARS["look-around"]) for _ in range(2))
    found = walked(index, 1)
    use_packed(other, *packed(index))
    assert walked(other, 1) == found
    assert other.n_made == 0


def test_an_empty_index_can_be_saved(path):
    index = whole_index(*GRAMMARS["json"])
    index.save(path)
    loaded = Index.load(path, index.vocabulary)
    assert walked(loaded, 1) == walked(index, 1)
    assert loaded.n_made == index.n_made > 0


def test_look_around_and_fall_backs_make_paths_of_every_kind(path):
    """The test above would say little if no configuration had several hypotheses or claims."""
    index = whole_index(*GRAMMARS["look-around"])
    for seed in range(10):
        walked(index, seed)
    index.save(path)
    parts = archive.read(path, kind="index")[1]["masks"]["parts"]
    lexers = [part for part in parts if isinstance(part[0], list)]
    assert any(len(hypotheses) > 1 for hypotheses, _ in lexers)
    assert any(obligations for hypotheses, _ in lexers for _, obligations in hypotheses)
    assert any(context for _, context in lexers)


def test_masks_of_a_file_are_read_where_they_lie(path):
    index = whole_index(*GRAMMARS["json"])
    walked(index, 1)
    index.save(path)
    loaded = Index.load(path, index.vocabulary)
    walked(loaded, 1)
    for subset in loaded._entries.subsets:
        assert not subset.words.flags.owndata
        assert not subset.words.flags.writeable
        assert not subset.bitmask.flags.writeable


@pytest.mark.slow
def test_a_bounded_index_with_a_file_behind_it(path):
    """What was dropped is found in the file again, and nothing of it stays in memory."""
    index = whole_index(*GRAMMARS["json"])
    found = [walked(index, seed) for seed in range(8)]
    index.save(path)
    tight = Index.load(path, index.vocabulary, max_bytes=2_500)
    for _ in range(2):
        assert [walked(tight, seed) for seed in range(8)] == found
    assert tight.n_made == 0
    assert tight._entries.n_dropped > tight.n_entries
    (stored,) = tight._entries._stored
    UnpackedMasks.of(index.vocabulary.n_words)._owners.clear()
    tight.forget_steps()
    assert len(stored._subsets) == tight.n_subsets


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(sorted(GRAMMARS)), st.integers(0, 2**32), st.integers(0, 2**32))
def test_any_texts_come_back(tmp_path_factory, name, seed, other):
    path = tmp_path_factory.mktemp("any") / "index"
    index = whole_index(*GRAMMARS[name])
    found = walked(index, seed, most=10)
    index.save(path)
    loaded = Index.load(path, index.vocabulary)
    assert walked(loaded, seed, most=10) == found
    assert loaded.n_made == 0
    assert walked(loaded, other, most=10) == walked(index, other, most=10)


# --- What is wrong --------------------------------------------------------------------------------

TOKENS = sorted(GRAMMARS["look-around"][1])  # so that many masks differ in a few words only
VOCABULARY = Vocabulary([*TOKENS, None, None], eos_token_ids=206, size=393)
NOBODY, OUTSIDE = 207, 400  # an id without text, and none at all that a word has a bit for


@pytest.fixture(scope="module")
def filled() -> Index:
    index = cfgguide.compile(Grammar(GRAMMARS["look-around"][0]), VOCABULARY)
    for seed in range(10):
        walked(index, seed)
    index.masks.token_classes.work()
    arrays, _ = packed(index)
    assert all(array.size > 1 for array in arrays.values()), "else little can be damaged"
    return index


def test_the_vocabulary_of_these_tests_has_ids_without_text():
    assert VOCABULARY.tokens[NOBODY] is None
    assert VOCABULARY.size <= OUTSIDE < 32 * VOCABULARY.n_words


def set_at(name, place, number):
    return lambda arrays, masks: arrays[name].flat.__setitem__(place, number)


def replaced(name, change):
    return lambda arrays, masks: arrays.__setitem__(name, change(arrays[name]))


def lexer(value):
    return lambda arrays, masks: masks["parts"].__setitem__(0, value)


def bit(array, token_id):
    array[..., token_id // 32] |= np.int64(1 << token_id % 32).astype(np.int32)


def allow_in_changes(token_id):
    def damage(arrays, masks):
        arrays["change_places"][-1] = token_id // 32
        arrays["change_words"][-1] = np.int64(1 << token_id % 32).astype(np.int32)

    return damage


def overflow(arrays, masks):
    """Each offset is less than the one before, but all differences overflow to above 0."""
    arrays["path_offsets"][1:3] = 2**30 + 5, -(2**30) - 5


NAMES = (
    "paths", "path_offsets", "subset_of_entry", "rows", "base_of_subset",
    "change_offsets", "change_places", "change_words",
)  # fmt: skip
#: Name: what is done to the arrays and the JSON value, with a right checksum.
DAMAGES = {
    **{f"no {name}": lambda arrays, masks, name=name: arrays.pop(name) for name in NAMES},
    **{f"{name} cut": replaced(name, lambda array: array[:-1].copy()) for name in NAMES},
    **{f"{name} empty": replaced(name, lambda array: array[:0].copy()) for name in NAMES},
    **{f"{name} of doubles": replaced(name, lambda a: a.astype(np.float64)) for name in NAMES},
    **{f"{name} of another shape": replaced(name, lambda array: array[None]) for name in NAMES},
    "rows of other words": replaced("rows", lambda array: array[:, :-1].copy()),
    "rows without words": replaced("rows", lambda array: array[:, :0].copy()),
    "offsets of paths backwards": replaced("path_offsets", lambda array: array[::-1].copy()),
    "offsets of paths overflow": overflow,
    "offsets of paths from 1": set_at("path_offsets", 0, 1),
    "offsets of paths to less": set_at("path_offsets", -1, 1),
    "a path of nothing": lambda arrays, masks: arrays["path_offsets"].__setitem__(
        1, arrays["path_offsets"][2]
    ),
    "offsets of changes backwards": replaced("change_offsets", lambda array: array[::-1].copy()),
    "offsets of changes below 0": set_at("change_offsets", 1, -1),
    "offsets of changes too high": set_at("change_offsets", 1, 2**60),
    "subset too high": lambda arrays, masks: arrays["subset_of_entry"].__setitem__(
        0, len(arrays["base_of_subset"])
    ),
    "subset below 0": set_at("subset_of_entry", 0, -1),
    "row too high": lambda arrays, masks: arrays["base_of_subset"].__setitem__(
        0, len(arrays["rows"])
    ),
    "row below -1": set_at("base_of_subset", 0, -2),
    "place too high": set_at("change_places", 0, VOCABULARY.n_words),
    "place far too high": set_at("change_places", 0, 2**32 - 1),
    "a path that is there twice": lambda arrays, masks: arrays.update(
        paths=np.tile(arrays["paths"], 2),
        path_offsets=np.concatenate(
            [arrays["path_offsets"], arrays["path_offsets"][1:] + len(arrays["paths"])]
        ),
        subset_of_entry=np.tile(arrays["subset_of_entry"], 2),
    ),
    "paths of what is nothing": replaced("paths", lambda array: array | 1),
    "paths of other parts": replaced("paths", lambda array: array | 2**20 + 3),
    "paths of parts below 0": replaced("paths", lambda array: array | -(2**20) + 3),
    "a row with a token too many": lambda arrays, masks: bit(arrays["rows"], OUTSIDE),
    "a row with a token of no text": lambda arrays, masks: bit(arrays["rows"], NOBODY),
    "a change with a token too many": allow_in_changes(OUTSIDE),
    "a change with a token of no text": allow_in_changes(NOBODY),
    "no lexers": lambda arrays, masks: masks.pop("parts"),
    "a lexer too few": lambda arrays, masks: masks["parts"].pop(),
    "lexers no list": lambda arrays, masks: masks.__setitem__("parts", {"0": 1}),
    "a lexer of nothing": lexer([]),
    "a lexer without hypotheses": lexer([[], 0]),
    "a lexer without a context": lexer([[[1, []]]]),
    "a lexer with half a hypothesis": lexer([[[1]], 0]),
    "a lexer with a claim that is no list": lexer([[[1, 2]], 0]),
    "a lexer with a claim that is a text": lexer([[[1, ["2"]]], 0]),
    "a lexer with a state that is a list": lexer([[[[1], []]], 0]),
    "a lexer with a context that is true": lexer([[[1, []]], True]),
    "a lexer with a fraction": lexer([[[1.5, []]], 0]),
    "no strings of classes": lambda arrays, masks: arrays.pop("classes.strings"),
    "strings of classes cut": replaced("classes.strings", lambda array: array[:-1].copy()),
    "a string of no length": set_at("classes.lengths", 1, 0),
    "lengths of doubles": replaced("classes.lengths", lambda array: array.astype(np.float64)),
    "lengths empty": replaced("classes.lengths", lambda array: array[:0].copy()),
    "classes of fewer tokens": replaced("classes.class_of_token", lambda array: array[:-1].copy()),
    "classes of doubles": replaced("classes.class_of_token", lambda a: a.astype(np.float64)),
    "a class too high": set_at("classes.class_of_token", 0, 60_000),
    "a class without tokens": lambda arrays, masks: np.putmask(
        arrays["classes.class_of_token"], arrays["classes.class_of_token"] == 1, 2
    ),
    "a lexer of other width": lambda arrays, masks: masks["parts"].__setitem__(
        0, [[*masks["parts"][0][0], *[[1, []]] * 99], 0]
    ),
    "a path that begins with a level": lambda arrays, masks: masks["parts"].__setitem__(0, [3, 4]),
}  # fmt: skip


def damaged(index: Index, name: str):
    arrays, value = packed(index)
    arrays = {key.removeprefix("masks."): array.copy() for key, array in arrays.items()}
    value = json.loads(json.dumps(value))
    DAMAGES[name](arrays, value["masks"])
    return {key if "." in key else f"masks.{key}": array for key, array in arrays.items()}, value


@pytest.mark.slow
@pytest.mark.parametrize("name", DAMAGES)
def test_masks_that_nobody_saved_are_refused(path, filled, name):
    arrays, value = damaged(filled, name)
    archive.write(path, arrays, value, kind="index", digest=filled.digest)
    with pytest.raises(IndexFormatError, match=r"the index cannot be used: .*; make it again"):
        Index.load(path, VOCABULARY)
    grammar = Grammar(GRAMMARS["look-around"][0])
    made = cfgguide.compile(grammar, VOCABULARY, use_cache=False)
    fresh = Index(made.machine, VOCABULARY)  # its classes are not made
    with pytest.raises(IndexFormatError):
        fresh.add_file(path)
    assert walked(fresh, 3) == walked(filled, 3), "and the index is as it was"


@pytest.mark.parametrize(
    "value",
    [
        None,
        3,
        [],
        {},
        {"masks": {}},
        {"grammar": 5, "masks": None},
        {"pattern": 5},
        {"pattern": "("},
    ],
)
def test_a_value_of_another_shape_is_refused(path, filled, value):
    arrays, _ = packed(filled)
    archive.write(path, arrays, value, kind="index", digest=filled.digest)
    with pytest.raises(IndexFormatError):
        Index.load(path, VOCABULARY)
    with pytest.raises(IndexFormatError):
        use_packed(filled, arrays, value)


def test_random_numbers_are_refused_or_can_be_used(path, filled):
    """Whatever is not refused ends in masks, or in an IndexFormatError at a step."""
    rng = random.Random(3)
    fresh = cfgguide.compile(Grammar(GRAMMARS["look-around"][0]), VOCABULARY)
    n_used = 0
    for _ in range(150):
        arrays, value = packed(filled)
        name = f"masks.{NAMES[rng.randrange(len(NAMES))]}"
        array = arrays[name] = arrays[name].copy()
        info = np.iinfo(array.dtype)
        numbers = (-1, 0, 1, 2, 5, 1000, info.max, info.min)
        number = rng.choice([n for n in numbers if info.min <= n <= info.max])
        array.flat[rng.randrange(array.size)] = number
        index = Index(fresh.machine, VOCABULARY)
        try:
            use_packed(index, arrays, value)
        except IndexFormatError:
            continue
        n_used += 1
        for seed in range(3):
            try:
                walked(index, seed, most=10)
            except IndexFormatError:
                break
        packed(index)
    assert n_used > 10


@pytest.fixture(scope="module")
def whole(filled, tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "index"
    filled.save(path)
    return path.read_bytes()


def bomb() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("masks.rows.npy", bytes(10_000_000))
    return file.getvalue()


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"",
        lambda whole: whole[:7],
        lambda whole: whole[: len(whole) // 2],
        lambda whole: whole[:-1],
        lambda whole: whole + b"\0",
        lambda whole: whole.replace(b"cfgguide 1", b"cfgguide 2"),
        lambda whole: whole[:300] + bytes([whole[300] ^ 4]) + whole[301:],
        lambda whole: whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:],
        lambda whole: bomb(),
        lambda whole: b"\x80\x04\x95" + whole,
    ],
    ids=["empty", "7 bytes", "half", "one less", "one more", "other format", "header flipped",
         "data flipped", "zip bomb", "pickle"],
)  # fmt: skip
def test_a_damaged_file_is_refused(path, whole, damage):
    path.write_bytes(damage(whole))
    with pytest.raises(IndexFormatError):
        Index.load(path, VOCABULARY)


def test_files_of_something_else_are_refused(path, filled):
    arrays, value = packed(filled)
    archive.write(path, arrays, value, kind="grammar", digest=filled.digest)
    with pytest.raises(IndexFormatError, match="of kind 'grammar'"):
        Index.load(path, VOCABULARY)
    archive.write(path, arrays, value, kind="index", digest="0" * 64)  # as of another version
    with pytest.raises(IndexFormatError, match="another grammar, vocabulary or version"):
        Index.load(path, VOCABULARY)
    filled.save(path)
    other = Vocabulary([*TOKENS, None, b"new"], eos_token_ids=206, size=393)
    with pytest.raises(IndexFormatError, match="another grammar, vocabulary or version"):
        Index.load(path, other)
    json_index = cfgguide.compile(Grammar('start: "a"'), VOCABULARY, use_cache=False)
    with pytest.raises(IndexFormatError, match="another grammar, vocabulary or version"):
        json_index.add_file(path)
    with pytest.raises(IndexFormatError, match="cannot be opened"):
        Index.load(path.with_name("missing"), VOCABULARY)


def test_masks_that_somebody_made_up_end_in_an_error_at_the_step(path):
    """All bits that may be set are set: what the grammar refuses is refused all the same."""
    tokens = [b"a", b"b", b"ab"]
    index = whole_index('start: "a" "b"', tokens)
    walked(index, 1)
    index.save(path)
    arrays, value = archive.read(path, kind="index")
    arrays = {name: array.copy() for name, array in arrays.items()}
    everything = np.array([0b1111], dtype=np.int32)
    assert len(arrays["masks.rows"]) == 0 or arrays["masks.rows"].shape[1] == 1
    arrays["masks.rows"][:] = everything
    arrays["masks.change_words"][:] = everything
    archive.write(path, arrays, value, kind="index", digest=index.digest)
    guide = Guide(Index.load(path, index.vocabulary))
    assert guide.allowed_token_ids().tolist() == [0, 1, 2, 3]
    for refused in (1, 3):  # a text that the grammar refuses, and EOS where there is no sentence
        with pytest.raises(IndexFormatError, match="cfgguide did not write"):
            guide.advance(refused)
        assert (guide.token_ids, guide.is_finished) == ((), False)
    guide.advance(2)
    guide.advance(3)
    assert guide.is_finished


# --- Interruptions --------------------------------------------------------------------------------

WRITER = """
    import sys
    import numpy as np
    from support.whole_indexes import walked, whole_index
    from support.walked_grammars import GRAMMARS
    index = whole_index(*GRAMMARS["json"])
    print("ready", flush=True)
    seed = 0
    while True:
        walked(index, seed := seed + 1)
        index.save(sys.argv[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_process_leaves_an_index_that_loads(path):
    index = whole_index(*GRAMMARS["json"])
    index.save(path)
    found = []
    for delay in itertools.accumulate([0.0, 0.03, 0.1, 0.17]):
        command = [sys.executable, "-c", textwrap.dedent(WRITER), str(path)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(delay)
            writer.kill()
        loaded = Index.load(path, index.vocabulary)
        found.append(len(loaded.entries()))
        assert walked(loaded, 1) == walked(index, 1)
    assert max(found) > 0, "some writer did write"


# --- The user's cache -----------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Cache:
    """The user's cache, empty."""
    monkeypatch.setenv("CFGGUIDE_CACHE", str(tmp_path / "cache"))
    found = user_cache()
    assert found is not None
    return found


def kept(cache: Cache) -> list[Path]:
    return [entry.path for entry in cache.entries() if entry.path.name.startswith("masks-")]


def test_masks_that_were_kept_are_found_by_compile(cache):
    made = whole_index(*GRAMMARS["look-around"])
    found = [walked(made, seed) for seed in range(3)]
    assert kept(cache) == []
    made.cache_masks()
    (path,) = kept(cache)
    again = whole_index(*GRAMMARS["look-around"])
    assert [walked(again, seed) for seed in range(3)] == found
    assert again.n_made == 0
    before = path.stat().st_ino
    again.cache_masks()
    assert path.stat().st_ino == before, "there was nothing new"
    other = whole_index(*GRAMMARS["look-around"], use_cache=False)
    walked(other, 0)
    assert other.n_made, "the cache can be left out"


def test_what_two_processes_keep_adds_up(cache):
    first, second = (whole_index(*GRAMMARS["json"]) for _ in range(2))
    for index, seeds in ((first, range(3)), (second, range(3, 6))):
        for seed in seeds:
            walked(index, seed)
        index.cache_masks()
    third = whole_index(*GRAMMARS["json"])
    for seed in range(6):
        walked(third, seed)
    assert third.n_made == 0


def test_cached_masks_that_are_bad_are_dropped_and_made_anew(cache):
    index = whole_index(*GRAMMARS["json"])
    found = walked(index, 1)
    index.cache_masks()
    (path,) = kept(cache)
    kind, _, digest = path.name.partition("-")
    arrays, value = archive.read(path, kind=kind)
    arrays["masks.paths"] = arrays["masks.paths"] | 1
    archive.write(path, arrays, value, kind=kind, digest=digest)
    again = whole_index(*GRAMMARS["json"])
    assert kept(cache) == []
    assert walked(again, 1) == found
    again.cache_masks()
    kept(cache)[0].write_bytes(b"no file of masks")
    assert walked(whole_index(*GRAMMARS["json"]), 1) == found
    assert kept(cache) == []


def test_large_indexes_and_those_without_a_cache_are_not_kept(cache, monkeypatch):
    index = whole_index(*GRAMMARS["json"])
    walked(index, 1)
    monkeypatch.setattr(cached_masks, "MAX_BYTES", 100)
    index.cache_masks()
    assert kept(cache) == []
    walked(index, 2)
    monkeypatch.setenv("CFGGUIDE_CACHE", "off")
    index.cache_masks()
    assert kept(cache) == []


def test_token_classes_are_saved_with_the_masks(path):
    made = whole_index(*GRAMMARS["json"], use_cache=False)
    index, fresh = (Index(made.machine, made.vocabulary) for _ in range(2))
    index.save(path)
    index.masks.token_classes.work()
    assert not Index.load(path, index.vocabulary).masks.token_classes.are_made
    index.save(path)
    loaded = Index.load(path, index.vocabulary)
    assert loaded.masks.token_classes.trie.strings == index.masks.token_classes.trie.strings
    assert walked(loaded, 1) == walked(index, 1)
    fresh.add_file(path)
    assert fresh.masks.token_classes.are_made


def test_token_classes_of_large_grammars_are_kept(cache, monkeypatch):
    tokens = [bytes([byte]) for byte in range(256)]
    vocabulary = cfgguide.Vocabulary([*tokens, None], eos_token_ids=256)
    n_searches, search = 0, TokenClasses.work

    def counted(*args):
        nonlocal n_searches
        n_searches += 1
        search(*args)

    monkeypatch.setattr(TokenClasses, "work", counted)
    made = cfgguide.compile(Grammar.bundled("sql"), vocabulary)
    assert n_searches == 1
    again = cfgguide.compile(Grammar.bundled("sql"), vocabulary)
    assert again.masks.token_classes.are_made
    assert n_searches == 1
    for one, other in zip(
        made.masks.token_classes.trie.packed, again.masks.token_classes.trie.packed, strict=True
    ):
        assert np.array_equal(one, other)
    paths = [entry.path for entry in cache.entries()]
    (path,) = [path for path in paths if path.name.startswith("token_classes-")]
    kind, _, digest = path.name.partition("-")
    arrays, value = archive.read(path, kind=kind)
    arrays["class_of_token"] = arrays["class_of_token"] + 10_000
    archive.write(path, arrays, value, kind=kind, digest=digest)
    cfgguide.compile(Grammar.bundled("sql"), vocabulary)
    assert n_searches == 2
