"""Which texts grammars in each notation accept: what their definitions say, and Lark with ours.

The recogniser of tests/support/spans.py judges too; it knows the rules as they are read, and
nothing of their conversion.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from random import Random

import lark
import pytest
from support.judges import is_parsed
from support.spans import FIRST_TOKEN, Recogniser, lark_parser

from cfgguide import notations
from cfgguide.grammar.notations.ebnf_reader import read_ebnf
from cfgguide.grammar.notations.gbnf_reader import read_gbnf
from cfgguide.grammar.notations.w3c_reader import read_w3c
from cfgguide.grammar.rules.source import Source

END, AFTER = chr(FIRST_TOKEN + 7), chr(FIRST_TOKEN + 8)
NOTATIONS = {
    "gbnf": (notations.gbnf, read_gbnf),
    "ebnf": (notations.ebnf, read_ebnf),
    "w3c": (notations.w3c, read_w3c),
}


@functools.cache
def judges(notation: str, grammar: str) -> tuple[Callable[[str], bool], lark.Lark]:
    convert, read = NOTATIONS[notation]
    rules = read(Source(grammar, "the grammar"))
    root = "root" if "root" in rules else next(iter(rules))
    return Recogniser(rules, root).accepts, lark_parser(convert(grammar))


def verdict(notation: str, grammar: str, text: str) -> bool:
    recognises, parser = judges(notation, grammar)
    is_right = is_parsed(parser, text)
    assert recognises(text) == is_right
    return is_right


# --- The parts of each notation ------------------------------------------------------------------

TAGS = """root ::= TagDispatch(
  ("tag1", rule1),
  ("tag2", rule2){}
)
rule1 ::= "abcd" [p]*
rule2 ::= "efg" [t]*
"""
ONCE = ", loop_after_dispatch=false"
STOPS = ', stop_eos=false, stop_str=("tag3", "ll")'
CASES = [
    # GBNF: texts, classes, escapes.
    ("gbnf", 'root ::= "ab"', ["ab"], ["", "a", "abb", "AB"]),
    ("gbnf", 'root ::= ""', [""], ["a"]),
    ("gbnf", "root ::=", [""], ["a"]),
    ("gbnf", r'root ::= "\x41\u00e9\U0001F600\t\r\n\\\"\[\]\-"', ['Aé😀\t\r\n\\"[]-'], ["A"]),
    ("gbnf", r'root ::= "\x4142"', ["A42"], ["\u4142"]),
    ("gbnf", 'root ::= "a\nb"', ["a\nb"], ["ab"]),
    ("gbnf", "root ::= [a-cx]", ["a", "b", "c", "x"], ["", "d", "-", "ab"]),
    ("gbnf", "root ::= [^a-cx]", ["d", "\n", "😀", "^"], ["a", "x", "dd"]),
    ("gbnf", "root ::= [a-]", ["a", "-"], ["b"]),
    ("gbnf", "root ::= [-a]", ["a", "-"], ["b"]),
    ("gbnf", r"root ::= [+--]", ["+", ",", "-"], ["."]),
    ("gbnf", r"root ::= [a\-z]", ["a", "-", "z"], ["b"]),
    ("gbnf", r"root ::= [\]\[\\^]", ["]", "[", "\\", "^"], ["a"]),
    ("gbnf", r"root ::= [\x00-\U0010FFFF]", ["\0", "\n", "\U0010ffff"], ["", "ab"]),
    ("gbnf", r"root ::= [\uE000-\uFFFF]", ["\ue000", "\uffff"], ["a", "\U00010000"]),
    ("gbnf", "root ::= .", ["a", "\n", "\u2028", "😀"], ["", "ab"]),
    ("gbnf", "root ::= [ぁ-ゟ]+", ["ひらがな"], ["カ"]),
    ("gbnf", "root ::= [/&~|#{}()*+?.$]{2}", ["//", "&~", "|#", "{}", "()", "*+", ".$"], ["a/"]),
    # Nothing is normalised.
    ("gbnf", 'root ::= "é"', ["é"], ["e\u0301"]),
    # Tokens: the one with the id 7 is END in these texts.
    ("gbnf", 'root ::= <[7]> "a" root | <[7]>', [END, f"{END}a{END}"], ["", "a", f"{END}{END}"]),
    ("ebnf", 'root ::= (Token(7, 8) | Token( 8 ) "a")+', [END, f"{AFTER}a{END}"], ["", f"{END}a"]),
    # Rows, alternatives, groups, counts.
    ("gbnf", 'root ::= "a" ("b" | "c" "d")', ["ab", "acd"], ["a", "abcd"]),
    ("gbnf", 'root ::= "a" | | "b"', ["", "a", "b"], ["ab"]),
    ("gbnf", 'root ::= () "a" ( )', ["a"], [""]),
    ("gbnf", 'root ::= "ab"? "c"* "d"+', ["d", "abd", "ccdd"], ["", "bd", "ab"]),
    ("gbnf", 'root ::= "ab"{2}', ["abab"], ["ab", "ababab"]),
    ("gbnf", 'root ::= "a"{2,}', ["aa", "aaaaa"], ["a"]),
    ("gbnf", 'root ::= "a"{ 2 , 3 }', ["aa", "aaa"], ["a", "aaaa"]),
    ("gbnf", 'root ::= "a"{0} "b"', ["b"], ["ab"]),
    ("gbnf", 'root ::= "a"{0,0}', [""], ["a"]),
    ("gbnf", 'root ::= "a"{2}{2}?', ["", "aaaa"], ["aa"]),
    ("gbnf", 'root ::= ("a"? "b"?)*', ["", "abba"], ["c"]),
    # Lines, comments, names.
    ("gbnf", '\r\n# one\nroot ::=\n\n "a" x-1 # two\r\n  x-1::= "b" |\n "c"', ["ab", "ac"], ["a"]),
    ("gbnf", 'root ::= (\n "a" # "x"\n "b"\n | "c"\n)+', ["abc"], ["axb"]),
    ("gbnf", 'root::=a-B A-b a_b\na-B::="1"\nA-b::="2"\na_b::="3"', ["123"], ["12", "321"]),
    ("gbnf", 'root ::= start 1a\nstart ::= "1" start | "0"\n1a ::= "x"*', ["0", "10xx"], ["x"]),
    # Rules that call themselves: at the left end, the right end, both, in a circle.
    ("gbnf", 'root ::= root "a" | "b"', ["b", "baa"], ["", "a", "ab"]),
    ("gbnf", 'root ::= "a" root | "b"', ["b", "aab"], ["", "a", "ba"]),
    ("gbnf", "root ::= ([ab] root)?", ["", "ab"], ["c"]),
    ("gbnf", 'root ::= ("a" root "b")?', ["", "aabb"], ["aab"]),
    ("gbnf", 'root ::= root root | "a" | ""', ["", "a", "aaaa"], ["b"]),
    ("gbnf", 'root ::= x\nx ::= y | "a"\ny ::= x | "(" x ")"', ["a", "((a))"], ["(a"]),
    ("gbnf", 'root ::= (x | "b")* "c"\nx ::= root?  "a"', ["c", "ac", "bcac"], ["a", "ca"]),
    # Terminals whose preferred match would be too short.
    ("gbnf", 'root ::= ("a" | "ab") ("c" | "bcd")', ["ac", "abc", "abcd", "abbcd"], ["abcdd"]),
    ("gbnf", 'root ::= x "(" root? ")"\nx ::= ("i" | "in" | "int")', ["in()", "int(i())"], ["("]),
    ("gbnf", 'root ::= ("ab" | "a" | "ba")+ ("x" root)?', ["aba", "abaxba", "aab"], ["b", "abb"]),
    # XGrammar's EBNF.
    ("ebnf", 'root ::= [^] "b"', ["ab", "\nb"], ["b"]),
    ("ebnf", r'root ::= "\x4142" [\x1F600-\U0001F602]', ["\u4142😁"], ["AB😀"]),
    ("ebnf", r'root ::= "\"\'\?\/\0\e\a\b\f\v"', ["\"'?/\0\x1b\a\b\f\v"], [""]),
    ("ebnf", r"root ::= [\^\$\.\*\+\?\(\)]{2}", ["^$", ".*", "+?", "()"], ["\\^", "a)"]),
    ("ebnf", r"root ::= [\[\]\{\}\|\/\-]{2}", ["[]", "{}", "|/", "--"], ["\\-", "a-"]),
    ("ebnf", "root ::= [--a]", ["-", "/", "a"], ["b"]),
    ("ebnf", 'root ::= "a"\n\n  | x.y "b"\nx.y ::= () "c" # end', ["a", "cb"], ["c"]),
    ("ebnf", 'root ::= "a"{2, 3} ""{2}', ["aa", "aaa"], ["a"]),
    ("ebnf", 'root ::= "a"\n"b" x\nx\n::= "c"', ["abc"], ["a"]),
    ("ebnf", 'root ::= true\ntrue ::= "x"', ["x"], ["true"]),
    # What its own printer writes: look-ahead, counts without limit, options, macros.
    ("ebnf", 'root ::= (("a" x)) (=("," root))\nx ::= (("b"))(= [,}])', ["ab"], ["ab,", "a"]),
    ("ebnf", 'root ::= x{2, -1}\nx[capture="y", temperature=0.5] ::= "a"', ["aa", "aaaa"], ["a"]),
    ("ebnf", r'root ::= Regex("^a.\\d{2,}$")', ["a\n12", "ab123"], ["ab1", "a12", "^ab12"]),
    ("ebnf", 'root ::= "a" Regex("b|c+", json_string=false)', ["ab", "acc"], ["abc", "a"]),
    ("ebnf", 'root ::= "<" Substring("abca") ">"', ["<>", "<abca>"], ["<bca>", "<a>"]),
    ("ebnf", 'root ::= Substring("ab", "c", "ab")', ["", "ab", "cab", "abcab"], ["a", "bc"]),
    ("ebnf", TAGS.format(""), ["", "tag", "xtag1abcd", "tag1abcdqtag2efgtt"], ["ttag1abd"]),
    ("ebnf", TAGS.format(ONCE), ["q", "tag2efgt"], ["tag1abcdppptag2", "tag2efgtag1"]),
    ("ebnf", TAGS.format(', excludes=("l", "tal",)'), ["ta", "tag1abcd"], ["tal", "tag1abcdl"]),
    ("ebnf", TAGS.format(STOPS), ["tag1abcdll", "ltag3"], ["tag1abcd", "lltag3", ""]),
    ("ebnf", TAGS.format(', stop_eos=true, stop_str=("ll",)'), ["tag1abcdll", "l"], ["llx"]),
    # W3C's EBNF.
    ("w3c", "a ::= #x41 [#x42-#x43] #x1F600", ["AB😀", "AC😀"], ["AA😀"]),
    ("w3c", r"""a ::= 'a"\n' "'" """, ['a"\\n\''], ["a\"\n'"]),
    ("w3c", r"a ::= [\n]", ["\\", "n"], ["\n"]),
    ("w3c", "[1] a ::= /**/ b | c /*\n*/\n[2] b ::= 'b'\n[3a] c ::= 'c'?", ["", "b", "c"], ["a"]),
    ("w3c", "a ::= [a-z] - [aeiou]", ["b", "z"], ["a", "bb"]),
    ("w3c", "a ::= b* - (b* 'xx' b*)\nb ::= [xy]", ["", "xyx", "yy"], ["xx", "yxxy"]),
    ("w3c", "a ::= 'x' b - 'z' - 'y' a?\nb ::= [xyz] | 'z'+", ["xx", "xxxx", "xzz"], ["xz", "xy"]),
    ("w3c", "c ::= '!' ((b - '-') | ('-' (b - '-')))* '--'\nb ::= [a-]", ["!a-a--"], ["!a--a--"]),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_tags_are_looked_for_in_free_text(seed):
    """Against a reading of the text from left to right, on all short texts."""
    random = Random(seed)
    tags, excluded = draws(random, 1 + seed % 2), draws(random, seed % 3)
    texts = [*tags, *excluded]
    if any(one in other for i, one in enumerate(texts) for j, other in enumerate(texts) if i != j):
        return
    pairs = "".join(f'("{tag}", x), ' for tag in tags)
    listed = "".join(f'"{text}", ' for text in excluded)
    found = notations.ebnf(f'root ::= TagDispatch({pairs}excludes=({listed}))\nx ::= "c" | "a"')
    parser = lark_parser(found)
    for length in range(7):
        for letters in itertools.product("abc" if length < 6 else "ab", repeat=length):
            text = "".join(letters)
            assert is_parsed(parser, text) == dispatches(text, tags, excluded), (tags, text)


def draws(random, n):
    """Return random texts."""
    return ["".join(random.choices("ab", k=random.randint(1, 4))) for _ in range(n)]


def dispatches(text, tags, excluded):
    """Return whether "a" or "c" follows each tag in a text, and nothing is excluded."""
    begin = at = 0
    while at < len(text):
        at += 1
        if text[begin:at].endswith(tuple(excluded)):
            return False
        if text[begin:at].endswith(tuple(tags)):
            if text[at : at + 1] not in ("a", "c"):
                return False
            begin = at = at + 1
    return True


@pytest.mark.parametrize(("notation", "grammar", "accepted", "refused"), CASES)
def test_a_grammar_has_the_texts_that_its_notation_says(notation, grammar, accepted, refused):
    for text in accepted:
        assert verdict(notation, grammar, text), text
    for text in refused:
        assert not verdict(notation, grammar, text), text


# --- Grammars as people write them ---------------------------------------------------------------

SETTINGS = r"""
# A list of settings, with sections.
root     ::= ( section "\n" )+
section  ::= "[" name "]" "\n" setting*
setting  ::= name ws "=" ws value "\n"
value    ::= string | number | list | ("true" | "false")
list     ::= "(" ws ( value ("," ws value)* )? ")" ws
string   ::= "\"" (
    [^"\\\x00-\x1f] |
    "\\" (["\\nt] | "u" [0-9a-f]{4}) # escapes
  )* "\"" ws
number   ::= "-"? ([0-9] | [1-9] [0-9]{0,8}) ("." [0-9]+)? ws
name     ::= [a-z] [a-z0-9-]*
ws       ::= ([ \t] ws)?
"""

SUMS = """
root   ::= (sum "=" ws number "\\n")+
sum    ::= sum [-+] ws product | product
product ::= product [*/] ws factor | factor
factor ::= number | "(" ws sum ")" ws | "-" factor
number ::= [0-9]+ ws
ws     ::= [ ]*
"""

GAME = """
root ::= "1. " move " " move "\\n" ([1-9] [0-9]? ". " move " " move "\\n")*
move ::= (piece | pawn | "O-O" "-O"?) [+#]?
piece ::= [NBRQK] [a-h]? [1-8]? "x"? [a-h] [1-8]
pawn ::= ([a-h] "x")? [a-h] [1-8] ("=" [NBRQ])?
"""

LARGE = [
    ("gbnf", SETTINGS, '[a-1]\nx = "q\\u00e9\\n" \ny=-12.50\nz= (1, true,("a" ))\n\n', 25),
    ("gbnf", SETTINGS, "[a]\n\n[b]\nc=0\n\n", 40),
    ("gbnf", SUMS, "1 + -(2*3)-4/5= 6\n7=7\n", 60),
    ("ebnf", SUMS, "1*(2)=3\n", 40),
    ("gbnf", GAME, "1. e4 e5\n2. Nf3 Nbxd7+\n3. O-O-O exd8=Q#\n", 60),
]


@pytest.mark.slow
@pytest.mark.parametrize(("notation", "grammar", "text", "n"), LARGE)
def test_texts_like_a_sentence_are_judged_as_its_grammar_says(notation, grammar, text, n):
    random = Random(text)
    assert verdict(notation, grammar, text)
    verdicts = []
    for _ in range(n):
        at = random.randrange(len(text))
        changed = random.choice(["", random.choice(text), text[at] + random.choice(text)])
        verdicts.append(verdict(notation, grammar, text[:at] + changed + text[at + 1 :]))
    assert True in verdicts
    assert False in verdicts
