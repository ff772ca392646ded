"""The compiled hot loops, and the one module that knows numba.

Each kernel takes and returns arrays (:mod:`cfgguide.kernel_types`) and also runs, slowly, under
``NUMBA_DISABLE_JIT=1``. They are the compiled form of :mod:`cfgguide.configuration`'s machine.

The walk visits the vocabulary trie in preorder. Frame ``d`` holds the configuration after the
first ``d`` bytes of the path, so a node costs one step from its parent's frame, and a dead prefix
skips its subtree. Parser stacks live in an arena of cells: first those of the configuration that
the walk starts from, the *base*, then those that shifts push. A cell is found again if the same
state is pushed on the same cell, so equal stacks are equal numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

from cfgguide.kernel_types import (
    DONE,
    IS_SENTENCE,
    N_CELLS,
    N_OUTCOMES,
    N_TOKENS,
    NONE,
    NOT_COMPUTED,
    REFUSED,
    TOO_MANY_CELLS,
    TOO_MANY_HYPOTHESES,
    TOO_MANY_OUTCOMES,
    TOO_SHALLOW,
    Int32Array,
    Tables,
    TrieArrays,
    Workspace,
)

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function with numba, keeping the result on disk."""
    compiled: Any = numba.njit(cache=True, nogil=True)(function)
    return cast(Function, compiled)


@kernel
def build_trie(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.uint8], Int32Array, Int32Array, Int32Array]:
    """Return byte, depth, skip and first_token of the trie of sorted byte strings.

    Parameters
    ----------
    data : uint8
        The strings, sorted, one after the other.
    offsets : int64, shape (n_strings + 1,)
        Where each string starts in `data`.
    """
    size = len(data)
    byte = np.empty(size, dtype=np.uint8)
    depth = np.empty(size, dtype=np.int32)
    first_token = np.empty(size + 1, dtype=np.int32)
    n_nodes = 0
    for string in range(len(offsets) - 1):
        start, end = offsets[string], offsets[string + 1]
        shared = 0
        if string > 0:
            before, limit = offsets[string - 1], offsets[string] - offsets[string - 1]
            while (
                shared < limit
                and shared < end - start
                and data[before + shared] == data[start + shared]
            ):
                shared += 1
        for position in range(shared, end - start):
            byte[n_nodes] = data[start + position]
            depth[n_nodes] = position + 1
            # A node's tokens are the strings that end there: none yet, but for the last byte.
            first_token[n_nodes] = string
            n_nodes += 1
    first_token[n_nodes] = len(offsets) - 1
    skip = np.empty(n_nodes, dtype=np.int32)
    open_nodes = np.empty(n_nodes + 1, dtype=np.int32)
    n_open = 0
    for node in range(n_nodes):
        while n_open > 0 and depth[open_nodes[n_open - 1]] >= depth[node]:
            n_open -= 1
            skip[open_nodes[n_open]] = node
        open_nodes[n_open] = node
        n_open += 1
    for index in range(n_open):
        skip[open_nodes[index]] = n_nodes
    return byte[:n_nodes].copy(), depth[:n_nodes].copy(), skip, first_token[: n_nodes + 1].copy()


@kernel
def _new_cell(work: Workspace, state: int, parent: int) -> int:
    """Return the cell of `state` on `parent`, made if need be."""
    cell = work.first_child[parent]
    while cell != NONE:
        if work.cell_state[cell] == state:
            return int(cell)
        cell = work.next_sibling[cell]
    cell = work.counts[N_CELLS]
    if cell >= len(work.cell_state):
        return TOO_MANY_CELLS
    work.counts[N_CELLS] += 1
    work.cell_state[cell] = state
    work.cell_parent[cell] = parent
    work.first_child[cell] = NONE
    work.next_sibling[cell] = work.first_child[parent]
    work.first_child[parent] = cell
    work.cell_home[cell] = NONE
    work.commits[cell, :] = NOT_COMPUTED
    return int(cell)


@kernel
def _read(work: Workspace, base_offsets: Int32Array, cell: int) -> int:
    """Return the state of a cell, noting how deep the base was looked into."""
    home = work.cell_home[cell]
    if home != NONE:
        rank = cell - base_offsets[home] + 1
        if rank > work.inspected[home]:
            work.inspected[home] = rank
    return int(work.cell_state[cell])


@kernel
def _reduced(
    tables: Tables, work: Workspace, base_offsets: Int32Array, cell: int, production: int
) -> int:
    """Return the cell after one reduction."""
    for _ in range(tables.lengths[production]):
        cell = work.cell_parent[cell]
        if cell == NONE:
            return TOO_SHALLOW
    below = _read(work, base_offsets, cell)
    return _new_cell(work, tables.goto[below, tables.left_sides[production]], cell)


@kernel
def _commit(
    tables: Tables, work: Workspace, base_offsets: Int32Array, cell: int, label: int
) -> int:
    """Return the cell after a lexeme: reductions, then the shift."""
    if label == tables.ignored:
        return cell
    if label > tables.ignored:
        return REFUSED
    known = work.commits[cell, label]
    if known != NOT_COMPUTED:
        return int(known)
    top = cell
    result = REFUSED
    for _ in range(len(work.cell_state)):
        action = tables.action[_read(work, base_offsets, top), label]
        if action == 0:
            break
        if action > 0:
            result = _new_cell(work, action - 1, top)
            break
        top = _reduced(tables, work, base_offsets, top, -action - 1)
        if top < 0:
            return top
    if result >= 0 or result == REFUSED:
        work.commits[cell, label] = result
    return result


@kernel
def _ends(tables: Tables, work: Workspace, base_offsets: Int32Array, cell: int) -> int:
    """Return 1 if ``$END`` is accepted on a stack, 0 if not, or `TOO_SHALLOW` and the like."""
    for _ in range(len(work.cell_state)):
        action = tables.action[_read(work, base_offsets, cell), 0]
        if action >= 0:
            return 0
        cell = _reduced(tables, work, base_offsets, cell, -action - 1)
        if cell < 0:
            return cell
        if work.cell_state[cell] == tables.end_state:
            return 1
    return 0


@kernel
def _extend(tables: Tables, work: Workspace, depth: int, state: int, cell: int) -> int:
    """Append a live hypothesis to a frame; return 1 if it matches, 0 if not, or a failure."""
    n = work.frame_n[depth]
    for earlier in range(n):
        if work.frame_state[depth, earlier] == state:
            return 0
    if n >= work.frame_state.shape[1]:
        return TOO_MANY_HYPOTHESES
    work.frame_state[depth, n] = state
    work.frame_cell[depth, n] = cell
    work.frame_n[depth] = n + 1
    return 1 if tables.match[state] >= 0 else 0


@kernel
def _step(
    tables: Tables, work: Workspace, base_offsets: Int32Array, depth: int, byte_class: int
) -> int:
    """Make frame `depth` from the frame before it; return `DONE` or a failure."""
    work.frame_n[depth] = 0
    for index in range(work.frame_n[depth - 1]):
        state = work.frame_state[depth - 1, index]
        cell = work.frame_cell[depth - 1, index]
        target = tables.transitions[state, byte_class]
        if target != 0:
            result = _extend(tables, work, depth, target, cell)
            if result != 0:
                return DONE if result > 0 else result
        label = tables.match[state]
        if label < 0:
            continue
        after = _commit(tables, work, base_offsets, cell, label)
        if after == REFUSED:
            continue
        if after < 0:
            return after
        parse_state = _read(work, base_offsets, after)
        start = tables.starts[tables.set_of_state[parse_state]]
        target = tables.transitions[start, byte_class]
        if target != 0:
            result = _extend(tables, work, depth, target, after)
            if result < 0:
                return result
    return DONE


@kernel
def _outcome(work: Workspace, depth: int) -> int:
    """Return the number of a frame's configuration among the distinct outcomes."""
    n = work.frame_n[depth]
    mask = len(work.outcome_hash) - 1
    slot = 0
    for index in range(n):
        state, cell = int(work.frame_state[depth, index]), int(work.frame_cell[depth, index])
        slot = slot * 31 + state * 7919 + cell
    slot = (slot ^ (slot >> 15)) & mask
    while work.outcome_hash[slot] != NONE:
        outcome = work.outcome_hash[slot]
        is_same = work.outcome_n[outcome] == n
        for index in range(n):
            if is_same and (
                work.outcome_state[outcome, index] != work.frame_state[depth, index]
                or work.outcome_cell[outcome, index] != work.frame_cell[depth, index]
            ):
                is_same = False
        if is_same:
            return int(outcome)
        slot = (slot + 1) & mask
    outcome = work.counts[N_OUTCOMES]
    if outcome >= len(work.outcome_n):
        return TOO_MANY_OUTCOMES
    work.counts[N_OUTCOMES] += 1
    work.outcome_hash[slot] = outcome
    work.outcome_n[outcome] = n
    for index in range(n):
        work.outcome_state[outcome, index] = work.frame_state[depth, index]
        work.outcome_cell[outcome, index] = work.frame_cell[depth, index]
    return int(outcome)


@kernel
def _base(
    tables: Tables,
    work: Workspace,
    base_states: Int32Array,
    base_offsets: Int32Array,
    scanner_states: Int32Array,
) -> int:
    """Load the base into frame 0 and the arena; tell whether it is a sentence."""
    n = len(scanner_states)
    if n > work.frame_state.shape[1]:
        return TOO_MANY_HYPOTHESES
    if len(base_states) > len(work.cell_state):
        return TOO_MANY_CELLS
    for home in range(n):
        work.inspected[home] = 0
        for cell in range(base_offsets[home], base_offsets[home + 1]):
            work.cell_state[cell] = base_states[cell]
            work.cell_parent[cell] = cell + 1 if cell + 1 < base_offsets[home + 1] else NONE
            work.cell_home[cell] = home
            work.first_child[cell] = NONE
            work.next_sibling[cell] = NONE
            work.commits[cell, :] = NOT_COMPUTED
        work.frame_state[0, home] = scanner_states[home]
        work.frame_cell[0, home] = base_offsets[home]
    work.frame_n[0] = n
    work.counts[N_CELLS] = len(base_states)
    work.counts[N_OUTCOMES] = 0
    work.counts[N_TOKENS] = 0
    work.outcome_hash[:] = NONE
    last, label = work.frame_cell[0, n - 1], tables.match[scanner_states[n - 1]]
    if label >= 0:
        last = _commit(tables, work, base_offsets, last, label)
    elif scanner_states[n - 1] != tables.starts[tables.set_of_state[0]]:
        last = REFUSED  # inside a lexeme
    work.counts[IS_SENTENCE] = 0
    if last == REFUSED:
        return DONE
    ends = _ends(tables, work, base_offsets, last) if last >= 0 else last
    if ends < 0:
        return ends
    work.counts[IS_SENTENCE] = ends
    return DONE


@kernel
def walk(
    tables: Tables,
    trie: TrieArrays,
    work: Workspace,
    base_states: Int32Array,
    base_offsets: Int32Array,
    scanner_states: Int32Array,
) -> int:
    """Find all tokens that are lexed and parsed without error from a base configuration.

    Parameters
    ----------
    base_states : int32
        Per base hypothesis its topmost parse states, the top first, one after the other.
    base_offsets : int32, shape (n_hypotheses + 1,)
        Where each hypothesis starts in `base_states`.
    scanner_states : int32, shape (n_hypotheses,)
        Their scanner states.

    Returns
    -------
    int
        `DONE`, with the results in `work`; or a failure that names what must be larger.
    """
    result = _base(tables, work, base_states, base_offsets, scanner_states)
    if result != DONE:
        return result
    transitions, byte_classes, match = tables.transitions, tables.byte_classes, tables.match
    frame_n, frame_state, frame_cell = work.frame_n, work.frame_state, work.frame_cell
    byte, depths, skip, first_token = trie.byte, trie.depth, trie.skip, trie.first_token
    node, n_nodes, n_tokens = 0, len(byte), 0
    last_state, last_cell, last_outcome = NONE, NONE, NONE
    while node < n_nodes:
        depth = depths[node]
        byte_class = byte_classes[byte[node]]
        # The common case, which `_step` would treat alike but whose calls would cost more than
        # the work: one hypothesis, which lives on and does not leave a match behind.
        state = frame_state[depth - 1, 0]
        target = transitions[state, byte_class]
        if frame_n[depth - 1] == 1 and target != 0 and (match[target] >= 0 or match[state] < 0):
            frame_n[depth] = 1
            frame_state[depth, 0] = target
            frame_cell[depth, 0] = frame_cell[depth - 1, 0]
        else:
            # Nearly as common: the lexeme ends, and nothing that may follow starts so.
            if frame_n[depth - 1] == 1 and target == 0:
                label, after = match[state], NOT_COMPUTED
                if 0 <= label < tables.ignored:
                    after = work.commits[frame_cell[depth - 1, 0], label]
                if label < 0 or after == REFUSED:
                    node = skip[node]
                    continue
                if after >= 0 and work.cell_home[after] == NONE:
                    terminal_set = tables.set_of_state[work.cell_state[after]]
                    if transitions[tables.starts[terminal_set], byte_class] == 0:
                        node = skip[node]
                        continue
            result = _step(tables, work, base_offsets, depth, byte_class)
            if result != DONE:
                return result
            if frame_n[depth] == 0:
                node = skip[node]
                continue
        if first_token[node] < first_token[node + 1]:
            is_simple = frame_n[depth] == 1
            state, cell = frame_state[depth, 0], frame_cell[depth, 0]
            if not (is_simple and state == last_state and cell == last_cell):
                last_outcome = _outcome(work, depth)
                if last_outcome < 0:
                    return last_outcome
                last_state = state if is_simple else NONE
                last_cell = cell
            for index in range(first_token[node], first_token[node + 1]):
                work.token_id[n_tokens] = trie.token_ids[index]
                work.token_outcome[n_tokens] = last_outcome
                n_tokens += 1
        node += 1
    work.counts[N_TOKENS] = n_tokens
    return DONE
