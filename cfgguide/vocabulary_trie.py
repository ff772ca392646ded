"""The vocabulary trie: all tokens by their bytes, flat and in preorder.

In: a :class:`~cfgguide.vocabulary.Vocabulary`. Out: a :class:`VocabularyTrie` that a walk visits
from the first node to the last, skipping the subtree of a prefix that leads nowhere.

A node is one byte deeper than its parent and follows it; there is no node for the root. For the
tokens 0: ``a``, 1: ``ab``, 2: ``b`` and 3: ``ab``::

    node   byte  depth  skip  tokens
    0      a     1      2     0
    1      b     2      2     1 3
    2      b     1      3     2
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cfgguide import trie_kernels
from cfgguide.kernel_types import TrieArrays
from cfgguide.subtrees import Kinds
from cfgguide.vocabulary import Vocabulary


@dataclass(frozen=True)
class VocabularyTrie:
    """A trie over the tokens' bytes.

    Attributes
    ----------
    arrays : TrieArrays
        byte : uint8, shape (n_nodes,); last byte of the node's path.
        depth : int32, shape (n_nodes,); length of its path in bytes, at least 1.
        skip : int32, shape (n_nodes,); the next node outside its subtree.
        first_token : int32, shape (n_nodes + 1,); where its tokens start in `token_ids`.
        token_ids : int32, shape (n_text_tokens,); token ids, sorted by bytes and then by id.
        kind_of_node : int32, shape (n_nodes,); see `kinds`.
    kinds : Kinds
        What is below the nodes.
    max_depth : int
        Length of the longest token in bytes.

    Examples
    --------
    >>> vocabulary = Vocabulary([b"a", b"ab", b"b", b"ab", None], eos_token_ids=4)
    >>> trie = VocabularyTrie.of(vocabulary)
    >>> trie.arrays.skip.tolist(), trie.arrays.token_ids.tolist()
    ([2, 2, 3], [0, 1, 3, 2])
    """

    arrays: TrieArrays
    kinds: Kinds
    max_depth: int

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> VocabularyTrie:
        """Return the trie of all tokens that have bytes."""
        ordered = sorted(
            (token, token_id) for token_id, token in enumerate(vocabulary.tokens) if token
        )
        lengths = np.array([len(token) for token, _ in ordered], dtype=np.int64)
        offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
        data = np.frombuffer(b"".join(token for token, _ in ordered), dtype=np.uint8)
        byte, depth, skip, first_token = trie_kernels.build_trie(data, offsets)
        token_ids = np.array([token_id for _, token_id in ordered], dtype=np.int32)
        max_depth = int(lengths.max(initial=0))
        kinds = Kinds.of(byte, depth, skip, first_token, max_depth)
        arrays = TrieArrays(byte, depth, skip, first_token, token_ids, kinds.kind_of_node)
        return cls(arrays, kinds, max_depth)

    @property
    def n_nodes(self) -> int:
        """Number of nodes: distinct non-empty prefixes of tokens."""
        return len(self.arrays.byte)
