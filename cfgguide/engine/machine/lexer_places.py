"""Where bytes lead a lexer as long as the lexeme that it reads does not end.

In: the union FSMs. Out: a :class:`Lexer`, which numbers the places of a lexer and remembers where
bytes lead from each. Neither parser nor monitor is asked, so all texts of a grammar share it. ::

    inside a name `us`      `er` is more of the name; `,` ends it; nothing is with `:`

Ignored text before a lexeme counts as part of it. Where the text to come decides what a lexeme is,
such as a keyword that is also the beginning of a name, the lexer is in several states at once, each
with its obligations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cfgguide.automata.dfa import DEAD
from cfgguide.base.locks import new_lock
from cfgguide.base.remembered import remembered
from cfgguide.engine.lexer.lookahead import NO_OBLIGATIONS, Obligations
from cfgguide.engine.lexer.scanner import NO_MATCH
from cfgguide.engine.machine.lexeme_sets import LexemeSets
from cfgguide.engine.machine.recognizer import Recognizer

UNREAD, LEAVING = -1, -2  # instead of the number of a place
_ANY_SET = -1  # of terminals
_MAX_STATES = 16  # of a lexer at once; what leads to more is not followed
_MAX_KNOWN = 200_000  # readings, of about 200 bytes each

Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]
States = tuple[tuple[int, Obligations], ...]
#: The fields of a `LexerReading`: plain tuples of numbers, which Python's collector does not track.
Reading = tuple[int, int, int, int, int]


class LexerPlace(NamedTuple):
    """Where a lexer is.

    Attributes
    ----------
    states : tuple of (int, tuple of int)
        The scanner states, each with its obligations.
    context : int
        What came before, as far as assertions ask.
    left : tuple of (tuple of int)
        If the lexeme may have ended besides, what must come true of the text to come then.
    """

    states: States
    context: int
    left: tuple[Obligations, ...] = ()


class LexerReading(NamedTuple):
    """What becomes of a lexeme when bytes are read.

    Attributes
    ----------
    number : int
        Of the place that they lead to; `UNREAD` if no lexer reads them; `LEAVING` if the lexeme
        ends.
    begin, end : int
        Where the lexeme is among the bytes: after ignored text, up to where it ended.
    terminal_id : int
        What ended; -1 if the text to come decides.
    context : int
        Where the next lexeme begins.
    """

    number: int
    begin: int
    end: int
    terminal_id: int
    context: int


class Lexer:
    """The places of a lexer by number, and where bytes lead from them."""

    @classmethod
    def of(cls, recognizer: Recognizer) -> Lexer:
        """Return that of a recogniser, which is made once."""
        return recognizer.derived(cls)

    def __init__(self, recognizer: Recognizer) -> None:
        scanner = recognizer.scanner
        self._match: list[int] = scanner.match.tolist()
        self._transitions = memoryview(scanner.transitions.data)
        self._is_assertion: list[bool] = scanner.is_assertion.tolist()
        self._lookahead = recognizer.lookahead
        self._ignored = scanner.ignored
        self._starts: list[list[int]] = scanner.starts.tolist()
        self._contexts: list[list[int]] = scanner.contexts.tolist()
        self._byte_classes: list[int] = scanner.byte_classes.tolist()
        self._n_classes = scanner.transitions.shape[1]
        #: The places, and the set of terminals of each among which a lexeme after a gap is.
        self.places: list[LexerPlace] = []
        self._sets: list[int] = []
        self._is_between: list[bool] = []
        self._ahead: list[int] = []
        self._numbers: dict[tuple[LexerPlace, int], int] = {}
        self._lexemes = LexemeSets.of(recognizer)
        self._is_start: list[bool] = scanner.is_start.tolist()
        self._lock = new_lock()
        self._moves: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        self._readings: dict[int, dict[bytes, Reading]] = {}
        self._n_readings = 0

    def number(self, place: LexerPlace, terminal_set: int) -> int:
        """Return the number of a place.

        Parameters
        ----------
        place : LexerPlace
            The place.
        terminal_set : int
            The set of terminals among which a lexeme after ignored text is.
        """
        key = place, terminal_set
        number = self._numbers.get(key)
        if number is None:
            number = self._numbered(key)
        return number

    def _numbered(self, key: tuple[LexerPlace, int]) -> int:
        place, terminal_set = key
        ahead = 0
        for state, _ in place.states:
            ahead |= self._lexemes.ahead(state)
        # All sets have one place where no ignored text may be before the lexeme.
        shared = place, terminal_set if ahead >> self._ignored & 1 else _ANY_SET
        with self._lock:
            if shared not in self._numbers:
                self.places.append(place)
                self._ahead.append(ahead)
                self._sets.append(terminal_set)
                self._is_between.append(all(self.is_gap(state) for state, _ in place.states))
                self._numbers[shared] = len(self.places) - 1
            self._numbers[key] = self._numbers[shared]
        return self._numbers[key]

    def ahead(self, number: int) -> int:
        """Return the terminals that the lexeme at a place may become, as bits."""
        return self._ahead[number]

    def is_between(self, number: int) -> bool:
        """Return whether no lexeme has begun at a place that the parser gets."""
        return self._is_between[number]

    def is_gap(self, state: int) -> bool:
        """Return whether no lexeme has begun in a scanner state that the parser gets."""
        return self._is_start[state] or self._lexemes.ahead(state) == 1 << self._ignored

    def start(self, terminal_set: int, context: int) -> int:
        """Return the number of the place where a lexeme begins."""
        states = self._lookahead.resolved(self._starts[terminal_set][context], NO_OBLIGATIONS)
        return self.number(LexerPlace(states, context), terminal_set)

    def reading(self, number: int, data: bytes) -> LexerReading:
        """Return what becomes of the lexeme at a place when bytes are read."""
        return LexerReading(*self.readings(number, (data,))[0])

    def readings(self, number: int, rests: Sequence[bytes]) -> list[Reading]:
        """Return what becomes of the lexeme at a place when each of some bytes are read."""
        if self._n_readings >= _MAX_KNOWN:
            self._readings, self._n_readings = {}, 0
        known = self._readings.setdefault(number, {})
        n_before = len(known)
        for data in rests:
            if data not in known:
                known[data] = self._read(number, data)
        self._n_readings += len(known) - n_before
        return [known[data] for data in rests]

    def _read(self, number: int, data: bytes) -> Reading:
        begin = 0
        for n_read, byte in enumerate(data):
            byte_class = self._byte_classes[byte]
            after = self.after(number, byte_class)
            if after == LEAVING:
                place = self.places[number]
                key = number * self._n_classes + byte_class
                ended = self._ends.get(key)
                if ended is None:
                    ended = self._ends[key] = self._ended(place, byte_class)
                return after, begin, n_read, ended, place.context
            if after == UNREAD:
                return after, begin, n_read, -1, 0
            number = after
            if self._is_between[number]:
                begin = n_read + 1
        return number, begin, len(data), -1, 0

    def _ended(self, place: LexerPlace, byte_class: int) -> int:
        """Return which lexeme a byte ends; -1 if that is not the whole answer."""
        if place.left:
            return -1
        ended: set[int] = set()
        for state, owed in place.states:
            if self._lookahead.step(state, owed, byte_class):
                return -1
            if self._match[state] != NO_MATCH:
                owing = self._lookahead.ending(state, owed)
                after = self._lookahead.after(owing, byte_class)
                if after and after != (NO_OBLIGATIONS,):
                    return -1
                if after:
                    ended.add(self._match[state])
        return ended.pop() if len(ended) == 1 and self._ignored not in ended else -1

    def after(self, number: int, byte_class: int) -> int:
        """Return the number of the place after one more byte, `UNREAD` or `LEAVING`."""
        key = number * self._n_classes + byte_class
        known = self._moves.get(key)
        if known is None:
            known = self._moves[key] = self._moved(number, byte_class)
        return known

    def all_after(self, numbers: Int64Array, byte_classes: Int32Array) -> Int64Array:
        """Return the same of many at once."""
        keys, of_keys = np.unique(numbers * self._n_classes + byte_classes, return_inverse=True)
        targets = [self.after(*divmod(key, self._n_classes)) for key in keys.tolist()]
        return np.array(targets, dtype=np.int64)[of_keys]

    def _moved(self, number: int, byte_class: int) -> int:
        place, terminal_set, lookahead = self.places[number], self._sets[number], self._lookahead
        following: list[tuple[int, Obligations]] = []
        left = {after for owed in place.left for after in lookahead.after(owed, byte_class)}
        for state, owed in place.states:
            following += lookahead.step(state, owed, byte_class)
            terminal_id = self._match[state]
            if terminal_id == NO_MATCH:
                continue
            owing = lookahead.ending(state, owed)
            if terminal_id != self._ignored:
                if self._may_leave(owing, byte_class, place.context):
                    left.update(lookahead.after(owing, byte_class))
                continue
            for start in lookahead.resolved(self._starts[terminal_set][place.context], owing):
                following += lookahead.step(*start, byte_class)
        states = tuple(dict.fromkeys(following))
        if not states:
            return LEAVING if left else UNREAD
        if len(states) > _MAX_STATES or len(left) > _MAX_STATES:
            return LEAVING
        context = self._contexts[place.context][byte_class]
        return self.number(LexerPlace(states, context, tuple(sorted(left))), terminal_set)

    @remembered
    def _may_leave(self, owing: Obligations, byte_class: int, context: int) -> bool:
        """Return whether any lexeme could begin with a byte, after one that owes something."""
        return bool(self._lookahead.after(owing, byte_class)) and any(
            self._lookahead.step(*possible, byte_class)
            for start in self._beginning(byte_class, context)
            for possible in self._lookahead.resolved(start, owing)
        )

    @remembered
    def _beginning(self, byte_class: int, context: int) -> list[int]:
        """Return where lexemes start that begin with a byte; one start of those it leads alike."""
        by_target: dict[int, int] = {}
        for start in {of_context[context] for of_context in self._starts}:
            if self._is_assertion[start]:
                by_target[-start] = start
            elif (target := self._transitions[start, byte_class]) != DEAD:
                by_target[target] = start
        return list(by_target.values())
