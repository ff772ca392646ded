"""The tokens of a vocabulary by their bytes, looked up in its trie.

In: a vocabulary. Out: the tokens with which a text begins. Nothing is made for each token, so the
first question costs no more than others.
"""

from __future__ import annotations

from bisect import bisect_left

from cfgguide.engine.vocabulary.trie import (
    BYTE,
    END_TOKEN,
    FIRST_CHILD,
    FIRST_TOKEN,
    VocabularyTrie,
)


class TokenLookup:
    """Finds tokens by their bytes.

    Parameters
    ----------
    trie : VocabularyTrie
        Of the vocabulary.

    Examples
    --------
    >>> lookup = TokenLookup(VocabularyTrie.of([b"a", b"ab", b"b", None]))
    >>> lookup.beginning(b"abba"), lookup.cut(b"abba"), lookup.cut(b"bx"), lookup.is_open(b"a")
    ([(1, 0), (2, 1)], ([1, 2, 0], 4), ([2], 1), True)
    """

    def __init__(self, trie: VocabularyTrie) -> None:
        nodes = trie.packed.nodes
        self._bytes, self._first_token, self._end_token, self._first_child = (
            nodes[:, column].data for column in (BYTE, FIRST_TOKEN, END_TOKEN, FIRST_CHILD)
        )
        self._token_ids = trie.packed.token_ids.data
        self._n_roots = trie.packed.n_roots

    def beginning(self, text: bytes, start: int = 0) -> list[tuple[int, int]]:
        """Return the tokens with which a text goes on at a place, the shortest first.

        Returns
        -------
        list of (int, int)
            The length of each in bytes, and the smallest id that has it.
        """
        found = []
        first, end = 0, self._n_roots
        for length, byte in enumerate(memoryview(text)[start:], 1):
            node = bisect_left(self._bytes, byte, first, end)
            if node == end or self._bytes[node] != byte:
                break
            first, end = self._first_child[node], self._first_child[node + 1]
            token = self._first_token[node]
            if token < (self._first_token[first] if first < end else self._end_token[node]):
                found.append((length, self._token_ids[token]))
        return found

    def is_open(self, beginning: bytes) -> bool:
        """Return whether some token begins with some bytes and goes on."""
        first, end = 0, self._n_roots
        for byte in beginning:
            node = bisect_left(self._bytes, byte, first, end)
            if node == end or self._bytes[node] != byte:
                return False
            first, end = self._first_child[node], self._first_child[node + 1]
        return first < end

    def cut(self, text: bytes) -> tuple[list[int], int]:
        """Cut a text into the longest tokens that fit, from its beginning on.

        A tokenizer would often cut it otherwise; this is for where there is none, or one that
        changes texts.

        Returns
        -------
        tuple of (list of int, int)
            Token ids, and how many bytes they spell: fewer than all where no token fits.
        """
        token_ids: list[int] = []
        start = 0
        while start < len(text) and (found := self.beginning(text, start)):
            length, token_id = found[-1]
            token_ids.append(token_id)
            start += length
        return token_ids, start
