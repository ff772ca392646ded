"""The bundled JSON grammar is RFC 8259, to the byte.

Each text is refused at the first byte after which no JSON text can go on, or is one, or is the
start of one. That byte is found by hand, in the RFC; what is JSON is checked with Python's `json`
and with Lark as well.
"""

from __future__ import annotations

import functools
import json

import lark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.judges import is_parsed

import cfgguide

EOS = 256
COMPLETE, INCOMPLETE = "complete", "incomplete"


@functools.cache
def index() -> cfgguide.Index:
    return cfgguide.compile(cfgguide.Grammar.bundled("json"), cfgguide.Vocabulary.of_bytes())


@functools.cache
def parser() -> lark.Lark:
    return lark.Lark(cfgguide.Grammar.bundled("json").text, parser="lalr")


def verdict(text: str | bytes) -> str | int:
    """Return the first byte that is refused, or whether the text is complete."""
    guide = cfgguide.Guide(index())
    for offset, byte in enumerate(text.encode() if isinstance(text, str) else text):
        if byte not in guide.allowed_token_ids():
            return offset
        guide.advance(byte)
    return COMPLETE if guide.accepts(EOS) else INCOMPLETE


def is_json(text: str) -> bool:
    """Return whether `json` takes a text; it takes NaN and Infinity, which are no JSON."""
    try:
        json.loads(text, parse_constant=_refuse)
    except ValueError:
        return False
    return True


def _refuse(constant: str) -> None:
    raise ValueError(constant)


TABLE: dict[str, dict[str, str | int]] = {
    "section 2: whitespace": {
        " 1": COMPLETE,
        "\t1\n": COMPLETE,
        "\r\n[ \t1 ,\n2 ] \r": COMPLETE,
        '{ "a" : 1 , "b" : 2 }': COMPLETE,
        "[ ]": COMPLETE,
        "{ }": COMPLETE,
        "": INCOMPLETE,
        " \n": INCOMPLETE,
        "\f1": 0,
        "\v1": 0,
        "1\f": 1,
        "\u00a01": 0,
        "[1,\u20281]": 3,
        "\ufeff1": 0,  # a byte order mark
        "1 \x00": 2,
        "/**/1": 0,
        "1//": 1,
    },
    "section 3: values": {
        "true": COMPLETE, "false": COMPLETE, "null": COMPLETE, '""': COMPLETE,
        "0": COMPLETE, "tru": INCOMPLETE, "nul": INCOMPLETE, "True": 0, "nULL": 1,
        "truee": 4, "true false": 5, "nullnull": 4, "undefined": 0, "NaN": 0, "nan": 1,
        "Infinity": 0, "-Infinity": 1, "'a'": 0, "a": 0,
    },
    "section 4: objects": {
        "{}": COMPLETE,
        '{"":0}': COMPLETE,
        '{"a":1,"a":2}': COMPLETE,  # names SHOULD be unique
        '{"a":{"b":{}}}': COMPLETE,
        "{": INCOMPLETE,
        '{"a': INCOMPLETE,
        '{"a"': INCOMPLETE,
        '{"a":': INCOMPLETE,
        '{"a":1': INCOMPLETE,
        '{"a":1,': INCOMPLETE,
        "{,}": 1,
        "{a:1}": 1,
        "{1:1}": 1,
        '{"a"}': 4,
        '{"a" 1}': 5,
        '{"a":}': 5,
        '{"a"::1}': 5,
        '{"a":1,}': 7,
        '{"a":1,,"b":2}': 7,
        '{"a":1 "b":2}': 7,
        '{"a":1;"b":2}': 6,
        '{"a":1]': 6,
        "{}}": 2,
        "{[]:1}": 1,
        "{null:1}": 1,
    },
    "section 5: arrays": {
        "[]": COMPLETE, "[[],[[]],{}]": COMPLETE,
        '[1,"a",null,true,false,{},[]]': COMPLETE, "[": INCOMPLETE, "[1": INCOMPLETE,
        "[1,": INCOMPLETE, "[[]": INCOMPLETE, "[,]": 1, "[1,]": 3, "[1,,2]": 3,
        "[1 2]": 3, "[1;2]": 2, "[1}": 2, "[]]": 2, "[],": 2, "[](": 2, "]": 0,
        "[1:2]": 2,
    },
    "section 6: numbers": {
        "-0": COMPLETE,
        "10": COMPLETE,
        "0.0": COMPLETE,
        "-1.50": COMPLETE,
        "1e5": COMPLETE,
        "1E+05": COMPLETE,
        "0e-0": COMPLETE,
        "123456789012345678901234567890.5e99999": COMPLETE,
        "-": INCOMPLETE,
        "1.": INCOMPLETE,
        "1e": INCOMPLETE,
        "1e+": INCOMPLETE,
        "-0.": INCOMPLETE,
        "01": 1,
        "-01": 2,
        "00": 1,
        "+1": 0,
        ".5": 0,
        "-.5": 1,
        "1.e5": 2,
        "1.5.1": 3,
        "1ee5": 2,
        "1e5.0": 3,
        "1e+-5": 3,
        "1 000": 2,
        "1_000": 1,
        "0x1": 1,
        "--1": 1,
        "1-": 1,
        "-a": 1,
        "1a": 1,
        "\uff11": 0,  # a full-width digit
        "\u0661": 0,  # an Arabic one
        "[1.,2]": 3,
        "[-]": 2,
    },
    "section 7: strings": {
        '"\\"\\\\\\/\\b\\f\\n\\r\\t"': COMPLETE,
        '"\\u00e9\\uD83D\\uDE00"': COMPLETE,
        '"\\ud83d"': COMPLETE,  # half a surrogate pair is allowed by the grammar
        '"é€😀\u2028\x7f"': COMPLETE,
        '"/"': COMPLETE,
        '"\'"': COMPLETE,
        '"\u0000"'.replace("\0", "\\u0000"): COMPLETE,
        '"': INCOMPLETE,
        '"a': INCOMPLETE,
        '"\\': INCOMPLETE,
        '"\\u': INCOMPLETE,
        '"\\u12': INCOMPLETE,
        '"\\"': INCOMPLETE,
        '"\n"': 1,
        '"a\tb"': 2,
        '"\x00"': 1,
        '"\x1f"': 1,
        '"\\a"': 2,
        '"\\x41"': 2,
        '"\\\'"': 2,
        '"\\U0041"': 2,
        '"\\u004g"': 6,
        '"\\u 041"': 3,
        '"\\0"': 2,
        '"\\é"': 2,
        '"a""b"': 3,
        '"a"b': 3,
    },
}  # fmt: skip
ROWS = [(text, expected) for rows in TABLE.values() for text, expected in rows.items()]


@pytest.mark.parametrize(("text", "expected"), ROWS, ids=[repr(text) for text, _ in ROWS])
def test_json_is_refused_at_the_first_wrong_byte(text, expected):
    assert verdict(text) == expected
    assert is_json(text) == (expected == COMPLETE)
    assert is_parsed(parser(), text) == (expected == COMPLETE)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'"\xc3\xa9"', COMPLETE),
        (b'"\xc3', INCOMPLETE),
        (b'"\xc3"', 2),  # half a character
        (b'"\xa9"', 1),  # the other half
        (b'"\xff"', 1),
        (b'"\xc0\x80"', 1),  # overlong
        (b'"\xe0\x9f\xbf"', 2),  # overlong
        (b'"\xed\xa0\x80"', 2),  # a surrogate
        (b'"\xf4\x8f\xbf\xbf"', COMPLETE),  # the last character
        (b'"\xf4\x90\x80\x80"', 2),  # one more
        (b'"\xf5\x80\x80\x80"', 1),
        (b"\xef\xbb\xbf1", 0),  # a byte order mark
        (b"\xff\xfe1\x00", 0),  # UTF-16
    ],
)
def test_json_is_well_formed_utf8(data, expected):
    assert verdict(data) == expected


ATOMS = st.sampled_from(
    [
        *'[]{}:,"0123456789.eE+-tfnu\\/ \n\taé\x00\x7f', '"a"', "true", "false", "null",
        "\\u00", "1.5",
    ]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(ATOMS, max_size=12).map("".join))
def test_texts_made_of_json_s_pieces_are_judged_as_by_json_loads(text):
    complete = verdict(text) == COMPLETE
    assert complete == is_json(text)
    assert complete == is_parsed(parser(), text)


def test_the_mask_at_the_start_is_exact():
    """By hand: whitespace, digits, minus, quote, brackets and the first letters of the words."""
    guide = cfgguide.Guide(index())
    assert bytes(guide.allowed_token_ids().tolist()) == bytes(sorted(b' \t\n\r0123456789-"[{tfn'))


def test_the_mask_in_a_string_is_exact():
    """Every byte but control characters and what never starts a character of UTF-8."""
    guide = cfgguide.Guide(index())
    guide.advance(ord('"'))
    leads = {*range(0xC2, 0xF5)}
    assert set(guide.allowed_token_ids().tolist()) == {*range(0x20, 0x80)} | leads
    guide.advance(ord("\\"))
    assert bytes(guide.allowed_token_ids().tolist()) == bytes(sorted(b'"\\/bfnrtu'))
    guide.advance(ord("u"))
    for _ in range(4):
        assert bytes(guide.allowed_token_ids().tolist()) == b"0123456789ABCDEFabcdef"
        guide.advance(ord("A"))
    assert set(guide.allowed_token_ids().tolist()) == {*range(0x20, 0x80)} | leads
