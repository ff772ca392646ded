"""What an index knows, in ints: configurations, where tokens lead, and the paths of masks.

In: configurations, as guides reach them. Out: a :class:`Step` for each token that a guide consumes.
So a known step costs a look-up, instead of reading the bytes of a token and the states of a stack.

A configuration is written down as ints, its stacks as cells that stacks with the same bottom share;
equal ones have one number. A token leads from number to number. ::

    Configuration((Hypothesis(7, (), Stack.of([0, 4]), FLAT),), 0)

    cells           0: (0, none)   1: (4, cell 0)
    configuration   Configuration of 2: tuple of 1: Hypothesis of 4: 7, tuple of 0, cell 1, ...; 0
    step            (number, token) -> number

All of these are sequences of ints, each of which is there once: :class:`Sequences` finds them by
open addressing. So Python's collector tracks nothing of it, however much is known; but objects of a
machine's own, such as the states of a monitor, stay what they are.

All of it may be forgotten at any time: the masks belong to the index, and the rest is read again. A
full :class:`Memo` is replaced by an empty one. A step keeps the memo that it is of, so guides go on
as before, and what is forgotten is freed at once: no memo refers to a step.

Methods that only look may be called while another thread adds. Those that add hold a lock, and what
they add is complete before anything leads to it: an interruption leaves at most ints that are never
found.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

try:
    import cython
except ImportError:
    from cfgguide.base import uncompiled as cython

import numpy as np

from cfgguide.base.locks import new_lock
from cfgguide.grammar.lr.stack import Stack

if TYPE_CHECKING:
    from cfgguide.engine.masks.subset import Subset

NONE = -1
MAX_CONFIGURATIONS = 20_000
MAX_STEPS = 200_000
_MAX_INTS = 2_000_000  # of configurations, and of cells: 8 MB
_MAX_OBJECTS = 20_000  # of a machine's own
_ROOM = 32  # sequences, at first
_LARGEST = (1 << 29) - 1  # ints that are written down as they are
_MAX_TOKEN = (1 << 31) - 1
# What an int stands for, by its lowest bits.
_INT, _CELL, _TUPLE, _OBJECT = 0, 1, 2, 3
_CELL_BITS = 32
_SEED, _PRIME, _BITS = 0x811C9DC5, 0x9E3779B1, 0xFFFFFFFF

_serials = count(1)  # of memos: which one a stack's cell is of


def _mixed(key: int, value: int) -> int:
    key = ((key ^ (value & _BITS)) * _PRIME) & _BITS
    return key ^ (key >> 15)


def _view(array: Any) -> Any:
    """Return what is quick to index; uncompiled, with numbers that never overflow."""
    return array if cython.compiled else memoryview(array)


def _hash(data: Any, start: int, n: int) -> int:
    key = _SEED
    for place in range(start, start + n):
        key = _mixed(key, data[place])
    return key


class Sequences:
    """Sequences of ints, each once, with numbers from 0 on.

    Attributes
    ----------
    length : int
        How many there are.
    items : int32, shape (room,)
        All of them, one after the other.
    offsets : int32, shape (room,)
        Where each begins in `items`, and where the last one ends.
    slots : int32, shape (a power of two,)
        The number of a sequence plus 1, at its hash or after it; 0 is free.
    values : int32, shape (room,)
        What each leads to, or `NONE`.
    """

    items: Any
    offsets: Any
    slots: Any
    values: Any

    def __init__(self) -> None:
        self.length = 0
        self._allocate(_ROOM, 2 * _ROOM, 2 * _ROOM)

    @property
    def n_items(self) -> int:
        """Ints of all sequences."""
        n: int = self.offsets[self.length]
        return n

    def find(self, data: Any, n: int) -> int:
        """Return the number of the first `n` of some ints; `NONE` if they are not there."""
        number: int
        slots = self.slots  # first: arrays that are read later have what it leads to
        most = len(slots) - 1
        slot = _hash(data, 0, n) & most
        while True:
            number = slots[slot] - 1
            if number < 0:
                return NONE
            if self._is_at(number, data, n):
                return number
            slot = (slot + 1) & most

    def find_beginning(self, data: Any, n: int, lengths: Any) -> int:
        """Return the number of a sequence that some ints begin with; `NONE` if there is none.

        `lengths` has for each length whether there are such sequences; none begins with another.
        """
        most = len(self.slots) - 1
        key = _SEED
        for length in range(1, min(n, len(lengths) - 1) + 1):
            key = _mixed(key, data[length - 1])
            slot = key & most
            number = self.slots[slot] - 1 if lengths[length] else NONE
            while number >= 0:
                if self._is_at(number, data, length):
                    return number
                slot = (slot + 1) & most
                number = self.slots[slot] - 1
        return NONE

    def _is_at(self, number: int, data: Any, n: int) -> bool:
        start = self.offsets[number]
        if self.offsets[number + 1] - start != n:
            return False
        place = 0
        while place < n and self.items[start + place] == data[place]:
            place += 1
        return place == n

    def add(self, data: Any, n: int) -> int:
        """Return the number of the first `n` ints, which are added unless they are there."""
        number = self.find(data, n)
        if number != NONE:
            return number
        self._make_room(n)
        start = self.offsets[self.length]
        for place in range(n):
            self.items[start + place] = data[place]
        return self._added(start + n, NONE)

    def find_pair(self, first: int, second: int) -> int:
        """Return the number of a sequence of two, where all have two; `NONE` if it is not there."""
        number: int
        slots = self.slots  # as above
        most = len(slots) - 1
        slot = _mixed(_mixed(_SEED, first), second) & most
        while True:
            number = slots[slot] - 1
            if number < 0:
                return NONE
            if self.items[2 * number] == first and self.items[2 * number + 1] == second:
                return number
            slot = (slot + 1) & most

    def add_pair(self, first: int, second: int, value: int) -> int:
        """Return the number of a sequence of two, which is added if it is not there."""
        number = self.find_pair(first, second)
        if number != NONE:
            return number
        self._make_room(2)
        number = self.length
        self.items[2 * number], self.items[2 * number + 1] = first, second
        return self._added(2 * number + 2, value)

    def _added(self, end: int, value: int) -> int:
        number = self.length
        self.offsets[number + 1] = end
        self.values[number] = value
        self.length = number + 1
        self._lead_to(self.slots, self.items, number)  # last: now it is found
        return number

    def _lead_to(self, slots: Any, items: Any, number: int) -> None:
        start = self.offsets[number]
        most = len(slots) - 1
        slot = _hash(items, start, self.offsets[number + 1] - start) & most
        while slots[slot]:
            slot = (slot + 1) & most
        slots[slot] = number + 1

    def _make_room(self, n: int) -> None:
        """Make room for one more sequence, of `n` ints."""
        # By the slots, which come last: a search ends at a free one.
        n_rows, n_items, end = len(self.slots) // 2, len(self.items), self.offsets[self.length]
        if self.length == n_rows or end + n > n_items:
            n_rows = 2 * n_rows if self.length == n_rows else n_rows
            n_items = max(2 * n_items, end + n) if end + n > n_items else n_items
            self._allocate(n_rows, n_items, 2 * n_rows)

    def _allocate(self, n_rows: int, n_items: int, n_slots: int) -> None:
        """Copy everything to larger arrays."""
        items, offsets = np.zeros(n_items, np.int32), np.zeros(n_rows + 1, np.int32)
        slots, values = np.zeros(n_slots, np.int32), np.full(n_rows, NONE, np.int32)
        if self.length:
            end = self.n_items
            items[:end] = self.items[:end]
            offsets[: self.length + 1] = self.offsets[: self.length + 1]
            values[: self.length] = self.values[: self.length]
        # All views before any is kept: each may find no memory.
        new_items, new_offsets = _view(items), _view(offsets)
        new_values, new_slots = _view(values), _view(slots)
        for number in range(self.length):
            self._lead_to(new_slots, new_items, number)
        self.items, self.offsets, self.values = new_items, new_offsets, new_values
        self.slots = new_slots  # last: who has the old ones finds what they lead to


class Writer:
    """Writes what is no int as its number, and ints as they are.

    What is being written, or looked at, is in `_data`: 4 times a number, and what it stands for.
    """

    def __init__(self) -> None:
        self._objects: list[Any] = []
        self._number_of_object: dict[Any, int] = {}
        self._data: Any = _view(np.zeros(_ROOM, np.int32))
        self._n = 0

    def _put(self, value: int, kind: int) -> None:
        if self._n == len(self._data):
            longer = np.zeros(2 * self._n, np.int32)
            longer[: self._n] = self._data
            self._data = _view(longer)
        self._data[self._n] = 4 * value + kind
        self._n += 1

    def _put_object(self, value: Any) -> None:
        self._put(_number(value, self._objects, self._number_of_object), _OBJECT)


class Entries(Writer):
    """Values by path, of which none begins with another; not for two threads at a time.

    Each level of a path is one int: itself, or the number of what is no int.

    Attributes
    ----------
    values : list
        By the number of a path; None where one was removed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.values: list[Any] = []
        self._paths = Sequences()
        self._lengths = bytearray(2)  # for each length whether a path has it

    def __len__(self) -> int:
        return len(self.values)

    def find(self, path: tuple[Any, ...]) -> int:
        """Return the number of the path that a path begins with; `NONE` if there is none."""
        self._write(path, False)
        return self._paths.find_beginning(self._data, self._n, self._lengths)

    def _write(self, path: tuple[Any, ...], is_new: bool) -> None:
        """Write a path, up to the first object without a number unless it is a new one."""
        self._n = 0
        for level in path:
            if type(level) is int and -_LARGEST <= level <= _LARGEST:
                self._put(level, _INT)
            elif is_new or level in self._number_of_object:
                self._put_object(level)
            else:
                break

    def add(self, path: tuple[Any, ...], value: Any) -> int:
        """Return the number of a path, which has a value now."""
        self._write(path, True)
        while len(self._lengths) <= len(path):
            self._lengths.append(False)
        if len(self.values) == self._paths.length:
            self.values.append(None)
        number = self._paths.add(self._data, len(path))
        self.values[number] = value
        self._lengths[len(path)] = True
        return number

    @property
    def items(self) -> tuple[Any, Any, list[Any]]:
        """The ints of all paths, where each begins and ends, and what is no int.

        An int of a path is 4 times a level that is an int, or 4 times the number of another and 3.
        """
        n = self._paths.length
        # The type is named: without memory for a view of them, numpy reads a list of ints.
        offsets = np.asarray(self._paths.offsets, np.int32)[: n + 1]
        return np.asarray(self._paths.items, np.int32)[: offsets[n]], offsets, self._objects

    @staticmethod
    def of(items: Any, offsets: Any, objects: list[Any]) -> Entries:
        """Return entries without values; raises a ValueError if these are not such items."""
        kinds, numbers = items & 3, items >> 2
        lengths = np.diff(offsets.astype(np.int64))  # which hold each difference
        is_object = kinds == _OBJECT
        is_right = (
            len(offsets) > 0
            and offsets[0] == 0
            and offsets[len(lengths)] == len(items)
            and (lengths > 0).all()
            and (is_object | (kinds == _INT)).all()
            and ((numbers[is_object] >= 0) & (numbers[is_object] < len(objects))).all()
        )
        if not is_right:
            raise ValueError("these are no paths")
        made = Entries()
        for each in objects:
            _number(each, made._objects, made._number_of_object)
        made._lengths.extend(bytes(int(lengths.max(initial=0))))
        for length in np.unique(lengths).tolist():
            made._lengths[length] = True
        made._fill(_view(items), _view(offsets), len(lengths))
        if made._paths.length < len(lengths) or len(made._objects) < len(objects):
            raise ValueError("these are paths that are there twice")
        made.values = [None] * len(lengths)
        return made

    def _fill(self, items: Any, offsets: Any, n: int) -> None:
        for number in range(n):
            self._n = 0
            for place in range(offsets[number], offsets[number + 1]):
                self._put(items[place] >> 2, items[place] & 3)
            self._paths.add(self._data, self._n)

    def path(self, number: int) -> tuple[Any, ...]:
        """Return a path."""
        start, end = self._paths.offsets[number], self._paths.offsets[number + 1]
        written = [self._paths.items[place] for place in range(start, end)]
        return tuple(
            [self._objects[each >> 2] if each & _OBJECT else each >> 2 for each in written]
        )


class Memo(Writer):
    """Configurations by number, where tokens lead from each, and what is known there.

    Parameters
    ----------
    initial : configuration
        Of no text; its number is 0.

    Attributes
    ----------
    subsets : list of (Subset or None)
        The tokens that may follow each configuration, once they were needed.
    are_sentences, are_at_end : list of (bool or None)
        Whether the text may end there, and whether only EOS and ignored text may follow; likewise.
    is_full : bool
        Whether another one should take its place.
    """

    def __init__(self, initial: Any) -> None:
        super().__init__()
        self._lock = new_lock()
        self._serial = next(_serials)
        self.is_full = False
        self._cells = Sequences()  # of two: the state on top, and the cell below
        self._configurations = Sequences()
        self._steps = Sequences()  # of two: a configuration and a token; the value is what follows
        self.are_sentences: list[bool | None] = []
        self.are_at_end: list[bool | None] = []
        self.subsets: list[Subset | None] = []
        self._types: list[Any] = []
        self._number_of_type: dict[Any, int] = {}
        self._add(initial)

    def __len__(self) -> int:
        return self._configurations.length

    def _is_full(self) -> bool:
        return (
            self._configurations.length >= MAX_CONFIGURATIONS
            or self._steps.length >= MAX_STEPS
            or self._configurations.n_items >= _MAX_INTS
            or self._cells.n_items >= _MAX_INTS
            or len(self._objects) >= _MAX_OBJECTS
        )

    @property
    def start(self) -> Step:
        """The step before any token."""
        return _made(self, 0, NONE, None, None)

    def at(self, configuration: Any, token_id: int = NONE, before: Step | None = None) -> Step:
        """Return the step of a token that led to a configuration, which is not remembered.

        Raises
        ------
        TypeError
            If it cannot be looked up.
        """
        with self._lock:
            return _made(self, self._add(configuration), token_id, configuration, before)

    def led(self, before: Step, token_id: int, configuration: Any) -> Step:
        """Remember where a token led, and return the step; raises as :meth:`at`."""
        with self._lock:
            first = before.number if before.memo is self else self._add(before.configuration)
            number = self._add(configuration)
            self._steps.add_pair(first, token_id, number)
            self.is_full = self._is_full()
        return _made(self, number, token_id, configuration, before)

    def configuration(self, number: int) -> Any:
        """Return the configuration with a number."""
        with self._lock:
            self._n = self._configurations.offsets[number]
            return self._read()

    def _add(self, configuration: Any) -> int:
        """Return the number of a configuration, which is added unless it is there."""
        self._n = 0
        self._write(configuration)
        if len(self.subsets) == self._configurations.length:
            self.are_sentences.append(None)
            self.are_at_end.append(None)
            self.subsets.append(None)  # last: an interruption leaves too many of the others
        return self._configurations.add(self._data, self._n)

    # --- Configurations as ints -------------------------------------------------------------------

    def _write(self, value: Any) -> None:
        kind = type(value)
        if kind is int and -_LARGEST <= value <= _LARGEST:
            self._put(value, _INT)
        elif kind is Stack:
            self._put(self._cell(value), _CELL)
        elif isinstance(value, tuple) and (kind is tuple or hasattr(kind, "_make")):
            self._put(_number(kind, self._types, self._number_of_type), _TUPLE)
            self._put(len(value), _INT)
            for part in value:
                self._write(part)
        else:
            self._put_object(value)

    def _read(self) -> Any:
        """Return what is written from `_n` on, and move that to its end."""
        written = self._configurations.items[self._n]
        kind, value = written & 3, written >> 2
        self._n += 1
        if kind == _INT:
            return value
        if kind == _CELL:
            return self._stack(value)
        if kind == _OBJECT:
            return self._objects[value]
        n = self._configurations.items[self._n] >> 2
        self._n += 1
        parts = tuple([self._read() for _ in range(n)])
        type_ = self._types[value]
        return parts if type_ is tuple else type_._make(parts)

    def _cell(self, stack: Any) -> int:
        """Return the cell of a stack; each part of a stack remembers its own."""
        new = []
        while stack is not None and stack.cell >> _CELL_BITS != self._serial:
            new.append(stack)
            stack = stack.below
        cell = NONE if stack is None else stack.cell & _BITS
        for stack in reversed(new):
            cell = self._cells.add_pair(stack.state, cell, NONE)
            stack.cell = self._serial << _CELL_BITS | cell
        return cell

    def _stack(self, cell: int) -> Any:
        states = []
        while cell != NONE:
            states.append(self._cells.items[2 * cell])
            cell = self._cells.items[2 * cell + 1]
        return Stack.of(reversed(states))


def _number(value: Any, values: list[Any], numbers: dict[Any, int]) -> int:
    """Return the number of an object, which is added unless it is there."""
    number = numbers.get(value)
    if number is None:
        number = len(values)
        values.append(value)  # first: an interruption leaves one that has no number
        numbers[value] = number
    return number


class Step:
    """A token that was consumed, and what is known of the text with it.

    Attributes
    ----------
    memo : Memo
        Knows the configuration after it.
    number : int
        Of the configuration.
    token_id : int
        The token; `NONE` before any.
    is_end : bool
        Whether the token ended the text.
    rest : tuple of int or None
        Tokens that finish a sentence, where a mask within a budget rests on them.
    """

    memo: Memo
    number: int
    token_id: int
    is_end: bool
    rest: tuple[int, ...] | None
    _configuration: Any  # None until it is asked for
    _before: tuple[Step | None]  # Python frees a chain of tuples in turn, not by calls in calls

    __slots__ = ("_before", "_configuration", "is_end", "memo", "number", "rest", "token_id")

    @property
    def configuration(self) -> Any:
        """The configuration; the same object each time."""
        if self._configuration is None:
            self._configuration = self.memo.configuration(self.number)
        return self._configuration

    @property
    def before(self) -> Step | None:
        """The step from which the token led here; None if there was none."""
        return self._before[0]

    @property
    def subset(self) -> Subset | None:
        """The tokens that may follow; None until they were needed."""
        return self.memo.subsets[self.number]

    @property
    def is_at_end(self) -> bool | None:
        """Whether only EOS and ignored text may follow; None until that was asked."""
        return self.memo.are_at_end[self.number]

    def after(self, token_id: int) -> Step | None:
        """Return the step of a token, if it was consumed here before; it ends no text."""
        if not 0 <= token_id <= _MAX_TOKEN:
            return None
        place = self.memo._steps.find_pair(self.number, token_id)
        if place < 0:
            return None
        return _made(self.memo, self.memo._steps.values[place], token_id, None, self)

    def ended(self, token_id: int) -> Step:
        """Return the step of a token that has no text and ends this one."""
        step = _made(self.memo, self.number, token_id, self._configuration, self)
        step.is_end = True
        return step


def _made(memo: Memo, number: int, token_id: int, configuration: Any, before: Step | None) -> Step:
    step = Step.__new__(Step)
    step.memo, step.number, step.token_id = memo, number, token_id
    step._configuration, step.is_end = configuration, False
    step._before, step.rest = (before,), None
    return step
