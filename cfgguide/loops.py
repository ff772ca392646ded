r"""Loops of the scanner that read whole subtrees of the vocabulary.

In: a scanner, and the kinds of the vocabulary's subtrees. Out: for each scanner state that goes
round on many bytes (inside a string, a name, a comment) the kinds of nodes below which every token
leads from that state back to it. The walk takes such a subtree as a whole instead of reading on. ::

    inside a JSON string    goes round on every character but " \ and control characters
    a node with letters, digits and é below it      taken
    a node with a quote below it                    visited, and its children are asked
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cfgguide.fsm import DEAD
from cfgguide.kernel_types import Int32Array
from cfgguide.line_reader import LineReader
from cfgguide.lines import BREAK
from cfgguide.scanner import Scanner
from cfgguide.subtrees import BETWEEN, NEVER, NO_UTF8, Kinds, utf8_steps

NO_LOOP = -1  # in `Loops.loop_of_state`

_LEAST_BYTES = 5  # of a loop
_MOST_LOOPS = 64


@dataclass(frozen=True)
class Loops:
    """Which kinds of subtrees the scanner states go round in.

    Attributes
    ----------
    loop_of_state : int32, shape (n_scanner_states,)
        The loop of each state, -1 = none.
    takes : bool, shape (n_loops, n_kinds)
        Whether all tokens below a node of a kind lead from a state with a loop back to it.
    """

    loop_of_state: Int32Array
    takes: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, scanner: Scanner, kinds: Kinds, reader: LineReader | None = None) -> Loops:
        """Return the loops of a scanner; states beyond the first 64 loops have none.

        With an indenter, what changes the column of a line is no loop.

        Where the text means something to look-behind, no state is known by its loop alone, and
        there are none.
        """
        states = np.arange(scanner.n_states)
        rows = scanner.transitions[:, scanner.byte_classes]
        goes_round = rows == states[:, None]
        goes_round[scanner.is_asking | (states == DEAD)] = False
        if reader is not None:
            goes_round[reader.may_count] = False
            goes_round &= ~(reader.is_newline[:, None] & (reader.lines.byte_kinds() == BREAK))
        loop_of_state = np.full(scanner.n_states, NO_LOOP, dtype=np.int32)
        loops: dict[tuple[int, int, bool], int] = {}
        if len(scanner.contexts) == 1:
            for state in np.flatnonzero(goes_round[:, :128].sum(axis=1) >= _LEAST_BYTES).tolist():
                halves = np.packbits(goes_round[state, :128], bitorder="little").view(np.uint64)
                loop = (int(halves[0]), int(halves[1]), _takes_characters(scanner, rows, state))
                if loop in loops or len(loops) < _MOST_LOOPS:
                    loop_of_state[state] = loops.setdefault(loop, len(loops))
        takes = np.zeros((max(1, len(loops)), len(kinds.sums)), dtype=np.bool_)
        for (low, high, takes_characters), number in loops.items():
            allowed = np.array([low, high, int(takes_characters)], dtype=np.uint64)
            takes[number] = ((kinds.sums & ~allowed) == 0).all(axis=1)
        takes[:, NEVER] = False
        return cls(loop_of_state, takes)


def _takes_characters(scanner: Scanner, rows: Int32Array, state: int) -> bool:
    """Return whether every character beyond ASCII leads from a state back to it.

    Parameters
    ----------
    rows : int32, shape (n_scanner_states, 256)
        The scanner's transitions by bytes.
    """
    steps = utf8_steps()
    pending = [(state, BETWEEN)]
    seen = set(pending)
    while pending:
        here, utf8 = pending.pop()
        bytes_read = 0x80 + np.flatnonzero(steps[utf8, 0x80:] != NO_UTF8)
        moves = np.stack([rows[here, bytes_read], steps[utf8, bytes_read].astype(np.int32)], axis=1)
        for target, after in np.unique(moves, axis=0).tolist():
            if target == DEAD or scanner.is_asking[target]:
                return False
            if (after == BETWEEN) != (target == state):
                return False
            if after != BETWEEN and (target, after) not in seen:
                seen.add((target, after))
                pending.append((target, after))
    return True
