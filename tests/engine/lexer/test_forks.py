"""Lark's dynamic lexers ask each terminal by itself: forks find where each of them may end.

Expected ends are those of `re`. The *dynamic* lexer takes the match of each terminal, the
*dynamic_complete* lexer also those in what it matched, cut at every place; of ignored text both
take the match alone (``lark/parsers/xearley.py``).
"""

from __future__ import annotations

import functools
import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfgguide.automata.dfa import DEAD, IF_FAILS, IF_HOLDS
from cfgguide.engine.lexer import scanner
from cfgguide.engine.lexer.lookahead import NO_OBLIGATIONS, Lookahead
from cfgguide.engine.lexer.scanner import NO_MATCH
from cfgguide.errors import PatternError
from cfgguide.grammar import lark_frontend
from cfgguide.grammar.grammar import Grammar

ALPHABET = "abc1 "
#: The patterns of terminals; those that begin with "%" are ignored.
SETS = {
    "one": ["ab"],
    "keyword and name": ["if", "[a-c]+", "a"],
    "shared beginnings": ["a", "ab", "abc", "ab*", "[ab]{2}"],
    "overlapping": ["[ab]+", "[bc]+", "[abc]{1,2}", "b|bc|bca"],
    "lazy": ["a+?", "a+?b", "[abc]*?c", "(?:ab)+?"],
    "ordered choice": ["a|ab", "(?:a|ab)(?:c|bcb)?", "abc|ab|a"],
    "ignored": ["a", "%[ab]+", "b", "% +"],
    "ignored twice": ["[ab]", "%a+", "%a+b", "%[ a]+c"],
    "ignored and used": ["[ab]+", "%[ab]+"],
    "any case": ["(?i:aB)", "[A-C]+", "(?i:[a-c])"],
    "two bytes": ["é", "[éa]+", "."],
    "equal": ["ab", "[a]b", "a(?:b)"],
}
#: Not for dynamic_complete.
LOOKING = {
    "look-ahead": ["a(?!b)", "a+(?=b)", "[ab]+", "c(?=$)"],
    "look-behind": ["(?<=a)b", "(?<!a)b", "[ab]+", r"\b[ab]"],
    "look-around and ignored": [r"a\b", r"%[ab]+\b", "% (?! )", "b"],
    "assertions that meet": ["a(?=b)b?", "a(?!b)", "a(?=c|b)", "ab"],
}
SETS_OF_LEXERS = [
    *(("dynamic", name) for name in SETS | LOOKING),
    *(("dynamic_complete", name) for name in SETS),
]
each_set = pytest.mark.parametrize(("lexer", "name"), SETS_OF_LEXERS)

Ends = set[tuple[str, int]]


def patterns_of(name: str) -> dict[str, str]:
    return {f"T{index}": pattern for index, pattern in enumerate((SETS | LOOKING)[name])}


@functools.cache
def ours(lexer: str, name: str) -> tuple[lark_frontend.CompiledGrammar, scanner.Scanner, Lookahead]:
    patterns = patterns_of(name)
    lines = [f"{terminal}: /{pattern.lstrip('%')}/" for terminal, pattern in patterns.items()]
    used = [terminal for terminal, pattern in patterns.items() if pattern[0] != "%"]
    ignored = [f"%ignore {terminal}" for terminal in patterns if terminal not in used]
    text = "\n".join([f"start: ({' | '.join(used)})+", *lines, *ignored])
    compiled = lark_frontend.load(Grammar(text, parser="earley", lexer=lexer))
    machine = scanner.build(compiled)
    return compiled, machine, Lookahead(machine)


def ends_by_re(lexer: str, name: str, text: str, place: int) -> Ends:
    """Return which terminals end where, if they begin at a place of a text."""
    found: Ends = set()
    for terminal, pattern in patterns_of(name).items():
        is_ignored = pattern[0] == "%"
        regex = re.compile(pattern.lstrip("%"))
        match = regex.match(text, place)
        if match is None:
            continue
        label = "ignored" if is_ignored else terminal
        found.add((label, match.end()))
        if lexer == "dynamic_complete" and not is_ignored:
            for end in range(place + 1, match.end()):
                cut = regex.match(text[place:end])
                found |= {(label, place + cut.end())} if cut else set()
    return found


def ends_by_scanner(lexer: str, name: str, text: str, place: int) -> Ends:
    """Return the same from the union FSMs and what their ends owe; in characters."""
    compiled, machine, lookahead = ours(lexer, name)
    before, data = text[:place].encode(), text[place:].encode()
    context = 0
    for byte in before:
        context = int(machine.contexts[context, machine.byte_classes[byte]])
    start = int(machine.starts[compiled.parse_table.set_of_state[0], context])
    classes = machine.byte_classes[list(data)].tolist()
    found: Ends = set()
    ways = set(lookahead.resolved(start, NO_OBLIGATIONS))
    for end in range(len(data) + 1):
        for state, obligations in ways:
            terminal_id = int(machine.match[state])
            if (
                end
                and terminal_id != NO_MATCH
                and holds(lookahead, lookahead.ending(state, obligations), classes[end:])
            ):
                is_ignored = terminal_id == machine.ignored
                label = "ignored" if is_ignored else compiled.parse_table.terminals[terminal_id]
                found.add((label, place + len(data[:end].decode())))
        if end < len(data):
            ways = {
                after
                for state, obligations in ways
                for after in lookahead.step(state, obligations, classes[end])
            }
    return found


def holds(lookahead: Lookahead, obligations: tuple[int, ...], classes: list[int]) -> bool:
    """Return whether obligations come true in the rest of a text."""
    alternatives = {obligations}
    for byte_class in classes:
        alternatives = {new for each in alternatives for new in lookahead.after(each, byte_class)}
    return any(map(lookahead.may_end, alternatives))


@each_set
def test_each_terminal_ends_where_re_says(lexer, name):
    for length in range(1, 6):
        for letters in itertools.product(ALPHABET[:3], repeat=length):
            text = "".join(letters)
            assert ends_by_scanner(lexer, name, text, 0) == ends_by_re(lexer, name, text, 0), text


@pytest.mark.few(10)
@each_set
@settings(max_examples=80, deadline=None)
@given(text=st.text(ALPHABET + "éAB", min_size=1, max_size=9), place=st.integers(0, 4))
def test_random_texts_before_and_after_a_lexeme(lexer, name, text, place):
    place = min(place, len(text) - 1)
    assert ends_by_scanner(lexer, name, text, place) == ends_by_re(lexer, name, text, place)


@pytest.mark.parametrize(
    ("lexer", "name", "text", "expected"),
    [
        ("dynamic", "keyword and name", "aab", {("T1", 3), ("T2", 1)}),
        (
            "dynamic_complete", "keyword and name", "aab",
            {("T1", 1), ("T1", 2), ("T1", 3), ("T2", 1)},
        ),
        (
            "dynamic", "shared beginnings", "abc",
            {("T0", 1), ("T1", 2), ("T2", 3), ("T3", 2), ("T4", 2)},
        ),
        ("dynamic_complete", "lazy", "aab", {("T0", 1), ("T1", 3)}),
        (
            "dynamic_complete", "ordered choice", "abcb",
            {("T0", 1), ("T1", 4), ("T1", 1), ("T2", 3), ("T2", 2), ("T2", 1)},
        ),
        ("dynamic_complete", "ignored", "aba", {("T0", 1), ("ignored", 3)}),
    ],
)  # fmt: skip
def test_ends_by_hand(lexer, name, text, expected):
    assert ends_by_scanner(lexer, name, text, 0) == expected
    assert ends_by_re(lexer, name, text, 0) == expected


# --- The tables -----------------------------------------------------------------------------------


@each_set
def test_the_tables_keep_their_promises(lexer, name):
    _, machine, _ = ours(lexer, name)
    forks = machine.is_fork
    assert not forks[DEAD]
    assert (machine.is_assertion | ~forks).all()
    assert not machine.transitions[forks].any(), "a byte leads on from a fork"
    assert (machine.match[forks] == NO_MATCH).all()
    assert machine.looks_ahead == (name in LOOKING)
    for state in range(machine.n_states):  # answers come to an end
        resolved = machine.resolved(state)
        assert not machine.is_assertion[list(resolved)].any()
        assert machine.is_assertion[state] or resolved == (state,)
    answers = machine.assertions[:, [IF_HOLDS, IF_FAILS]][forks]
    assert (answers[:, 0] != DEAD).all()
    if lexer == "dynamic_complete":
        is_used = (machine.match != NO_MATCH) & (machine.match != machine.ignored)
        assert not machine.equivalence_classes[is_used].any(), "an end owes something"


@pytest.mark.parametrize("name", LOOKING)
def test_dynamic_complete_refuses_what_looks_around(name):
    with pytest.raises(PatternError, match=r"T\d looks at the text around it.*'dynamic_complete'"):
        ours("dynamic_complete", name)


def test_many_terminals_that_match_together_fork_one_by_one():
    n = 60
    lines = [f"T{index}: /a{{1,{index + 1}}}/" for index in range(n)]
    text = "\n".join([f"start: {' | '.join(f'T{index}' for index in range(n))}", *lines])
    machine = scanner.build(lark_frontend.load(Grammar(text, parser="earley")))
    assert machine.n_states < 4 * n * n
