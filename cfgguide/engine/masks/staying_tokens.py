"""Which tokens stay in the lexeme that is being read, whatever the parser's stack is.

In: where the lexer is. Out: a :class:`Staying`: where each token leaves the lexer, as far as the
lexeme has not ended by then; and which tokens end it, or might. No lexer reads the others. ::

    inside a name `us`      `er`  stays in the name
                            `er,` ends it
                            `:`   is no part of it, and nothing begins with it

Ignored text before a lexeme counts as part of it: white space, then `user`, stays too. Where the
text to come decides what a lexeme is, such as a keyword that is also the beginning of a name, the
lexer is in several states at once, each with its obligations.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cfgguide.base.bounded import BoundedDict
from cfgguide.engine.machine.lexer_places import LEAVING, Lexer, LexerPlace
from cfgguide.engine.machine.recognizer import Recognizer
from cfgguide.engine.masks.arrays import Int32Array, Int64Array
from cfgguide.engine.masks.token_classes import ClassTrie, TokenClasses
from cfgguide.engine.vocabulary.trie import (
    BYTE,
    END_TOKEN,
    FIRST_CHILD,
    FIRST_TOKEN,
    VocabularyTrie,
)

_MAX_KNOWN = 1_000  # of some 10 kB each


@dataclass(frozen=True)
class Staying:
    """The tokens that stay in a lexeme.

    Attributes
    ----------
    places : tuple of LexerPlace
        Where tokens leave the lexer.
    staying : int32, shape (n_staying,)
        The tokens that stay, by the places after them.
    bounds : tuple of int
        Where the tokens of each place begin among these; and the end.
    leaving : int32, shape (n_leaving,)
        The tokens that end the lexeme, or that need too many states.
    """

    places: tuple[LexerPlace, ...]
    staying: Int32Array
    bounds: tuple[int, ...]
    leaving: Int32Array

    def token_ids(self, places: Iterable[int]) -> Int32Array:
        """Return the tokens that lead to some places, given by where they are in `places`."""
        bounds = self.bounds
        parts = [self.staying[bounds[each] : bounds[each + 1]] for each in places]
        return np.concatenate(parts) if parts else self.staying[:0]


class StayingTokens:
    """Finds them, and remembers.

    Parameters
    ----------
    recognizer : Recognizer
        Reads the tokens.
    token_classes : TokenClasses
        What walks go over.
    """

    def __init__(self, recognizer: Recognizer, token_classes: TokenClasses) -> None:
        self._byte_classes = recognizer.scanner.byte_classes
        self._lexer = Lexer.of(recognizer)
        self._token_classes = token_classes
        self._levels: _Levels | None = None
        self._known: BoundedDict[int, Staying] = BoundedDict(_MAX_KNOWN)

    def of(self, number: int) -> Staying:
        """Return which tokens stay in the lexeme that is being read.

        Parameters
        ----------
        number : int
            Of the lexer's place.
        """
        trie = self._token_classes.trie
        if self._levels is None or self._levels.packed is not trie.packed:
            self._levels = _Levels(trie)
            self._known.clear()
        known = self._known.get(number)
        if known is None:
            known = self._known[number] = self._found(number, self._levels)
        return known

    def _found(self, number: int, levels: _Levels) -> Staying:
        lexer = self._lexer
        nodes = np.arange(levels.packed.n_roots)
        before = np.full(len(nodes), number, dtype=np.int64)
        staying, ends, leaving = [nodes[:0]], [before[:0]], [nodes[:0]]
        while len(nodes):
            after = lexer.all_after(before, self._byte_classes[levels.byte_of[nodes]])
            leaving.append(nodes[after == LEAVING])
            stays = after >= 0
            staying.append(nodes[stays])
            ends.append(after[stays])
            nodes, parents = levels.children(nodes[stays])
            before = after[stays][parents]
        numbers, end_of_node = np.unique(np.concatenate(ends), return_inverse=True)
        places = tuple(lexer.places[number] for number in numbers.tolist())
        positions, of_nodes = levels.own_positions(np.concatenate(staying))
        end_of = end_of_node[of_nodes]
        by_place = np.argsort(end_of, kind="stable")
        bounds = np.searchsorted(end_of[by_place], np.arange(len(places) + 1))
        token_ids = levels.packed.token_ids
        below, _ = levels.positions_below(np.concatenate(leaving))
        staying_ids = token_ids[positions[by_place]]
        return Staying(places, staying_ids, tuple(bounds.tolist()), token_ids[below])


class _Levels:
    """A trie as it is gone through level by level."""

    def __init__(self, trie: VocabularyTrie | ClassTrie) -> None:
        self.packed = trie.packed
        nodes = self.packed.nodes
        self.byte_of = nodes[:-1, BYTE]
        self._first_child = nodes[:, FIRST_CHILD].astype(np.int64)
        self._first_token = nodes[:-1, FIRST_TOKEN].astype(np.int64)
        self._end_token = nodes[:-1, END_TOKEN].astype(np.int64)
        child = self._first_child[:-1]
        has_child = child < self._first_child[1:]
        firsts = self._first_token[np.where(has_child, child, 0)]
        self._own_end = np.where(has_child, firsts, self._end_token)

    def children(self, nodes: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Return the children of some nodes, and which of the nodes is the parent of each."""
        return _ranges(self._first_child[nodes], self._first_child[nodes + 1])

    def own_positions(self, nodes: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Return where the tokens stand that end at some nodes, and at which of the nodes each."""
        return _ranges(self._first_token[nodes], self._own_end[nodes])

    def positions_below(self, nodes: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Return the same with the tokens that go on below the nodes."""
        return _ranges(self._first_token[nodes], self._end_token[nodes])


def _ranges(starts: Int64Array, ends: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return the numbers of some ranges, one range after another, and the range of each."""
    lengths = ends - starts
    of_ranges = np.repeat(np.arange(len(starts)), lengths)
    offsets = np.arange(len(of_ranges)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return starts[of_ranges] + offsets, of_ranges
