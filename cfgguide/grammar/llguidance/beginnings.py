"""Whether two embedded grammars that may come at one place can be told apart.

In: their rules, and which of them may stand in one place. Out: two that Lark would confuse
(:func:`confused`): a terminal with which the first may begin, and one of the second, match the same
text. Lark reads it as one of them and never comes back, so the other grammar would be lost.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping

from cfgguide.automata.determinize import fsm_of_pattern
from cfgguide.automata.dfa import Fsm
from cfgguide.automata.witness import shared_text
from cfgguide.base.limits import Budget
from cfgguide.grammar.fragments import Rules, TerminalText
from cfgguide.grammar.rules.tree import Reference


def confused(
    embedded: Mapping[Reference, Rules],
    together: Mapping[Reference, frozenset[Reference]],
    budget: Budget,
) -> tuple[Reference, Reference] | None:
    """Return two grammars that may come at one place and begin alike; None if there are none.

    Parameters
    ----------
    embedded : mapping of Reference to Rules
        The grammars.
    together : mapping of Reference to frozenset of Reference
        Which of them may stand in one place.
    budget : Budget
        What automata may cost.

    Raises
    ------
    LimitError
        If a terminal is too large.
    """
    fsms: dict[Reference, list[Fsm]] = {}

    def beginnings(leaf: Reference) -> list[Fsm]:
        if leaf not in fsms:
            firsts = first_terminals(embedded[leaf])
            fsms[leaf] = [_fsm(terminal, budget) for terminal in firsts]
        return fsms[leaf]

    for one, other in itertools.combinations(embedded, 2):
        if other not in together.get(one, ()):
            continue
        for first, second in itertools.product(beginnings(one), beginnings(other)):
            if shared_text(first, second) is not None:
                return one, other
    return None


def first_terminals(rules: Rules) -> list[TerminalText]:
    r"""Return the terminals with which a sentence may begin.

    Examples
    --------
    >>> from cfgguide.grammar.fragments import rules_of
    >>> from cfgguide.grammar.grammar import Grammar
    >>> rules = rules_of(Grammar('start: "a"? b "c"\nb: "d" | "e" start'))
    >>> [terminal.value for terminal in first_terminals(rules)]
    ['a', 'd', 'e']
    """
    found, seen = set[str](), {rules.start}
    pending = [rules.start]
    while pending:
        for name, is_terminal in _firsts(rules, pending.pop()):
            if is_terminal:
                found.add(name)
            elif name not in seen:
                seen.add(name)
                pending.append(name)
    return [terminal for terminal in rules.terminals if terminal.name in found]


def _firsts(rules: Rules, left: str) -> Iterator[tuple[str, bool]]:
    """Yield the symbols with which a rule may begin."""
    optional = rules.optional
    for production in rules.productions:
        if production.left != left:
            continue
        for symbol in production.right:
            yield symbol.name, symbol.is_terminal
            if symbol.is_terminal or symbol.name not in optional:
                break


def _fsm(terminal: TerminalText, budget: Budget) -> Fsm:
    pattern = re.escape(terminal.value) if terminal.is_string else terminal.value
    flagged = f"(?{terminal.flags}:{pattern})" if terminal.flags else pattern
    return fsm_of_pattern(flagged, name=terminal.name, budget=budget)
