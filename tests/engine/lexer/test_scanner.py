"""The union FSMs find the lexemes that Lark's contextual lexer finds, one by one.

Expected lexemes are Lark's own: its contextual lexer and parser run over the text together.
"""

from __future__ import annotations

import functools
import itertools

import lark
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark.exceptions import UnexpectedInput

from cfgguide.automata.dfa import DEAD
from cfgguide.base.limits import Budget, Limits
from cfgguide.engine.lexer import scanner
from cfgguide.engine.lexer.scanner import NO_MATCH
from cfgguide.errors import LimitError
from cfgguide.grammar import lark_frontend
from cfgguide.grammar.grammar import Grammar
from cfgguide.grammar.lr.stack import Stack
from cfgguide.grammar.lr.table import START_STATE

Lexemes = list[tuple[str, str]]

GRAMMARS = {
    "keywords and names": r"""
        start: statement*
        statement: "if" NAME ":" | NAME "=" (NAME | INT) ";" | "in" NAME
        NAME: /[a-z]+/
        INT: /[0-9]+/
        %ignore " "
        """,
    "dots": """
        start: (DOT | DOTS | FLOAT | INT | NAME)*
        DOT: "."
        DOTS: "..."
        FLOAT: /[0-9]+\\.[0-9]*/
        INT: /[0-9]+/
        NAME: /[a-f]+/
        %ignore " "
        """,
    "priorities": """
        start: (A | B | C | D)*
        A.1: /[ai]f/
        B: /[a-z]{3}/
        C.-1: /./
        D.2: "if1"
        """,
    "equal but for the name": """
        start: (TWO | ONE | THREE)+
        ONE: /[ab]f/
        TWO: /[bc]f/
        THREE: "bf"
        %ignore / /
        """,
    "longer first": """
        start: (AA | AB | "a" | "=" | "==" | "=" ">" | B)*
        AA: /a{2}/
        AB: /a+b/
        B: /b|f/
        %ignore " "
        """,
    "keywords in any case": """
        start: (IF | NAME | INT | "1f"i)*
        IF: "if"i
        NAME: /[a-zA-Z]+/
        INT: /[0-9]/
        %ignore " "
        """,
    "ignored names": """
        start: ("if" | ":" | INT)*
        INT: /[0-9]+/
        WORD: /[a-z ]+/
        %ignore WORD
        """,
    "ignored strings": """
        start: (NAME | ":")*
        NAME: /[a-z]+/
        %ignore "if"
        %ignore " "
        """,
    "only what the parser takes": """
        start: "if" "a" NAME | NAME INT | INT NAME "if"
        NAME: /[a-z]+/
        INT: /[0-9]/
        %ignore " "
        """,
    "strings and comments": r"""
        start: (STRING | NAME | COMMENT)*
        STRING: /"(?:[^"\\]|\\.)*?"/ | /'.*?'/
        COMMENT: /#[^\n]*/
        NAME: /[a-z=.:;1]+?[ ]/
        %ignore /[ \n]+/
        """,
    "look-behind": r"""
        start: (STRING | NAME)*
        STRING: /".*?(?<!\\)(\\\\)*?"/
        NAME: /[a-z=.:;1]+/
        %ignore " "
        """,
    "look-ahead": r"""
        start: (IF | NAME | DOT | SPACE | END)*
        IF: /if\b/
        NAME: /[a-z]+?(?=[=. ]|$)/
        DOT: /\.(?!\.)|\.\.(?!\.)|=(?!=\.)/
        SPACE: / +(?!if)/
        END: /[a-z1:;=](?=$|[1:;]\b)/
        %ignore /[ 1](?!a)/
        """,
    "before and behind": r"""
        start: (A | B | C | D)*
        A: /(?<![ab])[ab]+\b/
        B: /(?<=[ab])[=.]|\b[if]/
        C: /[^ab](?<!\.=)/
        D: /\B[abif](?!=)/
        """,
}

ALPHABET = 'if ab=.:;1"\\'


@functools.cache
def lark_of(grammar: str) -> lark.Lark:
    return lark.Lark(grammar, parser="lalr", lexer="contextual")


@functools.cache
def ours(grammar: str) -> tuple[lark_frontend.CompiledGrammar, scanner.Scanner]:
    compiled = lark_frontend.load(Grammar(grammar))
    return compiled, scanner.build(compiled)


def lexemes_of_lark(grammar: str, text: str) -> Lexemes:
    """Return the terminals and texts that Lark lexes and shifts before its first error, if any."""
    parser = lark_of(grammar).parse_interactive(text)
    tokens: list[lark.Token] = []
    try:
        for token in parser.iter_parse():
            tokens.append(token)  # those before an error count too
    except (UnexpectedInput, EOFError) as error:
        # A token is handed out before it is shifted: the last one may be what the parser refuses.
        if tokens and getattr(error, "token", None) is tokens[-1]:
            tokens.pop()
    return [(token.type, str(token)) for token in tokens]


def longest(machine: scanner.Scanner, state: int, data: bytes, start: int) -> tuple[int, int]:
    """Return the label and the end of the longest way to a match; questions are put to the text."""
    terminal_id, end = NO_MATCH, start
    for position in range(start, len(data) + 1):
        while machine.assertions[state].any():
            monitor, yes, no = machine.assertions[state].tolist()
            state = no if longest(machine, monitor, data, position)[0] == NO_MATCH else yes
        if machine.match[state] != NO_MATCH:
            terminal_id, end = int(machine.match[state]), position
        if position < len(data):
            state = int(machine.transitions[state, machine.byte_classes[data[position]]])
    return terminal_id, end


def lexemes(grammar: str, text: str) -> Lexemes:
    """Return the same from the union FSMs: at each place the longest way to a match."""
    compiled, machine = ours(grammar)
    table, data, start, context = compiled.parse_table, text.encode(), 0, 0
    stack = Stack(START_STATE)
    found: Lexemes = []
    while start < len(data):
        state = int(machine.starts[table.set_of_state[stack.state], context])
        terminal_id, end = longest(machine, state, data, start)
        for byte in data[start:end]:
            context = int(machine.contexts[context, machine.byte_classes[byte]])
        if terminal_id == NO_MATCH:
            break
        if terminal_id != machine.ignored:
            after = table.shift(stack, terminal_id) if terminal_id < machine.ignored else None
            if after is None:
                break
            found.append((table.terminals[terminal_id], data[start:end].decode()))
            stack = after
        start = end
    return found


@pytest.mark.few(5)
@pytest.mark.parametrize("grammar", GRAMMARS.values(), ids=GRAMMARS.keys())
def test_all_short_texts_have_the_lexemes_of_lark(grammar):
    for n in range(4):
        for letters in itertools.product(ALPHABET, repeat=n):
            text = "".join(letters)
            assert lexemes(grammar, text) == lexemes_of_lark(grammar, text), text


@pytest.mark.slow
@pytest.mark.parametrize("grammar", GRAMMARS.values(), ids=GRAMMARS.keys())
@settings(max_examples=150, deadline=None)
@given(text=st.text(ALPHABET + "\nFn#'", max_size=14))
def test_random_texts_have_the_lexemes_of_lark(grammar, text):
    assert lexemes(grammar, text) == lexemes_of_lark(grammar, text)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("keywords and names", "if x:", ["IF", "NAME", "COLON"]),
        ("keywords and names", "ifx=1;", ["NAME", "EQUAL", "INT", "SEMICOLON"]),
        ("keywords and names", "if=", ["IF"]),  # Lark refuses `=` then
        ("dots", "..a", ["DOT", "DOT", "NAME"]),
        ("dots", "...a", ["DOTS", "NAME"]),
        ("dots", "1..a", ["FLOAT", "DOT", "NAME"]),
        ("equal but for the name", "bf", ["THREE"]),  # ONE, the first by name, and then retyped
        ("equal but for the name", "cf", ["TWO"]),
        ("longer first", "aab", ["AB"]),
        ("longer first", "aaa", ["AA", "A"]),
        ("longer first", "==>", ["__ANON_0"]),
        ("only what the parser takes", "ifai", ["NAME"]),
        ("only what the parser takes", "if ai", ["IF", "A", "NAME"]),
        ("ignored strings", "if", []),  # NAME takes it, and it becomes what no rule uses
        ("ignored strings", "ifif :", ["NAME", "COLON"]),
        ("ignored names", "if:", ["COLON"]),
        ("look-behind", r'"a\"b"', ["STRING"]),
        ("look-behind", r'"a\\"b', ["STRING", "NAME"]),
    ],
)
def test_lexemes_by_hand(name, text, expected):
    """Lark and we agree with what a reader of its rules would say."""
    assert [terminal for terminal, _ in lexemes(GRAMMARS[name], text)] == expected
    assert [terminal for terminal, _ in lexemes_of_lark(GRAMMARS[name], text)] == expected


# --- The tables -----------------------------------------------------------------------------------


@pytest.mark.parametrize("grammar", GRAMMARS.values(), ids=GRAMMARS.keys())
def test_the_tables_keep_their_promises(grammar):
    compiled, machine = ours(grammar)
    transitions, starts = machine.transitions, machine.starts
    assert transitions.dtype == machine.match.dtype == machine.byte_classes.dtype == np.int32
    assert len(starts) == len(compiled.terminal_sets)
    assert not transitions[DEAD].any()
    assert machine.match[DEAD] == NO_MATCH
    assert machine.is_start[starts].all()
    assert not machine.is_start[transitions].any(), "a transition leads into a start"
    assert (machine.match[machine.is_start] == NO_MATCH).all(), "a lexeme without bytes"
    # From every live state a match can be reached.
    reaching = machine.match != NO_MATCH
    for _ in range(machine.n_states):
        reaching = reaching | reaching[transitions].any(axis=1)
        reaching = reaching | reaching[machine.assertions[:, 1:]].any(axis=1)
    assert reaching[~machine.is_start][1:].all()  # a set without terminals has a start too
    assert (machine.can_continue == (transitions != DEAD).any(axis=1)).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dots", "longer first", "priorities"])
def test_states_of_one_block_match_alike(name):
    """Compared on all continuations of up to five bytes."""
    _, machine = ours(GRAMMARS[name])

    def futures(state: int) -> list[bool]:
        level, found = np.array([state]), []
        for _ in range(5):
            level = machine.transitions[level].reshape(-1)
            found.extend((machine.match[level] != NO_MATCH).tolist())
        return found

    by_block: dict[int, list[bool]] = {}
    for state in range(machine.n_states):
        block = int(machine.equivalence_classes[state])
        assert by_block.setdefault(block, futures(state)) == futures(state)
    assert not any(by_block[0])
    distinct = {tuple(future) for future in by_block.values()}
    assert len(distinct) == len(by_block), "two blocks are alike"
    for block, state in enumerate(machine.class_representatives.tolist()):
        assert machine.equivalence_classes[state] == block


def test_used_bytes_are_those_of_lexemes():
    _, machine = ours('start: "ab" | /[0-2]/ | "é"\n%ignore " "')
    assert machine.used_bytes() == frozenset(b"ab012 " + "é".encode())


def test_too_many_states_are_refused_by_name():
    compiled, _ = ours(GRAMMARS["dots"])
    with pytest.raises(LimitError, match="max_scanner_states"):
        scanner.build(compiled, budget=Budget(Limits(max_scanner_states=5)))
