"""Files of named arrays and one JSON value, which may be damaged when they are read.

In: arrays by name and a JSON value; out: one file in the safetensors format, and back. ::

    bytes 0-7     length of the header, little-endian; then the header: JSON, padded with spaces
                  {"__metadata__": {"checksum": "0123abcd", "digest": ..., "format": "cfgguide 1",
                   "json": ..., "kind": ...},
                   "name": {"dtype": "I32", "shape": [3, 4], "data_offsets": [0, 48]}, ...}
    then          the arrays, without gaps: those of the largest items first, then by name

The data starts at a multiple of 64 bytes, and the order keeps every array aligned to its items.
The value of ``json`` is the JSON value as text, since safetensors allows only strings there. The
checksum is the CRC-32 of the whole file with ``00000000`` in its place. It comes first, so that a
damaged file is refused before anything else in it is parsed.

A checksum detects damage, not malice: anyone who can write files can compute it. Reading takes time
and memory in proportion to the size of the file, and never runs or unpacks anything. The caller
checks what the numbers in the arrays mean.

What comes with the package may be compressed: all of a file is then one zlib stream. Tables shrink
to a tenth, and are inflated at hundreds of megabytes a second, which is mostly less than what comes
after. The reader says that it expects such a file, so that no other one is inflated.

What is read is a copy, so what was checked stays as it was, whatever happens to the file. A file
that is mapped instead is shared between processes, and must not be changed: whoever cuts it short
ends the processes that use it (SIGBUS), and whoever writes into it undoes the checks.

Source of the format: https://huggingface.co/docs/safetensors, "Format".
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
import re
import stat
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from cfgguide.base.replaced import replaced
from cfgguide.errors import IndexFormatError, LimitError

Arrays = dict[str, npt.NDArray[Any]]

FORMAT = "cfgguide 1"  # raised when the layout of the file changes; each kind has its own version
MAX_HEADER = 1 << 24  # bytes; parsing takes up to about twenty times as many
_CHUNK = 1 << 24  # bytes read at once; an interrupt waits no longer
_ALIGNMENT = 64
_MAX_DIMENSIONS = 8
_MAX_ITEMS = 1 << 48
_MIN_BYTES = 10
_MAX_INFLATED = 1 << 28  # bytes of a compressed file: a small one could claim any size
_DTYPES = {
    "BOOL": np.dtype(np.bool_),
    "F16": np.dtype("<f2"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "I8": np.dtype("i1"),
    "I16": np.dtype("<i2"),
    "I32": np.dtype("<i4"),
    "I64": np.dtype("<i8"),
    "U8": np.dtype("u1"),
    "U16": np.dtype("<u2"),
    "U32": np.dtype("<u4"),
    "U64": np.dtype("<u8"),
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_METADATA = "__metadata__"
_NO_CHECKSUM = b"00000000"
_BEGINNING = b'{"__metadata__":{"checksum":"'  # of every header
_CHECKSUM = re.compile(re.escape(_BEGINNING) + rb'([0-9a-f]{8})"')
_CHECKSUM_PLACE = slice(len(_BEGINNING), len(_BEGINNING) + 8)


def digest(arrays: Mapping[str, npt.NDArray[Any]], value: object) -> str:
    """Return the SHA-256 in hex of named arrays and a JSON value, the same in every process.

    Examples
    --------
    >>> digest({"x": np.zeros(2)}, [1]) == digest({"x": np.zeros(2)}, (1,))
    True
    """
    sha256 = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        sha256.update(json.dumps([name, array.dtype.str, array.shape, None]).encode())
        sha256.update(np.ascontiguousarray(array).data)
    sha256.update(_json(value).encode())
    return sha256.hexdigest()


def write(
    path: str | os.PathLike[str],
    arrays: Mapping[str, npt.NDArray[Any]],
    value: object = None,
    *,
    kind: str,
    digest: str,
    is_durable: bool = True,
    follows_links: bool = True,
    is_compressed: bool = False,
) -> None:
    """Write a file, or leave everything as it was.

    A concurrent reader gets the old file or the new one (:mod:`cfgguide.base.replaced`).

    Parameters
    ----------
    path : path
        The file; an existing one is replaced. Through a symbolic link, the file that it leads to.
    arrays : mapping of str to array
        Of bool, integers, or floating-point numbers.
    value : JSON value
        Tuples come back as lists.
    kind : str
        What the file is for; `read` refuses another kind.
    digest : str
        What it was made from.
    is_durable : bool
        Whether the data is on the disk when this returns, even if the machine then fails.
    follows_links : bool
        Whether a symbolic link is followed, and not replaced.
    is_compressed : bool
        Whether to write one zlib stream.

    Raises
    ------
    OSError
        If the file cannot be written, or what is there is no regular file.
    LimitError
        If the JSON value and the names need more than 16 MB.
    """
    ordered = sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    parts = [np.asarray(array, array.dtype.newbyteorder("<"), order="C") for _, array in ordered]
    names = [name for name, _ in ordered]
    header = _header(names, parts, _json(value), kind=kind, digest=digest)
    length = len(header).to_bytes(8, "little")
    checksum = zlib.crc32(header, zlib.crc32(length))
    for part in parts:
        checksum = zlib.crc32(_bytes_of(part), checksum)
    header[_CHECKSUM_PLACE] = f"{checksum:08x}".encode()
    content: list[bytes | bytearray | memoryview] = [length, header, *map(_bytes_of, parts)]
    if is_compressed:
        content = [zlib.compress(b"".join(content), 9)]
    with replaced(path, is_durable=is_durable, follows_links=follows_links) as file:
        for each in content:
            file.write(each)


def read(
    path: str | os.PathLike[str],
    *,
    kind: str,
    digest: str | None = None,
    is_mapped: bool = False,
    owners: frozenset[int] | None = None,
    is_compressed: bool = False,
) -> tuple[Arrays, Any]:
    """Return the arrays and the JSON value of a file.

    Parameters
    ----------
    path : path
        The file.
    kind : str
        What it must be for.
    digest : str, optional
        What it must have been made from.
    is_mapped : bool
        Whether the file is mapped, not copied: processes that map one file share its memory. Only
        for a file that nobody writes into or cuts short while it is used.
    owners : frozenset of int, optional
        The users of whom one must own the file. By default anyone may.
    is_compressed : bool
        Whether it must be one zlib stream; such a file is not mapped.

    Returns
    -------
    tuple of (dict of str to array, JSON value)
        The arrays are read-only views of one copy of the file, or of the mapped file.

    Raises
    ------
    IndexFormatError
        If the file cannot be read, is damaged, or is not one of that kind and digest.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(f"{folder}/a", {"x": np.arange(3)}, {"y": 1}, kind="example", digest="0")
    ...     arrays, value = read(f"{folder}/a", kind="example")
    >>> arrays["x"].tolist(), value
    ([0, 1, 2], {'y': 1})
    """
    content = opened(
        path, kind=kind, is_mapped=is_mapped, owners=owners, is_compressed=is_compressed
    )
    if digest is not None:
        content.check(digest)
    return content.arrays, content.value


def opened(
    path: str | os.PathLike[str],
    *,
    kind: str,
    is_mapped: bool = False,
    owners: frozenset[int] | None = None,
    is_compressed: bool = False,
) -> Content:
    """Return what :func:`read` returns, for whoever needs it to tell which digest is right."""
    reader = _Reader(path, kind)
    content = reader.content(is_mapped and not is_compressed, owners)
    return reader.read(reader.inflated(content) if is_compressed else content)


@dataclass(frozen=True)
class Content:
    """What a file holds.

    Attributes
    ----------
    arrays : dict of str to array
        Read-only.
    value : JSON value
        Beside the arrays.
    digest : str
        What it says that it was made from.
    """

    arrays: Arrays
    value: Any
    digest: str | None
    refuse: Callable[[str], NoReturn]

    def check(self, digest: str) -> None:
        """Raise `IndexFormatError` if the file was made from something else."""
        if self.digest != digest:
            self.refuse(
                "it was made from something else (another grammar, vocabulary or version): its "
                f"digest is {self.digest!r}, not {digest!r}"
            )


def _aligned(size: int) -> npt.NDArray[np.uint8]:
    room = np.empty(size + _ALIGNMENT, np.uint8)
    start = -room.__array_interface__["data"][0] % _ALIGNMENT
    return room[start : start + size]


def _bytes_of(array: npt.NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _header(
    names: list[str], parts: list[npt.NDArray[Any]], text: str, *, kind: str, digest: str
) -> bytearray:
    """Return the padded header, with an empty checksum."""
    metadata = {
        "checksum": _NO_CHECKSUM.decode(),
        "digest": digest,
        "format": FORMAT,
        "json": text,
        "kind": kind,
    }
    described: dict[str, object] = {_METADATA: metadata}
    end = 0
    for name, part in zip(names, parts, strict=True):
        start, end = end, end + part.nbytes
        described[name] = {
            "dtype": _NAMES[part.dtype],
            "shape": list(part.shape),
            "data_offsets": [start, end],
        }
    header = json.dumps(described, separators=(",", ":"), allow_nan=False).encode()
    header += b" " * (-(8 + len(header)) % _ALIGNMENT)
    if len(header) > MAX_HEADER:
        raise LimitError(f"the names and texts of a file need more than {MAX_HEADER} bytes")
    return bytearray(header)


class _Reader:
    """Reads one file; whatever is wrong with it raises an IndexFormatError that names the file."""

    def __init__(self, path: str | os.PathLike[str], kind: str) -> None:
        self._path = os.fspath(path)
        self._kind = kind

    def read(self, content: npt.NDArray[np.uint8]) -> Content:
        """Return what the bytes of the file hold."""
        header = self._checked_header(content)
        described = self._parsed(header)
        metadata = described.pop(_METADATA, None)
        if not isinstance(metadata, dict) or not all(
            isinstance(text, str) for text in metadata.values()
        ):
            self._refuse("its metadata is not an object of strings")
        self._check(metadata)
        if "json" not in metadata:
            self._refuse("it has no JSON value")
        arrays = self._arrays(described, content[8 + len(header) :])
        value = self._parsed(metadata["json"], is_object=False)
        return Content(arrays, value, metadata.get("digest"), self._refuse)

    def _refuse(self, what: str, cause: BaseException | None = None) -> NoReturn:
        raise IndexFormatError(
            f"{self._path!r} is not a usable file of kind {self._kind!r}: {what}; make it again, "
            "or remove it"
        ) from cause

    def inflated(self, content: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """Return what a zlib stream holds."""
        stream = zlib.decompressobj()
        try:
            data = stream.decompress(content.data, _MAX_INFLATED)
        except zlib.error as error:
            self._refuse(f"it cannot be inflated ({error})", error)
        if not stream.eof or stream.unused_data:
            self._refuse("it is not one whole zlib stream, or too large")
        if len(data) < _MIN_BYTES:
            self._refuse(f"it is cut short: {len(data)} bytes cannot hold a header")
        inflated = _aligned(len(data))
        inflated[:] = np.frombuffer(data, np.uint8)
        inflated.flags.writeable = False
        return inflated

    def content(self, is_mapped: bool, owners: frozenset[int] | None) -> npt.NDArray[np.uint8]:
        """Return the bytes of the file; it must be regular, and long enough for a header."""
        try:
            # A pipe must not block. The checks are of what was opened, not of the name.
            flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
            descriptor = os.open(self._path, flags)
        except (OSError, ValueError) as error:
            self._refuse(f"it cannot be opened ({error})", error)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                self._refuse("it is not a regular file")
            if owners is not None and status.st_uid not in owners:
                self._refuse("it belongs to another user")
            if status.st_size < _MIN_BYTES:
                self._refuse(f"it is cut short: {status.st_size} bytes cannot hold a header")
            if is_mapped:
                mapped = mmap.mmap(descriptor, status.st_size, access=mmap.ACCESS_READ)
                return np.frombuffer(mapped, np.uint8)
            return self._copied(descriptor, status.st_size)
        except (OSError, ValueError, MemoryError) as error:
            self._refuse(f"it cannot be read ({str(error) or 'not enough memory'})", error)
        finally:
            os.close(descriptor)

    def _copied(self, descriptor: int, size: int) -> npt.NDArray[np.uint8]:
        """Return a read-only copy of a file of which nothing is believed but that it ends."""
        content = _aligned(size)
        at = 0
        with open(descriptor, "rb", buffering=0, closefd=False) as file:
            while at < size:
                n_read = file.readinto(content.data[at : at + _CHUNK])
                if not n_read:
                    self._refuse(f"it is cut short: {at} of {size} bytes are there")
                at += n_read
        content.flags.writeable = False
        return content

    def _checked_header(self, content: npt.NDArray[np.uint8]) -> bytes:
        """Return the header of an undamaged file."""
        if content[:4].tobytes() in (b"PK\x03\x04", b"PK\x05\x06"):
            self._refuse("it is a zip archive, such as an .npz, which is never unpacked")
        length = int.from_bytes(content[:8].tobytes(), "little")
        if length > MAX_HEADER:
            self._refuse(f"its header claims {length} bytes, more than the {MAX_HEADER} allowed")
        if length > len(content) - 8:
            self._refuse(f"it is cut short: of {length} bytes of header it has {len(content) - 8}")
        header = content[8 : 8 + length].tobytes()
        match = _CHECKSUM.match(header)
        if match is None:
            self._refuse("its header does not start as cfgguide writes it")
        blank = bytearray(header)
        blank[_CHECKSUM_PLACE] = _NO_CHECKSUM
        checksum = zlib.crc32(blank, zlib.crc32(content[:8].data))
        checksum = zlib.crc32(content[8 + length :].data, checksum)
        if int(match[1], 16) != checksum:
            self._refuse("it is damaged: its checksum is wrong")
        return header

    def _parsed(self, text: bytes | str, *, is_object: bool = True) -> Any:
        try:
            value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            self._refuse(f"its JSON cannot be read ({error})", error)
        if is_object and not isinstance(value, dict):
            self._refuse("its header is not a JSON object")
        return value

    def _check(self, metadata: dict[str, str]) -> None:
        if metadata.get("format") != FORMAT:
            self._refuse(f"it has the format {metadata.get('format')!r}, not {FORMAT!r}")
        if metadata.get("kind") != self._kind:
            self._refuse(f"it is of kind {metadata.get('kind')!r}")

    def _arrays(self, described: dict[str, Any], data: npt.NDArray[np.uint8]) -> Arrays:
        """Return the arrays, which must fill all of the data without gaps."""
        extents = [self._extent(name, what) for name, what in described.items()]
        arrays: Arrays = {}
        end = 0
        for start, stop, name, dtype, shape in sorted(extents, key=lambda extent: extent[:3]):
            if start != end or start % dtype.itemsize or stop > len(data):
                self._refuse(f"the array {name!r} overlaps another, or lies outside the file")
            end = stop
            arrays[name] = data[start:stop].view(dtype).reshape(shape)
        if end != len(data):
            self._refuse(f"there are {len(data) - end} bytes after its arrays")
        return arrays

    def _extent(self, name: str, what: Any) -> tuple[int, int, str, np.dtype[Any], list[int]]:
        """Return the start, end, name, dtype and shape of a described array."""
        if not isinstance(what, dict) or set(what) != {"dtype", "shape", "data_offsets"}:
            self._refuse(f"the array {name!r} is not described by dtype, shape and data_offsets")
        dtype = _DTYPES.get(what["dtype"]) if isinstance(what["dtype"], str) else None
        if dtype is None:
            self._refuse(f"the array {name!r} has the dtype {what['dtype']!r}")
        shape, offsets = what["shape"], what["data_offsets"]
        if not _is_numbers(shape) or len(shape) > _MAX_DIMENSIONS:
            self._refuse(f"the array {name!r} does not have the shape of an array")
        if math.prod(max(length, 1) for length in shape) > _MAX_ITEMS:
            self._refuse(f"the array {name!r} claims more than {_MAX_ITEMS} items")
        size = math.prod(shape) * dtype.itemsize
        if not _is_numbers(offsets) or len(offsets) != 2 or offsets[1] - offsets[0] != size:
            self._refuse(f"the array {name!r} has data_offsets that do not fit its shape")
        return offsets[0], offsets[1], name, dtype, shape


def _is_numbers(value: object) -> bool:
    """Return whether a JSON value is a list of numbers from 0 to the most items."""
    return isinstance(value, list) and all(
        type(number) is int and 0 <= number <= 8 * _MAX_ITEMS for number in value
    )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) != len(pairs):
        raise ValueError("a name occurs twice in one object")
    return unique


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def part(arrays: Arrays, prefix: str) -> Arrays:
    """Return the arrays whose names begin with a prefix, without it."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
