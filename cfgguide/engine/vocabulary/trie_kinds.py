"""Which kinds of characters come in each subtree of a vocabulary trie.

In: a trie. Out: bits for each node (:func:`kinds_below`), with which a walk sees that it need not
go on: whatever comes there leads on, from a state after which those kinds may follow one another.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from cfgguide.base.kinds import BEGUN, MOST, N_BITS, NO_TEXT, kinds_meeting, kinds_of
from cfgguide.engine.vocabulary.trie import BYTE, END_TOKEN, FIRST_CHILD, FIRST_TOKEN, PackedTrie

UInt64Array = npt.NDArray[np.uint64]

_LEAST = np.array([0, 0, 0x80, 0x800, 0x10000])  # code point with so many bytes
_N_BYTES = np.zeros(256, dtype=np.int64)  # of a character, by the first one; 0 for none
for _lead, _end, _n in ((0, 0x80, 1), (0xC2, 0xE0, 2), (0xE0, 0xF0, 3), (0xF0, 0xF5, 4)):
    _N_BYTES[_lead:_end] = _n


def kinds_below(packed: PackedTrie) -> UInt64Array:
    """Return what comes at each node and below it, if a character begins at the node.

    Returns
    -------
    uint64, shape (n_nodes,)
        The kinds of all characters, as bits, and above them how many at most come in one token. Of
        a character that a token only begins, the kinds of all that it may become, and `BEGUN`.
        `NO_TEXT` where bytes are no UTF-8, and in longer texts.
    """
    nodes = packed.nodes
    byte, children = nodes[:-1, BYTE], nodes[:, FIRST_CHILD]
    levels = [(0, packed.n_roots)]
    while levels[-1][0] < levels[-1][1]:
        levels.append((levels[-1][1], int(children[levels[-1][1]])))
    levels.pop()
    # Of each node the character that it is in: its bytes, those still to come, the bits so far.
    n_bytes = _N_BYTES[byte]
    left = np.maximum(n_bytes - 1, 0)
    point = np.where(n_bytes > 1, byte & (0x7F >> n_bytes), byte).astype(np.int64)
    n_begun = (n_bytes > 0).astype(np.int64)
    is_text = n_bytes > 0
    for (first, end), (start, _) in pairwise(levels):
        parents = np.repeat(np.arange(first, end), np.diff(children[first : end + 1]))
        inside = start + np.flatnonzero(left[parents])
        parents = parents[inside - start]
        is_text[inside] = byte[inside] & 0xC0 == 0x80
        n_bytes[inside], left[inside] = n_bytes[parents], left[parents] - 1
        point[inside] = point[parents] << 6 | byte[inside] & 0x3F
        n_begun[inside] = 0
    least = _LEAST[n_bytes]
    found = np.where(left > 0, np.uint64(0), kinds_of(np.where(point < least, -1, point)))
    for node in np.flatnonzero((left > 0) & _have_tokens(nodes)).tolist():
        n_bits = 6 * int(left[node])
        low, high = int(point[node]) << n_bits, (int(point[node]) + 1 << n_bits) - 1
        kinds = kinds_meeting(((max(low, int(least[node])), high),))
        found[node] = kinds | BEGUN if kinds else NO_TEXT
    found[~is_text] = NO_TEXT
    for (first, end), (start, stop) in zip(levels[-2::-1], levels[:0:-1], strict=True):
        has_children = np.diff(children[first : end + 1]) > 0
        at = children[first:end][has_children] - start
        found[first:end][has_children] |= np.bitwise_or.reduceat(found[start:stop], at)
        n_begun[first:end][has_children] += np.maximum.reduceat(n_begun[start:stop], at)
    found[n_begun > MOST] |= np.uint64(NO_TEXT)
    most = np.minimum(n_begun, MOST).astype(np.uint64)
    return np.asarray(found | most << np.uint64(N_BITS))


def _have_tokens(nodes: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Return for each node whether it has tokens of its own."""
    first_child, end_child = nodes[:-1, FIRST_CHILD], nodes[1:, FIRST_CHILD]
    below = nodes[np.minimum(first_child, len(nodes) - 2), FIRST_TOKEN]
    own_end = np.where(first_child < end_child, below, nodes[:-1, END_TOKEN])
    return np.asarray(nodes[:-1, FIRST_TOKEN] < own_end)
