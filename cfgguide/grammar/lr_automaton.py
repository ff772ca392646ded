"""The LR automaton of a grammar that may have conflicts, where Lark gives no table.

In: the rules of Lark's grammar. Out: an :class:`ConflictAutomaton`: the LR(0) states with their
items, and which rules could be reduced before which terminal, by name. Lark's message about the
conflicts comes with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import lark

from cfgguide.base.sets import members
from cfgguide.grammar import lark_parts
from cfgguide.grammar.lr import lalr
from cfgguide.grammar.lr.items import Item, productions_of
from cfgguide.grammar.lr.table import Production


@dataclass(frozen=True)
class ConflictAutomaton:
    """The LR(0) automaton of a grammar with its LALR(1) lookaheads.

    Rule 0 is ``$root_start : start``, the others are sorted. State 0 is the start; the others are
    numbered breadth-first over sorted symbols.

    Attributes
    ----------
    rules : tuple of Production
        All rules.
    items : tuple of tuple of Item
        Per state its items, sorted.
    transitions : tuple of dict of str to int
        Per state the state after each symbol.
    reductions : tuple of dict of str to tuple of int
        Per state and terminal the rules that may be reduced; more than one is a conflict. Where
        Lark decides by the rules' priorities, only the rule that wins.
    """

    rules: tuple[Production, ...]
    items: tuple[tuple[Item, ...], ...]
    transitions: tuple[dict[str, int], ...]
    reductions: tuple[dict[str, tuple[int, ...]], ...]

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.items)


def build(rules: Sequence[Any], start: str, *, strict: bool) -> tuple[ConflictAutomaton, str]:
    """Return the automaton of Lark's rules, and what Lark says about conflicts.

    Parameters
    ----------
    rules : sequence of lark.grammar.Rule
        The rules, in Lark's normal form.
    start : str
        The start rule.
    strict : bool
        Whether shift/reduce conflicts are errors too.
    """
    found = lark_parts.automaton_of(rules, start)
    said = ""
    try:
        lark_parts.resolved(found, rules, strict=strict)
    except lark.exceptions.GrammarError as error:
        said = str(error).strip()
    automaton = ConflictAutomaton(
        rules=found.rules,
        items=tuple(_items(found)),
        transitions=tuple(
            {found.symbols[symbol]: target for symbol, target in row.items()}
            for row in found.transitions
        ),
        reductions=tuple(_reductions(found, rules)),
    )
    return automaton, said


def _items(found: lalr.Automaton) -> Iterator[tuple[Item, ...]]:
    """Yield the items of each state, sorted: those it was entered with, and those they open."""
    rules_of = productions_of(found.rules)
    for kernel, row in zip(found.kernels, found.transitions, strict=True):
        items = {found.items[number] for number in kernel}
        for symbol in row:
            items |= {Item(rule, 0) for rule in rules_of.get(found.symbols[symbol], ())}
        yield tuple(sorted(items))


def _reductions(
    found: lalr.Automaton, rules: Sequence[Any]
) -> Iterator[dict[str, tuple[int, ...]]]:
    """Yield the rules that may be reduced in each state, by the terminal that comes next."""
    by_production = {lark_parts.production_of(rule): rule for rule in rules}
    for state, lookaheads in enumerate(found.lookaheads):
        terminals = reduce(or_, lookaheads.values(), 0)
        yield {
            found.symbols[terminal]: tuple(
                lark_parts.winning(found.reduced(state, terminal), found, by_production)
            )
            for terminal in members(terminals)
        }
