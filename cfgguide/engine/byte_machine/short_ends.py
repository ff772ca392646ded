"""Short ends of lexemes.

In: an automaton of lexemes, a key of it, and the tags that may come. Out: the shortest text that
ends the lexeme, and its tag; of several, mostly the first in the order of bytes. Characters are
written in one way each (:meth:`~cfgguide.engine.byte_machine.scalars.ScalarAutomaton.steps`).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from itertools import count
from operator import itemgetter
from typing import Any, NamedTuple

from cfgguide.base.bounded import BoundedDict
from cfgguide.base.limits import LONGEST, check_step
from cfgguide.engine.byte_machine.scalars import ScalarAutomaton, Target, is_end

_MAX_KNOWN = 100_000
_MAX_WAYS = 10_000  # keys, each with all of its ways on
_N_EXACT = 300  # keys that are met while the shortest text is looked for, rather than any


class Written(NamedTuple):
    """A text, and the tag of what it ends."""

    text: bytes
    tag: int


class _Step(NamedTuple):
    """The bytes that lead on, and where: to a key, or to the end; and how many there are to it."""

    data: bytes
    after: Any
    length: int


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
        # Of each key only how it goes on: the rests of all keys of a long text would be too large.
        self._known: dict[tuple[ScalarAutomaton, Any, int], _Step | None] = {}
        # Of each key all ways on: how many bytes there are to an end, where to, after which bytes.
        self._ways: BoundedDict[tuple[ScalarAutomaton, Any, int], tuple[Any, ...]]
        self._ways = BoundedDict(_MAX_WAYS)

    def end(self, lexemes: ScalarAutomaton, key: Any, *, tags: int = -1) -> Written | None:
        """Return the shortest text that ends a lexeme; None if each has more than `LONGEST` bytes.

        Parameters
        ----------
        lexemes : ScalarAutomaton
            The automaton.
        key : key
            Where it is.
        tags : int
            Those that may come, as bits; by default all.
        """
        if lexemes.nearest(key) > LONGEST:
            return None
        known = lexemes.known_end(key, tags, self._used)
        if known is not None:
            return Written(*known) if len(known[0]) <= LONGEST else None
        if (lexemes, key, tags) not in self._known:
            if len(self._known) > _MAX_KNOWN:
                self._known.clear()
            self._find(lexemes, key, tags)
        return self._written(lexemes, key, tags)

    def ends(
        self,
        lexemes: ScalarAutomaton,
        first: Any,
        tags: int,
        step: Callable[[], None] = check_step,
    ) -> Iterator[Written]:
        """Yield all texts that end a lexeme, the shortest first; `step` is called for each key."""
        number = count()
        pending: list[tuple[int, int, int, bytes, Any, bytes]] = []

        def add(price: int, text: bytes, after: Any, others: bytes) -> None:
            heapq.heappush(pending, (price, -len(text), next(number), text, after, others))

        def add_following(text: bytes, key: Any) -> None:
            for n, after, following in self._ways_on(lexemes, key, tags):
                add(len(text) + n, text + following[:1], after, following[1:])

        add_following(b"", first)
        while pending:
            step()
            price, _, _, text, key, others = heapq.heappop(pending)
            if others:  # the next byte that leads to the same
                add(price, text[:-1] + others[:1], key, others[1:])
            if is_end(key):
                yield Written(text, key)
            else:
                add_following(text, key)

    def _ways_on(self, lexemes: ScalarAutomaton, key: Any, tags: int) -> tuple[Any, ...]:
        """Return how a lexeme can go on, or end."""
        known = self._ways.get((lexemes, key, tags))
        if known is not None:
            return known
        found: list[tuple[int, Target, bytes]] = []
        ending = lexemes.traits(key).ending
        if ending >= 0 and tags >> ending & 1:
            found.append((0, ending, b""))
        for after, data in lexemes.row(key).following():
            following = bytes(sorted(self._used.intersection(data)))
            if not following:
                continue
            if not is_end(after):
                end = self.end(lexemes, after, tags=tags)
                if end is not None:
                    found.append((1 + len(end.text), after, following))
            elif after >= 0 and tags >> after & 1:
                found.append((1, after, following))
        self._ways[lexemes, key, tags] = tuple(found)
        return tuple(found)

    def _written(self, lexemes: ScalarAutomaton, key: Any, tags: int) -> Written | None:
        """Return what is known of a key."""
        parts = []
        while not is_end(key):
            check_step()
            step = self._known[lexemes, key, tags]
            if step is None:
                return None
            parts.append(step.data)
            key = step.after
        return Written(b"".join(parts), key)

    def _find(self, lexemes: ScalarAutomaton, first: Any, tags: int) -> None:
        """Look for it along the keys that are nearest to an end.

        No byte makes the least number of bytes to come less by more than one, so a key is met by a
        shortest text first (Hart, Nilsson, Raphael, "A formal basis for the heuristic determination
        of minimum cost paths", 1968). Of ways that are as long, the one that was begun last goes
        on, with its first byte: where distances are right, that is the first of all.

        Where distances are too small in many places, all keys would be met before an end. After
        some, keys that are near an end are preferred to short texts, and any end is as good.
        """
        order, is_near = count(0, -1), False
        before: dict[Any, tuple[Any, bytes]] = {}  # of each key the one before it, and the step
        pending: list[tuple[float, int, int, Any, Any, Any]] = [(0, 1, 0, first, None, b"")]
        while pending:
            check_step()
            if len(before) == _N_EXACT and not is_near:
                is_near = True
                pending = [(2 * way - n, place, n, *to) for way, place, n, *to in pending]
                heapq.heapify(pending)
            _, _, n, key, last, step = heapq.heappop(pending)
            if is_end(key) or isinstance(step, _Step):
                end = step if isinstance(step, _Step) else _Step(step, key, len(step))
                self._remember(lexemes, tags, before, last, end)
                return
            if key in before:
                continue
            before[key] = last, step
            listed = lexemes.known_end(key, tags, self._used)
            if listed is not None:
                way = n + len(listed[0])
                heapq.heappush(pending, (way, next(order), way, listed[1], key, listed[0]))
                continue
            # The shortest rest from there is known, so nothing beyond that key is searched again.
            if (lexemes, key, tags) in self._known:
                known = self._known[lexemes, key, tags]
                if known is not None:
                    way = n + known.length
                    heapq.heappush(pending, (way, next(order), way, key, key, known))
                continue
            traits, below = lexemes.traits(key), lexemes.below(key)
            if below is not None and not below & tags:
                continue
            for more, after in sorted(
                lexemes.steps(key, self._used), reverse=True, key=itemgetter(0)
            ):
                if not is_end(after) or tags >> after & 1:
                    longer = n + len(more)
                    rest = 0 if is_end(after) else lexemes.nearest(after)
                    rest *= 2 if is_near else 1
                    heapq.heappush(pending, (longer + rest, next(order), longer, after, key, more))
            if traits.ending >= 0 and tags >> traits.ending & 1:
                heapq.heappush(pending, (n, next(order), n, traits.ending, key, b""))
        # All that can be reached was met without an end, so there is none from any of these keys.
        self._known |= dict.fromkeys(((lexemes, key, tags) for key in before), None)

    def _remember(
        self,
        lexemes: ScalarAutomaton,
        tags: int,
        before: dict[Any, tuple[Any, bytes]],
        key: Any,
        step: _Step,
    ) -> None:
        """Remember how all keys on the way to an end go on, from the last one back."""
        while True:
            check_step()
            self._known.setdefault((lexemes, key, tags), step)
            last, data = before[key]
            if last is None:
                return
            key, step = last, _Step(data, key, len(data) + step.length)
