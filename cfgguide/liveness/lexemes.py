"""Where a lexeme can end, under everything that the text around it demands.

In: the union FSMs and the vocabulary's spelling automaton. Out: for a scanner state, the ways in
which the lexeme that the scanner is in can end: its label, and the place after it.

A lexeme ends at a match only if the scanner, reading on, dies before it matches again. So whoever
says that it ended there claims that the following bytes keep that scanner state from matching,
while the next lexemes are already being read (:mod:`cfgguide.lexer.lookahead`). Several claims can
run at once; each is settled by the bytes that follow, or when the text ends. ::

    NUMBER = [0-9]+   after "12": ends(NUMBER), claim: in a number, no more match: no digit follows
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from cfgguide.automata.dfa import DEAD
from cfgguide.lexer.lookahead import NO_OBLIGATIONS, Obligations
from cfgguide.lexer.scanner import NO_MATCH
from cfgguide.limits import Budget
from cfgguide.recognizer.recognizer import Recognizer
from cfgguide.vocabulary.spelling import BOUNDARY, Spelling


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
        Whether no more blocks or brackets can be opened: `lines.BLOCKS`, `lines.BRACKETS`.
    """

    obligations: Obligations
    node: int
    context: int
    full: int = 0


THE_END = Between(NO_OBLIGATIONS, BOUNDARY, 0)
_MAX_COMPARED = 50  # claims of which those that are not needed are left out
End = tuple[int, Between]  # the label of a lexeme, and the place after it


class Lexemes:
    """Answers, once for each question, where a lexeme can end."""

    def __init__(self, recognizer: Recognizer, spelling: Spelling, budget: Budget) -> None:
        self._budget = budget
        self._n_kept = 0  # places and claims that the memory below is made of
        self._scanner = recognizer.scanner
        self._ahead = recognizer.ahead
        self._transitions = memoryview(recognizer.scanner.transitions.data)
        self._contexts = memoryview(recognizer.scanner.contexts.data)
        self._match: list[int] = recognizer.scanner.match.tolist()
        classes: list[int] = self._scanner.byte_classes.tolist()
        self._letters = [
            sorted({(classes[byte], node) for byte, node in steps}) for steps in spelling.steps
        ]
        self._ends: dict[tuple[int, Between], tuple[End, ...]] = {}
        self._known_moves: dict[tuple[int, Between], tuple[tuple[int, Between], ...]] = {}

    def next_ends(self, terminal_set: int, between: Between) -> Iterator[End]:
        """Yield how the next lexeme can end, where one of a terminal set starts."""
        start = int(self._scanner.starts[terminal_set, between.context])
        for state, obligations in self._ahead.resolved(start, between.obligations):
            yield from self.ends(state, between._replace(obligations=obligations))

    def ends(self, scanner_state: int, between: Between) -> tuple[End, ...]:
        """Return how the lexeme that the scanner is in can end.

        Parameters
        ----------
        scanner_state : int
            Where the scanner is; if it matches here, the lexeme may end at once.
        between : Between
            What is claimed from before, and the place in a token.

        Returns
        -------
        tuple of (int, Between)
            Labels, and the place afterwards. An end that claims more than another of the same
            label and place is left out: whatever may follow it may follow the other.
        """
        question = (scanner_state, between)
        if question not in self._ends:
            self._ends[question] = _least(self._search(scanner_state, between))
        return self._ends[question]

    def terminal_ids(self) -> set[int]:
        """Return the labels of all lexemes that can be spelled, from any place in a token."""
        terminal_ids: set[int] = set()
        visited = {
            (resolved, node)
            for start in set(self._scanner.starts.reshape(-1).tolist())
            for resolved, _ in self._ahead.resolved(start, NO_OBLIGATIONS)
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

    def goes_on(self, scanner_state: int, between: Between) -> set[End]:
        """Return how the lexeme can end after at least one more byte."""
        return {
            end
            for state, place in self._moves(scanner_state, between)
            for end in self.ends(state, place)
        }

    def next_goes_on(self, terminal_set: int, between: Between) -> set[End]:
        """Return how the next lexeme can end, after at least one byte."""
        start = int(self._scanner.starts[terminal_set, between.context])
        return {
            end
            for state, obligations in self._ahead.resolved(start, between.obligations)
            for end in self.goes_on(state, between._replace(obligations=obligations))
        }

    def _search(self, scanner_state: int, between: Between) -> set[End]:
        ends: set[End] = set()
        visited = {(scanner_state, between)}
        pending = [(scanner_state, between)]
        while pending:
            state, place = pending.pop()
            if self._match[state] != NO_MATCH:
                obligations = self._ahead.ending(state, place.obligations)
                ends.add((self._match[state], place._replace(obligations=obligations)))
            for following in self._moves(state, place):
                if following not in visited:
                    visited.add(following)
                    pending.append(following)
        return ends

    def _moves(self, state: int, place: Between) -> tuple[tuple[int, Between], ...]:
        """Return where one more byte leads, if no claim turns out false."""
        key = (state, place)
        if key not in self._known_moves:
            self._n_kept += 1 + len(place.obligations)
            self._budget.check("max_pairs", self._n_kept, "deciding what can follow")
            self._known_moves[key] = tuple(self._found_moves(state, place))
        return self._known_moves[key]

    def _found_moves(self, state: int, place: Between) -> dict[tuple[int, Between], None]:
        moves: dict[tuple[int, Between], None] = {}
        for byte_class, node in self._letters[place.node]:
            target = self._transitions[state, byte_class]
            if target == DEAD:
                continue
            context = self._contexts[place.context, byte_class]
            for after in self._ahead.after(place.obligations, byte_class):
                for resolved, obligations in self._ahead.resolved(target, after):
                    if not self._ahead.is_hopeless(resolved, obligations):
                        moves[
                            resolved,
                            place._replace(obligations=obligations, node=node, context=context),
                        ] = None
        return moves


def _least(ends: set[End]) -> tuple[End, ...]:
    """Return the ends that claim least, in a fixed order."""
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
