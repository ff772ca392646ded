"""What the kernels read and write: named tuples of arrays, and the numbers with a meaning.

Each array is listed once, with its dtype and its axes as an annotation; the workspace itself is
made from these annotations. `views.pxd` has the same fields for the compiled kernels.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

import numpy as np
import numpy.typing as npt

Int8Array = npt.NDArray[np.int8]
Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]
UInt64Array = npt.NDArray[np.uint64]
BoolArray = npt.NDArray[np.bool_]

# Results of a walk, and of a shift inside it where no cell (>= 0) comes out.
DONE = 0
REFUSED = -1  # the parser has no action
TOO_SHALLOW = -2  # the base window ends above a state that is needed
TOO_MANY_CELLS = -3
TOO_MANY_HYPOTHESES = -4
TOO_MANY_OUTCOMES = -5
TOO_MANY_OBLIGATIONS = -6

# Kinds of scanner states. A state is LEAVING if its lexeme owes something else than that its own
# bytes match no more.
RUNNING, MATCHING, ASSERTION, DYING, LEAVING = 0, 1, 2, 3, 4

NOT_COMPUTED = -9  # in `shifts`
SEVERAL = -10  # in `shifts`: this, less where in `several` the cells are listed
NONE = -1  # no cell, no token, no outcome
LONGEST_REST = 3  # bytes of a character after its first
DEAD_END, LIVE, OPEN = 0, 1, 2  # what is known of an outcome: in `verdicts`
# Indices into `counts`.
N_CELLS, N_OUTCOMES, N_SEGMENTS, IS_SENTENCE, N_OPEN, N_COLUMNS, READS = 0, 1, 2, 3, 4, 5, 6
N_SEVERAL, N_SEARCHES, MAY_CUT, N_VISITED = 7, 8, 9, 10
N_COUNTS = 11
LEVEL_READ, COLUMNS_READ = 1, 2  # in counts[READS], as bits
N_HYPOTHESES, N_BASE_COLUMNS, CONTEXT = 0, 1, 2  # indices into `numbers`
N_NUMBERS = 3

# An indentation as one number: the cell of the innermost column, the level of brackets, and the
# packed column of the line that a lexeme has begun.
LEVEL_SHIFT, COLUMNS_SHIFT = 32, 43
COLUMN_BITS = (1 << LEVEL_SHIFT) - 1
LEVEL_BITS = (1 << (COLUMNS_SHIFT - LEVEL_SHIFT)) - 1
ONE_LEVEL = 1 << LEVEL_SHIFT
MAX_COLUMN_CELLS = 1 << 19
MAX_PAIRS = 64  # of states that are looked at together

# Kinds of items, and indices into `counts`, of :mod:`cfgguide.engine.masks.effect_kernels`.
DEBT, ALTERNATIVES, POSSIBLE, COLUMN, CONTEXTS_OF, INSIDE, ENDED, PAIR, READINGS, OWED = range(10)
GROUPS, JOINED, REST, EFFECT = range(10, 14)
STATUS, TOP, N_IDS, N_ITEMS, N_KNOWN, N_JOBS, N_EFFECTS, N_STEPS, STAMP = range(9)
EMPTY_REST, CHILD, PARENT = range(9, 12)
N_SPACE_COUNTS = 12
# Why these kernels return, other than `DONE`.
STUCK, PAUSED = 1, 2
FULL_ITEMS, FULL_IDS, FULL_KNOWN, FULL_SCRATCH, FULL_JOBS, FULL_EFFECTS = range(4, 10)
MAY_END, NEEDS_CARE = 1, 2  # what there is to a scanner state, as bits


class Tables(NamedTuple):
    """The grammar's tables, each as its class describes it."""

    # Scanner
    transitions: Annotated[Int32Array, "scanner_states", "byte_classes"]
    byte_classes: Annotated[Int32Array, 256]
    match: Annotated[Int32Array, "scanner_states"]
    assertions: Annotated[Int32Array, "scanner_states", 3]
    is_assertion: Annotated[BoolArray, "scanner_states"]
    kind: Annotated[Int8Array, "scanner_states"]  # RUNNING and so on
    is_start: Annotated[BoolArray, "scanner_states"]
    equivalence_classes: Annotated[Int32Array, "scanner_states"]
    class_representatives: Annotated[Int32Array, "equivalence_classes"]
    starts: Annotated[Int32Array, "terminal_sets", "contexts"]
    contexts: Annotated[Int32Array, "contexts", "byte_classes"]
    # Staying
    stays: Annotated[UInt64Array, "scanner_states"]
    context_stays: Annotated[UInt64Array, "contexts"]
    # ParseTable
    set_of_state: Annotated[Int32Array, "parse_states"]
    action: Annotated[Int32Array, "parse_states", "terminals"]
    goto: Annotated[Int32Array, "parse_states", "nonterminals"]
    lengths: Annotated[Int32Array, "productions"]
    left_sides: Annotated[Int32Array, "productions"]
    ignored: int
    end_state: int
    max_reductions: int
    is_general: bool
    choices: Annotated[Int32Array, "parse_states", "terminals"]
    choice_productions: Annotated[Int32Array, "alternatives"]
    # ShortStacks
    is_idle: Annotated[BoolArray, "parse_states"]
    # AlwaysLive
    end_offsets: Annotated[Int32Array, "scanner_states_and_one"]
    end_terminal_ids: Annotated[Int32Array, "ends"]
    end_groups: Annotated[Int32Array, "ends"]
    is_certain: Annotated[BoolArray, "ends"]
    is_letter: Annotated[BoolArray, "byte_classes"]
    is_always_live: Annotated[BoolArray, "parse_states", "groups"]
    # Whether there is an indenter; without one the rest is not read.
    has_indentation: bool
    # IndentationRules and IndentationReader, and what AlwaysLive has for them
    roles: Annotated[Int8Array, "terminal_ids"]
    places: Annotated[Int8Array, "parse_states"]
    byte_kinds: Annotated[Int8Array, "byte_classes"]
    is_followed: Annotated[BoolArray, "scanner_states"]  # the column matters inside the lexeme
    is_counted: Annotated[BoolArray, "scanner_states"]
    is_free: Annotated[BoolArray, "scanner_states"]
    is_live_after_newline: Annotated[BoolArray, "parse_states", "groups"]
    newline: int
    indent: int
    dedent: int
    tab: int
    max_brackets: int
    max_indents: int
    max_digits: int


class Base(NamedTuple):
    """The configuration that a walk starts from, as much of it as may be needed.

    The arrays are used again, and may be longer than what they hold.
    """

    numbers: Annotated[Int32Array, N_NUMBERS]
    # The topmost parse states of each hypothesis, the top first, and where each starts.
    parse_states: Annotated[Int32Array, "states"]
    offsets: Annotated[Int32Array, "hypotheses_and_one"]
    scanner_states: Annotated[Int32Array, "hypotheses"]
    # The look-ahead obligations of each hypothesis, and where each starts.
    obligations: Annotated[Int32Array, "obligations"]
    obligation_offsets: Annotated[Int32Array, "hypotheses_and_one"]
    indentations: Annotated[Int64Array, "hypotheses"]  # each as one number
    # The columns of open blocks, as in `Workspace`; the first is that of the file.
    columns: Annotated[Int32Array, "columns"]
    column_parents: Annotated[Int32Array, "columns"]
    column_depths: Annotated[Int32Array, "columns"]


class Workspace(NamedTuple):
    """Everything that a walk writes, and what is known of its trie.

    Axes are named after the arguments of :func:`workspace`: `cells` of the stack arena, `frames`
    (one for each byte of the path, and one more at the end for lexemes that are about to start),
    `hypotheses` and `obligations` of each, `outcomes`, `terminal_ids`, `tokens`, `nodes`.
    """

    # The arena of stack cells. Those of the base come first.
    cell_state: Annotated[Int32Array, "cells"]
    cell_parent: Annotated[Int32Array, "cells"]  # NONE: outside the base window
    first_child: Annotated[Int32Array, "cells"]
    next_sibling: Annotated[Int32Array, "cells"]
    cell_home: Annotated[Int32Array, "cells"]  # the base hypothesis that a base cell belongs to
    # The cell after a lexeme of each terminal id, `REFUSED`, `NOT_COMPUTED`, or `SEVERAL` cells.
    shifts: Annotated[Int32Array, "cells", "terminal_ids"]
    # Of general tables: lists of cells, each with its length before it; the stacks that reductions
    # lead to; and in which search a cell was among these last.
    several: Annotated[Int32Array, "cells"]
    tops: Annotated[Int32Array, "cells"]
    searched: Annotated[Int32Array, "cells"]
    # The configuration after each byte of the path: its number of hypotheses, and its context.
    frame_n: Annotated[Int32Array, "frames"]
    frame_context: Annotated[Int32Array, "frames"]
    # The trie nodes of each depth that are still to be visited.
    next_node: Annotated[Int32Array, "frames"]
    end_node: Annotated[Int32Array, "frames"]
    # Whether there is one hypothesis, without obligations. If so, the shortest path of the walk
    # writes only its state and its stack.
    frame_is_plain: Annotated[BoolArray, "frames"]
    # The sets of bytes that come at each node and below it, as bits; and those after which the
    # configuration is the same.
    below: Annotated[UInt64Array, "nodes"]
    frame_stays: Annotated[UInt64Array, "frames"]
    # The hypotheses; obligations ascending, and each indentation as one number.
    frame_state: Annotated[Int32Array, "frames", "hypotheses"]
    frame_cell: Annotated[Int32Array, "frames", "hypotheses"]
    frame_indentation: Annotated[Int64Array, "frames", "hypotheses"]
    frame_n_obligations: Annotated[Int32Array, "frames", "hypotheses"]
    frame_obligations: Annotated[Int32Array, "frames", "hypotheses", "obligations"]
    # Possibilities still to be resolved: their obligations, ascending, and their tasks: scanner
    # states that must match (negative) or must not (positive).
    open_state: Annotated[Int32Array, "obligations"]
    open_n_obligations: Annotated[Int32Array, "obligations"]
    open_n_tasks: Annotated[Int32Array, "obligations"]
    open_obligations: Annotated[Int32Array, "obligations", "obligations"]
    open_task: Annotated[Int32Array, "obligations", "obligations"]
    # The distinct configurations that tokens lead to, as those of the frames.
    outcome_n: Annotated[Int32Array, "outcomes"]
    outcome_context: Annotated[Int32Array, "outcomes"]
    outcome_state: Annotated[Int32Array, "outcomes", "hypotheses"]
    outcome_cell: Annotated[Int32Array, "outcomes", "hypotheses"]
    outcome_indentation: Annotated[Int64Array, "outcomes", "hypotheses"]
    outcome_n_obligations: Annotated[Int32Array, "outcomes", "hypotheses"]
    outcome_obligations: Annotated[Int32Array, "outcomes", "hypotheses", "obligations"]
    # Open-addressing hash table of the outcomes, NONE = free; its length is a power of two.
    outcome_hash: Annotated[Int32Array, "outcome_slots"]
    verdicts: Annotated[Int8Array, "outcomes"]  # `LIVE`, `DEAD_END` or `OPEN`
    # The tokens that are lexed and parsed without error: ranges of indices into the trie's
    # `token_ids`, ascending, and the outcome that each range leads to.
    segment_start: Annotated[Int32Array, "tokens"]
    segment_end: Annotated[Int32Array, "tokens"]
    segment_outcome: Annotated[Int32Array, "tokens"]
    # The same ranges of those whose outcomes are `LIVE`, with neighbours joined: start and end.
    live_ranges: Annotated[Int32Array, "tokens", 2]
    # How many of the topmost states of each base hypothesis were read.
    inspected: Annotated[Int32Array, "hypotheses"]
    counts: Annotated[Int32Array, N_COUNTS]
    # The columns of open blocks: packed, the next one further out or NONE, and how many there are.
    # Those of the base come first.
    column: Annotated[Int32Array, "cells"]
    column_parent: Annotated[Int32Array, "cells"]
    column_depth: Annotated[Int32Array, "cells"]


class EffectSpace(NamedTuple):
    """What effects are made from, and all that is made of them.

    Items and their kinds are those of :mod:`cfgguide.engine.masks.effect_kernels`. Axes that may
    prove too short are `items`, `ids`, `known`, `scratch`, `jobs` and `effects`.
    """

    first: int  # the number of the first item; it is the debt of nothing
    same_contexts: int  # the items of the contexts of the empty string,
    no_column: int  # of `NO_COLUMN`,
    first_column: int  # and of a column of which nothing is known yet
    n_needed: int  # the entries of an effect one of which reads a string that has one
    # The scanner states that bytes tell apart, those in which lexemes start, and what may be owed.
    states: Annotated[Int32Array, "states"]
    lexeme_starts: Annotated[Int32Array, "lexeme_starts"]
    owed: Annotated[Int32Array, "owed"]
    owed_as: Annotated[Int32Array, "scanner_states"]  # the state that stands for all of its class
    moves: Annotated[Int32Array, "byte_classes", "scanner_states"]  # made by `lay_out`
    acts: Annotated[Int8Array, "scanner_states"]  # `MAY_END` and `NEEDS_CARE`
    is_newline: Annotated[BoolArray, "scanner_states"]  # the lexeme may still become a line break
    # The items, one after another; where each starts, and the end; their hashes; and an
    # open-addressing table of one more than their places in it, 0 = free.
    items: Annotated[Int32Array, "items"]
    offsets: Annotated[Int32Array, "ids_and_one"]
    hashes: Annotated[Int32Array, "ids"]
    slots: Annotated[Int32Array, "slots"]
    # What a number leads to with a letter, both as one number: a table of the same kind.
    known: Annotated[Int64Array, "known", 2]
    # For each number in which vector it was found last, and in which group.
    marks: Annotated[Int32Array, "numbers", 2]
    scratch: Annotated[Int32Array, "scratch"]  # what is being written: a stack
    jobs: Annotated[Int32Array, "jobs", 2]  # vectors, and the byte classes to read: a stack
    # Of scanner states, by whether they are to match: under which debts they do, 0 = not known.
    # What assertion states stand for, and one more than the reading of a lexeme that comes there.
    alternatives: Annotated[Int32Array, "scanner_states", 2]
    possible: Annotated[Int32Array, "scanner_states"]
    landed: Annotated[Int32Array, "scanner_states"]
    # The effects: the item, the effect with one byte less, and that byte. Number 0 is `NOTHING`,
    # number 1 that of the empty string; and back from items to numbers, 0 = none.
    effects: Annotated[Int32Array, "effects", 3]
    effect_numbers: Annotated[Int32Array, "ids"]
    effect_of_node: Annotated[Int32Array, "nodes"]
    effect_of_token: Annotated[Int32Array, "tokens"]
    counts: Annotated[Int32Array, N_SPACE_COUNTS]


def effect_space(sizes: Mapping[str, int], **fields: Any) -> EffectSpace:
    """Return memory for effects, all zero, with axes of given sizes; but for some given fields."""
    derived = {
        **dict.fromkeys(("states", "lexeme_starts", "owed", "byte_classes"), 0),
        "ids_and_one": sizes["ids"] + 1,
        "slots": 2 * sizes["ids"],
        "numbers": fields["first"] + sizes["ids"],
    }
    return EffectSpace(*_zeros(EffectSpace, {**sizes, **derived}, fields))


def workspace(
    *,
    frames: int,
    terminal_ids: int,
    tokens: int,
    nodes: int,
    cells: int = 1,
    hypotheses: int = 1,
    obligations: int = 1,
    outcomes: int = 1,
) -> Workspace:
    """Return a workspace of given sizes; `outcomes` is a power of two."""
    sizes = {**locals(), "outcome_slots": 2 * outcomes}
    return Workspace(*_zeros(Workspace, sizes))


def base(*, states: int, hypotheses: int, obligations: int, columns: int) -> Base:
    """Return arrays for the base of a walk, with room for so much."""
    sizes = {**locals(), "hypotheses_and_one": hypotheses + 1}
    return Base(*_zeros(Base, sizes))


def tables(**fields: Any) -> Tables:
    """Return tables with given fields, as the kernels take them; the others are empty."""
    empty = Tables(*_zeros(Tables, defaultdict[str, int](lambda: 1)))._replace(**fields)
    return Tables._make(
        dtype(value) if axes is None else np.ascontiguousarray(value, dtype=dtype)
        for (dtype, axes), value in zip(_types_of_fields(Tables).values(), empty, strict=True)
    )


def _zeros(
    record: type[tuple[Any, ...]], sizes: Mapping[str, int], given: Mapping[str, Any] | None = None
) -> Iterator[Any]:
    """Yield the fields of a named tuple: given ones, or zero with axes of given sizes."""
    for name, (dtype, axes) in _types_of_fields(record).items():
        if given is not None and name in given:
            yield given[name]
        elif axes is None:
            yield dtype()
        else:
            shape = [axis if isinstance(axis, int) else sizes[axis] for axis in axes]
            yield np.zeros(shape, dtype=dtype)


@functools.cache  # reading annotations takes longer than making the arrays
def _types_of_fields(
    record: type[tuple[Any, ...]],
) -> dict[str, tuple[Any, list[str | int] | None]]:
    """Return the type of each field: of a number, or of an array's items and its axes."""
    types: dict[str, tuple[Any, list[str | int] | None]] = {}
    for name, hint in get_type_hints(record, include_extras=True).items():
        if hint in (int, bool):
            types[name] = hint, None
        else:
            array, *axes = get_args(hint)
            types[name] = _items(array), axes
    return types


def _items(hint: Any) -> Any:
    """Return T of ``NDArray[T]``: an alias from numpy 2.5 on, before that an ``ndarray``."""
    parts = get_args(hint)
    return _items(parts[-1]) if parts else hint
