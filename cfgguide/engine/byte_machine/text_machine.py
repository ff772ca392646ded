r"""The machine of one pattern: an automaton over characters that is made as texts are read.

In: the tree of a pattern (:mod:`cfgguide.automata.pattern_tree`). Out: a :class:`TextMachine`,
which reads UTF-8, and the :class:`TextMasks` of a vocabulary. One walk over the vocabulary, spelled
in the letters of the automaton (:mod:`cfgguide.engine.byte_machine.letters`), makes a mask. States
that differ only in how far it is to the bounds of their counts have one mask where no token gets
there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from cfgguide.automata.charset import (
    SURROGATES,
    ByteTree,
    CharacterClass,
    utf8_tree,
    without_bytes,
)
from cfgguide.automata.language import ANY_TEXT, DEAD, IN_UTF8, Ranges
from cfgguide.automata.pattern_automaton import GrowingAutomaton, automaton_of
from cfgguide.automata.pattern_text import spelled
from cfgguide.automata.pattern_tree import Characters, Nodes, walk, within
from cfgguide.automata.python_notation import read as read_python
from cfgguide.base import archive
from cfgguide.base.archive import Arrays
from cfgguide.base.collector import collector_off
from cfgguide.base.limits import LONGEST, Limits, Steps, check_step
from cfgguide.engine.byte_machine.automaton import Pushdown
from cfgguide.engine.byte_machine.byte_machine import ByteKey, ByteMachine, ByteMasks
from cfgguide.engine.byte_machine.byte_views import BOTTOM, IS_END
from cfgguide.engine.byte_machine.byte_walk import WalkMemory
from cfgguide.engine.byte_machine.letters import (
    MAX_LETTERS,
    VocabularyCharacters,
    code_points_of,
    cut,
)
from cfgguide.engine.byte_machine.outcomes import ByteOutcomes, SplitOutcomes
from cfgguide.engine.byte_machine.scalars import (
    ScalarAutomaton,
    Target,
    Traits,
    is_end,
    written_letters,
)
from cfgguide.engine.byte_machine.seen_parts import ByteConfiguration
from cfgguide.engine.byte_machine.short_ends import ShortestLexemes
from cfgguide.engine.index.configuration_trie import ConfigurationTrie, Mask
from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.engine.masks.subset import Subset, bitmask_of
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import GrammarError, LimitError, VocabularyError, shown
from cfgguide.grammar.lr.stack import Stack

_BEYOND_ASCII = (*range(0x80, 0xC0), *range(0xC2, 0xF5))  # bytes of UTF-8

VERSION = 1  # of what the masks mean
_BOTTOM = Stack(BOTTOM)
_MAX_RANGES = 20  # of a class of characters that is named
_NONE_LIVE = np.zeros(1, dtype=np.int64)
_NO_PLACES = np.empty(0, dtype=np.int64)
_NO_WORDS = np.empty(0, dtype=np.uint32)

Key = tuple[int, bytes]  # a state of the automaton, and the beginning of a character


class TextPushdown(Pushdown):
    """An automaton over characters, whose letters a walk reads; it never pushes.

    Its states are those of the automaton, each with the bytes of a character that has begun.
    """

    def __init__(self, automaton: GrowingAutomaton) -> None:
        super().__init__()
        self.automaton = automaton
        self._keys: dict[int, Key] = {}
        self._numbers: dict[Key, int] = {}
        self.start = self.state(automaton.start)

    def state(self, state: int, begun: bytes = b"") -> int:
        """Return the number of a state of the automaton, with the beginning of a character."""
        if state == DEAD:
            return DEAD
        key = (state, begun)
        number = self._numbers.get(key)
        if number is None:
            with self.lock:
                number = self._numbers.get(key)
                if number is None:
                    is_end = not begun and self.automaton.is_end(state)
                    number = self.new_state(is_end=is_end)
                    self._keys[number] = key
                    self._numbers[key] = number
        return number

    def meaning(self, number: int) -> Key:
        """Return the state of the automaton, and the beginning of a character."""
        return self._keys[number]

    def make_row(self, state: int) -> None:
        """Make the row of a state."""
        row = self.automaton.row(self._keys[state][0])
        targets = {DEAD: 0}
        places = bytearray(MAX_LETTERS)
        for letter, target in enumerate(row):
            places[letter] = targets.setdefault(target, len(targets))
        self.set_mapped_row(state, bytes(places), [self.state(target) for target in targets])


class TextMachine(ByteMachine):
    """Reads the texts that a pattern matches as a whole.

    Parameters
    ----------
    pattern : str
        In Python's notation.
    nodes : tuple of Node
        The same as a tree.
    limits : Limits, optional
        What each step may cost; by default 5 seconds.
    cancelled : callable, optional
        Asked often whether to give up making it.
    missing : frozenset of int
        Bytes that no token has: no text has a character with one of them.

    Raises
    ------
    GrammarError
        If no text matches.
    VocabularyError
        If none does without the missing bytes.
    LimitError
        If it takes too long to find that out, or all texts are very long.
    """

    pushdown: TextPushdown

    def __init__(
        self,
        pattern: str,
        nodes: Nodes,
        limits: Limits | None = None,
        cancelled: Callable[[], bool] | None = None,
        *,
        missing: frozenset[int] = frozenset(),
    ) -> None:
        self._pattern, self._limits, self._missing = pattern, limits, missing
        self.steps = _steps(limits)
        with _steps(limits, cancelled).begun():
            automaton = automaton_of(within(nodes, without_bytes(missing)) if missing else nodes)
            if automaton.is_empty:
                _refuse(pattern, nodes, missing)
            if automaton.fewest(automaton.start, IN_UTF8) > LONGEST:
                raise LimitError(
                    f"each text that matches the pattern {shown(pattern)} has more than {LONGEST} "
                    "bytes, and no model writes so long a text; use smaller counts"
                )
        pushdown = TextPushdown(automaton)
        told = [VERSION, "pattern", pattern, *([sorted(missing)] if missing else [])]
        super().__init__(pushdown, archive.digest({}, told))

    def __reduce__(self) -> tuple[Any, ...]:
        """For `pickle`: the pattern."""
        return _again, (self._pattern, self._limits, self._missing)

    @property
    def n_letters(self) -> int:
        """Number of sets of characters that are told apart."""
        return len(set(self.pushdown.automaton.letters))

    def read(self, configuration: ByteConfiguration, data: bytes) -> ByteConfiguration | None:
        """Return the configuration after bytes that need not be a token, or None."""
        state, begun = self.pushdown.meaning(configuration.state)
        text, begun = cut(begun + data)
        if text is None:
            return None
        with self.steps.begun():
            return self.after(state, text, begun)

    def after(self, state: int, text: str, begun: bytes) -> ByteConfiguration | None:
        """Return the configuration after some characters, and the beginning of another one."""
        check_step()
        automaton = self.pushdown.automaton
        cuts, letters = automaton.cuts, automaton.letters
        for character in text:
            place = bisect_right(cuts, ord(character)) - 1
            state = automaton.row(state)[letters[place]]
            if state == DEAD:
                return None
        if begun and not self._may_begin(state, begun):
            return None
        return ByteConfiguration(self.pushdown.state(state, begun), _BOTTOM)

    def _may_begin(self, state: int, begun: bytes) -> bool:
        """Return whether a character that begins with some bytes may follow."""
        low, high = code_points_of(begun)
        automaton = self.pushdown.automaton
        first = bisect_right(automaton.cuts, low) - 1
        end = bisect_right(automaton.cuts, high)
        row = automaton.row(state)
        return any(row[letter] != DEAD for letter in automaton.letters[first:end])

    def expected(self, configuration: ByteConfiguration) -> tuple[str, ...]:
        """Return the class of characters that may follow, and ``$END`` where the text may end.

        A long class, and the rest of a character that has begun, is ``TEXT``.
        """
        state, begun = self.pushdown.meaning(configuration.state)
        found = ["$END"] if self.is_sentence(configuration) else []
        moves = self.pushdown.automaton.moves_of(state).values()
        ranges = CharacterClass.of(each for ranges in moves for each in ranges).ranges
        if ranges:
            is_long = begun or len(ranges) > _MAX_RANGES
            found.append("TEXT" if is_long else spelled(ranges))
        return tuple(found)

    def is_live(self, configuration: ByteConfiguration, *, quickly: bool = False) -> bool:
        """Return whether a sentence can follow: always."""
        return True

    def endings(
        self, vocabulary: Vocabulary, n_tokens: Callable[[bytes], int | None]
    ) -> list[Callable[[ByteConfiguration], bytes | None]]:
        """Return the way to find short endings; every byte of the pattern is in tokens."""
        lexemes, shortest = _Texts(self.pushdown), ShortestLexemes(frozenset(range(256)))

        def ending(configuration: ByteConfiguration) -> bytes | None:
            with self.steps.begun():
                found = shortest.end(lexemes, self.pushdown.meaning(configuration.state))
            return None if found is None else found.text

        return [ending]

    def masks(self, vocabulary: Vocabulary) -> TextMasks:
        """Return what makes masks."""
        return TextMasks(self, vocabulary)

    def packed(self) -> tuple[Arrays, dict[str, object]]:
        """Return the pattern."""
        return {}, {"pattern": self._pattern}


def _steps(limits: Limits | None, cancelled: Callable[[], bool] | None = None) -> Steps:
    way_out = "simplify the pattern"
    return Steps(limits, cancelled, error=LimitError, what="a step", way_out=way_out)


def text_machine(
    pattern: str,
    vocabulary: Vocabulary,
    limits: Limits | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> TextMachine | None:
    """Return the machine of a pattern; None if it has to go through tables instead.

    That is so if the vocabulary spells some byte of the pattern only together with others: then
    what it cannot spell has to be found out first. And if the pattern tells too many sets of
    characters apart.

    Parameters
    ----------
    pattern : str
        In Python's notation.
    vocabulary : Vocabulary
        What texts are spelled with.
    limits : Limits, optional
        What each step may cost; by default 5 seconds.
    cancelled : callable, optional
        Asked often whether to give up.

    Raises
    ------
    LimitError, VocabularyError
        As :class:`TextMachine`.
    PatternError
        If it is no pattern, or no automaton can express it.
    """
    nodes = read_python(pattern)
    classes = {node.characters for node in walk(nodes) if isinstance(node, Characters)}
    spelling = vocabulary.spelling
    missing = frozenset().union(*map(_bytes_of, classes)) - spelling.reachable_bytes
    if len(spelling.steps) > 1:
        return None
    machine = TextMachine(pattern, nodes, limits, cancelled, missing=missing)
    return machine if machine.n_letters <= MAX_LETTERS else None


def _bytes_of(characters: CharacterClass) -> Iterator[int]:
    """Yield the bytes in which characters are written; beyond ASCII, more than that."""
    for low, high in characters.ranges:
        yield from range(low, min(high, 0x7F) + 1)
        if high > 0x7F:
            yield from _BEYOND_ASCII
            break


def _refuse(pattern: str, nodes: Nodes, missing: frozenset[int]) -> NoReturn:
    """Say why no text matches."""
    if missing and not automaton_of(nodes).is_empty:
        raise VocabularyError(
            "the vocabulary can spell no sentence of the grammar: it has no token with the bytes "
            f"{', '.join(map(hex, sorted(missing)))}; use a tokenizer with a token for every byte"
        )
    raise GrammarError(
        f"no text at all is a sentence: nothing matches the pattern {shown(pattern)}"
    )


def _again(pattern: str, limits: Limits | None, missing: frozenset[int]) -> TextMachine:
    return TextMachine(pattern, read_python(pattern), limits, missing=missing)


def _in_utf8(ranges: Ranges) -> ByteTree:
    return utf8_tree(CharacterClass(ranges))


class _Texts(ScalarAutomaton):
    """The texts of an automaton as a lexeme that ends where a text may end."""

    def __init__(self, pushdown: TextPushdown) -> None:
        self._automaton = pushdown.automaton
        self._written = cache(partial(written_letters, self._automaton, _in_utf8))

    def known_end(self, key: Key, _tags: int, used: frozenset[int]) -> tuple[bytes, int] | None:
        """Return a shortest end, and its tag, if that is known without a search."""
        state, begun = key
        if begun:
            return None
        found = self._automaton.known_end(state, IN_UTF8, partial(self._written, used))
        return None if found is None else (found[0], 0)

    def traits(self, key: Key) -> Traits:
        """Return whether the text may end."""
        state, begun = key
        return Traits(ending=0 if not begun and self._automaton.is_end(state) else -1)

    def nearest(self, key: Target) -> float:
        """Return how many bytes have to come at least."""
        assert not is_end(key), "texts end without a byte"
        state, begun = key
        return 1 if begun else self._automaton.fewest(state, IN_UTF8)

    def steps(self, key: Key, used: frozenset[int]) -> Iterator[tuple[bytes, Key]]:
        """Yield the rest of a character, or a character, for each state that it leads to."""
        state, begun = key
        low, high = code_points_of(begun) if begun else (0, ANY_TEXT[-1][1])
        for target, ranges in self._automaton.moves_of(state).items():
            for first, last in ranges:
                point = max(first, low)
                if SURROGATES[0] <= point <= SURROGATES[1]:
                    point = SURROGATES[1] + 1
                if point <= min(last, high):
                    yield chr(point).encode()[len(begun) :], (target, b"")
                    break


class TextMasks(ByteMasks):
    """Makes the masks of one pattern for one vocabulary.

    Parameters
    ----------
    machine : TextMachine
        What reads.
    vocabulary : Vocabulary
        Whose tokens the masks are about.
    """

    def __init__(self, machine: TextMachine, vocabulary: Vocabulary) -> None:
        self._machine = machine
        self._pushdown = machine.pushdown
        self._characters = VocabularyCharacters.of(vocabulary)
        super().__init__(machine, vocabulary)

    def new_walker(self) -> TextWalker:
        """Return a walker of its own for one thread."""
        return TextWalker(self._machine, self._vocabulary)

    def shared(self) -> list[object]:
        """Return what all patterns share: the vocabulary's characters."""
        return [self._characters]

    def near(self, state: int) -> int:
        """Return a state whose mask is the same: no token sees bounds that are farther away."""
        meant, begun = self._pushdown.meaning(state)
        return self._pushdown.state(
            self._pushdown.automaton.near(meant, self._characters.longest), begun
        )

    def mask(self, key: ByteKey, known: ConfigurationTrie) -> Mask:
        """Make the mask of a key."""
        with collector_off(), self._machine.steps.begun():
            bitmask = self._walker.mask(key.state)
        if self._pushdown.arrays.states[key.state, IS_END]:
            bitmask |= self._eos
        return Mask(0, bitmask)

    def is_at_end(self, configuration: ByteConfiguration, allowed: Callable[[], Subset]) -> bool:
        """Return whether the text is a sentence, and only EOS may follow."""
        return self._machine.expected(configuration) == ("$END",)


class TextWalker:
    """Walks over a vocabulary; owns its memory, and so serves one thread at a time.

    Parameters
    ----------
    machine : TextMachine
        What reads.
    vocabulary : Vocabulary
        Whose tokens the masks are about.
    """

    def __init__(self, machine: TextMachine, vocabulary: Vocabulary) -> None:
        self._machine = machine
        self._pushdown = machine.pushdown
        self._tokens = vocabulary.tokens
        self._n_words = vocabulary.n_words
        self._characters = characters = VocabularyCharacters.of(vocabulary)
        automaton = machine.pushdown.automaton
        cuts, self._letters = np.array(automaton.cuts), np.array(automaton.letters)
        #: The intervals of characters that begin like each token beside the trie.
        self._first = np.searchsorted(cuts, characters.begun.lows, side="right") - 1
        self._end = np.searchsorted(cuts, characters.begun.highs, side="right")
        self._letter_trie = characters.trie(automaton.cuts, automaton.letters)
        self.trie = self._letter_trie.packed
        self._memory = WalkMemory(machine.pushdown)
        self._outcomes: SplitOutcomes | None = None

    def advance(self, configuration: ByteConfiguration, data: bytes) -> ByteConfiguration | None:
        """Return what a token leads to, as a walk has it."""
        return self._machine.advance(configuration, data)

    def mask(self, number: int) -> Int32Array:
        """Return the mask of a state without EOS.

        Returns
        -------
        int32 of shape (n_words,)
        """
        bitmask = np.zeros(self._n_words, dtype=np.uint32)
        if not self._pushdown.meaning(number)[1]:
            self._memory.walk_alone(self._letter_trie, number, bitmask)
            self._memory.leave()
        places = np.concatenate([_NO_PLACES, *(places for places, _, _ in self._apart(number))])
        apart = bitmask_of(self._characters.token_ids[places], self._n_words)
        return bitmask.view(np.int32) | apart

    def _apart(
        self, number: int
    ) -> Iterator[tuple[npt.NDArray[np.int64], int, Sequence[bytes] | None]]:
        """Yield the tokens beside the trie that may follow.

        Yields
        ------
        places : int array
            Where some of them stand.
        number : int
            The state that they lead to; where they begin a character, the state before that.
        begun : sequence of bytes, or None
            For each what it begins of a character.
        """
        state, begun = self._pushdown.meaning(number)
        if begun:
            configuration = ByteConfiguration(number, _BOTTOM)
            for place in self._characters.inside:
                token = self._tokens[self._characters.token_ids[place]] or b""
                after = self._machine.read(configuration, token)
                if after is not None:
                    yield np.array([place]), after.state, None
            return
        tokens = self._characters.begun
        first = 0
        live: dict[int, npt.NDArray[np.int64]] = {}
        for text, end in zip(tokens.texts, tokens.ends, strict=True):
            before = self._machine.after(state, text, b"")
            if before is not None:
                if before.state not in live:
                    live[before.state] = self._n_live(before.state)
                n_live = live[before.state]
                is_found = n_live[self._end[first:end]] > n_live[self._first[first:end]]
                found = np.flatnonzero(is_found) + first
                yield tokens.places[found], before.state, [tokens.begun[i] for i in found.tolist()]
            first = end

    def _n_live(self, number: int) -> npt.NDArray[np.int64]:
        """Return how many intervals of characters before each interval may follow a state."""
        row = self._pushdown.automaton.row(self._pushdown.meaning(number)[0])
        is_live = np.array(row)[self._letters] != DEAD
        return np.concatenate([_NONE_LIVE, np.cumsum(is_live)])

    def walk(self, configuration: ByteConfiguration) -> SplitOutcomes:
        """Return what all tokens lead to."""
        with self._machine.steps.begun():
            number = configuration.state
            found: dict[ByteConfiguration, int] = {}
            places: list[npt.NDArray[np.int64]] = [_NO_PLACES]
            numbers: list[npt.NDArray[np.int64]] = [_NO_PLACES]
            if not self._pushdown.meaning(number)[1]:
                self._memory.walk_alone(self._letter_trie, number, _NO_WORDS, has_segments=True)
                outcomes = ByteOutcomes(self.trie, self._memory.work, _BOTTOM)
                for outcome in range(outcomes.n_outcomes):
                    found[outcomes.configuration(outcome)] = outcome
                for array, more in zip((places, numbers), outcomes.places(), strict=True):
                    array.append(more)
            for apart, to, begun in self._apart(number):
                state = self._pushdown.meaning(to)[0]
                targets = [to] if begun is None else [self._pushdown.state(state, b) for b in begun]
                after = [ByteConfiguration(target, _BOTTOM) for target in targets]
                places.append(apart)
                numbers.append(
                    np.array([found.setdefault(each, len(found)) for each in after], int)
                )
        at, outcome_of = np.concatenate(places), np.concatenate(numbers)
        self._outcomes = SplitOutcomes(self.trie, at, outcome_of, list(found))
        return self._outcomes

    def fill(self, bitmask: Int32Array) -> None:
        """Add the tokens of the last walk's outcomes that are allowed to a bitmask; without EOS."""
        assert self._outcomes is not None, "there was a walk"
        self._outcomes.fill(bitmask)
