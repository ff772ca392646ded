"""The configuration trie: which subset of the vocabulary belongs to which configurations.

A mask depends on what the configuration knows of the lexer, and on as much of its stack, from the
top, as was read when the mask was made. Entries are stored under just that path, so one entry
serves all stacks that begin with it. No two entries lie on one path: which state is read next
depends only on those read before. ::

    configuration   ((inside STRING), stack 17 4 0)     path (12, 17, 4, 0)
    read            17 and 4 only                        entry under (12, 17, 4)

Paths are kept as ints (:mod:`cfgguide.engine.index.memo`), and looked up level by level in one
hash table. As a trie (``pygtrie.Trie``) they are shown and saved.

Entries may be bounded in bytes. Then old entries are dropped, those that were added first before
others; what is used becomes young, and when no old ones are left, the young become old. Files may
hold more entries (:mod:`cfgguide.engine.index.index_file`): one that is found there is added.

A change that was interrupted half-way is noticed before the next look-up, and entries and subsets
are made again of the entries that are there.

Source: Willard & Louf 2023, section 4, "a trie-indexed map".
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pygtrie

from cfgguide.engine.index.memo import Entries
from cfgguide.engine.masks.arrays import NONE
from cfgguide.engine.masks.subset import Int32Array, Subset, Subsets
from cfgguide.errors import GrammarError, shown

if TYPE_CHECKING:
    from cfgguide.engine.index.index_file import Stored

Path = tuple[Hashable, ...]

_KEPT = 0.75  # of the bound, after entries were dropped
_ENTRY, _LEVEL = 40, 4  # approximate bytes of an entry, and of each level of its path


class Mask(NamedTuple):
    """A mask, and what it depends on.

    Attributes
    ----------
    depth : int
        How many of the topmost states of the stacks.
    bitmask : int32, shape (n_words,)
        The tokens as bits.
    reads : int
        What it depends on of the indentation: `LEVEL_READ`, `COLUMNS_READ`, as bits.
    walked : bytes
        A digest of what was found that makes the bitmask; empty if there is none.
    subset : Subset or None
        The same tokens, if other indexes have them, too.
    """

    depth: int
    bitmask: Int32Array
    reads: int = 0
    walked: bytes = b""
    subset: Subset | None = None


class MaskKey(Protocol):
    """What the mask of a configuration may depend on."""

    def candidates(self, depth: int) -> Iterable[Path]:
        """Return paths of which one has a prefix that is an entry, if there is an entry.

        No entry has a longer path than of a mask that depends on `depth` states of the stack.
        """

    def path(self, mask: Mask) -> Path:
        """Return the path of what a mask depends on."""


class MakesMasks(Protocol):
    """Makes masks of keys; see :class:`cfgguide.engine.machine.protocol.Masks`."""

    def mask(self, key: Any, known: ConfigurationTrie) -> Mask | None:
        """Make the mask of a key."""


class ConfigurationTrie:
    """Subsets by configuration.

    Parameters
    ----------
    n_words : int
        Length of a bitmask.
    like : callable
        Masks of paths for which this is equal are expected to be alike.
    max_bytes : int, optional
        Most bytes of the entries and their subsets; the least recently used go first.
    """

    def __init__(
        self,
        n_words: int,
        like: Callable[[Path], Hashable],
        *,
        max_bytes: int | None = None,
    ) -> None:
        self._n_words = n_words
        self.like = like
        self.max_bytes = max_bytes
        self._young, self._old = Entries(), Entries()
        self._n_forgotten = 0  # of the old ones
        self._n_entries = self._levels = 0
        self._deepest = 1  # how much of a stack some entry depends on
        self._stored: list[Stored] = []
        self.subsets = Subsets(n_words)
        self._is_changing = False  # still True if a change was interrupted
        self.n_made = 0  # entries that no file has
        self.n_dropped = 0

    def __len__(self) -> int:
        return self._n_entries

    def __iter__(self) -> Iterator[tuple[Path, Subset]]:
        for entries in (self._old, self._young):
            for number, subset in enumerate(entries.values):
                if subset is not None:
                    yield entries.path(number), subset

    @property
    def nbytes(self) -> int:
        """Approximate bytes of the entries and their subsets."""
        return self.subsets.nbytes + _ENTRY * len(self) + _LEVEL * self._levels

    def mend(self) -> None:
        """Make the subsets again, if a change was interrupted; call this before anything else.

        An entry came before what finds it, and its subset was complete by then.
        """
        if not self._is_changing:
            return
        young, subsets, levels = Entries(), Subsets(self._n_words), 0
        for path, subset in self:
            if young.find(path) == NONE:
                young.add(path, subsets.add(subset.bitmask, like=self.like(path)))
                levels += len(path)
        self._young, self._old, self.subsets = young, Entries(), subsets
        self._n_entries, self._levels, self._n_forgotten = len(young), levels, 0
        self._is_changing = False

    @property
    def trie(self) -> pygtrie.Trie:
        """A view of all entries, those of files included."""
        return pygtrie.Trie(chain(*(stored.entries() for stored in self._stored), self))

    def paths(self) -> Iterator[Path]:
        """Yield the paths of all entries, those of files included."""
        for stored in self._stored:
            yield from stored.paths()
        for path, _ in self:
            yield path

    def add_stored(self, stored: Stored) -> None:
        """Add stored entries; they are searched after those that were added before."""
        self._stored.append(stored)
        self._deepest = max(self._deepest, stored.deepest)

    def load_stored(self) -> None:
        """Load all stored entries, so that their bytes count."""
        self._is_changing = True
        for path, subset in ((p, s) for stored in self._stored for p, s in stored.entries()):
            if self._known(path) is None:
                self._put(path, self.subsets.adopt(subset))
        self._is_changing = False

    def subset(self, key: MaskKey, masks: MakesMasks) -> Subset:
        """Return the subset of a key; it is made if there is none."""
        subset = self.find(key)
        if subset is not None:
            return subset
        mask = masks.mask(key, self)
        if not isinstance(mask, Mask):
            kind = type(masks).__name__
            raise GrammarError(f"mask() of {kind} returned {shown(mask)}; it is a Mask")
        return self.add_path(key.path(mask), mask)

    def find(self, key: MaskKey) -> Subset | None:
        """Return the subset of a key, if there is one."""
        for path in key.candidates(self._deepest):
            subset = self.find_path(path)
            if subset is not None:
                return subset
        return None

    def find_path(self, path: Path) -> Subset | None:
        """Return the subset under a prefix of a path, if there is one."""
        known = self._known(path)
        if known is not None:
            return known
        for stored in self._stored:
            entry = stored.find(path)
            if entry is not None:
                prefix, subset = entry
                self._is_changing = True
                subset = self.subsets.adopt(subset)
                self._put(prefix, subset)
                self._is_changing = False
                return subset
        return None

    def _known(self, path: Path) -> Subset | None:
        """Return the subset under a prefix of a path, if it is in memory, and that it was used."""
        number = self._young.find(path)
        if number != NONE:
            known: Subset = self._young.values[number]
            return known
        number = self._old.find(path)
        old: Subset | None = None if number == NONE else self._old.values[number]
        if old is not None:
            self._is_changing = True
            self._young.add(self._old.path(number), old)
            self._old.values[number] = None
            self._is_changing = False
        return old

    def add_precomputed(self, path: Path, mask: Mask) -> None:
        """Add a mask under a path, unless some entry already serves that path."""
        if self._known(path) is None:
            self.add_path(path, mask)

    def add_path(self, path: Path, mask: Mask) -> Subset:
        """Add a mask under a path that has no entry yet."""
        self._is_changing = True
        if mask.subset is not None:
            subset = self.subsets.adopt(mask.subset)
        else:
            subset = self.subsets.add(mask.bitmask, like=self.like(path), walked=mask.walked)
        self.n_made += 1
        self._deepest = max(self._deepest, mask.depth)
        self._put(path, subset)
        self._is_changing = False
        return subset

    def _put(self, path: Path, subset: Subset) -> None:
        self._young.add(path, subset)
        self._n_entries += 1
        self._levels += len(path)
        if self.max_bytes is not None and self.nbytes > self.max_bytes:
            while len(self) > 1 and self.nbytes > _KEPT * self.max_bytes:
                self._forget_oldest()

    def _forget_oldest(self) -> None:
        """Drop the old entry that was added first; if none is old, all are old then."""
        values = self._old.values
        while self._n_forgotten < len(values) and values[self._n_forgotten] is None:
            self._n_forgotten += 1
        if self._n_forgotten == len(values):
            self._old, self._young, self._n_forgotten = self._young, Entries(), 0
            return
        self._levels -= len(self._old.path(self._n_forgotten))
        self._n_entries -= 1
        self.n_dropped += 1
        self.subsets.release(values[self._n_forgotten])
        values[self._n_forgotten] = None
