"""What the states of a table do, as proofs about stacks ask for it.

In: a :class:`~cfgguide.grammar.lr.table.ParseTable`, which may be general. Out:
:class:`StateActions`. Sets of terminals are integers with a bit for each; parts of stacks are
tuples of parse states, the lowest first.
"""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

from cfgguide.base.limits import check_step
from cfgguide.base.remembered import remembered
from cfgguide.grammar.lr.items import state_after
from cfgguide.grammar.lr.table import END, ERROR, ParseTable

States = tuple[int, ...]  # a part of a stack, the lowest first
ACCEPTED = -1, -1  # instead of a reduction below a part


class Actions(NamedTuple):
    """What a state does, by terminals.

    Attributes
    ----------
    refused, shifted, reduces : int
        Which terminals.
    shifts : dict of int to int
        By terminal, ascending, where it leads.
    reduced : dict of int to int
        By production, ascending, which terminals it is reduced with.
    """

    refused: int
    shifted: int
    reduces: int
    shifts: dict[int, int]
    reduced: dict[int, int]


class StateActions:
    """Knows what states do.

    Parameters
    ----------
    table : ParseTable
        The parser.
    """

    def __init__(self, table: ParseTable) -> None:
        self._table = table
        self._lengths: list[int] = table.lengths.tolist()
        self._left_sides: list[int] = table.left_sides.tolist()
        self._goto = memoryview(table.goto.data)
        self._every = (1 << table.n_terminals) - 1
        # By state: the terminals and reductions of conflicts, besides what the row has.
        self._others: dict[int, list[tuple[int, int]]] = {}
        for state, terminal, production in table.alternatives.tolist():
            self._others.setdefault(state, []).append((terminal, -production - 1))
        self._items: dict[str, list[tuple[int, int]]] = {}  # by the symbol before the dot
        for production, (_, right) in enumerate(table.productions):
            for dot, symbol in enumerate(right, start=1):
                self._items.setdefault(symbol, []).append((production, dot))
        self._symbols: dict[int, set[str]] = {}  # that lead to each state
        _, symbols, targets = table.edges
        for number, target in set(zip(symbols.tolist(), targets.tolist(), strict=True)):
            self._symbols.setdefault(target, set()).add(table.symbols[number])

    @remembered
    def actions_of(self, state: int) -> Actions:
        """Return what a state does."""
        # Loops over single numbers are quicker here than numpy: rows are short.
        shifts: dict[int, int] = {}
        reduced: dict[int, int] = {}
        check_step(0)
        others = self._others.get(state, ())
        for place, action in chain(enumerate(self._table.action[state].tolist()), others):
            if action > ERROR:
                shifts[1 << place] = action - 1
            elif action < ERROR:
                production = -action - 1
                reduced[production] = reduced.get(production, 0) | 1 << place
        shifted, reduces = sum(shifts), 0
        for terminals in reduced.values():
            reduces |= terminals
        return Actions(
            self._every & ~(shifted | reduces),
            shifted,
            reduces,
            shifts,
            dict(sorted(reduced.items())),
        )

    def offered(self, state: int) -> int:
        """Return the terminals that the lexer looks for if a state is on top, and ``$END``."""
        return 1 << END | self._every & ~self.actions_of(state).refused

    def reduction(self, state: int, terminals: int) -> int | None:
        """Return the production by which a state reduces with each of some terminals, if any.

        None also if it may do anything else with one of them.
        """
        actions = self.actions_of(state)
        if actions.shifted & terminals:
            return None
        found = [production for production, group in actions.reduced.items() if group & terminals]
        return found[0] if len(found) == 1 else None

    @remembered
    def returns_of(self, state: int) -> dict[tuple[int, int], int]:
        """Return the reductions that pop a state and reach below it.

        Returns
        -------
        dict of (int, int) to int
            By how many states are popped below it, and the nonterminal: with which terminals.
        """
        returns: dict[tuple[int, int], int] = {}
        symbols = sorted(self._symbols.get(state, ()))
        for production, dot in chain.from_iterable(self._items.get(s, ()) for s in symbols):
            right = self._table.productions[production][1]
            last = state_after(self._table.transitions, state, right[dot:])
            if last is None:
                continue
            # States may have been joined, and reduce a production of the same length instead.
            effect = self._lengths[production], self._left_sides[production]
            for other, terminals in self.actions_of(last).reduced.items():
                if (self._lengths[other], self._left_sides[other]) == effect:
                    # So the state holds this item.
                    question = dot - 1, effect[1]
                    returns[question] = returns.get(question, 0) | terminals
        return returns
