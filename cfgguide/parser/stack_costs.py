"""How much text a stack still needs, as far as the parser alone can tell.

In: a parse table and the length of the shortest lexeme of each terminal. Out: :class:`StackCosts`,
which gives for a stack the least sum of such lengths after which ``$END`` is accepted, and the
terminal that comes first.

Every item of the topmost state is valid for the stack: where ``A -> b . c`` stands there, a
shortest string of ``c`` may follow, and then whatever completes the stack with ``A`` in place of
``b``. So a stack leads to others, each known from a shorter one, and of a stack that grew by a few
states only these are new. ::

    [ { STRING :      item  pair -> STRING : . value      1 for a shortest value, then as below
    [ { pair          item  object -> { pair . }          1
    [ object          item  array -> [ object . ]         1, and the end

The result says where to look first; it promises nothing. It ignores whether these lexemes can stand
side by side, and which conflicts Lark resolved (:mod:`cfgguide.guide.endings` looks at both).

Source: Aho, Lam, Sethi, Ullman, "Compilers", section 4.6, on viable prefixes and valid items.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from cfgguide.parser.items import Item, kernels
from cfgguide.parser.stack import Stack
from cfgguide.parser.table import END, NO_STATE, ParseTable

_MAX_KNOWN = 50_000  # stacks kept in memory


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

    Examples
    --------
    >>> from cfgguide.grammar import lark_frontend
    >>> from cfgguide.grammar.grammar import Grammar
    >>> from cfgguide.parser.table import START_STATE
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

    def __init__(self, table: ParseTable, lengths: Sequence[float]) -> None:
        self._table = table
        self._shortest: dict[str, Need] = {
            name: Need(lengths[number], number)
            for number, name in enumerate(table.terminals)
            if lengths[number] < inf
        }
        self._measure()
        self._ways = [
            self._ways_of(kernel) for kernel in kernels(table.productions, table.transitions())
        ]
        self._known: dict[Stack, Need] = {}

    def need(self, stack: Stack) -> Need:
        """Return the least that completes a stack."""
        if stack not in self._known:
            if len(self._known) > _MAX_KNOWN:
                self._known.clear()
            cells = []
            cell: Stack | None = stack
            while cell is not None and cell not in self._known:
                cells.append(cell)
                cell = cell.below
            for cell in reversed(cells):  # the bottom first: each needs little more than the last
                self._find(cell)
        return self._known[stack]

    def _find(self, stack: Stack) -> None:
        """Find the need of a stack, and of all stacks that its reductions lead to."""
        edges: dict[Stack, list[tuple[Need, Stack]]] = {}
        pending = [stack]
        while pending:
            here = pending.pop()
            if here in edges or here in self._known:
                continue
            edges[here] = [
                (rest, after)
                for n_popped, left, rest in self._ways[here.state]
                if (after := self._after(here, n_popped, left)) is not None
            ]
            pending.extend(after for _, after in edges[here])
        found = dict.fromkeys(edges, _HOPELESS)
        for here in edges:
            if here.state == self._table.end_state:
                found[here] = _NOTHING
            elif here.below is None:
                found[here] = self._shortest.get(self._table.start_symbol, _HOPELESS)
        changed = True
        while changed:
            changed = False
            for here, ways in reversed(edges.items()):
                for rest, after in ways:
                    then = found.get(after) or self._known[after]
                    if rest.length + then.length < found[here].length:
                        first = rest.first if rest.length else then.first
                        found[here] = Need(rest.length + then.length, first)
                        changed = True
        self._known |= found

    def _after(self, stack: Stack, n_popped: int, left: int) -> Stack | None:
        """Return a stack after a reduction, or None where no text has it."""
        if stack.height <= n_popped:
            return None
        below = stack.pop(n_popped)
        target = int(self._table.goto[below.state, left])
        return None if target == NO_STATE else below.push(target)

    # -- the grammar ------------------------------------------------------------------------

    def _measure(self) -> None:
        """Find the shortest string that each symbol derives."""
        changed = True
        while changed:
            changed = False
            for left, right in self._table.productions:
                need = self._of_symbols(right)
                if need.length < self._shortest.get(left, _HOPELESS).length:
                    self._shortest[left] = need
                    changed = True

    def _of_symbols(self, symbols: Sequence[str]) -> Need:
        needs = [self._shortest.get(symbol, _HOPELESS) for symbol in symbols]
        first = next((need.first for need in needs if need.length), END)
        return Need(sum(need.length for need in needs), first)

    def _ways_of(self, items: set[Item]) -> list[tuple[int, int, Need]]:
        shortest: dict[tuple[int, int], Need] = {}
        for production, dot in sorted(items):
            way = dot, int(self._table.left_sides[production])
            need = self._of_symbols(self._table.productions[production][1][dot:])
            if need.length < shortest.get(way, _HOPELESS).length:
                shortest[way] = need
        return [(*way, need) for way, need in shortest.items()]
