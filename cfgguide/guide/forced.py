"""Text that must come next, whatever the model would say.

In: an index and a configuration. Out: the bytes with which every sentence goes on from there, and
the tokens that spell them as the tokenizer would.

Where all allowed tokens begin with the same byte, and the text may not end, that byte is *forced*.
It is a matter of texts: behind it some tokens have ended and others go on, and the next byte is
forced if those that go on, and those allowed after the ones that ended, all agree again. ::

    after `{"na` of a grammar with one name    `m`, `me`, `me":` are allowed    forced  me":

The tokens are those that the tokenizer makes of the text, up to the first place from which some
token would reach beyond the forced bytes: what it would be there depends on what comes behind, and
is left to the model. So a text has the same chance to be written as without them, except that a
model may judge what follows a little differently by how the forced bytes were cut, and that it now
sees the spelling that it knows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cfgguide.index.index import Index
from cfgguide.index.step_cache import StepNode
from cfgguide.mask.subset import Subset

MAX_BYTES = 1_000  # that are looked ahead
_TAIL = 8  # tokens before the forced text that the tokenizer is shown

Encode = Callable[[str], Sequence[int]]


class JumpForward:
    """Finds forced text in the masks of an index.

    Examples
    --------
    >>> import cfgguide
    >>> vocabulary = cfgguide.Vocabulary([b"a", b"b", b"ab", b"c", b"d", None], eos_token_ids=5)
    >>> index = cfgguide.compile(cfgguide.Grammar('start: "ab" ("c" | "d")'), vocabulary)
    >>> JumpForward(index).forced(index, index.start)
    b'ab'
    """

    def __init__(self, index: Index) -> None:
        self._tokens = index.vocabulary.tokens
        self._sorted = sorted({token for token in self._tokens if token})
        first = np.array([token[0] if token else -1 for token in self._tokens], dtype=np.int16)
        padded = np.full(32 * index.vocabulary.n_words, -1, dtype=np.int16)
        padded[: len(first)] = first
        #: Of each byte the tokens that do not begin with it, EOS among them.
        self._others: list[npt.NDArray[np.int32]] = [
            np.packbits(padded != byte, bitorder="little").view(np.int32) for byte in range(256)
        ]

    @classmethod
    def of(cls, index: Index) -> JumpForward:
        """Return that of an index, which is made once."""
        return index.derived(cls)

    def forced(self, index: Index, step_node: StepNode) -> bytes:
        """Return the bytes with which every sentence goes on; empty if there is a choice.

        Parameters
        ----------
        index : Index
            That it was made for.
        step_node : Visit
            Where the text is.
        """
        found = bytearray()
        here, n_read = step_node.configuration, 0  # where the last tokens ended
        begun: set[bytes] = {b""}  # what is left of tokens that reach beyond what was found
        while len(found) < MAX_BYTES:
            if b"" in begun:  # some tokens end here, and others may begin
                after = index.recognizer.advance(here, bytes(found[n_read:]))
                assert after is not None, "allowed tokens led here"
                here, n_read = after, len(found)
                begun.remove(b"")
                subset = index.allowed(step_node) if not found else index.subset(here)
                if subset.n_tokens:  # without single-byte tokens there may be none
                    if self._byte(subset) is None:
                        break
                    begun |= {self._tokens[token_id] or b"" for token_id in subset.token_ids()}
            following = {rest[0] for rest in begun}
            if len(following) != 1:
                break
            found.append(following.pop())
            begun = {rest[1:] for rest in begun}
        return bytes(found)

    def _byte(self, subset: Subset) -> int | None:
        """Return the byte that all tokens begin with; None if they differ, or EOS is among them."""
        words = subset.bitmask
        place = int(np.flatnonzero(words)[0])
        bit = (int(words[place]) & -int(words[place])).bit_length() - 1
        token = self._tokens[32 * place + bit]
        if token is None or (words & self._others[token[0]]).any():
            return None
        return token[0]

    def token_ids(self, forced: bytes, before: Sequence[int], encode: Encode) -> tuple[int, ...]:
        """Return the tokens of forced text that are the same whatever follows.

        Parameters
        ----------
        forced : bytes
            The forced text.
        before : sequence of int
            The tokens before it.
        encode : callable
            Returns the tokens that a tokenizer makes of a text, none added.
        """
        stable = next(
            (start for start in range(len(forced)) if self._is_open(forced[start:])), len(forced)
        )
        text = _whole_characters(forced)
        if not text or not stable:
            return ()
        tail = [token_id for token_id in before[-_TAIL:] if self._tokens[token_id]]
        ids: list[int] = []
        for shown in (tail, []):
            try:
                told = b"".join(self._tokens[token_id] or b"" for token_id in shown).decode()
            except UnicodeDecodeError:
                continue
            ids = list(encode(told + text.decode()))
            if ids[: len(shown)] == shown:
                ids = ids[len(shown) :]
                break
        found: list[int] = []
        length = 0
        for token_id in ids:
            token = self._tokens[token_id] if 0 <= token_id < len(self._tokens) else None
            if not token or not text.startswith(token, length) or length + len(token) > stable:
                break
            found.append(token_id)
            length += len(token)
        return tuple(found)

    def _is_open(self, end: bytes) -> bool:
        """Return whether some token begins with the last bytes of a text and goes on."""
        place = bisect_right(self._sorted, end)
        return place < len(self._sorted) and self._sorted[place].startswith(end)


def _whole_characters(text: bytes) -> bytes:
    """Return a text without the part of a character at its end; nothing if it begins in one."""
    try:
        return text.decode().encode()
    except UnicodeDecodeError as error:
        return text[: error.start]


def encoder_of(tokenizer: Any) -> Encode:
    """Return what makes tokens of a text that is nothing but text, of a fast tokenizer."""
    if hasattr(tokenizer, "backend_tokenizer"):
        return lambda text: tokenizer.encode(
            text, add_special_tokens=False, split_special_tokens=True
        )
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids
