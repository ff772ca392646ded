"""Short ends of lexemes.

In: an automaton of lexemes, a key of it, and the tags that may come. Out: the shortest text that
ends the lexeme, and its tag; of several, the first in the order of bytes. Characters are written in
one way each (:meth:`~cfgguide.engine.byte_machine.scalars.ScalarAutomaton.steps`).
"""

from __future__ import annotations

import heapq
from itertools import count
from typing import Any, NamedTuple

from cfgguide.engine.byte_machine.scalars import Pop, ScalarAutomaton

_MAX_KNOWN = 100_000


class Written(NamedTuple):
    """A text, and the tag of what it ends."""

    text: bytes
    tag: int


class ShortestLexemes:
    """Ends lexemes.

    Parameters
    ----------
    used : frozenset of int
        The bytes that may be written.

    Examples
    --------
    >>> from cfgguide.engine.byte_machine.property_names import PropertyNames
    >>> names = PropertyNames(["size", "sizes"], None)
    >>> ShortestLexemes(frozenset(range(256))).end(names, names.start)
    Written(text=b'size"', tag=0)
    >>> ShortestLexemes(frozenset(range(256))).end(names, names.start, tags=0b10)
    Written(text=b'sizes"', tag=1)
    """

    def __init__(self, used: frozenset[int]) -> None:
        self._used = used
        self._known: dict[tuple[ScalarAutomaton, Any, int], Written | None] = {}

    def end(self, lexemes: ScalarAutomaton, key: Any, *, tags: int = -1) -> Written | None:
        """Return the shortest text that ends a lexeme.

        Parameters
        ----------
        lexemes : ScalarAutomaton
            The automaton.
        key : key
            Where it is.
        tags : int
            Those that may come, as bits; by default all.
        """
        if (lexemes, key, tags) in self._known:
            return self._known[lexemes, key, tags]
        return self._found(lexemes, key, tags)

    def _found(self, lexemes: ScalarAutomaton, first: Any, tags: int) -> Written | None:
        """Look for it along the keys that are nearest to an end.

        No byte makes the least number of bytes to come less by more than one, and a text comes
        after its beginnings in the order of bytes, so a key is met by the right text first (Hart,
        Nilsson, Raphael, "A formal basis for the heuristic determination of minimum cost paths",
        1968).
        """
        number = count()
        texts: dict[Any, bytes] = {}  # the least of the shortest that lead to each key
        pending: list[tuple[float, bytes, int, Any]] = [(0, b"", next(number), first)]
        while pending:
            _, text, _, key = heapq.heappop(pending)
            if isinstance(key, Pop):
                return self._remembered(lexemes, tags, texts, Written(text, key.tag))
            if key in texts:
                continue
            texts[key] = text
            known = self._known.get((lexemes, key, tags))
            # The shortest rest from there is known, so nothing beyond that key is searched again.
            if known is not None:
                longer = text + known.text
                heapq.heappush(pending, (len(longer), longer, next(number), Pop(known.tag)))
                continue
            traits = lexemes.traits(key)
            if traits.below is not None and not traits.below[0] & tags:
                continue
            if traits.ending >= 0 and tags >> traits.ending & 1:
                heapq.heappush(pending, (len(text), text, next(number), Pop(traits.ending)))
            for step, after in lexemes.steps(key, self._used):
                if not isinstance(after, Pop) or tags >> after.tag & 1:
                    longer = text + step
                    rest = 0 if isinstance(after, Pop) else lexemes.nearest(after)
                    heapq.heappush(pending, (len(longer) + rest, longer, next(number), after))
        # All that can be reached was met without an end, so there is none from any of these keys.
        self._known |= dict.fromkeys(((lexemes, key, tags) for key in texts), None)
        return None

    def _remembered(
        self, lexemes: ScalarAutomaton, tags: int, texts: dict[Any, bytes], found: Written
    ) -> Written:
        """Remember the rests of a text: what is shortest from each key on its way."""
        if len(self._known) > _MAX_KNOWN:
            self._known.clear()
        for key, text in texts.items():
            if found.text.startswith(text):
                rest = Written(found.text[len(text) :], found.tag)
                self._known[lexemes, key, tags] = rest
        return found
