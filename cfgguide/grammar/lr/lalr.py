"""LALR(1) states and lookaheads, over integers.

In: productions, and the start rule. Out: an :class:`Automaton`: the LR(0) states, where symbols
lead, and before which terminals a rule may be reduced. Which action wins in a conflict is decided
elsewhere. Sets of terminals and of symbols are Python integers with a bit for each member.

A *transition* is a state and a nonterminal that leads on from it. The terminals that may come after
it are the least solution of ::

    Read(p, A)   = what is shifted after it    and Read(r, C)    if C is empty and comes after it
    Follow(p, A) = Read(p, A)                  and Follow(q, B)  if it can end the B of q
    lookaheads of A -> w in a state            =   Follow(p, A)  if w leads from p to the state

Each is found in one pass over the strongly connected components of its relation.

The lookaheads are those of Lark, which judges, and they are a little larger in two cases. If a rule
of B has already begun in the state q, and q has a transition with B too, then what ends that rule
ends the B of q as well. And transitions whose Read depend on each other go on to share one set. A
grammar of the second kind is LR(k) for no k, and what Lark makes of some of them changes with the
order of its sets.

Source: DeRemer, Pennello 1982, "Efficient computation of LALR(1) look-ahead sets", sections 4-5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from cfgguide.base.numbered import Numbered
from cfgguide.base.sets import members
from cfgguide.grammar.lr.items import Item
from cfgguide.grammar.lr.table import Production

END_NAME = "$END"
ROOT = "$root_"  # begins the name of the rule above the start rule
_COMPLETE = -1  # instead of the symbol after the dot


@dataclass(frozen=True)
class Automaton:
    """The LR(0) states of a grammar with their LALR(1) lookaheads.

    State 0 is the start; the others are numbered breadth-first over symbols sorted by name. An item
    goes by its number in `items`.

    Attributes
    ----------
    symbols : tuple of str
        The names of all symbols, sorted.
    rules : tuple of Production
        Rule 0 is ``$root_start : start``; the others are sorted.
    items : tuple of Item
        All items, by rule and dot.
    kernels : tuple of tuple of int
        Per state the items that it was entered with, sorted.
    transitions : tuple of dict of int to int
        Per state the state after each symbol, by ascending symbols.
    lookaheads : tuple of dict of int to int
        Per state and rule that may be reduced there, ascending, the set of terminals before which
        it may be.
    shiftable : tuple of int
        Per state the set of terminals that it shifts.
    end_state : int
        The state after a sentence.
    """

    symbols: tuple[str, ...]
    rules: tuple[Production, ...]
    items: tuple[Item, ...]
    kernels: tuple[tuple[int, ...], ...]
    transitions: tuple[dict[int, int], ...]
    lookaheads: tuple[dict[int, int], ...]
    shiftable: tuple[int, ...]
    end_state: int

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.kernels)

    def contested(self, state: int) -> int:
        """Return the set of terminals for which a state has more than one action."""
        once, more = self.shiftable[state], 0
        for terminals in self.lookaheads[state].values():
            more |= once & terminals
            once |= terminals
        return more

    def reduced(self, state: int, terminal: int) -> list[int]:
        """Return the rules that may be reduced in a state before a terminal, ascending."""
        return [
            rule for rule, terminals in self.lookaheads[state].items() if terminals >> terminal & 1
        ]


def build(productions: Iterable[Production], start: str) -> Automaton:
    """Return the automaton of productions; every symbol that is no left side is a terminal.

    Examples
    --------
    >>> automaton = build([("start", ("A", "start")), ("start", ())], "start")
    >>> automaton.symbols
    ('$END', 'A', 'start')
    >>> automaton.transitions
    ({1: 1, 2: 2}, {1: 1, 2: 3}, {}, {})
    >>> automaton.rules[1:], automaton.lookaheads[1]
    ((('start', ()), ('start', ('A', 'start'))), {1: 1})
    """
    rules = ((ROOT + start, (start,)), *sorted(set(productions)))
    grammar = _Grammar(rules)
    kernels, transitions = _states(grammar)
    shiftable = [
        _as_bits(symbol for symbol in row if not grammar.is_nonterminal[symbol])
        for row in transitions
    ]
    return Automaton(
        symbols=grammar.symbols,
        rules=rules,
        items=tuple(grammar.items),
        kernels=tuple(kernels),
        transitions=tuple(transitions),
        lookaheads=_lookaheads(grammar, kernels, transitions, shiftable),
        shiftable=tuple(shiftable),
        end_state=transitions[0][grammar.rights[0][0]],
    )


def _as_bits(numbers: Iterable[int]) -> int:
    bits = 0
    for number in numbers:
        bits |= 1 << number
    return bits


class _Grammar:
    """The rules with numbers for symbols and items."""

    def __init__(self, rules: Sequence[Production]) -> None:
        lefts = {left for left, _ in rules[1:]}
        self.symbols = tuple(
            sorted({END_NAME, *lefts, *(symbol for _, right in rules for symbol in right)})
        )
        number = {symbol: index for index, symbol in enumerate(self.symbols)}
        self.is_nonterminal = [symbol in lefts for symbol in self.symbols]
        # The root is the left side of no symbol that could come after a dot.
        self.lefts = [_COMPLETE, *(number[left] for left, _ in rules[1:])]
        self.rights = [tuple(number[symbol] for symbol in right) for _, right in rules]
        self.rules_of: list[list[int]] = [[] for _ in self.symbols]
        for rule, left in enumerate(self.lefts[1:], start=1):
            self.rules_of[left].append(rule)
        self.first_items: list[int] = []
        self.items: list[Item] = []
        self.next_symbols: list[int] = []
        for rule, right in enumerate(self.rights):
            self.first_items.append(len(self.items))
            self.next_symbols += [*right, _COMPLETE]
            self.items += [Item(rule, dot) for dot in range(len(right) + 1)]

    @cached_property
    def is_nullable(self) -> list[bool]:
        """Whether each symbol derives the empty text."""
        is_nullable = [False] * len(self.symbols)
        is_new = True
        while is_new:
            is_new = False
            for left, right in zip(self.lefts[1:], self.rights[1:], strict=True):
                if not is_nullable[left] and all(is_nullable[symbol] for symbol in right):
                    is_nullable[left] = is_new = True
        return is_nullable

    @cached_property
    def nullable_from(self) -> list[int]:
        """Of each rule, from where on the rest of its right side derives the empty text."""
        found = []
        for right in self.rights:
            place = len(right)
            while place and self.is_nullable[right[place - 1]]:
                place -= 1
            found.append(place)
        return found

    @cached_property
    def opened(self) -> list[int]:
        """For each symbol the set of nonterminals that a dot before it is also a dot before."""
        first = [
            [
                self.rights[rule][0]
                for rule in rules
                if self.rights[rule] and self.is_nonterminal[self.rights[rule][0]]
            ]
            for rules in self.rules_of
        ]
        own = [
            1 << symbol if is_nonterminal else 0
            for symbol, is_nonterminal in enumerate(self.is_nonterminal)
        ]
        opened = _Sets(own)
        opened.close(first)
        return [opened[symbol] for symbol in range(len(own))]


def _states(grammar: _Grammar) -> tuple[list[tuple[int, ...]], list[dict[int, int]]]:
    """Return the kernels and the transitions of the LR(0) states."""
    next_symbols, opened = grammar.next_symbols, grammar.opened
    numbers, transitions = Numbered[tuple[int, ...]]((0,)), []
    after_opened: dict[int, dict[int, list[int]]] = {}
    for kernel in numbers.order:  # grows while it is walked
        moved: dict[int, list[int]] = {}
        nonterminals = 0
        for item in kernel:
            symbol = next_symbols[item]
            if symbol != _COMPLETE:
                moved.setdefault(symbol, []).append(item + 1)
                nonterminals |= opened[symbol]
        if nonterminals not in after_opened:  # states share most of what they open
            after_opened[nonterminals] = _moved_opened(grammar, nonterminals)
        for symbol, items in after_opened[nonterminals].items():
            moved[symbol] = sorted(moved[symbol] + items) if symbol in moved else items
        transitions.append({symbol: numbers[tuple(moved[symbol])] for symbol in sorted(moved)})
    return numbers.order, transitions


def _moved_opened(grammar: _Grammar, nonterminals: int) -> dict[int, list[int]]:
    """Return, by symbol, the items behind the first symbol of all rules of some nonterminals."""
    moved: dict[int, list[int]] = {}
    for nonterminal in members(nonterminals):
        for rule in grammar.rules_of[nonterminal]:
            right = grammar.rights[rule]
            if right:
                moved.setdefault(right[0], []).append(grammar.first_items[rule] + 1)
    return {symbol: sorted(items) for symbol, items in moved.items()}


def _lookaheads(
    grammar: _Grammar,
    kernels: list[tuple[int, ...]],
    transitions: list[dict[int, int]],
    shiftable: list[int],
) -> tuple[dict[int, int], ...]:
    """Return, per state and rule, the terminals before which the rule may be reduced."""
    is_nonterminal, is_nullable = grammar.is_nonterminal, grammar.is_nullable
    origins = [
        (state, symbol)
        for state, row in enumerate(transitions)
        for symbol in row
        if is_nonterminal[symbol]
    ]
    numbers: list[dict[int, int]] = [{} for _ in transitions]
    for number, (state, symbol) in enumerate(origins):
        numbers[state][symbol] = number
    targets = [transitions[state][symbol] for state, symbol in origins]
    nullable = [
        [number for symbol, number in row.items() if is_nullable[symbol]] for row in numbers
    ]
    directly_read = [shiftable[target] for target in targets]
    directly_read[numbers[0][grammar.rights[0][0]]] |= 1 << grammar.symbols.index(END_NAME)
    includes, lookback = _relations(grammar, kernels, transitions, numbers)
    follow = _Sets(directly_read)
    follow.close([nullable[target] for target in targets])  # Read
    follow.close(includes)
    found: list[dict[int, int]] = []
    for reduced in lookback:
        found.append({})
        for rule in sorted(reduced):
            found[-1][rule] = 0
            for number in reduced[rule]:
                found[-1][rule] |= follow[number]
    return tuple(found)


def _relations(
    grammar: _Grammar,
    kernels: list[tuple[int, ...]],
    transitions: list[dict[int, int]],
    numbers: list[dict[int, int]],
) -> tuple[list[list[int]], list[dict[int, list[int]]]]:
    """Return which transitions each is followed like, and which lead to each reduction.

    Parameters
    ----------
    numbers : list of dict of int to int
        Per state the number of its transition with each nonterminal.
    """
    lefts, rights, nullable_from = grammar.lefts, grammar.rights, grammar.nullable_from
    includes: list[list[int]] = [[] for row in numbers for _ in row]
    lookback: list[dict[int, list[int]]] = [{} for _ in transitions]

    def follow(state: int, rule: int, first: int, number: int) -> int:
        """Return the state after the rest of a rule, whose left side has a transition."""
        right, last = rights[rule], nullable_from[rule] - 1
        for place in range(first, len(right)):
            symbol = right[place]
            if place >= last and symbol in numbers[state]:
                includes[numbers[state][symbol]].append(number)
            state = transitions[state][symbol]
        return state

    for state, row in enumerate(numbers):
        for symbol, number in row.items():
            for rule in grammar.rules_of[symbol]:
                lookback[follow(state, rule, 0, number)].setdefault(rule, []).append(number)
        for item in kernels[state]:  # what Lark follows too
            rule, dot = grammar.items[item]
            if lefts[rule] in row:
                follow(state, rule, dot, row[lefts[rule]])
    return includes, lookback


class _Sets:
    """A set for each of some nodes. Nodes may share one: what is added for one is added for all.

    Parameters
    ----------
    own : iterable of int
        The set of each node.
    """

    def __init__(self, own: Iterable[int]) -> None:
        self._sets = list(own)
        self._place = list(range(len(self._sets)))

    def __getitem__(self, node: int) -> int:
        return self._sets[self._place[node]]

    def add(self, node: int, other: int) -> None:
        """Add the set of another node to that of a node."""
        self._sets[self._place[node]] |= self._sets[self._place[other]]

    def close(self, relation: Sequence[Sequence[int]]) -> None:
        """Add to the set of each node those of all nodes that it leads to, however far.

        Nodes that lead to each other come to share one set. They are complete together, when the
        search returns to the first of them (Tarjan 1972, "Depth-first search and linear graph
        algorithms").
        """
        unvisited, complete = 0, len(relation) + 1
        depth = [unvisited] * len(relation)
        open_nodes: list[int] = []
        path: list[tuple[int, int, Iterator[int]]] = []

        def enter(node: int) -> None:
            open_nodes.append(node)
            depth[node] = len(open_nodes)
            path.append((node, len(open_nodes), iter(relation[node])))

        for root in range(len(relation)):
            if depth[root] == unvisited:
                enter(root)
            while path:
                node, entered, following = path[-1]
                after = next(following, None)
                if after is not None and depth[after] == unvisited:
                    enter(after)
                elif after is not None:
                    depth[node] = min(depth[node], depth[after])
                    self.add(node, after)
                else:
                    path.pop()
                    if depth[node] == entered:
                        for other in open_nodes[entered - 1 :]:
                            self._place[other], depth[other] = self._place[node], complete
                        del open_nodes[entered - 1 :]
                    if path:
                        before = path[-1][0]
                        depth[before] = min(depth[before], depth[node])
                        self.add(before, node)
