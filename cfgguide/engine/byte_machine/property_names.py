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
from operator import or_
from typing import Any, NamedTuple

from cfgguide.automata.charset import (
    END,
    MAX_CODE_POINT,
    CharacterClass,
    branches_of,
    common_ranges,
)
from cfgguide.automata.language import DEAD, Language
from cfgguide.automata.numbers import without_zeros
from cfgguide.base.limits import check_step
from cfgguide.engine.byte_machine.scalars import (
    QUOTE,
    FreeStrings,
    Key,
    Numbers,
    Piece,
    ScalarAutomaton,
    ScalarRow,
    SpelledTexts,
    Strings,
    Traits,
    after_bytes,
    characters_of,
    ended,
    is_end,
    key_of,
    plain_strings,
)
from cfgguide.engine.byte_machine.spellings import n_bytes_of, plain_spelling, shortest_in

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
            order = [index for *_, index in found]
            ranks = [len(order)] * len(self.texts)
            for rank, index in enumerate(order):
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
    """Names of properties: listed ones, each with its index as its tag, and perhaps all others.

    Keys are `("n", pieces, key of another name)`, and such keys alone.

    Parameters
    ----------
    names : sequence of str
        The listed names.
    others : Strings, optional
        How other names are written; their tag is the number of the listed ones.
    """

    def __init__(self, names: Sequence[str], others: Strings | None) -> None:
        self.listed = ListedTexts({name: tag for tag, name in enumerate(names)})
        self.n_names = len(names)
        self._others = others
        self._other_tag = len(names)
        #: The key of what follows beside the names.
        self.other: Key = None if others is None else others.start
        self.start = self.key(self.listed.start)

    def key(self, beginning: Beginning) -> Key:
        """Return the key of a beginning, where each character is written in one way."""
        return "n", ((END, beginning),), self.other

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
        if key[0] != "n" or QUOTE not in used:
            return None
        # Beside other names, only a listed one that is asked for is known at once.
        if key[2] is not None and (tags < 0 or tags >> self._other_tag):
            return None
        ((tree, beginning),) = key[1][:1]
        found = self.listed.shortest(beginning, tags, used) if tree == END else None
        return None if found is None else (found[0] + b'"', found[1])

    def nearest(self, key: Any) -> float:
        """Return how many bytes have to come at least, with the quote."""
        if key[0] != "n":
            assert self._others is not None, "else there are no such keys"
            return self._others.nearest(key)
        _, pieces, other = key
        least = 1 + min((n_bytes_of(tree) for tree, _ in pieces), default=inf)
        return least if other is None else min(least, self.nearest(other))

    def _other_row(self, key: Any) -> ScalarRow:
        """Return what follows inside a name that is not listed."""
        assert self._others is not None, "else there are no such keys"
        row = self._others.row(key)
        return row.mapped(lambda target: self._other_tag if is_end(target) else target)

    def traits(self, key: Any) -> Traits:
        """Return what is known of a key."""
        if key[0] != "n":
            assert self._others is not None, "else there are no such keys"
            shared = self._others.shared(key, self._other_tag)
            return Traits(below=1 << self._other_tag, shared=shared)
        _, pieces, other = key
        below = 0
        for _, beginning in pieces:
            below |= self.listed.below(beginning)
        if self._others is None or other is None:
            return Traits(below=below)
        shared = self._others.shared(other, self._other_tag)
        return Traits(below=below | 1 << self._other_tag, shared=shared, is_named=True)


class PatternNames(ScalarAutomaton):
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
        self._listed = ListedTexts({name: tag for tag, name in enumerate(names)})
        self._groups = groups
        self._texts = SpelledTexts(groups, plain_spelling)
        self._free = FreeStrings(self._texts, len(names))
        self._others: dict[tuple[Beginning, int, int], bool] = {}
        self._is_plain = self._listed.are_written_once
        start = ("c", (self._listed.start if names else None, self._texts.start))
        self.start = self._freed(start)

    def row(self, key: Any) -> ScalarRow:
        """Return what follows a key."""
        kind, state = key
        if kind == "s":
            return self._free.row(key)
        pieces = state if kind == "p" else self._pieces(*state)
        entries: list[tuple[Iterable[int], Any]] = [
            (data, self._freed(key_of(after))) for data, after in after_bytes(pieces)
        ]
        tag = self._tag(*state) if kind == "c" else -1
        if tag >= 0:
            entries.append(((QUOTE,), tag))
        row = ScalarRow.of(entries)
        return (
            row._replace(stays=self._stays(state[1])) if kind == "c" and state[0] is None else row
        )

    def _stays(self, texts: tuple[int, ...]) -> int:
        """Return kinds of characters that may follow one another where no listed name may come.

        After each the same groups are possible: which are allowed is asked where a walk comes.
        """
        possible = [each != DEAD for each in texts]

        def moves(state: tuple[int, ...]) -> dict[tuple[int, ...], int]:
            return {
                after: letters
                for after, letters in self._texts.moves(state).items()
                if [each != DEAD for each in after] == possible
            }

        return self._texts.stays(texts, moves)

    def _freed(self, key: Any) -> Key:
        kind, state = key
        return self._free.key(key, state[1]) if kind == "c" and state[0] is None else key

    def nearest(self, key: Any) -> float:
        """Return how many bytes have to come at least, with the quote."""
        kind, state = key
        if kind == "s":
            return 1
        pieces = state if kind == "p" else ((END, state),)
        return 1 + min(
            n_bytes_of(tree) + (self._texts.nearest(texts) if beginning is None else 0)
            for tree, (beginning, texts) in pieces
        )

    def steps(self, key: Any, used: frozenset[int]) -> Iterator[tuple[bytes, Any]]:
        """Yield short texts that lead on, each to the end of a character."""
        kind, state = key
        if kind == "s":
            yield from self._free.steps(key, used)
            return
        yield from characters_of(state if kind == "p" else self._pieces(*state), used)
        tag = self._tag(*state) if kind == "c" else -1
        if tag >= 0:
            yield b'"', tag

    def _tag(self, beginning: Beginning | None, texts: tuple[int, ...]) -> int:
        own = -1 if beginning is None else self._listed.tag(beginning)
        if own >= 0:
            return own
        group = self._texts.tag(texts)
        return -1 if group < 0 else self.n_names + group

    def _pieces(self, beginning: Beginning | None, texts: tuple[int, ...]) -> tuple[Piece, ...]:
        """Return the spellings of the next character, with the beginning of names and of texts."""
        longer = [] if beginning is None else self._listed.longer(beginning)
        found: list[Piece] = []
        listed = {ord(character): after for character, after in longer}
        letter_of = self._texts.alphabet.letter
        for after, letters in self._texts.moves(texts).items():
            of_names = [point for point in listed if letters >> letter_of(point) & 1]
            if not of_names:
                found.append((self._texts.spelled(letters), (None, after)))
                continue
            ranges = self._texts.alphabet.ranges(letters)
            for point in of_names:
                single = ((point, point),)
                found.append((plain_spelling(single), (listed.pop(point), after)))
                kept = common_ranges(ranges, ((0, point - 1), (point + 1, MAX_CODE_POINT)))
                ranges = CharacterClass.of(kept).ranges
            if ranges:
                found.append((plain_spelling(ranges), (None, after)))
        nowhere = (DEAD,) * len(texts)
        for point, after_name in listed.items():
            found.append((plain_spelling(((point, point),)), (after_name, nowhere)))
        return tuple(found)

    def traits(self, key: Any) -> Traits:
        """Return what is known of a key: which names may come of it."""
        kind, state = key
        if kind == "s":
            shared = self._free.shared(key)
            return Traits(below=1 << shared[1], shared=shared)
        below = 0
        for beginning, texts in [after for _, after in state] if kind == "p" else [state]:
            below |= 0 if beginning is None else self._listed.below(beginning)
            for group, each in enumerate(texts):
                below |= self._has_other(beginning, group, each) << self.n_names + group
        beside = self._beside(*state) if kind == "c" else None
        if beside is None:
            return Traits(below=below)
        return Traits(below=below, shared=beside, is_named=True)

    def _beside(
        self, beginning: Beginning | None, texts: tuple[int, ...]
    ) -> tuple[int, int] | None:
        """Return the shared number and the tag of a beginning of names beside which all may come.

        None if there is none; or if names may be written in several ways, which would have to be
        followed inside of characters.
        """
        if beginning is None or not self._is_plain:
            return None
        group = self._texts.free(texts)
        if group < 0:
            return None
        return plain_strings().shared(plain_strings().start, self.n_names + group)

    def _has_other(self, beginning: Beginning | None, group: int, state: int) -> bool:
        """Return whether a text of a group that is not listed begins like this."""
        if beginning is None or state == DEAD:
            return state != DEAD
        key = (beginning, group, state)
        if key not in self._others:
            self._others[key] = _has_other_text(self._groups[group], state, self._listed, beginning)
        return self._others[key]


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
