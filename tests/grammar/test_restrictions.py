"""`max_ignored`, `keywords` and `restrict`: what Lark takes, if its lexemes are allowed.

The judge is Lark without these options, with a look at each of its tokens, the ignored ones too.
"""

from __future__ import annotations

import functools
import random
import re
import warnings
from dataclasses import replace
from typing import Any

import lark
import pytest

import cfgguide
from cfgguide import Grammar, Vocabulary
from cfgguide.errors import GrammarError, PatternError
from cfgguide.grammar.restrictions import is_keyword
from cfgguide.index.compiler import compile_recognizer

BLANKS = " \t\n\r\f\v"

LIST = 'start: "[" (W ("," W)*)? "]"\nW: /[a-c]+/\n%ignore " "\n%ignore /\\n+/'
COMMENTS = 'start: (W ";")+\nW: /[a-c]+/\n%ignore /\\s+/\n%ignore /#[^\\n]*/\n%ignore /é+/'
NEAR = "start: (W | N)+\nW: /[a-c]+ ?/\nN: /1+/\n%ignore /[ \\n]+/"
SQL = 'start: SELECT W (FROM W)? ";"\nSELECT: "select"i\nFROM: "from"i\nW: /[a-z]+/i\n%ignore " "'
AHEAD = 'start: (IF | W)+\nIF.2: /if(?![a-z])/i\nW: /[a-z]+/i\n%ignore /(?<!;) +/\n%ignore ";"'
#: The grammar without options, the options, and what texts are made of.
CASES: dict[str, tuple[Grammar, dict[str, Any], list[str]]] = {
    "one character": (Grammar(LIST), {"max_ignored": 1}, ["[", "]", ",", "a", "bc", " ", "\n"]),
    "two": (Grammar(LIST), {"max_ignored": 2}, ["[", "]", ",", "a", " ", "\n", "\n\n", "  "]),
    "none": (Grammar(LIST), {"max_ignored": 0}, ["[", "]", ",", "a", " ", "\n"]),
    "comments": (
        Grammar(COMMENTS),
        {"max_ignored": 3},
        ["a", ";", " ", "\n", "#", "#a", "é", "éé", "a;", ";\n"],
    ),
    "white space of a lexeme counts": (
        Grammar(NEAR),
        {"max_ignored": 2},
        ["a", "a ", "1", " ", "\n", "  ", "b"],
    ),
    "keywords": (
        Grammar(SQL),
        {"keywords": "upper", "max_ignored": 1},
        ["SELECT", "select", "Select", " ", "from", "FROM", "a", "FROMa", ";", "SELECT a"],
    ),
    "the basic lexer": (
        Grammar(SQL, lexer="basic"),
        {"keywords": "lower"},
        ["SELECT", "select", " ", "from", "FROM", "a", ";", "select a"],
    ),
    "look-around": (
        Grammar(AHEAD),
        {"keywords": "upper", "max_ignored": 2},
        ["if", "IF", "If", "ifa", " ", ";", "; ", "a", "  "],
    ),
    "a pattern": (
        Grammar(COMMENTS),
        {"restrict": {"W": "ab|[bc]+|a"}, "max_ignored": 4},
        ["a", "b", "abc", "ab", "cc", ";", " ", "#b", "\n"],
    ),
    "no lexeme": (Grammar(NEAR), {"restrict": {"N": None}}, ["a", "1", " ", "b "]),
}


recognizer_of = functools.cache(compile_recognizer)


def is_in(grammar: Grammar, text: str) -> bool:
    recognizer = recognizer_of(grammar)
    after = recognizer.advance(recognizer.initial, text.encode())
    return after is not None and recognizer.is_sentence(after)


@functools.cache
def reader_of(grammar: Grammar) -> tuple[lark.Lark, list[lark.Token]]:
    """Return Lark's parser, and the list to which it adds the ignored tokens."""
    tokens: list[lark.Token] = []

    def seen(token: lark.Token) -> lark.Token:
        tokens.append(token)
        return token

    ignored = lark.Lark(grammar.text, **grammar.lark_options).ignore_tokens
    settings = grammar.lark_options | {"lexer_callbacks": dict.fromkeys(ignored, seen)}
    return lark.Lark(grammar.text, **settings), tokens


def is_taken(grammar: Grammar, options: dict[str, Any], text: str) -> bool:
    """Lark takes a text, and no token is one that the options forbid."""
    parser, ignored = reader_of(grammar)
    ignored.clear()
    try:
        reading = parser.parse_interactive(text)
        fed = reading.exhaust_lexer()
        reading.feed_eof()
    except lark.exceptions.LarkError:
        return False
    return all(is_allowed(each, text, options, is_ignored=False) for each in fed) and all(
        is_allowed(each, text, options, is_ignored=True) for each in ignored
    )


def is_allowed(token: lark.Token, text: str, options: dict[str, Any], *, is_ignored: bool) -> bool:
    start = token.start_pos or 0
    before = text[:start]
    n_before = len(before) - len(before.rstrip(BLANKS))
    if is_ignored and n_before + len(token) > options.get("max_ignored", 10**9):
        return False
    case = options.get("keywords")
    is_keyword = token.type in ("SELECT", "FROM", "IF")
    if is_keyword and case and token != (token.upper() if case == "upper" else token.lower()):
        return False
    pattern = options.get("restrict", {}).get(token.type, "(?s:.*)")
    return pattern is not None and re.fullmatch(pattern, token) is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_text_is_a_sentence_if_lark_takes_it_and_its_lexemes_are_allowed(name):
    grammar, options, pieces = CASES[name]
    restricted = replace(grammar, **options)
    rng, n_taken, n_forbidden = random.Random(5), 0, 0
    for _ in range(20_000):
        text = "".join(rng.choices(pieces, k=rng.randrange(1, 9)))
        expected = is_taken(grammar, options, text)
        assert is_in(restricted, text) == expected, text
        n_taken += expected
        n_forbidden += not expected and is_taken(grammar, {}, text)
        if n_taken > 20 and n_forbidden > 20:
            break
    assert n_taken > 5
    assert n_forbidden > 5


@pytest.mark.parametrize("name", CASES)
def test_masks_lead_to_all_sentences_and_to_no_dead_end(name):
    grammar, options, pieces = CASES[name]
    vocabulary = Vocabulary(
        [*(piece.encode() for piece in pieces), None], eos_token_ids=len(pieces)
    )
    with warnings.catch_warnings(action="ignore"):
        index = cfgguide.compile(replace(grammar, **options), vocabulary)
    rng, n_finished = random.Random(6), 0
    for _ in range(20):
        guide = cfgguide.Guide(index)
        while not guide.is_finished and len(guide.token_ids) < 25:
            ids = guide.allowed_token_ids().tolist()
            assert ids, guide.text
            for token_id in set(range(len(pieces))) - set(ids):
                longer = guide.text + vocabulary.tokens[token_id]
                assert not is_taken(grammar, options, longer.decode())
            guide.advance(rng.choice(ids))
        if guide.is_finished:
            n_finished += 1
            assert is_taken(grammar, options, guide.text.decode())
    assert n_finished > 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_ignored": -1}, "max_ignored is a number from 0 to 1000, not -1"),
        ({"max_ignored": True}, "max_ignored is a number from 0 to 1000, not True"),
        ({"max_ignored": 1.5}, "max_ignored is a number from 0 to 1000, not 1.5"),
        ({"keywords": "Upper"}, "keywords is 'upper' or 'lower', not 'Upper'"),
        ({"restrict": "W"}, "restrict maps names of terminals to patterns, or to None, not 'W'"),
        ({"restrict": {"W": 1}}, "restrict maps names of terminals to patterns, or to None, not"),
    ],
)
def test_wrong_options_are_errors(options, message):
    with pytest.raises(GrammarError) as error:
        Grammar(LIST, **options)
    assert str(error.value).startswith(f"[grammar] {message}")


def test_a_terminal_that_is_not_there_is_an_error_that_names_those_that_are():
    with pytest.raises(GrammarError) as error:
        cfgguide.check(Grammar(LIST, restrict={"X": "a"}), "")
    assert "restrict names the terminal 'X', which the grammar does not use; there are" in str(
        error.value
    )


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("a(?=b)", "the restriction of W looks around"),
        ("a|ab", "the restriction of W tries shorter matches first"),
        ("a+?", "the restriction of W tries shorter matches first"),
        ("(", "the restriction of W"),
    ],
)
def test_patterns_that_are_no_sets_of_texts_are_errors(pattern, message):
    with pytest.raises(PatternError) as error:
        cfgguide.check(Grammar(LIST, restrict={"W": pattern}), "")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("name", "pattern", "expected"),
    [
        ("SELECT", "(?i:select)", True),
        ("SELECT", "(?ai:select)(?![a-z])", True),
        ("SELECT", "select", False),
        ("NAME", "[A-Za-z]+", False),
        ("NAME", "[A-Z]+|[a-z]+", False),
        ("PLUS", r"\+", False),
        ("_END", "(?i:end)", True),
    ],
)
def test_a_keyword_matches_its_own_name_in_any_case_and_no_other(name, pattern, expected):
    assert is_keyword(name, pattern) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "start", "text", "is_sentence"),
    [
        ("sql", "statement", "SELECT a FROM b;", True),
        ("sql", "statement", "select a FROM b", False),
        ("sql", "statement", "SELECT  a FROM b", False),
        ("sql", "statement", "SELECT a FROM b -- all", False),
        ("sql", "statement", "SELECT abort, 'select  a' FROM b", True),
        ("sql", "statement", f'SELECT "{"ä" * 64}" FROM [b c]', True),
        ("sql", "statement", "SELECT a FROM `b\nc`", False),
        ("sql", "statement", "SELECT a FROM [b\tc]", False),
        ("sql_select", "start", 'SELECT "a b"', True),
        ("sql_select", "start", 'SELECT "a\nb"', False),
        ("postgresql", "statement", 'SELECT "a b"', True),
        ("postgresql", "statement", 'SELECT "a\nb"', False),
        ("postgresql", "statement", "SELECT a\nFROM b", True),
        ("postgresql", "statement", "SELECT a From b", False),
        ("python", "start", "def f(a, b):\n    return a + b\n", True),
        ("python", "start", "def f(a,  b):\n    return a + b\n", False),
        ("python", "start", "x = 1  # one\n", False),
        ("python", "start", "x = 1\n\n\ny = '  # no comment'\n", True),
        ("python", "start", "x = 1\n\n\n\ny = 2\n", False),
        ("python", "start", "x = [1,\n        2]\n", True),
        ("json", "start", '{"a": [1, 2]}', True),
        ("json", "start", '{"a":  [1, 2]}', False),
    ],
)
def test_tidy_leaves_out_what_few_would_wish_for(name, start, text, is_sentence):
    assert is_in(Grammar.bundled(name, start=start, tidy=True), text) == is_sentence
    assert is_in(Grammar.bundled(name, start=start), text)


@pytest.mark.slow
@pytest.mark.parametrize("start", ["start", "statement", "select", "expression"])
def test_tidy_sql_may_know_a_schema(start):
    grammar = Grammar.bundled("sql", start=start, tidy=True)
    narrowed = cfgguide.sql.with_schema(grammar, {"t": ["a", "order"]})
    before = "" if start == "expression" else "SELECT "
    texts = ("a", '"order"', '"or der"', "a  + a")
    expected = [True, True, False, False]
    assert [is_in(narrowed, before + text) for text in texts] == expected


@pytest.mark.parametrize("name", ["sql", "json"])
def test_a_bound_of_ones_own_goes_with_tidy(name):
    grammar = Grammar.bundled(name, tidy=True, max_ignored=3)
    text = {"sql": "SELECT{}a", "json": "[{}1]"}[name]
    assert [is_in(grammar, text.format(" " * n)) for n in (1, 3, 4)] == [True, True, False]
