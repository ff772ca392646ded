"""What is always live, asked with obligations as they are followed, one by one.

In: the table of what is always live (:mod:`cfgguide.engine.liveness.always_live`), whose columns
are groups of obligations. Out: :class:`LiveRows`, which answers for a parse state and any
obligations: yes, if some group asks for no less than they do, letter by letter, and the state is
live with it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cfgguide.automata.dfa import DEAD
from cfgguide.engine.lexer.lookahead import Obligations
from cfgguide.engine.lexer.reachability import BoolArray
from cfgguide.engine.liveness.always_live import AlwaysLive
from cfgguide.engine.machine.recognizer import Recognizer


class LiveRows:
    """Answers of the table between two lexemes, where obligations are followed one by one.

    Parameters
    ----------
    recognizer : Recognizer
        Of the grammar.
    always_live : AlwaysLive
        The table.
    alike : int, shape (n_parse_states,)
        For each state one that stands for it; the answer for that holds for all of them.
    """

    def __init__(
        self, recognizer: Recognizer, always_live: AlwaysLive, alike: Sequence[int]
    ) -> None:
        scanner = recognizer.scanner
        letters = np.flatnonzero(always_live.is_letter)
        # Of a group and of an obligation, the letters after which nothing is owed.
        self._resolving = always_live.resolves[:, letters]
        self._refused = scanner.transitions[scanner.class_representatives][:, letters] == DEAD
        self._tables = [
            _of_all_alike(table, alike)
            for table in (always_live.is_always_live, always_live.is_live_after_newline)
        ]
        self._rows: dict[Obligations, list[BoolArray]] = {}
        self._rows_of_letters: dict[bytes, list[BoolArray]] = {}

    def holds(self, state: int, obligations: Obligations, *, after_line: bool) -> bool:
        """Return whether a sentence certainly can follow.

        Parameters
        ----------
        state : int
            The parse state on top of any stack.
        obligations : tuple of int
            What must come true of the text to come.
        after_line : bool
            Whether a line break was fed, which may lead to any column.
        """
        if obligations not in self._rows:
            self._rows[obligations] = self._found(obligations)
        return bool(self._rows[obligations][after_line][state])

    def _found(self, obligations: Obligations) -> list[BoolArray]:
        is_free = np.ones(self._resolving.shape[1], dtype=np.bool_)
        for obligation in obligations:
            if obligation < 0:  # the text may not end, as the table takes for granted
                return [np.zeros(len(table), dtype=np.bool_) for table in self._tables]
            is_free &= self._refused[obligation]
        key = is_free.tobytes()
        if key not in self._rows_of_letters:
            # Groups of which each letter that resolves them resolves these obligations, too.
            groups = ~(self._resolving & ~is_free).any(axis=1)
            self._rows_of_letters[key] = [
                np.array(table[:, groups].any(axis=1)) for table in self._tables
            ]
        return self._rows_of_letters[key]


def _of_all_alike(table: BoolArray, alike: Sequence[int]) -> BoolArray:
    """Return the rows of a table, each with what holds for all that the same row stands for."""
    numbers = np.unique(alike, return_inverse=True)[1]
    order = np.argsort(numbers, kind="stable")
    firsts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    return np.array(np.logical_and.reduceat(table[order], firsts, axis=0)[numbers])
