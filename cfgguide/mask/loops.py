r"""Loops of the scanner that read whole subtrees of the vocabulary.

In: a scanner, and a vocabulary trie. Out: for each scanner state that many characters lead back to
itself (inside a string, a name, a comment) the nodes below which every token does. The walk takes
such a subtree as a whole instead of visiting it. ::

    inside a JSON string    every character but " \ and control characters leads back
    a node with letters, digits and é below it      taken
    a node with a quote below it                    visited, then its children

A character beyond ASCII leads back through states that stand inside the character. Two states with
the same characters and steps share one loop.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cfgguide.automata.dfa import DEAD
from cfgguide.lexer.scanner import Scanner
from cfgguide.mask import trie_kernels
from cfgguide.mask.arrays import Int32Array
from cfgguide.parser.indentation import BREAK
from cfgguide.recognizer.indentation import IndentationReader
from cfgguide.vocabulary.trie import PackedTrie

NO_LOOP = -1  # in `Loops.loop_of_state`
_LEAVES = -1  # in the steps of a loop

_MIN_BYTES = 5  # of a loop
_MAX_LOOPS = 63  # bits of a number
_MAX_STATES = 10_000  # inside the characters of a loop


@dataclass(frozen=True)
class Loops:
    """Which subtrees of the vocabulary each scanner state loops in.

    Attributes
    ----------
    loop_of_state : int32, shape (n_scanner_states,)
        The loop of each state, -1 = none.
    takes : int64, shape (n_nodes,)
        Bit l: whether all tokens below a node lead from a state with loop l back to it.
    """

    loop_of_state: Int32Array
    takes: npt.NDArray[np.int64]

    @classmethod
    def of(
        cls, scanner: Scanner, trie: PackedTrie, reader: IndentationReader | None = None
    ) -> Loops:
        """Return the loops of a scanner; states beyond the first 63 loops have none.

        With an indenter, states and bytes that change the column of a line have no loop. If the
        scanner has several contexts, the bytes of a loop may change the context, and there are no
        loops at all.
        """
        states = np.arange(scanner.n_states)
        rows = scanner.transitions[:, scanner.byte_classes]
        goes_round = rows == states[:, None]
        goes_round[scanner.is_assertion | (states == DEAD)] = False
        if reader is not None:
            is_break = reader.indentation_rules.byte_kinds() == BREAK
            goes_round[reader.may_count] = False
            goes_round &= ~(reader.is_newline[:, None] & is_break)
        loop_of_state = np.full(scanner.n_states, NO_LOOP, dtype=np.int32)
        loops: dict[tuple[int, bytes], int] = {}
        if len(scanner.contexts) == 1:
            for state in np.flatnonzero(goes_round[:, :128].sum(axis=1) >= _MIN_BYTES).tolist():
                steps = _steps(scanner, rows, state, goes_round[state])
                loop = (len(steps), steps.tobytes())
                if loop in loops or len(loops) < _MAX_LOOPS:
                    loop_of_state[state] = loops.setdefault(loop, len(loops))
        takes = np.zeros(len(trie.nodes) - 1, dtype=np.int64)
        for (n_states, data), loop_index in loops.items():
            steps = np.frombuffer(data, dtype=np.int32).reshape(n_states, 256)
            trie_kernels.add_loop(trie.nodes, steps, 1 << loop_index, takes)
        return cls(loop_of_state, takes)


def _steps(
    scanner: Scanner, rows: Int32Array, state: int, goes_round: npt.NDArray[np.bool_]
) -> Int32Array:
    """Return how the bytes of characters lead from a state back to it.

    Parameters
    ----------
    rows : int32, shape (n_scanner_states, 256)
        The scanner's transitions by bytes.
    goes_round : bool, shape (256,)
        The bytes that lead back at once.

    Returns
    -------
    int32, shape (n_states, 256)
        The next state by the last one and a byte: 0 is the state itself, others stand inside
        characters and are numbered in the order of discovery; -1 leads elsewhere.
    """
    numbers = {state: 0}
    order = [state]
    steps: list[Int32Array] = []
    for here in order:
        step = np.full(256, _LEAVES, dtype=np.int32)
        if here == state:
            step[goes_round] = 0
        row = rows[here, 0x80:]
        for target in dict.fromkeys(row.tolist()):
            if target == DEAD or scanner.is_assertion[target]:
                continue
            if target not in numbers and len(numbers) < _MAX_STATES:
                numbers[target] = len(numbers)
                order.append(target)
            step[0x80:][row == target] = numbers.get(target, _LEAVES)
        steps.append(step)
    return np.stack(steps)
