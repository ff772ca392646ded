"""The cache folder: what is kept is found, bounded, shared by processes, and never in the way."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import textwrap
import time
import zlib
from pathlib import Path

import numpy as np
import platformdirs
import pytest

from cfgguide.base import archive
from cfgguide.base import cache as caches
from cfgguide.base.cache import Cache, user_cache
from cfgguide.base.replaced import PARTIAL
from cfgguide.errors import CacheWarning, LimitError

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
    old, fresh = (cache.folder / f".{16 * digit}{PARTIAL}" for digit in "0f")
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
    (cache.folder / f".x{PARTIAL}").write_bytes(b"half")
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


# --- Whose it is ---------------------------------------------------------------------------------

ONLY_ROOT = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be another user"
)


@pytest.fixture
def told(monkeypatch):
    """Nothing has been warned of yet."""
    caches._warn.cache_clear()
    yield
    caches._warn.cache_clear()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
@pytest.mark.parametrize("mode", [0o777, 0o722, 0o720, 0o702, 0o1777])
def test_a_folder_that_others_can_write_to_is_not_used(cache, told, mode):
    cache.store("k", "a", KILOBYTE)
    cache.folder.chmod(mode)
    with pytest.warns(CacheWarning, match="can be written to by others, so it is not used"):
        assert cache.load("k", "a") is None
    cache.store("k", "b", KILOBYTE)  # told once
    assert os.listdir(cache.folder) == ["k-a"]
    cache.folder.chmod(0o755)
    assert cache.load("k", "a") is not None


@ONLY_ROOT
def test_a_folder_of_another_user_is_not_used(cache, told):
    cache.store("k", "a", KILOBYTE)
    os.chown(cache.folder, 12345, -1)
    with pytest.warns(CacheWarning, match="belongs to the user 12345, so it is not used"):
        assert cache.load("k", "a") is None
    cache.store("k", "b", KILOBYTE)
    assert os.listdir(cache.folder) == ["k-a"]


@ONLY_ROOT
def test_an_entry_of_another_user_is_not_used(cache):
    cache.store("k", "a", KILOBYTE)
    os.chown(cache.path("k", "a"), 12345, -1)
    assert cache.load("k", "a") is None


AS_SOMEBODY = """
    import json, os, sys, tempfile, warnings
    home, folder, user = json.loads(sys.argv[1])
    for name in [name for name in os.environ if name.startswith("XDG_")]:
        del os.environ[name]
    import cfgguide
    from cfgguide.base.cache import user_cache

    def use():
        vocabulary = cfgguide.Vocabulary([b"a", b"b", None], eos_token_ids=2)
        index = cfgguide.compile(cfgguide.Grammar('start: "a" "b"'), vocabulary)
        allowed = cfgguide.Guide(index).allowed_token_ids().tolist()
        index.cache_masks()
        return [allowed, user_cache() and user_cache().load("grammar", "0")]

    with tempfile.TemporaryDirectory() as warm:  # all modules are imported while they can be
        os.environ["CFGGUIDE_CACHE"] = warm
        use()
    for name, value in (("HOME", home), ("CFGGUIDE_CACHE", folder)):
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    if user is not None:
        os.setgid(user)
        os.setuid(user)
    warnings.simplefilter("error")
    print(json.dumps([*use(), os.listdir(".")]))
"""


def run_as(cwd: Path, home: str | None, folder: str | None, user: int | None) -> None:
    """Compile a grammar in another process, which must not fail, warn, or write where it is."""
    command = [sys.executable, "-c", textwrap.dedent(AS_SOMEBODY), json.dumps([home, folder, user])]
    path = os.pathsep.join([str(Path(caches.__file__).parents[2]), *filter(None, sys.path)])
    run = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path}
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == [[0], None, []]
    assert run.stderr == ""


NOBODY = 54321  # not in the list of users


@pytest.mark.slow
@pytest.mark.parametrize(
    ("home", "user"),
    [
        ("/proc/nonexistent", None),  # where not even root can make a folder
        pytest.param("/nonexistent", NOBODY, marks=ONLY_ROOT),
        pytest.param(None, NOBODY, marks=ONLY_ROOT),
        pytest.param("/", NOBODY, marks=ONLY_ROOT),
        pytest.param("", NOBODY, marks=ONLY_ROOT),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such users")
def test_without_a_home_there_is_no_cache_and_no_error(tmp_path, home, user):
    tmp_path.chmod(0o777)
    run_as(tmp_path, home, None, user)


@ONLY_ROOT
def test_a_folder_that_is_read_only_is_read_only(tmp_path):
    folder, cwd = tmp_path / "cache", tmp_path / "cwd"
    Cache(folder / "compiled").store("k", "a", KILOBYTE)
    cwd.mkdir()
    for each in (*tmp_path.parents[:2], tmp_path, folder, folder / "compiled", cwd):
        each.chmod(0o755)
    run_as(cwd, None, str(folder), NOBODY)
    assert os.listdir(folder / "compiled") == ["k-a"]


def test_two_versions_may_use_one_folder_at_once(cache):
    """A file of another version under the same name is as good as none, and is replaced."""
    cache.store("k", "a", KILOBYTE)
    own = cache.path("k", "a").read_bytes()
    other = own.replace(b'"cfgguide 1"', b'"cfgguide 9"')
    place = other.index(b'"checksum":"') + len(b'"checksum":"')
    blank = other[:place] + b"00000000" + other[place + 8 :]
    other = other[:place] + b"%08x" % zlib.crc32(blank) + other[place + 8 :]
    for _ in range(2):
        cache.path("k", "a").write_bytes(other)
        assert cache.load("k", "a") is None
        cache.store("k", "a", KILOBYTE)
        assert cache.path("k", "a").read_bytes() == own
