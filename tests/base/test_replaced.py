"""Files that are replaced: whole, where a link leads, and without leaving anything behind."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from cfgguide.base.replaced import PARTIAL, STALE_SECONDS, replaced

NEEDS_LINKS = pytest.mark.skipif(sys.platform == "win32", reason="needs the rights to make links")


def write(path: Path, content: bytes = b"new", **options: bool) -> None:
    with replaced(path, **options) as file:
        file.write(content)


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(TypeError), replaced(tmp_path / "file") as file:
        file.writelines([b"new", "text"])
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


# --- Links ---------------------------------------------------------------------------------------


@NEEDS_LINKS
def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path):
    for name in ("real", "links"):
        (tmp_path / name).mkdir()
    target = tmp_path / "real" / "file"
    target.write_bytes(b"old")
    (tmp_path / "links" / "first").symlink_to("../real/file")
    (tmp_path / "links" / "second").symlink_to("first")
    write(tmp_path / "links" / "second")
    assert sorted(os.listdir(tmp_path / "links")) == ["first", "second"]
    assert os.readlink(tmp_path / "links" / "second") == "first"
    assert os.listdir(tmp_path / "real") == ["file"]
    assert target.read_bytes() == b"new"


@NEEDS_LINKS
def test_a_link_to_nowhere_makes_the_file_that_it_names(tmp_path):
    (tmp_path / "link").symlink_to("file")
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"


@NEEDS_LINKS
def test_a_link_is_replaced_if_it_is_not_to_be_followed(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to("file")
    write(tmp_path / "link", follows_links=False)
    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"old"


@NEEDS_LINKS
def test_links_in_a_circle_are_an_error(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        write(tmp_path / "a")
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_is_no_file_is_never_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        with pytest.raises(OSError, match="something else than a file"):
            write(tmp_path / name)
    with pytest.raises(IsADirectoryError):
        write(tmp_path / "folder")
    assert sorted(os.listdir(tmp_path)) == ["folder", "link", "pipe"]


# --- Leftovers -----------------------------------------------------------------------------------


def leftover(folder: Path, digit: str, seconds: float) -> Path:
    """Make a file as a killed writer leaves it, so long ago."""
    path = folder / f".{16 * digit}{PARTIAL}"
    path.write_bytes(b"half")
    os.utime(path, (time.time() - seconds,) * 2)
    return path


def test_the_next_writer_removes_what_killed_ones_left_long_ago(tmp_path):
    leftover(tmp_path, "0", STALE_SECONDS + 10)
    fresh = leftover(tmp_path, "1", 60)
    (tmp_path / "own.partial").write_bytes(b"a user's")
    os.utime(tmp_path / "own.partial", (0, 0))
    write(tmp_path / "file")
    assert sorted(os.listdir(tmp_path)) == sorted([fresh.name, "file", "own.partial"])


WRITER = """
    import sys
    from cfgguide.base.replaced import replaced
    with replaced(sys.argv[1]) as file:
        file.write(b"slow")
        file.flush()
        print("writing", flush=True)
        sys.stdin.readline()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there nobody can remove an open file")
def test_what_a_living_process_writes_stays_however_old_it_is(tmp_path):
    command = [sys.executable, "-c", textwrap.dedent(WRITER), str(tmp_path / "slow")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdin is not None
        writer.stdout.readline()
        (partial,) = tmp_path.iterdir()
        os.utime(partial, (0, 0))
        write(tmp_path / "file")
        assert partial.exists()
        writer.stdin.write(b"\n")
        writer.stdin.flush()
        assert writer.wait() == 0
    assert sorted(os.listdir(tmp_path)) == ["file", "slow"]
    assert (tmp_path / "slow").read_bytes() == b"slow"


@NEEDS_LINKS
def test_a_link_among_the_leftovers_is_removed_and_its_target_is_not(tmp_path):
    (tmp_path / "precious").write_bytes(b"kept")
    link = tmp_path / f".{16 * '0'}{PARTIAL}"
    link.symlink_to("precious")
    os.utime(link, (0, 0), follow_symlinks=False)
    write(tmp_path / "file")
    assert sorted(os.listdir(tmp_path)) == ["file", "precious"]
