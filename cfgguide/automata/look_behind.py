"""What look-behinds have seen of a text, byte by byte.

In: the NFAs of a pattern's look-behind bodies. Out: a :class:`LookBehind`, which runs each of them
from every position of the text at once. What they have seen is a tuple of sets of NFA states. A
look-behind holds where its set has the matching state. All that they may have seen at the start of
a lexeme are the *contexts* of the pattern.
"""

from __future__ import annotations

from array import array
from functools import cached_property
from itertools import count, pairwise

from cfgguide.automata.dfa import N_BYTES
from cfgguide.automata.nfa import MATCH, Nfa, closure
from cfgguide.base.limits import Budget
from cfgguide.base.locks import new_lock
from cfgguide.base.numbered import Numbered
from cfgguide.base.remembered import remembered

Behind = tuple[frozenset[int], ...]  # per look-behind, the states of its NFA
Edge = tuple[int, int, int]  # first byte, last byte, next state


_MAX_SHARED = 64
_SHARED: dict[tuple[tuple[str, ...], ...], LookBehind] = {}  # the oldest first
_LOCK = new_lock()


class LookBehind:
    """The look-behinds of a pattern; equal ones are shared by all patterns, see :meth:`of`."""

    def __init__(self, behinds: list[Nfa]) -> None:
        self._behinds = behinds
        self._contexts: dict[Behind, array[int]] | None = None

    @classmethod
    def of(cls, behinds: list[Nfa]) -> LookBehind:
        """Return the look-behinds with these NFAs; each may have guards on those before it."""
        key = tuple(nfa.moves for nfa in behinds)
        with _LOCK:
            if key not in _SHARED:
                _SHARED[key] = cls(behinds)
                while len(_SHARED) > _MAX_SHARED:
                    del _SHARED[next(iter(_SHARED))]
            return _SHARED[key]

    @cached_property
    def before_any(self) -> Behind:
        """What has been seen of the empty text."""
        return self._seen(tuple(frozenset[int]() for _ in self._behinds))

    @remembered
    def later(self, behind: Behind, byte: int) -> Behind:
        """Return what has been seen after one more byte."""
        if not behind:
            return behind
        return self._seen(
            tuple(
                frozenset(
                    target
                    for state in states
                    for low, high, target in nfa.edges[state]
                    if low <= byte <= high
                )
                for nfa, states in zip(self._behinds, behind, strict=True)
            )
        )

    def edges(self, behind: Behind) -> list[Edge]:
        """Return the edges that the next byte may take."""
        return [
            edge
            for nfa, states in zip(self._behinds, behind, strict=bool(behind))
            for state in states
            for edge in nfa.edges[state]
        ]

    def contexts(self, budget: Budget, who: str) -> dict[Behind, array[int]]:
        """Return all contexts, and for each the index of the context after each byte.

        Raises
        ------
        LimitError
            If there are more than `max_fsm_states`.
        """
        if self._contexts is None:
            self._contexts = self._found_contexts(budget, who)
        return self._contexts

    def _found_contexts(self, budget: Budget, who: str) -> dict[Behind, array[int]]:
        numbers = Numbered[Behind](self.before_any)
        rows: dict[Behind, array[int]] = {}
        for behind in numbers.order:  # grows while it is walked
            budget.check("max_fsm_states", len(rows), who)
            row = rows[behind] = array("i", [0]) * N_BYTES
            for low, high, _ in moves([], [*self.edges(behind), (0, N_BYTES - 1, 0)]):
                number = numbers[self.later(behind, low)]
                row[low : high + 1] = array("i", [number]) * (high + 1 - low)
        return rows

    @remembered
    def _seen(self, reached: Behind) -> Behind:
        """Return what has been seen once threads have reached these states."""
        seen: list[frozenset[int]] = []
        for nfa, targets in zip(self._behinds, reached, strict=True):
            known = truths(tuple(seen))  # a look-behind has guards only on those before it
            closures = [closure(nfa, state, known, {})[0] for state in (nfa.start, *targets)]
            seen.append(frozenset().union(*closures))
        return tuple(seen)


def truths(behind: Behind) -> tuple[bool, ...]:
    """Return which look-behinds hold."""
    return tuple(MATCH in states for states in behind)


def moves(
    edges: list[tuple[int, int, int]], others: list[tuple[int, int, int]]
) -> list[tuple[int, int, tuple[int, ...]]]:
    """Return (first byte, last byte, ordered targets of `edges`) for ranges of bytes.

    All bytes of a range take the same edges of `edges` and of `others`.
    """
    both = [*edges, *others]
    cuts = sorted({low for low, _, _ in both} | {high + 1 for _, high, _ in both})
    place_of = dict(zip(cuts, count(), strict=False))
    targets: list[list[int]] = [[] for _ in cuts]
    for low, high, target in edges:
        for place in range(place_of[low], place_of[high + 1]):
            targets[place].append(target)
    return [
        (low, following - 1, tuple(some))
        for (low, following), some in zip(pairwise(cuts), targets, strict=False)
    ]
