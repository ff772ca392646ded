"""Walks the vocabulary with a byte machine: its masks, and where tokens lead.

In: a :class:`~cfgguide.engine.byte_machine.byte_machine.ByteMachine`, a vocabulary, and a
configuration. Out: its mask, and how much of the stack that depends on; or its outcomes. A compiled
walk over the vocabulary trie visits what only this automaton knows. Inside a string of any
characters the tokens are the same in every automaton, but for what follows its end: these masks are
made once for a vocabulary (:mod:`cfgguide.engine.byte_machine.shared_masks`), and a short walk
reads what follows. Inside a quote the tokens are looked up that stand in its text, and a short walk
finds those that end it or have an escape.
"""

from __future__ import annotations

import hashlib
import struct
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from cfgguide.automata.pieces import PieceAutomaton
from cfgguide.base.remembered import remembered
from cfgguide.base.uncompiled import warn_if_uncompiled
from cfgguide.engine.byte_machine import byte_kernels as kernels
from cfgguide.engine.byte_machine import byte_views as views
from cfgguide.engine.byte_machine.byte_views import IS_NAMED, LEAST, MOST, NONE, SHARED, SHARED_TAG
from cfgguide.engine.byte_machine.byte_walk import Trie, WalkMemory
from cfgguide.engine.byte_machine.outcomes import ByteOutcomes, SplitOutcomes
from cfgguide.engine.byte_machine.seen_parts import (
    ByteConfiguration,
    KnowsParts,
    RefusesRepeated,
)
from cfgguide.engine.byte_machine.shared_masks import SharedMask, SharedMasks
from cfgguide.engine.masks.subset import Subset, are_in_bitmask
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.grammar.lr.stack import Stack

if TYPE_CHECKING:
    from cfgguide.engine.byte_machine.byte_machine import ByteMachine

Int32Array = npt.NDArray[np.int32]

_NO_RANGES = np.empty((0, 2), dtype=np.int32)
_WINDOW = 16  # topmost frames that a walk gets at first
_N_ALONE = 16  # tokens that lead to the same but for what texts remember, which is read of so many


class ByteWalker:
    """Makes masks; owns its memory, and so serves one thread at a time.

    Parameters
    ----------
    machine : ByteMachine
        What reads.
    vocabulary : Vocabulary
        Whose tokens the masks are about.
    """

    def __init__(self, machine: ByteMachine, vocabulary: Vocabulary) -> None:
        self._machine = machine
        self._pushdown = pushdown = machine.pushdown
        self._parts = pushdown.parts
        self._vocabulary = vocabulary
        self._tokens = vocabulary.tokens
        self._memory = WalkMemory(pushdown)
        self._shared = SharedMasks.of(vocabulary)
        self.trie = self._shared.trie
        self._outcomes: ByteOutcomes | SplitOutcomes | None = None
        self._walked: ByteConfiguration | None = None

    def advance(self, configuration: ByteConfiguration, data: bytes) -> ByteConfiguration | None:
        """Return what a token leads to, as a walk has it."""
        return self._machine.advance(configuration, data)

    def walk(self, configuration: ByteConfiguration) -> ByteOutcomes | SplitOutcomes:
        """Return what all tokens lead to; nothing is looked up."""
        outcomes = self.walk_plainly(configuration)
        self._walked = configuration
        parts, stack = self._parts, configuration.stack
        if parts is None:
            return outcomes
        has_parts = bool(configuration.memory.opens) or self._begins_part(
            outcomes, stack, parts.recalling
        )
        if has_parts:
            self._outcomes = found = self._with_memory(outcomes, configuration, parts)
            return found
        return outcomes

    def walk_plainly(self, configuration: ByteConfiguration) -> ByteOutcomes:
        """Return what all tokens lead to, without what texts remember."""
        warn_if_uncompiled(kernels.__file__)
        state, stack = configuration[:2]
        self._memory.walk(self.trie, state, list(stack), views.VISIT)
        self._outcomes = outcomes = ByteOutcomes(self.trie.packed, self._memory.work, stack)
        self._walked = None
        return outcomes

    def _begins_part(self, outcomes: ByteOutcomes, stack: Stack, frames: set[int]) -> bool:
        """Return whether some token leads to where one of some frames was pushed or is on top."""
        if not frames:
            return False
        for number in range(outcomes.n_outcomes):
            after = outcomes.configuration(number).stack
            if not frames.isdisjoint(islice(after, max(0, after.height - stack.height + 1))):
                return True
        return False

    def _with_memory(
        self,
        outcomes: ByteOutcomes,
        configuration: ByteConfiguration,
        parts: KnowsParts,
    ) -> SplitOutcomes:
        """Return outcomes with what texts remember; tokens that may add to it have their own."""
        read = self._machine.read
        found: list[ByteConfiguration] = []
        whole = np.full(outcomes.n_outcomes, NONE)
        for number, token_id in enumerate(outcomes.first_tokens()):
            token, near = self._tokens[token_id] or b"", outcomes.configuration(number)
            if not configuration.memory.opens or parts.is_free(configuration, token, near):
                after = read(configuration, token)
                if after is not None and (after.memory.opens or not configuration.memory.opens):
                    whole[number] = len(found)
                    stands_for_others = bool(after.memory.opens)
                    found.append(after._replace(stands_for_others=stands_for_others))
        places, outcome = outcomes.places()
        # A token in which a part ends, and a comma comes, may add parts of its own.
        is_adding = are_in_bitmask(
            self.trie.packed.token_ids[places], self._repeated(parts).adding(configuration)
        )
        outcome = np.where(is_adding, NONE, whole[outcome])
        for number in range(len(found)):
            outcome[np.flatnonzero(outcome == number)[:_N_ALONE]] = NONE
        is_live = np.ones(len(places), dtype=np.bool_)
        for index in np.flatnonzero(outcome == NONE).tolist():
            token = self._tokens[self.trie.packed.token_ids[places[index]]]
            alone = read(configuration, token or b"")
            is_live[index] = alone is not None
            if alone is not None:
                outcome[index] = len(found)
                found.append(alone)
        return SplitOutcomes(self.trie.packed, places[is_live], outcome[is_live], found)

    @remembered
    def _repeated(self, parts: KnowsParts) -> RefusesRepeated:
        return parts.repeated(self._machine, self._vocabulary)

    def fill(self, bitmask: Int32Array) -> None:
        """Make the mask of the last walk, of the outcomes that are allowed; without EOS."""
        assert self._outcomes is not None, "there was a walk"
        if isinstance(self._outcomes, SplitOutcomes):
            self._outcomes.fill(bitmask)
        else:
            segments = self._outcomes.live_segments()
            kernels.fill(self.trie.view, segments, bitmask.view(np.uint32), True)
        limits, walked = self._pushdown.token_limits, self._walked
        if limits is not None and walked is not None and limits.is_exhausted(walked):
            bitmask &= limits.leaving(walked.state, self._vocabulary)

    def subset(self, state: int, stack: Stack, also: Int32Array | None) -> tuple[Subset, int]:
        """Return what may follow a configuration, and how much of the stack it depends on.

        Parameters
        ----------
        state : int
            What the text has come to.
        stack : Stack
            The frames.
        also : int32, shape (n_words,), or None
            The tokens that may follow, too: EOS.
        """
        warn_if_uncompiled(kernels.__file__)
        size = _WINDOW
        while True:
            frames = list(islice(stack, size))
            if (quoted := self._pushdown.quoted(state)) is not None:
                walk = self._memory.walk(self._shared.special, state, frames, views.MASK)
                if walk is not None:
                    bits, depth = self._standing(*quoted), walk.inspected
                    bits |= self._shared.special.bitmask(walk.ranges(), len(bits)).view(np.int32)
                    self._memory.leave()
                    return self._shared.subset(_Quote(bits)), depth
            elif (found := self._found(state, frames)) is not None:
                string, visited, depth = found
                self._memory.leave()
                return self._shared.subset(_Recipe(self.trie, string, visited, also)), depth
            assert len(frames) < stack.height, "nothing lies below the bottom"
            size *= 4

    def _standing(self, pieces: PieceAutomaton, state: int) -> Int32Array:
        """Return the tokens that go on with a piece in a string, as it stands in its text."""
        tokens, n_words = self._shared.standing(pieces), self._vocabulary.n_words
        return tokens.mask(pieces.bytes_of(state), n_words) & self._shared.plain

    def _found(
        self, state: int, frames: list[int]
    ) -> tuple[_String | None, _Visited | None, int] | None:
        """Return what makes a mask, and what it depends on; None if the stack is too shallow."""
        of_state = self._pushdown.row_of(state)
        is_shared = of_state[SHARED] >= 0
        if is_shared and of_state[IS_NAMED]:  # and other names may come, too
            is_shared = kernels.allows(self._pushdown.view, frames[0], of_state[SHARED_TAG])
        string, visited, inspected = None, None, 0
        if is_shared:
            found = self._string(of_state, frames)
            if found is None:
                return None
            string, inspected = found
        if not is_shared or of_state[IS_NAMED]:
            walk = self._memory.walk(self.trie, state, frames, views.MASK, is_known=is_shared)
            if walk is None:
                return None
            inspected = max(inspected, walk.inspected)
            visited = _Visited(walk.ended(), walk.ranges())
        return string, visited, inspected

    def _string(self, of_state: list[int], frames: list[int]) -> tuple[_String, int] | None:
        """Return what is shared inside a string of any characters, and what it depends on.

        None if the stack is too shallow.
        """
        number, (most, least) = of_state[SHARED], of_state[MOST : LEAST + 1]
        longest = self.trie.max_depth  # bytes: no token has more characters
        bounds = NONE if most >= longest else most, max(0, min(least, longest + 1))
        shared = self._shared.string(number)
        following = self._pushdown.follow(frames[0], of_state[SHARED_TAG])
        if not following:
            return _String(shared, number, *bounds, None), 1
        if shared.rests is None:
            return _String(shared, number, *bounds, _NO_RANGES), 1
        if len(frames) == 1:
            return None
        walk = self._memory.walk(shared.rests, following, frames[1:], views.MASK)
        if walk is None:
            return None
        return _String(shared, number, *bounds, walk.ranges()), 1 + walk.inspected


class _Quote(NamedTuple):
    """The mask in a string that is a piece of a text: many are looked up, and few walked to."""

    bits: Int32Array

    @property
    def digest(self) -> bytes:
        """What only equal masks have in common."""
        return hashlib.sha256(self.bits.tobytes()).digest()

    @property
    def like(self) -> int:
        """The same number for masks that are expected to be alike."""
        return NONE

    def bitmask(self, n_words: int) -> Int32Array:
        """Return the mask; int32, shape (n_words,)."""
        return self.bits[:n_words]


class _Visited(NamedTuple):
    """Ranges of tokens that end a listed name, and of those that may come."""

    ended: Int32Array
    ranges: Int32Array


class _String(NamedTuple):
    """A string of any characters: how many may and have to come, and what may follow."""

    shared: SharedMask
    number: int
    most: int
    least: int
    following: Int32Array | None


class _Recipe(NamedTuple):
    """How a mask is made of the tokens of a vocabulary, whatever automaton asks for it."""

    trie: Trie
    string: _String | None
    visited: _Visited | None
    also: Int32Array | None

    @property
    def digest(self) -> bytes:
        """What only equal masks have in common."""
        string = self.string
        bounds = (NONE, NONE, NONE) if string is None else string[1:4]
        arrays = (None if string is None else string.following, *(self.visited or (None, None)))
        lengths = [NONE if each is None else len(each) for each in arrays]
        parts = [each.tobytes() for each in arrays if each is not None]
        header = struct.pack("7i", *bounds, *lengths, self.also is not None)
        return hashlib.sha256(header + b"".join(parts)).digest()

    @property
    def like(self) -> int:
        """The same number for masks that are expected to be alike: the string."""
        return NONE if self.string is None else self.string.number

    def bitmask(self, n_words: int) -> Int32Array:
        """Return the mask; int32, shape (n_words,)."""
        string, visited = self.string, self.visited
        if string is not None:
            bitmask = string.shared.tokens(*string[2:])
            if visited is not None:
                kernels.fill(self.trie.view, visited.ended, bitmask, False)
                kernels.fill(self.trie.view, visited.ranges, bitmask, True)
        else:
            assert visited is not None, "a mask is made of one or the other"
            bitmask = self.trie.bitmask(visited.ranges, n_words)
        if self.also is not None:
            bitmask |= self.also.view(np.uint32)
        return bitmask.view(np.int32)
