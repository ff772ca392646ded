r"""Finite-state machines of single terminals.

An :class:`Fsm` matches as its pattern does in Python's ``re``: it reads bytes until it is dead, and
the *last* final state marks the match that ``re`` prefers. Look-around is kept beside the moves.

Look-behind: the *context* is what the text before the lexeme means to the terminal. It is the state
of a small machine of its own, and the start state depends on it.

Look-ahead: an *assertion state* has no moves. It names the state from which the look-ahead's body
must match, and the states to go on with if it holds and if it fails. If the text to come is not
known, the lexer follows both ways, each with an obligation
(:mod:`cfgguide.engine.lexer.lookahead`). ::

    IF = /if(?!x)/   start -i-> 2 -f-> 3 asserts that x matches:  holds -> dead  fails -> 4 final

Assertion states are this project's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

DEAD = 0
N_BYTES = 256
LOOKED_FOR, IF_HOLDS, IF_FAILS = 0, 1, 2  # columns of `assertions`

# What the kernel of partitions is told: where a move leads that leads nowhere; labels of states;
# rows of a partition, and what stands in that of counts.
NOWHERE = -1
OPEN, IS_END, IS_DEAD = range(3)
N_LABELS = 3
ELEMENT, PLACE, CLASS, FIRST, END, N_MARKED, TOUCHED, COUNTS = range(8)
N_ROWS = 8
N_CLASSES, N_TOUCHED = range(2)


@dataclass(frozen=True)
class Fsm:
    """A deterministic machine over bytes; no state but `DEAD` is unable to match.

    Attributes
    ----------
    transitions : int32, shape (n_states, n_byte_classes)
        Next state; 0 = dead.
    byte_classes : int32, shape (256,)
        The class of each byte: bytes of one class act alike in every state.
    is_final : bool, shape (n_states,)
        Whether the bytes read so far are the match preferred so far.
    assertions : int32, shape (n_states, 3)
        For assertion states, the state of this machine from which the body must match, and the
        states to go on with if it does and if it does not. All 0 for other states.
    starts : int32, shape (n_contexts,)
        The state before the first byte, after a text in each context.
    contexts : int32, shape (n_contexts, 256)
        The context after one more byte of the text. The context of the empty text is 0.
    """

    transitions: npt.NDArray[np.int32]
    byte_classes: npt.NDArray[np.int32]
    is_final: npt.NDArray[np.bool_]
    assertions: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int32]
    contexts: npt.NDArray[np.int32]

    @property
    def n_states(self) -> int:
        """Number of states, the dead one included."""
        return len(self.is_final)

    def after_bytes(self, states: Any) -> npt.NDArray[np.int32]:
        """Return the state after each byte in some states, as numpy indexes them."""
        after: npt.NDArray[np.int32] = self.transitions[states][..., self.byte_classes]
        return after

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
        """The rows of `assertions`, by their assertion states."""
        assertion = np.flatnonzero(self.assertions.any(axis=1))
        return dict(
            zip(assertion.tolist(), map(tuple, self.assertions[assertion].tolist()), strict=True)
        )

    def resolved(self, state: int) -> list[int]:
        """Return the states that an assertion state leads to, for all outcomes of assertions."""
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
            state = int(self.transitions[state, self.byte_classes[text[position]]])
        return length
