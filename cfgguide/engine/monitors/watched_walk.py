"""What the tokens lead to where a monitor follows a text.

In: the masks of a grammar with a monitor, and a configuration. Out: the configurations that the
tokens of its mask lead to, as :class:`cfgguide.engine.masks.walk.Walk` has them. Tokens that the
grammar does not tell apart lead to one configuration where the monitor asks for no text; where it
may be any text, to one with a text that is as long as any of theirs, and that nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cfgguide.engine.byte_machine.outcomes import SplitOutcomes
from cfgguide.engine.machine.recognizer import Configuration, Hypothesis
from cfgguide.engine.machine.watching import WatchedStack, watched
from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.engine.masks.shared_beginnings import groups
from cfgguide.engine.masks.subset import Subset, are_in_bitmask
from cfgguide.engine.masks.walk import LrWalker, Walk

if TYPE_CHECKING:
    from cfgguide.engine.monitors.watched_masks import WatchedMasks

_MANY = 100  # tokens of an outcome, of which not each is looked at by itself
_STRANGE = b"z"


class WatchedWalker:
    """Walks from configurations; serves one thread at a time."""

    def __init__(
        self, masks: WatchedMasks, subset: Callable[[Configuration], Subset], walker: LrWalker
    ) -> None:
        self._masks = masks
        self._subset = subset
        self._walker = walker
        self._outcomes: SplitOutcomes | None = None

    def advance(self, configuration: Configuration, data: bytes) -> Configuration | None:
        """Return what a token leads to, as a walk has it: stacks stay whole."""
        return self._masks.recognizer.advance(configuration, data)

    def walk(self, configuration: Configuration) -> SplitOutcomes:
        """Return what the tokens that may follow lead to."""
        words = self._subset(configuration).bitmask
        first_bytes, parts = self._masks.parts(configuration)
        going_on = None if first_bytes is None else self._masks.beginning.with_any(first_bytes)
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
        for outcome in range(walk.n_outcomes):
            where = walk.places_of(outcome)
            token_ids = walk.trie.token_ids[where]
            is_allowed = are_in_bitmask(token_ids, wanted)
            where, token_ids = where[is_allowed], token_ids[is_allowed]
            if not len(where):
                continue
            shared = self._shared(walk, outcome, start, token_ids)
            if shared is not None:
                places.append(where)
                numbers.append(np.full(len(where), found.setdefault(shared, len(found))))
                continue
            tokens = [self._masks.vocabulary.tokens[each] or b"" for each in token_ids.tolist()]
            for after, alike in self._grouped(start, tokens):
                places.append(where[alike])
                numbers.append(np.full(len(alike), found.setdefault(after, len(found))))

    def _grouped(
        self, start: Configuration, tokens: list[bytes]
    ) -> Iterator[tuple[Configuration, list[int]]]:
        """Yield what tokens lead to, each with those of them, by their places in the list."""
        advance = self._masks.recognizer.advance
        for members in groups(self._masks.recognizer, start, tokens):
            after = advance(start, tokens[members[0]])
            if len(members) >= _MANY and after is not None and self._may_be_any(after):
                yield _strange(after, max(len(tokens[each]) for each in members)), members
                continue
            for each in members:
                after = advance(start, tokens[each])
                if after is not None:
                    yield after, [each]

    def _shared(
        self, walk: Walk, outcome: int, configuration: Configuration, token_ids: Int32Array
    ) -> Configuration | None:
        """Return the configuration that stands for all tokens of an outcome; None if none does."""
        recognizer, tokens = self._masks.recognizer, self._masks.vocabulary.tokens
        first = recognizer.advance(configuration, tokens[int(token_ids[0])] or b"")
        if first is None or not walk.stays(outcome):
            return None
        if not any(watched(each.stack).text for each in first.hypotheses):
            return first
        if len(token_ids) < _MANY or not self._may_be_any(first):
            return None
        return _strange(first, max(len(tokens[each] or b"") for each in token_ids.tolist()))

    def _may_be_any(self, configuration: Configuration) -> bool:
        """Return whether the lexeme that is being read may have any text, or any but a few."""
        for hypothesis in configuration.hypotheses:
            place = watched(hypothesis.stack).place
            ahead = self._masks.recognizer.lexemes.ahead(hypothesis.scanner_state)
            if ahead & place.restricted & ~place.endless:
                return False
        return True

    def fill(self, bitmask: Int32Array) -> None:
        """Add the tokens of the outcomes of the last walk that are allowed to a bitmask."""
        assert self._outcomes is not None, "there was a walk"
        self._outcomes.fill(bitmask)


def _strange(configuration: Configuration, length: int) -> Configuration:
    """Return a configuration as if its lexeme were another, and that long."""
    more = length * _STRANGE
    strange = tuple(_with_more(each, more) for each in configuration.hypotheses)
    return Configuration(strange, configuration.context)


def _with_more(hypothesis: Hypothesis, more: bytes) -> Hypothesis:
    """Return a hypothesis as if its lexeme had gone on, if a monitor asks for its text."""
    stack = watched(hypothesis.stack)
    if not stack.text:
        return hypothesis
    return hypothesis._replace(stack=WatchedStack(stack.place, stack.text + more))
