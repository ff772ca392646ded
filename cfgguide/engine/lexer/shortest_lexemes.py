"""Shortest texts of lexemes, from any state of the scanner.

In: a :class:`~cfgguide.engine.lexer.scanner.Scanner` and the bytes that tokens hold. Out: a
:class:`LexemeTexts`: how many bytes lead from a scanner state to a match of a terminal, and such
bytes. ::

    inside a string `"ab`      to STRING  1 byte, `"`
    after `t` in JSON          to TRUE    3 bytes, `rue`

Two things can end a lexeme: another one that follows it, or the end of the text. Another one can
follow only if some byte that begins lexemes does not lead on. In SQL ``/*x`` is a comment if the
text ends there; else it takes all that follows up to ``*/``. So there are two distances::

    /* in SQL              followed  3 bytes, `x*/`      last  1 byte, `x`
    [a-z]+, nothing else   followed  never               last  1 byte

Of bytes that do equally well, the one that reads best is taken. The distances take both answers of
an assertion state as possible; a text is one that look-ahead allows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cfgguide.automata.dfa import DEAD
from cfgguide.automata.partition import distinct_rows
from cfgguide.base.archive import Arrays
from cfgguide.base.limits import check_step
from cfgguide.base.remembered import remembered, remembered_up_to
from cfgguide.engine.lexer.lookahead import NO_OBLIGATIONS, Lookahead, Obligations
from cfgguide.engine.lexer.scanner import NO_MATCH, Scanner

FAR = 30_000  # in `distances`: never
_PLEASANT = b"x0 \n"  # the bytes that come first
_MAX_KNOWN = 50_000  # texts that are remembered
_MAX_SEARCHED = 2_000  # beginnings of one text, where look-ahead forbids the straight way


class Distances(NamedTuple):
    """How far each scanner state is from a match of each terminal.

    Attributes
    ----------
    rows : int16, shape (n_rows, n_terminals + 1)
        Fewest bytes, ignored lexemes being the last; `FAR` where there is no match.
    row_of_state : int32, shape (n_scanner_states,)
        Most states are as far from everything as others.
    """

    rows: npt.NDArray[np.int16]
    row_of_state: npt.NDArray[np.int32]

    def of(self, states: int | npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int16]:
        """Return the distances of a state, or of each of some."""
        return np.asarray(self.rows[self.row_of_state[states]])

    def to(self, state: int, terminal_id: int) -> int:
        """Return the distance of a state from a match of a terminal."""
        return int(self.rows[self.row_of_state[state], terminal_id])


class LexemeTexts:
    """Shortest texts of lexemes.

    Parameters
    ----------
    scanner : Scanner
        The union FSMs.
    lookahead : Lookahead
        Of that scanner.
    used : frozenset of int
        The bytes that texts may hold.
    stored : dict of str to array, optional
        What :meth:`packed` returned of the same scanner, and bytes of the same classes.

    Attributes
    ----------
    distances : Distances
        Fewest bytes to a match of each terminal.
    followed : Distances
        Fewest bytes to a match after which another lexeme can follow.
    """

    def __init__(
        self,
        scanner: Scanner,
        lookahead: Lookahead,
        used: frozenset[int],
        stored: Arrays | None = None,
    ) -> None:
        self._scanner = scanner
        self._stored = stored
        self._lookahead = lookahead
        order = [*_PLEASANT, *range(33, 127), *range(256)]
        first = {int(scanner.byte_classes[byte]): byte for byte in reversed(order) if byte in used}
        self._letters = sorted(
            ((byte, letter) for letter, byte in first.items()),
            key=lambda pair: order.index(pair[0]),
        )
        self._classes = np.array([letter for _, letter in self._letters], dtype=np.intp)
        self.distances = self._distances(0, lambda is_match: is_match)
        self.followed = self._distances(1, self._followed_matches)

    def text(
        self,
        state: int,
        terminal_id: int,
        *,
        obligations: Obligations = NO_OBLIGATIONS,
        is_last: bool = False,
    ) -> bytes | None:
        """Return the shortest bytes that lead from a scanner state to a match of a terminal.

        Parameters
        ----------
        state : int
            Where the scanner is.
        terminal_id : int
            The terminal.
        obligations : tuple of int
            What must come true of the bytes.
        is_last : bool
            Whether the text ends there. If not, another lexeme can follow.

        Returns
        -------
        bytes or None
            None if there are none, or none was found among the first `_MAX_SEARCHED`.
        """
        distances = self.distances if is_last else self.followed
        if distances.to(state, terminal_id) >= FAR:
            return None
        return self._text(state, terminal_id, obligations, is_last)

    @remembered_up_to(_MAX_KNOWN)
    def _text(
        self, state: int, terminal_id: int, obligations: Obligations, is_last: bool
    ) -> bytes | None:
        check_step()
        distances = self.distances if is_last else self.followed
        straight, place = self._straight(distances, state, terminal_id), (state, terminal_id)
        # Rather one after which nothing must come, of which the lexer alone knows whether it begins
        # what the parser takes.
        for may_end in (True,) if is_last else (True, False):
            is_possible = self._is_possible(straight, *place, obligations, distances, may_end)
            if is_possible:
                return straight
            found = self._searched(*place, obligations, distances, may_end)
            if found is not None:
                return found
        return None

    def _straight(self, distances: Distances, state: int, terminal_id: int) -> bytes:
        """Return the bytes that distances alone lead along; look-ahead may forbid them."""
        text = bytearray()
        while distances.to(state, terminal_id):
            byte, state = self._step(distances, state, terminal_id)
            text.append(byte)
        return bytes(text)

    def _is_possible(
        self,
        text: bytes,
        state: int,
        terminal_id: int,
        obligations: Obligations,
        distances: Distances,
        may_end: bool,
    ) -> bool:
        """Return whether bytes lead to a match, look-ahead included."""
        if not (self._scanner.is_assertion.any() or obligations):
            return True
        letters = self._scanner.byte_classes[list(text)].tolist()
        possible = self._lookahead.read(state, obligations, letters)
        return any(
            self._is_end(here, owed, terminal_id, distances, may_end) for here, owed in possible
        )

    def _is_end(
        self,
        state: int,
        obligations: Obligations,
        terminal_id: int,
        distances: Distances,
        may_end: bool,
    ) -> bool:
        """Return whether a lexeme of a terminal can end in a state, and if asked the text, too."""
        if self._scanner.match[state] != terminal_id or distances.to(state, terminal_id):
            return False
        after = self._lookahead.ending(state, obligations)
        return self._lookahead.may_end(after) if may_end else self._lookahead.can_be_followed(after)

    def _searched(
        self,
        state: int,
        terminal_id: int,
        obligations: Obligations,
        distances: Distances,
        may_end: bool,
    ) -> bytes | None:
        """Return the shortest bytes that lead to a match, look-ahead included.

        What distances say, which leave look-ahead out, tells where to look first (A*).
        """
        order = count()
        seen = set(self._lookahead.resolved(state, obligations))
        pending = [
            (distances.to(here, terminal_id), len(owed), 0, next(order), b"", here, owed)
            for here, owed in sorted(seen)
        ]
        heapify(pending)
        least: defaultdict[int, list[frozenset[int]]] = defaultdict(list)
        n_searched = 0
        while pending and n_searched < _MAX_SEARCHED:
            check_step()
            *_, text, here, owed = heappop(pending)
            # One that is no shorter and owes more leads nowhere that another one does not.
            if any(fewer.issubset(owed) for fewer in least[here]):
                continue
            least[here].append(frozenset(owed))
            n_searched += 1
            if self._is_end(here, owed, terminal_id, distances, may_end):
                return text
            for byte, letter in self._different(here, owed):
                for after in self._lookahead.step(here, owed, letter):
                    rest = distances.to(after[0], terminal_id)
                    if rest < FAR and after not in seen:
                        seen.add(after)
                        way = len(text) + 1 + rest
                        longer = text + bytes([byte])
                        kind = (way, len(after[1]), rest)  # of as near ones, the longest first
                        heappush(pending, (*kind, next(order), longer, *after))
        return None

    @remembered_up_to(_MAX_KNOWN)
    def _different(self, state: int, obligations: Obligations) -> Iterable[tuple[int, int]]:
        """Return one byte and its class for each way in which a letter can act."""
        acts = self._lookahead.acts(state, obligations)
        letters = [letter for _, letter in self._letters]
        _, firsts = np.unique(acts[letters], return_index=True)
        return tuple(self._letters[first] for first in sorted(firsts.tolist()))

    def texts(
        self, state: int, terminal_id: int, obligations: Obligations = NO_OBLIGATIONS
    ) -> list[bytes]:
        """Return a text that can only be the last, if it is the shortest, and one that need not."""
        followed = self.text(state, terminal_id, obligations=obligations)
        if followed is not None and len(followed) <= self.distances.to(state, terminal_id):
            return [followed]
        last = self.text(state, terminal_id, obligations=obligations, is_last=True)
        is_shorter = followed is None or (last is not None and len(last) < len(followed))
        return [text for text in (last if is_shorter else None, followed) if text is not None]

    def some_text(self, state: int, terminal_id: int) -> bytes | None:
        """Return a text that need not be the last, or else one that can only be; None if none."""
        return next(reversed(self.texts(state, terminal_id)), None)

    def closed(self, state: int, terminal_id: int) -> bytes | None:
        """Return the shortest text that no text goes on from; None if there is none.

        Look-ahead is left out. Of a terminal with several forms it may be another form::

            / in JavaScript    comment  ``//``, up to the end of the line    closed  ``/**/``
        """
        if self._closed.to(state, terminal_id) >= FAR:
            return None
        return self._straight(self._closed, state, terminal_id)

    @cached_property
    def _closed(self) -> Distances:
        """The distances from matches that owe nothing: whatever follows is no part of them."""
        return self._distances(
            2, lambda is_match: is_match & (self._scanner.equivalence_classes == 0)
        )

    def packed(self) -> Arrays:
        """Return the distances as arrays: rows of the three kinds, and the row of each state."""
        every = np.hstack([each.rows for each in (self.distances, self.followed, self._closed)])
        rows, row_of_state = distinct_rows(every)
        kinds = np.ascontiguousarray(rows.reshape(len(rows), 3, -1).swapaxes(0, 1))
        return {"distances": kinds, "row_of_state": row_of_state.astype(np.int32)}

    def _distances(
        self, kind: int, chosen: Callable[[npt.NDArray[np.bool_]], npt.NDArray[np.bool_]]
    ) -> Distances:
        """Return the distances of a kind: those that are stored, or from chosen matches."""
        if self._stored is not None:
            return Distances(self._stored["distances"][kind], self._stored["row_of_state"])
        match = self._scanner.match
        is_match = (match != NO_MATCH) & (match <= self._scanner.ignored)
        return Distances(self._measured(chosen(is_match)), np.arange(len(match), dtype=np.int32))

    @remembered
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
        transitions = self._scanner.transitions
        ways = [
            (self.followed.to(target, terminal_id), byte, target)
            for here in self._scanner.resolved(start)
            for byte, letter in self._letters
            if transitions[before, letter] == DEAD
            and (target := int(transitions[here, letter])) != DEAD
        ]
        length, byte, target = min(ways, key=lambda way: way[0], default=(FAR, 0, DEAD))
        rest = self.text(target, terminal_id) if length < FAR else None
        return None if rest is None else bytes([byte]) + rest

    def _step(self, distances: Distances, state: int, terminal_id: int) -> tuple[int, int]:
        """Return a byte that leads nearer to a terminal, and where it leads."""
        check_step(0)
        to_terminal = distances.rows[:, terminal_id]
        wanted = distances.to(state, terminal_id) - 1
        for here in self._scanner.resolved(state):
            targets = self._scanner.transitions[here][self._classes]
            is_nearer = to_terminal[distances.row_of_state[targets]] == wanted
            place = int(is_nearer.argmax())
            if is_nearer[place]:
                return self._letters[place][0], int(targets[place])
        raise AssertionError("every distance comes from a smaller one")

    def _followed_matches(self, is_match: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return the matches from which some byte that begins a lexeme does not lead on."""
        scanner = self._scanner
        starts = np.unique(scanner.starts).tolist()
        begun = [state for start in starts for state in scanner.resolved(start)]
        begins = (scanner.transitions[begun][:, self._classes] != DEAD).any(axis=0)
        followed: npt.NDArray[np.bool_]
        ends = scanner.transitions[:, self._classes] == DEAD
        followed = is_match & (ends & begins).any(axis=1)
        return followed

    def _measured(self, is_match: npt.NDArray[np.bool_]) -> npt.NDArray[np.int16]:
        """Return the distances from some matches."""
        scanner = self._scanner
        n_terminal_ids = scanner.ignored + 1
        distances = np.full((scanner.n_states, n_terminal_ids), FAR, dtype=np.int16)
        matching = np.flatnonzero(is_match)
        distances[matching, scanner.match[matching]] = 0
        asking, leading = self._sources
        # Breadth first, backwards from the matches, for all terminals at once.
        flat = distances.reshape(-1)
        here, distance = np.flatnonzero(flat == 0), 0
        while len(here):
            check_step(0)
            before = asking.of(here, n_terminal_ids)
            before = np.unique(before[flat[before] == FAR])
            flat[before] = distance
            before = leading.of(np.concatenate([here, before]), n_terminal_ids)
            distance += 1
            here = np.unique(before[flat[before] == FAR])
            flat[here] = distance
        return distances

    @cached_property
    def _sources(self) -> tuple[_Sources, _Sources]:
        """The states that lead to each state: by an answer, and by a byte."""
        scanner = self._scanner
        assertion = np.flatnonzero(scanner.is_assertion).tolist()
        width = max((len(scanner.resolved(state)) for state in assertion), default=0)
        answers = np.full((scanner.n_states, width), DEAD, dtype=np.int32)
        for state in assertion:
            possible = scanner.resolved(state)
            answers[state, : len(possible)] = possible
        return _Sources(answers), _Sources(scanner.transitions[:, self._classes])


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
        is_new = targets != DEAD  # neighbours are mostly equal
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
