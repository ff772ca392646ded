"""The pushdown automaton of one lexeme, with nothing around it: a pattern, or the rest of a string.

In: an automaton of lexemes. Out: a :class:`LonePushdown`, whose states are its keys.
"""

from __future__ import annotations

from typing import Any

from cfgguide.engine.byte_machine.automaton import Pushdown
from cfgguide.engine.byte_machine.byte_views import DEAD, POP
from cfgguide.engine.byte_machine.scalars import Key, ScalarAutomaton, Target, is_end


class LonePushdown(Pushdown):
    """Reads one lexeme; a text may end where the lexeme does.

    Parameters
    ----------
    lexemes : ScalarAutomaton
        The automaton.
    start : key
        Where it is read from.
    """

    def __init__(self, lexemes: ScalarAutomaton, start: Key) -> None:
        super().__init__()
        self.lexemes = lexemes
        self._keys: dict[int, Any] = {}
        self._numbers: dict[Key, int] = {}
        self.start = self.state(start)

    def state(self, key: Key) -> int:
        """Return the number of a key."""
        number = self._numbers.get(key)
        if number is None:
            with self.lock:
                number = self._numbers.get(key)
                if number is None:
                    number = self.new_state(is_end=self.lexemes.traits(key).ending >= 0)
                    self._keys[number] = key
                    self._numbers[key] = number
        return number

    def meaning(self, state: int) -> Any:
        """Return the key of a state."""
        return self._keys[state]

    def make_row(self, state: int) -> None:
        """Make the row of a state."""
        row = self.lexemes.row(self._keys[state])
        operations = [self._operation(each) for each in row.targets]
        self.set_mapped_row(state, row.places, operations, row.stays, row.loops)

    def _operation(self, after: Target) -> int:
        if after is None:
            return DEAD
        return self.action(POP, 0) if is_end(after) else self.state(after)

    def after_text(self, state: int, data: bytes, place: int) -> tuple[int, int]:
        """Return where a text goes on after characters that are read at once, and the state there.

        The state is `DEAD` if they are refused.
        """
        place, key = self.lexemes.after_text(self._keys[state], data, place)
        return place, DEAD if key is None else self.state(key)

    def near(self, state: int, n: int) -> int:
        """Return a state after which as many as `n` bytes do what they do after another one."""
        return self.state(self.lexemes.near(self._keys[state], n))
