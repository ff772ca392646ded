"""What is no grammar of the dialect is an error that points to its place, and says what to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

import cfgguide
from cfgguide.errors import CfgGuideError, GrammarError, LimitError

# A text, the line and column that the message names, and what it says.
WRONG = [
    # Words.
    ("start: 'a'", 1, 8, "texts stand in double quotes"),
    ('start: "a', 1, 8, "this text is never closed"),
    ('start: "a\nb: "c"', 1, 8, "this text is never closed"),
    ("start: /a", 1, 8, "this regular expression is never closed"),
    ("start: < a>", 1, 8, "a token is written <name> or <[id]>"),
    ('start: "a" \\\n "b"', 1, 12, "a rule goes on in the next line only if that begins with |"),
    ("start: $", 1, 8, "'$' is no word"),
    (r'start: "\d"', 1, 9, r"a text has no escape \d"),
    (r'start: "\ud800"', 1, 8, "half of a surrogate pair"),
    # Definitions.
    ("", 1, 1, "there is no rule called start"),
    ('START: "a"', 1, 1, "there is no rule called start, in lower case"),
    ('start: "a"\nstart: "b"', 2, 1, "start is defined twice"),
    ('start: A\nA: "a"\n\nA: "b"', 4, 1, "A is defined twice"),
    ('start "a"', 1, 7, 'expected : after a name that is defined, not "a"'),
    ('start: "a" )', 1, 12, "expected the end of the line, not )"),
    ('start: ("a"', 1, 12, "expected ) for the bracket that is open, not the end of the text"),
    ('start: ["a"\n', 1, 12, "expected ] for the bracket that is open, not the end of the line"),
    ('"a": start', 1, 1, "expected a rule, a terminal or a directive"),
    ('start.2: "a"', 1, 6, "priorities are not supported"),
    ('A.2: "a"\nstart: A', 1, 2, "priorities are not supported"),
    ('start{x}: "a"', 1, 6, "templates are not supported"),
    ('start: a{"b"}\na: "c"', 1, 9, "templates are not supported"),
    ('start: a::0x1\na::_: "" %if bit_set(0)', 1, 9, "rules with parameters"),
    ('start: "a" %if true', 1, 12, "rules with parameters"),
    ("start: B", 1, 8, "B is not defined"),
    ('start: nmae\nname: "a"', 1, 8, "nmae is not defined; did you mean name?"),
    ('start: A\nA: b\nb: "c"', 2, 4, "a terminal is not made of rules, and b is one"),
    ('start: A\nA: "a" B\nB: A', 3, 4, "the terminal A is a part of itself"),
    ('start: "a" & "b"', 1, 8, "& is for terminals"),
    # Counts.
    ('start: "a"{3,2}', 1, 11, "the range 3 to 2 ends before it begins"),
    ('start: "a"~3..2', 1, 11, "the range 3 to 2 ends before it begins"),
    ('start: "a"{-1}', 1, 12, "a count is a whole number"),
    ('start: "a"{99999999999}', 1, 12, "a count is a whole number"),
    ('start: "a"{2', 1, 13, "expected } after a count"),
    ('start: "ab".."c"', 1, 8, "one character to one character"),
    ('start: "b".."a"', 1, 8, "ends before it begins"),
    ('start: "a"i.."b"', 1, 8, "a range of characters has no flag i"),
    # Regular expressions: the place inside of them.
    ("start: /ab(?=c)/", 1, 12, "(?= is not supported"),
    ('start: "a"\n  | /x[y/', 2, 7, "this set of characters is never closed"),
    ("start: /a/l", 1, 11, "no flag l"),
    # Directives.
    ("%import common.NOTHING\nstart: NOTHING", 1, 16, "common has no NOTHING; it has DIGIT"),
    ("%import python.NAME\nstart: NAME", 1, 9, "only %import common.NAME is supported"),
    ('%declare A\nstart: "a"', 1, 1, "a terminal that is a token is written <name>"),
    ('%override start: "a"', 1, 1, "%override is not supported"),
    ('%nothing\nstart: "a"', 1, 1, "%nothing is no directive"),
    ('%llguidance []\nstart: "a"', 1, 1, "a JSON object follows %llguidance"),
    ('%llguidance {"speed": 1}\nstart: "a"', 1, 1, "there is no option 'speed'"),
    ('%llguidance {"no_forcing": 1}\nstart: "a"', 1, 1, "no_forcing is true or false"),
    ('%llguidance {"allow_invalid_utf8": true}\nstart: "a"', 1, 1, "texts are UTF-8"),
    ('%llguidance {"ignore_once": true}\nstart: "a"', 1, 1, "bound the ignored text"),
    ('%llguidance {"skip_repetition": "once"}\nstart: "a"', 1, 1, "bound the ignored text"),
    ("start: %json {", 1, 15, "JSON follows %json, and here: Expecting"),
    ("start: %json {\n a: 1}", 2, 2, "JSON follows %json, and here: Expecting"),
    ("start: %json NaN", 1, 14, "JSON knows no NaN"),
    ("start: %json []", 1, 8, "a JSON Schema is a JSON object"),
    ('start: %json {"type": "text"}', 1, 8, "type"),
    ('start: %json {"not": {}}', 1, 8, "no value is allowed"),
    ('start: %json {"x-guidance": {"whitespace": ""}}', 1, 8, "x-guidance may have"),
    ('start: %json {"x-guidance": {"whitespace_pattern": " *"}}', 1, 8, "pattern is null"),
    ("start: %regex {}", 1, 8, "%regex takes an object with one of substring_chunks"),
    ('start: %regex {"substring_words": 1}', 1, 8, "substring_words is a text"),
    ('start: %lark "a"', 1, 14, "expected { after %lark"),
    ('start: %lark { start: "a"', 1, 26, "expected } after the grammar of %lark"),
    ('start: %lark { other: "a" }', 1, 1, "there is no rule called start"),
    # What cannot stand in a terminal.
    ("start: A\nA: <|call|>", 2, 4, "a token cannot stand in a terminal"),
    ("start: A\nA: %json {}", 2, 4, "%json cannot stand in a terminal"),
    ("start: A\nA: @other", 2, 4, "a grammar cannot stand in a terminal"),
    ('start: A\nA: %lark { start: "a" }', 2, 4, "%lark cannot stand in a terminal"),
    # Tokens and other grammars.
    ("start: <[*]>", 1, 8, "<[*]> means all tokens of the model"),
    ("start: <[^1-3]>", 1, 8, "<[^1-3]> means all tokens of the model, or all but some"),
    ("start: <[3-1]>", 1, 8, "'3-1' is no range of token ids"),
    ("start: <[1-2-3]>", 1, 8, "'1-2-3' is no range of token ids"),
    ("start: <[,]>", 1, 8, "holds no token"),
    ("start: <[0-999999]>", 1, 8, "more than 100000 tokens"),
    ("start: @other", 1, 8, "@other is not among `grammars`: there is none"),
    # Attributes.
    ("start[max_tokens=3]: /a+/", 1, 7, "max_tokens counts tokens"),
    ("start[size=3]: /a+/", 1, 7, "there is no attribute size; there is lazy, suffix, stop"),
    ("start[lazy=1]: /a+/", 1, 7, "lazy has no value"),
    ("start[stop]: /a+/", 1, 7, "stop needs a text or a terminal"),
    ("start[temperature]: /a+/", 1, 7, "temperature needs a value"),
    ('start[stop="a", suffix="b"]: /a+/', 1, 7, "a rule has stop or suffix, not both"),
    ("start[lazy, lazy]: /a+/", 1, 13, "lazy stands here twice"),
    ("A[lazy]: /a/\nstart: A", 1, 2, "only rules have attributes"),
    ('start[lazy]: item\nitem: "a"', 1, 14, "a terminal is not made of rules, and item is one"),
    # What Lark would do elsewhere than meant.
    ("%ignore /#.*/\nstart: %json {}", 2, 8, "where this is no white space"),
    ('%ignore " "\nstart: "a" %lark { start: "b" }', 2, 12, "Lark follows one %ignore everywhere"),
    (
        'start: a | b\na: %json {} "x"\nb: %json {"type": "string"} "y"',
        3,
        4,
        "this may come where the one of line 2 may",
    ),
    ("start: start", 1, 1, "no text is a sentence"),
    ('start: "a" A\nA: "a" & "b"', 1, 1, "no text is a sentence"),
]


@pytest.mark.parametrize(("text", "line", "column", "said"), WRONG)
def test_a_wrong_grammar_is_an_error_at_its_place(text, line, column, said):
    with pytest.raises(CfgGuideError) as raised:
        cfgguide.Grammar.llguidance(text)
    assert said in str(raised.value)
    assert f"the grammar, line {line}, column {column}: " in str(raised.value)


def test_an_error_shows_the_line_and_a_caret_below_the_place():
    with pytest.raises(GrammarError) as raised:
        cfgguide.Grammar.llguidance("start: call\ncall[lazy, max_tokens=9]: /.*x/\n")
    assert str(raised.value) == (
        "[grammar] the grammar, line 2, column 12: max_tokens counts tokens, and a mask here "
        "depends on the text alone; bound the text, as in /(?s:.){0,400}/, or give a budget of "
        "tokens when generating\n"
        "call[lazy, max_tokens=9]: /.*x/\n"
        "           ^"
    )


def test_a_long_line_is_cut_around_the_place():
    with pytest.raises(GrammarError) as raised:
        cfgguide.Grammar.llguidance(f"start: {'x ' * 500}$ {'y ' * 500}")
    _, excerpt, caret = str(raised.value).split("\n")
    assert len(excerpt) == 80
    assert excerpt[len(caret) - 1] == "$"


def test_an_error_in_a_grammar_with_a_name_says_so():
    with pytest.raises(
        GrammarError, match=r"the grammar @item, line 1, column 8: B is not defined"
    ):
        cfgguide.Grammar.llguidance("start: @item", grammars={"item": "start: B"})


@pytest.mark.parametrize(
    ("grammars", "said"),
    [
        ([], "grammars maps names, without @, to grammars or to texts"),
        ({"a": 1}, "grammars maps names, without @, to grammars or to texts"),
        ({"a": "start: @b", "b": "start: @a"}, "a part of itself: @a -> @b -> @a"),
        ({"a": cfgguide.Grammar('start: "("')}, None),
        ({"a": cfgguide.Grammar("start: (")}, "line 1, column 8: Lark rejects the grammar"),
        ({"a": cfgguide.Grammar('%ignore " "\nstart: "a"')}, "line 1, column 8: it has an %ignore"),
    ],
)
def test_grammars_with_names_are_checked(grammars, said):
    if said is None:
        cfgguide.Grammar.llguidance("start: @a", grammars=grammars)
        return
    with pytest.raises(GrammarError, match=said):
        cfgguide.Grammar.llguidance("start: @a", grammars=grammars)


@pytest.mark.parametrize("given", [None, b"start: ", 1])
def test_a_grammar_is_a_text(given):
    with pytest.raises(GrammarError, match="a grammar is a text, not"):
        cfgguide.Grammar.llguidance(given)


#: With time for a slow machine: something else has to be the reason.
STRANGERS = replace(cfgguide.Limits.for_strangers(), max_seconds=100.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("start: " + "(" * 5000 + '"a"' + ")" * 5000, "more than 50 brackets"),
        ("start: " + "~" * 5000 + "/a/", "more than 50 brackets"),
        ("start: " + "%lark { start: " * 5000, "more than 50 brackets"),
        ("start: /" + "(" * 5000 + "a" + ")" * 5000 + "/", "more than 100 groups"),
        ("start: %json " + "[" * 100_000, "this JSON is nested too deeply"),
        ('start: %json {"type": "array"' + ', "items": {"type": "array"' * 400 + "}" * 401, "deep"),
        (
            'start: A40\nA0: "ab"\n' + "\n".join(f"A{n}: A{n - 1} A{n - 1}" for n in range(1, 41)),
            "more than 200000 characters as a regular expression",
        ),
        (
            'start: A99\nA0: "ab"\n' + "\n".join(f"A{n}: A{n - 1}" for n in range(1, 100)),
            "more than 50 terminals, each a part of the one before",
        ),
        ('start: %regex {"substring_chars": "' + "ab" * 5000 + '"}', "characters, and at most"),
        ("start: A\nA: ~/(a|b)*a(a|b){18}/", "too many states"),
        ("start: /" + "a?" * 5000 + "/", "more than 300 parts in a row"),
        ("start: a\na[lazy]: /(a|b)*a(a|b){16}/", "max_fsm_states"),
        ("start: A\nA: /(a{1000}){1000}/", "the grammar, line 2, column 1: "),
        ("start: /(a{1000}){1000}/", "the grammar, line 1, column 8: "),
        (" " * 1_000_001, "at most 1000000 fit"),
    ],
)
def test_hostile_texts_are_refused_soon(text, said):
    with pytest.raises(CfgGuideError, match=said):
        cfgguide.Grammar.llguidance(text, limits=STRANGERS)


def test_reading_ends_with_the_time_that_it_may_take():
    heads = "".join(f"h{n}[lazy]: /(.|\\n)*<tool{n}>/\n" for n in range(60))
    calls = " | ".join(f'h{n} "{n}"' for n in range(60))
    text = f"start: ({calls})*\n{heads}"
    with pytest.raises(LimitError, match="max_seconds"):
        cfgguide.Grammar.llguidance(text, limits=cfgguide.Limits(max_seconds=0.2))
