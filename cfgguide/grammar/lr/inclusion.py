"""Stacks of a general table that others stand for: whatever can follow them follows the others.

In: a :class:`~cfgguide.grammar.lr.table.ParseTable` that may keep conflicts. Out:
:class:`Inclusion`, which proves that a set of stacks accepts the same texts with and without one of
them, or that two stacks accept the same. With ``e: e "+" e | N``, after ``1+1+`` and before another
number::

    stacks            ( e + e +    ( e +          the second stands for both
    shift N           ( e + e + N  ( e + N        one state on both: what matters is its reduction
    e, before `+`     ( e + e      ( e            the first is reduced to the second, too

A *claim* says of a stack and of a set of others: what can follow it, if one of some terminals is
next, can follow one of them. It holds if for each such terminal the others reduce below what is
known of them as it does, and accept if it does, and if all that it has become by the shift is one
of what they have become, or is claimed to be followed, too. Each is claimed by itself, since of
what a conflict makes, every part may need a reason of its own. A claim that is being proven is
taken to hold: if none fails, all hold. So what is left of a proof is finite, though stacks are not.

What a stack has on top, and some of the others as well, does the same on all of them until it is
reduced. So it is tried first whether those that are left then follow from each other. In texts with
``**bold**`` and ``_italic_`` parts, each mark may begin a part or end one::

    after `**a**`     ( ** **       (      the second stands for both: what ends the two parts of
                                           the first is a part in the second
    after `**a** _`   ( ** ** _     ( _    the same on top: compared without it

Parts of stacks are tuples of parse states, the lowest first. The lowest is the same in all parts of
a claim, and stands for all stacks that end with it. Sets of terminals are integers with a bit for
each.

Source: Bonchi, Pous 2013, "Checking NFA equivalence with bisimulations up to congruence", for sets
of states; the step that passes over what stacks have on top is that of
:mod:`cfgguide.grammar.lr.equivalence`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import NamedTuple

from cfgguide.base.limits import check_step
from cfgguide.base.remembered import remembered_up_to
from cfgguide.grammar.lr.state_actions import ACCEPTED, StateActions, States
from cfgguide.grammar.lr.table import END, ERROR, NO_STATE, ParseTable


class Effort(NamedTuple):
    """How hard proofs are looked for.

    Attributes
    ----------
    n_claims : int
        Claims that one proof looks at, those included that fail.
    credit : int
        Claims that failed proofs for stacks with one state on top may look at before they may look
        at one. For most states either one of the first proofs is found or none ever is.
    """

    n_claims: int
    credit: int


#: Most proofs that are found need 12 claims; with more than 20, those that fail cost more than the
#: others spare (of three ambiguous grammars, a third of the time).
SHORTER_STACKS, FEWER_READINGS = Effort(20, 100), Effort(20, 1_000)
#: Where there are many readings, proofs that are found need 160 at most.
FEWER_OF_MANY = Effort(200, 400)
_CREDIT, _MAX_CREDIT = 10, 1_000  # what each claim of a proof that is found adds, and the most
_MAX_DEPTH = 50  # of claims that rest on each other
MAX_STATES = 24  # of a part in a proof
MAX_PARTS = 8  # of a set in a proof
_MAX_KNOWN = 10_000  # steps and claims that are kept: more are a pause for Python's collector

Parts = frozenset[States]
Claim = tuple[States, Parts]


class _Step(NamedTuple):
    """What parts become with a terminal: reductions that reach below them, and shifted parts."""

    exits: frozenset[tuple[int, int]]
    shifted: Parts


class _Proof:
    """Claims that are taken to hold, each for some terminals, with a way back."""

    def __init__(self, n_claims: int, known_open: dict[Claim, int]) -> None:
        self.assumed: dict[Claim, int] = {}
        self.open = known_open
        self.n_left = n_claims
        self.depth = 0
        self._before: list[tuple[Claim, int]] = []

    @property
    def place(self) -> int:
        """Where to go back to."""
        return len(self._before)

    def assume(self, claim: Claim, terminals: int) -> None:
        """Take a claim to hold for more terminals."""
        self.n_left -= 1
        before = self.assumed.get(claim, 0)
        self._before.append((claim, before))
        self.assumed[claim] = before | terminals

    def go_back(self, place: int) -> None:
        """Assume no more than at a place."""
        while len(self._before) > place:
            claim, before = self._before.pop()
            self.assumed[claim] = before


class Inclusion(StateActions):
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
        super().__init__(table)
        self._proven: dict[Claim, int] = {}  # if one of these terminals is next
        # With which no proof was found that looks at so many claims.
        self._open: defaultdict[int, dict[Claim, int]] = defaultdict(dict)
        self._credits: dict[tuple[int, Effort], int] = {}  # by the state on top of what covers

    def holds(self, first: States, second: States, terminals: int) -> bool:
        """Return whether two stacks are known to be as good as each other.

        Parameters
        ----------
        first, second : tuple of int
            Parts of stacks with the same below them.
        terminals : int
            One of these is next.
        """
        return self.covers(first, second, terminals, SHORTER_STACKS) and self.covers(
            second, first, terminals, SHORTER_STACKS
        )

    def covers(
        self, first: States, second: States, terminals: int, effort: Effort = FEWER_READINGS
    ) -> bool:
        """Return whether all that can follow the second stack is known to follow the first."""
        if self.actions_of(second[-1]).shifted & terminals & ~self.offered(first[-1]):
            return False
        self._forget()
        n_claims = effort.n_claims if self.is_worth(first[-1], effort) else 1
        proof = _Proof(n_claims, self._open[n_claims])
        is_proven = self._follows(second, frozenset([first]), terminals, proof)
        n_used = n_claims - proof.n_left
        credit = self._credits.get((first[-1], effort), effort.credit)
        credit += _CREDIT * n_used if is_proven else -n_used
        self._credits[first[-1], effort] = min(credit, _MAX_CREDIT)
        if not is_proven:
            return False
        for claim, proven in proof.assumed.items():
            self._proven[claim] = self._proven.get(claim, 0) | proven
        return True

    def is_worth(self, state: int, effort: Effort) -> bool:
        """Return whether more than one claim is looked at for stacks with a state on top."""
        return self._credits.get((state, effort), effort.credit) > 0

    def is_idle(self, state: int) -> bool:
        """Return whether a state that is pushed on itself is known to decide nothing."""
        may_be_above = state in self._table.transitions[state].values()
        return may_be_above and self.holds((state, state), (state,), self.offered(state))

    def _forget(self) -> None:
        """Make room: the tops of stacks are different in every text."""
        if len(self._proven) + sum(map(len, self._open.values())) > _MAX_KNOWN:
            self._proven.clear()
            self._open.clear()
            self._credits.clear()

    def _follows(self, part: States, others: Parts, terminals: int, proof: _Proof) -> bool:
        """Return whether what can follow a part is proven to follow one of the others."""
        check_step()
        claim = part, others
        needed = terminals & self.offered(part[-1])
        needed &= ~(self._proven.get(claim, 0) | proof.assumed.get(claim, 0))
        if part in others or not needed:
            return True
        if needed & proof.open.get(claim, 0) or not proof.n_left or proof.depth > _MAX_DEPTH:
            return False
        place = proof.place
        is_small = len(others) <= MAX_PARTS and len(part) <= MAX_STATES
        if is_small and max(map(len, others), default=0) <= MAX_STATES:
            proof.assume(claim, needed)
            proof.depth += 1
            inside = proof.place
            is_proven = self._follows_returned(part, others, proof)
            if not is_proven:
                proof.go_back(inside)
                is_proven = self._follows_shifted(part, others, needed, proof)
            proof.depth -= 1
            if is_proven:
                return True
            proof.go_back(place)
        if proof.n_left or not place:
            proof.open[claim] = proof.open.get(claim, 0) | needed
        return False

    def _follows_returned(self, part: States, others: Parts, proof: _Proof) -> bool:
        """Return whether it follows those with the same state on top, once that is reduced."""
        top = part[-1]
        alike = [other for other in others if other[-1] == top and len(other) > 1]
        if len(part) == 1 or not alike:
            return False
        for (n_popped, left_side), terminals in self.returns_of(top).items():
            exits, after = self._returned([part], n_popped, left_side, terminals)
            other_exits, others_after = self._returned(alike, n_popped, left_side, terminals)
            if not exits <= other_exits:
                return False
            if not all(self._follows(each, others_after, terminals, proof) for each in after):
                return False
        return True

    def _returned(
        self, parts: Iterable[States], n_popped: int, left_side: int, terminals: int
    ) -> tuple[set[tuple[int, int]], Parts]:
        """Return which reductions of what parts have on top reach below them, and the others."""
        exits, after = set(), set()
        for part in parts:
            n_left = len(part) - 1 - n_popped
            if n_left <= 0:
                exits.add((-n_left, left_side))
                continue
            target = self._goto[part[n_left - 1], left_side]
            if target == self._table.end_state and terminals >> END & 1:
                exits.add(ACCEPTED)
            if target != NO_STATE:
                after.add((*part[:n_left], target))
        return exits, frozenset(after)

    def _follows_shifted(self, part: States, others: Parts, terminals: int, proof: _Proof) -> bool:
        """Return whether it follows the others with each of some terminals."""
        while terminals:
            terminal = (terminals & -terminals).bit_length() - 1
            terminals &= ~self._alike[terminal]
            step = self._step(part, terminal)
            if not step.exits and not step.shifted:
                continue
            steps = [self._step(other, terminal) for other in others]
            if not step.exits <= frozenset().union(*(each.exits for each in steps)):
                return False
            after: Parts = frozenset().union(*(each.shifted for each in steps))
            for each in step.shifted:
                if not self._follows(each, after, self.offered(each[-1]), proof):
                    return False
        return True

    @cached_property
    def _alike(self) -> list[int]:
        """For each terminal, as a set, all with which every state does just the same.

        States that do the same were joined, so it is true of operators and of words of one kind.
        """
        table = self._table
        others = defaultdict[int, list[tuple[int, int]]](list)
        for state, terminal, production in table.alternatives.tolist():
            others[terminal].append((state, production))
        kinds = [
            (terminal == END, table.action[:, terminal].tobytes(), tuple(others[terminal]))
            for terminal in range(table.n_terminals)
        ]
        alike = defaultdict[Hashable, int](int)
        for terminal, kind in enumerate(kinds):
            alike[kind] |= 1 << terminal
        return [alike[kind] for kind in kinds]

    @remembered_up_to(_MAX_KNOWN)
    def _step(self, part: States, terminal: int) -> _Step:
        """Return what a part becomes with a terminal."""
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
                    exits.add(ACCEPTED)
                elif target != NO_STATE and after not in tops:
                    tops.append(after)
        return _Step(frozenset(exits), frozenset(shifted))
