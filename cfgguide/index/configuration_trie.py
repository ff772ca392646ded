"""The configuration trie: under what configurations which subset of the vocabulary is kept.

What a mask depends on is what the configuration knows of the lexer, and as much of its stack, from
the top, as was read when the mask was made. The entries are a trie (``pygtrie.Trie``) under just
that path, so one entry serves all stacks that agree as far as it goes, and the longest prefix of a
configuration's path that is in the trie is its entry. No two entries lie on one path: which state
is read next depends only on those read before. ::

    configuration   ((inside STRING), stack 17 4 0)     path (12, 17, 4, 0)
    read            17 and 4 only                        entry under (12, 17, 4)

Entries are bounded in bytes; those looked up longest ago go first. Behind the trie there may be a
file with more of them (:mod:`cfgguide.index.file`): what is found there becomes an entry.

Source: Willard & Louf 2023, section 4, "a trie-indexed map".
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator
from itertools import islice, zip_longest
from typing import NamedTuple, Protocol

import pygtrie

from cfgguide.mask.arrays import COLUMNS_READ, LEVEL_READ
from cfgguide.mask.subset import Int32Array, Subset, Subsets, UnpackedMasks
from cfgguide.parser.indentation import Indentation
from cfgguide.parser.stack import Stack
from cfgguide.recognizer.recognizer import Configuration

Path = tuple[Hashable, ...]

_KEPT = 0.75  # of the bound, when entries are dropped
_ENTRY, _LEVEL = 300, 100  # bytes of the objects of an entry, and of each level of its path, about


class Mask(NamedTuple):
    """A mask, and what it depends on.

    Attributes
    ----------
    depth : int
        How many of the topmost states of the stacks.
    bitmask : int32, shape (n_words,)
        The tokens as bits.
    reads : int
        What it depends on of the layout: `LEVEL_READ`, `COLUMNS_READ`, as bits.
    """

    depth: int
    bitmask: Int32Array
    reads: int = 0


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
    unpacked : Copies
        Where remade bitmasks are remembered.
    max_bytes : int, optional
        Most bytes of the entries and their subsets; those used longest ago go first.
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
        self.n_made = 0  # entries that no file has
        self.n_dropped = 0

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[tuple[Path, Subset]]:
        return iter(self._order.items())

    @property
    def nbytes(self) -> int:
        """Bytes of the entries, their subsets and the copies that are remembered, about."""
        return self.nbytes_kept + self._unpacked.nbytes

    @property
    def nbytes_kept(self) -> int:
        """Bytes of the entries and their subsets, about."""
        return self.subsets.nbytes + _ENTRY * len(self._order) + _LEVEL * self._levels

    def everything(self) -> dict[Path, Subset]:
        """Return all entries, also those that were never asked for."""
        found = {path: subset for stored in self._stored for path, subset in stored.entries()}
        return found | self._order

    def paths(self) -> Iterator[Path]:
        """Yield the paths of all entries, also those that were never asked for."""
        for stored in self._stored:
            yield from stored.paths()
        yield from self._order

    def put_behind(self, stored: StoredTrie) -> None:
        """Look for what is not here among stored entries, after those that are there already."""
        self._stored.append(stored)
        self._deepest = max(self._deepest, stored.deepest)

    def take_in(self) -> None:
        """Take in all stored entries, so that they count."""
        adopted: dict[Subset, Subset] = {}
        for path, subset in ((p, s) for stored in self._stored for p, s in stored.entries()):
            if path in self._order:
                continue
            if subset in adopted:
                adopted[subset].n_users += 1
            else:
                adopted[subset] = self.subsets.adopt(subset)
            self._put(path, adopted[subset])

    def find(
        self, configuration: Configuration, indentation_key: IndentationKey | None = None
    ) -> Subset | None:
        """Return the subset of a configuration, if there is one.

        With an indenter it is looked for under as much of the layout as masks were seen to need:
        what is read first depends on the rest alone, so no two of these have an entry.
        """
        if indentation_key is None:
            return self._find(path_of(configuration, self._deepest))
        _, *stacks = path_of(configuration, self._deepest, indentation_key)
        for reads in indentation_key.possible_reads:
            head = lexers_part(configuration, indentation_key._replace(reads=reads))
            found = self._find((head, *stacks))
            if found is not None:
                return found
        return None

    def _find(self, path: Path) -> Subset | None:
        step = self._trie.longest_prefix(path)
        if step:
            self._order.move_to_end(step.key)
            found: Subset = step.value
            return found
        for stored in self._stored:
            entry = stored.find(path)
            if entry is not None:
                path, subset = entry
                subset = self.subsets.adopt(subset)
                self._put(path, subset)
                return subset
        return None

    def add(
        self,
        configuration: Configuration,
        mask: Mask,
        indentation_key: IndentationKey | None = None,
    ) -> Subset:
        """Keep the mask of a configuration, of which there is none yet."""
        if indentation_key is not None:
            indentation_key = indentation_key._replace(reads=indentation_key.reads | mask.reads)
        return self._add(path_of(configuration, mask.depth, indentation_key), mask)

    def add_precomputed(self, path: Path, mask: Mask) -> None:
        """Keep a mask under a path, unless there is one that serves all of it."""
        if not self._trie.longest_prefix(path):
            self._add(path, mask)

    def _add(self, path: Path, mask: Mask) -> Subset:
        subset = self.subsets.add(mask.bitmask, like=_without_indentations(path[0]))
        self.n_made += 1
        self._deepest = max(self._deepest, mask.depth)
        self._put(path, subset)
        return subset

    def _put(self, path: Path, subset: Subset) -> None:
        self._order[path] = subset  # first: what is found in the trie has an order
        self._trie[path] = subset
        self._levels += len(path)
        if self.max_bytes is not None and self.nbytes_kept > self.max_bytes:
            while len(self._order) > 1 and self.nbytes_kept > _KEPT * self.max_bytes:
                self._drop_oldest()

    def _drop_oldest(self) -> None:
        path, subset = self._order.popitem(last=False)
        self._trie.pop(path, None)  # an interruption may have kept it out
        self._levels -= len(path)
        self.n_dropped += 1
        self.subsets.release(subset)


class IndentationKey(NamedTuple):
    """What a mask depends on where there is an indenter, beside the lexer and the stack.

    Attributes
    ----------
    is_sentence : bool
        Whether the text may end. Whoever asks knows: it depends on the whole stack.
    reads : int
        What is known to be needed of the layout: `LEVEL_READ`, `COLUMNS_READ`, as bits.
    columns : tuple of int
        Per hypothesis what counts of `Indentation.column`.
    """

    is_sentence: bool
    reads: int
    columns: tuple[int, ...]

    @property
    def possible_reads(self) -> tuple[int, ...]:
        """What masks may need of the layout."""
        every = (0, LEVEL_READ, COLUMNS_READ, LEVEL_READ | COLUMNS_READ)
        return tuple(reads for reads in every if reads | self.reads == reads)


def path_of(
    configuration: Configuration, depth: int, indentation_key: IndentationKey | None = None
) -> Path:
    """Return the lexer's part, and then the stacks' topmost `depth` states, level by level."""
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
    """Return the first part of a path, where there is an indenter."""
    parts = tuple(
        (each.scanner_state, each.obligations, _needed(each.indentation, column, indentation_key))
        for each, column in zip(configuration.hypotheses, indentation_key.columns, strict=True)
    )
    return parts, configuration.context


def _needed(
    indentation: Indentation, column: int, indentation_key: IndentationKey
) -> tuple[int, ...]:
    """Return what is needed of a layout as numbers; -1 for the level if it is not."""
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


def _without_indentations(lexer: Hashable) -> Hashable:
    """Return the lexer's part of a path without what is needed of layouts."""
    if not isinstance(lexer, tuple):
        return lexer
    return tuple(part[:2] for part in lexer[0])
