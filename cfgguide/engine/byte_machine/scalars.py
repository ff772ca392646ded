r"""Scalars of JSON as automata over bytes.

In: languages of texts. Out: automata whose states are *keys*, made as they are asked for,
for a :class:`~cfgguide.engine.byte_machine.automaton.Pushdown` to number. A row of one says which
key follows a byte, or that the lexeme ends, with the byte or before it, with a *tag*: the number of
the language that has been read. Names of properties are in
:mod:`cfgguide.engine.byte_machine.property_names`.

Texts under conditions have plain spellings, like those of ``json.dumps``: a character is escaped
only where it must be; beyond ASCII it may be. Strings without conditions have all spellings.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cache, lru_cache, partial
from itertools import count
from math import inf
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from cfgguide.automata.alphabet import Ranges, beside, letters_to
from cfgguide.automata.charset import (
    END,
    SURROGATES,
    ByteTree,
    CharacterClass,
    branches_of,
    byte_tree,
    utf8_tree,
)
from cfgguide.automata.json_spelling import RAW
from cfgguide.automata.language import (
    DEAD,
    IN_JSON,
    IN_UTF8,
    Language,
    TextAutomaton,
)
from cfgguide.automata.pieces import PieceAutomaton
from cfgguide.automata.staying import looping, staying
from cfgguide.base.kinds import KINDS, N_BITS, kinds_in
from cfgguide.base.limits import check_step
from cfgguide.base.remembered import remembered
from cfgguide.base.sets import reached_from
from cfgguide.engine.byte_machine.spellings import (
    any_spelling,
    n_bytes_of,
    plain_spelling,
    shortest_in,
)

Key = Hashable

QUOTE = 0x22
_N_KEPT = 128  # automata of strings or numbers
_LONGEST = 4_096  # characters of a token
_UNCOUNTED = -1  # characters, where no token sees the bounds on their number
_AT_ONCE = 256  # characters that a step to an end adds at most: each is remembered
_RAW = kinds_in(RAW)  # that stand in a string of JSON as they are
_SPECIAL = re.compile(rb'["\\\x00-\x1f]')  # what does not stand as it is in a string of JSON

ANYHOW, PLAIN = range(2)  # strings of any characters, by their spelling

Bounds = tuple[int, int | None]  # the least and the most; None for no maximum


#: What a byte leads to: a key; None, which refuses; or a number, where the lexeme ends: its tag, if
#: with the byte, `ended(tag)` if before it. No key is a number.
Target = Any


def ended(tag: int) -> int:
    """Return the target of a byte before which a lexeme has ended; and the tag, given that."""
    return ~tag


def is_end(target: Target) -> bool:
    """Return whether a lexeme ends with a byte, or has before it."""
    return isinstance(target, int)


class ScalarRow(NamedTuple):
    """What follows a key.

    Attributes
    ----------
    places : bytes
        For each byte the index of its target in `targets`.
    targets : tuple of Target
    stays : int
        Kinds of characters any of which may follow one another, and how many
        (:func:`cfgguide.automata.staying.staying`).
    loops : int
        Those that lead back to the key (:func:`cfgguide.automata.staying.looping`).
    """

    places: bytes
    targets: tuple[Target, ...]
    stays: int = 0
    loops: int = 0

    @classmethod
    def of(
        cls,
        entries: Iterable[tuple[Iterable[int], Target]],
        otherwise: Target = None,
        base: ScalarRow | None = None,
    ) -> ScalarRow:
        """Return the row of some bytes, each with a target.

        Parameters
        ----------
        entries : iterable of (iterable of int, Target)
            Later ones count.
        otherwise : Target
            That of all other bytes.
        base : ScalarRow, optional
            Entries that come before these.
        """
        places = bytearray(256 if base is None else base.places)
        targets = [otherwise] if base is None else [*base.targets]
        for data, target in entries:
            for byte in data:
                places[byte] = len(targets)
            targets.append(target)
        return cls(bytes(places), tuple(targets))

    def after(self, byte: int) -> Target:
        """Return the target of a byte."""
        return self.targets[self.places[byte]]

    def following(self) -> list[tuple[Target, bytes]]:
        """Return the targets that are not refused, each with its bytes."""
        found: dict[int, list[int]] = {}
        for byte, place in enumerate(self.places):
            found.setdefault(place, []).append(byte)
        return [
            (self.targets[place], bytes(data))
            for place, data in found.items()
            if self.targets[place] is not None
        ]

    def mapped(self, change: Callable[[Target], Target]) -> ScalarRow:
        """Return the same with other targets."""
        return self._replace(targets=tuple(map(change, self.targets)))

    def entries(self) -> Iterable[tuple[int, Target]]:
        """Yield the bytes that are not refused, each with its target."""
        for byte, place in enumerate(self.places):
            if self.targets[place] is not None:
                yield byte, self.targets[place]


class Traits(NamedTuple):
    """What a :class:`~cfgguide.engine.byte_machine.automaton.Pushdown` knows of a state."""

    ending: int = -1
    below: int | None = None  # tags of the names that may come, as bits
    shared: tuple[int, int] = (-1, -1)  # the number of what has the same masks, and its tag
    is_named: bool = False
    bounds: tuple[int, int] = (-1, -1)

    @property
    def is_any(self) -> bool:
        """Whether any characters may follow, as many as the bounds say."""
        return self.shared[0] <= PLAIN and self.shared[1] >= 0


_PLAIN_TRAITS = Traits()


class ScalarAutomaton(ABC):
    """An automaton; `start` is the key before its first byte, after the quote of a string."""

    start: Key
    #: Whether keys may differ in counts only; see `near`.
    counts = False

    @abstractmethod
    def row(self, key: Any) -> ScalarRow:
        """Return what follows a key."""

    def after_text(self, key: Any, _data: bytes, place: int) -> tuple[int, Any]:
        """Return where a text goes on after characters that are read at once, and the key there.

        The key is None if they are refused.
        """
        return place, key

    def traits(self, _key: Any) -> Traits:
        """Return what is known of a key."""
        return _PLAIN_TRAITS

    def near(self, key: Any, _n: int) -> Any:
        """Return a key after which `n` bytes do what they do after another one.

        Counts are not told apart where their bounds are farther away.
        """
        return key

    def nearest(self, _key: Any) -> float:
        """Return how many bytes have to come at least; no byte makes it less by more than one."""
        return 0

    def below(self, key: Any) -> int | None:
        """Return the tags of texts that go on from a key, as bits; None if that is not known."""
        return self.traits(key).below

    def known_end(self, _key: Any, _tags: int, _used: frozenset[int]) -> tuple[bytes, int] | None:
        """Return the shortest end, and its tag, if that is known without a search."""
        return None

    def quoted(self, _key: Any) -> tuple[PieceAutomaton, int] | None:
        """Return the text of which a piece is written as it is, and the state in it."""
        return None

    def steps(self, key: Any, used: frozenset[int]) -> Iterator[tuple[bytes, Any]]:
        """Yield short texts that lead on, each with its target: one for each that is possible.

        Parameters
        ----------
        key : key
            Where they start.
        used : frozenset of int
            The bytes that may be written.
        """
        for target, data in self.row(key).following():
            byte = next((byte for byte in data if byte in used), None)
            if byte is not None and not (is_end(target) and target < 0):
                yield bytes((byte,)), target


class KeptRows(ScalarAutomaton):
    """An automaton whose rows are made once; a subclass overrides `_made`."""

    def __init__(self) -> None:
        # Their parts, which Python's garbage collector does not look through.
        self._rows: dict[Key, tuple[Any, ...]] = {}

    def row(self, key: Any) -> ScalarRow:
        """Return what follows a key."""
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = tuple(self._made(key))
        return ScalarRow._make(row)

    @abstractmethod
    def _made(self, key: Any) -> ScalarRow:
        """Return a new row."""


# -- strings --------------------------------------------------------------------------------

#: What a text may be by now: a tree of bytes still to come, and the state after them.
Piece = tuple[ByteTree, Hashable]


def after_bytes(pieces: Sequence[Piece]) -> list[tuple[Iterable[int], tuple[Piece, ...]]]:
    """Return what pieces become with one more byte."""
    if len(pieces) == 1:
        tree, state = pieces[0]
        return [(range(low, high + 1), ((rest, state),)) for low, high, rest in branches_of(tree)]
    cells: dict[int, list[Piece]] = {}
    for tree, state in pieces:
        check_step(0)
        for low, high, rest in branches_of(tree):
            piece = (rest, state)
            for byte in range(low, high + 1):
                cells.setdefault(byte, []).append(piece)
    alike: dict[tuple[Piece, ...], list[int]] = {}
    for byte, found in cells.items():
        alike.setdefault(tuple(found), []).append(byte)
    return [(data, found) for found, data in alike.items()]


def in_utf8(ranges: Ranges) -> ByteTree:
    """Return how the characters in some ranges are written outside of JSON."""
    return utf8_tree(CharacterClass(ranges))


@lru_cache(maxsize=4096)
def _opened(
    trees: tuple[ByteTree, ...],
) -> tuple[bytes, tuple[tuple[tuple[ByteTree, int], ...], ...]]:
    """Return for each byte of some trees its branch, and the trees and places that each leads to.

    Branch 0 is that of all other bytes, and left out.
    """
    branches = after_bytes([(tree, place) for place, tree in enumerate(trees)])
    row = ScalarRow.of([(data, found) for data, found in branches])
    return row.places, row.targets[1:]


class SpelledTexts:
    """The languages of a string, read side by side; a state has one of each."""

    def __init__(
        self, languages: Sequence[TextAutomaton], spelling: Callable[[Ranges], ByteTree]
    ) -> None:
        self.languages = languages
        self._spelling = spelling
        self._is_plain = spelling is in_utf8
        self._bytes = IN_UTF8 if self._is_plain else IN_JSON
        self.start = tuple(language.start for language in languages)
        self.counts = any(language.counts for language in languages)
        alphabets = tuple([each.alphabet for each in languages])
        self.alphabet, self._letters = (
            beside(alphabets) if len(languages) != 1 else (alphabets[0], ())
        )
        self._written: dict[tuple[int, frozenset[int]], list[bytes] | None] = {}

    def tag(self, state: tuple[int, ...]) -> int:
        """Return which language a text may end in; -1 for none."""
        for tag, (each, language) in enumerate(zip(state, self.languages, strict=True)):
            if language.is_end(each):
                return tag
        return -1

    @remembered
    def moves(self, state: tuple[int, ...]) -> dict[tuple[int, ...], int]:
        """Return the states after one more character, each with its letters as bits."""
        rows = [language.row(each) for each, language in zip(state, self.languages, strict=True)]
        if len(rows) == 1:
            return {(target,): letters for target, letters in letters_to(rows[0]).items()}
        found: dict[tuple[int, ...], int] = {}
        for letter, read in enumerate(self._letters):
            after = tuple([row[each] for row, each in zip(rows, read, strict=True)])
            if any(after):
                found[after] = found.get(after, 0) | 1 << letter
        return found

    def after(self, state: tuple[int, ...], data: bytes, place: int) -> tuple[int, tuple[int, ...]]:
        """Return where a text goes on after whole characters written as they are, and the state."""
        special = None if self._is_plain else _SPECIAL.search(data, place)
        end = len(data) if special is None else special.start()
        try:
            text = data[place:end].decode()
        except UnicodeDecodeError as error:
            end = place + error.start
            text = data[place:end].decode()
        found = []
        for language, each in zip(self.languages, state, strict=True):
            check_step()
            found.append(language.after_text(each, text))
        return end, tuple(found)

    def spelled(self, letters: int) -> ByteTree:
        """Return the spellings of some letters."""
        return self.alphabet.spelled(self._spelling, letters)

    def pieces(self, state: tuple[int, ...]) -> tuple[Piece, ...]:
        """Return the spellings of the next character, and the state after it."""
        return tuple([(self.spelled(each), after) for after, each in self.moves(state).items()])

    def near(self, state: tuple[int, ...], n: int) -> tuple[int, ...]:
        """Return a state after which `n` characters do what they do after another one."""
        if not self.counts:
            return state
        pairs = zip(self.languages, state, strict=True)
        return tuple([language.near(each, n) for language, each in pairs])

    def stays(self, state: tuple[int, ...]) -> int:
        """Return kinds of characters that may follow one another, written as they are.

        After each the same languages are possible. In pieces of a text there are none to speak of.
        """
        if any(isinstance(language, PieceAutomaton) for language in self.languages):
            return 0
        pairs = [pair for pair in zip(self.languages, state, strict=True) if pair[1] != DEAD]
        longest = max([language.longest(each) for language, each in pairs], default=0)
        shortest = max([language.shortest(each) for language, each in pairs], default=0)
        kinds = KINDS if self._is_plain else _RAW
        return staying(
            state,
            self.moves if len(self.languages) == 1 else self._moves_alike,
            self.near,
            self.alphabet,
            kinds,
            (longest - 1, shortest - 1),
        )

    def loops(self, state: tuple[int, ...]) -> int:
        """Return kinds of characters that lead back to a state, written as they are."""
        kinds = KINDS if self._is_plain else _RAW
        return looping(self.moves(state).get(state, 0), self.alphabet, kinds)

    def _moves_alike(self, state: tuple[int, ...]) -> dict[tuple[int, ...], int]:
        return {
            after: letters
            for after, letters in self.moves(state).items()
            if [each == DEAD for each in after] == [each == DEAD for each in state]
        }

    @remembered
    def is_open(self, state: tuple[int, ...]) -> bool:
        """Return whether texts may end after any number of characters from a state, at least one.

        Of one language that does not count itself; False for all others.
        """

        def is_fit(each: tuple[int, ...]) -> bool:
            return self.languages[0].is_end(each[0]) and self.languages[0].longest(each[0]) == inf

        if self.counts or len(self.languages) > 1:
            return False
        after = reached_from(
            self.moves(state), lambda each: self.moves(each) if is_fit(each) else ()
        )
        return all(map(is_fit, after))

    @remembered
    def free(self, state: tuple[int, ...]) -> int:
        """Return which language any text completes from here; -1 for none."""
        for tag, (each, language) in enumerate(zip(state, self.languages, strict=True)):
            if language.is_everything(each):
                return tag
        return -1

    def known_end(
        self, state: tuple[int, ...], tag: int, used: frozenset[int]
    ) -> tuple[bytes, int] | None:
        """Return a shortest text to an end of a language, if that is known without a search.

        With how many characters it has.
        """
        language = self.languages[tag]

        def written() -> list[bytes] | None:
            key = tag, used
            if key not in self._written:
                self._written[key] = written_letters(language, self._spelling, used)
            return self._written[key]

        return language.known_end(state[tag], self._bytes, written)

    def nearest(self, state: tuple[int, ...]) -> float:
        """Return how many bytes have to come at least."""
        return min(
            language.fewest(each, self._bytes)
            for each, language in zip(state, self.languages, strict=True)
            if each
        )


class Texts(KeptRows):
    """Texts of some disjoint languages; the tag is the index of the language.

    Keys are states at the start of a character, and pieces inside one.
    """

    def __init__(
        self, languages: Sequence[TextAutomaton], spelling: Callable[[Ranges], ByteTree]
    ) -> None:
        super().__init__()
        self.texts = SpelledTexts(languages, spelling)
        self.counts = self.texts.counts
        self.start = ("c", self.texts.start)

    def _made(self, key: Any) -> ScalarRow:
        kind, state = key
        pieces = state if kind == "p" else self.texts.pieces(state)
        places, branches = _opened(tuple([tree for tree, _ in pieces]))
        keys = [key_of(tuple([(rest, pieces[at][1]) for rest, at in each])) for each in branches]
        row = ScalarRow(places, (None, *keys))
        if kind == "p":
            return row
        return row._replace(stays=self.texts.stays(state), loops=self.texts.loops(state))

    def after_text(self, key: Any, data: bytes, place: int) -> tuple[int, Any]:
        """Return where a text goes on after whole characters, and the key; None for no key."""
        kind, state = key
        if kind != "c":
            return place, key
        place, state = self.texts.after(state, data, place)
        return place, ("c", state) if any(state) else None

    def traits(self, key: Any) -> Traits:
        """Return what is known of a key."""
        kind, state = key
        return Traits(ending=self.texts.tag(state)) if kind == "c" else _PLAIN_TRAITS

    def near(self, key: Any, n: int) -> Any:
        """Return a key after which `n` bytes do what they do after another one."""
        kind, inside = key
        if kind == "c":
            return kind, self.texts.near(inside, n)
        if kind == "p":
            return kind, tuple([(tree, self.texts.near(after, n)) for tree, after in inside])
        return key

    def nearest(self, key: Any) -> float:
        """Return how many bytes have to come at least."""
        kind, state = key
        if kind == "c":
            return self.texts.nearest(state)
        return min(n_bytes_of(tree) + self.texts.nearest(after) for tree, after in state)

    def known_end(self, key: Any, tags: int, used: frozenset[int]) -> tuple[bytes, int] | None:
        """Return a shortest end, and its tag, if that is known without a search."""
        kind, state = key
        # Of several languages, a search finds the one that is nearest.
        if kind != "c" or len(state) > 1 or not tags & 1:
            return None
        found = self.texts.known_end(state, 0, used)
        return None if found is None else (found[0], 0)

    def steps(self, key: Any, used: frozenset[int]) -> Iterator[tuple[bytes, Any]]:
        """Yield short texts that lead on, each to the end of a character."""
        kind, state = key
        yield from characters_of(state if kind == "p" else self.texts.pieces(state), used)


class Strings(Texts):
    """Texts in quotes; `start` is after the first one."""

    def __init__(
        self,
        languages: Sequence[TextAutomaton],
        spelling: Callable[[Ranges], ByteTree] = plain_spelling,
        number: int = PLAIN,
    ) -> None:
        super().__init__(languages, spelling)
        self._number = number  # of `_ANY_STRINGS`, which of them are spelled like this
        self._unbounded: dict[tuple[int, ...], UnboundedString] = {}

    def _made(self, key: Any) -> ScalarRow:
        row = super()._made(key)
        tag = self.texts.tag(key[1]) if key[0] == "c" else -1
        if tag < 0:
            return row
        return ScalarRow.of([((QUOTE,), tag)], base=row)._replace(stays=row.stays, loops=row.loops)

    def traits(self, key: Any) -> Traits:
        """Return what is known of a key: free rests share their masks, and so do counted ones."""
        kind, state = key
        tag = self.free(key)
        if tag >= 0:
            return Traits(shared=self.shared(key, tag))
        if kind != "c" or len(state) > 1:
            return _PLAIN_TRAITS
        found = self.texts.languages[0].unbounded(state[0])
        if found is None:
            return _PLAIN_TRAITS
        after, (least, most) = found
        return Traits(shared=(self.unbounded((after,)).number, 0), bounds=(most, least))

    def quoted(self, key: Any) -> tuple[PieceAutomaton, int] | None:
        """Return the text of which a piece is written as it is, and the state in it.

        None inside of characters: few tokens go on there.
        """
        kind, state = key
        if kind != "c" or len(state) > 1:
            return None
        language = self.texts.languages[0]
        return (language, state[0]) if isinstance(language, PieceAutomaton) else None

    def unbounded(self, state: tuple[int, ...]) -> UnboundedString:
        """Return what may follow a state, for strings that are the same but for their lengths."""
        found = self._unbounded.get(state)
        # Of two threads that make it, both have the one that is kept.
        return found or self._unbounded.setdefault(state, UnboundedString(self, ("c", state)))

    def shared(self, key: Any, tag: int) -> tuple[int, int]:
        """Return what is shared in a key of a string of any characters, and the tag of that.

        Inside of characters that is nothing but the tag: few tokens go on there.
        """
        return (self._number if key[0] == "c" else -1), tag

    def free(self, key: Any) -> int:
        """Return of which language is whatever may follow; -1 if that is not any text of one."""
        tags = {self.texts.free(state) for _, state in self.opened(key)}
        return tags.pop() if len(tags) == 1 else -1

    def opened(self, key: Any) -> Sequence[tuple[ByteTree, tuple[int, ...]]]:
        """Return what is left of the character that a key is in, each with the state after it."""
        kind, state = key
        return state if kind == "p" else ((END, state),)

    def possible(self, key: Any) -> int:
        """Return of which languages a text may be, as bits."""
        found = 0
        for _, state in self.opened(key):
            for tag, each in enumerate(state):
                found |= (each != DEAD) << tag
        return found

    def nearest(self, key: Any) -> float:
        """Return how many bytes have to come at least, with the quote."""
        return super().nearest(key) + 1

    def known_end(self, key: Any, tags: int, used: frozenset[int]) -> tuple[bytes, int] | None:
        """Return a shortest end, and its tag, if that is known without a search."""
        found = super().known_end(key, tags, used) if QUOTE in used else None
        return None if found is None else (found[0] + b'"', 0)

    def steps(self, key: Any, used: frozenset[int]) -> Iterator[tuple[bytes, Any]]:
        """Yield short texts that lead on, each to the end of a character."""
        yield from super().steps(key, used)
        kind, state = key
        tag = self.texts.tag(state) if kind == "c" else -1
        if tag >= 0:
            yield b'"', tag


def written_letters(
    language: TextAutomaton, spelling: Callable[[Ranges], ByteTree], used: frozenset[int]
) -> list[bytes] | None:
    """Return a shortest spelling of each letter; None if some bytes are missing for one."""
    found = [b""]  # of surrogates
    for letter in range(1, language.alphabet.n_letters):
        tree = language.alphabet.spelled(spelling, 1 << letter)
        text = shortest_in(tree, used)
        if text is None or len(text) > n_bytes_of(tree):
            return None
        found.append(text)
    return found


def characters_of(
    pieces: Sequence[Piece], used: frozenset[int]
) -> Iterator[tuple[bytes, tuple[str, Hashable]]]:
    """Yield how characters are written, each with the key after it."""
    for tree, after in pieces:
        text = shortest_in(tree, used)
        if text is not None:
            yield text, ("c", after)


def key_of(pieces: tuple[Piece, ...]) -> Key:
    """Return the key of pieces; that of a state if the character is complete."""
    tree, state = pieces[0]
    return ("c", state) if tree == END else ("p", pieces)


ANY = Language((0, *(SURROGATES[0], SURROGATES[1] + 1)), ((0, 0, 0), (1, 0, 1)), 1, frozenset([1]))


@cache
def any_strings() -> Strings:
    """Return strings of any characters with any spelling."""
    return Strings([ANY], any_spelling, ANYHOW)


@cache
def plain_strings() -> Strings:
    """Return strings of any characters with plain spellings."""
    return Strings([ANY])


class UnboundedString:
    """What may follow in strings of one pattern: all with bounds on their length share its masks.

    It lives as long as its strings, which have it.
    """

    def __init__(self, lexemes: Strings, key: Key) -> None:
        self.lexemes, self.key = lexemes, key
        self.number = next(_NUMBERS)
        _UNBOUNDED[self.number] = self


#: Strings of any characters, by their numbers: their masks are made once for a vocabulary.
_ANY_STRINGS = (any_strings, plain_strings)
_NUMBERS = count(len(_ANY_STRINGS))
_UNBOUNDED: WeakValueDictionary[int, UnboundedString] = WeakValueDictionary()


def string_of(number: int) -> tuple[Strings, Key]:
    """Return the strings with a number, and the key from which they are read."""
    if number in _UNBOUNDED:
        found = _UNBOUNDED[number]
        return found.lexemes, found.key
    lexemes = _ANY_STRINGS[number]()
    return lexemes, lexemes.start


@lru_cache(maxsize=_N_KEPT)
def strings_in(languages: tuple[TextAutomaton, ...]) -> Strings:
    """Return strings of some disjoint languages, with the rows that other schemas have made."""
    return Strings(languages)


class Bounded(ScalarAutomaton):
    """Strings of some languages whose lengths have bounds, counted as they are read.

    Keys are a state or pieces, and the number of characters before; it is not counted further than
    it matters.

    Parameters
    ----------
    parts : sequence of (TextAutomaton or None, (int, int or None))
        Disjoint: each a language, None for any text, and the least and the most characters. The tag
        is the index.
    """

    counts = True

    def __init__(self, parts: Sequence[tuple[TextAutomaton | None, Bounds]]) -> None:
        languages = list(dict.fromkeys(each for each, _ in parts))
        self._is_every = languages == [None]
        if self._is_every:
            self._base: Strings = plain_strings()
        else:
            self._base = Strings([ANY if each is None else each for each in languages])
        self._parts = [(languages.index(each), bounds) for each, bounds in parts]
        self._texts = self._base.texts
        self._languages = self._texts.languages
        self._lengths = [
            self._languages[place].within(*bounds).may_end for place, bounds in self._parts
        ]
        self._cap = max(max(least, 0 if most is None else most + 1) for _, (least, most) in parts)
        self._leasts = sorted(least for _, (least, _) in parts)
        self.start = ("c", self._texts.start, 0)
        self.is_empty = not self._may_end(self._texts.start, 0)

    def _may_end(self, state: tuple[int, ...], n: int) -> bool:
        """Return whether a text can end within the bounds of some part."""
        return n == _UNCOUNTED or any(
            state[place] != DEAD and may_end(state[place], n)
            for (place, _), may_end in zip(self._parts, self._lengths, strict=True)
        )

    def _tag(self, state: tuple[int, ...], n: int) -> int:
        """Return of which part a text is that ends; -1 for none."""
        for tag, (place, bounds) in enumerate(self._parts):
            if is_within(n, bounds) and self._languages[place].is_end(state[place]):
                return tag
        return -1

    def row(self, key: Any) -> ScalarRow:
        """Return what follows a key."""
        kind, state, n = key
        counted = self._more(n, 1) if kind == "c" else n
        row = self._base.row((kind, state)).mapped(partial(self._counted, key, counted))
        stays, loops = (self._stays(n, row.stays), row.loops) if kind == "c" else (0, 0)
        return row._replace(stays=stays, loops=loops if n == _UNCOUNTED else 0)

    def _more(self, n: int, more: int) -> int:
        """Return the number of characters after some more."""
        return n if n == _UNCOUNTED else min(n + more, self._cap)

    def _stays(self, n: int, of_base: int) -> int:
        """Return kinds of characters that may follow one another, after `n` characters.

        What stays under them without bounds can end within `n_guessed` characters, so as long as
        these are left; and by then it has reached the least number.
        """
        if n == _UNCOUNTED:
            return of_base
        if len(self._languages) > 1:
            return 0
        parts = [(inf if most is None else most, -least) for _, (least, most) in self._parts]
        most, least = max(parts)
        room, to_end = of_base >> N_BITS, 0 if self._is_every else self._languages[0].n_guessed
        if n + least < 0 and (n + room + least < 0 or most + least < to_end):
            return 0
        room = int(min(max(most - n - to_end, 0), room))
        return of_base & KINDS | room << N_BITS if room else 0

    def _counted(self, key: Any, counted: int, after: Target) -> Target:
        """Return a target with the number of characters; None if the text cannot end."""
        if after is None:
            return None
        if is_end(after):
            tag = self._tag(*key[1:])
            return None if tag < 0 else tag
        return (*after, counted) if self._is_live(after, counted) else None

    def after_text(self, key: Any, data: bytes, place: int) -> tuple[int, Any]:
        """Return where a text goes on after whole characters, and the key; None for no key."""
        *inside, n = key
        end, after = self._base.after_text(inside, data, place)
        counted = self._more(n, len(data[place:end].decode()))
        return end, (*after, counted) if after and self._is_live(after, counted) else None

    def near(self, key: Any, n: int) -> Any:
        """Return a key after which `n` bytes do what they do after another one."""
        kind, state, count = key
        far = n + 2 * max(language.n_guessed for language in self._languages)
        count = count if count == _UNCOUNTED else self._near_count(count, far)
        return (*self._base.near((kind, state), far), count)

    def _near_count(self, count: int, far: int) -> int:
        """Return a count from which bounds that are too far away look the same.

        Beyond `far`, whatever an automaton can end with at all is within the bounds, since a loop
        of it has no more characters than it has states.
        """
        mosts = [most for _, (_, most) in self._parts if most is not None]
        if all(count >= least for _, (least, _) in self._parts):
            if len(self._parts) == 1 and (not mosts or mosts[0] - count >= far):
                return _UNCOUNTED
            return max(count, min(mosts) - far) if mosts else count
        (_, (least, most)), *others = self._parts
        if others or (most is not None and most - least < far):
            return count
        return max(count, least - far)

    def known_end(self, key: Any, tags: int, used: frozenset[int]) -> tuple[bytes, int] | None:
        """Return a shortest end, and its tag, if that is known without a search."""
        kind, state, n = key
        if kind != "c" or len(self._parts) > 1 or not tags & 1 or QUOTE not in used:
            return None
        ((place, bounds),) = self._parts
        # Nothing is written that is too short in any case.
        if not is_within(n + self._languages[place].shortest(state[place]), bounds):
            return None
        found = self._texts.known_end(state, place, used)
        if found is None or not is_within(n + found[1], bounds):
            return None
        return found[0] + b'"', 0

    def nearest(self, key: Any) -> float:
        """Return how many bytes have to come at least, with the quote."""
        kind, state, n = key
        return max(self._base.nearest((kind, state)), float(self._leasts[0] - n + 1))

    def steps(self, key: Any, used: frozenset[int]) -> Iterator[tuple[bytes, Any]]:
        """Yield short texts that lead on, each to the end of a character.

        A byte that leads back to the same state only adds to the length: many come at once.
        """
        kind, state, n = key
        least = n + self._base.nearest(key[:2])  # characters, if it goes straight to an end
        missing = next((each - least for each in self._leasts if each > least + 1), 1)
        for text, after in self._base.steps((kind, state), used):
            n_more = min(int(missing), _AT_ONCE) if after == key[:2] and len(text) == 1 else 1
            counted = self._more(n, n_more) if kind == "c" else n
            target = self._counted(key, counted, after)
            if target is not None:
                yield text * n_more, target

    def _is_live(self, key: Any, n: int) -> bool:
        """Return whether a text may end, in one of the states that a key leads to."""
        kind, state = key
        if kind == "c":
            return self._may_end(state, n)
        return any(self._may_end(after, n) for _, after in state)

    def traits(self, key: Any) -> Traits:
        """Return what is known of a key: strings of any characters share their masks.

        Those of several parts do where no token leads from one part into another; those of a
        pattern, where nothing but their length may end them, or may not.
        """
        kind, state, n = key
        if n == _UNCOUNTED:
            return self._base.traits((kind, state))
        for tag, (_, (least, most)) in enumerate(self._parts):
            left = -1 if most is None else most - n
            if len(self._parts) > 1 and not (least <= n and (most is None or left >= _LONGEST)):
                continue
            if self._is_every:
                shared = plain_strings().shared(key, tag)
            elif kind == "c" and left >= 0 and self._texts.is_open(state):
                shared = self._base.unbounded(state).number, tag
            else:
                break
            return Traits(shared=shared, bounds=(left, max(0, least - n)))
        return _PLAIN_TRAITS


def is_within(n: float, bounds: Bounds) -> bool:
    """Return whether a number of characters is within bounds, if it is counted."""
    return n == _UNCOUNTED or (bounds[0] <= n and (bounds[1] is None or n <= bounds[1]))


def _one_byte_each(ranges: Ranges) -> ByteTree:
    return byte_tree((low, high, END) for low, high in ranges)


class Numbers(KeptRows):
    """Numbers of some disjoint languages; they end before a byte that they have no more."""

    def __init__(self, languages: Sequence[Language]) -> None:
        super().__init__()
        self.languages = languages
        self._texts = SpelledTexts(languages, _one_byte_each)
        self.start = self._texts.start

    def _made(self, key: Any) -> ScalarRow:
        entries = [
            (range(low, high + 1), after)
            for tree, after in self._texts.pieces(key)
            for low, high, _ in branches_of(tree)
        ]
        tag = self._texts.tag(key)
        row = ScalarRow.of(entries, None if tag < 0 else ended(tag))
        return row._replace(stays=self._texts.stays(key))

    def traits(self, key: Any) -> Traits:
        """Return what is known of a key."""
        return Traits(ending=self._texts.tag(key))

    def nearest(self, key: Any) -> float:
        """Return how many bytes have to come at least."""
        return self._texts.nearest(key)


@lru_cache(maxsize=_N_KEPT)
def numbers_in(languages: tuple[Language, ...]) -> Numbers:
    """Return numbers of some disjoint languages, with the rows that other schemas have made."""
    return Numbers(languages)


class Constants(ScalarAutomaton):
    """``null``, ``true`` and ``false``, as far as they are wanted, each with its tag."""

    start = ""

    def __init__(self, tags: dict[str, int]) -> None:
        self._tags = tags

    def row(self, key: str) -> ScalarRow:
        """Return what follows a key."""
        entries: list[tuple[Iterable[int], Any]] = []
        for word, tag in self._tags.items():
            if word.startswith(key):
                longer = word[: len(key) + 1]
                entries.append(((ord(longer[-1]),), tag if longer == word else longer))
        return ScalarRow.of(entries)
