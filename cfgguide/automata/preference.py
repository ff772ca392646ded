"""Which match a pattern prefers, and which texts may begin a match.

In: a pattern of Python's ``re``. Out: whether the match that ``re`` prefers is the longest one
(:func:`is_longest_first`), whether a text may be the beginning of a match or hold one
(:func:`may_begin`), or be one (:func:`may_match`), and with which characters matches begin
(:func:`first_characters`).

The ordered threads of a pattern are followed twice: cut after the first that matches, as Lark reads
a terminal, and uncut. If a text matches only uncut, ``re`` prefers a shorter match::

    a|ab   after "a":  cut {match}   uncut {match, before b}
           after "ab": cut {}        uncut {match}             not longest first

Source: Russ Cox, "Regular Expression Matching in the Wild" (2010), leftmost-first matching.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cfgguide.automata import syntax
from cfgguide.automata.charset import ANY_CHARACTER, CharacterClass, characters_of
from cfgguide.automata.look_behind import moves
from cfgguide.automata.nfa import MATCH, Nfa, closure, parse_pattern
from cfgguide.base.sets import reached_from
from cfgguide.errors import LimitError

_MAX_PAIRS = 2000  # of cut and uncut threads that `is_longest_first` visits
_MAX_THREADS = 100_000  # in all of these
_MAX_EMPTY = 20_000  # threads more than states, where empty moves lead on from each state


def is_longest_first(pattern: str) -> bool:
    """Return whether ``re`` prefers all of each text that the pattern matches as a whole.

    False also if that takes too long to decide.

    Parameters
    ----------
    pattern : str
        A pattern that does not look around.

    Examples
    --------
    >>> is_longest_first("ab|a"), is_longest_first("(?:a|ab)(?:c|bcd)?")
    (True, False)
    """
    try:
        nfa = parse_pattern(pattern, name="TEXT")
    except LimitError:
        return False
    threads_of: list[tuple[int, ...]] = []
    n_threads = 0
    for state in range(nfa.n_states):
        threads_of.append(closure(nfa, state, (), {})[0])
        n_threads += len(threads_of[state]) - 1
        if n_threads > _MAX_EMPTY:
            return False
    first = _Threads((nfa.start,), (nfa.start,), nfa, threads_of)
    seen = {first.key}
    pending = [first]
    n_threads = 0
    while pending and len(seen) < _MAX_PAIRS and n_threads < _MAX_THREADS:
        threads = pending.pop()
        n_threads += len(threads.key[1])
        if threads.is_cut_short:
            return False
        for following in threads.following():
            if following.key not in seen:
                seen.add(following.key)
                pending.append(following)
    return not pending


class _Threads:
    """The threads that are left when they are cut at a match, and all threads.

    Parameters
    ----------
    preferred : iterable of int
        NFA states that are entered, most preferred first.
    every : iterable of int
        The same without cuts.
    nfa : Nfa
        The NFA of the states.
    threads_of : list of tuple of int
        For each NFA state, the threads that empty moves lead to.
    """

    def __init__(
        self,
        preferred: Iterable[int],
        every: Iterable[int],
        nfa: Nfa,
        threads_of: list[tuple[int, ...]],
    ) -> None:
        self._nfa = nfa
        self._threads_of = threads_of
        cut = tuple(dict.fromkeys(thread for state in preferred for thread in threads_of[state]))
        if MATCH in cut:
            cut = cut[: cut.index(MATCH) + 1]
        self.key = (cut, frozenset(thread for state in every for thread in threads_of[state]))

    @property
    def is_cut_short(self) -> bool:
        """Whether the text matches as a whole, but not if threads are cut."""
        cut, uncut = self.key
        return MATCH in uncut and MATCH not in cut

    def following(self) -> Iterable[_Threads]:
        """Yield the threads after each kind of byte."""
        cut, uncut = self.key
        edges = [edge for thread in sorted(uncut) for edge in self._nfa.edges[thread]]
        for low, _, every in moves(edges, []) if edges else []:
            preferred = [
                target
                for thread in cut
                for first, last, target in self._nfa.edges[thread]
                if first <= low <= last
            ]
            if every:
                yield _Threads(preferred, every, self._nfa, self._threads_of)


def may_begin(pattern: str, text: str) -> bool:
    """Return whether a pattern may match at the start of some text with this prefix.

    Look-around is assumed to hold.

    Raises
    ------
    PatternError, LimitError
        As :func:`cfgguide.automata.nfa.parse_pattern`.

    Examples
    --------
    >>> may_begin("<[a-z]+>", "<call>"), may_begin("<(?!<)", "<call>"), may_begin("[<>]=", "<call>")
    (True, True, False)
    """
    *before, states = _read(parse_pattern(pattern, name="TEXT"), text)
    return bool(states) or any(MATCH in each for each in before)


def may_match(pattern: str, text: str) -> bool:
    r"""Return whether a pattern may match a text as a whole, if look-around is assumed to hold.

    Raises
    ------
    PatternError, LimitError
        As :func:`cfgguide.automata.nfa.parse_pattern`.

    Examples
    --------
    >>> may_match("[0-9]+[.]?|[.][0-9]", "."), may_match(r"a|\.(?!a)", ".")
    (False, True)
    """
    *_, states = _read(parse_pattern(pattern, name="TEXT"), text)
    return MATCH in states


def _read(nfa: Nfa, text: str) -> Iterator[list[int]]:
    """Yield the states at the start of a text, and after each byte of it."""
    states = _reached(nfa, [nfa.start])
    yield states
    for byte in text.encode():
        states = _reached(
            nfa,
            [
                target
                for state in states
                for low, high, target in nfa.edges[state]
                if low <= byte <= high
            ],
        )
        yield states


def first_characters(pattern: str) -> CharacterClass:
    """Return the characters with which matches of a pattern may begin.

    Look-around is assumed to hold.

    Raises
    ------
    re.error, ValueError, OverflowError, RecursionError
        As :func:`cfgguide.automata.syntax.parse`.

    Examples
    --------
    >>> first_characters("(?=a)[xy]|(?i:b)?c").ranges
    ((66, 66), (98, 99), (120, 121))
    """
    tree = syntax.parse(pattern)
    ranges, _ = _first(tree.nodes, tree.flags)
    return CharacterClass.of(ranges)


def _first(nodes: syntax.Nodes, flags: int) -> tuple[list[tuple[int, int]], bool]:
    """Return the first characters of matches of nodes, and whether a match may be empty."""
    found: list[tuple[int, int]] = []
    for node in nodes:
        match node:
            case syntax.Anchor() | syntax.Look():
                continue
            case syntax.Alternation() | syntax.Group() | syntax.Repeat():
                inside = node.flags_inside(flags) if isinstance(node, syntax.Group) else flags
                firsts = [_first(branch, inside) for branch in syntax.branches_of(node)]
                found += [each for ranges, _ in firsts for each in ranges]
                is_empty = any(empty for _, empty in firsts)
                if not is_empty and not (isinstance(node, syntax.Repeat) and not node.min_count):
                    return found, False
            case syntax.Unsupported():
                return [*ANY_CHARACTER.ranges], True
            case _:
                return [*found, *characters_of(node, flags).ranges], False
    return found, True


def _reached(nfa: Nfa, states: Iterable[int]) -> list[int]:
    """Return what empty moves lead to."""
    return list(reached_from(states, nfa.splits.__getitem__))
