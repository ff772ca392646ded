"""The FSMs of a grammar's terminals, and which of their lexemes its user allows.

In: the terminals' patterns, and :class:`~cfgguide.grammar.restrictions.Restriction` objects. Out:
an FSM for each terminal, which matches what the terminal matches, and for those with restrictions
the states in which a lexeme is allowed. ::

    SPACE = / +/, max_ignored=2    FSM of 1, 2, 3 or more spaces, allowed where it has read 1 or 2

A restriction that counts the white space before a lexeme gives its FSM contexts. They make every
walk slower, so they are left out if no allowed lexeme can stand behind white space.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cfgguide.automata import restricted
from cfgguide.automata.dfa import DEAD, IF_FAILS, IF_HOLDS, N_BYTES, Fsm
from cfgguide.base.limits import Budget
from cfgguide.engine.lexer.reachability import reaching

if TYPE_CHECKING:  # Lark takes long to import
    from cfgguide.grammar.lark_frontend import CompiledGrammar
    from cfgguide.grammar.restrictions import Restriction

BoolArray = npt.NDArray[np.bool_]
Fsms = dict[str, Fsm]
Allowed = dict[str, BoolArray]


def terminal_fsms(
    grammar: CompiledGrammar, names: Iterable[str], *, budget: Budget
) -> tuple[Fsms, Allowed]:
    """Return the FSMs of terminals, and where their lexemes are allowed, by name.

    Parameters
    ----------
    grammar : CompiledGrammar
        Their patterns and restrictions.
    names : iterable of str
        The terminals, each once.
    budget : Budget
        What it may cost.

    Returns
    -------
    tuple of (dict of str to Fsm, dict of str to bool array, shape (n_states,))
        The second has only terminals with restrictions; of others every lexeme is allowed.

    Raises
    ------
    PatternError
        If a pattern, or that of a restriction, cannot be turned into an FSM.
    LimitError
        If one needs too many states.
    """
    patterns = {terminal.name: terminal for terminal in grammar.patterns}
    fsms: Fsms = {name: grammar.fsms[name] for name in names}
    machines: dict[str, list[Fsm]] = {}
    for each in grammar.restrictions:
        if each.terminal in fsms:
            flags = patterns[each.terminal].flags
            machines.setdefault(each.terminal, []).extend(_machines(each, flags, budget))
    return _restricted(fsms, machines)


def _machines(restriction: Restriction, flags: int, budget: Budget) -> list[Fsm]:
    """Return the machines of which a restriction is made."""
    machines = []
    if restriction.pattern is not None:
        machines.append(
            restricted.pattern_machine(
                restriction.pattern, name=restriction.terminal, flags=flags, budget=budget
            )
        )
    if restriction.max_characters is not None:
        machines.append(restricted.counting_machine(restriction.max_characters))
    return machines


def _restricted(whole: Fsms, machines: dict[str, list[Fsm]]) -> tuple[Fsms, Allowed]:
    """Return the FSMs with the machines of their restrictions beside them."""
    fsms, is_allowed = dict(whole), Allowed()
    for name, mine in machines.items():
        plain = [restricted.without_contexts(machine) for machine in mine]
        fsms[name], is_allowed[name] = restricted.restricted(whole[name], plain)
    counted = [
        name for name in whole if any(len(machine.starts) > 1 for machine in machines.get(name, []))
    ]
    if _may_follow_blank(counted, fsms, is_allowed):
        for name in counted:
            fsms[name], is_allowed[name] = restricted.restricted(whole[name], machines[name])
    return fsms, is_allowed


def _may_follow_blank(counted: Iterable[str], fsms: Fsms, is_allowed: Allowed) -> bool:
    """Return whether an ignored lexeme that is allowed may stand directly after white space.

    Mostly a lexeme that ends with white space takes all of it, and no other kind is allowed.
    """
    first = np.zeros(N_BYTES, dtype=np.bool_)
    for name in counted:
        fsm = fsms[name]
        moves = fsm.transitions, fsm.assertions[:, [IF_HOLDS, IF_FAILS]]
        leads_there = reaching(moves, (fsm.is_final & is_allowed[name])[:, None])[:, 0]
        starts = [each for start in fsm.starts.tolist() for each in fsm.resolved(start)]
        first |= leads_there[fsm.after_bytes(starts)].any(axis=0)
    for name, fsm in fsms.items():
        after = np.unique(fsm.transitions[:, fsm.byte_classes[list(restricted.BLANKS)]]).tolist()
        resolved = np.array([each for state in after for each in fsm.resolved(state)])
        is_end = fsm.is_final & is_allowed.get(name, fsm.is_final)
        ends = resolved[is_end[resolved]]
        if (fsm.after_bytes(ends)[:, first] == DEAD).any():
            return True
    return False
