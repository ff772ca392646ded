"""What byte strings do to the lexer, whatever the parser does.

In: a recogniser. Out: :class:`Effects`, an automaton over bytes whose states are *effects*: what a
byte string does to a lexer in any scanner state, with any obligations, in any context and column.
Two strings with one effect act alike in every configuration, so one of them speaks for both
(:mod:`cfgguide.engine.masks.token_classes`).

What a string does in one scanner state is a *reading*. The lexeme that the scanner is in may go on,
and it may have ended somewhere in the string as a terminal, after which the rest of the string was
read from some start state. Which one depends on the parser; so the reading of a rest is a vector
with an entry for each start state, a *rest*. ::

    string    inside a STRING      inside a NUMBER    at the start of a value
    `"`       STRING is complete   -                  inside a STRING
    `1,`      inside a STRING      NUMBER, then `,`   NUMBER, then `,`
    `",`      STRING, then `,`     -                  inside a STRING

An effect is the vector of the readings of all states, and of what happens to all obligations. With
one more byte it follows from the effect so far. Each different vector is kept once, so effects are
numbers, and (effect, byte class) -> effect is a table, filled as far as it is needed.

Source: the states are transitions of the scanner composed along a string, as in a transition
monoid (Pin, "Mathematical foundations of automata theory", chapter 4), here with outputs.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from cfgguide.automata.dfa import DEAD
from cfgguide.engine.lexer.lookahead import NO_OBLIGATIONS, Obligations
from cfgguide.engine.lexer.scanner import NO_MATCH
from cfgguide.engine.machine.recognizer import Recognizer
from cfgguide.engine.masks.arrays import Int32Array, Int64Array
from cfgguide.grammar.lr.indentation import BREAK, DIGIT, FORM_FEED, NO_COLUMN, OTHER

NOTHING = 0  # the number of what no string can be read with
_UNKNOWN = -1
_SHIFT = 32  # two numbers as one
_ROWS = 1024  # of a new table
_SPARSE = 100  # in a table, fewer than one entry in so many

#: The column of a line: a number, or what has happened to one that is not known.
Column = int | tuple[int, ...]
Item = TypeVar("Item", bound=Hashable)


class Inside(NamedTuple):
    """A lexeme that goes on, as in a hypothesis of :mod:`cfgguide.engine.machine.recognizer`."""

    state: int
    obligations: Obligations
    column: Column


class Ended(NamedTuple):
    """A lexeme that has ended inside the string.

    Attributes
    ----------
    terminal_id : int
        As what it ended.
    alternatives : tuple of obligations
        What it owes by now, for each way in which assertions may turn out.
    column : Column
        Where it ended.
    contexts : tuple of int
        The context in which it ended, for each context before the string.
    """

    terminal_id: int
    alternatives: tuple[Obligations, ...]
    column: Column
    contexts: tuple[int, ...]


class ByteReading(NamedTuple):
    """What a string does in one scanner state.

    Attributes
    ----------
    inside : tuple of Inside
        The ways in which its lexeme goes on.
    ended : tuple of (int, int)
        The numbers of lexemes that have ended, each with that of the rest.
    contexts : tuple of int
        The context after it, for each context before it, if a lexeme goes on.
    is_fresh : bool
        Whether nothing has been read, so that no lexeme may end.
    """

    inside: tuple[Inside, ...]
    ended: tuple[tuple[int, int], ...] = ()
    contexts: tuple[int, ...] = ()
    is_fresh: bool = False


class Owed(NamedTuple):
    """What a string does to an obligation: what is owed then, for each way to resolve assertions.

    `is_match` says what it is about. What most strings come to, that nothing matches, is `NOTHING`.
    """

    alternatives: tuple[Obligations, ...]
    is_match: bool


class Passed(NamedTuple):
    """The context after a string, for each context before it."""

    contexts: tuple[int, ...]


class Effects:
    """The automaton of effects of a recogniser, made as far as it is needed.

    Attributes
    ----------
    start : int
        The effect of the empty string.
    """

    def __init__(self, recognizer: Recognizer) -> None:
        scanner = recognizer.scanner
        self._scanner = scanner
        self._lookahead = recognizer.lookahead
        self._reader = recognizer.indentation_reader
        self._match: list[int] = scanner.match.tolist()
        is_followed = self._followed()
        self._is_followed: list[bool] = is_followed.tolist()
        # What an assertion stands for may have a column.
        self._has_column = is_followed | (scanner.is_assertion & is_followed.any())
        n_classes = scanner.transitions.shape[1]
        self._same = tuple(range(len(scanner.contexts)))
        self._readings: _Numbered[ByteReading | Owed | Passed] = _Numbered(
            n_classes, ByteReading(())
        )
        self._ended: _Numbered[Ended] = _Numbered(n_classes, Ended(NO_MATCH, (), NO_COLUMN, ()))
        self._rests = _Vectors(n_classes)
        self._effects = _Vectors(n_classes)
        # Of readings that are one ended lexeme its number and its rest; and how deep rests in
        # rests are nested.
        self._ended_of, self._rest_of, self._depth_of = _Column(), _Column(), _Column()
        # Of readings that only go on with a lexeme, which owes nothing and cannot end, its state
        # and the number of what has become of the contexts.
        self._state_of, self._contexts_of = _Column(), _Column()
        self._contexts: _Numbered[tuple[int, ...]] = _Numbered(n_classes, ())
        self._add_reading(ByteReading(()))
        self._fill_plain()
        obligations = self._readings_of_obligations()
        self._empty_rest = self._rests.add(*_sparse(self._readings_of_starts()), 0)
        states = self._readings_of_states()
        self._n_states = len(states)  # entries of an effect that are no obligations
        passed = [self._add_reading(Passed(self._same))] if len(self._same) > 1 else []
        self.start = self._effects.add(*_sparse(states + obligations + passed), 0)

    @property
    def n_effects(self) -> int:
        """Number of different effects so far."""
        return len(self._effects.entries)

    def after(self, effects: Int32Array, byte_classes: Int32Array) -> Int32Array:
        """Return the effects of strings with one more byte.

        Parameters
        ----------
        effects : int32, shape (n,)
            Those of the strings.
        byte_classes : int32, shape (n,)
            The classes of the bytes.

        Returns
        -------
        int32, shape (n,)
            The effects, `NOTHING` where no state can read a string.
        """
        after = self._effects.steps[effects, byte_classes]
        unknown = np.flatnonzero(after == _UNKNOWN)
        if len(unknown):
            new = np.unique(_pairs(effects[unknown], byte_classes[unknown]))
            self._advance(self._effects, *_parts(new), n_needed=self._n_states)
            after = self._effects.steps[effects, byte_classes]
        return after

    def _advance(
        self, vectors: _Vectors, numbers: Int64Array, byte_classes: Int64Array, n_needed: int
    ) -> None:
        """Find vectors with one more byte; `NOTHING` are those without the first `n_needed`."""
        places, values, lengths = vectors.joined(numbers)
        after = self._read(values, np.repeat(byte_classes, lengths))
        kept = np.flatnonzero(after)
        ends = np.searchsorted(kept, np.cumsum(lengths)).tolist()
        places, after = places[kept], after[kept]
        depths = self._depth_of.values[after] + 1
        start = 0
        new = np.zeros(len(numbers), dtype=np.int32)
        for index, end in enumerate(ends):
            if start < end and places[start] < n_needed:
                depth = int(depths[start:end].max())
                new[index] = vectors.add(places[start:end], after[start:end], depth)
            start = end
        vectors.steps[numbers, byte_classes] = new

    def _read(self, readings: Int32Array, byte_classes: Int64Array) -> Int32Array:
        """Return some readings with one more byte each."""
        after = self._readings.steps[readings, byte_classes]
        unknown = np.flatnonzero(after == _UNKNOWN)
        if not len(unknown):
            return after
        new, new_classes = self._different(readings[unknown], byte_classes[unknown])
        self._make_rests(new, new_classes)
        is_ended = self._ended_of.values[new] != _UNKNOWN
        self._read_rests(new[is_ended], new_classes[is_ended])
        new, new_classes = self._read_plain(new[~is_ended], new_classes[~is_ended])
        for number, byte_class in zip(new.tolist(), new_classes.tolist(), strict=True):
            step = self._step(self._readings.items[number], byte_class)
            self._readings.steps[number, byte_class] = step
        return self._readings.steps[readings, byte_classes]

    def _different(
        self, readings: Int32Array, byte_classes: Int64Array
    ) -> tuple[Int64Array, Int64Array]:
        """Return the different pairs of readings and byte classes."""
        shape = self._readings.steps.shape
        if len(readings) < math.prod(shape) // _SPARSE:
            return _parts(np.unique(_pairs(readings, byte_classes)))
        is_there = np.zeros(shape, dtype=np.bool_)  # quicker than sorting many
        is_there[readings, byte_classes] = True
        found, classes = np.nonzero(is_there)
        return found, classes

    def _read_rests(self, readings: Int64Array, byte_classes: Int64Array) -> None:
        """Read one more byte after lexemes that have ended."""
        ended = self._ended_of.values[readings]
        after = self._ended.steps[ended, byte_classes]
        for index in np.flatnonzero(after == _UNKNOWN).tolist():
            after[index] = self._still_ended(int(ended[index]), int(byte_classes[index]))
        rests = self._rests.steps[self._rest_of.values[readings], byte_classes]
        both = np.where((after == NOTHING) | (rests == NOTHING), 0, _pairs(after, rests))
        different, inverse = np.unique(both, return_inverse=True)
        numbers = [
            self._add_reading(ByteReading((), ((pair >> _SHIFT, pair & ((1 << _SHIFT) - 1)),)))
            if pair
            else NOTHING
            for pair in different.tolist()
        ]
        self._readings.steps[readings, byte_classes] = np.array(numbers, dtype=np.int32)[inverse]

    def _read_plain(
        self, readings: Int64Array, byte_classes: Int64Array
    ) -> tuple[Int64Array, Int64Array]:
        """Read one more byte where a lexeme only goes on; return what is left to be read.

        What comes of it depends on the state and the contexts that are reached. Most of what is
        read for a large lexer is of this kind.
        """
        states = self._state_of.values[readings]
        is_plain = states != _UNKNOWN
        targets = self._scanner.transitions[np.where(is_plain, states, DEAD), byte_classes]
        is_plain &= ~self._has_column[targets]
        plain, classes, targets = readings[is_plain], byte_classes[is_plain], targets[is_plain]
        contexts = self._contexts_of.values[plain]
        for pair in np.unique(_pairs(contexts, classes)).tolist():
            number, byte_class = pair >> _SHIFT, pair & ((1 << _SHIFT) - 1)
            if self._contexts.steps[number, byte_class] == _UNKNOWN:
                read = self._contexts_after(self._contexts.items[number], byte_class)
                self._contexts.steps[number, byte_class] = self._contexts.add(read)
        after = self._contexts.steps[contexts, classes]
        _, firsts, inverse = np.unique(
            _pairs(targets, after), return_index=True, return_inverse=True
        )
        numbers = [
            self._step(self._readings.items[number], byte_class)
            for number, byte_class in zip(
                plain[firsts].tolist(), classes[firsts].tolist(), strict=True
            )
        ]
        self._readings.steps[plain, classes] = np.array(numbers, dtype=np.int32)[inverse]
        return readings[~is_plain], byte_classes[~is_plain]

    def _make_rests(self, readings: Int64Array, byte_classes: Int64Array) -> None:
        """Find all rests with one more byte that some readings with one more byte need.

        A rest needs readings, and these need rests that are nested less deeply. Those come first.
        """
        needed = []
        pairs = self._needed(readings, byte_classes)
        while len(pairs):
            needed.append(pairs)
            rests, classes = _parts(pairs)
            _, values, lengths = self._rests.joined(rests)
            classes = np.repeat(classes, lengths)
            is_new = self._readings.steps[values, classes] == _UNKNOWN
            pairs = self._needed(values[is_new], classes[is_new])
            pairs = np.setdiff1d(pairs, np.concatenate(needed), assume_unique=True)
        if needed:
            rests, classes = _parts(np.concatenate(needed))
            depths = self._rests.depths.values[rests]
            for depth in np.unique(depths).tolist():
                here = depths == depth
                n_starts = self._scanner.starts.size
                self._advance(self._rests, rests[here], classes[here], n_needed=n_starts)

    def _needed(self, readings: npt.NDArray[np.integer], byte_classes: Int64Array) -> Int64Array:
        """Return the unknown steps of rests, as pairs, that readings need themselves."""
        rests = self._rest_of.values[readings]
        is_ended = rests != _UNKNOWN
        pairs = _pairs(rests[is_ended], byte_classes[is_ended]).tolist()
        others = ~is_ended & (self._state_of.values[readings] == _UNKNOWN)
        for number, byte_class in zip(
            readings[others].tolist(), byte_classes[others].tolist(), strict=True
        ):
            reading = self._readings.items[number]
            if isinstance(reading, ByteReading):
                pairs += [rest << _SHIFT | byte_class for _, rest in reading.ended]
                if not reading.is_fresh and any(
                    self._match[lexeme.state] != NO_MATCH for lexeme in reading.inside
                ):
                    pairs.append(self._empty_rest << _SHIFT | byte_class)
        new = np.unique(np.array(pairs, dtype=np.int64))
        unknown: Int64Array = new[self._rests.steps[_parts(new)] == _UNKNOWN]
        return unknown

    def _step(self, reading: ByteReading | Owed | Passed, byte_class: int) -> int:
        """Return the number of a reading with one more byte."""
        if isinstance(reading, Passed):
            return self._add_reading(Passed(self._contexts_after(reading.contexts, byte_class)))
        if isinstance(reading, Owed):
            alternatives = self._owing(reading.alternatives, byte_class)
            usual = () if reading.is_match else (NO_OBLIGATIONS,)
            # What most strings come to is not kept, so that tables stay sparse.
            if alternatives == usual:
                return NOTHING
            return self._add_reading(Owed(alternatives, reading.is_match))
        inside: dict[Inside, None] = {}
        ended: dict[tuple[int, int], None] = {}
        for lexeme in reading.inside:
            for target, owed in self._lookahead.step(lexeme.state, lexeme.obligations, byte_class):
                column = self._moved(lexeme.column, target, byte_class)
                if column is not None:
                    inside[Inside(target, owed, column)] = None
            rest = int(self._rests.steps[self._empty_rest, byte_class])
            number = NOTHING if reading.is_fresh else self._end(lexeme, reading, byte_class)
            if number and rest:
                ended[number, rest] = None
        for number, rest in reading.ended:
            number = self._still_ended(number, byte_class)
            rest = int(self._rests.steps[rest, byte_class])
            # An ended lexeme counts only as long as what it owes and what comes after it both can
            # be read.
            if number and rest:
                ended[number, rest] = None
        if not inside and not ended:
            return NOTHING
        contexts = self._contexts_after(reading.contexts, byte_class) if inside else ()
        return self._add_reading(ByteReading(tuple(inside), tuple(ended), contexts))

    def _end(self, lexeme: Inside, reading: ByteReading, byte_class: int) -> int:
        """Return the number of a lexeme that ends before one more byte, if it may."""
        terminal_id = self._match[lexeme.state]
        if not NO_MATCH < terminal_id <= self._scanner.ignored:
            return NOTHING
        owing = self._lookahead.ending(lexeme.state, lexeme.obligations)
        alternatives = self._lookahead.after(owing, byte_class)
        if not alternatives:
            return NOTHING
        return self._ended.add(Ended(terminal_id, alternatives, lexeme.column, reading.contexts))

    def _still_ended(self, number: int, byte_class: int) -> int:
        """Return the number of an ended lexeme, with what it owes after one more byte."""
        known = int(self._ended.steps[number, byte_class])
        if known == _UNKNOWN:
            ended = self._ended.items[number]
            alternatives = self._owing(ended.alternatives, byte_class)
            known = (
                self._ended.add(ended._replace(alternatives=alternatives))
                if alternatives
                else NOTHING
            )
            self._ended.steps[number, byte_class] = known
        return known

    def _owing(
        self, alternatives: tuple[Obligations, ...], byte_class: int
    ) -> tuple[Obligations, ...]:
        """Return what is owed after one more byte."""
        return tuple(
            dict.fromkeys(
                after
                for obligations in alternatives
                for after in self._lookahead.after(obligations, byte_class)
            )
        )

    def _contexts_after(self, contexts: tuple[int, ...], byte_class: int) -> tuple[int, ...]:
        return tuple(self._scanner.contexts[list(contexts), byte_class].tolist())

    def _followed(self) -> npt.NDArray[np.bool_]:
        """Return whether the column matters inside a lexeme, by the scanner's state."""
        if self._reader is None:
            return np.zeros(self._scanner.n_states, dtype=np.bool_)
        return self._reader.is_newline | self._reader.is_counted

    def _moved(self, column: Column, state: int, byte_class: int) -> Column | None:
        """Return the column after one more byte of a lexeme; None if a line is too wide."""
        reader = self._reader
        if reader is None or not self._is_followed[state]:
            return NO_COLUMN
        kind, rules = int(reader.kinds[byte_class]), reader.indentation_rules
        if not reader.is_newline[state]:
            if isinstance(column, int):
                return min(column + (kind == DIGIT), rules.max_digits + 1)
            return (*column, DIGIT) if kind == DIGIT else column
        if isinstance(column, int) or kind == BREAK:
            return rules.column_after(column if isinstance(column, int) else NO_COLUMN, kind)
        if kind in (OTHER, DIGIT):
            return NO_COLUMN if rules.is_cpython else column
        return (FORM_FEED,) if kind == FORM_FEED else (*column, kind)

    def _add_reading(self, reading: ByteReading | Owed | Passed) -> int:
        """Return the number of a reading."""
        number = self._readings.add(reading)
        if number == len(self._depth_of):
            lexemes = reading.ended if isinstance(reading, ByteReading) else ()
            is_ended = len(lexemes) == 1 and not reading[0]
            self._ended_of.append(lexemes[0][0] if is_ended else _UNKNOWN)
            self._rest_of.append(lexemes[0][1] if is_ended else _UNKNOWN)
            state, contexts = self._plain_of(reading)
            self._state_of.append(state)
            self._contexts_of.append(contexts)
            depths = self._rests.depths.values
            self._depth_of.append(max((int(depths[rest]) for _, rest in lexemes), default=0))
        return number

    def _plain_of(self, reading: ByteReading | Owed | Passed) -> tuple[int, int]:
        """Return the state of a lexeme that only goes on, and the number of its contexts."""
        if not isinstance(reading, ByteReading) or reading.ended or len(reading.inside) != 1:
            return _UNKNOWN, _UNKNOWN
        state, obligations, _ = reading.inside[0]
        may_end = self._match[state] != NO_MATCH and not reading.is_fresh
        if obligations or may_end or self._is_followed[state]:
            return _UNKNOWN, _UNKNOWN
        return state, self._contexts.add(reading.contexts)

    def _add_readings(self, readings: list[ByteReading]) -> Int32Array:
        """Return the numbers of new readings without an ended lexeme."""
        first = self._readings.add_all(readings)
        self._ended_of.extend(np.full(len(readings), _UNKNOWN))
        self._rest_of.extend(np.full(len(readings), _UNKNOWN))
        self._depth_of.extend(np.zeros(len(readings)))
        plain = np.array([self._plain_of(reading) for reading in readings]).reshape(-1, 2)
        self._state_of.extend(plain[:, 0])
        self._contexts_of.extend(plain[:, 1])
        return np.arange(first, first + len(readings), dtype=np.int32)

    def _readings_of_starts(self) -> list[int]:
        """Return what the empty string does in each start state."""
        readings = []
        for start in np.unique(self._scanner.starts).tolist():
            possible = self._lookahead.resolved(start, NO_OBLIGATIONS)
            inside = tuple(Inside(state, owed, NO_COLUMN) for state, owed in possible)
            is_fresh = any(self._match[state] != NO_MATCH for state, _ in possible)
            readings.append(self._add_reading(ByteReading(inside, (), self._same, is_fresh)))
        return readings

    def _readings_of_states(self) -> list[int]:
        """Return what the empty string does in all states of which bytes may tell two apart."""
        scanner = self._scanner
        states = np.flatnonzero(~scanner.is_assertion)[1:]
        readings = {}
        for state, row in zip(states.tolist(), scanner.transitions[states], strict=True):
            is_followed = self._is_followed[state]
            if (key := (row.tobytes(), is_followed)) not in readings:
                is_fresh = is_followed or self._match[state] != NO_MATCH
                readings[key] = self._add_reading(self._of_state(state, is_fresh=is_fresh))
        return list(readings.values())

    def _readings_of_obligations(self) -> list[int]:
        """Return what the empty string does to each obligation, and fill the table for them."""
        scanner = self._scanner
        classes = np.flatnonzero(self._may_be_owed())
        targets = scanner.transitions[scanner.class_representatives[classes]]
        readings: list[int] = []
        for is_match in (False, True) if scanner.looks_ahead else (False,):
            numbers = np.full(len(scanner.class_representatives), _UNKNOWN, dtype=np.int32)
            for number in classes.tolist():
                owed = ((-number if is_match else number,),)
                numbers[number] = self._add_reading(Owed(owed, is_match))
            settled = self._add_reading(Owed((NO_OBLIGATIONS,) if is_match else (), is_match))
            self._readings.steps[settled] = settled
            after = numbers[scanner.equivalence_classes[targets]]
            after[targets == DEAD] = NOTHING
            after[scanner.match[targets] != NO_MATCH] = settled
            rows, columns = np.nonzero(scanner.is_assertion[targets])
            _, firsts, inverse = np.unique(
                targets[rows, columns], return_index=True, return_inverse=True
            )
            steps = [
                self._step(self._readings.items[numbers[classes[rows[first]]]], int(columns[first]))
                for first in firsts.tolist()
            ]
            after[rows, columns] = np.array(steps, dtype=np.int32)[inverse]
            self._readings.steps[numbers[classes]] = after
            readings += numbers[classes].tolist()
        return readings

    def _may_be_owed(self) -> npt.NDArray[np.bool_]:
        """Return which equivalence classes an obligation may be about; class 0 is none."""
        scanner = self._scanner
        is_owed = np.zeros(len(scanner.class_representatives), dtype=np.bool_)
        if scanner.looks_ahead and not scanner.asks_each:
            is_owed[1:] = True
            return is_owed
        asked = scanner.assertions[scanner.is_looking]
        pending = np.unique(
            scanner.equivalence_classes[
                np.append(np.flatnonzero(scanner.match != NO_MATCH), asked.reshape(-1))
            ]
        )
        while len(pending):
            is_owed[pending] = True
            targets = scanner.transitions[scanner.class_representatives[pending]]
            targets = targets[(scanner.match[targets] == NO_MATCH) & ~scanner.is_fork[targets]]
            after = np.unique(scanner.equivalence_classes[targets])
            pending = after[~is_owed[after]]
        is_owed[0] = False
        return is_owed

    def _fill_plain(self) -> None:
        """Fill the table for bytes that only go on with a lexeme, in a state as simple."""
        scanner = self._scanner
        if len(self._same) > 1:
            return  # what is read changes the context
        states = np.flatnonzero(~scanner.is_assertion)[1:]
        numbers = self._add_readings(
            [self._of_state(state, is_fresh=False) for state in states.tolist()]
        )
        is_followed = self._has_column[states]
        after = np.full(scanner.n_states, _UNKNOWN, dtype=np.int32)
        after[DEAD] = NOTHING
        after[states] = np.where(is_followed, _UNKNOWN, numbers)
        targets = after[scanner.transitions[states]]
        is_match = scanner.match[states] != NO_MATCH
        # What matches may also end, unless it matches with one more byte too.
        longer = scanner.class_representatives[scanner.equivalence_classes[states]]
        may_end = (scanner.match[scanner.transitions[longer]] == NO_MATCH) & is_match[:, None]
        self._readings.steps[numbers] = np.where(may_end, _UNKNOWN, targets)
        also = np.flatnonzero(is_match | is_followed)
        fresh = [self._of_state(state, is_fresh=True) for state in states[also].tolist()]
        numbers_of_fresh = self._add_readings(fresh)
        self._readings.steps[numbers_of_fresh] = targets[also]

    def _of_state(self, state: int, *, is_fresh: bool) -> ByteReading:
        """Return what the empty string does in a scanner state."""
        column: Column = () if is_fresh and self._is_followed[state] else NO_COLUMN
        return ByteReading((Inside(state, NO_OBLIGATIONS, column),), (), self._same, is_fresh)


class _Numbered(Generic[Item]):
    """Different items, numbered from `NOTHING`, and a table of what they lead to."""

    def __init__(self, n_classes: int, nothing: Item) -> None:
        self.items = [nothing]
        self.steps = np.full((_ROWS, n_classes), _UNKNOWN, dtype=np.int32)
        self.steps[NOTHING] = NOTHING
        self._numbers = {nothing: NOTHING}

    def add(self, item: Item) -> int:
        """Return the number of an item."""
        number = self._numbers.setdefault(item, len(self.items))
        if number == len(self.items):
            self.items.append(item)
            if number == len(self.steps):
                self.steps = np.concatenate([self.steps, np.full_like(self.steps, _UNKNOWN)])
        return number

    def add_all(self, items: Sequence[Item]) -> int:
        """Add new items that are all different; return the number of the first."""
        first = len(self.items)
        self._numbers.update(zip(items, range(first, first + len(items)), strict=True))
        self.items += items
        while len(self.steps) < len(self.items):
            self.steps = np.concatenate([self.steps, np.full_like(self.steps, _UNKNOWN)])
        return first


class _Vectors:
    """Different vectors, numbered, and a table of what they lead to.

    Of each vector only the entries that are not `NOTHING` are kept, and their places.
    """

    def __init__(self, n_classes: int) -> None:
        nothing = np.empty(0, dtype=np.int32)
        self.entries = [(nothing, nothing)]
        self._numbered: _Numbered[tuple[bytes, bytes]] = _Numbered(n_classes, (b"", b""))
        self.depths = _Column()
        self.depths.append(0)

    @property
    def steps(self) -> Int32Array:
        """The table."""
        return self._numbered.steps

    def add(self, places: Int32Array, values: Int32Array, depth: int) -> int:
        """Return the number of a vector; a new one is nested so deeply."""
        number = self._numbered.add((places.tobytes(), values.tobytes()))
        if number == len(self.entries):
            self.entries.append((places, values))
            self.depths.append(depth)
        return number

    def joined(self, numbers: Int64Array) -> tuple[Int32Array, Int32Array, Int64Array]:
        """Return the places and the values of some vectors, one after another, and lengths."""
        parts = [self.entries[number] for number in numbers.tolist()]
        lengths = np.array([len(values) for _, values in parts], dtype=np.int64)
        places = np.concatenate([places for places, _ in parts])
        return places, np.concatenate([values for _, values in parts]), lengths


class _Column:
    """An array that grows."""

    def __init__(self) -> None:
        self.values = np.full(_ROWS, _UNKNOWN, dtype=np.int32)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def append(self, value: int) -> None:
        if self._length == len(self.values):
            self.values = np.concatenate([self.values, np.full_like(self.values, _UNKNOWN)])
        self.values[self._length] = value
        self._length += 1

    def extend(self, values: npt.NDArray[np.generic]) -> None:
        used = self.values[: self._length]
        self.values = np.concatenate([used, values.astype(np.int32), np.full_like(used, _UNKNOWN)])
        self._length += len(values)


def _pairs(
    numbers: npt.NDArray[np.integer], others: npt.NDArray[np.integer]
) -> npt.NDArray[np.int64]:
    """Return pairs of numbers as one number each."""
    return numbers.astype(np.int64) << _SHIFT | others


def _parts(pairs: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return both numbers of each pair."""
    return pairs >> _SHIFT, pairs & ((1 << _SHIFT) - 1)


def _sparse(values: list[int]) -> tuple[Int32Array, Int32Array]:
    """Return where a vector is not `NOTHING`, and its entries there."""
    array = np.array(values, dtype=np.int32)
    places = np.flatnonzero(array).astype(np.int32)
    return places, array[places]
