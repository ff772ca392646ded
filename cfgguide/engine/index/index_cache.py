"""The masks of indexes, and the token classes of large grammars, in the user's cache.

In: the digest of an index, and its masks as arrays or its token classes. Out: the same in a later
process, if the cache is on and cfgguide's code has not changed. The bounds of
:mod:`cfgguide.base.cache` hold; masks of more than 50 MB are not stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cfgguide.base import archive
from cfgguide.base.archive import Arrays
from cfgguide.base.cache import kept, user_cache
from cfgguide.engine.machine.grammar_cache import environment_of_masks
from cfgguide.engine.masks import stored_classes
from cfgguide.engine.masks.token_classes import ClassTrie, TokenClasses
from cfgguide.engine.vocabulary.trie import VocabularyTrie

KIND = "masks"
KIND_OF_CLASSES = "token_classes"
MAX_BYTES = 50_000_000
MIN_STATES = 500  # of the scanner: the classes of smaller grammars are found in no time


def use(digest: str, use_masks: Callable[[Arrays, Any], None]) -> None:
    """Have the masks of the index with a digest used, if there are any; drop what is damaged."""
    kept(KIND, _key(digest), use_masks)


def store(digest: str, arrays: Arrays, value: object) -> None:
    """Store masks, if there is room and they are not too large."""
    cache = user_cache()
    if cache and sum(array.nbytes for array in arrays.values()) <= MAX_BYTES:
        cache.store(KIND, _key(digest), arrays, value)


def share_token_classes(
    digest: str, n_states: int, trie: VocabularyTrie, token_classes: TokenClasses
) -> None:
    """Use stored token classes, or store them once they are found, if the grammar is large.

    Parameters
    ----------
    digest : str
        Of the index.
    n_states : int
        Of its scanner.
    trie : VocabularyTrie
        All tokens.
    token_classes : TokenClasses
        Those of the index.
    """
    cache = user_cache()
    if cache is None or n_states < MIN_STATES:
        return
    key = _key(digest)
    made = kept(KIND_OF_CLASSES, key, lambda arrays, _: stored_classes.unpacked(trie, arrays))
    if made is not None:
        token_classes.trie = made
        return

    def store_classes(made: ClassTrie) -> None:
        cache.store(KIND_OF_CLASSES, key, stored_classes.packed(made), None)

    token_classes.when_made = store_classes


def _key(digest: str) -> str:
    return archive.digest({}, [digest, environment_of_masks()])
