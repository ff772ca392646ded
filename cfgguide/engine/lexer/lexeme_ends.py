"""Classes of lexeme ends, as a table over scanner states.

In: the union FSMs. Out: :class:`LexemeEndClasses`. Two ends are in one class if they have the same
terminal and the same obligations about the next byte. Only obligations that the next byte resolves
count: those of a state that it kills or lets match. :mod:`cfgguide.engine.liveness.spelled_ends`
follows single lexemes exactly.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cfgguide.automata.dfa import DEAD, IF_FAILS, IF_HOLDS, LOOKED_FOR
from cfgguide.automata.partition import distinct_rows
from cfgguide.engine.lexer.reachability import BoolArray, reaching
from cfgguide.engine.lexer.scanner import NO_MATCH, Scanner

Int32Array = npt.NDArray[np.int32]


@dataclass(frozen=True)
class LexemeEndClasses:
    """The classes of lexeme ends: by terminal, and by group of obligations.

    Attributes
    ----------
    terminal_ids, groups : int32, shape (n_classes,)
        Of each kind, sorted.
    ending, class_of_end : int32, shape (n_ends,)
        Scanner states in which a lexeme may end, and of which kind; several times where it may end
        in several ways.
    resolves : bool, shape (n_groups, n_byte_classes)
        Whether a byte proves all obligations of a group.
    """

    terminal_ids: Int32Array
    groups: Int32Array
    ending: Int32Array
    class_of_end: Int32Array
    resolves: BoolArray

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.resolves)

    @classmethod
    def of(cls, scanner: Scanner) -> LexemeEndClasses:
        """Return the kinds of the ends in the union FSMs."""
        resolves = scanner.transitions[scanner.class_representatives] == DEAD
        resolves[0] = True  # states that never match again leave no obligation
        # Where a lexeme may end: at a match, or at assertions that lead to one if all fail.
        matching = np.flatnonzero((scanner.match != NO_MATCH) & ~scanner.is_assertion)
        assertion, refusing, refused = _refusals(scanner, resolves)
        is_end = scanner.match[refusing] != NO_MATCH
        assertion, refusing, refused = assertion[is_end], refusing[is_end], refused[is_end]
        ending = np.concatenate([matching, refusing])
        rows = resolves[scanner.equivalence_classes[ending]]
        rows[len(matching) :] &= refused
        nothing = np.ones((1, scanner.transitions.shape[1]), dtype=np.bool_)
        groups, group_of_row = distinct_rows(np.concatenate([rows, nothing]))
        # Sorted: the last group has no obligations.
        numbers = scanner.match[ending].astype(np.int64) * len(groups) + group_of_row[:-1]
        kinds, kind_of_end = np.unique(numbers, return_inverse=True)
        terminal_ids, group_of_kind = np.divmod(kinds.astype(np.int32), len(groups))
        ending = np.concatenate([matching, assertion]).astype(np.int32)
        classes = kind_of_end.reshape(-1).astype(np.int32)
        return cls(terminal_ids, group_of_kind, ending, classes, groups)

    def terminal_ids_from_starts(self, scanner: Scanner, reached: BoolArray) -> frozenset[int]:
        """Return the terminal ids of the kinds that are reached from some start."""
        is_started = reached[scanner.starts.reshape(-1)].any(axis=0)
        return frozenset(self.terminal_ids[is_started].tolist())

    def reached(self, scanner: Scanner, letters: Iterable[int], *, is_certain: bool) -> BoolArray:
        """Return the kinds of ends that each scanner state can come to.

        Parameters
        ----------
        scanner : Scanner
            The union FSMs.
        letters : iterable of int
            The bytes to use.
        is_certain : bool
            Whether to go on from an assertion state, other than a fork, only with bytes that
            resolve it at once; else with all bytes, and both answers.

        Returns
        -------
        bool, shape (n_scanner_states, n_classes)
        """
        classes = classes_of(scanner, letters)
        by_bytes, by_answers = scanner.moves
        by_bytes = certain_moves(scanner, classes) if is_certain else by_bytes[:, classes]
        goals = np.zeros((scanner.n_states, len(self.terminal_ids)), dtype=np.bool_)
        goals[self.ending, self.class_of_end] = True
        if is_certain:
            by_answers = np.where(scanner.is_fork[:, None], by_answers, DEAD)
        return reaching((by_bytes, by_answers), goals)


def classes_of(scanner: Scanner, letters: Iterable[int]) -> Int32Array:
    """Return the classes of bytes, each once."""
    return np.unique(scanner.byte_classes[sorted(letters)])


def certain_moves(scanner: Scanner, letters: Int32Array) -> Int32Array:
    """Return where bytes lead from each state; from an assertion state if they resolve it at once.

    Parameters
    ----------
    scanner : Scanner
        The union FSMs.
    letters : int32, shape (n_letters,)
        Byte classes.

    Returns
    -------
    int32, shape (n_scanner_states, n_letters)
    """
    moves: Int32Array = scanner.transitions[:, letters]
    moves[scanner.is_looking] = _moves_of_assertion(scanner, moves)
    return moves


def _refusals(scanner: Scanner, resolves: BoolArray) -> tuple[Int32Array, Int32Array, BoolArray]:
    """Return the assertion states, where they lead if all assertions fail, and when these do.

    A state that leads to a fork is there for each of its answers.

    Parameters
    ----------
    resolves : bool, shape (n_equivalence_classes, n_byte_classes)
        Whether a byte proves that an equivalence class will not match.

    Returns
    -------
    assertion, refusing : int32, shape (n,)
        States; those whose assertions are resolved at once are left out.
    refused : bool, shape (n, n_byte_classes)
        Whether a byte proves that all assertions fail.
    """
    assertion = here = np.flatnonzero(scanner.is_looking).astype(np.int32)
    refused = np.ones((len(assertion), resolves.shape[1]), dtype=np.bool_)
    is_open = np.ones(len(assertion), dtype=np.bool_)
    is_waiting = _is_waiting(scanner)
    while (is_asked := scanner.is_looking[here]).any():
        looked_for = scanner.assertions[here, LOOKED_FOR]
        is_open &= ~is_asked | is_waiting[looked_for]
        refused &= ~is_asked[:, None] | resolves[scanner.equivalence_classes[looked_for]]
        here = np.where(is_asked, scanner.assertions[here, IF_FAILS], here)
    assertion, here, refused = assertion[is_open], here[is_open], refused[is_open]
    while (is_fork := scanner.is_fork[here]).any():
        answers = scanner.assertions[here[is_fork]][:, [IF_HOLDS, IF_FAILS]].T.reshape(-1)
        assertion = np.concatenate([assertion[~is_fork], np.tile(assertion[is_fork], 2)])
        refused = np.concatenate([refused[~is_fork], np.tile(refused[is_fork], (2, 1))])
        here = np.concatenate([here[~is_fork], answers])
    return assertion, here, refused


def _moves_of_assertion(scanner: Scanner, moves: Int32Array) -> Int32Array:
    """Return where bytes lead from the assertion states, if they resolve them at once.

    Parameters
    ----------
    moves : int32, shape (n_scanner_states, n_letters)
        Where they lead from the other states.
    """
    letters = np.arange(moves.shape[1])
    here = np.flatnonzero(scanner.is_looking)[:, None].repeat(len(letters), axis=1)
    is_waiting = _is_waiting(scanner)
    while (is_asked := scanner.is_looking[here]).any():
        looked_for = scanner.assertions[here, LOOKED_FOR]
        ahead = moves[looked_for, letters]
        is_match = scanner.match[ahead] != NO_MATCH
        is_answered = is_waiting[looked_for] & ((ahead == DEAD) | is_match)
        after = np.where(
            is_match, scanner.assertions[here, IF_HOLDS], scanner.assertions[here, IF_FAILS]
        )
        here = np.where(is_asked, np.where(is_answered, after, DEAD), here)
    while (is_fork := scanner.is_fork[here]).any():  # bytes lead on only from its last answer
        here = np.where(is_fork, scanner.assertions[here, IF_FAILS], here)
    return moves[here, letters]


def _is_waiting(scanner: Scanner) -> BoolArray:
    """Return which states neither match nor are assertion states: they must read on."""
    is_waiting: BoolArray = (scanner.match == NO_MATCH) & ~scanner.is_assertion
    return is_waiting
