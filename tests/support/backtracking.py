r"""Proofs that ``re`` takes time linear in the text, whatever the text is.

In: a compiled pattern of the package. Out: why no proof was found, or nothing. ``re`` tries the
ways to match one after the other. On a text that it refuses it goes along all of them, so its time
is the number of runs of an automaton without memory, over all prefixes of the text. Some text has
exponentially many runs if and only if one state comes back to itself in two ways on one text; and
more than linearly many if and only if some text leads from a state to itself, from there to another
one, and from that one to itself (Weber and Seidl 1991, as Weideman and others 2016 use it)::

    (a|a)*b         two ways round                  exponential: "two ways"
    a*a*b           from a* to a* on "a"            quadratic: "two loops"
    \s+x, searched  each start runs to the end      quadratic: "many starts"

All that departs from ``re`` is on the safe side: there are more runs here than there.

* A look around is a side branch that may fail, as are what stands after it and after an atomic
  group; a look at one character and a possessive loop are guards that are followed exactly.
* What is repeated at most n times is repeated without an end, from n = 10.
* That ``re`` stops at the first match counts only between starts: a start that surely matches
  ends a search, or begins the next one where the match ends.

A backreference, and a repetition with an end of what may be empty, cannot be proved.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

parser: Any = importlib.import_module("re._parser")
casefix: Any = importlib.import_module("re._casefix")

END = -1  # as the next character: there is none
BEGINNING, NEWLINE, WORD, OTHER = range(4)  # what stands before
MOST_COPIES = 9
MOST_WAYS = 3_000
MOST_STATES = 60_000
#: Points of every kind outside of ASCII: words, digits, spaces, none of them, surrogates.
POINTS = [*range(256), 0x130, 0x131, 0x17F, 0x3BB, 0x663, 0x2003, 0x2028, 0x2013, 0x212A, 0x10400]

Next = frozenset[int]  # atoms, and END


class Unproved(Exception):
    """There may be a text on which the time is not linear."""


@dataclass
class Automaton:
    """The ways that ``re`` tries, most preferred first.

    `ways[node]` are pairs of a guard and a node: the guard takes what stands before and the next
    atom, and says whether the way is open, and whether it is so for sure. A node of `reads` reads
    one of its atoms, and goes on to the node after it.
    """

    atoms: list[int]  # a representative of each
    kinds: list[int]
    reads: dict[int, Next] = field(default_factory=dict)
    after: dict[int, int] = field(default_factory=dict)
    ways: dict[int, list[tuple[Guard, int]]] = field(default_factory=dict)
    accepting: int = 0
    dead: int = 1
    n_nodes: int = 2

    def node(self) -> int:
        self.n_nodes += 1
        return self.n_nodes - 1


Guard = Callable[[int, int], tuple[bool, bool]]


def opened(before: int, following: int) -> tuple[bool, bool]:
    return True, True


def doubted(before: int, following: int) -> tuple[bool, bool]:
    return True, False


def in_set(atoms: Next) -> Guard:
    return lambda before, following: (following in atoms,) * 2


# --- Characters ----------------------------------------------------------------------------------


def is_member(items: Iterable[Any], point: int, flags: int, *, is_bytes: bool) -> bool:
    """Whether a class of ``re``'s parser holds a character."""
    points = {point}
    if flags & re.IGNORECASE:
        character = chr(point)
        points |= {ord(c) for c in (character.lower(), character.upper()) if len(c) == 1}
        if not (is_bytes or flags & re.ASCII):
            points |= {*casefix._EXTRA_CASES.get(ord(character.lower()[:1] or "\0"), ())}
    found = negated = False
    for op, value in items:
        match str(op):
            case "NEGATE":
                negated = True
            case "LITERAL":
                found |= value in points
            case "RANGE":
                found |= any(value[0] <= each <= value[1] for each in points)
            case "CATEGORY":
                found |= is_in_category(str(value), point, is_ascii=is_bytes or flags & re.ASCII)
            case _:
                raise Unproved(f"unknown in a class: {op}")
    return found != negated


def is_in_category(name: str, point: int, *, is_ascii: int) -> bool:
    letter = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}[name.rpartition("_")[2]]
    found = re.match(rf"\{letter}", chr(point), re.ASCII if is_ascii else 0) is not None
    return found != ("_NOT_" in name)


def one_character(op: Any, value: Any, flags: int) -> list[Any] | None:
    """The items of a class, if a node of ``re``'s parser reads one character."""
    match str(op):
        case "LITERAL":
            return [(op, value)]
        case "NOT_LITERAL":
            return [(parser.NEGATE, None), (parser.LITERAL, value)]
        case "IN":
            return list(value)
        case "ANY":
            newline = [] if flags & re.DOTALL else [(parser.LITERAL, 10)]
            return [(parser.NEGATE, None), *newline]
        case "CATEGORY":
            return [(op, value)]
    return None


def flags_in(value: Any, flags: int) -> tuple[int, Any]:
    """The flags inside a group, and what it holds."""
    _, added, removed, inside = value
    if added & parser.TYPE_FLAGS:
        flags &= ~parser.TYPE_FLAGS
    return (flags | added) & ~removed, inside


def classes(tree: Any, flags: int) -> Iterator[tuple[list[Any], int]]:
    """All classes of characters of a pattern, with their flags."""
    for op, value in tree:
        items = one_character(op, value, flags)
        if items is not None:
            yield items, flags
        elif str(op) == "SUBPATTERN":
            inner, inside = flags_in(value, flags)
            yield from classes(inside, inner)
        elif str(op) == "BRANCH":
            for branch in value[1]:
                yield from classes(branch, flags)
        elif str(op) in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            yield from classes(value[2], flags)
        elif str(op) in ("ASSERT", "ASSERT_NOT"):
            yield from classes(value[1], flags)
        elif str(op) == "ATOMIC_GROUP":
            yield from classes(value, flags)


# --- The automaton of a pattern ------------------------------------------------------------------


class Builder:
    """Builds the automaton of a pattern from its end to its beginning."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        self.is_bytes = isinstance(pattern.pattern, bytes)
        source: Any = pattern.pattern
        self.tree = parser.parse(source, pattern.flags)
        self.flags = self.tree.state.flags
        found = [*classes(self.tree, self.flags), ([(parser.LITERAL, 10)], 0)]
        points = [*range(256)] if self.is_bytes else list(POINTS)
        for items, _ in [] if self.is_bytes else found:
            for op, value in items:
                edges = value if str(op) == "RANGE" else [value] if str(op) == "LITERAL" else []
                points += [each + d for each in edges for d in (-1, 0, 1) if each + d >= 0]
        points = [point for point in dict.fromkeys(points) if point <= 0x10FFFF]
        self.found = found
        groups: dict[tuple[Any, ...], list[int]] = {}
        for point in points:
            groups.setdefault((self.kind(point), *self.signature(point)), []).append(point)
        atoms = [points[0] for points in groups.values()]
        self.automaton = Automaton(atoms, [self.kind(point) for point in atoms])
        self.everything = frozenset(range(len(atoms)))
        self.start = self.sequence(list(self.tree), self.flags, self.automaton.accepting)

    def kind(self, point: int) -> int:
        if point == 10:
            return NEWLINE
        is_ascii = self.is_bytes or self.flags & re.ASCII
        return WORD if is_in_category("WORD", point, is_ascii=is_ascii) else OTHER

    def signature(self, point: int) -> tuple[bool, ...]:
        return tuple(self.has(items, point, flags) for items, flags in self.found)

    def has(self, items: list[Any], point: int, flags: int) -> bool:
        return is_member(items, point, flags, is_bytes=self.is_bytes)

    def atoms_of(self, items: list[Any], flags: int) -> Next:
        atoms = enumerate(self.automaton.atoms)
        return frozenset(number for number, point in atoms if self.has(items, point, flags))

    def split(self, *ways: tuple[Guard, int]) -> int:
        node = self.automaton.node()
        self.automaton.ways[node] = list(ways)
        return node

    def sequence(self, parts: list[Any], flags: int, after: int) -> int:
        for op, value in reversed(parts):
            after = self.part(op, value, flags, after)
        return after

    def part(self, op: Any, value: Any, flags: int, after: int) -> int:
        """Return the node that begins a part of the pattern before the node `after`."""
        items = one_character(op, value, flags)
        if items is not None:
            node = self.automaton.node()
            self.automaton.reads[node] = self.atoms_of(items, flags)
            self.automaton.after[node] = after
            return node
        match str(op):
            case "SUBPATTERN":
                inner, inside = flags_in(value, flags)
                return self.sequence(list(inside), inner, after)
            case "BRANCH":
                branches = [self.sequence(list(each), flags, after) for each in value[1]]
                return self.split(*((opened, branch) for branch in branches))
            case "MAX_REPEAT" | "MIN_REPEAT":
                return self.repeated(value, flags, after, opened, is_lazy=str(op) == "MIN_REPEAT")
            case "POSSESSIVE_REPEAT":
                return self.repeated(value, flags, after, self.leaving(value[2], flags))
            case "ATOMIC_GROUP":
                return self.sequence(list(value), flags, self.split((doubted, after)))
            case "AT":
                return self.split((self.position(str(value), flags), after))
            case "ASSERT" | "ASSERT_NOT":
                return self.look(value, flags, after, is_not=str(op) == "ASSERT_NOT")
        raise Unproved(f"{op} cannot be followed")

    def repeated(
        self, value: Any, flags: int, after: int, leave: Guard, *, is_lazy: bool = False
    ) -> int:
        least, most, inside = value
        body = list(inside)
        is_endless = most == parser.MAXREPEAT
        if inside.getwidth()[0] == 0 and (least > 1 or (most > 1 and not is_endless)):
            raise Unproved("what may be empty is repeated with an end")
        is_loop = is_endless or most > MOST_COPIES or (has_repeat(body) and most > 1)
        node = after
        if is_loop:
            loop = self.split()
            again = (opened, self.sequence(body, flags, loop))
            ways = [again, (leave, after)]
            self.automaton.ways[loop] = ways[::-1] if is_lazy else ways
            node = loop
        else:
            for _ in range(int(most) - int(least)):
                ways = [(opened, self.sequence(body, flags, node)), (leave, after)]
                node = self.split(*(ways[::-1] if is_lazy else ways))
        for _ in range(min(int(least), MOST_COPIES)):
            node = self.sequence(body, flags, node)
        return node

    def leaving(self, inside: Any, flags: int) -> Guard:
        """A possessive loop is left only where it cannot go on."""
        parts = list(inside)
        rest = (self.everything | {END}) - self.sure_first(parts, flags)
        other = (self.everything | {END}) - self.may_first(parts, flags)
        is_sure = self.is_certain(parts, flags)
        return lambda before, following: (following in rest, is_sure and following in other)

    def may_first(self, parts: list[Any], flags: int) -> Next:
        """Atoms that may be the first of a match of some parts that is not empty."""
        found: Next = frozenset()
        for op, value in parts:
            items = one_character(op, value, flags)
            if items is not None:
                return found | self.atoms_of(items, flags)
            inner = flags
            match str(op):
                case "SUBPATTERN":
                    inner, inside = flags_in(value, flags)
                    branches = [inside]
                case "BRANCH":
                    branches = value[1]
                case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                    branches = [value[2]]
                case "ATOMIC_GROUP":
                    branches = [value]
                case _:
                    return self.everything
            found = found.union(*(self.may_first(list(each), inner) for each in branches))
            if not self.may_be_empty(op, value):
                return found
        return found

    def is_certain(self, parts: list[Any], flags: int) -> bool:
        """Whether there is only one way to match some parts, which the next character decides."""
        for op, value in parts:
            inner = flags
            match str(op):
                case "SUBPATTERN":
                    inner, inside = flags_in(value, flags)
                    branches = [inside]
                case "BRANCH":
                    branches = value[1]
                    firsts = [self.may_first(list(each), flags) for each in branches]
                    if sum(map(len, firsts)) != len(frozenset().union(*firsts)):
                        return False
                    if self.may_be_empty(op, value):
                        return False
                case "POSSESSIVE_REPEAT":
                    branches = [value[2]]
                case _ if one_character(op, value, flags) is not None:
                    branches = []
                case _:
                    return False
            if not all(self.is_certain(list(each), inner) for each in branches):
                return False
        return True

    def sure_first(self, parts: list[Any], flags: int) -> Next:
        """Atoms that surely begin a match of some parts, whatever stands before and comes next."""
        sure: Next = frozenset()
        for number, (op, value) in enumerate(parts):
            rest_is_empty = all(self.may_be_empty(*each) for each in parts[number + 1 :])
            if rest_is_empty:
                sure |= self.sure_first_of(op, value, flags)
            if not self.may_be_empty(op, value) or str(op) == "POSSESSIVE_REPEAT":
                break
        return sure

    def sure_first_of(self, op: Any, value: Any, flags: int) -> Next:
        items = one_character(op, value, flags)
        if items is not None:
            return self.atoms_of(items, flags)
        match str(op):
            case "SUBPATTERN":
                inner, inside = flags_in(value, flags)
                return self.sure_first(list(inside), inner)
            case "BRANCH":
                return frozenset().union(*(self.sure_first(list(b), flags) for b in value[1]))
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT" if value[0] <= 1:
                return self.sure_first(list(value[2]), flags)
            case "ATOMIC_GROUP":
                return self.sure_first(list(value), flags)
        return frozenset()

    def may_be_empty(self, op: Any, value: Any) -> bool:
        """Whether a part surely matches the empty text anywhere, if nothing else is left."""
        match str(op):
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                return value[0] == 0 or all(self.may_be_empty(*each) for each in value[2])
            case "SUBPATTERN":
                return all(self.may_be_empty(*each) for each in value[3])
            case "BRANCH":
                return any(all(self.may_be_empty(*each) for each in b) for b in value[1])
        return False

    def position(self, name: str, flags: int) -> Guard:
        newlines = frozenset(n for n, kind in enumerate(self.automaton.kinds) if kind == NEWLINE)
        words = frozenset(n for n, kind in enumerate(self.automaton.kinds) if kind == WORD)
        is_multiline = bool(flags & re.MULTILINE)
        match name.removeprefix("AT_"):
            case "BEGINNING" if is_multiline:
                return lambda before, following: (before in (BEGINNING, NEWLINE),) * 2
            case "BEGINNING" | "BEGINNING_STRING":
                return lambda before, following: (before == BEGINNING,) * 2
            case "END" if is_multiline:
                return in_set(newlines | {END})
            case "END":
                return lambda before, following: (following in newlines | {END}, following == END)
            case "END_STRING":
                return in_set(frozenset({END}))
            case "BOUNDARY":
                return lambda before, following: ((before == WORD) != (following in words),) * 2
            case "NON_BOUNDARY":
                return lambda before, following: ((before == WORD) == (following in words),) * 2
        raise Unproved(f"{name} cannot be followed")

    def look(self, value: Any, flags: int, after: int, *, is_not: bool) -> int:
        direction, inside = value
        if direction < 0:  # of a fixed width: a bounded number of steps
            return self.split((doubted, after))
        if len(inside) == 1:
            items = one_character(*inside[0], flags)
            if items is not None:
                atoms = self.atoms_of(items, flags)
                return self.split(
                    (in_set((self.everything | {END}) - atoms if is_not else atoms), after)
                )
        side = self.sequence(list(inside), flags, self.automaton.dead)
        return self.split((opened, side), (doubted, after))


def has_repeat(parts: Iterable[Any]) -> bool:
    return any("REPEAT" in str(op) or "REPEAT" in str(value) for op, value in parts)


# --- Runs ----------------------------------------------------------------------------------------

State = tuple[int, int]  # a node that has read, and what it has read: what stands before


class Runs:
    """The runs of a pattern from one start."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        builder = Builder(pattern)
        self.automaton = builder.automaton
        self.start = builder.start
        self.n_atoms = len(builder.automaton.atoms)
        self._known: dict[tuple[int, int, int], list[tuple[int, bool]]] = {}

    def reached(self, node: int, before: int, following: int) -> list[tuple[int, bool]]:
        """The nodes that read, accept or are dead, which are reached without reading, in order.

        One stands as often as there are ways to it, and says whether the way is open for sure.
        """
        key = node, before, following
        if key not in self._known:
            found: list[tuple[int, bool]] = []
            self._follow(node, before, following, True, frozenset(), found)
            self._known[key] = found
        return self._known[key]

    def _follow(
        self,
        node: int,
        before: int,
        following: int,
        is_sure: bool,
        taken: frozenset[tuple[int, int]],
        found: list[tuple[int, bool]],
    ) -> None:
        if node not in self.automaton.ways:
            found.append((node, is_sure))
            if len(found) > MOST_WAYS:
                raise Unproved("too many ways without reading")
            return
        for number, (guard, other) in enumerate(self.automaton.ways[node]):
            is_open, is_certain = guard(before, following)
            if is_open and (node, number) not in taken:  # ``re`` leaves a loop that reads nothing
                sure = is_sure and is_certain
                self._follow(other, before, following, sure, taken | {(node, number)}, found)

    def steps(self, state: State, atom: int) -> Iterator[State]:
        """The states after reading an atom, each as often as there are ways to it."""
        node, before = state
        for other, _ in self.reached(node, before, atom):
            if atom in self.automaton.reads.get(other, ()):
                yield self.automaton.after[other], self.automaton.kinds[atom]


def strong_components(graph: dict[Any, set[Any]]) -> dict[Any, int]:
    """The number of the component of each node that lies on a circle (Tarjan 1972)."""
    index: dict[Any, int] = {}
    low: dict[Any, int] = {}
    component: dict[Any, int] = {}
    stack: list[Any] = []
    on_stack: set[Any] = set()
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(graph[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, others = work[-1]
            for other in others:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(graph.get(other, ()))))
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    members = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        members.append(member)
                        if member == node:
                            break
                    if len(members) > 1 or node in graph.get(node, ()):
                        component |= dict.fromkeys(members, index[node])
    return component


def reachable(starts: Iterable[Any], steps: Callable[[Any], Iterable[Any]]) -> dict[Any, set[Any]]:
    """The graph below some nodes."""
    graph: dict[Any, set[Any]] = {}
    waiting = list(starts)
    while waiting:
        node = waiting.pop()
        if node not in graph:
            graph[node] = set(steps(node))
            waiting += graph[node]
            if len(graph) > MOST_STATES:
                raise Unproved("too many states")
    return graph


def check_one_start(runs: Runs) -> None:
    """Refuse a pattern whose runs from one start may be more than a constant number.

    Raises
    ------
    Unproved
        If there may be too many.
    """
    atoms = range(runs.n_atoms)
    starts = [(runs.start, before) for before in (BEGINNING, NEWLINE, WORD, OTHER)]
    graph = reachable(starts, lambda state: {o for a in atoms for o in runs.steps(state, a)})
    circles = strong_components(graph)
    for state in circles:
        for atom in atoms:
            inside = [o for o in runs.steps(state, atom) if circles.get(o) == circles[state]]
            if len(inside) != len(set(inside)):
                raise Unproved("two ways round without reading: exponential")

    def both(pair: tuple[State, State]) -> Iterator[tuple[State, State]]:
        for atom in atoms:
            one, other = (
                [o for o in runs.steps(each, atom) if circles.get(o) == circles[each]]
                for each in pair
            )
            yield from product(one, other)

    pairs = reachable([(state, state) for state in circles], both)
    ways = strong_components(pairs)
    equal = {ways[pair] for pair in ways if pair[0] == pair[1]}
    if any(ways[pair] in equal for pair in ways if pair[0] != pair[1]):
        raise Unproved("two ways round on one text: exponential")
    for first, last in product(circles, circles):
        if circles[first] != circles[last]:
            check_two_loops(runs, first, last, circles)


def check_two_loops(runs: Runs, first: State, last: State, circles: dict[State, int]) -> None:
    """Refuse a pattern where one text leads from `first` to itself and `last`, and from there back.

    Raises
    ------
    Unproved
        If there is such a text.
    """
    if first[1] != last[1]:
        return

    def together(triple: tuple[State, State, State]) -> Iterator[tuple[State, State, State]]:
        one, middle, other = triple
        for atom in range(runs.n_atoms):
            ones = {o for o in runs.steps(one, atom) if circles.get(o) == circles[first]}
            others = {o for o in runs.steps(other, atom) if circles.get(o) == circles[last]}
            if ones and others:
                yield from product(ones, set(runs.steps(middle, atom)), others)

    if (first, last, last) in reachable([(first, first, last)], together):
        raise Unproved("two loops on one text: quadratic or worse")


# --- Many starts ---------------------------------------------------------------------------------

#: What is done with a pattern: it is matched at one place; searched once; matched where its last
#: match ended, until there is none; or tried at any number of places.
MATCHED, SEARCHED, READING, REPEATED = range(4)
USES = {
    **dict.fromkeys(["match", "fullmatch"], MATCHED),
    "search": SEARCHED,
    **dict.fromkeys(["sub", "subn", "split", "findall", "finditer"], REPEATED),
}


@dataclass(frozen=True)
class Threads:
    """What is tried from one start, most preferred first.

    `nodes` are pairs of a node and whether it is tried for sure; `has_match` says whether there may
    have been a match, and whether that makes a difference.
    """

    before: int
    nodes: tuple[tuple[int, bool], ...]
    has_match: bool = False


def advanced(runs: Runs, threads: Threads, atom: int, use: int) -> tuple[Threads, bool]:
    """What is tried after an atom; and whether there surely was a match before it."""
    tried: dict[tuple[int, bool], None] = {}
    has_match, is_matched = threads.has_match, False
    for node, is_sure in threads.nodes:
        for other, is_certain in runs.reached(node, threads.before, atom):
            sure = is_sure and is_certain
            if other == runs.automaton.accepting:
                is_matched, has_match = sure, has_match or use == READING
            elif atom in runs.automaton.reads.get(other, ()):
                tried.setdefault((runs.automaton.after[other], sure))
            if is_matched:
                break
        if is_matched:
            break
    kind = runs.automaton.kinds[atom] if atom != END else OTHER
    nodes = tuple(each for each in tried if each[1] or (each[0], True) not in tried)
    return Threads(kind, nodes, has_match), is_matched


def check_many_starts(runs: Runs, use: int) -> None:
    """Refuse a pattern where unboundedly many starts may run over one place of a text.

    Parameters
    ----------
    runs : Runs
        The pattern.
    use : int
        What is done with it.

    Raises
    ------
    Unproved
        If there may be.
    """
    atoms = range(runs.n_atoms)

    def started(before: int) -> Threads:
        return Threads(before, ((runs.start, True),))

    def below(threads: Threads, is_ended: bool) -> Iterator[Threads]:
        """What follows; where a match ends it all, only if there surely was none."""
        for atom in atoms:
            after, is_matched = advanced(runs, threads, atom, use)
            if after.nodes and not (is_matched and is_ended):
                yield after

    everything = reachable(
        map(started, (BEGINNING, NEWLINE, WORD, OTHER)), lambda each: below(each, use == SEARCHED)
    )
    refused = {each: set(below(each, True)) for each in everything}
    above: dict[Threads, list[Threads]] = {}
    for each, others in refused.items():
        for other in others:
            above.setdefault(other, []).append(each)
    ended = (
        each
        for each in everything
        for after, is_matched in (advanced(runs, each, atom, use) for atom in (*atoms, END))
        if not after.nodes and not is_matched
    )
    fails = {
        each
        for each in reachable(ended, lambda each: above.get(each, ()))
        if each.has_match or use != READING
    }
    circles = strong_components({each: refused[each] & fails for each in fails})

    def along(pair: tuple[Threads | None, Threads]) -> Iterator[tuple[Threads | None, Threads]]:
        one, last = pair
        for atom in atoms:
            after, is_matched = advanced(runs, last, atom, use)
            if is_matched or circles.get(after) != circles[last]:
                continue
            if one is None:
                yield None, after
            begun = started(last.before) if one is None else one
            one_after, is_matched = advanced(runs, begun, atom, use)
            if one_after.nodes and not (is_matched and use == SEARCHED):
                yield one_after, after

    for state in circles:
        if (state, state) in reachable([(None, state)], along):
            raise Unproved("many starts on one text: quadratic")


def why_unproved(pattern: re.Pattern[Any], use: int = REPEATED) -> str | None:
    """Return why there is no proof that a pattern takes linear time; None if there is one.

    Parameters
    ----------
    pattern : re.Pattern
        The pattern.
    use : int
        What is done with it.
    """
    try:
        runs = Runs(pattern)
        check_one_start(runs)
        if use != MATCHED:
            check_many_starts(runs, use)
    except Unproved as reason:
        return str(reason)
    return None
