"""What is below each node of the vocabulary trie, summed up.

In: a vocabulary trie. Out: its :class:`Kinds`: for each node the ASCII bytes below it, whether
there are others, and whether all of it is whole characters of UTF-8. Many nodes have the same sum,
so they are few kinds. A scanner that goes round on all of these bytes reads the whole subtree
without a look (:mod:`cfgguide.loops`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from cfgguide import trie_kernels
from cfgguide.kernel_types import Int32Array, TrieArrays
from cfgguide.partition import distinct_rows

NEVER = 0  # the kind of the nodes that no loop takes
BETWEEN, NO_UTF8 = 0, 255  # in the machine that reads UTF-8

_LEAST_NODES = 3  # of a subtree that is worth being taken as a whole


@dataclass(frozen=True)
class Kinds:
    """What is below the nodes of a vocabulary trie.

    Attributes
    ----------
    kind_of_node : int32, shape (n_nodes,)
        The kind of each. Kind 0 is that of nodes with little below, or no whole characters.
    sums : uint64, shape (n_kinds, 3)
        The bytes below: two numbers of 64 bits for ASCII, and 1 if there are others.
    """

    kind_of_node: Int32Array
    sums: npt.NDArray[np.uint64]

    @classmethod
    def of(cls, trie: TrieArrays, max_depth: int) -> Kinds:
        """Return the kinds of a trie."""
        sums, is_whole = trie_kernels.subtree_bytes(
            trie.byte, trie.depth, trie.first_token, utf8_steps(), max_depth
        )
        n_below = trie.skip - np.arange(1, len(trie.skip) + 1)
        nodes = np.flatnonzero(is_whole & (n_below >= _LEAST_NODES))
        kinds, kind_of_node = distinct_rows(sums[nodes])
        numbers = np.full(len(sums), NEVER, dtype=np.int32)
        numbers[nodes] = 1 + kind_of_node
        nothing = np.zeros((1, 3), dtype=np.uint64)
        return cls(numbers, np.concatenate([nothing, kinds]))


@cache
def utf8_steps() -> npt.NDArray[np.uint8]:
    """Return a machine that reads UTF-8; uint8, shape (n_states, 256), 255 = no UTF-8.

    Source: the Unicode Standard, table 3-7, "Well-Formed UTF-8 Byte Sequences".
    """
    between, one, two, three, after_e0, after_ed, after_f0, after_f4 = range(8)
    steps = np.full((8, 256), NO_UTF8, dtype=np.uint8)
    steps[between, 0x00:0x80] = between
    steps[between, 0xC2:0xE0] = one
    steps[between, 0xE1:0xF0] = two
    steps[between, 0xF1:0xF4] = three
    for lead, state in ((0xE0, after_e0), (0xED, after_ed), (0xF0, after_f0), (0xF4, after_f4)):
        steps[between, lead] = state
    steps[one, 0x80:0xC0] = between
    steps[two, 0x80:0xC0] = one
    steps[three, 0x80:0xC0] = two
    steps[after_e0, 0xA0:0xC0] = one
    steps[after_ed, 0x80:0xA0] = one
    steps[after_f0, 0x90:0xC0] = two
    steps[after_f4, 0x80:0x90] = two
    return steps
