"""The compiled hot loops of a mask: the recogniser's machine, run over the vocabulary trie.

The machine is that of :mod:`cfgguide.engine.machine.recognizer`.

The walk visits the vocabulary trie depth first. Frame ``d`` holds the configuration after the
first ``d`` bytes of the path. So a node costs one step from its parent's frame, and nothing below
a dead prefix is visited. Parser stacks live in an arena of cells: first those of the
configuration that the walk starts from, the *base*, then those that shifts push. Pushing the same
state on the same cell gives the same cell, so equal stacks are equal numbers.

A token leads to an *outcome*; many tokens share one. Neighbouring tokens in the trie that lead to
the same outcome are one *segment*. An outcome is judged by what is live on every stack
(:mod:`cfgguide.engine.liveness.always_live`); what that leaves open is decided elsewhere, and the
mask is filled afterwards.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from cfgguide.base import uncompiled as cython

from cfgguide.engine.masks.arrays import (
    ASSERTION,
    COLUMN_BITS,
    COLUMNS_READ,
    COLUMNS_SHIFT,
    CONTEXT,
    DEAD_END,
    DONE,
    IS_SENTENCE,
    LEAVING,
    LEVEL_BITS,
    LEVEL_READ,
    LEVEL_SHIFT,
    LIVE,
    LONGEST_REST,
    MATCHING,
    MAX_COLUMN_CELLS,
    MAX_PAIRS,
    MAY_CUT,
    N_BASE_COLUMNS,
    N_CELLS,
    N_COLUMNS,
    N_HYPOTHESES,
    N_OPEN,
    N_OUTCOMES,
    N_SEARCHES,
    N_SEGMENTS,
    N_SEVERAL,
    N_VISITED,
    NONE,
    NOT_COMPUTED,
    ONE_LEVEL,
    OPEN,
    READS,
    REFUSED,
    SEVERAL,
    TOO_MANY_CELLS,
    TOO_MANY_HYPOTHESES,
    TOO_MANY_OBLIGATIONS,
    TOO_MANY_OUTCOMES,
    TOO_SHALLOW,
    Base,
    Tables,
    Workspace,
)
from cfgguide.engine.vocabulary.trie import BYTE, END_TOKEN, FIRST_CHILD, FIRST_TOKEN, PackedTrie
from cfgguide.grammar.lr.indentation import (
    AT_LINE_START,
    BREAK,
    COLUMN_0,
    COLUMN_SHIFT,
    DIGIT,
    FORM_FEED,
    IN_STRING,
    MAX_COLUMNS,
    NARROW_BITS,
    ONE_SPACE,
    OTHER,
    TAB,
)
from cfgguide.grammar.lr.indentation_names import (
    CLOSES,
    COUNTED,
    CPYTHON_TAB,
    FED,
    INLINE,
    JOIN,
    NEWLINE,
    OPENS,
)


def _new_cell(work: Workspace, state: int, parent: int) -> int:
    """Make a cell of `state` on `parent`."""
    cell = work.counts[N_CELLS]
    if cell >= len(work.cell_state):
        return TOO_MANY_CELLS
    work.counts[N_CELLS] += 1
    work.cell_state[cell] = state
    work.cell_parent[cell] = parent
    work.first_child[cell] = NONE
    work.cell_home[cell] = NONE
    work.searched[cell] = 0
    for terminal_id in range(work.shifts.shape[1]):
        work.shifts[cell, terminal_id] = NOT_COMPUTED
    return cell


def _cell_after_goto(work: Workspace, state: int, parent: int) -> int:
    """Return the cell of `state`, that of a nonterminal, on `parent`; it is made if there is none.

    Cells of terminals are found by `shifts`.
    """
    cell = work.first_child[parent]
    while cell != NONE:
        if work.cell_state[cell] == state:
            return cell
        cell = work.next_sibling[cell]
    cell = _new_cell(work, state, parent)
    if cell >= 0:
        work.next_sibling[cell] = work.first_child[parent]
        work.first_child[parent] = cell
    return cell


def _read(work: Workspace, base: Base, cell: int) -> int:
    """Return the state of a cell, and note how much of the base has been read."""
    home = work.cell_home[cell]
    if home != NONE:
        rank = cell - base.offsets[home] + 1
        if rank > work.inspected[home]:
            work.inspected[home] = rank
    return work.cell_state[cell]


def _reduced(tables: Tables, work: Workspace, base: Base, cell: int, production: int) -> int:
    """Return the cell after one reduction."""
    for _ in range(tables.lengths[production]):
        cell = work.cell_parent[cell]
        if cell == NONE:
            return TOO_SHALLOW
    below = _read(work, base, cell)
    goto = tables.goto[below, tables.left_sides[production]]
    if tables.is_general and goto == below and tables.is_idle[goto]:
        return cell
    return _cell_after_goto(work, goto, cell)


def _begin_search(work: Workspace, cell: int) -> int:
    """Begin a search for all stacks that reductions lead to; return their number, 1."""
    work.counts[N_SEARCHES] += 1
    work.searched[cell] = work.counts[N_SEARCHES]
    work.tops[0] = cell
    return 1


def _add_top(
    tables: Tables, work: Workspace, base: Base, top: int, production: int, n_tops: int
) -> int:
    """Add a reduction of a stack to those found; return how many there are, or a failure."""
    cell = _reduced(tables, work, base, top, production)
    if cell < 0:
        return cell
    if work.searched[cell] != work.counts[N_SEARCHES]:
        work.searched[cell] = work.counts[N_SEARCHES]
        work.tops[n_tops] = cell
        n_tops += 1
    return n_tops


def _reduce_all(
    tables: Tables, work: Workspace, base: Base, top: int, terminal_id: int, n_tops: int
) -> int:
    """Add all reductions of a stack before a terminal; returns like :func:`_add_top`."""
    state = _read(work, base, top)
    action = tables.action[state, terminal_id]
    if action < 0:
        n_tops = _add_top(tables, work, base, top, -action - 1, n_tops)
    place = tables.choices[state, terminal_id]
    for rank in range(tables.choice_productions[place]):
        if n_tops < 0:
            return n_tops
        production = tables.choice_productions[place + 1 + rank]
        n_tops = _add_top(tables, work, base, top, production, n_tops)
    return n_tops


def _shift_all(tables: Tables, work: Workspace, base: Base, cell: int, terminal_id: int) -> int:
    """Return the cell after a lexeme, with a general table; or `SEVERAL`, less where they are."""
    n_tops, first, n_found, found = _begin_search(work, cell), 0, 0, REFUSED
    start = work.counts[N_SEVERAL]
    while first < n_tops:
        top = work.tops[first]
        first += 1
        n_tops = _reduce_all(tables, work, base, top, terminal_id, n_tops)
        if n_tops < 0:
            return n_tops
        action = tables.action[work.cell_state[top], terminal_id]
        if action > 0:
            found = top
            if work.cell_state[top] != action - 1 or not tables.is_idle[action - 1]:
                found = _cell_after_goto(work, action - 1, top)
            if found < 0:
                return found
            n_found += 1
            if start + n_found >= len(work.several):
                return TOO_MANY_CELLS
            work.several[start + n_found] = found
    if n_found > 1:
        work.several[start] = n_found
        work.counts[N_SEVERAL] = start + n_found + 1
        found = SEVERAL - start
    work.shifts[cell, terminal_id] = found
    return found


def _of_several(work: Workspace, shifted: int, rank: int) -> int:
    """Return one of the cells after a shift, `NONE` if there are not so many."""
    if shifted > SEVERAL:
        return shifted if rank == 0 and shifted >= 0 else NONE
    place = SEVERAL - shifted
    return work.several[place + 1 + rank] if rank < work.several[place] else NONE


def _shift(tables: Tables, work: Workspace, base: Base, cell: int, terminal_id: int) -> int:
    """Return the cell after a lexeme: reductions, then the shift.

    With a general table it may be `SEVERAL`, less where they are.
    """
    if terminal_id == tables.ignored:
        return cell
    if terminal_id > tables.ignored:
        return REFUSED
    known = work.shifts[cell, terminal_id]
    if known != NOT_COMPUTED:
        return known
    if tables.is_general:
        return _shift_all(tables, work, base, cell, terminal_id)
    top = cell
    result = REFUSED
    for _ in range(tables.max_reductions):
        action = tables.action[_read(work, base, top), terminal_id]
        if action == 0:
            break
        if action > 0:
            # A stack that reductions led here from may have made it: one shift, one cell.
            result = work.shifts[top, terminal_id]
            if result == NOT_COMPUTED:
                result = _new_cell(work, action - 1, top)
                if result >= 0:
                    work.shifts[top, terminal_id] = result
            break
        top = _reduced(tables, work, base, top, -action - 1)
        if top < 0:
            return top
    if result >= 0 or result == REFUSED:
        work.shifts[cell, terminal_id] = result
    return result


def _ends_any(tables: Tables, work: Workspace, base: Base, cell: int) -> int:
    """Return what :func:`_ends` does, with a general table."""
    n_tops, first = _begin_search(work, cell), 0
    while first < n_tops:
        n_tops = _reduce_all(tables, work, base, work.tops[first], 0, n_tops)
        if n_tops < 0:
            return n_tops
        first += 1
        if first < n_tops and work.cell_state[work.tops[first]] == tables.end_state:
            return 1
    return 0


def _ends(tables: Tables, work: Workspace, base: Base, cell: int) -> int:
    """Return 1 if ``$END`` is accepted on a stack, 0 if not, or a failure."""
    if tables.is_general:
        return _ends_any(tables, work, base, cell)
    for _ in range(tables.max_reductions):
        action = tables.action[_read(work, base, cell), 0]
        if action >= 0:
            return 0
        cell = _reduced(tables, work, base, cell, -action - 1)
        if cell < 0:
            return cell
        if work.cell_state[cell] == tables.end_state:
            return 1
    return 0


def _moved(tables: Tables, indentation: int, byte_class: int, state: int) -> int:
    """Return the indentation after one more byte of a lexeme, -1 where a line is too wide."""
    kind, column = tables.byte_kinds[byte_class], indentation & COLUMN_BITS
    rest = indentation - column
    if tables.is_counted[state]:
        return indentation + 1 if kind == DIGIT and column <= tables.max_digits else indentation
    if kind == BREAK:
        return rest + COLUMN_0
    if column == 0:
        return indentation
    if kind in (OTHER, DIGIT):
        return rest if tables.tab == CPYTHON_TAB else indentation
    if kind == FORM_FEED:
        return rest + COLUMN_0
    if kind == TAB and tables.tab == CPYTHON_TAB:
        wide_column = (column - 1) >> COLUMN_SHIFT
        column += (((wide_column >> 3) + 1) * 8 - wide_column << COLUMN_SHIFT) + 1
    elif kind == TAB:
        column += tables.tab * ONE_SPACE
    else:
        column += ONE_SPACE
    return rest + column if (column - 1) >> COLUMN_SHIFT <= MAX_COLUMNS else -1


def _open_block(work: Workspace, indentation: int, column: int) -> int:
    """Return the indentation with one more column, or `TOO_MANY_CELLS`."""
    outer, n = indentation >> COLUMNS_SHIFT, work.counts[N_COLUMNS]
    cell = n
    for known in range(n):
        if work.column_parent[known] == outer and work.column[known] == column:
            cell = known
    if cell == n:
        if n >= len(work.column) or n >= MAX_COLUMN_CELLS:
            return TOO_MANY_CELLS
        work.counts[N_COLUMNS] = n + 1
        work.column[n] = column
        work.column_parent[n] = outer
        work.column_depth[n] = work.column_depth[outer] + 1
    return (indentation & LEVEL_BITS << LEVEL_SHIFT) | cell << COLUMNS_SHIFT


def _begin_line(
    tables: Tables, work: Workspace, base: Base, cell: int, indentation: int
) -> tuple[int, int]:
    """Return the cell and the indentation after INDENT or DEDENTs, once a line break was fed."""
    column = indentation & COLUMN_BITS
    indentation -= column
    if column == 0:
        return (cell, indentation) if tables.tab == CPYTHON_TAB else (REFUSED, indentation)
    work.counts[READS] |= COLUMNS_READ
    columns = indentation >> COLUMNS_SHIFT
    innermost = work.column[columns]
    wide_column, narrow_column = (column - 1) >> COLUMN_SHIFT, (column - 1) & NARROW_BITS
    if wide_column > (innermost - 1) >> COLUMN_SHIFT:
        is_clear = narrow_column > (innermost - 1) & NARROW_BITS
        if not is_clear or work.column_depth[columns] >= tables.max_indents:
            return REFUSED, indentation
        cell = _shift(tables, work, base, cell, tables.indent)
        if cell < 0:
            return cell, indentation
        indentation = _open_block(work, indentation, column)
        return (cell if indentation >= 0 else indentation), indentation
    while wide_column < (innermost - 1) >> COLUMN_SHIFT:
        cell = _shift(tables, work, base, cell, tables.dedent)
        if cell < 0:
            return cell, indentation
        columns = work.column_parent[columns]
        innermost = work.column[columns]
    if column != innermost:
        return REFUSED, indentation
    return cell, (indentation & LEVEL_BITS << LEVEL_SHIFT) | columns << COLUMNS_SHIFT


def _shift_lexeme(
    tables: Tables,
    work: Workspace,
    base: Base,
    cell: int,
    terminal_id: int,
    indentation: int,
) -> tuple[int, int]:
    """Return the cell and the indentation after a lexeme; `REFUSED` or a failure as the cell."""
    if not tables.has_indentation:
        return _shift(tables, work, base, cell, terminal_id), indentation
    plain = indentation & ~COLUMN_BITS
    role = tables.roles[terminal_id] if terminal_id < tables.ignored else FED
    if role == COUNTED and indentation - plain > tables.max_digits:
        return REFUSED, plain
    if role in (FED, COUNTED):
        return _shift(tables, work, base, cell, terminal_id), plain
    if role in (OPENS, CLOSES):
        level = plain >> LEVEL_SHIFT & LEVEL_BITS
        if level == (tables.max_brackets if role == OPENS else 0):
            return REFUSED, plain
        plain += ONE_LEVEL if role == OPENS else -ONE_LEVEL
        return _shift(tables, work, base, cell, terminal_id), plain
    place = tables.places[_read(work, base, cell)]
    if role != NEWLINE:
        is_refused = place == AT_LINE_START or (role == JOIN and place == IN_STRING)
        return (REFUSED if is_refused else cell), plain
    if place == IN_STRING:
        return REFUSED, plain
    after = _shift(tables, work, base, cell, terminal_id)
    if after == REFUSED:
        work.counts[READS] |= LEVEL_READ
        return (cell if plain >> LEVEL_SHIFT & LEVEL_BITS else REFUSED), plain
    if after < 0:
        return after, plain
    return _begin_line(tables, work, base, after, indentation)


def _put(work: Workspace, possibility: int, obligation: int) -> int:
    """Add an obligation to a possibility: `DONE`, `REFUSED` if it denies another, or a failure."""
    n = work.open_n_obligations[possibility]
    at = n
    for index in range(n):
        other = work.open_obligations[possibility, index]
        if other == obligation:
            return DONE
        if other == -obligation:
            return REFUSED
        if other > obligation and at == n:
            at = index
    if n >= work.open_obligations.shape[1]:
        return TOO_MANY_OBLIGATIONS
    for index in range(n, at, -1):
        work.open_obligations[possibility, index] = work.open_obligations[possibility, index - 1]
    work.open_obligations[possibility, at] = obligation
    work.open_n_obligations[possibility] = n + 1
    return DONE


def _fork(tables: Tables, work: Workspace, possibility: int, assertion: int, sign: int) -> int:
    """Split a possibility by whether the assertion of a state holds.

    If it is the possibility's own state (`sign` 0), that becomes the state for either answer. Else
    the state for either answer is a task: it must match (`sign` -1) or must not match (1). A state
    that looks for itself is a fork, of which both answers hold.
    """
    other, n_tasks = possibility + 1, work.open_n_tasks[possibility]
    if other >= len(work.open_state) or n_tasks + 2 > work.open_task.shape[1]:
        return TOO_MANY_OBLIGATIONS
    work.open_state[other] = work.open_state[possibility]
    work.open_n_obligations[other] = work.open_n_obligations[possibility]
    for index in range(work.open_n_obligations[possibility]):
        work.open_obligations[other, index] = work.open_obligations[possibility, index]
    for index in range(n_tasks):
        work.open_task[other, index] = work.open_task[possibility, index]
    looked_for = tables.assertions[assertion, 0]
    for answer in range(2, 0, -1):
        chosen, n = (possibility if answer == 2 else other), n_tasks  # `other` is resolved first
        next_state = tables.assertions[assertion, answer]
        if sign == 0:
            work.open_state[chosen] = next_state
        else:
            work.open_task[chosen, n] = sign * next_state
            n += 1
            if next_state == 0 and sign < 0:
                work.open_state[chosen] = 0  # a dead state does not match
        if looked_for != assertion:
            work.open_task[chosen, n] = -looked_for if answer == 1 else looked_for
            n += 1
        work.open_n_tasks[chosen] = n
    return DONE


def _work_out(tables: Tables, work: Workspace, possibility: int) -> int:
    """Do the tasks of a possibility: `DONE`, `REFUSED` if it is false, 1 if it was split."""
    while work.open_n_tasks[possibility] > 0:
        work.open_n_tasks[possibility] -= 1
        task = work.open_task[possibility, work.open_n_tasks[possibility]]
        state = abs(task)
        if state == 0:
            continue
        if tables.match[state] >= 0:
            if task > 0:
                return REFUSED
            continue
        if tables.is_assertion[state]:
            result = _fork(tables, work, possibility, state, -1 if task < 0 else 1)
            return 1 if result == DONE else result
        equivalence_class = tables.equivalence_classes[state]
        result = _put(work, possibility, -equivalence_class if task < 0 else equivalence_class)
        if result != DONE:
            return result
    state = work.open_state[possibility]
    if state != 0 and tables.is_assertion[state]:
        result = _fork(tables, work, possibility, state, 0)
        return 1 if result == DONE else result
    return DONE


def _emit(
    tables: Tables, work: Workspace, frame: int, possibility: int, cell: int, indentation: int
) -> int:
    """Append a possibility to a frame, unless it is there or can never match."""
    state, n_obligations, n = (
        work.open_state[possibility],
        work.open_n_obligations[possibility],
        work.frame_n[frame],
    )
    if state == 0:
        return DONE
    if tables.has_indentation and not tables.is_followed[state]:
        indentation &= ~COLUMN_BITS
    if tables.match[state] < 0:
        for index in range(n_obligations):
            if work.open_obligations[possibility, index] == tables.equivalence_classes[state]:
                return DONE
    for earlier in range(n):
        if (
            work.frame_state[frame, earlier] == state
            and work.frame_cell[frame, earlier] == cell
            and work.frame_indentation[frame, earlier] == indentation
            and work.frame_n_obligations[frame, earlier] == n_obligations
        ):
            is_same = True
            for index in range(n_obligations):
                if (
                    work.frame_obligations[frame, earlier, index]
                    != work.open_obligations[possibility, index]
                ):
                    is_same = False
            if is_same:
                return DONE
    if n >= work.frame_state.shape[1]:
        return TOO_MANY_HYPOTHESES
    work.frame_state[frame, n] = state
    work.frame_cell[frame, n] = cell
    work.frame_indentation[frame, n] = indentation
    work.frame_n_obligations[frame, n] = n_obligations
    for index in range(n_obligations):
        work.frame_obligations[frame, n, index] = work.open_obligations[possibility, index]
    work.frame_n[frame] = n + 1
    return DONE


def _resolve(tables: Tables, work: Workspace, frame: int, cell: int, indentation: int) -> int:
    """Resolve possibility 0 and all that it is split into; append the results to a frame."""
    possibility = 0
    while possibility >= 0:
        result = _work_out(tables, work, possibility)
        if result == 1:
            possibility += 1
            continue
        if result == DONE:
            result = _emit(tables, work, frame, possibility, cell, indentation)
        if result != DONE and result != REFUSED:
            return result
        possibility -= 1
    return DONE


def _extend(
    tables: Tables, work: Workspace, depth: int, source: int, index: int, byte_class: int
) -> int:
    """Append to a frame what a hypothesis of another becomes after one more byte."""
    target = tables.transitions[work.frame_state[source, index], byte_class]
    if target == 0:
        return DONE
    n_obligations = work.frame_n_obligations[source, index]
    indentation = work.frame_indentation[source, index]
    if tables.has_indentation and tables.is_followed[target]:
        indentation = _moved(tables, indentation, byte_class, target)
        if indentation < 0:
            return DONE  # too wide
    elif tables.has_indentation:
        indentation &= ~COLUMN_BITS
    if n_obligations > work.open_task.shape[1]:
        return TOO_MANY_OBLIGATIONS
    work.open_state[0] = target
    work.open_n_obligations[0] = 0
    work.open_n_tasks[0] = n_obligations
    for rank in range(n_obligations):  # the first obligation is resolved first
        obligation = work.frame_obligations[source, index, rank]
        later = tables.transitions[tables.class_representatives[abs(obligation)], byte_class]
        if later == 0 and obligation < 0:
            return DONE  # what was to match is dead
        work.open_task[0, n_obligations - 1 - rank] = later if obligation > 0 else -later
    return _resolve(tables, work, depth, work.frame_cell[source, index], indentation)


def _ends_before(tables: Tables, work: Workspace, depth: int, index: int, byte_class: int) -> bool:
    """Return whether a lexeme that matches in a frame can end there, before this byte."""
    equivalence_class = tables.equivalence_classes[work.frame_state[depth, index]]
    after = tables.transitions[tables.class_representatives[equivalence_class], byte_class]
    if tables.match[after] >= 0:
        return False
    for rank in range(work.frame_n_obligations[depth, index]):
        obligation = work.frame_obligations[depth, index, rank]
        after = tables.transitions[tables.class_representatives[abs(obligation)], byte_class]
        if (obligation > 0 and tables.match[after] >= 0) or (obligation < 0 and after == 0):
            return False
    return True


def _start(tables: Tables, work: Workspace, base: Base, depth: int, cell: int) -> int:
    """Return the scanner state in which the next lexeme starts."""
    terminal_set = tables.set_of_state[_read(work, base, cell)]
    return tables.starts[terminal_set, work.frame_context[depth]]


def _start_next(
    tables: Tables,
    work: Workspace,
    depth: int,
    index: int,
    start: int,
    cell: int,
    indentation: int,
) -> int:
    """Fill the last frame with the lexemes that may start where a frame's hypothesis ends one."""
    last = len(work.frame_n) - 1
    work.frame_n[last] = 0
    n_obligations = work.frame_n_obligations[depth, index]
    work.open_n_obligations[0] = n_obligations
    work.open_n_tasks[0] = 0
    for rank in range(n_obligations):
        work.open_obligations[0, rank] = work.frame_obligations[depth, index, rank]
    equivalence_class = tables.equivalence_classes[work.frame_state[depth, index]]
    result = _put(work, 0, equivalence_class) if equivalence_class else DONE
    if result != DONE:
        return DONE if result == REFUSED else result
    work.open_state[0] = start
    return _resolve(tables, work, last, cell, indentation)


def _begin_lexeme(
    tables: Tables,
    work: Workspace,
    base: Base,
    depth: int,
    index: int,
    cell: int,
    indentation: int,
    byte_class: int,
) -> int:
    """Append to a frame what one byte begins after the lexeme of a hypothesis before it."""
    last = len(work.frame_n) - 1
    start = _start(tables, work, base, depth - 1, cell)
    if not tables.is_assertion[start] and tables.transitions[start, byte_class] == 0:
        return DONE
    result = _start_next(tables, work, depth - 1, index, start, cell, indentation)
    if result != DONE:
        return result
    for fresh in range(work.frame_n[last]):
        result = _extend(tables, work, depth, last, fresh, byte_class)
        if result != DONE:
            return result
    return DONE


def _step(tables: Tables, work: Workspace, base: Base, depth: int, byte_class: int) -> int:
    """Make frame `depth` from the frame before it; return `DONE` or a failure."""
    work.frame_n[depth] = 0
    for index in range(work.frame_n[depth - 1]):
        result = _extend(tables, work, depth, depth - 1, index, byte_class)
        if result != DONE:
            return result
        terminal_id = tables.match[work.frame_state[depth - 1, index]]
        if terminal_id < 0 or not _ends_before(tables, work, depth - 1, index, byte_class):
            continue
        stack, indentation = (
            work.frame_cell[depth - 1, index],
            work.frame_indentation[depth - 1, index],
        )
        cell, indentation = _shift_lexeme(tables, work, base, stack, terminal_id, indentation)
        if cell == REFUSED:
            continue
        if SEVERAL < cell < 0:
            return cell
        shifted, rank = cell, 0
        cell = _of_several(work, shifted, rank)
        while cell != NONE:
            result = _begin_lexeme(tables, work, base, depth, index, cell, indentation, byte_class)
            if result != DONE:
                return result
            rank += 1
            cell = _of_several(work, shifted, rank)
    return DONE


def _is_outcome(work: Workspace, depth: int, outcome: int) -> bool:
    """Return whether a frame's configuration is that of an outcome."""
    n = work.frame_n[depth]
    if work.outcome_n[outcome] != n or work.outcome_context[outcome] != work.frame_context[depth]:
        return False
    for index in range(n):
        n_obligations = work.frame_n_obligations[depth, index]
        if (
            work.outcome_state[outcome, index] != work.frame_state[depth, index]
            or work.outcome_cell[outcome, index] != work.frame_cell[depth, index]
            or work.outcome_indentation[outcome, index] != work.frame_indentation[depth, index]
            or work.outcome_n_obligations[outcome, index] != n_obligations
        ):
            return False
        for rank in range(n_obligations):
            if (
                work.outcome_obligations[outcome, index, rank]
                != work.frame_obligations[depth, index, rank]
            ):
                return False
    return True


def _outcome(work: Workspace, depth: int) -> int:
    """Return the index of a frame's configuration among the distinct outcomes."""
    n = work.frame_n[depth]
    mask = len(work.outcome_hash) - 1
    slot = work.frame_context[depth]
    for index in range(n):
        state, cell = work.frame_state[depth, index], work.frame_cell[depth, index]
        indentation = work.frame_indentation[depth, index]
        slot = (slot * 31 + state * 7919 + cell + indentation % 1009) & 0xFFFFFF
        for rank in range(work.frame_n_obligations[depth, index]):
            slot = (slot * 17 + work.frame_obligations[depth, index, rank]) & 0xFFFFFF
    slot = (slot ^ (slot >> 15)) & mask
    while work.outcome_hash[slot] != NONE:
        if _is_outcome(work, depth, work.outcome_hash[slot]):
            return work.outcome_hash[slot]
        slot = (slot + 1) & mask
    outcome = work.counts[N_OUTCOMES]
    if outcome >= len(work.outcome_n):
        return TOO_MANY_OUTCOMES
    work.counts[N_OUTCOMES] += 1
    work.outcome_hash[slot] = outcome
    work.outcome_n[outcome] = n
    work.outcome_context[outcome] = work.frame_context[depth]
    for index in range(n):
        work.outcome_state[outcome, index] = work.frame_state[depth, index]
        work.outcome_cell[outcome, index] = work.frame_cell[depth, index]
        work.outcome_indentation[outcome, index] = work.frame_indentation[depth, index]
        work.outcome_n_obligations[outcome, index] = work.frame_n_obligations[depth, index]
        for rank in range(work.frame_n_obligations[depth, index]):
            work.outcome_obligations[outcome, index, rank] = work.frame_obligations[
                depth, index, rank
            ]
    return outcome


def _cut(trie: PackedTrie, work: Workspace, node: int, n_segments: int) -> int:
    """Give each token below a node an outcome without hypotheses; return the number of segments."""
    for token in range(trie.nodes[node, FIRST_TOKEN], trie.nodes[node, END_TOKEN]):
        outcome = work.counts[N_OUTCOMES]
        if outcome >= len(work.outcome_n):
            return TOO_MANY_OUTCOMES
        work.counts[N_OUTCOMES] += 1
        work.outcome_n[outcome] = 0
        work.outcome_context[outcome] = 0
        work.segment_start[n_segments], work.segment_end[n_segments] = token, token + 1
        work.segment_outcome[n_segments] = outcome
        n_segments += 1
    return n_segments


def _base(tables: Tables, work: Workspace, base: Base) -> int:
    """Load the base into frame 0 and the arena."""
    n = base.numbers[N_HYPOTHESES]
    if n > work.frame_state.shape[1]:
        return TOO_MANY_HYPOTHESES
    if base.offsets[n] > len(work.cell_state):
        return TOO_MANY_CELLS
    for home in range(n):
        work.inspected[home] = 0
        for cell in range(base.offsets[home], base.offsets[home + 1]):
            work.cell_state[cell] = base.parse_states[cell]
            work.cell_parent[cell] = cell + 1 if cell + 1 < base.offsets[home + 1] else NONE
            work.cell_home[cell] = home
            work.first_child[cell] = NONE
            work.next_sibling[cell] = NONE
            work.searched[cell] = 0
            for terminal_id in range(work.shifts.shape[1]):
                work.shifts[cell, terminal_id] = NOT_COMPUTED
        work.frame_state[0, home] = base.scanner_states[home]
        work.frame_cell[0, home] = base.offsets[home]
        work.frame_indentation[0, home] = base.indentations[home]
        first, n_obligations = base.obligation_offsets[home], 0
        if base.obligation_offsets[home + 1] - first > work.frame_obligations.shape[2]:
            return TOO_MANY_OBLIGATIONS
        for index in range(first, base.obligation_offsets[home + 1]):
            work.frame_obligations[0, home, n_obligations] = base.obligations[index]
            n_obligations += 1
        work.frame_n_obligations[0, home] = n_obligations
    work.frame_n[0] = n
    for depth in range(len(work.frame_context)):
        work.frame_context[depth] = base.numbers[CONTEXT]
    work.counts[N_CELLS] = base.offsets[n]
    work.counts[N_OUTCOMES] = 0
    work.counts[N_SEGMENTS] = 0
    work.counts[READS] = 0
    work.counts[N_SEVERAL] = 0
    work.counts[N_SEARCHES] = 0
    for slot in range(len(work.outcome_hash)):
        work.outcome_hash[slot] = NONE
    n_columns = base.numbers[N_BASE_COLUMNS]
    if n_columns > len(work.column):
        return TOO_MANY_CELLS
    work.counts[N_COLUMNS] = n_columns
    for cell in range(n_columns):
        work.column[cell] = base.columns[cell]
        work.column_parent[cell] = base.column_parents[cell]
        work.column_depth[cell] = base.column_depths[cell]
    if tables.has_indentation:
        return DONE  # the recogniser says whether it is a sentence
    return _base_ends(tables, work, base)


def _base_ends(tables: Tables, work: Workspace, base: Base) -> int:
    """Note whether the base is a sentence; return `DONE` or a failure."""
    work.counts[IS_SENTENCE] = 0
    for home in range(work.frame_n[0]):
        if work.frame_n_obligations[0, home] > 0 and work.frame_obligations[0, home, 0] < 0:
            continue  # something is still to match
        cell, terminal_id = work.frame_cell[0, home], tables.match[work.frame_state[0, home]]
        if terminal_id >= 0:
            cell = _shift(tables, work, base, cell, terminal_id)
        elif not tables.is_start[work.frame_state[0, home]]:
            continue
        if cell == REFUSED:
            continue
        if SEVERAL < cell < 0:
            return cell
        shifted, rank = cell, 0
        cell = _of_several(work, shifted, rank)
        while cell != NONE:
            result = _ends(tables, work, base, cell)
            if result < 0:
                return result
            if result:
                work.counts[IS_SENTENCE] = 1
            rank += 1
            cell = _of_several(work, shifted, rank)
    return DONE


def _stays(tables: Tables, work: Workspace, depth: int) -> int:
    """Return the sets of bytes after which the only hypothesis of a frame is the same, as bits."""
    state = work.frame_state[depth, 0]
    stays = tables.stays[state]
    if stays == 0:
        return 0
    forgets = tables.has_indentation and tables.is_followed[state] and tables.tab == CPYTHON_TAB
    if forgets and work.frame_indentation[depth, 0] & COLUMN_BITS != 0:
        return 0  # any byte but a blank makes the column unknown
    return stays & tables.context_stays[work.frame_context[depth]]


def walk(tables: Tables, trie: PackedTrie, work: Workspace, base: Base) -> int:
    """Find all tokens that can be lexed and parsed without error after a base configuration.

    Returns
    -------
    int
        `DONE`, with the results in `work`; or a failure that names what must be larger.
    """
    result = _base(tables, work, base)
    if result != DONE:
        return result
    transitions, byte_classes, match = tables.transitions, tables.byte_classes, tables.match
    frame_n, frame_state, frame_cell = work.frame_n, work.frame_state, work.frame_cell
    frame_n_obligations, is_plain, kind = work.frame_n_obligations, work.frame_is_plain, tables.kind
    nodes, below, next_node, end_node = trie.nodes, work.below, work.next_node, work.end_node
    segment_start, segment_end = work.segment_start, work.segment_end
    segment_outcome, n_segments, n_visited = work.segment_outcome, 0, 0
    has_contexts = len(tables.contexts) > 1
    frame_indentation, has_indentation, is_followed = (
        work.frame_indentation,
        tables.has_indentation,
        tables.is_followed,
    )
    indentation = 0
    last_state, last_cell, last_outcome, last_indentation = NONE, NONE, NONE, indentation
    is_plain[0] = frame_n[0] == 1 and frame_n_obligations[0, 0] == 0
    work.frame_stays[0] = _stays(tables, work, 0) if is_plain[0] else 0
    depth = 1
    next_node[depth], end_node[depth] = 0, trie.n_roots
    while depth > 0:
        node = next_node[depth]
        if node == end_node[depth]:
            depth -= 1
            continue
        next_node[depth] = node + 1
        n_visited += 1
        byte_class = byte_classes[nodes[node, BYTE]]
        if has_contexts:
            context = tables.contexts[work.frame_context[depth - 1], byte_class]
            work.frame_context[depth] = context
        stays = work.frame_stays[depth - 1]
        is_whole = stays != 0 and below[node] | stays == stays  # what comes here changes nothing
        # The common case: one hypothesis, which goes on and has not matched. `_step` would do
        # the same, but its calls would cost more than the work.
        state = frame_state[depth - 1, 0]
        target = transitions[state, byte_class]
        after = kind[target]
        is_counting = has_indentation and (is_followed[target] or is_followed[state])
        if is_whole or (
            is_plain[depth - 1]
            and ((after == MATCHING and kind[state] != LEAVING) or after + kind[state] == 0)
            and not is_counting
        ):
            frame_state[depth, 0] = target
            frame_cell[depth, 0] = frame_cell[depth - 1, 0]
            if has_indentation:
                frame_indentation[depth, 0] = frame_indentation[depth - 1, 0]
            is_plain[depth] = True
        else:
            # Nearly as common: the lexeme ends here and another starts, after a known shift.
            is_done = False
            if is_plain[depth - 1]:
                frame_n[depth - 1] = 1
                frame_n_obligations[depth - 1, 0] = 0
                if target == 0 and not is_counting and kind[state] != LEAVING:
                    terminal_id, cell = match[state], frame_cell[depth - 1, 0]
                    if (
                        has_indentation
                        and 0 <= terminal_id < tables.ignored
                        and tables.roles[terminal_id] != FED
                    ):
                        terminal_id = tables.ignored + 1  # not as simple
                        cell = NOT_COMPUTED
                    elif 0 <= terminal_id < tables.ignored:
                        cell = work.shifts[cell, terminal_id]
                    if terminal_id < 0 or cell == REFUSED:
                        continue
                    if cell >= 0 and terminal_id <= tables.ignored:
                        indentation = frame_indentation[depth - 1, 0]
                        start = _start(tables, work, base, depth - 1, cell)
                        target = transitions[start, byte_class]
                        is_line = has_indentation and is_followed[target]
                        if kind[start] != ASSERTION and kind[target] != ASSERTION and not is_line:
                            if target == 0:
                                continue
                            frame_state[depth, 0] = target
                            frame_cell[depth, 0] = cell
                            frame_indentation[depth, 0] = indentation
                            is_plain[depth] = is_done = True
            if not is_done:
                result = _step(tables, work, base, depth, byte_class)
                if result == TOO_MANY_HYPOTHESES and work.counts[MAY_CUT]:
                    n_segments = _cut(trie, work, node, n_segments)
                    last_state = NONE
                    if n_segments < 0:
                        return n_segments
                    continue
                if result != DONE:
                    return result
                if frame_n[depth] == 0:
                    continue
                is_plain[depth] = frame_n[depth] == 1 and frame_n_obligations[depth, 0] == 0
        is_simple = is_plain[depth] and not has_contexts
        state, cell = frame_state[depth, 0], frame_cell[depth, 0]
        if has_indentation:
            indentation = frame_indentation[depth, 0]
        first_child, end_child = nodes[node, FIRST_CHILD], nodes[node + 1, FIRST_CHILD]
        first_token, end_token = nodes[node, FIRST_TOKEN], nodes[node, END_TOKEN]
        if first_child < end_child and not is_whole:
            end_token = nodes[first_child, FIRST_TOKEN]  # those of the node alone
            next_node[depth + 1], end_node[depth + 1] = first_child, end_child
            work.frame_stays[depth] = _stays(tables, work, depth) if is_plain[depth] else 0
        if first_token < end_token:
            if not (
                is_simple
                and state == last_state
                and cell == last_cell
                and (not has_indentation or indentation == last_indentation)
            ):
                if is_plain[depth]:
                    frame_n[depth] = 1
                    frame_n_obligations[depth, 0] = 0
                last_outcome = _outcome(work, depth)
                if last_outcome < 0:
                    return last_outcome
                last_state = state if is_simple else NONE
                last_cell = cell
                last_indentation = indentation
            if (
                n_segments
                and last_outcome == segment_outcome[n_segments - 1]
                and (first_token == segment_end[n_segments - 1])
            ):
                segment_end[n_segments - 1] = end_token  # the segment continues
            else:
                segment_start[n_segments], segment_end[n_segments] = first_token, end_token
                segment_outcome[n_segments] = last_outcome
                n_segments += 1
        if end_token < nodes[node, END_TOKEN]:
            depth += 1
    work.counts[N_SEGMENTS], work.counts[N_VISITED] = n_segments, n_visited
    return DONE


def _judge_end(
    tables: Tables,
    work: Workspace,
    base: Base,
    state: int,
    cell: int,
    end: int,
    indentation: int,
) -> int:
    """Return what is known of one end of a lexeme, where there is an indenter."""
    terminal_id, is_after_newline = tables.end_terminal_ids[end], False
    after = cell
    if terminal_id == tables.newline:
        if tables.places[_read(work, base, cell)] == IN_STRING:
            return DEAD_END
        after = _shift(tables, work, base, cell, terminal_id)
        if after == REFUSED:
            work.counts[READS] |= LEVEL_READ
            if indentation >> LEVEL_SHIFT & LEVEL_BITS == 0:
                return DEAD_END
            after = cell
        elif after < 0:
            return after
        elif not tables.is_free[state]:
            return OPEN
        is_after_newline = True
    else:
        role = tables.roles[terminal_id] if terminal_id < tables.ignored else FED
        n_digits = indentation & COLUMN_BITS
        after, indentation = _shift_lexeme(tables, work, base, cell, terminal_id, indentation)
        if after == REFUSED:
            return DEAD_END
        if after < 0:
            return after
        if role == COUNTED and n_digits >= tables.max_digits and tables.match[state] < 0:
            return OPEN
        if role == INLINE and tables.places[_read(work, base, cell)] != AT_LINE_START:
            # A line break includes the white space before it. If the parser accepts one, that is
            # another end of the lexeme; if not, none has to follow.
            taken = _shift(tables, work, base, cell, tables.newline)
            if taken < 0 and taken != REFUSED:
                return taken
            is_after_newline = taken == REFUSED
    depth = work.column_depth[indentation >> COLUMNS_SHIFT]
    is_full = indentation >> LEVEL_SHIFT & LEVEL_BITS >= tables.max_brackets
    if is_full or depth >= tables.max_indents or not tables.is_certain[end]:
        return OPEN
    parse_state, group = _read(work, base, after), tables.end_groups[end]
    is_always_live = tables.is_live_after_newline if is_after_newline else tables.is_always_live
    return LIVE if is_always_live[parse_state, group] else OPEN


def _judge_state(
    tables: Tables,
    work: Workspace,
    base: Base,
    state: int,
    cell: int,
    indentation: int,
) -> int:
    """Return what is known of a lexeme that the scanner is in, without obligations."""
    verdict = DEAD_END
    for end in range(tables.end_offsets[state], tables.end_offsets[state + 1]):
        if tables.has_indentation:
            end_verdict = _judge_end(tables, work, base, state, cell, end, indentation)
            if end_verdict == LIVE or end_verdict < 0:
                return end_verdict
            if end_verdict == OPEN:
                verdict = OPEN
            continue
        after = _shift(tables, work, base, cell, tables.end_terminal_ids[end])
        if after == REFUSED:
            continue
        if SEVERAL < after < 0:
            return after
        verdict = OPEN
        if not tables.is_certain[end]:
            continue
        shifted, rank = after, 0
        after = _of_several(work, shifted, rank)
        while after != NONE:
            parse_state = _read(work, base, after)
            if tables.is_always_live[parse_state, tables.end_groups[end]]:
                return LIVE
            rank += 1
            after = _of_several(work, shifted, rank)
    return verdict


def _is_doomed(tables: Tables, state: int, looked_for: int) -> bool:
    """Return whether a lexeme can continue only with bytes after which an obligation is false.

    The text may have been cut inside a character that a name continues with: whoever took the name
    for a keyword is refuted at the end of that character, within `LONGEST_REST` bytes.
    """
    if tables.match[state] >= 0 or tables.is_assertion[state]:
        return False
    # Breadth first over the pairs of states that both come to; too many are not looked at.
    states, looked_for_there = [0] * 64, [0] * 64
    states[0], looked_for_there[0] = state, looked_for
    first, n_pairs = 0, 1
    for _ in range(LONGEST_REST):
        end = n_pairs
        for pair in range(first, end):
            for byte_class in range(tables.transitions.shape[1]):
                target = tables.transitions[states[pair], byte_class]
                after = tables.transitions[looked_for_there[pair], byte_class]
                if target == 0 or tables.match[after] >= 0:
                    continue
                if after == 0 or tables.match[target] >= 0:
                    return False
                if tables.is_assertion[target] or tables.is_assertion[after]:
                    return False
                known = end
                while known < n_pairs and (
                    states[known] != target or looked_for_there[known] != after
                ):
                    known += 1
                if known == MAX_PAIRS:
                    return False
                states[known], looked_for_there[known] = target, after
                n_pairs = max(n_pairs, known + 1)
        first = end
    return first == n_pairs


def _resolves(tables: Tables, work: Workspace, outcome: int, index: int, byte_class: int) -> bool:
    """Return whether a byte of a class fulfils all obligations at once."""
    for rank in range(work.outcome_n_obligations[outcome, index]):
        obligation = work.outcome_obligations[outcome, index, rank]
        after = tables.transitions[tables.class_representatives[abs(obligation)], byte_class]
        if after != 0 if obligation > 0 else tables.match[after] < 0:
            return False
    return True


def _is_resolved_soon(
    tables: Tables, work: Workspace, base: Base, outcome: int, index: int
) -> bool:
    """Return whether more of the lexeme fulfils all obligations, and it can end then.

    One byte is tried; where it only begins a character, the rest of that too.
    """
    state, cell = work.outcome_state[outcome, index], work.outcome_cell[outcome, index]
    indentation = work.outcome_indentation[outcome, index]
    obligation = work.outcome_obligations[outcome, index, 0]
    looked_for = tables.class_representatives[abs(obligation)]
    for n_read in range(LONGEST_REST):
        if n_read and work.outcome_n_obligations[outcome, index] > 1:
            return False
        next_state, next_looked_for = 0, 0
        for byte_class in range(tables.transitions.shape[1]):
            target = tables.transitions[state, byte_class]
            if target == 0 or not tables.is_letter[byte_class]:
                continue
            if tables.has_indentation and tables.is_followed[target]:
                continue  # the indentation would have to follow
            after = tables.transitions[looked_for, byte_class]
            if n_read == 0:
                is_resolved = _resolves(tables, work, outcome, index, byte_class)
            else:
                is_resolved = after == 0 if obligation > 0 else tables.match[after] >= 0
            if is_resolved and _judge_state(tables, work, base, target, cell, indentation) == LIVE:
                return True
            is_open = after != 0 and tables.match[after] < 0
            if is_open and not (tables.is_assertion[after] or tables.is_assertion[target]):
                next_state, next_looked_for = target, after
        if next_state == 0:
            return False
        state, looked_for = next_state, next_looked_for
    return False


def _judge_next(tables: Tables, work: Workspace, base: Base, outcome: int, index: int) -> int:
    """Return `LIVE` if the lexeme may end and the next one's first byte fulfils all obligations."""
    state, cell = work.outcome_state[outcome, index], work.outcome_cell[outcome, index]
    if tables.match[state] < 0:
        return OPEN
    shifted, rank = _shift(tables, work, base, cell, tables.match[state]), 0
    after = _of_several(work, shifted, rank)
    while after != NONE:
        if _is_live_after(tables, work, base, outcome, index, after):
            return LIVE
        rank += 1
        after = _of_several(work, shifted, rank)
    return OPEN


def _is_live_after(
    tables: Tables, work: Workspace, base: Base, outcome: int, index: int, after: int
) -> bool:
    """Return whether the next lexeme's first byte fulfils all obligations and leads on."""
    state = work.outcome_state[outcome, index]
    terminal_set = tables.set_of_state[_read(work, base, after)]
    for byte_class in range(tables.transitions.shape[1]):
        if tables.transitions[state, byte_class] != 0 or not tables.is_letter[byte_class]:
            continue
        if not _resolves(tables, work, outcome, index, byte_class):
            continue
        is_live = True
        for context in range(tables.starts.shape[1]):
            start = tables.starts[terminal_set, context]
            target = 0 if tables.is_assertion[start] else tables.transitions[start, byte_class]
            if target == 0 or _judge_state(tables, work, base, target, after, 0) != LIVE:
                is_live = False
                break
        if is_live:
            return True
    return False


def _judge(tables: Tables, work: Workspace, base: Base, outcome: int, index: int) -> int:
    """Return what is known of one hypothesis of an outcome, or a failure."""
    state, cell = work.outcome_state[outcome, index], work.outcome_cell[outcome, index]
    indentation = work.outcome_indentation[outcome, index]
    verdict = _judge_state(tables, work, base, state, cell, indentation)
    n_obligations = work.outcome_n_obligations[outcome, index]
    if n_obligations == 0 or verdict < 0 or verdict == DEAD_END:
        return verdict
    for rank in range(n_obligations):
        obligation = work.outcome_obligations[outcome, index, rank]
        looked_for = tables.class_representatives[abs(obligation)]
        if obligation > 0 and _is_doomed(tables, state, looked_for):
            return DEAD_END
    if verdict == OPEN:
        return verdict
    if _is_resolved_soon(tables, work, base, outcome, index):
        return LIVE
    return OPEN if tables.has_indentation else _judge_next(tables, work, base, outcome, index)


def _judge_all(tables: Tables, work: Workspace, base: Base) -> int:
    """Judge all outcomes; return `DONE` or a failure."""
    work.counts[N_OPEN] = 0
    for outcome in range(work.counts[N_OUTCOMES]):
        best = DEAD_END if work.outcome_n[outcome] > 0 else OPEN
        for index in range(work.outcome_n[outcome]):
            verdict = _judge(tables, work, base, outcome, index)
            if verdict < 0:
                return verdict
            if verdict == LIVE:
                best = LIVE
                break
            if verdict == OPEN:
                best = OPEN
        work.verdicts[outcome] = best
        if best == OPEN:
            work.counts[N_OPEN] += 1
    return DONE


def outcomes(tables: Tables, trie: PackedTrie, work: Workspace, base: Base) -> int:
    """Walk, and judge all outcomes, while other threads run.

    Returns
    -------
    int
        `DONE`, with the results in `work`; or a failure that names what must be larger.
    """
    with cython.nogil:
        result = walk(tables, trie, work, base)
        return _judge_all(tables, work, base) if result == DONE else result
