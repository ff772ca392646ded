"""The LR automaton of a grammar that may have conflicts, where Lark gives no table.

In: the rules of Lark's grammar. Out: an :class:`Automaton`: the LR(0) states with their items, and
which rules could be reduced before which terminal. Lark's own analysis computes all of it; this
module copies it into plain data, in an order that does not change with ``PYTHONHASHSEED``.

Lark's own message about the conflicts is kept too. Lark iterates over sets when it writes the
message, so these are put in order first, and it always names the same conflict.

Source: Lark's ``LALR_Analyzer`` (DeRemer, Pennello 1982, "Efficient computation of LALR(1)
look-ahead sets").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import lark
from lark.common import ParserConf
from lark.parsers.lalr_analysis import LALR_Analyzer

from cfgguide.parser.items import Item
from cfgguide.parser.table import Production


@dataclass(frozen=True)
class Automaton:
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


class _Analyzer(LALR_Analyzer):
    """Lark's analysis, with its sets put in order before it looks for conflicts."""

    def analyse(self) -> str:
        """Return what Lark says about conflicts; empty if there are none."""
        own: Any = self  # Lark's methods have no types
        own.compute_lr0_states()
        own.compute_reads_relations()
        own.compute_includes_lookback()
        own.compute_lookaheads()
        self.ordered = self._in_order()
        own.lr0_itemsets = self.ordered
        for state in self.ordered:
            found = sorted(state.lookaheads.items(), key=lambda pair: str(pair[0].name))
            state.lookaheads = {symbol: sorted(rules, key=_key) for symbol, rules in found}
        try:
            self.compute_lalr1_states()
        except lark.exceptions.GrammarError as error:
            return str(error).strip()
        return ""

    def _in_order(self) -> list[Any]:
        (start,) = self.lr0_start_states.values()
        order, seen = [start], {id(start)}
        for state in order:  # grows while it is walked
            for symbol in sorted(state.transitions, key=lambda symbol: str(symbol.name)):
                target = state.transitions[symbol]
                if id(target) not in seen:
                    seen.add(id(target))
                    order.append(target)
        return order


def build(rules: Sequence[Any], start: str, *, strict: bool) -> tuple[Automaton, str]:
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
    analyzer = _Analyzer(ParserConf(list(rules), {}, [start]), strict=strict)
    said = analyzer.analyse()
    states = analyzer.ordered
    (root,) = states[0].kernel
    ordered = [_key(root.rule), *sorted({_key(rule) for rule in rules})]
    rule_numbers = {rule: number for number, rule in enumerate(ordered)}
    state_numbers = {id(state): number for number, state in enumerate(states)}
    automaton = Automaton(
        rules=tuple(ordered),
        items=tuple(
            tuple(sorted(Item(rule_numbers[_key(item.rule)], item.index) for item in state.closure))
            for state in states
        ),
        transitions=tuple(
            {
                str(symbol.name): state_numbers[id(state.transitions[symbol])]
                for symbol in sorted(state.transitions, key=lambda symbol: str(symbol.name))
            }
            for state in states
        ),
        reductions=tuple(
            {
                str(symbol.name): tuple(rule_numbers[_key(rule)] for rule in _by_priority(found))
                for symbol, found in state.lookaheads.items()
            }
            for state in states
        ),
    )
    return automaton, said


def _key(rule: Any) -> Production:
    return str(rule.origin.name), tuple(str(symbol.name) for symbol in rule.expansion)


def _by_priority(rules: Sequence[Any]) -> Sequence[Any]:
    """Return the rule that wins by its priority, or all of them if none does."""
    best = max(rule.options.priority or 0 for rule in rules)
    winners = [rule for rule in rules if (rule.options.priority or 0) == best]
    return winners if len(winners) == 1 else rules
