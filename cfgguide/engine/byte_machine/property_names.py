"""Names of properties and listed strings as automata over bytes.

In: names, and how those that are not listed are written or told apart. Out: automata as
:mod:`cfgguide.engine.byte_machine.scalars` has them. A listed name is read beside all others: each
has a tag of its own, and what a name that has begun may become is a set of tags.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cfgguide.automata.charset import MAX_CODE_POINT, CharacterClass, common_ranges
from cfgguide.automata.language import DEAD, Language
from cfgguide.engine.byte_machine.scalars import (
    QUOTE,
    FreeStrings,
    KeptRows,
    Key,
    Piece,
    Pop,
    ScalarAutomaton,
    ScalarRow,
    SharedStrings,
    SpelledTexts,
    Traits,
    after_bytes,
    characters_of,
    key_of,
)
from cfgguide.engine.byte_machine.spellings import END, plain_spelling


@dataclass
class _Node:
    """A beginning of listed names."""

    children: dict[str, _Node]
    tag: int = -1
    below: int = 0  # tags of the names that begin like this, as bits


class PropertyNames(ScalarAutomaton):
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
        self._other_rows: dict[Key, ScalarRow] = {}
        start: Key = others.lexemes.start if others is not None else None
        self.start = ("n", ((END, 0),), start)

    def row(self, key: Any) -> ScalarRow:
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
                entries.append(((QUOTE,), Pop(self._nodes[number].tag)))
        for data, after in after_bytes(pieces):
            for byte in data:
                beside = None if base is None else base.after(byte)
                entries.append(((byte,), ("n", after, beside)))
        return ScalarRow(entries, None, base)

    def node(self, number: int) -> _Node:
        """Return the beginning of names with a number."""
        return self._nodes[number]

    def children(self, number: int) -> dict[str, int]:
        """Return the numbers of the beginnings with one more character."""
        found = {}
        for character, child in self._nodes[number].children.items():
            known = self._numbers.get(id(child))
            if known is None:
                known = len(self._nodes)
                self._nodes.append(child)  # first: one without a number is of no harm
                self._numbers[id(child)] = known
            found[character] = known
        return found

    def _pieces(self, number: int) -> tuple[Piece, ...]:
        return tuple(
            (plain_spelling(((ord(character), ord(character)),)), child)
            for character, child in self.children(number).items()
        )

    def _shared_number(self, key: Key) -> int:
        assert self._others is not None, "else there are no such keys"
        return self._others.number(key)

    def _other_row(self, key: Any) -> ScalarRow:
        """Return what follows inside a name that is not listed: one object for each key."""
        assert self._others is not None, "else there are no such keys"
        if key not in self._other_rows:
            row = self._others.lexemes.row(key)
            end = Pop(self._other_tag)
            targets = [end if isinstance(t, Pop) else t for t in row.targets]
            self._other_rows[key] = ScalarRow.of(row.places, targets)
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


class Words(ScalarAutomaton):
    """Listed strings.

    Keys are beginnings of words, by where they stand in the sorted list, and pieces inside a
    character.

    Parameters
    ----------
    words : sequence of str
        The strings.
    tags : mapping of str to int, optional
        The tag of each; by default 0.
    """

    def __init__(self, words: Sequence[str], tags: Mapping[str, int] | None = None) -> None:
        self._words = sorted(words)
        self._tags = [0 if tags is None else tags[word] for word in self._words]
        self.start = ("c", (0, len(words), 0))

    def row(self, key: Any) -> ScalarRow:
        """Return what follows a key."""
        kind, state = key
        pieces = state if kind == "p" else self._pieces(*state)
        entries: list[tuple[Iterable[int], Any]] = [
            (data, key_of(after)) for data, after in after_bytes(pieces)
        ]
        if kind == "c" and len(self._words[state[0]]) == state[2]:
            entries.append(((QUOTE,), Pop(self._tags[state[0]])))
        return ScalarRow(entries)

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


class PatternNames(KeptRows):
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
        super().__init__()
        self.n_names = len(names)
        self._listed = PropertyNames(names, None)
        self._groups = groups
        self._texts = SpelledTexts(groups, plain_spelling)
        self._free = FreeStrings(self._texts, len(names))
        self._others: dict[tuple[int, int, int], bool] = {}
        self._n_names = len(names)
        self._n_tags = len(names) + len(groups)
        self.start = ("c", (0, self._texts.start))

    def _made(self, key: Any) -> ScalarRow:
        kind, state = key
        if kind == "s":
            return self._free.row(key)
        pieces = state if kind == "p" else self._pieces(*state)
        entries: list[tuple[Iterable[int], Any]] = [
            (data, self._freed(key_of(after))) for data, after in after_bytes(pieces)
        ]
        tag = self._tag(*state) if kind == "c" else -1
        if tag >= 0:
            entries.append(((QUOTE,), Pop(tag)))
        return ScalarRow(entries)

    def _freed(self, key: Any) -> Key:
        kind, state = key
        return self._free.key(key, state[1]) if kind == "c" and state[0] < 0 else key

    def steps(self, key: Any, used: frozenset[int]) -> Iterator[tuple[bytes, Any]]:
        """Yield short texts that lead on, each to the end of a character."""
        kind, state = key
        if kind == "s":
            yield from self._free.steps(key, used)
            return
        yield from characters_of(state if kind == "p" else self._pieces(*state), used)
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
    return _has_other_text(language, language.start, PropertyNames(names, None).node(0))


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
