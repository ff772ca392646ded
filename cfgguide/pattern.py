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

A look-behind is a split with a guard. What it looks for is an NFA of its own, which
:mod:`cfgguide.fsm` runs beside the pattern's.

Source: Thompson 1968 for the fragments; Pike's ordered threads as in Russ Cox, "Regular Expression
Matching: the Virtual Machine Approach" (2009).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cfgguide.character_class import (
    ANY_CHARACTER,
    END,
    NEWLINE,
    CharacterClass,
    Utf8Node,
    category,
    ignoring_case,
    utf8_tree,
)
from cfgguide.errors import LimitError, PatternError

_parser: Any = __import__("re._parser", fromlist=["parse"])

MATCH = 0  # the one matching state of every NFA
DEFAULT_MAX_NFA_STATES = 100_000

_CATEGORIES = {
    "CATEGORY_DIGIT": (r"\d", False),
    "CATEGORY_NOT_DIGIT": (r"\d", True),
    "CATEGORY_SPACE": (r"\s", False),
    "CATEGORY_NOT_SPACE": (r"\s", True),
    "CATEGORY_WORD": (r"\w", False),
    "CATEGORY_NOT_WORD": (r"\w", True),
}

_UNSUPPORTED = {
    "AT": "an anchor or word boundary (such as ^, $ or \\b)",
    "ASSERT": "a look-ahead",
    "ASSERT_NOT": "a negative look-ahead",
    "GROUPREF": "a backreference",
    "GROUPREF_IGNORE": "a backreference",
    "GROUPREF_EXISTS": "a conditional group",
    "ATOMIC_GROUP": "an atomic group",
    "POSSESSIVE_REPEAT": "a possessive quantifier",
}


@dataclass
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
        Per guarded split, which of `behinds` is asked, and whether it must not match.
    behinds : list of Nfa
        Look-behinds: what must have matched just before.
    """

    edges: list[list[tuple[int, int, int]]] = field(default_factory=lambda: [[]])
    splits: list[list[int]] = field(default_factory=lambda: [[]])
    enters: dict[int, int] = field(default_factory=dict)
    leaves: dict[int, int] = field(default_factory=dict)
    rounds: dict[int, int] = field(default_factory=dict)
    start: int = MATCH
    guards: dict[int, tuple[int, bool]] = field(default_factory=dict)
    behinds: list[Nfa] = field(default_factory=list)

    @property
    def n_states(self) -> int:
        """Number of states, `MATCH` included."""
        return len(self.edges)


def parse_pattern(
    pattern: str, *, name: str, flags: int = 0, max_states: int = DEFAULT_MAX_NFA_STATES
) -> Nfa:
    r"""Return the ordered NFA of a regular expression.

    Parameters
    ----------
    pattern : str
        A pattern of Python's ``re``.
    name : str
        The terminal's name, for messages.
    flags : int
        ``re`` flags in force from the start.
    max_states : int
        Limit on NFA states; counted repetitions are copied.

    Raises
    ------
    PatternError
        If ``re`` rejects the pattern or it uses what no automaton of this kind can express.
    LimitError
        If the NFA would exceed `max_states`.

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
        builder = _Builder(name, pattern, max_states)
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

    def __init__(self, name: str, pattern: str, max_states: int) -> None:
        self.nfa = Nfa()
        self._name = name
        self._pattern = pattern
        self._max_states = max_states
        self._characters: dict[tuple[int, int], int] = {}

    def sequence(self, items: Iterable[Any], following: int, flags: int) -> int:
        for item in reversed(list(items)):
            following = self._item(item, following, flags)
        return following

    def _item(self, item: tuple[Any, Any], following: int, flags: int) -> int:
        operator, argument = item
        kind = str(operator)
        if kind == "BRANCH":
            return self._split([self.sequence(part, following, flags) for part in argument[1]])
        if kind == "SUBPATTERN":
            _, added, removed, part = argument
            return self.sequence(part, following, (flags | added) & ~removed)
        if kind in ("MAX_REPEAT", "MIN_REPEAT"):
            return self._repeat(argument, following, flags, is_greedy=kind == "MAX_REPEAT")
        if kind in ("ASSERT", "ASSERT_NOT") and argument[0] < 0:
            return self._look_behind(argument[1], following, flags, is_negated=kind != "ASSERT")
        if kind in _UNSUPPORTED:
            raise PatternError(
                f"terminal {self._name} uses {_UNSUPPORTED[kind]}, which is not supported, "
                f"in /{self._pattern}/; rewrite the terminal without it"
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

    def _look_behind(self, body: Any, following: int, flags: int, *, is_negated: bool) -> int:
        inner = _Builder(self._name, self._pattern, self._max_states)
        inner.nfa.start = inner.sequence(body, MATCH, flags)
        if inner.nfa.guards:
            raise PatternError(
                f"terminal {self._name} uses a look-behind inside a look-behind, which is not "
                f"supported, in /{self._pattern}/; rewrite the terminal without it"
            )
        self.nfa.behinds.append(inner.nfa)
        guard = self._split([following])
        self.nfa.guards[guard] = (len(self.nfa.behinds) - 1, is_negated)
        return guard

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
        if self.nfa.n_states >= self._max_states:
            raise LimitError(
                f"terminal {self._name} needs more than {self._max_states} NFA states "
                "(max_nfa_states); lower its counted repetitions, or raise the limit"
            )
        self.nfa.edges.append(edges)
        self.nfa.splits.append(targets)
        return self.nfa.n_states - 1


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
        else:
            literals.append(argument if kind == "RANGE" else (argument, argument))
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
