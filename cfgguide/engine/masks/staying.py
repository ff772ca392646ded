"""After which bytes a walk's configuration is the same as before.

In: a recogniser. Out: a :class:`Staying`: which scanner states and contexts a byte does not change.
A walk takes a subtree of the vocabulary trie whole where all bytes that come there change nothing::

    inside a STRING     `abc`, ` in the`, `42`      the same state, whatever follows of these
                        `abc",`                     ends it

Bytes that change the same states are one *set*, so that a few bits tell of a node what comes below
it. The machine of bytes knows more, *kinds* of characters, of automata that have no parser
(:mod:`cfgguide.automata.staying`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cfgguide.automata.dfa import DEAD
from cfgguide.automata.partition import distinct_columns
from cfgguide.engine.lexer.scanner import NO_MATCH, Scanner
from cfgguide.engine.machine.recognizer import Recognizer
from cfgguide.engine.masks.arrays import (
    ASSERTION,
    DYING,
    LEAVING,
    MATCHING,
    RUNNING,
    BoolArray,
    Int8Array,
    UInt64Array,
)
from cfgguide.engine.vocabulary.trie import BYTE, PackedTrie
from cfgguide.grammar.lr.indentation import BREAK, DIGIT, OTHER

_OTHERS = 63  # the bit of bytes that change everything, or are in a set too many


class Staying(NamedTuple):
    """What bytes leave as it is.

    Attributes
    ----------
    kind : int8, shape (n_states,)
        The kind of each scanner state.
    stays : uint64, shape (n_states,)
        The sets of bytes after which a lexeme is in the same scanner state, as bits.
    context_stays : uint64, shape (n_contexts,)
        The same for contexts.
    set_of_byte : uint64, shape (256,)
        The bit of each byte.
    """

    kind: Int8Array
    stays: UInt64Array
    context_stays: UInt64Array
    set_of_byte: UInt64Array

    @classmethod
    def of(cls, recognizer: Recognizer) -> Staying:
        """Return what bytes leave as it is for a recogniser."""
        scanner = recognizer.scanner
        in_contexts = scanner.contexts == np.arange(len(scanner.contexts))[:, None]
        kind = _kinds(scanner)
        states, in_states = _loops(recognizer, kind)
        loops = np.vstack([in_contexts, in_states])
        distinct, set_of_class = distinct_columns(loops.astype(np.int32))
        n_states = distinct.sum(axis=0)
        rank = np.empty(len(n_states), dtype=np.int64)
        rank[np.argsort(-n_states, kind="stable")] = np.arange(len(n_states))
        bit = np.where(n_states > 0, np.minimum(rank, _OTHERS), _OTHERS)[set_of_class]
        bits = np.uint64(1) << bit.astype(np.uint64)
        own = np.where(bit == _OTHERS, np.uint64(0), bits)
        rows = np.bitwise_or.reduce(np.where(loops, own, np.uint64(0)), axis=1)
        stays = np.zeros(scanner.n_states, dtype=np.uint64)
        stays[states] = rows[len(in_contexts) :]
        return cls(kind, stays, rows[: len(in_contexts)], bits[scanner.byte_classes])

    def own_bits(self, trie: PackedTrie) -> UInt64Array:
        """Return the set of the last byte of each node of a trie, as a bit."""
        return self.set_of_byte[trie.nodes[:-1, BYTE]]


def _loops(recognizer: Recognizer, kind: Int8Array) -> tuple[npt.NDArray[np.int64], BoolArray]:
    """Return the scanner states that some byte leaves as they are, and which classes do.

    In none of them does a lexeme end before such a byte: it goes on, or matches again.
    """
    scanner, reader = recognizer.scanner, recognizer.indentation_reader
    states = np.flatnonzero((kind == RUNNING) | (kind == MATCHING))
    loops: BoolArray = scanner.transitions[states] == states[:, None]
    if reader is not None:  # nor is anything counted
        is_plain = (reader.kinds == OTHER) | (reader.kinds == DIGIT)
        if reader.indentation_rules.is_cpython:  # where there is a column, the walk looks at it
            is_plain = reader.kinds != BREAK
        loops[reader.is_newline[states]] &= is_plain
        loops[reader.is_counted[states]] &= reader.kinds != DIGIT
    is_any = loops.any(axis=1)
    return states[is_any], loops[is_any]


def _kinds(scanner: Scanner) -> Int8Array:
    is_match = scanner.match != NO_MATCH
    kinds = np.where(is_match, MATCHING, RUNNING)
    if scanner.asks_each:
        # What may not match if a lexeme ends in each state.
        longer = scanner.class_representatives[scanner.equivalence_classes]
        is_other = is_match[scanner.transitions[longer]] != is_match[scanner.transitions]
        kinds[is_match & is_other.any(axis=1)] = LEAVING
    kinds[scanner.is_assertion] = ASSERTION
    kinds[DEAD] = DYING
    return kinds.astype(np.int8)
