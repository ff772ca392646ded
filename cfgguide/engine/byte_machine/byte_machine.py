"""The machine of patterns, JSON Schemas and messages: reads texts with an automaton over bytes.

In: a :class:`~cfgguide.engine.byte_machine.automaton.TextPushdown`, which is all that tells one
machine from another, and what it was made from. Out: a :class:`ByteMachine`, and the
:class:`ByteMasks` of a vocabulary. It is made in milliseconds, so a file holds what it was made
from, and no masks.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from itertools import islice
from typing import Any, NamedTuple, Protocol

from cfgguide.base.archive import Arrays
from cfgguide.base.collector import collector_off
from cfgguide.base.locks import new_rlock
from cfgguide.engine.byte_machine import byte_kernels as kernels
from cfgguide.engine.byte_machine.automaton import TextPushdown
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
from cfgguide.engine.byte_machine.scalars import any_strings, plain_strings
from cfgguide.engine.byte_machine.seen_parts import (
    BETWEEN,
    NOTHING,
    ByteConfiguration,
    KnowsParts,
    SeenParts,
    is_recalling,
)
from cfgguide.engine.byte_machine.shared_masks import SharedMasks
from cfgguide.engine.index.configuration_trie import ConfigurationTrie, Mask, Path
from cfgguide.engine.masks.subset import Int32Array, Subset
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


class Source(Protocol):
    """What a machine was made from."""

    @property
    def digest(self) -> str:
        """Different for different automata, the same in every process."""

    def packed(self) -> dict[str, object]:
        """Return it as a JSON value."""

    def machine(self) -> ByteMachine:
        """Return a machine that nobody else has."""


class TokenLimits(Protocol):
    """Limits on the tokens of texts that are parts of others."""

    def is_exhausted(self, configuration: ByteConfiguration) -> bool:
        """Return whether a text has had all of its tokens, so that it has to be left."""

    def leaves(self, state: int, token: bytes) -> bool:
        """Return whether a token leads out of the text, or nearer to the end."""

    def counted(self, before: ByteConfiguration, after: ByteConfiguration) -> ByteConfiguration:
        """Return what a token has led to, with the tokens of the text that is being read."""

    def leaving(self, state: int, vocabulary: Vocabulary) -> Int32Array:
        """Return the tokens that lead out of the text, or nearer to the end."""


class ByteMachine:
    """Reads bytes as a pushdown automaton does.

    Parameters
    ----------
    pushdown : TextPushdown
        The automaton; its rows are made as they are needed.
    source : Source, optional
        What it was made from; without it there are no files of it.
    """

    n_parse_states = None

    def __init__(self, pushdown: TextPushdown, source: Source | None = None) -> None:
        self.pushdown = pushdown
        self.source = source
        self.steps = pushdown.steps
        self.digest = "" if source is None else source.digest
        self.lock: Any = new_rlock()
        self.initial = ByteConfiguration(pushdown.start, Stack(BOTTOM))

    def __reduce__(self) -> tuple[Any, ...]:
        """For `pickle`: what it was made from."""
        return _made_again, (self.source,)

    def packed(self) -> tuple[Arrays, dict[str, object]]:
        """Return what it was made from; its automaton is made quickly."""
        assert self.source is not None, "the machine of an index has one"
        return {}, self.source.packed()

    def expected(self, configuration: ByteConfiguration) -> tuple[str, ...]:
        """Return the names of what may come next, sorted; ``$END`` where the text may end."""
        state, stack, memory = configuration[:3]

        def may_begin(byte: int) -> bool:
            return not memory.opens or self.read(configuration, bytes((byte,))) is not None

        found = set(self.pushdown.expected(state, stack.state, may_begin))
        if self.is_sentence(configuration):
            found.add("$END")
        return tuple(sorted(found))

    def height(self, configuration: ByteConfiguration) -> int:
        """Return how many parts are open."""
        return configuration.stack.height

    def goes_on(self, configuration: ByteConfiguration, byte: int) -> bool:
        """Return whether a byte goes on with what is being read, and ends or begins nothing."""
        after = self.read(configuration, bytes([byte]))
        return after is not None and after.stack == configuration.stack

    def endings(
        self, vocabulary: Vocabulary, n_tokens: Callable[[bytes], int | None]
    ) -> list[Callable[[ByteConfiguration], bytes | None]]:
        """Return the way to find short endings of bytes that are in tokens."""
        return [self.pushdown.ending(vocabulary.spelling.reachable_bytes, n_tokens)]

    def masks(self, vocabulary: Vocabulary) -> ByteMasks:
        """Return what makes masks."""
        return ByteMasks(self, vocabulary)

    def advance(self, configuration: ByteConfiguration, data: bytes) -> ByteConfiguration | None:
        """Return the configuration after a token, or None if it is refused."""
        limits = self.pushdown.token_limits
        if limits is None:
            return self.read(configuration, data)
        if limits.is_exhausted(configuration) and not limits.leaves(configuration.state, data):
            return None
        after = self.read(configuration, data)
        return None if after is None else limits.counted(configuration, after)

    def read(self, configuration: ByteConfiguration, data: bytes) -> ByteConfiguration | None:
        """Return the configuration after bytes that need not be a token, or None."""
        after, parts = self.follow(configuration, data), self.pushdown.parts
        if after is None or parts is None or not after.memory.opens:
            return after
        return after._replace(memory=parts.narrowed(after.memory))

    def follow(self, configuration: ByteConfiguration, data: bytes) -> ByteConfiguration | None:
        """Return the same, but what the parts that are being read can become is not looked at."""
        state, stack, memory = configuration[:3]
        pushdown, parts = self.pushdown, self.pushdown.parts
        states, actions = pushdown.memory
        n_before = len(memory.text)
        memory = memory._replace(text=memory.text + data) if memory.opens else memory
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
                    if parts is not None and is_recalling(parts, first, memory):
                        memory = memory if memory.text else SeenParts((), data)
                        memory = memory.begun(stack.height, n_before + place)
                    break
                target = pushdown.follow(stack.state, first)
                states, actions = pushdown.memory
                if target == DEAD:
                    break
                if parts is not None and memory.opens:
                    end = n_before + place + (kind == POP)
                    memory, is_repeated = popped(parts, memory, stack, first, end)
                    if is_repeated:
                        target = parts.follow_repeated(stack.state, first)
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
        if parts is not None and memory.opens:
            memory = memory.shortened()
            if not parts.can_go_on(state, stack, memory):
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
        self._walker = ByteWalker(machine, vocabulary)
        parts = machine.pushdown.parts
        self._repeated = None if parts is None else parts.repeated(machine, vocabulary)

    def shared(self) -> list[object]:
        """Return what machines share: masks of a vocabulary, and states of strings."""
        return [any_strings(), plain_strings(), SharedMasks.of(self._vocabulary)]

    def mask(self, key: ByteKey, known: ConfigurationTrie) -> Mask:
        """Make the mask of a key."""
        state, stack = key
        configuration = ByteConfiguration(state, stack)
        with collector_off():
            eos = self._eos if self._machine.is_sentence(configuration) else None
            subset, depth = self._walker.subset(state, stack, eos)
        if self._machine.pushdown.memory[0][state, ENDING] != NONE:
            depth = max(depth, 1)  # whether the text may end is asked of the topmost frame
        parts = self._machine.pushdown.parts
        if parts is not None and parts.recalling:
            assert self._repeated is not None, "there are parts that may be repeated"
            subset = self._repeated.distinct(configuration, subset)
        return Mask(depth, subset.bitmask, subset=subset)

    def walker(self, subset: Callable[[ByteConfiguration], Subset]) -> ByteWalker:
        """Return a walker of its own for one thread; it needs no masks."""
        return ByteWalker(self._machine, self._vocabulary)

    def release_workspace(self) -> None:
        """Free the workspace in which masks are made; the new one is small."""
        self._walker = ByteWalker(self._machine, self._vocabulary)

    def key(self, configuration: ByteConfiguration) -> ByteKey:
        """Return under what a mask is remembered, whatever a text remembers.

        No token sees bounds that are farther away than the longest one.
        """
        state = configuration.state
        near = self._near.get(state)
        if near is None:
            if len(self._near) >= _MAX_NEAR:
                self._near.clear()
            near = self._machine.pushdown.near(state, self._vocabulary.trie.max_depth)
            self._near[state] = near
        return ByteKey(near, configuration.stack)

    def narrowed(self, configuration: ByteConfiguration, subset: Subset) -> Subset:
        """Return a subset without what a text remembers, and what does not leave a long one."""
        if self._repeated is not None and configuration.memory.opens:
            subset = self._repeated.narrowed(configuration, subset)
        limits = self._machine.pushdown.token_limits
        if limits is None or not limits.is_exhausted(configuration):
            return subset
        leaving = limits.leaving(configuration.state, self._vocabulary)
        return subset.changed(subset.bitmask & (leaving | self._eos))

    def is_at_end(self, configuration: ByteConfiguration, allowed: Callable[[], Subset]) -> bool:
        """Return whether the text is a sentence, and only EOS or ignored text may follow."""
        return self._machine.pushdown.is_last(configuration.state)


def _made_again(source: Source) -> ByteMachine:
    return source.machine()


def popped(
    parts: KnowsParts, memory: SeenParts, stack: Stack, tag: int, end: int
) -> tuple[SeenParts, bool]:
    """Return the memory when the topmost frame is popped, and whether its part has come before.

    Parameters
    ----------
    parts : KnowsParts
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
    return memory.ended(parts.part(stack.state, tag, memory.text[start:end]))
