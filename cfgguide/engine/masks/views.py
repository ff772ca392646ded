"""The arrays of :mod:`cfgguide.engine.masks.arrays`, as the kernels read them.

A kernel reads and writes single numbers. numpy makes an object for each; a memoryview gives a whole
number of Python's, which never overflows. Where the package is compiled, `views.pxd` makes these
classes structures of C with the same fields, and the kernels' loops read memory directly.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

from cfgguide.engine.masks.arrays import Base, EffectSpace, Tables, Workspace
from cfgguide.engine.vocabulary.trie import PackedTrie

Record = TypeVar("Record", bound=tuple[Any, ...])


class _View:
    """A record whose arrays are memoryviews."""

    def __init__(self, record: Any) -> None:
        for name, value in zip(record._fields, record, strict=True):
            setattr(self, name, value if isinstance(value, int) else memoryview(value))


class TablesView(_View):
    """A view of :class:`cfgguide.engine.masks.arrays.Tables`."""


class TrieView(_View):
    """A view of :class:`cfgguide.engine.vocabulary.trie.PackedTrie`."""


class BaseView(_View):
    """A view of :class:`cfgguide.engine.masks.arrays.Base`."""


class WorkspaceView(_View):
    """A view of :class:`cfgguide.engine.masks.arrays.Workspace`."""


class EffectSpaceView(_View):
    """A view of :class:`cfgguide.engine.masks.arrays.EffectSpace`."""


_VIEWS = {
    Tables: TablesView,
    PackedTrie: TrieView,
    Base: BaseView,
    Workspace: WorkspaceView,
    EffectSpace: EffectSpaceView,
}


def view(record: Record) -> Record:
    """Return a record with memoryviews for its arrays; the memory is the same."""
    return cast(Record, _VIEWS[type(record)](record))
