"""Subsets of the vocabulary: the values of the index.

In: bitmasks, as they are made. Out: a :class:`Subset` for each; equal bitmasks share one. Masks of
one grammar are much alike: those made in one scanner state share all that no stack can change, many
hold only a few tokens, many all but a few. So a mask is stored as the words in which it differs
from another, its *base*, if that is smaller: the empty mask, or the first mask that was stored
whole for the same scanner state. ::

    inside a string     ff fb ff ff ff bf ...     a base of its own
    on another stack    ff fb ff ff ff bf .3      words 6: .3
    after `tru`         00 00 10 00 00 00 ...     words 2: 10

The whole bitmask is unpacked when it is needed, and remembered. Unpacked masks may be forgotten at
any time. Those of all indexes in a process share one bound: all are forgotten when they reach it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from cfgguide.base.locks import new_lock

_MAX_UNPACKED = 16_000_000  # bytes of unpacked masks of one length

_RATIO = 3  # of all words to those that differ: with more of these, a mask is stored whole
_OVERHEAD = 400  # approximate bytes of the objects of a subset

Int32Array = npt.NDArray[np.int32]
Places = npt.NDArray[np.uint32]


class Subset:
    """A subset of the vocabulary.

    Attributes
    ----------
    base : Subset or None
        The subset it differs from; None for the empty one, or if this one is stored whole.
    places : uint32, shape (n_changes,)
        The indices of the words that differ from the base, ascending.
    words : int32, shape (n_changes,) or (ceil(vocabulary size / 32),)
        Those words; or all of them, if it is stored whole.
    is_whole : bool
        Whether it is stored whole.
    walks : tuple of bytes
        Digests of walks that found it.
    """

    __slots__ = (
        "__weakref__",
        "_bitmask",
        "_key",
        "_unpacked",
        "base",
        "is_whole",
        "places",
        "walks",
        "words",
    )

    def __init__(
        self,
        words: Int32Array,
        places: Places | None = None,
        base: Subset | None = None,
        unpacked: UnpackedMasks | None = None,
    ) -> None:
        self.words = words
        self.is_whole = places is None
        self.places = np.empty(0, dtype=np.uint32) if places is None else places
        self.base = base
        self.walks: tuple[bytes, ...] = ()
        self._unpacked = unpacked
        self._key: bytes | None = None
        self._bitmask: Int32Array | None = words if self.is_whole else None

    @classmethod
    def of(cls, bitmask: Int32Array) -> Subset:
        """Return the subset of a bitmask, stored whole."""
        return cls(_frozen(bitmask.copy()))

    def changed(self, bitmask: Int32Array) -> Subset:
        """Return the subset of a bitmask, as what differs from this one if that is little."""
        places = np.flatnonzero(bitmask != self.bitmask)
        if not len(places):
            return self
        if _RATIO * len(places) > len(bitmask):
            return Subset.of(bitmask)
        unpacked = UnpackedMasks.of(len(bitmask))
        return Subset(bitmask[places], places.astype(np.uint32), self, unpacked)

    def without(self, token_ids: Sequence[int]) -> Subset:
        """Return the subset without some tokens, as what differs from this one."""
        if not token_ids:
            return self
        changes: dict[int, int] = {}
        for token_id in token_ids:
            changes[token_id >> 5] = changes.get(token_id >> 5, 0) | 1 << (token_id & 31)
        places = np.fromiter(changes, dtype=np.int64, count=len(changes))
        places.sort()
        before = self.bitmask[places]
        bits = np.array([changes[place] for place in places.tolist()], dtype=np.uint32)
        words = before & ~bits.view(np.int32)
        is_changed = words != before
        if not is_changed.any():
            return self
        places, words = places[is_changed].astype(np.uint32), words[is_changed]
        return Subset(words, places, self, UnpackedMasks.of(len(self.bitmask)))

    @property
    def bitmask(self) -> Int32Array:
        """The tokens as bits; int32, shape (ceil(vocabulary size / 32),), read-only.

        Bit ``i % 32`` of word ``i // 32`` is set if token ``i`` is in the subset.
        """
        bitmask = self._bitmask
        return self._unpack() if bitmask is None else bitmask

    @property
    def key(self) -> bytes:
        """A digest of the bitmask; different subsets have different digests."""
        if self._key is None:
            self._key = _key_of(self.bitmask)
        return self._key

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return int(np.bitwise_count(self.bitmask.view(np.uint32)).sum())

    @property
    def nbytes(self) -> int:
        """Approximate bytes, without an unpacked bitmask."""
        return self.words.nbytes + self.places.nbytes + _OVERHEAD

    def remember(self, key: bytes, bitmask: Int32Array) -> None:
        """Remember what the digest and the unpacked bitmask are."""
        self._key = key
        if self._bitmask is None and self._unpacked is not None:
            self._unpacked.note(self)
            self._bitmask = _frozen(bitmask)

    def forget(self) -> None:
        """Forget the unpacked bitmask."""
        if not self.is_whole:
            self._bitmask = None

    def __contains__(self, token_id: int) -> bool:
        return is_in_bitmask(token_id, self.bitmask)

    def token_ids(self) -> npt.NDArray[np.int64]:
        """Return the ids in the subset, ascending; int64, shape (n_tokens,)."""
        return token_ids_in(self.bitmask)

    def _unpack(self) -> Int32Array:
        assert self._unpacked is not None, "a subset that is stored whole is never unpacked"
        if self.base is None:
            bitmask = np.zeros(self._unpacked.n_words, dtype=np.int32)
        else:
            bitmask = self.base.bitmask.copy()
        bitmask[self.places] = self.words
        self._unpacked.note(self)
        self._bitmask = _frozen(bitmask)
        return bitmask


class UnpackedMasks:
    """The bitmasks that are remembered unpacked.

    Parameters
    ----------
    n_words : int
        Length of each.
    max_bytes : int
        Most bytes of all; beyond that all are forgotten.
    """

    def __init__(self, n_words: int, max_bytes: int = _MAX_UNPACKED) -> None:
        self.n_words = n_words
        self._max_masks = max(1, max_bytes // (4 * n_words + 1))
        self._owners: list[Subset] = []
        self._lock = new_lock()  # guides unpack without holding the index's lock

    @staticmethod
    @cache
    def of(n_words: int) -> UnpackedMasks:
        """Return those of all masks of a length."""
        return UnpackedMasks(n_words)

    @property
    def nbytes(self) -> int:
        """Bytes of all."""
        return 4 * self.n_words * len(self._owners)

    def note(self, subset: Subset) -> None:
        """Note that a subset has an unpacked bitmask now."""
        with self._lock:
            if len(self._owners) >= self._max_masks:
                for owner in self._owners:
                    owner.forget()
                self._owners.clear()
            self._owners.append(subset)


class Subsets:
    """The distinct subsets of an index."""

    def __init__(self, n_words: int) -> None:
        self._unpacked = UnpackedMasks.of(n_words)
        self._known: dict[bytes, Subset] = {}  # by their digests, and by those of walks
        self._bases: dict[Hashable, Subset] = {}
        self._key_of_base: dict[Subset, Hashable] = {}  # in `_bases`
        self._n_users: dict[Subset, int] = {}  # entries of an index, and subsets with this base
        self.nbytes = 0

    def __len__(self) -> int:
        return len(self._n_users)

    def __iter__(self) -> Iterator[Subset]:
        return iter(self._n_users)

    def walked(self, digest: bytes) -> Subset | None:
        """Return the subset that was added with a digest of what a walk found, if it is known."""
        return self._known.get(digest)

    def add(self, bitmask: Int32Array, like: Hashable, walked: bytes = b"") -> Subset:
        """Return the subset of a bitmask, with one more user.

        Parameters
        ----------
        bitmask : int32, shape (n_words,)
            The tokens as bits.
        like : hashable
            Bitmasks with equal values here are expected to be alike.
        walked : bytes
            A digest that only equal bitmasks share; empty if there is none.
        """
        subset = self._known.get(walked) if walked else None
        if subset is None:
            key = _key_of(bitmask)
            subset = self._known.get(key)
            if subset is None:
                subset = self._made(bitmask, like)
                subset.remember(key, bitmask)
            if walked:
                subset.walks = (*subset.walks, walked)  # first: whatever is known is forgotten
                self._known[walked] = subset
        return self.adopt(subset)

    def adopt(self, subset: Subset) -> Subset:
        """Return a subset, such as one of a file, or its equal here, with one more user."""
        known = self._known.setdefault(subset.key, subset)
        n_users = self._n_users.get(known, 0)
        if not n_users:
            self.nbytes += known.nbytes
            if known.base is not None:
                known.base = self.adopt(known.base)
        self._n_users[known] = n_users + 1
        return known

    def release(self, subset: Subset) -> None:
        """Remove a user from a subset; the subset is forgotten with its last user."""
        self._n_users[subset] -= 1
        if self._n_users[subset]:
            return
        del self._n_users[subset]
        for key in (subset.key, *subset.walks):
            self._known.pop(key, None)
        self.nbytes -= subset.nbytes
        if subset in self._key_of_base:
            del self._bases[self._key_of_base.pop(subset)]
        if subset.base is not None:
            self.release(subset.base)

    def _made(self, bitmask: Int32Array, like: Hashable) -> Subset:
        base = None
        places = np.flatnonzero(bitmask != 0)  # quicker than of words
        known = self._bases.get(like)
        if known is not None:
            changes = np.flatnonzero(bitmask != known.bitmask)
            if len(changes) < len(places):
                places, base = changes, known
        if _RATIO * len(places) <= len(bitmask):
            return Subset(bitmask[places], places.astype(np.uint32), base, self._unpacked)
        whole = Subset.of(bitmask)
        if known is None:
            self._bases[like] = whole
            self._key_of_base[whole] = like
        return whole


def _key_of(bitmask: Int32Array) -> bytes:
    # Processors have instructions for this one: four times as fast as BLAKE2.
    return hashlib.sha256(bitmask.data).digest()[:16]


def _frozen(bitmask: Int32Array) -> Int32Array:
    bitmask.flags.writeable = False
    return bitmask


def is_in_bitmask(token_id: int, bitmask: Int32Array) -> bool:
    """Return whether the bit of a token is set; False if the token is beyond the mask.

    Examples
    --------
    >>> mask = bitmask_of([1, 33], 2)
    >>> [is_in_bitmask(token_id, mask) for token_id in (0, 1, 33, 64, -1)]
    [False, True, True, False, False]
    """
    if not 0 <= token_id < 32 * len(bitmask):
        return False
    return bool(bitmask[token_id >> 5] >> (token_id & 31) & 1)


def are_in_bitmask(
    token_ids: npt.NDArray[np.integer], bitmask: Int32Array
) -> npt.NDArray[np.bool_]:
    """Return which of some tokens are in a bitmask; bool, shape (n_tokens,)."""
    are_in: npt.NDArray[np.bool_] = bitmask[token_ids >> 5] >> (token_ids & 31) & 1 == 1
    return are_in


def bitmask_of(token_ids: Sequence[int] | Int32Array, n_words: int) -> Int32Array:
    """Return the bitmask of some tokens, in the format of :attr:`Subset.bitmask`."""
    bits = np.zeros(32 * n_words, dtype=np.bool_)
    bits[np.asarray(token_ids, dtype=np.int64)] = True
    return np.packbits(bits, bitorder="little").view(np.int32)


def token_ids_in(bitmask: Int32Array) -> npt.NDArray[np.int64]:
    """Return the tokens of a bitmask, ascending."""
    words = np.flatnonzero(bitmask != 0)
    bits = np.unpackbits(bitmask[words].view(np.uint8), bitorder="little")
    token_ids = 32 * words[:, np.newaxis] + np.arange(32)
    return np.asarray(token_ids[bits.reshape(-1, 32) != 0])
