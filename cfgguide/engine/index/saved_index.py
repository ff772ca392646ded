"""An index as a file, and its masks in the user's cache.

In: an index. Out: a file with what makes its machine again
(:meth:`cfgguide.engine.machine.protocol.Machine.packed`), and its masks, where these mean the same
in another process. A file is written under another name and renamed when it is complete.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from cfgguide.base import archive
from cfgguide.base.archive import Arrays
from cfgguide.engine.index import index_cache, index_file
from cfgguide.engine.index.configuration_trie import Path
from cfgguide.engine.masks.subset import Subset, bitmask_of
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import IndexFormatError

if TYPE_CHECKING:
    from cfgguide.engine.index.index import Index

KIND = "index"
_MASKS = "masks."  # with which the names of their arrays begin


def save(index: Index, path: str | os.PathLike[str]) -> None:
    """Write an index with all masks; see :meth:`Index.save`."""
    archive.write(path, *packed(index), kind=KIND, digest=index.digest)


def packed(index: Index) -> tuple[Arrays, dict[str, object]]:
    """Return what makes an index again, and its masks, as arrays and a JSON value."""
    arrays, value = index.machine.packed()
    files = index.masks.files
    if files is not None:
        masks, described = _packed_masks(index.entries(), index.vocabulary.n_words)
        arrays = arrays | masks | files.packed()
        value = value | described
    return arrays, value | {"special": index.vocabulary.symbols}


def _packed_masks(entries: Mapping[Path, Subset], n_words: int) -> tuple[Arrays, dict[str, object]]:
    masks, lexers = index_file.packed(entries.items(), n_words)
    return {f"{_MASKS}{name}": array for name, array in masks.items()}, {"masks": lexers}


def load(
    path: str | os.PathLike[str],
    vocabulary: Vocabulary,
    *,
    max_bytes: int | None,
    is_mapped: bool,
) -> Index:
    """Open an index that was saved; see :meth:`Index.load`."""
    from cfgguide.compiler import load_machine
    from cfgguide.engine.index.index import Index

    content = archive.opened(path, kind=KIND, is_mapped=is_mapped)
    arrays, value = content.arrays, content.value
    if not isinstance(value, dict) or not {"grammar", "schema", "pattern"} & set(value):
        raise IndexFormatError(f"{os.fspath(path)!r} holds no grammar; save the index again")
    machine, vocabulary = load_machine(arrays, value, vocabulary, _symbols_in(value))
    index = Index(machine, vocabulary, max_bytes=max_bytes)
    content.check(index.digest)
    use_packed(index, arrays, value)
    return index


def use_file(index: Index, path: str | os.PathLike[str]) -> None:
    """Use the masks of a file; see :meth:`Index.add_file`."""
    use_packed(index, *archive.read(path, kind=KIND, digest=index.digest))


def use_packed(index: Index, arrays: Arrays, value: Any) -> None:
    """Use masks as :func:`packed` returns them; raises as :meth:`Index.add_file`."""
    files = index.masks.files
    if files is None:
        return
    masks = value.get("masks") if isinstance(value, dict) else None
    tokens = index.vocabulary.trie.packed.token_ids
    possible = index.eos_bitmask | bitmask_of(tokens, index.vocabulary.n_words)
    stored = index_file.Stored(archive.part(arrays, _MASKS), masks, possible=possible)
    files.use_packed(arrays)
    index.add_stored(stored)


def cache(index: Index) -> None:
    """Store the masks of an index in the user's cache, with those that are there already."""
    if index.masks.files is not None:
        _use_cached_masks(index)
        masks = _packed_masks(index.entries(), index.vocabulary.n_words)
        index_cache.store(index.digest, *masks)


def use_cached(index: Index) -> None:
    """Use what the user's cache has of an index."""
    files = index.masks.files
    if files is not None:
        files.prepare(index.digest)
        _use_cached_masks(index)


def _use_cached_masks(index: Index) -> None:
    index_cache.use(index.digest, partial(use_packed, index))


def _symbols_in(value: dict[str, Any]) -> dict[str, tuple[str | int, ...]]:
    """Return the special terminals that a file names."""
    special = value.get("special", {})
    is_right = isinstance(special, dict) and all(
        isinstance(tokens, list) and tokens and all(type(each) in (str, int) for each in tokens)
        for tokens in special.values()
    )
    if not is_right:
        raise IndexFormatError("the special terminals are damaged; save the index again")
    return {name: tuple(tokens) for name, tokens in special.items()}
