"""Which terminals may come at the same place.

In: the rules of a grammar as :mod:`cfgguide.grammar.llguidance.nonempty_parts`. Out: for each
terminal of some, those of the others that may stand where it stands (:func:`together`). Lark tries
one after the other there, and llguidance reads all of them at once; so lazy ones have to end where
the first does.

Source: first and follow sets, as in the textbook (Aho, Sethi and Ullman 1986, section 4.4).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from cfgguide.grammar.llguidance.nonempty_parts import (
    Alternatives,
    Leaf,
    Part,
    Sequence,
    Times,
    may_miss,
)


def together(
    rules: Mapping[str, Part], start: str, wanted: Collection[Leaf]
) -> dict[Leaf, frozenset[Leaf]]:
    """Return for each wanted leaf the wanted leaves that may stand in its place, itself too.

    Examples
    --------
    >>> a, b, c = (Leaf("lexeme", name) for name in "ABC")
    >>> rules = {"start": Sequence((Times(Alternatives((a, b)), 0, None), c))}
    >>> found = together(rules, "start", [a, b, c])
    >>> sorted(leaf.key for leaf in found[c])
    ['A', 'B', 'C']
    """
    places = _Places(rules, frozenset(wanted))
    groups = {places.first[start], *places.groups}
    return {
        leaf: frozenset[Leaf]().union(*(group for group in groups if leaf in group), [leaf])
        for leaf in wanted
    }


class _Places:
    """The sets of leaves that may come next, at all places of a grammar."""

    def __init__(self, rules: Mapping[str, Part], wanted: frozenset[Leaf]) -> None:
        self._wanted = wanted
        self.first: dict[str, frozenset[Leaf]] = dict.fromkeys(rules, frozenset())
        self._follow: dict[str, frozenset[Leaf]] = dict.fromkeys(rules, frozenset())
        self.groups: set[frozenset[Leaf]] = set()
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

    def _add(self, sets: dict[str, frozenset[Leaf]], name: str, more: frozenset[Leaf]) -> None:
        if not more <= sets[name]:
            sets[name] |= more
            self._is_changed = True

    def _first(self, part: Part) -> frozenset[Leaf]:
        match part:
            case Leaf():
                if part.kind == "rule":
                    return self.first[str(part.key)]
                return frozenset([part]) & self._wanted
            case Alternatives():
                return frozenset[Leaf]().union(*map(self._first, part.parts))
            case Times():
                return self._first(part.part)
            case Sequence():
                found = frozenset[Leaf]()
                for each in part.parts:
                    found |= self._first(each)
                    if not may_miss(each):
                        break
                return found

    def _walk(self, part: Part, following: frozenset[Leaf]) -> None:
        """Note what may follow each leaf of a part."""
        match part:
            case Leaf():
                if part.kind == "rule":
                    self._add(self._follow, str(part.key), following)
                else:
                    self.groups.add(following)
            case Alternatives():
                for each in part.parts:
                    self._walk(each, following)
            case Times():
                again = following if part.most == 1 else following | self._first(part.part)
                self._walk(part.part, again)
            case Sequence():
                for each in reversed(part.parts):
                    self._walk(each, following)
                    mine = self._first(each)
                    following = mine | following if may_miss(each) else mine
