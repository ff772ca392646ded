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

from cfgguide.automata.dfa import DEAD, IF_FAILS, IF_HOLDS, IS_DEAD, IS_END, OPEN, Fsm
from cfgguide.automata.partition import Moves, distinct_columns, refined


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
    columns = np.hstack([distinct_columns(fsm.transitions)[0], fsm.assertions])
    labels = fsm.is_final + 2 * fsm.assertions.any(axis=1).astype(np.int64)
    labels[DEAD] = -1  # apart, so that `DEAD` stays a state of its own
    return refined(columns, labels)


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
    for number, state in enumerate(order):
        renumber[class_of[state]] = number
    new = renumber[class_of]
    return Fsm(
        new[fsm.transitions[order]],
        fsm.is_final[order],
        new[fsm.assertions[order]],
        new[fsm.starts],
        fsm.contexts,
    )


def _answered(fsm: Fsm) -> Fsm:
    """Return the machine without assertions whose outcome is known or does not matter."""
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
    for number, context in enumerate(order):
        renumber[merged[context]] = number
    return replace(
        fsm,
        starts=fsm.starts[order],
        contexts=renumber[merged[fsm.contexts[order]]],
    )


def _first_seen(class_of: npt.NDArray[np.int64], fsm: Fsm) -> list[int]:
    """Return one state per reachable class, in breadth-first order, `DEAD` and the starts first."""
    return _reached(
        class_of, np.hstack([fsm.transitions, fsm.assertions]), [DEAD, *fsm.starts.tolist()]
    )


def _reached(
    class_of: npt.NDArray[np.int64], rows: npt.NDArray[np.int32], first: list[int]
) -> list[int]:
    """Return one state per class that rows lead to, in breadth-first order."""
    order: list[int] = []
    seen: set[int] = set()

    def see(state: int) -> None:
        if int(class_of[state]) not in seen:
            seen.add(int(class_of[state]))
            order.append(state)

    for state in first:
        see(state)
    for state in order:  # grows while it is walked
        for target in dict.fromkeys(rows[state].tolist()):
            see(target)
    return order
