"""The cache folder: what is kept is found, bounded, shared by processes, and never in the way."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from pathlib import Path

import numpy as np
import platformdirs
import pytest

from cfgguide.errors import LimitError
from cfgguide.storage import archive
from cfgguide.storage import cache as caches
from cfgguide.storage.cache import Cache, user_cache

KILOBYTE = {"x": np.zeros(1000, dtype=np.uint8)}


@pytest.fixture
def cache(tmp_path) -> Cache:
    return Cache(tmp_path / "compiled")


def names(cache: Cache) -> list[str]:
    return [entry.path.name for entry in cache.entries()]


def age(path: Path, seconds: float) -> None:
    """Make a file look as if it was used so long ago."""
    os.utime(path, (time.time() - seconds,) * 2)


# --- Where ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["off", "OFF", "0"])
def test_the_cache_can_be_off(monkeypatch, value):
    monkeypatch.setenv("CFGGUIDE_CACHE", value)
    assert user_cache() is None
    assert caches.folder() == Path(platformdirs.user_cache_dir("cfgguide"))  # for models


@pytest.mark.parametrize("value", [None, ""])
def test_the_cache_is_by_default_where_caches_are(monkeypatch, value):
    if value is None:
        monkeypatch.delenv("CFGGUIDE_CACHE")
    else:
        monkeypatch.setenv("CFGGUIDE_CACHE", value)
    assert user_cache() == Cache(Path(platformdirs.user_cache_dir("cfgguide")) / "compiled")


def test_the_environment_names_folder_and_size(monkeypatch, tmp_path):
    monkeypatch.setenv("CFGGUIDE_CACHE", str(tmp_path))
    monkeypatch.setenv("CFGGUIDE_CACHE_BYTES", "12345")
    assert user_cache() == Cache(tmp_path / "compiled", max_bytes=12345)


@pytest.mark.parametrize("value", ["much", "-1", "1e9", "٣"])
def test_a_size_that_is_no_number_is_told(monkeypatch, tmp_path, value):
    monkeypatch.setenv("CFGGUIDE_CACHE", str(tmp_path))
    monkeypatch.setenv("CFGGUIDE_CACHE_BYTES", value)
    with pytest.raises(LimitError, match="CFGGUIDE_CACHE_BYTES must be a number of bytes"):
        user_cache()


# --- What is kept --------------------------------------------------------------------------------


def test_what_is_stored_is_found_under_its_kind_and_digest_only(cache):
    assert cache.load("a", "d1") is None
    cache.store("a", "d1", {"x": np.arange(3)}, {"y": [1]})
    arrays, value = cache.load("a", "d1")
    assert (arrays["x"].tolist(), value) == ([0, 1, 2], {"y": [1]})
    assert cache.load("a", "d2") is None
    assert cache.load("b", "d1") is None


@pytest.mark.parametrize("content", [b"", b"not one of ours", b"PK\x03\x04" + bytes(100)])
def test_a_damaged_entry_is_removed(cache, content):
    cache.store("a", "d", KILOBYTE)
    cache.path("a", "d").write_bytes(content)
    assert cache.load("a", "d") is None
    assert names(cache) == []


def test_an_entry_under_the_name_of_another_is_removed(cache):
    cache.store("a", "d1", KILOBYTE)
    cache.path("a", "d1").rename(cache.path("a", "d2"))
    assert cache.load("a", "d2") is None
    assert names(cache) == []


def test_what_was_used_longest_ago_goes_first(cache):
    small = Cache(cache.folder, max_bytes=3 * 4096)
    for number, digest in enumerate("abc"):
        small.store("k", digest, KILOBYTE)
        age(small.path("k", digest), 100 - number)
    assert small.load("k", "a") is not None  # used now
    small.store("k", "d", KILOBYTE)
    assert sorted(names(small)) == ["k-a", "k-c", "k-d"]


def test_there_are_no_more_entries_than_the_bound(cache):
    few = Cache(cache.folder, max_entries=2)
    for number, digest in enumerate("abcd"):
        few.store("k", digest, KILOBYTE)
        age(few.path("k", digest), 100 - number)
    assert names(few) == ["k-c", "k-d"]


def test_what_is_larger_than_the_bound_is_not_kept(cache):
    small = Cache(cache.folder, max_bytes=5000)
    small.store("k", "a", KILOBYTE)
    small.store("k", "b", {"x": np.zeros(5001, dtype=np.uint8)})
    assert names(small) == ["k-a"]


def test_what_killed_writers_left_goes_when_it_is_old(cache):
    cache.store("k", "a", KILOBYTE)
    old, fresh = (cache.folder / f".{name}{archive.PARTIAL}" for name in ("old", "fresh"))
    for path in (old, fresh):
        path.write_bytes(b"half")
    age(old, 7200)
    cache.trim()
    assert not old.exists()
    assert fresh.exists()
    assert names(cache) == ["k-a"]


def test_clearing_removes_all_files_and_counts_the_entries(cache):
    assert cache.clear() == 0
    cache.store("k", "a", KILOBYTE)
    cache.store("k", "b", KILOBYTE)
    (cache.folder / f".x{archive.PARTIAL}").write_bytes(b"half")
    (cache.folder / "folder").mkdir()
    assert cache.clear() == 2
    assert os.listdir(cache.folder) == ["folder"]


# --- What is in the way --------------------------------------------------------------------------


def test_a_folder_that_cannot_be_written_means_no_cache(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    blocked = Cache(tmp_path / "file" / "compiled")
    blocked.store("k", "a", KILOBYTE)
    assert blocked.load("k", "a") is None
    assert (blocked.entries(), blocked.clear()) == ([], 0)
    blocked.trim()


def test_an_entry_that_is_a_folder_or_a_link_to_nowhere_is_no_entry(cache):
    cache.folder.mkdir()
    cache.path("k", "a").mkdir()
    cache.path("k", "b").symlink_to(cache.folder / "nowhere")
    for digest in "ab":
        assert cache.load("k", digest) is None
    cache.store("k", "a", KILOBYTE)  # cannot replace a folder
    cache.store("k", "b", KILOBYTE)
    assert names(cache) == ["k-b"]


def test_a_full_disk_means_no_cache(cache):
    resource = pytest.importorskip("resource")
    cache.store("k", "a", KILOBYTE)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, before[1]))
    try:
        cache.store("k", "b", KILOBYTE)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert os.listdir(cache.folder) == ["k-a"]


def test_values_that_no_file_holds_are_not_kept(cache):
    cache.store("k", "a", KILOBYTE, "x" * archive.MAX_HEADER)
    assert names(cache) == []


def use(folder: str, seed: int, failures) -> None:
    """Store, load and trim a few entries that others store, load and trim as well."""
    small = Cache(Path(folder), max_bytes=6 * 4096)
    random = np.random.default_rng(seed)
    try:
        for _ in range(150):
            number = int(random.integers(10))
            found = small.load("k", str(number))
            if found is not None and set(found[0]["x"].tolist()) != {number}:
                failures.put(number)
            small.store("k", str(number), {"x": np.full(500, number)})
            if random.integers(20) == 0:
                small.clear()
    except BaseException as error:
        failures.put(repr(error))
        raise


@pytest.mark.slow
def test_many_processes_may_use_one_folder(cache):
    processes = multiprocessing.get_context("spawn")
    failures = processes.Queue()
    running = [
        processes.Process(target=use, args=(str(cache.folder), seed, failures)) for seed in range(4)
    ]
    for process in running:
        process.start()
    for process in running:
        process.join()
    assert failures.empty()
    assert [process.exitcode for process in running] == [0] * 4
    cache.trim()
    assert all(name.startswith("k-") for name in os.listdir(cache.folder))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_the_folder_is_the_users_own(cache):
    cache.store("k", "a", KILOBYTE)
    assert cache.folder.stat().st_mode & 0o077 == 0
