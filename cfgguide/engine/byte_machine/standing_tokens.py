"""Which tokens stand where in a text: masks of its pieces, without visiting a state.

In: the bytes of a text, and a vocabulary's trie. Out: a :class:`StandingTokens`. For each byte of
the text it is found once which is the longest beginning of a token that stands there, all at the
same time. With it stand its own beginnings, so that a mask reads one number for each place::

    text     b a n a n a         tokens   a  an  ana  nab
    longest  - 3 2 3 2 1         (bytes: nothing, ana, na, ana, na, a)
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cfgguide.automata.pieces import Places
from cfgguide.base.limits import check_step
from cfgguide.engine.masks.subset import bitmask_of
from cfgguide.engine.vocabulary.trie import BYTE, END_TOKEN, FIRST_CHILD, FIRST_TOKEN, PackedTrie

Int32Array = npt.NDArray[np.int32]


class StandingTokens:
    """Which tokens stand where in a text.

    Parameters
    ----------
    data : uint8, shape (n_bytes,)
        The text.
    trie : PackedTrie
        The tokens.

    Examples
    --------
    >>> from cfgguide.engine.masks.subset import token_ids_in
    >>> from cfgguide.engine.vocabulary.trie import VocabularyTrie
    >>> trie = VocabularyTrie.of([b"a", b"an", b"ana", b"nab"]).packed
    >>> found = StandingTokens(np.frombuffer(b"banana", np.uint8), trie)
    >>> for at, most in ([1], [6]), ([1], [3]), ([0], [6]):
    ...     token_ids_in(found.mask(Places(np.array(at), np.array(most)), 1)).tolist()
    [0, 1, 2]
    [0, 1]
    []
    """

    def __init__(self, data: npt.NDArray[np.uint8], trie: PackedTrie) -> None:
        nodes, place = trie.nodes, np.arange(len(data), dtype=np.int32)
        self._longest = np.zeros(len(data), dtype=np.int32)  # the node, by numbers of their own
        inside = np.zeros(len(data), np.int32)
        parents, of_trie, starts = [np.zeros(1, np.int32)], [np.empty(0, np.int32)], [0, 1]
        ranges = np.zeros(1, np.int32), np.full(1, trie.n_roots, np.int32)  # of children
        while len(place):
            check_step()
            depth = len(starts) - 2
            byte = data[place + depth]
            key = inside * np.int32(256) + byte
            is_met = np.zeros(256 * len(ranges[0]), dtype=np.bool_)
            is_met[key] = True
            met = np.flatnonzero(is_met)
            child = _children(nodes[:, BYTE], ranges[0][met >> 8], ranges[1][met >> 8], met & 255)
            met, level = met[child >= 0], child[child >= 0]
            number = np.full(len(is_met), -1, dtype=np.int32)
            number[met] = np.arange(len(met), dtype=np.int32)
            parents.append((met >> 8).astype(np.int32) + np.int32(starts[-2]))
            of_trie.append(level)
            inside = number[key]
            place, inside = place[inside >= 0], inside[inside >= 0]
            self._longest[place] = inside + starts[-1]
            is_open = place < len(data) - depth - 1
            place, inside = place[is_open], inside[is_open]
            ranges = nodes[level, FIRST_CHILD], nodes[level + 1, FIRST_CHILD]
            starts.append(starts[-1] + len(level))
        self._levels = list(pairwise(starts))[1:]
        self._parent = np.concatenate(parents)
        self._depth = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
        self._tokens, self._owner = _own_tokens(trie, np.concatenate(of_trie))

    def mask(self, places: Places, n_words: int) -> Int32Array:
        """Return the tokens that stand at some places, and are no longer than they may be there."""
        is_open = places.at < places.most
        at = places.at[is_open]
        node, room = self._longest[at], places.most[is_open] - at
        too_long = np.flatnonzero(self._depth[node] > room)
        while len(too_long):
            node[too_long] = self._parent[node[too_long]]
            too_long = too_long[self._depth[node[too_long]] > room[too_long]]
        is_met = np.zeros(len(self._depth), dtype=np.bool_)
        is_met[node] = True
        for first, end in reversed(self._levels):
            is_met[self._parent[first:end][is_met[first:end]]] = True
        return bitmask_of(self._tokens[is_met[self._owner]], n_words)


def _children(
    bytes_of: npt.NDArray[Any],
    first: Int32Array,
    end: Int32Array,
    byte: npt.NDArray[np.integer],
) -> Int32Array:
    """Return the children in some ranges of nodes that have some bytes; -1 where there is none."""
    low, high = first, end
    while (low < high).any():
        middle = (low + high) >> 1
        is_less = (bytes_of[middle] < byte) & (low < high)
        low, high = np.where(is_less, middle + 1, low), np.where(is_less, high, middle)
    is_there = low < end
    is_there[is_there] = bytes_of[low[is_there]] == byte[is_there]
    return np.where(is_there, low, -1).astype(np.int32)


def _own_tokens(trie: PackedTrie, met: Int32Array) -> tuple[Int32Array, Int32Array]:
    """Return the tokens that end at some nodes, and the number of the node of each, from 1 on."""
    nodes = trie.nodes
    first, child = nodes[met, FIRST_TOKEN], nodes[met, FIRST_CHILD]
    has_children = child < nodes[met + 1, FIRST_CHILD]
    end = np.where(has_children, nodes[child, FIRST_TOKEN], nodes[met, END_TOKEN])
    lengths = end - first
    owner = np.repeat(np.arange(1, len(met) + 1, dtype=np.int32), lengths)
    places = np.arange(len(owner)) + np.repeat(first - (np.cumsum(lengths) - lengths), lengths)
    return trie.token_ids[places], owner
