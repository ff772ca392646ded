"""Forced text (jump-forward): what must come next, whatever the model would say.

In: an index and a configuration. Out: the bytes with which every sentence goes on from there, and
the tokens that spell them as the tokenizer would.

Where all allowed tokens begin with the same byte, and the text may not end, that byte is *forced*.
After it, some tokens have ended and others go on. The next byte is forced if the tokens that go on,
and those allowed after the tokens that ended, all agree again. ::

    after `{"na` of a grammar with one name    `m`, `me`, `me":` are allowed    forced  me":

The tokens are those that the tokenizer makes of the text, up to the first position from which some
token would reach beyond the forced bytes: what the tokenizer writes there depends on what comes
after, and is left to the model. So a text is as probable as without forced tokens, except that the
model sees the forced bytes in the tokens it knows, and may judge what follows a little differently.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cfgguide.base.limits import check_step, work_of_thread
from cfgguide.engine.index.index import Index
from cfgguide.engine.index.memo import Step
from cfgguide.engine.masks.subset import Subset

MAX_BYTES = 1_000  # of forced text, found at once
_MOST_WORK = 80_000  # calls of `check_step`: mostly, each byte takes one
_TAIL = 8  # tokens before the forced text that the tokenizer also sees

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
        self._is_open = index.vocabulary.lookup.is_open
        self._by_first_byte = index.vocabulary.tokens_by_first_byte

    @classmethod
    def of(cls, index: Index) -> JumpForward:
        """Return that of an index, which is made once."""
        return index.derived(cls)

    def forced(self, index: Index, step: Step) -> bytes:
        """Return the bytes with which every sentence goes on; empty if there is a choice.

        Parameters
        ----------
        index : Index
            The index that this object was made for.
        step : Step
            Where the text is.
        """
        forced = bytearray()
        here, n_read = step.configuration, 0  # where the last tokens ended
        rests: set[bytes] = {b""}  # of the tokens that reach beyond the forced bytes
        with index.steps.begun():
            most = work_of_thread() + _MOST_WORK
            while len(forced) < MAX_BYTES and work_of_thread() < most:
                check_step(0)
                if b"" in rests:  # some tokens end here, and others may begin
                    after = index.machine.advance(here, bytes(forced[n_read:]))
                    assert after is not None, "allowed tokens led here"
                    here, n_read = after, len(forced)
                    rests.remove(b"")
                    subset = index.allowed(step) if not forced else index.subset(here)
                    if subset.n_tokens:  # without single-byte tokens there may be none
                        if self._byte(subset) is None:
                            break
                        rests |= {self._tokens[token_id] or b"" for token_id in subset.token_ids()}
                following = {rest[0] for rest in rests}
                if len(following) != 1:
                    break
                forced.append(following.pop())
                rests = {rest[1:] for rest in rests}
        return bytes(forced)

    def _byte(self, subset: Subset) -> int | None:
        """Return the byte that all tokens begin with; None if they differ, or EOS is among them."""
        words = subset.bitmask
        number = int(np.flatnonzero(words)[0])  # of the first word that is not 0
        bit = (int(words[number]) & -int(words[number])).bit_length() - 1
        token = self._tokens[32 * number + bit]
        if token is None or (words & ~self._by_first_byte[token[0]]).any():
            return None
        return token[0]

    def token_ids(self, forced: bytes, before: Sequence[int], encode: Encode) -> tuple[int, ...]:
        """Return the tokens of forced text that stay the same whatever follows.

        Parameters
        ----------
        forced : bytes
            The forced text.
        before : sequence of int
            The tokens before it.
        encode : callable
            Returns the tokens that a tokenizer makes of a text, without special tokens.
        """
        # From here on a token could reach beyond the text, and the tokenizer might have chosen it.
        stable = next(
            (start for start in range(len(forced)) if self._is_open(forced[start:])), len(forced)
        )
        text = _whole_characters(forced)
        if not text or not stable:
            return ()
        tail = [token_id for token_id in before[-_TAIL:] if self._tokens[token_id]]
        ids: list[int] = []
        # What stands before may change the first tokens of a text. Where the tokenizer would cut
        # that otherwise, its answer says nothing about these tokens, and the text is encoded alone.
        for shown in (tail, []):
            try:
                context = b"".join(self._tokens[token_id] or b"" for token_id in shown).decode()
            except UnicodeDecodeError:
                continue
            ids = list(encode(context + text.decode()))
            if ids[: len(shown)] == shown:
                ids = ids[len(shown) :]
                break
        token_ids: list[int] = []
        length = 0
        for token_id in ids:
            token = self._tokens[token_id] if 0 <= token_id < len(self._tokens) else None
            if not token or not text.startswith(token, length) or length + len(token) > stable:
                break
            token_ids.append(token_id)
            length += len(token)
        return tuple(token_ids)


def _whole_characters(text: bytes) -> bytes:
    """Return a text without a cut character at its end; nothing if it begins inside a character."""
    try:
        return text.decode().encode()
    except UnicodeDecodeError as error:
        return text[: error.start]


def encoder_of(tokenizer: Any) -> Encode:
    """Return a function from plain text to token ids, without special tokens.

    Parameters
    ----------
    tokenizer : transformers fast tokenizer, tokenizers.Tokenizer or callable
        A callable is returned as it is.
    """
    if hasattr(tokenizer, "backend_tokenizer"):
        return lambda text: tokenizer.encode(
            text, add_special_tokens=False, split_special_tokens=True
        )
    if hasattr(tokenizer, "encode"):
        return lambda text: tokenizer.encode(text, add_special_tokens=False).ids
    encode: Encode = tokenizer
    return encode
