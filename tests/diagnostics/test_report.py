"""The report on a grammar: what it warns of is so under Lark, and its text is pinned."""

from __future__ import annotations

import dataclasses
import re
from typing import ClassVar

import lark
import pytest

import cfgguide
from cfgguide.automata.determinize import fsm_of_pattern
from cfgguide.automata.dfa import Fsm
from cfgguide.automata.witness import is_part_of, is_unbounded, shared_text, shortest_text
from cfgguide.diagnostics.inspection import inspect
from cfgguide.diagnostics.overlaps import TerminalTexts, find
from cfgguide.diagnostics.report import Unbounded
from cfgguide.errors import GrammarError, VocabularyError
from cfgguide.grammar import lark_frontend
from cfgguide.grammar.grammar import Grammar


def fsm(pattern: str) -> Fsm:
    return fsm_of_pattern(pattern, name="A")


# --- Examples -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("abc|de", "de"), ("[0-9a-f]+", "a"), ("[A-Z0-9]", "A"), (r"[!-~]", "a"),
        (r"[\x00- ]", " "), ("é|日", "é"), ("(a|b){3}", "aaa"), (r'".*?"', '""'),
        (r"\s+", " "),
    ],
)  # fmt: skip
def test_the_shortest_text_is_one_that_people_can_read(pattern, text):
    assert shortest_text(fsm(pattern)) == text
    assert re.fullmatch(pattern, text)


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ("[a-z]+", "if|else", "if"),
        ("[a-z]+", "[0-9]+", None),
        ("a+b", "a{3}.", "aaab"),
        ("[a-y]|é", "z|é", "é"),
        ("(ab)+", "(aba)+", None),
        ("a*b", "(aa)*b", "b"),
    ],
)
def test_a_shared_text_is_a_shortest_one(first, second, text):
    assert shared_text(fsm(first), fsm(second)) == text
    assert shared_text(fsm(second), fsm(first)) == text


def test_the_search_for_a_shared_text_is_bounded():
    first, second = fsm("(a{97})+b"), fsm("(a{89})+b")
    assert shared_text(first, second, max_pairs=500) is None
    assert shared_text(first, second) == "a" * 97 * 89 + "b"


@pytest.mark.parametrize(
    ("pattern", "is_endless"),
    [("a", False), ("a{3,50}", False), ("a+", True), ("ab*c", True), ("(a|bc){2}", False)],
)
def test_unbounded_patterns(pattern, is_endless):
    assert is_unbounded(fsm(pattern)) == is_endless


@pytest.mark.parametrize(
    ("part", "whole", "is_part"),
    [
        (" +", r"\s+", True),
        (r"[ \t]{1,3}", r"\s+", True),
        (r"\s*a", r"\s+", False),
        ("a", "b", False),
        ("(ab)+", "[ab]+", True),
        ("[ab]+", "(ab)+", False),
    ],
)
def test_parts_of_languages(part, whole, is_part):
    assert is_part_of(fsm(part), fsm(whole)) == is_part


# --- Overlaps -------------------------------------------------------------------------------------


def overlaps_of(text: str, **options) -> list[tuple]:
    found = inspect(Grammar(text, **options)).overlaps
    assert found.is_complete
    assert found.n_more == 0
    return [dataclasses.astuple(each) for each in found.shown]


#: The grammar, and (terminals, example, winner, lexeme, number of terminal sets).
OVERLAPS = {
    "the wider one is tried first": (
        "start: (A | B)+\nA: /[ab]/\nB: /a+/",
        [(("B", "A"), "a", "B", "a", 1)],
    ),
    "a priority decides": (
        "start: (A | B)+\nA.2: /[ab]/\nB: /a+/",
        [(("A", "B"), "a", "A", "a", 1)],
    ),
    "only where both may stand": ('start: A | "(" B\nA: /[ab]/\nB: /a+/', []),
    "a keyword that is no string never wins": (
        'start: (IF | NAME)+\nIF: /if/\nNAME: /[a-z]+/\nELSE: "else"',
        [(("NAME", "IF"), "if", "NAME", "if", 1)],
    ),
    "a string in a name is none at all": ('start: ("if" | NAME)+\nNAME: /[a-z]+/', []),
    "an ignored terminal takes the text": (
        'start: (A "!")+\nA: /[a ]+/\n%ignore / {1,3}/',
        [(("A", "__IGNORE_0"), " ", "A", " ", 1)],
    ),
    "ignored terminals among themselves do no harm": ('start: "a"\n%ignore / +/\n%ignore / /', []),
    "a third terminal wins": (
        "start: (A | B | C)+\nA: /ab?/\nB: /ab?c?/\nC.2: /a/",
        [
            (("C", "B"), "a", "C", "a", 1),
            (("C", "A"), "a", "C", "a", 1),
            (("B", "A"), "a", "C", "a", 1),
        ],
    ),
    # No text is what re prefers for both; their languages share `ab`, and Lark reads `a`.
    "an alternation that stops early": (
        "start: (A | B)+\nA.2: /a|ab/\nB: /ab|c/",
        [(("A", "B"), "ab", "A", "a", 1)],
    ),
    "look-behind, which interegular cannot read": (
        'start: (A | B)+\nA: /"[^"]*(?<!x)"/\nB: /"a*"/',
        [(("A", "B"), '""', "A", '""', 1)],
    ),
    "lazy": ("start: (A | B)+\nA: /'.*?'/\nB: /'a'/", [(("A", "B"), "'a'", "A", "'a'", 1)]),
    "flags of the grammar": (
        "start: (A | B)+\nA: /[a]/\nB: /A+/",
        [(("B", "A"), "a", "B", "a", 1)],
    ),
}


@pytest.mark.parametrize("name", OVERLAPS)
def test_overlaps_and_who_wins(name):
    """Lark's own lexer gives the terminal and the lexeme; `re` says that both match in full."""
    text, expected = OVERLAPS[name]
    options = {"regex_flags": re.IGNORECASE} if name == "flags of the grammar" else {}
    assert overlaps_of(text, **options) == expected
    grammar = Grammar(text, **options)
    parser = lark.Lark(text, **grammar.lark_options)
    patterns = {terminal.name: terminal for terminal in lark_frontend.load(grammar).patterns}
    for terminals, example, winner, lexeme, _ in expected:
        for terminal in terminals:
            pattern = patterns[terminal]
            assert re.fullmatch(pattern.pattern, example, pattern.flags)
        token = next(iter(parser.lex(example)))  # with the basic lexer, which all sets here equal
        assert (token.type, token.value) == (winner, lexeme)


def test_many_overlaps_are_counted_and_their_search_is_bounded():
    names = [f"T{number:02}" for number in range(8)]
    text = f"start: ({' | '.join(names)})+\n" + "\n".join(
        f"{name}: /a{{1,{number + 1}}}b?/" for number, name in enumerate(names)
    )
    compiled = lark_frontend.load(Grammar(text))
    texts = TerminalTexts(compiled, cfgguide.engine.lexer.scanner.build(compiled))
    found = find(compiled, texts, max_overlaps=5)
    assert (len(found.shown), found.n_more, found.is_complete) == (5, 8 * 7 // 2 - 5, True)
    found = find(compiled, texts, max_compared=3)
    assert (len(found.shown), found.n_more, found.is_complete) == (3, 0, False)


# --- Definitions ----------------------------------------------------------------------------------

WASTE = """
%import common (INT, WORD)
%declare NOTHING
start: a | list{INT, ","} | endless "!"
a: "(" a ")" | DIGITS
b: NOTHING
endless: "q" endless
unused: "zz" again
again: unused
list{x, y}: x (y x)*
never{x}: x
DIGITS: "x" FRAGMENT+
FRAGMENT: "0".."9"
LOST: FRAGMENT "a"
"""


def test_what_is_defined_and_never_used():
    report = inspect(Grammar(WASTE))
    assert report.unreachable_rules == ("b", "unused", "again", "never")
    assert report.unused_terminals == ("WORD", "NOTHING", "LOST")
    assert report.endless_rules == ("endless",)
    assert report.never_matched == ()


def test_unused_definitions_of_imported_files(tmp_path):
    (tmp_path / "words.lark").write_text('word: LETTER+ tail?\ntail: "."\nLETTER: /[a-z]/\n')
    (tmp_path / "main.lark").write_text('%import .words (word, tail)\nstart: word "!"\n')
    report = inspect(Grammar.open(tmp_path / "main.lark"))
    assert (report.unreachable_rules, report.unused_terminals) == ((), ())


#: The grammar, and the terminals that are never read with the reasons.
NEVER = {
    "declared": ('%declare X\nstart: "a" | X', [("X", "declared without a pattern")]),
    "beaten by a wider one": (
        "start: A | B\nA: /ab?/\nB: /a/",
        [("B", "always beaten: 'a' is read as A")],
    ),
    "beaten in part": (
        "start: A | B\nA.2: /a/\nB: /ab/",
        [("B", "always beaten: 'ab' is read as A with 'a'")],
    ),
    "ignored": (
        'start: "a" B?\nB: "b"\n%ignore B',
        [("B", "ignored, so that no rule ever gets it")],
    ),
    "beaten by an ignored one": (
        'start: "a" B?\nB: " "\n%ignore / {1,2}/',
        [("B", "always beaten: ' ' is read as __IGNORE_0")],
    ),
    "not beaten everywhere": ('start: A | B | "(" B\nA: /ab?/\nB: /a/', []),
    "with the basic lexer it is": (
        'start: A | B | "(" B\nA: /ab?/\nB: /a/',
        [("B", "always beaten: 'a' is read as A")],
    ),
}


@pytest.mark.parametrize("name", NEVER)
def test_terminals_that_are_never_read(name):
    text, expected = NEVER[name]
    lexer = "basic" if name == "with the basic lexer it is" else "contextual"
    report = inspect(Grammar(text, lexer=lexer))
    assert [(each.terminal, each.reason) for each in report.never_matched] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('start: "a"', []),
        ('start: "a"\n%ignore /[ ]+/', [("__IGNORE_0", "[ ]+", True, True)]),
        ('start: "a"\n%ignore " "', [("__IGNORE_0", "\\ ", True, False)]),
        ('start: "a" WS? "b"\nWS: /\\s+/', [("WS", "\\s+", False, True)]),
        ('start: "a" WS? "b"\nWS: /[ \\t]{1,16}/', []),
        ('start: "a" X? "b"\nX: /x+/', []),
    ],
)
def test_text_without_meaning_that_may_go_on_for_ever(text, expected):
    assert inspect(Grammar(text)).unbounded == tuple(Unbounded(*each) for each in expected)


def test_json_is_unbounded_unless_its_whitespace_is_bounded():
    assert [each.terminal for each in inspect(Grammar.bundled("json")).unbounded] == ["WS"]
    assert inspect(Grammar.bundled("json", max_ignored=16)).unbounded == ()


# --- Vocabularies ---------------------------------------------------------------------------------


def test_what_an_indenter_feeds_or_drops_is_of_use():
    class Indented(cfgguide.grammar.CPythonIndenter):
        OPEN_PAREN_types: ClassVar[list[str]] = []
        CLOSE_PAREN_types: ClassVar[list[str]] = []
        INLINE_types: ClassVar[list[str]] = ["BLANK"]
        ALWAYS_types: ClassVar[list[str]] = ["WORD"]

    text = """
        start: item+
        item: A _NEWLINE [_INDENT item+ _DEDENT]
        A: "a"
        WORD: /[a-z]{2,}/
        BLANK: " "
        LOST: "-"
        _NEWLINE: /(\\n[ ]*)+/
        %declare _INDENT _DEDENT _NOTHING
        """
    report = inspect(Grammar(text, postlex=Indented))
    assert report.unused_terminals == ("LOST", "_NOTHING")
    assert (report.never_matched, report.endless_rules) == ((), ())


def test_what_a_vocabulary_cannot_spell():
    grammar = Grammar('start: "ab" | "c" | NUMBER\nNUMBER: /[0-4]+/')
    tokens = [b"a", b"b", b"0", b"1", b"3", None]
    vocabulary = cfgguide.Vocabulary(tokens, eos_token_ids=5)
    found = inspect(grammar, vocabulary).unspellable
    assert (found.terminals, found.bytes) == (("C",), (0x32, 0x34, 0x63))
    found = inspect(grammar, cfgguide.Vocabulary.of_bytes()).unspellable
    assert (found.terminals, found.bytes) == ((), ())
    assert inspect(grammar).unspellable is None


def test_a_vocabulary_without_any_sentence_is_an_error():
    vocabulary = cfgguide.Vocabulary([b"x", None], eos_token_ids=1)
    with pytest.raises(VocabularyError, match="can spell no sentence of the grammar"):
        inspect(Grammar('start: "a"'), vocabulary)


def test_a_grammar_that_cannot_be_used_is_an_error():
    with pytest.raises(GrammarError, match="Rule 'b' used but not defined"):
        inspect(Grammar("start: b"))
    with pytest.raises(GrammarError, match="expected a Grammar, not str"):
        inspect('start: "a"')


# --- Sizes, and the text --------------------------------------------------------------------------


def test_sizes():
    """Counted by hand: `start: X | Y Y` has states for start, X, Y, Y Y and the end."""
    sizes = inspect(Grammar('start: X | Y Y\nX: "x"\nY: "y"')).sizes
    assert (sizes.terminals, sizes.productions, sizes.parse_states) == (2, 2, 5)
    assert sizes.terminal_sets == 3  # {X, Y}, {Y}, and none where only the end can come
    assert sizes.byte_classes == 3  # x, y, and all others
    assert sizes.table_bytes > 0
    assert 0 < sizes.seconds < 60


TEXT = """\
read as by Lark with parser='lalr', lexer='basic'
terminals                 12
productions               17
parse states              #
terminal sets             #
scanner states            #
byte classes              #
table bytes               #
seconds                   #

terminals that match the same text, and how Lark reads it
(give the one that should win a priority, as in `NAME.2: ...`):
  ID NAME     'a'   ID in 1 terminal set
  ID ABC      'ab'  ID in 1 terminal set
  DIGITS INT  '0'   DIGITS in 1 terminal set
  NAME ABC    'ab'  ID in 1 terminal set

keywords, which win over the terminals that match them too: 3 in ID, 3 in NAME

terminals that are never read:
  ABC      always beaten: 'ab' is read as ID
  INT      always beaten: '0' is read as DIGITS
  NAME     always beaten: 'a' is read as ID
  NOTHING  declared without a pattern

terminals that no rule uses:
  NUMBER LOST

rules that the start rule never asks for (each could be another start):
  unused never

rules that derive no finite text:
  b endless

text without meaning that may go on for ever, which small models like to write
(max_ignored=n bounds what is ignored; docs/own-grammar.md says how to bound the rest):
  WS /(?:[ \\t\\x0c\\r\\n])+/  of any length; ignored, so that one may follow the other
  __IGNORE_1 /\\#/          ignored, so that one may follow the other

terminals that the vocabulary cannot spell:
  COMMA

bytes of lexemes that no token of the vocabulary has:
  0x2c"""


def test_the_text_of_a_report():
    grammar = Grammar(
        """
        %import common (INT, WS, NUMBER)
        %declare NOTHING
        start: a | list{INT, ","} b? | endless | NAME NAME | "if" ID | ABC "while"
        a: "(" a ")" | DIGITS+
        b: NOTHING
        endless: "q" endless
        unused: "zz"
        list{x, y}: x (y x)*
        never{x}: x
        DIGITS: FRAGMENT+
        FRAGMENT: "0".."9"
        LOST: FRAGMENT "a"
        NAME: /[a-z]+/
        ID: /[a-z][a-z0-9]*/
        ABC: /ab|abc/
        %ignore WS
        %ignore "#"
        """,
        lexer="basic",
    )
    tokens = [token for token in cfgguide.Vocabulary.of_bytes().tokens[:256] if token != b","]
    report = inspect(grammar, cfgguide.Vocabulary([*tokens, None], eos_token_ids=255))
    lines = str(report).split("\n")
    lines[3:9] = [re.sub(r" +[\d.,]+$", "", line).ljust(26) + "#" for line in lines[3:9]]
    assert "\n".join(lines) == TEXT


def test_the_text_of_a_harmless_grammar_is_its_sizes():
    lines = str(inspect(Grammar('start: "a"'))).split("\n")
    assert len(lines) == 9
    assert lines[0] == "read as by Lark with parser='lalr', lexer='contextual'"
    assert lines[1] == "terminals                  1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('start: a | b\na: "x"\nb: "x"', "'earley', lexer='dynamic'; LALR does not take it"),
        ('start: "x"', "'lalr', lexer='contextual'; parser='earley' is Lark's own default"),
    ],
)
def test_a_report_says_which_parser_was_chosen(text, said):
    report = inspect(Grammar(text, parser="auto"))
    assert str(report).split("\n")[0] == f"read as by Lark with parser={said}"


def test_terminals_that_lark_asks_by_themselves_do_not_overlap():
    text = 'start: (IF | NAME)+\nIF: "if"\nNAME: /[a-z]+/\n%ignore " "'
    assert inspect(Grammar(text, lexer="basic")).overlaps.keywords
    found = inspect(Grammar(text, parser="earley")).overlaps
    assert (found.shown, found.keywords, found.is_complete) == ((), (), True)


def test_long_lists_are_wrapped():
    names = [f"rule_number_{number}" for number in range(30)]
    grammar = Grammar('start: "a"\n' + "\n".join(f'{name}: "b"' for name in names))
    text = str(inspect(grammar)).split("another start):\n")[1]
    assert max(map(len, text.split("\n"))) <= 100
    assert text.split() == names


#: A grammar, and what the report says of it besides sizes.
PROMISES = {
    "a conflict that Lark resolves": (
        'start: s\ns: "i" s | "i" s "e" s | "x"\n%ignore " "\n',
        """\
places with two readings: Lark's LALR parser takes the second, and refuses texts that
only the first would read; parser='earley' takes both, or write rules that leave one:
  after I I X ('i i x'), before E ('e'), there are two readings:
      1.  I (s I s) • E
      2.  I (s I s • E s)""",
    ),
    "no space": (
        'start: "if" NAME\nNAME: /[a-hj-z]+/\n',
        """\
no text of this grammar holds a space, a tab or a line break
(`%ignore " "` lets spaces stand between words)""",
    ),
    "no indenter": (
        '%declare _INDENT _DEDENT\nstart: "a" _INDENT " " _DEDENT | "c"\n',
        """\
_DEDENT and _INDENT: only an indenter feeds these terminals; give
the grammar one (`Grammar(..., postlex=...)`, or `--indenter MODULE:CLASS`)""",
    ),
}


@pytest.mark.parametrize("name", PROMISES)
def test_what_a_grammar_does_not_promise_is_said(name):
    text, expected = PROMISES[name]
    assert expected in str(inspect(Grammar(text)))
    assert not any(each in str(inspect(Grammar.bundled("json"))) for _, each in PROMISES.values())


def test_the_texts_that_the_other_reading_of_a_conflict_has_are_lost():
    """`aaaa` is a palindrome of this grammar, and Lark's LALR parser refuses it."""
    report = inspect(Grammar('start: "a" start "a" |\n'))
    assert report.n_conflicts == len(report.conflicts) == 1
    assert not cfgguide.check(Grammar('start: "a" start "a" |\n'), "aaaa").is_sentence


def test_many_conflicts_are_counted():
    operators = " | ".join(f'e "{each}" e' for each in "+-*/")
    report = inspect(Grammar(f'start: e\ne: {operators} | "n"\n'))
    assert (report.n_conflicts, len(report.conflicts)) == (16, 3)
    assert "  and 13 more" in str(report)
