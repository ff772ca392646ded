"""The automaton of a message, but for the JSON values in it.

In: the parts of a message (:mod:`cfgguide.schema.messages.parts`), and which tokens are symbols.
Out: a :class:`Structure`: a deterministic automaton over bytes, in which some moves are values. ::

    <tool_call> `{"name": "f", "arguments": ` VALUE `}` </tool_call>

Each part becomes a fragment of a nondeterministic automaton, and sets of its states become states
(Thompson 1968; Rabin and Scott 1959). Text is cut at characters: it may end only between two. A
text without certain words is the automaton of Aho and Corasick (1975), whose words are dead.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import count

from cfgguide.automata.charset import (
    END,
    ByteTree,
    CharacterClass,
    branches_of,
    utf8_tree,
)
from cfgguide.automata.ecma_patterns import pattern_language
from cfgguide.automata.language import DEAD, Language
from cfgguide.automata.pattern_notations import as_whole
from cfgguide.base.numbered import Numbered
from cfgguide.base.sets import reached_from
from cfgguide.errors import SchemaError, VocabularyError
from cfgguide.grammar.llguidance.languages import language_of
from cfgguide.schema.messages.pairs import raw_language
from cfgguide.schema.messages.parts import (
    AnyText,
    Choice,
    Exact,
    Joined,
    Part,
    Pattern,
    PlainText,
    RawText,
    Repeat,
    Sequence,
    Token,
    Value,
    values_in,
)
from cfgguide.schema.solver.listed_values import check_text

MAX_STATES = 50_000
MAX_TIMES = 1_000  # that a part is repeated, where repetitions are counted
_VALUE_COST = 10  # bytes of a value, where short ends are looked for
_FAR = 1 << 40
ALL_BYTES = frozenset(range(256))

States = frozenset[int]


@dataclass(slots=True)
class StructureState:
    """A state of a structure.

    Attributes
    ----------
    moves : tuple of (bytes, int)
        For sets of bytes the state after one of them; no byte is in two.
    values : tuple of (int, int)
        Values that may come, by their numbers, and the state after each.
    is_end : bool
        Whether the message may end here.
    text : int or None
        The text with a limit on tokens that is being read, by its number.
    distance : int
        About how many bytes lead to an end.
    """

    moves: tuple[tuple[bytes, int], ...] = ()
    values: tuple[tuple[int, int], ...] = ()
    is_end: bool = False
    text: int | None = None
    distance: int = _FAR


class Structure:
    """The automaton of a message; the states are numbered from 0, where it begins.

    Parameters
    ----------
    part : Part
        The message.
    symbols : mapping of str to int
        The bytes of added tokens, by names (:mod:`cfgguide.base.symbols`).
    spelled : frozenset of int
        The bytes that tokens have; by default all. Nothing leads to others.
    check : callable, optional
        Raises an error for a state that cannot be read. It is asked as soon as a state is made, so
        that a message that cannot be read is not made whole before.

    Attributes
    ----------
    states : list of StructureState
        The states.
    limits : list of int
        For each text with a limit, how many tokens it may have.

    Raises
    ------
    SchemaError
        If it is too large, or no message is possible.
    VocabularyError
        If an exact text has a byte that no token has.

    Examples
    --------
    >>> structure = Structure(Sequence((AnyText(("<",)), Exact("<end>"))), {"<end>": 0xF5})
    >>> [end] = [state for data, state in structure.states[0].moves if 0xF5 in data]
    >>> structure.states[0].is_end, structure.states[end].is_end
    (False, True)
    """

    def __init__(
        self,
        part: Part,
        symbols: Mapping[str, int],
        spelled: frozenset[int] = ALL_BYTES,
        check: Callable[[StructureState], None] = lambda state: None,
    ) -> None:
        self._check = check
        self.states: list[StructureState] = []
        fragments = _Fragments(symbols, [value.key for value in values_in(part)])
        start, end = fragments.new(), fragments.new()
        fragments.add(part, start, end)
        if not fragments.needed <= spelled:
            raise VocabularyError(
                "the vocabulary has no tokens for some bytes of the message; use a tokenizer with "
                "a token for every byte"
            )
        self.limits = fragments.limits
        fragments.keep_live(end, spelled)
        self._determinise(fragments, start, end)
        self._measure()

    def _determinise(self, fragments: _Fragments, start: int, end: int) -> None:
        numbers = Numbered[States]()

        def number_of(states: Iterable[int]) -> int:
            # States that read nothing tell no sets apart; without them fewer sets differ.
            closure = frozenset(
                each for each in fragments.closure(states) if each == end or fragments.reads(each)
            )
            return numbers[closure]

        number_of([start])
        for states in numbers.order:  # which grows
            if len(self.states) >= MAX_STATES:
                raise SchemaError(f"a structural tag has more than {MAX_STATES} states")
            texts = {fragments.texts[each] for each in states if each in fragments.texts}
            made = StructureState(is_end=end in states, text=min(texts, default=None))
            made.moves = tuple(
                [(data, number_of(targets)) for data, targets in _moves(fragments, states)]
            )
            values: dict[int, set[int]] = {}
            for each in states:
                for read, target in fragments.moves.get(each, ()):
                    if isinstance(read, int):
                        values.setdefault(read, set()).add(target)
            made.values = tuple([(value, number_of(after)) for value, after in values.items()])
            self._check(made)
            self.states.append(made)

    def _measure(self) -> None:
        """Find out how far the ends are."""
        before: list[list[tuple[int, int]]] = [[] for _ in self.states]
        for number, state in enumerate(self.states):
            for _, target in state.moves:
                before[target].append((number, 1))
            for _, target in state.values:
                before[target].append((number, _VALUE_COST))
        # Backwards from all ends at once (Dijkstra): each state gets its distance to the nearest.
        queue = [(0, number) for number, state in enumerate(self.states) if state.is_end]
        while queue:
            distance, number = heapq.heappop(queue)
            if distance >= self.states[number].distance:
                continue
            self.states[number].distance = distance
            for other, cost in before[number]:
                heapq.heappush(queue, (distance + cost, other))
        if self.states[0].distance == _FAR:
            raise SchemaError("a structural tag allows no message that the vocabulary can spell")

    def nearer(self, number: int) -> tuple[bytes | int, int]:
        """Return a move to a state from which an end is nearer: bytes, one of which is read.

        Or the number of a value.
        """
        state = self.states[number]
        moves: list[tuple[bytes | int, int]] = [*state.moves, *state.values]
        return min(moves, key=lambda move: self.states[move[1]].distance)


def _moves(fragments: _Fragments, states: States) -> list[tuple[bytes, tuple[int, ...]]]:
    """Return the bytes that a set of states reads, grouped by what they lead to."""
    moves = (move for each in sorted(states) for move in fragments.moves.get(each, ()))
    edges = [(read, target) for read, target in moves if isinstance(read, bytes)]
    if len(edges) < 2:
        return [(data, (target,)) for data, target in edges]
    targets: dict[int, list[int]] = {}
    for data, target in edges:
        for byte in data:
            targets.setdefault(byte, []).append(target)
    groups: dict[tuple[int, ...], bytearray] = {}
    for byte, after in targets.items():
        groups.setdefault(tuple(sorted(set(after))), bytearray()).append(byte)
    return [(bytes(sorted(data)), after) for after, data in groups.items()]


class _Fragments:
    """The nondeterministic automaton; `add` adds a part between two states."""

    def __init__(self, symbols: Mapping[str, int], values: list[tuple[str, str]]) -> None:
        self._symbols = symbols
        self._values = {key: number for number, key in enumerate(values)}
        names = sorted(symbols, key=len, reverse=True)
        self._names = re.compile("(" + "|".join(map(re.escape, names)) + ")") if names else None
        self._count = count()
        #: What is read, one of some bytes or a value by its number, and the state after it.
        self.moves: dict[int, list[tuple[bytes | int, int]]] = {}
        self.empty: dict[int, list[int]] = {}
        self.texts: dict[int, int] = {}
        self.limits: list[int] = []
        self.needed: set[int] = set()

    def new(self) -> int:
        """Return a new state."""
        number = next(self._count)
        if number > 10 * MAX_STATES:
            raise SchemaError(f"a structural tag has more than {MAX_STATES} states")
        return number

    def reads(self, state: int) -> bool:
        """Return whether anything is read in a state."""
        return state in self.moves

    def closure(self, states: Iterable[int]) -> States:
        """Return some states, and those that are reached without reading anything."""
        return frozenset(reached_from(states, lambda state: self.empty.get(state, ())))

    def keep_live(self, end: int, spelled: frozenset[int]) -> None:
        """Remove what leads to no end: it would be a dead end in the middle of a message."""
        before: dict[int, list[int]] = {}
        for state, row in self.moves.items():
            if spelled != ALL_BYTES:
                row[:] = [
                    (bytes(filter(spelled.__contains__, read)), to)
                    if isinstance(read, bytes)
                    else (read, to)
                    for read, to in row
                ]
            for read, to in row:
                if read != b"":
                    before.setdefault(to, []).append(state)
        for state, targets in self.empty.items():
            for to in targets:
                before.setdefault(to, []).append(state)
        live = reached_from([end], lambda state: before.get(state, ()))
        self.moves = {
            state: kept
            for state, row in self.moves.items()
            if (kept := [move for move in row if move[0] != b"" and move[1] in live])
        }

    def _symbol(self, name: str) -> bytes:
        """Return what stands for a special token in a text."""
        if name not in self._symbols:
            raise VocabularyError(
                f"the special token {name!r} is no text: only a tokenizer has it; compile the "
                "messages for one, and read tokens with a guide"
            )
        return bytes([self._symbols[name]])

    def add(self, part: Part, start: int, end: int) -> None:
        """Add what reads a part."""
        match part:
            case Exact():
                self._bytes(self.spelled(part.text), start, end)
            case Token():
                self._bytes(self._symbol(part.name), start, end)
            case AnyText():
                self._text(text_without(part.excludes), start, end, part.max_tokens)
            case Pattern():
                self._text(pattern_language(as_whole(part.pattern)), start, end)
            case PlainText():
                self._text(language_of(part.pattern), start, end)
            case RawText():
                self._text(raw_language(part), start, end)
            case Value():
                self._move(start, self._values[part.key], end)
            case Sequence():
                for each in part.parts:
                    after = self.new()
                    self.add(each, start, after)
                    start = after
                self._empty(start, end)
            case Choice():
                for each in part.parts:
                    self.add(each, start, end)
            case Repeat():
                self._repeat(part, start, end)
            case Joined():
                self._joined(part, start, end)

    def spelled(self, text: str) -> bytes:
        """Return the bytes of a text in which the names of tokens are symbols."""
        check_text(text)
        pieces = self._names.split(text) if self._names else [text]
        return b"".join(
            self._symbol(piece) if place % 2 else piece.encode()
            for place, piece in enumerate(pieces)
        )

    def _bytes(self, data: bytes, start: int, end: int) -> None:
        self.needed |= set(data)
        for byte in data:
            after = self.new()
            self._move(start, bytes([byte]), after)
            start = after
        self._empty(start, end)

    def _move(self, start: int, read: bytes | int, end: int) -> None:
        self.moves.setdefault(start, []).append((read, end))

    def _empty(self, start: int, end: int) -> None:
        self.empty.setdefault(start, []).append(end)

    def _repeat(self, part: Repeat, start: int, end: int) -> None:
        times = part.least if part.most is None else part.most
        if times > MAX_TIMES:
            raise SchemaError(f"a structural tag repeats a part {times} times; {MAX_TIMES} at most")
        for place in range(times):
            if place >= part.least:
                self._empty(start, end)
            after = self.new()
            self.add(part.part, start, after)
            start = after
        if part.most is None:
            again = self.new()
            self._empty(start, again)
            after = self.new()
            self.add(part.part, again, after)
            self._empty(after, again)
            start = again
        self._empty(start, end)

    def _joined(self, joined: Joined, start: int, end: int) -> None:
        # Two states between each two parts: before the first that comes, and after it.
        none, some = start, self.new()
        for part, is_required in joined.parts:
            begin, without, after = self.new(), self.new(), self.new()
            self._empty(none, begin)
            self._bytes(self.spelled(joined.separator), some, begin)
            self.add(part, begin, after)
            if not is_required:
                self._empty(none, without)
                self._empty(some, after)
            none, some = without, after
        self._empty(none, end)
        self._empty(some, end)

    def _text(self, language: Language, start: int, end: int, limit: int | None = None) -> None:
        if language.is_empty:
            return
        states = {state: self.new() for state in range(len(language.rows)) if state != DEAD}
        inside: dict[tuple[ByteTree, int], int] = {}
        for state, number in states.items():
            if language.is_end(state):
                self._empty(number, end)
            for target, ranges in language.moves_of(state).items():
                tree = utf8_tree(CharacterClass(ranges))
                self._characters(tree, number, states[target], inside)
        self._empty(start, states[language.start])
        if limit is not None:
            self.texts |= dict.fromkeys([*states.values(), *inside.values()], len(self.limits))
            self.limits.append(limit)

    def _characters(
        self, tree: ByteTree, start: int, end: int, inside: dict[tuple[ByteTree, int], int]
    ) -> None:
        """Add what reads one of some characters."""
        for low, high, rest in branches_of(tree):
            data = bytes(range(low, high + 1))
            if rest == END:
                self._move(start, data, end)
                continue
            is_new = (rest, end) not in inside
            if is_new:
                inside[rest, end] = self.new()
            after = inside[rest, end]
            self._move(start, data, after)
            if is_new:
                self._characters(rest, after, end, inside)


@lru_cache(maxsize=256)
def text_without(words: tuple[str, ...]) -> Language:
    """Return the texts in which none of some words occurs.

    >>> text_without(("ab",)).accepts("aab"), text_without(("ab",)).accepts("ba")
    (False, True)
    """
    begun = {"", *(word[:n] for word in words for n in range(len(word)))}
    characters = "".join(sorted({*"".join(words)}))

    def step(last: str, character: str) -> str | None:
        longer = last + character
        if longer.endswith(words):
            return None
        return next(longer[n:] for n in range(len(longer) + 1) if longer[n:] in begun)

    other = next(each for each in map(chr, count()) if each not in characters)
    return Language.of_steps("", step, lambda _: True, characters, others=other)
