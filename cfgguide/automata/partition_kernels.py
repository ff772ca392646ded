"""The compiled loops that find which states of an automaton are equivalent.

A *partition* is kept so that a class is split in time that depends on its smaller part: the
elements stand in an order in which each class is a range, and those of a class that are marked
stand first in it. It is an array of the rows below, one column for each element.

States are parted, and so are moves: two moves of one class read the same byte class and lead to
states of one class. A class of moves tells the states apart in which they begin, and a new class of
states tells the moves apart that lead to it.

Source: A. Valmari 2012, "Fast brief practical DFA minimization", after Hopcroft 1971.
"""

from __future__ import annotations

try:
    import cython
except ImportError:
    from cfgguide.base import uncompiled as cython

import numpy as np
import numpy.typing as npt

from cfgguide.automata.dfa import (
    CLASS,
    COUNTS,
    DEAD,
    ELEMENT,
    END,
    FIRST,
    IS_DEAD,
    IS_END,
    N_CLASSES,
    N_MARKED,
    N_TOUCHED,
    NOWHERE,
    OPEN,
    PLACE,
    TOUCHED,
)

Int32Array = npt.NDArray[np.int32]


def _part_by_class(parts: Int32Array, n: int, n_classes: int) -> None:
    """Order the elements by the classes that stand in `CLASS`."""
    for number in range(n_classes):
        parts[END, number] = 0
    for element in range(n):
        parts[END, parts[CLASS, element]] += 1
    first = 0
    for number in range(n_classes):
        parts[FIRST, number] = first
        first += parts[END, number]
        parts[END, number] = parts[FIRST, number]
        parts[N_MARKED, number] = 0
    for element in range(n):
        number = parts[CLASS, element]
        place = parts[END, number]
        parts[END, number] = place + 1
        parts[ELEMENT, place] = element
        parts[PLACE, element] = place
    parts[COUNTS, N_CLASSES] = n_classes
    parts[COUNTS, N_TOUCHED] = 0


def _mark(parts: Int32Array, element: int) -> None:
    """Move an element to those of its class that are marked."""
    number = parts[CLASS, element]
    place = parts[PLACE, element]
    first = parts[FIRST, number] + parts[N_MARKED, number]
    if place < first:
        return  # it is there
    other = parts[ELEMENT, first]
    parts[ELEMENT, place] = other
    parts[PLACE, other] = place
    parts[ELEMENT, first] = element
    parts[PLACE, element] = first
    if not parts[N_MARKED, number]:
        parts[TOUCHED, parts[COUNTS, N_TOUCHED]] = number
        parts[COUNTS, N_TOUCHED] += 1
    parts[N_MARKED, number] += 1


def _split(parts: Int32Array) -> None:
    """Split each class into what is marked and what is not; the smaller part is a new class."""
    while parts[COUNTS, N_TOUCHED]:
        parts[COUNTS, N_TOUCHED] -= 1
        number = parts[TOUCHED, parts[COUNTS, N_TOUCHED]]
        first, end = parts[FIRST, number], parts[END, number]
        middle = first + parts[N_MARKED, number]
        parts[N_MARKED, number] = 0
        if middle == end:
            continue
        new = parts[COUNTS, N_CLASSES]
        parts[COUNTS, N_CLASSES] = new + 1
        if middle - first <= end - middle:
            parts[FIRST, new], parts[END, new] = first, middle
            parts[FIRST, number] = middle
        else:
            parts[FIRST, new], parts[END, new] = middle, end
            parts[END, number] = middle
        parts[N_MARKED, new] = 0
        for place in range(parts[FIRST, new], parts[END, new]):
            parts[CLASS, parts[ELEMENT, place]] = new


def _find_before(
    targets: Int32Array, n_states: int, first_before: Int32Array, before: Int32Array
) -> None:
    """Sort the moves by where they lead."""
    for state in range(n_states + 1):
        first_before[state] = 0
    for move in range(len(targets)):
        if targets[move] != NOWHERE:
            first_before[targets[move]] += 1
    total = 0
    for state in range(n_states):
        total += first_before[state]
        first_before[state] = total
    first_before[n_states] = total
    for move in range(len(targets) - 1, -1, -1):
        if targets[move] != NOWHERE:
            first_before[targets[move]] -= 1
            before[first_before[targets[move]]] = move


def refine(
    sources: Int32Array,
    columns: Int32Array,
    targets: Int32Array,
    n_states: int,
    n_labels: int,
    n_columns: int,
    states: Int32Array,
    moves: Int32Array,
    first_before: Int32Array,
    before: Int32Array,
) -> int:
    """Refine the classes of `states` until those of one lead to the same; return their number.

    Parameters
    ----------
    sources, columns, targets : int32, shape (n_moves,)
        Where each move begins, what it reads and where it leads. What has no move leads nowhere.
    n_states, n_labels, n_columns : int
        Number of states, of the classes that they have, and of what moves read.
    states, moves : int32, shape (N_ROWS, any)
        Partitions, with room for as many classes as there can be; those of states stand in `CLASS`.
    first_before, before : int32, shape (n_states + 1,) and (n_moves,)
        Room for the moves by where they lead.
    """
    with cython.nogil:
        n_moves = len(targets)
        for move in range(n_moves):
            moves[CLASS, move] = columns[move]
        _part_by_class(states, n_states, n_labels)
        _part_by_class(moves, n_moves, n_columns)
        _find_before(targets, n_states, first_before, before)
        n_split, n_asked = 1, 0
        while n_asked < moves[COUNTS, N_CLASSES]:
            for place in range(moves[FIRST, n_asked], moves[END, n_asked]):
                _mark(states, sources[moves[ELEMENT, place]])
            _split(states)
            n_asked += 1
            while n_split < states[COUNTS, N_CLASSES]:
                for place in range(states[FIRST, n_split], states[END, n_split]):
                    state = states[ELEMENT, place]
                    for index in range(first_before[state], first_before[state + 1]):
                        _mark(moves, before[index])
                _split(moves)
                n_split += 1
        return int(states[COUNTS, N_CLASSES])


def leave_dead(
    targets: Int32Array,
    n_states: int,
    labels: Int32Array,
    first_before: Int32Array,
    before: Int32Array,
    pending: Int32Array,
) -> None:
    """Label the states from which no end can be reached, and have moves to them lead nowhere.

    Parameters
    ----------
    targets, n_states, first_before, before : as of `refine`
    labels : int32, shape (n_states,)
        `IS_END` for ends; the others are labelled.
    pending : int32, shape (n_states,)
        Room.
    """
    with cython.nogil:
        _find_before(targets, n_states, first_before, before)
        n_pending = 0
        for state in range(n_states):
            if labels[state] == IS_END:
                pending[n_pending] = state
                n_pending += 1
            else:
                labels[state] = IS_DEAD
        while n_pending:
            n_pending -= 1
            state = pending[n_pending]
            for index in range(first_before[state], first_before[state + 1]):
                earlier = before[index] % n_states
                if labels[earlier] == IS_DEAD:
                    labels[earlier] = OPEN
                    pending[n_pending] = earlier
                    n_pending += 1
        for move in range(len(targets)):
            if targets[move] != NOWHERE and labels[targets[move]] == IS_DEAD:
                targets[move] = NOWHERE


def number_breadth_first(
    targets: Int32Array,
    n_states: int,
    start: int,
    classes: Int32Array,
    numbers: Int32Array,
    order: Int32Array,
) -> int:
    """Give the classes that can be reached numbers, from 1 on; return how many there are.

    Parameters
    ----------
    targets, n_states, start : int32 array, int, int
        As of `refine`, and the state that has the number 1.
    classes : int32, shape (n_states,)
        The class of each state.
    numbers : int32, shape (n_classes,)
        Filled with the number of each class; `DEAD` where it is not reached.
    order : int32, shape (n_classes,)
        Filled with one state of each.
    """
    with cython.nogil:
        for number in range(len(numbers)):
            numbers[number] = DEAD
        n_columns = len(targets) // n_states
        order[0], n_found = start, 1
        numbers[classes[start]] = 1
        place = 0
        while place < n_found:
            for column in range(n_columns):
                state = targets[column * n_states + order[place]]
                if state != NOWHERE and numbers[classes[state]] == DEAD:
                    order[n_found] = state
                    n_found += 1
                    numbers[classes[state]] = n_found
            place += 1
        return n_found


def pass_back(
    sources: Int32Array,
    targets: Int32Array,
    n_states: int,
    goals: npt.NDArray[np.uint8],
    first_before: Int32Array,
    before: Int32Array,
    queue: Int32Array,
    is_queued: npt.NDArray[np.uint8],
) -> None:
    """Give each state the goals of all states that it leads to.

    Parameters
    ----------
    sources, targets : int32, shape (n_moves,)
        Where each move begins and leads.
    n_states : int
        Number of states.
    goals : uint8, shape (n_states, n_bytes)
        Sets of goals as bits: those of the states themselves, and then all.
    first_before, before : as of `refine`
    queue, is_queued : int32 and uint8, shape (n_states,)
        Room.
    """
    with cython.nogil:
        _find_before(targets, n_states, first_before, before)
        for state in range(n_states):
            queue[state], is_queued[state] = state, 1
        head, n_queued = 0, n_states
        while n_queued:
            state = queue[head]
            head = (head + 1) % n_states
            n_queued -= 1
            is_queued[state] = 0
            for index in range(first_before[state], first_before[state + 1]):
                earlier = sources[before[index]]
                is_more = False
                for place in range(goals.shape[1]):
                    if goals[state, place] & ~goals[earlier, place]:
                        goals[earlier, place] |= goals[state, place]
                        is_more = True
                if is_more and not is_queued[earlier]:
                    is_queued[earlier] = 1
                    queue[(head + n_queued) % n_states] = earlier
                    n_queued += 1
