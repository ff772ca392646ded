"""`check_tokenizer` names the problems of a tokenizer, and none where there is none."""

from __future__ import annotations

import json

import pytest
from support.small_tokenizers import (
    END_OF_TEXT,
    sentencepiece_tokenizer,
    standard_library_tokenizer,
    unigram_tokenizer,
    unusual_tokenizer,
)
from support.tiny_models import small_tokenizer
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

import cfgguide
from cfgguide.diagnostics.tokenizer import TEXTS, TokenizerReport, check_tokenizer
from cfgguide.engine.vocabulary.checks import Finding, Severity


def byte_level(*pieces: str, lacking: str = "", special: tuple[str, ...] = ("</s>",)) -> Tokenizer:
    """A byte-level tokenizer: 256 bytes but those that lack, pieces, special tokens."""
    alphabet = sorted(set(pre_tokenizers.ByteLevel.alphabet()) - set(lacking))
    vocabulary = {token: number for number, token in enumerate([*alphabet, *pieces])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(list(special))
    return tokenizer


def names(report: TokenizerReport) -> dict[str, str]:
    return {each.name: each.severity.value for each in report.findings}


def finding(report: TokenizerReport, name: str) -> Finding:
    (found,) = [each for each in report.findings if each.name == name]
    return found


# --- What is found -------------------------------------------------------------------------------


def test_of_a_sound_tokenizer_only_the_text_of_special_tokens_is_noted():
    report = check_tokenizer(byte_level(), eos_token_ids=256, n_columns=257)
    assert names(report) == {"special-in-text": "note"}
    assert report.is_fine
    assert (report.n_texts, report.n_tokens) == (len(TEXTS), 256)
    assert report.vocabulary == cfgguide.Vocabulary.from_tokenizer(byte_level(), eos_token_ids=256)


@pytest.mark.slow
def test_a_trained_tokenizer_is_sound_in_all_of_its_tokens():
    tokenizer = standard_library_tokenizer()
    report = check_tokenizer(tokenizer, eos_token_ids=tokenizer.token_to_id(END_OF_TEXT))
    assert names(report) == {"special-in-text": "note"}
    assert report.n_tokens > 31_000


def test_a_tokenizer_of_transformers_knows_its_eos():
    assert check_tokenizer(small_tokenizer()).is_fine


def test_sentencepiece_puts_a_space_in_front_and_takes_its_mark_for_one():
    report = check_tokenizer(sentencepiece_tokenizer(), eos_token_ids=2)
    assert names(report) == {
        "text-changed": "warning",
        "duplicate-bytes": "note",
        "space-in-front": "note",
        "special-in-text": "note",
    }
    assert (
        "the mark of sentencepiece: b'a\\xe2\\x96\\x81b" in finding(report, "text-changed").message
    )
    assert "26 of 27 texts" in finding(report, "space-in-front").message
    assert "b'a' is 100, 260" in finding(report, "duplicate-bytes").message
    assert report.is_fine


def test_an_unknown_token_loses_text():
    report = check_tokenizer(unigram_tokenizer(), eos_token_ids=0)
    assert names(report)["text-lost"] == "warning"
    assert "ids 1 have no text" in finding(report, "text-lost").message


def test_added_tokens_that_are_text_are_noted():
    report = check_tokenizer(unusual_tokenizer(), eos_token_ids=262)
    found = finding(report, "added-text")
    assert found.severity is Severity.NOTE
    assert "259 '<tool call>'" in found.message


@pytest.mark.parametrize(
    ("normalizer", "kind"),
    [
        (normalizers.NFC(), "combining accents"),
        (normalizers.NFKC(), "compatibility characters"),
        (normalizers.Lowercase(), "ASCII"),
        (normalizers.Strip(), "a space in front"),
    ],
)
def test_a_normaliser_changes_texts(normalizer, kind):
    tokenizer = byte_level()
    tokenizer.normalizer = normalizer
    found = finding(check_tokenizer(tokenizer, eos_token_ids=256), "text-changed")
    assert found.severity is Severity.WARNING
    assert f"{kind}: " in found.message


def test_your_own_texts_are_tried_too():
    tokenizer = byte_level()
    tokenizer.normalizer = normalizers.Replace("colour", "color")
    assert "text-changed" not in names(check_tokenizer(tokenizer, eos_token_ids=256))
    report = check_tokenizer(tokenizer, eos_token_ids=256, texts=["my colour"])
    assert report.n_texts == len(TEXTS) + 1
    message = finding(report, "text-changed").message
    assert "a text of yours: b'colour' becomes b'color'" in message


def test_bytes_that_no_token_has_are_told_with_their_characters():
    report = check_tokenizer(byte_level(lacking="xÃ"), eos_token_ids=254)
    found = finding(report, "missing-bytes")
    assert found.severity is Severity.WARNING
    assert "no token has these bytes of UTF-8: 0x78, 0xC3; " in found.message
    assert "texts with 'x' or U+00C0 to U+00FF cannot be written" in found.message


def test_bytes_that_utf8_never_has_are_not_missed():
    report = check_tokenizer(byte_level(lacking="ÀÿÁõ"), eos_token_ids=252)  # C0 FF C1 F5
    assert "missing-bytes" not in names(report)


def test_bytes_that_only_longer_tokens_have_are_told():
    report = check_tokenizer(byte_level("ox", lacking="x"), eos_token_ids=256)
    assert "missing-bytes" not in names(report)
    assert "only tokens of several bytes have these: 0x78; " in (
        finding(report, "bound-bytes").message
    )


def test_the_width_of_the_logits_is_compared():
    def of_width(n_columns):
        return check_tokenizer(byte_level(), eos_token_ids=256, n_columns=n_columns)

    assert {"too-few-columns", "padded-logits"} & set(names(of_width(257))) == set()
    assert finding(of_width(256), "too-few-columns").severity is Severity.ERROR
    assert not of_width(256).is_fine
    assert "320 columns, 63 more than" in finding(of_width(320), "padded-logits").message
    assert of_width(320).is_fine


def test_an_eos_that_is_text_is_told():
    report = check_tokenizer(byte_level("stop"), eos_token_ids=256)
    assert "EOS is no special token: 256 'stop'" in finding(report, "eos-is-text").message


def test_other_special_tokens_that_end_a_text_by_their_names_are_told():
    tokenizer = byte_level(special=("</s>", "<|im_end|>", "<|eot_id|>", "<pad>"))
    message = finding(check_tokenizer(tokenizer, eos_token_ids=256), "more-endings").message
    assert "257 '<|im_end|>', 258 '<|eot_id|>'; EOS is 256 '</s>'" in message
    assert "more-endings" not in names(check_tokenizer(tokenizer, eos_token_ids=[256, 257, 258]))


def test_a_tokenizer_that_cuts_or_pads_is_told():
    tokenizer = byte_level()
    tokenizer.enable_truncation(8)
    report = check_tokenizer(tokenizer, eos_token_ids=256)
    assert "'max_length': 8" in finding(report, "cuts-or-pads").message
    assert names(report)["text-changed"] == "warning"
    of_transformers = small_tokenizer()
    of_transformers("a text", truncation=True, max_length=2)  # no matter what was asked before
    assert {"cuts-or-pads", "text-changed"} & set(names(check_tokenizer(of_transformers))) == set()


def test_a_decode_that_cleans_up_is_told():
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=byte_level(),
        eos_token="</s>",
        clean_up_tokenization_spaces=True,
        clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output=True,
    )
    found = finding(check_tokenizer(tokenizer), "decode-changes")
    assert "spaces before signs" in found.message
    assert found.severity is Severity.NOTE


# --- What is broken ------------------------------------------------------------------------------


class DescribedByAnother:
    """A tokenizer whose description is that of another one."""

    def __init__(self, tokenizer: Tokenizer, described: Tokenizer) -> None:
        self._tokenizer, self._described = tokenizer, described

    def to_str(self) -> str:
        return self._described.to_str()

    def __getattr__(self, name: str):
        return getattr(self._tokenizer, name)


def exchanged(tokenizer: Tokenizer, one: str, other: str) -> Tokenizer:
    """The tokenizer with two of its tokens exchanged."""
    described = json.loads(tokenizer.to_str())
    ids = described["model"]["vocab"]
    ids[one], ids[other] = ids[other], ids[one]
    return Tokenizer.from_str(json.dumps(described))


def test_tokens_that_decode_as_other_texts_are_an_error():
    broken = DescribedByAnother(byte_level(), exchanged(byte_level(), "b", "q"))
    report = check_tokenizer(broken, eos_token_ids=256)
    assert not report.is_fine
    message = finding(report, "bytes-differ").message
    assert "65 is b'q' and decodes as 'b'" in message


def test_a_part_of_a_character_that_decodes_as_a_text_is_an_error():
    broken = DescribedByAnother(byte_level(), exchanged(byte_level(), "b", "Ã"))
    message = finding(check_tokenizer(broken, eos_token_ids=256), "bytes-differ").message
    assert r"65 is b'\xc3' and decodes as 'b'" in message


def test_bytes_of_a_character_that_are_read_wrong_are_an_error():
    """Single bytes beyond ASCII are no text alone: only whole texts can tell."""
    broken = DescribedByAnother(byte_level(), exchanged(byte_level(), "Ã", "Ä"))
    report = check_tokenizer(broken, eos_token_ids=256)
    assert "bytes-differ" not in names(report)
    assert names(report)["texts-differ"] == "error"
    assert "letters with accents" in finding(report, "texts-differ").message


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        (byte_level(), "[vocabulary] this Tokenizer does not say which token ends a sequence"),
        (Tokenizer(models.BPE(vocab={"a": 0}, merges=[])), "[tokenizer] the tokenizer has no deco"),
        ("gpt2", "[tokenizer] expected a fast tokenizer"),
    ],
)
def test_a_tokenizer_that_cannot_be_read_is_an_error_of_the_report(tokenizer, message):
    report = check_tokenizer(tokenizer)
    assert names(report) == {"unreadable": "error"}
    assert report.findings[0].message.startswith(message)
    assert (report.vocabulary, report.is_fine) == (None, False)


# --- The report ----------------------------------------------------------------------------------


def test_a_vocabulary_alone_is_looked_at_without_texts():
    report = check_tokenizer(cfgguide.Vocabulary.of_bytes())
    assert str(report) == (
        "nothing is off\n0 texts encoded, 0 tokens decoded\n"
        "Vocabulary(size=257, n_text_tokens=256, eos_token_ids=(256,))"
    )


def test_a_report_shows_the_worst_first_and_what_to_do():
    vocabulary = cfgguide.Vocabulary([b"a", b"b", b"b", None], eos_token_ids=3)
    report = check_tokenizer(vocabulary, n_columns=3)
    lines = str(report).splitlines()
    assert lines[0] == "3 findings: 1 error, 1 warning, 1 note"
    assert lines[3] == (
        "error [too-few-columns] the model's logits have 3 columns, the vocabulary 4 ids"
    )
    assert lines[4].startswith("    the tokenizer belongs to another model")
    assert [line.split()[0] for line in lines[3::2]] == ["error", "warning", "note"]
