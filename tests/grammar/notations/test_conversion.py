"""What is written in Lark's language: terminals, names, tokens, and how large it gets."""

from __future__ import annotations

import sys

import pytest
from support.judges import is_parsed
from support.spans import lark_parser

from cfgguide import Grammar, Limits, notations
from cfgguide.errors import LimitError


def lines_of(grammar: str) -> list[str]:
    return notations.gbnf(grammar).text.splitlines()


def parses(grammar: str, text: str) -> bool:
    return is_parsed(lark_parser(notations.gbnf(grammar)), text)


def test_a_grammar_without_recursion_is_one_terminal():
    assert lines_of('root ::= x{2} ("," x)*\nx ::= [a-z]+ y?\ny ::= "=" [0-9]') == [
        "start: ROOT",
        "ROOT: /(?:[a-z]+(?:=[0-9])?){2}(?:,[a-z]+(?:=[0-9])?)*/",
    ]


def test_regular_parts_beside_each_other_are_one_terminal():
    assert lines_of('root ::= "(" ws root ")" ws | num\nnum ::= [0-9]+ ws\nws ::= ([ ] ws)?') == [
        "start: root",
        "root: ROOT root ROOT_2 | NUM",
        r"ROOT: /\( */",
        r"ROOT_2: /\) */",
        "NUM: /[0-9]+ */",
    ]


def test_what_may_be_empty_is_so_in_rules():
    grammar = 'root ::= [0-9]* root? "x"'
    assert lines_of(grammar)[1:] == ['root: ROOT? root? "x"', "ROOT: /[0-9]+/"]
    assert lines_of('root ::= ("a" "b"* | "c")?') == ["start: ROOT |", "ROOT: /ab*|c/"]


def test_rules_that_repeat_at_one_end_are_repetitions():
    for grammar in ('root ::= ("a" root)?', 'root ::= root "a" | ""', 'root ::= | "a" | "a" root'):
        assert lines_of(grammar)[0] == "start: ROOT |"
        assert all(parses(grammar, "a" * n) for n in range(4))


def test_terminals_whose_preferred_match_would_be_too_short_are_written_anew():
    assert lines_of('root ::= "a" | "ab"') == ["start: ROOT", "ROOT: /ab?/"]
    assert lines_of('root ::= ("<" | "<=" | "=") root "." | ""')[-1] == "ROOT: /<=?|=/"


def test_names_become_those_of_lark_and_say_where_they_come_from():
    found = notations.gbnf('root ::= data-Type | data_type\ndata-Type ::= "(" root ")"\n'
                           'data_type ::= "[" root "]" | 1st\n1st ::= [0-9]')  # fmt: skip
    assert found.text.splitlines() == [
        "start: root",
        "root: data_type | data_type_2",
        "// data-Type",
        'data_type: "(" root ")"',
        'data_type_2: "[" root "]" | RULE_1ST',
        "// 1st",
        "RULE_1ST: /[0-9]/",
    ]
    assert found.names["data_type"] == "data-Type"
    assert found.names["data_type_2"] == "data_type"
    assert found.names["RULE_1ST"] == "1st"


def test_a_rule_may_be_called_start_and_the_start_may_be_called_otherwise():
    assert lines_of('root ::= "a" start "b" | ""\nstart ::= root') == [
        "start: root |",
        'root: "a" start_2? "b"',
        "start_2: root",
    ]
    found = notations.gbnf('main ::= "a"\nroot ::= "b"', root="main")
    assert found.text == 'start: "a"'


def test_rules_that_are_not_needed_are_left_out():
    assert lines_of('root ::= "a"\nold ::= old "b"') == ['start: "a"']


def test_tokens_are_declared_each_in_one_terminal():
    found = notations.gbnf("root ::= <think> .* </think> <[7]>")
    assert found.special == {"TOKENS": (7,), "THINK": ("</think>",), "THINK_2": ("<think>",)}
    assert found.text.splitlines()[0] == "start: root"
    sets = notations.ebnf("root ::= Token(1, 2) Token(2)").special
    assert sorted(sets.values()) == [(1,), (2,)]


def test_the_grammar_takes_its_tokens_where_grammars_take_them():
    found = notations.gbnf('root ::= "<" root ">" | <|end|>')
    grammar = Grammar(found.text, special=found.special)
    assert dict(grammar.special) == {"END": ("<|end|>",)}


def test_the_same_text_gives_the_same_grammar():
    grammar = 'root ::= <b> x | <a> | <[3]>\nx ::= [ab] x y | y\ny ::= "c" x? | "d"{2,30} root'
    assert notations.gbnf(grammar) == notations.gbnf(grammar)


# --- Size ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [7, 100, 1000, 10_000])
def test_large_counts_of_rules_need_few_rules(n):
    found = notations.gbnf(f'root ::= x{{{n}}} x{{0,{n}}}\nx ::= "(" x ")" | "a"')
    assert len(found.text) < 2000


def test_counts_of_rules_are_exact():
    grammar = 'root ::= x{5,11}\nx ::= "(" x ")" | "a"'
    assert [n for n in range(14) if parses(grammar, "a" * n)] == [*range(5, 12)]


def test_large_counts_of_characters_are_counts_of_a_pattern():
    assert lines_of('root ::= "[" [a-z]{3,1500} "]"')[1] == r"ROOT: /\[[a-z]{3,1500}\]/"


def test_a_pattern_that_is_too_large_is_divided():
    grammar = 'root ::= ([a-c] | "abc"){4000}'
    assert all(len(line) < 5000 for line in lines_of(grammar))
    grammar = 'root ::= ("ab" | [a-c]{2}){1001} "!"'
    assert parses(grammar, "ab" * 1001 + "!")
    assert not parses(grammar, "ab" * 1000 + "!")


def test_rules_that_double_do_not_grow_without_bound():
    rules = [f"x{n} ::= x{n + 1} x{n + 1}" for n in range(40)]
    found = notations.gbnf("\n".join(["root ::= x0", *rules, 'x40 ::= "a" | "b"']))
    assert len(found.text) < 10_000


def test_many_optional_parts_do_not_double_the_rules_of_lark():
    parts = " ".join(f'("{chr(97 + n)}" root)?' for n in range(20))
    grammar = f"root ::= {parts} | {parts}"
    parser = lark_parser(notations.gbnf(grammar))
    assert len(parser.rules) < 200
    assert parses(grammar, "abd")
    assert not parses(grammar, "x")


@pytest.mark.slow
def test_deep_nesting_needs_no_deep_stack():
    depth = 500
    grammar = "root ::= " + '("a" ' * depth + '"b"' + " | root)?" * depth
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(400)
    try:
        text = notations.gbnf(grammar).text
    finally:
        sys.setrecursionlimit(limit)
    assert text.startswith("start: root")


def test_names_of_properties_as_llama_cpp_writes_them():
    """One group for each character: all names but one."""
    name = "averageTemperatureInDegreesCelsiusPerCalendarMonthAndYear"
    inner = "char*"
    for letter in reversed(name):
        inner = f'([{letter}] {inner} | [^"{letter}] char*)?'
    grammar = f'root ::= "\\"" {inner} "\\""\nchar ::= [^"]'
    found = notations.gbnf(grammar)
    assert max(map(len, found.text.splitlines())) < 10_000
    assert parses(grammar, f'"{name}x"')
    assert parses(grammar, '"averageX"')
    assert not parses(grammar, '"average"x')


def test_odd_characters_are_written_so_that_a_definition_stays_on_its_line():
    grammar = r'root ::= [\x00-\x1f\x7f\x85\u2028]+ "\n/\"" (root "!")?'
    written = notations.gbnf(grammar).text
    assert len(written.splitlines()) == len(written.split("\n"))
    assert written.isascii()
    assert parses(grammar, '\x00\x85\u2028\n/"\x1f\n/"!')


def test_a_text_may_be_longer_than_a_terminal():
    text = "ab+" * 1500
    grammar = f'root ::= "{text}" root? "x"?'
    assert parses(grammar, text + "x")
    assert not parses(grammar, text[1:] + "x")


def test_a_class_may_be_longer_than_a_terminal():
    members = "".join(map(chr, range(0x4E00, 0x4E00 + 6000, 2)))
    grammar = f"root ::= [{members}]+ | root root"
    assert parses(grammar, members[5:9])
    assert not parses(grammar, chr(0x4E01))


def test_many_parts_that_may_be_left_out():
    grammar = "root ::= " + " ".join(f'"{chr(0x4E00 + n)}"?' for n in range(1000))
    assert parses(grammar, "\u4e05\u4e07\u5100")
    assert not parses(grammar, "\u4e07\u4e05")


def test_a_rule_may_have_the_name_that_lark_gives_to_a_text():
    grammar = 'root ::= "if" "(" root ")" | lpar root "!" | if\nif ::= [i-j]+\nlpar ::= "[" "["*'
    assert parses(grammar, "if([[ij!)")
    assert not parses(grammar, "if(if)!")


@pytest.mark.slow
def test_a_long_chain_of_rules_is_read_in_time():
    rules = "\n".join(f'r{n} ::= "(" r{n + 1} r{n + 1} | "a"' for n in range(3000))
    found = notations.gbnf(f'root ::= r0\n{rules}\nr3000 ::= "b"', limits=Limits(max_seconds=60))
    assert parses(f'root ::= r0\n{rules}\nr3000 ::= "b"', "(a(aa")
    assert len(found.text) < 300_000


def test_reading_has_limits():
    rules = "\n".join(f'r{n} ::= "(" r{n + 1} r{n + 1} | [a-b]+' for n in range(9000))
    with pytest.raises(LimitError, match="max_seconds"):
        notations.gbnf(f'root ::= r0\n{rules}\nr9000 ::= "b"', limits=Limits(max_seconds=0.02))
