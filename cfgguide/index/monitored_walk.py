"""What the tokens lead to where a monitor follows a text.

In: the index of a grammar with a monitor, and a configuration. Out: the configurations that the
tokens of its mask lead to, as :class:`cfgguide.mask.walk.Walk` has them. Tokens that the grammar
does not tell apart lead to one configuration where the monitor asks for no text; where it may be
any text, to one with a text that is as long as any of theirs, and that nobody knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cfgguide.mask.arrays import Int32Array
from cfgguide.mask.walk import Walk, Walker
from cfgguide.pushdown.outcomes import SplitOutcomes
from cfgguide.recognizer.recognizer import Configuration, Hypothesis
from cfgguide.recognizer.watching import WatchedStack, watched

if TYPE_CHECKING:
    from cfgguide.index.monitored_index import MonitoredIndex

_MANY = 100  # tokens of an outcome, of which not each is looked at by itself
_STRANGE = b"z"


class MonitoredWalker:
    """Walks from configurations; serves one thread at a time."""

    def __init__(self, index: MonitoredIndex, walker: Walker) -> None:
        self._index = index
        self._walker = walker
        self._outcomes: SplitOutcomes | None = None

    def walk(self, configuration: Configuration) -> SplitOutcomes:
        """Return what the tokens that may follow lead to."""
        words = self._index.subset(configuration).bitmask
        first_bytes, parts = self._index.parts(configuration)
        going_on = None if first_bytes is None else self._index.beginning.with_any(first_bytes)
        found: dict[Configuration, int] = {}
        places: list[npt.NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
        numbers: list[npt.NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
        for start, tokens in [(configuration, going_on), *parts]:
            wanted = words if tokens is None else words & tokens
            if wanted.any():
                self._add(start, wanted, found, places, numbers)
        trie = self._walker.trie
        at, of = np.concatenate(places), np.concatenate(numbers)
        self._outcomes = SplitOutcomes(trie, at, of, list(found))
        return self._outcomes

    def _add(
        self,
        start: Configuration,
        wanted: Int32Array,
        found: dict[Configuration, int],
        places: list[npt.NDArray[np.int64]],
        numbers: list[npt.NDArray[np.int64]],
    ) -> None:
        """Add what some tokens lead to: where they are in the trie, and the number of each."""
        walk = self._walker.walk(start)
        assert walk is not None, "nothing lies below the bottom of a whole stack"
        for outcome in range(walk.n_outcomes):
            where = walk.places_of(outcome)
            token_ids = walk.trie.token_ids[where]
            is_allowed = wanted[token_ids >> 5] >> (token_ids & 31) & 1 == 1
            where, token_ids = where[is_allowed], token_ids[is_allowed]
            if not len(where):
                continue
            shared = self._shared(walk, outcome, start, token_ids)
            if shared is not None:
                places.append(where)
                numbers.append(np.full(len(where), found.setdefault(shared, len(found))))
                continue
            for place, token_id in zip(where.tolist(), token_ids.tolist(), strict=True):
                token = self._index.vocabulary.tokens[token_id] or b""
                after = self._index.recognizer.advance(start, token)
                if after is not None:
                    places.append(np.array([place]))
                    numbers.append(np.array([found.setdefault(after, len(found))]))

    def _shared(
        self, walk: Walk, outcome: int, configuration: Configuration, token_ids: Int32Array
    ) -> Configuration | None:
        """Return the configuration that stands for all tokens of an outcome; None if none does."""
        recognizer, tokens = self._index.recognizer, self._index.vocabulary.tokens
        first = recognizer.advance(configuration, tokens[int(token_ids[0])] or b"")
        if first is None or not walk.stays(outcome):
            return None
        if not any(watched(each.stack).text for each in first.hypotheses):
            return first
        if len(token_ids) < _MANY:
            return None
        longest = max(len(tokens[token_id] or b"") for token_id in token_ids.tolist())
        strange = tuple(_with_more(each, longest * _STRANGE) for each in first.hypotheses)
        return Configuration(strange, first.context)

    def fill(self, bitmask: Int32Array) -> None:
        """Add the tokens of the outcomes of the last walk that are allowed to a bitmask."""
        assert self._outcomes is not None, "there was a walk"
        self._outcomes.fill(bitmask)


def _with_more(hypothesis: Hypothesis, more: bytes) -> Hypothesis:
    """Return a hypothesis as if its lexeme had gone on, if a monitor asks for its text."""
    stack = watched(hypothesis.stack)
    if not stack.text:
        return hypothesis
    return hypothesis._replace(stack=WatchedStack(stack.place, stack.text + more))
