"""Failing writes: full disks, failing disks and files that may not become so large.

In: an index, and files that are there already. Out: what was lost or is wrong. A write fails at a
random byte, since the process may write no larger files (`EFBIG`; the kernel says no), or at a
random one of the calls that write, as a full or a failing disk has it (`ENOSPC`, `EIO`).
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
import resource
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import cfgguide
from cfgguide import Index
from torture.subjects import Subject

_CALLS = ("fsync", "replace", "open", "write", "link", "rename", "fdopen", "mkdir")


@contextlib.contextmanager
def largest_file(n_bytes: int) -> Iterator[None]:
    """Have writes fail beyond so many bytes of a file; Python ignores the signal."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextlib.contextmanager
def failing_call(at: int) -> Iterator[list[int]]:
    """Have one of the calls of `os` that change files fail; yield how many there were."""
    counts = [0]
    error = errno.ENOSPC if at % 2 else errno.EIO

    def failing(call: Callable[..., Any]) -> Callable[..., Any]:
        def made(*arguments: Any, **options: Any) -> Any:
            counts[0] += 1
            if counts[0] == at:
                raise OSError(error, os.strerror(error))
            return call(*arguments, **options)

        return made

    with contextlib.ExitStack() as stack:
        for name in _CALLS:
            stack.enter_context(mock.patch.object(os, name, failing(getattr(os, name))))
        yield counts


class Files:
    """Saved indexes of one subject, and a cache."""

    def __init__(self, subject: Subject, folder: Path, rng: random.Random) -> None:
        self._subject = subject
        self._rng = rng
        self._folder = folder / subject.name.replace(" ", "-")
        self._folder.mkdir()
        self._path = self._folder / "index"
        self._index = subject.make()
        self._warm()
        self._index.save(self._path)
        self._size = max(1000, self._path.stat().st_size)

    def _warm(self) -> None:
        for place in self._rng.sample(self._subject.places, 5):
            assert self._subject.is_right(self._index, place)

    def save(self) -> tuple[bool, list[str]]:
        """Save while a write fails; return if it did, and what is lost or wrong afterwards."""
        if self._rng.random() < 0.05:
            self._index = self._subject.make()
        self._warm()
        before = self._path.read_bytes()
        has_failed = False
        try:
            if self._rng.random() < 0.6:
                with largest_file(self._rng.randrange(self._size)):
                    self._index.save(self._path)
            else:
                with failing_call(self._rng.randint(1, 3)):
                    self._index.save(self._path)
        except OSError:
            has_failed = True
        found = []
        if not self._path.exists():
            return has_failed, ["lost: the file"]
        if has_failed and self._path.read_bytes() != before:
            found.append("lost: the file before")
        left = [each.name for each in self._folder.iterdir() if each != self._path]
        if left:
            found.append(f"left: {left[0][-8:]}")
            for name in left:
                (self._folder / name).unlink()
        try:
            again = Index.load(self._path, self._index.vocabulary)
        except cfgguide.CfgGuideError as error:
            self._index.save(self._path)
            return has_failed, [f"lost: {error}"]
        places = self._rng.sample(self._subject.places, 2)
        found += ["wrong mask of a file"] * len(self._subject.wrong(again, places))
        found += ["wrong mask"] * len(self._subject.wrong(self._index, places))
        return has_failed, found

    def cache(self) -> tuple[bool, list[str]]:
        """Store masks in the cache while a write fails: no error, and right masks later."""
        with mock.patch.dict(os.environ, {"CFGGUIDE_CACHE": str(self._folder.parent / "cache")}):
            with warnings_off():
                index = cfgguide.compile(_grammar_of(self._index), self._index.vocabulary)
            for place in self._rng.sample(self._subject.places, 3):
                if not self._subject.is_right(index, place):
                    return False, ["wrong mask of the cache"]
            limit = self._rng.randrange(self._size)
            with largest_file(limit):
                index.cache_masks()
            with warnings_off():
                again = cfgguide.compile(_grammar_of(self._index), self._index.vocabulary)
            places = self._rng.sample(self._subject.places, 2)
            return limit < self._size // 2, ["wrong mask of the cache"] * len(
                self._subject.wrong(again, places)
            )


@contextlib.contextmanager
def warnings_off() -> Iterator[None]:
    with warnings.catch_warnings(action="ignore"):
        yield


def _grammar_of(index: Index) -> cfgguide.Grammar:
    assert index.output_type is not None, "it was compiled"
    return index.output_type.grammar
