"""The union FSM of every terminal set: Lark's scanner as one automaton over bytes.

In: the terminals' FSMs and the ordered terminal sets. Out: a :class:`Scanner`, one table with a
start state for each terminal set.

Python's ``re`` tries the alternatives of Lark's scanner in order, and the first that matches wins.
So a union state is the ordered tuple of the terminals' FSM states that are still alive, cut after
the first final one: nothing behind it can win any more. What stands before it may still match
later, and would then win. Since a union state does not say which set it came from, sets share all
states but their starts: after ``x`` most sets of a programming language are "inside a name".

A keyword that a name swallows (Lark's ``_create_unless``) is no alternative of its own. Its FSM
rides behind the name's and is consulted when the name matches: if it is final too, the lexeme
equals the keyword and is retyped. ::

    set {NAME retyped IF, LPAR}    "i" -> (NAME, if·f)    "if" -> (NAME final, IF final): IF
                                   "x" -> (NAME)          "ifx" -> (NAME final): NAME
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cfgguide.errors import LimitError
from cfgguide.frontend import CompiledGrammar, Terminal, TerminalSet
from cfgguide.fsm import DEAD, N_BYTES, START, Fsm
from cfgguide.partition import refined

NO_MATCH = -1  # in `match`
DEFAULT_MAX_SCANNER_STATES = 200_000


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
        The label of the lexeme that would win if the text were cut here; -1 = none. A label is a
        terminal's number, or `ignored` for a lexeme that the lexer drops.
    starts : int32, shape (n_terminal_sets,)
        Start state of each terminal set. No transition leads into a start state.
    ignored : int
        The label of dropped lexemes; it equals the number of terminals.
    can_continue : bool, shape (n_states,)
        Whether any byte leads on.
    blocks : int32, shape (n_states,)
        States of one block match or fail to match alike on every non-empty continuation,
        whatever the label. Block 0 is that of states that never match again.
    representatives : int32, shape (n_blocks,)
        One state of each block.
    """

    transitions: npt.NDArray[np.int32]
    byte_classes: npt.NDArray[np.int32]
    match: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int32]
    ignored: int
    can_continue: npt.NDArray[np.bool_]
    blocks: npt.NDArray[np.int32]
    representatives: npt.NDArray[np.int32]

    @property
    def n_states(self) -> int:
        """Number of union states, the dead one included."""
        return len(self.match)

    def used_bytes(self) -> frozenset[int]:
        """Return the bytes that occur in some lexeme."""
        is_used = (self.transitions != DEAD).any(axis=0)[self.byte_classes]
        return frozenset(np.flatnonzero(is_used).tolist())


def build(grammar: CompiledGrammar, *, max_states: int = DEFAULT_MAX_SCANNER_STATES) -> Scanner:
    """Return the scanner of a grammar.

    Raises
    ------
    PatternError
        If a terminal's pattern cannot be turned into an automaton; the message names it.
    LimitError
        If a terminal or the union needs too many states.
    """
    components = _Components(grammar)
    numbers: dict[tuple[int, ...], int] = {(): DEAD}
    threads: list[tuple[int, ...]] = [()]

    def number(key: tuple[int, ...]) -> int:
        if key not in numbers:
            if len(threads) >= max_states:
                raise LimitError(
                    f"the union FSMs need more than {max_states} states (max_scanner_states); "
                    "use fewer or simpler terminals, or raise the limit"
                )
            numbers[key] = len(threads)
            threads.append(key)
        return numbers[key]

    # A start state is never shared: "no byte read yet" must stay apart from "some bytes read".
    starts = []
    for members in grammar.terminal_sets:
        starts.append(len(threads))
        threads.append(components.start(members))
    rows = [np.zeros(components.n_byte_classes, dtype=np.int32)]
    while len(rows) < len(threads):
        successors = components.successors(threads[len(rows)])
        rows.append(np.array([number(key) for key in successors], dtype=np.int32))
    match = np.array([components.label(key) for key in threads], dtype=np.int32)
    return _finished(np.stack(rows), components, match, starts)


def _finished(
    transitions: npt.NDArray[np.int32],
    components: _Components,
    match: npt.NDArray[np.int32],
    starts: list[int],
) -> Scanner:
    blocks = _future_blocks(transitions, match != NO_MATCH)
    return Scanner(
        transitions=transitions,
        byte_classes=components.byte_classes,
        match=match,
        starts=np.array(starts, dtype=np.int32),
        ignored=components.ignored,
        can_continue=(transitions != DEAD).any(axis=1),
        blocks=blocks,
        representatives=np.unique(blocks, return_index=True)[1].astype(np.int32),
    )


def _future_blocks(
    transitions: npt.NDArray[np.int32], is_match: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int32]:
    """Return the block of each state: equal if all non-empty continuations match alike."""
    present = refined(transitions, is_match.astype(np.int64))
    futures = np.unique(present[transitions], axis=0, return_inverse=True)[1].reshape(-1)
    dead = futures[DEAD]
    swapped = np.where(futures == dead, 0, np.where(futures == 0, dead, futures))
    return swapped.astype(np.int32)


class _Components:
    """The FSMs of all terminals in one table, from which union states are tuples of rows.

    A keyword has rows of its own, and once more under each name that swallows it (a *rider*).
    """

    def __init__(self, grammar: CompiledGrammar) -> None:
        number = {name: index for index, name in enumerate(grammar.parse_table.terminals)}
        self.ignored = len(number)
        self._patterns = {terminal.name: terminal for terminal in grammar.patterns}
        self._fsms: dict[str, Fsm] = {}
        self._offsets: dict[tuple[str, str | None, bool], int] = {}
        tables: list[npt.NDArray[np.int32]] = [np.zeros((1, N_BYTES), dtype=np.int32)]
        labels: list[int] = [NO_MATCH]
        riders: list[bool] = [False]
        for pattern, host, is_ignored in self._in_order(grammar.terminal_sets):
            fsm = self._fsm(self._patterns[pattern])
            offset = len(labels)
            self._offsets[pattern, host, is_ignored] = offset + START
            tables.append(np.where(fsm.transitions == DEAD, DEAD, fsm.transitions + offset))
            # A terminal that no rule uses has no column in the tables: the parser refuses it.
            label = self.ignored if is_ignored else number.get(pattern, self.ignored + 1)
            labels.extend(label if final else NO_MATCH for final in fsm.is_final.tolist())
            riders.extend([host is not None] * fsm.n_states)
        table = np.concatenate(tables)
        columns, inverse = np.unique(table, axis=1, return_inverse=True)
        self._table = columns.astype(np.int32)
        self.byte_classes = inverse.reshape(-1).astype(np.int32)
        self._labels = labels
        self._is_rider = riders

    @property
    def n_byte_classes(self) -> int:
        return int(self._table.shape[1])

    @staticmethod
    def _in_order(sets: Sequence[TerminalSet]) -> dict[tuple[str, str | None, bool], None]:
        """Return (pattern, name that swallows it, is ignored), each once."""
        wanted: dict[tuple[str, str | None, bool], None] = {}
        for member in (member for members in sets for member in members):
            wanted[member.terminal, None, member.is_ignored] = None
            for keyword in member.retyped:
                wanted[keyword, member.terminal, member.is_ignored] = None
        return wanted

    def _fsm(self, terminal: Terminal) -> Fsm:
        if terminal.name not in self._fsms:
            self._fsms[terminal.name] = Fsm.of_pattern(
                terminal.pattern, name=terminal.name, flags=terminal.flags
            )
        return self._fsms[terminal.name]

    def start(self, members: TerminalSet) -> tuple[int, ...]:
        """Return the union state before the first byte of a lexeme."""
        rows = []
        for member in members:
            rows.append(self._offsets[member.terminal, None, member.is_ignored])
            for keyword in member.retyped:
                rows.append(self._offsets[keyword, member.terminal, member.is_ignored])
        return tuple(rows)

    def successors(self, rows: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Return the union state after each byte class."""
        if not rows:
            return [()] * self.n_byte_classes
        moved = self._table[list(rows)]
        columns, inverse = np.unique(moved, axis=1, return_inverse=True)
        cut = [self._cut(rows, column) for column in columns.T.tolist()]
        return [cut[index] for index in inverse.reshape(-1).tolist()]

    def _cut(self, rows: tuple[int, ...], moved: list[int]) -> tuple[int, ...]:
        """Drop dead rows, riders of dead names, and whatever stands behind the first match."""
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
                is_matched = self._labels[target] != NO_MATCH
        return tuple(kept)

    def label(self, rows: tuple[int, ...]) -> int:
        """Return the label that wins in a union state, or `NO_MATCH`.

        Only the last alternative can match, since what stands behind a match is cut. If riders
        match with it, the first of them retypes the lexeme.
        """
        host = max((i for i, row in enumerate(rows) if not self._is_rider[row]), default=-1)
        if host < 0 or self._labels[rows[host]] == NO_MATCH:
            return NO_MATCH
        for rider in rows[host + 1 :]:
            if self._labels[rider] != NO_MATCH:
                return self._labels[rider]
        return self._labels[rows[host]]
