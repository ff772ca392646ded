"""The kinds of ends that lexemes come to, as a table over scanner states.

In: the union FSMs. Out: :class:`Kinds`: an end is of a kind with others that have its label and
claim the same of the next byte. (:mod:`cfgguide.liveness.lexemes` follows single lexemes exactly.)
Only such questions about the text ahead are dealt with as the next byte answers: by a monitor that
it ends, or lets match.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cfgguide.automata.dfa import DEAD, IF_FAILS, IF_HOLDS, LOOKED_FOR
from cfgguide.automata.partition import distinct_rows
from cfgguide.lexer.scanner import NO_MATCH, Scanner

Int32Array = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Kinds:
    """The kinds of ends: by label, and by the group of what is claimed then.

    Attributes
    ----------
    terminal_ids, groups : int32, shape (n_kinds,)
        Of each kind, sorted.
    kind_of_state : int32, shape (n_scanner_states,)
        The kind of end in each scanner state that matches; -1 = none.
    resolves : bool, shape (n_groups, n_byte_classes)
        Whether a byte settles, as true, what a group claims.
    """

    terminal_ids: Int32Array
    groups: Int32Array
    kind_of_state: Int32Array
    resolves: BoolArray

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.resolves)

    @classmethod
    def of(cls, scanner: Scanner) -> Kinds:
        """Return the kinds of the ends in the union FSMs."""
        resolves = scanner.transitions[scanner.class_representatives] == DEAD
        resolves[0] = True  # of states that never match again nothing is claimed
        # Where a lexeme may end: at a match, or at questions of which the last no is one.
        matching = np.flatnonzero((scanner.match != NO_MATCH) & ~scanner.is_assertion)
        assertion, refusing, refused = _refusals(scanner, resolves)
        is_end = scanner.match[refusing] != NO_MATCH
        assertion, refusing, refused = assertion[is_end], refusing[is_end], refused[is_end]
        ending = np.concatenate([matching, refusing])
        rows = resolves[scanner.equivalence_classes[ending]]
        rows[len(matching) :] &= refused
        nothing = np.ones((1, scanner.transitions.shape[1]), dtype=np.bool_)
        groups, group_of_row = distinct_rows(np.concatenate([rows, nothing]))
        # Sorted: the last group is that where nothing is claimed.
        numbers = scanner.match[ending].astype(np.int64) * len(groups) + group_of_row[:-1]
        kinds, kind_of_end = np.unique(numbers, return_inverse=True)
        kind_of_state = np.full(scanner.n_states, -1, dtype=np.int32)
        kind_of_state[np.concatenate([matching, assertion])] = kind_of_end.reshape(-1)
        terminal_ids, group_of_kind = np.divmod(kinds.astype(np.int32), len(groups))
        return cls(terminal_ids, group_of_kind, kind_of_state, groups)

    def terminal_ids_from_starts(self, scanner: Scanner, reached: BoolArray) -> frozenset[int]:
        """Return the labels of the kinds that are reached from some start."""
        is_started = reached[scanner.starts.reshape(-1)].any(axis=0)
        return frozenset(self.terminal_ids[is_started].tolist())

    def reached(self, scanner: Scanner, letters: Iterable[int], *, is_sure: bool) -> BoolArray:
        """Return the kinds of ends that each scanner state can come to.

        Parameters
        ----------
        scanner : Scanner
            The union FSMs.
        letters : iterable of int
            The bytes to use.
        is_sure : bool
            Whether to go on behind a question only with bytes that settle it at once; else with
            all bytes, and all answers.

        Returns
        -------
        bool, shape (n_scanner_states, n_kinds)
        """
        classes = classes_of(scanner, letters)
        moves = scanner.transitions[:, classes]
        if is_sure:
            moves[scanner.is_assertion] = _moves_of_assertion(scanner, moves)
        else:
            moves = np.concatenate([moves, scanner.assertions[:, [IF_HOLDS, IF_FAILS]]], axis=1)
        found = np.zeros((scanner.n_states, len(self.terminal_ids)), dtype=np.bool_)
        matching = np.flatnonzero(self.kind_of_state >= 0)
        found[matching, self.kind_of_state[matching]] = True
        # Sets of kinds as bits, passed back along the moves until nothing is new.
        sets = np.packbits(found, axis=1)
        columns = list({column.tobytes(): column for column in moves.T if column.any()}.values())
        while True:
            before = sets.copy()
            for column in columns:
                sets |= sets[column]
            if np.array_equal(before, sets):
                return np.unpackbits(sets, axis=1, count=len(self.terminal_ids)).astype(np.bool_)


def classes_of(scanner: Scanner, letters: Iterable[int]) -> Int32Array:
    """Return the classes of bytes, each once."""
    return np.unique(scanner.byte_classes[sorted(letters)])


def _refusals(scanner: Scanner, resolves: BoolArray) -> tuple[Int32Array, Int32Array, BoolArray]:
    """Return the states that ask, what they are if all answers are no, and when these are true.

    Parameters
    ----------
    resolves : bool, shape (n_blocks, n_byte_classes)
        Whether a byte settles, as true, that a block will not match.

    Returns
    -------
    assertion, refusing : int32, shape (n,)
        States; those whose questions have an answer at once are left out.
    refused : bool, shape (n, n_byte_classes)
        Whether a byte settles all answers as true.
    """
    assertion = here = np.flatnonzero(scanner.is_assertion).astype(np.int32)
    refused = np.ones((len(assertion), resolves.shape[1]), dtype=np.bool_)
    is_open = np.ones(len(assertion), dtype=np.bool_)
    is_waiting = _is_waiting(scanner)
    while (is_asked := scanner.is_assertion[here]).any():
        looked_for = scanner.assertions[here, LOOKED_FOR]
        is_open &= ~is_asked | is_waiting[looked_for]
        refused &= ~is_asked[:, None] | resolves[scanner.equivalence_classes[looked_for]]
        here = np.where(is_asked, scanner.assertions[here, IF_FAILS], here)
    return assertion[is_open], here[is_open], refused[is_open]


def _moves_of_assertion(scanner: Scanner, moves: Int32Array) -> Int32Array:
    """Return where bytes lead from the states that ask, if they settle the answers at once.

    Parameters
    ----------
    moves : int32, shape (n_scanner_states, n_letters)
        Where they lead from the other states.
    """
    letters = np.arange(moves.shape[1])
    here = np.flatnonzero(scanner.is_assertion)[:, None].repeat(len(letters), axis=1)
    is_waiting = _is_waiting(scanner)
    while (is_asked := scanner.is_assertion[here]).any():
        looked_for = scanner.assertions[here, LOOKED_FOR]
        ahead = moves[looked_for, letters]
        is_match = scanner.match[ahead] != NO_MATCH
        is_answered = is_waiting[looked_for] & ((ahead == DEAD) | is_match)
        after = np.where(
            is_match, scanner.assertions[here, IF_HOLDS], scanner.assertions[here, IF_FAILS]
        )
        here = np.where(is_asked, np.where(is_answered, after, DEAD), here)
    return moves[here, letters]


def _is_waiting(scanner: Scanner) -> BoolArray:
    """Return which states are neither matching nor asking: as monitors, they must read on."""
    found: BoolArray = (scanner.match == NO_MATCH) & ~scanner.is_assertion
    return found
