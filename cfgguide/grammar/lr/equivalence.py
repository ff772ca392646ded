"""Stacks that are as good as each other: whatever follows, the parser does the same on both.

In: a :class:`~cfgguide.grammar.lr.table.ParseTable`. Out: :class:`Equivalence`, which proves for
the tops of two stacks, with the same below, that the same terminals can follow, and then the same
again for ever. After ``(a +`` the same can follow as after ``(``, if a name comes next::

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
from itertools import product
from typing import NamedTuple

from cfgguide.base.limits import check_step
from cfgguide.base.remembered import remembered
from cfgguide.grammar.lr.state_actions import ACCEPTED, StateActions, States
from cfgguide.grammar.lr.table import END, NO_STATE, ParseTable

Pair = tuple[States, States]
# A pair that others come to, with which terminals, and the *cause*: each of these terminals of the
# first pair leads here. It is 0 if no shift is between, and they are the same.
_Following = tuple[Pair, int, int]

MAX_PAIRS = 8_000  # of one proof; more than those of large languages need
MAX_STATES = 12  # of a part in a proof


class _Shifts(NamedTuple):
    """What two states on top shift, of some terminals.

    Attributes
    ----------
    difference : int
        Terminals after which the lexer can tell the states apart.
    targets : dict of (int, int) to int
        Targets that differ, with the terminals that lead there.
    returns : dict of (int, int, int) to int
        Returns of targets that are the same: how many states are popped, the nonterminal and the
        terminals to come. With the terminals that lead to such a target.
    """

    difference: int
    targets: dict[tuple[int, int], int]
    returns: dict[tuple[int, int, int], int]


class Equivalence(StateActions):
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
    >>> from cfgguide.grammar.lr.stack import Stack
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
        super().__init__(table)
        self._seen = seen
        self._proven: dict[Pair, int] = {}  # if one of these terminals is next
        self._differing: dict[Pair, int] = {}  # with each of these terminals
        self._too_long: set[tuple[Pair, int]] = set()  # proofs

    def holds(self, first: States, second: States, terminals: int) -> bool:
        """Return whether two stacks are known to be equivalent if one of some terminals is next.

        False may also mean that there is no short proof.
        """
        root = first, second
        if not terminals & ~self._proven.get(root, 0):
            return True
        if (root, terminals) in self._too_long:
            return False
        assumed: dict[Pair, int] = {}
        pending: list[_Following] = [(root, terminals, 0)]
        n_pairs = 0
        while pending:
            check_step()
            pair, needed, cause = pending.pop()
            needed &= ~(self._proven.get(pair, 0) | assumed.get(pair, 0))
            if pair[0] == pair[1] or not needed:
                continue
            n_pairs += 1
            if n_pairs > MAX_PAIRS or max(map(len, pair)) > MAX_STATES:
                self._too_long.add((root, terminals))
                return False
            difference = needed & self._differing.get(pair, 0)
            if not difference:
                difference = self._compare(pair, needed, cause, pending)
            if difference:
                self._differing[pair] = self._differing.get(pair, 0) | difference
                # Only of the root it is known which of its terminals come here.
                self._differing[root] = self._differing.get(root, 0) | (cause or difference)
                return False
            assumed[pair] = assumed.get(pair, 0) | needed
        for pair, proven in assumed.items():
            self._proven[pair] = self._proven.get(pair, 0) | proven
        return True

    def _compare(self, pair: Pair, terminals: int, cause: int, following: list[_Following]) -> int:
        """Add the pairs on which the equivalence of a pair rests.

        Returns
        -------
        int
            Terminals with which they differ; 0 if they may be equivalent.
        """
        one, other = self.actions_of(pair[0][-1]), self.actions_of(pair[1][-1])
        shifted = one.shifted & other.shifted & terminals
        difference = (one.shifted & other.refused | one.refused & other.shifted) & terminals
        if shifted and not difference:
            difference = self._compare_shifts(pair, shifted, cause, following)
        for first, second in product(one.reduced.items(), other.reduced.items()):
            if not difference and (both := first[1] & second[1] & terminals):
                difference = self._compare_reduced(
                    pair, first[0], second[0], both, cause, following
                )
        # One is reduced until it does what the other does at once.
        for first in one.reduced.items():
            if not difference and (alone := first[1] & ~other.reduces & terminals):
                difference = self._compare_reduced(pair, first[0], None, alone, cause, following)
        for second in other.reduced.items():
            if not difference and (alone := second[1] & ~one.reduces & terminals):
                difference = self._compare_reduced(pair, None, second[0], alone, cause, following)
        return difference

    def _compare_reduced(
        self,
        pair: Pair,
        first: int | None,
        second: int | None,
        terminals: int,
        cause: int,
        following: list[_Following],
    ) -> int:
        """Add the pair after reductions of both, or of one; returns like :meth:`_compare`."""
        is_end = 1 << END
        if terminals & is_end and terminals != is_end:
            rest = terminals & ~is_end
            return self._compare_reduced(
                pair, first, second, is_end, cause, following
            ) or self._compare_reduced(pair, first, second, rest, cause, following)
        one, after_one = self._reduced(pair[0], first, terminals)
        other, after_other = self._reduced(pair[1], second, terminals)
        if after_one is None and after_other is None:
            return 0 if one == other else terminals
        if (one is not None and second is None) or (other is not None and first is None):
            return terminals
        # What left the known part, or accepted, waits for the other.
        following.append(((after_one or pair[0], after_other or pair[1]), terminals, cause))
        return 0

    def _reduced(
        self, part: States, production: int | None, terminals: int
    ) -> tuple[tuple[int, int] | None, States | None]:
        """Return a part after a reduction, if it does not reach below the part or accept.

        Else return what it does there: how many states it pops, and the nonterminal.
        """
        if production is None:
            return None, part
        left_side = self._left_sides[production]
        n_left = len(part) - self._lengths[production]
        if n_left <= 0:
            return (-n_left, left_side), None
        target = self._goto[part[n_left - 1], left_side]
        if target == self._table.end_state and terminals == 1 << END:
            return ACCEPTED, None
        return None, (*part[:n_left], target)

    def _compare_shifts(
        self, pair: Pair, terminals: int, cause: int, following: list[_Following]
    ) -> int:
        """Add the pairs that come after a shift; returns like :meth:`_compare`."""
        first, second = pair
        n_common = 0
        while n_common < min(len(first), len(second)) - 1 and (
            first[-1 - n_common] == second[-1 - n_common]
        ):
            n_common += 1
        if n_common:
            returns = {
                (n_popped, left_side, lookahead): terminals
                for (n_popped, left_side), lookahead in self.returns_of(first[-n_common]).items()
            }
            below = first[:-n_common], second[:-n_common]
            return self._compare_returns(below, returns, cause, following)
        shifts = self._shifts_of(first[-1], second[-1], terminals)
        if shifts.difference:
            return shifts.difference
        for (one, other), leading in shifts.targets.items():
            offered = self.offered(one) | self.offered(other)
            following.append((((*first, one), (*second, other)), offered, cause or leading))
        return self._compare_returns(pair, shifts.returns, cause, following)

    def _compare_returns(
        self,
        pair: Pair,
        returns: dict[tuple[int, int, int], int],
        cause: int,
        following: list[_Following],
    ) -> int:
        """Add the pairs after reductions of what both have on top; as :meth:`_compare`."""
        first, second = pair
        for (n_popped, left_side, terminals), leading in returns.items():
            n_first, n_second = len(first) - n_popped, len(second) - n_popped
            if n_first <= 0 or n_second <= 0:  # below what is known, where both are the same
                if n_first != n_second:
                    return leading
                continue
            one, other = first[:n_first], second[:n_second]
            after_one = self._target(one[-1], left_side)
            after_other = self._target(other[-1], left_side)
            if after_one == NO_STATE or after_other == NO_STATE:
                return leading
            following.append(
                (((*one, after_one), (*other, after_other)), terminals, cause or leading)
            )
        return 0

    def _target(self, state: int, left_side: int) -> int:
        """Return where a nonterminal leads; `NO_STATE` also if that could end the text."""
        target = self._goto[state, left_side]
        return NO_STATE if target == self._table.end_state else target

    @remembered
    def _shifts_of(self, first: int, second: int, terminals: int) -> _Shifts:
        difference = 0
        targets: dict[tuple[int, int], int] = {}
        returns: dict[tuple[int, int, int], int] = {}
        after_second = self.actions_of(second).shifts
        for terminal, one in self.actions_of(first).shifts.items():
            if not terminal & terminals:
                continue
            other = after_second[terminal]
            if one == other:
                for (n_popped, left_side), lookahead in self.returns_of(one).items():
                    question = n_popped, left_side, lookahead
                    returns[question] = returns.get(question, 0) | terminal
            elif self._seen[one] == self._seen[other]:
                targets[one, other] = targets.get((one, other), 0) | terminal
            else:
                difference |= terminal
        return _Shifts(difference, targets, returns)
