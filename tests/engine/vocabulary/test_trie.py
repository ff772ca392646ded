"""The vocabulary trie is what its definition says: distinct prefixes in order."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cfgguide.engine.vocabulary.spelling import Spelling
from cfgguide.engine.vocabulary.trie import VocabularyTrie
from cfgguide.engine.vocabulary.vocabulary import Vocabulary

TOKENS = st.lists(st.none() | st.binary(max_size=4) | st.text("ab\0", max_size=9).map(str.encode))


def vocabulary_of(tokens) -> Vocabulary:
    return Vocabulary([*tokens, None], eos_token_ids=len(tokens))


@given(TOKENS)
def test_the_nodes_are_the_distinct_prefixes_in_order(tokens):
    trie = VocabularyTrie.of(vocabulary_of(tokens).tokens)
    texts = [token for token in tokens if token]
    prefixes = sorted({text[:end] for text in texts for end in range(1, len(text) + 1)})
    skips = [
        sum(other < prefix or other.startswith(prefix) for other in prefixes) for prefix in prefixes
    ]
    at = [[i for i, token in enumerate(tokens) if token == prefix] for prefix in prefixes]
    arrays = trie.arrays
    assert arrays.byte.tolist() == [prefix[-1] for prefix in prefixes]
    assert arrays.depth.tolist() == [len(prefix) for prefix in prefixes]
    assert arrays.skip.tolist() == skips
    assert arrays.first_token.tolist() == [sum(map(len, at[:n])) for n in range(len(at) + 1)]
    assert arrays.token_ids.tolist() == [token_id for ids in at for token_id in ids]
    assert trie.max_depth == max(map(len, texts), default=0)


def test_kernels_get_arrays_that_they_take():
    arrays = VocabularyTrie.of([b"a", b"ab"]).arrays
    dtypes = [np.uint8, np.int32, np.int32, np.int32, np.int32]
    assert [array.dtype for array in arrays] == dtypes
    assert all(array.flags.c_contiguous and array.flags.writeable for array in arrays)


def test_it_is_made_once():
    vocabulary = vocabulary_of([b"a"])
    assert vocabulary.trie is vocabulary.trie
    assert vocabulary.spelling is vocabulary.spelling


@given(TOKENS)
def test_only_tokens_with_a_byte_of_no_token_of_its_own_make_nodes(tokens):
    single = {token[0] for token in tokens if token and len(token) == 1}
    whole = {token for token in tokens if token and not single.issuperset(token)}
    inside = {token[:end] for token in whole for end in range(1, len(token))}
    assert len(Spelling.of(tokens).steps) == 1 + len(inside)
