"""Grammars in GBNF and W3C's EBNF that were written from other notations, and from Lark's.

Judges are Lark's Earley parser with what is written, read again, and the recogniser of
support/spans.py with the rules of the text that was given; neither knows the printers.
"""

from __future__ import annotations

import itertools
from random import Random

import lark
import pytest
from support.judges import is_parsed
from support.spans import Recogniser, lark_parser

import cfgguide
from cfgguide import Grammar, notations
from cfgguide.errors import GrammarError, LimitError
from cfgguide.grammar.notations.gbnf_reader import read_gbnf
from cfgguide.grammar.notations.w3c_reader import read_w3c
from cfgguide.grammar.rules.source import Source

READ = {"gbnf": (notations.gbnf, read_gbnf), "w3c": (notations.w3c, read_w3c)}
PARTS = ['"a"', '"b"', "[ab]", "[^a]", '""', "x", "y-1", '"ab"', '"\\n"', "[\\]a]"]
COUNTS = ["*", "+", "?", "{2}", "{1,2}", "{0,3}", "{2,}"]


def in_gbnf(random: Random, depth: int) -> str:
    """Return a random expression."""
    kind = random.random()
    if depth == 0 or kind < 0.3:
        return random.choice(PARTS)
    parts = [in_gbnf(random, depth - 1) for _ in range(2)]
    if kind < 0.55:
        return " ".join(parts)
    return f"({' | '.join(parts)})" if kind < 0.8 else f"({parts[0]}){random.choice(COUNTS)}"


def in_w3c(random: Random, depth: int) -> str:
    """Return a random expression, with regular differences."""
    kind = random.random()
    if depth == 0 or kind < 0.3:
        return random.choice(["'a'", "'b'", "[ab]", "[^a]", "x", "y", "#xA", "'a\"'"])
    if kind < 0.45:
        return f"([ab]{random.choice('*+')} - ({random.choice(['b', 'a+', 'ab'])!r}))"
    parts = [in_w3c(random, depth - 1) for _ in range(2)]
    if kind < 0.7:
        return " ".join(parts)
    return f"({' | '.join(parts)})" if kind < 0.85 else f"({parts[0]}){random.choice('*+?')}"


def words(letters: str, length: int) -> list[str]:
    """Return all texts up to a length."""
    return [
        "".join(word) for n in range(length + 1) for word in itertools.product(letters, repeat=n)
    ]


def check_alike(notation: str, text: str, target: str) -> None:
    """Check all short texts, if the grammar has any at all."""
    convert, read = READ[notation]
    try:
        convert(text)
    except GrammarError:
        return
    written = notations.translate(text, notation, target)
    rules = read(Source(text, "the grammar"))
    judge = Recogniser(rules, "root" if notation == "gbnf" else next(iter(rules)))
    again = lark_parser(READ[target][0](written))
    for word in words("ab\n", 3):
        assert is_parsed(again, word) == judge.accepts(word), (word, written)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["gbnf", "w3c"])
@pytest.mark.parametrize("seed", range(60))
def test_random_grammars_mean_the_same_in_the_other_notation(seed, target):
    random = Random(seed)
    bodies = [in_gbnf(random, 3) for _ in range(3)]
    check_alike("gbnf", "root ::= {}\nx ::= {}\ny-1 ::= {}".format(*bodies), target)
    bodies = [in_w3c(random, 3) for _ in range(3)]
    check_alike("w3c", "top ::= {}\nx ::= {}\ny ::= {}".format(*bodies), target)


WRITTEN = [
    ("gbnf", r'root ::= "\"\\\x01é" [^\x00-\x1f\]^-]', "gbnf",
     r'root ::= "\"\\\x01é" [^\x00-\x1F\-\]^]'),
    ("gbnf", "root ::= [^a] | [a^] | .", "w3c",
     "root ::= [^a] | [#x5E#x61] | [#x0-#xD7FF#xE000-#x10FFFF]"),
    ("gbnf", """root ::= "a'b" "c\\"d'e\\n" """, "w3c", """root ::= "a'b" "c" '"d' "'e" #xA"""),
    ("gbnf", 'root ::= "a"{3} ("b" "c"){0,2} "d"{2,}', "w3c",
     'root ::= "a" "a" "a" ("b" "c" ("b" "c")?)? "d" "d"+'),
    ("gbnf", "root ::= <[7]> | <|end|>", "gbnf", "root ::= <[7]> | <|end|>"),
    ("ebnf", "root ::= Token(2, 1)* x.y\nx.y ::= [^]", "gbnf",
     "root ::= (<[1]> | <[2]>)* x_y\n# x.y is x_y here\nx_y ::= [\\x00-\\U0010FFFF]"),
    ("w3c", "top ::= root '-'\nroot ::= ([a-c] - 'b')*", "gbnf",
     '# top is root here\nroot ::= rule_root "-"\n# root is rule_root here\n'
     "rule_root ::= [ac]*"),
    ("w3c", "a ::= (b 'x' | 'y') - 'xx' - 'y'\nb ::= 'x'?", "w3c",
     'a ::= ((b "x" | "y") - "xx") - "y"\nb ::= "x"?'),
    ("gbnf", 'root ::= root "+" x | x\nx ::= "1" root?', "gbnf",
     "# llama.cpp refuses rules that call themselves at the left end: root\n"
     'root ::= root "+" x | x\nx ::= "1" root?'),
]  # fmt: skip


@pytest.mark.parametrize(("notation", "text", "target", "written"), WRITTEN)
def test_a_grammar_is_written_as_the_notation_has_it(notation, text, target, written):
    assert notations.translate(text, notation, target) == written


REFUSED = [
    ("gbnf", "root ::= <[7]>", "w3c", "line 1, column 10: W3C's EBNF has no tokens"),
    ("gbnf", 'root ::= "abcdef"{900}', "w3c", "column 10: W3C's EBNF has no counts"),
    ("gbnf", "root ::= .", "lark", "the notations to write are gbnf, w3c, not 'lark'"),
    ("yacc", "a : b", "gbnf", "the notations are gbnf, ebnf, w3c, not 'yacc'"),
]


@pytest.mark.parametrize(("notation", "text", "target", "said"), REFUSED)
def test_what_a_notation_cannot_say_is_an_error(notation, text, target, said):
    with pytest.raises((GrammarError, LimitError)) as caught:
        notations.translate(text, notation, target)
    assert said in str(caught.value)


# --- Grammars of Lark's --------------------------------------------------------------------------

LARK = [
    'start: "a" start "b" | /[ab]c/ | "a"',
    'start: x+\nx: A? B~1..2 | "(" start ")"\nA: "a"i\nB: /b|c/',
    "start: A*\nA: /[^bc]+|b{2,}c?/",
    'start: (x | "c")*\n?x: y -> z\n_y: "ab"\ny: _y | start "b"',
]


@pytest.mark.few(4)
@pytest.mark.parametrize("target", ["gbnf", "w3c"])
@pytest.mark.parametrize("text", LARK)
def test_without_a_lexer_lark_and_rules_say_the_same(text, target):
    grammar = Grammar(text, parser="earley", lexer="dynamic_complete")
    written = lark_parser(READ[target][0](notations.from_lark(grammar, target)))
    judge = lark.Lark(text, parser="earley", lexer="dynamic_complete")
    for word in words("abcA(", 4):
        assert is_parsed(written, word) == is_parsed(judge, word), word


def lark_grammar(random: Random) -> str:
    """Return a random grammar with a lexer, perhaps with ignored text."""
    atoms = ["A", "B", '"c"', '"cc"', "x", '"("', "(A | B)", "A?", "x*", '("c" B)+']
    patterns = ["a", "a+", "ab?", "b+a", "[ab]", "a?b", "aa|a", "b*c"]
    rules = [" ".join(random.choices(atoms, k=random.randint(1, 3))) for _ in range(4)]
    ignored = random.choice(["", "", '\n%ignore " "', "\n%ignore / +/", "\n%ignore /[ c]/"])
    a, b = random.sample(patterns, 2)
    return (
        f'start: {rules[0]} | {rules[1]}\nx: {rules[2]} | {rules[3]} ")"\n'
        f"A: /{a}/\nB: /{b}/{ignored}"
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_what_is_written_without_a_word_means_the_same_as_with_larks_lexer(seed):
    random, n = Random(seed), 0
    for _ in range(40):
        text = lark_grammar(random)
        lexer = random.choice(["contextual", "basic"])
        try:
            written = notations.from_lark(Grammar(text, parser="lalr", lexer=lexer), "gbnf")
            rules = lark_parser(notations.gbnf(written))
        except GrammarError:
            continue
        judge = lark.Lark(text, parser="lalr", lexer=lexer)
        n += 1
        for word in words("abc( )"[: 4 + seed % 3], 4):
            assert is_parsed(rules, word) == is_parsed(judge, word), (word, text, written)
    assert n > 0


def test_json_is_written_without_a_word():
    rules = lark_parser(notations.gbnf(notations.from_lark(Grammar.bundled("json"), "gbnf")))
    for text in ['{"a": [1, -2.5e3, true]}', " null ", '["\\u00e9"]', "[]"]:
        assert is_parsed(rules, text)
    for text in ["{,}", "[1 2]", '"\n"', "01", ""]:
        assert not is_parsed(rules, text)


@pytest.mark.parametrize("lexer", ["contextual", "basic"])
def test_with_a_lexer_each_sentence_is_allowed_and_a_comment_says_that_more_may_be(lexer):
    text = 'start: (A | AB | "c" start)+\nA: "a"\nAB: /ab?b/\n%ignore /c /\n%ignore " "'
    grammar = Grammar(text, parser="lalr", lexer=lexer)
    written = notations.from_lark(grammar, "gbnf", wider=True)
    assert written.startswith("# May allow more texts than the grammar: Lark's lexer")
    rules = lark_parser(notations.gbnf(written))
    judge = lark.Lark(text, parser="lalr", lexer=lexer)
    sentences = [word for word in words("abc ", 5) if is_parsed(judge, word)]
    assert len(sentences) > 100
    assert all(is_parsed(rules, word) for word in sentences)


NOT_RULES = [
    ("start: A\nA: /a(?=b)/", {}, "line 2, column 1: A looks around, which no rule can say"),
    ("start: A A\nA: /a+/", {}, "what follows A may be read as more of it"),
    ("start: A | B\nA: /a/\nB: /ab/", {}, "B and A may begin alike"),
    ("start: A\nA: /a+?/", {}, "A may prefer a match that is not the longest"),
    ('start: "a" start | "a" start "b" | "c"', {"parser": "lalr"}, "resolved a conflict before B"),
    ('start: "a"\n%ignore " "', {"parser": "earley"}, "Lark's lexer (dynamic)"),
    ("start: A\nA: /a|ab/", {"parser": "earley", "lexer": "dynamic_complete"},
     "A prefers short matches, and Lark tries no longer"),
    ("start: A\n%declare A", {"special": {"A": "two words"}}, "GBNF has tokens by id"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "options", "said"), NOT_RULES)
def test_what_rules_cannot_say_is_an_error(text, options, said):
    grammar = Grammar(text, **options)
    is_wider = "looks around" in said or "tokens" in said
    with pytest.raises(GrammarError) as caught:
        notations.from_lark(grammar, "gbnf", wider=is_wider)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("grammar", "said"),
    [
        (Grammar.bundled("python"), "an indenter"),
        (cfgguide.json_schema({"type": "null"}), "this grammar is more than its text"),
    ],
)
def test_an_indenter_and_a_schema_are_no_rules(grammar, said):
    with pytest.raises(GrammarError, match=said):
        notations.from_lark(grammar, "gbnf", wider=True)
