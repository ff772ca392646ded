"""Stacks of a general table that others stand for: whatever can follow them follows the others.

In: a :class:`~cfgguide.grammar.lr.table.ParseTable` that may keep conflicts. Out:
:class:`Inclusion`, which proves that a set of stacks accepts the same texts with and without one of
them, or that two stacks accept the same. With ``e: e "+" e | N``, after ``1+1+`` and before another
number::

    stacks            ( e + e +    ( e +          the second stands for both
    shift N           ( e + e + N  ( e + N        one state on both: what matters is its reduction
    e, before `+`     ( e + e      ( e            the first is reduced to the second, too

Where each action of a conflict is taken, what two stacks become is compared as two sets. A *claim*
says of two sets of stacks that the same can follow, if one of some terminals is next. It holds if
for each such terminal both sets reduce below what is known of them in the same ways, both accept or
not, and what they have become by the shift is claimed equal, too. A claim that is being proven is
taken to hold: if none fails, all hold. So what is left of a proof is finite, though stacks are not.

Parts of stacks are tuples of parse states, the lowest first. The lowest is the same in all parts of
a claim, and stands for all stacks that end with it. Sets of terminals are integers with a bit for
each.

Source: Bonchi, Pous 2013, "Checking NFA equivalence with bisimulations up to congruence", for sets
of states; the step that passes over what all stacks have on top is that of
:mod:`cfgguide.grammar.lr.equivalence`.
"""

from __future__ import annotations

from collections import deque
from itertools import chain
from typing import NamedTuple

from cfgguide.base.limits import check_step
from cfgguide.grammar.lr.equivalence import States, item_ends, items_by_symbol
from cfgguide.grammar.lr.table import END, ERROR, NO_STATE, ParseTable

MAX_CLAIMS = 30  # of one proof; the longest that end need about 26
MAX_STATES = 24  # of a part in a proof
MAX_PARTS = 8  # of a set in a proof
_MAX_KNOWN = 50_000  # steps and claims that are kept
_ACCEPTED = -1, -1  # instead of a reduction below a part

Parts = frozenset[States]
Claim = tuple[Parts, Parts]


class _Step(NamedTuple):
    """What parts become with a terminal: reductions that reach below them, and shifted parts."""

    exits: frozenset[tuple[int, int]]
    shifted: Parts


class Inclusion:
    r"""Proves that stacks of a table, which may be general, are as good as others.

    Examples
    --------
    >>> from cfgguide.grammar import lark_frontend
    >>> from cfgguide.grammar.grammar import Grammar
    >>> from cfgguide.grammar.lr.stack import Stack
    >>> grammar = Grammar('start: e\ne: e "+" e | N\nN: "1"', parser="earley")
    >>> table = lark_frontend.load(grammar).parse_table
    >>> inclusion = Inclusion(table)
    >>> stacks = [Stack(0)]
    >>> for name in ("N", "PLUS", "N", "PLUS"):
    ...     terminal = table.terminals.index(name)
    ...     stacks = [after for stack in stacks for after in table.shifts(stack, terminal)]
    >>> parts = [tuple(stack)[::-1] for stack in stacks]
    >>> number = 1 << table.terminals.index("N")
    >>> [part for part in parts if inclusion.holds(part, parts[0], number)] == parts
    True
    """

    def __init__(self, table: ParseTable) -> None:
        self._table = table
        self._lengths: list[int] = table.lengths.tolist()
        self._left_sides: list[int] = table.left_sides.tolist()
        self._goto = memoryview(table.goto.data)
        self._items = items_by_symbol(table)
        self._transitions = table.transitions
        self._symbols: dict[int, set[str]] = {}
        _, symbols, targets = table.edges
        for symbol, target in set(zip(symbols.tolist(), targets.tolist(), strict=True)):
            self._symbols.setdefault(target, set()).add(table.symbols[symbol])
        self._offered: dict[int, int] = {}
        self._shifted: dict[int, int] = {}
        self._reduced: dict[int, dict[int, int]] = {}
        self._returns: dict[int, dict[tuple[int, int], int]] = {}
        self._steps: dict[tuple[States, int], _Step] = {}
        self._proven: dict[Claim, int] = {}  # if one of these terminals is next
        self._open: dict[Claim, int] = {}  # with which no short proof was found

    def holds(self, first: States, second: States, terminals: int) -> bool:
        """Return whether two stacks are known to be as good as each other.

        Parameters
        ----------
        first, second : tuple of int
            Parts of stacks with the same below them.
        terminals : int
            One of these is next.
        """
        return self._is_proven((frozenset([first]), frozenset([second])), terminals)

    def covers(self, first: States, second: States, terminals: int) -> bool:
        """Return whether all that can follow the second stack is known to follow the first."""
        if self._shifted_by(second[-1]) & terminals & ~self.offered(first[-1]):
            return False
        return self._is_proven((frozenset([first, second]), frozenset([first])), terminals)

    def is_idle(self, state: int) -> bool:
        """Return whether a state that is pushed on itself is known to decide nothing."""
        may_be_above = state in self._transitions[state].values()
        return may_be_above and self.holds((state, state), (state,), self.offered(state))

    def offered(self, state: int) -> int:
        """Return the terminals for which a state has an action, and ``$END``."""
        if state not in self._offered:
            row = self._table.action[state].tolist()
            found = sum(1 << place for place, action in enumerate(row) if action != ERROR)
            self._offered[state] = found | 1 << END
        return self._offered[state]

    def _shifted_by(self, state: int) -> int:
        if state not in self._shifted:
            row = self._table.action[state].tolist()
            self._shifted[state] = sum(
                1 << place for place, action in enumerate(row) if action > ERROR
            )
        return self._shifted[state]

    def reduction(self, state: int, terminals: int) -> int | None:
        """Return the production by which a state reduces with each of some terminals, if any.

        None also if it may do anything else with one of them.
        """
        if self._shifted_by(state) & terminals:
            return None
        reduced = self._reduced_by(state).items()
        found = [production for production, group in reduced if group & terminals]
        return found[0] if len(found) == 1 else None

    def _is_proven(self, root: Claim, terminals: int) -> bool:
        if root[0] == root[1] or not terminals & ~self._proven.get(root, 0):
            return True
        if terminals & self._open.get(root, 0):
            return False
        self._forget()
        assumed: dict[Claim, int] = {}
        pending = deque([(root, terminals)])
        while pending:
            check_step()
            claim, needed = pending.popleft()
            needed &= ~(self._proven.get(claim, 0) | assumed.get(claim, 0))
            if claim[0] == claim[1] or not needed:
                continue
            assumed[claim] = assumed.get(claim, 0) | needed
            following = self._resting_on(claim, needed) if _is_small(claim) else None
            if following is None or len(assumed) > MAX_CLAIMS or needed & self._open.get(claim, 0):
                self._open[root] = self._open.get(root, 0) | terminals
                if claim is not root:
                    self._open[claim] = self._open.get(claim, 0) | needed
                return False
            pending += following
        for claim, proven in assumed.items():
            self._proven[claim] = self._proven.get(claim, 0) | proven
        return True

    def _forget(self) -> None:
        """Make room: the tops of stacks are different in every text."""
        if len(self._steps) > _MAX_KNOWN:
            self._steps.clear()
        if len(self._proven) + len(self._open) > _MAX_KNOWN:
            self._proven.clear()
            self._open.clear()

    def _resting_on(self, claim: Claim, terminals: int) -> list[tuple[Claim, int]] | None:
        """Return the claims on which one rests, None if it is false or cannot be proven so."""
        top = _common_top(claim)
        if top is not None and (returns := self._after_returns(claim, top)) is not None:
            return returns
        following: dict[Claim, int] = {}
        terminals &= self._offered_by(claim)
        while terminals:
            lowest = terminals & -terminals
            terminals ^= lowest
            first, second = (self._stepped(parts, lowest.bit_length() - 1) for parts in claim)
            if first.exits != second.exits or bool(first.shifted) != bool(second.shifted):
                return None
            if first.shifted != second.shifted:
                after = first.shifted, second.shifted
                following[after] = self._offered_by(after)
        return list(following.items())

    def _offered_by(self, claim: Claim) -> int:
        terminals = 0
        for part in claim[0] | claim[1]:
            terminals |= self.offered(part[-1])
        return terminals

    def _after_returns(self, claim: Claim, top: int) -> list[tuple[Claim, int]] | None:
        """Return the claims after the reductions of what all parts have on top."""
        following = []
        for (n_popped, left_side), terminals in self._returns_of(top).items():
            exits: list[set[tuple[int, int]]] = []
            after = []
            for parts in claim:
                exits.append(set())
                moved = set()
                for part in parts:
                    n_left = len(part) - 1 - n_popped
                    if n_left <= 0:
                        exits[-1].add((-n_left, left_side))
                        continue
                    target = self._goto[part[n_left - 1], left_side]
                    if target == self._table.end_state and terminals >> END & 1:
                        exits[-1].add(_ACCEPTED)
                    if target != NO_STATE:
                        moved.add((*part[:n_left], target))
                after.append(frozenset(moved))
            if exits[0] != exits[1] or bool(after[0]) != bool(after[1]):
                return None
            if after[0] != after[1]:
                following.append(((after[0], after[1]), terminals))
        return following

    def _stepped(self, parts: Parts, terminal: int) -> _Step:
        steps = [self._step(part, terminal) for part in parts]
        return _Step(
            frozenset().union(*(step.exits for step in steps)),
            frozenset().union(*(step.shifted for step in steps)),
        )

    def _step(self, part: States, terminal: int) -> _Step:
        """Return what a part becomes with a terminal."""
        question = part, terminal
        if question not in self._steps:
            exits, shifted = set(), set()
            tops = [part]
            for here in tops:  # grows while it is walked
                for action in self._table.actions_of(here[-1], terminal):
                    if action > ERROR:
                        shifted.add((*here, action - 1))
                        continue
                    n_left = len(here) - self._lengths[-action - 1]
                    left_side = self._left_sides[-action - 1]
                    if n_left <= 0:
                        exits.add((-n_left, left_side))
                        continue
                    target = self._goto[here[n_left - 1], left_side]
                    after = (*here[:n_left], target)
                    if target == self._table.end_state and terminal == END:
                        exits.add(_ACCEPTED)
                    elif target != NO_STATE and after not in tops:
                        tops.append(after)
            self._steps[question] = _Step(frozenset(exits), frozenset(shifted))
        return self._steps[question]

    def _reduced_by(self, state: int) -> dict[int, int]:
        """Return the productions that a state reduces, ascending, with the terminals of each."""
        if state not in self._reduced:
            found: dict[int, int] = {}
            for terminal in range(self._table.n_terminals):
                for action in self._table.actions_of(state, terminal):
                    if action < ERROR:
                        found[-action - 1] = found.get(-action - 1, 0) | 1 << terminal
            self._reduced[state] = dict(sorted(found.items()))
        return self._reduced[state]

    def _reduced_as(self, state: int) -> dict[tuple[int, int], int]:
        """Return the lengths and left sides that a state reduces, with the terminals of each."""
        found: dict[tuple[int, int], int] = {}
        for production, terminals in self._reduced_by(state).items():
            effect = self._lengths[production], self._left_sides[production]
            found[effect] = found.get(effect, 0) | terminals
        return found

    def _returns_of(self, state: int) -> dict[tuple[int, int], int]:
        """Return the reductions that pop a state and reach below it.

        Returns
        -------
        dict of (int, int) to int
            By how many states are popped below it, and the nonterminal: with which terminals.
        """
        if state not in self._returns:
            returns: dict[tuple[int, int], int] = {}
            items = chain.from_iterable(
                self._items.get(symbol, ()) for symbol in sorted(self._symbols[state])
            )
            ends = item_ends(self._table.productions, self._transitions, state, items)
            for production, dot, last in ends:
                # States may have been joined, and reduce a production of the same length instead.
                effect = self._lengths[production], self._left_sides[production]
                lookahead = self._reduced_as(last).get(effect, 0)
                if lookahead:  # so the state holds this item
                    question = dot - 1, effect[1]
                    returns[question] = returns.get(question, 0) | lookahead
            self._returns[state] = returns
        return self._returns[state]


def _is_small(claim: Claim) -> bool:
    return all(
        len(parts) <= MAX_PARTS and all(len(part) <= MAX_STATES for part in parts)
        for parts in claim
    )


def _common_top(claim: Claim) -> int | None:
    """Return the state that all parts have on top, above another one; None if there is none."""
    tops = {part[-1] for parts in claim for part in parts}
    is_above = all(len(part) > 1 for parts in claim for part in parts)
    return tops.pop() if is_above and len(tops) == 1 else None
