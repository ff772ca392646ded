"""How much text a stack still needs, as far as the parser alone can tell.

In: a parse table and the length of the shortest lexeme of each terminal. Out: :class:`StackCosts`,
which gives for a stack the least sum of such lengths after which ``$END`` is accepted, and the
terminal that comes first.

Every item of the topmost state is valid for the stack: where ``A -> b . c`` stands there, a
shortest string of ``c`` may follow, and then whatever completes the stack with ``A`` in place of
``b``. So a stack leads to others. Reductions that pop one state are followed at once, for each pair
of topmost states; all others lead to lower stacks, so of a stack that grew by a few states only
these are new. ::

    [ { STRING :      item  pair -> STRING : . value      1 for a shortest value, then as below
    [ { pair          item  object -> { pair . }          1
    [ object          item  array -> [ object . ]         1, and the end

The result says where to look first; it promises nothing. It ignores whether these lexemes can stand
side by side, and which conflicts Lark resolved (:mod:`cfgguide.engine.liveness.endings` looks at
both).

Source: Aho, Lam, Sethi, Ullman, "Compilers", section 4.6, on viable prefixes and valid items.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cfgguide.base.archive import Arrays
from cfgguide.base.limits import check_step
from cfgguide.base.remembered import remembered
from cfgguide.grammar.lr.stack import Stack
from cfgguide.grammar.lr.table import END, NO_STATE, ParseTable

_MAX_KNOWN = 10_000  # stacks kept in memory: more are a pause for Python's collector
_MANY = 4  # times a stack's height: its own are kept


class Need(NamedTuple):
    """What a stack needs.

    Attributes
    ----------
    length : float
        Bytes of the shortest completion; infinite if there is none.
    first : int
        The terminal it begins with; `END` if nothing is needed.
    """

    length: float
    first: int


class _Way(NamedTuple):
    """A reduction that a stack can come to: how many states it pops, and what is needed before."""

    n_popped: int
    left: int
    need: Need


_NOTHING = Need(0, END)
_HOPELESS = Need(inf, END)


class StackCosts:
    """The least that stacks need.

    Parameters
    ----------
    table : ParseTable
        The parser.
    lengths : sequence of float, one for each terminal
        Length of the shortest lexeme, at least 1; infinite if there is none.
    stored : dict of str to array, optional
        What :meth:`packed` returned of the same table.
    has_stored_lengths : bool
        Whether that was made with the same lengths.

    Examples
    --------
    >>> from cfgguide.grammar import lark_frontend
    >>> from cfgguide.grammar.grammar import Grammar
    >>> from cfgguide.grammar.lr.table import START_STATE
    >>> table = lark_frontend.load(Grammar('start: "(" start? ")"')).parse_table
    >>> costs = StackCosts(table, [1] * table.n_terminals)
    >>> stack = Stack(START_STATE)
    >>> costs.need(stack).length
    2
    >>> for _ in range(3):
    ...     stack = table.shift(stack, table.terminals.index("LPAR"))
    >>> need = costs.need(stack)
    >>> need.length, table.terminals[need.first]
    (3, 'RPAR')
    """

    def __init__(
        self,
        table: ParseTable,
        lengths: Sequence[float],
        stored: Arrays | None = None,
        *,
        has_stored_lengths: bool = False,
    ) -> None:
        self._table = table
        self._goto = memoryview(table.goto.data)  # quicker to index than the array
        self._shortest: dict[str, Need] = {}
        if stored is not None and has_stored_lengths:
            needs = map(Need, stored["lengths"].tolist(), stored["firsts"].tolist())
            symbols = (*table.terminals, *table.nonterminals)
            self._shortest = dict(zip(symbols, needs, strict=True))
        else:
            self._measure(lengths)
        self._items = _kernels(table) if stored is None else (stored["ends"], stored["items"])
        self._known: dict[Stack, Need] = {}

    def packed(self) -> Arrays:
        """Return what the shortest strings of all symbols need, and the items, as arrays."""
        symbols = (*self._table.terminals, *self._table.nonterminals)
        needs = [self._shortest.get(symbol, _HOPELESS) for symbol in symbols]
        return {
            "lengths": np.array([need.length for need in needs]),
            "firsts": np.array([need.first for need in needs], dtype=np.int32),
            "ends": self._items[0],
            "items": self._items[1],
        }

    def need(self, stack: Stack) -> Need:
        """Return the least that completes a stack."""
        known = self._known.get(stack)
        if known is not None:
            return known
        if len(self._known) > max(_MAX_KNOWN, _MANY * stack.height):
            self._known.clear()
        pending = [stack]
        while pending:  # what a stack needs follows from lower ones
            check_step(0)
            here = pending[-1]
            exits = [(exit_.need, after) for exit_, after in self._left(here)]
            unknown = [after for _, after in exits if after not in self._known]
            if unknown:
                pending += unknown
                continue
            pending.pop()
            self._known[here] = min(
                (_sum(rest, self._known[after]) for rest, after in exits),
                key=lambda need: need.length,
                default=self._at_the_bottom(here),
            )
        return self._known[stack]

    def _left(self, stack: Stack) -> Iterator[tuple[_Way, Stack]]:
        """Yield the ways to leave the topmost state and the one below it, and the stack then."""
        if stack.below is None or self._is_over(stack):
            return
        for exit_ in self._exits_of(stack.state, stack.below.state):
            if exit_.n_popped < stack.height:
                below = stack.pop(exit_.n_popped)
                target = self._goto[below.state, exit_.left]
                if target != NO_STATE:
                    yield exit_, below.push(target)

    def _is_over(self, stack: Stack) -> bool:
        """Return whether the end state comes to the top without another lexeme."""
        assert stack.below is not None, "there are two states"
        exits = self._exits_of(stack.state, stack.below.state)
        return bool(exits) and exits[0].n_popped == 0

    def _at_the_bottom(self, stack: Stack) -> Need:
        """Return what a stack needs that leads to no lower one."""
        if stack.below is None:
            return self._shortest.get(self._table.start_symbol, _HOPELESS)
        exits = self._exits_of(stack.state, stack.below.state)
        return exits[0].need if exits and not exits[0].n_popped else _HOPELESS

    @remembered
    def _exits_of(self, state: int, below: int) -> list[_Way]:
        """Return the shortest ways to pop at least two states, of which the topmost are given.

        A reduction that pops one state puts another on the same state below it. If one is the end
        state, there is one way alone, which pops nothing.
        """
        needs = {state: _NOTHING}
        found: dict[tuple[int, int], Need] = {}
        pending = [state]
        while pending:
            check_step(0)
            pending.sort(key=lambda each: needs[each].length, reverse=True)
            here = pending.pop()
            if here == self._table.end_state:
                found = {(0, 0): needs[here]}
                break
            for n_popped, left, rest in self._ways_of(here):
                need = _sum(needs[here], rest)
                if n_popped > 1:
                    if need.length < found.get((n_popped, left), _HOPELESS).length:
                        found[n_popped, left] = need
                    continue
                target = self._goto[below, left]
                if target == NO_STATE or need.length >= needs.get(target, _HOPELESS).length:
                    continue
                needs[target] = need
                pending.append(target)
        return [_Way(*way, need) for way, need in found.items()]

    # -- the grammar ------------------------------------------------------------------------

    def _measure(self, lengths: Sequence[float]) -> None:
        """Find the shortest string that each symbol derives, the shortest of all first."""
        productions = self._table.productions
        using: dict[str, list[int]] = {}
        n_open = []  # per production, of its symbols
        pending: list[tuple[float, int, str]] = []
        for number, (left, right) in enumerate(productions):
            n_open.append(len(right))
            for symbol in right:
                check_step(0)
                using.setdefault(symbol, []).append(number)
            if not right:
                heapq.heappush(pending, (0, END, left))
        for number, name in enumerate(self._table.terminals):
            if lengths[number] < inf:
                heapq.heappush(pending, (lengths[number], number, name))
        while pending:
            length, first, symbol = heapq.heappop(pending)
            if symbol in self._shortest:
                continue
            self._shortest[symbol] = Need(length, first)
            for number in using.get(symbol, ()):
                check_step(0)
                n_open[number] -= 1
                left, right = productions[number]
                if not n_open[number] and left not in self._shortest:
                    heapq.heappush(pending, (*self._of_symbols(right), left))

    def _of_symbols(self, symbols: Sequence[str]) -> Need:
        check_step(0)
        needs = [self._shortest.get(symbol, _HOPELESS) for symbol in symbols]
        first = next((need.first for need in needs if need.length), END)
        return Need(sum(need.length for need in needs), first)

    @remembered
    def _ways_of(self, state: int) -> list[_Way]:
        """Return the shortest ways to come to the end of the items of a state."""
        shortest: dict[tuple[int, int], Need] = {}
        ends, items = self._items
        for production, dot in items[ends[state] : ends[state + 1]].tolist():
            way = dot, int(self._table.left_sides[production])
            need = self._of_symbols(self._table.productions[production][1][dot:])
            if need.length < shortest.get(way, _HOPELESS).length:
                shortest[way] = need
        return [_Way(*way, need) for way, need in shortest.items()]


def _kernels(table: ParseTable) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the kernel items of the states.

    A state goes on with a nonterminal just if it was closed over its productions.

    Returns
    -------
    ends : int32, shape (n_states + 1,)
        Where the items of each state begin.
    items : int32, shape (n_items, 2)
        Productions, and how many symbols are before the dot.
    """
    following = {name: table.goto[:, number] for number, name in enumerate(table.nonterminals)}
    for number, name in enumerate(table.terminals):
        check_step(0)
        following[name] = np.where(table.action[:, number] > 0, table.action[:, number] - 1, -1)
    # The beginnings of productions are a tree: its nodes, and the states after each.
    reached = [np.flatnonzero(following[name] != NO_STATE) for name in table.nonterminals]
    nodes: dict[tuple[int, str], int] = {}
    roots = {name: number for number, name in enumerate(table.nonterminals)}
    visited: list[int] = []
    for left, right in table.productions:
        node = roots[left]
        for symbol in right:
            step = node, symbol
            if step not in nodes:
                check_step()
                nodes[step] = len(reached)
                targets = following[symbol][reached[node]]
                targets = targets[targets != NO_STATE]
                reached.append(np.unique(targets) if len(targets) > 1 else targets)
            node = nodes[step]
            visited.append(node)
    every = np.concatenate([*map(reached.__getitem__, visited), np.empty(0, np.intp)])
    lengths = [len(right) for _, right in table.productions]
    dots = np.concatenate([*map(np.arange, lengths), np.empty(0, np.intp)]) + 1
    productions = np.repeat(np.arange(len(lengths)), lengths)
    items = np.column_stack([productions, dots]).astype(np.int32)
    ends = np.searchsorted(np.sort(every), np.arange(table.n_states + 1)).astype(np.int32)
    n_states = [len(reached[node]) for node in visited]
    return ends, np.repeat(items, n_states, axis=0)[np.argsort(every, kind="stable")]


def _sum(first: Need, then: Need) -> Need:
    return Need(first.length + then.length, first.first if first.length else then.first)
