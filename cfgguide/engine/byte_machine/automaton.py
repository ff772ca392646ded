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
names list the tags of these names, and the frame has those that are allowed as bits: they must have
one in common.

The beginnings of listed texts are made at once (:meth:`Pushdown.add_texts`). A state of one has
*edges*, a byte and an operation each; what has none is looked up in a row that all of them share.

Source: Alur and Madhusudan, "Visibly pushdown languages" (2004), for frames that the text shows.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cfgguide.automata.pieces import PieceAutomaton
from cfgguide.base.kinds import MOST, N_BITS, kinds_in
from cfgguide.base.limits import Steps, check_step
from cfgguide.base.locks import new_rlock
from cfgguide.engine.byte_machine import byte_kernels as kernels
from cfgguide.engine.byte_machine.byte_views import (
    BELOW,
    DEAD,
    FOLLOWS,
    IS_NAMED,
    MAP,
    N_COLUMNS,
    NONE,
    NOT_MADE,
    ROW,
    SHARED,
    STAYS,
    Arrays,
    view_of,
)

if TYPE_CHECKING:
    from cfgguide.engine.byte_machine.byte_machine import TokenLimits
    from cfgguide.engine.byte_machine.seen_parts import ByteConfiguration, KnowsParts

Int32Array = npt.NDArray[np.int32]

_WORD = 64
_SPACES = b"\t\n\r "
#: After which any number of them may follow, where white space is ignored.
_SPACES_STAY = kinds_in(tuple([(each, each) for each in _SPACES])) | MOST << N_BITS
_FAR = 1 << 30  # characters: more than any text has


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


class Pushdown(ABC):
    """The automaton; a subclass defines `make_row`, and what follows where something is pushed.

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
        self._states = Growing(N_COLUMNS, np.int32, 128)
        self._maps = Growing(256, np.uint8, 64)
        self._operations = Growing(None, np.int32, 1024)
        self._actions = Growing(3, np.int32, 128)
        self._frames = Growing(2, np.int32, 64)
        self._follows = Growing(None, np.int32, 128)
        self._words = Growing(None, np.uint64, 16)
        self._tags = Growing(None, np.int32, 64)
        self._edges = Growing(2, np.int32, 64)
        self._growing = (
            *(self._states, self._maps, self._operations, self._actions, self._frames),
            *(self._follows, self._words, self._tags, self._edges),
        )
        for each in self._growing:
            each.together = self._growing
        self._view: tuple[int, Any] = (0, None)  # and which arrays it is of: `n_made`
        self._memory: tuple[int, Any] = (0, None)
        self._map_numbers: dict[bytes, int] = {}
        self._action_numbers: dict[tuple[int, int, int], int] = {}
        self._stays = {0: NONE}  # kinds that lead on, and where in `words` they stand
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
    def memory(self) -> tuple[Any, Any]:
        """States and actions as they are now: quicker to index than arrays."""
        n_made, memory = self._memory
        if n_made != self._states.n_made:
            with self.lock:
                memory = memoryview(self._states.array), memoryview(self._actions.array)
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

    @abstractmethod
    def make_row(self, state: int) -> None:
        """Call `set_row` for a state that has no row yet."""

    def make_follow(self, frame: int, tag: int) -> int:
        """Return the state that follows what a frame was pushed for, if it has this tag."""
        return DEAD

    def after_text(self, state: int, data: bytes, place: int) -> tuple[int, int]:
        """Return where a text goes on after characters that are read at once, and the state there.

        So no rows are made for what has been read. The state is `DEAD` if they are refused.
        """
        return place, state

    def near(self, state: int, n: int) -> int:
        """Return a state after which as many as `n` bytes do what they do after another one."""
        return state

    def quoted(self, _state: int) -> tuple[PieceAutomaton, int] | None:
        """Return the text of which a piece is written as it is, and the state in it."""
        return None

    def new_state(
        self,
        *,
        ending: int = NONE,
        is_end: bool = False,
        below: int | None = None,
        shared: tuple[int, int] = (NONE, NONE),
        is_named: bool = False,
        bounds: tuple[int, int] = (NONE, NONE),
    ) -> int:
        """Return the number of a new state; `below` is a set of tags as bits."""
        check_step()
        names, n_names = NONE, 0
        if below is not None:
            tags = [tag for tag, bit in enumerate(f"{below:b}"[::-1]) if bit == "1"]
            names, n_names = self._tags.add(tags, len(tags)), len(tags)
        most, least = min(bounds[0], _FAR), min(bounds[1], _FAR)
        of_names = (names, n_names, *shared, is_named, most, least, 0, 0)
        return self._states.add_one((NOT_MADE, 0, ending, is_end, *of_names, NONE))

    def add_texts(
        self, texts: Sequence[bytes], operations: Sequence[int], tags: Sequence[int], base: int
    ) -> tuple[int, Int32Array]:
        """Make the states of all beginnings of some listed texts, as they are written.

        Parameters
        ----------
        texts : sequence of bytes
            Sorted, all different.
        operations : sequence of int
            That of the quote after each text.
        tags : sequence of int
            The tag of each text, if frames decide which are allowed; empty otherwise.
        base : int
            A state: what follows beside the texts, and what is shared.

        Returns
        -------
        (int, int32 of shape (n_states, 3))
            The first of the states, that of the empty text; and for each the first and the end of
            the texts that begin like this, and how long their beginning is.
        """
        self.need_row(base)
        template = self._states.array[base].copy()
        template[STAYS] = NONE
        if tags:
            template[BELOW] = self._tags.add(tags, len(tags))
            template[IS_NAMED] = template[SHARED] != NONE
        data = np.frombuffer(b"".join(texts), dtype=np.uint8)
        starts = np.cumsum([0, *map(len, texts)], dtype=np.int32)
        n_states = int(kernels.n_beginnings(data, starts))  # uncompiled, a number of numpy's
        rows = np.tile(template, (n_states, 1))
        spans = np.zeros((n_states, 3), dtype=np.int32)
        edges = np.zeros((n_states - 1 + len(texts), 2), dtype=np.int32)
        numbers = np.array([self._states.length, self._edges.length], dtype=np.int32)
        after = np.array(operations, dtype=np.int32)
        kernels.make_beginnings(data, starts, after, numbers, rows, spans, edges)
        self._edges.add(edges, len(edges))
        return self._states.add(rows, n_states), spans

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
        after = {operations[places[each]] for each in _SPACES}
        stays = _SPACES_STAY if after == {state} and state != DEAD else 0
        self.set_mapped_row(state, bytes(places), operations, stays, stays)

    def set_mapped_row(
        self, state: int, places: bytes, operations: Sequence[int], stays: int = 0, loops: int = 0
    ) -> None:
        """Set the operations of a state, and which of them each byte has.

        And which kinds lead on, and back to the state.
        """
        number = self._map_numbers.get(places)
        if number is None:
            number = self._maps.add(np.frombuffer(places, dtype=np.uint8), 1)
            self._map_numbers[places] = number
        first = self._operations.add(operations, len(operations))
        stays |= loops << _WORD
        kinds = self._stays.get(stays)
        if kinds is None:
            kinds = self._stays[stays] = self._set(stays, 2 * _WORD)
        row = self._states.array[state]
        row[MAP], row[STAYS] = number, kinds
        row[ROW] = first

    def action(self, kind: int, first: int, second: int = 0) -> int:
        """Return an action as an operation."""
        key = (kind, first, second)
        number = self._action_numbers.get(key)
        if number is None:
            check_step()
            number = self._action_numbers[key] = self._actions.add_one(key)
        return -number

    def new_frame(
        self, n_tags: int, *, allowed: int | None = None, follows: Sequence[int] | None = None
    ) -> int:
        """Return the number of a new frame; `allowed` is a set of tags as bits."""
        first = self._follows.add([NOT_MADE] * n_tags if follows is None else follows, n_tags)
        words = NONE if allowed is None else self._set(allowed, n_tags)
        return self._frames.add_one((first, words))

    def add_tags(self, frame: int, n_before: int, n_tags: int) -> None:
        """Make room for more tags of a frame."""
        first = int(self._frames.array[frame, FOLLOWS])
        known = self._follows.array[first : first + n_before].tolist()
        more = [NOT_MADE] * (n_tags - n_before)
        first = self._follows.add([*known, *more], n_tags)
        self._frames.array[frame, FOLLOWS] = first

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
            check_step()
            with self.lock:
                state = self.make_follow(frame, tag)
                self._follows.array[place] = state
        return state

    def need_row(self, state: int) -> None:
        """Make the row of a state, unless it has one."""
        if self._states.array[state, ROW] == NOT_MADE:
            check_step()
            with self.lock:
                if self._states.array[state, ROW] == NOT_MADE:
                    self.make_row(state)


class TextPushdown(Pushdown):
    """One of whole texts, of which more is asked than its rows; it knows no vocabulary.

    Attributes
    ----------
    steps : Steps
        Bounds what each step may take.
    token_limits : TokenLimits or None
        Of texts in it that may have so many tokens and no more.
    """

    steps: Steps
    token_limits: TokenLimits | None = None

    @property
    def parts(self) -> KnowsParts | None:
        """What it knows of parts that are to be different; None if there can be none."""
        return None

    @abstractmethod
    def expected(self, state: int, frame: int, may_begin: Callable[[int], bool]) -> list[str]:
        """Return the names of what may begin, or go on, in a state on a frame.

        `may_begin` tells of a byte whether what the text has so far lets it come.
        """

    @abstractmethod
    def is_last(self, state: int) -> bool:
        """Return whether a text that may end has, but for what is ignored."""

    @abstractmethod
    def ending(
        self, spelled: frozenset[int], n_tokens: Callable[[bytes], int | None]
    ) -> Callable[[ByteConfiguration], bytes | None]:
        """Return what finds short endings; `n_tokens` says how short.

        It returns None where it finds none. `spelled` are the bytes that occur in tokens.
        """
