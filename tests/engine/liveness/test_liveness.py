"""Whether a sentence can still follow is decided exactly, and from no more than is said."""

from __future__ import annotations

import itertools
import random
from collections.abc import Generator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.indenters import BracketIndenter, TreeIndenter
from support.oracle import Oracle, spelled_texts
from support.plain_search import searching

from cfgguide.base.limits import Budget, Limits
from cfgguide.compiler import compile_recognizer
from cfgguide.engine.liveness.always_live import AlwaysLive
from cfgguide.engine.liveness.liveness import Answer, Decided, Liveness
from cfgguide.engine.liveness.spelled_ends import Between, Wanted
from cfgguide.engine.machine.lr_machine import LrMachine
from cfgguide.engine.machine.recognizer import Configuration, Recognizer
from cfgguide.engine.vocabulary.spelling import BOUNDARY, Spelling
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import LimitError
from cfgguide.grammar.grammar import Grammar

LETTERS = Vocabulary.of_bytes().tokens[:256]


def liveness_of(
    grammar: str | Grammar,
    tokens: tuple[bytes, ...] = LETTERS,
    max_nodes: int = 20_000,
    **limits: int,
) -> tuple[Recognizer, Liveness]:
    recognizer = compile_recognizer(Grammar(grammar) if isinstance(grammar, str) else grammar)
    return recognizer, Liveness(
        recognizer, Spelling.of(tokens), budget=Budget(Limits(**limits)), max_nodes=max_nodes
    )


def is_live(recognizer: Recognizer, liveness: Liveness, text: bytes) -> bool:
    configuration = recognizer.advance(recognizer.initial, text)
    return configuration is not None and liveness.decide(configuration).is_live


# --- By hand --------------------------------------------------------------------------------------

BRACKETS = 'start: "(" x ")" | "[" x "]"\nx: "n"'
GLUED = 'start: WORD (":" WORD)? | WORD WORD "!"\nWORD: /[a-z]+/'
SPACED = GLUED + '\n%ignore " "'
DOTS = 'start: ELLIPSIS "x" | "." "." "y"\nELLIPSIS: "..."'
AVOIDED = 'start: INT "." NAME | FLOAT "!"\nINT: /[0-9]+/\nFLOAT: /[0-9]+\\.[0-9]*/\nNAME: /[a-z]+/'
NULL = 'start: "[" ("null" | "no") ("," ("null" | "no"))* "]"'
DEAD_END = 'start: "[" start "]" | "(" bad ")" | "x"\nbad: "(" bad ")"'
KEYWORD = 'start: "if" NAME ":" | NAME ";"\nNAME: /[a-z]+/\n%ignore " "'
# `bzz` is not spelled below, and yet what is read of it is one more reason to wait.
TWO_DEBTS = 'start: A B C | LONG "!" | "q"\nA: "a"\nB: /bzz|b/\nC: "c"\nLONG: "abc"'
LONG = 'start: "a" | "a" "b" "?"\nLONG: "abc"\n%ignore LONG'


@pytest.mark.parametrize(
    ("grammar", "tokens", "live", "dead"),
    [
        (BRACKETS, LETTERS, ["", "(", "(n", "[n", "(n)"], ["(n]", "n", "()", "(n)n"]),
        # The row of the table after a WORD offers WORD, but only `:` can follow: no space.
        (GLUED, LETTERS, ["a", "ab", "a:", "a:b"], ["a!", "a:b:", "a b", ":"]),
        (SPACED, LETTERS, ["a ", "a b", "a b!", " ", "a :b"], ["a!", "a b:", "a b c"]),
        (DOTS, LETTERS, [".", "..", "...", "..y", "...x"], ["...y", "....", ".y", "..x"]),
        # FLOAT takes the dot, so INT never stands before one.
        (AVOIDED, LETTERS, ["1", "1.", "1.1", "1.!"], ["1.a", "1a", "1.1.", "."]),
        # Both A and B may end only if LONG does not come of it, which it does: `abc` is one lexeme.
        (TWO_DEBTS, LETTERS, ["a", "ab", "abz", "abzzc", "abc"], ["abcq", "abb"]),
        (TWO_DEBTS, (b"a", b"b", b"c", b"q"), ["", "q"], ["a", "ab", "abc"]),
        (NULL, LETTERS, ["[n", "[nu", "[no", "[null,"], ["[,", "[nl", "[]"]),
        (NULL, (b"[", b"]", b",", b"null", b"nul"), ["[", "[null", "[null,null]"], ["[nul"]),
        (NULL, (b"[", b"]", b",", b"nu", b"l"), ["[nu", "[nul", "[null,"], []),
        (DEAD_END, LETTERS, ["[", "[[x", "x", "[[x]"], ["(", "[(", "x]"]),
        (DEAD_END, (b"[", b"x"), ["", "x"], ["[", "[x", "[[["]),
        (KEYWORD, LETTERS, ["if", "ifa", "if a", "if if", "i"], ["if:", "if;", "if a;"]),
        (KEYWORD, (b"if", b" ", b":", b"x"), ["if", "if x:"], ["x", "ifx", "if:"]),
        # What was read of LONG must fall back, or be read to its end, which is then ignored.
        (LONG, LETTERS, ["a", "ab", "abc", "aa", "ab?a"], ["abb", "aab?", "ab??", "b"]),
    ],
)
def test_texts_are_live_or_dead_as_a_reader_would_say(grammar, tokens, live, dead):
    recognizer, liveness = liveness_of(grammar, tokens)
    table = {text: is_live(recognizer, liveness, text.encode()) for text in [*live, *dead]}
    assert table == dict.fromkeys(live, True) | dict.fromkeys(dead, False)


@pytest.mark.parametrize(
    ("grammar", "text", "expected"),
    [
        (BRACKETS, "", ("LPAR", "LSQB")),
        (BRACKETS, "(n", ("RPAR",)),
        (BRACKETS, "(n)", ("$END",)),
        (GLUED, "", ("WORD",)),
        (GLUED, "a", ("$END", "COLON", "WORD")),  # WORD: it can go on
        (GLUED, "a:", ("WORD",)),
        (SPACED, "a ", ("$END", "COLON", "WORD")),
        (DOTS, "", ("DOT", "ELLIPSIS")),
        (DOTS, ".", ("DOT", "ELLIPSIS")),
        (DOTS, "..", ("ELLIPSIS", "Y")),
        (AVOIDED, "1", ("FLOAT", "INT")),  # that INT leads nowhere takes a search to know
        (AVOIDED, "1.", ("BANG", "FLOAT")),
        (DEAD_END, "[", ("LPAR", "LSQB", "X")),  # and so for LPAR
        (KEYWORD, "if ", ("NAME",)),
        (KEYWORD, "if a", ("COLON", "NAME")),
    ],
)
def test_expected_terminals_are_those_that_scanner_and_parser_take(grammar, text, expected):
    recognizer, liveness = liveness_of(grammar)
    configuration = recognizer.advance(recognizer.initial, text.encode())
    assert LrMachine.of(liveness).expected(configuration) == expected


# A word where no name may stand, and a line break in a string: no sentence begins like this.
UNTAKEN = {
    "json": (b'{"a": tru', b"k"),
    "sql": (b"SELECT a FROM t u", b" strongly"),
    "lua": (b"while a", b" strongly"),
    "c": (b"int f(void) { return 0; }", b" !"),
    "python": (b"def f", b" then"),
    "java": (b"class A extends B imple", b"ording"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", UNTAKEN)
def test_what_the_parser_does_not_take_is_refused_by_its_tables(name):
    """Nothing is made that searches: only what no table decides needs it."""
    text, token = UNTAKEN[name]
    recognizer = compile_recognizer(Grammar.bundled(name))
    spelling = Vocabulary.of_bytes().spelling
    liveness = Liveness(recognizer, spelling)
    assert liveness.is_live(recognizer.advance(recognizer.initial, text))
    liveness = Liveness(recognizer, spelling, always_live=liveness.always_live)
    before = dict(vars(liveness))
    assert not is_live(recognizer, liveness, text + token)
    assert vars(liveness) == before


# --- Against the oracle ---------------------------------------------------------------------------

SMALL = [
    ('start: "a" start "b" | "c"', (b"a", b"b", b"c", b"ab", b"cb")),
    ("start: A (B A)*\nA: /a+b?/\nB: /ba|c/", (b"a", b"b", b"c", b"ba")),
    ("start: A B | B A C\nA: /ab*/\nB: /b+?a?/\nC: /c/", (b"a", b"b", b"c")),
    ('start: (T U)* V\nT: /a|ab/\nU: /b|ca/\nV: "cab"', (b"a", b"b", b"c", b"ab", b"ca")),
    ("start: T+\nT: /(?:abc|ab|c)/\n%ignore /cc/", (b"ab", b"c", b"bc", b"a")),
    ('start: x "c" | "b" x "b"\nx: "a" x "a" | "b"', (b"a", b"b", b"c", b"aab")),
]


@pytest.mark.slow
@pytest.mark.parametrize(("grammar", "tokens"), SMALL)
def test_live_is_what_can_be_completed(grammar, tokens):
    """All spelled texts of three bytes; none of the grammars needs more than six to end one."""
    recognizer, liveness = liveness_of(grammar, tokens)
    oracle = Oracle(grammar, [*tokens], eos_token_ids=[], counts_bytes=True)
    for text in spelled_texts(tokens, 3):
        expected = oracle.completion(text, 9 - len(text)) is not None
        assert is_live(recognizer, liveness, text) == expected, text


@pytest.mark.parametrize("max_nodes", [1, 3, 20_000])
@pytest.mark.parametrize(("grammar", "tokens"), [*SMALL, (DEAD_END, (b"[", b"]", b"x", b"("))])
def test_verdicts_over_all_stacks_do_not_change_an_answer(grammar, tokens, max_nodes):
    """With a small bound every stack is read to the bottom; the answers stay the same."""
    recognizer, liveness = liveness_of(grammar, tokens)
    _, bounded = liveness_of(grammar, tokens, max_nodes=max_nodes)
    for text in spelled_texts(tokens, 6):
        assert is_live(recognizer, bounded, text) == is_live(recognizer, liveness, text)


# `a` may end only where a word follows, and there the text must not end.
PROMISED = 'start: A | A "b" B\nA: /a(?= *[bc])/\nB: /c(?!d)/\n%ignore " "'
BLOCKS = Grammar(
    """
start: (_NL | statement)*
statement: "a" _NL | "if" ":" _NL _INDENT statement+ _DEDENT | "(" statement* ")" _NL
_NL: /(\\n *)+/
%declare _INDENT _DEDENT
""",
    postlex=TreeIndenter(),
)


@pytest.mark.parametrize("max_nodes", [1, 20_000])
@pytest.mark.parametrize(
    ("grammar", "tokens"),
    [
        *SMALL, (DEAD_END, (b"[", b"]", b"x", b"(")), (GLUED, (b"a", b":", b"!")),
        (TWO_DEBTS, LETTERS), (PROMISED, LETTERS), (LONG, (b"a", b"bc", b"b", b"?")),
        (AVOIDED, (b"1", b".", b"a", b"!")), (BLOCKS, LETTERS),
    ],
)  # fmt: skip
def test_the_table_of_what_is_always_live_does_not_change_an_answer(grammar, tokens, max_nodes):
    """And what a table cuts short can be asked for again."""
    recognizer, liveness = liveness_of(grammar, tokens, max_nodes=max_nodes)
    searched = searching(recognizer, tokens)
    for configuration in reachable(recognizer, n=300):
        for hypothesis in configuration.hypotheses:
            controls, all_controls = (
                each.controls(hypothesis, configuration.context) for each in (liveness, searched)
            )
            assert (
                liveness.decide_stack(controls, hypothesis.stack)[0]
                == searched.decide_stack(all_controls, hypothesis.stack)[0]
            )


# What only a line break ends: a comment, or a word. In brackets the break is dropped.
LINES = r"""
start: (e _NL)+ | "y" "z" _NL | W LPAR "x" RPAR _NL
e: "x" | LPAR e* RPAR | LPAR "y" "z" RPAR | LPAR W LPAR W RPAR RPAR
W: /w.*/
LPAR: "("
RPAR: ")"
_NL: /\n */
%ignore /#.*/
%declare _INDENT _DEDENT
"""


def test_a_line_break_is_dropped_where_a_bracket_is_open_and_closed_after_it():
    """No text says so but the stack: whether a sentence follows is searched without other means."""
    recognizer, _ = liveness_of(Grammar(LINES, postlex=BracketIndenter()))
    liveness = searching(recognizer, LETTERS)

    def said(text: str) -> bool:
        configuration = recognizer.advance(recognizer.initial, text.encode())
        (hypothesis,) = configuration.hypotheses
        controls = liveness.controls(hypothesis, configuration.context)
        return liveness.decide_stack(controls, hypothesis.stack)[0]

    live = ["x#", "(#", "(x#", "((x)#", "(x)#", "(y#", "(#\n", "(w", "(w\n(w", "((w", "(w\n(w\n)#"]
    dead = ["y#", "w", "w#"]
    table = {text: said(text) for text in [*live, *dead]}
    assert table == dict.fromkeys(live, True) | dict.fromkeys(dead, False)


def test_a_hypothesis_is_decided_once_in_whatever_company_it_is(monkeypatch):
    """The tokens of one mask lead to few hypotheses, which stand together in many ways."""
    recognizer, liveness = liveness_of('start: "(" start "a" ")" | "[" start "b" "]" | "c"')
    texts = b"(([c", b"(((c", b"[([c"
    live, other, alike = (recognizer.advance(recognizer.initial, text) for text in texts)
    asked: list[object] = []

    def undecided(hypothesis: object, context: int) -> Generator[Decided | None]:
        asked.append(hypothesis)
        yield from ()

    assert liveness.decide(live).is_live
    monkeypatch.setattr(liveness, "_decide_quickly", undecided)
    together = Configuration(other.hypotheses + live.hypotheses, live.context)
    assert liveness.decide(together).is_live
    assert liveness.decide(alike).is_live  # as far as it was read
    assert not asked


# --- What an answer depends on --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("grammar", "tokens"),
    [
        SMALL[0],
        SMALL[5],
        (DEAD_END, LETTERS),
        (Grammar.bundled("json").text, LETTERS),
        ('start: "a"+ "?" | AB start\nAB: /a+b/', LETTERS),
        ("start: N start M | N M\nN: /1+x?/\nM: /2+|x3/", LETTERS),
    ],
)
def test_an_answer_holds_for_all_stacks_that_are_equal_as_far_as_it_read(grammar, tokens):
    recognizer, liveness = liveness_of(grammar, tokens)
    answers: dict[object, bool] = {}
    n_shared = 0
    for configuration in reachable(recognizer, n=1500):
        answer = liveness.decide(configuration)
        assert len(answer.heights) == len(configuration.hypotheses)
        key = tuple(
            (state, obligations, tuple(itertools.islice(stack, max(stack.height - height + 1, 0))))
            for (state, obligations, stack, _), height in zip(
                configuration.hypotheses, answer.heights, strict=True
            )
        )
        key = (key, configuration.context)
        n_shared += key in answers
        assert answers.setdefault(key, answer.is_live) == answer.is_live
    assert n_shared, "no two configurations were alike: the test says nothing"


@pytest.mark.parametrize(
    ("grammar", "tokens"),
    [
        *SMALL,
        (GLUED, LETTERS),
        (KEYWORD, LETTERS),
        (TWO_DEBTS, LETTERS),
        (Grammar.bundled("json").text, LETTERS),
        ('start: NAME " " /x+/\nNAME: /[\U00010400-\U0001044f]+x?/', LETTERS),
    ],
)
def test_what_a_witness_shows_to_be_live_is_live(grammar, tokens):
    recognizer, liveness = liveness_of(grammar, tokens)
    witnesses, liveness = liveness._witnesses, searching(recognizer, tokens)
    if witnesses is None:  # no ending is sought where tokens cannot write each text
        assert len(Spelling.of(tokens).steps) > 1
        return
    answers: dict[object, bool] = {}
    n_shown = 0
    for configuration in reachable(recognizer, n=300):
        for hypothesis in configuration.hypotheses:
            shown = witnesses.decide(hypothesis, configuration.context)
            if shown is not None:
                n_shown += 1
                controls = liveness.controls(hypothesis, configuration.context)
                is_live = liveness.decide_stack(controls, hypothesis.stack)[0]
                assert is_live
            # What was read decides, and nothing below.
            state, obligations, stack, _ = hypothesis
            height = 1 if shown is None else shown[1]
            top = tuple(itertools.islice(stack, stack.height - height + 1))
            key = state, obligations, top, configuration.context
            assert answers.setdefault(key, shown is not None) == (shown is not None)
    assert n_shown or tokens is not LETTERS


def result(steps: Generator[None, None, Decided | None]) -> Decided | None:
    """Return what a decision comes to that takes turns with others."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


@pytest.mark.parametrize(
    ("grammar", "tokens"),
    [
        ('start: "a" (B | "c" NEVER) \nB: /b(?!b)/ \nNEVER: /0(?=1)(?!1)/', LETTERS),
        ('start: a* "b" \na: NAME "=" NAME ";" \nNAME: /[ab]/ \n%ignore /-(?!=)/', LETTERS),
        (NULL, (b"[", b"]", b",", b"null", b"nul")),
    ],
)
def test_what_is_refuted_is_dead_whatever_lies_below(grammar, tokens):
    recognizer, liveness = liveness_of(grammar, tokens)
    searched = searching(recognizer, tokens)
    n_refuted = 0
    for configuration in reachable(recognizer, n=300):
        for hypothesis in configuration.hypotheses:
            refuted = result(liveness._refuted(hypothesis, configuration.context))
            if refuted is None:
                continue
            n_refuted += 1
            is_live, height = refuted
            controls = searched.controls(hypothesis, configuration.context)
            assert is_live is False
            assert not searched.decide_stack(controls, hypothesis.stack)[0]
            if height > hypothesis.stack.height:
                continue  # nothing was read
            top = hypothesis.stack.top(hypothesis.stack.height - height + 1)
            shorter = hypothesis._replace(stack=top)
            again = result(liveness._refuted(shorter, configuration.context))
            assert again is not None
    assert n_refuted


@pytest.mark.parametrize(
    ("grammar", "tokens"),
    [
        ('start: "a" (B | "c" NEVER) \nB: /b(?!b)/ \nNEVER: /0(?=1)(?!1)/', LETTERS),
        ('start: a* "b" \na: NAME "=" NAME ";" \nNAME: /[ab]/ \n%ignore /-(?!=)/', LETTERS),
        (
            'start: ("(" NAME ("=" NAME)? ")")+ \nNAME: /(?!of(?![a-z]))[a-z]+/ \n%ignore " "',
            LETTERS,
        ),
        (KEYWORD, LETTERS),
        (TWO_DEBTS, LETTERS),
    ],
)
def test_what_the_table_shows_to_be_live_is_live_whatever_lies_below(grammar, tokens):
    recognizer, liveness = liveness_of(grammar, tokens)
    searched = searching(recognizer, tokens)
    n_shown = 0
    for configuration in reachable(recognizer, n=300):
        for hypothesis in configuration.hypotheses:
            shown = result(liveness._shown(hypothesis, configuration.context))
            if shown is None:
                continue
            n_shown += 1
            is_live, height = shown
            controls = searched.controls(hypothesis, configuration.context)
            assert is_live is True
            assert searched.decide_stack(controls, hypothesis.stack)[0]
            top = hypothesis.stack.top(hypothesis.stack.height - height + 1)
            shorter = hypothesis._replace(stack=top)
            again = result(liveness._shown(shorter, configuration.context))
            assert again is not None
    assert n_shown


def reachable(recognizer: Recognizer, n: int) -> list[Configuration]:
    """Return configurations breadth-first over the bytes that occur in lexemes, live or not."""
    used = sorted(recognizer.scanner.used_bytes())
    if len(used) > 40:  # of many alike a few
        used = sorted(random.Random(1).sample(used, 12) + list(b'[]{}",:0'))
    found = {recognizer.initial: None}
    pending = [recognizer.initial]
    for configuration in pending:  # grows while it is walked
        for byte in used:
            after = recognizer.advance(configuration, bytes([byte]))
            if after is not None and after not in found:
                found[after] = None
                pending.append(after)
        if len(pending) > n:
            break
    return pending[:n]


def test_json_never_needs_more_than_the_top_of_a_stack():
    """All JSON prefixes are live, whatever lies below: no stack is read to its bottom."""
    recognizer, liveness = liveness_of(Grammar.bundled("json").text)
    configuration = recognizer.advance(recognizer.initial, b'{"a":[' * 3000 + b'"')
    answer = liveness.decide(configuration)
    ((_, _, stack, _),) = configuration.hypotheses
    assert answer.is_live
    assert answer.heights[0] >= stack.height - 5


def test_an_answer_says_when_nothing_was_read():
    """Inside a lexeme that cannot end, and in the hypotheses behind a live one."""
    recognizer, liveness = liveness_of(NULL, (b"[", b"]", b",", b"null", b"nul"))
    configuration = recognizer.advance(recognizer.initial, b"[nul")
    assert liveness.decide(configuration) == Answer(False, (3,))  # of a stack of two states
    recognizer, liveness = liveness_of('start: "a"* "!" | AAB\nAAB: /a+b/')
    configuration = recognizer.advance(recognizer.initial, b"aa")
    assert len(configuration.hypotheses) == 2
    first, second = (each.stack.height for each in configuration.hypotheses)
    assert liveness.decide(configuration).heights == (first, second + 1)


# --- Limits ---------------------------------------------------------------------------------------

NESTED = """
start: "a" x "b" | "c" x "d" | x
x: "(" x ")" | "[" x "]" | N | N x
N: /[0-9]+/
"""


def test_too_many_pairs_are_refused_by_name():
    recognizer, _ = liveness_of(NESTED)
    liveness = searching(recognizer, LETTERS, max_pairs=20)
    with pytest.raises(LimitError, match="max_pairs"):
        liveness.decide(recognizer.initial)


def test_after_a_limit_was_exceeded_no_answer_is_made_up():
    recognizer, _ = liveness_of(NESTED)
    liveness = searching(recognizer, LETTERS, max_pairs=40)
    for _ in range(200):
        try:
            answer = liveness.decide(recognizer.initial)
        except LimitError:
            continue
        assert answer.is_live


def test_deep_stacks_are_decided():
    """Also where the bottom must be read: brackets that the vocabulary cannot close."""
    recognizer, liveness = liveness_of(DEAD_END, (b"[", b"x"))
    configuration = recognizer.advance(recognizer.initial, b"[" * 20_000 + b"x")
    assert not liveness.decide(configuration).is_live
    recognizer, liveness = liveness_of('start: "a" start "b" | "a" start "c" | "x"')
    configuration = recognizer.advance(recognizer.initial, b"a" * 100_000 + b"x")
    assert liveness.decide(configuration).is_live


def test_recursion_in_the_grammar_is_no_recursion_here():
    """A chain of a thousand rules, each of which needs the next."""
    rules = "\n".join(f'r{i}: "a" r{i + 1} "b" | "x"' for i in range(300))
    recognizer, liveness = liveness_of(f'start: r0\n{rules}\nr300: "y"')
    assert is_live(recognizer, liveness, b"a" * 300 + b"y" + b"b" * 299)
    assert not is_live(recognizer, liveness, b"a" * 301)


# --- Spellings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "steps"),
    [
        # One node: every byte is a token.
        ([b"a", b"b", b"ab", b"ba"], [[(97, 0), (98, 0)]]),
        # `b` only after `a`: a node inside the token.
        ([b"a", b"ab"], [[(97, 0), (97, 1)], [(98, 0)]]),
        # Two tokens share their first two bytes.
        ([b"xyz", b"xyy"], [[(120, 1)], [(121, 2)], [(121, 0), (122, 0)]]),
        ([], [[]]),
    ],
)
def test_spellings_by_hand(tokens, steps):
    assert Spelling.of(tokens).steps == tuple(map(tuple, steps))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("abc", min_size=1, max_size=4).map(str.encode), min_size=1, max_size=6))
def test_the_automaton_spells_what_tokens_spell(tokens):
    spelling = Spelling.of([*tokens, None])
    spelled = set(spelled_texts(tokens, 6))
    for n in range(7):
        for letters in itertools.product(b"abc", repeat=n):
            nodes = {BOUNDARY}
            for byte in letters:
                nodes = {to for node in nodes for by, to in spelling.steps[node] if by == byte}
            assert (BOUNDARY in nodes) == (bytes(letters) in spelled)
    assert spelling.reachable_bytes == frozenset(b"".join(tokens))


def test_a_vocabulary_without_single_bytes_has_a_limit():
    tokens = [bytes([first, second, 0]) for first in range(1, 100) for second in range(1, 100)]
    with pytest.raises(LimitError, match="max_nodes"):
        Spelling.of(tokens, max_nodes=5000)
    assert Spelling.of([*tokens, *LETTERS], max_nodes=5000).steps == Spelling.of_all_bytes().steps


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lua", "c", "rust", "go", "java", "verilog"])
def test_large_languages_are_live_on_every_stack(name):
    """Keywords are kept out of names (lua), and what cannot be lexed everywhere is left out (rust).

    Without either, no state is always live, and each mask searches.
    """
    recognizer = compile_recognizer(Grammar.bundled(name))
    table = recognizer.parse_table
    shifted_to = np.unique(table.action[table.action > 0] - 1)
    spelling = Spelling.of(Vocabulary.of_bytes().tokens)
    found = AlwaysLive.of(recognizer, spelling).is_always_live
    assert found[shifted_to, -1].all()


@pytest.mark.parametrize("grammar", [KEYWORD, TWO_DEBTS, LONG])
def test_ends_are_the_same_whoever_asks_for_how_many(grammar):
    """Callers that stop and go on, in turns, and ask about some terminals."""
    recognizer, liveness = liveness_of(grammar)
    lexemes, ahead = liveness._lexemes, liveness.always_live.terminal_ids_ahead
    n_ends = 0
    for configuration in reachable(recognizer, n=200):
        for state, obligations, *_ in configuration.hypotheses:
            place = Between(obligations, BOUNDARY, configuration.context)
            first, second = lexemes.each_end(state, place), lexemes.each_end(state, place)
            ends = [end for pair in itertools.zip_longest(first, second) for end in pair]
            ends = [end for end in ends if end is not None]
            assert len(ends) == 2 * len(set(ends))
            least = lexemes.ends(state, place)  # without those that owe more than others
            assert set(least) <= set(ends)
            n_ends += len(ends)
            for terminal_id in ahead(state):
                wanted = Wanted(frozenset({terminal_id}), ahead)
                found = set(lexemes.each_end(state, place, wanted)) - {None}
                assert {end for end in least if end[0] == terminal_id} <= found <= set(ends)
    assert n_ends > 10
