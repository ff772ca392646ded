"""The smallest machine with the same matches.

In: an :class:`~cfgguide.automata.dfa.Fsm`. Out: the smallest one that is final on the same
continuations, without assertions whose outcome is known or does not matter, and with contexts
merged that never lead to different start states. Its states are numbered breadth-first, so that
equal machines are equal arrays.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cfgguide.automata.dfa import DEAD, IF_FAILS, IF_HOLDS, IS_DEAD, IS_END, NOWHERE, OPEN, Fsm
from cfgguide.automata.partition import Moves, distinct_columns, refined


def _columns(fsm: Fsm) -> npt.NDArray[np.int32]:
    """Return where a machine's states lead, and what becomes of assertions if there are any."""
    return np.hstack([fsm.transitions, fsm.assertions]) if fsm.questions else fsm.transitions


def _trimmed(fsm: Fsm) -> Fsm:
    """Return the machine with all states that can no longer match merged into `DEAD`."""
    columns = distinct_columns(np.hstack([fsm.transitions, fsm.assertions[:, IF_HOLDS:]]))[0]
    labels = np.where(fsm.is_final, IS_END, OPEN).astype(np.int32)
    Moves(columns).leave_dead(labels)
    is_live = labels != IS_DEAD
    return _renamed(fsm, np.where(is_live, np.arange(fsm.n_states), DEAD), is_kept=is_live)


def _renamed(
    fsm: Fsm, new: npt.NDArray[np.int64], is_kept: npt.NDArray[np.bool_] | None = None
) -> Fsm:
    """Return the machine with every state renumbered to `new`; those not kept lose their moves."""
    kept = np.ones((fsm.n_states, 1), dtype=np.bool_) if is_kept is None else is_kept[:, None]
    return replace(
        fsm,
        transitions=np.where(kept, new[fsm.transitions], DEAD).astype(np.int32),
        assertions=np.where(kept, new[fsm.assertions], DEAD).astype(np.int32),
        starts=new[fsm.starts].astype(np.int32),
    )


def _equivalence_classes(fsm: Fsm) -> npt.NDArray[np.int64]:
    """Return each state's equivalence class: its states are final on the same continuations."""
    labels = fsm.is_final + 2 * fsm.assertions.any(axis=1).astype(np.int64)
    return refined(_columns(fsm), labels)


def minimised(fsm: Fsm) -> Fsm:
    """Return the smallest machine with the same final states on every text."""
    fsm = _answered(fsm)
    class_of = _equivalence_classes(fsm)
    while (
        fsm.assertions.any(axis=1)
        & (class_of[fsm.assertions[:, IF_HOLDS]] == class_of[fsm.assertions[:, IF_FAILS]])
    ).any():
        fsm = _answered(_renamed(fsm, np.unique(class_of, return_index=True)[1][class_of]))
        class_of = _equivalence_classes(fsm)
    fsm = _with_fewest_contexts(fsm, class_of)
    order = _first_seen(class_of, fsm)
    renumber = np.zeros(int(class_of.max()) + 1, dtype=np.int32)
    renumber[class_of[order]] = np.arange(len(order))
    new = renumber[class_of]
    transitions, classes = distinct_columns(new[fsm.transitions[order]])
    return Fsm(
        transitions,
        classes[fsm.byte_classes],
        fsm.is_final[order],
        new[fsm.assertions[order]],
        new[fsm.starts],
        fsm.contexts,
    )


def _answered(fsm: Fsm) -> Fsm:
    """Return the machine without assertions whose outcome is known or does not matter."""
    if not fsm.questions:
        return fsm
    fsm = _trimmed(fsm)
    new = np.arange(fsm.n_states)
    for state, (looked_for, yes, no) in fsm.questions.items():
        if fsm.is_final[looked_for] or yes == no:
            new[state] = yes
        elif looked_for == DEAD:
            new[state] = no
    is_kept = new == np.arange(fsm.n_states)
    if is_kept.all():
        return fsm
    while (new[new] != new).any():  # an assertion may lead to an assertion
        new = new[new]
    return _answered(_renamed(fsm, new, is_kept=is_kept))


def _with_fewest_contexts(fsm: Fsm, class_of: npt.NDArray[np.int64]) -> Fsm:
    """Return the machine with contexts merged that never lead to different start states."""
    columns = distinct_columns(fsm.contexts)[0]
    merged = refined(columns, class_of[fsm.starts])
    order = _reached(merged, fsm.contexts, [0])
    renumber = np.zeros(int(merged.max()) + 1, dtype=np.int32)
    renumber[merged[order]] = np.arange(len(order))
    return replace(
        fsm,
        starts=fsm.starts[order],
        contexts=renumber[merged[fsm.contexts[order]]],
    )


def _first_seen(class_of: npt.NDArray[np.int64], fsm: Fsm) -> npt.NDArray[np.int32]:
    """Return one state per reachable class, in breadth-first order, `DEAD` and the starts first."""
    return _reached(class_of, _columns(fsm), [DEAD, *fsm.starts.tolist()])


def _reached(
    class_of: npt.NDArray[np.int64], rows: npt.NDArray[np.int32], first: list[int]
) -> npt.NDArray[np.int32]:
    """Return one state per class that rows lead to, in breadth-first order."""
    n_states, n_columns = rows.shape
    table = np.full((n_states + 1, max(n_columns, len(first))), NOWHERE, dtype=np.int32)
    table[:-1, :n_columns] = rows
    table[-1, : len(first)] = first  # one more state, from which all begins
    classes = np.append(class_of, class_of.max() + 1).astype(np.int32)
    return Moves(table).numbered(classes, n_states)[0][1:]
