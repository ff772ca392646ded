"""The machine of the pieces of a text, whose masks are looked up by where tokens stand in it.

In: a :class:`~cfgguide.automata.pieces.PieceAutomaton`. Out: a :class:`PieceMachine`. A state is a
set of places in the text, so a mask has the tokens that stand at one of them
(:mod:`cfgguide.engine.byte_machine.standing_tokens`), and no state is visited.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cfgguide.automata.pieces import PieceAutomaton, Places
from cfgguide.base.limits import Steps
from cfgguide.engine.byte_machine.byte_machine import ByteMachine, ByteMasks
from cfgguide.engine.byte_machine.byte_views import IS_END
from cfgguide.engine.byte_machine.pattern_pushdown import PatternPushdown
from cfgguide.engine.byte_machine.spellings import n_bytes_of
from cfgguide.engine.byte_machine.standing_tokens import StandingTokens
from cfgguide.engine.index.configuration_trie import ConfigurationTrie, Mask
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import LimitError

if TYPE_CHECKING:
    from cfgguide.engine.byte_machine.byte_machine import ByteKey, Source


class PiecePushdown(PatternPushdown):
    """Reads pieces of a text.

    Parameters
    ----------
    automaton : PieceAutomaton
        Of the text.
    """

    def __init__(self, automaton: PieceAutomaton) -> None:
        super().__init__(automaton, Steps(error=LimitError))
        self.pieces = automaton

    def places(self, state: int) -> Places:
        """Return where in the text's bytes a state is, and how far each of these may go."""
        kind, inside = self.meaning(state)
        opened = inside if kind == "p" else (((), inside),)  # a character that has begun, or none
        found = []
        for tree, (after,) in opened:
            at, most = self.pieces.bytes_of(after)
            found.append((at - (n_bytes_of(tree) if tree else 0), most))
        at, most = map(np.concatenate, zip(*found, strict=True))
        return Places(at, most)

    def is_last(self, state: int) -> bool:
        """Return whether a piece that may end has: nothing may follow."""
        kind, inside = self.meaning(state)
        return kind == "c" and self.pieces.longest(inside[0]) == 0


class PieceMachine(ByteMachine):
    """Reads pieces of a text, and looks its masks up.

    Parameters
    ----------
    automaton : PieceAutomaton
        Of the text.
    source : Source
        What it was made from.
    """

    pushdown: PiecePushdown

    def __init__(self, automaton: PieceAutomaton, source: Source) -> None:
        super().__init__(PiecePushdown(automaton), source)

    def masks(self, vocabulary: Vocabulary) -> ByteMasks:
        """Return what makes masks."""
        return _PieceMasks(self, vocabulary)


class _PieceMasks(ByteMasks):
    """Looks masks up."""

    _machine: PieceMachine

    def __init__(self, machine: PieceMachine, vocabulary: Vocabulary) -> None:
        super().__init__(machine, vocabulary)
        self._standing = StandingTokens(machine.pushdown.pieces.data, vocabulary.trie.packed)

    def mask(self, key: ByteKey, known: ConfigurationTrie) -> Mask:
        """Make the mask of a key."""
        pushdown = self._machine.pushdown
        bitmask = self._standing.mask(pushdown.places(key.state), self._vocabulary.n_words)
        if pushdown.memory[0][key.state, IS_END]:
            bitmask |= self._eos
        return Mask(0, bitmask)
