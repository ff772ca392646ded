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
from cfgguide.base.checked import Checked
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


def unpacked(trie: VocabularyTrie, arrays: Arrays) -> ClassTrie:
    """Return token classes; raises `IndexFormatError` if they are none of this trie."""
    checked = Checked(arrays, "the index cannot be used")
    lengths = checked.numbers("lengths", (None,), 0)
    is_right = lengths.size and lengths[0] == 0 and (lengths[1:] > 0).all()
    checked.check(is_right, "a class of tokens has no string")
    token_ids = trie.packed.token_ids
    classes = checked.numbers(
        "class_of_token", token_ids.shape, 0, len(lengths) - 1, dtypes=(np.uint16, np.int32)
    )
    checked.check(np.isin(np.arange(1, len(lengths)), classes).all(), "a class has no tokens")
    data = checked.numbers("strings", (int(lengths.sum()),), dtypes=(np.uint8,)).tobytes()
    ends = zip(np.cumsum(lengths).tolist(), lengths.tolist(), strict=True)
    strings = tuple(data[end - length : end] for end, length in ends)
    return ClassTrie.of(token_ids, classes.astype(np.int32), strings)
