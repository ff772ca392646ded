"""The table of any grammar: LALR(1), with all of its conflicts kept.

In: productions, and the start symbol. Out: a :class:`~cfgguide.grammar.lr.table.ParseTable` of the
same language. The grammar is made proper first (:mod:`cfgguide.grammar.lr.proper`), so that a
parser which takes every action of a conflict comes to an end. And states that do the same on every
stack become one, such as those after ``-`` and ``--`` in ``e: "-" e | "--" e``: what comes of them
would go on side by side.

Source: Tomita 1985, "Efficient Parsing for Natural Language", chapter 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cfgguide.base.limits import Budget
from cfgguide.base.sets import members
from cfgguide.grammar.lr.lalr import END_NAME, Automaton, build
from cfgguide.grammar.lr.proper import proper
from cfgguide.grammar.lr.table import ERROR, NO_STATE, ParseTable, Production


def general_table(
    productions: Iterable[Production], start: str, unused: Iterable[str], budget: Budget
) -> ParseTable | None:
    """Return the table of a grammar; None if no text is a sentence.

    All states have the same terminal set; :meth:`ParseTable.with_terminal_sets` gives them others.

    Parameters
    ----------
    productions : iterable of Production
        Of the grammar; every symbol that is no left side is a terminal.
    start : str
        The start symbol.
    unused : iterable of str
        Terminals that have a column even if no production uses them.
    budget : Budget
        What it may cost.

    Raises
    ------
    LimitError
        If the table needs more memory than the limits allow.

    Examples
    --------
    >>> rules = [("e", ("e", "PLUS", "e")), ("e", ("N",))]
    >>> table = general_table(rules, "e", (), Budget())
    >>> table.terminals, table.alternatives.tolist()
    (('$END', 'N', 'PLUS'), [[4, 2, 1]])
    """
    rules = proper(productions, start)
    if not rules:
        return None
    automaton = build(rules, start)
    left_sides = sorted({left for left, _ in rules})
    names = {*automaton.symbols}.difference(left_sides)
    terminals = [END_NAME, *sorted((names | set(unused)) - {END_NAME})]
    n_states, n_symbols = automaton.n_states, len(terminals) + len(left_sides)
    budget.check_memory(2 * 4 * n_states * n_symbols, "the parse table")
    action = np.zeros((n_states, len(terminals)), dtype=np.int32)
    goto = np.full((n_states, len(left_sides)), NO_STATE, dtype=np.int32)
    column = {name: index for index, name in enumerate(terminals)}
    row = {name: index for index, name in enumerate(left_sides)}
    for state, transitions in enumerate(automaton.transitions):
        for symbol, target in transitions.items():
            name = automaton.symbols[symbol]
            if name in row:
                goto[state, row[name]] = target
            else:
                action[state, column[name]] = target + 1
    alternatives = _add_reductions(action, automaton, column, budget)
    productions = automaton.rules[1:]
    table = ParseTable(
        terminals=tuple(terminals),
        nonterminals=tuple(left_sides),
        productions=productions,
        action=action,
        goto=goto,
        lengths=np.array([len(right) for _, right in productions], dtype=np.int32),
        left_sides=np.array([row[left] for left, _ in productions], dtype=np.int32),
        set_of_state=np.zeros(n_states, dtype=np.int32),
        end_state=automaton.end_state,
        conflicts=(),
        alternatives=np.array(alternatives, dtype=np.int32).reshape(-1, 3),
    )
    return _joined(table) if table.is_general else table


def _joined(table: ParseTable) -> ParseTable:
    """Return a table in which only one of the states is entered that do the same on every stack."""
    first = table.first_alike([0] * table.n_states)
    targets = np.maximum(table.action - 1, 0)
    return replace(
        table,
        action=np.where(table.action > ERROR, first[targets] + 1, table.action),
        goto=np.where(table.goto != NO_STATE, first[table.goto], table.goto),
    )


def _add_reductions(
    action: npt.NDArray[np.int32], automaton: Automaton, column: dict[str, int], budget: Budget
) -> list[tuple[int, int, int]]:
    """Add to a table the reductions where there is room; return the others, sorted."""
    others: list[tuple[int, int, int]] = []
    columns: dict[int, Sequence[int]] = {}  # of sets of terminals, which many reductions share
    for state, reduced in enumerate(automaton.lookaheads):
        for rule, terminals in reduced.items():
            if terminals not in columns:
                columns[terminals] = [
                    column[automaton.symbols[terminal]] for terminal in members(terminals)
                ]
            wanted = np.array(columns[terminals], dtype=np.int64)
            is_free = action[state, wanted] == ERROR
            action[state, wanted[is_free]] = -rule
            others += [(state, terminal, rule - 1) for terminal in wanted[~is_free].tolist()]
        budget.check_memory(60 * len(others), "the conflicts of the parse table")
    return sorted(others)
