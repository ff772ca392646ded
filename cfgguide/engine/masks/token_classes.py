"""Token classes: tokens that no configuration can tell apart.

In: a recogniser and a vocabulary trie. Out: :class:`TokenClasses`. Tokens with the same effect
(:mod:`cfgguide.engine.masks.effects`) are lexed and parsed alike, whatever came before, so a walk
looks at one string for each class. These strings make a trie of their own, with some thousand nodes
instead of some hundred thousand. ::

    json    `hello`, ` the`, `é` ...    letters: inside a STRING, refused elsewhere
            `42`, `7`                   also a number, or more of one
            `007`                       more of a number, but not the beginning of one

The classes are made when an index is compiled, or before its first walk: that takes a tenth of a
second for a programming language. Of a grammar for which it takes much longer, walks begin with the
trie of all tokens, and before each of them a slice of the work is done. Masks do not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cfgguide.base.locks import new_lock
from cfgguide.engine.machine.recognizer import Recognizer
from cfgguide.engine.masks import effect_kernels
from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.engine.masks.effects import NOTHING, Effects
from cfgguide.engine.vocabulary.trie import (
    END_TOKEN,
    FIRST_TOKEN,
    PackedTrie,
    VocabularyTrie,
)

# Readings and nodes of the trie that are looked at: before the first walk, some tenths of a second;
# before each walk after it, some milliseconds; and at once, since Python hears of Ctrl+C only then.
# Uncompiled a step takes 100 times as long.
_IS_COMPILED = not effect_kernels.__file__.endswith(".py")
_AT_FIRST, _SLICE, _ROUND = (
    (1 << 24, 1 << 16, 1 << 20) if _IS_COMPILED else (1 << 17, 1 << 11, 1 << 14)
)
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
        cls, token_ids: Int32Array, class_of_token: Int32Array, strings: tuple[bytes, ...]
    ) -> ClassTrie:
        """Return the trie of classes of which each has a token, given the class of each token."""
        short = class_of_token.astype(np.min_scalar_type(len(strings)))  # sorted more quickly
        members = np.argsort(short, kind="stable")  # the tokens, class by class
        starts = np.cumsum(np.bincount(class_of_token, minlength=len(strings)))
        by_string = VocabularyTrie.of(strings[1:])
        nodes, order, n_roots, *_ = by_string.packed
        parts = [members[starts[index] : starts[index + 1]] for index in order.tolist()]
        token_ids = token_ids[np.concatenate([members[:0], *parts])]
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
        self._recognizer = recognizer
        self._effects: Effects | None = None  # that are not complete
        self._slice = _AT_FIRST
        self._lock = new_lock()

    @property
    def are_made(self) -> bool:
        """Whether the classes are found."""
        return isinstance(self.trie, ClassTrie)

    def work(self, n_steps: int | None = None) -> None:
        """Find the classes, or look for them for some steps unless another thread does."""
        if n_steps is not None and self._lock.locked():
            return
        with self._lock:
            trie, effects = self.trie, self._effects
            if isinstance(trie, ClassTrie):
                return
            self._effects = None  # so that a search that is interrupted begins anew
            if effects is None:
                effects = Effects(self._recognizer, trie.packed)
            while not effects.work(min(n_steps or _ROUND, _ROUND)):
                if n_steps is not None and (n_steps := n_steps - _ROUND) <= 0:
                    self._effects = effects
                    return
            self.trie = made = _classes(effects, trie.packed)
            if self.when_made is not None:
                self.when_made(made)

    def work_a_while(self) -> None:
        """Look for the classes for as long as a mask may wait; longer at first."""
        n_steps, self._slice = self._slice, _SLICE
        self.work(n_steps)


def _classes(effects: Effects, trie: PackedTrie) -> ClassTrie:
    """Return the classes of tokens with equal effects, in the order in which these were found."""
    of_tokens, strings = effects.of_tokens, effects.strings()
    is_used = np.zeros(len(strings), dtype=np.bool_)
    is_used[of_tokens] = True
    is_used[NOTHING] = False
    class_of_effect = np.where(is_used, np.cumsum(is_used), 0).astype(np.int32)
    of_classes = (b"", *(strings[effect] for effect in np.flatnonzero(is_used).tolist()))
    return ClassTrie.of(trie.token_ids, class_of_effect[of_tokens], of_classes)


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
