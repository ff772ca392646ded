"""Token classes in a file.

In: a :class:`~cfgguide.engine.masks.token_classes.ClassTrie`. Out: named arrays for
:mod:`cfgguide.base.archive`; and back. ::

    class_of_token  uint16 or int32 (n_text_tokens,)  the class of each token, 0 = none
    strings         uint8                             the strings of the classes, one after another
    lengths         int32 (n_classes+1,)              their lengths; class 0 has none
"""

from __future__ import annotations

import numpy as np

from cfgguide.base.archive import Arrays
from cfgguide.engine.masks.token_classes import ClassTrie
from cfgguide.engine.vocabulary.trie import VocabularyTrie


def packed(made: ClassTrie) -> Arrays:
    """Return token classes as arrays."""
    dtype = np.uint16 if made.n_classes <= np.iinfo(np.uint16).max else np.int32
    return {
        "class_of_token": made.class_of_token.astype(dtype),
        "strings": np.frombuffer(b"".join(made.strings), dtype=np.uint8),
        "lengths": np.array([len(string) for string in made.strings], dtype=np.int32),
    }


def unpacked(trie: VocabularyTrie, arrays: Arrays) -> ClassTrie | None:
    """Return token classes; None if they are none of this trie."""
    if set(arrays) != {"class_of_token", "strings", "lengths"}:
        return None
    classes, lengths = arrays["class_of_token"], arrays["lengths"]
    ends = np.cumsum(lengths)
    is_right = (
        classes.dtype in (np.uint16, np.int32)
        and classes.shape == trie.packed.token_ids.shape
        and lengths.dtype == np.int32
        and lengths.ndim == 1
        and len(lengths) > 0
        and lengths[0] == 0
        and (lengths[1:] > 0).all()
        and arrays["strings"].dtype == np.uint8
        and ends[-1] == arrays["strings"].size
        and np.isin(np.arange(1, len(lengths)), classes).all()
        and (classes >= 0).all()
        and (classes < len(lengths)).all()
    )
    if not is_right:
        return None
    data = arrays["strings"].tobytes()
    strings = tuple(
        data[end - length : end]
        for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)
    )
    return ClassTrie.of(trie.packed.token_ids, classes.astype(np.int32), strings)
