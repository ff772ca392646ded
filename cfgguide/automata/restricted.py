"""Machines that match as before, and say which of their matches are allowed.

In: the :class:`~cfgguide.automata.dfa.Fsm` of a terminal, and one of the texts that its lexemes may
be. Out: both side by side. What the lexer finds stays the same; a lexeme that may not be is found,
too, and then refused. ::

    SPACE = / +/, at most 2 characters    "  " matches, allowed    "   " matches, refused
                                          (and is not two lexemes of two characters and of one)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice

import numpy as np
import numpy.typing as npt

from cfgguide.automata.determinize import fsm_of_pattern
from cfgguide.automata.dfa import DEAD, IF_FAILS, IF_HOLDS, LOOKED_FOR, N_BYTES, Fsm
from cfgguide.automata.partition import distinct_columns
from cfgguide.automata.preference import is_longest_first
from cfgguide.base.limits import Budget
from cfgguide.base.numbered import Numbered
from cfgguide.errors import PatternError

BLANKS = b" \t\n\r\f\v"  # the white space that is counted

BoolArray = npt.NDArray[np.bool_]
Pair = tuple[int, int]


def pattern_machine(pattern: str, *, name: str, flags: int, budget: Budget) -> Fsm:
    """Return the machine of the texts that a pattern matches whole.

    Raises
    ------
    PatternError
        If the pattern looks around, or does not try longer matches first.
    """
    machine = fsm_of_pattern(pattern, name=f"the restriction of {name}", flags=flags, budget=budget)
    if len(machine.starts) > 1 or machine.assertions.any():
        raise PatternError(f"the restriction of {name} looks around: /{pattern}/; leave that out")
    if not is_longest_first(pattern):
        raise PatternError(
            f"the restriction of {name} tries shorter matches first: /{pattern}/; write longer "
            "alternatives first, and no lazy repetition"
        )
    return machine


def counting_machine(n: int) -> Fsm:
    """Return the machine of texts that, with the white space before them, have `n` characters.

    Its contexts count that white space, and its states the characters that are left, plus one.
    """
    starts_character = np.arange(N_BYTES) & 0xC0 != 0x80
    left = np.arange(n + 2)[:, None]
    after = np.where(starts_character, np.maximum(left - 1, DEAD), left)
    is_blank = np.isin(np.arange(N_BYTES), list(BLANKS))
    before = np.arange(n + 1)[:, None]
    return Fsm(
        transitions=after.astype(np.int32),
        byte_classes=np.arange(N_BYTES, dtype=np.int32),
        is_final=np.arange(n + 2) != DEAD,
        assertions=np.zeros((n + 2, 3), dtype=np.int32),
        starts=(n + 1 - np.arange(n + 1)).astype(np.int32),
        contexts=np.where(is_blank, np.minimum(before + 1, n), 0).astype(np.int32),
    )


def without_contexts(machine: Fsm) -> Fsm:
    """Return a machine that knows nothing of the text before: that of the empty text."""
    contexts = np.zeros((1, N_BYTES), dtype=np.int32)
    return replace(machine, starts=machine.starts[:1], contexts=contexts)


def restricted(fsm: Fsm, allowing: Iterable[Fsm]) -> tuple[Fsm, BoolArray]:
    """Return a machine that matches as before, and which of its states' matches are allowed.

    Parameters
    ----------
    fsm : Fsm
        The machine of a terminal.
    allowing : iterable of Fsm
        Machines without assertions; a match is allowed if all of them match it, too.
    """
    is_allowed = np.ones(fsm.n_states, dtype=np.bool_)
    for machine in allowing:
        fsm, origin, is_matched = _side_by_side(fsm, machine)
        is_allowed = is_allowed[origin] & is_matched
    return fsm, is_allowed


def _side_by_side(fsm: Fsm, machine: Fsm) -> tuple[Fsm, npt.NDArray[np.int64], BoolArray]:
    """Return both in one, and per state that of the first, and whether the second matches."""
    contexts, context_moves = _contexts(fsm, machine)
    numbers = Numbered[Pair]((DEAD, DEAD))

    def number(first: int, second: int) -> int:
        return numbers[(first, second) if first != DEAD else (DEAD, DEAD)]

    starts = [number(int(fsm.starts[a]), int(machine.starts[b])) for a, b in contexts]
    rows = {DEAD: np.zeros(N_BYTES, dtype=np.int64)}
    assertions = {DEAD: [DEAD] * 3}
    for first, second in islice(numbers.order, 1, None):  # grows while it is walked
        here = numbers[first, second]
        codes = fsm.after_bytes(first).astype(np.int64) * machine.n_states
        codes += machine.after_bytes(second)
        targets, where = np.unique(codes, return_inverse=True)
        known = [number(*divmod(code, machine.n_states)) for code in targets.tolist()]
        rows[here] = np.array(known)[where]
        question = fsm.questions.get(first)
        assertions[here] = [DEAD] * 3
        if question is not None:
            # What is looked for may be anything; the lexeme goes on from where it is.
            assertions[here][LOOKED_FOR] = number(question[LOOKED_FOR], DEAD)
            for answer in (IF_HOLDS, IF_FAILS):
                assertions[here][answer] = number(question[answer], second)
    firsts, seconds = np.array(list(numbers), dtype=np.int64).T
    table = np.array([rows[state] for state in range(len(numbers))], dtype=np.int32)
    transitions, byte_classes = distinct_columns(table)
    whole = Fsm(
        transitions=transitions,
        byte_classes=byte_classes,
        is_final=fsm.is_final[firsts],
        assertions=np.array([assertions[state] for state in range(len(numbers))], dtype=np.int32),
        starts=np.array(starts, dtype=np.int32),
        contexts=context_moves,
    )
    return whole, firsts, machine.is_final[seconds]


def _contexts(fsm: Fsm, machine: Fsm) -> tuple[list[Pair], npt.NDArray[np.int32]]:
    """Return the pairs of contexts that a text can lead to, and moves between their numbers."""
    numbers, rows = Numbered[Pair]((0, 0)), []
    for first, second in numbers.order:  # grows while it is walked
        after = zip(fsm.contexts[first].tolist(), machine.contexts[second].tolist(), strict=True)
        rows.append([numbers[pair] for pair in after])
    return numbers.order, np.array(rows, dtype=np.int32)
