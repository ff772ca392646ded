"""What a grammar defines, and which of it no sentence can use.

In: names and productions, as :mod:`cfgguide.grammar.lark_frontend` reads them from Lark's objects.
Out: a :class:`Definitions`, which finds rules that the start rule does not reach, terminals that no
rule uses, and rules that derive no finite text. All of these are legal, and mostly mistakes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cfgguide.base.sets import reached_from


@dataclass(frozen=True)
class Definitions:
    """The rules and terminals of a grammar, used or not.

    Attributes
    ----------
    start : str
        The start rule.
    rules : tuple of str
        The rules as the grammar's author named them, in order; templates too.
    terminals : tuple of str
        The terminals that were named, in order.
    ignored : tuple of str
        The terminals that ``%ignore`` drops.
    declared : tuple of str
        Terminals without a pattern (``%declare``).
    parts : tuple of (str, str)
        A terminal, and one whose pattern it is part of.
    productions : tuple of (str, tuple of str)
        Lark's rules: left-hand side and right-hand side.
    templates : tuple of (str, str)
        The name of a rule that Lark made, and the template that it made it from.
    """

    start: str
    rules: tuple[str, ...]
    terminals: tuple[str, ...]
    ignored: tuple[str, ...]
    declared: tuple[str, ...]
    parts: tuple[tuple[str, str], ...]
    productions: tuple[tuple[str, tuple[str, ...]], ...]
    templates: tuple[tuple[str, str], ...]

    def unreachable_rules(self) -> tuple[str, ...]:
        """Return the named rules that the start rule does not reach."""
        reached = self._reached()
        reached |= {template for name, template in self.templates if name in reached}
        return tuple(rule for rule in self.rules if rule not in reached)

    def unused_terminals(self) -> tuple[str, ...]:
        """Return the named terminals that no reachable rule uses, directly or as a part."""
        wholes: dict[str, list[str]] = {}
        for part, whole in self.parts:
            wholes.setdefault(whole, []).append(part)
        roots = self._reached() | set(self.ignored)
        used = reached_from(roots, lambda each: wholes.get(each, ()))
        return tuple(terminal for terminal in self.terminals if terminal not in used)

    def endless_rules(self, dead_terminals: Iterable[str] = ()) -> tuple[str, ...]:
        """Return the reachable rules that derive no finite text.

        Parameters
        ----------
        dead_terminals : iterable of str
            Terminals that never match.
        """
        nonterminals = {left for left, _ in self.productions}
        waiting = nonterminals | set(dead_terminals)
        is_changed = True
        while is_changed:
            finite = {left for left, right in self.productions if waiting.isdisjoint(right)}
            is_changed = not finite.isdisjoint(waiting)
            waiting -= finite
        reached = self._reached()
        return tuple(rule for rule in self.rules if rule in waiting and rule in reached)

    def _reached(self) -> set[str]:
        """Return all symbols that the start rule reaches, itself included."""
        symbols: dict[str, set[str]] = {}
        for left, right in self.productions:
            symbols.setdefault(left, set()).update(right)
        return set(reached_from([self.start], lambda each: symbols.get(each, ())))
