r"""Regular expressions as ordered NFAs over UTF-8 bytes.

In: the pattern text of a terminal, as Lark hands it to Python's ``re``. Out: an :class:`Nfa` whose
*order* is the order in which ``re`` tries things, so that the match it prefers is ours too.

``re``'s own parser reads the pattern, so flags, classes and escapes mean what they mean there. A
quantifier becomes an ordered split: greedy tries the body first, lazy tries the exit first::

    a*   ->  split(a-loop, exit)         a*?  ->  split(exit, a-loop)

After a round that matched nothing ``re`` starts no further round but leaves the repetition. So the
NFA marks where a round starts, where the repetition ends, and the splits that decide between the
two; a walk along empty moves that comes from the start of a round to such a split must leave.
``x*`` is built as ``(x+)?``, with one split for all rounds; ``x{0,3}`` has one for each.

Look-around stands on splits that are passed only if it holds. What a look-behind looks for is an
NFA of its own, a *behind*, which :mod:`cfgguide.automata.dfa` runs beside the pattern's; what a
look-ahead looks for starts at another state of the same NFA. Anchors and word boundaries are
look-around::

    ^  (?<![\s\S])    \Z  (?![\s\S])    $  (?![^\n]|\n[\s\S])    \b  (?<=\w)(?!\w)|(?<!\w)(?=\w)

Source: Thompson 1968 for the fragments; Pike's ordered threads as in Russ Cox, "Regular Expression
Matching: the Virtual Machine Approach" (2009).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from cfgguide.automata.charset import (
    ANY_CHARACTER,
    END,
    NEWLINE,
    CharacterClass,
    Utf8Node,
    category,
    ignoring_case,
    is_never_found,
    utf8_tree,
)
from cfgguide.errors import LimitError, PatternError
from cfgguide.limits import Budget

_parser: Any = __import__("re._parser", fromlist=["parse"])

MATCH = 0  # the one matching state of every NFA

_CATEGORIES = {
    "CATEGORY_DIGIT": (r"\d", False),
    "CATEGORY_NOT_DIGIT": (r"\d", True),
    "CATEGORY_SPACE": (r"\s", False),
    "CATEGORY_NOT_SPACE": (r"\s", True),
    "CATEGORY_WORD": (r"\w", False),
    "CATEGORY_NOT_WORD": (r"\w", True),
}

# What no automaton of this kind can express, and a way out.
UNSUPPORTED = {
    "GROUPREF": ("a backreference", "write out the texts that the group can match"),
    "GROUPREF_IGNORE": ("a backreference", "write out the texts that the group can match"),
    "GROUPREF_EXISTS": ("a conditional group", "write the two cases as alternatives"),
    "ATOMIC_GROUP": ("an atomic group", "use a plain group, and look-ahead if need be"),
    "POSSESSIVE_REPEAT": ("a possessive quantifier", "use a greedy one, and look-ahead if need be"),
}

# Bodies of look-around that stands for anchors, as `re`'s parser has them.
_ANY: Any = _parser.parse(r"[\s\S]")
_NOT_NEWLINE: Any = _parser.parse(r"[^\n]")
_MORE_THAN_NEWLINE: Any = _parser.parse(r"[^\n]|\n[\s\S]")
_WORD: Any = _parser.parse(r"\w")


@dataclass(eq=False)
class Nfa:
    """An ordered NFA over bytes.

    Attributes
    ----------
    edges : list of list of (int, int, int)
        Per state (first byte, last byte, next state); disjoint. Empty for splits and `MATCH`.
    splits : list of list of int
        Per state its empty moves, most preferred first. Empty for byte states and `MATCH`.
    enters, leaves, rounds : dict of int to int
        Per split that starts a round of a repetition, ends the repetition, or decides between the
        two: the number of the repetition.
    start : int
        The start state. State 0 is `MATCH`.
    guards : dict of int to (int, bool)
        Per split with a look-behind, which of `behinds` is asked, and whether it must not match.
    behinds : list of Nfa
        What look-behinds look for. One may have guards that ask those before it in the list.
    assertions : dict of int to (int, bool)
        Per split with a look-ahead, the state where what it looks for starts, and whether that
        must not match.
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
        """All but `behinds` as a key: equal if all moves are."""
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
        If ``re`` rejects the pattern or it uses what no automaton of this kind can express.
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
        tree = _parser.parse(pattern, flags)
        builder = _Builder(name, pattern, budget or Budget())
        builder.nfa.start = builder.sequence(tree, MATCH, tree.state.flags)
    except re.error as error:
        raise PatternError(
            f"terminal {name}: /{pattern}/ is no regular expression: {error}"
        ) from None
    except RecursionError:
        raise LimitError(
            f"terminal {name} nests groups too deeply; flatten the pattern or split the terminal"
        ) from None
    return builder.nfa


class _Builder:
    """Builds fragments backwards: each method gets the state that follows and returns an entry."""

    def __init__(
        self, name: str, pattern: str, budget: Budget, *, outer: _Builder | None = None
    ) -> None:
        self.nfa: Nfa = Nfa() if outer is None else Nfa(behinds=outer.nfa.behinds)
        self._is_behind = outer is not None
        # Where what look-ahead looks for starts, and the number of what look-behind looks for.
        self._aheads: dict[tuple[str, int], int] = {}
        self._behinds: dict[tuple[str, int], int] = {} if outer is None else outer._behinds
        self._name = name
        self._pattern = pattern
        self._budget = budget
        self._depth = 0
        self._characters: dict[tuple[int, int], int] = {}

    def sequence(self, items: Iterable[Any], following: int, flags: int) -> int:
        self._budget.check("max_nesting", self._depth, f"terminal {self._name}")
        self._depth += 1
        for item in reversed(list(items)):
            following = self._item(item, following, flags)
        self._depth -= 1
        return following

    def _item(self, item: tuple[Any, Any], following: int, flags: int) -> int:
        operator, argument = item
        kind = str(operator)
        if kind == "BRANCH":
            return self._split([self.sequence(part, following, flags) for part in argument[1]])
        if kind == "SUBPATTERN":
            _, added, removed, part = argument
            if added & _parser.TYPE_FLAGS:  # (?a:...) and (?u:...) take each other's place
                flags &= ~_parser.TYPE_FLAGS
            return self.sequence(part, following, (flags | added) & ~removed)
        if kind in ("MAX_REPEAT", "MIN_REPEAT"):
            return self._repeat(argument, following, flags, is_greedy=kind == "MAX_REPEAT")
        if kind in ("ASSERT", "ASSERT_NOT"):
            direction, body = argument
            look = self._look_behind if direction < 0 else self._look_ahead
            return look(body, following, flags, is_negated=kind == "ASSERT_NOT")
        if kind == "AT":
            return self._anchor(str(argument), following, flags)
        if kind in UNSUPPORTED:
            what, way_out = UNSUPPORTED[kind]
            raise PatternError(
                f"terminal {self._name} uses {what}, which is not supported, "
                f"in /{self._pattern}/; {way_out}"
            )
        return self._character(_characters(kind, argument, flags), following)

    def _repeat(self, argument: Any, following: int, flags: int, *, is_greedy: bool) -> int:
        least, most, body = argument
        repetition = len(self.nfa.leaves)
        leave = self._split([following])
        self.nfa.leaves[leave] = repetition

        def decide(enter: int) -> list[int]:
            return [enter, leave] if is_greedy else [leave, enter]

        if most == _parser.MAXREPEAT:
            again = self._split([])
            self.nfa.rounds[again] = repetition
            enter = self._enter(self.sequence(body, again, flags), repetition)
            self.nfa.splits[again] = decide(enter)
            entry = self._split(decide(enter)) if least == 0 else enter
            least = max(least - 1, 0)
        else:
            entry = leave
            for _ in range(most - least):
                entry = self._split(
                    decide(self._enter(self.sequence(body, entry, flags), repetition))
                )
                self.nfa.rounds[entry] = repetition
        for _ in range(least):
            entry = self.sequence(body, entry, flags)
        return entry

    def _enter(self, body: int, repetition: int) -> int:
        enter = self._split([body])
        self.nfa.enters[enter] = repetition
        return enter

    # -- look-around ------------------------------------------------------------------------

    def _look_behind(self, body: Any, following: int, flags: int, *, is_negated: bool) -> int:
        looked_for = (repr(list(body)), flags)
        if looked_for not in self._behinds:
            inner = _Builder(self._name, self._pattern, self._budget, outer=self)
            inner.nfa.start = inner.sequence(body, MATCH, flags)
            self.nfa.behinds.append(inner.nfa)
            self._behinds[looked_for] = len(self.nfa.behinds) - 1
        guard = self._split([following])
        self.nfa.guards[guard] = (self._behinds[looked_for], is_negated)
        return guard

    def _look_ahead(self, body: Any, following: int, flags: int, *, is_negated: bool) -> int:
        if self._is_behind:
            raise PatternError(
                f"terminal {self._name} uses a look-ahead, \\b or $ inside a look-behind, which is "
                f"not supported, in /{self._pattern}/; put it outside the look-behind"
            )
        looked_for = (repr(list(body)), flags)
        if looked_for not in self._aheads:
            self._aheads[looked_for] = self.sequence(body, MATCH, flags)
        ask = self._split([following])
        self.nfa.assertions[ask] = (self._aheads[looked_for], is_negated)
        return ask

    def _anchor(self, kind: str, following: int, flags: int) -> int:
        """Return the entry of an anchor or word boundary; see the module's text."""
        behind, ahead = self._look_behind, self._look_ahead
        flags &= ~re.IGNORECASE
        if kind == "AT_END" and not flags & re.MULTILINE:
            return ahead(_MORE_THAN_NEWLINE, following, flags, is_negated=True)
        if kind in ("AT_BEGINNING", "AT_BEGINNING_STRING", "AT_END", "AT_END_STRING"):
            look = behind if kind.startswith("AT_BEGINNING") else ahead
            is_line = flags & re.MULTILINE and not kind.endswith("STRING")
            return look(_NOT_NEWLINE if is_line else _ANY, following, flags, is_negated=True)
        is_boundary = kind == "AT_BOUNDARY"
        return self._split(
            [
                behind(
                    _WORD,
                    ahead(_WORD, following, flags, is_negated=is_word_before == is_boundary),
                    flags,
                    is_negated=not is_word_before,
                )
                for is_word_before in (True, False)
            ]
        )

    def _character(self, characters: CharacterClass, following: int) -> int:
        return self._node(utf8_tree(characters), following)

    def _node(self, node: Utf8Node, following: int) -> int:
        """Return the state for a UTF-8 tree node; equal nodes with one exit share a state."""
        key = (id(node), following)  # nodes are interned and live as long as the process
        if key not in self._characters:
            edges = [
                (low, high, following if child is END else self._node(child, following))
                for low, high, child in node
            ]
            self._characters[key] = self._state(edges, [])
        return self._characters[key]

    def _split(self, targets: list[int]) -> int:
        return self._state([], targets)

    def _state(self, edges: list[tuple[int, int, int]], targets: list[int]) -> int:
        self._budget.check("max_nfa_states", self.nfa.n_states, f"terminal {self._name}")
        self.nfa.edges.append(edges)
        self.nfa.splits.append(targets)
        return self.nfa.n_states - 1


# The byte states (and `MATCH`) reached by empty moves, most preferred first; and the first
# question on the way that has no answer: what stands behind it is not there.
Closure = tuple[tuple[int, ...], int | None]


def closure(nfa: Nfa, state: int, truths: tuple[bool, ...], answers: dict[int, bool]) -> Closure:
    """Return where empty moves lead from a state.

    `open_rounds` are the repetitions whose present round has matched nothing so far. At the end of
    such a round the walk must leave, so they are part of what counts as visited.
    """
    found: dict[int, None] = {}
    visited: set[tuple[int, frozenset[int]]] = set()
    pending = [(state, frozenset[int]())]
    while pending:
        current, open_rounds = pending.pop()
        if (current, open_rounds) in visited or not _is_open(nfa, current, truths):
            continue
        visited.add((current, open_rounds))
        if not nfa.splits[current]:
            found[current] = None
            continue
        if current in nfa.assertions:
            question, is_negated = nfa.assertions[current]
            if question not in answers:
                return tuple(found), question
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
    return tuple(found), None


def _is_open(nfa: Nfa, state: int, truths: tuple[bool, ...]) -> bool:
    """Return whether a state has no guard, or its look-behind holds."""
    if state not in nfa.guards:
        return True
    number, is_negated = nfa.guards[state]
    return truths[number] != is_negated


def _characters(kind: str, argument: Any, flags: int) -> CharacterClass:
    """Return the code points that one single-character element matches."""
    if kind == "ANY":
        return ANY_CHARACTER if flags & re.DOTALL else NEWLINE.complement()
    if kind == "IN":
        return _set(argument, flags)
    if kind == "LITERAL":
        return _cased([(argument, argument)], flags)
    if kind == "NOT_LITERAL":
        return _cased([(argument, argument)], flags).complement()
    raise PatternError(f"unknown element {kind} in a regular expression")


def _set(items: Sequence[tuple[Any, Any]], flags: int) -> CharacterClass:
    literals: list[tuple[int, int]] = []
    categories: list[tuple[int, int]] = []
    is_negated = False
    for operator, argument in items:
        kind = str(operator)
        if kind == "NEGATE":
            is_negated = True
        elif kind == "CATEGORY":
            categories.extend(_category(str(argument), flags).ranges)
        elif kind == "RANGE":
            literals.append(argument)
        elif not (flags & re.IGNORECASE and is_never_found(argument, bool(flags & re.ASCII))):
            literals.append((argument, argument))
    members = CharacterClass.of([*_cased(literals, flags).ranges, *categories])
    return members.complement() if is_negated else members


def _category(name: str, flags: int) -> CharacterClass:
    pattern, is_negated = _CATEGORIES[name]
    members = category(pattern, bool(flags & re.ASCII))
    return members.complement() if is_negated else members


def _cased(ranges: list[tuple[int, int]], flags: int) -> CharacterClass:
    characters = CharacterClass.of(ranges)
    if flags & re.IGNORECASE:
        return ignoring_case(characters, ascii_only=bool(flags & re.ASCII))
    return characters
