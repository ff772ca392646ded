"""What can be said of the rules of a grammar before they are converted.

In: rules by name. Out: those that the start rule needs (:func:`needed`), which of them may be empty
or anything else (:func:`facts_of`), and an order in which a rule comes after those that it uses,
with the rules that use themselves (:func:`ordered`). Each is one walk over the grammar: none looks
at a rule again because another one has changed.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cfgguide.base.sets import reached_from
from cfgguide.grammar.rules.source import Source
from cfgguide.grammar.rules.tree import (
    Choice,
    Expression,
    Minus,
    Name,
    Repeated,
    Row,
    Rule,
    Text,
    names_in,
    parts_of,
)


@dataclass(frozen=True)
class Facts:
    """What the texts of an expression are: whether one is empty, and whether one is not."""

    is_optional: bool
    is_something: bool


NOTHING = Facts(is_optional=False, is_something=False)
SOMETHING = Facts(is_optional=False, is_something=True)


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
                raise source.error(
                    used.at, not_known(f"there is no rule called {used.name}", used.name, rules)
                )
    return {name: rules[name] for name in reached(rules, root)}


def reached(rules: Mapping[str, Rule], root: str) -> list[str]:
    """Return the names of the rules that one needs, itself first; other names are left out."""

    def used_by(name: str) -> list[str]:
        return [used.name for used in names_in(rules[name].body) if used.name in rules]

    return [*reached_from([root], used_by)]


def not_known(said: str, name: str, known: Iterable[str]) -> str:
    """Return what an error says of a name that is not known, with the one that may be meant.

    >>> not_known("there is no rule called rot", "rot", ["root"])
    'there is no rule called rot; did you mean root?'
    """
    near = difflib.get_close_matches(name, [*known][:1000], 1)
    return said + (f"; did you mean {near[0]}?" if near else "")


def check_texts(source: Source, rules: Mapping[str, Rule], facts: Mapping[str, Facts]) -> None:
    """Check that each rule has a text.

    Raises
    ------
    GrammarError
        If one has none.
    """
    for name, _ in ordered(rules):  # the first to blame is one that no other is to blame for
        if facts[name] == NOTHING:
            raise source.error(
                rules[name].at,
                f"no text matches {name}: each of its alternatives needs {name} again, or a rule "
                "that no text matches",
            )


def facts_of(
    rules: Mapping[str, Rule], of_leaf: Callable[[Expression], Facts] = lambda leaf: SOMETHING
) -> dict[str, Facts]:
    """Return for each rule what its texts are.

    Parameters
    ----------
    rules : mapping of str to Rule
        Rules by name; other names in them are leaves.
    of_leaf : callable
        Returns what the texts of an expression are that is no text, row, choice or count.

    Examples
    --------
    >>> body = Row(0, (Name(0, "a"), Repeated(0, Text(0, "b"), 0, None)))
    >>> facts_of({"a": Rule(0, "a", Text(0, "")), "r": Rule(0, "r", body)})["r"]
    Facts(is_optional=True, is_something=True)
    """
    walk = _Walk(rules, of_leaf)
    return {name: walk.facts(place) for name, place in walk.roots.items()}


class _Walk:
    """Nodes of all rules by number, each right before its parts, and what is known of each.

    What is known only grows, and reaches the node above at once, which counts the parts that it
    waits for; so each node is met as often as it has parts.

    Source: Dowling and Gallier 1984, "Linear-time algorithms for testing the satisfiability of
    propositional Horn formulae".
    """

    def __init__(self, rules: Mapping[str, Rule], of_leaf: Callable[[Expression], Facts]) -> None:
        self._nodes: list[Expression] = []
        self._above: list[int] = []
        self.roots: dict[str, int] = {}
        self._uses: dict[str, list[int]] = {name: [] for name in rules}
        self._owner: dict[int, str] = {}
        self._minus: list[int] = []  # those first that others may subtract
        for name, _ in ordered(rules):
            self.roots[name] = first = len(self._nodes)
            self._owner[first] = name
            self._add(rules[name].body)
            rule = reversed(range(first, len(self._nodes)))
            self._minus += [place for place in rule if isinstance(self._nodes[place], Minus)]
        n = len(self._nodes)
        self._is_optional, self._is_something = bytearray(n), bytearray(n)
        self._n_without_text = [len(parts_of(node)) for node in self._nodes]  # of a row's parts
        self._n_not_optional = list(self._n_without_text)
        self._has_more = bytearray(n)  # whether a part of a row is more than the empty text
        self._pending: list[tuple[int, bool, bool]] = []
        for place, node in enumerate(self._nodes):
            self._begin(place, node, of_leaf)
        self._settle()
        for place in self._minus:
            other = self._above.index(place, place + 2)
            if self._is_optional[place + 1] and not self._is_optional[other]:
                self._pending.append((place, True, False))
                self._settle()

    def facts(self, place: int) -> Facts:
        """Return what is known of a node."""
        return Facts(bool(self._is_optional[place]), bool(self._is_something[place]))

    def _add(self, body: Expression) -> None:
        pending = [(body, -1)]
        while pending:
            node, above = pending.pop()
            place = len(self._nodes)
            self._nodes.append(node)
            self._above.append(above)
            if isinstance(node, Name) and node.name in self._uses:
                self._uses[node.name].append(place)
            if isinstance(node, Row | Choice | Repeated | Minus):
                pending.extend((part, place) for part in reversed(parts_of(node)))

    def _begin(self, place: int, node: Expression, of_leaf: Callable[[Expression], Facts]) -> None:
        match node:
            case Text():
                found = Facts(not node.text, bool(node.text))
            case Row(parts=()):
                found = Facts(is_optional=True, is_something=False)
            case Repeated():
                found = Facts(0 in (node.least, node.most), is_something=False)
            case Name() if node.name in self._uses:
                return
            case Row() | Choice() | Minus():
                return
            case _:
                found = of_leaf(node)
        self._pending.append((place, found.is_optional, found.is_something))

    def _settle(self) -> None:
        while self._pending:
            place, is_optional, is_something = self._pending.pop()
            was = self.facts(place)
            now = Facts(was.is_optional or is_optional, was.is_something or is_something)
            if now == was:
                continue
            self._is_optional[place], self._is_something[place] = now.is_optional, now.is_something
            if place in self._owner:
                users = self._uses[self._owner[place]]
                self._pending += [(use, now.is_optional, now.is_something) for use in users]
            elif (above := self._above[place]) >= 0:
                self._tell(above, place, was, now)

    def _tell(self, above: int, place: int, was: Facts, now: Facts) -> None:
        """Let a node know that more is known of a part of it."""
        match self._nodes[above]:
            case Row():
                self._n_without_text[above] -= was == NOTHING
                self._n_not_optional[above] -= now.is_optional and not was.is_optional
                self._has_more[above] |= now.is_something
                if self._n_without_text[above] == 0:
                    is_optional = self._n_not_optional[above] == 0
                    self._pending.append((above, is_optional, bool(self._has_more[above])))
            case Choice():
                self._pending.append((above, now.is_optional, now.is_something))
            case Repeated(most=most):
                self._pending.append((above, now.is_optional, now.is_something and most != 0))
            case Minus() if (
                place == above + 1
            ):  # of A - B; whether something is left is checked later
                self._pending.append((above, False, now.is_something))


def ordered(rules: Mapping[str, Rule]) -> list[tuple[str, bool]]:
    """Return rules after those that they use, each with whether it can come back to itself."""
    uses = {
        name: list(dict.fromkeys(each.name for each in names_in(rule.body) if each.name in rules))
        for name, rule in rules.items()
    }
    return [
        (name, len(members) > 1 or name in uses[name])
        for members in components(uses)
        for name in reversed(members)
    ]


def components(edges: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """Yield the strongly connected components of a graph, each after those that it leads to.

    Source: Tarjan 1972, "Depth-first search and linear graph algorithms", with lists for the stack.

    >>> [*components({"a": ["b"], "b": ["c", "b"], "c": ["a"], "d": []})]
    [['c', 'b', 'a'], ['d']]
    """
    depth: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_nodes: list[str] = []
    is_open: set[str] = set()
    for root in edges:
        path = [(root, iter(edges[root]))] if root not in depth else []
        while path:
            node, following = path[-1]
            if node not in depth:
                depth[node] = len(depth)
                open_nodes.append(node)
                is_open.add(node)
                lowest[node] = depth[node]
            after = next(following, None)
            if after is not None and after not in depth:
                path.append((after, iter(edges[after])))
            elif after is not None and after in is_open:
                lowest[node] = min(lowest[node], depth[after])
            elif after is None:
                path.pop()
                if path:
                    parent = path[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[node])
                if lowest[node] == depth[node]:
                    members = [open_nodes.pop()]
                    while members[-1] != node:
                        members.append(open_nodes.pop())
                    is_open.difference_update(members)
                    yield members
