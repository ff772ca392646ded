"""The arrays say what Lark's tables say, in an order that is the same in every process."""

from __future__ import annotations

import contextlib
import functools

import lark
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark.exceptions import UnexpectedToken
from lark.parsers.lalr_interactive_parser import InteractiveParser
from support.scripts import printed

from cfgguide.grammar import lark_frontend
from cfgguide.grammar.grammar import Grammar
from cfgguide.grammar.lr.stack import Stack
from cfgguide.grammar.lr.table import END, ERROR, NO_STATE, START_STATE, ParseTable

GRAMMARS = {
    "json": Grammar.bundled("json").text,
    "expressions": """
        ?start: sum
        ?sum: product | sum "+" product | sum "-" product
        ?product: atom | product "*" atom | "-" atom -> negative
        ?atom: NUMBER | NAME ["(" [start ("," start)*] ")"] | "(" start ")"
        NUMBER: /[0-9]+/
        NAME: /[a-z]+/
        """,
    "dangling else": 'start: "i" start | "i" start "e" start | "x"',
    "empty rules": 'start: a b a\na: | "x"\nb: | "y" b',
    "nothing but the end": "start: ",
    "recursion to the left and to the right": 'start: left "|" right\nleft: left "a" |\n'
    'right: "b" right |',
    "inlined rules, aliases and priorities": """
        start: _list{item, ","}
        _list{thing, separator}: thing (separator thing)*
        item.2: "a" -> one | "a" "b" -> two
            | "c" ~ 2..3
        """,
    "a terminal of no case": 'start: "日" | "日" "é" start',
}


@functools.cache
def lark_of(grammar: str) -> lark.Lark:
    return lark.Lark(grammar, parser="lalr", lexer="contextual")


@functools.cache
def table_of(grammar: str) -> ParseTable:
    return lark_frontend.load(Grammar(grammar)).parse_table


def accepted_by_lark(grammar: str, parser: InteractiveParser) -> set[str]:
    """Return what Lark's parser takes, by trying (its own `accepts` asks the case of a name)."""
    found = set()
    for name in ["$END", *(terminal.name for terminal in lark_of(grammar).terminals)]:
        with contextlib.suppress(UnexpectedToken):
            parser.copy().feed_token(lark.Token(name, ""))
            found.add(name)
    return found


def accepted(table: ParseTable, stack: Stack) -> set[str]:
    """Return the terminals that can be shifted, and $END if the text may end."""
    found = {
        name
        for number, name in enumerate(table.terminals)
        if number != END and table.shift(stack, number)
    }
    return found | ({"$END"} if table.is_sentence(stack) else set())


@pytest.mark.parametrize("grammar", GRAMMARS.values(), ids=GRAMMARS.keys())
@settings(max_examples=40, deadline=None)
@given(choices=st.lists(st.integers(0, 30), max_size=12))
def test_the_stack_machine_shifts_what_larks_interactive_parser_shifts(grammar, choices):
    table, parser = table_of(grammar), lark_of(grammar).parse_interactive()
    stack = Stack(START_STATE)
    assert accepted(table, stack) == accepted_by_lark(grammar, parser)
    for choice in choices:
        shiftable = sorted(accepted_by_lark(grammar, parser) - {"$END"})
        if not shiftable:
            break
        name = shiftable[choice % len(shiftable)]
        parser.feed_token(lark.Token(name, ""))
        following = table.shift(stack, table.terminals.index(name))
        assert following is not None
        stack = following
        assert accepted(table, stack) == accepted_by_lark(grammar, parser)
        assert stack.height == len(parser.parser_state.state_stack)


@pytest.mark.parametrize("grammar", GRAMMARS.values(), ids=GRAMMARS.keys())
def test_the_arrays_keep_their_promises(grammar):
    table = table_of(grammar)
    n_productions = len(table.productions)
    assert table.terminals[END] == "$END"
    assert list(table.terminals[1:]) == sorted(table.terminals[1:])
    assert list(table.nonterminals) == sorted(table.nonterminals)
    assert list(table.productions) == sorted(set(table.productions))
    assert table.action.shape == (table.n_states, table.n_terminals)
    assert table.goto.shape == (table.n_states, len(table.nonterminals))
    assert table.action.dtype == table.goto.dtype == np.int32
    assert ((table.action >= -n_productions) & (table.action <= table.n_states)).all()
    assert ((table.goto >= NO_STATE) & (table.goto < table.n_states)).all()
    assert table.lengths.tolist() == [len(right) for _, right in table.productions]
    assert [table.nonterminals[left] for left in table.left_sides] == [
        left for left, _ in table.productions
    ]
    # Nothing leads back to the start state: it lies at the bottom of every stack.
    assert not (table.action == START_STATE + 1).any()
    assert not (table.goto == START_STATE).any()
    assert table.n_states == len(lark_of(grammar).parser.parser._parse_table.states)


def test_actions_by_hand():
    """The smallest grammar with a shift, a reduction and an end: `start: "a"`."""
    table = table_of('start: "a"')
    assert table.terminals == ("$END", "A")
    assert table.productions == (("start", ("A",)),)
    after = table.shift(Stack(START_STATE), 1)
    assert table.action[START_STATE].tolist() == [ERROR, after.state + 1]
    assert table.action[after.state].tolist() == [-1, ERROR]  # reduce by production 0
    assert table.is_sentence(after)
    assert not table.is_sentence(Stack(START_STATE))
    assert table.shift(after, 1) is None


def test_rules_that_differ_only_in_their_alias_are_one_production():
    table = table_of('start: item+\nitem: "a" "b" -> one\n    | "c" -> two\n')
    assert [right for left, right in table.productions if left == "item"] == [("A", "B"), ("C",)]


DIGEST = """
import hashlib, sys
from dataclasses import fields
import numpy as np
from cfgguide.grammar import lark_frontend
from cfgguide.engine.lexer import scanner
from cfgguide.grammar.grammar import Grammar

digest = hashlib.sha256()
for text in sys.stdin.read().split(chr(0)):
    compiled = lark_frontend.load(Grammar(text))
    machine = scanner.build(compiled)
    for value in (compiled.parse_table, machine):
        for field in fields(value):
            item = getattr(value, field.name)
            digest.update(item.tobytes() if isinstance(item, np.ndarray) else repr(item).encode())
    digest.update(repr((compiled.patterns, compiled.terminal_sets)).encode())
print(digest.hexdigest())
"""


@pytest.mark.slow
def test_the_same_grammar_gives_the_same_bytes_in_every_process():
    texts = [
        *GRAMMARS.values(),
        'start: ("if" | "in" | "is" | NAME | AB | BA)*\nNAME: /[a-z]+/\nAB: /ab/\nBA: /ba/\n'
        '%ignore " "\n%ignore /#/',
    ]
    assert len(printed(DIGEST, "\0".join(texts)).strip()) == 64
