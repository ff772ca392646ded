"""The machine of JSON Schemas and messages: reads texts with a pushdown automaton over bytes.

In: a :class:`~cfgguide.engine.byte_machine.automaton.Pushdown`. Out: a :class:`ByteMachine`, a
:class:`~cfgguide.engine.machine.protocol.Machine` but for what only its subclasses know: endings,
names and files (:mod:`cfgguide.schema.schema_machine`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from itertools import islice
from typing import Any, NamedTuple

from cfgguide.base.collector import collector_off
from cfgguide.base.locks import new_rlock
from cfgguide.engine.byte_machine import byte_kernels as kernels
from cfgguide.engine.byte_machine.automaton import Pushdown
from cfgguide.engine.byte_machine.byte_views import (
    BOTTOM,
    DEAD,
    ENDING,
    IS_END,
    NONE,
    NOT_MADE,
    POP,
    PUSH,
    ROW,
)
from cfgguide.engine.byte_machine.byte_walker import ByteWalker
from cfgguide.engine.byte_machine.seen_parts import (
    BETWEEN,
    NOTHING,
    ByteConfiguration,
    SeenParts,
)
from cfgguide.engine.byte_machine.shared_masks import SharedMasks
from cfgguide.engine.index.configuration_trie import ConfigurationTrie, Mask, Path
from cfgguide.engine.masks.subset import Subset
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.grammar.lr.stack import Stack

_STATE = 0xFFFFFFFF  # the bits of a state in what `go_on` returns
_MAX_NEAR = 10_000  # states of which it is known whose mask they have


class ByteKey(NamedTuple):
    """Under what a mask is remembered: the state, and as much of the stack as it depends on."""

    state: int
    stack: Stack

    def candidates(self, depth: int) -> Iterable[Path]:
        """Return the one path under which its mask may be."""
        return ((self.state, *islice(self.stack, depth)),)

    def path(self, mask: Mask) -> Path:
        """Return the path of what a mask depends on."""
        return (self.state, *islice(self.stack, mask.depth))


class ByteMachine:
    """Reads bytes as a pushdown automaton does.

    Parameters
    ----------
    pushdown : Pushdown
        The automaton; its rows are made as they are needed.
    digest : str
        Different for different automata, the same in every process.
    """

    n_parse_states = None

    def __init__(self, pushdown: Pushdown, digest: str) -> None:
        self.pushdown = pushdown
        self.digest = digest
        self.lock: Any = new_rlock()
        self.initial = ByteConfiguration(pushdown.start, Stack(BOTTOM))

    def advance(self, configuration: ByteConfiguration, data: bytes) -> ByteConfiguration | None:
        """Return the configuration after a token, or None if it is refused."""
        return self.read(configuration, data)

    def read(self, configuration: ByteConfiguration, data: bytes) -> ByteConfiguration | None:
        """Return the configuration after bytes that need not be a token, or None."""
        state, stack, memory = configuration[:3]
        pushdown = self.pushdown
        states, actions = pushdown.memory
        n_before = len(memory.text)
        memory = memory._replace(text=memory.text + data) if memory.opens else memory
        first_byte = 0  # of what stands above the topmost frame, if that is remembering
        place = 0
        while place < len(data):
            reached = kernels.go_on(pushdown.view, data, place, state)
            place, state = reached >> 32, reached & _STATE
            if place == len(data):
                break
            if states[state, ROW] == NOT_MADE:
                first, (place, state) = place, pushdown.after_text(state, data, place)
                states, actions = pushdown.memory
                if state == DEAD:
                    return None
                if place > first:
                    continue
            while True:
                if states[state, ROW] == NOT_MADE:
                    pushdown.need_row(state)
                    states, actions = pushdown.memory
                target = kernels.operation(pushdown.view, state, data[place])
                if target >= 0:
                    break
                kind, first = actions[-target, 0], actions[-target, 1]
                if kind == PUSH:
                    target = actions[-target, 2]
                    stack = stack.push(first)
                    first_byte = place
                    if first in pushdown.recalling or (
                        memory.opens and pushdown.is_recalling(first, memory)
                    ):
                        memory = memory if memory.text else SeenParts((), data)
                        memory = memory.begun(stack.height, n_before + place)
                    break
                if stack.state in pushdown.remembering:
                    end = place + 1 if kind == POP else place
                    text = pushdown.text_of(stack.state) + data[first_byte:end]
                    target = pushdown.follow_text(stack.state, first, text)
                else:
                    target = pushdown.follow(stack.state, first)
                states, actions = pushdown.memory
                if target == DEAD:
                    break
                if memory.opens:
                    end = n_before + place + (kind == POP)
                    memory, is_repeated = popped(pushdown, memory, stack, first, end)
                    if is_repeated:
                        target = pushdown.follow_repeated(stack.state, first)
                        states, actions = pushdown.memory
                        if target == DEAD:
                            break
                stack = stack.pop(1)
                if kind == POP:
                    break
                state = target  # the byte is read again
            if target == DEAD:
                return None
            state = target
            place += 1
        if stack.state in pushdown.remembering:
            text = pushdown.text_of(stack.state) + data[first_byte:]
            stack = stack.pop(1).push(pushdown.with_text(stack.state, text))
        if memory.opens:
            memory = pushdown.narrowed(memory.shortened())
            if not pushdown.can_go_on(state, stack, memory):
                return None
        return ByteConfiguration(state, stack, memory if memory.opens else NOTHING)

    def is_sentence(self, configuration: ByteConfiguration) -> bool:
        """Return whether the text may end here."""
        state, stack = configuration[:2]
        while (tag := self.pushdown.memory[0][state, ENDING]) != NONE:
            state = self.pushdown.follow(stack.state, tag)
            stack = stack.pop(1)
        return bool(self.pushdown.memory[0][state, IS_END]) and stack.state == BOTTOM

    def is_live(self, configuration: ByteConfiguration, *, quickly: bool = False) -> bool:
        """Return whether a sentence can follow: always, but for names that are not allowed."""
        state, stack = configuration[:2]
        return bool(kernels.is_allowed_in(self.pushdown.view, state, stack.state))


class ByteMasks:
    """Makes the masks of a machine of bytes for one vocabulary.

    Parameters
    ----------
    machine : ByteMachine
        What reads.
    vocabulary : Vocabulary
        Whose tokens the masks are about.
    """

    files = None  # a mask is made as quickly as it is read
    are_complete = True
    #: Large masks are those inside strings, which differ little; each state has few others.
    like: Callable[[Path], Hashable] = staticmethod(len)

    def __init__(self, machine: ByteMachine, vocabulary: Vocabulary) -> None:
        self._machine = machine
        self._vocabulary = vocabulary
        self._eos = vocabulary.eos_bitmask
        self._near: dict[int, int] = {}  # by state, the one whose mask it has
        self._walker = self.new_walker()

    def new_walker(self) -> Any:
        """Return a walker of its own for one thread."""
        return ByteWalker(self._machine, self._vocabulary)

    def shared(self) -> list[object]:
        """Return what machines share: masks of a vocabulary."""
        return [SharedMasks.of(self._vocabulary)]

    def near(self, state: int) -> int:
        """Return a state whose mask is the same: no token sees bounds that are farther away."""
        return self._machine.pushdown.near(state, self._vocabulary.trie.max_depth)

    def mask(self, key: ByteKey, known: ConfigurationTrie) -> Mask:
        """Make the mask of a key."""
        state, stack = key
        with collector_off():
            eos = self._eos if self._machine.is_sentence(ByteConfiguration(state, stack)) else None
            subset, depth = self._walker.subset(state, stack, eos)
        if self._machine.pushdown.memory[0][state, ENDING] != NONE:
            depth = max(depth, 1)  # whether the text may end is asked of the topmost frame
        return Mask(depth, subset.bitmask, subset=subset)

    def walker(self, subset: Callable[[ByteConfiguration], Subset]) -> Any:
        """Return a walker of its own for one thread; it needs no masks."""
        return self.new_walker()

    def release_workspace(self) -> None:
        """Free the workspace in which masks are made; the new one is small."""
        self._walker = self.new_walker()

    def key(self, configuration: ByteConfiguration) -> ByteKey:
        """Return under what a mask is remembered, whatever a text remembers."""
        state = configuration.state
        near = self._near.get(state)
        if near is None:
            if len(self._near) >= _MAX_NEAR:
                self._near.clear()
            near = self._near[state] = self.near(state)
        return ByteKey(near, configuration.stack)

    def narrowed(self, configuration: ByteConfiguration, subset: Subset) -> Subset:
        """Return a subset without what the mask's key does not know of: nothing."""
        return subset


def popped(
    pushdown: Pushdown, memory: SeenParts, stack: Stack, tag: int, end: int
) -> tuple[SeenParts, bool]:
    """Return the memory when the topmost frame is popped, and whether its part has come before.

    Parameters
    ----------
    pushdown : Pushdown
        Knows what the frame was pushed for.
    memory : SeenParts
        What the text remembers, and the text.
    stack : Stack
        Before the frame is popped.
    tag : int
        Of what has ended.
    end : int
        Where it has ended in the text.
    """
    memory = memory.closed(stack.height)
    if not memory.opens or memory.opens[-1].height != stack.height:
        return memory, False
    start = memory.opens[-1].start
    if start == BETWEEN:
        return memory, False
    return memory.ended(pushdown.part(stack.state, tag, memory.text[start:end]))
