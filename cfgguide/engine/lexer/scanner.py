"""The union FSM of every terminal set: Lark's scanner as one automaton over bytes.

In: the terminals' FSMs and the ordered terminal sets. Out: a :class:`Scanner`, one table with a
start state for each terminal set.

Python's ``re`` tries the alternatives of Lark's scanner in order, and the first that matches wins.
So a union state is the ordered tuple of the terminals' FSM states that are still alive, cut after
the first final one: nothing after it can win any more. What stands before it may still match
later, and would then win. Since a union state does not say which set it came from, sets share all
states except their starts: after ``x`` most sets of a programming language are "inside a name".

A keyword that a name swallows (Lark's ``_create_unless``) is not an alternative of its own. Its FSM
follows the name's as a *rider* and is consulted when the name matches: if it is final too, the
lexeme equals the keyword and is retyped. ::

    set {NAME retyped IF, LPAR}    "i" -> (NAME, if·f)    "if" -> (NAME final, IF final): IF
                                   "x" -> (NAME)          "ifx" -> (NAME final): NAME

A union state is an assertion state (:mod:`cfgguide.automata.dfa`) if a terminal in it is in one; it
takes over the first such assertion, and one answer serves all terminals with the same assertion.
What the text before a lexeme means to the terminals is one context for all of them.

Lark's dynamic lexers ask each terminal by itself, whatever the others match. Then a union state is
the set of all FSM states that are alive, and where some of several match, it is a *fork*: an
assertion state that looks for itself, so that both answers are followed and nothing is owed. One
leads to a state that has matched as one terminal and ends there, the other goes on. ::

    IF "if", NAME /[a-z]+/    "if" -> fork: (IF final), which ends      or (NAME final), as always
    NAME, WORD /[a-z.]+/      "a"  -> fork: NAME ends, or WORD ends, or (NAME, WORD) goes on

What such an end owes is about its own terminal alone: the *dynamic* lexer takes the longest match
of each. The *dynamic_complete* lexer takes every match, and its ends owe nothing; but of ignored
text it too takes the longest match.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cfgguide.automata.dfa import DEAD, IF_FAILS, IF_HOLDS, LOOKED_FOR, N_BYTES
from cfgguide.automata.partition import distinct_columns, refined
from cfgguide.base.limits import Budget
from cfgguide.base.numbered import Numbered
from cfgguide.base.sets import reached_from
from cfgguide.engine.lexer.reachability import reachable
from cfgguide.errors import PatternError

if TYPE_CHECKING:  # Lark takes long to import, and compiled grammars do without it
    from cfgguide.grammar.lark_frontend import CompiledGrammar, TerminalSet

NO_MATCH = -1  # in `match`
COMPLETE = "dynamic_complete"
DYNAMIC = ("dynamic", COMPLETE)  # Lark's lexers that ask each terminal by itself


@dataclass(frozen=True)
class Scanner:
    """The union FSMs of all terminal sets of a grammar.

    Attributes
    ----------
    transitions : int32, shape (n_states, n_byte_classes)
        Next state; 0 = dead.
    byte_classes : int32, shape (256,)
        The class of each byte: bytes of one class act alike in every state.
    match : int32, shape (n_states,)
        The terminal id of the lexeme that would win if the text were cut here; -1 = none. It is a
        terminal's number, or `ignored` for a lexeme that the lexer drops.
    assertions : int32, shape (n_states, 3)
        Of assertion states: the state that is to come to a match, and the states to go on with if
        it will and if it will not; see :class:`~cfgguide.automata.dfa.Fsm`. A fork looks for
        itself: both are gone on with. All 0 for other states.
    starts : int32, shape (n_terminal_sets, n_contexts)
        Start state of each terminal set, by what the text before it means to the terminals.
    contexts : int32, shape (n_contexts, n_byte_classes)
        The context after one more byte of the text. That of the empty text is 0.
    is_start : bool, shape (n_states,)
        Start states and where their assertions lead. No transition leads there.
    ignored : int
        The terminal id of ignored lexemes; it equals the number of terminals.
    can_continue : bool, shape (n_states,)
        Whether any byte leads on.
    equivalence_classes : int32, shape (n_states,)
        States of one class match or fail to match alike on every non-empty continuation, whatever
        the terminal. Class 0 is that of states that never match again. A state that matches has the
        class of what it owes if its lexeme ends there: that none of that may match.
    class_representatives : int32, shape (n_equivalence_classes,)
        One state of each class.
    asks_each : bool
        Whether each terminal is asked by itself, so that a terminal which the parser does not take
        hides no other.
    """

    transitions: npt.NDArray[np.int32]
    byte_classes: npt.NDArray[np.int32]
    match: npt.NDArray[np.int32]
    assertions: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int32]
    contexts: npt.NDArray[np.int32]
    is_start: npt.NDArray[np.bool_]
    ignored: int
    can_continue: npt.NDArray[np.bool_]
    equivalence_classes: npt.NDArray[np.int32]
    class_representatives: npt.NDArray[np.int32]
    asks_each: bool = False

    @property
    def n_states(self) -> int:
        """Number of union states, the dead one included."""
        return len(self.match)

    @cached_property
    def first_letters(self) -> list[int]:
        """The byte classes with which some lexeme begins, of whatever terminal set."""
        starts = np.unique(self.starts).tolist()
        begun = [state for start in starts for state in self.resolved(start)]
        found: list[int] = np.flatnonzero((self.transitions[begun] != DEAD).any(axis=0)).tolist()
        return found

    @cached_property
    def is_assertion(self) -> npt.NDArray[np.bool_]:
        """Whether each state is an assertion state, shape (n_states,)."""
        is_assertion: npt.NDArray[np.bool_] = self.assertions[:, LOOKED_FOR] != DEAD
        return is_assertion

    @cached_property
    def is_fork(self) -> npt.NDArray[np.bool_]:
        """Whether each state is a fork, shape (n_states,)."""
        looked_for = self.assertions[:, LOOKED_FOR]
        is_fork: npt.NDArray[np.bool_] = looked_for == np.arange(self.n_states)
        is_fork[DEAD] = False
        return is_fork

    def unforked(self, state: int) -> list[int]:
        """Return the states that a state leads to if it is a fork; else the state itself."""
        states, found = [state], []
        for here in states:  # grows while it is walked
            if self.is_fork[here]:
                answers = self.assertions[here, [IF_HOLDS, IF_FAILS]].tolist()
                states += [answer for answer in answers if answer != DEAD]
            else:
                found.append(here)
        return found

    @cached_property
    def is_looking(self) -> npt.NDArray[np.bool_]:
        """Whether each state is an assertion state, and no fork; shape (n_states,)."""
        return self.is_assertion & ~self.is_fork

    @cached_property
    def looks_ahead(self) -> bool:
        """Whether any terminal looks at the text after it."""
        return bool(self.is_looking.any())

    @property
    def moves(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Where bytes lead, shape (n_states, n_byte_classes), and answers, shape (n_states, 2)."""
        return self.transitions, self.assertions[:, [IF_HOLDS, IF_FAILS]]

    def resolved(self, state: int) -> tuple[int, ...]:
        """Return the states that a state stands for, whatever holds of the text to come.

        They are ascending, and other than the state itself only for an assertion state: those that
        its answers lead to, except `DEAD`.
        :meth:`~cfgguide.engine.lexer.lookahead.Lookahead.resolved` adds the obligations of each.
        """
        return self._resolved.get(state, (state,))

    @cached_property
    def _resolved(self) -> dict[int, tuple[int, ...]]:
        """The states that each assertion state stands for."""
        assertions = np.flatnonzero(self.is_assertion)
        rows = self.assertions[assertions][:, [IF_HOLDS, IF_FAILS]]
        answers = dict(zip(assertions.tolist(), rows.tolist(), strict=True))
        resolved = {}
        for assertion in answers:
            seen = reached_from([assertion], lambda each: answers.get(each, ()))
            resolved[assertion] = tuple(sorted(seen.keys() - answers.keys() - {DEAD}))
        return resolved

    def terminal_ids_ahead(self, state: int) -> tuple[int, ...]:
        """Return the terminal ids of lexemes that a state matches or may come to, ascending.

        The parser and the text to come may rule some of them out.
        """
        if state not in self._terminal_ids_ahead:
            is_ahead = reachable(self.moves, np.array([state]))
            terminal_ids = np.unique(self.match[is_ahead]).tolist()
            self._terminal_ids_ahead[state] = tuple(
                terminal_id for terminal_id in terminal_ids if terminal_id != NO_MATCH
            )
        return self._terminal_ids_ahead[state]

    def terminal_ids_near(self, states: Iterable[int], most: int) -> set[int]:
        """Return those of some states, as far as the nearest ones tell: about `most` of them."""
        seen = {DEAD, *states}
        order = sorted(seen)[1:]
        for here in order:  # grows while it is walked
            if len(order) >= most:
                break
            following = {*self.transitions[here].tolist(), *self.assertions[here].tolist()[1:]}
            order += sorted(following - seen)
            seen |= following
        return {*self.match[order].tolist()} - {NO_MATCH}

    @cached_property
    def is_matched(self) -> npt.NDArray[np.bool_]:
        """Whether there are lexemes of each terminal, shape (n_terminals,)."""
        counts = np.bincount(self.match - NO_MATCH, minlength=self.ignored + 1)
        return np.array(counts[1 : self.ignored + 1] > 0)

    @cached_property
    def _terminal_ids_ahead(self) -> dict[int, tuple[int, ...]]:
        return {}

    def longest(self, state: int, text: bytes, start: int) -> tuple[int, int]:
        """Return the terminal id and the end of the lexeme that is found in a whole text.

        Parameters
        ----------
        state : int
            The start state.
        text : bytes
            All of the text: it decides assertions. Forks it cannot decide, and there are none.
        start : int
            Where the lexeme starts.

        Returns
        -------
        tuple of (int, int)
            `NO_MATCH` and `start` if there is none.
        """
        terminal_id, end = NO_MATCH, start
        for position in range(start, len(text) + 1):
            while self.assertions[state, LOOKED_FOR] != DEAD:
                looked_for, yes, no = self.assertions[state].tolist()
                state = no if self.longest(looked_for, text, position)[0] == NO_MATCH else yes
            if self.match[state] != NO_MATCH:
                terminal_id, end = int(self.match[state]), position
            if state == DEAD or position == len(text):
                break
            state = int(self.transitions[state, self.byte_classes[text[position]]])
        return terminal_id, end

    def used_bytes(self) -> frozenset[int]:
        """Return the bytes that occur in some lexeme."""
        is_used = (self.transitions != DEAD).any(axis=0)[self.byte_classes]
        return frozenset(np.flatnonzero(is_used).tolist())


def build(grammar: CompiledGrammar, *, budget: Budget | None = None) -> Scanner:
    """Return the scanner of a grammar.

    Raises
    ------
    PatternError
        If a terminal's pattern cannot be turned into an automaton; the message names it.
    LimitError
        If a terminal or the union needs too many states.
    """
    budget = budget or Budget()
    components = _Components(grammar, budget)
    if grammar.lexer == COMPLETE:
        components.check_no_looks()
    contexts = components.contexts()
    union = (_EachTerminal if grammar.lexer in DYNAMIC else _Union)(components, budget)
    starts = [
        [
            union.number(union.kept(start, start), is_start=True)
            for start in components.starts(members, contexts)
        ]
        for members in grammar.terminal_sets
    ]
    union.complete()
    transitions = union.transitions()
    assertions = np.array(union.assertions, dtype=np.int32)
    match = np.array(union.terminal_ids(), dtype=np.int32)
    equivalence_classes = _future_classes(transitions, assertions, match != NO_MATCH)
    if isinstance(union, _EachTerminal):
        ending = np.array(list(union.endings.items()), dtype=np.int32).reshape(-1, 2)
        equivalence_classes[ending[:, 0]] = equivalence_classes[ending[:, 1]]
    if grammar.lexer == COMPLETE:
        owes_nothing = (match != NO_MATCH) & (match != components.ignored)
        equivalence_classes[owes_nothing] = equivalence_classes[DEAD]
        equivalence_classes = np.unique(equivalence_classes, return_inverse=True)[1].astype(
            np.int32
        )
    return Scanner(
        transitions=transitions,
        byte_classes=components.byte_classes,
        match=match,
        assertions=assertions,
        starts=np.array(starts, dtype=np.int32),
        contexts=np.array(list(contexts.values()), dtype=np.int32),
        is_start=np.array([is_start for _, is_start, _ in union.states], dtype=np.bool_),
        ignored=components.ignored,
        can_continue=(transitions != DEAD).any(axis=1),
        equivalence_classes=equivalence_classes,
        class_representatives=np.unique(equivalence_classes, return_index=True)[1].astype(np.int32),
        asks_each=isinstance(union, _EachTerminal),
    )


Rows = tuple[int, ...]  # of the table of components: a union state before it is numbered
_Key = tuple[Rows, bool, int]  # rows, whether no byte is read yet, and the kind of state

_WHOLE = -1  # a kind of state: all that its rows say
_GOING_ON = -2  # its lexeme does not end here
_ENDING = -3  # its lexeme ends here
# Other kinds are forks: how many of the rows have been asked whether the lexeme ends as they say.


class _Union:
    """Numbers the union states.

    Start states are kept apart: "no byte read yet" is not "some bytes read".
    """

    def __init__(self, components: _Components, budget: Budget) -> None:
        self._components = components
        self._budget = budget
        self._numbers = Numbered[_Key](((), False, _WHOLE))
        self.states = self._numbers.order
        self._n_answers = [0]
        # Per state of several rows the first byte class of each run that leads to one state, and
        # that state; one that is a row alone moves as the row does.
        self._runs: dict[int, tuple[list[int], list[int]]] = {}
        self._rows_alone: dict[int, int] = {}
        self._numbers_alone: dict[int, int] = {}
        self.assertions: list[list[int]] = []

    def number(
        self, rows: Rows, *, is_start: bool = False, n_answers: int = 0, kind: int = _WHOLE
    ) -> int:
        """Return the number of a union state, to which so many answers have led."""
        number = self._numbers[rows, is_start, kind]
        if number == len(self._n_answers):
            self._budget.check("max_scanner_states", number, "the union of terminals")
            self._budget.check("max_nesting", n_answers, "the union of terminals")
            self._n_answers.append(n_answers)
        return number

    def complete(self) -> None:
        """Make the rows of all states that were numbered, and of those that they lead to."""
        for state, (rows, is_start, kind) in enumerate(self.states):  # grows while it is walked
            if kind == _WHOLE and len(rows) == 1 and not self._components.has_assertion(rows[0]):
                self._move_alone(state, rows[0])
                continue
            n_answers = self._n_answers[state] + 1
            assertion = self.assertion(rows) if kind == _WHOLE else None
            if assertion is not None:
                looked_for, if_holds, if_fails = assertion
                assertions = [
                    self.number(looked_for),
                    self.number(self.kept(rows, if_holds), is_start=is_start, n_answers=n_answers),
                    self.number(self.kept(rows, if_fails), is_start=is_start, n_answers=n_answers),
                ]
            elif (fork := self.fork(state, n_answers)) is not None:
                assertions = [state, *fork]
            else:
                if kind != _ENDING:
                    self._runs[state] = self._moves(rows)
                assertions = [DEAD] * 3
            self.assertions.append(assertions)

    def _move_alone(self, state: int, row: int) -> None:
        """Go on from a state that is a row alone: a count of 2,000 has as many of them."""
        for target in self._components.targets(row):
            if target not in self._numbers_alone:
                self._numbers_alone[target] = self.number(self.kept((row,), (target,)))
        self._rows_alone[state] = row
        self.assertions.append([DEAD] * 3)

    def _moves(self, rows: Rows) -> tuple[list[int], list[int]]:
        """Return the number of the union state after each run of byte classes."""
        numbers: dict[Rows, int] = {}
        firsts, moves = self._components.moved(rows)
        for moved in moves:
            if moved not in numbers:
                numbers[moved] = self.number(self.kept(rows, moved))
        return firsts, [numbers[moved] for moved in moves]

    def kept(self, rows: Rows, moved: Rows) -> Rows:
        """Return those of the rows that some have moved to that can still decide something."""
        return self._components.cut(rows, moved)

    def assertion(self, rows: Rows) -> tuple[Rows, Rows, Rows] | None:
        """Return the assertion of a state, as :meth:`_Components.assertion` does."""
        return self._components.assertion(rows)

    def fork(self, state: int, n_answers: int) -> tuple[int, int] | None:
        """Return where the answers of a fork lead, None if a state is none."""
        return None

    def terminal_ids(self) -> list[int]:
        """Return for each state the terminal id of what matches there, or `NO_MATCH`."""
        return [self._components.terminal_id(rows) for rows, _, _ in self.states]

    def transitions(self) -> npt.NDArray[np.int32]:
        """Return the number of the state after each byte class, for each state."""
        table = self._components.table
        found = np.full((len(self.states), table.shape[1]), DEAD, dtype=np.int32)
        number_of = np.full(len(table), DEAD, dtype=np.int32)
        number_of[[*self._numbers_alone]] = [*self._numbers_alone.values()]
        found[[*self._rows_alone]] = number_of[table[[*self._rows_alone.values()]]]
        firsts = np.concatenate(
            [
                place * table.shape[1] + np.array(row)
                for place, (row, _) in enumerate(self._runs.values())
            ]
        )
        targets = np.array([*chain.from_iterable(row for _, row in self._runs.values())])
        lengths = np.diff(firsts, append=len(self._runs) * table.shape[1])
        found[[*self._runs]] = np.repeat(targets, lengths).reshape(-1, table.shape[1])
        return found


class _EachTerminal(_Union):
    """Numbers the union states of terminals that are asked each by itself, in no order.

    Attributes
    ----------
    endings : dict of int to int
        For each state in which a lexeme has ended, the one in which its terminal goes on alone.
    """

    def __init__(self, components: _Components, budget: Budget) -> None:
        super().__init__(components, budget)
        self.endings: dict[int, int] = {}

    def kept(self, rows: Rows, moved: Rows) -> Rows:
        return tuple(sorted(row for row in set(moved) if self._components.is_of_use(row)))

    def assertion(self, rows: Rows) -> tuple[Rows, Rows, Rows] | None:
        # What one terminal looks for is nothing to the others.
        return self._components.assertion(rows) if len(rows) == 1 else None

    def fork(self, state: int, n_answers: int) -> tuple[int, int] | None:
        rows, is_start, kind = self.states[state]
        if kind in (_GOING_ON, _ENDING) or len(rows) == 1:
            return None
        asking = next((row for row in rows if self._components.assertion((row,))), None)
        if asking is not None and kind == _WHOLE:
            others = tuple(row for row in rows if row != asking)
            return (
                self.number((asking,), is_start=is_start, n_answers=n_answers),
                self.number(others, is_start=is_start, n_answers=n_answers),
            )
        ids, n_asked = self._components.terminal_ids_of(rows), max(kind, 0)
        matching = [row for row, each in zip(rows, ids, strict=True) if each != NO_MATCH]
        if not matching:
            return None
        going = tuple(row for row in rows if self._components.moves_on(row))
        if len(going) == 1 and going[0] in matching:  # mostly: a name, which is no keyword
            matching.remove(going[0])
            rest = self.number(going, n_answers=n_answers)
        elif going:
            rest = self.number(going, n_answers=n_answers, kind=_GOING_ON)
        else:
            rest = DEAD
        if n_asked + 1 < len(matching):
            rest = self.number(rows, n_answers=n_answers, kind=n_asked + 1)
        return self._ending(matching[n_asked], n_answers), rest

    def _ending(self, row: int, n_answers: int) -> int:
        """Return the number of the state in which a lexeme ends as the terminal of a row."""
        alone = self.number((row,), n_answers=n_answers)  # first: it stands for the class of both
        if not self._components.moves_on(row):
            return alone
        ending = self.number((row,), n_answers=n_answers, kind=_ENDING)
        self.endings[ending] = alone
        return ending

    def terminal_ids(self) -> list[int]:
        return [
            self._components.terminal_ids_of(rows)[0]
            if kind in (_WHOLE, _ENDING) and len(rows) == 1
            else NO_MATCH
            for rows, _, kind in self.states
        ]


def _future_classes(
    transitions: npt.NDArray[np.int32],
    assertions: npt.NDArray[np.int32],
    is_match: npt.NDArray[np.bool_],
) -> npt.NDArray[np.int32]:
    """Return the class of each state: equal if all non-empty continuations match alike."""
    terminal_ids = is_match + 2 * assertions.any(axis=1).astype(np.int64)
    present = refined(np.hstack([transitions, assertions]), terminal_ids)
    futures = distinct_columns(present[transitions].T)[1]
    dead = futures[DEAD]
    swapped = np.where(futures == dead, 0, np.where(futures == 0, dead, futures))
    return swapped.astype(np.int32)


class _Components:
    """The FSMs of all terminals in one table, from which union states are tuples of rows.

    A keyword has rows of its own, and once more under each name that swallows it (a *rider*).
    """

    def __init__(self, grammar: CompiledGrammar, budget: Budget) -> None:
        from cfgguide.engine.lexer.restricted_terminals import (
            terminal_fsms,  # not needed to read one
        )

        number = {name: index for index, name in enumerate(grammar.parse_table.terminals)}
        self.ignored = len(number)
        self._budget = budget
        in_order = self._in_order(grammar.terminal_sets)
        names = dict.fromkeys(name for name, _, _ in in_order)
        self._fsms, is_allowed = terminal_fsms(grammar, names, budget=budget)
        n_rows = sum(self._fsms[pattern].n_states for pattern, _, _ in in_order)
        self._context_fsms = {
            name: fsm for name, fsm in sorted(self._fsms.items()) if len(fsm.starts) > 1
        }
        # Many terminals, such as keywords between word boundaries, have the same contexts.
        machines = {fsm.contexts.tobytes(): fsm.contexts for fsm in self._context_fsms.values()}
        self._context_machines = list(machines.values())
        number_of = {content: number for number, content in enumerate(machines)}
        self._machine_of = [
            number_of[fsm.contexts.tobytes()] for fsm in self._context_fsms.values()
        ]
        apart = np.zeros((1, N_BYTES), dtype=np.int32)
        for place, byte in enumerate(grammar.bytes_apart, start=1):
            apart[0, byte] = place
        classes = [fsm.byte_classes for fsm in self._fsms.values()]
        self.byte_classes = distinct_columns(np.vstack([*classes, *self._context_machines, apart]))[
            1
        ]
        first_bytes = np.unique(self.byte_classes, return_index=True)[1]
        n_columns = len(first_bytes) + 3
        # The parts and the whole, and its edges.
        budget.check_memory(4 * n_rows * n_columns * 4, "the union of terminals")
        self._offsets: dict[tuple[str, str | None, bool], int] = {}
        tables: list[npt.NDArray[np.int32]] = [np.zeros((1, n_columns), dtype=np.int32)]
        terminal_ids: list[int] = [NO_MATCH]
        riders: list[bool] = [False]
        for pattern, host, is_ignored in in_order:
            fsm = self._fsms[pattern]
            offset = len(terminal_ids)
            self._offsets[pattern, host, is_ignored] = offset
            moves = fsm.transitions[:, fsm.byte_classes[first_bytes]]
            table = np.hstack([moves, fsm.assertions])
            tables.append(np.where(table == DEAD, DEAD, table + offset))
            # A terminal that no rule uses has no column in the tables: the parser refuses it.
            terminal_id = self.ignored if is_ignored else number.get(pattern, self.ignored + 1)
            allowed = is_allowed.get(pattern, fsm.is_final)
            found = np.where(allowed, terminal_id, self.ignored + 1)
            terminal_ids.extend(np.where(fsm.is_final, found, NO_MATCH).tolist())
            riders.extend([host is not None] * fsm.n_states)
        table = np.concatenate(tables)
        self.table = table[:, :-3]
        is_first = np.ones(self.table.shape, dtype=np.bool_)
        is_first[:, 1:] = self.table[:, 1:] != self.table[:, :-1]
        self._firsts = np.nonzero(is_first)[1]
        self._targets = self.table[is_first]
        self._ends = np.append(0, np.cumsum(is_first.sum(axis=1))).tolist()
        self._moves_on: list[bool] = (self.table != DEAD).any(axis=1).tolist()
        self._terminal_ids = terminal_ids
        self._is_rider = riders
        self._assertions: list[list[int]] = self._shared_assertions(table[:, -3:]).tolist()
        self._has_assertions = [any(row) for row in self._assertions]

    def _shared_assertions(self, assertions: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Return the assertions, equal ones with one state that is to come to a match."""
        if not assertions.any():
            return assertions
        terminal_ids = np.array(self._terminal_ids) != NO_MATCH
        equivalence_classes = refined(
            np.hstack([self.table, assertions]),
            terminal_ids + 2 * assertions.any(axis=1).astype(np.int64),
        )
        first = np.unique(equivalence_classes, return_index=True)[1][equivalence_classes]
        shared = assertions.copy()
        shared[:, LOOKED_FOR] = first[assertions[:, LOOKED_FOR]]
        return shared

    def check_no_looks(self) -> None:
        """Refuse terminals that look around: Lark cuts the text where it asks for short matches.

        Raises
        ------
        PatternError
            If there is one.
        """
        for name, fsm in sorted(self._fsms.items()):
            if fsm.assertions.any() or len(fsm.starts) > 1:
                raise PatternError(
                    f"the terminal {name} looks at the text around it, which Lark's lexer "
                    "'dynamic_complete' cuts off for some of its matches; use lexer='dynamic', or "
                    "leave out look-around, \\b, ^ and $"
                )

    @staticmethod
    def _in_order(sets: Sequence[TerminalSet]) -> dict[tuple[str, str | None, bool], None]:
        """Return (pattern, name that swallows it, is ignored), each once."""
        wanted: dict[tuple[str, str | None, bool], None] = {}
        for member in (member for members in sets for member in members):
            wanted[member.terminal, None, member.is_ignored] = None
            for keyword in member.retyped:
                wanted[keyword, member.terminal, member.is_ignored] = None
        return wanted

    def contexts(self) -> dict[Rows, list[int]]:
        """Return the contexts, each as that of every machine of contexts, and moves.

        The machines run side by side; what a text can lead to is numbered in the order of the
        dictionary.
        """
        first = np.unique(self.byte_classes, return_index=True)[1].tolist()
        machines = [machine[:, first].tolist() for machine in self._context_machines]
        found: dict[Rows, list[int]] = {}
        numbers = Numbered[Rows](tuple(0 for _ in machines))
        for context in numbers.order:  # grows while it is walked
            self._budget.check("max_scanner_states", len(found), "the contexts")
            rows = [machine[mine] for machine, mine in zip(machines, context, strict=True)]
            following = zip(*rows, strict=True) if rows else [()] * len(first)
            found[context] = [numbers[after] for after in following]
        return found

    def starts(self, members: TerminalSet, contexts: Iterable[Rows]) -> list[Rows]:
        """Return, for each context, the union state before the first byte of a lexeme."""
        known: dict[Rows, Rows] = {}
        found = []
        for context in contexts:
            # Many contexts, such as those inside a character, start the terminals alike.
            states = tuple(
                int(fsm.starts[context[machine]])
                for fsm, machine in zip(self._context_fsms.values(), self._machine_of, strict=True)
            )
            if states not in known:
                known[states] = self._start(
                    members, dict(zip(self._context_fsms, states, strict=True))
                )
            found.append(known[states])
        return found

    def _start(self, members: TerminalSet, states: dict[str, int]) -> Rows:
        rows = []
        for member in members:
            hosts = [(member.terminal, None), *((name, member.terminal) for name in member.retyped)]
            for pattern, host in hosts:
                state = states.get(pattern, int(self._fsms[pattern].starts[0]))
                offset = self._offsets[pattern, host, member.is_ignored]
                rows.append(offset + state if state != DEAD else DEAD)
        return tuple(rows)

    def assertion(self, rows: Rows) -> tuple[Rows, Rows, Rows] | None:
        """Return the assertion of a union state, None if it has none.

        It is the state that is to come to a match, and those to go on with if it does and if not;
        the latter have dead rows, and those that can decide nothing.
        """
        first = next((row for row in rows if self._has_assertions[row]), None)
        if first is None:
            return None
        looked_for = self._assertions[first][LOOKED_FOR]

        def answered(answer: int) -> Rows:
            return tuple(
                self._assertions[row][answer]
                if self._assertions[row][LOOKED_FOR] == looked_for
                else row
                for row in rows
            )

        return (looked_for,), answered(IF_HOLDS), answered(IF_FAILS)

    def moved(self, rows: Rows) -> tuple[list[int], list[Rows]]:
        """Return the rows that these move to, dead ones too, by byte classes.

        Neighbouring byte classes mostly lead to the same rows: only the first of each run counts.
        """
        runs = [self._firsts[self._ends[row] : self._ends[row + 1]].tolist() for row in rows]
        firsts = sorted({0}.union(*runs))
        tables = self.table[list(rows)][:, firsts]
        return firsts, list(zip(*tables.tolist(), strict=True)) if rows else [()]

    def targets(self, row: int) -> list[int]:
        """Return the rows that one moves to, in the order of byte classes."""
        found: list[int] = self._targets[self._ends[row] : self._ends[row + 1]].tolist()
        return found

    def has_assertion(self, row: int) -> bool:
        """Return whether a row asks for something before its lexeme goes on."""
        return self._has_assertions[row]

    def cut(self, rows: Sequence[int], moved: Sequence[int]) -> Rows:
        """Drop dead rows, riders of dead names, and whatever stands after the first match."""
        kept: list[int] = []
        is_host_alive = False
        is_matched = False
        for row, target in zip(rows, moved, strict=True):
            if self._is_rider[row]:
                if is_host_alive and target:
                    kept.append(target)
                continue
            if is_matched:
                break
            is_host_alive = target != DEAD
            if is_host_alive:
                kept.append(target)
                is_matched = self._terminal_ids[target] != NO_MATCH
        return tuple(kept)

    def terminal_ids_of(self, rows: Rows) -> list[int]:
        """Return the terminal id that each row matches, or `NO_MATCH`."""
        return [self._terminal_ids[row] for row in rows]

    def is_of_use(self, row: int) -> bool:
        """Return whether a row matches or leads on."""
        return (
            self._moves_on[row] or self._has_assertions[row] or self._terminal_ids[row] != NO_MATCH
        )

    def moves_on(self, row: int) -> bool:
        """Return whether any byte leads on from a row."""
        return self._moves_on[row]

    def terminal_id(self, rows: Rows) -> int:
        """Return the terminal id that wins in a union state, or `NO_MATCH`.

        Only the last alternative can match, since what stands after a match is cut. If riders
        match with it, the first of them retypes the lexeme.
        """
        host = max((i for i, row in enumerate(rows) if not self._is_rider[row]), default=-1)
        if host < 0 or self._terminal_ids[rows[host]] == NO_MATCH:
            return NO_MATCH
        for rider in rows[host + 1 :]:
            if self._terminal_ids[rider] != NO_MATCH:
                return self._terminal_ids[rider]
        return self._terminal_ids[rows[host]]
