"""Lark stays as it was: whoever uses it beside cfgguide gets the same parsers as without."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import lark
import pytest
from lark import load_grammar
from lark.common import LexerConf
from lark.lexer import BasicLexer, ContextualLexer
from lark.parsers.lalr_parser import LALR_Parser
from support.threads import in_threads

import cfgguide
from cfgguide.grammar import lark_frontend, lark_parts
from cfgguide.grammar.grammar import Grammar

GRAMMAR = 'start: (A | B)+\nA: /[ab]+/\nB: /a+/\n%ignore " "'

SCRIPT = """
import lark.load_grammar, lark.common, lark.lark, lark.parser_frontends, lark.lexer
modules = [lark, lark.load_grammar, lark.common, lark.lark, lark.parser_frontends, lark.lexer]
before = {(module, name): value for module in modules for name, value in vars(module).items()}

def is_as_before():
    return all(vars(module)[name] is value for (module, name), value in before.items())

import cfgguide.grammar.indenters, cfgguide.grammar.lark_frontend, cfgguide.grammar.fragments
assert is_as_before()
assert not vars(lark.load_grammar._get_parser), "Lark has built its parser of grammars"
cfgguide.grammar.lark_frontend.load(cfgguide.Grammar('start: "a"'))
assert is_as_before()
"""


def test_importing_cfgguide_and_loading_a_grammar_change_no_name_of_lark():
    folder = str(Path(cfgguide.__file__).parents[1])
    subprocess.run(
        [sys.executable, "-c", SCRIPT], check=True, cwd=folder, env={"PYTHONPATH": folder}
    )


def test_a_parser_beside_ours_has_larks_own_parts_and_checks():
    lark_frontend.load(Grammar(GRAMMAR))
    parser = lark.Lark(GRAMMAR, parser="lalr")
    assert type(parser.parser.lexer) is ContextualLexer
    assert type(parser.parser.parser) is LALR_Parser
    assert type(lark.Lark(GRAMMAR, parser="lalr", lexer="basic").parser.lexer) is BasicLexer
    assert [str(token) for token in parser.parse("ab aa").children] == ["ab", "aa"]
    with pytest.raises(lark.exceptions.LexError, match="Collision between Terminals"):
        lark.Lark(GRAMMAR, parser="lalr", strict=True)


@pytest.mark.parametrize("is_failing", [False, True])
def test_the_replaced_name_is_restored_whatever_happens_and_from_any_thread(
    monkeypatch, is_failing
):
    original = load_grammar._get_parser
    configurations = []

    def get_parser():
        configurations.append(load_grammar.LexerConf)
        if is_failing:
            raise RuntimeError("Lark failed")
        original()
        get_parser.cache = original.cache

    monkeypatch.setattr(load_grammar, "_get_parser", get_parser)

    def build():
        try:
            lark_parts.build_reader_of_grammars()
        except RuntimeError:
            assert is_failing

    in_threads(lambda _: build(), range(8))
    assert load_grammar.LexerConf is LexerConf
    assert len(configurations) == (8 if is_failing else 1)
    assert LexerConf not in configurations


@pytest.mark.parametrize(
    ("name", "begin", "letters"),
    [
        ("STRING", '"', '"\\ia\n'),
        ("REGEXP", "/", "/\\ia\n"),
        ("_NL", "", "\r\n |"),
        ("_NL_OR", "", "\r\n |"),
    ],
)
def test_the_patterns_with_which_grammars_are_read_match_what_larks_do(name, begin, letters):
    of_lark = load_grammar.TERMINALS[name]
    ours = lark_parts.LINEAR[of_lark]
    for n in range(7):
        for text in map("".join, product(letters, repeat=n)):
            found, expected = re.match(ours, begin + text), re.match(of_lark, begin + text)
            assert (found and found[0]) == (expected and expected[0]), text


def test_grammars_are_read_in_linear_time_although_lark_has_built_its_reader_before():
    vars(load_grammar._get_parser).pop("cache", None)
    lark.Lark('start: "a"')
    before = load_grammar._get_parser.cache
    lark_frontend.load(Grammar(GRAMMAR))
    reader = load_grammar._get_parser.cache
    assert reader is not before
    assert {each.name for each in reader.lexer_conf.terminals} == {*load_grammar.TERMINALS}
    assert {each.pattern.value for each in reader.lexer_conf.terminals}.isdisjoint(
        lark_parts.LINEAR
    )
    lark_frontend.load(Grammar(GRAMMAR))
    assert load_grammar._get_parser.cache is reader
