"""Names of properties and listed strings as automata over bytes.

In: names, and how those that are not listed are written or told apart. Out: automata as
:mod:`cfgguide.engine.byte_machine.scalars` has them. A listed name is read beside all others: each
has a tag of its own, and what a name that has begun may become is a set of tags.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, reduce
from math import inf
from operator import itemgetter, or_
from typing import Any, NamedTuple

from cfgguide.automata.charset import (
    END,
    ByteTree,
    branches_of,
)
from cfgguide.automata.language import DEAD, Language
from cfgguide.automata.numbers import without_zeros
from cfgguide.base.limits import check_step
from cfgguide.base.remembered import remembered
from cfgguide.engine.byte_machine.scalars import (
    QUOTE,
    Key,
    Numbers,
    Piece,
    ScalarAutomaton,
    ScalarRow,
    Strings,
    Traits,
    after_bytes,
    ended,
    is_end,
    key_of,
)
from cfgguide.engine.byte_machine.spellings import (
    is_written_in,
    n_bytes_of,
    n_texts_of,
    plain_spelling,
    shortest_in,
)

#: A beginning of listed texts: the first and the end of those that have it, and its length.
Beginning = tuple[int, int, int]
_ZEROS = "zeros"  # after the point of a listed number, where no other one goes on
_MOST_BYTES = 1 << 16  # of texts whose states are made at once


class _Ranks(NamedTuple):
    """Which of listed texts are short.

    Attributes
    ----------
    order : tuple of int
        The indices of the texts, the shortest first, without those that cannot be written.
    ranks : tuple of int
        The place of each text there, or a larger number.
    spelled : dict of int to str
        How each character is written, for `str.translate`.
    """

    order: tuple[int, ...]
    ranks: tuple[int, ...]
    spelled: dict[int, str]


class ListedTexts:
    """Different texts, sorted, each with a tag.

    Parameters
    ----------
    tags : mapping of str to int
        The texts, and the tag of each.
    """

    def __init__(self, tags: Mapping[str, int]) -> None:
        self.texts = tuple(sorted(tags))
        self.tags = tuple([tags[text] for text in self.texts])
        self.start: Beginning = (0, len(self.texts), 0)
        self._below: dict[Beginning, int] = {}
        self._known_ranks: dict[frozenset[int], _Ranks] = {}

    @property
    def are_written_once(self) -> bool:
        """Whether the texts stand in JSON as they are, in no other way, and are not too long."""
        data = "".join(self.texts)
        is_short = len(data) <= _MOST_BYTES and data.isascii()
        return is_short and _written_once().issuperset(data)

    @cached_property
    def _places(self) -> dict[int, list[int]]:
        """The indices of the texts with each tag."""
        places: dict[int, list[int]] = {}
        for index, tag in enumerate(self.tags):
            places.setdefault(tag, []).append(index)
        return places

    def _ranks(self, used: frozenset[int]) -> _Ranks:
        """Return which texts are short where some bytes may be written."""
        if used not in self._known_ranks:
            check_step()
            spelled: dict[int, str] = {}
            unwritten = set()
            for point in map(ord, sorted(frozenset[str]().union(*self.texts))):
                written = shortest_in(plain_spelling(((point, point),)), used)
                if written is None:
                    unwritten.add(chr(point))
                else:
                    spelled[point] = written.decode()
            found = []
            for index, text in enumerate(self.texts):
                check_step(0)
                if not unwritten or unwritten.isdisjoint(text):
                    data = text.translate(spelled).encode()
                    found.append((len(data), data, index))
            found.sort()
            order = list(map(itemgetter(2), found))
            ranks = [len(order)] * len(self.texts)
            for rank, index in enumerate(order):
                check_step(0)
                ranks[index] = rank
            self._known_ranks[used] = _Ranks(tuple(order), tuple(ranks), spelled)
        return self._known_ranks[used]

    def shortest(
        self, beginning: Beginning, tags: int, used: frozenset[int]
    ) -> tuple[bytes, int] | None:
        """Return the shortest rest of a text with one of some tags, given as bits, and its tag."""
        first, end, length = beginning
        order, ranks, spelled = self._ranks(used)
        if tags == -1:
            found = [*ranks[first:end]]
        elif not tags & tags - 1:
            places = self._places.get(tags.bit_length() - 1, ())
            found = [ranks[place] for place in places if first <= place < end]
        else:
            pairs = zip(ranks[first:end], self.tags[first:end], strict=True)
            found = [rank for rank, tag in pairs if tags >> tag & 1]
        rank = min(found, default=len(order))
        if rank == len(order):
            return None
        index = order[rank]
        return self.texts[index][length:].translate(spelled).encode(), self.tags[index]

    def tag(self, beginning: Beginning) -> int:
        """Return the tag of the text that is a beginning; -1 if there is none."""
        first, end, length = beginning
        return self.tags[first] if first < end and len(self.texts[first]) == length else -1

    def below(self, beginning: Beginning) -> int:
        """Return the tags of all texts with a beginning, as bits."""
        known = self._below.get(beginning)
        if known is None:
            first, end, _ = beginning
            known = 0
            for tag in self.tags[first:end]:
                known |= 1 << tag
            self._below[beginning] = known
        return known

    def longer(self, beginning: Beginning) -> Iterator[tuple[str, Beginning]]:
        """Yield the beginnings with one more character, and that."""
        first, end, length = beginning
        texts = self.texts
        if first < end and len(texts[first]) == length:
            first += 1
        while first < end:
            check_step(0)
            character = texts[first][length]
            last = bisect_right(
                texts, character, first, end, key=lambda text: text[length : length + 1]
            )
            yield character, (first, last, length + 1)
            first = last

    def pieces(self, beginning: Beginning) -> tuple[Piece, ...]:
        """Return the spellings of the next character, each with the beginning that it makes."""
        return tuple(
            (plain_spelling(((ord(character), ord(character)),)), longer)
            for character, longer in self.longer(beginning)
        )


@cache
def _written_once() -> frozenset[str]:
    """Return the characters of ASCII that are written in one way, as themselves."""
    points = range(0x80)
    return frozenset(
        chr(point)
        for point in points
        if branches_of(plain_spelling(((point, point),))) == ((point, point, END),)
    )


class Words(ScalarAutomaton):
    """Listed strings.

    Keys are beginnings, and pieces inside a character.

    Parameters
    ----------
    words : sequence of str
        The strings.
    tags : mapping of str to int, optional
        The tag of each; by default 0.
    """

    def __init__(self, words: Sequence[str], tags: Mapping[str, int] | None = None) -> None:
        self.listed = ListedTexts(dict.fromkeys(words, 0) if tags is None else tags)
        self.are_written_once = self.listed.are_written_once
        self.start = self.key(self.listed.start)

    def key(self, beginning: Beginning) -> Key:
        """Return the key of a beginning."""
        return "c", beginning

    def row(self, key: Any) -> ScalarRow:
        """Return what follows a key."""
        kind, state = key
        pieces = state if kind == "p" else self.listed.pieces(state)
        entries: list[tuple[Iterable[int], Any]] = [
            (data, key_of(after)) for data, after in after_bytes(pieces)
        ]
        tag = self.listed.tag(state) if kind == "c" else -1
        if tag >= 0:
            entries.append(((QUOTE,), tag))
        return ScalarRow.of(entries)

    def below(self, key: Any) -> int | None:
        """Return the tags of texts that go on from a key, as bits."""
        kind, state = key
        beginnings = [state] if kind == "c" else [beginning for _, beginning in state]
        return reduce(or_, map(self.listed.below, beginnings))

    def known_end(self, key: Any, tags: int, used: frozenset[int]) -> tuple[bytes, int] | None:
        """Return the shortest end, and its tag, if that is known without a search."""
        kind, state = key
        found = self.listed.shortest(state, tags, used) if kind == "c" and QUOTE in used else None
        return None if found is None else (found[0] + b'"', found[1])


class ListedNumbers(Numbers):
    """Listed numbers, each with its tag; a number may have zeros at its end, if it is not tidy.

    Keys are beginnings; of a number with more zeros, its tag and whether it may end.

    Parameters
    ----------
    tags : mapping of str to int
        The shortest spelling of each number, and its tag.
    is_tidy : bool
        Whether there is no other spelling.
    """

    def __init__(self, tags: Mapping[str, int], *, is_tidy: bool) -> None:
        super().__init__([])
        self._is_tidy = is_tidy
        self._tags = dict(tags)
        if "0" in tags and not is_tidy:
            self._tags["-0"] = tags["0"]
        self.listed = ListedTexts(self._tags)
        self.start = self.listed.start

    def _made(self, key: Any) -> ScalarRow:
        tag = self._tag(key)
        ends = None if tag < 0 else ended(tag)
        if key[0] == _ZEROS:
            return ScalarRow.of([(b"0", (_ZEROS, key[1], True))], ends)
        longer = dict(self.listed.longer(key))
        zeros: dict[str, Key] = {} if self._is_tidy else self._with_zeros(self._text(key))
        entries = [(text.encode(), after) for text, after in (zeros | longer).items()]
        return ScalarRow.of(entries, ends)

    def _text(self, beginning: Beginning) -> str:
        return self.listed.texts[beginning[0]][: beginning[2]]

    def _with_zeros(self, text: str) -> dict[str, Key]:
        """Return what begins or goes on with zeros after the point."""
        tag = self._tags.get(without_zeros(text), -1)
        if tag < 0:
            return {}
        return {"0": (_ZEROS, tag, True)} if "." in text else {".": (_ZEROS, tag, False)}

    def _tag(self, key: Any) -> int:
        """Return the tag of the number that may end; -1 if none may."""
        if key[0] == _ZEROS:
            return key[1] if key[2] else -1
        text = self._text(key)
        if self._is_tidy:
            return self._tags.get(text, -1)
        return -1 if text.endswith(".") else self._tags.get(without_zeros(text), -1)

    def traits(self, key: Any) -> Traits:
        """Return what is known of a key."""
        return Traits(ending=self._tag(key))

    def nearest(self, key: Any) -> float:
        """Return how many bytes have to come at least."""
        return 0 if self._tag(key) >= 0 else 1

    def known_end(self, key: Any, tags: int, used: frozenset[int]) -> tuple[bytes, int] | None:
        """Return the shortest end, and its tag, if that is known without a search."""
        # After a point, zeros may be shorter than what is listed.
        if key[0] == _ZEROS or (not self._is_tidy and "." in self._text(key)):
            return None
        return self.listed.shortest(key, tags, used)

    def ends(self, begun: str) -> Iterator[tuple[str, int]]:
        """Yield for each number that begins with a text the rest of one spelling, and the tag."""
        for text, tag in zip(self.listed.texts, self.listed.tags, strict=True):
            if text.startswith(begun):
                yield text[len(begun) :], tag


class PropertyNames(ScalarAutomaton):
    """Names of properties: listed ones, each with its index as its tag, and perhaps others.

    Keys are `("n", pieces, key of another name)`, and such keys alone, which all objects share that
    have the same others.

    Parameters
    ----------
    names : sequence of str
        The listed names. One counts as nothing else.
    others : Strings, optional
        The other names; the tags of their languages are the next numbers. Each language has a text
        that is not listed.
    """

    def __init__(self, names: Sequence[str], others: Strings | None) -> None:
        self.listed = ListedTexts({name: tag for tag, name in enumerate(names)})
        self.n_names = len(names)
        self._others = others
        #: The key of what follows beside the names.
        self.other: Key = None if others is None else others.start
        is_other = others is not None and not names
        self.start = self.other if is_other else self.key(self.listed.start)

    def key(self, beginning: Beginning) -> Key:
        """Return the key of a beginning, where each character is written in one way."""
        return "n", ((END, beginning),), self.other

    @property
    def are_written_once(self) -> bool:
        """Whether there is one way to write each name, and the same follows beside all of them."""
        is_same = self._others is None or self._others.free(self.other) >= 0
        return is_same and self.listed.are_written_once

    def row(self, key: Any) -> ScalarRow:
        """Return what follows a key: listed names first, then the others."""
        if key[0] != "n":
            return self._other_row(key)
        _, pieces, other = key
        base = None if other is None else self._other_row(other)
        entries: list[tuple[Iterable[int], Any]] = []
        ((tree, beginning),) = pieces[:1]
        if tree == END:
            pieces = self.listed.pieces(beginning)
            tag = self.listed.tag(beginning)
            if tag >= 0:
                entries.append(((QUOTE,), tag))
        for data, after in after_bytes(pieces):
            for byte in data:
                beside = None if base is None else base.after(byte)
                entries.append(((byte,), ("n", after, beside)))
        return ScalarRow.of(entries, base=base)

    def known_end(self, key: Any, tags: int, used: frozenset[int]) -> tuple[bytes, int] | None:
        """Return the shortest end, and its tag, if that is known without a search."""
        if QUOTE not in used:
            return None
        if key[0] != "n":
            end = self.others.known_end(key, tags >> self.n_names, used)
            return None if end is None else (end[0], self.n_names + end[1])
        _, ((tree, beginning), *_), other = key
        if tree != END:
            return None
        # Beside other names, only a listed one that is asked for is known, or one that ends here.
        if other is not None and tags >> self.n_names:
            tag = self.row(key).after(QUOTE)
            return (b'"', tag) if tag is not None and tags >> tag & 1 else None
        found = self.listed.shortest(beginning, tags, used)
        return None if found is None else (found[0] + b'"', found[1])

    @property
    def others(self) -> Strings:
        """The other names."""
        assert self._others is not None, "else there are no such keys"
        return self._others

    def nearest(self, key: Any) -> float:
        """Return how many bytes have to come at least, with the quote."""
        if key[0] != "n":
            return self.others.nearest(key)
        _, pieces, other = key
        least = 1 + min((n_bytes_of(tree) for tree, _ in pieces), default=inf)
        return least if other is None else min(least, self.nearest(other))

    def steps(self, key: Any, used: frozenset[int]) -> Iterator[tuple[bytes, Any]]:
        """Yield short texts that lead on, each with its target."""
        if key[0] == "n":
            yield from super().steps(key, used)
        else:
            for text, target in self.others.steps(key, used):
                yield text, self._target(target)

    def _target(self, target: Any) -> Any:
        return self.n_names + target if is_end(target) else target

    def _other_row(self, key: Any) -> ScalarRow:
        """Return what follows inside a name that is not listed."""
        return self.others.row(key).mapped(self._target)

    def traits(self, key: Any) -> Traits:
        """Return what is known of a key: which names may come of it."""
        if key[0] != "n":
            possible = self.others.possible(key)
            return Traits(below=possible << self.n_names, shared=self._shared(key))
        _, pieces, other = key
        below = 0
        for _, beginning in pieces:
            below |= self.listed.below(beginning)
        if other is None:
            return Traits(below=below)
        below |= self._possible(pieces, other) << self.n_names
        is_free = self.others.free(other) >= 0
        return Traits(below=below, shared=self._shared(other), is_named=is_free)

    def _shared(self, other: Key) -> tuple[int, int]:
        tag = self.others.free(other)
        return self.others.shared(other, self.n_names + tag) if tag >= 0 else (-1, -1)

    def _possible(self, pieces: tuple[tuple[ByteTree, Beginning], ...], other: Key) -> int:
        """Return of which languages of others a name may be that begins like listed ones."""
        if self.others.free(other) >= 0:
            return self.others.possible(other)
        found = 0
        for tree, texts in self.others.opened(other):
            # A listed name is written inside of what an other one is, or apart from that.
            inside = [each for each in pieces if is_written_in(each[0], tree)]
            is_apart = n_texts_of(tree) > sum([n_texts_of(each) for each, _ in inside])
            for group, state in enumerate(texts):
                if state != DEAD and (
                    is_apart
                    or any(self._has_other(group, state, beginning) for _, beginning in inside)
                ):
                    found |= 1 << group
        return found

    @remembered
    def _has_other(self, group: int, state: int, beginning: Beginning) -> bool:
        """Return whether a text of a language that is not listed begins like this."""
        language = self.others.texts.languages[group]
        assert isinstance(language, Language), "it was asked before whether it has others"
        return _has_other_text(language, state, self.listed, beginning)


def has_other_text(language: Language, names: Sequence[str]) -> bool:
    """Return whether a language has a text that is none of some names.

    Examples
    --------
    >>> few = Language.of_words(["a", "ab"])
    >>> has_other_text(few, ["a"]), has_other_text(few, ["a", "ab", "c"])
    (True, False)
    """
    listed = ListedTexts(dict.fromkeys(names, 0))
    return _has_other_text(language, language.start, listed, listed.start)


def _has_other_text(
    language: Language, first: int, listed: ListedTexts, beginning: Beginning
) -> bool:
    pending = [(first, beginning)]
    for state, each in pending:  # grows while it is walked
        if state in language.accepting and listed.tag(each) < 0:
            return True
        longer = list(listed.longer(each))
        for target, ranges in language.moves_of(state).items():
            found = [
                after
                for character, after in longer
                if any(low <= ord(character) <= high for low, high in ranges)
            ]
            if len(found) < sum(high - low + 1 for low, high in ranges):
                return True  # some text goes on from every state but the dead one
            pending += [(target, after) for after in found]
    return False
