"""Subtrees that a walk takes whole: the same tokens lead to the same configurations.

The recogniser is the judge, token by token, and so is a walk that visits every node.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any, ClassVar

import pytest
from lark.indenter import Indenter

from cfgguide.compiler import compile_recognizer
from cfgguide.engine.liveness.always_live import AlwaysLive
from cfgguide.engine.machine.recognizer import Configuration, Recognizer
from cfgguide.engine.masks.arrays import N_VISITED
from cfgguide.engine.masks.token_classes import TokenClasses
from cfgguide.engine.masks.walk import LrWalker, Walk
from cfgguide.engine.vocabulary.spelling import Spelling
from cfgguide.engine.vocabulary.trie import VocabularyTrie
from cfgguide.grammar.grammar import Grammar
from cfgguide.grammar.indenters import CPythonIndenter


class PlainIndenter(Indenter):
    NL_type = "_NEWLINE"
    OPEN_PAREN_types: ClassVar[list[str]] = ["LPAR"]
    CLOSE_PAREN_types: ClassVar[list[str]] = ["RPAR"]
    INDENT_type = "_INDENT"
    DEDENT_type = "_DEDENT"
    tab_len = 3


class LineIndenter(CPythonIndenter):
    OPEN_PAREN_types: ClassVar[list[str]] = ["LPAR"]
    CLOSE_PAREN_types: ClassVar[list[str]] = ["RPAR"]
    DECIMAL_types: ClassVar[list[str]] = ["DECIMAL"]
    max_digits = 3
    max_brackets = 2
    max_indents = 2


LINES = r"""
start: (_NEWLINE | statement)*
statement: (NAME | DECIMAL | LPAR NAME* RPAR) (":" _NEWLINE _INDENT statement+ _DEDENT | _NEWLINE)
NAME: /[a-z]+/
DECIMAL: /[1-9][0-9]*/
LPAR: "("
RPAR: ")"
_NEWLINE: /BREAKS/
%ignore " "
%declare _INDENT _DEDENT
"""
_LINE_TEXTS = ["a\n", "a:\n  # a", "a # a", "(a\n  #", "a\n    ", "12"]
#: Grammars with texts after which most characters stay in the lexeme, and characters of tokens:
#: plain ones, of which there are all words, and others.
CASES: dict[str, tuple[str, dict[str, Any], list[str], str, str]] = {
    "strings": (
        r"""
        start: (STRING | NAME | IF)*
        STRING: /"([^"\\\n]|\\["\\])*"/
        IF: "if"
        NAME: /[a-z][a-z0-9]*/
        %ignore /[ \n]+/
        """,
        {},
        ['"', '"a', "a", "i", "if", '"a" ', '"\\'],
        "a1 ",
        'é"\\',
    ),
    "comments": (
        r"""
        start: (NAME | "/")*
        NAME: /[a-z]+/
        %ignore /\/\*([^*]|\*+[^*\/])*\*+\// | /\/\/[^\n]*/ | " "
        """,
        {},
        ["/*", "/* a*", "// a", "a /", "a"],
        "a/ ",
        "*\n",
    ),
    "look-around": (
        r"""
        start: (WORD | LINE | DOT)*
        WORD: /(?<![.])[a-z]+\b/
        LINE: /"[^"]*"/
        DOT: /\.(?=[^.]*\.)|!/
        %ignore /(?<=[a-z.])[ ]+/
        """,
        {},
        ["a", '"', '"a', "a.", "a!", '"a"a'],
        "ab",
        " .!",
    ),
    "each terminal by itself": (
        r"""
        start: (A "c" | B " " | "c" LONG)*
        A: /a+/
        B: /[ab]+/
        LONG: /[^c]*c/
        """,
        {"parser": "earley"},
        ["a", "b", "ca", "cab", "ab "],
        "ab",
        "c ",
    ),
    "lines, of Lark's rules": (
        LINES.replace("BREAKS", r"(#[^\n]*)?(\n[ \t]*(#[^\n]*)?)+"),
        {"postlex": PlainIndenter()},
        _LINE_TEXTS,
        "a1#",
        "\n ",
    ),
    "lines, of CPython's rules": (
        LINES.replace(
            "BREAKS",
            r"[ \t\f]*(#[^\r\n]*)?((\r\n?|\n)[ \t\f]*(#[^\r\n]*)?)+|[ \t\f]*#[^\r\n]*",
        ),
        {"postlex": LineIndenter()},
        _LINE_TEXTS,
        "a1#",
        "\n ",
    ),
}


@functools.cache
def recognizer_of(name: str) -> Recognizer:
    text, options, *_ = CASES[name]
    made = compile_recognizer(Grammar(text, **{"parser": "lalr", **options}))
    tables = made.parse_table, made.scanner, made.indentation_rules
    return Recognizer(*tables, shortens_stacks=False)


def walker_of(recognizer: Recognizer, tokens: list[bytes], *, classes: bool) -> LrWalker:
    token_classes = TokenClasses(recognizer, VocabularyTrie.of(tokens))
    if classes:
        token_classes.work()
    else:
        token_classes.work_a_while = lambda: None  # type: ignore[method-assign]
    return LrWalker(recognizer, token_classes, AlwaysLive.of(recognizer, Spelling.of(tokens)))


def found_by(walk: Walk) -> tuple[Any, ...]:
    """Return all that a walk has found."""
    outcomes = [walk.outcome(number) for number in range(walk.n_outcomes)]
    verdicts = [walk.verdict(number) for number in range(walk.n_outcomes)]
    return walk.outcome_of_tokens(), outcomes, verdicts, walk.inspected, walk.reads


def n_visited(walker: LrWalker) -> int:
    assert walker._work is not None
    return int(walker._work.counts[N_VISITED])


def configurations(recognizer: Recognizer, texts: list[str]) -> list[Configuration]:
    found = [recognizer.initial]
    for text in texts:
        after = recognizer.advance(recognizer.initial, text.encode())
        assert after is not None, text
        found.append(after)
    return found


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_what_is_taken_whole_leads_where_the_recogniser_says(name: str, classes: bool) -> None:
    recognizer, (*_, texts, plain, others) = recognizer_of(name), CASES[name]
    words = ["".join(each) for n in (1, 2) for each in itertools.product(plain + others, repeat=n)]
    words += ["".join(each) for n in (3, 4, 5) for each in itertools.product(plain, repeat=n)]
    tokens = [word.encode() for word in words] + [b"\xc3", b"\xa9", b"a\xc3", b"\xa9a"]
    walker = walker_of(recognizer, tokens, classes=classes)
    n_visited_at_all = n_without = 0
    for configuration in configurations(recognizer, texts):
        walk = walker.walk(configuration)
        found, n_visited_at_all = found_by(walk), n_visited_at_all + n_visited(walker)
        led = {
            token_id: after
            for token_id, token in enumerate(tokens)
            if (after := recognizer.advance(configuration, token)) is not None
        }
        outcomes = found[1]
        assert {token: outcomes[n].configuration for token, n in found[0].items()} == led
        assert len(set(outcomes)) == len(outcomes), "an outcome twice"
        assert walker._work is not None
        below = walker._work.below.copy()
        walker._work.below[:] = -1 % 2**64  # whatever comes below a node changes something
        assert found_by(walker.walk(configuration)) == found
        n_without += n_visited(walker)
        walker._work.below[:] = below
    assert n_visited_at_all < n_without or (classes and n_visited_at_all == n_without)


@pytest.mark.parametrize("n", [6, 7])
def test_visits_do_not_grow_with_what_stays(n: int) -> None:
    """Of all texts of letters inside a string only the first letters are looked at."""
    recognizer = recognizer_of("strings")
    tokens = [
        bytes(each) for size in range(1, n) for each in itertools.product(b"xyz1", repeat=size)
    ]
    walker = walker_of(recognizer, [*tokens, b'"', b'xx"x'], classes=False)
    after = recognizer.advance(recognizer.initial, b'"x')
    assert after is not None
    walk = walker.walk(after)
    assert len(walk.outcome_of_tokens()) == len(tokens) + 2
    assert n_visited(walker) == 5 + 4 + 4 + 1 + 1
