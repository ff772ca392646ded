"""Patterns for a vocabulary that lacks bytes: exactly the texts that it can spell."""

from __future__ import annotations

import itertools
import pickle
import re

import pytest

import cfgguide
from cfgguide.engine.byte_machine.pattern_pushdown import PatternPushdown
from cfgguide.errors import VocabularyError

#: The bytes that have no token in SmolLM2's vocabulary.
MISSING = {0x04, 0x06, 0x13, 0x14, 0x16, 0x1D, 0xC0, 0xC1, 0xF1, 0xF2, *range(0xF5, 0x100)}
WITHOUT = cfgguide.Vocabulary(
    [bytes([byte]) for byte in range(256) if byte not in MISSING] + [b"the", b" a", None],
    eos_token_ids=256 - len(MISSING) + 2,
)
#: It has no `b`, and of characters beyond ASCII only `é`.
FEW = cfgguide.Vocabulary([b"a", b"c", b"ac", b"\xc3", b"\xa9", b"a\xc3", None], eos_token_ids=6)
SPELLED = "acé"
LONGEST = 5

#: None of them matches a text of more than `LONGEST` characters.
PATTERNS = [
    "[a-c]{1,3}", "a?b|ac.", "(?:a|b)(?:c|b)?", "[^a]{0,2}a", ".{2}", r"\w\W?\w", "é?[^é]{2}",
    "(?!.*b)[abc]{3}", "(?=.*c).{3}", "(?<!b)a{1,3}", r"a\b.?", r"(?:\ba|c){1,3}", "a(?!b).{0,3}",
    "[b-é]{1,3}", "(?i:[B-Cé]{2})", "[^b]{2}|b", "[\U00040000a]{2,4}",
]  # fmt: skip


def sentences(pattern: str) -> set[bytes]:
    texts = (
        "".join(each) for n in range(LONGEST + 1) for each in itertools.product(SPELLED, repeat=n)
    )
    return {text.encode() for text in texts if re.fullmatch(pattern, text)}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_mask_allows_what_leads_to_a_text_that_can_be_spelled(pattern):
    right = sentences(pattern)
    begun = {text[:n] for text in right for n in range(len(text) + 1)}
    index = cfgguide.compile(cfgguide.regex(pattern), FEW)
    assert isinstance(index.machine.pushdown, PatternPushdown)
    for before in sorted(begun):
        configuration = index.machine.read(index.machine.initial, before)
        allowed = index.subset(configuration).token_ids().tolist()
        wanted = [i for i, token in enumerate(FEW.tokens) if token and before + token in begun]
        assert allowed == wanted + [6] * (before in right), before


def test_no_character_goes_on_with_the_beginning_of_another_one():
    machine = cfgguide.compile(cfgguide.regex(r"\w*"), FEW).machine
    begun = machine.read(machine.initial, b"a\xc3")
    assert begun is not None
    assert machine.expected(begun) == ("TEXT",)
    assert machine.read(begun, b"a") is None
    assert machine.read(begun, b"\xc3\xa9") is None
    assert machine.read(begun, b"\xa9\xa9") is None
    assert machine.read(begun, b"\xa9a\xc3") is not None


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(\w+[,;.]? ?){1,100}", "the a. the"),
        (".{1,2000}", "a" * 2000),
        (r"\w{256}", "é" * 256),
        (r"<think>[\s\S]{0,2000}?</think>.*", "<think>a\n</think>the"),
        (r"(?=.*\d)(?=.*[a-z]).{8,20}", "password1"),
        (r"[^\x00-\x1f]+\t\x04?", "a\t"),
    ],
)
def test_patterns_of_any_character_are_read_without_tables(pattern, text):
    index = cfgguide.compile(cfgguide.regex(pattern), WITHOUT)
    assert isinstance(index.machine.pushdown, PatternPushdown)
    machine = pickle.loads(pickle.dumps(index.machine))
    for each in (index.machine, machine):
        assert each.is_sentence(each.read(each.initial, text.encode()))
        assert each.read(each.initial, b"\x04") is None
    assert machine.digest == index.machine.digest


@pytest.mark.parametrize(
    ("pattern", "missing"), [("a\x04", "0x4"), ("[\U00040000-\U00040010]", "0xf1")]
)
def test_a_pattern_of_which_nothing_can_be_spelled_is_refused(pattern, missing):
    with pytest.raises(VocabularyError, match=f"no token with the bytes {missing}"):
        cfgguide.compile(cfgguide.regex(pattern), WITHOUT)
