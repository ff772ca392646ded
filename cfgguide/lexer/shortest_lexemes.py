"""Shortest texts of lexemes, from any state of the scanner.

In: a :class:`~cfgguide.lexer.scanner.Scanner` and the bytes that tokens hold. Out: a
:class:`LexemeTexts`: how many bytes lead from a scanner state to a match with a label, and such
bytes. ::

    inside a string `"ab`      to STRING  1 byte, `"`
    after `t` in JSON          to TRUE    3 bytes, `rue`

A match counts if some byte that begins lexemes does not lead on, so that one can stand behind it:
in SQL ``/*x`` alone is a comment, if the text ends there, and takes all that follows up to ``*/``.

Of bytes that do equally well one that is pleasant to read is taken. What states ask of the text to
come is taken as answered either way.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cfgguide.automata.dfa import DEAD, IF_FAILS, IF_HOLDS
from cfgguide.lexer.scanner import NO_MATCH, Scanner

FAR = 30_000  # in `distances`: never
_AT_ONCE = 32  # labels
_PLEASANT = b"x0 \n"  # of all bytes these come first


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
    distances : int16, shape (n_scanner_states, n_labels)
        Fewest bytes to a match with each label, that of dropped lexemes being the last; `FAR` where
        there is none.
    """

    def __init__(self, scanner: Scanner, used: frozenset[int]) -> None:
        self._scanner = scanner
        order = [*_PLEASANT, *range(33, 127), *range(256)]
        first = {int(scanner.byte_classes[byte]): byte for byte in reversed(order) if byte in used}
        self._letters = sorted(
            ((byte, each) for each, byte in first.items()), key=lambda pair: order.index(pair[0])
        )
        assertion = np.flatnonzero(scanner.is_assertion).tolist()
        self._answers = {state: self._resolved(state) for state in assertion}
        self.distances = self._measured()
        self._texts: dict[tuple[int, int], bytes] = {}
        self._gaps: dict[tuple[int, int], bytes | None] = {}

    def lengths(self) -> npt.NDArray[np.int64]:
        """Return the length of the shortest lexeme with each label; `FAR` where there is none."""
        lengths: npt.NDArray[np.int64]
        lengths = self.distances[np.unique(self._scanner.starts)].min(axis=0).astype(np.int64)
        return lengths

    def text(self, state: int, terminal_id: int) -> bytes | None:
        """Return the shortest bytes that lead from a scanner state to a match with a label."""
        if self.distances[state, terminal_id] >= FAR:
            return None
        key = (state, terminal_id)
        if key not in self._texts:
            found = bytearray()
            while self.distances[state, terminal_id]:
                byte, state = self._step(state, terminal_id)
                found.append(byte)
            self._texts[key] = bytes(found)
        return self._texts[key]

    def gap(self, start: int, before: int) -> bytes | None:
        """Return the shortest text that the lexer drops, and that does not go on a lexeme.

        Parameters
        ----------
        start : int
            The state in which the next lexeme starts.
        before : int
            The state in which the scanner is in the lexeme before.
        """
        key = (start, before)
        if key not in self._gaps:
            transitions, dropped = self._scanner.transitions, self._scanner.ignored
            ways = [
                (self.distances[transitions[start, each], dropped], byte, transitions[start, each])
                for byte, each in self._letters
                if transitions[before, each] == DEAD
            ]
            length, byte, target = min(ways, key=lambda way: way[0], default=(FAR, 0, DEAD))
            rest = self.text(int(target), dropped) if length < FAR else None
            self._gaps[key] = None if rest is None else bytes([byte]) + rest
        return self._gaps[key]

    def _step(self, state: int, terminal_id: int) -> tuple[int, int]:
        """Return a byte that leads nearer to a label, and where it leads."""
        wanted = self.distances[state, terminal_id] - 1
        for here in self._answers.get(state, (state,)):
            for byte, byte_class in self._letters:
                target = int(self._scanner.transitions[here, byte_class])
                if self.distances[target, terminal_id] == wanted:
                    return byte, target
        raise AssertionError("every distance comes from a smaller one")

    def _resolved(self, state: int) -> tuple[int, ...]:
        """Return the states that a state may be when what it asks is answered."""
        found, pending = set(), [state]
        seen = {state}
        while pending:
            here = pending.pop()
            if not self._scanner.is_assertion[here]:
                found.add(here)
                continue
            for answer in self._scanner.assertions[here, [IF_HOLDS, IF_FAILS]].tolist():
                if answer != DEAD and answer not in seen:
                    seen.add(answer)
                    pending.append(answer)
        return tuple(sorted(found))

    def _measured(self) -> npt.NDArray[np.int16]:
        scanner = self._scanner
        n_terminal_ids = scanner.ignored + 1
        distances = np.full((scanner.n_states, n_terminal_ids), FAR, dtype=np.int16)
        classes = [byte_class for _, byte_class in self._letters]
        starts = np.unique(scanner.starts).tolist()
        begun = [answer for start in starts for answer in self._resolved(start)]
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
