r"""Whole subtrees of the vocabulary that a scanner reads without leaving its state.

In: a vocabulary trie, and a scanner. Out: for each scanner state that loops on many bytes (inside a
string, a name, a comment) the nodes below which every token leads from that state back to it. The
walk takes such a subtree as a whole instead of reading on.

What is below a node is summed up once for a vocabulary: the ASCII bytes, whether there are others,
and whether all of it is whole characters of UTF-8. Many nodes have the same sum, so they are few
*kinds*. A loop takes a kind if it goes round on all its ASCII bytes and, where there are others, on
every character. ::

    inside a JSON string    goes round on every character but " \\ and control characters
    a node with letters, digits and é below it      taken
    a node with a quote below it                    visited, and its children are asked
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from cfgguide import trie_kernels
from cfgguide.fsm import DEAD
from cfgguide.kernel_types import Int32Array, TrieArrays
from cfgguide.partition import distinct_rows
from cfgguide.scanner import Scanner

NO_LOOP = -1  # in `Loops.loop_of_state`

_LEAST_NODES = 3  # of a subtree that is worth being taken as a whole
_LEAST_BYTES = 5  # of a loop
_MOST_LOOPS = 64
_BETWEEN, _NO_UTF8 = 0, 255  # in the machine that reads UTF-8
_NEVER = 0  # the kind of the nodes that no loop takes


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
            trie.byte, trie.depth, trie.first_token, _utf8_steps(), max_depth
        )
        n_below = trie.skip - np.arange(1, len(trie.skip) + 1)
        nodes = np.flatnonzero(is_whole & (n_below >= _LEAST_NODES))
        kinds, kind_of_node = distinct_rows(sums[nodes])
        numbers = np.full(len(sums), _NEVER, dtype=np.int32)
        numbers[nodes] = 1 + kind_of_node
        nothing = np.zeros((1, 3), dtype=np.uint64)
        return cls(numbers, np.concatenate([nothing, kinds]))


@dataclass(frozen=True)
class Loops:
    """Which kinds of subtrees the scanner states go round in.

    Attributes
    ----------
    loop_of_state : int32, shape (n_scanner_states,)
        The loop of each state, -1 = none.
    takes : bool, shape (n_loops, n_kinds)
        Whether all tokens below a node of a kind lead from a state with a loop back to it.
    """

    loop_of_state: Int32Array
    takes: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, scanner: Scanner, kinds: Kinds) -> Loops:
        """Return the loops of a scanner; states beyond the first 64 loops have none.

        Where the text means something to look-behind, no state is known by its loop alone, and
        there are none.
        """
        states = np.arange(scanner.n_states)
        goes_round = (scanner.transitions == states[:, None])[:, scanner.byte_classes]
        goes_round[scanner.is_asking | (states == DEAD)] = False
        loop_of_state = np.full(scanner.n_states, NO_LOOP, dtype=np.int32)
        loops: dict[tuple[int, int, bool], int] = {}
        if len(scanner.contexts) == 1:
            for state in np.flatnonzero(goes_round[:, :128].sum(axis=1) >= _LEAST_BYTES).tolist():
                halves = np.packbits(goes_round[state, :128], bitorder="little").view(np.uint64)
                loop = (int(halves[0]), int(halves[1]), _takes_characters(scanner, state))
                if loop in loops or len(loops) < _MOST_LOOPS:
                    loop_of_state[state] = loops.setdefault(loop, len(loops))
        takes = np.zeros((max(1, len(loops)), len(kinds.sums)), dtype=np.bool_)
        for (low, high, takes_characters), number in loops.items():
            allowed = np.array([low, high, int(takes_characters)], dtype=np.uint64)
            takes[number] = ((kinds.sums & ~allowed) == 0).all(axis=1)
        takes[:, _NEVER] = False
        return cls(loop_of_state, takes)


def _takes_characters(scanner: Scanner, state: int) -> bool:
    """Return whether every character beyond ASCII leads from a state back to it."""
    steps = _utf8_steps()
    rows = scanner.transitions[:, scanner.byte_classes]
    pending = [(state, _BETWEEN)]
    seen = set(pending)
    while pending:
        here, utf8 = pending.pop()
        bytes_read = 0x80 + np.flatnonzero(steps[utf8, 0x80:] != _NO_UTF8)
        moves = np.stack([rows[here, bytes_read], steps[utf8, bytes_read].astype(np.int32)], axis=1)
        for target, after in np.unique(moves, axis=0).tolist():
            if target == DEAD or scanner.is_asking[target]:
                return False
            if (after == _BETWEEN) != (target == state):
                return False
            if after != _BETWEEN and (target, after) not in seen:
                seen.add((target, after))
                pending.append((target, after))
    return True


@cache
def _utf8_steps() -> npt.NDArray[np.uint8]:
    """Return a machine that reads UTF-8; uint8, shape (n_states, 256), 255 = no UTF-8.

    Source: the Unicode Standard, table 3-7, "Well-Formed UTF-8 Byte Sequences".
    """
    between, one, two, three, after_e0, after_ed, after_f0, after_f4 = range(8)
    steps = np.full((8, 256), _NO_UTF8, dtype=np.uint8)
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
