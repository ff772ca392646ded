"""LALR(1) tables as arrays, and the stack machine that runs them.

In: Lark's tables, renumbered canonically by :mod:`cfgguide.frontend`. Out: a :class:`ParseTable`
and, on it, the moves of the textbook: reductions until a shift, and acceptance at the end.

Actions are packed in one integer each, so that kernels can run them::

    0 error          s + 1 shift, go to state s          -(p + 1) reduce by production p

Source: Aho, Lam, Sethi, Ullman, "Compilers", section 4.6; Lark's ``ParserState.feed_token``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cfgguide.stack import Stack

ERROR = 0  # in `action`
NO_STATE = -1  # in `goto`
END = 0  # the terminal $END, fed when the text ends
START_STATE = 0


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
    productions : tuple of (str, tuple of str)
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
    """

    terminals: tuple[str, ...]
    nonterminals: tuple[str, ...]
    productions: tuple[tuple[str, tuple[str, ...]], ...]
    action: npt.NDArray[np.int32]
    goto: npt.NDArray[np.int32]
    lengths: npt.NDArray[np.int32]
    left_sides: npt.NDArray[np.int32]
    set_of_state: npt.NDArray[np.int32]
    end_state: int

    @property
    def n_states(self) -> int:
        """Number of parse states."""
        return len(self.action)

    @property
    def n_terminals(self) -> int:
        """Number of terminals, ``$END`` included."""
        return len(self.terminals)

    def shift(self, stack: Stack, terminal: int) -> Stack | None:
        """Return the stack after the reductions and the shift of a terminal, or None if refused."""
        for _ in range(self._most_reductions(stack)):
            action = int(self.action[stack.state, terminal])
            if action == ERROR:
                return None
            if action > 0:
                return stack.push(action - 1)
            stack = self._reduced(stack, -action - 1)
        return None

    def is_sentence(self, stack: Stack) -> bool:
        """Return whether the text may end here: whether ``$END`` leads to acceptance."""
        for _ in range(self._most_reductions(stack)):
            action = int(self.action[stack.state, END])
            if action >= 0:
                return False
            stack = self._reduced(stack, -action - 1)
            if stack.state == self.end_state:
                return True
        return False

    def _most_reductions(self, stack: Stack) -> int:
        """Return more than all reductions that can come before a shift, unless they never end.

        Each state of the stack can be popped once. Between two pops there are at most as many
        reductions of one symbol or none as there are states and nonterminals; a table with a
        resolved conflict may repeat them for ever, as Lark would.
        """
        return (stack.height + self.n_states) * (len(self.nonterminals) + 1)

    def _reduced(self, stack: Stack, production: int) -> Stack:
        below = stack.pop(int(self.lengths[production]))
        return below.push(int(self.goto[below.state, self.left_sides[production]]))
