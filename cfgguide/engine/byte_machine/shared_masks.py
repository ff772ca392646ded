"""Masks inside strings without conditions, which all schemas share: made once for a vocabulary.

In: a node of the vocabulary trie, and a state of such a string. Out: a :class:`SharedMask` of the
tokens below the node: those after which the string goes on, and those in which it ends. Of the
latter the *rests*, what stands behind the closing quote, make a trie of their own: some hundred
rests instead of some thousand tokens. What may stand there is for a walk to find out.

Where the length of a string has bounds, tokens are told apart by how many characters they add.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cfgguide.automata.charset import branches_of
from cfgguide.base.locks import new_lock
from cfgguide.base.remembered import remembered
from cfgguide.engine.byte_machine import byte_views as views
from cfgguide.engine.byte_machine.byte_views import BOTTOM
from cfgguide.engine.byte_machine.byte_walk import ROOT, Trie, WalkMemory
from cfgguide.engine.byte_machine.lone_pushdown import LonePushdown
from cfgguide.engine.byte_machine.scalars import shared_key
from cfgguide.engine.masks.subset import Subset, Subsets, bitmask_of
from cfgguide.engine.masks.token_classes import ClassTrie
from cfgguide.engine.vocabulary.trie import END_TOKEN, FIRST_CHILD, FIRST_TOKEN, PackedTrie
from cfgguide.engine.vocabulary.vocabulary import Vocabulary

Int32Array = npt.NDArray[np.int32]
UInt32Array = npt.NDArray[np.uint32]
BoolArray = npt.NDArray[np.bool_]

_CONTINUATION, _LEAD = 0x80, 0xC0  # the first two bits of a byte inside a character
_BACKSLASH = b"\\"
_MARKS = b'",]}'  # of JSON
_ENDED = re.compile(rb'((?:[^"\\]|\\.)*)"', re.DOTALL)


_N_KEPT = 4  # vocabularies
_MAX_BYTES = 16_000_000  # of the masks that are kept for one
_KNOWN: OrderedDict[str, SharedMasks] = OrderedDict()  # by digest; the one used last is last
_LOCK = new_lock()


class SharedMask:
    """The tokens below a node of the vocabulary trie, from a state inside a string.

    Attributes
    ----------
    rests : Trie or None
        What stands behind the closing quote, of the tokens where something does.
    """

    def __init__(
        self, masks: SharedMasks, vocabulary: Vocabulary, trie: Trie, node: int, number: int
    ) -> None:
        self._vocabulary = vocabulary
        self._masks = masks
        self._packed = trie.packed
        self._lexemes, self._key = shared_key(number)
        alone = LonePushdown(self._lexemes, self._key)
        memory = WalkMemory(alone)
        walk = memory.walk(trie, alone.start, [BOTTOM], views.COLLECT, node=node)
        assert walk is not None, "nothing is popped"
        self._depth = _depth(trie.packed, node)
        self._inside = _joined(trie.packed, walk.ranges())
        self._everything = bitmask_of(self._inside, vocabulary.n_words).view(np.uint32)
        self._ends = [  # tokens that share the bytes up to the quote, and the number of these
            (*trie.packed.nodes[closing, [FIRST_TOKEN, END_TOKEN]].tolist(), self._depth + depth)
            for closing, _, depth in walk.jumps
        ]
        self._at_end: list[int] = []
        self.rests = self._rests()
        self._ended = bitmask_of(self._at_end, vocabulary.n_words).view(np.uint32)

    def _rests(self) -> Trie | None:
        begin = min((first for first, _, _ in self._ends), default=0)
        token_ids = self._packed.token_ids[
            begin : max((end for _, end, _ in self._ends), default=0)
        ]
        numbers: dict[bytes, int] = {b"": 0}
        class_of_token = np.zeros(len(token_ids), dtype=np.int32)
        tokens = self._vocabulary.tokens
        for first, end, depth in self._ends:
            below = token_ids[first - begin : end - begin].tolist()
            for index, token_id in enumerate(below, first - begin):
                rest = (tokens[token_id] or b"")[depth:]
                class_of_token[index] = numbers.setdefault(rest, len(numbers))
                if not rest:
                    self._at_end.append(token_id)
        if len(numbers) == 1:
            return None
        made = ClassTrie.of(token_ids, class_of_token, tuple(numbers))
        packed = PackedTrie.without_rows(*made.packed[:3])
        return Trie(packed, made.max_depth)

    @remembered
    def inside(self, most: int) -> UInt32Array:
        """Return the tokens after which the string goes on.

        Parameters
        ----------
        most : int
            The most characters that they may add; -1 for any number.
        """
        if most < 0 or most >= self._most_inside:
            return self._everything
        few = self._inside[self.n_characters[self._inside] <= most]
        return bitmask_of(few, self._vocabulary.n_words).view(np.uint32)

    def at_end(self, most: int, least: int) -> UInt32Array:
        """Return the tokens with which the string ends, after so many characters."""
        if most < 0 and least <= 0:
            return self._ended
        n_characters = self.n_characters
        fitting = [
            token_id
            for token_id in self._at_end
            if least <= n_characters[token_id] and (most < 0 or n_characters[token_id] <= most)
        ]
        return bitmask_of(fitting, self._vocabulary.n_words).view(np.uint32)

    @cached_property
    def _most_inside(self) -> int:
        """The most characters that a token may add, the string going on."""
        return int(self.n_characters[self._inside].max(initial=0))

    @cached_property
    def n_characters(self) -> npt.NDArray[np.int16]:
        """How many characters each token adds to the string, before it ends; by token id."""
        found = np.zeros(self._vocabulary.size, dtype=np.int16)
        tokens = self._vocabulary.tokens
        inside = self._inside
        if self._is_escape:
            is_counted = np.zeros(len(inside), dtype=np.bool_)
        else:
            n_leads, has_escape = self._masks.leads
            # Without escapes a character begins with each byte that does not go on one; the first
            # bytes lead to the node and are the same in all of the tokens.
            is_counted = ~has_escape[inside]
            before = (tokens[int(inside[0])] or b"")[: self._depth] if len(inside) else b""
            found[inside] = n_leads[inside] - sum(b & _LEAD != _CONTINUATION for b in before)
        for token_id in inside[~is_counted].tolist():
            found[token_id] = self._count((tokens[token_id] or b"")[self._depth :])
        for first, end, depth in self._ends:
            token_ids = self._packed.token_ids[first:end]
            if len(token_ids):
                token = tokens[int(token_ids[0])] or b""
                found[token_ids] = self._count(token[self._depth : depth - 1])
        return found

    @property
    def _is_escape(self) -> bool:
        """Whether the string is inside an escape."""
        key: Any = self._key
        kind, pieces = key
        return kind == "p" and not any(
            low & _LEAD == _CONTINUATION for tree, _ in pieces for low, _, _ in branches_of(tree)
        )

    def _count(self, data: bytes) -> int:
        """Return how many characters begin in some bytes of the string."""
        if not self._is_escape and _BACKSLASH not in data:
            if data.isascii():
                return len(data)
            return sum(byte & _LEAD != _CONTINUATION for byte in data)
        key: Any = self._key
        n = 0
        for byte in data:
            n += key[0] == "c"
            key = self._lexemes.row(key).after(byte)
        return n


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
        self._vocabulary = vocabulary
        self._trie = Trie.of(vocabulary)
        self._known: dict[tuple[int, int], SharedMask] = {}
        self._made: OrderedDict[bytes, Subset] = OrderedDict()  # the one used last is last
        self._subsets = Subsets(vocabulary.n_words)
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

    def mask(self, node: int, number: int) -> SharedMask:
        """Return the mask of the tokens below a node, from the state with a shared number."""
        key = (node, number)
        known = self._known.get(key)
        if known is None:
            with self._lock:
                known = self._known.get(key)
                if known is None:
                    known = SharedMask(self, self._vocabulary, self._trie, node, number)
                    self._known[key] = known
        return known

    @cached_property
    def leads(self) -> tuple[npt.NDArray[np.int16], BoolArray]:
        """How many characters begin in each token, and whether it has a backslash."""
        data, count = _counter(self._vocabulary)
        n_leads = count(data & _LEAD != _CONTINUATION).astype(np.int16)
        return n_leads, count(data == _BACKSLASH[0]) > 0

    def subset(self, recipe: Recipe) -> Subset:
        """Return the subset that a recipe makes; those used last are kept, for all automata."""
        digest = recipe.digest
        with self._lock:
            known = self._made.get(digest)
            if known is not None:
                self._made.move_to_end(digest)
                return known
        bitmask = recipe.bitmask(self._vocabulary.n_words)
        with self._lock:
            if digest not in self._made:
                self._made[digest] = self._subsets.add(bitmask, like=recipe.like)
                while self._subsets.nbytes > _MAX_BYTES:
                    self._subsets.release(self._made.popitem(last=False)[1])
            return self._made[digest]

    @remembered
    def matching(self, pattern: re.Pattern[bytes]) -> Int32Array:
        """Return the tokens in which a pattern, one of few, is found.

        It finds only what has one of `_MARKS`, or is white space.
        """
        found = [number for number, token in self._marked if pattern.search(token)]
        return bitmask_of(found, self._vocabulary.n_words)

    @cached_property
    def ending_strings(self) -> dict[bytes, list[int]]:
        """The tokens that may end a string, by what they add to it before."""
        found: dict[bytes, list[int]] = {}
        for token_id, token in self._marked:
            ended = _ENDED.match(token)
            if ended is not None:
                text = ended[1]
                if _BACKSLASH in text:
                    try:
                        added = json.loads(b'"%s"' % text, strict=False)
                    except ValueError:
                        continue  # no string goes on like this
                    text = added.encode(errors="surrogatepass")
                found.setdefault(text, []).append(token_id)
        return found

    @cached_property
    def _marked(self) -> list[tuple[int, bytes]]:
        """The tokens that a pattern is looked for in: a tenth of all, and counted at once."""
        data, count = _counter(self._vocabulary)
        has_mark = count(np.isin(data, list(_MARKS))) > 0
        is_blank = count(~np.isin(data, list(b" \t\n\r"))) == 0
        tokens = self._vocabulary.tokens
        return [(at, tokens[at] or b"") for at in np.flatnonzero(has_mark | is_blank).tolist()]


def _counter(
    vocabulary: Vocabulary,
) -> tuple[npt.NDArray[np.uint8], Callable[[BoolArray], npt.NDArray[np.int64]]]:
    """Return the bytes of all tokens, and what counts some of them in each token."""
    tokens = [token or b"" for token in vocabulary.tokens]
    lengths = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
    data = np.frombuffer(b"".join(tokens), dtype=np.uint8)
    ends = np.cumsum(lengths)

    def count(is_counted: BoolArray) -> npt.NDArray[np.int64]:
        total = np.concatenate([[0], np.cumsum(is_counted)])
        return np.asarray(total[ends] - total[ends - lengths])

    return data, count


def _joined(packed: PackedTrie, ranges: Int32Array) -> Int32Array:
    """Return the tokens in some ranges of indices."""
    parts = [packed.token_ids[start:end] for start, end in ranges.tolist()]
    return np.concatenate([packed.token_ids[:0], *parts])


def _depth(packed: PackedTrie, node: int) -> int:
    """Return how many bytes lead to a node."""
    if node == ROOT:
        return 0
    depth, end = 1, packed.n_roots
    while node >= end:
        end = int(packed.nodes[end, FIRST_CHILD])
        depth += 1
    return depth
