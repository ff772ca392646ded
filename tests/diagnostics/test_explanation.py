"""Why a token may come next, or why not.

The oracle is that of `diagnostics/test_diagnosis`: all short texts, and which of them Lark parses.
What is said in words is by hand."""

from __future__ import annotations

import functools
import gc
import itertools
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.refused_texts import CASES, REFUSED_JSON, recognizer_of, sentences_of, texts_of
from support.tiny_models import vocabulary_of

import cfgguide
from cfgguide.diagnostics.explanation import Expected, Explanation, OpenLexeme, shown
from cfgguide.diagnostics.trace import IGNORED, Lexing

EVERY_BYTE = vocabulary_of([])  # EOS is id 0, byte b is id 1 + b
JSON = cfgguide.Grammar.bundled("json")


@functools.cache
def index_of(grammar: cfgguide.Grammar) -> cfgguide.Index:
    return cfgguide.compile(grammar, EVERY_BYTE)


def guide_after(grammar: cfgguide.Grammar, text: bytes) -> cfgguide.Guide:
    guide = cfgguide.Guide(index_of(grammar))
    for byte in text:
        guide.advance(1 + byte)
    return guide


@functools.cache
def explained(grammar: cfgguide.Grammar, before: bytes, piece: bytes) -> Explanation:
    return guide_after(grammar, before).explain(piece)


@functools.cache
def starts_of(name: str) -> frozenset[bytes]:
    return frozenset(text[:n] for text in sentences_of(name) for n in range(len(text) + 1))


@functools.cache
def expected_of(name: str) -> dict[bytes, set[str]]:
    """The terminals of the lexemes that the next byte may be in, by what is before it."""
    expected: dict[bytes, set[str]] = {}
    for sentence, tokens in sentences_of(name).items():
        expected.setdefault(sentence, set()).add("$END")
        for token in tokens:
            for place in range(token.start, token.end):
                expected.setdefault(sentence[:place], set()).add(token.terminal)
    return expected


# --- The twin that remembers lexemes -------------------------------------------------------------


def is_read_alike(grammar: cfgguide.Grammar, text: bytes) -> bool:
    """Whether both come to the same, byte by byte, and stop at the same one."""
    recognizer = recognizer_of(grammar)
    configuration, lexing = recognizer.initial, Lexing.of(recognizer)
    for byte in text:
        configuration = recognizer.advance(configuration, bytes([byte]))
        lexing = lexing.after(recognizer, byte)
        if configuration is None or lexing is None:
            return configuration is None and lexing is None
        if lexing.configuration != configuration:
            return False
    return lexing.n_bytes == len(text)


@pytest.mark.parametrize("name", CASES)
def test_the_twin_comes_to_the_configurations_of_the_recogniser(name):
    for text in texts_of(name):
        assert is_read_alike(CASES[name].grammar, text), text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("python", b"def f(x):\n    if x:  # why\n        return f'{x!r}' 1\n    pass\n  y\n"),
        ("python", b"x = (1,\n  2)\nif x: y\nelse:\n\tz = '''a\n'''\n"),
        ("sql", b"SELECT a, 'b' FROM t WHERE x NOT IN (1, 2) -- c\n AND b IS NULL"),
    ],
)
def test_the_twin_follows_lines_and_look_around(name, text):
    assert is_read_alike(cfgguide.Grammar.bundled(name), text)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_some_way_has_the_lexemes_that_lark_reads(name):
    """Whatever the text goes on to be: that way cannot be ruled out before."""
    recognizer = recognizer_of(CASES[name].grammar)
    for sentence, tokens in sentences_of(name).items():
        lexing = Lexing.of(recognizer)
        for place, byte in enumerate(sentence, start=1):
            lexing = lexing.after(recognizer, byte)
            ended = [tuple(token) for token in tokens if token.end < place]
            last = [tuple(token) for token in tokens if token.end == place]
            found = [
                [
                    (each.terminal, each.start, each.end)
                    for each in way.lexemes(sentence)
                    if each.terminal != IGNORED
                ]
                for way in lexing.ways.values()
            ]
            assert ended in found or ended + last in found, (sentence, place)


# --- What is allowed, where it is refused, and what was expected ---------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_refused_byte_is_the_first_after_which_there_is_no_sentence(name):
    for text in texts_of(name):
        found = explained(CASES[name].grammar, b"", text)
        longest = max(n for n in range(len(text) + 1) if text[:n] in starts_of(name))
        assert found.is_allowed == (longest == len(text)), text
        assert found.offset == (None if found.is_allowed else longest), text
        assert bool(found.reason) != found.is_allowed


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_expected_are_the_terminals_that_some_sentence_has_there(name):
    for text in texts_of(name):
        found = explained(CASES[name].grammar, b"", text)
        place = text if found.offset is None else text[: found.offset]
        names = [each.terminal for each in found.expected]
        assert names == sorted(expected_of(name).get(place, ())), text


@pytest.mark.few(4)
@pytest.mark.parametrize("name", CASES)
def test_examples_end_a_lexeme_of_their_terminal_in_some_sentence(name):
    n_seen = 0
    for text in texts_of(name):
        found = explained(CASES[name].grammar, b"", text)
        place = text if found.offset is None else text[: found.offset]
        for terminal, example in found.expected:
            if terminal == "$END":
                assert example is None
                continue
            assert example  # these grammars are small enough for all
            end = len(place) + len(example)
            ends = {
                token.terminal
                for sentence, tokens in sentences_of(name).items()
                if sentence.startswith(place + example)
                for token in tokens
                if token.end == end
            }
            # Where the oracle's sentences are too short for the example, it says nothing.
            is_known = place + example in starts_of(name)
            assert terminal in ends or not is_known, (text, terminal, example)
            n_seen += is_known
    assert n_seen


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_an_explanation_does_not_depend_on_where_the_piece_begins(name):
    for text in texts_of(name):
        whole = explained(CASES[name].grammar, b"", text)
        for cut in range(len(text) if whole.offset is None else whole.offset + 1):
            part = explained(CASES[name].grammar, text[:cut], text[cut:])
            assert part.is_allowed == whole.is_allowed
            assert part.expected == whole.expected
            assert part.reason == whole.reason
            if whole.offset is not None:
                assert part.offset == whole.offset - cut


@pytest.mark.parametrize(("text", "offset", "expected"), REFUSED_JSON)
def test_json_is_refused_where_it_is_and_for_what_it_lacks(text, offset, expected):
    found = explained(JSON, b"", text + b"!")  # so that the start of a text is refused, too
    assert (found.is_allowed, found.offset) == (False, offset)
    assert " ".join(each.terminal for each in found.expected) == expected


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet='{}[]",:1.e-+ tru\n\\é', max_size=12), st.integers(0, 12))
def test_masks_and_explanations_agree(text, cut):
    data = text.encode()
    guide = cfgguide.Guide(index_of(JSON))
    for byte in data[:cut]:
        if not guide.accepts(1 + byte):
            break
        guide.advance(1 + byte)
    for byte in b'{}[]",:1.e- t\xc3\x00':
        found = guide.explain(1 + byte)
        assert found.is_allowed == guide.accepts(1 + byte)
        assert found.offset == (None if found.is_allowed else 0)
    assert guide.explain(0).is_allowed == guide.is_accepting
    expected = tuple(each.terminal for each in guide.explain(b"").expected)
    assert expected == guide.expected()


# --- What is said --------------------------------------------------------------------------------

NESTED = cfgguide.Grammar('start: "(" x ")" | "[" x "]"\nx: NAME\nNAME: /[a-z]+/')
DOTS = cfgguide.Grammar('start: "." "." NAME | "..." NAME\nNAME: /[a-z]+/')
KEYWORDS = cfgguide.Grammar('start: "if" NAME\nNAME: /[a-z]+/\n%ignore " "')

#: A grammar, the text so far, a piece, and what is said of it.
SAID = {
    "the table offers what the stack does not allow": (
        NESTED,
        b"(n",
        b"]",
        "']' is refused at byte 0, ']': ']' would be read as RSQB, which may not stand there\n"
        "  expected there: NAME 'a', RPAR ')'",
    ),
    "nothing begins so": (
        NESTED,
        b"(",
        b"n9",
        "'n9' is refused at byte 1, '9': no terminal that may follow NAME 'n' begins with it\n"
        "  'n' leaves open NAME 'n', which may end as NAME\n"
        "  expected there: NAME 'a', RPAR ')'",
    ),
    "at the very beginning": (
        NESTED,
        b"",
        b"x",
        "'x' is refused at byte 0, 'x': no terminal that may stand there begins with it\n"
        "  expected there: LPAR '(', LSQB '['",
    ),
    "a lexeme does not go on": (
        JSON,
        b'{"a": nu',
        b"x",
        "'x' is refused at byte 0, 'x': 'nu' does not go on with it to NULL\n"
        "  expected there: NULL 'll'",
    ),
    "lexemes that were open end because of the token": (
        JSON,
        b'{"a": 1',
        b", ",
        "', ' is allowed\n"
        "  it completes NUMBER '1', COMMA ',' and leaves open WS ' ', which may end as WS\n"
        "  then may follow: STRING '\"\"', WS ' '",
    ),
    "the end": (
        NESTED,
        b"(n",
        b")",
        "')' is allowed\n  it completes NAME 'n', RPAR ')'\n  then may follow: $END",
    ),
    "two readings": (
        DOTS,
        b".",
        b".",
        "'.' is allowed\n"
        "  it leaves open __ANON_0 '..'\n"
        "  or it completes DOT '.', DOT '.'\n"
        "  then may follow: NAME 'a', __ANON_0 '.'",
    ),
    "a keyword glued to a name": (
        KEYWORDS,
        b"if",
        b"x",
        "'x' is allowed\n"
        "  it leaves open NAME 'x', which may end as NAME\n"
        "  then may follow: $END, NAME 'a'",
    ),
    "inside of a character": (
        JSON,
        b'"',
        b"\xc3",
        "'\\xc3' is allowed\n"
        "  it leaves open STRING '\"\\xc3'\n"
        "  then may follow: STRING '\\x80\"'",
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_what_is_said(name):
    grammar, before, piece, said = SAID[name]
    assert str(explained(grammar, before, piece)) == said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "piece", "offset", "reason"),
    [
        (
            b"def f(x):\n    if x:\n        x", b"\n      y", 7,
            "no line may begin in that column there",
        ),
        (
            b"def f(x):\n    ", b"return = 1", 7,
            "no terminal that may follow _BLANK ' ' begins with it",
        ),
        (
            b'def f(x):\n    "abc', b"\n", 0,
            "'\\n' would be read as _NEWLINE, which may not stand there",
        ),
    ],
)  # fmt: skip
def test_what_is_said_of_python(before, piece, offset, reason):
    found = explained(cfgguide.Grammar.bundled("python"), before, piece)
    assert (found.offset, found.reason) == (offset, reason)


def test_tokens_without_text():
    vocabulary = cfgguide.Vocabulary([b"a", b"b", None, None], eos_token_ids=3)
    guide = cfgguide.Guide(cfgguide.compile(cfgguide.Grammar('start: "a" "b"?'), vocabulary))
    special = "it spells no text: it is special, or no token has this id"
    assert (guide.explain(2).is_allowed, guide.explain(2).reason) == (False, special)
    assert guide.explain(9).reason == "it is not in the vocabulary of 4 ids"
    assert guide.explain(-1).reason == "it is not in the vocabulary of 4 ids"
    assert str(guide.explain(3)) == (
        "token 3 (EOS) is refused: the text so far is not a sentence\n  expected there: A 'a'"
    )
    guide.advance(0)
    assert str(guide.explain(3)) == "token 3 (EOS) is allowed"
    guide.advance(3)
    for asked in (0, 2, 3, 9, b"a", b""):
        assert guide.explain(asked).reason == "the text has ended with EOS"
        assert guide.explain(asked).expected == ()


def test_numbers_of_numpy_are_token_ids():
    guide = guide_after(NESTED, b"(")
    for token_id in guide.allowed_token_ids():
        assert guide.explain(token_id).is_allowed


def test_a_vocabulary_that_cannot_go_on_is_blamed_and_no_byte():
    """After `ax` the grammar wants a y, which no token has; after `ab` it does not."""
    vocabulary = cfgguide.Vocabulary([b"a", b"ab", b"x", None], eos_token_ids=3)
    grammar = cfgguide.Grammar('start: "ab" | "axy"')
    with pytest.warns(UserWarning, match="no tokens for the terminals"):
        guide = cfgguide.Guide(cfgguide.compile(grammar, vocabulary))
    assert guide.explain(1).is_allowed
    found = guide.explain(b"ax")
    assert (found.is_allowed, found.offset) == (False, None)
    assert found.reason == "the grammar allows it, but the vocabulary cannot spell what must follow"
    assert found.expected == (Expected("AXY", b"y"),)
    # The first byte of "ab!" cannot be spelled by itself, and yet it is not to blame.
    assert guide.explain(b"ab!").offset == 2


@pytest.mark.usefixtures("only_what_is_new_is_collected")
def test_an_index_is_free_when_it_was_explained_and_is_gone():
    """What is kept for explanations must not keep the grammar's tables for ever."""
    vocabulary = cfgguide.Vocabulary([b"a", b"ab", None], eos_token_ids=2)
    guide = cfgguide.Guide(cfgguide.compile(cfgguide.Grammar('start: "ab" | "aab"'), vocabulary))
    assert not guide.explain(b"x").is_allowed
    index, recognizer = weakref.ref(guide.index), weakref.ref(guide.index.machine.recognizer)
    del guide
    gc.collect()
    assert index() is None
    assert recognizer() is None


def test_an_open_lexeme_tells_what_it_may_become():
    found = explained(KEYWORDS, b"", b"i")
    (reading,) = found.interpretations
    assert reading.lexemes == ()
    assert reading.open == OpenLexeme(b"i", None, ("IF",))
    (first, second) = explained(DOTS, b"", b"..").interpretations
    assert first.open == OpenLexeme(b"..", None, ("__ANON_0",))
    assert [tuple(each) for each in second.lexemes] == [("DOT", 0, b"."), ("DOT", 1, b".")]


def test_long_lexemes_are_cut_where_they_are_shown():
    assert shown(b"x" * 100) == "'…" + "x" * 39 + "'"
    text = b'"' + b"x" * 100
    (reading,) = explained(JSON, b"", text).interpretations
    assert reading.open is not None
    assert reading.open.text == text


@pytest.mark.parametrize("before", list(itertools.product(b"([", b"n")))
def test_asking_changes_nothing(before):
    guide = guide_after(NESTED, bytes(before))
    state = (guide.text, guide.token_ids, guide.configuration)
    guide.explain(b"!")
    guide.explain(1 + ord(")"))
    assert (guide.text, guide.token_ids, guide.configuration) == state


def test_a_piece_with_too_many_readings_is_explained_without_lexemes():
    """Each letter may be in any of three repetitions, so six more come to over 256 readings."""
    grammar = cfgguide.Grammar.gbnf(
        'root ::= a | root "-" root\n'
        "a ::= c{2,5} b{2,20} b* | c* b b{0,3}\n"
        'b ::= [a-z] | "="? b{1,20} . c\n'
        "c ::= [ -~]\n"
    )
    guide = guide_after(grammar, b"abcd")
    assert guide.explain(b"efghij").is_allowed
    found = guide.explain(b"efghij\xff")
    assert (found.is_allowed, found.offset, found.interpretations) == (False, 6, ())
