r"""Regular expressions as ordered NFAs over UTF-8 bytes.

In: the pattern text of a terminal, as Lark hands it to Python's ``re``. Out: an :class:`Nfa` whose
*order* is the order in which ``re`` tries things, so that the match it prefers is ours too.

``re``'s own parser reads the pattern, so flags, classes and escapes mean what they mean there. A
quantifier becomes an ordered split: greedy tries the body first, lazy tries the exit first::

    a*   ->  split(a-loop, exit)         a*?  ->  split(exit, a-loop)

After a round that matched nothing, ``re`` starts no further round but leaves the repetition. So the
NFA marks where a round starts, where the repetition ends, and the splits that decide between the
two. A walk along empty moves that comes from the start of a round to such a split must leave.
``x*`` is built as ``(x+)?``, with one split for all rounds; ``x{0,3}`` has one for each.

A split with look-around is passed only if that holds. The body of a look-behind is an NFA of its
own, a *behind*, which :mod:`cfgguide.automata.look_behind` runs beside the pattern's. The body of a
look-ahead starts at another state of the same NFA; one that only keeps keywords out of names is
made a part of the name (:mod:`cfgguide.automata.exclusion`). Anchors and word boundaries are
look-around::

    ^  (?<![\s\S])    \Z  (?![\s\S])    $  (?![^\n]|\n[\s\S])    \b  (?<=\w)(?!\w)|(?<!\w)(?=\w)

Source: Thompson 1968 for the fragments; Pike's ordered threads as in Russ Cox, "Regular Expression
Matching: the Virtual Machine Approach" (2009).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from functools import cached_property

from cfgguide.automata import syntax
from cfgguide.automata.charset import (
    ANY_CHARACTER,
    END,
    ByteTree,
    CharacterClass,
    branches_of,
    characters_of,
    common_ranges,
    utf8_tree,
)
from cfgguide.automata.exclusion import Excluded, Run, condition_after, parts, run_at_end
from cfgguide.automata.syntax import Alternation, Anchor, Group, Look, Node, Nodes, Repeat
from cfgguide.base.limits import Budget
from cfgguide.base.remembered import remembered
from cfgguide.errors import LimitError, PatternError

MATCH = 0  # the one matching state of every NFA

# Bodies of the look-around that stands for anchors.
_ANY = syntax.parse(r"[\s\S]").nodes
_NOT_NEWLINE = syntax.parse(r"[^\n]").nodes
_MORE_THAN_NEWLINE = syntax.parse(r"[^\n]|\n[\s\S]").nodes
_WORD = syntax.parse(r"\w").nodes


@dataclass(eq=False)
class Nfa:
    """An ordered NFA over bytes.

    Attributes
    ----------
    edges : list of list of (int, int, int)
        Per state (first byte, last byte, next state); disjoint, ascending. Empty for splits and
        `MATCH`.
    splits : list of list of int
        Per state its empty moves, most preferred first. Empty for byte states and `MATCH`.
    enters, leaves, rounds : dict of int to int
        Per split that starts a round of a repetition, ends the repetition, or decides between the
        two, the index of the repetition.
    start : int
        The start state. State 0 is `MATCH`.
    guards : dict of int to (int, bool)
        Per split with a look-behind, its index in `behinds`, and whether it is negated.
    behinds : list of Nfa
        The bodies of look-behinds. One may have guards on those before it in the list.
    assertions : dict of int to (int, bool)
        Per split with a look-ahead, the start state of its body, and whether it is negated.
    """

    edges: list[list[tuple[int, int, int]]] = field(default_factory=lambda: [[]])
    splits: list[list[int]] = field(default_factory=lambda: [[]])
    enters: dict[int, int] = field(default_factory=dict)
    leaves: dict[int, int] = field(default_factory=dict)
    rounds: dict[int, int] = field(default_factory=dict)
    start: int = MATCH
    guards: dict[int, tuple[int, bool]] = field(default_factory=dict)
    behinds: list[Nfa] = field(default_factory=list)
    assertions: dict[int, tuple[int, bool]] = field(default_factory=dict)

    @property
    def n_states(self) -> int:
        """Number of states, `MATCH` included."""
        return len(self.edges)

    @cached_property
    def moves(self) -> tuple[str, ...]:
        """A key of everything except `behinds`: equal if all moves are equal."""
        return tuple(repr(getattr(self, f.name)) for f in fields(self) if f.name != "behinds")


def parse_pattern(pattern: str, *, name: str, flags: int = 0, budget: Budget | None = None) -> Nfa:
    r"""Return the ordered NFA of a regular expression.

    Parameters
    ----------
    pattern : str
        A pattern of Python's ``re``.
    name : str
        The terminal's name, for messages.
    flags : int
        ``re`` flags in force from the start.
    budget : Budget, optional
        Limits on nesting and on states.

    Raises
    ------
    PatternError
        If ``re`` rejects the pattern, or no automaton of this kind can express it.
    LimitError
        If a limit is exceeded.

    Examples
    --------
    >>> parse_pattern("ab", name="AB").edges
    [[], [(98, 98, 0)], [(97, 97, 1)]]
    >>> parse_pattern(r"(a)\1", name="TWICE")
    Traceback (most recent call last):
    cfgguide.errors.PatternError: [pattern] terminal TWICE uses a backreference, ...
    """
    try:
        tree = syntax.parse(pattern, flags)
        builder = _Builder(name, pattern, budget or Budget())
        builder.nfa.start = builder.sequence(tree.nodes, MATCH, tree.flags)
    except re.error as error:
        raise PatternError(
            f"terminal {name}: /{pattern}/ is not a regular expression: {error}"
        ) from None
    except RecursionError:
        raise LimitError(
            f"terminal {name} nests groups too deeply; flatten the pattern or split the terminal"
        ) from None
    return builder.nfa


class _Builder:
    """Builds fragments backwards: each method takes the following state and returns the entry."""

    def __init__(
        self, name: str, pattern: str, budget: Budget, *, outer: _Builder | None = None
    ) -> None:
        self.nfa: Nfa = Nfa() if outer is None else Nfa(behinds=outer.nfa.behinds)
        self._is_behind = outer is not None
        # The start states of look-ahead bodies, and the indices of look-behind bodies.
        self._aheads: dict[tuple[Nodes, int], int] = {}
        self._behinds: dict[tuple[Nodes, int], int] = {} if outer is None else outer._behinds
        self._name = name
        self._pattern = pattern
        self._budget = budget
        self._depth = 0

    def sequence(self, nodes: Nodes, following: int, flags: int) -> int:
        self._budget.check("max_nesting", self._depth, f"terminal {self._name}")
        self._depth += 1
        if following == MATCH and not self._is_behind:
            found = run_at_end(nodes, flags)
            if found is not None:
                nodes, following = found[0], self._run(found[1])
        for node in reversed(nodes):
            following = self._node(node, following, flags)
        self._depth -= 1
        return following

    def _node(self, node: Node, following: int, flags: int) -> int:
        match node:
            case Alternation():
                return self._split(
                    [self.sequence(branch, following, flags) for branch in node.branches]
                )
            case Group():
                return self.sequence(node.body, following, node.flags_inside(flags))
            case Repeat():
                return self._repeat(node, following, flags)
            case Look():
                look = self._look_behind if node.is_behind else self._look_ahead
                return look(node.body, following, flags, is_negated=node.is_negated)
            case Anchor():
                return self._anchor(node, following, flags)
            case syntax.Unsupported():
                raise PatternError(
                    f"terminal {self._name} uses {node.what}, which is not supported, "
                    f"in /{self._pattern}/; {node.way_out}"
                )
            case _:
                return self._character(characters_of(node, flags), following)

    def _repeat(self, node: Repeat, following: int, flags: int) -> int:
        repetition = len(self.nfa.leaves)
        leave = self._split([following])
        self.nfa.leaves[leave] = repetition
        n_required = node.min_count

        def decide(enter: int) -> list[int]:
            return [enter, leave] if node.is_greedy else [leave, enter]

        if node.max_count is None:
            again = self._split([])
            self.nfa.rounds[again] = repetition
            enter = self._enter(self.sequence(node.body, again, flags), repetition)
            self.nfa.splits[again] = decide(enter)
            entry = self._split(decide(enter)) if n_required == 0 else enter
            n_required = max(n_required - 1, 0)
        else:
            entry = leave
            for _ in range(node.max_count - n_required):
                body = self.sequence(node.body, entry, flags)
                entry = self._split(decide(self._enter(body, repetition)))
                self.nfa.rounds[entry] = repetition
        for _ in range(n_required):
            entry = self.sequence(node.body, entry, flags)
        return entry

    def _enter(self, body: int, repetition: int) -> int:
        enter = self._split([body])
        self.nfa.enters[enter] = repetition
        return enter

    def _run(self, run: Run) -> int:
        """Return the entry of a run of characters at the end of the pattern."""
        no_more = self._if_next(run.more, is_negated=True)
        others = self._split([])
        self.nfa.splits[others] = [self._character(run.more, others), no_more]
        entries: dict[tuple[Excluded, ...], int] = {(): others}

        def entry(excluded: tuple[Excluded, ...]) -> int:
            if excluded not in entries:
                entries[excluded] = self._split([])
                condition = condition_after(excluded)
                spared = condition.spared_by
                inside = common_ranges(run.more.ranges, spared.ranges)
                targets = choices(excluded, CharacterClass.of(inside))
                if spared == ANY_CHARACTER:
                    targets.append(no_more)
                elif condition.is_spared_at_end:
                    outside = CharacterClass.of([*spared.complement().ranges, *run.more.ranges])
                    targets.append(self._if_next(outside, is_negated=True))
                else:
                    behind = common_ranges(spared.ranges, run.more.complement().ranges)
                    if behind:
                        targets.append(self._if_next(CharacterClass.of(behind)))
                self.nfa.splits[entries[excluded]] = targets
            return entries[excluded]

        def choices(excluded: tuple[Excluded, ...], characters: CharacterClass) -> list[int]:
            return [
                self._character(of, entry(left))
                for of, left in parts(excluded, characters)
                if of.ranges
            ]

        return self._split(choices(run.excluded, run.first))

    def _if_next(self, characters: CharacterClass, *, is_negated: bool = False) -> int:
        """Return the entry of a match that ends before one of these characters, or before none."""
        ask = self._split([MATCH])
        self.nfa.assertions[ask] = (self._character(characters, MATCH), is_negated)
        return ask

    # -- look-around ------------------------------------------------------------------------

    def _look_behind(self, body: Nodes, following: int, flags: int, *, is_negated: bool) -> int:
        body_key = (body, flags)
        if body_key not in self._behinds:
            inner = _Builder(self._name, self._pattern, self._budget, outer=self)
            inner.nfa.start = inner.sequence(body, MATCH, flags)
            self.nfa.behinds.append(inner.nfa)
            self._behinds[body_key] = len(self.nfa.behinds) - 1
        guard = self._split([following])
        self.nfa.guards[guard] = (self._behinds[body_key], is_negated)
        return guard

    def _look_ahead(self, body: Nodes, following: int, flags: int, *, is_negated: bool) -> int:
        if self._is_behind:
            raise PatternError(
                f"terminal {self._name} uses a look-ahead, \\b or $ inside a look-behind, which is "
                f"not supported, in /{self._pattern}/; put it outside the look-behind"
            )
        body_key = (body, flags)
        if body_key not in self._aheads:
            self._aheads[body_key] = self.sequence(body, MATCH, flags)
        ask = self._split([following])
        self.nfa.assertions[ask] = (self._aheads[body_key], is_negated)
        return ask

    def _anchor(self, anchor: Anchor, following: int, flags: int) -> int:
        """Return the entry of an anchor or word boundary; see the module's docstring."""
        flags &= ~re.IGNORECASE
        if anchor in (Anchor.BOUNDARY, Anchor.NOT_BOUNDARY):
            return self._boundary(following, flags, is_negated=anchor == Anchor.NOT_BOUNDARY)
        is_multiline = flags & re.MULTILINE and anchor in (Anchor.LINE_START, Anchor.LINE_END)
        excluded = _NOT_NEWLINE if is_multiline else _ANY
        if anchor in (Anchor.LINE_START, Anchor.TEXT_START):
            return self._look_behind(excluded, following, flags, is_negated=True)
        if anchor == Anchor.LINE_END and not is_multiline:
            excluded = _MORE_THAN_NEWLINE
        return self._look_ahead(excluded, following, flags, is_negated=True)

    def _boundary(self, following: int, flags: int, *, is_negated: bool) -> int:
        branches = []
        for is_word_before in (True, False):
            is_word_after = is_word_before == is_negated
            ahead = self._look_ahead(_WORD, following, flags, is_negated=not is_word_after)
            behind = self._look_behind(_WORD, ahead, flags, is_negated=not is_word_before)
            branches.append(behind)
        return self._split(branches)

    def _character(self, characters: CharacterClass, following: int) -> int:
        return self._utf8(utf8_tree(characters), following)

    @remembered
    def _utf8(self, node: ByteTree, following: int) -> int:
        """Return the state for a UTF-8 tree node; equal nodes with one exit share a state."""
        edges = [
            (low, high, following if child == END else self._utf8(child, following))
            for low, high, child in branches_of(node)
        ]
        return self._state(edges, [])

    def _split(self, targets: list[int]) -> int:
        return self._state([], targets)

    def _state(self, edges: list[tuple[int, int, int]], targets: list[int]) -> int:
        self._budget.check("max_nfa_states", self.nfa.n_states, f"terminal {self._name}")
        self.nfa.edges.append(edges)
        self.nfa.splits.append(targets)
        return self.nfa.n_states - 1


# The byte states (and `MATCH`) reached by empty moves, most preferred first, up to the first
# look-ahead without an answer; and that look-ahead.
Closure = tuple[tuple[int, ...], int | None]


def closure(nfa: Nfa, state: int, truths: tuple[bool, ...], answers: dict[int, bool]) -> Closure:
    """Return where empty moves lead from a state.

    Parameters
    ----------
    nfa : Nfa
    state : int
    truths : tuple of bool
        For each of `nfa.behinds`, whether the look-behind holds.
    answers : dict of int to bool
        Whether look-aheads match, by the start states of their bodies.
    """
    # `open_rounds` are the repetitions whose present round has matched nothing so far. At the end
    # of such a round the walk must leave, so they are part of what counts as visited.
    reached: dict[int, None] = {}
    visited: set[tuple[int, frozenset[int]]] = set()
    pending = [(state, frozenset[int]())]
    while pending:
        current, open_rounds = pending.pop()
        if (current, open_rounds) in visited or not _is_open(nfa, current, truths):
            continue
        visited.add((current, open_rounds))
        if not nfa.splits[current]:
            reached[current] = None
            continue
        if current in nfa.assertions:
            question, is_negated = nfa.assertions[current]
            if question not in answers:
                return tuple(reached), question
            if answers[question] == is_negated:
                continue
        targets = nfa.splits[current]
        if current in nfa.enters:
            open_rounds |= {nfa.enters[current]}
        elif current in nfa.leaves:
            open_rounds -= {nfa.leaves[current]}
        elif nfa.rounds.get(current) in open_rounds:
            targets = [target for target in targets if target in nfa.leaves]
        pending.extend((target, open_rounds) for target in reversed(targets))
    return tuple(reached), None


def _is_open(nfa: Nfa, state: int, truths: tuple[bool, ...]) -> bool:
    """Return whether a state has no guard, or its look-behind holds."""
    if state not in nfa.guards:
        return True
    index, is_negated = nfa.guards[state]
    return truths[index] != is_negated
