"""The vocabulary trie is what its definition says: distinct prefixes in order."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cfgguide.base.kinds import KINDS, MOST, N_BITS, NO_TEXT, kinds_of
from cfgguide.engine.vocabulary.lookup import TokenLookup
from cfgguide.engine.vocabulary.spelling import Spelling
from cfgguide.engine.vocabulary.trie import VocabularyTrie
from cfgguide.engine.vocabulary.vocabulary import Vocabulary

TOKENS = st.lists(st.none() | st.binary(max_size=4) | st.text("ab\0", max_size=9).map(str.encode))


def vocabulary_of(tokens) -> Vocabulary:
    return Vocabulary([*tokens, None], eos_token_ids=len(tokens))


@given(TOKENS)
def test_the_nodes_are_the_distinct_prefixes_level_by_level(tokens):
    trie = VocabularyTrie.of(vocabulary_of(tokens).tokens)
    texts = [token for token in tokens if token]
    prefixes = {text[:end] for text in texts for end in range(1, len(text) + 1)}
    by_level = sorted(prefixes, key=lambda prefix: (len(prefix), prefix))
    in_order = sorted(range(len(tokens)), key=lambda token_id: (tokens[token_id] or b"", token_id))
    token_ids = [token_id for token_id in in_order if tokens[token_id]]
    assert trie.packed.token_ids.tolist() == token_ids
    nodes = trie.packed.nodes.tolist()
    assert [byte for byte, *_ in nodes[:-1]] == [prefix[-1] for prefix in by_level]
    for (_, first, end, child), (*_, end_child), prefix in zip(
        nodes, nodes[1:], by_level, strict=False
    ):
        below = [each for each in token_ids if (tokens[each] or b"").startswith(prefix)]
        assert token_ids[first:end] == below
        children = [other for other in by_level if other[:-1] == prefix]
        assert by_level[child:end_child] == children
    assert trie.packed.n_roots == sum(len(prefix) == 1 for prefix in prefixes)
    assert trie.max_depth == max(map(len, texts), default=0)


_TEXTS = st.text('aé\u2028一😀"', max_size=4).map(str.encode)
_CUT = st.builds(lambda text, end: text[: len(text) - end], _TEXTS, st.integers(0, 3))


def kinds_in_token(rest: bytes) -> tuple[int, int]:
    """Return the kinds of a text, by all that the character it ends in may become."""
    for missing in range(4):
        ends = [b""]
        for _ in range(missing):
            ends = [end + bytes([byte]) for end in ends for byte in (0x80, 0x8F, 0x90, 0xBF)]
        texts = [rest + end for end in ends]
        texts = [text.decode() for text in texts if b"\xef\xbf" not in text and is_text(text)]
        if texts:
            points = np.array([ord(character) for text in texts for character in text])
            return int(np.bitwise_or.reduce(kinds_of(points), initial=0)), len(texts[0])
    return NO_TEXT, 0


def is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@settings(deadline=None)
@given(st.lists(_TEXTS | _CUT | st.binary(max_size=3), min_size=1))
def test_a_node_knows_the_kinds_of_all_below_it(tokens):
    vocabulary = vocabulary_of([*tokens, b"a" * 300])
    nodes, order = vocabulary.trie.packed.nodes, vocabulary.trie.packed.token_ids
    paths: dict[int, bytes] = {}
    for node, (byte, _, _, first) in enumerate(nodes[:-1].tolist()):
        paths[node] = paths.get(node, b"") + bytes([byte])
        for child in range(first, int(nodes[node + 1, 3])):
            paths[child] = paths[node]
    for node, path in paths.items():
        if not is_text(path[:-1]):
            continue  # it is asked only where a character begins
        kinds = n = 0
        for token_id in order[nodes[node, 1] : nodes[node, 2]].tolist():
            found, length = kinds_in_token((vocabulary.tokens[token_id] or b"")[len(path) - 1 :])
            kinds, n = kinds | found, max(n, length)
        known = int(vocabulary.trie_kinds[node])
        if kinds & NO_TEXT or n > MOST:
            assert known & NO_TEXT
        else:
            assert known & KINDS & kinds == kinds
            assert not known & NO_TEXT
            assert known >> N_BITS == n


def test_kernels_get_arrays_that_they_take():
    packed = VocabularyTrie.of([b"a", b"ab"]).packed
    arrays = [packed.nodes, packed.token_ids]
    assert [array.dtype for array in arrays] == [np.int32, np.int32]
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


@given(TOKENS, st.binary(max_size=6) | st.text("ab", max_size=9).map(str.encode), st.integers(0, 3))
def test_tokens_are_found_by_their_bytes(tokens, text, start):
    lookup, rest = TokenLookup(VocabularyTrie.of(tokens)), text[start:]
    found = [
        (len(token), tokens.index(token))
        for token in sorted({*filter(None, tokens)}, key=len)
        if rest.startswith(token)
    ]
    assert lookup.beginning(text, start) == found
    is_longer = any(token and token.startswith(text) and token != text for token in tokens)
    assert lookup.is_open(text) == is_longer
