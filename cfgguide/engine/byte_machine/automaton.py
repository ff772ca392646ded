"""A deterministic pushdown automaton over bytes, made as it is read.

In: operations for the bytes of each state, by a subclass, when a text first comes there. Out:
arrays that the kernels of :mod:`cfgguide.engine.byte_machine.byte_kernels` read. The automaton
pushes a *frame* where something begins that is read for its own sake, a string or an array, and
pops it where that ends. What follows then is asked of the frame::

    state   what a text has come to; a number, 0 is dead
    PUSH    a byte begins something: push a frame, go to a state
    POP     a byte ends it, as something with a tag: pop, go to what follows with this tag
    END     it has ended before the byte: pop, and read the byte again in what follows

So what a frame is above shares states: all strings without conditions are read in the same ones.

A subclass makes only states from which a text can be finished. One question is left to the frame:
inside a property's name, whether one of the names that begin like this is still allowed. States of
names have a set of names as bits, `below`, and so has the frame, `allowed`: they must have one in
common.

Source: Alur and Madhusudan, "Visibly pushdown languages" (2004), for frames that the text shows.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cfgguide.base.locks import new_rlock
from cfgguide.engine.byte_machine.byte_views import view_of
from cfgguide.engine.byte_machine.seen_parts import ByteConfiguration, SeenParts
from cfgguide.grammar.lr.stack import Stack

Int32Array = npt.NDArray[np.int32]

DEAD = 0  # a state, and the operation of a byte that is refused
NOT_MADE = -1
NONE = -1
PUSH, POP, END = 1, 2, 3  # kinds of actions
# Columns of `Arrays.states`.
ROW, MAP, ENDING, IS_END, BELOW, SHARED, SHARED_TAG, IS_NAMED, MOST, LEAST = range(10)
N_COLUMNS = 10
FOLLOWS, ALLOWED, N_WORDS = 0, 1, 2  # columns of `Arrays.frames`
BOTTOM = 0  # the frame below all others
_WORD = 64
_FAR = 1 << 30  # characters: more than any text has


class Arrays(NamedTuple):
    """What the kernels read; the arrays have room for more than is used.

    Attributes
    ----------
    states : int32, shape (n_states, N_COLUMNS)
        `ROW`: where its operations start in `operations`, or `NOT_MADE`; `MAP`: its row in `maps`;
        `ENDING`: the tag with which it ends if the text does, or `NONE`; `IS_END`: whether the
        text may end on the bottom frame; `BELOW`: where its set of names starts in `words`, or
        `NONE`; `SHARED`: what is known of its masks in all automata
        (:mod:`cfgguide.engine.byte_machine.shared_masks`), or `NONE`; `SHARED_TAG`: the tag that
        POP has there; `IS_NAMED`: whether listed names are exceptions from that; `MOST` and
        `LEAST`: how many characters may and must follow, or `NONE`.
    maps : uint8, shape (n_maps, 256)
        Which of a state's operations each byte has.
    operations : int32, shape (n_operations,)
        Above 0 the next state; below 0 an action, negated.
    actions : int32, shape (n_actions, 3)
        Kind; of PUSH the frame and the state, of the others the tag.
    frames : int32, shape (n_frames, 3)
        `FOLLOWS`: where its states start in `follows`; `ALLOWED`: where its set of names starts in
        `words`, or `NONE`; `N_WORDS`: the length of that.
    follows : int32, shape (n_follows,)
        The state after each tag, or `NOT_MADE`.
    words : uint64, shape (n_words,)
        Sets of names.
    """

    states: Int32Array
    maps: npt.NDArray[np.uint8]
    operations: Int32Array
    actions: Int32Array
    frames: Int32Array
    follows: Int32Array
    words: npt.NDArray[np.uint64]


class Growing:
    """An array that is filled from the front, and made anew, twice as long, when it is full.

    Then those that grow together with it are made anew, too: who reads the old ones, in another
    thread, reads nothing there that refers to what only the new ones have. They come first, so
    that an interruption leaves an array that is full, and is made anew the next time. `n_made` is
    counted before: who looks at arrays while they are made looks again.
    """

    def __init__(self, width: int | None, dtype: type[np.generic], room: int) -> None:
        shape = (room,) if width is None else (room, width)
        self.array: Any = np.zeros(shape, dtype=dtype)
        self.length = 0
        self.together: Sequence[Growing] = ()
        self.n_made = 1

    def add(self, rows: Sequence[object] | npt.NDArray[np.generic], n: int) -> int:
        """Append `n` rows; return the number of the first."""
        first = self.length
        end = first + n
        if end > len(self.array):
            self._make_room(2 * end)
        self.array[first:end] = rows
        self.length = end
        return first

    def _make_room(self, room: int) -> None:
        for each in self.together:
            each.n_made += 1
        for each in self.together:
            if each is not self:
                each.array = each.array.copy()
        larger = np.zeros((room, *self.array.shape[1:]), dtype=self.array.dtype)
        larger[: self.length] = self.array[: self.length]
        self.array = larger

    def add_one(self, row: tuple[object, ...]) -> int:
        """Append one row; return its number."""
        first = self.length
        if first == len(self.array):
            return self.add([row], 1)
        self.array[first] = row
        self.length = first + 1
        return first


class Pushdown:
    """The automaton; a subclass overrides `make_row` and `make_follow`.

    It may be interrupted at any instruction. So what is made is complete before anything refers to
    it: a state or frame that nothing refers to is of no harm.

    Attributes
    ----------
    start : int
        The state before anything, on the bottom frame.
    """

    start = DEAD

    def __init__(self) -> None:
        #: Held while something is made, so that many threads may read at the same time.
        self.lock = new_rlock()
        #: Frames for which what stands above them is remembered; see `follow_text`.
        self.remembering: set[int] = set()
        #: Frames of parts that are to be different; see
        #: :mod:`cfgguide.engine.byte_machine.seen_parts`.
        self.recalling: set[int] = set()
        #: Frames of parts that are to be different where they are inside of such a part.
        self.recalling_inside: set[int] = set()
        self._states = Growing(N_COLUMNS, np.int32, 128)
        self._maps = Growing(256, np.uint8, 64)
        self._operations = Growing(None, np.int32, 1024)
        self._actions = Growing(3, np.int32, 128)
        self._frames = Growing(3, np.int32, 64)
        self._follows = Growing(None, np.int32, 128)
        self._words = Growing(None, np.uint64, 16)
        self._growing = (
            *(self._states, self._maps, self._operations, self._actions, self._frames),
            *(self._follows, self._words),
        )
        for each in self._growing:
            each.together = self._growing
        self._view: tuple[int, Any] = (0, None)  # and which arrays it is of: `n_made`
        self._memory: tuple[int, Any] = (0, None)
        self._map_numbers: dict[bytes, int] = {}
        self._action_numbers: dict[tuple[int, int, int], int] = {}
        self._actions.add([(0, 0, 0)], 1)
        self.new_state()  # the dead one
        self.set_row(DEAD, ())
        self.new_frame(1, follows=[DEAD])

    @property
    def arrays(self) -> Arrays:
        """The arrays as they are now; they may be replaced when something is made."""
        return Arrays._make([each.array for each in self._growing])

    @property
    def view(self) -> Any:
        """The arrays as the kernels read them now."""
        n_made, view = self._view
        if n_made != self._states.n_made:
            with self.lock:
                n_made, view = self._view = self._states.n_made, view_of(self.arrays)
        return view

    @property
    def memory(self) -> tuple[Any, Any, Any, Any]:
        """States, maps, operations and actions as they are now: quicker to index than arrays."""
        n_made, memory = self._memory
        if n_made != self._states.n_made:
            with self.lock:
                memory = tuple(memoryview(each.array) for each in self._growing[:4])
                self._memory = self._states.n_made, memory
        return memory  # type: ignore[no-any-return]

    @property
    def n_states(self) -> int:
        """Number of states so far."""
        return self._states.length

    def row_of(self, state: int) -> list[int]:
        """Return the row of a state in `Arrays.states`."""
        row: list[int] = self._states.array[state].tolist()
        return row

    def make_row(self, state: int) -> None:
        """Call `set_row` for a state that has no row yet."""
        raise NotImplementedError

    def make_follow(self, frame: int, tag: int) -> int:
        """Return the state that follows what a frame was pushed for, if it has this tag."""
        raise NotImplementedError

    def follow_text(self, frame: int, tag: int, text: bytes) -> int:
        """Return the state that follows the text of a remembering frame, `DEAD` if it may not be.

        A walk asks `follow` instead, which does not know the text: it may allow more.
        """
        raise NotImplementedError

    def with_text(self, frame: int, text: bytes) -> int:
        """Return a remembering frame with the text above it so far."""
        raise NotImplementedError

    def text_of(self, frame: int) -> bytes:
        """Return the text that a remembering frame has so far."""
        raise NotImplementedError

    def is_recalling(self, frame: int, memory: SeenParts) -> bool:
        """Return whether a frame is that of a part that is to be different."""
        if frame in self.recalling:
            return True
        return frame in self.recalling_inside and memory.outermost is not None

    def part(self, frame: int, tag: int, text: bytes) -> Hashable | None:
        """Return the value of a part that is to be different; None if it may come again."""
        raise NotImplementedError

    def follow_repeated(self, frame: int, tag: int) -> int:
        """Return the state that follows a part that has come before, `DEAD` if it may not."""
        raise NotImplementedError

    def narrowed(self, memory: SeenParts) -> SeenParts:
        """Return a memory that knows what the parts that are being read can become no more."""
        raise NotImplementedError

    def can_go_on(self, state: int, stack: Stack, memory: SeenParts) -> bool:
        """Return whether a text can be finished by parts that are different."""
        raise NotImplementedError

    def is_free(self, before: ByteConfiguration, token: bytes, after: ByteConfiguration) -> bool:
        """Return whether a part can be finished in more ways than have come, however it began."""
        raise NotImplementedError

    def new_state(
        self,
        *,
        ending: int = NONE,
        is_end: bool = False,
        below: tuple[int, int] | None = None,
        shared: tuple[int, int] = (NONE, NONE),
        is_named: bool = False,
        bounds: tuple[int, int] = (NONE, NONE),
    ) -> int:
        """Return the number of a new state; `below` is a set of tags as bits, and their number."""
        words = NONE if below is None else self._set(*below)
        most, least = min(bounds[0], _FAR), min(bounds[1], _FAR)
        row = (NOT_MADE, 0, ending, is_end, words, *shared, is_named, most, least)
        return self._states.add_one(row)

    def set_row(
        self, state: int, entries: Iterable[tuple[Iterable[int], int]], otherwise: int = DEAD
    ) -> None:
        """Set the operations of a state.

        Parameters
        ----------
        state : int
            The state.
        entries : iterable of (bytes, int)
            Bytes and their operation; later ones count.
        otherwise : int
            The operation of all other bytes.
        """
        operations = [otherwise]
        places = bytearray(256)
        for data, operation in entries:
            place = len(operations)
            operations.append(operation)
            for byte in data:
                places[byte] = place
        self.set_mapped_row(state, bytes(places), operations)

    def set_mapped_row(self, state: int, places: bytes, operations: Sequence[int]) -> None:
        """Set the operations of a state, and which of them each byte has."""
        number = self._map_numbers.get(places)
        if number is None:
            number = self._maps.add(np.frombuffer(places, dtype=np.uint8), 1)
            self._map_numbers[places] = number
        first = self._operations.add(operations, len(operations))
        row = self._states.array[state]
        row[MAP] = number
        row[ROW] = first

    def action(self, kind: int, first: int, second: int = 0) -> int:
        """Return an action as an operation."""
        key = (kind, first, second)
        number = self._action_numbers.get(key)
        if number is None:
            number = self._action_numbers[key] = self._actions.add_one(key)
        return -number

    def new_frame(
        self, n_tags: int, *, allowed: int | None = None, follows: Sequence[int] | None = None
    ) -> int:
        """Return the number of a new frame; `allowed` is a set of tags as bits."""
        first = self._follows.add([NOT_MADE] * n_tags if follows is None else follows, n_tags)
        words = NONE if allowed is None else self._set(allowed, n_tags)
        return self._frames.add_one((first, words, (n_tags + _WORD - 1) // _WORD))

    def _set(self, bits: int, n_bits: int) -> int:
        """Return where a set starts in `words`."""
        n_words = (n_bits + _WORD - 1) // _WORD
        data = bits.to_bytes(n_words * _WORD // 8, sys.byteorder)
        words = np.frombuffer(data, dtype=np.uint64)
        return self._words.add(words if sys.byteorder == "little" else words[::-1], n_words)

    def follow(self, frame: int, tag: int) -> int:
        """Return the state that follows with a tag; it is made if it is asked for first."""
        place = int(self._frames.array[frame, FOLLOWS]) + tag
        state = int(self._follows.array[place])
        if state == NOT_MADE:
            with self.lock:
                state = self.make_follow(frame, tag)
                self._follows.array[place] = state
        return state

    def need_row(self, state: int) -> None:
        """Make the row of a state, unless it has one."""
        if self._states.array[state, ROW] == NOT_MADE:
            with self.lock:
                if self._states.array[state, ROW] == NOT_MADE:
                    self.make_row(state)
