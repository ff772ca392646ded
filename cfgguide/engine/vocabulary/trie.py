"""The vocabulary trie: all tokens by their bytes, flat and level by level.

In: the bytes of every token, by id. Out: a :class:`VocabularyTrie`. A walk goes down from the roots
and leaves out what is below a prefix that leads nowhere.

There is no node for the empty prefix. For the tokens 0: ``a``, 1: ``ab``, 2: ``b`` and 3: ``ab``::

    node   byte  tokens of it and below  children
    0      a     0 1 3                   2
    1      b     2
    2      b     1 3
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Int32Array = npt.NDArray[np.int32]
BYTE, FIRST_TOKEN, END_TOKEN, FIRST_CHILD = 0, 1, 2, 3  # columns of `PackedTrie.nodes`


class PackedTrie(NamedTuple):
    """The vocabulary trie as a walk reads it.

    The nodes stand level by level, so that the children of one node are neighbours, and a node's
    numbers share a row: most of a walk's time was spent waiting for memory.

    Attributes
    ----------
    nodes : int32, shape (n_nodes + 1, 4)
        `BYTE`: the last byte of its path;
        `FIRST_TOKEN` and `END_TOKEN`: where its tokens and those below it start and end in
        `token_ids`, its own first; `FIRST_CHILD`: its children end where those of the next node
        begin.
    token_ids : int32, shape (n_text_tokens,)
        Token ids, sorted by bytes and then by id.
    n_roots : int
        Number of nodes that are one byte deep; they are the first.
    row_of_token : int32, shape (n_text_tokens,)
        For the first of many tokens that one node has: their row. -1 elsewhere.
    row_ends : int32, shape (n_rows,)
        Where the tokens of each row end in `token_ids`.
    rows : uint32, shape (n_rows, n_words)
        These tokens as bits: bit ``i % 32`` of word ``i // 32`` is set for token ``i``.
    """

    nodes: Int32Array
    token_ids: Int32Array
    n_roots: int
    row_of_token: Int32Array
    row_ends: Int32Array
    rows: npt.NDArray[np.uint32]

    @classmethod
    def without_rows(cls, nodes: Int32Array, token_ids: Int32Array, n_roots: int) -> PackedTrie:
        """Return a trie no node of which has many tokens."""
        no_rows = np.empty((0, 0), dtype=np.uint32)
        none = np.full(len(token_ids), -1, dtype=np.int32)
        return cls(nodes, token_ids, n_roots, none, np.empty(0, dtype=np.int32), no_rows)


@dataclass(frozen=True)
class VocabularyTrie:
    """A trie over the tokens' bytes.

    Attributes
    ----------
    packed : PackedTrie
        As a walk reads it.
    max_depth : int
        Length of the longest token in bytes.

    Examples
    --------
    >>> trie = VocabularyTrie.of([b"a", b"ab", b"b", b"ab", None])
    >>> trie.packed.nodes[:-1].tolist(), trie.packed.token_ids.tolist()
    ([[97, 0, 3, 2], [98, 3, 4, 3], [98, 1, 3, 3]], [0, 1, 3, 2])
    """

    packed: PackedTrie
    max_depth: int

    @classmethod
    def of(cls, tokens_by_id: Sequence[bytes | None]) -> VocabularyTrie:
        """Return the trie of all tokens that have bytes, by their ids."""
        tokens = [token or b"" for token in tokens_by_id]
        ids = [token_id for token_id, token in enumerate(tokens) if token]
        ids.sort(key=tokens.__getitem__)  # stable: equal tokens stay sorted by id
        texts = [tokens[token_id] for token_id in ids]
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        return cls.of_sorted(np.frombuffer(b"".join(texts), dtype=np.uint8), lengths, ids)

    @classmethod
    def of_sorted(
        cls, data: npt.NDArray[Any], lengths: npt.NDArray[np.int64], ids: Sequence[int]
    ) -> VocabularyTrie:
        """Return the trie of sorted sequences of bytes, or of other numbers, one after the other.

        Parameters
        ----------
        data : array, shape (lengths.sum(),)
            What the sequences are made of. Equal beginnings are neighbours.
        lengths : int64, shape (n,)
            Of the sequences; none is empty.
        ids : sequence of int
            Their token ids.
        """
        shared = _shared(data, lengths)
        # A token adds a node for each byte after those that it shares with the token before it.
        added = lengths - shared
        starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(added)])
        owners = np.repeat(np.arange(len(lengths)), added)  # the first token below each node
        depth = np.arange(starts[-1]) - starts[owners] + shared[owners] + 1
        byte = data[(np.cumsum(lengths) - lengths)[owners] + depth - 1]
        # A token ends at the last node that it or, if it is equal, the one before it added.
        n_tokens = np.bincount(starts[1:] - 1, minlength=len(owners))
        first_token = np.cumsum(n_tokens) - n_tokens
        order = np.argsort(depth, kind="stable")  # level by level, in the old order
        levels = np.split(order, np.cumsum(np.bincount(depth, minlength=1)[1:])[:-1])
        n_children = np.zeros(len(depth), dtype=np.int64)
        for below, level in pairwise(reversed(levels)):
            parents = np.searchsorted(level, below) - 1
            n_children[level] = np.bincount(parents, minlength=len(level))
            np.add.at(n_tokens, level[parents], n_tokens[below])
        nodes = np.zeros((len(depth) + 1, 4), dtype=np.int32)
        nodes[:-1, BYTE] = byte[order]
        nodes[:-1, FIRST_TOKEN] = first_token[order]
        nodes[:-1, END_TOKEN] = (first_token + n_tokens)[order]
        nodes[:, FIRST_CHILD] = np.cumsum(np.append(len(levels[0]), n_children[order]))
        token_ids = np.array(ids, dtype=np.int32)
        packed = PackedTrie.without_rows(nodes, token_ids, len(levels[0]))
        return cls(packed, int(lengths.max(initial=0)))


#: The bytes of all tokens, and what counts some of them in each token.
ByteCounter = tuple[npt.NDArray[np.uint8], Callable[[npt.NDArray[np.bool_]], npt.NDArray[np.int64]]]


def byte_counter(tokens_by_id: Sequence[bytes | None]) -> ByteCounter:
    """Return the bytes of all tokens, and what counts some of them in each token."""
    tokens = [token or b"" for token in tokens_by_id]
    lengths = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
    data = np.frombuffer(b"".join(tokens), dtype=np.uint8)
    ends = np.cumsum(lengths)

    def count(is_counted: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        total = np.concatenate([[0], np.cumsum(is_counted)])
        return np.asarray(total[ends] - total[ends - lengths])

    return data, count


def _shared(data: npt.NDArray[Any], lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return how many bytes each of the sorted tokens shares with the one before it."""
    shared = np.zeros(len(lengths), dtype=np.int64)
    offsets = np.cumsum(lengths) - lengths
    shortest = np.minimum(lengths[1:], lengths[:-1])
    alike = np.arange(1, len(lengths))  # tokens that share `depth` bytes
    depth = 0
    while len(alike):
        alike = alike[shortest[alike - 1] > depth]
        alike = alike[data[offsets[alike] + depth] == data[offsets[alike - 1] + depth]]
        depth += 1
        shared[alike] = depth
    return shared
