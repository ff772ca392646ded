"""Which texts grammars in llguidance's dialect accept; Lark and the engine must both say so.

The expected values follow from the dialect's definition (llguidance's docs/syntax.md); where they
are not plain from it, llguidance 1.9.1 says the same.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable

import pytest
from support.judges import accepts, parses

import cfgguide
from cfgguide.errors import GrammarError

Judge = Callable[[str], bool]


@functools.cache
def judges(text: str) -> tuple[Judge, Judge]:
    grammar = cfgguide.Grammar.llguidance(text)
    return parses(grammar), accepts(grammar)


def verdict(text: str, written: str) -> bool:
    lark, engine = judges(text)
    assert lark(written) == engine(written)
    return lark(written)


CALLS = r"""
start: (weather | time)* rest
rest: TEXT
TEXT: /(.|\n)*/
weather_head[lazy]: TEXT "<fn"
weather: weather_head "=weather>" %json {
  "type": "object",
  "properties": {"city": {"type": "string"}},
  "required": ["city"],
  "additionalProperties": false
} "</fn>"
time_head[lazy]: TEXT "<fn"
time: time_head "=time>" /[0-9]+/ "</fn>"
"""
TWO_ENDS = r"""
start: (foo | bar)* rest
foo_head[lazy]: TEXT "<foo>"
foo: foo_head /[a-z]+/ "</foo>"
bar_head[suffix="<bar>"]: TEXT
bar: bar_head /[0-9]+/ "</bar>"
rest: TEXT
TEXT: /.*/s
"""
STOP = 'start: line "\\n" line\nline[stop="\\n"]: /.*/'
LANGUAGES = [
    # Alternatives, groups, what may be missing.
    ('start: "a" "b" | "c" ("d" | "e")', ["ab", "cd", "ce"], ["", "a", "abd", "c"]),
    ('start: ("a" | "b") ["c"]', ["a", "bc"], ["", "c", "abc"]),
    ("start:", [""], ["a"]),
    ('start: | "a" | "bb"', ["", "a", "bb"], ["b"]),
    ('start: "a"\n\n  // why\n  | "b"  # too\n', ["a", "b"], ["ab"]),
    ('start: "" "a" ""', ["a"], ["", "aa"]),
    ('?start: !item -> one\n!item: "a"', ["a"], [""]),
    ('start: a-b A-B\na-b: "x"\nA-B: "y"', ["xy"], ["x", "a-b"]),
    ('start: _a _B\n_a: "x"\n_B: "y"', ["xy"], ["x"]),
    ('start: "x" | "(" start ")"', ["x", "((x))"], ["", "(x", "x)"]),
    ('start: item ("," item)*\nitem: "x" | "[" start? "]"', ["x,x", "[]", "[x,[x]]"], ["[x,]"]),
    # Where the next terminal does not decide, but the next two do.
    (
        'start: sum\nsum: product (SP "+" SP product)*\nproduct: N (SP "*" SP N)*\n'
        'SP: " "\nN: /[0-9]+/',
        ["1", "1 + 2 * 3", "1 * 2 + 3 + 4 * 5"],
        ["1 +", "1  + 2", "1+2"],
    ),
    ('start: ("if" " " N | "if" ":")+\nN: /[a-z]+/', ["if x", "if:if:"], ["if", "ifx"]),
    # What may be empty, inside of what may be empty.
    ('start: a b c\na: "a"?\nb: "b"*\nc: ""', ["", "a", "bb", "abb"], ["ba", "c"]),
    ("start: X*\nX: /a?/", ["", "aaa"], ["b"]),
    ('start: (a "x"?)+\na: "a"?', ["", "a", "ax", "xx", "aaxa"], ["b"]),
    ("start: a{2,3}\na: /b?/", ["", "b", "bb", "bbb"], ["bbbb"]),
    ('start: start "a" | ""', ["", "a", "aaa"], ["b"]),
    # Counts.
    ('start: "a"{2}', ["aa"], ["a", "aaa"]),
    ('start: "a"{2,4}', ["aa", "aaa", "aaaa"], ["a", "aaaaa"]),
    ('start: "a"{2,}', ["aa", "aaaaa"], ["", "a"]),
    ('start: "a"{,2}', ["", "a", "aa"], ["aaa"]),
    ('start: "a"{0} "b"', ["b"], ["ab"]),
    ('start: "a"~2..3', ["aa", "aaa"], ["a", "aaaa"]),
    ('start: "a"~3', ["aaa"], ["aa"]),
    ('start: ("a" | "bc"){2,3}', ["aa", "abc", "bcbcbc"], ["a", "aaaa"]),
    ('start: ("a"+)+ "b"', ["ab", "aaab"], ["b"]),
    ('start: X{200} "b"\nX: "a"', ["a" * 200 + "b"], ["a" * 199 + "b", "a" * 201 + "b"]),
    # Texts and ranges.
    (r'start: "\n\t\"\\\/\u03bb\x41😀"', ['\n\t"\\/λA😀'], ["n"]),
    ('start: "Ok-é"i', ["ok-é", "OK-É"], ["ok-e"]),
    ('start: "a".."c"+ "0".."9"?', ["abc", "c7"], ["", "d", "a77"]),
    ('start: "α".."γ"', ["α", "β", "γ"], ["δ", "a"]),
    # Terminals.
    ("start: N\nN: S? D+\nS: /[+-]/\nD: /[0-9]/", ["0", "-12"], ["", "+", "--1"]),
    ('start: W\nW: ("a" | "b"){2} "c"i', ["abc", "bbC"], ["ac"]),
    ("start: /.../ /a+/", ["abca", "😀éxaa"], ["aba", "abc"]),
    ('start: A "d"\nA: /(a|ab)(c|bcd)?/', ["abcdd", "ad", "abd", "acd"], ["abcd"]),
    ('start: A "b"\nA: /a|ab/', ["abb"], ["a", "ab"]),  # the longest match
    ("start: C\nC: /[a-z]+/ & /.*[aeiou].*/ & ~/(?s:.*)q(?s:.*)/", ["abc", "e"], ["bcd", "aq", ""]),
    ('start: "x" | N\nN: /ab/ & /b/', ["x"], ["ab", "b"]),  # no text at all
    ("start: ~/a+/", ["", "b", "ab"], ["a", "aa"]),
    (
        'start: %regex {"substring_words": "the quick, brown"}',
        ["", "the", "the quick", ", brown", "quick,"],
        ["th", "quick brown", "brown the"],
    ),
    ('start: S\nS: "<" %regex {"substring_chars": "abac"} ">"', ["<>", "<ba>", "<ac>"], ["<aa>"]),
    (
        'start: %regex {"substring_chunks": ["ab", "a", "abc"]}',
        ["aba", "aabc", "abc", ""],
        ["b", "abab"],
    ),
    # Ignored text: between and after terminals, and before the first one only if asked for.
    ('%ignore " "\nstart: "a" "b"', ["ab", "a  b"], [" ab", "a\nb"]),
    ("%import common.WS\n%ignore WS\nstart: N+\nN: /[0-9]+/", ["1", "1 2\n3"], ["\n1"]),
    (
        '%llguidance {"allow_initial_skip": true}\n%ignore " "\nstart: "a" "b"',
        ["ab", " a b"],
        ["\ta b"],
    ),
    # Imports.
    ("start: N\n%import common.SIGNED_NUMBER -> N", ["-1", "+.5e3"], ["", "e3"]),
    ("%import common (INT, CNAME)\nstart: INT CNAME", ["12a_1"], ["a1", "1"]),
    # Lazy rules.
    (CALLS, ["", "hi <f", '<fn=weather>{"city": "Rome"}</fn>', "a<fn=time>12</fn>b"], []),
    (CALLS, ["<fn=time>1</fn><fn=time>2</fn> < fn"], ["a<fn", "<fn=time>x</fn>", "<fn=weather>1"]),
    (CALLS, [], ["<fn=time> 1</fn>", '<fn=weather>{"town": "Rome"}</fn>']),
    (TWO_ENDS, ["", "a\n<foo", "x<foo>a</foo>y<bar>1</bar>"], ["<foo>1</foo>", "<bar>a</bar>"]),
    (TWO_ENDS, ["<bar>1</bar><foo>a</foo>"], ["<bar>a</bar><foo>a</foo>", "<foo>1<bar>1</bar>"]),
    ("start: a b\na[lazy]: /[a-z]*;|x/\nb: /.*/", ["x", "a;b", "xy;z", ";"], ["", "ab"]),
    ("start: a /b*/\na[lazy]: /ab|a/", ["a", "ab", "abb"], ["", "b"]),
    ('start: a "c"\na[lazy]: /a+b?/', ["ac"], ["aac", "abc"]),
    (STOP, ["a\nb\n", "\n\n"], ["a\nb", "a\n", "a\nb\nc\n"]),
    ('start: a END "b"\na[stop=END]: /.*/\nEND: "!"', ["x!b", "!b"], ["x!!b", "xb"]),
    ('start: a "b"\na[stop="c"]: /.*/', ["acb", "cb"], ["ab", "acc"]),
    ('start: a ";"\na[suffix=END]: /[a-z]*/\nEND: "!" | "?"', ["ab!;", "?;"], ["ab;", "ab!!;"]),
    ('start: a "b"\na[stop=""]: /a*/', ["b", "aab"], ["a"]),
    ('start: a "!"\na[capture="x", temperature=0.5, lazy]: /[a-z]*\\./', ["ab.!"], ["ab!"]),
    # Schemas.
    ('start: %json {"type": "integer"} "."', ["1.", "-12."], ["1", "01.", " 1."]),
    ('start: v (";" v)* "."\nv: %json {"enum": ["a", 12]}', ['12;"a".'], ["a.", "12;."]),
    ('start: "x" %json {"type": "array"} "]"', ["x[]]", "x[ 1, [2] ]]"], ["x[]", "x []]"]),
    (
        'start: a | b | "no"\n'
        'a: %json {"type": "object", "required": ["x"], "properties": {"x": {"type": "null"}}}\n'
        'b: %json {"type": "array", "items": {"$ref": "#/$defs/i"}, "$defs": {"i": {"const": 1}}}',
        ["no", '{"x": null}', "[1, 1]"],
        ["[2]", "{}", "yes"],
    ),
    (
        'start: %json {"type": "object", "properties": {"a": {"type": "integer"}, '
        '"b": {"type": "integer"}}, "additionalProperties": false}',
        ["{}", '{"a": 1, "b": 2}', '{ "b":2 }'],
        ['{"b": 1, "a": 2}'],  # as declared
    ),
    (
        'start: %json {"x-guidance": {"whitespace_flexible": false, "key_separator": ": ", '
        '"whitespace_pattern": null}, '
        '"type": "object", "required": ["a"], "properties": {"a": {"const": 1}}, '
        '"additionalProperties": false}',
        ['{"a": 1}'],
        ['{"a":1}', '{ "a": 1}'],
    ),
    ('%ignore / +/\nstart: "f(" %json {"type": "array"} ")"', ["f( [ 1 ] )", "f([])"], ["f [])"]),
    (
        'start: a | b\na: %json {"type": "integer"} "x"\nb: %json {"type": "string"} "y"',
        ["12x", '"12"y'],
        ["12y", '"12"x'],
    ),
    (
        'start: json_value_0 json\njson: "a" json_start\njson_start: "b" json_start?\n'
        'json_value_0: %json {"enum": [1, [2]]} ";"',
        ["1;ab", "[2];abb"],
        ["1;a"],
    ),
    # Grammars inside of grammars.
    (
        'start: item %lark {\n  start: item item\n  item: "b"\n} item\nitem: "a"',
        ["abba"],
        ["aaaa", "aba"],
    ),
    ('start: %lark { start: "a"? } "c" %lark { start: D\nD: /[0-9]+/ }', ["ac1", "c22"], ["a1"]),
]


@pytest.mark.parametrize(("text", "right", "wrong"), LANGUAGES)
def test_a_grammar_accepts_what_the_dialect_says(text, right, wrong):
    assert [each for each in right if not verdict(text, each)] == []
    assert [each for each in wrong if verdict(text, each)] == []


# Texts on which Lark, which judges here, and llguidance 1.9.1 disagree (docs/llguidance.md).
DIFFERENT = [
    ("start: \"'foo'\" /a+/ | STRING /b+/\nSTRING: /'[^']*'/", "'foo'bb", False),
    ('start: stmt\nstmt: "if" NAME ":" | NAME "=" N\nNAME: /[a-z]+/\nN: /[0-9]+/', "if=1", False),
    ("start: (A | B | ABC)+\nA: /a/\nB: /b/\nABC: /abc/", "abab", True),
    ('%ignore " "\nstart: "a"', "a ", True),
    ('%ignore " "\nstart: "f" %json {}', "f 1", True),
    ('start: %json {"type": "string"}', '"\\u00e9"', True),
    ('start: %json {"type": "integer"}', "1.0", True),
    ("start: head\nhead[lazy]: /.*/", "a", False),
]


@pytest.mark.parametrize(("text", "written", "is_accepted"), DIFFERENT)
def test_where_lark_and_llguidance_disagree_lark_judges(text, written, is_accepted):
    assert verdict(text, written) == is_accepted


def test_grammars_with_names():
    given = {
        "item": cfgguide.Grammar('start: "x" | "(" start ")"'),
        "pair": 'start: @item ":" @item',
        "digits": cfgguide.regex("[0-9]*"),
        "value": cfgguide.json_schema({"type": "boolean"}),
    }
    text = 'start: "<" @pair "|" @pair "," @digits ";" @value ">"'
    judge = parses(cfgguide.Grammar.llguidance(text, grammars=given))
    assert judge("<x:(x)|((x)):x,12;true>")
    assert judge("<x:x|x:x,;false>")
    assert not judge("<x:x|x,1;true>")
    assert not judge("<x:x|x:x,a;true>")


def test_what_has_no_effect_is_listed():
    text = (
        '%llguidance {"no_forcing": true}\n'
        'start: a b\na[capture, stop="!"]: /.*/\nb[temperature=0.3]: "x"'
    )
    grammar = cfgguide.Grammar.llguidance(text)
    assert [name for name, _ in grammar.left_out] == [
        "no_forcing",
        "a[capture]",
        "a[stop]",
        "b[temperature]",
    ]
    assert all(why for _, why in grammar.left_out)


def test_a_conflict_names_the_rules_of_the_text():
    grammar = cfgguide.Grammar.llguidance('start: one | two\none: "a" "b"\ntwo: "a" "b"')
    with pytest.raises(GrammarError, match=r"(?s)Reduce.*\bone\b.*\btwo\b"):
        cfgguide.index.compile_recognizer(grammar, use_cache=False)


WALKED = [
    CALLS,
    TWO_ENDS,
    'start: item ("," item)*\nitem: "x"{1,3} | "[" start? "]"',
    "%ignore / +/\nstart: (A | B)+ ;\nA: /[a-c]+/\nB: /[0-9]+/".replace(" ;", ' ";"'),
    'start: v (";" v)*\nv: %json {"type": "array", "items": {"enum": [1, "a", null]}}',
    'start: a b\na[lazy]: /[ab]*ba|c/\nb: /[abc]{2,3}/ "."',
    'start: %regex {"substring_words": "a b a c"} "."',
]


@pytest.mark.parametrize("text", WALKED)
def test_all_that_masks_allow_parses(text):
    """Random tokens: what ends is a sentence for Lark, and something is always allowed."""
    words = ["a", "ab", "<f", "n=", ">1", "</fn>", "</", "foo>", "[[", "1,", '":', "ba", "; "]
    vocabulary = cfgguide.Vocabulary.of_bytes([word.encode() for word in words])
    grammar = cfgguide.Grammar.llguidance(text)
    judge = parses(grammar)
    index = cfgguide.compile(grammar, vocabulary, use_cache=False)
    choose = random.Random(text)
    plain = [n for n in range(vocabulary.size) if (vocabulary.tokens[n] or b"\xff").isascii()]
    n_ended = 0
    for _ in range(40):
        guide = cfgguide.Guide(index)
        for _ in range(60):
            allowed = {int(each) for each in guide.allowed_token_ids()}
            assert allowed
            if vocabulary.eos_token_ids[0] in allowed and choose.random() < 0.2:
                assert judge(guide.text.decode())
                n_ended += 1
                break
            typed = sorted(allowed.intersection(plain)) or sorted(
                allowed - {*vocabulary.eos_token_ids}
            )
            if not typed:
                assert judge(guide.text.decode())
                n_ended += 1
                break
            longer = [each for each in typed if each >= 256]
            guide.advance(choose.choice(longer if longer and choose.random() < 0.5 else typed))
    assert n_ended
