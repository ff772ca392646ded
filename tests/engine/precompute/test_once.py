"""One index for many processes: built by one, whatever happens to it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import cfgguide
from cfgguide.engine.precompute.once import BUILDING
from cfgguide.errors import IndexFormatError
from cfgguide.precompute import built_once

VOCABULARY = cfgguide.Vocabulary.of_bytes()
#: Asks for the index; notes that it builds, and takes a second for it.
PROGRAM = """
import os, sys, time
import cfgguide
from cfgguide.precompute import built_once

path, seconds, patience = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
vocabulary = cfgguide.Vocabulary.of_bytes()

def build():
    with open(path + ".log", "a") as log:
        log.write(f"{os.getpid()}\\n")
    time.sleep(seconds)
    return cfgguide.compile(cfgguide.Grammar("start: /[0-9]+/"), vocabulary)

index = built_once(path, vocabulary, build, patience=patience)
print(bytes(cfgguide.Guide(index).allowed_token_ids().tolist()).decode())
"""


def asking(path: Path, seconds: float, patience: float = 60.0) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, str(path), str(seconds), str(patience)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def builders(path: Path) -> list[str]:
    log = path.with_name(path.name + ".log")
    return log.read_text().split() if log.exists() else []


def await_builder(path: Path) -> None:
    end = time.monotonic() + 60
    while not builders(path):
        assert time.monotonic() < end
        time.sleep(0.05)


def numbers() -> cfgguide.Index:
    return cfgguide.compile(cfgguide.Grammar("start: /[0-9]+/"), VOCABULARY)


@pytest.mark.slow
def test_one_of_many_processes_builds(tmp_path):
    path = tmp_path / "numbers.index"
    processes = [asking(path, 1.0) for _ in range(4)]
    assert [process.communicate()[0].strip() for process in processes] == ["0123456789"] * 4
    assert len(builders(path)) == 1
    assert {each.name for each in tmp_path.iterdir()} == {"numbers.index", "numbers.index.log"}
    assert asking(path, 0.0).communicate()[0].strip() == "0123456789"
    assert len(builders(path)) == 1


@pytest.mark.slow
def test_a_killed_builder_is_followed_by_another(tmp_path):
    path = tmp_path / "numbers.index"
    doomed = asking(path, 60.0)
    await_builder(path)
    others = [asking(path, 0.0, patience=4.0) for _ in range(2)]
    doomed.send_signal(signal.SIGKILL)
    doomed.communicate()
    assert [process.communicate()[0].strip() for process in others] == ["0123456789"] * 2
    assert len(builders(path)) == 2


@pytest.mark.slow
def test_a_builder_that_lives_is_waited_for(tmp_path):
    """It touches its file every two seconds, and takes longer than the other's patience."""
    path = tmp_path / "numbers.index"
    slow = asking(path, 8.0)
    await_builder(path)
    other = asking(path, 0.0, patience=4.0)
    assert other.communicate()[0] == slow.communicate()[0] == "0123456789\n"
    assert len(builders(path)) == 1


def test_a_build_that_fails_leaves_nothing_behind(tmp_path):
    def build() -> cfgguide.Index:
        assert (tmp_path / f"a.index{BUILDING}").exists()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        built_once(tmp_path / "a.index", VOCABULARY, build)
    assert list(tmp_path.iterdir()) == []
    assert built_once(tmp_path / "a.index", VOCABULARY, numbers).digest == numbers().digest


def test_what_is_no_such_index_is_an_error(tmp_path):
    path = tmp_path / "a.index"
    built_once(path, VOCABULARY, numbers)
    with pytest.raises(IndexFormatError):
        built_once(path, cfgguide.Vocabulary.of_bytes([b"12"]), numbers)
    path.write_bytes(b"nothing")
    with pytest.raises(IndexFormatError):
        built_once(path, VOCABULARY, numbers)
    with pytest.raises(OSError, match="nowhere"):
        built_once(tmp_path / "nowhere" / "a.index", VOCABULARY, numbers)


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps a mapped file from being removed")
def test_the_file_may_go_while_its_index_is_used(tmp_path):
    path = tmp_path / "a.index"
    index = built_once(path, VOCABULARY, numbers)
    path.unlink()
    assert cfgguide.Guide(index).allowed_token_ids().tolist() == list(b"0123456789")
