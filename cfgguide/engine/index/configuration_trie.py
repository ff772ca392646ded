"""The configuration trie: which subset of the vocabulary belongs to which configurations.

A mask depends on what the configuration knows of the lexer, and on as much of its stack, from the
top, as was read when the mask was made. Entries are stored under just that path in a trie
(``pygtrie.Trie``), so one entry serves all stacks that begin with it. To find the entry of a
configuration, look for the longest prefix of its path. No two entries lie on one path: which state
is read next depends only on those read before. ::

    configuration   ((inside STRING), stack 17 4 0)     path (12, 17, 4, 0)
    read            17 and 4 only                        entry under (12, 17, 4)

Entries may be bounded in bytes; the least recently used go first. Files may hold more of them
(:mod:`cfgguide.engine.index.index_file`): an entry that is found there is added to the trie.

A change that was interrupted half-way is noticed before the next look-up, and trie and subsets are
made again of the entries that are there.

Source: Willard & Louf 2023, section 4, "a trie-indexed map".
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import islice, zip_longest
from typing import NamedTuple, Protocol

import pygtrie

from cfgguide.engine.machine.recognizer import Configuration
from cfgguide.engine.masks.arrays import COLUMNS_READ, LEVEL_READ
from cfgguide.engine.masks.subset import Int32Array, Subset, Subsets, UnpackedMasks
from cfgguide.grammar.lr.indentation import Indentation
from cfgguide.grammar.lr.stack import Stack

Path = tuple[Hashable, ...]

_KEPT = 0.75  # of the bound, after entries were dropped
_ENTRY, _LEVEL = 300, 100  # approximate bytes of an entry, and of each level of its path


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
    """

    depth: int
    bitmask: Int32Array
    reads: int = 0
    walked: bytes = b""


class StoredTrie(Protocol):
    """Entries that are not in memory."""

    deepest: int

    def paths(self) -> Iterable[Path]:
        """Return the paths of all entries."""

    def find(self, path: Path) -> tuple[Path, Subset] | None:
        """Return the entry under the one prefix of a path that has one, and that prefix."""

    def entries(self) -> Iterable[tuple[Path, Subset]]:
        """Return all of them."""


class ConfigurationTrie:
    """Subsets by configuration.

    Parameters
    ----------
    unpacked : UnpackedMasks
        Remembers bitmasks that were unpacked.
    max_bytes : int, optional
        Most bytes of the entries and their subsets; the least recently used go first.
    """

    def __init__(self, unpacked: UnpackedMasks, *, max_bytes: int | None = None) -> None:
        self._unpacked = unpacked
        self.max_bytes = max_bytes
        self._trie: pygtrie.Trie = pygtrie.Trie()
        self._order: OrderedDict[Path, Subset] = OrderedDict()  # the one used last is last
        self._levels = 0
        self._deepest = 1  # how much of a stack some entry depends on
        self._stored: list[StoredTrie] = []
        self.subsets = Subsets(unpacked)
        self._is_changing = False  # still True if a change was interrupted
        self.n_made = 0  # entries that no file has
        self.n_dropped = 0
        #: Masks of paths for which this is equal are expected to be alike.
        self.like: Callable[[Path], Hashable] = _scanner_part

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[tuple[Path, Subset]]:
        return iter(self._order.items())

    @property
    def nbytes(self) -> int:
        """Approximate bytes of the entries, their subsets and unpacked masks."""
        return self.nbytes_kept + self._unpacked.nbytes

    @property
    def nbytes_kept(self) -> int:
        """Approximate bytes of the entries and their subsets."""
        return self.subsets.nbytes + _ENTRY * len(self._order) + _LEVEL * self._levels

    def mend(self) -> None:
        """Make trie and subsets again, if a change was interrupted; call this before anything else.

        An entry came before what finds it, and its subset was complete by then.
        """
        if not self._is_changing:
            return
        order: OrderedDict[Path, Subset] = OrderedDict()
        trie, subsets, levels = pygtrie.Trie(), Subsets(self._unpacked), 0
        for path, subset in self._order.items():
            order[path] = subsets.add(subset.bitmask, like=self.like(path))
            trie[path] = order[path]
            levels += len(path)
        self._order, self._trie, self.subsets, self._levels = order, trie, subsets, levels
        self._is_changing = False

    def all_entries(self) -> dict[Path, Subset]:
        """Return all entries, those of files included."""
        in_files = {path: subset for stored in self._stored for path, subset in stored.entries()}
        return in_files | self._order

    def paths(self) -> Iterator[Path]:
        """Yield the paths of all entries, those of files included."""
        for stored in self._stored:
            yield from stored.paths()
        yield from self._order

    def add_stored(self, stored: StoredTrie) -> None:
        """Add stored entries; they are searched after those that were added before."""
        self._stored.append(stored)
        self._deepest = max(self._deepest, stored.deepest)

    def load_stored(self) -> None:
        """Load all stored entries, so that their bytes count."""
        self._is_changing = True
        for path, subset in ((p, s) for stored in self._stored for p, s in stored.entries()):
            if path in self._order:
                continue
            self._put(path, self.subsets.adopt(subset))
        self._is_changing = False

    def find(
        self, configuration: Configuration, indentation_key: IndentationKey | None = None
    ) -> Subset | None:
        """Return the subset of a configuration, if there is one.

        With an indenter, each choice of what a mask may need of the indentation is looked up. At
        most one has an entry: what is read first depends on the rest of the path alone.
        """
        if indentation_key is None:
            return self.find_path(path_of(configuration, self._deepest))
        _, *stacks = path_of(configuration, self._deepest, indentation_key)
        for reads in indentation_key.possible_reads:
            head = lexers_part(configuration, indentation_key._replace(reads=reads))
            subset = self.find_path((head, *stacks))
            if subset is not None:
                return subset
        return None

    def find_path(self, path: Path) -> Subset | None:
        """Return the subset under a prefix of a path, if there is one."""
        step = self._trie.longest_prefix(path)
        if step:
            self._order.move_to_end(step.key)
            known: Subset = step.value
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

    def add(
        self,
        configuration: Configuration,
        mask: Mask,
        indentation_key: IndentationKey | None = None,
    ) -> Subset:
        """Add the mask of a configuration that has no entry yet."""
        if indentation_key is not None:
            indentation_key = indentation_key._replace(reads=indentation_key.reads | mask.reads)
        return self.add_path(path_of(configuration, mask.depth, indentation_key), mask)

    def add_precomputed(self, path: Path, mask: Mask) -> None:
        """Add a mask under a path, unless some entry already serves that path."""
        if not self._trie.longest_prefix(path):
            self.add_path(path, mask)

    def add_path(self, path: Path, mask: Mask) -> Subset:
        """Add a mask under a path that has no entry yet."""
        self._is_changing = True
        subset = self.subsets.add(mask.bitmask, like=self.like(path), walked=mask.walked)
        self.n_made += 1
        self._deepest = max(self._deepest, mask.depth)
        self._put(path, subset)
        self._is_changing = False
        return subset

    def _put(self, path: Path, subset: Subset) -> None:
        self._order[path] = subset  # first: what is in the trie is in the order
        self._trie[path] = subset
        self._levels += len(path)
        if self.max_bytes is not None and self.nbytes_kept > self.max_bytes:
            while len(self._order) > 1 and self.nbytes_kept > _KEPT * self.max_bytes:
                self._drop_oldest()

    def _drop_oldest(self) -> None:
        path, subset = self._order.popitem(last=False)
        self._trie.pop(path, None)  # an interruption may have kept it from being added
        self._levels -= len(path)
        self.n_dropped += 1
        self.subsets.release(subset)


class IndentationKey(NamedTuple):
    """What a mask depends on besides the lexer and the stack, if there is an indenter.

    Attributes
    ----------
    is_sentence : bool
        Whether the text may end. It depends on the whole stack, so the caller finds out.
    reads : int
        What the mask certainly needs of the indentation: `LEVEL_READ`, `COLUMNS_READ`, as bits.
    columns : tuple of int
        Per hypothesis what matters of `Indentation.column`.
    """

    is_sentence: bool
    reads: int
    columns: tuple[int, ...]

    @property
    def possible_reads(self) -> tuple[int, ...]:
        """What the mask may need of the indentation, `reads` included."""
        every = (0, LEVEL_READ, COLUMNS_READ, LEVEL_READ | COLUMNS_READ)
        return tuple(reads for reads in every if reads | self.reads == reads)


def path_of(
    configuration: Configuration, depth: int, indentation_key: IndentationKey | None = None
) -> Path:
    """Return the lexer's part, then the topmost `depth` states of the stacks, level by level."""
    hypotheses = configuration.hypotheses
    is_plain = len(hypotheses) == 1 and not hypotheses[0].obligations and not configuration.context
    if is_plain and indentation_key is None:
        state, stack = hypotheses[0].scanner_state, hypotheses[0].stack
        path = [state]
        cell: Stack | None = stack
        while cell is not None and depth:
            path.append(cell.state)
            cell = cell.below
            depth -= 1
        return tuple(path)
    levels = zip_longest(*(hypothesis.stack for hypothesis in hypotheses))
    if indentation_key is None:
        lexer = tuple((state, obligations) for state, obligations, _, _ in hypotheses)
        return ((lexer, configuration.context), *islice(levels, depth))
    return (lexers_part(configuration, indentation_key), *islice(levels, depth))


def lexers_part(configuration: Configuration, indentation_key: IndentationKey) -> Hashable:
    """Return the first part of a path, if there is an indenter."""
    parts = tuple(
        (
            hypothesis.scanner_state,
            hypothesis.obligations,
            _needed(hypothesis.indentation, column, indentation_key),
        )
        for hypothesis, column in zip(
            configuration.hypotheses, indentation_key.columns, strict=True
        )
    )
    return parts, configuration.context


def _needed(
    indentation: Indentation, column: int, indentation_key: IndentationKey
) -> tuple[int, ...]:
    """Return what is needed of an indentation as numbers; -1 for the level if it is not."""
    columns, level, _ = indentation
    if not indentation_key.reads:
        return (int(indentation_key.is_sentence), column)
    level = level if indentation_key.reads & LEVEL_READ else -1
    return (
        int(indentation_key.is_sentence),
        column,
        level,
        *(columns if indentation_key.reads & COLUMNS_READ else ()),
    )


def _scanner_part(path: Path) -> Hashable:
    """Return the lexer's part of a path without what is needed of indentations."""
    lexer = path[0]
    if not isinstance(lexer, tuple):
        return lexer
    return tuple(part[:2] for part in lexer[0])
