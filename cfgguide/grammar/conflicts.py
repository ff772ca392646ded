"""Conflicts of a grammar: a shortest text after which Lark could go on in two ways.

In: an :class:`~cfgguide.grammar.lr_automaton.ConflictAutomaton`. Out: its conflicts, each with an
:class:`Example`: a shortest beginning of a sentence, and its interpretation either way. ::

    start: a | b     a: X     b: X         X before $END:     (a X) •     or     (b X) •

A state of the automaton stands for many stacks, and its lookaheads are those of all these stacks
together. So the search for an example runs backwards from the conflict, with both interpretations
in step: a node is a state, an item of each interpretation, and whether that interpretation still
waits for the lookahead to come from a rule further out. Where the two meet in one item, they go on
as one. If they never meet at the start, no text has both: the conflict is one of LALR(1) only, and
each interpretation gets its own example.

Source: Isradisuwan, Myers 2015, "Finding Counterexamples from Parsing Conflicts", section 4, here
with both interpretations in one search. The way it is shown is tree-sitter's.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from cfgguide.grammar.interpretations import ConflictReading, is_read, last_opened, show
from cfgguide.grammar.lr.items import Item, next_symbol
from cfgguide.grammar.lr.table import Production
from cfgguide.grammar.lr_automaton import ConflictAutomaton

END_NAME = "$END"
DEFAULT_MAX_NODES = 50_000  # of one search
MAX_TERMINALS = 1_000  # of a shortest text; rules with longer ones count as having none

ROOT = Item(0, 0)


@dataclass(frozen=True)
class Conflict:
    """A state and a terminal for which the automaton has two actions.

    Attributes
    ----------
    state : int
        The state.
    lookahead : str
        The terminal that comes next.
    rules : tuple of int
        The rules that may be reduced.
    is_shift : bool
        Whether the terminal may be shifted too.
    """

    state: int
    lookahead: str
    rules: tuple[int, ...]
    is_shift: bool


@dataclass(frozen=True)
class Example:
    """A shortest beginning of a sentence that leads to a conflict.

    Attributes
    ----------
    terminals : tuple of str
        The terminals before the lookahead.
    interpretations : tuple of str
        Their interpretations, with the rules in question in brackets: two of one text, or one if
        the other needs another text.
    """

    terminals: tuple[str, ...]
    interpretations: tuple[str, ...]


def find(automaton: ConflictAutomaton, *, strict: bool) -> list[Conflict]:
    """Return the conflicts, by state and terminal; a shift is one only if `strict`."""
    return [
        Conflict(state, lookahead, rules, is_shift)
        for state in range(automaton.n_states)
        for lookahead, rules in sorted(automaton.reductions[state].items())
        for is_shift in [strict and lookahead in automaton.transitions[state]]
        if len(rules) > 1 or is_shift
    ]


class _Node(NamedTuple):
    state: int
    first: ConflictReading
    second: ConflictReading


class Examples:
    """Finds examples for the conflicts of one automaton.

    Parameters
    ----------
    automaton : ConflictAutomaton
        The automaton.
    max_nodes : int
        Bounds each search; a conflict has no example if more were needed.
    """

    def __init__(self, automaton: ConflictAutomaton, *, max_nodes: int = DEFAULT_MAX_NODES) -> None:
        self._automaton = automaton
        self._rules = automaton.rules
        self._max_nodes = max_nodes
        self._shortest = shortest_sentences(automaton.rules)
        self._first = _first_terminals(automaton.rules)
        self._before: list[list[int]] = [[] for _ in automaton.items]
        for state, row in enumerate(automaton.transitions):
            for target in row.values():
                self._before[target].append(state)

    def of(self, conflict: Conflict) -> tuple[Example, ...]:
        """Return one example of both interpretations, one of each, or none within the limit."""
        first, seconds = self._ways(conflict)
        ends = [_Node(conflict.state, first, second) for second in seconds]
        path = self._path(ends, conflict.lookahead)
        if path is None:
            return ()
        if path:
            return (self._example(path, conflict.lookahead, n_interpretations=2),)
        paths = [
            self._path([_Node(conflict.state, way, way) for way in ways], conflict.lookahead)
            for ways in ([first], seconds)
        ]
        if not all(paths):
            return ()
        return tuple(
            self._example(path, conflict.lookahead, n_interpretations=1) for path in paths if path
        )

    def _ways(self, conflict: Conflict) -> tuple[ConflictReading, list[ConflictReading]]:
        reduced = [
            ConflictReading(Item(rule, len(self._rules[rule][1])), True) for rule in conflict.rules
        ]
        if len(reduced) > 1:
            return reduced[0], reduced[1:2]
        shifted = [
            ConflictReading(item, False)
            for item in self._automaton.items[conflict.state]
            if next_symbol(self._rules, item) == conflict.lookahead
        ]
        return reduced[0], shifted

    # -- the search -------------------------------------------------------------------------------

    def _path(self, ends: list[_Node], lookahead: str) -> list[_Node] | None:
        """Return the cheapest path from the start of the text to one of `ends`.

        It is empty if there is none, and None if the search reached its limit.
        """
        queue = [((0, 0), index, node) for index, node in enumerate(ends)]
        came_from: dict[_Node, _Node | None] = dict.fromkeys(ends)
        costs = dict.fromkeys(ends, (0, 0))
        done: set[_Node] = set()
        n_queued = len(queue)
        while queue:
            cost, _, node = heapq.heappop(queue)
            if node in done:
                continue
            done.add(node)
            if len(done) > self._max_nodes:
                return None
            if self._is_start(node, lookahead):
                return list(_unwound(came_from, node))
            for length, outer in self._outwards(node, lookahead):
                total = (cost[0] + length, cost[1] + 1)
                if outer not in costs or total < costs[outer]:
                    costs[outer] = total
                    came_from[outer] = node
                    n_queued += 1
                    heapq.heappush(queue, (total, n_queued, outer))
        return []

    @staticmethod
    def _is_start(node: _Node, lookahead: str) -> bool:
        return all(
            interpretation.item == ROOT and (lookahead == END_NAME or not interpretation.waits)
            for interpretation in (node.first, node.second)
        )

    def _outwards(self, node: _Node, lookahead: str) -> Iterator[tuple[int, _Node]]:
        """Yield the nodes that may come before a node, and how many terminals lie between."""
        state, first, second = node
        if first.item.dot and second.item.dot:
            symbol = self._rules[first.item.production][1][first.item.dot - 1]
            length = self._length(symbol)
            if length is not None:
                for below in self._before[state]:
                    yield length, _Node(below, _back(first), _back(second))
        elif first.item == second.item:
            waits = first.waits or second.waits
            for item, still in self._callers(state, first.item, lookahead, waits):
                inner = (ConflictReading(item, each.waits and still) for each in (first, second))
                yield 0, _Node(state, *inner)
        elif not first.item.dot and first.item != ROOT:
            for item, still in self._callers(state, first.item, lookahead, first.waits):
                yield 0, _Node(state, ConflictReading(item, still), second)
        elif not second.item.dot:
            for item, still in self._callers(state, second.item, lookahead, second.waits):
                yield 0, _Node(state, first, ConflictReading(item, still))

    def _callers(
        self, state: int, item: Item, lookahead: str, waits: bool
    ) -> Iterator[tuple[Item, bool]]:
        """Yield the items before which the rule of `item` may begin, and whether they wait too."""
        left = self._rules[item.production][0]
        for caller in self._automaton.items[state]:
            if next_symbol(self._rules, caller) != left:
                continue
            rest = self._rules[caller.production][1][caller.dot + 1 :]
            if any(self._length(symbol) is None for symbol in rest):
                continue
            if not waits:
                yield caller, False
                continue
            if self._may_start(rest, lookahead):
                yield caller, False
            if all(self._length(symbol) == 0 for symbol in rest):
                yield caller, True

    def _may_start(self, symbols: tuple[str, ...], terminal: str) -> bool:
        for symbol in symbols:
            if terminal in self._first.get(symbol, {symbol}):
                return True
            if self._length(symbol) != 0:
                return False
        return False

    def _length(self, symbol: str) -> int | None:
        """Return the number of terminals of a shortest text of a symbol; None if it has none."""
        if symbol not in self._first:
            return 1
        text = self._shortest.get(symbol)
        return None if text is None else len(text)

    # -- how it is shown --------------------------------------------------------------------------

    def _example(self, path: list[_Node], lookahead: str, *, n_interpretations: int) -> Example:
        first, second = [node.first for node in path], [node.second for node in path]
        terminals: list[str] = []
        for here, after in pairwise(first):
            if is_read(here, after):
                symbol = str(next_symbol(self._rules, here.item))
                terminals += self._shortest.get(symbol, (symbol,))
        parting = max(at for at, node in enumerate(path) if node.first.item == node.second.item)
        parting = min(parting, last_opened(first) - 1, last_opened(second) - 1)
        interpretations = [show(self._rules, each, parting, lookahead) for each in (first, second)]
        return Example(tuple(terminals), tuple(interpretations[:n_interpretations]))


def _back(interpretation: ConflictReading) -> ConflictReading:
    return ConflictReading(
        Item(interpretation.item.production, interpretation.item.dot - 1), interpretation.waits
    )


def _unwound(came_from: dict[_Node, _Node | None], node: _Node | None) -> Iterator[_Node]:
    while node is not None:
        yield node
        node = came_from[node]


def shortest_sentences(rules: tuple[Production, ...]) -> dict[str, tuple[str, ...]]:
    """Return a sentence of the fewest terminals for each nonterminal that has a short one.

    >>> shortest_sentences((("a", ("X", "a")), ("a", ()), ("b", ("Y", "a"))))
    {'a': (), 'b': ('Y',)}
    """
    nonterminals = {left for left, _ in rules}
    found: dict[str, tuple[str, ...]] = {}
    is_changed = True
    while is_changed:
        is_changed = False
        for left, right in rules:
            if any(symbol in nonterminals and symbol not in found for symbol in right):
                continue
            if sum(len(found.get(symbol, (symbol,))) for symbol in right) > MAX_TERMINALS:
                continue
            text = tuple(name for symbol in right for name in found.get(symbol, (symbol,)))
            if left not in found or (len(text), text) < (len(found[left]), found[left]):
                found[left] = text
                is_changed = True
    return found


def _first_terminals(rules: tuple[Production, ...]) -> dict[str, set[str]]:
    """Return the terminals that may start the texts of each nonterminal."""
    first: dict[str, set[str]] = {left: set() for left, _ in rules}
    shortest = shortest_sentences(rules)
    is_changed = True
    while is_changed:
        is_changed = False
        for left, right in rules:
            for symbol in right:
                added = first.get(symbol, {symbol}) - first[left]
                if added:
                    first[left] |= added
                    is_changed = True
                if shortest.get(symbol, (symbol,)) != ():
                    break
    return first
