"""Endings are completions, whatever the text, and the same whatever was asked before."""

from __future__ import annotations

import ast
import functools
import json
import random

import lark
import pytest
from support.indenters import TreeIndenter
from support.languages import lark_parses
from support.small_tokenizers import standard_library_vocabulary

import cfgguide
from cfgguide.base.limits import work_of_thread
from cfgguide.engine.liveness.endings import Endings
from cfgguide.engine.machine.recognizer import Recognizer
from cfgguide.grammar.lr.shifts import RememberedShifts
from cfgguide.grammar.lr.stack import Stack
from cfgguide.grammar.lr.table import END, START_STATE
from cfgguide.guide.fewest_tokens import FewestTokens

JSON_TEXTS = [b'{"a": [1, {"b": "x\\', b"[[[[tr", b"[1.5e", b'{"k', b"-", b"[[], [{}", b'"\\u00']
PYTHON_TEXTS = [
    "def f(", "def f(a, b=", "def f():\n    x = [1, (2",
    "def f():\n    def g():\n       ", "def f():\n    try:\n        x",
    "def f():\n    try:\n        x\n    ", "def f():\n    x = f'{y",
    "def f():\n    '''text", "def f():\n    x = y if z", "def f():\n    return lambda",
    "@a\ndef f():\n    @b", "def f():\n  for x in y:\n\tz\n  \\\n",
]  # fmt: skip


@functools.cache
def recognizer_of(name: str) -> Recognizer:
    start = {"python": {"start": "function"}}.get(name, {})
    return cfgguide.index.compile_recognizer(cfgguide.Grammar.bundled(name, **start))


def endings_of(name: str) -> Endings:
    fewest = FewestTokens(standard_library_vocabulary()).count
    return Endings(recognizer_of(name), frozenset(range(256)), fewest)


@pytest.mark.parametrize("text", JSON_TEXTS)
def test_json_is_completed(text):
    recognizer = recognizer_of("json")
    ending = endings_of("json").of(recognizer.advance(recognizer.initial, text))
    json.loads(text + ending)


@pytest.mark.slow
def test_python_is_completed():
    recognizer, endings = recognizer_of("python"), endings_of("python")
    for text in PYTHON_TEXTS:
        configuration = recognizer.advance(recognizer.initial, text.encode())
        if configuration is not None:
            ending = endings.of(configuration)
            assert ending is not None, text
            ast.parse(text + ending.decode())


# What the parser says first cannot be lexed there, or only what comes later fulfils a look-ahead.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "start", "texts"),
    [
        (
            "java",
            "start",
            [
                f"class A {{ int f() {{ {text}"
                for text in (
                    "int x = a ? b(",
                    "int x = a ? (b",
                    "int x = a ? b[c",
                    "int x = a ? new A(",
                    "@e(c ? (",
                    "return x > 0 ? Math.max",
                    "return x > 0 ? Math.max(",
                )
            ],
        ),
        ("javascript", "function", [" async/", "async /", "async/**/", "async /* *"]),
        ("javascript", "start", ["()/", "() /", "a = (b, c) /*", "do a(); while (b)/"]),
    ],
)
def test_look_ahead_bars_no_ending(name, start, texts):
    grammar = cfgguide.Grammar.bundled(name, start=start)
    recognizer = cfgguide.index.compile_recognizer(grammar)
    endings = Endings(recognizer, frozenset(range(256)))
    for text in texts:
        ending = endings.of(recognizer.advance(recognizer.initial, text.encode()))
        assert ending is not None, text
        assert lark_parses(text + ending.decode(), name, start)


def test_names_that_cannot_stand_side_by_side_are_kept_apart():
    grammar = cfgguide.Grammar('start: NAME "of" NAME\nNAME: /[a-z]+/\n%ignore " "')
    recognizer = cfgguide.index.compile_recognizer(grammar)
    endings = Endings(recognizer, frozenset(range(256)))
    ending = endings.of(recognizer.advance(recognizer.initial, b"ab"))
    lark.Lark(grammar.text, parser="lalr", lexer="contextual").parse("ab" + ending.decode())


def test_a_gap_is_found_where_all_that_may_follow_looks_ahead():
    grammar = cfgguide.Grammar(
        'start: (DO NAME)~60\nDO: /do(?![a-z])/\nNAME: /(?![a-z]*q)[a-z]+/\n%ignore " "'
    )
    recognizer = cfgguide.index.compile_recognizer(grammar)
    endings = Endings(recognizer, frozenset(range(256)))
    ending = endings.of(recognizer.advance(recognizer.initial, b"do"))
    assert ending is not None
    lark.Lark(grammar.text, parser="lalr", lexer="contextual").parse("do" + ending.decode())


def test_an_ending_does_not_depend_on_what_was_asked_before():
    recognizer = recognizer_of("json")
    configurations = [recognizer.advance(recognizer.initial, text) for text in JSON_TEXTS]
    endings, again = endings_of("json"), endings_of("json")
    expected = [endings.of(configuration) for configuration in configurations]
    assert [again.of(each) for each in reversed(configurations)] == expected[::-1]


def test_a_stack_of_thousands_of_brackets_is_closed():
    recognizer = recognizer_of("json")
    configuration = recognizer.advance(recognizer.initial, b"[" * 3000)
    assert endings_of("json").of(configuration) == b"]" * 3000


@pytest.mark.parametrize(
    "grammar",
    [
        cfgguide.Grammar.bundled("json").text,
        'start: "i" start | "i" start "e" start | "x"',
        'start: a b a\na: | "x"\nb: | "y" b',
        "start: ",
    ],
)
def test_remembered_shifts_are_those_of_the_table(grammar):
    recognizer = cfgguide.index.compile_recognizer(cfgguide.Grammar(grammar))
    table = recognizer.parse_table
    remembered, rng = RememberedShifts.of(table), random.Random(0)
    for _ in range(30):
        stack = Stack(START_STATE)
        for _ in range(20):
            following = []
            for terminal in range(table.n_terminals):
                if terminal != END:
                    assert remembered.shift(stack, terminal) == table.shift(stack, terminal)
                    following.append(table.shift(stack, terminal))
            assert remembered.is_sentence(stack) == table.is_sentence(stack)
            following = [after for after in following if after is not None]
            if not following:
                break
            stack = rng.choice(following)


def test_terminals_that_the_parser_refuses_hide_no_ending():
    """One state is left for `x`, after which the table has 101 keywords, and a stack one."""
    words = " | ".join(f'"k{number}"' for number in range(100))
    grammar = cfgguide.Grammar(f'start: "a" x "kzzz" | "b" x ({words})\nx: "z"')
    recognizer = cfgguide.index.compile_recognizer(grammar)
    configuration = recognizer.advance(recognizer.initial, b"azk")
    assert Endings(recognizer, frozenset(range(256))).of(configuration) == b"zzz"


KEYWORDS = "class extends for if int interface new null private public return this void while"
NAMES_THAT_LOOK_AHEAD = rf"""
start: CLASS_ NAME "{{" (type NAME ";" | (type | VOID_) NAME "(" ")" block)* "}}"
block: "{{" (type NAME ";")* statement* "}}"
statement: expr? ";" | IF_ "(" expr ")" statement | WHILE_ "(" expr ")" block | RETURN_ expr? ";"
type: INT_ | NAME | type "[]"
expr: NAME "=" expr | sum
sum: sum "+" atom | atom
atom: NUMBER | NAME | NAME "(" ")" | "(" expr ")" | THIS_ | NULL_ | NEW_ NAME
NAME: /(?!\b({"|".join(KEYWORDS.split())})\b)[a-zA-Z]\w*/
NUMBER: /\d+(\.\d*)?/
COMMENT: /\/\/.*/ | /\/\*(\*(?!\/)|[^*])*\*\//
%ignore /\s+/
%ignore COMMENT
""" + "".join(
    rf"{word.upper()}_.5: /{word}(?!\w)/" + "\n"
    for word in KEYWORDS.split()
    if word in ("class", "if", "int", "new", "null", "return", "this", "void", "while")
)


def test_a_name_that_is_no_keyword_for_what_follows_it_is_ended():
    """`int` is a name before a letter; as a name that ends there it would need a digit of Arabic.

    A search of all that can follow took 4 seconds for a mask.
    """
    grammar = cfgguide.Grammar(NAMES_THAT_LOOK_AHEAD)
    index = cfgguide.compile(grammar, standard_library_vocabulary(), use_cache=False)
    recognizer = index.machine.recognizer
    configuration = recognizer.advance(recognizer.initial, b"class A { int")
    before = work_of_thread()
    index.subset(configuration)
    assert work_of_thread() - before < 4_000


COMMENTS_IN_BREAKS = r"""
start: stmt*
stmt: "a" _NL | "w" _NL _INDENT stmt+ _DEDENT
_NL: /LINE/
%declare _INDENT _DEDENT
"""


@pytest.mark.parametrize("line", [r"(\n[ \t]*(#[^\n]*)?)+", r"(\n[ \t]*|#[^\n]*)+"])
@pytest.mark.parametrize(
    "text", ["a\n\t#", "a\n #x", "w\n a\n  #", "w\n a\n #", "a\n\n ", "w\n#", "a", "a\n#"]
)
def test_a_line_break_that_has_begun_ends_in_a_column_that_a_block_has(text, line):
    """It may end at once, in the column that it has, or go on and begin another line."""
    check_ending_of_line(text, line)


@pytest.mark.parametrize("text", ["a#", "a#x", "w#", "w# \n a#"])
def test_a_comment_that_is_read_as_a_line_break_has_no_column_before_it_breaks_the_line(text):
    """Found by `make same`: the text was taken for a whole one."""
    check_ending_of_line(text, r"(\n[ \t]*|#[^\n]*)+")


def check_ending_of_line(text: str, line: str) -> None:
    rules = COMMENTS_IN_BREAKS.replace("LINE", line)
    grammar = cfgguide.Grammar(rules, postlex=TreeIndenter)
    judge = lark.Lark(rules, parser="lalr", postlex=TreeIndenter())
    guide = cfgguide.Guide(grammar, cfgguide.Vocabulary.of_bytes())
    for byte in text.encode():
        guide.advance(byte)
    for token in guide.shortest_completion():
        guide.advance(token)
    judge.parse(guide.text.decode())
