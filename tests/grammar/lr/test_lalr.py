"""Tables are Lark's to the last action: Lark's own analysis says what they should be."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import lark
import pytest
from fuzz import case, features, grammars
from hypothesis import HealthCheck, given, settings
from lark.common import ParserConf
from lark.grammar import NonTerminal, Rule, RuleOptions, Terminal
from lark.indenter import PythonIndenter
from lark.parsers.lalr_analysis import LALR_Analyzer, Shift
from lark.parsers.lalr_parser import LALR_Parser

from cfgguide.grammar import lark_parts
from cfgguide.grammar.grammar import Grammar
from cfgguide.grammar.lr import lalr

REPOSITORY = Path(__file__).parents[3]
LARK = Path(lark.__file__).parent / "grammars"
LARGE = {
    "postgresql",
    "python",
    "python312",
    *("c", "go", "java", "javascript", "pascal", "rust2021", "rust", "verilog"),
}


def rules_of(text: str, **options: object) -> list[Rule]:
    """Lark's rules of a grammar, before it looks at terminals or conflicts."""

    class Unparsed(lark.Lark):
        def _build_parser(self):
            return None

    return Unparsed(text, parser="lalr", **options).rules


def lark_tables(rules: list[Rule], start: str, *, shuffled: int | None = None) -> object:
    """What Lark's own analysis makes of rules: its tables, or what it says about conflicts.

    Parameters
    ----------
    shuffled : int, optional
        Shuffle the states that Lark keeps in a set, with this seed.
    """
    analyzer = LALR_Analyzer(ParserConf(rules, {}, [start]))
    analyzer.compute_lr0_states()
    if shuffled is not None:
        states = sorted(analyzer.lr0_itemsets, key=lambda state: sorted(map(repr, state.kernel)))
        random.Random(shuffled).shuffle(states)
        analyzer.lr0_itemsets = dict.fromkeys(states)
    analyzer.compute_reads_relations()
    analyzer.compute_includes_lookback()
    analyzer.compute_lookaheads()
    conflicts = {
        lookahead.name
        for state in analyzer.lr0_itemsets
        for lookahead, reduced in state.lookaheads.items()
        if len(reduced) > 1 or lookahead in state.transitions
    }
    try:
        analyzer.compute_lalr1_states()
    except lark.exceptions.GrammarError as error:
        return lines_of(str(error))
    return *renumbered(analyzer.parse_table, start), conflicts


def our_tables(rules: list[Rule], start: str) -> object:
    try:
        parser = lark_parts.LarkParser(ParserConf(rules, {}, [start]))
    except lark.exceptions.GrammarError as error:
        return lines_of(str(error))
    table = parser._parse_table
    assert table.start_states == {start: 0}
    return table.states, table.end_states[start], parser.conflicts


def renumbered(table, start: str) -> tuple[dict, int]:
    """Lark's table with states numbered breadth-first over sorted symbols, and the last state."""
    number = {table.start_states[start]: 0}
    for state in (order := list(number)):  # grows while it is walked
        for _, (action, argument) in sorted(table.states[state].items(), key=lambda item: item[0]):
            if action is Shift and argument not in number:
                number[argument] = len(number)
                order.append(argument)
    rows = {
        number[state]: {
            name: (action, number[argument] if action is Shift else argument)
            for name, (action, argument) in row.items()
        }
        for state, row in table.states.items()
    }
    return rows, number[table.end_states[start]]


def lines_of(message: str) -> list[list[str]]:
    """What a message says about each conflict; Lark writes it in the order of sets."""
    return sorted(sorted(part.splitlines()) for part in message.split("\n\n"))


def assert_same(rules: list[Rule], start: str = "start") -> None:
    """Assert that the tables are Lark's."""
    expected, found = lark_tables(rules, start), our_tables(rules, start)
    if found != expected:
        # Some grammars are LR(k) for no k, and Lark's tables change with the order of its sets.
        orders = [lark_tables(rules, start, shuffled=seed) for seed in range(50)]
        assert any(tables != expected for tables in orders)
    if len(rules) < 300:  # Lark takes its time
        assert_strict(rules, start)


def assert_strict(rules: list[Rule], start: str) -> None:
    """Assert that a shift/reduce conflict is an error exactly if Lark, when strict, says so."""
    messages = []
    for parser in (LALR_Parser, lark_parts.LarkParser):
        try:
            parser(ParserConf(rules, {}, [start]), strict=True)
        except lark.exceptions.GrammarError as error:
            messages.append(str(error))
        else:
            messages.append("")
    expected, found = messages  # Lark stops at the first conflict in the order of a set
    assert expected.partition(" ")[0] == found.partition(" ")[0]


# --- Grammars that people wrote -------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in LARGE else [])
        for name in Grammar.bundled_names()
    ],
)
def test_bundled_grammars(name):
    grammar = Grammar.bundled(name)
    assert_same(rules_of(grammar.text, source_path=grammar.source_path), grammar.start)


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    sorted(
        [
            *REPOSITORY.glob("benchmarks/grammars/*.cfgguide.lark"),
            *REPOSITORY.glob("tests/golden/*/grammar.lark"),
        ]
    ),
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_grammars_of_benchmarks_and_tests(path):
    assert_same(rules_of(path.read_text(encoding="utf-8"), source_path=str(path)))


@pytest.mark.parametrize("path", sorted(case.CRASHES.glob("*.txt")), ids=lambda path: path.stem)
def test_grammars_that_once_failed(path):
    assert_same(rules_of(case.read(path).grammar))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "start"), [("lark", "start"), ("python", "file_input")])
def test_larks_own_grammars(name, start):
    text = (LARK / f"{name}.lark").read_text(encoding="utf-8")
    assert_same(rules_of(text, start=start, postlex=PythonIndenter()), start)


# --- Textbook grammars ----------------------------------------------------------------------------

TEXTBOOK = {
    "SLR is not enough": 'start: l "=" r | r\nl: "*" r | "i"\nr: l',
    "LALR is not enough": ('start: "a" x "d" | "b" y "d" | "a" y "e" | "b" x "e"\nx: "c"\ny: "c"'),
    "reads through empty rules": 'start: p q r "x"\np: "p" |\nq: "q" |\nr: "r" |',
    "includes through empty rules": 'start: "a" p "y" | "b" p "z"\np: "c" q r\nq: "q" |\nr:',
    "empty rules in a circle": 'start: p q start | "x"\np: "p" |\nq: "q" |',
    "an empty sentence": 'start: "a"*',
    "shift over reduce": 'start: "if" start | "if" start "else" start | "x"',
    "a rule inside itself": 'start: x "." | "z" x\nx: "a" x "b" | x "c" | ',
    "equal priorities": 'start: p | q\np.1: "x"\nq.1: "x"',
    "one higher priority": 'start: p | q | r\np.1: "x"\nq.2: "x"\nr.1: "x"',
    "two higher priorities": 'start: p | q | r\np.2: "x"\nq.2: "x"\nr.1: "x"',
    "a negative priority": 'start: p | q\np.-1: "x"\nq: "x"',
}


@pytest.mark.parametrize("name", TEXTBOOK)
def test_textbook_grammars(name):
    assert_same(rules_of(TEXTBOOK[name]))


def test_no_start_rule_is_larks_error():
    rules = rules_of('a: "x"', start="a")
    expected = "Using an undefined rule: NonTerminal('start')"
    with pytest.raises(lark.exceptions.GrammarError, match="undefined rule") as caught:
        lark_parts.LarkParser(ParserConf(rules, {}, ["start"]))
    assert str(caught.value) == expected
    with pytest.raises(lark.exceptions.GrammarError) as caught:
        LALR_Analyzer(ParserConf(rules, {}, ["start"]))
    assert str(caught.value) == expected


def test_a_chain_of_many_rules_needs_no_recursion():
    """Lark's own search would recurse once for each of them."""
    names = ["start", *(f"r{number}" for number in range(5000)), "X"]
    automaton = lalr.build([(left, (right,)) for left, right in pairwise(names)], "start")
    assert automaton.n_states == len(names) + 1
    end = 1 << automaton.symbols.index(lalr.END_NAME)
    assert all(set(row.values()) <= {end} for row in automaton.lookaheads)


# --- Random grammars ------------------------------------------------------------------------------


def random_rules(seed: int) -> list[Rule]:
    """Up to six rules over three terminals, many empty, some with priorities."""
    choose = random.Random(seed)
    names = ["start", "p", "q", "r", "s", "t"][: choose.randint(1, 6)]
    symbols = [Terminal("X"), Terminal("Y"), Terminal("Z"), *map(NonTerminal, names)]
    rules: dict[Rule, None] = {}
    for name in names:
        for _ in range(choose.randint(1, 4)):
            right = choose.choices(symbols, k=choose.choice([0, 1, 1, 2, 2, 3, 4]))
            options = RuleOptions(priority=choose.choice([None, None, 1, 2, 3]))
            rules.setdefault(Rule(NonTerminal(name), right, options=options))
    return list(rules)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(8))
def test_random_rules(block):
    for seed in range(block * 250, block * 250 + 250):
        assert_same(random_rules(seed))


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn=grammars.grammars(sorted(features.FEATURES)))
def test_grammars_of_the_fuzzer(drawn):
    try:
        rules = rules_of(drawn.text, lexer=drawn.lexer)
    except lark.exceptions.LarkError:
        return
    assert_same(rules)
