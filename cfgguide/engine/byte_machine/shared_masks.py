"""Masks inside strings of any characters, which all schemas share: made once for a vocabulary.

In: which string that is. Out: a :class:`SharedMask` of all tokens: those after which the string
goes on, and those in which it ends. Of the latter the *rests*, what stands behind the closing
quote, make a trie of their own: some hundred rests instead of some thousand tokens. What may stand
there is for a walk to find out. Where the length of a string has bounds, it is the same mask
without the tokens that add too many characters, or too few. So it is for a pattern after which
texts may end anywhere, such as ``^[a-z]{0,63}$``.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Protocol, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from cfgguide.automata.pieces import PieceAutomaton
from cfgguide.base.locks import new_lock
from cfgguide.base.remembered import remembered, remembered_up_to
from cfgguide.engine.byte_machine import byte_kernels as kernels
from cfgguide.engine.byte_machine import byte_views as views
from cfgguide.engine.byte_machine.byte_views import BOTTOM
from cfgguide.engine.byte_machine.byte_walk import Trie, WalkMemory
from cfgguide.engine.byte_machine.lone_pushdown import LonePushdown
from cfgguide.engine.byte_machine.scalars import PLAIN, Key, Strings, string_of
from cfgguide.engine.byte_machine.standing_tokens import StandingTokens
from cfgguide.engine.masks.subset import Subset, Subsets, bitmask_of
from cfgguide.engine.vocabulary.trie import ByteCounter, VocabularyTrie, byte_counter
from cfgguide.engine.vocabulary.trie_kinds import kinds_below
from cfgguide.engine.vocabulary.vocabulary import Vocabulary

Int32Array = npt.NDArray[np.int32]
UInt32Array = npt.NDArray[np.uint32]
BoolArray = npt.NDArray[np.bool_]
T = TypeVar("T")
G = TypeVar("G")

_CONTINUATION, _LEAD = 0x80, 0xC0  # the first two bits of a byte inside a character
_QUOTE, _BACKSLASH = b'"\\'
_SPACE = 0x20  # the first byte of a character that is written as it is
_MARKS = b'",]}'  # of JSON
_OF_SCALARS = b" \t\n\r-+.0123456789Eetrufalsn"  # all that a token needs to matter without one
_ENDED = re.compile(rb'((?:[^"\\]|\\.)*)"', re.DOTALL)
#: As much of a token as is whole characters and escapes; of a pair of those, both.
_WHOLE = re.compile(
    rb'(?:[^"\\]|\\["\\/bfnrt]|\\u(?:[0-9a-cA-CefEF][0-9a-fA-F]|[dD][0-7c-fC-F])[0-9a-fA-F]{2}'
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})*"
)
#: The first byte of a character in a string, or as much as there is of one that is escaped.
_CHARACTER = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,4})?)?"
    rb"|\\(?:u[0-9a-fA-F]{0,4}|.)?|[^\\\x80-\xbf]",
    re.DOTALL,
)


_N_KEPT = 4  # vocabularies
_N_PATTERNS = 64  # near whose bounds a mask is made of one without bounds
_N_LENGTHS = 128  # of strings, near whose bounds a mask is made without counting
_MAX_BYTES = 16_000_000  # of the masks that are kept for one
_KNOWN: OrderedDict[str, SharedMasks] = OrderedDict()  # by digest; the one used last is last
_LOCK = new_lock()


class SharedMask:
    """The tokens inside a string of any characters, where one may begin; or one of a pattern.

    Parameters
    ----------
    masks : SharedMasks
        Those of the vocabulary.
    lexemes : Strings
        The string.
    key : key
        Where in it.
    plain : SharedMask, optional
        Of a string of any characters, in which all of the same tokens end.

    Attributes
    ----------
    rests : Trie or None
        What stands behind the closing quote, of the tokens where something does.
    """

    def __init__(
        self, masks: SharedMasks, lexemes: Strings, key: Key, plain: SharedMask | None = None
    ) -> None:
        self._masks, vocabulary, trie = masks, masks.vocabulary, masks.trie
        alone = LonePushdown(lexemes, key)
        walk = WalkMemory(alone).walk(trie, alone.start, [BOTTOM], views.COLLECT)
        assert walk is not None, "nothing is popped"
        self._inside = trie.bitmask(walk.ranges(), vocabulary.n_words)
        #: The tokens in which it ends, of those in which a string of any characters does.
        self._ending = trie.bitmask(walk.ended(), vocabulary.n_words)
        if plain is not None:
            self.rests: Trie | None = plain.rests
            self._ended: UInt32Array = plain._ended
            return
        tokens, token_ids = vocabulary.tokens, trie.packed.token_ids
        ended = [
            ((tokens[token_id] or b"")[depth:], token_id)
            for (first, end), (_, depth) in zip(walk.ended(), walk.ends.tolist(), strict=True)
            for token_id in token_ids[first:end].tolist()
        ]
        rests = sorted(each for each in ended if each[0])
        self.rests = _trie_of(rests) if rests else None
        at_end = [token_id for rest, token_id in ended if not rest]
        self._ended = bitmask_of(at_end, vocabulary.n_words).view(np.uint32)

    def tokens(self, most: int, least: int, following: Int32Array | None) -> UInt32Array:
        """Return the tokens that may come, as bits that are the caller's own.

        Parameters
        ----------
        most, least : int
            How many characters may come, `NONE` for any number, and how many have to.
        following : int32, shape (n_ranges, 2), or None
            Which of `rests` may follow; None if the string may not end.
        """
        found = self._inside.copy()
        if following is not None:
            ended = self._ended.copy()
            if self.rests is not None:
                kernels.fill(self.rests.view, following, ended, True)
            ended &= self._ending
            if least > 0:
                ended &= ~self._masks.of_at_most(least - 1)
            found |= ended
        return found if most < 0 else found & self._masks.of_at_most(most)


class Recipe(Protocol):
    """How a mask is made."""

    @property
    def like(self) -> int:
        """The same number for masks that are expected to be alike."""

    @property
    def digest(self) -> bytes:
        """What only equal masks have in common."""

    def bitmask(self, n_words: int) -> Int32Array:
        """Return the mask; int32, shape (n_words,)."""


class SharedMasks:
    """All of them for one vocabulary; many threads may ask."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.trie = Trie.of(vocabulary)
        self._made: OrderedDict[bytes, Subset] = OrderedDict()  # the one used last is last
        self._subsets = Subsets(vocabulary.n_words)
        self._standing: WeakKeyDictionary[PieceAutomaton, StandingTokens] = WeakKeyDictionary()
        self._lock = new_lock()

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> SharedMasks:
        """Return those of a vocabulary; those of the vocabularies used last are kept."""
        with _LOCK:
            known = _KNOWN.get(vocabulary.digest)
            known = _KNOWN[vocabulary.digest] = cls(vocabulary) if known is None else known
            _KNOWN.move_to_end(vocabulary.digest)
            if len(_KNOWN) > _N_KEPT:
                _KNOWN.popitem(last=False)
        return known

    def string(self, number: int) -> SharedMask:
        """Return the mask of a string by its number."""
        return self._any(number) if number <= PLAIN else self._of_pattern(number)

    @remembered
    def _any(self, number: int) -> SharedMask:
        return SharedMask(self, *string_of(number))

    @remembered_up_to(_N_PATTERNS)
    def _of_pattern(self, number: int) -> SharedMask:
        return SharedMask(self, *string_of(number), self._any(PLAIN))

    @remembered_up_to(_N_LENGTHS)
    def of_at_most(self, most: int) -> UInt32Array:
        """Return the tokens that add so many characters to a string, or fewer, before it ends."""
        few = np.zeros(32 * self.vocabulary.n_words, dtype=np.bool_)
        few[: self.vocabulary.size] = self._n_characters <= most
        return np.packbits(few, bitorder="little").view(np.uint32)

    @cached_property
    def _counter(self) -> ByteCounter:
        return byte_counter(self.vocabulary.tokens)

    @cached_property
    def _n_characters(self) -> npt.NDArray[np.int32]:
        """How many characters begin in each token, up to a closing quote."""
        data, count = self._counter
        found = count(data & _LEAD != _CONTINUATION).astype(np.int32)
        for token_id in np.flatnonzero(count((data == _QUOTE) | (data == _BACKSLASH))).tolist():
            token = self.vocabulary.tokens[token_id] or b""
            ended = _ENDED.match(token)
            found[token_id] = len(_CHARACTER.findall(token if ended is None else ended[1]))
        return found

    def standing(self, pieces: PieceAutomaton) -> StandingTokens:
        """Return which tokens stand where in the text of pieces."""
        found = self._standing.get(pieces)
        if found is None:
            # Of two threads that make it, both have the one that is kept.
            made = StandingTokens(pieces.data, self.trie.packed)
            with self._lock:
                found = self._standing.setdefault(pieces, made)
        return found

    @cached_property
    def plain(self) -> Int32Array:
        """The tokens of characters that stand for themselves inside of a string."""
        data, count = self._counter
        is_special = (data < _SPACE) | (data == _QUOTE) | (data == _BACKSLASH)
        found = np.flatnonzero(count(is_special) == 0).astype(np.int32)
        return bitmask_of(found, self.vocabulary.n_words)

    @cached_property
    def special(self) -> Trie:
        """The tokens that end a string or have an escape."""
        data, count = self._counter
        found = np.flatnonzero(count((data == _QUOTE) | (data == _BACKSLASH))).tolist()
        tokens = self.vocabulary.tokens
        return _trie_of(sorted((tokens[token_id] or b"", token_id) for token_id in found))

    def subset(self, recipe: Recipe) -> Subset:
        """Return the subset that a recipe makes; those used last are kept, for all automata."""
        digest = recipe.digest
        with self._lock:
            known = self._made.get(digest)
            if known is not None:
                self._made.move_to_end(digest)
                return known
        bitmask = recipe.bitmask(self.vocabulary.n_words)
        with self._lock:
            if digest not in self._made:
                self._made[digest] = self._subsets.add(bitmask, like=recipe.like)
                while self._subsets.nbytes > _MAX_BYTES:
                    self._subsets.release(self._made.popitem(last=False)[1])
            return self._made[digest]

    @remembered
    def matching(self, pattern: re.Pattern[bytes]) -> Int32Array:
        """Return the tokens in which a pattern, one of few, is found.

        It finds only what `marked` has.
        """
        found = [number for number, token in self.marked if pattern.search(token)]
        return bitmask_of(found, self.vocabulary.n_words)

    @cached_property
    def ending_strings(self) -> dict[bytes, list[int]]:
        """The tokens that may end a string, by what they add to it before."""
        found: dict[bytes, list[int]] = {}
        for token_id, token in self.marked:
            ended = _ENDED.match(token)
            if ended is not None:
                text = ended[1]
                added = written(text)
                if added is not None:
                    found.setdefault(added, []).append(token_id)
        return found

    def writing(self, texts: Iterable[bytes]) -> list[int]:
        """Return the tokens that write one of some texts inside of a string, without escapes."""
        tokens, token_ids = self.vocabulary.tokens, self.trie.packed.token_ids
        found = []
        for text in texts:
            place = bisect_left(token_ids, text, key=lambda token_id: tokens[token_id] or b"")
            while place < len(token_ids) and tokens[token_ids[place]] == text:
                found.append(int(token_ids[place]))
                place += 1
        return found

    def escaping(self, texts: Iterable[bytes]) -> list[int]:
        """Return the tokens with escapes that write one of some texts, and perhaps more."""
        return [each for text in (None, *texts) for each in self._escaped.get(text, ())]

    @remembered
    def of_tokens(self, make: Callable[[SharedMasks, G], T], given: G) -> T:
        """Return what is made of the masks and something else, once."""
        return make(self, given)

    @cached_property
    def _escaped(self) -> dict[bytes | None, list[int]]:
        """The tokens with escapes that end no string, by what those surely add that are whole."""
        data, count = self._counter
        found: dict[bytes | None, list[int]] = {}
        for token_id in np.flatnonzero(count(data == _BACKSLASH)).tolist():
            token = self.vocabulary.tokens[token_id] or b""
            whole = _WHOLE.match(token)
            if whole is not None and _ENDED.match(token) is None:
                found.setdefault(written(whole[0]), []).append(token_id)
        return found

    @cached_property
    def marked(self) -> list[tuple[int, bytes]]:
        """The tokens in which values of JSON may end, or white space or numbers and no more."""
        data, count = self._counter
        is_mark, is_other = np.zeros(256, dtype=np.bool_), np.ones(256, dtype=np.bool_)
        is_mark[list(_MARKS)], is_other[list(_OF_SCALARS)] = True, False
        has_mark, has_others = count(is_mark[data]) > 0, count(is_other[data]) > 0
        tokens = self.vocabulary.tokens
        found = np.flatnonzero(has_mark | ~has_others).tolist()
        return [(token_id, token) for token_id in found if (token := tokens[token_id])]


def written(text: bytes) -> bytes | None:
    """Return what some text inside of a string writes; None if no string goes on like this."""
    if _BACKSLASH not in text:
        return text
    try:
        written = json.loads(b'"%s"' % text, strict=False)
    except ValueError:
        return None
    return str(written).encode(errors="surrogatepass")


def _trie_of(texts: list[tuple[bytes, int]]) -> Trie:
    """Return the trie of some sorted texts, each with a token."""
    lengths = np.array([len(text) for text, _ in texts], dtype=np.int64)
    data = np.frombuffer(b"".join(text for text, _ in texts), dtype=np.uint8)
    made = VocabularyTrie.of_sorted(data, lengths, [token_id for _, token_id in texts])
    return Trie(made.packed, made.max_depth, kinds_below(made.packed))
