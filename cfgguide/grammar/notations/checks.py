"""What can be said of the rules of a grammar before it is converted.

In: rules by name. Out: those that the start rule needs (:func:`needed`), which of them may be empty
or anything else (:func:`facts_of`), and an order in which a rule comes after those that it uses,
with the rules that use themselves (:func:`ordered`). Mistakes are errors with a place.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush

from cfgguide.grammar.llguidance.source import Source
from cfgguide.grammar.notations.syntax import (
    Characters,
    Choice,
    Expression,
    Minus,
    Name,
    Repeated,
    Row,
    Rule,
    Special,
    Text,
    folded,
    names_in,
)


@dataclass(frozen=True)
class Facts:
    """What the texts of an expression are: whether one is empty, and whether one is not."""

    is_optional: bool
    is_something: bool


NOTHING = Facts(is_optional=False, is_something=False)


def needed(source: Source, rules: Mapping[str, Rule], root: str) -> dict[str, Rule]:
    """Return the rules that the start rule needs, in the order in which they are met.

    Raises
    ------
    GrammarError
        If the start rule, or any rule that is used, is not defined.
    """
    if root not in rules:
        raise source.error(0, f"there is no rule called {root}, with which a grammar starts")
    for rule in rules.values():
        for used in names_in(rule.body):
            if used.name not in rules:
                raise source.error(used.at, _unknown(used.name, rules))
    found = {root: rules[root]}
    pending = [root]
    for name in pending:  # grows while it is walked
        for used in names_in(rules[name].body):
            if used.name not in found:
                found[used.name] = rules[used.name]
                pending.append(used.name)
    return found


def _unknown(name: str, rules: Mapping[str, Rule]) -> str:
    near = difflib.get_close_matches(name, rules, 1)
    return f"there is no rule called {name}" + (f"; did you mean {near[0]}?" if near else "")


def facts_of(source: Source, rules: Mapping[str, Rule]) -> dict[str, Facts]:
    """Return for each rule what its texts are.

    Raises
    ------
    GrammarError
        If a rule has no text at all.
    """
    facts = dict.fromkeys(rules, NOTHING)
    places = {name: place for place, (name, _) in enumerate(ordered(rules))}
    users: dict[str, list[str]] = {name: [] for name in rules}
    for name, rule in rules.items():
        for used in dict.fromkeys(each.name for each in names_in(rule.body)):
            users[used].append(name)
    # Rules come after those that they use: what is subtracted is final when it is looked at.
    pending, is_pending = sorted((place, name) for name, place in places.items()), set(rules)
    while pending:
        _, name = heappop(pending)
        is_pending.discard(name)
        found = facts_in(rules[name].body, facts.__getitem__)
        if found == facts[name]:
            continue
        facts[name] = found
        for user in users[name]:
            if user not in is_pending:
                is_pending.add(user)
                heappush(pending, (places[user], user))
    for name in places:  # the first to blame is one that no other is to blame for
        if facts[name] == NOTHING:
            raise source.error(
                rules[name].at,
                f"no text matches {name}: each of its alternatives needs {name} again, or a rule "
                "that no text matches",
            )
    return facts


def facts_in(expression: Expression, facts_of_rule: Callable[[str], Facts]) -> Facts:
    """Return what the texts of an expression are, given those of the rules."""

    def found(node: Expression, of_parts: list[Facts]) -> Facts:
        match node:
            case Characters() | Special():
                return Facts(is_optional=False, is_something=True)
            case Text():
                return Facts(is_optional=not node.text, is_something=bool(node.text))
            case Name():
                return facts_of_rule(node.name)
            case Row():
                return _of_row(of_parts)
            case Choice():
                return Facts(
                    any(each.is_optional for each in of_parts),
                    any(each.is_something for each in of_parts),
                )
            case Repeated():
                return _of_repeated(node, of_parts[0])
            case Minus():  # that something is left is checked when it is an automaton
                part, other = of_parts
                return Facts(part.is_optional and not other.is_optional, part.is_something)

    return folded(expression, found)


def _of_row(parts: list[Facts]) -> Facts:
    if NOTHING in parts:
        return NOTHING
    return Facts(all(each.is_optional for each in parts), any(each.is_something for each in parts))


def _of_repeated(node: Repeated, part: Facts) -> Facts:
    if node.most == 0:
        return Facts(is_optional=True, is_something=False)
    return Facts(node.least == 0 or part.is_optional, part.is_something)


def ordered(rules: Mapping[str, Rule]) -> list[tuple[str, bool]]:
    """Return rules after those that they use, each with whether it can come back to itself.

    Source: Tarjan 1972, "Depth-first search and linear graph algorithms", with a list for the
    stack.
    """
    uses = {
        name: list(dict.fromkeys(each.name for each in names_in(rule.body)))
        for name, rule in rules.items()
    }
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    component: list[str] = []
    is_open: set[str] = set()
    found: list[tuple[str, bool]] = []
    for first in rules:
        walk = [(first, 0)] if first not in numbers else []
        while walk:
            name, place = walk.pop()
            if place == 0:
                numbers[name] = lowest[name] = len(numbers)
                component.append(name)
                is_open.add(name)
            if place < len(uses[name]):
                walk.append((name, place + 1))
                used = uses[name][place]
                if used not in numbers:
                    walk.append((used, 0))
                elif used in is_open:
                    lowest[name] = min(lowest[name], numbers[used])
                continue
            if walk:
                lowest[walk[-1][0]] = min(lowest[walk[-1][0]], lowest[name])
            if lowest[name] == numbers[name]:
                members = [component.pop()]
                while members[-1] != name:
                    members.append(component.pop())
                members.reverse()
                is_open -= set(members)
                is_cyclic = len(members) > 1 or name in uses[name]
                found += [(member, is_cyclic) for member in members]
    return found
