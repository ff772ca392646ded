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
from typing import Any

import numpy as np

from cfgguide.base.bounded import BoundedDict
from cfgguide.engine.machine.lexeme_sets import LexemeSets
from cfgguide.engine.machine.recognizer import Hypothesis, Recognizer
from cfgguide.engine.machine.watching import WatchingRecognizer, watched
from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.engine.masks.subset import bitmask_of
from cfgguide.engine.monitors.text_sets import Texts
from cfgguide.engine.vocabulary.trie import BYTE, END_TOKEN, FIRST_CHILD, FIRST_TOKEN
from cfgguide.engine.vocabulary.vocabulary import Vocabulary

_MAX_KNOWN = 20_000  # sets of tokens, of about 1 kB each
_ROOT = -1


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
        is_begun = not self._recognizer.lexer.is_gap(hypothesis.scanner_state)
        restricted = [texts for texts in stack.place.allowed.values() if texts is not None]
        if is_begun:  # else any of them may begin, after more ignored text too
            ahead = self._recognizer.restricted(hypothesis.scanner_state, stack.place)
            restricted = [texts for _, texts in ahead]
        found = [
            self._of(part, stack.text, is_begun=is_begun)
            for texts in restricted
            for part in texts.parts()
        ]
        if not found:
            return bitmask_of([], self._vocabulary.n_words)
        return bitmask_of(np.concatenate(found), self._vocabulary.n_words)

    def going_on(self, hypothesis: Hypothesis, texts: Texts) -> Int32Array:
        """Return the tokens after which one of some texts goes on, or is whole; others, too."""
        is_begun = not self._recognizer.lexer.is_gap(hypothesis.scanner_state)
        begun = watched(hypothesis.stack).text
        found = [self._of(part, begun, is_begun=is_begun) for part in texts.parts()]
        return np.concatenate([np.empty(0, dtype=np.int32), *found])

    def _of(self, texts: Texts, text: bytes, *, is_begun: bool) -> Int32Array:
        key = texts, text, is_begun
        known = self._known.get(key)
        if known is None:
            node = self._visited.begun if is_begun else self._visited.between
            known = self._known[key] = np.array(_below(node, texts, text), dtype=np.int32)
        return known


def _below(start: TextNode, texts: Texts, text: bytes) -> list[int]:
    """Return the tokens below a node that go on with a text."""
    pending = [(start, text)]
    token_ids: list[int] = []
    while pending:
        node, before = pending.pop()
        wanted = texts.next_bytes(before)
        for byte in node.children if wanted is None else wanted:
            child = node.child(byte)
            if child is None:
                continue
            after = before + bytes((byte,))
            if texts.begins(after):
                token_ids += child.token_ids
                pending.append((child, after))
    return token_ids


class TextNode:
    """Nodes of a vocabulary's trie that are one after ignored text was left out.

    Attributes
    ----------
    token_ids : tuple of int
        The tokens that end here.
    """

    __slots__ = ("_children", "_nodes", "_trie", "token_ids")

    def __init__(self, trie: VisitedTrie, nodes: Iterable[int], token_ids: tuple[int, ...]) -> None:
        self._trie = trie
        self._nodes = tuple(nodes)  # whose children are below
        self._children: dict[int, TextNode | list[int]] | None = None
        self.token_ids = token_ids

    @property
    def children(self) -> Iterable[int]:
        """The bytes of the nodes below."""
        return self._by_byte()

    def child(self, byte: int) -> TextNode | None:
        """Return the node below after one more byte; None if there is none."""
        children = self._by_byte()
        child = children.get(byte)
        if isinstance(child, list):
            token_ids = tuple(each for node in child for each in self._trie.own_tokens(node))
            child = children[byte] = TextNode(self._trie, child, token_ids)
        return child

    def _by_byte(self) -> dict[int, TextNode | list[int]]:
        if self._children is None:
            found: dict[int, Any] = {}
            byte_of = self._trie.byte_of
            for node in self._nodes:
                for child in self._trie.children(node):
                    found.setdefault(byte_of[child], []).append(child)
            self._children = found
        return self._children


class VisitedTrie:
    """A vocabulary's trie as it is visited node by node.

    Parameters
    ----------
    recognizer : Recognizer
        Tells ignored text.
    vocabulary : Vocabulary
        The tokens.

    Attributes
    ----------
    byte_of : memoryview of int
        The last byte of each node's string.
    """

    def __init__(self, recognizer: Recognizer, vocabulary: Vocabulary) -> None:
        packed = vocabulary.trie.packed
        self._scanner = recognizer.scanner
        self._lexemes = LexemeSets.of(recognizer)
        self.byte_of = memoryview(np.ascontiguousarray(packed.nodes[:, BYTE]).data)
        self._n_roots = packed.n_roots
        self._first_token = memoryview(np.ascontiguousarray(packed.nodes[:, FIRST_TOKEN]).data)
        self._end_token = memoryview(np.ascontiguousarray(packed.nodes[:, END_TOKEN]).data)
        self._first_child = memoryview(np.ascontiguousarray(packed.nodes[:, FIRST_CHILD]).data)
        self._token_ids = packed.token_ids

    @cached_property
    def begun(self) -> TextNode:
        """Where a lexeme has begun."""
        return TextNode(self, [_ROOT], ())

    @cached_property
    def between(self) -> TextNode:
        """Where none has begun, so that ignored text may come before it."""
        return TextNode(self, [_ROOT, *self._ignored_nodes()], ())

    def children(self, node: int) -> range:
        """Return the nodes below a node."""
        if node == _ROOT:
            return range(self._n_roots)
        return range(self._first_child[node], self._first_child[node + 1])

    def own_tokens(self, node: int) -> list[int]:
        """Return the tokens that end at a node."""
        children = self.children(node)
        end = self._first_token[children[0]] if children else self._end_token[node]
        ids: list[int] = self._token_ids[self._first_token[node] : end].tolist()
        return ids

    def _ignored_nodes(self) -> list[int]:
        """Return the nodes whose path is ignored text and nothing else."""
        scanner = self._scanner
        classes, ignored = scanner.byte_classes.tolist(), 1 << scanner.ignored
        starts = {int(state) for state in np.unique(scanner.starts)}
        pending = [(node, starts) for node in self.children(_ROOT)]
        found: list[int] = []
        while pending:
            node, states = pending.pop()
            byte_class = classes[self.byte_of[node]]
            reached = {int(scanner.transitions[state, byte_class]) for state in states}
            after = {state for state in reached if self._lexemes.ahead(state) & ignored}
            is_match = any(scanner.match[state] == scanner.ignored for state in after)
            if is_match:
                found.append(node)
                # After ignored text, more of it may begin.
                after |= starts
            if after:
                pending += [(child, after) for child in self.children(node)]
        return found
