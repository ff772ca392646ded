"""Shortest ways to complete a stack, by its topmost state alone.

In: a parse table, and the terminals that may be used. Out: :class:`Completions`: in which states
every stack can be completed with these terminals, and with which the shortest completions begin.

A stack is a path through the LR(0) automaton, and every item of its topmost state is valid for it:
where ``A -> b . c`` stands there, what derives ``c`` may follow, and then whatever completes the
stack with ``A`` in place of ``b``. So a state can be completed if the rest of some item derives
usable terminals, and the states in which its reduction may end can be completed too. A reduction
never leaves more states on the stack; where it leaves as many, it must not close a circle.

Lark's table accepts completions with terminals for which it resolved no conflict: there it does all
that an LALR(1) parser without conflicts would do.

Source: Aho, Lam, Sethi, Ullman, "Compilers", section 4.6, on viable prefixes and valid items.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cfgguide.base.remembered import remembered
from cfgguide.grammar.lr.items import Item, productions_of
from cfgguide.grammar.lr.table import END, ERROR, START_STATE, ParseTable

_MAX_STEPS = 3_000_000  # in the search for where reductions may end


@dataclass(frozen=True)
class Completions:
    """How stacks can be completed.

    Attributes
    ----------
    is_completable : bool, shape (n_states,)
        Whether every stack with the state on top can be completed.
    first : bool, shape (n_states, n_terminals)
        Whether a shortest completion may begin with the terminal.
    """

    is_completable: npt.NDArray[np.bool_]
    first: npt.NDArray[np.bool_]

    @classmethod
    def of(
        cls, table: ParseTable, is_usable: Sequence[bool], is_written: Sequence[bool]
    ) -> Completions:
        """Return the completions of stacks; none if the search takes too long.

        Parameters
        ----------
        table : ParseTable
            The parser.
        is_usable : sequence of bool, one for each terminal
            Which terminals completions may use.
        is_written : sequence of bool, one for each terminal
            Which terminals stacks may come from.
        """
        return _Search(table, is_usable, is_written).completions()


class _Way(NamedTuple):
    """An item of a state: what is left of it, how much it pops, and where that ends."""

    length: float
    dot: int
    rest: tuple[str, ...]
    ends: set[int]


class _Search:
    def __init__(
        self, table: ParseTable, is_usable: Sequence[bool], is_written: Sequence[bool]
    ) -> None:
        self._table = table
        self._is_reached = table.reached(is_written)
        self._right = [right for _, right in table.productions]
        self._of = productions_of(table.productions)
        self._terminal_ids = {name: index for index, name in enumerate(table.terminals)}
        self._length: dict[str, float] = {
            name: 1.0 for name, usable in zip(table.terminals, is_usable, strict=True) if usable
        }
        self._measure()
        self._transitions = table.transitions

    def completions(self) -> Completions:
        table = self._table
        origins = self._origins()
        n_states = table.n_states if origins is not None else 0
        first = [0] * table.n_states  # sets of terminals, with a bit for each
        is_completable = np.zeros(table.n_states, dtype=np.bool_)
        ways: list[list[_Way]] = []
        passing: list[set[int]] = []
        for state in range(n_states):
            ways.append(self._ways(state, (origins or {}).get(state, {})))
            passing.append(set())
            for way in ways[state]:
                begins = self._begins(way.rest)
                first[state] |= begins
                if not begins:
                    passing[state] |= way.ends
        self._pass_on(first, passing)
        if n_states:
            is_completable[:] = self._completable(ways)
        n_bytes = (table.n_terminals + 7) // 8
        packed = b"".join(terminals.to_bytes(n_bytes, "little") for terminals in first)
        bits = np.frombuffer(packed, dtype=np.uint8).reshape(table.n_states, n_bytes)
        is_first = np.unpackbits(bits, axis=1, count=table.n_terminals, bitorder="little")
        return Completions(is_completable, is_first.astype(np.bool_) & (table.action != ERROR))

    def _ways(self, state: int, origins: dict[Item, set[int]]) -> list[_Way]:
        """Return the ways in which a shortest completion may go on from a state.

        Of those that end in the same reduction the shortest is enough. None leads back to the
        state itself with the same states below.
        """
        shortest: dict[tuple[str, int], _Way] = {}
        for (production, dot), below in origins.items():
            left, right = self._table.productions[production]
            rest = right[dot:]
            length = self._length_of(rest)
            known = shortest.get((left, dot))
            if length < (inf if known is None else known.length):
                ends = {self._transitions[under][left] for under in below}
                if not (dot == 1 and ends == {state}):
                    shortest[left, dot] = _Way(length, dot, rest, ends)
        return list(shortest.values())

    # -- the grammar ------------------------------------------------------------------------

    def _measure(self) -> None:
        """Find the length of the shortest string that each symbol derives."""
        changed = True
        while changed:
            changed = False
            for left, right in self._table.productions:
                length = self._length_of(right)
                if length < self._length.get(left, inf):
                    self._length[left] = length
                    changed = True

    def _length_of(self, symbols: Sequence[str]) -> float:
        return sum(self._length.get(symbol, inf) for symbol in symbols)

    @remembered
    def _begins(self, symbols: tuple[str, ...]) -> int:
        """Return the terminals that begin the shortest strings; none if these are empty."""
        return self._beginning(symbols)

    def _beginning(self, symbols: tuple[str, ...]) -> int:
        found = 0
        pending = [symbols]
        seen: set[str] = set()
        while pending:
            first = next((symbol for symbol in pending.pop() if self._length[symbol]), None)
            if first in self._terminal_ids:
                found |= 1 << self._terminal_ids[first]
            elif first is not None and first not in seen:
                seen.add(first)
                pending.extend(
                    self._right[production]
                    for production in self._of[first]
                    if self._length_of(self._right[production]) == self._length[first]
                )
        return found

    # -- the automaton ----------------------------------------------------------------------

    def _origins(self) -> dict[int, dict[Item, set[int]]] | None:
        """Return, for each item of each state, the states on which its production began."""
        origins: dict[int, dict[Item, set[int]]] = defaultdict(lambda: defaultdict(set))
        steps = [
            [(symbol, Item(production, dot)) for dot, symbol in enumerate(right, start=1)]
            for production, right in enumerate(self._right)
        ]
        n_steps = 0
        for state in np.flatnonzero(self._is_reached).tolist():
            # A state goes on with a nonterminal just if it was closed over its productions.
            for left in sorted(self._transitions[state].keys() & self._of.keys()):
                for production in self._of[left]:
                    here = state
                    for symbol, item in steps[production]:
                        if symbol not in self._transitions[here]:
                            return None  # not a table that Lark made
                        here = self._transitions[here][symbol]
                        origins[here][item].add(state)
                        n_steps += 1
            if n_steps > _MAX_STEPS:
                return None
        return origins

    def _pass_on(self, first: list[int], passing: list[set[int]]) -> None:
        """Add the terminals that begin completions where nothing is left of an item."""
        table = self._table
        first[table.end_state] |= 1 << END
        if self._length.get(table.start_symbol, inf) < inf:
            first[START_STATE] |= self._begins((table.start_symbol,)) or 1 << END
        changed = True
        while changed:
            changed = False
            for state, ends in enumerate(passing):
                found = first[state]
                for end in ends:
                    found |= first[end]
                changed |= found != first[state]
                first[state] = found

    def _completable(self, ways: list[list[_Way]]) -> list[bool]:
        """Return whether every stack with a state on top can be completed, for each state."""
        table = self._table
        assumed = [True] * table.n_states
        while True:
            known = [False] * table.n_states
            known[table.end_state] = True
            known[START_STATE] = self._length.get(table.start_symbol, inf) < inf
            changed = True
            while changed:
                changed = False
                for state, items in enumerate(ways):
                    if not known[state] and any(
                        all((assumed if way.dot > 1 else known)[end] for end in way.ends)
                        for way in items
                    ):
                        known[state] = changed = True
            if known == assumed:
                return known
            assumed = known
