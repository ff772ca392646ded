"""Where a lexeme can end, under everything that the text around it demands.

In: the union FSMs and the vocabulary's spelling automaton. Out: for a scanner state, the ways in
which the lexeme that the scanner is in can end: its label, and what is then owed.

A lexeme ends at a match only if the scanner, reading on, dies before it matches again. So whoever
claims that it ended there owes that the following bytes keep that scanner state from matching
(*avoid*), while the next lexemes are already being read. Several such debts can run at once; each
is paid when its state dies, or when the text ends. ::

    NUMBER = [0-9]+   after "12": ends(NUMBER) with avoid {in a number}: no digit may follow

A debt is kept as a block of :class:`~cfgguide.scanner.Scanner`: states that match alike in future
owe the same.
"""

from __future__ import annotations

from typing import NamedTuple

from cfgguide.configuration import Recognizer
from cfgguide.fsm import DEAD
from cfgguide.scanner import NO_MATCH
from cfgguide.spelling import BOUNDARY, Spelling


class Between(NamedTuple):
    """A place between two lexemes.

    Attributes
    ----------
    avoid : frozenset of int
        Scanner blocks that must die before they match.
    node : int
        Node of the spelling automaton: the place inside a token.
    """

    avoid: frozenset[int]
    node: int


UNCONSTRAINED = Between(frozenset(), BOUNDARY)
End = tuple[int, Between]  # the label of a lexeme, and the place after it


class Lexemes:
    """Answers, once for each question, where a lexeme can end."""

    def __init__(self, recognizer: Recognizer, spelling: Spelling) -> None:
        self._scanner = recognizer.scanner
        classes: list[int] = self._scanner.byte_classes.tolist()
        self._letters = [
            sorted({(classes[byte], node) for byte, node in steps}) for steps in spelling.steps
        ]
        self._ends: dict[tuple[int, Between], tuple[End, ...]] = {}

    def ends(self, scanner_state: int, between: Between) -> tuple[End, ...]:
        """Return how the lexeme that the scanner is in can end.

        Parameters
        ----------
        scanner_state : int
            Where the scanner is; if it matches here, the lexeme may end at once.
        between : Between
            What is owed from before, and the place in a token.

        Returns
        -------
        tuple of (int, Between)
            Labels, and what is owed afterwards. An end that owes more than another of the same
            label and node is left out: whatever may follow it may follow the other.
        """
        question = (scanner_state, between)
        if question not in self._ends:
            self._ends[question] = _least(self._search(scanner_state, between))
        return self._ends[question]

    def labels(self, scanner_state: int) -> set[int]:
        """Return the labels of all lexemes that can be spelled, from any place in a token."""
        labels: set[int] = set()
        pending = [(scanner_state, node) for node in range(len(self._letters))]
        visited = set(pending)
        while pending:
            state, node = pending.pop()
            labels.add(int(self._scanner.match[state]))
            for following, place in self._moves(state, Between(frozenset(), node)):
                if (following, place.node) not in visited:
                    visited.add((following, place.node))
                    pending.append((following, place.node))
        return labels - {NO_MATCH}

    def goes_on(self, scanner_state: int, between: Between) -> set[End]:
        """Return how the lexeme can end after at least one more byte."""
        return {
            end
            for state, place in self._moves(scanner_state, between)
            for end in self.ends(state, place)
        }

    def _search(self, scanner_state: int, between: Between) -> set[End]:
        ends: set[End] = set()
        visited = {(scanner_state, between)}
        pending = [(scanner_state, between)]
        while pending:
            state, place = pending.pop()
            label = int(self._scanner.match[state])
            if label != NO_MATCH:
                ends.add((label, Between(self._owed(state, place.avoid), place.node)))
            for following in self._moves(state, place):
                if following not in visited:
                    visited.add(following)
                    pending.append(following)
        return ends

    def _moves(self, state: int, place: Between) -> list[tuple[int, Between]]:
        """Return where one more byte leads, if it breaks no debt."""
        moves = []
        for byte_class, node in self._letters[place.node]:
            target = int(self._scanner.transitions[state, byte_class])
            if target == DEAD:
                continue
            avoid = self._avoided(place.avoid, byte_class)
            if avoid is not None:
                moves.append((target, Between(avoid, node)))
        return moves

    def _avoided(self, avoid: frozenset[int], byte_class: int) -> frozenset[int] | None:
        """Return the debts after one more byte, or None if one of them matches."""
        if not avoid:
            return avoid
        remaining = set()
        for block in avoid:
            state = self._scanner.representatives[block]
            target = int(self._scanner.transitions[state, byte_class])
            if self._scanner.match[target] != NO_MATCH:
                return None
            if target != DEAD:
                remaining.add(int(self._scanner.blocks[target]))
        return frozenset(remaining)

    def _owed(self, state: int, avoid: frozenset[int]) -> frozenset[int]:
        block = int(self._scanner.blocks[state])
        return avoid | {block} if block else avoid


def _least(ends: set[End]) -> tuple[End, ...]:
    """Return the ends that owe least, in a fixed order."""
    ordered = sorted(ends, key=lambda end: (end[0], end[1].node, sorted(end[1].avoid)))
    return tuple(
        (label, between)
        for label, between in ordered
        if not any(
            label == other_label and between.node == other.node and other.avoid < between.avoid
            for other_label, other in ordered
        )
    )
