"""Cuts a text into the longest tokens that fit, from its beginning to its end.

In: a vocabulary. Out: for a text, token ids. A tokenizer would often cut it otherwise; this is for
where there is none, or one that changes texts.
"""

from __future__ import annotations

from cfgguide.engine.vocabulary.vocabulary import Vocabulary


class LongestTokens:
    """The tokens of a vocabulary by their bytes.

    Parameters
    ----------
    vocabulary : Vocabulary
        Of equal tokens the first is taken.

    Examples
    --------
    >>> longest = LongestTokens(Vocabulary([b"a", b"ab", b"b", None], eos_token_ids=3))
    >>> longest.cut(b"abba"), longest.cut(b"bx")
    (([1, 2, 0], 4), ([2], 1))
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._ids = vocabulary.first_ids
        self._max_length = vocabulary.trie.max_depth

    def cut(self, text: bytes) -> tuple[list[int], int]:
        """Return token ids, and how many bytes they spell: fewer than all where no token fits."""
        token_ids: list[int] = []
        start = 0
        while start < len(text):
            for end in range(min(len(text), start + self._max_length), start, -1):
                token_id = self._ids.get(text[start:end])
                if token_id is not None:
                    token_ids.append(token_id)
                    start = end
                    break
            else:
                break
        return token_ids, start
