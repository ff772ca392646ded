"""General tables accept the strings of the language, by all of their stacks.

The language is that of `support.production_languages`: strings found from the definition.
"""

from __future__ import annotations

import itertools
import random
import tracemalloc

import numpy as np
import pytest
from support.production_languages import languages, random_productions

from cfgguide.base.limits import Budget, Limits
from cfgguide.errors import LimitError
from cfgguide.grammar.lr.general import general_table
from cfgguide.grammar.lr.stack import Stack
from cfgguide.grammar.lr.table import ERROR, START_STATE, ParseTable, Production

BLOCKS, PER_BLOCK = 8, 100
LONGEST, PREFIXES = 5, 3


def table_of(productions: list[Production], start: str = "s") -> ParseTable | None:
    return general_table(productions, start, (), Budget())


def accepted(table: ParseTable, terminals: list[str], longest: int) -> set[tuple[str, ...]]:
    """Return the strings of at most so many terminals that the table accepts."""
    number = {name: index for index, name in enumerate(table.terminals)}
    level: dict[tuple[str, ...], list[Stack]] = {(): [Stack(START_STATE)]}
    found: set[tuple[str, ...]] = set()
    for _ in range(longest + 1):
        found |= {
            string
            for string, stacks in level.items()
            if any(table.is_sentence(stack) for stack in stacks)
        }
        after: dict[tuple[str, ...], list[Stack]] = {}
        for (string, stacks), terminal in itertools.product(level.items(), terminals):
            shifted = [new for stack in stacks for new in table.shifts(stack, number[terminal])]
            if shifted:
                after[*string, terminal] = list(dict.fromkeys(shifted))
        level = after
    return found


def assert_same_language(productions: list[Production], longest: int) -> bool:
    """Return whether the table has conflicts."""
    expected = languages(productions, longest).get("s", frozenset())
    table = table_of(productions)
    if table is None:
        assert not expected
        return False
    assert accepted(table, list(table.terminals[1:]), longest) == expected
    return table.is_general


@pytest.mark.slow
@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_grammars(block):
    n_general = 0
    for seed in range(block * PER_BLOCK, (block + 1) * PER_BLOCK):
        n_general += assert_same_language(random_productions(seed), LONGEST)
    assert n_general > PER_BLOCK / 10


NAMED: dict[str, list[Production]] = {
    "sums": [("s", ("s", "X", "s")), ("s", ("Y",))],
    "catalan": [("s", ("s", "s", "s")), ("s", ("s", "s")), ("s", ("X",))],
    "palindromes": [("s", (a, "s", a)) for a in "XY"] + [("s", (a,)) for a in "XY"] + [("s", ())],
    "hidden left recursion": [("s", ("p", "s", "X")), ("s", ("Y",)), ("p", ()), ("p", ("p", "Y"))],
    "not LR for any k": [("s", ("X", "s", "X")), ("s", ("X",)), ("s", ("Y", "s"))],
    "reduce or reduce": [
        *(("s", ("p", "Y")), ("p", ("X", "p")), ("p", ("X",))),
        *(("s", ("q", "Z")), ("q", ("X", "q")), ("q", ("X",))),
    ],
    "a cycle": [("s", ("p",)), ("p", ("s",)), ("p", ("X",)), ("s", ("s", "Y"))],
    "empty": [("s", ())],
    "more productions than states": [
        *(("s", ()), ("s", ("p",)), ("s", ("Z",)), ("p", ("q",)), ("q", ("Z",)))
    ],
    "an empty start inside": [("s", ()), ("s", ("X", "s", "Y", "s"))],
}


@pytest.mark.parametrize("productions", NAMED.values(), ids=NAMED.keys())
def test_named_grammars(productions):
    assert_same_language(productions, 8)


def test_what_has_a_stack_is_the_beginning_of_a_sentence():
    """All sentences that begin with three terminals are reached within a few more."""
    for productions in NAMED.values():
        table = table_of(productions)
        assert table is not None
        sentences = languages(productions, 9)["s"]
        for length in range(PREFIXES + 1):
            for string in itertools.product(table.terminals[1:], repeat=length):
                stacks = [Stack(START_STATE)]
                for terminal in string:
                    number = table.terminals.index(terminal)
                    stacks = [new for stack in stacks for new in table.shifts(stack, number)]
                is_beginning = any(sentence[:length] == string for sentence in sentences)
                assert bool(stacks) == is_beginning, string


def test_stacks_of_a_shift_are_different():
    table = table_of(NAMED["catalan"])
    assert table is not None
    stacks = [Stack(START_STATE)]
    for _ in range(8):
        for stack in stacks:
            after = table.shifts(stack, 1)
            assert len(set(after)) == len(after)
        stacks = list({new for stack in stacks for new in table.shifts(stack, 1)})


def test_a_shift_of_equal_stacks_is_found_once(monkeypatch):
    table = table_of(NAMED["sums"])
    number = table.terminals.index("X")
    (stack,) = table.shifts(Stack(START_STATE), table.terminals.index("Y"))
    found = table.shifts(stack, number)
    monkeypatch.setattr(ParseTable, "_reductions_of", None)
    assert table.shifts(Stack.of([*stack][::-1]), number) is found


def test_the_choices_are_the_alternatives():
    for seed in range(200):
        table = table_of(random_productions(seed))
        if table is None or not table.is_general:
            continue
        assert table.alternatives.tolist() == sorted(table.alternatives.tolist())
        found = []
        for state, terminal in np.argwhere(table.choices).tolist():
            place = int(table.choices[state, terminal])
            n_choices = int(table.choice_productions[place])
            productions = table.choice_productions[place + 1 : place + 1 + n_choices].tolist()
            assert table.action[state, terminal] != ERROR
            actions = [int(table.action[state, terminal]), *(-p - 1 for p in productions)]
            assert table.actions_of(state, terminal) == actions
            found += [[state, terminal, production] for production in productions]
        assert found == table.alternatives.tolist()


def test_a_grammar_without_conflicts_has_a_plain_table():
    table = table_of([("s", ("X", "s", "Y")), ("s", ("X", "Y"))])
    assert table is not None
    assert not table.is_general
    assert table.choices.shape == (1, 1)


def test_terminals_that_no_rule_uses_have_a_column():
    table = general_table([("s", ("X",))], "s", ["USED", "UNUSED"], Budget())
    assert table is not None
    assert table.terminals == ("$END", "UNUSED", "USED", "X")


@pytest.mark.parametrize("start", ["s", "missing"])
def test_no_sentence_is_no_table(start):
    assert table_of([("s", ("s", "X")), ("t", ("X",))], start) is None


def test_a_table_that_needs_too_much_memory_is_refused():
    productions = [("s", (f"X{i}", "s", f"X{j}")) for i in range(60) for j in range(60)]
    with pytest.raises(LimitError, match="the parse table"):
        general_table([*productions, ("s", ("Y",))], "s", (), Budget(Limits(max_memory=1_000_000)))


@pytest.mark.slow
def test_large_grammars_have_a_table():
    assert table_of([("s", (f"X{i}",)) for i in range(10_000)])
    assert table_of([("s", ("p",) * 20), ("p", ("X",)), ("p", ())])
    assert table_of([("s", ("s",) * n) for n in range(2, 12)] + [("s", ("X",))])


def first_alike(table: ParseTable, labels: list[int]) -> list[int]:
    """Return what `ParseTable.first_alike` does, by rounds that look at whole rows."""
    states = range(table.n_states)
    actions = {(s, t): {int(table.action[s, t])} for s, t in np.argwhere(table.action).tolist()}
    for state, terminal, production in table.alternatives.tolist():
        actions[state, terminal].add(-production - 1)
    kinds: list[int] = [0] * table.n_states
    while True:
        rows: list[object] = []
        for state in states:
            does: set[object] = {labels[state], kinds[state]}
            does |= {"end"} if state == table.end_state else set()
            for (here, terminal), taken in actions.items():
                for action in taken if here == state else ():
                    number = -action - 1
                    reduced = (
                        kinds[action - 1]
                        if action > ERROR
                        else (table.lengths[number], table.left_sides[number])
                    )
                    does.add((terminal, reduced))
            for symbol in np.flatnonzero(table.goto[state] >= 0).tolist():
                does.add(("goto", symbol, kinds[table.goto[state, symbol]]))
            rows.append(frozenset(does))
        numbers = {row: number for number, row in enumerate(dict.fromkeys(rows))}
        if len(numbers) == len(set(kinds)):
            return [kinds.index(kind) for kind in kinds]
        kinds = [numbers[row] for row in rows]


@pytest.mark.parametrize("block", range(BLOCKS))
def test_states_that_do_the_same_are_found(block):
    for seed in range(block * 20, block * 20 + 20):
        table = table_of(random_productions(seed))
        if table is not None:
            labels = [random.Random(seed + state).randrange(2) for state in range(table.n_states)]
            assert table.first_alike(labels).tolist() == first_alike(table, labels)


def test_states_that_push_a_hundred_symbols_are_told_apart_by_one_of_them():
    words = [(f"w{number}", (f"W{number}", "Z")) for number in range(100)]
    rules = [("s", ("X", "a")), ("s", ("Y", "b")), ("s", ("Z", "c"))]
    rules += [("a", (name,)) for name, _ in words] + [("c", (name,)) for name, _ in words]
    rules += [("b", (name,)) for name, _ in words if name != "w50"] + [("b", ("v",))]
    table = table_of([*rules, *words, ("v", ("W50", "Y"))])
    assert table is not None
    labels = [0] * table.n_states
    assert table.first_alike(labels).tolist() == first_alike(table, labels)


def test_what_states_do_is_compared_in_little_memory():
    """A table of 700 rules that refer to each other has two million cells, and few are filled."""
    rules = [("s", ("r0",))]
    for number in range(700):
        name, word = f"r{number}", f"W{number}"
        rules += [(name, (word, "X", f"r{(number + 1) % 700}")), (name, (word, "Y"))]
    table = table_of(rules)
    assert table is not None
    tracemalloc.start()
    try:
        table.first_alike([0] * table.n_states)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < table.action.nbytes
