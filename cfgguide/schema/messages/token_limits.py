"""Limits on the tokens of texts in messages: thinking that may take so many, say.

In: a message's automaton, whose structure says which texts have a limit. Out: a
:class:`MessageLimits`. Where a text has had all the tokens that it may have, masks have only the
tokens that leave it, or lead nearer to its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cfgguide.base.remembered import remembered
from cfgguide.engine.byte_machine.automaton import Pushdown
from cfgguide.engine.byte_machine.byte_views import BOTTOM, MASK
from cfgguide.engine.byte_machine.byte_walk import Trie, WalkMemory
from cfgguide.engine.byte_machine.seen_parts import ByteConfiguration
from cfgguide.engine.masks.subset import Int32Array
from cfgguide.engine.vocabulary.vocabulary import Vocabulary

if TYPE_CHECKING:
    from cfgguide.schema.messages.message_automaton import MessageAutomaton

LEFT = -1  # instead of a state: what comes is outside of the text


class MessageLimits:
    """Counts the tokens of texts that may have so many and no more.

    The token that begins a text counts for none. After the last that the text may have, each byte
    has to lead out of the text, or nearer to the end of the message: `nearer` of the structure
    always does, so there is one, and endings have no others.

    Parameters
    ----------
    automaton : MessageAutomaton
        Of the messages.
    """

    def __init__(self, automaton: MessageAutomaton) -> None:
        self._automaton = automaton
        self._limits = automaton.structure.limits
        self._leaving = _Leaving(automaton)

    def is_exhausted(self, configuration: ByteConfiguration) -> bool:
        """Return whether a text has had all of its tokens, so that it has to be left."""
        text = self._text_of(configuration.state)
        return text is not None and configuration.n_tokens >= self._limits[text]

    def counted(self, before: ByteConfiguration, after: ByteConfiguration) -> ByteConfiguration:
        """Return what a token has led to, with the tokens of the text that is being read."""
        text = self._text_of(after.state)
        if text is None:
            return after
        n_tokens = 0
        if self._text_of(before.state) == text:
            n_tokens = min(before.n_tokens + 1, self._limits[text])
        return after._replace(n_tokens=n_tokens)

    def leaves(self, state: int, token: bytes) -> bool:
        """Return whether a token leads out of the text, or nearer to the end."""
        number = self._automaton.number_of(state)
        for byte in token:
            assert number is not None, "a text is being read"
            number = self._automaton.leaving(number, byte)
            if number is None or number == LEFT:
                return number == LEFT
        return True

    @remembered
    def leaving(self, state: int, vocabulary: Vocabulary) -> Int32Array:
        """Return the tokens that lead out of the text, or nearer to the end."""
        number, trie = self._automaton.number_of(state), Trie.of(vocabulary)
        assert number is not None, "a text is being read"
        walk = WalkMemory(self._leaving).walk(trie, self._leaving.state(number), [BOTTOM], MASK)
        assert walk is not None, "nothing is popped"
        return trie.bitmask(walk.ranges(), vocabulary.n_words).view(np.int32)

    def _text_of(self, state: int) -> int | None:
        """Return the number of the text with a limit that is being read."""
        number = self._automaton.number_of(state)
        return None if number is None else self._automaton.structure.states[number].text


class _Leaving(Pushdown):
    """Reads what leads out of a text of a message, and anything after that."""

    def __init__(self, automaton: MessageAutomaton) -> None:
        super().__init__()
        self._automaton = automaton
        self._left = self.new_state()
        self.set_row(self._left, (), self._left)
        self._numbers: dict[int, int] = {}

    @remembered
    def state(self, number: int) -> int:
        """Return the state for one of the structure."""
        state = self.new_state()
        self._numbers[state] = number
        return state

    def make_row(self, state: int) -> None:
        """Make the row of a state."""
        leaving = self._automaton.leaving
        moves = [(byte, leaving(self._numbers[state], byte)) for byte in range(256)]
        self.set_row(
            state,
            [
                ((byte,), self._left if after == LEFT else self.state(after))
                for byte, after in moves
                if after is not None
            ],
        )
