"""Trees of finished texts: lexemes are found by automata, and all else is Lark's.

Lark judges, with its own lexer: the tree, where each token and rule stands, and the error of a text
that is no sentence.
"""

from __future__ import annotations

import contextlib
import functools
import random
import re
from itertools import product
from typing import Any

import lark
import pytest
from fuzz.compare import TooSlow, at_most
from fuzz.features import EARLEY_FEATURES, FEATURES
from fuzz.grammars import Drawn, earley_grammars, grammars
from fuzz.judge import Judge, LarkRefusal
from fuzz.texts import texts_near
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from support.golden_folders import FOLDERS, folder_of
from support.judged_texts import texts_of
from support.judges import lark_parser
from support.short_languages import LANGUAGES, LEXERS, NOT_BASIC

import cfgguide
from cfgguide.errors import LimitError, PatternError
from cfgguide.grammar.grammar import Grammar
from cfgguide.grammar.lark_frontend import tree_parser_of
from cfgguide.output_types import TreeParser

PLACES = ("line", "column", "start_pos", "end_line", "end_column", "end_pos")


def shown(node: Any) -> Any:
    """Return a tree with all that Lark says of it."""
    pending, found = [node], []
    while pending:
        node = pending.pop()
        if isinstance(node, lark.Tree):
            meta = [getattr(node.meta, place, None) for place in PLACES]
            found.append((str(node.data), len(node.children), meta))
            pending += node.children
        elif isinstance(node, lark.Token):
            found.append((node.type, str(node), [getattr(node, place) for place in PLACES]))
        else:
            found.append(node)
    return found


def said(parser: lark.Lark, text: str) -> Any:
    """Return what one of Lark's parsers says of a text."""
    try:
        return shown(parser.parse(text))
    except lark.exceptions.UnexpectedInput as error:
        expected = getattr(error, "expected", None) or getattr(error, "allowed", None)
        return type(error), error.pos_in_stream, error.line, error.column, expected
    except (lark.exceptions.LarkError, EOFError) as error:  # an indenter's; and one of Lark's own
        return type(error), str(error)  # search for a better message


@functools.cache
def parsers_of(grammar: Grammar) -> tuple[lark.Lark, lark.Lark]:
    return lark_parser(grammar), tree_parser_of(grammar)


def damaged(text: str, n: int, seed: int) -> list[str]:
    """Return a text, and some that differ from it in a few places."""
    rng = random.Random(seed)
    found = [text]
    for _ in range(n if text else 0):
        at, to = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        found += [text[:at] + rng.choice(text) + text[at + 1 :], text[:at], text[:at] + text[to:]]
    return found


def compare(grammar: Grammar, texts: list[str]) -> None:
    judge, ours = parsers_of(grammar)
    for text in texts:
        assert said(ours, text) == said(judge, text), text


@pytest.mark.few(5)
@pytest.mark.parametrize("name", FOLDERS)
def test_golden_texts(name):
    folder = folder_of(name)
    texts = [*folder.sentences.values(), *(start.text for start in folder.starts)]
    texts += [start.sentence for start in folder.starts]
    compare(folder.grammar, [each for text in texts for each in damaged(text, 3, len(text))])


BUNDLED = ("c", "go", "java", "javascript", "lua", "pascal", "postgresql", "python", "python312")
BUNDLED += ("rust2021", "rust", "sql", "verilog")


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) for name in BUNDLED])
def test_texts_of_bundled_languages(name):
    texts = [text for mark in "+-!~?" for text in texts_of(f"{name}_texts.txt", mark)]
    assert len(texts) > 10
    grammar = Grammar.bundled(name)
    texts += [text + "\n" for text in texts]  # as Python has it
    compare(grammar, [each for text in texts for each in damaged(text, 1, len(text))])


@pytest.mark.parametrize("name", LANGUAGES)
@pytest.mark.parametrize("lexer", [None, *LEXERS])
def test_all_short_texts(name, lexer):
    text, alphabet = LANGUAGES[name]
    parser = "lalr" if lexer is None else "earley"
    if name in NOT_BASIC and lexer in (None, "basic"):
        return  # Lark finds them wrong when it first reads a text
    try:
        grammar = Grammar(text, parser=parser, lexer=lexer)
        parsers_of(grammar)
    except (cfgguide.CfgGuideError, lark.exceptions.GrammarError):
        return
    compare(grammar, ["".join(each) for n in range(6) for each in product(alphabet, repeat=n)])


# --- Random grammars ------------------------------------------------------------------------------


def compare_drawn(drawn: Drawn, number: int) -> None:
    try:
        Judge(drawn.text, drawn.lexer, (), drawn.parser)
        judge = lark.Lark(drawn.text, lexer=drawn.lexer, parser=drawn.parser)
        ours = tree_parser_of(Grammar(drawn.text, parser=drawn.parser, lexer=drawn.lexer))
    except (LarkRefusal, cfgguide.CfgGuideError, AttributeError):  # see `Judge`
        return
    for text in texts_near(
        judge, drawn.letters, random.Random(number), 12, 24 if drawn.parser == "lalr" else 6
    ):
        with contextlib.suppress(TooSlow), at_most(0.5):  # some trees of Earley's take any time
            expected = answer(judge, text)
            found = answer(ours, text)
            if expected is re.error or found in (PatternError, LimitError):
                return  # neither masks nor trees
            assert found == expected, text


def answer(parser: lark.Lark, text: str) -> Any:
    """Return what a parser says of a text, defects too."""
    try:
        return said(parser, text)
    except TooSlow:
        raise
    except Exception as error:
        return type(error)


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@seed(0)
@given(grammars(sorted({*FEATURES} - {"declare"})), st.integers(0, 2**16))
def test_random_grammars(drawn: Drawn, number: int) -> None:
    compare_drawn(drawn, number)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@seed(0)
@given(earley_grammars(EARLEY_FEATURES), st.integers(0, 2**16))
def test_random_grammars_of_earley(drawn: Drawn, number: int) -> None:
    compare_drawn(drawn, number)


# --- What `re` takes any time for -----------------------------------------------------------------

MANY = 20_000
HOSTILE = {
    "nested repetition": ("start: A | B\nA: /(a+)+b/\nB: /[ac]+/", "a" * MANY + "c"),
    "options": ("start: (A | B)+\nA: /c(?:a?|b?){40}(?=x)x*/\nB: /[abc]/", "cabab" * (MANY // 5)),
    "ignored": ('start: C+\nC: "c"\n%ignore /(?:a|b|ab)+!|[ab]/', "ab" * MANY + "c"),
    # Each takes time quadratic in the text with a scanner that remembers nothing.
    "longer in vain": ("start: A+\nA: /a+b|a/", "a" * MANY),
    "longer in vain beside it": ("start: (A | B)+\nA: /a/\nB.1: /a+b/", "a" * MANY),
    "looked for in vain": ("start: A+\nA: /a(?!a*b)/", "a" * MANY),
    "looked for twice": ("start: A+\nA: /a(?!(?:a(?=a*c|a|$))*b)/", "a" * MANY),
    "many contexts": ("start: (A | B)+\nA: /(?<=a)a\\b|(?<!b)a/\nB: /\\ba/", "a" * MANY),
    "several bytes": ("start: A+\nA: /(?:é|日)+b|[é日]/", "é日" * MANY),
}


@pytest.mark.few(3)
@pytest.mark.parametrize("name", HOSTILE)
def test_trees_take_linear_time(name):
    """With `re` the first ones would not end, and the others take long."""
    text, sentence = HOSTILE[name]
    grammar = Grammar(text)
    tree = TreeParser(grammar)(sentence)
    lexemes = sentence.strip("ab") if "%ignore" in text else sentence
    assert "".join(tree.scan_values(lambda _: True)) == lexemes
    with pytest.raises(lark.exceptions.UnexpectedInput) as caught:
        TreeParser(grammar)(sentence + "?")
    assert caught.value.column == len(sentence) + 1
