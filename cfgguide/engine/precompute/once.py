"""An index in a file that many processes need at once: one of them makes it, all open it.

In: a path where all of them can write, such as storage that the nodes of a cluster share. Out: the
index in that file. ::

    <path>              the index; it appears when it is complete
    <path>.building     a process makes it, and touches this file while it lives

Whoever makes `<path>.building` builds. The others wait for the index, or for the file to stand
still, as it does when the builder was killed; then one of them goes on. Each measures that with its
own clock, so the clocks of nodes may differ. If two build all the same, as after a pause of the
whole builder, the last index replaces the first, which is the same: nothing is lost but time.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from cfgguide.engine.index.index import Index

BUILDING = ".building"
_LOOKED_AT, _TOUCHED = 0.2, 2.0  # every so many seconds


def built_once(
    path: str | os.PathLike[str],
    tokenizer_or_vocabulary: object,
    build: Callable[[], Index],
    *,
    is_mapped: bool = True,
    patience: float = 30.0,
) -> Index:
    """Return the index in a file; if there is none, one of the processes that ask builds it.

    Parameters
    ----------
    path : path
        The file, in a folder that is there. One file is for one grammar and one vocabulary: it is
        not built again when these change.
    tokenizer_or_vocabulary : Vocabulary, or a tokenizer
        The one that the index is for.
    build : callable
        Returns the index: it compiles the grammar, and may precompute masks.
    is_mapped : bool
        As for :meth:`Index.load`: the processes of a machine share the file's memory.
    patience : float
        Seconds after which a builder that gives no sign of life is taken for dead.

    Raises
    ------
    IndexFormatError
        If the file is damaged, no index, or one for another vocabulary or version: remove it.
    OSError
        If it cannot be read or written.
    Exception
        What `build` raises, in each process that has called it; nothing is left behind.

    Examples
    --------
    >>> import cfgguide, pathlib, tempfile
    >>> vocabulary = cfgguide.Vocabulary.of_bytes()
    >>> def build():
    ...     return cfgguide.compile(cfgguide.Grammar("start: /[0-9]+/"), vocabulary)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     index = built_once(pathlib.Path(folder, "numbers.index"), vocabulary, build)
    >>> bytes(cfgguide.Guide(index).allowed_token_ids().tolist())
    b'0123456789'
    """
    path = Path(path)
    claim = path.with_name(path.name + BUILDING)
    sign, since = None, time.monotonic()
    while True:
        if path.exists():
            return Index.load(path, tokenizer_or_vocabulary, is_mapped=is_mapped)
        with contextlib.suppress(FileExistsError), _claimed(claim):
            if not path.exists():  # it may have come since
                build().save(path)
            continue
        seen = _sign_of_life(claim)
        if seen != sign:
            sign, since = seen, time.monotonic()
        elif time.monotonic() - since > patience:
            claim.unlink(missing_ok=True)
        time.sleep(_LOOKED_AT)


@contextlib.contextmanager
def _claimed(claim: Path) -> Iterator[None]:
    """Make a file that no other process has made, and touch it until the block ends.

    Raises
    ------
    FileExistsError
        If it is there.
    """
    os.close(os.open(claim, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
    is_over = threading.Event()

    def touch() -> None:
        while not is_over.wait(_TOUCHED):
            with contextlib.suppress(OSError):  # somebody took it for left, and goes on
                os.utime(claim)

    toucher = threading.Thread(target=touch, name="cfgguide-building", daemon=True)
    try:
        toucher.start()
        yield
    finally:
        is_over.set()
        if toucher.is_alive():
            toucher.join()  # Windows removes no file that is open
        claim.unlink(missing_ok=True)


def _sign_of_life(claim: Path) -> tuple[int, int] | None:
    """Return what changes while a builder lives."""
    try:
        status = claim.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns
