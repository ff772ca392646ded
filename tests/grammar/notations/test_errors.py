"""What grammars in each notation may not be: the message, and the place in the user's own text."""

from __future__ import annotations

import pytest

import cfgguide
from cfgguide import Grammar, notations
from cfgguide.errors import GrammarError, LimitError

GBNF = [
    # Rules.
    ("", 1, 1, "there is no rule; a rule is written name ::= ..."),
    ("# nothing", 1, 1, "there is no rule"),
    ('main ::= "a"', 1, 1, "there is no rule called root, with which a grammar starts"),
    ('root ::= "a" item', 1, 14, "there is no rule called item"),
    ('root ::= "a"\nold ::= roots', 2, 9, "there is no rule called roots; did you mean root?"),
    ('root ::= "a"\n\nroot ::= "b"', 3, 1, "root is defined twice"),
    ('root = "a"', 1, 6, "expected ::= after the name of a rule, not '='"),
    ('root\n::= "a"', 1, 5, "expected ::= after the name of a rule, not the end of the line"),
    ('"a"', 1, 1, "expected the name of a rule, not '\"'"),
    ('root ::= "a"\n  | "b"', 2, 3, "alternatives go on after a | at the end of a line"),
    ('root ::= "a" ; "b"', 1, 14, "expected the end of the line, not ';'"),
    ('root ::= "a" )', 1, 14, "expected the end of the line, not ')'"),
    ("root ::= 'a'", 1, 10, 'expected the end of the line, not "\'"'),
    # Rules without a text.
    ('root ::= root "a"', 1, 1, "no text matches root"),
    ('root ::= "a" | x\nx ::= "(" y ")"\ny ::= x', 2, 1, "no text matches x"),
    # Texts and classes.
    ('root ::= "ab', 1, 10, "this text is never closed"),
    ('root ::= "a\\q"', 1, 12, "there is no escape \\q; there are \\n, \\r, \\t"),
    ('root ::= "\\x4"', 1, 11, "expected 2 hexadecimal digits after \\x"),
    ('root ::= "\\u00e"', 1, 11, "expected 4 hexadecimal digits after \\u"),
    ('root ::= "\\U00110000"', 1, 11, "the last character is U+10FFFF"),
    ('root ::= "\\uD83D\\uDE00"', 1, 11, "U+D83D is half of a surrogate pair"),
    ('root ::= "\ud83d"', 1, 11, "U+D83D is half of a surrogate pair"),
    ("root ::= [\\uD800-\\uDFFF]", 1, 11, "U+D800 is half of a surrogate pair"),
    ("root ::= [ab", 1, 10, "this class is never closed"),
    ("root ::= [a-", 1, 10, "this class is never closed"),
    ("root ::= []", 1, 10, 'a class needs characters; the empty text is written ""'),
    ("root ::= [^]", 1, 10, "a class needs characters"),
    ("root ::= [^\\x00-\\U0010FFFF]", 1, 10, "this class has no character"),
    ("root ::= [az-x]", 1, 12, "the range 'z' to 'x' ends before it begins"),
    # Groups and counts.
    ('root ::= ("a"\n | "b"', 1, 10, "this bracket is never closed"),
    ('root ::= ("a" ; "b")', 1, 15, "expected ) or more of the group, not ';'"),
    ("root ::= *", 1, 10, "nothing stands before * that could be repeated"),
    ('root ::= "a" | + "b"', 1, 16, "nothing stands before + that could be repeated"),
    ('root ::= (?"b")', 1, 11, "nothing stands before ? that could be repeated"),
    ('root ::= "a"{,3}', 1, 14, "expected a number, not ','"),
    ('root ::= "a"{3', 1, 15, "expected } after a count, not the end of the text"),
    ('root ::= "a"{3,2}', 1, 13, "the count 3 to 2 ends before it begins"),
    # Tokens.
    ("root ::= !<|end|>", 1, 10, "!<|end|> means all tokens of the model but one"),
    ("root ::= !<[12]>*", 1, 10, "write .* for text, which never spells a special token"),
    ("root ::= <end", 1, 10, "a token is written <[id]> or <name>"),
    ("root ::= <[x]>", 1, 10, "a token is written <[id]> or <name>"),
    ('root ::= !"a"', 1, 10, "a token is written <[id]> or <name>"),
]
EBNF = [
    ('root ::= "a" x ::= "b"', 1, 14, "a rule begins on a line of its own"),
    ('root ::= "a"\nroot ::= "b"', 2, 1, "root is defined twice"),
    ('root ::= "a" .', 1, 14, "there is no rule called ."),
    ("root ::=", 1, 9, 'this alternative is empty; the empty text is written ""'),
    ('root ::= | "a"', 1, 10, "this alternative is empty"),
    ('root ::= ("a" |)', 1, 16, "this alternative is empty"),
    ('root ::= "a"+*', 1, 14, "two counts for one part"),
    ('root ::= "a"{,2}', 1, 14, "expected a number, not ','"),
    ('root ::= "a\nb"', 1, 10, "this text is never closed: it ends on its line"),
    ("root ::= [a\nb]", 1, 10, "this class is never closed: it ends on its line"),
    ("root ::= [b-a]", 1, 11, "the range 'b' to 'a' ends before it begins"),
    ("root ::= []", 1, 10, "a class needs characters"),
    ("root ::= [\\d]", 1, 11, "\\d is not supported in a class; list the characters"),
    ('root ::= "\\["', 1, 11, "there is no escape \\[ here"),
    ('root ::= "\\xg"', 1, 11, "expected 1 hexadecimal digits after \\x"),
    ('root ::= "\\x110000"', 1, 11, "the last character is U+10FFFF"),
    ("root ::= <[12]>", 1, 10, "expected a name, a text, a class or a group, not '<'"),
    ("root ::= 'a'", 1, 10, "expected a name, a text, a class or a group"),
    ("root ::= \"a\" 'b'", 1, 14, "expected the name of a rule"),
    # What XGrammar has and a grammar here cannot say, by name.
    ('root[lazy] ::= "a"+', 1, 5, "lazy is not supported; llguidance's dialect has it"),
    ('root ::= x\nx[max_tokens=3] ::= "a"+', 2, 2, "max_tokens counts tokens"),
    ('root[max_chars=3] ::= "a"', 1, 5, "there is no option max_chars"),
    ("root ::= TokenTagDispatch((1, root))", 1, 10, "TokenTagDispatch is not supported"),
    ("root ::= ExcludeToken(1)", 1, 10, "ExcludeToken is not supported"),
    # What it has and a grammar here can say, written wrongly.
    ('root ::= "a" (= b)', 1, 17, "there is no rule called b"),
    ('root ::= "a" (= "b"', 1, 14, "this bracket is never closed"),
    ('root ::= ("a" (= "b"))', 1, 15, "expected ) or more of the group"),
    ('root ::= "a" (= "b") "c"', 1, 22, "expected the name of a rule"),
    ("root ::= Regex(a)", 1, 16, "expected a text in double quotes"),
    ('root ::= Regex("a", "b")', 1, 10, "Regex takes one pattern"),
    ('root ::= Regex("a(")', 1, 16, "the pattern 'a(' cannot be read"),
    ('root ::= Regex("a(?=b)")', 1, 16, "this pattern looks around"),
    ('root ::= Regex("a", json_string=true)', 1, 10, "json_string=true"),
    ('root ::= Regex("a", flags="i")', 1, 27, "Regex has no argument flags; it has json_string"),
    ("root ::= Substring()", 1, 10, "Substring takes a text, or several"),
    ('root ::= TagDispatch("a")', 1, 22, "TagDispatch takes pairs of a tag and a rule"),
    ('root ::= TagDispatch(("a", b))', 1, 28, "there is no rule called b"),
    ('root ::= TagDispatch(("a", root), excludes="a")', 1, 44, "excludes is a list of texts"),
    ('root ::= TagDispatch(("a", root), stop_eos=false)', 1, 10, "stop_eos=false needs stop_str"),
    ('root ::= TagDispatch(("ab", root), ("b", root))', 1, 10, "'b' is a part of 'ab'"),
    ('root ::= TagDispatch(("a", root)', 1, 33, "expected ) or , after an argument"),
    ("root ::= Token(a)", 1, 16, "expected the id of a token, not 'a'"),
    ("root ::= Token(1", 1, 17, "expected ) after the ids of tokens"),
]
W3C = [
    ("a ::= 'x", 1, 7, "this text is never closed"),
    ("a ::= /* x", 1, 7, "this comment is never closed"),
    ("a ::= #xD800", 1, 7, "U+D800 is half of a surrogate pair"),
    ("a ::= #xg", 1, 7, "expected 1 hexadecimal digits after #x"),
    ("a ::= - 'b'", 1, 7, "nothing stands before this - that could be made smaller"),
    ("a ::= 'b' - ", 1, 11, "nothing follows this -"),
    ("a ::= ('b' -) 'c'", 1, 12, "nothing follows this -"),
    ("a ::= 'b' - * 'c'", 1, 11, "nothing follows this -"),
    ("a ::= [ab] - 'c'? - [a-b]", 1, 19, "no text is left, or only the empty one"),
    ("a ::= [a] - ('a' a?)", 1, 11, "what stands on both sides of - is regular"),
    ("a ::= 'b' [ wfc: none ]", 1, 11, "conditions beside the grammar"),
    ("a ::= 'b'{2}", 1, 10, "expected the name of a rule, not '{'"),
    ("a ::= 'b'++", 1, 11, "two counts for one part"),
    ("a ::= 'b'\na ::= 'c'", 2, 1, "a is defined twice"),
]
READERS = {
    "gbnf": (notations.gbnf, GBNF),
    "ebnf": (notations.ebnf, EBNF),
    "w3c": (notations.w3c, W3C),
}


@pytest.mark.parametrize(
    ("notation", "grammar", "line", "column", "said"),
    [(name, *case) for name, (_, cases) in READERS.items() for case in cases],
)
def test_a_mistake_is_shown_where_it_is(notation, grammar, line, column, said):
    with pytest.raises(GrammarError) as caught:
        READERS[notation][0](grammar)
    message = str(caught.value)
    assert message.startswith(f"[grammar] the grammar, line {line}, column {column}: ")
    assert said in message


#: A text, as what it is given, what it looks like.
MIXED_UP = [
    ("root ::= 'a' x\nx ::= #x41", "gbnf", "W3C's EBNF: try Grammar.w3c"),
    ("root ::= 'a' x(\nx ::= #x41", "ebnf", "W3C's EBNF: try Grammar.w3c"),
    ("[1] a ::= [a-z] - 'b' /* c */", "gbnf", "W3C's EBNF: try Grammar.w3c"),
    ('root ::= x{2} # one\nx ::= "\\x41"', "w3c", "llama.cpp's GBNF: try Grammar.gbnf"),
    ('root ::= "a" . <[12]>', "ebnf", "llama.cpp's GBNF: try Grammar.gbnf"),
    ('root ::= TagDispatch(("a", x.y))\nx.y ::= "b"', "gbnf", "XGrammar's EBNF: try Grammar.ebnf"),
    ('root ::= "a" (= "b")', "gbnf", "XGrammar's EBNF: try Grammar.ebnf"),
    ('start: "a" b?\nb: /c/', "gbnf", "Lark's language: try Grammar(text)"),
    ('start: "a" B\nB.2: /c/i', "w3c", "Lark's language: try Grammar(text)"),
    ('%llguidance {}\nstart: "a"', "ebnf", "llguidance's dialect of Lark's language"),
    ('root ::= "a"', "lark", "llama.cpp's GBNF: try Grammar.gbnf"),
    ("root ::= 'a' #x41", "lark", "W3C's EBNF: try Grammar.w3c"),
    ('start: <|end|>\nx[lazy]: "a"', "lark", "llguidance's dialect of Lark's language"),
    ('root ::= "a"', "llguidance", "llama.cpp's GBNF: try Grammar.gbnf"),
    ("digit = '0' | '1' ;\nnumber = digit, { digit } ;", "w3c", "ISO's EBNF"),
    ("grammar Sums;\nsum : sum '+' INT | INT ;\nINT : [0-9]+ ;", "lark", "ANTLR's language"),
    ("lexer grammar L;\nWS : [ \\t]+ -> skip ;", "ebnf", "ANTLR's language"),
    ("sum <- int ('+' int)*\nint <- [0-9]+", "lark", "a PEG"),
    ("sum = { int ~ ('+' ~ int)* }\nint = @{ ASCII_DIGIT+ }", "lark", "a PEG"),
    ("%token INT\n%%\nsum : sum '+' INT | INT ;", "lark", "Yacc's language"),
    ('{"type": "object"}', "lark", "JSON: try cfgguide.json_schema"),
    ('\n{"type": "object"}', "gbnf", "JSON: try cfgguide.json_schema"),
]


def check(text, given_as):
    """Look at a text as a grammar in a notation."""
    given = Grammar(text) if given_as == "lark" else getattr(Grammar, given_as)(text)
    cfgguide.check(given, "a")


@pytest.mark.parametrize(("text", "given_as", "looks_like"), MIXED_UP)
def test_a_notation_that_is_mixed_up_is_named(text, given_as, looks_like):
    with pytest.raises(GrammarError) as caught:
        check(text, given_as)
    assert f"this looks like {looks_like}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "given_as"),
    [
        ('root ::= "a" b', "gbnf"),
        ("a ::= 'b", "w3c"),
        ('start: "a', "lark"),
        ("start: b", "llguidance"),
    ],
)
def test_a_mistake_in_the_right_notation_has_no_such_advice(text, given_as):
    with pytest.raises(GrammarError) as caught:
        check(text, given_as)
    assert "looks like" not in str(caught.value)


def test_an_excerpt_and_a_caret_show_the_place():
    with pytest.raises(GrammarError) as caught:
        notations.gbnf('root ::= item\nitem ::= [a-z] "x\\d"')
    assert str(caught.value).splitlines()[1:] == ['item ::= [a-z] "x\\d"', "                 ^"]


def test_a_grammar_is_a_text():
    with pytest.raises(GrammarError, match="a grammar is a text, not int"):
        notations.gbnf(3)


# --- Limits --------------------------------------------------------------------------------------

LARGE = [
    ('root ::= "a"{10001}', "counts above 10000 are not supported"),
    ('root ::= "a"{1,99999999999999999999}', "counts above 10000 are not supported"),
    ("root ::= " + "(" * 501 + '"a"' + ")" * 501, "more than 500 groups inside each other"),
    ("#" * 1_000_001, "has 1000001 characters, and at most 1000000 fit"),
]


@pytest.mark.parametrize(("grammar", "said"), LARGE, ids=["count", "digits", "groups", "text"])
def test_a_limit_is_named(grammar, said):
    with pytest.raises(LimitError, match=said):
        notations.gbnf(grammar)


@pytest.mark.parametrize(
    ("grammar", "said"),
    [
        (f'root ::= TagDispatch(excludes=("{"a" * 1001}"))', "or one has more than 1000"),
        (
            'root ::= Substring("a"' + ',"a"' * 200 + ")",
            "this Substring have more than 40000 characters",
        ),
    ],
    ids=["TagDispatch", "Substring"],
)
def test_a_macro_has_a_limit(grammar, said):
    with pytest.raises(LimitError, match=said):
        notations.ebnf(grammar)


def test_what_a_minus_leaves_may_be_too_large():
    """An automaton that remembers the last six characters has no short pattern."""
    with pytest.raises(LimitError, match="what this - leaves is too large for a pattern"):
        notations.w3c("a ::= b* - (b* 'a' b b b b b)\nb ::= [ab]")
