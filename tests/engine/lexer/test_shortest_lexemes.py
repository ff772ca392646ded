"""The shortest rest of a lexeme is what trying all bytes finds, and the scanner matches it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from cfgguide.automata.dfa import DEAD
from cfgguide.compiler import compile_recognizer
from cfgguide.engine.lexer import scanner
from cfgguide.engine.lexer.lookahead import Lookahead
from cfgguide.engine.lexer.scanner import NO_MATCH, Scanner
from cfgguide.engine.lexer.shortest_lexemes import FAR, LexemeTexts
from cfgguide.grammar import lark_frontend
from cfgguide.grammar.grammar import Grammar

GRAMMARS = {
    "json": Grammar.bundled("json").text,
    "keywords and names": 'start: ("if" NAME | "in" | "int")+\nNAME: /[a-z]+/\n%ignore " "',
    "look-ahead": "start: (A | B)+\nA: /a+(?=b)/\nB: /b(?!bb)/",
    "comments": 'start: "x"+\nCOMMENT: "/*" /(.|\\n)*?/ "*/"\n%ignore COMMENT\n%ignore " "',
}


def distances(scanner: Scanner, used: list[int], matches: dict[int, int]) -> dict[int, int]:
    """Fewest bytes from each state to one of some states, both answers of assertions taken."""
    found = dict(matches)
    changed = True
    while changed:
        changed = False
        for state in range(scanner.n_states):
            if scanner.is_assertion[state]:
                after = [found[each] for each in scanner.resolved(state) if each in found]
            else:
                targets = {int(scanner.transitions[state, scanner.byte_classes[b]]) for b in used}
                after = [found[each] + 1 for each in targets - {DEAD} if each in found]
            if after and min(after) < found.get(state, FAR):
                found[state] = min(after)
                changed = True
    return found


@pytest.mark.parametrize("name", GRAMMARS)
def test_distances_are_those_of_trying_all_bytes(name):
    built = scanner.build(lark_frontend.load(Grammar(GRAMMARS[name])))
    used = [byte for byte in range(256) if byte % 7]
    texts = LexemeTexts(built, Lookahead(built), frozenset(used))
    starts = [state for start in np.unique(built.starts) for state in built.resolved(int(start))]
    begins = {b for b in used if any(built.transitions[starts, built.byte_classes[b]] != DEAD)}
    for terminal_id in range(built.ignored + 1):
        matches = dict.fromkeys(np.flatnonzero(built.match == terminal_id).tolist(), 0)
        followed = {
            state: 0
            for state in matches
            if any(built.transitions[state, built.byte_classes[b]] == DEAD for b in begins)
        }
        for found, ends in ((texts.distances, matches), (texts.followed, followed)):
            expected = distances(built, used, ends)
            for state in range(built.n_states):
                assert found.to(state, terminal_id) == expected.get(state, FAR)


@pytest.mark.parametrize("is_last", [False, True])
def test_texts_lead_to_a_match_in_so_many_bytes(is_last):
    built = scanner.build(lark_frontend.load(Grammar(GRAMMARS["json"])))
    texts = LexemeTexts(built, Lookahead(built), frozenset(range(256)))
    known = texts.distances if is_last else texts.followed
    n_read = 0
    for state, terminal_id in np.argwhere(known.of(np.arange(built.n_states)) < FAR).tolist():
        text, here = texts.text(state, terminal_id, is_last=is_last), state
        assert text is not None
        assert len(text) == known.to(state, terminal_id)
        for byte in text:
            here = int(built.transitions[here, built.byte_classes[byte]])
        assert built.match[here] == terminal_id != NO_MATCH
        n_read += 1
    assert n_read > 50


@pytest.mark.parametrize(
    ("pattern", "text", "followed", "last"),
    [
        ("[a-z]+", "", None, 1),  # whatever may follow goes on with it
        ("aaaa|aa", "a", 3, 1),
        ("a+(?=b)b+", "a", 1, 1),  # the straight way, ``, is no match before anything but b
        ("(?!x)[a-z]+0", "", 2, 2),
    ],
)
def test_a_text_is_the_shortest_that_look_ahead_allows(pattern, text, followed, last):
    grammar = Grammar(f"start: A\nA: /{pattern}/")
    recognizer = compile_recognizer(grammar)
    texts = LexemeTexts(recognizer.scanner, recognizer.lookahead, frozenset(range(256)))
    number = recognizer.parse_table.terminals.index("A")
    before = recognizer.advance(recognizer.initial, text.encode())
    for is_last, expected in ((False, followed), (True, last)):
        found = [
            texts.text(each.scanner_state, number, obligations=each.obligations, is_last=is_last)
            for each in before.hypotheses
        ]
        rests = [rest.decode() for rest in found if rest is not None]
        assert min(map(len, rests), default=None) == expected
        assert all(re.fullmatch(pattern, text + rest) for rest in rests)


@pytest.mark.parametrize(
    ("pattern", "text", "closed"),
    [
        (r"\/\/[^\n]*|\/\*[^*]*\*\/", "/", "**/"),  # not `/`, which takes all of the line
        ("aaaa|a", "", "aaaa"),
        ("[a-z]+", "a", None),
        ("[a-z]{3}", "a", "xx"),
    ],
)
def test_nothing_goes_on_with_a_closed_text(pattern, text, closed):
    recognizer = compile_recognizer(Grammar(f"start: A\nA: /{pattern}/"))
    texts = LexemeTexts(recognizer.scanner, recognizer.lookahead, frozenset(range(256)))
    number = recognizer.parse_table.terminals.index("A")
    (before,) = recognizer.advance(recognizer.initial, text.encode()).hypotheses
    found = texts.closed(before.scanner_state, number)
    assert (found and found.decode()) == closed
    if closed is not None:
        whole = text + closed
        assert re.fullmatch(pattern, whole)
        assert not any(
            re.match(pattern, whole + chr(each)).end() > len(whole) for each in range(128)
        )


@pytest.mark.parametrize("name", GRAMMARS)
def test_letters_act_alike_where_they_lead_to_the_same(name):
    built = scanner.build(lark_frontend.load(Grammar(GRAMMARS[name])))
    lookahead = Lookahead(built)
    represents = built.class_representatives.tolist()
    owed_at_most = range(1, min(len(represents), 12))
    for state in range(0, built.n_states, 5):
        for owed in ((), tuple(owed_at_most)[-2:], tuple(-each for each in owed_at_most)):
            rows = [
                built.transitions[each] for each in (state, *(represents[abs(o)] for o in owed))
            ]
            columns = list(zip(*(row.tolist() for row in (*rows, built.contexts[0])), strict=True))
            acts = lookahead.acts(state, owed, 0).tolist()
            assert len(set(acts)) == len(set(columns)) == len(set(zip(acts, columns, strict=True)))


@pytest.mark.parametrize("name", GRAMMARS)
def test_runs_of_a_letter_lead_where_its_bytes_do(name):
    built = scanner.build(lark_frontend.load(Grammar(GRAMMARS[name])))
    lookahead = Lookahead(built)
    letters = range(built.transitions.shape[1])
    for state in range(0, built.n_states, 3):
        for letter, other in zip(letters, reversed(letters), strict=True):
            run = [letter] * 6 + [other] * 3 + [letter] * 2
            ways = list(lookahead.resolved(state, ()))
            for byte_class in run:
                ways = [
                    after for here, owed in ways for after in lookahead.step(here, owed, byte_class)
                ]
            assert lookahead.read(state, (), run) == ways
