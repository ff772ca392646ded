"""Files that are written whole or not at all.

In: a path. Out: an open file, which is renamed to that path once it is complete. So a concurrent
reader gets the old file or the new one. ::

    <folder>/<name>                       the file
    <folder>/.<16 hex digits>.partial     one that is being written, or whose writer was killed

A writer locks its file while it writes. Whoever writes to the folder later removes what is old and
not locked: a lock ends with its process, so only leftovers are unlocked for long. Where a file
system has no locks, age alone decides.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows, which lets nobody remove a file that is open
    fcntl = None  # type: ignore[assignment]

#: Longer than any write takes.
STALE_SECONDS = 60 * 60
PARTIAL = ".partial"  # ends the name of a file that is being written

_PARTIAL_NAME = re.compile(rf"\.[0-9a-f]{{16}}{re.escape(PARTIAL)}")


@contextlib.contextmanager
def replaced(
    path: str | os.PathLike[str], *, is_durable: bool = True, follows_links: bool = True
) -> Iterator[IO[bytes]]:
    """Open a file to be written, which replaces another when the block ends without an error.

    Parameters
    ----------
    path : path
        The file. If it is a symbolic link, the file that it leads to is replaced.
    is_durable : bool
        Whether the data is on the disk afterwards, even if the machine then fails.
    follows_links : bool
        Otherwise a link itself is replaced.

    Raises
    ------
    OSError
        If the file cannot be written, or what is there is no regular file.
    """
    path = _target(path) if follows_links else Path(path)
    remove_leftovers(path.parent)
    partial = path.with_name(f".{secrets.token_hex(8)}{PARTIAL}")
    try:
        with partial.open("xb") as file:
            _lock(file.fileno())
            yield file
            file.flush()
            if is_durable:
                os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        if isinstance(error, OSError) and error.filename == str(partial):
            error.filename = str(path)  # the name that the user gave
        raise


def remove_leftovers(folder: Path) -> None:
    """Remove files that killed writers left in a folder: old ones that no process has locked."""
    with contextlib.suppress(OSError), os.scandir(folder) as files:
        for file in files:
            if _PARTIAL_NAME.fullmatch(file.name):
                with contextlib.suppress(OSError):  # another process removed it, or may not
                    _remove_if_left(Path(file.path))


def _target(path: str | os.PathLike[str]) -> Path:
    """Return the file that a path leads to; a device, a pipe or a folder is not to be replaced."""
    target = os.path.realpath(path)
    try:
        mode = os.lstat(target).st_mode
    except FileNotFoundError:
        return Path(target)
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "there is something else than a file", os.fspath(path))
    return Path(target)


def _remove_if_left(partial: Path) -> None:
    status = partial.lstat()
    if time.time() - status.st_mtime <= STALE_SECONDS:
        return
    if fcntl is None or not stat.S_ISREG(status.st_mode):
        partial.unlink()
        return
    descriptor = os.open(partial, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if _lock(descriptor):
            partial.unlink()
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Lock a file until it is closed; return False if another process has."""
    if fcntl is not None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # there are no locks here
            pass
    return True
