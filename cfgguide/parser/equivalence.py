"""Stacks that are as good as each other: whatever follows, the parser does the same on both.

In: a :class:`~cfgguide.parser.table.ParseTable`. Out: :class:`Equivalence`, which proves for the
tops of two stacks, with the same below, that the same terminals can follow, and then the same again
for ever. After ``(a +`` the same can follow as after ``(``, if a name comes next::

    stacks           ( sum +            (
    shift NAME       ( sum + NAME       ( NAME         one state on both: what matters is what it
                                                       becomes, an atom
    goto of atom     ( sum + atom       ( atom         compared in the same way

The proof is a bisimulation. Pairs of stacks are compared: both refuse a terminal, or both reduce
alike below the part that is known, or both shift it. States that both have on top do the same until
they are reduced. So only their *returns* count, the reductions that reach below them, and the pairs
of stacks after those are compared next. A pair that is compared already is taken to be equivalent:
if no pair fails, all of them are.

Parts of stacks are tuples of parse states, the lowest first. The lowest is the same in both, and
stands for all stacks that end with it. Sets of terminals are integers with a bit for each.

Source: Sangiorgi, "On the Bisimulation Proof Method" (1998): what may be left out is "up to
context".
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from cfgguide.parser.table import END, ERROR, NO_STATE, ParseTable

States = tuple[int, ...]  # a part of a stack, the lowest first
Pair = tuple[States, States]

MAX_PAIRS = 2_000  # of one proof; more than those of large languages need
MAX_STATES = 12  # of a part in a proof
_MAX_REDUCTIONS = 200  # before one shift

# What becomes of a part of a stack with a terminal.
_REFUSED, _ACCEPTED, _BELOW, _SHIFTED, _ENDLESS = 0, 1, 2, 3, 4


class _Result(NamedTuple):
    """What becomes of a part of a stack with some terminals.

    Attributes
    ----------
    kind : int
        `_REFUSED`; `_ACCEPTED` at the end of the text; `_BELOW` for a reduction that reaches below
        the part; `_SHIFTED`; `_ENDLESS` where too many reductions come first.
    states : tuple of int
        What they are shifted on; or how many states are popped below, and the nonterminal.
    terminals : int
        Which terminals.
    """

    kind: int
    states: States
    terminals: int


class _Shifts(NamedTuple):
    """What two states on top shift, of some terminals.

    Attributes
    ----------
    returns : dict of (int, int) to int
        Of the targets that are the same; as `Equivalence._returns_of`.
    targets : set of (int, int)
        Those that differ.
    """

    returns: dict[tuple[int, int], int]
    targets: set[tuple[int, int]]


class Equivalence:
    r"""Proves that stacks are equivalent.

    Parameters
    ----------
    table : ParseTable
        The parser. Its reductions before a shift must end.
    seen : sequence of hashable, one for each parse state
        What the lexer sees of a state on top.

    Examples
    --------
    >>> from cfgguide.grammar import lark_frontend
    >>> from cfgguide.grammar.grammar import Grammar
    >>> from cfgguide.parser.stack import Stack
    >>> grammar = Grammar('start: "(" [(NAME ",")* NAME] ")"\nNAME: "a"')
    >>> table = lark_frontend.load(grammar).parse_table
    >>> equivalence = Equivalence(table, table.set_of_state.tolist())
    >>> def after(*terminals):
    ...     stack = Stack(0)
    ...     for name in terminals:
    ...         stack = table.shift(stack, table.terminals.index(name))
    ...     return tuple(stack)[::-1]
    >>> name = 1 << table.terminals.index("NAME")
    >>> equivalence.holds(after("LPAR", "NAME", "COMMA"), after("LPAR"), name)
    True
    """

    def __init__(self, table: ParseTable, seen: Sequence[Hashable]) -> None:
        self._table = table
        self._seen = seen
        self._lengths: list[int] = table.lengths.tolist()
        self._left_sides: list[int] = table.left_sides.tolist()
        self._items = _items_by_symbol(table)
        self._transitions = table.transitions()
        self._symbols = {
            target: symbol for row in self._transitions for symbol, target in row.items()
        }
        self._proven: dict[Pair, int] = {}  # if one of these terminals is next
        self._unproven: set[tuple[States, States, int]] = set()
        self._rows: dict[int, list[int]] = {}
        self._actions: dict[int, dict[int, int]] = {}
        self._returns: dict[int, dict[tuple[int, int], int]] = {}
        self._results: dict[tuple[States, int], list[_Result]] = {}
        self._shifts: dict[tuple[int, int, int], _Shifts | None] = {}

    def holds(self, first: States, second: States, terminals: int) -> bool:
        """Return whether two stacks are known to be equivalent if one of some terminals is next.

        False may also mean that there is no short proof.
        """
        root = first, second, terminals
        assumed: dict[Pair, int] = {}
        pending = [root]
        n_pairs = 0
        while pending:
            one, other, needed = question = pending.pop()
            pair = one, other
            needed &= ~(self._proven.get(pair, 0) | assumed.get(pair, 0))
            if one == other or not needed:
                continue
            n_pairs += 1
            is_known = question in self._unproven or root in self._unproven
            is_long = n_pairs > MAX_PAIRS or max(len(one), len(other)) > MAX_STATES
            following = None if is_known or is_long else self._compared(one, other, needed)
            if following is None:
                self._unproven |= {root} if is_long else {root, question}
                return False
            assumed[pair] = assumed.get(pair, 0) | needed
            pending += following
        for pair, proven in assumed.items():
            self._proven[pair] = self._proven.get(pair, 0) | proven
        return True

    def offered(self, state: int) -> int:
        """Return the terminals that the lexer looks for if a state is on top, and ``$END``."""
        every = (1 << self._table.n_terminals) - 1
        return 1 << END | every & ~self._actions_of(state).get(ERROR, 0)

    def _compared(
        self, first: States, second: States, terminals: int
    ) -> list[tuple[States, States, int]] | None:
        """Return the pairs on which the equivalence of a pair rests; None if they differ."""
        following: list[tuple[States, States, int]] = []
        for one in self._results_of(first, terminals):
            for other in self._results_of(second, terminals):
                both = one.terminals & other.terminals
                is_same = one.kind == other.kind != _ENDLESS and one.states == other.states
                if not both or is_same:
                    continue
                if one.kind != _SHIFTED or other.kind != _SHIFTED:
                    return None
                if not self._compare_shifts(one.states, other.states, both, following):
                    return None
        return following

    def _compare_shifts(
        self,
        first: States,
        second: States,
        terminals: int,
        following: list[tuple[States, States, int]],
    ) -> bool:
        """Add the pairs that come after a shift; return whether the lexer sees no difference."""
        n_common = 0
        while n_common < min(len(first), len(second)) - 1 and (
            first[-1 - n_common] == second[-1 - n_common]
        ):
            n_common += 1
        if n_common:
            returns = self._returns_of(first[-n_common])
            return self._compare_returns(first[:-n_common], second[:-n_common], returns, following)
        shifts = self._shifts_of(first[-1], second[-1], terminals)
        if shifts is None:
            return False
        for one, other in shifts.targets:
            offered = self.offered(one) | self.offered(other)
            following.append(((*first, one), (*second, other), offered))
        return self._compare_returns(first, second, shifts.returns, following)

    def _compare_returns(
        self,
        first: States,
        second: States,
        returns: dict[tuple[int, int], int],
        following: list[tuple[States, States, int]],
    ) -> bool:
        """Add the pairs after reductions of what both have on top; return whether there are."""
        for (n_popped, left_side), terminals in returns.items():
            n_first, n_second = len(first) - n_popped, len(second) - n_popped
            if min(n_first, n_second) <= 0:  # below what is known, where both are the same
                if n_first != n_second:
                    return False
                continue
            one, other = first[:n_first], second[:n_second]
            after_one = self._goto(one[-1], left_side)
            after_other = self._goto(other[-1], left_side)
            if after_one == NO_STATE or after_other == NO_STATE:
                return False
            following.append(((*one, after_one), (*other, after_other), terminals))
        return True

    def _goto(self, state: int, left_side: int) -> int:
        """Return where a nonterminal leads; `NO_STATE` also if that could end the text."""
        target = int(self._table.goto[state, left_side])
        return NO_STATE if target == self._table.end_state else target

    def _results_of(self, part: States, terminals: int) -> list[_Result]:
        """Return what becomes of a part with terminals, in groups."""
        question = part, terminals
        if question not in self._results:
            self._results[question] = self._reduced(part, terminals)
        return self._results[question]

    def _reduced(self, part: States, terminals: int) -> list[_Result]:
        results: list[_Result] = []
        pending = [(part, terminals)]
        for _ in range(_MAX_REDUCTIONS):
            if not pending:
                return results
            part, terminals = pending.pop()
            shifted = 0
            for action, with_action in self._actions_of(part[-1]).items():
                group = with_action & terminals
                if not group:
                    continue
                if action > 0:
                    shifted |= group
                elif action == ERROR:
                    results.append(_Result(_REFUSED, (), group))
                else:
                    self._reduce(part, -action - 1, group, results, pending)
            if shifted:
                results.append(_Result(_SHIFTED, part, shifted))
        return [_Result(_ENDLESS, (), terminals)]

    def _reduce(
        self,
        part: States,
        production: int,
        terminals: int,
        results: list[_Result],
        pending: list[tuple[States, int]],
    ) -> None:
        left_side = self._left_sides[production]
        n_left = len(part) - self._lengths[production]
        if n_left <= 0:
            results.append(_Result(_BELOW, (-n_left, left_side), terminals))
            return
        target = int(self._table.goto[part[n_left - 1], left_side])
        if target == self._table.end_state and terminals >> END & 1:
            results.append(_Result(_ACCEPTED, (), 1 << END))
            terminals &= ~(1 << END)
        if terminals:
            pending.append(((*part[:n_left], target), terminals))

    def _row(self, state: int) -> list[int]:
        if state not in self._rows:
            self._rows[state] = self._table.action[state].tolist()
        return self._rows[state]

    def _actions_of(self, state: int) -> dict[int, int]:
        """Return the terminals of each action in a state."""
        if state not in self._actions:
            actions: dict[int, int] = {}
            for terminal, action in enumerate(self._row(state)):
                actions[action] = actions.get(action, 0) | 1 << terminal
            self._actions[state] = actions
        return self._actions[state]

    def _shifts_of(self, first: int, second: int, terminals: int) -> _Shifts | None:
        """Return what two states shift; None if the lexer can tell some targets apart."""
        question = first, second, terminals
        if question not in self._shifts:
            self._shifts[question] = self._joint_shifts(*question)
        return self._shifts[question]

    def _joint_shifts(self, first: int, second: int, terminals: int) -> _Shifts | None:
        pairs = {
            (one - 1, other - 1)
            for terminal, (one, other) in enumerate(
                zip(self._row(first), self._row(second), strict=True)
            )
            if terminals >> terminal & 1
        }
        targets = {(one, other) for one, other in pairs if one != other}
        if any(self._seen[one] != self._seen[other] for one, other in targets):
            return None
        returns: dict[tuple[int, int], int] = {}
        for one, _ in pairs - targets:
            for question, lookahead in self._returns_of(one).items():
                returns[question] = returns.get(question, 0) | lookahead
        return _Shifts(returns, targets)

    def _returns_of(self, state: int) -> dict[tuple[int, int], int]:
        """Return the reductions that pop a state and reach below it.

        Returns
        -------
        dict of (int, int) to int
            By how many states are popped below it, and the nonterminal: with which terminals.
        """
        if state not in self._returns:
            returns: dict[tuple[int, int], int] = {}
            for production, dot in self._items.get(self._symbols[state], ()):
                last: int | None = state
                for symbol in self._table.productions[production][1][dot:]:
                    last = self._transitions[last].get(symbol) if last is not None else None
                lookahead = 0 if last is None else self._actions_of(last).get(-production - 1, 0)
                if lookahead:  # so the state holds this item
                    question = dot - 1, self._left_sides[production]
                    returns[question] = returns.get(question, 0) | lookahead
            self._returns[state] = returns
        return self._returns[state]


def _items_by_symbol(table: ParseTable) -> dict[str, list[tuple[int, int]]]:
    """Return for each symbol the productions that have it, and the place of the dot after it."""
    items: dict[str, list[tuple[int, int]]] = {}
    for production, (_, right) in enumerate(table.productions):
        for dot, symbol in enumerate(right, start=1):
            items.setdefault(symbol, []).append((production, dot))
    return items
