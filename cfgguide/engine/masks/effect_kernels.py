"""The compiled loops that find what byte strings do to a lexer.

They make the automaton of :mod:`cfgguide.engine.masks.effects`. Whatever they make is an *item*: a
short list of numbers, of which the first says what it is. Each is kept once, so equal items have
equal numbers. Numbers below `first` are readings that need no more than one of n scanner states::

    state          a lexeme goes on there
    n + state      it is fresh: nothing has been read of it, so it cannot end (`first_column`)
    2n + state     no continuation from there may match; of state 0: one has
    3n + state     one has to match; of state 0: it has

The items are these::

    DEBT           obligations ...                 ascending
    ALTERNATIVES   debts ...                       for each way in which assertions may turn out
    POSSIBLE       (state, debt) ...               what an assertion state stands for
    COLUMN         0, or 1 and kinds of bytes      none; of a line that began before the string
                   kinds of bytes                  of one that began in it; each kind plus 1
    CONTEXTS_OF    contexts ...                    after a string, for each context before it
    INSIDE         state debt column is_fresh      a lexeme that goes on
    ENDED          terminal alternatives column contexts
    PAIR           ended rest                      a lexeme that has ended, and what follows it
    READINGS       states and INSIDE, then PAIR ...
    OWED           alternatives is_match           what an obligation comes to
    GROUPS         (place, group) ...              which entries of a vector are equal
    JOINED         groups, group ...               the group of each of the groups after a byte
    REST, EFFECT   contexts groups readings ...    a vector: the reading of each group

A vector has thousands of entries, but few different ones once a byte is read. Equal entries stay
equal, so a group of them is read once.

What an item leads to with a byte is remembered. A function that lacks something (room, a step of a
rest) writes so into `counts[STATUS]`. From then on nothing is kept, and what is computed
means nothing; the vector is read again once it is there.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from cfgguide.base import uncompiled as cython

from typing import Any

from cfgguide.engine.masks.arrays import (
    ALTERNATIVES,
    CHILD,
    COLUMN,
    CONTEXTS_OF,
    DEBT,
    DONE,
    EFFECT,
    EMPTY_REST,
    ENDED,
    FULL_EFFECTS,
    FULL_IDS,
    FULL_ITEMS,
    FULL_JOBS,
    FULL_KNOWN,
    FULL_SCRATCH,
    GROUPS,
    INSIDE,
    JOINED,
    MAY_END,
    N_EFFECTS,
    N_IDS,
    N_ITEMS,
    N_JOBS,
    N_KNOWN,
    N_STEPS,
    NEEDS_CARE,
    NONE,
    OWED,
    PAIR,
    PARENT,
    PAUSED,
    POSSIBLE,
    READINGS,
    REST,
    STAMP,
    STATUS,
    STUCK,
    TOP,
    EffectSpace,
    Tables,
)
from cfgguide.engine.vocabulary.trie import BYTE, END_TOKEN, FIRST_CHILD, FIRST_TOKEN, PackedTrie
from cfgguide.grammar.lr.indentation import BREAK, DIGIT, OTHER
from cfgguide.grammar.lr.indentation_names import CPYTHON_TAB

FACTOR = 0x9E3779B97F4A7C15  # 2**64 over the golden ratio: Knuth, volume 3, section 6.4
WORD = (1 << 64) - 1
LETTER = (1 << 32) - 1
UNKNOWN = -1
NOTHING = 0  # no string can be read with it
SLOW = 1 << 30  # in `moves`
TARGET = SLOW - 1
ANYWHERE = 0  # the letter of what does not depend on a byte


# --- Items ----------------------------------------------------------------------------------------


def _put(space: EffectSpace, number: int) -> None:
    """Add a number to the item that is written on top of `scratch`."""
    top = space.counts[TOP]
    if top < len(space.scratch):
        space.scratch[top] = number
        space.counts[TOP] = top + 1
    else:
        space.counts[STATUS] = FULL_SCRATCH


def _begin(space: EffectSpace, kind: int) -> int:
    """Begin to write an item; return where it begins."""
    begin = space.counts[TOP]
    _put(space, kind)
    return begin


def _item(space: EffectSpace, begin: int) -> int:
    """Return the number of the item that begins somewhere in `scratch`, and take it from there."""
    end = space.counts[TOP]
    space.counts[TOP] = begin
    if space.counts[STATUS] != DONE:
        return space.first  # a debt of nothing
    length, hashed, other = end - begin, end - begin, 0
    for place in range(begin, end - 3, 4):  # four at once: long items take much of the time
        high = space.scratch[place]
        hashed = (hashed ^ (high << 32) ^ space.scratch[place + 1]) * FACTOR & WORD
        hashed ^= hashed >> 29
        high = space.scratch[place + 2]
        other = (other ^ (high << 32) ^ space.scratch[place + 3]) * FACTOR & WORD
        other ^= other >> 29
    for place in range(end - length % 4, end):
        hashed = (hashed ^ space.scratch[place]) * FACTOR & WORD
        hashed ^= hashed >> 29
    short = ((hashed ^ (other >> 7)) * FACTOR & WORD) >> 33
    mask = len(space.slots) - 1
    slot = short & mask
    while space.slots[slot] != 0:
        known = space.slots[slot] - 1
        start = space.offsets[known]
        if space.hashes[known] == short and space.offsets[known + 1] - start == length:
            differences = 0  # all are looked at, many at once, since there are hardly any
            for rank in range(length):
                differences |= space.items[start + rank] ^ space.scratch[begin + rank]
            if differences == 0:
                return space.first + known
        slot = (slot + 1) & mask
    new, start = space.counts[N_IDS], space.counts[N_ITEMS]
    if new + 1 >= len(space.offsets):
        space.counts[STATUS] = FULL_IDS
    elif start + length > len(space.items):
        space.counts[STATUS] = FULL_ITEMS
    else:
        for rank in range(length):
            space.items[start + rank] = space.scratch[begin + rank]
        space.slots[slot] = new + 1
        space.hashes[new] = short
        space.offsets[new + 1] = space.counts[N_ITEMS] = start + length
        space.counts[N_IDS] = new + 1
        return space.first + new
    return space.first


def _small(space: EffectSpace, kind: int, first: int, second: int) -> int:
    """Return the number of an item of two numbers."""
    begin = _begin(space, kind)
    _put(space, first)
    _put(space, second)
    return _item(space, begin)


def _start(space: EffectSpace, item: int) -> int:
    """Return where the numbers of an item start, after the first."""
    return space.offsets[item - space.first] + 1


def _end(space: EffectSpace, item: int) -> int:
    """Return where the numbers of an item end."""
    return space.offsets[item - space.first + 1]


def _kind(space: EffectSpace, item: int) -> int:
    """Return what an item is."""
    return space.items[space.offsets[item - space.first]]


def _target(space: EffectSpace, state: int, byte_class: int) -> int:
    """Return the scanner state after one more byte."""
    return space.moves[byte_class, state] & TARGET


def _known(space: EffectSpace, item: int, letter: int) -> int:
    """Return what a number leads to with a letter, `UNKNOWN` if that was not found yet."""
    key = item << 32 | letter
    mask = len(space.known) - 1
    slot = ((key * FACTOR & WORD) >> 32) & mask
    while space.known[slot, 0] != 0:
        if space.known[slot, 0] == key:
            return space.known[slot, 1]
        slot = (slot + 1) & mask
    return UNKNOWN


def _remember(space: EffectSpace, item: int, letter: int, value: int) -> None:
    """Remember what a number leads to with a letter."""
    if space.counts[STATUS] != DONE:
        return
    if 2 * space.counts[N_KNOWN] >= len(space.known):
        space.counts[STATUS] = FULL_KNOWN
        return
    key = item << 32 | letter
    mask = len(space.known) - 1
    slot = ((key * FACTOR & WORD) >> 32) & mask
    while space.known[slot, 0] != 0:
        slot = (slot + 1) & mask
    space.known[slot, 0] = key
    space.known[slot, 1] = value
    space.counts[N_KNOWN] += 1


def fill_again(space: EffectSpace, smaller: EffectSpace) -> None:
    """Fill a hash table that is larger now and empty with what is in a smaller one."""
    with cython.nogil:
        if len(space.slots) > len(smaller.slots):
            mask = len(space.slots) - 1
            for number in range(space.counts[N_IDS]):
                slot = space.hashes[number] & mask
                while space.slots[slot] != 0:
                    slot = (slot + 1) & mask
                space.slots[slot] = number + 1
        if len(space.known) > len(smaller.known):
            space.counts[STATUS] = space.counts[N_KNOWN] = 0
            for old in range(len(smaller.known)):
                key = smaller.known[old, 0]
                if key != 0:
                    _remember(space, key >> 32, key & LETTER, smaller.known[old, 1])


def lay_out(rows: Any, acts: Any, owed_as: Any, moves: Any) -> None:
    """Lay out where bytes lead by bytes, and say which moves need more than one look.

    Parameters
    ----------
    rows : memoryview of int32, shape (n_states, n_byte_classes)
        Where bytes lead from each state.
    acts : memoryview of int8, shape (n_states,)
        `MAY_END` and `NEEDS_CARE`.
    owed_as : memoryview of int32, shape (n_states,)
        The state from which nothing may match if a lexeme ends in each state.
    moves : memoryview of int32, shape (n_byte_classes, n_states)
        Where they go. `SLOW` is set where a lexeme may end before the byte, or goes on in a state
        that needs care.
    """
    with cython.nogil:
        for block in range(0, len(rows), 16):  # so that a line of memory is written at once
            end = min(block + 16, len(rows))
            for byte_class in range(len(moves)):
                for state in range(block, end):
                    target = rows[state, byte_class]
                    # What matches may also end, unless it matches with one more byte too.
                    is_slow = acts[target] & NEEDS_CARE or (
                        acts[state] & MAY_END
                        and not acts[rows[owed_as[state], byte_class]] & MAY_END
                    )
                    moves[byte_class, state] = target | SLOW if is_slow else target


def tell_apart(rows: Any, states: Any, is_followed: Any, slots: Any, firsts: Any) -> int:
    """Write the first of all states with equal rows into `firsts`; return how many there are.

    Parameters
    ----------
    rows : memoryview of int32, shape (n_states, n_byte_classes)
        Where bytes lead from each state.
    states : memoryview of int32, shape (n,)
        Which states to look at; not 0.
    is_followed : memoryview of bool, shape (n_states,)
        States of which this is different are different.
    slots : memoryview of int32, shape (n_slots,)
        All 0; the length is a power of two, and greater than n.
    firsts : memoryview of int32, shape (n,)
        Where they go.
    """
    with cython.nogil:
        n_found, mask, width = 0, len(slots) - 1, rows.shape[1]
        for index in range(len(states)):
            state, hashed = states[index], 0
            for place in range(width):
                hashed = (hashed ^ rows[state, place]) * FACTOR & WORD
            slot, is_new = (hashed >> 32) & mask, True
            while is_new and slots[slot] != 0:
                other, place = slots[slot], 0
                if is_followed[other] == is_followed[state]:
                    while place < width and rows[other, place] == rows[state, place]:
                        place += 1
                is_new = place < width
                slot = (slot + 1) & mask
            if is_new:
                slots[slot] = firsts[n_found] = state
                n_found += 1
        return n_found


# --- What is owed ---------------------------------------------------------------------------------


def _debt(space: EffectSpace, obligation: int) -> int:
    """Return the debt of one obligation."""
    begin = _begin(space, DEBT)
    _put(space, obligation)
    return _item(space, begin)


def _both(space: EffectSpace, first: int, second: int) -> int:
    """Return a debt of all that two have."""
    if first == space.first:
        return second
    if second == space.first or first == second:
        return first
    place, end = _start(space, first), _end(space, first)
    other, other_end = _start(space, second), _end(space, second)
    begin = _begin(space, DEBT)
    while place < end or other < other_end:
        if other == other_end or (place < end and space.items[place] <= space.items[other]):
            if other < other_end and space.items[place] == space.items[other]:
                other += 1
            _put(space, space.items[place])
            place += 1
        else:
            _put(space, space.items[other])
            other += 1
    return _item(space, begin)


def _is_false(space: EffectSpace, debt: int) -> bool:
    """Return whether a debt cannot be paid: something is to match and not to match."""
    start, end = _start(space, debt), _end(space, debt)
    for place in range(start, end):
        for other in range(start, end):
            if space.items[place] == -space.items[other]:
                return True
    return False


def _put_once(space: EffectSpace, begin: int, number: int) -> None:
    """Add a number to the item that begins somewhere, unless it is there."""
    for place in range(begin + 1, space.counts[TOP]):
        if space.scratch[place] == number:
            return
    _put(space, number)


def _put_combined(space: EffectSpace, begin: int, first: int, second: int) -> None:
    """Add the debts of all that one of two alternatives each has, as far as they can be paid."""
    for place in range(_start(space, first), _end(space, first)):
        for other in range(_start(space, second), _end(space, second)):
            debt = _both(space, space.items[place], space.items[other])
            if not _is_false(space, debt):
                _put_once(space, begin, debt)


def _under_which(tables: Tables, space: EffectSpace, state: int, is_match: int) -> int:
    """Return alternatives under which a state matches now or later; or, if so asked, does not."""
    known = space.alternatives[state, is_match]
    if known != 0:
        return known
    begin = _begin(space, ALTERNATIVES)
    looked_for = tables.assertions[state, 0]
    if state == 0:
        if not is_match:
            _put(space, space.first)
    elif tables.match[state] >= 0 or looked_for == state:  # a fork matches, one way or another
        if is_match:
            _put(space, space.first)
    elif looked_for == 0:
        equivalence_class = tables.equivalence_classes[state]
        _put(space, _debt(space, -equivalence_class if is_match else equivalence_class))
    else:
        for answer in range(1, 3):
            is_held, following = 2 - answer, tables.assertions[state, answer]
            after = _under_which(tables, space, following, is_match)
            _put_combined(space, begin, after, _under_which(tables, space, looked_for, is_held))
    found = _item(space, begin)
    if space.counts[STATUS] == DONE:
        space.alternatives[state, is_match] = found
    return found


def _after(tables: Tables, space: EffectSpace, debt: int, byte_class: int) -> int:
    """Return the alternatives that a debt comes to with one more byte; there may be none."""
    known = _known(space, debt, byte_class)
    if known != UNKNOWN:
        return known
    found = 0
    for place in range(_start(space, debt), _end(space, debt)):
        obligation = space.items[place]
        looked_for = tables.class_representatives[abs(obligation)]
        target = _target(space, looked_for, byte_class)
        later = _under_which(tables, space, target, 1 if obligation < 0 else 0)
        if found == 0:
            found = later
        else:
            begin = _begin(space, ALTERNATIVES)
            _put_combined(space, begin, found, later)
            found = _item(space, begin)
    if found == 0:
        begin = _begin(space, ALTERNATIVES)
        _put(space, debt)
        found = _item(space, begin)
    _remember(space, debt, byte_class, found)
    return found


def _owing(tables: Tables, space: EffectSpace, alternatives: int, byte_class: int) -> int:
    """Return what alternatives come to with one more byte."""
    start, end = _start(space, alternatives), _end(space, alternatives)
    if end - start == 1:
        return _after(tables, space, space.items[start], byte_class)
    known = _known(space, alternatives, byte_class)
    if known != UNKNOWN:
        return known
    begin = _begin(space, ALTERNATIVES)
    for place in range(start, end):
        after = _after(tables, space, space.items[place], byte_class)
        for debt in range(_start(space, after), _end(space, after)):
            _put_once(space, begin, space.items[debt])
    found = _item(space, begin)
    _remember(space, alternatives, byte_class, found)
    return found


def _possible(tables: Tables, space: EffectSpace, state: int) -> int:
    """Return the states that an assertion state stands for, each with its debt."""
    if space.possible[state] != 0:
        return space.possible[state]
    begin = _begin(space, POSSIBLE)
    looked_for = tables.assertions[state, 0]
    for answer in range(1, 3):
        following = tables.assertions[state, answer]
        if following == 0:
            continue
        if looked_for == state:  # a fork, whose answers owe nothing
            _put_possible(tables, space, following, space.first)
            continue
        owing = _under_which(tables, space, looked_for, 2 - answer)
        for place in range(_start(space, owing), _end(space, owing)):
            _put_possible(tables, space, following, space.items[place])
    found = _item(space, begin)
    if space.counts[STATUS] == DONE:
        space.possible[state] = found
    return found


def _put_possible(tables: Tables, space: EffectSpace, state: int, debt: int) -> None:
    """Add a state, or what it stands for, with a debt."""
    if tables.assertions[state, 0] == 0:
        _put(space, state)
        _put(space, debt)
        return
    possible = _possible(tables, space, state)
    for place in range(_start(space, possible), _end(space, possible), 2):
        together = _both(space, debt, space.items[place + 1])
        if not _is_false(space, together):
            _put(space, space.items[place])
            _put(space, together)


# --- Readings -------------------------------------------------------------------------------------


def _moved(tables: Tables, space: EffectSpace, column: int, state: int, byte_class: int) -> int:
    """Return what has happened to a column after one more byte of a lexeme."""
    if not tables.is_followed[state]:
        return space.no_column
    kind = tables.byte_kinds[byte_class]
    if not space.is_newline[state]:
        if kind != DIGIT:
            return column
    elif kind != BREAK:
        if column == space.no_column:
            return column
        if kind in (OTHER, DIGIT):
            return space.no_column if tables.tab == CPYTHON_TAB else column
    begin = _begin(space, COLUMN)
    if kind != BREAK:
        for place in range(_start(space, column), _end(space, column)):
            _put(space, space.items[place])
    _put(space, kind + 1)
    return _item(space, begin)


def _inside(
    tables: Tables, space: EffectSpace, state: int, debt: int, column: int, is_fresh: bool
) -> int:
    """Return the reading of a lexeme that goes on, or of one that nothing has been read of."""
    if debt == space.first and not tables.is_followed[state]:
        return state + len(tables.match) if is_fresh else state
    begin = _begin(space, INSIDE)
    _put(space, state)
    _put(space, debt)
    _put(space, column)
    _put(space, 1 if is_fresh else 0)
    return _item(space, begin)


def _put_going_on(
    tables: Tables, space: EffectSpace, begin: int, reading: int, byte_class: int
) -> None:
    """Add how a lexeme goes on with one more byte."""
    n_states = len(tables.match)
    debt, column = space.first, space.no_column
    if reading < space.first:
        state = reading if reading < n_states else reading - n_states
        if reading >= n_states and tables.is_followed[state]:
            column = space.first_column
    elif _kind(space, reading) == INSIDE:
        start = _start(space, reading)
        state, debt = space.items[start], space.items[start + 1]
        column = space.items[start + 2]
    else:
        return
    target = _target(space, state, byte_class)
    if target == 0:
        return
    after = _after(tables, space, debt, byte_class)
    for place in range(_start(space, after), _end(space, after)):
        owed = space.items[place]
        if tables.assertions[target, 0] == 0:
            _put_goal(tables, space, begin, target, owed, column, byte_class)
            continue
        possible = _possible(tables, space, target)
        for here in range(_start(space, possible), _end(space, possible), 2):
            together = _both(space, owed, space.items[here + 1])
            if not _is_false(space, together):
                goal = space.items[here]
                _put_goal(tables, space, begin, goal, together, column, byte_class)


def _put_goal(
    tables: Tables,
    space: EffectSpace,
    begin: int,
    state: int,
    debt: int,
    column: int,
    byte_class: int,
) -> None:
    """Add a lexeme that has come to a state, unless it can never end."""
    if tables.match[state] < 0:
        for place in range(_start(space, debt), _end(space, debt)):
            if space.items[place] == tables.equivalence_classes[state]:
                return
    moved = _moved(tables, space, column, state, byte_class)
    _put_once(space, begin, _inside(tables, space, state, debt, moved, False))


def _rest_after(space: EffectSpace, rest: int, byte_class: int) -> int:
    """Return a rest with one more byte; if it is not known, it is to be found first."""
    known = _known(space, rest, byte_class)
    if known != UNKNOWN:
        return known
    job = space.counts[N_JOBS]
    if job >= len(space.jobs):
        space.counts[STATUS] = FULL_JOBS
    else:
        space.jobs[job, 0] = rest
        space.jobs[job, 1] = byte_class
        space.counts[N_JOBS] = job + 1
        if space.counts[STATUS] == DONE:
            space.counts[STATUS] = STUCK
    return NOTHING


def _put_ended(
    tables: Tables, space: EffectSpace, begin: int, reading: int, contexts: int, byte_class: int
) -> None:
    """Add how a lexeme ends before one more byte, or what follows one that has ended."""
    n_states = len(tables.match)
    state, debt, column = reading, space.first, space.no_column
    if reading >= space.first:
        start = _start(space, reading)
        if _kind(space, reading) == PAIR:
            rest = _rest_after(space, space.items[start + 1], byte_class)
            ended = _still_ended(tables, space, space.items[start], byte_class)
            if ended != NOTHING and rest != NOTHING:
                _put_once(space, begin, _small(space, PAIR, ended, rest))
            return
        if space.items[start + 3]:
            return
        state, debt, column = space.items[start], space.items[start + 1], space.items[start + 2]
    elif reading >= n_states:
        return
    terminal_id = tables.match[state]
    if terminal_id < 0 or terminal_id > tables.ignored:
        return
    rest = _rest_after(space, space.counts[EMPTY_REST], byte_class)
    if rest == NOTHING:
        return
    equivalence_class = tables.equivalence_classes[state]
    if equivalence_class != 0:
        debt = _both(space, debt, _debt(space, equivalence_class))
    alternatives = _after(tables, space, debt, byte_class)
    if _start(space, alternatives) == _end(space, alternatives):
        return
    ended = _ended(space, terminal_id, alternatives, column, contexts)
    _put_once(space, begin, _small(space, PAIR, ended, rest))


def _ended(
    space: EffectSpace, terminal_id: int, alternatives: int, column: int, contexts: int
) -> int:
    """Return a lexeme that has ended."""
    begin = _begin(space, ENDED)
    _put(space, terminal_id)
    _put(space, alternatives)
    _put(space, column)
    _put(space, contexts)
    return _item(space, begin)


def _still_ended(tables: Tables, space: EffectSpace, ended: int, byte_class: int) -> int:
    """Return an ended lexeme with what it owes after one more byte, `NOTHING` if that is false."""
    known = _known(space, ended, byte_class)
    if known != UNKNOWN:
        return known
    start = _start(space, ended)
    alternatives = _owing(tables, space, space.items[start + 1], byte_class)
    after = NOTHING
    if _start(space, alternatives) < _end(space, alternatives):
        terminal_id, column = space.items[start], space.items[start + 2]
        after = _ended(space, terminal_id, alternatives, column, space.items[start + 3])
    _remember(space, ended, byte_class, after)
    return after


def _owed(tables: Tables, space: EffectSpace, alternatives: int, is_match: int) -> int:
    """Return the reading of what an obligation comes to.

    What most strings come to, that nothing matches, is `NOTHING`, so that vectors stay short.
    """
    start, end = _start(space, alternatives), _end(space, alternatives)
    of_state = (2 + is_match) * len(tables.match)
    if start == end:
        return NOTHING if is_match else of_state
    if end - start == 1:
        debt = space.items[start]
        if debt == space.first:
            return of_state if is_match else NOTHING
        start = _start(space, debt)
        obligation = -space.items[start] if is_match else space.items[start]
        if _end(space, debt) == start + 1 and obligation > 0:
            return of_state + tables.class_representatives[obligation]
    return _small(space, OWED, alternatives, is_match)


def _still_owed(tables: Tables, space: EffectSpace, reading: int, byte_class: int) -> int:
    """Return what is owed after one more byte."""
    start = _start(space, reading)
    after = _owing(tables, space, space.items[start], byte_class)
    return _owed(tables, space, after, space.items[start + 1])


def _work_out(
    tables: Tables, space: EffectSpace, reading: int, contexts: int, byte_class: int
) -> int:
    """Return a reading with one more byte that is not known yet."""
    if reading >= space.first and _kind(space, reading) == OWED:
        return _still_owed(tables, space, reading, byte_class)
    begin = _begin(space, READINGS)
    if reading < space.first or _kind(space, reading) != READINGS:
        _put_going_on(tables, space, begin, reading, byte_class)
        _put_ended(tables, space, begin, reading, contexts, byte_class)
    else:
        start, end = _start(space, reading), _end(space, reading)
        for place in range(start, end):
            _put_going_on(tables, space, begin, space.items[place], byte_class)
        for place in range(start, end):
            _put_ended(tables, space, begin, space.items[place], contexts, byte_class)
    return _one(space, begin)


def _landed(tables: Tables, space: EffectSpace, state: int, byte_class: int) -> int:
    """Return how a lexeme that owes nothing goes on in an assertion state."""
    known = space.landed[state] - 1
    if known < 0:
        begin = _begin(space, READINGS)
        possible = _possible(tables, space, state)
        for place in range(_start(space, possible), _end(space, possible), 2):
            goal, debt = space.items[place], space.items[place + 1]
            _put_goal(tables, space, begin, goal, debt, space.no_column, byte_class)
        known = _one(space, begin)
        if space.counts[STATUS] == DONE:
            space.landed[state] = known + 1
    return known


def _one(space: EffectSpace, begin: int) -> int:
    """Return the reading that the readings from somewhere on in `scratch` are together."""
    n_found = space.counts[TOP] - begin - 1
    if n_found > 1:
        return _item(space, begin)
    space.counts[TOP] = begin
    return space.scratch[begin + 1] if n_found == 1 else NOTHING


def _read(tables: Tables, space: EffectSpace, reading: int, contexts: int, byte_class: int) -> int:
    """Return a reading with one more byte."""
    # Mostly a lexeme, or what is owed, goes on in a state as simple as the one before.
    n_states = len(tables.match)
    if reading < n_states:
        move = space.moves[byte_class, reading]
        if not move & SLOW:
            return move
        if not space.acts[reading] & MAY_END and not tables.is_followed[move & TARGET]:
            return _landed(tables, space, move & TARGET, byte_class)
    elif reading < 2 * n_states:
        target = _target(space, reading - n_states, byte_class)
        if not space.acts[target] & NEEDS_CARE:
            return target
    elif reading < space.first:
        of_state = 3 * n_states if reading >= 3 * n_states else 2 * n_states
        if reading == of_state:
            return reading
        target = _target(space, reading - of_state, byte_class)
        if target == 0:
            return NOTHING
        if space.acts[target] & MAY_END:
            return of_state
        if not tables.is_assertion[target] and space.owed_as[target] != 0:
            return of_state + space.owed_as[target]
        is_match = 1 if reading >= 3 * n_states else 0
        return _owed(tables, space, _under_which(tables, space, target, is_match), is_match)
    letter = (contexts - space.first) * len(space.moves) + byte_class
    known = _known(space, reading, letter)
    if known == UNKNOWN:
        known = _work_out(tables, space, reading, contexts, byte_class)
        _remember(space, reading, letter, known)
    return known


# --- Vectors --------------------------------------------------------------------------------------


def _contexts_after(tables: Tables, space: EffectSpace, contexts: int, byte_class: int) -> int:
    """Return the contexts after one more byte."""
    known = _known(space, contexts, byte_class)
    if known == UNKNOWN:
        begin = _begin(space, CONTEXTS_OF)
        for place in range(_start(space, contexts), _end(space, contexts)):
            _put(space, tables.contexts[space.items[place], byte_class])
        known = _item(space, begin)
        _remember(space, contexts, byte_class, known)
    return known


def _joined(space: EffectSpace, groups: int, joined: int) -> int:
    """Return which entries are equal after a byte that joins groups."""
    known = _known(space, joined, ANYWHERE)
    if known == UNKNOWN:
        begin, new = _begin(space, GROUPS), _start(space, joined) + 1
        start, end, top = _start(space, groups), _end(space, groups), space.counts[TOP]
        if top + end - start >= len(space.scratch):
            space.counts[STATUS] = FULL_SCRATCH
            return groups
        space.counts[N_STEPS] += (end - start) >> 2  # an entry takes half of the time of a reading
        for place in range(start, end, 2):  # this loop is run millions of times
            group = space.items[new + space.items[place + 1]]
            if group != NONE:
                space.scratch[top] = space.items[place]
                space.scratch[top + 1] = group
                top += 2
        space.counts[TOP] = top
        known = _item(space, begin)
        _remember(space, joined, ANYWHERE, known)
    return known


def _step(tables: Tables, space: EffectSpace, vector: int, byte_class: int) -> None:
    """Find a vector with one more byte; `NOTHING` if no state can read that."""
    kind, start, end = _kind(space, vector), _start(space, vector), _end(space, vector)
    contexts, groups = space.items[start], space.items[start + 1]
    start += 2
    begin = space.counts[TOP]
    mapping = begin + 3 + end - start  # where JOINED is written
    if mapping + 2 + end - start >= len(space.scratch):
        space.counts[STATUS] = FULL_SCRATCH
        return
    space.counts[N_STEPS] += end - start
    space.counts[STAMP] += 1
    stamp, n_found, is_same = space.counts[STAMP], 0, True
    space.counts[TOP] = mapping + 2 + end - start
    for rank in range(end - start):
        after = _read(tables, space, space.items[start + rank], contexts, byte_class)
        if space.counts[STATUS] != DONE:
            if space.counts[STATUS] != STUCK:
                break
            continue  # find all that must be there first
        if after == NOTHING:
            group = NONE
        elif space.marks[after, 0] == stamp:
            group = space.marks[after, 1]
        else:
            group = n_found
            space.marks[after, 0] = stamp
            space.marks[after, 1] = group
            space.scratch[begin + 3 + n_found] = after
            n_found += 1
        is_same = is_same and group == rank
        space.scratch[mapping + 2 + rank] = group
    found = NOTHING
    if n_found and space.counts[STATUS] == DONE:
        if not is_same:
            space.scratch[mapping] = JOINED
            space.scratch[mapping + 1] = groups
            joined = _item(space, mapping)
            groups = _joined(space, groups, joined) if space.counts[STATUS] == DONE else NOTHING
        contexts = _contexts_after(tables, space, contexts, byte_class)
        if space.counts[STATUS] == DONE and (
            kind == REST or space.items[_start(space, groups)] < space.n_needed
        ):
            space.counts[TOP] = begin + 3 + n_found
            space.scratch[begin] = kind
            space.scratch[begin + 1] = contexts
            space.scratch[begin + 2] = groups
            found = _item(space, begin)
    space.counts[TOP] = begin
    _remember(space, vector, byte_class, found)


def _first_vector(space: EffectSpace, kind: int, readings: int) -> int:
    """Return the vector of the readings on top of `scratch`, each at its place."""
    end = space.counts[TOP]
    begin = _begin(space, GROUPS)
    space.counts[STAMP] += 1
    stamp, n_found = space.counts[STAMP], 0
    for place in range(readings, end):
        reading = space.scratch[place]
        if space.marks[reading, 0] != stamp:
            space.marks[reading, 0] = stamp
            space.marks[reading, 1] = n_found
            space.scratch[readings + n_found] = reading
            n_found += 1
        _put(space, place - readings)
        _put(space, space.marks[reading, 1])
    groups = _item(space, begin)
    begin = _begin(space, kind)
    _put(space, space.same_contexts)
    _put(space, groups)
    for place in range(n_found):
        _put(space, space.scratch[readings + place])
    found = _item(space, begin)
    space.counts[TOP] = readings
    return found


def _put_start(tables: Tables, space: EffectSpace, state: int) -> None:
    """Add what the empty string does where a lexeme starts."""
    begin = _begin(space, READINGS)
    if tables.assertions[state, 0] == 0:
        possible = _small(space, POSSIBLE, state, space.first)
    else:
        possible = _possible(tables, space, state)
    is_fresh = False
    start, end = _start(space, possible), _end(space, possible)
    for place in range(start, end, 2):
        is_fresh = is_fresh or tables.match[space.items[place]] >= 0
    for place in range(start, end, 2):
        goal, debt = space.items[place], space.items[place + 1]
        reading = _inside(tables, space, goal, debt, space.no_column, is_fresh)
        _put_once(space, begin, reading)
    reading = space.scratch[begin + 1] if space.counts[TOP] == begin + 2 else _item(space, begin)
    space.counts[TOP] = begin
    _put(space, reading)


def begin_strings(tables: Tables, space: EffectSpace) -> int:
    """Make the effect of the empty string, and what it does where lexemes start.

    Returns
    -------
    int
        `DONE`, or what must be larger.
    """
    with cython.nogil:
        space.counts[STATUS] = space.counts[TOP] = 0
        _item(space, _begin(space, DEBT))  # `first`: nothing is owed
        written = _begin(space, CONTEXTS_OF)
        for context in range(len(tables.contexts)):
            _put(space, context)
        _item(space, written)  # `same_contexts`
        for column in range(2):
            written = _begin(space, COLUMN)
            _put(space, column)
            _item(space, written)  # `no_column` and `first_column`
        for place in range(len(space.lexeme_starts)):
            _put_start(tables, space, space.lexeme_starts[place])
        space.counts[EMPTY_REST] = _first_vector(space, REST, 0)
        for place in range(len(space.states)):
            state = space.states[place]
            is_fresh = tables.is_followed[state] or tables.match[state] >= 0
            _put(space, len(tables.match) + state if is_fresh else state)
        for place in range(len(space.owed)):
            _put(space, 2 * len(tables.match) + space.owed[place])
        space.effects[1, 0] = _first_vector(space, EFFECT, 0)
        space.counts[N_EFFECTS] = 2
        return space.counts[STATUS]


def _numbered(space: EffectSpace, effect: int, before: int, byte: int) -> int:
    """Return the number of an effect; a new one is that of a string and one more byte."""
    if effect == NOTHING:
        return NOTHING
    number = space.effect_numbers[effect - space.first]
    if number == 0:
        number = space.counts[N_EFFECTS]
        if number >= len(space.effects):
            space.counts[STATUS] = FULL_EFFECTS
            return NOTHING
        space.counts[N_EFFECTS] = number + 1
        space.effect_numbers[effect - space.first] = number
        space.effects[number, 0] = effect
        space.effects[number, 1] = before
        space.effects[number, 2] = byte
    return number


def _finish_jobs(tables: Tables, space: EffectSpace) -> int:
    """Find the steps of vectors that are to be found; return `DONE` or what is lacking."""
    while space.counts[N_JOBS] > 0:
        job = space.counts[N_JOBS] - 1
        vector, byte_class = space.jobs[job, 0], space.jobs[job, 1]
        if _known(space, vector, byte_class) == UNKNOWN:
            _step(tables, space, vector, byte_class)
        if space.counts[STATUS] == STUCK:
            space.counts[STATUS] = DONE  # the others come first
        elif space.counts[STATUS] != DONE:
            return space.counts[STATUS]
        else:
            space.counts[N_JOBS] = job
    return DONE


def run(tables: Tables, trie: PackedTrie, space: EffectSpace, n_steps: int) -> int:
    """Find the effects of all nodes of a trie, while other threads run.

    Returns
    -------
    int
        `DONE`; `PAUSED` if `counts[N_STEPS]` has come to `n_steps`; or what is lacking. Called
        again, it goes on.
    """
    with cython.nogil:
        space.counts[STATUS] = space.counts[TOP] = 0
        child, parent = space.counts[CHILD], space.counts[PARENT]
        n_nodes = len(trie.nodes) - 1
        while child < n_nodes:
            if space.counts[N_STEPS] >= n_steps:
                return PAUSED
            before = 1
            if child >= trie.n_roots:
                while child >= trie.nodes[parent + 1, FIRST_CHILD]:
                    parent += 1
                before = space.effect_of_node[parent]
            number = NOTHING
            if before != NOTHING:
                byte = trie.nodes[child, BYTE]
                byte_class, vector = tables.byte_classes[byte], space.effects[before, 0]
                after = _known(space, vector, byte_class)
                if after == UNKNOWN:
                    if space.counts[N_JOBS] == 0:
                        space.jobs[0, 0] = vector
                        space.jobs[0, 1] = byte_class
                        space.counts[N_JOBS] = 1
                    if _finish_jobs(tables, space) != DONE:
                        return space.counts[STATUS]
                    after = _known(space, vector, byte_class)
                number = _numbered(space, after, before, byte)
                if space.counts[STATUS] != DONE:
                    return space.counts[STATUS]
                first, below = trie.nodes[child, FIRST_TOKEN], trie.nodes[child, FIRST_CHILD]
                end = trie.nodes[child, END_TOKEN]
                if below < trie.nodes[child + 1, FIRST_CHILD]:
                    end = trie.nodes[below, FIRST_TOKEN]
                for place in range(first, end):  # equal tokens share a node
                    space.effect_of_token[place] = number
            space.effect_of_node[child] = number
            child += 1
            space.counts[N_STEPS] += 1
            space.counts[CHILD] = child
            space.counts[PARENT] = parent
        return DONE
