"""Stacks without what decides nothing any more.

In: a stack, and the scanner state inside the lexeme after it. Out: a shorter stack on which
everything that can follow is the same, so that more configurations are one. The lexeme that is
being read can end only as some terminals, its *possible terminals*. With these:

* a reduction that comes whichever of them it is, is made at once. After ``(a`` and a blank, a
  ``)`` makes a sum of ``a``;
* states below which all can go on as it can above them (:mod:`cfgguide.grammar.lr.equivalence`) are
  dropped: the ``sum +`` in ``(a + b``, all elements but the last of ``[1, 2, 3``.

A reduction may be made early since LALR lookaheads hold all terminals that can follow: one that is
accepted after the reduction has the same reduction in the state before it. Lark resolves conflicts
for shifts and against reductions, and never makes an error of one.

If the lexeme can be one that the parser does not get, such as a blank, the next one starts in the
set of the same state. Then nothing is reduced, and only states are dropped that the lexer does not
tell from the one below.

Where a general table leads to several stacks, those are left out too for which another one stands:
whatever can follow them follows that one (:mod:`cfgguide.grammar.lr.inclusion`). So the parses of
an ambiguous text do not go on side by side.
"""

from __future__ import annotations

from functools import cached_property
from itertools import islice

import numpy as np
import numpy.typing as npt

from cfgguide.base.numbered import Numbered
from cfgguide.base.remembered import remembered, remembered_up_to
from cfgguide.engine.lexer.reachability import reaching
from cfgguide.engine.lexer.scanner import Scanner
from cfgguide.grammar.lr.equivalence import Equivalence
from cfgguide.grammar.lr.inclusion import Effort, Inclusion
from cfgguide.grammar.lr.indentation import IndentationRules
from cfgguide.grammar.lr.indentation_names import CLOSES, COUNTED, FED, OPENS
from cfgguide.grammar.lr.stack import Stack
from cfgguide.grammar.lr.table import ParseTable

MAX_DROPPED = 3  # states, at once; more hardly ever are
_MAX_APART = 12  # states of two stacks that are compared, above those that they share
_N_SHARED = 6  # states that they share, which are looked at too
_MAX_COVERED = 20_000  # answers that are kept
_MAX_COMPARED = 20_000  # pairs of whole stacks
_BLOCK = 512  # terminals whose possible states are found at once
_AT_START = -1  # the group of a scanner state before the first byte of a lexeme


class ShortStacks:
    """Tells what decides nothing in stacks; :mod:`cfgguide.engine.machine.reading` shortens them.

    Parameters
    ----------
    table : ParseTable
        The parser.
    scanner : Scanner
        The lexer.
    indentation_rules : IndentationRules or None
        How lines make blocks; None without an indenter.

    Attributes
    ----------
    groups : list of int, one for each scanner state
        Equal for those with the same possible terminals, in which stacks are shortened alike; less
        than 0 before the first byte of a lexeme.
    is_fed : bool, shape (n_scanner_states,)
        Whether all possible terminals are fed to the parser.
    """

    def __init__(
        self, table: ParseTable, scanner: Scanner, indentation_rules: IndentationRules | None
    ) -> None:
        self._table = table
        places = np.zeros(table.n_states) if indentation_rules is None else indentation_rules.places
        sets = np.zeros_like(table.set_of_state) if scanner.asks_each else table.set_of_state
        self._seen = list(zip(sets.tolist(), places.tolist(), strict=True))
        self._inclusion = Inclusion(table) if table.is_general else None
        self._equivalence = self._inclusion or Equivalence(table, self._seen)
        roles = [FED] * table.n_terminals
        if indentation_rules is not None:
            roles = indentation_rules.roles[: table.n_terminals].tolist()
        unfed = [role not in (FED, COUNTED, OPENS, CLOSES) for role in roles]
        # By group: the possible terminals, and whether one is not always fed to the parser.
        self._terminals: list[tuple[int, bool]] = []
        self.groups = self._grouped(scanner, unfed)
        is_fed = np.array([not is_unfed for _, is_unfed in self._terminals])
        self.is_fed = is_fed[self.groups] & ~scanner.is_start

    def _grouped(self, scanner: Scanner, unfed: list[bool]) -> list[int]:
        possible = _possible_terminals(scanner)
        numbers = Numbered[bytes]()
        groups = [numbers[row.tobytes()] for row in possible]
        n_terminals = scanner.ignored
        others = sum(1 << terminal for terminal, is_other in enumerate(unfed) if is_other)
        for row in numbers:
            terminals = int.from_bytes(row, "little")
            fed = terminals & ~(1 << n_terminals)
            self._terminals.append((fed, bool(terminals >> n_terminals or terminals & others)))
        starting = scanner.is_start.tolist()
        return [
            _AT_START if is_start else group
            for is_start, group in zip(starting, groups, strict=True)
        ]

    def certain_reduction(self, group: int, state: int) -> int:
        """Return the production by which a stack is shortened if a state is on top; -1 if none."""
        _, is_unfed = self._terminals[group]
        production = None if is_unfed else self._reduction(group, state)
        return -1 if production is None else production

    def is_short(self, group: int, states: tuple[int, ...]) -> bool:
        """Return whether no stack with some states on top, the top first, is shortened by them."""
        if group < 0:
            return True
        return self.certain_reduction(group, states[0]) < 0 and not self.n_droppable(
            group, states[MAX_DROPPED::-1]
        )

    def certain_group(self, scanner_states: list[int], terminal_id: int) -> int | None:
        """Return the group in which a lexeme always ends, if it can then be one terminal only.

        Its stack is short, and all reductions before the terminal are made: below the state that it
        leads to, a stack is as short.
        """
        groups = {self.groups[state] for state in scanner_states}
        if len(groups) != 1 or self._terminals[max(groups)] != (1 << terminal_id, False):
            return None
        return max(groups)

    @remembered
    def _reduction(self, group: int, state: int) -> int | None:
        """Return the production by which a state reduces on all possible terminals, if any."""
        return self._equivalence.reduction(state, self._terminals[group][0])

    @cached_property
    def is_idle(self) -> npt.NDArray[np.bool_]:
        """Whether each parse state decides nothing where it is pushed on itself; no one if unknown.

        Shape (n_parse_states,).
        """
        if self._inclusion is None:
            return np.zeros(self._table.n_states, dtype=np.bool_)
        return np.array(list(map(self._inclusion.is_idle, range(self._table.n_states))))

    def may_cover(self, stack: Stack, effort: Effort) -> bool:
        """Return whether it is worth asking what a stack stands for."""
        return self._inclusion is not None and self._inclusion.is_worth(stack.state, effort)

    def covers(self, group: int, first: Stack, second: Stack, effort: Effort) -> bool:
        """Return whether a stack is known to stand for a second one, in a lexeme of a group."""
        if self._inclusion is None or group < 0:
            return False
        return self._tops_cover(group, first, second, effort)

    # While a lexeme goes on, whole stacks are compared again for each byte.
    @remembered_up_to(_MAX_COMPARED)
    def _tops_cover(self, group: int, first: Stack, second: Stack, effort: Effort) -> bool:
        n_apart = _n_apart(first, second)
        if n_apart is None:
            return False
        n_first, n_second = n_apart
        parts = (
            tuple(islice(first, n_first + _N_SHARED))[::-1],
            tuple(islice(second, n_second + _N_SHARED))[::-1],
        )
        return self._parts_cover(group, *parts, effort)

    @remembered_up_to(_MAX_COVERED)
    def _parts_cover(
        self, group: int, first: tuple[int, ...], second: tuple[int, ...], effort: Effort
    ) -> bool:
        assert self._inclusion is not None, "stacks are compared"
        terminals, is_unfed = self._terminals[group]
        if is_unfed:
            terminals |= self._inclusion.offered(first[-1]) | self._inclusion.offered(second[-1])
        return self._inclusion.covers(first, second, terminals, effort)

    def n_droppable(self, group: int, states: tuple[int, ...]) -> int:
        """Return how many of the states on top decide nothing, `MAX_DROPPED` at most.

        Parameters
        ----------
        group : int
            That of the scanner's state.
        states : tuple of int
            The topmost states, the top last; no stack is shorter than what can be dropped.
        """
        for lowest in range(len(states) - 1):
            if self._is_droppable(group, states[lowest:]):
                return len(states) - 1 - lowest
        return 0

    def _is_droppable(self, group: int, states: tuple[int, ...]) -> bool:
        """Return whether all but the lowest of some states decide nothing."""
        terminals, is_unfed = self._terminals[group]
        top, lowest = states[-1], states[0]
        with_top, with_lowest = self._equivalence.offered(top), self._equivalence.offered(lowest)
        if is_unfed:
            if self._seen[top] != self._seen[lowest]:
                return False
            terminals |= with_top | with_lowest
        elif self._reduction(group, lowest) is not None:
            return False  # it would be reduced, and perhaps to what is dropped here
        # A quick test first: what only one of them has an action for, is mostly accepted there.
        if (with_top ^ with_lowest) & terminals:
            return False
        return self._equivalence.holds(states, (lowest,), terminals)


def _n_apart(first: Stack, second: Stack) -> tuple[int, int] | None:
    """Return how many states two stacks have above those that they share; None if many."""
    higher = first.height - second.height
    if abs(higher) > _MAX_APART:
        return None
    n_first, n_second = max(higher, 0), max(-higher, 0)
    here, there = first.pop(n_first), second.pop(n_second)
    while here != there:
        if here.below is None or there.below is None or max(n_first, n_second) == _MAX_APART:
            return None
        here, there, n_first, n_second = here.below, there.below, n_first + 1, n_second + 1
    return n_first, n_second


def _possible_terminals(scanner: Scanner) -> npt.NDArray[np.uint8]:
    """Return which terminal ids each state may come to, as bits, the lowest first."""
    parts = []
    for first in range(0, scanner.ignored + 1, _BLOCK):
        terminal_ids = np.arange(first, min(first + _BLOCK, scanner.ignored + 1))
        is_match = scanner.match[:, None] == terminal_ids
        parts.append(np.packbits(reaching(scanner.moves, is_match), axis=1, bitorder="little"))
    return np.hstack(parts)
