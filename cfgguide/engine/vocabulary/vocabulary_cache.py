"""Vocabularies of tokenizers in the user's cache: by what the tokenizer is.

In: the description of a tokenizer, its special ids, and the EOS ids and size that are asked for.
Out: the vocabulary with its trie, spelling and digest, if some process has read the same before and
the cache is on. The key covers the whole description, and the code that reads it. (It takes most of
the time that is left: there is no other way to see all tokens of a tokenizer that is quicker.)
Small vocabularies are read in no time, so they are not stored. ::

    text                  uint8                  the bytes of all tokens by id, `SEPARATOR` between
    nodes                 int32 (n_nodes+1, 4)   the trie, as a walk reads it
    token_ids             int32 (n_text_tokens,) the same
    kinds                 uint64 (n_nodes,)      what comes below each node

Python cuts a text at separators three times as fast as at places. A vocabulary that the separator
would cut otherwise is not stored.

Kernels read the trie without checking bounds, so its numbers are checked here.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cfgguide.base import archive, kinds
from cfgguide.base.archive import Arrays
from cfgguide.base.cache import hash_of_code, kept, user_cache
from cfgguide.base.checked import Checked
from cfgguide.engine.vocabulary.spelling import Spelling
from cfgguide.engine.vocabulary.trie import (
    BYTE,
    END_TOKEN,
    FIRST_CHILD,
    FIRST_TOKEN,
    PackedTrie,
    VocabularyTrie,
)

if TYPE_CHECKING:
    from cfgguide.engine.vocabulary.vocabulary import Vocabulary

KIND = "vocabulary"
MIN_SIZE = 4096  # ids
SEPARATOR = b"\xff\xc0\xfe"  # in no text, and hardly in tokens


class StoredVocabulary(NamedTuple):
    """What is kept of a vocabulary.

    Attributes
    ----------
    tokens : list of (bytes or None)
        As those of a vocabulary.
    eos_token_ids : tuple of int
        As those of a vocabulary.
    trie : VocabularyTrie
        Of the tokens.
    kinds : uint64, shape (n_nodes,)
        As `Vocabulary.trie_kinds`.
    spelling : Spelling
        Of the tokens.
    digest : str
        Of the vocabulary.
    warning : str
        What reading the tokenizer warned of; empty for nothing.
    """

    tokens: list[bytes | None]
    eos_token_ids: tuple[int, ...]
    trie: VocabularyTrie
    kinds: npt.NDArray[np.uint64]
    spelling: Spelling
    digest: str
    warning: str


def key_of(
    description: str, special_ids: Iterable[int], eos_token_ids: object, size: object
) -> str | None:
    """Return the key of a vocabulary; None if there is no cache, or something is to be refused."""
    listed = [eos_token_ids] if type(eos_token_ids) is int else eos_token_ids
    if not isinstance(listed, list | tuple | set | frozenset) or user_cache() is None:
        return None
    special = list(special_ids)
    if not all(type(number) is int for number in (*listed, *special, size or 0)):
        return None  # such as a bool: the constructor is to say so
    parts = [
        hashlib.sha256(description.encode()).hexdigest(),
        [sorted(set(special)), sorted(set(listed)), size],
        [sys.byteorder, _code()],
    ]
    return archive.digest({}, parts)


@functools.cache
def _code() -> str:
    return hash_of_code([*Path(__file__).parent.glob("*.py"), Path(kinds.__file__)])


def load(key: str) -> StoredVocabulary | None:
    """Return the vocabulary with a key, or None if it is not there."""
    return kept(KIND, key, _unpacked)


def store(key: str, vocabulary: Vocabulary, warning: str) -> None:
    """Store a vocabulary, if it is not small and there is room."""
    cache = user_cache()
    if cache is None or vocabulary.size < MIN_SIZE:
        return
    trie, text = vocabulary.trie, SEPARATOR.join(each or b"" for each in vocabulary.tokens)
    if _tokens_of(text) != list(vocabulary.tokens):
        return
    arrays: Arrays = {
        "text": np.frombuffer(text, dtype=np.uint8),
        "nodes": trie.packed.nodes,
        "token_ids": trie.packed.token_ids,
        "kinds": vocabulary.trie_kinds,
    }
    value = {
        "eos_token_ids": vocabulary.eos_token_ids,
        "digest": vocabulary.digest,
        "spelling": vocabulary.spelling.steps,
        "warning": warning,
    }
    cache.store(KIND, key, arrays, value)


def _tokens_of(text: bytes) -> list[bytes | None]:
    return [each or None for each in text.split(SEPARATOR)]


def _unpacked(arrays: Arrays, value: Any) -> StoredVocabulary:
    """Return what was stored; raises `IndexFormatError` if it is damaged."""
    checked = Checked(arrays, "the vocabulary cannot be used")
    tokens = _tokens_of(checked.numbers("text", (None,), dtypes=(np.uint8,)).tobytes())
    has_text = np.fromiter(map(bool, tokens), dtype=np.bool_, count=len(tokens))
    packed = _trie(checked, has_text)
    spelling = _spelling(checked, value, len(tokens))
    trie = VocabularyTrie(packed, max(map(len, filter(None, tokens)), default=0))
    kinds_below = checked.numbers("kinds", (len(packed.nodes) - 1,), dtypes=(np.uint64,))
    told = value["digest"], value["warning"]
    return StoredVocabulary(
        tokens, tuple(value["eos_token_ids"]), trie, kinds_below, spelling, *told
    )


def _trie(checked: Checked, has_text: npt.NDArray[np.bool_]) -> PackedTrie:
    """Return a trie, whose numbers are all bytes, nodes, places of tokens and tokens with text."""
    nodes = checked.numbers("nodes", (None, 4))
    n_nodes, n_tokens = len(nodes) - 1, int(has_text.sum())
    token_ids = checked.numbers("token_ids", (n_tokens,))
    first, end, child = (nodes[:, column] for column in (FIRST_TOKEN, END_TOKEN, FIRST_CHILD))
    checked.check(
        n_nodes > 0
        and np.array_equal(np.sort(token_ids), np.flatnonzero(has_text))
        and ((nodes[:-1, BYTE] >= 0) & (nodes[:-1, BYTE] < 256)).all()
        and ((first >= 0) & (first <= end) & (end <= n_tokens))[:-1].all()
        and (child[:-1] > np.arange(n_nodes)).all()
        and (np.diff(child) >= 0).all()
        and child[-1] == n_nodes,
        "its trie is none of its tokens",
    )
    return PackedTrie.without_rows(nodes, token_ids, int(child[0]))


def _spelling(checked: Checked, value: Any, size: int) -> Spelling:
    """Return the spelling of a stored value, if all of the value is as it was written."""
    kinds = {"eos_token_ids": list, "digest": str, "spelling": list, "warning": str}
    if not isinstance(value, dict) or {name: type(each) for name, each in value.items()} != kinds:
        checked.refuse("its description is another")
    try:
        steps = tuple([tuple([(byte, node) for byte, node in each]) for each in value["spelling"]])
    except (TypeError, ValueError):
        checked.refuse("its spelling has other parts")
    is_right = steps and all(
        type(byte) is type(node) is int and 0 <= byte < 256 and 0 <= node < len(steps)
        for each in steps
        for byte, node in each
    )
    eos = value["eos_token_ids"]
    is_right = is_right and all(type(each) is int and 0 <= each < size for each in eos)
    checked.check(is_right, "its spelling or its EOS cannot be")
    return Spelling(steps)
