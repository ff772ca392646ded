"""What the tokens lead to where a monitor follows a text.

In: the masks of a grammar with a monitor, and a configuration. Out: the configurations that the
tokens of its mask lead to, as :class:`cfgguide.engine.masks.walk.Walk` has them. Tokens that the
grammar does not tell apart lead to one configuration where the monitor asks for no text; where it
may be any text, to one with a text that is as long as any of theirs, and that nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import chain, compress
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cfgguide.base.bounded import BoundedDict
from cfgguide.engine.byte_machine.outcomes import SplitOutcomes
from cfgguide.engine.lexer.scanner import NO_MATCH
from cfgguide.engine.machine.places import ParsePoint, asked
from cfgguide.engine.machine.recognizer import Configuration, Hypothesis
from cfgguide.engine.machine.watching import WatchedStack, watched
from cfgguide.engine.masks.arrays import BoolArray, Int32Array
from cfgguide.engine.masks.shared_beginnings import groups
from cfgguide.engine.masks.subset import Subset, are_in_bitmask
from cfgguide.engine.masks.walk import LrWalker, Walk
from cfgguide.engine.monitors.text_sets import Texts

if TYPE_CHECKING:
    from cfgguide.engine.monitors.watched_masks import WatchedMasks

_MANY = 100  # tokens of an outcome, of which not each is looked at by itself
_STRANGE = b"z"
_MAX_KNOWN = 200  # places, about those of two walks


class WatchedWalker:
    """Walks from configurations; serves one thread at a time."""

    def __init__(
        self, masks: WatchedMasks, subset: Callable[[Configuration], Subset], walker: LrWalker
    ) -> None:
        self._masks = masks
        self._subset = subset
        self._walker = walker
        self._outcomes: SplitOutcomes | None = None
        self._known: BoundedDict[ParsePoint, Texts | None] = BoundedDict(_MAX_KNOWN)

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
                after, alike = shared
                places.append(where[alike])
                numbers.append(np.full(alike.sum(), found.setdefault(after, len(found))))
                where, token_ids = where[~alike], token_ids[~alike]
            tokens = [self._masks.vocabulary.tokens[each] or b"" for each in token_ids.tolist()]
            for after, members in self._together(self._grouped(start, tokens), tokens):
                places.append(where[members])
                numbers.append(np.full(len(members), found.setdefault(after, len(found))))

    def _together(
        self, found: Iterable[tuple[Configuration, list[int]]], tokens: list[bytes]
    ) -> Iterator[tuple[Configuration, list[int]]]:
        """Yield the same; tokens after which a lexeme has a text that nobody knows are one."""
        together: dict[Hashable, dict[Configuration, list[int]]] = {}
        for after, alike in found:
            place = self._strange_place(after)
            if place is None:
                yield after, alike
            else:
                together.setdefault(place, {}).setdefault(after, []).extend(alike)
        for of_place in together.values():
            first, members = next(iter(of_place)), [*chain.from_iterable(of_place.values())]
            length = max(len(tokens[each]) for each in members)
            yield (first if len(of_place) == 1 else _strange(first, length)), members

    def _strange_place(self, configuration: Configuration) -> Hashable:
        """Return where a lexeme is that may have any text, and has none that is known."""
        parts = []
        for state, owed, stack, _ in configuration.hypotheses:
            place, text = watched(stack).place, watched(stack).text
            known = self._known_at(place)
            if not text or known is None or known.has(text):
                return None
            ended = int(self._masks.recognizer.scanner.match[state])
            parts.append((ended if ended != NO_MATCH and not owed else ~state, owed, place))
        return tuple(parts) if self._may_be_any(configuration) else None

    def _known_at(self, place: ParsePoint) -> Texts | None:
        if place not in self._known:
            self._known[place] = asked(place.monitor, "known")
        return self._known[place]

    def _grouped(
        self, start: Configuration, tokens: list[bytes]
    ) -> Iterator[tuple[Configuration, list[int]]]:
        """Yield what tokens lead to, each with those of them, by their places in the list."""
        advance = self._masks.recognizer.advance
        for members in groups(self._masks.recognizer, start, tokens):
            after = advance(start, tokens[members[0]])
            if len(members) >= _MANY and after is not None and self._may_be_any(after):
                strange, members = self._apart(after, tokens, members)
                if strange:
                    yield _strange(after, max(len(tokens[each]) for each in strange)), strange
            for each in members:
                after = advance(start, tokens[each])
                if after is not None:
                    yield after, [each]

    def _apart(
        self, after: Configuration, tokens: list[bytes], members: list[int]
    ) -> tuple[list[int], list[int]]:
        """Return tokens of a group with whose text nobody knows anything, and the others.

        Parameters
        ----------
        after : Configuration
            After the first of them.
        tokens : list of bytes
            All tokens.
        members : list of int
            Those of the group: a lexeme begins, or is read, at the same byte of each.
        """
        stack = watched(after.hypotheses[0].stack)
        known = self._known_at(stack.place)
        if known is None:
            return members, []
        first = tokens[members[0]]
        n_before = len(first) - len(stack.text)  # bytes before the lexeme
        begun = stack.text[: max(-n_before, 0)]
        is_known = [known.has(begun + tokens[each][max(n_before, 0) :]) for each in members]
        parts = zip(members, is_known, strict=True)
        return [each for each, has in parts if not has], [*compress(members, is_known)]

    def _shared(
        self, walk: Walk, outcome: int, configuration: Configuration, token_ids: Int32Array
    ) -> tuple[Configuration, BoolArray] | None:
        """Return the configuration that stands for tokens of an outcome, and for which of them.

        None if none does.
        """
        recognizer, tokens = self._masks.recognizer, self._masks.vocabulary.tokens
        first = recognizer.advance(configuration, tokens[int(token_ids[0])] or b"")
        if first is None or not walk.stays(outcome):
            return None
        alike = np.ones(len(token_ids), dtype=np.bool_)
        if not any(watched(each.stack).text for each in first.hypotheses):
            return first, alike
        if len(token_ids) < _MANY or not self._may_be_any(first):
            return None
        known = self._known_at(watched(first.hypotheses[0].stack).place)
        if known is not None:
            going_on = self._masks.texts.going_on(configuration.hypotheses[0], known)
            may_be = np.flatnonzero(np.isin(token_ids, going_on))
            has = map(known.has, self._texts(configuration, token_ids[may_be]))
            alike[may_be] = ~np.fromiter(has, dtype=np.bool_, count=len(may_be))
        return _strange(first, max(len(tokens[each] or b"") for each in token_ids.tolist())), alike

    def _texts(self, configuration: Configuration, token_ids: Int32Array) -> Iterator[bytes]:
        """Yield the texts of the lexeme that is being read after some tokens, which stay in it."""
        lexer, tokens = self._masks.recognizer.lexer, self._masks.vocabulary.tokens
        begun = watched(configuration.hypotheses[0].stack).text
        written = [tokens[each] or b"" for each in token_ids.tolist()]
        readings = lexer.readings(self._masks.recognizer.lexer_number(configuration), written)
        for token, (_, begin, *_) in zip(written, readings, strict=True):
            yield token[begin:] if begin else begun + token

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
