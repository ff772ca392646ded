"""The tokens with which some texts begin, or go on.

In: a hypothesis inside a lexeme that may have only some texts, or where one begins. Out: the tokens
that stay in it, after ignored text perhaps. Only the part of the vocabulary trie is visited with
which one of the texts begins, so a few names cost little, however large the vocabulary is. ::

    texts id, name      here       i, id, n, na, name ... and the same after white space
    `na` was read                  m, me
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

import numpy as np

from cfgguide.automata.dfa import DEAD
from cfgguide.mask.arrays import Int32Array
from cfgguide.mask.subset import bitmask_of
from cfgguide.monitors.texts import Texts
from cfgguide.recognizer.recognizer import Hypothesis
from cfgguide.recognizer.watching import WatchedStack, WatchingRecognizer
from cfgguide.vocabulary.trie import BYTE, END_TOKEN, FIRST_CHILD, FIRST_TOKEN
from cfgguide.vocabulary.vocabulary import Vocabulary

_MAX_KNOWN = 2_000  # sets of tokens


class TokensOfTexts:
    """Finds the tokens with which texts begin or go on.

    Attributes
    ----------
    is_usable : bool
        Whether lexemes that a monitor follows can be told from ignored text by their first byte.
    """

    def __init__(self, recognizer: WatchingRecognizer, vocabulary: Vocabulary) -> None:
        self._recognizer = recognizer
        self._vocabulary = vocabulary
        packed = vocabulary.trie.packed
        self._byte = memoryview(np.ascontiguousarray(packed.nodes[:, BYTE]).data)
        self._first_token = memoryview(np.ascontiguousarray(packed.nodes[:, FIRST_TOKEN]).data)
        self._end_token = memoryview(np.ascontiguousarray(packed.nodes[:, END_TOKEN]).data)
        self._first_child = memoryview(np.ascontiguousarray(packed.nodes[:, FIRST_CHILD]).data)
        self._token_ids = packed.token_ids
        self._n_roots = packed.n_roots
        self._known: OrderedDict[tuple[Texts, bytes, bool], Int32Array] = OrderedDict()
        self._gaps: list[int] | None = None
        self.is_usable = recognizer.tells_followed_from_ignored()

    def tokens(self, hypothesis: Hypothesis) -> Int32Array:
        """Return the tokens after which a lexeme goes on with texts allowed there, as a bitmask.

        Only tokens that stay in the lexeme count, or that begin one; others may be among them.
        """
        stack = hypothesis.stack
        assert isinstance(stack, WatchedStack), "all stacks are watched here"
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
            starts: Iterable[int] = () if is_begun else self._ignored_nodes()
            token_ids = self._below(range(self._n_roots), texts, text)
            for node in starts:
                token_ids += self._below(self._children(node), texts, text)
            known = self._known[key] = bitmask_of(token_ids, self._vocabulary.n_words)
            if len(self._known) > _MAX_KNOWN:
                self._known.popitem(last=False)
        return known

    def _below(self, nodes: Iterable[int], texts: Texts, text: bytes) -> list[int]:
        """Return the tokens below some nodes that go on with a text."""
        pending = [(node, text) for node in nodes]
        token_ids: list[int] = []
        while pending:
            node, before = pending.pop()
            after = before + bytes((self._byte[node],))
            if not texts.begins(after):
                continue
            children = self._children(node)
            token_ids += self._own_tokens(node)
            pending += [(child, after) for child in children]
        return token_ids

    def _children(self, node: int) -> range:
        return range(self._first_child[node], self._first_child[node + 1])

    def _own_tokens(self, node: int) -> list[int]:
        """Return the tokens that end at a node."""
        children = self._children(node)
        end = self._first_token[children[0]] if children else self._end_token[node]
        ids: list[int] = self._token_ids[self._first_token[node] : end].tolist()
        return ids

    def _ignored_nodes(self) -> list[int]:
        """Return the nodes whose path is ignored text and nothing else."""
        if self._gaps is None:
            scanner = self._recognizer.scanner
            classes = scanner.byte_classes.tolist()
            starts = {int(state) for state in np.unique(scanner.starts)}
            pending = [(node, starts) for node in range(self._n_roots)]
            self._gaps = []
            while pending:
                node, states = pending.pop()
                byte_class = classes[self._byte[node]]
                after = {int(scanner.transitions[state, byte_class]) for state in states} - {DEAD}
                is_match = any(scanner.match[state] == scanner.ignored for state in after)
                if is_match:
                    self._gaps.append(node)
                    after |= starts
                if after:
                    pending += [(child, after) for child in self._children(node)]
        return self._gaps
