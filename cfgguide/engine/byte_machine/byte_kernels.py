"""The compiled hot loops of masks of a pushdown automaton: the walk over the vocabulary trie.

The walk visits the trie depth first, as :func:`cfgguide.engine.masks.kernels.walk` does, but each
prefix has only a state and a stack. Where a row of the automaton is not made yet, the walk stops
and says so; called again, it goes on.

Where a mask is asked for, a subtree is not visited if all kinds of characters in it may follow one
another after the state; where all outcomes are, if all kinds lead back to it. Where the mask of a
string of any characters is known, only the tokens that end a listed name are visited. Where one has
ended, and where a lexeme has that is read alone, is an *end*, for the caller to look up.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from cfgguide.base import uncompiled as cython

import numpy as np
import numpy.typing as npt

from cfgguide.base.kinds import KINDS, N_BITS
from cfgguide.engine.byte_machine.byte_views import (
    ALL_BITS,
    ALLOWED,
    BELOW,
    COLLECT,
    DEPTH,
    DONE,
    EDGES,
    END,
    FOLLOWS,
    INSPECTED,
    IS_NAMED,
    MAP,
    N_BELOW,
    N_CELLS,
    N_EDGES,
    N_ENDS,
    N_SEGMENTS,
    N_VISITED,
    NEED_FOLLOW,
    NEED_ROW,
    NEEDED,
    NEEDED_TAG,
    NONE,
    NOT_MADE,
    PUSH,
    QUOTE,
    ROW,
    SHARED_TAG,
    STAYS,
    TOO_MANY,
    TOO_SHALLOW,
    VISIT,
    Arrays,
    Work,
)
from cfgguide.engine.vocabulary.trie import BYTE, END_TOKEN, FIRST_CHILD, FIRST_TOKEN, PackedTrie


def _pushed(work: Work, frame: int, parent: int) -> int:
    """Return the cell of a frame on another, `NONE` if there are too many."""
    cell: int = work.first_child[parent]
    while cell != NONE:
        if work.cell_frame[cell] == frame:
            return cell
        cell = work.next_sibling[cell]
    cell = work.counts[N_CELLS]
    if cell >= len(work.cell_frame):
        return NONE
    work.counts[N_CELLS] = cell + 1
    work.cell_frame[cell] = frame
    work.cell_parent[cell] = parent
    work.first_child[cell] = NONE
    work.next_sibling[cell] = work.first_child[parent]
    work.first_child[parent] = cell
    return cell


def allows(arrays: Arrays, frame: int, tag: int) -> bool:
    """Return whether a frame allows a name with a tag."""
    allowed = arrays.frames[frame, ALLOWED]
    if allowed == NONE:
        return True
    has: bool = (arrays.words[allowed + (tag >> 6)] >> (tag & 63)) & 1 != 0
    return has


def is_allowed_in(arrays: Arrays, state: int, frame: int) -> bool:
    """Return whether a frame allows a name that begins as in a state."""
    below = arrays.states[state, BELOW]
    if below == NONE:
        return True
    for index in range(below, below + arrays.states[state, N_BELOW]):
        if allows(arrays, frame, arrays.tags[index]):
            return True
    tag = arrays.states[state, SHARED_TAG]
    return tag != NONE and allows(arrays, frame, tag)


def operation(arrays: Arrays, state: int, byte: int) -> int:
    """Return the operation of a byte in a state that has a row."""
    first = arrays.states[state, EDGES]
    for edge in range(first, first + arrays.states[state, N_EDGES]):
        if arrays.edges[edge, 0] == byte:
            found: int = arrays.edges[edge, 1]
            return found
    place = arrays.states[state, ROW] + arrays.maps[arrays.states[state, MAP], byte]
    found = arrays.operations[place]
    return found  # noqa: RET504 - it has a type


def begin(trie: PackedTrie, work: Work, frames: list[int], state: int, is_known: bool) -> None:
    """Write down where a walk begins.

    Parameters
    ----------
    trie : PackedTrie
        The tokens.
    work : Work
        Memory, with room for the frames.
    frames : list of int
        Those of the stack, the top first.
    state : int
        On the stack.
    is_known : bool
        Whether only tokens that end a listed name are visited.
    """
    n = 0
    for frame in frames:
        work.cell_frame[n], work.cell_parent[n] = frame, n + 1
        work.first_child[n] = work.next_sibling[n] = NONE
        n += 1
    work.cell_parent[n - 1] = NONE
    for count in range(len(work.counts)):
        work.counts[count] = 0
    work.counts[N_CELLS] = n
    work.at_state[0], work.at_cell[0], work.is_known[0] = state, 0, is_known
    work.next_node[1], work.end_node[1] = 0, trie.n_roots


def _noted(
    work: Work, n_segments: int, first_token: int, end_token: int, state: int, cell: int, mode: int
) -> int:
    """Note where some tokens lead; return the number of segments, `NONE` if there are too many.

    For a mask it only counts that they may come, so what touches is one.
    """
    last = n_segments - 1
    if (
        n_segments
        and work.segments[last, 1] == first_token
        and (mode != VISIT or (work.segments[last, 2] == state and work.segments[last, 3] == cell))
    ):
        work.segments[last, 1] = end_token
        return n_segments
    if n_segments >= len(work.segments):
        return NONE
    work.segments[n_segments, 0], work.segments[n_segments, 1] = first_token, end_token
    work.segments[n_segments, 2], work.segments[n_segments, 3] = state, cell
    return n_segments + 1


def walk(
    arrays: Arrays,
    trie: PackedTrie,
    kinds: npt.NDArray[np.uint64],
    near: npt.NDArray[np.int32],
    work: Work,
    n_base: int,
    mode: int,
    is_begun: bool,
) -> int:
    """Find the tokens that may follow a state, on the stack in `work`.

    Parameters
    ----------
    arrays : Arrays
        The automaton.
    trie : PackedTrie
        The tokens.
    kinds : uint64, shape (n_nodes,)
        What comes below each node (:mod:`cfgguide.engine.vocabulary.trie_kinds`); empty if that is
        not known.
    near : int32, shape (n,)
        Of a state without a row, the one that is read instead where a mask is asked for, or 0.
    work : Work
        Memory; where to start is in row 0 of the path, and where in the trie in row 1.
    n_base : int
        Number of cells of the configuration.
    mode : int
        `VISIT`: find where each token leads; `MASK`: whether it may come; `COLLECT`: the same, up
        to the ends of what stands on the bottom frame.
    is_begun : bool
        Whether to go on with a walk that has stopped.

    Returns
    -------
    int
        `DONE`, or why it has stopped.
    """
    states = arrays.states
    nodes, counts = trie.nodes, work.counts
    knows_kinds, looks_back = len(kinds) > 0, mode == VISIT
    depth, n_segments = 1, 0
    if is_begun:
        depth, n_segments = counts[DEPTH], counts[N_SEGMENTS]
    while depth > 0:
        node = work.next_node[depth]
        if node == work.end_node[depth]:
            depth -= 1
            continue
        counts[N_VISITED] += 1
        byte = nodes[node, BYTE]
        state, cell = work.at_state[depth - 1], work.at_cell[depth - 1]
        if states[state, ROW] == NOT_MADE and state < len(near) and near[state] != 0:
            state = work.at_state[depth - 1] = near[state]
        known = work.is_known[depth - 1]
        if knows_kinds and not known and states[state, STAYS] != NONE:
            # Of most subtrees of which one is taken whole, the next ones are, too: many at once.
            stays = arrays.words[states[state, STAYS] + looks_back]
            after, end = node, work.end_node[depth]
            while after < end:
                met = kinds[after]
                if (met & KINDS) | stays != stays or met >> N_BITS > stays >> N_BITS:
                    break
                after += 1
            if after > node:
                if cell < n_base and cell >= counts[INSPECTED] and states[state, BELOW] != NONE:
                    counts[INSPECTED] = cell + 1
                first_token, end_token = nodes[node, FIRST_TOKEN], nodes[after - 1, END_TOKEN]
                n_segments = _noted(work, n_segments, first_token, end_token, state, cell, mode)
                if n_segments == NONE:
                    return TOO_MANY
                work.next_node[depth] = after
                counts[N_VISITED] += after - node - 1
                continue
        tag, is_popped = NONE, False
        named = state
        target = 0
        while True:
            if states[state, ROW] == NOT_MADE:
                if state < len(near) and near[state] != 0:
                    state = near[state]
                    continue
                counts[NEEDED], counts[DEPTH], counts[N_SEGMENTS] = state, depth, n_segments
                return NEED_ROW
            target = operation(arrays, state, byte)
            if target >= 0:
                break
            kind = arrays.actions[-target, 0]
            if kind == PUSH:
                cell = _pushed(work, arrays.actions[-target, 1], cell)
                if cell == NONE:
                    return TOO_MANY
                target = arrays.actions[-target, 2]
                break
            tag = arrays.actions[-target, 1]
            if mode == COLLECT and work.cell_parent[cell] == NONE:
                target = -1  # it ends here
                break
            frame = work.cell_frame[cell]
            if cell < n_base and cell >= counts[INSPECTED]:
                counts[INSPECTED] = cell + 1
            follow = arrays.follows[arrays.frames[frame, FOLLOWS] + tag]
            if follow == NOT_MADE:
                counts[NEEDED], counts[DEPTH], counts[N_SEGMENTS] = frame, depth, n_segments
                counts[NEEDED_TAG] = tag
                return NEED_FOLLOW
            is_popped = True
            if follow == 0:
                target = 0
                break
            cell = work.cell_parent[cell]
            if cell == NONE:
                return TOO_SHALLOW
            if kind != END:
                target = follow
                break
            state = follow
        work.next_node[depth] = node + 1
        first_token, end_token = nodes[node, FIRST_TOKEN], nodes[node, END_TOKEN]
        has_ended = target < 0
        if known:
            if not is_popped:
                if target == 0 or not states[target, IS_NAMED]:
                    continue
            elif tag == states[named, SHARED_TAG]:
                continue
            else:
                has_ended, known = True, False
        if has_ended:
            end = counts[N_ENDS]
            if end >= len(work.ends):
                return TOO_MANY
            counts[N_ENDS] = end + 1
            work.ends[end, 0], work.ends[end, 1] = node, depth
        if target <= 0:
            continue
        first_child, end_child = nodes[node, FIRST_CHILD], nodes[node + 1, FIRST_CHILD]
        end_own = end_token
        if first_child < end_child:
            end_own = nodes[first_child, FIRST_TOKEN]
        if states[target, BELOW] != NONE:
            if cell < n_base and cell >= counts[INSPECTED]:
                counts[INSPECTED] = cell + 1
            if not known and not is_allowed_in(arrays, target, work.cell_frame[cell]):
                continue
        if first_token < end_own and not known:
            n_segments = _noted(work, n_segments, first_token, end_own, target, cell, mode)
            if n_segments == NONE:
                return TOO_MANY
        if first_child == end_child:
            continue
        work.at_state[depth], work.at_cell[depth], work.is_known[depth] = target, cell, known
        depth += 1
        work.next_node[depth], work.end_node[depth] = first_child, end_child
    counts[N_SEGMENTS] = n_segments
    return DONE


def ranges(work: Work, found: npt.NDArray[np.int32]) -> int:
    """Write down the ranges of tokens that a walk has found, joined where they touch.

    Parameters
    ----------
    work : Work
        What the walk has written.
    found : int32, shape (n_segments, 2)
        For the ranges.

    Returns
    -------
    int
        Their number.
    """
    n = 0
    for segment in range(work.counts[N_SEGMENTS]):
        if n and found[n - 1, 1] == work.segments[segment, 0]:
            found[n - 1, 1] = work.segments[segment, 1]
        else:
            found[n, 0], found[n, 1] = work.segments[segment, 0], work.segments[segment, 1]
            n += 1
    return n


def fill(
    trie: PackedTrie, found: npt.NDArray[np.int32], bitmask: npt.NDArray[np.uint32], has: bool
) -> None:
    """Add the tokens in some ranges to a bitmask, or remove them.

    Parameters
    ----------
    trie : PackedTrie
        The tokens.
    found : int32, shape (n_ranges, at least 2)
        Ranges of indices into its tokens.
    bitmask : uint32, shape (n_words,)
        The mask.
    has : bool
        Whether they are added.
    """
    with cython.nogil:
        for segment in range(len(found)):
            for index in range(found[segment, 0], found[segment, 1]):
                token_id = trie.token_ids[index]
                if has:
                    bitmask[token_id >> 5] |= 1 << (token_id & 31)
                else:
                    bitmask[token_id >> 5] &= ALL_BITS ^ (1 << (token_id & 31))


def run(
    arrays: Arrays,
    trie: PackedTrie,
    kinds: npt.NDArray[np.uint64],
    near: npt.NDArray[np.int32],
    work: Work,
    n_base: int,
    mode: int,
    is_begun: bool,
) -> int:
    """Call :func:`walk` while other threads run."""
    with cython.nogil:
        return walk(arrays, trie, kinds, near, work, n_base, mode, is_begun)


def n_beginnings(data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int32]) -> int:
    """Return the number of different beginnings of texts, with the empty one and the texts.

    Parameters
    ----------
    data : uint8, shape (n_bytes,)
        The texts, sorted and all different, one after another.
    starts : int32, shape (n_texts+1,)
        Where they start.
    """
    n = 1
    before, length_before = 0, 0
    for text in range(len(starts) - 1):
        start = starts[text]
        length = starts[text + 1] - start
        common = 0
        while common < length and common < length_before:
            if data[start + common] != data[before + common]:
                break
            common += 1
        n += length - common
        before, length_before = start, length
    return n


def make_beginnings(
    data: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int32],
    operations: npt.NDArray[np.int32],
    numbers: npt.NDArray[np.int32],
    states: npt.NDArray[np.int32],
    spans: npt.NDArray[np.int32],
    edges: npt.NDArray[np.int32],
) -> None:
    """Make the states of all beginnings of some texts, the shorter ones first.

    Parameters
    ----------
    data : uint8, shape (n_bytes,)
        The texts, sorted and all different, one after another.
    starts : int32, shape (n_texts+1,)
        Where they start.
    operations : int32, shape (n_texts,)
        That of the quote after each text.
    numbers : int32, shape (2,)
        Of the first state, and of the first edge.
    states : int32, shape (n_states, N_COLUMNS)
        The rows; where they have names below, all begin where the names of the first one do.
    spans : int32, shape (n_states, 3)
        Of each state, the first and the end of its texts, and the length of its beginning.
    edges : int32, shape (n_edges, 2)
        Bytes, and operations.
    """
    n_states, n_edges = 1, 0
    spans[0, 0], spans[0, 1], spans[0, 2] = 0, len(starts) - 1, 0
    for state in range(len(states)):
        text, end, length = spans[state, 0], spans[state, 1], spans[state, 2]
        if states[state, BELOW] != NONE:
            states[state, BELOW] += text
            states[state, N_BELOW] = end - text
        states[state, EDGES] = numbers[1] + n_edges
        first_edge = n_edges
        if starts[text + 1] - starts[text] == length:
            edges[n_edges, 0], edges[n_edges, 1] = QUOTE, operations[text]
            n_edges += 1
            text += 1
        while text < end:
            byte, first = data[starts[text] + length], text
            while text < end and data[starts[text] + length] == byte:
                text += 1
            spans[n_states, 0], spans[n_states, 1], spans[n_states, 2] = first, text, length + 1
            edges[n_edges, 0], edges[n_edges, 1] = byte, numbers[0] + n_states
            n_states += 1
            n_edges += 1
        states[state, N_EDGES] = n_edges - first_edge


def go_on(arrays: Arrays, data: bytes, place: int, state: int) -> int:
    """Read bytes up to one that pushes, pops or is refused, or where a row is not made.

    Parameters
    ----------
    arrays : Arrays
        The automaton.
    data : bytes
        What to read.
    place : int
        Where to begin.
    state : int
        Where the automaton is.

    Returns
    -------
    int
        The place of that byte and the state before it, as one number: `place << 32 | state`.
    """
    while place < len(data):
        if arrays.states[state, ROW] == NOT_MADE:
            break
        target = operation(arrays, state, data[place])
        if target <= 0:
            break
        state = target
        place += 1
    return place << 32 | state
