r"""Finite-state machines of single terminals.

An :class:`Fsm` matches as its pattern does in Python's ``re``: feeding bytes until the machine is
dead, the *last* final state passed marks the match that ``re`` prefers. What look-around asks of
the text around the lexeme stands beside the moves.

Look-behind: what the text before the lexeme means to the terminal is its *context*, itself the
state of a small machine. The start state depends on it.

Look-ahead: an *asking* state has no moves, but names the state from which what is looked for would
have to match, and how to go on if it will and if it will not. Whoever runs the machine on a text
that has not come yet follows both ways and remembers what each has assumed
(:mod:`cfgguide.lexer.lookahead`). ::

    IF = /if(?!x)/    start -i-> 2 -f-> 3 asks whether x will match:  yes -> dead   no -> 4 final

The asking states are this project's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

DEAD = 0
N_BYTES = 256
LOOKED_FOR, IF_HOLDS, IF_FAILS = 0, 1, 2  # columns of `assertions`


@dataclass(frozen=True)
class Fsm:
    """A deterministic machine over bytes; no state but `DEAD` is unable to match.

    Attributes
    ----------
    transitions : int32, shape (n_states, 256)
        Next state; 0 = dead.
    is_final : bool, shape (n_states,)
        Whether the bytes read so far are the match preferred so far.
    assertions : int32, shape (n_states, 3)
        Of states that ask whether something will match from here on: the state of this machine
        that is to come to a match, and the states to go on with if it will and if it will not.
        All 0 for other states.
    starts : int32, shape (n_contexts,)
        The state before the first byte, after a text in each context.
    contexts : int32, shape (n_contexts, 256)
        The context after one more byte of the text. That of the empty text is 0.
    """

    transitions: npt.NDArray[np.int32]
    is_final: npt.NDArray[np.bool_]
    assertions: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int32]
    contexts: npt.NDArray[np.int32]

    @property
    def n_states(self) -> int:
        """Number of states, the dead one included."""
        return len(self.is_final)

    def match(self, text: bytes, *, position: int = 0) -> int | None:
        """Return the length of the preferred match in `text` at `position`, or None.

        >>> from cfgguide.automata.determinize import fsm_of_pattern
        >>> fsm_of_pattern("a|ab", name="A").match(b"abc")
        1
        >>> fsm_of_pattern(r"(?<=a)b+(?!c)", name="A").match(b"abbbc", position=1)
        2
        """
        context = 0
        for byte in text[:position]:
            context = int(self.contexts[context, byte])
        return self._run(int(self.starts[context]), text, position) or None

    @cached_property
    def questions(self) -> dict[int, tuple[int, int, int]]:
        """The rows of `assertions` that ask something, by their states."""
        assertion = np.flatnonzero(self.assertions.any(axis=1))
        return dict(
            zip(assertion.tolist(), map(tuple, self.assertions[assertion].tolist()), strict=True)
        )

    def resolved(self, state: int) -> list[int]:
        """Return the states that a state stands for, whatever the answers to its questions."""
        if state not in self.questions:
            return [state]
        _, yes, no = self.questions[state]
        return list(dict.fromkeys([*self.resolved(yes), *self.resolved(no)]))

    def _run(self, state: int, text: bytes, start: int) -> int | None:
        length = None
        for position in range(start, len(text) + 1):
            while state in self.questions:
                looked_for, yes, no = self.questions[state]
                state = no if self._run(looked_for, text, position) is None else yes
            if self.is_final[state]:
                length = position - start
            if state == DEAD or position == len(text):
                break
            state = int(self.transitions[state, text[position]])
        return length
