r"""Scalars of JSON and names of properties as automata over bytes.

In: languages of texts, or names. Out: automata whose states are *keys*, made as they are asked for,
for a :class:`~cfgguide.pushdown.automaton.Pushdown` to number. A row of one says which key follows
a byte, or that the lexeme ends, with the byte or before it, with a *tag*: the number of the
language or of the name that has been read.

Texts under conditions have plain spellings, like those of ``json.dumps``: a character is escaped
only where it must be; beyond ASCII it may be. Strings without conditions have all spellings.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple

from cfgguide.automata.charset import (
    MAX_CODE_POINT,
    SURROGATES,
    CharacterClass,
    Utf8Node,
    common_ranges,
    utf8_tree,
)
from cfgguide.automata.language import ANY_TEXT, DEAD, Language, TextAutomaton
from cfgguide.automata.language import after as after_character

Ranges = tuple[tuple[int, int], ...]
Key = Hashable

_QUOTE, _BACKSLASH, _U = 0x22, 0x5C, 0x75
_SHORT = {8: "b", 9: "t", 10: "n", 12: "f", 13: "r", 0x22: '"', 0x5C: "\\"}
_RAW: Ranges = ((0x20, 0x21), (0x23, 0x5B), (0x5D, MAX_CODE_POINT))
_ESCAPED: Ranges = ((0, 0x1F), (0x7F, MAX_CODE_POINT))
_N_KEPT = 128  # automata of strings or numbers


class Pop(NamedTuple):
    """The lexeme ends with the byte."""

    tag: int


class Ends(NamedTuple):
    """The lexeme has ended before the byte."""

    tag: int


class Row:
    """What follows a key.

    Parameters
    ----------
    entries : list of (iterable of int, target)
        Bytes, each with a key, `Pop` or `Ends`; later ones count.
    otherwise : target
        That of all other bytes; None refuses.
    base : Row, optional
        Entries that come before these.

    Attributes
    ----------
    places : bytes
        For each byte the index of its target in `targets`.
    targets : list of target
        Those of `base` first.
    """

    def __init__(
        self,
        entries: list[tuple[Iterable[int], Any]],
        otherwise: Any = None,
        base: Row | None = None,
    ) -> None:
        places = bytearray(256) if base is None else bytearray(base.places)
        self.targets: list[Any] = [otherwise] if base is None else base.targets.copy()
        for data, target in entries:
            place = len(self.targets)
            self.targets.append(target)
            for byte in data:
                places[byte] = place
        self.places: bytes = bytes(places)
        self.base = base

    @classmethod
    def of(cls, places: bytes, targets: list[Any]) -> Row:
        """Return a row of both of its parts."""
        row = cls([])
        row.places, row.targets = places, targets
        return row

    def after(self, byte: int) -> Any:
        """Return the target of a byte."""
        return self.targets[self.places[byte]]

    @cached_property
    def following(self) -> list[tuple[Any, bytes]]:
        """The targets that are not refused, each with its bytes."""
        found: dict[int, list[int]] = {}
        for byte, place in enumerate(self.places):
            found.setdefault(place, []).append(byte)
        return [
            (self.targets[place], bytes(data))
            for place, data in found.items()
            if self.targets[place] is not None
        ]

    def entries(self) -> Iterable[tuple[int, Any]]:
        """Yield the bytes that are not refused, each with its target."""
        for byte, place in enumerate(self.places):
            if self.targets[place] is not None:
                yield byte, self.targets[place]


class Traits(NamedTuple):
    """What a :class:`~cfgguide.pushdown.automaton.Pushdown` knows of a state."""

    ending: int = -1
    below: tuple[int, int] | None = None
    shared: tuple[int, int] = (-1, -1)
    is_named: bool = False
    bounds: tuple[int, int] = (-1, -1)


_PLAIN_TRAITS = Traits()


class Lexemes:
    """An automaton; `start` is the key before its first byte, after the quote of a string."""

    start: Key

    def row(self, key: Any) -> Row:
        """Return what follows a key."""
        raise NotImplementedError

    def traits(self, _key: Any) -> Traits:
        """Return what is known of a key."""
        return _PLAIN_TRAITS

    def nearest(self, _key: Any) -> float:
        """Return how many bytes have to come at least; no byte makes it less by more than one."""
        return 0

    def steps(self, key: Any, used: frozenset[int]) -> Iterator[tuple[bytes, Any]]:
        """Yield short texts that lead on, each with a key or `Pop`: one for each that is possible.

        Parameters
        ----------
        key : key
            Where they start.
        used : frozenset of int
            The bytes that may be written.
        """
        for target, data in self.row(key).following:
            byte = next((byte for byte in data if byte in used), None)
            if byte is not None and not isinstance(target, Ends):
                yield bytes((byte,)), target


# -- spellings ------------------------------------------------------------------------------


class Tree:
    """A tree of bytes: ranges, each with what follows. Equal trees are one object; `END` is empty.

    Attributes
    ----------
    branches : tuple of (int, int, Tree)
        First and last byte, sorted.
    """

    __slots__ = ("branches",)
    _known: ClassVar[dict[tuple[tuple[int, int, int], ...], Tree]] = {}

    def __init__(self, branches: tuple[tuple[int, int, Tree], ...]) -> None:
        self.branches = branches

    @classmethod
    def of(cls, branches: Iterable[tuple[int, int, Tree]]) -> Tree:
        """Return the tree of some branches; neighbours that lead on alike are joined."""
        joined: list[tuple[int, int, Tree]] = []
        for low, high, rest in sorted(branches, key=lambda branch: branch[0]):
            if joined and joined[-1][1] == low - 1 and joined[-1][2] is rest:
                joined[-1] = (joined[-1][0], high, rest)
            else:
                joined.append((low, high, rest))
        key = tuple((low, high, id(rest)) for low, high, rest in joined)
        return cls._known.setdefault(key, cls(tuple(joined)))


END = Tree.of(())


@lru_cache(maxsize=4096)
def shortest_in(tree: Tree, used: frozenset[int]) -> bytes | None:
    r"""Return the least of the shortest texts in a tree, of some bytes; None if there is none.

    Examples
    --------
    >>> tree = plain_spelling(((0xE9, 0xE9),))
    >>> shortest_in(tree, frozenset(range(256))), shortest_in(tree, frozenset(range(128)))
    (b'\xc3\xa9', b'\\u00E9')
    """
    if tree is END:
        return b""
    found = []
    for low, high, rest in tree.branches:
        byte = next((byte for byte in range(low, high + 1) if byte in used), None)
        after = None if byte is None else shortest_in(rest, used)
        if byte is not None and after is not None:
            found.append(bytes((byte,)) + after)
    return min(found, key=lambda text: (len(text), text), default=None)


@cache
def _tree_of(node: Utf8Node) -> Tree:
    return Tree.of((low, high, _tree_of(rest)) for low, high, rest in node) if node else END


@cache
def any_spelling(ranges: Ranges) -> Tree:
    """Return all spellings of a character in a string without conditions."""
    assert ranges == ANY_TEXT, "all characters have the same spellings there"
    letters = ((ord(letter), ord(letter), END) for letter in '"\\/bfnrt')
    hexadecimal = _hex_tree((((0, 0xFFFF), END),), 4)
    escapes = Tree.of([*letters, (_U, _U, hexadecimal)])
    raw = _tree_of(utf8_tree(CharacterClass(common_ranges(ANY_TEXT, _RAW))))
    return Tree.of([*raw.branches, (_BACKSLASH, _BACKSLASH, escapes)])


@lru_cache(maxsize=4096)
def plain_spelling(ranges: Ranges) -> Tree:
    """Return the plain spellings of the characters in some ranges.

    Examples
    --------
    >>> [branch[:2] for branch in plain_spelling(((10, 10), (97, 99))).branches]
    [(92, 92), (97, 99)]
    """
    raw = _tree_of(utf8_tree(CharacterClass.of(common_ranges(ranges, _RAW))))
    escapes = [
        (ord(letter), ord(letter), END)
        for point, letter in _SHORT.items()
        if any(low <= point <= high for low, high in ranges)
    ]
    escaped = common_ranges(common_ranges(ranges, ANY_TEXT), _ESCAPED)
    if escaped:
        escapes.append((_U, _U, _escapes(escaped)))
    if not escapes:
        return raw
    return Tree.of([*raw.branches, (_BACKSLASH, _BACKSLASH, Tree.of(escapes))])


def _escapes(ranges: Ranges) -> Tree:
    r"""Return the digits after ``\u``; above the first plane another ``\u`` follows."""
    parts: list[tuple[tuple[int, int], Tree]] = [
        (each, END) for each in common_ranges(ranges, ((0, 0xD7FF), (0xE000, 0xFFFF)))
    ]
    for low, high in common_ranges(ranges, ((0x10000, MAX_CODE_POINT),)):
        parts += _pairs(low - 0x10000, high - 0x10000)
    return _hex_tree(_merged(sorted(parts, key=lambda part: part[0])), 4)


def _pairs(low: int, high: int) -> Iterable[tuple[tuple[int, int], Tree]]:
    """Yield the first halves of surrogate pairs of a range, and what follows them."""
    while low <= high:
        first, offset = divmod(low, 0x400)
        if offset == 0 and high - low >= 0x3FF:
            n_firsts = (high - low + 1) // 0x400
            yield (0xD800 + first, 0xD800 + first + n_firsts - 1), _second((0xDC00, 0xDFFF))
            low += n_firsts * 0x400
        else:
            end = min(high, low - offset + 0x3FF)
            seconds = (0xDC00 + offset, 0xDC00 + offset + end - low)
            yield (0xD800 + first, 0xD800 + first), _second(seconds)
            low = end + 1


def _second(seconds: tuple[int, int]) -> Tree:
    digits = _hex_tree(((seconds, END),), 4)
    return Tree.of([(_BACKSLASH, _BACKSLASH, Tree.of([(_U, _U, digits)]))])


def _merged(
    parts: Sequence[tuple[tuple[int, int], Tree]],
) -> tuple[tuple[tuple[int, int], Tree], ...]:
    """Return parts with those of one range joined: each range may be there several times."""
    found: dict[tuple[int, int], list[Tree]] = {}
    for each, rest in parts:
        found.setdefault(each, []).append(rest)
    return tuple((each, _united(rests)) for each, rests in found.items())


def _united(trees: Sequence[Tree]) -> Tree:
    """Return a tree with what several trees have, all of the same depth."""
    if len(trees) == 1:
        return trees[0]
    by_byte: dict[int, dict[Tree, None]] = {}
    for tree in trees:
        for low, high, rest in tree.branches:
            for byte in range(low, high + 1):
                by_byte.setdefault(byte, {})[rest] = None
    return Tree.of((byte, byte, _united(list(rests))) for byte, rests in by_byte.items())


@lru_cache(maxsize=4096)
def _hex_tree(parts: tuple[tuple[tuple[int, int], Tree], ...], n_digits: int) -> Tree:
    """Return hexadecimal numbers of `n_digits` digits in some ranges, each with what follows."""
    if n_digits == 0:
        return parts[0][1]
    size = 16 ** (n_digits - 1)
    branches: list[tuple[int, int, Tree]] = []
    for digit in range(16):
        inside = tuple(
            ((max(low - digit * size, 0), min(high - digit * size, size - 1)), rest)
            for (low, high), rest in parts
            if low < (digit + 1) * size and high >= digit * size
        )
        if inside:
            below = _hex_tree(inside, n_digits - 1)
            letters = f"{digit:x}" if digit < 10 else f"{digit:x}{digit:X}"
            branches += [(ord(letter), ord(letter), below) for letter in letters]
    return Tree.of(branches)


# -- strings --------------------------------------------------------------------------------

#: What a text may be by now: a tree of bytes still to come, and the state after them.
Piece = tuple[Tree, Hashable]


def _after_bytes(pieces: Sequence[Piece]) -> list[tuple[Iterable[int], tuple[Piece, ...]]]:
    """Return what pieces become with one more byte."""
    if len(pieces) == 1:
        tree, state = pieces[0]
        return [(range(low, high + 1), ((rest, state),)) for low, high, rest in tree.branches]
    cells: dict[int, list[Piece]] = {}
    for tree, state in pieces:
        for low, high, rest in tree.branches:
            piece = (rest, state)
            for byte in range(low, high + 1):
                cells.setdefault(byte, []).append(piece)
    alike: dict[tuple[Piece, ...], list[int]] = {}
    for byte, found in cells.items():
        alike.setdefault(tuple(found), []).append(byte)
    return [(data, found) for found, data in alike.items()]


class _Texts:
    """The languages of a string, read side by side; a state has one of each."""

    def __init__(
        self, languages: Sequence[TextAutomaton], spelling: Callable[[Ranges], Tree]
    ) -> None:
        self._languages = languages
        self._spelling = spelling
        self.start = tuple(language.start for language in languages)

    def tag(self, state: tuple[int, ...]) -> int:
        """Return which language a text may end in; -1 for none."""
        for tag, (each, language) in enumerate(zip(state, self._languages, strict=True)):
            if language.is_end(each):
                return tag
        return -1

    def moves(self, state: tuple[int, ...]) -> dict[tuple[int, ...], Ranges]:
        """Return the states after one more character, each with the characters."""
        if len(state) == 1:
            moves = self._languages[0].moves_of(state[0])
            return {(target,): ranges for target, ranges in moves.items()}
        found: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        cuts = sorted({0}.union(*(language.cuts for language in self._languages)))
        for first, end in zip(cuts, [*cuts[1:], MAX_CODE_POINT + 1], strict=True):
            after = tuple(
                after_character(language, each, chr(first)) if each else DEAD
                for each, language in zip(state, self._languages, strict=True)
            )
            if any(after):
                found.setdefault(after, []).append((first, end - 1))
        return {after: CharacterClass.of(ranges).ranges for after, ranges in found.items()}

    def pieces(self, state: tuple[int, ...]) -> tuple[Piece, ...]:
        """Return the spellings of the next character, and the state after it."""
        return tuple((self._spelling(ranges), after) for after, ranges in self.moves(state).items())

    def free(self, state: tuple[int, ...]) -> int:
        """Return which language any text completes from here; -1 for none."""
        for tag, (each, language) in enumerate(zip(state, self._languages, strict=True)):
            if language.is_end(each) and language.moves_of(each) == {each: ANY_TEXT}:
                return tag
        return -1

    def nearest(self, state: tuple[int, ...]) -> float:
        """Return how many characters have to come at least."""
        return min(
            language.shortest(each)
            for each, language in zip(state, self._languages, strict=True)
            if each
        )

    def within(self, least: int, most: int | None) -> Callable[[tuple[int, ...], int], bool]:
        """Return what tells whether a text can end within its bounds, from a state and a length."""
        lengths = [language.within(least, most) for language in self._languages]
        if len(lengths) == 1:
            may_end = lengths[0].may_end
            return lambda state, n: may_end(state[0], n)
        return lambda state, n: any(
            each.may_end(here, n) for here, each in zip(state, lengths, strict=True)
        )


class Strings(Lexemes):
    """Strings of some disjoint languages; the tag is the index of the language.

    Keys are states at the start of a character, and pieces inside one.
    """

    def __init__(
        self,
        languages: Sequence[TextAutomaton],
        spelling: Callable[[Ranges], Tree] = plain_spelling,
        shared: Callable[[Key], int] | None = None,
    ) -> None:
        self._texts = _Texts(languages, spelling)
        self._shared = shared
        self.start = ("c", self._texts.start)
        self._rows: dict[Key, Row] = {}

    def row(self, key: Any) -> Row:
        """Return what follows a key."""
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = self._made(key)
        return row

    def _made(self, key: Any) -> Row:
        kind, state = key
        pieces = state if kind == "p" else self._texts.pieces(state)
        entries: list[tuple[Iterable[int], Any]] = [
            (data, _key_of(after)) for data, after in _after_bytes(pieces)
        ]
        if kind == "c":
            tag = self._texts.tag(state)
            if tag >= 0:
                entries.append(((_QUOTE,), Pop(tag)))
        return Row(entries)

    def traits(self, key: Any) -> Traits:
        """Return what is known of a key."""
        if self._shared is None:
            return _PLAIN_TRAITS
        return Traits(shared=(self._shared(key), 0))

    def nearest(self, key: Any) -> float:
        """Return how many bytes have to come at least, with the quote."""
        kind, state = key
        states = [state] if kind == "c" else [after for _, after in state]
        return min(map(self._texts.nearest, states)) + 1

    def steps(self, key: Any, used: frozenset[int]) -> Iterator[tuple[bytes, Any]]:
        """Yield short texts that lead on, each to the end of a character."""
        kind, state = key
        yield from _characters(state if kind == "p" else self._texts.pieces(state), used)
        tag = self._texts.tag(state) if kind == "c" else -1
        if tag >= 0:
            yield b'"', Pop(tag)


def _characters(
    pieces: Sequence[Piece], used: frozenset[int]
) -> Iterator[tuple[bytes, tuple[str, Hashable]]]:
    """Yield how characters are written, each with the key after it."""
    for tree, after in pieces:
        text = shortest_in(tree, used)
        if text is not None:
            yield text, ("c", after)


def _key_of(pieces: tuple[Piece, ...]) -> Key:
    """Return the key of pieces; that of a state if the character is complete."""
    tree, state = pieces[0]
    return ("c", state) if tree is END else ("p", pieces)


class SharedStrings:
    """Strings without conditions: their states have numbers that are the same everywhere."""

    def __init__(self, spelling: Callable[[Ranges], Tree], first: int) -> None:
        self._first = first
        self._numbers: dict[Key, int] = {}
        self.keys: list[Key] = []
        every = Language((0, *(SURROGATES[0], SURROGATES[1] + 1)), ((0, 0, 0), (1, 0, 1)), 1, _ONE)
        self.lexemes = Strings([every], spelling, self.number)
        self._add(self.lexemes.start)
        for key in self.keys:  # grows while it is walked
            for after in self.lexemes.row(key).targets:
                if not isinstance(after, Pop | None):
                    self._add(after)

    def _add(self, key: Key) -> None:
        if key not in self._numbers:
            self._numbers[key] = self._first + len(self.keys)
            self.keys.append(key)

    def number(self, key: Key) -> int:
        """Return the number of a key."""
        return self._numbers[key]


_ONE = frozenset([1])
_N_SHARED = 256  # more than either has


@cache
def any_strings() -> SharedStrings:
    """Return strings with any spelling."""
    return SharedStrings(any_spelling, 0)


@cache
def plain_strings() -> SharedStrings:
    """Return strings with plain spellings."""
    return SharedStrings(plain_spelling, _N_SHARED)


def shared_key(number: int) -> tuple[Lexemes, Key]:
    """Return the automaton and the key that a shared number stands for."""
    strings = any_strings() if number < _N_SHARED else plain_strings()
    return strings.lexemes, strings.keys[number % _N_SHARED]


class Free:
    """Rests of strings that may be anything: they share their masks with plain strings.

    Keys are `("s", (tag, key of a plain string))`.

    Parameters
    ----------
    texts : _Texts
        The languages; which is free is asked of states.
    first_tag : int
        The tag of the first language.
    """

    def __init__(self, texts: _Texts, first_tag: int = 0) -> None:
        self._texts = texts
        self._first_tag = first_tag
        self._known: dict[tuple[int, ...], Key] = {}

    def key(self, key: Any, state: tuple[int, ...]) -> Key:
        """Return the key of a rest instead of another key, if its state is free."""
        if state not in self._known:
            tag = self._texts.free(state)
            self._known[state] = tag if tag < 0 else self._key(tag, plain_strings().lexemes.start)
        known = self._known[state]
        return key if known == -1 else known

    def _key(self, tag: int, key: Key) -> Key:
        return "s", (self._first_tag + tag, key)

    def row(self, key: Any) -> Row:
        """Return what follows a key of a rest."""
        _, (tag, inside) = key
        row = plain_strings().lexemes.row(inside)
        return Row.of(row.places, [self._target(tag, target) for target in row.targets])

    def _target(self, tag: int, target: Any) -> Any:
        if target is None:
            return None
        return Pop(tag) if isinstance(target, Pop) else ("s", (tag, target))

    def shared(self, key: Any) -> tuple[int, int]:
        """Return the shared number and the tag of a key of a rest."""
        _, (tag, inside) = key
        return plain_strings().number(inside), tag

    def steps(self, key: Any, used: frozenset[int]) -> Iterator[tuple[bytes, Any]]:
        """Yield short texts that lead on from a key of a rest."""
        _, (tag, inside) = key
        for text, target in plain_strings().lexemes.steps(inside, used):
            yield text, self._target(tag, target)


class ConditionedStrings(Strings):
    """Strings of some disjoint languages with plain spellings, and free rests."""

    def __init__(self, languages: Sequence[TextAutomaton]) -> None:
        super().__init__(languages)
        self._free = Free(self._texts)

    def _made(self, key: Any) -> Row:
        if key[0] == "s":
            return self._free.row(key)
        row = super()._made(key)
        return Row.of(row.places, [self._freed(target) for target in row.targets])

    def _freed(self, target: Any) -> Any:
        if isinstance(target, Pop | None) or target[0] != "c":
            return target
        return self._free.key(target, target[1])

    def traits(self, key: Any) -> Traits:
        """Return what is known of a key: free rests share their masks."""
        return Traits(shared=self._free.shared(key)) if key[0] == "s" else _PLAIN_TRAITS

    def nearest(self, key: Any) -> float:
        """Return how many bytes have to come at least, with the quote."""
        return 1 if key[0] == "s" else super().nearest(key)

    def steps(self, key: Any, used: frozenset[int]) -> Iterator[tuple[bytes, Any]]:
        """Yield short texts that lead on, each to the end of a character."""
        return self._free.steps(key, used) if key[0] == "s" else super().steps(key, used)


@lru_cache(maxsize=_N_KEPT)
def strings_in(languages: tuple[TextAutomaton, ...]) -> ConditionedStrings:
    """Return strings of some disjoint languages, with the rows that other schemas have made."""
    return ConditionedStrings(languages)


class Bounded(Lexemes):
    """Strings of some languages whose length has bounds, counted as they are read.

    Keys are a state or pieces, and the number of characters before; it is not counted further than
    it matters.
    """

    def __init__(self, languages: Sequence[TextAutomaton], least: int, most: int | None) -> None:
        every = not languages
        base = plain_strings().lexemes if every else Strings(languages)
        self._base = base
        self._texts = base._texts
        self._least, self._most = least, most
        self._is_every = every
        self._may_end = self._texts.within(least, most)
        self.start = ("c", self._texts.start, 0)
        self.is_empty = not self._may_end(self._texts.start, 0)

    def row(self, key: Any) -> Row:
        """Return what follows a key."""
        kind, state, n = key
        row = self._base.row((kind, state))
        counted = self._capped(n + 1) if kind == "c" else n
        targets = [self._counted(after, n, counted) for after in row.targets]
        return Row.of(row.places, targets)

    def _counted(self, after: Any, n: int, counted: int) -> Any:
        """Return a target with the number of characters; None if the text cannot end."""
        if after is None:
            return None
        if isinstance(after, Pop):
            return after if n >= self._least else None
        return (*after, counted) if self._is_live(after, counted) else None

    def nearest(self, key: Any) -> float:
        """Return how many bytes have to come at least, with the quote."""
        kind, state, n = key
        return max(self._base.nearest((kind, state)), float(self._least - n + 1))

    def steps(self, key: Any, used: frozenset[int]) -> Iterator[tuple[bytes, Any]]:
        """Yield short texts that lead on, each to the end of a character."""
        kind, state, n = key
        counted = self._capped(n + 1) if kind == "c" else n
        for text, after in self._base.steps((kind, state), used):
            target = self._counted(after, n, counted)
            if target is not None:
                yield text, target

    def _capped(self, n: int) -> int:
        return n if self._most is not None else min(n, self._least)

    def _is_live(self, key: Any, n: int) -> bool:
        """Return whether a text may end, in one of the states that a key leads to."""
        if self._most is not None and n > self._most:
            return False
        kind, state = key
        if kind == "c":
            return self._may_end(state, n)
        return any(self._may_end(after, n) for _, after in state)

    def traits(self, key: Any) -> Traits:
        """Return what is known of a key: strings of any characters share their masks."""
        if not self._is_every:
            return _PLAIN_TRAITS
        kind, state, n = key
        most = -1 if self._most is None else self._most - n
        return Traits(
            shared=(plain_strings().number((kind, state)), 0),
            bounds=(most, max(0, self._least - n)),
        )


def _one_byte_each(ranges: Ranges) -> Tree:
    return Tree.of((low, high, END) for low, high in ranges)


class Numbers(Lexemes):
    """Numbers of some disjoint languages; they end before a byte that they have no more."""

    def __init__(self, languages: Sequence[Language]) -> None:
        self.languages = languages
        self._texts = _Texts(languages, _one_byte_each)
        self.start = self._texts.start
        self._rows: dict[Key, Row] = {}

    def row(self, key: Any) -> Row:
        """Return what follows a key."""
        if key not in self._rows:
            self._rows[key] = self._made(key)
        return self._rows[key]

    def _made(self, key: Any) -> Row:
        entries = [
            (range(low, high + 1), after)
            for tree, after in self._texts.pieces(key)
            for low, high, _ in tree.branches
        ]
        tag = self._texts.tag(key)
        return Row(list(entries), None if tag < 0 else Ends(tag))

    def traits(self, key: Any) -> Traits:
        """Return what is known of a key."""
        return Traits(ending=self._texts.tag(key))


@lru_cache(maxsize=_N_KEPT)
def numbers_in(languages: tuple[Language, ...]) -> Numbers:
    """Return numbers of some disjoint languages, with the rows that other schemas have made."""
    return Numbers(languages)


class Constants(Lexemes):
    """``null``, ``true`` and ``false``, as far as they are wanted, each with its tag."""

    start = ""

    def __init__(self, tags: dict[str, int]) -> None:
        self._tags = tags

    def row(self, key: str) -> Row:
        """Return what follows a key."""
        entries: list[tuple[Iterable[int], Any]] = []
        for word, tag in self._tags.items():
            if word.startswith(key):
                longer = word[: len(key) + 1]
                entries.append(((ord(longer[-1]),), Pop(tag) if longer == word else longer))
        return Row(entries)


# -- names ----------------------------------------------------------------------------------


@dataclass
class _Node:
    """A beginning of listed names."""

    children: dict[str, _Node]
    tag: int = -1
    below: int = 0  # tags of the names that begin like this, as bits


class Names(Lexemes):
    """Names of properties: listed ones, each with its index as its tag, and perhaps all others.

    Parameters
    ----------
    names : sequence of str
        The listed names.
    others : SharedStrings, optional
        How other names are written; their tag is the number of the listed ones.
    """

    def __init__(self, names: Sequence[str], others: SharedStrings | None) -> None:
        self._root = _Node({})
        for tag, name in enumerate(names):
            node = self._root
            node.below |= 1 << tag
            for character in name:
                node = node.children.setdefault(character, _Node({}))
                node.below |= 1 << tag
            node.tag = tag
        self.n_names = len(names)
        self._n_tags = len(names) + (others is not None)
        self._others = others
        self._other_tag = len(names)
        self._nodes: list[_Node] = [self._root]
        self._numbers = {id(self._root): 0}
        self._other_rows: dict[Key, Row] = {}
        start: Key = others.lexemes.start if others is not None else None
        self.start = ("n", ((END, 0),), start)

    def row(self, key: Any) -> Row:
        """Return what follows a key: listed names first, then the others."""
        if key[0] != "n":
            return self._other_row(key)
        _, pieces, other = key
        base = None if other is None else self._other_row(other)
        entries: list[tuple[Iterable[int], Any]] = []
        ((tree, number),) = pieces[:1]
        if tree is END:
            pieces = self._pieces(number)
            if self._nodes[number].tag >= 0:
                entries.append(((_QUOTE,), Pop(self._nodes[number].tag)))
        for data, after in _after_bytes(pieces):
            for byte in data:
                beside = None if base is None else base.after(byte)
                entries.append(((byte,), ("n", after, beside)))
        return Row(entries, None, base)

    def node(self, number: int) -> _Node:
        """Return the beginning of names with a number."""
        return self._nodes[number]

    def children(self, number: int) -> dict[str, int]:
        """Return the numbers of the beginnings with one more character."""
        found = {}
        for character, child in self._nodes[number].children.items():
            found[character] = self._numbers.setdefault(id(child), len(self._nodes))
            if found[character] == len(self._nodes):
                self._nodes.append(child)
        return found

    def _pieces(self, number: int) -> tuple[Piece, ...]:
        return tuple(
            (plain_spelling(((ord(character), ord(character)),)), child)
            for character, child in self.children(number).items()
        )

    def _shared_number(self, key: Key) -> int:
        assert self._others is not None, "else there are no such keys"
        return self._others.number(key)

    def _other_row(self, key: Any) -> Row:
        """Return what follows inside a name that is not listed: one object for each key."""
        assert self._others is not None, "else there are no such keys"
        if key not in self._other_rows:
            row = self._others.lexemes.row(key)
            end = Pop(self._other_tag)
            targets = [end if isinstance(t, Pop) else t for t in row.targets]
            self._other_rows[key] = Row.of(row.places, targets)
        return self._other_rows[key]

    def traits(self, key: Any) -> Traits:
        """Return what is known of a key."""
        if key[0] != "n":
            return Traits(shared=(self._shared_number(key), self._other_tag))
        _, pieces, other = key
        below = 0
        for _, number in pieces:
            below |= self._nodes[number].below
        if self._others is None or other is None:
            return Traits(below=(below, self._n_tags))
        shared = (self._others.number(other), self._other_tag)
        return Traits(
            below=(below | 1 << self._other_tag, self._n_tags), shared=shared, is_named=True
        )


class Words(Lexemes):
    """Listed strings; the tag is 0.

    Keys are beginnings of words, by where they stand in the sorted list, and pieces inside a
    character.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words = sorted(words)
        self.start = ("c", (0, len(words), 0))

    def row(self, key: Any) -> Row:
        """Return what follows a key."""
        kind, state = key
        pieces = state if kind == "p" else self._pieces(*state)
        entries: list[tuple[Iterable[int], Any]] = [
            (data, _key_of(after)) for data, after in _after_bytes(pieces)
        ]
        if kind == "c" and len(self._words[state[0]]) == state[2]:
            entries.append(((_QUOTE,), Pop(0)))
        return Row(entries)

    def _pieces(self, first: int, end: int, length: int) -> tuple[Piece, ...]:
        """Return the spellings of the next character of the words from `first` on."""
        found: list[Piece] = []
        if len(self._words[first]) == length:
            first += 1
        while first < end:
            character = self._words[first][length]
            last = bisect_right(
                self._words, character, first, end, key=lambda word: word[length : length + 1]
            )
            spelling = plain_spelling(((ord(character), ord(character)),))
            found.append((spelling, (first, last, length + 1)))
            first = last
        return tuple(found)


class PatternNames(Lexemes):
    """Names of properties that patterns tell apart: listed ones, then groups of all others.

    Parameters
    ----------
    names : sequence of str
        The listed names; the tag of each is its index.
    groups : sequence of Language
        Disjoint; their tags are the next numbers. A listed name counts as nothing else, and each
        has a text that is not listed.
    """

    def __init__(self, names: Sequence[str], groups: Sequence[Language]) -> None:
        self.n_names = len(names)
        self._listed = Names(names, None)
        self._groups = groups
        self._texts = _Texts(groups, plain_spelling)
        self._free = Free(self._texts, len(names))
        self._others: dict[tuple[int, int, int], bool] = {}
        self._rows: dict[Key, Row] = {}
        self._n_names = len(names)
        self._n_tags = len(names) + len(groups)
        self.start = ("c", (0, self._texts.start))

    def row(self, key: Any) -> Row:
        """Return what follows a key."""
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = self._made(key)
        return row

    def _made(self, key: Any) -> Row:
        kind, state = key
        if kind == "s":
            return self._free.row(key)
        pieces = state if kind == "p" else self._pieces(*state)
        entries: list[tuple[Iterable[int], Any]] = [
            (data, self._freed(_key_of(after))) for data, after in _after_bytes(pieces)
        ]
        tag = self._tag(*state) if kind == "c" else -1
        if tag >= 0:
            entries.append(((_QUOTE,), Pop(tag)))
        return Row(entries)

    def _freed(self, key: Any) -> Key:
        kind, state = key
        return self._free.key(key, state[1]) if kind == "c" and state[0] < 0 else key

    def steps(self, key: Any, used: frozenset[int]) -> Iterator[tuple[bytes, Any]]:
        """Yield short texts that lead on, each to the end of a character."""
        kind, state = key
        if kind == "s":
            yield from self._free.steps(key, used)
            return
        yield from _characters(state if kind == "p" else self._pieces(*state), used)
        tag = self._tag(*state) if kind == "c" else -1
        if tag >= 0:
            yield b'"', Pop(tag)

    def _tag(self, node: int, texts: tuple[int, ...]) -> int:
        own = self._listed.node(node).tag if node >= 0 else -1
        if own >= 0:
            return own
        group = self._texts.tag(texts)
        return -1 if group < 0 else self._n_names + group

    def _pieces(self, node: int, texts: tuple[int, ...]) -> tuple[Piece, ...]:
        """Return the spellings of the next character, with the beginning of names and of texts."""
        children = self._listed.children(node) if node >= 0 else {}
        found: list[Piece] = []
        listed = {ord(character): number for character, number in children.items()}
        for after, ranges in self._texts.moves(texts).items():
            rest = CharacterClass.of(ranges)
            for point in [point for point in listed if point in rest]:
                single = ((point, point),)
                found.append((plain_spelling(single), (listed.pop(point), after)))
                kept = common_ranges(ranges, ((0, point - 1), (point + 1, MAX_CODE_POINT)))
                ranges = CharacterClass.of(kept).ranges
            if ranges:
                found.append((plain_spelling(ranges), (-1, after)))
        nowhere = (DEAD,) * len(texts)
        for point, number in listed.items():
            found.append((plain_spelling(((point, point),)), (number, nowhere)))
        return tuple(found)

    def traits(self, key: Any) -> Traits:
        """Return what is known of a key: which names may come of it."""
        kind, state = key
        if kind == "s":
            shared = self._free.shared(key)
            return Traits(below=(1 << shared[1], self._n_tags), shared=shared)
        below = 0
        for node, texts in [after for _, after in state] if kind == "p" else [state]:
            below |= self._listed.node(node).below if node >= 0 else 0
            for group, each in enumerate(texts):
                below |= self._has_other(node, group, each) << self._n_names + group
        return Traits(below=(below, self._n_tags))

    def _has_other(self, node: int, group: int, state: int) -> bool:
        """Return whether a text of a group that is not listed begins like this."""
        if node < 0 or state == DEAD:
            return state != DEAD
        key = (node, group, state)
        if key not in self._others:
            listed = self._listed.node(node)
            self._others[key] = _has_other_text(self._groups[group], state, listed)
        return self._others[key]


def has_other_text(language: Language, names: Sequence[str]) -> bool:
    """Return whether a language has a text that is none of some names.

    Examples
    --------
    >>> few = Language.of_words(["a", "ab"])
    >>> has_other_text(few, ["a"]), has_other_text(few, ["a", "ab", "c"])
    (True, False)
    """
    return _has_other_text(language, language.start, Names(names, None).node(0))


def _has_other_text(language: Language, first: int, root: _Node) -> bool:
    pending = [(first, root)]
    for state, node in pending:  # grows while it is walked
        if state in language.accepting and node.tag < 0:
            return True
        for target, ranges in language.moves[state].items():
            listed = [
                child
                for character, child in node.children.items()
                if any(low <= ord(character) <= high for low, high in ranges)
            ]
            if len(listed) < sum(high - low + 1 for low, high in ranges):
                return True  # some text goes on from every state but the dead one
            pending += [(target, child) for child in listed]
    return False
