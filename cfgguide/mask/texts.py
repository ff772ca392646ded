"""The tokens with which some texts begin, or go on.

In: a hypothesis inside a lexeme that may have only some texts, or where one begins. Out: the tokens
that stay in it, after ignored text perhaps. Only the part of the vocabulary trie is visited with
which one of the texts begins, so a few names cost little, however large the vocabulary is. ::

    texts id, name      here       i, id, n, na, name ... and the same after white space
    `na` was read                  m, me
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from cfgguide.automata.dfa import DEAD
from cfgguide.lexer.scanner import Scanner
from cfgguide.mask.arrays import Int32Array
from cfgguide.mask.subset import bitmask_of
from cfgguide.monitors.texts import Texts
from cfgguide.recognizer.recognizer import Hypothesis
from cfgguide.recognizer.watching import WatchingRecognizer, watched
from cfgguide.storage.bounded import BoundedDict
from cfgguide.vocabulary.trie import BYTE, END_TOKEN, FIRST_CHILD, FIRST_TOKEN
from cfgguide.vocabulary.vocabulary import Vocabulary

_MAX_KNOWN = 2_000  # sets of tokens


class TokensOfTexts:
    """Finds the tokens with which texts begin or go on.

    Parameters
    ----------
    recognizer : WatchingRecognizer
        Reads the texts.
    vocabulary : Vocabulary
        The tokens.
    visited : VisitedTrie
        Of them.

    Attributes
    ----------
    is_usable : bool
        Whether lexemes that a monitor follows can be told from ignored text by their first byte.
    """

    def __init__(
        self, recognizer: WatchingRecognizer, vocabulary: Vocabulary, visited: VisitedTrie
    ) -> None:
        self._recognizer = recognizer
        self._vocabulary = vocabulary
        self._visited = visited
        self._known: BoundedDict[tuple[Texts, bytes, bool], Int32Array] = BoundedDict(_MAX_KNOWN)
        self.is_usable = recognizer.tells_followed_from_ignored

    def tokens(self, hypothesis: Hypothesis) -> Int32Array:
        """Return the tokens after which a lexeme goes on with texts allowed there, as a bitmask.

        Only tokens that stay in the lexeme count, or that begin one; others may be among them.
        """
        stack = watched(hypothesis.stack)
        is_begun = not self._recognizer.is_between(hypothesis.scanner_state)
        found = np.zeros(self._vocabulary.n_words, dtype=np.int32)
        restricted = [texts for texts in stack.place.allowed.values() if texts is not None]
        if is_begun:  # else any of them may begin, after more ignored text too
            ahead = self._recognizer.restricted(hypothesis.scanner_state, stack.place)
            restricted = [texts for _, texts in ahead]
        for texts in restricted:
            for part in texts.parts():
                found |= self._of(part, stack.text, is_begun=is_begun)
        return found

    def _of(self, texts: Texts, text: bytes, *, is_begun: bool) -> Int32Array:
        key = texts, text, is_begun
        known = self._known.get(key)
        if known is None:
            visited = self._visited
            starts = () if is_begun else visited.ignored_nodes
            token_ids = self._below(visited.roots, texts, text)
            for node in starts:
                token_ids += self._below(visited.children(node), texts, text)
            known = self._known[key] = bitmask_of(token_ids, self._vocabulary.n_words)
        return known

    def _below(self, nodes: Iterable[int], texts: Texts, text: bytes) -> list[int]:
        """Return the tokens below some nodes that go on with a text."""
        visited, byte_of = self._visited, self._visited.byte_of
        pending = [(node, text) for node in nodes]
        token_ids: list[int] = []
        while pending:
            node, before = pending.pop()
            after = before + bytes((byte_of[node],))
            if not texts.begins(after):
                continue
            token_ids += visited.own_tokens(node)
            pending += [(child, after) for child in visited.children(node)]
        return token_ids


class VisitedTrie:
    """A vocabulary's trie as it is visited node by node.

    Parameters
    ----------
    scanner : Scanner
        Tells ignored text.
    vocabulary : Vocabulary
        The tokens.

    Attributes
    ----------
    byte_of : memoryview of int
        The last byte of each node's string.
    roots : range
        The nodes of one byte.
    """

    def __init__(self, scanner: Scanner, vocabulary: Vocabulary) -> None:
        packed = vocabulary.trie.packed
        self._scanner = scanner
        self.byte_of = memoryview(np.ascontiguousarray(packed.nodes[:, BYTE]).data)
        self.roots = range(packed.n_roots)
        self._first_token = memoryview(np.ascontiguousarray(packed.nodes[:, FIRST_TOKEN]).data)
        self._end_token = memoryview(np.ascontiguousarray(packed.nodes[:, END_TOKEN]).data)
        self._first_child = memoryview(np.ascontiguousarray(packed.nodes[:, FIRST_CHILD]).data)
        self._token_ids = packed.token_ids

    def children(self, node: int) -> range:
        """Return the nodes below a node."""
        return range(self._first_child[node], self._first_child[node + 1])

    def own_tokens(self, node: int) -> list[int]:
        """Return the tokens that end at a node."""
        children = self.children(node)
        end = self._first_token[children[0]] if children else self._end_token[node]
        ids: list[int] = self._token_ids[self._first_token[node] : end].tolist()
        return ids

    @cached_property
    def ignored_nodes(self) -> tuple[int, ...]:
        """The nodes whose path is ignored text and nothing else."""
        scanner = self._scanner
        classes = scanner.byte_classes.tolist()
        starts = {int(state) for state in np.unique(scanner.starts)}
        pending = [(node, starts) for node in self.roots]
        found: list[int] = []
        while pending:
            node, states = pending.pop()
            byte_class = classes[self.byte_of[node]]
            after = {int(scanner.transitions[state, byte_class]) for state in states} - {DEAD}
            is_match = any(scanner.match[state] == scanner.ignored for state in after)
            if is_match:
                found.append(node)
                after |= starts
            if after:
                pending += [(child, after) for child in self.children(node)]
        return tuple(found)
