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
from collections.abc import Callable, Container, Iterable, Iterator
from heapq import heappop, heappush
from itertools import islice
from typing import NamedTuple

import numpy as np

from cfgguide.automata.dfa import DEAD
from cfgguide.base.limits import Budget, check_step
from cfgguide.base.remembered import remembered
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
        more can be opened, and `DROPPED`.
    """

    obligations: Obligations
    node: int
    context: int
    full: int = 0


THE_END = Between(NO_OBLIGATIONS, BOUNDARY, 0)
_MAX_COMPARED = 50  # of more ends that differ only in obligations, none is left out
_CHECKED = 16  # the step is looked at whenever so many places more or less are left
_SLICE = 16  # places that are looked at before a caller may look elsewhere
End = tuple[int, Between]  # the terminal id of a lexeme, and the place after it


class Wanted(NamedTuple):
    """Terminals that are asked about.

    Attributes
    ----------
    terminal_ids : frozenset of int
        The terminals.
    ahead : callable
        Returns the terminals of lexemes that a scanner state may come to.
    """

    terminal_ids: frozenset[int]
    ahead: Callable[[int], frozenset[int]]

    def may_come_from(self, scanner_state: int) -> bool:
        """Return whether a lexeme of one may come from a scanner state."""
        return not self.terminal_ids.isdisjoint(self.ahead(scanner_state))


_Question = tuple[int, Between, Wanted | None]
_Begun = tuple[list[End], Iterator[End | None]]  # what was found, and what goes on looking


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
        self._begun: dict[_Question, _Begun] = {}

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
            ends = {end for end in self.each_end(scanner_state, between) if end is not None}
            self._ends[question] = _least(ends)
        return self._ends[question]

    def each_end(
        self, scanner_state: int, between: Between, wanted: Wanted | None = None
    ) -> Iterator[End | None]:
        """Yield how the lexeme that the scanner is in can end, what is found soonest first.

        Mostly the first end that a caller asks for will do, and names go on with letters of every
        script. None comes now and then, where a caller may look elsewhere first. The search goes on
        where the last caller left it.

        Parameters
        ----------
        scanner_state, between
            As for :meth:`ends`.
        wanted : Wanted, optional
            The terminals that are asked about; by default all.
        """
        question, number = (scanner_state, between, wanted), 0
        while True:
            # What is interrupted here is not put back: half a step of a search is of no use.
            begun: _Begun = ([], self._search(*question))
            found, search = self._begun.pop(question, begun)
            new = list(islice(search, 1)) if number == len(found) else []
            found.extend(end for end in new if end is not None)
            self._begun[question] = found, search
            if number < len(found):
                yield found[number]
                number += 1
            elif new:
                yield None
            else:
                return

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
            check_step()
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

    def _search(
        self, scanner_state: int, between: Between, wanted: Wanted | None
    ) -> Iterator[End | None]:
        """Yield each end once, looking at the places with the fewest obligations first.

        None comes after some places.

        A place with more obligations than another one in the same state is not looked at: whatever
        it leads to, the other one leads to with fewer.
        """
        ends: set[End] = set()
        least: defaultdict[tuple[int, int, int], list[frozenset[int]]] = defaultdict(list)
        reached, n_looked_at = {(scanner_state, between)}, 0
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
            n_looked_at += 1
            if not n_looked_at % _SLICE:
                yield None
            new = self._ends.get((state, place), ())
            is_known = (state, place) in self._ends
            if not is_known and self._match[state] != NO_MATCH:
                obligations = self._lookahead.ending(state, place.obligations)
                if self._lookahead.can_be_followed(obligations):
                    new = ((self._match[state], place._replace(obligations=obligations)),)
            new = tuple(end for end in new if wanted is None or end[0] in wanted.terminal_ids)
            yield from (end for end in new if end not in ends)
            ends.update(new)
            if is_known:
                continue
            for following in self._moves(state, place):
                is_wanted = wanted is None or wanted.may_come_from(following[0])
                if is_wanted and following not in reached:
                    reached.add(following)
                    n_owed = len(following[1].obligations)
                    heappush(pending, (n_owed, len(reached), *following))

    @remembered
    def _moves(self, state: int, place: Between) -> tuple[tuple[int, Between], ...]:
        """Return where one more byte leads, if no obligation turns out false."""
        self._n_kept += 1 + len(place.obligations)
        self._budget.check("max_pairs", self._n_kept, "deciding what can follow")
        return tuple(self._found_moves(state, place))

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
                if self._lookahead.can_come_true(obligations):
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
