"""Which terminals may come at the same place.

In: the rules of a grammar as :mod:`cfgguide.grammar.rules.nonempty`. Out: for each
terminal of some, those of the others that may stand where it stands (:func:`together`). Lark tries
one after the other there, and llguidance reads all of them at once; so lazy ones have to end where
the first does.

Source: first and follow sets, as in the textbook (Aho, Sethi and Ullman 1986, section 4.4).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeVar

from cfgguide.grammar.rules.nonempty import may_miss
from cfgguide.grammar.rules.tree import Choice, Expression, Name, Reference, Repeated, Row

Leaf = TypeVar("Leaf", bound=Name | Reference)


def together(
    rules: Mapping[str, Expression], start: str, wanted: Collection[Leaf]
) -> dict[Leaf, frozenset[Leaf]]:
    """Return for each wanted leaf the wanted leaves that may stand in its place, itself too.

    Examples
    --------
    >>> a, b, c = (Name(0, name) for name in "ABC")
    >>> rules = {"start": Row(0, (Repeated(0, Choice(0, (a, b)), 0, None), c))}
    >>> found = together(rules, "start", [a, b, c])
    >>> sorted(leaf.name for leaf in found[c])
    ['A', 'B', 'C']
    """
    places = _Places(rules, frozenset[Expression](wanted))
    groups = {places.first[start], *places.groups}
    found: dict[Leaf, frozenset[Leaf]] = {}
    for leaf in wanted:
        beside = set[Expression]().union(*(group for group in groups if leaf in group))
        found[leaf] = frozenset(each for each in wanted if each == leaf or each in beside)
    return found


class _Places:
    """The sets of leaves that may come next, at all places of a grammar."""

    def __init__(self, rules: Mapping[str, Expression], wanted: frozenset[Expression]) -> None:
        self._wanted = wanted
        self.first: dict[str, frozenset[Expression]] = dict.fromkeys(rules, frozenset())
        self._follow: dict[str, frozenset[Expression]] = dict.fromkeys(rules, frozenset())
        self.groups: set[frozenset[Expression]] = set()
        self._is_changed = True
        while self._is_changed:
            self._is_changed = False
            for name, part in rules.items():
                self._add(self.first, name, self._first(part))
        self._is_changed = True
        while self._is_changed:
            self._is_changed = False
            self.groups.clear()
            for name, part in rules.items():
                self._walk(part, self._follow[name])

    def _add(
        self, sets: dict[str, frozenset[Expression]], name: str, more: frozenset[Expression]
    ) -> None:
        if not more <= sets[name]:
            sets[name] |= more
            self._is_changed = True

    def _first(self, part: Expression) -> frozenset[Expression]:
        match part:
            case Name() if part.name in self.first:
                return self.first[part.name]
            case Choice():
                return frozenset[Expression]().union(*map(self._first, part.parts))
            case Repeated():
                return self._first(part.part)
            case Row():
                found = frozenset[Expression]()
                for each in part.parts:
                    found |= self._first(each)
                    if not may_miss(each):
                        break
                return found
            case _:
                return frozenset([part]) & self._wanted

    def _walk(self, part: Expression, following: frozenset[Expression]) -> None:
        """Note what may follow each leaf of a part."""
        match part:
            case Name() if part.name in self.first:
                self._add(self._follow, part.name, following)
            case Choice():
                for each in part.parts:
                    self._walk(each, following)
            case Repeated():
                again = following if part.most == 1 else following | self._first(part.part)
                self._walk(part.part, again)
            case Row():
                for each in reversed(part.parts):
                    self._walk(each, following)
                    mine = self._first(each)
                    following = mine | following if may_miss(each) else mine
            case _:
                self.groups.add(following)
