"""Token healing: a prompt's last tokens are taken back, and written again by the model.

In: the tokens of a prompt, and an index. Out: the prompt without its last tokens, their bytes, and
the masks under which the model spells these bytes first and then a sentence.

A tokenizer cuts a prompt as if nothing followed. A prompt that ends in ``"`` has a token for that
byte alone, but the model has mostly seen ``"name`` or ``":`` as one token, and now finds these
unlikely. Healing gives the choice back: while bytes are left to be spelled, the allowed tokens are
those that spell the next of these bytes, and those that spell all of them and go on with what the
grammar allows. ::

    left to spell  b" t"     allowed  " ", " t", and " tr", " true" where `true` may follow

Source: Lundberg, "The art of prompt design: prompt boundaries and token healing" (2023); here the
bytes may be cut anywhere, and need not come from one token.
"""

from __future__ import annotations

import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from cfgguide.engine.index.index import Index
from cfgguide.engine.index.memo import Step
from cfgguide.engine.masks.subset import Int32Array, bitmask_of
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import VocabularyWarning

MAX_TOKENS = 4  # that are taken back


@dataclass(frozen=True)
class Healed:
    """A prompt whose last tokens were taken back.

    Attributes
    ----------
    token_ids : tuple of int
        What is left of it.
    bytes_left : bytes
        What the removed tokens spelled.
    """

    token_ids: tuple[int, ...]
    bytes_left: bytes


class Healing:
    """Takes tokens back, and gives the masks while their bytes are written again.

    Examples
    --------
    >>> import cfgguide
    >>> tokens = [b"x", b" ", b" t", b" true", b"true", b" try", b"t", b"r", b"u", b"e", None]
    >>> vocabulary = cfgguide.Vocabulary(tokens, eos_token_ids=10)
    >>> index = cfgguide.compile(cfgguide.Grammar('start: "true"'), vocabulary)
    >>> healing = Healing(index)
    >>> healed = healing.taken_back([0, 1])
    >>> healed
    Healed(token_ids=(0,), bytes_left=b' ')
    >>> words = healing.allowed(healed.bytes_left, index.start)
    >>> [vocabulary.tokens[i] for i in range(10) if words[0] >> i & 1]
    [b' ', b' t', b' true']
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        ids: dict[bytes, list[int]] = {}
        for token_id, token in enumerate(index.vocabulary.tokens):
            if token:
                ids.setdefault(token, []).append(token_id)
        self._ids = ids
        self._sorted = sorted(ids)

    def taken_back(self, token_ids: Sequence[int], max_tokens: int = MAX_TOKENS) -> Healed:
        """Return a prompt without the last tokens that might have been part of a longer one.

        Parameters
        ----------
        token_ids : sequence of int
            The prompt. Its first token stays, and so do tokens without text.
        max_tokens : int
            Maximum number of tokens that are taken back.
        """
        kept, left = len(token_ids), b""
        while kept > 1 and len(token_ids) - kept < max_tokens:
            token = self._index.vocabulary.tokens[token_ids[kept - 1]]
            if not token or not self._longer(token + left):
                break
            kept, left = kept - 1, token + left
        return Healed(tuple(token_ids[:kept]), left)

    def allowed(self, left: bytes, step: Step) -> Int32Array:
        """Return the tokens that may come next; as :meth:`TokenBudget.within` has them.

        Parameters
        ----------
        left : bytes
            What is left to be spelled before the sentence goes on.
        step : Step
            Where the sentence is.
        """
        if not left:
            return self._index.allowed(step).bitmask
        token_ids: list[int] = []
        for end in range(1, len(left) + 1):
            token_ids += self._ids.get(left[:end], [])
        longer = self._longer(left)
        if longer:
            rests = Vocabulary([token[len(left) :] for token in longer] + [None],
                               eos_token_ids=len(longer))  # fmt: skip
            with warnings.catch_warnings(action="ignore", category=VocabularyWarning):
                allowed = self._index.with_vocabulary(rests).subset(step.configuration)
            for rest_id in allowed.token_ids().tolist():
                if rest_id < len(longer):
                    token_ids += self._ids[longer[rest_id]]
        return bitmask_of(token_ids, self._index.vocabulary.n_words)

    def advance(self, left: bytes, step: Step, token_id: int) -> tuple[bytes, Step]:
        """Return what is left, and where the sentence is, after an allowed token."""
        token = self._index.vocabulary.tokens[token_id]
        if not left or not token:
            return left, self._index.advance(step, token_id)
        if len(token) <= len(left):
            return left[len(token) :], step
        after = self._index.machine.advance(step.configuration, token[len(left) :])
        assert after is not None, "the token was allowed"
        return b"", self._index.step_to(after)

    def _longer(self, prefix: bytes) -> list[bytes]:
        """Return the tokens that are longer than a prefix and begin with it, sorted."""
        start = bisect_right(self._sorted, prefix)
        end = bisect_left(self._sorted, prefix + b"\xff" * 64, lo=start)
        return [token for token in self._sorted[start:end] if token.startswith(prefix)]
