"""Token classes: tokens that no configuration can tell apart.

In: a recogniser and a vocabulary trie. Out: :class:`TokenClasses`. Tokens with the same effect
(:mod:`cfgguide.engine.masks.effects`) are lexed and parsed alike, whatever came before, so a walk
looks at one string for each class. These strings make a trie of their own, with some thousand nodes
instead of some hundred thousand. ::

    json    `hello`, ` the`, `é` ...    letters: inside a STRING, refused elsewhere
            `42`, `7`                   also a number, or more of one
            `007`                       more of a number, but not the beginning of one

Finding the classes of a large grammar takes seconds, and some masks are needed at once. So walks
begin with the trie of all tokens, and after each of them as much time goes into the classes as into
the walk. Masks do not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from time import perf_counter

import numpy as np
import numpy.typing as npt

from cfgguide.base.locks import new_lock
from cfgguide.engine.machine.recognizer import Recognizer
from cfgguide.engine.masks.arrays import Int32Array, Int64Array
from cfgguide.engine.masks.effects import NOTHING, Effects
from cfgguide.engine.vocabulary.trie import (
    BYTE,
    END_TOKEN,
    FIRST_CHILD,
    FIRST_TOKEN,
    PackedTrie,
    VocabularyTrie,
)

_ROUND = 2048  # nodes of the trie that are looked at in one round
_WORDS_PER_TOKEN = 8  # words are set at once in the time of one bit of a token


@dataclass(frozen=True)
class ClassTrie:
    """A trie with one string for each class; it is walked like the trie of all tokens.

    Attributes
    ----------
    packed : PackedTrie
        A node whose string stands for a class has the tokens of that class. Tokens that no state
        can read are left out.
    max_depth : int
        Length of the longest string in bytes.
    class_of_token : int32, shape (n_text_tokens,)
        The class of each token, in the order of the trie of all tokens; 0 = none.
    strings : tuple of bytes
        The string of each class; that of class 0 is empty.
    """

    packed: PackedTrie
    max_depth: int
    class_of_token: Int32Array
    strings: tuple[bytes, ...]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.strings) - 1

    @classmethod
    def of(
        cls, trie: PackedTrie, class_of_token: Int32Array, strings: tuple[bytes, ...]
    ) -> ClassTrie:
        """Return the trie of classes of which each has a token."""
        members = np.argsort(class_of_token, kind="stable")  # the tokens, class by class
        starts = np.searchsorted(class_of_token[members], np.arange(1, len(strings) + 1))
        by_string = VocabularyTrie.of(strings[1:])
        nodes, order, n_roots, *_ = by_string.packed
        parts = [members[starts[index] : starts[index + 1]] for index in order.tolist()]
        token_ids = trie.token_ids[np.concatenate([members[:0], *parts])]
        offsets = np.append(0, np.cumsum(np.diff(starts)[order])).astype(np.int32)
        nodes[:, [FIRST_TOKEN, END_TOKEN]] = offsets[nodes[:, [FIRST_TOKEN, END_TOKEN]]]
        packed = PackedTrie(nodes, token_ids, n_roots, *_rows(token_ids, offsets))
        return cls(packed, by_string.max_depth, class_of_token, strings)


class TokenClasses:
    """The trie that walks go over: of all tokens first, and of their classes once these are made.

    Many walkers may share one, from many threads.

    Parameters
    ----------
    recognizer : Recognizer
        Reads the tokens.
    trie : VocabularyTrie
        All tokens.

    Attributes
    ----------
    trie : VocabularyTrie or ClassTrie
        What to walk over now.
    when_made : callable, optional
        Called with the classes, once they are found.
    """

    def __init__(self, recognizer: Recognizer, trie: VocabularyTrie) -> None:
        self.trie: VocabularyTrie | ClassTrie = trie
        self.when_made: Callable[[ClassTrie], None] | None = None
        self._begun = partial(_rounds, recognizer, trie)
        self._rounds = self._begun()
        self._is_working = False
        self._lock = new_lock()

    @property
    def are_made(self) -> bool:
        """Whether the classes are found."""
        return isinstance(self.trie, ClassTrie)

    def work(self, seconds: float = float("inf")) -> None:
        """Look for the classes for some time, at least one round, unless another thread does."""
        if seconds < float("inf") and self._lock.locked():
            return
        with self._lock:
            if self._is_working:  # a call before was interrupted: begin anew
                self._rounds = self._begun()
            self._is_working = True
            end = perf_counter() + seconds
            while not self.are_made:
                made = next(self._rounds)
                if made is not None:
                    self.trie = made
                    self._rounds = iter(())  # what finding them took is freed
                    if self.when_made is not None:
                        self.when_made(made)
                if perf_counter() >= end:
                    break
            self._is_working = False


def _rounds(recognizer: Recognizer, trie: VocabularyTrie) -> Iterator[ClassTrie | None]:
    """Find the classes in rounds; the last one yields them."""
    effects = Effects(recognizer)
    yield None
    nodes = trie.packed.nodes
    byte_classes = recognizer.scanner.byte_classes[nodes[:-1, BYTE]]
    effect_of_node = np.full(len(nodes) - 1, NOTHING, dtype=np.int32)
    strings = {effects.start: b""}  # the first that was found, for each effect
    level = np.arange(trie.packed.n_roots)
    before = np.full(len(level), effects.start, dtype=np.int32)
    while len(level):
        for start, end in pairwise([*range(0, len(level), _ROUND), len(level)]):
            here, effects_before = level[start:end], before[start:end]
            n_known = effects.n_effects
            after = effects.after(effects_before, byte_classes[here])
            effect_of_node[here] = after
            for index in _firsts(after, n_known):
                last = bytes([nodes[here[index], BYTE]])
                strings[int(after[index])] = strings[int(effects_before[index])] + last
            yield None
        level, before = _children(nodes, level, effect_of_node)
    effects_of_tokens = np.append(NOTHING, _of_tokens(effect_of_node, trie.packed))
    used, classes = np.unique(effects_of_tokens, return_inverse=True)
    of_classes = (b"", *(strings[effect] for effect in used[1:].tolist()))
    yield ClassTrie.of(trie.packed, classes[1:].astype(np.int32), of_classes)


def _firsts(effects: Int32Array, n_known: int) -> list[int]:
    """Return where each effect that was not known stands first."""
    new = np.flatnonzero(effects >= n_known)
    firsts: list[int] = new[np.sort(np.unique(effects[new], return_index=True)[1])].tolist()
    return firsts


def _children(
    nodes: Int32Array, level: Int64Array, effect_of_node: Int32Array
) -> tuple[Int64Array, Int32Array]:
    """Return the children of those nodes of a level that some state can read, and their effects."""
    level = level[effect_of_node[level] != NOTHING]
    first_child = nodes[level, FIRST_CHILD]
    n_children = nodes[level + 1, FIRST_CHILD] - first_child
    before = np.repeat(effect_of_node[level], n_children)
    ends = np.cumsum(n_children)
    return np.arange(len(before)) + np.repeat(first_child - (ends - n_children), n_children), before


def _of_tokens(effect_of_node: Int32Array, trie: PackedTrie) -> Int32Array:
    """Return the effect of each token, in the order of `token_ids`."""
    nodes = trie.nodes
    start, end = nodes[:-1, FIRST_TOKEN], nodes[:-1, END_TOKEN]
    child = nodes[:-1, FIRST_CHILD]
    has_child = child < nodes[1:, FIRST_CHILD]
    end = np.where(has_child, nodes[np.where(has_child, child, 0), FIRST_TOKEN], end)
    effect_of_token = np.full(len(trie.token_ids), NOTHING, dtype=np.int32)
    while (is_left := start < end).any():  # equal tokens share a node
        start, end, effect_of_node = start[is_left], end[is_left], effect_of_node[is_left]
        effect_of_token[start] = effect_of_node
        start = start + 1
    return effect_of_token


def _rows(
    token_ids: Int32Array, offsets: Int32Array
) -> tuple[Int32Array, Int32Array, npt.NDArray[np.uint32]]:
    """Return the large classes as rows of bits; see :class:`PackedTrie`."""
    n_words = int(token_ids.max(initial=-1)) // 32 + 1
    large = np.flatnonzero(np.diff(offsets) * _WORDS_PER_TOKEN > n_words)
    row_of_token = np.full(len(token_ids), -1, dtype=np.int32)
    row_of_token[offsets[large]] = np.arange(len(large))
    row_ends = offsets[large + 1]
    bits = np.zeros((len(large), 32 * n_words), dtype=np.bool_)
    for row, large_class in enumerate(large.tolist()):
        bits[row, token_ids[offsets[large_class] : offsets[large_class + 1]]] = True
    rows = np.packbits(bits, axis=1, bitorder="little").view(np.uint32)
    return row_of_token, row_ends, rows
