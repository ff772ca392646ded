"""Which lexemes a scanner state may come to: as bits, and whether one is among some texts.

In: the union FSMs. Out: :class:`LexemeSets`. A monitor that allows all texts but a few needs to
know whether a lexeme that has begun may still become another one.
"""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

from cfgguide.automata.dfa import DEAD
from cfgguide.base.remembered import remembered
from cfgguide.engine.lexer.reachability import reaching
from cfgguide.engine.lexer.scanner import Scanner
from cfgguide.engine.machine.recognizer import Recognizer
from cfgguide.engine.monitors.text_sets import Texts

_MAX_TRIED = 10_000  # beginnings of lexemes
_BYTES = (*range(0x20, 0x7F), *range(0x20), *range(0x7F, 0x100))  # those of ASCII first


class LexemeSets:
    """The lexemes that scanner states may come to.

    Attributes
    ----------
    ahead_of : list of int
        For each scanner state, the terminals of the lexemes that it matches or may come to, as
        bits.
    """

    @classmethod
    def of(cls, recognizer: Recognizer) -> LexemeSets:
        """Return those of a recogniser's scanner, which are made once."""
        return recognizer.derived(_of_recognizer)

    def __init__(self, scanner: Scanner) -> None:
        self._scanner = scanner
        matches = scanner.match[:, np.newaxis] == np.arange(scanner.ignored + 1)
        self._reached = reaching(scanner.moves, matches)
        rows = np.packbits(self._reached, axis=1, bitorder="little")
        self.ahead_of = [int.from_bytes(row.tobytes(), "little") for row in rows]

    def ahead(self, state: int) -> int:
        """Return the terminals of the lexemes that a state matches or may come to, as bits."""
        return self.ahead_of[state]

    def leads_to(self, terminals: int) -> npt.NDArray[np.bool_]:
        """Return which states match or may come to a lexeme of some terminals, given as bits."""
        wanted = [each for each in range(self._reached.shape[1]) if terminals >> each & 1]
        return np.array(self._reached[:, wanted].any(axis=1))

    @remembered
    def endless(self, terminal_id: int) -> npt.NDArray[np.bool_]:
        """Return from which states there is no longest lexeme of a terminal."""
        endless = self._reached[:, terminal_id].copy()
        states = np.flatnonzero(endless)
        while len(states):  # those are left out from which nothing that is left is reached
            goes_on = np.zeros(len(states), dtype=np.bool_)
            for moves in self._scanner.moves:
                goes_on |= endless[moves[states]].any(axis=1)
            if goes_on.all():
                break
            endless[states[~goes_on]] = False
            states = states[goes_on]
        return endless

    def has_other(self, state: int, terminal_id: int, text: bytes, texts: Texts) -> bool:
        """Return whether a lexeme that has begun may become one of some texts.

        Parameters
        ----------
        state : int
            Where the scanner is.
        terminal_id : int
            The lexeme's terminal.
        text : bytes
            What has come of it.
        texts : Texts
            All but a few.
        """
        if self.endless(terminal_id)[state]:
            return True
        return self.other(state, terminal_id, text, texts) is not None

    def other(self, state: int, terminal_id: int, text: bytes, texts: Texts) -> bytes | None:
        """Return a short lexeme among some texts that one may become; None if none was found."""
        pending = deque([(state, text)])
        for _ in range(_MAX_TRIED):
            if not pending:
                break
            here, so_far = pending.popleft()
            for resolved in self._scanner.resolved(here):
                if self._scanner.match[resolved] == terminal_id and texts.has(so_far):
                    return so_far
                for byte in _BYTES:
                    byte_class = self._scanner.byte_classes[byte]
                    target = int(self._scanner.transitions[resolved, byte_class])
                    if target != DEAD and self.ahead(target) >> terminal_id & 1:
                        pending.append((target, so_far + bytes((byte,))))
        return None


def _of_recognizer(recognizer: Recognizer) -> LexemeSets:
    return LexemeSets(recognizer.scanner)
