r"""Patterns whose preferred match is the longest one.

In: a pattern, or an automaton. Out: a pattern for the same texts of which ``re`` prefers the
longest match on every text.

Why this matters: Lark's dynamic lexer asks ``re`` for a match on the whole text, and then, with
`dynamic_complete`, on each beginning of that match (lark/parsers/xearley.py). It finds all ends of
a terminal if, and only if, ``re`` matches all of each text that the pattern describes. ``a|ab``
never matches all of "ab".

A pattern is taken as it is if it is deterministic, or if its threads show that it is good
(:func:`~cfgguide.automata.preference.is_longest_first`). Otherwise it, or the smallest parts that
are to blame, is made anew from a minimal automaton. From a state, a text either comes back to it,
after which it may go on in the same way, or it never does::

    P(q) = (texts from q to q)* (texts from q that do not come back to q)

The first are tried first. An automaton has one way to read a text; so if it comes back to the state
at all, all ends after that are later than all ends before. Inside, the state is blocked, so this
comes to an end; it may get large, and then there is no pattern.
"""

from __future__ import annotations

from cfgguide.automata.charset import CharacterClass
from cfgguide.automata.language import Language
from cfgguide.automata.pattern_automaton import language_of
from cfgguide.automata.pattern_tree import Characters, Choice, Node, Repeat
from cfgguide.automata.preference import is_longest_first
from cfgguide.errors import SchemaError
from cfgguide.grammar.notations.character_patterns import (
    EMPTY,
    Pattern,
    either,
    in_row,
    one_of_characters,
    times,
)

# States of an automaton, and sets of a pattern once counts are written out.
_MAX_AUTOMATON = 600
_MAX_POSITIONS = 2_000
#: Groups inside each other.
MAX_DEPTH = 60
#: Moves of a pattern that is made from an automaton, and states on one way through it.
MAX_MOVES = 1_500
MAX_STATES = 200
#: Sets, with counts written out, of a part that is made anew.
_MAX_PART = 200


def longest_first(pattern: Pattern) -> Pattern | None:
    """Return a pattern for the same texts that prefers the longest match, or None.

    Parameters
    ----------
    pattern : Pattern
        A pattern that no empty text matches.

    Examples
    --------
    >>> from cfgguide.grammar.notations.character_patterns import of_text
    >>> longest_first(either([of_text("<"), of_text("<="), of_text(">")])).written
    '<=?|>'
    """
    if pattern.is_deterministic or is_longest_first(pattern.written):
        return pattern
    better = _with_better_parts(pattern)
    if better.is_deterministic or is_longest_first(better.written):
        return better
    automaton = automaton_of(pattern)
    return None if automaton is None else from_automaton(automaton)


def automaton_of(pattern: Pattern) -> Language | None:
    """Return the minimal automaton of a pattern, or None if it would be large.

    Examples
    --------
    >>> from cfgguide.grammar.notations.character_patterns import of_text
    >>> automaton_of(either([of_text("a"), of_text("ab")])).words(9)
    ['a', 'ab']
    """
    if pattern.n_positions > _MAX_POSITIONS:
        return None
    try:
        return language_of((_node(pattern),), _MAX_AUTOMATON)
    except SchemaError:
        return None


def _node(pattern: Pattern) -> Node:
    """Return a pattern as the tree of all notations."""
    parts = tuple(map(_node, pattern.parts))
    match pattern.kind:
        case "set":
            return Characters(CharacterClass.of(pattern.ranges))
        case "row":
            return Choice((parts,))
        case "choice":
            return Choice(tuple([(part,) for part in parts]))
    return Repeat(parts, pattern.least, pattern.most)


def _with_better_parts(pattern: Pattern) -> Pattern:
    """Return a pattern for the same texts with deterministic parts, as far as these are found."""
    if pattern.is_deterministic:
        return pattern
    parts = [_with_better_parts(part) for part in pattern.parts]
    match pattern.kind:
        case "row":
            better = in_row(parts)
        case "choice":
            better = either(parts)
        case _:
            better = times(parts[0], pattern.least, pattern.most)
    if better.is_deterministic or better.is_optional or better.n_positions > _MAX_PART:
        return better
    automaton = automaton_of(better)
    anew = None if automaton is None else from_automaton(automaton)
    return anew if anew is not None and anew.is_deterministic else better


def from_automaton(automaton: Language) -> Pattern | None:
    """Return a pattern for the texts of an automaton that are not empty, or None if it is large."""
    try:
        return _Structure(automaton).pattern()
    except _TooLargeError:
        return None


class _TooLargeError(Exception):
    """The pattern would be too large."""


class _Structure:
    def __init__(self, automaton: Language) -> None:
        self._automaton = automaton
        self._n_moves = 0

    def pattern(self) -> Pattern | None:
        options = self._going_on(self._automaton.start, frozenset(), None)
        return either(options) if options else None

    def _going_on(self, state: int, blocked: frozenset[int], goal: int | None) -> list[Pattern]:
        """Return the ways from a state, over one character or more, to the goal or to an end."""
        found = []
        moves = self._automaton.moves[state]
        for target in sorted(moves, key=moves.__getitem__):
            if target in blocked and target != goal:
                continue
            self._n_moves += 1
            if self._n_moves > MAX_MOVES or len(blocked) > MAX_STATES:
                raise _TooLargeError
            character = one_of_characters(moves[target])
            rest = EMPTY if target == goal else self._from(target, blocked, goal)
            if rest is not None:
                found.append(_counted(character, rest))
        return found

    def _from(self, state: int, blocked: frozenset[int], goal: int | None) -> Pattern | None:
        """Return all ways from a state to the goal, or to an end if there is no goal."""
        inside = blocked | {state}
        ends = self._going_on(state, inside, goal)
        is_end = goal is None and state in self._automaton.accepting
        if not ends and not is_end:
            return None
        back = self._going_on(state, inside, state)
        loop = [times(either(back), 0, None)] if back else []
        end = [_perhaps(either(ends), is_end=is_end)] if ends else []
        return in_row([*loop, *end])


def _counted(character: Pattern, rest: Pattern) -> Pattern:
    """Return a character and what follows it: ``a`` and ``a{0,3}b`` are ``a{1,4}b``."""
    first, *others = rest.parts if rest.kind == "row" and rest.parts else [rest]
    if first.kind != "repeat" or first.parts[0].ranges != character.ranges:
        return in_row([character, rest])
    most = None if first.most is None else first.most + 1
    return in_row([times(character, first.least + 1, most), *others])


def _perhaps(pattern: Pattern, *, is_end: bool) -> Pattern:
    """Return a pattern that may be left out if a text may end here."""
    if not is_end:
        return pattern
    if pattern.kind == "repeat" and pattern.least == 1:
        return times(pattern.parts[0], 0, pattern.most)
    return times(pattern, 0, 1)
