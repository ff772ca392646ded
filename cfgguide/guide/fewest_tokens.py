"""The fewest tokens that spell a text.

In: a vocabulary and bytes. Out: the ids of as few tokens as possible that spell them; of several
such spellings, the one whose first tokens are longest. What was found for a suffix serves all texts
that end with it.
"""

from __future__ import annotations

from cfgguide.vocabulary.vocabulary import Vocabulary

_MAX_KNOWN = 50_000  # texts that are remembered


class FewestTokens:
    """Spells texts in as few tokens as possible.

    Examples
    --------
    >>> from cfgguide.vocabulary.vocabulary import Vocabulary
    >>> fewest = FewestTokens(Vocabulary([b"a", b"ab", b"bcd", b"c", b"d", None], eos_token_ids=5))
    >>> fewest.of(b"abcd"), fewest.of(b"abc"), fewest.of(b"b")
    ((0, 2), (1, 3), None)
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._ids: dict[bytes, int] = {}
        for token_id, token in enumerate(vocabulary.tokens):
            if token:
                self._ids.setdefault(token, token_id)
        self._longest = max(map(len, self._ids), default=0)
        self._known: dict[bytes, tuple[int, ...] | None] = {b"": ()}

    def of(self, text: bytes) -> tuple[int, ...] | None:
        """Return the ids of the fewest tokens that spell a text; None if none do."""
        if len(self._known) > _MAX_KNOWN:
            self._known = {b"": ()}
        for start in range(len(text) - 1, -1, -1):  # each suffix from shorter ones
            end = text[start:]
            if end not in self._known:
                self._known[end] = self._found(end)
        return self._known[text]

    def _found(self, text: bytes) -> tuple[int, ...] | None:
        best: tuple[int, ...] | None = None
        for length in range(min(len(text), self._longest), 0, -1):
            token_id = self._ids.get(text[:length])
            rest = self._known[text[length:]] if token_id is not None else None
            if token_id is None or rest is None:
                continue
            if best is None or len(rest) + 1 < len(best):
                best = (token_id, *rest)
        return best
