r"""Whether Lark's lexer takes nothing away from the texts that rules and terminals describe.

In: Lark's tables of a grammar for LALR(1). Out: why a text that is made of the terminals that the
rules ask for may be no sentence, or None if each is one. It is, if

* no conflict was resolved, so the parser follows all rules;
* the terminals that the lexer tries at one place begin with different bytes, so at most one of them
  matches;
* each prefers its longest match, and what may come after it begins with no byte with which a text
  of it could go on. So this match is what the rules mean.

Ignored text is a terminal here, which may come at each place. Two such texts in a row are one, if
they are the same terminal and it matches both together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from cfgguide.automata.determinize import fsm_of_pattern
from cfgguide.automata.dfa import DEAD, Fsm
from cfgguide.automata.preference import is_longest_first
from cfgguide.automata.witness import is_part_of
from cfgguide.grammar.lark_frontend import CompiledGrammar, TerminalSet
from cfgguide.grammar.lr.table import ERROR


def why_fewer(compiled: CompiledGrammar) -> str | None:
    r"""Return why the lexer may take a text otherwise than the rules; None if it never does.

    Examples
    --------
    >>> from cfgguide.grammar.grammar import Grammar
    >>> from cfgguide.grammar.lark_frontend import load
    >>> why_fewer(load(Grammar('start: "[" (N ("," N)*)? "]"\nN: /[0-9]+/\n%ignore / +/')))
    >>> why_fewer(load(Grammar('start: (N "," | W)*\nN: /[0-9]+/\nW: /[a-z]/')))
    >>> why_fewer(load(Grammar('start: N+\nN: /[0-9]+/')))
    'what follows N may be read as more of it'
    """
    if compiled.parse_table.conflicts:
        return f"Lark resolved a conflict before {compiled.parse_table.conflicts[0]}"
    return _Readings(compiled).why


class _Readings:
    def __init__(self, compiled: CompiledGrammar) -> None:
        self._compiled = compiled
        self._patterns = {
            terminal.name: terminal for terminal in compiled.patterns if terminal.symbol is None
        }
        self.why = self._of_single_terminals() or self._of_beginnings() or self._of_followers()

    def _of_single_terminals(self) -> str | None:
        for name, terminal in self._patterns.items():
            if terminal.flags or not is_longest_first(terminal.pattern):
                return f"{name} may prefer a match that is not the longest"
            if self._fsm(name).questions or len(self._fsm(name).starts) > 1:
                return f"{name} looks around"
        return None

    def _of_beginnings(self) -> str | None:
        for members in self._compiled.terminal_sets:
            taken: dict[int, str] = {}
            for member in members:
                if member.retyped:
                    return f"{member.terminal} and {member.retyped[0]} may begin alike"
            for name in self._texts(members):
                for byte in self._first(name):
                    if byte in taken:
                        return f"{taken[byte]} and {name} may begin alike"
                    taken[byte] = name
        return None

    def _of_followers(self) -> str | None:
        table, sets = self._compiled.parse_table, self._compiled.terminal_sets
        for state, actions in enumerate(table.action.tolist()):
            for terminal, action in enumerate(actions):
                name = table.terminals[terminal]
                if action > ERROR and name in self._patterns:
                    found = self._of_follower(name, sets[table.set_of_state[action - 1]], None)
                    if found is not None:
                        return found
            members = sets[table.set_of_state[state]]
            for member in members:
                if member.is_ignored:
                    itself = member.terminal if self._is_closed(member.terminal) else None
                    found = self._of_follower(member.terminal, members, itself)
                    if found is not None:
                        return found
        return None

    def _of_follower(self, name: str, members: TerminalSet, itself: str | None) -> str | None:
        fsm = self._fsm(name)
        goes_on = np.flatnonzero((fsm.after_bytes(fsm.is_final) != DEAD).any(axis=0)).tolist()
        after = {
            byte for each in self._texts(members) if each != itself for byte in self._first(each)
        }
        return f"what follows {name} may be read as more of it" if after & {*goes_on} else None

    def _texts(self, members: TerminalSet) -> Iterable[str]:
        return dict.fromkeys(each.terminal for each in members if each.terminal in self._patterns)

    def _fsm(self, name: str) -> Fsm:
        return self._compiled.fsms[name]

    def _first(self, name: str) -> list[int]:
        fsm = self._fsm(name)
        return np.flatnonzero(fsm.after_bytes(fsm.starts[0]) != DEAD).tolist()

    def _is_closed(self, name: str) -> bool:
        """Return whether two texts of a terminal in a row are one."""
        pattern = self._patterns[name].pattern
        twice = fsm_of_pattern(f"(?:{pattern})(?:{pattern})", name=name)
        return not re.search(r"\(\?[a-zA-Z]+\)", pattern) and is_part_of(twice, self._fsm(name))
