"""Where bytes lead a lexer inside a lexeme: as the recogniser, which also parses, reads them."""

from __future__ import annotations

import random
from weakref import WeakValueDictionary

import pytest

import cfgguide
from cfgguide.engine.machine.gaps import Gaps
from cfgguide.engine.machine.lexeme_sets import LexemeSets
from cfgguide.engine.machine.lexer_places import LEAVING, UNREAD, Lexer, LexerPlace
from cfgguide.engine.machine.recognizer import Configuration
from cfgguide.engine.masks.lexeme_rests import Rests

GRAMMARS = {
    "names and keywords": cfgguide.Grammar(
        r"""
        start: (IF | NAME | NUMBER | SIGN)+
        IF: /if(?!\w)/
        NAME: /(?!if\b)[a-zé]+/
        NUMBER: /[0-9]+(\.[0-9]+)?/
        SIGN: /->|[-+.]/
        COMMENT: /--[^\n]*/
        %ignore COMMENT
        %ignore /\s+/
        """
    ),
    "json": cfgguide.Grammar.bundled("json"),
    "sql_select": cfgguide.Grammar.bundled("sql_select"),
}
BYTES = cfgguide.Vocabulary.of_bytes([])
STARTS = {
    "names and keywords": b"if ifx -- i\n12 1.5 ->-- x",
    "json": b'{"a\\u00e9": [1.5e3, true, null]}',
    "sql_select": b"SELECT a.b, 'x''y' AS \"c d\" FROM t\nWHERE id >= 1.5 AND x IS NULL",
}
PIECES = [b"if", b"i", b" ", "é".encode(), b"\xc3", b"-", b"--", b"1", b".", b"'", b'"', b"S"]


def _configurations(recognizer, text):
    configuration = recognizer.initial
    for byte in text:
        yield configuration
        configuration = recognizer.advance(configuration, bytes([byte]))
        assert configuration is not None
    yield configuration


@pytest.mark.parametrize("name", GRAMMARS)
def test_lexers_read_as_recognisers_do(name):
    index = cfgguide.compile(GRAMMARS[name], BYTES)
    recognizer = index.machine.recognizer.with_whole_stacks()
    lexer, rng = Lexer.of(recognizer), random.Random(1)
    kinds = set()
    for configuration in _configurations(recognizer, STARTS[name]):
        if len({each.stack for each in configuration.hypotheses}) > 1:
            continue
        states = tuple(each[:2] for each in configuration.hypotheses)
        stack = configuration.hypotheses[0].stack
        terminal_set = int(recognizer.parse_table.set_of_state[stack.state])
        number = lexer.number(LexerPlace(states, configuration.context), terminal_set)
        for _ in range(40):
            data = b"".join(rng.choices(PIECES, k=rng.randint(1, 3)))
            reading = lexer.reading(number, data)
            after = recognizer.advance(configuration, data)
            is_live = after is not None and index.machine.is_live(after)
            kinds.add(min(reading.number, 0))
            if reading.number == UNREAD:
                assert not is_live, (configuration, data)
            elif reading.number != LEAVING and is_live:
                place = lexer.places[reading.number]
                others = [each for each in after.hypotheses if each[:2] not in place.states]
                alone = [Configuration((each,), after.context) for each in others]
                assert place.left or not any(map(index.machine.is_live, alone))
            elif reading.terminal_id >= 0 and is_live:
                table = recognizer.parse_table
                shifted = table.shift(stack, reading.terminal_id)
                assert shifted is not None
                rest = data[reading.end :]
                start = lexer.start(int(table.set_of_state[shifted.state]), reading.context)
                assert lexer.reading(start, rest).number != UNREAD
    assert kinds == {UNREAD, LEAVING, 0}


def _stay(stays):
    return [(text, token) for each in stays for text, ids in each.by_text.items() for token in ids]


def test_tokens_that_begin_alike_are_read_together():
    recognizer = cfgguide.compile(GRAMMARS["names and keywords"], BYTES).machine.recognizer
    lexer = Lexer.of(recognizer)
    names = recognizer.parse_table.terminals
    tokens = (b"ab", b"ab+", b"ab +", b"ab12", b"?", b"if", b"  x")
    rests = Rests(lexer, -1, tuple(range(len(tokens))), tokens, WeakValueDictionary())
    state = recognizer.initial.hypotheses[0].stack.state
    start = lexer.start(int(recognizer.parse_table.set_of_state[state]), 0)
    stays, ends, unclear = rests.at(start)
    assert {token: text for text, token in _stay(stays)} == {0: b"ab", 6: b"x", 5: b"if"}
    assert [(names[each.terminal_id], each.text) for each in ends] == [("NAME", b"ab")]
    after = lexer.start(int(recognizer.parse_table.set_of_state[state]), 0)
    assert sorted(token for _, token in _stay(ends[0].rests.at(after).stays)) == [1, 2, 3]
    assert 4 not in unclear
    # Where no monitor asks for texts, tokens stand together.
    plain = Rests(lexer, 0, tuple(range(len(tokens))), tokens, WeakValueDictionary())
    stays, ends, _ = plain.at(start)
    assert all(part.by_text.keys() == {b""} for part in stays)
    assert [(names[each.terminal_id], each.text) for each in ends] == [("NAME", b"")]


def test_a_gap_ends_what_it_is_no_part_of():
    recognizer = cfgguide.compile(GRAMMARS["names and keywords"], BYTES).machine.recognizer
    scanner, names = recognizer.scanner, recognizer.parse_table.terminals
    lexemes = LexemeSets.of(recognizer)
    gaps = Gaps(scanner, recognizer.lookahead, lexemes, frozenset(range(256)))
    after = recognizer.advance(recognizer.initial, b"i")
    wanted = {name: 1 << names.index(name) for name in ("IF", "NAME", "NUMBER")}
    found = {
        name: any(gaps.can_end(*each[:2], bit) for each in after.hypotheses)
        for name, bit in wanted.items()
    }
    assert found == {"IF": True, "NAME": True, "NUMBER": False}
    no_gap = cfgguide.compile(
        cfgguide.Grammar("start: NAME+\nNAME: /[a-z]/"), BYTES
    ).machine.recognizer
    without = Gaps(no_gap.scanner, no_gap.lookahead, LexemeSets.of(no_gap), frozenset(range(256)))
    hypothesis = no_gap.advance(no_gap.initial, b"a").hypotheses[0]
    assert not without.can_end(*hypothesis[:2], -1)
