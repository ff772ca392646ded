"""Grammars with vocabularies so short that random models soon end a sentence; Lark is the judge."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import lark

import cfgguide
from support.tiny_models import EOS, short_vocabulary_of, vocabulary_of

JSON_PIECES = [
    *'{}[]:,"abc012-.',
    *('":', '","', '"}', '"]', '{"', '["', "[]", "{}", "]]", "]}", "}}"),
    *("true", "false", "null", "tr", "ue", "n", "u", "ll", "1.", "e+", "e", "\\", '\\"', "\\u00"),
    *(b"\xc3", b"\xa9", b"\xe6\x97", b"\xa5"),  # characters in two tokens each
]
GRAMMARS = {
    "json": (cfgguide.Grammar.bundled("json", max_ignored=0), short_vocabulary_of(JSON_PIECES)),
    "lists": (
        cfgguide.Grammar('start: "[" (item ("," item)*)? "]"\nitem: WORD | start\nWORD: /[a-c]+/'),
        short_vocabulary_of(JSON_PIECES),
    ),
    "nested brackets": (
        cfgguide.Grammar('start: "(" start ")" | "[" start "]" | NAME\nNAME: /[a-z]+/'),
        short_vocabulary_of([*"()[]abc", "((", "([", "))", ")]", "])", "a)", "b]", "[a", "cc"]),
    ),
    "fall-back": (
        cfgguide.Grammar('start: ("." | "..." "." | NAME)+ ";"\nNAME: /[a-z]+(-[a-z]+)?/'),
        short_vocabulary_of([*".ax-;", "..", "...", "....", "-;", ".;", "a-x"]),
    ),
    "keywords": (
        cfgguide.Grammar(
            'start: ("if" NAME ":" | NAME "=" NUMBER ";")+\n'
            'NAME: /[a-z]+/\nNUMBER: /[0-9]+/\n%ignore " "'
        ),
        short_vocabulary_of([*"ifx:=;1 ", "if ", " x", "if=", "1;", "x:"]),
    ),
    "characters of several bytes": (
        cfgguide.Grammar('start: WORD ("," WORD)*\nWORD: /[α-ω]{1,3}|日本|𝄞/'),
        vocabulary_of(["α", "βγ", "日本", ",", ",,", "α,", b"\xce", b"\xf0\x9d", b"\xac,"]),
    ),
}


@functools.cache
def index_of(name: str) -> cfgguide.Index:
    return cfgguide.compile(*GRAMMARS[name])


@functools.cache
def judge_of(name: str) -> lark.Lark:
    return lark.Lark(GRAMMARS[name][0].text, parser="lalr", lexer="contextual")


def assert_sentences(name: str, rows: Sequence[Sequence[int]]) -> int:
    """Assert that the finished rows are sentences by Lark; return how many there are."""
    n_finished = 0
    for row in rows:
        if EOS in row:
            end = row.index(EOS)
            judge_of(name).parse(index_of(name).vocabulary.spell(row[:end]).decode())
            assert set(row[end:]) == {EOS}
            n_finished += 1
    return n_finished
