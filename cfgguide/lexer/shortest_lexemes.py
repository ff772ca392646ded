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
        self._gaps: dict[tuple[int, int, int], bytes | None] = {}

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

    def gap(self, start: int, before: int, terminal_id: int) -> bytes | None:
        """Return the shortest text of a terminal that does not continue the lexeme before it.

        Parameters
        ----------
        start : int
            The state in which the next lexeme starts.
        before : int
            The scanner state at the end of the lexeme before.
        terminal_id : int
            A terminal that is dropped, such as white space.
        """
        key = (start, before, terminal_id)
        if key not in self._gaps:
            transitions = self._scanner.transitions
            ways = [
                (self.distances[target, terminal_id], byte, target)
                for here in self._answers.get(start, (start,))
                for byte, letter in self._letters
                if transitions[before, letter] == DEAD
                and (target := int(transitions[here, letter])) != DEAD
            ]
            length, byte, target = min(ways, key=lambda way: way[0], default=(FAR, 0, DEAD))
            rest = self.text(target, terminal_id) if length < FAR else None
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
        leading = _Sources(scanner.transitions[:, classes])
        width = max(map(len, self._answers.values()), default=0)
        answers = np.full((scanner.n_states, width), DEAD, dtype=np.int32)
        for state, possible in self._answers.items():
            answers[state, : len(possible)] = possible
        asking = _Sources(answers)
        # Breadth first, backwards from the matches, for all terminals at once.
        flat = distances.reshape(-1)
        here, distance = np.flatnonzero(flat == 0), 0
        while len(here):
            for sources in (asking, leading):
                before = sources.of(here, n_terminal_ids)
                before = np.unique(before[flat[before] == FAR])
                if sources is asking:
                    flat[before] = distance
                    here = np.concatenate([here, before])
            distance += 1
            here = before
            flat[here] = distance
        return distances


class _Sources:
    """The states that lead to each state.

    Parameters
    ----------
    targets : int32, shape (n_states, any)
        Where each state leads.

    Attributes
    ----------
    offsets : int64, shape (n_states + 1,)
        Where the states that lead to each state start in `states`.
    states : int64, shape (n_pairs,)
        The states that lead there.
    """

    def __init__(self, targets: npt.NDArray[np.int32]) -> None:
        targets = np.sort(targets, axis=1)
        is_new = targets != DEAD
        is_new[:, 1:] &= targets[:, 1:] != targets[:, :-1]
        sources = np.repeat(np.arange(len(targets)), is_new.sum(axis=1))
        flat = targets[is_new]
        order = np.argsort(flat, kind="stable")
        self.states = sources[order]
        self.offsets = np.searchsorted(flat[order], np.arange(len(targets) + 1))

    def of(self, pairs: npt.NDArray[np.int64], n_terminal_ids: int) -> npt.NDArray[np.int64]:
        """Return the pairs that lead to others, each a state times `n_terminal_ids`, plus an id."""
        states, terminal_ids = np.divmod(pairs, n_terminal_ids)
        counts = self.offsets[states + 1] - self.offsets[states]
        ends = np.cumsum(counts)
        places = np.arange(counts.sum()) + np.repeat(self.offsets[states] - ends + counts, counts)
        before: npt.NDArray[np.int64]
        before = self.states[places] * n_terminal_ids + np.repeat(terminal_ids, counts)
        return before
