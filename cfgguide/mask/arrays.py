"""What the kernels read and write: named tuples of arrays, and the numbers with a meaning."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from cfgguide.vocabulary.trie import PackedTrie

Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]

# Results of a walk, and of a commit inside it where no cell (>= 0) comes out.
DONE = 0
REFUSED = -1  # the parser has no action
TOO_SHALLOW = -2  # the base window ends above a state that is needed
TOO_MANY_CELLS = -3
TOO_MANY_HYPOTHESES = -4
TOO_MANY_OUTCOMES = -5
TOO_MANY_OBLIGATIONS = -6

RUNNING, MATCHING, ASSERTION, DYING = 0, 1, 2, 3  # kinds of scanner states

NOT_COMPUTED = -9  # in `shifts`
NONE = -1  # no cell, no token, no outcome
LONGEST_REST = 3  # bytes of a character behind its first
DEAD_END, LIVE, OPEN = 0, 1, 2  # what is known of an outcome: in `verdicts`
# Places in `counts`.
N_CELLS, N_OUTCOMES, N_SEGMENTS, IS_SENTENCE, N_OPEN, N_COLUMNS, READS = 0, 1, 2, 3, 4, 5, 6
N_COUNTS = 7
LEVEL_READ, COLUMNS_READ = 1, 2  # in counts[READS], as bits

# A layout as one number: the cell of the innermost column, the level of brackets, and the packed
# column of the line that a lexeme has begun.
LEVEL_SHIFT, COLUMNS_SHIFT = 32, 43
COLUMN_BITS = (1 << LEVEL_SHIFT) - 1
LEVEL_BITS = (1 << (COLUMNS_SHIFT - LEVEL_SHIFT)) - 1
MAX_COLUMN_CELLS = 1 << 19


class Tables(NamedTuple):
    """The grammar's tables; see Scanner, ParseTable, Assurance, Loops and Lines for each.

    Attributes
    ----------
    kind : int8, shape (n_scanner_states,)
        `RUNNING`, `MATCHING`, `ASSERTION` or `DYING` for the dead state.
    has_indentation : bool
        Whether there is an indenter; without one the rest is not read.
    """

    transitions: Int32Array
    byte_classes: Int32Array
    match: Int32Array
    assertions: Int32Array
    is_assertion: npt.NDArray[np.bool_]
    kind: npt.NDArray[np.int8]
    is_start: npt.NDArray[np.bool_]
    equivalence_classes: Int32Array
    class_representatives: Int32Array
    starts: Int32Array
    contexts: Int32Array
    set_of_state: Int32Array
    action: Int32Array
    goto: Int32Array
    lengths: Int32Array
    left_sides: Int32Array
    ignored: int
    end_state: int
    max_reductions: int
    end_offsets: Int32Array
    end_terminal_ids: Int32Array
    end_groups: Int32Array
    is_sure: npt.NDArray[np.bool_]
    is_letter: npt.NDArray[np.bool_]
    is_assured: npt.NDArray[np.bool_]
    loop_of_state: Int32Array
    takes: npt.NDArray[np.int64]
    has_indentation: bool
    roles: npt.NDArray[np.int8]
    places: npt.NDArray[np.int8]
    byte_kinds: npt.NDArray[np.int8]
    is_followed: npt.NDArray[np.bool_]
    is_counted: npt.NDArray[np.bool_]
    is_free: npt.NDArray[np.bool_]
    is_begun: npt.NDArray[np.bool_]
    newline: int
    indent: int
    dedent: int
    tab: int
    max_brackets: int
    max_indents: int
    max_digits: int


class Base(NamedTuple):
    """The configuration that a walk starts from, as much of it as may be needed.

    Attributes
    ----------
    parse_states : int32
        Per hypothesis its topmost parse states, the top first, one after the other.
    offsets : int32, shape (n_hypotheses + 1,)
        Where each hypothesis starts in `parse_states`.
    scanner_states : int32, shape (n_hypotheses,)
        Their scanner states.
    obligations : int32
        Their claims, one after the other.
    obligation_offsets : int32, shape (n_hypotheses + 1,)
        Where each hypothesis starts in `obligations`.
    context : int
        The context.
    indentations : int64, shape (n_hypotheses,)
        Their layouts, each as one number.
    columns, column_parents, column_depths : int32, shape (n_columns,)
        The columns of open blocks, as in `Workspace`; the first is that of the file.
    """

    parse_states: Int32Array
    offsets: Int32Array
    scanner_states: Int32Array
    obligations: Int32Array
    obligation_offsets: Int32Array
    context: int
    indentations: Int64Array
    columns: Int32Array
    column_parents: Int32Array
    column_depths: Int32Array


class Workspace(NamedTuple):
    """Everything that a walk writes.

    Attributes
    ----------
    cell_state, cell_parent, first_child, next_sibling : int32, shape (n_cells,)
        The arena. Base cells come first; a parent of -1 is outside the base window.
    cell_home : int32, shape (n_cells,)
        The base hypothesis that a base cell belongs to.
    shifts : int32, shape (n_cells, n_terminals + 2)
        The cell after a lexeme of each label, `REFUSED`, or `NOT_COMPUTED`.
    frame_n : int32, shape (max_depth + 2,)
        Number of hypotheses after each byte of the path. The last frame is for lexemes that are
        about to start.
    frame_context : int32, shape (max_depth + 2,)
        Contexts there.
    next_node, end_node : int32, shape (max_depth + 2,)
        The nodes of each depth that are still to be visited.
    frame_is_plain : bool, shape (max_depth + 2,)
        Whether there is one hypothesis, without claims. Then only its state and its stack are
        written by the shortest path of the walk.
    frame_state, frame_cell, frame_n_obligations : int32, shape (max_depth + 2, n_hypotheses)
        The hypotheses' scanner states, stacks, and numbers of claims.
    frame_obligations : int32, shape (max_depth + 2, n_hypotheses, n_claims)
        Their claims, ascending.
    open_state, open_n_obligations, open_n_tasks : int32, shape (n_claims,)
        Possibilities still to be worked out: scanner state, numbers of claims and of tasks.
    open_obligations : int32, shape (n_claims, n_claims)
        Their claims, ascending.
    open_task : int32, shape (n_claims, n_claims)
        Their tasks: scanner states that must match (negative) or must not (positive).
    outcome_n : int32, shape (n_outcomes,)
        Number of hypotheses of each distinct configuration that a token leads to.
    outcome_context : int32, shape (n_outcomes,)
        Contexts there.
    outcome_state, outcome_cell, outcome_n_obligations : int32, shape (n_outcomes, n_hypotheses)
        Those hypotheses.
    outcome_obligations : int32, shape (n_outcomes, n_hypotheses, n_claims)
        Their claims.
    frame_indentation, outcome_indentation : int64, shape (max_depth + 2, n_hypotheses),
    (n_outcomes, ...)
        Their layouts, each as one number.
    column, column_parent, column_depth : int32, shape (n_cells,)
        The columns of open blocks: packed, the one further out or -1, and how many there are. The
        base's come first.
    outcome_hash : int32, shape (a power of two > n_outcomes,)
        Open-addressing table of outcomes, -1 = free.
    verdicts : int8, shape (n_outcomes,)
        `LIVE` if a sentence can follow each outcome, `DEAD_END` if none can, or `OPEN`.
    segment_start, segment_end, segment_outcome : int32, shape (n_text_tokens,)
        The tokens that are lexed and parsed without error: ranges of places in the trie's
        `token_ids`, ascending, and the outcome that each range leads to.
    inspected : int32, shape (n_hypotheses,)
        Per base hypothesis how many of its topmost states were read.
    counts : int32, shape (7,)
        Number of cells, of outcomes and of segments; 1 if the base is a sentence, else 0; number
        of outcomes that are `OPEN`; number of columns; what of the base's layouts was read.
    """

    cell_state: Int32Array
    cell_parent: Int32Array
    first_child: Int32Array
    next_sibling: Int32Array
    cell_home: Int32Array
    shifts: Int32Array
    frame_n: Int32Array
    frame_context: Int32Array
    next_node: Int32Array
    end_node: Int32Array
    frame_is_plain: npt.NDArray[np.bool_]
    frame_state: Int32Array
    frame_cell: Int32Array
    frame_n_obligations: Int32Array
    frame_obligations: Int32Array
    open_state: Int32Array
    open_n_obligations: Int32Array
    open_n_tasks: Int32Array
    open_obligations: Int32Array
    open_task: Int32Array
    outcome_n: Int32Array
    outcome_context: Int32Array
    outcome_state: Int32Array
    outcome_cell: Int32Array
    outcome_n_obligations: Int32Array
    outcome_obligations: Int32Array
    outcome_hash: Int32Array
    verdicts: npt.NDArray[np.int8]
    segment_start: Int32Array
    segment_end: Int32Array
    segment_outcome: Int32Array
    inspected: Int32Array
    counts: Int32Array
    frame_indentation: Int64Array
    outcome_indentation: Int64Array
    column: Int32Array
    column_parent: Int32Array
    column_depth: Int32Array


def workspace(
    *,
    frames: int,
    n_terminal_ids: int,
    n_tokens: int,
    cells: int = 1,
    hypotheses: int = 1,
    obligations: int = 1,
    outcomes: int = 1,
) -> Workspace:
    """Return a workspace of given sizes."""

    def array(*shape: int) -> Int32Array:
        return np.zeros(shape, dtype=np.int32)

    return Workspace(
        cell_state=array(cells),
        cell_parent=array(cells),
        first_child=array(cells),
        next_sibling=array(cells),
        cell_home=array(cells),
        shifts=array(cells, n_terminal_ids),
        frame_n=array(frames),
        frame_context=array(frames),
        next_node=array(frames),
        end_node=array(frames),
        frame_is_plain=np.zeros(frames, dtype=np.bool_),
        frame_state=array(frames, hypotheses),
        frame_cell=array(frames, hypotheses),
        frame_n_obligations=array(frames, hypotheses),
        frame_obligations=array(frames, hypotheses, obligations),
        open_state=array(obligations),
        open_n_obligations=array(obligations),
        open_n_tasks=array(obligations),
        open_obligations=array(obligations, obligations),
        open_task=array(obligations, obligations),
        outcome_n=array(outcomes),
        outcome_context=array(outcomes),
        outcome_state=array(outcomes, hypotheses),
        outcome_cell=array(outcomes, hypotheses),
        outcome_n_obligations=array(outcomes, hypotheses),
        outcome_obligations=array(outcomes, hypotheses, obligations),
        outcome_hash=array(2 * outcomes),
        verdicts=np.zeros(outcomes, dtype=np.int8),
        segment_start=array(n_tokens),
        segment_end=array(n_tokens),
        segment_outcome=array(n_tokens),
        inspected=array(hypotheses),
        counts=array(N_COUNTS),
        frame_indentation=np.zeros((frames, hypotheses), dtype=np.int64),
        outcome_indentation=np.zeros((outcomes, hypotheses), dtype=np.int64),
        column=array(cells),
        column_parent=array(cells),
        column_depth=array(cells),
    )


def examples() -> tuple[Tables, PackedTrie, Workspace, Base, Int32Array]:
    """Return arguments of the types that the kernels are compiled for."""
    numbers, table = np.zeros(1, dtype=np.int32), np.zeros((1, 1), dtype=np.int32)
    small, indentations = np.zeros(1, dtype=np.int8), np.zeros(1, dtype=np.int64)
    flags, grid = np.zeros(1, dtype=np.bool_), np.zeros((1, 1), dtype=np.bool_)
    tables = Tables(
        transitions=table,
        byte_classes=numbers,
        match=numbers,
        assertions=table,
        is_assertion=flags,
        kind=small,
        is_start=flags,
        equivalence_classes=numbers,
        class_representatives=numbers,
        starts=table,
        contexts=table,
        set_of_state=numbers,
        action=table,
        goto=table,
        lengths=numbers,
        left_sides=numbers,
        ignored=0,
        end_state=0,
        max_reductions=0,
        end_offsets=numbers,
        end_terminal_ids=numbers,
        end_groups=numbers,
        is_sure=flags,
        is_letter=flags,
        is_assured=grid,
        loop_of_state=numbers,
        takes=np.zeros(1, dtype=np.int64),
        has_indentation=False,
        roles=small,
        places=small,
        byte_kinds=small,
        is_followed=flags,
        is_counted=flags,
        is_free=flags,
        is_begun=grid,
        newline=0,
        indent=0,
        dedent=0,
        tab=0,
        max_brackets=0,
        max_indents=0,
        max_digits=0,
    )
    trie = PackedTrie(table, numbers, 1)
    base = Base(
        numbers, numbers, numbers, numbers, numbers, 0, indentations, numbers, numbers, numbers
    )
    return tables, trie, workspace(frames=1, n_terminal_ids=1, n_tokens=1), base, numbers


Arguments = TypeVar("Arguments", bound=tuple[Any, ...])


def like(example: Arguments, given: Arguments) -> Arguments:
    """Return named arrays with the memory layout of an example's, copied where they differ.

    A kernel is compiled for a layout: another, such as that of an array that is read-only, would
    have it compiled again, for many seconds.
    """
    parts = [
        np.require(part, wanted.dtype, ["C", "W"]) if isinstance(wanted, np.ndarray) else part
        for wanted, part in zip(example, given, strict=True)
    ]
    return type(given)(*parts)
