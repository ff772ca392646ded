"""A parse table that remembers its shifts.

In: a parse table. Out: a :class:`RememberedShifts`, the same table, which keeps for each terminal
what a shift does to a stack: how many states it pops, which it pushes, and how many it has read to
know that. A long chain of reductions then costs as much as a look-up of each state that it reads.
::

    [ 1 , 2    and `]`     reads 5 states, one below `[`      pops 3, pushes those of elements, `]`

One table serves all stacks with the same states on top, however deep they are. General tables,
whose shifts lead to several stacks, remember nothing.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from cfgguide.grammar.lr.stack import Stack
from cfgguide.grammar.lr.table import END, ERROR, ParseTable

_MAX_KNOWN = 100_000  # shifts of about 300 bytes


class _Shift(NamedTuple):
    """What a shift does: how many states it pops, and what it pushes; None if it is refused."""

    n_popped: int
    pushed: tuple[int, ...] | None


class _Node(dict[int, "_Node | _Shift"]):
    """What is known after some states of a stack were read: by the next state."""


class RememberedShifts(ParseTable):
    """A parse table whose shifts are remembered.

    Examples
    --------
    >>> from cfgguide.grammar import lark_frontend
    >>> from cfgguide.grammar.grammar import Grammar
    >>> table = lark_frontend.load(Grammar('start: "(" start? ")"')).parse_table
    >>> remembered = RememberedShifts.of(table)
    >>> stack, bracket = Stack(0), table.terminals.index("LPAR")
    >>> remembered.shift(stack, bracket) == table.shift(stack, bracket)
    True
    """

    @classmethod
    def of(cls, table: ParseTable) -> RememberedShifts:
        """Return a table that remembers."""
        remembered = cls.__new__(cls)
        vars(remembered).update(vars(table))  # with what it has found out
        vars(remembered)["may_repeat"] = table.may_repeat  # it takes long to find
        return remembered

    @cached_property
    def _known(self) -> dict[int, _Node]:
        """What is known of each terminal."""
        return {}

    @cached_property
    def _n_known(self) -> list[int]:
        return [0]  # one number, which changes

    @cached_property
    def _arrays(self) -> tuple[memoryview, memoryview, list[int], list[int]]:
        """Actions, gotos, lengths and left sides: quicker to index than the arrays."""
        return (
            memoryview(self.action.data),
            memoryview(self.goto.data),
            self.lengths.tolist(),
            self.left_sides.tolist(),
        )

    def shift(self, stack: Stack, terminal: int) -> Stack | None:
        """Return the stack after the reductions and the shift of a terminal, or None if refused."""
        n_popped, pushed = self._shift(stack, terminal)
        if pushed is None:
            return None
        after = stack.pop(n_popped)
        for state in pushed:
            after = Stack(state, after)
        return after

    def is_sentence(self, stack: Stack) -> bool:
        """Return whether the text may end here: whether ``$END`` leads to acceptance."""
        if self.is_general:
            return super().is_sentence(stack)
        return self._shift(stack, END).pushed is not None

    def _shift(self, stack: Stack, terminal: int) -> _Shift:
        known: _Node | _Shift | None = self._known.get(terminal)
        below: Stack | None = stack
        while type(known) is _Node and below is not None:
            known = known.get(below.state)
            below = below.below
        return known if type(known) is _Shift else self._found(stack, terminal)

    def _found(self, stack: Stack, terminal: int) -> _Shift:
        """Find what a shift does, and remember it."""
        actions, gotos, lengths, left_sides = self._arrays
        read, below = [stack.state], stack.below  # the states that were read, and the rest
        n_popped, pushed = 0, list[int]()
        result = None
        for _ in range(self.max_reductions):
            top = pushed[-1] if pushed else read[n_popped]
            action = actions[top, terminal]
            if action > ERROR and terminal != END:
                result = (*pushed, action - 1)
            if action >= ERROR:
                break
            length = lengths[-action - 1]
            n_popped += max(length - len(pushed), 0)
            del pushed[max(len(pushed) - length, 0) :]
            while len(read) <= n_popped:
                assert below is not None, "a reduction never empties the stack"
                read.append(below.state)
                below = below.below
            under = pushed[-1] if pushed else read[n_popped]
            pushed.append(gotos[under, left_sides[-action - 1]])
            if terminal == END and pushed[-1] == self.end_state:
                result = ()
                break
        return self._remembered(terminal, read, _Shift(n_popped, result))

    def _remembered(self, terminal: int, read: list[int], shift: _Shift) -> _Shift:
        if self._n_known[0] >= _MAX_KNOWN:
            self._known.clear()
            self._n_known[0] = 0
        self._n_known[0] += 1
        node = self._known.setdefault(terminal, _Node())
        for state in read[:-1]:
            following = node.setdefault(state, _Node())
            assert type(following) is _Node, "a shift reads as much as before"
            node = following
        node[read[-1]] = shift
        return shift
