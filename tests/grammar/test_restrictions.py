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
from support.judges import is_sentence

import cfgguide
from cfgguide import Grammar, Vocabulary
from cfgguide.automata.determinize import fsm_of_pattern
from cfgguide.compiler import compile_recognizer
from cfgguide.errors import GrammarError, PatternError
from cfgguide.grammar.restrictions import keyword_of

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
    return is_sentence(recognizer_of(grammar), text)


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
    ("pattern", "upper", "lower"),
    [
        ("(?i:select)", "SELECT", "select"),
        ("(?ai:select)(?![a-z])", "SELECT", "select"),
        (r"\b(?i:select)\b", "SELECT", "select"),
        (r"(?<!\w)(?i:select)(?!\w)", "SELECT", "select"),
        ("(?i:select|SELECT)", "SELECT", "select"),
        ("select|SELECT", "SELECT", "select"),
        ("[sS][eE]l|SEL|seL|SeL", "SEL", "sel"),
        ("(?i:select|selects)", "SELECT", "select"),  # `re` never takes the longer one
        ("(?i:kiss_1)", "KISS_1", "kiss_1"),
        ("(?i:für)", "FÜR", "für"),
        ("(?i:group[ ]by)", "GROUP BY", "group by"),
        (r"(?i:is\s+not\s+null)", "IS NOT  NULL", "is not\tnull"),
        ("(?i:end-if)", "END-IF", "end-if"),
        ("(?i:e)", "E", "e"),
    ],
)
def test_a_keyword_is_one_word_in_any_case(pattern, upper, lower):
    cases = keyword_of(fsm_of_pattern(pattern, name="A"))
    assert cases is not None
    for case, own, other in (("upper", upper, lower), ("lower", lower, upper)):
        assert re.fullmatch(pattern, own)
        assert re.fullmatch(cases[case], own)
        assert not re.fullmatch(cases[case], other)
        assert not re.fullmatch(cases[case], own[0] + other[1:]) or len(own) == 1


@pytest.mark.parametrize(
    "pattern",
    [
        *("select", "SELECT", "(?i:selec)t", "(?i:select|from)", "(?i:selects|select)"),
        *("[A-Za-z]+", "[A-Z]+|[a-z]+", "[a-f]", "[aA][aAb]", "(?i:ab)+", "(?i:ab)?x"),
        *(r"\+", "_", "(?i:0x)", "(?ai:für)", ".", r"\s+", r"\w", r"(?i:group\s*by)"),
        r"(?i:not\s+)?(?i:in)",
    ],
)
def test_what_matches_other_words_or_one_case_only_is_no_keyword(pattern):
    assert keyword_of(fsm_of_pattern(pattern, name="A")) is None


#: How a grammar may come by a keyword that a neighbouring file calls SELECT.
WAYS = {
    "imported": "%import .words.SELECT\nstart: SELECT",
    "renamed": "%import .words.SELECT -> CHOOSE\nstart: CHOOSE",
    "with its rule": "%import .words.query\nstart: query",  # Lark calls it words__SELECT
    "its own name": 'start: KW_SELECT\nKW_SELECT: "select"i',
    "no name": 'start: "select"i',
    "a part": "%import .words.SELECT\nstart: KW\nKW: SELECT",
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("lexer", ["contextual", "basic"])
def test_a_keyword_has_any_name(tmp_path, way, lexer):
    words = 'query: SELECT\nSELECT: "select"i\n'
    (tmp_path / "words.lark").write_text(words, encoding="utf-8")
    path = tmp_path / "main.lark"
    path.write_text(WAYS[way], encoding="utf-8")
    whole = Grammar.open(path, lexer=lexer)
    texts = ("SELECT", "select", "SELEcT", "ſELECT")  # the last has a long s
    parser = lark.Lark(whole.text, **whole.lark_options)
    assert all(parser.parse(text) for text in texts)
    for case, expected in (("upper", "SELECT"), ("lower", "select")):
        grammar = replace(whole, keywords=case)
        assert [text for text in texts if is_in(grammar, text)] == [expected]


def test_a_keyword_has_its_case_where_flags_are_for_all():
    grammar = Grammar("start: A\nA: /end/", regex_flags=re.IGNORECASE, keywords="upper")
    assert [is_in(grammar, text) for text in ("END", "end", "End")] == [True, False, False]


@pytest.mark.parametrize("pattern", [r"(?!zz)(?:a?|b?){40}(?=x)x+", "(?:a?|b?){40}_a"])
def test_whether_a_terminal_is_a_keyword_takes_no_backtracking(pattern):
    grammar = Grammar(f'start: A W\nA: /{pattern}/\nW: "w"i', keywords="upper")
    assert not is_in(grammar, "xw")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "start", "text", "is_in_it"),
    [
        ("sql", "statement", "SELECT a FROM b;", True),
        ("sql", "statement", "select a FROM b", False),
        ("sql", "statement", "SELECT  a FROM b", False),
        ("sql", "statement", "SELECT a FROM b -- all", False),
        ("sql", "statement", "SELECT abort, 'select  a' FROM b", True),
        ("sql", "statement", f'SELECT "{"ä" * 64}" FROM [b c]', True),
        ("sql", "statement", "SELECT a FROM `b\nc`", False),
        ("sql", "statement", "SELECT a FROM [b\tc]", False),
        ("sql_select", "start", "SELECT a FROM b;", True),
        ("sql_select", "start", "SELEcT a FROM b", False),
        ("sql_select", "start", "SELECT a from b", False),
        ("sql_select", "start", 'SELECT "a b"', True),
        ("sql_select", "start", 'SELECT "a\nb"', False),
        ("postgresql", "statement", 'SELECT "a b"', True),
        ("postgresql", "statement", 'SELECT "a\nb"', False),
        ("postgresql", "statement", "SELECT a\nFROM b", True),
        ("postgresql", "statement", "SELECT a From b", False),
        ("python", "start", "def f(a, b):\n    return a + b\n", True),
        ("python", "start", "def f(a,  b):\n    return a + b\n", False),
        ("python", "start", "x = 1  # one\n", False),
        ("python", "start", "x =\t1\n", False),
        ("python", "start", "x = 1\n\n\ny = '  # no comment'\n", True),
        ("python", "start", "x = 1\n\n\n\ny = 2\n", False),
        ("python", "start", "x = [1,\n        2]\n", True),
        ("pascal", "start", "program p; procedure f; cdecl; begin end; begin end.", True),
        ("pascal", "start", "program p; procedure f; CDecl; begin end; begin end.", False),
        ("lua", "start", "return 1", True),
        ("lua", "start", "#!/bin/lua\nreturn 1", False),
        ("javascript", "start", "a\nb", True),
        ("javascript", "start", "a /* 1\n2 */ b", False),
        ("rust2021", "start", "pub(self) fn f() {}", True),
        ("rust2021", "start", "pub(self ) fn f() {}", True),
        ("rust2021", "start", "pub\n(self) fn f() {}", False),
        ("java", "start", "@interface A {}", True),
        ("java", "start", "@\n\ninterface A {}", False),
        ("verilog", "start", "`ifdef A\n`endif", True),
        ("verilog", "start", "`ifdef  A\n`endif", False),
        ("sql", "statement", "SELECT \u2003", False),
        ("json", "start", '{"a": [1, 2]}', True),
        ("json", "start", '{"a":  [1, 2]}', False),
    ],
)
def test_tidy_leaves_out_what_few_would_wish_for(name, start, text, is_in_it):
    assert is_in(Grammar.bundled(name, start=start, tidy=True), text) == is_in_it
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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sql", "json"])
def test_a_bound_of_ones_own_goes_with_tidy(name):
    grammar = Grammar.bundled(name, tidy=True, max_ignored=3)
    text = {"sql": "SELECT{}a", "json": "[{}1]"}[name]
    assert [is_in(grammar, text.format(" " * n)) for n in (1, 3, 4)] == [True, True, False]
