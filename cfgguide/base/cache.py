"""The folder in which results are kept for later processes.

In: the digest of what a result was made from, and the result as arrays. Out: the same arrays in any
later process. Environment variables say where and how much:

``CFGGUIDE_CACHE``
    The folder; ``off`` or ``0`` for no cache. If it is unset or empty, platformdirs' folder for
    caches.
``CFGGUIDE_CACHE_BYTES``
    Most bytes of all entries together; 1,000,000,000 by default.

::

    <folder>/compiled/<kind>-<digest>         an entry (cfgguide.base.archive)
    <folder>/compiled/.<random>.partial       one that is being written, or whose writer was killed
    <folder>/models/                          not part of this: see cfgguide.models.load
    cfgguide/compiled/<kind>-<digest>         bundled grammars, made with the package and compressed

The cache never fails: if the folder cannot be read or written, results are computed again, and a
damaged entry is removed. Any number of processes may use one folder at once: an entry is complete
or absent. Its modification time is when it was last used, and the least recently used go first.

Anyone who can write to the folder decides what is read from it. So it must belong to the user of
the process, or to root, and no one else may be able to write to it; otherwise it is not used, and a
:class:`~cfgguide.errors.CacheWarning` says why, once for a process. Entries must belong to one of
these two as well. (ssh trusts its files on these terms.) Windows has no such owners and modes.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import stat
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import platformdirs

from cfgguide.base.replaced import PARTIAL, remove_leftovers
from cfgguide.errors import CacheWarning, IndexFormatError, LimitError

if TYPE_CHECKING:
    import numpy.typing as npt

    from cfgguide.base.archive import Arrays

T = TypeVar("T")

#: What comes with the package: entries that ``tools/compile_grammars.py`` made when it was built.
PACKAGED = Path(__file__).parents[1] / "compiled"

FOLDER_VARIABLE = "CFGGUIDE_CACHE"
SIZE_VARIABLE = "CFGGUIDE_CACHE_BYTES"
DEFAULT_MAX_BYTES = 1_000_000_000
MAX_ENTRIES = 4096  # listing so many takes 10 ms, for each new entry

_OFF = ("off", "0")
_MIN_BYTES = 4096  # what even a short file takes on most disks


def folder() -> Path:
    """Return the folder of everything that cfgguide stores, even if the cache is off."""
    named = os.environ.get(FOLDER_VARIABLE)
    if named and named.lower() not in _OFF:
        return Path(named).expanduser()
    return Path(platformdirs.user_cache_dir("cfgguide")).expanduser()


def user_cache() -> Cache | None:
    """Return the user's cache, or None if it is off or there is no place for it.

    Raises
    ------
    LimitError
        If the bound on bytes in the environment is not a number.
    """
    if os.environ.get(FOLDER_VARIABLE, "").lower() in _OFF:
        return None
    size = os.environ.get(SIZE_VARIABLE) or str(DEFAULT_MAX_BYTES)
    if not (size.isascii() and size.isdigit()):
        raise LimitError(
            f"{SIZE_VARIABLE} must be a number of bytes, such as 500000000, not {size!r}"
        )
    try:
        return Cache(folder() / "compiled", max_bytes=int(size))
    except (RuntimeError, ValueError):  # there is no home folder, or the number has 5,000 digits
        return None


def is_at_hand(kind: str, digest: str) -> bool:
    """Return whether an entry is in the package or the user's cache; it may turn out damaged."""
    cache = user_cache()
    places = [PACKAGED / f"{kind}-{digest}", *([] if cache is None else [cache.path(kind, digest)])]
    return any(map(os.path.exists, places))


def packaged(kind: str, digest: str) -> tuple[Arrays, Any] | None:
    """Return an entry that comes with the package, or None if there is none."""
    from cfgguide.base import archive

    path = PACKAGED / f"{kind}-{digest}"
    if not path.exists():
        return None
    try:
        return archive.read(path, kind=kind, digest=digest, is_compressed=True)
    except IndexFormatError:
        return None


def kept(kind: str, digest: str, unpacked: Callable[[Arrays, Any], T | None]) -> T | None:
    """Return what is made of an entry of the package or the user's cache; None if there is none.

    One that `unpacked` refuses with an :class:`~cfgguide.errors.IndexFormatError` is removed.
    """
    cache = user_cache()
    entry = packaged(kind, digest) or (cache and cache.load(kind, digest))
    try:
        return unpacked(*entry) if entry else None
    except IndexFormatError:
        if cache:
            cache.drop(kind, digest)
        return None


def hash_of_code(paths: Iterable[Path]) -> str:
    """Return a hash of files, by name: the code that an entry depends on."""
    code = hashlib.sha256()
    for path in sorted(map(os.fspath, paths)):
        # There are hundreds of files: a `Path` takes twice as long.
        with open(path, "rb", buffering=0) as file:
            content = hashlib.sha256(file.read()).digest()
        code.update(os.path.basename(path).encode() + b"\0" + content)
    return code.hexdigest()


class Entry(NamedTuple):
    """A file of the cache: when it was last used, its size and its path."""

    used: float
    n_bytes: int
    path: Path


@dataclass(frozen=True)
class Cache:
    """A folder of entries.

    Parameters
    ----------
    folder : Path
        Where they are; created with the first entry.
    max_bytes : int
        Most bytes of all entries together.
    max_entries : int
        Most entries.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = Cache(Path(folder) / "compiled")
    ...     cache.store("example", "d1", {"x": np.arange(3)}, {"y": 1})
    ...     arrays, value = cache.load("example", "d1")
    ...     cache.load("example", "d2") is None, arrays["x"].tolist(), value
    (True, [0, 1, 2], {'y': 1})
    """

    folder: Path
    max_bytes: int = DEFAULT_MAX_BYTES
    max_entries: int = MAX_ENTRIES

    def path(self, kind: str, digest: str) -> Path:
        """Return where an entry is, or would be."""
        return self.folder / f"{kind}-{digest}"

    def load(self, kind: str, digest: str) -> tuple[Arrays, Any] | None:
        """Return the arrays and the JSON value of an entry, or None if there is none."""
        from cfgguide.base import archive  # numpy is not needed to find the folder

        path = self.path(kind, digest)
        if not os.path.exists(path) or not self._is_trusted():
            return None
        try:
            entry = archive.read(path, kind=kind, digest=digest, owners=_trusted_users())
        except IndexFormatError:
            self.drop(kind, digest)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return entry

    def store(
        self, kind: str, digest: str, arrays: Mapping[str, npt.NDArray[Any]], value: object = None
    ) -> None:
        """Store an entry, if there is room and the folder can be written."""
        from cfgguide.base import archive

        if sum(array.nbytes for array in arrays.values()) > self.max_bytes:
            return
        with contextlib.suppress(OSError, LimitError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._is_trusted():
                archive.write(
                    self.path(kind, digest),
                    arrays,
                    value,
                    kind=kind,
                    digest=digest,
                    is_durable=False,
                    follows_links=False,
                )
                self.trim()

    def drop(self, kind: str, digest: str) -> None:
        """Remove an entry that turned out to be damaged."""
        _remove(self.path(kind, digest))

    def entries(self) -> list[Entry]:
        """Return all entries, the least recently used first."""
        return sorted(
            Entry(status.st_mtime, max(status.st_size, _MIN_BYTES), Path(file.path))
            for file, status in self._files()
            if not file.name.endswith(PARTIAL)
        )

    def trim(self) -> None:
        """Remove the least recently used entries until the rest is within bounds."""
        remove_leftovers(self.folder)
        n_entries = n_bytes = 0
        for file, status in self._files():
            if not file.name.endswith(PARTIAL):
                n_entries += 1
                n_bytes += max(status.st_size, _MIN_BYTES)
        if n_bytes <= self.max_bytes and n_entries <= self.max_entries:
            return
        for entry in self.entries():
            if n_bytes <= self.max_bytes and n_entries <= self.max_entries:
                break
            _remove(entry.path)
            n_entries -= 1
            n_bytes -= entry.n_bytes

    def clear(self) -> int:
        """Remove everything, unfinished files too; return the number of entries removed."""
        n_entries = len(self.entries())
        for file, _ in self._files():
            _remove(Path(file.path))
        return n_entries - len(self.entries())

    def problem(self) -> str:
        """Return why the folder is not used, or an empty text; one that is missing is made later.

        >>> Cache(Path("no such folder")).problem()
        ''
        """
        try:
            status = os.stat(self.folder)
        except FileNotFoundError:
            return ""
        except OSError as error:
            return f"cannot be read: {error.strerror}"
        if os.name != "nt" and (what := _what_is_wrong(status)):
            return what
        return "" if os.access(self.folder, os.R_OK | os.W_OK) else "cannot be written to"

    def _is_trusted(self) -> bool:
        """Return whether no one else can write to the folder; tell the user if someone can."""
        if os.name == "nt":
            return True
        try:
            status = os.stat(self.folder)
        except OSError:
            return False
        what = _what_is_wrong(status)
        if what:
            _warn(f"{os.fspath(self.folder)!r} {what}")
        return not what

    def _files(self) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
        """Yield the regular files in the folder; nothing if it cannot be read."""
        with contextlib.suppress(OSError), os.scandir(self.folder) as files:
            for file in files:
                with contextlib.suppress(OSError):  # another process removed it
                    if file.is_file(follow_symlinks=False):
                        yield file, file.stat(follow_symlinks=False)


def _trusted_users() -> frozenset[int] | None:
    """Return the ids of root and of the user of this process; None where there are no ids."""
    return None if os.name == "nt" else frozenset((0, os.geteuid()))


def _what_is_wrong(status: os.stat_result) -> str:
    """Return why a folder cannot be trusted; an empty text if it can."""
    trusted = _trusted_users()
    if trusted is not None and status.st_uid not in trusted:
        return f"belongs to the user {status.st_uid}"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "can be written to by others"
    return ""


@functools.cache
def _warn(what: str) -> None:
    warnings.warn(
        f"the cache folder {what}, so it is not used; make it your own (chown, chmod 700), set "
        f"{FOLDER_VARIABLE} to another folder, or to off",
        CacheWarning,
        stacklevel=2,
    )


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
