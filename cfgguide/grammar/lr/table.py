"""LALR(1) tables as arrays, and the stack machine that runs them.

In: Lark's tables, renumbered canonically by :mod:`cfgguide.grammar.lark_frontend`, or those of a
grammar for Lark's Earley parser (:mod:`cfgguide.grammar.lr.general`). Out: a :class:`ParseTable`
and, on it, the moves of the textbook: reductions until a shift, and acceptance at the end.

Actions are packed in one integer each, so that kernels can run them::

    0 error          s + 1 shift, go to state s          -(p + 1) reduce by production p

A table that keeps its conflicts is *general*: a state may have several actions for a terminal, and
all of them are taken, each on a stack of its own (generalised LR). A shift then leads to several
stacks, which share what they have in common.

Source: Aho, Lam, Sethi, Ullman, "Compilers", section 4.6; Lark's ``ParserState.feed_token``; Tomita
1985, "Efficient Parsing for Natural Language", chapter 3.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import numpy as np
import numpy.typing as npt

from cfgguide.automata.partition import refined
from cfgguide.base.bounded import BoundedDict
from cfgguide.base.limits import check_step
from cfgguide.base.numbered import Numbered
from cfgguide.grammar.lr.stack import Stack

ERROR = 0  # in `action`
NO_STATE = -1  # in `goto`
END = 0  # the terminal $END, fed when the text ends
START_STATE = 0
_MAX_SHIFTS = 10_000  # that a general table remembers
_N_COLUMNS = 16  # pushes in a row of what `refined` is given; few states have more

Production = tuple[str, tuple[str, ...]]  # left-hand side and right-hand side


@dataclass(frozen=True)
class ParseTable:
    """The LALR(1) automaton of a grammar for one start symbol.

    States are numbered breadth-first from the start state over sorted symbols, terminals and
    nonterminals by name: the same grammar gives the same arrays in every process.

    Attributes
    ----------
    terminals : tuple of str
        Names; terminal 0 is ``$END``.
    nonterminals : tuple of str
        Names.
    productions : tuple of Production
        Left-hand side and right-hand side.
    action : int32, shape (n_states, n_terminals)
        See the module's text.
    goto : int32, shape (n_states, n_nonterminals)
        Next state, -1 = none.
    lengths : int32, shape (n_productions,)
        Number of symbols on the right-hand side.
    left_sides : int32, shape (n_productions,)
        Nonterminal on the left-hand side.
    set_of_state : int32, shape (n_states,)
        The terminal set that the lexer uses when this state is on top.
    end_state : int
        The state in which ``$END`` accepts.
    conflicts : tuple of str
        Terminals for which Lark resolved a conflict, in some state, so that the table does less
        with them than the productions say.
    alternatives : int32, shape (n_alternatives, 3)
        The conflicts that are kept: a state, a terminal, and a production that may be reduced there
        besides what `action` has. Sorted.
    """

    terminals: tuple[str, ...]
    nonterminals: tuple[str, ...]
    productions: tuple[Production, ...]
    action: npt.NDArray[np.int32]
    goto: npt.NDArray[np.int32]
    lengths: npt.NDArray[np.int32]
    left_sides: npt.NDArray[np.int32]
    set_of_state: npt.NDArray[np.int32]
    end_state: int
    conflicts: tuple[str, ...]
    alternatives: npt.NDArray[np.int32] = field(
        default_factory=lambda: np.zeros((0, 3), dtype=np.int32)
    )

    @property
    def is_general(self) -> bool:
        """Whether some state has several actions for a terminal."""
        return len(self.alternatives) > 0

    @property
    def n_states(self) -> int:
        """Number of parse states."""
        return len(self.action)

    @property
    def n_terminals(self) -> int:
        """Number of terminals, ``$END`` included."""
        return len(self.terminals)

    @property
    def start_symbol(self) -> str:
        """The nonterminal of whole texts; empty in a table that has none."""
        (starts,) = np.nonzero(self.goto[START_STATE] == self.end_state)
        return self.nonterminals[starts[0]] if len(starts) else ""

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The names of terminals, then of nonterminals."""
        return self.terminals + self.nonterminals

    @cached_property
    def edges(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """From which states, with which of the `symbols`, and to which states one comes."""
        shifts, gotos = np.flatnonzero(self.action > 0), np.flatnonzero(self.goto != NO_STATE)
        shifted = np.divmod(shifts, self.n_terminals)
        gone = np.divmod(gotos, len(self.nonterminals))  # quicker than the places of a matrix
        return (
            np.append(shifted[0], gone[0]),
            np.append(shifted[1], gone[1] + self.n_terminals),
            np.append(self.action.ravel()[shifts] - 1, self.goto.ravel()[gotos]),
        )

    @cached_property
    def transitions(self) -> Mapping[int, Mapping[str, int]]:
        """The state after each symbol, by name, for each state; made when one is asked for."""
        return _Transitions(self)

    def shift(self, stack: Stack, terminal: int) -> Stack | None:
        """Return the stack after the reductions and the shift of a terminal, or None if refused.

        Where Lark resolves a conflict, reductions may go on for ever; these are refused.
        """
        reductions = _Reductions(stack) if self.may_repeat else None
        actions = self._actions
        while True:
            action = actions[stack.state, terminal]
            if action == ERROR:
                return None
            if action > 0:
                return stack.push(action - 1)
            stack = self.reduced(stack, -action - 1)
            if reductions is not None and reductions.repeat(stack):
                return None

    def shifts(self, stack: Stack, terminal: int) -> tuple[Stack, ...]:
        """Return all stacks after reductions and the shift of a terminal; none if it is refused."""
        if not self.is_general:
            after = self.shift(stack, terminal)
            return () if after is None else (after,)
        known = self._known_shifts.get((stack, terminal))
        if known is None:
            actions = self._actions
            shifted = dict.fromkeys(
                here.push(action - 1)
                for here in self._reductions_of(stack, terminal)
                if (action := actions[here.state, terminal]) > 0
            )
            known = self._known_shifts[stack, terminal] = tuple(shifted)
        return known

    @cached_property
    def _known_shifts(self) -> BoundedDict[tuple[Stack, int], tuple[Stack, ...]]:
        """Shifts of a general table: the tokens of one mask ask for few, each a hundred times."""
        return BoundedDict(_MAX_SHIFTS)

    def taken(self, stack: Stack, terminals: Iterable[int], most: int) -> set[int]:
        """Return those of some terminals that may come next, as far as `most` stacks tell.

        Terminals that cause the same reduction are looked at together. What more stacks would
        decide is there.
        """
        found: set[int] = set()
        pending = [(stack, list(terminals))]
        for here, asked in islice(pending, most):  # grows while it is walked
            check_step()
            row = self.action[here.state].tolist()
            together: defaultdict[int, list[int]] = defaultdict(list)
            for terminal in asked:
                together[row[terminal]].append(terminal)
                for production in self._alternatives.get((here.state, terminal), ()):
                    together[-production - 1].append(terminal)
            for action, alike in together.items():
                if action > ERROR:
                    found.update(alike)
                elif action < ERROR:
                    pending.append((self.reduced(here, -action - 1), alike))
        return found.union(*(asked for _, asked in pending[most:]))

    def _reductions_of(self, stack: Stack, terminal: int) -> Iterator[Stack]:
        """Yield a stack and all that reductions before a terminal make of it, each once.

        In the tables that are made here no nonterminal is empty or derives itself alone, so they
        end.
        """
        found = {stack}
        pending = [stack]
        for here in pending:  # grows while it is walked
            yield here
            for action in self.actions_of(here.state, terminal):
                if action < ERROR:
                    reduced = self.reduced(here, -action - 1)
                    if reduced not in found:
                        found.add(reduced)
                        pending.append(reduced)

    def actions_of(self, state: int, terminal: int) -> list[int]:
        """Return all actions of a state for a terminal, as `action` has them; none if refused."""
        action = self._actions[state, terminal]
        more = self._alternatives.get((state, terminal), ())
        return [action, *(-production - 1 for production in more)] if action else []

    @cached_property
    def choices(self) -> npt.NDArray[np.int32]:
        """Where the `alternatives` of a state for a terminal begin in `choice_productions`.

        Shape (n_states, n_terminals), 0 where there are none; (1, 1) without any alternatives.
        """
        if not self.is_general:
            return np.zeros((1, 1), dtype=np.int32)
        choices = np.zeros(self.action.shape, dtype=np.int32)
        place = 1
        for (state, terminal), productions in self._alternatives.items():
            choices[state, terminal] = place
            place += 1 + len(productions)
        return choices

    @cached_property
    def choice_productions(self) -> npt.NDArray[np.int32]:
        """The `alternatives`: for each state and terminal how many there are, and the productions.

        The first number is of none.
        """
        parts = [0]
        for productions in self._alternatives.values():
            parts += [len(productions), *productions]
        return np.array(parts, dtype=np.int32)

    def is_sentence(self, stack: Stack) -> bool:
        """Return whether the text may end here: whether ``$END`` leads to acceptance."""
        if self.is_general:
            return any(
                here.state == self.end_state and here is not stack
                for here in self._reductions_of(stack, END)
            )
        reductions = _Reductions(stack) if self.may_repeat else None
        actions = self._actions
        while True:
            action = actions[stack.state, END]
            if action >= 0:
                return False
            stack = self.reduced(stack, -action - 1)
            if stack.state == self.end_state:
                return True
            if reductions is not None and reductions.repeat(stack):
                return False

    @cached_property
    def max_reductions(self) -> int:
        """More than the reductions that can come before a shift, if they end.

        They always end unless the table :attr:`may_repeat`. Of such grammars Lark takes only those
        whose conflicts it resolves. A parser that does not look for repetition may stop after so
        many reductions.
        """
        return 1 << 16 if self.may_repeat else 1 << 62

    @cached_property
    def may_repeat(self) -> bool:
        """Whether some nonterminal derives itself alone, or after symbols that may be empty."""
        return _may_repeat(self.productions)

    def deriving(self, is_usable: Sequence[bool]) -> npt.NDArray[np.bool_]:
        """Return which nonterminals derive some string of usable terminals.

        Parameters
        ----------
        is_usable : sequence of bool, one for each terminal
            Which terminals may occur.

        Returns
        -------
        bool, shape (n_nonterminals,)
        """
        derived = {name for name, usable in zip(self.terminals, is_usable, strict=True) if usable}
        missing = [(left, {*right} - derived) for left, right in self.productions]
        waiting = defaultdict[str, list[int]](list)
        for number, (_, symbols) in enumerate(missing):
            for symbol in symbols:
                waiting[symbol].append(number)
        found = [left for left, symbols in missing if not symbols]
        for name in found:  # grows
            derived.add(name)
            for number in waiting.pop(name, ()):
                left, symbols = missing[number]
                symbols.remove(name)
                if not symbols:
                    found.append(left)
        return np.array([name in derived for name in self.nonterminals])

    def pushes(
        self, is_written: Sequence[bool]
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Return pairs of states of which one may lie directly above the other, in stacks of texts.

        Parameters
        ----------
        is_written : sequence of bool, one for each terminal
            Which terminals occur in texts; nonterminals do that derive strings of them.

        Returns
        -------
        below, above : int, shape (n_pairs,)
            The states; a pair may come several times.
        """
        is_derived = self.deriving(is_written)
        shifts = np.nonzero((self.action > 0) & is_written)
        gotos = np.nonzero((self.goto != NO_STATE) & is_derived)
        below = np.append(shifts[0], gotos[0])
        above = np.append(self.action[shifts] - 1, self.goto[gotos]).astype(np.intp)
        is_reached = np.zeros(self.n_states, dtype=np.bool_)
        pending = np.array([START_STATE])
        while len(pending):
            is_reached[pending] = True
            is_pending = np.zeros(self.n_states, dtype=np.bool_)
            is_pending[pending] = True
            after = np.unique(above[is_pending[below]])
            pending = after[~is_reached[after]]
        return below[is_reached[below]], above[is_reached[below]]

    def reached(self, is_written: Sequence[bool]) -> npt.NDArray[np.bool_]:
        """Return which states occur in stacks of texts of some terminals; shape (n_states,)."""
        is_reached = np.zeros(self.n_states, dtype=np.bool_)
        is_reached[START_STATE] = True
        is_reached[self.pushes(is_written)[1]] = True
        return is_reached

    def first_alike(self, labels: Iterable[object]) -> npt.NDArray[np.int32]:
        """Return, for each state, the first of its label that does the same on every stack.

        Two do if they pop as many states for the same nonterminals on each terminal, and push
        states that do the same on each symbol.

        Parameters
        ----------
        labels : iterable of object
            One of each state; states with different labels are kept apart.

        Returns
        -------
        int32, shape (n_states,)
        """
        pushing, symbols, pushed = self._pushed()
        reducing, effects = self._reductions_of_states()
        numbers = Numbered[object]()
        kinds = []
        for state, label in enumerate(labels):
            check_step(0)
            does = [
                array[slice(*ends)].tobytes()
                for array, ends in (
                    (symbols, pushing[state : state + 2]),
                    (effects, reducing[state : state + 2]),
                )
            ]
            kind = (label, state == self.end_state, *does)
            kinds.append(numbers[kind])
        classes = _refined(np.array(kinds), pushing, pushed)
        _, first, classes = np.unique(classes, return_index=True, return_inverse=True)
        return np.array(first[classes], dtype=np.int32)

    def _pushed(
        self,
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.int32]]:
        """Return where each state begins among all pushes, and their symbols and what is pushed."""
        shifts, gotos = np.nonzero(self.action > ERROR), np.nonzero(self.goto != NO_STATE)
        states = np.append(shifts[0], gotos[0])
        symbols = np.append(shifts[1], gotos[1] + self.n_terminals)
        pushed = np.append(self.action[shifts] - 1, self.goto[gotos])
        order = np.argsort(states, kind="stable")
        offsets = np.searchsorted(states[order], np.arange(self.n_states + 1))
        return offsets, symbols[order], pushed[order]

    def _reductions_of_states(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int64]]:
        """Return where each state begins among all reductions, and what they do, as numbers."""
        states, terminals = np.nonzero(self.action < ERROR)
        productions = -self.action[states, terminals] - 1
        rows, columns, others = self.alternatives.T
        states, terminals = np.append(states, rows), np.append(terminals, columns)
        productions = np.append(productions, others)
        n_lengths, n_left_sides = int(self.lengths.max()) + 1, len(self.nonterminals)
        n_effects = self.n_terminals * n_lengths * n_left_sides
        effects = terminals * n_lengths + self.lengths[productions]
        effects = states * n_effects + effects * n_left_sides + self.left_sides[productions]
        effects = np.unique(effects) if len(rows) else effects  # two may do the same
        offsets = np.searchsorted(effects, np.arange(self.n_states + 1) * n_effects)
        return offsets, effects % n_effects

    def reduced(self, stack: Stack, production: int) -> Stack:
        """Return the stack after one reduction."""
        n_popped, left_side = self._effects[production]
        below = stack.pop(n_popped)
        return below.push(self._gotos[below.state, left_side])

    # Single numbers: quicker to read than those of an array.

    @cached_property
    def _actions(self) -> memoryview:
        return memoryview(self.action.data)

    @cached_property
    def _alternatives(self) -> dict[tuple[int, int], tuple[int, ...]]:
        """The productions of `alternatives`, by state and terminal."""
        found: dict[tuple[int, int], tuple[int, ...]] = {}
        for state, terminal, production in self.alternatives.tolist():
            found[state, terminal] = (*found.get((state, terminal), ()), production)
        return found

    @cached_property
    def _gotos(self) -> memoryview:
        return memoryview(self.goto.data)

    @cached_property
    def _effects(self) -> list[tuple[int, int]]:
        return list(zip(self.lengths.tolist(), self.left_sides.tolist(), strict=True))


class _Transitions(dict[int, dict[str, int]]):
    """`ParseTable.transitions`: of large tables few are needed."""

    def __init__(self, table: ParseTable) -> None:
        self._table = table

    def __missing__(self, state: int) -> dict[str, int]:
        table = self._table
        targets = np.append(table.action[state] - 1, table.goto[state])
        found = np.flatnonzero(targets >= 0)
        names = (table.symbols[symbol] for symbol in found.tolist())
        row = self[state] = dict(zip(names, targets[found].tolist(), strict=True))
        return row


class _Reductions:
    """Notices when the reductions before a shift repeat themselves.

    What follows depends on the state on top and, once that is popped, on what lies below. So the
    reductions repeat if the same state comes to the top again of an untouched rest, or above
    itself before it is popped.
    """

    def __init__(self, stack: Stack) -> None:
        # Ascending, the heights that the top reached and has not sunk below since, and the states
        # that were there; the last of these has not been popped.
        self._heights = [stack.height]
        self._seen = [[stack.state]]

    def repeat(self, stack: Stack) -> bool:
        """Return whether the reductions repeat themselves with this one; note it if not."""
        while self._heights and self._heights[-1] > stack.height:
            self._heights.pop()
            self._seen.pop()
        if not self._heights or self._heights[-1] < stack.height:
            self._heights.append(stack.height)
            self._seen.append([])
        below = (states[-1] for states in self._seen[:-1])
        if stack.state in self._seen[-1] or stack.state in below:
            return True
        self._seen[-1].append(stack.state)
        return False


def _refined(
    kinds: npt.NDArray[np.int64], offsets: npt.NDArray[np.intp], pushed: npt.NDArray[np.int32]
) -> npt.NDArray[np.int64]:
    """Return the coarsest refinement of the kinds of states whose members push the same classes.

    Members of one kind push on the same symbols, so that no column for each symbol is needed, most
    of which would be empty. What does not fit into a row goes on in another one.
    """
    n_states = len(kinds)
    n_pushed = np.diff(offsets)
    first_rows = np.cumsum(np.append(n_states, np.maximum(n_pushed - 1, 0) // _N_COLUMNS))
    end = int(first_rows[-1])  # one more row, into which all goes that pushes nothing
    columns = np.full((end + 1, _N_COLUMNS + 1), end, dtype=np.int32)
    states = np.repeat(np.arange(n_states), n_pushed)
    numbers, places = np.divmod(np.arange(len(pushed)) - offsets[states], _N_COLUMNS)
    rows = np.where(numbers == 0, states, first_rows[states] + numbers - 1)
    columns[rows, places] = pushed
    before = rows[np.flatnonzero(np.diff(rows, prepend=-1))]
    goes_on = np.flatnonzero(before[1:] >= n_states)
    columns[before[goes_on], _N_COLUMNS] = before[goes_on + 1]
    labels = np.append(kinds, np.full(end + 1 - n_states, -1))
    return refined(columns, labels)[:n_states]


def _may_repeat(productions: tuple[Production, ...]) -> bool:
    """Return whether a nonterminal derives itself alone, or after symbols that may be empty."""
    nullable: set[str] = set()
    size = -1
    while size != len(nullable):
        size = len(nullable)
        nullable = {left for left, right in productions if nullable.issuperset(right)}
    numbers = {left: index for index, left in enumerate(dict(productions))}
    first, alone = np.zeros((2, len(numbers), len(numbers)), dtype=np.bool_)
    hidden: list[tuple[int, int]] = []
    for left, right in productions:
        for index, symbol in enumerate(right):
            if symbol in numbers:
                edge = numbers[left], numbers[symbol]
                first[edge] = True
                if index:
                    hidden.append(edge)
                if nullable.issuperset(right[index + 1 :]):
                    alone[edge] = True
            if symbol not in nullable:
                break
    return _has_cycle(alone) or any(
        reached[symbol, left] or symbol == left
        for reached in ([_closed(first)] if hidden else [])
        for left, symbol in hidden
    )


def _has_cycle(edges: npt.NDArray[np.bool_]) -> bool:
    """Return whether some node reaches itself: whether any is left once ends are taken away."""
    n_after, before = edges.sum(axis=1), edges.T.copy()
    ends = np.flatnonzero(n_after == 0).tolist()
    for node in ends:  # grows
        n_after[before[node]] -= 1
        ends += np.flatnonzero(before[node] & (n_after == 0)).tolist()
    return len(ends) < len(edges)


def _closed(edges: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return the pairs of nodes in which the first reaches the second."""
    reached = edges.copy()
    for node in range(len(edges)):
        reached[reached[:, node]] |= reached[node]
    return reached
