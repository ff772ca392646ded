"""What a text remembers of parts that have come, where parts are to be different.

In: the frames that are pushed and popped while bytes are read. Out: a :class:`SeenParts`, beside
the state and the stack of a text: the values of the items that an array has had, the names that an
object has had, and the text of the part that is being read. The automaton knows nothing of it, and
so its masks are shared; what a memory refuses is removed from them. ::

    [{"a": 1}, {"a": 2}, {"b        one open array, two values used, and `{"b` begun
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.engine.masks.subset import Subset
from cfgguide.grammar.lr.stack import Stack

if TYPE_CHECKING:
    from cfgguide.engine.byte_machine.byte_machine import ByteMachine
    from cfgguide.engine.vocabulary.vocabulary import Vocabulary

BETWEEN = -1  # where no part begins: none is being read


class Open(NamedTuple):
    """An array or object that is not closed, whose parts are to be different.

    Attributes
    ----------
    height : int
        Of the stack while a part is read.
    used : frozenset
        What has come.
    start : int
        Where the part that is being read begins in the memory's text, or `BETWEEN`.
    possible : frozenset
        Of what has come, what the part that is being read may still become.
    """

    height: int
    used: frozenset[Hashable]
    start: int
    possible: frozenset[Hashable] = frozenset()


class SeenParts(NamedTuple):
    """What a text remembers.

    Attributes
    ----------
    opens : tuple of Open
        The outermost first.
    text : bytes
        All since the outermost part began that is being read.
    """

    opens: tuple[Open, ...] = ()
    text: bytes = b""

    @property
    def outermost(self) -> Open | None:
        """The first array or object of which a part is being read."""
        return next((each for each in self.opens if each.start != BETWEEN), None)

    @property
    def n_used(self) -> int:
        """How many parts have come, of all arrays and objects that are open."""
        return sum(len(each.used) for each in self.opens)

    def begun(self, height: int, start: int) -> SeenParts:
        """Return the memory when a part has begun with a byte of the text."""
        opens = self.opens
        used: frozenset[Hashable] = frozenset()
        if opens and opens[-1].height == height:
            used, opens = opens[-1].used, opens[:-1]
        return SeenParts((*opens, Open(height, used, start, used)), self.text)

    def closed(self, height: int) -> SeenParts:
        """Return the memory without what was open above a height."""
        n = len(self.opens)
        while n and self.opens[n - 1].height > height:
            n -= 1
        return self if n == len(self.opens) else SeenParts(self.opens[:n], self.text)

    def ended(self, part: Hashable | None) -> tuple[SeenParts, bool]:
        """Return the memory when the innermost part has ended, and whether it has come before.

        A part that is None may come again.
        """
        *outer, (height, used, _, _) = self.opens
        is_repeated = part is not None and part in used
        if part is not None and not is_repeated:
            used |= {part}
        return SeenParts((*outer, Open(height, used, BETWEEN)), self.text), is_repeated

    def shortened(self) -> SeenParts:
        """Return the memory without text that nobody asks for."""
        first = self.outermost
        if first is None:
            return SeenParts(self.opens)
        if not first.start:
            return self
        opens = tuple(
            each if each.start == BETWEEN else each._replace(start=each.start - first.start)
            for each in self.opens
        )
        return SeenParts(opens, self.text[first.start :])


NOTHING = SeenParts()


class ByteConfiguration(NamedTuple):
    """What a byte machine knows after some bytes.

    Attributes
    ----------
    state : int
        Of the automaton.
    stack : Stack
        The frames.
    memory : SeenParts
        What the text remembers.
    n_tokens : int
        How many tokens the text has had that is being read, if they are counted.
    stands_for_others : bool
        Whether it stands for texts, too, whose last part has begun in another way.
    """

    state: int
    stack: Stack
    memory: SeenParts = NOTHING
    n_tokens: int = 0
    stands_for_others: bool = False


class KnowsParts(Protocol):
    """An automaton in which parts are to be different.

    Attributes
    ----------
    recalling : set of int
        Frames of parts that are to be different.
    recalling_inside : set of int
        Frames of parts that are to be different where they are inside of such a part.
    """

    recalling: set[int]
    recalling_inside: set[int]

    def part(self, frame: int, tag: int, text: bytes) -> Hashable | None:
        """Return the value of a part that is to be different; None if it may come again."""

    def follow_repeated(self, frame: int, tag: int) -> int:
        """Return the state that follows a part that has come before, `DEAD` if it may not."""

    def narrowed(self, memory: SeenParts) -> SeenParts:
        """Return a memory that knows what the parts that are being read can become no more."""

    def can_go_on(self, state: int, stack: Stack, memory: SeenParts) -> bool:
        """Return whether a text can be finished by parts that are different."""

    def is_free(self, before: ByteConfiguration, token: bytes, after: ByteConfiguration) -> bool:
        """Return whether a part can be finished in more ways than have come, however it began."""

    def repeated(self, machine: ByteMachine, vocabulary: Vocabulary) -> RefusesRepeated:
        """Return what removes parts that have come before from masks."""


class RefusesRepeated(Protocol):
    """Removes tokens from masks that write a part once more."""

    def adding(self, configuration: ByteConfiguration) -> Int32Array:
        """Return the tokens that may end a part and begin another one: int32, shape (n_words,)."""

    def distinct(self, configuration: ByteConfiguration, subset: Subset) -> Subset:
        """Return a subset without those that write the same part twice, whatever has come."""

    def narrowed(self, configuration: ByteConfiguration, subset: Subset) -> Subset:
        """Return a subset without those that write a part which has come before."""


def is_recalling(parts: KnowsParts, frame: int, memory: SeenParts) -> bool:
    """Return whether a frame is that of a part that is to be different."""
    if frame in parts.recalling:
        return True
    return frame in parts.recalling_inside and memory.outermost is not None
