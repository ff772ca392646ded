"""A vocabulary holds the exact bytes of every token, whatever the kind of tokenizer.

Expected bytes are written by hand or come from the `tokenizers` library's own encode and decode.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import pickle
import re
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.small_tokenizers import (
    N_TOKENS,
    sentencepiece_tokenizer,
    standard_library_tokenizer,
    unigram_tokenizer,
    unusual_tokenizer,
)
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models

from cfgguide.engine.vocabulary.tokenizer_bytes import (
    description_of,
    read_decoder,
    read_tokens,
)
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import TokenizerError, VocabularyError, VocabularyWarning

SMALL = Vocabulary([b"a", b" b", b"\xc3", None, b"", b"</s>"], eos_token_ids=5)


def step_of(decoder: Any) -> dict[str, Any]:
    """The JSON of a decoder, as it stands in a tokenizer.json."""
    tokenizer = Tokenizer(models.BPE(vocab={"a": 0}, merges=[]))
    tokenizer.decoder = decoder
    return json.loads(tokenizer.to_str())["decoder"]


# --- The class -----------------------------------------------------------------------------------


def test_a_vocabulary_has_one_entry_for_each_id():
    assert SMALL.tokens == (b"a", b" b", b"\xc3", None, None, None)  # b"" and EOS are no text
    assert (SMALL.size, len(SMALL), SMALL.n_text_tokens) == (6, 6, 3)


@pytest.mark.parametrize(
    ("eos_token_ids", "stored"),
    [(2, (2,)), ([2, 0, 2], (0, 2)), ({1}, (1,)), (range(3), (0, 1, 2))],
)
def test_eos_ids_are_sorted_and_have_no_text(eos_token_ids, stored):
    vocabulary = Vocabulary([b"a", b"b", b"c"], eos_token_ids=eos_token_ids)
    assert vocabulary.eos_token_ids == stored
    assert all(vocabulary.tokens[index] is None for index in stored)


@pytest.mark.parametrize(
    ("size", "n_words"), [(1, 1), (31, 1), (32, 1), (33, 2), (64, 2), (65, 3), (151_936, 4748)]
)
def test_size_pads_to_the_width_of_the_logits(size, n_words):
    vocabulary = Vocabulary([b"a"], eos_token_ids=size - 1, size=size)
    assert (vocabulary.size, vocabulary.n_words) == (size, n_words)
    assert vocabulary.tokens[1:] == (None,) * (size - 1)


@pytest.mark.parametrize("size", [10**9, 10**30, pytest.param(10**5000, id="long"), (1 << 24) + 1])
def test_a_size_that_no_model_has_is_refused(size):
    with pytest.raises(VocabularyError, match="at most 16777216, or leave it out"):
        Vocabulary([b"a"], eos_token_ids=0, size=size)


def test_a_token_of_ten_megabytes_is_refused():
    tokens = [b"a", b"x" * 10_000_000, None]
    with pytest.raises(VocabularyError, match=r"token 1 has 10000000 bytes, .* give None"):
        Vocabulary(tokens, eos_token_ids=2)


def test_a_long_token_is_spelled_byte_by_byte():
    """Of 40,000 bytes, none a token by itself: a node for each."""
    spelling = Vocabulary([b"x" * 40_000, None], eos_token_ids=1).spelling
    assert len(spelling.steps) == 40_000
    assert spelling.steps[0] == ((ord("x"), 1),)
    assert spelling.steps[-1] == ((ord("x"), 0),)


def test_a_vocabulary_is_frozen_and_survives_pickling():
    with pytest.raises(dataclasses.FrozenInstanceError):
        SMALL.tokens = ()
    again = pickle.loads(pickle.dumps(SMALL))
    assert again == SMALL
    assert hash(again) == hash(SMALL)
    assert again.digest == SMALL.digest


def test_repr_does_not_list_the_tokens():
    assert repr(SMALL) == "Vocabulary(size=6, n_text_tokens=3, eos_token_ids=(5,))"


def test_the_digest_is_the_documented_hash():
    serialised = (
        b"\x03\x00\x00\x00"  # three ids
        b"\x02\x00\x00\x00ab" + b"\xff\xff\xff\xff" * 2 + b"\x02\x00\x00\x00"  # EOS 2
    )
    vocabulary = Vocabulary([b"ab", None, b"</s>"], eos_token_ids=2)
    assert vocabulary.digest == hashlib.sha256(serialised).hexdigest()


def test_vocabularies_that_differ_have_different_digests():
    distinct = [
        Vocabulary([b"ab", b"c", None], eos_token_ids=2),
        Vocabulary([b"a", b"bc", None], eos_token_ids=2),
        Vocabulary([b"ab", b"c", None, None], eos_token_ids=2),
        Vocabulary([b"ab", b"c", None, None], eos_token_ids=3),
        Vocabulary([b"ab", b"c", None, None], eos_token_ids=[2, 3]),
        Vocabulary([b"c", b"ab", None], eos_token_ids=2),
    ]
    assert len({vocabulary.digest for vocabulary in distinct}) == len(distinct)


@pytest.mark.parametrize(
    ("ids", "text"), [([], b""), ([0, 1, 0], b"a ba"), ([2], b"\xc3"), ([0, 5], b"a"), ([5], b"")]
)
def test_spell_concatenates_and_eos_adds_nothing(ids, text):
    assert SMALL.spell(ids) == text


@pytest.mark.parametrize(
    ("ids", "fragment"),
    [
        ([0, 3], "token id 3 spells no text"),
        ([4], "token id 4 spells no text"),
        ([6], "token id 6 (int) is not one of the ids 0 to 5"),
        ([-1], "token id -1 (int)"),
        ([True], "token id True (bool)"),
        (["a"], "token id 'a' (str)"),
    ],
)
def test_spell_refuses_ids_without_text(ids, fragment):
    with pytest.raises(VocabularyError) as caught:
        SMALL.spell(ids)
    assert fragment in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        ({"tokens": ["a"]}, "token 0 is 'a', a str: give its bytes"),
        ({"tokens": [b"a", 3]}, "token 1 is 3, a int"),
        ({"tokens": [bytearray(b"a")]}, "a bytearray"),
        ({"tokens": {"a": 0}}, "tokens is a dict: give a list"),
        ({"tokens": b"ab"}, "tokens is a bytes"),
        ({"tokens": "ab"}, "tokens is a str"),
        ({"tokens": None}, "tokens is a NoneType"),
        ({"tokens": iter([b"a"])}, "tokens is a list_iterator"),
        ({"tokens": []}, "there are no tokens"),
        ({"eos_token_ids": []}, "eos_token_ids is empty"),
        ({"eos_token_ids": 2}, "EOS id 2 (int) is not one of the ids 0 to 1"),
        ({"eos_token_ids": [0, -1]}, "EOS id -1 (int)"),
        ({"eos_token_ids": True}, "EOS id True (bool)"),
        ({"eos_token_ids": None}, "EOS id None (NoneType)"),
        ({"eos_token_ids": "</s>"}, "EOS id '</s>' (str)"),
        ({"eos_token_ids": 1.0}, "EOS id 1.0 (float)"),
        ({"size": 1}, "size=1 does not fit 2 tokens"),
        ({"size": True}, "size=True does not fit"),
        ({"size": 2.5}, "size=2.5 does not fit"),
    ],
)
def test_bad_input_is_named(arguments, fragment):
    with pytest.raises(VocabularyError) as caught:
        Vocabulary(**{"tokens": [b"a", None], "eos_token_ids": 1, **arguments})
    assert fragment in str(caught.value)
    assert str(caught.value).startswith("[vocabulary] ")


# --- What a decoder does to one token ------------------------------------------------------------

LLAMA = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
GEMMA = decoders.Sequence(LLAMA)
LLAMA_2 = decoders.Sequence([*LLAMA, decoders.Strip(" ", 1, 0)])

READINGS = [
    (decoders.ByteLevel(), "Ġthe", b" the"),
    (decoders.ByteLevel(), "Ċĉ", b"\n\t"),
    (decoders.ByteLevel(), "Ã", b"\xc3"),
    (decoders.ByteLevel(), "æĹ¥", "日".encode()),
    (decoders.ByteLevel(), "日", "日".encode()),  # not in the alphabet: literal
    (decoders.ByteLevel(), "Ġ日", "Ġ日".encode()),  # all of it
    (decoders.ByteLevel(), "a b", b"a b"),  # nor is the space
    (decoders.ByteLevel(), "<0x41>", b"<0x41>"),
    (LLAMA_2, "▁the", b" the"),  # the space is the token's, though Strip drops a text's first
    (LLAMA_2, "▁▁▁", b"   "),
    (LLAMA_2, "the▁", b"the "),
    (LLAMA_2, "<0x41>", b"A"),
    (LLAMA_2, "<0x0a>", b"\n"),
    (LLAMA_2, "<0xE6>", b"\xe6"),
    (LLAMA_2, "<0x+5>", b"\x05"),  # as Rust reads numbers
    (LLAMA_2, "<0xG1>", b"<0xG1>"),
    (LLAMA_2, "<0x041>", b"<0x041>"),
    (LLAMA_2, "▁<0x41>", b" <0x41>"),
    (LLAMA_2, "Ġé", "Ġé".encode()),
    (GEMMA, "▁the", b" the"),
    (decoders.Metaspace(), "▁the▁", b" the "),
    (decoders.Metaspace(), "<0x41>", b"<0x41>"),
    (decoders.Metaspace(replacement="_", prepend_scheme="never"), "_a▁", " a▁".encode()),
    (decoders.Sequence([decoders.Metaspace(), decoders.ByteFallback()]), "<0x42>", b"B"),
    (decoders.Replace("ab", ""), "cabab", b"c"),
    (decoders.Sequence([decoders.Replace("a", "b"), decoders.Replace("b", "c")]), "ab", b"cc"),
    (decoders.Sequence([decoders.Replace("_", "Ġ"), decoders.ByteLevel()]), "_a", b" a"),
    (decoders.Sequence([decoders.Sequence([decoders.ByteLevel()])]), "Ġa", b" a"),
    (decoders.Sequence([]), "▁a", "▁a".encode()),
    (decoders.Fuse(), "▁a", "▁a".encode()),
    (decoders.Sequence([decoders.ByteLevel(), decoders.Fuse()]), "Ġa", b" a"),
]


@pytest.mark.parametrize(("decoder", "token", "expected"), READINGS)
def test_a_decoder_gives_a_token_these_bytes(decoder, token, expected):
    assert read_decoder(step_of(decoder)).spell(token) == expected


@pytest.mark.parametrize(("decoder", "token", "expected"), READINGS)
def test_the_library_gives_the_token_the_same_text_between_others(decoder, token, expected):
    text = (b"x" + expected + b"y").decode(errors="replace")  # half a character is U+FFFD to it
    assert decoder.decode(["x", token, "y"]) == text


@pytest.mark.parametrize(
    ("decoder", "fragment"),
    [
        (decoders.WordPiece(), "step 1 of 1, WordPiece, adds or drops spaces"),
        (decoders.BPEDecoder(), "step 1 of 1, BPEDecoder, adds or drops spaces"),
        (decoders.CTC(), "step 1 of 1, CTC, adds or drops spaces"),
        (decoders.Replace(Regex("▁+"), " "), "Replace, replaces a regular expression"),
        (decoders.Strip(" ", 1, 0), "Strip, is only understood"),
        (decoders.Sequence([*LLAMA[:2], decoders.Strip(" ", 1, 0)]), "step 3 of 3, Strip, is only"),
        (decoders.Sequence([*LLAMA, decoders.Strip(" ", 0, 1)]), "step 4 of 4, Strip, is only"),
        (decoders.Sequence([*LLAMA, decoders.Strip("_", 1, 0)]), "step 4 of 4, Strip, is only"),
        (decoders.Sequence([*LLAMA[1:], LLAMA[0]]), "step 3 of 3, Replace, comes after tokens are"),
        (decoders.Sequence([*LLAMA, LLAMA[1]]), "step 4 of 4, ByteFallback, comes after"),
        (decoders.Sequence([decoders.ByteLevel()] * 2), "step 2 of 2, ByteLevel, comes after"),
        (decoders.Sequence([decoders.Fuse(), decoders.Metaspace()]), "2 of 2, Metaspace, comes"),
    ],
)
def test_a_decoder_that_gives_no_fixed_bytes_is_refused_by_name(decoder, fragment):
    with pytest.raises(TokenizerError) as caught:
        read_decoder(step_of(decoder))
    assert fragment in str(caught.value)
    assert "Vocabulary(tokens, eos_token_ids=...)" in str(caught.value)


def test_an_unknown_step_is_refused_by_name():
    with pytest.raises(TokenizerError, match="step 2 of 2, Reverse, is not a step that this"):
        read_decoder({"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Reverse"}]})


# --- Which ids have which text -------------------------------------------------------------------


def test_added_tokens_are_literal_and_holes_have_no_text():
    tokens = read_tokens(*description_of(unusual_tokenizer()))[0]
    expected = {
        259: b"<tool call>",
        260: b"\t ",  # over the model's own token "ridden"
        261: "née".encode(),  # though each character is in the byte-level alphabet
        262: None,  # special
        300: b" the",
        301: "日".encode(),
    }
    assert {index: tokens[index] for index in expected} == expected
    assert tokens[256:259] == [None] * 3
    assert tokens[263:300] == [None] * 37
    assert len(tokens) == 302
    assert sorted(tokens[:256]) == [bytes([byte]) for byte in range(256)]


@pytest.mark.parametrize(
    ("added", "is_misread"),
    [("café", True), ("née", True), ("cafe", False), ("日", False), ("<x>", False)],
)
def test_an_added_token_that_decodes_to_another_text_is_a_warning(added, is_misread):
    tokenizer = Tokenizer.from_str(standard_library_tokenizer().to_str())
    tokenizer.add_tokens([added])
    index = tokenizer.token_to_id(added)
    assert (tokenizer.decode([index]) != added) == is_misread
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0)
    assert vocabulary.tokens[index] == added.encode()
    found = [each for each in caught if each.category is VocabularyWarning]
    assert [str(each.message).split("'")[1] for each in found] == [added] * is_misread


def test_an_added_token_that_the_model_has_is_read_as_the_models():
    tokenizer = sentencepiece_tokenizer()
    tokenizer.add_tokens([AddedToken("▁▁", normalized=False)])
    index = tokenizer.token_to_id("▁▁")
    assert read_tokens(*description_of(tokenizer))[0][index] == b"  "
    assert tokenizer.decode([tokenizer.token_to_id("x"), index]) == "x  "


def test_sentencepiece_tokens_keep_their_space_and_special_ones_have_none():
    tokens = read_tokens(*description_of(sentencepiece_tokenizer()))[0]
    assert tokens[:3] == [None, None, None]  # <unk>, <s>, </s>
    assert tokens[3:259] == [bytes([byte]) for byte in range(256)]
    assert tokens[-6:] == [b"  ", b" t", b"he", b" the", "é ".encode(), b"    "]


def test_unigram_ids_are_positions_and_the_unknown_token_has_no_text():
    tokens = read_tokens(*description_of(unigram_tokenizer()))[0]
    assert tokens[:7] == [None, None, b" the", b" ", b"the", b"<0x41>", "é".encode()]


@pytest.mark.parametrize("unknown", ["<unk>", "a"])
def test_the_unknown_token_of_a_bpe_has_no_text(unknown):
    model = {"type": "BPE", "vocab": {"<unk>": 0, "a": 1}, "unk_token": unknown}
    tokens = read_tokens(json.dumps({"model": model, "decoder": {"type": "Fuse"}}))[0]
    assert tokens[model["vocab"][unknown]] is None
    assert tokens.count(None) == 1


def test_all_special_ids_of_transformers_have_no_text():
    class Wrapper:
        backend_tokenizer = unusual_tokenizer()
        all_special_ids = (65, 260, 100_000)
        eos_token_id = 262

    vocabulary = Vocabulary.from_tokenizer(Wrapper())
    assert vocabulary.eos_token_ids == (262,)
    assert (vocabulary.tokens[65], vocabulary.tokens[260]) == (None, None)
    assert (vocabulary.tokens[259], vocabulary.size) == (b"<tool call>", 302)


def test_from_tokenizer_takes_several_eos_ids_and_a_size():
    vocabulary = Vocabulary.from_tokenizer(unusual_tokenizer(), eos_token_ids=[300, 262], size=512)
    assert (vocabulary.eos_token_ids, vocabulary.size) == ((262, 300), 512)
    assert vocabulary.tokens[300] is None


@pytest.mark.parametrize(
    "tokenizer",
    [
        unusual_tokenizer(),
        SimpleNamespace(backend_tokenizer=unusual_tokenizer(), eos_token_id=None),
    ],
)
def test_a_tokenizer_without_eos_asks_for_it(tokenizer):
    with pytest.raises(VocabularyError, match="give eos_token_ids="):
        Vocabulary.from_tokenizer(tokenizer)


@pytest.mark.parametrize(
    ("tokenizer", "fragment"),
    [
        ("gpt2", "found str: load one"),
        (None, "found NoneType"),
        ({"a": 0}, "found dict"),
        (SimpleNamespace(to_str=lambda: "[]"), "is not the JSON of a tokenizer"),
        (SimpleNamespace(is_fast=False), "SimpleNamespace is a slow tokenizer"),
        (SimpleNamespace(backend_tokenizer=3), "found SimpleNamespace"),
    ],
)
def test_other_objects_are_refused(tokenizer, fragment):
    with pytest.raises(TokenizerError) as caught:
        Vocabulary.from_tokenizer(tokenizer, eos_token_ids=0)
    assert fragment in str(caught.value)


@pytest.mark.parametrize(
    ("model", "decoder", "fragment"),
    [
        ({}, None, "has no decoder"),
        ({}, {"type": "Sequence"}, "not the JSON of a tokenizer (KeyError: 'decoders')"),
        ({"vocab": None}, {"type": "Fuse"}, "not the JSON of a tokenizer (AttributeError"),
        ({"end_of_word_suffix": "</w>"}, {"type": "Fuse"}, "end_of_word_suffix = '</w>'"),
        ({"continuing_subword_prefix": "##"}, {"type": "Fuse"}, "subword_prefix = '##'"),
        ({"byte_fallback": True}, {"type": "Fuse"}, "add decoders.ByteFallback()"),
    ],
)
def test_descriptions_without_fixed_bytes_are_refused(model, decoder, fragment):
    description = {"model": {"vocab": {"a": 0}, **model}, "decoder": decoder}
    with pytest.raises(TokenizerError) as caught:
        read_tokens(json.dumps(description))[0]
    assert fragment in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", "{}"])
def test_what_is_no_tokenizer_json_is_refused(text):
    with pytest.raises(TokenizerError, match="expected the text of a tokenizer"):
        read_tokens(text)


# --- Laws against the library --------------------------------------------------------------------

#: Tokenizer, and what its encode puts in front of a text.
ENCODERS: list[tuple[Callable[[], Tokenizer], str]] = [
    (standard_library_tokenizer, ""),
    (unusual_tokenizer, ""),
    (sentencepiece_tokenizer, " "),
]
#: Text without what encode would make a special token, or (sentencepiece's "▁") a space.
TEXTS = st.text().filter(lambda text: not re.search("[<▁]", text))


@functools.cache
def tokenizer_and_vocabulary(make: Callable[[], Tokenizer]) -> tuple[Tokenizer, Vocabulary]:
    """A tokenizer, and its vocabulary with an EOS after all of its ids."""
    tokenizer = make()
    end = len(read_tokens(*description_of(tokenizer))[0])
    return tokenizer, Vocabulary.from_tokenizer(tokenizer, eos_token_ids=end, size=end + 1)


def test_the_standard_library_vocabulary_is_of_realistic_size():
    _, vocabulary = tokenizer_and_vocabulary(standard_library_tokenizer)
    assert (vocabulary.size, vocabulary.n_text_tokens) == (N_TOKENS + 1, N_TOKENS - 1)
    assert {bytes([byte]) for byte in range(256)} <= set(vocabulary.tokens)
    assert b" return" in vocabulary.tokens


@pytest.mark.slow
@pytest.mark.parametrize(("make", "prefix"), ENCODERS)
@settings(deadline=None)
@given(text=TEXTS)
@example(text="née\t 日本\t\t  12,3 \U0001f469\u200d\U0001f4bb e\u0301\x00\x85\r\n")
def test_the_bytes_of_encoded_text_are_the_text(make, prefix, text):
    tokenizer, vocabulary = tokenizer_and_vocabulary(make)
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    assert vocabulary.spell(ids).decode() == (prefix + text if text else "")


@settings(deadline=None)
@given(ids=st.lists(st.integers(1, N_TOKENS - 1)))
def test_a_byte_level_decoder_shows_what_is_spelled_for_any_ids(ids):
    tokenizer, vocabulary = tokenizer_and_vocabulary(standard_library_tokenizer)
    assert tokenizer.decode(ids) == vocabulary.spell(ids).decode(errors="replace")


def byte_tokens(character: str) -> list[int]:
    """The ids of <0xNN> that spell a character in `sentencepiece_tokenizer`."""
    return [3 + byte for byte in character.encode()]


@settings(deadline=None)
@given(
    chunks=st.lists(
        st.integers(259, 294).map(lambda i: [i]) | st.characters(codec="utf-8").map(byte_tokens)
    )
)
def test_a_sentencepiece_decoder_shows_what_is_spelled_less_one_first_space(chunks):
    tokenizer, vocabulary = tokenizer_and_vocabulary(sentencepiece_tokenizer)
    ids = [index for chunk in chunks for index in chunk]
    assert tokenizer.decode(ids) == vocabulary.spell(ids).decode().removeprefix(" ")


@settings(deadline=None)
@given(ids=st.lists(st.integers(2, 14)))
def test_a_metaspace_decoder_shows_what_is_spelled_after_the_first_token(ids):
    tokenizer, vocabulary = tokenizer_and_vocabulary(unigram_tokenizer)
    letter = tokenizer.token_to_id("a")
    assert tokenizer.decode([letter, *ids]) == vocabulary.spell([letter, *ids]).decode()
