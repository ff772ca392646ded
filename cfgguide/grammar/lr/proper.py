"""Proper grammars: no empty rules, no rule that derives its own left side alone, nothing useless.

In: productions and a start symbol. Out: productions of the same language that are proper. In a
proper grammar the reductions between two terminals come to an end, whatever the conflicts. Which
trees a text has is lost; whether it has one is not. ::

    a: a | "x"                        a: "x"
    list: (item ",")* item            as it is
    pair: item? item?, item: "x"      pair: | pair'        pair': item item | item

The empty text is left to the start symbol alone, which then is part of no rule. Nonterminals with
the same right sides become one: their parses would go on side by side.

Source: Hopcroft, Motwani, Ullman, "Introduction to Automata Theory", section 7.1. A production with
many symbols that may be empty is split first, as for Chomsky's normal form, or there would be two
to the power of their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from cfgguide.base.sets import reached_from
from cfgguide.grammar.lr.table import Production
from cfgguide.grammar.rules.facts import components

_MAX_ROUNDS = 100  # of comparing right sides
_MAX_NULLABLE = 3  # symbols of one production, before it is split

Right = tuple[str, ...]
Rules = dict[str, set[Right]]  # the right sides of each nonterminal


def proper(productions: Iterable[Production], start: str) -> list[Production]:
    """Return the productions of a proper grammar of the same language, sorted.

    There are none if no text is a sentence.

    Examples
    --------
    >>> proper([("a", ("a",)), ("a", ("X",)), ("b", ("Y",))], "a")
    [('a', ('X',))]
    >>> proper([("s", ("s", "X")), ("s", ())], "s")
    [('s', ()), ('s', ("s'",)), ("s'", ('X',)), ("s'", ("s'", 'X'))]
    """
    rules: Rules = {}
    for left, right in productions:
        rules.setdefault(left, set()).add(right)
    rules = _useful(rules, start)
    nullable = _derived(rules, terminals=False)
    rules = _without_empty(_split(rules, nullable), nullable)
    rules = _merged(_without_cycles(rules, start), start)
    if start in nullable:
        rules = _with_empty_start(rules, start)
    rules = _useful(rules, start)
    return sorted((left, right) for left, rights in rules.items() for right in rights)


def _derived(rules: Rules, *, terminals: bool) -> set[str]:
    """Return the nonterminals that derive a string of terminals, or only the empty one."""
    using: dict[str, list[tuple[str, Right]]] = {}
    n_open: dict[tuple[str, Right], int] = {}
    found: set[str] = set()
    pending: list[str] = []
    for left, rights in rules.items():
        for right in rights:
            needed = {symbol for symbol in right if symbol in rules or not terminals}
            n_open[left, right] = len(needed)
            for symbol in needed:
                using.setdefault(symbol, []).append((left, right))
            if not needed and left not in found:
                found.add(left)
                pending.append(left)
    while pending:
        for rule in using.get(pending.pop(), ()):
            n_open[rule] -= 1
            if not n_open[rule] and rule[0] not in found:
                found.add(rule[0])
                pending.append(rule[0])
    return found


def _useful(rules: Rules, start: str) -> Rules:
    """Return the rules of symbols that derive a text and occur in a sentence."""
    derived = _derived(rules, terminals=True)
    kept = {
        left: {
            right
            for right in rights
            if all(symbol in derived or symbol not in rules for symbol in right)
        }
        for left, rights in rules.items()
        if left in derived
    }

    def used_by(left: str) -> list[str]:
        return sorted({symbol for right in kept[left] for symbol in right if symbol in kept})

    return {left: kept[left] for left in reached_from({start} & kept.keys(), used_by)}


def _split(rules: Rules, nullable: set[str]) -> Rules:
    """Return rules none of which has many symbols that may be empty.

    The rest of a production becomes a nonterminal, called after its symbols; it may be empty if
    all of these may.
    """
    found: Rules = {}

    for left, rights in rules.items():
        for right in sorted(rights):
            n_nullable = sum(symbol in nullable for symbol in right)
            name = left
            while n_nullable > _MAX_NULLABLE:
                n_nullable -= right[0] in nullable
                rest = f"({' '.join(right[1:])})"
                found.setdefault(name, set()).add((right[0], rest))
                if rest in found:
                    break
                if nullable.issuperset(right[1:]):
                    nullable.add(rest)
                name, right = rest, right[1:]
            else:
                found.setdefault(name, set()).add(right)
    return found


def _without_empty(rules: Rules, nullable: set[str]) -> Rules:
    """Return rules that derive the same texts but the empty one."""
    found: Rules = {}
    for left, rights in rules.items():
        shorter = {short for right in rights for short in _shorter(right, nullable) if short}
        if shorter:
            found[left] = shorter
    return {
        left: {
            right
            for right in rights
            if all(symbol in found or symbol not in rules for symbol in right)
        }
        for left, rights in found.items()
    }


def _shorter(right: Right, nullable: set[str]) -> Iterator[Right]:
    """Yield a right side without some of the symbols that may be empty, in all ways."""
    choices = [((symbol,), ()) if symbol in nullable else ((symbol,),) for symbol in right]
    for chosen in product(*choices):
        yield tuple(symbol for part in chosen for symbol in part)


def _without_cycles(rules: Rules, start: str) -> Rules:
    """Return rules in which nonterminals that derive each other alone are one."""
    alone = {
        left: sorted(right[0] for right in rights if len(right) == 1 and right[0] in rules)
        for left, rights in rules.items()
    }
    name: dict[str, str] = {}
    for members in components(alone):
        representative = start if start in members else min(members)
        name.update(dict.fromkeys(members, representative))
    return _renamed(rules, name)


def _merged(rules: Rules, start: str) -> Rules:
    """Return rules in which nonterminals are one that have the same right sides.

    Those are compared with the names of what is one already, until nothing is left to tell apart.
    """
    name = dict.fromkeys(rules, "")
    n_names = 0
    for _ in range(_MAX_ROUNDS):
        groups: dict[frozenset[Right], list[str]] = {}
        for left, rights in rules.items():
            right_sides = frozenset(
                tuple([name.get(symbol, symbol) for symbol in right]) for right in rights
            )
            groups.setdefault(right_sides, []).append(left)
        name = {left: members[0] for members in groups.values() for left in members}
        name |= {left: start for left, first in name.items() if first == name.get(start)}
        if len(groups) == n_names:
            return _renamed(rules, name)
        n_names = len(groups)
    return rules  # long chains of rules: one that is told apart late costs as much each time


def _renamed(rules: Rules, name: dict[str, str]) -> Rules:
    """Return rules with other names for nonterminals, without those that lead to themselves."""
    found: Rules = {}
    for left, rights in rules.items():
        mine = found.setdefault(name[left], set())
        for right in rights:
            renamed = tuple([name.get(symbol, symbol) for symbol in right])
            if renamed != (name[left],):
                mine.add(renamed)
    return found


def _with_empty_start(rules: Rules, start: str) -> Rules:
    """Return rules whose start symbol derives the empty text too, and is part of no rule."""
    if start not in rules:
        return {start: {()}}
    if not any(start in right for rights in rules.values() for right in rights):
        return {**rules, start: rules[start] | {()}}
    inner = start + "'"
    renamed = _renamed(rules, {left: inner if left == start else left for left in rules})
    return {**renamed, start: {(), (inner,)}}
