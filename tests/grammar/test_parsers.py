"""Lark's parsers and lexers as options: `parser="earley"`, its three lexers, and `parser="auto"`.

Lark judges: whether it takes a grammar, and every text. Earley's parser is asked for the forest of
a text, as in `fuzz.judge`.
"""

from __future__ import annotations

import lark
import pytest
from fuzz.features import FEATURES
from fuzz.grammars import Drawn, grammars
from fuzz.judge import Judge
from hypothesis import HealthCheck, given, seed, settings
from lark.indenter import PythonIndenter
from support import every_text
from support.short_languages import BASIC, COMPLETE, DYNAMIC, LANGUAGES, LEXERS, NOT_BASIC

from cfgguide.compiler import compile_recognizer
from cfgguide.errors import GrammarError, PatternError
from cfgguide.grammar.grammar import Grammar

AMBIGUOUS = 'start: x | y\nx: "a"\ny: "a"'


def n_sentences(grammar: Grammar, alphabet: str, longest: int) -> int:
    """Compare with Lark on all texts; return how many of them are sentences."""
    options = grammar.lark_options
    judge = Judge(grammar.text, options["lexer"], (), options["parser"])
    return every_text.n_sentences(
        grammar, alphabet, longest, lambda text: judge.is_sentence(text.encode())
    )


# --- Languages ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("lexer", LEXERS)
@pytest.mark.parametrize("name", LANGUAGES)
def test_all_short_texts_are_judged_as_lark_does(name, lexer):
    text, alphabet = LANGUAGES[name]
    grammar = Grammar(text, parser="earley", lexer=lexer)
    if lexer == BASIC and name in NOT_BASIC:
        with pytest.raises(GrammarError, match="Lark cannot use the terminal"):
            compile_recognizer(grammar)
    else:
        found = n_sentences(grammar, alphabet, 7 if len(alphabet) < 3 else 5)
        assert found > 1 or lexer != COMPLETE


def test_look_around_with_the_dynamic_lexer():
    text = (
        r"start: (A | B | C)+" + "\n" + r"A: /a(?!b)/" + "\n" + r"B: /(?<=a)b|\bb/" + "\nC: /ab$/"
    )
    assert n_sentences(Grammar(text, parser="earley"), "ab", 7) > 1


def test_the_lexers_have_different_languages():
    """The longest A may leave no a for B, where a shorter one does."""
    text = "start: A B\nA: /aa|a/\nB: /ab?/"
    grammars_of = [Grammar(text, parser="earley", lexer=lexer) for lexer in LEXERS]
    assert [n_sentences(each, "ab", 4) for each in grammars_of] == [
        len(["aaa", "aaab"]),
        len(["aa", "aab", "aaa", "aaab"]),
        0,  # a third a is an A too: Lark's scanner tries the longer pattern first
    ]


# --- Options --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parser", "lexer", "expected"),
    [
        ("lalr", None, "contextual"),
        ("lalr", "basic", "basic"),
        ("earley", None, "dynamic"),
        *(("earley", each, each) for each in LEXERS),
    ],
)
def test_lark_takes_the_options(parser, lexer, expected):
    grammar = Grammar('start: "a"', parser=parser, lexer=lexer)
    assert grammar.lark_options["parser"] == parser
    assert grammar.lark_options["lexer"] == grammar.lexer == expected
    assert lark.Lark(grammar.text, **grammar.lark_options).parse("a")
    assert n_sentences(grammar, "a", 2) == 1


def test_a_lexer_of_one_parser_decides_for_auto():
    for lexer, parser in (("contextual", "lalr"), (DYNAMIC, "earley"), (COMPLETE, "earley")):
        for text in ('start: "a"', AMBIGUOUS):
            grammar = Grammar(text, parser="auto", lexer=lexer)
            assert grammar == Grammar(text, parser=parser, lexer=lexer)


def test_the_default_lexer_is_larks():
    for parser in ("lalr", "earley"):
        theirs = lark.Lark('start: "a"', parser=parser).options.lexer
        assert Grammar('start: "a"', parser=parser).lexer == theirs


def test_the_parser_is_part_of_the_value():
    text = 'start: "a"'
    values = {Grammar(text), Grammar(text, parser="auto")}
    values |= {Grammar(text, parser="earley", lexer=lexer) for lexer in (None, *LEXERS)}
    assert len(values) == 5
    assert repr(Grammar(text, parser="earley")) == (
        "Grammar(n_characters=10, start='start', parser='earley')"
    )
    assert repr(Grammar(text, parser="earley", lexer="basic")) == (
        "Grammar(n_characters=10, start='start', parser='earley', lexer='basic')"
    )


WITH_EARLEY = "lexer is 'dynamic', 'dynamic_complete' or 'basic' with parser='earley', not "


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parser": "cyk"}, "parser is 'lalr', 'earley' or 'auto', not 'cyk'"),
        ({"parser": None}, "parser is 'lalr', 'earley' or 'auto', not None"),
        ({"parser": ["lalr"]}, "parser is 'lalr', 'earley' or 'auto', not ['lalr']"),
        (
            {"lexer": "dynamic"},
            "lexer is 'contextual' or 'basic' with parser='lalr', not 'dynamic'; 'dynamic' goes "
            "with parser='earley'",
        ),
        (
            {"parser": "earley", "lexer": "contextual"},
            WITH_EARLEY + "'contextual'; 'contextual' goes with parser='lalr'",
        ),
        ({"parser": "earley", "lexer": "auto"}, WITH_EARLEY + "'auto'"),
        ({"parser": "earley", "lexer": "fast"}, WITH_EARLEY + "'fast'"),
        ({"parser": "earley", "lexer": ["basic"]}, WITH_EARLEY + "['basic']"),
        (
            {"parser": "earley", "lexer": "dynamic", "postlex": PythonIndenter()},
            "an indenter (postlex) needs lexer='basic', not 'dynamic'",
        ),
    ],
)  # fmt: skip
def test_wrong_options(options, message):
    with pytest.raises(GrammarError) as caught:
        Grammar('start: "a"', **options)
    assert str(caught.value) == f"[grammar] {message}"


# --- Grammars that no parser takes ----------------------------------------------------------------


@pytest.mark.parametrize("parser", ["earley", "auto"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("start: p", "Rule 'p' used but not defined (in rule start)"),
        ("start: A", "Rule 'A' used but not defined (in rule start)"),
        ('p: "a"', "there is no rule 'start' to start from; its rules are p"),
        ("start: (", "Unclosed parenthesis, at line 1 column 9"),
        # Lark's reason is another one if the package `regex` is there.
        ("start: /(a/", "Lark rejects the grammar"),
        ('start: ""', "Empty terminals are not allowed"),
        ("start: /a*/", "Way out: a terminal must match one character or more."),
        (AMBIGUOUS + " | /a*/", "Way out: a terminal must match one character or more."),
        ('start: "a"\n%ignore /b?/', "Way out: a terminal must match one character or more."),
        ("start: /(?=a)/", "Way out: a terminal must match one character or more."),
        ('start: start "a"', "no text at all is a sentence of the grammar (start rule 'start')"),
        ("start: p\np: start", "no text at all is a sentence of the grammar (start rule 'start')"),
    ],
)
def test_what_is_refused_says_why(parser, text, message):
    with pytest.raises(GrammarError) as caught:
        compile_recognizer(Grammar(text, parser=parser))
    assert message in str(caught.value)


def test_a_start_rule_that_is_not_there():
    with pytest.raises(GrammarError, match="there is no rule 'p' to start from"):
        compile_recognizer(Grammar('start: "a"', start="p", parser="earley"))


def test_no_sentence_is_found_by_lark_either():
    for text in ('start: start "a"', "start: p\np: start"):
        judge = Judge(text, DYNAMIC, (), "earley")
        assert not any(judge.is_sentence(b"a" * n) for n in range(6))


def test_dynamic_complete_says_which_terminal_looks_around():
    with pytest.raises(PatternError) as caught:
        compile_recognizer(Grammar(r"start: A /a\b/" + "\nA: /b/", parser="earley", lexer=COMPLETE))
    assert str(caught.value).endswith(
        "looks at the text around it, which Lark's lexer 'dynamic_complete' cuts off for some of "
        r"its matches; use lexer='dynamic', or leave out look-around, \b, ^ and $"
    )


# --- Either parser --------------------------------------------------------------------------------


def parser_by_lark(text: str, lexer: str | None = None) -> str | None:
    """Return the parser that "auto" stands for: LALR if Lark takes the grammar so, else Earley."""
    for parser in ("lalr", "earley"):
        try:
            lark.Lark(text, parser=parser, **({"lexer": lexer} if lexer else {}))
        except Exception:
            continue
        return parser
    return None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('start: "a" | start "b"', "lalr"),
        (AMBIGUOUS, "earley"),
        ('start: start | "a"', "lalr"),  # Lark shifts
        ('start: start "a" start | "b"', "lalr"),  # Lark shifts
        ("start: x A B | y A C\nx: A\ny: A\nA: /a/\nB: /b/\nC: /c/", "earley"),
        ("start: x | y\nx.2: A\ny.1: A\nA: /a/", "lalr"),  # Lark reduces what is preferred
    ],
)
@pytest.mark.parametrize("lexer", [None, "basic"])
def test_auto_is_lalr_if_lark_takes_it_and_else_earley(text, expected, lexer):
    assert parser_by_lark(text, lexer) == expected
    grammar = Grammar(text, parser="auto", lexer=lexer)
    options = grammar.lark_options
    assert options["parser"] == expected
    assert options["lexer"] == Grammar(text, parser=expected, lexer=lexer).lexer
    assert grammar.chosen() == Grammar(text, parser=expected, lexer=lexer)
    assert n_sentences(grammar, "abc", 4) > 0


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@seed(0)
@given(drawn=grammars(sorted(set(FEATURES) - {"declare", "inline flags"})))
def test_auto_with_grammars_of_the_fuzzer(drawn: Drawn):
    lexer = "basic" if drawn.lexer == "basic" else None
    grammar, expected = (
        Grammar(drawn.text, parser="auto", lexer=lexer),
        parser_by_lark(drawn.text, lexer),
    )
    if expected is None:
        with pytest.raises(GrammarError):
            grammar.chosen()
    else:
        assert grammar.chosen().parser == expected


def test_auto_with_strict_or_an_indenter_is_lalr():
    with pytest.raises(GrammarError, match="Reduce/Reduce collision"):
        Grammar(AMBIGUOUS, parser="auto", strict=True).chosen()
    text = f"{AMBIGUOUS}\n%declare _INDENT _DEDENT\n_NEWLINE: /\\n/\nOPEN: /[(]/\nCLOSE: /[)]/"

    class Indenter(PythonIndenter):
        OPEN_PAREN_types, CLOSE_PAREN_types = ["OPEN"], ["CLOSE"]

    with pytest.raises(GrammarError, match="Reduce/Reduce collision"):
        Grammar(text, parser="auto", postlex=Indenter()).chosen()


def test_a_file_is_read_either_way(tmp_path):
    path = tmp_path / "grammar.lark"
    for text, expected in ((AMBIGUOUS, "earley"), ('start: "a"', "lalr")):
        path.write_text(text)
        assert Grammar.open(path).chosen().parser == expected
        assert compile_recognizer(Grammar.open(path))
    path.write_text(AMBIGUOUS)
    with pytest.raises(GrammarError, match="Reduce/Reduce collision"):
        compile_recognizer(Grammar.open(path, parser="lalr"))


# --- Bounded time ---------------------------------------------------------------------------------

N_TERMINALS = 30
LARGE = {
    "a cycle": 'start: start | "x"',
    "alternatives": "start: " + " | ".join(f'"w{i}"' for i in range(3000)),
    "optional in a row": "start: " + " ".join(["A?"] * 20) + '\nA: "x"',
    "optional groups in a row": "start: " + " ".join(["[A B]"] * 20) + '\nA: "x"\nB: "y"',
    "cubic": 'start: start start start | start start | "x"',
    "empty and cubic": 'start: start start start | start start | "x" |',
    "many at once": "start: "
    + " | ".join(" ".join(["start"] * n) for n in range(2, 15))
    + ' | "x"',
    "terminals over each other": f"start: ({' | '.join(f'T{i}' for i in range(N_TERMINALS))})+\n"
    + "\n".join(f"T{i}: /[a-z]{{1,{i + 1}}}/" for i in range(N_TERMINALS)),
}


@pytest.mark.slow
@pytest.mark.parametrize("lexer", LEXERS)
@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE.keys())
def test_bad_grammars_are_compiled(text, lexer):
    compile_recognizer(Grammar(text, parser="earley", lexer=lexer), use_cache=False)


@pytest.mark.slow
def test_ten_thousand_alternatives():
    text = "start: " + " | ".join(f'"w{i}"' for i in range(10_000))
    compile_recognizer(Grammar(text, parser="earley"), use_cache=False)


@pytest.mark.parametrize("text", ["start: undefined", 'undefined: "a"', "start: start"])
def test_what_has_no_sentence_is_refused(text):
    with pytest.raises(GrammarError):
        compile_recognizer(Grammar(text, parser="earley"), use_cache=False)
