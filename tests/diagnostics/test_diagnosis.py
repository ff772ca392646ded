"""Where a text stops to be the start of a sentence, what was expected there, and its lexemes.

The oracle takes the definitions literally: Lark reads every short text over a small alphabet, and
what is asked is looked up among the sentences.
"""

from __future__ import annotations

import functools
import json

import lark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.refused_texts import (
    CASES,
    REFUSED_JSON,
    judge_of,
    lark_lexemes,
    recognizer_of,
    sentences_of,
    texts_of,
)

import cfgguide
from cfgguide.base.limits import Limits
from cfgguide.diagnostics.diagnosis import Diagnosis, check, diagnose, lexemes
from cfgguide.diagnostics.explanation import Lexeme
from cfgguide.diagnostics.trace import IGNORED
from cfgguide.engine.liveness.liveness import Liveness
from cfgguide.engine.machine.lr_machine import LrMachine
from cfgguide.engine.vocabulary.spelling import Spelling
from cfgguide.errors import CfgGuideError, GrammarError, LimitError, PatternError
from cfgguide.grammar.grammar import Grammar

JSON = Grammar.bundled("json")


@functools.cache
def liveness_of(grammar: Grammar) -> Liveness:
    return Liveness(recognizer_of(grammar), Spelling.of_all_bytes())


def diagnosis_of(grammar: Grammar, text: str | bytes) -> Diagnosis:
    data = text.encode() if isinstance(text, str) else text
    return diagnose(LrMachine.of(liveness_of(grammar)), data)


# --- The first byte that cannot be ---------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_offset_is_the_length_of_the_longest_start_of_a_sentence(name):
    starts = {text[:end] for text in sentences_of(name) for end in range(len(text) + 1)}
    for text in texts_of(name):
        found = diagnosis_of(CASES[name].grammar, text)
        assert found.is_sentence == (text in sentences_of(name)), text
        assert found.offset == max(n for n in range(len(text) + 1) if text[:n] in starts), text


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_expected_are_the_terminals_of_the_lexemes_that_can_stand_there(name):
    """That is, of the lexeme that the next byte is in, in some sentence that starts likewise.

    Where that can only be an ignored one, nothing is expected.
    """
    expected: dict[bytes, set[str]] = {}
    for sentence, tokens in sentences_of(name).items():
        expected.setdefault(sentence, set()).add("$END")
        for token in tokens:
            for place in range(token.start, token.end):
                expected.setdefault(sentence[:place], set()).add(token.terminal)
    for text in texts_of(name):
        found = diagnosis_of(CASES[name].grammar, text)
        if not found.is_sentence:
            at = text[: found.offset]
            assert found.expected == tuple(sorted(expected.get(at, ()))), text


@pytest.mark.parametrize(("text", "offset", "expected"), REFUSED_JSON)
def test_json_that_is_refused(text, offset, expected):
    found = diagnosis_of(JSON, text)
    assert (found.is_sentence, found.offset) == (False, offset)
    assert found.expected == tuple(expected.split())


def test_half_a_surrogate_pair_is_no_character():
    found = cfgguide.check(cfgguide.Grammar("start: /.+/"), "a\ud800b")
    assert (found.is_sentence, found.offset) == (False, 2)  # its first byte begins others, too
    str(found).encode()


def test_an_error_can_be_printed_whatever_the_text_was():
    with pytest.raises(CfgGuideError) as caught:
        cfgguide.Grammar.gbnf('root ::= "\ud800"')
    assert "U+D800" in str(caught.value)
    str(caught.value).encode()


@pytest.mark.parametrize("text", [b"1", b" [ ]\r\n", b'{"\\u00e9": [null, -0.0e-0]}', b'"\x7f"'])
def test_json_that_is_a_sentence(text):
    found = diagnosis_of(JSON, text)
    assert found.is_sentence
    assert (found.offset, found.expected, str(found)) == (len(text), (), "is a sentence")


# --- Lines, columns, excerpts --------------------------------------------------------------------

#: Everything but an exclamation mark, which so marks the place.
ANYTHING = Grammar("start: TEXT?\nTEXT: /[^!]+/")

#: A text, and the line, the column, the shown line and the number of spaces before the caret.
PLACES = {
    "the first character": ("!", 1, 1, "!", 0),
    "in a line": ("abc!def", 1, 4, "abc!def", 3),
    "the first character of a line": ("a\n!", 2, 1, "!", 0),
    "after empty lines": ("\n\n\n!\n", 4, 1, "!", 0),
    "at the end of a line": ("a\nbc!\nd", 2, 3, "bc!", 2),
    "characters of 2, 3 and 4 bytes": ("é日𝄞!", 1, 4, "é日𝄞!", 3),
    "a combining character counts": ("e\u0301!", 1, 3, "e\u0301!", 2),
    "CRLF ends one line": ("a\r\nb!\r\nc", 2, 2, "b!", 1),
    "a place before CRLF": ("a!\r\nb", 1, 2, "a!", 1),
    "CR alone ends none": ("a\rb!", 1, 4, "a b!", 3),
    "nor do other separators": ("a\x0bb\x0cc\x85d\u2028e!", 1, 10, "a b c d e!", 9),
    "a tab is shown as one space": ("\ta\t!", 1, 4, " a !", 3),
    "controls of a terminal are not sent to it": ("\x1b[31m!", 1, 6, " [31m!", 5),
    "a long line is cut before": ("x" * 100 + "!", 1, 101, "x" * 30 + "!", 30),
    "a long line is cut after": ("x!" + "y" * 100, 1, 2, "x!" + "y" * 58, 1),
    "a long line is cut on both sides": (
        "x" * 100 + "!" + "y" * 100,
        1,
        101,
        "x" * 30 + "!" + "y" * 29,
        30,
    ),
    "30 characters before are still shown": ("x" * 30 + "!", 1, 31, "x" * 30 + "!", 30),
    "31 are not": ("w" + "x" * 30 + "!", 1, 32, "x" * 30 + "!", 30),
}


@pytest.mark.parametrize("name", PLACES)
def test_a_place_is_a_line_and_a_column_in_characters_with_a_caret_below(name):
    text, line, column, shown, n_spaces = PLACES[name]
    found = diagnosis_of(ANYTHING, text)
    assert (found.line, found.column) == (line, column)
    assert found.excerpt == f"{shown}\n{' ' * n_spaces}^"


@pytest.mark.parametrize("name", PLACES)
def test_lines_and_columns_are_counted_as_lark_does(name):
    text = PLACES[name][0]
    with pytest.raises(lark.exceptions.UnexpectedCharacters) as refused:
        judge_of(ANYTHING).parse(text)
    found = diagnosis_of(ANYTHING, text)
    assert (found.line, found.column) == (refused.value.line, refused.value.column)


@pytest.mark.parametrize(
    ("text", "line", "column", "excerpt"),
    [
        ("", 1, 1, "\n^"),
        ("(", 1, 2, "(\n ^"),
        ("((\n", 2, 1, "\n^"),
        ("(é\n  日\r\n", 3, 1, "\n^"),
        ("(" + "é" * 99, 1, 101, "é" * 30 + "\n" + " " * 30 + "^"),
    ],
)
def test_where_more_is_needed_the_place_is_the_end(text, line, column, excerpt):
    grammar = Grammar('start: "(" TEXT? ")" | "(" start ")"\nTEXT: /[^()]+/')
    found = diagnosis_of(grammar, text)
    assert (found.is_sentence, found.offset) == (False, len(text.encode()))
    assert (found.line, found.column, found.excerpt) == (line, column, excerpt)


@pytest.mark.parametrize(
    ("text", "offset", "column", "excerpt"),
    [
        ("è", 1, 1, "è\n^"),  # C3 A8, and "é" is C3 A9
        ("éè", 3, 2, "éè\n ^"),
        ("é旧", 4, 2, "é旧\n ^"),  # E6 97 A7, and "日" is E6 97 A5
        ("日 é", 3, 2, "日 é\n ^"),
    ],
)
def test_a_place_inside_of_a_character_is_that_character(text, offset, column, excerpt):
    grammar = Grammar("start: TEXT\nTEXT: /[é日]+/")
    found = diagnosis_of(grammar, text)
    assert (found.offset, found.column, found.excerpt) == (offset, column, excerpt)


def test_a_diagnosis_reads_as_a_message():
    assert str(diagnosis_of(JSON, '{"a":\n [1 2]}')) == (
        "line 2, column 5: expected one of: COMMA, RSQB, WS\n [1 2]}\n    ^"
    )


def test_the_message_says_what_is_missing_inside_of_an_ignored_lexeme():
    grammar = Grammar('start: "a"\n%ignore /#[a-z]*;/')
    assert "expected one of: \n" not in str(diagnosis_of(grammar, "a#x"))


# --- The public function -------------------------------------------------------------------------

SUMS = Grammar('start: NUMBER ("+" NUMBER)*\nNUMBER: /[0-9]+/')


@pytest.mark.parametrize("text", ["1", "1+23", b"1+23"])
def test_check_accepts_a_sentence(text):
    found = check(SUMS, text)
    assert found.is_sentence
    assert (found.offset, found.expected, str(found)) == (len(text), (), "is a sentence")


@pytest.mark.parametrize(
    ("text", "offset", "line", "column", "expected"),
    [
        ("", 0, 1, 1, ("NUMBER",)),
        ("1+", 2, 1, 3, ("NUMBER",)),
        ("1+*", 2, 1, 3, ("NUMBER",)),
        ("1\n2", 1, 1, 2, ("$END", "NUMBER", "PLUS")),
        (b"1+\xff", 2, 1, 3, ("NUMBER",)),
    ],
)
def test_check_says_where_a_text_is_refused_and_what_was_expected(
    text, offset, line, column, expected
):
    found = check(SUMS, text)
    assert not found.is_sentence
    assert (found.offset, found.line, found.column) == (offset, line, column)
    assert found.expected == expected


@pytest.mark.parametrize(("text", "offset"), [("é", 2), (b"\xc3", 1), ("日", 0)])
def test_check_takes_a_str_as_its_utf_8(text, offset):
    found = cfgguide.check(cfgguide.Grammar('start: "é" "日"'), text)
    assert (found.is_sentence, found.offset) == (False, offset)


def test_check_counts_columns_in_characters_and_offsets_in_bytes():
    found = check(Grammar("start: /[é日]+/"), "é日!")
    assert (found.offset, found.column) == (5, 3)
    assert str(found) == "line 1, column 3: expected one of: $END, __ANON_0\né日!\n  ^"


def test_the_repr_of_a_diagnosis_is_one_line():
    assert repr(check(SUMS, "1+*")) == (
        "Diagnosis(is_sentence=False, offset=2, line=1, column=3, expected=('NUMBER',))"
    )


@pytest.mark.parametrize(
    ("grammar", "error"),
    [
        (Grammar("start: missing"), GrammarError),
        (Grammar("start: start"), GrammarError),
        (Grammar(r"start: /(a)\1/"), PatternError),
    ],
)
def test_check_refuses_a_broken_grammar(grammar, error):
    with pytest.raises(error):
        check(grammar, "a")


def test_check_keeps_to_limits():
    with pytest.raises(LimitError, match="max_scanner_states"):
        check(SUMS, "1", limits=Limits(max_scanner_states=2))


# --- Lexemes -------------------------------------------------------------------------------------

LEXED = {
    "json": (JSON, ['{"a": [1.5, true, null],\n "é\\"": "日本"}', " 1 ", "[[],{}]", '""', "-0e+1"]),
    "keywords and names": (
        Grammar('start: "async" "def" NAME+\nNAME: /[a-z]+/\n%ignore " "'),
        ["async deffoo", "async def foo bar", "asyncdefx", " async  def  async "],
    ),
    "fall-back": (
        Grammar('start: (DOT | ELLIPSIS | NAME)+\nDOT: "."\nELLIPSIS: "..."\nNAME: /[a-z]+/'),
        ["..x", "...", "....", ".....x..", "x.y...z"],
    ),
    "preference, not length": (Grammar('start: X B\nX: /a+/\nY: /ab/\nB: "b"'), ["ab", "aab"]),
    "comments are ignored": (
        Grammar(
            'start: ("/" | NAME)+\nNAME: /[a-zé]+/\n%ignore /\\/\\*.*?\\*\\//s\n%ignore /\\s+/'
        ),
        ["a / b", "a /* é * \n */ b", "a/**/b/*x*/", "/* */ a / /* */", "/a"],
    ),
    "the lexer depends on the parser": (
        Grammar('start: "a" WORD "b" NUMBER\nWORD: /[a-z0-9]{2}/\nNUMBER: /[0-9]+/'),
        ["a12b12", "aabb1", "abbb99"],
    ),
    "anonymous names": (Grammar('start: "日" "_1" "<=" "é"'), ["日_1<=é"]),
}


def places(found: list[Lexeme]) -> list[tuple[str, int, int]]:
    return [(lexeme.terminal, lexeme.start, lexeme.end) for lexeme in found]


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, (_, texts) in LEXED.items() for text in texts]
)
def test_lexemes_are_the_tokens_of_larks_lexer(name, text):
    grammar = LEXED[name][0]
    expected = lark_lexemes(grammar, text)
    found = lexemes(recognizer_of(grammar), text.encode())
    assert expected is not None, "the text of the table is no sentence"
    assert [place for place in places(found) if place[0] != IGNORED] == expected


def test_lexemes_cover_the_text_ignored_ones_included():
    grammar, texts = LEXED["comments are ignored"]
    for text in texts:
        found = lexemes(recognizer_of(grammar), text.encode())
        assert [lexeme.start for lexeme in found[1:]] == [lexeme.end for lexeme in found[:-1]]
        assert b"".join(lexeme.text for lexeme in found) == text.encode()
        assert (found[0].start, found[-1].end) == (0, len(text.encode()))


def test_lexemes_end_where_no_match_does():
    assert places(lexemes(recognizer_of(JSON), b'[1, "ab')) == [
        ("LSQB", 0, 1),
        ("NUMBER", 1, 2),
        ("COMMA", 2, 3),
        ("WS", 3, 4),
    ]
    assert lexemes(recognizer_of(JSON), b"") == []
    assert lexemes(recognizer_of(JSON), b"!") == []


# --- Laws ----------------------------------------------------------------------------------------

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOATS | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    indent = draw(st.none() | st.integers(0, 3))
    return json.dumps(draw(VALUES), indent=indent, ensure_ascii=draw(st.booleans()))


@settings(max_examples=60, deadline=None)
@given(documents())
def test_json_documents_are_sentences_and_lexed_as_lark_does(text):
    assert diagnosis_of(JSON, text).is_sentence
    assert places(lexemes(recognizer_of(JSON), text.encode())) == lark_lexemes(JSON, text)


@settings(max_examples=100, deadline=None)
@given(documents(), st.data())
def test_of_a_damaged_document_the_good_start_is_a_start_and_one_byte_more_is_not(text, data):
    place = data.draw(st.integers(0, len(text)))
    written = data.draw(st.sampled_from(["", *'{}[]:,"\\ 0.ex']))
    damaged = text[:place] + written + text[place + data.draw(st.integers(0, 2)) :]
    found = diagnosis_of(JSON, damaged)
    encoded = damaged.encode()
    assert found.is_sentence == (lark_lexemes(JSON, damaged) is not None)
    good = diagnosis_of(JSON, encoded[: found.offset])
    assert good.is_sentence or good.offset == found.offset
    if found.offset < len(encoded):
        bad = diagnosis_of(JSON, encoded[: found.offset + 1])
        assert (bad.is_sentence, bad.offset) == (False, found.offset)
