"""Grammars with sentences, and texts that they refuse at a known place."""

from __future__ import annotations

import functools
import itertools
from typing import NamedTuple

import lark

from cfgguide.compiler import compile_recognizer
from cfgguide.engine.machine.recognizer import Recognizer
from cfgguide.grammar.grammar import Grammar


@functools.cache
def recognizer_of(grammar: Grammar) -> Recognizer:
    return compile_recognizer(grammar)


@functools.cache
def judge_of(grammar: Grammar) -> lark.Lark:
    return lark.Lark(grammar.text, parser="lalr", lexer="contextual")


class Found(NamedTuple):
    """A lexeme as Lark has it."""

    terminal: str
    start: int
    end: int


def lark_lexemes(grammar: Grammar, text: str) -> list[Found] | None:
    """Lark's own tokens, at their places in UTF-8; None where it refuses the text."""
    try:
        parser = judge_of(grammar).parse_interactive(text)
        tokens = parser.exhaust_lexer()
        parser.feed_eof(tokens[-1] if tokens else None)
    except lark.exceptions.UnexpectedInput:
        return None
    places = [0, *itertools.accumulate(len(character.encode()) for character in text)]
    return [Found(token.type, places[token.start_pos], places[token.end_pos]) for token in tokens]


class Case(NamedTuple):
    """A grammar and its letters: texts of up to `n` of them, and sentences of up to `most`.

    `most` is so large that every lexeme that can stand after a start of up to `n` letters stands
    there in some sentence. `foreign` letters are in no sentence.
    """

    grammar: Grammar
    letters: str
    n: int
    most: int
    foreign: str = "!"


CASES = {
    "nested": Case(Grammar('start: "(" start ")" | "x"'), "(x)", 3, 9),
    "the table offers more than the stack allows": Case(
        Grammar('start: "(" x ")" | "[" x "]"\nx: NAME\nNAME: /n+/'), "([n])", 4, 6
    ),
    "fall-back": Case(Grammar('start: ("." "." NAME | "...")+\nNAME: /x+/'), ".x", 6, 9),
    "keywords": Case(Grammar('start: "i" " " NAME ":" | NAME "="\nNAME: /[ij]+/'), "ij:= ", 4, 6),
    "ignored": Case(Grammar('start: "a" "b"\n%ignore / +|#b/'), "ab #", 4, 7),
    "one name swallows the next": Case(
        Grammar('start: A B | A "," A\nA: /a+/\nB: /a/'), "a,", 6, 10
    ),
    "preference, not length": Case(
        Grammar('start: X B "c"\nX: /a+/\nY: /ab/\nB: "b"'), "abc", 5, 8
    ),
    "lazy": Case(Grammar("start: S S?\nS: /'[^!]*?'/"), "'b", 6, 8),
    "counted": Case(Grammar("start: A /b/?\nA: /(aa){2,3}/"), "ab", 7, 9),
    "empty": Case(Grammar('start: ("a" "b")*'), "ab", 5, 7),
    "characters of several bytes": Case(
        Grammar('start: "é" "日" | "è"+'), "éè日", 4, 5, foreign="ö旧"
    ),
    "names that Lark takes from the text": Case(Grammar('start: "日"* "_1"'), "日_1", 4, 7),
}


@functools.cache
def sentences_of(name: str) -> dict[bytes, list[Found]]:
    case = CASES[name]
    found = {}
    for length in range(case.most + 1):
        for letters in itertools.product(case.letters, repeat=length):
            text = "".join(letters)
            tokens = lark_lexemes(case.grammar, text)
            if tokens is not None:
                found[text.encode()] = tokens
    return found


def texts_of(name: str) -> list[bytes]:
    """Every short text, with letters that no sentence has."""
    case = CASES[name]
    return [
        "".join(letters).encode()
        for length in range(case.n + 1)
        for letters in itertools.product(case.letters + case.foreign, repeat=length)
    ]


#: A text that is no JSON, the offset, and what is expected there; by hand.
REFUSED_JSON = [
    (b"", 0, "FALSE LBRACE LSQB NULL NUMBER STRING TRUE WS"),
    (b" ", 1, "FALSE LBRACE LSQB NULL NUMBER STRING TRUE WS"),  # WS can go on
    (b"nul", 3, "NULL"),
    (b"nule", 3, "NULL"),
    (b"nulll", 4, "$END WS"),
    (b"01", 1, "$END NUMBER WS"),
    (b"+1", 0, "FALSE LBRACE LSQB NULL NUMBER STRING TRUE WS"),
    (b"1.", 2, "NUMBER"),
    (b"1.e5", 2, "NUMBER"),
    (b"[1,]", 3, "FALSE LBRACE LSQB NULL NUMBER STRING TRUE WS"),
    (b"[,1]", 1, "FALSE LBRACE LSQB NULL NUMBER RSQB STRING TRUE WS"),
    (b'{"a" 1}', 5, "COLON WS"),  # after the space, which can go on
    (b'{"a"1}', 4, "COLON WS"),
    (b"{1", 1, "RBRACE STRING WS"),
    (b'{"a":1,}', 7, "STRING WS"),
    (b'"a\nb"', 2, "STRING"),
    (b'"a\tb"', 2, "STRING"),
    (b'"\\x"', 2, "STRING"),
    (b'"\\u00g0"', 5, "STRING"),
    (b'"\x00"', 1, "STRING"),
    (b'"\xc3"', 2, "STRING"),  # a character of two bytes has begun
    (b'"\xf4\x90\x80\x80"', 2, "STRING"),  # beyond U+10FFFF
    (b"[1}", 2, "COMMA NUMBER RSQB WS"),
    (b"{} {}", 3, "$END WS"),
    (b"// x\n1", 0, "FALSE LBRACE LSQB NULL NUMBER STRING TRUE WS"),
    (b"\xc2\xa01", 0, "FALSE LBRACE LSQB NULL NUMBER STRING TRUE WS"),  # no-break space
]
