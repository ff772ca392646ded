r"""Automata of patterns, made deterministic while texts are read.

In: the tree of a pattern (:mod:`cfgguide.automata.pattern_tree`). Out: an automaton over code
points (:func:`automaton_of`), whose states are made as texts reach them; or all of it at once
(:func:`language_of`). A text of twenty characters meets few of the sets that ``{1,2048}`` has.

A state is a set of *rests*: what may still come, as a stack of places in sequences and of loops
with the rounds that are left. Counts are numbers there, and are never written out::

    (ab?){2,9}   after "a":   { b?)(ab?){1,8} }     after "ab":   { (ab?){1,8} }

A rest that another one of the state includes is left out: the same with fewer rounds to come at
least, and more at most. So nested counts stay few.

A look-behind is a condition on the text so far: the automaton of what it may end in reads along,
from the start of the text. A look-ahead is an *obligation*: the automaton of what has to follow
reads the rest of the text, and a way to match that owes something counts only if that is met at the
end. Then a state may lead to no end; :class:`~cfgguide.automata.side_by_side.SideBySide` finds out.

Source: Antimirov, "Partial Derivatives of Regular Expressions and Finite Automaton Constructions"
(1996), for sets of rests.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache, reduce
from math import inf, prod
from typing import Any, NamedTuple

from cfgguide.automata.alphabet import Alphabet, Fewest, alphabet_of, fewer
from cfgguide.automata.charset import ANY_CHARACTER
from cfgguide.automata.language import (
    DEAD,
    MAX_STATES,
    NO_TEXTS,
    Language,
    Lengths,
    Lettered,
    smallest,
)
from cfgguide.automata.pattern_tree import (
    END,
    START,
    Characters,
    Choice,
    Look,
    Node,
    Nodes,
    Repeat,
    inside,
    walk,
)
from cfgguide.automata.side_by_side import SideBySide
from cfgguide.base.limits import check_step
from cfgguide.base.locks import new_rlock
from cfgguide.base.sets import members
from cfgguide.errors import SchemaError

_MAX_COMPARED = 64  # rests of one shape that are compared with each other
_MAX_INTERVALS = 8  # of lengths
_NEVER = 64  # bits of a number of characters that no text has

ANYTHING = Repeat((Characters(ANY_CHARACTER),), 0, None)

MATCH = 0  # the rest of which nothing is left

Interval = tuple[float, float]  # the least and the most characters


def automaton_of(nodes: Nodes) -> GrowingAutomaton:
    """Return an automaton of the texts that a pattern matches as a whole.

    Raises
    ------
    SchemaError
        If a look-behind has what is not supported there.

    Examples
    --------
    >>> from cfgguide.automata.charset import CharacterClass
    >>> from cfgguide.automata.language import accepts
    >>> from cfgguide.automata.pattern_tree import Characters, Repeat
    >>> a = Characters(CharacterClass.of_characters([97]))
    >>> found = automaton_of((Repeat((Repeat((a,), 2, 1000),), 2, 1000),))
    >>> [accepts(found, "a" * n) for n in (3, 4, 5)]
    [False, True, True]
    """
    made = _automaton(nodes, _alphabet(nodes))
    return SideBySide([made]) if isinstance(made, LookingAutomaton) else made


def language_of(nodes: Nodes, most: int = MAX_STATES) -> Language:
    """Return the language of the texts that a pattern matches as a whole.

    Raises
    ------
    SchemaError
        If that takes more than `most` states, or as :func:`automaton_of`.
    """
    return _automaton(nodes, _alphabet(nodes)).whole(most)


def anywhere(nodes: Nodes) -> Nodes:
    """Return the pattern of the texts in which a pattern is found."""
    if nodes[:1] == (START,) and nodes[-1:] == (END,):
        return nodes[1:-1]
    if len(nodes) == 1 and isinstance(nodes[0], Choice):
        return (Choice(tuple(map(anywhere, nodes[0].branches))),)
    before = () if nodes[:1] == (START,) else (ANYTHING,)
    behind = () if nodes[-1:] == (END,) else (ANYTHING,)
    return (*before, *nodes[1 - len(before) : len(nodes) - 1 + len(behind)], *behind)


def _alphabet(nodes: Nodes) -> Alphabet:
    """Return what a pattern and all its looks read alike."""
    classes = [node.characters for node in walk(nodes) if isinstance(node, Characters)]
    return alphabet_of([ANY_CHARACTER, *classes])


def _automaton(nodes: Nodes, alphabet: Alphabet) -> PatternAutomaton:
    program = _Program(nodes, alphabet)
    if not program.conditions:
        return PatternAutomaton(program)
    return LookingAutomaton(program, _Behinds(nodes, alphabet))


def _without_counts(nodes: Nodes) -> Nodes:
    """Return a pattern of which all rounds but the first may be left out or come again."""
    return tuple(map(_uncounted, nodes))


def _uncounted(node: Node) -> Node:
    match node:
        case Choice():
            return Choice(tuple(map(_without_counts, node.branches)))
        case Repeat():
            most = node.most if node.most in (0, 1) else None
            return Repeat(_without_counts(node.body), min(node.least, 1), most)
    return node


class _Loop(NamedTuple):
    """A repetition whose rounds are counted as they are read.

    Attributes
    ----------
    body : int
        The sequence of a round.
    number : int
        Of the loop; loops of one number differ only in their counts.
    least, most : int, int or None
        Rounds that have to come, and that may come.
    is_fresh : bool
        Whether the round before it began where the text is now. It was empty then, and could be
        repeated as often as is asked for.
    """

    body: int
    number: int
    least: int
    most: int | None
    is_fresh: bool = False


class _Ways(NamedTuple):
    """One of some sequences."""

    bodies: tuple[int, ...]


#: What sequences are made of; a number stands for letters, as bits.
_Item = int | _Ways | _Loop | Node


#: What may still come: the sequence of which something comes first, or the loop; where in the
#: sequence; and the number of the rest that comes after the sequence or the loop.
_Rest = tuple[int | _Loop, int, int]


class _Size(NamedTuple):
    """How many characters something may have, and whether it asks for the text before it.

    Attributes
    ----------
    lengths : tuple of (float, float)
        Intervals, sorted and not adjacent; there are none where nothing matches.
    is_exact : bool
        Whether all numbers in the intervals are lengths; the ends of all of them always are bounds.
    looks_behind : bool
    n_bytes : (float, float)
        The fewest.
    """

    lengths: tuple[Interval, ...]
    is_exact: bool = True
    looks_behind: bool = False
    n_bytes: Fewest = (0, 0)

    @property
    def shortest(self) -> float:
        """The fewest characters."""
        return self.lengths[0][0] if self.lengths else inf

    @property
    def longest(self) -> float:
        """The most characters."""
        return self.lengths[-1][1] if self.lengths else -inf

    def then(self, other: _Size) -> _Size:
        """Return the size of one after the other."""
        if other is _EMPTY:
            return self
        if self is _EMPTY:
            return other
        sums = [(a + c, b + d) for a, b in self.lengths for c, d in other.lengths]
        (raw, quoted), (more, more_quoted) = self.n_bytes, other.n_bytes
        return self._with(other, sums, (raw + more, quoted + more_quoted))

    def either(self, other: _Size) -> _Size:
        """Return the size of one or the other."""
        n_bytes = fewer(self.n_bytes, other.n_bytes)
        return self._with(other, [*self.lengths, *other.lengths], n_bytes)

    def _with(self, other: _Size, lengths: list[Interval], n_bytes: Fewest) -> _Size:
        is_exact = self.is_exact and other.is_exact
        return _size(lengths, is_exact, self.looks_behind or other.looks_behind, n_bytes)

    def times(self, least: int, most: int | None) -> _Size:
        """Return the size of so many rounds."""
        if self.shortest == 0:  # rounds may be empty
            least = 0
        lengths = [each for each in self.lengths if each != (0, 0)]
        if least == 0 and (most == 0 or not lengths):
            return _EMPTY._replace(looks_behind=self.looks_behind)
        if not lengths:
            return _NOTHING._replace(looks_behind=self.looks_behind)
        raw, quoted = self.n_bytes
        n_bytes = (least * raw, least * quoted) if least else _EMPTY.n_bytes
        if (least, most) == (0, 1):
            return self.either(_EMPTY)
        (low, _), (_, high) = lengths[0], lengths[-1]
        end = inf if most is None else most
        found: list[Interval] = []
        for n in range(least, least + _MAX_INTERVALS + 1):
            if n > end:
                break
            if low <= 1 if n == 0 else (n + 1) * low <= n * high + 1:  # no gap from here on
                found.append((n * low, end * high))
                break
            found.append((n * low, n * high if n else 0))
        else:
            found = [(least * low, end * high)]
            return _size(found, False, self.looks_behind, n_bytes)
        is_exact = self.is_exact and len(lengths) == 1
        if not is_exact:
            found = [(least * low, end * high)]
        return _size(found, is_exact, self.looks_behind, n_bytes)


def _size(lengths: list[Interval], is_exact: bool, looks_behind: bool, n_bytes: Fewest) -> _Size:
    """Return a size of intervals in any order."""
    if len(lengths) > 1:
        merged: list[Interval] = []
        for low, high in sorted(lengths):
            if merged and low <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(merged[-1][1], high))
            else:
                merged.append((low, high))
        if len(merged) > _MAX_INTERVALS:
            merged, is_exact = [(merged[0][0], merged[-1][1])], False
        lengths = merged
    return _Size(tuple(lengths), is_exact, looks_behind, n_bytes)


_EMPTY, _NOTHING = _Size(((0, 0),)), _Size((), n_bytes=(inf, inf))


@lru_cache(maxsize=10_000)
def _one(size: _Size) -> _Size:
    """Return one object for all that are equal: most rests have the same few sizes."""
    return size


#: What a rest does first: it goes on as another one, after one of some letters, as bits, or where a
#: condition is met; or it is one of some rests, without any condition.
_Step = tuple[int, Node | None, int, tuple[int, ...]]


class _Program:
    """A pattern as sequences and loops, and its rests by number.

    Attributes
    ----------
    shapes : list of int
        Of each rest: equal for those that differ only in the counts of their loops.
    counts : list of tuple of (int, float)
        Of each rest the least and the most rounds of each loop.
    sizes : list of _Size
        Of each rest how many characters it may have.
    """

    def __init__(self, nodes: Nodes, alphabet: Alphabet) -> None:
        self._nodes = nodes
        self.alphabet = alphabet
        self.conditions: dict[Node, None] = {}
        self._bodies: list[tuple[_Item, ...]] = []
        self._body_sizes: list[list[_Size]] = []  # of what is left of each from each place on
        self._weights: list[int] = []  # of each body, its places with counts written out
        self._loops: dict[Node, _Loop] = {}
        self._shapes: dict[tuple[int, int, int], int] = {(-1, 0, 0): 0}
        # What is kept of rests and steps are their parts, which Python's garbage collector does not
        # look through. The first of all rests stands for none.
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._rests: list[tuple[Any, ...]] = [(0, 0, MATCH)]
        self.shapes = [0]
        self.counts: list[tuple[Interval, ...]] = [()]
        self.sizes = [_EMPTY]
        self._have_fresh = [False]  # loops
        self._steps: dict[int, _Step] = {}
        self.everything = -1
        self.everything = self.sequence(self._body((ANYTHING,)), 0, MATCH)
        whole = self._body(nodes)
        self.start = self.sequence(whole, 0, MATCH)
        #: How many places the pattern has, with counts written out.
        self.n_places = self._weights[whole] + 1

    # -- how a pattern is read -----------------------------------------------------------------

    def _body(self, nodes: Nodes) -> int:
        items = tuple(self._items(nodes))
        sizes = [_EMPTY]
        for item in reversed(items):
            check_step()
            size = self._size_of(item).then(sizes[-1])
            sizes.append(_one(size))
        self._bodies.append(items)
        self._body_sizes.append(sizes[::-1])
        self._weights.append(sum(map(self._weight_of, items)))
        return len(self._bodies) - 1

    def _items(self, nodes: Nodes) -> Iterator[_Item]:
        for node in nodes:
            check_step()
            match node:
                case Characters():
                    yield self.alphabet.bits(node.characters)
                case Choice((branch,)):
                    yield from self._items(branch)
                case Choice():
                    yield _Ways(tuple([self._body(branch) for branch in node.branches]))
                case Repeat(once, 1, 1):
                    yield from self._items(once)
                case Repeat():
                    if node not in self._loops:
                        body, number = self._body(node.body), len(self._loops)
                        least = 0 if self._is_optional(body) else node.least
                        self._loops[node] = _Loop(body, number, least, node.most)
                    yield self._loops[node]
                case _:
                    self.conditions[node] = None
                    yield node

    def _is_optional(self, body: int) -> bool:
        """Return whether the empty text matches everywhere."""
        return all(
            (isinstance(item, _Loop) and item.least == 0)
            or (isinstance(item, _Ways) and any(map(self._is_optional, item.bodies)))
            for item in self._bodies[body]
        )

    def _size_of(self, item: _Item) -> _Size:
        match item:
            case int():
                if not item:
                    return _NOTHING
                return _Size(((1, 1),), n_bytes=self.alphabet.n_bytes(item))
            case _Loop():
                return self._body_sizes[item.body][0].times(item.least, item.most)
            case _Ways(bodies):
                return reduce(_Size.either, [self._body_sizes[each][0] for each in bodies])
        looks_behind = any(_looks_behind(node) for node in walk((item,)))
        return _EMPTY._replace(looks_behind=True) if looks_behind else _EMPTY

    def _weight_of(self, item: _Item) -> int:
        match item:
            case _Loop():
                return max(self._weights[item.body], 1) * max(item.least, item.most or 1)
            case _Ways(bodies):
                return sum([self._weights[each] for each in bodies])
            case Look():
                return _Program(item.body, self.alphabet).n_places
        return 1

    @property
    def counts_rounds(self) -> bool:
        """Whether some loop has to be told how many rounds have come."""
        return any(loop.least > 1 or (loop.most or 0) > 1 for loop in self._loops.values())

    @property
    def n_guessed(self) -> int:
        """The places, each with what the looks of the pattern can be waiting for."""
        return self.n_places * prod(self._n_guessed_of(self._nodes, is_once=True))

    def _n_guessed_of(self, nodes: Nodes, *, is_once: bool) -> Iterator[int]:
        """Yield for each look how many sets of its places there are at a time.

        What has to follow once is in one place: which one, is guessed. What may have begun several
        times, or must not be met, is in several.
        """
        for node in nodes:
            is_one = is_once and not isinstance(node, Repeat)
            if isinstance(node, Look):
                n_places = _Program(node.body, self.alphabet).n_places + 1
                is_one = is_one and not (node.is_behind or node.is_negated)
                yield n_places + 1 if is_one else 1 << min(n_places, _NEVER)
            for inner in inside(node):
                yield from self._n_guessed_of(inner, is_once=is_one)

    # -- rests --------------------------------------------------------------------------------

    def sequence(self, body: int, place: int, below: int) -> int:
        """Return the rest of a body from a place on; loops stand on their own."""
        check_step()
        items = self._bodies[body]
        loops = []
        while place < len(items) and isinstance(item := items[place], _Loop):
            loops.append(item)
            place += 1
        if place < len(items):
            below = self._number((body, place, below))
        for loop in reversed(loops):
            below = self._loop(loop, below)
        return below

    def _loop(self, loop: _Loop, below: int) -> int:
        if loop.most == 0:
            return below
        if below == self.everything:  # which has all further rounds
            if loop.least == 0:
                return below
            loop = loop._replace(most=None)
        return self._number((loop, 0, below))

    def _number(self, rest: _Rest) -> int:
        head, place, below = rest
        parts = rest if isinstance(head, int) else (tuple(head), place, below)
        number = self._numbers.get(parts)
        if number is None:
            number = len(self._rests)
            shape, counts, has_fresh = (
                self.shapes[below],
                self.counts[below],
                self._have_fresh[below],
            )
            if isinstance(head, int):
                key, size = (head, place, shape), self._body_sizes[head][place]
            else:
                key, size = (-2 - head.number, 0, shape), self._size_of(head)
                counts = ((head.least, inf if head.most is None else head.most), *counts)
                has_fresh = has_fresh or head.is_fresh
            # In this order an interruption leaves, at most, a number to nobody.
            self.shapes[number:] = [self._shapes.setdefault(key, len(self._shapes))]
            self.counts[number:] = [counts]
            self.sizes[number:] = [_one(size.then(self.sizes[below]))]
            self._have_fresh[number:] = [has_fresh]
            self._rests.append(parts)
            self._numbers[parts] = number
        return number

    def _rest(self, number: int) -> _Rest:
        head, place, below = self._rests[number]
        return head if isinstance(head, int) else _Loop._make(head), place, below

    def shortest_text(
        self, rest: int, spelling: int, written: Sequence[bytes]
    ) -> tuple[bytes, int]:
        """Return the shortest text of a rest without conditions, and how many characters it has."""

        def of(items: Iterable[_Item]) -> Iterator[tuple[bytes, int]]:
            for item in items:
                check_step()
                match item:
                    case int():
                        letters = [written[letter] for letter in members(item)]
                        yield min(letters, key=lambda each: (len(each), each)), 1
                    case _Loop():
                        if item.least:
                            text, n = _joined(of(self._bodies[item.body]))
                            yield text * item.least, n * item.least
                    case _Ways(bodies):
                        sizes = {each: self._body_sizes[each][0].n_bytes for each in bodies}
                        body = min(bodies, key=lambda each: sizes[each][spelling])
                        yield from of(self._bodies[body])

        parts: list[tuple[bytes, int]] = []
        while rest != MATCH:
            head, place, rest = self._rest(rest)
            parts += of((head,) if isinstance(head, _Loop) else self._bodies[head][place:])
        return _joined(parts)

    def near(self, rest: int, n: int) -> int:
        """Return a rest whose loops have bounds of at most `n`, or none.

        What asks for more rounds asks for ``n + 1``: it does not end after `n` characters.
        """
        check_step()
        far = n + 1
        counts = self.counts[rest]
        if all(least <= far and (most <= n or most == inf) for least, most in counts):
            return rest
        passed = []
        while rest != MATCH:
            passed.append(self._rest(rest))
            rest = passed[-1][-1]
        for head, place, _ in reversed(passed):
            if isinstance(head, _Loop):
                most = None if head.most is None or head.most > n else head.most
                head = head._replace(least=min(head.least, far), most=most)
            rest = self._number((head, place, rest))
        return rest

    def unbounded(self, rest: int) -> tuple[int, tuple[int, int]] | None:
        """Return the rest of a class of characters that comes any number of times.

        With how often it comes in a rest that is nothing else; None for all others.
        """
        loop, _, below = self._rest(rest)
        if below != MATCH or not isinstance(loop, _Loop) or loop.most is None:
            return None
        if not (len(body := self._bodies[loop.body]) == 1 and isinstance(body[0], int)):
            return None
        return self._loop(loop._replace(least=0, most=None), MATCH), (loop.least, loop.most)

    @property
    def is_deterministic(self) -> bool:
        """Whether each text surely leads to one rest, if nobody counts."""
        program = _Program(_without_counts(self._nodes), self.alphabet)
        seen = {program.start: None}
        for rest in (queue := list(seen)):  # grows while it is walked
            letters = 0
            for _, (more, _, after, _) in program.steps([rest]):
                if letters & more:
                    return False
                letters |= more
                if more and after not in seen:
                    seen[after] = None
                    queue.append(after)
        return True

    def settled(self, rest: int) -> int:
        """Return a rest after a character: no round is empty any more."""
        passed = []
        while self._have_fresh[rest]:
            passed.append(self._rest(rest))
            rest = passed[-1][-1]
        for head, place, _ in reversed(passed):
            settled = head if isinstance(head, int) else head._replace(is_fresh=False)
            rest = self._number((settled, place, rest))
        return rest

    def step(self, rest: int) -> _Step:
        """Return what a rest does first."""
        found = self._steps.get(rest)
        if found is None:
            found = self._steps[rest] = self._first_step(rest)
        return found

    def _first_step(self, rest: int) -> _Step:
        if rest == MATCH:
            return 0, None, MATCH, ()
        head, place, below = self._rest(rest)
        if isinstance(head, _Loop):
            return self._live(self._rounds(head, below))
        item = self._bodies[head][place]
        after = self.sequence(head, place + 1, below)
        if isinstance(item, int):
            after = self.settled(after)
            return item if self.sizes[after].lengths else 0, None, after, ()
        if isinstance(item, _Ways):
            return self._live(self.sequence(body, 0, after) for body in item.bodies)
        assert not isinstance(item, _Loop), "loops stand on their own"
        return 0, item, after, ()

    def _live(self, rests: Iterable[int]) -> _Step:
        return 0, None, MATCH, tuple([rest for rest in rests if self.sizes[rest].lengths])

    def _rounds(self, loop: _Loop, below: int) -> Iterator[int]:
        """Yield the rests that a loop may be: without another round, or with one."""
        if loop.is_fresh or loop.least == 0:
            yield below
        if not loop.is_fresh:
            most = None if loop.most is None else loop.most - 1
            again = loop._replace(least=max(loop.least - 1, 0), most=most, is_fresh=True)
            yield self.sequence(loop.body, 0, self._loop(again, below))
        elif loop.least > 0:  # the empty round was under a condition that may hold only here
            yield self._loop(loop._replace(is_fresh=False), below)

    def steps(self, rests: Iterable[int]) -> Iterator[tuple[int, _Step]]:
        """Yield some rests, and those that they may be, with what they do first."""
        seen = dict.fromkeys(rests)
        for rest in (queue := list(seen)):  # grows while it is walked
            check_step()
            step = self.step(rest)
            yield rest, step
            for each in step[-1]:
                if each not in seen:
                    seen[each] = None
                    queue.append(each)

    def needed(self, rests: Iterable[int]) -> frozenset[int]:
        """Return rests without those whose texts are all texts of another one, too.

        Of loops of one shape, those are left out that ask for more rounds and allow fewer.
        """
        rests = frozenset(rests)
        if self.everything in rests:
            return frozenset([self.everything])
        if len(rests) == 1:
            return rests
        by_shape: dict[int, list[int]] = {}
        for rest in sorted(rests):
            by_shape.setdefault(self.shapes[rest], []).append(rest)
        if len(by_shape) == len(rests):
            return rests
        found: list[int] = []
        for alike in by_shape.values():
            found += self._widest(alike)
        return frozenset(found)

    def _widest(self, alike: list[int]) -> list[int]:
        """Return rests of one shape without those that another one includes."""
        if len(alike) == 1:
            return alike
        check_step()
        counts = {rest: self.counts[rest] for rest in alike}
        different = [
            place
            for place, column in enumerate(zip(*counts.values(), strict=True))
            if len(set(column)) > 1
        ]
        # Whatever includes another one comes before it.
        keys = {
            rest: [(each[place][0], -each[place][1]) for place in different]
            for rest, each in counts.items()
        }
        alike.sort(key=keys.__getitem__)
        found: list[int] = []
        if len(different) == 1:
            widest = -inf
            for rest in alike:
                most = counts[rest][different[0]][1]
                if most > widest:
                    found.append(rest)
                    widest = most
            return found
        for rest in alike:
            check_step()
            if not any(includes(counts[each], counts[rest]) for each in found[-_MAX_COMPARED:]):
                found.append(rest)
        return found


def _joined(parts: Iterable[tuple[bytes, int]]) -> tuple[bytes, int]:
    found = list(parts)
    return b"".join([text for text, _ in found]), sum([n for _, n in found])


def includes(counts: Sequence[Interval], others: Sequence[Interval]) -> bool:
    """Return whether loops with some counts allow whatever they do with others."""
    return all(
        least <= other_least and most >= other_most
        for (least, most), (other_least, other_most) in zip(counts, others, strict=True)
    )


class GrownAutomaton(ABC, Lettered):
    """An automaton whose states are made as texts reach them, of keys that say what may follow.

    It is one for all threads.
    """

    def __init__(self, alphabet: Alphabet) -> None:
        self._lock = new_rlock()  # patterns are shared by all schemas
        self.alphabet = alphabet
        self._states: list[Any] = [frozenset()]
        self._numbers: dict[Any, int] = {self._states[DEAD]: DEAD}
        self._rows = {DEAD: (DEAD,) * alphabet.n_letters}
        self._ends = {DEAD: False}
        self.start = self._first()

    @abstractmethod
    def _first(self) -> int:
        """Return the state before any character."""

    @abstractmethod
    def _made(self, state: Any) -> tuple[int, ...]:
        """Return the row of a state, by its key."""

    @abstractmethod
    def _may_end(self, state: Any) -> bool:
        """Return whether a text may end in a state, by its key."""

    @abstractmethod
    def shortest(self, state: int) -> float:
        """Return how many characters at least lead from a state to an end."""

    def effort(self, state: int) -> float:
        """Return how many characters at least lead from a state to an end."""
        return self.shortest(state)

    def near(self, state: int, n: int) -> int:
        """Return the state: only patterns have counts."""
        return state

    @property
    def is_empty(self) -> bool:
        """Whether no text is in the language."""
        return self.start == DEAD

    @cached_property
    def language(self) -> Language:
        """The same language, made at once; raises SchemaError if it is too large."""
        return self.whole(MAX_STATES)

    def whole(self, most: int) -> Language:
        """Return the same language, made at once.

        Raises
        ------
        SchemaError
            If that takes more than `most` states.
        """
        rows = [self.row(DEAD)]
        numbers, states = {DEAD: DEAD, self.start: 1}, [self.start]
        if self.is_empty:
            return NO_TEXTS
        for state in states:  # grows while it is walked
            check_step()
            row = []
            for target in self.row(state):
                if target not in numbers:
                    states.append(target)
                    numbers[target] = len(states)
                    if len(states) > most:
                        raise SchemaError(f"it has more than {most} states; use smaller bounds")
                row.append(numbers[target])
            rows.append(row)
        ends = [number for number, state in enumerate(states, 1) if self.is_end(state)]
        return smallest(self.alphabet, rows, 1, ends)

    def _number(self, key: Any) -> int:
        """Return the number of a state; the lock is held, or nobody else has the automaton."""
        number = self._numbers.get(key)
        if number is None:
            number = len(self._states)
            self._states.append(key)
            self._numbers[key] = number
        return number

    def row(self, state: int) -> Sequence[int]:
        """Return the next states of a state, by letters."""
        row = self._rows.get(state)
        if row is None:
            with self._lock:
                check_step()
                row = self._rows[state] = self._made(self._states[state])
        return row

    def is_end(self, state: int) -> bool:
        """Return whether a text may end in a state."""
        found = self._ends.get(state)
        if found is None:
            with self._lock:
                found = self._ends[state] = self._may_end(self._states[state])
        return found


class PatternAutomaton(GrownAutomaton):
    """The texts that a pattern without conditions matches as a whole; see :func:`automaton_of`."""

    def __init__(self, program: _Program) -> None:
        self._program = program
        super().__init__(program.alphabet)

    def _first(self) -> int:
        start = self._program.start
        is_live = self._program.sizes[start].lengths
        return self._number(frozenset([start] if is_live else []))

    @cached_property
    def n_states(self) -> int:
        """How many places the pattern has, with counts written out."""
        return self._program.n_places

    @cached_property
    def n_guessed(self) -> int:
        """At most how many states an automaton has that guesses the way to an end."""
        return self._program.n_places

    @property
    def counts(self) -> bool:
        """Whether states may differ in counts only."""
        return not self._program.conditions and self._program.counts_rounds

    @cached_property
    def is_deterministic(self) -> bool:
        """Whether the whole automaton is surely no larger than the pattern, and small enough."""
        return self.n_states <= MAX_STATES and self._program.is_deterministic

    def _made(self, state: Any) -> tuple[int, ...]:
        after: list[dict[int, None]] = [{} for _ in self._rows[DEAD]]
        for _, (letters, _, to, _) in self._program.steps(state):
            for letter in members(letters):
                after[letter][to] = None
        known: dict[tuple[int, ...], int] = {(): DEAD}
        row = []
        for targets in map(tuple, after):
            if targets not in known:
                check_step(0)
                known[targets] = self._number(self._program.needed(targets))
            row.append(known[targets])
        return tuple(row)

    def _may_end(self, state: Any) -> bool:
        return any(rest == MATCH for rest, _ in self._program.steps(state))

    def near(self, state: int, n: int) -> int:
        """Return a state after which as many as `n` characters do what they do after another one.

        Counts that are farther from their bounds are not told apart.
        """
        with self._lock:
            rests = [self._program.near(rest, n) for rest in self._rests(state)]
            return self._number(self._program.needed(rests))

    def unbounded(self, state: int) -> tuple[int, tuple[int, int]] | None:
        """Return the state without bounds of one that is a class of characters, so many times."""
        with self._lock:
            rests = [*self._rests(state)] if self.counts else []
            found = self._program.unbounded(rests[0]) if len(rests) == 1 else None
            return None if found is None else (self._number(frozenset([found[0]])), found[1])

    def is_everything(self, state: int) -> bool:
        """Return whether any text leads from a state to an end."""
        return self._program.everything in self._rests(state)

    def _rests(self, state: int) -> Iterable[int]:
        rests: frozenset[int] = self._states[state]
        return rests

    def shortest(self, state: int) -> float:
        """Return how many characters at least lead from a state to an end."""
        sizes = self._program.sizes
        return min((sizes[rest].shortest for rest in self._rests(state)), default=inf)

    def longest(self, state: int) -> float:
        """Return how many characters at most lead from a state to an end; may be infinite."""
        sizes = self._program.sizes
        return max((sizes[rest].longest for rest in self._rests(state)), default=-inf)

    def fewest(self, state: int, spelling: int) -> float:
        """Return how many bytes at least lead from a state to an end."""
        return min((size.n_bytes[spelling] for size in self.sizes(state)), default=inf)

    def known_end(
        self, state: int, spelling: int, written: Callable[[], Sequence[bytes] | None]
    ) -> tuple[bytes, int] | None:
        """Return a shortest text from a state to an end, and how many characters it has.

        It is put together of the shortest texts of its parts, so no state on its way is made.
        """
        letters = written()
        if letters is None or state == DEAD:
            return None
        with self._lock:
            sizes = self._program.sizes
            rest = min(self._rests(state), key=lambda each: sizes[each].n_bytes[spelling])
            return self._program.shortest_text(rest, spelling, letters)

    def sizes(self, state: int) -> Iterator[_Size]:
        """Yield how many characters the rests of a state may have."""
        for rest in self._rests(state):
            yield self._program.sizes[rest]

    def within(self, least: int, most: int | None) -> Lengths:
        """Return what knows whether a text of so many characters can end."""
        return _Within(self, least, most)


#: What :func:`automaton_of` returns.
GrowingAutomaton = PatternAutomaton | SideBySide


class _Within:
    """Tells whether a text can end within bounds on its length."""

    def __init__(self, automaton: PatternAutomaton, least: int, most: int | None) -> None:
        self._automaton = automaton
        self._least, self._most = least, most

    @cached_property
    def _counted(self) -> tuple[SideBySide, Lengths]:
        beside = SideBySide([self._automaton])
        return beside, beside.within(self._least, self._most)

    def may_end(self, state: int, n: int) -> bool:
        """Return whether a text can end within its bounds, after `n` characters, from a state."""
        check_step()
        least = max(0, self._least - n)
        most = inf if self._most is None else self._most - n
        is_clear = True
        for size in self._automaton.sizes(state):
            if size.longest < least or size.shortest > most:
                continue
            if size.shortest >= least or most == inf:
                return True
            if any(low <= most and high >= least for low, high in size.lengths):
                if size.is_exact:
                    return True
                is_clear = False
        if is_clear:
            return False
        beside, counted = self._counted
        return counted.may_end(beside.state((state,)), n)


# -- look-around ----------------------------------------------------------------------------------

#: The states of the automata of all look-behinds.
Behind = tuple[int, ...]


class _Owed(NamedTuple):
    """What the rest of a text has to match, or must not: an automaton, and the state it is in."""

    automaton: PatternAutomaton
    state: int
    is_negated: bool


#: What all have to be met.
Obligations = frozenset[_Owed]
_NOTHING_OWED: Obligations = frozenset()


class _Place(NamedTuple):
    """A state of a :class:`LookingAutomaton`.

    Attributes
    ----------
    ways : frozenset of (int, Obligations)
        Rests, with what is owed for each.
    behind : Behind
        Empty if no rest may ask for it.
    is_start : bool
        Whether no text has come.
    """

    ways: frozenset[tuple[int, Obligations]]
    behind: Behind
    is_start: bool


def _looks_behind(node: Node) -> bool:
    return node is START or (isinstance(node, Look) and node.is_behind)


class _Behinds:
    """The automata of all look-behinds, which read a text from its start."""

    def __init__(self, nodes: Nodes, alphabet: Alphabet) -> None:
        self.alphabet = alphabet
        bodies = dict.fromkeys(_behind_bodies(nodes))
        self._numbers = {body: number for number, body in enumerate(bodies)}
        self._automata = [_automaton((ANYTHING, *body), alphabet) for body in bodies]
        self._aheads: dict[Nodes, PatternAutomaton] = {}
        self._owed: dict[tuple[Obligations, int], Obligations | None] = {}

    @property
    def start(self) -> Behind:
        """The states before any character."""
        return tuple(automaton.start for automaton in self._automata)

    def after(self, behind: Behind, letter: int) -> Behind:
        """Return the states after a character."""
        pairs = zip(self._automata, behind, strict=False)  # nobody asks where there are none
        return tuple(automaton.row(state)[letter] for automaton, state in pairs)

    def holds(self, look: Look, behind: Behind) -> bool:
        """Return whether a condition on the text so far is met."""
        number = self._numbers[look.body]
        return self._automata[number].is_end(behind[number]) != look.is_negated

    def ahead(self, body: Nodes) -> PatternAutomaton:
        """Return the automaton of what may follow a look-ahead."""
        if body not in self._aheads:
            program = _Program((*body, ANYTHING), self.alphabet)
            self._aheads[body] = (
                LookingAutomaton(program, self) if program.conditions else PatternAutomaton(program)
            )
        return self._aheads[body]

    def owed_after(self, owed: Obligations, letter: int) -> Obligations | None:
        """Return what is owed after a character; None if that cannot be met."""
        if not owed:
            return owed
        key = (owed, letter)
        if key not in self._owed:
            after = [each._replace(state=each.automaton.row(each.state)[letter]) for each in owed]
            self._owed[key] = _with(_NOTHING_OWED, after)
        return self._owed[key]


def _behind_bodies(nodes: Nodes) -> Iterator[Nodes]:
    """Yield the bodies of look-behinds that are not inside of others.

    Raises
    ------
    SchemaError
        If one has a condition on what follows.
    """
    for node in nodes:
        if not isinstance(node, Look) or not node.is_behind:
            for inner in inside(node):
                yield from _behind_bodies(inner)
            continue
        for each in walk(node.body):
            if each is END or (isinstance(each, Look) and not each.is_behind):
                raise SchemaError("look-ahead, \\b or $ inside a look-behind is not supported")
        yield node.body


class LookingAutomaton(PatternAutomaton):
    """The texts that a pattern with conditions matches as a whole.

    A state may lead to no end.
    """

    def __init__(self, program: _Program, behinds: _Behinds) -> None:
        self._behinds = behinds
        super().__init__(program)

    is_deterministic = False

    @cached_property
    def n_guessed(self) -> int:
        """At most how many states an automaton has that guesses the way to an end."""
        return self._program.n_guessed

    def near(self, state: int, n: int) -> int:
        """Return the same state: whether a text can end depends on all counts."""
        return state

    def _first(self) -> int:
        return self._place([(self._program.start, _NOTHING_OWED)], self._behinds.start, True)

    def begun(self, behind: Behind, *, is_start: bool) -> int:
        """Return the state of a text that begins in the middle of another one."""
        with self._lock:
            return self._place([(self._program.start, _NOTHING_OWED)], behind, is_start)

    def _place(
        self, ways: Iterable[tuple[int, Obligations]], behind: Behind, is_start: bool
    ) -> int:
        found = self._needed([way for way in ways if self._program.sizes[way[0]].lengths])
        if not found:
            return DEAD
        looks = any(self._program.sizes[rest].looks_behind for rest, _ in found)
        return self._number(_Place(found, behind if looks else (), is_start and looks))

    def _needed(self, ways: list[tuple[int, Obligations]]) -> frozenset[tuple[int, Obligations]]:
        """Return ways without those that owe as much as another one that is as wide."""
        if len(ways) < 2:
            return frozenset(ways)
        if (self._program.everything, _NOTHING_OWED) in ways:
            return frozenset([(self._program.everything, _NOTHING_OWED)])
        by_debt: dict[Obligations, list[int]] = {}
        for rest, owed in ways:
            by_debt.setdefault(owed, []).append(rest)
        wide = {owed: self._program.needed(rests) for owed, rests in by_debt.items()}
        found = []
        for owed, rests in wide.items():
            check_step()
            less = [wide[other] for other in wide if other < owed]
            found += [
                (rest, owed)
                for rest in rests
                if not any(self._is_included(rest, each) for each in less)
            ]
        return frozenset(found)

    def _is_included(self, rest: int, others: frozenset[int]) -> bool:
        if rest in others:
            return True
        check_step()
        shapes, counts = self._program.shapes, self._program.counts
        return any(
            shapes[other] == shapes[rest] and includes(counts[other], counts[rest])
            for other in others
        )

    def _rests(self, state: int) -> Iterable[int]:
        return [rest for rest, _ in self._states[state].ways] if state else ()

    def is_everything(self, state: int) -> bool:
        """Return whether any text leads from a state to an end."""
        if state == DEAD:
            return False
        return (self._program.everything, _NOTHING_OWED) in self._states[state].ways

    def shortest(self, state: int) -> float:
        """Return how many characters lead at least to an end; there may be none that near."""
        if state == DEAD:
            return inf
        ways: Iterable[tuple[int, Obligations]] = self._states[state].ways
        best = inf
        for rest, owed in ways:
            check_step()
            nearest = max(
                self._program.sizes[rest].shortest,
                *(each.automaton.shortest(each.state) for each in owed if not each.is_negated),
                0,
            )
            best = min(best, nearest)
        return best

    def fewest(self, state: int, spelling: int) -> float:
        """Return how many bytes at least lead to an end; there may be none that near."""
        ways: Iterable[tuple[int, Obligations]] = self._states[state].ways if state else ()
        found = inf
        for rest, owed in ways:
            check_step()
            parts = [self._program.sizes[rest].n_bytes[spelling]]
            parts += [e.automaton.fewest(e.state, spelling) for e in owed if not e.is_negated]
            found = min(found, max(parts))
        return found

    def known_end(
        self, state: int, spelling: int, written: Callable[[], Sequence[bytes] | None]
    ) -> tuple[bytes, int] | None:
        """Return None: which text meets all conditions is found by a search."""
        return None

    def effort(self, state: int) -> float:
        """Return about how many characters lead to an end: of all that is owed, together."""
        check_step()
        if state == DEAD:
            return inf
        ways: Iterable[tuple[int, Obligations]] = self._states[state].ways
        return min(
            self._program.sizes[rest].shortest
            + sum(each.automaton.effort(each.state) for each in owed if not each.is_negated)
            for rest, owed in ways
        )

    def _opened(
        self, place: _Place, *, is_end: bool
    ) -> tuple[list[tuple[int, int, Obligations]], bool]:
        """Return the moves of all ways, conditions passed, and whether one of them may end."""
        seen = dict.fromkeys(place.ways)
        moves: list[tuple[int, int, Obligations]] = []
        may_end = False
        for rest, owed in (queue := list(seen)):  # grows while it is walked
            check_step()
            letters, condition, after, empty = self._program.step(rest)
            if letters:
                moves.append((letters, after, owed))
            may_end = may_end or (rest == MATCH and is_end and _are_met(owed))
            opened = [(each, owed) for each in empty]
            if condition is not None:
                left = self._passed(condition, owed, place, is_end=is_end)
                opened = [] if left is None else [(after, left)]
            for way in opened:
                if way not in seen:
                    seen[way] = None
                    queue.append(way)
        return moves, may_end

    def _passed(
        self, condition: Node, owed: Obligations, place: _Place, *, is_end: bool
    ) -> Obligations | None:
        """Return what is owed after a condition; None if it is not met."""
        if not isinstance(condition, Look):
            is_met = place.is_start if condition is START else is_end
            return owed if is_met else None
        if condition.is_behind:
            return owed if self._behinds.holds(condition, place.behind) else None
        ahead = self._behinds.ahead(condition.body)
        state = ahead.start
        if isinstance(ahead, LookingAutomaton):
            state = ahead.begun(place.behind, is_start=place.is_start)
        return _with(owed, [_Owed(ahead, state, condition.is_negated)])

    def _made(self, state: Any) -> tuple[int, ...]:
        after: list[list[tuple[int, Obligations]]] = [[] for _ in self._rows[DEAD]]
        moves, _ = self._opened(state, is_end=False)
        for letters, to, owed in moves:
            check_step()
            for letter in members(letters):
                left = self._behinds.owed_after(owed, letter)
                if left is not None:
                    after[letter].append((to, left))
        return tuple(
            self._place(ways, self._behinds.after(state.behind, letter), False) if ways else DEAD
            for letter, ways in enumerate(after)
        )

    def _may_end(self, state: Any) -> bool:
        return self._opened(state, is_end=True)[1]

    def within(self, least: int, most: int | None) -> Lengths:
        """Return what knows whether a text of so many characters can end."""
        return SideBySide([self]).within(least, most)


def _are_met(owed: Obligations) -> bool:
    """Return whether a text may end that owes something."""
    return all(each.automaton.is_end(each.state) != each.is_negated for each in owed)


def _with(owed: Obligations, more: Iterable[_Owed]) -> Obligations | None:
    """Return obligations with some more, without those that are met; None if one cannot be met."""
    found = set(owed)
    for each in more:
        if each.state == DEAD or each.automaton.is_everything(each.state):
            if (each.state == DEAD) != each.is_negated:
                return None
        else:
            found.add(each)
    return frozenset(found)
