"""The fewest tokens that spell a text.

In: a vocabulary and bytes. Out: the ids of as few tokens as possible that spell them; of several
such spellings, the one whose first tokens are longest. What was found for a suffix serves all texts
that end with it. A text of more than `BLOCK` bytes is spelled block by block from its end, each in
as few tokens as possible: all together may be some more than needed, about one in each block.
"""

from __future__ import annotations

from itertools import pairwise

from cfgguide.base.limits import check_step
from cfgguide.engine.vocabulary.vocabulary import Vocabulary

BLOCK = 512  # bytes that are spelled at once
_MAX_BYTES = 20_000_000  # of what is remembered, about
_OVERHEAD = 200  # bytes of what is remembered of a text beside itself

_Spelling = tuple[int, int, int]  # number of tokens, the first one's id, and its length


class FewestTokens:
    """Spells texts in as few tokens as possible.

    Examples
    --------
    >>> from cfgguide.engine.vocabulary.vocabulary import Vocabulary
    >>> fewest = FewestTokens(Vocabulary([b"a", b"ab", b"bcd", b"c", b"d", None], eos_token_ids=5))
    >>> fewest.of(b"abcd"), fewest.of(b"abc"), fewest.of(b"b")
    ((0, 2), (1, 3), None)
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._beginning = vocabulary.lookup.beginning
        self._forget()

    def _forget(self) -> None:
        self._known: dict[bytes, _Spelling | None] = {b"": (0, 0, 0)}
        self._spelled: dict[bytes, tuple[int, ...] | None] = {}  # blocks, which many texts have
        self._n_bytes = 0

    def count(self, text: bytes) -> int | None:
        """Return how many tokens spell a text, at least; None if none do."""
        tokens = self.of(text)
        return None if tokens is None else len(tokens)

    def of(self, text: bytes) -> tuple[int, ...] | None:
        """Return the ids of the fewest tokens that spell a text; None if none do."""
        if len(text) <= BLOCK:
            return self._of(text)
        ends = [*range(len(text) % BLOCK, len(text), BLOCK), len(text)]
        found: list[int] = []
        for start, end in pairwise([0, *ends]):
            tokens = self._of(text[start:end])
            if tokens is None:
                return self._of(text)  # one token may have to reach into the next block
            found += tokens
        return tuple(found)

    def _of(self, text: bytes) -> tuple[int, ...] | None:
        if text not in self._spelled:
            tokens = self._sought(text)
            self._spelled[text] = tokens
            self._n_bytes += len(text) + _OVERHEAD + 8 * len(tokens or ())
        return self._spelled[text]

    def _sought(self, text: bytes) -> tuple[int, ...] | None:
        if self._n_bytes > _MAX_BYTES:
            self._forget()
        # All suffixes of the blocks of a long text would take more than is remembered.
        known = self._known if len(text) < BLOCK else {b"": self._known[b""]}
        for start in range(len(text) - 1, -1, -1):  # each suffix from shorter ones
            check_step()
            end = text[start:]
            if end not in known:
                known[end] = self._found(end, known)
                self._n_bytes += len(end) + _OVERHEAD if known is self._known else 0
        spelling, found = known[text], list[int]()
        while spelling is not None and text:
            _, token_id, length = spelling
            found.append(token_id)
            text = text[length:]
            spelling = known[text]
        return None if text else tuple(found)

    def _found(self, text: bytes, known: dict[bytes, _Spelling | None]) -> _Spelling | None:
        best: _Spelling | None = None
        for length, token_id in reversed(self._beginning(text)):
            rest = known[text[length:]]
            if rest is not None and (best is None or rest[0] + 1 < best[0]):
                best = rest[0] + 1, token_id, length
        return best
