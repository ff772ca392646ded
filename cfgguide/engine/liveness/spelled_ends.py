"""Where a lexeme can end, under all obligations about the text around it.

In: the union FSMs and the vocabulary's spelling automaton. Out: for a scanner state, the ways in
which the lexeme that the scanner is in can end: its terminal, and the place after it.

A lexeme ends at a match only if the scanner, reading on, dies before it matches again. So an end
leaves an obligation: the bytes that follow keep that scanner state from matching, while the next
lexemes are already being read (:mod:`cfgguide.engine.lexer.lookahead`). Several obligations can run
at once; each is resolved by the bytes that follow, or when the text ends. ::

    NUMBER = [0-9]+   after "12": ends(NUMBER), if from inside a number nothing more matches:
                      no digit follows
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Container, Iterable, Iterator
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from cfgguide.automata.dfa import DEAD
from cfgguide.base.limits import Budget, check_step
from cfgguide.engine.lexer.lookahead import NO_OBLIGATIONS, Obligations
from cfgguide.engine.lexer.scanner import NO_MATCH
from cfgguide.engine.machine.recognizer import Recognizer
from cfgguide.engine.vocabulary.spelling import BOUNDARY, Spelling


class Between(NamedTuple):
    """A place between two lexemes.

    Attributes
    ----------
    obligations : tuple of int
        What must come true of the text to come.
    node : int
        Node of the spelling automaton: the place inside a token.
    context : int
        What the text so far means to look-behind at the start of a lexeme.
    full : int
        The sum of `BLOCKS` and `BRACKETS` of :mod:`cfgguide.grammar.lr.indentation` of which no
        more can be opened.
    """

    obligations: Obligations
    node: int
    context: int
    full: int = 0


THE_END = Between(NO_OBLIGATIONS, BOUNDARY, 0)
_MAX_COMPARED = 50  # of more ends that differ only in obligations, none is left out
_CHECKED = 16  # the step is looked at whenever so many places more or less are left
End = tuple[int, Between]  # the terminal id of a lexeme, and the place after it


class SpelledEnds:
    """Tells where a lexeme can end, and remembers each answer."""

    def __init__(self, recognizer: Recognizer, spelling: Spelling, budget: Budget) -> None:
        self._budget = budget
        self._n_kept = 0  # places and obligations in the memory below
        self._scanner = recognizer.scanner
        self._lookahead = recognizer.lookahead
        self._contexts = recognizer.scanner.contexts
        self._transitions = recognizer.scanner.transitions
        self._match: list[int] = recognizer.scanner.match.tolist()
        classes: list[int] = self._scanner.byte_classes.tolist()
        self._steps = spelling.steps
        self._byte_class_of = classes
        self._letters = [
            sorted({(classes[byte], node) for byte, node in steps}) for steps in spelling.steps
        ]
        # Mostly each byte is a token: there is one place in a token, between two.
        self._only_letters = [byte_class for byte_class, _ in self._letters[BOUNDARY]]
        self._ends: dict[tuple[int, Between], tuple[End, ...]] = {}
        self._known_moves: dict[tuple[int, Between], tuple[tuple[int, Between], ...]] = {}

    def next_ends(self, terminal_set: int, between: Between) -> Iterator[End]:
        """Yield how the next lexeme can end, where one of a terminal set starts."""
        for state, place in self.begins(terminal_set, between):
            yield from self.ends(state, place)

    def ends(self, scanner_state: int, between: Between) -> tuple[End, ...]:
        """Return how the lexeme that the scanner is in can end.

        Parameters
        ----------
        scanner_state : int
            Where the scanner is; if it matches here, the lexeme may end at once.
        between : Between
            The obligations from before, and the place in a token.

        Returns
        -------
        tuple of (int, Between)
            Terminal ids, and the place afterwards. An end with more obligations than another of
            the same terminal and place is left out: whatever may follow it may follow the other.
        """
        question = (scanner_state, between)
        if question not in self._ends:
            self._ends[question] = _least(self._search(scanner_state, between))
        return self._ends[question]

    def terminal_ids(self) -> set[int]:
        """Return the terminal ids of lexemes that can be spelled from some place in a token."""
        terminal_ids: set[int] = set()
        visited = {
            (state, node)
            for start in np.unique(self._scanner.starts).tolist()
            for state, _ in self._lookahead.resolved(start, NO_OBLIGATIONS)
            for node in range(len(self._letters))
        }
        pending = list(visited)
        while pending:
            state, node = pending.pop()
            terminal_ids.add(self._match[state])
            for following, place in self._moves(state, Between(NO_OBLIGATIONS, node, 0)):
                if (following, place.node) not in visited:
                    visited.add((following, place.node))
                    pending.append((following, place.node))
        return terminal_ids - {NO_MATCH}

    def text(
        self, begins: Iterable[tuple[int, Between]], terminal_ids: Container[int], after: Between
    ) -> bytes:
        """Return the shortest bytes with which a lexeme ends in a given way.

        Parameters
        ----------
        begins : iterable of (int, Between)
            Scanner states, with the obligations from before and the place in a token.
        terminal_ids : container of int
            What the lexeme may be.
        after : Between
            The place after it, one of those that :meth:`ends` tells.
        """
        reached: dict[tuple[int, Between], tuple[tuple[int, Between], int] | None]
        reached = dict.fromkeys(begins)
        pending = deque(reached)
        while pending:
            here = state, place = pending.popleft()
            if self._match[state] in terminal_ids:
                owed = self._lookahead.ending(state, place.obligations)
                if place._replace(obligations=owed, full=after.full) == after:
                    return self._bytes_to(here, reached)
            for byte, node in self._steps[place.node]:
                letter = self._byte_class_of[byte]
                context = int(self._contexts[place.context, letter])
                for target, owed in self._lookahead.step(state, place.obligations, letter):
                    there = target, Between(owed, node, context, place.full)
                    if there not in reached:
                        reached[there] = here, byte
                        pending.append(there)
        raise AssertionError("the lexeme was found to end so")

    @staticmethod
    def _bytes_to(
        here: tuple[int, Between],
        reached: dict[tuple[int, Between], tuple[tuple[int, Between], int] | None],
    ) -> bytes:
        text = bytearray()
        while (step := reached[here]) is not None:
            here, byte = step
            text.append(byte)
        return bytes(reversed(text))

    def begins(self, terminal_set: int, between: Between) -> Iterator[tuple[int, Between]]:
        """Yield the scanner states in which a lexeme of a terminal set starts, with its place."""
        start = int(self._scanner.starts[terminal_set, between.context])
        for state, obligations in self._lookahead.resolved(start, between.obligations):
            yield state, between._replace(obligations=obligations)

    def _search(self, scanner_state: int, between: Between) -> set[End]:
        """Look at all places in the lexeme, those with the fewest obligations first.

        A place with more obligations than another one in the same state is not looked at: whatever
        it leads to, the other one leads to with fewer.
        """
        ends: set[End] = set()
        least: defaultdict[tuple[int, int, int], list[frozenset[int]]] = defaultdict(list)
        reached = {(scanner_state, between)}
        pending = [(len(between.obligations), 0, scanner_state, between)]
        while pending:
            if not len(pending) % _CHECKED:
                check_step()
            _, _, state, place = heappop(pending)
            owed = frozenset(place.obligations)
            fewer = least[state, place.node, place.context]
            if any(other <= owed for other in fewer):
                continue
            fewer.append(owed)
            if (state, place) in self._ends:
                ends.update(self._ends[state, place])
                continue
            if self._match[state] != NO_MATCH:
                obligations = self._lookahead.ending(state, place.obligations)
                ends.add((self._match[state], place._replace(obligations=obligations)))
            for following in self._moves(state, place):
                if following not in reached:
                    reached.add(following)
                    n_owed = len(following[1].obligations)
                    heappush(pending, (n_owed, len(reached), *following))
        return ends

    def _moves(self, state: int, place: Between) -> tuple[tuple[int, Between], ...]:
        """Return where one more byte leads, if no obligation turns out false."""
        key = (state, place)
        if key not in self._known_moves:
            self._n_kept += 1 + len(place.obligations)
            self._budget.check("max_pairs", self._n_kept, "deciding what can follow")
            self._known_moves[key] = tuple(self._found_moves(state, place))
        return self._known_moves[key]

    def _found_moves(self, state: int, place: Between) -> dict[tuple[int, Between], None]:
        row, contexts = self._transitions[state].tolist(), self._contexts[place.context].tolist()
        moves: dict[tuple[int, Between], None] = {}
        known: set[tuple[int, int, int]] = set()  # nothing owed, many letters lead to the same
        for byte_class, node in (
            self._different(state, place) if place.obligations else self._letters[place.node]
        ):
            target, context = row[byte_class], contexts[byte_class]
            if target == DEAD:
                continue
            if not place.obligations:
                if (target, node, context) in known:
                    continue
                known.add((target, node, context))
            for following, obligations in self._lookahead.step(
                state, place.obligations, byte_class
            ):
                moves[following, Between(obligations, node, context, place.full)] = None
        return moves

    def _different(self, state: int, place: Between) -> Iterable[tuple[int, int]]:
        """Return one letter for each way in which a letter can act: many act alike here."""
        acts = self._lookahead.acts(state, place.obligations, place.context)
        letters = self._letters[place.node]
        if len(self._letters) == 1:
            _, firsts = np.unique(acts[self._only_letters], return_index=True)
            return [letters[first] for first in firsts.tolist()]
        numbers = acts.tolist()
        kinds = [(numbers[byte_class], node) for byte_class, node in letters]
        return dict(zip(kinds, letters, strict=True)).values()


def _least(ends: set[End]) -> tuple[End, ...]:
    """Return the ends with the fewest obligations, in a fixed order."""
    alike: defaultdict[tuple[int, int, int, int], dict[Obligations, frozenset[int]]]
    alike = defaultdict(dict)
    for terminal_id, (obligations, *place) in sorted(ends):
        node, context, full = place
        alike[terminal_id, node, context, full][obligations] = frozenset(obligations)
    return tuple(
        (terminal_id, Between(obligations, *place))
        for (terminal_id, *place), owed in alike.items()
        for obligations, mine in owed.items()
        if len(owed) > _MAX_COMPARED or not any(other < mine for other in owed.values())
    )
