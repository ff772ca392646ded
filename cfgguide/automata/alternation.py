"""Ordered alternations of terminals, matched in whole texts in time linear in the text.

In: the FSMs of terminals. Out: which of several wins at a place of a text, and where its match
ends, as Python's ``re`` says of ``(?P<A>...)|(?P<B>...)``, which may take any time to say it.

The states are those of the union FSM (:mod:`cfgguide.engine.lexer.scanner`): the ordered tuple of
the terminals' states that are still alive, cut after the first final one. They are made as texts
reach them, since a text reaches few; too many are forgotten, and made again. What follows a lexeme
is there already, so each assertion is answered where it is met.

A lexer may read on past the last match in vain, and again from the next lexeme: ``a`` and ``a+b``
on a text of ``a``. So a :class:`WholeText` remembers, at every 16th byte, which states came to
nothing there. Source: Reps, "'Maximal-munch' tokenization in linear time" (1998). He remembers it
at each byte; every 16th costs at most 15 steps more at each place, and a 16th of the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cfgguide.automata.dfa import DEAD, Fsm

_N_KEPT = 10_000  # states
_GAP = 16  # bytes between the places where a text remembers something

_Alive = tuple[tuple[str, int], ...]  # names of terminals, and the states of their FSMs


class WholeText(str):
    r"""A whole text, and what was found out about it.

    >>> text = WholeText("aé")
    >>> text.data, text.offset(2), text.end_of(3)
    (b'a\xc3\xa9', 3, 2)
    """

    @cached_property
    def data(self) -> bytes:
        """The text in UTF-8; no terminal matches a lone surrogate."""
        return self.encode("utf-8", "surrogatepass")

    @cached_property
    def _offsets(self) -> npt.NDArray[np.int64]:
        """Where each character begins, and where the last one ends."""
        is_first = (np.frombuffer(self.data, dtype=np.uint8) & 0xC0) != 0x80
        return np.append(np.flatnonzero(is_first), len(self.data))

    @cached_property
    def _is_ascii(self) -> bool:
        return self.isascii()

    def offset(self, position: int) -> int:
        """Return the byte at which a character begins."""
        return position if self._is_ascii else int(self._offsets[position])

    def end_of(self, offset: int) -> int:
        """Return the position of the character that begins at a byte."""
        return offset if self._is_ascii else int(np.searchsorted(self._offsets, offset))

    @cached_property
    def hopeless(self) -> set[tuple[UnionState, int]]:
        """States from which nothing matches after a byte."""
        return set()

    @cached_property
    def answers(self) -> dict[tuple[str, int, int], bool]:
        """Whether what is looked for from a state of a terminal, at a byte, is there."""
        return {}

    @cached_property
    def contexts(self) -> dict[bytes, list[int]]:
        """The contexts before each byte, as far as they were asked for, by their machine."""
        return {}


class UnionState:
    """A state of the union: equal ones are one object.

    Attributes
    ----------
    alive : tuple of (str, int)
        The terminals that are still alive, the preferred first, each in a state of its FSM.
    asks : bool
        Whether one of these is an assertion state.
    winner : str or None
        The terminal whose match would win if the text were cut here.
    moves : dict of int to (UnionState or None)
        Where bytes lead, as far as that is known; None is nowhere.
    """

    __slots__ = ("alive", "asks", "moves", "winner")

    def __init__(self, alive: _Alive, *, asks: bool, winner: str | None) -> None:
        self.alive = alive
        self.asks = asks
        self.winner = winner
        self.moves: dict[int, UnionState | None] = {}


class Alternations:
    """Finds the lexemes of terminals, of whichever of them are tried at a place.

    Parameters
    ----------
    fsm_of : callable
        Returns the FSM of a terminal.

    Examples
    --------
    >>> from cfgguide.automata.determinize import fsm_of_pattern
    >>> patterns = {"A": "a|a+b", "B": "[ab]+", "C": "a(?=ac)"}
    >>> found = Alternations(lambda name: fsm_of_pattern(patterns[name], name=name))
    >>> found.find(("A", "B"), WholeText("aab"), 0), found.find(("B", "A"), WholeText("aab"), 0)
    (('A', 1), ('B', 3))
    >>> found.find(("C", "B"), WholeText("aac"), 0), found.find(("A",), WholeText("b"), 0)
    (('C', 1), None)
    """

    def __init__(self, fsm_of: Callable[[str], Fsm]) -> None:
        self._fsm_of = fsm_of
        self._states: dict[_Alive, UnionState] = {}
        self._starts: dict[tuple[tuple[str, ...], tuple[int, ...]], UnionState | None] = {}
        self._looking: dict[tuple[str, ...], list[tuple[bytes, Fsm]]] = {}

    def find(
        self, names: tuple[str, ...], text: WholeText, position: int
    ) -> tuple[str, int] | None:
        """Return which terminal wins at a character of a text, and where its match ends.

        Parameters
        ----------
        names : tuple of str
            The terminals that are tried, the preferred first.
        """
        data, start = text.data, text.offset(position)
        state = self._start(names, text, start)
        winner, end = None, start
        passed: list[tuple[UnionState, int]] = []  # since the last match
        for here in range(start, len(data) + 1):
            if state is not None and state.asks:
                state = self._answered(state, text, here)
            if state is None:
                break
            if state.winner is not None and here > start:
                winner, end = state.winner, here
                passed.clear()
            if here % _GAP == 0 and here > start:
                if (state, here) in text.hopeless:
                    break
                passed.append((state, here))
            if here < len(data):
                byte = data[here]
                state = state.moves[byte] if byte in state.moves else self._moved(state, byte)
        text.hopeless.update(passed)
        return None if winner is None else (winner, text.end_of(end))

    def _start(self, names: tuple[str, ...], text: WholeText, start: int) -> UnionState | None:
        looking = self._looking.get(names)
        if looking is None:
            fsms = {name: self._fsm_of(name) for name in names}
            looking = [(f.contexts.tobytes(), f) for f in fsms.values() if len(f.starts) > 1]
            # Many terminals, such as keywords between word boundaries, have the same contexts.
            looking = self._looking.setdefault(names, list(dict(looking).items()))
        contexts = tuple([_context(text, start, *machine) for machine in looking])
        starts = self._starts
        if (names, contexts) not in starts:
            of_machine = dict(zip([machine for machine, _ in looking], contexts, strict=True))
            alive = []
            for name in names:
                fsm = self._fsm_of(name)
                context = of_machine[fsm.contexts.tobytes()] if len(fsm.starts) > 1 else 0
                alive.append((name, int(fsm.starts[context])))
            starts[names, contexts] = self._state(alive)
        return starts[names, contexts]

    def _moved(self, state: UnionState, byte: int) -> UnionState | None:
        fsms = [(name, self._fsm_of(name), mine) for name, mine in state.alive]
        moved = [
            (name, fsm.transitions.item(mine, fsm.byte_classes.item(byte)))
            for name, fsm, mine in fsms
        ]
        state.moves[byte] = after = self._state(moved)
        return after

    def _state(self, states: Sequence[tuple[str, int]]) -> UnionState | None:
        """Return the union state of some states, without those that can decide nothing."""
        alive, asks, winner = [], False, None
        for name, state in states:
            if state == DEAD:
                continue
            alive.append((name, state))
            fsm = self._fsm_of(name)
            if state in fsm.questions:
                asks = True
            elif fsm.is_final[state]:
                winner = name
                break
        if not alive:
            return None
        key = tuple(alive)
        known = self._states.get(key)
        if known is not None:
            return known
        if len(self._states) >= _N_KEPT:  # new dictionaries: another thread may be reading these
            self._states, self._starts = {}, {}
        return self._states.setdefault(key, UnionState(key, asks=asks, winner=winner))

    def _answered(self, state: UnionState, text: WholeText, here: int) -> UnionState | None:
        return self._state(
            [(name, self._resolved(name, mine, text, here)) for name, mine in state.alive]
        )

    def _resolved(self, name: str, state: int, text: WholeText, here: int) -> int:
        """Return the state of a terminal after the answers to all that it asks at a byte."""
        questions = self._fsm_of(name).questions
        while state in questions:
            looked_for, if_holds, if_fails = questions[state]
            state = if_holds if self._holds(name, looked_for, text, here) else if_fails
        return state

    def _holds(self, name: str, looked_for: int, text: WholeText, start: int) -> bool:
        """Return whether something matches from a state at a byte.

        Each question is answered once, and all ways that meet share what comes of them.
        """
        fsm, data = self._fsm_of(name), text.data
        if (known := text.answers.get((name, looked_for, start))) is not None:
            return known
        passed = [(name, looked_for, start)]
        state, holds = looked_for, False
        for here in range(start, len(data) + 1):
            state = self._resolved(name, state, text, here)
            if state == DEAD or fsm.is_final[state]:
                holds = state != DEAD
                break
            if here % _GAP == 0 and here > start:
                passed.append((name, state, here))
                if (known := text.answers.get(passed[-1])) is not None:
                    holds = known
                    break
            if here < len(data):
                state = fsm.transitions.item(state, fsm.byte_classes.item(data[here]))
        text.answers.update(dict.fromkeys(passed, holds))
        return holds


def _context(text: WholeText, start: int, machine: bytes, fsm: Fsm) -> int:
    """Return what the text before a byte means to terminals with these contexts."""
    contexts = text.contexts.setdefault(machine, [0])
    while len(contexts) <= start:
        contexts.append(fsm.contexts.item(contexts[-1], text.data[len(contexts) - 1]))
    return contexts[start]
