"""Shortest texts of lexemes, from any state of the scanner.

In: a :class:`~cfgguide.lexer.scanner.Scanner` and the bytes that tokens hold. Out: a
:class:`LexemeTexts`: how many bytes lead from a scanner state to a match of a terminal, and such
bytes. ::

    inside a string `"ab`      to STRING  1 byte, `"`
    after `t` in JSON          to TRUE    3 bytes, `rue`

A match counts if another lexeme can follow it: some byte that begins lexemes must not lead on. In
SQL ``/*x`` is a comment only if the text ends there; else it takes all that follows up to ``*/``.

Of bytes that do equally well, the one that reads best is taken. Both answers of an assertion state
are taken as possible.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cfgguide.automata.dfa import DEAD
from cfgguide.lexer.scanner import NO_MATCH, Scanner

FAR = 30_000  # in `distances`: never
_AT_ONCE = 32  # terminals
_PLEASANT = b"x0 \n"  # the bytes that come first


class LexemeTexts:
    """Shortest texts of lexemes.

    Parameters
    ----------
    scanner : Scanner
        The union FSMs.
    used : frozenset of int
        The bytes that texts may hold.

    Attributes
    ----------
    distances : int16, shape (n_scanner_states, n_terminals + 1)
        Fewest bytes to a match of each terminal, ignored lexemes being the last; `FAR` where there
        is none.
    """

    def __init__(self, scanner: Scanner, used: frozenset[int]) -> None:
        self._scanner = scanner
        order = [*_PLEASANT, *range(33, 127), *range(256)]
        first = {int(scanner.byte_classes[byte]): byte for byte in reversed(order) if byte in used}
        self._letters = sorted(
            ((byte, letter) for letter, byte in first.items()),
            key=lambda pair: order.index(pair[0]),
        )
        assertion = np.flatnonzero(scanner.is_assertion).tolist()
        self._answers = {state: scanner.resolved(state) for state in assertion}
        self.distances = self._measured()
        self._texts: dict[tuple[int, int], bytes] = {}
        self._gaps: dict[tuple[int, int], bytes | None] = {}

    def lengths(self) -> npt.NDArray[np.int64]:
        """Return the length of each terminal's shortest lexeme; `FAR` where there is none."""
        lengths: npt.NDArray[np.int64]
        lengths = self.distances[np.unique(self._scanner.starts)].min(axis=0).astype(np.int64)
        return lengths

    def text(self, state: int, terminal_id: int) -> bytes | None:
        """Return the shortest bytes that lead from a scanner state to a match of a terminal."""
        if self.distances[state, terminal_id] >= FAR:
            return None
        key = (state, terminal_id)
        if key not in self._texts:
            text = bytearray()
            while self.distances[state, terminal_id]:
                byte, state = self._step(state, terminal_id)
                text.append(byte)
            self._texts[key] = bytes(text)
        return self._texts[key]

    def gap(self, start: int, before: int) -> bytes | None:
        """Return the shortest ignored text that does not continue the lexeme before it.

        Parameters
        ----------
        start : int
            The state in which the next lexeme starts.
        before : int
            The scanner state at the end of the lexeme before.
        """
        key = (start, before)
        if key not in self._gaps:
            transitions, ignored = self._scanner.transitions, self._scanner.ignored
            ways = [
                (
                    self.distances[transitions[start, letter], ignored],
                    byte,
                    transitions[start, letter],
                )
                for byte, letter in self._letters
                if transitions[before, letter] == DEAD
            ]
            length, byte, target = min(ways, key=lambda way: way[0], default=(FAR, 0, DEAD))
            rest = self.text(int(target), ignored) if length < FAR else None
            self._gaps[key] = None if rest is None else bytes([byte]) + rest
        return self._gaps[key]

    def _step(self, state: int, terminal_id: int) -> tuple[int, int]:
        """Return a byte that leads nearer to a terminal, and where it leads."""
        wanted = self.distances[state, terminal_id] - 1
        for here in self._answers.get(state, (state,)):
            for byte, byte_class in self._letters:
                target = int(self._scanner.transitions[here, byte_class])
                if self.distances[target, terminal_id] == wanted:
                    return byte, target
        raise AssertionError("every distance comes from a smaller one")

    def _measured(self) -> npt.NDArray[np.int16]:
        scanner = self._scanner
        n_terminal_ids = scanner.ignored + 1
        distances = np.full((scanner.n_states, n_terminal_ids), FAR, dtype=np.int16)
        classes = [byte_class for _, byte_class in self._letters]
        starts = np.unique(scanner.starts).tolist()
        begun = [state for start in starts for state in scanner.resolved(start)]
        begins = (scanner.transitions[begun][:, classes] != DEAD).any(axis=0)
        can_end = ((scanner.transitions[:, classes] == DEAD) & begins).any(axis=1)
        is_match = (scanner.match != NO_MATCH) & (scanner.match < n_terminal_ids)
        matching = np.flatnonzero(is_match & can_end)
        distances[matching, scanner.match[matching]] = 0
        targets = np.sort(scanner.transitions[:, classes], axis=1)
        is_new = np.ones(targets.shape, dtype=np.bool_)
        is_new[:, 1:] = targets[:, 1:] != targets[:, :-1]
        is_new &= targets != DEAD
        sources = np.flatnonzero(is_new.any(axis=1))
        offsets = np.concatenate([[0], np.cumsum(is_new[sources].sum(axis=1))[:-1]])
        flat = targets[is_new]
        for start in range(0, n_terminal_ids, _AT_ONCE):
            some = distances[:, start : start + _AT_ONCE]
            while len(sources):
                for state, answers in self._answers.items():
                    some[state] = some[list(answers)].min(axis=0, initial=FAR)
                nearer = np.minimum.reduceat(some[flat], offsets, axis=0) + 1
                nearer = np.minimum(nearer, some[sources])
                if np.array_equal(nearer, some[sources]):
                    break
                some[sources] = nearer
        return distances
